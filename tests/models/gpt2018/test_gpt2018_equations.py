"""GPT against transformers' own classes and torch's layer: outputs, losses and gradients, with pads in the batch."""

import math

import pytest
import torch
import transformers
from text_models import batch, check_equal, gradients
from torch import Tensor, nn
from torch.nn import functional

from hf_attention_zoo import (
    GPT2018Config,
    GPT2018ForCausalLM,
    GPT2018ForMultipleChoice,
    GPT2018ForSequenceClassification,
    GPT2018Model,
    get_architecture,
)
from hf_attention_zoo.models.gpt2018.convert_gpt2018 import from_transformers, to_transformers

SIZES = {"vocab_size": 48, "n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 32, "initializer_range": 0.3}
NO_DROPOUT = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "summary_first_dropout": 0.0}


def theirs_of(kind: str, dtype: torch.dtype = torch.float64, **changes: object) -> nn.Module:
    """transformers' model with weights far from zero, biases and norms too."""
    torch.manual_seed(0)
    settings = {**SIZES, **NO_DROPOUT, "pad_token_id": 0, "num_labels": 3, **changes}
    model = getattr(transformers, f"OpenAIGPT{kind}")(transformers.OpenAIGPTConfig(**settings))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".ln_" in name and name.endswith("weight"):
                parameter.add_(0.2 * torch.randn_like(parameter))
            elif name.endswith("bias"):
                parameter.normal_(std=0.2)
    model.tie_weights()
    return model.to(dtype).eval()


def check_gradients(ours: nn.Module, theirs: nn.Module) -> None:
    """Every gradient of theirs is ours under the converter's names."""
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.copy_(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)
    mine = dict(to_transformers(ours).named_parameters())
    for name, gradient in gradients(theirs).items():
        if name == "multiple_choice_head.summary.bias":
            assert gradient.abs() < 1e-12  # it changes nothing, and is not here
        else:
            check_equal(mine[name], gradient)


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_words_losses_and_gradients_are_those_of_transformers(kernel: str) -> None:
    theirs, given = theirs_of("LMHeadModel"), batch()
    ours = from_transformers(theirs)
    ours.set_attn_implementation(kernel)
    mask = given["attention_mask"]
    given["labels"] = given["input_ids"].where(mask.bool(), -100)
    wanted, made = theirs(**given), ours(**given)
    check_equal(made.logits, wanted.logits, mask)
    exact = functional.cross_entropy(wanted.logits[:, :-1].flatten(0, 1), given["labels"][:, 1:].flatten())
    check_equal(made.loss, exact)
    assert made.loss.item() == pytest.approx(wanted.loss.item(), abs=1e-5)  # theirs is taken in single precision
    bodies = [
        model(
            **{name: given[name] for name in ("input_ids", "attention_mask")},
            output_hidden_states=True,
            output_attentions=True,
        )
        for model in (ours.model, theirs.transformer)
    ]
    for mine, their in zip(*(body.hidden_states for body in bodies), strict=True):
        check_equal(mine, their, mask)
    for mine, their in zip(*(body.attentions for body in bodies), strict=True):
        check_equal(mine.transpose(1, 2), their.transpose(1, 2), mask)
    packed = ours.train()(**given)
    check_equal(packed.loss, exact)
    packed.loss.backward()
    exact.backward()
    check_gradients(ours, theirs)


def test_single_precision_is_equal_to_1e_5() -> None:
    theirs, given = theirs_of("LMHeadModel", torch.float32), batch()
    check_equal(from_transformers(theirs)(**given).logits, theirs(**given).logits, given["attention_mask"], 1e-5)


def test_labels_of_texts_are_scored_at_the_last_token_as_transformers_does() -> None:
    theirs, given = theirs_of("ForSequenceClassification"), batch()
    ours = from_transformers(theirs)
    ours.config.auxiliary_loss_weight = 0.0
    given["labels"] = torch.tensor([2, 0, 1])
    wanted, made = theirs(**given), ours.train()(**given)
    check_equal(made.logits, wanted.logits)
    check_equal(made.loss, wanted.loss)
    made.loss.backward()
    wanted.loss.backward()
    check_gradients(ours, theirs)


def choices() -> dict[str, Tensor]:
    given = batch()
    return {name: torch.stack([tensor, tensor.roll(1, 0)], 1) for name, tensor in given.items()}


def rows_means(logits: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    """-log P of each row's tokens but the first, averaged over the row, by a loop."""
    means = []
    for row in range(len(ids)):
        length = int(mask[row].sum())
        means.append(functional.cross_entropy(logits[row, : length - 1], ids[row, 1:length]))
    return torch.stack(means)


def test_choices_and_their_auxiliary_loss_are_those_of_the_double_heads() -> None:
    theirs, given = theirs_of("DoubleHeadsModel"), choices()
    ours = from_transformers(theirs).train()
    labels = torch.tensor([1, 0, 0])
    last = given["attention_mask"].sum(-1) - 1
    wanted = theirs(given["input_ids"], attention_mask=None, mc_token_ids=last, mc_labels=labels)
    made = ours(**given, labels=labels)
    bias = theirs.multiple_choice_head.summary.bias
    check_equal(made.logits, wanted.mc_logits - bias)
    flat = [tensor.flatten(0, 1) for tensor in (wanted.logits, given["input_ids"], given["attention_mask"])]
    lm_loss = rows_means(*flat).mean()
    check_equal(made.lm_loss, lm_loss)
    loss = wanted.mc_loss + 0.5 * lm_loss
    check_equal(made.loss, loss)
    made.loss.backward()
    loss.backward()
    check_gradients(ours, theirs)


def config(**changes: object) -> GPT2018Config:
    names = {"n_embd": "hidden_size", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads"}
    sizes = {names.get(name, name): value for name, value in SIZES.items() if name != "n_positions"}
    off = {f"{place}_dropout": 0.0 for place in ("residual", "embedding", "attention", "classifier")}
    return GPT2018Config(
        **{
            **sizes,
            **off,
            "intermediate_size": 96,
            "num_labels": 3,
            "pad_token_id": 0,
            "delimiter_token_id": 3,
            **changes,
        }
    )


def pairs(swapped: bool = False, side: str = "right") -> dict[str, Tensor]:
    """Rows `start a delimiter b extract` with texts of several lengths."""
    texts = [([10, 11, 12], [20, 21]), ([30], [31, 32, 33, 34]), ([40, 41], [42])]
    rows = [[2, *(b if swapped else a), 3, *(a if swapped else b), 4] for a, b in texts]
    given = batch(tuple(map(len, rows)), side=side)
    given["input_ids"][given["attention_mask"].bool()] = torch.tensor([token for row in rows for token in row])
    return given


@pytest.mark.parametrize("side", ["right", "left"])
def test_similarity_adds_both_orders_and_does_not_depend_on_the_first(side: str) -> None:
    torch.manual_seed(0)
    model = GPT2018ForSequenceClassification(config(similarity=True)).double().eval()
    one_way, other_way = pairs(side=side), pairs(swapped=True, side=side)
    made = model(**one_way, labels=torch.tensor([0, 1, 2]))
    check_equal(model(**other_way).logits, made.logits, tolerance=1e-12)
    plain = GPT2018ForSequenceClassification(config(classifier_bias=False)).double().eval()
    plain.load_state_dict(model.state_dict())
    check_equal(plain(**one_way).logits + plain(**other_way).logits, made.logits, tolerance=1e-12)
    language_model = GPT2018ForCausalLM(config()).double().eval()
    language_model.model.load_state_dict(model.model.state_dict())
    language_model.tie_weights()
    right = [pairs(swapped=swapped) for swapped in (False, True)]
    means = [rows_means(language_model(**given).logits, *given.values()) for given in right]
    check_equal(made.lm_loss, torch.stack(means).mean())


def test_the_loss_of_fine_tuning_has_the_weighted_loss_of_the_language_model() -> None:
    torch.manual_seed(0)
    model = GPT2018ForSequenceClassification(config()).double().eval()
    given = {**pairs(), "labels": torch.tensor([0, 1, 2])}
    made = model(**given)
    labels = functional.cross_entropy(made.logits, given["labels"])
    check_equal(made.loss, labels + 0.5 * made.lm_loss)
    model.config.auxiliary_loss_weight = 0.0
    alone = model(**given)
    assert alone.lm_loss is None
    check_equal(alone.loss, labels)


def test_choices_do_not_know_of_each_other_and_may_change_places() -> None:
    model = GPT2018ForMultipleChoice(config()).double().eval()
    given = choices()
    logits = model(**given).logits
    check_equal(model(**{name: tensor.flip(1) for name, tensor in given.items()}).logits, logits.flip(1))
    alone = model(**{name: tensor[:, :1] for name, tensor in given.items()}).logits
    check_equal(alone, logits[:, :1])


def test_the_choices_of_a_row_share_one_dropout_mask() -> None:
    torch.manual_seed(0)
    model = GPT2018ForMultipleChoice(config(classifier_dropout=0.5, auxiliary_loss_weight=0.0)).train()
    given = batch()
    same = {name: tensor[:, None].repeat(1, 2, 1) for name, tensor in given.items()}
    first, second = model(**same).logits.unbind(1)
    check_equal(first, second, tolerance=1e-6)
    assert not torch.equal(first, model(**same).logits[:, 0])


def test_a_block_is_a_layer_of_torch_with_a_causal_mask() -> None:
    torch.manual_seed(0)
    layer = GPT2018Model(config()).double().eval().layers[0]
    oracle = nn.TransformerEncoderLayer(
        24,
        3,
        96,
        activation=lambda states: functional.gelu(states, approximate="tanh"),
        layer_norm_eps=1e-5,
        batch_first=True,
        dtype=torch.float64,
    ).eval()
    attention = layer.self_attention
    projections = (attention.q_proj, attention.k_proj, attention.v_proj)
    state = {
        "self_attn.in_proj_weight": torch.cat([p.weight for p in projections]),
        "self_attn.in_proj_bias": torch.cat([p.bias for p in projections]),
    }
    for name, module in (
        ("self_attn.out_proj", attention.o_proj),
        ("linear1", layer.feed_forward.linear_1),
        ("linear2", layer.feed_forward.linear_2),
        ("norm1", layer.self_attention_residual.norm),
        ("norm2", layer.feed_forward_residual.norm),
    ):
        state |= {f"{name}.weight": module.weight, f"{name}.bias": module.bias}
    oracle.load_state_dict(state)
    states = torch.randn(2, 6, 24, dtype=torch.float64)
    causal = torch.ones(6, 6, dtype=torch.bool).triu(1)
    check_equal(layer(states, ~causal)[0], oracle(states, src_mask=causal))


def test_the_gelu_is_the_approximation_by_tanh() -> None:
    points = torch.linspace(-6, 6, 20_001, dtype=torch.float64)
    approximate = 0.5 * points * (1 + torch.tanh(math.sqrt(2 / math.pi) * (points + 0.044715 * points**3)))
    act = GPT2018Model(config()).layers[0].feed_forward.act
    check_equal(act(points), approximate)
    assert (functional.gelu(points) - approximate).abs().max().item() == pytest.approx(4.73e-4, rel=1e-2)


def test_a_new_model_knows_nothing_and_its_states_are_normed() -> None:
    torch.manual_seed(0)
    model = GPT2018ForCausalLM(
        GPT2018Config(vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4)
    )
    ids = torch.randint(0, 1000, (8, 30))
    assert 0 < model.eval()(ids, labels=ids).loss.item() - math.log(1000) < 0.3
    states = model.model(ids).last_hidden_state
    check_equal(states.mean(-1), torch.zeros(8, 30), tolerance=1e-5)
    check_equal(states.var(-1, unbiased=False), torch.ones(8, 30), tolerance=1e-3)
    assert model.lm_head.weight is model.model.embed_tokens.weight


def test_a_text_ends_where_the_positions_end() -> None:
    """Whatever number of tokens is asked for: `pipeline("text-generation")` asks for 256."""
    torch.manual_seed(0)
    row = get_architecture("gpt2018")
    fields = {**row.tiny_config().to_diff_dict(), "max_position_embeddings": 20}
    model = row.model_classes["AutoModelForCausalLM"](row.config_class(**fields)).eval()
    prompt = torch.randint(5, 40, (2, 7))
    for settings in ({"max_new_tokens": 256}, {"max_length": 500}, {"max_new_tokens": 30, "num_beams": 2}):
        assert model.generate(prompt, do_sample=False, **settings).shape == (2, 20)
    vectors = model.get_input_embeddings()(prompt).detach()
    assert model.generate(inputs_embeds=vectors, max_new_tokens=256, do_sample=False).shape == (2, 13)
    assert model.generate(prompt, max_new_tokens=3).shape == (2, 10)
    with pytest.raises(ValueError, match=r"25 tokens and the model 20 positions.*cut it to 19 tokens or fewer"):
        model.generate(torch.randint(5, 40, (1, 25)))
    assert model.generate(torch.randint(5, 40, (1, 19)), max_new_tokens=5).shape == (1, 20)
