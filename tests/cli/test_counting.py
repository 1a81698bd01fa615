"""The command `count`: the table, here and on a cluster, and training on it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import json
import os
import socket
import sys
import threading
from contextlib import chdir
from types import SimpleNamespace

import pytest

from tests.cli.clusters import cluster_here, kills_a_worker, worker_to_kill
from tokstudio import Corpus, CorpusError, TrainingConfig, train
from tokstudio.cli import cluster, counting
from tokstudio.cli.cluster import local_cluster
from tokstudio.core.corpus.readers import folders
from tokstudio.core.pretokenization.count_words import Counting, WordCounter

WORDS = ["the cat ", "a hat\n", "isn't 12 ", "dogs <e> and\n", "日本 "]
FILES = "a.txt folder d.txt.gz e.jsonl"


@pytest.fixture
def files(write):
    """Five files: texts, a folder with two of them, a compressed one and a data set."""
    texts = ["".join(WORDS[number:] * 40) for number in range(5)]
    write("a.txt", texts[0])
    write("folder/b.txt", texts[1])
    write("folder/c.txt", texts[2])
    write("d.txt.gz", gzip.compress(texts[3].encode()))
    rows = [{"text": texts[4], "lang": lang} for lang in ("en", "ja", "en")]
    write("e.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def counted(tmp_path, run):
    """Counts files, and gives the bytes of the table."""

    def count(files, name="counts", *more):
        run(0, f"count {files} --pattern gpt2 --special=<e> --out {name}.parquet", *more)
        return (tmp_path / f"{name}.parquet").read_bytes()

    return count


def merges_of(folder, *names):
    config = TrainingConfig(vocabulary_size=275, pattern="gpt2", special_tokens=["<e>"])
    return [train(Corpus.from_counts(folder / f"{name}.parquet"), config).merges.tolist() for name in names]


def test_counts_train_as_the_texts_with_their_settings(files, counted, tmp_path, run):
    counted(FILES)
    run(0, "train --counts counts.parquet --vocab-size 300 --export merges-csv=counts.csv")
    run(0, f"train {FILES} --pattern gpt2 --special=<e> --vocab-size 300 --export merges-csv=texts.csv")
    assert (tmp_path / "counts.csv").read_bytes() == (tmp_path / "texts.csv").read_bytes()
    where = "train --counts counts.parquet --vocab-size 300"
    run(1, where, "--pattern cl100k", says='was counted with the pattern "gpt2"')
    run(1, where, "--special=<x>", says='was counted with "<e>"')


def test_what_a_document_is_is_taken_from_the_counts_and_refused_otherwise(write, run):
    write("a.txt", "x\n\n\n\n" * 50)
    merges = {}
    for documents in ("file", "line"):
        run(0, f"count a.txt --pattern=gpt2 --out={documents}.parquet --documents={documents}")
        merges[documents] = run(0, f"train a.txt --counts={documents}.parquet --vocab-size=300 --json").json["merges"]
    assert merges["line"] == 0 < merges["file"]
    refused = "line.parquet was counted with --documents line: choose it, or count the texts again.\n"
    for others in ("--documents=file", "--counts=file.parquet"):
        run(1, f"train {others} --counts=line.parquet --vocab-size=300", says=refused)


def test_the_summary_and_json_tell_sources_and_words(files, run):
    words = f"count {FILES} --pattern gpt2 --special=<e> --out counts.parquet"
    said = run(0, words).err
    assert "of 5 sources: " in said
    assert "e.jsonl: column text." in said
    told = run(0, words, "--json --split-by lang").json
    names = [source["name"] for source in told["sources"]]
    assert names == ["a.txt", "b.txt", "c.txt", "d.txt.gz", "e.jsonl: en", "e.jsonl: ja"]
    assert told["file"] == "counts.parquet"
    text = "".join("".join(WORDS[number:] * 40) * (3 if number == 4 else 1) for number in range(5))
    assert told["special_tokens"] == {"<e>": text.count("<e>")}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (f"{FILES} --pattern none", "choose a pattern, such as gpt2"),
        (f"{FILES} --pattern (", "pattern"),
        (f"{FILES} --pattern gpt2 --field nothing", "nothing"),
        ("x.txt --pattern gpt2", "x.txt: no such file or folder"),
        ("- --pattern gpt2", "Standard input cannot be counted: give files."),
        ("empty.txt --pattern gpt2 --special=<e>", "There are no words in these texts: nothing was written."),
    ],
)
def test_what_cannot_be_counted_is_said_and_nothing_is_written(files, write, tmp_path, run, words, said):
    write("empty.txt", "<e>")
    run(1, f"count {words} --out counts.parquet", says=said)
    assert not (tmp_path / "counts.parquet").exists()


def test_a_place_that_cannot_be_written_is_said_before_counting(files, monkeypatch, run):
    monkeypatch.setattr(WordCounter, "add_work", lambda *_: pytest.fail("counted"))
    run(1, f"count {FILES} --pattern gpt2 --out missing/counts.parquet", says="missing does not exist")


def test_a_file_that_is_given_twice_counts_twice_for_train_and_count_and_that_is_said(files, run):
    note = {"name": "a.txt", "note": "given twice: it counts each time"}
    told = run(0, "count a.txt a.txt --pattern gpt2 --special=<e> --out counts.parquet --json").json
    assert [source["name"] for source in told["sources"]] == ["a.txt", "a.txt"]
    assert told["source_notes"] == [note]
    words = "--vocab-size 265 --pattern gpt2 --special=<e>"
    twice = run(0, f"train a.txt a.txt {words} --json").json
    weighted = run(0, f"train a.txt --weight a.txt=2 {words} --json").json
    of_counts = run(0, "train --counts counts.parquet --vocab-size 265 --json").json
    assert twice["tokens"] == weighted["tokens"] == of_counts["tokens"]
    assert twice["source_notes"] == [note]
    run(0, f"train a.txt folder/../a.txt {words}", says="a.txt: given twice: it counts each time.\n")


# --- On a cluster -----------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def few_tasks(monkeypatch):
    """Divides the words into few partitions, as there is a task for each two of them."""
    monkeypatch.setattr(counting, "PARTITIONS", 4)


@pytest.mark.parametrize(
    ("sizes", "lengths"),
    [([101, 99, 102, 98, 100, 97, 103, 100], [2, 2, 2, 2]), ([5], [1]), ([900, 1, 1], [1, 2]), ([1, 1, 900], [2, 1])],
)
def test_neighbouring_files_are_put_into_a_few_groups_of_about_the_same_size(sizes, lengths):
    groups = list(cluster.neighbours(range(len(sizes)), sizes, 4))
    assert [file for group in groups for file in group] == [*range(len(sizes))]
    assert [len(group) for group in groups] == lengths


def test_each_worker_has_two_tasks_of_about_the_same_size(write, counted, monkeypatch, dask):
    shards, work = [], Counting.count_work

    def noted(self, entries, **options):
        shards.append([entry.path.name for entry in entries])
        return work(self, entries, **options)

    monkeypatch.setattr(Counting, "count_work", noted)
    names = [write(f"{number}.txt", b"a" * size).name for number, size in enumerate((10, 10, 10, 10, 20, 20))]
    counted(" ".join(names), "counts", dask)
    assert sorted(shards) == [names[:2], names[2:4], names[4:5], names[5:]]


def test_a_cluster_counts_divided_data_sets_in_the_order_of_their_rows(counted, write, tmp_path, dask):
    rows = [(language, text) for text in WORDS for language in ("de", "en")]
    for number in range(4):
        lines = (json.dumps({"lang": language, "text": f"{text}{number}"}) + "\n" for language, text in rows[number:])
        write(f"{number}.jsonl", "".join(lines))
    files = "0.jsonl 1.jsonl 2.jsonl 3.jsonl"
    alone = counted(files, "alone", "--split-by lang")
    assert counted(files, "cluster", "--split-by lang", dask) == alone != counted(files, "whole")
    whole, cluster = merges_of(tmp_path, "whole", "cluster")
    assert whole == cluster


def test_the_files_of_a_large_folder_stay_one_source_on_a_cluster(counted, write, tmp_path, monkeypatch, dask):
    monkeypatch.setattr(folders, "MOST_APART", 6)
    for number in range(7):
        write(f"many/{number}.txt", WORDS[number % 5] * (number + 1))
    alone = counted("many", "alone")
    assert len(Corpus.from_counts(tmp_path / "alone.parquet").sources) == 1
    assert counted("many", "cluster", dask) == alone


def test_what_was_dropped_and_an_error_of_a_worker_are_said(write, dask, run):
    write("a.jsonl", '{"text": "a b"}\n{"text": \n{"text": "c"}\n')
    write("b.txt", os.urandom(1 << 16))
    words = f"--pattern gpt2 --out counts.parquet {dask}"
    run(0, f"count a.jsonl {words}", says="a.jsonl: column text; 1 broken row dropped (line 2).")
    run(1, f"count b.txt {words}", says="b.txt")


@pytest.mark.parametrize(("partitions", "least"), [(1, 40), (3, 1), (6, 41)])
def test_rare_words_are_left_out_by_the_workers_as_here(
    files, write, tmp_path, monkeypatch, run, dask, partitions, least
):
    """Some words are rare in some of the files, others in all together."""
    monkeypatch.setattr(counting, "PARTITIONS", partitions)
    write("a.txt", "the cat " * 39 + "seldom")
    came, leave_out = [], counting._frequent

    def noted(*given):
        came.append(leave_out(*given))
        return came[-1]

    monkeypatch.setattr(counting, "_frequent", noted)
    words = f"count {FILES} --pattern gpt2 --special=<e> --min-count {least} --json --out"
    alone, cluster = (run(0, f"{words} {name}.parquet", *more) for name, more in (("alone", ()), ("cluster", (dask,))))
    assert (tmp_path / "alone.parquet").read_bytes() == (tmp_path / "cluster.parquet").read_bytes()
    assert cluster.json | {"file": ""} == alone.json | {"file": ""}
    assert (cluster.json["rare_words"] > 0) is (least > 1)
    assert len(came) == 1 + partitions
    written = Corpus.from_counts(tmp_path / "cluster.parquet").sources
    left = sum(int(source.counts.sum()) for source in written)
    assert sum(int(each.counts.counts.sum()) for each in came[1:]) == left, "no more comes from a worker"


def test_a_cluster_writes_nothing_where_all_words_are_rare_or_there_are_none(files, write, tmp_path, run, dask):
    write("empty.txt", "<e>")
    words = f"--pattern gpt2 --special=<e> --out counts.parquet {dask}"
    run(
        1, f"count {FILES} --min-count 9999 {words}", says="--min-count 9999: every word occurs less often: nothing was"
    )
    run(1, f"count empty.txt --min-count 2 {words}", says="There are no words in these texts: nothing was written.")
    assert not (tmp_path / "counts.parquet").exists()


def test_the_rows_of_a_cluster_come_in_small_parts(write, counted, monkeypatch, dask):
    monkeypatch.setattr(counting, "PARTITIONS", 8)
    for number in range(4):
        write(f"{number}.txt", " ".join(f"{letter}{number * 400 + at}" for at in range(400) for letter in "ab"))
    sizes, save = [], counting.write_counted_blocks_work

    def noted(facts, blocks, path):
        def passed_on():
            for block in blocks:
                sizes.append(len(block.ends))
                yield block

        return save(facts, passed_on(), path)

    monkeypatch.setattr(counting, "write_counted_blocks_work", noted)
    files = "0.txt 1.txt 2.txt 3.txt"
    assert counted(files, "cluster", dask) == counted(files, "alone")
    assert max(sizes) < 1.5 * sum(sizes) / counting.PARTITIONS


def test_a_cluster_that_fails_while_the_table_is_written_leaves_the_old_one(
    files, counted, tmp_path, monkeypatch, run, dask
):
    old, calls, sort = counted("a.txt"), [], counting.sorted_rows

    def failing(blocks):
        calls.append(blocks)
        if len(calls) == counting.PARTITIONS // 2:
            raise CorpusError("This part was lost.")
        return sort(blocks)

    monkeypatch.setattr(counting, "sorted_rows", failing)
    before = sorted(tmp_path.iterdir())
    run(1, f"count {FILES} --pattern gpt2 --special=<e> --out counts.parquet {dask}", says="This part was lost.")
    assert (tmp_path / "counts.parquet").read_bytes() == old
    assert sorted(tmp_path.iterdir()) == before


@kills_a_worker
def test_the_files_of_a_killed_worker_are_counted_again(files, counted, monkeypatch):
    """Also where it is killed with tables that are not yet joined, or with rows that are not yet written."""
    alone, wait, calls = counted(FILES, "alone"), counting.waited_work, []
    with cluster_here(1) as workers:
        for when, number in (("counting", 1), ("joining", 2), ("writing", 2 + counting.PARTITIONS)):
            with worker_to_kill(workers) as kill, monkeypatch.context() as patched:

                def killing(*given, kill=kill, number=number):
                    calls.append(given)
                    if len(calls) == number:
                        kill()
                    return (yield from wait(*given))

                patched.setattr(counting, "waited_work", killing)
                assert counted(FILES, "cluster", "--dask", workers.scheduler_address) == alone, when
            assert len(calls) == 1 + 2 * counting.PARTITIONS
            calls.clear()
        states = {finish for _, _, finish, *_ in workers.scheduler.transition_log}
        assert "queued" not in states, "a queued task may wait without end once a worker died"


def test_processes_of_this_computer_that_run_in_another_folder_give_the_same(files, counted, tmp_path, monkeypatch):
    alone, start, started = counted(FILES, "alone"), local_cluster, []
    monkeypatch.setattr(cluster, "processors", lambda: 7)

    def noted(workers):
        with chdir(tmp_path.parent):
            started.append((workers, start(1)))
        return started[0][1]

    monkeypatch.setattr(cluster, "local_cluster", noted)
    assert counted(FILES, "cluster", "--dask local") == alone
    assert [(asked, len(workers.workers)) for asked, workers in started] == [(7, 0)], "one per core; they have ended"


def test_a_cluster_without_workers_is_one_sentence(files, monkeypatch, run):
    monkeypatch.setattr(cluster, "time", SimpleNamespace(sleep=lambda seconds: None))
    with cluster_here(0) as empty:
        words = f"--pattern gpt2 --dask {empty.scheduler_address} --out counts.parquet"
        run(1, f"count {FILES} {words}", says="the scheduler has no workers; start some.")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x", "127.0.0.1:notaport", "silent"])
def test_an_address_that_does_not_answer_is_one_sentence(files, monkeypatch, run, address):
    monkeypatch.setattr(cluster, "_SECONDS", 0.1)
    before = {*threading.enumerate()}
    with socket.create_server(("127.0.0.1", 0)) as accepts:
        if address == "silent":  # accepts, and says nothing
            address = f"tcp://127.0.0.1:{accepts.getsockname()[1]}"
        said = run(1, f"count {FILES} --pattern gpt2 --dask {address} --out counts.parquet").err.strip().splitlines()
    assert said[-1] == f"tokstudio: --dask {address}: no scheduler answered there within 0.1 s."
    for thread in {thread for thread in threading.enumerate() if not thread.daemon} - before:
        thread.join(60)  # `distributed` waits for the answer until the server is gone


def test_without_dask_it_is_said_what_to_install(files, monkeypatch, run):
    monkeypatch.setitem(sys.modules, "distributed", None)
    run(1, f"count {FILES} --pattern gpt2 --dask local --out counts.parquet", says="install tokstudio[dask]")
