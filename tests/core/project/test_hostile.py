"""Projects that are damaged or made to do harm: one clear sentence each, nothing run, and nothing taken for granted."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
import sqlite3
import struct
import sys
import tracemalloc
from contextlib import closing
from pathlib import Path
from shutil import copyfile

import pytest

from tests.core.new_content import give
from tests.core.project.mutants import ROW, change, check_mutants_of_bytes, check_mutants_of_values
from tests.core.project.projects import differences, extended, opened, opened_or_refused, saved, small_project
from tests.times import TIMES
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.project import Project, ProjectRun, open_work
from tokstudio.core.project.database import make_tables
from tokstudio.core.project.schema import TABLES

MUTANTS = 120 * TIMES


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A good project."""
    return saved(small_project(), tmp_path_factory.mktemp("good") / "p.tokstudio")


@pytest.fixture
def path(tmp_path, good):
    """A copy of it."""
    return Path(copyfile(good, tmp_path / "p.tokstudio"))


def refused(path) -> str:
    with pytest.raises(FormatError) as caught:
        opened(path)
    assert opened_or_refused(path) is None
    return str(caught.value).removeprefix(f"{path.name}: ").removeprefix("the project is damaged: ")


# ---- not ours


@pytest.mark.parametrize(
    "content", [b"", b"\0", b"SQLite format 3\0", b"PK\x03\x04" * 99, b"SQLite format 3\0" + b"\xff" * 84]
)
def test_other_files_are_refused_as_projects(tmp_path, content):
    path = tmp_path / "x.tokstudio"
    path.write_bytes(content)
    assert opened_or_refused(path) is None


def test_folders_and_devices_are_refused_as_projects(tmp_path):
    assert refused(tmp_path) == "this is not a file."
    assert refused(tmp_path / "gone.tokstudio") == "no such file."


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are POSIX's")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "p.tokstudio")
    assert refused(tmp_path / "p.tokstudio") == "this is not a file."


def test_the_database_of_another_program_is_named(tmp_path):
    path = tmp_path / "mail.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE letter (id)")
    assert refused(path) == "this is an SQLite database of another program."


def test_a_newer_version_is_named(path):
    change(path, "PRAGMA user_version=8")
    assert refused(path) == (
        "it was saved by a newer TokStudio, as version 8 of a project, but this one reads version 7: update TokStudio."
    )


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER planted AFTER UPDATE ON run BEGIN DELETE FROM merge; END",
        "CREATE VIEW planted AS SELECT * FROM merge",
        "CREATE TABLE planted (x)",
        "CREATE INDEX planted ON merge (count)",
        "DROP TABLE file",
        "ALTER TABLE project ADD COLUMN planted",
        "ALTER TABLE project ADD COLUMN planted GENERATED ALWAYS AS (hex(randomblob(10))) VIRTUAL",
        "CREATE VIRTUAL TABLE planted USING fts5(x)",
        "UPDATE sqlite_master SET sql = replace(sql, 'TEXT NOT NULL', 'TEXT') WHERE name = 'run'",
        "UPDATE sqlite_master SET type = 'view', rootpage = 0, sql = "
        "'CREATE VIEW project AS SELECT 1 AS key, 2 AS value' WHERE name = 'project'",
    ],
)
def test_tables_that_are_not_ours_are_refused(path, statement):
    try:
        change(path, statement)
    except sqlite3.OperationalError:
        pytest.skip("this SQLite cannot plant that")
    assert opened_or_refused(path) is None


def test_a_journal_or_a_log_planted_beside_it_does_not_matter(path, tmp_path):
    good, other = path.read_bytes(), tmp_path / "other.db"
    copyfile(path, other)
    connection = sqlite3.connect(other, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("UPDATE run SET name = 'planted'")
        (tmp_path / "p.tokstudio-wal").write_bytes((tmp_path / "other.db-wal").read_bytes())
    finally:
        connection.close()
    (tmp_path / "p.tokstudio-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(4000))
    assert opened(path).runs[0].name == "Run 1"
    assert path.read_bytes() == good
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "other.db",
        "p.tokstudio",
        "p.tokstudio-journal",
        "p.tokstudio-wal",
    ]


# ---- damaged


def test_a_file_truncated_at_any_length_is_refused(path):
    whole = path.read_bytes()
    for length in sorted({*range(0, 1100), *range(1100, len(whole), 211), len(whole) - 1}):
        give(path, whole[:length])
        assert opened_or_refused(path) is None, length


def test_data_after_the_end_and_a_missing_byte_are_named(path):
    whole = path.read_bytes()
    path.write_bytes(whole + b"\0")
    assert refused(path) == "something follows its end."
    path.write_bytes(whole[:-1])
    assert refused(path) == "1 byte is missing."


def test_a_very_long_name_is_cut_off_at_its_end(path):
    change(path, "UPDATE run SET name = 'Run ' || replace(hex(zeroblob(1000000)), '0', 'é')")
    change(path, "UPDATE source SET name = replace(hex(zeroblob(1000000)), '0', 'a')")
    project = finish(open_work(path))
    assert {len(run.name) for run in project.runs} == {1001}
    assert project.runs[0].name == "Run " + "é" * 996 + "…"
    assert {len(source.name) for source in project.sources} == {1001}


@pytest.mark.parametrize("check", [check_mutants_of_bytes, check_mutants_of_values])
def test_a_mutant_is_opened_or_refused_in_one_sentence(path, check):
    # Much of a small database is room that nothing stands in.
    assert check(path, MUTANTS, "tests") > MUTANTS // 5


@pytest.mark.parametrize(
    ("row", "change_to", "words"),
    [
        ("merge 2", "left = 'x'", "run 1, merges: a number is missing"),
        ("merge 2", "left = 999", "run 1, merges: merge 2 joins token 999, which does not exist yet"),
        ("merge 2", "left = -1", "run 1, merges: an id is negative"),
        ("merge 2", "number = 99", "run 1, merges: merge 2 is missing"),
        ("merge 6", None, "run 1, tokens: the special tokens after the merges are not those of the configuration"),
        ("merge", "run = 2", "run 1, tokens: the special tokens after the merges are not those of the configuration"),
        ("merge 1", "count = 1", "run 1, merges: the falls in tokens do not match the counts"),
        ("merge 3", "tokens_after = tokens_after + 30", "run 1, merges: the falls in tokens do not match the counts"),
        ("merge 1", "count = 9223372036854775807", "run 1, merges: the falls in tokens do not match the counts"),
        ("merge 1", "count = count + 1", "run 1, merges: the falls in tokens do not match the counts"),
        ("merge 5", "tokens_after = -9223372036854775807", "run 1, merges: a count is out of range"),
        ("merge 2", "tokens_after = 9223372036854775807", "run 1, merges: the falls in tokens do not match the counts"),
        ("merge", "count = CASE number WHEN 1 THEN 1 ELSE count END, tokens_after = tokens_after + "
         "(SELECT count - 1 FROM merge WHERE run = 1 AND number = 1)",
         "run 1, merges: a pair occurs more often than the one that was merged before it"),
        ("token 97", "count = count + 1",
         "run 1, merges: the counts of the base tokens do not add up to the tokens before the first merge"),
        ("token 98", "bytes = x'61'", "run 1, tokens: Each of the bytes needs an id of its own"),
        ("token 262", "run = 9", "a row of the table token does not belong to any run"),
        ("run 1", "ended = 'never'", "run 1, ended: no training with these settings ends this way"),
        ("run 1", "seconds = 1e999", "run 1, seconds: a number is missing"),
        ("run 1", "sources = '[3]'", "run 1, sources: it is not a list of numbers from 1 to 2"),
        ("run 1", "versions = '{\"a\": 1}'", "run 1, versions: they are not strings"),
        ("run 1", "config = replace(config, 'none', '(((')",
         "run 1, config: The pattern does not compile at the end: missing )"),
        ("run 1", "config = replace(config, 'held_out', 'planted')",
         "run 1, config: its settings are not training settings"),
        ("run 1", "left_out = '[]'", "run 1, left_out: it is not a JSON object"),
        ("run 1", """left_out = '{"totals": []}'""", "run 1, left_out: This does not say what is left out"),
        ("run 1", "left_out = '{}'", "run 1, left_out: it does not say how much was left out"),
        ("run 1", """left_out = '{"steps": [{"rules": {"all": 1}}], "totals": [["all", 1, 2, 3]]}'""",
         'run 1, left_out: There is no rule "all" to leave text out by: use duplicates, near-duplicates, blobs, '
         "repetition, mojibake, control, markup, rare-script, repeated-lines"),
        ("run 1", """left_out = '{"steps": [{"documents": [0, 0, -1]}], "totals": []}'""",
         "run 1, left_out: This does not say which documents and lines are left out"),
        ("run 1", """left_out = '{"steps": [{"lines": "é"}], "totals": []}'""",
         "run 1, left_out: This does not say which documents and lines are left out"),
        ("run 1", """left_out = '{"steps": [{"lines": "AAAA"}], "totals": []}'""",
         "run 1, left_out: This does not say which documents and lines are left out"),
        ("run 1", """left_out = '{"steps": [{"lines": "eJwDAAAA"}], "totals": []}'""",
         "run 1, left_out: This does not say which documents and lines are left out"),
        ("run 1", """left_out = '{"steps": [{"lines": "eJxjYMAOAAAYAAE="}], "totals": []}'""",
         "run 1, left_out: This does not say which documents and lines are left out"),
        ("run 1", """left_out = '{"steps": [{"lines": "eJz7/x8/AAAOLh/h"}], "totals": []}'""",
         "run 1, left_out: This does not say which documents and lines are left out"),
        ("run 2", "number = 3", "run 3, number: a whole number from 2 to 2 is missing"),
        ("source 1", "text = x'00'", "source 1, text: it is not the text that was saved"),
        ("source 1", "ends = x'0000000000000000'", "source 1, ends: the documents do not add up to the text"),
        ("source 2", "counts = zeroblob(16)", "source 2, counts: there must be one of at least 1 for each word"),
        ("source 2", "places = x'05000000000000000300000000000000'",
         "source 2, places: there must be a place for each document, in order"),
        ("source 2", "places = x'0500000000000000'",
         "source 2, places: there must be a place for each document, in order"),
        ("source 1", "weight = 1000001", "source 1, weight: a whole number from 0 to 1,000,000 is missing"),
        ("source 2", "counted_with = replace(counted_with, 'file', 'word')",
         "source 2, counted_with: these are not the settings of word counts"),
        ("source 2", "counted_with = replace(counted_with, 'gpt2', '(((')",
         "source 2, counted_with: the pattern or a special token is not valid"),
        ("source 2", "counted_with = replace(counted_with, '\"<s>\"', '7')",
         "source 2, counted_with: a text is missing"),
        ("run 1", "weights = '[1000, -1]'", "run 1, weights: it is not a list of numbers from 0 to 1,000,000"),
        ("run 1", "weights = '[]'", "run 1, weights: it is not a list of numbers from 0 to 1,000,000"),
        ("run 1", "weights = '[2000, 1]'", "run 1, weights: there must be one for each source"),
        ("run 1", "weights = '[500]', config = replace(config, '\"min_frequency\":null', '\"min_frequency\":2')",
         "run 1, merges: a pair occurs less often than the minimum frequency"),
        ("file", "name = '../../planted'", "file 1, name: this cannot be the name of a file"),
        ("file", "run = 1", "run 2, name: an opened tokenizer needs files with different names"),
        ("project active_run", "value = '7'", "the active run is missing"),
        ("project text", "value = 'NaN'", "project, value: NaN is not JSON"),
        ("project text", f"value = '{'[' * 9000}'", "project, value: it is nested too deeply"),
        ("project text", f"value = '{'[' * 300 + ']' * 300}'", "project, value: it is nested too deeply"),
        ("source 1", "text = '日本'", "source 1, text: bytes are missing"),
        ("source 2", "ends = 'x'", "source 2, ends: bytes are missing"),
        ("source 2", "counts = 7", "source 2, counts: bytes are missing"),
        ("file", "content = 'a' || char(0)", "file 1, content: bytes are missing"),
        ("token 262", "run = 1.5", "a row of the table token does not belong to any run"),
    ],
)  # fmt: skip
def test_errors_name_the_fault(path, row, change_to, words):
    """In all rows of a table, or in one by its key, which is deleted where it changes to nothing."""
    table, _, key = row.partition(" ")
    rows = f" WHERE {ROW.get(table, 'number')} = '{key}'" if key else ""
    change(path, f"UPDATE {table} SET {change_to}{rows}" if change_to else f"DELETE FROM {table}{rows}")
    assert refused(path) == f"{words}."


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE merge SET left = right, right = left WHERE number = 6", "run 1, content_sha256: it is not the run"),
        (
            'UPDATE run SET config = replace(config, \'"pattern":"none"\', \'"pattern":"gpt2"\')',
            "run 1, content_sha256: it is not the run",
        ),
        ("UPDATE run SET pattern = 'gpt3' WHERE number = 2", "run 2, content_sha256: it is not the tokenizer"),
        ("UPDATE file SET content = CAST('{}[]' AS BLOB)", "run 2, content_sha256: it is not the tokenizer"),
        ("UPDATE file SET name = 'tokenizer.jsom'", "run 2, content_sha256: it is not the tokenizer"),
    ],
)
def test_what_might_be_a_run_or_a_tokenizer_but_is_not_the_saved_one_is_refused(path, statement, words):
    before = path.read_bytes()
    change(path, statement)
    assert path.read_bytes() != before
    assert refused(path) == f"{words} that was saved."
    change(path, "UPDATE run SET content_sha256 = NULL")
    assert opened(path), "as a project of an earlier version"


_HOSTILE_VALUES = (
    *("NULL", "''", "'a' || char(0) || 'b'", "CAST(x'ffff' AS TEXT)", "x''", "x'ff00'", "1.5", "1e999", "0"),
    *("9223372036854775807", "-9223372036854775807 - 1", "CAST({} AS TEXT)", "CAST({} AS BLOB)", "{} || '日'"),
)


def columns():
    model = sqlite3.connect(":memory:")
    with closing(model):
        make_tables(model)
        names = re.findall(r"CREATE TABLE (\w+)", " ".join(TABLES))
        return [(table, row[1]) for table in names for row in model.execute(f"PRAGMA table_info({table})")]


@pytest.mark.parametrize(("table", "column"), columns())
def test_a_value_of_any_type_in_any_column_is_opened_or_refused_in_one_sentence(path, table, column):
    whole, tried = path.read_bytes(), 0
    for value in _HOSTILE_VALUES:
        give(path, whole)
        try:
            change(path, f"UPDATE {table} SET {column} = {value.format(column)}")
        except sqlite3.IntegrityError:
            continue  # SQLite itself lets no project have it there
        tried += 1
        opened_or_refused(path)
    assert tried


# ---- made to take memory or time


def test_a_huge_value_takes_no_memory(path):
    change(path, "UPDATE run SET name = CAST(zeroblob(68000000) AS TEXT) WHERE number = 1")
    tracemalloc.start()
    try:
        assert refused(path) == "a value in it is too large."
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


def test_a_header_that_promises_more_than_there_is_takes_no_memory(path):
    data = bytearray(path.read_bytes())
    data[28:32] = struct.pack(">I", 10**9)
    path.write_bytes(data)
    assert refused(path).endswith("bytes are missing.")


def test_a_file_of_holes_is_refused_without_being_read(tmp_path):
    path = tmp_path / "p.tokstudio"
    with path.open("wb") as file:
        file.truncate(10**10)
    assert refused(path) == "this is not a TokStudio project."


@pytest.mark.parametrize("table", ["merge", "token", "source", "run", "file", "project"])
def test_many_rows_are_refused_before_they_fill_the_memory(path, table):
    row = {
        "merge": "3, n, 1, 1, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL",
        "token": "3, n, x'00', 'base', 1",
        "source": "n + 9, '', NULL, '', '', 1000, NULL, 0, 'file', NULL, NULL, '', 0, NULL, NULL, NULL, NULL, NULL",
        "run": f"n + 9, '', ''{', NULL' * 17}",
        "file": "n + 9, 2, '', x''",
        "project": "n, 'null'",
    }[table]
    numbers = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 20000)"
    change(path, f"{numbers} INSERT INTO {table} SELECT {row} FROM c")
    tracemalloc.start()
    try:
        assert opened_or_refused(path) is None
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


_STARTS = {
    "not JSON": "'{'",
    "a list": "'[1]'",
    "no merges": "json_remove(start, '$.merges')",
    "two numbers for a merge": "json_set(start, '$.merges', json('[3, 4]'))",
    "a merge of unknown tokens": "json_set(start, '$.merges', json('[3000, 4000, 5]'))",
    "a huge id": "json_set(start, '$.merges', json('[8, 9, 99999999999999999999]'))",
    "a missing byte": "json_remove(start, '$.bytes[255]')",
    "a byte twice": "json_set(start, '$.bytes[1]', json_extract(start, '$.bytes[0]'))",
    "a text for an id": "json_set(start, '$.whole_words', json('[\"5\"]'))",
    "a pattern that does not compile": "json_set(start, '$.pattern', '(')",
    "another pattern": "json_set(start, '$.pattern', 'cl100k')",
    "other special tokens": "json_set(start, '$.special_tokens', json('{\"<x>\": 300}'))",
    "bytes that are not base64": "json_set(start, '$.extra_tokens', json('{\"5\": \"%%\"}'))",
    "a preparation of another type": "json_set(start, '$.preparation', json('{\"nfc\": 1}'))",
    "a start for a run without one": "NULL",
}


@pytest.mark.parametrize("name", _STARTS)
def test_a_start_that_is_no_tokenizer_is_refused(tmp_path, name):
    run = extended()["extended"]
    path = saved(Project(runs=(ProjectRun("Run", run),)), tmp_path / "p.tokstudio")
    assert differences(opened(path).runs[0].run, run) == []
    change(path, f"UPDATE run SET start = {_STARTS[name]}")
    assert refused(path).startswith("run 1, ")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE token SET bytes = x'00' WHERE id = (SELECT max(id) FROM token)",
        "INSERT INTO token VALUES (1, 100000, x'61', 'base', 1)",
        "UPDATE token SET count = count + 1 WHERE id = (SELECT max(id) FROM token)",
        "UPDATE token SET kind = 'special' WHERE id = (SELECT max(id) FROM token)",
        "UPDATE merge SET number = number + 1000",
        "UPDATE merge SET left = 100000 WHERE number = 2",
    ],
)
def test_an_extended_run_that_no_training_makes_is_refused(tmp_path, statement):
    path = saved(Project(runs=(ProjectRun("Run", extended()["extended"]),)), tmp_path / "p.tokstudio")
    change(path, statement)
    assert refused(path).startswith("run 1, ")


def test_closing_the_work_closes_the_file(path):
    work = open_work(path)
    next(work)
    work.close()
    path.rename(path.with_name("moved.tokstudio"))
    assert finish(open_work(path.with_name("moved.tokstudio"))).active == 0


def test_a_git_lfs_pointer_is_named(tmp_path):
    path = tmp_path / "p.tokstudio"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 4997\n")
    assert refused(path) == 'this is a Git LFS pointer, not the file itself: fetch that with "git lfs pull".'
