"""Forecasts time and memory of the next training in the background, after changes of corpus or settings."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import size_of_memory
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.training.forecast import Forecast, forecast_work
from tokstudio.core.warm_up import prepare_work
from tokstudio.gui.session.jobs import LatestJob
from tokstudio.gui.session.session import Session

_PATIENCE = 400  # milliseconds without a change


class Forecaster(QObject):
    """Keeps the session's forecast up to date; it pauses during a training."""

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._corpus, self._training = session.corpus, session.training
        self._latest = LatestJob(session.jobs, self, quiet=True)
        self._latest.done.connect(session.training.set_forecast)
        self._later = QTimer(self, singleShot=True, interval=_PATIENCE)
        self._later.timeout.connect(self._ask)
        for signal in (session.corpus.sources_changed, session.training.settings_changed):
            signal.connect(self.renew)
        session.training.state_changed.connect(self._follow_training)

    def renew(self) -> None:
        """Discards the forecast and starts another."""
        self._latest.cancel()
        if self._wanted:
            self._later.start()
        else:
            self._later.stop()

    @property
    def _wanted(self) -> bool:
        waits, settings = self._training.busy or self._corpus.splitting, self._training.settings
        # What another library needs is not known.
        return not waits and settings.problem is None and not settings.by_library and self._corpus.current.bytes > 0

    def _follow_training(self) -> None:
        if self._training.busy:
            self._later.stop()
            self._latest.cancel()
        elif self._training.forecast is None and not self._later.isActive() and not self._latest.busy:
            self.renew()

    def _ask(self) -> None:
        if self._wanted:
            corpus, config = self._corpus.current, self._training.settings.config()
            self._latest.run(lambda: _prepared_work(corpus, config))


def _prepared_work(corpus: Corpus, config: TrainingConfig) -> Work[Forecast]:
    yield from prepare_work()
    return (yield from forecast_work(corpus, config))


def forecast_text(forecast: Forecast) -> str:
    """Formats time and memory: "Estimate: 3 s, 1.2 GB of memory."."""
    return f"Estimate: {_time(forecast.seconds)}, {_memory(forecast.memory)} of memory."


def _time(seconds: float) -> str:
    if seconds < 1:
        return "< 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _memory(size: int) -> str:
    return "< 10 MB" if size < 10_000_000 else size_of_memory(size)
