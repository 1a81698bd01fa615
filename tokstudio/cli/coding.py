"""The commands `encode` and `decode`: text to ids, and back."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokstudio.cli.reading import read_file
from tokstudio.cli.terminal import Console, put, several, standard_input
from tokstudio.core.corpus import to_utf8
from tokstudio.core.errors import ConfigError, FormatError
from tokstudio.core.files import write_files
from tokstudio.core.formats import PatternNeeded, load_work
from tokstudio.core.tokenizer import Tokenizer

_NPY_MAGIC = b"\x93NUMPY"
_LARGEST_UINT16 = 2**16 - 1


def encode(arguments: argparse.Namespace, console: Console) -> None:
    """Turns text into ids: a JSON list, or a NumPy array by the name of the file."""
    name, text = _read_input(arguments)
    tokenizer = _load(arguments, console)
    allowed: list[str] = arguments.allow_special
    ids = console.finish(tokenizer.encode_work(text, "all" if "all" in allowed else allowed))
    _tell_of_losses(name, text, ids, tokenizer, console)
    if arguments.out is not None and arguments.out.suffix.lower() == ".npy":
        # By the vocabulary, not by the ids: all texts that a tokenizer encodes are arrays of one kind.
        small = len(tokenizer.tokens) - 1 <= _LARGEST_UINT16
        array = io.BytesIO()
        np.save(array, ids.astype(np.uint16 if small else np.uint32, copy=False))
        _deliver(array.getvalue(), arguments.out, console)
    else:
        _deliver(json.dumps(ids.tolist()).encode() + b"\n", arguments.out, console)


def decode(arguments: argparse.Namespace, console: Console) -> None:
    """Turns ids into exactly the bytes they stand for."""
    name, data = _read_input(arguments)
    ids = _read_ids(name, data)
    tokenizer = _load(arguments, console)
    _deliver(tokenizer.decode_bytes(ids), arguments.out, console)


def _read_input(arguments: argparse.Namespace) -> tuple[str, bytes]:
    """The text or the ids to work on, and what to call them."""
    if arguments.text is not None:
        return "--text", _bytes_of_argument(arguments.text)
    if arguments.file in (None, "-"):
        return "standard input", standard_input()
    path = Path(arguments.file)
    return path.name, read_file(path)


def _bytes_of_argument(text: str) -> bytes:
    """Gives back the bytes that were typed, those included that are not UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return to_utf8(text)


def _read_ids(name: str, data: bytes) -> list[int]:
    if data.startswith(_NPY_MAGIC):
        return _read_npy(name, data)
    if data.lstrip().startswith(b"["):
        return _read_json(name, data)
    ids = list[int]()
    for place, word in enumerate(data.split(), 1):
        if not re.fullmatch(rb"-?[0-9]{1,20}", word):
            shown = word[:40].decode("utf-8", "replace")
            raise ConfigError(
                f'{name}: word {place:,}, "{shown}", is not an id. Give a JSON list, or ids separated by white space.'
            )
        ids.append(int(word))
    return ids


def _read_json(name: str, data: bytes) -> list[int]:
    try:
        ids = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: this is not a JSON list of ids ({error}).") from error
    for place, token in enumerate(ids, 1):
        if type(token) is not int:
            raise ConfigError(f"{name}: item {place:,} of the list is not an id.")
    return ids


def _read_npy(name: str, data: bytes) -> list[int]:
    try:
        ids: NDArray[np.generic] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # a damaged header can raise nearly anything
        raise ConfigError(f"{name}: this is not a NumPy array that can be read ({error}).") from error
    if ids.dtype.kind not in "iu" or ids.ndim != 1:
        raise ConfigError(f"{name}: the array must be a row of whole numbers, not {ids.ndim}-dimensional {ids.dtype}.")
    return ids.tolist()


def _load(arguments: argparse.Namespace, console: Console) -> Tokenizer:
    path: Path = arguments.tokenizer
    try:
        loaded = console.finish(load_work(path, arguments.pattern))
    except PatternNeeded as error:
        raise FormatError(f"{error} Add --pattern with a name or an expression.") from error
    if path.is_dir():
        console.say(f"Tokenizer: {', '.join(file.name for file in loaded.files)}.")
    return loaded.tokenizer


def _tell_of_losses(name: str, text: bytes, ids: NDArray[np.uint32], tokenizer: Tokenizer, console: Console) -> None:
    """Says what decoding will not give back: bytes are kept as they are, characters need not be."""
    if tokenizer.alphabet.base != "characters":
        return
    replaced = text.decode("utf-8", "replace").count("\ufffd") - text.count("\ufffd".encode())
    if replaced:
        console.say(f"{name}: {several(replaced, 'place was', 'places were')} not UTF-8 and became U+FFFD.")
    unknown = tokenizer.alphabet.unknown
    if unknown is not None and (found := int(np.count_nonzero(ids == unknown))):
        console.say(f"{name}: {several(found, 'id is', 'ids are')} the unknown token, {unknown}.")


def _deliver(data: bytes, out: Path | None, console: Console) -> None:
    """Writes a result to its file, in one step, or to standard output."""
    if out is None:
        put(sys.stdout, data)
    else:
        console.finish(write_files({out: [data]}))
