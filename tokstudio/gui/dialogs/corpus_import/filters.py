"""The filters of the Import step: which documents are kept, and how much of them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

from PySide6.QtWidgets import QCheckBox, QWidget

from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import LimitField
from tokstudio.gui.widgets.layouts import column

_LEAST, _MOST, _BYTES = 10, 10_000, 10_000_000  # what the fields show before they are switched on
_WIDTH = 132


class Filters(QWidget):
    """Limits of documents and sources, and whether duplicates are dropped."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.least = LimitField("&Fewest characters of a document", "Shorter documents are dropped.", _LEAST, theme)
        self.most = LimitField("M&ost characters of a document", "The rest of longer documents is cut.", _MOST, theme)
        self.bytes = LimitField("Most &bytes of a source", "The rest of a longer source is not read.", _BYTES, theme)
        for field in (self.least, self.most, self.bytes):
            field.name_it(field.check.text().replace("&", ""))
            field.set_brief(True)
            field.number.setMinimum(1)
        theme.changed.connect(self._widen)
        self._widen()
        self.duplicates = QCheckBox("Drop d&uplicates")
        self.duplicates.setToolTip("A document that occurred before in the same data set is dropped.")
        column(self.least, self.most, self.bytes, self.duplicates, spacing=6, parent=self)

    def show_reading(self, reading: Reading) -> None:
        """Shows the filters of a reading."""
        self.least.set_value(reading.least_characters or None)
        self.most.set_value(reading.most_characters)
        self.bytes.set_value(reading.most_bytes)
        self.duplicates.setChecked(reading.deduplicate)

    def added_to(self, reading: Reading) -> Reading:
        """A reading with these filters."""
        return replace(
            reading,
            least_characters=self.least.value or 0,
            most_characters=self.most.value,
            most_bytes=self.bytes.value,
            deduplicate=self.duplicates.isChecked(),
        )

    def _widen(self) -> None:
        """Makes room for numbers of nine digits, after the fields have followed the text size."""
        for field in (self.least, self.most, self.bytes):
            field.number.setFixedWidth(self._theme.scaled(_WIDTH))
