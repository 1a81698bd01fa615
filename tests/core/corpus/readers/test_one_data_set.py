"""One data set of a folder or an archive: looked at, and read in another way."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.core.corpus.readers.written import of_parquet, tarred, zst
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.corpus.open_sources import look_work, read_again_work, read_otherwise_work, read_work
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.folders import read_folder_work

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
