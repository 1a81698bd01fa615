"""The pages of the guide, in their order: files of Markdown, and those made from the glossary and from the figures."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.resources import resource
from tokstudio.core.guide.figures import figures_text
from tokstudio.core.guide.glossary import glossary_text
from tokstudio.core.guide.markdown import plain_text, slug

FOLDER = "guide"
_AROUND = 60  # characters before and after a word that was found
#: The pages that are made, each at the end of the page of that name.
_MADE = {"figures": figures_text, "glossary": glossary_text}


@dataclass(frozen=True)
class Page:
    """A page: `name` stands in links to it, `text` is its Markdown."""

    name: str
    title: str
    text: str

    @cached_property
    def words(self) -> str:
        """Its text without marks."""
        return plain_text(self.text)


@dataclass(frozen=True)
class Found:
    """A page with the words searched for, the title above the first of them, as in a link, and the text around it."""

    page: Page
    title: str
    around: str


def read_pages() -> tuple[Page, ...]:
    """Reads all pages in the order of the numbers in their names; an empty one is left out.

    Raises:
        TokStudioError: There is none, or a file cannot be read.
    """
    folder = resource(FOLDER)
    pages: list[Page] = []
    for file in sorted(folder.glob("[0-9][0-9]-*.md")):
        name = file.stem[3:]
        try:
            text = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise TokStudioError(f"Could not read {file.name} of the guide. Install TokStudio again.") from error
        if made := _MADE.get(name):
            text = f"{text}\n\n{made()}".strip()
        if text:
            head = text.split("\n", 1)[0]
            pages.append(Page(name, head.removeprefix("# ") if head.startswith("# ") else name, text))
    if not pages:
        raise TokStudioError("The guide has no pages. Install TokStudio again.")
    return tuple(pages)


def search(pages: Sequence[Page], query: str) -> list[Found]:
    """Finds the pages that have every word of a query, in any case; those with one in the title come first."""
    wanted = query.lower().split()
    if not wanted:
        return []
    found = [page for page in pages if all(word in page.words.lower() for word in wanted)]
    found.sort(key=lambda page: not any(word in page.title.lower() for word in wanted))
    return [Found(page, _title_above(page, wanted[0]), _around(page, query.strip(), wanted[0])) for page in found]


def _title_above(page: Page, word: str) -> str:
    title = ""
    for line in page.text.split("\n"):
        if line.startswith(("## ", "### ")):
            title = slug(line.lstrip("# "))
        if word in plain_text(line).lower():
            return title
    return ""


def _around(page: Page, phrase: str, word: str) -> str:
    text = page.words.removeprefix(page.title).strip()
    place = re.search(re.escape(phrase), text, re.IGNORECASE) or re.search(re.escape(word), text, re.IGNORECASE)
    at = place.start() if place else 0
    first, last = max(0, at - _AROUND), at + _AROUND
    # Whole words only.
    first = text.find(" ", first) + 1 if first else 0
    last = text.rfind(" ", at, last) if last < len(text) else len(text)
    return f"{'… ' if first else ''}{text[first : max(last, at)]}{' …' if last < len(text) else ''}"
