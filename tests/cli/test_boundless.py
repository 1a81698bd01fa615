"""`tokstudio train --algorithm boundless`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import signal

import pytest

from tests.core.algorithms import BOUNDLESS_TEXT as TEXT
from tests.core.algorithms import boundless
from tokstudio import Corpus, Trainer, cli, train


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8", newline="\n")
    return str(path)


def run(file, *more, pattern="gpt2"):
    given = ["--pattern", pattern] if pattern else []
    return cli.main(["train", file, "--algorithm", "boundless", "--vocab-size", "320", *given, *more])


def test_a_run_says_how_many_supermerges_it_has(file, capsys):
    expected = train(Corpus.from_text(TEXT), boundless(320)).run
    supermerges = int(expected.supermerges.sum())
    assert run(file, "--json") == 0
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["merges"], outcome["supermerges"]) == (len(expected), supermerges)
    assert run(file, "--print-merges") == 0
    out, err = capsys.readouterr()
    assert err.endswith(f"Of the merges, {supermerges} are supermerges, which join words.\n")
    assert [line.partition(" into")[0] for line in out.splitlines()] == [
        f"Merge ({left}, {right})" for left, right in expected.merges.tolist()
    ]


def test_a_near_form_is_exported_where_its_loss_is_accepted(file, tmp_path, capsys):
    assert run(file, "--export", f"huggingface={tmp_path / 'made'}") == 1
    assert "This is a near form" in capsys.readouterr().err
    assert run(file, "--export", f"huggingface={tmp_path / 'made'}", "--accept-loss") == 0
    err = capsys.readouterr().err
    assert "the near form is identical over" in err
    assert "words in a sample of the text" in err


@pytest.mark.parametrize("format", ["tiktoken", "gpt2", "minbpe"])
def test_files_that_cannot_hold_supermerges_are_refused_before_training(file, tmp_path, capsys, format):
    assert run(file, "--export", f"{format}={tmp_path / 'made'}") == 1
    err = capsys.readouterr().err
    assert "cannot hold supermerges, which join words that are whole tokens" in err
    assert "Trained in" not in err


@pytest.mark.parametrize(
    ("more", "message"),
    [({"pattern": ""}, "BoundlessBPE needs a pattern"), ({"pattern": "("}, "does not compile")],
)
def test_bad_input(file, capsys, more, message):
    assert run(file, **more) == 1
    assert message in capsys.readouterr().err


def test_counted_words_are_refused(tmp_path, capsys):
    counts = tmp_path / "words.tsv"
    counts.write_text("the\t12\nend\t5\n", encoding="utf-8")
    more = ["--algorithm", "boundless", "--vocab-size", "330", "--pattern", "gpt2"]
    assert cli.main(["train", "--counts", str(counts), *more]) == 1
    assert "has word counts, but BoundlessBPE joins adjacent words" in capsys.readouterr().err


def test_an_interruption_of_phase_1_is_told_as_that(file, tmp_path, monkeypatch, capsys):
    advance = Trainer._advance

    def interrupted(self, merges):
        if self.prepared is not None:
            signal.raise_signal(signal.SIGINT)
        return advance(self, merges)

    monkeypatch.setattr(Trainer, "_advance", interrupted)
    project = tmp_path / "mine.tokstudio"
    assert run(file, "--project", str(project)) == 130
    assert capsys.readouterr().err.endswith("Interrupted before the end of phase 1: nothing was saved.\n")
    assert not project.exists()
