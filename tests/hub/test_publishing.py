"""Publishing to a Hub on loopback, and every reason for which it must not happen."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from huggingface_hub import ModelCard, constants
from loopback_hub import READ_ONLY_TOKEN, TOKEN, LoopbackHub
from safetensors.torch import load_file

from hf_attention_zoo.hub.cards import generated_name, write_card
from hf_attention_zoo.hub.publishing import PublishingError, check_repo_id, publish

PUSH = """
import sys
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
import hf_attention_zoo
AutoModelForSeq2SeqLM.from_pretrained(sys.argv[1]).push_to_hub("pushed", private=True)
AutoTokenizer.from_pretrained(sys.argv[1]).push_to_hub("pushed")
"""

RELOAD = """
import json, sys
import hf_attention_zoo
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(sys.argv[1]), AutoTokenizer.from_pretrained(sys.argv[1])
batch = tokenizer(["Der Hund läuft."], text_target=["The dog runs."], return_tensors="pt")
print(json.dumps({
    "ids": model.generate(batch["input_ids"], num_beams=3, max_new_tokens=6).tolist(),
    "labels": batch["labels"].tolist(),
    "logits": model(**batch).logits.flatten().tolist(),
    "class": type(tokenizer).__name__,
}))
"""

RELOAD_WITHOUT_PACKAGE = 'import sys; sys.modules["hf_attention_zoo"] = None\n' + RELOAD.replace(
    "import hf_attention_zoo\n", ""
).replace("from_pretrained(sys.argv[1])", "from_pretrained(sys.argv[1], trust_remote_code=True, revision='with-code')")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def expected(folder: Path) -> dict[str, object]:
    """What RELOAD prints, computed from the local folder."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(["Der Hund läuft."], text_target=["The dog runs."], return_tensors="pt")
    return {
        "ids": model.generate(batch["input_ids"], num_beams=3, max_new_tokens=6).tolist(),
        "labels": batch["labels"].tolist(),
        "logits": model(**batch).logits.flatten().tolist(),
        "class": "TranslationTokenizer",
    }


def same(found: dict[str, object], wanted: dict[str, object]) -> bool:
    """Equal, logits up to float rounding."""
    torch.testing.assert_close(torch.tensor(found.pop("logits")), torch.tensor(wanted.pop("logits")))
    return found == wanted


def test_published_folder_arrives_in_one_commit_with_a_card(online: LoopbackHub, recorded_checkpoint: Path) -> None:
    before = contents(recorded_checkpoint)
    address = publish(recorded_checkpoint, "rnnsearch-de-en", token=TOKEN, commit_message="First version")
    assert address == f"{online.url}/ada/rnnsearch-de-en"
    repository = online.repositories["ada/rnnsearch-de-en"]
    assert [commit.message for commit in repository.branches["main"]] == ["initial commit", "First version"]
    assert not repository.private
    pushed = online.files("ada/rnnsearch-de-en")
    card = pushed.pop("README.md").decode()
    assert pushed == before
    assert 'model="ada/rnnsearch-de-en"' in card
    assert ModelCard(card).data.model_name == "rnnsearch-de-en"
    after = contents(recorded_checkpoint)
    assert after.pop("README.md").decode() == card
    assert after == before


def test_publishing_again_adds_a_commit_and_keeps_a_card_that_was_written_by_hand(
    online: LoopbackHub, checkpoint: Path
) -> None:
    (checkpoint / "README.md").write_text("# By hand\n")
    publish(checkpoint, "ada/model", token=TOKEN, private=True)
    publish(checkpoint, "ada/model", token=TOKEN)
    repository = online.repositories["ada/model"]
    assert repository.private
    assert len(repository.branches["main"]) == 2, "nothing had changed"
    (checkpoint / "facts.json").write_text("{}")
    publish(checkpoint, "ada/model", token=TOKEN)
    assert len(repository.branches["main"]) == 3
    assert online.files("ada/model")["README.md"] == b"# By hand\n"
    assert (checkpoint / "README.md").read_text() == "# By hand\n"


def test_a_generated_card_goes_up_with_the_id_of_the_repository(online: LoopbackHub, checkpoint: Path) -> None:
    local = write_card(checkpoint).read_text()
    publish(checkpoint, "model", token=TOKEN)
    pushed = online.files("ada/model")["README.md"].decode()
    assert 'model="ada/model"' in pushed and "seen from the one above it" not in pushed
    assert (checkpoint / "README.md").read_text() == local
    assert generated_name(checkpoint) == "rnnsearch-de-en"


def test_wrong_records_are_found_before_anything_is_sent(online: LoopbackHub, recorded_checkpoint: Path) -> None:
    (recorded_checkpoint / "metrics.json").write_text("{}")
    with pytest.raises(ValueError, match=r"metrics\.json has no `results`"):
        publish(recorded_checkpoint, "ada/model", token=TOKEN)
    assert online.requests == []


def test_publishing_with_code_on_a_branch_loads_by_id_where_the_package_is_not_importable(
    online: LoopbackHub, checkpoint: Path, run_python: Callable[..., str], tmp_path: Path
) -> None:
    address = publish(checkpoint, "ada/coded", token=TOKEN, with_code=True, revision="with-code")
    assert address.endswith("/ada/coded/tree/with-code")
    pushed = online.files("ada/coded", "with-code")
    assert online.files("ada/coded", "main") == {}
    assert "modeling_rnnsearch.py" in pushed
    assert b"trust_remote_code=True" in pushed["README.md"]
    assert b"auto_map" in pushed["config.json"]
    assert not list(checkpoint.glob("*.py"))
    assert "auto_map" not in (checkpoint / "config.json").read_text()
    assert "trust_remote_code" not in (checkpoint / "README.md").read_text()
    found = run_python(RELOAD_WITHOUT_PACKAGE, "ada/coded", env=online.environment(tmp_path / "home"))
    assert same(json.loads(found), expected(checkpoint))


def test_push_to_hub_of_transformers_round_trips_model_and_tokenizer(
    loopback_hub: LoopbackHub, checkpoint: Path, run_python: Callable[..., str], tmp_path: Path
) -> None:
    run_python(PUSH, checkpoint, env=loopback_hub.environment(tmp_path / "sender"))
    assert loopback_hub.repositories["ada/pushed"].private
    pushed = loopback_hub.files("ada/pushed")
    assert {"config.json", "generation_config.json", "model.safetensors", "target_tokenizer.json"} <= set(pushed)
    found = run_python(RELOAD, "ada/pushed", env=loopback_hub.environment(tmp_path / "receiver"))
    assert same(json.loads(found), expected(checkpoint))


def test_what_training_leaves_behind_stays_at_home(online: LoopbackHub, checkpoint: Path) -> None:
    for name in (
        "checkpoint-10/optimizer.pt",
        "runs/events.out.tfevents.1",
        "training_args.bin",
        ".env",
        "optimizer.pt",
        "carried_state_0_of_1.safetensors",
    ):
        (checkpoint / name).parent.mkdir(exist_ok=True)
        (checkpoint / name).write_bytes(b"\x80")
    (checkpoint / "pictures").mkdir()
    (checkpoint / "pictures" / "one.png").write_bytes(b"png")
    publish(checkpoint, "ada/model", token=TOKEN)
    pushed = set(online.files("ada/model"))
    assert "pictures/one.png" in pushed
    assert not any(
        word in name for name in pushed for word in ("checkpoint", "runs", "training_args", ".env", "optim", "carried")
    )


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights/best.CKPT", "vocabulary.pkl"])
def test_pickled_files_are_refused(online: LoopbackHub, checkpoint: Path, name: str) -> None:
    (checkpoint / name).parent.mkdir(exist_ok=True)
    (checkpoint / name).write_bytes(b"\x80\x04")
    with pytest.raises(ValueError, match=f"pickled files: {name}"):
        publish(checkpoint, "ada/model", token=TOKEN)
    assert online.requests == []


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("config.json", r"no config\.json"),
        ("model.safetensors", r"no model\.safetensors"),
        ("tokenizer_config.json", r"no tokenizer_config\.json"),
    ],
)
def test_an_incomplete_folder_is_refused(online: LoopbackHub, checkpoint: Path, missing: str, message: str) -> None:
    (checkpoint / missing).unlink()
    before = contents(checkpoint)
    with pytest.raises(ValueError, match=message):
        publish(checkpoint, "ada/model", token=TOKEN)
    assert contents(checkpoint) == before
    assert online.requests == []


def test_missing_weight_shards_are_named(online: LoopbackHub, checkpoint: Path) -> None:
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model.safetensors"}}
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ValueError, match=r"model-00001-of-00002\.safetensors named in"):
        publish(checkpoint, "ada/model", token=TOKEN)
    assert online.requests == []


def test_a_folder_that_does_not_exist_is_refused(online: LoopbackHub, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a folder"):
        publish(tmp_path / "nowhere", "ada/model", token=TOKEN)
    assert online.requests == []


def test_an_access_token_in_a_file_is_never_uploaded(online: LoopbackHub, recorded_checkpoint: Path) -> None:
    training = json.loads((recorded_checkpoint / "training.json").read_text())
    training["command"] += f" --hub_token {TOKEN}"
    (recorded_checkpoint / "training.json").write_text(json.dumps(training))
    with pytest.raises(ValueError, match=r"training\.json contains what looks like an access token") as caught:
        publish(recorded_checkpoint, "ada/model", token=TOKEN)
    assert TOKEN not in str(caught.value)
    assert online.requests == []


@pytest.mark.parametrize(
    "name",
    ["my model", "", "a/b/c", "ada/", "-model", "model.", "a--b", "a..b", "model.git", "x" * 97, "ada/modèle", "a\n"],
)
def test_impossible_repository_names_are_refused(online: LoopbackHub, checkpoint: Path, name: str) -> None:
    with pytest.raises(ValueError, match="is no repository name"):
        publish(checkpoint, name, token=TOKEN)
    assert online.requests == []


@pytest.mark.parametrize("name", ["m", "ada/rnnsearch-de-en", "Ada_1/model.v2", "x" * 96])
def test_possible_repository_names_pass(name: str) -> None:
    assert check_repo_id(name) is None


def test_without_a_token_nothing_is_sent_or_changed(online: LoopbackHub, checkpoint: Path) -> None:
    before = contents(checkpoint)
    with pytest.raises(PublishingError, match=r"no access token.*hf auth login"):
        publish(checkpoint, "ada/model")
    assert contents(checkpoint) == before
    assert online.requests == []


def test_a_token_from_the_environment_is_used(
    online: LoopbackHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    publish(checkpoint, "model")
    assert "model.safetensors" in online.files("ada/model")


def test_offline_mode_is_named_and_changes_nothing(
    online: LoopbackHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    before = contents(checkpoint)
    with pytest.raises(PublishingError, match=r"offline mode is on.*HF_HUB_OFFLINE"):
        publish(checkpoint, "ada/model", token=TOKEN)
    assert contents(checkpoint) == before
    assert online.requests == []


def test_without_network_nothing_is_changed(
    online: LoopbackHub, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    before = contents(checkpoint)
    with pytest.raises(PublishingError, match=r"nothing was uploaded.*could not be reached"):
        publish(checkpoint, "ada/model", token=TOKEN)
    assert contents(checkpoint) == before


@pytest.mark.parametrize(
    ("repo_id", "token", "message"),
    [
        ("ada/model", "hf_" + "wrong" * 6, "token is not valid"),
        ("ada/model", READ_ONLY_TOKEN, "may not write"),
        ("somebody/model", TOKEN, "belongs to you"),
    ],
)
def test_a_refusal_of_the_hub_says_what_to_do(
    online: LoopbackHub, checkpoint: Path, repo_id: str, token: str, message: str
) -> None:
    before = contents(checkpoint)
    with pytest.raises(PublishingError, match=message) as caught:
        publish(checkpoint, repo_id, token=token)
    assert "nothing was uploaded" in str(caught.value)
    assert token not in str(caught.value)
    assert contents(checkpoint) == before
    assert online.repositories == {}


def test_a_commit_that_fails_leaves_the_folder_and_a_second_try_goes_through(
    online: LoopbackHub, checkpoint: Path
) -> None:
    before = contents(checkpoint)
    online.fail_commits_with = 500
    with pytest.raises(PublishingError, match=r"exists now but is without these files.*status 500"):
        publish(checkpoint, "ada/model", token=TOKEN)
    assert contents(checkpoint) == before
    online.fail_commits_with = None
    publish(checkpoint, "ada/model", token=TOKEN)
    assert "README.md" in online.files("ada/model")


def test_pushed_weights_are_the_saved_ones(online: LoopbackHub, checkpoint: Path, tmp_path: Path) -> None:
    publish(checkpoint, "ada/model", token=TOKEN)
    (tmp_path / "pushed.safetensors").write_bytes(online.files("ada/model")["model.safetensors"])
    pushed, saved = load_file(tmp_path / "pushed.safetensors"), load_file(checkpoint / "model.safetensors")
    assert pushed.keys() == saved.keys()
    assert all(torch.equal(pushed[name], saved[name]) for name in saved)
