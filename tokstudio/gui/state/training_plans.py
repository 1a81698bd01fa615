"""Trainings to run one after another: their settings, their order, and what tells them apart."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.wording import shown
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.library_training import config as libraries
from tokstudio.core.library_training.config import LibraryAlgorithm
from tokstudio.core.library_training.train import check_corpus
from tokstudio.core.model.config import TITLES, Algorithm
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.training.trainer import Trainer
from tokstudio.gui.state.kept_counts import count_settings
from tokstudio.gui.state.training_settings import Settings

#: The algorithms to choose from, with their names.
ALGORITHMS: Mapping[Algorithm | LibraryAlgorithm, str] = {
    **TITLES,
    **libraries.TITLES,
}

_LONGEST_PATTERN = 20
_USUAL_PATTERN = "gpt2"


@dataclass(frozen=True)
class TrainingPlan:
    """A training to come, on the whole corpus or on a sample of it."""

    settings: Settings
    percent: int = 100  # of the corpus

    @property
    def problem(self) -> str | None:
        """Why it cannot be trained on any corpus; None if it can."""
        if not 1 <= self.percent <= 100:
            return f"The sample must be from 1 to 100 % of the corpus, not {self.percent} %."
        return self.settings.problem

    def problem_on(self, corpus: Corpus) -> str | None:
        """Why it cannot be trained on a corpus; None if it can."""
        if self.problem is not None or not corpus.bytes:
            return self.problem
        try:
            if self.settings.by_library:
                check_corpus(corpus)
            else:
                Trainer(corpus, self.settings.config())  # which checks all, and reads nothing yet
        except TokStudioError as error:
            return str(error)
        return None

    @property
    def count_key(self) -> tuple[object, ...]:
        """Trainings with the same key need only one count of the corpus."""
        # Other libraries count for themselves.
        return self.percent, () if self.settings.by_library else count_settings(self.settings.config())


def problem_of_plans(plans: Sequence[TrainingPlan], corpus: Corpus) -> str | None:
    """Why some plans cannot be trained together on a corpus, in one sentence; None if they can."""
    if not plans:
        return "Add at least one row."
    for number, plan in enumerate(plans, 1):
        problem = plan.problem_on(corpus)
        if problem is not None:
            return f"Row {number}: {problem}"
        first = plans.index(plan) + 1
        if first < number:
            return f"Row {number} is the same as row {first}: change or remove it."
    return None


def plans_of_algorithms(
    configured: Settings, defaults: Settings, corpus: Corpus
) -> tuple[list[TrainingPlan], dict[str, str]]:
    """A plan for each algorithm that can train on a corpus, and why the others cannot, by the names of these.

    All have the size and the pattern of Configure. If it has no pattern, and an algorithm can train only with one,
    all have the same usual one. If no algorithm can train, the only plan is that of Configure.
    """
    patterns = ("none", _USUAL_PATTERN) if configured.pattern == "none" else (configured.pattern,)
    best = list[TrainingPlan](), dict[str, str]()
    for pattern in patterns:
        plans, reasons = list[TrainingPlan](), dict[str, str]()
        for algorithm, title in ALGORITHMS.items():
            settings = configured.with_usual(algorithm, configured, defaults)
            plan = TrainingPlan(replace(settings, pattern=pattern))
            reason = plan.problem_on(corpus)
            if reason is None:
                plans.append(plan)
            else:
                reasons[title] = reason
        if len(plans) > len(best[0]):
            best = plans, reasons
    return best if best[0] else ([TrainingPlan(configured)], {})


def in_order_of_counts(plans: Sequence[TrainingPlan]) -> list[TrainingPlan]:
    """The plans with those together that share a sample, and among them those that share a count."""
    percents = [plan.percent for plan in plans]
    keys = [plan.count_key for plan in plans]
    return sorted(plans, key=lambda plan: (percents.index(plan.percent), keys.index(plan.count_key)))


def names_of_plans(plans: Sequence[TrainingPlan]) -> list[str]:
    """What each plan has that others do not, such as "gpt2, 10 % sample"; "" where all are alike."""
    # Where each algorithm has one tie rule, its name says enough.
    by_algorithm = len({(_algorithm(plan), _ties(plan)) for plan in plans}) == len(set(map(_algorithm, plans)))
    parts = [part for part in _PARTS if not (part is _ties and by_algorithm)]
    # None is what a plan does not have at all, which sets it apart from no other.
    varied = [part for part in parts if len({part(plan) for plan in plans} - {None}) > 1]
    return [", ".join(filter(None, (part(plan) for part in varied))) for plan in plans]


def _algorithm(plan: TrainingPlan) -> str:
    return ALGORITHMS[plan.settings.algorithm]


def _pattern(plan: TrainingPlan) -> str | None:
    if plan.settings.by_library:
        return None
    pattern = plan.settings.pattern
    if pattern == "none":
        return "no pattern"
    return pattern if pattern in NAMES else shown(pattern, _LONGEST_PATTERN)


def _limit(plan: TrainingPlan) -> str:
    size, least = plan.settings.vocabulary_size, plan.settings.min_frequency
    words = (f"size {size:,}" if size is not None else "", f"min. {least:,}" if least is not None else "")
    return ", ".join(filter(None, words))


def _base(plan: TrainingPlan) -> str | None:
    return None if plan.settings.by_library else plan.settings.base


def _ties(plan: TrainingPlan) -> str | None:
    return None if not plan.settings.has("tie_break") else f"ties {plan.settings.tie_break}"


_PARTS: tuple[Callable[[TrainingPlan], str | None], ...] = (
    _algorithm,
    _pattern,
    _limit,
    _base,
    _ties,
    lambda plan: f"{plan.percent} % sample" if plan.percent < 100 else "whole corpus",
)
