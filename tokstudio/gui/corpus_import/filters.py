"""The filters of the Import step: which documents are kept, and how much of them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace

from PySide6.QtWidgets import QCheckBox, QWidget

from tokstudio.core.corpus.readers.reading import Reading
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import LimitField
from tokstudio.gui.widgets.layouts import column

_LEAST, _MOST, _BYTES = 10, 10_000, 10_000_000  # what the fields show before they are switched on


class Filters(QWidget):
    """Limits of documents and sources, and whether duplicates are dropped."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.least = LimitField("Documents of at &least so many characters", "Shorter documents are dropped.", 1, theme)
        self.most = LimitField("At m&ost so many characters of each document", "Longer ones are cut.", 1, theme)
        self.bytes = LimitField("The &first bytes of each source", "The rest of a source is not read.", 1, theme)
        for field, first in ((self.least, _LEAST), (self.most, _MOST), (self.bytes, _BYTES)):
            field.set_brief(True)
            field.number.setMinimum(1)
            field.number.setValue(first)
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
