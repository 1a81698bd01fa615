"""The glossary: the words of the window and of the guide, each explained once, for tool tips and for its page."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from tokstudio.core.guide.markdown import plain_text, slug
from tokstudio.resources import resource

_FILE = "guide/glossary.md"


@dataclass(frozen=True)
class Word:
    """A word; `key` is its name in links, and `meaning` its explanation in Markdown."""

    key: str
    title: str
    meaning: str

    @property
    def plain(self) -> str:
        """The explanation as plain text."""
        return plain_text(self.meaning)


@cache
def read_words() -> dict[str, Word]:
    """Reads the words, in the order of the alphabet, by their keys.

    Raises:
        TokStudioError: The file is missing.
    """
    text = resource(_FILE).read_text(encoding="utf-8")
    words: list[Word] = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, meaning = part.partition("\n")
        words.append(Word(slug(title), title.strip(), meaning.strip()))
    return {word.key: word for word in sorted(words, key=lambda word: word.title.lower())}


def glossary_text() -> str:
    """All words as Markdown."""
    return "\n\n".join(f"## {word.title}\n\n{word.meaning}" for word in read_words().values())
