"""The mistakes that the checker knows: what each changes in a naive training, and what to look at in one's code."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tokstudio.core.exercises.naive import Recipe, Ties
from tokstudio.core.model.config import TieBreak
from tokstudio.core.pretokenization.patterns import NAMES, REGEX

_AT_SPACES = (r"[^ ]+", r" ?[^ ]+", r"\S+|\s+", r" ?\S+", r" +|[^ ]+", r"\s?\S+")
#: How each rule of TokStudio is named by a naive trainer.
TIES: Mapping[TieBreak, Ties] = {
    "first": "first-met", "lowest-id": "lowest-ids", "huggingface": "lowest-gpt2-ids", "bytes": "bytes",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A mistake.

    Attributes:
        key: Its name in results.
        meaning: What the code does, as a sentence.
        advice: What to look at, as a sentence.
        variants: Fields of `Recipe`; one of them must give the whole list.
    """

    key: str
    meaning: str
    advice: str
    variants: tuple[Mapping[str, object], ...]

    def recipes(self, recipe: Recipe) -> list[tuple[frozenset[str], Recipe]]:
        """What becomes of a recipe by each variant that changes it, with the fields that were changed."""
        made = [(frozenset(variant), replace(recipe, **variant)) for variant in self.variants]  # pyright: ignore[reportArgumentType]
        return [(fields, changed) for fields, changed in made if changed != recipe]


def hypotheses(recipe: Recipe, specials: int) -> list[Hypothesis]:
    """The mistakes that are possible with these settings and so many special tokens."""
    found = [*_ties(recipe), *_of_merging(), *_of_text(), *_of_patterns(recipe)]
    return [*found, *_of_specials()] if specials else found


def _ties(recipe: Recipe) -> list[Hypothesis]:
    advice = "Look at the place where the best pair is chosen: what decides between pairs with the same count?"
    rules = (
        ("bytes", "Of several pairs with the highest count, the greatest by its bytes is taken.", ("bytes",)),
        ("smallest", "Of several pairs with the highest count, the smallest is taken.", ("smallest",)),
        ("first-met", "Of several pairs with the highest count, the one that was met first is taken.",
         ("first-met", "first-counted")),
        ("last-met", "Of several pairs with the highest count, the one that was met last is taken.",
         ("last-met", "last-counted")),
        ("lowest-ids", "Of several pairs with the highest count, the one with the lowest ids is taken.",
         ("lowest-ids", "lowest-gpt2-ids")),
        ("highest-ids", "Of several pairs with the highest count, the one with the highest ids is taken.",
         ("highest-ids", "highest-gpt2-ids")),
        ("joined-bytes", "Ties are decided by the joined bytes of both tokens, not by the left and then the right one.",
         ("joined-bytes",)),
        ("mapped-strings", "Ties are decided by strings of GPT-2's alphabet, not by the bytes they stand for.",
         ("mapped-strings", "joined-mapped-strings")),
        ("longest", "Of several pairs with the highest count, the longest is taken.", ("longest", "longest-first-met")),
        ("decoded", "Ties are decided by decoded text, where parts of characters all look alike.",
         ("decoded", "decoded-first-met")),
    )  # fmt: skip
    return [
        Hypothesis(f"ties-{key}", meaning, advice, tuple({"ties": tie} for tie in variants))
        for key, meaning, variants in rules
        if variants[0] != recipe.ties
    ]


def _of_merging() -> list[Hypothesis]:
    return [
        Hypothesis(
            "old-neighbours",
            "After a merge, the pairs that it replaced keep their counts.",
            "Look at what is subtracted after a merge: the pairs of the left neighbour with the left token, and of the "
            "right token with the right neighbour, are gone.",
            ({"old_neighbours": True}, {"old_neighbours": True, "by_word": True}),
        ),
        Hypothesis(
            "new-neighbours",
            "After a merge, the pairs with the new token are not counted.",
            "Look at what is added after a merge: the new token makes a pair with each of its neighbours.",
            ({"new_neighbours": True}, {"new_neighbours": True, "by_word": True}),
        ),
        Hypothesis(
            "first-place-only",
            "A merge changes only the first place in each word.",
            "Look at the loop that joins the pair in a word: it must go on after the first place.",
            (
                {"first_place_only": True},
                {"first_place_only": True, "by_word": True},
                {"first_place_only": True, "recounts": True},
            ),
        ),
        Hypothesis(
            "words-once",
            "Each distinct word counts once, however often it occurs.",
            "Look at the place where pairs are counted: a pair counts as often as its word occurs.",
            ({"words_once": True},),
        ),
        Hypothesis(
            "characters",
            "The base tokens are characters, not bytes.",
            "Look at what a word is divided into: the bytes of `word.encode()`. A character may have several.",
            ({"characters": True},),
        ),
    ]


def _of_text() -> list[Hypothesis]:
    lines = "Look at how the text is read: give the whole text to the pattern, not line by line."
    return [
        Hypothesis(
            "lower-case",
            "The text was lower-cased.",
            "Look for `lower()` or `casefold()` where the text is read.",
            ({"lower_case": True},),
        ),
        Hypothesis("lines", "The text was divided into lines, and the ends of lines were lost.", lines,
                   ({"parts": "lines"}, {"parts": "python lines"})),
        Hypothesis("lines-with-ends", "The text was divided into lines, so that no word spans two lines.", lines,
                   ({"parts": "lines with ends"}, {"parts": "python lines with ends"})),
        Hypothesis(
            "strip",
            "White space at the ends of texts, lines or words was removed.",
            "Look for `strip()`: white space is a part of the text.",
            (
                {"stripped": "text"}, {"stripped": "parts"}, {"stripped": "words"}, {"stripped": "lines"},
                {"stripped": "lines", "parts": "lines"},
                {"stripped": "parts", "parts": "lines"}, {"stripped": "parts", "parts": "python lines"},
            ),
        ),
        Hypothesis(
            "crlf",
            r"The ends of lines were changed: \r\n became \n, or the other way round.",
            'Look at how the file is opened: `open(path, newline="")` or bytes keep the ends of lines as they are.',
            ({"newlines": ("\r\n?", "\n")}, {"newlines": ("\r\n", "\n")}, {"newlines": ("(?<!\r)\n", "\r\n")}),
        ),
        Hypothesis(
            "replacement",
            "Bytes that are not UTF-8 were replaced or dropped.",
            'Look for `errors="replace"` or `errors="ignore"` where the text is decoded.',
            ({"errors": "replace"}, {"errors": "ignore"}),
        ),
    ]  # fmt: skip


def _of_patterns(recipe: Recipe) -> list[Hypothesis]:
    advice = "Look at the regular expression that divides the text into words."
    own = REGEX["gpt2"] if recipe.pattern == "gpt2" else REGEX.get(recipe.pattern, recipe.pattern)
    letters = _in_ranges(own, r"\p{L}", "A-Za-z")
    ascii_only = (_in_ranges(letters, r"\p{N}", "0-9"), letters)
    without_ahead = own.replace(r"|\s++$", "").replace(r"|\s+(?!\S)", "")
    without_ahead = without_ahead + "+" if without_ahead.endswith(r"|\s") else without_ahead
    word_class = (r" ?\w+| ?[^\s\w]+|\s+(?!\S)|\s+", r"\w+|[^\w\s]+", r"\w+|\s+|[^\w\s]+", r"\w+", r" ?\w+| ?[^\s\w]+")
    made = [
        Hypothesis(
            "ascii-letters",
            "Only A-Z, a-z and 0-9 count as letters and digits.",
            r"Look at the pattern: \p{L} and \p{N} (of the package `regex`) are the letters and digits of all scripts.",
            tuple({"pattern": pattern} for pattern in ascii_only),
        ),
        Hypothesis(
            "word-class",
            r"\w takes the place of letters and digits: it joins both, and the underscore.",
            r"Look at the pattern: \p{L} and \p{N} (of the package `regex`) keep letters and digits apart.",
            tuple({"pattern": pattern} for pattern in word_class),
        ),
        Hypothesis(
            "no-look-ahead",
            r"The pattern has no \s+(?!\S): the last space before a word stays with the white space before it.",
            advice,
            ({"pattern": without_ahead},) if without_ahead != own else (),
        ),
        Hypothesis(
            "split-spaces",
            "The text was divided at white space.",
            advice,
            tuple({"pattern": pattern} for pattern in _AT_SPACES),
        ),
        Hypothesis(
            "str-split",
            "The text was divided by `str.split`, so that no token has white space.",
            advice,
            ({"pattern": "str.split"}, {"pattern": r"\S+"}),
        ),
    ]  # fmt: skip
    for name in NAMES:
        if name not in (recipe.pattern, "cl100k"):
            meaning = f"The pattern is {name}, not {recipe.pattern}." if name != "none" else "The text was not divided."
            made.append(Hypothesis(f"pattern-{name}", meaning, advice, ({"pattern": name},)))
    if recipe.pattern != "cl100k":
        made.append(Hypothesis("pattern-gpt4", "The pattern is that of GPT-4.", advice, ({"pattern": "cl100k"},)))
    return [each for each in made if each.variants]


def _in_ranges(pattern: str, name: str, ranges: str) -> str:
    """A pattern with ranges of characters for a class, which stands by itself or among others in brackets."""
    return re.sub(r"\[[^\]]*\]", lambda found: found[0].replace(name, ranges), pattern).replace(name, f"[{ranges}]")


def _of_specials() -> list[Hypothesis]:
    return [
        Hypothesis(
            "specials-left",
            "Special tokens were not cut out of the text.",
            "Look at the place before the pattern is applied: the text must be divided at the special tokens first.",
            ({"specials": "left"},),
        ),
        Hypothesis(
            "endoftext-pieces",
            "The text was divided at special tokens, but these were trained on as well.",
            "Look at the division at special tokens: a group in brackets makes `re.split` keep them.",
            ({"specials": "kept"},),
        ),
        Hypothesis(
            "specials-joined",
            "Special tokens were removed, and the texts on both sides were joined.",
            "Look at the place where special tokens are removed: no word may span two documents.",
            ({"specials": "joined"},),
        ),
        Hypothesis(
            "specials-unescaped",
            "Special tokens were not escaped: | in them means “or”, and their pieces divided the text.",
            "Look at the expression that divides the text at special tokens: use `re.escape`.",
            ({"specials": "unescaped"},),
        ),
    ]
