"""Files of ids: a JSON list, ids between white space, or a one-dimensional NumPy array (`.npy`)."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import re
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.atomic_files import write_files
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import several, shown
from tokstudio.core.model.alphabet import LARGEST_ID

if TYPE_CHECKING:
    from numpy.typing import NDArray

NPY = ".npy"

_NPY_MAGIC, _ZIP_MAGIC = b"\x93NUMPY", b"PK\x03\x04"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LARGEST_UINT16 = 2**16 - 1
_IDS_IN_A_PIECE = 1 << 13
_BYTES_PARSED = 1 << 16
_NUMBER = re.compile(rb"[0-9]{1,20}")
_BLANK = re.compile(rb"\s")


def write_ids_work(ids: NDArray[np.uint32], path: Path, largest: int) -> Work[tuple[Path, ...]]:
    """Writes ids as a NumPy array where the name ends in .npy, else as a JSON list; the whole file or nothing.

    All arrays of a tokenizer have one type, by the largest id of its vocabulary.

    Raises:
        FormatError: It cannot be written.
    """
    kind = "<u2" if largest <= _LARGEST_UINT16 else "<u4"
    return (yield from write_files({path: npy(ids, kind) if path.suffix.lower() == NPY else json_list(ids)}))


def ids_work(name: str, data: bytes) -> Work[NDArray[np.uint32]]:
    """Parses ids of any of the forms; uint32 [n].

    Raises:
        FormatError: They have other content; the message begins with `name` and names the place.
    """
    if data.startswith(_NPY_MAGIC):
        return _from_npy(name, data)
    if data.startswith(_ZIP_MAGIC):
        raise FormatError(f"{name}: this is an archive, such as .npz: save its array as a .npy file.")
    if name.lower().endswith(NPY):
        raise FormatError(f"{name}: this is not a NumPy array, though its name ends in .npy.")
    text = data.removeprefix(_BYTE_ORDER_MARK).strip()
    if not text.startswith(b"["):
        return (yield from _numbers_work(name, "word", len(text), _words(text)))
    if not text.endswith(b"]"):
        raise FormatError(f"{name}: the list of ids does not end; the file may be cut off.")
    inner = text[1:-1].strip()
    return (yield from _numbers_work(name, "item", len(inner), _items(inner)))


def json_list(ids: NDArray[np.integer]) -> Iterator[bytes]:
    """Yields a JSON list of ids or other numbers on one line, in pieces."""
    lead = b"["
    for first in range(0, len(ids), _IDS_IN_A_PIECE):
        yield lead + ", ".join(map(str, ids[first : first + _IDS_IN_A_PIECE].tolist())).encode()
        lead = b", "
    yield b"]\n" if len(ids) else b"[]\n"


def npy(ids: NDArray[np.integer], kind: str) -> Iterator[bytes]:
    """Yields a NumPy array of ids or other numbers, in pieces; `kind` is the type in it, such as "<u4"."""
    yield npy_header(len(ids), kind)
    for first in range(0, len(ids), _IDS_IN_A_PIECE):
        yield ids[first : first + _IDS_IN_A_PIECE].astype(kind).tobytes()


def npy_header(size: int, kind: str) -> bytes:
    """What a file of NumPy begins with: a row of so many numbers of a type, such as "<u4"."""
    header = io.BytesIO()
    shape = {"descr": kind, "fortran_order": False, "shape": (size,)}
    np.lib.format.write_array_header_1_0(header, shape)
    return header.getvalue()


def _from_npy(name: str, data: bytes) -> NDArray[np.uint32]:
    (shape, in_fortran_order, kind), begin = _header(name, data)
    if kind.kind not in "iu" or len(shape) != 1:
        raise FormatError(
            f"{name}: the array must be a row of whole numbers, not {len(shape)}-dimensional {kind.name}."
        )
    if in_fortran_order:
        raise FormatError(f"{name}: the array is in Fortran order; save it in C order.")
    held = (len(data) - begin) / kind.itemsize
    if shape[0] != held:
        raise FormatError(f"{name}: {several(shape[0], 'id is', 'ids are')} declared, but the file has {held:,.10g}.")
    ids: NDArray[Any] = np.frombuffer(data, kind, shape[0], begin)
    if len(ids) and (ids.min() < 0 or ids.max() > LARGEST_ID):
        place = int(np.argmax((ids < 0) | (ids > LARGEST_ID)))
        raise FormatError(f"{name}: item {place + 1:,}, {ids[place]}, is not an id.")
    return ids.astype(np.uint32)


def _header(name: str, data: bytes) -> tuple[tuple[tuple[int, ...], bool, np.dtype[Any]], int]:
    """The shape, order and type that an array declares, and the start of its numbers; nothing is executed."""
    file = io.BytesIO(data)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        version = np.lib.format.read_magic(file)
        return readers[version](file), file.tell()
    except Exception as error:  # a damaged header can raise nearly any exception
        raise FormatError(
            f"{name}: this NumPy array cannot be read: its header is damaged or from a newer version."
        ) from error


def _words(text: bytes) -> Iterator[list[bytes]]:
    """Yields the words between white space, in pieces."""
    start = 0
    while start < len(text):
        blank = _BLANK.search(text, start + _BYTES_PARSED)
        stop = blank.end() if blank else len(text)
        yield text[start:stop].split()
        start = stop


def _items(text: bytes) -> Iterator[list[bytes]]:
    """Yields the items between commas, in pieces."""
    start = 0
    while start < len(text):
        comma = text.find(b",", start + _BYTES_PARSED)
        stop = comma if comma >= 0 else len(text)
        yield [item.strip() for item in text[start:stop].split(b",")]
        start = stop + 1
        if start == len(text):
            yield [b""]


def _numbers_work(name: str, what: str, size: int, pieces: Iterable[list[bytes]]) -> Work[NDArray[np.uint32]]:
    numbers, done = array("I"), 0
    for words in pieces:
        for word in words:
            if not _NUMBER.fullmatch(word) or int(word) > LARGEST_ID:
                text = shown(word[:200].decode("utf-8", "replace"))
                raise FormatError(
                    f"{name}: {what} {len(numbers) + 1:,}, {text}, is not an id. Give a JSON list, or ids separated by "
                    "white space."
                )
            numbers.append(int(word))
        done += sum(map(len, words))
        yield Progress("reading", min(done, size), size)
    return np.array(numbers, np.uint32)
