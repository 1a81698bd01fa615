"""The Distribution pane: the lengths of tokens, and their uses by rank, at the playhead."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QAction

from tokstudio.core.base.arrays import empty_until_set
from tokstudio.core.base.wording import several
from tokstudio.core.guide.glossary import explained
from tokstudio.gui.plot.plot_view import ReadingPlot
from tokstudio.gui.session.availability import why_no_counts
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.run import StudioRun
from tokstudio.gui.state.run_tokens import RunTokens
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.token_table.filters import CountUsesButton
from tokstudio.gui.token_table.token_uses import TokenUses
from tokstudio.gui.widgets.labels import named
from tokstudio.gui.widgets.layouts import stacked
from tokstudio.gui.widgets.pane import EmptyState, HeaderTabs, Pane

if TYPE_CHECKING:
    from numpy.typing import NDArray

View = Literal["lengths", "ranks"]

_MANY = 200_000
_SELDOM = 400  # milliseconds, with more tokens than that
# Few tokens are much longer than all others: they share the last bar, or all bars would be too narrow to see.
_TAIL = 0.01  # share of the tokens
_FEWEST_BARS, _MOST_BARS = 16, 64
_MOST_POINTS = 3_000
_TABS = {
    "Token lengths": "Number of tokens by length in bytes; click a bar to list them in Vocabulary",
    "Uses by rank": explained("Uses of each token in the corpus, the most used token first", "uses"),
}
_EMPTY = "The lengths and the uses of the tokens are drawn here. Train a tokenizer, or open one."
_NOT_USED = "No token occurs in the corpus."


class DistributionPane(Pane):
    """Bars of token lengths, and uses by rank on log scales."""

    #: List the tokens with these lengths in bytes: the least and the most, 0 for any.
    lengthsChosen = Signal(int, int)
    _ranked: NDArray[np.int64] = empty_until_set("int64")  # the uses by rank that are drawn

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__("distribution", "Distribution")
        self._session = session
        self._tokens: RunTokens | None = None
        self.lengths = named(ReadingPlot(theme, self._length_words), "Tokens by their length in bytes")
        self._last_bar = 0  # the length from which all tokens share one bar; 0 if none do
        self.lengths.chosen.connect(self._choose_length)
        self.ranks = named(ReadingPlot(theme, self._rank_words), "Uses by rank")
        self.ranks.set_labels("rank", "uses in the corpus", "uses in the corpus by rank")
        self.ranks.set_log(True, True)
        self.ranks.chosen.connect(self._choose_rank)
        self.count_button = CountUsesButton(actions["count_uses"], theme)
        self.count_button.hide()
        self.empty = EmptyState(_EMPTY, self.count_button)
        self.stack = stacked(self.empty, self.lengths, self.ranks)
        self.body.addWidget(self.stack)
        self.tabs = HeaderTabs("Lengths or uses", _TABS)
        self.tabs.currentChanged.connect(self.catch_up)
        self.header.insertWidget(1, self.tabs)
        self._later = QTimer(self, singleShot=True)
        self._later.timeout.connect(self.catch_up)
        for signal in (session.view.playhead_changed, session.training.merges_added, session.corpus.sources_changed):
            signal.connect(self._changed)
        session.runs.changed.connect(self._changed)

    @property
    def view(self) -> View:
        """The chosen view."""
        return "ranks" if self.tabs.currentIndex() else "lengths"

    def catch_up(self) -> None:
        if not self.seen:
            return
        run = self._session.runs.active
        if run is None or not run.ready:
            self._tokens = None
            self._say(_EMPTY)
            return
        if self._tokens is None or self._tokens.run is not run:
            self._tokens = run.tokens
        playhead = min(self._session.view.playhead, len(run))
        if self.view == "lengths":
            self._draw_lengths(run, self._tokens, playhead)
        else:
            self._draw_ranks(run, self._tokens, playhead)

    def _draw_lengths(self, run: StudioRun, tokens: RunTokens, playhead: int) -> None:
        lengths, present = tokens.lengths()[: tokens.first + playhead], run.present(playhead)
        lengths = lengths if present is None else lengths[present]
        counts = np.bincount(lengths)
        beyond = counts.sum() - np.cumsum(counts)
        last = max(int(np.argmax(beyond <= _TAIL * counts.sum())) + 1, _FEWEST_BARS)
        last = min(last, _MOST_BARS)
        self._last_bar, caption = 0, "tokens by length in bytes"
        if len(counts) > last + 1:
            counts = np.append(counts[:last], counts[last:].sum())
            self._last_bar, caption = last, f"{caption}; the last bar counts {last:,} and over"
        x = np.flatnonzero(counts)
        self.lengths.set_values(x.astype(np.float64), counts[x].astype(np.float64), bars=True)
        self.lengths.set_labels("bytes of a token", "tokens", caption)
        self.stack.setCurrentWidget(self.lengths)

    def _draw_ranks(self, run: StudioRun, tokens: RunTokens, playhead: int) -> None:
        uses = TokenUses(run, playhead, tokens.given_ids)
        if not uses.known:
            self._say(why_no_counts(self._session), offer=True)
            return
        used = uses.counts[uses.counts > 0]
        if not len(used):
            self._say(_NOT_USED)
            return
        self._ranked = np.sort(used)[::-1]
        # Of many ranks, only those that differ on a log scale.
        places = np.unique(np.geomspace(1, len(used), _MOST_POINTS).round().astype(np.int64))
        self.ranks.set_values(places.astype(np.float64), self._ranked[places - 1] / uses.scale)
        self.stack.setCurrentWidget(self.ranks)

    def _changed(self) -> None:
        if self._tokens is not None and self._tokens.run not in self._session.runs.shown:
            # A deleted run is released at once, even in a hidden pane.
            self._tokens = None
        if not self.seen:
            return
        run = self._session.runs.active
        if run is None or self._tokens is None or self._tokens.run is not run:
            self.catch_up()
        elif not self._later.isActive():
            self._later.start(_SELDOM if len(run) > _MANY else self._session.jobs.pauses.moves)

    def _say(self, text: str, *, offer: bool = False) -> None:
        self.empty.label.setText(text)
        self.count_button.setVisible(offer)
        self.stack.setCurrentWidget(self.empty)

    def _length_words(self, x: float, y: float) -> str:
        more = " or more" if self._last_bar and x == self._last_bar else ""
        return f"{several(round(x), 'byte')}{more} · {several(round(y), 'token')}"

    def _rank_words(self, x: float, y: float) -> str:
        return f"rank {x:,.0f} · {several(round(y) if y.is_integer() else round(y, 3), 'use')}"

    def _choose_length(self, length: float) -> None:
        last = self._last_bar and length == self._last_bar
        self.lengthsChosen.emit(int(length), 0 if last else int(length))

    def _choose_rank(self, rank: float) -> None:
        """Shows the token of a rank; ties are in the order of making."""
        run, tokens = self._session.runs.active, self._tokens
        if run is None or tokens is None or not 1 <= rank <= len(self._ranked):
            return
        uses = TokenUses(run, self._session.view.playhead, tokens.given_ids)
        wanted = int(self._ranked[int(rank) - 1])
        slots = np.flatnonzero(uses.counts == wanted)
        if len(slots):
            ahead = int(np.count_nonzero(self._ranked > wanted))
            self._session.view.look_at(tokens.id_of(int(slots[min(int(rank) - 1 - ahead, len(slots) - 1)])))
