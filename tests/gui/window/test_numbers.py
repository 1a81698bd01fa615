"""What the window says of nothing, of one thing and of two: numbers and nouns agree."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QTableView, QWidget

from tests.gui.person import at_window, quiet
from tests.wrong_numbers import wrong_numbers
from tokstudio.gui.state.training_settings import Settings

pytestmark = pytest.mark.usefixtures("unstyled")


def told(shown: QWidget) -> set[str]:
    """All texts of what is in sight: labels, buttons, cells of tables, tool tips, descriptions."""
    texts: set[str] = set()
    for widget in filter(QWidget.isVisible, shown.findChildren(QWidget)):
        texts |= {widget.toolTip(), widget.accessibleName(), widget.accessibleDescription()}
        if isinstance(widget, (QLabel, QAbstractButton)):
            texts.add(widget.text())
        if isinstance(widget, QTableView) and widget.model() is not None:
            model = widget.model()
            cells = ((row, column) for row in range(min(model.rowCount(), 5)) for column in range(model.columnCount()))
            texts |= {str(model.index(*cell).data() or "") for cell in cells}
    return texts


@at_window()
def test_every_sentence_counts_nothing_one_thing_and_two_right(qtbot, window):
    session, right = window.session, set()

    def wrong(texts: set[str]) -> list[str]:
        found = [text for text in texts - right if wrong_numbers(text)]
        right.update(texts)
        return found

    for text, size, own in (("", 256, ""), ("a", 256, "a"), ("aa", 257, "aa"), ("aab\naab", 258, "aab b")):
        session.corpus.add_text(text)
        session.training.set_settings(Settings(size))
        window.actions_by_id["train"].trigger()
        quiet(qtbot, window)
        session.view.set_text(own)
        done: set[QWidget] = set()  # also in an earlier workspace
        for workspace in ("learn", "train", "compare"):
            window.actions_by_id[f"workspace_{workspace}"].trigger()
            for pane in window.places.panes:
                if pane.isHidden() or pane in done:
                    continue
                done.add(pane)
                pane.raise_()
                for tab in range(pane.tabs.count() if hasattr(pane, "tabs") else 1):
                    if hasattr(pane, "tabs"):
                        pane.tabs.setCurrentIndex(tab)
                    QApplication.processEvents()
                    quiet(qtbot, window)
                    assert not wrong(told(pane)), (text, workspace, pane.objectName(), tab)
            tips = {action.statusTip() for action in window.actions_by_id.values()}
            assert not wrong(told(window) | tips), (text, workspace)
