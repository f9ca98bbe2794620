"""Puts a checkpoint folder on the Hub, or says exactly why it cannot, without changing the folder."""

import os
import re
import tempfile
from pathlib import Path

from huggingface_hub import CommitOperationAdd, HfApi, get_token, is_offline_mode
from huggingface_hub.errors import HfHubHTTPError

from hf_attention_zoo.folders.checkpoint_folder import (
    RECORDS,
    check_checkpoint,
    check_nothing_private,
    published_files,
    sent_content,
)
from hf_attention_zoo.hub.cards import build_card, generated_name, write_card
from hf_attention_zoo.hub.code_export import export_with_code

TRANSPORT_ERRORS = tuple(base for base in HfHubHTTPError.__bases__ if issubclass(base, Exception))
"""OSError and the base error of the HTTP library that huggingface_hub is built on, whichever one that is."""

NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?")


class PublishingError(RuntimeError):
    """The Hub could not be reached or did not accept the upload. The local folder is as it was."""


def publish(
    folder: str | os.PathLike[str],
    repo_id: str,
    *,
    private: bool = False,
    token: str | None = None,
    with_code: bool = False,
    revision: str | None = None,
    commit_message: str | None = None,
) -> str:
    """Uploads a checkpoint folder in one commit and returns the address of the repository.

    A README.md that was generated goes up anew with the repository's id in its examples, one that a person wrote goes
    up as it is, and a missing one is generated, and written into the folder once the upload is through. `with_code`
    adds the package's modules, so that the repository loads with `trust_remote_code=True` without this package.
    `revision` names a branch, which is created if need be. `token` defaults to the one that `hf auth login` stored.
    Files that are on the Hub and no longer in the folder stay there.

    training.json and metrics.json are sent without the folders of the machine; `files_to_send` lists what goes along.

    Raises ValueError for an incomplete folder, pickled weights, a file with an access token or a user's folder in it,
    or a name that the Hub does not allow; PublishingError without token or network and when the Hub refuses. Nothing
    local is changed then.
    """
    source = check_checkpoint(folder)
    check_repo_id(repo_id)
    files = published_files(source)
    check_nothing_private(source, files)
    missing = not (source / "README.md").is_file()
    generated = missing or generated_name(source) is not None
    if generated:
        build_card(source, name=repo_id)  # whatever is wrong with the records shows before anything is sent
    if is_offline_mode():
        raise PublishingError(
            f"nothing was uploaded to {repo_id}: offline mode is on. Unset HF_HUB_OFFLINE (and TRANSFORMERS_OFFLINE) "
            f"and publish again; {source} is unchanged."
        )
    token = token or get_token()
    if token is None:
        raise PublishingError(
            f"nothing was uploaded to {repo_id}: there is no access token. Run `hf auth login`, set HF_TOKEN, or pass "
            f"token=...; it needs write access. {source} is unchanged."
        )

    with tempfile.TemporaryDirectory() as scratch:
        upload_from = source
        if with_code:
            upload_from = export_with_code(source, Path(scratch) / source.resolve().name)
            files = published_files(upload_from)
        operations = [
            CommitOperationAdd(path.as_posix(), content_to_send(upload_from / path))
            for path in files
            if not (generated and path == Path("README.md"))
        ]
        api = HfApi(token=token)
        created = False
        try:
            full_id = api.create_repo(repo_id, private=private, exist_ok=True).repo_id
            created = True
            if generated:  # with the name under which others load it, and a word on the code that travels along
                card = build_card(upload_from, name=full_id)
                operations.append(CommitOperationAdd("README.md", card.encode("utf-8")))
            if revision is not None and revision != "main":
                api.create_branch(full_id, branch=revision, exist_ok=True)
            api.create_commit(
                full_id,
                operations,
                commit_message=commit_message or f"Publish {source.resolve().name}",
                revision=revision,
            )
        except TRANSPORT_ERRORS as error:
            raise PublishingError(explain(error, repo_id, source, created)) from error
    if missing:
        write_card(source, name=full_id)
    address = f"{api.endpoint}/{full_id}"
    return address if revision in (None, "main") else f"{address}/tree/{revision}"


def content_to_send(path: Path) -> str | bytes:
    """A file as the upload takes it: by its path, or its content where that is not sent as it lies there."""
    return sent_content(path) if path.name in RECORDS else str(path)


def files_to_send(folder: str | os.PathLike[str], *, with_code: bool = False) -> dict[str, int]:
    """Name and bytes of every file that `publish` would send, the card among them. Nothing is sent or changed.

    Raises ValueError as `publish` does for what it would refuse in the folder.
    """
    source = check_checkpoint(folder)
    check_nothing_private(source, published_files(source))
    with tempfile.TemporaryDirectory() as scratch:
        sent = export_with_code(source, Path(scratch) / source.resolve().name) if with_code else source
        sizes = {path.as_posix(): len(sent_content(sent / path)) for path in published_files(sent)}
        if "README.md" not in sizes or generated_name(source) is not None:
            sizes["README.md"] = len(build_card(sent, name=source.resolve().name).encode("utf-8"))
    return dict(sorted(sizes.items()))


def check_repo_id(repo_id: str) -> None:
    """Raises a ValueError for a name the Hub would refuse."""
    parts = repo_id.split("/") if isinstance(repo_id, str) else []
    wrong = (
        not 1 <= len(parts) <= 2
        or not all(NAME.fullmatch(part) for part in parts)
        or "--" in repo_id
        or ".." in repo_id
        or len(repo_id) > 96
        or repo_id.endswith(".git")
    )
    if wrong:
        raise ValueError(
            f"{repo_id!r} is no repository name. Allowed are `name` or `owner/name` of letters, digits, `-`, `_` and "
            "`.`, at most 96 characters, neither starting nor ending with `-` or `.`, without `--` or `..` and not "
            "ending in `.git`; for example rnnsearch-de-en."
        )


def explain(error: BaseException, repo_id: str, folder: Path, created: bool) -> str:
    """What went wrong at the Hub, in words that say what to do."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    reason = getattr(error, "server_message", None) or str(error).strip().splitlines()[0]
    if status == 401:
        advice = "The token is not valid (or has expired). Run `hf auth login` with a token that may write"
    elif status == 403:
        advice = "The token may not write there. Use one with write access, or a name that belongs to you"
    elif status is None:
        advice = "The Hub could not be reached. Check the network and HF_ENDPOINT"
    else:
        advice = f"The Hub answered with status {status}"
    done = "the repository exists now but is without these files" if created else "nothing was uploaded"
    return f"{repo_id}: {done} ({reason}). {advice}, then publish again; {folder} is unchanged."
