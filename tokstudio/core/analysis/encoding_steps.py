"""The steps in which a tokenizer encodes a text: pieces, merges, and all merges of one rank as a round."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.pretokenization.patterns import splitter
from tokstudio.core.pretokenization.preparation import PreparedText
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.text.utf8 import Text
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.kernels.replay import Events

# --- The pieces of a text in the making: encodes pre-tokens merge by merge, and keeps every piece of any state --------


_IN_A_PIECE = 1 << 12
#: The number of a state after all others.
NEVER = (1 << 63) - 1


@dataclass(frozen=True, eq=False)
class State:
    """A text at one moment of its encoding, as pieces one after another."""

    starts: NDArray[np.int64]  # [n], the first byte of each piece
    stops: NDArray[np.int64]  # [n], the byte after each
    ids: NDArray[np.int32]  # [n], the token of each; -1 for a pre-token that is not encoded yet

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class StepPieces:
    """Every piece of any state: int64 arrays of one length, in the order in which the pieces were made."""

    starts: NDArray[np.int64]  # the first byte of each
    stops: NDArray[np.int64]  # the byte after it
    ids: NDArray[np.int64]  # its token; -1 for a pre-token
    first: NDArray[np.int64]  # the first state with it
    gone: NDArray[np.int64]  # the first later state without it; higher than all states where it stays
    parents: NDArray[np.int64]  # the piece that it became a part of; -1 for none
    merges: NDArray[np.int64]  # the number of the merge that made it, or removed what it is from; 0 for none
    lefts: NDArray[np.int64]  # the piece that is its left part; -1 for none
    rights: NDArray[np.int64]  # the piece that is its right part; -1 for none
    wholes: NDArray[np.int64]  # the removed piece that fell into it and others; -1 for none

    def state_of(self, chosen: NDArray[np.bool_]) -> State:
        """A state of the chosen pieces, bool [pieces], in the order of the text."""
        here = np.flatnonzero(chosen)
        here = here[np.argsort(self.starts[here])]
        return State(self.starts[here], self.stops[here], self.ids[here].astype(np.int32))


class Making:
    """Pieces in the making; a row each, with the columns of `StepPieces`."""

    def __init__(self, tokenizer: Tokenizer, begin: int) -> None:
        self._alphabet, self._dropout, self._begin = tokenizer.alphabet, tokenizer.dropout, begin
        supermerges = tokenizer.supermerges
        self._ranks = _Ranks(tokenizer, None if supermerges is None else ~supermerges)
        self._supermerges = None if supermerges is None else _Ranks(tokenizer, supermerges)
        self._letters = np.zeros(0, np.bool_) if supermerges is None else tokenizer.words_with_letters()
        self._run: list[int] = []  # the pieces of words that supermerges may join
        self._results: list[int] = tokenizer.merge_results.tolist()
        self._events = tokenizer.events
        self._whole_words = {
            tokenizer.tokens[token]: token for token in tokenizer.whole_words if tokenizer.tokens.in_use(token)
        }
        self._rows: list[list[int]] = []
        self._states = 2

    def add(self, start: int, stop: int, token: int, first: int, gone: int = NEVER) -> int:
        """Adds a piece without parts, and returns its number."""
        self._rows.append([start, stop, token, first, gone, -1, 0, -1, -1, -1])
        return len(self._rows) - 1

    def add_work(self, raw: bytes, start: int, stop: int) -> Work[None]:
        """Encodes a pre-token."""
        self.add(start, stop, -1, first=0, gone=1)
        word = raw[start:stop]
        if word in self._whole_words and self._dropout is None:
            self.add(start, stop, self._whole_words[word], first=1)
            return
        if self._alphabet.base == "bytes":
            ids, widths = self._alphabet.ids_of_bytes(np.frombuffer(word, np.uint8)).tolist(), [1] * len(word)
        else:
            characters = word.decode()
            ids, widths = self._alphabet.ids_of(characters).tolist(), [len(one.encode()) for one in characters]
        edges = [*accumulate(widths, initial=start)]
        current = [self.add(edges[i], edges[i + 1], token, first=1) for i, token in enumerate(ids)]
        if self._events is not None:
            yield from self._replay_work(ids, current, edges, self._events)
            return
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

    def _replay_work(self, ids: list[int], current: list[int], edges: list[int], events: Events) -> Work[None]:
        """Replays merges and removals on one pre-token, as `kernels.replay` does and with its numbers of events.

        `ids` has the token and `current` the piece at each place, `edges` the byte where it begins, and the last end.
        """
        n, limit, heap, done = len(ids), len(self._results), list[tuple[int, int]](), 0
        following, previous = list(range(1, n + 1)), list(range(-1, n - 1))

        def enter(left: int, after: int) -> None:
            if left >= 0 and following[left] < n:
                row = self._ranks.rank_of(ids[left], ids[following[left]], after // 3 + 1)
                if row >= 0:
                    heappush(heap, (3 * row, left))

        for i in range(n):
            enter(i, -1)
        while heap:
            event, i = heappop(heap)
            row, side = event // 3, event % 3 - 1
            done += 1
            if done % _IN_A_PIECE == 0:
                yield Progress("encoding")
            pair, after, places = events.merges[row].tolist(), following[i], [i]
            if current[i] < 0 or ids[i] != pair[max(side, 0)]:
                continue
            if side < 0:
                if after == n or ids[after] != pair[1]:
                    continue
                current[i] = self._join(current[i], current[after], self._results[row], row + 1)
                current[after], ids[i], following[i] = -1, self._results[row], following[after]
            else:
                parts = events.parts[events.part_starts[ids[i]] : events.part_starts[ids[i] + 1]].tolist()
                places = [*accumulate(events.spans[parts[:-1]].tolist(), initial=i)]
                ends = [*places[1:], after]
                starts = [edges[place] for place in (*places, after)]
                children = self._fall(current[i], parts, starts, row + 1)
                for place, end, part, piece in zip(places, ends, parts, children, strict=True):
                    ids[place], current[place], following[place] = part, piece, end
                for left, right in pairwise(places):
                    previous[right] = left
            last = places[-1]
            if following[last] < n:
                previous[following[last]] = last
            enter(previous[i], event)
            for place in places:
                enter(place, event)
                removed = int(events.removed[ids[place]])
                if event < removed < 3 * limit:
                    heappush(heap, (removed, place))

    def _fall(self, whole: int, parts: list[int], edges: list[int], merge: int) -> list[int]:
        """Adds the pieces that a removed one falls into, in one step."""
        children = [self.add(*span, part, self._states) for span, part in zip(pairwise(edges), parts, strict=True)]
        for piece in children:
            self._rows[piece][6], self._rows[piece][9] = merge, whole
        self._rows[whole][4] = self._states
        self._states += 1
        return children

    def _join(self, left: int, right: int, token: int, merge: int) -> int:
        piece = self.add(self._rows[left][0], self._rows[right][1], token, self._states)
        for part in (left, right):
            self._rows[part][4:6] = self._states, piece
        self._rows[piece][6:9] = merge, left, right
        self._states += 1
        return piece

    def pieces(self) -> StepPieces:
        """All pieces so far."""
        columns = np.array(self._rows, np.int64).reshape(-1, 10).T.copy()
        columns.setflags(write=False)
        return StepPieces(*columns)


class _Ranks:
    """The ranks of pairs, or of those that are chosen; where several merges join the same pair, the first counts."""

    def __init__(self, tokenizer: Tokenizer, chosen: NDArray[np.bool_] | None = None) -> None:
        pairs = tokenizer.merges.astype(np.int64)
        keys = (pairs[:, 0] << 32) | pairs[:, 1]
        if chosen is not None:
            keys[~chosen] = -1
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        self._known: dict[tuple[int, int], int] = {}

    def rank_of(self, left: int, right: int, least: int = 0) -> int:
        """The row of the merge, the first from `least` on, that joins two tokens; -1 if there is none."""
        at = self._known.get((left, right))
        key = (left << 32) | right
        if at is None:
            at = self._known[left, right] = int(np.searchsorted(self._keys, key))
        while at < len(self._keys) and self._keys[at] == key:
            if self._order[at] >= least:
                return int(self._order[at])
            at += 1
        return -1


# --- An encoding step by step: pre-tokens, base tokens, and then each merge in the order in which it applies ----------

#: What leads to a state; see `Step`.
StepKind = Literal["pre-tokens", "base tokens", "merge", "removal"]


@dataclass(frozen=True)
class Step:
    """The step that led to a state."""

    # "pre-tokens": the text was split; "base tokens": pre-tokens became base tokens, or the one token of a whole word;
    # "merge": two tokens were merged; "removal": a token that a merge removed fell apart
    kind: StepKind
    merge: int = 0  # the number of the merge, from 1; 0 for the first two steps, as are all below
    left: int = 0  # the id of the left token; of a removal, of the removed one
    right: int = 0  # the id of the right token; 0 for a removal
    start: int = 0  # the first byte of the left token
    middle: int = 0  # the first byte of the right token; for a removal, as `stop`
    stop: int = 0  # the byte after it


@dataclass(frozen=True, eq=False)
class Steps:
    """All states of an encoding: `len(steps)` is their number, at least two; made by `steps_work`.

    The first state has pre-tokens, the second base tokens, and each one after that has two tokens merged, or a removed
    one in its parts: pre-token after pre-token, in each by rank, and with one merge from left to right. Supermerges
    follow the words of their run.
    """

    data: bytes  # the encoded text as UTF-8, after its preparation
    tokenizer: Tokenizer  # with all its merges
    merges: int  # how many of them were applied
    pieces: StepPieces  # every piece of any state
    allowed_special: AllowedSpecial  # the special tokens that were recognised
    prepared: PreparedText  # the text that was given
    begin: int = 0  # where `data` begins in its prepared text

    def __len__(self) -> int:
        return 2 + len(self.made)

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
        piece = int(self.made[number - 2])
        left, right, whole = int(pieces.lefts[piece]), int(pieces.rights[piece]), int(pieces.wholes[piece])
        if whole >= 0:
            start, stop = int(pieces.starts[whole]), int(pieces.stops[whole])
            return Step("removal", int(pieces.merges[piece]), int(pieces.ids[whole]), 0, start, stop, stop)
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
        earlier, needed = self.tokenizer.at(merges), self.tokenizer.needed_merges
        words = (self.tokenizer.whole_words | earlier.whole_words).intersection(pieces.ids.tolist())
        same = words <= self.tokenizer.whole_words and all(map(earlier.tokens.in_use, words))
        if self.tokenizer.dropout is not None or not same:
            # Dropout tries other merges; and a whole word is one token only where that token exists.
            part = self.begin, self.begin + len(self.data)
            return finish(prepared_steps_work(self.tokenizer, self.prepared, part, merges, self.allowed_special))
        # Where merges are in order, the result of a later one is not a part of an earlier one.
        last = pieces.merges if needed is None else np.where(pieces.merges > 0, needed[pieces.merges - 1], 0)
        kept = np.flatnonzero(last <= merges)
        place = np.full(len(pieces.ids) + 1, -1, np.int64)
        place[kept] = np.arange(len(kept))  # the last one stays -1, for no piece
        parents, wholes = place[pieces.parents[kept]], place[pieces.wholes[kept]]
        are_merged = pieces.merges[kept] > 0
        # The pieces of one removal come in one step.
        steps = np.unique(pieces.first[kept][are_merged])
        first = np.where(are_merged, 2 + np.searchsorted(steps, pieces.first[kept]), pieces.first[kept])
        gone = np.where(parents >= 0, first[parents], np.where(pieces.first[kept] == 0, pieces.gone[kept], NEVER))
        gone[wholes[wholes >= 0]] = first[wholes >= 0]
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
            wholes=wholes,
        )
        return replace(self, merges=merges, pieces=own)

    @cached_property
    def made(self) -> NDArray[np.intp]:
        """The first piece that each step but the first two has made."""
        merged_pieces = np.flatnonzero(self.pieces.merges)
        return merged_pieces[np.diff(self.pieces.first[merged_pieces], prepend=0) != 0]

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
    prepared: PreparedText,
    part: tuple[int, int],
    merges: int | None = None,
    allowed_special: AllowedSpecial = (),
) -> Work[Steps]:
    """Does the same for a part of a prepared text, which begins and ends with pre-tokens or special tokens."""
    if tokenizer.library is not None:
        unseen = f"{tokenizer.library} encodes for this tokenizer: its steps cannot be seen."
        raise ConfigError(tokenizer.no_merges or unseen)
    limit = len(tokenizer.merges) if merges is None else merges
    at_limit = tokenizer.at(limit)
    begin, behind = part
    raw = prepared.data[begin:behind].tobytes()
    data, pieces = np.frombuffer(raw, np.uint8), prepared.pieces
    making, split = Making(at_limit, begin), splitter(tokenizer.pattern)
    spans = [pieces.starts - begin, pieces.stops - begin, pieces.specials]
    rows: list[list[int]] = np.stack(spans, axis=1).tolist()
    for start, stop, special in rows:
        at, last = max(start, 0), min(stop, len(raw))
        for ends in split.ends_work(data, at, last) if at < last else ():
            for end in ends.tolist():
                yield from making.add_work(raw, at, end)
                at = end
        if special >= 0 and 0 <= stop < len(raw):
            token = prepared.specials[special]
            making.add(stop, stop + len(token), tokenizer.special_tokens[token.decode()], first=0)
        yield from making.end_run_work()
    return Steps(raw, tokenizer, limit, making.pieces(), allowed_special, prepared, begin)


# --- Encoding rounds --------------------------------------------------------------------------------------------------
# An encoding in rounds: pre-tokens, base tokens, and then each merge at all its places at once, in order of rank.
#
# With Picky BPE, a token that a merge removed falls apart at all its places in a round after it.
#
# The rounds are made from the `Steps` of the encoding.


@dataclass(frozen=True, eq=False)
class Round:
    """The round that led to a state."""

    kind: StepKind
    merge: int  # the number of the merge, from 1; 0 for the first two rounds, as are the ids
    left: int  # the id of the left token; of a removal, of the removed one
    right: int  # the id of the right token; 0 for a removal
    token: int  # the id of the new token; of a removal, of the removed one
    starts: NDArray[np.int64]  # [places], the bytes where the merged or removed tokens begin, ascending
    parts: tuple[int, ...] = ()  # of a removal: the ids that the removed token falls into


class Rounds:
    """All states of an encoding, a merge at a time: `len(rounds)` is their number, at least two.

    The first two and the last are those of the steps. After the round of a merge, the text is encoded with the merges
    up to that one. A merge that joins a token of a later one comes after that.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        pieces = steps.pieces
        merged_pieces, wholes = steps.made, pieces.wholes[steps.made]
        # The merge, then the removal of its left part, then that of its right part.
        lefts = steps.tokenizer.merges[pieces.merges[merged_pieces] - 1, 0]
        side = np.where(wholes < 0, 0, np.where(pieces.ids[wholes] == lefts, 1, 2))
        events = 3 * pieces.merges[merged_pieces] + side
        if (needed := steps.tokenizer.needed_merges) is not None:
            merges = pieces.merges[merged_pieces]
            keys = np.column_stack(
                [needed[merges - 1], pieces.stops[merged_pieces] - pieces.starts[merged_pieces], merges]
            )
            events = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1) + 1
        order = np.lexsort((pieces.starts[merged_pieces], events))
        self._made = merged_pieces[order]
        self._begins = np.flatnonzero(np.diff(events[order], prepend=0))
        number = np.empty(2 + len(merged_pieces), np.int64)  # the round in which each state of the steps is reached
        number[:2] = 0, 1
        number[2 + order] = 1 + np.searchsorted(self._begins, np.arange(len(merged_pieces)), side="right")
        self._first = number[pieces.first]
        stays = pieces.gone >= len(number)
        self._gone = np.where(stays, pieces.gone, number[np.where(stays, 0, pieces.gone)])

    def __len__(self) -> int:
        return 2 + len(self._begins)

    def state(self, number: int) -> State:
        """A state, from 0, in time linear in the text; raises ConfigError where there is none."""
        check_number(number, len(self))
        return self.steps.pieces.state_of((self._first <= number) & (self._gone > number))

    def round(self, number: int) -> Round:
        """The round that led to a state, from 0; raises ConfigError where there is none."""
        check_number(number, len(self))
        pieces = self.steps.pieces
        if number < 2:
            return Round("base tokens" if number else "pre-tokens", 0, 0, 0, 0, np.zeros(0, np.int64))
        begin = int(self._begins[number - 2])
        end = int(self._begins[number - 1]) if number < len(self) - 1 else len(self._made)
        joined = self._made[begin:end]
        one = int(joined[0])
        if (whole := int(pieces.wholes[one])) >= 0:
            removed, merge = int(pieces.ids[whole]), int(pieces.merges[one])
            parts = pieces.ids[pieces.wholes == whole].tolist()
            return Round("removal", merge, removed, 0, removed, pieces.starts[joined], tuple(parts))
        return Round(
            kind="merge",
            merge=int(pieces.merges[one]),
            left=int(pieces.ids[pieces.lefts[one]]),
            right=int(pieces.ids[pieces.rights[one]]),
            token=int(pieces.ids[one]),
            starts=pieces.starts[joined],
        )
