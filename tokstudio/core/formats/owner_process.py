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
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from tokstudio.core.errors import FormatError

DONE, REFUSED = b"\0", b"\1"
LENGTH = struct.Struct("<Q")
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

    def decode(self, ids: list[int]) -> str:
        """The text of ids."""
        ...


class _Tokenizers:
    def __init__(self, path: str, settings: Mapping[str, Any]) -> None:
        import tokenizers

        # The library is compiled, and its types are not known.
        library: Any = tokenizers
        is_pair = "merges" in settings
        self._tokenizer = _of_pair(library, path, settings) if is_pair else library.Tokenizer.from_file(path)
        # Whether what the file's post-processor adds is wanted.
        self._adds = bool(settings.get("post_process", False))

    def encode(self, text: str, specials: bool) -> Sequence[int]:
        self._tokenizer.encode_special_tokens = not specials
        return self._tokenizer.encode(text, add_special_tokens=self._adds).ids

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
    def __init__(self, path: str, settings: Mapping[str, Any]) -> None:
        import tiktoken

        # Its own reader keeps a copy by the file's name, and would give an older one of the same name.
        lines = (line.split() for line in Path(path).read_bytes().splitlines() if line)
        self._encoding = tiktoken.Encoding(
            "tokstudio",
            pat_str=settings["pattern"],
            mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in lines},
            special_tokens=settings["special_tokens"],
        )

    def encode(self, text: str, specials: bool) -> Sequence[int]:
        allowed: Any = "all" if specials else set[str]()
        return self._encoding.encode(text, allowed_special=allowed, disallowed_special=())

    def decode(self, ids: list[int]) -> str:
        return self._encoding.decode(ids)


class _SentencePiece:
    def __init__(self, path: str, settings: Mapping[str, Any]) -> None:
        import sentencepiece

        library: Any = sentencepiece
        self._processor = library.SentencePieceProcessor()
        # Not by the path: the library speaks of the platform's narrow characters.
        self._processor.LoadFromSerializedProto(Path(path).read_bytes())

    def encode(self, text: str, specials: bool) -> Sequence[int]:
        return self._processor.encode(text)

    def decode(self, ids: list[int]) -> str:
        return self._processor.decode(ids)


_LIBRARIES: Mapping[str, Callable[[str, Mapping[str, Any]], Library]] = {
    "tokenizers": _Tokenizers,
    "tiktoken": _Tiktoken,
    "sentencepiece": _SentencePiece,
}


class Answers:
    """Answers questions about one file after another; a file is read once, as long as the next question is of it."""

    def __init__(self) -> None:
        self._key = ""
        self._library: Library | None = None

    def answer(self, request: Mapping[str, Any]) -> list[bytes]:
        """The answer to each text or each list of ids of a request.

        A request says `do` ("encode", "decode" or "split") and what `name` a message calls the file. But for "split" it
        has the `library`, the `path`, the `settings` and the `stamp` of a file, which changes with its content.
        "encode" has `texts`, `specials` and `decoded` (a text or null for each), and gives uint32 ids; "decode" has
        `ids` and gives UTF-8; "split" has `texts` and a `regex`, and gives uint32 ends in characters.

        Raises:
            FormatError: The library refuses, or does not decode its ids to what `decoded` says.
        """
        return list(self.answers(request))

    def answers(self, request: Mapping[str, Any]) -> Iterable[bytes]:
        """Like `answer`, one by one."""
        if request["do"] == "split":
            yield from _split(request)
            return
        name, owner = request["name"], TITLES[request["library"]]
        library = self._read(request)
        if request["do"] == "decode":
            for ids in request["ids"]:
                with _Refusals(f"{name}: {owner} does not decode these ids"):
                    yield library.decode(ids).encode("utf-8", "replace")
            return
        for text, decoded in zip(request["texts"], request["decoded"], strict=True):
            with _Refusals(f"{name}: {owner} does not encode with it"):
                ids = library.encode(text, request["specials"])
                again = None if decoded is None else library.decode(list(ids))
            if decoded is not None and again != decoded:
                raise FormatError(f"{name}: read back by {owner}, its ids do not give the text again.")
            yield np.array(ids, np.uint32).tobytes()

    def _read(self, request: Mapping[str, Any]) -> Library:
        kind, path, settings = request["library"], request["path"], request["settings"]
        key = json.dumps([kind, path, settings, request["stamp"]])
        if self._library is None or key != self._key:
            with _Refusals(f"{request['name']}: {TITLES[kind]} does not read it"):
                try:
                    self._library = _LIBRARIES[kind](path, settings)
                except ImportError as error:
                    raise FormatError(
                        f"{request['name']}: {TITLES[kind]} cannot be loaded ({error}), so nothing is proved."
                    ) from error
            self._key = key
        return self._library


def _split(request: Mapping[str, Any]) -> Iterable[bytes]:
    import tokenizers

    library: Any = tokenizers
    for text in request["texts"]:
        with _Refusals(f"{request['name']}: {TITLES['tokenizers']} cannot use its pattern"):
            split = library.pre_tokenizers.Split(library.Regex(request["regex"]), "isolated")
            pieces = split.pre_tokenize_str(text)
        yield np.array([end for _, (_, end) in pieces], np.uint32).tobytes()


class _Refusals:
    """Turns what the library raises in a `with` block into a FormatError that begins with `what`."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        # Where a regular expression takes too long the library panics, which is no Exception.
        is_panic = kind is not None and kind.__name__ == "PanicException"
        if is_panic or (isinstance(error, Exception) and not isinstance(error, FormatError)):
            raise FormatError(f"{self._what}: {error}.") from error


def read_exactly(file: BinaryIO, size: int) -> bytes | None:
    """So many bytes; None where the file ends before."""
    parts: list[bytes] = []
    while size and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return None if size else b"".join(parts)


def main() -> int:
    """Answers requests until there are no more: each is a length and JSON, each answer a status, a length and parts."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    answers = Answers()
    while (head := read_exactly(source, LENGTH.size)) is not None:
        request = read_exactly(source, *LENGTH.unpack(head))
        if request is None:
            return 1
        try:
            parts = answers.answer(json.loads(request))
            status, content = DONE, b"".join(LENGTH.pack(len(part)) + part for part in parts)
        except FormatError as error:
            status, content = REFUSED, str(error).encode()
        target.write(status + LENGTH.pack(len(content)) + content)
        target.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
