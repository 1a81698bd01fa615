"""Sources as the window reads them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from tokstudio.core.progress import finish
from tokstudio.gui.reading import read_all, read_counts


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
