"""The whole guide as one page of HTML, without scripts and network, for reading and searching in a browser."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import html
from collections.abc import Sequence

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.resources import resource
from tokstudio.core.guide.markdown import to_html
from tokstudio.core.guide.pages import FOLDER, Page

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
