"""Counted words as a table: by source, from shards, in a file, and with weights."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import json
import os
import random
import tempfile
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.texts import documents, few_examples
from tokstudio import ConfigError, Corpus, CorpusError, Trainer, TrainingConfig, WordCounts, count, count_shard, train
from tokstudio.core.algorithms.common.prepare_corpus import count_text_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus import counts_file
from tokstudio.core.corpus.counts_file import RowBlock, no_rows, write_counted_blocks_work
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.pretokenization import count_words, word_table
from tokstudio.core.pretokenization.word_counts import sorted_rows
from tokstudio.core.pretokenization.word_table import Spill

GPT2 = TrainingConfig(vocabulary_size=275, pattern="gpt2")


def corpus_of(*texts: str | list[str]) -> Corpus:
    return Corpus(tuple(Source.from_texts(text, f"{number}.txt") for number, text in enumerate(texts)))


def rows_of(counts: WordCounts) -> list[tuple[bytes, int, int, int]]:
    words = [word.tobytes() for word in np.split(counts.data[: counts.ends[-1]], counts.ends[:-1])]
    columns = zip(
        counts.words.tolist(), counts.sources.tolist(), counts.counts.tolist(), counts.firsts.tolist(), strict=True
    )
    return [(words[word], source, number, first) for word, source, number, first in columns]


def same(one: Corpus, other: Corpus, config: TrainingConfig) -> bool:
    first, second = train(one, config).run, train(other, config).run
    return first.merges.tolist() == second.merges.tolist() and first.counts.tolist() == second.counts.tolist()


TEXTS = ("the cat and the hat", "a hat, a cat and a dog", "und der Hund and the dog")


@few_examples
@given(st.lists(documents, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_shards_counted_in_any_order_give_the_table_of_one_pass(parts, order):
    sources = [Source.from_texts(texts, f"{number}.txt") for number, texts in enumerate(parts)]
    shards = [count_shard(source, "gpt2", number=n, file=n) for n, source in enumerate(sources)]
    whole = count(Corpus(tuple(sources)), "gpt2")
    order.shuffle(shards)
    joined = WordCounts.merge([WordCounts.merge(shards[:1]), *shards[1:]])
    assert joined.totals == whole.totals
    if len(whole):
        assert rows_of(joined) == rows_of(whole)


@few_examples
@given(
    st.lists(documents, min_size=1, max_size=4),
    st.integers(1, 12),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_partitions_merged_in_any_order_are_the_table_without_the_words_that_are_rare_in_all(
    parts, partitions, least, order
):
    """A word is rare by its uses in all parts, never by those in one."""
    sources = [Source.from_texts(texts, f"{number}.txt") for number, texts in enumerate(parts)]
    whole = count(Corpus(tuple(sources)), "gpt2")
    tables = [count_shard(one, "gpt2", number=n, file=n).divided(partitions) for n, one in enumerate(sources)]
    order.shuffle(tables)
    merged = [WordCounts.merge(same_words).at_least(least) for same_words in zip(*tables, strict=True)]
    words = [{word for word, *_ in rows_of(one)} for one in merged if len(one)]
    assert sum(map(len, words)) == len(set().union(*words)), "a word is in one partition"
    places = sorted(order.sample([*range(100), *whole.firsts.tolist()], 3))
    order.shuffle(merged)
    found = RowBlock.joined(
        [
            sorted_rows([part.between(*places) for part in merged])
            for places in pairwise([0, *places, np.iinfo(np.int64).max])
        ]
    )
    uses = Counter()
    for word, _, number, _ in rows_of(whole) if len(whole) else []:
        uses[word] += number
    assert block_rows(found) == [row for row in (rows_of(whole) if len(whole) else []) if uses[row[0]] >= least]
    assert {one.facts.totals for one in merged} == {whole.totals}


def block_rows(block):
    """The rows of a block, as `rows_of` gives them."""
    text, ends = block.text.tobytes(), [0, *block.ends.tolist()]
    words = [text[start:end] for start, end in pairwise(ends)]
    return list(zip(words, block.sources.tolist(), block.counts.tolist(), block.firsts.tolist(), strict=True))


@pytest.mark.parametrize("group", [1, 7, 40])
def test_rows_that_come_in_blocks_make_the_same_file(group, tmp_path, monkeypatch):
    """In blocks of any size, between which is waited."""
    monkeypatch.setattr(counts_file, "ROWS", group)
    whole = count(corpus_of("the cat sat on the mat " * 3, "a hat on that cat " * 5, "日本 of the 12 cats"), "gpt2")
    order = random.Random(group)
    for _ in range(10):
        firsts = whole.firsts.tolist()
        borders = [0, *sorted(order.choices(firsts, k=order.randint(0, len(firsts)))), firsts[-1] + 1]
        blocks = [whole.between(*between) for between in pairwise(borders)]
        for _ in range(3):
            blocks.insert(order.randint(0, len(blocks)), no_rows())
        file = finish(write_counted_blocks_work(whole.facts, blocks, tmp_path / "blocks.parquet"))
        assert file.read_bytes() == whole.save(tmp_path / "whole.parquet").read_bytes()


@pytest.mark.parametrize(("threads", "pattern"), [(1, r"\w+|\W"), (3, "gpt2")])
def test_counts_that_do_not_fit_into_memory_give_the_same_table(request, monkeypatch, threads, pattern):
    lines = random.Random(4).choices([f"word{n} the " for n in range(60)], k=250)
    given = Corpus.from_counts({f" word{n}": n + 1 for n in range(700)})
    corpus = Corpus((*corpus_of("".join(lines), "".join(reversed(lines))).sources, *given.sources))
    whole = count(corpus, pattern, threads=1)
    place = request.getfixturevalue("spills")
    written, folders = [], []
    add, folder = Spill.add, word_table.TemporaryFolder

    def slow():  # all threads come to write while the folder is made
        folders.append(1)
        time.sleep(0.2)
        return folder()

    monkeypatch.setattr(word_table, "TemporaryFolder", slow)
    monkeypatch.setattr(Spill, "add", lambda *given: written.append(given) or add(*given))
    assert rows_of(count(corpus, pattern, threads=threads)) == rows_of(whole)
    assert len(written) > 3
    assert len(folders) == 1
    assert left_in(place) == []


def left_in(folder):
    return [path for path in folder.glob("*/*/*") if path.parent.name == "work"]


@pytest.fixture
def spills(tmp_path, monkeypatch):
    """Lets counts fit into no memory; the folder into which they are written."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(count_words, "CHUNK", 500)
    monkeypatch.setattr(count_words, "MOST_OF_FREE", 1e-9)
    return tmp_path


def test_the_counts_of_a_killed_process_are_removed_by_the_next(spills):
    work = count_text_work(corpus_of("some words " * 2_000), GPT2)
    while not [*spills.glob("*/*/*/*")]:
        next(work)
    (left,) = left_in(spills)
    assert left.stat().st_mode & 0o77 == 0
    # A process number that Linux never gives.
    left.rename(left.with_name(left.name.replace(f"-{os.getpid()}.", "-4194305.")))
    work.close()
    assert len(left_in(spills)) == 1
    count(corpus_of("a b"), "gpt2")
    assert left_in(spills) == []


def test_counts_are_removed_from_the_disk_when_it_is_full_or_the_work_is_closed(spills, monkeypatch):
    work = count_text_work(corpus_of("some words " * 2_000), GPT2)
    while not left_in(spills):
        next(work)
    work.close()
    assert left_in(spills) == []

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(CorpusError, match="do not fit into memory, and there is no space left on the disk"):
        count(corpus_of("a b", "b c"), "gpt2")
    assert left_in(spills) == []


def test_what_cannot_be_counted_or_joined_is_refused():
    with pytest.raises(ConfigError, match="choose a pattern, such as gpt2"):
        count(corpus_of("a b"), "none")
    one, other = (count_shard(source, "gpt2") for source in corpus_of("a b", "b c").sources)
    for tables, words in (
        ([one, other], "give each its own number of source and file"),
        ([one, count(corpus_of("a b"), "cl100k")], "different settings: count the texts again"),
        ([], "No word counts"),
    ):
        with pytest.raises(CorpusError, match=words):
            WordCounts.merge(tables)
    with pytest.raises(CorpusError, match="give each its own number of source and file"):
        sorted_rows([one.between(0, 9), other.between(0, 9)])


def test_a_table_has_a_row_for_each_word_and_source_in_the_order_of_places():
    """The files of a folder are one source; large folders of one name are different ones."""
    folder = Corpus(tuple(replace(source, group="folder") for source in corpus_of("a b", "b c").sources))
    counts = count(Corpus((*corpus_of("a b a").sources, *folder.sources)), "gpt2")
    file = 1 << 40
    assert rows_of(counts) == [
        (b"a", 0, 1, 0),
        (b" b", 0, 1, 1),
        (b" a", 0, 1, 3),
        (b"a", 1, 1, file),
        (b" b", 1, 1, file + 1),
        (b"b", 1, 1, 2 * file),
        (b" c", 1, 1, 2 * file + 1),
    ]
    assert [(total.name, total.bytes, total.documents) for total in counts.totals] == [
        ("0.txt", 5, 1),
        ("folder", 6, 2),
    ]
    assert counts.files == 3
    folders = [replace(source, group=f"d{number}/sh") for number, source in enumerate(corpus_of(*TEXTS).sources)]
    assert [total.name for total in count(Corpus(tuple(folders)), "gpt2").totals] == ["sh", "sh", "sh"]


# ---- the file


@few_examples
@given(documents, st.sampled_from(TIE_BREAKS), st.sampled_from(["gpt2", "cl100k"]))
def test_a_file_of_counts_trains_as_the_text(tmp_path_factory, texts, tie_break, pattern):
    corpus = corpus_of(texts, "the end of the corpus")
    file = count(corpus, pattern).save(tmp_path_factory.mktemp("counts") / "counts.parquet")
    config = TrainingConfig(min_frequency=2, pattern=pattern, tie_break=tie_break)
    assert same(Corpus.from_counts(file), corpus, config)
    more = corpus_of("and the end").sources  # beside texts, the order of both is kept
    assert same(Corpus((*Corpus.from_counts(file).sources, *more)), Corpus((*corpus.sources, *more)), config)


def test_a_file_of_counts_has_the_same_bytes_for_any_number_of_threads_and_shards(tmp_path, monkeypatch):
    monkeypatch.setattr("tokstudio.core.pretokenization.count_words.CHUNK", 50)
    lines = random.Random(3).choices(["the cat ", "a hat\n", "isn't 12 ", "dogs\n", "日本 "], k=400)
    corpus = corpus_of("".join(lines), "".join(reversed(lines)))
    whole = count(corpus, "gpt2", ["cat"], threads=1).save(tmp_path / "one.parquet")
    threads = count(corpus, "gpt2", ["cat"], threads=3).save(tmp_path / "three.parquet")
    shards = [count_shard(one, "gpt2", ["cat"], number=n, file=n) for n, one in enumerate(corpus.sources)]
    joined = WordCounts.merge(shards[::-1]).save(tmp_path / "joined.parquet")
    assert whole.read_bytes() == threads.read_bytes() == joined.read_bytes()


def test_each_word_of_a_file_of_counts_is_copied_once_whatever_the_number_of_sources(tmp_path, monkeypatch):
    corpus = corpus_of(*(f"{number % 7} words {number}" for number in range(200)))
    file = count(corpus, "gpt2").save(tmp_path / "counts.parquet")
    copied, repeat = [], np.repeat

    def counting(*given):
        copied.append(len(made := repeat(*given)))
        return made

    monkeypatch.setattr(np, "repeat", counting)
    made = Corpus.from_counts(file)
    assert sum(copied) == sum(len(source.data) for source in made.sources)
    words = [[bytes(word).decode() for word in Corpus((source,)).iter_documents()] for source in made.sources]
    assert words == [[str(number % 7), " words", f" {number}"] for number in range(200)]


def test_a_file_of_counts_keeps_its_settings_sources_and_totals(tmp_path):
    corpus = corpus_of("a<e>b <e>", "c d")
    file = count(corpus, "gpt2", ["<e>"], "line").save(tmp_path / "counts.parquet")
    facts = json.loads(pq.read_metadata(file).metadata[b"tokstudio"])
    assert (facts["pattern"], facts["special_tokens"], facts["documents"]) == ("gpt2", ["<e>"], "line")
    assert facts["cut_out"] == {"<e>": 2}
    assert facts["sources"] == [
        {"name": "0.txt", "bytes": 9, "documents": 1},
        {"name": "1.txt", "bytes": 3, "documents": 1},
    ]
    made = Corpus.from_counts(file)
    assert [source.name for source in made.sources] == ["0.txt", "1.txt"]
    assert made.sources[0].counted_with is not None
    assert made.sources[0].counted_with.documents == "line"
    # They are trained on with the settings that they were made with.
    with pytest.raises(ConfigError, match='with the pattern "gpt2": choose it, or count the texts again'):
        train(made, replace(GPT2, pattern="cl100k", special_tokens=["<e>"]))
    with pytest.raises(ConfigError, match='counted with "<e>": choose them'):
        train(made, GPT2)


METADATA = "these word counts are damaged: its metadata cannot be read"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda table: table.slice(0, 0), "has no word counts"),
        (lambda table: table.take([1, 0, *range(2, len(table))]), "its rows are not sorted"),
        (lambda table: table.slice(1), "not those that were counted"),
        (lambda table: table.set_column(2, "count", pa.array([0] * len(table))), "no positive number"),
        (lambda table: table.set_column(1, "source", pa.array([9] * len(table), pa.int32())), "does not exist"),
        (lambda table: table.drop_columns("first"), "columns are not"),
        (b"{}", METADATA),
        (b"[" * 100_000, METADATA),
        (b'{"kind": "word counts", "version": 1}', METADATA),
    ],
)
def test_a_damaged_table_of_counts_is_refused_in_one_sentence(tmp_path, change, fault):
    file = count(corpus_of(*TEXTS), "gpt2").save(tmp_path / "counts.parquet")
    table, metadata = pq.read_table(file), pq.read_metadata(file).metadata[b"tokstudio"]
    write(*((table, change) if isinstance(change, bytes) else (change(table), metadata)), file)
    with pytest.raises(CorpusError, match=rf"counts\.parquet.*{fault}"):
        Corpus.from_counts(file)


def write(table: pa.Table, metadata: bytes, file: Path, schema: pa.Schema | None = None) -> None:
    """Writes a table of counts as `WordCounts.save` does, but for another schema."""
    own = pa.schema([pa.field(field.name, field.type, nullable=False) for field in table.schema])
    with pq.ParquetWriter(file, schema or own, store_schema=False, use_dictionary=schema is not None) as writer:
        writer.write_table(table.cast(schema or own))
        writer.add_key_value_metadata({b"tokstudio": metadata})


def test_other_or_incomplete_files_are_no_counts(tmp_path):
    file = count(corpus_of(*TEXTS), "gpt2").save(tmp_path / "counts.parquet")
    table, metadata = pq.read_table(file), pq.read_metadata(file).metadata[b"tokstudio"]
    whole = file.read_bytes()
    with pytest.raises(CorpusError, match=r"counts\.parquet: this is a table of word counts: open it as word counts"):
        Corpus.from_files(file)
    for damaged in (whole.replace(b"first", b"fi\xf2st"), whole[:-20]):
        file.write_bytes(damaged)
        with pytest.raises(CorpusError, match=r"counts\.parquet: it is not a complete Parquet file"):
            Corpus.from_counts(file)
    pq.write_table(pa.table({"text": ["a"]}), file)
    with pytest.raises(CorpusError, match="no word counts: open it as a text"):
        Corpus.from_counts(file)
    write(table, metadata, file, table.schema)
    with pytest.raises(CorpusError, match="another program wrote its rows"):
        Corpus.from_counts(file)


# ---- weights


@pytest.mark.parametrize("pattern", ["gpt2", "none"])
@pytest.mark.parametrize("base", ["bytes", "characters"])
def test_a_weight_of_two_equals_the_source_given_twice_and_of_zero_that_it_is_left_out(pattern, base):
    one, two, three = TEXTS
    config = TrainingConfig(vocabulary_size=275 if base == "bytes" else 30, pattern=pattern, base=base)
    assert same(corpus_of(*TEXTS).with_weights({"1.txt": 2}), corpus_of(one, two, two, three), config)
    for number in range(3):
        rest = [text for index, text in enumerate(TEXTS) if index != number]
        assert same(corpus_of(*TEXTS).with_weights({number: 0}), corpus_of(*rest), config)


def test_sources_are_counted_together_where_no_weight_needs_them_apart():
    apart, together = (finish(count_text_work(corpus_of(*TEXTS), GPT2, by_source=each)) for each in (True, False))
    assert len(together.counts.words) == len(together.counts) < len(apart.counts.words)
    (one,), (other,) = apart.weighted((1, 1, 1)), together.weighted((1, 1, 1))
    end = one.stops[-1]
    assert (one.counts.tolist(), one.stops.tolist()) == (other.counts.tolist(), other.stops.tolist())
    assert one.data[:end].tolist() == other.data[:end].tolist()


@pytest.mark.parametrize("pattern", ["gpt2", "none"])
def test_weights_with_fractions_count_in_thousandths(pattern):
    plain, alike = corpus_of(*TEXTS), corpus_of(*TEXTS).with_weights({0: 3, 1: 3, 2: 3})
    assert train(alike, GPT2).run.merges.tolist() == train(plain, GPT2).run.merges.tolist()
    halves = train(corpus_of(*TEXTS).with_weights({0: 0.5, 1: 1.5, 2: 1}), replace(GPT2, pattern=pattern)).run
    whole = train(corpus_of(*TEXTS).with_weights({0: 1, 1: 3, 2: 2}), replace(GPT2, pattern=pattern)).run
    assert halves.weight_scale == 1_000
    assert whole.weight_scale == 1
    assert halves.merges.tolist() == whole.merges.tolist()
    assert (halves.counts * 2).tolist() == (whole.counts * 1_000).tolist()
    assert halves.bytes_per_token() == pytest.approx(whole.bytes_per_token())


@pytest.mark.parametrize("pattern", ["gpt2", "none"])
def test_the_minimum_frequency_is_compared_with_weighted_counts(pattern):
    corpus = corpus_of("ab ab ab", "cd cd cd").with_weights({0: 0.5, 1: 2})
    run = train(corpus, TrainingConfig(min_frequency=2, pattern=pattern)).run
    assert run.counts.min() >= 2_000
    assert run.ended == "no pair occurs 2 times"
    assert ord("a") not in run.merges


def test_other_weights_need_no_other_count():
    corpus = corpus_of(*TEXTS)
    counted = finish(count_text_work(corpus, GPT2))
    for weights in ({0: 0}, {0: 2.5, 1: 0}, {2: 7}):
        weighted = corpus.with_weights(weights)
        trainer = Trainer(weighted, GPT2, counted=counted)
        list(trainer)
        again = train(weighted, GPT2).run
        assert trainer.run.merges.tolist() == again.merges.tolist()
        assert trainer.run.counts.tolist() == again.counts.tolist()


def test_sources_are_weighted_by_name_group_or_index():
    corpus = corpus_of(*TEXTS)
    grouped = Corpus(tuple(replace(source, group="texts") for source in corpus.sources[:2]) + corpus.sources[2:])
    assert grouped.with_weights({"texts": 2, "2.txt": 0}).weights == (2_000, 2_000, 0)
    assert grouped.with_weights({0: 3}).weights == (3_000, 3_000, 1_000)
    assert grouped.with_weights({1: 3}).weights == (1_000, 1_000, 3_000)
    placed = [replace(source, path=Path("texts", "de", source.name)) for source in corpus.sources[:2]]
    in_folders = Corpus((*placed, *corpus.sources[2:]))
    assert in_folders.with_weights({"texts": 3, "1.txt": 2}).weights == (3_000, 2_000, 1_000)
    assert in_folders.with_weights({"de": 0.5}).weights == (500, 500, 1_000)
    assert in_folders.with_weights({"texts/de/1.txt": np.int64(2)}).weights == (1_000, 2_000, 1_000)
    assert grouped.with_weights({0: 3}).multipliers == (3, 1)
    one, two, three = TEXTS
    for pattern in ("gpt2", "none"):
        config = TrainingConfig(min_frequency=2, pattern=pattern)
        assert same(grouped.with_weights({"texts": 2}), corpus_of(one, two, one, two, three), config)
    assert corpus.with_weights({1: 0.001}).weights == (1_000, 1, 1_000)
    assert corpus.with_weights({1: 1}).weights is None
    twice = Corpus((*corpus.sources, *corpus.sources))
    with pytest.raises(ConfigError, match=r'"0\.txt" is the name of 2 sources: give the index'):
        twice.with_weights({"0.txt": 2})
    with pytest.raises(ConfigError, match=r'no source "x\.txt"\. The corpus has: "0\.txt", "1\.txt", "2\.txt"\.'):
        corpus.with_weights({"x.txt": 2})
    with pytest.raises(ConfigError, match="There is no source 3"):
        corpus.with_weights({3: 2})


@pytest.mark.parametrize("weight", [-1, 1_001, 0.0004, float("nan"), float("inf"), True, "2", None])
def test_a_weight_that_is_no_number_from_0_to_1000_is_refused(weight):
    with pytest.raises(ConfigError, match=r"must be a number from 0 to 1,000|at least 0\.001"):
        corpus_of(*TEXTS).with_weights({0: weight})
    with pytest.raises(CorpusError, match="nothing to train on"):
        train(corpus_of(*TEXTS).with_weights({0: 0, 1: 0, 2: 0}), GPT2)
    with pytest.raises(CorpusError, match="lower the weights"):
        train(Corpus.from_counts({"ab": 1 << 57}).with_weights({0: 1_000}), GPT2)
