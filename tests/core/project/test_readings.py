"""Sources of data sets, archives and filters are read again as they were."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from tests.core.corpus.readers.written import DOCUMENTS, FORMATS, json_lines, of_parquet, zipped
from tests.core.project.mutants import change
from tests.core.project.projects import opened, opened_or_refused, saved, small_project
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.project import Project, keep_source_work, reopen_source_work
from tokstudio.core.project.database import make_tables
from tokstudio.core.project.schema import tables_of


def texts_of(source):
    return [bytes(document) for document in Corpus((source,)).iter_documents()]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"split_by": "lang"},
        {"split_by": "lang", "join_values": True},
        {"least_characters": 3, "most_characters": 9, "deduplicate": True},
        {"most_bytes": 99, "split_by": "lang"},
        {"as_text": True},
    ],
)
def test_sources_of_data_sets_are_read_again(tmp_path, options):
    (tmp_path / "a.jsonl").write_bytes(json_lines(DOCUMENTS))
    (tmp_path / "b.csv").write_bytes(FORMATS["semicolons.csv"](DOCUMENTS))
    (tmp_path / "c.zip").write_bytes(zipped(**{"one.txt": b"one line\ntwo\n" * 9, "two.jsonl": json_lines(DOCUMENTS)}))
    paths = [tmp_path / name for name in ("a.jsonl", "b.csv")]
    paths += [] if "split_by" in options else [tmp_path / "c.zip"]
    sources = Corpus.from_files(paths, **options).sources
    project = Project(tuple(finish(keep_source_work(source)) for source in sources))
    again = opened(saved(project, tmp_path / "p.tokstudio"))
    for kept, source in zip(again.sources, sources, strict=True):
        assert kept.text is None
        restored = finish(reopen_source_work(kept))
        assert not restored.changed
        found = restored.source
        assert texts_of(found) == texts_of(source)
        for field in ("name", "reading", "member", "value", "group", "is_rows", "note", "encoding"):
            assert getattr(found, field) == getattr(source, field), field
        assert (found.places is None) == (source.places is None)
        assert source.places is None or found.places.tolist() == source.places.tolist()


def test_shards_are_read_again(tmp_path):
    (tmp_path / "set").mkdir()
    for number in range(2):
        part = DOCUMENTS[number * 200 : number * 200 + 200]
        (tmp_path / "set" / f"part-{number}.parquet").write_bytes(of_parquet(part))
    [source] = Corpus.from_files(tmp_path / "set").sources
    again = opened(saved(Project((finish(keep_source_work(source)),)), tmp_path / "p.tokstudio"))
    restored = finish(reopen_source_work(again.sources[0]))
    assert (restored.changed, texts_of(restored.source)) == (False, texts_of(source))


def test_a_run_on_the_beginning_of_a_data_set_finds_it_again(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(json_lines(["one", "two", "three"]))
    [source] = Corpus.from_files(tmp_path / "a.jsonl").sources
    part = replace(source, data=source.data[:5], ends=source.ends[:2].clip(max=5))
    restored = finish(reopen_source_work(finish(keep_source_work(part))))
    assert (restored.changed, texts_of(restored.source)) == (False, [b"one", b"tw"])


def of_version_1(path, folder):
    """The same project without the column `reading`, as the first version of TokStudio saved it."""
    old = folder / "old.tokstudio"
    with closing(sqlite3.connect(old, isolation_level=None)) as connection:
        connection.execute("PRAGMA page_size=4096")
        make_tables(connection, 1)
        connection.execute("ATTACH ? AS new", (str(path),))
        for table in ("project", "source", "run", "merge", "token", "file"):
            columns = ", ".join(row[1] for row in connection.execute(f"PRAGMA main.table_info({table})"))
            connection.execute(f"INSERT INTO main.{table} SELECT {columns} FROM new.{table}")
        connection.execute("DETACH new")
    return old


def test_projects_of_the_first_version_open(tmp_path):
    assert "reading" not in "".join(tables_of(1))
    (tmp_path / "a.jsonl").write_bytes(json_lines(["one", "two"]))
    [source] = Corpus.from_files(tmp_path / "a.jsonl", as_text=True).sources
    # That version read JSON as plain text, and so it stays.
    kept = finish(keep_source_work(replace(source, reading=None)))
    project = replace(small_project(), sources=(*small_project().sources, kept))
    again = opened(of_version_1(saved(project, tmp_path / "p.tokstudio"), tmp_path))
    assert len(again.runs) == len(project.runs)
    restored = finish(reopen_source_work(again.sources[-1]))
    assert (restored.changed, restored.source.reading) == (False, None)
    assert restored.source.data.tobytes() == json_lines(["one", "two"])


@pytest.mark.parametrize(
    "reading",
    [
        "1", "[]", "{", '{"reading": 1}', '{"reading": {"field": 1}}', '{"rows": true}', '{"member": 1}',
        '{"other": 1}', '{"reading": {"most_bytes": -1}}', '{"reading": {"delimiter": "ab"}}',
        '{"value": "\\u0000"}', "x" * 99,
    ],
)  # fmt: skip
def test_a_damaged_reading_is_refused(tmp_path, reading):
    (tmp_path / "a.jsonl").write_bytes(json_lines(["one", "two"]))
    kept = finish(keep_source_work(Corpus.from_files(tmp_path / "a.jsonl").sources[0]))
    path = saved(Project((kept,)), tmp_path / "p.tokstudio")
    assert opened_or_refused(path) is not None
    change(path, f"UPDATE source SET reading = '{reading}'")
    assert opened_or_refused(path) is None
