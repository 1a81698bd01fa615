"""The glossary: the words of the window and of the guide, each explained once, for tool tips and for its page."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.resources import resource
from tokstudio.core.guide.markdown import plain_text, slug

_FILE = "guide/glossary.md"


@dataclass(frozen=True)
class Word:
    """A word; `key` is its name in links, and `meaning` its explanation in Markdown."""

    key: str
    title: str
    meaning: str

    @property
    def plain(self) -> str:
        """The explanation as plain text, without the link to a page."""
        return plain_text(re.sub(r"\[More\]\([^)]*\)", "", self.meaning))


@cache
def read_words() -> dict[str, Word]:
    """Reads the words, in the order of the alphabet, by their keys; none if the file is missing."""
    try:
        text = resource(_FILE).read_text(encoding="utf-8")
    except (TokStudioError, OSError, UnicodeDecodeError):
        return {}
    words: list[Word] = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, meaning = part.partition("\n")
        words.append(Word(slug(title), title.strip(), meaning.strip()))
    return {word.key: word for word in sorted(words, key=lambda word: word.title.lower())}


def meaning(key: str) -> str:
    """The explanation of a word as plain text; "" for an unknown one."""
    word = read_words().get(key)
    return word.plain if word is not None else ""


def explained(tip: str, key: str) -> str:
    """A tool tip, and below it the explanation of a word, a sentence on a line."""
    return "\n".join(filter(None, (tip, meaning(key).replace(". ", ".\n"))))


def glossary_text() -> str:
    """All words as Markdown."""
    return "\n\n".join(f"## {word.title}\n\n{word.meaning}" for word in read_words().values())
