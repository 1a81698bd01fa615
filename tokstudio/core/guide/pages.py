"""The pages of the guide: read, with the figures of Compare, searched, and written as one file, `docs/guide.html`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from functools import cached_property

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.resources import resource, sample_text
from tokstudio.core.comparison.figures import FIGURES, Figure
from tokstudio.core.guide.glossary import glossary_text, plain_text, slug, to_html

# --- The figures of Compare as text, made from what computes them, so that the guide and the window agree -------------

#: What each figure says, by its name.
_SAYS = {
    "bytes_per_token": "How long a token is on average: how well a tokenizer compresses a text.",
    "tokens": "How many tokens the text becomes, which is what a model is paid for.",
    "characters_per_token": "How many letters, digits and signs a token has on average.",
    "tokens_per_line": "How many tokens a line takes: for parallel texts, what the same content costs.",
    "fertility": "Into how many tokens a word is cut on average. At 1, no word is cut.",
    "words_split": "How many of the words in the text are cut into several tokens.",
    "whole_words": "How many of the different words are one token. A word that occurs often counts once.",
    "premium": "How many times more tokens a text takes than the same content in another language.",
    "renyi": "Whether all tokens that occur are about equally frequent, where 1 means that they are. "
    "Frequent tokens weigh more than rare ones.",
    "renyi_whole": "Like Renyi efficiency, but tokens of the vocabulary that do not occur lower it.",
    "shannon": "How hard it is to guess a token of the text if only the frequencies of tokens are known.",
    "vocabulary_used": "How much of the vocabulary this text needs.",
    "not_utf8": "How often a token is not text by itself, as it cuts a character.",
    "begins_inside": "How often a token begins between two bytes of one character.",
    "normalised_length": "How many tokens the text takes for each token of a tokenizer that you choose.",
    "characters_cut": "How many of the characters with several bytes are cut into several tokens.",
    "crosses_characters": "How often a token joins a part of one character with bytes of its neighbour.",
    "number_boundaries": "Whether numbers are split as with thousands separators, by which models calculate better: "
    "1234567 into 1, 234 and 567.",
    "number_splits": "How hard it is to guess where a number is split if only its length is known.",
    "upper_case": "How many more tokens the text takes in upper case.",
    "lower_case": "How many more tokens the text takes in lower case.",
    "title_case": "How many more tokens the text takes if every word begins with a capital letter.",
    "no_diacritics": "How many more tokens the text takes if letters are written without accents.",
    "doubled_spaces": "How many more tokens the text takes if each space is typed twice.",
    "no_spaces_at_marks": "How many more tokens the text takes if no space is beside punctuation.",
    "styled_letters": "How many more tokens the text takes in letters that only look bold, as in names on the web.",
    "typing_errors": "How many more tokens the text takes if it is typed in haste.",
}
#: The figures whose note warns of a wrong conclusion; others say how they are computed.
_TRAPS = {
    *("bytes_per_token", "tokens_per_line", "fertility", "premium", "renyi", "renyi_whole", "shannon"),
    *("vocabulary_used", "whole_words", "number_splits"),
}


def figures_text() -> str:
    """A section for each figure, as Markdown: its words, formula, unit, better values, note or trap, and source."""
    return "\n\n".join(map(_section_of_figure, FIGURES.values()))


def _section_of_figure(figure: Figure) -> str:
    lines = [f"## {figure.title}", _SAYS[figure.name], f"Formula: `{figure.formula}`"]
    better = figure.said_better or "Neither more nor less is better."
    lines.append(f"Unit: {figure.unit}. {better}" if figure.unit else better)
    lines += [f"*{'Trap' if figure.name in _TRAPS else 'Note'}:* {figure.note}"] if figure.note else []
    lines += [f"Source: {figure.source}."] if figure.source else []
    return "\n\n".join(lines)


# --- Pages ------------------------------------------------------------------------------------------------------------
# The pages of the guide, in their order: files of Markdown, and those made from the glossary and from the figures.

FOLDER = "guide"
_AROUND = 60  # characters before and after a word that was found
_ARTICLE = "article"  # the sample, and the page with its text
_LONGEST_TITLE = 60  # characters


def article_text() -> str:
    """The sample article as Markdown, without its title: short lines without a full stop are titles or examples."""
    _, *lines = sample_text(_ARTICLE).split("\n")
    return "\n".join(map(_article_line, lines)).strip()


def _article_line(line: str) -> str:
    if not line or len(line) > _LONGEST_TITLE or line.endswith((".", ":", "?")):
        return line
    return f"## {line}" if line[0].isupper() else f"```\n{line}\n```"


#: The pages that are made, each at the end of the page of that name.
_MADE = {_ARTICLE: article_text, "figures": figures_text, "glossary": glossary_text}


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
        if make_page := _MADE.get(name):
            text = f"{text}\n\n{make_page()}".strip()
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
    results = [page for page in pages if all(word in page.words.lower() for word in wanted)]
    results.sort(key=lambda page: not any(word in page.title.lower() for word in wanted))
    return [Found(page, _title_above(page, wanted[0]), _around(page, query.strip(), wanted[0])) for page in results]


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


# --- The whole guide as one page of HTML, without scripts and network, for reading and searching in a browser ---------

_ADDRESSES = ("https:",)
# Nothing is loaded from elsewhere, also if a page asked for it.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --text: #1B1F24; --muted: #5D6772; --page: #FFFFFF; --soft: #E8EFFD; --code: #F0F2F5;
  --accent: #2563EB; --border: #DCE0E5 }
@media (prefers-color-scheme: dark) { :root { --text: #E6EAEE; --muted: #9AA4AF; --page: #1D2126; --soft: #243349;
  --code: #252A31; --accent: #6CA4FF; --border: #2E343B } }
body { font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 44em;
  margin: 2em auto; padding: 0 1em }
section { border-top: 1px solid var(--border); margin-top: 2.5em }
a { color: var(--accent) }
code, pre { background: var(--code); padding: 0 .2em }
pre { padding: .6em; overflow-x: auto }
table.try { background: var(--soft); border-radius: 6px; padding: 0 .8em }
th { text-align: left; color: var(--muted) }
img { max-width: min(100%, 30em); border: 1px solid var(--border); border-radius: 6px }
"""


def one_file(pages: Sequence[Page]) -> str:
    """Gives the HTML: a list of contents, then all pages; links that act on the window are text.

    Raises:
        TokStudioError: A picture is missing.
    """
    contents = "".join(f'<li><a href="#{page.name}">{html.escape(page.title)}</a></li>' for page in pages)
    parts = [_section(page) for page in pages]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>The guide of TokStudio</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>The guide of TokStudio</h1>\n<p>Bold words name what to press in the window.</p>\n"
        f"<nav><ol>{contents}</ol></nav>\n" + "\n".join(parts) + "\n</body>\n</html>\n"
    )


def _section(page: Page) -> str:
    # Titles of different pages can be the same, so each is named after its page as well.
    body = to_html(page.text, _link, _picture).replace('<a name="', f'<a id="{page.name}-')
    return f'<section id="{page.name}">\n{body}\n</section>'


def _link(target: str, words: str) -> str:
    kind, _, what = html.escape(target).partition(":")
    if kind == "page":
        return f'<a href="#{what.replace("#", "-")}">{words}</a>'
    if kind == "glossary":
        return f'<a href="#glossary-{what}">{words}</a>'
    if target.startswith(_ADDRESSES):
        return f'<a href="{html.escape(target)}" rel="noreferrer">{words}</a>'
    return f"<b>{words}</b>"


def _picture(file: str, description: str) -> str:
    light, dark = (_data(name) for name in (file, file.replace(".png", "-dark.png")))
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{description}"></picture>'
    )


def _data(name: str) -> str:
    try:
        held = resource(f"{FOLDER}/pictures/{name}").read_bytes()
    except OSError as error:
        raise TokStudioError(f"Could not read the picture {name} of the guide.") from error
    return f"data:image/png;base64,{base64.b64encode(held).decode('ascii')}"
