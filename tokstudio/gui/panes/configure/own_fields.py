"""Fields in Configure that one algorithm has: their base, and those of Picky BPE, SentencePiece, SuperBPE."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.controls import Choice
from tokstudio.gui.widgets.fields import ChoiceField, DecimalField, Field, NumberField, ShareField
from tokstudio.gui.widgets.layouts import column

# --- The base of the fields that only one algorithm has ---------------------------------------------------------------


class OwnFields(QWidget):
    """The fields of one algorithm, which are hidden while another is chosen."""

    changed = Signal()  # the user changed one
    refresh_asked = Signal()  # what depends on the corpus is to be shown again
    controls_made = Signal()  # there are new controls

    @property
    def controls(self) -> list[QWidget]:
        """The controls, in their order."""
        raise NotImplementedError

    @property
    def named_fields(self) -> Mapping[str, Field]:
        """The fields that can show an error, by name."""
        raise NotImplementedError

    def taken_over(self, settings: Settings) -> Settings:
        """Returns the settings with the values of the fields."""
        raise NotImplementedError

    def show_settings(self, settings: Settings) -> None:
        """Shows settings and their errors without emitting signals."""
        raise NotImplementedError

    def show_corpus(self, settings: Settings, corpus: Corpus) -> str:
        """Shows what depends on the corpus; returns why the algorithm cannot train on it, "" if it can.

        A problem that no field shows is shown at the choice of the algorithm.
        """
        return ""


# --- The setting of Picky BPE in the Configure pane: from which share of merged uses on a part is removed -------------

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


# --- The settings that only the algorithms of SentencePiece have ------------------------------------------------------

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


# --- The settings of SuperBPE in the Configure pane: where stage 2 begins, and how many words a token may have --------

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
