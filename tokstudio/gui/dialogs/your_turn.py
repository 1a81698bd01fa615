"""The dialog Your Turn: a person chooses ten merges, sees what each counts, and can save the score."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QComboBox, QLineEdit, QSizePolicy, QWidget

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.wording import safe_name, several
from tokstudio.core.teaching.your_turn import ROUNDS, TEXTS, LearnerChoice, Pair, YourTurn
from tokstudio.gui.session.common.jobs import LatestJob, write_work
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_text.spelling import mark_of, token_name
from tokstudio.gui.widgets.fields import label_for
from tokstudio.gui.widgets.file_dialogs import Choosers
from tokstudio.gui.widgets.labels import guarded_painter, named, paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, row
from tokstudio.gui.widgets.menus import push_button
from tokstudio.gui.widgets.pane import Dialog

# --- The tokens of a short text as boxes in rows, of which two neighbours are chosen, with mouse or keyboard ----------

_FONT = 15
_GAP = 3
_PADDING = 5
_ROW_GAP = 8


class Board(QWidget):
    """Tokens, with the chosen pair in a frame, and its other places with a coloured ground."""

    changed = Signal()  # another pair is chosen
    joined = Signal()  # the person asked to join it, by Enter or a double click

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._tokens: tuple[str, ...] = ()
        self._places: list[QRect] = []
        self.at = 0  # the left token of the chosen pair
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Tokens: choose two neighbours")
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        theme.changed.connect(self._arrange)

    @property
    def pair(self) -> Pair | None:
        """The chosen pair; None if there are no two tokens."""
        return (self._tokens[self.at], self._tokens[self.at + 1]) if len(self._tokens) > 1 else None

    def set_tokens(self, tokens: Sequence[str]) -> None:
        """Shows tokens; the choice stays at its place in the text."""
        characters = sum(map(len, self._tokens[: self.at]))
        self._tokens = tuple(tokens)
        at = ends = 0
        while at < len(tokens) and ends + len(tokens[at]) <= characters:
            ends, at = ends + len(tokens[at]), at + 1
        self._arrange()
        self._choose(at)

    def place_of(self, index: int) -> QRect:
        """The rectangle of a token."""
        return self._places[index]

    def sizeHint(self) -> QSize:
        return QSize(self._theme.scaled(560), self.heightForWidth(self._theme.scaled(560)))

    def heightForWidth(self, width: int) -> int:
        return self._laid_out(width)[1]

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Chooses the pair that begins with a token."""
        at = self._at(event)
        if at is not None and event.button() == Qt.MouseButton.LeftButton:
            self._choose(at)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self._at(event) is not None and event.button() == Qt.MouseButton.LeftButton:
            self.joined.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        moves = {Qt.Key.Key_Left: self.at - 1, Qt.Key.Key_Right: self.at + 1, Qt.Key.Key_Home: 0}
        moves[Qt.Key.Key_End] = len(self._tokens)
        if key in moves:
            self._choose(moves[key])
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and self._places:
            self._choose(self._beside(-1 if key == Qt.Key.Key_Up else 1))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.joined.emit()
        else:
            event.ignore()

    def paintEvent(self, event: QPaintEvent) -> None:
        with guarded_painter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setFont(self._theme.monospace_font(_FONT))
            palette, pair = self._theme.palette, self.pair
            for at, (token, place) in enumerate(zip(self._tokens, self._places, strict=True)):
                both = (self._tokens[at : at + 2], self._tokens[max(at - 1, 0) : at + 1])
                marked = pair is not None and pair in both
                painter.setPen(QPen(QColor(palette.accent if marked else palette.control), 1))
                painter.setBrush(QColor(palette.tokens[4] if marked else palette.surface))
                painter.drawRoundedRect(QRectF(place).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
                painter.setPen(QColor(palette.text))
                painter.drawText(place, Qt.AlignmentFlag.AlignCenter, _shown(token))
            if pair is not None:
                painter.setPen(QPen(QColor(palette.accent), 3 if self.hasFocus() else 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                for place in self._places[self.at : self.at + 2]:
                    painter.drawRoundedRect(QRectF(place).adjusted(-1, -1, 1, 1), 4, 4)

    def _choose(self, at: int) -> None:
        self.at = min(max(at, 0), max(len(self._tokens) - 2, 0))
        self.setAccessibleDescription("" if self.pair is None else _names(self.pair))
        self.update()
        self.changed.emit()

    def _at(self, event: QMouseEvent) -> int | None:
        point = event.position().toPoint()
        return next((at for at, place in enumerate(self._places) if place.contains(point)), None)

    def _beside(self, rows: int) -> int:
        """The token above or below."""
        here = self._places[self.at]
        y = here.y() + rows * (here.height() + _ROW_GAP)
        row = [at for at, place in enumerate(self._places) if place.y() == y]
        return min(row, key=lambda at: abs(self._places[at].center().x() - here.center().x()), default=self.at)

    def _arrange(self) -> None:
        self._places, _ = self._laid_out(self.width())
        self.updateGeometry()
        self.update()

    def _laid_out(self, width: int) -> tuple[list[QRect], int]:
        metrics = QFontMetrics(self._theme.monospace_font(_FONT))
        height, x, y = metrics.height() + 2 * _PADDING, 2, 2
        places: list[QRect] = []
        for token in self._tokens:
            wide = metrics.horizontalAdvance(_shown(token)) + 2 * _PADDING
            if x > 2 and x + wide > width - 2:
                x, y = 2, y + height + _ROW_GAP
            places.append(QRect(x, y, wide, height))
            x += wide + _GAP
        return places, y + height + 2


def _shown(token: str) -> str:
    return "".join(mark_of(character) or character for character in token)


_SIZE = QSize(680, 460)
_RULES = (
    "Choose two tokens that stand side by side: all such pairs become one token each. Look for the pair that occurs "
    f"most often: after {ROUNDS} merges, few tokens should be left."
)
_HINT = "Click the left one of the two, or move with the arrow keys. Enter joins them."


class YourTurnDialog(Dialog):
    """A game on one of the texts."""

    def __init__(
        self, session: Session, theme: Theme, preferences: Preferences, choosers: Choosers, parent: QWidget | None
    ) -> None:
        super().__init__("Your Turn", parent)
        self._preferences, self._choosers = preferences, choosers
        self._writing = LatestJob(session.jobs, self, self._written, self._not_written)
        self.texts = QComboBox()
        self.texts.addItems(list(TEXTS))
        self.board = Board(theme)
        self.score, self.answer = paragraph_label(), paragraph_label()
        self.join_button = push_button("", self._join)
        self.join_button.setProperty("primary", True)
        self.again_button = push_button("&New Game", self.begin)
        self.name = named(QLineEdit(placeholderText="Your name"), "Your name, for the score")
        self.save_button = push_button("&Save Score…", self._save)
        self.close_button = push_button("Close", self.reject)
        parts = (
            paragraph_label("muted", _RULES),
            row(label_for("&Text", self.texts), self.texts, STRETCH, self.again_button, spacing=8),
            self.board,
            (self.join_button, Qt.AlignmentFlag.AlignLeft),
            self.answer,
            self.score,
            STRETCH,
            row(self.name, self.save_button, STRETCH, self.close_button, spacing=8),
        )
        self.fill(theme, _SIZE, *parts)
        self.texts.currentIndexChanged.connect(self.begin)
        self.board.changed.connect(self._name_pair)
        self.board.joined.connect(self._join)
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
        game, merges = self.game, len(self.game.choices)
        now, best = len(game.tokens), game.best_tokens
        score = f"{several(merges, 'merge')} of {ROUNDS}: {several(now, 'token')}."
        if merges:
            score += f" With the most frequent pair each time, there would be {best:,}."
        if game.is_over:
            good = sum(choice.times == choice.best_times for choice in game.choices)
            score += f" You chose the most frequent pair, or one of them, {several(good, 'time')}. The game is over."
        self.score.setText(score)
        self.board.setEnabled(not game.is_over)
        self.save_button.setEnabled(bool(merges))
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
        name = f"{safe_name(f'score {self.name.text().strip()}', 'score')}.json"
        path = self._choosers.save_file("Save Score", self._preferences.folder / name, "JSON (*.json)")
        if path is not None:
            path = path if path.suffix else path.with_suffix(".json")
            self._preferences.folder = path.parent
            text = self.game.to_json(self.name.text().strip())
            self._writing.run(partial(write_work, path, text))

    def _written(self, path: Path) -> None:
        self._tell(f"Wrote {file_name(path)}.")

    def _not_written(self, error: Exception) -> None:
        self._tell(str(error))


def _names(pair: Pair) -> str:
    return " and ".join(token_name(token.encode()) for token in pair)


def _sentence(choice: LearnerChoice) -> str:
    names = _names(choice.pair)
    stood = f"{names[0].upper()}{names[1:]} stood side by side {several(choice.times, 'time')}."
    if choice.times == choice.best_times:
        return f"{stood} No pair was more frequent."
    return f"{stood} The most frequent pair was {_names(choice.best)}: {several(choice.best_times, 'time')}."
