"""What tests of the window stand on: a session, looks, actions, a place to show a pane, and a way to train.

No window, timer or thread may outlive its test.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, partialmethod
from pathlib import Path
from time import monotonic
from typing import Any

import font_source_sans_pro
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QSize, Qt, QThread, QTimer
from PySide6.QtGui import QAction, QCursor, QFont, QFontDatabase
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.person import PATIENCE, PAUSES, TEXT
from tokstudio.core.base.resources import sample_text
from tokstudio.gui.session.common.jobs import Pauses
from tokstudio.gui.session.session import Session
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.style.theme import BODY_PIXELS, Theme

_FONT = QFont("Source Sans Pro")
_FONT.setPixelSize(BODY_PIXELS)


@pytest.fixture(scope="session", autouse=True)
def font_of_a_package(qapp: QApplication) -> None:
    """Gives all tests the same font: what fits in a window depends on it."""
    folder = Path(str(font_source_sans_pro.__file__)).parent / "files"
    for weight in ("Regular", "Semibold", "Bold"):
        assert QFontDatabase.addApplicationFont(str(folder / f"SourceSansPro-{weight}.ttf")) >= 0
    qapp.setFont(_FONT)


@pytest.fixture(scope="session", autouse=True)
def old_objects() -> None:
    """Keeps what is there before the first test out of the garbage collection that each test ends with."""
    gc.collect()
    gc.freeze()


def wait_until(qtbot: QtBot, holds: Callable[[], bool], *, timeout: int = PATIENCE) -> None:
    """Handles events until it holds: looks after a millisecond, where `qtbot` would after ten, and then ever later."""
    loop, begun = QEventLoop(), monotonic()
    timer = QTimer(loop, singleShot=True)
    timer.timeout.connect(loop.quit)
    waited = 0
    while not holds():
        assert waited <= timeout, f"it does not hold after {waited} ms"
        timer.start(min(1 + waited // 10, 10))
        loop.exec()
        waited = round(1000 * (monotonic() - begun))


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """Lets every wait last as long as a first training, which compiles; 5 seconds are too few beside other work."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("waitSignal", "waitExposed"):
            patch.setattr(QtBot, name, partialmethod(getattr(QtBot, name), timeout=PATIENCE))
        patch.setattr(QtBot, "waitUntil", wait_until)
        yield


@pytest.fixture(autouse=True)
def freeze(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Gives `gc.freeze`, and takes it from the program, whose window stays until the end: those of tests shall not."""
    original = gc.freeze
    monkeypatch.setattr(gc, "freeze", lambda: None)
    return original


@pytest.fixture(autouse=True)
def no_window_left_behind(request: pytest.FixtureRequest, freeze: Callable[[], None]) -> Iterator[None]:
    """Fails a test that leaves a window or a running QThread behind."""
    if "qtbot" in request.fixturenames:
        request.getfixturevalue("qtbot")
    # Where the pointer of an earlier test was, a button of this one would show its tip in the status bar.
    QCursor.setPos(-1, -1)
    # A click with Ctrl, as the last act of an earlier test, would leave Ctrl pressed for what selects rows.
    if QApplication.keyboardModifiers() != Qt.KeyboardModifier.NoModifier:
        QTest.keyRelease(QWidget(), Qt.Key.Key_Control)
    # A double click of a test ends with the second press: nothing would scroll while that button is held.
    if QApplication.mouseButtons() != Qt.MouseButton.NoButton:
        QTest.mouseRelease(QWidget(), Qt.MouseButton.LeftButton)
    palette = QApplication.palette()
    # A job's thread that collected the widgets of an earlier test would crash.
    gc.disable()
    yield
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        return
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    running = [thing for thing in gc.get_objects() if isinstance(thing, QThread) and thing.isRunning()]
    assert not running, f"threads left behind: {running}"
    # What stays, such as modules, need not be looked through again by the search that ends each test.
    del running
    freeze()
    windows = [widget for widget in application.topLevelWidgets() if widget.isVisible()]
    assert not windows, f"windows left behind: {windows}"
    if application.palette() != palette:
        application.setPalette(palette)
    if application.styleSheet():
        application.setStyleSheet("")
    if application.font() != _FONT:
        application.setFont(_FONT)


@pytest.fixture
def pauses(request: pytest.FixtureRequest) -> Pauses:
    """What the window waits for: shorter than for a person, as a test waits for what comes after."""
    return getattr(request, "param", PAUSES)


@pytest.fixture(autouse=True)
def handed_in(monkeypatch: pytest.MonkeyPatch, pauses: Pauses) -> None:
    """Hands the pauses to each window that starts, and lets what scrolls come to rest at once."""
    monkeypatch.setattr("tokstudio.gui.widgets.layouts.REST", 5)
    monkeypatch.setattr("tokstudio.gui.app.app.Session", partial(Session, pauses=pauses))


@pytest.fixture
def session(qtbot: QtBot, pauses: Pauses) -> Iterator[Session]:
    """The studio's state; its jobs end with the test."""
    made = Session(pauses=pauses)
    yield made
    made.close()


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    """The light looks."""
    return Theme("light")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A text of 2 kB."""
    path = tmp_path / "book.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def screen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> QSize:
    """The room that the screen has for a window, of the size that the test asks for: offscreen has no limit."""
    monkeypatch.setattr("tokstudio.gui.window.main_window._room", lambda window: request.param)
    return request.param


@pytest.fixture
def unstyled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows without the style sheet, for tests of what a window does and not of its look: they take half the time."""

    @contextmanager
    def no_sheet(theme: Theme) -> Iterator[None]:
        yield
        theme.changed.emit()

    monkeypatch.setattr(Theme, "style_sheet", "")
    monkeypatch.setattr(Theme, "sheet_at_end", no_sheet)


class Actions(dict[str, QAction]):
    """The window's actions by id, each made when it is first asked for."""

    def __missing__(self, name: str) -> QAction:
        self[name] = QAction(name)
        return self[name]


@pytest.fixture
def actions(qtbot: QtBot) -> Actions:
    """Actions that do nothing until the test says what."""
    return Actions()


@pytest.fixture
def show(qtbot: QtBot) -> Iterator[Callable[[QWidget, int, int], None]]:
    """Shows a widget, with so many pixels, in a window that is hidden before the session ends."""
    hosts: list[QWidget] = []

    def show(widget: QWidget, width: int, height: int) -> None:
        host = QWidget()
        hosts.append(host)
        qtbot.addWidget(host)
        host.resize(width, height)
        widget.setParent(host)
        widget.setGeometry(host.rect())
        host.show()
        qtbot.waitExposed(host)

    yield show
    for host in hosts:
        host.hide()


@pytest.fixture
def dock(qtbot: QtBot, session: Session) -> Iterator[Callable[[QDockWidget, int, int], None]]:
    """Shows a pane at the left of an active main window of so many pixels."""
    windows: list[QMainWindow] = []

    def dock(pane: QDockWidget, width: int, height: int) -> None:
        window = QMainWindow()
        windows.append(window)
        qtbot.addWidget(window)
        window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, pane)
        window.resize(width, height)
        window.show()
        qtbot.waitExposed(window)
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)

    yield dock
    session.close()
    for window in windows:
        window.close()


def _on_screen(place: str, kind: type[QDockWidget], width: int, height: int) -> Any:
    @pytest.fixture
    def pane(session: Session, theme: Theme, actions: Actions, request: pytest.FixtureRequest) -> QDockWidget:
        made = kind(session, theme, actions)
        request.getfixturevalue(place)(made, width, height)
        return made

    return pane


#: Fixtures: a pane of a kind, with so many pixels, in an active main window or alone.
docked, alone = partial(_on_screen, "dock"), partial(_on_screen, "show")


@pytest.fixture
def step_to(qtbot: QtBot, session: Session) -> Callable[[int], StudioRun]:
    """Goes on, one merge after the other, until the run in training has so many, and gives it."""

    def step_to(merges: int) -> StudioRun:
        made = len(session.runs.active or ()) if session.training.current is not None else 0
        for number in range(made + 1, merges + 1):
            session.training.step()
            qtbot.waitUntil(
                lambda number=number: session.training.state == "paused" and len(session.runs.active or ()) == number,
                timeout=PATIENCE,
            )
        assert session.runs.active is not None
        return session.runs.active

    return step_to


@pytest.fixture
def make_run(qtbot: QtBot, session: Session) -> Callable[..., StudioRun]:
    """Trains as set on what the session holds, or on `text` where it holds nothing, and gives the run."""

    def make_run(text: str = TEXT, **settings: Any) -> StudioRun:
        if not session.corpus.sources:
            session.corpus.add_text(text)
        session.training.set_settings(Settings(**settings))
        session.training.start()
        qtbot.waitUntil(lambda: session.training.current is None)
        assert session.runs.active is not None
        return session.runs.active

    return make_run


@pytest.fixture(params=["last", "first"])
def unknown_run(request: pytest.FixtureRequest, make_run: Callable[..., StudioRun]) -> Callable[..., StudioRun]:
    """Trains on a text of which some characters become the unknown token; with the special tokens at either place."""
    return partial(
        make_run,
        vocabulary_size=20,
        base="characters",
        base_vocabulary=tuple("the ca"),
        special_tokens=("<pad>", "<unk>"),
        special_placement=request.param,
        unknown_token="<unk>",
    )


@pytest.fixture
def trained(session: Session, pane: QWidget, make_run: Callable[..., StudioRun]) -> Session:
    """The session with a run of 344 merges, made while the test's own `pane` was there to see it."""
    make_run(sample_text("article"), vocabulary_size=600)
    return session
