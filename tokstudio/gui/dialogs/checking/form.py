"""The fields of an exercise: the text, and what the class was asked to do with it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from PySide6.QtCore import QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QComboBox, QGridLayout, QWidget

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import printable
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.open_sources import read_source
from tokstudio.core.model.algorithms import TieBreak
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.teaching.check import Checker, CheckSettings
from tokstudio.core.teaching.exercise import OWN_SETTINGS, TEXT, Outcome, causes_text, outcome_work, paths_of
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import LinesEdit, Number
from tokstudio.gui.widgets.fields import label_for
from tokstudio.gui.widgets.figures import FigureModel
from tokstudio.gui.widgets.file_dialogs import Choosers
from tokstudio.gui.widgets.layouts import STRETCH, row
from tokstudio.gui.widgets.menus import push_button

# --- The submissions as rows, with what was found in each; and the job that checks them -------------------------------


class Checking:
    """Checks submissions in a job, which adds the outcomes one by one; another thread may read them meanwhile."""

    def __init__(self, paths: Sequence[Path], corpus: Callable[[], Work[Corpus]], settings: CheckSettings) -> None:
        self._given, self._corpus, self._settings = paths, corpus, settings
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


class OutcomesModel(FigureModel):
    """One row per submission, checked or not."""

    titles = ("Submission", "Merges", "First difference", "Causes")
    tips = (
        "The file, or the folder of one training",
        "How many merges it has",
        "The number of the first merge that differs from the right one",
        "The mistakes that give exactly this list; “or” stands between several that fit",
    )
    numbers = (1, 2)

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(theme, parent)
        self.names: list[str] = []
        self.outcomes: list[Outcome] = []

    def show(self, names: Sequence[str], outcomes: Sequence[Outcome]) -> None:
        """Shows names, the first of them with their outcomes."""
        if list(names) != self.names:
            with self.reset():
                self.names, self.outcomes = list(names), list(outcomes)
        elif len(outcomes) != len(self.outcomes):
            before, self.outcomes = len(self.outcomes), list(outcomes)
            self.tell(min(before, len(outcomes)), max(before, len(outcomes)) - 1)

    def outcome(self, at: int) -> Outcome | None:
        """What was found in a row."""
        return self.outcomes[at] if 0 <= at < len(self.outcomes) else None

    def count(self) -> int:
        return len(self.names)

    def text(self, row: int, column: int) -> str:
        outcome = self.outcome(row)
        if column == 0:
            return self.names[row]
        if outcome is None:
            return "Not checked" if column == 3 else ""
        if column == 3:
            return "Identical" if outcome.identical else printable(causes_text(outcome))
        outcome_check = outcome.check
        if outcome_check is None:
            return ""
        if column == 1:
            return f"{outcome_check.merges:,}"
        return f"{outcome_check.difference.place:,}" if outcome_check.difference is not None else "None"

    tip = text  # a column can be too narrow

    def colour(self, row: int, column: int) -> str | None:
        outcome = self.outcome(row)
        return self._theme.palette.error if outcome is not None and outcome.check is None else None

    def font(self, row: int, column: int) -> QFont:
        return self._theme.tabular_font()


_TIES: dict[TieBreak, str] = {
    "bytes": "Greatest bytes", "first": "First in the text", "lowest-id": "Lowest id",
    "huggingface": "Lowest id of GPT-2", "mapped-strings": "Greatest strings of GPT-2",
}  # fmt: skip
_OF_WINDOW, _OWN, _FILE = "The corpus of the window", "Our own text (1 kB)", "A file…"


class ExerciseForm(QWidget):
    """The fields, with the corpus of the window as one of the texts."""

    changed = Signal()  # the text or a setting

    def __init__(self, theme: Theme, corpus: CorpusState, preferences: Preferences, choosers: Choosers) -> None:
        super().__init__()
        self._corpus, self._preferences, self._choosers = corpus, preferences, choosers
        self._file: Path | None = None
        self.text = QComboBox()
        self.text.addItems([_OF_WINDOW, _OWN])
        self.file_button = push_button("&File…", self._choose_file, "Choose a file of text")
        self.vocabulary_size = Number(theme)
        self.vocabulary_size.setSpecialValueText("As in each list")
        self.vocabulary_size.setToolTip(
            "Tokens in all, with the bytes and the special tokens; 0: as many as each list makes"
        )
        self.pattern = QComboBox(editable=True)
        self.pattern.addItems(NAMES)
        self.pattern.setToolTip("How the text is split into pre-tokens: a name, or a regular expression")
        self.ties = QComboBox()
        for rule in _TIES:
            self.ties.addItem(_TIES[rule], rule)
        self.ties.setToolTip("Which pair is taken when several have the highest count")
        self.specials = LinesEdit(2)
        self.specials.setToolTip("Special tokens, one on each line")
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        grid.setColumnMinimumWidth(3, theme.scaled(150))
        texts, size = row((self.text, 1), self.file_button, spacing=6), row(self.vocabulary_size, STRETCH)
        fields = ("Te&xt", self.text, texts), ("Vocabulary si&ze", self.vocabulary_size, size)
        for at, (text, control, shown) in enumerate(fields):
            grid.addWidget(label_for(text, control), at, 0)
            grid.addLayout(shown, at, 1)
        for at, (text, box) in enumerate((("&Pre-tokens (pattern)", self.pattern), ("T&ie rule", self.ties)), 2):
            grid.addWidget(label_for(text, box), at, 0)
            grid.addWidget(box, at, 1)
        grid.addWidget(label_for("Special &tokens", self.specials), 0, 2)
        grid.addWidget(self.specials, 0, 3, 3, 1, Qt.AlignmentFlag.AlignTop)
        self.setTabOrder(self.file_button, self.specials)
        fields = self.text.currentIndexChanged, self.vocabulary_size.valueChanged, self.pattern.currentTextChanged
        for signal in (*fields, self.ties.currentIndexChanged, self.specials.textChanged):
            signal.connect(self.changed)

    def _choose_file(self) -> None:
        for path in self._choosers.open_files("Text of the Exercise", self._preferences.folder)[:1]:
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
    def reads_corpus(self) -> bool:
        """Whether the text is the corpus of the window."""
        return self.text.currentIndex() == 0

    @property
    def obstacle(self) -> str | None:
        """Why there is no text, in a sentence."""
        empty = self.reads_corpus and not self._corpus.sources
        return "The corpus of the window is empty: open a text, or choose another one here." if empty else None

    @property
    def corpus_work(self) -> Callable[[], Work[Corpus]]:
        """Makes the chosen text; weights of the window's corpus are left out."""
        if self.reads_corpus:
            return partial(_made_work, Corpus(self._corpus.remaining))
        if self.text.currentIndex() == 1 or self._file is None:
            return partial(_made_work, Corpus.from_texts([TEXT]))
        return partial(_read_work, self._file)


def _made_work(corpus: Corpus) -> Work[Corpus]:
    yield from ()
    return corpus


def _read_work(path: Path) -> Work[Corpus]:
    source = yield from read_source(path)
    return Corpus((source,))
