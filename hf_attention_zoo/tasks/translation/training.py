"""Training of encoder-decoders on sentence pairs."""

from typing import Any

from datasets import Dataset
from transformers import DataCollatorForSeq2Seq

from hf_attention_zoo.data.token_budget import pair_lengths
from hf_attention_zoo.seq2seq.source_text import position_limit
from hf_attention_zoo.seq2seq.zoo_generation import ZOO_SETTINGS
from hf_attention_zoo.tasks.translation.examples import ValidationPairs, drop_long_pairs, encode_pairs, texts
from hf_attention_zoo.tasks.translation.rows import load_data
from hf_attention_zoo.tasks.translation.validation_metrics import TranslationMetrics
from hf_attention_zoo.training.arguments import ModelArguments
from hf_attention_zoo.training.split_choice import training_and_validation
from hf_attention_zoo.training.task_contract import EncodedData, TrainingTask
from hf_attention_zoo.training.zoo_trainer import ZooSeq2SeqTrainer

LONGEST_GENERATION = 256


# Flags that say nothing to a translator.
FOREIGN = (
    *("text_column", "text_pair_column", "label_column", "class_names", "problem_type", "words_column"),
    *("tags_column", "question_column", "context_column", "answers_column", "choices_column", "right_column"),
)


class TranslationTask(TrainingTask):
    """Sentence pairs, a tokenizer for two languages, BLEU and chrF of greedy translations."""

    auto_class = "AutoModelForSeq2SeqLM"
    rows_said = "training pairs"
    shown = ("loss", "perplexity", "bleu", "chrf")

    def load(self) -> tuple[Any, Dataset | None]:
        for name in ("word_vectors", "freeze_word_vectors", "unpickle_word_vectors"):
            if getattr(self.plan.model, name) != getattr(ModelArguments(), name):
                raise ValueError(f"--{name} is for models that read one language; translation models learn their own")
        data = self.plan.data
        for name in FOREIGN:
            if getattr(data, name) is not None:
                raise ValueError(f"--{name} says nothing to a translator; leave it out")
        splits = data.read(
            load_data,
            streaming=data.streaming,
            columns=data.columns(),
            source_lang=data.source_lang,
            target_lang=data.target_lang,
            max_words=data.max_words,
        )
        return training_and_validation(splits, self.plan)

    def measures(self, validation: Dataset) -> tuple[str, ...]:
        written = TranslationMetrics.measures if self.plan.training.predict_with_generate else ()
        return (*written, "loss", "perplexity")

    def train_tokenizer(self, rows: Any) -> Any:
        data = self.plan.data
        return self.row.train_tokenizer(
            texts(rows, "source", data.tokenizer_samples),
            texts(rows, "target", data.tokenizer_samples),
            **{"source_lang": data.source_lang, "target_lang": data.target_lang, **self.plan.tokenizer},
        )

    def config_fields(self, tokenizer: Any) -> dict[str, Any]:
        return {"vocab_size": len(tokenizer), "decoder_vocab_size": tokenizer.target_vocab_size}

    def encode(self, train: Any, validation: Dataset | None, tokenizer: Any) -> EncodedData:
        data = self.plan.data
        train_set, dropped = drop_long_pairs(
            encode_pairs(train, tokenizer), data.max_source_length, data.max_target_length
        )
        held_out = ValidationPairs.build(validation, tokenizer) if validation is not None else None
        tokens, longest = None, LONGEST_GENERATION // 2
        if isinstance(train_set, Dataset):
            lengths = pair_lengths(train_set)[:, 1]
            tokens, longest = int(lengths.sum()), int(lengths.max())
        return EncodedData(
            train_set,
            held_out.encoded if held_out is not None else None,
            dropped,
            {
                "references": held_out.references if held_out is not None else None,
                "tokens": tokens,
                "longest": longest,
            },
        )

    def trainer(self, model: Any, data: EncodedData, tokenizer: Any, callbacks: list[Any]) -> ZooSeq2SeqTrainer:
        args = self.plan.training
        check_positions_suffice(model, {"training": data.train, "validation": data.validation})
        self._set_generation_limits(model, data.kept["longest"])
        scored = data.validation is not None and args.predict_with_generate
        return ZooSeq2SeqTrainer(
            model=model,
            args=args,
            train_dataset=data.train,
            eval_dataset=data.validation,
            data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
            processing_class=tokenizer,
            compute_metrics=TranslationMetrics(tokenizer, data.kept["references"], self.plan.data.target_lang)
            if scored
            else None,
            callbacks=callbacks,
        )

    def facts(self, data: EncodedData, epochs: float) -> dict[str, Any]:
        tokens = data.kept["tokens"]
        return {
            "target_tokens": int(tokens * epochs) if tokens else None,
            "training_pairs": len(data.train) if isinstance(data.train, Dataset) else None,
        }

    def _set_generation_limits(self, model: Any, longest: int) -> None:
        """Fill in how long translations may get, from the training targets."""
        most = min(LONGEST_GENERATION, position_limit(model) or LONGEST_GENERATION)
        if self.plan.training.generation_max_length is None:
            self.plan.training.generation_max_length = min(most, longest + 8)
        settings = {"max_length": min(most, max(64, 2 * longest)), **self.plan.generation}
        unknown = model.generation_config.update(**settings)
        for name in ZOO_SETTINGS:
            if name in unknown:
                setattr(model.generation_config, name, unknown.pop(name))
        if unknown:
            raise ValueError(f"generation settings that do not exist: {', '.join(unknown)}")
        model.generation_config.validate(strict=True)


def check_positions_suffice(model: Any, splits: dict[str, Any]) -> None:
    """Each token of every pair has a position, or ValueError before training; streams are not looked through."""
    limit = position_limit(model)
    for name, rows in splits.items():
        if limit is None or not isinstance(rows, Dataset) or not len(rows):
            continue
        lengths = pair_lengths(rows)
        longest = lengths.max(0)
        if longest.max() > limit:
            number = int((lengths.max(1) > limit).sum())
            raise ValueError(
                f"{number:,} {name} pairs have more than {limit} tokens on a side (up to {longest[0]} and "
                f"{longest[1]}), but the model learns {limit} positions; leave long training pairs out with "
                "--max_source_length and --max_target_length, or give --config.max_position_embeddings"
            )
