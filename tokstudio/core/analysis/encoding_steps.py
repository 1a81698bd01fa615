"""An encoding step by step: pre-tokens, base tokens, and then each merge in the order in which it applies."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.pretokenization.patterns import splitter
from tokstudio.core.pretokenization.preparation import Prepared
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.text.utf8 import Text
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_IN_A_PIECE = 1 << 12
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class State:
    """A text at one moment of its encoding, as pieces one after another."""

    starts: NDArray[np.int64]  # [n], the first byte of each piece
    stops: NDArray[np.int64]  # [n], the byte after each
    ids: NDArray[np.int32]  # [n], the token of each; -1 for a pre-token that is not encoded yet

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Step:
    """The step that led to a state."""

    # "pre-tokens": the text was split; "base tokens": pre-tokens became base tokens, or the one token of a whole word;
    # "merge": two tokens were merged
    kind: Literal["pre-tokens", "base tokens", "merge"]
    merge: int = 0  # the number of the merge, from 1; 0 for other steps, as are all below
    left: int = 0  # the id of the left token
    right: int = 0  # the id of the right token
    start: int = 0  # the first byte of the left token
    middle: int = 0  # the first byte of the right token
    stop: int = 0  # the byte after it


@dataclass(frozen=True, eq=False)
class StepPieces:
    """Every piece of any state: int64 arrays of one length, in the order in which the pieces were made."""

    starts: NDArray[np.int64]  # the first byte of each
    stops: NDArray[np.int64]  # the byte after it
    ids: NDArray[np.int64]  # its token; -1 for a pre-token
    first: NDArray[np.int64]  # the first state with it
    gone: NDArray[np.int64]  # the first later state without it; higher than all states where it stays
    parents: NDArray[np.int64]  # the piece that it became a part of; -1 for none
    merges: NDArray[np.int64]  # the number of the merge that made it; 0 for none
    lefts: NDArray[np.int64]  # the piece that is its left part; -1 for none
    rights: NDArray[np.int64]  # the piece that is its right part; -1 for none

    def state_of(self, chosen: NDArray[np.bool_]) -> State:
        """A state of the chosen pieces, bool [pieces], in the order of the text."""
        here = np.flatnonzero(chosen)
        here = here[np.argsort(self.starts[here])]
        return State(self.starts[here], self.stops[here], self.ids[here].astype(np.int32))


@dataclass(frozen=True, eq=False)
class Steps:
    """All states of an encoding: `len(steps)` is their number, at least two; made by `steps_work`.

    The first state has pre-tokens, the second base tokens, and each one after that has two tokens merged: pre-token
    after pre-token, in each by rank, and with one merge from left to right. Supermerges follow the words of their run.
    """

    data: bytes  # the encoded text as UTF-8, after its preparation
    tokenizer: Tokenizer  # with all its merges
    merges: int  # how many of them were applied
    pieces: StepPieces  # every piece of any state
    allowed_special: AllowedSpecial  # the special tokens that were recognised
    prepared: Prepared  # the text that was given
    begin: int = 0  # where `data` begins in its prepared text

    def __len__(self) -> int:
        return 2 + len(self._made)

    def state(self, number: int) -> State:
        """A state, from 0, in time linear in the text; raises ConfigError where there is none."""
        check_number(number, len(self))
        return self.pieces.state_of((self.pieces.first <= number) & (self.pieces.gone > number))

    def step(self, number: int) -> Step:
        """The step that led to a state, from 0; raises ConfigError where there is none."""
        check_number(number, len(self))
        if number < 2:
            return Step("base tokens" if number else "pre-tokens")
        pieces = self.pieces
        piece = int(self._made[number - 2])
        left, right = int(pieces.lefts[piece]), int(pieces.rights[piece])
        return Step(
            kind="merge",
            merge=int(pieces.merges[piece]),
            left=int(pieces.ids[left]),
            right=int(pieces.ids[right]),
            start=int(pieces.starts[left]),
            middle=int(pieces.starts[right]),
            stop=int(pieces.stops[right]),
        )

    def at(self, merges: int) -> Steps:
        """The steps of the same text with fewer merges, in time linear in it; raises ConfigError for more merges."""
        if not 0 <= merges <= self.merges:
            raise ConfigError(f"No steps are known of merge {merges:,}: {self.merges:,} are applied.")
        pieces = self.pieces
        known = self.tokenizer.at(merges).tokens
        words = self.tokenizer.whole_words.intersection(pieces.ids.tolist())
        if self.tokenizer.dropout is not None or not all(map(known.in_use, words)):
            # Dropout tries other merges; and a whole word is one token only where that token exists.
            part = self.begin, self.begin + len(self.data)
            return finish(prepared_steps_work(self.tokenizer, self.prepared, part, merges, self.allowed_special))
        # Merges are in order: the result of a later one is not a part of an earlier one.
        kept = np.flatnonzero(pieces.merges <= merges)
        place = np.full(len(pieces.ids) + 1, -1, np.int64)
        place[kept] = np.arange(len(kept))  # the last one stays -1, for no piece
        parents = place[pieces.parents[kept]]
        made = pieces.merges[kept] > 0
        first = np.where(made, 1 + np.cumsum(made), pieces.first[kept])
        gone = np.where(parents >= 0, first[parents], np.where(pieces.first[kept] == 0, pieces.gone[kept], _NEVER))
        own = StepPieces(
            starts=pieces.starts[kept],
            stops=pieces.stops[kept],
            ids=pieces.ids[kept],
            first=first,
            gone=gone,
            parents=parents,
            merges=pieces.merges[kept],
            lefts=place[pieces.lefts[kept]],
            rights=place[pieces.rights[kept]],
        )
        return replace(self, merges=merges, pieces=own)

    @cached_property
    def _made(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.pieces.merges)

    @cached_property
    def pre_tokens(self) -> State:
        """The first state: pre-tokens, and special tokens with their ids."""
        return self.state(0)

    @cached_property
    def tokens(self) -> State:
        """The last state: the encoded text."""
        return self.state(len(self) - 1)


def check_number(number: int, states: int) -> None:
    """Raises ConfigError unless it is the number of one of so many states."""
    if not 0 <= number < states:
        raise ConfigError(f"There is no state {number:,}: this encoding has {states:,}, numbered from 0.")


def steps_work(
    tokenizer: Tokenizer, text: Text, merges: int | None = None, allowed_special: AllowedSpecial = ()
) -> Work[Steps]:
    """Encodes a text of about 10 kB with the first `merges` merges (None: all), and keeps every state.

    Raises:
        ConfigError: Another library encodes for this tokenizer, there are fewer merges, a special token is unknown, or
            a character is not in the vocabulary.
    """
    prepared = yield from tokenizer.prepared_work(text, allowed_special)
    return (yield from prepared_steps_work(tokenizer, prepared, (0, prepared.size), merges, allowed_special))


def prepared_steps_work(
    tokenizer: Tokenizer,
    prepared: Prepared,
    part: tuple[int, int],
    merges: int | None = None,
    allowed_special: AllowedSpecial = (),
) -> Work[Steps]:
    """Does the same for a part of a prepared text, which begins and ends with pre-tokens or special tokens."""
    if tokenizer.library is not None:
        unseen = f"{tokenizer.library} encodes for this tokenizer: its steps cannot be seen."
        raise ConfigError(tokenizer.no_merges or unseen)
    if tokenizer.removals is not None:
        raise ConfigError("This tokenizer removes tokens again (Picky BPE): its steps cannot be shown.")
    limit = len(tokenizer.merges) if merges is None else merges
    known = tokenizer.at(limit)
    begin, behind = part
    raw = prepared.data[begin:behind].tobytes()
    data, pieces = np.frombuffer(raw, np.uint8), prepared.pieces
    made, split = _Making(known, begin), splitter(tokenizer.pattern)
    spans = [pieces.starts - begin, pieces.stops - begin, pieces.specials]
    rows: list[list[int]] = np.stack(spans, axis=1).tolist()
    for start, stop, special in rows:
        at, last = max(start, 0), min(stop, len(raw))
        for ends in split.ends_work(data, at, last) if at < last else ():
            for end in ends.tolist():
                yield from made.add_work(raw, at, end)
                at = end
        if special >= 0 and 0 <= stop < len(raw):
            token = prepared.specials[special]
            made.add(stop, stop + len(token), tokenizer.special_tokens[token.decode()], first=0)
        yield from made.end_run_work()
    return Steps(raw, tokenizer, limit, made.pieces(), allowed_special, prepared, begin)


class _Making:
    """Pieces in the making; a row each, with the columns of `StepPieces`."""

    def __init__(self, tokenizer: Tokenizer, begin: int) -> None:
        self._alphabet, self._dropout, self._begin = tokenizer.alphabet, tokenizer.dropout, begin
        supermerges = tokenizer.supermerges
        self._ranks = _Ranks(tokenizer, None if supermerges is None else ~supermerges)
        self._supermerges = None if supermerges is None else _Ranks(tokenizer, supermerges)
        self._letters = tokenizer.words_with_letters()
        self._run: list[int] = []  # the pieces of words that supermerges may join
        self._results: list[int] = tokenizer.merge_results.tolist()
        self._whole_words = {
            tokenizer.tokens[token]: token for token in tokenizer.whole_words if tokenizer.tokens.in_use(token)
        }
        self._rows: list[list[int]] = []
        self._states = 2

    def add(self, start: int, stop: int, token: int, first: int, gone: int = _NEVER) -> int:
        """Adds a piece without parts, and returns its number."""
        self._rows.append([start, stop, token, first, gone, -1, 0, -1, -1])
        return len(self._rows) - 1

    def add_work(self, raw: bytes, start: int, stop: int) -> Work[None]:
        """Encodes a pre-token."""
        self.add(start, stop, -1, first=0, gone=1)
        word = raw[start:stop]
        if word in self._whole_words and self._dropout is None:
            self.add(start, stop, self._whole_words[word], first=1)
            return
        if self._alphabet.base == "bytes":
            ids, widths = self._alphabet.id_of[np.frombuffer(word, np.uint8)].tolist(), [1] * len(word)
        else:
            characters = word.decode()
            ids, widths = self._alphabet.ids_of(characters).tolist(), [len(one.encode()) for one in characters]
        edges = [*accumulate(widths, initial=start)]
        current = [self.add(edges[i], edges[i + 1], token, first=1) for i, token in enumerate(ids)]
        yield from self._merge_work(ids, current, start, self._ranks)
        if self._supermerges is None:
            return
        last = len(self._rows) - 1
        if self._rows[last][:2] == [start, stop] and self._letters[self._rows[last][2]]:
            self._run.append(last)
        else:
            yield from self.end_run_work()

    def end_run_work(self) -> Work[None]:
        """Joins the words of a run, which ends here, by supermerges."""
        run, self._run = self._run, []
        if self._supermerges is not None and len(run) > 1:
            ids = [self._rows[piece][2] for piece in run]
            yield from self._merge_work(ids, run, self._rows[run[0]][0], self._supermerges)

    def _merge_work(self, ids: list[int], current: list[int], start: int, ranks: _Ranks) -> Work[None]:
        """Merges one pre-token, or run, of which `ids` has the token and `current` the piece at each place.

        Lowest rank first, leftmost first among equals; where two are merged, the left place stays. With dropout, merges
        are passed over as in `kernels.dropout`.
        """
        passes = None if self._dropout is None else self._dropout.passes(self._begin + start)
        passed: list[tuple[int, int]] = []
        n, rank_of = len(ids), ranks.rank_of
        following, previous = list(range(1, n + 1)), list(range(-1, n - 1))
        heap = [(rank, i) for i in range(n - 1) if (rank := rank_of(ids[i], ids[i + 1])) >= 0]
        heapify(heap)
        done, last = 0, None
        while heap:
            rank, i = heappop(heap)
            done += 1
            if done % _IN_A_PIECE == 0:
                yield Progress("encoding")
            j = following[i]
            # Outdated entries are skipped.
            if current[i] < 0 or j == n or rank_of(ids[i], ids[j]) != rank or (rank, i) == last:
                continue
            last = None if passes is None else (rank, i)
            if passes is not None and next(passes):
                passed.append((rank, i))
                continue
            ids[i] = self._results[rank]
            current[i] = self._join(current[i], current[j], ids[i], rank + 1)
            current[j] = -1
            following[i] = j = following[j]
            if j < n:
                previous[j] = i
            for left, right in ((previous[i], i), (i, j)):
                if left >= 0 and right < n and (rank := rank_of(ids[left], ids[right])) >= 0:
                    heappush(heap, (rank, left))
            last = None
            while passed:
                heappush(heap, passed.pop())

    def _join(self, left: int, right: int, token: int, merge: int) -> int:
        piece = self.add(self._rows[left][0], self._rows[right][1], token, self._states)
        for part in (left, right):
            self._rows[part][4:6] = self._states, piece
        self._rows[piece][6:] = merge, left, right
        self._states += 1
        return piece

    def pieces(self) -> StepPieces:
        """All pieces so far."""
        columns = np.array(self._rows, np.int64).reshape(-1, 9).T.copy()
        columns.setflags(write=False)
        return StepPieces(*columns)


class _Ranks:
    """The ranks of pairs, or of those that are chosen; where two merges join the same pair, the first counts."""

    def __init__(self, tokenizer: Tokenizer, chosen: NDArray[np.bool_] | None = None) -> None:
        pairs = tokenizer.merges.astype(np.int64)
        keys = (pairs[:, 0] << 32) | pairs[:, 1]
        if chosen is not None:
            keys[~chosen] = -1
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        self._known: dict[tuple[int, int], int] = {}

    def rank_of(self, left: int, right: int) -> int:
        """The row of the merge that joins two tokens; -1 if there is none."""
        rank = self._known.get((left, right))
        if rank is None:
            key = (left << 32) | right
            at = int(np.searchsorted(self._keys, key))
            rank = int(self._order[at]) if at < len(self._keys) and self._keys[at] == key else -1
            self._known[left, right] = rank
        return rank
