"""An algorithm that no place of the product knows trains, shows, saves, opens, resumes and exports like the others."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tokstudio import Corpus, Trainer, TrainingConfig, load, save, train
from tokstudio.core.base.progress import finish
from tokstudio.core.project.reader import open_work
from tokstudio.core.project.tokenizers import save_project
from tokstudio.gui.panes.configure.algorithm_field import AlgorithmField
from tokstudio.gui.panes.merges import MergesPane
from tokstudio.gui.state.training_settings import Settings

TEXT = "the cat sat on the mat; the cat ate the rat that sat on a hat. " * 3
ROOT = Path(__file__).parents[2]
#: Whether this process has it: it must be there before the window and the command line are imported.
IS_THERE = "tests.seventh" in sys.modules
inside = pytest.mark.skipif(not IS_THERE, reason="runs in the process below")


@pytest.mark.skipif(IS_THERE, reason="would run itself")
def test_a_seventh_algorithm_needs_no_change_elsewhere():
    arguments = ["-q", "-p", "tests.seventh", "--numprocesses=0", "-p", "no:randomly", os.fspath(Path(__file__))]
    ran = subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "4 passed" in ran.stdout


def config(size=290):
    return TrainingConfig(vocabulary_size=size, pattern="gpt2", algorithm="second-most")


@inside
def test_it_trains_and_resumes():
    corpus = Corpus.from_text(TEXT)
    trained = train(corpus, config(300))
    whole = trained.run
    # "at" is the most frequent pair of the text.
    assert bytes(whole.merges[0].tolist()) == b"th"
    short = train(corpus, config(280)).run
    resumed = Trainer.resume(corpus, short, config(300))
    for _ in resumed:
        pass
    assert resumed.run.merges.tolist() == whole.merges.tolist()
    assert len(trained.encode(TEXT)) == whole.tokens_after[-1]


@inside
def test_it_is_saved_opened_and_exported(tmp_path):
    from tests.seventh import SecondMost

    made = train(Corpus.from_text(TEXT), config())
    save_project({"mine": made}, tmp_path / "p.tokstudio")
    (entry,) = finish(open_work(tmp_path / "p.tokstudio")).runs
    assert entry.run.config.algorithm == SecondMost()
    assert entry.run.merges.tolist() == made.run.merges.tolist()
    save(made, tmp_path, "merges-jsonl")
    rows = [json.loads(line) for line in (tmp_path / "merges.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["quarter"] for row in rows] == [number // 4 for number in range(len(made.run))]
    save(made, tmp_path / "mine.tiktoken", "tiktoken")
    assert load(tmp_path / "mine.tiktoken").encode(TEXT) == made.encode(TEXT)


@inside
def test_the_command_line_has_it(tmp_path, capsys):
    from tokstudio.cli import main

    text = tmp_path / "text.txt"
    text.write_text(TEXT, encoding="utf-8")
    assert main(["train", str(text), "--vocab-size", "280", "--algorithm", "second-most", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["merges"] == 24


@inside
def test_the_window_has_it(qtbot, session, theme, actions, dock):
    field = AlgorithmField(session, theme, actions)
    qtbot.addWidget(field)
    combo = field.choice.combo
    assert any(combo.itemText(at).startswith("Second-most BPE") for at in range(combo.count()))
    pane = MergesPane(session, theme, actions)
    dock(pane, 900, 500)
    session.corpus.add_text(TEXT)
    session.training.set_settings(Settings(280, algorithm="second-most"))
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running)
    header = pane.table.horizontalHeader().orientation()
    assert pane.model.headerData(7, header) == "Quarter"
    assert [pane.model.index(row, 7).data() for row in (23, 0)] == ["0", "5"]
