"""A goal for the weights of the texts of a corpus, the figures that meet it, and what a search found."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several
from tokstudio.core.comparison.sizes import usual_sizes
from tokstudio.core.corpus.corpus import ONCE, Corpus
from tokstudio.core.corpus.source import entries
from tokstudio.core.text.languages import language_name
from tokstudio.core.tokenizer.tokenizer import Tokenizer

MET, STOPPED, NO_NEARER, ALL_TRIED = "met", "stopped", "no nearer", "all tried"


@dataclass(frozen=True)
class MixtureGoal:
    """What a tokenizer has to reach on parallel lines; all that is given.

    Attributes:
        worst_premium: No language needs more than so many times the tokens of the base language.
        above_average: No language needs more than so many per cent above the average tokens of all languages.
        base_loss: The base language needs at most so many per cent more tokens than where only the text that serves it
            best is trained on, to the same vocabulary size.

    Raises:
        ConfigError: None is given, or one is not a number that can be reached.
    """

    worst_premium: float | None = None
    above_average: float | None = None
    base_loss: float | None = None

    def __post_init__(self) -> None:
        if (self.worst_premium, self.above_average, self.base_loss) == (None, None, None):
            raise ConfigError("A goal needs a worst premium, a part above the average, or a loss of the base language.")
        if self.worst_premium is not None and not 0 < self.worst_premium < math.inf:
            raise ConfigError(f"The worst premium must be above 0, such as 1.3, not {self.worst_premium!r}.")
        for name, share in (("part above the average", self.above_average), ("loss of the base", self.base_loss)):
            if share is not None and not 0 <= share < math.inf:
                raise ConfigError(f"The {name} must be 0 per cent or more, such as 10, not {share!r}.")

    @property
    def words(self) -> str:
        """The goal, such as "worst premium at most 1.3"."""
        parts = (
            "" if self.worst_premium is None else f"worst premium at most {self.worst_premium:g}",
            ""
            if self.above_average is None
            else f"no language above the average by more than {self.above_average:g} %",
            "" if self.base_loss is None else f"base language at most {self.base_loss:g} % worse than alone",
        )
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, eq=False)
class MixtureFigures:
    """What a tokenizer makes of half of the parallel lines."""

    tokens: tuple[int, ...]  # the tokens of each language, in order
    lines: int  # how many lines each has
    base: int  # the number of the base language
    # The tokens of the base language by a tokenizer trained for it alone; None where no goal asks for it.
    alone: int | None = None

    @property
    def premiums(self) -> tuple[float, ...]:
        """Of each language: its tokens by those of the base."""
        return tuple(tokens / self.tokens[self.base] for tokens in self.tokens)

    @property
    def worst(self) -> int:
        """The number of the language other than the base with the highest premium; the first of equal ones."""
        others = [number for number in range(len(self.tokens)) if number != self.base]
        return max(others, key=lambda number: (self.tokens[number], -number))

    @property
    def worst_premium(self) -> float:
        """The highest premium of a language other than the base."""
        return self.premiums[self.worst]

    @property
    def mean(self) -> float:
        """Tokens per line, the mean of all languages: what fairness costs."""
        return sum(self.tokens) / len(self.tokens) / self.lines

    @property
    def above_average(self) -> float:
        """How far the language with the most tokens is above the average, in per cent."""
        return 100 * (max(self.tokens) * len(self.tokens) / sum(self.tokens) - 1)

    @property
    def base_loss(self) -> float | None:
        """How many per cent more tokens the base language needs than alone; None where that is not known."""
        return None if self.alone is None else 100 * (self.tokens[self.base] / self.alone - 1)

    def ratios(self, goal: MixtureGoal) -> NDArray[np.float64]:
        """float64 [conditions], each value by what the goal allows: at most 1 where it is met."""
        tokens, ratios = np.array(self.tokens, np.float64), list[NDArray[np.float64]]()
        if goal.worst_premium is not None:
            ratios.append(np.delete(tokens / tokens[self.base], self.base) / goal.worst_premium)
        if goal.above_average is not None:
            ratios.append(tokens * len(tokens) / tokens.sum() / (1 + goal.above_average / 100))
        if goal.base_loss is not None and self.alone is not None:
            ratios.append(tokens[self.base : self.base + 1] / self.alone / (1 + goal.base_loss / 100))
        return np.concatenate(ratios)

    def meets(self, goal: MixtureGoal) -> bool:
        """Whether all conditions hold."""
        return bool(np.all(self.ratios(goal) <= 1))


@dataclass(frozen=True, eq=False)
class MixtureTrial:
    """One training of a search."""

    weights: tuple[int, ...]  # of each source, in thousandths
    measured: MixtureFigures  # on the even lines
    excess: float  # the largest of `MixtureFigures.ratios`


@dataclass(frozen=True, eq=False)
class FoundMixture:
    """The weights that were found for a goal, and the path to them.

    Attributes:
        names: The texts of the corpus that have a weight of their own.
        languages: Those of the parallel lines; `base` is the number of one.
        path: All trials in order; the first has the weights of the corpus as it was.
        best: The number of the trial that is nearest to the goal.
        ended: "met", "stopped", "no nearer" (no change of the weights promised to come nearer) or "all tried".
        reported: What the best one reaches on the odd lines.
        tokenizer: That of the best trial.
        sizes: int64 [merges + 1], the vocabulary size after 0, 1, ... merges of it; empty where only all merges can be
            measured.
        premiums: float64 [merges + 1], the worst premium at these sizes, on the odd lines.
    """

    corpus: Corpus
    goal: MixtureGoal
    names: tuple[str, ...]
    languages: tuple[str, ...]
    base: int
    path: tuple[MixtureTrial, ...]
    best: int
    ended: str
    reported: MixtureFigures
    tokenizer: Tokenizer
    sizes: NDArray[np.int64]
    premiums: NDArray[np.float64]

    @property
    def is_met(self) -> bool:
        """Whether the goal is met on the lines that the search looked at."""
        return self.measured.meets(self.goal)

    @property
    def measured(self) -> MixtureFigures:
        """What the best one reaches on the even lines."""
        return self.path[self.best].measured

    @property
    def weights(self) -> dict[str | int, float]:
        """The weight of each text, see `weights_of`."""
        return self.weights_of(self.path[self.best])

    def weights_of(self, trial: MixtureTrial) -> dict[str | int, float]:
        """The weights of a trial as `Corpus.with_weights` takes them: by name, or by index where names are equal."""
        numbers = [number for _, number in entries(self.corpus.sources)]
        by_entry = dict(zip(numbers, trial.weights, strict=True))
        names = (name if self.names.count(name) == 1 else index for index, name in enumerate(self.names))
        return {name: weight / ONCE for name, weight in zip(names, by_entry.values(), strict=True)}

    @property
    def mixture(self) -> Corpus:
        """The corpus with the weights that were found."""
        return self.corpus.weighted(self.path[self.best].weights)

    @property
    def told(self) -> str:
        """Whether the goal is met, and what was reached, in sentences."""
        trainings = several(len(self.path), "training")
        if self.is_met:
            return f"Met after {trainings}: {self._figures(self.measured)} {self._on_others}"
        why = {
            STOPPED: f"Stopped after {trainings}, before the goal was met",
            NO_NEARER: f"Not met: after {trainings}, no change of the weights came nearer",
            ALL_TRIED: f"Not met in {trainings}",
        }[self.ended]
        return f"{why}. The goal is {self.goal.words}; the nearest: {self._figures(self.measured)} {self._on_others}"

    @property
    def _on_others(self) -> str:
        meets = "meets it, too" if self.reported.meets(self.goal) else "does not meet it"
        verdict = f", which {meets}" if self.is_met else ""
        return f"On the lines that were not looked at: {self._figures(self.reported)[:-1]}{verdict}."

    def _figures(self, figures: MixtureFigures) -> str:
        worst = language_name(self.languages[figures.worst])
        parts = [f"worst premium {figures.worst_premium:.3f} ({worst})"]
        if self.goal.above_average is not None:
            most = language_name(self.languages[figures.tokens.index(max(figures.tokens))])
            parts.append(f"{figures.above_average:.1f} % above the average ({most})")
        if (loss := figures.base_loss) is not None:
            base = language_name(self.languages[self.base])
            parts.append(f"{base} {abs(loss):.1f} % {'worse' if loss >= 0 else 'better'} than alone")
        return f"{', '.join(parts)}, {figures.mean:.2f} tokens per line."

    def to_plain(self) -> dict[str, object]:
        """All figures and the path, as JSON holds them."""
        return {
            "goal": {name: value for name, value in vars(self.goal).items() if value is not None},
            "met": self.is_met,
            "met_on_other_lines": self.reported.meets(self.goal),
            "ended": self.ended,
            "told": self.told,
            "base": self.languages[self.base],
            "weights": self.weights,
            "measured": self._plain(self.measured),
            "reported": self._plain(self.reported),
            "path": [
                {
                    "weights": self.weights_of(trial),
                    "worst_premium": trial.measured.worst_premium,
                    "mean": trial.measured.mean,
                    "excess": trial.excess,
                }
                for trial in self.path
            ],
            "by_size": self._by_size(),
        }

    def _by_size(self) -> list[dict[str, float]]:
        """The worst premium on the odd lines at the usual sizes and the last one."""
        if not len(self.sizes):
            return []
        least, last = int(self.sizes[0]), int(self.sizes[-1])
        return [
            {"vocabulary_size": size, "worst_premium": float(self.premiums[size - least])}
            for size in sorted({*usual_sizes(least, last), last})
        ]

    def _plain(self, figures: MixtureFigures) -> dict[str, object]:
        return {
            "lines": figures.lines,
            "tokens": dict(zip(self.languages, figures.tokens, strict=True)),
            "premiums": dict(zip(self.languages, figures.premiums, strict=True)),
            "worst_premium": figures.worst_premium,
            "above_average": figures.above_average,
            "base_loss": figures.base_loss,
            "mean": figures.mean,
        }
