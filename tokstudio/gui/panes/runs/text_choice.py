"""The button of the text that all rows of Runs are measured on, with a menu of other texts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolButton

from tokstudio.core.corpus.source import Source, entries
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.measured_texts import ChosenText
from tokstudio.gui.widgets.labels import plain
from tokstudio.gui.widgets.menus import Menu

_ACTIONS = ("measure_on_corpus", "measure_on_text", "measure_on_held_out", "measure_on_file")
_LONGEST_NAME = 180  # pixels
_MOST = 30  # sources in the menu


class TextButton(QToolButton):
    """Names the text, and opens the menu of texts."""

    def __init__(self, session: Session, actions: Mapping[str, QAction]) -> None:
        super().__init__(popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self._on_text, self._corpus = session.on_text, session.corpus
        self._actions = [actions[name] for name in _ACTIONS]
        self.texts = Menu("&Measure On", self)
        self.texts.aboutToShow.connect(partial(self.fill, self.texts))
        self.fill(self.texts)
        self.setMenu(self.texts)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setProperty("low", True)
        # The title decides how high the row is: a low window has no room to spare.
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._on_text.changed.connect(self._name)
        self._name()

    def sizeHint(self) -> QSize:
        """Returns room for one line of text, without a frame."""
        return QSize(super().sizeHint().width(), self.fontMetrics().height() + 2)

    def fill(self, menu: QMenu) -> None:
        """Lists the actions and the sources of the corpus."""
        menu.clear()
        menu.addActions(self._actions)
        of_entry: dict[tuple[str, int], list[Source]] = {}
        for source, entry in zip(self._corpus.sources, entries(self._corpus.sources), strict=True):
            of_entry.setdefault(entry, []).append(source)
        if len(of_entry) < 2:
            return
        menu.addSeparator()
        for (name, number), sources in list(of_entry.items())[:_MOST]:
            shown = menu.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, 2 * _LONGEST_NAME)
            action = menu.addAction(shown.replace("&", "&&"))
            action.setStatusTip("Measure all rows of Runs on this source of the corpus.")
            # By number, as a menu must not keep a removed source alive.
            action.triggered.connect(partial(self._choose, name, number, len(sources)))
        if len(of_entry) > _MOST:
            menu.addAction(f"{len(of_entry) - _MOST:,} more").setEnabled(False)

    def _choose(self, name: str, number: int, count: int) -> None:
        found = zip(self._corpus.sources, entries(self._corpus.sources), strict=True)
        sources = tuple(source for source, entry in found if entry == (name, number))
        if len(sources) == count:
            self._on_text.choose(ChosenText.of_sources(name, sources))

    def _name(self) -> None:
        text = self._on_text.text
        name = "no text" if text is None else text.name
        fitting = self.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, _LONGEST_NAME)
        self.setText(f"Measured on {fitting}".replace("&", "&&"))
        size = f" ({text.corpus.bytes:,} bytes)" if text is not None else ""
        told = f"Bytes per token of every row are measured on {name}{size}. Choose another text."
        self.setToolTip(plain(told))
        self.setAccessibleName(f"Measured on {name}")
