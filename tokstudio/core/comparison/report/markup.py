"""The HTML of a report, with every text escaped, and its style sheet."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import hashlib

from tokstudio.core.base.markup import Markup as Markup
from tokstudio.core.base.markup import escaped as escaped
from tokstudio.core.base.markup import joined as joined
from tokstudio.core.base.markup import tag as tag

# --- Parts of a page --------------------------------------------------------------------------------------------------


def section(title: str, *parts: str, place: str = "") -> Markup:
    """A section below a title, to which links can lead if it has a `place`."""
    return tag("section", tag("h2", title, id=place), *parts)


def muted(text: str) -> Markup:
    """A paragraph that says something beside the matter."""
    return tag("p", text, class_="muted")


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


# --- The style sheet of the report: light and dark, on screen and on paper --------------------------------------------
# It has no `<`, `>` or `&`, which HTML and XML read differently in a style sheet.

#: The least ratio to the best of its row for each shade; the first is the best itself.
SHADES = (1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0)
_STRENGTHS = (0, 7, 13, 21, 30, 40, 50)  # percent of the one hue
_LIGHT = ("#C2500A", "#0E7A5F", "#9333C8", "#8A6A00", "#C81E63", "#0B7391", "#7A3B1E", "#5D6772")
_DARK = ("#FF9B5E", "#4CCBA5", "#C99BFF", "#D9B84A", "#FF8AB5", "#63BEE0", "#D99A7B", "#9AA4AF")
_DASHES = ("none", "7 3", "2 3", "10 3 2 3", "5 2", "12 4", "1 4", "8 2 1 2 1 2")
CURVES = len(_LIGHT)

_COLOURS = """
--paper: #FFFFFF; --ink: #1B1F24; --muted: #5D6772; --line: #DCE0E5; --soft: #F4F5F7; --hue: 37 99 235; --link: #2563EB;
"""
_DARK_COLOURS = """
--paper: #15181C; --ink: #E6EAEE; --muted: #9AA4AF; --line: #2E343B; --soft: #1D2126; --hue: 108 164 255;
--link: #6CA4FF;
"""


def _curves(colours: tuple[str, ...]) -> str:
    return " ".join(f"--c{number}: {colour};" for number, colour in enumerate(colours))


_SHADES = "\n".join(
    f".s{number} {{ background: rgb(var(--hue) / {strength}%); }}" for number, strength in enumerate(_STRENGTHS)
)
_CURVES = "\n".join(
    f".c{number} {{ stroke: var(--c{number}); stroke-dasharray: {dash}; }} .f{number} {{ fill: var(--c{number}); }}"
    for number, dash in enumerate(_DASHES)
)

STYLE = f"""
:root {{ color-scheme: light dark; {_COLOURS} {_curves(_LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK_COLOURS} {_curves(_DARK)} }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }}
main {{ max-width: 66rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }}
h1 {{ font-size: 1.9rem; line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.3rem; margin: 3rem 0 .8rem; padding-top: .8rem; border-top: 1px solid var(--line); }}
h3 {{ font-size: 1.05rem; margin: 2rem 0 .3rem; overflow-wrap: anywhere; }}
h4 {{ font-size: .95rem; margin: 1.2rem 0 .3rem; }}
p {{ margin: .3rem 0 .6rem; max-width: 46rem; overflow-wrap: anywhere; }}
a {{ color: var(--link); }}
.muted, caption, figcaption {{ color: var(--muted); }}
pre {{ overflow-x: auto; font: .82rem/1.45 ui-monospace, monospace; }}
.formula {{ font-family: ui-monospace, monospace; font-size: .88rem; }}
nav a {{ margin-right: 1em; white-space: nowrap; }}
.wide {{ overflow-x: auto; margin: .6rem 0 .8rem; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums lining-nums; font-size: .92rem; }}
th, td {{ padding: .28rem .75rem; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line); }}
th {{ font-weight: 600; }}
th.name, td.name {{ text-align: left; min-width: 7rem; max-width: 22rem; font-weight: 400; }}
th bdi {{ overflow-wrap: anywhere; }}
thead th {{ vertical-align: bottom; border-bottom: 1px solid var(--muted); max-width: 14rem; }}
tbody th.name {{ position: sticky; left: 0; background: var(--paper); }}
tfoot td, tfoot th {{ border-bottom: none; color: var(--muted); }}
tfoot tr:first-child td, tfoot tr:first-child th {{ border-top: 1px solid var(--muted); }}
td b {{ font-weight: 700; }}
td.hash {{ font-family: ui-monospace, monospace; font-size: .78rem; text-align: left; overflow-wrap: anywhere; }}
td.hash {{ min-width: 16rem; }}
p.legend {{ max-width: none; }}
.legend span {{ color: var(--ink); display: inline-block; padding: 0 .7em; border: 1px solid var(--line); }}
ul.tokens {{ list-style: none; margin: .4rem 0; padding: 0; display: flex; flex-wrap: wrap; gap: .3rem .5rem; }}
ul.tokens li {{ background: var(--soft); border: 1px solid var(--line); border-radius: 4px; padding: 0 .45em; }}
ul.tokens bdi {{ font-family: ui-monospace, monospace; font-size: .88rem; white-space: pre-wrap; }}
ul.tokens small {{ color: var(--muted); font-variant-numeric: tabular-nums; margin-left: .4em; }}
figure {{ margin: .8rem 0; }}
svg {{ width: 100%; height: auto; max-width: 58rem; display: block; }}
svg text {{ fill: var(--muted); font: 12px system-ui, sans-serif; font-variant-numeric: tabular-nums; }}
svg text.label {{ fill: var(--ink); }}
svg .grid {{ stroke: var(--line); stroke-width: 1; }}
svg .curve {{ fill: none; stroke-width: 2; stroke-linejoin: round; }}
{_SHADES}
{_CURVES}
@media print {{
:root {{ color-scheme: light; {_COLOURS} {_curves(_LIGHT)} }}
* {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
body {{ font-size: 9.5pt; }}
main {{ max-width: none; padding: 0; }}
.wide {{ overflow: visible; }}
nav {{ display: none; }}
h2, h3, h4 {{ break-after: avoid; }}
tr, figure, ul.tokens li {{ break-inside: avoid; }}
thead {{ display: table-header-group; }}
tfoot {{ display: table-row-group; }}
@page {{ margin: 16mm 14mm; }}
}}
"""


def shade(ratio: float) -> str:
    """The class of a cell by how many times worse it is than the best of its row; "" for NaN."""
    return "" if ratio != ratio else f"s{sum(ratio >= least for least in SHADES) - 1}"
