"""A small Hugging Face Hub on this computer, which can also misbehave; no test asks the real one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import itertools
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pytest

from tokstudio import FormatError, load
from tokstudio.core.base import subprocesses
from tokstudio.core.base.subprocesses import ChildProcess
from tokstudio.core.hub import fetching

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PAGE = "/pages/"


@dataclass
class Repository:
    files: dict[str, bytes]
    commit: str = COMMIT
    revisions: tuple[str, ...] = ("main",)
    refusal: tuple[int, str] | None = None  # the status and the code of each answer about its files
    large: frozenset[str] = frozenset()  # these are stored elsewhere, and the answer redirects there
    gated: bool = False
    other: dict[str, Repository] = field(default_factory=dict)  # what other revisions have, with commits of their own


@dataclass
class Hub:
    """What the server has, what it does wrong, and what it was asked."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    pages: dict[str, bytes] = field(default_factory=dict)  # by their paths, some with their queries
    page_headers: dict[str, str] = field(default_factory=dict)
    later_headers: dict[str, str] = field(default_factory=dict)  # those of pages after one of them changed
    stalled: set[str] = field(default_factory=set)  # files of which only the first half is sent
    cut: set[str] = field(default_factory=set)  # files after whose first half the connection ends
    damaged: set[str] = field(default_factory=set)  # files that are sent with other content
    tag: str | None = None  # instead of each file's own
    status: int | None = None  # instead of each answer
    asked: list[str] = field(default_factory=list)
    half_sent: threading.Event = field(default_factory=threading.Event)
    closed: threading.Event = field(default_factory=threading.Event)
    address: str = ""
    token: str | None = None  # of the last request
    tree: bytes | None = None  # instead of the list of files
    tree_headers: dict[str, str] = field(default_factory=dict)
    sent: int = 0  # bytes of files
    elsewhere: str | None = None  # where files that are stored elsewhere are said to be
    tokens: list[str] = field(default_factory=list)  # those that arrived at the second name of this server
    whole: bool = False  # whether parts of files are refused, and files sent whole
    changes: dict[str, bytes] = field(default_factory=dict)  # what pages become after their first answer
    more: int = 0  # bytes that are sent behind each part


@lru_cache(100)
def git_hash(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None: ...

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        hub, path = self.hub, unquote(urlsplit(self.path).path)
        hub.asked.append(f"{self.command} {path}")
        hub.token = self.headers.get("Authorization")
        if self.headers.get("Host", "").startswith("localhost") and hub.token:
            hub.tokens.append(hub.token)
        if hub.status is not None:
            return self._send(hub.status, b"")
        if path.startswith(PAGE):
            page, whole = path.removeprefix(PAGE), self.path.removeprefix(PAGE)
            name = whole if whole in hub.pages else page
            return self._send_file(name, hub.pages.get(name), dict(hub.page_headers))
        prefix = "datasets/" if path.startswith(("/api/datasets/", "/datasets/")) else ""
        if path.startswith(("/api/models/", "/api/datasets/")):
            parts = path.split("/")[3:]
            return self._about(hub.repositories.get(prefix + "/".join(parts[:2])), parts[2:])
        parts = path.removeprefix(f"/{prefix}" if prefix else "/").split("/")
        repository = hub.repositories.get(prefix + "/".join(parts[:2]))
        if repository is None or parts[2:3] not in (["resolve"], ["large"]):
            return self._refuse(401, "RepoNotFound")
        if repository.refusal is not None:
            return self._refuse(*repository.refusal)
        others = {other.commit: other for other in repository.other.values()}
        if prefix and parts[3] not in (repository.commit, *others):
            return self._refuse(404, "RevisionNotFound")
        repository = others.get(parts[3], repository)
        return self._file(repository, parts[2], parts[3], "/".join(parts[4:]))

    def _about(self, repository: Repository | None, rest: list[str]) -> None:
        if repository is None:
            return self._refuse(401, "RepoNotFound")
        others = {name: other for name, other in repository.other.items() if rest and name in "/".join(rest)}
        others |= {other.commit: other for other in repository.other.values() if rest and rest[1] == other.commit}
        if others:
            [repository] = others.values()
        elif rest and rest[1] not in (*repository.revisions, repository.commit):
            return self._refuse(404, "RevisionNotFound")
        if rest[:1] == ["tree"]:
            if self.hub.tree is not None:
                return self._send(200, self.hub.tree, self.hub.tree_headers)
            folder = "/".join(rest[2:])
            below = [name for name in repository.files if not folder or name.startswith(f"{folder}/")]
            if folder and not below:
                return self._refuse(404, "EntryNotFound")
            if "recursive=true" not in self.path.lower():
                below = [name for name in below if "/" not in name.removeprefix(f"{folder}/")]
            entries = [self._entry(repository, name) for name in below]
            return self._send(200, json.dumps(entries).encode(), {"ETag": 'W/"1-a/b+="'})
        about = {"id": "any", "sha": repository.commit, "siblings": [], "gated": repository.gated}
        return self._send(200, json.dumps(about).encode(), {"ETag": 'W/"1-a/b+="'})

    def _entry(self, repository: Repository, name: str) -> dict[str, object]:
        content = repository.files[name]
        entry: dict[str, object] = {"type": "file", "path": name, "size": len(content), "oid": git_hash(content)}
        if name in repository.large:
            digest = hashlib.sha256(content).hexdigest()
            entry["lfs"] = {"oid": digest, "size": len(content), "pointerSize": 130}
        return entry

    def _file(self, repository: Repository, kind: str, revision: str, name: str) -> None:
        content = repository.files.get(name)
        if content is None:
            return self._refuse(404, "EntryNotFound")
        headers = {"X-Repo-Commit": repository.commit, "ETag": self.hub.tag or f'"{git_hash(content)}"'}
        if kind == "large":
            return self._send_file(name, content)
        if name not in repository.large:
            return self._send_file(name, content, headers)
        headers["X-Linked-ETag"] = self.hub.tag or f'"{hashlib.sha256(content).hexdigest()}"'
        headers["X-Linked-Size"] = str(len(content))
        # Elsewhere, as the library sees it.
        elsewhere = self.hub.elsewhere or self.hub.address.replace("127.0.0.1", "localhost")
        headers["Location"] = f"{elsewhere}{self.path.replace('/resolve/', '/large/')}"
        return self._send(302, b"", headers)

    def _send_file(self, name: str, content: bytes | None, headers: dict[str, str] | None = None) -> None:
        if content is None:
            self._send(404, b"")
            return
        if name in self.hub.damaged:
            content = bytes(len(content))
        if name in self.hub.changes:
            self.hub.pages[name] = self.hub.changes.pop(name)
            self.hub.page_headers = self.hub.later_headers or self.hub.page_headers
        status, total = 200, len(content)
        if (asked := self.headers.get("Range")) and not self.hub.whole:
            start, _, stop = asked.removeprefix("bytes=").partition("-")
            content = content[int(start) : int(stop) + 1]
            headers = {**(headers or {}), "Content-Range": f"bytes {start}-{stop}/{total}"}
            content += bytes(self.hub.more)
            status = 206
        self.hub.sent += len(content) if self.command == "GET" else 0
        if self.command == "HEAD" or name not in self.hub.stalled | self.hub.cut:
            self._send(status, content, headers)
            return
        self._send(status, content[: len(content) // 2], headers, len(content))
        self.wfile.flush()
        self.hub.half_sent.set()
        if name in self.hub.stalled:
            self.hub.closed.wait(60)
        self.close_connection = True

    def _refuse(self, status: int, code: str) -> None:
        self._send(status, b"{}", {"X-Error-Code": code})

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that leaves is what some tests are about."""


def seconds_pass_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a second pass at each look at the clock by which a connection stalls."""
    seconds = itertools.count(time.monotonic())
    monkeypatch.setattr(subprocesses, "monotonic", lambda: next(seconds))


@contextmanager
def lasting_connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lets one process fetch all texts while the environment is the same: a test waits for one start, not for each."""
    start, running = fetching.new_process, {}

    class Lasting:
        """A process that `closing` does not end."""

        def __init__(self, process: ChildProcess) -> None:
            self.ask, self.close = process.ask, lambda: None

    def new_process(module: str) -> ChildProcess | Lasting:
        if module != "tokstudio.core.corpus.remote.serving":
            return start(module)
        environment = frozenset(item for item in os.environ.items() if item[0] != "PYTEST_CURRENT_TEST")
        if environment not in running:
            running[environment] = start(module)
        return Lasting(running[environment])

    monkeypatch.setattr(fetching, "new_process", new_process)
    try:
        yield
    finally:
        for process in running.values():
            process.close()


@contextmanager
def local_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Runs the server, and has the libraries ask it and nobody else."""
    hub = Hub()
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    for name in ("HF_TOKEN", "HF_HUB_OFFLINE", "HF_HOME", "HF_HUB_CACHE", "TRANSFORMERS_OFFLINE", "TIKTOKEN_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", hub.address)
    try:
        with lasting_connections(monkeypatch):
            yield hub
    finally:
        hub.closed.set()
        server.shutdown()
        server.server_close()
        thread.join()


def refused(name: str) -> str:
    """What is said of a tokenizer that cannot be had."""
    with pytest.raises(FormatError) as caught:
        load(name)
    return str(caught.value)
