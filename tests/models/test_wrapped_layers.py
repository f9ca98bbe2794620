"""What wraps a layer is obeyed: adapters, hooks, masks of pruning, quantised and offloaded weights, in every model."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import accelerate
import pytest
import torch
from model_cases import OPTIONS, spread
from torch import Tensor, nn
from torch.nn.utils import parametrize, prune

from hf_attention_zoo import get_architecture, list_architectures

OPTIONS = {
    **OPTIONS,
    "luong": {
        "global": {"attention_score": "concat", "attention_window": "global", "input_feeding": False},
        "general": {"attention_score": "general", "attention_window": "local-m"},
        "location": {"attention_score": "location", "attention_window": "global"},
    },
    "show_attend_tell": {"hard": {"attention": "hard"}, "mean": {"attention": "mean"}},
    "self_attentive": {"pairs": {"sentence_pairs": True}, "pruned": {"connection": "pruned"}},
    "seq2seq_lstm": {"peephole": {"peephole": True}},
    "elmo": {"task": {"task_lstm_cells": 4}},
}
CASES = [
    (row.model_type, option, auto)
    for row in list_architectures()
    for option in ("default", *OPTIONS.get(row.model_type, {}))
    for auto in row.model_classes
    if auto != "AutoModel"
]
LINEAR_CASES = [case for case in CASES if case[0] != "word2vec"]  # which is two tables and no linear layer
RECURRENT = ("LSTM", "GatedUnit", "ProjectedLSTM")


def model_of(model_type: str, option: str, auto: str) -> Any:
    """A spread model in evaluation mode; a frozen part of it is not."""
    row = get_architecture(model_type)
    changes = {} if option == "default" else OPTIONS[model_type][option]
    config = row.config_class(**{**row.tiny_config().to_diff_dict(), "num_labels": 2, **changes})
    return spread(row.model_classes[auto](config)).requires_grad_(True)


def batch_of(model: Any) -> dict[str, Tensor]:
    """Two rows, the second of them padded, with labels."""
    config, name = model.config, type(model).__name__
    made = torch.Generator().manual_seed(0)

    def ids(*shape: int) -> Tensor:
        return torch.randint(5, min(config.vocab_size, 20), shape, generator=made)

    words, mask = ids(2, 6), torch.ones(2, 6, dtype=torch.long)
    mask[1, 4:] = 0
    kind = config.model_type
    if kind == "show_attend_tell":
        if config.image_encoder == "regions":
            return {"annotations": torch.randn(2, 6, config.annotation_size, generator=made), "labels": ids(2, 4)}
        return {"pixel_values": torch.randn(2, 3, 16, 16, generator=made), "labels": ids(2, 4)}
    if kind == "han":
        return {"input_ids": words.view(2, 2, 3), "attention_mask": mask.view(2, 2, 3), "labels": torch.tensor([0, 1])}
    given = {"input_ids": words, "attention_mask": mask}
    if kind == "elmo":
        given = {"character_ids": torch.randint(1, config.num_characters, (2, 6, 8), generator=made) * mask[..., None]}
        if "PreTraining" in name:
            labels = ids(2, 7)
            labels[1, 5:] = -100
            return given | {"labels": labels}
    if getattr(config, "sentence_pairs", False):
        given["token_type_ids"] = (torch.arange(6) > 2).long().expand(2, -1) * mask
    if "MultipleChoice" in name:
        given = {key: tensor[:, None].repeat(1, 2, 1) for key, tensor in given.items()}
    if "QuestionAnswering" in name:
        return given | {"start_positions": torch.tensor([1, 1]), "end_positions": torch.tensor([2, 3])}
    if "BERT2018ForPreTraining" in name:
        return given | {"labels": words, "next_sentence_label": torch.tensor([0, 1])}
    if "TokenClassification" in name:
        return given | {"labels": words % 2}
    if any(task in name for task in ("SequenceClassification", "NextSentence", "MultipleChoice")):
        return given | {"labels": torch.tensor([0, 1])}
    return given | {"labels": ids(2, 5) if config.is_encoder_decoder else words.clone()}


def outputs_of(model: Any, batch: dict[str, Tensor]) -> Tensor:
    """All numbers that a pass gives out, the loss first."""
    torch.manual_seed(1)
    made = model(**batch, return_dict=True)
    tensors = [tensor.float().flatten() for tensor in made.values() if isinstance(tensor, Tensor)]
    return torch.cat([tensor for tensor in tensors if tensor.requires_grad or not torch.is_grad_enabled()])


def generated(model: Any, batch: dict[str, Tensor], beams: int) -> Any:
    """Three words of every row by beam search, and their scores."""
    given = {name: tensor for name, tensor in batch.items() if "label" not in name}
    options = {"max_new_tokens": 3, "min_new_tokens": 3, "num_beams": beams, "do_sample": False}
    torch.manual_seed(2)
    made = model.generate(**given, **options, output_scores=True, return_dict_in_generate=True)
    return torch.cat([score.nan_to_num(neginf=0.0).flatten() for score in made.scores])


def wrappable(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Linear layers, tables and recurrent modules."""
    for name, module in model.named_modules():
        if isinstance(module, (nn.Linear, nn.Embedding, nn.RNNBase)) or type(module).__name__.endswith(RECURRENT):
            yield name, module


def doubled(module: nn.Module, inputs: Any, made: Any) -> Any:
    """A hook that doubles all tensors that a layer gives."""
    if isinstance(made, Tensor):
        return 2 * made
    if isinstance(made, tuple) and not hasattr(made, "batch_sizes"):
        return tuple(doubled(module, inputs, part) for part in made)
    if isinstance(made, dict):
        return {name: 2 * tensor for name, tensor in made.items()}
    return made._replace(data=2 * made.data) if hasattr(made, "batch_sizes") else made


@pytest.mark.parametrize(("model_type", "option", "auto"), CASES)
def test_a_wrapper_round_any_layer_is_seen(model_type: str, option: str, auto: str) -> None:
    """In training, where its gradient is asked for, and in evaluation; in beam search below."""
    model = model_of(model_type, option, auto)
    batch = batch_of(model)
    for training in (True, False):
        model.train(training)
        with torch.set_grad_enabled(training):
            plain = outputs_of(model, batch)
            passed_over = []
            for name, module in wrappable(model):
                with module.register_forward_hook(doubled):
                    made = outputs_of(model, batch)
                if made.shape == plain.shape and torch.equal(made, plain):
                    passed_over.append(name)
        assert not passed_over, f"training={training}"


class Doubled(nn.Module):
    """A layer in the place of another, which it calls; all else that is asked of it the other answers."""

    def __init__(self, base: nn.Module) -> None:
        super().__init__()
        self.base = base

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.base, name)

    def forward(self, *inputs: Any, **options: Any) -> Any:
        return doubled(self, inputs, self.base(*inputs, **options))


@pytest.mark.parametrize(("model_type", "option", "auto"), CASES)
def test_a_layer_in_the_place_of_any_layer_is_called_as_often(model_type: str, option: str, auto: str) -> None:
    """It gives what a hook gives, though its attributes are those of the layer inside."""
    model = model_of(model_type, option, auto)
    batch = batch_of(model)
    for name, module in [*wrappable(model)]:
        if isinstance(module, nn.Embedding):  # a table that is tied gives its rows to the output layer, too
            continue
        with torch.no_grad():
            with module.register_forward_hook(doubled):
                wanted = outputs_of(model, batch)
            replaced = copy.deepcopy(model)
            replaced.set_submodule(name, Doubled(replaced.get_submodule(name)))
            torch.testing.assert_close(outputs_of(replaced, batch), wanted, rtol=1e-4, atol=1e-4, msg=name)


WRITERS = [case for case in CASES if hasattr(get_architecture(case[0]).model_classes[case[2]], "generate")]
WRITERS = [case for case in WRITERS if get_architecture(case[0]).model_classes[case[2]].can_generate()]


@pytest.mark.parametrize(("model_type", "option", "auto"), WRITERS)
def test_a_wrapper_round_any_layer_is_seen_by_generate(model_type: str, option: str, auto: str) -> None:
    model = model_of(model_type, option, auto)
    batch = batch_of(model)
    plain = {beams: generated(model, batch, beams) for beams in (1, 2)}
    passed_over = []
    for name, module in wrappable(model):
        with module.register_forward_hook(doubled):
            for beams, wanted in plain.items():
                made = generated(model, batch, beams)
                if made.shape == wanted.shape and torch.equal(made, wanted):
                    passed_over.append((name, beams))
    assert not passed_over


class Adapter(nn.Module):
    """A linear layer with a low-rank adapter beside it, as PEFT has them."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(2, base.in_features) * 0.3)
        self.up = nn.Parameter(torch.randn(base.out_features, 2) * 0.3)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.base, name)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.base(inputs) + inputs @ self.down.T @ self.up.T


@pytest.mark.parametrize(("model_type", "option", "auto"), LINEAR_CASES)
def test_adapters_round_all_linear_layers_learn_and_act(model_type: str, option: str, auto: str) -> None:
    model = model_of(model_type, option, auto)
    batch = batch_of(model)
    with torch.no_grad():
        plain = outputs_of(model, batch)
    adapters = {}
    for name, layer in [(name, one) for name, one in model.named_modules() if isinstance(one, nn.Linear)]:
        adapters[name] = Adapter(layer)
        model.set_submodule(name, adapters[name])
    torch.manual_seed(1)
    model.train()(**batch).loss.backward()
    still = [name for name, adapter in adapters.items() if not adapter.down.grad.abs().sum() > 0]
    assert not still
    with torch.no_grad():
        assert (outputs_of(model.eval(), batch) - plain).abs().max() > 1e-4


def in_turn(model: Any) -> dict[str, str]:
    """All that may be parted, by turns on disk and in memory; what `_no_split_modules` names stays whole."""
    places, found = itertools.cycle(("disk", "cpu")), dict.fromkeys(model._buffers, "cpu")
    of_weights: dict[int, str] = {}  # tied ones are in one place

    def walk(name: str, module: nn.Module) -> None:
        if type(module).__name__ in model._no_split_modules or not [*module.children()]:
            weight = next((id(one) for one in module.parameters()), id(module))
            found[name] = of_weights.setdefault(weight, next(places))
            return
        kept = [own for own, weight in module._parameters.items() if weight is not None]
        assert not kept, f"{name}.{kept[0]} is brought by no hook: _no_split_modules must name {type(module).__name__}"
        for child, part in module.named_children():
            walk(f"{name}.{child}".lstrip("."), part)

    walk("", model)
    return found


def as_inferred(model: Any) -> dict[str, str]:
    """The map that Accelerate makes for the least memory with which something stays beside the processor."""
    size = accelerate.utils.compute_module_sizes(model)[""]
    for percent in range(50, 200, 2):  # room for the largest layer is kept free
        memory = {"cpu": size * percent // 100, "disk": size}
        found = accelerate.infer_auto_device_map(model, memory, no_split_module_classes=model._no_split_modules)
        if {*found.values()} == {"cpu", "disk"}:
            return found
    return in_turn(model)  # nearly all of it is one table


def loaded(model: Any, folder: Path, places: dict[str, str]) -> Any:
    """The model saved, and loaded in these places."""
    model.save_pretrained(folder)
    return type(model).from_pretrained(folder, device_map=places, offload_folder=folder / "disk").eval()


OFFLOADING: dict[str, Callable[[Any, Path], Any]] = {
    "cpu_offload": lambda model, folder: accelerate.cpu_offload(model, "cpu", offload_buffers=True),
    "disk_offload": lambda model, folder: accelerate.disk_offload(model, folder, "cpu", offload_buffers=True),
    "dispatch_model": lambda model, folder: accelerate.dispatch_model(
        model, as_inferred(model), main_device="cpu", offload_dir=folder
    ),
    "one place": lambda model, folder: loaded(model, folder, {"": "cpu"}),
    "on disk": lambda model, folder: loaded(model, folder, {"": "disk"}),
    "in turn": lambda model, folder: loaded(model, folder, in_turn(model)),
}


FIRST_CASES = [*{case[0]: case for case in reversed(CASES)}.values()]  # one of each architecture


@pytest.mark.parametrize(("model_type", "option", "auto"), CASES)
def test_offloaded_weights_give_what_weights_at_hand_give(
    model_type: str, option: str, auto: str, tmp_path: Path
) -> None:
    """All weights, or a part of them, brought for each layer from memory or from disk; in beam search, too."""
    case = model_type, option, auto
    model = model_of(*case)
    batch, writes = batch_of(model), case in WRITERS
    with torch.no_grad():
        wanted, written = outputs_of(model, batch), generated(model, batch, 2) if writes else None
        for name in OFFLOADING if case in FIRST_CASES else ("cpu_offload", "in turn"):
            away = OFFLOADING[name](copy.deepcopy(model), tmp_path / name)
            torch.testing.assert_close(outputs_of(away, batch), wanted, rtol=1e-5, atol=1e-5, msg=name)
            if writes:
                torch.testing.assert_close(generated(away, batch, 2), written, rtol=1e-4, atol=1e-4, msg=name)


@pytest.fixture
def rnnsearch() -> tuple[Any, dict[str, Tensor]]:
    """A translator and its batch."""
    model = model_of("rnnsearch", "default", "AutoModelForSeq2SeqLM")
    return model, batch_of(model)


def halved(weight: Tensor) -> nn.Module:
    class Half(nn.Module):
        def forward(self, weight: Tensor) -> Tensor:
            return weight / 2

    return Half()


@pytest.mark.parametrize("place", ["attention", "attention.query_projection", "unit"])
@pytest.mark.parametrize("kind", ["pruned", "parametrised"])
def test_masks_and_parametrisations_act_and_learn(rnnsearch: tuple, place: str, kind: str) -> None:
    model, batch = rnnsearch
    module = model.model.decoder.get_submodule(place)
    name = {"attention": "score_vector", "unit": "gate_weight"}.get(place, "weight")
    wanted = copy.deepcopy(model)
    with torch.no_grad():
        getattr(wanted.model.decoder.get_submodule(place), name).mul_(0.5 if kind == "parametrised" else 0.0)
    if kind == "pruned":
        prune.custom_from_mask(module, name, torch.zeros_like(getattr(module, name)))
    else:
        parametrize.register_parametrization(module, name, halved(getattr(module, name)))
    with torch.no_grad():
        torch.testing.assert_close(model(**batch).logits, wanted(**batch).logits, rtol=0, atol=1e-5)
    for _ in range(2):  # a second step finds the graph of its own weights
        model(**batch).loss.backward()
    origin = getattr(module, f"{name}_orig") if kind == "pruned" else module.parametrizations[name].original
    assert (origin.grad.abs().sum() > 0) == (kind == "parametrised")


@pytest.mark.parametrize("case", FIRST_CASES, ids=lambda case: case[0])
def test_every_weight_may_be_parametrised(case: tuple[str, str, str]) -> None:
    """All of them at once; those that are tied stay one."""
    model = model_of(*case)
    batch, wanted = batch_of(model), copy.deepcopy(model)
    names = [name for name, _ in model.named_parameters()]
    tied = {name for name, _ in model.named_parameters(remove_duplicate=False)} - {*names}
    shared = {name for name in names if any(model.get_parameter(name) is model.get_parameter(one) for one in tied)}
    with torch.no_grad():
        for name in [name for name in names if name not in shared]:
            wanted.get_parameter(name).mul_(0.5)
            place, _, own = name.rpartition(".")
            parametrize.register_parametrization(model.get_submodule(place), own, halved(model.get_parameter(name)))
        torch.testing.assert_close(outputs_of(model, batch), outputs_of(wanted, batch), rtol=1e-4, atol=1e-4)
        if case in WRITERS:
            torch.testing.assert_close(generated(model, batch, 2), generated(wanted, batch, 2), rtol=1e-4, atol=1e-4)


class Quantised(nn.Linear):
    """Like a layer of a quantising library: a subclass whose weight's numbers mean nothing without their scale."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__(layer.in_features, layer.out_features, layer.bias is not None)
        scale = layer.weight.detach().abs().amax(1, keepdim=True) / 127
        self.weight = nn.Parameter((layer.weight.detach() / scale).round().to(torch.int8), requires_grad=False)
        self.bias, self.scale = layer.bias, scale

    def forward(self, inputs: Tensor) -> Tensor:
        return nn.functional.linear(inputs, self.weight * self.scale, self.bias)


@pytest.mark.parametrize(("model_type", "option", "auto"), LINEAR_CASES)
def test_quantised_linear_layers_stay_near_the_model(model_type: str, option: str, auto: str) -> None:
    """Layers in eight bits of our own, and those of torch.ao."""
    model = model_of(model_type, option, auto)
    batch = batch_of(model)
    with torch.no_grad():
        wanted = outputs_of(model, batch)
        own = copy.deepcopy(model)
        for name, layer in [(name, one) for name, one in own.named_modules() if type(one) is nn.Linear]:
            own.set_submodule(name, Quantised(layer))
        theirs = torch.ao.quantization.quantize_dynamic(copy.deepcopy(model), dtype=torch.qint8)
        for quantised in (own, theirs):
            made = outputs_of(quantised, batch)
            real = wanted.abs() < 1e30  # not the scores of what is masked out
            assert 0 < (made - wanted)[real].norm() < 0.2 * wanted[real].norm()


@pytest.mark.slow
@pytest.mark.parametrize("model_type", ["rnnsearch", "luong"])
def test_a_decoder_with_attention_in_its_loop_is_one_graph(model_type: str) -> None:
    model = model_of(model_type, "default", "AutoModelForSeq2SeqLM")
    batch = batch_of(model) | {"use_cache": False}
    compiled = torch.compile(model.forward, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(**batch).logits, model(**batch).logits, rtol=0, atol=1e-5)
