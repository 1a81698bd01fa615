"""The command `count`: the table, here and on a cluster, and training on it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
from types import SimpleNamespace

import distributed
import pytest

from tokstudio import Corpus, TrainingConfig, cli, train
from tokstudio.cli import counting
from tokstudio.core.corpus.readers.folders import Entry
from tokstudio.core.pretokenization.count_words import WordCounter

WORDS = ["the cat ", "a hat\n", "isn't 12 ", "dogs <e> and\n", "日本 "]


@pytest.fixture
def files(tmp_path):
    """Five files: texts, a folder with two of them, a compressed one and a data set."""
    folder = tmp_path / "folder"
    folder.mkdir()
    texts = ["".join(WORDS[number:] * 40) for number in range(5)]
    (tmp_path / "a.txt").write_text(texts[0])
    (folder / "b.txt").write_text(texts[1])
    (folder / "c.txt").write_text(texts[2])
    (tmp_path / "d.txt.gz").write_bytes(gzip.compress(texts[3].encode()))
    rows = [{"text": texts[4], "lang": lang} for lang in ("en", "ja", "en")]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [str(tmp_path / name) for name in ("a.txt", "folder", "d.txt.gz", "e.jsonl")]


def counted(files, out, *more):
    assert cli.main(["count", *files, "--pattern", "gpt2", "--special=<e>", "--out", str(out), *more]) == 0
    return out.read_bytes()


def test_counts_train_as_the_texts_with_their_settings(files, tmp_path):
    counted(files, tmp_path / "counts.parquet")
    by_counts, by_texts = tmp_path / "counts.csv", tmp_path / "texts.csv"
    where = ["--counts", str(tmp_path / "counts.parquet")]
    assert cli.main(["train", *where, "--vocab-size", "300", "--export", f"merges-csv={by_counts}"]) == 0
    settings = ["--pattern", "gpt2", "--special=<e>", "--vocab-size", "300"]
    assert cli.main(["train", *files, *settings, "--export", f"merges-csv={by_texts}"]) == 0
    assert by_counts.read_bytes() == by_texts.read_bytes()


def test_other_settings_than_those_of_the_counts_are_refused(files, tmp_path, capsys):
    counted(files, tmp_path / "counts.parquet")
    where = ["train", "--counts", str(tmp_path / "counts.parquet"), "--vocab-size", "300"]
    capsys.readouterr()
    assert cli.main([*where, "--pattern", "cl100k"]) == 1
    assert 'was counted with the pattern "gpt2"' in capsys.readouterr().err
    assert cli.main([*where, "--special=<x>"]) == 1
    assert 'was counted with "<e>"' in capsys.readouterr().err


def test_what_a_document_is_is_taken_from_the_counts_and_refused_otherwise(tmp_path, capsys):
    text = tmp_path / "a.txt"
    text.write_text("x\n\n\n\n" * 50)
    merges = {}
    for documents in ("file", "line"):
        table = tmp_path / f"{documents}.parquet"
        assert cli.main(["count", str(text), "--pattern=gpt2", f"--out={table}", f"--documents={documents}"]) == 0
        capsys.readouterr()
        assert cli.main(["train", str(text), f"--counts={table}", "--vocab-size=300", "--json"]) == 0
        merges[documents] = json.loads(capsys.readouterr().out)["merges"]
    assert merges["line"] == 0 < merges["file"]
    refused = "line.parquet was counted with --documents line: choose it, or count the texts again.\n"
    for others in (["--documents=file"], [f"--counts={tmp_path / 'file.parquet'}"]):
        assert cli.main(["train", *others, f"--counts={tmp_path / 'line.parquet'}", "--vocab-size=300"]) == 1
        assert capsys.readouterr().err.endswith(refused)


def test_the_summary_and_json_tell_sources_and_words(files, tmp_path, capsys):
    counted(files, tmp_path / "counts.parquet")
    said = capsys.readouterr().err
    assert "of 5 sources: " in said
    assert "e.jsonl: column text." in said
    counted(files, tmp_path / "counts.parquet", "--json", "--split-by", "lang")
    told = json.loads(capsys.readouterr().out)
    names = [source["name"] for source in told["sources"]]
    assert names == ["a.txt", "b.txt", "c.txt", "d.txt.gz", "e.jsonl: en", "e.jsonl: ja"]
    assert told["file"] == str(tmp_path / "counts.parquet")
    text = "".join("".join(WORDS[number:] * 40) * (3 if number == 4 else 1) for number in range(5))
    assert told["special_tokens"] == {"<e>": text.count("<e>")}


def test_a_division_does_not_change_the_words_or_their_order(files, tmp_path, capsys):
    counted(files, tmp_path / "whole.parquet")
    counted(files, tmp_path / "divided.parquet", "--split-by", "lang")
    assert "e.jsonl: column text; 2 values of lang (en, ja)." in capsys.readouterr().err
    config = TrainingConfig(vocabulary_size=300, pattern="gpt2", special_tokens=["<e>"])
    runs = [train(Corpus.from_counts(tmp_path / f"{name}.parquet"), config).run for name in ("whole", "divided")]
    assert runs[0].merges.tolist() == runs[1].merges.tolist()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--pattern", "none"], "choose a pattern, such as gpt2"),
        (["--pattern", "("], "pattern"),
        (["--pattern", "gpt2", "--field", "nothing"], "nothing"),
    ],
)
def test_what_cannot_be_counted_is_said_and_nothing_is_written(files, tmp_path, capsys, wrong, said):
    out = tmp_path / "counts.parquet"
    assert cli.main(["count", *files, "--out", str(out), *wrong]) == 1
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_a_missing_file_is_said(tmp_path, capsys):
    assert cli.main(["count", str(tmp_path / "x.txt"), "--pattern", "gpt2", "--out", str(tmp_path / "c.parquet")]) == 1
    assert "x.txt: no such file or folder" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_said_before_counting(files, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(WordCounter, "add_work", lambda *_: pytest.fail("counted"))
    out = tmp_path / "missing" / "counts.parquet"
    assert cli.main(["count", *files, "--pattern", "gpt2", "--out", str(out)]) == 1
    assert "missing does not exist" in capsys.readouterr().err


def test_what_has_no_words_is_not_written(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("<e>")
    where = ["--special=<e>", "--out", str(tmp_path / "counts.parquet")]
    assert cli.main(["count", str(tmp_path / "a.txt"), "--pattern", "gpt2", *where]) == 1
    assert "There are no words in these texts: nothing was written." in capsys.readouterr().err
    assert not (tmp_path / "counts.parquet").exists()


def test_standard_input_is_refused_with_a_way_out(tmp_path, capsys):
    assert cli.main(["count", "-", "--pattern", "gpt2", "--out", str(tmp_path / "counts.parquet")]) == 1
    assert "Standard input cannot be counted: give files." in capsys.readouterr().err


def test_a_file_that_is_given_twice_counts_twice_for_train_and_count_and_that_is_said(files, tmp_path, capsys):
    note = {"name": "a.txt", "note": "given twice: it counts each time"}
    counted([files[0], files[0]], tmp_path / "counts.parquet", "--json")
    told = json.loads(capsys.readouterr().out)
    assert [source["name"] for source in told["sources"]] == ["a.txt", "a.txt"]
    assert told["source_notes"] == [note]
    words = ["--vocab-size", "265", "--pattern", "gpt2", "--special=<e>", "--json"]
    assert cli.main(["train", files[0], files[0], *words]) == 0
    assert cli.main(["train", files[0], "--weight", "a.txt=2", *words]) == 0
    assert cli.main(["train", "--counts", str(tmp_path / "counts.parquet"), "--vocab-size", "265", "--json"]) == 0
    twice, weighted, of_counts = map(json.loads, capsys.readouterr().out.splitlines())
    assert twice["tokens"] == weighted["tokens"] == of_counts["tokens"]
    assert twice["source_notes"] == [note]
    assert cli.main(["train", files[0], str(tmp_path / "folder" / ".." / "a.txt"), *words[:-1]]) == 0
    assert "a.txt: given twice: it counts each time.\n" in capsys.readouterr().err


# ---- on a cluster


@pytest.mark.parametrize(
    ("sizes", "lengths"),
    [([101, 99, 102, 98, 100, 97, 103, 100], [2, 2, 2, 2]), ([5], [1]), ([900, 1, 1], [1, 2]), ([1, 1, 900], [2, 1])],
)
def test_files_are_counted_in_a_few_tasks_of_about_the_same_size(tmp_path, sizes, lengths):
    entries = [Entry(tmp_path / str(number)) for number in range(len(sizes))]
    for entry, size in zip(entries, sizes, strict=True):
        entry.path.write_bytes(b"a" * size)
    shards = list(counting._shards(entries, 4))
    assert [entry for shard in shards for entry in shard] == entries
    assert [len(shard) for shard in shards] == lengths


def two_processes():
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "silence_logs": 50}
    return distributed.LocalCluster(n_workers=2, **options)


@pytest.fixture(scope="module")
def workers():
    """A cluster of two processes."""
    with two_processes() as made, pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_PATIENCE", 0.01)
        yield made


def test_a_cluster_writes_the_same_bytes(files, tmp_path, workers):
    alone = counted(files, tmp_path / "alone.parquet")
    assert counted(files, tmp_path / "cluster.parquet", "--dask", workers.scheduler_address) == alone


def test_a_cluster_counts_divided_data_sets_in_the_order_of_their_rows(tmp_path, workers):
    rows = [(language, text) for text in WORDS for language in ("de", "en")]
    for number in range(4):
        lines = (json.dumps({"lang": language, "text": f"{text}{number}"}) + "\n" for language, text in rows[number:])
        (tmp_path / f"{number}.jsonl").write_text("".join(lines))
    files = [str(tmp_path / f"{number}.jsonl") for number in range(4)]
    whole = counted(files, tmp_path / "whole.parquet")
    alone = counted(files, tmp_path / "alone.parquet", "--split-by", "lang")
    there = ["--split-by", "lang", "--dask", workers.scheduler_address]
    assert counted(files, tmp_path / "cluster.parquet", *there) == alone != whole
    config = TrainingConfig(vocabulary_size=275, pattern="gpt2", special_tokens=["<e>"])
    runs = [train(Corpus.from_counts(tmp_path / f"{name}.parquet"), config).run for name in ("whole", "cluster")]
    assert runs[0].merges.tolist() == runs[1].merges.tolist()


def test_what_was_dropped_is_said_of_a_cluster_too(tmp_path, workers, capsys):
    (tmp_path / "a.jsonl").write_text('{"text": "a b"}\n{"text": \n{"text": "c"}\n')
    counted([str(tmp_path / "a.jsonl")], tmp_path / "counts.parquet", "--dask", workers.scheduler_address)
    assert "a.jsonl: column text; 1 broken row dropped (line 2)." in capsys.readouterr().err


def test_a_cluster_without_workers_is_one_sentence(files, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(counting, "time", SimpleNamespace(sleep=lambda seconds: None))
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0", silence_logs=50) as empty:
        where = ["--dask", empty.scheduler_address, "--out", str(tmp_path / "counts.parquet")]
        assert cli.main(["count", *files, "--pattern", "gpt2", *where]) == 1
    assert "the scheduler has no workers; start some." in capsys.readouterr().err


def test_the_files_of_a_large_folder_stay_one_source_on_a_cluster(tmp_path, workers):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(70):
        (folder / f"{number:02}.txt").write_text(WORDS[number % 5] * (number + 1))
    alone = counted([str(folder)], tmp_path / "alone.parquet")
    assert len(Corpus.from_counts(tmp_path / "alone.parquet").sources) == 1
    assert counted([str(folder)], tmp_path / "cluster.parquet", "--dask", workers.scheduler_address) == alone


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such signal")
def test_the_files_of_a_killed_worker_are_counted_again(files, tmp_path, monkeypatch):
    alone = counted(files, tmp_path / "alone.parquet")
    result = counting._result_work
    monkeypatch.setattr(counting, "_PATIENCE", 0.01)
    with two_processes() as workers:
        worker = next(iter(workers.workers.values()))
        worker.close_gracefully()  # then it is not started again
        victim = worker.pid

        def killing(last, futures):
            os.kill(victim, signal.SIGKILL)
            return (yield from result(last, futures))

        monkeypatch.setattr(counting, "_result_work", killing)
        assert counted(files, tmp_path / "cluster.parquet", "--dask", workers.scheduler_address) == alone
    with pytest.raises(ProcessLookupError):
        os.kill(victim, 0)


def test_an_error_of_a_worker_is_said(files, tmp_path, workers, capsys):
    (tmp_path / "a.txt").write_bytes(os.urandom(1 << 16))
    where = ["--dask", workers.scheduler_address, "--out", str(tmp_path / "counts.parquet")]
    assert cli.main(["count", *files, "--pattern", "gpt2", *where]) == 1
    assert "a.txt" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x", "127.0.0.1:notaport"])
def test_an_address_that_does_not_answer_is_one_sentence(files, tmp_path, monkeypatch, capsys, address):
    monkeypatch.setattr(counting, "_SECONDS", 0.1)
    where = ["--dask", address, "--out", str(tmp_path / "counts.parquet")]
    assert cli.main(["count", *files, "--pattern", "gpt2", *where]) == 1
    said = capsys.readouterr().err.strip().splitlines()
    assert said[-1] == f"tokstudio: --dask {address}: no scheduler answered there within 0.1 s."


def test_a_server_that_accepts_and_says_nothing_is_one_sentence(files, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        # In a process of its own: `distributed` keeps a thread that waits for the answer.
        code = "import sys; from tokstudio import cli; from tokstudio.cli import counting; counting._SECONDS = 1\n"
        code += "sys.exit(cli.main(sys.argv[1:]))"
        where = ["--pattern", "gpt2", "--dask", address, "--out", str(tmp_path / "counts.parquet")]
        command = [sys.executable, "-c", code, "count", *files, *where]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == f"tokstudio: --dask {address}: no scheduler answered there within 1 s."


def test_without_dask_it_is_said_what_to_install(files, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    where = ["--dask", "local", "--out", str(tmp_path / "counts.parquet")]
    assert cli.main(["count", *files, "--pattern", "gpt2", *where]) == 1
    assert "install tokstudio[dask]" in capsys.readouterr().err
