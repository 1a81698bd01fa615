"""The list of formats in the export dialog: a row each, with what would be lost."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QFrame, QLabel, QSizePolicy, QVBoxLayout, QWidget

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.progress import Progress
from tokstudio.core.base.wording import printable
from tokstudio.core.formats.common.format import Fit, Format
from tokstudio.gui.dialogs.export.queue import MODELS, ExportOutcome, ModelFit
from tokstudio.gui.style.icons import icon
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import named, paragraph_label
from tokstudio.gui.widgets.layouts import TallBody, column, row, rule
from tokstudio.gui.widgets.menus import link_button
from tokstudio.gui.widgets.work_line import ProgressBar

# --- One file format in the list of an export: its check box, its losses, and its result ------------------------------


_MOST_SHOWN = 3  # sentences of one kind, as a vocabulary may have ten thousand special tokens
_WORDS_OF_A_KIND = 3  # the first words that sentences of one kind share: "The special token"
_BAR = 140
_TEXTS = "The test text is built in, and hard on purpose. The sample is of the corpus."
_COPY, _COPIED = "Copy Python", "Copied"
COPIED_FOR = 3000  # milliseconds
INDENT = 26  # the left edge of the text of the check box


class ModelPart(QWidget):
    """The choice of a `model`, or None, of which a copy gets the tokenizer instead of a file of its own."""

    asked = Signal()  # the user wants to choose a model
    changed = Signal()  # another model, or none

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.model: Path | None = None
        self._about = paragraph_label("muted")
        tip = "Write a copy of a model with this tokenizer in place of its own"
        self.choose = link_button("Into a Model…", self.asked.emit, tip)
        self.leave = link_button("Without a Model", lambda: self.set_model(None), "Write the tokenizer alone")
        self.pad = QCheckBox("Fill &up with tokens that no text becomes")
        self._problem = column(spacing=3)
        choices = row(self.choose, self.leave, spacing=12)
        choices.addStretch(1)
        column(self._about, self._problem, self.pad, choices, spacing=3, parent=self)
        self.set_model(None)

    def set_model(self, model: Path | None) -> None:
        """Chooses a model, or none."""
        self.model = model
        self._about.setText("" if model is None else f"A copy of {printable(file_name(model))} gets this tokenizer.")
        self._about.setVisible(model is not None)
        self.leave.setVisible(model is not None)
        with QSignalBlocker(self.pad):
            self.pad.setChecked(False)
        self.set_fit(None)
        self.changed.emit()

    def set_fit(self, fit: ModelFit | None) -> None:
        """Shows whether the model can get the tokenizer; None while that is not known."""
        _clear(self._problem)
        fills = fit is not None and fit.fills
        if fit is not None and fit.problem:
            self._problem.addWidget(SignedLine("warning" if fills else "error", fit.problem, self._theme))
        self.pad.setVisible(fills)


class FormatRow(QWidget):
    """A format with its check box; the widget `more` stands below what it can hold, while it is checked."""

    toggled = Signal(str, bool)  # the user checked or unchecked it: its name and the new state
    copy_asked = Signal(str)  # the user wants to copy the Python code that loads it: its name

    def __init__(self, shown: Format, theme: Theme, more: QWidget | None = None) -> None:
        super().__init__()
        self._theme = theme
        self._name = shown.name
        self._more = more
        self._outcome: ExportOutcome | None = None
        self._description = f"{_capitalized(shown.description)}."
        self.check = QCheckBox(shown.title)
        self.check.toggled.connect(self._toggled)
        self.state = paragraph_label("muted")
        self.state.setWordWrap(False)
        self.bar = ProgressBar(f"Progress of {shown.title}")
        self.bar.setFixedWidth(_BAR)
        tip = "Copy the Python code that loads the written files"
        self.copy_button = link_button(_COPY, self._copy, tip)
        self.copy_button.setAccessibleName(f"Copy the Python code that loads {shown.title}")
        top = row((self.check, 1), self.state, self.bar, self.copy_button, spacing=8)
        about = paragraph_label("muted", self._description)
        self._sentences, self._result = column(spacing=3), column(spacing=3)
        parts = (about, self._sentences, *((more,) if more is not None else ()), self._result)
        below = column(*parts, spacing=3, margins=(INDENT, 0, 0, 0))
        column(top, below, spacing=2, parent=self)
        self.copy_button.hide()
        self.show_state("")
        self.set_fit(None, wanted=False)

    def set_fit(self, fit: Fit | None, *, wanted: bool) -> None:
        """Shows how well the format fits, None while that is not known, and checks it if it can be written."""
        self._possible = fit is None or fit.problem is None
        with QSignalBlocker(self.check):
            self.check.setChecked(wanted and self._possible)
        self.check.setEnabled(self._possible)
        self._show_more()
        _clear(self._sentences)
        sentences = [] if fit is None else _fit_sentences(fit)
        for role, sentence in sentences:
            self._sentences.addWidget(SignedLine(role, sentence, self._theme))
        sentences_shown = [self._description, *(sentence for _, sentence in sentences)]
        self.check.setAccessibleDescription(" ".join(sentences_shown).strip())

    def set_changeable(self, changeable: bool) -> None:
        """Enables or disables the check box; it is disabled while files are written."""
        self.check.setEnabled(changeable and self._possible)
        if self._more is not None:
            self._more.setEnabled(changeable)

    def _show_more(self) -> None:
        if self._more is not None:
            self._more.setVisible(self.check.isChecked())

    def show_state(self, text: str, progress: Progress | None = None) -> None:
        """Shows the current work and its progress."""
        self.state.setText(text)
        self.state.setVisible(bool(text))
        self.bar.setVisible(progress is not None)
        if progress is not None:
            self.bar.show_progress(progress)

    def set_outcome(self, outcome: ExportOutcome | None) -> None:
        """Shows the result."""
        self.show_state("")
        if outcome is self._outcome:
            return
        self._outcome = outcome
        _clear(self._result)
        report = outcome.report if outcome is not None else None
        self.copy_button.setVisible(report is not None and bool(report.snippet))
        if report is not None:
            role = "good" if report.is_proved or not report.proof else "warning"
            line = SignedLine(role, report.proof or "written", self._theme)
            line.setToolTip(_TEXTS if report.is_proved else "")
            self._result.addWidget(line)
            if report.renumbered:
                self._result.addWidget(SignedLine("muted", report.renumbered, self._theme))
        elif outcome is not None:
            self._result.addWidget(SignedLine("error", outcome.problem, self._theme))

    def _toggled(self, wanted: bool) -> None:
        self._show_more()
        self.toggled.emit(self._name, wanted)

    def _copy(self) -> None:
        self.copy_asked.emit(self._name)
        self.copy_button.setText(_COPIED)
        QTimer.singleShot(COPIED_FOR, self, lambda: self.copy_button.setText(_COPY))


def _capitalized(text: str) -> str:
    """Capitalizes the first word, unless it is a file name."""
    return text if "." in text.split(" ")[0] else text[:1].upper() + text[1:]


def _fit_sentences(fit: Fit) -> list[tuple[str, str]]:
    """The sentences about how a format fits, with their roles."""
    if fit.problem is not None:
        return [("muted", fit.problem)]
    return [*_cut("warning", fit.losses), *_cut("muted", fit.notes)]


def _cut(role: str, sentences: Sequence[str]) -> list[tuple[str, str]]:
    """Shortens the list: of consecutive sentences of one kind, the first few and the number of the others."""
    kinds: dict[str, list[str]] = {}
    for sentence in sentences:
        kinds.setdefault(" ".join(sentence.split(" ")[:_WORDS_OF_A_KIND]), []).append(sentence)
    shortened: list[tuple[str, str]] = []
    for alike in kinds.values():
        shortened += [(role, sentence) for sentence in alike[:_MOST_SHOWN]]
        if (more := len(alike) - _MOST_SHOWN) > 0:
            shortened.append((role, f"And {more:,} more like these."))
    return shortened


def _clear(part: QVBoxLayout) -> None:
    while item := part.takeAt(0):
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()


_SIGNS = {"warning": "warning", "error": "cross", "good": "check", "muted": "info"}
_SIDE = 14


class SignedLine(QWidget):
    """A sentence that wraps and can be selected, in the colour and with the sign of a role of `_SIGNS`."""

    def __init__(self, role: str, text: str, theme: Theme) -> None:
        super().__init__()
        self._role = role
        self._theme = theme
        self._sign = QLabel(textFormat=Qt.TextFormat.PlainText)
        self.label = paragraph_label(role, text)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        row((self._sign, Qt.AlignmentFlag.AlignTop), (self.label, 1), spacing=6, parent=self)
        theme.follow(self._apply_theme)

    def _apply_theme(self) -> None:
        side = self._theme.scaled(_SIDE)
        self._sign.setPixmap(icon(_SIGNS[self._role], self._theme, self._role).pixmap(side, side))


# --- The list of file formats in an export: which are wanted, how well each fits, and which can be written ------------


class FormatList(QFrame):
    """A card with one row per format; those `wanted` are checked, and the widget `above` the rows scrolls with them.

    The rows appear when it is known of all how well they fit, so that none moves while others are checked.
    Where no wanted format can hold the tokenizer, the only one that can is checked.

    Attributes:
        offered: The format that was checked although it was not wanted; "" for none.
        into: The choice of a model, in the row of the format `MODELS`.
    """

    changed = Signal()  # the choice of formats
    filled = Signal()  # the rows have appeared
    copy_asked = Signal(str)  # the user wants to copy the Python code that loads a format: its name

    def __init__(self, formats: Sequence[Format], wanted: Iterable[str], theme: Theme, above: QWidget) -> None:
        super().__init__()
        self.setProperty("card", "true")
        self._wanted = set(wanted)
        self.offered = ""
        self._touched = False  # whether the user has chosen
        self._tokenizers = {each.name for each in formats if each.readable}
        self._fits: dict[str, Fit] = {}
        self.rows: dict[str, FormatRow] = {}
        self.into = ModelPart(theme)
        content = QFrame()
        layout = column(above, spacing=10, margins=(12, 10, 12, 10), parent=content)
        for shown in formats:
            if self.rows:
                layout.addWidget(rule())
            row = FormatRow(shown, theme, self.into if shown.name == MODELS else None)
            row.toggled.connect(self._toggled)
            row.copy_asked.connect(self.copy_asked)
            layout.addWidget(row)
            self.rows[shown.name] = row
        layout.addStretch(1)
        self._body = named(TallBody(content), "Formats")
        self._checking = paragraph_label("muted", "Checking what the formats can hold…")
        self._checking.setAlignment(Qt.AlignmentFlag.AlignCenter)
        column((self._checking, 1), (self._body, 1), margins=(1, 1, 1, 1), parent=self)
        self._body.hide()
        for name, each in self.rows.items():
            each.set_fit(None, wanted=name in self._wanted)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The checked formats that can hold the tokenizer, as far as that is known."""
        impossible = {name for name, fit in self._fits.items() if fit.problem is not None}
        return tuple(name for name in self.rows if name in self._wanted - impossible)

    @property
    def known(self) -> bool:
        """Whether the fit of every format is known."""
        return len(self._fits) == len(self.rows)

    @property
    def loses(self) -> bool:
        """Whether a chosen format loses something."""
        return any(self._fits[name].losses for name in self.chosen if name in self._fits)

    def forget_fits(self) -> None:
        """Forgets how well the formats fit, as something else is to be written; the rows show it until all is known."""
        self._fits.clear()

    def set_fit(self, name: str, fit: Fit) -> None:
        """Notes how well a format fits, and shows it when it is known of all."""
        before = self.chosen
        self._fits[name] = fit
        self._offer_only()
        if self.known:
            for each, row in self.rows.items():
                row.set_fit(self._fits[each], wanted=each in self._wanted)
            if self._body.isHidden():
                self._checking.hide()
                self._body.show()
                self.filled.emit()
        if self.chosen != before:
            self.changed.emit()

    def set_changeable(self, changeable: bool) -> None:
        """Enables or disables the check boxes; they are disabled while files are written."""
        for each in self.rows.values():
            each.set_changeable(changeable)

    def show_row(self, name: str) -> None:
        """Scrolls to a format and its result, and keeps it visible until the user scrolls."""
        self._body.keep_visible(self.rows[name])

    def _offer_only(self) -> None:
        """Checks the only format that can hold the tokenizer, unless the user has chosen or wants tables alone."""
        if self._touched or not self._tokenizers <= self._fits.keys():
            return
        possible = {name for name in self._tokenizers if self._fits[name].problem is None}
        asked = self._wanted & self._tokenizers or not self.chosen
        if len(possible) == 1 and asked and not self._wanted & possible:
            (self.offered,) = possible
            self._wanted.add(self.offered)

    def _toggled(self, name: str, wanted: bool) -> None:
        self._touched = True
        if wanted:
            self._wanted.add(name)
        else:
            self._wanted.discard(name)
        self.changed.emit()
