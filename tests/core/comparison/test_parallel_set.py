"""Parallel sets: every layout gives the same lines, faults are named, and our own story keeps what it promises."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import json
import zipfile

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.core.corpus.readers.written import arrow_of, csv_of, lines_of, parquet_of
from tokstudio.core.base.errors import BinaryError, CorpusError
from tokstudio.core.base.progress import finish
from tokstudio.core.base.resources import resource
from tokstudio.core.comparison.parallel_set import (
    ParallelSet,
    open_parallel_files_work,
    open_parallel_work,
    parts_of,
    story_work,
)
from tokstudio.core.corpus.source import Source
from tokstudio.core.corpus.statistics import main_script_work
from tokstudio.core.text.languages import is_language

TEXTS = {
    "deu_Latn": ("Die Katze saß.", "", 'Er sagte "nein", dann ging er.', "a\tb"),
    "eng_Latn": ("The cat sat.", "", 'He said "no", then left.', "a\tb"),
    "jpn_Jpan": ("猫が座った。", "", "彼は「いや」と言った。", "a\tb"),
}
WANTED = tuple(tuple(line.encode() for line in lines) for lines in TEXTS.values())
# The scripts that a language's code names, as `core.text.scripts` names the main one.
SCRIPTS = {
    "Arab": "Arabic", "Armn": "Armenian", "Beng": "Bengali", "Cyrl": "Cyrillic", "Deva": "Devanagari",
    "Ethi": "Ethiopic", "Geor": "Georgian", "Grek": "Greek", "Hang": "Hangul", "Hans": "Han", "Hebr": "Hebrew",
    "Jpan": "Hiragana", "Latn": "Latin", "Mymr": "Myanmar", "Taml": "Tamil", "Telu": "Telugu", "Thai": "Thai",
}  # fmt: skip


def read(path, *args, **options):
    return finish(open_parallel_work(path, *args, **options))


def folder(path, texts=TEXTS, suffix=".dev", end="\n"):
    path.mkdir(parents=True, exist_ok=True)
    for language, lines in texts.items():
        (path / f"{language}{suffix}").write_bytes("".join(line + end for line in lines).encode())
    return path


def rows(texts=TEXTS):
    return [dict(zip(texts, lines, strict=True)) for lines in zip(*texts.values(), strict=True)]


TABLES = {
    "a.csv": csv_of([{"id": number, **row} for number, row in enumerate(rows())]),
    "b.tsv": csv_of(rows(), "\t"),
    "c.jsonl": lines_of(rows()),
    "d.json": json.dumps(rows()).encode(),
    "e.parquet": parquet_of(rows()),
    "f.arrow": arrow_of(rows(), rows_at_once=2),
    "g.jsonl": lines_of({"id": 7, "translation": row} for row in rows()),
    "h.parquet": parquet_of([{"URL": "a", **{f"sentence_{name}": row[name] for name in row}} for row in rows()]),
}  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("suffix", [".dev", ".txt", ""])
def test_a_folder_has_a_file_for_each_language(tmp_path, suffix, end):
    found = read(folder(tmp_path / "dev", suffix=suffix, end=end))
    assert (found.name, found.languages, found.lines) == ("dev", tuple(TEXTS), WANTED)
    assert found.notes == ()


@pytest.mark.parametrize("compress", [lambda raw: raw, gzip.compress, zstandard.compress])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_a_column_for_each_language(tmp_path, name, compress):
    (tmp_path / name).write_bytes(compress(TABLES[name]))
    found = read(tmp_path / name)
    assert (found.name, found.languages, found.lines) == (name, tuple(TEXTS), WANTED)


def test_compressed_texts_and_other_encodings_are_read(tmp_path):
    folder(tmp_path)
    (tmp_path / "deu_Latn.dev").rename(tmp_path / "d")
    (tmp_path / "deu_Latn.dev.gz").write_bytes(gzip.compress((tmp_path / "d").read_bytes()))
    (tmp_path / "d").unlink()
    (tmp_path / "jpn_Jpan.dev").write_bytes("\n".join(TEXTS["jpn_Jpan"]).encode("utf-16"))
    found = read(tmp_path)
    assert (found.languages, found.lines) == (tuple(TEXTS), WANTED)
    assert found.notes == ("jpn_Jpan.dev: read as utf-16-le, byte order mark dropped.",)


def test_files_of_json_lines_are_read_by_their_column_of_text(tmp_path):
    for language, lines in TEXTS.items():
        content = lines_of({"id": number, "text": line} for number, line in enumerate(lines))
        (tmp_path / f"{language}.jsonl").write_bytes(content)
    assert read(tmp_path).lines == WANTED


@pytest.mark.parametrize("names", [("news.de", "news.en"), ("de.txt", "en.txt"), ("de", "en")])
def test_languages_are_named_by_what_differs_between_the_files(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("one line\n")
    assert read(tmp_path).languages == ("de", "en")


def test_chosen_files_are_a_set_and_one_file_is_a_table(tmp_path):
    files = [tmp_path / "news.de.txt", tmp_path / "other.en.txt"]
    for file, text in zip(files, ("eins\nzwei\n", "one\ntwo\n"), strict=True):
        file.write_text(text, encoding="utf-8")
    read = finish(open_parallel_files_work(files))
    assert (read.languages, read.lines) == (("news.de", "other.en"), ((b"eins", b"zwei"), (b"one", b"two")))
    table = tmp_path / "both.tsv"
    table.write_text("de\ten\neins\tone\n", encoding="utf-8")
    assert finish(open_parallel_files_work([table])).languages == ("de", "en")
    files[1].write_text("one\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r'"other.en" has 1 line, but "news.de" has 2'):
        finish(open_parallel_files_work(files))


def test_the_folders_of_flores_are_chosen_by_name(tmp_path):
    top = tmp_path / "flores200_dataset"
    folder(top / "dev")
    folder(top / "devtest", {language: lines[:2] for language, lines in TEXTS.items()}, ".devtest")
    (top / "README").write_text("About it.\n")
    assert parts_of(top) == ("dev", "devtest")
    assert (read(top).name, len(read(top).lines[0])) == ("flores200_dataset/dev", 4)
    assert len(read(top, part="devtest").lines[0]) == 2
    assert parts_of(top / "devtest") == parts_of(top / "README") == ()
    with pytest.raises(CorpusError, match='flores200_dataset: there is no folder "test" in it'):
        read(top, part="test")


def test_a_folder_of_folders_says_which_to_open(tmp_path):
    for part in ("a", "b"):
        folder(tmp_path / part)
    with pytest.raises(CorpusError, match='no text lies in this folder itself; open "a", "b" in it'):
        read(tmp_path)


@pytest.mark.parametrize("name", ["", *TABLES])
def test_only_some_languages_are_read_in_the_order_asked_for(tmp_path, name):
    path = folder(tmp_path) if not name else tmp_path / name
    if name:
        path.write_bytes(TABLES[name])
    found = read(path, ["jpn_Jpan", "deu_Latn"])
    assert (found.languages, found.lines) == (("jpn_Jpan", "deu_Latn"), (WANTED[2], WANTED[0]))
    with pytest.raises(CorpusError, match=r'no language "fra_Latn"; there are .*"deu_Latn", "eng_Latn"'):
        read(path, ["eng_Latn", "fra_Latn"])
    with pytest.raises(CorpusError, match='at least two languages, but here is only "eng_Latn"'):
        read(path, ["eng_Latn", "eng_Latn"])


def test_columns_with_other_names_are_all_read(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines_of([{"formal": "Good day.", "informal": "Hi."}, {"formal": "No.", "informal": "Nah."}]))
    assert read(path).languages == ("formal", "informal")


def test_a_table_alone_in_a_folder_is_read(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train-00000-of-00001.parquet").write_bytes(TABLES["e.parquet"])
    assert read(tmp_path).lines == WANTED


def test_unequal_lengths_are_refused_with_both_counts(tmp_path):
    folder(tmp_path, TEXTS | {"eng_Latn": TEXTS["eng_Latn"][:1]})
    with pytest.raises(CorpusError, match='"eng_Latn" has 1 line, but "deu_Latn" has 4; each needs the same lines'):
        read(tmp_path)


@pytest.mark.parametrize("value", [None, 7])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.parquet"])
def test_rows_without_a_language_are_refused(tmp_path, name, value):
    content = [*rows(), {**rows()[0], "eng_Latn": value}]
    if name == "a.parquet":
        content[-1]["eng_Latn"] = None
    write = {"a.jsonl": lines_of, "a.json": lambda rows: json.dumps(rows).encode(), "a.parquet": parquet_of}[name]
    (tmp_path / name).write_bytes(write(content))
    with pytest.raises(CorpusError, match='the column "eng_Latn" has no text in 1 row; each row must have every'):
        read(tmp_path / name)
    assert len(read(tmp_path / name, ["deu_Latn", "jpn_Jpan"]).lines[0]) == 5


def test_broken_rows_are_dropped_in_every_language_and_told(tmp_path):
    lines = TABLES["c.jsonl"].splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_bytes(b"".join((lines[0], b'{"deu_Latn": \n', *lines[1:])))
    found = read(tmp_path / "a.jsonl")
    assert (found.lines, found.notes) == (WANTED, ("a.jsonl: 1 broken row dropped (line 2).",))


def test_empty_cells_are_told(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"eng,deu\na cat,eine Katze\n,\na dog,\n")
    found = read(tmp_path / "a.csv")
    assert found.lines == ((b"a cat", b"", b"a dog"), (b"eine Katze", b"", b""))
    assert found.notes == ('a.csv: 1 cell is empty and read as an empty line, in "deu".',)


def test_files_that_are_no_text_are_named(tmp_path):
    folder(tmp_path)
    (tmp_path / "flag.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (tmp_path / "empty.dev").touch()
    found = read(tmp_path)
    assert found.languages == tuple(TEXTS)
    assert found.notes == (f"{tmp_path.name}: 2 files skipped: flag.png (binary), empty.dev (empty).",)
    with pytest.raises(CorpusError, match=r'no language "empty".* 2 files skipped: flag\.png \(binary\), empty\.dev'):
        read(tmp_path, ["eng_Latn", "empty"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("flag.png", b"\x89PNG\r\n\x1a\n" + bytes(100), r"flag\.png: this is a PNG image, not text\.$"),
        ("book.txt", b"A book.\n", r"book\.txt: this is no table with a column for each language \(plain"),
        ("empty.csv", b"", "the file is empty"),
        ("names.csv", b"deu,eng,fra\n", "the table has no rows"),
        ("one.csv", b"id,eng\n1,cat\n2,dog\n", 'there is no language "deu"'),
        ("cut.csv.gz", gzip.compress(TABLES["a.csv"])[:-20], r"ends too early; \d+ bytes before that are whole\.$"),
    ],
)
def test_a_file_without_languages_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises((CorpusError, BinaryError), match=message):
        read(tmp_path / name, ["deu", "eng"] if name == "one.csv" else None)


def test_nothing_to_read_is_an_error(tmp_path):
    with pytest.raises(CorpusError, match="no such file or folder"):
        read(tmp_path / "absent")
    with pytest.raises(CorpusError, match="no text files in this folder"):
        read(tmp_path)
    (tmp_path / "eng.txt").write_text("alone\n")
    with pytest.raises(CorpusError, match=r"eng\.txt: this is no table"):
        read(tmp_path)
    for name in ("a.zip", "b.txt"):
        (tmp_path / name).write_text("alone\n")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x.txt", "x\n")
        archive.writestr("y.txt", "y\n")
    with pytest.raises(CorpusError, match=r"a\.zip: this archive holds 2 texts"):
        read(tmp_path)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]))))
def test_lines_are_kept_as_they_are(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("set")
    lines = ["Lines that tell the encoding: äöü."] * 9 + lines
    for name in ("de.txt", "en.txt"):
        (path / name).write_bytes("".join(f"{line}\n" for line in lines).encode())
    assert [line.decode() for line in read(path).lines[0]] == lines


@pytest.mark.parametrize("name", ["folder", "a.csv", "a.parquet"])
def test_hundreds_of_languages_are_read(tmp_path, name):
    many = range(1000 if name == "folder" else 300)
    texts = {f"l{number:04}": (f"Line {number}, one. " * 20, f"Line {number}, two.") for number in many}
    path = tmp_path / name
    if name == "folder":
        folder(path, texts)
    elif name == "a.csv":
        lines = (",".join(f'"{text}"' for text in row) for row in (texts, *zip(*texts.values(), strict=True)))
        path.write_text("\n".join(lines))
    else:
        path.write_bytes(parquet_of(rows(texts)))
    found = read(path)
    assert found.languages == tuple(texts)
    assert found.lines[-1] == tuple(line.encode() for line in texts[found.languages[-1]])


@pytest.mark.parametrize("name", ["folder", "a.csv", "c.jsonl", "e.parquet"])
def test_reading_can_be_cancelled(tmp_path, name):
    path = folder(tmp_path) if name == "folder" else tmp_path / name
    if name != "folder":
        path.write_bytes(TABLES[name])
    work = open_parallel_work(path)
    assert next(work).phase in ("reading", "looking for text")
    work.close()
    path = path / "eng_Latn.dev" if name == "folder" else path
    path.unlink()  # Windows refuses this where a file is open


def test_a_set_that_is_made_by_hand_is_checked():
    ParallelSet("mine", ("a", "b"), ((b"x",), (b"y",)))
    with pytest.raises(CorpusError, match="mine: a parallel set needs at least two languages, but here is none"):
        ParallelSet("mine", (), ())
    with pytest.raises(CorpusError, match='mine: "a" has 2 lines, but "b" has 1'):
        ParallelSet("mine", ("b", "c", "a"), ((b"x",), (b"x",), (b"x", b"y")))


def test_the_story_has_20_sentences_in_many_languages_and_scripts():
    story = finish(story_work())
    assert story.name == f"One story in {len(story.languages)} languages"
    assert (len(story.lines[0]), story.notes) == (20, ())
    assert len(story.languages) >= 24
    assert len({language.split("_")[1] for language in story.languages}) >= 12
    assert all(map(is_language, story.languages))
    english = story.lines[story.languages.index("eng_Latn")]
    assert all(7 <= len(line.split()) <= 20 for line in english)


@pytest.mark.parametrize("file", sorted(resource("corpora/story").iterdir()), ids=lambda file: file.stem)
def test_a_language_of_the_story_is_written_in_its_script(file):
    text = file.read_text(encoding="utf-8")
    assert finish(main_script_work([Source.from_texts(text)])) == SCRIPTS[file.stem.split("_")[1]]
    assert text.count("\n") == 20
    assert text.endswith("\n")
    assert "\r" not in text
    lines = text.splitlines()
    assert len(set(lines)) == 20
    assert all(line == line.strip() and len(line) >= 8 for line in lines)
    # Wherever digits are used, all languages have the same numbers.
    digits = "".join(str(int(character)) if character.isdecimal() else " " for character in text).split()
    assert sorted(digits) == ["12", "3500"]


@pytest.mark.shared_data
def test_articles_in_38_languages_are_a_parallel_set(shared):
    found = read(shared / "corpora" / "parallel")
    assert (len(found.languages), len(found.lines[0]), found.notes) == (38, 30, ())
    assert all(map(is_language, found.languages))
    assert all(line.strip() for lines in found.lines for line in lines)
