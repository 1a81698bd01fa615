"""What the actions need of the window."""

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
    """What the actions need of the window."""

    corpus: CorpusPane
    compression: CompressionPane
    text: TextPane
    token: TokenPane
    finder: Finder

    def show_export(self, run: StudioRun, formats: Collection[str]) -> None:
        """Asks about formats and folder, and exports a run."""
        ...

    def ask_pattern(self, question: PatternQuestion, answered: Callable[[str | None], None]) -> None:
        """Asks how a tokenizer splits text; the answer is a name or an expression, or None for none."""
        ...

    def focus_filter(self) -> None:
        """Puts the keyboard into the filter of the table that is shown."""
        ...

    def show_why(self) -> None:
        """Shows the pane that says why a merge was made."""
        ...

    def show_why_not(self) -> None:
        """Says why what is selected of the text is not one token."""
        ...

    def show_steps(self) -> None:
        """Puts the keyboard on the steps of the text's encoding."""
        ...

    def reset_layout(self) -> None:
        """Puts every pane back in its original place."""
        ...

    def show_preferences(self) -> None:
        """Opens the page of preferences."""
        ...

    def show_shortcuts(self) -> None:
        """Lists every key."""
        ...

    def show_about(self) -> None:
        """Shows version and licence."""
        ...

    def close(self) -> bool:
        """Closes the window, unless the person cancels that."""
        ...
