"""What a person may do in the window, chosen at random by a seed: menus, mouse, keys, and the state behind."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLineEdit, QMenu, QTabBar, QWidget

from tokstudio import Corpus, TrainingConfig, save, train
from tokstudio.core.model.algorithms import AlgorithmName
from tokstudio.core.model.settings import ALGORITHM_TITLES, TIE_RULES, LibraryAlgorithm
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.window.main_window import MainWindow

# What ends the program, shows a dialog of the system, or asks a server.
_NOT = ("quit", "open_by_name", "open_data_set", "report_problem")
_TEXTS = (
    "a",
    "aaaa",
    "\x00\ufffd",
    "the cat sat on the mat and the rat sat on the cat.\n" * 40,
    "día de días, noche de noches, 日本語の本、本の日\n" * 25,
    "def f(x):\n    return x + 1\n" * 30,
    "".join(f"line {number} of {number % 7} words\n" for number in range(300)),
)
_TYPED = ("a", "the", "7", "0,5", "/i", "removed:", "by:a", ">3", "<|x|>", " ")
_KEYS = (
    *(Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown),
    *(Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Space, Qt.Key.Key_Return),
    *(Qt.Key.Key_Escape, Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_F2, Qt.Key.Key_Menu),
)
_MODIFIERS = (
    *[Qt.KeyboardModifier.NoModifier] * 6,
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.ShiftModifier,
)


class RandomAnswers:
    """Answers every question of the window at once, in place of its dialogs; never opens a program."""

    def __init__(self, folder: Path, choice: random.Random) -> None:
        self._folder, self._choice = folder, choice
        self.texts: list[Path] = []
        self.tokenizers: list[Path] = []

    def open_files(self, title: str, folder: Path, filters: str = "") -> list[Path]:
        """Some files of what is asked for."""
        files = self.tokenizers if "Tokenizer" in title else self.texts if "Corpus" in title else []
        return self._choice.sample(files, min(len(files), 2))

    def open_folder(self, title: str, folder: Path) -> Path | None:
        """A folder for tokenizers, or none."""
        return self._choice.choice(self.tokenizers).parent if "Tokenizer" in title else None

    def save_file(self, title: str, suggestion: Path, filters: str) -> Path | None:
        """A place in the folder."""
        return self._folder / suggestion.name

    def text(self, title: str, label: str, value: str) -> str | None:
        """A name."""
        return self._choice.choice((None, value + "!", "mine"))

    def show_file(self, path: Path) -> bool:
        """Does nothing."""
        return True

    def save_or_not(self, title: str, question: Callable[[], str], changed: object) -> str | None:
        """Never leaves the window."""
        return None

    def confirm(self, title: str, text: str, verb: str, over: object = None) -> bool:
        """Never leaves the program."""
        return "Browser" not in verb and self._choice.random() < 0.7


class RandomActs:
    """Does one thing after another.

    Args:
        window: The window.
        answers: Its dialogs.
        choice: The random numbers.
        algorithms: The algorithms to train with.
    """

    def __init__(
        self,
        window: MainWindow,
        answers: RandomAnswers,
        choice: random.Random,
        algorithms: Sequence[AlgorithmName | LibraryAlgorithm] = tuple(ALGORITHM_TITLES),
    ) -> None:
        self._answers, self._choice, self._algorithms = answers, choice, algorithms
        self._session, self._window = window.session, window
        # Nothing ends the program.
        quits = window.actions_by_id["quit"]
        quits.setShortcuts([])
        quits.triggered.disconnect()
        self._acts: list[tuple[int, Callable[[], str]]] = [
            (25, self._menu),
            (25, self._mouse),
            (20, self._key),
            (4, self._type),
            (12, self._view),
            (8, self._training),
            (6, self._runs),
            (4, self._corpus),
            (1, self._size),
        ]

    def act(self) -> str:
        """Does one thing, and returns its name; in a menu or a dialog, something of it."""
        popup = QApplication.activePopupWidget()
        if popup is not None:
            return self._in_popup(popup)
        weights, acts = zip(*self._acts, strict=True)
        if QApplication.activeModalWidget() is not None:
            return self._choice.choice((self._mouse, self._key, self._type, self._leave))()
        return self._choice.choices(acts, weights)[0]()

    # ---- by menus, mouse and keys

    def _menu(self) -> str:
        actions = self._window.actions_by_id
        enabled = (name for name, action in actions.items() if action.isEnabled())
        name = self._choice.choice([name for name in enabled if name not in _NOT])
        actions[name].trigger()
        return f"action {name}"

    def _in_popup(self, popup: QWidget) -> str:
        if isinstance(popup, QMenu) and self._choice.random() < 0.4:
            left_out = {self._window.actions_by_id[name] for name in _NOT if name in self._window.actions_by_id}
            entries = [entry for entry in popup.actions() if entry.isEnabled() and entry not in left_out]
            if entries:
                entry = self._choice.choice(entries)
                name = f"entry {entry.text()}"
                popup.close()
                entry.trigger()  # a menu may be gone afterwards, with its entries
                return name
        popup.close()
        return f"close {type(popup).__name__}"

    def _leave(self) -> str:
        dialog = QApplication.activeModalWidget()
        if dialog is not None and self._choice.random() < 0.5:
            dialog.close()
            return f"close {type(dialog).__name__}"
        return "stay"

    def _widgets(self) -> list[QWidget]:
        top = QApplication.activeModalWidget() or self._window
        return [
            widget
            for widget in top.findChildren(QWidget)
            if widget.isVisible() and widget.isEnabled() and widget.width() > 0 and not widget.visibleRegion().isEmpty()
        ]

    def _mouse(self) -> str:
        widgets = self._widgets()
        if not widgets:
            return "nothing to click"
        widget = self._choice.choice(widgets)
        place = QPoint(self._choice.randrange(widget.width()), self._choice.randrange(widget.height()))
        how = self._choice.choice(("click",) * 4 + ("double", "wheel", "drag", "context", "move"))
        name = f"{how} {_name(widget)} at {place.x()},{place.y()}"
        left, keys = Qt.MouseButton.LeftButton, self._choice.choice(_MODIFIERS)
        if how == "click":
            QTest.mouseClick(widget, left, keys, place)
        elif how == "double":
            QTest.mouseDClick(widget, left, keys, place)
        elif how == "move":
            QTest.mouseMove(widget, place)
        elif how == "wheel":
            where = QPointF(place), QPointF(widget.mapToGlobal(place)), QPoint()
            by = QPoint(0, self._choice.choice((-480, -120, 120, 480)))
            event = QWheelEvent(*where, by, Qt.MouseButton.NoButton, keys, Qt.ScrollPhase.NoScrollPhase, False)
            QApplication.sendEvent(widget, event)
        elif how == "context":
            event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, widget.mapToGlobal(place))
            QApplication.sendEvent(widget, event)
        elif not isinstance(widget, QTabBar):  # a drag of a dock goes on until the pointer moves
            to = QPoint(self._choice.randrange(widget.width()), self._choice.randrange(widget.height()))
            QTest.mousePress(widget, left, keys, place)
            QTest.mouseMove(widget, to)
            QTest.mouseRelease(widget, left, keys, to)
        return name

    def _focused(self) -> QWidget:
        return QApplication.focusWidget() or QApplication.activeModalWidget() or self._window

    def _key(self) -> str:
        widget, key, keys = self._focused(), self._choice.choice(_KEYS), self._choice.choice(_MODIFIERS)
        QTest.keyClick(widget, key, keys)
        return f"key {key.name} {keys.name} in {_name(widget)}"

    def _type(self) -> str:
        fields = [widget for widget in self._widgets() if isinstance(widget, QLineEdit | QComboBox)]
        if not fields:
            return "nothing to type in"
        field, typed = self._choice.choice(fields), self._choice.choice(_TYPED)
        field.setFocus()
        QTest.keyClicks(field, typed)
        return f"type {typed!r} in {_name(field)}"

    # ---- by the state behind

    def _view(self) -> str:
        view, run = self._session.view, self._session.view.run
        what = self._choice.choice(("playhead", "playhead", "token", "hover", "target", "text"))
        if what == "text":
            text = self._choice.choice((*_TEXTS, ""))
            view.set_text(text)
            return f"text {text[:20]!r}"
        if run is None:
            return "no run"
        if what == "playhead":
            merges = self._choice.choice((0, 1, len(run), len(run) - 1, self._choice.randint(0, len(run))))
            view.set_playhead(merges)
            return f"playhead {merges}"
        tokenizer = view.tokenizer
        token = self._choice.randrange(len(tokenizer)) if tokenizer is not None and len(tokenizer) else None
        if token is not None and not run.tokenizer.tokens.in_use(token):
            token = None
        if what == "target":
            view.set_target(token)
        else:
            view.look_at(token, hover=what == "hover")
        return f"{what} {token}"

    def _training(self) -> str:
        training, choice = self._session.training, self._choice
        what = choice.choice(("train", "train", "settings", "stop", "pause", "resume", "step", "continue"))
        if what == "train":
            training.start()
        elif what == "continue" and self._session.runs.active is not None:
            training.continue_run(self._session.runs.active)
        elif what in ("stop", "pause", "resume", "step"):
            getattr(training, what)()
        else:
            size = choice.choice((257, 258, 260, 300, 600, 1500))
            settings = Settings(
                size,
                min_frequency=choice.choice((None, None, 2, 10**6)),
                pattern=choice.choice(("none", "gpt2", "whitespace", "llama3")),
                base=choice.choice(("bytes", "bytes", "characters")),
                tie_break=choice.choice(tuple(TIE_RULES)),
                special_tokens=choice.choice(((), ("<|x|>",), ("<|x|>", "<|y|>"))),
                special_placement=choice.choice(("last", "first")),
                held_out=choice.choice((0.0, 0.0, 0.1, 0.5)),
                documents=choice.choice(("file", "line")),
                algorithm=choice.choice(("bpe", "bpe", *self._algorithms)),
                transition=choice.choice((None, 257, size - 1)),
            )
            training.set_settings(settings)
            return f"settings {settings.algorithm} {size} {settings.base} {settings.pattern}"
        return what

    def _runs(self) -> str:
        session, choice = self._session, self._choice
        what = choice.choice(("open", "delete", "delete", "activate", "rename", "undo", "redo"))
        if what == "open":
            path = choice.choice(self._answers.tokenizers)
            self._window.opening.load_tokenizer(path)
            return f"open {path.name}"
        if what in ("undo", "redo"):
            getattr(session.history, what)()
        elif session.runs.all:
            run = choice.choice(session.runs.all)
            if what == "delete":
                session.history.delete_run(run)
            elif what == "rename":
                session.history.rename_run(run, choice.choice(("mine", "yours", "x" * 100)))
            else:
                session.runs.activate(run)
            return f"{what} {run.name[:20]}"
        return what

    def _corpus(self) -> str:
        corpus, choice = self._session.corpus, self._choice
        what = choice.choice(("add", "open", "remove", "weigh", "clear"))
        if what == "add":
            corpus.add_text(choice.choice(_TEXTS))
        elif what == "open":
            self._window.opening.open_any(choice.sample(self._answers.texts, 2))
        elif what == "clear":
            corpus.set_sources(())
        elif corpus.sources and what == "remove":
            corpus.remove_sources([choice.randrange(len(corpus.sources))])
        elif corpus.sources:
            corpus.set_weights(tuple(choice.choice((0, 500, 1000, 3000)) for _ in corpus.sources), moving=True)
            corpus.settle_weights()
        return f"corpus {what}"

    def _size(self) -> str:
        width, height = self._choice.choice(((1440, 900), (1024, 640), (1280, 720)))
        self._window.resize(width, height)
        return f"size {width} x {height}"


def _name(widget: QWidget) -> str:
    return f"{type(widget).__name__} {(widget.accessibleName() or widget.objectName())[:30]}".strip()


def small_files(folder: Path) -> tuple[list[Path], list[Path]]:
    """Texts and tokenizers to open: tiny ones, without merges or with one, ours and of other libraries."""
    texts: list[Path] = []
    for number, text in enumerate(_TEXTS):
        texts.append(folder / f"text{number}.txt")
        texts[-1].write_text(text, encoding="utf-8")
    corpus = Corpus.from_text(_TEXTS[3] + _TEXTS[4])
    tokenizers: list[Path] = []
    configs = {
        "none": TrainingConfig(min_frequency=10**9),
        "one": TrainingConfig(vocabulary_size=257),
        "many": TrainingConfig(vocabulary_size=330, pattern="gpt2", special_tokens=["<|x|>"]),
    }
    for name, config in configs.items():
        made = train(corpus, config)
        for form in ("huggingface", "classic", "minbpe"):
            place = folder / f"{name}-{form}"
            files = save(made, place, format=form, accept_loss=True).files
            tokenizers.append(next(file for file in files if "vocab" not in file.name))
    return texts, tokenizers
