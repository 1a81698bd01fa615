"""Reading sources for the window."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from tests.gui.person import PATIENCE
from tokstudio.core.base.progress import finish
from tokstudio.gui.session.source_jobs import read_all, read_counts


def test_lines_become_documents_on_request(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    assert finish(read_all([tmp_path / "a.txt"], None, "line")).sources[0].documents == 2
    assert finish(read_all([tmp_path / "a.txt"], None, "file")).sources[0].documents == 1


def test_an_invalid_file_of_counts_does_not_affect_the_others(tmp_path):
    (tmp_path / "good.tsv").write_text("the\t3\n")
    (tmp_path / "bad.tsv").write_text("the\t-3\n")
    read = finish(read_counts([tmp_path / "bad.tsv", tmp_path / "good.tsv", tmp_path / "missing.tsv"]))
    assert [source.name for source in read.sources] == ["good.tsv"]
    assert [str(error).split(":")[0] for _, error in read.problems] == ["bad.tsv", "missing.tsv"]


def test_a_file_that_is_named_with_its_folder_is_read_once(tmp_path):
    (tmp_path / "a.txt").write_text("one two")
    (tmp_path / "b.txt").write_text("three")
    read = finish(read_all([tmp_path / "a.txt", tmp_path], None))
    assert [source.name for source in read.sources] == ["a.txt", "b.txt"]


def test_a_file_added_again_counts_twice_with_a_message(qtbot, session, tmp_path):
    (tmp_path / "a.txt").write_text("one two")
    said = []
    session.jobs.refused.connect(said.append)
    for number in (1, 2):
        session.corpus.open_paths([tmp_path / "a.txt"])
        qtbot.waitUntil(lambda number=number: len(session.corpus.sources) == number, timeout=PATIENCE)
    assert said == ["a.txt was already in the corpus. That text now counts twice."]
