"""Markup of which every text is escaped: names, tokens and texts are from strangers."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import hashlib
import html
import re

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


def name_of(text: str, **attributes: str) -> Markup:
    """A name, apart from the direction of what is around it."""
    return tag("bdi", text, **attributes)


def page(title: str, style: str, *body: str) -> Markup:
    """A page that may use its own style sheet and nothing else, and whose language is English."""
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    return Markup(f"<!DOCTYPE html>\n{tag('html', head, tag('body', tag('main', *body)), lang='en')}\n")
