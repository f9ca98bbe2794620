"""The model card of a checkpoint folder, generated from what the folder itself records.

Read are `config.json`, the weight file's header, `metrics.json` (written by the evaluation), `training.json` (written
by the training), `facts.json` (by hand: what no program can know) and the architecture's registry row. A section
whose facts are missing is left out; nothing is filled in. Numbers of the paper stand apart from the checkpoint's and
say so.

`facts.json`, every key optional:

    title          heading of the card
    summary        one sentence more about the checkpoint
    task           pipeline tag, where the model class does not settle it
    languages      list of language codes
    licence        licence of the weights, as the Hub writes it ("apache-2.0", "mpl-2.0", ...)
    data_licence   licence of the training data
    data_source    where the training data come from
    datasets       list of data set ids for the metadata; default: the data set of the evaluation
    example        an input text for the usage lines
    example_pair   the second text of the example, for models that read pairs
    example_answer what the data give as the example's label, caption or translation; stands under the picture of it
    intended_use   a text or a list of texts
    limits         a text or a list of texts
"""

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from safetensors import safe_open

from hf_attention_zoo.folders.checkpoint_folder import TOKEN, read_json, require_folder
from hf_attention_zoo.hub.language_codes import check_language_code, language_name
from hf_attention_zoo.hub.task_wording import wording_of
from hf_attention_zoo.registry import get_architecture

FACTS: dict[str, type | tuple[type, ...]] = {
    "title": str,
    "summary": str,
    "task": str,
    "languages": list,
    "licence": str,
    "data_licence": str,
    "data_source": str,
    "datasets": list,
    "example": str,
    "example_pair": str,
    "example_answer": str,
    "intended_use": (str, list),
    "limits": (str, list),
}

TASKS: dict[str, str] = {
    "AutoModelForSeq2SeqLM": "translation",
    "AutoModelForCausalLM": "text-generation",
    "AutoModelForMaskedLM": "fill-mask",
    "AutoModelForPreTraining": "fill-mask",
    "AutoModelForSequenceClassification": "text-classification",
    "AutoModelForTokenClassification": "token-classification",
    "AutoModelForQuestionAnswering": "question-answering",
    "AutoModelForMultipleChoice": "multiple-choice",
    "AutoModelForImageTextToText": "image-text-to-text",
    "AutoModel": "feature-extraction",
}
"""Auto class -> the Hub's tag for what a model of this class does."""


@dataclass(frozen=True)
class Metric:
    """How one entry of `metrics.json` is called on the Hub and in a table."""

    hub_id: str
    name: str
    percent: bool = False
    falls: bool = False  # less is better
    digits: int = 2
    package: str = ""  # that computes it, where there are several ways and no signature

    def shown(self, value: float | None) -> str:
        """The value as a table has it."""
        if value is None:
            return "-"
        return f"{100 * value:.1f} %" if self.percent else number(value, self.digits)


METRICS: dict[str, Metric] = {
    "bleu": Metric("sacrebleu", "BLEU"),
    "chrf": Metric("chrf", "chrF"),
    "perplexity_per_token": Metric("perplexity", "perplexity per token"),
    "accuracy": Metric("accuracy", "accuracy", percent=True),
    "micro_f1": Metric("f1", "micro F1", percent=True),
    "macro_f1": Metric("f1", "macro F1", percent=True),
    "mse": Metric("mse", "mean squared error", falls=True, digits=3),
    "mae": Metric("mae", "mean absolute error", falls=True, digits=3),
    "pearson": Metric("pearsonr", "Pearson correlation", digits=3),
    "bleu1": Metric("bleu", "BLEU-1"),
    "bleu4": Metric("bleu", "BLEU-4"),
    "cider": Metric("cider", "CIDEr", package="pycocoevalcap"),
    "meteor": Metric("meteor", "METEOR without synonyms", package="nltk"),
    "exact": Metric("exact_match", "exact matches in %"),
    "entity_f1": Metric("f1", "F1 of whole names", percent=True),
    "exact_match": Metric("exact_match", "exact matches in %"),
    "f1": Metric("f1", "F1 of words in %"),
    "perplexity": Metric("perplexity", "perplexity per token", falls=True),
    "perplexity_per_word": Metric("perplexity", "perplexity per word", falls=True),
    "forward_perplexity": Metric("perplexity", "perplexity, left to right", falls=True),
    "backward_perplexity": Metric("perplexity", "perplexity, right to left", falls=True),
    "masked_perplexity": Metric("perplexity", "perplexity of hidden tokens", falls=True),
    "masked_accuracy": Metric("accuracy", "hidden tokens right", percent=True),
    "next_sentence_accuracy": Metric("accuracy", "next sentences right", percent=True),
}

BASELINES = {
    "copy": "the source copied unchanged",
    "most_frequent": "the most frequent caption",
    "nearest": "the caption of the training picture whose features are nearest",
    "majority": "the most frequent class",
    "most_frequent_tag": "each word's most frequent tag",
    "likely_sentence": "the sentence that shares the most words with the question",
    "chance": "chance",
    "shared_words": "the choice that shares the most words with the context",
    "1-gram": "Kneser-Ney, 1 token",
    "2-gram": "Kneser-Ney, 2 tokens",
    "3-gram": "Kneser-Ney, 3 tokens",
    "4-gram": "Kneser-Ney, 4 tokens",
    "tfidf": "tf-idf weights and a linear model",
    "tfidf_cosine": "the cosine of tf-idf weights and a threshold",
}

SENTENCES_FILE = "sentences.png"
SENTENCES = (
    "Held-out sentences as points: the model keeps one vector of each, drawn in the plane of their first two "
    "principal components (`attention-zoo sentence-vectors`)."
)

HUB_LICENCES = frozenset(
    licence
    for line in """
    apache-2.0 mit bsd bsd-2-clause bsd-3-clause cc cc0-1.0 cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0
    cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0
    cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 gpl gpl-2.0 gpl-3.0 lgpl lgpl-2.1 lgpl-3.0 agpl-3.0 mpl-2.0 epl-1.0 epl-2.0
    eupl-1.1 eupl-1.2 isc unlicense wtfpl zlib bsl-1.0 artistic-2.0 afl-3.0 osl-3.0 ms-pl ncsa odc-by odbl pddl
    postgresql openrail bigscience-openrail-m c-uda unknown other
    """.splitlines()
    for licence in line.split()
)
"""Identifiers that the Hub knows. Any other licence is written as `other` with its name beside it."""

BUFFERS = frozenset({"running_mean", "running_var", "num_batches_tracked", "reward_baseline"})
"""What weight files hold beside parameters: statistics that training keeps and no gradient reaches."""

WEIGHT_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64"}

EXAMPLES = {
    "de": "Klicken Sie auf die Schaltfläche.",
    "en": "Click the button.",
    "fr": "Cliquez sur le bouton.",
    "ko": "단추를 누르십시오.",
}
"""An input for the usage lines when the facts name none."""


def build_card(folder: str | os.PathLike[str], *, name: str | None = None) -> str:
    """The whole README.md as text.

    `name` is what a user passes to `from_pretrained`: a Hub id, or by default the folder's own name. Raises ValueError
    for a folder that is no checkpoint of a known architecture, and for facts or metrics that are wrong.
    """
    checkpoint = Checkpoint(require_folder(folder), name)
    parts = [
        f"# {checkpoint.title}",
        describe(checkpoint),
        usage(checkpoint),
        results(checkpoint),
        results_by_length(checkpoint),
        results_by_class(checkpoint),
        results_by_group(checkpoint),
        picture(checkpoint),
        training(checkpoint),
        paper(checkpoint),
        listed("Intended use", checkpoint.facts.get("intended_use")),
        limits(checkpoint),
        licence(checkpoint),
    ]
    metadata = checkpoint.metadata()
    text = f"---\n{metadata.to_yaml()}\n---\n\n" + "\n\n".join(part for part in parts if part) + "\n"
    read_back = ModelCard(text).data  # what the Hub will read must be what was meant
    if read_back.to_dict() != metadata.to_dict():
        raise ValueError(f"{checkpoint.folder}: the card's metadata do not survive YAML: {metadata.to_dict()}")
    return text


def write_card(folder: str | os.PathLike[str], *, name: str | None = None) -> Path:
    """Writes README.md into the folder, in place of any earlier one, and returns its path."""
    text = build_card(folder, name=name)
    path = Path(folder) / "README.md"
    unfinished = path.with_name(".README.md.new")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
    return path


def generated_name(folder: str | os.PathLike[str]) -> str | None:
    """The `name` that the folder's README.md was generated with; None if there is none or a person has changed it."""
    path = Path(folder) / "README.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    found = re.search(r'from_pretrained\("([^"]+)"', text)
    return found[1] if found and build_card(folder, name=found[1]) == text else None


class Checkpoint:
    """The facts of one folder, read once and checked, and what follows from them."""

    def __init__(self, folder: Path, name: str | None = None) -> None:
        self.folder = folder
        self.name = name or folder.resolve().name
        self.config = read_json(folder / "config.json")
        self.row = get_architecture(self.config["model_type"])
        self.architecture = self.row.prefix
        self.metrics = self.optional("metrics.json")
        self.training = self.optional("training.json")
        self.tokenizer = self.optional("tokenizer_config.json")
        self.facts = checked_facts(self.optional("facts.json"), folder / "facts.json")
        if (folder / "metrics.json").is_file():
            checked_results(self.metrics, folder / "metrics.json")

    def optional(self, file: str) -> dict[str, Any]:
        """A JSON file of the folder, empty when it is not there."""
        path = self.folder / file
        return read_json(path) if path.is_file() else {}

    @cached_property
    def auto_class(self) -> str:
        """The Auto class that loads the saved model."""
        saved = self.config.get("architectures") or []
        for auto_class, model_name in self.row.models.items():
            if model_name in saved:
                return auto_class
        return next((auto_class for auto_class in TASKS if auto_class in self.row.models), "AutoModel")

    @property
    def task(self) -> str:
        """The Hub's tag of the task."""
        usual = TASKS.get(self.auto_class, "feature-extraction")
        return self.facts.get("task") or (usual if usual in self.row.tasks else self.row.tasks[0])

    @property
    def installed(self) -> str:
        """What is installed to load the checkpoint: GPT's own pre-tokenisation needs an extra."""
        return '"hf_attention_zoo[gpt]"' if self.tokenizer.get("text_packages") else "hf_attention_zoo"

    @property
    def data(self) -> dict[str, Any]:
        """What the evaluation says about its data set."""
        return self.metrics.get("dataset", {})

    @cached_property
    def direction(self) -> tuple[str | None, str | None]:
        """Source and target language code, as far as evaluation or tokenizer know them."""
        found = []
        for side in ("source_lang", "target_lang"):
            code, where = self.data.get(side), f"{self.folder / 'metrics.json'}, dataset.{side}"
            if not code:
                code, where = self.tokenizer.get(side), f"{self.folder / 'tokenizer_config.json'}, {side}"
            found.append(check_language_code(code, where) if code else None)
        return found[0], found[1]

    @cached_property
    def languages(self) -> list[str]:
        """Language codes for the metadata; empty when nobody stated them."""
        where = f"{self.folder / 'facts.json'}, languages"
        stated = [check_language_code(code, where) for code in self.facts.get("languages", [])]
        read = [self.data["language"]] if self.data.get("language") else []
        return stated or list(dict.fromkeys(code for code in (*self.direction, *read) if code))

    @property
    def title(self) -> str:
        """The heading."""
        if self.facts.get("title"):
            return one_line(self.facts["title"])
        source, target = self.direction
        if self.task == "translation" and source and target:
            return f"{self.architecture}: {language_name(source)} to {language_name(target)}"
        return f"{self.architecture}: {self.name.rpartition('/')[2]}"

    @property
    def dataset(self) -> str | None:
        """The data set's name, never a path of the machine that trained."""
        given = self.data.get("name") or self.training.get("dataset")
        return dataset_name(str(given)) if given else None

    @property
    def citation(self) -> str:
        """The paper in running text."""
        return f"{names_of(self.row.authors)}, {self.row.year}"

    @property
    def attention_tag(self) -> list[str]:
        """Only for architectures that attend: two of the lineage came before attention."""
        return ["attention"] if self.row.aligner is not None else []

    @property
    def arxiv_tag(self) -> list[str]:
        """The tag by which the Hub links a paper; only arXiv ids have one."""
        return [f"arxiv:{self.row.paper}"] if self.row.paper[0].isdigit() else []

    def metadata(self) -> ModelCardData:
        """The YAML block."""
        stated = self.facts.get("licence")
        identifier = stated.strip().lower().replace(" ", "-") if stated else None
        other = {}
        if identifier is not None and identifier not in HUB_LICENCES:
            other = {"license_name": identifier}
            identifier = "other"
        evaluated = self.eval_results()
        datasets = [str(entry) for entry in self.facts.get("datasets", [])]
        if not datasets and self.dataset:
            datasets = [slug(self.dataset)]
        return ModelCardData(
            language=self.languages or None,
            license=identifier,
            library_name="transformers",
            pipeline_tag=self.task,
            tags=["hf_attention_zoo", self.row.model_type, *self.attention_tag, *self.arxiv_tag],
            datasets=datasets or None,
            metrics=list(dict.fromkeys(result.metric_type for result in evaluated)) or None,
            model_name=self.name.rpartition("/")[2] if evaluated else None,
            eval_results=evaluated or None,
            **other,
        )

    def eval_results(self) -> list[EvalResult]:
        """One entry a measured metric, for the model-index."""
        dataset = self.dataset or "unnamed"
        entries = []
        for key, metric in METRICS.items():
            value, signature = measured(self.metrics.get("results", {}).get(key))
            if value is not None:
                entries.append(
                    EvalResult(
                        task_type=self.task,
                        dataset_type=slug(dataset),
                        dataset_name=dataset,
                        dataset_split=self.data.get("split"),
                        dataset_args={"max_words": self.data["max_words"]} if self.data.get("max_words") else None,
                        metric_type=metric.hub_id,
                        metric_name=metric.name,
                        metric_value=round(value, 4),
                        metric_args={"signature": signature} if signature else None,
                    )
                )
        return entries

    @cached_property
    def weights(self) -> tuple[int, int, str] | None:
        """Number of parameters, bytes and type of the saved weights, read from the files' headers."""
        parameters, types = 0, set()
        files = sorted(self.folder.glob("model*.safetensors"))
        for file in files:
            with safe_open(file, framework="numpy") as tensors:
                for key in tensors.keys():  # noqa: SIM118 (safe_open objects are no mappings)
                    if key.rpartition(".")[2] in BUFFERS:
                        continue
                    tensor = tensors.get_slice(key)
                    count = 1
                    for size in tensor.get_shape():
                        count *= size
                    parameters += count
                    types.add(WEIGHT_TYPES.get(tensor.get_dtype(), tensor.get_dtype()))
        if not files:
            return None
        return parameters, sum(file.stat().st_size for file in files), " and ".join(sorted(types))


# ---------------------------------------------------------------------------------------------------- the sections


def describe(checkpoint: Checkpoint) -> str:
    """What the checkpoint is, in two sentences."""
    source, target = checkpoint.direction
    purpose = wording_of(checkpoint.task).purpose
    if source and target:
        purpose += f" {language_name(source)} into {language_name(target)}"
    first = f"{checkpoint.architecture} ({checkpoint.citation}) as a transformers model that {purpose}"
    if checkpoint.training.get("dataset"):
        first += f", trained on {dataset_name(str(checkpoint.training['dataset']))}"
    sentences = [f"{first}."]
    details = []
    if checkpoint.weights:
        parameters, size, types = checkpoint.weights
        details.append(f"{parameters:,} parameters ({size_in_bytes(size)} of {types} weights)")
    source_size, target_size = checkpoint.config.get("vocab_size"), checkpoint.config.get("decoder_vocab_size")
    if source_size and target_size:
        details.append(f"vocabularies of {source_size:,} source and {target_size:,} target entries")
    elif source_size:
        details.append(f"a vocabulary of {source_size:,} entries")
    if details:
        sentences.append(f"It has {' and '.join(details)}.")
    if checkpoint.facts.get("summary"):
        sentences.append(one_line(checkpoint.facts["summary"]))
    return " ".join(sentences)


def usage(checkpoint: Checkpoint) -> str:
    """Installation and the lines of Python that use the checkpoint."""
    name, wording = quoted(checkpoint.name), wording_of(checkpoint.task)
    reader = wording.reader.removeprefix("Auto").lower()
    example = checkpoint.facts.get("example") or EXAMPLES.get(checkpoint.direction[0] or "")
    text = quoted(example) if example else 'input("text: ")'
    if checkpoint.facts.get("example_pair"):
        text = f'{{"text": {text}, "text_pair": {quoted(checkpoint.facts["example_pair"])}}}'
    lines = [
        "## How to use it",
        "",
        "```bash",
        f"pip install {checkpoint.installed}",
        "```",
        "",
        "```python",
        "import hf_attention_zoo",
        f"from transformers import {', '.join(sorted({checkpoint.auto_class, wording.reader, 'pipeline'}))}",
        "",
        f"print(pipeline({quoted(wording.pipeline or checkpoint.task)}, model={name})({text}))",
        "```",
        "",
    ]
    if "/" not in checkpoint.name:
        lines += [f"Here {name} is this folder, seen from the one above it.", ""]
    lines += [
        "The same through the Auto classes"
        + (", with the attention as a picture:" if has_alignment(checkpoint) else ":"),
        "",
        "```python",
        f"model = {checkpoint.auto_class}.from_pretrained({name})",
        f"{reader} = {wording.reader}.from_pretrained({name})",
    ]
    if has_alignment(checkpoint):
        decoding = {"num_beams": 5, **((checkpoint.metrics or {}).get("decoding") or {})}
        options = wording.align_options.format(**decoding)
        lines.append(f"(alignment,) = hf_attention_zoo.align(model, {reader}, [{text}]{options})")
        lines.append('alignment.plot("alignment.png")')
    lines.append("```")
    if "auto_map" in checkpoint.config:
        lines += [
            "",
            "This copy carries its code. Where `hf_attention_zoo` is not installed, pass `trust_remote_code=True` to "
            "each `from_pretrained`; that runs the Python files of this repository, so look at them first.",
        ]
    return "\n".join(lines)


def has_alignment(checkpoint: Checkpoint) -> bool:
    """Whether `hf_attention_zoo.align` takes this model."""
    return checkpoint.row.aligner is not None and wording_of(checkpoint.task).aligned


def results(checkpoint: Checkpoint) -> str:
    """The measured numbers beside the baselines, and how they were measured."""
    if not checkpoint.metrics:
        return "## Results\n\nThis checkpoint was not evaluated."
    found = checkpoint.metrics["results"]
    shown = [key for key in METRICS if measured(found.get(key))[0] is not None]
    rows = [["this checkpoint", *(METRICS[key].shown(measured(found[key])[0]) for key in shown)]]
    for baseline, values in checkpoint.metrics.get("baselines", {}).items():
        cells = (METRICS[key].shown(measured(values.get(key))[0]) for key in shown)
        rows.append([BASELINES.get(baseline, baseline), *cells])
    where = [f"{checkpoint.data['split']} split"] if checkpoint.data.get("split") else []
    where += [f"of {checkpoint.dataset}"] if checkpoint.dataset else []
    size = [f"{checkpoint.data['rows']:,} rows"] if isinstance(checkpoint.data.get("rows"), int) else []
    size += [f"at most {checkpoint.data['max_words']} words a side"] if checkpoint.data.get("max_words") else []
    where += [f"({', '.join(size)})"] if size else []
    lines = ["## Results", ""]
    if where:
        lines += [f"Measured on the {' '.join(where)}.", ""]
    lines += [table(["", *(METRICS[key].name for key in shown)], rows), ""]
    for key in shown:
        signature = measured(found[key])[1]
        if signature:
            lines.append(f"- {METRICS[key].name} signature: `{signature}`")
        if METRICS[key].package:
            lines.append(f"- {METRICS[key].name}: as `{METRICS[key].package}` computes it")
        if isinstance(found[key], Mapping) and found[key].get("note"):
            lines.append(f"- {METRICS[key].name}: {one_line(found[key]['note'])}")
    if found.get("brevity_penalty") is not None:
        lines.append(f"- brevity penalty: {number(found['brevity_penalty'], 3)}")
    if found.get("seconds") is not None:
        lines.append(f"- {wording_of(checkpoint.task).reading}: {duration(found['seconds'])}")
    decoding = settings(checkpoint.metrics.get("decoding"))
    if decoding:
        lines.append(f"- decoding: {decoding}")
    if checkpoint.metrics.get("hardware"):
        lines.append(f"- hardware: {described(checkpoint.metrics['hardware'])}")
    if checkpoint.metrics.get("versions"):
        lines.append(f"- versions: {described(checkpoint.metrics['versions'])}")
    if checkpoint.metrics.get("command"):
        lines += ["", "```bash", private_command(checkpoint.metrics["command"]), "```"]
    return "\n".join(lines).rstrip()


def results_by_length(checkpoint: Checkpoint) -> str:
    """BLEU in groups of sentences of like length."""
    groups = checkpoint.metrics.get("bleu_by_source_length") or []
    rows = [
        [str(group["words"]), f"{group['sentences']:,}", number(group["bleu"])]
        for group in groups
        if group.get("bleu") is not None
    ]
    if not rows:
        return ""
    return "## BLEU by source length\n\n" + table(["source words", "sentences", "BLEU"], rows)


def results_by_class(checkpoint: Checkpoint) -> str:
    """Precision, recall and F1 of each class, and what it was most often taken for."""
    classes = checkpoint.metrics.get("classes") or []
    if not classes:
        return ""
    confusion = checkpoint.metrics.get("confusion")
    rows = []
    for index, one in enumerate(classes):
        row = [one["name"], f"{one['texts']:,}", *(f"{100 * one[key]:.1f} %" for key in ("precision", "recall", "f1"))]
        if confusion:
            wrong = sorted(((count, j) for j, count in enumerate(confusion[index]) if j != index), reverse=True)[:2]
            row.append(", ".join(f"{classes[j]['name']} ({count})" for count, j in wrong if count) or "-")
        rows.append(row)
    head = ["class", "texts", "precision", "recall", "F1", *(["most often taken for"] if confusion else [])]
    return "## Class by class\n\n" + table(head, rows)


def results_by_group(checkpoint: Checkpoint) -> str:
    """Scores of parts of the split that are told apart, with those of the baselines."""
    rows, shown = [], []
    for group in checkpoint.metrics.get("groups") or []:
        shown = shown or [key for key in METRICS if measured(group.get(key))[0] is not None]
        for said, scores in (("this checkpoint", group), *(group.get("baselines") or {}).items()):
            cells = (METRICS[key].shown(measured(scores.get(key))[0]) for key in shown)
            rows.append([str(group["group"]), f"{group['rows']:,}", BASELINES.get(said, said), *cells])
    if not rows:
        return ""
    return "## Group by group\n\n" + table(["group", "rows", "", *(METRICS[key].name for key in shown)], rows)


def picture(checkpoint: Checkpoint) -> str:
    """The picture that the folder holds: where the model attended, or its sentence vectors if it does not attend."""
    if (checkpoint.folder / "alignment.png").is_file():
        title, shown = wording_of(checkpoint.task).picture
        answer = checkpoint.facts.get("example_answer")
        given = f"The data say: {one_line(answer)}." if answer else ""
        parts = ["## What it attends to", f"![{title}](alignment.png)", f"{shown} {given}".strip()]
        return "\n\n".join(part for part in parts if part)
    if (checkpoint.folder / SENTENCES_FILE).is_file():
        return f"## What it makes of a sentence\n\n![Held-out sentences as points]({SENTENCES_FILE})\n\n{SENTENCES}"
    return ""


def training(checkpoint: Checkpoint) -> str:
    """How the weights came about."""
    facts = checkpoint.training
    if not facts:
        return ""
    rows = []
    if facts.get("recipe"):
        rows.append(["recipe", described(facts["recipe"])])
    if facts.get("dataset"):
        rows.append(["data", dataset_name(str(facts["dataset"]))])
    if checkpoint.facts.get("data_source"):
        rows.append(["data source", checkpoint.facts["data_source"]])
    for key, label in (("epochs", "epochs"), ("steps", "updates"), ("target_tokens", "target tokens seen")):
        if facts.get(key) is not None:
            rows.append([label, f"{round(facts[key], 2):,}".removesuffix(".0")])
    vectors = facts.get("word_vectors")
    if vectors:
        kept = "kept as they are" if vectors.get("frozen") else "trained further"
        share = f"{vectors['found']:,} of {vectors['entries']:,} entries found"
        rows.append(["word vectors at the start", f"{one_line(vectors['source'])}, {share}, {kept}"])
    if facts.get("seed") is not None:
        rows.append(["seed", str(facts["seed"])])
    if facts.get("hardware"):
        rows.append(["hardware", described(facts["hardware"])])
    if facts.get("seconds") is not None:
        rows.append(["wall time", duration(facts["seconds"])])
    arguments = {key: value for key, value in (facts.get("arguments") or {}).items() if not private_argument(key)}
    if arguments:
        rows.append(["arguments", settings(arguments)])
    lines = ["## How it was trained", ""]
    if rows:
        lines += [table(["", ""], rows), ""]
    if facts.get("command"):
        lines += ["```bash", private_command(facts["command"]), "```"]
    return "\n".join(lines).rstrip()


def paper(checkpoint: Checkpoint) -> str:
    """The paper, which of its equations this checkpoint computes, and the numbers that the paper itself reports."""
    row = checkpoint.row
    lines = ["## The paper", "", f"[{one_line(row.title)}]({row.paper_url}), {checkpoint.citation}."]
    variants = equation_options(checkpoint)
    if variants:
        lines += ["", f"Forms of the equations in this checkpoint (see `{row.prefix}Config`): {settings(variants)}."]
    if row.reported_results:
        reported = [
            [result["system"], result["dataset"], result["metric"], number(result["value"]), result.get("source", "")]
            for result in row.reported_results
        ]
        lines += [
            "",
            "**Reported by the paper for its own systems, not measured with this checkpoint:**",
            "",
            table(["system of the paper", "data", "metric", "value", "where in the paper"], reported),
        ]
    if row.bibtex:
        lines += ["", "```bibtex", row.bibtex.strip(), "```"]
    return "\n".join(lines)


def equation_options(checkpoint: Checkpoint) -> dict[str, Any]:
    """The config's own options that are chosen by name or switched on: these tell forms of the equations apart."""
    from transformers import PreTrainedConfig

    general = {field.name for field in fields(PreTrainedConfig)} | {"use_cache", "is_encoder_decoder"}
    named = [
        field.name
        for field in fields(checkpoint.row.config_class)
        if field.name not in general and isinstance(field.default, (str, bool))
    ]
    return {name: checkpoint.config[name] for name in named if isinstance(checkpoint.config.get(name), (str, bool))}


def limits(checkpoint: Checkpoint) -> str:
    """What was stated, and what follows from the evaluation."""
    stated = as_list(checkpoint.facts.get("limits")) + beaten_by(checkpoint)
    if checkpoint.metrics and checkpoint.dataset:
        stated.append(f"The numbers above hold for {checkpoint.dataset}; other kinds of input were not measured.")
    return listed("Limits", stated)


def beaten_by(checkpoint: Checkpoint) -> list[str]:
    """A sentence for each baseline that is better in one of the metrics, in the whole split or in a group of it."""
    whole = [("here", checkpoint.metrics.get("results", {}), checkpoint.metrics.get("baselines", {}))]
    groups = [
        (f"on the {group['rows']:,} rows of {group['group']}", group, group.get("baselines") or {})
        for group in checkpoint.metrics.get("groups") or []
    ]
    sentences = []
    for where, found, baselines in whole + groups:
        for baseline, values in baselines.items():
            better = []
            for key, metric in METRICS.items():
                own, other = measured(found.get(key))[0], measured(values.get(key))[0]
                if own is not None and other is not None and (other < own if metric.falls else other > own):
                    better.append(f"{metric.name} ({metric.shown(other)} against {metric.shown(own)})")
            if better:
                name = BASELINES.get(baseline, baseline)
                sentences.append(f"A simpler way is better {where}: {name} in {' and in '.join(better)}.")
    return sentences


def licence(checkpoint: Checkpoint) -> str:
    """Terms of the weights and of the data."""
    lines = []
    if checkpoint.facts.get("licence"):
        lines.append(f"Weights: {checkpoint.facts['licence']}")
    data = checkpoint.facts.get("data_licence") or checkpoint.data.get("licence")
    if data:
        lines.append(f"Data: {one_line(data)}")
    return listed("Licence", lines)


# --------------------------------------------------------------------------------------------- checks and wording


def checked_facts(facts: dict[str, Any], path: Path) -> dict[str, Any]:
    """The facts, if every key is known and of the right type."""
    for key, value in facts.items():
        if key not in FACTS:
            raise ValueError(f"{path}: unknown key {key!r}. Allowed are {', '.join(FACTS)}.")
        expected = FACTS[key]
        names = " or ".join(kind.__name__ for kind in (expected if isinstance(expected, tuple) else (expected,)))
        items_wrong = isinstance(value, list) and not all(isinstance(item, str) for item in value)
        if not isinstance(value, expected) or items_wrong:
            raise ValueError(f"{path}: {key!r} is {value!r}; it must be a {names} of text.")
    return facts


def checked_results(metrics: dict[str, Any], path: Path) -> None:
    """Raises if the metrics file has no results, or a known result that is no finite number."""
    found = metrics.get("results")
    if not isinstance(found, dict) or not any(key in METRICS for key in found):
        raise ValueError(
            f"{path} has no `results` with any of {', '.join(METRICS)}. Write it with `attention-zoo evaluate`, or "
            "delete it."
        )
    for key in METRICS:
        value = measured(found.get(key))[0]
        if key in found and (value is None or value != value or abs(value) == float("inf")):
            raise ValueError(f"{path}: results.{key} is {found[key]!r}; a finite number is needed. Evaluate again.")


def measured(entry: Any) -> tuple[float | None, str | None]:
    """Value and signature of a result, written either as a bare number or as {"value", "signature"}."""
    value, signature = (entry.get("value"), entry.get("signature")) if isinstance(entry, Mapping) else (entry, None)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None, None
    return float(value), signature


def dataset_name(given: str) -> str:
    """A sample's name or a Hub id as it is; a path without its folders and file endings."""
    if re.fullmatch(r"[\w.-]+(/[\w.-]+)?", given) and not given.startswith(".") and not Path(given).exists():
        return given
    name = Path(given).name
    return re.sub(r"\.(jsonl?|csv|tsv|parquet|txt|gz|xz|zst)\b", "", name) or name


def private_command(command: Any) -> str:
    """A command line without access tokens and without the folders of the machine it ran on."""
    try:
        words = list(map(str, command)) if isinstance(command, list) else shlex.split(str(command))
    except ValueError:  # a quotation that is never closed
        words = str(command).split()
    shortened = [re.sub(r"(^|=)/(?:[^=]*/)?([^/=]+)/?$", r"\1\2", word) for word in words]
    return TOKEN.sub("$HF_TOKEN", shlex.join(shortened))


def private_argument(name: str) -> bool:
    """Arguments that describe the machine or its owner and not the training."""
    return "token" in name.split("_") or name.endswith(("_dir", "_file", "_path")) or name in {"dataset", "config"}


def settings(values: Mapping[str, Any] | None) -> str:
    """`name = value` pairs as code, in one line."""
    shown = {key: value for key, value in (values or {}).items() if value is not None}
    return ", ".join(f"`{key}={value}`" for key, value in shown.items())


def described(value: Any) -> str:
    """Text as it is; a mapping as `name value` pairs; a list joined."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in value.items() if item is not None)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return one_line(str(value))


def names_of(authors: str | Iterable[str]) -> str:
    """Authors in running text: all of them up to three, otherwise the first "and others"."""
    people = [authors] if isinstance(authors, str) else list(authors)
    if len(people) > 3:
        return f"{people[0]} and others"
    return " and ".join([", ".join(people[:-1]), people[-1]] if len(people) > 1 else people)


def duration(seconds: float) -> str:
    """Seconds in the units a reader thinks in."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def size_in_bytes(size: int) -> str:
    """Bytes as megabytes, or as kilobytes below one."""
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"


def number(value: Any, digits: int = 2) -> str:
    """A number for a table; a dash where there is none."""
    return f"{value:.{digits}f}" if isinstance(value, (int, float)) else "-"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table whose cells cannot break it."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def listed(heading: str, texts: str | list[str] | None) -> str:
    """A section with one text as a paragraph or several as a list; nothing for none."""
    items = [one_line(text) for text in as_list(texts)]
    if not items:
        return ""
    return f"## {heading}\n\n" + (items[0] if len(items) == 1 else "\n".join(f"- {item}" for item in items))


def as_list(texts: str | list[str] | None) -> list[str]:
    """None, one text or several, always as a list of non-empty texts."""
    items = [texts] if isinstance(texts, str) else list(texts or [])
    return [text for text in items if text.strip()]


def one_line(text: Any) -> str:
    """White space of any kind as single spaces."""
    return " ".join(str(text).split())


def quoted(text: str) -> str:
    """A Python string literal in double quotes."""
    return '"' + one_line(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def slug(name: str) -> str:
    """A name as the Hub writes ids."""
    return re.sub(r"\s+", "-", name.strip()).lower() if "/" not in name else name.strip()
