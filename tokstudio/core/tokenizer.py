"""The tokenizer: a vocabulary and ranked merges that encode text and decode ids. Immutable.

Training it is left to the Trainer, its files to `formats`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokstudio.core.corpus import Text, to_utf8
from tokstudio.core.errors import ConfigError
from tokstudio.core.progress import Progress, Work, finish
from tokstudio.core.run import BASE_SIZE
from tokstudio.core.tokens import TokenParts, Tokens

if TYPE_CHECKING:
    from tokstudio.core.kernels.encode import PairRanks
    from tokstudio.core.run import Run

_BUDGET = 200_000  # steps of encoding a call: some 10 ms
_LONGEST_TEXT = 2**31 - 2
_LARGEST_ID = 2**31 - 2


class Tokenizer:
    """A byte-level tokenizer without pre-tokenization: a text is one sequence, and merges may cross spaces.

    Args:
        merges: int32 [n, 2], ids of left and right in rank order.
        merge_results: int32 [n], the id each merge makes; None for 256, 257, ... in order.
        byte_ids: int32 [256], the id of each byte; None where they are equal.
        run: The run it comes from, if any.
        checked: Whether the merges are known to be in order.

    Raises:
        ConfigError: A merge names an id that neither a byte nor an earlier merge has, or two tokens share an id.
    """

    pattern = "none"

    def __init__(
        self,
        merges: NDArray[np.int32],
        merge_results: NDArray[np.int32] | None = None,
        *,
        byte_ids: NDArray[np.int32] | None = None,
        run: Run | None = None,
        checked: bool = False,
    ) -> None:
        self._merges = _frozen(merges).reshape(-1, 2)
        results = np.arange(BASE_SIZE, BASE_SIZE + len(self._merges)) if merge_results is None else merge_results
        self._results = _frozen(results)
        self._byte_ids = _frozen(np.arange(BASE_SIZE) if byte_ids is None else byte_ids)
        self._run = run
        self._limit = len(self._merges)
        if not checked:
            _check(self._merges, self._results, self._byte_ids)
        base = {int(token): bytes([byte]) for byte, token in enumerate(self._byte_ids)}
        self._parts = TokenParts(base, self._merges, self._results)
        self._shared: dict[str, PairRanks] = {}

    @classmethod
    def from_run(cls, run: Run) -> Tokenizer:
        """The tokenizer that a run has trained."""
        return cls.from_training(run.merges, run)

    @classmethod
    def from_training(cls, merges: NDArray[np.int32], run: Run | None = None) -> Tokenizer:
        """The tokenizer of merges as the Trainer makes them, so far or all of them; they are not checked again."""
        return cls(merges, run=run, checked=True)

    @property
    def run(self) -> Run | None:
        """The run it was trained in; None for one that was loaded."""
        return self._run

    @property
    def merges(self) -> NDArray[np.int32]:
        """int32 [n, 2], ids of left and right in rank order."""
        return self._merges[: self._limit]

    @property
    def merge_results(self) -> NDArray[np.int32]:
        """int32 [n], the id that each merge makes."""
        return self._results[: self._limit]

    @property
    def byte_ids(self) -> NDArray[np.int32]:
        """int32 [256], the id of each byte."""
        return self._byte_ids

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Special tokens and their ids."""
        return {}

    @cached_property
    def tokens(self) -> Tokens:
        """The bytes of each token by id; None where an id is not in use."""
        in_use = np.zeros(self._parts.size, np.bool_)
        in_use[self._byte_ids] = True
        in_use[self.merge_results] = True
        size = int(np.flatnonzero(in_use)[-1]) + 1
        return Tokens(self._parts, in_use[:size])

    def __len__(self) -> int:
        """How many tokens there are."""
        return BASE_SIZE + self._limit

    def parts(self, token: int) -> tuple[int, int] | None:
        """The ids of the two tokens that a token joins; None for a byte."""
        left = int(self._parts.left[token])
        return None if left < 0 else (left, int(self._parts.right[token]))

    def at(self, merges: int) -> Tokenizer:
        """The tokenizer with the first `merges` merges only; no id moves.

        Costs next to nothing: all tables are shared.

        Raises:
            ConfigError: There are not that many.
        """
        if not 0 <= merges <= self._limit:
            raise ConfigError(f"There is no merge {merges:,}: this tokenizer has {self._limit:,}.")
        earlier = Tokenizer.__new__(Tokenizer)
        earlier.__dict__ |= {name: value for name, value in self.__dict__.items() if name != "tokens"}
        earlier._limit = merges
        return earlier

    def compact(self) -> Tokenizer:
        """The same tokenizer without gaps between its ids, and without the merges that `at` has put aside."""
        new_id = np.full(self._parts.size, -1, np.int32)
        in_use = self.tokens.ids()
        new_id[in_use] = np.arange(len(in_use), dtype=np.int32)
        return Tokenizer(new_id[self.merges], new_id[self.merge_results], byte_ids=new_id[self._byte_ids])

    def encode(self, text: Text) -> list[int]:
        """Ids of a text; of `bytes`, any bytes."""
        return self.encode_array(text).tolist()

    def encode_array(self, text: Text) -> NDArray[np.uint32]:
        """Ids of a text as uint32 [tokens]."""
        return finish(self.encode_work(text))

    def encode_work(self, text: Text) -> Work[NDArray[np.uint32]]:
        """Does what `encode_array` does, in bounded pieces.

        Raises:
            ConfigError: The text is longer than 2 GB.
        """
        from tokstudio.core.kernels import encode as kernel

        data = np.frombuffer(to_utf8(text), np.uint8)
        n = len(data)
        if n > _LONGEST_TEXT:
            raise ConfigError(
                f"The text is too long: {n:,} bytes, and at most {_LONGEST_TEXT:,} can be encoded at once."
            )
        symbols = self._byte_ids[data]
        following, previous, pending = (np.empty(n, np.int32) for _ in range(3))
        heap, state = np.empty(2 * n, np.int64), np.zeros(kernel.STATE_SIZE, np.int64)
        scratch = (symbols, following, previous, pending, heap, state)
        ranks = self._pair_ranks()
        pieces = 0
        while not kernel.encode_sequence(ranks, self._limit, *scratch, _BUDGET):
            pieces += 1
            # A text of n bytes takes at most 3 n steps, and mostly half of that.
            yield Progress("encoding", min(n, pieces * _BUDGET * 2 // 3), n)
        ids = np.empty(n, np.uint32)
        return ids[: kernel.collect(symbols, following, ids)].copy()

    def decode(self, ids: Iterable[int], errors: str = "replace") -> str:
        """Text of ids; what is not UTF-8 becomes U+FFFD unless `errors` says otherwise (see `bytes.decode`).

        Raises:
            ConfigError: An id is not in the vocabulary; the message names it.
        """
        return self.decode_bytes(ids).decode("utf-8", errors)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Bytes of ids.

        Raises:
            ConfigError: An id is not in the vocabulary; the message names it.
        """
        tokens = self.tokens
        made: list[bytes] = []
        for token in ids.tolist() if isinstance(ids, np.ndarray) else ids:
            part = tokens[token] if 0 <= token < len(tokens) else None
            if part is None:
                raise ConfigError(f"Id {token} is not in the vocabulary.")
            made.append(part)
        return b"".join(made)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.merges, self.merge_results, self._byte_ids, self._run)

    def _pair_ranks(self) -> PairRanks:
        """The look-up of merges, made once for all tokenizers of a run."""
        if "ranks" not in self._shared:
            from tokstudio.core.kernels.encode import PairRanks, fill_ranks

            slots = 1 << max(4, (2 * len(self._merges)).bit_length())
            none = np.full(slots, -1, np.int32)
            table = PairRanks(np.empty(slots, np.int32), np.empty(slots, np.int32), none, self._results)
            fill_ranks(self._merges, table)
            self._shared["ranks"] = table
        return self._shared["ranks"]


def _restore(
    merges: NDArray[np.int32], results: NDArray[np.int32], byte_ids: NDArray[np.int32], run: Run | None
) -> Tokenizer:
    return Tokenizer(merges, results, byte_ids=byte_ids, run=run)


def _frozen(ids: ArrayLike) -> NDArray[np.int32]:
    """Ids that nobody can change any more: copied, unless they are read-only already."""
    given = np.asarray(ids)
    if given.size and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() > _LARGEST_ID):
        raise ConfigError(f"Ids must be whole numbers from 0 to {_LARGEST_ID:,}.")
    array = given.astype(np.int32, order="C", copy=given.flags.writeable)
    array.setflags(write=False)
    return array


def _check(merges: NDArray[np.int32], results: NDArray[np.int32], byte_ids: NDArray[np.int32]) -> None:
    """Raises ConfigError unless every merge joins tokens that exist by then and makes a new one."""
    known = set(byte_ids.tolist())
    if len(known) != BASE_SIZE or min(known) < 0:
        raise ConfigError("Each of the 256 bytes needs an id of its own.")
    for number, ((left, right), result) in enumerate(zip(merges.tolist(), results.tolist(), strict=True), 1):
        for part in (left, right):
            if part not in known:
                raise ConfigError(f"Merge {number:,} joins token {part}, which does not exist by then.")
        if result in known or result < 0:
            raise ConfigError(f"Merge {number:,} makes token {result}, which exists already.")
        known.add(result)
