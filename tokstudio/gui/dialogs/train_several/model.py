"""The planned trainings as rows to edit, and the ways to make several of one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from PySide6.QtCore import QModelIndex, QObject, Qt
from PySide6.QtGui import QFont

from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.settings import SETTINGS, SettingColumn
from tokstudio.gui.state.training_plans import TrainingPlan, entries_of, problem_of_plans
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import LARGEST
from tokstudio.gui.widgets.figures import Index, TableModel

_OFF = "–"

Change: TypeAlias = dict[str, Any]  # of one field of the settings, or of "percent" or "weights"
_OF_PLANS = ("percent", "weights")
_MOST_NAMED = 8


@dataclass(frozen=True)
class PlanColumn:
    """A field of a plan."""

    title: str
    tip: str
    field: str  # of the settings, or "percent" or "weights"
    width: int
    choices: Mapping[str, str] | None = None  # the values with their names; None for a number
    most: int = LARGEST
    suffix: str = ""
    optional: bool = False  # whether 0 stands for no value
    is_text: bool = False  # whether it is typed
    each: str = ""  # what has a row each where all values are tried


def _columns() -> Iterator[PlanColumn]:
    for setting in SETTINGS.values():
        if isinstance(column := setting.column, SettingColumn):
            names = column.names or {value: name for value, (name, _) in setting.choices.items()} or None
            optional = setting.kind == "limit"
            yield PlanColumn(
                column.title, column.tip, setting.name, column.width, names, optional=optional, each=column.each
            )
    yield PlanColumn("Corpus", "The share of the corpus, taken from all over it", "percent", 70, most=100, suffix=" %")
    tip = "How much each source counts, in order, with commas between them; empty for the weights in Corpus"
    yield PlanColumn("Weights", tip, "weights", 94, is_text=True)


COLUMNS = tuple(_columns())
WEIGHTS = len(COLUMNS) - 1
#: The changes that make several rows of one, by what the menu says.
VARIATIONS: Mapping[str, Sequence[Change]] = {
    **{
        f"Each &{column.each}": [{column.field: value} for value in column.choices]
        for column in COLUMNS
        if column.choices
    },
    "&Samples of 10, 25, 50 and 100 %": [{"percent": percent} for percent in (10, 25, 50, 100)],
}


class PlansModel(TableModel):
    """One row per training.

    Args:
        plans: The first rows.
        configured: The settings of Configure, which has those of its algorithm.
        defaults: The default settings.
        corpus: What they would be trained on.
    """

    titles = tuple(column.title for column in COLUMNS)
    tips = tuple(column.tip for column in COLUMNS)
    numbers = frozenset(at for at, column in enumerate(COLUMNS) if column.choices is None and not column.is_text)

    def __init__(
        self,
        plans: Sequence[TrainingPlan],
        configured: Settings,
        defaults: Settings,
        corpus: Corpus,
        theme: Theme,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._configured, self._defaults, self._corpus, self._theme = configured, defaults, corpus, theme
        self._problems: dict[TrainingPlan, str | None] = {}
        self.plans = list(plans)

    @property
    def problem(self) -> str | None:
        """Why the rows cannot be trained, in one sentence; None if they can."""
        return problem_of_plans(self.plans, self._corpus)

    def set_corpus(self, corpus: Corpus) -> None:
        """Checks the rows for another corpus."""
        if (corpus.sources, corpus.weights) != (self._corpus.sources, self._corpus.weights):
            self._corpus = corpus
            self._problems.clear()
            self.tell()

    # ---- rows

    def duplicate(self, rows: Sequence[int]) -> list[int]:
        """Adds a copy behind each of some rows; returns the rows of the copies."""
        return self._replace(rows, lambda plan: [plan, plan], 1)

    def vary(self, rows: Sequence[int], changes: Sequence[Change]) -> None:
        """Replaces each of some rows by one for each change, but makes no two alike."""
        self._replace(rows, lambda plan: [self._changed(plan, change) for change in changes], 0)
        plans = list(dict.fromkeys(self.plans))
        if len(plans) < len(self.plans):
            with self.reset():
                self.plans = plans

    def add(self, plan: TrainingPlan) -> int:
        """Adds a row at the end; returns it."""
        at = len(self.plans)
        self.beginInsertRows(QModelIndex(), at, at)
        self.plans.append(plan)
        self.endInsertRows()
        return at

    def remove(self, rows: Sequence[int]) -> None:
        """Removes some rows."""
        for at in sorted(rows, reverse=True):
            self.beginRemoveRows(QModelIndex(), at, at)
            del self.plans[at]
            self.endRemoveRows()

    def _replace(
        self, rows: Sequence[int], make: Callable[[TrainingPlan], list[TrainingPlan]], chosen: int
    ) -> list[int]:
        with self.reset():
            plans, places = list[TrainingPlan](), list[int]()
            for at, plan in enumerate(self.plans):
                if at in rows:
                    places.append(len(plans) + chosen)
                plans += make(plan) if at in rows else [plan]
            self.plans = plans
        return places

    def count(self) -> int:
        return len(self.plans)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        has = index.isValid() and _has(self.plans[index.row()], COLUMNS[index.column()])
        return flags | Qt.ItemFlag.ItemIsEditable if has else flags

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation == Qt.Orientation.Vertical and role == Qt.ItemDataRole.DisplayRole:
            return section + 1
        return super().headerData(section, orientation, role)

    def text(self, row: int, column: int) -> str:
        plan, shown = self.plans[row], COLUMNS[column]
        return _text(value_of(plan, shown), shown) if _has(plan, shown) else _OFF

    def tip(self, row: int, column: int) -> str:
        return self._problem_of(self.plans[row]) or self._tip_of(self.plans[row], COLUMNS[column])

    def _tip_of(self, plan: TrainingPlan, column: PlanColumn) -> str:
        """The tip of a column; of weights with each source, as a narrow column shows only the first."""
        if column.field != "weights":
            return column.tip
        names = [entry.name for entry in entries_of(self._corpus.sources)]
        weights = plan.weights.split(", ") if plan.weights else [""] * len(names)
        each = [f"{name} {weight}".strip() for name, weight in zip(names, weights, strict=False)]
        return f"{column.tip}: {first_few(each, _MOST_NAMED, str)}."

    def colour(self, row: int, column: int) -> str | None:
        """Marks a row that cannot be trained; its tip says why."""
        return self._theme.palette.error if self._problem_of(self.plans[row]) is not None else None

    def font(self, row: int, column: int) -> QFont:
        return self._theme.tabular_font()

    def more(self, row: int, column: int, role: int) -> object:
        return value_of(self.plans[row], COLUMNS[column]) if role == Qt.ItemDataRole.EditRole else None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if not index.isValid() or role != Qt.ItemDataRole.EditRole:
            return False
        column = COLUMNS[index.column()]
        self.plans[index.row()] = self._changed(self.plans[index.row()], {column.field: value})
        self.tell(index.row(), index.row())
        return True

    def _problem_of(self, plan: TrainingPlan) -> str | None:
        if plan not in self._problems:
            self._problems[plan] = plan.problem_on(self._corpus)
        return self._problems[plan]

    def _changed(self, plan: TrainingPlan, change: Change) -> TrainingPlan:
        """A plan with another value of a field, and what follows from it."""
        ((name, value),) = change.items()
        if name == "weights":
            parts = (part.strip() for part in str(value).split(","))
            return replace(plan, weights=", ".join(parts) if str(value).strip() else "")
        if name == "percent":
            return replace(plan, percent=value)
        if name == "algorithm":
            settings = plan.settings.with_usual(value, self._configured, self._defaults)
        elif name == "vocabulary_size":
            settings = plan.settings.with_size(value)
        else:
            settings = replace(plan.settings, **change)
        return replace(plan, settings=settings)


def _has(plan: TrainingPlan, column: PlanColumn) -> bool:
    return column.field in _OF_PLANS or plan.settings.has(column.field)


def value_of(plan: TrainingPlan, column: PlanColumn) -> Any:  # noqa: ANN401  texts, numbers and None
    """The value of a field."""
    return getattr(plan if column.field in _OF_PLANS else plan.settings, column.field)


def _text(value: Any, column: PlanColumn) -> str:  # noqa: ANN401
    if column.choices is not None:
        return column.choices.get(value, value)
    if column.is_text:
        return value or _OFF
    return _OFF if value is None else f"{value:,}{column.suffix}"
