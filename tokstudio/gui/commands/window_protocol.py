"""The protocol of the window for the actions."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from tokstudio.gui.find.finder import Finder
from tokstudio.gui.panes.compression.pane import CompressionPane
from tokstudio.gui.panes.configure.pattern_question import PatternQuestion
from tokstudio.gui.panes.corpus.pane import CorpusPane
from tokstudio.gui.panes.text.pane import TextPane
from tokstudio.gui.panes.token.pane import TokenPane
from tokstudio.gui.state.run import StudioRun


class Window(Protocol):
    """The methods of the window that actions call."""

    corpus: CorpusPane
    compression: CompressionPane
    text: TextPane
    token: TokenPane
    finder: Finder

    def show_export(self, run: StudioRun, formats: Collection[str]) -> None:
        """Asks for formats and folder, and exports a run."""
        ...

    def ask_pattern(self, question: PatternQuestion, answered: Callable[[str | None], None]) -> None:
        """Asks for a split pattern; the answer is a name or an expression, or None if cancelled."""
        ...

    def focus_filter(self) -> None:
        """Focuses the filter of the visible table."""
        ...

    def show_why(self) -> None:
        """Shows the Why pane."""
        ...

    def show_why_not(self) -> None:
        """Explains why the selected text is not one token."""
        ...

    def show_steps(self) -> None:
        """Focuses the encoding steps of the text."""
        ...

    def reset_layout(self) -> None:
        """Restores the original layout of the panes."""
        ...

    def show_preferences(self) -> None:
        """Opens the preferences dialog."""
        ...

    def show_shortcuts(self) -> None:
        """Lists all shortcuts."""
        ...

    def show_about(self) -> None:
        """Shows version and licence."""
        ...

    def close(self) -> bool:
        """Closes the window; returns False if the user cancels."""
        ...
