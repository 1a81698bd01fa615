"""Answers requests about files and texts with the libraries that own the formats; runs as a program for its parent.

The libraries hold the interpreter's lock while they read and encode, and would freeze a window. So all but small
requests are sent to a child process, by `client`. Loading NumPy would take half of the time in which that starts, so
only requests that need it do.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import importlib
import json
import os
import re
import shutil
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.subprocesses import ParentProcess, Refused, ended_with_parent

_WORD = re.compile(r"\w")

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NO_MEMORY = "it would need more than half of this computer's memory, which is the limit."
TITLES = {
    "tokenizers": "the tokenizers library",
    "tiktoken": "the tiktoken library",
    "sentencepiece": "the sentencepiece library",
    "transformers": "the transformers library",
    "llama.cpp": "llama.cpp",
    "loader": "the loader",
}
LibraryName = Literal["tokenizers", "tiktoken", "sentencepiece", "transformers", "llama.cpp", "loader"]


@dataclass(frozen=True)
class LibraryRequest:
    """A request to a library; `name` is that of the file in messages."""

    library: LibraryName
    name: str

    @property
    def title(self) -> str:
        """The name of the library in messages."""
        return TITLES[self.library]


@dataclass(frozen=True)
class SplitTexts(LibraryRequest):
    """Asks for the ends of pre-tokens, uint32 in characters, of each text; `pieces` are those that are expected."""

    texts: Sequence[str]
    regex: str
    pieces: Sequence[list[str]]


@dataclass(frozen=True)
class PreTokenize(LibraryRequest):
    """Asks for the beginnings and ends of pre-tokens, uint32 in characters by turns, of each text.

    `pre_tokenizer` is that part of a `tokenizer.json`.
    """

    pre_tokenizer: Mapping[str, Any]
    parts: list[bytes]


@dataclass(frozen=True)
class EncodeByFile(LibraryRequest):
    """Asks for the uint32 ids of each text by a file, which must decode to the text in `decoded` that is not None."""

    path: str
    settings: Mapping[str, Any]
    texts: Sequence[str]
    decoded: Sequence[str | None]


@dataclass(frozen=True)
class TryLlama(LibraryRequest):
    """Asks why llama.cpp cannot be used, in UTF-8; empty where it can."""


@dataclass(frozen=True)
class Open(LibraryRequest):
    """Opens a file by its content, by which later requests encode and decode; the answer is empty."""

    settings: Mapping[str, Any]
    parts: list[bytes]


@dataclass(frozen=True)
class Encode(LibraryRequest):
    """Asks for the uint32 ids of all texts together, and int64 how many each text has.

    With `with_ends`, there are also int64 ends, each in its own text and never decreasing, and int64 [ids, 2], where
    each token begins and ends by its library: they may overlap.
    """

    specials: bool
    with_ends: bool
    parts: list[bytes]


@dataclass(frozen=True)
class OpenFile(LibraryRequest):
    """Opens a file by its path, for `EncodeInput`; for transformers a folder. The answer is empty."""

    path: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class EncodeInput(LibraryRequest):
    """Asks for the uint32 ids of documents as the library gives them to a model, and int64 how many each has.

    Special tokens are recognised; with `around`, what the library adds to a text is among the ids. The parts are the
    UTF-8 of all documents and the int64 ends of each.
    """

    around: bool
    parts: list[bytes]


@dataclass(frozen=True)
class Decode(LibraryRequest):
    """Asks for the text of uint32 ids, in UTF-8."""

    parts: list[bytes]


@dataclass(frozen=True)
class Train(LibraryRequest):
    """Asks for what `training.train` makes of these lines and of those of all such requests after it.

    The last has no parts; all before it get an empty answer. Only the first has settings.
    """

    settings: Mapping[str, Any] | None
    parts: list[bytes]


@dataclass(frozen=True)
class Answered:
    """The answer to each request."""

    parts: list[bytes]


class Library(Protocol):
    """A file that its library has read."""

    def encode(self, text: str, specials: bool) -> Sequence[int]:
        """The ids of a text, with special tokens recognised in it or not."""
        ...

    def encode_with_spans(self, text: str, specials: bool) -> tuple[Sequence[int], NDArray[np.int64]]:
        """The ids of a text, and int64 [ids, 2], the beginning and end of each token in the UTF-8 of the text."""
        ...

    def encode_input(self, text: str, around: bool) -> Sequence[int]:
        """The ids of a text as a model gets them, with or without what the library adds to it."""
        ...

    def decode(self, ids: list[int]) -> str:
        """The text of ids."""
        ...


class _Tokenizers:
    def __init__(self, source: str | bytes, settings: Mapping[str, Any]) -> None:
        import tokenizers

        # The library is compiled and has no types.
        library: Any = tokenizers
        if "merges" in settings:
            self._tokenizer = _of_pair(library, str(source), settings)
        else:
            # Not by the path: the library takes only one that is UTF-8.
            self._tokenizer = library.Tokenizer.from_buffer(_content(source))
        if isinstance(source, bytes):
            # Those that stand beside the file.
            self._tokenizer.add_tokens([library.AddedToken(**token) for token in settings.get("added_tokens", ())])
            if getattr(model := self._tokenizer.model, "dropout", None):
                model.dropout = None
        # Truncation and padding are settings of a model's input.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, text: str, specials: bool) -> Sequence[int]:
        self._tokenizer.encode_special_tokens = not specials
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def encode_with_spans(self, text: str, specials: bool) -> tuple[Sequence[int], NDArray[np.int64]]:
        import numpy as np

        self._tokenizer.encode_special_tokens = not specials
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return encoding.ids, _bytes_before(text)[np.array(encoding.offsets, np.int64).reshape(-1, 2)]

    def encode_input(self, text: str, around: bool) -> Sequence[int]:
        self._tokenizer.encode_special_tokens = False
        return self._tokenizer.encode(text, add_special_tokens=around).ids

    def decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=False)


def _of_pair(library: Any, path: str, settings: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """The tokenizer of GPT-2's pair of files, with the settings that the files lack."""
    tokenizer = library.Tokenizer(_model_of_pair(library, path, settings["merges"]))
    steps = [library.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    if settings["regex"] is not None:
        steps.insert(0, library.pre_tokenizers.Split(library.Regex(settings["regex"]), "isolated"))
    tokenizer.pre_tokenizer = library.pre_tokenizers.Sequence(steps)
    tokenizer.decoder = library.decoders.ByteLevel()
    tokenizer.add_special_tokens(settings["special_tokens"])
    return tokenizer


def _model_of_pair(library: Any, *paths: str) -> Any:  # noqa: ANN401
    """The model of `vocab.json` and `merges.txt`, which the library reads only at paths that are UTF-8."""
    try:
        return library.models.BPE.from_file(*paths)
    except UnicodeEncodeError:
        from tokstudio.core.base.private_folders import TemporaryFolder

        with TemporaryFolder() as folder:
            copies = [shutil.copyfile(path, folder / str(number)) for number, path in enumerate(paths)]
            return library.models.BPE.from_file(*map(str, copies))


class _Tiktoken:
    def __init__(self, source: str | bytes, settings: Mapping[str, Any]) -> None:
        import tiktoken

        # Its own reader caches by the file's name, and would return an older file of the same name.
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

    def encode_with_spans(self, text: str, specials: bool) -> tuple[Sequence[int], NDArray[np.int64]]:
        import numpy as np

        ids = self.encode(text, specials)
        ends = np.cumsum([len(token) for token in self._encoding.decode_tokens_bytes(list(ids))], dtype=np.int64)
        return ids, np.stack([np.concatenate([np.zeros(1, np.int64), ends[:-1]])[: len(ends)], ends], axis=1)

    def encode_input(self, text: str, around: bool) -> Sequence[int]:
        return self.encode(text, specials=True)  # it adds nothing

    def decode(self, ids: list[int]) -> str:
        return self._encoding.decode(ids)


class _SentencePiece:
    def __init__(self, source: str | bytes, settings: Mapping[str, Any]) -> None:
        import sentencepiece

        library: Any = sentencepiece
        self._processor = library.SentencePieceProcessor()
        # Not by the path: the library expects it in the platform's narrow characters.
        content = _content(source)
        self._processor.LoadFromSerializedProto(content)
        self._added: dict[str, Mapping[str, Any]] = {
            token["content"]: token for token in settings.get("added_tokens", ())
        }
        self._texts = {token["id"]: token["content"] for token in self._added.values()}
        self._behind = self._processor
        if self._added and settings["prefix_first"]:
            from sentencepiece import sentencepiece_model_pb2

            schema: Any = sentencepiece_model_pb2
            model = schema.ModelProto.FromString(content)
            model.normalizer_spec.add_dummy_prefix = False
            self._behind = library.SentencePieceProcessor()
            self._behind.LoadFromSerializedProto(model.SerializeToString())
        # The longest first, so that of several at one place the longest is found.
        longest = sorted(self._added, key=len, reverse=True)
        self._any_added = re.compile("|".join(map(re.escape, longest))) if longest else None

    def encode(self, text: str, specials: bool) -> Sequence[int]:
        if self._any_added is None:
            return self._processor.encode(text)
        ids: list[int] = []
        for start, stop, token in self._parts(text, specials):
            processor = self._behind if start else self._processor
            ids += [token] if token is not None else processor.encode(text[start:stop])
        return ids

    def encode_with_spans(self, text: str, specials: bool) -> tuple[Sequence[int], NDArray[np.int64]]:
        import numpy as np

        ids, spans = list[int](), [np.zeros((0, 2), np.int64)]
        for start, stop, token in self._parts(text, specials):
            before = len(text[:start].encode())
            if token is not None:
                ids.append(token)
                spans.append(np.array([[before, before + len(text[start:stop].encode())]], np.int64))
            else:
                more, more_spans = self._with_spans(self._behind if start else self._processor, text[start:stop])
                ids += more
                spans.append(more_spans + before)
        return ids, np.concatenate(spans)

    def encode_input(self, text: str, around: bool) -> Sequence[int]:
        return self.encode(text, specials=True)  # it adds nothing

    def _parts(self, text: str, specials: bool) -> Iterator[tuple[int, int, int | None]]:
        """Yields the start and end of parts of a text, with the id of an added token or None, as transformers does."""
        at = 0
        for match in self._any_added.finditer(text) if self._any_added is not None else ():
            start, stop = match.span()
            token = self._added[match[0]]
            if token["special"] and not specials:
                continue
            if token["single_word"] and (_WORD.match(text[start - 1 : start]) or _WORD.match(text[stop : stop + 1])):
                continue
            start = max(at, len(text[:start].rstrip())) if token["lstrip"] else start
            stop = len(text) - len(text[stop:].lstrip()) if token["rstrip"] else stop
            if at < start:
                yield at, start, None
            yield max(at, start), max(at, stop), token["id"]
            at = max(at, stop)
        if at < len(text):
            yield at, len(text), None

    @staticmethod
    def _with_spans(processor: Any, text: str) -> tuple[Sequence[int], NDArray[np.int64]]:  # noqa: ANN401
        import numpy as np
        from sentencepiece import sentencepiece_pb2

        schema: Any = sentencepiece_pb2
        pieces = schema.SentencePieceText.FromString(processor.encode(text, out_type="serialized_proto")).pieces
        spans = np.array([[piece.begin, piece.end] for piece in pieces], np.int64).reshape(-1, 2)
        # Of the tokens for the bytes of one character, only the last has an extent; all of them share its end.
        for number in range(len(pieces) - 2, -1, -1):
            here, following = pieces[number], pieces[number + 1]
            if here.begin == here.end and processor.IsByte(here.id) and processor.IsByte(following.id):
                spans[number, 1] = spans[number + 1, 1]
        return [piece.id for piece in pieces], spans

    def decode(self, ids: list[int]) -> str:
        if not self._texts:
            return self._processor.decode(ids)
        parts: list[str] = []
        for is_added, run in groupby(ids, self._texts.__contains__):
            processor = self._behind if parts else self._processor
            part = list(run)
            parts.append("".join(map(self._texts.__getitem__, part)) if is_added else processor.decode(part))
        return "".join(parts)


class _Transformers:
    """What AutoTokenizer makes of a folder; it runs no code of that folder and asks no other computer."""

    def __init__(self, source: str | bytes, settings: Mapping[str, Any]) -> None:
        os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
        # By its name: the checker of types would read a file of a thousand models for ten seconds.
        library: Any = importlib.import_module("transformers")
        self._tokenizer = library.AutoTokenizer.from_pretrained(source, local_files_only=True, trust_remote_code=False)

    def encode_input(self, text: str, around: bool) -> Sequence[int]:
        return self._tokenizer.encode(text, add_special_tokens=around, verbose=False)


def _of_llama(source: str | bytes, settings: Mapping[str, Any]) -> Any:  # noqa: ANN401 - encodes without ends
    from tokstudio.core.libraries.llama import LlamaCpp

    return LlamaCpp(str(source))


class _Loader:
    """The program that an export writes, which is run as it was written; of a file that was opened, none is."""

    def __init__(self, source: str | bytes, settings: Mapping[str, Any]) -> None:
        names: dict[str, Any] = {"__name__": "loader", "__file__": source}
        exec(compile(_content(source), "loader.py", "exec"), names)
        self._tokenizer = names["load"](settings["vocabulary"], settings["merges"])

    def encode(self, text: str, specials: bool) -> Sequence[int]:
        return self._tokenizer.encode(text, "all" if specials else ())

    def decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids)


# Not each has all methods of a `Library`: only those that are asked for.
_LIBRARIES: Mapping[str, Callable[[str | bytes, Mapping[str, Any]], Any]] = {
    "tokenizers": _Tokenizers,
    "transformers": _Transformers,
    "tiktoken": _Tiktoken,
    "sentencepiece": _SentencePiece,
    "llama.cpp": _of_llama,
    "loader": _Loader,
}


class Answers:
    """Answers requests; the file of the latest `Open` stays open."""

    def __init__(self) -> None:
        self._library: Library | None = None

    def answers(self, request: LibraryRequest) -> Iterable[bytes]:
        """Yields the parts of the answer to a request one by one.

        Raises:
            FormatError: The library refuses, or does not decode its ids to what is expected.
        """
        match request:
            case SplitTexts():
                yield from _split(request)
            case PreTokenize():
                yield from _pre_tokenize(request)
            case EncodeByFile():
                yield from _encode_by_file(request)
            case TryLlama():
                from tokstudio.core.libraries.llama import why_unusable

                yield why_unusable().encode()
            case Open():
                self._library = _opened(request, request.parts[0], request.settings)
            case OpenFile():
                self._library = _opened(request, request.path, request.settings)
            case EncodeInput():
                assert self._library is not None
                yield from _encode_input(request, self._library)
            case Decode():
                assert self._library is not None
                with _refusals(f"{request.name}: {request.title} cannot decode these ids"):
                    yield self._library.decode(array("I", request.parts[0]).tolist()).encode("utf-8", "replace")
            case Encode():
                assert self._library is not None
                yield from _encode(request, self._library)
            case _:
                raise AssertionError


def _encode(request: Encode, library: Library) -> Iterable[bytes]:
    ids, counts = list[bytes](), array("q")
    ends, spans = list[bytes](), list[bytes]()
    with _refusals(f"{request.name}: {request.title} cannot encode with it"):
        for text in request.parts:
            if request.with_ends:
                numbers, text_spans = library.encode_with_spans(text.decode(), request.specials)
                ends.append(_in_order(text_spans[:, 1], len(text)).tobytes())
                spans.append(text_spans.tobytes())
            else:
                numbers = library.encode(text.decode(), request.specials)
            ids.append(_uint32(numbers))
            counts.append(len(numbers))
    yield b"".join(ids)
    yield counts.tobytes()
    if request.with_ends:
        yield b"".join(ends)
        yield b"".join(spans)


def _encode_input(request: EncodeInput, library: Library) -> Iterable[bytes]:
    data, ends = request.parts
    ids, counts, start = list[bytes](), array("q"), 0
    with _refusals(f"{request.name}: {request.title} cannot encode with it"):
        for end in array("q", ends):
            numbers = library.encode_input(data[start:end].decode(), request.around)
            ids.append(_uint32(numbers))
            counts.append(len(numbers))
            start = end
    yield b"".join(ids)
    yield counts.tobytes()


def _encode_by_file(request: EncodeByFile) -> Iterable[bytes]:
    library = _opened(request, request.path, request.settings)
    for text, decoded in zip(request.texts, request.decoded, strict=True):
        with _refusals(f"{request.name}: {request.title} cannot encode with it"):
            ids = library.encode(text, specials=True)
            again = None if decoded is None else library.decode(list(ids))
        if again != decoded:
            raise FormatError(f"{request.name}: read back by {request.title}, its ids do not decode to the text.")
        yield _uint32(ids)


def _opened(request: LibraryRequest, source: str | bytes, settings: Mapping[str, Any]) -> Library:
    with _refusals(f"{request.name}: {request.title} cannot read it"):
        try:
            return _LIBRARIES[request.library](source, settings)
        except ImportError as error:
            lost = "it cannot be opened" if isinstance(source, bytes) else "nothing is proved"
            raise FormatError(f"{request.name}: {request.title} cannot be loaded ({error}), so {lost}.") from error
    raise AssertionError


def _content(source: str | bytes) -> bytes:
    """The content of a file that is given by its path or by its content."""
    return source if isinstance(source, bytes) else Path(source).read_bytes()


def _uint32(numbers: Iterable[int]) -> bytes:
    return array("I", numbers).tobytes()


def _in_order(ends: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Ends within the size of a text, and never decreasing; in some libraries a token may begin before another ends."""
    import numpy as np

    return np.minimum(np.maximum.accumulate(ends), size)


def _bytes_before(text: str) -> NDArray[np.int64]:
    """For each character of a text, and for its end, how many bytes of UTF-8 precede it."""
    import numpy as np

    points = np.frombuffer(text.encode("utf-32-le"), "<u4")
    lengths = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


def _split(request: SplitTexts) -> Iterable[bytes]:
    split = _SPLITTERS[request.library]
    for text, pieces in zip(request.texts, request.pieces, strict=True):
        with _refusals(f"{request.name}: {request.title} cannot use its pattern"):
            ends = split(text, request.regex, pieces)
        yield _uint32(ends)


def _pre_tokenize(request: PreTokenize) -> Iterable[bytes]:
    import tokenizers

    library: Any = tokenizers
    model: dict[str, Any] = {"type": "BPE", "vocab": {}, "merges": []}
    content = json.dumps({"version": "1.0", "pre_tokenizer": request.pre_tokenizer, "model": model})
    with _refusals(f"{request.name}: {request.title} cannot use its pre-tokenizer"):
        pre_tokenizer = library.Tokenizer.from_str(content).pre_tokenizer
        spans = [pre_tokenizer.pre_tokenize_str(part.decode()) for part in request.parts]
    for of_text in spans:
        yield _uint32(place for _, span in of_text for place in span)


def _split_by_tokenizers(text: str, regex: str, pieces: list[str]) -> Sequence[int]:
    import tokenizers

    library: Any = tokenizers
    split = library.pre_tokenizers.Split(library.Regex(regex), "isolated")
    return [end for _, (_, end) in split.pre_tokenize_str(text)]


def _split_by_tiktoken(text: str, regex: str, pieces: list[str]) -> Sequence[int]:
    """The ends of tokens in a vocabulary of the expected pieces and of any two adjacent ones.

    A pre-token that is an expected piece becomes that token, and a pre-token of several pieces never becomes just
    these, because two of them would be merged. So the ends are those of the pieces only where tiktoken splits the text
    into them.
    """
    import numpy as np
    import tiktoken

    tokens = dict.fromkeys([bytes([byte]) for byte in range(256)])
    tokens |= dict.fromkeys(piece.encode() for piece in pieces)
    tokens |= dict.fromkeys((one + other).encode() for one, other in pairwise(pieces))
    ranks = {token: rank for rank, token in enumerate(tokens)}
    encoding = tiktoken.Encoding("tokstudio", pat_str=regex, mergeable_ranks=ranks, special_tokens={})
    lengths = list(map(len, encoding.decode_tokens_bytes(encoding.encode_ordinary(text))))
    begins = (np.frombuffer(text.encode(), np.uint8) & 0xC0) != 0x80
    return np.cumsum(begins)[np.cumsum(lengths, dtype=np.int64) - 1].tolist()


_SPLITTERS: Mapping[str, Callable[[str, str, list[str]], Sequence[int]]] = {
    "tokenizers": _split_by_tokenizers,
    "tiktoken": _split_by_tiktoken,
}


@contextmanager
def _refusals(what: str) -> Generator[None]:
    """Turns errors of the library in a `with` block into a FormatError that begins with `what`."""
    try:
        yield
    except MemoryError as error:
        raise FormatError(f"{what}: {NO_MEMORY}") from error
    except BaseException as error:
        # Where a regular expression takes too long the library panics; a panic is not an Exception.
        is_panic = type(error).__name__ == "PanicException"
        if isinstance(error, FormatError) or not (is_panic or isinstance(error, Exception)):
            raise
        raise FormatError(f"{what}: {' '.join(str(error).split())}.") from error


def _answered(make: Callable[[], list[bytes]]) -> Answered | Refused:
    try:
        return Answered(make())
    except FormatError as error:
        return Refused(str(error))


def _train(request: Train, parent: ParentProcess) -> list[bytes]:
    """Trains on the content of this request and of all that follow, up to an empty one; answers all but the last."""
    from tokstudio.core.libraries.training import train

    def texts() -> Iterator[str]:
        part: Train | None = request
        while part.parts:
            with ended_with_parent():
                yield from part.parts[0].decode().split("\n")[:-1]
            parent.send(Answered([]))
            part = parent.receive()
            if part is None:
                # An exception would have the library wait, or train on what it has.
                os._exit(1)
        alive.enter_context(ended_with_parent())

    with ExitStack() as alive, _refusals(f"{request.name}: {request.title} cannot train on this corpus"):
        return train(request.name, request.library, request.settings or {}, texts())
    raise AssertionError


def main() -> int:
    """Answers requests until there are no more; a process that has trained answers nothing more."""
    parent = ParentProcess(
        SplitTexts, PreTokenize, EncodeByFile, TryLlama, Open, OpenFile, Encode, EncodeInput, Decode, Train
    )
    answers = Answers()
    while (request := parent.receive()) is not None:
        if isinstance(request, Train) and request.settings is not None:
            parent.send(_answered(lambda: _train(request, parent)))
            break
        with ended_with_parent():
            answer = _answered(lambda: list(answers.answers(request)))
        parent.send(answer)
    return 0
