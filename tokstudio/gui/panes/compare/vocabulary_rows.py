"""The rows of two compared vocabularies: which part of them, filtered and sorted in a job."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.comparison.vocabularies import Vocabularies
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.verification.reachability import REACHED, reachability_work
from tokstudio.gui.state.run_tokens import KINDS
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.kinds import LOOKS, MADE
from tokstudio.gui.token_table.query import Query
from tokstudio.gui.token_text.spelling import figure, marked, shown

_Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_STEP = 1 << 11
_MERGE = KINDS.index("merge")

#: The filters beside the text, as those of the Vocabulary pane; special tokens are not compared.
KINDS_SHOWN = tuple(name for name in MADE if name != "Special")
IN_TEXTS, NOT_IN_TEXTS = "In the texts", "Not in the texts"

LONGEST = 16  # lengths from which all share a row of the summary

#: The parts of two vocabularies.
ONLY_FIRST, BOTH, ONLY_SECOND = range(3)
TOKEN, LENGTH, ID, RANK, USES, SECOND_ID, SECOND_RANK, SECOND_USES, SCRIPT = range(9)
TITLES = ("Token", "Length", "Id", "Merge", "Uses", "Id", "Merge", "Uses", "Script")
_TIPS = {
    LENGTH: "How many bytes it has",
    ID: "Its id",
    RANK: "Number of the merge that makes it; a dash for none",
    USES: "How often it occurs in the texts",
    SCRIPT: "The script of its first letter",
}


@dataclass(frozen=True, eq=False)
class Pair:
    """Two vocabularies with what is known of their tokens."""

    names: tuple[str, str]
    vocabularies: Vocabularies
    lengths: NDArray[np.int64]  # [n], bytes of each token
    uses: tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]  # [n] each; None until they are known
    tokenizers: tuple[Tokenizer, Tokenizer]
    kinds: NDArray[np.int8]  # [n, 2], the kind of each token in each tokenizer, an index into `KINDS`; -1: missing
    flags: NDArray[np.uint8]  # [n], as `describe_token` gives them
    unreachable: list[NDArray[np.bool_]] = field(default_factory=list[NDArray[np.bool_]])  # found when first needed

    def part(self, part: int) -> NDArray[np.bool_]:
        """Bool [n], which tokens belong to a part."""
        first, second = self.vocabularies.is_in.T
        return (first & ~second, first & second, second & ~first)[part]


@dataclass(frozen=True)
class ListQuestion:
    """Which tokens are listed."""

    part: int
    query: Query
    script: str | None = None
    length: int | None = None  # `LONGEST` and all above it are one
    chosen: frozenset[str] = frozenset()  # names of `KINDS_SHOWN`, `LOOKS`, `IN_TEXTS` and `NOT_IN_TEXTS`
    lengths: tuple[int, int] | None = None  # the least and the most bytes; None for any
    column: int = RANK
    descending: bool = False


def rows_work(pair: Pair, question: ListQuestion) -> Work[NDArray[np.int64]]:
    """int64, the numbers of the tokens to list."""
    found = pair.part(question.part)
    if question.script is not None:
        found &= pair.vocabularies.scripts == pair.vocabularies.script_names.index(question.script)
    if question.length is not None:
        found &= np.minimum(pair.lengths, LONGEST) == question.length
    if question.lengths is not None:
        found &= (pair.lengths >= question.lengths[0]) & (pair.lengths <= question.lengths[1])
    found &= yield from _chosen_work(pair, question.chosen)
    query = question.query
    found &= query.within(pair.lengths)
    rows = np.flatnonzero(found)
    if query.needs_heads or query.byte is not None or query.number is not None:
        kept: list[int] = []
        for number, row in enumerate(rows.tolist()):
            ids = pair.vocabularies.ids[row].tolist()
            if query.accepts(pair.vocabularies.tokens[row]) or (query.number is not None and query.number in ids):
                kept.append(row)
            if number % _STEP == 0:
                yield Progress("searching tokens", number, len(rows))
        rows = np.array(kept, np.int64)
    yield Progress("sorting tokens")
    key = _key(pair, question)[rows]
    return rows[np.argsort(-key if question.descending else key, kind="stable")]


def _chosen_work(pair: Pair, chosen: frozenset[str]) -> Work[NDArray[np.bool_]]:
    """Which tokens have one of the chosen kinds in one of the tokenizers, one of the forms, and of the uses."""
    found = np.ones(len(pair.lengths), np.bool_)
    made = [KINDS.index(kind) for name in chosen if name in MADE for kind in MADE[name]]
    if made:
        found &= np.isin(pair.kinds, made).any(axis=1)
        if "Unreachable" in chosen:
            yield from _unreachable_work(pair)
            found |= pair.unreachable[0] | pair.unreachable[1]
    looks = sum(LOOKS[name] for name in chosen if name in LOOKS)
    if looks:
        found &= pair.flags & looks > 0
    used = np.zeros(len(pair.lengths), np.bool_)
    for uses in pair.uses:
        used |= uses > 0 if uses is not None else False
    if (IN_TEXTS in chosen) != (NOT_IN_TEXTS in chosen):
        found &= used == (IN_TEXTS in chosen)
    return found


def _unreachable_work(pair: Pair) -> Work[None]:
    """Finds the tokens that no text becomes in one of the tokenizers."""
    for which in range(len(pair.unreachable), 2):
        reach = yield from reachability_work(pair.tokenizers[which])
        ids = pair.vocabularies.ids[:, which]
        pair.unreachable.append((ids >= 0) & (reach[ids] != REACHED))


def kinds_work(vocabularies: Vocabularies, tokenizers: tuple[Tokenizer, Tokenizer]) -> Work[NDArray[np.int8]]:
    """The kinds of the tokens, as `Pair` has them."""
    kinds = np.where(vocabularies.ranks > 0, _MERGE, -1).astype(np.int8)
    for which, tokenizer in enumerate(tokenizers):
        ids = vocabularies.ids[:, which]
        for number, row in enumerate(np.flatnonzero((ids >= 0) & (vocabularies.ranks[:, which] == 0)).tolist()):
            kinds[row, which] = KINDS.index(tokenizer.kind(int(ids[row])))
            if number % _STEP == 0:
                yield Progress("comparing vocabularies", number)
    return kinds


def _key(pair: Pair, question: ListQuestion) -> NDArray[np.int64]:
    vocabularies, column = pair.vocabularies, question.column
    if column == TOKEN:
        order = sorted(range(len(vocabularies.tokens)), key=vocabularies.tokens.__getitem__)
        return np.argsort(np.array(order, np.int64))
    if column == LENGTH:
        return pair.lengths
    if column == SCRIPT:
        return vocabularies.scripts
    which, column = divmod(column - ID, 3)
    if column == USES - ID:
        uses = pair.uses[which]
        return np.zeros(len(pair.lengths), np.int64) if uses is None else uses
    return (vocabularies.ids, vocabularies.ranks)[column][:, which]


class VocabularyRows(QAbstractTableModel):
    """The listed tokens."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.pair: Pair | None = None
        self._rows: NDArray[np.int64] = np.zeros(0, np.int64)
        self._numbered = False

    def show(self, pair: Pair | None, rows: NDArray[np.int64], *, numbered: bool = False) -> None:
        """Lists some tokens of a pair. If `numbered`, titles say which of the tokenizers a column is of, 1 or 2."""
        self.beginResetModel()
        self.pair, self._rows, self._numbered = pair, rows, numbered
        self.endResetModel()

    def ids_at(self, row: int) -> tuple[int, int]:
        """The ids of the token in a row; -1 where a tokenizer lacks it."""
        assert self.pair is not None
        first, second = self.pair.vocabularies.ids[self._rows[row]].tolist()
        return first, second

    def rowCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of listed tokens."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of columns."""
        return 0 if parent.isValid() else len(TITLES)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Names the columns."""
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(TITLES):
            return None
        of_one = ID <= section < SCRIPT
        if role == Qt.ItemDataRole.DisplayRole:
            number = f" {1 + (section >= SECOND_ID)}" if of_one and self._numbered else ""
            return TITLES[section] + number
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if section in (TOKEN, SCRIPT) else _RIGHT
        if role == Qt.ItemDataRole.ToolTipRole:
            column = ID + (section - ID) % 3 if of_one else section
            name = self.pair.names[section >= SECOND_ID] if self.pair is not None and of_one else ""
            return ", ".join(filter(None, (name, _TIPS.get(column, ""))))
        return None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Returns the content of a cell."""
        pair, column = self.pair, index.column()
        if pair is None or not index.isValid() or index.row() >= len(self._rows):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(pair, int(self._rows[index.row()]), column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _LEFT if column in (TOKEN, SCRIPT) else _RIGHT
        if role == Qt.ItemDataRole.FontRole:
            return self._theme.monospace_font() if column == TOKEN else self._theme.tabular_font()
        return None

    def _text(self, pair: Pair, row: int, column: int) -> str:
        vocabularies = pair.vocabularies
        if column == TOKEN:
            return marked(shown(vocabularies.tokens[row]))
        if column == LENGTH:
            return f"{pair.lengths[row]:,}"
        if column == SCRIPT:
            return vocabularies.script_names[vocabularies.scripts[row]].replace("None", "–")
        which, column = divmod(column - ID, 3)
        if column == USES - ID:
            uses = pair.uses[which]
            return figure(None if uses is None or vocabularies.ids[row, which] < 0 else int(uses[row]))
        value = int((vocabularies.ids, vocabularies.ranks)[column][row, which])
        return figure(value if value > 0 or (value == 0 and column == 0) else None)
