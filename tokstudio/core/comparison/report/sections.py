"""The tables of the report: tokenizers side by side, each figure, and the texts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence

from tokstudio.core.analysis.baselines import SimpleTokenizer
from tokstudio.core.base.wording import several
from tokstudio.core.comparison.comparison import Comparison
from tokstudio.core.comparison.figures import Compared
from tokstudio.core.comparison.report.facts import TokenFacts
from tokstudio.core.comparison.report.markup import Markup, joined, name_of, tag
from tokstudio.core.comparison.report.style import SHADES, shade
from tokstudio.core.comparison.table import MISSING, UNITS, FigureTable, number_text
from tokstudio.core.comparison.vocabularies import Overlap


def table(heading: Sequence[str], rows: Sequence[Markup], foot: Sequence[Markup] = ()) -> Markup:
    """A table that scrolls sideways where it is wide; headings that are no markup are those of numbers."""
    cells = (cell if isinstance(cell, Markup) else tag("th", cell, scope="col") for cell in heading)
    parts = [tag("thead", tag("tr", *cells)), tag("tbody", *rows)]
    return tag("div", tag("table", *parts, *([tag("tfoot", *foot)] if foot else [])), class_="wide")


def head(title: str) -> Markup:
    """The heading of a column of texts."""
    return tag("th", title, scope="col", class_="name")


def row(name: str, cells: Sequence[str]) -> Markup:
    """A row of a table; cells that are no markup are numbers."""
    made = (cell if isinstance(cell, Markup) else tag("td", cell) for cell in cells)
    return tag("tr", tag("th", name_of(name), scope="row", class_="name"), *made)


def overview_section(comparison: Comparison, facts: Sequence[TokenFacts | None]) -> Markup:
    """Each tokenizer with its size, its compression of all texts, and numbers of special tokens; what is unusual."""
    sizes = comparison.totals("bytes_per_token").tolist()
    rows = [
        row(compared.name, [*_sizes(compared), number_text(size, 2), *_numbers(each)])
        for compared, size, each in zip(comparison.compared, sizes, facts, strict=True)
    ]
    heading = [
        head("Tokenizer"),
        "Tokens",
        "Merges",
        "Special tokens",
        "Bytes per token",
        "Unreachable",
        "Unused",
        "Not UTF-8",
    ]
    told = "Bytes per token are those of all texts together. Unused tokens occur in none of the texts. "
    told += "Tokens that are not UTF-8 by themselves hold a part of a character."
    return tag(
        "section", tag("h2", "Overview", id="overview"), table(heading, rows), tag("p", told, class_="muted"),
        *_problems(comparison),
    )  # fmt: skip


def _sizes(compared: Compared) -> list[str]:
    tokenizer = compared.tokenizer
    if isinstance(tokenizer, SimpleTokenizer):
        return [MISSING if compared.size is None else f"{compared.size:,}", MISSING, "0"]
    return [f"{len(tokenizer):,}", f"{len(tokenizer.merges):,}", f"{len(tokenizer.special_tokens):,}"]


def _numbers(facts: TokenFacts | None) -> list[str]:
    if facts is None:
        return [MISSING] * 3
    unreachable = sum(len(ids) for ids in facts.unreachable.values())
    return [f"{unreachable:,}", f"{len(facts.unused):,}", f"{len(facts.cut):,}"]


def _problems(comparison: Comparison) -> list[Markup]:
    """Cells without a number, with the reason, and remarks on others."""
    problems = comparison.errors + comparison.remarks
    told = [joined(name_of(tokenizer), ", ", name_of(text), ": ", why) for text, tokenizer, why in problems]
    return [tag("h3", "To be noted"), tag("ul", *(tag("li", one) for one in told))] if told else []


def figures_section(shown: FigureTable) -> Markup:
    """A figure with its formula, unit and source, its table, and what to know of it."""
    figure, has_units = shown.figure, shown.units is not None
    unit = f". Unit: {figure.unit}" if figure.unit else ""
    parts = [tag("h3", figure.title), tag("p", tag("span", shown.formula, class_="formula"), unit)]
    heading = [head("Text"), *([head(UNITS)] if has_units else [])]
    heading += [tag("th", name_of(name), scope="col") for name in shown.tokenizers]
    rows = [
        row(name, [*([tag("td", shown.units[text], class_="name")] if shown.units else []), *_cells(shown, text)])
        for text, name in enumerate(shown.texts)
    ]
    foot = [
        row(
            below.name,
            [*([""] if has_units else []), *map(_marked, shown.signed_below(below), shown.best_below(below).tolist())],
        )
        for below in shown.below
    ]
    parts.append(table(heading, rows, foot))
    source = f"Source: {figure.source}." if figure.source else ""
    told = " ".join(filter(None, (figure.said_better, *shown.notes, *shown.legend, source)))
    return tag("section", *parts, *([tag("p", told, class_="muted")] if told else []))


def _marked(cell: str, is_best: bool) -> Markup | str:
    return tag("b", cell) if is_best else cell


def _cells(shown: FigureTable, text: int) -> list[Markup]:
    """The numbers of a row: the best in bold, others shaded by how much worse they are."""
    made: list[Markup] = []
    for column in range(len(shown.tokenizers)):
        cell = shown.signed(text, column)
        ratio = float(shown.ratios[text, column])
        made.append(tag("td", _marked(cell, bool(shown.best[text, column])), class_=shade(ratio)))
    return made


def overlap_section(overlap: Overlap) -> Markup:
    """What the vocabularies share, by tokens and by uses."""
    heading = [head("Tokenizer"), *(tag("th", name_of(name), scope="col") for name in overlap.tokenizers)]
    parts: list[Markup] = []
    for title, formula, told, values in (
        ("Shared tokens", "Shared tokens / tokens of either", "Without special tokens.", overlap.jaccard),
        (
            "Shared uses",
            "Tokens of the row in all texts that are in the vocabulary of the column, too / all of them",
            "",
            overlap.shared_uses,
        ),
    ):
        rows = [
            row(name, [number_text(value, 1, is_share=True) for value in shares])
            for name, shares in zip(overlap.tokenizers, values.tolist(), strict=True)
        ]
        parts += [tag("h3", title), tag("p", tag("span", formula, class_="formula")), table(heading, rows)]
        parts += [tag("p", told, class_="muted")] if told else []
    return tag("section", tag("h2", "Vocabularies"), *parts)


def legend() -> Markup:
    """What the shades of cells mean."""
    steps = [tag("span", "best", class_=shade(1))]
    steps += [tag("span", f"from {least:g}", class_=shade(least)) for least in SHADES[1:]]
    told = "Shades: how many times worse than the best of the row, which is bold. Simple tokenizers are not ranked."
    return joined(tag("p", told, class_="muted"), tag("p", *steps, class_="legend"))


def texts_section(comparison: Comparison) -> Markup:
    """The texts with their sizes and hashes."""
    heading = [head("Text"), "Bytes", "Code points", "Lines", "Words (W)", head("A word is a"), head("SHA-256")]
    singular = {"words": "run without space", "characters": "character", "syllables": "syllable"}
    rows: list[Markup] = []
    for text in comparison.measured:
        sizes = [f"{size:,}" for size in (text.bytes, text.characters, text.lines, text.words)]
        unit, digest = tag("td", singular[text.units], class_="name"), tag("td", text.sha256, class_="hash")
        rows.append(row(text.name, [*sizes, unit, digest]))
    told = f"{several(len(rows), 'text')}. A hash is of the ends of the documents and then of their bytes. "
    base = comparison.base
    told += "" if base is None else f"Premiums relate to {comparison.texts[base]}."
    return tag("section", tag("h2", "Texts", id="texts"), table(heading, rows), tag("p", told, class_="muted"))
