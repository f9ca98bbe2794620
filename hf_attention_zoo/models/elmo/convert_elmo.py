"""Published ELMo weights (an HDF5 file and its options) as an ELMoModel, and back.

| equation | name in the file | there | here |
|---|---|---|---|
| E | `char_embed` | (261, 16) | the same rows: id c reads row c - 1 |
| F, b | `CNN/W_cnn_i`, `CNN/b_cnn_i` | (1, width, 16, n) | (n, 16, width) |
| W_c, b_c, W_t, b_t | `CNN_high_i/W_carry`, ... | (in, out) | transposed; the carry gate keeps its sign |
| W_p, b_p | `CNN_proj/W_proj`, `b_proj` | (in, out) | transposed |
| W, U | `RNN_d/.../Cell_l/LSTMCell/W_0` | (input and state, 4C): i, g, f, o | two of (4C, ...): i, f, g, o |
| b | `.../B` | (4C) without the forget bias 1 | the same: the 1 stands outside here, too |
| P | `.../W_P_0` | (C, P) | transposed |
| softmax | `softmax/W`, `softmax/b` | (V, P), (V) | `ELMoForPreTraining`; published files have none |

Reading needs h5py: `pip install "hf_attention_zoo[elmo]"`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hf_attention_zoo.models.elmo.configuration_elmo import ELMoConfig
from hf_attention_zoo.models.elmo.modeling_elmo import ELMoForPreTraining, ELMoModel
from hf_attention_zoo.tokenization.word_character_tokenizer import MAX_CHARACTERS, WordCharacterTokenizer

ENDINGS = (".hdf5", ".h5")
DIRECTIONS = ("forward_lstm", "backward_lstm")


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise ImportError('ELMo weights are HDF5 files; install h5py: pip install "hf_attention_zoo[elmo]"') from error
    return h5py


def find_files(source: str | os.PathLike[str], options: str | os.PathLike[str] | None = None) -> tuple[Path, Path]:
    """The file of weights and that of options: `source` is the first, or a folder with one of each.

    Raises:
        ValueError: a file is missing, or several could be meant.
    """
    source = Path(source)
    weights = [source] if source.is_file() else [path for path in sorted(source.glob("*")) if path.suffix in ENDINGS]
    weights = [path for path in weights if "embedding" not in path.name or len(weights) == 1]
    if len(weights) != 1:
        raise ValueError(f"{source} holds {len(weights)} HDF5 files of weights; name the one to convert")
    folder = weights[0].parent
    found = [Path(options)] if options else sorted({*folder.glob("options.json"), *folder.glob("*options*.json")})
    if len(found) != 1 or not found[0].is_file():
        raise ValueError(
            f"{len(found)} options files beside {weights[0]}; name the one that belongs to it with --options"
        )
    return weights[0], found[0]


def config_of_options(options: dict[str, Any], **changes: Any) -> ELMoConfig:
    """The config of the authors' options.

    Raises:
        ValueError: options of a model without characters or without a projection, or that lack something.
    """
    try:
        cnn, lstm = options["char_cnn"], options["lstm"]
        size, projection = lstm["dim"], lstm["projection_dim"]
        fields = {
            "character_embedding_size": cnn["embedding"]["dim"],
            "filters": [list(one) for one in cnn["filters"]],
            "num_highway_layers": cnn["n_highway"],
            "activation": cnn.get("activation", "relu"),
            "cell_size": size,
            "projection_size": projection,
            "num_layers": lstm["n_layers"],
            "cell_clip": lstm.get("cell_clip"),
            "projection_clip": lstm.get("proj_clip"),
            "skip_connections": bool(lstm.get("use_skip_connections", False)),
        }
    except KeyError as error:
        raise ValueError(f"the options have no {error}; a biLM over characters has char_cnn and lstm") from error
    if cnn.get("n_characters", 261) not in (261, 262):
        raise ValueError(f"the options say n_characters={cnn['n_characters']}; known are 261 and, with a pad, 262")
    if options.get("dropout") is not None:
        fields["dropout"] = float(options["dropout"])
    return ELMoConfig(**{**fields, **changes})


def places(config: ELMoConfig) -> Iterator[tuple[str, str, str]]:
    """Name in the file, name here, and how the tensor turns: "same", "transposed" or "filter"."""
    yield "char_embed", "characters.embedding.weight", "same"
    for number in range(len(config.filters or ())):
        yield f"CNN/W_cnn_{number}", f"characters.convolutions.{number}.weight", "filter"
        yield f"CNN/b_cnn_{number}", f"characters.convolutions.{number}.bias", "same"
    for number in range(config.num_highway_layers):
        for part in ("carry", "transform"):
            yield f"CNN_high_{number}/W_{part}", f"characters.highways.{number}.{part}.weight", "transposed"
            yield f"CNN_high_{number}/b_{part}", f"characters.highways.{number}.{part}.bias", "same"
    yield "CNN_proj/W_proj", "characters.projection.weight", "transposed"
    yield "CNN_proj/b_proj", "characters.projection.bias", "same"


def cells(config: ELMoConfig) -> Iterator[tuple[str, str]]:
    """Name of each LSTM in the file and here."""
    for side, direction in enumerate(DIRECTIONS):
        for layer in range(config.num_layers):
            yield f"RNN_{side}/RNN/MultiRNNCell/Cell{layer}/LSTMCell", f"layers.{layer}.{direction}"


def regated(stacked: Tensor) -> Tensor:
    """i, g, f, o <-> i, f, g, o along the first axis."""
    first, second, third, last = stacked.chunk(4)
    return torch.cat([first, third, second, last])


TURNED = {
    "same": lambda tensor: tensor,
    "transposed": lambda tensor: tensor.t(),
    "filter": lambda tensor: tensor.squeeze(0).permute(2, 1, 0),
}
TURNED_BACK = {**TURNED, "filter": lambda tensor: tensor.permute(2, 1, 0)[None]}


def read_state(path: Path, config: ELMoConfig) -> dict[str, Tensor]:
    """The tensors of a file under our names, those of the softmax among them if it has one.

    Raises:
        ValueError: a tensor is missing or of another shape than the options say.
    """
    state: dict[str, Tensor] = {}
    with _h5py().File(path, "r") as file:

        def tensor(name: str) -> Tensor:
            if name not in file:
                raise ValueError(f"{path} has no {name}; it is no biLM of these options")
            return torch.from_numpy(np.asarray(file[name][...], dtype=np.float32))

        for theirs, ours, turn in places(config):
            state[ours] = TURNED[turn](tensor(theirs)).contiguous()
        for theirs, ours in cells(config):
            kernel = regated(tensor(f"{theirs}/W_0").t())  # (4C, I + P)
            split = kernel.shape[1] - config.projection_size
            state[f"{ours}.input_weight"] = kernel[:, :split].contiguous()
            state[f"{ours}.recurrent_weight"] = kernel[:, split:].contiguous()
            state[f"{ours}.bias"] = regated(tensor(f"{theirs}/B"))
            state[f"{ours}.projection_weight"] = tensor(f"{theirs}/W_P_0").t().contiguous()
        if "softmax/W" in file:
            state["lm_head.weight"], state["lm_head.bias"] = tensor("softmax/W"), tensor("softmax/b")
    return state


def convert_weights(
    source: str | os.PathLike[str], options: str | os.PathLike[str] | None = None, **changes: Any
) -> ELMoModel | ELMoForPreTraining:
    """A model of published weights: `ELMoForPreTraining` where the file holds a softmax, else `ELMoModel`.

    Args:
        source: the HDF5 file, or a folder with it and its options.
        options: the JSON file of options, if it is not beside the weights.
        changes: fields of the config, such as `num_mixes` and `stateful`.

    Raises:
        ValueError: files or tensors are missing or do not fit one another.
        ImportError: h5py is missing.
    """
    weights, settings = find_files(source, options)
    config = config_of_options(json.loads(settings.read_text(encoding="utf-8")), **changes)
    state = read_state(weights, config)
    config.num_characters = len(state["characters.embedding.weight"])
    if "lm_head.weight" in state:
        config.vocab_size = len(state["lm_head.weight"])
        model: Any = ELMoForPreTraining(config)
        body, head = model.model.bilm, {name: state.pop(name) for name in ("lm_head.weight", "lm_head.bias")}
        model.load_state_dict(head, strict=False)
    else:
        model = ELMoModel(config)
        body = model.bilm
    for name, parameter in body.state_dict().items():
        if state[name].shape != parameter.shape:
            raise ValueError(
                f"{name} has shape {tuple(state[name].shape)} in {weights}, the options say {tuple(parameter.shape)}"
            )
    body.load_state_dict(state)
    return model.eval()


def write_weights(model: ELMoModel | ELMoForPreTraining, folder: str | os.PathLike[str]) -> None:
    """`weights.hdf5` and `options.json` in the authors' layout, the exact inverse of `convert_weights`."""
    config, folder = model.config, Path(folder)
    bilm = (model.model if isinstance(model, ELMoForPreTraining) else model).bilm
    state = {name: tensor.detach().float().cpu() for name, tensor in bilm.state_dict().items()}
    folder.mkdir(parents=True, exist_ok=True)
    with _h5py().File(folder / "weights.hdf5", "w") as file:
        for theirs, ours, turn in places(config):
            file[theirs] = TURNED_BACK[turn](state[ours]).contiguous().numpy()
        for theirs, ours in cells(config):
            kernel = torch.cat([state[f"{ours}.input_weight"], state[f"{ours}.recurrent_weight"]], dim=1)
            file[f"{theirs}/W_0"] = regated(kernel).t().contiguous().numpy()
            file[f"{theirs}/B"] = regated(state[f"{ours}.bias"]).numpy()
            file[f"{theirs}/W_P_0"] = state[f"{ours}.projection_weight"].t().contiguous().numpy()
        if isinstance(model, ELMoForPreTraining):
            file["softmax/W"] = model.lm_head.weight.detach().float().cpu().numpy()
            file["softmax/b"] = model.lm_head.bias.detach().float().cpu().numpy()
    options = {
        "lstm": {
            "use_skip_connections": config.skip_connections,
            "projection_dim": config.projection_size,
            "cell_clip": config.cell_clip,
            "proj_clip": config.projection_clip,
            "dim": config.cell_size,
            "n_layers": config.num_layers,
        },
        "char_cnn": {
            "activation": config.activation,
            "filters": [list(one) for one in config.filters or ()],
            "n_highway": config.num_highway_layers,
            "embedding": {"dim": config.character_embedding_size},
            "n_characters": config.num_characters + 1,
            "max_characters_per_token": MAX_CHARACTERS,
        },
        "dropout": config.dropout,
    }
    (folder / "options.json").write_text(json.dumps(options), encoding="utf-8")


def words_of_file(vocabulary: str | os.PathLike[str] | None) -> list[str]:
    """The words of a vocabulary file of the authors, one a line; none without a file."""
    words = [] if vocabulary is None else Path(vocabulary).read_text(encoding="utf-8").split("\n")
    return [word for word in words if word]


def tokenizer_for(
    vocabulary: str | os.PathLike[str] | None, options: str | os.PathLike[str]
) -> WordCharacterTokenizer:
    """The tokenizer of converted weights: marks stand alone, as in the text that those read.

    Args:
        vocabulary: a file of the authors with a word a line; `<S>`, `</S>` and `<UNK>` become the first wherever they
            stand in it. None for none.
        options: the JSON file of options, for the places of a word.
    """
    settings = json.loads(Path(options).read_text(encoding="utf-8"))
    most = settings["char_cnn"].get("max_characters_per_token", MAX_CHARACTERS)
    return WordCharacterTokenizer.from_words(words_of_file(vocabulary), splitting="marks", max_characters=most)


@torch.no_grad()
def arrange_softmax(
    model: ELMoForPreTraining, vocabulary: str | os.PathLike[str] | None, tokenizer: WordCharacterTokenizer
) -> None:
    """Bring the rows of the softmax from the order of the vocabulary file into that of the tokenizer's numbers.

    Raises:
        ValueError: no file, or one that does not name each row once, `<S>`, `</S>` and `<UNK>` among them.
    """
    size = model.config.vocab_size
    if vocabulary is None:
        raise ValueError(
            f"the weights have a softmax of {size:,} words and no vocabulary stands beside them; name the file that "
            "belongs to it (--vocabulary)"
        )
    words = words_of_file(vocabulary)
    rows = {word: row for row, word in enumerate(words)}
    if not len(words) == len(rows) == len(tokenizer) == size:
        raise ValueError(
            f"{vocabulary} has {len(words):,} words, {len(rows):,} of them different and {len(tokenizer):,} with <S>, "
            f"</S> and <UNK>; the softmax has {size:,} rows: name the file with one word for each, those three among "
            "them (--vocabulary)"
        )
    order = [rows[word] for word in tokenizer.convert_ids_to_tokens(list(range(size)))]
    model.lm_head.weight.copy_(model.lm_head.weight[order])
    model.lm_head.bias.copy_(model.lm_head.bias[order])


def convert_to_folder(source: Path, target: Path, options: Any) -> str:
    """What `attention-zoo convert --from elmo` does: model and tokenizer as a folder; says what it wrote."""
    weights, settings = find_files(source, options.options)
    listed = [Path(options.vocabulary)] if options.vocabulary else sorted(weights.parent.glob("vocab*.txt"))
    if len(listed) > 1:
        raise ValueError(
            f"{len(listed)} vocabularies beside {weights}; name the one that belongs to it (--vocabulary)"
        )
    model = convert_weights(weights, settings)
    vocabulary = listed[0] if listed else None
    tokenizer = tokenizer_for(vocabulary, settings)
    if isinstance(model, ELMoForPreTraining):
        arrange_softmax(model, vocabulary, tokenizer)
    else:
        model.config.vocab_size = len(tokenizer)
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    words = f"{len(tokenizer):,} words" if listed else "a tokenizer without a vocabulary (characters need none)"
    return f"{model.num_parameters():,} parameters and {words} written to {target}"
