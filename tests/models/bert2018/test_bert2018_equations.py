"""BERT against transformers' own classes and torch's encoder: outputs, losses, gradients, with pads in the batch."""

import math

import pytest
import torch
import transformers
from text_models import LENGTHS, batch, check_equal, gradients, segments
from torch import Tensor, nn

from hf_attention_zoo import BERT2018Config, BERT2018ForMaskedLM, BERT2018Model, get_architecture
from hf_attention_zoo.models.bert2018.convert_bert2018 import from_transformers, to_transformers

KINDS = (
    "Model",
    "ForPreTraining",
    "ForMaskedLM",
    "ForNextSentencePrediction",
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForMultipleChoice",
    "ForQuestionAnswering",
)
SIZES = {
    "vocab_size": 48,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 40,
    "max_position_embeddings": 32,
    "initializer_range": 0.3,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "num_labels": 3,
}


def theirs_of(kind: str, dtype: torch.dtype = torch.float64, **changes: object) -> nn.Module:
    """transformers' model with weights far from zero, biases and norms too."""
    torch.manual_seed(0)
    outputs = {"num_labels": 2} if kind == "ForQuestionAnswering" else {}
    model = getattr(transformers, f"Bert{kind}")(transformers.BertConfig(**{**SIZES, **outputs, **changes}))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "LayerNorm.weight" in name:
                parameter.add_(0.2 * torch.randn_like(parameter))
            elif name.endswith("bias"):
                parameter.normal_(std=0.2)
    model.tie_weights()
    return model.to(dtype).eval()


def inputs_of(kind: str) -> dict[str, Tensor]:
    given = batch()
    given["token_type_ids"] = segments(given)
    mask, ids = given["attention_mask"], given["input_ids"]
    if kind == "ForMultipleChoice":
        given = {name: torch.stack([t, t.roll(1, 0)], 1) for name, t in given.items()}
        return {**given, "labels": torch.tensor([0, 1, 0])}
    if kind in ("ForPreTraining", "ForMaskedLM"):
        chosen = (torch.arange(ids.shape[1]) % 3 == 1) & mask.bool()
        given["labels"] = ids.where(chosen, -100)
    if kind == "ForPreTraining":
        given["next_sentence_label"] = torch.tensor([1, 0, 0])
    if kind == "ForNextSentencePrediction":
        given["labels"] = torch.tensor([0, 1, 1])
    if kind == "ForSequenceClassification":
        given["labels"] = torch.tensor([2, 0, 1])
    if kind == "ForTokenClassification":
        given["labels"] = (ids % 3).where(mask.bool(), -100)
    return given


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
@pytest.mark.parametrize("kind", KINDS)
def test_outputs_losses_and_gradients_are_those_of_transformers(kind: str, kernel: str) -> None:
    theirs, given = theirs_of(kind), inputs_of(kind)
    ours = from_transformers(theirs)
    ours.set_attn_implementation(kernel)
    wanted, made = theirs(**given), ours(**given)
    assert wanted.keys() == made.keys()
    if kind == "ForMultipleChoice":
        wanted["logits"] = wanted.logits - theirs.classifier.bias  # the same for every choice
    for name in wanted:
        if name != "loss" and "start" not in name and "end" not in name:
            check_equal(made[name], wanted[name], given["attention_mask"])
    if kind in ("Model", "ForQuestionAnswering"):
        weight = torch.randn(wanted[0][given["attention_mask"].bool()].shape, dtype=torch.float64)
        for output in (made, wanted):
            (output[0][given["attention_mask"].bool()] * weight).sum().backward()
    else:
        ours.train()  # pads are left out and words predicted where there are labels only
        loss = ours(**given).loss
        check_equal(loss, wanted.loss)
        check_equal(made.loss, wanted.loss)
        loss.backward()
        wanted.loss.backward()
    mine = gradients(to_transformers_of_gradients(ours, theirs))
    for name, gradient in gradients(theirs).items():
        if name == "classifier.bias" and kind == "ForMultipleChoice":
            assert gradient.abs() < 1e-12  # it changes nothing, and is not here
        else:
            check_equal(mine[name], gradient)


def to_transformers_of_gradients(ours: nn.Module, theirs: nn.Module) -> nn.Module:
    """transformers' model with our gradients, by the names of the converter."""
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.copy_(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)
    back = to_transformers(ours)
    for parameter in back.parameters():
        parameter.grad = parameter.detach().clone()
    return back


def test_the_loss_of_answers_is_theirs_where_no_pad_takes_part() -> None:
    theirs, given = theirs_of("ForQuestionAnswering"), inputs_of("Model")
    ours = from_transformers(theirs)
    targets = {"start_positions": torch.tensor([1, 3, 0]), "end_positions": torch.tensor([4, 3, 99])}
    made = ours(**given, **targets)
    pads = ~given["attention_mask"].bool()
    logits = theirs(**given)
    for mine, wanted in ((made.start_logits, logits.start_logits), (made.end_logits, logits.end_logits)):
        check_equal(mine[~pads], wanted[~pads])
        assert (mine[pads] == torch.finfo(mine.dtype).min).all()
    losses = []
    for wanted, right in ((logits.start_logits, [1, 3, 0]), (logits.end_logits, [4, 3, None])):
        scores = wanted.masked_fill(pads, -torch.inf).log_softmax(-1)
        losses += [-scores[row, place] for row, place in enumerate(right) if place is not None]
    check_equal(made.loss, torch.stack(losses).mean())
    whole = {name: tensor[:1] for name, tensor in {**given, **targets}.items()}
    check_equal(ours(**whole).loss, theirs(**whole).loss)


def test_single_precision_is_equal_to_1e_5() -> None:
    theirs, given = theirs_of("ForPreTraining", torch.float32), inputs_of("ForPreTraining")
    made, wanted = from_transformers(theirs)(**given), theirs(**given)
    check_equal(made.loss, wanted.loss, tolerance=1e-5)
    check_equal(made.prediction_logits, wanted.prediction_logits, given["attention_mask"], 1e-5)


@pytest.mark.parametrize("problem", ["regression", "multi_label_classification"])
def test_numbers_and_several_labels_have_the_losses_of_transformers(problem: str) -> None:
    labels = 1 if problem == "regression" else 3
    theirs = theirs_of("ForSequenceClassification", num_labels=labels, problem_type=problem)
    ours, given = from_transformers(theirs), inputs_of("Model")
    target = torch.rand(3, dtype=torch.float64) if labels == 1 else torch.randint(0, 2, (3, 3)).double()
    check_equal(ours(**given, labels=target).loss, theirs(**given, labels=target).loss)


def test_the_gelu_is_that_of_the_error_function() -> None:
    theirs, given = theirs_of("Model"), inputs_of("Model")
    ours = from_transformers(theirs)
    for layer in ours.layers:
        layer.feed_forward.act = nn.GELU(approximate="tanh")
    difference = (ours(**given)[0] - theirs(**given)[0])[given["attention_mask"].bool()].abs().max()
    assert 1e-6 < difference < 1e-2


def test_a_layer_is_that_of_torch_with_the_same_weights() -> None:
    config = BERT2018Config(**{name: SIZES[name] for name in SIZES if name != "num_labels"}, num_labels=3)
    model = BERT2018Model(config).double().eval()
    layer = model.layers[0]
    oracle = nn.TransformerEncoderLayer(
        24, 3, 40, activation="gelu", layer_norm_eps=1e-12, batch_first=True, norm_first=False, dtype=torch.float64
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
    mask = batch()["attention_mask"].bool()
    states = torch.randn(3, 10, 24, dtype=torch.float64)
    wanted = oracle(states, src_key_padding_mask=~mask)
    made, _ = layer(states, mask[:, None, None, :])
    check_equal(made, wanted, mask)


def test_the_embeddings_are_the_norm_of_the_sum_of_three_rows() -> None:
    model = from_transformers(theirs_of("Model"))
    given = inputs_of("Model")
    tables = model.embeddings
    positions = torch.arange(10)
    total = (
        tables.embed_tokens.weight[given["input_ids"]]
        + tables.embed_segments.weight[given["token_type_ids"]]
        + tables.embed_positions.weight[positions]
    )
    centred = total - total.mean(-1, keepdim=True)
    wanted = centred / (centred.square().mean(-1, keepdim=True) + 1e-12).sqrt()
    wanted = wanted * tables.norm.weight + tables.norm.bias
    check_equal(model(**given, output_hidden_states=True).hidden_states[0], wanted)


def test_words_are_predicted_at_labelled_places_only_while_training() -> None:
    model, given = from_transformers(theirs_of("ForMaskedLM")), inputs_of("ForMaskedLM")
    whole = model(**given).logits
    made = model.train()(**given)
    check_equal(made.logits, whole[given["labels"] != -100])
    model.config.sparse_prediction = False
    assert model(**given).logits.shape == whole.shape
    model.config.sparse_prediction = True
    given["labels"] = torch.full_like(given["labels"], -100)
    none = model(**given)
    assert none.loss == 0 and none.logits.shape == (0, 48)
    none.loss.backward()


def test_left_to_right_no_word_sees_those_behind_it() -> None:
    config = BERT2018Config(**{**SIZES, "left_to_right": True})
    model = BERT2018ForMaskedLM(config).double().eval()
    given = batch(LENGTHS)
    for kernel in ("sdpa", "eager"):
        model.set_attn_implementation(kernel)
        before = model(**given).logits
        changed = {**given, "input_ids": given["input_ids"].clone()}
        changed["input_ids"][:, 3] = 7
        after = model(**changed).logits
        check_equal(after[:, :3], before[:, :3], tolerance=1e-12)
        assert (after[:, 3:] - before[:, 3:]).abs().amax((1, 2)).min() > 1e-4
        both = BERT2018ForMaskedLM(BERT2018Config(**SIZES)).double().eval()
        both.load_state_dict(model.state_dict())
        moved = both(**changed).logits - both(**given).logits
        assert moved[given["attention_mask"].bool()].abs().amax(-1).min() > 1e-6


def test_a_new_model_knows_nothing() -> None:
    torch.manual_seed(0)
    config = BERT2018Config(vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4)
    model = BERT2018ForMaskedLM(config)
    ids = torch.randint(5, 1000, (8, 30))
    assert abs(model(ids, labels=ids).loss.item() - math.log(1000)) < 0.1
    states = model.model(ids, output_hidden_states=True).hidden_states
    for state in states[1:]:
        check_equal(state.mean(-1), torch.zeros(8, 30), tolerance=1e-5)
    weight = model.model.layers[0].feed_forward.linear_1.weight
    assert weight.abs().max() <= 0.04 and 0.016 < weight.std() < 0.019  # of a normal cut at two deviations


def test_an_answer_at_a_pad_is_not_learned_from() -> None:
    row = get_architecture("bert2018")
    model = row.model_classes["AutoModelForQuestionAnswering"](row.tiny_config()).eval()
    ids = torch.arange(10, 18).view(2, 4)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
    end = torch.tensor([2, 3])
    both = model(ids, mask, start_positions=torch.tensor([1, 3]), end_positions=end).loss
    alone = model(ids[:1], mask[:1], start_positions=torch.tensor([1]), end_positions=end[:1]).loss
    torch.testing.assert_close(both, alone)
