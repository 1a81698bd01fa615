"""The base of the fields that only one algorithm has."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.widgets.fields import Field


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
