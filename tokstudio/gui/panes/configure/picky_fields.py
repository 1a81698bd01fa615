"""The setting of Picky BPE in the Configure pane: from which share of merged uses on a part is removed."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtWidgets import QWidget

from tokstudio.gui.panes.configure.own_fields import OwnFields
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import DecimalField, Field
from tokstudio.gui.widgets.layouts import column

_THRESHOLD_HELP = "A part is removed if more than this share of it was merged; at 1 none is."
_MOST = 1.0


class PickyFields(OwnFields):
    """The field."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.threshold = DecimalField("Thres&hold", _THRESHOLD_HELP, _MOST, theme, word="threshold")
        column(self.threshold, spacing=8, parent=self)
        self.threshold.changed.connect(self.changed)

    @property
    def controls(self) -> list[QWidget]:
        """The control."""
        return [self.threshold.number]

    @property
    def named_fields(self) -> Mapping[str, Field]:
        """The fields that can show an error, by name."""
        return {"threshold": self.threshold}

    def taken_over(self, settings: Settings) -> Settings:
        """Returns the settings with the value of the field."""
        kept = self.threshold.shows(settings.threshold)
        return replace(settings, threshold=settings.threshold if kept else self.threshold.number.value())

    def show_settings(self, settings: Settings) -> None:
        """Shows settings and their errors without emitting signals."""
        self.threshold.set_value(settings.threshold)
        self.threshold.set_error(settings.faults.get("threshold"))
