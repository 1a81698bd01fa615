"""Columns, rows and stacks of widgets, as one expression, lines between them, and the order of Tab."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias, TypeVar

from PySide6.QtCore import QMargins, QSize, Qt
from PySide6.QtWidgets import QBoxLayout, QDialog, QFrame, QHBoxLayout, QLayout, QStackedWidget, QVBoxLayout, QWidget

from tokstudio.gui.style.theme import Theme

#: A widget or layout; with its share of the remaining room or its alignment; a number is a space in pixels.
Item: TypeAlias = QWidget | QLayout | int | tuple[QWidget | QLayout, int | Qt.AlignmentFlag]
_Box = TypeVar("_Box", bound=QBoxLayout)

#: An item: room that is left over.
STRETCH = -1

_FRAME = 64  # pixels of the screen that the title bar and borders of a dialog need


def column(
    *items: Item, spacing: int = -1, margins: tuple[int, int, int, int] = (0, 0, 0, 0), parent: QWidget | None = None
) -> QVBoxLayout:
    """Items from top to bottom.

    Args:
        items: The items.
        spacing: Pixels between them; -1 for the style's.
        margins: Pixels around them: left, top, right, bottom.
        parent: The widget that they fill.
    """
    return _filled(QVBoxLayout(), items, spacing, margins, parent)


def row(
    *items: Item, spacing: int = -1, margins: tuple[int, int, int, int] = (0, 0, 0, 0), parent: QWidget | None = None
) -> QHBoxLayout:
    """Items from left to right; see `column`."""
    return _filled(QHBoxLayout(), items, spacing, margins, parent)


def _filled(
    box: _Box, items: tuple[Item, ...], spacing: int, margins: tuple[int, int, int, int], parent: QWidget | None
) -> _Box:
    if parent is not None:
        parent.setLayout(box)
    box.setSpacing(spacing)
    box.setContentsMargins(QMargins(*margins))
    for item in items:
        _add(box, item)
    return box


def _add(box: QBoxLayout, item: Item) -> None:
    if isinstance(item, int):
        box.addStretch(1) if item == STRETCH else box.addSpacing(item)
        return
    one, how = item if isinstance(item, tuple) else (item, 0)
    share, alignment = (0, how) if isinstance(how, Qt.AlignmentFlag) else (how, Qt.AlignmentFlag(0))
    if isinstance(one, QLayout):
        box.addLayout(one, share)
    else:
        box.addWidget(one, share, alignment)


def stacked(*pages: QWidget) -> QStackedWidget:
    """Pages of which one is shown."""
    stack = QStackedWidget()
    for page in pages:
        stack.addWidget(page)
    return stack


def set_tab_order(*widgets: QWidget) -> None:
    """Lets Tab go through widgets in this order. Qt ignores those that do not take the focus by Tab."""
    for one, other in pairwise(widgets):
        QWidget.setTabOrder(one, other)


def rule() -> QFrame:
    """A thin line between rows."""
    made = QFrame()
    made.setProperty("rule", "true")
    return made


def resize_on_screen(dialog: QDialog, theme: Theme, size: QSize) -> None:
    """Gives a dialog a size that was designed for the usual text, or less where the screen is smaller."""
    room = dialog.screen().availableSize() - QSize(_FRAME, _FRAME)
    dialog.resize(QSize(theme.scaled(size.width()), theme.scaled(size.height())).boundedTo(room))
