"""The fields of an exercise: the text, and what the class was asked to do with it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QPushButton, QWidget

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.progress import Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.open_sources import read_source
from tokstudio.core.model.config import TieBreak
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.teaching.check import CheckSettings
from tokstudio.core.teaching.exercise import OWN_SETTINGS, TEXT
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import LinesEdit, Number
from tokstudio.gui.widgets.layouts import STRETCH, row

_TIES: dict[TieBreak, str] = {
    "bytes": "Greatest bytes", "first": "First in the text", "lowest-id": "Lowest id",
    "huggingface": "Lowest id of GPT-2", "mapped-strings": "Greatest strings of GPT-2",
}  # fmt: skip
_OF_WINDOW, _OWN, _FILE = "The corpus of the window", "Our own text (1 kB)", "A file…"


class ExerciseForm(QWidget):
    """The fields.

    Args:
        ask_file: Asks for a file of text.
        corpus: Gives the corpus of the window.
    """

    def __init__(self, theme: Theme, ask_file: Callable[[], Path | None], corpus: Callable[[], Corpus]) -> None:
        super().__init__()
        self._ask_file, self._corpus = ask_file, corpus
        self._file: Path | None = None
        self.text = QComboBox()
        self.text.addItems([_OF_WINDOW, _OWN])
        self.file_button = QPushButton("&File…", autoDefault=False)
        self.file_button.setToolTip("Choose a file of text")
        self.file_button.clicked.connect(self._choose_file)
        self.vocabulary_size = Number()
        self.vocabulary_size.setSpecialValueText("As in each list")
        self.vocabulary_size.setToolTip(
            "Tokens in all, with the bytes and the special tokens; 0: as many as each list makes"
        )
        self.vocabulary_size.apply_style(theme)
        self.pattern = QComboBox(editable=True)
        self.pattern.addItems(NAMES)
        self.pattern.setToolTip("How the text is split before merging: a name, or a regular expression")
        self.ties = QComboBox()
        for rule in _TIES:
            self.ties.addItem(_TIES[rule], rule)
        self.ties.setToolTip("Which pair is taken when several have the highest count")
        self.specials = LinesEdit(2)
        self.specials.setToolTip("Special tokens, one on each line")
        self.specials.setTabChangesFocus(True)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        grid.setColumnMinimumWidth(3, theme.scaled(150))
        self._add(grid, 0, 0, "Te&xt", self.text, row((self.text, 1), self.file_button, spacing=6))
        self._add(grid, 0, 2, "Special &tokens", self.specials, rows=3)
        self._add(grid, 1, 0, "Vocabulary si&ze", self.vocabulary_size, row(self.vocabulary_size, STRETCH))
        self._add(grid, 2, 0, "&Pattern", self.pattern)
        self._add(grid, 3, 0, "T&ies", self.ties)

    @staticmethod
    def _add(
        grid: QGridLayout, at: int, column: int, text: str, control: QWidget, shown: object = None, rows: int = 1
    ) -> None:
        label = QLabel(text)
        label.setBuddy(control)
        control.setAccessibleName(text.replace("&", ""))
        top = Qt.AlignmentFlag.AlignTop
        grid.addWidget(label, at, column)
        if rows > 1:
            grid.addWidget(control, at, column + 1, rows, 1, top)
        elif shown is None:
            grid.addWidget(control, at, column + 1)
        else:
            grid.addLayout(shown, at, column + 1)  # pyright: ignore[reportArgumentType, reportCallIssue]

    def _choose_file(self) -> None:
        path = self._ask_file()
        if path is not None:
            self.choose_file(path)

    def choose_file(self, path: Path) -> None:
        """Takes a file as the text."""
        self._file = path
        with QSignalBlocker(self.text):
            while self.text.count() > 2:
                self.text.removeItem(2)
        self.text.addItem(file_name(path))
        self.text.setCurrentIndex(2)

    def choose_own_text(self) -> None:
        """Takes our own text, with its settings."""
        self.text.setCurrentText(_OWN)
        self.show_settings(OWN_SETTINGS)

    def show_settings(self, settings: CheckSettings | Settings) -> None:
        """Shows settings, such as those of Configure."""
        self.vocabulary_size.setValue(settings.vocabulary_size or 0)
        self.pattern.setCurrentText(settings.pattern)
        self.ties.setCurrentIndex([*_TIES].index(settings.tie_break))
        self.specials.setPlainText("\n".join(settings.special_tokens))

    @property
    def settings(self) -> CheckSettings:
        """What is entered."""
        return CheckSettings(
            vocabulary_size=self.vocabulary_size.value() or None,
            pattern=self.pattern.currentText(),
            tie_break=cast("TieBreak", self.ties.currentData()),
            special_tokens=tuple(filter(None, self.specials.toPlainText().split("\n"))),
        )

    @property
    def obstacle(self) -> str | None:
        """Why there is no text, in a sentence."""
        empty = self.text.currentText() == _OF_WINDOW and not self._corpus().sources
        return "The corpus of the window is empty: open a text, or choose another one here." if empty else None

    @property
    def corpus_work(self) -> Callable[[], Work[Corpus]]:
        """Makes the chosen text; weights of the window's corpus are left out."""
        if self.text.currentIndex() == 0:
            return partial(_made_work, Corpus(self._corpus().sources))
        if self.text.currentIndex() == 1 or self._file is None:
            return partial(_made_work, Corpus.from_texts([TEXT]))
        return partial(_read_work, self._file)


def _made_work(corpus: Corpus) -> Work[Corpus]:
    yield from ()
    return corpus


def _read_work(path: Path) -> Work[Corpus]:
    source = yield from read_source(path)
    return Corpus((source,))
