"""The tokens of a vocabulary as bytes, made from its merges on demand.

Where merges go on to pairs that occur once, tokens grow as long as the corpus, and all of them together would take
quadratic memory; so few long tokens are cached.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from operator import eq
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np

from tokstudio.core.base.arguments import whole_number
from tokstudio.core.base.arrays import read_only
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.text.unicode_classes import LETTER, classes
from tokstudio.core.text.utf8 import is_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LONGEST_KEPT = 512
#: Bytes of long tokens that are kept, for those that come next: often they have them as parts.
LONG_KEPT = 1 << 21
#: Flags of a token: it is not UTF-8 by itself; it begins inside a character.
NOT_UTF8, BEGINS_INSIDE = 1, 2
#: Tokens of a walk after which it takes shortcuts, and the bytes at the ends of tokens that shortcuts keep.
DEEP, NEAR = 200, 512
_ROUND = 1 << 14
_UNKNOWN_CUT = 255
_IDS = 1 << 12  # distinct ids spelled at once, in a millisecond: no other thread runs meanwhile
_SPELLED = 1 << 18  # ids decoded at once
_SPARE = 8  # bytes after those that `spell` copies
#: The kind of a token: a base token, made by a merge, special, or made by no merge. The last are produced only by a
#: whole pre-token, by no text at all, or by rules of another library.
TokenKind = Literal["byte", "character", "merge", "special", "whole word", "unreachable", "other"]


def add_shortcuts(
    shortcuts: NDArray[np.int32], tokens: NDArray[np.int32], parts: NDArray[np.int32], lengths: NDArray[np.int64]
) -> None:
    """Finds tokens with the same first, or last, `NEAR` bytes, whose own parts at that side are shorter.

    A token that grew by a byte at a time is a chain of as many merges as it has bytes: these are its shortcuts.

    Args:
        shortcuts: int32 [ids], what is found by token; before, a token that has none is its own.
        tokens: int32 [n], tokens that are made by merges, each after its parts.
        parts: int32 [n], their left parts for the first bytes, or their right ones for the last.
        lengths: int64 [ids], bytes of each token.
    """
    for begin in range(0, len(tokens), _ROUND):
        here, of = tokens[begin : begin + _ROUND], parts[begin : begin + _ROUND]
        targets = np.where(lengths[of] >= NEAR, of, here)
        # A part may have a shortcut of its own, also one of this round.
        while True:
            shortcuts[here] = targets
            further = shortcuts[targets]
            if np.array_equal(further, targets):
                break
            targets = further


@dataclass(frozen=True, eq=False)
class MergeOrder:
    """The order of merges, some of which join tokens that only later ones make, as in tiktoken's ranks.

    What merging makes of a text by the first k merges, it makes on the way to what it makes by all of them: the lowest
    rank always comes first. So a token is made by the first k merges if and only if all merges that lead to it are
    among them.
    """

    rows: NDArray[np.int32]  # [n], the merges, each after those that make its parts
    complete: NDArray[np.int32]  # [n], how many of the first merges are needed for the result of each; read-only


def order_of_merges(merges: NDArray[np.int32], results: NDArray[np.int32]) -> MergeOrder | None:
    """The order of merges; None where each comes after those that make its parts.

    Raises:
        ConfigError: A token is a part of itself.
    """
    n = len(merges)
    row_of = np.full(max(int(results.max(initial=-1)), int(merges.max(initial=-1))) + 1, -1, np.int32)
    row_of[results[::-1]] = np.arange(n - 1, -1, -1, dtype=np.int32)
    if not np.any(row_of[merges] >= np.arange(n, dtype=np.int32)[:, np.newaxis]):
        return None
    from tokstudio.core.kernels.symbols import order_merges

    rows, complete = np.empty(n, np.int32), np.zeros(n, np.int32)
    if order_merges(read_only(merges), row_of, rows, complete) < n:
        row = int(np.flatnonzero(complete < 0)[0])
        raise ConfigError(f"Merge {row + 1:,} makes token {results[row]} of parts that are made of it.")
    complete.setflags(write=False)
    return MergeOrder(rows, complete)


@dataclass(frozen=True, eq=False)
class _Spelled:
    """The bytes of some tokens, one after another."""

    rows: NDArray[np.int64]  # [ids, 2], where those of each token begin, and how many they are; -1 where it has none
    data: NDArray[np.uint8]  # read-only, with `_SPARE` more

    def with_tokens(self, tokens: dict[int, bytes]) -> _Spelled:
        """The same with more tokens."""
        if not tokens:
            return self
        rows, ids = self.rows.copy(), np.fromiter(tokens, np.int64, len(tokens))
        lengths = np.fromiter(map(len, tokens.values()), np.int64, len(tokens))
        size = len(self.data) - _SPARE
        rows[ids] = np.column_stack([size + np.cumsum(lengths) - lengths, lengths])
        data = np.frombuffer(b"".join([self.data[:size].tobytes(), *tokens.values(), bytes(_SPARE)]), np.uint8)
        return _Spelled(rows, data)


class TokenParts:
    """The parts of every token: its bytes, or the two tokens it joins. Shared by all tokenizers of one run."""

    def __init__(self, base: dict[int, bytes], merges: NDArray[np.int32], results: NDArray[np.int32]) -> None:
        self.size = max([*base, *(int(results.max()) for _ in range(len(results) > 0))], default=-1) + 1
        # The ids of the left and right part, -1 where the token is not made by a merge.
        self.left, self.right = np.full(self.size, -1, np.int32), np.full(self.size, -1, np.int32)
        # Backwards, so that of several merges with one result the first counts.
        self.left[results[::-1]], self.right[results[::-1]] = merges[::-1, 0], merges[::-1, 1]
        self._known: dict[int, bytes] = dict(base)
        self._long, self._long_size = list[int](), 0  # long tokens among them, and their bytes
        self._base, self._merges, self._results = base, merges, results

    def __contains__(self, token: int) -> bool:
        return token in self._known or (0 <= token < self.size and bool(self.left[token] >= 0))

    def __getitem__(self, token: int) -> bytes:
        known = self._known
        if (token_bytes := known.get(token)) is None:
            left, right = known.get(int(self.left[token])), known.get(int(self.right[token]))
            if left is None or right is None:
                return self.prefix(token, None)
            token_bytes = left + right
            self._keep(token, token_bytes)
        return token_bytes

    def prefix(self, token: int, limit: int | None) -> bytes:
        """The first `limit` bytes of a token (None: all), without making the rest."""
        known_bytes = self._known.get(token)
        if known_bytes is not None:
            return known_bytes if limit is None else known_bytes[:limit]
        parts: list[bytes] = []
        length, waiting, steps = 0, [token], 0
        while waiting and (limit is None or length < limit):
            part, steps = waiting.pop(), steps + 1
            if steps > DEEP and limit is not None and limit <= NEAR:
                part = int(self._shortcuts[part])
            known_bytes = self._known.get(part)
            if known_bytes is None:
                waiting += (int(self.right[part]), int(self.left[part]))
            else:
                parts.append(known_bytes)
                length += len(known_bytes)
        beginning = b"".join(parts)
        if not waiting:
            self._keep(token, beginning)
        return beginning if limit is None else beginning[:limit]

    def _keep(self, token: int, token_bytes: bytes) -> None:
        """Keeps the bytes of a token for the next time; of long ones only as many as `LONG_KEPT` bytes hold."""
        if len(token_bytes) > _LONGEST_KEPT:
            if len(token_bytes) > LONG_KEPT:
                return
            if self._long_size + len(token_bytes) > LONG_KEPT:
                long, self._long, self._long_size = self._long, [], 0
                for old in long:
                    self._known.pop(old, None)
            self._long.append(token)
            self._long_size += len(token_bytes)
        self._known[token] = token_bytes

    def spelled_work(self, ids: NDArray[np.uint32]) -> Work[tuple[_Spelled, int]]:
        """The bytes of these tokens, and perhaps of others; and how many all of `ids` have.

        Those of tokens that are not long are kept for the next time.
        """
        from tokstudio.core.kernels.symbols import spelled_size

        spelled = self._spelled
        if (size := spelled_size(ids, spelled.rows)) < 0:
            is_new = np.bincount(ids.astype(np.int64), minlength=self.size) > 0
            is_new &= spelled.rows[:, 1] < 0
            short, long = dict[int, bytes](), dict[int, bytes]()
            for number, token in enumerate(np.flatnonzero(is_new).tolist(), 1):
                token_bytes = self[token]
                (short if len(token_bytes) <= _LONGEST_KEPT else long)[token] = token_bytes
                if number % _IDS == 0:
                    yield Progress("decoding")
            # What another thread keeps at the same time is lost, and spelled again when it is needed.
            spelled = self._spelled = spelled.with_tokens(short)
            spelled = spelled.with_tokens(long)
            size = spelled_size(ids, spelled.rows)
        return spelled, size

    @cached_property
    def _spelled(self) -> _Spelled:
        return _Spelled(np.full((self.size, 2), -1, np.int64), read_only(np.zeros(_SPARE, np.uint8)))

    @cached_property
    def _shortcuts(self) -> NDArray[np.int32]:
        shortcuts = np.arange(self.size, dtype=np.int32)
        add_shortcuts(shortcuts, self._results, self.left[self._results], self.lengths)
        return shortcuts

    def cuts(self, tokens: NDArray[np.int64]) -> NDArray[np.uint8]:
        """uint8 [tokens], `NOT_UTF8` and `BEGINS_INSIDE` of each token; each is looked at once."""
        cuts = self._cuts
        for token in tokens[cuts[tokens] == _UNKNOWN_CUT].tolist():
            token_bytes = self[token]
            cuts[token] = NOT_UTF8 * (not is_utf8(token_bytes)) | BEGINS_INSIDE * (b"\x80" <= token_bytes[:1] < b"\xc0")
        return cuts[tokens]

    @cached_property
    def _cuts(self) -> NDArray[np.uint8]:
        return np.full(self.size, _UNKNOWN_CUT, np.uint8)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """int64 [size], bytes of each token; -1 for an id that is not in use.

        Measured on first use: a window may show tokens before the compiled loops are loaded.
        """
        from tokstudio.core.kernels.symbols import measure_tokens

        lengths = np.full(self.size, -1, np.int64)
        for token, token_bytes in self._base.items():
            lengths[token] = len(token_bytes)
        measure_tokens(self._merges, self._results, lengths)
        lengths.setflags(write=False)
        return lengths

    @cached_property
    def holds_letter(self) -> NDArray[np.bool_]:
        r"""Bool [size], which tokens hold a letter, `\p{L}`; bytes that are not UTF-8 hold none."""
        from tokstudio.core.kernels.symbols import mark_letters

        edges, sizes = np.zeros((self.size, 6), np.uint8), np.zeros(self.size, np.int64)
        ids, base = np.array([*self._base], np.int64), self._base.values()
        has_letter = np.zeros(self.size, np.bool_)
        ends = b"".join([token_bytes[:3].ljust(3, b"\0") + token_bytes[-3:].rjust(3, b"\0") for token_bytes in base])
        edges[ids] = np.frombuffer(ends, np.uint8).reshape(-1, 6)
        sizes[ids] = [min(len(token_bytes), 3) for token_bytes in base]
        texts = [token_bytes.decode("utf-8", "ignore") for token_bytes in base]
        points = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
        has_letter[np.repeat(ids, [len(text) for text in texts])[classes()[points] & LETTER != 0]] = True
        mark_letters(self._merges, self._results, edges, sizes, has_letter, classes())
        return has_letter


def several_ids(ids: Iterable[int]) -> Sequence[int] | NDArray[Any]:
    """Ids that can be counted and read again."""
    given: Any = ids
    return given if isinstance(given, (list, tuple, np.ndarray)) else list(ids)  # pyright: ignore[reportUnknownVariableType]


class Tokens(Sequence[bytes | None]):
    """The bytes of each token by id; None for an id that is not in use."""

    def __init__(self, parts: TokenParts, in_use: NDArray[np.bool_]) -> None:
        self._parts = parts
        self._in_use = in_use
        self._kept: dict[int, bytes] = {}  # of tokens in use

    def __len__(self) -> int:
        return len(self._in_use)

    @overload
    def __getitem__(self, index: int) -> bytes | None: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes | None]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes | None] | None:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        size = len(self._in_use)
        if index < 0:
            index += size
        if not 0 <= index < size:
            raise IndexError(f"no token {index}: the vocabulary has ids up to {size - 1}")
        return self._parts[index] if self._in_use[index] else None

    def __iter__(self) -> Iterator[bytes | None]:
        for token, used in enumerate(self._in_use.tolist()):
            yield self._parts[token] if used else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        tokens = cast("Sequence[object]", other)
        return len(self) == len(tokens) and all(map(eq, self, tokens))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def ids(self) -> NDArray[np.int64]:
        """The ids in use, ascending."""
        return np.flatnonzero(self._in_use)

    def in_use(self, token: int) -> bool:
        """Whether there is a token with this id."""
        return 0 <= token < len(self) and bool(self._in_use[token])

    def are_in_use(self, tokens: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each of the ids is in use, as an array."""
        are_ids = (tokens >= 0) & (tokens < len(self))
        are_ids[are_ids] = self._in_use[tokens[are_ids]]
        return are_ids

    def known(self, ids: Iterable[int]) -> list[int]:
        """Checks ids and returns them as a list; raises ConfigError, which names it, for one that is not in use."""
        numbers = [whole_number("An id", token) for token in (ids.tolist() if isinstance(ids, np.ndarray) else ids)]
        if (strange := next((token for token in numbers if not self.in_use(token)), None)) is not None:
            raise ConfigError(f"Id {strange} is not in the vocabulary.")
        return numbers

    def joined(self, ids: Iterable[int]) -> bytes:
        """The bytes of a few ids; raises the same as `known`."""
        values: list[int] = ids.tolist() if isinstance(ids, np.ndarray) else [*ids]
        # To a dictionary, True is 1.
        if {int}.issuperset(map(type, values)):
            try:
                return b"".join(map(self._kept.__getitem__, values))
            except KeyError:
                pass
        values = self.known(values)
        spelled = {token: self[token] or b"" for token in values}
        self._kept |= {token: raw for token, raw in spelled.items() if len(raw) <= _LONGEST_KEPT}
        return b"".join(map(spelled.__getitem__, values))

    def checked(self, ids: Iterable[int]) -> NDArray[np.uint32]:
        """Does the same as `known` for many ids, as an array."""
        values = several_ids(ids)
        numbers = self._in_range(values)
        if not self._in_use[numbers].all():
            self.known(values)
        return numbers

    def _in_range(self, values: Sequence[int] | NDArray[Any]) -> NDArray[np.uint32]:
        """Ids as an array; raises the same as `known` for all but those in the vocabulary that are not in use."""
        if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu":
            numbers = values
        else:
            try:
                numbers = np.asarray(array("I", values))
            except (TypeError, OverflowError):  # numbers in the thousands of millions, or below 0
                self.known(values)
                raise
            # For an array of Python, True is 1.
            low: list[int] = np.flatnonzero(numbers <= 1).tolist()
            if any(isinstance(values[at], (bool, np.bool_)) for at in low):
                self.known(values)
        if len(numbers) and (int(numbers.min()) < 0 or int(numbers.max()) >= len(self)):
            self.known(values)
        return numbers.astype(np.uint32, copy=False)

    def joined_work(self, ids: Iterable[int]) -> Work[NDArray[np.uint8]]:
        """The bytes of tokens joined, uint8, in bounded pieces; raises the same as `known`."""
        from tokstudio.core.kernels.symbols import all_in_use, spell

        values = several_ids(ids)
        numbers = read_only(self._in_range(values))
        yield Progress("decoding")
        if not all_in_use(numbers, self._in_use):  # NumPy takes four times as long
            self.known(values)
        spelled, size = yield from self._parts.spelled_work(numbers)
        out, at = np.empty(size + _SPARE, np.uint8), 0
        for first in range(0, len(numbers), _SPELLED):
            at = spell(numbers[first : first + _SPELLED], spelled.rows, spelled.data, out, at)
            yield Progress("decoding", first, len(numbers))
        return out[:size]

    def prefix(self, token: int, limit: int) -> bytes:
        """The first `limit` bytes of a token in use, without making the rest."""
        return self._parts.prefix(token, limit)

    def cuts(self, tokens: NDArray[np.int64]) -> NDArray[np.uint8]:
        """uint8 [tokens], `NOT_UTF8` and `BEGINS_INSIDE` of each token, which must be in use."""
        return self._parts.cuts(tokens)

    def length(self, token: int) -> int:
        """Bytes of a token; -1 for an id that is not in use."""
        return int(self._parts.lengths[token]) if self._in_use[token] else -1

    def lengths(self) -> NDArray[np.int64]:
        """int64 [ids], bytes of each token by id; -1 for an id that is not in use."""
        return np.where(self._in_use, self._parts.lengths[: len(self)], -1)

    def spelling(self, raw: bytes) -> list[int]:
        """The ids in use whose tokens are these bytes; mostly one or none."""
        parts = self._parts
        tokens = np.flatnonzero(self._in_use & (parts.lengths[: len(self)] == len(raw)))
        # Few tokens have the right first and last base token, and only those are compared.
        for side, fits in ((parts.right, raw.endswith), (parts.left, raw.startswith)):
            ends = tokens
            while np.any(side[ends] >= 0):
                ends = np.where(side[ends] >= 0, side[ends], ends)
            distinct, which = np.unique(ends, return_inverse=True)
            tokens = tokens[np.array([fits(parts[end]) for end in distinct.tolist()], np.bool_)[which]]
        return [token for token in tokens.tolist() if parts[token] == raw]
