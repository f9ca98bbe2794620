"""The penalty's known values, and the pruned connection as a masked full one."""

import pytest
import torch

from hf_attention_zoo.attention.structured import BatchedDot, PrunedConnection, StructuredSelfAttention, hop_penalty


def one_hot(places: list[int], width: int = 6) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(places), width).double()


def test_uniform_hops_have_the_penalty_of_the_formula() -> None:
    r, n = 5, 7
    uniform = torch.full((r, n), 1 / n, dtype=torch.float64)
    assert hop_penalty(uniform).item() == pytest.approx(r * (1 - 1 / n) ** 2 + r * (r - 1) / n**2)


def test_the_same_token_costs_most_and_different_tokens_nothing() -> None:
    assert hop_penalty(one_hot([2, 2, 2, 2])).item() == 12
    assert hop_penalty(one_hot([0, 5, 3, 1])).item() == 0
    assert hop_penalty(one_hot([0, 5, 3, 1]), squared=False).item() == 0


def test_one_hop_has_the_penalty_of_its_length() -> None:
    row = torch.rand(1, 5, dtype=torch.float64).softmax(-1)
    assert hop_penalty(row).item() == pytest.approx((row.square().sum().item() - 1) ** 2)


def test_order_of_hops_and_tokens_and_pads_do_not_matter() -> None:
    rows = torch.randn(3, 4, 6, dtype=torch.float64).softmax(-1)
    wanted = hop_penalty(rows)
    assert wanted.shape == (3,) and (wanted >= 0).all()
    for same in (rows[:, [2, 0, 3, 1]], rows.flip(2), torch.cat([rows, torch.zeros(3, 4, 5)], 2)):
        torch.testing.assert_close(hop_penalty(same), wanted)
    torch.testing.assert_close(hop_penalty(rows, squared=False), wanted.sqrt())


def test_a_text_without_tokens_costs_nothing_and_gradients_are_finite_at_the_least_value() -> None:
    assert hop_penalty(torch.zeros(4, 6)).item() == 0
    for squared in (True, False):
        rows = one_hot([0, 5, 3, 1]).requires_grad_()
        hop_penalty(rows, squared).backward()
        assert (rows.grad == 0).all()


def test_a_shift_of_all_scores_of_a_hop_does_not_move_the_penalty() -> None:
    scores = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
    hop_penalty(scores.softmax(-1)).backward()
    torch.testing.assert_close(scores.grad.sum(-1), torch.zeros(4, dtype=torch.float64), rtol=0, atol=1e-12)


def test_the_penalty_of_half_precision_is_taken_in_single() -> None:
    rows = torch.randn(4, 300).softmax(-1)
    made = hop_penalty(rows.half())
    assert made.dtype == torch.float32 and made.item() == pytest.approx(hop_penalty(rows).item(), rel=1e-3)


def test_queries_are_the_rows_of_the_second_layer() -> None:
    attention = StructuredSelfAttention(5, 3, 2).double()
    values, mask = torch.randn(2, 4, 5, dtype=torch.float64), torch.tensor([[1, 1, 1, 1], [0, 1, 1, 0]])
    matrix, annotations = attention(attention.prepare(values, mask))
    w_1, w_2 = attention.key_projection.weight, attention.hops.weight
    for row in range(2):
        real = values[row][mask[row].bool()]
        wanted = torch.softmax(w_2 @ torch.tanh(w_1 @ real.T), dim=1)
        torch.testing.assert_close(annotations[row][:, mask[row].bool()], wanted)
        torch.testing.assert_close(matrix[row], wanted @ real)


def test_a_pruned_connection_is_a_full_one_with_blocks_of_its_weights_alone() -> None:
    rows, columns, p, q = 3, 4, 2, 5
    pruned = PrunedConnection(rows, columns, p, q).double()
    with torch.no_grad():
        pruned.row_bias.normal_(), pruned.column_bias.normal_()
    full = torch.zeros(pruned.output_size, rows * columns, dtype=torch.float64)
    for i in range(rows):
        full[i * p : (i + 1) * p, i * columns : (i + 1) * columns] = pruned.row_weight[i].T
    for j in range(columns):
        first = rows * p + j * q
        full[first : first + q, j::columns] = pruned.column_weight[j].T
    assert int((full != 0).sum()) == rows * columns * (p + q)
    bias = torch.cat([pruned.row_bias.flatten(), pruned.column_bias.flatten()])
    matrices = torch.randn(6, rows, columns, dtype=torch.float64)
    wanted = torch.relu(matrices.flatten(1) @ full.T + bias)
    torch.testing.assert_close(pruned(matrices), wanted, rtol=0, atol=1e-12)


def test_batched_dot_gives_every_row_its_own_matrix() -> None:
    layer = BatchedDot(3, 4, 5).double()
    matrices = torch.randn(2, 3, 4, dtype=torch.float64)
    made = layer(matrices)
    for row in range(3):
        torch.testing.assert_close(made[:, row], matrices[:, row] @ layer.weight[row])
