"""Projects on the command line: their content, and their runs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import replace

import numpy as np
import pytest
from fifty import FIFTY

from tokstudio import Corpus, Tokenizer, TrainingConfig, cli, load, train
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
    from pathlib import Path

    source = finish(keep_source_work(Source.from_texts([FIFTY * 9])))
    opened = finish(keep_tokenizer_work("theirs", [Path(tokenizer)]))
    entries = [ProjectRun(name, run, (0,)) for name, run in runs.items()]
    return str(finish(save_work(Project((source,), (*entries, opened), 1), tmp_path / "a b.tokstudio")))


def test_a_project_is_listed_in_words_and_as_json(project, capsys):
    assert cli.main(["inspect", project]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Format   TokStudio project"
    assert lines[1].startswith("Source   Pasted text, ")
    assert lines[1].endswith(" bytes, saved in the project")
    assert [line for line in lines if line.startswith("Run ")][:2] == [
        "Run      Run 1: Plain BPE, 14 merges, 270 tokens, pattern none, reached vocabulary size",
        "Run      日本 2: Plain BPE, 24 merges, 280 tokens, pattern none, reached vocabulary size, active",
    ]
    assert lines[-2].startswith("Run      theirs: opened from a file (")
    assert len(lines[-1].split("SHA-256 ")[1]) == 64
    assert cli.main(["inspect", project, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [run.get("merges") for run in told["runs"]] == [14, 24, None]
    assert told["sources"][0]["bytes"] == len((FIFTY * 9).encode())


def test_weights_filters_the_tie_rule_and_hashes_of_a_project_are_shown(tmp_path, capsys):
    rows = ["the cat sat on the mat"] * 3 + ["short", "the rat and the hat, and so on"]
    data, notes = tmp_path / "rows.jsonl", tmp_path / "notes.txt"
    data.write_text("".join(json.dumps({"text": row, "n": 1}) + "\n" for row in rows), encoding="utf-8")
    notes.write_text("und der Hund und die Katze\n" * 3, encoding="utf-8")
    reading = Reading(field="text", least_characters=10, most_characters=25, deduplicate=True)
    corpus = Corpus(
        (*finish(Corpus.from_files_work([data], reading=reading)).sources, *Corpus.from_files([notes]).sources)
    )
    corpus = corpus.with_weights({"notes.txt": 2.5})
    config = TrainingConfig(vocabulary_size=265, tie_break="bytes", held_out=0, forbidden=("letters-with-digits",))
    run = train(corpus, config).run
    kept = [finish(keep_source_work(source)) for source in corpus.sources]
    sources = tuple(replace(source, weight=weight) for source, weight in zip(kept, (1000, 2500), strict=True))
    changed = finish(keep_changed_work("small", Tokenizer.from_run(run)))
    changed = replace(changed, state={"change": "pruned", "made_of": "Run 1"})
    path = tmp_path / "p.tokstudio"
    finish(save_work(Project(sources, (ProjectRun("Run 1", run, (0, 1)), changed), 0), path))
    assert cli.main(["inspect", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    texts = [np.asarray(source.data).tobytes() for source in corpus.sources]
    assert texts[0] == b"the cat sat on the mat" + b"the rat and the hat, and "
    documents = [texts[0][:22], texts[0][22:], texts[1]]
    own = hashlib.sha256(b"".join(struct.pack("<Q", len(text)) + text for text in documents))
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
        f"         trained on {len(texts[0]) + 2.5 * len(texts[1]):,} bytes of a corpus with the SHA-256 "
        f"{own.hexdigest()}",
        f"         tokenizer SHA-256 {finish(hash_work(Tokenizer.from_run(run)))}",
        "Run      small: pruned from Run 1",
        f"         {changed.files[0].name}, SHA-256 {hashlib.sha256(changed.files[0].content).hexdigest()}",
    ]
    assert cli.main(["inspect", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["sources"][0]["reading"] == reading.to_json()
    assert [source["weight"] for source in told["sources"]] == [1, 2.5]
    assert told["runs"][0]["tie_break"] == "bytes"
    assert [each["weight"] for each in told["runs"][0]["weights"]] == [1, 2.5]
    assert told["runs"][0]["corpus_sha256"] == own.hexdigest()
    # A project of the command line has no sources, but knows their names.
    words = ["train", str(data), str(notes), "--vocab-size", "270", "--weight", "notes.txt=3", "--project"]
    assert cli.main([*words, str(tmp_path / "q.tokstudio"), "-q"]) == 0
    capsys.readouterr()
    assert cli.main(["inspect", str(tmp_path / "q.tokstudio")]) == 0
    assert "         weights: rows.jsonl 1, notes.txt 3" in capsys.readouterr().out.splitlines()
    other = tmp_path / "more.jsonl"
    for file in (data, other):
        file.write_text("".join(json.dumps({"text": row, "lang": row[:2]}) + "\n" for row in ("en cat", "de Katze")))
    words = ["train", str(data), str(other), "--field", "text", "--split-by", "lang", "--join-values", "--vocab-size"]
    assert cli.main([*words, "270", "--weight", "en=5", "--project", str(tmp_path / "j.tokstudio"), "-q"]) == 0
    capsys.readouterr()
    assert cli.main(["inspect", str(tmp_path / "j.tokstudio")]) == 0
    assert "         weights: en 5, de 1" in capsys.readouterr().out.splitlines()


def test_a_run_of_a_project_is_converted_with_equal_ids(project, runs, tokenizer, tmp_path, capsys):
    out = tmp_path / "out.json"
    words = ["convert", project, str(out), "--format", "huggingface"]
    assert cli.main([*words, "--run", "日本 2"]) == 0
    assert "identical over" in capsys.readouterr().err
    assert load(out).merges.tolist() == runs["日本 2"].merges.tolist()
    assert cli.main([*words, "--run", "theirs", "--force"]) == 0
    assert load(out).encode(FIFTY) == load(tokenizer).encode(FIFTY)


def test_one_of_several_runs_must_be_chosen(project, tmp_path, capsys):
    words = ["convert", project, str(tmp_path / "out.json"), "--format", "huggingface"]
    for more, told in (
        ([], 'a b.tokstudio: choose a run with --run; the runs are: "Run 1", "日本 2", "theirs".'),
        (["--run", "Run 9"], 'a b.tokstudio: no run is called "Run 9"; the runs are: "Run 1", "日本 2", "theirs".'),
    ):
        assert cli.main([*words, *more]) == 1
        assert told in capsys.readouterr().err


def test_the_run_option_needs_a_project(tokenizer, tmp_path, capsys):
    words = ["convert", tokenizer, str(tmp_path / "out.json"), "--format", "huggingface", "--run", "Run 1"]
    assert cli.main(words) == 1
    assert "--run chooses a run of a project, but this is not a project." in capsys.readouterr().err
