"""What a naive trainer does, mistakes included, and the first half of it: a text becomes words with their counts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.pretokenization.custom_regex import compile_expression
from tokstudio.core.pretokenization.patterns import REGEX, splitter

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
    r"""How a naive trainer works. The defaults make no mistake.

    Attributes:
        pattern: A name of `patterns.NAMES` or `_SPLITS`, or a regular expression; with "re " before it, for `re`.
        errors: What becomes of bytes that are not UTF-8: kept ("surrogateescape"), or as `bytes.decode` has it; or
            "latin-1", where every byte is read as a character.
        newlines: The ends of lines that are changed, as a regular expression, and what they become; "" for none.
        parts: What the pattern is applied to: texts between special tokens, or their lines.
        stripped: What loses white space at both ends.
        words_once: Whether each distinct word counts once.
        lower_case: What is in lower case: the text or its words; or the text by `str.casefold` or `bytes.lower`.
        old_neighbours: Where the pairs that a merge has replaced keep their counts.
        new_neighbours: Where the pairs that a merge has made are not counted.
        first_place_only: Whether a merge changes only the first place in a word.
        recounts: What the same merge makes when it follows, as the pairs that were left over are counted again.
        moves: Whether a changed word becomes the last one, as in a dictionary from which the old one is deleted.
        updates: How the counts of pairs are changed after a merge.
    """

    pattern: str = "gpt2"
    errors: str = "surrogateescape"
    newlines: tuple[str, str] = ("", "")
    lower_case: Literal["", "text", "words", "casefold", "bytes"] = ""
    specials: Specials = "cut"
    parts: Parts = "whole"
    stripped: Stripped = ""
    characters: bool = False
    words_once: bool = False
    ties: Ties = "bytes"
    old_neighbours: Sides = ""
    new_neighbours: Sides = ""
    first_place_only: bool = False
    recounts: Literal["", "same token", "new token"] = ""
    moves: bool = False
    updates: Updates = "places"

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
                found = _split(_strip(part, "parts", recipe), recipe.pattern)
                while some := list(islice(found, _SOME)):
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
        for found in re.finditer(pattern.removeprefix(_RE), text):
            yield found.group()
    else:
        try:
            for found in compile_expression(pattern).finditer(text, timeout=_SECONDS + len(text) / _IN_A_SECOND):
                yield found.group()
        except TimeoutError:
            raise ConfigError("The pattern takes too long. Use a simpler one.") from None
