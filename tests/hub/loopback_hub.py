"""A Hub on 127.0.0.1 that knows just enough for uploads and downloads of models.

It keeps repositories in memory, answers every upload with "regular" (file contents travel inside the commit), asks for
a token like the real one, and can be told to fail. Clients need a process of their own for downloads, because
huggingface_hub reads `HF_ENDPOINT` when it is imported; `LoopbackHub.environment` has what they need.
"""

import base64
import hashlib
import json
import os
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_" + "loopback" * 4
READ_ONLY_TOKEN = "hf_" + "readonly" * 4


class Commit:
    """The complete files of one state of a branch."""

    def __init__(self, files: dict[str, bytes], message: str) -> None:
        self.files = files
        self.message = message
        self.sha = hashlib.sha1(os.urandom(16)).hexdigest()


class Repository:
    """Branches, each a list of commits, the newest last."""

    def __init__(self, private: bool) -> None:
        self.private = private
        self.branches: dict[str, list[Commit]] = {"main": [Commit({}, "initial commit")]}

    def at(self, revision: str) -> Commit | None:
        """The commit of a branch name or of a hash."""
        if revision in self.branches:
            return self.branches[revision][-1]
        return next((commit for line in self.branches.values() for commit in line if commit.sha == revision), None)


class LoopbackHub:
    """Use as a context manager; `repositories` holds what was pushed."""

    def __init__(self, user: str = "ada") -> None:
        self.user = user
        self.repositories: dict[str, Repository] = {}
        self.requests: list[tuple[str, str]] = []
        self.fail_commits_with: int | None = None
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> "LoopbackHub":
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(timeout=10)

    def files(self, repo_id: str, revision: str = "main") -> dict[str, bytes]:
        """Path -> content of the newest commit of a branch."""
        commit = self.repositories[repo_id].at(revision)
        assert commit is not None
        return commit.files

    def environment(self, home: Path, token: str | None = TOKEN) -> dict[str, str]:
        """The environment of a client process: this Hub and nothing else, with caches of its own."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("HF_", "HUGGING", "TRANSFORMERS_"))
            and name.lower() not in ("http_proxy", "all_proxy")
        }
        own = {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            "OMP_NUM_THREADS": "1",
        }
        return {**kept, **own, **({"HF_TOKEN": token} if token else {})}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: object) -> None:
                """Tests stay quiet."""

            def do_GET(self) -> None:
                self.answer()

            do_HEAD = do_POST = do_GET

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length) if length else b""
                path = unquote(urlsplit(self.path).path)
                hub.requests.append((self.command, path))
                token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
                status, content, headers = hub.respond(self.command, path, body, token)
                if not isinstance(content, bytes):
                    content = json.dumps(content).encode()
                    headers = {"Content-Type": "application/json", **headers}
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

        return Handler

    def respond(self, method: str, path: str, body: bytes, token: str | None) -> tuple[int, Any, dict[str, str]]:
        """Status, content and headers for one request."""
        writes = method == "POST"
        if writes and token not in (TOKEN, READ_ONLY_TOKEN):
            return self.refuse(401, "Invalid username or password.")
        if path == "/api/whoami-v2":
            return 200, {"type": "user", "name": self.user, "orgs": []}, {}
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}, {}
        if writes and token == READ_ONLY_TOKEN:
            return self.refuse(403, "Forbidden: pass a token with write access.")
        if path == "/api/repos/create":
            return self.create(json.loads(body))
        found = re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/(\w+)/([^/]+))?", path)
        if found:
            return self.model_api(*found.groups(), body=body)
        found = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if found:
            return self.download(*found.groups())
        return self.refuse(404, f"no such address: {path}")

    def create(self, wish: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        """A new repository, 409 if it exists, 403 in somebody else's name."""
        owner = wish.get("organization") or self.user
        if owner != self.user:
            return self.refuse(403, f"You don't have the rights to create a model under the namespace {owner!r}.")
        repo_id = f"{owner}/{wish['name']}"
        about = {"url": f"{self.url}/{repo_id}", "id": repo_id, "name": repo_id}
        if repo_id in self.repositories:
            return 409, {"error": "You already created this model repo", **about}, {}
        private = wish.get("visibility") == "private" or bool(wish.get("private"))
        self.repositories[repo_id] = Repository(private)
        return 200, about, {}

    def model_api(
        self, repo_id: str, verb: str | None, revision: str | None, *, body: bytes
    ) -> tuple[int, Any, dict[str, str]]:
        """Everything below /api/models/{repo_id}."""
        repository = self.repositories.get(repo_id)
        if repository is None:
            return self.refuse(404, "Repository not found", "RepoNotFound")
        if verb == "branch" and revision is not None:
            if revision in repository.branches:
                return self.refuse(409, "Reference already exists")
            repository.branches[revision] = list(repository.branches["main"])
            return 200, {}, {}
        commit = repository.at(revision or "main")
        if commit is None:
            return self.refuse(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        if verb == "preupload":
            wanted = [file["path"] for file in json.loads(body)["files"]]
            answers = [
                {"path": path, "uploadMode": "regular", "shouldIgnore": False, "oid": blob_id(commit.files.get(path))}
                for path in wanted
            ]
            return 200, {"files": answers}, {}
        if verb == "commit":
            if self.fail_commits_with is not None:
                return self.refuse(self.fail_commits_with, "The disk is full.")
            return self.commit(repo_id, repository, revision or "main", body)
        if verb == "tree":
            return 200, [described(path, data) for path, data in commit.files.items()], {}
        about = {
            "_id": repo_id,
            "id": repo_id,
            "modelId": repo_id,
            "sha": commit.sha,
            "private": repository.private,
            "tags": [],
            "siblings": [{"rfilename": path} for path in commit.files],
        }
        return 200, about, {}

    def commit(
        self, repo_id: str, repository: Repository, branch: str, body: bytes
    ) -> tuple[int, Any, dict[str, str]]:
        """Applies the operations, one JSON object a line, to the newest state of the branch."""
        files, message = dict(repository.branches[branch][-1].files), ""
        for line in body.splitlines():
            operation = json.loads(line)
            value = operation["value"]
            if operation["key"] == "header":
                message = value["summary"]
            elif operation["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif operation["key"] == "deletedFile":
                files.pop(value["path"], None)
            else:
                return self.refuse(400, f"unknown operation {operation['key']!r}")
        new = Commit(files, message)
        repository.branches[branch].append(new)
        return 200, {"commitOid": new.sha, "commitUrl": f"{self.url}/{repo_id}/commit/{new.sha}"}, {}

    def download(self, repo_id: str, revision: str, path: str) -> tuple[int, Any, dict[str, str]]:
        """One file with the headers by which the client caches it."""
        repository = self.repositories.get(repo_id)
        if repository is None:
            return self.refuse(404, "Repository not found", "RepoNotFound")
        commit = repository.at(revision)
        if commit is None:
            return self.refuse(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        headers = {"X-Repo-Commit": commit.sha}
        if path not in commit.files:
            return 404, {"error": "Entry not found"}, {"X-Error-Code": "EntryNotFound", **headers}
        return 200, commit.files[path], {"ETag": f'"{blob_id(commit.files[path])}"', **headers}

    @staticmethod
    def refuse(status: int, message: str, code: str | None = None) -> tuple[int, Any, dict[str, str]]:
        """An error as the Hub words it: in the body and in two headers."""
        headers = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})}
        return status, {"error": message}, headers


def blob_id(data: bytes | None) -> str | None:
    """git's name for a file's content."""
    return None if data is None else hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def described(path: str, data: bytes) -> dict[str, Any]:
    """A file in a listing."""
    return {"type": "file", "path": path, "size": len(data), "oid": blob_id(data)}
