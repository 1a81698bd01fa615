"""The tokens of a run by slot, growing or complete: ids, bytes, lengths, and their order.

Slots number the tokens in the order of their making: first the base tokens, then special tokens that are not among
them, then other tokens of a file; from `first` on, one slot for each merge. Slots never change while a run grows,
unlike the ids of special tokens after the merges. A file may assign ids in any order.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, get_args

import numpy as np

from tokstudio.core.analysis.token_index import (
    HEAD,
    NOT_UTF8,
    OTHER,
    IndexedTokens,
    TokenIndex,
    describe_token,
    is_cut,
    look_of,
)
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.tokens import DEEP, NEAR, TokenKind, add_shortcuts
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS: tuple[TokenKind, ...] = get_args(TokenKind)  # the kinds of tokens; arrays store their indices


class _Run(Protocol):
    """The part of a `StudioRun` that `RunTokens` reads."""

    @property
    def merges(self) -> NDArray[np.int32]: ...
    @property
    def config(self) -> TrainingConfig | None: ...
    @property
    def start(self) -> Tokenizer | None: ...
    @property
    def alphabet(self) -> Alphabet | None: ...
    @property
    def tokenizer(self) -> Tokenizer: ...
    @property
    def special_tokens(self) -> Mapping[str, int]: ...
    @property
    def base_size(self) -> int: ...
    @property
    def ready(self) -> bool: ...
    @property
    def has_counts(self) -> bool: ...
    @property
    def byte_level(self) -> bool: ...
    def __len__(self) -> int: ...


class RunTokens:
    """The tokens of a run, for tables. Everything is computed when it is first needed."""

    def __init__(self, run: _Run) -> None:
        self.run = run
        self.index: TokenIndex | None = None  # of the tokens at the time of its making; None until one was requested
        # By slot, whether some text becomes the token: constants of `core.analysis.reachability`; None until known.
        self.reach: NDArray[np.uint8] | None = None
        self._base: list[bytes] = []
        self._base_kinds: list[TokenKind] = []
        self._base_places = np.empty(0, np.int8)  # indices into `KINDS`
        self._trailing = 0  # special tokens with ids after those of the merges
        self._lengths = np.empty(0, np.int64)
        self._measured = 0
        # Of the first and of the last bytes, by slot, as `add_shortcuts` finds them.
        self._shortcuts = [np.empty(0, np.int32), np.empty(0, np.int32)]
        # Of a file, or of the tokenizer at the start of a run: the id of each slot, and the slot of each id. All slots
        # and ids after these are those of merges made here, in order.
        self._ids: NDArray[np.int32] | None = None
        self._slots = np.empty(0, np.int32)
        self._parts: NDArray[np.int32] | None = None  # of a file
        self._words = np.empty(0, np.int32)  # of a file: merges that no text needs, as their tokens are whole words
        start = run.tokenizer if not run.has_counts else run.start
        if start is not None:
            self._take_tokenizer(start)
        if not run.has_counts:
            self._parts = self._slots[run.merges].reshape(-1, 2)
            words = self._slots[np.array(sorted(run.tokenizer.whole_words), np.int32)]
            self._words = words[words >= self.first]

    def take_reach(self, reach: NDArray[np.uint8]) -> None:
        """Stores whether some text becomes each token."""
        self.reach = reach

    @property
    def first(self) -> int:
        """The slot of the first merge, which is the number of tokens before any; 0 until that is known."""
        if not self._base and self._ids is None and self.run.ready:
            self._take_run(self.run)
        return len(self._base)

    @property
    def base(self) -> tuple[bytes, ...]:
        """The tokens before any merge, by slot."""
        first = self.first
        return tuple(self._base[:first])

    def __len__(self) -> int:
        """The number of slots so far."""
        return self.first + len(self.run)

    @property
    def parts(self) -> NDArray[np.int32]:
        """int32 [n, 2], the slots of left and right of each merge."""
        return self.parts_from(0, len(self.run))

    def parts_from(self, begin: int, end: int) -> NDArray[np.int32]:
        """int32, the rows of `parts` from `begin` to `end`, exclusive."""
        if self._parts is not None:
            return self._parts[begin:end]
        merges = self.run.merges[begin:end]
        if self._ids is not None:
            old = merges < len(self._slots)
            new = merges + np.int32(len(self._ids) - len(self._slots))
            return np.where(old, self._slots[np.where(old, merges, 0)], new).astype(np.int32)
        if not self._trailing:
            return merges
        return np.where(merges < self.first - self._trailing, merges, merges + self._trailing).astype(np.int32)

    @property
    def ids(self) -> NDArray[np.int32]:
        """int32, the id of each slot."""
        if self._ids is not None:
            new = np.arange(len(self) - len(self._ids), dtype=np.int32) + np.int32(len(self._slots))
            return np.concatenate([self._ids, new])
        size, base = len(self), self.first - self._trailing
        ids = np.arange(size, dtype=np.int32)
        ids[base : self.first] += size - self.first
        ids[self.first :] -= self._trailing
        return ids

    @property
    def given_ids(self) -> NDArray[np.int32] | None:
        """`ids` where a tokenizer, not the order of making, gave some of them; else None."""
        return None if self._ids is None else self.ids

    @property
    def ids_ascend(self) -> bool:
        """Whether the order of ids is the order of slots."""
        return not self._trailing if self._ids is None else bool((np.diff(self._ids) > 0).all())

    def id_of(self, slot: int) -> int:
        """The id of a slot."""
        if self._ids is not None:
            return int(self._ids[slot]) if slot < len(self._ids) else len(self._slots) + slot - len(self._ids)
        if slot >= self.first:
            return slot - self._trailing
        return slot if slot < self.first - self._trailing else slot + len(self.run)

    def slot_of(self, token: int | None) -> int:
        """The slot of an id; -1 for an unused id."""
        if token is None or token < 0:
            return -1
        if self._ids is not None:
            new = len(self._ids) + token - len(self._slots)
            return int(self._slots[token]) if token < len(self._slots) else new if new < len(self) else -1
        if token >= len(self):
            return -1
        base, end = self.first - self._trailing, len(self) - self._trailing
        if token < base:
            return token
        return token + self._trailing if token < end else base + token - end

    def slot_of_merge(self, number: int) -> int:
        """The slot of a merge, counted from 1; it may not exist yet."""
        return max(self.first + number - 1, self.first)

    def kind_of(self, slot: int) -> TokenKind:
        """The kind of a token."""
        if slot < self.first:
            return self._base_kinds[slot]
        return "whole word" if slot in self._words else "merge"

    def kinds(self, size: int) -> NDArray[np.int8]:
        """int8, the indices into `KINDS` of the first `size` tokens."""
        if len(self._base_places) != self.first:
            self._base_places = np.array([KINDS.index(kind) for kind in self._base_kinds], np.int8)
        kinds = np.full(size, KINDS.index("merge"), np.int8)
        kinds[: self.first] = self._base_places[:size]
        kinds[self._words[self._words < size]] = KINDS.index("whole word")
        return kinds

    def parts_of(self, slot: int) -> tuple[int, int] | None:
        """The slots of the two tokens that a token joins; None for a token without a merge."""
        if slot < self.first:
            return None
        left, right = self.parts_from(slot - self.first, slot - self.first + 1)[0]
        return int(left), int(right)

    def head(self, slot: int, limit: int) -> bytes:
        """The first `limit` bytes of a token."""
        if self.index is not None and slot < len(self.index):
            head = self.index.heads[slot]
            if limit <= HEAD or len(head) < HEAD:
                return head[:limit]
        return self._walk(slot, limit, backwards=False)

    def length(self, slot: int) -> int:
        """The number of bytes of a token."""
        return int(self.lengths()[slot])

    def lengths(self) -> NDArray[np.int64]:
        """int64, the bytes of each token by slot."""
        n = len(self)
        if self._measured < n:
            self._measure(n)
        return self._lengths[:n]

    def flags_of(self, slot: int) -> int:
        """Whether a token is white space, digits, or invalid UTF-8.

        For a token of more than twice `HEAD` bytes, only its beginning and end are read until the index has it; until
        then it does not count as white space or digits.
        """
        if self.index is not None and slot < len(self.index):
            return int(self.index.flags[slot])
        return self._describe(slot)

    def snapshot(self) -> IndexedTokens:
        """A snapshot for an index of the tokens. Its arrays do not change later; only rows after them are written."""
        return IndexedTokens(self.base, self.parts, self.lengths())

    def take_index(self, index: TokenIndex) -> None:
        """Stores a newer index."""
        self.index = index

    def _walk(self, slot: int, limit: int, backwards: bool) -> bytes:
        """The first or last bytes of a token, without spelling out the rest."""
        pieces, size, waiting, steps = list[bytes](), 0, [slot], 0
        while waiting and size < limit:
            slot, steps = waiting.pop(), steps + 1
            if steps > DEEP and limit <= NEAR:
                slot = self._shortcut(slot, int(backwards))
            parts = self.parts_of(slot)
            if parts is None:
                pieces.append(self._base[slot])
                size += len(pieces[-1])
            else:
                waiting += parts if backwards else reversed(parts)
        if backwards:
            return b"".join(reversed(pieces))[-limit:]
        return b"".join(pieces)[:limit]

    def _shortcut(self, slot: int, side: int) -> int:
        """The shortcut of a token for its first bytes, side 0, or its last, side 1."""
        shortcuts, size = self._shortcuts[side], len(self)
        if slot >= len(shortcuts):
            larger, begin = np.arange(size, dtype=np.int32), max(len(shortcuts), self.first)
            larger[: len(shortcuts)] = shortcuts
            parts = self.parts_from(begin - self.first, size - self.first)[:, side]
            add_shortcuts(larger, np.arange(begin, size, dtype=np.int32), parts, self.lengths())
            shortcuts = self._shortcuts[side] = larger
        return int(shortcuts[slot])

    def _take_run(self, run: _Run) -> None:
        """Reads the tokens before any merge."""
        assert run.config is not None
        assert run.alphabet is not None
        tokens = dict(run.alphabet.tokens)
        special = {number: text.encode() for text, number in run.special_tokens.items()}
        tokens |= special
        self._trailing = len(run.config.trailing_specials)
        base, end = run.base_size, run.base_size + len(run)
        ids = [*range(base), *range(end, end + self._trailing)]
        self._base = [tokens[number] for number in ids]
        # Not one by one from the tokenizer, as there may be 10,000 characters.
        unit: TokenKind = "byte" if run.alphabet.base == "bytes" else "character"
        self._base_kinds = ["special" if number in special else unit for number in ids]

    def _take_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Reads the ids of a file, or of the tokenizer at the start of a run."""
        alphabet, specials = tokenizer.alphabet, tokenizer.special_tokens
        extra = tokenizer.extra_tokens
        ids = [*alphabet.ids.tolist(), *specials.values(), *extra]
        made = tokenizer.merge_results
        if tokenizer.removals is not None and len(made):
            # Each merge has a slot and an id, also one whose token was there before.
            made = made[0] + np.arange(len(made))
        self._ids = np.concatenate([np.array(ids, np.int32), made]).astype(np.int32)
        self._slots = np.full(int(self._ids.max(initial=-1)) + 1, -1, np.int32)
        self._slots[self._ids] = np.arange(len(self._ids), dtype=np.int32)
        self._base = [alphabet.tokens[number] for number in alphabet.ids.tolist()]
        self._base += [*(text.encode() for text in specials), *extra.values()]
        self._base_kinds = [tokenizer.kind(number) for number in alphabet.ids.tolist()]
        # Only the ids that can differ one by one, as there may be very many.
        self._base_kinds.extend("special" for _ in specials)
        self._base_kinds.extend(tokenizer.kind(number) for number in extra)

    def _describe(self, slot: int) -> int:
        length, head = self.length(slot), self.head(slot, HEAD)
        if length <= HEAD:
            return describe_token(head)
        look = look_of(head)
        if length <= 2 * HEAD and look is not None and look.shape != OTHER:
            return describe_token(head + self._walk(slot, length - HEAD, backwards=True))
        return NOT_UTF8 if is_cut(look, look_of(self._walk(slot, 4, backwards=True))) else 0

    def _measure(self, n: int) -> None:
        from tokstudio.core.kernels.symbols import measure_tokens

        if self._measured < self.first:
            self._lengths = np.array(list(map(len, self._base)), np.int64)
            self._measured = self.first
        if self._parts is not None:
            # Its merges may join tokens that later ones make.
            self._lengths, self._measured = self.run.tokenizer.lengths_of_all[self._ids], n
            return
        if n > len(self._lengths):
            self._lengths = np.resize(self._lengths, max(n, 2 * len(self._lengths)))
        # Read-only, as the tokenizer calls it; other array types would be compiled for again.
        fresh = np.array(self.parts_from(self._measured - self.first, n - self.first), np.int32, order="C")
        slots = np.arange(self._measured, n, dtype=np.int32)
        fresh.setflags(write=False)
        slots.setflags(write=False)
        measure_tokens(fresh, slots, self._lengths)
        self._measured = n
