"""How often merges are passed over in encoding the text with dropout, and another try; shown while dropout is on."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from tokstudio.gui.session.view_state import ViewState
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.buttons import link_button
from tokstudio.gui.widgets.controls import Percent
from tokstudio.gui.widgets.labels import TermLabel
from tokstudio.gui.widgets.layouts import STRETCH, row


class DropoutBar(QWidget):
    """Follows the dropout of the view."""

    def __init__(self, view: ViewState, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__()
        self._view, self._theme = view, theme
        self._switch = actions["encode_with_dropout"]
        self.share = Percent()
        self.share.setToolTip("How often a merge that could be made is passed over")
        self.share.setAccessibleName("Share of merges that are passed over")
        self.again = link_button("Again", actions["dropout_again"].trigger)
        self.again.setToolTip("Pass over other merges")
        self.off = link_button("Off", self._switch.trigger)
        self.off.setToolTip("Encode without dropout")
        row(TermLabel("Dropout", "dropout"), self.share, self.again, self.off, STRETCH, spacing=8, parent=self)
        self.share.valueChanged.connect(self._set_share)
        view.dropout_changed.connect(self._follow)
        theme.changed.connect(self._apply_style)
        self._apply_style()
        self._follow()

    def _follow(self) -> None:
        dropout = self._view.dropout
        with QSignalBlocker(self.share):
            if dropout is not None and not self.share.shows(dropout.probability):
                self.share.setValue(100 * dropout.probability)
        self._switch.setChecked(dropout is not None)
        self.setVisible(dropout is not None)

    def _set_share(self) -> None:
        if self._view.dropout is not None:
            self._view.set_dropout(replace(self._view.dropout, probability=self.share.share))

    def _apply_style(self) -> None:
        self.share.apply_style(self._theme)
