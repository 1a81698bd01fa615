"""Two trainings as students write them, each with places for mistakes. They share no code with TokStudio."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise

import regex

GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
Merge = tuple[bytes, bytes]


def divided(text: bytes, specials: Iterable[str] = ("<|endoftext|>",), pattern: str = GPT2) -> list[bytes]:
    """The pre-tokens between special tokens."""
    whole, found = text.decode("utf-8", "surrogateescape"), list[bytes]()
    for part in re.split("|".join(map(re.escape, specials)), whole) if specials else [whole]:
        found += (match.group().encode("utf-8", "surrogateescape") for match in regex.finditer(pattern, part))
    return found


def as_bytes(word: bytes) -> list[bytes]:
    return [word[at : at + 1] for at in range(len(word))]


def as_characters(word: bytes) -> list[bytes]:
    return [c.encode("utf-8", "surrogateescape") for c in word.decode("utf-8", "surrogateescape")]


def recounting_student(
    words: Iterable[bytes],
    merges: int,
    best: Callable[[list[Merge]], Merge] = max,
    units: Callable[[bytes], list[bytes]] = as_bytes,
    once: bool = False,
    first_only: bool = False,
) -> list[Merge]:
    """Counts all pairs anew before each merge; `best` chooses among pairs with the highest count, as they were met."""
    counted = [(units(word), 1 if once else times) for word, times in Counter(words).items()]
    made: list[Merge] = []
    while len(made) < merges:
        pairs: dict[Merge, int] = {}
        for parts, times in counted:
            for pair in pairwise(parts):
                pairs[pair] = pairs.get(pair, 0) + times
        if not pairs:
            break
        highest = max(pairs.values())
        chosen = best([pair for pair, count in pairs.items() if count == highest])
        made.append(chosen)
        counted = [(replaced(parts, chosen, first_only), times) for parts, times in counted]
    return made


def replaced(parts: list[bytes], pair: Merge, first_only: bool) -> list[bytes]:
    text: list[bytes] = []
    skip = done = False
    for number, part in enumerate(parts):
        if skip:
            skip = False
        elif not (first_only and done) and part == pair[0] and parts[number + 1 : number + 2] == [pair[1]]:
            text.append(part + pair[1])
            skip = done = True
        else:
            text.append(part)
    return text


class UpdatingStudent:
    """Numbers tokens, and changes the counts of pairs in place, as a faster solution does."""

    def __init__(
        self,
        words: Iterable[bytes],
        best: Callable[[list[Merge]], Merge] = max,
        subtracts: bool = True,
        adds: bool = True,
        first_only: bool = False,
    ) -> None:
        self.names = {number: bytes([number]) for number in range(256)}
        self.words = [[list(word), times] for word, times in Counter(words).items()]
        self.best, self.subtracts, self.adds, self.first_only = best, subtracts, adds, first_only
        self.stats: dict[tuple[int, int], int] = {}
        for ids, times in self.words:
            for here in range(len(ids) - 1):
                self.change((ids[here], ids[here + 1]), times)

    def change(self, pair: tuple[int, int], by: int) -> None:
        self.stats[pair] = self.stats.get(pair, 0) + by
        if self.stats[pair] == 0:
            del self.stats[pair]

    def train(self, merges: int) -> list[Merge]:
        made: list[Merge] = []
        while len(made) < merges and self.stats and max(self.stats.values()) > 0:
            highest = max(self.stats.values())
            tied = {(self.names[a], self.names[b]): (a, b) for (a, b), n in self.stats.items() if n == highest}
            name = self.best(list(tied))
            self.join(tied[name])
            made.append(name)
        return made

    def join(self, pair: tuple[int, int]) -> None:
        token = len(self.names)
        self.names[token] = self.names[pair[0]] + self.names[pair[1]]
        for entry in self.words:
            ids, times = entry
            here = 0
            while here < len(ids) - 1:
                if (ids[here], ids[here + 1]) == pair:
                    if here > 0 and self.subtracts:
                        self.change((ids[here - 1], pair[0]), -times)
                    if here > 0 and self.adds:
                        self.change((ids[here - 1], token), times)
                    if here + 2 < len(ids) and self.subtracts:
                        self.change((pair[1], ids[here + 2]), -times)
                    if here + 2 < len(ids) and self.adds:
                        self.change((token, ids[here + 2]), times)
                    ids[here : here + 2] = [token]
                    if self.first_only:
                        break
                here += 1
        self.stats.pop(pair, None)
