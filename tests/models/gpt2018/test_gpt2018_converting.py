"""GPT's weights from transformers, from the authors' release and back, on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from text_models import batch, check_equal
from transformers import AutoTokenizer, OpenAIGPTConfig, OpenAIGPTForSequenceClassification, OpenAIGPTLMHeadModel

import hf_attention_zoo
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.models.gpt2018.convert_gpt2018 import convert_release, from_transformers, to_transformers

SIZES = {"vocab_size": 48, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 32, "initializer_range": 0.3}
ORDER = ("attn.c_attn", "attn.c_proj", "ln_1", "mlp.c_fc", "mlp.c_proj", "ln_2")


@pytest.fixture
def theirs() -> OpenAIGPTLMHeadModel:
    torch.manual_seed(0)
    return OpenAIGPTLMHeadModel(OpenAIGPTConfig(**SIZES)).eval()


def release_arrays(model: OpenAIGPTLMHeadModel) -> list[np.ndarray]:
    """The weights in the order of the release; matrices have a first axis of 1, the width of its convolutions."""
    state = {name.removeprefix("transformer."): t.numpy() for name, t in model.state_dict().items()}
    arrays = [state["positions_embed.weight"], state["tokens_embed.weight"]]
    for block in range(model.config.n_layer):
        for name in ORDER:
            weight, bias = state[f"h.{block}.{name}.weight"], state[f"h.{block}.{name}.bias"]
            arrays += [weight[None] if weight.ndim == 2 else weight, bias]
    return arrays


def release_folder(folder: Path, model: OpenAIGPTLMHeadModel) -> Path:
    folder.mkdir()
    arrays = release_arrays(model)
    numbers = np.concatenate([array.reshape(-1) for array in arrays])
    for index, part in enumerate(np.array_split(numbers, 11)):
        np.save(folder / f"params_{index}.npy", part)
    (folder / "params_shapes.json").write_text(json.dumps([list(array.shape) for array in arrays]))
    letters = [f"{letter}{end}" for letter in "lowertsa" for end in ("", "</w>")]
    pieces = ["<unk>", *letters, "lo", "low</w>", "low", "er</w>", "lower</w>"]
    (folder / "encoder_bpe_40000.json").write_text(json.dumps({piece: number for number, piece in enumerate(pieces)}))
    (folder / "vocab_40000.bpe").write_text("#version: 0.2\nl o\nlo w</w>\nlo w\ne r</w>\nlow er</w>\n")
    return folder


@pytest.mark.filterwarnings("ignore")
def test_a_folder_of_the_release_becomes_the_same_model(theirs: OpenAIGPTLMHeadModel, tmp_path: Path) -> None:
    source = release_folder(tmp_path / "release", theirs)
    assert main(["convert", str(source), str(tmp_path / "ours"), "--heads", "3"]) == 0
    ours = hf_attention_zoo.GPT2018ForCausalLM.from_pretrained(tmp_path / "ours")
    given = batch()
    check_equal(ours(**given).logits, theirs(**given).logits, given["attention_mask"], 1e-5)
    tok = AutoTokenizer.from_pretrained(tmp_path / "ours")
    assert tok.tokenize("LOW lower was") == ["low</w>", "lower</w>", "w", "a", "s</w>"]


def test_shapes_that_do_not_fit_are_refused(theirs: OpenAIGPTLMHeadModel) -> None:
    arrays = release_arrays(theirs)
    shapes = [list(array.shape) for array in arrays]
    numbers = np.concatenate([array.reshape(-1) for array in arrays])
    with pytest.raises(ValueError, match="16367 came"):
        convert_release(shapes, numbers[:-1])
    with pytest.raises(ValueError, match="25 shapes"):
        convert_release(shapes[:-1], numbers)


def test_folders_of_transformers_are_converted_there_and_back(theirs: OpenAIGPTLMHeadModel, tmp_path: Path) -> None:
    theirs.save_pretrained(tmp_path / "theirs")
    assert main(["convert", str(tmp_path / "theirs"), str(tmp_path / "ours")]) == 0
    assert main(["convert", str(tmp_path / "ours"), str(tmp_path / "back")]) == 0
    back = OpenAIGPTLMHeadModel.from_pretrained(tmp_path / "back")
    wanted = theirs.state_dict()
    assert all(torch.equal(tensor, wanted[name]) for name, tensor in back.state_dict().items())
    assert back.config.afn == "gelu" and back.lm_head.weight is back.transformer.tokens_embed.weight


def test_functions_go_by_their_own_names_there() -> None:
    for theirs_act, ours_act in (("gelu", "gelu_pytorch_tanh"), ("relu", "relu"), ("swish", "silu"), ("silu", "silu")):
        model = from_transformers(OpenAIGPTLMHeadModel(OpenAIGPTConfig(**SIZES, afn=theirs_act)))
        assert model.config.hidden_act == ours_act


def test_what_transformers_cannot_hold_is_refused() -> None:
    def ours(**changes: object) -> hf_attention_zoo.GPT2018ForSequenceClassification:
        sizes = {"vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
        config = hf_attention_zoo.GPT2018Config(**{**sizes, "intermediate_size": 32, **changes})
        return hf_attention_zoo.GPT2018ForSequenceClassification(config)

    assert type(to_transformers(ours())) is OpenAIGPTForSequenceClassification
    for changes, said in (
        ({"intermediate_size": 16}, "four times"),
        ({"hidden_act": "gelu"}, "hidden_act='gelu'"),
        ({"similarity": True, "delimiter_token_id": 3}, "one order"),
        ({"classifier_bias": True}, "classifier_bias"),
    ):
        with pytest.raises(ValueError, match=said):
            to_transformers(ours(**changes))
