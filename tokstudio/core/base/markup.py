"""HTML of which every text is escaped, because names, tokens and texts are from strangers; views in notebooks."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from tokstudio.core.base.wording import printable

# What XML cannot hold and `printable` leaves.
_NO_CHARACTER = re.compile("[\ufffe\uffff]")
_EMPTY = ("meta", "br")


class Markup(str):
    """Markup that is complete; any other string is a text, which is escaped."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    r"""A text as markup: no element of its own, control characters and direction marks as `\x1b` or `\u202e`."""
    return text if isinstance(text, Markup) else Markup(html.escape(_NO_CHARACTER.sub("\ufffd", printable(text))))


def tag(name: str, /, *children: str, **attributes: str) -> Markup:
    """An element: `tag("td", "a<b", class_="number")` is `<td class="number">a&lt;b</td>`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"' for key, value in attributes.items() if value
    )
    return Markup(f"<{name}{written}/>" if name in _EMPTY else f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: str) -> Markup:
    """Markup and texts one after another."""
    return Markup("".join(map(escaped, children)))


# --- Views of values in notebooks, which are light or dark ------------------------------------------------------------

_MOST_ROWS = 20
# Backgrounds of tokens beside each other, with the colour of the text, which the notebook does not know.
_COLOURS = ("#cfe2ff", "#d8f0d2", "#ffe3c2", "#f3d4ec")
_TEXT = "#1a1a1a"


def table_view(heads: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> Markup:
    """A table; of many rows the first, with how many more there are."""
    more = f"{len(rows) - _MOST_ROWS:,} more rows. " if len(rows) > _MOST_ROWS else ""
    body = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows[:_MOST_ROWS]]
    head = tag("thead", tag("tr", *(tag("th", cell) for cell in heads)))
    below = [tag("p", tag("small", more + note))] if more + note else []
    return joined(tag("table", head, tag("tbody", *body)), *below)


def token_view(tokens: Iterable[tuple[int, str]]) -> Markup:
    """Tokens of a text, given with their ids, in colours; pointing at one shows its id."""
    spans = [
        tag("span", text, title=f"id {number}", style=f"background:{_COLOURS[at % len(_COLOURS)]};color:{_TEXT}")
        for at, (number, text) in enumerate(tokens)
    ]
    return tag("pre", *spans, style="white-space:pre-wrap")
