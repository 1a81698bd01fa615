"""The first row of a table: whether it is the names of the columns, and which names they get."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.readers.csv_rows import dialect_of
from tokstudio.core.corpus.readers.kinds import CSV

LONG = "How satisfied are you with all of the answers that you got to your questions to us?"


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (",text,label\n0,one,x\n1,two,y\n", "1|text|label"),
        (",title,story\n0,one,x\n1,two,y\n", "1|title|story"),
        (",1,title\nx,one,x\nx,two,y\n", None),
        ("label,label,Text,label\na,b,one,c\n", "label|label 2|Text|label 3"),
        ("label 2,label,label\na,b,one\n", "label 2|label|label 3"),
        ("2,,text\na,b,one\n", "2|2 2|text"),
        ("title,summary,,\none,two,,\n", "title|summary|3|4"),
        (f"name,country,{LONG}\nAda,UK,Very\nBob,US,Not at all\n", f"name|country|{LONG}"),
        ("country,people,2019\nA,1,2.5\nB,2,3.5\n", "country|people|2019"),
        ("title,story,1\none,two,x\n", "title|story|1"),
        ("2019,2020,body\n1,2,one\n", "2019|2020|body"),
        ("3,Wall Street,Short sellers are seeing green again\n4,Oil,Authorities have halted\n", None),
        ("1,2.5,one\n2,3.5,two\n", None),
        ("0,1\nx,one\ny,two\n", None),
    ],
)
def test_the_names_of_columns_are_recognised_and_made_unique(table, names):
    dialect = dialect_of(table, True, CSV)
    assert dialect.has_names == (names is not None)
    width = table.split("\n")[0].count(",") + 1
    assert dialect.names == (tuple(names.split("|")) if names else tuple("123"[:width]))


def test_a_name_that_is_asked_for_tells_that_the_first_row_is_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",0,7\n0,one,x\n1,two,y\n")
    assert Corpus.from_files(path, field="0").sources[0].data.tobytes() == b"onetwo"
    [x, y] = Corpus.from_files(path, field="0", split_by="7").sources
    assert (x.value, y.value) == ("x", "y")


def test_the_number_of_a_column_is_not_its_name_in_the_first_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("2,one short text\n1,two short texts\n")
    for field in (None, "2"):
        [source] = Corpus.from_files(path, field=field).sources
        assert (source.data.tobytes(), source.reading.field) == (b"one short texttwo short texts", "2")


def test_an_index_before_the_columns_does_not_hide_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(",text,label\n0,one,x\n1,two,y\n")
    for field in (None, "text"):
        [source] = Corpus.from_files(path, field=field).sources
        assert (source.data.tobytes(), source.reading.field) == (b"onetwo", "text")
    assert Corpus.from_files(path, field="label").sources[0].data.tobytes() == b"xy"
