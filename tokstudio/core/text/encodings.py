"""Detects the encoding of bytes, and decodes them to UTF-8 in bounded pieces.

Valid UTF-8 stays as it is, byte for byte, and so do bytes that cannot be decoded without loss.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from encodings import normalize_encoding
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tokstudio.core.base.errors import READ_ANYWAY, BinaryError, ConfigError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.text.utf8 import to_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLE = 1 << 16  # bytes at the beginning of a file that detection looks at
# Tried where a text is neither UTF-8 nor UTF-16; of several that fit equally, the first is taken.
# fmt: off
_DETECTABLE = (
    "windows-1252", "windows-1251", "koi8-r", "windows-1250", "windows-1253", "windows-1254", "windows-1255",
    "windows-1256", "windows-1257", "iso-8859-2", "shift_jis", "cp932", "euc-jp", "gb18030", "big5", "euc-kr", "cp949",
)
# fmt: on

ENCODINGS: tuple[str, ...] = (
    *("utf-8", "bytes", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "latin-1", "iso-8859-15"),
    *_DETECTABLE,
    *("cp874", "windows-1258", "koi8-u", "cp437", "cp866", "mac-roman"),
)

# Other encodings that may be chosen, by the names of Python's modules. Not among them are codecs that escape text in
# ASCII (punycode, unicode_escape), are for host names (idna), or differ between computers (mbcs).
# fmt: off
_CHARACTER_SETS = frozenset((
    "ascii", "big5", "big5hkscs", "cp037", "cp273", "cp424", "cp437", "cp500", "cp720", "cp737", "cp775", "cp850",
    "cp852", "cp855", "cp856", "cp857", "cp858", "cp860", "cp861", "cp862", "cp863", "cp864", "cp865", "cp866", "cp869",
    "cp874", "cp875", "cp932", "cp949", "cp950", "cp1006", "cp1026", "cp1125", "cp1140", "cp1250", "cp1251", "cp1252",
    "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "euc_jis_2004", "euc_jisx0213", "euc_jp", "euc_kr",
    "gb18030", "gb2312", "gbk", "hp_roman8", "hz", "iso2022_jp", "iso2022_jp_1", "iso2022_jp_2", "iso2022_jp_2004",
    "iso2022_jp_3", "iso2022_jp_ext", "iso2022_kr", "iso8859_1", "iso8859_10", "iso8859_11", "iso8859_13", "iso8859_14",
    "iso8859_15", "iso8859_16", "iso8859_2", "iso8859_3", "iso8859_4", "iso8859_5", "iso8859_6", "iso8859_7",
    "iso8859_8", "iso8859_9", "johab", "koi8_r", "koi8_t", "koi8_u", "kz1048", "mac_arabic", "mac_croatian",
    "mac_cyrillic", "mac_farsi", "mac_greek", "mac_iceland", "mac_latin2", "mac_roman", "mac_romanian", "mac_turkish",
    "palmos", "ptcp154", "shift_jis", "shift_jis_2004", "shift_jisx0213", "tis_620", "utf_16", "utf_16_be", "utf_16_le",
    "utf_32", "utf_32_be", "utf_32_le", "utf_7", "utf_8", "utf_8_sig",
))
# fmt: on

# UTF-32 comes first: its little-endian mark begins with that of UTF-16.
MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
}
_MARK_DROPPED = "byte order mark dropped"
_KEPT, _INVALID, _UNKNOWN = "not UTF-8; kept as is", "is not valid; read as bytes", "not recognised; read as bytes"

# Encodings that short or repetitive Western text is easily taken for. Czech has š and ž in nearly every line, Hungarian
# ő (õ in windows-1252), Polish signs such as ³ and ¹: none of these is among the letters below.
_NEAR_WESTERN = frozenset({"windows-1250", "windows-1254", "windows-1257", "iso-8859-2", "iso-8859-15", "latin-1"})
_WESTERN = frozenset(map(chr, range(128))) | frozenset(
    "ÀÂÄÅÆÇÈÉÊËÍÎÏÑÓÔÖØÙÚÛÜŒàâäåæçèéêëíîïñóôöøùúûüœßáÁ¡¿«»“”‘’–—…€°·\u00a0"
)

CHECK = 1 << 14
COUNT = 1 << 20
# Some decoders call back for every invalid byte; a piece must not hold the interpreter for long.
_DECODE = 1 << 14
# Text may contain white space, the end mark of DOS, escapes for colours, and the shifts of ISO 2022.
_CONTROLS = sorted({*range(0x20), 0x7F} - set(b"\t\n\v\f\r\x0e\x0f\x1a\x1b"))

# Signatures of files that are not text, and the name of the kind.
_KINDS = tuple(
    (re.compile(beginning, re.DOTALL), kind)
    for beginning, kind in (
        (rb"\x1f\x8b\x08", "gzip-compressed data"),
        (rb"\x28\xb5\x2f\xfd", "Zstandard-compressed data"),
        (rb"\xfd7zXZ\0", "xz-compressed data"),
        (rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", "bzip2-compressed data"),
        (rb"\x04\x22\x4d\x18", "LZ4-compressed data"),
        (rb"PK(\x03\x04|\x05\x06)", "a ZIP archive"),
        (rb"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
        (rb"Rar!\x1a\x07", "a RAR archive"),
        (rb".{257}ustar[\0 ]", "a tar archive"),
        (rb"%PDF-\d\.\d\s", "a PDF document"),
        (rb"PAR1\x15", "a Parquet table"),
        (rb"ARROW1\0\0", "an Arrow table"),
        (rb"SQLite format 3\0", "an SQLite database"),
        (rb"\x89HDF\r\n\x1a\n", "HDF5 data"),
        (rb"\x93NUMPY", "a NumPy array"),
        (rb"\x89PNG\r\n\x1a\n", "a PNG image"),
        (rb"\xff\xd8\xff[\xc0-\xfe]", "a JPEG image"),
        (rb"GIF8[79]a.{4}[\x80-\xff\0-\x08]", "a GIF image"),
        (rb"\x7fELF[\1\2][\1\2]", "an executable"),
    )
)
#: What stands in place of a large file after a clone without Git LFS, and what to do about it.
LFS_POINTER = "a Git LFS pointer"
WHY_NOT_POINTER = 'this is a Git LFS pointer, not the file itself: fetch that with "git lfs pull"'
_POINTER = re.compile(
    rb"version https://[a-z-]+\.github\.com/spec/v1\r?\n(ext-[^\n]*\n)*oid sha256:[0-9a-f]{64}\r?\nsize [0-9]"
)
_FEWEST_JUDGED = 32  # bytes; fewer are too few to judge by counting


@dataclass(frozen=True, eq=False)
class Decoded:
    """Decoded bytes."""

    encoding: str  # one of `ENCODINGS`, or another that was chosen; "bytes" where nothing was decoded
    note: str  # a short remark for the user; mostly empty
    data: NDArray[np.uint8]  # the text as UTF-8, or the bytes unchanged


def encoding_name(encoding: str) -> str:
    """The usual name of an encoding, such as "windows-1252" for "cp1252"; raises ConfigError where there is none."""
    if encoding in (*ENCODINGS, "utf-16", "utf-32"):
        return encoding
    try:
        codec_name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        codec_name = ""
    if normalize_encoding(codec_name) not in _CHARACTER_SETS:
        raise ConfigError(f"Unknown encoding {encoding!r}: use one like utf-8, windows-1252 or bytes.")
    usual = {codecs.lookup(name).name: name for name in ENCODINGS if name != "bytes"}
    return usual.get(codec_name, codec_name.removesuffix("-sig"))


class Sink(Protocol):
    """Takes the pieces of a decoded text."""

    def add(self, piece: bytes, /) -> None:
        """Takes the next piece."""
        ...

    def finish_work(self) -> Work[NDArray[np.uint8]]:
        """The whole text."""
        ...


def decode(raw: NDArray[np.uint8], encoding: str, sink: Callable[[], Sink] | None = None) -> Work[Decoded]:
    """Decodes bytes in a chosen encoding; invalid sequences become U+FFFD and are counted in the note.

    What must be recoded goes into a new `sink`, by default into the memory.
    """
    if encoding == "bytes":
        return Decoded("bytes", "", raw)
    encoding = with_byte_order(encoding, raw)
    mark = _marks_of(raw).get(encoding, b"")
    text = raw[len(mark) :]
    if encoding == "utf-8" and (yield from _is_utf8(text)):
        return Decoded(encoding, _note(_MARK_DROPPED if mark else ""), text)
    text, replaced = yield from _transcoded(text, encoding, "replace", sink)
    wrong = f"{several(replaced, 'byte sequence is', 'byte sequences are')} not valid {encoding}; shown as U+FFFD"
    return Decoded(encoding, _note(_MARK_DROPPED if mark else "", wrong if replaced else ""), text)


def is_kept_as_bytes(encoding: str, note: str) -> bool:
    """Whether a text was not decoded because no encoding was found, and not because that was wanted."""
    return encoding == "bytes" and any(words in note for words in (_KEPT, _INVALID, _UNKNOWN))


def with_byte_order(encoding: str, head: NDArray[np.uint8]) -> str:
    """The encoding with its byte order, such as "utf-16-le" for "utf-16", of a text that begins so.

    Without a mark, it is the order in which the text is plausible, else the low byte is first.
    """
    if encoding not in ("utf-16", "utf-32"):
        return encoding
    likely = [*_marks_of(head), *_wide_without_mark(head[:SAMPLE], False)]
    return next((one for one in likely if one.startswith(encoding)), f"{encoding}-le")


def detect(raw: NDArray[np.uint8], sink: Callable[[], Sink] | None = None) -> Work[Decoded]:
    """Detects the encoding of bytes and decodes them, or keeps them as bytes; no byte is ever replaced.

    The order of the tests: a byte order mark, UTF-32 and UTF-16 without one, UTF-8, UTF-8 with a few invalid bytes,
    other encodings by their content, bytes.
    """
    marks = _marks_of(raw)
    wide = [encoding for encoding in marks if encoding != "utf-8"]
    for encoding in wide:
        try:
            text, _ = yield from _transcoded(raw[len(marks[encoding]) :], encoding, "strict", sink)
        except UnicodeDecodeError:
            continue
        return Decoded(encoding, _MARK_DROPPED, text)
    text = raw[len(marks.get("utf-8", b"")) :]
    dropped = _MARK_DROPPED if len(text) < len(raw) else ""
    is_utf8 = yield from _is_utf8(text)
    for encoding in [] if dropped else _wide_without_mark(text[:SAMPLE], is_utf8):
        try:
            decoded, _ = yield from _transcoded(text, encoding, "strict", sink)
        except UnicodeDecodeError:
            continue
        return Decoded(encoding, "", decoded)
    if is_utf8:
        zeros = yield from _count_zeros(text)
        return Decoded("utf-8", _note(dropped, f"contains {several(zeros, 'NUL byte')}" if zeros else ""), text)
    wrong, characters = yield from _count_utf8(text)
    # In other encodings, the bytes that are not UTF-8 are more than twice as many as valid characters of several bytes.
    if dropped or wrong <= characters:
        return Decoded("bytes", _note(dropped, f"{several(wrong, 'byte is', 'bytes are')} {_KEPT}"), text)
    if wide:
        return Decoded("bytes", f"begins like {wide[-1]} but {_INVALID}", raw)
    return (yield from _detect_by_content(raw, sink))


def code_points(data: NDArray[np.uint8]) -> Iterator[tuple[NDArray[np.uint32], int]]:
    """Decodes UTF-8 in pieces: yields code points and the number of bytes read for them.

    A byte that is not UTF-8 gives U+DC80 to U+DCFF, which valid UTF-8 never does.
    """
    for text, size in _decoded(data):
        # numpy copies the characters directly; a codec would stop at every surrogate.
        yield np.array([text]).view(np.uint32) if text else np.zeros(0, dtype=np.uint32), size


def numbers_of_characters(data: NDArray[np.uint8]) -> Iterator[tuple[int, int]]:
    """How many code points each piece of `code_points` has, and the number of bytes read for them."""
    for text, size in _decoded(data):
        yield len(text), size


def _decoded(data: NDArray[np.uint8]) -> Iterator[tuple[str, int]]:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for start in range(0, len(data), CHECK):
        piece = data[start : start + CHECK]
        yield decoder.decode(piece.tobytes(), start + CHECK >= len(data)), len(piece)


def refuse_binary(raw: NDArray[np.uint8], name: str) -> None:
    """Raises BinaryError, which names `name`, where the first bytes are not text in any encoding."""
    if kind := binary_kind(raw[:SAMPLE]):
        raise no_text(name, kind)


def no_text(name: str, kind: str) -> BinaryError:
    """The error about a file of a kind that is not text."""
    what = WHY_NOT_POINTER if kind == LFS_POINTER else f"this is {kind}, not text"
    return BinaryError(f"{name}: {what}{READ_ANYWAY}.")


def kind_by_signature(beginning: bytes) -> str:
    """The kind, such as "a PNG image", of a file with these first bytes (512 suffice); "" where none is known."""
    return next((kind for pattern, kind in _KINDS if pattern.match(beginning)), "")


def is_lfs_pointer(beginning: bytes) -> bool:
    """Whether a file with these first bytes (512 suffice) is a Git LFS pointer."""
    return _POINTER.match(beginning) is not None


def binary_kind(head: NDArray[np.uint8]) -> str:
    """The kind, such as "a PNG image", of a file with these first bytes (at most `SAMPLE`); "" for text."""
    beginning = head[:512].tobytes()
    if kind := kind_by_signature(beginning):
        return kind
    if is_lfs_pointer(beginning):
        return LFS_POINTER
    marks = _marks_of(head)
    if any(_reads_as(head[len(mark) :], encoding) for encoding, mark in marks.items() if encoding != "utf-8"):
        return ""
    head = head[len(marks.get("utf-8", b"")) :]
    if len(head) < _FEWEST_JUDGED:
        return ""
    controls = int(np.bincount(head, minlength=256)[_CONTROLS].sum())
    # A tenth of the bytes of compressed data are control characters, and more of other data. Text in legacy encodings
    # has almost none; UTF-8 may have a NUL after every word.
    wrong, wide = finish(_count_utf8(head))
    is_utf8 = wrong <= wide
    if (3 if is_utf8 else 20) * controls <= len(head) or _wide_without_mark(head, is_utf8):
        return ""
    return "binary data"


def _reads_as(head: NDArray[np.uint8], encoding: str) -> bool:
    """Whether bytes are text in an encoding, with at most a few faults."""
    text = codecs.getincrementaldecoder(encoding)("replace").decode(head.tobytes())
    faults = text.count("\ufffd")
    return not faults or (200 * faults <= len(text) and _is_plausible(text))


def _marks_of(raw: NDArray[np.uint8]) -> dict[str, bytes]:
    head = raw[:4].tobytes()
    return {encoding: mark for encoding, mark in MARKS.items() if head.startswith(mark)}


def _note(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _is_utf8(data: NDArray[np.uint8]) -> Work[bool]:
    start = 0
    while start < len(data):
        # Much is read of a file at once, and little is decoded at once.
        piece, done, used = np.ascontiguousarray(data[start : start + COUNT]).data, 0, 1
        is_last = start + len(piece) == len(data)
        while done < len(piece) and used:
            part = piece[done : done + CHECK]
            try:
                used = codecs.utf_8_decode(part, "strict", is_last and done + len(part) == len(piece))[1]
            except UnicodeDecodeError:
                return False
            done += used
        start += done
        yield Progress("checking the encoding", start, len(data))
    return True


def _count_utf8(data: NDArray[np.uint8]) -> Work[tuple[int, int]]:
    """Counts the bytes that are not UTF-8, and the characters of several bytes that are."""
    wrong, wide, done = 0, 0, 0
    for points, size in code_points(data):
        wrong_here = int(np.count_nonzero((points & 0xFFFFFF80) == 0xDC80))
        wrong += wrong_here
        wide += int(np.count_nonzero(points >= 0x80)) - wrong_here
        done += size
        yield Progress("checking the encoding", done, len(data))
    return wrong, wide


def _count_zeros(data: NDArray[np.uint8]) -> Work[int]:
    zeros = 0
    for start in range(0, len(data), COUNT):
        piece = data[start : start + COUNT]
        zeros += len(piece) - int(np.count_nonzero(piece))
        yield Progress("checking the encoding", start, len(data))
    return zeros


def _wide_without_mark(sample: NDArray[np.uint8], is_utf8: bool) -> list[str]:
    """The byte orders of UTF-32 and UTF-16 that a text without a mark looks like, the likelier ones first."""
    return [*_utf32_without_mark(sample), *_utf16_without_mark(sample, is_utf8)]


def _utf32_without_mark(sample: NDArray[np.uint8]) -> list[str]:
    """The byte order in which a text looks like UTF-32: of each four bytes, the highest is always zero."""
    units = sample[: len(sample) // 4 * 4].reshape(-1, 4)
    if len(units) < 2:
        return []
    orders = [encoding for encoding, highest in (("utf-32-le", 3), ("utf-32-be", 0)) if not units[:, highest].any()]
    return [encoding for encoding in orders if _spells(units.tobytes(), encoding)]


def _utf16_without_mark(sample: NDArray[np.uint8], is_utf8: bool) -> list[str]:
    """The byte orders in which a text looks like UTF-16, the likelier one first.

    The high bytes of spaces and line ends are zeros; without any, the high bytes are the ones with fewer distinct
    values. Most alphabets have high bytes below 0x20, so that their UTF-16 is valid UTF-8 too, with a control character
    in every other place: real UTF-8 text never looks so.
    """
    units = sample[: len(sample) // 2 * 2].reshape(-1, 2)
    if len(units) < 4:
        return []
    zeros = np.count_nonzero(units == 0, axis=0).tolist()
    different = [len(np.unique(units[:, place])) for place in (0, 1)]
    orders: list[str] = []
    high_bytes = (("utf-16-le", 1), ("utf-16-be", 0))
    for encoding, high in sorted(high_bytes, key=lambda order: (-zeros[order[1]], different[order[1]])):
        if is_utf8 and 2 * np.count_nonzero(units[:, high] < 0x20) < len(units):
            continue
        if not zeros[high] and 20 * int(np.bincount(sample, minlength=256)[_CONTROLS].sum()) <= len(sample):
            continue
        if _spells(units.tobytes(), encoding):
            orders.append(encoding)
    return orders


def _spells(data: bytes, encoding: str) -> bool:
    """Whether bytes, the last character of which may be cut, are plausible text in an encoding."""
    try:
        return _is_plausible(codecs.getincrementaldecoder(encoding)().decode(data))
    except UnicodeDecodeError:
        return False


def _is_plausible(text: str) -> bool:
    """Whether nearly all characters are assigned, and none is a NUL."""
    counts = Counter(text)
    odd = sum(
        number
        for character, number in counts.items()
        if unicodedata.category(character) in {"Cc", "Cn", "Co"} and character not in "\t\n\v\f\r\x1a\x1b"
    )
    return "\0" not in counts and 200 * odd <= len(text)


def _detect_by_content(raw: NDArray[np.uint8], sink: Callable[[], Sink] | None) -> Work[Decoded]:
    """Takes the best answer of charset-normalizer in which all of the bytes are valid."""
    from charset_normalizer import CharsetMatch, CharsetMatches, from_bytes

    sample, matches, names = _sample(raw), list[CharsetMatch](), dict[str, str]()
    for number, encoding in enumerate(_DETECTABLE):
        # One call for each encoding releases the interpreter in between.
        for match in from_bytes(sample, cp_isolation=[encoding], enable_fallback=False):
            matches.append(match)
            names[match.encoding] = encoding
        yield Progress("checking the encoding", number, len(_DETECTABLE))
    for match in CharsetMatches(matches):
        encoding = names[match.encoding]
        if encoding in _NEAR_WESTERN and _is_western(sample):
            encoding = "windows-1252"
        try:
            text, _ = yield from _transcoded(raw, encoding, "strict", sink)
        except UnicodeDecodeError:
            continue
        return Decoded(encoding, "", text)
    return Decoded("bytes", f"encoding {_UNKNOWN}", raw)


def _is_western(sample: bytes) -> bool:
    """Whether all non-ASCII characters are common in Western Europe; a neighbouring encoding is then only a guess."""
    try:
        return set(sample.decode("windows-1252")) <= _WESTERN
    except UnicodeDecodeError:
        return False


def _sample(raw: NDArray[np.uint8]) -> bytes:
    """Bytes from the beginning and from the middle, cut where no encoding has the middle of a character."""
    if len(raw) <= 2 * SAMPLE:
        return raw.tobytes()
    middle = len(raw) // 2
    return b"".join(_cut(raw[start : start + SAMPLE]) for start in (0, middle))


def _cut(piece: NDArray[np.uint8]) -> bytes:
    borders = np.flatnonzero(piece < 0x30)  # no second byte is so small in any of them
    return piece[borders[0] : borders[-1]].tobytes() if len(borders) else piece.tobytes()


def _transcoded(
    data: NDArray[np.uint8], encoding: str, errors: str, sink: Callable[[], Sink] | None
) -> Work[tuple[NDArray[np.uint8], int]]:
    """Decodes `encoding` to UTF-8, and counts the sequences replaced by U+FFFD."""
    decoder, without = (codecs.getincrementaldecoder(encoding)(handling) for handling in (errors, "ignore"))
    pieces, replaced = _Pieces() if sink is None else sink(), 0
    for start in range(0, len(data), _DECODE):
        piece, final = data[start : start + _DECODE].tobytes(), start + _DECODE >= len(data)
        state = decoder.getstate()
        text = decoder.decode(piece, final)
        if errors == "replace" and "\ufffd" in text:
            # The text itself may contain U+FFFD; the characters that "ignore" drops are the replaced ones.
            without.setstate(state)
            replaced += len(text) - len(without.decode(piece, final))
        pieces.add(to_utf8(text))
        yield Progress("decoding", start, len(data))
    return (yield from pieces.finish_work()), replaced


class _Pieces:
    """Keeps pieces in the memory."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def add(self, piece: bytes, /) -> None:
        self._pieces.append(piece)

    def finish_work(self) -> Work[NDArray[np.uint8]]:
        """Joins the pieces and frees each at once, so that the text is not held twice."""
        whole = np.empty(sum(map(len, self._pieces)), dtype=np.uint8)
        done = 0
        self._pieces.reverse()
        while self._pieces:
            piece = self._pieces.pop()
            whole[done : done + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
            done += len(piece)
            yield Progress("decoding", done, len(whole))
        return whole
