"""The list of file formats in an export: which are wanted, how well each fits, and which can be written."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QWidget

from tokstudio.core.formats import Fit, Format
from tokstudio.gui.dialogs.export.format_row import FormatRow
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.layouts import column, rule
from tokstudio.gui.widgets.scroll_body import TallBody


class FormatList(QFrame):
    """A card with one row per format; those `wanted` are checked, and the widget `above` the rows scrolls with them.

    Where no wanted format can hold the tokenizer, the only one that can is checked.

    Attributes:
        offered: The format that was checked although it was not wanted; "" for none.
    """

    changed = Signal()  # the choice of formats
    copy_asked = Signal(str)  # the user wants to copy the Python code that loads a format: its name

    def __init__(self, formats: Sequence[Format], wanted: Iterable[str], theme: Theme, above: QWidget) -> None:
        super().__init__()
        self.setProperty("card", "true")
        self._wanted = set(wanted)
        self.offered = ""
        self._touched = False  # whether the user has chosen
        self._tokenizers = {each.name for each in formats if each.readable}
        self._fits: dict[str, Fit] = {}
        self.rows: dict[str, FormatRow] = {}
        content = QFrame()
        layout = column(above, spacing=10, margins=(12, 10, 12, 10), parent=content)
        for shown in formats:
            if self.rows:
                layout.addWidget(rule())
            row = FormatRow(shown, theme)
            row.toggled.connect(self._toggled)
            row.copy_asked.connect(self.copy_asked)
            layout.addWidget(row)
            self.rows[shown.name] = row
        layout.addStretch(1)
        self._body = TallBody(content)
        self._body.setAccessibleName("Formats")
        column(self._body, margins=(1, 1, 1, 1), parent=self)
        self.forget_fits()

    @property
    def chosen(self) -> tuple[str, ...]:
        """The checked formats that can hold the tokenizer, as far as that is known."""
        impossible = {name for name, fit in self._fits.items() if fit.problem is not None}
        return tuple(name for name in self.rows if name in self._wanted - impossible)

    @property
    def known(self) -> bool:
        """Whether the fit of every chosen format is known."""
        return all(name in self._fits for name in self.chosen)

    @property
    def loses(self) -> bool:
        """Whether a chosen format loses something."""
        return any(self._fits[name].losses for name in self.chosen if name in self._fits)

    def forget_fits(self) -> None:
        """Forgets how well the formats fit, as something else is to be written."""
        self._fits.clear()
        for name, row in self.rows.items():
            row.set_fit(None, wanted=name in self._wanted)

    def set_fit(self, name: str, fit: Fit) -> None:
        """Shows how well a format fits."""
        before = self.chosen
        self._fits[name] = fit
        self.rows[name].set_fit(fit, wanted=name in self._wanted)
        self._offer_only()
        if self.chosen != before:
            self.changed.emit()

    def set_changeable(self, changeable: bool) -> None:
        """Enables or disables the check boxes; they are disabled while files are written."""
        for row in self.rows.values():
            row.set_changeable(changeable)

    def show_row(self, name: str) -> None:
        """Scrolls to a format and its result, and keeps it visible until the user scrolls."""
        self._body.keep_visible(self.rows[name])

    def _offer_only(self) -> None:
        """Checks the only format that can hold the tokenizer, unless the user has chosen or wants tables alone."""
        if self._touched or not self._tokenizers <= self._fits.keys():
            return
        possible = {name for name in self._tokenizers if self._fits[name].problem is None}
        asked = self._wanted & self._tokenizers or not self.chosen
        if len(possible) == 1 and asked and not self._wanted & possible:
            (self.offered,) = possible
            self._wanted.add(self.offered)
            self.rows[self.offered].set_fit(self._fits[self.offered], wanted=True)

    def _toggled(self, name: str, wanted: bool) -> None:
        self._touched = True
        if wanted:
            self._wanted.add(name)
        else:
            self._wanted.discard(name)
        self.changed.emit()
