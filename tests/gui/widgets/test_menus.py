"""Menus: grey entries say why, in a tool tip and in the status bar."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QAction, QHelpEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QTableWidget, QToolTip

from tokstudio.gui.widgets.menus import Menu, offer_actions, set_why_not

WHY = "Open a text first."


@pytest.fixture
def window(qtbot):
    window = QMainWindow()
    qtbot.addWidget(window)
    window.statusBar()
    window.show()
    qtbot.waitExposed(window)
    return window


def wait_for_tip(qtbot, menu, action, tip):
    """Lets the pointer rest on an entry, and waits until so much is shown, "" for nothing."""
    place = menu.actionGeometry(action).center()
    QApplication.sendEvent(menu, QHelpEvent(QEvent.Type.ToolTip, place, menu.mapToGlobal(place)))
    qtbot.waitUntil(lambda: QToolTip.text() == tip)


def test_a_grey_entry_says_why(qtbot, window):
    menu = Menu("&Train", window.menuBar())
    window.menuBar().addMenu(menu)
    inner = menu.add_menu("More")
    grey, plain, usable = inner.addAction("Train"), inner.addAction("Stop"), inner.addAction("Step")
    set_why_not(grey, WHY)
    plain.setEnabled(False)
    set_why_not(usable, "")
    usable.setToolTip("Step (F10)")
    inner.popup(window.mapToGlobal(QPoint(9, 9)))
    assert usable.isEnabled()
    wait_for_tip(qtbot, inner, grey, WHY)
    wait_for_tip(qtbot, inner, usable, "")
    wait_for_tip(qtbot, inner, grey, WHY)
    wait_for_tip(qtbot, inner, plain, "")
    qtbot.mouseMove(inner, inner.actionGeometry(plain).center())
    qtbot.mouseMove(inner, inner.actionGeometry(grey).center())
    qtbot.waitUntil(lambda: window.statusBar().currentMessage() == WHY)
    inner.close()
    assert window.statusBar().currentMessage() == ""
    QToolTip.hideText()


def test_the_actions_of_a_table_are_its_context_menu(qtbot, window):
    table = QTableWidget(3, 1)
    window.setCentralWidget(table)
    action = QAction("Why", table)
    set_why_not(action, WHY)
    offer_actions(table, [action])
    assert table.contextMenuPolicy() == Qt.ContextMenuPolicy.CustomContextMenu
    table.customContextMenuRequested.emit(QPoint(5, 5))
    (menu,) = [each for each in table.findChildren(Menu) if each.isVisible()]
    assert menu.actions() == [action]
    wait_for_tip(qtbot, menu, action, WHY)
    menu.close()
    QToolTip.hideText()
