"""word2vec: a word's vector is what tells the words around it.

Mikolov, Sutskever, Chen, Corrado and Dean 2013 (arXiv 1310.4546); the continuous bag of words is that of Mikolov,
Chen, Corrado and Dean 2013 (arXiv 1301.3781). Where the equations are:

    1/T sum_t sum_{0 < |j| <= c} log p(w_{t+j} | w_t)              Equation 1     Word2VecForPreTraining.forward
    p(w | h) = prod_j sigmoid(+-u_j . h)                           Equation 3     HierarchicalSoftmax
    log sigmoid(u_o . h) + sum_k E[log sigmoid(-u_n . h)]          Equation 4     NegativeSampling
    h = v_{w_t}, or the mean of v of the words around              1301.3781, 3   Word2VecForPreTraining.hidden
    effective window, subsampling (Equation 5)                     2.3            tasks/running_text/word_windows.py

In the skip-gram model a word is read and each word around it is predicted, as the paper has it. The authors' code
reads the word beside and predicts the one in the middle; over a text both go through the same pairs.

Shapes: B texts, T words, D size of a vector, V vocabulary, N predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutput
from transformers.utils import ModelOutput, can_return_tuple

from hf_attention_zoo.losses.token_loss import IGNORED, labels_outside
from hf_attention_zoo.models.word2vec.configuration_word2vec import Word2VecConfig
from hf_attention_zoo.parts.huffman_tree import HierarchicalSoftmax
from hf_attention_zoo.parts.negative_sampling import NegativeSampling
from hf_attention_zoo.parts.text_inputs import check_same_shape, real_tokens, text_shape, wanted_outputs
from hf_attention_zoo.parts.token_table import token_table


@dataclass
class Word2VecForPreTrainingOutput(ModelOutput):
    """What the pre-training head gives.

    Attributes:
        loss: mean over the words of a text of the sum over their predictions, with labels.
        logits: (B, T, V), scores whose softmax is p(w | h_t); not made in training.
        hidden_states: the vectors of the words, where they are wanted.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None


class Word2VecPreTrainedModel(PreTrainedModel):
    """Initialisation as in the authors' code, and what transformers needs to know."""

    config: Word2VecConfig
    config_class = Word2VecConfig
    base_model_prefix = "model"
    _no_split_modules: list[str] = []

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """v: uniform within 1 / 2D; u: 0, so that each decision begins as likely as its opposite."""
        if isinstance(module, NegativeSampling):
            init.zeros_(module.table.weight)
            module.place_noise()
        elif isinstance(module, HierarchicalSoftmax):
            init.zeros_(module.nodes.weight)
            module.place_paths()
        elif isinstance(module, nn.Embedding) and module is self._vectors():
            init.uniform_(module.weight, -0.5 / self.config.embedding_size, 0.5 / self.config.embedding_size)

    def _vectors(self) -> nn.Embedding:
        body: Any = self.base_model
        return body.embed_tokens


class Word2VecModel(Word2VecPreTrainedModel):
    """Words as vectors, v."""

    # of a checkpoint with the pre-training head
    _keys_to_ignore_on_load_unexpected = [r"^output\."]

    def __init__(self, config: Word2VecConfig) -> None:
        super().__init__(config)
        self.embed_tokens = token_table(config.vocab_size, config.embedding_size)  # v
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
    ) -> BaseModelOutput:
        """The vectors of the words of texts.

        Args:
            input_ids: (B, T).
            attention_mask: (B, T), non-zero at words, wherever pads stand; by default all ids but `pad_token_id`.
            inputs_embeds: (B, T, D) in place of ids.
            output_attentions: changes nothing; no word looks at another.

        Returns:
            `last_hidden_state` (B, T, D), 0 at pads.

        Raises:
            ValueError: ids or mask of another shape.
        """
        _, states = wanted_outputs(self.config, output_attentions, output_hidden_states)
        real = self.real_words(input_ids, attention_mask, inputs_embeds)
        embedded = self.embed_tokens(input_ids) if inputs_embeds is None else inputs_embeds  # (B, T, D)
        vectors = embedded * real[..., None].to(embedded.dtype)
        return BaseModelOutput(last_hidden_state=vectors, hidden_states=(vectors,) if states else None)

    def real_words(
        self, input_ids: Tensor | None, attention_mask: Tensor | None, inputs_embeds: Tensor | None = None
    ) -> Tensor:
        """Which places hold words and not pads, (B, T).

        Raises:
            ValueError: ids or mask of another shape.
        """
        check_same_shape(text_shape(input_ids, inputs_embeds), attention_mask=attention_mask)
        return real_tokens(input_ids, attention_mask, inputs_embeds, self.config.pad_token_id)


class Word2VecForPreTraining(Word2VecPreTrainedModel):
    """Words from the words around them.

    ```python
    made = model(**tokenizer("a text", return_tensors="pt"))
    made.logits[0, 0].softmax(-1)   # skip-gram: which words stand around the first
    ```
    """

    def __init__(self, config: Word2VecConfig) -> None:
        super().__init__(config)
        self.model = Word2VecModel(config)
        counts = config.word_counts
        self.output: HierarchicalSoftmax | NegativeSampling
        if config.output == "hierarchical_softmax":
            self.output = HierarchicalSoftmax(config.embedding_size, counts or [1] * config.vocab_size)
            self.output.nodes.sparse = config.sparse_gradients
        else:
            self.output = NegativeSampling(
                config.embedding_size, config.vocab_size, counts, config.noise_power, config.num_negative_samples
            )
            self.output.table.sparse = config.sparse_gradients
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        reach: Tensor | None = None,
        noise_ids: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> Word2VecForPreTrainingOutput:
        """Predict; the first three arguments are as in `Word2VecModel.forward`.

        Args:
            labels: (B, T), the ids of the texts, -100 for words that are not predicted.
            reach: (B, T, 2), how many words to the left and to the right of each place are its context, which
                training draws (the effective window) and ends where a document ends; by default `config.window`.
            noise_ids: (B, K), words drawn from the noise, shared by the places of a row; without them the
                expectation of Equation 4 is computed over all words. Nothing for the hierarchical softmax.
            num_items_in_batch: words of the whole batch that the loss is divided by, as Trainer counts them.

        Raises:
            ValueError: tensors of another shape, or labels that are no word.
        """
        _, states = wanted_outputs(self.config, output_attentions, output_hidden_states)
        real = self.model.real_words(input_ids, attention_mask, inputs_embeds)
        read = self.model(input_ids, real, inputs_embeds, output_hidden_states=states, return_dict=True)
        vectors = read.last_hidden_state
        around = self.around(real, reach)  # (B, T, T)
        hidden = self.hidden(vectors, around)  # (B, T, D)
        loss = None
        if labels is not None:
            summed = self._summed_loss(hidden, around, labels, noise_ids)
            words = (labels != IGNORED).sum() if num_items_in_batch is None else num_items_in_batch
            loss = summed / torch.as_tensor(words, device=summed.device).clamp(min=1)
        made = self.output(hidden) if labels is None or not self.training else None
        return Word2VecForPreTrainingOutput(loss=loss, logits=made, hidden_states=read.hidden_states)

    def around(self, real: Tensor, reach: Tensor | None = None) -> Tensor:
        """Whether place i is in the context of place t: (B, T) -> (B, T, T), t before i."""
        places = torch.arange(real.shape[1], device=real.device)
        ahead = places - places[:, None]  # (T, T), i - t
        if reach is None:
            near = (ahead.abs() <= self.config.window)[None]
        else:
            check_same_shape((*real.shape, 2), reach=reach)
            near = (ahead >= -reach[..., :1]) & (ahead <= reach[..., 1:])
        return near & (ahead != 0) & real[:, :, None] & real[:, None]

    def hidden(self, vectors: Tensor, around: Tensor) -> Tensor:
        """What predicts at each place: the word's own vector, or the mean of those around it, (B, T, D)."""
        if self.config.form == "skip_gram":
            return vectors
        sums = around.to(vectors.dtype) @ vectors
        count = around.sum(-1, keepdim=True).clamp(min=1)
        mean = sums / count
        if self.config.context_gradient == "sum":
            return sums - (sums - mean).detach()  # the value of the mean, the gradient of the sum
        return mean

    def _summed_loss(self, hidden: Tensor, around: Tensor, labels: Tensor, noise_ids: Tensor | None) -> Tensor:
        """The negative of the sum of Equation 1."""
        check_same_shape(tuple(around.shape[:2]), labels=labels)
        outside = labels_outside(labels, self.config.vocab_size)
        if len(outside):
            raise ValueError(f"label {int(outside[0])} is outside 0 to {self.config.vocab_size - 1}, the words")
        wanted, known = labels.clamp(min=0), labels != IGNORED
        if self.config.form == "skip_gram":
            pairs = around & known[:, None]  # place t predicts the word at i
        else:
            pairs = torch.diag_embed(around.any(-1) & known)  # what is around place t predicts the word at t
        if isinstance(self.output, HierarchicalSoftmax):
            rows, reading, predicted = pairs.nonzero(as_tuple=True)
            return -self.output.of_classes(hidden[rows, reading], wanted[rows, predicted]).sum()
        scores = hidden @ self.output.table(wanted).transpose(1, 2)  # (B, T, T)
        return self.output.summed_loss(scores[pairs], hidden, pairs.sum(-1), noise_ids)
