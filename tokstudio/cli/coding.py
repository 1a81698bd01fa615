"""The commands `encode` and `decode`: text to ids, and back."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokstudio.cli.loading import load_tokenizer_or_run
from tokstudio.cli.process.terminal import Console, put, standard_input_work
from tokstudio.core.base.atomic_files import file_name, write_files
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.formats.ids import ids_work, json_list, write_ids_work
from tokstudio.core.text.utf8 import to_utf8
from tokstudio.core.tokenizer.tokenizer import Tokenizer

# Names of pipes and terminals in the file system; other files with such names are not read.
_STANDARD_INPUT = (None, "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def encode(arguments: argparse.Namespace, console: Console) -> None:
    """Encodes text to ids: a JSON list, or a NumPy array by the name of the file."""
    name, text = _read_input(arguments, console)
    tokenizer = load_tokenizer_or_run(arguments.tokenizer, arguments, console)
    allowed: list[str] = arguments.allow_special
    if arguments.dropout:
        tokenizer = tokenizer.with_dropout(arguments.dropout, arguments.seed)
    ids = console.finish(tokenizer.encode_work(text, "all" if "all" in allowed else allowed))
    _tell_of_losses(name, text, ids, tokenizer, console)
    if arguments.out is None:
        put(sys.stdout, b"".join(json_list(ids)))
    else:
        console.finish(write_ids_work(ids, arguments.out, len(tokenizer.tokens) - 1))


def decode(arguments: argparse.Namespace, console: Console) -> None:
    """Decodes ids to exact bytes."""
    name, data = _read_input(arguments, console)
    ids = console.finish(ids_work(name, data))
    tokenizer = load_tokenizer_or_run(arguments.tokenizer, arguments, console)
    text = tokenizer.decode_bytes(ids)
    if arguments.out is None:
        put(sys.stdout, text)
    else:
        console.finish(write_files({arguments.out: [text]}))


def _read_input(arguments: argparse.Namespace, console: Console) -> tuple[str, bytes]:
    """The name and the content of the input."""
    if arguments.text is not None:
        try:  # an argument may have bytes that are not UTF-8
            return "--text", arguments.text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return "--text", to_utf8(arguments.text)
    if arguments.file in _STANDARD_INPUT:
        return "standard input", console.finish(standard_input_work())
    path = Path(arguments.file)
    return file_name(path), console.finish(read_file_work(path))


def _tell_of_losses(name: str, text: bytes, ids: NDArray[np.uint32], tokenizer: Tokenizer, console: Console) -> None:
    """Reports text that decoding will not restore; with characters as base tokens, some may be replaced."""
    if tokenizer.alphabet.base != "characters":
        return
    replaced = text.decode("utf-8", "replace").count("\ufffd") - text.count("\ufffd".encode())
    if replaced:
        console.say(
            f"{name}: {several(replaced, 'byte sequence was', 'byte sequences were')} not UTF-8 and became U+FFFD."
        )
    unknown = tokenizer.alphabet.unknown
    if unknown is not None and (count := int(np.count_nonzero(ids == unknown))):
        console.say(f"{name}: {several(count, 'id is', 'ids are')} the unknown token, {unknown}.")
