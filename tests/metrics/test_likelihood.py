"""Summed log likelihoods per sentence."""

import torch

from hf_attention_zoo.metrics.likelihood import sentence_nll


def test_each_sentence_gets_its_sum_and_its_count() -> None:
    logits = torch.randn(3, 4, 5)
    labels = torch.tensor([[1, 2, -100, -100], [0, 4, 3, 2], [-100] * 4])
    nll, tokens = sentence_nll(logits, labels)
    scores = logits.log_softmax(dim=-1)
    assert tokens.tolist() == [2, 4, 0]
    torch.testing.assert_close(nll[0], -(scores[0, 0, 1] + scores[0, 1, 2]))
    torch.testing.assert_close(nll[1], -sum(scores[1, t, y] for t, y in enumerate([0, 4, 3, 2])))
    assert nll[2].item() == 0.0


def test_half_precision_logits_are_summed_in_single_precision() -> None:
    logits = torch.randn(2, 6, 7).to(torch.bfloat16)
    labels = torch.randint(0, 7, (2, 6))
    nll, _ = sentence_nll(logits, labels)
    assert nll.dtype == torch.float32
    torch.testing.assert_close(nll, sentence_nll(logits.float(), labels)[0])
