"""Counting pre-tokens: in threads, in document order, and from counts that are given."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.reference import named_pattern, pre_tokens, train_slowly_with_pattern
from tests.core.texts import documents, few_examples
from tokstudio import Corpus, CorpusError, TrainingConfig, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.given_counts import read_counts_work
from tokstudio.core.corpus.readers.files import FileText
from tokstudio.core.corpus.source import CountedWith, Source
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.pretokenization import count_words as counting
from tokstudio.core.pretokenization import patterns
from tokstudio.core.pretokenization.count_words import count_work
from tokstudio.core.pretokenization.special_tokens import SpecialFinder
from tokstudio.core.pretokenization.word_table import Rows, TableBuilder, TablePart, WordTable

NO_SPECIALS = SpecialFinder([])


def cut(sources, specials=NO_SPECIALS):
    return [(source, finish(specials.cut_work(source.data, source.ends))) for source in sources]


def counted(sources, pattern="gpt2", threads=1, specials=NO_SPECIALS) -> dict[bytes, int]:
    made = finish(count_work(cut(sources, specials), CountedWith(pattern), threads))
    words = [word.tobytes() for word in np.split(made.data[: made.ends[-1]], made.ends[:-1])] if len(made) else []
    assert len(set(words)) == len(words)
    return dict(zip(words, made.weighted([1] * len(sources)).counts.tolist(), strict=True))


def expected(texts, pattern="gpt2") -> Counter[bytes]:
    return Counter(word for text in texts for word in pre_tokens(text, named_pattern(pattern)))


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(counting, "CHUNK", 50)


@given(documents)
def test_words_are_counted_in_order_of_first_occurrence(texts):
    made = counted([Source.from_texts(texts)])
    assert list(made.items()) == list(expected(texts).items())


@pytest.mark.parametrize(("threads", "pattern"), [(1, "whitespace"), (2, "gpt2"), (3, "cl100k"), (5, "o200k")])
def test_threads_change_nothing(threads, pattern, small_chunks):
    lines = [f"line {n % 17} isn't {n * n % 101} of\n\n  many,  {'日本' * (n % 3)}!\n" for n in range(400)]
    sources = [Source.from_texts(["".join(lines[:300]).encode()]), Source.from_texts([line.encode() for line in lines])]
    texts = ["".join(lines[:300]).encode(), *(line.encode() for line in lines)]
    made = counted(sources, pattern, threads)
    assert list(made.items()) == list(expected(texts, pattern).items())


def test_a_text_on_the_disk_may_have_no_place_to_divide_it(small_chunks, tmp_path, monkeypatch):
    """Not even in as much of it as is read at once."""
    monkeypatch.setattr("tokstudio.core.corpus.readers.files.MOST", 1 << 12)
    text = ("日本。\n" * 2_000 + "one two").encode()
    (tmp_path / "a.txt").write_bytes(text)
    source = replace(Source.from_texts([text]), data=FileText(tmp_path / "a.txt"))
    assert counted([source]) == expected([text])


def looked_up(table, words, filler=0x7F):
    """The numbers of words that follow one another; what follows the last is no part of it."""
    data = np.frombuffer(b"".join(words) + bytes([filler]) * 8, np.uint8)
    return table.look_up(data, 0, np.cumsum(list(map(len, words)))).tolist()


def test_words_that_differ_in_one_byte_or_in_length_are_told_apart():
    words = [bytes(length) for length in range(1, 34)]
    for word in words.copy():
        words += [word[:at] + bytes([byte]) + word[at + 1 :] for at in range(len(word)) for byte in (1, 255)]
    table = WordTable(1)  # which grows, and forgets nothing
    for filler in (0, 255):
        assert looked_up(table, words, filler) == list(range(len(words)))
    offsets = table.offsets
    assert [table.words[offsets[n] : offsets[n + 1]].tobytes() for n in range(len(table))] == words
    for filler in (0, 255):  # each word alone
        assert [looked_up(table, [word], filler) for word in words] == [[number] for number in range(len(words))]


@given(st.lists(st.sets(st.binary(min_size=1, max_size=30), max_size=30), min_size=2, max_size=5))
def test_joined_tables_number_their_words_as_one_table(tables):
    joined, known = WordTable(1), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokstudio.core.pretokenization.word_table.IN_A_THREAD", 3)
        for words in map(sorted, tables):
            data = np.frombuffer(b"".join(words) + bytes(8), np.uint8)
            offsets = np.cumsum([0, *map(len, words)])
            expected = [known.setdefault(word, len(known)) for word in words]
            assert finish(joined.join_work(data, offsets)).tolist() == expected
    offsets = joined.offsets
    assert [joined.words[offsets[n] : offsets[n + 1]].tobytes() for n in range(len(joined))] == list(known)
    more = [*known, b"one word more"]
    assert looked_up(joined, more) == list(range(len(more)))


@given(st.lists(st.tuples(st.sampled_from(["de", "en"]), st.integers(0, 9)), max_size=40), st.integers(2, 5))
def test_rows_of_several_tables_are_joined_in_the_order_of_places(occurrences, number):
    """The words of a table may be in any order: a text that is divided has parts anywhere."""
    builder, expected = TableBuilder(), {}
    for place, (source, word) in enumerate(occurrences):
        count, first = expected.get((source, word), (0, place))
        expected[source, word] = count + 1, first
    for table in range(number):
        met = list(enumerate(occurrences))[table::number]
        words = sorted({word for _, (_, word) in met})
        rows = []
        for code, source in enumerate(["de", "en"]):
            mine = [(place, word) for place, (name, word) in met if name == source]
            firsts = {word: place for place, word in reversed(mine)}
            counts = [sum(word == other for _, other in mine) for word in firsts]
            numbers = np.array([words.index(word) for word in firsts], np.int32)
            rows.append(Rows(code, numbers, np.array(counts, np.int64), np.array([*firsts.values()], np.int64)))
        data = np.frombuffer(bytes(words) + bytes(8), np.uint8)
        finish(builder.add_work(TablePart(data, np.arange(len(words) + 1), rows)))
    joined = finish(builder.joined_work())
    found = zip(joined.sources, joined.words, joined.counts, joined.firsts, strict=True)
    made = [
        (["de", "en"][source], int(joined.data[word]), int(count), int(first)) for source, word, count, first in found
    ]
    in_order = sorted(expected.items(), key=lambda row: row[1][1])
    assert made == [(source, word, count, first) for (source, word), (count, first) in in_order]
    assert list(dict.fromkeys(joined.words.tolist())) == list(range(len(joined.ends)))


@few_examples
@given(documents, st.sampled_from(TIE_BREAKS), st.sampled_from(["whitespace", "gpt2", "cl100k"]), st.booleans())
def test_training_on_counted_words_equals_the_slow_reference(texts, tie_break, pattern, limited):
    limit = {"vocabulary_size": 270} if limited else {"min_frequency": 2}
    slow = train_slowly_with_pattern(texts, named_pattern(pattern), tie_break=tie_break, **limit)
    run = train(Corpus.from_texts(texts), TrainingConfig(pattern=pattern, tie_break=tie_break, **limit)).run
    assert [tuple(pair) for pair in run.merges.tolist()] == slow.merges
    assert (run.counts.tolist(), run.tokens_after.tolist()) == (slow.counts, slow.tokens_after)
    assert run.ended == slow.ended


def test_given_counts_train_as_the_text_they_were_counted_in():
    text = b"the cat and the hat, and the other cat and a hat"
    words = expected([text])
    by_text = train(Corpus.from_texts([text]), TrainingConfig(vocabulary_size=270, pattern="gpt2")).run
    corpus = Corpus.from_counts(words)
    assert corpus.bytes == len(text)
    for pattern in ("gpt2", "none"):
        by_counts = train(corpus, TrainingConfig(vocabulary_size=270, pattern=pattern)).run
        assert by_counts.merges.tolist() == by_text.merges.tolist()
        assert by_counts.counts.tolist() == by_text.counts.tolist()
        assert by_counts.tokens_after.tolist() == by_text.tokens_after.tolist()
        assert by_counts.bytes_per_token() == by_text.bytes_per_token()
    # They stand beside files in the order of the corpus.
    (given,) = Corpus.from_counts({" c": 4, " b": 1}).sources
    mixed = [Source.from_texts([b" b b"]), given, Source.from_texts([b" a c"])]
    assert list(counted(mixed).items()) == [(b" b", 3), (b" c", 5), (b" a", 1)]
    other = Corpus.from_counts({word: count + 1 for word, count in words.items()})
    assert len({corpus.sha256, other.sha256, Corpus.from_texts(list(words)).sha256}) == 3


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_special_tokens_are_cut_out_of_given_counts_as_out_of_text(pattern):
    counts = {"ab<|e|>ba": 3, "<|e|>": 10, "<|e|><|e|>ab": 2, "abab": 4, "xyx": 6}
    text = [part for word, count in counts.items() for part in [word] * count]
    config = TrainingConfig(min_frequency=2, pattern=pattern, special_tokens=["<|e|>"])
    by_counts, by_text = train(Corpus.from_counts(counts), config), train(Corpus.from_texts(text), config)
    assert by_counts.merges.tolist() == by_text.merges.tolist()
    made = [by_counts.tokens[token] for token in by_counts.merge_results.tolist()]
    assert made == [b"ab", b"xy", b"xyx", b"abab", b"ba"]
    assert by_counts.run.tokens_after[-1] == by_text.run.tokens_after[-1]
    assert by_counts.run.counts.tolist() == by_text.run.counts.tolist()
    nothing = train(Corpus.from_counts({"<|e|>": 10}), config)
    assert (len(nothing.merges), nothing.run.tokens_before) == (0, 0)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("the\t3\n cat\t1\n", {b"the": 3, b" cat": 1}),
        ("\ufeffa\t1\r\nb\t2\r\n", {b"a": 1, b"b": 2}),
        ('["the", 3]\n{"token": "\\n", "count": 2}\n', {b"the": 3, b"\n": 2}),
        ("\\n\\t\\\\n\t2\n[\t5\n", {b"\n\t\\n": 2, b"[": 5}),
        ("a\t1\n\na\t2", {b"a": 3}),
        ("a\tb\t2", {b"a\tb": 2}),
        ('{"token": "a",\t"count": 2}\n ["b",\t3]\t\n', {b"a": 2, b"b": 3}),
        ('{"token": "a"\t2\n["b", 3]\t4\n', {b'{"token": "a"': 2, b'["b", 3]': 4}),
        ('["\\ud83d\\ude00", 2]\n["\\ufffd", 3]', {"😀".encode(): 2, "\ufffd".encode(): 3}),
        ("x" * 700_000 + "\t2\n" + "y\t1\n" * 90_000, {b"x" * 700_000: 2, b"y": 90_000}),
    ],
)
def test_files_of_counts(tmp_path, content, words):
    file = tmp_path / "counts.tsv"
    file.write_text(content, encoding="utf-8", newline="")
    assert counted(Corpus.from_counts(file).sources) == words


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"the\t3\ncat\n", "line 2: it must be a pre-token, a tab and a count"),
        (b"the\t-3\n", "line 1: the count -3 must be at least 1"),
        (b"the\t1.5\n", "the count '1.5' is not a whole number"),
        (b"the\t99999999999999999999\n", "the counts are too large"),
        (b"\t4\n", "the pre-token is empty"),
        (b"\xff\t4\n", "the pre-token is not UTF-8"),
        (b"a\t1\n" * 9_000 + b"\n\xff\t4\n", "line 9,002: the pre-token is not UTF-8"),
        (b"a\t1\n" * 90_000 + b"b\n", "line 90,001: it must be a pre-token"),
        (b"a\t4000000000000000000\nb\t900000000000000000\n", "line 2: the counts are too large"),
        (b'["\\ud800", 2]', r"line 1: the pre-token '\\ud800' is not UTF-8"),
        (b'{"token": "a\\udc00\\ufffd", "count": 2}', "is not UTF-8: it contains half a character"),
        (b'{"token": "a",\t"count": 2\n', "it is not JSON, nor a pre-token, a tab and a count"),
        (b"\\q\t4\n", r"\\q is not an escape"),
        (b'["the"]\n', 'it must be \\["token", count\\]'),
        (b'{"token": "a"}\n', "the count None is not a whole number"),
        (b"[" * 100_000, "it is not JSON"),
        (b"\n\n", "the file has no word counts"),
    ],
)
def test_wrong_counts_are_refused_with_their_line(tmp_path, content, fault):
    file = tmp_path / "counts.tsv"
    file.write_bytes(content)
    with pytest.raises(CorpusError, match=f"counts.tsv: .*{fault}"):
        Corpus.from_counts(file)


def test_a_file_of_counts_is_read_and_laid_out_in_bounded_pieces(tmp_path):
    file = tmp_path / "counts.tsv"
    file.write_text("".join(f"word{n}\t{n + 1}\n" for n in range(40_000)))
    # At most 4,096 lines and 16,384 words a step.
    assert sum(1 for _ in read_counts_work(file)) >= 40_000 // (1 << 12) + 40_000 // (1 << 14) + 2
    (source,) = Corpus.from_counts(file).sources
    assert source.counts.tolist() == list(range(1, 40_001))
    assert source.data[source.ends[-2] :].tobytes() == b"word39999"
    words = {f"word{n * 7919 % 20_011}": n + 1 for n in range(20_000)}
    (source,) = Corpus.from_counts(words).sources
    assert [bytes(word).decode() for word in Corpus((source,)).iter_documents()] == list(words)
    assert source.counts.tolist() == list(words.values())


@pytest.mark.parametrize(
    ("counts", "fault"),
    [
        ({"a": -1}, "the count -1 must be at least 1"),
        ({"a": 2.5}, "the count 2.5 is not a whole number"),
        ({"a": -(10**5_000)}, "a count must be at least 1"),
        ({"a": 2**62 + 1}, "the counts are too large"),
        ({5: 3}, "the pre-token 5 is not a string"),
        ({b"\xff": 3}, r"the pre-token b'\\xff' is not UTF-8"),
        ({}, "Word counts: the mapping is empty"),
        ([("a", 3)], "must be a mapping from pre-token to count, or the name of a file, not of the type list"),
    ],
)
def test_wrong_counts_at_hand_are_refused(counts, fault):
    with pytest.raises(CorpusError, match=fault):
        Corpus.from_counts(counts)


@pytest.mark.parametrize("pattern", ["none", "gpt2"])
def test_counts_that_overflow_together_are_refused(pattern):
    corpus = Corpus(Corpus.from_counts({"ab": 2**60}).sources * 9)
    with pytest.raises(CorpusError, match="The corpus is too large: its word counts add up to more text"):
        train(corpus, TrainingConfig(min_frequency=2, pattern=pattern))
    fitting = Corpus(Corpus.from_counts({"ab": 2**60}).sources * 2)
    assert train(fitting, TrainingConfig(min_frequency=2, pattern=pattern)).run.counts.tolist() == [2**61]


def test_a_custom_expression_counts_short_documents_together(monkeypatch):
    monkeypatch.setattr(patterns, "SECONDS_OF_A_PIECE", 3_600)
    calls = []
    original = WordTable.look_up

    def look_up(table, data, start, ends):
        calls.append(len(ends))
        return original(table, data, start, ends)

    monkeypatch.setattr(WordTable, "look_up", look_up)
    texts = [f"{n % 7} and".encode() for n in range(3_000)]
    words = Counter(word for text in texts for word in pre_tokens(text, r"\w+|\W"))
    assert counted([Source.from_texts(texts)], r"\w+|\W") == words
    assert len(calls) < 10


@few_examples
@given(documents, st.integers(1, 30), st.integers(2, 4))
def test_a_custom_expression_gives_the_same_counts_in_any_pieces(texts, chunk, words):
    pieces = [part for text in texts for part in text.split(b"a")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "CHUNK", chunk)
        patch.setattr(patterns, "MOST_WORDS", words)
        made = counted([Source.from_texts(texts)], r"\w+|\W", specials=SpecialFinder([b"a"]))
    assert list(made.items()) == list(Counter(word for text in pieces for word in pre_tokens(text, r"\w+|\W")).items())


def test_splitting_a_long_document_by_a_custom_expression_reports_progress(monkeypatch):
    monkeypatch.setattr(patterns, "SECONDS_OF_A_PIECE", 0)
    source = Source.from_texts([b"some words " * 20_000])
    assert len(list(count_work(cut([source]), CountedWith(r"\w+|\W"), 1))) > 8
    # Closing it ends the threads.
    work = count_work(cut([source]), CountedWith("gpt2"), 2)
    next(work)
    work.close()
