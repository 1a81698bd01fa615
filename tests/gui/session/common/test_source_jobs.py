"""Reading sources for the window."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import pytest

from tokstudio import Corpus, count
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.gui.session.common.source_jobs import ChangedSources, Unread, read_all, read_counts, reread


@pytest.fixture
def namesakes(tmp_path) -> Path:
    """A table of the words of two files with one name."""
    return count_namesakes(tmp_path, "cat", "dog")


def count_namesakes(folder: Path, *words: str) -> Path:
    paths = [folder / word / "a.txt" for word in words]
    for path, word in zip(paths, words, strict=True):
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{word} " * 5)
    count(Corpus.from_files(paths), pattern="gpt2").save(folder / "counts.parquet")
    return folder / "counts.parquet"


def text_of(source: Source) -> bytes:
    return bytes(source.data)


def test_an_invalid_file_of_counts_does_not_affect_the_others(tmp_path):
    (tmp_path / "good.tsv").write_text("the\t3\n")
    (tmp_path / "bad.tsv").write_text("the\t-3\n")
    read = finish(read_counts([tmp_path / "bad.tsv", tmp_path / "good.tsv", tmp_path / "missing.tsv"]))
    assert [source.name for source in read.sources] == ["good.tsv"]
    assert [str(error).split(":")[0] for _, error in read.problems] == ["bad.tsv", "missing.tsv"]


def test_files_that_are_given_twice_are_read_once_and_lines_become_documents(tmp_path):
    (tmp_path / "a.txt").write_text("one two")
    (tmp_path / "b.txt").write_text("three")
    read = finish(read_all([tmp_path / "a.txt", tmp_path], None))
    assert [source.name for source in read.sources] == ["a.txt", "b.txt"]
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    assert finish(read_all([tmp_path / "a.txt"], None, "line")).sources[0].documents == 2
    assert finish(read_all([tmp_path / "a.txt"], None, "file")).sources[0].documents == 1
    (tmp_path / "texts").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "texts" / name).write_text("text", encoding="utf-8")
    read = finish(read_all([tmp_path / "texts", tmp_path / "texts" / "b.txt"], None))
    assert [source.name for source in read.sources] == ["a.txt", "b.txt"]
    assert [remark for _, remark in read.remarks] == ["b.txt: given twice, and read once."]


def test_a_file_added_again_counts_twice_with_a_message(qtbot, session, tmp_path):
    (tmp_path / "a.txt").write_text("one two")
    said = []
    session.jobs.refused.connect(said.append)
    for number in (1, 2):
        session.corpus.open_paths([tmp_path / "a.txt"])
        qtbot.waitUntil(lambda number=number: len(session.corpus.sources) == number)
    assert said == ["a.txt was already in the corpus. That text now counts twice."]


def test_counts_of_files_with_one_name_are_each_read_again(namesakes):
    sources = finish(read_counts([namesakes])).sources
    assert [source.name for source in sources] == ["a.txt", "a.txt"]
    again = [finish(reread(source, None)) for source in sources]
    made = [changed.pairs[0][1] for changed in again if isinstance(changed, ChangedSources)]
    assert list(map(text_of, made)) == list(map(text_of, sources)) == [b"cat cat ", b"dog dog "]
    last = finish(read_counts([namesakes])).sources[1]
    count_namesakes(namesakes.parent, "dog")
    changed = finish(reread(last, None))
    assert isinstance(changed, ChangedSources)
    assert text_of(changed.pairs[0][1]) == b"dog dog "


def test_counts_are_not_guessed_among_several_of_one_name(tmp_path):
    (tmp_path / "b.txt").write_text("rat " * 5)
    paths = [tmp_path / "b.txt", tmp_path / "cat" / "a.txt", tmp_path / "dog" / "a.txt"]
    count_namesakes(tmp_path, "cat", "dog")
    table = tmp_path / "counts.parquet"
    count(Corpus.from_files(paths), pattern="gpt2").save(table)
    last = finish(read_counts([table])).sources[2]
    count_namesakes(tmp_path, "cat", "dog")
    found = finish(reread(last, None))
    assert isinstance(found, Unread)
    assert str(found.error) == "counts.parquet: 2 of its sources are named a.txt: open it again."


def test_the_counts_that_were_reloaded_replace_no_others_of_their_name(qtbot, session, namesakes):
    session.corpus.open_counts([namesakes])
    qtbot.waitUntil(lambda: len(session.corpus.sources) == 2)
    first, last = session.corpus.sources
    count_namesakes(namesakes.parent, "cat", "cow")
    session.corpus.reread(1, None)
    session.corpus.reread(1, None)  # the first of them replaces the source that this one reads
    qtbot.waitUntil(lambda: not session.jobs.running and session.corpus.sources[1] is not last)
    assert session.corpus.sources[0] is first
    assert text_of(session.corpus.sources[1]) == b"cow cow "
