"""The report of a comparison as one HTML file: its facts, figures, plots and tokenizers in sections."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.baselines import SimpleTokenizer, WordTokenizer
from tokstudio.core.analysis.reachability import CUT, MADE_OTHERWISE, NORMALIZED, NOT_MADE, reachability_work
from tokstudio.core.analysis.token_store import hash_work
from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import percent_text, several, shown
from tokstudio.core.comparison.comparison import Comparison
from tokstudio.core.comparison.engine_table import OURS, TOKENS_OF_LINES, EngineTable
from tokstudio.core.comparison.figures import Cell, Compared
from tokstudio.core.comparison.report.curves import SizeCurve, drawing
from tokstudio.core.comparison.report.markup import (
    SHADES,
    STYLE,
    Markup,
    escaped,
    joined,
    muted,
    name_of,
    page,
    section,
    shade,
    tag,
)
from tokstudio.core.comparison.table import MISSING, UNITS, Below, FigureTable, number_text
from tokstudio.core.comparison.vocabularies import Overlap
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.exploration.dispersion import DOCUMENT_UNIT
from tokstudio.core.exploration.exploration import Exploration
from tokstudio.core.formats.common.format import Loaded
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.report import WrittenFile, described, versions
from tokstudio.core.tokenizer.counts_by_merge import counts_by_merge_work, why_not_by_merge
from tokstudio.core.tokenizer.tokenizer import Tokenizer

# --- Facts ------------------------------------------------------------------------------------------------------------
# What the report says of each tokenizer beside its figures: its files, its curve, and tokens of special interest.

#: Why no text becomes a token.
REASONS = {
    NOT_MADE: "No merge makes it",
    MADE_OTHERWISE: "Other merges join its bytes first",
    CUT: "The pattern always splits it",
    NORMALIZED: "The normalizer changes its text",
}
_STEP = 1 << 12


@dataclass(frozen=True)
class ReadFrom:
    """The files that a tokenizer was read from, and the title of their format."""

    format: str
    files: tuple[WrittenFile, ...]


@dataclass(frozen=True, eq=False)
class TokenFacts:
    """The hash of a tokenizer, and tokens of it, each group as ids, int64, without special tokens."""

    sha256: str  # of `hash_work`
    uses: NDArray[np.int64]  # [ids], how often each occurs in the texts
    unreachable: dict[str, NDArray[np.int64]]  # by the reason, in ascending order
    unused: NDArray[np.int64]  # ascending
    cut: NDArray[np.int64]  # not UTF-8 by themselves, those that occur most often first
    curve: SizeCurve | None  # of all texts together; None where the tokenizer has no merges to be taken one by one


def origin_work(loaded: Loaded) -> Work[ReadFrom]:
    """The files of a tokenizer with their sizes and hashes; raises CorpusError where one cannot be read."""
    files: list[WrittenFile] = []
    for path in loaded.files:
        content = yield from read_file_work(path)
        files.append(WrittenFile(path, len(content), hashlib.sha256(content).hexdigest()))
    return ReadFrom(FORMATS[loaded.format].title, tuple(files))


def token_facts_work(comparison: Comparison, column: int) -> Work[TokenFacts | None]:
    """Finds the tokens of one tokenizer of a comparison; None for a simple one, which has no merges."""
    compared = comparison.compared[column]
    tokenizer = compared.tokenizer
    if not isinstance(tokenizer, Tokenizer):
        return None
    uses = np.zeros(len(tokenizer.tokens), np.int64)
    cells = [comparison.result(text, column) for text in range(len(comparison.measured))]
    measured = [cell for cell in cells if isinstance(cell, Cell)]
    for cell in measured:
        uses[cell.counts.ids] += cell.counts.counts
    ids = np.setdiff1d(tokenizer.tokens.ids(), list(tokenizer.special_tokens.values()))
    reach = yield from reachability_work(tokenizer)
    unreachable = {words: ids[reach[ids] == why] for why, words in REASONS.items() if np.any(reach[ids] == why)}
    cut = yield from _cut_work(compared, ids)
    curve = None
    if len(measured) == len(cells):
        curve = yield from _curve_work(compared.name, tokenizer, uses, int(comparison.bytes.sum()))
    digest = yield from hash_work(tokenizer)
    return TokenFacts(digest, uses, unreachable, ids[uses[ids] == 0], cut[np.argsort(-uses[cut], kind="stable")], curve)


def _cut_work(compared: Compared, ids: NDArray[np.int64]) -> Work[NDArray[np.int64]]:
    """The ids whose tokens are not UTF-8 by themselves."""
    ends: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    for first in range(0, len(ids), _STEP):
        some = ids[first : first + _STEP]
        ends.append(some[compared.cuts(some)[0]])
        yield Progress("looking at tokens", first, len(ids))
    return np.concatenate(ends)


def _curve_work(name: str, tokenizer: Tokenizer, uses: NDArray[np.int64], size: int) -> Work[SizeCurve | None]:
    """Bytes per token after each merge, by size of the vocabulary; one point where the merges go only together."""
    if not uses.sum():
        return None
    whole = len(tokenizer)
    if why_not_by_merge(tokenizer) is not None:
        return SizeCurve(name, np.array([float(whole)]), np.array([size / uses.sum()]))
    counts = yield from counts_by_merge_work(tokenizer, uses)
    sizes = np.arange(whole - len(tokenizer.merges), whole + 1).astype(np.float64)
    return SizeCurve(name, sizes, size / counts.tokens)


# --- The part of the report about one tokenizer: settings, files, and tokens of special interest ----------------------

_LISTED = 60  # tokens of each group
_LONGEST = 32  # characters of a token


def tokenizer_section(compared: Compared, facts: TokenFacts | None, origin: ReadFrom | None) -> Markup:
    """All about one tokenizer."""
    parts = [tag("h2", "Tokenizer ", name_of(compared.name))]
    tokenizer = compared.tokenizer
    if not isinstance(tokenizer, Tokenizer):
        pattern = f" Pattern: {tokenizer.pattern}." if isinstance(tokenizer, WordTokenizer) else ""
        return tag("section", *parts, tag("p", f"A simple tokenizer: {tokenizer.title.lower()}.{pattern}"))
    parts += [tag("p", line) for line in _settings(tokenizer)]
    if facts is not None:
        parts.append(tag("p", f"SHA-256 of the tokenizer, of all that decides its ids: {facts.sha256}"))
    if origin is not None:
        parts.append(tag("p", f"Format: {origin.format}."))
        parts += [
            tag("p", f"{file_name(file.path)}: {several(file.size, 'byte')}, SHA-256 {file.sha256}")
            for file in origin.files
        ]
    return tag("section", *parts, *(() if facts is None else _groups(tokenizer, facts)))


def _settings(tokenizer: Tokenizer) -> Iterator[str]:
    yield from described(tokenizer)
    if tokenizer.library is not None:
        yield f"Encoded by {tokenizer.library}: {tokenizer.no_playhead}."
    yield from tokenizer.remarks


def _groups(tokenizer: Tokenizer, facts: TokenFacts) -> Iterator[Markup]:
    """Tokens that no text becomes, that these texts do not use, and that cut characters."""
    count = sum(len(ids) for ids in facts.unreachable.values())
    yield tag("h3", f"Unreachable tokens: {count:,}")
    if count:
        yield muted("No text becomes them (Land and Bartolo 2024, arXiv:2405.05417).")
    for reason, ids in facts.unreachable.items():
        yield tag("h4", f"{reason}: {len(ids):,}")
        yield _listed(tokenizer, ids)
    yield tag("h3", f"Unused tokens: {len(facts.unused):,}")
    yield muted("They occur in none of the texts; a longer text uses more.")
    yield _listed(tokenizer, facts.unused)
    used = int(np.count_nonzero(facts.uses[facts.cut]))
    yield tag("h3", f"Tokens that cut characters: {len(facts.cut):,}, of which {used:,} occur")
    note = "They are not UTF-8 by themselves. Those that occur are listed with their uses, the most frequent first."
    if used:
        yield muted(note)
        yield _listed(tokenizer, facts.cut[:used], facts.uses)


def _listed(tokenizer: Tokenizer, ids: NDArray[np.int64], uses: NDArray[np.int64] | None = None) -> Markup:
    """The first of some tokens, with their ids or their uses."""
    numbers: Sequence[int] = ids[:_LISTED].tolist()
    items = [
        tag(
            "li",
            # From left to right, so that the escapes in it stand in their order.
            name_of(_spelled(tokenizer, token), dir="ltr"),
            tag("small", f"{token}" if uses is None else f"{token}: {several(int(uses[token]), 'use')}"),
        )
        for token in numbers
    ]
    more = len(ids) - len(numbers)
    listed = tag("ul", *items, class_="tokens") if items else ""
    return joined(listed, muted(f"and {more:,} more") if more else "")


def _spelled(tokenizer: Tokenizer, token: int) -> str:
    r"""A token in quotes, its bytes that are no character as `\xe2`."""
    return shown(tokenizer.tokens.prefix(token, 4 * _LONGEST).decode("utf-8", "backslashreplace"), _LONGEST)


# --- The tables of the report: tokenizers side by side, each figure, and the texts ------------------------------------


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
    elements = (cell if isinstance(cell, Markup) else tag("td", cell) for cell in cells)
    return tag("tr", tag("th", name_of(name), scope="row", class_="name"), *elements)


def overview_section(comparison: Comparison, facts: Sequence[TokenFacts | None]) -> Markup:
    """Each tokenizer with its size, its compression of all texts, and numbers of special tokens; what is unusual."""
    sizes = comparison.totals("bytes_per_token").tolist()
    rows = [
        row(compared.name, [*_sizes(compared), number_text(size, 2), *_numbers(each)])
        for compared, size, each in zip(comparison.compared, sizes, facts, strict=True)
    ]
    numbers = "Tokens", "Merges", "Special tokens", "Bytes per token", "Unreachable", "Unused", "Not UTF-8"
    heading = [head("Tokenizer"), *numbers]
    note = "Bytes per token are those of all texts together. Unused tokens occur in none of the texts. "
    note += "Tokens that are not UTF-8 by themselves hold a part of a character."
    return section("Overview", table(heading, rows), muted(note), *_problems(comparison), place="overview")


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
    lines = [joined(name_of(tokenizer), ", ", name_of(text), ": ", why) for text, tokenizer, why in problems]
    return [tag("h3", "To be noted"), tag("ul", *(tag("li", one) for one in lines))] if lines else []


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
    foot = [row(below.name, [*([""] if has_units else []), *_cells_below(shown, below)]) for below in shown.below]
    parts.append(table(heading, rows, foot))
    source = f"Source: {figure.source}." if figure.source else ""
    note = " ".join(filter(None, (figure.said_better, *shown.notes, *shown.legend, source)))
    return tag("section", *parts, *([muted(note)] if note else []))


def _cells_below(shown: FigureTable, below: Below) -> Iterator[Markup]:
    cells = zip(shown.signed_below(below), shown.best_below(below).tolist(), below.interval_texts, strict=True)
    for cell, is_best, interval in cells:
        yield tag("td", _with_interval(_marked(cell, is_best), interval))


def _marked(cell: str, is_best: bool) -> Markup | str:
    return tag("b", cell) if is_best else cell


def _with_interval(cell: Markup | str, interval: str) -> Markup | str:
    return joined(cell, " ", tag("small", interval)) if interval else cell


def _cells(shown: FigureTable, text: int) -> list[Markup]:
    """The numbers of a row: the best in bold, others shaded by how much worse they are."""
    elements: list[Markup] = []
    for column in range(len(shown.tokenizers)):
        cell = shown.signed(text, column)
        ratio = float(shown.ratios[text, column])
        marked = _with_interval(_marked(cell, bool(shown.best[text, column])), shown.interval(text, column))
        elements.append(tag("td", marked, class_=shade(ratio)))
    return elements


def overlap_section(overlap: Overlap) -> Markup:
    """What the vocabularies share, by tokens and by uses."""
    heading = [head("Tokenizer"), *(tag("th", name_of(name), scope="col") for name in overlap.tokenizers)]
    parts: list[Markup] = []
    for title, formula, note, values in (
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
        parts += [muted(note)] if note else []
    return section("Vocabularies", *parts)


def legend() -> Markup:
    """What the shades of cells mean."""
    steps = [tag("span", "best", class_=shade(1))]
    steps += [tag("span", f"from {least:g}", class_=shade(least)) for least in SHADES[1:]]
    note = "Shades: how many times worse than the best of the row, which is bold. Simple tokenizers are not ranked."
    return joined(muted(note), tag("p", *steps, class_="legend"))


def texts_section(comparison: Comparison) -> Markup:
    """The texts with their sizes and hashes."""
    heading = [head("Text"), "Bytes", "Code points", "Lines", "Words (W)", head("A word is a"), head("SHA-256")]
    singular = {"words": "run without space", "characters": "character", "syllables": "syllable"}
    rows: list[Markup] = []
    for text in comparison.measured:
        sizes = [f"{size:,}" for size in (text.bytes, text.characters, text.lines, text.words)]
        unit, digest = tag("td", singular[text.units], class_="name"), tag("td", text.sha256, class_="hash")
        rows.append(row(text.name, [*sizes, unit, digest]))
    note = f"{several(len(rows), 'text')}. A hash is of the ends of the documents and then of their bytes. "
    base = comparison.base
    note += "" if base is None else f"Premiums relate to {comparison.texts[base]}."
    return section("Texts", table(heading, rows), muted(note), place="texts")


# --- What is in the texts, and the tokens that few documents made -----------------------------------------------------

_BUNCHED = 2.0  # times as many documents as a token would be in if it were strewn at random
_MOST_BUNCHED = 30  # tokens


def exploration_section_work(comparison: Comparison) -> Work[Markup]:
    """What rules find in all texts together, the tokens that live there, and the tokens that few documents made."""
    corpus = Corpus(tuple(text.source for text in comparison.measured))
    found = yield from Exploration(corpus).findings_work()
    cells: dict[str, list[str]] = {}
    for each in found:
        numbers = [f"{number:,}" for number in (each.documents, each.lines, each.bytes)]
        cells[each.rule] = [*numbers, percent_text(each.bytes / corpus.bytes, 1)]
    heading, parts = [head("Rule"), "Documents", "Lines", "Bytes", "Share"], list[Markup]()
    for compared in comparison.compared:
        tokenizer = compared.tokenizer
        if not isinstance(tokenizer, Tokenizer):
            continue
        here = Exploration(corpus, tokenizer)
        try:
            tokens = {each.rule: len(each.tokens) for each in (yield from here.findings_work())}
        except TokStudioError:  # it cannot encode the texts, which the overview says
            continue
        heading.append(tag("th", "Tokens of ", name_of(compared.name), scope="col"))
        for rule, row_of_rule in cells.items():
            row_of_rule.append(f"{tokens.get(rule, 0):,}")
        parts += _bunched(here, tokenizer, compared.name)
    rows = [row(rule, row_of_rule) for rule, row_of_rule in cells.items()]
    note = "They find nothing here."
    if rows:
        note = "Tokens are those of which 90 % of the uses in the texts begin there."
    note = f"Rules look for what a tokenizer should perhaps not learn from. {note}"
    return section(
        "What is in the texts", *([table(heading, rows)] if rows else []), muted(note), *parts, place="rules"
    )


def _bunched(here: Exploration, tokenizer: Tokenizer, name: str) -> list[Markup]:
    """The tokens that are in far fewer documents than if they were strewn at random, the most bunched first."""
    bunched, uses, ranges = (here.tokens[column] for column in ("bunched", "uses", "range"))
    chosen = np.flatnonzero(bunched >= _BUNCHED)
    if here.part_unit != DOCUMENT_UNIT or not len(chosen):
        return []
    order = chosen[np.argsort(-bunched[chosen], kind="stable")][:_MOST_BUNCHED]
    items = [
        tag(
            "li",
            name_of(_spelled(tokenizer, token), dir="ltr"),
            tag("small", f"{several(int(uses[token]), 'use')} in {several(int(ranges[token]), 'document')}"),
        )
        for token in order.tolist()
    ]
    note = f"Each is in less than half of the documents, of {here.parts:,}, in which its uses would be if they were "
    title = tag("h3", "Tokens that few documents made: ", name_of(name))
    return [title, muted(note + "strewn at random; the most bunched first."), tag("ul", *items, class_="tokens")]


# --- The report of a comparison, or of one tokenizer: settings, curves, all figures, tokens, versions and hashes ------


def report_work(
    comparison: Comparison,
    origins: Mapping[str, ReadFrom] | None = None,
    written_at: datetime | None = None,
    engines: EngineTable | None = None,
    experiment: str = "",
    remark: str = "",
    level: float | None = None,
) -> Work[str]:
    """Writes a page of HTML about a comparison; it is one file that loads nothing and runs nothing.

    Args:
        comparison: One tokenizer or several; words are encoded where they were not.
        origins: Where tokenizers were read from, by name; see `origin_work`.
        written_at: The time that the page gives; None for now.
        engines: What other libraries gave for one of the tokenizers; None for no such section.
        experiment: The text of the experiment file that the tokenizers are from; "" for none.
        remark: A sentence about the texts; "" for none.
        level: That of intervals, such as 0.95, for the figures that have some; None for none.
    """
    yield from comparison.words_work()
    facts: list[TokenFacts | None] = []
    for column in range(len(comparison.compared)):
        facts.append((yield from token_facts_work(comparison, column)))
    tables = map(figures_section, (yield from comparison.tables_work(None, level)))
    overlap = yield from comparison.overlap_work()
    explored = yield from exploration_section_work(comparison)
    title = f"{'Comparison' if len(comparison.compared) > 1 else 'Report'} of {', '.join(comparison.tokenizers)}"
    return page(
        title,
        STYLE,
        _header(comparison, written_at or datetime.now(UTC)),
        *([tag("p", remark)] if remark else []),
        overview_section(comparison, facts),
        _curves(facts),
        section("Figures", _symbols(), legend() if len(comparison.compared) > 1 else "", *tables, place="figures"),
        *([overlap_section(overlap)] if len(overlap.tokenizers) > 1 else []),
        texts_section(comparison),
        *([engines_section(engines)] if engines is not None else []),
        explored,
        *(
            tokenizer_section(compared, each, (origins or {}).get(compared.name))
            for compared, each in zip(comparison.compared, facts, strict=True)
        ),
        *([_experiment_section(experiment)] if experiment else []),
        _versions(),
    )


def _experiment_section(text: str) -> Markup:
    lines = "\n".join(escaped(line) for line in text.splitlines())
    note = "Saved as a .toml file beside the texts that it names, tokstudio run trains from it again."
    return section("Experiment", muted(note), tag("pre", Markup(lines)))


def engines_section(table_of_engines: EngineTable) -> Markup:
    """The ids of other libraries beside ours."""
    head = [tag("th", "", scope="col"), f"{OURS}, tokens", *(each.name for each in table_of_engines.shown)]
    rows: list[Markup] = []
    for number, text in enumerate(table_of_engines.rows):
        cells = (table_of_engines.cell_text(number, each) for each in table_of_engines.shown)
        ours = tag("td", MISSING if text.problem else f"{text.tokens:,}")
        rows.append(tag("tr", tag("th", name_of(text.name), scope="row"), ours, *(tag("td", cell) for cell in cells)))
    said = (*map(table_of_engines.column_text, table_of_engines.columns), *table_of_engines.notes)
    note = f"Of each library the lines with other ids, and tokens more or less. {TOKENS_OF_LINES}"
    return section(
        f"Other libraries with {table_of_engines.tokenizer}",
        muted(note),
        table(head, rows),
        *(tag("p", sentence) for sentence in said),
        tag("p", f"Versions: {table_of_engines.versions}."),
    )


def _header(comparison: Comparison, written_at: datetime) -> Markup:
    names = [joined(", " if number else "", name_of(name)) for number, name in enumerate(comparison.tokenizers)]
    sections = (
        ("overview", "Overview"),
        ("figures", "Figures"),
        ("texts", "Texts"),
        ("rules", "What is in them"),
        ("versions", "Versions"),
    )
    return tag(
        "header",
        tag("h1", "Comparison of " if len(names) > 1 else "Report of ", *names),
        muted(f"Made with TokStudio, {written_at:%Y-%m-%d %H:%M %Z}".rstrip() + "."),
        tag("nav", *(tag("a", title, href=f"#{place}") for place, title in sections)),
    )


def _curves(facts: list[TokenFacts | None]) -> Markup:
    curves = [each.curve for each in facts if each is not None and each.curve is not None]
    if not curves:
        return Markup()
    note = "Bytes per token of all texts together after each merge. A dot alone is a tokenizer whose merges are known "
    caption = tag("figcaption", note + "only all together.")
    return section("Compression by size of the vocabulary", tag("figure", drawing(curves), caption))


def _symbols() -> Markup:
    """What the letters of formulas mean."""
    return muted(
        "N: tokens of a text, without special tokens. B: its bytes in UTF-8. C: its code points. W: its words, as said "
        "beside each text. V: tokens of the vocabulary without special ones. p: the share of a token in N. The row All "
        "texts counts them as one text; it is not the mean of the rows above it. A dash is no number."
    )


def _versions() -> Markup:
    return section("Versions", tag("p", ", ".join(versions()), "."), place="versions")
