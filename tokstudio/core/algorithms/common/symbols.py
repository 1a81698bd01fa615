"""Lays out sequences as the symbols that the engine merges, and collects the alphabet."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.algorithms.common.units import Units
from tokstudio.core.base.arrays import in_eight_bytes, in_four_bytes, read_only
from tokstudio.core.base.errors import CorpusError, MissingCharacterError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import shown
from tokstudio.core.model.alphabet import BYTES, CODE_POINTS, Alphabet
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.word_counts import Sequences
from tokstudio.core.text.byte_level import BYTE_ORDER

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_CORPUS = 2_000_000_000  # places must fit into 31 bits

_BUDGET = 1 << 23
_PIECE = 1 << 20
_CONTEXT = 20  # bytes shown around a character that is not in the base vocabulary
# The bytes that a character lacks after its first byte, for bytes from 0 on: ASCII, others, and first bytes.
_LACKING, _AS_MANY = (0, -1, 1, 2, 3, 0), (128, 64, 32, 16, 8, 8)


@dataclass(frozen=True, eq=False)
class Layout:
    """A corpus ready to be merged."""

    units: Units
    alphabet: Alphabet
    base_counts: NDArray[np.int64]  # [base], occurrences of each base token, by id
    unknown: int  # how many characters became the unknown token
    bytes: int  # bytes of text in all
    # After each part, those that are only measured included: positions in use, and characters that became the unknown
    # token.
    ends: tuple[tuple[int, int], ...] = ()
    # [n], how often the sequence of each position occurs if it is only measured, else 0; None where none is.
    measures: NDArray[np.int64] | None = None


def lay_out_work(
    parts: Sequence[Sequences], config: TrainingConfig, measured: Sequence[Sequences] = ()
) -> Work[Layout]:
    """Lays out sequences, part after part; then those that are only `measured`: merged, but their pairs do not count.

    Raises:
        MissingCharacterError: A character is outside the base vocabulary and there is no unknown token.
        CorpusError: The corpus is too large to be merged at once.
        ConfigError: The vocabulary size leaves no room for a merge.
    """
    symbols = _Symbols(parts, config, measured)
    for part in parts:
        yield from symbols.add_work(part)
    if not measured:
        return symbols.layout()
    counted = symbols.layout()
    for part in measured:
        yield from symbols.add_work(part)
    return _with_measures(counted, symbols.layout())


class _Symbols:
    """The arrays during the layout."""

    def __init__(self, parts: Sequence[Sequences], config: TrainingConfig, measured: Sequence[Sequences] = ()) -> None:
        from tokstudio.core.kernels import symbols as kernel

        self._config = config
        self._in_characters = config.base == "characters"
        self._size = sum(part.size for part in parts)
        self._ends: list[tuple[int, int]] = []
        parts = (*parts, *measured)
        base_units = sum(_characters(part) if self._in_characters else int(part.lengths.sum()) for part in parts)
        positions = base_units + sum(len(part.starts) for part in parts) + 1
        if positions > LARGEST_CORPUS:
            raise CorpusError(
                f"The corpus is too large: {base_units:,} {config.base}, "
                f"and at most {LARGEST_CORPUS:,} can be merged at once. Choose a pattern, or train on a part of it."
            )
        self._symbols = np.empty(positions, np.int32)
        self._symbols[0] = -1
        weighted = any(part.counts is not None for part in parts)
        self._weights = np.empty(positions if weighted else 0, np.int32)
        self._weights[:1] = 1
        self._heavy = np.empty(0, np.int64)
        self._state = np.zeros(kernel.STATE_SIZE, np.int64)
        self._state[kernel.SYMBOL] = 1
        self._first = len(config.leading_specials)
        self._growing = config.base_vocabulary is None
        self._ids = np.full(CODE_POINTS if self._in_characters else 0, -1, np.int32)
        for number, entry in enumerate(config.base_vocabulary or ()):
            if len(entry) == 1:
                self._ids[ord(entry)] = self._first + number
        self._state[kernel.NEXT_ID] = self._first
        most = config.base_size if config.base_size is not None else self._first + CODE_POINTS
        self._base_counts = np.zeros(most, np.int64)

    def add_work(self, part: Sequences) -> Work[None]:
        from tokstudio.core.kernels import symbols as kernel

        state = self._state
        state[kernel.AT] = state[kernel.SEQUENCE] = 0
        data, starts, stops = read_only(part.data), read_only(part.starts), read_only(part.stops)
        counts, heavy = in_four_bytes(np.empty(0, np.int64) if part.counts is None else part.counts, len(self._heavy))
        self._heavy = np.concatenate([self._heavy, heavy])
        counts, heavy = read_only(counts), self._heavy
        into = (self._symbols, self._weights, self._base_counts, _BUDGET)
        while state[kernel.SEQUENCE] < len(starts):
            if self._in_characters:
                kernel.lay_out_characters(data, starts, stops, counts, heavy, state, self._ids, self._growing, *into)
                if state[kernel.UNKNOWN] and self._config.unknown_token is None:
                    raise _missing_character(part, int(state[kernel.STRANGE]) - 1)
            else:
                kernel.lay_out_bytes(data, starts, stops, counts, heavy, state, self._first, *into)
            yield Progress("laying out", int(state[kernel.SYMBOL]), len(self._symbols))
        self._ends.append((int(state[kernel.SYMBOL]), int(state[kernel.UNKNOWN])))

    def layout(self) -> Layout:
        from tokstudio.core.kernels import symbols as kernel

        config, n = self._config, int(self._state[kernel.SYMBOL])
        if self._in_characters:
            base = int(self._state[kernel.NEXT_ID]) if self._growing else len(self._base_counts)
            points = np.flatnonzero(self._ids >= 0).astype(np.int32)
            points = points[np.argsort(self._ids[points])]
            alphabet = Alphabet("characters", points, self._ids[points])
            values = np.full(base, CODE_POINTS, np.int32)
            values[alphabet.ids] = points
            lengths = np.ones(base, np.int64)
            lengths[alphabet.ids] = 1 + (points > 0x7F) + (points > 0x7FF).astype(np.int64) + (points > 0xFFFF)
        else:
            base = self._first + BYTES
            alphabet = Alphabet.of_bytes(first=self._first)
            values = np.arange(-self._first, BYTES, dtype=np.int32)
            if config.tie_break == "mapped-strings":
                values[self._first :] = BYTE_ORDER
            lengths = np.ones(base, np.int64)
        lacking = None
        if config.algorithm.keeps_characters:
            lacking = np.zeros(base, np.int64)
            lacking[self._first :] = np.repeat(_LACKING, _AS_MANY)
        config.check_size(base)
        by_character = config.tie_break == "huggingface"
        units = Units(
            symbols=self._symbols[:n],
            weights=self._weights[:n],
            token_bytes=lengths,
            tie_order=huggingface_order(alphabet, base) if by_character else np.arange(base, dtype=np.int32),
            values=np.maximum(values, 0),
            lacking=lacking,
            heavy=self._heavy,
        )
        unknown = int(self._state[kernel.UNKNOWN])
        return Layout(units, alphabet, self._base_counts[:base].copy(), unknown, self._size, tuple(self._ends))


def _with_measures(counted: Layout, whole: Layout) -> Layout:
    """The layout of all sequences, with the counts of those that are counted."""
    weights, first = whole.units.weights, len(counted.units.symbols)
    measures = in_eight_bytes(weights, whole.units.heavy)
    measures[:first] = weights[first:] = 0
    base_counts = np.zeros(len(whole.base_counts), np.int64)
    base_counts[: len(counted.base_counts)] = counted.base_counts
    return replace(whole, base_counts=base_counts, unknown=counted.unknown, bytes=counted.bytes, measures=measures)


def huggingface_order(alphabet: Alphabet, base: int) -> NDArray[np.int32]:
    """int32 [base], the order of base tokens for the tie rule of the `tokenizers` library: by character.

    Bytes are ordered by their characters in the byte-level alphabet; all stay below the ids of merges.
    """
    by_character = np.array(BYTE_ORDER)[alphabet.units] if alphabet.base == "bytes" else alphabet.units
    order = np.arange(base, dtype=np.int32)
    order[alphabet.ids[np.argsort(by_character)]] = np.sort(alphabet.ids)
    return order


def _missing_character(part: Sequences, at: int) -> MissingCharacterError:
    here = part.data[at : at + 4].tobytes().decode("utf-8", "ignore")[:1]
    sequence = int(np.flatnonzero((part.starts <= at) & (at < part.stops))[0])
    start, stop = int(part.starts[sequence]), int(part.stops[sequence])
    around = part.data[max(start, at - _CONTEXT) : min(stop, at + _CONTEXT)].tobytes().decode("utf-8", "ignore")
    missing = f"The character {shown(here)} (U+{ord(here):04X}) is not in the base vocabulary"
    return MissingCharacterError(
        f"{missing}: it occurs in {shown(around.strip())}. Add it, or set an unknown token.",
        here,
        of_a_part=f"{missing}, and others may be missing too. Add them, or set an unknown token.",
    )


def _characters(part: Sequences) -> int:
    """The number of characters, bytes that begin one; the sequences may be in any order, with gaps between them."""
    starts, stops = np.sort(part.starts), np.sort(part.stops)
    first, end = (int(starts[0]), int(stops[-1])) if len(starts) else (0, 0)
    has_gaps = not np.array_equal(starts[1:], stops[:-1])
    characters = before = 0
    for at in range(first, end, _PIECE):
        begins = (part.data[at : min(end, at + _PIECE)] & 0xC0) != 0x80
        if has_gaps:
            # The characters before each end, less those before each start.
            so_far = np.concatenate([[before], before + np.cumsum(begins)])
            for places, sign in ((starts, -1), (stops, 1)):
                low, high = np.searchsorted(places, (at, at + len(begins)), side="right")
                characters += sign * int(so_far[places[low:high] - at].sum())
            before = int(so_far[-1])
        else:
            characters += int(np.count_nonzero(begins))
    return characters
