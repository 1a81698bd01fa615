"""Fetches the tokenizer's files of a repository of the Hugging Face Hub, through the library's own cache."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import shown
from tokstudio.core.hub.names import Name

# The files of a tokenizer, in the order in which they are preferred; the first of each is opened.
_SETS = (
    ("tokenizer.json",),
    ("vocab.json", "merges.txt"),
    ("encoder.json", "vocab.bpe"),
    ("tokenizer.model",),
    ("tiktoken.model",),
    ("tekken.json",),
    ("spiece.model",),
    ("sentencepiece.bpe.model",),
    ("vocab.txt",),
)
# Small files that belong to a tokenizer, and the model's own, which may tell its class.
_BESIDE = (
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja", "config.json"
)  # fmt: skip
_TEMPLATES = "additional_chat_templates"
_TEMPLATE = re.compile(rf"{_TEMPLATES}/[\w.-]{{1,100}}\.jinja")
_MOST_BESIDE = 64
_CUT = "the download was cut short, and nothing of it was kept: try again"
_LARGEST = 1 << 30
_PIECE = 1 << 14
# Of what the server says about a repository: bytes in all, and answers; a list of files has a thousand in each.
_LARGEST_FACTS = 1 << 25
_MOST_ANSWERS = 200
_COMMIT = re.compile(r"[0-9a-f]{40}")
_TAG = re.compile(r'(W/)?"?[A-Za-z0-9_-]{1,128}"?')
# The library makes paths in its cache of these headers, of the answers that describe a file.
_HEADERS = {
    "X-Repo-Commit": _COMMIT,
    "ETag": _TAG,
    "X-Linked-ETag": _TAG,
}


def fetch(name: Name, report: Callable[[int, int], None]) -> tuple[Path, str]:
    """The path of the file to open, and a remark if it is a copy that may be outdated.

    Raises:
        FormatError: There is no such tokenizer, it may not be read, or it did not arrive whole.
    """
    from huggingface_hub import constants

    # The library's default is 10 MB, so that most tokenizers would be one piece.
    constants.DOWNLOAD_CHUNK_SIZE = _PIECE
    address = without_password(constants.ENDPOINT)
    host = urlsplit(address).netloc
    try:
        return _Repository(name, host, report).fetch()
    except Exception as error:
        if (problem := _problem(name, address, error)) is None:
            raise
        raise FormatError(f"{name}: {problem}.") from error


def without_password(address: str) -> str:
    """The address of a server without the name and the password that may stand in it."""
    scheme, mark, rest = address.partition("://")
    return scheme + mark + rest.rpartition("@")[2]


def _problem(name: Name, address: str, error: BaseException) -> str | None:
    """What an error of the library means, as the end of a sentence; None for one that it does not tell of."""
    import httpx2
    from huggingface_hub import errors

    host = urlsplit(address).netloc
    wrappers = (errors.RevisionResolutionError, errors.LocalEntryNotFoundError)
    if isinstance(error, wrappers) and error.__cause__ is not None:
        return _problem(name, address, error.__cause__)
    match error:
        case errors.GatedRepoError():
            return (
                f"the owner asks for consent: sign in at {address}/{name.name}, accept the terms, and set "
                "HF_TOKEN to an access token of your account"
            )
        case errors.RevisionNotFoundError():
            return f"the repository has no revision {shown(name.revision or 'main')}"
        case errors.RepositoryNotFoundError():
            return (
                f"{host} has no such repository, or it is private: check the name, and for a private one set HF_TOKEN "
                "to an access token"
            )
        case errors.HfHubHTTPError() if error.response.status_code in (401, 403):
            return (
                f"{host} refuses access (status {error.response.status_code}): accept the terms of the repository "
                "there, and set HF_TOKEN to a valid access token"
            )
        case errors.HfHubHTTPError():
            return f"{host} cannot answer now (status {error.response.status_code}): try again later"
        case errors.OfflineModeIsEnabled():
            return "HF_HUB_OFFLINE is set, and there is no copy of it in the cache"
        case (
            errors.FileMetadataError()
            | json.JSONDecodeError()
            # JSON that is deep, or has other fields and values than it must have.
            | RecursionError()
            | KeyError()
            | TypeError()
            | AttributeError()
        ):
            return f"{host} does not answer as a Hugging Face Hub does: check the network connection and HF_ENDPOINT"
        case MemoryError():
            return f"what {host} sends does not fit into the memory"
        case httpx2.TimeoutException():
            return f"the connection to {host} stalls: try again later"
        case httpx2.RemoteProtocolError():
            return _CUT
        case httpx2.TransportError():
            return (
                f"{host} cannot be reached, and there is no copy of it in the cache: check the network connection and "
                "try again"
            )
        case _:
            return None


class _Repository:
    """One revision of a repository."""

    def __init__(self, name: Name, host: str, report: Callable[[int, int], None]) -> None:
        from huggingface_hub import HfApi, get_session, set_client_factory

        self._name, self._host, self._report = name, host, report
        self._answered = False
        self._left, self._answers = _LARGEST_FACTS, 0  # what may still arrive
        self._hooks = get_session().event_hooks
        set_client_factory(self._client)
        self._api: Any = HfApi(library_name="tokstudio")

    def fetch(self) -> tuple[Path, str]:
        """What the function `fetch` returns."""
        import httpx2
        from huggingface_hub import constants, errors

        commit = str(self._api.resolve_revision(self._name.name, revision=self._name.revision or None).resolved)
        if not _COMMIT.fullmatch(commit):
            raise FormatError(f"{self._name}: {self._host} names a commit that is not one.")
        if (path := self._cached(commit, _SETS[:1])) is None:
            try:
                path = self._downloaded(commit)
            except (httpx2.TransportError, errors.OfflineModeIsEnabled, errors.HfHubHTTPError):
                if (path := self._cached(commit, _SETS)) is None:
                    raise
        is_newest = self._answered or self._name.revision == commit or constants.is_offline_mode()
        return path, "" if is_newest else f"{self._host} cannot be reached: this is the copy in the cache."

    def _client(self) -> Any:  # noqa: ANN401  the type is that of the library's own dependency
        """The library's connections; answers that are too large, or unsafe as names of files, are refused."""
        import httpx2

        hooks = {
            "request": [*self._hooks["request"], self._keep_secrets],
            "response": [*self._hooks["response"], self._check],
        }
        # Nothing is unpacked, so nothing becomes more than was sent.
        headers = {"Accept-Encoding": "identity"}
        return httpx2.Client(event_hooks=hooks, headers=headers, follow_redirects=True, timeout=None)

    def _keep_secrets(self, request: Any) -> None:  # noqa: ANN401
        """Gives the token only to the hub itself."""
        if not self._is_of_hub(request.url):
            request.headers.pop("Authorization", None)
            request.headers.pop("Cookie", None)

    def _is_of_hub(self, url: Any) -> bool:  # noqa: ANN401
        import httpx2
        from huggingface_hub import constants

        return url.origin == httpx2.URL(constants.ENDPOINT).origin

    def _check(self, response: Any) -> None:  # noqa: ANN401
        self._answered = self._answered or response.status_code < 500
        self._answers += 1
        following = response.links.get("next", {}).get("url")
        if following is not None and not self._is_of_hub(response.url.join(following)):
            raise FormatError(f"{self._name}: {self._host} refers to another server for the rest of its list of files.")
        if self._answers > _MOST_ANSWERS:
            raise FormatError(f"{self._name}: {self._host} gives a list of files without end.")
        if response.request.method != "HEAD":
            if response.headers.get("Content-Encoding", "identity").lower() != "identity":
                raise FormatError(f"{self._name}: {response.url.host} sends compressed data, which was not asked for.")
            response.stream = self._limited(response.stream)
        for header, allowed in _HEADERS.items() if response.request.method == "HEAD" else ():
            value = response.headers.get(header)
            if value is not None and not allowed.fullmatch(value):
                raise FormatError(f"{self._name}: {response.url.host} sends an invalid {header}: {shown(value)}.")

    def _limited(self, stream: Any) -> Any:  # noqa: ANN401
        """The bytes of an answer as long as there may be more."""
        import httpx2

        def pieces() -> Iterator[bytes]:
            for piece in stream:
                self._left -= len(piece)
                if self._left < 0:
                    raise FormatError(f"{self._name}: {self._host} sends more than TokStudio reads.")
                yield piece

        class Limited(httpx2.SyncByteStream):
            def __iter__(self) -> Iterator[bytes]:
                return pieces()

            def close(self) -> None:
                stream.close()

        return Limited()

    def _cached(self, commit: str, sets: tuple[tuple[str, ...], ...]) -> Path | None:
        """The first file of the first set that is complete in the cache."""
        from huggingface_hub import try_to_load_from_cache

        for names in sets:
            found = [try_to_load_from_cache(self._name.name, file, revision=commit) for file in names]
            if all(isinstance(file, str) for file in found):
                return Path(str(found[0]))
        return None

    def _downloaded(self, commit: str) -> Path:
        """Downloads the first set that the repository has; files that are damaged are not kept."""
        import huggingface_hub

        library: Any = huggingface_hub
        listed: list[Any] = list(self._api.list_repo_tree(self._name.name, revision=commit))
        templates: list[Any] = []
        if any(entry.path == _TEMPLATES and not hasattr(entry, "blob_id") for entry in listed):
            templates = list(self._api.list_repo_tree(self._name.name, _TEMPLATES, revision=commit))
        entries: dict[str, Any] = {entry.path: entry for entry in listed + templates if hasattr(entry, "blob_id")}
        chosen = next((names for names in _SETS if entries.keys() >= set(names)), None)
        if chosen is None:
            looked_for = ", ".join(" with ".join(names) for names in _SETS)
            raise FormatError(f"{self._name}: the repository has no tokenizer TokStudio can read ({looked_for}).")
        beside = [file for file in entries if file in _BESIDE or _TEMPLATE.fullmatch(file)]
        files = [*beside[:_MOST_BESIDE], *chosen]
        total = sum(int(entries[file].size) for file in files)
        if total > _LARGEST:
            raise FormatError(f"{self._name}: its files take {total:,} bytes, and the limit is {_LARGEST:,}.")
        # What arrives twice is counted twice; `_meter_class` has the limit of the files themselves.
        self._left, self._answers = 4 * _LARGEST, 0
        meter = _meter_class(self._name, total, self._report)
        paths: dict[str, Path] = {}
        for file in files:
            options: Mapping[str, Any] = {"revision": commit, "library_name": "tokstudio", "tqdm_class": meter}
            try:
                paths[file] = Path(library.hf_hub_download(self._name.name, file, **options))
            except OSError as error:
                # The library's words for a file that is not as long as announced; an error of the system has a number.
                if type(error) is not OSError or error.errno is not None:
                    raise
                raise _cut(self._name) from error
            self._keep_whole(paths[file], file, entries[file])
        return paths[chosen[0]]

    def _keep_whole(self, path: Path, file: str, entry: Any) -> None:  # noqa: ANN401
        """Checks a file against the hash that the repository lists; removes it from the cache where they differ."""
        # As git names the contents of files, or as its extension for large ones does.
        known = hashlib.sha1(b"blob %d\0" % path.stat().st_size) if entry.lfs is None else hashlib.sha256()
        with path.open("rb") as content:
            while piece := content.read(1 << 20):
                known.update(piece)
        if known.hexdigest() != (entry.blob_id if entry.lfs is None else entry.lfs.sha256):
            content_file = Path(os.path.realpath(path))
            path.unlink()
            content_file.unlink(missing_ok=True)
            raise FormatError(f"{self._name}: the downloaded {file} is damaged, and was not kept: try again.")


def _cut(name: Name) -> FormatError:
    return FormatError(f"{name}: {_CUT}.")


def _meter_class(name: Name, total: int, report: Callable[[int, int], None]) -> type:
    """A class in place of tqdm's: it reports the bytes of all files together."""
    arrived = 0

    class Meter:
        """The progress of one file."""

        def __init__(self, *_: object, initial: int = 0, desc: str = "", **__: object) -> None:
            self._file = desc

        def __enter__(self) -> Meter:
            return self

        def __exit__(self, *_: object) -> None: ...

        def update(self, size: int) -> None:
            """Counts bytes; fewer than none where the server begins anew after each interruption."""
            nonlocal arrived
            if size < 0:
                raise _cut(name)
            arrived += size
            if arrived > _LARGEST:
                raise FormatError(f"{name}: {self._file} is longer than announced.")
            report(arrived, total)

    return Meter
