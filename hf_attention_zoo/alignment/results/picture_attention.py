"""Where a captioner looked before every word, over the picture that it saw.

Shapes: T tokens of the caption, a grid of h x w regions, a picture of H x W pixels.
"""

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from PIL import Image
from transformers import PreTrainedModel

from hf_attention_zoo.alignment.results.drawings import drawing
from hf_attention_zoo.alignment.results.joined_words import averaged, joins, labels
from hf_attention_zoo.alignment.results.picture_upsampling import SMOOTHING, upsample
from hf_attention_zoo.alignment.results.records import exact, read_fields, written
from hf_attention_zoo.images.given_regions import given_regions
from hf_attention_zoo.images.opening import open_picture
from hf_attention_zoo.seq2seq.forced_attention import evaluation_mode
from hf_attention_zoo.tokenization.surfaces import readable_token
from hf_attention_zoo.tokenization.word_groups import Words, checked_words, decoded_spans, word_groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIELDS = ("tokens", "weights", "gates", "caption", "picture")


@dataclass(frozen=True, eq=False, repr=False)
class PictureAttention:
    """A caption, and for each of its tokens the weights of the regions that it was written from.

    Args:
        tokens: T readable tokens, the end mark included where the search reached it.
        weights: (T, h, w), each grid sums to 1; kept as float32 and read-only.
        gates: (T), how much of the context the gating scalar let through; None for a model without one.
        picture: (H, W, 3) bytes, as the encoder saw it.
        caption: the caption as plain text.
        whole_words: the words that the tokens are pieces of, in order, each with how many it takes; None where every
            token is a word.

    Raises:
        ValueError: what does not fit together or is not finite.
    """

    tokens: tuple[str, ...]
    weights: np.ndarray
    gates: np.ndarray | None
    picture: np.ndarray
    caption: str = ""
    whole_words: Words | None = None

    def __post_init__(self) -> None:
        tokens, weights = tuple(self.tokens), np.array(self.weights, dtype=np.float32)
        gates = None if self.gates is None else np.array(self.gates, dtype=np.float32).reshape(-1)
        picture = np.array(self.picture, dtype=np.uint8)
        if weights.ndim != 3 or len(weights) != len(tokens) or 0 in weights.shape[1:]:
            raise ValueError(
                f"{len(tokens)} tokens have weights of shape {weights.shape}; give (tokens, rows, columns)"
            )
        if gates is not None and len(gates) != len(tokens):
            raise ValueError(f"{len(tokens)} tokens have {len(gates)} gates; one each is wanted")
        if picture.ndim != 3 or picture.shape[-1] != 3 or 0 in picture.shape:
            raise ValueError(f"the picture has shape {picture.shape}; give (height, width, 3) bytes")
        for values in (weights, *(() if gates is None else (gates,))):
            if not np.isfinite(values).all():
                raise ValueError("weights or gates contain NaN or infinity; finite numbers are wanted")
        for name, value in (("tokens", tokens), ("weights", weights), ("gates", gates), ("picture", picture)):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)
        object.__setattr__(self, "whole_words", checked_words(self.whole_words, tokens, "whole"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PictureAttention):
            return NotImplemented
        same_gates = (self.gates is None) == (other.gates is None)
        return (
            (self.tokens, self.caption, self.whole_words) == (other.tokens, other.caption, other.whole_words)
            and same_gates
            and (self.gates is None or other.gates is None or np.array_equal(self.gates, other.gates))
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.picture, other.picture)
        )

    def __repr__(self) -> str:
        count, rows, columns = self.weights.shape
        return f"PictureAttention({self.caption!r}, {count} tokens over {rows} x {columns} regions)"

    def words(self) -> "PictureAttention":
        """The caption in words: weights and gates are averaged over the pieces of a word."""
        words = self.whole_words
        if words is None or not joins(words):
            return self
        gates = None if self.gates is None else averaged(self.gates, words)
        return PictureAttention(labels(words), averaged(self.weights, words), gates, self.picture, self.caption)

    def maps(self, smoothing: float = SMOOTHING) -> np.ndarray:
        """The weights over the picture's pixels, (T, H, W); see `upsample`."""
        height, width = self.picture.shape[:2]
        return upsample(self.weights, height, width, smoothing)

    def best_regions(self) -> list[tuple[int, int]]:
        """Row and column of the region of the largest weight, for each token."""
        columns = self.weights.shape[2]
        return [divmod(int(grid.argmax()), columns) for grid in self.weights]

    def plot(self, path: str | PathLike[str] | None = None, *, pieces: bool = False, **options: Any) -> "Figure":
        """Draw the picture, then one panel per token: bright where it looked, the gate's value beside the token.

        Args:
            path: file to write, .png, .svg or .pdf. Missing folders are made.
            pieces: a panel for each token as it is, in place of words (`words`).
            options: `title`, `columns`, `smoothing`, `opacity`, `panel_inches` and `dpi`, see `plot_picture`.

        Raises:
            ValueError: another suffix, or a caption without tokens.
        """
        return drawing("plot_picture")(self if pieces else self.words(), path, **options)

    def to_html(self, path: str | PathLike[str] | None = None, *, pieces: bool = False) -> str:
        """A self-contained page with a panel for each word, or for each token if `pieces` are wanted."""
        return written(drawing("picture_page")(self if pieces else self.words()), path)

    def _repr_html_(self) -> str:
        return drawing("picture_fragment")(self.words())

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """A JSON object with the five fields, the picture as PNG; `from_json` gives back an equal one."""
        record: dict[str, Any] = {
            "caption": self.caption,
            "tokens": list(self.tokens),
            "weights": [[exact(row) for row in grid] for grid in self.weights],
            "gates": None if self.gates is None else exact(self.gates),
            "picture": png_text(self.picture),
        }
        if self.whole_words is not None:
            record["whole_words"] = self.whole_words
        return written(json.dumps(record, ensure_ascii=False), path, end="\n")

    @classmethod
    def from_json(cls, source: str | PathLike[str]) -> "PictureAttention":
        """Read what `to_json` wrote: the JSON text itself, or the path of a file that holds it.

        Raises:
            ValueError: the text is no JSON object with the five fields.
        """
        record = read_fields(source, FIELDS, "a picture's attention", optional=("whole_words",))
        picture = np.asarray(open_picture(base64.b64decode(record["picture"])))
        return cls(**{**record, "picture": picture})


def png_text(picture: np.ndarray) -> str:
    """A picture (H, W, 3) or (H, W, 4) as PNG in base 64."""
    file = io.BytesIO()
    Image.fromarray(np.asarray(picture)).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode("ascii")


@torch.no_grad()
def align_pictures(
    model: PreTrainedModel,
    processor: Any,
    pictures: Any,
    *,
    annotations: Any = None,
    captions: str | Sequence[str] | None = None,
    num_beams: int = 1,
    batch_size: int = 16,
    **generate_kwargs: Any,
) -> list[PictureAttention]:
    """Caption pictures and return each caption with where the model looked for every token.

    The caption is read once more: the weights are those of the returned caption itself, also where beams crossed on
    the way. Of hard attention they are what the context was made of: the expectation, the likeliest location, or (if
    the config says "sample") locations that are drawn anew.

    Args:
        processor: the model's processor, with image processor and tokenizer.
        pictures: one picture or several: paths, bytes, PIL images, arrays.
        annotations: the regions of the pictures (pictures, L, D), a tensor or a list of arrays, in place of those that
            the model's encoder makes; a model with image_encoder="regions" needs them.
        captions: captions to look at instead of the model's own, one per picture.
        num_beams: width of the search.
        batch_size: pictures at a time.
        generate_kwargs: for `generate`.

    Returns:
        One `PictureAttention` per picture, in order.

    Raises:
        ValueError: no processor, no picture, captions or regions that differ from the pictures in number, a model that
            reads no pictures without regions, or more than one caption per picture.
    """
    if not hasattr(processor, "image_processor"):
        raise ValueError(
            f"{type(processor).__name__} reads no pictures; give the processor: AutoProcessor.from_pretrained(folder)"
        )
    given = list(pictures) if isinstance(pictures, (list, tuple)) else [pictures]
    opened = [open_picture(source, f"picture {number}") for number, source in enumerate(given)]
    regions = None if annotations is None else _regions(annotations, len(opened))
    wanted = None if captions is None else [captions] if isinstance(captions, str) else list(captions)
    if wanted is not None and len(wanted) != len(opened):
        raise ValueError(f"{len(opened)} pictures, but {len(wanted)} captions; give one caption for each picture")
    if wanted is not None and (generate_kwargs or num_beams != 1):
        raise ValueError("captions are given, so nothing is searched; leave out num_beams and other search settings")
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size}; give 1 or more")
    if generate_kwargs.get("num_return_sequences", 1) != 1 or generate_kwargs.get("return_dict_in_generate"):
        raise ValueError(
            "one caption per picture is drawn; leave out num_return_sequences and return_dict_in_generate"
        )
    found: list[PictureAttention] = []
    with evaluation_mode(model):
        for start in range(0, len(opened), batch_size):
            batch = opened[start : start + batch_size]
            texts = None if wanted is None else wanted[start : start + batch_size]
            if regions is None:
                read = {"pixel_values": processor(images=batch)["pixel_values"].to(model.device)}
            else:
                read = {"annotations": regions[start : start + batch_size].to(model.device, model.dtype)}
            found += _align_batch(model, processor, batch, read, texts, {"num_beams": num_beams, **generate_kwargs})
    return found


def _regions(annotations: Any, pictures: int) -> torch.Tensor:
    """(pictures, L, D); of one picture also (L, D)."""
    if pictures == 1 and getattr(annotations, "ndim", 3) == 2:
        annotations = [annotations]
    made = [given_regions(one, f"the annotations of picture {number}") for number, one in enumerate(annotations)]
    if len(made) != pictures:
        raise ValueError(f"{pictures} pictures, but annotations of {len(made)}; give those of each picture")
    shapes = sorted({tuple(one.shape) for one in made})
    if len(shapes) > 1:
        raise ValueError(f"the annotations have the shapes {shapes}; pictures of one call share one (regions, size)")
    return torch.stack(made)


def _align_batch(
    model: PreTrainedModel,
    processor: Any,
    pictures: list[Image.Image],
    read: dict[str, torch.Tensor],
    captions: list[str] | None,
    search: dict,
) -> list[PictureAttention]:
    """Attention of some pictures; `read` is what the encoder reads of them."""
    from hf_attention_zoo.models.show_attend_tell.layers_show_attend_tell import grid_of

    captioner: Any = model
    tokenizer, config = processor.tokenizer, captioner.config
    encoded = captioner.get_encoder()(**read)
    if captions is None:
        sequences = captioner.generate(encoder_outputs=encoded, **search)
    else:
        labels = processor(captions=captions)["labels"].to(model.device)
        start = labels.new_full((len(labels), 1), config.decoder_start_token_id)
        sequences = torch.cat([start, labels.masked_fill(labels == -100, config.pad_token_id)], 1)
    given = {"encoder_outputs": encoded, "decoder_input_ids": sequences[:, :-1]}
    said = captioner(**given, output_attentions=True, use_cache=False)
    weights = said.locations[:, 0].float().cpu().numpy()  # (B, T, L)
    gates = None if said.context_gates is None else said.context_gates[..., 0].float().cpu().numpy()
    height, width = grid_of(config, weights.shape[-1])
    made = []
    for row, picture in enumerate(pictures):
        ids = _until_end(sequences[row, 1:].tolist(), config)
        tokens = [readable_token(token) for token in tokenizer.convert_ids_to_tokens(ids)]
        made.append(
            PictureAttention(
                tokens=tuple(tokens),
                weights=weights[row, : len(ids)].reshape(-1, height, width),
                gates=None if gates is None else gates[row, : len(ids)],
                picture=np.asarray(processor.image_processor.fitted(picture)),
                caption=tokenizer.decode(ids, skip_special_tokens=True),
                whole_words=word_groups(*decoded_spans(tokenizer, ids), tokens),
            )
        )
    return made


def _until_end(ids: list[int], config: Any) -> list[int]:
    """Up to and with the first end mark, without the pads behind it."""
    end = config.eos_token_id
    ends = set(end) if isinstance(end, (list, tuple)) else {end}
    for index, token in enumerate(ids):
        if token in ends:
            return ids[: index + 1]
    return [token for token in ids if token != config.pad_token_id]
