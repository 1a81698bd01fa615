"""What the dialogs share: fields beside a preview of the effect, which is computed while one looks."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import several
from tokstudio.gui.dialogs.surgery.works import Effect, EffectFigure
from tokstudio.gui.session.common.jobs import Cancelled, LatestJob
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import problem_of
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import WholeLines
from tokstudio.gui.widgets.fields import Field
from tokstudio.gui.widgets.labels import Caption, paragraph_label, plain, plain_label
from tokstudio.gui.widgets.layouts import STRETCH, TallBody, column, resize_on_screen, row
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.pane import Dialog

_MAKING = "Working…"
_PATIENCE = 2000  # milliseconds after which the status bar shows the work


class FieldError(ConfigError):
    """A field has a wrong value, and shows the reason itself."""


class NothingYet(ConfigError):
    """The person has not said yet what to change."""


def check_fields(checks: Mapping[Field, Callable[[], object]]) -> None:
    """Shows the error of each field; FieldError where one has any."""
    errors: list[str] = []
    for field, check in checks.items():
        try:
            check()
        except ConfigError as error:
            errors.append(str(error))
            field.set_error(errors[-1])
        else:
            field.set_error(None)
    if errors:
        raise FieldError(errors[0])


class EffectView(QWidget):
    """Quantities before and after a change, and the first tokens that come or go."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._table = QWidget()
        self._grid = QGridLayout(self._table)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(16)
        self._grid.setColumnStretch(0, 1)
        self._labels: list[QLabel] = []
        self.heading, self.notes = paragraph_label("title"), paragraph_label("muted")
        self.tokens = WholeLines(readOnly=True)
        self.tokens.setLineWrapMode(WholeLines.LineWrapMode.NoWrap)
        self.tokens.setTabChangesFocus(True)
        flags = Qt.TextInteractionFlag
        self.tokens.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.tokens.setAccessibleName("Tokens")
        self._rest = QWidget()  # where there are no tokens
        parts = (self._table, self.notes, self.heading, (self.tokens, 1), (self._rest, 1))
        column(*parts, spacing=8, parent=self)
        theme.follow(self._apply_theme)
        self.show_effect(None)

    def show_effect(self, effect: Effect | None) -> None:
        """Shows an effect; None shows nothing."""
        effect = effect or Effect((), "", ())
        self._show_figures(effect.figures)
        self.notes.setText(" ".join(effect.notes))
        self.notes.setVisible(bool(effect.notes))
        self.heading.setText(effect.heading)
        lines = "\n".join(effect.tokens)
        if lines != self.tokens.toPlainText():
            self.tokens.setPlainText(lines)
        self.tokens.setAccessibleName(self.heading.text() or "Tokens")
        self.tokens.setVisible(bool(lines))
        self._rest.setVisible(not lines)
        self.heading.setVisible(bool(lines))

    @property
    def text(self) -> str:
        """All quantities, for tests and screen readers."""
        return "; ".join(label.text() for label in self._labels)

    def _show_figures(self, figures: Sequence[EffectFigure]) -> None:
        for label in self._labels:
            self._grid.removeWidget(label)
            label.deleteLater()
        self._labels.clear()
        heads = [EffectFigure("", "Before", "After")] if figures else []
        for number, figure in enumerate([*heads, *figures]):
            for at, text in enumerate((figure.name, figure.before, figure.after)):
                label = plain_label("muted" if not at or not number else "", text)
                if at:
                    label.setAlignment(Qt.AlignmentFlag.AlignRight)
                self._grid.addWidget(label, number, at)
                self._labels.append(label)

    def _apply_theme(self) -> None:
        self.tokens.setFont(self._theme.monospace_font())


class SurgeryDialog(Dialog):
    """Fields at the left, their effect at the right, and below what prevents the change.

    Subclasses give the fields to `build`, and define `effect_work` and `result_work`; the main button says a `verb`.
    """

    made = Signal(object)  # the changed tokenizer, a `ChangedTokenizer`
    room = QSize(900, 620)
    shares = 5, 6  # of the width: for the fields, for the effect

    def __init__(self, session: Session, theme: Theme, title: str, verb: str, parent: QWidget | None) -> None:
        super().__init__(title, parent)
        self._session, self._theme, self._verb = session, theme, verb
        self.effect: Effect | None = None
        self.view = EffectView(theme)
        self._job = LatestJob(session.jobs, self, self._take, self._fail, quiet=True, asked=False, patience=_PATIENCE)
        self._later = QTimer(self, singleShot=True, interval=session.jobs.pauses.keys)
        self._later.timeout.connect(self._begin)
        self.finished.connect(self._end)

    def build(
        self,
        name: str,
        size: int,
        about: str,
        fields: Sequence[QWidget],
        growing: QWidget | None = None,
        beside: Sequence[QWidget] = (),
    ) -> None:
        """Lays out the name of the tokenizer, what is to be known, and the fields, which scroll in little room.

        One field may be `growing`: it takes the height that is left. Buttons `beside` stand at the left of the others.
        """
        self.caption = Caption()
        self.caption.say(name, [several(size, "token")])
        inner = QWidget()
        stretched = [(field, 1) if field is growing else field for field in fields]
        column(*stretched, *([STRETCH] if growing is None else []), spacing=10, margins=(0, 0, 8, 0), parent=inner)
        sides = row((TallBody(inner), self.shares[0]), (self.view, self.shares[1]), spacing=20)
        head = column(self.caption, paragraph_label("muted", about), spacing=2)
        self.cancel_button = push_button("Cancel", self.reject)
        self.apply_button = push_button(self._verb, self._apply, is_main=True)
        buttons = row(*beside, STRETCH, self.cancel_button, self.apply_button, spacing=8)
        column(head, (sides, 1), self.note, buttons, spacing=12, margins=(20, 16, 20, 16), parent=self)
        resize_on_screen(self, self._theme, self.room)
        self.ask()

    def effect_work(self) -> Callable[[], Work[Effect]]:
        """The work that computes the effect of the fields; raises ConfigError where they are invalid."""
        raise NotImplementedError

    def result_work(self) -> Callable[[], Work[object]]:
        """The work that makes what the dialog is for, from valid fields."""
        raise NotImplementedError

    def apply(self, result: object) -> None:
        """Hands over what `result_work` made; raises ConfigError where that is impossible."""
        self.made.emit(result)
        self.accept()

    def ask(self) -> None:
        """Computes the effect anew, soon; meanwhile the change can be made already."""
        self._job.cancel()
        self.effect = None
        try:
            self.effect_work()
        except ConfigError as error:
            self._later.stop()
            self.view.show_effect(None)
            shown = "" if isinstance(error, FieldError) else str(error)
            self.say(shown, "muted" if isinstance(error, NothingYet) else "error", why_not=str(error))
            return
        self.say("Computing the effect…")
        self._later.start()

    def _begin(self) -> None:
        self._job.run(self.effect_work())

    def _take(self, result: object) -> None:
        if not isinstance(result, Effect):
            self._finish(result)
            return
        self.effect = result
        self.view.show_effect(result)
        self.say(result.problem, "error", why_not=result.problem)

    def _finish(self, result: object) -> None:
        try:
            self.apply(result)
        except ConfigError as error:
            self.say(str(error), "error", why_not=str(error))

    def _fail(self, error: Exception) -> None:
        self.view.show_effect(None)
        message = problem_of(error).text
        # The effect is only information: the change can be made without it.
        self.say(message, "error", why_not="" if isinstance(error, Cancelled) else message)

    def say(self, text: str, role: str = "muted", *, why_not: str = "") -> None:
        """Says below the fields what is going on, or what is wrong; `why_not` disables the main button."""
        super().say(text, role)
        self.apply_button.setEnabled(not why_not)
        self.apply_button.setToolTip(plain(why_not))

    def _apply(self) -> None:
        self._later.stop()
        self.say(_MAKING, why_not=_MAKING)
        self._job.run(self.result_work())

    def _end(self) -> None:
        self._later.stop()
        self._job.cancel()
