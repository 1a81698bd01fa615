"""Picky BPE as slowly and as plainly as it can be written: tokens are bytes, and every merge counts all pairs anew.

It shares no code with TokStudio.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TypeVar

from tests.core.reference import replace

T = TypeVar("T")


@dataclass
class Event:
    """A merge: its pair, the count, the places, the tokens afterwards, and what was removed with its uses."""

    pair: tuple[bytes, bytes]
    count: int
    replaced: int
    tokens_after: int
    removed: list[tuple[bytes, int]]


@dataclass
class Recount:
    """A training by recounting, and what its words are in the end."""

    events: list[Event]
    words: list[list[bytes]]
    present: list[bytes]
    ended: str

    def encode(
        self, word: Sequence[bytes], events: int | None = None, merged_on: Counter[bytes] | None = None
    ) -> list[bytes]:
        """Replays the events, one after another; counts how often each token is merged on since it is there."""
        tokens, falls = list(word), dict[bytes, tuple[bytes, bytes]]()
        present = set(tokens)
        for event in self.events[:events]:
            tokens, times = merge(tokens, event.pair)
            made = b"".join(event.pair)
            for part in event.pair if merged_on is not None else ():
                merged_on[part] += times
            if made not in present:
                falls[made] = event.pair
                present.add(made)
            present -= {token for token, _ in event.removed}
            for token, _ in event.removed:
                if merged_on is not None:
                    merged_on[token] = 0
                tokens = fall(tokens, token, falls, present)
        return tokens


def merge(word: list[bytes], pair: tuple[bytes, bytes]) -> tuple[list[bytes], int]:
    """A word with a pair merged from left to right, and how often it was."""
    made = replace(word, *pair, b"".join(pair))
    return made, len(word) - len(made)


def count(
    words: Sequence[list[bytes]], weights: Sequence[int], things: Callable[[list[bytes]], Iterable[T]]
) -> Counter[T]:
    """How often each thing stands in words, each of which counts as often as its weight says."""
    counts = Counter(chain.from_iterable(map(things, words)))  # quicker than a loop
    for word, weight in zip(words, weights, strict=True):
        if weight != 1:
            for each in things(word):
                counts[each] += weight - 1
    return counts


def fall(word: list[bytes], token: bytes, falls: dict[bytes, tuple[bytes, bytes]], present: set[bytes]) -> list[bytes]:
    """A word in which a token falls into its parts, and those that are not there into theirs."""

    def parts(part: bytes) -> list[bytes]:
        if part not in falls or part in present:
            return [part]
        return [one for half in falls[part] for one in parts(half)]

    return [one for each in word for one in (parts(token) if each == token else [each])]


def train_picky_slowly(
    words: Sequence[Sequence[bytes]],
    weights: Sequence[int] | None = None,
    threshold: float = 0.9,
    tokens: int | None = None,
    min_frequency: int | None = None,
    max_token_bytes: int | None = None,
    allows: Callable[[bytes], bool] | None = None,
) -> Recount:
    """Trains on words, which are lists of base tokens, until there are `tokens` tokens made by merges."""
    now = [list(word) for word in words]
    times = [1] * len(now) if weights is None else list(weights)
    base = {unit for word in now for unit in word}
    present, order, falls = set[bytes](), list[bytes](), dict[bytes, tuple[bytes, bytes]]()
    events = list[Event]()
    ended = "reached vocabulary size"
    while tokens is None or len(present) < tokens:
        counts = count(now, times, pairwise)
        able = {
            pair: times_met
            for pair, times_met in counts.items()
            if times_met > 0
            and (max_token_bytes is None or len(b"".join(pair)) <= max_token_bytes)
            and (allows is None or allows(b"".join(pair)))
        }
        if not able or max(able.values()) < (min_frequency or 1):
            ended = f"no pair occurs {min_frequency:,} times" if able else "nothing left to merge"
            break
        highest = max(able.values())
        best = min(pair for pair, times_met in able.items() if times_met == highest)
        done = [merge(word, best) for word in now]
        # A word of weight 0 is not merged in training.
        now = [word if weight == 0 else new for (new, _), word, weight in zip(done, now, times, strict=True)]
        replaced = sum(merged * weight for (_, merged), weight in zip(done, times, strict=True))
        made = b"".join(best)
        if made not in present:
            present.add(made)
            order = [each for each in order if each != made] + [made]
            falls[made] = best
        uses = count(now, times, iter)
        removed = [
            (part, uses[part])
            for part in dict.fromkeys(best)
            if part not in base and replaced / (uses[part] + replaced) > threshold
        ]
        present -= {part for part, _ in removed}
        for part, _ in removed:
            now = [fall(word, part, falls, present | base) if part in word else word for word in now]
        after = sum(len(word) * weight for word, weight in zip(now, times, strict=True))
        events.append(Event(best, able[best], replaced, after, removed))
    return Recount(events, now, [token for token in order if token in present], ended)
