"""What one checkpoint folder records about itself, read once and checked, and what follows from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCardData
from safetensors import safe_open

from hf_attention_zoo.data.samples import is_sample
from hf_attention_zoo.folders.card_text import measured, names_of, one_line, slug
from hf_attention_zoo.folders.checkpoint_folder import required_json
from hf_attention_zoo.folders.privacy import public_facts
from hf_attention_zoo.folders.task_card import TaskCard, Wording
from hf_attention_zoo.folders.wholeness import check_whole
from hf_attention_zoo.hub.judged_examples import JUDGED_FILE, PICTURES
from hf_attention_zoo.hub.language_codes import check_language_code, language_name
from hf_attention_zoo.registry import get_architecture
from hf_attention_zoo.tasks.table import TASKS, task_with

FACTS: dict[str, type | tuple[type, ...]] = {
    "title": str,
    "summary": str,
    "task": str,
    "languages": list,
    "licence": str,
    "data_licence": str,
    "data_source": str,
    "datasets": list,
    "base_model": str,
    "example": str,
    "example_pair": str,
    "example_answer": str,
    "intended_use": (str, list),
    "limits": (str, list),
    "nearest": list,
}


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


BUFFERS = frozenset({"running_mean", "running_var", "num_batches_tracked", "reward_baseline"})


WEIGHT_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64"}


HUB_ID = r"[A-Za-z0-9][\w.-]*/[\w.-]+"


class Checkpoint:
    """The facts of one folder, read once and checked, and what follows from them."""

    def __init__(self, folder: Path, name: str | None = None) -> None:
        self.folder = folder
        self.name = name or folder.resolve().name
        check_whole(folder)
        self.config = required_json(folder / "config.json")
        self.row = get_architecture(self.config["model_type"])
        self.architecture = self.row.prefix
        self.metrics = public_facts(self.optional("metrics.json"))
        self.training = public_facts(self.optional("training.json"))
        self.tokenizer = self.optional("tokenizer_config.json")
        self.facts = checked_facts(self.optional("facts.json"), folder / "facts.json")
        self.judged = self.optional(JUDGED_FILE)
        if (folder / "metrics.json").is_file():
            checked_results(self.metrics, self.card.metrics, folder / "metrics.json")

    def optional(self, file: str) -> dict[str, Any]:
        """A JSON file of the folder, empty when it is not there."""
        path = self.folder / file
        return required_json(path) if path.is_file() else {}

    @cached_property
    def example(self) -> tuple[str, str | None, str | None] | None:
        """An input for the usage lines, its second text, and what the data say of it; None if there is none.

        It is the row of held-out ones that the model gets right, and without any the one that the facts name.
        """
        right = self.judged.get("right")
        if right is not None:
            given = right["given"]
            seen = f"{self.folder.resolve().name}/{given}" if given in PICTURES else given
            return seen, right.get("pair"), right["expected"]
        stated = self.facts.get("example")
        return (stated, self.facts.get("example_pair"), self.facts.get("example_answer")) if stated else None

    @cached_property
    def auto_class(self) -> str:
        """The Auto class that loads the saved model."""
        saved = self.config.get("architectures") or []
        for auto_class, model_name in self.row.models.items():
            if model_name in saved:
                return auto_class
        return next((name for task in TASKS for name in task.auto_classes if name in self.row.models), "AutoModel")

    @cached_property
    def card(self) -> TaskCard:
        """What the task of the model says; nothing for a model without a task."""
        task = task_with(self.auto_class)
        return TaskCard() if task is None else task.card

    @property
    def task(self) -> str:
        """The Hub's tag of the task."""
        task = task_with(self.auto_class)
        usual = "feature-extraction" if task is None else task.auto_classes[self.auto_class]
        return self.facts.get("task") or (usual if usual in self.row.tasks else self.row.tasks[0])

    @property
    def wording(self) -> Wording:
        """The task in words."""
        return self.card.words_for(self.task)

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
        read = [self.data.get("language"), (self.training.get("tokenizer") or {}).get("language")]
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
    def copy_needed(self) -> str | None:
        """A sentence for who runs the commands, if neither the package nor the Hub has the data."""
        name = self.dataset
        if name is None or is_sample(name) or re.fullmatch(HUB_ID, name):
            return None
        return f"`{name}` does not come with the package: give a copy of your own as `--dataset FOLDER`."

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

    @property
    def base_model(self) -> str | None:
        """The model that this one was fine-tuned from, as the Hub links it: a folder's name belongs to the same owner.

        None for one that was trained from random weights, or goes on from an earlier state of itself.
        """
        base, owner = self.facts.get("base_model") or self.training.get("base_model"), self.name.rpartition("/")[0]
        if not base or base.rpartition("/")[2] in (self.folder.resolve().name, self.name.rpartition("/")[2]):
            return None
        return f"{owner}/{base}" if owner and "/" not in base else base

    def metadata(self, widget: list[dict[str, Any]] | None = None) -> ModelCardData:
        """The YAML block.

        Args:
            widget: examples for the Hub's page.
        """
        stated = self.facts.get("licence")
        identifier = stated.strip().lower().replace(" ", "-") if stated else None
        other = {}
        if identifier is not None and identifier not in HUB_LICENCES:
            other = {"license_name": identifier}
            identifier = "other"
        evaluated = self.eval_results()
        datasets = [str(entry) for entry in self.facts.get("datasets", [])]
        if "datasets" not in self.facts and self.dataset and re.fullmatch(HUB_ID, self.dataset):
            datasets = [self.dataset]  # the Hub makes links of them: samples and files have no page there
        return ModelCardData(
            language=self.languages or None,
            base_model=self.base_model,
            license=identifier,
            library_name="transformers",
            pipeline_tag=self.task,
            tags=["hf_attention_zoo", self.row.model_type, *self.attention_tag, *self.arxiv_tag],
            datasets=datasets or None,
            metrics=list(dict.fromkeys(result.metric_type for result in evaluated)) or None,
            widget=widget,
            model_name=self.name.rpartition("/")[2] if evaluated else None,
            eval_results=evaluated or None,
            **other,
        )

    def eval_results(self) -> list[EvalResult]:
        """One entry a measured metric, for the model-index."""
        dataset = self.dataset or "unnamed"
        entries = []
        for key, metric in self.card.metrics.items():
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


def checked_results(metrics: dict[str, Any], known: Mapping[str, Any], path: Path) -> None:
    """Raises if the metrics file has no results, or a known result that is no finite number."""
    found = metrics.get("results")
    if not isinstance(found, dict) or not any(key in known for key in found):
        raise ValueError(
            f"{path} has no `results` with any of {', '.join(known)}. Write it with `attention-zoo evaluate`, or "
            "delete it."
        )
    for key in known:
        value = measured(found.get(key))[0]
        if key in found and (value is None or value != value or abs(value) == float("inf")):
            raise ValueError(f"{path}: results.{key} is {found[key]!r}; a finite number is needed. Evaluate again.")


def dataset_name(given: str) -> str:
    """A sample's name or a Hub id as it is; a path without its folders and file endings."""
    endings = r"\.(jsonl?|csv|tsv|parquet|txt|gz|xz|zst)\b"
    is_id = re.fullmatch(r"[\w.-]+(/[\w.-]+)?", given) and not re.search(f"{endings}$", given)
    if is_id and not given.startswith(".") and not Path(given).exists():
        return given
    name = Path(given).name
    return re.sub(endings, "", name) or name
