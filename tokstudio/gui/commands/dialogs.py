"""The dialogs that actions open; each is loaded when it is opened, so that the window opens quickly."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QWidget

from tokstudio.core.base.progress import Work
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.hub.addresses import Address
from tokstudio.core.hub.names import Name
from tokstudio.gui.dialogs.corpus_import.question import ImportQuestion
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.training_plans import TrainingPlan
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.file_dialogs import Choosers

if TYPE_CHECKING:
    from tokstudio.gui.dialogs.checking.tokenizer import CheckTokenizerDialog
    from tokstudio.gui.dialogs.checking.trained_on import TrainedOnDialog
    from tokstudio.gui.dialogs.checking.training import CheckTrainingDialog, MakeExerciseDialog
    from tokstudio.gui.panes.configure.pattern_field import PatternQuestion


class Dialogs:
    """Opens the dialogs of a window; `save_plans` writes the trainings of *Train Several* as an experiment."""

    def __init__(
        self,
        session: Session,
        theme: Theme,
        preferences: Preferences,
        choosers: Choosers,
        save_plans: Callable[[Sequence[TrainingPlan]], object],
        window: QWidget,
    ) -> None:
        self._session, self._theme, self._preferences = session, theme, preferences
        self._choosers, self._save_plans, self._window = choosers, save_plans, window

    def show_export(self, run: StudioRun, formats: Collection[str]) -> None:
        """Shows the export dialog for a run."""
        from tokstudio.gui.dialogs.export.dialog import ExportDialog

        dialog = ExportDialog(self._session, run, formats, self._theme, self._preferences, self._choosers, self._window)
        dialog.written.connect(self._session.jobs.tell)
        dialog.open()

    def show_encode(self) -> None:
        """Shows the dialog that encodes a data set."""
        from tokstudio.gui.dialogs.export.data_set import EncodeDialog

        dialog = EncodeDialog(self._session, self._theme, self._preferences, self._choosers, self._window)
        dialog.written.connect(self._session.jobs.tell)
        dialog.open()

    def show_train_several(
        self,
        plans: Sequence[TrainingPlan] = (),
        remark: str = "",
        then: Callable[[Sequence[StudioRun]], object] | None = None,
    ) -> None:
        """Shows the dialog that plans several trainings; `then` shows their runs in Compare."""
        from tokstudio.gui.dialogs.train_several.dialog import TrainSeveralDialog

        training, queue = self._session.training, self._session.queue
        more = {"plans": plans, "remark": remark, "then": then, "save": self._save_plans}
        dialog = TrainSeveralDialog(training, queue, self._theme, self._window, **more)
        if then is not None:
            dialog.setWindowTitle("Compare Algorithms")
        dialog.open()

    def show_goal(self) -> None:
        """Shows the dialog that searches weights for a goal."""
        from tokstudio.gui.dialogs.goal import GoalDialog

        GoalDialog(self._session, self._theme, self._window, self.show_train_several).open()

    def show_check_tokenizer(self) -> None:
        """Shows the dialog that looks for faults of a tokenizer."""
        from tokstudio.gui.dialogs.checking.tokenizer import CheckTokenizerDialog

        self._show_tool(CheckTokenizerDialog)

    def show_trained_on(self) -> None:
        """Shows the dialog that finds what a tokenizer was trained on."""
        from tokstudio.gui.dialogs.checking.trained_on import TrainedOnDialog

        self._show_tool(TrainedOnDialog)

    def show_check_training(self) -> None:
        """Shows the dialog that checks students' trainings."""
        from tokstudio.gui.dialogs.checking.training import CheckTrainingDialog

        self._show_tool(CheckTrainingDialog)

    def show_make_exercise(self) -> None:
        """Shows the dialog that writes an exercise for a class."""
        from tokstudio.gui.dialogs.checking.training import MakeExerciseDialog

        self._show_tool(MakeExerciseDialog)

    def _show_tool(
        self,
        kind: type[CheckTokenizerDialog] | type[TrainedOnDialog] | type[CheckTrainingDialog] | type[MakeExerciseDialog],
    ) -> None:
        open_already = self._window.findChild(kind)
        dialog = open_already or kind(self._session, self._theme, self._preferences, self._choosers, self._window)
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()

    def ask_pattern(self, question: PatternQuestion, answered: Callable[[str | None], None]) -> None:
        """Asks how a tokenizer splits text; the answer is a pattern or an expression, or None if cancelled."""
        from tokstudio.gui.panes.configure.pattern_field import PatternDialog

        dialog = PatternDialog(question, self._session, self._theme, self._window)
        dialog.answered.connect(answered)
        dialog.open()

    def ask_reading(self, question: ImportQuestion, answered: Callable[[Reading | None], None]) -> None:
        """Asks how data sets are read; the answer is None if cancelled."""
        from tokstudio.gui.dialogs.corpus_import.dialog import ImportDialog

        dialog = ImportDialog(question, self._session.jobs, self._theme, self._window)
        dialog.answered.connect(answered)
        dialog.open()

    def ask_name(
        self, work: Callable[[Path], Work[Any]], opened: Callable[[Any], None], name: Name | None = None
    ) -> None:
        """Asks for a tokenizer's name, at first `name`, and does the work with it; `opened` gets the result."""
        from tokstudio.gui.dialogs.open_by_name.tokenizer import OpenByNameDialog

        dialog = OpenByNameDialog(work, self._session.jobs, self._theme, self._window, name=name)
        dialog.opened.connect(opened)
        dialog.open()

    def ask_data_set(self, opened: Callable[[Any], None], address: Address | None = None) -> None:
        """Asks for the address of a text, at first `address`; `opened` gets what was read, unless cancelled."""
        from tokstudio.gui.dialogs.open_by_name.data_set import OpenDataSetDialog

        dialog = OpenDataSetDialog(self._session.jobs, self._theme, self._window, address=address)
        dialog.opened.connect(opened)
        dialog.open()

    def show_your_turn(self) -> None:
        """Shows the game in which the person chooses the merges."""
        from tokstudio.gui.dialogs.your_turn import YourTurnDialog

        YourTurnDialog(self._session, self._theme, self._preferences, self._choosers, self._window).open()
