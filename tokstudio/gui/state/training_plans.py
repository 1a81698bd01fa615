"""Trainings to run one after another: their settings, their order, and what tells them apart."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from tokstudio.core.algorithms.common.languages import text_of_each
from tokstudio.core.algorithms.common.prepare_corpus import CountedText
from tokstudio.core.base.errors import ConfigError, TokStudioError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, shown
from tokstudio.core.corpus.corpus import LARGEST_WEIGHT, ONCE, Corpus
from tokstudio.core.corpus.sampling import in_use
from tokstudio.core.corpus.source import Source, entries
from tokstudio.core.library_training.train import check_corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.settings import ALGORITHM_TITLES, SETTINGS, Setting, SettingColumn
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.training.trainer import Trainer
from tokstudio.gui.state.training_settings import Settings

# --- The mixture of a corpus: its entries, their shares, and weights that give other shares ---------------------------
# An entry is a source, neighbouring sources that were opened together as one folder or archive, or the parts of data
# sets that are joined by value; all its sources have the same weight. Weights are in thousandths.

MOST = LARGEST_WEIGHT * ONCE  # the largest weight
EQUAL, AS_THEY_ARE = 0.0, 1.0  # exponents: all shares are equal, all weights are 1


@dataclass(frozen=True)
class MixtureEntry:
    """One entry of a mixture."""

    name: str
    places: tuple[int, ...]  # of its sources in the corpus, ascending
    bytes: int


def entries_of(sources: Sequence[Source]) -> tuple[MixtureEntry, ...]:
    """The entries of a corpus, in order."""
    places: dict[tuple[str, int], list[int]] = {}
    for place, entry in enumerate(entries(sources)):
        places.setdefault(entry, []).append(place)
    return tuple(
        MixtureEntry(name, tuple(here), sum(sources[place].bytes for place in here))
        for (name, _), here in places.items()
    )


def has_mixture(sources: Sequence[Source]) -> bool:
    """Whether a corpus has several entries, so that weights make a difference."""
    return len(set(entries(sources))) > 1


def shares(sources: Sequence[Source], mixed: Sequence[MixtureEntry], weights: Sequence[int]) -> list[float]:
    """The share of each entry in the weighted bytes; all are 0 where nothing has a weight."""
    sizes = [sum(sources[place].bytes * weights[place] for place in entry.places) for entry in mixed]
    total = sum(sizes)
    return [size / total if total else 0.0 for size in sizes]


def with_weight(weights: Sequence[int], entry: MixtureEntry, weight: int) -> tuple[int, ...]:
    """The weights of all sources, with another one for an entry."""
    return tuple(weight if place in entry.places else old for place, old in enumerate(weights))


def by_temperature(sources: Sequence[Source], mixed: Sequence[MixtureEntry], exponent: float) -> tuple[int, ...]:
    """Weights of all sources for which the shares of the entries are in proportion to size ** exponent.

    The largest entry counts once, and smaller ones more often, but not more than 1,000 times. Entries without text
    count once.
    """
    largest = max((entry.bytes for entry in mixed), default=0)
    weights = [ONCE] * len(sources)
    for entry in mixed:
        weight = (largest / entry.bytes) ** (1 - exponent) if entry.bytes else 1
        for place in entry.places:
            weights[place] = min(round(ONCE * weight), MOST)
    return tuple(weights)


@lru_cache(maxsize=8)
def languages_of_entries(names: tuple[str, ...], codes: tuple[str, ...]) -> tuple[str | None, ...]:
    """The code of the language of each entry, by their names; None where the names do not tell."""
    found = text_of_each(names, codes)
    return tuple(found.get(name) for name in names)


def may_have_content(sources: Sequence[Source], codes: tuple[str, ...]) -> bool:
    """Whether at least two entries are in languages with these codes, so that `by_content` makes a difference.

    Codes that are not known yet may be theirs.
    """
    names = tuple(name for name, _ in dict.fromkeys(entries(sources)))
    return not codes or sum(code is not None for code in languages_of_entries(names, codes)) > 1


def by_content(
    mixed: Sequence[MixtureEntry], weights: Sequence[int], parallel_bytes: Sequence[int | None]
) -> tuple[int, ...]:
    """Weights of all sources with which the weighted entries say equally much: bytes by the byte premium are equal.

    The byte premium of a language is by how much more bytes it needs for the same text (Arnett et al. 2024,
    arXiv 2403.00686). The entry that says most counts once, the others more often, but not more than 1,000 times. The
    weights of entries without text or without a language stay.

    Args:
        mixed: The entries.
        weights: The weights of all sources before.
        parallel_bytes: Of each entry, the bytes of the parallel text in its language; None where there is none.
    """
    contents = [entry.bytes / size if size else 0.0 for entry, size in zip(mixed, parallel_bytes, strict=True)]
    most, found = max(contents, default=0.0), list(weights)
    for entry, content in zip(mixed, contents, strict=True):
        for place in entry.places if content else ():
            found[place] = min(round(ONCE * most / content), MOST)
    return tuple(found)


def weight_text(weight: int) -> str:
    """A weight in thousandths as a number: "1", "0.25"."""
    return f"{weight / ONCE:,.3f}".rstrip("0").rstrip(".")


def weights_text(weights: Sequence[float]) -> str:
    """The weights of entries in order, as `TrainingPlan.weights` has them."""
    return ", ".join(weight_text(round(ONCE * weight)).replace(",", "") for weight in weights)


# --- The counts of the corpus, kept for trainings with other weights or limits ----------------------------------------


@dataclass(frozen=True, eq=False)
class KeptCount:
    """A corpus that was counted; its weights do not matter, but with a held-out share those of 0."""

    corpus: Corpus
    key: tuple[object, ...]
    counted: CountedText


class KeptCounts:
    """Keeps the newest count of the sources that are open; a worker may store one at any time."""

    def __init__(self) -> None:
        self._sources: tuple[Source, ...] = ()
        self._kept: KeptCount | None = None
        self._shared: tuple[object, ...] | None = None  # the sources and settings of several trainings to come

    def use(self, sources: tuple[Source, ...]) -> None:
        """Sets the sources that are open; the count of others is released."""
        self._sources = sources
        self._release()

    def share(self, corpus: Corpus | None, config: TrainingConfig | None) -> None:
        """Also keeps the count that several trainings need, until the next call; None keeps no other."""
        if corpus is None or config is None or config.pattern == "none":
            self._shared = None
        else:
            self._shared = _key(corpus, config)
        self._release()

    def wants(self, corpus: Corpus, config: TrainingConfig) -> bool:
        """Whether a count would be kept: the corpus is open, a pattern is set, and weights can be chosen.

        The count that several trainings share is kept too.
        """
        if _key(corpus, config) == self._shared:
            return True
        return config.pattern != "none" and self._is_open(corpus)

    def put(self, corpus: Corpus, config: TrainingConfig, counted: CountedText) -> None:
        """Keeps a count."""
        if self.wants(corpus, config):
            self._kept = KeptCount(corpus, _key(corpus, config), counted)
            # The sources may have changed meanwhile.
            self._release()

    def find(self, corpus: Corpus, config: TrainingConfig) -> KeptCount | None:
        """The count of this text with these settings; None if there is none."""
        kept = self._kept
        return kept if kept is not None and kept.key == _key(corpus, config) else None

    def _is_open(self, corpus: Corpus) -> bool:
        return corpus.sources == self._sources and has_mixture(corpus.sources)

    def _release(self) -> None:
        """Drops a count that nothing needs any more."""
        kept = self._kept
        if kept is not None and kept.key != self._shared and not self._is_open(kept.corpus):
            self._kept = None


def _key(corpus: Corpus, config: TrainingConfig) -> tuple[object, ...]:
    """All that a count depends on."""
    divided = in_use(corpus.sources, corpus.weights) if config.held_out else ()
    return corpus.sources, divided, *count_settings(config)


def count_settings(config: TrainingConfig) -> tuple[object, ...]:
    """The settings that a count depends on."""
    return config.pattern, config.all_specials, config.base, config.held_out


_LONGEST_PATTERN = 20
_USUAL_PATTERN = "gpt2"
_MOST_NAMED = 8  # texts, or weights


@dataclass(frozen=True)
class TrainingPlan:
    """A training to come, on the whole corpus or on a sample of it."""

    settings: Settings
    percent: int = 100  # of the corpus
    weights: str = ""  # of each entry of the corpus in order, with commas between them; "" for those of the corpus

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
            corpus = self.weighted(corpus)
            if self.settings.by_library:
                check_corpus(corpus)
            else:
                Trainer(corpus, self.settings.config())  # which checks all, and reads nothing yet
        except TokStudioError as error:
            return str(error)
        return None

    @property
    def own_weights(self) -> tuple[float, ...]:
        """The weights as numbers, empty for those of the corpus; raises ValueError where they are none."""
        return tuple(float(each) for each in self.weights.split(",")) if self.weights else ()

    def weighted(self, corpus: Corpus) -> Corpus:
        """A corpus with the weights of the plan; raises ConfigError where they do not fit it."""
        try:
            weights = self.own_weights
        except ValueError as error:
            names = [entry.name for entry in entries_of(corpus.sources)]
            example = ", ".join(["1", "0.5", "2"][: len(names)])
            raise ConfigError(
                f"Weights are numbers with commas between them, such as {example}, one for each of "
                f"{first_few(names, _MOST_NAMED, str)}: {shown(self.weights)} are none."
            ) from error
        if weights and not any(weights):
            raise ConfigError("All weights are 0: give a text a larger one.")
        return corpus.with_weights_in_order(weights) if weights else corpus

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
        for algorithm, title in ALGORITHM_TITLES.items():
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
    return ALGORITHM_TITLES[plan.settings.algorithm]


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


def _shortened(weights: str) -> str:
    numbers = weights.split(", ")
    return ", ".join(numbers[:_MOST_NAMED]) + (", …" if len(numbers) > _MOST_NAMED else "")


def _other(setting: Setting, plan: TrainingPlan) -> str | None:
    """A further column of Train Several."""
    if not plan.settings.has(setting.name):
        return None
    value = getattr(plan.settings, setting.name)
    return "" if value is None else f"{setting.words} {setting.text(value)}"


_NAMED = ("algorithm", "pattern", "vocabulary_size", "min_frequency", "base", "tie_break")
_PARTS: tuple[Callable[[TrainingPlan], str | None], ...] = (
    _algorithm,
    _pattern,
    _limit,
    _base,
    _ties,
    *(
        partial(_other, each)
        for each in SETTINGS.values()
        if each.name not in _NAMED and isinstance(each.column, SettingColumn)
    ),
    lambda plan: f"{plan.percent} % sample" if plan.percent < 100 else "whole corpus",
    lambda plan: f"weights {_shortened(plan.weights)}" if plan.weights else "weights of the corpus",
)
