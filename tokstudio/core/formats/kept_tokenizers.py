"""Keeps the tokenizers of large files in the cache, so that a later start need not read them again.

A kept tokenizer is found by the hash of its files and is plain data: numbers and JSON. Only tokenizers are kept for
which TokStudio encodes.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.private_folders import cache_folder, make_private, note_use, read_whole, write_whole
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.formats.common.format import Format
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.file_settings import FileSettings
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.tokenizer.content import TokenizerContent
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.version import __version__

#: Bytes of the files of a tokenizer that is kept. Smaller ones are read at once, and larger ones hold a model.
LEAST, LARGEST = 1 << 15, 1 << 27
#: Bytes of all kept tokenizers; those that were used last stay.
ROOM = 1 << 27
_FOLDER = "tokenizers"
_PIECE = 1 << 20

_Value = TypeVar("_Value", Preparation, FileSettings)


def read_or_kept_work(
    chosen: Format, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None
) -> Work[Tokenizer]:
    """Does the same as `chosen.read`, and keeps what was read; raises the same."""
    key = yield from _key_work(chosen, files, names, pattern)
    folder = None if key is None else _folder()
    if key is None or folder is None:
        return (yield from chosen.read(files, names, pattern))
    if (kept := _kept(folder / key)) is not None:
        return kept
    tokenizer = yield from chosen.read(files, names, pattern)
    # The files may have changed meanwhile.
    if key == (yield from _key_work(chosen, files, names, pattern)):
        _keep(folder / key, tokenizer)
    return tokenizer


def _folder() -> Path | None:
    """The folder of the kept tokenizers; None where it is not this user's alone: a strange one can end the process."""
    caches = cache_folder()
    folder = caches / _FOLDER
    return folder if make_private(caches) and make_private(folder) else None


def _key_work(chosen: Format, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None) -> Work[str | None]:
    """The name of the kept file: a hash of all that decides what is read; None where the tokenizer is not kept."""
    # Chat templates have their meaning by their folder.
    places = [os.path.relpath(file.parent, files[0].parent) for file in files]
    digest = hashlib.sha256(json.dumps([_identity(), chosen.name, names, places, pattern]).encode())
    try:
        if not LEAST <= sum(file.stat().st_size for file in files) <= LARGEST:
            return None
        for file in files:
            content = hashlib.sha256()
            with file.open("rb") as opened:
                while piece := opened.read(_PIECE):
                    content.update(piece)
                    yield Progress("reading")
            digest.update(content.digest())
    except OSError:
        return None  # reading it gives a better message
    return digest.hexdigest()


@cache
def _identity() -> str:
    """What identifies the program that reads: its version, and where there are sources, their sizes and times."""
    digest = hashlib.sha256(__version__.encode())
    for folder, folders, names in os.walk(Path(__file__).parents[1]):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                status = os.stat(os.path.join(folder, name))
                digest.update(f"{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _kept(file: Path) -> Tokenizer | None:
    """The tokenizer in a file of the cache; None where there is none, or it is damaged."""
    if (packed := read_whole(file)) is None:
        return None
    try:
        tokenizer = Tokenizer.of(_unpacked(packed))
    except (ValueError, OverflowError, LookupError, TypeError, AttributeError, RecursionError, ConfigError):
        return None
    note_use(file)
    return tokenizer


def _keep(file: Path, tokenizer: Tokenizer) -> None:
    content = tokenizer.content
    if type(tokenizer) is not Tokenizer or (packed := _packed(content)) is None:
        return
    with suppress(OSError):
        write_whole(file, packed)
        _remove_oldest(file.parent)


def _remove_oldest(folder: Path) -> None:
    """Removes the tokenizers that were not used for longest, until the others have room."""
    with os.scandir(folder) as entries:
        used = sorted(((entry.stat(), entry.path) for entry in entries), key=lambda one: -one[0].st_mtime_ns)
    size = 0
    for status, path in used:
        size += status.st_size
        if size > ROOM:
            os.unlink(path)


# --- A tokenizer as bytes: the numbers of merges and base tokens, their arrays, and all else as JSON ------------------


def _packed(content: TokenizerContent) -> bytes | None:
    """A content as bytes; None where these would not give it back."""
    alphabet = content.alphabet
    said = {
        **{name: getattr(content, name) for name in ("pattern", "ignores_merges")},
        "base": alphabet.base,
        "unknown": alphabet.unknown,
        "special_tokens": [*content.special_tokens.items()],
        "extra_tokens": [(number, token.decode("latin-1")) for number, token in content.extra_tokens.items()],
        "whole_words": sorted(content.whole_words),
        "remarks": content.remarks,
        "preparation": dict(_values(content.preparation)),
        "settings": dict(_values(content.settings)),
    }
    arrays = (content.merges, content.merge_results, alphabet.units, alphabet.ids)
    sizes = np.array([len(content.merges), len(alphabet)], np.int64)
    try:
        packed = b"".join([*(array.tobytes() for array in (sizes, *arrays)), json.dumps(said).encode()])
        again = _unpacked(packed)
    except (TypeError, ValueError):
        return None
    kept = again.settings == content.settings and again.decides_like(content) and content.run is content.origin is None
    return packed if kept and content.supermerges is content.removals is content.first_stage is None else None


def _unpacked(packed: bytes) -> TokenizerContent:
    """The content; raises one of several errors where the bytes are none."""
    merges, base = np.frombuffer(packed, np.int64, 2).tolist()
    numbers = np.frombuffer(packed, np.int32, 3 * merges + 2 * base, 16)
    said: dict[str, Any] = json.loads(packed[16 + numbers.nbytes :])
    pairs, results, units, ids = np.split(numbers, np.cumsum([2 * merges, merges, base]))
    return TokenizerContent(
        pairs.reshape(-1, 2),
        results,
        Alphabet(said["base"], units, ids, said["unknown"]),
        dict(said["special_tokens"]),
        said["pattern"],
        {number: token.encode("latin-1") for number, token in said["extra_tokens"]},
        frozenset(said["whole_words"]),
        said["ignores_merges"],
        _value(Preparation, said["preparation"]),
        tuple(said["remarks"]),
        _value(FileSettings, said["settings"]),
    )


def _values(value: Preparation | FileSettings) -> Iterator[tuple[str, object]]:
    for field in fields(value):
        one: Any = getattr(value, field.name)
        if isinstance(one, Mapping):
            one = dict(cast("Mapping[str, object]", one))
        yield field.name, sorted(cast("frozenset[str]", one)) if isinstance(one, frozenset) else one


def _value(kind: type[_Value], values: Mapping[str, Any]) -> _Value:
    plain, given = kind(), dict(values)
    for name in given:
        if isinstance(usual := getattr(plain, name), (tuple, frozenset)):
            given[name] = type(usual)(given[name])  # pyright: ignore[reportUnknownArgumentType]
    return kind(**given)
