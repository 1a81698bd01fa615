"""A guarded painter for overrides of `paintEvent`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtGui import QPaintDevice, QPainter


@contextmanager
def guarded_painter(target: QPaintDevice | QPainter) -> Iterator[QPainter]:
    """Yields a painter and passes errors to the exception hook; leaving an override, they would end Qt's event loop.

    Args:
        target: The widget or device to paint on; or a painter of Qt's, whose state is restored afterwards.
    """
    try:
        if isinstance(target, QPainter):
            target.save()
            try:
                yield target
            finally:
                target.restore()
        else:
            with QPainter(target) as painter:
                yield painter
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
