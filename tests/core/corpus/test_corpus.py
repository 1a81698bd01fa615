"""The documents of a corpus, and its hash."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import hashlib
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio.core.base.errors import ConfigError, CorpusError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.source import Source, document_ends
from tokstudio.core.text.utf8 import to_utf8


def documents_of(corpus):
    return [bytes(document) for document in corpus.iter_documents()]


def hash_of(documents):
    digest = hashlib.sha256()
    for document in documents:
        digest.update(len(document).to_bytes(8, "little") + document)
    return digest.hexdigest()


def as_array(data):
    return np.frombuffer(data, dtype=np.uint8)


@given(st.lists(st.binary()))
def test_texts_come_back_as_documents(texts):
    corpus = Corpus.from_texts(texts)
    assert documents_of(corpus) == texts
    assert (corpus.bytes, corpus.documents) == (sum(map(len, texts)), len(texts))


def test_a_str_is_kept_as_utf8_and_bytes_as_they_are():
    assert documents_of(Corpus.from_texts(["é\r\n", b"\xff\0"])) == ["é\r\n".encode(), b"\xff\0"]


def test_a_corpus_may_be_one_empty_document():
    corpus = Corpus.from_text("")
    assert (corpus.bytes, corpus.documents, documents_of(corpus)) == (0, 1, [b""])


def test_files_without_text_beside_others_are_kept_only_where_that_is_asked(tmp_path):
    contents = {"text.txt": b"text", "empty.txt": b"", "mark.txt": b"\xef\xbb\xbf", "rows.csv": b"id,text\n"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    paths = [tmp_path / name for name in contents]
    corpus = finish(Corpus.from_files_work(paths, keep_empty=True))
    assert [(source.name, source.bytes) for source in corpus.sources] == [*zip(contents, (4, 0, 0, 0), strict=True)]
    for path in paths[1:]:
        for keep_empty, chosen in ((False, [paths[0], path]), (True, [path])):
            with pytest.raises(CorpusError, match=r"no text|is empty"):
                finish(Corpus.from_files_work(chosen, keep_empty=keep_empty))


@pytest.mark.parametrize("text", ["one text", b"one text"])
def test_a_single_text_is_not_taken_for_a_list_of_characters(text):
    assert Corpus.from_texts(text).documents == 1


@given(st.text(st.characters(exclude_categories=())))
def test_surrogates_become_their_character_or_the_replacement_character(text):
    expected = "".join(
        "\ufffd" if "\ud800" <= character <= "\udfff" else character
        for character in text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    )
    assert to_utf8(text).decode() == expected


def test_the_pair_of_an_emoji_is_one_character_and_half_of_it_none():
    assert to_utf8("\ud83d\ude00!\ud83d!") == "😀!\ufffd!".encode()


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\xc3\xa9"])).map(b"".join))
def test_line_documents_join_to_the_whole_and_keep_their_line_feeds(data):
    ends = finish(document_ends(as_array(data), "line")).tolist()
    lines = [data[start:end] for start, end in pairwise([0, *ends])]
    assert lines == [line for line in re.split(rb"(?<=\n)", data) if line]


def test_lines_are_found_across_the_pieces_of_a_long_text():
    data = b"0123456\n" * 100_000 + b"no line feed"
    ends = finish(document_ends(as_array(data), "line"))
    assert ends.tolist() == [*range(8, 800_001, 8), len(data)]


def test_a_source_is_split_again_without_reading_it():
    source = Source.from_texts(["a\nb\n"])
    lines = finish(source.split_work("line"))
    assert lines.ends.tolist() == [2, 4]
    assert finish(lines.split_work("file")).ends.tolist() == [4]
    assert lines.data is source.data


def test_an_unknown_way_to_divide_into_documents_is_refused():
    with pytest.raises(ConfigError, match='Documents must be "file" or "line", not "word"'):
        finish(document_ends(as_array(b"a"), "word"))


def test_a_corpus_is_read_only():
    corpus = Corpus.from_text(b"abc")
    with pytest.raises(ValueError, match="read-only"):
        corpus.sources[0].data[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        corpus.sources[0].ends[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        corpus.sources = ()


@given(st.lists(st.lists(st.binary()), max_size=4))
def test_the_hash_is_over_each_document_with_its_length(sources):
    corpus = Corpus(tuple(Source.from_texts(texts) for texts in sources))
    assert corpus.sha256 == hash_of([text for texts in sources for text in texts])


def test_the_hash_of_long_and_of_many_short_documents_is_the_same_definition():
    texts = [b"", b"x" * 700_000, *[b"ab\n"] * 50_000, b"", b"y" * (1 << 18), b"z", b""]
    assert Corpus.from_texts(texts).sha256 == hash_of(texts)


def test_the_hash_depends_on_document_borders():
    assert Corpus.from_texts(["ab", "c"]).sha256 != Corpus.from_texts(["a", "bc"]).sha256


def test_files_and_folders_come_in_the_order_given(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "z.txt").write_bytes(b"z\nz")
    (folder / "b.txt").write_bytes(b"b")
    (folder / "a.txt").write_bytes(b"a\r\n")
    corpus = Corpus.from_files([tmp_path / "z.txt", str(folder)])
    assert documents_of(corpus) == [b"z\nz", b"a\r\n", b"b"]
    assert [source.name for source in corpus.sources] == ["z.txt", "a.txt", "b.txt"]
    assert Corpus.from_files(tmp_path / "z.txt", documents="line").documents == 2


def test_a_corpus_of_no_files_is_refused():
    with pytest.raises(CorpusError, match="No files given"):
        Corpus.from_files([])


def test_a_bad_file_among_good_ones_is_named(tmp_path):
    (tmp_path / "good.txt").write_bytes(b"good")
    with pytest.raises(CorpusError, match=r"^bad\.txt: no such file"):
        Corpus.from_files([tmp_path / "good.txt", tmp_path / "bad.txt"])


def test_unknown_documents_and_encodings_are_refused(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"a")
    with pytest.raises(ConfigError, match="Documents must be"):
        Corpus.from_files([file], documents="paragraph")
    with pytest.raises(ConfigError, match="Unknown encoding 'klingon'"):
        Corpus.from_files([file], encoding="klingon")
    with pytest.raises(ConfigError, match="Unknown encoding 'base64'"):
        Corpus.from_files([file], encoding="base64")


def test_a_file_that_changed_since_it_was_read_is_noticed(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"a")
    source = Corpus.from_files([file]).sources[0]
    assert not source.changed_on_disk()
    file.write_bytes(b"ab")
    assert source.changed_on_disk()
    assert not source.gone_from_disk()
    file.unlink()
    assert source.changed_on_disk()
    assert source.gone_from_disk()
    pasted = Source.from_texts(["a"])
    assert not pasted.changed_on_disk()
    assert not pasted.gone_from_disk()


def test_importing_loads_neither_the_detector_nor_the_regular_expressions():
    program = "import sys, tokstudio.core.corpus.open_sources, tokstudio.core.corpus.statistics; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "tokstudio.core.text.encodings" in loaded
    assert not {"charset_normalizer", "regex", "numba", "PySide6", "pyarrow", "zstandard"} & set(loaded)


def test_a_known_hash_is_kept_with_other_weights(monkeypatch):
    corpus = Corpus.from_texts(["one", "two"])
    expected = corpus.sha256
    monkeypatch.setattr("hashlib.sha256", lambda *_: pytest.fail("hashed again"))
    assert corpus.weighted([2000]).sha256 == expected
    assert corpus.weighted([2000]).weights == (2000,)
    assert corpus.weighted([2000]).weighted([1000]).weights is None
