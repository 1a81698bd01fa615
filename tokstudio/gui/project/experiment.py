"""The experiment file of the window: what Save Experiment writes, and what Open Experiment makes of one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError, TokStudioError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.core.experiment.experiment import Experiment, ExperimentTraining, merges_files
from tokstudio.core.experiment.loading import load_experiment_work
from tokstudio.core.experiment.result import (
    Trained,
    check_merges_work,
    is_same_but_result,
    own_merges_work,
    result_work,
    texts_work,
)
from tokstudio.core.experiment.toml import parse_toml
from tokstudio.core.experiment.writing import SUFFIX, Draft, PlannedTraining, draft_work
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.run import Run
from tokstudio.gui.session.common.corpus import joined_steps
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.problems import is_missing
from tokstudio.gui.state.training_plans import TrainingPlan, names_of_plans, weights_text
from tokstudio.gui.state.training_settings import Settings
from tokstudio.gui.widgets.file_dialogs import Choosers

_FILTER = f"Experiments (*{SUFFIX})"
_NAMES = [field.name for field in fields(Settings)]


@dataclass(frozen=True, eq=False)
class OpenedExperiment:
    """What the window takes of an experiment."""

    path: Path
    corpus: Corpus  # with weights, before anything is left out
    left_out: LeavingOut
    reduced: Corpus | None  # the corpus without it; None where nothing is left out
    plans: tuple[TrainingPlan, ...]  # a training for each variant
    remark: str  # what of it the window does not do, as a sentence


class ExperimentFiles(QObject):
    """Saves and opens experiments; `show_plans` shows several trainings, to be started together, with a remark.

    Call every method from the GUI thread.
    """

    def __init__(
        self,
        session: Session,
        preferences: Preferences,
        choosers: Choosers,
        show_plans: Callable[[Sequence[TrainingPlan], str], None],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._session, self._preferences, self._choosers = session, preferences, choosers
        self._show_plans = show_plans

    # ---- saving

    def save(self) -> None:
        """Saves the corpus and the settings of Configure, with the result if the active run has just these."""
        self.save_plans([TrainingPlan(self._session.training.settings)])

    def save_plans(self, plans: Sequence[TrainingPlan]) -> None:
        """Saves the corpus and some trainings, which are variants if they are several."""
        if (obstacle := self._obstacle(plans)) is not None:
            self._session.jobs.refuse(obstacle)
            return
        path = self._choosers.save_file("Save Experiment", self._preferences.folder / f"experiment{SUFFIX}", _FILTER)
        if path is None:
            return
        self._preferences.folder = path.parent
        corpus = self._session.corpus
        whole, left_out = Corpus(corpus.sources).weighted(corpus.weights), corpus.left_out
        run = self._matching_run(plans)
        work = partial(_save_work, path, whole, tuple(plans), left_out, corpus.current, run)
        self._session.jobs.start(work, self._saved, writes=True)

    def _obstacle(self, plans: Sequence[TrainingPlan]) -> str | None:
        """Why an experiment cannot be saved now; None if it can."""
        corpus = self._session.corpus
        missing = next(filter(is_missing, corpus.sources), None)
        if missing is not None:
            return f"{missing.name} is missing: restore and reload it, or remove it from the corpus."
        if corpus.splitting or corpus.is_leaving_out:
            return "The corpus is being changed: save the experiment in a moment."
        try:
            for plan in plans:
                plan.weighted(corpus.current)
        except ConfigError as error:
            return str(error)
        return next((plan.problem for plan in plans if plan.problem is not None), None)

    def _matching_run(self, plans: Sequence[TrainingPlan]) -> Run | None:
        """The run of the active row if it is complete, and of this corpus with these settings."""
        active, corpus = self._session.runs.active, self._session.corpus.current
        run = None if active is None else active.so_far()
        plan = plans[0]
        if len(plans) > 1 or plan.percent < 100 or plan.settings.by_library or run is None or active is None:
            return None
        return run if active.is_of(plan.settings.config(), plan.weighted(corpus)) else None

    def _saved(self, saved: tuple[Path, str]) -> None:
        path, remark = saved
        self._preferences.add_recent([path], "experiment")
        self._session.jobs.tell(" ".join(filter(None, (f"Saved {file_name(path)}.", remark))))

    # ---- opening

    def ask_and_open(self) -> None:
        """Asks for an experiment and opens it."""
        paths = self._choosers.open_files("Open Experiment", self._preferences.folder, _FILTER)
        if paths:
            self.open(paths[0])

    def open(self, path: Path) -> None:
        """Replaces corpus and settings by those of an experiment, which Undo takes back; asks if there is a corpus."""
        self._preferences.folder = path.parent
        if self._session.corpus.sources:
            question = f"The corpus and the settings will be replaced by those of {file_name(path)}."
            if not self._choosers.confirm("Open Experiment", question, "Replace"):
                return
        self._session.jobs.start(partial(_open_work, path), self._opened)

    def _opened(self, opened: OpenedExperiment) -> None:
        session = self._session
        first = opened.plans[0]
        with session.history.together("Open Experiment"):
            session.corpus.set_sources(())
            session.training.set_settings(first.settings)
            session.corpus.remember_wholes(
                zip(opened.reduced.sources, opened.corpus.sources, strict=True) if opened.reduced is not None else ()
            )
            session.corpus.set_sources(opened.corpus.sources, opened.left_out, reduced=opened.reduced)
            if opened.corpus.weights is not None:
                session.corpus.set_weights(opened.corpus.weights)
        self._preferences.add_recent([opened.path], "experiment")
        session.jobs.tell(f"Opened {file_name(opened.path)}. Train makes what it describes.")
        if opened.remark:
            session.jobs.refuse(opened.remark)
        if len(opened.plans) > 1 or first.percent < 100 or first.weights:
            self._show_plans(opened.plans, f"The trainings of {file_name(opened.path)}.")


def planned(plan: TrainingPlan, name: str = "") -> PlannedTraining:
    """A training of the window as it is written down."""
    settings = {each: getattr(plan.settings, each) for each in _NAMES}
    settings |= {"parallel": dict(plan.settings.parallel), "ratios": dict(plan.settings.ratios)}
    return PlannedTraining(settings, name, None, plan.percent if plan.percent < 100 else None, plan.own_weights)


def text_work(folder: Path, corpus: Corpus, settings: Settings, left_out: LeavingOut) -> Work[str]:
    """The text that Save Experiment would write into a folder, for projects and reports; "" where there is none."""
    if not corpus.sources or settings.problem is not None:
        return ""
    steps, place = (left_out,) if left_out else (), folder / f"experiment{SUFFIX}"
    try:
        draft = yield from draft_work(place, corpus, [planned(TrainingPlan(settings))], steps)
    except TokStudioError:
        return ""
    return draft.text


def _save_work(
    path: Path, whole: Corpus, plans: Sequence[TrainingPlan], left_out: LeavingOut, current: Corpus, run: Run | None
) -> Work[tuple[Path, str]]:
    """Writes an experiment, and gives its path and what is said of it."""
    names = names_of_plans(plans) if len(plans) > 1 else [""]
    trainings = [
        planned(plan, name or f"variant {at}") for at, (plan, name) in enumerate(zip(plans, names, strict=True), 1)
    ]
    if len(set(names)) < len(names):
        trainings = [replace(each, name=f"{each.name} ({at})") for at, each in enumerate(trainings, 1)]
    if len(plans) == 1:
        # A single training has the weights of its sources.
        whole, trainings = plans[0].weighted(whole), [replace(planned(plans[0]), weights=())]
    before = yield from _before_work(path)
    more: dict[str, Any] = {}
    if before is not None:
        # What is exported where is not known to the window, and stays.
        exports = {each.name: each.exports for each in before.trainings}
        trainings = [
            replace(each, exports=[(name, before.place(target)) for name, target in exports.get(each.name, ())])
            for each in trainings
        ]
        more["accept_loss"] = before.accept_loss
        if before.project and len(trainings) == 1:
            more["project"] = before.place(before.project)
    draft = yield from draft_work(path, whole, trainings, (left_out,) if left_out else (), **more)
    removed = yield from _write_work(draft, before, current, run)
    return path, " ".join(filter(None, (removed, draft.remark)))


def _write_work(draft: Draft, before: Experiment | None, current: Corpus, run: Run | None) -> Work[str]:
    """Writes an experiment with the result of a run, or what the file has of itself; says what it no longer has.

    Raises:
        FormatError: The merges would replace a file that is not of this experiment.
    """
    path, result = draft.path, None if before is None else before.result
    own = yield from own_merges_work(path, result)  # which another result leaves without an owner
    if run is not None:
        yield from check_merges_work(path, [""], result)
        trained = [Trained("", run)]
        yield from draft.write_work(trained, (yield from result_work((yield from texts_work(current)), trained)))
        own = [file for file in own if file != merges_files(path, [""])[""]]
    elif before is not None and is_same_but_result(parse_toml(draft.text.encode(), before.file.name), before.file):
        yield from draft.write_work(result=result)
        return ""
    else:
        yield from draft.write_work()
    removed: list[str] = []
    for file in own:
        with suppress(OSError):  # it is only no longer of the experiment then
            file.unlink()
            removed.append(file_name(file))
    merges = f", with its merges in {', '.join(removed)}" if removed else ""
    return f"Its earlier result is removed{merges}." if result is not None and (run is None or removed) else ""


def _before_work(path: Path) -> Work[Experiment | None]:
    """The experiment that is replaced; None where there is none."""
    if not path.exists():
        return None
    try:
        return (yield from load_experiment_work(path))
    except TokStudioError:
        return None


def _open_work(path: Path) -> Work[OpenedExperiment]:
    experiment = yield from load_experiment_work(path)
    plans = tuple(
        TrainingPlan(_settings(experiment, each), each.sample_percent or 100, weights_text(each.weights))
        for each in experiment.trainings
    )
    corpus = yield from experiment.texts.whole_work()
    steps: list[LeavingOut] = []
    for step in experiment.leaving_out:
        steps.append((yield from experiment.texts.step_work(corpus, step)))
    left_out = joined_steps(steps)
    reduced = (yield from corpus.without_work(left_out)) if left_out else None
    if reduced is not None:
        reduced = replace(reduced, weights=None)
    return OpenedExperiment(path.absolute(), corpus, left_out, reduced, plans, _remark(experiment))


def _settings(experiment: Experiment, training: ExperimentTraining) -> Settings:
    """The settings of a training for Configure; ConfigError where it has no such field, or they cannot work."""
    config, values = experiment.config_of(training), dict[str, Any](training.settings)
    for name in values:
        if name not in _NAMES:
            message = f"the window has no field for {name}: train with tokstudio run."
            raise experiment.file.error(message, *training.places.get(name, ()))
    if isinstance(config, TrainingConfig):
        values["tie_break"] = config.tie_break
        if "parallel" in values:
            values["parallel"] = config.algorithm.texts()
    plain: dict[str, Any] = {"vocabulary_size": None}
    plain |= {name: _pairs(value) for name, value in values.items()}
    settings = Settings.from_plain(plain)
    for name in values:
        # What the window would not take, such as the tie rule that only one algorithm has, must be its own anyway.
        if name != "tie_break" and _pairs(values[name]) != _pairs(getattr(settings, name)):
            raise ConfigError(
                f"{file_name(experiment.path)}: the window cannot set {name} so: train with tokstudio run."
            )
    return settings


def _pairs(value: Any) -> Any:  # noqa: ANN401 -- of any setting
    """A value of a setting with lists of pairs in place of tables."""
    if isinstance(value, Mapping):
        return [list(pair) for pair in value.items()]
    return [_pairs(each) for each in value] if isinstance(value, (list, tuple)) else value


def _remark(experiment: Experiment) -> str:
    """What of an experiment only `tokstudio run` does."""
    exports = sum(len(training.exports) for training in experiment.trainings)
    parts = [several(exports, "export")] if exports else []
    parts += ["the project"] if experiment.project else []
    parts += ["the sample in bytes"] if any(each.sample_bytes for each in experiment.trainings) else []
    return f"Only tokstudio run makes {' and '.join(parts)} of {file_name(experiment.path)}." if parts else ""
