"""Projects on the command line: their content, and their runs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.cli.fifty import FIFTY
from tokstudio import Corpus, Tokenizer, TrainingConfig, load, train
from tokstudio.core.analysis.token_store import hash_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.source import Source
from tokstudio.core.project import (
    Project,
    ProjectRun,
    keep_changed_work,
    keep_source_work,
    keep_tokenizer_work,
    save_work,
)


@pytest.fixture
def runs():
    return {
        name: train(Corpus.from_text(FIFTY * 9), TrainingConfig(vocabulary_size=size)).run
        for name, size in (("Run 1", 270), ("日本 2", 280))
    }


@pytest.fixture
def project(tmp_path, tokenizer, runs):
    source = finish(keep_source_work(Source.from_texts([FIFTY * 9])))
    opened = finish(keep_tokenizer_work("theirs", [Path(tokenizer)]))
    entries = [ProjectRun(name, run, (0,)) for name, run in runs.items()]
    finish(save_work(Project((source,), (*entries, opened), 1), tmp_path / "a b.tokstudio"))
    return ["a b.tokstudio"]


def test_a_project_is_listed_in_words_and_as_json(project, run):
    lines = run(0, "inspect", project).out.splitlines()
    assert lines[0] == "Format   TokStudio project"
    assert lines[1].startswith("Source   Pasted text, ")
    assert lines[1].endswith(" bytes, saved in the project")
    assert [line for line in lines if line.startswith("Run ")][:2] == [
        "Run      Run 1: Plain BPE, 14 merges, 270 tokens, pattern none, reached vocabulary size",
        "Run      日本 2: Plain BPE, 24 merges, 280 tokens, pattern none, reached vocabulary size, active",
    ]
    assert lines[-2].startswith("Run      theirs: opened from a file (")
    assert len(lines[-1].split("SHA-256 ")[1]) == 64
    told = run(0, "inspect --json", project).json
    assert [run.get("merges") for run in told["runs"]] == [14, 24, None]
    assert told["sources"][0]["bytes"] == len((FIFTY * 9).encode())


def test_weights_filters_the_tie_rule_and_hashes_of_a_project_are_shown(write, tmp_path, run):
    rows = ["the cat sat on the mat"] * 3 + ["short", "the rat and the hat, and so on"]
    data = write("rows.jsonl", "".join(json.dumps({"text": row, "n": 1}) + "\n" for row in rows))
    notes = write("notes.txt", "und der Hund und die Katze\n" * 3)
    reading = Reading(field="text", least_characters=10, most_characters=25, deduplicate=True)
    filtered = finish(Corpus.from_files_work([data], reading=reading))
    corpus = Corpus((*filtered.sources, *Corpus.from_files([notes]).sources)).with_weights({"notes.txt": 2.5})
    config = TrainingConfig(vocabulary_size=265, tie_break="bytes", held_out=0, forbidden=("letters-with-digits",))
    trained = train(corpus, config).run
    kept = [finish(keep_source_work(source)) for source in corpus.sources]
    sources = tuple(replace(source, weight=weight) for source, weight in zip(kept, (1000, 2500), strict=True))
    changed = finish(keep_changed_work("small", Tokenizer.from_run(trained)))
    changed = replace(changed, state={"change": "pruned", "made_of": "Run 1"})
    finish(save_work(Project(sources, (ProjectRun("Run 1", trained, (0, 1)), changed), 0), tmp_path / "p.tokstudio"))
    lines = run(0, "inspect p.tokstudio").out.splitlines()
    texts = [np.asarray(source.data).tobytes() for source in corpus.sources]
    assert texts[0] == b"the cat sat on the mat" + b"the rat and the hat, and "
    documents = [texts[0][:22], texts[0][22:], texts[1]]
    own = hashlib.sha256(b"".join(struct.pack("<Q", len(text)) + text for text in documents)).hexdigest()
    size = len(texts[0]) + 2.5 * len(texts[1])
    assert lines[1:] == [
        f"Source   rows.jsonl, {len(texts[0])} bytes, {data}",
        "         read: column text, documents of fewer than 10 characters left out, documents cut after 25 "
        "characters, documents that occurred before left out",
        f"         SHA-256 {hashlib.sha256(texts[0]).hexdigest()}",
        f"Source   notes.txt, {len(texts[1])} bytes, {notes}, weight 2.5",
        f"         SHA-256 {hashlib.sha256(texts[1]).hexdigest()}",
        "Run      Run 1: Plain BPE, 9 merges, 265 tokens, pattern none, reached vocabulary size, active",
        "         tie rule bytes, vocabulary size 265, forbidden letters-with-digits",
        "         weights: rows.jsonl 1, notes.txt 2.5",
        f"         trained on {size:,} bytes of a corpus with the SHA-256 {own}",
        f"         tokenizer SHA-256 {finish(hash_work(Tokenizer.from_run(trained)))}",
        "Run      small: pruned from Run 1",
        f"         {changed.files[0].name}, SHA-256 {hashlib.sha256(changed.files[0].content).hexdigest()}",
    ]
    told = run(0, "inspect p.tokstudio --json").json
    assert told["sources"][0]["reading"] == reading.to_json()
    assert [source["weight"] for source in told["sources"]] == [1, 2.5]
    assert (told["runs"][0]["tie_break"], told["runs"][0]["corpus_sha256"]) == ("bytes", own)
    assert [each["weight"] for each in told["runs"][0]["weights"]] == [1, 2.5]


def test_a_project_of_the_command_line_has_no_sources_but_knows_their_names(write, run):
    rows = "".join(json.dumps({"text": row, "lang": row[:2]}) + "\n" for row in ("en cat", "de Katze"))
    for name in ("rows.jsonl", "more.jsonl"):
        write(name, rows)
    words = "--vocab-size 270 --weight en=5 --project j.tokstudio -q"
    run(0, f"train rows.jsonl more.jsonl --field text --split-by lang --join-values {words}")
    assert "         weights: en 5, de 1" in run(0, "inspect j.tokstudio").out.splitlines()
    run(0, "train rows.jsonl more.jsonl --vocab-size 270 --weight more.jsonl=3 --project q.tokstudio -q")
    assert "         weights: rows.jsonl 1, more.jsonl 3" in run(0, "inspect q.tokstudio").out.splitlines()


@pytest.mark.parametrize(
    ("name", "told"), [([], "choose a run with --run"), (["--run", "Run 9"], 'no run is called "Run 9"')]
)
def test_one_of_several_runs_must_be_chosen(project, run, name, told):
    whole = f'a b.tokstudio: {told}; the runs are: "Run 1", "日本 2", "theirs".'
    run(1, "convert", project, "out.json --format huggingface", name, says=whole)


def test_a_run_of_a_project_is_converted_with_equal_ids(project, runs, tokenizer, tmp_path, run):
    out = tmp_path / "out.json"
    run(0, "convert", project, "out.json --format huggingface --run", ["日本 2"], says="identical on the test text")
    assert load(out).merges.tolist() == runs["日本 2"].merges.tolist()
    run(0, "convert", project, "out.json --format huggingface --run theirs --force")
    assert load(out).encode(FIFTY) == load(tokenizer).encode(FIFTY)
