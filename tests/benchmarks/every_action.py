"""How long the window is deaf through every action it has, with a large corpus and vocabulary behind it, offscreen.

A corpus is read and trained on, a tokenizer of 100,000 tokens beside it is opened if --tokenizer names one. Then a
person types, drags, sorts and turns the wheel, and every action of the menus that can be done is done, with a timer
running. Dialogs are answered.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from _common import machine, parser, record, table, texts
from _window import BAR, HEAD, Clock, busy, open_studio
from PySide6.QtCore import QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QDialog, QPushButton, QWidget

from tokstudio.gui.app.app import Studio
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.widgets.file_dialogs import Choosers

# What empties the corpus or the list of runs comes last; what ends the program is not done.
_LAST = ("delete_run", "remove_source", "reload_source", "clear_corpus", "clear_recent")
_NOT = ("quit",)
_EVERY = 0.04  # seconds between two acts by hand, as of a hurried person
_TURNS = 40
_LEFT, _NONE = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton

Acts = Iterator[Callable[[], object]]


class _Answers(Choosers):
    """Answers every question at once."""

    def __init__(self, folder: Path, corpus: Path) -> None:
        super().__init__()
        self._folder, self._corpus = folder, corpus
        self._small = folder / "small.txt"
        self._small.write_text("the cat sat on the mat and the rat sat on the cat. " * 40)

    def open_files(self, title: str, folder: Path, filters: str = "") -> list[Path]:
        return [self._small] if "Corpus" in title else []

    def open_folder(self, title: str, folder: Path) -> Path | None:
        return None

    def save_file(self, title: str, suggestion: Path, filters: str) -> Path | None:
        return self._folder / suggestion.name

    def text(self, title: str, label: str, value: str) -> str | None:
        return value + " again"

    def show_file(self, path: Path) -> bool:
        return True

    def save_or_not(self, title: str, question: object, changed: object):
        return "discard"


def main() -> None:
    """Does everything and prints what took longest."""
    arguments = parser(__doc__)
    arguments.add_argument("--text", default="mixed_100mb.txt")
    arguments.add_argument("--tokenizer", type=Path)
    arguments.add_argument("--vocabulary", type=int, default=100_000)
    parsed = arguments.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder, texts(parsed, parsed.text) as (path,):
        answers = _Answers(Path(folder), path)
        with open_studio(answers) as studio:
            rows = _prepare(studio, path, parsed.vocabulary, parsed.tokenizer)
            rows += _by_hand(studio)
            rows += _everything(studio)
    worst = sorted(rows, key=lambda row: -int(row[4].split()[0]))
    table(HEAD, worst[:20])
    late = sum(row[-1] != "0" for row in rows)
    print(f"{len(rows)} actions; {late} with a gap above {BAR} ms.")
    given = f"{parsed.text}, {parsed.vocabulary:,} tokens"
    record(f"actions with a gap above {BAR} ms, of some 150", given, late, "actions", bar="0")


def _prepare(studio: Studio, path: Path, vocabulary: int, tokenizer: Path | None) -> list[list[str]]:
    clock, session = Clock(), studio.session
    until = time.perf_counter() + 2
    rows = [clock.during("nothing", lambda: time.perf_counter() < until)]
    if tokenizer is not None:
        studio.window.opening.open_any([tokenizer])
        rows.append(clock.during("a tokenizer opened", busy(studio)))
    session.corpus.open_paths([path])
    rows.append(clock.during("the corpus read", busy(studio)))
    session.view.set_text(session.corpus.sources[0].data[:10_000].tobytes().decode("utf-8", "ignore"))
    for pattern, size in (("none", 32_768), ("gpt2", vocabulary)):
        session.training.set_settings(Settings(vocabulary_size=size, pattern=pattern))
        session.training.start()
        rows.append(clock.during(f"trained, pattern {pattern}", busy(studio)))
    if session.runs.active is not None:
        session.view.look_at(session.runs.active.base_size + len(session.runs.active) // 2)
    for pane in studio.window.panes:
        pane.show()
        pane.raise_()
        rows.append(clock.during(f"{pane.windowTitle()} brought to the front", busy(studio)))
    return rows


def _by_hand(studio: Studio) -> list[list[str]]:
    """What a person does beside choosing from the menus, one thing after the other."""
    window, view = studio.window, studio.session.view
    vocabulary, merges, curve, encode = window.vocabulary, window.merges, window.compression, window.text.encode.view
    last = len(studio.session.runs.active or ())
    places = [last * number // (2 * _TURNS) for number in range(2 * _TURNS)]
    down = [merges.table.setFocus, *[lambda: QTest.keyClick(merges.table, Qt.Key.Key_Down)] * _TURNS]
    things: list[tuple[str, QWidget, Acts]] = [
        ("typing into Find", window.text, _typing(window.finder.box, "ing of 20")),
        ("typing a filter of Vocabulary", vocabulary, _typing(vocabulary.filter, "the /ing$/")),
        ("typing a filter of Merges", merges, _typing(merges.filter, "and")),
        ("the wheel over Vocabulary", vocabulary, _wheel(vocabulary.table)),
        ("the wheel over Merges", merges, _wheel(merges.table)),
        ("the wheel over the text's tokens", window.text, _wheel(encode)),
        ("the pointer over the text's tokens", window.text, _moves(encode.viewport(), _NONE)),
        ("the slider of the playhead", curve, iter([lambda at=at: view.set_playhead(at) for at in places])),
        ("a drag over the plot", curve, _dragging(curve.plot)),
        ("going through the rows of Merges", merges, iter(down)),
    ]
    rows: list[list[str]] = []
    clock = Clock()
    for name, pane, acts in things:
        pane.show()
        pane.raise_()
        clock.during("", busy(studio))
        rows.append(clock.during(name, _at_work(studio, acts)))
    view.set_playhead(last)
    return rows


def _at_work(studio: Studio, acts: Acts) -> Callable[[], bool]:
    """Does an act from time to time; whether any is left, or anything goes on still."""
    going_on, state = busy(studio), {"next": 0.0, "more": True}

    def goes_on() -> bool:
        if state["more"] and time.perf_counter() >= state["next"]:
            act = next(acts, None)
            state["more"] = act is not None
            if act is not None:
                act()
            state["next"] = time.perf_counter() + _EVERY
        return going_on() or bool(state["more"])

    return goes_on


def _typing(field: QWidget, text: str) -> Acts:
    yield field.setFocus
    for character in text:
        yield lambda character=character: QTest.keyClicks(field, character)
    for _ in text:
        yield lambda: QTest.keyClick(field, Qt.Key.Key_Backspace)


def _wheel(area: QAbstractScrollArea) -> Acts:
    view = area.viewport()
    where = QPointF(view.rect().center()), QPointF(view.mapToGlobal(view.rect().center())), QPoint()
    for by in [-240] * _TURNS + [240] * _TURNS:
        rest = _NONE, Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False
        event = QWheelEvent(*where, QPoint(0, by), *rest)
        yield lambda event=event: QApplication.sendEvent(view, event)


def _moves(view: QWidget, buttons: Qt.MouseButton) -> Acts:
    for number in range(_TURNS):
        place = QPointF(10 + (view.width() - 20) * number / _TURNS, view.height() / 2)
        where = place, QPointF(view.mapToGlobal(place.toPoint()))
        event = QMouseEvent(QMouseEvent.Type.MouseMove, *where, _NONE, buttons, Qt.KeyboardModifier.NoModifier)
        yield lambda event=event: QApplication.sendEvent(view, event)


def _dragging(view: QWidget) -> Acts:
    yield lambda: QTest.mousePress(view, _LEFT, pos=QPoint(10, view.height() // 2))
    yield from _moves(view, _LEFT)
    yield lambda: QTest.mouseRelease(view, _LEFT, pos=QPoint(view.width() - 10, view.height() // 2))


def _everything(studio: Studio) -> list[list[str]]:
    clock, window = Clock(), studio.window
    names = [name for name in window.actions_by_id if name not in (*_LAST, *_NOT)]
    rows = []
    for name in (*names, *_LAST):
        action = window.actions_by_id[name]
        if not action.isEnabled():
            continue
        closing = QTimer()
        closing.setInterval(30)
        closing.timeout.connect(_answer_dialog)
        closing.start()
        began = [False]
        going_on = busy(studio)

        def act(began=began, action=action, going_on=going_on) -> bool:
            if not began[0]:
                began[0] = True
                action.trigger()
            return going_on()

        rows.append(clock.during(action.text().replace("&", ""), act))
        closing.stop()
        if studio.session.training.current is not None:
            studio.session.training.stop()
            clock.during("", busy(studio))
    return rows


def _answer_dialog() -> None:
    """Presses what a dialog offers to press, and closes it when it has nothing more to do."""
    dialog = QApplication.activeModalWidget()
    if not isinstance(dialog, QDialog):
        return
    for button in dialog.findChildren(QPushButton):
        if button.isDefault() and button.isEnabled() and not dialog.property("pressed"):
            dialog.setProperty("pressed", True)
            button.click()
            return
    dialog.reject()


if __name__ == "__main__":
    main()
