"""What a data set is, its columns, and one of several in a folder or an archive."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.core.corpus.readers.written import of_parquet, tarred, zst
from tokstudio import Corpus, CorpusError, Reading
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.open_sources import look_work, read_again_work, read_otherwise_work, read_work
from tokstudio.core.corpus.readers.csv_rows import dialect_of
from tokstudio.core.corpus.readers.folders import read_folder_work
from tokstudio.core.corpus.readers.kinds import CSV, JSON, JSON_LINES, TEXT, TSV, text_kind

# --- One data set of a folder or an archive: looked at, and read in another way ---------------------------------------

POSTS = '{"text": "one", "lang": "de"}\n{"text": "two", "lang": "en"}\n'
PEOPLE = '{"name": "Ada"}\n{"name": "Bob"}\n'


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name, content in {"a.txt": "Plain text.", "posts.jsonl": POSTS, "people.jsonl": PEOPLE}.items():
            made.writestr(name, content)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    (path / "README.md").write_text("About the posts.\n")
    for number in range(2):
        (path / f"posts-{number}.jsonl").write_text(POSTS)
        (path / f"people-{number}.jsonl").write_text(PEOPLE)
    return path


def names(path: Path, member: str | None = None) -> list[str]:
    return [column.name for column in finish(look_work(path, member=member)).columns]


def test_a_text_before_the_data_sets_of_a_folder_does_not_hide_their_columns(folder):
    contents = finish(look_work(folder))
    assert (contents.name, contents.kind, contents.files) == ("data", "JSON Lines", 5)
    assert [column.name for column in contents.columns] == ["name"]


def test_each_data_set_of_a_folder_has_its_own_columns(folder):
    sources = [source for source in finish(read_work(folder)) if source.is_rows]
    assert [names(folder, source.member) for source in sources] == [["name"], ["text", "lang"]]


def test_each_member_of_an_archive_has_its_own_columns(archive):
    assert [names(archive, name) for name in ("posts.jsonl", "people.jsonl", "a.txt")] == [
        ["text", "lang"],
        ["name"],
        [],
    ]


def test_one_member_of_an_archive_is_divided_and_the_others_are_not_read(archive):
    made = finish(read_otherwise_work(archive, "file", None, Reading(split_by="lang"), "posts.jsonl"))
    assert [(source.name, source.data.tobytes()) for source in made] == [
        ("posts.jsonl: de", b"one"),
        ("posts.jsonl: en", b"two"),
    ]


def test_a_member_in_the_folder_itself_is_named_without_it(tmp_path):
    path = tmp_path / "all.tar"
    path.write_bytes(tarred(**{"./a.txt": b"Plain text.", "././posts.jsonl": POSTS.encode()}))
    sources = finish(read_work(path))
    assert [(source.name, source.member) for source in sources] == [("a.txt",) * 2, ("posts.jsonl",) * 2]
    for member in ("posts.jsonl", "./posts.jsonl"):
        source = finish(read_again_work(path, reading=Reading(), member=member))
        assert (source.member, source.data.tobytes()) == ("posts.jsonl", b"onetwo")
        assert names(path, member) == ["text", "lang"]


def test_one_data_set_of_a_folder_is_read_by_another_column(folder):
    posts = next(source for source in finish(read_work(folder)) if "posts" in source.member)
    [made] = finish(read_otherwise_work(folder, "file", None, Reading(field="lang"), posts.member))
    assert (made.member, made.data.tobytes()) == (posts.member, b"deendeen")


@pytest.mark.parametrize("look", [True, False])
def test_a_data_set_that_is_gone_is_said(folder, look):
    with pytest.raises(CorpusError, match=r"^data: .* is no longer in it\.$"):
        finish(
            look_work(folder, member="more-#.jsonl")
            if look
            else read_otherwise_work(folder, "file", None, Reading(), "more-#.jsonl")
        )


def test_data_sets_of_different_kinds_in_a_folder_are_read_together(folder):
    """What describes them, and numbers, are no part of the data, and each is named with the reason."""
    (folder / "part1.parquet").write_bytes(of_parquet(["three"]))
    (folder / "part0.jsonl.zst").write_bytes(zst(POSTS.encode()))
    (folder / "table.csv").write_text("text,lang\nfour,en\n")
    (folder / "list.json").write_text(json.dumps([{"text": "five"}]))
    (folder / "dataset_info.json").write_text(json.dumps({"description": "About the posts.", "features": {}}))
    (folder / "sizes.jsonl").write_text('{"rows": 1}\n{"rows": 2}\n')
    found = finish(read_folder_work(folder))
    assert {(path.name, why) for path, why in found.skipped} == {
        (name, "beside a data set") for name in ("README.md", "dataset_info.json", "sizes.jsonl")
    }
    read = {source.name: source.data.tobytes() for source in Corpus.from_files(folder).sources}
    assert read.pop("data: people-#.jsonl") == b"AdaBob" * 2
    assert read.pop("data: posts-#.jsonl") == b"onetwo" * 2
    assert read == {
        "list.json": b"five", "part0.jsonl.zst": b"onetwo", "part1.parquet": b"three", "table.csv": b"four",
    }  # fmt: skip


def test_what_the_filters_dropped_of_a_divided_file_is_said_of_the_file(tmp_path):
    path = tmp_path / "posts.jsonl"
    path.write_text("".join(json.dumps({"text": text, "lang": lang}) + "\n" for text, lang in (
        ("long enough", "de"), ("short", "en"), ("short", "en"), ("long enough too", "en"),
    )))  # fmt: skip
    german, english = Corpus.from_files(path, split_by="lang", least_characters=6).sources
    assert (german.note, english.note) == ("of the file: 2 short documents dropped", "")
    assert Corpus.from_files(path, least_characters=6).sources[0].note == "2 short documents dropped"


# --- JSON, JSON Lines and tables are recognised as what they are; prose and programs are not --------------------------

RECORDS = [{"text": f"Line {number}, with a comma.", "id": number} for number in range(4_000)]
ROWS = [f"{number},word{number},{number * 0.5}" for number in range(30)]
POEM = "Shall I compare thee to a summer's day?\nThou art more lovely, and more temperate:\n" * 9


HEAD = 1 << 16


def kind(name: str, text: str) -> str:
    return text_kind(name, text[:HEAD], len(text) <= HEAD)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", "\n".join(map(json.dumps, RECORDS)), JSON_LINES),
        ("a.txt", "\n".join(map(json.dumps, RECORDS)), JSON_LINES),
        ("a.txt", "\n".join(map(json.dumps, RECORDS[:2])), JSON_LINES),
        ("a.NDJSON.gz", '{"text": "a"}\n', JSON_LINES),
        ("a.jsonl", json.dumps({"text": "x" * 100_000}), JSON_LINES),
        ("a.json", json.dumps(RECORDS), JSON),
        ("a.json", '{"text": "a"}', JSON),
        ("", '{"data": [{"text": "a"}]}', JSON),
        ("", json.dumps(RECORDS), JSON),
        ("a.txt", json.dumps(RECORDS[:3], indent=2), JSON),
        ("a.csv", "\n".join(ROWS), CSV),
        ("a.csv", 'name;text\nx;"one\ntwo"\n', CSV),
        ("a.csv.xz", 'text\none\n"two, three"\n', CSV),
        ("", "\n".join(ROWS), CSV),
        ("", "\n".join([",word,share", *ROWS]), CSV),
        ("a.tsv", "word\tcount\n", TSV),
        ("a", "\n".join(f"word {number}\t{number}" for number in range(9)), TSV),
    ],
)
def test_structured_text_is_recognised(name, text, said):
    assert kind(name, text) == said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", POEM),
        ("a.csv", "A chapter that somebody saved under a wrong name\n" * 9),
        ("a.json", "Once upon a time\n" * 9),
        ("a.jsonl", "Once upon a time\n" * 9),
        ("a.csv", "It was late, and dark.\nShe went home.\nWhere, though, was it, and why?\n" * 9),
        ("a.jsonl", '["the", 12]\n["cat", 3]\n'),
        ("a.json", json.dumps([1, 2, 3])),
        ("a.txt", "\n".join(ROWS)),
        ("settings.conf", '{"name": "one", "size": 2}'),
        ("a.tsv", ""),
        ("a.md", "[one](two)\n[three](four)\n" * 9),
        ("a.md", '{"title": "A page"}\n\n# A page\n\nIts text begins here.\n'),
        ("a.tex", "{\\bf one}\n{\\it two}\n" * 9),
        ("a.py", "values = {\n    'one': 1,\n}\n" * 9),
        ("a.c", '{ "one", "two" },\n' * 9),
        ("a.txt", "Yes, he said, and no.\nOne, she said, or two.\n" * 9),
        ("a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n"),
        ("Makefile", "all:\n\techo one\n\techo two\n" * 9),
        ("a.txt", "12\n345\n6789\n" * 9),
        ("a.txt", '"Stop!"\n"Why?"\n' * 9),
    ],
)
def test_prose_programs_and_settings_are_plain_text(name, text):
    assert kind(name, text) == TEXT


# --- The first row of a table: whether it is the names of the columns, and which names they get -----------------------

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
