"""The tokens of a run by slot, while it grows and when it is complete: their ids, bytes, lengths, and their order.

A slot is a token's place in the order of making: 0 to 255 are the bytes, 256 + k is what merge k (from 0) has made. In
a run that was trained here a slot is the id; a file may number its tokens as it likes.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.run import BASE_SIZE
from tokstudio.gui.studio_run import StudioRun

#: Bytes of a token that are searched and sorted by.
HEAD = 256

WHITE_SPACE = 1  # flags of a token
NOT_UTF8 = 2

_STEP = 256  # tokens between two looks at the clock
_CHUNK = 2048


class RunTokens:
    """What tables ask about a run's tokens. Costs nothing until it is asked.

    Attributes:
        heads: The first `HEAD` bytes of the tokens gathered so far, by slot.
        order: int32, the slots sorted so far in the order of their bytes.
    """

    def __init__(self, run: StudioRun) -> None:
        self.run = run
        self.heads: list[bytes] = []
        self.order: NDArray[np.int32] = np.empty(0, np.int32)
        self._flags = bytearray()
        self._lengths = np.ones(BASE_SIZE, np.int64)
        self._measured = BASE_SIZE
        self._ids: NDArray[np.int32] | None = None
        self._slots: NDArray[np.int32] | None = None
        self._parts: NDArray[np.int32] | None = None
        if not run.has_counts:
            tokenizer = run.tokenizer
            self._ids = np.concatenate([tokenizer.byte_ids, tokenizer.merge_results])
            self._slots = np.full(int(self._ids.max()) + 1, -1, np.int32)
            self._slots[self._ids] = np.arange(len(self._ids), dtype=np.int32)
            self._parts = self._slots[run.merges].reshape(-1, 2)

    def __len__(self) -> int:
        """How many slots there are so far."""
        return BASE_SIZE + len(self.run)

    @property
    def parts(self) -> NDArray[np.int32]:
        """int32 [n, 2], the slots of left and right of each merge."""
        return self.run.merges if self._parts is None else self._parts

    @property
    def ids(self) -> NDArray[np.int32]:
        """int32, the id of each slot."""
        return np.arange(len(self), dtype=np.int32) if self._ids is None else self._ids

    @property
    def ids_ascend(self) -> bool:
        """Whether tokens in the order of making are in the order of their ids."""
        return self._ids is None or bool((np.diff(self._ids) > 0).all())

    def id_of(self, slot: int) -> int:
        """The id of a slot."""
        return slot if self._ids is None else int(self._ids[slot])

    def slot_of(self, token: int | None) -> int:
        """The slot of an id; -1 for one that is not in use."""
        if token is None or token < 0:
            return -1
        if self._slots is None:
            return token if token < len(self) else -1
        return int(self._slots[token]) if token < len(self._slots) else -1

    def parts_of(self, slot: int) -> tuple[int, int] | None:
        """The slots of the two tokens that a token joins; None for a byte."""
        if slot < BASE_SIZE:
            return None
        left, right = self.parts[slot - BASE_SIZE]
        return int(left), int(right)

    def head(self, slot: int, limit: int) -> bytes:
        """The first `limit` bytes of a token, however long it is."""
        if slot < len(self.heads) and (limit <= HEAD or len(self.heads[slot]) < HEAD):
            return self.heads[slot][:limit]
        return self._walk(slot, limit, backwards=False)

    def length(self, slot: int) -> int:
        """Bytes of a token."""
        return int(self.lengths()[slot])

    def lengths(self) -> NDArray[np.int64]:
        """int64, bytes of each token by slot."""
        n = len(self)
        if self._measured < n:
            self._measure(n)
        return self._lengths[:n]

    def flags_of(self, slot: int) -> int:
        """Whether a token is white space or no UTF-8 of its own."""
        return self._flags[slot] if slot < len(self._flags) else self._describe(slot, self.head(slot, HEAD))

    def flags(self) -> NDArray[np.uint8]:
        """uint8, the flags of the tokens gathered so far."""
        return np.frombuffer(bytes(self._flags), np.uint8)

    def gather(self) -> Iterator[None]:
        """Brings `heads` and flags up to the newest token, in short steps; may be begun again at any time."""
        heads, parts = self.heads, self.parts
        while len(heads) < len(self):
            first = len(heads)
            if first < BASE_SIZE:
                made = [bytes([byte]) for byte in range(BASE_SIZE)]
                heads += made
            else:
                parts = self.parts[first - BASE_SIZE : first - BASE_SIZE + _STEP]
                for left, right in parts.tolist():
                    head = heads[left]
                    heads.append(head if len(head) == HEAD else (head + heads[right])[:HEAD])
            self._flags += bytes(self._describe(slot, heads[slot]) for slot in range(first, len(heads)))
            yield

    def sort(self) -> Iterator[None]:
        """Brings `order` up to the newest token that is gathered, in short steps; ties go to the earlier slot."""
        key = self.heads.__getitem__
        first, end = len(self.order), len(self.heads)
        if first == end:
            return
        runs: list[list[int]] = [self.order.tolist()]
        for start in range(first, end, _CHUNK):
            runs.append(sorted(range(start, min(start + _CHUNK, end)), key=key))
            yield
        merged: list[int] = []
        for slot in heapq.merge(*runs, key=key):
            merged.append(slot)
            if len(merged) % _STEP == 0:
                yield
        self.order = np.array(merged, np.int32)

    def _walk(self, slot: int, limit: int, backwards: bool) -> bytes:
        """The first bytes of a token, or its last, without making the rest."""
        parts, made, waiting = self.parts, bytearray(), [slot]
        while waiting and len(made) < limit:
            slot = waiting.pop()
            if slot < BASE_SIZE:
                made.append(slot)
            else:
                left, right = parts[slot - BASE_SIZE].tolist()
                waiting += (left, right) if backwards else (right, left)
        return bytes(made[::-1] if backwards else made)

    def _describe(self, slot: int, head: bytes) -> int:
        if len(head) == HEAD and self.length(slot) > HEAD:
            # Of a long token both ends are looked at: what begins and ends well has never been found broken inside.
            end = self._walk(slot, 4, backwards=True)
            return 0 if _begins_as_utf8(head) and _ends_as_utf8(end) else NOT_UTF8
        if head.isascii():
            return WHITE_SPACE if head.isspace() else 0
        try:
            return WHITE_SPACE if head.decode("utf-8").isspace() else 0
        except UnicodeDecodeError:
            return NOT_UTF8

    def _measure(self, n: int) -> None:
        from tokstudio.core.kernels.layout import measure_tokens

        if n > len(self._lengths):
            grown = np.empty(max(n, 2 * len(self._lengths)), np.int64)
            grown[: self._measured] = self._lengths[: self._measured]
            self._lengths = grown
        # Read-only, as the tokenizer calls it: other kinds of arrays would have to be compiled for.
        fresh = np.array(self.parts[self._measured - BASE_SIZE :], np.int32, order="C")
        slots = np.arange(self._measured, n, dtype=np.int32)
        fresh.setflags(write=False)
        slots.setflags(write=False)
        measure_tokens(fresh, slots, self._lengths)
        self._measured = n


def _begins_as_utf8(head: bytes) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > 0 and error.end == len(head) and error.reason == "unexpected end of data"
    return True


def _ends_as_utf8(end: bytes) -> bool:
    """Whether the last character is complete; `end` is four bytes, so it holds all of that character."""
    for start in range(len(end) - 1, -1, -1):
        if end[start] & 0xC0 != 0x80:
            try:
                end[start:].decode("utf-8")
            except UnicodeDecodeError:
                return False
            return True
    return False
