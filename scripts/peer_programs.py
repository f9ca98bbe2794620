"""JoeyNMT, OpenNMT-py, Marian of transformers and CTranslate2, at given sizes and on given sentences.

What `scripts/benchmark_peers.py` runs beside the zoo's models: each function gives something to call, a training step
(forward, loss, backward) or a search. Programs are called as their own training and translation call them, with random
weights, and each search is held to the number of words it was asked for. All of them have four special ids.

Shapes: B sentences, S source and T target positions.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

UNKNOWN, PAD, BEGIN, END = range(4)  # of JoeyNMT and OpenNMT-py
SPECIAL = ("<unk>", "<pad>", "<s>", "</s>")
OPENNMT_SPECIAL = ("<unk>", "<blank>", "<s>", "</s>")
Run = Callable[[], object]


@dataclass(frozen=True)
class Sizes:
    """Of a model; `layers` on each side, `embedding` is `hidden` in a Transformer."""

    embedding: int
    hidden: int
    vocabulary: int
    layers: int = 1
    dropout: float = 0.0

    @property
    def heads(self) -> int:
        """Of 64 units."""
        return max(1, self.hidden // 64)


class Sentences:
    """Random sentences of given lengths, the longest source first, as recurrent encoders want them.

    Attributes:
        sources, targets: lists of ids from 4 on.
    """

    def __init__(self, lengths: Sequence[tuple[int, int]], vocabulary: int) -> None:
        made = torch.Generator().manual_seed(1)
        pairs = sorted(lengths, reverse=True)
        self.sources, self.targets = (
            [torch.randint(4, vocabulary, (pair[side],), generator=made).tolist() for pair in pairs] for side in (0, 1)
        )

    @property
    def source_lengths(self) -> list[int]:
        return [len(ids) for ids in self.sources]

    @property
    def target_lengths(self) -> list[int]:
        return [len(ids) for ids in self.targets]

    def grid(self, rows: list[list[int]], pad: int) -> Tensor:
        """Ids padded on the right, (B, longest)."""
        filled = torch.full((len(rows), max(map(len, rows))), pad)
        for k, ids in enumerate(rows):
            filled[k, : len(ids)] = torch.tensor(ids)
        return filled

    def batch(self) -> dict[str, Tensor]:
        """As a model of transformers or of the zoo takes them; pads are 0, and -100 among the labels."""
        ids = self.grid(self.sources, 0)
        return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": self.grid(self.targets, -100)}

    def begun(self) -> Tensor:
        """Targets between begin and end, (B, T + 1), as JoeyNMT and OpenNMT-py take them: T words are learned."""
        return self.grid([[BEGIN, *ids[:-1], END] for ids in self.targets], PAD)


def of_length(rows: Sequence[Sequence[int]], words: int) -> None:
    """Hold a search to its words.

    Raises:
        RuntimeError: one of its results is shorter or longer.
    """
    found = {len(row) for row in rows}
    if found != {words}:
        raise RuntimeError(f"{words} words were to be written, the results have {sorted(found)}")


def transformers_training(model: nn.Module, sentences: Sentences) -> Run:
    """Of the zoo's models, too."""
    batch = sentences.batch()

    def step() -> None:
        model.zero_grad()
        model(**batch).loss.backward()

    return step


def transformers_search(model: Any, sentences: Sentences, beams: int, words: int, end: bool) -> Run:
    """`generate`, of the zoo's models, too; the end symbol is forbidden as long as `words` says, or there is none."""
    model.eval()
    batch = sentences.batch()
    limits = {"min_new_tokens": words} if end else {}
    if not end:
        model.generation_config.eos_token_id = None

    def run() -> None:
        made = model.generate(
            batch["input_ids"],
            attention_mask=batch["attention_mask"],
            num_beams=beams,
            max_new_tokens=words,
            **limits,
        )
        of_length(made[:, 1:].tolist(), words)

    return run


def joeynmt_model(sizes: Sizes, transformer: bool) -> Any:
    """JoeyNMT's Transformer with tied tables, or its GRU with Bahdanau's attention and input feeding."""
    embeddings = {"embedding_dim": sizes.embedding, "scale": transformer, "dropout": sizes.dropout}
    side: dict[str, Any] = {
        "type": "transformer" if transformer else "recurrent",
        "num_layers": sizes.layers,
        "hidden_size": sizes.hidden,
        "dropout": sizes.dropout,
        "embeddings": embeddings,
    }
    if transformer:
        side |= {"num_heads": sizes.heads, "ff_size": 4 * sizes.hidden, "layer_norm": "post"}
        encoder, decoder = side, side
    else:
        side["rnn_type"] = "gru"
        encoder = {**side, "bidirectional": True}
        decoder = {**side, "attention": "bahdanau", "input_feeding": True, "init_hidden": "bridge"}
    config = {"encoder": encoder, "decoder": decoder, "tied_embeddings": transformer, "tied_softmax": transformer}
    model = joeynmt_of(config, sizes.vocabulary, sizes.vocabulary)
    model.loss_function = ("crossentropy", 0.0)
    return model


def joeynmt_of(config: dict[str, Any], source_words: int, target_words: int) -> Any:
    """A model of JoeyNMT from the part `model` of a configuration; one vocabulary where the numbers are equal."""
    from joeynmt.model import build_model
    from joeynmt.vocabulary import Vocabulary

    names = ("unk", "pad", "bos", "eos")
    special = {f"{name}_token": token for name, token in zip(names, SPECIAL, strict=True)}
    special |= {f"{name}_id": k for k, name in enumerate(names)}
    sides = [
        Vocabulary(
            [f"w{k}" for k in range(count - len(SPECIAL))],
            SimpleNamespace(**special, sep_token=None, sep_id=None, lang_tags=[]),
        )
        for count in (source_words, target_words)
    ]
    logging.getLogger("joeynmt.model").setLevel(logging.WARNING)
    return build_model(config, *sides)


def _joeynmt_batch(sentences: Sentences, targets: bool) -> Any:
    from joeynmt.batch import Batch

    return Batch(
        src=sentences.grid(sentences.sources, PAD),
        src_length=torch.tensor(sentences.source_lengths),
        src_prompt_mask=None,
        trg=sentences.begun() if targets else None,
        trg_prompt_mask=None,
        indices=torch.arange(len(sentences.sources)),
        device=torch.device("cpu"),
        pad_index=PAD,
        eos_index=END,
    )


def joeynmt_training(sizes: Sizes, sentences: Sentences, transformer: bool) -> Run:
    """As its `TrainManager` makes a step: the loss by the number of sentences."""
    model = joeynmt_model(sizes, transformer).train()
    batch = _joeynmt_batch(sentences, True)

    def step() -> None:
        model.zero_grad()
        loss, _, _, _ = model(return_type="loss", **vars(batch))
        batch.normalize(loss, "batch").backward()

    return step


def joeynmt_search(sizes: Sizes, sentences: Sentences, beams: int, words: int, transformer: bool) -> Run:
    """`joeynmt.search.search`."""
    from joeynmt.search import search

    model, batch = joeynmt_model(sizes, transformer).eval(), _joeynmt_batch(sentences, False)

    def run() -> None:
        made, _, _ = search(model, batch, words, beams, -1, min_output_length=words)
        of_length(made.tolist(), words)

    return run


def _opennmt_embeddings(sizes: Sizes, transformer: bool) -> Any:
    from onmt.modules import Embeddings

    return Embeddings(
        word_vec_size=sizes.embedding,
        word_vocab_size=sizes.vocabulary,
        word_padding_idx=PAD,
        position_encoding=transformer,
        dropout=sizes.dropout,
    )


def opennmt_model(sizes: Sizes, transformer: bool) -> Any:
    """OpenNMT-py's Transformer with tied tables, or its LSTM with input feeding and the general score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it decorates by functions of torch that have moved
        from onmt.decoders import InputFeedRNNDecoder, TransformerDecoder
        from onmt.encoders import RNNEncoder, TransformerEncoder
        from onmt.models.model import NMTModel
    reads, writes = _opennmt_embeddings(sizes, transformer), _opennmt_embeddings(sizes, transformer)
    layers, size, dropout = sizes.layers, sizes.hidden, sizes.dropout
    generator = nn.Linear(size, sizes.vocabulary)
    if transformer:
        writes.word_lut.weight = reads.word_lut.weight
        generator.weight = reads.word_lut.weight
        shape = (layers, size, sizes.heads, 4 * size)
        encoder = TransformerEncoder(*shape, dropout, 0.0, reads, 0, 0)
        attention = "scaled-dot-flash"  # what it takes by default
        decoder = TransformerDecoder(*shape, False, attention, dropout, 0.0, writes, 0, 0, False, False, None, None)
    else:
        encoder = RNNEncoder("LSTM", False, layers, size, dropout, reads)
        decoder = InputFeedRNNDecoder("LSTM", False, layers, size, "general", dropout=dropout, embeddings=writes)
    model = NMTModel(encoder, decoder)
    model.generator = generator
    with torch.no_grad():
        for parameter in model.parameters():  # it leaves them as they lie in memory
            nn.init.uniform_(parameter, -0.1, 0.1)
    return model


def opennmt_training(sizes: Sizes, sentences: Sentences, transformer: bool) -> Run:
    """As its `Trainer` makes a step: the summed loss by the number of words."""
    model = opennmt_model(sizes, transformer).train()
    source = sentences.grid(sentences.sources, PAD)[..., None]
    target, lengths = sentences.begun()[..., None], torch.tensor(sentences.source_lengths)
    number = sum(sentences.target_lengths)

    def step() -> None:
        model.zero_grad()
        states, _ = model(source, target, lengths)
        logits = model.generator(states.flatten(0, 1))
        loss = functional.cross_entropy(logits, target[:, 1:, 0].flatten(), ignore_index=PAD, reduction="sum")
        (loss / number).backward()

    return step


def opennmt_search(sizes: Sizes, sentences: Sentences, beams: int, words: int, transformer: bool) -> Run:
    """`onmt.translate.Translator.translate_batch`."""
    model = opennmt_model(sizes, transformer).eval()
    import pyonmttok
    from onmt.translate import GNMTGlobalScorer, Translator

    tokens = [*OPENNMT_SPECIAL, *(f"w{k}" for k in range(sizes.vocabulary - 4))]
    vocabulary = pyonmttok.build_vocab_from_tokens(tokens)
    translator = Translator(
        model,
        {"src": vocabulary, "tgt": vocabulary, "decoder_start_token": "<s>"},
        min_length=words,
        max_length=words,
        max_length_ratio=0,
        beam_size=beams,
        dump_beam="",
        global_scorer=GNMTGlobalScorer(0.0, 0.0, None, None),
    )
    batch = {
        "src": sentences.grid(sentences.sources, PAD)[..., None],
        "srclen": torch.tensor(sentences.source_lengths),
    }

    def run() -> None:
        made = translator.translate_batch(dict(batch), False)["predictions"]
        of_length([row[0].tolist() for row in made], words)

    return run


def ctranslate2_search(
    model: Any, folder: Path, sentences: Sentences, beams: int, words: int, kind: str, threads: int
) -> Run:
    """CTranslate2 with the weights of a Transformer of the zoo, in float32 or int8."""
    import ctranslate2

    from hf_attention_zoo.hub.ctranslate2_export import transformer_spec

    if not folder.exists():
        folder.mkdir(parents=True)
        spec = transformer_spec(model)
        config = model.config
        tokens = [f"w{k}" for k in range(config.vocab_size)]
        spec.register_source_vocabulary(tokens)
        spec.register_target_vocabulary(tokens)
        spec.config.unk_token, spec.config.bos_token = tokens[1], tokens[config.bos_token_id]
        spec.config.eos_token = tokens[config.eos_token_id]
        spec.config.decoder_start_token = tokens[config.decoder_start_token_id]
        spec.config.add_source_bos = spec.config.add_source_eos = False
        spec.validate()
        spec.optimize()
        spec.save(str(folder))
    program = ctranslate2.Translator(str(folder), compute_type=kind, inter_threads=1, intra_threads=threads)
    texts = [[f"w{k}" for k in ids] for ids in sentences.sources]

    def run() -> None:
        made = program.translate_batch(
            texts,
            beam_size=beams,
            length_penalty=0.0,
            min_decoding_length=words,
            max_decoding_length=words,
            max_batch_size=len(texts),
        )
        of_length([one.hypotheses[0] for one in made], words)

    return run


class JoeyBound(nn.Module):
    """JoeyNMT's GRU model without the loop: library cells of its sizes, as `rnnsearch.Bound` is of the paper's.

    Its decoder reads [word; vector], and its output layer the whole vector, where the paper has half as many maxout
    units.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        embedding, hidden = sizes.embedding, sizes.hidden
        self.source_table, self.target_table = (nn.Embedding(sizes.vocabulary, embedding) for _ in range(2))
        self.encoder = nn.GRU(embedding, hidden, bidirectional=True, batch_first=True)
        self.bridge = nn.Linear(hidden, hidden)
        self.decoder = nn.GRU(embedding + hidden, hidden, batch_first=True)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key = nn.Linear(2 * hidden, hidden, bias=False)
        self.vector = nn.Linear(3 * hidden, hidden)
        self.output = nn.Linear(hidden, sizes.vocabulary, bias=False)
        self.hidden = hidden

    def forward(self, source: Tensor, target: Tensor, labels: Tensor) -> Tensor:
        """Ids (B, T) on both sides -> the loss."""
        annotations, last = self.encoder(self.source_table(source))
        inputs = torch.cat([self.target_table(target), annotations[..., : self.hidden]], -1)
        states, _ = self.decoder(inputs, torch.tanh(self.bridge(last[:1])))
        alignment = torch.softmax(torch.bmm(self.query(states), self.key(annotations).mT), -1)
        both = torch.cat([states, torch.bmm(alignment, annotations)], -1)
        logits = self.output(torch.tanh(self.vector(both)))
        return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
