"""The dialog Compare Sizes of Extend: what each number of new tokens would give, and a click takes one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QModelIndex, QObject, QSize, Signal
from PySide6.QtWidgets import QHeaderView, QWidget

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import capitalized, percent_text, several, size_text
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.surgery.extension_sheet import ExtensionSheet, check_sheet_work, sheet_work, trained_for_sheet_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.training.trainer import Trainer
from tokstudio.gui.dialogs.surgery.works import LARGEST_REFERENCE, beginning_of
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.measuring.compared import TextSet
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice
from tokstudio.gui.widgets.fields import ChoiceField
from tokstudio.gui.widgets.figures import ReadOnlyTable, TableModel
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, row
from tokstudio.gui.widgets.pane import WorkDialog

_SIZE = QSize(860, 560)
_NO_REFERENCE = Choice(None, "None", "Other texts are opened in Compare.")
_OF_CORPUS, _HELD_OUT, _OF_PANE = "corpus", "held out", "text"  # keys of sets of texts


@dataclass(frozen=True)
class SheetPlan:
    """The training of which sizes are compared."""

    start: Callable[[], Work[Tokenizer]]
    corpus: Corpus
    config: TrainingConfig  # with the share that is held out
    filled: tuple[str, ...]  # the reserved tokens whose ids the first new tokens get


class SheetModel(TableModel):
    """A row for each size."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.sheet: ExtensionSheet | None = None
        self._cells: list[tuple[str, ...]] = []

    def show(self, sheet: ExtensionSheet | None) -> None:
        """Replaces the rows and the titles."""
        with self.reset():
            self.sheet = sheet
            self.titles = [] if sheet is None else [capitalized(title) for title in sheet.titles]
            self.numbers = range(len(self.titles))
            self._cells = [] if sheet is None else [sheet.cells(each) for each in sheet.rows]

    def count(self) -> int:
        return len(self._cells)

    def text(self, row: int, column: int) -> str:
        return self._cells[row][column]


class SheetDialog(WorkDialog):
    """Trains once, in a job, and lists what each number of new tokens would give."""

    chosen = Signal(int)  # the number of new tokens of the row that was clicked

    def __init__(self, session: Session, theme: Theme, plan: SheetPlan, parent: QWidget | None) -> None:
        super().__init__("Compare Sizes", session.jobs.pauses.dialogs, parent)
        self._plan = plan
        self._trainer: Trainer | None = None  # that of the last sheet
        self._job = LatestJob(session.jobs, self, self._take, self._fail, quiet=True)
        choices = _references(session)
        self.reference = ChoiceField("&Reference texts", choices, theme)
        sets: list[TextSet] = [choice.value for choice in choices[1:]]
        self.reference.set_value(next((each for each in sets if each.key == _OF_PANE), None))
        self.reference.changed.connect(self._compare)
        self.model = SheetModel(self)
        self.table = ReadOnlyTable("What each number of new tokens would give", self.model)
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.table.clicked.connect(self._choose)
        self.table.activated.connect(self._choose)
        about = (
            f"One training on {percent_text(1 - plan.config.held_out)} of the corpus. Tokens saved are counted on the "
            "rest of each source and on the reference texts. Used are the new tokens that the rest has."
        )
        buttons = row((self.bar, 1), STRETCH, self.close_button, spacing=8)
        parts = (self.reference, (self.table, 1), self.note, buttons)
        self.fill(theme, _SIZE, paragraph_label("muted", about), *parts)
        self.finished.connect(self._job.cancel)
        self._compare()

    # ---- the work

    def _compare(self) -> None:
        self.model.show(None)
        self._begin(partial(_compared_work, self._plan, self.reference.value, self._trainer))

    def _take(self, result: tuple[Trainer, ExtensionSheet]) -> None:
        self._trainer, sheet = result
        self.model.show(sheet)
        made, size = sheet.rows[-1].added, self._plan.config.vocabulary_size
        assert self._trainer.start is not None
        fewer = "" if size in (None, len(self._trainer.start) + made) else f" It ends after {made:,}: {sheet.ended}."
        self._settle(f"{several(len(sheet.rows), 'size')}. A click on a row takes its size.{fewer}")
        self.table.setFocus()

    def _fail(self, error: Exception) -> None:
        self._settle(problem_of(error).text, "error")

    def _doing(self, progress: Progress) -> str:
        return f"{capitalized(progress.phase)}{progress.detail}…" if progress.phase else "Beginning…"

    def _refresh(self) -> None:
        self._show_busy(self.reference)

    # ---- the choice

    def _choose(self, index: QModelIndex) -> None:
        if self.model.sheet is not None and index.isValid():
            chosen = self.model.sheet.rows[index.row()]
            self.chosen.emit(chosen.added)
            self.say(f"Extend adds {several(chosen.added, 'token')} now.")


def _references(session: Session) -> list[Choice]:
    """The sets of texts that can be reference texts: all of Compare that have some, but the corpus."""
    run = session.runs.active
    config = None if run is None else run.config
    has_held_out = config is not None and bool(config.held_out)
    has_texts = {_OF_CORPUS: False, _OF_PANE: bool(session.view.text), _HELD_OUT: has_held_out}
    sets = (each for each in session.comparison.sets if has_texts.get(each.key, True))
    return [_NO_REFERENCE, *(Choice(each, each.title, each.meaning) for each in sets)]


def _texts_work(texts: TextSet | None) -> Work[dict[str, str]]:
    """The texts of a set by name, of long ones the beginning."""
    if texts is None:
        return {}
    found: dict[str, str] = {}
    for name, source in (yield from texts.read()).named:
        whole = source.bytes <= LARGEST_REFERENCE
        title = name if whole else f"{name} (the first {size_text(LARGEST_REFERENCE)})"
        same = sum(each == title or each.startswith(f"{title} · ") for each in found)
        found[f"{title} · {same + 1}" if same else title] = beginning_of(source, LARGEST_REFERENCE)
        yield Progress("reading")
    return found


def _compared_work(
    plan: SheetPlan, texts: TextSet | None, trainer: Trainer | None
) -> Work[tuple[Trainer, ExtensionSheet]]:
    references = yield from _texts_work(texts)
    start = (yield from plan.start()) if trainer is None else trainer.start
    assert start is not None
    yield from check_sheet_work(start, plan.corpus, references, plan.filled)
    if trainer is None:
        trainer = yield from trained_for_sheet_work(start, plan.corpus, plan.config)
    return trainer, (yield from sheet_work(trainer, references, plan.filled))
