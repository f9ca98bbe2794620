"""Show, Attend and Tell: captions of pictures, a glance at their regions before every word.

Xu, Ba, Kiros, Cho, Courville, Salakhutdinov, Zemel and Bengio, ICML 2015 (arXiv 1502.03044). Where the equations are:

    a_1 .. a_L, regions of the picture             Section 3.1.1    ShowAttendTellEncoder, images/
    i, f, o, g, c_t, h_t                           Eq. 1-3          recurrent/context_lstm.py
    e_ti = f_att(a_i, h_{t-1}), alpha_t            Eq. 4-5          attention/region_attention.py
    z_t = phi({a_i}, {alpha_i})                    Eq. 6            Attention.forward, ShowAttendTellDecoder.look
    h_0, c_0 from the mean of the regions          Section 3.1.2    recurrent/mean_initial_state.py
    p(y_t) = softmax(L_o(E y + L_h h + L_z z))     Eq. 7            recurrent/deep_output.py, lm_head
    s_t, sum_i s_ti a_i                            Eq. 8-9          attention/hard_attention.py
    score function, baseline, entropy              Eq. 10-12        layers_show_attend_tell.penalties
    sum_i alpha_i a_i                              Eq. 13           Attention.forward
    beta_t, sum_i (1 - sum_t alpha_ti)^2           Eq. 14, 4.2.1    ShowAttendTellDecoder, hard_attention.py

Shapes: B pictures, K hypotheses per picture (1 except in generation), N = B K rows, L regions and T words,
m embedding, n cells, D annotation size, V vocabulary.
"""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.utils import can_return_tuple

from hf_attention_zoo.attention.attention_base import AttendedSource
from hf_attention_zoo.attention.hard_attention import best_locations, draw_locations
from hf_attention_zoo.loops.decoder_loop import State, unroll
from hf_attention_zoo.loops.lstm_backward import project_inputs
from hf_attention_zoo.loops.weight_tape import WeightTape, in_loop
from hf_attention_zoo.losses.token_loss import log_likelihood
from hf_attention_zoo.models.show_attend_tell.configuration_show_attend_tell import ShowAttendTellConfig
from hf_attention_zoo.models.show_attend_tell.layers_show_attend_tell import (
    CaptionOutput,
    CaptionStates,
    Regions,
    build_attention,
    build_image_encoder,
    choose_expected,
    initialise_captioner_,
    next_baseline,
    penalties,
    pretrained_encoder,
    real_regions,
    words_after_start,
)
from hf_attention_zoo.parts.model_inputs import (
    check_target_mask,
    check_vectors,
    computing_device,
    encoder_mask,
    label_loss,
    one_of,
    shift_right,
)
from hf_attention_zoo.parts.text_inputs import wanted_outputs
from hf_attention_zoo.parts.token_table import token_table
from hf_attention_zoo.parts.without_weights import MayHaveNoWeights
from hf_attention_zoo.recurrent.context_lstm import ContextLSTM
from hf_attention_zoo.recurrent.deep_output import DeepOutput
from hf_attention_zoo.recurrent.mean_initial_state import MeanInitialState
from hf_attention_zoo.seq2seq.decoding_state import DecodingState, for_outputs
from hf_attention_zoo.seq2seq.encoder_decoder import check_rows
from hf_attention_zoo.seq2seq.zoo_generation import ZooGenerationMixin


class ShowAttendTellPreTrainedModel(PreTrainedModel):
    """Initialisation (that of the released code) and what transformers needs to know."""

    config: ShowAttendTellConfig
    config_class = ShowAttendTellConfig
    base_model_prefix = "model"
    main_input_name = "pixel_values"
    input_modalities = ["image", "text"]
    _is_stateful = True
    _no_split_modules = ["ShowAttendTellDecoder"]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Square matrices but W_c of attention: random orthogonal; the rest N(0, 0.01^2); biases 0."""
        if isinstance(module, ShowAttendTellForConditionalGeneration):
            init.zeros_(module.reward_baseline)
        elif isinstance(module, (nn.GroupNorm, nn.BatchNorm2d)):
            super()._init_weights(module)
        else:
            initialise_captioner_(module, self.config.initializer_range)

    def load_pretrained_encoder(self) -> None:
        """Give the encoder its published weights, in place; see `image_encoder` of the config.

        Raises:
            ValueError: it has none, or the package that carries them is not installed.
        """
        self.get_encoder().image_encoder.load_state_dict(pretrained_encoder(self.config))

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Self:
        """As in transformers; an encoder that the checkpoint only refers to is fetched from where it came from."""
        loaded = super().from_pretrained(*args, **kwargs)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        if model.config.encoder_weights == "referenced":
            model.load_pretrained_encoder()
        return loaded

    def save_pretrained(self, save_directory: Any, *args: Any, **kwargs: Any) -> Any:
        """As in transformers; weights of an encoder that is referred to are left out."""
        if self.config.encoder_weights == "referenced":
            state = kwargs.pop("state_dict", None) or self.state_dict()
            kwargs["state_dict"] = {k: tensor for k, tensor in state.items() if "image_encoder." not in k}
        return super().save_pretrained(save_directory, *args, **kwargs)


class ShowAttendTellEncoder(MayHaveNoWeights, ShowAttendTellPreTrainedModel):
    """Annotation vectors of pictures; without an encoder of pictures they are given and pass through."""

    def __init__(self, config: ShowAttendTellConfig) -> None:
        super().__init__(config)
        self.image_encoder = build_image_encoder(config)
        if self.image_encoder is not None and config.freeze_encoder:
            self.image_encoder.requires_grad_(False)
        self.post_init()

    def train(self, mode: bool = True) -> ShowAttendTellEncoder:
        """A frozen encoder stays in evaluation mode: its statistics are not moved."""
        super().train(mode)
        if self.image_encoder is not None and self.config.freeze_encoder:
            self.image_encoder.eval()
        return self

    @can_return_tuple
    def forward(
        self,
        pixel_values: Tensor | None = None,
        attention_mask: Tensor | None = None,
        annotations: Tensor | None = None,
        output_hidden_states: bool | None = None,
        **kwargs: Any,
    ) -> Regions:
        """Pictures (B, 3, H, W), or regions (B, L, D) with a mask (B, L) -> regions, row by row over the grid.

        Raises:
            ValueError: neither or both are given, pictures where the config has no encoder, or regions of another
                size than the config's.
        """
        given = one_of(pixel_values=pixel_values, annotations=annotations)
        if annotations is None:
            annotations = self.maps(given).flatten(2).transpose(1, 2)  # (B, D, h, w) -> (B, L, D)
        mask = encoder_mask(attention_mask, annotations)
        if annotations.shape[-1] != self.config.annotation_size:
            raise ValueError(
                f"regions have {annotations.shape[-1]} numbers, the config says annotation_size="
                f"{self.config.annotation_size}; set it to what the encoder makes"
            )
        return Regions(annotations, hidden_states=(annotations,) if output_hidden_states else None, region_mask=mask)

    def maps(self, pixel_values: Tensor) -> Tensor:
        """(B, 3, H, W) -> (B, D, h, w).

        Raises:
            ValueError: there is no encoder of pictures, or what came are no pictures.
        """
        if self.image_encoder is None:
            raise ValueError(
                "pixel_values were given, but image_encoder='regions' has nothing that reads pictures; give "
                "annotations (B, L, D), or choose another image_encoder"
            )
        if pixel_values.ndim != 4 or pixel_values.shape[1] != 3 or 0 in pixel_values.shape:
            raise ValueError(f"pixel_values have shape {tuple(pixel_values.shape)}; give (pictures, 3, height, width)")
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.config.freeze_encoder):
            return self.image_encoder(pixel_values.to(self.dtype))


class ShowAttendTellDecoder(ShowAttendTellPreTrainedModel):
    """Looks at the regions, reads the last word, says the next."""

    def __init__(self, config: ShowAttendTellConfig) -> None:
        super().__init__(config)
        size, values = config.hidden_size, config.annotation_size
        self.embed_tokens = token_table(config.vocab_size, config.embedding_size)  # E
        self.initial_state = MeanInitialState(values, size, config.num_initial_layers, config.dropout)
        self.attention = build_attention(config)
        self.context_gate = nn.Linear(size, 1) if config.context_gate else None  # beta
        self.unit = ContextLSTM(config.embedding_size, size, values)
        self.deep_output = DeepOutput(
            size,
            values,
            config.embedding_size,
            reads_word=config.word_to_output,
            reads_context=config.context_to_output,
            squashed=config.readout == "tanh",
            num_layers=config.num_output_layers,
            dropout=config.dropout,
        )
        self.post_init()

    def begin(self, source: AttendedSource, copies: int) -> State:
        """h_0 and c_0 (N, n)."""
        state = dict(zip(("hidden", "cell"), self.initial_state(source.values, source.mask), strict=True))
        return {name: tensor.repeat_interleave(copies, 0) if copies > 1 else tensor for name, tensor in state.items()}

    def previous_words(self, input_ids: Tensor) -> Tensor:
        """E y_{t-1} (N, T, m)."""
        return words_after_start(self.embed_tokens(input_ids), input_ids, self.config.decoder_start_token_id)

    def look(self, alignment: Tensor, expected: Tensor) -> Tensor:
        """The weights of the regions in z_t: alpha itself, or where it is not `expected` a single location (Eq. 8)."""
        best = not self.training and self.config.hard_evaluation == "argmax"
        chosen = best_locations(alignment) if best else draw_locations(alignment)
        return torch.where(expected.view(*alignment.shape[:2], 1), alignment, chosen)

    @can_return_tuple
    def forward(
        self,
        input_ids: Tensor | None = None,
        regions: Regions | None = None,
        inputs_embeds: Tensor | None = None,
        cache: DecodingState | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        hypotheses_per_source: int = 1,
        **kwargs: Any,
    ) -> CaptionStates:
        """Previous words (N, T) and the regions of B pictures -> deep outputs (N, T, m)."""
        given = one_of(decoder_input_ids=input_ids, decoder_inputs_embeds=inputs_embeds)
        words = self.previous_words(given) if inputs_embeds is None else given  # E y_{t-1}, (N, T, m)
        check_vectors("caption", words)
        cache = DecodingState() if use_cache and cache is None else cache

        if cache is not None and cache.source:
            source, state = AttendedSource(**cache.source), cache.hypothesis
        else:
            source = self.attention.prepare(*Regions.parts(regions))  # P, once per picture
            state = self.begin(source, hypotheses_per_source)
        sources = source.values.shape[0]
        check_rows(words.shape[0], sources, state["hidden"].shape[0])
        expected = choose_expected(self.config, self.training, words.shape[0], words.device)
        tape = WeightTape.start()
        unit, attend = in_loop(self.unit, tape), self.attention.in_loop(source, tape)  # themselves, or their twins
        inputs = words if unit is self.unit else project_inputs(self.unit, words)  # of the twin: W x + b, all at once

        def step(inputs: tuple[Tensor, ...], state: State) -> tuple[dict[str, Tensor], State]:
            previous = state["hidden"]
            context, alignment = attend(previous.view(sources, -1, previous.shape[-1]), source)  # Eq. 13, 5, (B, K, .)
            made = {"alignment": alignment.flatten(0, 1)}
            if expected is not None:
                where = self.look(alignment, expected.view(sources, -1))
                context, made["location"] = torch.bmm(where, source.values), where.flatten(0, 1)  # Eq. 9
            context = context.flatten(0, 1)  # (N, D)
            if self.context_gate is not None:
                beta = torch.sigmoid(self.context_gate(previous))  # (N, 1)
                context, made["gate"] = beta.to(context.dtype) * context, beta
            hidden, cell = unit(inputs[0], context, previous, state["cell"])  # Eq. 1-3
            return made | {"hidden": hidden, "context": context}, {"hidden": hidden, "cell": cell}

        made, state = unroll(step, (inputs,), state)
        outputs = self.deep_output(made["hidden"], made["context"], words)  # Eq. 7, (N, T, m)

        if cache is not None:
            cache.source = {"values": source.values, "keys": source.keys, "mask": source.mask}
            cache.hypothesis, cache.seen_tokens = state, cache.seen_tokens + words.shape[1]
        return CaptionStates(
            last_hidden_state=outputs,
            cache=for_outputs(cache if use_cache else None),
            decoder_hidden_states=(words, made["hidden"]) if output_hidden_states else None,
            cross_attentions=(made["alignment"][:, None],) if output_attentions else None,  # (N, 1, T, L)
            context_gates=made.get("gate") if output_attentions else None,
            locations=made.get("location", made["alignment"])[:, None] if output_attentions else None,
        )


class ShowAttendTellModel(ShowAttendTellPreTrainedModel):
    """Encoder and decoder without the output layer."""

    def __init__(self, config: ShowAttendTellConfig) -> None:
        super().__init__(config)
        self.encoder = ShowAttendTellEncoder(config)
        self.decoder = ShowAttendTellDecoder(config)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The table of words."""
        return self.decoder.embed_tokens

    def set_input_embeddings(self, value: Any) -> None:
        self.decoder.embed_tokens = value

    @can_return_tuple
    def forward(
        self,
        pixel_values: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: Any = None,
        cache: DecodingState | None = None,
        annotations: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        hypotheses_per_source: int = 1,
        **kwargs: Any,
    ) -> CaptionStates:
        """Decoder outputs for given previous words; see the head for the arguments."""
        config = self.config
        check_target_mask(decoder_attention_mask)
        output_attentions, output_hidden_states = wanted_outputs(config, output_attentions, output_hidden_states)
        if encoder_outputs is None:
            regions = self.encoder(
                pixel_values, attention_mask, annotations, output_hidden_states=output_hidden_states, return_dict=True
            )
        else:
            regions = Regions.of(encoder_outputs, attention_mask)
        decoded = self.decoder(
            decoder_input_ids,
            regions,
            decoder_inputs_embeds,
            cache=cache,
            use_cache=config.use_cache if use_cache is None else use_cache,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            hypotheses_per_source=hypotheses_per_source,
            return_dict=True,
        )
        decoded.encoder_last_hidden_state = regions.last_hidden_state
        decoded.encoder_hidden_states = regions.hidden_states
        return decoded


class ShowAttendTellForConditionalGeneration(ShowAttendTellPreTrainedModel, ZooGenerationMixin):
    """The captioner with its output layer p(y_t) = softmax(L_o o_t), and the losses of Sections 4.1 and 4.2."""

    _tied_weights_keys = {"lm_head.weight": "model.decoder.embed_tokens.weight"}
    reward_baseline: Tensor

    def __init__(self, config: ShowAttendTellConfig) -> None:
        super().__init__(config)
        self.model = ShowAttendTellModel(config)
        self.lm_head = nn.Linear(config.embedding_size, config.vocab_size)  # L_o
        self.register_buffer("reward_baseline", torch.zeros(()))  # b of Eq. 12
        self.post_init()

    @property
    def device(self) -> torch.device:
        return computing_device(self, self.reward_baseline)  # generation begins there

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False  # the decoder makes its own DecodingState

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor) -> Tensor:
        """Captions moved one to the right behind the start symbol, (B, T) -> (B, T)."""
        return shift_right(labels, self.config.pad_token_id, self.config.decoder_start_token_id)

    def generate(self, *args: Any, annotations: Tensor | None = None, **kwargs: Any) -> Any:
        """As for every model of the zoo, from `pixel_values` or from `annotations` (B, L, D) with their mask."""
        if annotations is not None:
            one_of(pixel_values=kwargs.get("pixel_values", args[0] if args else None), annotations=annotations)
            with torch.no_grad():
                kwargs["encoder_outputs"] = self.get_encoder()(None, kwargs.get("attention_mask"), annotations)
        return super().generate(*args, **kwargs)

    @can_return_tuple
    def forward(
        self,
        pixel_values: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: Any = None,
        cache: DecodingState | None = None,
        annotations: Tensor | None = None,
        decoder_inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        hypotheses_per_source: int = 1,
        num_items_in_batch: Tensor | int | None = None,
        **kwargs: Any,
    ) -> CaptionOutput:
        """Logits and, with labels, the loss.

        Args:
            pixel_values: (B, 3, H, W) pictures from the image processor.
            attention_mask: (B, L), 1 at real regions; pictures of one size have no other.
            decoder_input_ids: (B, T) previous words; made from `labels` if not given.
            encoder_outputs: what `get_encoder()` returned earlier, in place of the pictures.
            cache: the decoder's state after the words that it has seen.
            annotations: (B, L, D) regions in place of pictures, as a feature cache has them.
            labels: (B, T) words, -100 where there is nothing to predict.
            hypotheses_per_source: K captions of each picture, one behind the other, that share its regions and keys.

        Returns:
            loss, logits (B, T, V), cross_attentions: one tensor (B, 1, T, L) on request, with the gates and locations.

        Raises:
            ValueError: neither labels nor decoder inputs, neither or both of pictures and regions, or shapes that do
                not fit.
        """
        learning = labels is not None and self.training
        if labels is not None:
            use_cache = False if use_cache is None else use_cache
            if decoder_input_ids is None and decoder_inputs_embeds is None:
                decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        wanted = self.config.output_attentions if output_attentions is None else output_attentions
        decoded = self.model(
            pixel_values,
            attention_mask,
            decoder_input_ids,
            decoder_attention_mask,
            encoder_outputs=encoder_outputs,
            cache=cache,
            annotations=annotations,
            decoder_inputs_embeds=decoder_inputs_embeds,
            use_cache=use_cache,
            output_attentions=wanted or learning,
            output_hidden_states=output_hidden_states,
            hypotheses_per_source=hypotheses_per_source,
            return_dict=True,
        )
        logits = self.lm_head(decoded.last_hidden_state)  # (B, T, V)
        loss = coverage = None
        if labels is not None:
            loss = label_loss(self, logits, labels, num_items_in_batch, **kwargs)
        if labels is not None and loss is not None and learning:
            real, likely = labels != -100, log_likelihood(logits.detach(), labels)
            regions = real_regions(decoded.encoder_last_hidden_state, attention_mask, encoder_outputs)
            added, coverage = penalties(self.config, decoded, likely, real, regions, self.reward_baseline)
            items = real.sum() if num_items_in_batch is None else num_items_in_batch
            loss = loss + added / torch.as_tensor(items, device=loss.device).clamp(min=1)
            if self.config.attention == "hard":
                self.reward_baseline.copy_(next_baseline(self.config, self.reward_baseline, likely, real))
        return CaptionOutput(
            loss=loss,
            logits=logits,
            cache=decoded.cache,
            decoder_hidden_states=decoded.decoder_hidden_states,
            cross_attentions=decoded.cross_attentions if wanted else None,
            encoder_last_hidden_state=decoded.encoder_last_hidden_state,
            encoder_hidden_states=decoded.encoder_hidden_states,
            coverage=coverage,
            context_gates=decoded.context_gates if wanted else None,
            locations=decoded.locations if wanted else None,
        )
