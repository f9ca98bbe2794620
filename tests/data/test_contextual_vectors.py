"""Frozen vectors: the model's own, kept in a file, and read by the other models of the zoo."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import DataCollatorWithPadding, PreTrainedModel, Trainer, TrainingArguments

from hf_attention_zoo import (
    ELMoConfig,
    ELMoForPreTraining,
    ELMoForSequenceClassification,
    ELMoModel,
    HANForSequenceClassification,
    SelfAttentiveForSequenceClassification,
    get_architecture,
)
from hf_attention_zoo.alignment.results.context_neighbours import NeighbourIndex, neighbour_table, static_neighbours
from hf_attention_zoo.cli.command import main
from hf_attention_zoo.data.contextual_vectors import COMPUTING, ContextualCollator, ContextualVectors
from hf_attention_zoo.tokenization.word_character_tokenizer import WordCharacterTokenizer

TEXTS = ["The play was good .", "They play in the garden .", "", "A good garden ."]


@pytest.fixture(scope="module")
def tokenizer() -> WordCharacterTokenizer:
    return WordCharacterTokenizer.train(TEXTS, vocab_size=40)


def new_model(seed: int = 0) -> ELMoModel:
    torch.manual_seed(seed)
    return ELMoModel(get_architecture("elmo").tiny_config())


@pytest.fixture
def vectors(tokenizer: WordCharacterTokenizer, tmp_path: Path) -> ContextualVectors:
    return ContextualVectors(new_model(), tokenizer, cache=tmp_path / "kept.safetensors", dtype="float32")


def test_layers_and_mixed_vectors_are_the_models(vectors: ContextualVectors) -> None:
    for text, layers, mixed in zip(TEXTS, vectors.layers(TEXTS), vectors.mixed(TEXTS), strict=True):
        words = vectors.words_of(text)
        assert layers.shape == (3, len(words), 12) and mixed.shape == (len(words), 12)
        if words:
            batch = vectors.tokenizer(text, return_tensors="pt")
            with torch.no_grad():
                out = vectors.model(**batch, output_hidden_states=True)
            torch.testing.assert_close(layers, torch.cat(out.hidden_states), rtol=0, atol=1e-6)
            torch.testing.assert_close(mixed, out.last_hidden_state[0], rtol=0, atol=1e-6)
    chosen = vectors.mixed(TEXTS[:1], layer_weights=[0, 1, 0])[0]
    assert torch.equal(chosen, vectors.layers(TEXTS[:1])[0][1])
    with pytest.raises(ValueError, match="2 layer_weights for 3 layers"):
        vectors.mixed(TEXTS[:1], layer_weights=[0, 1])
    assert vectors.layer_weights == pytest.approx([1 / 3] * 3)


def test_what_is_kept_is_not_computed_again_and_belongs_to_one_model(
    vectors: ContextualVectors, tokenizer: WordCharacterTokenizer
) -> None:
    wanted = vectors.layers(TEXTS)
    path = vectors.save()
    again = ContextualVectors(new_model(), tokenizer, cache=path, dtype="float32")
    again.model.forward = None  # nothing may be read again
    for one, other in zip(again.layers(TEXTS), wanted, strict=True):
        assert torch.equal(one, other)
    with pytest.raises(ValueError, match="of another model"):
        ContextualVectors(new_model(seed=1), tokenizer, cache=path)
    with pytest.raises(ValueError, match="float32; open it with that dtype"):
        ContextualVectors(new_model(), tokenizer, cache=path)
    half = ContextualVectors(new_model(), tokenizer)
    assert half.layers(TEXTS)[0].dtype == torch.float16
    with pytest.raises(ValueError, match="no file"):
        half.save()


# Fields of the config that a frozen biLM does not compute with.
ELSEWHERE = {"vocab_size", "dropout", "num_mixes", "mix_dropout", "mix_l2", "freeze_bilm", "task_lstm_cells"}
ELSEWHERE |= {"num_negative_samples", "initializer_range", "pad_token_id", "bos_token_id", "eos_token_id"}
ELSEWHERE |= {"tie_word_embeddings", "model_type"}


@pytest.mark.parametrize(
    "change", [{"projection_clip": 0.01}, {"cell_clip": None}, {"skip_connections": False}, {"activation": "tanh"}]
)
def test_a_model_that_computes_otherwise_with_the_same_weights_is_another(
    vectors: ContextualVectors, tokenizer: WordCharacterTokenizer, change: dict[str, Any]
) -> None:
    vectors.layers(TEXTS)
    path = vectors.save()
    other = ELMoModel(ELMoConfig(**{**vectors.model.config.to_diff_dict(), **change}))
    other.load_state_dict(vectors.model.state_dict())
    with pytest.raises(ValueError, match="of another model"):
        ContextualVectors(other, tokenizer, cache=path, dtype="float32")


def test_every_field_of_the_config_is_known_to_change_vectors_or_not() -> None:
    assert set(ELMoConfig.__annotations__) - ELSEWHERE == set(COMPUTING)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layer_normalization": "bilm"}, 'depend on the texts beside it.*layer_normalization="off"'),
        ({"layer_normalization": "allennlp"}, "depend on the texts beside it"),
        ({"stateful": True}, "depend on the texts before it.*stateful=False"),
    ],
)
def test_models_whose_vectors_depend_on_other_texts_are_refused(
    tokenizer: WordCharacterTokenizer, change: dict[str, Any], message: str
) -> None:
    config = ELMoConfig(**{**get_architecture("elmo").tiny_config().to_diff_dict(), **change})
    with pytest.raises(ValueError, match=message):
        ContextualVectors(ELMoModel(config), tokenizer)


@pytest.mark.parametrize("model_class", [ELMoForPreTraining, ELMoForSequenceClassification])
def test_of_a_model_with_a_head_the_body_is_read(
    tokenizer: WordCharacterTokenizer, model_class: type[PreTrainedModel]
) -> None:
    torch.manual_seed(0)
    model = model_class(get_architecture("elmo").tiny_config())
    found, wanted = (ContextualVectors(one, tokenizer) for one in (model, model.model))
    assert found.layer_weights == pytest.approx([1 / 3] * 3) and found.fingerprint == wanted.fingerprint
    assert torch.equal(found.mixed(TEXTS[:1])[0], wanted.mixed(TEXTS[:1])[0])


@pytest.mark.parametrize("name", ["han", "self_attentive"])
def test_other_models_train_on_the_vectors_through_the_collator(
    vectors: ContextualVectors, name: str, tmp_path: Path
) -> None:
    row = get_architecture(name)
    config = row.config_class(**{**row.tiny_config().to_diff_dict(), "embedding_size": vectors.size})
    classes = {"han": HANForSequenceClassification, "self_attentive": SelfAttentiveForSequenceClassification}
    torch.manual_seed(0)
    model = classes[name](config)
    texts = [[text, "Another sentence ."] for text in TEXTS] if name == "han" else TEXTS
    rows = [{"text": text, "label": number % 3} for number, text in enumerate(texts)]
    collator = ContextualCollator(vectors)
    batch = collator(rows)
    assert batch["inputs_embeds"].shape[-1] == 12 and batch["labels"].tolist() == [0, 1, 2, 0]
    with torch.no_grad():
        wanted = model.eval()(**batch).logits
        one = model(**collator(rows[1:2])).logits
    torch.testing.assert_close(one[0], wanted[1], rtol=0, atol=1e-5)
    arguments = TrainingArguments(
        str(tmp_path), max_steps=3, remove_unused_columns=False, report_to=[], use_cpu=True, save_strategy="no"
    )
    trained = Trainer(model, arguments, data_collator=collator, train_dataset=rows).train()
    assert trained.training_loss > 0


def test_other_columns_may_have_a_collator_of_their_own(
    vectors: ContextualVectors, tokenizer: WordCharacterTokenizer
) -> None:
    rows = [{"text": text, **tokenizer(text)} for text in TEXTS]
    batch = ContextualCollator(vectors, collate=DataCollatorWithPadding(tokenizer))(rows)
    assert batch["character_ids"].shape[:2] == batch["attention_mask"].shape == batch["inputs_embeds"].shape[:2]


def test_neighbours_are_words_of_other_texts_by_their_context(vectors: ContextualVectors) -> None:
    index = NeighbourIndex(vectors, TEXTS, layer=-1)
    row = index.nearest(TEXTS[0], "play", count=2)
    assert [one.text for one in row.found if one.text == TEXTS[0]] == []
    assert len({one.text for one in row.found}) == 2 and row.found[0].cosine >= row.found[1].cosine
    asked = vectors.layers(TEXTS[:1])[0][-1][1]
    other = vectors.layers(TEXTS[1:2])[0][-1]
    best = torch.nn.functional.cosine_similarity(asked[None], other).max().item()
    assert best == pytest.approx({one.text: one.cosine for one in row.found}.get(TEXTS[1], best), abs=1e-5)
    same = NeighbourIndex(vectors, TEXTS, layer=0).nearest(TEXTS[0], "play", count=1)
    assert same.found[0].word == "play" and same.found[0].cosine == pytest.approx(1, abs=1e-5)
    without = NeighbourIndex(vectors, TEXTS, layer="mix").nearest(TEXTS[0], "play", 3, other_words=True)
    assert "play" not in {one.word for one in without.found}
    assert "[play]" in neighbour_table([row])
    assert "play" not in dict(static_neighbours(vectors, TEXTS, "play"))
    with pytest.raises(ValueError, match="is no word of"):
        index.nearest(TEXTS[0], "garden")
    with pytest.raises(ValueError, match="give a number from 0 to 2"):
        NeighbourIndex(vectors, TEXTS, layer=3)
    with pytest.raises(ValueError, match="no words"):
        NeighbourIndex(vectors, [""])


def test_the_command_prints_the_table_of_a_saved_model(
    tokenizer: WordCharacterTokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "model"
    torch.manual_seed(0)
    ELMoForSequenceClassification(get_architecture("elmo").tiny_config()).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (tmp_path / "train.txt").write_text("\n".join(text for text in TEXTS if text))
    flags = ["--text", TEXTS[0], "--text", TEXTS[1], "--dataset", str(tmp_path / "train.txt"), "--count", "2"]
    output, cache = tmp_path / "table.json", tmp_path / "kept.safetensors"
    assert main(["neighbours", str(folder), "play", *flags, "--output", str(output), "--cache", str(cache)]) == 0
    printed = capsys.readouterr().out
    assert "play without context: " in printed and printed.count("[play]") >= 2
    assert output.exists() and cache.exists()
    assert main(["neighbours", str(folder), "play", *flags, "--layer", "top"]) == 2


def test_threads_that_save_the_same_cache_do_not_meet(vectors: ContextualVectors, tmp_path: Path) -> None:
    vectors.layers(["some words", "and more"])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: vectors.save(tmp_path / "cache.safetensors"), range(24)))
    again = ContextualVectors(vectors.model, vectors.tokenizer, cache=tmp_path / "cache.safetensors", dtype="float32")
    assert again.kept.keys() == vectors.kept.keys()
    assert [file.name for file in tmp_path.iterdir()] == ["cache.safetensors"]
