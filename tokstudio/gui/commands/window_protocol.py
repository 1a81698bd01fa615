"""The protocol of the window for the actions."""

# SPDX-License-Identifier: MIT
# ruff: noqa: D102  `MainWindow` describes the methods.
from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from tokstudio.core.corpus.readers.reading import Reading
from tokstudio.gui.corpus_import.question import Question
from tokstudio.gui.find.finder import Finder
from tokstudio.gui.panes.compression.pane import CompressionPane
from tokstudio.gui.panes.configure.pattern_question import PatternQuestion
from tokstudio.gui.panes.corpus.pane import CorpusPane
from tokstudio.gui.panes.text.pane import TextPane
from tokstudio.gui.panes.token.pane import TokenPane
from tokstudio.gui.state.run import StudioRun


class Window(Protocol):
    """The methods and panes of `MainWindow` that actions need."""

    corpus: CorpusPane
    compression: CompressionPane
    text: TextPane
    token: TokenPane
    finder: Finder

    def show_export(self, run: StudioRun, formats: Collection[str]) -> None: ...
    def ask_pattern(self, question: PatternQuestion, answered: Callable[[str | None], None]) -> None: ...
    def ask_reading(self, question: Question, answered: Callable[[Reading | None], None]) -> None: ...
    def focus_filter(self) -> None: ...
    def show_why(self) -> None: ...
    def show_why_not(self) -> None: ...
    def show_steps(self) -> None: ...
    def reset_layout(self) -> None: ...
    def show_preferences(self) -> None: ...
    def show_shortcuts(self) -> None: ...
    def show_about(self) -> None: ...
    def close(self) -> bool: ...
