"""A session with a project and copies, without the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.project.behind import BOOK, Behind


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A text of some kilobytes, with a name that is not ASCII."""
    path = tmp_path / "книга one.txt"
    path.write_text(BOOK, encoding="utf-8")
    return path


@pytest.fixture
def behind(qtbot: QtBot) -> Iterator[Behind]:
    """A session without texts, which is closed with the test."""
    made = Behind(qtbot)
    yield made
    made.close()
