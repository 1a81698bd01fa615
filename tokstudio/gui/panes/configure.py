"""The Configure pane: what the next training is to reach, and the button that begins it.

Whether settings can work is the core's to say; the pane shows its words beside the field.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import QLocale, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from tokstudio.core.errors import TokStudioError
from tokstudio.core.run import BASE_SIZE
from tokstudio.gui.icons import icon
from tokstudio.gui.session import Session
from tokstudio.gui.theme import Theme, pad_spin_box
from tokstudio.gui.training import Settings
from tokstudio.gui.widgets.pane import Pane
from tokstudio.gui.widgets.tall_body import TallBody

_LARGEST = 2_000_000_000  # a spin box holds 32 bits
_SIZE_HELP = "Tokens in all, the 256 bytes included."
_FREQUENCY_HELP = "Stop when the best pair occurs less often."
_MADE = 2  # what the spin box of the frequency begins with


class ConfigurePane(Pane):
    """Vocabulary size, minimum frequency, and Train.

    Args:
        session: Whose settings are edited.
        theme: Its colours and fonts.
        actions: The window's actions by id: those of the training.
    """

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("configure", "Configure")
        self._session = session
        self._theme = theme
        self._actions = actions
        self.size_field = LimitField("Vocabulary size", _SIZE_HELP, 1000, theme)
        self.frequency_field = LimitField("Min. frequency", _FREQUENCY_HELP, _MADE, theme)
        self.frequency_field.name_it("Minimum frequency")
        self.summary = _line("muted")
        self.reason = _line("muted")
        self.reason.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.continue_button = _ElidedButton()
        self._connect_button(self.continue_button, "continue_run")
        self.buttons = {
            "train": self._button("train", "Train", "train", primary=True),
            "pause": self._button("pause", "Pause", "pause"),
            "resume": self._button("resume", "Resume", "train", primary=True),
            "step": self._button("step", "Step", "step"),
            "stop": self._button("stop", "Stop", "stop"),
        }
        self._lay_out()
        for field in (self.size_field, self.frequency_field):
            field.changed.connect(self._take_over)
        session.settings_changed.connect(self._show_settings)
        session.training_changed.connect(self._refresh)
        session.runs_changed.connect(self._refresh)
        self._show_settings()
        self._refresh()

    # ---- building

    def _lay_out(self) -> None:
        fields = QWidget()
        column = QVBoxLayout(fields)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for widget in (self.size_field, self.frequency_field, self.summary):
            column.addWidget(widget)
        column.addStretch(1)
        row = QHBoxLayout()
        row.setSpacing(6)
        for button in self.buttons.values():
            row.addWidget(button, 1)
        self.body.addWidget(TallBody(fields), 1)
        self.body.addWidget(self.reason)
        self.body.addWidget(self.continue_button)
        self.body.addLayout(row)

    def _button(self, action: str, text: str, image: str, primary: bool = False) -> QPushButton:
        button = QPushButton(text)
        button.setProperty("primary", "true" if primary else "false")
        if action == "train":
            button.setIcon(icon(image, self._theme, "on_accent" if primary else "text"))
        # As wide as its share: three of them fit into a narrow column.
        button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        button.setMinimumWidth(self._theme.scaled(60))
        self._connect_button(button, action)
        return button

    def _connect_button(self, button: QPushButton, action: str) -> None:
        button.clicked.connect(partial(self._actions[action].trigger))

    # ---- settings

    def _take_over(self) -> None:
        self._session.set_settings(Settings(self.size_field.value, self.frequency_field.value))
        self._explain()

    def _show_settings(self) -> None:
        self.size_field.set_value(self._session.settings.vocabulary_size)
        self.frequency_field.set_value(self._session.settings.min_frequency)
        self._explain()

    def _explain(self) -> None:
        settings = self._session.settings
        size, frequency = settings.vocabulary_size, settings.min_frequency
        self.size_field.set_error(None if size is None else _fault(Settings(size, None)))
        self.frequency_field.set_error(None if frequency is None else _fault(Settings(None, frequency)))
        fault = _fault(settings)
        beside = self.size_field.is_invalid or self.frequency_field.is_invalid
        _set_role(self.summary, "muted" if fault is None else "error")
        self.summary.setText(_summary(settings) if fault is None else fault if not beside else "")

    # ---- training

    def _refresh(self) -> None:
        state, obstacle = self._session.state, self._session.obstacle
        shown = {"idle": ("train",), "running": ("pause", "stop"), "paused": ("resume", "step", "stop")}[state]
        had_focus = any(button.hasFocus() for button in (*self.buttons.values(), self.continue_button))
        for name, button in self.buttons.items():
            button.setVisible(name in shown)
        self._refresh_continue(state)
        train = self.buttons["train"]
        train.setEnabled(obstacle is None)
        tip = obstacle if obstacle is not None else "Train a tokenizer on the corpus"
        train.setToolTip(tip)
        train.setAccessibleDescription(tip)
        # What is wrong with a setting is said beside its field already.
        line = obstacle if state == "idle" and _fault(self._session.settings) is None else None
        self.reason.setText(line or "")
        self.reason.setVisible(line is not None)
        if had_focus and not any(button.hasFocus() for button in self.buttons.values()):
            self.buttons[shown[0]].setFocus()

    def _refresh_continue(self, state: str) -> None:
        run, settings = self._session.active, self._session.settings
        if state != "idle" or run is None or not self._session.can_continue(run):
            self.continue_button.hide()
            return
        size, frequency = settings.vocabulary_size, settings.min_frequency
        goal = f"{size:,} tokens" if size is not None else f"frequency {frequency:,}"
        self.continue_button.set_full_text(f"Continue {run.name} to {goal}")
        self.continue_button.show()


class LimitField(QWidget):
    """A limit of the training: a check box that says whether it limits, its number, and a line of help or error.

    Signals:
        changed: The person changed it.

    Args:
        text: What the check box says.
        help_text: One line of help.
        first: The number shown while the limit has never been set.
        theme: Its fonts.
    """

    changed = Signal()

    def __init__(self, text: str, help_text: str, first: int, theme: Theme) -> None:
        super().__init__()
        self._help = help_text
        self._theme = theme
        self.check = QCheckBox(text)
        self.number = _Number()
        self.number.setValue(first)
        self.note = _line("muted")
        self.note.setText(help_text)
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(self.check, 1)
        row.addWidget(self.number)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3)
        column.addLayout(row)
        column.addWidget(self.note)
        self.name_it(text)
        self.number.setEnabled(False)
        self.check.toggled.connect(self._toggled)
        self.number.valueChanged.connect(self._edited)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()

    @property
    def value(self) -> int | None:
        """The number, or None where it does not limit."""
        return self.number.value() if self.check.isChecked() else None

    @property
    def is_invalid(self) -> bool:
        """Whether an error is shown."""
        return bool(self.number.property("invalid") == "true")

    def name_it(self, name: str) -> None:
        """Sets what a screen reader calls it."""
        self.number.setAccessibleName(name)
        self.check.setAccessibleName(f"Limit by {name.lower()}")
        self.check.setToolTip(name)

    def set_value(self, value: int | None) -> None:
        """Shows a value without telling anyone; switched off, it keeps its number."""
        with QSignalBlocker(self.check), QSignalBlocker(self.number):
            self.check.setChecked(value is not None)
            self.number.setEnabled(value is not None)
            if value is not None and value != self.number.value():
                self.number.setValue(min(value, _LARGEST))

    def set_error(self, error: str | None) -> None:
        """Says what is wrong in the place of the help."""
        self.note.setText(error or self._help)
        _set_role(self.note, "muted" if error is None else "error")
        self.number.setAccessibleDescription(error or self._help)
        invalid = "false" if error is None else "true"
        if self.number.property("invalid") != invalid:
            self.number.setProperty("invalid", invalid)
            _polish(self.number)

    def _toggled(self, checked: bool) -> None:
        self.number.setEnabled(checked)
        self.changed.emit()

    def _edited(self) -> None:
        self.changed.emit()

    def _apply_theme(self) -> None:
        # The field inside does not take its font from the box once a style sheet is set.
        for widget in (self.number, self.number.lineEdit()):
            widget.setFont(self._theme.tabular_font())
        self.number.setFixedWidth(self._theme.scaled(98))


class _Number(QSpinBox):
    """A number that can be typed with and without separators, and that scrolling past does not change."""

    def __init__(self) -> None:
        super().__init__()
        # Numbers are written everywhere as in "1,000".
        self.setLocale(QLocale(QLocale.Language.English, QLocale.Country.UnitedStates))
        self.setGroupSeparatorShown(True)
        # Numbers that are too small can be typed, so that the reason can be read.
        self.setRange(0, _LARGEST)
        self.setStepType(QAbstractSpinBox.StepType.AdaptiveDecimalStepType)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        pad_spin_box(self)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class _ElidedButton(QPushButton):
    """A quiet button whose text may be longer than there is room for."""

    def __init__(self) -> None:
        super().__init__()
        self._full = ""
        self.setProperty("link", "true")
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def set_full_text(self, text: str) -> None:
        """Sets the text; all of it is in the tool tip."""
        self._full = text
        self.setToolTip(text)
        self.setAccessibleName(text)
        self._elide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        shown = self.fontMetrics().elidedText(self._full, Qt.TextElideMode.ElideMiddle, self.width() - 12)
        self.setText(shown.replace("&", "&&"))


def _line(role: str) -> QLabel:
    label = QLabel()
    label.setProperty("role", role)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def _set_role(label: QLabel, role: str) -> None:
    if label.property("role") != role:
        label.setProperty("role", role)
        _polish(label)


def _polish(widget: QWidget) -> None:
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def _fault(settings: Settings) -> str | None:
    """Gives the core's words on settings that cannot work."""
    try:
        settings.config()
    except TokStudioError as error:
        return str(error)
    return None


def _summary(settings: Settings) -> str:
    size, frequency = settings.vocabulary_size, settings.min_frequency
    if size is None:
        return f"Merges until no pair occurs {frequency:,} times."
    merges = f"{size - BASE_SIZE:,} merge{'' if size - BASE_SIZE == 1 else 's'}"
    if frequency is None:
        return f"{merges} after the {BASE_SIZE} bytes."
    return f"At most {merges} after the {BASE_SIZE} bytes, each of a pair that occurs {frequency:,} times or more."
