"""Captioners through the training command: real pictures from a folder, resumed runs, frozen encoders, scores."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from training_runs import check_two_processes
from transformers import AutoModelForImageTextToText, AutoProcessor

from hf_attention_zoo.cli.command import main
from hf_attention_zoo.images import efficientnet_lite0
from hf_attention_zoo.images.efficientnet_lite0 import EfficientNetLite0
from hf_attention_zoo.images.feature_cache import write_features
from hf_attention_zoo.images.picture_processor import PictureProcessor
from hf_attention_zoo.tasks.captions.examples import (
    CaptionCollator,
    CaptionExamples,
    FittedPictures,
    fitted_pictures,
)
from hf_attention_zoo.tasks.captions.grid_pictures import write_grid_pictures
from hf_attention_zoo.tasks.captions.rows import load_captions
from hf_attention_zoo.tasks.captions.training import CaptionMetrics
from hf_attention_zoo.tasks.train import run_training
from hf_attention_zoo.training.optimizers import GravesRMSProp
from hf_attention_zoo.training.run_plan import parse_run

SIZES = ["--config.embedding_size", "12", "--config.hidden_size", "16", "--config.annotation_size", "8"]
SIZES += ["--config.grid_height", "4", "--config.grid_width", "4", "--config.initializer_range", "0.2"]
QUICK = ["--per_device_train_batch_size", "8", "--logging_steps", "2", "--disable_tqdm", "True", "--report_to", "none"]


@pytest.fixture(scope="module")
def grids(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = {"train": 48, "validation": 8, "test": 8}
    return write_grid_pictures(tmp_path_factory.mktemp("grids"), sizes, cells=2, pixels=16, most=2)


def flags(grids: Path, out: Path, *more: str) -> list[str]:
    return ["show_attend_tell", "--dataset", str(grids), "--output_dir", str(out), *SIZES, *QUICK, *more]


def test_a_captioner_trains_is_scored_drawn_and_loaded(
    grids: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    channels = ["--config.encoder_channels", "[4, 8]"]
    assert main(["train", *flags(grids, out, *channels, "--num_train_epochs", "4", "--learning_rate", "0.02")]) == 0
    assert "validation bleu1:" in capsys.readouterr().out
    facts = json.loads((out / "training.json").read_text())
    assert facts["training_pictures"] == 48 and facts["target_tokens"] > 0
    assert (out / "processor_config.json").is_file() and not (out / "run.json").exists()
    model, processor = AutoModelForImageTextToText.from_pretrained(out), AutoProcessor.from_pretrained(out)
    assert model.config.vocab_size == len(processor.tokenizer)
    assert processor.image_processor.size["height"] == 16
    assert main(["evaluate", str(out), "--captions", str(tmp_path / "said.txt"), "--num_beams", "2"]) == 0
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["dataset"]["rows"] == 8 and metrics["decoding"]["num_beams"] == 2
    assert set(metrics["baselines"]) == {"most_frequent", "nearest"}
    assert metrics["results"]["bleu4"]["signature"].startswith("nrefs:1")
    assert len((tmp_path / "said.txt").read_text().splitlines()) == 8


@pytest.mark.parametrize("attention", ["soft", "hard"])
def test_the_loss_falls_and_a_stopped_run_goes_on_to_the_same_losses(
    attention: str, grids: Path, tmp_path: Path
) -> None:
    options = ["--config.encoder_channels", "[4, 8]", "--eval_strategy", "no", "--load_best_model_at_end", "False"]
    options += ["--config.attention", attention]
    options += [
        "--save_total_limit",
        "3",
        "--save_strategy",
        "steps",
        "--save_steps",
        "6",
        "--max_steps",
        "12",
        "--learning_rate",
        "0.02",
    ]
    whole = run_training(parse_run(flags(grids, tmp_path / "whole", *options)), say=lambda text: None)
    losses = [entry["loss"] for entry in whole.log_history if "loss" in entry]
    assert losses[-1] < losses[0] or attention == "hard"  # whose loss has the reward in it, which the baseline follows
    (tmp_path / "whole" / "training.json").unlink()
    for late in (tmp_path / "whole").glob("checkpoint-12*"):
        (late / "trainer_state.json").unlink()
    plan = parse_run(
        flags(
            grids, tmp_path / "whole", *options, "--resume_from_checkpoint", str(tmp_path / "whole" / "checkpoint-6")
        )
    )
    resumed = run_training(plan, say=lambda text: None)
    assert [entry["loss"] for entry in resumed.log_history if "loss" in entry] == losses


def test_a_run_stops_where_bleu_has_stopped_and_keeps_the_best_epoch(
    grids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, score = iter([1.0, 3.0, 2.0, 2.5, *[0.0] * 9]), CaptionMetrics.__call__
    monkeypatch.setattr(CaptionMetrics, "__call__", lambda self, it: {**score(self, it), "bleu4": next(given)})
    options = ["--config.encoder_channels", "[4, 8]", "--metric_for_best_model", "bleu4", "--num_train_epochs", "9"]
    options += ["--early_stopping_patience", "2", "--generation_max_length", "4"]
    result = run_training(parse_run(flags(grids, tmp_path / "run", *options)), say=lambda text: None)
    logged = [entry["eval_bleu4"] for entry in result.log_history if "eval_bleu4" in entry]
    assert logged[:4] == [1.0, 3.0, 2.0, 2.5] and len(logged) <= 5  # the model that is kept is scored once more
    facts = json.loads((tmp_path / "run" / "training.json").read_text())
    assert facts["epochs"] == 4
    (best,) = (tmp_path / "run").glob("checkpoint-12")  # the second epoch's, 6 steps each
    kept, second = (load_file(folder / "model.safetensors") for folder in (tmp_path / "run", best))
    torch.testing.assert_close(kept, second)


def test_given_regions_stand_in_for_pictures(grids: Path, tmp_path: Path) -> None:
    folder, values = tmp_path / "data", torch.Generator().manual_seed(3)
    folder.mkdir()
    names = [f"{word}-{k}.jpg" for k in range(12) for word in ("red", "blue")]
    for split, chosen in (("train", names), ("validation", names[:4]), ("test", names[4:8])):
        lines = [
            json.dumps({"file_name": name, "caption": f"there is a {name.partition('-')[0]} one"}) for name in chosen
        ]
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shade = torch.tensor([1.0 if name.startswith("red") else -1.0 for name in names])
    write_features(
        folder / "regions.safetensors", names, shade[:, None, None] + 0.1 * torch.randn(24, 4, 8, generator=values)
    )
    out, given = tmp_path / "run", ["--config.image_encoder", "regions", "--warmup_steps", "0"]
    assert main(["train", *flags(folder, out, *given, "--num_train_epochs", "8", "--learning_rate", "0.04")]) == 0
    assert main(["evaluate", str(out)]) == 0
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["results"]["exact"] == metrics["baselines"]["nearest"]["exact"] == 100.0
    with pytest.raises(ValueError, match=r"has regions of 8 numbers.*--config.annotation_size 8"):
        run_training(parse_run(flags(folder, tmp_path / "other", *given, "--config.annotation_size", "6")))
    with pytest.raises(ValueError, match=r"there is no regions\.safetensors beside the data"):
        run_training(parse_run(flags(grids, tmp_path / "none", *given)))


@pytest.mark.slow
def test_two_processes_give_the_losses_of_one(grids: Path, tmp_path: Path) -> None:
    options = ["--config.encoder_channels", "[4, 8]", "--learning_rate", "0.02"]
    check_two_processes(lambda *more, folder: flags(grids, tmp_path / folder, *options, *more), tmp_path)


def test_a_frozen_encoder_is_run_once_for_all_epochs(
    grids: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    state, calls = EfficientNetLite0().state_dict(), []
    place = "hf_attention_zoo.models.show_attend_tell.layers_show_attend_tell.pretrained_lite0"
    monkeypatch.setattr(place, lambda: state)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    forward = efficientnet_lite0.EfficientNetLite0.forward
    monkeypatch.setattr(
        efficientnet_lite0.EfficientNetLite0, "forward", lambda self, x: calls.append(len(x)) or forward(self, x)
    )
    options = ["--recipe", "small-imagenet", "--num_train_epochs", "2", "--config.annotation_size", "112"]
    run_training(parse_run(flags(grids, tmp_path / "run", *options)), say=lambda text: None)
    assert sum(calls) == 48 + 8
    assert len(list((tmp_path / "cache" / "attention_zoo_regions").glob("*.safetensors"))) == 2
    saved = AutoModelForImageTextToText.from_pretrained(tmp_path / "run")
    torch.testing.assert_close(saved.get_encoder().image_encoder.state_dict(), state)


def test_pictures_of_a_large_split_are_opened_when_they_are_wanted(grids: Path) -> None:
    rows, processor = load_captions(grids)["validation"], PictureProcessor(size={"height": 8, "width": 8})
    processor.do_center_crop, processor.do_pad = False, True
    kept = fitted_pictures(rows, processor)
    opened = pickle.loads(pickle.dumps(fitted_pictures(rows, processor, most_bytes=kept.nbytes - 1)))
    assert kept.shape == (len(rows), 8, 8, 3) and isinstance(opened, FittedPictures)
    assert all(np.array_equal(opened[k], kept[k]) for k in range(len(rows)))
    collate, batches = CaptionCollator(processor), []
    for pictures in (kept, opened):
        examples = CaptionExamples(pictures, [3, 1], [[5], [6, 7]], "pixel_values")
        batches.append(collate([examples[0], examples[1]]))
    assert torch.equal(batches[0]["pixel_values"], batches[1]["pixel_values"])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--source_lang", "en"], "--source_lang says nothing to a captioner"),
        (["--label_smoothing_factor", "0.1"], "label smoothing would take the loss"),
        (["--config.image_encoder", "regions", "--recipe", "none"], "there is no regions.safetensors beside the data"),
        (["--max_target_length", "1"], "captions are longer than max_target_length=1"),
        (["--validation_split", "dev"], "no split 'dev' to validate on"),
    ],
)
def test_settings_that_cannot_work_are_refused(grids: Path, tmp_path: Path, more: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run_training(parse_run(flags(grids, tmp_path / "run", *more)), say=lambda text: None)


def test_captions_that_are_too_long_are_left_out_and_said_once(grids: Path, tmp_path: Path) -> None:
    folder, said = tmp_path / "longer", []
    shutil.copytree(grids, folder)
    file = folder / "train.jsonl"
    (caption,) = load_captions(str(grids))["train"].captions[0]  # four words, as all of them
    file.write_text(file.read_text().replace(caption, f"{caption} {caption}", 1))
    plan = parse_run(flags(folder, tmp_path / "run", "--max_steps", "1", "--max_target_length", "6"))
    run_training(plan, say=said.append)
    assert [line for line in said if line.startswith("left out")] == ["left out 1 captions with too many tokens"]


def test_rmsprop_is_that_of_graves_written_out() -> None:
    weight = torch.tensor([1.0, -2.0], requires_grad=True)
    optimizer = GravesRMSProp([weight], lr=0.1)
    n, m, v, w = torch.zeros(2), torch.zeros(2), torch.zeros(2), weight.detach().clone()
    for step in range(4):
        gradient = torch.tensor([0.3, -1.5]) * (step + 1)
        weight.grad = gradient.clone()
        optimizer.step()
        n, m = 0.95 * n + 0.05 * gradient**2, 0.95 * m + 0.05 * gradient
        v = 0.9 * v - 0.1 * gradient / (n - m**2 + 1e-4).sqrt()
        w = w + v
        torch.testing.assert_close(weight.detach(), w)
