"""The lean cross entropy against torch's."""

import pytest
import torch

from hf_attention_zoo.losses import token_loss
from hf_attention_zoo.losses.token_loss import summed_cross_entropy, summed_cross_entropy_reference


@pytest.mark.parametrize("rows", [0, 1, 7])
@pytest.mark.parametrize("chunk", [1, 20, 1 << 18])
def test_values_and_gradients_are_those_of_torch(monkeypatch: pytest.MonkeyPatch, rows: int, chunk: int) -> None:
    monkeypatch.setitem(token_loss._CHUNK_ELEMENTS, "cpu", chunk)
    logits = (5 * torch.randn(rows, 9, dtype=torch.double)).requires_grad_()
    labels = torch.randint(0, 9, (rows,))
    labels[1::3] = -100
    made, wanted = summed_cross_entropy(logits, labels), summed_cross_entropy_reference(logits, labels)
    torch.testing.assert_close(made, wanted, rtol=0, atol=1e-12)
    (grad,) = torch.autograd.grad(2.5 * made, logits)
    (plain,) = torch.autograd.grad(2.5 * wanted, logits)
    torch.testing.assert_close(grad, plain, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_narrow_logits_are_summed_in_float32_and_extremes_stay_finite(dtype: torch.dtype) -> None:
    logits = torch.tensor([[3e4, -3e4, 0.0], [1.0, 2.0, 3.0]], dtype=dtype, requires_grad=True)
    loss = summed_cross_entropy(logits, torch.tensor([1, 2]))
    loss.backward()
    assert loss.dtype == torch.float32 and logits.grad.dtype == dtype
    assert torch.isfinite(loss) and torch.isfinite(logits.grad).all()
    torch.testing.assert_close(loss, summed_cross_entropy_reference(logits, torch.tensor([1, 2])))


@pytest.mark.parametrize("label", [3, -1])
def test_a_label_outside_the_vocabulary_is_an_error(label: int) -> None:
    with pytest.raises((RuntimeError, IndexError), match="out of"):
        summed_cross_entropy(torch.zeros(1, 3, requires_grad=True), torch.tensor([label]))
