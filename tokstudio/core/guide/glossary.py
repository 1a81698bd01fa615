"""The glossary of the guide, and the Markdown of its pages as HTML."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.resources import resource

# --- Markdown as HTML: the part of Markdown that the pages of the guide use -------------------------------------------
# Headings, paragraphs, lists, tables, code, quotations, pictures on a line of their own; strong and emphasised words,
# code and links within a line. HTML is text like any other.


#: Makes the HTML of a link, from its target and its words as HTML; or of a picture, from its file and its description.
MakeLink: TypeAlias = Callable[[str, str], str]

_HEADING = re.compile(r"(#{1,3}) (.*)")
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
_ITEM = re.compile(r"(?:[-*]|\d+\.) ")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`]+)`")
_STRONG = re.compile(r"\*\*(.+?)\*\*")
_EMPHASIS = re.compile(r"\*(.+?)\*")
_RULE = re.compile(r"\|[\s:|-]+\|")


def to_html(text: str, link: MakeLink, picture: MakeLink) -> str:
    """Gives the HTML of a page, without a head."""
    blocks = re.split(r"\n\s*\n", text.strip())
    return "\n".join(_block(block.strip("\n"), link, picture) for block in blocks if block.strip())


def slug(title: str) -> str:
    """The name of a title in a link: lower case, with a hyphen for everything between letters and digits."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def plain_text(text: str) -> str:
    """The words of a page without marks, on one line: for searching."""
    kept = (line for line in text.splitlines() if not _RULE.fullmatch(line.strip()) and not _PICTURE.match(line))
    words = " ".join(re.sub(r"^(#{1,3}|>|[-*]|\d+\.) ", "", line) for line in kept)
    words = _LINK.sub(r"\1", words).replace("**", "").replace("`", "")
    return re.sub(r"\s+", " ", _EMPHASIS.sub(r"\1", words).replace("|", " ")).strip()


def _block(block: str, link: MakeLink, picture: MakeLink) -> str:
    lines = block.split("\n")
    if len(lines) > 1 and _HEADING.fullmatch(lines[0]):
        return f"{_block(lines[0], link, picture)}\n{_block(block.partition(chr(10))[2], link, picture)}"
    if heading := _HEADING.fullmatch(block):
        level, words = len(heading[1]), heading[2]
        return f'<h{level}><a name="{slug(words)}"></a>{_inline(words, link)}</h{level}>'
    if heading := _PICTURE.fullmatch(block):
        return f'<p class="picture">{picture(heading[2], html.escape(heading[1]))}</p>'
    if block.startswith("```"):
        return f"<pre>{html.escape(chr(10).join(lines[1:-1]))}</pre>"
    if block.startswith("> "):
        quoted = "\n".join(line.removeprefix(">").removeprefix(" ") for line in lines)
        return f'<table class="try" width="100%"><tr><td>{to_html(quoted, link, picture)}</td></tr></table>'
    if block.startswith("|"):
        return _table(lines, link)
    if _ITEM.match(block):
        tag = "ol" if block[0].isdigit() else "ul"
        items = re.split(r"\n(?=(?:[-*]|\d+\.) )", block)
        items_html = "".join(f"<li>{_inline(_ITEM.sub('', item, count=1), link)}</li>" for item in items)
        return f"<{tag}>{items_html}</{tag}>"
    return f"<p>{_inline(block, link)}</p>"


def _table(lines: list[str], link: MakeLink) -> str:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    head = "".join(f"<th>{_inline(cell, link)}</th>" for cell in rows[0])
    body = "".join(f"<tr>{''.join(f'<td>{_inline(cell, link)}</td>' for cell in row)}</tr>" for row in rows[2:])
    return f'<table class="grid"><tr>{head}</tr>{body}</table>'


def _code(text: str) -> str:
    """Code as HTML, which would lose a space at either end; such a space is underlined, to be seen."""
    inner = text.strip(" ")
    before = len(text) - len(text.lstrip(" ")) if inner else 0
    space = "<u>&nbsp;</u>"
    return space * before + html.escape(inner) + space * (len(text) - before - len(inner))


def _inline(text: str, link: MakeLink) -> str:
    # Code and links are set aside while the marks around words are read.
    kept: list[str] = []

    def keep(html: str) -> str:
        kept.append(html)
        return f"\x00{len(kept) - 1}\x00"

    text = _CODE.sub(lambda found: keep(f"<code>{_code(found[1])}</code>"), text.replace("\x00", ""))
    text = html.escape(text, quote=False)
    text = _LINK.sub(lambda found: keep(link(html.unescape(found[2]), found[1])), text)
    text = _EMPHASIS.sub(r"<i>\1</i>", _STRONG.sub(r"<b>\1</b>", text))
    while "\x00" in text:  # code can stand in a link
        text = re.sub("\x00(\\d+)\x00", lambda found: kept[int(found[1])], text)
    return text.replace("\n", " ")


# --- The glossary: the words of the window and of the guide, each explained once, for tool tips and for its page ------

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
