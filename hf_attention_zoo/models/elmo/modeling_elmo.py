"""ELMo: a bidirectional language model over characters whose layers are mixed into contextual word vectors.

Peters, Neumann, Iyyer, Gardner, Clark, Lee and Zettlemoyer, NAACL 2018 (arXiv 1802.05365). Where the equations are:

    x_k from characters                          Section 3.4   CharacterEncoder
    forward and backward states h_{k,j}          Section 3.1   ProjectedLSTMPair, residual from the second layer on
    sum_k log p(t_k | t_1..t_{k-1})
      + log p(t_k | t_{k+1}..t_N)                Section 3.1   ELMoForPreTraining
    ELMo_k = gamma sum_j s_j h_{k,j}             Eq. 1         ScalarMix
    lambda |w|^2                                 Section 3.3   ELMoTaskHead.penalty

The boundaries `<S>` and `</S>` are put around each text by the model and taken off again: n words in, n vectors out.
Every different word of a batch is convolved once; no step is computed for a pad. A text without a word gives zeros.
By default each text begins from zero, whatever came before or stands beside it.

Shapes: B texts, T words, L character ids of a word, N tokens of all texts with their boundaries, P projection size,
H = 2P, V words of the softmax.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import ModelOutput, SequenceClassifierOutput, TokenClassifierOutput
from transformers.utils import can_return_tuple

from hf_attention_zoo.losses.classification_loss import classification_loss, label_share
from hf_attention_zoo.losses.sampled_softmax import sampled_cross_entropy
from hf_attention_zoo.losses.token_loss import IGNORED, labels_outside, summed_cross_entropy
from hf_attention_zoo.models.elmo.configuration_elmo import ELMoConfig
from hf_attention_zoo.models.elmo.layers_bilm import BidirectionalLM, Reading
from hf_attention_zoo.models.elmo.layers_elmo import (
    CarryGate,
    ScalarMix,
    normalised,
    pooled,
    scattered,
    with_end,
)
from hf_attention_zoo.parts.config_checks import number_of_labels
from hf_attention_zoo.parts.model_inputs import label_loss
from hf_attention_zoo.parts.needed import needed
from hf_attention_zoo.recurrent.bidirectional_lstm import BidirectionalLSTM
from hf_attention_zoo.recurrent.projected_lstm import ProjectedLSTM

EPSILONS = {"bilm": 1e-12, "allennlp": 1e-13}


@dataclass
class ELMoModelOutput(ModelOutput):
    """Contextual vectors, 0 at pads.

    Attributes:
        last_hidden_state: the (first) mix of the layers (B, T, H); with `output_boundaries` (B, T + 2, H), each text
            from `<S>` to `</S>` at the beginning of its row.
        mixed_states: all mixes, if there are several.
        hidden_states: the layers that are mixed, x_k twice and then the LSTMs' from below; a tuple of tensors of that
            shape.
    """

    last_hidden_state: Tensor | None = None
    mixed_states: tuple[Tensor, ...] | None = None
    hidden_states: tuple[Tensor, ...] | None = None


@dataclass
class ELMoForPreTrainingOutput(ModelOutput):
    """Losses and scores of both language models.

    Attributes:
        loss: half of the sum of both, per target, or of the share that `num_items_in_batch` says.
        forward_loss, backward_loss: the mean of -log p over the targets of each direction.
        forward_logits, backward_logits: (B, T + 1, V), 0 at pads: what stands behind `<S>`, t_1, ..., t_n, and what
            stands before t_1, ..., t_n, `</S>`. Only without labels, or if asked for.
        hidden_states: as in `ELMoModelOutput`.
    """

    loss: Tensor | None = None
    forward_loss: Tensor | None = None
    backward_loss: Tensor | None = None
    forward_logits: Tensor | None = None
    backward_logits: Tensor | None = None
    hidden_states: tuple[Tensor, ...] | None = None


class ELMoPreTrainedModel(PreTrainedModel):
    """Initialisation as in the authors' code, and what transformers needs to know."""

    config: ELMoConfig
    config_class = ELMoConfig
    base_model_prefix = "model"
    main_input_name = "character_ids"
    _no_split_modules = ["CharacterEncoder", "ProjectedLSTMPair"]

    def reset_state(self) -> None:
        """Begin the next call from zero; for `stateful` models and for streams in training, others always do."""
        body: Any = self.base_model
        body.bilm.carried = None

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Characters U(-1, 1); filters U(-.05, .05) for relu; highways, projection, softmax N(0, 1/inputs); b_c -2."""
        spread = self.config.initializer_range
        if isinstance(module, ScalarMix):
            init.zeros_(module.scalars)
            init.ones_(module.gamma)
            return
        for name, parameter in module.named_parameters(recurse=False):
            if "bias" in name:
                init.constant_(parameter, -2.0 if isinstance(module, CarryGate) else 0.0)
            elif spread is not None:
                init.normal_(parameter, std=spread)
            elif isinstance(module, nn.Embedding):
                init.uniform_(parameter, -1.0, 1.0)
            elif isinstance(module, nn.Conv1d) and self.config.activation == "relu":
                init.uniform_(parameter, -0.05, 0.05)
            elif isinstance(module, nn.Conv1d | nn.Linear):
                init.normal_(parameter, std=parameter[0].numel() ** -0.5)
            else:
                inputs = parameter[0].numel()
                if isinstance(module, ProjectedLSTM) and name != "projection_weight":  # W and U are one matrix
                    inputs = module.input_weight.shape[1] + module.recurrent_weight.shape[1]
                reach = (6 / (inputs + len(parameter))) ** 0.5
                init.uniform_(parameter, -reach, reach)


class ELMoModel(ELMoPreTrainedModel):
    """The biLM and the mixes of its layers (Eq. 1).

    Args:
        num_mixes: as in the config; a model that mixes nothing itself has none.
    """

    _keys_to_ignore_on_load_unexpected = [r"^(lm_head|task_lstm|classifier)\."]
    _keys_to_ignore_on_load_missing = [r"(^|\.)mixes\."]  # of a language model: mixes begin as the mean

    def __init__(self, config: ELMoConfig, num_mixes: int | None = None) -> None:
        super().__init__(config)
        self.bilm = BidirectionalLM(config)
        mixes = config.num_mixes if num_mixes is None else num_mixes
        self.mixes = nn.ModuleList(ScalarMix(config.num_layers + 1) for _ in range(mixes))
        self.post_init()

    def get_input_embeddings(self) -> nn.Embedding:
        """The table of characters."""
        return self.bilm.characters.embedding

    def set_input_embeddings(self, value: Any) -> None:
        """Replace the table of characters."""
        self.bilm.characters.embedding = value

    @can_return_tuple
    def forward(
        self,
        character_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        input_ids: Tensor | None = None,
        boundaries: bool = True,
        output_boundaries: bool = False,
        output_hidden_states: bool | None = None,
        frozen: bool = False,
        **kwargs: Any,
    ) -> ELMoModelOutput:
        """Contextual vectors of words.

        Args:
            character_ids: (B, T, L) as the tokenizer gives them: 0 in all places of a pad, never at a word.
            attention_mask: (B, T), non-zero at words, wherever pads stand; by default all that have characters.
            input_ids: (B, T), the tokenizer's numbers of whole words. Not read: any word is known by its characters.
            boundaries: put `<S>` and `</S>` around each text. False for texts that have them, or for streams.
            output_boundaries: give their vectors, too.
            frozen: no gradient and no dropout in the biLM; only the mixes are trained.

        Raises:
            ValueError: ids or mask of another shape, or character ids that the table does not have.
        """
        wanted = self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        with torch.set_grad_enabled(torch.is_grad_enabled() and not frozen):
            reading = self.bilm(character_ids, attention_mask, boundaries, dropout=self.training and not frozen)
        layers, places = self.normalise(reading), reading.real
        if output_boundaries and boundaries:
            steps = torch.arange(places.shape[1] + 2, device=places.device)
            places = steps < reading.lengths[:, None]  # (B, T + 2)
        else:
            layers = [layer[reading.words] for layer in layers]
        if wanted:  # a part of the computation, so that gradients reach them
            layers = [scattered(layer, places) for layer in layers]
        mixed = [mix(layers) for mix in self.mixes] or [torch.stack(layers).mean(0)]
        mixed = mixed if wanted else [scattered(vectors, places) for vectors in mixed]
        return ELMoModelOutput(
            last_hidden_state=mixed[0],
            mixed_states=tuple(mixed) if len(mixed) > 1 else None,
            hidden_states=tuple(layers) if wanted else None,
        )

    def normalise(self, reading: Reading) -> list[Tensor]:
        """The layers as they are mixed: as they are, or normalised as the config says."""
        form = self.config.layer_normalization
        if form == "off":
            return reading.layers
        if form == "allennlp":
            return [normalised(layer, EPSILONS[form]) for layer in reading.layers]
        return [
            torch.zeros_like(layer).index_put((reading.words,), normalised(layer[reading.words], EPSILONS[form]))
            for layer in reading.layers
        ]


class ELMoForPreTraining(ELMoPreTrainedModel):
    """The biLM with the softmax that both directions share (Section 3.1)."""

    def __init__(self, config: ELMoConfig) -> None:
        super().__init__(config)
        self.model = ELMoModel(config, num_mixes=0)
        self.lm_head = nn.Linear(config.projection_size, config.vocab_size)  # Theta_s
        self.post_init()

    def get_output_embeddings(self) -> nn.Linear:
        """The softmax."""
        return self.lm_head

    def set_output_embeddings(self, value: nn.Linear) -> None:
        """Replace the softmax."""
        self.lm_head = value

    @can_return_tuple
    def forward(
        self,
        character_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        input_ids: Tensor | None = None,
        labels: Tensor | None = None,
        backward_character_ids: Tensor | None = None,
        backward_targets: Tensor | None = None,
        output_logits: bool | None = None,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> ELMoForPreTrainingOutput:
        """Losses of both directions, or their scores.

        Args:
            character_ids, attention_mask, input_ids: as in `ELMoModel.forward`.
            labels: (B, T + 1), what the forward model is to predict at `<S>`, t_1, ..., t_n: numbers in the softmax of
                the words and, behind the last one, of `</S>`; -100 at pads. The backward model's targets follow.
            backward_character_ids, backward_targets: streams. The rows are then stretches of running text with their
                own boundaries, (B, T, L) and labels (B, T) each; the backward model reads its own from right to
                left. In training each row goes on where it ended in the last call. Trainer takes every name with
                "label" in it for one that must be there, and evaluates no loss without; hence `backward_targets`.
            output_logits: by default where there are no labels.
            num_items_in_batch: labels of the whole batch that this one is a part of; the loss becomes its share.

        Raises:
            ValueError: labels of another shape, or of words that the softmax does not have.
        """
        streams = backward_character_ids is not None
        shapes = [None if ids is None else tuple(ids.shape) for ids in (character_ids, backward_character_ids)]
        if streams and shapes[0] != shapes[1]:
            raise ValueError(
                f"the streams have shapes {shapes[0]} and {shapes[1]}; both directions read stretches of one size"
            )
        reading = self.model.bilm(
            character_ids,
            attention_mask,
            boundaries=not streams,
            dropout=self.training,
            backward_character_ids=backward_character_ids,
        )
        sides = reading.top
        if not streams:  # <S> to t_n predict t_1 to </S>, and </S> to t_1 predict t_n to <S>
            sides = (sides[0][~reading.lasts], sides[1][~reading.firsts])
        places = reading.real if streams else with_end(reading.real)
        losses: tuple[Tensor, ...] | None = None
        loss = None
        if labels is not None:
            targets = self._targets(labels, backward_targets, places, reading, streams)
            sums = [self._summed_loss(side, target) for side, target in zip(sides, targets, strict=True)]
            counts = [(target != IGNORED).sum().clamp(min=1) for target in targets]
            losses = tuple((total / count).detach() for total, count in zip(sums, counts, strict=True))
            whole = counts if num_items_in_batch is None else [torch.as_tensor(num_items_in_batch).clamp(min=1)] * 2
            forwards, backwards = (total / count.to(total.device) for total, count in zip(sums, whole, strict=True))
            loss = (forwards + backwards) / 2
        if output_logits is None:
            output_logits = labels is None
        logits = [scattered(self.lm_head(side), places) for side in sides] if output_logits else [None, None]
        states = None
        if self.config.output_hidden_states if output_hidden_states is None else output_hidden_states:
            states = tuple(scattered(layer[reading.words], reading.real) for layer in reading.layers)
        return ELMoForPreTrainingOutput(
            loss=loss,
            forward_loss=losses[0] if losses else None,
            backward_loss=losses[1] if losses else None,
            forward_logits=logits[0],
            backward_logits=logits[1],
            hidden_states=states,
        )

    def _targets(
        self, labels: Tensor, backward_targets: Tensor | None, places: Tensor, reading: Reading, streams: bool
    ) -> tuple[Tensor, Tensor]:
        """What each direction predicts, text after text, (N) each."""
        given = {"labels": labels} | ({"backward_targets": backward_targets} if streams else {})
        for name, tensor in given.items():
            if tensor is None or tensor.shape != places.shape:
                raise ValueError(
                    f"{name} have shape {None if tensor is None else tuple(tensor.shape)}, wanted "
                    f"{tuple(places.shape)}: "
                    + ("one for each word" if streams else "one for each word and one for the end of the text")
                )
            outside = labels_outside(tensor, self.config.vocab_size)
            if len(outside):
                raise ValueError(f"label {int(outside[0])} is outside 0 to {self.config.vocab_size - 1}, the softmax")
        forwards = labels[places]
        if backward_targets is not None and streams:
            return forwards, backward_targets[places]
        every = labels.new_empty(len(reading.words))
        every[~reading.firsts] = forwards
        ends = every[reading.lasts]
        begin = needed(
            self.config.bos_token_id, "bos_token_id", "set it in the config: the backward model predicts it"
        )
        every[reading.firsts] = torch.where(ends == IGNORED, IGNORED, begin)
        return forwards, every[~reading.lasts]

    def _summed_loss(self, side: Tensor, targets: Tensor) -> Tensor:
        count = self.config.num_negative_samples
        if self.training and count:
            return sampled_cross_entropy(side, self.lm_head, targets, count)
        real = targets != IGNORED
        return summed_cross_entropy(self.lm_head(side[real]), targets[real])


class ELMoTaskHead(ELMoPreTrainedModel):
    """What the heads share: mixed vectors, with dropout, through a BiLSTM of the task if it has one (Section 3.3)."""

    def __init__(self, config: ELMoConfig) -> None:
        super().__init__(config)
        self.num_labels = config.num_labels
        self.model = ELMoModel(config, num_mixes=max(1, config.num_mixes))
        size = config.task_lstm_cells
        self.task_lstm = BidirectionalLSTM(config.hidden_size, size) if size else None
        self.dropout = nn.Dropout(config.mix_dropout)
        self.task_size = 2 * size if size else config.hidden_size
        self.model.bilm.requires_grad_(not config.freeze_bilm)

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Self:
        """As ever; loading makes every parameter trainable, so a frozen biLM is frozen again."""
        loaded = super().from_pretrained(*args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        model.model.bilm.requires_grad_(not model.config.freeze_bilm)
        return loaded

    def read(
        self, character_ids: Tensor | None, attention_mask: Tensor | None, output_hidden_states: bool | None
    ) -> tuple[Tensor, Tensor, ELMoModelOutput]:
        """Vectors of the task (B, T, D), where words are (B, T), and what ELMo gave."""
        bilm = self.model.bilm.parameters()
        made = self.model(
            character_ids,
            attention_mask,
            output_hidden_states=output_hidden_states,
            frozen=self.config.freeze_bilm and not any(weight.requires_grad for weight in bilm),  # adapters learn
            return_dict=True,
        )
        real = self.model.bilm.real_words(character_ids, attention_mask)
        vectors = self.dropout(made.last_hidden_state)
        if self.task_lstm is not None:
            empty = vectors.new_zeros(*real.shape, self.task_size)
            vectors = self.dropout(self.task_lstm(vectors, real[None])) if real.shape[1] else empty
        return vectors, real, made

    def penalty(self, labels: Tensor, num_items_in_batch: Tensor | int | None) -> Tensor:
        """lambda |w|^2, or the share of it that the labels are of the whole batch's."""
        penalty = self.config.mix_l2 * sum(mix(None) for mix in self.model.mixes)
        return penalty * label_share(labels, num_items_in_batch)


class ELMoForSequenceClassification(ELMoTaskHead):
    """Labels of texts, from the mean and the maximum of their words' vectors."""

    def __init__(self, config: ELMoConfig) -> None:
        super().__init__(config)
        self.classifier = nn.Linear(2 * self.task_size, number_of_labels(config))
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        character_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        input_ids: Tensor | None = None,
        labels: Tensor | None = None,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """Logits (B, num_labels) and, with labels, the loss with its penalty; the rest as in `ELMoModel.forward`.

        Args:
            labels: (B) integers, or floats (B) or (B, num_labels) for the other values of `config.problem_type`.
        """
        vectors, real, made = self.read(character_ids, attention_mask, output_hidden_states)
        logits = self.classifier(self.dropout(pooled(vectors, real)))
        loss = None
        if labels is not None:
            loss = classification_loss(self, logits, labels, num_items_in_batch=num_items_in_batch, **kwargs)
            loss = loss + self.penalty(labels, num_items_in_batch)
        return SequenceClassifierOutput(loss=loss, logits=logits, hidden_states=made.hidden_states)


class ELMoForTokenClassification(ELMoTaskHead):
    """A label for each word."""

    def __init__(self, config: ELMoConfig) -> None:
        super().__init__(config)
        self.classifier = nn.Linear(self.task_size, number_of_labels(config))
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        character_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        input_ids: Tensor | None = None,
        labels: Tensor | None = None,
        output_hidden_states: bool | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> TokenClassifierOutput:
        """Logits (B, T, num_labels) and, with labels, the loss with its penalty; the rest as in `ELMoModel.forward`.

        Args:
            labels: (B, T), -100 where there is none.
        """
        vectors, real, made = self.read(character_ids, attention_mask, output_hidden_states)
        logits = self.classifier(vectors)
        loss = None
        if labels is not None:
            if labels.shape != real.shape:
                raise ValueError(f"labels have shape {tuple(labels.shape)}, the words {tuple(real.shape)}; one a word")
            loss = label_loss(self, logits, labels, num_items_in_batch, **kwargs)
            loss = loss + self.penalty(labels, num_items_in_batch)
        return TokenClassifierOutput(loss=loss, logits=logits, hidden_states=made.hidden_states)
