"""What the libraries that own the formats make of files and texts; run as a program, it answers its parent.

The libraries keep the interpreter to themselves while they read and encode, and would freeze a window; so all but small
questions are put to another process. Asking is left to `owners`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
import struct
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.memory import limit_memory

DONE, REFUSED = b"\0", b"\1"
LENGTH = struct.Struct("<Q")
NO_MEMORY = "it would need more than half of this computer's memory, which is the limit."
TITLES = {
    "tokenizers": "the tokenizers library",
    "tiktoken": "the tiktoken library",
    "sentencepiece": "the sentencepiece library",
}


class Library(Protocol):
    """A file as its library has read it."""

    def encode(self, text: str, specials: bool) -> Sequence[int]:
        """The ids of a text, with special tokens recognised in it or not."""
        ...

    def encode_with_ends(self, text: str, specials: bool) -> tuple[Sequence[int], NDArray[np.int64]]:
        """The ids of a text, and for each the byte of the text behind what it stands for."""
        ...

    def decode(self, ids: list[int]) -> str:
        """The text of ids."""
        ...


class _Tokenizers:
    def __init__(self, source: str | bytes, settings: Mapping[str, Any]) -> None:
        import tokenizers

        # The library is compiled, and its types are not known.
        library: Any = tokenizers
        if "merges" in settings:
            self._tokenizer = _of_pair(library, str(source), settings)
        elif isinstance(source, str):
            self._tokenizer = library.Tokenizer.from_file(source)
        else:
            self._tokenizer = library.Tokenizer.from_buffer(source)
            # Where a text is cut or filled up is for the model that it is given to.
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
        # Whether what the file's post-processor adds is wanted.
        self._adds = bool(settings.get("post_process", False))

    def encode(self, text: str, specials: bool) -> Sequence[int]:
        self._tokenizer.encode_special_tokens = not specials
        return self._tokenizer.encode(text, add_special_tokens=self._adds).ids

    def encode_with_ends(self, text: str, specials: bool) -> tuple[Sequence[int], NDArray[np.int64]]:
        self._tokenizer.encode_special_tokens = not specials
        encoding = self._tokenizer.encode(text, add_special_tokens=self._adds)
        ends = np.fromiter((end for _, end in encoding.offsets), np.int64, len(encoding.ids))
        return encoding.ids, _bytes_before(text)[ends]

    def decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=False)


def _of_pair(library: Any, path: str, settings: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """GPT-2's pair of files, with what they do not say."""
    tokenizer = library.Tokenizer(library.models.BPE.from_file(path, settings["merges"]))
    steps = [library.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    if settings["regex"] is not None:
        steps.insert(0, library.pre_tokenizers.Split(library.Regex(settings["regex"]), "isolated"))
    tokenizer.pre_tokenizer = library.pre_tokenizers.Sequence(steps)
    tokenizer.decoder = library.decoders.ByteLevel()
    tokenizer.add_special_tokens(settings["special_tokens"])
    return tokenizer


class _Tiktoken:
    def __init__(self, source: str | bytes, settings: Mapping[str, Any]) -> None:
        import tiktoken

        # Its own reader keeps a copy by the file's name, and would give an older one of the same name.
        lines = (line.split() for line in _content(source).splitlines() if line)
        self._encoding = tiktoken.Encoding(
            "tokstudio",
            pat_str=settings["pattern"],
            mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in lines},
            special_tokens=settings["special_tokens"],
        )

    def encode(self, text: str, specials: bool) -> Sequence[int]:
        allowed: Any = "all" if specials else set[str]()
        return self._encoding.encode(text, allowed_special=allowed, disallowed_special=())

    def encode_with_ends(self, text: str, specials: bool) -> tuple[Sequence[int], NDArray[np.int64]]:
        ids = self.encode(text, specials)
        lengths = [len(token) for token in self._encoding.decode_tokens_bytes(list(ids))]
        return ids, np.cumsum(lengths, dtype=np.int64)

    def decode(self, ids: list[int]) -> str:
        return self._encoding.decode(ids)


class _SentencePiece:
    def __init__(self, source: str | bytes, settings: Mapping[str, Any]) -> None:
        import sentencepiece

        library: Any = sentencepiece
        self._processor = library.SentencePieceProcessor()
        # Not by the path: the library speaks of the platform's narrow characters.
        self._processor.LoadFromSerializedProto(_content(source))

    def encode(self, text: str, specials: bool) -> Sequence[int]:
        return self._processor.encode(text)

    def encode_with_ends(self, text: str, specials: bool) -> tuple[Sequence[int], NDArray[np.int64]]:
        from sentencepiece import sentencepiece_pb2

        schema: Any = sentencepiece_pb2
        pieces = schema.SentencePieceText.FromString(self._processor.encode(text, out_type="serialized_proto")).pieces
        ends = np.array([piece.end for piece in pieces], np.int64)
        # Of the bytes of a character only the last is said to take any text; they share all of it.
        for number in range(len(pieces) - 2, -1, -1):
            here, following = pieces[number], pieces[number + 1]
            if here.begin == here.end and self._processor.IsByte(here.id) and self._processor.IsByte(following.id):
                ends[number] = ends[number + 1]
        return [piece.id for piece in pieces], ends

    def decode(self, ids: list[int]) -> str:
        return self._processor.decode(ids)


_LIBRARIES: Mapping[str, Callable[[str | bytes, Mapping[str, Any]], Library]] = {
    "tokenizers": _Tokenizers,
    "tiktoken": _Tiktoken,
    "sentencepiece": _SentencePiece,
}


class Answers:
    """Answers questions about one file after another; a file is read once, as long as the next question is of it."""

    def __init__(self) -> None:
        self._key = ""
        self._library: Library | None = None

    def answer(self, request: Mapping[str, Any], behind: bytes = b"") -> list[bytes]:
        """The answer to each text or each list of ids of a request.

        A request says `do` and what `name` a message calls the file. But for "split" it has the `library`, and either
        the `path`, the `settings` and the `stamp` of a file, which changes with its content, or none of these where the
        file was opened before.
        "encode" has `texts`, `specials` and `decoded` (a text or null for each), and gives uint32 ids; "decode" has
        `ids` and gives UTF-8; "split" has a `library`, `texts`, a `regex` and for each text the
        `pieces` that are expected, and gives uint32 ends in characters.
        "open" has `settings` and the content of a file behind it, and gives nothing; then there are "encode texts",
        which has `specials` and `sizes` in bytes of the texts behind it, and gives the uint32 ids of all of them,
        "encode with ends", which gives also int64 ends, each in its own text and never descending, and int64 how many
        ids each text has, and "decode ids", which has uint32 ids behind it.

        Raises:
            FormatError: The library refuses, or does not decode its ids to what `decoded` says.
        """
        return list(self.answers(request, behind))

    def answers(self, request: Mapping[str, Any], behind: bytes = b"") -> Iterable[bytes]:
        """Like `answer`, one by one."""
        match request["do"]:
            case "split":
                yield from _split(request)
            case "open":
                self._library, self._key = _opened(request, behind), ""
            case "encode texts" | "encode with ends":
                yield from self._encode_texts(request, behind)
            case "decode ids":
                yield from self._decode(request, [np.frombuffer(behind, np.uint32).tolist()])
            case "decode":
                yield from self._decode(request, request["ids"])
            case _:
                yield from self._encode(request)

    def _encode_texts(self, request: Mapping[str, Any], behind: bytes) -> Iterable[bytes]:
        library, specials = self._read(request), request["specials"]
        ids: list[NDArray[np.uint32]] = []
        ends: list[NDArray[np.int64]] = []
        stop = 0
        with _Refusals(f"{request['name']}: {TITLES[request['library']]} cannot encode with it"):
            for size in request["sizes"]:
                start, stop = stop, stop + size
                text = behind[start:stop].decode()
                if request["do"] == "encode texts":
                    ids.append(np.array(library.encode(text, specials), np.uint32))
                    continue
                numbers, places = library.encode_with_ends(text, specials)
                ids.append(np.array(numbers, np.uint32))
                # A library may let a token begin before another ends.
                ends.append(np.minimum(np.maximum.accumulate(places), size))
        yield np.concatenate(ids).tobytes()
        if ends:
            yield np.concatenate(ends).tobytes()
            yield np.array([len(part) for part in ids], np.int64).tobytes()

    def _decode(self, request: Mapping[str, Any], several: Iterable[list[int]]) -> Iterable[bytes]:
        library = self._read(request)
        for ids in several:
            with _Refusals(f"{request['name']}: {TITLES[request['library']]} cannot decode these ids"):
                yield library.decode(ids).encode("utf-8", "replace")

    def _encode(self, request: Mapping[str, Any]) -> Iterable[bytes]:
        name, owner = request["name"], TITLES[request["library"]]
        library = self._read(request)
        for text, decoded in zip(request["texts"], request["decoded"], strict=True):
            with _Refusals(f"{name}: {owner} cannot encode with it"):
                ids = library.encode(text, request["specials"])
                again = None if decoded is None else library.decode(list(ids))
            if decoded is not None and again != decoded:
                raise FormatError(f"{name}: read back by {owner}, its ids do not decode to the text.")
            yield np.array(ids, np.uint32).tobytes()

    def _read(self, request: Mapping[str, Any]) -> Library:
        if "path" not in request:
            assert self._library is not None
            return self._library
        key = json.dumps([request[part] for part in ("library", "path", "settings", "stamp")])
        if self._library is None or key != self._key:
            self._library = _opened(request, request["path"])
            self._key = key
        return self._library


def _opened(request: Mapping[str, Any], source: str | bytes) -> Library:
    kind, name = request["library"], request["name"]
    with _Refusals(f"{name}: {TITLES[kind]} cannot read it"):
        try:
            return _LIBRARIES[kind](source, request["settings"])
        except ImportError as error:
            lost = "it cannot be opened" if isinstance(source, bytes) else "nothing is proved"
            raise FormatError(f"{name}: {TITLES[kind]} cannot be loaded ({error}), so {lost}.") from error
    raise AssertionError


def _content(source: str | bytes) -> bytes:
    """What stands in a file that is given by its path or by what stands in it."""
    return source if isinstance(source, bytes) else Path(source).read_bytes()


def _bytes_before(text: str) -> NDArray[np.int64]:
    """For each character of a text, and for its end, how many bytes of UTF-8 stand before it."""
    points = np.frombuffer(text.encode("utf-32-le"), "<u4")
    lengths = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


def _split(request: Mapping[str, Any]) -> Iterable[bytes]:
    split = _SPLITTERS[request["library"]]
    for text, pieces in zip(request["texts"], request["pieces"], strict=True):
        with _Refusals(f"{request['name']}: {TITLES[request['library']]} cannot use its pattern"):
            ends = split(text, request["regex"], pieces)
        yield np.array(ends, np.uint32).tobytes()


def _split_by_tokenizers(text: str, regex: str, pieces: list[str]) -> Sequence[int]:
    import tokenizers

    library: Any = tokenizers
    split = library.pre_tokenizers.Split(library.Regex(regex), "isolated")
    return [end for _, (_, end) in split.pre_tokenize_str(text)]


def _split_by_tiktoken(text: str, regex: str, pieces: list[str]) -> NDArray[np.int64]:
    """Where tokens end, if the pieces that are expected, and any two that meet, are tokens.

    A pre-token that is such a piece becomes that token, and one of several pieces never becomes just these, as two of
    them would be joined. So the ends are those of the pieces only where tiktoken splits the text into them.
    """
    import tiktoken

    tokens = dict.fromkeys([bytes([byte]) for byte in range(256)])
    tokens |= dict.fromkeys(piece.encode() for piece in pieces)
    tokens |= dict.fromkeys((one + other).encode() for one, other in pairwise(pieces))
    ranks = {token: rank for rank, token in enumerate(tokens)}
    encoding = tiktoken.Encoding("tokstudio", pat_str=regex, mergeable_ranks=ranks, special_tokens={})
    lengths = list(map(len, encoding.decode_tokens_bytes(encoding.encode_ordinary(text))))
    begins = (np.frombuffer(text.encode(), np.uint8) & 0xC0) != 0x80
    return np.cumsum(begins)[np.cumsum(lengths, dtype=np.int64) - 1]


_SPLITTERS: Mapping[str, Callable[[str, str, list[str]], Sequence[int] | NDArray[np.int64]]] = {
    "tokenizers": _split_by_tokenizers,
    "tiktoken": _split_by_tiktoken,
}


class _Refusals:
    """Turns what the library raises in a `with` block into a FormatError that begins with `what`."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        # Where a regular expression takes too long the library panics, which is no Exception.
        is_panic = kind is not None and kind.__name__ == "PanicException"
        if isinstance(error, MemoryError):
            raise FormatError(f"{self._what}: {NO_MEMORY}") from error
        if is_panic or (isinstance(error, Exception) and not isinstance(error, FormatError)):
            raise FormatError(f"{self._what}: {' '.join(str(error).split())}.") from error


def read_exactly(file: BinaryIO, size: int) -> bytes | None:
    """So many bytes; None where the file ends before."""
    parts: list[bytes] = []
    while size and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return None if size else b"".join(parts)


def _sized(file: BinaryIO) -> bytes | None:
    """So many bytes as a length before them says; None where the file ends before."""
    head = read_exactly(file, LENGTH.size)
    return None if head is None else read_exactly(file, *LENGTH.unpack(head))


def main() -> int:
    """Answers requests until there are no more; an argument says how many bytes of memory it may take.

    Each is JSON and what belongs to it, both with their lengths; each answer a status, a length and parts.
    """
    if len(sys.argv) > 1:
        limit_memory(int(sys.argv[1]))
    source, target = sys.stdin.buffer, sys.stdout.buffer
    answers = Answers()
    while (request := _sized(source)) is not None:
        behind = _sized(source)
        if behind is None:
            return 1
        try:
            parts = answers.answer(json.loads(request), behind)
            status, content = DONE, b"".join(LENGTH.pack(len(part)) + part for part in parts)
        except FormatError as error:
            status, content = REFUSED, str(error).encode()
        target.write(status + LENGTH.pack(len(content)) + content)
        target.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
