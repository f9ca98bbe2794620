"""Tools made for transformers work on our models as they are."""

import pytest
import torch


@pytest.mark.filterwarnings("ignore")
def test_bertviz_draws_our_cross_attention(tiny_translator) -> None:
    bertviz = pytest.importorskip("bertviz")
    pytest.importorskip("IPython")
    model, tokenizer = tiny_translator
    inputs = tokenizer("das haus ist gross", text_target="the house", return_tensors="pt")
    output = model(**inputs, output_attentions=True)
    words = {
        "encoder_tokens": tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist()),
        "decoder_tokens": tokenizer.convert_target_ids_to_tokens(inputs["labels"][0].tolist()),
    }
    for view in (bertviz.head_view, bertviz.model_view):
        html = view(cross_attention=output.cross_attentions, html_action="return", **words)
        assert "haus" in html.data and "script" in html.data


@pytest.mark.filterwarnings("ignore")
def test_captum_attributes_a_target_word_to_the_source_embeddings(tiny_translator) -> None:
    attribution = pytest.importorskip("captum.attr")
    model, tokenizer = tiny_translator
    inputs = tokenizer("das haus ist gross", text_target="the house", return_tensors="pt")
    decoder_input_ids = model.prepare_decoder_input_ids_from_labels(inputs["labels"])
    wanted = inputs["labels"][0, 0]

    def score(input_ids: torch.Tensor) -> torch.Tensor:
        rows = decoder_input_ids.expand(input_ids.shape[0], -1)
        mask = inputs["attention_mask"].expand(input_ids.shape[0], -1)
        logits = model(input_ids=input_ids, attention_mask=mask, decoder_input_ids=rows).logits
        return logits[:, 0].log_softmax(-1)[:, wanted]

    gradients = attribution.LayerIntegratedGradients(score, model.get_encoder().embed_tokens)
    pads = torch.full_like(inputs["input_ids"], tokenizer.pad_token_id)
    weights, gap = gradients.attribute(inputs["input_ids"], pads, n_steps=128, return_convergence_delta=True)
    assert weights.shape == (*inputs["input_ids"].shape, model.config.embedding_size)
    difference = score(inputs["input_ids"]) - score(pads)
    assert abs(gap.item()) < 0.05 * max(1.0, abs(difference.item()))
    torch.testing.assert_close(weights.sum(), difference.squeeze().detach(), atol=0.05, rtol=0.05, check_dtype=False)
