"""The settings that only the algorithms of SentencePiece have."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtWidgets import QWidget

from tokstudio.gui.panes.configure.own_fields import OwnFields
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice
from tokstudio.gui.widgets.fields import ChoiceField, Field, ShareField
from tokstudio.gui.widgets.layouts import column

_COVERAGE_HELP = "Share of the characters that get a token; rarer ones get none."
_UNKNOWN, _BYTES = "unknown", "bytes"
_RARE = (
    Choice(_UNKNOWN, "Unknown token", "Characters without a token become the unknown token."),
    Choice(_BYTES, "Bytes", "Characters without a token become tokens of their bytes."),
)


class SentencePieceFields(OwnFields):
    """The fields."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.coverage = ShareField("Characters co&vered", _COVERAGE_HELP, theme, word="character-coverage")
        self.coverage.number.setMaximum(100)
        self.rare = ChoiceField("Ra&re characters", _RARE, theme, word="byte-fallback")
        column(self.coverage, self.rare, spacing=8, parent=self)
        for field in (self.coverage, self.rare):
            field.changed.connect(self.changed)

    @property
    def controls(self) -> list[QWidget]:
        """The controls, in their order."""
        return [self.coverage.number, self.rare.combo]

    @property
    def named_fields(self) -> Mapping[str, Field]:
        """The fields that can show an error, by name."""
        return {"characters covered": self.coverage, "rare characters": self.rare}

    def taken_over(self, settings: Settings) -> Settings:
        """Returns the settings with the values of these fields."""
        kept = self.coverage.number.shows(settings.character_coverage)
        coverage = settings.character_coverage if kept else self.coverage.number.share
        return replace(settings, character_coverage=coverage, byte_fallback=self.rare.value == _BYTES)

    def show_settings(self, settings: Settings) -> None:
        """Shows settings and their errors without emitting signals."""
        self.coverage.set_value(settings.character_coverage)
        self.rare.set_value(_BYTES if settings.byte_fallback else _UNKNOWN)
        self.coverage.set_error(settings.faults.get("character_coverage"))
