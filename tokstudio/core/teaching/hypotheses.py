"""The mistakes that the checker knows: what each changes in a naive training, and what to look at in one's code."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from tokstudio.core.base.records import dataclass
from tokstudio.core.model.algorithms import TieBreak
from tokstudio.core.pretokenization.patterns import NAMES, REGEX
from tokstudio.core.teaching.naive import Recipe, Ties

_AT_SPACES = (
    r"[^ ]+", r" ?[^ ]+", r"\S+|\s+", r" ?\S+", r" +|[^ ]+", r"\s?\S+", r"\s*\S+", r"\S+\s*",
    "spaces before", "spaces between",
)  # fmt: skip
_WORD_CLASS = (
    r" ?\w+| ?[^\s\w]+|\s+(?!\S)|\s+", r" ?\w+|[^\s\w]+|\s+", r" ?\w+| ?[^\s\w]+|\s+", r"\w+|[^\w\s]+",
    r"\w+|[^\w\s]", r"\w+|\W", r"\w+|\W+", r"\w+|\s+|[^\w\s]+", r"\w+|\s+|[^\w\s]", r"\w+", r" ?\w+| ?[^\s\w]+",
    r"'(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+| ?\d+| ?[^\s\w]+|\s+(?!\S)|\s+",
)  # fmt: skip
_BY_RE = r"re '(?:[sdmt]|ll|ve|re)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+"
_AS_STR_SPLIT = ("str.split", r"\S+", r"\S+|\s", "str.split, spaces before", "str.split, spaces between")
_ASCII = {r"\p{L}": "[A-Za-z]", r"\p{N}": "[0-9]"}
#: How each rule of TokStudio is named by a naive trainer.
TIES: Mapping[TieBreak, Ties] = {
    "first": "first-met", "lowest-id": "lowest-ids", "huggingface": "lowest-gpt2-ids", "bytes": "bytes",
    "mapped-strings": "mapped-strings",
}  # fmt: skip

#: The first pair of a dictionary whose counts are changed: its order depends on how.
_IN_A_DICTIONARY: Mapping[str, tuple[Mapping[str, object], ...]] = {
    "first-met": tuple(
        {"ties": ties, "updates": updates, "moves": moves}
        for ties in ("first-met", "first-counted", "first-ever-counted")
        for updates in ("places", "changes", "words")
        for moves in (False, True)
    )
}


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A mistake."""

    key: str  # its name in results
    meaning: str  # what the code does, as a sentence
    advice: str  # what to look at, as a sentence
    variants: tuple[Mapping[str, object], ...] = ()  # fields of `Recipe`; one of them must give the whole list

    def recipes(self, recipe: Recipe) -> list[tuple[Mapping[str, object], Recipe]]:
        """What becomes of a recipe by each variant that changes it, with the fields that were changed."""
        recipes: list[tuple[Mapping[str, object], Recipe]] = []
        for variant in self.variants:
            changes = {name: value for name, value in variant.items() if value != getattr(recipe, name)}
            if changes:
                recipes.append((changes, replace(recipe, **changes)))  # pyright: ignore[reportArgumentType]
        return recipes


def hypotheses(recipe: Recipe, specials: int) -> list[Hypothesis]:
    """The mistakes that are possible with these settings and so many special tokens."""
    candidates = [*_ties(recipe), *_OF_MERGING, *_OF_TEXT, *_of_patterns(recipe)]
    return [*candidates, *_OF_SPECIALS] if specials else candidates


def _ties(recipe: Recipe) -> list[Hypothesis]:
    advice = "Look at the place where the best pair is chosen: what decides between pairs with the same count?"
    rules = (
        ("bytes", "Of several pairs with the highest count, the greatest by its bytes is taken.", ("bytes",)),
        ("smallest", "Of several pairs with the highest count, the smallest is taken.", 
         ("smallest", "smallest-mapped", "smallest-joined", "smallest-joined-mapped")),
        ("first-met", "Of several pairs with the highest count, the one that was met first is taken.",
         ("first-met",)),
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
        ("longest", "Of several pairs with the highest count, the longest is taken.", 
         ("longest", "longest-joined", "longest-first-met")),
        ("decoded", "Ties are decided by decoded text, where parts of characters all look alike.",
         ("decoded", "decoded-joined", "decoded-first-met")),
    )  # fmt: skip
    return [
        Hypothesis(
            f"ties-{key}", meaning, advice, tuple({"ties": tie} for tie in variants) + _IN_A_DICTIONARY.get(key, ())
        )
        for key, meaning, variants in rules
        if variants[0] != recipe.ties
    ]


_OF_MERGING = (
    Hypothesis(
        "old-neighbours",
        "After a merge, the pairs that it replaced keep their counts.",
        "Look at what is subtracted after a merge: the pairs of the left neighbour with the left token, and of the "
        "right token with the right neighbour, are gone.",
        (
            *({"old_neighbours": "both", "updates": updates} for updates in ("places", "changes", "words")),
            {"old_neighbours": "left"},
            {"old_neighbours": "right"},
            {"old_neighbours": "stale"},
        ),
    ),
    Hypothesis(
        "new-neighbours",
        "After a merge, the pairs with the new token are not counted.",
        "Look at what is added after a merge: the new token makes a pair with each of its neighbours.",
        (
            *({"new_neighbours": "both", "updates": updates} for updates in ("places", "changes", "words")),
            {"new_neighbours": "left"},
            {"new_neighbours": "right"},
        ),
    ),
    Hypothesis(
        "first-place-only",
        "A merge changes only the first place in each word.",
        "Look at the loop that joins the pair in a word: it must go on after the first place.",
        (
            {"first_place_only": True},
            {"first_place_only": True, "updates": "changes"},
            {"first_place_only": True, "updates": "words"},
            {"first_place_only": True, "recounts": "same token"},
            {"first_place_only": True, "recounts": "new token"},
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
)


_BY_LINE = "Look at how the text is read: give the whole text to the pattern, not line by line."
_OF_TEXT = (
    Hypothesis(
        "lower-case",
        "The text was lower-cased.",
        "Look for `lower()` or `casefold()` where the text is read.",
        ({"lower_case": "text"}, {"lower_case": "words"}, {"lower_case": "casefold"}, {"lower_case": "bytes"}),
    ),
    Hypothesis("lines", "The text was divided into _BY_LINE, and the ends of lines were lost.", _BY_LINE,
               ({"parts": "lines"}, {"parts": "python lines"})),
    Hypothesis("lines-with-ends", "The text was divided into _BY_LINE, so that no word spans two lines.", _BY_LINE,
               ({"parts": "lines with ends"}, {"parts": "python lines with ends"})),
    Hypothesis(
        "strip",
        "White space at the ends of texts, lines or words was removed.",
        "Look for `strip()`: white space is a part of the text.",
        (
            {"stripped": "text"}, {"stripped": "parts"}, {"stripped": "words"}, {"stripped": "lines"},
            {"stripped": "starts of words"}, {"stripped": "ends of lines"},
            {"stripped": "lines", "parts": "lines"}, {"stripped": "ends of lines", "parts": "lines"},
            {"stripped": "parts", "parts": "lines"}, {"stripped": "parts", "parts": "python lines"},
            {"stripped": "ends of parts", "parts": "lines"}, {"stripped": "ends of parts", "parts": "python lines"},
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
        "Some bytes were changed when the text was decoded: replaced, dropped, or read as Latin-1.",
        'Look for `errors="replace"`, `errors="ignore"` or `encoding="latin-1"` where the text is decoded.',
        ({"errors": "replace"}, {"errors": "ignore"}, {"errors": "latin-1"}),
    ),
)  # fmt: skip


def _of_patterns(recipe: Recipe) -> list[Hypothesis]:
    advice = "Look at the regular expression that divides the text into words."
    own = REGEX["gpt2"] if recipe.pattern == "gpt2" else REGEX.get(recipe.pattern, recipe.pattern)
    letters = _in_ranges(own, r"\p{L}", "A-Za-z")
    outside = re.sub(r"\[[^\]]*\]|\\p\{[LN]\}", lambda found: _ASCII.get(found[0], found[0]), own)
    words = own.replace(r"\p{L}", r"\w").replace(r"\p{N}", r"\d")
    ascii_only = tuple(dict.fromkeys((
        _in_ranges(letters, r"\p{N}", "0-9"), letters, outside, outside.replace(r"[^\s\p{L}\p{N}]", r"[^\s\w]"),
    )))  # fmt: skip
    without_ahead = own.replace(r"|\s++$", "").replace(r"|\s+(?!\S)", "")
    without_ahead = without_ahead + "+" if without_ahead.endswith(r"|\s") else without_ahead
    joined = dict.fromkeys((words, words.replace(r" ?\d++|", ""), *_WORD_CLASS))
    # Nothing stops `re`, so it gets no expression of a person.
    for_re = [each for each in (joined if own in REGEX.values() else _WORD_CLASS) if each != own]
    word_class = (*joined, _BY_RE, *(f"re {each}" for each in for_re if _is_known_to_re(each)))
    patterns = [
        Hypothesis(
            "ascii-letters",
            "Only A-Z, a-z and 0-9 count as letters and digits.",
            r"Look at the pattern: \p{L} and \p{N} (of the package `regex`) are the letters and digits of all scripts.",
            tuple({"pattern": pattern} for pattern in ascii_only),
        ),
        Hypothesis(
            "word-class",
            r"The pattern has \w for letters and digits, which may join both, and the underscore.",
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
            "The text was divided at white space, which is in no token or became spaces, as by `str.split`.",
            advice,
            tuple({"pattern": pattern} for pattern in _AS_STR_SPLIT),
        ),
    ]  # fmt: skip
    for name in NAMES:
        if name not in (recipe.pattern, "cl100k"):
            meaning = f"The pattern is {name}, not {recipe.pattern}." if name != "none" else "The text was not divided."
            patterns.append(Hypothesis(f"pattern-{name}", meaning, advice, ({"pattern": name},)))
    if recipe.pattern != "cl100k":
        patterns.append(Hypothesis("pattern-gpt4", "The pattern is that of GPT-4.", advice, ({"pattern": "cl100k"},)))
    return [each for each in patterns if each.variants]


def _is_known_to_re(pattern: str) -> bool:
    """Whether an expression for the package `regex` is one for Python's own `re` too."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _in_ranges(pattern: str, name: str, ranges: str) -> str:
    """A pattern with ranges of characters for a class, which stands by itself or among others in brackets."""
    return re.sub(r"\[[^\]]*\]", lambda found: found[0].replace(name, ranges), pattern).replace(name, f"[{ranges}]")


_OF_SPECIALS = (
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
)
