"""The runs of the studio, which of them is shown, and what of it is looked at: the playhead, a token, a text.

How runs come into being is left to the `Session`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.base.progress import Work
from tokstudio.core.corpus.source import Source
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.session.corpus import CorpusState
from tokstudio.gui.session.jobs import Job
from tokstudio.gui.session.view_state import TextSelection
from tokstudio.gui.state.run import CountedUses, Origin, StudioRun


class RunList(CorpusState):
    """The runs. Every method is to be called from the GUI thread.

    Signals:
        runs_changed: The list of runs, a run's name, what is known of one, or which is active.
        playhead_changed: `playhead`, or the tokenizer there.
        token_changed: `token`, the one that is looked at, or `chosen`.
        text_changed: `text`.
        found_changed: `found`, the token whose places in the text are marked.
        place_asked: Which of its places to go to: the next one (1) or the one before (-1).
        places_changed: `places`.
        stretch_changed: `stretch`.
    """

    runs_changed = Signal()
    playhead_changed = Signal()
    token_changed = Signal()
    text_changed = Signal()
    found_changed = Signal()
    place_asked = Signal(int)
    places_changed = Signal()
    stretch_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.runs: list[StudioRun] = []
        self.active: StudioRun | None = None
        self.playhead = 0
        self.token: int | None = None
        self.chosen: int | None = None  # the last token that was not only pointed at
        self.passing = False  # whether the token is only pointed at, which moves nothing else
        self.text = ""
        self.found: int | None = None
        self.specials_recognised = False  # whether special tokens in the text become their ids
        self.places = (0, 0)  # which place of the found token is selected, from 1 on, and how many there are
        self.stretch: TextSelection | None = None
        self._following = True
        self._made_runs = 0
        self._trained_runs = 0
        self._counting_uses: tuple[Job, StudioRun, int] | None = None
        self.source_found.connect(self._give_back)
        self.sources_changed.connect(self._forget_uses)

    @property
    def _in_training(self) -> StudioRun | None:
        """The run that is being made, which stays active and is not deleted."""
        return None

    # ---- runs

    def activate(self, run: StudioRun | None) -> None:
        """Makes a run the one that all panes show, the playhead at its end; one that trains stays active."""
        if run is self.active:
            return
        held = self._in_training
        if held is not None and run is not held:
            self.refused.emit(f"{held.name} stays active until its training ends. Use Stop to end it.")
            return
        self.active = run
        self._following = True
        self.playhead = len(run) if run is not None else 0
        self.token = self.chosen = None
        self.find(None)
        self.runs_changed.emit()
        self.playhead_changed.emit()
        self.token_changed.emit()

    def rename(self, run: StudioRun, name: str) -> None:
        """Gives a run another name; an empty one changes nothing."""
        if name.strip():
            run.name = name.strip()
            self.runs_changed.emit()

    def show_curve(self, run: StudioRun, shown: bool) -> None:
        """Lets the plot draw the curves of a run or leave them out; those of the active run are always drawn."""
        if run.curve_hidden == shown:
            run.curve_hidden = not shown
            self.runs_changed.emit()

    def delete(self, run: StudioRun) -> None:
        """Forgets a run that is not being trained."""
        if run is self._in_training:
            return
        at = self.runs.index(run)
        self.runs.remove(run)
        if run is self.active:
            self.activate(self.runs[min(at, len(self.runs) - 1)] if self.runs else None)
        self.runs_changed.emit()

    def replace_runs(self, runs: list[StudioRun]) -> None:
        """Puts others in the place of all runs; none may be in training, and none is active then."""
        self.runs = runs
        self._made_runs = max((run.key for run in runs), default=0)
        self._trained_runs = 0
        for run in runs:
            self._number(run)
        self.activate(None)
        self.runs_changed.emit()

    def add_tokenizer(self, tokenizer: Tokenizer, name: str, origin: Origin | None = None) -> None:
        """Lists a tokenizer that was opened from a file beside the runs."""
        self.add_run(StudioRun.opened(0, name, tokenizer, origin))

    def add_run(self, run: StudioRun) -> None:
        """Lists a run from elsewhere beside the others, and shows it unless a training goes on."""
        self._made_runs = run.key = max(self._made_runs + 1, run.key)
        self._number(run)
        self.runs.append(run)
        if self._in_training is None:
            self.activate(run)
        else:
            self.runs_changed.emit()

    def replace_tokenizer(self, run: StudioRun, tokenizer: Tokenizer, origin: Origin) -> None:
        """Puts a tokenizer that was read anew in the place of `run`, the playhead where it is."""
        self._made_runs += 1
        made = StudioRun.opened(self._made_runs, run.name, tokenizer, origin)
        self.runs[self.runs.index(run)] = made
        if run is self.active:
            playhead, token = self.playhead, self.chosen
            self.activate(made)
            self.set_playhead(playhead)
            self.look_at(token)
        else:
            self.runs_changed.emit()

    def run_exported(self, run: StudioRun) -> None:
        """Notes that a run was written to a file, so that closing need not ask about it."""
        run.exported = True
        self.runs_changed.emit()

    # ---- uses of opened tokenizers

    @property
    def counting_uses(self) -> bool:
        """Whether the uses of an opened tokenizer are being counted."""
        return self._counting_uses is not None

    def count_uses(self) -> None:
        """Counts how often each token of the opened tokenizer at the playhead stands in the corpus."""
        run, tokenizer, corpus = self.active, self.tokenizer, self.corpus
        if run is None or tokenizer is None or run.has_counts or self._counting_uses is not None:
            return

        def work() -> Work[NDArray[np.int64]]:
            return (yield from count_uses_work(tokenizer, corpus))

        job = self.start_job(work, self._take_uses)
        self._counting_uses = job, run, self.playhead
        job.ended.connect(self._uses_counted)
        self.runs_changed.emit()

    def _take_uses(self, uses: NDArray[np.int64]) -> None:
        if self._counting_uses is not None and self.sender() is self._counting_uses[0]:
            _, run, merges = self._counting_uses
            names = [source.name for source in self.sources]
            more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
            run.counted = CountedUses(merges, uses, self.corpus, f"{names[0]}{more}" if names else "")

    def _uses_counted(self) -> None:
        if self._counting_uses is not None and self.sender() is self._counting_uses[0]:
            self._counting_uses = None
            self.runs_changed.emit()

    def _forget_uses(self) -> None:
        """What was counted in another corpus is not true of this one."""
        if self._counting_uses is not None:
            job, self._counting_uses = self._counting_uses[0], None
            job.cancel()
        known = [run for run in self.runs if run.counted is not None]
        for run in known:
            run.counted = None
        if known:
            self.runs_changed.emit()

    # ---- what is looked at

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer at the playhead."""
        if self.active is None:
            return None
        return self.active.tokenizer.at(min(self.playhead, len(self.active)))

    def set_playhead(self, merges: int) -> None:
        """Moves the playhead; at the end of a run that grows it follows."""
        if self.active is None:
            return
        merges = min(max(merges, 0), len(self.active))
        if merges < len(self.active) and self.active.no_playhead is not None:
            self.refused.emit(f"The playhead stays at the end: {self.active.no_playhead}.")
            return
        self._following = merges == len(self.active)
        if merges != self.playhead:
            self.playhead = merges
            self.playhead_changed.emit()

    def look_at(self, token: int | None, *, passing: bool = False) -> None:
        """Shows a token in the Token pane; unless it is only pointed at in `passing`, the other panes go to it."""
        before = self.token, self.chosen
        self.token = token
        if not passing:
            self.chosen = token
        if (self.token, self.chosen) != before:
            self.passing = passing
            self.token_changed.emit()
            self.passing = False

    def find(self, token: int | None) -> None:
        """Marks the places of a token in the text and looks at it; None marks none."""
        changed, self.found = token != self.found, token
        if token is None:
            self.tell_places(0, 0)
        else:
            self.look_at(token)
        if changed or token is not None:
            self.found_changed.emit()

    def go_to_place(self, step: int) -> None:
        """Goes to the next place (1) of the found token in the text, or to the one before (-1)."""
        if self.found is not None:
            self.place_asked.emit(step)

    def tell_places(self, place: int, places: int) -> None:
        """Takes over which place of the found token is selected, and how many there are."""
        if (place, places) != self.places:
            self.places = (place, places)
            self.places_changed.emit()

    def set_text(self, text: str) -> None:
        """Sets the text that is shown in tokens."""
        if text != self.text:
            self.text = text
            self.select(None)
            self.text_changed.emit()

    def select(self, stretch: TextSelection | None) -> None:
        """Notes what is selected of the text."""
        if stretch != self.stretch:
            self.stretch = stretch
            self.stretch_changed.emit()

    # ---- private

    def _number(self, run: StudioRun) -> None:
        """Numbers a run that was trained here; one that has a number that is not taken keeps it."""
        if run.has_counts:
            taken = {other.number for other in self.runs if other is not run}
            if not run.number or run.number in taken:
                run.number = self._trained_runs + 1
            self._trained_runs = max(self._trained_runs, run.number)

    def _give_back(self, missing: Source, found: Source) -> None:
        for run in self.runs:
            run.give_back(missing, found)
        self.runs_changed.emit()
