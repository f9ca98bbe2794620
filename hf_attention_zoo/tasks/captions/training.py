"""Training of captioners on pictures with one or more captions each."""

from __future__ import annotations

from typing import Any

import numpy as np

from hf_attention_zoo.folders.saved_model import load_reader
from hf_attention_zoo.metrics.caption_scoring import bleu_scores, checked_captions, exact_matches
from hf_attention_zoo.tasks.captions.examples import (
    CaptionCollator,
    cached_features,
    encode_captions,
    fitted_pictures,
    regions_folder,
)
from hf_attention_zoo.tasks.captions.rows import CaptionRows, load_captions
from hf_attention_zoo.training.arguments import ModelArguments
from hf_attention_zoo.training.split_choice import training_and_validation
from hf_attention_zoo.training.task_contract import EncodedData, TrainingTask
from hf_attention_zoo.training.zoo_trainer import ZooSeq2SeqTrainer

# Flags that say nothing to a captioner.
FOREIGN = (
    *("source_lang", "max_words", "max_source_length", "text_column", "text_pair_column", "label_column"),
    *("class_names", "problem_type", "train_file", "validation_file", "test_file"),
)
LONGEST_CAPTION = 100


class CaptionTrainer(ZooSeq2SeqTrainer):
    """Batches of captions of like lengths; validation writes a caption for each picture."""

    def lengths(self, dataset: Any) -> np.ndarray:
        return dataset.lengths


class CaptionMetrics:
    """BLEU-1 to 4 and exact matches of generated ids, as the Trainer's `compute_metrics`."""

    measures = ("bleu4", "bleu3", "bleu2", "bleu1", "exact")

    def __init__(self, tokenizer: Any, references: list[list[str]], language: str | None) -> None:
        self.tokenizer, self.references, self.language = tokenizer, references, language

    def __call__(self, prediction: Any) -> dict[str, float]:
        ids = np.asarray(prediction.predictions)
        ids = np.where(ids < 0, self.tokenizer.pad_token_id, ids)
        captions = [text.strip() for text in self.tokenizer.batch_decode(ids, skip_special_tokens=True)]
        checked_captions(captions, self.references)
        scores = bleu_scores(captions, self.references, self.language)
        found = {name: round(value, 4) for name, value in scores.items() if name.startswith("bleu")}
        return {**found, "exact": round(exact_matches(captions, self.references), 4)}


class CaptionTask(TrainingTask):
    """Pictures and captions, a tokenizer of one language, BLEU of captions against all references of a picture."""

    auto_class = "AutoModelForImageTextToText"
    rows_said = "captions"
    shown = ("loss", "perplexity", "bleu1", "bleu4", "exact")

    processor: Any

    def load(self) -> tuple[CaptionRows, CaptionRows | None]:
        plan, data, args = self.plan, self.plan.data, self.plan.training
        for name in FOREIGN:
            if getattr(data, name) is not None:
                raise ValueError(f"--{name} says nothing to a captioner; the captions' language is --target_lang")
        for name in ("word_vectors", "freeze_word_vectors", "unpickle_word_vectors"):
            if getattr(plan.model, name) != getattr(ModelArguments(), name):
                raise ValueError(f"--{name} is for models that read one language; captioners learn their own words")
        if args.label_smoothing_factor:
            raise ValueError(
                "label smoothing would take the loss out of the model's hands, its penalties with it; leave out "
                "--label_smoothing_factor"
            )
        if data.dataset is None:
            raise ValueError("which pictures? Give --dataset (a folder, an embedded sample or a Hub id)")
        splits = load_captions(
            data.dataset,
            language=data.target_lang,
            dataset_config=data.dataset_config,
            picture_column=data.source_column,
            caption_column=data.target_column,
            pictures_outside=data.pictures_outside,
        )
        return training_and_validation(splits, self.plan, said="pictures")

    def measures(self, validation: CaptionRows) -> tuple[str, ...]:
        written = CaptionMetrics.measures if self.plan.training.predict_with_generate else ()
        return (*written, "loss", "perplexity")

    def train_tokenizer(self, rows: CaptionRows) -> Any:
        texts = [text for listed in rows.captions for text in listed][: self.plan.data.tokenizer_samples]
        return self.row.train_tokenizer(texts, **{"language": self.plan.data.target_lang, **self.plan.tokenizer})

    def config_fields(self, tokenizer: Any) -> dict[str, Any]:
        return {"vocab_size": len(tokenizer)}

    def prepare_model(self, model: Any, tokenizer: Any, rows: CaptionRows) -> None:
        named = self.plan.model.model
        processor_class: Any = self.row.processor_class  # the captioner's own
        if named is not None:
            self.processor = processor_class(load_reader(named).image_processor, tokenizer)
            return
        self.processor = processor_class.for_config(model.config, tokenizer)
        if model.config.image_encoder not in ("regions", "convolutions"):
            model.load_pretrained_encoder()

    def encode(self, train: CaptionRows, validation: CaptionRows | None, tokenizer: Any) -> EncodedData:
        """Rows as they are: captions become ids beside their pictures, in `trainer`, which has the model's encoder."""
        references = validation.captions if validation is not None else None
        return EncodedData(train, validation, 0, {"references": references})

    def trainer(self, model: Any, data: EncodedData, tokenizer: Any, callbacks: list[Any]) -> CaptionTrainer:
        args = self.plan.training
        sets, longest = {}, self.plan.data.max_target_length
        for split, rows in (("train", data.train), ("validation", data.validation)):
            if rows is None:
                continue
            with args.main_process_first(desc="encoding the pictures"):
                pictures, name = self._pictures(rows, model)
            sets[split], dropped = encode_captions(
                rows,
                tokenizer,
                pictures,
                name,
                every_caption=split == "train",
                longest=longest if split == "train" else None,
            )
            data.dropped = (data.dropped or 0) + dropped
        data.kept |= {"pictures": len(data.train), "captions": len(sets["train"])}
        most = int(sets["train"].lengths.max())
        data.kept["tokens"] = int(sets["train"].lengths[:, 0].sum())
        if args.generation_max_length is None:
            args.generation_max_length = min(LONGEST_CAPTION, most + 4)
        settings = {"max_length": min(LONGEST_CAPTION, 2 * most + 4), **self.plan.generation}
        unknown = model.generation_config.update(**settings)
        if unknown:
            raise ValueError(f"generation settings that do not exist: {', '.join(unknown)}")
        model.generation_config.validate(strict=True)
        scored = data.validation is not None and args.predict_with_generate
        language = self.plan.data.target_lang or getattr(tokenizer, "language", None)
        return CaptionTrainer(
            model=model,
            args=args,
            train_dataset=sets["train"],
            eval_dataset=sets.get("validation"),
            data_collator=CaptionCollator(self.processor.image_processor),
            processing_class=self.processor,
            compute_metrics=CaptionMetrics(tokenizer, data.kept["references"], language) if scored else None,
            callbacks=callbacks,
        )

    def facts(self, data: EncodedData, epochs: float) -> dict[str, Any]:
        return {
            "target_tokens": int(data.kept["tokens"] * epochs),
            "training_pictures": data.kept["pictures"],
            "training_captions": data.kept["captions"],
        }

    def _pictures(self, rows: CaptionRows, model: Any) -> tuple[Any, str]:
        """Pictures at the encoder's size, the regions of an encoder that stays as it is, or given regions."""
        if model.config.image_encoder == "regions":
            regions = rows.regions
            if regions.cache.shape[-1] != model.config.annotation_size:
                raise ValueError(
                    f"{regions.cache.path} has regions of {regions.cache.shape[-1]} numbers, the config "
                    f"annotation_size={model.config.annotation_size}; give --config.annotation_size "
                    f"{regions.cache.shape[-1]}"
                )
            return regions, "annotations"
        image_processor = self.processor.image_processor
        if not model.config.freeze_encoder:
            return fitted_pictures(rows, image_processor), "pixel_values"
        return cached_features(rows, model, image_processor, regions_folder()), "annotations"
