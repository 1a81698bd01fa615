"""`encode` of a data set into shards: the same files here, on a cluster and after a kill; and what is said."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from tests.cli.clusters import cluster_here, kills_a_worker, worker_to_kill
from tokstudio import Corpus, Reading, TrainingConfig, encode_dataset, load, save, train
from tokstudio.cli import shards
from tokstudio.core.shards import encoding

END = "<|endoftext|>"
_rng = random.Random(5)
TEXTS = [
    " ".join(_rng.choices(["the", "cat", "sät", "日本", "on\n", END], k=_rng.choice([0, 3, 30]))) for _ in range(240)
]
FILES = "data.jsonl.gz shards b.txt"
ENCODE = f"encode {FILES} --tokenizer mine.json --field text --append-eos --shard-tokens 800 --documents line"


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer") / "mine.json"
    config = TrainingConfig(vocabulary_size=300, pattern="gpt2", special_tokens=[END])
    save(train(Corpus.from_text("the cat sät on the mat\n日本 12 " * 30), config), path, format="huggingface")
    return path


@pytest.fixture
def files(write, trained, tmp_path):
    """A compressed file of lines, a folder of shards, and a plain text."""

    def lines(texts):
        return "".join(json.dumps({"text": text, "n": 1}) + "\n" for text in texts)

    write("data.jsonl.gz", gzip.compress(lines(TEXTS[:80]).encode()))
    for number in range(5):
        write(f"shards/part-{number}.jsonl", lines(TEXTS[80 + 32 * number : 112 + 32 * number]))
    write("b.txt", "a line\nanother")
    shutil.copyfile(trained, tmp_path / "mine.json")


@pytest.fixture
def whole(files, tmp_path):
    """The shards of one call of the library."""
    out = tmp_path / "whole"
    given = [tmp_path / name for name in FILES.split()]
    options = {"shard_tokens": 800, "documents": "line", "reading": Reading(field="text")}
    encode_dataset(given, load(tmp_path / "mine.json"), out, end_token=END, **options)
    return tree(out)


def tree(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_data_set_becomes_what_the_library_makes_of_it(whole, tmp_path, run):
    said = run(0, ENCODE, "--out out").err
    assert tree(tmp_path / "out") == whole
    assert f"Encoded {len(TEXTS) + 2} documents, " in said
    assert f" in {(len(whole) - 1) // 2} shards, in out; " in said
    assert f"{TEXTS.count('')} documents have no text." in said
    assert "data.jsonl.gz, shards/part-0.jsonl, shards/part-1.jsonl and 3 more: column text." in said
    assert "b.txt: plain text has no column" in said
    ids = np.concatenate([np.load(path) for path in sorted((tmp_path / "out").glob("shard-?????.npy"))])
    tokenizer = load(tmp_path / "mine.json")
    assert tokenizer.decode(ids) == "".join(text + END for text in (*TEXTS, "a line\n", "another"))
    again = run(0, ENCODE, "--out out").err
    assert again.endswith("out has these shards already, of files with these names and sizes: nothing was encoded.\n")
    made = run(0, ENCODE, "--out out --json").json
    assert made["tokens"] == len(ids) == sum(shard["tokens"] for shard in made["shards"])


def test_forms_types_and_special_tokens_are_chosen(files, tmp_path, run):
    run(0, "encode b.txt --tokenizer mine.json --format bin --format parquet --dtype uint32 --out out")
    assert sorted(tree(tmp_path / "out")) == [
        "manifest.json", "shard-00000.bin", "shard-00000.ends.npy", "shard-00000.parquet",
    ]  # fmt: skip
    ids = np.fromfile(tmp_path / "out/shard-00000.bin", "<u4")
    assert load(tmp_path / "mine.json").decode(ids) == "a line\nanother"
    end = load(tmp_path / "mine.json").special_tokens[END]
    for words, number in (("", 0), ("--allow-special all", 1), ("--allow-special", 1)):
        allowed = [*words.split(), *([END] if words == "--allow-special" else [])]
        out = f"out{len(allowed)}{number}{words[-3:]}"
        run(0, "encode shards --tokenizer mine.json --out", out, allowed)
        found = sum(np.count_nonzero(np.load(path) == end) for path in (tmp_path / out).glob("shard-?????.npy"))
        assert bool(found) == bool(number)


def test_what_is_unusual_is_said(files, write, run):
    write("a.jsonl", '{"text": "one"}\n{"text": 2}\nbroken\n{"text": "four ' + "cat " * 80 + '"}\n')
    said = run(0, "encode a.jsonl --tokenizer mine.json --shard-tokens 50 --out out").err
    assert "a.jsonl: 1 broken row dropped (line 3); 1 row with no text in the column dropped.\n" in said
    assert "1 shard has more tokens: those of one whole document.\n" in said
    write("folder/a.txt", "text")
    write("folder/b.png", b"\x89PNG\r\n\x1a\n")
    run(0, "encode folder --tokenizer mine.json --out out2", says="folder: 1 file skipped: b.png (binary).")
    run(1, "encode a.jsonl --tokenizer mine.json --shard-tokens 60 --out out", says="made with shard_tokens")
    run(1, "encode a.jsonl --tokenizer mine.json --end-token </s> --out out3", says='no special token "</s>"')
    run(1, "encode folder --tokenizer mine.json --out folder/out", says="out: the folder of the shards is in folder")
    run(1, "encode a.jsonl --field body --tokenizer mine.json --shard-tokens 9 --out o", says='no column "body"')


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a b", "a data set needs --out DIR, the folder for the shards"),
        ("--append-eos --out x", "--append-eos needs files or folders"),
        ("- --shard-tokens 5 --out x", "--shard-tokens needs files or folders"),
        ("--text a --dtype uint16 --out x", "--dtype needs files or folders"),
        ("a --shard-tokens 5", "--shard-tokens needs --out DIR"),
        ("a --shard-tokens 0 --out x", '"0" is not a number of tokens, such as 100M or 500000'),
        ("a --shard-tokens 1.5M --out x", '"1.5M" is not a number of tokens'),
        ("a b --out x.npy", "a data set is written into a folder: give --out the name of one, without .npy"),
        ("a b --dropout 0.1 --out x", "--dropout is for one text"),
        ("a --append-eos --end-token </s> --out x", "give either --append-eos or --end-token"),
        ("a --format arrow --out x", "invalid choice: 'arrow'"),
        ("a --dask local --dask-wait -1 --out x", '"-1" is not a number of minutes, such as 30'),
    ],
)
def test_wrong_usage_is_told(run, words, message):
    run(2, "encode --tokenizer t", words, says=message)


def test_how_one_text_is_read_can_be_said_as_well(files, write, run):
    write("a.txt", "Größe\nGröße\nLänge\n".encode("utf-16"))
    tokenizer = load(Path("mine.json"))
    alone = run(0, "encode a.txt --tokenizer mine.json --encoding utf-16").json
    assert alone == tokenizer.encode("Größe\nGröße\nLänge\n")
    lines = run(0, "encode a.txt --tokenizer mine.json --documents line --deduplicate").json
    assert lines == tokenizer.encode("Größe\n") + tokenizer.encode("Länge\n")


# --- Ended and continued ----------------------------------------------------------------------------------------------


def test_an_interrupted_command_says_that_it_can_be_continued(whole, tmp_path, monkeypatch, run):
    monkeypatch.setattr(encoding, "CHUNK", 500)
    encode_work = shards.encode_units_work

    def interrupted(*arguments):
        for progress in encode_work(*arguments):
            if (tmp_path / "out/shard-00001.npy").exists():
                signal.raise_signal(signal.SIGINT)
            yield progress

    with monkeypatch.context() as patched:
        patched.setattr(shards, "encode_units_work", interrupted)
        run(130, ENCODE, "--out out", says="out: its complete shards stay, and the same command goes on after them.\n")
    assert set(tree(tmp_path / "out")) < set(whole)
    run(0, ENCODE, "--out out", says=" of which were there, in out; ")
    assert tree(tmp_path / "out") == whole


# Ends a process of its own after some numbers of moves of files: none, one, all but one, and at each file of a shard.
_KILLED = """
import os, signal, sys
from tokstudio import cli
from tokstudio.core.shards import encoding, dataset

encoding.CHUNK = 500
words, replace, made, most = sys.argv[1:], os.replace, 0, None

def counted(*paths):
    global made
    if made == most:
        os.kill(os.getpid(), signal.SIGKILL)
    made += 1
    replace(*paths)

os.replace = counted
cli.main([*words, "--out", "first"])  # loads the loops, once for all
middle = made // 2
for most in 0, 1, middle, middle + 1, middle + 2, made - 1:
    process, made = os.fork(), 0
    if not process:
        os._exit(cli.main([*words, "--out", f"killed{most}"]))
    print(most, os.waitpid(process, 0)[1], flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such signal")
def test_a_killed_command_is_continued_wherever_it_was(whole, tmp_path, run):
    words = [sys.executable, "-c", _KILLED, *ENCODE.split()]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert len(ended.splitlines()) == 6
    for most, status in map(str.split, ended.splitlines()):
        assert int(status) == signal.SIGKILL
        run(0, ENCODE, f"--out killed{most}")
        assert tree(tmp_path / f"killed{most}") == whole, most


# --- On a cluster -----------------------------------------------------------------------------------------------------


def test_a_cluster_makes_the_same_files(whole, tmp_path, monkeypatch, run, dask):
    monkeypatch.setattr(shards, "_DOCUMENTS", 7)
    monkeypatch.setattr(shards, "_IDS", 50)
    run(0, ENCODE, dask, "--out out")
    assert tree(tmp_path / "out") == whole


def test_the_order_in_which_workers_are_done_changes_nothing(whole, tmp_path, monkeypatch, run, dask):
    encode_work, later, names = shards.encode_units_work, threading.Event(), []

    def first_last(units, *arguments, **options):
        if units[0].name == "data.jsonl.gz":
            assert later.wait(60)
        yield from encode_work(units, *arguments, **options)
        names.append(units[0].name)
        if len(names) == 2:
            later.set()

    monkeypatch.setattr(shards, "encode_units_work", first_last)
    run(0, ENCODE, dask, "--out out")
    assert names.index("data.jsonl.gz") >= 2
    assert tree(tmp_path / "out") == whole


@kills_a_worker
def test_what_the_only_worker_had_when_it_died_is_given_to_the_next(whole, tmp_path, monkeypatch, run):
    wait, calls = shards.waited_work, []
    with cluster_here(0) as workers, worker_to_kill(workers) as kill, ExitStack() as next_one:

        def killing(*given):
            calls.append(given)
            if len(calls) == 2:
                kill()
                while workers.scheduler.workers:
                    time.sleep(0.01)
                next_one.enter_context(worker_to_kill(workers))
            return (yield from wait(*given))

        monkeypatch.setattr(shards, "waited_work", killing)
        run(0, ENCODE, f"--dask {workers.scheduler_address} --out out")
    assert tree(tmp_path / "out") == whole


def test_a_cluster_goes_on_where_another_call_was_ended_and_the_other_way_round(
    whole, tmp_path, monkeypatch, run, dask
):
    monkeypatch.setattr(encoding, "CHUNK", 500)
    add_work = shards.encode_units_work
    ended = tmp_path / "out/shard-00002.npy"

    def interrupt(progress_of):
        def work(*arguments):
            for progress in progress_of(*arguments):
                if ended.exists() and len(list(ended.parent.glob("*.npy"))) < 12:
                    raise KeyboardInterrupt
                yield progress

        return work

    with monkeypatch.context() as patched:
        patched.setattr(shards, "encode_units_work", interrupt(add_work))
        run(130, ENCODE, "--out out")
    # What a killed call on a cluster leaves.
    (tmp_path / "out/.parts/000000-ab").mkdir(parents=True)
    assert not set(whole) <= set(tree_of_files(tmp_path / "out"))
    run(0, ENCODE, dask, "--out out", says=" of which were there, ")
    assert tree(tmp_path / "out") == whole
    shutil.rmtree(tmp_path / "out")
    with monkeypatch.context() as patched:
        patched.setattr(shards._OnCluster, "encode_work", interrupt(shards._OnCluster.encode_work))
        run(130, ENCODE, dask, "--out out")
    run(0, ENCODE, "--out out", says=" of which were there, ")
    assert tree(tmp_path / "out") == whole


def test_what_tasks_still_write_while_their_folder_is_removed_goes_too(tmp_path, monkeypatch):
    folder, remove, late = tmp_path / "parts", shutil.rmtree, ["first", "second"]

    def remove_while_a_task_writes(place, **how):
        remove(place, **how)
        if late:
            (place / late.pop()).mkdir(parents=True)

    with shards._emptied(folder):
        monkeypatch.setattr(shutil, "rmtree", remove_while_a_task_writes)
    monkeypatch.undo()
    assert (late, folder.exists()) == ([], False)


def tree_of_files(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.is_file()]


def test_an_error_of_a_worker_is_said_and_nothing_of_it_stays(files, write, run, dask, tmp_path):
    write("zz.jsonl.gz", gzip.compress(b'{"text": "whole"}\n' * 9_000)[:-20])
    words = "encode data.jsonl.gz zz.jsonl.gz --tokenizer mine.json"
    run(1, words, dask, "--out out", says="zz.jsonl.gz: the gzip data ends too early")
    assert not (tmp_path / "out").exists()
    run(1, words, "--out out", says="zz.jsonl.gz: the gzip data ends too early")
    assert not (tmp_path / "out").exists()


def test_without_dask_it_is_said_what_to_install(files, monkeypatch, run, tmp_path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    run(1, ENCODE, "--dask local --out out", says="install tokstudio[dask]")
    assert not os.path.lexists(tmp_path / "out")


def test_no_shards_are_written_beside_the_tokenizer(files, tmp_path, run):
    folder = tmp_path / "mine"
    folder.mkdir()
    (tmp_path / "mine.json").rename(folder / "tokenizer.json")
    for name, out in (("mine", "mine/"), ("mine/tokenizer.json", "mine/"), ("mine", "other/../mine/")):
        last = "mine" if name == "mine" else "tokenizer.json"
        said = f"mine: this folder holds the tokenizer {last}: give the shards a folder of their own."
        run(1, f"encode --tokenizer {name} b.txt --documents line --append-eos --out {out}", says=said)
    assert [path.name for path in folder.iterdir()] == ["tokenizer.json"]
    run(0, "encode --tokenizer mine b.txt --append-eos --out mine/shards/")
