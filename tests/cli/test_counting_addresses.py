"""`count` with texts by their addresses, here and on a cluster, and without rare words."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fsspec.implementations.local import LocalFileSystem

from tests.cli.clusters import cluster_here, kills_a_worker, worker_to_kill
from tests.core.corpus.remote.sets import json_lines, parquet, texts
from tests.core.corpus.remote.test_stores import client, put, store  # noqa: F401 -- fixtures
from tokstudio import Corpus, CorpusError, count
from tokstudio.cli import counting
from tokstudio.core.base import subprocesses
from tokstudio.core.corpus.remote import storing
from tokstudio.core.hub.addresses import parse_address
from tokstudio.core.hub.kept_texts import kept_texts

WHERE = "s3://bucket/set/*"


@pytest.fixture
def counted(tmp_path, run, monkeypatch):
    """Counts texts, and gives the bytes of the table; nothing is kept in the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def counted(files, name, *more):
        printed = run(0, f"count {files} --pattern gpt2 --out {name}.parquet", *more)
        if "--dask" in more:
            assert re.search(r"Read \d\S* \w*B in \d+ tasks; the slowest took \d+\.\d s, from \S+ on\.", printed.err)
        return (tmp_path / f"{name}.parquet").read_bytes()

    return counted


@kills_a_worker
def test_the_table_of_an_address_is_that_of_its_text_here_and_on_workers_one_of_which_dies(
    store,  # noqa: F811
    counted,
    tmp_path,
    monkeypatch,
):
    for number in range(4):
        name, content = f"part-{number}.parquet", parquet(texts(100, number), 50)
        if number == 3:
            name, content = "rest.jsonl", json_lines(texts(100, number))
        put(store, f"set/{name}", content)
    one = counted(WHERE, "one")
    assert kept_texts() == [], "nothing of it stays"
    count(Corpus.from_files(WHERE), "gpt2").save(tmp_path / "whole.parquet")
    table = table_of(tmp_path / "whole.parquet")
    assert [name for name, _ in table] == ["part-#.parquet", "rest.jsonl"], "the shards of a data set are one source"
    assert table_of(tmp_path / "one.parquet") == table
    counted(WHERE, "filtered", "--deduplicate")
    assert table_of(tmp_path / "filtered.parquet") == table, "no row is twice there"
    wait, calls = counting.waited_work, []
    monkeypatch.setattr(counting, "PARTITIONS", 4)
    monkeypatch.setattr(counting, "_TASKS_PER_CORE", 1)
    with cluster_here(1) as workers, worker_to_kill(workers) as kill:

        def killing(*given):
            calls.append(given)
            if len(calls) == 2:  # all is counted, and nothing has been joined
                kill()
            return (yield from wait(*given))

        monkeypatch.setattr(counting, "waited_work", killing)
        assert counted(WHERE, "cluster", "--dask", workers.scheduler_address) == one
    assert len(calls) > 2


def test_rare_words_are_left_out_of_the_joined_table_and_that_is_said(write, run, tmp_path):
    write("a.txt", "the the cat once\n")
    write("b.txt", "the cat rare\n")
    words = "count a.txt b.txt --pattern gpt2 --out c.parquet"
    run(0, words, "--min-count", 2, says="Left out 3 words with fewer than 2 uses: 3 uses in all.\n")
    left = {bytes(word) for word in words_of(tmp_path / "c.parquet")}
    assert left == {b" cat", b"the", b"\n"}, "once in each file, twice in both"
    run(1, words, "--min-count", 100, says="every word occurs less often: nothing was written")
    run(2, words, "--min-count", 0, says="--min-count must be at least 1")


def test_the_table_is_written_to_an_address_whole_or_not_at_all(store, run, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text("the cat sat on the mat " * 50)
    words = "count a.txt --pattern gpt2 --out"
    run(0, words, "here.parquet")
    for text in ("one", "the cat"):  # the second replaces the first
        (tmp_path / "a.txt").write_text(text)
        printed = run(0, words, "s3://bucket/tables/c.parquet", "--json")
        assert json.loads(printed.out)["file"] == "s3://bucket/tables/c.parquet"
    run(0, words, "here.parquet")
    stored = store.get_object(Bucket="bucket", Key="tables/c.parquet")["Body"].read()
    assert stored == (tmp_path / "here.parquet").read_bytes()
    assert [one["Key"] for one in store.list_objects(Bucket="bucket")["Contents"]] == ["tables/c.parquet"]
    # A training takes it from there.
    run(0, "train --counts s3://bucket/tables/c.parquet --pattern gpt2 --vocab-size 258 --export tiktoken=t.tiktoken")
    for address, says in {
        "s3://none/c.parquet": "s3://none/c.parquet: there is no such bucket or folder",
        "s3://bucket/tables/": "this is not the address of one file",
        "s3://bucket/tables": "s3://bucket/tables: this is a folder: give the address of a file in it",
        "s3://bucket/*.parquet": "this is not the address of one file",
        "gs://bucket/c.parquet": "to write to gs:// addresses, install the package gcsfs",
        "https://host/c.parquet": "a file is stored by its path, or at an address such as s3://bucket/words.parquet",
        "gopher://host/c.parquet": "not gopher://",
    }.items():
        run(1, "count none.txt --pattern gpt2 --out", address, says=says)  # before the text is looked for
    run(1, "count none.txt --pattern gpt2 --out", "s3://bucket/d.parquet", says="none.txt")
    assert len(store.list_objects(Bucket="bucket")["Contents"]) == 1


def test_all_files_of_an_address_are_fetched_by_one_process(store, counted, tmp_path, monkeypatch):  # noqa: F811
    started, start = [], subprocesses.start_process

    def note(command, *rest, **more):
        started.append(command[0])
        return start(command, *rest, **more)

    for number in range(5):
        put(store, f"texts/{number}.txt", f"text {number}\n".encode())
    monkeypatch.setattr(subprocesses, "start_process", note)
    counted("s3://bucket/texts/*.txt", "many")
    assert started == ["tokstudio.core.corpus.remote.serving"] * 2, "the files are listed before"
    assert [name for name, _ in table_of(tmp_path / "many.parquet")] == [f"{number}.txt" for number in range(5)]
    assert kept_texts() == [], "nothing of it stays"


def test_a_store_with_files_like_a_disk_shows_a_file_when_all_of_it_is_there(tmp_path, monkeypatch):
    target, source, sent = tmp_path / "there/c.parquet", tmp_path / "here", [2]

    class Disk(LocalFileSystem):
        def put_file(self, path, into, **options):
            assert Path(into).parent == target.parent
            assert into != str(target)
            Path(into).write_bytes(Path(path).read_bytes()[: sent[0]])
            if sent == [2]:
                raise ConnectionResetError("gone")

    target.parent.mkdir()
    target.write_bytes(b"old")
    source.write_bytes(b"whole")
    monkeypatch.setattr(storing, "system_of", lambda *_: (Disk(), str(target)))
    address = parse_address("sftp://host/there/c.parquet")
    for says in ("host cannot be reached", "4 bytes of 5 arrived"):
        with pytest.raises(CorpusError, match=says):
            storing.store(address, source, lambda _: None)
        assert {one.name: one.read_bytes() for one in target.parent.iterdir()} == {"c.parquet": b"old"}
        sent[0] += 2
    assert storing.store(address, source, lambda _: None) == 5
    assert {one.name: one.read_bytes() for one in target.parent.iterdir()} == {"c.parquet": b"whole"}


def table_of(path):
    """The name of each source with its words, each with its count, in the order in which they first occur."""
    table = []
    for source in Corpus.from_counts(path).sources:
        starts, counts = [0, *source.ends[:-1].tolist()], source.counts.tolist()
        spans = zip(starts, source.ends.tolist(), counts, strict=True)
        table.append((source.name, [(bytes(source.data[start:end]), count) for start, end, count in spans]))
    return table


def words_of(path):
    for source in Corpus.from_counts(path).sources:
        starts = [0, *source.ends[:-1].tolist()]
        yield from (source.data[start:end] for start, end in zip(starts, source.ends.tolist(), strict=True))
