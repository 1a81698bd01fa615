"""Fetches the tokenizer's files of a repository of the Hugging Face Hub, through the library's own cache."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import shown
from tokstudio.core.hub.addresses import without_password
from tokstudio.core.hub.names import COMMIT, Name
from tokstudio.core.hub.replacements import CUT, LARGEST, Connections, problem_of_connection, replace_meter

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


def fetch(name: Name, report: Callable[[int, int], None]) -> tuple[Path, str]:
    """The path of the file to open, and a remark if it is a copy that may be outdated.

    Raises:
        FormatError: There is no such tokenizer, it may not be read, or it did not arrive whole.
    """
    from huggingface_hub import constants

    address = without_password(constants.ENDPOINT)
    host = urlsplit(address).netloc
    try:
        return _Repository(name, host, report).fetch()
    except Exception as error:
        if (problem := problem_of_hub(name, address, error)) is None:
            raise
        raise FormatError(f"{name}: {problem}.") from error


def problem_of_hub(name: Name, address: str, error: Exception) -> str | None:
    """What an error of the library means, as the end of a sentence; None for one that it does not tell of."""
    from huggingface_hub import errors

    host = urlsplit(address).netloc
    wrappers = (errors.RevisionResolutionError, errors.LocalEntryNotFoundError)
    if isinstance(error, wrappers) and isinstance(error.__cause__, Exception):
        return problem_of_hub(name, address, error.__cause__)
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
        case _:
            return problem_of_connection(host, error)


class _Repository:
    """One revision of a repository."""

    def __init__(self, name: Name, host: str, report: Callable[[int, int], None]) -> None:
        from huggingface_hub import HfApi

        self._name, self._host, self._report = name, host, report
        self._connections = Connections(name, host)
        self._api: Any = HfApi(library_name="tokstudio")

    def fetch(self) -> tuple[Path, str]:
        """What the function `fetch` returns."""
        import httpx2
        from huggingface_hub import constants, errors

        commit = str(self._api.resolve_revision(self._name.name, revision=self._name.revision or None).resolved)
        if not COMMIT.fullmatch(commit):
            raise FormatError(f"{self._name}: {self._host} names a commit that is not one.")
        if (path := self._cached(commit, _SETS[:1])) is None:
            try:
                path = self._downloaded(commit)
            except (httpx2.TransportError, errors.OfflineModeIsEnabled, errors.HfHubHTTPError):
                if (path := self._cached(commit, _SETS)) is None:
                    raise
        is_newest = self._connections.answered or self._name.revision == commit or constants.is_offline_mode()
        return path, "" if is_newest else f"{self._host} cannot be reached: this is the copy in the cache."

    def _cached(self, commit: str, sets: tuple[tuple[str, ...], ...]) -> Path | None:
        """The first file of the first set that is complete in the cache."""
        from huggingface_hub import try_to_load_from_cache

        for names in sets:
            places = [try_to_load_from_cache(self._name.name, file, revision=commit) for file in names]
            if all(isinstance(file, str) for file in places):
                return Path(str(places[0]))
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
        if total > LARGEST:
            raise FormatError(f"{self._name}: its files take {total:,} bytes, and the limit is {LARGEST:,}.")
        self._connections.expect_files()
        meter = replace_meter(self._name, total, self._report)
        paths: dict[str, Path] = {}
        for file in files:
            options: Mapping[str, Any] = {"revision": commit, "library_name": "tokstudio", "tqdm_class": meter}
            try:
                paths[file] = Path(library.hf_hub_download(self._name.name, file, **options))
            except OSError as error:
                # The library's words for a file that is not as long as announced; an error of the system has a number.
                if type(error) is not OSError or error.errno is not None:
                    raise
                raise FormatError(f"{self._name}: {CUT}.") from error
            self._keep_whole(paths[file], file, entries[file])
        return paths[chosen[0]]

    def _keep_whole(self, path: Path, file: str, entry: Any) -> None:  # noqa: ANN401
        """Checks a file against the hash that the repository lists; removes it from the cache where they differ."""
        # As git names the contents of files, or as its extension for large ones does.
        digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size) if entry.lfs is None else hashlib.sha256()
        with path.open("rb") as content:
            while piece := content.read(1 << 20):
                digest.update(piece)
        if digest.hexdigest() != (entry.blob_id if entry.lfs is None else entry.lfs.sha256):
            content_file = Path(os.path.realpath(path))
            path.unlink()
            content_file.unlink(missing_ok=True)
            raise FormatError(f"{self._name}: the downloaded {file} is damaged, and was not kept: try again.")
