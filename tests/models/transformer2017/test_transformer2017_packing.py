"""Pads are not computed, and nothing changes by it."""

import pytest
import torch

from hf_attention_zoo import Transformer2017Config, Transformer2017ForConditionalGeneration
from hf_attention_zoo.attention.packing import Packing


def model_and_batch(implementation: str = "sdpa") -> tuple[Transformer2017ForConditionalGeneration, dict]:
    torch.manual_seed(3)
    config = Transformer2017Config(
        vocab_size=30, hidden_size=12, num_attention_heads=3, num_hidden_layers=2, intermediate_size=16, dropout=0.0
    )
    model = Transformer2017ForConditionalGeneration(config).double().train()
    model.set_attn_implementation(implementation)
    mask = torch.tensor([[1, 1, 1, 0, 0, 0], [1] * 6, [0, 0, 0, 0, 1, 1], [1, 0, 0, 0, 0, 0]])
    labels = torch.randint(4, 30, (4, 7))
    for row, length in enumerate((2, 7, 4, 1)):
        labels[row, length:] = -100
    labels[1, 2] = -100  # a label in the middle that does not count
    return model, {"input_ids": torch.randint(4, 30, (4, 6)), "attention_mask": mask, "labels": labels}


def test_packing_and_unpacking_are_inverse_and_pass_gradients() -> None:
    mask = torch.tensor([[1, 1, 0], [0, 0, 1]]).bool()
    packing = Packing.of(mask)
    vectors = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    packed = packing.pack(vectors)
    assert torch.equal(packed, vectors[mask])
    assert torch.equal(packing.unpack(packed), vectors * mask[..., None])
    assert torch.autograd.gradcheck(packing.pack, vectors)
    assert torch.autograd.gradcheck(packing.unpack, packed.detach().requires_grad_())


@pytest.mark.parametrize(
    "mask", [None, torch.ones(2, 3).bool(), torch.zeros(2, 3).bool()], ids=["none", "full", "pads"]
)
def test_batches_without_pads_or_without_tokens_are_not_packed(mask: torch.Tensor | None) -> None:
    assert Packing.of(mask) is None


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_loss_and_gradients_are_those_of_the_padded_computation(
    implementation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, batch = model_and_batch(implementation)
    seen = []
    hook = (
        model.get_decoder().layers[0].register_forward_hook(lambda layer, inputs, output: seen.append(output[0].ndim))
    )
    packed = model(**batch)
    packed.loss.backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    with monkeypatch.context() as patch:
        patch.setattr(Packing, "of", classmethod(lambda cls, mask: None))
        padded = model(**batch)
        padded.loss.backward()
    hook.remove()
    assert seen == [2, 3]  # packed, then padded
    torch.testing.assert_close(packed.loss, padded.loss, rtol=0, atol=1e-12)
    needed = batch["labels"] != -100
    torch.testing.assert_close(packed.logits[needed], padded.logits[needed], rtol=0, atol=1e-12)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(gradients[name], parameter.grad, rtol=0, atol=1e-12, msg=name)


def test_in_evaluation_every_position_is_computed_unless_a_mask_says_otherwise() -> None:
    model, batch = model_and_batch()
    model.eval()
    inputs = {**batch, "decoder_input_ids": model.prepare_decoder_input_ids_from_labels(batch["labels"])}
    with torch.no_grad():
        whole = model(**inputs).logits
        mask = torch.ones(4, 7)
        mask[0, 3:] = 0
        mask[3, 1:] = 0
        masked = model(**inputs, decoder_attention_mask=mask).logits
    assert (whole.abs().sum(-1) > 0).all()
    torch.testing.assert_close(masked[mask.bool()], whole[mask.bool()], rtol=0, atol=1e-12)


def test_the_pads_of_one_batch_leave_nothing_in_the_next() -> None:
    model, batch = model_and_batch()
    before = model(**batch).loss
    other = {**batch, "attention_mask": torch.ones(4, 6), "labels": batch["labels"].clamp(min=4)}
    model(**other).loss.backward()
    torch.testing.assert_close(model(**batch).loss, before, rtol=0, atol=0)
