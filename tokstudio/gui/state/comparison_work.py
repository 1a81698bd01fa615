"""The work of comparing: what is measured of each text by each tokenizer, and what is known already."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tokstudio.core.analysis.baselines import WORDS, WordTokenizer
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.comparison.counts import AnyTokenizer, TokenCounts, counts_work, words_work
from tokstudio.core.comparison.figures import Cell, Compared
from tokstudio.core.comparison.texts import NO_WORDS, ComparedText
from tokstudio.core.corpus.source import Source
from tokstudio.core.tokenizer.counts_by_merge import CountsByMerge, counts_by_merge_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

#: What is measured of a text by a tokenizer.
Found = Cell | CountsByMerge | TokStudioError
Key = tuple[str, tuple[object, object]]  # the hash of a text, and the key of a column


@dataclass(frozen=True)
class ComparedColumn:
    """A tokenizer of the table."""

    name: str
    # The identity of a run, with its merges; or a name of `SIMPLE`, for "Words and marks" with the texts.
    key: tuple[object, object]
    tokenizer: AnyTokenizer | None  # None for the words of the texts
    whole: Tokenizer | None = None  # of the active run with all merges, where the playhead is before its end
    trained_on: tuple[str, ...] = ()  # as `Compared.also_trained_on`

    @property
    def by_merge(self) -> tuple[object, object]:
        """The key of its counts after any number of merges."""
        return self.key[0], "by merge"


def missing_works(
    known: dict[Key, Found], rows: Sequence[ComparedText], columns: Sequence[ComparedColumn], needs_words: bool
) -> dict[Key, Callable[[], Work[Cell] | Work[CountsByMerge]]]:
    """What is to be measured."""
    works: dict[Key, Callable[[], Work[Cell] | Work[CountsByMerge]]] = {}
    for row in rows:
        for column in columns:
            key, by_merge = (row.sha256, column.key), (row.sha256, column.by_merge)
            found, counts = known.get(key), known.get(by_merge)
            if column.whole is not None and counts is None:
                all_merges = known.get((row.sha256, (column.key[0], len(column.whole.merges))))
                works[by_merge] = partial(_by_merge_work, row, column.whole, all_merges)
            elif column.whole is not None and isinstance(counts, CountsByMerge) and not needs_words:
                continue
            elif found is None or (needs_words and isinstance(found, Cell) and found.words is None):
                works[key] = partial(_cell_work, row, column, found, needs_words)
    return works


def _by_merge_work(row: ComparedText, tokenizer: Tokenizer, known: Found | None) -> Work[CountsByMerge]:
    """Encodes a text once for all positions of the playhead, unless the counts after all merges are known."""
    counts = known.counts if isinstance(known, Cell) else (yield from counts_work(tokenizer, row))
    by_id = np.zeros(len(tokenizer.tokens), np.int64)
    by_id[counts.ids] = counts.counts
    return (yield from counts_by_merge_work(tokenizer, by_id))


def cell_at(row: ComparedText, column: ComparedColumn, counts: CountsByMerge) -> Cell:
    """What the tokenizer at the playhead makes of a text."""
    assert column.tokenizer is not None
    by_id = counts.at(int(str(column.key[1])))
    used = np.flatnonzero(by_id)
    return Cell(Compared(column.name, column.tokenizer), row, TokenCounts(used, by_id[used]))


def with_words_work(columns: Sequence[ComparedColumn], rows: Sequence[ComparedText]) -> Work[list[ComparedColumn]]:
    """Makes the tokenizer of the words of all texts."""
    made: list[ComparedColumn] = []
    for column in columns:
        if column.tokenizer is None:
            text = b"\n".join(np.asarray(row.source.data).tobytes() for row in rows)
            words = yield from WordTokenizer.from_text_work(text, WORDS)
            column = ComparedColumn(column.name, (column.name, tuple(row.sha256 for row in rows)), words)
        made.append(column)
    return made


def _cell_work(row: ComparedText, column: ComparedColumn, known: Found | None, needs_words: bool) -> Work[Cell]:
    """Measures a text by a tokenizer; what takes long to derive is derived here."""
    assert column.tokenizer is not None
    cell = known if isinstance(known, Cell) else None
    if cell is None:
        # What is kept does not keep the text.
        text = replace(row, source=Source.from_texts([]), word_types=NO_WORDS)
        cell = Cell(Compared(column.name, column.tokenizer), text, (yield from counts_work(column.tokenizer, row)))
    if needs_words and cell.words is None:
        cell = replace(cell, words=(yield from words_work(column.tokenizer, row)))
    _ = cell.cuts, cell.shares
    return cell


def base_of(rows: Sequence[ComparedText], chosen: str | None, *, is_parallel: bool) -> int | None:
    """The text that premiums relate to: the chosen one, English, or the first; None where lines differ in number."""
    names = [row.name for row in rows]
    if not names or (not is_parallel and len({row.lines for row in rows}) > 1):
        return None
    if chosen in names:
        return names.index(chosen)
    return next((at for at, name in enumerate(names) if name.startswith("English")), 0)
