"""The report of a comparison, or of one tokenizer: settings, curves, all figures, tokens, versions and hashes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.comparison.comparison import Comparison
from tokstudio.core.comparison.report.facts import ReadFrom, TokenFacts, token_facts_work
from tokstudio.core.comparison.report.markup import Markup, joined, name_of, page, tag
from tokstudio.core.comparison.report.sections import (
    figures_section,
    legend,
    overlap_section,
    overview_section,
    texts_section,
)
from tokstudio.core.comparison.report.style import STYLE
from tokstudio.core.comparison.report.svg import drawing
from tokstudio.core.comparison.report.tokenizers import tokenizer_section
from tokstudio.core.formats.report import versions


def report_work(
    comparison: Comparison, origins: Mapping[str, ReadFrom] | None = None, made: datetime | None = None
) -> Work[str]:
    """Writes a page of HTML about a comparison; it is one file that loads nothing and runs nothing.

    Args:
        comparison: One tokenizer or several; words are encoded where they were not.
        origins: Where tokenizers were read from, by name; see `origin_work`.
        made: The time that the page gives; None for now.
    """
    yield from comparison.words_work()
    facts: list[TokenFacts | None] = []
    for column in range(len(comparison.compared)):
        facts.append((yield from token_facts_work(comparison, column)))
    tables: list[Markup] = []
    names = comparison.known_figures()
    for number, name in enumerate(names):
        tables.append(figures_section(comparison.table(name)))
        yield Progress("writing", number, len(names))
    overlap = yield from comparison.overlap_work()
    title = f"{'Comparison' if len(comparison.compared) > 1 else 'Report'} of {', '.join(comparison.tokenizers)}"
    return page(
        title,
        STYLE,
        _header(comparison, made or datetime.now(UTC)),
        overview_section(comparison, facts),
        _curves(facts),
        tag(
            "section",
            tag("h2", "Figures", id="figures"),
            _symbols(),
            legend() if len(comparison.compared) > 1 else "",
            *tables,
        ),
        *([overlap_section(overlap)] if len(overlap.tokenizers) > 1 else []),
        texts_section(comparison),
        *(
            tokenizer_section(compared, each, (origins or {}).get(compared.name))
            for compared, each in zip(comparison.compared, facts, strict=True)
        ),
        _versions(),
    )


def _header(comparison: Comparison, made: datetime) -> Markup:
    names = [joined(", " if number else "", name_of(name)) for number, name in enumerate(comparison.tokenizers)]
    sections = ("overview", "Overview"), ("figures", "Figures"), ("texts", "Texts"), ("versions", "Versions")
    return tag(
        "header",
        tag("h1", "Comparison of " if len(names) > 1 else "Report of ", *names),
        tag("p", f"Made with TokStudio, {made:%Y-%m-%d %H:%M %Z}".rstrip() + ".", class_="muted"),
        tag("nav", *(tag("a", title, href=f"#{place}") for place, title in sections)),
    )


def _curves(facts: list[TokenFacts | None]) -> Markup:
    curves = [each.curve for each in facts if each is not None and each.curve is not None]
    if not curves:
        return Markup()
    return tag(
        "section",
        tag("h2", "Compression by size of the vocabulary"),
        tag(
            "figure",
            drawing(curves),
            tag(
                "figcaption",
                "Bytes per token of all texts together after each merge. A dot alone is a tokenizer whose merges are "
                "known only all together.",
            ),
        ),
    )


def _symbols() -> Markup:
    """What the letters of formulas mean."""
    return tag(
        "p",
        "N: tokens of a text, without special tokens. B: its bytes in UTF-8. C: its code points. W: its words, as said "
        "beside each text. V: tokens of the vocabulary without special ones. p: the share of a token in N. The row All "
        "texts counts them as one text; it is not the mean of the rows above it. A dash is no number.",
        class_="muted",
    )


def _versions() -> Markup:
    return tag("section", tag("h2", "Versions", id="versions"), tag("p", ", ".join(versions()), "."))
