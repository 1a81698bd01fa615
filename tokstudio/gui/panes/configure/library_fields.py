"""The settings of SentencePiece, and what other libraries cannot train on."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtWidgets import QWidget

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.library_training.lines import check_corpus
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


class LibraryFields(OwnFields):
    """The fields of an algorithm that another library trains: those of SentencePiece, or none."""

    def __init__(self, theme: Theme, *, sentencepiece: bool) -> None:
        super().__init__()
        self.coverage = ShareField("Characters co&vered", _COVERAGE_HELP, theme, word="character-coverage")
        self.coverage.number.setMaximum(100)
        self.rare = ChoiceField("Ra&re characters", _RARE, theme, word="unknown-token")
        self._fields: Mapping[str, Field] = (
            {"characters covered": self.coverage, "rare characters": self.rare} if sentencepiece else {}
        )
        column(*self._fields.values(), spacing=8, parent=self)
        for field in self._fields.values():
            field.changed.connect(self.changed)

    @property
    def controls(self) -> list[QWidget]:
        """The controls, in their order."""
        return [self.coverage.number, self.rare.combo] if self._fields else []

    @property
    def named_fields(self) -> Mapping[str, Field]:
        """The fields that can show an error, by name."""
        return self._fields

    def taken_over(self, settings: Settings) -> Settings:
        """Returns the settings with the values of these fields."""
        if not self._fields:
            return settings
        kept = self.coverage.number.shows(settings.character_coverage)
        coverage = settings.character_coverage if kept else self.coverage.number.share
        return replace(settings, character_coverage=coverage, byte_fallback=self.rare.value == _BYTES)

    def show_settings(self, settings: Settings) -> None:
        """Shows settings and their errors without emitting signals."""
        self.coverage.set_value(settings.character_coverage)
        self.rare.set_value(_BYTES if settings.byte_fallback else _UNKNOWN)
        self.coverage.set_error(settings.faults.get("character_coverage"))

    def show_corpus(self, settings: Settings, corpus: Corpus) -> str:
        """Returns why the library cannot train on the corpus, "" if it can."""
        try:
            check_corpus(corpus)
        except ConfigError as error:
            return str(error)
        return ""
