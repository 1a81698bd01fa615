"""Compares a student's merges with the right ones, and finds the mistakes that explain the difference."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import TypeVar, cast

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source, in_text_order
from tokstudio.core.model.algorithms import TieBreak
from tokstudio.core.model.alphabet import BYTES
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.pretokenization.patterns import REGEX
from tokstudio.core.teaching.hypotheses import TIES, Hypothesis, hypotheses
from tokstudio.core.teaching.naive import NaiveTrainer, Pair, Recipe, Ties, Words, count_words_work
from tokstudio.core.teaching.submissions import Merge, Submission
from tokstudio.core.training.trainer import Trainer

T = TypeVar("T")

_MOST_KEPT = 400_000  # words of all recipes: about 100 MB
_SOME = 64  # merges between two reports of progress
_READINGS = 3  # of a file, in which causes are looked for
_SHORT_BY_256 = Hypothesis(
    "short-by-256",
    "The list ends 256 merges too early.",
    "Look at the number of merges: a vocabulary of N tokens has N - 256 merges without special tokens.",
)
_SHORT_BY_SPECIALS = Hypothesis(
    "short-by-specials",
    "The list ends as many merges too early as there are special tokens.",
    "Look at the number of merges: special tokens are subtracted once.",
)
_LONG_BY_256 = Hypothesis(
    "long-by-256",
    "The list has 256 merges too many: the bytes, which are tokens too, were not counted.",
    "Look at the number of merges: a vocabulary of N tokens has N - 256 merges without special tokens.",
)
_LONG_BY_SPECIALS = Hypothesis(
    "long-by-specials",
    "The list has as many merges too many as there are special tokens.",
    "Look at the number of merges: special tokens belong to the vocabulary, and are subtracted from its size.",
)
_ENDS_EARLY = Hypothesis(
    "ends-early",
    "The list ends before the vocabulary is complete.",
    "Look at the place where the training stops: at which number of tokens, or of merges, or at which count?",
)
_ENDS_LATE = Hypothesis(
    "ends-late",
    "The list goes on after the vocabulary is complete.",
    "Look at the place where the training stops: at which number of tokens, or of merges?",
)
_SWAPPED = Hypothesis(
    "swapped",
    "Two merges are exchanged.",
    "Look at the order in which merges are written: it is the order in which they were made.",
)


@dataclass(frozen=True, kw_only=True)
class CheckSettings:
    """What the class was asked to do; the base tokens are bytes."""

    vocabulary_size: int | None = None  # tokens in all, with the special ones; None for as many as the checked list has
    pattern: str = "gpt2"
    tie_break: TieBreak = "bytes"  # as in `TrainingConfig`; "bytes" takes the greatest pair by its bytes
    special_tokens: Sequence[str] = ()  # texts that no merge has a part of

    @property
    def recipe(self) -> Recipe:
        """The same for a naive trainer."""
        return Recipe(pattern=self.pattern, ties=TIES[self.tie_break])

    @property
    def regular_expression(self) -> str:
        """What the pattern's name stands for; "" where text is not split."""
        return "" if self.pattern == "none" else REGEX.get(self.pattern, self.pattern)

    def config(self, size: int) -> TrainingConfig:
        """The right training; raises ConfigError where the settings are invalid."""
        return TrainingConfig(
            vocabulary_size=size, pattern=self.pattern, special_tokens=self.special_tokens, tie_break=self.tie_break
        )


@dataclass(frozen=True)
class Difference:
    """The first place where two lists of merges differ."""

    place: int  # the number of the merge, from 1
    theirs: Merge | None  # their pair; None where their list has ended
    ours: Merge | None  # the right pair; None where nothing was left to merge, or the vocabulary was complete
    counts: tuple[int, int]  # how often each of them occurs at that moment
    tied: int  # how many pairs have the highest count


@dataclass(frozen=True)
class Check:
    """What a check has found."""

    merges: int  # how many merges they have
    expected: int  # how many there should be
    difference: Difference | None
    causes: tuple[tuple[Hypothesis, ...], ...] = ()  # each a list of mistakes that together give their whole list

    @property
    def identical(self) -> bool:
        """Whether both lists are equal."""
        return self.difference is None


def _documents(source: Source, first: int, last: int) -> Iterator[bytes]:
    """The documents of a source from the first to before the last."""
    begin = int(source.ends[first - 1]) if first else 0
    for start, end in pairwise([begin, *source.ends[first:last].tolist()]):
        yield bytes(source.data[start:end])


class Checker:
    """Checks lists of merges against a corpus. What does not depend on a list is computed once.

    Raises:
        ConfigError: The settings are invalid.
    """

    def __init__(self, corpus: Corpus, settings: CheckSettings) -> None:
        self._settings, self._corpus = settings, corpus
        if settings.vocabulary_size is not None:
            settings.config(settings.vocabulary_size)
        if any(source.counts is not None for source in corpus.sources):
            raise ConfigError("A training cannot be checked on word counts: give the text that was counted.")
        self._texts = [
            text
            for number, first, last in in_text_order(corpus.sources)
            for text in _documents(corpus.sources[number], first, last)
        ]
        self._unusable = set[object]()  # of the words of recipes: those whose pattern cannot be used
        self._right: list[Merge] = []
        self._is_complete = False
        self._kept: dict[tuple[object, ...], Words] = {}  # by what they depend on; those of the settings first
        self._kept_words = 0
        self._seen: dict[tuple[object, ...], int] = {}  # a hash of the words, by what they depend on
        self._beginnings: dict[Recipe, dict[Ties, _Beginning]] = {}  # of trainings, by all but their ties

    def expected_work(self, merges: int) -> Work[list[Merge]]:
        """The right merges: as many as the settings ask for, or as `merges` says."""
        size, specials = self._settings.vocabulary_size, self._settings.special_tokens
        wanted = merges if size is None else size - BYTES - len(specials)
        if len(self._right) < wanted and not self._is_complete:
            trainer = Trainer(self._corpus, self._settings.config(size or BYTES + len(specials) + wanted))
            while not trainer.ended:
                yield trainer.progress
                trainer.advance()
            tokens = trainer.tokenizer().tokens
            self._right = [(tokens[left] or b"", tokens[right] or b"") for left, right in trainer.run.merges.tolist()]
            self._is_complete = len(self._right) < wanted
        return self._right[:wanted]

    def check_work(self, theirs: Sequence[Merge]) -> Work[Check]:
        """Compares, and looks for causes of a difference."""
        ours = yield from self.expected_work(len(theirs))
        place = _first_difference(theirs, ours)
        if place is None:
            return Check(len(theirs), len(ours), None)
        difference = yield from self._difference_work(theirs, ours, place)
        causes = yield from self._causes_work(theirs, ours, place)
        return Check(len(theirs), len(ours), difference, causes)

    def check_submission_work(self, submission: Submission) -> Work[Check]:
        """Checks the reading of a file that fits best; of the first equal ones, the first that has a cause."""
        fits: list[tuple[tuple[int, int], Sequence[Merge]]] = []
        for merges in submission.readings:
            ours = yield from self.expected_work(len(merges))
            place = _first_difference(merges, ours)
            shared = len(set(merges).intersection(ours))
            fits.append(((len(merges) + 1 if place is None else place, shared), merges))
        best = max(fit for fit, _ in fits)
        checks: list[Check] = []
        for merges in [merges for fit, merges in fits if fit == best][:_READINGS]:
            checks.append((yield from self.check_work(merges)))
            if checks[-1].identical or checks[-1].causes:
                return checks[-1]
        return checks[0]

    def _difference_work(self, theirs: Sequence[Merge], ours: Sequence[Merge], place: int) -> Work[Difference]:
        trainer = NaiveTrainer((yield from self._words_work(self._settings.recipe)), self._settings.recipe)
        for done in range(place):
            best, _, _ = trainer.best()
            assert best is not None
            trainer.merge(best)
            if done % _SOME == 0:
                yield Progress("counting pairs", done, place)
        _, highest, tied = trainer.best()
        their = theirs[place] if place < len(theirs) else None
        our = ours[place] if place < len(ours) else None
        counts = (0 if their is None else trainer.count(their)), (0 if our is None else highest)
        return Difference(place + 1, their, our, counts, tied)

    def _causes_work(
        self, theirs: Sequence[Merge], ours: Sequence[Merge], place: int
    ) -> Work[tuple[tuple[Hypothesis, ...], ...]]:
        length = self._wrong_length(len(theirs))
        if place == len(theirs) and length is not None:
            return ((length,),)
        if sorted(theirs) == sorted(ours) and sum(a != b for a, b in zip(theirs, ours, strict=True)) == 2:
            return ((_SWAPPED,),)
        candidates = hypotheses(self._settings.recipe, len(self._settings.special_tokens))
        end = self._wrong_end(len(theirs)) if length is None else None
        alone = {(): [self._settings.recipe]} if len(theirs) != len(ours) else {}
        alone |= {(each,): self._recipes([each]) for each in candidates}
        fitting, cut = yield from self._fitting_work(theirs, ours, alone, length)
        if length is not None and (length,) in fitting:
            return ((length,),)
        if end is not None and () in cut and not fitting:
            return ((end,),)
        if fitting:
            return tuple(fitting)
        if end is not None and cut:
            # Other base tokens change how many merges there are.
            characters = [each for each in candidates if each.key == "characters" and (each,) not in cut]
            pairs = {(*each, other): self._recipes([*each, other]) for each in cut for other in characters}
            fitting, _ = yield from self._fitting_work(theirs, ours, pairs, length)
            return tuple(fitting) or tuple((*each, end) for each in cut)
        candidates = [each for each in map(self._that_matters, candidates) if each.variants]
        pairs = {pair: self._recipes(pair) for pair in combinations(candidates, 2)}
        fitting, _ = yield from self._fitting_work(theirs, ours, pairs, length)
        if not fitting:
            # Reading a file as text, as Python's `open` does by itself, makes two mistakes at once.
            opened = [each for each in candidates if each.key in ("crlf", "replacement")]
            if len(opened) == 2:
                three = {(*opened, each): self._recipes([*opened, each]) for each in candidates if each not in opened}
                fitting, _ = yield from self._fitting_work(theirs, ours, three, length)
        return tuple(fitting)

    def _that_matters(self, mistake: Hypothesis) -> Hypothesis:
        """A mistake without the variants that, on this text, change no word or the same words as another one."""
        right = self._settings.recipe
        seen, variants = {self._seen[right.of_words]}, list[Mapping[str, object]]()
        for changes, recipe in mistake.recipes(right):
            if recipe.of_words in self._unusable:
                continue
            words = self._seen[recipe.of_words]
            if recipe.of_words == right.of_words or words not in seen:
                seen.add(words)
                variants.append(changes)
        return replace(mistake, variants=tuple(variants))

    def _wrong_length(self, merges: int) -> Hypothesis | None:
        """What explains how many merges are missing or too many."""
        size, specials = self._settings.vocabulary_size, len(self._settings.special_tokens)
        if size is None:
            return None
        causes_of_length = {specials: _SHORT_BY_SPECIALS, -specials: _LONG_BY_SPECIALS, BYTES: _SHORT_BY_256}
        causes_of_length |= {-BYTES: _LONG_BY_256, -BYTES - specials: _LONG_BY_256}
        missing = size - BYTES - specials - merges
        return causes_of_length.get(missing) if missing else None

    def _wrong_end(self, merges: int) -> Hypothesis | None:
        """What is said about a list whose length nothing explains."""
        size, specials = self._settings.vocabulary_size, len(self._settings.special_tokens)
        if size is None or merges == size - BYTES - specials:
            return None
        return _ENDS_EARLY if merges < size - BYTES - specials else _ENDS_LATE

    def _recipes(self, mistakes: Sequence[Hypothesis]) -> list[Recipe]:
        """What they make of the right recipe together; none where they contradict each other."""
        own = self._settings.recipe
        recipes: list[Mapping[str, object]] = [{}]
        for mistake in mistakes:
            recipes = [
                {**changes, **more}
                for changes in recipes
                for more, _ in mistake.recipes(own)
                if all(changes.get(name, value) == value for name, value in more.items())
            ]
        return [replace(own, **changes) for changes in recipes]  # pyright: ignore[reportArgumentType]

    def _fitting_work(
        self,
        theirs: Sequence[Merge],
        ours: Sequence[Merge],
        mistakes: Mapping[tuple[Hypothesis, ...], Sequence[Recipe]],
        length: Hypothesis | None,
    ) -> Work[tuple[list[tuple[Hypothesis, ...]], list[tuple[Hypothesis, ...]]]]:
        """The mistakes of which one recipe gives the whole list, and those that would make another number of merges."""
        recipes = dict.fromkeys(recipe for some in mistakes.values() for recipe in some)
        # Trainings that differ only in the rule for ties are one training, as long as they follow the list.
        rules: dict[Recipe, list[Ties]] = {}
        for recipe in sorted(recipes, key=lambda recipe: repr(recipe.of_words)):
            rules.setdefault(replace(recipe, ties="bytes"), []).append(recipe.ties)
        fitting, cut = set[Recipe](), set[Recipe]()
        words: Words | None = None
        of_words: object = None
        place = _first_difference(theirs, ours) or 0
        for number, (recipe, ties) in enumerate(rules.items()):
            yield (progress := Progress("trying mistakes", number, len(rules)))
            known = self._beginnings.setdefault(recipe, {})
            possible: list[Ties] = [tie for tie in ties if tie not in known or not known[tie].excludes(theirs, place)]
            if not possible or recipe.of_words in self._unusable:
                continue
            if words is None or of_words != recipe.of_words:
                try:
                    words, of_words = (yield from _as(progress, self._words_work(recipe))), recipe.of_words
                except ConfigError:
                    # What the mistake makes of the pattern cannot be used, so nobody has trained with it.
                    self._unusable.add(recipe.of_words)
                    continue
            trainer = NaiveTrainer(words, recipe)
            left = yield from _as(progress, _fits_work(theirs, ours, trainer, possible, known))
            is_whole = length is not None or self._ends_there(trainer, len(theirs))
            (fitting if is_whole else cut).update(replace(recipe, ties=tie) for tie in left)
        hypotheses_fitting, too_long = (
            [each for each, some in mistakes.items() if not those.isdisjoint(some)] for those in (fitting, cut)
        )
        return [(*each, length) if length is not None else each for each in hypotheses_fitting], too_long

    def _words_work(self, recipe: Recipe) -> Work[Words]:
        """The words of a recipe; of several recipes with the same words, the same object."""
        if (kept := self._kept.get(recipe.of_words)) is not None:
            return kept
        counted = yield from count_words_work(self._texts, self._settings.special_tokens, recipe)
        seen = self._seen[recipe.of_words] = hash((recipe.characters, tuple(counted.items())))
        own = self._settings.recipe.of_words
        if own in self._kept and seen == self._seen[own]:
            words = self._kept[recipe.of_words] = self._kept[own]
            return words
        words = yield from Words.of_work(counted, characters=recipe.characters)
        if not self._kept or self._kept_words + len(words.words) <= _MOST_KEPT:
            self._kept[recipe.of_words] = words
            self._kept_words += len(words.words)
        return words

    def _ends_there(self, trainer: NaiveTrainer, merges: int) -> bool:
        """Whether a training is complete after so many merges."""
        size = self._settings.vocabulary_size
        if size is None or trainer.best()[0] is None:
            return True
        base = len(trainer.tokens) - merges
        return merges + len(self._settings.special_tokens) in (size - BYTES, size - base)


@dataclass(frozen=True)
class _Beginning:
    """What earlier lists have told of a training: how many of its first merges are right, and the wrong one after them.

    The last is None where nothing was left to merge, or where it is not known, which `leaves` says.
    """

    right: int
    leaves: bool = False
    wrong: Merge | None = None

    def excludes(self, theirs: Sequence[Merge], place: int) -> bool:
        """Whether it cannot make a list that differs from the right one in that place first."""
        if place < self.right or not self.leaves:
            return place < min(self.right, len(theirs))
        return place > self.right or (place < len(theirs) and theirs[place] != self.wrong)


def _fits_work(
    theirs: Sequence[Merge],
    ours: Sequence[Merge],
    trainer: NaiveTrainer,
    ties: Sequence[Ties],
    known: dict[Ties, _Beginning],
) -> Work[Sequence[Ties]]:
    """The rules for ties by which a naive training gives a whole list; it stops at the first difference.

    Notes how the trainings begin, as long as the list is the right one.
    """
    is_right = True
    for done, merge in enumerate(theirs):
        pairs = [trainer.best(tie)[0] for tie in ties]
        merges = [None if pair is None else trainer.spell(pair) for pair in pairs]
        if is_right and done < len(ours):
            right, is_right = ours[done], merge == ours[done]
            for tie, made in zip(ties, merges, strict=True):
                if made != right:
                    known[tie] = _Beginning(done, True, made)
                elif not is_right:
                    known[tie] = _Beginning(done + 1)
        fits = [made == merge for made in merges]
        if True not in fits:
            return ()
        trainer.merge(cast("Pair", pairs[fits.index(True)]))
        ties = [tie for tie, fit in zip(ties, fits, strict=True) if fit]
        if done % _SOME == 0:
            yield Progress("trying mistakes")
    return ties


def _as(progress: Progress, work: Work[T]) -> Work[T]:
    """Does work that is a small part of another one, whose progress is reported."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value
        yield progress


def _first_difference(theirs: Sequence[Merge], ours: Sequence[Merge]) -> int | None:
    for place, (their, our) in enumerate(zip(theirs, ours, strict=False)):
        if their != our:
            return place
    return None if len(theirs) == len(ours) else min(len(theirs), len(ours))
