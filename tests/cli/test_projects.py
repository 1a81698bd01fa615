"""Projects on the command line: their content, and their runs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
from fifty import FIFTY

from tokstudio import Corpus, TrainingConfig, cli, load, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.project import Project, ProjectRun, keep_source_work, keep_tokenizer_work, save_work


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
    assert lines[2:4] == [
        "Run      Run 1: Plain BPE, 14 merges, 270 tokens, pattern none, reached vocabulary size",
        "Run      日本 2: Plain BPE, 24 merges, 280 tokens, pattern none, reached vocabulary size, active",
    ]
    assert lines[4].startswith("Run      theirs: opened from a file (")
    assert cli.main(["inspect", project, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [run.get("merges") for run in told["runs"]] == [14, 24, None]
    assert told["sources"][0]["bytes"] == len((FIFTY * 9).encode())


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
