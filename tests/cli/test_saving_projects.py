"""`tokstudio train --project`: the run as a project, which other commands open."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import signal

import pytest
from fifty import FIFTY

from tests.core.texts import config_by_name
from tokstudio import Corpus, Trainer, TrainingConfig, cli, train
from tokstudio.cli import training
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.project import open_work

ALGORITHMS = {
    "bpe": {},
    "whole-characters": {},
    "superbpe": {"transition": 270, "pattern": "gpt2"},
    "boundless": {"pattern": "gpt2"},
    "picky": {"threshold": 0.3},
}


def run_in(project):
    (entry,) = finish(open_work(project)).runs
    return entry.run


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_can_be_kept_and_encodes_again(text, tmp_path, capsys, algorithm):
    project, own = tmp_path / "mine.tokstudio", ALGORITHMS[algorithm]
    options = [word for name, value in own.items() for word in (f"--{name}", str(value))]
    given = ["--algorithm", algorithm, "--vocab-size", "300", *options, "--project", str(project)]
    assert cli.main(["train", text, *given, "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["project"] == str(project)
    made = train(Corpus.from_text(FIFTY), config_by_name(algorithm, vocabulary_size=300, **own))
    assert run_in(project).config == made.run.config
    assert run_in(project).merges.tolist() == made.merges.tolist()
    for command, file, out in (("encode", text, tmp_path / "ids.json"), ("decode", tmp_path / "ids.json", None)):
        to = [] if out is None else ["--out", str(out)]
        assert cli.main([command, "--tokenizer", str(project), str(file), *to, "--quiet"]) == 0
    assert json.loads((tmp_path / "ids.json").read_text()) == made.encode(FIFTY)
    assert capsys.readouterr().out == FIFTY
    assert cli.main(["inspect", str(project), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["algorithm"] == algorithm


def test_a_file_that_exists_is_refused_before_training(text, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Trainer, "advance", lambda *_: pytest.fail("trained"))
    (tmp_path / "old.tokstudio").write_text("old")
    for name, words in (
        ("old.tokstudio", "this file exists already: give the project another name."),
        ("nowhere/new.tokstudio", "nowhere does not exist: create it, or choose another."),
    ):
        assert cli.main(["train", text, "--vocab-size", "306", "--project", str(tmp_path / name)]) == 1
        assert capsys.readouterr().err.endswith(f"{words}\n")
    shared = ["--export", f"merges-csv={tmp_path / 'new.tokstudio'}", "--project", str(tmp_path / "new.tokstudio")]
    assert cli.main(["train", text, "--vocab-size", "306", *shared]) == 1
    assert "two results would be written to this file" in capsys.readouterr().err
    assert (tmp_path / "old.tokstudio").read_text() == "old"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--project", "mine.json"], 'argument --project: "mine.json" must end in .tokstudio'),
        (["--algorithm", "unigram", "--project", "a.tokstudio"], "its library's own file holds the tokenizer"),
    ],
)
def test_what_has_no_sense_is_wrong_usage(text, capsys, more, message):
    assert cli.main(["train", text, "--vocab-size", "306", *more]) == 2
    assert message in capsys.readouterr().err


def test_an_interrupted_training_saves_the_merges_so_far(text, tmp_path, monkeypatch):
    advance = Trainer._advance

    def interrupted(self, merges):
        if self.merges_made >= 5:
            signal.raise_signal(signal.SIGINT)
        return advance(self, 5)

    monkeypatch.setattr(Trainer, "_advance", interrupted)
    project = tmp_path / "mine.tokstudio"
    assert cli.main(["train", text, "--vocab-size", "306", "--project", str(project)]) == 130
    monkeypatch.undo()
    whole = train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=306)).merges.tolist()
    kept = run_in(project).merges.tolist()
    assert 5 <= len(kept) < len(whole)
    assert kept == whole[: len(kept)]


def test_a_run_that_cannot_be_saved_is_kept_in_another_place(text, tmp_path, own_home, monkeypatch, capsys):
    save_work, project = training.save_work, tmp_path / "mine.tokstudio"

    def full(made, place):
        if place.parent == tmp_path:
            raise FormatError(f"{place.name}: there is no space left on the disk.")
        return (yield from save_work(made, place))

    monkeypatch.setattr(training, "save_work", full)
    assert cli.main(["train", text, "--vocab-size", "306", "--json", "--project", str(project)]) == 1
    printed = capsys.readouterr()
    (kept,) = own_home.rglob("*.tokstudio")
    assert "mine.tokstudio: there is no space left" in printed.err
    assert kept.name == "mine.tokstudio"
    assert f"The run is kept in {kept}: " in printed.err
    assert json.loads(printed.out)["project"] == str(kept)
    assert len(run_in(kept)) == 50
