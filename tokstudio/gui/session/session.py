"""The state of the studio, in parts: each part changes through its methods and emits its own signals.

Panes use the parts and do not know each other. No part emits another part's signals.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QObject

from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.project import Recorder
from tokstudio.gui.session.common.corpus import CorpusState
from tokstudio.gui.session.common.jobs import Jobs, Pauses
from tokstudio.gui.session.common.run_list import RunList
from tokstudio.gui.session.common.view_state import ViewState
from tokstudio.gui.session.measuring.comparison import ComparisonState
from tokstudio.gui.session.measuring.exploring import Exploring
from tokstudio.gui.session.measuring.measurers import HeldOutMeasurer, SourceMeasurer, TextMeasurer
from tokstudio.gui.session.measuring.token_facts import Reachability, TokenIndexing
from tokstudio.gui.session.player import Player
from tokstudio.gui.session.training.cleaning import Cleaning
from tokstudio.gui.session.training.control import TrainingControl
from tokstudio.gui.session.training.live import LiveTraining
from tokstudio.gui.session.training.queue import TrainingQueue
from tokstudio.gui.session.undo import History


class Session(QObject):
    """Builds the parts in the order of their dependencies, and closes them.

    The `recorder` records trainings for recovery after a crash; None records nothing.
    """

    def __init__(
        self, parent: QObject | None = None, recorder: Recorder | None = None, pauses: Pauses | None = None
    ) -> None:
        super().__init__(parent)
        self.recorder = recorder
        self.jobs = Jobs(self, pauses)
        self.corpus = CorpusState(self.jobs, self)
        self.view = ViewState(self.jobs, self)
        self.store = TokenStore()
        self.runs = RunList(self.jobs, self.corpus, self.view, self.store, self)
        self.training = TrainingControl(self.jobs, self.corpus, self.runs, self.view, recorder, self)
        self.queue = TrainingQueue(self.jobs, self.corpus, self.training, self)
        self.history = History(self.jobs, self.corpus, self.runs, self.training, self.view, self)
        self.cleaning = Cleaning(self.jobs, self.corpus, self.runs, self.training, self.store, self)
        self.live = LiveTraining(self.jobs, self.corpus, self.runs, self.training, self.view, self)
        self.held_out = HeldOutMeasurer(self.jobs, self.runs, self)
        self.by_source = SourceMeasurer(self.jobs, self.corpus.counts, self)
        self.on_text = TextMeasurer(self.jobs, self.corpus, self.runs, self.store, self)
        self.comparison = ComparisonState(self.jobs, self.corpus, self.runs, self.view, self.store, self)
        self.exploring = Exploring(self.jobs, self.corpus, self.runs, self.view, self.store, self)
        self.player = Player(self.runs, self.view, self)
        self.reachability = Reachability(self.jobs, self.runs, self.store, self)
        self.indexing = TokenIndexing(self.jobs)

    def close(self, *, leave: bool = False) -> None:
        """Ends every job and waits for its thread; removes the recording, or leaves it for the next start."""
        self.history.clear()
        self.queue.close()
        self.held_out.close()
        self.by_source.close()
        self.on_text.close()
        self.comparison.close()
        self.player.pause()
        self.training.close()
        self.jobs.end(*([self.training.current.job] if self.training.current is not None else []))
        if self.recorder is not None:
            if leave:
                self.recorder.leave()
            self.recorder.close()
