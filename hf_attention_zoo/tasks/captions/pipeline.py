"""`pipeline("image-captioning", ...)`: a picture in, its caption out."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import torch
from transformers import AutoModelForImageTextToText, GenerationConfig

from hf_attention_zoo.images.given_regions import given_regions
from hf_attention_zoo.images.opening import open_picture
from hf_attention_zoo.tasks.pipeline_table import add
from hf_attention_zoo.tasks.task_pipeline import TaskPipeline

MOST_TOKENS = 64


class CaptionPipeline(TaskPipeline):
    """Pictures to captions.

    ```python
    import hf_attention_zoo
    from transformers import pipeline

    captioner = pipeline("image-captioning", model="folder")
    captioner("koala.jpg")                                   # [{"generated_text": "..."}]
    captioner([picture, data], batch_size=2, num_beams=5)    # one of these lists for each picture
    captioner({"annotations": cache["koala.jpg"]})           # regions (L, D) of your own encoder
    ```

    A picture is a path, bytes, an open file, a PIL image, an array or tensor, or a row of a data set with an "image".
    A row that has "annotations" (L, D) is captioned from these regions, whether or not it has an "image", too; a model
    with image_encoder="regions" reads nothing else.
    Keywords of the constructor or of a call:
        prompt: what the captions begin with.
        generate_kwargs: a dictionary for `generate`, or its keywords one by one: num_beams, max_new_tokens, ...

    A list of `num_return_sequences` dictionaries comes back per picture. What is no picture is a `ValueError`.
    """

    _load_processor = True
    _pipeline_calls_generate = True
    _default_generation_config = GenerationConfig(max_new_tokens=MOST_TOKENS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.model.can_generate():
            raise ValueError(f"{type(self.model).__name__} writes nothing; captions need a model that generates")
        if self.processor is None:
            raise ValueError("captions need a processor; pass processor=, or save one in the model's folder")

    def _sanitize_parameters(
        self, prompt: str | None = None, generate_kwargs: Mapping[str, Any] | None = None, **more: Any
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        before = {} if prompt is None else {"prompt": prompt}
        twice = sorted(set(generate_kwargs or ()) & set(more))
        if twice:
            raise ValueError(f"{', '.join(twice)} is given both in generate_kwargs and by itself; give it once")
        generate_kwargs = {**(generate_kwargs or {}), **more}
        return before, {"generate_kwargs": generate_kwargs} if generate_kwargs else {}, {}

    def __call__(self, images: Any, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]  # its own name for it
        """Caption a picture, a list of pictures, or a generator or data set of pictures (which is streamed)."""
        if isinstance(images, (list, tuple)):
            if not images:
                return []
            opened = [_source(image, f"picture {number}") for number, image in enumerate(images)]
            return super().__call__(opened, *args, **kwargs)
        if not _is_stream(images):
            images = _source(images, "the picture")
        elif not isinstance(images, torch.utils.data.Dataset):
            images = (image for image in images)
        return super().__call__(images, *args, **kwargs)

    # The steps of a pipeline have arguments of their own; transformers' types ask for any keyword.

    def preprocess(self, inputs: Any, prompt: str = "") -> dict[str, Any]:  # type: ignore[override]
        source = _source(inputs, "the picture")
        if not isinstance(source, Mapping):
            return dict(self.processor(images=source, text=prompt, return_tensors="pt"))
        regions = source["annotations"][None]  # (1, L, D); the mask tells them from those of longer rows of the batch
        mask = torch.ones(regions.shape[:2], dtype=torch.long)
        beginning = self.processor.beginnings([prompt])
        return {"annotations": regions, "attention_mask": mask, "decoder_input_ids": beginning}

    def _forward(  # type: ignore[override]
        self, model_inputs: dict[str, Any], generate_kwargs: dict[str, Any] | None = None
    ) -> Any:
        options = self._prepare_generate_kwargs(dict(generate_kwargs or {}), return_dict_in_generate=False)
        beginnings = model_inputs["decoder_input_ids"]
        source = {
            name: tensor.to(self.model.dtype) if tensor.is_floating_point() else tensor
            for name, tensor in model_inputs.items()
            if name in ("pixel_values", "annotations", "attention_mask")
        }
        sequences = self.model.generate(**source, decoder_input_ids=beginnings, **options)
        return {"output_ids": sequences.reshape(beginnings.shape[0], -1, sequences.shape[-1])}

    def postprocess(self, model_outputs: dict[str, Any]) -> list[dict[str, str]]:  # type: ignore[override]
        texts = self.processor.batch_decode(model_outputs["output_ids"][0], skip_special_tokens=True)
        return [{"generated_text": text.strip()} for text in texts]

    def save_pretrained(self, save_directory: str | PathLike[str], **kwargs: Any) -> None:
        """Save model and processor, which is all that `pipeline("image-captioning", model=folder)` needs."""
        self.model.save_pretrained(save_directory, **kwargs)
        self.processor.save_pretrained(save_directory)


def _is_stream(images: Any) -> bool:
    """Whether these are many pictures: a data set, a generator; not one picture of whatever type."""
    import datasets

    if isinstance(images, (torch.utils.data.Dataset, datasets.Dataset)):
        return True
    one = isinstance(images, (str, bytes, PathLike, Mapping)) or any(hasattr(images, n) for n in ("shape", "read"))
    return not one and hasattr(images, "__iter__")


def _source(source: Any, name: str) -> Any:
    """A picture, or {"annotations": (L, D)} of a row that has regions."""
    if isinstance(source, Mapping) and source.get("annotations") is not None:
        return {"annotations": given_regions(source["annotations"], f"the annotations of {name}")}
    return _picture(source, name)


def _picture(source: Any, name: str) -> Any:
    """A picture, or the picture of a row of a data set."""
    if isinstance(source, Mapping):
        if "image" not in source:
            raise ValueError(
                f"{name} is a row without 'image' or 'annotations'; it has: {', '.join(map(str, source))}"
            )
        source = source["image"]
    return open_picture(source, name)


# transformers calls the task "image-text-to-text" and asks for a text.
add("image-captioning", CaptionPipeline, AutoModelForImageTextToText, "multimodal")
