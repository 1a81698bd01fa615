"""Painting in overrides of Qt's methods, where an exception must not leave Python."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtGui import QPaintDevice, QPainter


@contextmanager
def guarded_painter(target: QPaintDevice | QPainter) -> Iterator[QPainter]:
    """Gives a painter; an error within goes to the exception hook, as one that leaves an override ends Qt's event loop.

    Args:
        target: What is painted on; or a painter that Qt has given, whose state is restored afterwards.
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
