"""What a row gives does not depend on what stands around it; losses, gradients, saving, pipelines."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoModelForSequenceClassification, Trainer, TrainingArguments, pipeline

from hf_attention_zoo import TextTokenizer, get_architecture
from hf_attention_zoo.models.self_attentive.modeling_self_attentive import SelfAttentiveForSequenceClassification

ROW = get_architecture("self_attentive")
TEXTS = ["A white dog runs.", "dog", "", "the cat and the dog, and the cat", "un known"]
FORMS = {"single": {}, "pairs": {"sentence_pairs": True}, "pruned": {"connection": "pruned"}}


@pytest.fixture(scope="module")
def tokenizer() -> TextTokenizer:
    return TextTokenizer.train(["a white dog runs .", "the cat and the dog , and a bird"] * 2, vocab_size=48)


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    return request.param


def build(form: str = "single", **more: object) -> SelfAttentiveForSequenceClassification:
    """A model with spread weights in evaluation mode."""
    torch.manual_seed(0)
    config = ROW.config_class(**{**ROW.tiny_config().to_diff_dict(), **FORMS[form], **more})
    model = SelfAttentiveForSequenceClassification(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def inputs_of(form: str) -> list[tuple[str, ...]]:
    return list(zip(TEXTS, TEXTS[::-1], strict=True)) if form == "pairs" else [(text,) for text in TEXTS]


def encode(tokenizer: TextTokenizer, rows: list[tuple[str, ...]], **options: object) -> dict[str, torch.Tensor]:
    return dict(tokenizer.pad([tokenizer(*row) for row in rows], return_tensors="pt", **options))


def test_a_batch_gives_what_each_text_gives_alone_on_either_side_of_any_padding(
    form: str, tokenizer: TextTokenizer
) -> None:
    model, rows = build(form).double(), inputs_of(form)
    for options in ({}, {"padding_side": "left"}, {"padding": "max_length", "max_length": 25}):
        batch = encode(tokenizer, rows, **options)
        with torch.no_grad():
            made = model(**batch, output_attentions=True)
            shuffled = model(**{name: tensor.flip(0) for name, tensor in batch.items()}).logits.flip(0)
        torch.testing.assert_close(shuffled, made.logits, rtol=0, atol=1e-12)
        for place, row in enumerate(rows):
            with torch.no_grad():
                alone = model(**encode(tokenizer, [row]), output_attentions=True)
            torch.testing.assert_close(made.logits[place], alone.logits[0], rtol=0, atol=1e-12)
            if sum(map(len, row)):
                real = batch["attention_mask"][place].bool()
                for wide, narrow in zip(made.attentions, alone.attentions, strict=True):
                    torch.testing.assert_close(wide[place][..., real], narrow[0], rtol=0, atol=1e-12)
                    assert (wide[place][..., ~real] == 0).all()


def test_annotations_sum_to_one_on_texts_and_to_zero_on_empty_ones(form: str, tokenizer: TextTokenizer) -> None:
    for dtype, tolerance in ((torch.float32, 1e-6), (torch.bfloat16, 2e-2)):
        with torch.no_grad():
            made = build(form).to(dtype)(**encode(tokenizer, inputs_of(form)), output_attentions=True)
        assert made.logits.dtype == dtype and made.logits.isfinite().all()
        for number, annotations in enumerate(made.attentions):
            assert annotations.shape[1:3] == (4, 1) and (annotations >= 0).all()
            sums = annotations.float().sum(-1)[..., 0]
            wanted = torch.tensor([float(bool(row[number])) for row in inputs_of(form)])
            torch.testing.assert_close(sums, wanted[:, None].expand_as(sums), rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_is_close_to_full(form: str, tokenizer: TextTokenizer, dtype: torch.dtype) -> None:
    batch = encode(tokenizer, inputs_of(form))
    with torch.no_grad():
        full, half = build(form)(**batch).logits, build(form).to(dtype)(**batch).logits
        with torch.autocast("cpu", dtype=torch.bfloat16):
            mixed = build(form)(**batch).logits
    for logits in (half, mixed):
        assert (logits.float() - full).abs().max() < 0.06 * full.abs().max()


def test_every_parameter_gets_a_gradient_and_empty_texts_leave_it_finite(form: str, tokenizer: TextTokenizer) -> None:
    model = build(form)
    model(**encode(tokenizer, inputs_of(form)), labels=torch.tensor([0, 1, 2, 0, 1])).loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all() and parameter.grad.abs().sum() > 0, name
    model.zero_grad()
    made = model(**encode(tokenizer, [("", "")[: 2 if form == "pairs" else 1]] * 2), labels=torch.tensor([0, 1]))
    made.loss.backward()
    assert made.penalty.tolist() == [0.0, 0.0] and made.loss.isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize(
    ("problem", "labels"),
    [
        ("single_label_classification", torch.tensor([0, 1, 2, 1])),
        ("multi_label_classification", torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]])),
        ("regression", torch.randn(4, 3)),
    ],
)
def test_accumulated_losses_and_gradients_are_those_of_the_whole_batch(
    tokenizer: TextTokenizer, problem: str, labels: torch.Tensor
) -> None:
    model = build("single", problem_type=problem).double()
    rows = [(text,) for text in TEXTS if text]
    labels = labels if problem.startswith("single") else labels.double()
    whole = model(**encode(tokenizer, rows), labels=labels).loss
    whole.backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    total = 0.0
    for part in (slice(0, 1), slice(1, 4)):
        loss = model(**encode(tokenizer, rows[part]), labels=labels[part], num_items_in_batch=labels.numel()).loss
        loss.backward()
        total += loss.item()
    assert total == pytest.approx(whole.item(), rel=1e-10)
    torch.testing.assert_close([p.grad for p in model.parameters()], wanted, rtol=1e-9, atol=1e-10)


def test_wrong_inputs_say_what_came_and_what_to_do(tokenizer: TextTokenizer) -> None:
    model, pair = build(), encode(tokenizer, [("a dog", "a cat")])
    with pytest.raises(ValueError, match=r"made for single texts.*sentence_pairs=True"):
        model(**pair)
    with pytest.raises(ValueError, match=r"attention_mask has shape \(1, 2\), the texts \(1, 4\)"):
        model(pair["input_ids"], pair["attention_mask"][:, :2])
    with pytest.raises(ValueError, match=r"texts have shape \(4,\)"):
        model(pair["input_ids"][0])
    with pytest.raises(ValueError, match="label 3 is outside 0 to 2"):
        model(pair["input_ids"], labels=torch.tensor([3]))
    with pytest.raises(ValueError, match="exactly one"):
        model()


def test_ids_alone_and_embedded_words_give_the_same(tokenizer: TextTokenizer) -> None:
    model, batch = build(), encode(tokenizer, inputs_of("single"))
    with torch.no_grad():
        wanted = model(**batch).logits
        assert torch.equal(model(batch["input_ids"]).logits, wanted)  # pads are known by their id
        embedded = model.get_input_embeddings()(batch["input_ids"])
        assert torch.equal(model(inputs_embeds=embedded, attention_mask=batch["attention_mask"]).logits, wanted)


def test_a_saved_folder_serves_pipelines_in_a_fresh_process(
    form: str, tokenizer: TextTokenizer, tmp_path: Path
) -> None:
    model = build(form)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    rows = inputs_of(form)
    with torch.no_grad():
        wanted = model(**encode(tokenizer, rows)).logits
        torch.testing.assert_close(again(**encode(tokenizer, rows)).logits, wanted)
    assert type(AutoModel.from_pretrained(tmp_path)) is type(model.model)
    texts = [{"text": row[0], "text_pair": row[1]} for row in rows] if form == "pairs" else list(TEXTS)
    classify = pipeline("text-classification", model=str(tmp_path), top_k=None)
    one_by_one, together = (classify(texts, batch_size=size) for size in (1, 3))
    for first, second, logits in zip(one_by_one, together, wanted, strict=True):
        scores = {entry["label"]: entry["score"] for entry in second}
        assert scores == pytest.approx({entry["label"]: entry["score"] for entry in first}, abs=1e-6)
        assert [scores[f"LABEL_{k}"] for k in range(3)] == pytest.approx(logits.softmax(-1).tolist(), abs=1e-5)
    if form == "single":
        script = (
            "import hf_attention_zoo, torch\nfrom transformers import pipeline\n"
            f"p = pipeline('feature-extraction', model={str(tmp_path)!r})\n"
            f"print('shape', list(torch.tensor(p({TEXTS[0]!r})).shape))"
        )
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == "shape [1, 4, 12]"
        assert "UNEXPECTED" not in done.stdout + done.stderr  # the layers of labels are known to be left out


def test_trainer_lowers_the_loss_and_evaluates_on_logits_alone(tokenizer: TextTokenizer, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = SelfAttentiveForSequenceClassification(ROW.tiny_config())
    examples = [
        {**tokenizer(text), "labels": k % 2} for k, text in enumerate(["a dog", "the cat", "a bird", "cat"] * 4)
    ]
    seen = []
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            str(tmp_path),
            per_device_train_batch_size=4,
            max_steps=40,
            learning_rate=1e-2,
            report_to=[],
            use_cpu=True,
            gradient_accumulation_steps=2,
            logging_steps=10,
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=examples,
        eval_dataset=examples,
        processing_class=tokenizer,
        compute_metrics=lambda made: seen.append(made.predictions) or {},
    )
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    assert trainer.evaluate()["eval_loss"] < 0.9 * before
    assert all(predictions.shape == (16, 3) for predictions in seen)
