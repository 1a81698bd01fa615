"""Fetches an encoding of tiktoken through its own cache, and writes it as files that the formats read."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tokstudio.core.base.atomic_files import write_files
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.private_folders import cache_folder
from tokstudio.core.base.progress import finish
from tokstudio.core.hub.names import Name
from tokstudio.core.hub.replacements import parts_of_encoding, problem_of_connection, replace_reader

_PATIENCE = 10  # seconds
_LARGEST = 1 << 28
_PIECE = 1 << 14


def fetch(name: Name, report: Callable[[int, int], None]) -> tuple[Path, str]:
    """The path of its ranks, and a remark, which is empty.

    Raises:
        FormatError: It is unknown, or did not arrive whole.
    """
    if importlib.util.find_spec("tiktoken") is None:
        raise FormatError(f"{name}: there is no tiktoken library for this system.")
    import tiktoken

    names = tiktoken.list_encoding_names()
    if name.name not in names:
        raise FormatError(f"{name}: tiktoken has no such encoding; it has {', '.join(sorted(names))}.")
    replace_reader(name, _Reader(name, report))
    try:
        encoding: Any = tiktoken.get_encoding(name.name)
    except ValueError as error:  # the content differs from the hash that the library knows; it keeps no such file
        raise FormatError(f"{name}: what was downloaded is damaged, and nothing was kept: try again.") from error
    return _written(name, encoding), ""


class _Reader:
    """Downloads a file, in place of tiktoken's `read_file`."""

    def __init__(self, name: Name, report: Callable[[int, int], None]) -> None:
        self._name, self._report = name, report

    def __call__(self, place: str) -> bytes:
        import httpx2

        host = urlsplit(place).netloc.rpartition("@")[2]
        if not host:
            return Path(place).read_bytes()
        content = bytearray()
        try:
            with httpx2.stream("GET", place, follow_redirects=True, timeout=_PATIENCE) as response:
                response.raise_for_status()
                total = int(response.headers.get("Content-Length", 0))
                for piece in response.iter_bytes(_PIECE):
                    content += piece
                    self._report(len(content), total)
                    if len(content) > _LARGEST:
                        raise FormatError(f"{self._name}: {host} sends a file that is too large.")
        except httpx2.HTTPStatusError as error:
            status = error.response.status_code
            raise FormatError(f"{self._name}: {host} refuses to send it (status {status}).") from error
        except httpx2.TransportError as error:
            raise FormatError(f"{self._name}: {problem_of_connection(host, error)}.") from error
        return bytes(content)


def _written(name: Name, encoding: Any) -> Path:  # noqa: ANN401
    """Writes the ranks, and the pattern and the special tokens beside them, unless they are there."""
    folder = cache_folder() / "tiktoken"
    folder.mkdir(parents=True, exist_ok=True)
    ranks, all_specials, pattern = parts_of_encoding(encoding)
    # Of two texts with one id, as o200k_harmony has them, the first stays: no other text is decoded.
    texts: dict[int, str] = {}
    for text, number in all_specials.items():
        texts.setdefault(number, text)
    specials = {text: number for number, text in texts.items()}
    lines = (
        base64.b64encode(token) + b" %d\n" % rank for token, rank in sorted(ranks.items(), key=lambda item: item[1])
    )
    sidecar = {"pattern": pattern, "special_tokens": specials, "version": 1}
    path = folder / f"{name.name}.tiktoken"
    contents = {path: b"".join(lines), path.with_suffix(".json"): json.dumps(sidecar).encode()}
    changed = {
        file: [content] for file, content in contents.items() if not file.is_file() or file.read_bytes() != content
    }
    finish(write_files(changed))
    return path
