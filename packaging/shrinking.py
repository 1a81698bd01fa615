"""Takes out of the libraries of a bundle for Linux what nothing in it uses.

PyInstaller takes libraries whole. Here go Arrow's libraries for queries and data sets, ICU's texts for dates,
currencies and names of countries, and the names for debuggers. Needs binutils, as PyInstaller does.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import shutil
import struct
import sys
import tempfile
from pathlib import Path

from system import SetupError, run_quietly

# Arrow's Python part names these as needed, and takes no symbol of them.
NEEDLESS = ("libarrow_acero", "libarrow_dataset", "libarrow_substrait")
# Qt asks ICU to compare texts, for letters of a language and for old encodings; dates, numbers and names of places are
# Qt's own. So the tables of collation and encodings stay, and what ICU needs to open any of them.
_UNREAD_TABLES = re.compile(
    r"[^/]+/((brkitr|curr|lang|rbnf|region|translit|unit|zone)/.*|[a-z]{2,3}(_\w+)?\.res|[^/]+\.(spp|cfu))"
)
# Those that numpy's wheel was mended by could not be loaded afterwards.
_LEFT_WHOLE = "numpy.libs"
_LOADED, _DYNAMIC = 1, 2  # types of segments
_NEEDED, _NAMES = 1, 5  # entries of the dynamic segment


def shrink(folder: Path) -> None:
    """Shrinks the libraries of a bundle, where the system has the programs for it.

    Raises:
        SetupError: A library has become necessary that is left out here, or is not as this expects it.
    """
    if not sys.platform.startswith("linux") or not all(map(shutil.which, ("as", "ld", "nm", "strip"))):
        return
    leave_out(folder, NEEDLESS)
    for file in folder.rglob("libicudata.so.*"):
        if not file.is_symlink():
            shrink_tables(file)
    for file in folder.rglob("*.so*"):
        if not file.is_symlink() and file.parent.name != _LEFT_WHOLE:
            run_quietly(["strip", "--strip-unneeded", str(file)], f"{file} could not be stripped.")


def leave_out(folder: Path, names: tuple[str, ...]) -> None:
    """Deletes libraries, and takes them out of the lists of what the others need.

    Args:
        folder: Where all libraries are that could use them.
        names: Of the libraries, without `.so` and what follows.

    Raises:
        SetupError: Another library uses a symbol of one of them. Nothing is changed then.
    """
    files = sorted(file for file in folder.rglob("*.so*") if file.is_file())
    gone = [file for file in files if file.name.partition(".")[0] in names]
    offered = {symbol for file in gone for symbol in _symbols(file, "--defined-only")}
    users: dict[Path, bytes] = {}
    for file in files:
        if file not in gone and not file.is_symlink() and (content := _without_needs(file.read_bytes(), names)):
            if used := sorted(offered & _symbols(file, "--undefined-only")):
                raise SetupError(f"{file} uses {used[0]} of a library that packaging/shrinking.py leaves out.")
            users[file] = content
    for file, content in users.items():
        file.write_bytes(content)
    for file in gone:
        file.unlink()


def _symbols(file: Path, kind: str) -> set[str]:
    """The names of a library's dynamic symbols, without their versions."""
    return {line.split(" ", 1)[0].partition("@")[0] for line in _listed(file, kind).splitlines()}


def _listed(file: Path, kind: str) -> str:
    """A library's dynamic symbols, each in a line with its type, address and size."""
    return run_quietly(["nm", "-D", "-P", kind, str(file)], f"The symbols of {file} could not be listed.")


def _segments(content: bytes) -> list[tuple[int, int, int, int]]:
    """Type, offset, address and size in the file of each segment of a library.

    Raises:
        SetupError: It is none of 64 bits with the lowest byte first.
    """
    if content[:6] != b"\x7fELF\x02\x01":
        raise SetupError("A library in the bundle is of a kind that packaging/shrinking.py does not know.")
    start, size, count = *struct.unpack_from("<Q", content, 32), *struct.unpack_from("<HH", content, 54)
    rows = (struct.unpack_from("<IIQQQQ", content, start + size * row) for row in range(count))
    return [(kind, offset, address, length) for kind, _, offset, address, _, length in rows]


def _offset(content: bytes, address: int) -> int:
    """Where in the file of a library an address lies."""
    for kind, offset, start, size in _segments(content):
        if kind == _LOADED and start <= address < start + size:
            return offset + address - start
    raise SetupError(f"A library in the bundle has nothing at its address {address:#x}.")


def _text(content: bytes, offset: int) -> str:
    """A text that ends with a zero."""
    return content[offset : content.index(b"\0", offset)].decode()


def _without_needs(content: bytes, names: tuple[str, ...]) -> bytes | None:
    """A library that does not ask for others of these names; nothing where it did not."""
    for kind, offset, _, size in _segments(content):
        if kind == _DYNAMIC:
            rows = list(struct.iter_unpack("<qQ", content[offset : offset + size]))
            start = _offset(content, next(value for tag, value in rows if tag == _NAMES))
            kept = [
                (tag, value)
                for tag, value in rows
                if tag != _NEEDED or _text(content, start + value).partition(".")[0] not in names
            ]
            packed = b"".join(struct.pack("<qQ", *row) for row in kept).ljust(size, b"\0")
            return content[:offset] + packed + content[offset + size :] if len(kept) < len(rows) else None
    return None


def shrink_tables(file: Path) -> None:
    """Writes ICU's library of data anew, without the tables that Qt does not read.

    Raises:
        SetupError: It is not such a library, or could not be written.
    """
    found = re.search(r"^(icudt\d+_dat) \w ([0-9a-f]+) ([0-9a-f]+)$", _listed(file, "--defined-only"), re.MULTILINE)
    if found is None:
        raise SetupError(f"{file} holds no data of ICU.")
    name, content = found[1], file.read_bytes()
    start = _offset(content, int(found[2], 16))
    data = without_tables(content[start : start + int(found[3], 16)])
    failure = f"{file} could not be written anew."
    with tempfile.TemporaryDirectory() as place:
        tables, source, compiled = (Path(place, part) for part in ("tables", "source.s", "source.o"))
        tables.write_bytes(data)
        lines = [
            *(".section .rodata", ".balign 16", f".globl {name}", f".type {name}, %object"),
            *(f'{name}: .incbin "{tables}"', f".size {name}, . - {name}"),
            '.section .note.GNU-stack, "", %progbits\n',
        ]
        source.write_text("\n".join(lines), encoding="utf-8")
        run_quietly(["as", "-o", str(compiled), str(source)], failure)
        options = ["-shared", "--hash-style=gnu", "--build-id=none", "-soname", file.name]
        run_quietly(["ld", *options, "-o", str(file), str(compiled)], failure)


def without_tables(data: bytes) -> bytes:
    """ICU's common data without the tables that Qt does not read.

    The format: a header with its size in the first two bytes; the number of tables, and for each the offset of its name
    and of its content, sorted by name; names; contents at multiples of 16. Offsets count from the number of tables.
    Source: `ucmndata.h` of ICU.

    Raises:
        SetupError: It is no such data.
    """
    if data[2:4] != b"\xda\x27" or data[12:16] != b"CmnD":
        raise SetupError("The data of ICU have a format that packaging/shrinking.py does not know.")
    head = struct.unpack_from("<H", data)[0]
    body = data[head:]
    rows = [struct.unpack_from("<II", body, 4 + 8 * row) for row in range(struct.unpack_from("<I", body)[0])]
    ends = [*(content for _, content in rows[1:]), len(body)]
    kept = [
        (name, body[content:end])
        for (place, content), end in zip(rows, ends, strict=True)
        if not _UNREAD_TABLES.fullmatch(name := _text(body, place))
    ]
    names = b"".join(name.encode() + b"\0" for name, _ in kept)
    name_offset = 4 + 8 * len(kept)
    padding = -(name_offset + len(names)) % 16
    content_offset = name_offset + len(names) + padding
    places = b""
    for name, content in kept:
        places += struct.pack("<II", name_offset, content_offset)
        name_offset += len(name) + 1
        content_offset += len(content)
    contents = b"".join(content for _, content in kept)
    return data[:head] + struct.pack("<I", len(kept)) + places + names + bytes(padding) + contents
