"""The mixture of the Corpus pane: the weight and the share of each source or folder."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from PySide6.QtCore import QTimer
from PySide6.QtGui import QAction, QHideEvent, QShowEvent
from PySide6.QtWidgets import QToolButton, QWidget

from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.source import Source
from tokstudio.core.corpus.statistics import main_script_work
from tokstudio.core.guide.glossary import explained
from tokstudio.core.training.curves import SourceCurves
from tokstudio.gui.panes.corpus.weight_row import WeightRow
from tokstudio.gui.session.jobs import LatestJob
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.training_plans import MixtureEntry, entries_of, shares, with_weight
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.widgets.labels import paragraph_label, set_word
from tokstudio.gui.widgets.layouts import STRETCH, column
from tokstudio.gui.widgets.menus import Menu
from tokstudio.gui.widgets.sliced_work import Slices

ACTIONS = ("weights_as_they_are", "weights_equal", "weights_by_temperature")
_MOST = 64  # entries with a row
_STILL = 600  # milliseconds without a change by keys or in a field, after which the weight stands
_LIVE = "The run follows the weights."
_BUSY = "The run follows the weights …"


class Mixture(QWidget):
    """A row for each entry, with its weight; call `show_sources` when the corpus has changed.

    Its `button`, which sets all weights together, has its place in the pane.
    """

    def __init__(self, session: Session, theme: Theme, actions: Mapping[str, QAction]) -> None:
        super().__init__()
        self._theme, self._corpus, self._live = theme, session.corpus, session.live
        self._runs, self._view, self._by_source = session.runs, session.view, session.by_source
        self._entries: tuple[MixtureEntry, ...] = ()
        self._sources: tuple[Source, ...] = ()
        self._scripts: dict[tuple[Source, ...], str] = {}
        self.rows: list[WeightRow] = []
        self.note = paragraph_label("muted")
        self.button = QToolButton(popupMode=QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setText("Weights")
        self.button.setToolTip(explained("Set the weights of all sources together", "weight"))
        set_word(self.button, "weight")
        self.button.setAccessibleName("Set the weights of all sources together")
        menu = Menu(self.button)
        menu.addActions([actions[key] for key in ACTIONS])
        self.button.setMenu(menu)
        self._list = column(spacing=10)
        column(self.note, self._list, STRETCH, spacing=8, parent=self)
        self._building = Slices(self)
        self._still = QTimer(self, singleShot=True, interval=_STILL)
        self._still.timeout.connect(self._settle)
        self._looking = LatestJob(session.jobs, self, quiet=True, asked=False)
        self._looking.done.connect(self._take_scripts)
        self._looking.failed.connect(session.jobs.report)
        self._corpus.weights_changed.connect(self._show_weights)
        self._live.changed.connect(self._show_note)
        self._live.changed.connect(self._measure)
        self._runs.changed.connect(self._measure)
        self._by_source.changed.connect(self._show_ratios)
        self._view.playhead_changed.connect(self._show_ratios)

    def showEvent(self, event: QShowEvent) -> None:
        """Asks for bytes per token."""
        super().showEvent(event)
        self._measure()

    def hideEvent(self, event: QHideEvent) -> None:
        """Asks for nothing."""
        super().hideEvent(event)
        self._measure()

    def show_sources(self) -> None:
        """Shows the entries of the corpus."""
        if self._sources == self._corpus.sources:
            return
        self._sources = self._corpus.sources
        self._entries = entries_of(self._sources)
        kept = {self._key(entry) for entry in self._entries}
        self._scripts = {key: script for key, script in self._scripts.items() if key in kept}
        self._building.start(self._build(), self._show_weights)
        self._show_note()
        self._show_ratios()
        unknown = [key for key in map(self._key, self._shown) if key not in self._scripts]
        if unknown:
            self._looking.run(partial(_scripts_work, unknown))
        else:
            self._looking.cancel()

    @property
    def _shown(self) -> tuple[MixtureEntry, ...]:
        return self._entries if 1 < len(self._entries) <= _MOST else ()

    def _key(self, entry: MixtureEntry) -> tuple[Source, ...]:
        return tuple(self._sources[place] for place in entry.places)

    def _build(self) -> Iterator[None]:
        """In steps, as many rows take longer than a slot may."""
        for place, entry in enumerate(self._shown):
            if place == len(self.rows):
                made = WeightRow(self._theme)
                made.moved.connect(partial(self._moved, place))
                made.released.connect(self._settle)
                self.rows.append(made)
                self._list.addWidget(made)
            weight = self._corpus.weights[entry.places[0]]
            self.rows[place].show_entry(entry, self._scripts.get(self._key(entry), ""), weight)
            self.rows[place].setVisible(True)
            yield
        while len(self.rows) > len(self._shown):
            over = self.rows.pop()
            self._list.removeWidget(over)
            over.deleteLater()
            yield

    def _show_weights(self) -> None:
        weights = self._corpus.weights
        if len(self.rows) != len(self._shown) or len(weights) != len(self._sources):
            return
        parts = shares(self._sources, self._shown, weights)
        for made, entry, share in zip(self.rows, self._shown, parts, strict=True):
            made.show_weight(weights[entry.places[0]])
            made.show_share(share)
        self._show_ratios()

    def _measure(self) -> None:
        """Asks for the bytes per token of the active run, once the weights stand."""
        run = self._runs.active
        stands = self.isVisible() and not self._live.busy and not self._corpus.moving
        fits = run is not None and run.corpus is not None and run.corpus.sources == self._sources
        self._by_source.want(run if stands and fits and self._shown else None, "mixture")
        self._show_ratios()

    def _show_ratios(self) -> None:
        """Shows bytes per token at the playhead, where they are known."""
        run, merges = self._runs.active, self._view.playhead
        ratios: list[float] = []
        if run is not None and run.corpus is not None and run.corpus.sources == self._sources:
            curves = run.by_source
            if isinstance(curves, SourceCurves) and merges < len(curves.tokens):
                ratios = curves.bytes_per_token(merges).tolist()
        for place, made in enumerate(self.rows):
            made.show_ratio(ratios[place] if place < len(ratios) else None)

    def _show_note(self) -> None:
        if len(self._entries) > _MOST:
            entries = several(len(self._entries), "source")
            text = f"{entries}: single weights can be set for at most {_MOST}. Open a folder to weight it as a whole."
        else:
            text = self._live.obstacle or (_BUSY if self._live.busy else _LIVE)
        if text != self.note.text():
            self.note.setText(text)

    def _take_scripts(self, found: dict[tuple[Source, ...], str]) -> None:
        self._scripts |= found
        self._building.start(self._build(), self._show_weights)

    def _moved(self, place: int, weight: int) -> None:
        if place < len(self._shown):
            changed = with_weight(self._corpus.weights, self._shown[place], weight)
            self._corpus.set_weights(changed, moving=True)
            if self.rows[place].held:
                self._still.stop()
            else:
                self._still.start()

    def _settle(self) -> None:
        self._still.stop()
        self._corpus.settle_weights()


def _scripts_work(wanted: list[tuple[Source, ...]]) -> Work[dict[tuple[Source, ...], str]]:
    found: dict[tuple[Source, ...], str] = {}
    for sources in wanted:
        found[sources] = yield from main_script_work(sources)
    return found
