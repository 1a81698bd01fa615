"""The submissions as rows, with what was found in each; and the job that checks them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import printable
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.teaching.check import Checker, CheckSettings
from tokstudio.core.teaching.exercise import Outcome, causes_text, outcome_work, paths_of
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import plain

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_TITLES = ("Submission", "Merges", "First difference", "Causes")
_TIPS = (
    "The file, or the folder of one training",
    "How many merges it has",
    "The number of the first merge that differs from the right one",
    "The mistakes that give exactly this list; “or” stands between several that fit",
)


class Checking:
    """Checks submissions in a job, which adds the outcomes one by one; another thread may read them meanwhile."""

    def __init__(self, given: Sequence[Path], corpus: Callable[[], Work[Corpus]], settings: CheckSettings) -> None:
        self._given, self._corpus, self._settings = given, corpus, settings
        self.names: list[str] = []
        self.outcomes: list[Outcome] = []

    def work(self) -> Work[None]:
        """Does it."""
        corpus = yield from self._corpus()
        checker = Checker(corpus, self._settings)
        paths = list(paths_of(self._given))
        self.names = list(map(file_name, paths))
        for path in paths:
            self.outcomes.append((yield from outcome_work(path, checker)))


class OutcomesModel(QAbstractTableModel):
    """One row per submission, checked or not."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.names: list[str] = []
        self.outcomes: list[Outcome] = []

    def show(self, names: Sequence[str], outcomes: Sequence[Outcome]) -> None:
        """Shows names, the first of them with their outcomes."""
        if list(names) != self.names:
            self.beginResetModel()
            self.names, self.outcomes = list(names), list(outcomes)
            self.endResetModel()
        elif len(outcomes) != len(self.outcomes):
            before, self.outcomes = len(self.outcomes), list(outcomes)
            first, last = min(before, len(outcomes)), max(before, len(outcomes)) - 1
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(_TITLES) - 1))

    def outcome(self, at: int) -> Outcome | None:
        """What was found in a row."""
        return self.outcomes[at] if 0 <= at < len(self.outcomes) else None

    # ---- Qt's own

    def rowCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of submissions."""
        return 0 if parent.isValid() else len(self.names)

    def columnCount(self, parent: _Index = _NO_INDEX) -> int:
        """Returns the number of columns."""
        return 0 if parent.isValid() else len(_TITLES)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Returns the headings with their tips."""
        if orientation == Qt.Orientation.Vertical:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return _TITLES[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return _TIPS[section]
        return _alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Returns the text of a cell; a submission that cannot be read is red."""
        if not index.isValid():
            return None
        outcome = self.outcome(index.row())
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            text = self._text(index, outcome)
            return plain(text) if role == Qt.ItemDataRole.ToolTipRole else text
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(index.column())
        if role == Qt.ItemDataRole.ForegroundRole and outcome is not None and outcome.check is None:
            return QColor(self._theme.palette.error)
        return self._theme.tabular_font() if role == Qt.ItemDataRole.FontRole else None

    def _text(self, index: _Index, outcome: Outcome | None) -> str:
        column = index.column()
        if column == 0:
            return self.names[index.row()]
        if outcome is None:
            return "Not checked" if column == 3 else ""
        if column == 3:
            return "Identical" if outcome.identical else printable(causes_text(outcome))
        found = outcome.check
        if found is None:
            return ""
        if column == 1:
            return f"{found.merges:,}"
        return f"{found.difference.place:,}" if found.difference is not None else "None"


def _alignment(column: int) -> int:
    return _RIGHT if column in (1, 2) else _LEFT
