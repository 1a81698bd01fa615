"""Checks of trainings: every mistake is named by its own words, alone and in pairs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tests.core.teaching.students import GPT2, Merge, UpdatingStudent, as_characters, divided, recounting_student
from tokstudio import ConfigError, Corpus
from tokstudio.core.base.progress import finish
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.pretokenization.patterns import NAMES, REGEX
from tokstudio.core.teaching.check import Checker, CheckSettings
from tokstudio.core.teaching.exercise import SPECIAL_TOKENS, TEXT, VOCABULARY_SIZE
from tokstudio.core.teaching.hypotheses import hypotheses
from tokstudio.core.teaching.naive import NaiveTrainer, Recipe, Words, count_words_work
from tokstudio.core.teaching.submissions import Submission
from tokstudio.core.text.byte_level import to_characters

SETTINGS = CheckSettings(vocabulary_size=VOCABULARY_SIZE, special_tokens=SPECIAL_TOKENS)
MERGES = VOCABULARY_SIZE - 256 - 1
CORPUS = Corpus.from_texts([TEXT])
EVERY = hypotheses(SETTINGS.recipe, len(SPECIAL_TOKENS))
#: Of these, one splits our text as the other does.
SAME = {"pattern-llama3": {"pattern-llama3", "pattern-gpt4"}, "pattern-gpt4": {"pattern-llama3", "pattern-gpt4"}}


@pytest.fixture(scope="module")
def checker():
    return Checker(CORPUS, SETTINGS)


def naive(recipe, merges=MERGES, text=TEXT, specials=SPECIAL_TOKENS):
    words = finish(Words.of_work(finish(count_words_work([text], specials, recipe)), characters=recipe.characters))
    return [merge for merge, _ in zip(NaiveTrainer(words, recipe).merges(), range(merges), strict=False)]


def causes(checker, merges):
    check = finish(checker.check_work(merges))
    assert not check.identical
    return [tuple(each.key for each in cause) for cause in check.causes]


def named(checker, merges):
    """The mistakes of which each alone makes these merges."""
    return {key for (key,) in causes(checker, merges)}


@given(st.text("ab cé猫1 \n'", max_size=60), st.sampled_from(TIE_BREAKS), st.sampled_from(NAMES))
def test_without_a_mistake_the_naive_trainer_makes_the_merges_of_the_engine(text, tie_break, pattern):
    settings = CheckSettings(vocabulary_size=300, pattern=pattern, tie_break=tie_break)
    right = finish(Checker(Corpus.from_texts([text + "xy"]), settings).expected_work(0))
    assert naive(settings.recipe, 44, (text + "xy").encode(), ()) == right


def test_both_students_without_a_mistake_are_identical(checker):
    words = divided(TEXT)
    for merges in (recounting_student(words, MERGES), UpdatingStudent(words).train(MERGES)):
        check = finish(checker.check_work(merges))
        assert check.identical
        assert (check.merges, check.expected, check.causes) == (MERGES, MERGES, ())


def test_every_mistake_is_named_and_no_variant_makes_the_merges_of_another(checker):
    made, enough = defaultdict[tuple[Merge, ...], set[str]](set), 3 * MERGES // 4
    for mistake in EVERY:
        recounted = mistake.key in RECOUNTED  # those are named where a student makes them
        for _, recipe in mistake.recipes(SETTINGS.recipe):
            merges = naive(recipe, enough if recounted else MERGES)
            made[tuple(merges[:enough])].add(mistake.key)
        if not recounted:
            assert named(checker, merges) == SAME.get(mistake.key, {mistake.key})
    assert tuple(finish(checker.expected_work(enough))) not in made
    assert all(len(keys) == 1 or keys == SAME["pattern-gpt4"] for keys in made.values())


def lines_of(text, keep):
    return [part for line in text.split(b"\n") for part in divided(line + b"\n" * keep)]


def met(best):
    return lambda pairs: best(enumerate(pairs))[1]


def key(function):
    return partial(max, key=function)


WORDS = divided(TEXT)
PLAIN = TEXT.replace(b"<|endoftext|>", b"")
ASCII = GPT2.replace(r" ?\p{L}+", " ?[A-Za-z]+").replace(r" ?\p{N}+", " ?[0-9]+")
ASCII = ASCII.replace(r"\s\p{L}\p{N}]", r"\sA-Za-z0-9]")
TEXTS = TEXT.decode("utf-8", "surrogateescape")


def in_bytes(parts):
    return [part.encode("utf-8", "surrogateescape") for part in parts if part]


def between(mark, cut):
    """The parts of the text that a mark divides, each cut further."""
    return in_bytes(piece for part in re.split(mark, TEXTS) for piece in cut(part))


words_of = partial(regex.findall, GPT2)
RECOUNTED = {
    "ties-smallest": (WORDS, {"best": min}),
    "ties-first-met": (WORDS, {"best": met(min)}),
    "ties-last-met": (WORDS, {"best": met(max)}),
    "ties-joined-bytes": (WORDS, {"best": key(b"".join)}),
    "ties-mapped-strings": (WORDS, {"best": key(lambda pair: tuple(map(to_characters, pair)))}),
    "ties-longest": (WORDS, {"best": key(lambda pair: (len(b"".join(pair)), pair))}),
    "ties-decoded": (WORDS, {"best": key(lambda pair: tuple(part.decode("utf-8", "replace") for part in pair))}),
    "characters": (WORDS, {"units": as_characters}),
    "words-once": (WORDS, {"once": True}),
    "first-place-only": (WORDS, {"first_only": True}),
    "lower-case": (divided(TEXTS.lower().encode("utf-8", "surrogateescape")), {}),
    "split-spaces": (between(r"<\|endoftext\|>", lambda part: part.split(" ")), {}),
    "str-split": (between(r"<\|endoftext\|>", str.split), {}),
    "lines": (lines_of(TEXT, False), {}),
    "lines-with-ends": (lines_of(TEXT, True), {}),
    "strip": ([part for line in TEXT.split(b"\n") for part in divided(line.strip())], {}),
    "pattern-gpt4": (divided(TEXT, pattern=REGEX["cl100k"]), {}),
    "ascii-letters": (divided(TEXT, pattern=ASCII), {}),
    "word-class": (divided(TEXT, pattern=r"\w+|[^\w\s]+"), {}),
    "no-look-ahead": (divided(TEXT, pattern=GPT2.replace(r"|\s+(?!\S)", "")), {}),
    "specials-left": (divided(TEXT, specials=()), {}),
    "specials-joined": (divided(PLAIN), {}),
    "specials-unescaped": (between("<|endoftext|>", words_of), {}),
    "endoftext-pieces": (between(r"(<\|endoftext\|>)", words_of), {}),
    "crlf": (divided(TEXT.replace(b"\r\n", b"\n")), {}),
    "crlf, the other way": (divided(TEXT.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")), {}),
    "replacement": (divided(TEXT.decode("utf-8", "replace").encode()), {}),
}


@pytest.mark.parametrize("name", RECOUNTED)
def test_a_mistake_in_a_training_that_recounts_is_named(checker, name):
    words, mistake = RECOUNTED[name]
    key = name.split(",")[0]
    assert named(checker, recounting_student(words, MERGES, **mistake)) == SAME.get(key, {key})


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("old-neighbours", {"subtracts": False}),
        ("new-neighbours", {"adds": False}),
        ("first-place-only", {"first_only": True}),
        ("ties-smallest", {"best": min}),
        ("ties-first-met", {"best": met(min)}),
        ("ties-last-met", {"best": met(max)}),
    ],
)
def test_a_mistake_in_a_training_that_updates_counts_is_named(checker, name, mistake):
    assert named(checker, UpdatingStudent(WORDS, **mistake).train(MERGES)) == {name}


@pytest.mark.parametrize("best", ["lowest", "highest"])
def test_ties_by_ids_are_named(checker, best):
    order = {bytes([byte]): byte for byte in range(256)}

    def choose(pairs):
        for pair in pairs:
            assert all(part in order for part in pair)
        chosen = (min if best == "lowest" else max)(pairs, key=lambda pair: [order[part] for part in pair])
        order.setdefault(b"".join(chosen), len(order))
        return chosen

    assert causes(checker, recounting_student(WORDS, MERGES, best=choose)) == [(f"ties-{best}-ids",)]


def test_two_mistakes_together_are_named():
    text = TEXT[200:300]  # every pair of mistakes is tried
    checker = Checker(Corpus.from_texts([text]), replace(SETTINGS, vocabulary_size=256 + 1 + 30))
    merges = naive(Recipe(characters=True, specials="left"), 30, text)
    assert [set(cause) for cause in causes(checker, merges)] == [{"characters", "specials-left"}]


def test_a_short_list_is_named_alone_and_with_another_mistake_and_a_long_one_alone():
    text = TEXT * 2 + b" more of other words to learn: quick brown foxes jump over lazy dogs"
    settings = CheckSettings(vocabulary_size=256 + 2 + 20, special_tokens=("<|endoftext|>", "<|pad|>"))
    corpus = Corpus.from_texts([text])
    right = naive(settings.recipe, 278, text, settings.special_tokens)
    checker = Checker(corpus, settings)
    for merges, key in ((right[:22], "long-by-specials"), (right[:276], "long-by-256"), (right, "long-by-256")):
        assert causes(checker, merges) == [(key,)]
    checker = Checker(corpus, replace(settings, vocabulary_size=256 + 2 + 300))
    right = finish(checker.expected_work(0))
    assert len(right) == 300
    assert causes(checker, right[:44]) == [("short-by-256",)]
    assert causes(checker, right[:298]) == [("short-by-specials",)]
    wrong = naive(Recipe(ties="smallest"), 298, text, settings.special_tokens)
    assert causes(checker, wrong) == [("ties-smallest", "short-by-specials")]


def test_a_list_that_ends_elsewhere_is_named_alone_and_with_another_mistake():
    text = TEXT[60:160]
    settings = CheckSettings(vocabulary_size=256 + 1 + 20, special_tokens=SPECIAL_TOKENS)
    checker = Checker(Corpus.from_texts([text]), settings)
    right, smallest = (naive(recipe, text=text) for recipe in (settings.recipe, Recipe(ties="smallest")))
    leaves = next(place for place, (a, b) in enumerate(zip(right, smallest, strict=False)) if a != b)
    # What this list tells of the beginnings of both trainings must not exclude them in the next checks.
    assert causes(checker, [*right[: leaves - 1], (b"x", b"y"), *right[leaves:21]]) == []
    assert causes(checker, right[: leaves - 1]) == [("ends-early",)]
    assert causes(checker, smallest[:20]) == [("ties-smallest",)]
    for size, ends in ((15, "ends-early"), (25, "ends-late")):
        assert causes(checker, right[:size]) == [(ends,)]
        assert causes(checker, smallest[:size]) == [("ties-smallest", ends)]


def test_characters_that_are_fewer_than_bytes_explain_a_longer_list_with_another_mistake():
    text = " ".join(f"w{number * number}" for number in range(200))
    settings = CheckSettings(vocabulary_size=256 + 20)
    checker = Checker(Corpus.from_texts([text]), settings)
    longer = 20 + 256 - len(set(text))
    for ties, wanted in (("bytes", set()), ("last-met", {"ties-last-met"})):
        merges = naive(Recipe(characters=True, ties=ties), longer, text.encode(), ())
        assert len(merges) == longer
        found = causes(checker, merges)
        assert {"characters", *wanted} in map(set, found)
        assert not any("ends-late" in cause for cause in found)


@pytest.mark.parametrize(
    ("pattern", "specials"),
    [
        (r"[^\s\p{L}\p{N}]+|\p{L}+|\p{N}{1,3}|\s", ("[PAD", "(a+)+$")),
        # With letters of ASCII alone, this one takes for ever.
        (r"(?:(?:[a-z]|\p{L})+)+(?![^\s])|[\s\S]", ()),
        # Without its last class, this one is no expression.
        (r"[\p{L}--[é]]+|[\s\S]", ("a|b",)),
    ],
)
def test_what_a_mistake_makes_of_a_persons_expression_raises_nothing_and_ends(monkeypatch, pattern, specials):
    monkeypatch.setattr("tokstudio.core.teaching.naive._SECONDS", 0.05)
    text = "the cat sat " * 30 + "a" * 40 + "é 12 " + "b" * 40 + "é "
    checker = Checker(Corpus.from_texts([text]), CheckSettings(pattern=pattern, special_tokens=specials))
    right = finish(checker.expected_work(10))
    assert causes(checker, [(b"x", b"y"), *right[1:]]) == []


def test_of_several_readings_the_one_that_shares_most_with_the_right_list_is_checked(checker):
    merges = naive(Recipe(words_once=True))
    shifted = tuple((right, left) for left, right in merges)
    for readings in ((shifted, tuple(merges)), (tuple(merges), shifted)):
        check = finish(checker.check_submission_work(Submission("anna.txt", Path("anna.txt"), readings)))
        assert [[each.key for each in cause] for cause in check.causes] == [["words-once"]]


def test_words_are_counted_in_pieces_so_that_a_check_can_be_cancelled():
    text = b"".join(b" w%d" % number for number in range(30_000))
    settings = CheckSettings(pattern="whitespace")
    for pattern in ("whitespace", r"\S+|\s", "str.split"):
        work = count_words_work([text], (), Recipe(pattern=pattern))
        assert [progress.phase for progress in work][:7] == ["counting words"] * 7
    words = finish(count_words_work([text], (), settings.recipe))
    assert len(words) == 30_000
    assert [progress.done for progress in Words.of_work(words, characters=False)] == list(range(0, 30_000, 4096))


def test_two_exchanged_merges_are_named(checker):
    right = finish(checker.expected_work(MERGES))
    exchanged = [*right[:40], right[41], right[40], *right[42:]]
    check = finish(checker.check_work(exchanged))
    assert [[each.key for each in cause] for cause in check.causes] == [["swapped"]]
    assert check.difference.place == 41
    assert (check.difference.theirs, check.difference.ours) == (right[41], right[40])


def test_the_first_difference_has_both_counts_and_the_number_of_ties():
    checker = Checker(Corpus.from_texts(["ab ab cd cd xyz"]), CheckSettings(vocabulary_size=259))
    assert finish(checker.expected_work(0)) == [(b"c", b"d"), (b"a", b"b"), (b" ", b"cd")]
    check = finish(checker.check_work([(b"c", b"d"), (b"y", b"z"), (b"a", b"b")]))
    assert check.difference is not None
    assert (check.difference.place, check.difference.counts, check.difference.tied) == (2, (1, 2), 2)
    assert (check.difference.theirs, check.difference.ours) == ((b"y", b"z"), (b"a", b"b"))
    assert check.causes == ()
    # Lists that go on or end early differ at their ends.
    checker = Checker(Corpus.from_texts(["ab ab"]), CheckSettings(vocabulary_size=300))
    right = finish(checker.expected_work(0))
    assert right == [(b"a", b"b"), (b" ", b"ab")]
    longer = finish(checker.check_work([*right, (b"x", b"y")])).difference
    assert (longer.place, longer.theirs, longer.ours, longer.counts) == (3, (b"x", b"y"), None, (0, 0))
    shorter = finish(checker.check_work(right[:1])).difference
    assert (shorter.place, shorter.theirs, shorter.ours, shorter.counts) == (2, None, (b" ", b"ab"), (0, 1))


def test_on_a_text_that_cannot_tell_two_mistakes_apart_both_are_named():
    checker = Checker(Corpus.from_texts(["ba ba ca ca"]), CheckSettings(vocabulary_size=257))
    assert {key for (key,) in causes(checker, [(b" ", b"c")])} >= {"ties-smallest", "ties-lowest-ids"}


def test_without_a_size_as_many_merges_are_expected_as_there_are():
    checker = Checker(Corpus.from_texts([TEXT[60:160]]), CheckSettings(special_tokens=SPECIAL_TOKENS))
    right = finish(checker.expected_work(40))
    for size in (10, 40, 30):
        assert finish(checker.check_work(right[:size])).identical
    assert not finish(checker.check_work([(right, left) for left, right in right])).identical
    with pytest.raises(ConfigError, match="Vocabulary size"):
        Checker(CORPUS, CheckSettings(vocabulary_size=100))


class MovingStudent:
    """Keeps words in a dictionary, in which a changed word comes last, and a heap, of which old entries may be used."""

    def __init__(self, words):
        self.words = Counter(tuple(bytes([byte]) for byte in word) for word in words)
        self.counts = Counter()
        for word, times in self.words.items():
            for pair in pairwise(word):
                self.counts[pair] += times

    def merge(self, pair):
        before = Counter(self.counts)
        for word in [word for word in self.words if pair in pairwise(word)]:
            times = self.words.pop(word)
            parts, joined = list(word), []
            while parts:
                two = tuple(parts[:2]) == pair
                joined.append(b"".join(parts[: 1 + two]))
                del parts[: 1 + two]
            for old in pairwise(word):
                self.counts[old] -= times
            for new in pairwise(joined):
                self.counts[new] += times
            self.words[tuple(joined)] = times
        del self.counts[pair]
        return [changed for changed in self.counts if self.counts[changed] != before[changed]]

    def first_of_the_dictionary(self, merges):
        for _ in range(merges):
            pair = max(self.counts, key=self.counts.__getitem__)
            yield pair
            self.merge(pair)

    def with_old_entries(self, merges):
        heap = [(times, pair) for pair, times in self.counts.items()]
        while merges:
            heap.remove(best := max(heap))
            if self.counts[best[1]] > 0:
                yield best[1]
                merges -= 1
                heap += [(self.counts[pair], pair) for pair in self.merge(best[1]) if self.counts[pair] > 0]


def test_the_first_pair_of_a_dictionary_whose_words_move_is_named(checker):
    assert causes(checker, list(MovingStudent(WORDS).first_of_the_dictionary(MERGES))) == [("ties-first-met",)]
    # Old entries of its heap are named as well.
    assert causes(checker, list(MovingStudent(WORDS).with_old_entries(MERGES))) == [("old-neighbours",)]


@pytest.mark.parametrize(
    ("text", "key"),
    [(TEXT.decode("latin-1"), "replacement"), (TEXTS.casefold(), "lower-case")],
)
def test_a_text_that_was_read_otherwise_is_named(checker, text, key):
    words = divided(text.encode("utf-8", "surrogateescape"))
    assert causes(checker, recounting_student(words, MERGES)) == [(key,)]


def test_a_file_that_was_opened_as_text_is_named_with_another_mistake():
    text = b"caf\xe9 caf\xe9 th\xe9 th\xe9\r\nA coat\r\nThe lamp and the coat, a tailor\r\n"  # all triples are tried
    words = divided(re.sub("\r\n?", "\n", text.decode("utf-8", "replace")).encode())
    checker = Checker(Corpus.from_texts([text]), replace(SETTINGS, vocabulary_size=256 + 1 + 20))
    (cause,) = causes(checker, recounting_student(words, 20, best=min))
    assert set(cause) == {"crlf", "replacement", "ties-smallest"}
