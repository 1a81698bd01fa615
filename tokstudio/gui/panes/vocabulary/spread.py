"""Where in the corpus of the window the tokens at the playhead are: range, top document, bunched, DP, emitted.

Computed for all tokens at once, only when a column or a filter asks for it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import share_text
from tokstudio.core.corpus.source import document_place
from tokstudio.core.exploration.dispersion import DOCUMENT_UNIT, Dispersion
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.session.measuring.exploring import WrittenTable, table_work
from tokstudio.gui.token_table.filters import IN_ONE, MOSTLY_IN_ONE, MOSTLY_REPEATED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.exploration.exploration import Exploration

_MOSTLY = 0.9  # of the uses of a token
_REPEATED = "repeated-lines"


@dataclass(frozen=True, eq=False)
class Spread:
    """The figures of all tokens of an exploration, by id."""

    exploration: Exploration
    measured: Dispersion
    repeated: NDArray[np.bool_] | None  # which have 90 % of their uses in lines that were there before; None if unasked

    @property
    def of_documents(self) -> bool:
        """Whether range and top document are counted over documents, and not over pieces."""
        return self.measured.part_unit == DOCUMENT_UNIT

    def top_place(self, token: int) -> str:
        """The document, or the piece, with most uses of a token; "" for none."""
        part = int(self.measured.top_part[token])
        if part < 0:
            return ""
        if not self.of_documents:
            return f"piece {part + 1:,}"
        for source in self.exploration.corpus.sources:
            if part < source.documents:
                return document_place(source, part) or source.name
            part -= source.documents
        return ""

    def top_text(self, token: int) -> str:
        """The share of the uses of a token in its top document, and this, without the name of an only source."""
        share, sources = float(self.measured.top_share[token]), self.exploration.corpus.sources
        place = self.top_place(token)
        if len(sources) == 1:
            place = place.removeprefix(f"{sources[0].name}, ")
        return f"{share_text(share)} {place}"

    def in_places(self, chosen: frozenset[str]) -> NDArray[np.bool_] | None:
        """Bool [ids], which tokens are in one of the chosen places; None where none is chosen."""
        measured, found = self.measured, list["NDArray[np.bool_]"]()
        if IN_ONE in chosen:
            found.append(measured.range == 1)
        if MOSTLY_IN_ONE in chosen:
            found.append(measured.top_share >= _MOSTLY)
        if MOSTLY_REPEATED in chosen and self.repeated is not None:
            found.append(self.repeated)
        return np.logical_or.reduce(found) if found else None


def spread_work(exploration: Exploration, with_lines: bool) -> Work[Spread]:
    """Finds where all tokens are; with `with_lines`, also which are mostly in repeated lines."""
    measured = yield from exploration.dispersion_work()
    if not with_lines:
        return Spread(exploration, measured, None)
    repeated = np.zeros(len(measured.uses), np.bool_)
    for finding in (yield from exploration.findings_work((_REPEATED,))):
        if finding.rule == _REPEATED:
            repeated[finding.tokens] = True
    return Spread(exploration, measured, repeated)


# --- The table as a file ----------------------------------------------------------------------------------------------

_TITLES = ("id", "kind", "text", "hex", "bytes", "uses_in_the_text")
_OF_PARTS = ("top_{}", "top_share", "bunched", "dp", "dp_norm", "emitted")


def written(spread: Spread, ids: NDArray[np.int32]) -> WrittenTable | None:
    """The tokens with these ids as a table that can be written; None where they are not tokens of merges."""
    tokenizer = spread.exploration.tokenizer
    if not isinstance(tokenizer, Tokenizer):
        return None
    return WrittenTable("Vocabulary as CSV", "vocabulary.csv", partial(_write_work, spread, tokenizer, ids))


def _write_work(spread: Spread, tokenizer: Tokenizer, ids: NDArray[np.int32], path: Path) -> Work[Path]:
    unit = spread.measured.part_unit
    titles = (*_TITLES, unit, *(title.format(unit[:-1]) for title in _OF_PARTS))
    return (yield from table_work(path, titles, _rows(spread, tokenizer, ids)))


def _rows(spread: Spread, tokenizer: Tokenizer, ids: NDArray[np.int32]) -> Iterator[Sequence[object]]:
    measured = spread.measured
    figures = (measured.top_share, measured.bunched, measured.dp, measured.dp_norm, measured.emitted)
    for token in ids.tolist():
        raw = tokenizer.bytes_of(token)
        text = raw.decode("utf-8", "replace")
        of_token = (token, tokenizer.kind(token), text, raw.hex(), len(raw))
        known = token < len(measured.uses)
        counts = (int(measured.uses[token]), int(measured.range[token])) if known else ("", "")
        more = (
            (spread.top_place(token), *("" if np.isnan(each[token]) else float(each[token]) for each in figures))
            if known
            else ("",) * (1 + len(figures))
        )
        yield (*of_token, *counts, *more)
