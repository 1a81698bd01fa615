"""An error while a widget is painted goes to the exception hook."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys

from PySide6.QtGui import QImage, QPainter

from tokstudio.gui.widgets.labels import guarded_painter


def test_an_error_reaches_the_hook_and_ends_or_restores_the_painter(qapp, monkeypatch):
    told = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: told.append(error))
    image = QImage(8, 8, QImage.Format.Format_RGB32)
    with guarded_painter(image) as painter:
        raise ValueError("first")
    assert not painter.isActive()
    with QPainter(image) as painter:
        with guarded_painter(painter) as same:
            same.setOpacity(0.5)
            raise ValueError("second")
        assert painter.isActive()
        assert painter.opacity() == 1
    assert [str(error) for error in told] == ["first", "second"]
