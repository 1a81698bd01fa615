"""Makes the panes of a window, each with what it asks of the window.

The modules of a pane are loaded when it is made: those that the start does not show come after the window answers.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QAction

from tokstudio.gui.commands.commands import Commands
from tokstudio.gui.commands.open_commands import OpenCommands
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.pane import Pane

if TYPE_CHECKING:
    from tokstudio.gui.panes.corpus.pane import CorpusPane
    from tokstudio.gui.panes.distribution import DistributionPane
    from tokstudio.gui.panes.runs.pane import RunsPane
    from tokstudio.gui.panes.sizes.pane import SizesPane
    from tokstudio.gui.panes.vocabulary.pane import VocabularyPane

#: The classes of all panes in `gui/panes`, by object name, in the order of the menu and of Tab.
KINDS = {
    "corpus": "corpus.pane.CorpusPane",
    "configure": "configure.pane.ConfigurePane",
    "compression": "compression.pane.CompressionPane",
    "distribution": "distribution.DistributionPane",
    "compare": "compare.pane.ComparePane",
    "explore": "explore.pane.ExplorePane",
    "merges": "merges.MergesPane",
    "vocabulary": "vocabulary.pane.VocabularyPane",
    "runs": "runs.pane.RunsPane",
    "sizes": "sizes.pane.SizesPane",
    "text": "text.pane.TextPane",
    "token": "token.pane.TokenPane",
    "why": "why.pane.WhyPane",
    "guide": "guide.GuidePane",
}


class PaneMaker:
    """Makes the panes of a window.

    Args:
        session: What the panes show and change.
        theme: The looks.
        actions: The actions of the window, by id.
        preferences: Where choices that belong to a pane are kept.
        opening: What opens files.
        commands: What changes runs.
        list_lengths: Lists the tokens with so few and so many characters.
    """

    def __init__(
        self,
        session: Session,
        theme: Theme,
        actions: dict[str, QAction],
        preferences: Preferences,
        opening: OpenCommands,
        commands: Commands,
        list_lengths: Callable[[int, int], None],
    ) -> None:
        self._parts = session, theme, actions
        self._preferences, self._opening, self._commands = preferences, opening, commands
        self._list_lengths = list_lengths
        self._connect: dict[str, Callable[[Any], None]] = {
            "corpus": self._connect_corpus,
            "distribution": self._connect_distribution,
            "vocabulary": self._connect_vocabulary,
            "runs": self._connect_runs,
            "sizes": self._connect_sizes,
        }

    def make(self, name: str) -> Pane:
        """Makes a pane."""
        module, _, kind = KINDS[name].rpartition(".")
        pane: Pane = getattr(import_module(f"tokstudio.gui.panes.{module}"), kind)(*self._parts)
        if name in self._connect:
            self._connect[name](pane)
        return pane

    def _connect_corpus(self, pane: CorpusPane) -> None:
        pane.problems.bytesAsked.connect(self._opening.read_as_bytes)
        pane.problems.wholeAsked.connect(self._opening.importing.keep_whole)
        pane.problems.textAsked.connect(self._opening.importing.read_as_text)

    def _connect_distribution(self, pane: DistributionPane) -> None:
        pane.lengthsChosen.connect(self._list_lengths)

    def _connect_vocabulary(self, pane: VocabularyPane) -> None:
        pane.table.set_choices(self._preferences.get("token_columns", ""))
        pane.table.columnsChosen.connect(partial(self._preferences.set, "token_columns"))

    def _connect_runs(self, pane: RunsPane) -> None:
        pane.table.set_choices(self._preferences.get("run_columns", ""))
        pane.table.columnsChosen.connect(partial(self._preferences.set, "run_columns"))
        pane.deleteAsked.connect(self._commands.delete)

    def _connect_sizes(self, pane: SizesPane) -> None:
        width = self._preferences.get("model_width", pane.model_width.value())
        pane.set_model(width, self._preferences.get("model_tied", True))
        pane.widthChosen.connect(partial(self._preferences.set, "model_width"))
        pane.tiedChosen.connect(partial(self._preferences.set, "model_tied"))
