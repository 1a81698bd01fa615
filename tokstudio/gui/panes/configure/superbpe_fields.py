"""The settings of SuperBPE in the Configure pane: where stage 2 begins, and how many words a token may have."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtWidgets import QWidget

from tokstudio.gui.panes.configure.own_fields import OwnFields
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.fields import Field, NumberField
from tokstudio.gui.widgets.layouts import column

_TRANSITION_HELP = "From this vocabulary size on, merges join words."
_WORDS_HELP = "No token across words has more of them."


class SuperBpeFields(OwnFields):
    """The fields."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.transition = NumberField("Transi&tion", _TRANSITION_HELP, theme, word="transition")
        self.words = NumberField("Most &words", _WORDS_HELP, theme, word="transition")
        column(self.transition, self.words, spacing=8, parent=self)
        for field in (self.transition, self.words):
            field.changed.connect(self.changed)

    @property
    def controls(self) -> list[QWidget]:
        """The controls, in their order."""
        return [self.transition.number, self.words.number]

    @property
    def named_fields(self) -> Mapping[str, Field]:
        """The fields that can show an error, by name."""
        return {"transition": self.transition, "most words": self.words}

    def taken_over(self, settings: Settings) -> Settings:
        """Returns the settings with the values of these fields."""
        return replace(settings, transition=self.transition.number.value(), max_words=self.words.number.value())

    def show_settings(self, settings: Settings) -> None:
        """Shows settings and their errors without emitting signals."""
        if settings.transition is not None:
            self.transition.set_value(settings.transition)
        self.words.set_value(settings.max_words)
        self.transition.set_error(settings.faults.get("transition"))
        self.words.set_error(settings.faults.get("max_words"))
