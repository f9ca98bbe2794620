"""fastText: a text is the mean of its words and n-grams, and a linear classifier reads it.

Joulin, Grave, Bojanowski and Mikolov 2016 (arXiv 1607.01759). Where the equations are:

    x = mean of A_f over the features f of a text   Section 2     FastTextModel
    p = softmax(B x)                                Section 2     FastTextForSequenceClassification.classifier
    p = prod_j p(node j)                            Section 2.1   HierarchicalSoftmax
    features: words and hashed n-grams              Section 2.2   HashedNGramTokenizer

There is no bias and nothing that is not linear. A text without any feature has x = 0.

Shapes: B texts, F features as padded, D embedding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutputWithPooling, SequenceClassifierOutput
from transformers.utils import can_return_tuple

from hf_attention_zoo.losses.classification_loss import classification_loss
from hf_attention_zoo.models.fasttext.configuration_fasttext import FastTextConfig
from hf_attention_zoo.parts.config_checks import number_of_labels
from hf_attention_zoo.parts.huffman_tree import HierarchicalSoftmax
from hf_attention_zoo.parts.text_inputs import check_same_shape, real_tokens, text_shape, wanted_outputs
from hf_attention_zoo.parts.token_table import token_table


class FastTextPreTrainedModel(PreTrainedModel):
    """Initialisation as in the authors' code, and what transformers needs to know."""

    config: FastTextConfig
    config_class = FastTextConfig
    base_model_prefix = "model"
    _no_split_modules: list[str] = []

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """A: uniform within 1 / D; B and the nodes of the tree: 0, so that all labels begin as likely."""
        if isinstance(module, nn.Embedding):
            init.uniform_(module.weight, -1 / self.config.embedding_size, 1 / self.config.embedding_size)
        elif isinstance(module, nn.Linear):
            init.zeros_(module.weight)
        elif isinstance(module, HierarchicalSoftmax):
            init.zeros_(module.nodes.weight)
            module.place_paths()


class FastTextModel(FastTextPreTrainedModel):
    """Texts as vectors: the mean of the rows of A that a text has."""

    _keys_to_ignore_on_load_unexpected = [r"^classifier\."]  # of a checkpoint with labels

    def __init__(self, config: FastTextConfig) -> None:
        super().__init__(config)
        self.embed_tokens = token_table(config.vocab_size, config.embedding_size)  # A
        self.embed_tokens.sparse = config.sparse_gradients
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutputWithPooling:
        """Read texts.

        Args:
            input_ids: (B, F) words and buckets in any order.
            attention_mask: (B, F), non-zero at features, wherever pads stand; by default all ids but `pad_token_id`.
            inputs_embeds: (B, F, D) in place of ids.
            output_attentions: changes nothing; every feature counts the same.

        Returns:
            `pooler_output` (B, D), the mean, and `last_hidden_state` (B, F, D), what it is the mean of, 0 at pads.

        Raises:
            ValueError: ids or mask of another shape.
        """
        check_same_shape(text_shape(input_ids, inputs_embeds), attention_mask=attention_mask)
        _, states = wanted_outputs(self.config, output_attentions, output_hidden_states)
        embedded = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds  # (B, F, D)
        real = real_tokens(input_ids, attention_mask, inputs_embeds, self.config.pad_token_id).to(embedded.dtype)
        features = embedded * real[..., None]
        mean = features.sum(1) / real.sum(1, keepdim=True).clamp(min=1)
        return BaseModelOutputWithPooling(
            last_hidden_state=features,
            pooler_output=mean,
            hidden_states=(features,) if states else None,
        )

    @torch.no_grad()
    def sentence_vectors(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """x of each text, (B, D)."""
        return self(input_ids, attention_mask).pooler_output


class FastTextForSequenceClassification(FastTextPreTrainedModel):
    """Labels of texts. With `output="hierarchical_softmax"` the logits are log-probabilities."""

    def __init__(self, config: FastTextConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = FastTextModel(config)
        self.classifier = (
            nn.Linear(config.embedding_size, number_of_labels(config), bias=False)  # B
            if config.output == "softmax"
            else HierarchicalSoftmax(config.embedding_size, label_tree_counts(config))
        )
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """Logits (B, num_labels) and, with labels, the mean loss; the rest as in `FastTextModel.forward`.

        Args:
            labels: (B) integers, or floats (B) or (B, num_labels) for the other values of `config.problem_type`;
                floats of several labels are the authors' `-loss ova`.
        """
        read = self.model(
            input_ids,
            attention_mask,
            inputs_embeds,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=True,
        )
        logits = self.classifier(read.pooler_output)
        loss = None if labels is None else classification_loss(self, logits, labels, **kwargs)
        return SequenceClassifierOutput(loss=loss, logits=logits, hidden_states=read.hidden_states)

    def sentence_vectors(self, input_ids: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """See `FastTextModel.sentence_vectors`."""
        return self.model.sentence_vectors(input_ids, attention_mask)


def label_tree_counts(config: FastTextConfig) -> list[int]:
    """How often each label occurs, for the tree.

    Raises:
        ValueError: another number of counts than of labels, or labels that no tree chooses one of.
    """
    number = number_of_labels(config)
    if number < 2 or config.problem_type in ("regression", "multi_label_classification"):
        raise ValueError(
            f"output='hierarchical_softmax' chooses one of two or more labels, but num_labels is {number} "
            f"and problem_type {config.problem_type!r}; use output='softmax'"
        )
    counts = [1] * number if config.label_counts is None else config.label_counts
    if len(counts) != number:
        raise ValueError(f"label_counts has {len(counts)} numbers for {number} labels; give one for each, or None")
    return counts
