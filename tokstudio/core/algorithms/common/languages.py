"""The languages of a parity-aware training: their texts, parallel texts and ratios, found by name."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tokstudio.core.algorithms.common.units import Languages
from tokstudio.core.base.arrays import in_eight_bytes
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several, shown
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source, entries
from tokstudio.core.model.algorithms import ParityAware
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.word_counts import Sequences
from tokstudio.core.text.languages import language_name

if TYPE_CHECKING:
    from tokstudio.core.algorithms.common.symbols import Layout

_T = TypeVar("_T")
Pairs = Sequence[tuple[str, _T]]  # by name


@dataclass(frozen=True, eq=False)
class Language:
    """A language of a training: an entry of its corpus."""

    name: str
    entry: int
    ratio: float
    parallel: str | None


def languages_of(corpus: Corpus, config: TrainingConfig) -> tuple[Language, ...]:
    """The languages of a parity-aware training: the entries of its corpus whose weight is not 0. None for plain BPE.

    Where there are parallel texts, a language without one takes part in all counts, and never chooses.

    Raises:
        ConfigError: There are fewer than two, only one has a parallel text, or a name is that of no language.
    """
    algorithm = config.algorithm
    if not isinstance(algorithm, ParityAware):
        return ()
    names = entry_names(corpus)
    parallel = _by_entry("a parallel text", algorithm.parallel, names)
    ratios = _by_entry("a ratio", algorithm.ratios, names)
    languages = [
        Language(names[entry], entry, ratios.get(entry, 1.0), parallel.get(entry))
        for entry, multiplier in enumerate(corpus.multipliers)
        if multiplier
    ]
    if len(languages) < 2:
        raise ConfigError("Parity-aware BPE needs at least two languages, each as a text or a folder of its own.")
    missing = [shown(language.name) for language in languages if language.parallel is None]
    if parallel and len(languages) - len(missing) < 2:
        raise ConfigError(
            f"The parallel text of {', '.join(missing)} is missing: at least two languages need one, or none."
        )
    return tuple(languages)


def silent_languages(corpus: Corpus, config: TrainingConfig) -> tuple[str, ...]:
    """The names of the languages that never choose, as they have no parallel text and others do."""
    languages = languages_of(corpus, config) if config.algorithm.texts() else ()
    return tuple(language.name for language in languages if language.parallel is None)


def told_silent(corpus: Corpus, config: TrainingConfig) -> str:
    """Says which languages never choose, as a sentence; "" where all do."""
    names = ", ".join(map(shown, silent_languages(corpus, config)))
    return f"Without a parallel text, and so only counted, never choosing: {names}." if names else ""


def check_parallel_lines(corpus: Corpus, config: TrainingConfig) -> None:
    """Refuses parallel texts that cannot be the same lines: the language with more of them would always choose.

    Raises:
        ConfigError: They have different numbers of lines.
    """
    parallel = [language for language in languages_of(corpus, config) if language.parallel is not None]
    lines = [lines_of(language.parallel or "") for language in parallel]
    other = next((number for number, count in enumerate(lines) if count != lines[0]), None)
    if other is not None:
        numbers = (
            f"{shown(parallel[0].name)} has {several(lines[0], 'line')}, {shown(parallel[other].name)} {lines[other]:,}"
        )
        raise ConfigError(f"The parallel texts must be the same lines in each language: that of {numbers}.")


def lines_of(parallel: str) -> int:
    """The lines of a parallel text."""
    return parallel.rstrip("\r\n").count("\n") + 1


def why_no_languages(corpus: Corpus, config: TrainingConfig) -> str:
    """Why a parity-aware training cannot have the entries of a corpus as its languages; "" if it can."""
    try:
        check_parallel_lines(corpus, config)
    except ConfigError as error:
        return str(error)
    return ""


def languages_in(corpus: Corpus) -> list[str]:
    """The names of the languages of a corpus: its entries whose weight is not 0."""
    return [name for name, multiplier in zip(entry_names(corpus), corpus.multipliers, strict=True) if multiplier]


def by_language(names: Sequence[str], pairs: Pairs[_T]) -> dict[str, _T]:
    """What is given for each language, whose name may lack the ending of a file; then what is for none of them."""
    by_name, others = dict[str, _T](), dict[str, _T]()
    for name, value in pairs:
        meant = entries_named(name, names)
        (by_name if meant else others)[names[meant[0]] if meant else name] = value
    return {name: by_name[name] for name in names if name in by_name} | others


def entry_names(corpus: Corpus) -> list[str]:
    """The names of the entries of a corpus, in order."""
    return [name for name, _ in sorted(set(entries(corpus.sources)), key=lambda entry: entry[1])]


def entries_named(name: str, names: Sequence[str]) -> list[int]:
    """The entries that a name means: those with this name, else those with this name and the ending of a file."""
    entries = [entry for entry, entry_name in enumerate(names) if entry_name == name]
    return entries or [entry for entry, entry_name in enumerate(names) if _stem(entry_name) == name]


def matching_texts(names: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    """The parallel text of each entry of a corpus, both by name, as far as the names tell.

    They have the same name, but for the ending of a file, or are codes of one language: `de.txt` and `deu_Latn`.
    """
    texts_by_name: dict[str, str] = {}
    for same in _SAME:
        of_text: dict[str, list[str]] = {}
        for text in texts:
            if text not in texts_by_name.values():
                of_text.setdefault(same(text), []).append(text)
        left = [name for name in names if name not in texts_by_name]
        for key in {same(name) for name in left}:
            meant, there = [name for name in left if same(name) == key], of_text.get(key, [])
            if len(meant) == len(there) == 1:
                texts_by_name[meant[0]] = there[0]
    return texts_by_name


def text_of_each(names: Iterable[str], texts: Sequence[str]) -> dict[str, str]:
    """The same for each name by itself, as a corpus may have several texts of a language."""
    found: dict[str, str] = {}
    by_key = [(same, Counter(map(same, texts)), {same(text): text for text in texts}) for same in _SAME]
    for name in dict.fromkeys(names):
        for same, times, text_of in by_key:
            if times[key := same(name)] == 1:
                found[name] = text_of[key]
                break
    return found


def _stem(name: str) -> str:
    return PurePath(name).stem


def _language(name: str) -> str:
    return language_name(_stem(name))


_SAME = str, _stem, _language  # names mean the same where one of these gives the same, the first first


def _by_entry(what: str, pairs: Pairs[_T], names: Sequence[str]) -> dict[int, _T]:
    """What is given by name, by entry; a name may lack the ending of a file."""
    by_entry: dict[int, _T] = {}
    for name, value in pairs:
        entries = entries_named(name, names)
        if not entries:
            raise ConfigError(f"There is no language {shown(name)} for {what}: the corpus has {', '.join(names)}.")
        if len(entries) > 1 or entries[0] in by_entry:
            raise ConfigError(f"{shown(name)} names several languages, or one of them twice: each needs its own name.")
        by_entry[entries[0]] = value
    return by_entry


def parallel_corpus(languages: Sequence[Language]) -> Corpus:
    """The parallel texts, each an entry; no sources where there are none."""
    texts = ((language.name, language.parallel) for language in languages)
    return Corpus(tuple(Source.from_texts([text], name) for name, text in texts if text is not None))


def sections_of(
    weighted: Callable[[Sequence[int]], list[Sequences]], multipliers: Sequence[int]
) -> list[list[Sequences]]:
    """The sequences of each entry that counts; `weighted` is that of a `CountedText`."""
    return [
        [replace(part, counts=part.times) for part in weighted(alone.tolist())]
        for alone in np.diag(multipliers)
        if alone.any()
    ]


def laid_out(
    layout: Layout,
    config: TrainingConfig,
    languages: Sequence[Language],
    texts: Sequence[Sequence[Sequences]],
    parallel: Sequence[Sequence[Sequences]],
) -> Languages:
    """The languages of a corpus, from its layout of `texts`, and of `parallel` texts that are only measured."""
    ends, at = [(1, 0)], 0
    for section in chain(texts, parallel):
        at += len(section)
        ends.append(layout.ends[at - 1] if section else ends[-1])
    measured = ends[-len(languages) - 1 :]
    units = layout.units
    weights = in_eight_bytes(units.weights, units.heavy) if layout.measures is None else layout.measures
    in_use = np.where(units.symbols >= 0, weights, 0)
    lengths = [int(in_use[start:stop].sum()) for (start, _), (stop, _) in pairwise(measured)]
    unknown = np.diff([unknown for _, unknown in measured])
    return Languages(
        config,
        np.array([end for end, _ in ends[1:]], np.int64),
        np.empty(0, np.int64) if layout.measures is None else layout.measures,
        np.array(lengths, np.int64) + unknown,
        np.array([sum(part.size for part in section) for section in texts], np.float64),
        np.array([language.ratio for language in languages]),
        np.array([language.parallel is not None or not parallel for language in languages]),
    )
