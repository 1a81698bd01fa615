"""A trainer as a student writes one, with the mistakes that students make as switches.

It is plain and slow, and trains nothing that is exported; `core.training` is the real one. Without a mistake both make
the same merges, which a test holds.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import Literal

import regex

from tokstudio.core.pretokenization.patterns import REGEX, splitter
from tokstudio.core.text.byte_level import to_characters

Pair = tuple[int, int]
Ties = Literal[
    "bytes", "smallest", "first-met", "first-counted", "last-met", "last-counted", "lowest-ids", "highest-ids",
    "lowest-gpt2-ids", "highest-gpt2-ids", "joined-bytes", "mapped-strings", "joined-mapped-strings", "longest",
    "longest-first-met", "decoded", "decoded-first-met",
]  # fmt: skip
#: What becomes of special tokens in the text: cut out; nothing; removed, which joins the texts on both sides; cut out
#: by an expression whose signs were not escaped; trained on as texts of their own.
Specials = Literal["cut", "left", "joined", "unescaped", "kept"]
Parts = Literal["whole", "lines", "python lines", "lines with ends", "python lines with ends"]
Stripped = Literal["", "text", "lines", "parts", "words"]


@dataclass(frozen=True)
class Recipe:
    r"""How a naive trainer works. The defaults make no mistake.

    Attributes:
        pattern: A name of `patterns.NAMES`, a regular expression, or "str.split".
        errors: What becomes of bytes that are not UTF-8: kept ("surrogateescape"), or as `bytes.decode` has it.
        newlines: The ends of lines that are changed, as a regular expression, and what they become; "" for none.
        parts: What the pattern is applied to: texts between special tokens, or their lines.
        stripped: What loses white space at both ends.
        words_once: Whether each distinct word counts once.
        old_neighbours: Whether the pairs that a merge has replaced keep their counts.
        new_neighbours: Whether the pairs that a merge has made are not counted.
        first_place_only: Whether a merge changes only the first place in a word.
        recounts: Whether the pairs that such a merge left over are counted again, so that the same merge may follow.
        by_word: Whether counts are changed by the pairs of the whole word before and after, not place by place.
    """

    pattern: str = "gpt2"
    errors: str = "surrogateescape"
    newlines: tuple[str, str] = ("", "")
    lower_case: bool = False
    specials: Specials = "cut"
    parts: Parts = "whole"
    stripped: Stripped = ""
    characters: bool = False
    words_once: bool = False
    ties: Ties = "bytes"
    old_neighbours: bool = False
    new_neighbours: bool = False
    first_place_only: bool = False
    recounts: bool = False
    by_word: bool = False

    @property
    def of_words(self) -> tuple[object, ...]:
        """What the words depend on."""
        return (
            self.pattern, self.errors, self.newlines, self.lower_case, self.specials, self.parts, self.stripped,
            self.characters, self.words_once,
        )  # fmt: skip


def count_words(texts: Iterable[bytes], specials: Sequence[str], recipe: Recipe) -> Counter[str]:
    """The words of texts in the order of their first occurrence, with how often they occur."""
    words = Counter[str]()
    for raw in texts:
        text = raw.decode("utf-8", recipe.errors)
        pattern, becomes = recipe.newlines
        text = re.sub(pattern, becomes, text) if pattern else text
        text = text.lower() if recipe.lower_case else text
        text = text.strip() if recipe.stripped == "text" else text
        text = "\n".join(map(str.strip, text.split("\n"))) if recipe.stripped == "lines" else text
        for part in chain.from_iterable(_parts(piece, recipe) for piece in _between(text, specials, recipe.specials)):
            found = _split(part.strip() if recipe.stripped == "parts" else part, recipe.pattern)
            words.update(word.strip() for word in found) if recipe.stripped == "words" else words.update(found)
    words.pop("", None)
    return Counter(dict.fromkeys(words, 1)) if recipe.words_once else words


def _between(text: str, specials: Sequence[str], rule: Specials) -> list[str]:
    """The texts between special tokens."""
    if not specials or rule == "left":
        return [text]
    longest_first = sorted(specials, key=len, reverse=True)
    pattern = "|".join(longest_first if rule == "unescaped" else map(re.escape, longest_first))
    if rule == "joined":
        return [re.sub(pattern, "", text)]
    return re.split(f"({pattern})" if rule == "kept" else pattern, text)


def _parts(text: str, recipe: Recipe) -> list[str]:
    if recipe.parts == "lines":
        return text.split("\n")
    if recipe.parts == "lines with ends":
        return re.findall(r"[^\n]*\n|[^\n]+", text)
    if recipe.parts == "whole":
        return [text]
    return text.splitlines(keepends=recipe.parts == "python lines with ends")


def _split(text: str, pattern: str) -> list[str]:
    if pattern == "str.split":
        return text.split()
    if pattern == "none" or pattern in REGEX:
        pieces = splitter(pattern).split(text.encode("utf-8", "surrogateescape"))
        return [piece.decode("utf-8", "surrogateescape") for piece in pieces]
    return regex.findall(pattern, text)


class PairCounts:
    """Counts of pairs, with the pairs of the highest count at hand."""

    def __init__(self) -> None:
        self._counts: dict[Pair, int] = {}
        self._by_count: dict[int, dict[Pair, None]] = {}
        self._heap: list[int] = []
        self._serials: dict[Pair, int] = {}
        self._next = 0

    def __getitem__(self, pair: Pair) -> int:
        return self._counts.get(pair, 0)

    def serial(self, pair: Pair) -> int:
        """The place of a pair in the order in which pairs were first counted, as a dictionary of Python keeps it."""
        return self._serials[pair]

    def copy(self) -> PairCounts:
        """Counts that change by themselves."""
        made = PairCounts()
        made._counts, made._serials, made._next = dict(self._counts), dict(self._serials), self._next
        made._by_count = {count: dict(pairs) for count, pairs in self._by_count.items()}
        made._heap = list(self._heap)
        return made

    def add(self, pair: Pair, change: int) -> None:
        """Changes a count; a pair is forgotten at 0."""
        before = self._counts.pop(pair, 0)
        if before:
            del self._by_count[before][pair]
        after = before + change
        if after <= 0:
            self._serials.pop(pair, None)
            return
        if pair not in self._serials:
            self._serials[pair], self._next = self._next, self._next + 1
        self._counts[pair] = after
        if after not in self._by_count:
            self._by_count[after] = {}
            heapq.heappush(self._heap, -after)
        self._by_count[after][pair] = None

    def highest(self) -> tuple[int, list[Pair]]:
        """The highest count, and the pairs that have it; 0 and none if nothing is left."""
        while self._heap:
            count = -self._heap[0]
            if self._by_count[count]:
                return count, list(self._by_count[count])
            del self._by_count[count]
            heapq.heappop(self._heap)
        return 0, []


class Words:
    """Words as lists of ids, with the counts of their pairs."""

    def __init__(self, words: Counter[str], *, characters: bool) -> None:
        self.weights = list(words.values())
        if characters:
            ids: dict[str, int] = {}
            self.words = [[ids.setdefault(character, len(ids)) for character in word] for word in words]
            self.tokens = [character.encode("utf-8", "surrogateescape") for character in ids]
        else:
            self.words = [list(word.encode("utf-8", "surrogateescape")) for word in words]
            self.tokens = [bytes([byte]) for byte in range(256)]
        counts: dict[Pair, int] = {}
        for word, weight in zip(self.words, self.weights, strict=True):
            for pair in pairwise(word):
                counts[pair] = counts.get(pair, 0) + weight
        self.counts = PairCounts()
        for pair, count in counts.items():
            self.counts.add(pair, count)

    @cached_property
    def where(self) -> defaultdict[Pair, set[int]]:
        """The numbers of the words that have a pair."""
        where: defaultdict[Pair, set[int]] = defaultdict(set)
        for number, word in enumerate(self.words):
            for pair in pairwise(word):
                where[pair].add(number)
        return where

    def copy(self) -> Words:
        """Words that change by themselves."""
        made = Words.__new__(Words)
        made.tokens, made.weights = list(self.tokens), self.weights
        made.counts, made.words = self.counts.copy(), list(self.words)
        made.where = defaultdict(set, {pair: set(numbers) for pair, numbers in self.where.items()})
        return made


class NaiveTrainer:
    """Trains by a recipe.

    Args:
        words: They are not changed: the trainer makes a copy for its first merge.
    """

    def __init__(self, words: Words, recipe: Recipe) -> None:
        self._words, self._recipe = words, recipe
        self._own = False

    @property
    def tokens(self) -> list[bytes]:
        """The bytes of each token."""
        return self._words.tokens

    def spell(self, pair: Pair) -> tuple[bytes, bytes]:
        """The bytes of both tokens of a pair."""
        return self.tokens[pair[0]], self.tokens[pair[1]]

    def count(self, pair: tuple[bytes, bytes]) -> int:
        """The count of a pair, given by its bytes; 0 where there is no such pair."""
        ids = [[number for number, token in enumerate(self.tokens) if token == part] for part in pair]
        return max((self._words.counts[left, right] for left in ids[0] for right in ids[1]), default=0)

    def best(self, ties: Ties | None = None) -> tuple[Pair | None, int, int]:
        """The next pair, its count, and how many pairs have this count; None if nothing is left.

        Another rule for ties than the recipe's can be given: the counts do not depend on it.
        """
        count, tied = self._words.counts.highest()
        if not tied:
            return None, 0, 0
        choose, key = _RULES[ties or self._recipe.ties]
        return (choose(tied, key=partial(key, self)) if len(tied) > 1 else tied[0]), count, len(tied)

    def merges(self) -> Iterator[tuple[bytes, bytes]]:
        """All merges, until nothing is left."""
        while (pair := self.best()[0]) is not None:
            yield self.spell(pair)
            self.merge(pair)

    def merge(self, pair: Pair) -> None:
        """Joins a pair in all words."""
        if not self._own:
            self._words, self._own = self._words.copy(), True
        words, recipe, made_of = self._words, self._recipe, b"".join(self.spell(pair))
        new = words.tokens.index(made_of) if recipe.recounts and made_of in words.tokens else len(self.tokens)
        if new == len(self.tokens):
            words.tokens.append(made_of)
        for number in sorted(words.where[pair]):
            weight, word = words.weights[number], words.words[number]
            made, changes = _joined(word, pair, new, first_only=recipe.first_place_only)
            before, after = Counter(pairwise(word)), Counter(pairwise(made))
            if recipe.by_word:
                changes = [(old, -times) for old, times in (before - after).items()]
                changes += (after - before).items()
            words.words[number] = made
            for changed, times in changes:
                if changed == pair or not (recipe.old_neighbours if times < 0 else recipe.new_neighbours):
                    words.counts.add(changed, weight * times)
            for gone in before.keys() - after.keys():
                words.where[gone].discard(number)
            for there in after.keys() - before.keys():
                words.where[there].add(number)
        if not (recipe.first_place_only and recipe.recounts):
            words.counts.add(pair, -words.counts[pair])

    def first_place(self, pair: Pair) -> tuple[int, int]:
        """The word in which a pair stands first, and its place there."""
        words = self._words
        if not words.where[pair]:
            return len(words.words), 0
        number = min(words.where[pair])
        return number, list(pairwise(words.words[number])).index(pair)

    def serial(self, pair: Pair) -> int:
        """The place of a pair in the order in which pairs were first counted."""
        return self._words.counts.serial(pair)


def _joined(word: Sequence[int], pair: Pair, new: int, *, first_only: bool) -> tuple[list[int], list[tuple[Pair, int]]]:
    """A word after a merge, and the changes of its pairs, place by place."""
    made: list[int] = []
    changes: list[tuple[Pair, int]] = []
    at, joins = 0, True
    while at < len(word):
        if not joins or tuple(word[at : at + 2]) != pair:
            made.append(word[at])
            at += 1
            continue
        changes.append((pair, -1))
        if made:
            changes += [((made[-1], pair[0]), -1), ((made[-1], new), 1)]
        if at + 2 < len(word):
            changes += [((pair[1], word[at + 2]), -1), ((new, word[at + 2]), 1)]
        made.append(new)
        at += 2
        joins = not first_only
    return made, changes


def _mapped(trainer: NaiveTrainer, pair: Pair) -> tuple[str, str]:
    left, right = trainer.spell(pair)
    return to_characters(left), to_characters(right)


def _decoded(trainer: NaiveTrainer, pair: Pair) -> tuple[str, str]:
    left, right = trainer.spell(pair)
    return left.decode("utf-8", "replace"), right.decode("utf-8", "replace")


def _in_gpt2_order(trainer: NaiveTrainer, pair: Pair) -> list[tuple[int, str]]:
    """The ids, where those of base bytes are in the order of the characters that GPT-2 shows them by."""
    return [(token, "") if token > 255 else (-1, to_characters(trainer.tokens[token])) for token in pair]


_Key = Callable[[NaiveTrainer, Pair], object]
_RULES: dict[Ties, tuple[Callable[..., Pair], _Key]] = {
    "bytes": (max, lambda trainer, pair: trainer.spell(pair)),
    "smallest": (min, lambda trainer, pair: trainer.spell(pair)),
    "first-met": (min, lambda trainer, pair: trainer.first_place(pair)),
    "first-counted": (min, lambda trainer, pair: trainer.serial(pair)),
    "last-met": (max, lambda trainer, pair: trainer.first_place(pair)),
    "last-counted": (max, lambda trainer, pair: trainer.serial(pair)),
    "lowest-ids": (min, lambda _, pair: pair),
    "highest-ids": (max, lambda _, pair: pair),
    "lowest-gpt2-ids": (min, _in_gpt2_order),
    "highest-gpt2-ids": (max, _in_gpt2_order),
    "joined-bytes": (max, lambda trainer, pair: (b"".join(trainer.spell(pair)), trainer.spell(pair))),
    "mapped-strings": (max, _mapped),
    "joined-mapped-strings": (max, lambda trainer, pair: ("".join(_mapped(trainer, pair)), _mapped(trainer, pair))),
    "longest": (max, lambda trainer, pair: (sum(map(len, trainer.spell(pair))), trainer.spell(pair))),
    "longest-first-met": (
        min,
        lambda trainer, pair: (-sum(map(len, trainer.spell(pair))), trainer.first_place(pair)),
    ),
    "decoded": (max, lambda trainer, pair: (_decoded(trainer, pair), trainer.spell(pair))),
    "decoded-first-met": (
        max,
        lambda trainer, pair: (_decoded(trainer, pair), [-at for at in trainer.first_place(pair)]),
    ),
}
