"""The dialog Your Turn: a person chooses ten merges, sees what each counts, and can save the score."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QComboBox, QDialog, QLabel, QLineEdit, QPushButton, QWidget

from tokstudio.core.base.atomic_files import file_name, write_files
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import several
from tokstudio.core.teaching.your_turn import ROUNDS, TEXTS, LearnerChoice, Pair, YourTurn
from tokstudio.gui.dialogs.your_turn.board import Board
from tokstudio.gui.session.jobs import LatestJob
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.merge_sentence import token_name
from tokstudio.gui.widgets.file_dialogs import Choosers
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, column, resize_on_screen, row

_SIZE = QSize(680, 460)
_RULES = (
    "Choose two tokens that stand side by side: all such pairs become one token each. Look for the pair that occurs "
    f"most often: after {ROUNDS} merges, few tokens should be left."
)
_HINT = "Click the left one of the two, or move with the arrow keys. Enter joins them."


class YourTurnDialog(QDialog):
    """A game on one of the texts.

    Args:
        session: Runs the job that writes the score.
        theme: Colours and fonts.
        preferences: The folder of the score.
        choosers: Ask where to write it.
        parent: The owner.
    """

    def __init__(
        self,
        session: Session,
        theme: Theme,
        preferences: Preferences,
        choosers: Choosers,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._preferences, self._choosers = preferences, choosers
        self.setWindowTitle("Your Turn")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._writing = LatestJob(session.jobs, self)
        self._writing.done.connect(self._written)
        self._writing.failed.connect(self._not_written)
        self.texts = QComboBox()
        self.texts.setAccessibleName("Text")
        self.texts.addItems(list(TEXTS))
        self.board = Board(theme)
        self.score, self.answer = paragraph_label(), paragraph_label()
        self.join_button = QPushButton(autoDefault=False)
        self.join_button.setProperty("primary", "true")
        self.again_button = QPushButton("&New Game", autoDefault=False)
        self.name = QLineEdit(placeholderText="Your name")
        self.name.setAccessibleName("Your name, for the score")
        self.save_button = QPushButton("&Save Score…", autoDefault=False)
        self.close_button = QPushButton("Close", autoDefault=False)
        label = QLabel("&Text")
        label.setBuddy(self.texts)
        saving = row(self.name, self.save_button, STRETCH, self.close_button, spacing=8)
        parts = (
            paragraph_label("muted", _RULES),
            row(label, self.texts, STRETCH, self.again_button, spacing=8),
            self.board,
            (self.join_button, Qt.AlignmentFlag.AlignLeft),
            self.answer,
            self.score,
        )
        column(*parts, STRETCH, saving, spacing=10, margins=(20, 16, 20, 16), parent=self)
        self.texts.currentIndexChanged.connect(self.begin)
        self.again_button.clicked.connect(self.begin)
        self.board.changed.connect(self._name_pair)
        self.board.joined.connect(self._join)
        self.join_button.clicked.connect(self._join)
        self.save_button.clicked.connect(self._save)
        self.close_button.clicked.connect(self.reject)
        resize_on_screen(self, theme, _SIZE)
        self.begin()

    def begin(self) -> None:
        """Begins a new game on the chosen text."""
        self.game = YourTurn(TEXTS[self.texts.currentText()])
        self.board.set_tokens(self.game.tokens)
        self._tell(_HINT)
        self._show_score()
        self.board.setFocus()

    def _join(self) -> None:
        pair = self.board.pair
        if pair is None or self.game.is_over:
            return
        choice = self.game.choose(pair)
        self.board.set_tokens(self.game.tokens)
        self._tell(_sentence(choice))
        self._show_score()

    def _show_score(self) -> None:
        game, made = self.game, len(self.game.choices)
        now, best = len(game.tokens), game.best_tokens
        score = f"{several(made, 'merge')} of {ROUNDS}: {several(now, 'token')}."
        if made:
            score += f" With the most frequent pair each time, there would be {best:,}."
        if game.is_over:
            good = sum(choice.times == choice.best_times for choice in game.choices)
            score += f" You chose the most frequent pair, or one of them, {several(good, 'time')}. The game is over."
        self.score.setText(score)
        self.board.setEnabled(not game.is_over)
        self.save_button.setEnabled(bool(made))
        self._name_pair()

    def _name_pair(self) -> None:
        pair = self.board.pair
        self.join_button.setEnabled(pair is not None and not self.game.is_over)
        self.join_button.setText(f"Join {_names(pair)}" if pair is not None else "Join")

    def _tell(self, sentence: str) -> None:
        self.answer.setText(sentence)
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, sentence))

    # ---- the score as a file

    def _save(self) -> None:
        path = self._choosers.save_file("Save Score", self._preferences.folder / "score.json", "JSON (*.json)")
        if path is not None:
            path = path if path.suffix else path.with_suffix(".json")
            self._preferences.folder = path.parent
            text = self.game.to_json(self.name.text().strip())
            self._writing.run(partial(_write_work, path, text))

    def _written(self, path: Path) -> None:
        self._tell(f"Wrote {file_name(path)}.")

    def _not_written(self, error: Exception) -> None:
        self._tell(str(error))


def _write_work(path: Path, text: str) -> Work[Path]:
    yield from write_files({path: [text.encode("utf-8", "replace")]})
    return path


def _names(pair: Pair) -> str:
    return " and ".join(token_name(token.encode()) for token in pair)


def _sentence(choice: LearnerChoice) -> str:
    names = _names(choice.pair)
    stood = f"{names[0].upper()}{names[1:]} stood side by side {several(choice.times, 'time')}."
    if choice.times == choice.best_times:
        return f"{stood} No pair was more frequent."
    return f"{stood} The most frequent pair was {_names(choice.best)}: {several(choice.best_times, 'time')}."
