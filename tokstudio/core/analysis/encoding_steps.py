"""An encoding step by step: pre-tokens, base tokens, and then each merge in the order in which it applies."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.step_pieces import NEVER, Making, State, StepPieces
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.pretokenization.patterns import splitter
from tokstudio.core.pretokenization.preparation import PreparedText
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.text.utf8 import Text
from tokstudio.core.tokenizer.tokenizer import Tokenizer

#: What leads to a state; see `Step`.
StepKind = Literal["pre-tokens", "base tokens", "merge", "removal"]


@dataclass(frozen=True, slots=True)
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
        made = pieces.merges[kept] > 0
        # The pieces of one removal come in one step.
        steps = np.unique(pieces.first[kept][made])
        first = np.where(made, 2 + np.searchsorted(steps, pieces.first[kept]), pieces.first[kept])
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
        made = np.flatnonzero(self.pieces.merges)
        return made[np.diff(self.pieces.first[made], prepend=0) != 0]

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
    known = tokenizer.at(limit)
    begin, behind = part
    raw = prepared.data[begin:behind].tobytes()
    data, pieces = np.frombuffer(raw, np.uint8), prepared.pieces
    made, split = Making(known, begin), splitter(tokenizer.pattern)
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
