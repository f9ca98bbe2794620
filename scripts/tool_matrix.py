"""Runs the tools around models on a tiny model of each architecture and writes what each did to `docs/tools.md`.

    python scripts/tool_matrix.py [--check]

A cell says `equal` (within 1e-4 of the model alone, on rows of other lengths than the tool saw first), `close` for
tools that compute in fewer digits, `refused` with the reason where this package raised it, or `fails` with what
another program raised. `differs` is a fault: with `--check` nothing is written and the exit status is 1 if there is
one, or if the page is not what was measured. The extras `quantised`, `onnx` and `test` are wanted.
"""

from __future__ import annotations

import argparse
import copy
import pickle
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "models")]  # tiny models and batches

from every_head import RegisteredHead  # noqa: E402
from tool_programs import PROGRAMS, head_of  # noqa: E402

import hf_attention_zoo  # noqa: E402
from hf_attention_zoo import get_architecture, list_architectures  # noqa: E402

PAGE = ROOT / "docs" / "tools.md"
TOLERANCE = 1e-4
FEWER_DIGITS = 0.2  # of the largest value: what eight bits may change in a tiny model
LEAST_SCALE = 0.1  # smaller logits are what is left of larger numbers
Batch = dict[str, Tensor]
INTRODUCTION = """# Every architecture under every tool

Written by `python scripts/tool_matrix.py` from what it measured on a tiny model of each architecture, with rows of
several lengths; the batch that is compared has other words and other lengths than the one that a graph was made from.
*equal*: the same logits within 1e-4. *close*: within a fifth of the largest logit (or of 0.1, if all are smaller),
where a tool computes in fewer digits. *refused*: by this package, in words that are given below. *fails*: an error of
the tool, given below. Of programs from Trainer on, which have numbers of their own, those are compared with the
model's; published folders are read where a program wants words. Nothing differs silently.
"""


def first_and_second(head: RegisteredHead) -> tuple[Batch, Batch]:
    """Two batches of one shape, with other words and other lengths."""
    return head.batch((5, 3), seed=0), head.batch((4, 5), seed=1)


def run(model: Any, batch: Batch) -> Tensor:
    """The logits of a batch, without gradients; of models that give some at every word they read, those at words."""
    with torch.no_grad():
        outputs = model(**batch)
    logits = (outputs if isinstance(outputs, dict) else dict(outputs))["logits"].float()
    mask = batch.get("attention_mask")
    if "decoder_input_ids" not in batch and mask is not None and logits.ndim == 3 and mask.shape == logits.shape[:2]:
        return logits[mask.bool()]
    return logits


def auto_classes(head: RegisteredHead, model: Any) -> Any:
    """Saved, and loaded through the Auto class."""
    import transformers

    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return getattr(transformers, head.auto).from_pretrained(folder).eval()


def sharding(head: RegisteredHead, model: Any) -> Any:
    """Saved in files of two kilobytes."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder, max_shard_size="2KB")
        if not Path(folder, "model.safetensors.index.json").is_file():
            raise RuntimeError("the shards are one file")
        return type(model).from_pretrained(folder).eval()


def pickling(head: RegisteredHead, model: Any) -> Any:
    """Through pickle, as processes hand models over."""
    return pickle.loads(pickle.dumps(model))


def lora(head: RegisteredHead, model: Any) -> tuple[Any, Any]:
    """Random adapters of PEFT on the layers that `adapter_targets` names, merged: compared with the same unmerged."""
    from peft import LoraConfig, get_peft_model

    targets = [*get_architecture(head.model_type).adapter_targets]
    adapted = get_peft_model(model, LoraConfig(target_modules=targets, r=2, init_lora_weights=False)).eval()
    unmerged = copy.deepcopy(adapted)
    if torch.allclose(run(unmerged, head.batch()), run(head.model(), head.batch())):
        raise RuntimeError("adapters change nothing")
    return unmerged, adapted.merge_and_unload()


def torch_ao(head: RegisteredHead, model: Any) -> Any:
    """Linear layers in eight bits by `torch.ao.quantization.quantize_dynamic`."""
    return torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)


def quantised_on_loading(model: Any, config: Any) -> Any:
    """The model saved, and loaded with a setting of transformers."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return type(model).from_pretrained(folder, quantization_config=config, device_map="cpu").eval()


def bitsandbytes(head: RegisteredHead, model: Any) -> Any:
    """Linear layers in eight bits by `BitsAndBytesConfig(load_in_8bit=True)`."""
    from transformers import BitsAndBytesConfig

    return quantised_on_loading(model, BitsAndBytesConfig(load_in_8bit=True))


def torchao(head: RegisteredHead, model: Any) -> Any:
    """Weights of linear layers in eight bits by `TorchAoConfig(Int8WeightOnlyConfig())`."""
    from torchao.quantization import Int8WeightOnlyConfig
    from transformers import TorchAoConfig

    return quantised_on_loading(model, TorchAoConfig(Int8WeightOnlyConfig()))


def quanto(head: RegisteredHead, model: Any) -> Any:
    """Weights of linear layers in eight bits by `QuantoConfig(weights="int8")`."""
    from transformers import QuantoConfig

    return quantised_on_loading(model, QuantoConfig(weights="int8"))


def bfloat16(head: RegisteredHead, model: Any) -> Any:
    """All of the model in bfloat16."""
    return model.bfloat16()


def cpu_offload(head: RegisteredHead, model: Any) -> Any:
    """Weights fetched for each layer by `accelerate.cpu_offload`."""
    from accelerate import cpu_offload

    return cpu_offload(model, execution_device=torch.device("cpu"))


def disk_offload(head: RegisteredHead, model: Any) -> Any:
    """Weights fetched for each layer by `accelerate.disk_offload`."""
    from accelerate import disk_offload

    return disk_offload(model, tempfile.mkdtemp(), execution_device=torch.device("cpu"))


def without_labels(model: Any, batch: Batch) -> Batch:
    """What a graph is made from: no labels, but the decoder's words that are made of them."""
    given = {name: tensor for name, tensor in batch.items() if name not in (*LABELS, "labels")}
    if hasattr(model, "prepare_decoder_input_ids_from_labels"):
        given["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(batch["labels"])
    return given


def example(head: RegisteredHead, model: Any) -> Batch:
    """What a graph of a model is made from; its outputs are to be tensors, so that it gives no cache."""
    model.config.use_cache = False
    return without_labels(model, first_and_second(head)[0])


def traced(head: RegisteredHead, model: Any) -> Any:
    """`torch.jit.trace` with the first batch."""
    given = example(head, model)
    program = torch.jit.trace(model, example_kwarg_inputs=given, strict=False, check_trace=False)
    return lambda **batch: program(**without_labels(model, batch))


def exported(head: RegisteredHead, model: Any) -> Any:
    """`torch.export` with the first batch."""
    given = example(head, model)
    program = torch.export.export(model, (), given, strict=False).module()
    return lambda **batch: program(**without_labels(model, batch))


def onnx(head: RegisteredHead, model: Any) -> Any:
    """`torch.onnx.export` with the first batch, run by ONNX Runtime."""
    import onnxruntime

    given = example(head, model)
    with torch.no_grad():
        place = [name for name, made in model(**given).items() if made is not None].index("logits")
    program = torch.onnx.export(torch.export.export(model, (), given, strict=False), dynamo=True, verbose=False)
    with tempfile.TemporaryDirectory() as folder:
        program.save(Path(folder) / "graph.onnx")
        session = onnxruntime.InferenceSession(Path(folder) / "graph.onnx")

    def graph(**batch: Tensor) -> dict[str, Tensor]:
        names = (entry.name for entry in session.get_inputs())  # in the order in which they were given
        tensors = (tensor.numpy() for tensor in without_labels(model, batch).values())
        made = session.run(None, dict(zip(names, tensors, strict=True)))
        return {"logits": torch.from_numpy(made[place])}

    return graph


def compiled(head: RegisteredHead, model: Any) -> Any:
    """Graphs of `torch.compile`, run as they are."""
    return torch.compile(model, backend="eager")


LABELS = ("start_positions", "end_positions", "next_sentence_label")
LOADED: dict[str, Callable[[RegisteredHead, Any], Any]] = {
    "Auto classes": auto_classes,
    "pickle": pickling,
    "shards": sharding,
    "bfloat16": bfloat16,
    "LoRA, merged": lora,
    "torch.ao int8": torch_ao,
    "bitsandbytes int8": bitsandbytes,
    "torchao int8": torchao,
    "quanto int8": quanto,
    "cpu_offload": cpu_offload,
    "disk_offload": disk_offload,
    "jit.trace": traced,
    "torch.export": exported,
    "ONNX": onnx,
    "torch.compile": compiled,
}
TOOLS: dict[str, Callable[[RegisteredHead, Any], Any]] = {**LOADED, **PROGRAMS}
ROUGH = ("bfloat16", "torch.ao int8", "bitsandbytes int8", "torchao int8", "quanto int8")


def cell(head: RegisteredHead, tool: str) -> str:
    """What a tool does to a model of this head."""
    first, second = first_and_second(head)
    model = head.model()
    wanted = [] if tool in PROGRAMS else [run(model, first), run(model, second)]
    try:
        if tool in PROGRAMS:
            apart = PROGRAMS[tool](head, model)
            return "does not apply" if apart is None else "equal" if apart <= TOLERANCE else f"differs by {apart:.2g}"
        made = TOOLS[tool](head, copy.deepcopy(model))
        if isinstance(made, tuple):
            wanted, made = [run(made[0], first), run(made[0], second)], made[1]
        if tool == "bfloat16":
            first, second = (in_bfloat16(batch) for batch in (first, second))
        found = [run(made, first), run(made, second)]
    except ImportError:
        raise  # the page is written where all tools are
    except Exception as error:  # whatever is raised is said, and not silent: that is what the page is about
        said = (str(error).strip() or type(error).__name__).splitlines()[0].replace("|", "/")
        return f"{'refused' if raised_here(error) else 'fails'}: {said}"
    off = max((a - b).abs().max().item() for a, b in zip(found, wanted, strict=True))
    scale = max(LEAST_SCALE, *(tensor.abs().max().item() for tensor in wanted))
    if off <= TOLERANCE:
        return "equal"
    return "close" if tool in ROUGH and off <= FEWER_DIGITS * scale else f"differs by {off:.2g}"


def raised_here(error: BaseException) -> bool:
    """Whether this package raised the error, and no program below it."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return Path(frame.f_code.co_filename).is_relative_to(Path(hf_attention_zoo.__file__).parent)


def in_bfloat16(batch: Batch) -> Batch:
    """The batch, its numbers that are no ids in bfloat16."""
    return {name: tensor.bfloat16() if tensor.is_floating_point() else tensor for name, tensor in batch.items()}


def measured() -> dict[str, dict[str, str]]:
    """Architecture -> tool -> what it did."""
    rows = [row.model_type for row in list_architectures()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: {tool: cell(head_of(name), tool) for tool in TOOLS} for name in rows}


def page(cells: dict[str, dict[str, str]]) -> str:
    """The page: the table, then the reasons of what is refused."""
    reasons: dict[str, list[str]] = {}
    lines = [INTRODUCTION, "| | " + " | ".join(TOOLS) + " |", "|---" * (len(TOOLS) + 1) + "|"]
    for name, row in cells.items():
        shown = []
        for tool, said in row.items():
            if said.startswith(("refused", "fails")):
                reasons.setdefault(f"{tool}, {said}", []).append(f"`{name}`")
            shown.append(said.split(":")[0])
        lines.append(f"| `{name}` | " + " | ".join(shown) + " |")
    lines += ["", "## What each tool is", ""]
    lines += [f"- **{tool}**: {(function.__doc__ or '').strip()}" for tool, function in TOOLS.items()]
    lines += ["", "## Why something is refused or fails", ""]
    lines += [f"- {', '.join(names)}, {reason}" for reason, names in reasons.items()]
    return "\n".join([*lines, ""])


def main() -> int:
    """Measure, and write the page or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    cells = measured()
    faults = [
        f"{name}, {tool}: {said}" for name, row in cells.items() for tool, said in row.items() if "differs" in said
    ]
    print("\n".join(faults) or "no silent difference")
    if options.check:
        return int(bool(faults) or PAGE.read_text(encoding="utf-8") != page(cells))
    PAGE.write_text(page(cells), encoding="utf-8")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
