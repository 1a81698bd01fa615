"""The dialog of By Temperature: an exponent from 0 to 1, with the shares that it gives in the pane behind."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QPushButton, QWidget

from tokstudio.gui.session.corpus import CorpusState
from tokstudio.gui.state.training_plans import AS_THEY_ARE, by_temperature, entries_of
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Decimal
from tokstudio.gui.widgets.fields import Field
from tokstudio.gui.widgets.labels import paragraph_label
from tokstudio.gui.widgets.layouts import STRETCH, column, row

_FIRST = 0.5
_STEP = 0.1
_WIDTH = 360
_WHY = "Shares become proportional to size ^ a: 1 leaves the texts as they are, 0 makes all shares equal."


class TemperatureDialog(QDialog):
    """Asks for the exponent; the weights follow it, and Cancel restores them."""

    def __init__(self, corpus: CorpusState, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Weights by Temperature")
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._corpus, self._before, self._sources = corpus, corpus.weights, corpus.sources
        self.exponent = Decimal(AS_THEY_ARE)
        self.exponent.setStepType(Decimal.StepType.DefaultStepType)
        self.exponent.setSingleStep(_STEP)
        self.exponent.setValue(_FIRST)
        self.exponent.apply_style(theme)
        field = Field("", self.exponent)
        field.set_brief(True)
        field.add_label("&Exponent a", self.exponent)
        field.row.addWidget(self.exponent)
        cancel = QPushButton("Cancel", autoDefault=False)
        cancel.clicked.connect(self.reject)
        take = QPushButton("Set Weights", default=True)
        take.setProperty("primary", True)
        take.clicked.connect(self.accept)
        buttons = row(STRETCH, cancel, take)
        column(
            paragraph_label("muted", _WHY), field, STRETCH, buttons, spacing=10, margins=(24, 20, 24, 16), parent=self
        )
        self.setMinimumWidth(theme.scaled(_WIDTH))
        self.exponent.valueChanged.connect(self._follow)
        self.finished.connect(self._end)
        corpus.sources_changed.connect(self.reject)
        self._follow()

    def _follow(self) -> None:
        entries = entries_of(self._sources)
        self._corpus.set_weights(by_temperature(self._sources, entries, self.exponent.value()), moving=True)

    def _end(self, result: int) -> None:
        if self._corpus.sources == self._sources and result != QDialog.DialogCode.Accepted:
            self._corpus.set_weights(self._before, moving=True)
        self._corpus.settle_weights()
