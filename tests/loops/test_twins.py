"""Every fast twin against its formula: outputs, all gradients, and whatever wraps a layer, over one table of them."""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize, prune
from transformers import PreTrainedModel

import hf_attention_zoo
from hf_attention_zoo.loops.may_run import KNOWN, formulas_only, twin_may_run

PACKAGE = Path(hf_attention_zoo.__file__).parent
sys.path.append(str(PACKAGE.parent / "scripts"))  # last: scripts/evaluate.py has the name of an installed package
runs, table = importlib.import_module("twin_runs"), importlib.import_module("twin_table")
sys.path.pop()

SIZES = runs.Sizes(rows=3, source=5, steps=4, beams=2, inputs=3, hidden=6, further=8, words=12)
SHORT = SIZES._replace(rows=2, source=4, steps=2)
WITH_LAYERS = [twin for twin in table.TWINS if twin.asked]
over_twins = pytest.mark.parametrize("twin", table.TWINS, ids=lambda twin: twin.name)


def module_of(twin: Any, dtype: torch.dtype = torch.double) -> nn.Module:
    torch.manual_seed(0)
    return runs.filled(twin.build(SIZES)).to(dtype).eval()


def everything(
    run: Callable[..., Any], module: nn.Module, inputs: dict[str, Tensor], sizes: Any = SIZES
) -> dict[str, Tensor | None]:
    """Outputs, and the gradients of all inputs and parameters by name."""
    made = run(module, runs.mask_of(sizes), **inputs)
    outputs = made if isinstance(made, tuple) else (made,)
    found: dict[str, Tensor | None] = {f"output {k}": tensor.detach() for k, tensor in enumerate(outputs)}
    if torch.is_grad_enabled():
        wanted = {**inputs, **{name: weight for name, weight in module.named_parameters() if weight.requires_grad}}
        outputs = [tensor for tensor in outputs if tensor.requires_grad]
        weights = [torch.linspace(-1, 1.3, tensor.numel()).to(tensor).view_as(tensor) for tensor in outputs]
        grads = torch.autograd.grad(outputs, list(wanted.values()), weights, allow_unused=True)
        found |= {f"gradient of {name}": grad for name, grad in zip(wanted, grads, strict=True)}
    return found


def of_formula(twin: Any, *case: Any) -> dict[str, Tensor | None]:
    with formulas_only():
        return everything(twin.formula or twin.run, *case)


def check_same(made: dict[str, Tensor | None], wanted: dict[str, Tensor | None], tolerance: float) -> None:
    """One side may say None where the other says zero."""
    assert made.keys() == wanted.keys()
    for name in wanted:
        one, other = made[name], wanted[name]
        if one is None or other is None:
            assert all(grad is None or not grad.any() for grad in (one, other)), name
        else:
            torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance, msg=lambda m, name=name: name + m)


def outputs_differ(made: dict[str, Tensor | None], other: dict[str, Tensor | None]) -> bool:
    return any(not torch.allclose(made[name], other[name], atol=1e-9) for name in made if "output" in name)


@contextlib.contextmanager
def code_that_runs() -> Iterator[set[CodeType]]:
    """The functions that are called inside."""
    seen: set[CodeType] = set()
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: seen.add(frame.f_code) if event == "call" else None)
    try:
        yield seen
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.double, 1e-10), (torch.float, 2e-5)])
@over_twins
def test_outputs_and_all_gradients_are_those_of_the_formula(twin: Any, dtype: torch.dtype, tolerance: float) -> None:
    module, inputs = module_of(twin, dtype), runs.inputs_of(twin, SIZES, dtype)
    with code_that_runs() as seen:
        made = everything(twin.run, module, inputs)
    assert twin.twin.__code__ in seen
    with code_that_runs() as seen:
        wanted = of_formula(twin, module, inputs)
    assert twin.twin.__code__ not in seen
    check_same(made, wanted, tolerance)
    with twin.alone(module):
        check_same(everything(twin.formula or twin.run, module, inputs), wanted, tolerance)
    with torch.no_grad():
        with code_that_runs() as seen:
            evaluated = everything(twin.run, module, inputs)
        assert (twin.twin.__code__ in seen) != twin.trains_only
    check_same(evaluated, {name: wanted[name] for name in evaluated}, tolerance)


# What wraps a layer


def doubled(made: Any) -> Any:
    if isinstance(made, Tensor):
        return 2 * made
    if isinstance(made, dict):
        return {name: 2 * tensor for name, tensor in made.items()}
    if isinstance(made, tuple):
        parts = [doubled(part) for part in made]
        return made._make(parts) if hasattr(made, "_make") else tuple(parts)
    return made


class Half(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return weight / 2


def hook(layer: nn.Module, _: Any) -> None:
    layer.register_forward_hook(lambda module, inputs, made: doubled(made))


def hook_before(layer: nn.Module, calls: list[str]) -> None:
    layer.register_forward_pre_hook(lambda *_: calls.append("before"))


def hook_behind(layer: nn.Module, calls: list[str]) -> None:
    layer.register_full_backward_hook(lambda *_: calls.append("behind"))


def subclass(layer: nn.Module, _: Any) -> None:
    kind = type(layer)
    layer.__class__ = type(
        f"My{kind.__name__}", (kind,), {"forward": lambda self, *a, **k: doubled(kind.forward(self, *a, **k))}
    )


def replaced_forward(layer: nn.Module, _: Any) -> None:
    forward = layer.forward
    layer.forward = lambda *args, **options: doubled(forward(*args, **options))


def parametrised(layer: nn.Module, _: Any) -> None:
    for name, weight in list(layer.named_parameters(recurse=False)):
        if weight.requires_grad:
            parametrize.register_parametrization(layer, name, Half())


def pruned(layer: nn.Module, _: Any) -> None:
    for name, weight in list(layer.named_parameters(recurse=False)):
        if weight.requires_grad:
            prune.random_unstructured(layer, name, 0.5)


class Adapter(nn.Module):
    """Stands in the place of a linear layer, with a low-rank path beside it."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(2, base.in_features).to(base.weight))
        self.up = nn.Parameter(torch.randn(base.out_features, 2).to(base.weight))

    def __getattr__(self, name: str) -> Any:  # as libraries have it: `layer.weight` is still found
        if name in ("weight", "bias", "in_features", "out_features"):
            return getattr(self.base, name)
        return super().__getattr__(name)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.base(inputs) + inputs @ self.down.T @ self.up.T


def adapter(layer: nn.Module, _: Any) -> nn.Module:
    return Adapter(layer)


WRAPPERS = (hook, hook_before, hook_behind, subclass, replaced_forward, parametrised, pruned, adapter)


def wrapped(module: nn.Module, place: str, wrap: Callable[[nn.Module, Any], Any], calls: list[str]) -> nn.Module:
    holder = nn.ModuleDict({"module": copy.deepcopy(module)})
    place = f"module.{place}".rstrip(".")
    replaced = wrap(holder.get_submodule(place), calls)
    if replaced is not None:
        holder.set_submodule(place, replaced)
    return holder["module"]


def places_of(module: nn.Module, wrap: Any) -> list[str]:
    """The layers that a wrapper can go round: not a whole model, not lists, which are not called."""
    made = []
    for name, layer in module.named_modules():
        fits = not isinstance(layer, (PreTrainedModel, nn.ModuleList))
        if wrap in (parametrised, pruned):
            fits = fits and any(weight.requires_grad for weight in layer.parameters(recurse=False))
        if wrap is adapter:
            fits = type(layer) is nn.Linear
        made += [name] if fits else []
    return made


def of_different_layers(twins: list[Any]) -> list[Any]:
    """One of those that ask at one place and have layers and weights of the same names."""
    kinds = {}
    for twin in twins:
        module = module_of(twin)
        names = (*(name for name, _ in module.named_modules()), *(name for name, _ in module.named_parameters()))
        kinds.setdefault((twin.asked, type(module), names), twin)
    return list(kinds.values())


@pytest.mark.parametrize("wrap", WRAPPERS, ids=lambda wrap: wrap.__name__)
@pytest.mark.parametrize("twin", of_different_layers(WITH_LAYERS), ids=lambda twin: twin.name)
def test_a_wrapper_round_any_layer_acts_as_on_the_formula(twin: Any, wrap: Any) -> None:
    plain, inputs = module_of(twin), runs.inputs_of(twin, SHORT, torch.double)
    untouched = everything(twin.run, plain, inputs, SHORT)
    for place in places_of(plain, wrap):
        calls: list[str] = []
        torch.manual_seed(1)
        module = wrapped(plain, place, wrap, calls)
        made = everything(twin.run, module, inputs, SHORT)
        here = list(calls)
        calls.clear()
        wanted = of_formula(twin, module, inputs, SHORT)
        check_same(made, wanted, 1e-10)
        assert here == calls, place
        assert outputs_differ(made, untouched) == outputs_differ(wanted, untouched), place


# The table has all


def files_with(word: str) -> Iterator[tuple[Path, ast.Module]]:
    """The files of the package in which a word stands, parsed."""
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if word in text:
            yield path, ast.parse(text)


def uses_of(word: str, node: ast.AST, names: tuple[str, ...] = ()) -> Iterator[str]:
    """The qualified names of the functions in which a name is used."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            yield from uses_of(word, child, (*names, child.name))
            continue
        if isinstance(child, ast.Name) and child.id == word:
            yield ".".join(names)
        yield from uses_of(word, child, names)


def test_every_place_that_asks_whether_a_twin_may_run_is_in_the_table() -> None:
    word = twin_may_run.__name__
    asked = {
        f"{'.'.join(path.relative_to(PACKAGE.parent).with_suffix('').parts)}:{name}"
        for path, tree in files_with(word)
        for name in uses_of(word, tree)
    }
    # What a search alone uses has no backward pass, and its own tests: test_packed_products.py, test_search_steps.py.
    searching = {
        "hf_attention_zoo.loops.packed_products:packed_output",
        "hf_attention_zoo.models.rnnsearch.step_rnnsearch:may_step",
        "hf_attention_zoo.models.transformer2017.step_transformer2017:may_step",
    }
    assert asked == {twin.asked for twin in WITH_LAYERS} | searching


def test_every_backward_written_by_hand_and_every_class_with_a_twin_is_in_the_table() -> None:
    known: set[type[nn.Module]] = set()
    with code_that_runs() as seen:
        for twin in table.TWINS:
            module = module_of(twin)
            known |= {type(layer) for layer in module.modules()}
            everything(twin.run, module, runs.inputs_of(twin, SIZES, torch.double))
    ran = {(code.co_filename, code.co_qualname) for code in seen}
    written = {
        (str(path), f"{node.name}.{name}")
        for path, tree in files_with("autograd.Function")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and "torch.autograd.Function" in map(ast.unparse, node.bases)
        for name in ("forward", "backward")
    }
    assert len(written) > 20 and not written - ran
    assert not KNOWN - known
