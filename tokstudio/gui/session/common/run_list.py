"""The runs of the session, and which is active. `training.control` makes new ones."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from PySide6.QtCore import QObject, Signal

from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import Work
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.common.jobs import Job, Jobs
from tokstudio.gui.session.common.view_state import ViewState
from tokstudio.gui.state.run import SIMPLE, RunOrigin, StudioRun
from tokstudio.gui.state.run_counts import CountedUses

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class RunList(QObject):
    """The runs. Call every method from the GUI thread."""

    changed = Signal()  # the list of runs, the name or the data of a run, or which is active

    def __init__(
        self, jobs: Jobs, corpus: CorpusState, view: ViewState, store: TokenStore, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._jobs, self._corpus, self._view, self._store = jobs, corpus, view, store
        self.all: list[StudioRun] = []
        self.live: StudioRun | None = None  # follows the weights of the corpus while they change; not in `all`
        self._hidden: StudioRun | None = None  # the one of `all` that `live` stands in for
        self._replacements: WeakKeyDictionary[StudioRun, StudioRun] = WeakKeyDictionary()  # what took a run's place
        self._in_training: StudioRun | None = None  # stays active and cannot be deleted
        self._made = 0
        self._trained = 0
        self._counting_uses: tuple[Job, StudioRun, int] | None = None
        view.run_changed.connect(self.changed)
        corpus.source_found.connect(self._give_back)
        corpus.sources_changed.connect(self._forget_uses)
        corpus.weights_changed.connect(self._forget_uses)

    @property
    def active(self) -> StudioRun | None:
        """The run that all panes show."""
        return self._view.run

    @property
    def shown(self) -> list[StudioRun]:
        """The runs that panes show: all, and the live one in the place of the one that it stands in for."""
        if self.live is None:
            return self.all
        return [*(run for run in self.all if run is not self._hidden), self.live]

    def now(self, run: StudioRun) -> StudioRun:
        """The run that has taken the place of one in the list; itself if none has."""
        while (other := self._replacements.get(run)) is not None:
            run = other
        return run

    def activate(self, run: StudioRun | None) -> None:
        """Makes a run active, with the playhead where it was left, or at its end; a run in training stays active."""
        if run is self.active:
            return
        held = self._in_training
        if held is not None and run is not held:
            self._jobs.refuse(f"{held.name} stays active until its training ends. Use Stop to end it.")
            return
        self._view.start(run)

    def activate_beside(self, step: int) -> None:
        """Shows the next run (1) or the one before (-1); after the last comes the first."""
        if self.active is not None:
            runs = self.shown
            self.activate(runs[(runs.index(self.active) + step) % len(runs)])

    def tell(self) -> None:
        """Emits `changed` for a run."""
        self.changed.emit()

    def rename(self, run: StudioRun, name: str) -> None:
        """Renames a run; an empty name changes nothing."""
        if name.strip():
            self._name(run, name.strip())
            run.note(is_demo=False)  # who names it keeps it
            self.changed.emit()

    def _name(self, run: StudioRun, name: str) -> None:
        """Names a run; where another one has the name, by which it is compared, a number follows."""
        taken = {*SIMPLE, *(each.name for each in self.all if each is not run)}
        names = (f"{name} ({number})" if number > 1 else name for number in count(1))
        run.identify(name=next(each for each in names if each not in taken))

    def show_curve(self, run: StudioRun, shown: bool) -> None:
        """Shows or hides the curves of a run; those of the active run are always shown."""
        self.show_curves({run: shown})

    def show_curves(self, shown: Mapping[StudioRun, bool]) -> None:
        """Shows or hides the curves of several runs."""
        changed = [run for run in shown if run.marks.curve_hidden == shown[run]]
        for run in changed:
            run.note(curve_hidden=not shown[run])
        if changed:
            self.changed.emit()

    def mark_exported(self, run: StudioRun) -> None:
        """Notes that a run was exported, so that closing need not ask about it."""
        run.note(exported=True)
        self.changed.emit()

    def delete(self, run: StudioRun) -> None:
        """Deletes a run that is not in training."""
        if run is self._in_training or run is self.live:
            return
        at = self.all.index(run)
        self.all.remove(run)
        if run is self.active:
            self.activate(self.all[min(at, len(self.all) - 1)] if self.all else None)
        else:
            self.changed.emit()

    def bring_back(self, run: StudioRun, at: int) -> None:
        """Lists a run that was deleted at its place again."""
        counted, text = run.uses.counted, self._corpus.current
        if counted is not None and (counted.text.sources, counted.text.weights) != (text.sources, text.weights):
            run.uses.take_counted(None)
        self._name(run, run.name)
        self.all.insert(min(at, len(self.all)), run)
        self.changed.emit()

    # ---- new runs

    def new(
        self, config: TrainingConfig, corpus: Corpus, remark: str = "", start: Tokenizer | None = None, title: str = ""
    ) -> StudioRun:
        """Makes a run to be trained, perhaps from a tokenizer; `begin` lists it.

        It is named by its number, such as "Run 2", with the remark behind it; after a title, the number comes last.
        """
        self._made += 1
        self._trained += 1
        name = f"{title} (Run {self._trained})" if title else f"Run {self._trained}{remark}"
        return StudioRun(self._made, name, config, corpus, number=self._trained, start=start)

    def begin(self, run: StudioRun) -> None:
        """Lists a new run, whose training begins, and makes it active; it stays active until `release`."""
        self._name(run, run.name)
        self.all.append(run)
        self._in_training = run
        self.activate(run)

    def release(self) -> None:
        """Allows other runs to become active after a training."""
        self._in_training = None

    # ---- a run that stands in for one of the list; none of these emits a signal

    @property
    def next_number(self) -> int:
        """The number of the next run that is trained here."""
        return self._trained + 1

    def stand_in(self, live: StudioRun, hidden: StudioRun | None, *, listed: bool) -> None:
        """Lets panes show a run in the place of a hidden one of the list, or, with `listed`, puts it there for good."""
        if not live.key:
            self._made += 1
            live.identify(key=self._made)
        self.live, self._hidden = (None, None) if listed else (live, hidden)
        if listed and hidden is not None:
            self._replace(hidden, live)
        elif listed:
            self._trained = max(self._trained, live.number)
            self.all.append(live)

    def stand_down(self, gone: StudioRun | None = None) -> None:
        """Ends what `stand_in` began; deletes `gone`, whose number is free again."""
        self.live = self._hidden = None
        if gone is not None:
            self.all.remove(gone)
            self._trained -= gone.number == self._trained

    def replace_all(self, runs: list[StudioRun]) -> None:
        """Replaces all runs; none may be in training, and none is active afterwards."""
        self.all = []
        for run in runs:
            self._name(run, run.name)
            self.all.append(run)
        self.stand_down()
        self._made = max((run.key for run in runs), default=0)
        self._trained = 0
        for run in runs:
            self._number(run)
        self.activate(None)
        self.changed.emit()

    def add_tokenizer(self, tokenizer: Tokenizer, name: str, origin: RunOrigin | None = None) -> None:
        """Adds a tokenizer that was opened from a file."""
        self.add(StudioRun.opened(0, name, tokenizer, origin))

    def add(self, run: StudioRun) -> None:
        """Adds a run from elsewhere, and activates it unless a training is in progress."""
        self._made = max(self._made + 1, run.key)
        run.identify(key=self._made)
        self._number(run)
        self._name(run, run.name)
        self.all.append(run)
        if self._in_training is None:
            self.activate(run)
        else:
            self.changed.emit()

    def replace_tokenizer(self, run: StudioRun, tokenizer: Tokenizer, origin: RunOrigin) -> None:
        """Replaces `run` by a tokenizer that was read again; the playhead does not move."""
        self._made += 1
        replacement = StudioRun.opened(self._made, run.name, tokenizer, origin)
        self._replace(run, replacement)
        if run is self.active:
            playhead, token = self._view.playhead, self._view.chosen
            self.activate(replacement)
            self._view.set_playhead(playhead)
            self._view.look_at(token)
        else:
            self.changed.emit()

    def _replace(self, run: StudioRun, by: StudioRun) -> None:
        self.all[self.all.index(run)] = self._replacements[run] = by

    # ---- uses of opened tokenizers

    @property
    def counting_uses(self) -> bool:
        """Whether the uses of an opened tokenizer are being counted."""
        return self._counting_uses is not None

    def count_uses(self) -> None:
        """Counts how often each token of the opened tokenizer at the playhead stands in the corpus."""
        run, tokenizer, corpus = self.active, self._view.tokenizer, self._corpus.current
        if run is None or tokenizer is None or run.has_counts or self._counting_uses is not None:
            return

        def work() -> Work[NDArray[np.int64]]:
            counts = yield from self._store.counts_work(tokenizer, corpus, recognise=True)
            return counts.by_id(len(tokenizer.tokens))

        job = self._jobs.start(work, self._take_uses)
        self._counting_uses = job, run, self._view.playhead
        job.ended.connect(self._uses_counted)
        self.changed.emit()

    def _take_uses(self, uses: NDArray[np.int64]) -> None:
        if self._counting_uses is not None and self.sender() is self._counting_uses[0]:
            _, run, merges = self._counting_uses
            names = [source.name for source in self._corpus.sources]
            more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
            name = f"{names[0]}{more}" if names else ""
            run.take_counted(CountedUses(merges, uses, self._corpus.current, name))

    def _uses_counted(self) -> None:
        if self._counting_uses is not None and self.sender() is self._counting_uses[0]:
            self._counting_uses = None
            self.changed.emit()

    def _forget_uses(self) -> None:
        """Counts of another corpus are not valid for this one."""
        if self._counting_uses is not None:
            job, self._counting_uses = self._counting_uses[0], None
            job.cancel()
        counted = [run for run in self.all if run.uses.counted is not None]
        for run in counted:
            run.uses.take_counted(None)
        if counted:
            self.changed.emit()

    def _number(self, run: StudioRun) -> None:
        """Numbers a run that was trained here; a run with a unique number keeps it."""
        if run.has_counts:
            taken = {other.number for other in self.all if other is not run}
            if not run.number or run.number in taken:
                run.identify(number=self._trained + 1)
            self._trained = max(self._trained, run.number)

    def _give_back(self, missing: Source, source: Source) -> None:
        for run in self.all:
            run.use_sources({missing: source})
        self.changed.emit()
