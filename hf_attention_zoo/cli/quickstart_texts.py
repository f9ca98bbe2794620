"""The quick start on running text: a short pre-training, then filled gaps, continued texts, neighbours in context."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_attention_zoo.cli.fresh_process import CONTINUATION
from hf_attention_zoo.cli.quickstart_tasks import PICTURE, Example, QuickTask, pick_examples

HELD_OUT_DOCUMENTS = 150  # of the test split, to score and to show
BASELINE_DOCUMENTS = 4000  # that the n-gram models beside it learn from


class QuickText(QuickTask):
    """What the three have in common: the training, the scores and the held-out sentences."""

    validation = ("perplexity", "perplexity", 1.0)

    def plan(self, argv: Sequence[str], command: str) -> tuple[Any, Any]:
        from hf_attention_zoo.tasks.running_text.pretrain import pretraining_plan

        return pretraining_plan(argv, command)

    def evaluate(self, folder: Path, command: str) -> tuple[dict[str, Any], str]:
        from hf_attention_zoo.tasks.running_text.evaluation import evaluate_language, summary

        metrics = evaluate_language(
            folder,
            split="test",
            max_documents=HELD_OUT_DOCUMENTS,
            baseline_documents=BASELINE_DOCUMENTS,
            command=command,
        )
        said = (
            f"\n  (n-gram models of {BASELINE_DOCUMENTS:,} training documents beside it)"
            if metrics["baselines"]
            else ""
        )
        return metrics, summary(metrics) + said

    def sentences(self) -> list[str]:
        """The whole sentences of the scored documents, of 8 to 20 words."""
        from hf_attention_zoo.tasks.running_text.rows import DocumentSource

        documents = DocumentSource(self.sample.name, split="test", limit=HELD_OUT_DOCUMENTS)
        lines = [line for document in documents for line in document]
        return [line for line in lines if line.endswith(".") and 8 <= len(line.split()) <= 20]

    def draw(self, folder: Path, examples: Sequence[Example]) -> tuple[str, str]:
        from hf_attention_zoo.alignment.aligning import align
        from hf_attention_zoo.folders.saved_model import load_checkpoint, load_reader

        if self.row.aligner is None:
            return self.draw_words(folder)
        model, _ = load_checkpoint(folder)
        reader = load_reader(folder)  # which knows the hidden word's symbol
        (seen,) = align(model, reader, [examples[0].given], head="all")
        seen.plot(folder / PICTURE, token=reader.mask_token)
        who = "who looks at whom" if reader.mask_token is None else "where the hidden word looks"
        return PICTURE, f"{who} in the first of these texts, each head of the last layer in a colour"

    def draw_words(self, folder: Path) -> tuple[str, str]:
        """Words by what the model makes of them, for models that attend to nothing."""
        from hf_attention_zoo.alignment.results.word_clusters import cluster_words
        from hf_attention_zoo.folders.saved_model import load_checkpoint
        from hf_attention_zoo.hub.card_pictures import WORDS_FILE

        clusters = cluster_words(*load_checkpoint(folder), self.sentences())
        clusters.plot(folder / WORDS_FILE)
        return WORDS_FILE, f"{len(clusters.words)} frequent words, those nearest to each other that are treated alike"


class QuickHiddenWords(QuickText):
    """BERT: in each sentence the middle one of its words of four letters and more is hidden."""

    validation = ("masked_perplexity", "perplexity of hidden tokens", 1.0)
    answering = "fill-mask"
    chosen = (
        "held-out sentences, taken at even distances from the test split, the middle one of the longer words hidden "
        "in each; its three likeliest fillings"
    )

    def examples(self, folder: Path, metrics: dict[str, Any]) -> list[Example]:
        from transformers import AutoTokenizer

        mask = AutoTokenizer.from_pretrained(folder).mask_token
        lines = self.sentences()
        found = []
        for i in pick_examples(lines, words=10):
            before, word, after = hidden_word(lines[i])
            given = f"{before}{mask}{after}"
            found.append(Example(given, given, word))
        return found


class QuickContinuations(QuickText):
    """GPT and the language models from before attention: the first six words of held-out sentences, continued."""

    answering = "text-generation"
    chosen = "the first six words of held-out sentences, taken at even distances from the test split, continued"

    def examples(self, folder: Path, metrics: dict[str, Any]) -> list[Example]:
        lines = self.sentences()
        found = []
        for i in pick_examples(lines, words=12):
            given = " ".join(lines[i].split()[:6])
            found.append(Example(given, given + " ...", lines[i]))
        return found

    def usage(self, folder: Path, example: Example) -> list[str]:
        *lines, last = super().usage(folder, example)
        options = ", ".join(f"{name}={value}" for name, value in CONTINUATION.items())
        return [*lines, f"{last.removesuffix('))')}, {options}))"]


class QuickNeighbours(QuickText):
    """ELMo: the nearest word of one word in its sentence, among the other held-out sentences."""

    validation = ("perplexity", "perplexity of the next words", 1.0)
    answering = "neighbours"
    chosen = (
        "the middle one of the longer words of held-out sentences, taken at even distances from the test split, and "
        "its nearest word in context among the other held-out sentences"
    )

    def examples(self, folder: Path, metrics: dict[str, Any]) -> list[Example]:
        lines = [line for line in self.sentences() if hidden_word(line)[1] in line.split()]
        found = []
        for i in pick_examples(lines, words=10):
            word = hidden_word(lines[i])[1]
            given = {"text": lines[i], "word": word, "texts": [line for line in lines if line != lines[i]]}
            found.append(Example(given, marked(lines[i], word), "a word that is used alike"))
        return found

    def facts(self, example: Example) -> dict[str, str]:
        return {"example": example.given["text"]}

    def draw(self, folder: Path, examples: Sequence[Example]) -> tuple[str, str]:
        """The sentences that share a word, by the vector that the word has in each."""
        from hf_attention_zoo.alignment.results.sentence_projection import SentenceProjection, principal_plane
        from hf_attention_zoo.data.contextual_vectors import ContextualVectors

        vectors = ContextualVectors(str(folder))
        lines = self.sentences()
        word, texts = shared_word(lines)
        rows = [
            layers[-1][vectors.words_of(text).index(word)]
            for text, layers in zip(texts, vectors.layers(texts), strict=True)
        ]
        points, explained = principal_plane(_stacked(rows))
        labels = tuple(around(text, word) for text in texts)
        SentenceProjection(labels, points, explained).plot(folder / "contexts.png", title=f"{word!r} in context")
        return (
            "contexts.png",
            f"the word {word!r} in {len(texts)} held-out sentences, by the vector that it has in each",
        )

    def usage(self, folder: Path, example: Example) -> list[str]:
        return [
            "from hf_attention_zoo.data.contextual_vectors import ContextualVectors",
            f"vectors = ContextualVectors({str(folder)!r})",
            f"print(vectors.mixed([{example.given['text']!r}])[0].shape)  # a vector for each word in its sentence",
        ]


class QuickWords(QuickText):
    """word2vec: the nearest words of frequent words of held-out sentences."""

    validation = ("context_perplexity", "perplexity of the words around", 1.0)
    answering = "words"
    chosen = (
        "frequent words of held-out sentences, taken at even distances, and the words whose vectors are nearest to "
        "theirs"
    )

    def examples(self, folder: Path, metrics: dict[str, Any]) -> list[Example]:
        words = self.frequent_words(folder, 40)
        return [Example(words[i], words[i], "words that are used alike") for i in sorted(pick_examples(words))]

    def frequent_words(self, folder: Path, count: int, letters: int = 6) -> list[str]:
        """The most frequent words of so many letters that have a vector."""
        from transformers import AutoTokenizer

        known = AutoTokenizer.from_pretrained(folder).get_vocab()
        found = Counter(word for line in self.sentences() for word in re.findall(r"[a-z]+", line.lower()))
        words = sorted(found, key=lambda word: (-found[word], word))
        return [word for word in words if len(word) >= letters and word in known][:count]

    def draw(self, folder: Path, examples: Sequence[Example]) -> tuple[str, str]:
        from hf_attention_zoo.alignment.results.word_space import WordSpace
        from hf_attention_zoo.hub.card_pictures import SPACE_FILE

        words = self.frequent_words(folder, 40)
        WordSpace.of(folder).plane(words).plot(folder / SPACE_FILE)
        return SPACE_FILE, f"{len(words)} frequent words in the plane in which their vectors differ most"

    def usage(self, folder: Path, example: Example) -> list[str]:
        return [
            "from hf_attention_zoo import WordSpace",
            f"space = WordSpace.of({str(folder)!r})",
            f"print(space.nearest({example.given!r}, 5))",
        ]


def _stacked(rows: Sequence[Any]) -> Any:
    import torch

    return torch.stack([row.double() for row in rows]).numpy()


def hidden_word(line: str, letters: int = 4) -> tuple[str, str, str]:
    """The middle one of a sentence's words of so many letters: what stands before it, the word, what stands behind."""
    found = list(re.finditer(rf"\b[A-Za-z]{{{letters},}}\b", line)) or list(re.finditer(r"\w+", line))
    word = found[len(found) // 2]
    return line[: word.start()], word[0], line[word.end() :]


def marked(line: str, word: str) -> str:
    """The sentence with the word in brackets."""
    return re.sub(rf"\b{re.escape(word)}\b", f"[{word}]", line, count=1)


def around(line: str, word: str, words: int = 3) -> str:
    """Some words on both sides of the first occurrence of a word."""
    parts = line.split()
    place = parts.index(word)
    return " ".join(parts[max(0, place - words) : place + words + 1])


def shared_word(lines: Sequence[str], letters: int = 6, most: int = 12) -> tuple[str, list[str]]:
    """The most frequent word of so many letters, and the first sentences that have it."""
    counts = Counter(word for line in lines for word in set(line.split()) if word.isalpha() and len(word) >= letters)
    word = min(counts, key=lambda one: (-counts[one], one))
    return word, [line for line in lines if word in line.split()][:most]
