"""Vocabulary and merges of a tokenizer file: read, checked, and put into their order."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.recover_merges import one_of_each_work
from tokstudio.core.formats.common.text_readers import JsonReader, LineReader
from tokstudio.core.model.alphabet import BYTES, Alphabet, missing_byte
from tokstudio.core.text.byte_level import CHARACTER_OF, to_bytes
from tokstudio.core.text.utf8 import has_surrogates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.tokenizer import Tokenizer

# --- Collects the merges of an untrusted file, and refuses impossible ones --------------------------------------------

LARGEST_ID = (1 << 24) - 1
_BATCH = 1 << 12
_LONGEST_TOKEN = 2**31 - 2


def id_problem(token: object) -> str | None:
    """The reason why a value is not an id; None where it is one."""
    if type(token) is not int:
        return "an id must be a whole number"
    if token < 0:
        return f"id {token} is negative"
    if token > LARGEST_ID:
        return f"id {token} is too large: at most {LARGEST_ID:,} can be read"
    return None


@contextmanager
def sensible_ids(name: str) -> Generator[None]:
    """Turns errors about the ids of the file `name` into a FormatError."""
    try:
        yield
    except ConfigError as error:
        raise FormatError(f"{name}: {str(error)[:1].lower()}{str(error)[1:]}") from error


class MergeList:
    """Merges in rank order, each checked when it is added."""

    def __init__(self, alphabet: Alphabet) -> None:
        self._alphabet = alphabet
        self._rows = array("i")
        # By id, bytes of each token; 0 where there is none.
        self._lengths = array("q", bytes(8 * (int(alphabet.ids.max(initial=0)) + 1)))
        for token, token_bytes in alphabet.tokens.items():
            self._lengths[token] = len(token_bytes)

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> MergeList:
        """The merges of a tokenizer of bytes, for others after them."""
        merge_list = cls(tokenizer.alphabet)
        lengths = np.zeros(len(tokenizer.tokens), np.int64)
        of_text = np.setdiff1d(tokenizer.tokens.ids(), list(tokenizer.special_tokens.values()))
        lengths[of_text] = tokenizer.tokens.lengths()[of_text]
        merge_list._lengths = array("q", lengths.tobytes())
        rows = np.column_stack([tokenizer.merges, tokenizer.merge_results])
        merge_list._rows = array("i", np.ascontiguousarray(rows, np.int32).tobytes())
        return merge_list

    @classmethod
    def in_any_order_work(
        cls, alphabet: Alphabet, rows: NDArray[np.int32], spelled: Callable[[int], bytes]
    ) -> Work[MergeList]:
        """The merges of a file that may join tokens that later ones make, list a pair again, or make a token twice.

        Of a repeated pair the last counts, as in the tokenizers library. Of several that make one token, the one that
        is applied is kept.

        Args:
            alphabet: The base tokens.
            rows: int32 [n, 3], ids of left, right and result in rank order. What no merge makes has text as well.
            spelled: The bytes of a token.
        """
        pairs = rows[:, 0].astype(np.int64) << 32 | rows[:, 1]
        _, behind = np.unique(pairs[::-1], return_index=True)
        rows = rows[np.sort(len(rows) - 1 - behind)]
        rows = yield from one_of_each_work(rows, alphabet, spelled)
        merge_list = cls(alphabet)
        lengths = np.zeros(max(len(merge_list._lengths), int(rows[:, 2].max(initial=-1)) + 1), np.int64)
        lengths[: len(merge_list._lengths)] = merge_list._lengths
        lengths[rows[:, 2]] = [len(spelled(token)) for token in rows[:, 2].tolist()]
        merge_list._lengths, merge_list._rows = (
            array("q", lengths.tobytes()),
            array("i", np.ascontiguousarray(rows).tobytes()),
        )
        return merge_list

    def __len__(self) -> int:
        return len(self._rows) // 3

    def has(self, token: int) -> bool:
        """Whether a base token or a merge so far has this id."""
        return token < len(self._lengths) and self._lengths[token] > 0

    def add(self, left: int, right: int, result: int) -> str | None:
        """Adds a merge of valid ids; returns what is wrong with it instead, if anything."""
        lengths = self._lengths
        for part in (left, right):
            if not self.has(part):
                return f"merge {len(self) + 1:,} joins token {part}, which does not exist yet"
        if self.has(result):
            return f"merge {len(self) + 1:,} makes token {result}, which already exists"
        if (length := lengths[left] + lengths[right]) > _LONGEST_TOKEN:
            return f"merge {len(self) + 1:,} makes a token of {length:,} bytes: at most {_LONGEST_TOKEN:,} are possible"
        if result >= len(lengths):
            lengths.frombytes(bytes(8 * (result + 1 - len(lengths))))
        lengths[result] = length
        self._rows.extend((left, right, result))
        return None

    def tokenizer(
        self,
        name: str,
        special_tokens: Mapping[str, int] | None = None,
        pattern: str = "none",
        unknown: int | None = None,
        extra_tokens: Mapping[int, bytes] | None = None,
        **more: Any,  # noqa: ANN401
    ) -> Tokenizer:
        """The tokenizer of all merges; `unknown` is the id for characters that the alphabet lacks.

        `more` are further fields of `TokenizerContent`.

        Raises:
            FormatError: Two merges join the same pair, or an id is far too high; the message begins with `name`.
        """
        from tokstudio.core.tokenizer.content import TokenizerContent
        from tokstudio.core.tokenizer.tokenizer import Tokenizer

        rows = np.frombuffer(self._rows, np.int32).reshape(-1, 3)
        if (again := first_repeated(rows)) is not None:
            number, earlier = again
            raise FormatError(f"{name}: merge {number:,} joins the same two tokens as merge {earlier:,}.")
        with sensible_ids(name):
            alphabet = self._alphabet if unknown is None else replace(self._alphabet, unknown=unknown)
            base = rows[:, :2].copy(), rows[:, 2].copy(), alphabet, special_tokens or {}, pattern, extra_tokens or {}
            return Tokenizer.of(TokenizerContent(*base, **more))


def unmade_parts(alphabet: Alphabet, rows: NDArray[np.int32]) -> list[int]:
    """The parts of merges, int32 [n, 3], that are neither base tokens nor made by a merge, ascending."""
    return np.setdiff1d(rows[:, :2], np.concatenate([alphabet.ids, rows[:, 2]])).tolist()


def first_repeated(rows: NDArray[np.int32]) -> tuple[int, int] | None:
    """The numbers of the first merge with a repeated pair, and of the earlier one; a row begins with the pair."""
    pairs = rows[:, 0].astype(np.int64) << 32 | rows[:, 1]
    order = np.argsort(pairs, kind="stable")
    same = np.flatnonzero(pairs[order][1:] == pairs[order][:-1])
    if len(same) == 0:
        return None
    first = same[np.argmin(order[same + 1])]
    return int(order[first + 1]) + 1, int(order[first]) + 1


# --- Vocabularies of Hugging Face's and GPT-2's files: JSON objects of tokens as text with their ids ------------------

IS_EMPTY = "is the empty token: no text becomes it, and it is decoded to nothing."  # the end of a remark


def empty_remarks(extra_tokens: Mapping[int, bytes]) -> tuple[str, ...]:
    """A remark on the empty token, where it is among the tokens that no merge makes."""
    return tuple(f"Id {number:,} of its file {IS_EMPTY}" for number, token in extra_tokens.items() if not token)


def read_vocabulary_work(reader: JsonReader) -> Work[dict[str, int]]:
    """Reads the next object; FormatError where a token or an id is repeated, or a value is not an id."""
    vocabulary: dict[str, int] = {}
    used = set[int]()

    def take(entries: list[tuple[str, int]]) -> bool:
        more = dict(entries)
        numbers = set(more.values()) if {*map(type, more.values())} == {int} else set[int]()
        if len(numbers) < len(entries) or id_problem(min(numbers)) or id_problem(max(numbers)):
            return False
        if not (used.isdisjoint(numbers) and vocabulary.keys().isdisjoint(more)):
            return False
        used.update(numbers)
        vocabulary.update(more)
        return True

    has_several = True
    for token in reader.items():
        value = reader.value()
        if problem := id_problem(value):
            raise reader.fault_before(f"token {shown(token)}: {problem}")
        number = cast("int", value)
        if token in vocabulary:
            raise reader.fault_before(f"token {shown(token)} appears twice")
        if number in used:
            raise reader.fault_before(f"token {shown(token)}: id {number} appears twice")
        used.add(number)
        vocabulary[token] = number
        while has_several := has_several and reader.take_several("{}", take):
            yield from reader.progress()
        yield from reader.progress()
    return vocabulary


def byte_level_ids(vocabulary: Mapping[str, int]) -> list[int]:
    """The id of each byte; -1 where it has none."""
    return [vocabulary.get(CHARACTER_OF[byte], -1) for byte in range(BYTES)]


def spelled(token: str) -> bytes:
    """The bytes of a byte-level token, or the UTF-8 of a token that is spelled otherwise; see `utf8`."""
    try:
        return to_bytes(token)
    except KeyError:
        return utf8(token)


def utf8(token: str) -> bytes:
    """The UTF-8 of a token; empty where it is not valid text."""
    return b"" if has_surrogates(token) else token.encode()


def merge_lines(lines: LineReader) -> Iterator[tuple[str, str]]:
    """Yields the two tokens of each line of a `merges.txt`, without lines that are empty or begin with #version."""
    for line in lines:
        if line.startswith(b"#version") or not line:
            continue
        try:
            left, right = line.decode().split(" ")
        except UnicodeDecodeError as error:
            raise lines.fault("this is not UTF-8") from error
        except ValueError as error:
            text = shown(line.decode())
            raise lines.fault(f"the merge {text} must be two tokens with a space between them") from error
        yield left, right


def missing_part(vocabulary: Mapping[str, int], number: int, *parts: str) -> str | None:
    """What is wrong with a merge of which a part or the result is not in the vocabulary; None where all are."""
    for part in parts:
        if part not in vocabulary:
            return f"merge {number:,} needs the token {shown(part)}, which the vocabulary does not have"
    return None


def shown_alphabet(tokens: Mapping[int, bytes], byte_level: bool) -> Alphabet:
    """All bytes, if the tokens are byte-level and every byte is among them; otherwise the one-character tokens.

    The tokens are those that can be base tokens, by id; of equal ones the first counts.
    """
    backwards = list(tokens.items())[::-1]
    if byte_level:
        ids = {token[0]: number for number, token in backwards if len(token) == 1}
        if missing_byte(ids) is None:
            return Alphabet.of_bytes([ids.get(byte, -1) for byte in range(BYTES)])
    characters = {character: number for number, token in backwards if (character := _character(token)) is not None}
    return Alphabet.of_characters("".join(characters), list(characters.values()))


def _character(token: bytes) -> str | None:
    """The token as one character; None for any other token."""
    if not 1 <= len(token) <= 4:
        return None
    text = token.decode("utf-8", "ignore")
    return text if len(text) == 1 and len(text.encode()) == len(token) else None


# --- A `tokenizer.json` of what other files hold ----------------------------------------------------------------------


def tokenizer_json_work(
    parts: Mapping[str, object],
    added: list[dict[str, object]],
    model: Mapping[str, object],
    vocabulary: Mapping[str, int],
    merges: Iterable[Sequence[str]] | None = None,
) -> Work[bytes]:
    """The content of a `tokenizer.json`: its parts, its added tokens, its model with the tokens and merges of that."""
    head = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, **parts, "model": model}
    pieces = [json.dumps(head, ensure_ascii=False).removesuffix("}}"), ', "vocab": {']
    yield from _joined(pieces, (f"{json.dumps(token, ensure_ascii=False)}: {n}" for token, n in vocabulary.items()))
    pieces.append("}")
    if merges is not None:
        pieces.append(', "merges": [')
        yield from _joined(pieces, (json.dumps(pair, ensure_ascii=False) for pair in merges))
        pieces.append("]")
    pieces.append("}}")
    return "".join(pieces).encode()


def _joined(pieces: list[str], entries: Iterator[str]) -> Iterator[Progress]:
    lead = ""
    while some := list(islice(entries, _BATCH)):
        pieces.append(lead + ", ".join(some))
        lead = ", "
        yield Progress("reading")
