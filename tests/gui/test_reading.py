"""Sources as the window reads and samples them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokstudio.core.corpus import Corpus, Source
from tokstudio.core.progress import finish
from tokstudio.gui.reading import read_all, read_counts, sample


@given(st.lists(st.text(st.sampled_from("aé\n😀"), max_size=40), min_size=1), st.integers(0, 400))
def test_a_sample_is_the_beginning_of_every_source_cut_between_characters(texts, size):
    corpus = Corpus(tuple(finish(Source.from_texts([text]).split_work("line")) for text in texts if text))
    part = sample(corpus, size)
    assert part.bytes <= max(size, 0)
    whole = {source.name: source for source in corpus.sources}
    assert set(source.name for source in part.sources) <= set(whole)
    starts = [source.data.tobytes() for source in corpus.sources]
    at = 0
    for source in part.sources:
        raw = source.data.tobytes()
        raw.decode()
        assert source.ends[-1] == len(raw)
        assert (np.diff(source.ends, prepend=0) > 0).all()
        while not starts[at].startswith(raw):
            at += 1
        at += 1


def test_a_sample_ends_behind_a_line():
    corpus = Corpus.from_text("one line\nanother line\nand one more\n")
    (source,) = sample(corpus, 25).sources
    assert source.data.tobytes() == b"one line\nanother line\n"
    assert sample(corpus, 10**9).sources == corpus.sources


def test_a_sample_of_word_counts_keeps_words_whole():
    corpus = Corpus.from_counts({"aaaa": 5, "bb": 3, "cccc": 1})
    (source,) = sample(corpus, corpus.bytes * 7 // 10).sources
    assert source.data.tobytes() == b"aaaabb"
    assert source.counts.tolist() == [5, 3]


def test_lines_become_documents_where_that_is_asked_for(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    assert finish(read_all([tmp_path / "a.txt"], None, "line")).sources[0].documents == 2
    assert finish(read_all([tmp_path / "a.txt"], None, "file")).sources[0].documents == 1


def test_one_bad_file_of_counts_does_not_keep_the_others_out(tmp_path):
    (tmp_path / "good.tsv").write_text("the\t3\n")
    (tmp_path / "bad.tsv").write_text("the\t-3\n")
    read = finish(read_counts([tmp_path / "bad.tsv", tmp_path / "good.tsv", tmp_path / "missing.tsv"]))
    assert [source.name for source in read.sources] == ["good.tsv"]
    assert [str(error).split(":")[0] for _, error in read.problems] == ["bad.tsv", "missing.tsv"]
