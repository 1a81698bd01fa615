"""A tokenizer whose own library encodes and decodes for it, in a child process.

TokStudio shows its vocabulary and derived merges; the library follows all settings of the file.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work, finish, part_of
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.source import groups
from tokstudio.core.libraries.client import LibraryProcess
from tokstudio.core.libraries.server import TITLES, Answers, Decode, Encode, LibraryName, Open
from tokstudio.core.model.tokens import TokenKind
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.text.utf8 import Text, to_utf8
from tokstudio.core.tokenizer.batch import check_text
from tokstudio.core.tokenizer.content import SharedTables, TokenizerContent
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ASKED = 1 << 16  # bytes of texts in one request


@dataclass(frozen=True, eq=False)
class LibraryFile:
    """The files for a library to read, with their contents in memory."""

    library: LibraryName
    name: str  # the name of the file in messages
    # the content of the file, and of files that belong to it, by their usual names; the library reads the first
    files: Mapping[str, bytes]
    # further settings of the library; see `client.LibraryInput`
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def content(self) -> bytes:
        """The content that the library reads."""
        return next(iter(self.files.values()))


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The vocabulary of a tokenizer whose library encodes for it."""

    content: TokenizerContent  # its merges are derived, and the parts of each precede it
    # ids of extra tokens that stand for a byte of a character that has no token
    byte_tokens: frozenset[int] = frozenset()
    unreachable: frozenset[int] = frozenset()  # ids of extra tokens that no text becomes
    model: str = "BPE"  # see `Tokenizer.model`
    tokens_beside: tuple[str, ...] = ()  # see `LibraryTokenizer.tokens_beside`
    strings: Mapping[str, int] | None = None  # the tokens as the file spells them, with their ids


class LibraryTokenizer(Tokenizer):
    """A tokenizer whose own library encodes and decodes; safe in several threads.

    The ids are those of the text alone, without tokens that a file adds to every text. Bytes that are not UTF-8 become
    U+FFFD, because the libraries accept only text. `reason` is a request of the file that TokStudio does not support,
    such as "its normalizer NFC changes the text".
    """

    def __init__(self, file: LibraryFile, vocabulary: Vocabulary, reason: str) -> None:
        content = vocabulary.content.frozen()
        self._begin(content, SharedTables(content))
        self._file, self._vocabulary, self._reason = file, vocabulary, reason
        self._opening = Open(file.library, file.name, dict(file.settings), [file.content])
        self._process = LibraryProcess(self._opening)
        self._turn = threading.Lock()
        self._here: Answers | None = None

    @property
    def library(self) -> str:
        """The library that encodes and decodes."""
        return self._file.library

    @property
    def model(self) -> str:
        """The kind of its model."""
        return self._vocabulary.model

    @property
    def no_playhead(self) -> str:
        """Why only all merges together can be used, as the end of a sentence."""
        return f"{self._reason}, so {TITLES[self._file.library]} encodes for it"

    @property
    def source_files(self) -> Mapping[str, bytes]:
        """The files of the library by name: a folder of these opens as this tokenizer."""
        return dict(self._file.files)

    @property
    def tokens_beside(self) -> tuple[str, ...]:
        """The added tokens that stand only in the files beside the first."""
        return self._vocabulary.tokens_beside

    def with_content(self, content: bytes) -> LibraryTokenizer:
        """The same tokenizer, encoded by another content of the file that its library reads."""
        usual = next(iter(self._file.files))
        file = replace(self._file, files={**self._file.files, usual: content})
        return LibraryTokenizer(file, self._vocabulary, self._reason)

    @cached_property
    def _strings(self) -> dict[str, int]:
        if self._vocabulary.strings is None:
            return super()._strings
        return {**self._vocabulary.strings, **self._content.special_tokens}

    def _is_like(self, other: Tokenizer) -> bool:
        if not isinstance(other, LibraryTokenizer):
            return False
        mine, theirs = self._file, other._file
        same = mine.library == theirs.library and mine.settings == theirs.settings
        return same and dict(mine.files) == dict(theirs.files) and super()._is_like(other)

    def close(self) -> None:
        """Ends the process of the library; the next request starts another."""
        self._process.close()

    def kind(self, token: int) -> TokenKind:
        """The kind of a token; "other" is one that its library makes by rules of its own."""
        kind = super().kind(token)
        if token not in self._content.extra_tokens or kind == "merge":
            return kind
        if token in self._vocabulary.byte_tokens:
            return "byte"
        return "unreachable" if token in self._vocabulary.unreachable else "other"

    def at(self, merges: int) -> Tokenizer:
        """Returns itself for all merges; raises ConfigError for any other number."""
        if merges != len(self.merges):
            if self.no_merges is not None:
                raise ConfigError(self.no_merges)
            super().at(merges)
            raise ConfigError(f"The {len(self.merges):,} merges can only be used all together: {self.no_playhead}.")
        return self

    def compact(self) -> Tokenizer:
        """Returns itself; raises ConfigError where there are gaps between its ids, which its library needs."""
        if len(self.tokens.ids()) < len(self.tokens):
            raise ConfigError(f"The ids of this tokenizer cannot be changed: {self.no_playhead}.")
        return self

    def open_work(self) -> Work[None]:
        """Lets the library read the file; raises FormatError, which names the file, where it is refused."""
        yield from self._encode([b""], True)

    def encode_work(
        self, text: Text, allowed_special: AllowedSpecial = (), threads: int | None = None
    ) -> Work[NDArray[np.uint32]]:
        """Does the same as `encode_array`; closing the work ends the library's process, which has its own threads.

        Raises:
            ConfigError: A special token is unknown, or some are allowed and others are not.
            FormatError: The library refuses the text.
        """
        return (yield from self.encode_texts_work([_utf8(text)], allowed_special))[0]

    def encode_texts_work(
        self, texts: Sequence[bytes], allowed_special: AllowedSpecial = (), threads: int | None = None
    ) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
        """See `Tokenizer.encode_texts_work`; the library is asked for about 64 KiB of texts at once."""
        recognised = self._recognised(allowed_special)
        ids, tokens = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
        ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
        for first, last, start, _ in groups(ends, _ASKED):
            request = self._encode(map(_utf8, texts[first:last]), recognised)
            some_ids, some_tokens = yield from part_of(
                request, "encoding", start, int(ends[last - 1]) - start, int(ends[-1])
            )
            ids.append(np.frombuffer(some_ids, np.uint32))
            tokens.append(np.frombuffer(some_tokens, np.int64))
        return np.concatenate(ids), np.concatenate(tokens)

    def encode_with_ends_work(
        self, text: Text, allowed_special: AllowedSpecial = ()
    ) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
        """See `Tokenizer.encode_with_ends_work`; the ends are those of the library.

        Of several tokens within a character all but one are empty, and text that the library drops belongs to the token
        after it.
        """
        ids, ends, _ = yield from self.encode_texts_with_ends_work([text], allowed_special)
        return ids, ends

    def encode_texts_with_ends_work(
        self, texts: Sequence[Text], allowed_special: AllowedSpecial = ()
    ) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]]:
        """Encodes each text by itself; see `Tokenizer.encode_texts_with_ends_work`."""
        ids, counts, ends, _ = yield from self._encode(map(_utf8, texts), self._recognised(allowed_special), True)
        arrays = np.frombuffer(ids, np.uint32).copy(), np.frombuffer(ends, np.int64).copy()
        return *arrays, np.frombuffer(counts, np.int64)

    def encode_with_spans_work(
        self, text: Text, allowed_special: AllowedSpecial = ()
    ) -> Work[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
        """See `Tokenizer.encode_with_spans_work`; the spans are those of the library."""
        ids, _, _, spans = yield from self._encode([_utf8(text)], self._recognised(allowed_special), True)
        return np.frombuffer(ids, np.uint32).copy(), np.frombuffer(spans, np.int64).reshape(-1, 2).copy()

    def _spelled(self, ids: Iterable[int]) -> bytes:
        return finish(self.decode_bytes_work(ids))

    def decode_bytes_work(self, ids: Iterable[int]) -> Work[bytes]:
        """The UTF-8 of the text that the library decodes, in bounded pieces; invalid text becomes U+FFFD."""
        request = Decode(self._file.library, self._file.name, [self.tokens.checked(ids).tobytes()])
        [text] = yield from self._ask(request, "decoding")
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return LibraryTokenizer, (self._file, self._vocabulary, self._reason)

    def _recognised(self, allowed: AllowedSpecial) -> bool:
        """Whether special tokens are to be recognised."""
        if allowed == "all":
            return True
        chosen = self._tables.finders.allowed(allowed)
        if chosen and len(chosen) < len(self._content.special_tokens):
            raise ConfigError(
                f"{TITLES[self._file.library].capitalize()} recognises all special tokens of this tokenizer or none: "
                'allow "all" or none.'
            )
        return bool(chosen)

    def _encode(self, texts: Iterable[bytes], specials: bool, with_ends: bool = False) -> Work[list[bytes]]:
        request = Encode(self._file.library, self._file.name, specials, with_ends, list(texts))
        return (yield from self._ask(request, "encoding"))

    def _ask(self, request: Encode | Decode, phase: str) -> Work[list[bytes]]:
        parts = yield from self._process.parts(request, phase)
        if parts is not None:
            return parts
        with self._turn:
            if self._here is None:
                here = Answers()
                list(here.answers(self._opening))
                self._here = here
            return list(self._here.answers(request))


def _utf8(text: Text) -> bytes:
    check_text(text)
    raw = to_utf8(text)
    return raw.decode("utf-8", "replace").encode() if isinstance(text, bytes) else raw


# --- Which tokenizers can be changed: those whose merges decide everything --------------------------------------------


def why_fixed(tokenizer: Tokenizer, whole_words: bool = False) -> str | None:
    """Why a tokenizer cannot be changed, a sentence; None where it can.

    `whole_words` says whether tokens that a pre-token becomes without merging may stay what they are; so may merges of
    tokens that later ones make.
    """
    if tokenizer.no_merges is not None:
        return f"This tokenizer cannot be changed. {tokenizer.no_merges}"
    if tokenizer.library is not None:
        return f"This tokenizer cannot be changed: {tokenizer.no_playhead}."
    if tokenizer.removals is not None:
        return "This tokenizer cannot be changed: its encoding also removes tokens again (Picky BPE)."
    if tokenizer.supermerges is not None:
        return "This tokenizer cannot be changed: its supermerges join only words that are whole tokens of it."
    if tokenizer.whole_words and not whole_words:
        number = len(tokenizer.whole_words)
        return (
            f"The tokens of this tokenizer cannot be changed: {number:,} of them are made without merging, because its "
            'file says "ignore_merges".'
        )
    if tokenizer.needed_merges is not None and not whole_words:
        return "The tokens of this tokenizer cannot be changed: some of its merges join tokens that later merges make."
    return None


def check_changeable(tokenizer: Tokenizer, whole_words: bool = False) -> None:
    """Raises ConfigError where a tokenizer cannot be changed; see `why_fixed`."""
    if (reason := why_fixed(tokenizer, whole_words)) is not None:
        raise ConfigError(reason)
