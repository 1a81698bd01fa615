"""The offer to count the uses of a tokenizer from a file, in place of the missing figures."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame

from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.buttons import ActionButton
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import row


class CountUsesButton(ActionButton):
    """A button that counts the uses in the open corpus; without a corpus it is disabled, and says why.

    Args:
        action: The window's `count_uses`.
        theme: Fonts and colours.
    """

    def __init__(self, action: QAction, theme: Theme) -> None:
        super().__init__(action, "Count Uses in the Corpus", theme)
        self.setProperty("primary", None)
        self.setProperty("link", True)


class UsesOffer(QFrame):
    """A muted line above a table, hidden while there is nothing to offer.

    Args:
        action: The window's `count_uses`.
        theme: Fonts and colours.
    """

    def __init__(self, action: QAction, theme: Theme) -> None:
        super().__init__()
        self.label = paragraph_label("muted")
        self.button = CountUsesButton(action, theme)
        row((self.label, 1), self.button, margins=(8, 0, 8, 0), parent=self)
        self.hide()

    def offer(self, words: str) -> None:
        """Says why there are no counts; "" hides the line."""
        if words != self.label.text():
            self.label.setText(words)
            self.setVisible(bool(words))
