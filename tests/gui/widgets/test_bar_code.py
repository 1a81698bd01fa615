"""The bar code: bars under the pointer, walked by keys, chosen by a click, and none invisible."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter

from tokstudio.gui.widgets.bar_code import BarCode, paint_bars

HITS = {3: 1, 4: 7, 500: 2, 999: 30}


@pytest.fixture
def bars() -> np.ndarray:
    counts = np.zeros(1000, np.int64)
    counts[list(HITS)] = list(HITS.values())
    return counts


@pytest.fixture
def code(theme, show, bars) -> BarCode:
    code = BarCode(theme, "Where it is", lambda bar, hits: f"{hits} at {bar}")
    show(code, 400, 40)
    code.show_bars(bars, (0.5,))
    return code


def test_keys_go_from_hit_to_hit_and_say_each(qtbot, code):
    said, chosen = [], []
    code.chosen.connect(chosen.append)
    code.setFocus()
    right, end, left, home = Qt.Key.Key_Right, Qt.Key.Key_End, Qt.Key.Key_Left, Qt.Key.Key_Home
    for key in (Qt.Key.Key_Return, right, right, right, end, right, left, home, left, Qt.Key.Key_PageDown):
        qtbot.keyClick(code, key)
        said.append(code.accessibleDescription())
    there, back = ["1 at 3", "7 at 4", "2 at 500", "30 at 999"], ["30 at 999", "2 at 500", "1 at 3", "1 at 3"]
    assert said == ["", *there, *back, "30 at 999"]
    assert chosen == []
    qtbot.keyClick(code, Qt.Key.Key_Return)
    assert chosen == [999]


def test_a_click_chooses_the_bar_beside_it_and_none_where_none_is_near(qtbot, code, bars):
    chosen = []
    code.chosen.connect(chosen.append)
    for bar in (500, 999):
        qtbot.mouseClick(code, Qt.MouseButton.LeftButton, pos=code.place_of(bar) + QPoint(1, 0))
    qtbot.mouseClick(code, Qt.MouseButton.LeftButton, pos=code.place_of(250))
    qtbot.mouseClick(code, Qt.MouseButton.RightButton, pos=code.place_of(500))
    assert chosen == [500, 999]
    code.show_bars(np.zeros(0, np.int64))
    qtbot.mouseClick(code, Qt.MouseButton.LeftButton, pos=QPoint(20, 10))
    qtbot.keyClick(code, Qt.Key.Key_Right)
    assert (chosen, code.current) == ([500, 999], -1)


@pytest.mark.parametrize("width", [60, 400, 3000])
def test_each_hit_can_be_seen_at_any_width(theme, bars, width):
    picture = QImage(width, 4, QImage.Format.Format_RGB32)
    with QPainter(picture) as painter:
        paint_bars(painter, QRectF(picture.rect()), bars, theme.palette)
    ground = QColor(theme.palette.grid).rgb()
    drawn = {x for x in range(width) if picture.pixel(x, 2) != ground}
    assert {bar * width // 1000 for bar in HITS} <= drawn
    assert len(drawn) <= 4 * max(1, -(-width // 1000))


def test_more_hits_are_darker(theme, bars):
    picture = QImage(1000, 4, QImage.Format.Format_RGB32)
    with QPainter(picture) as painter:
        paint_bars(painter, QRectF(picture.rect()), bars, theme.palette)
    shades = [QColor(picture.pixel(bar, 2)).lightness() for bar in sorted(HITS, key=HITS.__getitem__)]
    assert shades == sorted(shades, reverse=True)
    assert len(set(shades)) == len(HITS)
