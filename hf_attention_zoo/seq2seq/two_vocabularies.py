"""Embedding tables of models that read one vocabulary and write another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

if TYPE_CHECKING:
    from transformers import PreTrainedModel as Mixed
else:
    Mixed = object


class TwoVocabularies(Mixed):
    """Resizing for encoder-decoders with a table per side; put it before `PreTrainedModel` among the bases.

    transformers' `resize_token_embeddings` knows one vocabulary: it would give the output layer the size of the source
    table and leave the target table alone. Here each side has its own method, and the common one changes both sides
    or, where the sizes differ, says which to call.
    """

    if TYPE_CHECKING:
        # transformers names no type for either; both hold a table called `embed_tokens`
        def get_encoder(self, modality: str | None = None) -> Any: ...
        def get_decoder(self) -> Any: ...

    def get_input_embeddings(self) -> nn.Embedding:
        """The source table."""
        return self.get_encoder().embed_tokens

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.get_encoder().embed_tokens = value

    def get_decoder_input_embeddings(self) -> nn.Embedding:
        """The target table."""
        return self.get_decoder().embed_tokens

    def set_decoder_input_embeddings(self, value: nn.Module) -> None:
        self.get_decoder().embed_tokens = value

    def save_pretrained(self, *args: Any, **kwargs: Any) -> None:
        """As ever, with a config that says what is tied.

        A tied weight is saved once, so that a config which says that nothing is tied would lose the output layer. PEFT
        says so when it merges adapters: it compares the output layer with the source table.
        """
        pairs = (self._tied_weights_keys or {}).items()
        if pairs and all(self.get_parameter(tied) is self.get_parameter(source) for tied, source in pairs):
            self.config.tie_word_embeddings = True
        super().save_pretrained(*args, **kwargs)

    def resize_source_embeddings(
        self, new_num_tokens: int | None, pad_to_multiple_of: int | None = None, mean_resizing: bool = True
    ) -> nn.Embedding:
        """Give the source table `new_num_tokens` rows; arguments as in transformers' `resize_token_embeddings`."""
        table = self._resized(self.get_encoder().embed_tokens, new_num_tokens, pad_to_multiple_of, mean_resizing)
        self.get_encoder().embed_tokens = table
        self.config.vocab_size = self.vocab_size = table.weight.shape[0]
        return table

    def resize_target_embeddings(
        self, new_num_tokens: int | None, pad_to_multiple_of: int | None = None, mean_resizing: bool = True
    ) -> nn.Embedding:
        """Give the target table and the output layer `new_num_tokens` rows; arguments as above."""
        table = self._resized(self.get_decoder_input_embeddings(), new_num_tokens, pad_to_multiple_of, mean_resizing)
        self.set_decoder_input_embeddings(table)
        rows = table.weight.shape[0]
        head = self.get_output_embeddings()
        if head is not None:
            resized = self._get_resized_lm_head(head, rows, mean_resizing=mean_resizing)
            self.set_output_embeddings(resized.requires_grad_(head.weight.requires_grad))
        self.config.decoder_vocab_size = rows
        self.tie_weights()
        return table

    def resize_token_embeddings(
        self, new_num_tokens: int | None = None, pad_to_multiple_of: int | None = None, mean_resizing: bool = True
    ) -> nn.Embedding:
        """Resize both sides; returns the source table.

        Raises:
            ValueError: if the two vocabularies differ in size, since one number cannot be right for both.
        """
        if new_num_tokens is None and pad_to_multiple_of is None:
            return self.get_input_embeddings()
        source, target = self.config.vocab_size, self.config.decoder_vocab_size
        if source != target:
            raise ValueError(
                f"the source vocabulary has {source} rows and the target vocabulary {target}, so "
                f"resize_token_embeddings({new_num_tokens}) could mean either; call "
                "resize_source_embeddings or resize_target_embeddings"
            )
        self.resize_target_embeddings(new_num_tokens, pad_to_multiple_of, mean_resizing)
        return self.resize_source_embeddings(new_num_tokens, pad_to_multiple_of, mean_resizing)

    def _resized(
        self, table: nn.Embedding, new_num_tokens: int | None, pad_to_multiple_of: int | None, mean_resizing: bool
    ) -> nn.Embedding:
        resized = self._get_resized_embeddings(table, new_num_tokens, pad_to_multiple_of, mean_resizing)
        return resized.requires_grad_(table.weight.requires_grad)
