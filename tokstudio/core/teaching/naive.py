"""A trainer as a student writes one, with the mistakes that students make as switches.

It is plain and slow, and trains nothing that is exported; `core.training` is the real one. Without a mistake both make
the same merges, which a test holds.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice, pairwise
from typing import Literal

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.pretokenization.custom_regex import compile_expression
from tokstudio.core.pretokenization.patterns import REGEX, splitter
from tokstudio.core.text.byte_level import to_characters

# --- Recipe -----------------------------------------------------------------------------------------------------------
# What a naive trainer does, mistakes included, and the first half of it: a text becomes words with their counts.

Ties = Literal[
    "bytes", "smallest", "smallest-mapped", "smallest-joined", "smallest-joined-mapped", "first-met", "first-counted",
    "first-ever-counted", "last-met", "last-counted", "lowest-ids", "highest-ids", "lowest-gpt2-ids",
    "highest-gpt2-ids", "joined-bytes", "mapped-strings", "joined-mapped-strings", "longest", "longest-joined",
    "longest-first-met", "decoded", "decoded-joined", "decoded-first-met",
]  # fmt: skip
#: What becomes of special tokens in the text: cut out; nothing; removed, which joins the texts on both sides; cut out
#: by an expression whose signs were not escaped; trained on as texts of their own.
Specials = Literal["cut", "left", "joined", "unescaped", "kept"]
Parts = Literal["whole", "lines", "python lines", "lines with ends", "python lines with ends"]
Stripped = Literal["", "text", "lines", "parts", "words", "ends of lines", "ends of parts", "starts of words"]
#: Which counts are wrong after a merge: those at both sides of it, at one of them, or (for a heap whose old entries
#: are not checked) those that became smaller.
Sides = Literal["", "both", "left", "right", "stale"]
#: How counts are changed: place by place; by the pairs of a word that became more or fewer; or by all its pairs.
Updates = Literal["places", "changes", "words"]
_SPLITS: Mapping[str, Callable[[str], list[str]]] = {
    "str.split": str.split,
    "str.split, spaces before": lambda text: [" " + word for word in text.split()],
    "str.split, spaces between": lambda text: text.split()[:1] + [" " + word for word in text.split()[1:]],
    "spaces before": lambda text: [" " + word for word in text.split(" ")],
    "spaces between": lambda text: text.split(" ")[:1] + [" " + word for word in text.split(" ")[1:]],
}
_SOME = 4096  # words between two reports of progress
# The time limit of a pattern for a text, and the characters for which there is another second.
_SECONDS, _IN_A_SECOND = 10.0, 200_000
_RE = "re "  # begins a pattern for Python's own `re`, whose \\w has no combining marks


@dataclass(frozen=True)
class Recipe:
    """How a naive trainer works. The defaults make no mistake."""

    # A name of `patterns.NAMES` or `_SPLITS`, or a regular expression; with "re " before it, for `re`.
    pattern: str = "gpt2"
    # What becomes of bytes that are not UTF-8: kept ("surrogateescape"), or as `bytes.decode` has it; or "latin-1",
    # where every byte is read as a character.
    errors: str = "surrogateescape"
    # The ends of lines that are changed, as a regular expression, and what they become; "" for none.
    newlines: tuple[str, str] = ("", "")
    # What is in lower case: the text or its words; or the text by `str.casefold` or `bytes.lower`.
    lower_case: Literal["", "text", "words", "casefold", "bytes"] = ""
    specials: Specials = "cut"
    parts: Parts = "whole"  # what the pattern is applied to: texts between special tokens, or their lines
    stripped: Stripped = ""  # what loses white space at both ends
    characters: bool = False
    words_once: bool = False  # whether each distinct word counts once
    ties: Ties = "bytes"
    old_neighbours: Sides = ""  # where the pairs that a merge has replaced keep their counts
    new_neighbours: Sides = ""  # where the pairs that a merge has made are not counted
    first_place_only: bool = False  # whether a merge changes only the first place in a word
    # What the same merge makes when it follows, as the pairs that were left over are counted again.
    recounts: Literal["", "same token", "new token"] = ""
    # Whether a changed word becomes the last one, as in a dictionary from which the old one is deleted.
    moves: bool = False
    updates: Updates = "places"  # how the counts of pairs are changed after a merge

    @property
    def of_words(self) -> tuple[object, ...]:
        """What the words depend on."""
        return (
            self.pattern, self.errors, self.newlines, self.lower_case, self.specials, self.parts, self.stripped,
            self.characters, self.words_once,
        )  # fmt: skip


def count_words_work(texts: Sequence[bytes], specials: Sequence[str], recipe: Recipe) -> Work[Counter[str]]:
    """The words of texts in the order of their first occurrence, with how often they occur."""
    words = Counter[str]()
    for number, raw in enumerate(texts):
        for piece in _between(_read(raw, recipe), specials, recipe.specials):
            for part in _parts(piece, recipe):
                pieces = _split(_strip(part, "parts", recipe), recipe.pattern)
                while some := list(islice(pieces, _SOME)):
                    if recipe.lower_case == "words":
                        some = [word.lower() for word in some]
                    words.update(_strip(word, "words", recipe) for word in some)
                    yield Progress("counting words", number, len(texts))
    words.pop("", None)
    return Counter(dict.fromkeys(words, 1)) if recipe.words_once else words


def _read(raw: bytes, recipe: Recipe) -> str:
    """The text of a file."""
    raw = raw.lower() if recipe.lower_case == "bytes" else raw
    text = raw.decode("latin-1") if recipe.errors == "latin-1" else raw.decode("utf-8", recipe.errors)
    pattern, becomes = recipe.newlines
    text = re.sub(pattern, becomes, text) if pattern else text
    text = text.lower() if recipe.lower_case == "text" else text
    text = text.casefold() if recipe.lower_case == "casefold" else text
    if recipe.stripped.endswith("lines"):
        text = "\n".join(_strip(line, "lines", recipe) for line in text.split("\n"))
    return _strip(text, "text", recipe)


def _strip(text: str, what: str, recipe: Recipe) -> str:
    """A text without the white space that the recipe takes from `what` it is."""
    if recipe.stripped == what:
        return text.strip()
    if recipe.stripped == f"ends of {what}":
        return text.rstrip()
    return text.lstrip() if recipe.stripped == f"starts of {what}" else text


def _between(text: str, specials: Sequence[str], rule: Specials) -> list[str]:
    """The texts between special tokens."""
    if not specials or rule == "left":
        return [text]
    longest_first = sorted(specials, key=len, reverse=True)
    escaped, unescaped = "|".join(map(re.escape, longest_first)), "|".join(longest_first)
    pattern = unescaped if rule == "unescaped" and _is_plain(unescaped) else escaped
    if rule == "joined":
        return [re.sub(pattern, "", text)]
    return re.split(f"({pattern})" if rule == "kept" else pattern, text)


def _is_plain(expression: str) -> bool:
    """Whether special tokens are an expression that takes no longer than its text: one without repeats."""
    try:
        re.compile(expression)
    except (re.error, OverflowError, RecursionError):
        return False
    return not set("*+{") & set(expression)


def _parts(text: str, recipe: Recipe) -> list[str]:
    if recipe.parts == "lines":
        return text.split("\n")
    if recipe.parts == "lines with ends":
        return re.findall(r"[^\n]*\n|[^\n]+", text)
    if recipe.parts == "whole":
        return [text]
    return text.splitlines(keepends=recipe.parts == "python lines with ends")


def _split(text: str, pattern: str) -> Iterator[str]:
    if pattern in _SPLITS:
        yield from _SPLITS[pattern](text)
    elif pattern == "none" or pattern in REGEX:
        raw, start = text.encode("utf-8", "surrogateescape"), 0
        for ends in splitter(pattern).ends_work(np.frombuffer(raw, np.uint8), 0, len(raw)):
            for end in ends.tolist():
                yield raw[start:end].decode("utf-8", "surrogateescape")
                start = end
    elif pattern.startswith(_RE):
        for match in re.finditer(pattern.removeprefix(_RE), text):
            yield match.group()
    else:
        try:
            for match in compile_expression(pattern).finditer(text, timeout=_SECONDS + len(text) / _IN_A_SECOND):
                yield match.group()
        except TimeoutError:
            raise ConfigError("The pattern takes too long. Use a simpler one.") from None


Pair = tuple[int, int]
_Change = tuple[Pair, int, Sides]
_BOTH: Sides = "both"
# words between two reports of progress


class PairCounts:
    """Counts of pairs, with the pairs of the highest count at hand."""

    def __init__(self) -> None:
        self._counts: dict[Pair, int] = {}
        self._by_count: dict[int, dict[Pair, None]] = {}
        self._heap: list[int] = []
        self._serials: dict[Pair, int] = {}
        self._ever: dict[Pair, int] = {}
        self._next = 0

    def __getitem__(self, pair: Pair) -> int:
        return self._counts.get(pair, 0)

    def serial(self, pair: Pair) -> int:
        """The place of a pair in the order in which pairs were first counted, as a dictionary of Python keeps it."""
        return self._serials[pair]

    def ever(self, pair: Pair) -> int:
        """The same, for a dictionary from which nothing is deleted."""
        return self._ever[pair]

    def copy(self) -> PairCounts:
        """Counts that change by themselves."""
        copied = PairCounts()
        copied._counts, copied._serials, copied._next = dict(self._counts), dict(self._serials), self._next
        copied._by_count = {count: dict(pairs) for count, pairs in self._by_count.items()}
        copied._heap, copied._ever = list(self._heap), dict(self._ever)
        return copied

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
            self._ever.setdefault(pair, self._next)
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

    def __init__(self, words: list[list[int]], weights: list[int], tokens: list[bytes], counts: PairCounts) -> None:
        self.words, self.weights, self.tokens, self.counts = words, weights, tokens, counts
        self.order = list(range(len(words)))

    @classmethod
    def of_work(cls, words: Counter[str], *, characters: bool) -> Work[Words]:
        """Words of bytes or of characters."""
        ids_of_words: list[list[int]] = []
        ids: dict[str, int] = {}
        counts: dict[Pair, int] = {}
        for number, (word, weight) in enumerate(words.items()):
            if characters:
                parts = [ids.setdefault(character, len(ids)) for character in word]
            else:
                parts = list(word.encode("utf-8", "surrogateescape"))
            ids_of_words.append(parts)
            for pair in pairwise(parts):
                counts[pair] = counts.get(pair, 0) + weight
            if number % _SOME == 0:
                yield Progress("counting pairs", number, len(words))
        tokens = [character.encode("utf-8", "surrogateescape") for character in ids]
        pairs = PairCounts()
        for pair, count in counts.items():
            pairs.add(pair, count)
        return cls(
            ids_of_words, list(words.values()), tokens if characters else [bytes([b]) for b in range(256)], pairs
        )

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
        copied = Words(list(self.words), self.weights, list(self.tokens), self.counts.copy())
        copied.where = defaultdict(set, {pair: set(numbers) for pair, numbers in self.where.items()})
        return copied


class NaiveTrainer:
    """Trains by a recipe.

    Args:
        words: They are not changed: the trainer makes a copy for its first merge.
    """

    def __init__(self, words: Words, recipe: Recipe) -> None:
        self._words, self._recipe = words, recipe
        self.tokens = words.tokens  # the bytes of each
        self._own, self._moved = False, len(words.words)
        self._stale = words.counts.copy() if recipe.old_neighbours == "stale" else None

    def spell(self, pair: Pair) -> tuple[bytes, bytes]:
        """The bytes of both tokens of a pair."""
        tokens = self.tokens
        return tokens[pair[0]], tokens[pair[1]]

    def count(self, pair: tuple[bytes, bytes]) -> int:
        """The count of a pair, given by its bytes; 0 where there is no such pair."""
        ids = [[number for number, token in enumerate(self.tokens) if token == part] for part in pair]
        return max((self._words.counts[left, right] for left in ids[0] for right in ids[1]), default=0)

    def best(self, ties: Ties | None = None) -> tuple[Pair | None, int, int]:
        """The next pair, its count, and how many pairs have this count; None if nothing is left.

        Another rule for ties than the recipe's can be given: the counts do not depend on it.
        """
        count, tied = self._words.counts.highest() if self._stale is None else self._of_old_entries(self._stale)
        if not tied:
            return None, 0, 0
        choose, key = _RULES[ties or self._recipe.ties]
        return (choose(tied, key=partial(key, self)) if len(tied) > 1 else tied[0]), count, len(tied)

    def _of_old_entries(self, stale: PairCounts) -> tuple[int, list[Pair]]:
        """The pairs that a heap gives whose entries keep the highest counts they ever had."""
        count, tied = stale.highest()
        while tied and not any(self._words.counts[pair] for pair in tied):
            for pair in tied:
                stale.add(pair, -count)
            count, tied = stale.highest()
        return count, [pair for pair in tied if self._words.counts[pair]]

    def merges(self) -> Iterator[tuple[bytes, bytes]]:
        """All merges, until nothing is left."""
        while (pair := self.best()[0]) is not None:
            yield self.spell(pair)
            self.merge(pair)

    def merge(self, pair: Pair) -> None:
        """Joins a pair in all words."""
        if not self._own:
            self._words, self._own = self._words.copy(), True
            self.tokens = self._words.tokens
        words, recipe, made_of = self._words, self._recipe, b"".join(self.spell(pair))
        is_known = recipe.recounts == "same token" and made_of in words.tokens
        new = words.tokens.index(made_of) if is_known else len(words.tokens)
        if new == len(self.tokens):
            words.tokens.append(made_of)
        touched = set[Pair]()
        for number in sorted(words.where[pair], key=words.order.__getitem__):
            weight, word = words.weights[number], words.words[number]
            joined, changes = _joined(word, pair, new, first_only=recipe.first_place_only)
            if recipe.updates != "places":
                changes = _between_words(word, joined, only_changes=recipe.updates == "changes")
            words.words[number] = joined
            if recipe.moves:
                words.order[number] = self._moved = self._moved + 1
            for changed, times, side in changes:
                wrong = recipe.old_neighbours if times < 0 else recipe.new_neighbours
                if changed == pair or wrong not in (_BOTH, side):
                    words.counts.add(changed, weight * times)
            after = set(pairwise(joined))
            for changed in {changed for changed, _, _ in changes}:
                touched.add(changed)
                (words.where[changed].add if changed in after else words.where[changed].discard)(number)
        if not (recipe.first_place_only and recipe.recounts):
            words.counts.add(pair, -words.counts[pair])
        if self._stale is not None:
            for changed in sorted(touched):
                self._stale.add(changed, max(0, words.counts[changed] - self._stale[changed]))
            self._stale.add(pair, -self._stale[pair])

    def first_place(self, pair: Pair) -> tuple[int, int]:
        """The word in which a pair stands first, and its place there."""
        words = self._words
        if not words.where[pair]:
            return self._moved + 1, 0
        number = min(words.where[pair], key=words.order.__getitem__)
        return words.order[number], list(pairwise(words.words[number])).index(pair)

    @property
    def counts(self) -> PairCounts:
        """The counts of pairs at this moment."""
        return self._words.counts


def _joined(word: Sequence[int], pair: Pair, new: int, *, first_only: bool) -> tuple[list[int], list[_Change]]:
    """A word after a merge, and the changes of its pairs, place by place, with their sides of the new token."""
    ids: list[int] = []
    changes: list[_Change] = []
    at, joins = 0, True
    while at < len(word):
        if not joins or word[at] != pair[0] or at + 1 == len(word) or word[at + 1] != pair[1]:
            ids.append(word[at])
            at += 1
            continue
        changes.append((pair, -1, _BOTH))
        if ids:
            changes.extend((((ids[-1], pair[0]), -1, "left"), ((ids[-1], new), 1, "left")))
        if at + 2 < len(word):
            changes.extend((((pair[1], word[at + 2]), -1, "right"), ((new, word[at + 2]), 1, "right")))
        ids.append(new)
        at += 2
        joins = not first_only
    return ids, changes


def _between_words(word: Sequence[int], joined: Sequence[int], *, only_changes: bool) -> list[_Change]:
    """The changes from the pairs of one word to those of another: all pairs, or only those that are more or fewer."""
    before, after = Counter(pairwise(word)), Counter(pairwise(joined))
    less, more = (before - after, after - before) if only_changes else (before, after)
    changes: list[_Change] = []
    changes.extend((pair, -times, _BOTH) for pair, times in less.items())
    changes.extend((pair, times, _BOTH) for pair, times in more.items())
    return changes


def _mapped(trainer: NaiveTrainer, pair: Pair) -> tuple[str, str]:
    left, right = trainer.spell(pair)
    return to_characters(left), to_characters(right)


def _decoded(trainer: NaiveTrainer, pair: Pair) -> tuple[str, str]:
    left, right = trainer.spell(pair)
    return left.decode("utf-8", "replace"), right.decode("utf-8", "replace")


def _joined_bytes(trainer: NaiveTrainer, pair: Pair) -> tuple[bytes, tuple[bytes, bytes]]:
    return b"".join(trainer.spell(pair)), trainer.spell(pair)


def _joined_mapped(trainer: NaiveTrainer, pair: Pair) -> tuple[str, tuple[str, str]]:
    return "".join(_mapped(trainer, pair)), _mapped(trainer, pair)


def _in_gpt2_order(trainer: NaiveTrainer, pair: Pair) -> list[tuple[int, str]]:
    """The ids, where those of base bytes are in the order of the characters that GPT-2 shows them by."""
    return [(token, "") if token > 255 else (-1, to_characters(trainer.tokens[token])) for token in pair]


def _length(trainer: NaiveTrainer, pair: Pair) -> int:
    return sum(map(len, trainer.spell(pair)))


_Key = Callable[[NaiveTrainer, Pair], object]
_RULES: dict[Ties, tuple[Callable[..., Pair], _Key]] = {
    "bytes": (max, NaiveTrainer.spell),
    "smallest": (min, NaiveTrainer.spell),
    "smallest-mapped": (min, _mapped),
    "smallest-joined": (min, _joined_bytes),
    "smallest-joined-mapped": (min, _joined_mapped),
    "first-met": (min, NaiveTrainer.first_place),
    "first-counted": (min, lambda trainer, pair: trainer.counts.serial(pair)),
    "first-ever-counted": (min, lambda trainer, pair: trainer.counts.ever(pair)),
    "last-met": (max, NaiveTrainer.first_place),
    "last-counted": (max, lambda trainer, pair: trainer.counts.serial(pair)),
    "lowest-ids": (min, lambda _, pair: pair),
    "highest-ids": (max, lambda _, pair: pair),
    "lowest-gpt2-ids": (min, _in_gpt2_order),
    "highest-gpt2-ids": (max, _in_gpt2_order),
    "joined-bytes": (max, _joined_bytes),
    "mapped-strings": (max, _mapped),
    "joined-mapped-strings": (max, _joined_mapped),
    "longest": (max, lambda trainer, pair: (_length(trainer, pair), trainer.spell(pair))),
    "longest-joined": (max, lambda trainer, pair: (_length(trainer, pair), _joined_bytes(trainer, pair))),
    "longest-first-met": (min, lambda trainer, pair: (-_length(trainer, pair), trainer.first_place(pair))),
    "decoded": (max, lambda trainer, pair: (_decoded(trainer, pair), trainer.spell(pair))),
    "decoded-joined": (
        max,
        lambda trainer, pair: (b"".join(trainer.spell(pair)).decode("utf-8", "replace"), trainer.spell(pair)),
    ),
    "decoded-first-met": (
        max,
        lambda trainer, pair: (_decoded(trainer, pair), [-at for at in trainer.first_place(pair)]),
    ),
}
