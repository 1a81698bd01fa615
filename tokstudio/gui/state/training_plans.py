"""Trainings to run one after another: their settings, their order, and what tells them apart."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tokstudio.core.base.wording import shown
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.gui.state.kept_counts import count_settings
from tokstudio.gui.state.training_settings import Settings

_LONGEST_PATTERN = 20


@dataclass(frozen=True)
class TrainingPlan:
    """A training to come, on the whole corpus or on a sample of it."""

    settings: Settings
    percent: int = 100  # of the corpus

    @property
    def problem(self) -> str | None:
        """Why it cannot be trained; None if it can."""
        if not 1 <= self.percent <= 100:
            return f"The sample must be from 1 to 100 % of the corpus, not {self.percent} %."
        return self.settings.problem

    @property
    def count_key(self) -> tuple[object, ...]:
        """Trainings with the same key need only one count of the corpus."""
        return self.percent, count_settings(self.settings.config())


def problem_of_plans(plans: Sequence[TrainingPlan]) -> str | None:
    """Why some plans cannot be trained together, in one sentence; None if they can."""
    if not plans:
        return "Add at least one row."
    for number, plan in enumerate(plans, 1):
        if plan.problem is not None:
            return f"Row {number}: {plan.problem}"
        first = plans.index(plan) + 1
        if first < number:
            return f"Row {number} is the same as row {first}: change or remove it."
    return None


def in_order_of_counts(plans: Sequence[TrainingPlan]) -> list[TrainingPlan]:
    """The plans with those together that share a sample, and among them those that share a count."""
    percents = [plan.percent for plan in plans]
    keys = [plan.count_key for plan in plans]
    return sorted(plans, key=lambda plan: (percents.index(plan.percent), keys.index(plan.count_key)))


def names_of_plans(plans: Sequence[TrainingPlan]) -> list[str]:
    """What each plan has that others do not, such as "gpt2, 10 % sample"; "" where all are alike."""
    varied = [[part(plan) for part in _PARTS if len({part(other) for other in plans}) > 1] for plan in plans]
    return [", ".join(filter(None, parts)) for parts in varied]


def _pattern(plan: TrainingPlan) -> str:
    pattern = plan.settings.pattern
    if pattern == "none":
        return "no pattern"
    return pattern if pattern in NAMES else shown(pattern, _LONGEST_PATTERN)


def _limit(plan: TrainingPlan) -> str:
    size, least = plan.settings.vocabulary_size, plan.settings.min_frequency
    words = (f"size {size:,}" if size is not None else "", f"min. {least:,}" if least is not None else "")
    return ", ".join(filter(None, words))


_PARTS: tuple[Callable[[TrainingPlan], str], ...] = (
    _pattern,
    _limit,
    lambda plan: plan.settings.base,
    lambda plan: f"ties {plan.settings.tie_break}",
    lambda plan: f"{plan.percent} % sample" if plan.percent < 100 else "whole corpus",
)
