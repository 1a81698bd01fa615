"""Data sets divided by a column train as the undivided text, in whatever order their parts are counted.

What is right comes from the slow recount of the rows in the order of the file.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import math
import random
from collections import Counter
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.core.reference import named_pattern, pre_tokens, train_slowly
from tokstudio import ConfigError, Corpus, CorpusError, Trainer, TrainingConfig, WordCounts, count, extend, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.open_sources import content_work
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.folders import Entry
from tokstudio.core.corpus.source import CountedWith, Source, entries
from tokstudio.core.library_training.train import lines_work
from tokstudio.core.model.algorithms import TIE_BREAKS, Picky, SuperBPE
from tokstudio.core.pretokenization import count_words, word_table
from tokstudio.core.pretokenization.count_words import Counting, numbers_of_parts
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.teaching.check import Checker, CheckSettings
from tokstudio.core.tokenizer.tokenizer import Tokenizer

LANGUAGES = ("de", "en", "ru")
ROUTES = ("threads", "spilled", "counts", "cluster", "undivided")
SPECIAL = "ab"

# Words with many ties, and what the edges of words and of characters try.
WORDS = ("ab", "ba", "cab", "bc", "ac", "ea", "é", "日本", "it's", "12", "\n", "\0", "\ufffd", "😀")
# Hypothesis prefers small values, where hardly any order decides: so that it gives a seed.
seeds = st.integers(0, (1 << 32) - 1).map(random.Random)


def some_rows(order, least=1) -> list[tuple[str, str]]:
    texts = (" ".join(order.choices(WORDS, k=order.randint(least > 1, 6))) for _ in range(order.randint(least, 30)))
    return [(order.choice(LANGUAGES), text) for text in texts]


def json_lines(rows) -> bytes:
    return "".join(json.dumps({"lang": language, "text": text}) + "\n" for language, text in rows).encode()


def read(rows, split_by="lang", name="rows.jsonl") -> Corpus:
    """The rows as a data set, divided by the reader itself."""
    reading = Reading(field="text", split_by=split_by)
    content = np.frombuffer(json_lines(rows), np.uint8)
    return Corpus(finish(content_work(content, name, "file", None, reading)))


def weighted(corpus: Corpus, weights) -> Corpus:
    if weights is None:
        return corpus
    return corpus.weighted([1_000 * weights[source.name.rpartition(": ")[2]] for source in corpus.sources])


class ShuffledThreads:
    """Gives each chunk to any of some threads, as if these were arbitrarily fast."""

    def __init__(self, order, threads: int) -> None:
        self._order, self._locals = order, [SimpleNamespace() for _ in range(threads)]

    def submit(self, count, chunk):
        # A counter belongs to a thread.
        count.__self__._local = self._order.choice(self._locals)
        count(chunk)
        done = Future()
        done.set_result(None)
        return done

    def shutdown(self, **_) -> None:
        pass


@contextmanager
def small_chunks(order, size=7):
    """Counts in chunks of some bytes, which arrive in any order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(count_words, "CHUNK", size)
        patch.setattr(count_words, "ThreadPoolExecutor", lambda number: ShuffledThreads(order, number))
        yield patch


def trained(corpus: Corpus, config: TrainingConfig, order, route="threads"):
    # What is spilled is written into a file for each partition of each chunk.
    with small_chunks(order, 150 if route == "spilled" else 7) as patch:
        if route == "spilled":
            patch.setattr(count_words, "MOST_OF_FREE", 1e-9)
            patch.setattr(word_table, "PARTITIONS", 3)
        trainer = Trainer(corpus, config, threads=4)
        list(trainer)
    return trainer.run


def counted(corpus: Corpus, config: TrainingConfig, order, folder) -> Corpus:
    """The corpus as a file of counts, counted in any order."""
    with small_chunks(order):
        made = count(corpus, config.pattern, config.special_tokens, threads=4)
    return Corpus.from_counts(made.save(folder / "counts.parquet"))


def counted_on_cluster(rows, config: TrainingConfig, order, folder) -> Corpus:
    """Several files, each counted by a task of its own."""
    counting = Counting(CountedWith(config.pattern, config.special_tokens), Reading(field="text", split_by="lang"))
    size, parts = order.randint(1, len(rows)), []
    for first in range(0, len(rows), size):
        here = rows[first : first + size]
        if any(text for _, text in here):
            file = folder / f"{first}.jsonl"
            file.write_bytes(json_lines(here))
            parts.append(finish(counting.count_work([Entry(file)])))
    return Corpus.from_counts(merged(parts, order, order.randint(1, 40)).save(folder / "counts.parquet"))


def merged(parts, order, partitions):
    """The table of adjacent parts of a corpus, joined partition by partition in any order."""
    numbers = numbers_of_parts([(part.sources, part.counts.files) for part in parts])
    tables = [part.counts.renumbered(*where).divided(partitions) for part, where in zip(parts, numbers, strict=True)]
    order.shuffle(tables)
    joined = list(map(WordCounts.merge, zip(*tables, strict=True)))
    order.shuffle(joined)
    return replace(WordCounts.merge(joined), totals=joined[0].totals, cut_out=joined[0].cut_out)  # each has all of them


def recounted(rows, config: TrainingConfig, weights):
    """The right merges, counts and tokens: rows in the order of the file, each as often as its weight."""
    times = {language: 1 if weights is None else weights[language] for language in LANGUAGES}
    used = [(text.encode(), times[language]) for language, text in rows if text and times[language]]
    if config.held_out:
        share = config.held_out
        used = [row for i, row in enumerate(used) if math.floor((i + 1) * share) == math.floor(i * share)]
    words = Counter[bytes]()
    for text, weight in used:
        for piece in text.split(SPECIAL.encode()) if config.special_tokens else [text]:
            for word in pre_tokens(piece, named_pattern(config.pattern)) if config.pattern != "none" else [piece]:
                words[word] += weight
    limits = {"vocabulary_size": config.vocabulary_size, "min_frequency": config.min_frequency}
    if limits["vocabulary_size"] is not None:
        limits["vocabulary_size"] -= len(config.special_tokens)
    slow = train_slowly(list(words), **limits, tie_break=config.tie_break, weights=list(words.values()))
    return slow.merges, slow.counts, slow.tokens_after


def result(run):
    return [tuple(pair) for pair in run.merges.tolist()], run.counts.tolist(), run.tokens_after.tolist()


@pytest.mark.parametrize("route", ROUTES)
@settings(phases=[Phase.generate], max_examples=8)
@given(seeds)
def test_a_divided_data_set_trains_as_the_recount_of_its_rows(tmp_path_factory, route, order):
    rows, weights = some_rows(order), None
    if route != "undivided" and order.random() < 0.4:
        weights = {language: order.randint(0, 3) for language in LANGUAGES}
    if not any(text and (weights is None or weights[language]) for language, text in rows):
        return
    patterns = ["gpt2", "cl100k"] if route in ("counts", "cluster") else ["gpt2", "cl100k", "none"]
    config = TrainingConfig(
        pattern=order.choice(patterns),
        tie_break=order.choice(["first"] * 4 + list(TIE_BREAKS)),
        special_tokens=order.choice([[], [SPECIAL]]),
        **order.choice([{"vocabulary_size": 275}, {"min_frequency": 2}]),
    )
    if route in ("counts", "cluster"):
        folder = tmp_path_factory.mktemp(route)
        count_rows = counted_on_cluster if route == "cluster" else lambda rows, *rest: counted(read(rows), *rest)
        used = [text for language, text in rows if weights is None or weights[language]]
        if config.special_tokens and not any(text.replace(SPECIAL, "") for text in used):
            # A table has no row for a text of special tokens alone.
            with pytest.raises(CorpusError, match=r"no word counts|weights of all sources are 0"):
                trained(weighted(count_rows(rows, config, order, folder), weights), config, order, route)
            return
        corpus = count_rows(rows, config, order, folder)
    else:
        corpus = read(rows, None if route == "undivided" else "lang")
    run = trained(weighted(corpus, weights), config, order, route)
    assert result(run) == recounted(rows, config, weights)


@pytest.mark.parametrize("divides", [True, False])
@settings(phases=[Phase.generate], max_examples=10)
@given(seeds)
def test_a_divided_data_set_holds_out_the_same_rows(divides, order):
    rows, pattern = some_rows(order, least=20), order.choice(["gpt2", "none"])
    config = TrainingConfig(min_frequency=2, pattern=pattern, held_out=order.choice([0.1, 0.25, 0.5]))
    run = trained(read(rows, "lang" if divides else None), config, order, order.choice(["threads", "spilled"]))
    assert result(run) == recounted(rows, config, None)


ALGORITHMS = {
    "bpe": {},
    "characters": {"base": "characters"},
    "whole characters": {"algorithm": "whole-characters"},
    "picky": {"algorithm": Picky(threshold=0.3)},
    "SuperBPE": {"algorithm": SuperBPE(transition=290)},
    "BoundlessBPE": {"algorithm": "boundless"},
    "a custom expression": {"pattern": r"\w+|\W"},
    "no pattern": {"pattern": "none"},
    "characters without a pattern": {"base": "characters", "pattern": "none"},
}
SENTENCES = {
    "de": ["der Hund und die Katze", "die Katze saß auf dem Hut", "der Hut und der Hund"],
    "en": ["the cat and the hat", "a dog sat on the hat", "the dog and the hat"],
    "ru": ["кот и шляпа", "пёс и кот на шляпе", "шляпа и пёс"],
}


def sentences(number=60):
    return [(language, SENTENCES[language][at % 3] + f" {at % 7}") for at in range(number) for language in LANGUAGES]


@pytest.mark.parametrize("held_out", [0.0, 0.2])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_trains_on_a_divided_data_set_as_on_the_undivided(name, held_out, request):
    order = np.random.default_rng(len(name))
    shuffle = SimpleNamespace(choice=lambda given: given[order.integers(len(given))])
    config = TrainingConfig(**{"vocabulary_size": 330, "pattern": "gpt2", "held_out": held_out, **ALGORITHMS[name]})
    if config.base == "characters":
        config = replace(config, vocabulary_size=80)
    rows = sentences()[7:]
    whole = train(read(rows, None), config).run
    divided = trained(read(rows), config, shuffle)
    assert result(divided) == result(whole)
    assert divided.base_counts.tolist() == whole.base_counts.tolist()
    assert divided.alphabet == whole.alphabet or divided.alphabet.units.tolist() == whole.alphabet.units.tolist()


def test_text_that_a_tokenizer_makes_longer_keeps_its_order():
    """Each row gets a space at its beginning."""
    plain = train(Corpus.from_texts(["the cat and the hat"] * 3), TrainingConfig(vocabulary_size=260, pattern="gpt2"))
    start = Tokenizer(plain.merges, pattern="gpt2").changed(preparation=Preparation(prefix_space=True))
    config = TrainingConfig(vocabulary_size=330, pattern="gpt2")
    rows = [(language, text) for language, text in sentences(9) for text in (text, "xy", "yz", "zx")]
    both = [extend(start, read(rows, split_by), config).run for split_by in (None, "lang")]
    assert result(both[0]) == result(both[1])


def test_text_that_becomes_valid_keeps_its_order():
    """Bytes that are not UTF-8 become U+FFFD, which is longer; the words after them keep their order."""
    texts = [b"\xff" * 9 + b" ab", b" cd ab", b"\xff" * 9 + b" dc", b" cd ba"] * 3
    whole = Source.from_texts(texts, "rows")
    begins = whole.ends - np.diff(whole.ends, prepend=0)
    parts = [replace(Source.from_texts(texts[at::2], f"rows: {at}"), places=begins[at::2]) for at in (1, 0)]
    for pattern in ("gpt2", "none"):
        config = TrainingConfig(min_frequency=2, base="characters", pattern=pattern)
        assert result(train(Corpus(tuple(parts)), config).run) == result(train(Corpus((whole,)), config).run)


def test_a_character_that_is_missing_is_shown_in_its_own_row():
    config = TrainingConfig(vocabulary_size=40, base="characters", base_vocabulary=list("abcdefgh "))
    with pytest.raises(CorpusError, match=r'"x".* it occurs in "bad xe"'):
        train(read([("ru", "a cab"), ("de", "bad xe"), ("ru", "a bee"), ("en", "a dad")]), config)


def test_a_group_of_many_parts_is_one_source_that_keeps_the_order():
    """As in an archive of more than 64 texts, whose parts are one source of the table."""
    rows = sentences()
    config = TrainingConfig(vocabulary_size=330, pattern="gpt2")
    parts = [replace(source, group="many") for source in reversed(read(rows).sources)]
    grouped = Corpus((*parts, Source.from_texts("the end"))).with_weights({"many": 2})
    whole = Corpus((*read(rows, None).sources, Source.from_texts("the end"))).with_weights({0: 2})
    assert result(train(grouped, config).run) == result(train(whole, config).run)


def test_a_text_given_twice_is_two_texts():
    rows = sentences(9)
    config = TrainingConfig(min_frequency=2, pattern="none", held_out=0.2)
    divided, whole = read(rows).sources * 2, read(rows, None).sources * 2
    assert result(train(Corpus(divided), config).run) == result(train(Corpus(whole), config).run)


@pytest.mark.parametrize("times", [(1, 1, 1), (2, 2, 2), (2, 0, 1)])
def test_another_library_is_given_the_lines_in_their_order(times):
    rows = [(language, f"{text}\n\n{number}") for number, (language, text) in enumerate(sentences(4))]
    weights = dict(zip(LANGUAGES, times, strict=True))
    made = b"".join(piece for piece, _ in finish(lines_work(weighted(read(rows), weights), 0.0)).pieces())
    expected = [
        line for time in range(max(times)) for language, text in rows if weights[language] > time
        for line in text.split("\n")
    ]  # fmt: skip
    assert made.decode().split("\n")[:-1] == expected


def test_a_training_is_checked_on_the_rows_in_their_order():
    rows = sentences()[1:]
    first = CheckSettings(tie_break="first")
    whole, divided = (finish(Checker(read(rows, by), first).expected_work(90)) for by in (None, "lang"))
    assert divided == whole


# ---- joined by value


@pytest.fixture
def two_files(tmp_path):
    """Two files of the same languages, as paths, and their rows."""
    parts = sentences(8)[2:], sentences(9)[4:]
    for name, rows in zip("ab", parts, strict=True):
        (tmp_path / f"{name}.jsonl").write_bytes(json_lines(rows))
    return [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], [*parts[0], *parts[1]]


def test_two_files_of_three_languages_are_three_sources_that_keep_the_order(two_files):
    files, rows = two_files
    corpus = Corpus.from_files(files, split_by="lang", join_values=True)
    assert entries(corpus.sources) == [("ru", 0), ("de", 1), ("en", 2), ("en", 2), ("ru", 0), ("de", 1)]
    assert [source.path for source in corpus.sources] == [file for file in files for _ in LANGUAGES]
    config = TrainingConfig(vocabulary_size=320, pattern="gpt2")
    assert result(train(corpus, config).run) == recounted(rows, config, None)
    weights = {"de": 2, "en": 0, "ru": 3}
    assert result(train(corpus.with_weights(weights), config).run) == recounted(rows, config, weights)
    assert corpus.with_weights({1: 2}).multipliers == (1, 2, 1)
    apart = Corpus.from_files(files, split_by="lang")
    assert len(set(entries(apart.sources))) == 6
    assert apart.with_weights(weights).weights == corpus.with_weights(weights).weights
    with pytest.raises(ConfigError, match=r'"a\.jsonl" has only parts of its sources, joined by value: name a value'):
        corpus.with_weights({"a.jsonl": 2})
    with pytest.raises(ConfigError, match=r'no source "fr"\. The corpus has: "ru", "de", "en"'):
        corpus.with_weights({"fr": 2})


def test_joined_sources_are_counted_and_joined_as_one_in_a_table(two_files, tmp_path):
    files, rows = two_files
    corpus = Corpus.from_files(files, split_by="lang", join_values=True)
    whole = count(corpus, "gpt2")
    assert [total.name for total in whole.totals] == ["ru", "de", "en"]
    assert sum(total.documents for total in whole.totals) == len(rows)
    counting = Counting(CountedWith("gpt2"), Reading(field="text", split_by="lang", join_values=True))
    parts = [finish(counting.count_work([file])) for file in files]
    joined = merged(parts, random.Random(1), 3)
    written = [table.save(tmp_path / f"{number}.parquet").read_bytes() for number, table in enumerate((whole, joined))]
    assert written[0] == written[1]
    config, weights = TrainingConfig(min_frequency=2, pattern="gpt2"), {"ru": 3, "en": 0}
    run = train(Corpus.from_counts(tmp_path / "0.parquet").with_weights(weights), config).run
    assert result(run) == recounted(rows, config, {"de": 1, **weights})
