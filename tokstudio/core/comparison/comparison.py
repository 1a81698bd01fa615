"""Compares tokenizers on texts: a table of figures, with a row for each text and a column for each tokenizer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.analysis.baselines import AnyTokenizer, SimpleTokenizer
from tokstudio.core.analysis.token_store import TokenCounts, hash_work, joined_counts
from tokstudio.core.base.atomic_files import write_files
from tokstudio.core.base.errors import ConfigError, TokStudioError
from tokstudio.core.base.machine import in_threads
from tokstudio.core.base.markup import Markup, joined, table_view, tag
from tokstudio.core.base.progress import Work, finish, together
from tokstudio.core.base.wording import several
from tokstudio.core.comparison.counts import Part, counts_work, joined_parts, part_work
from tokstudio.core.comparison.figures import (
    FIGURES,
    SUMMARIES,
    Cell,
    Compared,
    Figure,
    gini,
    normalised_lengths,
    premium_note,
    premiums,
    without_lines_of,
)
from tokstudio.core.comparison.intervals import (
    INTERVALS,
    NOT_DRAWN,
    OF_GREATEST,
    Resampling,
    few_lines_note,
    intervals_work,
    line_counts_work,
)
from tokstudio.core.comparison.table import Below, FigureTable, csv_text, latex, markdown, numbers
from tokstudio.core.comparison.texts import ComparedText, FoundOnce, no_words, text_work
from tokstudio.core.comparison.vocabularies import Overlap, overlap_work
from tokstudio.core.corpus.readers.files import Budget
from tokstudio.core.corpus.source import Source
from tokstudio.core.formats.report import versions
from tokstudio.core.text.utf8 import AnyPath, Text, to_utf8
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAN = float("nan")

#: What a tokenizer makes of a text; an error where it cannot encode it; None while it is not measured.
Result = Cell | TokStudioError | None


class Comparison:
    """The figures of tokenizers on texts.

    Args:
        compared: The columns.
        texts: The rows.
        results: What is known, by the numbers of text and tokenizer.
        base: The text that premiums relate to, by number; None where there is none.
        against: The tokenizer that normalised lengths relate to, by number.
    """

    def __init__(
        self,
        compared: Sequence[Compared],
        texts: Sequence[ComparedText],
        results: Mapping[tuple[int, int], Cell | TokStudioError],
        base: int | None = None,
        against: int = 0,
    ) -> None:
        self.compared, self.measured = tuple(compared), tuple(texts)
        self.base, self.against = base, against
        self._results = dict(results)
        self._intervals: dict[tuple[str, Resampling], NDArray[np.float64]] = {}

    @property
    def tokenizers(self) -> tuple[str, ...]:
        """The names of the tokenizers."""
        return tuple(each.name for each in self.compared)

    @property
    def texts(self) -> tuple[str, ...]:
        """The names of the texts."""
        return tuple(text.name for text in self.measured)

    @property
    def tokens(self) -> NDArray[np.int64]:
        """int64 [texts, tokenizers], the tokens of each text; -1 where a tokenizer cannot encode it."""
        return np.nan_to_num(self._counts, nan=-1).astype(np.int64)

    @property
    def bytes(self) -> NDArray[np.int64]:
        """int64 [texts], the bytes of each text."""
        return np.array([text.bytes for text in self.measured], np.int64)

    @property
    def characters(self) -> NDArray[np.int64]:
        """int64 [texts], the code points of each text."""
        return np.array([text.characters for text in self.measured], np.int64)

    @property
    def lines(self) -> NDArray[np.int64]:
        """int64 [texts], the lines of each text."""
        return np.array([text.lines for text in self.measured], np.int64)

    @property
    def words(self) -> NDArray[np.int64]:
        """int64 [texts], the words of each text; `units` of its `ComparedText` says what a word is."""
        return np.array([text.words for text in self.measured], np.int64)

    def result(self, text: int, tokenizer: int) -> Result:
        """What is known of one text and one tokenizer, by number."""
        return self._results.get((text, tokenizer))

    def figure(self, name: str, *, encode: bool = True) -> NDArray[np.float64]:
        """float64 [texts, tokenizers], a figure of `FIGURES`; NaN where it has no meaning.

        What else it needs, such as its words, is encoded first; without `encode`, it is NaN where that was not done.

        Raises:
            ConfigError: There is no such figure, or a premium has no base.
        """
        figure = self._figure(name, encode)
        if name == "premium":
            if self.base is None:
                raise ConfigError("A premium needs a base text: say which text is the base.")
            values = premiums(self._counts, self.base)
            values[without_lines_of(self.measured, self.base)] = _NAN
            return values
        if name == "normalised_length":
            return normalised_lengths(self._counts, self.against)
        return self._table(figure.value)

    def words_work(self, threads: int | None = None) -> Work[None]:
        """Encodes the words of each text where this was not done."""
        yield from self._parts_work("words", threads)

    def _parts_work(self, need: str, threads: int | None = None) -> Work[None]:
        """Measures what some figures need, see `Part`, where this was not done; nothing for ""."""
        cells = [(key, cell) for key, cell in self._results.items() if isinstance(cell, Cell)]
        missing = [(key, cell) for key, cell in cells if need and need not in cell.parts]

        def tell(number: int, part: Part | TokStudioError) -> None:
            key, cell = missing[number]
            is_failure = isinstance(part, TokStudioError)
            self._results[key] = part if is_failure else replace(cell, parts={**cell.parts, need: part})

        # A cell may have been kept without its text.
        works = [partial(part_work, need, cell.of.tokenizer, self.measured[key[0]]) for key, cell in missing]
        yield from in_threads("encoding words" if need == "words" else "encoding", works, tell, threads)

    def lines_work(self, threads: int | None = None) -> Work[None]:
        """Counts the tokens of each line where this was not done."""
        missing = [(key, cell) for key, cell in self._results.items() if isinstance(cell, Cell) and cell.lines is None]

        def tell(number: int, lines: NDArray[np.int64] | TokStudioError) -> None:
            key, cell = missing[number]
            self._results[key] = lines if isinstance(lines, TokStudioError) else replace(cell, lines=lines)

        works = [partial(line_counts_work, cell.of.tokenizer, self.measured[key[0]]) for key, cell in missing]
        yield from in_threads("encoding lines", works, tell, threads)

    def intervals(self, name: str, level: float = 0.95, resamples: int = 1000, seed: int = 0) -> NDArray[np.float64]:
        """The ends of percentile intervals of a figure by the bootstrap over lines (Efron and Tibshirani 1993).

        The lines of a text are drawn with replacement, as many as there are, and the figure is that of the drawn lines:
        their bytes by their tokens. Texts with as many lines have the same draws, so that premiums and Gini are of
        lines that correspond. A line has the tokens that end in it when its text is encoded whole.

        Args:
            name: "bytes_per_token", "tokens_per_line", "premium" or "gini".
            level: The share of the resampled figures between both ends.
            resamples: How often lines are drawn, at least 100.
            seed: That of NumPy's PCG64.

        Returns:
            float64 [texts, tokenizers, 2], for "gini" float64 [tokenizers, 2]; NaN where the figure is, for texts of
            fewer than 10 lines, and where a resample has no tokens.

        Raises:
            ConfigError: The figure has no intervals, a premium has no base, or a number cannot be used.
        """
        return finish(self.intervals_work(name, Resampling(level, resamples, seed)))

    def intervals_work(self, name: str, resampling: Resampling | None = None) -> Work[NDArray[np.float64]]:
        """Does the same as `intervals` in bounded pieces; what was found is kept."""
        key = name, resampling or Resampling()
        if name not in INTERVALS:
            raise ConfigError(f'"{name}" has no intervals: choose one of {", ".join(INTERVALS)}.')
        if name == "premium" and self.base is None:
            raise ConfigError("A premium needs a base text: say which text is the base.")
        if key not in self._intervals:
            yield from self.lines_work()
            counts = {
                at: cell.lines
                for at, cell in self._results.items()
                if isinstance(cell, Cell) and cell.lines is not None
            }
            self._intervals[key] = yield from intervals_work(
                name, self.measured, counts, len(self.compared), self.base or 0, key[1]
            )
        return self._intervals[key]

    def known_intervals(self, name: str) -> NDArray[np.float64] | None:
        """The usual `intervals` of a figure where they were found already; None where not, or where it has none."""
        return self._intervals.get((name, Resampling()))

    def tables_work(self, figures: Sequence[str] | None, level: float | None = None) -> Work[list[FigureTable]]:
        """`table` of several figures, None for all that have a number, in bounded pieces."""
        names = None if figures is None else _names(figures)
        for need in dict.fromkeys(["words"] if names is None else [figure_of(name).need for name in names]):
            yield from self._parts_work(need)
        names = self.known_figures() if names is None else names
        for name in (*names, *(["gini"] if "premium" in names else [])):
            if level is not None and name in INTERVALS:
                yield from self.intervals_work(name, Resampling(level))
        return [self.table(name, level) for name in names]

    def totals(self, name: str, *, encode: bool = True) -> NDArray[np.float64]:
        """float64 [tokenizers], a figure of all texts together; NaN where it has no meaning; see `figure`.

        That is not the mean of the rows: bytes per token are all bytes by all tokens.
        """
        figure = self._figure(name, encode)
        if name == "normalised_length":
            return normalised_lengths(self._counts.sum(axis=0, keepdims=True), self.against)[0]
        if figure.of is None or (figure.is_of_words and len({text.units for text in self.measured}) > 1):
            return np.full(len(self.compared), _NAN)
        return np.array([figure.value(whole) if (whole := self._whole(j)) else _NAN for j in range(len(self.compared))])

    def summary(self, name: str) -> NDArray[np.float64]:
        """float64 [tokenizers]: "total" tokens, "gini" of tokens per line, "worst_premium"; NaN where one is missing.

        Gini, too, is NaN where a text is empty or has another number of lines.

        Raises:
            ConfigError: There is no such summary, or a premium has no base.
        """
        if name == "total":
            return self._counts.sum(axis=0)
        if name == "gini":
            missing = without_lines_of(self.measured, self.base or 0)
            return np.array([_NAN if missing else gini(column) for column in self.figure("tokens_per_line").T])
        if name == "worst_premium":
            return self.figure("premium").max(axis=0, initial=0) if self.measured else np.full(len(self.compared), _NAN)
        raise ConfigError(f'There is no summary "{name}": choose one of {", ".join(SUMMARIES)}.')

    def known_figures(self) -> tuple[str, ...]:
        """The names of the figures that have a number here, but those only asked for by name; encodes words first."""
        names = [name for name in FIGURES if not FIGURES[name].only_asked]
        if self.base is None:
            names.remove("premium")
        if len(self.compared) == 1:
            names.remove("normalised_length")
        return tuple(name for name in names if not np.isnan(self.figure(name)).all())

    @property
    def summaries(self) -> tuple[str, ...]:
        """The names of the summaries that have a meaning here: premiums and Gini need a base."""
        return SUMMARIES if self.base is not None else SUMMARIES[:1]

    @property
    def premium_note(self) -> str:
        """Which texts have no premium because they do not have the lines of the base, as a sentence; "" for none."""
        return "" if self.base is None else premium_note(self.measured, self.base)

    def formula(self, name: str) -> str:
        """The formula of a figure, with the name of what it relates to."""
        if name == "premium" and self.base is not None:
            return f"N / N({self.texts[self.base]})"
        return f"N / N({self.tokenizers[self.against]})" if name == "normalised_length" else figure_of(name).formula

    def table(self, name: str, level: float | None = None) -> FigureTable:
        """A figure as a table, with intervals of a level if it has some; raises as `figure`."""
        figure, values, below = figure_of(name), self.figure(name), list[Below]()
        resampling = None if level is None or name not in INTERVALS else Resampling(level)
        intervals = None if resampling is None else finish(self.intervals_work(name, resampling))
        if len(self.measured) > 1:
            below.append(Below("All texts", tuple(self.totals(name)), figure.decimals, figure.is_share))
        if name == "premium" and self.base is not None:
            below.append(Below("Worst premium", tuple(self.summary("worst_premium")), 2, better="less"))
            of_gini = None if resampling is None else finish(self.intervals_work("gini", resampling))
            gini_row = Below("Gini of tokens per line", tuple(self.summary("gini")), 3, better="less")
            below.append(replace(gini_row, intervals=of_gini))
        units = tuple(text.units for text in self.measured) if figure.is_of_words else None
        known_rows = tuple(row for row in below if row.is_known)
        learned = tuple(not isinstance(each.tokenizer, SimpleTokenizer) for each in self.compared)
        ranked = learned if any(learned) else (True,) * len(learned)
        of_premium = self.premium_note if name == "premium" else ""
        of_intervals = () if resampling is None else self.notes_of_intervals(resampling, name)
        notes = tuple(filter(None, (figure.note, of_premium, self._note_of_losses(ranked), *of_intervals)))
        names, of_cells = tuple(each.sized_name for each in self.compared), (self.loses_text, self.trained_on)
        rows = self.texts, values, known_rows, ranked, units
        return FigureTable(figure, self.formula(name), notes, names, *rows, *of_cells, intervals)

    def overlap_work(self) -> Work[Overlap]:
        """Compares the vocabularies of all tokenizers but the simple ones, with their uses in all texts."""
        columns = [(each, self._whole(number)) for number, each in enumerate(self.compared)]
        # Two tokenizers may have one name.
        learned = [(each, whole) for each, whole in columns if isinstance(each.tokenizer, Tokenizer)]
        uses = [None if whole is None else (whole.counts.ids, whole.counts.counts) for _, whole in learned]
        tokenizers = [(each.name, each.tokenizer) for each, _ in learned if isinstance(each.tokenizer, Tokenizer)]
        return (yield from overlap_work(tokenizers, uses))

    def to_markdown(self, figures: Sequence[str] | None = None, level: float | None = None) -> str:
        """Tables of figures by name, None for all that have a number, and what they are of.

        With a `level`, such as 0.95, figures of `INTERVALS` have intervals: "1.52 [1.48, 1.57]". Raises as `figure`.
        """
        return markdown(finish(self.tables_work(figures, level)), self.facts)

    def to_latex(self, figures: Sequence[str] | None = None, level: float | None = None) -> str:
        """The same as `to_markdown` in LaTeX: tables of `booktabs`, after comments on what the figures are of.

        Names are escaped. Raises as `figure`.
        """
        return latex(finish(self.tables_work(figures, level)), self.facts)

    def to_csv(
        self, path: AnyPath | None = None, figures: Sequence[str] | None = None, level: float | None = None
    ) -> str:
        """A row for each figure and text and a column for each tokenizer; also writes it to `path`, if given.

        After the texts of a figure come its totals, and a column says what W counts. Rows "trained_on" have 1 where a
        tokenizer was trained on the text, and rows "loses_text" where text is unknown to it or lost. The last rows
        have no numbers: their second column says of each tokenizer and text what it is, with its hash, and the
        versions. With a `level`, rows "premium_low" and "premium_high" follow those of "premium", so that the columns
        stay; see `to_markdown`.

        Raises:
            ConfigError: As `figure`.
            FormatError: The file cannot be written.
        """
        of_intervals = [] if level is None else [("intervals", f"{Resampling(level)}")]
        text = csv_text(finish(self.tables_work(figures, level)), [*self.facts, *of_intervals])
        if path is not None:
            finish(write_files({Path(path): [to_utf8(text)]}))
        return text

    def to_json(self, figures: Sequence[str] | None = None, level: float | None = None) -> str:
        """All numbers with what they are of, as one object of JSON; null where there is none.

        Without `figures` also what the vocabularies share; with a `level` also "intervals", see `to_markdown`.
        """
        names = self.known_figures() if figures is None else _names(figures)
        content: dict[str, object] = {
            "tokenizers": self.tokenizers,
            "vocabulary_sizes": [each.vocabulary_size for each in self.compared],
            "hashes": [finish(hash_work(each.tokenizer)) or None for each in self.compared],
            "texts": self.texts,
            "base": None if self.base is None else self.texts[self.base],
            "against": self.tokenizers[self.against],
            "figures": {name: numbers(self.figure(name)) for name in names},
            "totals": {name: numbers(self.totals(name)) for name in names},
            "summaries": {name: numbers(self.summary(name)) for name in self.summaries},
            "errors": [
                {"text": text, "tokenizer": tokenizer, "error": error} for text, tokenizer, error in self.errors
            ],
            "remarks": [
                {"text": text, "tokenizer": tokenizer, "remark": remark} for text, tokenizer, remark in self.remarks
            ],
            "notes": [self.premium_note] if self.premium_note and "premium" in names else [],
            "trained_on": self.trained_on.tolist(),
            "loses_text": self.loses_text.tolist(),
            "versions": versions(),
            "measured": [
                {"bytes": one.bytes, "characters": one.characters, "lines": one.lines, "words": one.words,
                 "units": one.units, "sha256": one.sha256, "text_sha256": one.text_sha256}
                for one in self.measured
            ],
        }  # fmt: skip
        if level is not None:
            with_gini = (*names, "gini") if "premium" in names else names
            of_names = {name: numbers(self.intervals(name, level)) for name in with_gini if name in INTERVALS}
            content["intervals"] = {**asdict(Resampling(level)), "figures": of_names}
        if figures is None:
            shared = finish(self.overlap_work())
            content["overlap"] = {
                "tokenizers": shared.tokenizers,
                "jaccard": numbers(shared.jaccard),
                "shared_uses": numbers(shared.shared_uses),
            }
        return json.dumps(content, ensure_ascii=False)

    @property
    def errors(self) -> tuple[tuple[str, str, str], ...]:
        """Each text and tokenizer without a result, with the reason."""
        failed = sorted((key, str(error)) for key, error in self._results.items() if isinstance(error, TokStudioError))
        return tuple((self.texts[text], self.tokenizers[column], why) for (text, column), why in failed)

    @property
    def remarks(self) -> tuple[tuple[str, str, str], ...]:
        """Each remark on a text and a tokenizer: unknown tokens, text that is lost."""
        cells = sorted((key, cell) for key, cell in self._results.items() if isinstance(cell, Cell))
        return tuple(
            (self.texts[text], self.tokenizers[column], remark)
            for (text, column), cell in cells
            for remark in cell.counts.remarks
        )

    @property
    def loses_text(self) -> NDArray[np.bool_]:
        """Bool [texts, tokenizers], where the tokenizer does not know some of the text, or cannot restore it."""
        return self._table(lambda cell: cell.counts.loses_text) == 1

    @property
    def trained_on(self) -> NDArray[np.bool_]:
        """Bool [texts, tokenizers], where the tokenizer was trained on the text, as far as that is known."""
        table = [[text.is_among(each.trained_on) for each in self.compared] for text in self.measured]
        return np.array(table, np.bool_).reshape(len(self.measured), len(self.compared))

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What the figures are of: "tokenizer", "text" or "versions", and a sentence with sizes and hashes."""
        facts: list[tuple[str, str]] = []
        for each in self.compared:
            digest = finish(hash_work(each.tokenizer))
            facts.append(("tokenizer", each.sized_name + (f", SHA-256 {digest}" if digest else "")))
        facts += [
            ("text", f"{one.name}, {several(one.bytes, 'byte')}, SHA-256 {one.text_sha256}") for one in self.measured
        ]
        return (*facts, ("versions", ", ".join(versions())))

    def notes_of_intervals(self, resampling: Resampling, name: str) -> tuple[str, ...]:
        """How the intervals of a figure are made, and what has none for which reason, a sentence each."""
        of_all = len(self.measured) > 1 and not np.isnan(self.totals(name, encode=False)).all()
        of_rows = NOT_DRAWN if of_all else "", OF_GREATEST if name == "premium" else ""
        return tuple(filter(None, (f"{resampling}.", few_lines_note(self.measured), *of_rows)))

    def __repr__(self) -> str:
        return f"<Comparison: {several(len(self.compared), 'tokenizer')}, {several(len(self.measured), 'text')}>"

    def _repr_html_(self) -> str:
        tables: list[Markup] = [tag("p", repr(self))]
        for name in ("bytes_per_token", "tokens"):
            figure, values = figure_of(name), self.figure(name)
            cells = [
                ["" if np.isnan(value) else f"{value:,.{figure.decimals}f}" for value in row] for row in values.tolist()
            ]
            rows = [[text, *row] for text, row in zip(self.texts, cells, strict=True)]
            tables.append(table_view([figure.title, *self.tokenizers], rows, figure.formula))
        return joined(*tables)

    def _note_of_losses(self, ranked: Sequence[bool]) -> str:
        """Which tokenizers are not ranked because they lose text, as a sentence; "" for none."""
        losing = self.loses_text & np.array(ranked, np.bool_)
        names = [self.tokenizers[number] for number in np.flatnonzero(losing.any(axis=0))]
        return f"Not ranked beside others where text is lost: {', '.join(names)}." if names else ""

    def _figure(self, name: str, encode: bool) -> Figure:
        """The figure of a name; measures what it needs."""
        figure = figure_of(name)
        if encode:
            finish(self._parts_work(figure.need))
        return figure

    @property
    def _counts(self) -> NDArray[np.float64]:
        return self._table(FIGURES["tokens"].value)

    def _table(self, of: Callable[[Cell], float]) -> NDArray[np.float64]:
        values = np.full((len(self.measured), len(self.compared)), _NAN)
        for (text, tokenizer), cell in self._results.items():
            if isinstance(cell, Cell):
                values[text, tokenizer] = of(cell)
        return values

    def _whole(self, tokenizer: int) -> Cell | None:
        """All texts together; None where one is missing."""
        cells = [self.result(text, tokenizer) for text in range(len(self.measured))]
        measured = [cell for cell in cells if isinstance(cell, Cell)]
        if not measured or len(measured) < len(cells):
            return None
        first = measured[0]
        if len(measured) == 1:
            return first
        texts = self.measured
        text = replace(
            first.text,
            bytes=sum(text.bytes for text in texts),
            characters=sum(text.characters for text in texts),
            beyond_ascii=sum(text.beyond_ascii for text in texts),
            lines=sum(text.lines for text in texts),
            found_words=FoundOnce(lambda: (no_words(), texts[0].units, sum(text.words for text in texts))),
        )
        needs = [need for need in first.parts if all(need in cell.parts for cell in measured)]
        parts = {need: joined_parts([cell.parts[need] for cell in measured]) for need in needs}
        counts = joined_counts(tuple(cell.counts for cell in measured))
        if any(cell.counts.parts_of_characters is not None for cell in measured):
            of_cells = np.array([cell.parts_of_characters for cell in measured], np.float64)
            cut, crossing = of_cells.sum(axis=0).tolist()
            counts = replace(counts, parts_of_characters=(cut, crossing))
        return Cell(first.of, text, counts, parts)


def figure_of(name: str) -> Figure:
    """The figure of a name; raises ConfigError where there is none."""
    if name not in FIGURES:
        raise ConfigError(f'There is no figure "{name}": choose one of {", ".join(FIGURES)}.')
    return FIGURES[name]


def _names(figures: Sequence[str]) -> tuple[str, ...]:
    """The names of figures; raises ConfigError where there is one string, whose letters would be the names."""
    if isinstance(figures, str):
        raise ConfigError(f'The figures are a list of names: write ["{figures}"] in place of "{figures}".')
    return tuple(figures)


def compare(
    tokenizers: Mapping[str, AnyTokenizer],
    texts: Mapping[str, Source | Text | Sequence[Text]],
    base: str | None = None,
    threads: int | None = None,
    against: str | None = None,
) -> Comparison:
    """Compares tokenizers on texts.

    Args:
        tokenizers: The tokenizers by name.
        texts: The texts by name: each is one text, as a string or bytes, or a sequence of lines, encoded one by one.
        base: The text that premiums relate to: the same lines in another language.
        threads: At most so many; None is one per core.
        against: The tokenizer that normalised lengths relate to; None for the first.

    Raises:
        ConfigError: There are no tokenizers or texts, or none has the name of `base` or `against`.
    """
    return finish(compare_work(tokenizers, texts, base, threads, against))


def compare_work(
    tokenizers: Mapping[str, AnyTokenizer],
    texts: Mapping[str, Source | Text | Sequence[Text]],
    base: str | None = None,
    threads: int | None = None,
    against: str | None = None,
    trained_on: Mapping[str, Collection[str]] | None = None,
    held_out: frozenset[str] = frozenset(),
) -> Work[Comparison]:
    """Does the same as `compare` in bounded pieces.

    `trained_on` has `Compared.also_trained_on` of some tokenizers, and `held_out` the marks of the texts, see
    `held_out_marks`.
    """
    if not tokenizers or not texts:
        raise ConfigError("Give at least one tokenizer and one text to compare.")
    if base is not None and base not in texts:
        raise ConfigError(f'No text is named "{base}": the base must be one of the texts.')
    if against is not None and against not in tokenizers:
        raise ConfigError(f'No tokenizer is named "{against}": lengths must relate to one of the tokenizers.')
    also = trained_on or {}
    compared = [Compared(name, tokenizer, also.get(name, ())) for name, tokenizer in tokenizers.items()]
    budget = Budget()
    measured = yield from together(
        "reading", ((1, text_work(name, text, held_out=held_out, budget=budget)) for name, text in texts.items())
    )
    results = yield from cells_work(compared, measured, threads)
    return Comparison(
        compared,
        measured,
        results,
        None if base is None else list(texts).index(base),
        0 if against is None else list(tokenizers).index(against),
    )


def cells_work(
    compared: Sequence[Compared], texts: Sequence[ComparedText], threads: int | None = None
) -> Work[dict[tuple[int, int], Cell | TokStudioError]]:
    """Counts the tokens of each text by each tokenizer; an error of one is its result."""
    keys = [(text, tokenizer) for text in range(len(texts)) for tokenizer in range(len(compared))]
    results: dict[tuple[int, int], Cell | TokStudioError] = {}

    def tell(number: int, counts: TokenCounts | TokStudioError) -> None:
        text, tokenizer = keys[number]
        is_failure = isinstance(counts, TokStudioError)
        results[keys[number]] = counts if is_failure else Cell(compared[tokenizer], texts[text], counts)

    works = [partial(counts_work, compared[tokenizer].tokenizer, texts[text]) for text, tokenizer in keys]
    yield from in_threads("encoding", works, tell, threads)
    return results
