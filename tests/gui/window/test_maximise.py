"""One pane fills the window, by a double click or a key, and the layout comes back as it was."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QTabBar, QWidget

from tests.gui.person import at_window
from tests.gui.window.test_little_room import settle, tabs
from tests.gui.window.test_low_window import begin_high, places, set_height
from tokstudio.gui.state.problems import Problem
from tokstudio.gui.window.dock_sizes import tab_bars

pytestmark = pytest.mark.usefixtures("unstyled")

KEYS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


def double_click(qtbot, widget: QWidget, at: QPoint) -> None:
    """A click, then a double click, as a mouse sends them."""
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton, pos=at)
    # Sent by hand: with two clicks, the helper of the tests would send a second press.
    button, where = Qt.MouseButton.LeftButton, QPointF(widget.mapToGlobal(at))
    keys = Qt.KeyboardModifier.NoModifier
    event = QMouseEvent(QMouseEvent.Type.MouseButtonDblClick, QPointF(at), where, button, button, keys)
    QApplication.sendEvent(widget, event)
    QApplication.processEvents()


def click_title(qtbot, pane) -> None:
    double_click(qtbot, pane.title, pane.title.rect().center())


def tab_of(window, title: str) -> tuple[QTabBar, QPoint]:
    """The tab bar with a title, and the middle of its tab."""
    for bar in tab_bars(window):
        for tab in range(bar.count() if bar.isVisible() else 0):
            if bar.tabText(tab) == title:
                return bar, bar.tabRect(tab).center()
    raise AssertionError(title)


def begin(qtbot, window) -> None:
    """A high, active window without its Why pane."""
    begin_high(qtbot, window)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.why.close()
    # A place that has lost its tabs has the sizes that it will have.
    window.arrange(window.arrangement())
    settle(qtbot, window)


def alone(window) -> str:
    """The pane that fills the window; "" if several are in sight."""
    seen = places(window)
    return next(iter(seen)) if len(seen) == 1 else ""


@at_window()
def test_a_double_click_or_a_key_maximises_a_pane_and_gives_the_layout_back_also_in_a_new_size(qtbot, window):
    begin(qtbot, window)
    areas = {name: place.width() * place.height() for name, place in places(window).items()}
    largest = max(areas, key=areas.__getitem__)
    window.actions_by_id["maximise_pane"].trigger()
    assert alone(window) == largest, "the largest pane, before any had the focus"
    window.messages.show_problem(Problem("It is wrong."))
    assert window.messages.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.messages.isVisible(), "a message is closed first"
    assert alone(window) == largest
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not alone(window)
    usual, shared = places(window), tabs(window)
    click_title(qtbot, window.text)
    assert alone(window) == "text"
    assert not window.text.isFloating()
    assert window.text.width() > 1400
    assert window.actions_by_id["maximise_pane"].isChecked()
    assert window.status.currentMessage().startswith("Press Esc")
    click_title(qtbot, window.text)
    assert (places(window), tabs(window)) == (usual, shared)
    assert not window.status.currentMessage()
    assert not window.actions_by_id["maximise_pane"].isChecked()
    double_click(qtbot, *tab_of(window, "Vocabulary"))
    assert alone(window) == "vocabulary"
    assert window.vocabulary.title.isVisible()
    assert not tabs(window)
    click_title(qtbot, window.vocabulary)
    assert tabs(window) == shared
    assert "vocabulary" in places(window)
    assert not window.vocabulary.title.isVisible()
    assert window.why.isHidden()
    # A key maximises the pane with the focus, and Escape gives the layout back.
    window.merges.raise_()
    qtbot.waitUntil(lambda: places(window) == usual)
    field = window.merges.filter
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_M, KEYS)
    assert alone(window) == "merges"
    assert field.hasFocus()
    qtbot.keyClicks(field, "the")
    # In a field, Escape has its own meaning first.
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == ""
    assert alone(window) == "merges"
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert places(window) == usual
    assert field.hasFocus()
    assert window.why.isHidden()
    window.finder.box.setFocus()
    qtbot.keyClick(window.finder.box, Qt.Key.Key_M, KEYS)
    assert alone(window) == "merges", "the pane that had the focus last"
    qtbot.keyClick(window.finder.box, Qt.Key.Key_M, KEYS)
    assert places(window) == usual
    wide = usual["text"].width()
    click_title(qtbot, window.text)
    set_height(qtbot, window, 640)
    assert alone(window) == "text"
    assert window.text.height() > 480
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: "Text Token" in tabs(window))
    qtbot.waitUntil(lambda: abs(places(window)["text"].width() - wide) < 12)


@at_window()
def test_whatever_needs_other_panes_gives_the_layout_back_first_and_panes_float_by_menu_and_mouse(qtbot, window):
    begin(qtbot, window)
    usual = places(window)
    layout = window.arrangement()
    action = window.actions_by_id

    def workspace():
        action["workspace_compare"].trigger()
        assert not alone(window)
        assert not action["maximise_pane"].isChecked()
        action["workspace_train"].trigger()

    def reset():
        action["reset_layout"].trigger()
        assert not window.why.isHidden()
        window.why.close()

    def menu():
        window.token.toggleViewAction().trigger()
        assert not window.token.isHidden()

    def why():
        window.show_why()
        assert "why" in places(window)
        window.why.close()

    def filter_():
        action["filter"].trigger()
        assert window.merges.filter.hasFocus()

    def close():
        window.text.toggleViewAction().trigger()
        assert window.text.isHidden()
        assert len(places(window)) == len(usual) - 1
        window.text.show()

    def project():
        window.arrange(layout)

    def floating():
        action["float_pane"].trigger()
        assert window.text.isFloating()
        action["float_pane"].trigger()
        assert not window.text.isFloating()

    for deed in (workspace, reset, menu, why, filter_, close, project, floating):
        click_title(qtbot, window.text)
        assert alone(window) == "text", deed
        deed()
        qtbot.waitUntil(lambda: set(places(window)) == set(usual))
        assert window.why.isHidden(), deed
        assert not action["maximise_pane"].isChecked(), deed
        assert window.text.features() == window.token.features(), deed
    panes_float(qtbot, window)


def drag_out_of_its_bar(qtbot, pane, bar: QTabBar, start: QPoint) -> None:
    """Drags a tab within its bar, then out of it, and puts the pane back."""
    left = Qt.MouseButton.LeftButton
    for by, floats in ((QPoint(12, 0), False), (QPoint(0, 200), True)):
        for kind, at in ((QMouseEvent.Type.MouseButtonPress, start), (QMouseEvent.Type.MouseMove, start + by)):
            button = left if kind == QMouseEvent.Type.MouseButtonPress else Qt.MouseButton.NoButton
            where = QPointF(at), QPointF(bar.mapToGlobal(at))
            QApplication.sendEvent(bar, QMouseEvent(kind, *where, button, left, Qt.KeyboardModifier.NoModifier))
        qtbot.mouseRelease(bar, left, pos=start + by)
        assert pane.isFloating() is floats
    assert pane.isVisible()
    pane.setFloating(False)
    assert not pane.isFloating()


def panes_float(qtbot, window) -> None:
    """Lets panes float by the context menu of a title or a tab, and by dragging a tab."""
    drag_out_of_its_bar(qtbot, window.vocabulary, *tab_of(window, "Vocabulary"))
    settle(qtbot, window)
    bar, at = tab_of(window, "Tokenizers")
    for widget, point, pane in ((window.corpus.title, QPoint(4, 4), window.corpus), (bar, at, window.runs)):
        reason = QContextMenuEvent.Reason.Mouse
        QApplication.sendEvent(widget, QContextMenuEvent(reason, point, widget.mapToGlobal(point)))
        assert window.headers.menu.isVisible()
        assert [action.objectName() for action in window.headers.menu.actions()] == ["maximise_pane", "float_pane"]
        window.headers.menu.close()
        window.actions_by_id["float_pane"].trigger()
        assert pane.isFloating()
    # A double click on the title of a floating pane puts it back.
    click_title(qtbot, window.corpus)
    assert not window.corpus.isFloating()
    assert not alone(window)
    # Without a pane there is nothing to maximise, or to float.
    for pane in window.panes:
        pane.close()
    QApplication.processEvents()
    window.actions_by_id["maximise_pane"].trigger()
    assert window.status.currentMessage() == "No pane is open."
    assert not window.actions_by_id["maximise_pane"].isChecked()
    window.actions_by_id["float_pane"].trigger()
    assert not any(pane.isVisible() for pane in window.panes)
