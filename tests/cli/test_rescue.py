"""A run as a project, which other commands open: with --project, and where its export fails."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import signal
import stat
from pathlib import Path

import pytest

from tests.cli.fifty import FIFTY
from tests.core.texts import config_by_name
from tokstudio import Corpus, Trainer, train
from tokstudio.cli import exporting, training
from tokstudio.cli.process.terminal import Console
from tokstudio.core.base.atomic_files import StagedFiles
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


@pytest.fixture
def untrained(monkeypatch):
    """Nothing may be trained."""
    monkeypatch.setattr(Trainer, "advance", lambda *_: pytest.fail("trained"))


def run_in(project):
    (entry,) = finish(open_work(project)).runs
    return entry.run


def merges_in(project):
    return run_in(project).merges.tolist()


def names_in(folder):
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_can_be_kept_and_encodes_again(text, tmp_path, run, algorithm):
    own = ALGORITHMS[algorithm]
    options = " ".join(f"--{name} {value}" for name, value in own.items())
    words = f"--algorithm {algorithm} --vocab-size 300 {options} --project mine.tokstudio"
    assert run(0, f"train {text} {words} --json --quiet").json["project"] == "mine.tokstudio"
    made = train(Corpus.from_text(FIFTY), config_by_name(algorithm, vocabulary_size=300, **own))
    kept = run_in(tmp_path / "mine.tokstudio")
    assert kept.config == made.run.config
    assert kept.merges.tolist() == made.merges.tolist()
    run(0, f"encode --tokenizer mine.tokstudio {text} --out ids.json --quiet")
    assert json.loads((tmp_path / "ids.json").read_text()) == made.encode(FIFTY)
    assert run(0, "decode --tokenizer mine.tokstudio ids.json --quiet").out == FIFTY
    assert run(0, "inspect mine.tokstudio --json").json["runs"][0]["algorithm"] == algorithm


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--export huggingface=afile/mine", "afile is a file: choose another name."),
        ("--export huggingface=afile/deep/mine", "afile is a file: choose another name."),
        ("--export huggingface=afile/mine.json", "afile is a file and no folder: choose another folder."),
        (
            "--export classic=afile",
            "afile: this is a file, and Classic pair has several files: name a folder to save them in.",
        ),
        ("--export merges-csv=nowhere/merges.csv", "nowhere does not exist: create it, or choose another."),
        ("--export huggingface=taken.json", "a folder with that name already exists: choose another name."),
        (f"--export huggingface={'x' * 300}", ": the file cannot be written: File name too long."),
        (f"--export merges-csv={'x' * 300}", "the file cannot be written: File name too long."),
        ("--export huggingface=a --export huggingface=here/a", "would write this file: give each its own path."),
        ("--project old.tokstudio", "this file exists already: give the project another name."),
        ("--project nowhere/new.tokstudio", "nowhere does not exist: create it, or choose another."),
        ("--export merges-csv=a.tokstudio --project a.tokstudio", "written to this file: give each its own path."),
    ],
)
def test_an_unwritable_target_is_refused_before_training(write, tmp_path, untrained, learn, words, said):
    write("afile", "old")
    write("old.tokstudio", "old")
    (tmp_path / "taken.json" / "tokenizer.json").mkdir(parents=True)
    (tmp_path / "here").symlink_to(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    told = learn(1, words).err
    assert told.endswith(f"{said}\n")
    assert told.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "old.tokstudio").read_text() == "old"


def test_the_check_before_training_leaves_no_files(tmp_path, slow_trainer, learn):
    seen = []
    slow_trainer(lambda: seen.append(names_in(tmp_path)))
    learn(0, "--export classic=new/out")
    assert seen[0] == {"fifty.txt"}
    assert names_in(tmp_path / "new" / "out") == {"merges.json", "vocabulary.json"}


def test_a_run_whose_export_fails_is_kept_beside_it_and_can_be_converted(
    tmp_path, monkeypatch, failing_export, learn, run, whole_run
):
    project = tmp_path / "made.json.tokstudio"
    failing_export()
    printed = learn(1, "--json -q --export huggingface=made.json", says=f"The run is kept in {project}: ")
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert [line.partition(":")[0] for line in printed.err.splitlines()] == ["tokstudio", "tokstudio"]
    assert printed.json["project"] == str(project)
    run(0, "convert made.json.tokstudio new --format classic")
    merges = json.loads((tmp_path / "new" / "merges.json").read_text())["merges"]
    assert [pair for pair, _ in merges] == merges_in(project) == whole_run


def test_a_kept_run_replaces_no_file(write, tmp_path, failing_export, learn, whole_run):
    failing_export()
    old = [write("made.tokstudio", "old"), write("made-2.tokstudio", "old")]
    learn(1, "--export classic=made")
    assert [path.read_text() for path in old] == ["old", "old"]
    assert merges_in(tmp_path / "made-3.tokstudio") == whole_run


def test_the_run_is_kept_in_the_state_folder_if_the_target_folder_is_unwritable(
    tmp_path, own_home, failing_export, monkeypatch, learn, whole_run
):
    failing_export()
    touch = Path.touch

    def full(path, *arguments, **options):
        if path.parent == tmp_path:
            raise OSError(28, "No space left on device")
        touch(path, *arguments, **options)

    monkeypatch.setattr(Path, "touch", full)
    said = learn(1, "--export huggingface=made.json").err
    (project,) = own_home.rglob("*.tokstudio")
    assert f"The run is kept in {project}: " in said
    assert merges_in(project) == whole_run
    if os.name == "posix":  # permissions are others elsewhere
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (project.parent, project)]
        assert modes == [0o700, 0o600]


def test_a_run_that_cannot_be_saved_is_kept_in_another_place(tmp_path, own_home, saving, learn):
    def full(_made, place):
        if place.absolute().parent == tmp_path:
            raise FormatError(f"{place.name}: there is no space left on the disk.")

    saving(training, full)
    printed = learn(1, "--json --project mine.tokstudio", says="mine.tokstudio: there is no space left")
    (kept,) = own_home.rglob("*.tokstudio")
    assert kept.name == "mine.tokstudio"
    assert f"The run is kept in {kept}: " in printed.err
    assert printed.json["project"] == str(kept)
    assert len(merges_in(kept)) == 50


def test_an_error_during_training_exports_the_merges_so_far(tmp_path, slow_trainer, learn, whole_run):
    def out_of_memory():
        raise MemoryError

    slow_trainer(out_of_memory)
    learn(1, "--export classic=out", says="not have enough free memory")
    merges = json.loads((tmp_path / "out" / "merges.json").read_text())["merges"]
    assert [pair for pair, _ in merges] == whole_run[:5]


def test_a_file_size_limit_is_reported_and_leaves_no_files(tmp_path, own_home, learn):
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        said = learn(1, "-q --export huggingface=out.json", says="cannot be written").err
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "The run is lost: " in said
    assert names_in(tmp_path) == {"fifty.txt"}
    assert not list(own_home.rglob("*.tokstudio"))


def test_a_request_to_terminate_during_the_export_keeps_the_run(tmp_path, failing_export, learn, whole_run):
    failing_export(lambda _self: signal.raise_signal(signal.SIGTERM))
    assert learn(143, "--export classic=out").err.endswith("tokstudio: Interrupted.\n")
    assert merges_in(tmp_path / "out.tokstudio") == whole_run


@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_before_the_export_keeps_the_run(tmp_path, monkeypatch, learn, whole_run, number, code):
    if not hasattr(signal, number):
        pytest.skip("the system has no such signal")
    say = Console.say

    def interrupted(self, sentence):
        if sentence.startswith("Trained in "):
            signal.raise_signal(getattr(signal, number))
        say(self, sentence)

    monkeypatch.setattr(Console, "say", interrupted)
    learn(code, "--export huggingface=mine")
    assert merges_in(tmp_path / "mine.tokstudio") == whole_run


def test_a_second_signal_does_not_end_the_rescue(tmp_path, saving, failing_export, learn, whole_run):
    failing_export()
    saving(training, lambda *_: [signal.raise_signal(signal.SIGTERM) for _ in range(2)])
    learn(143, "--export classic=mine")
    assert merges_in(tmp_path / "mine.tokstudio") == whole_run


APPEARED = "this file has appeared since the work began, so it is not replaced: choose another name."


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    "command",
    [
        "train {text} --vocab-size 306",
        "extend tokenizer.json {text} --vocab-size 320",
        "train {text} --algorithm wordpiece --vocab-size 100",
        "convert tokenizer.json",
        "renumber tokenizer.json --by rank",
    ],
)
def test_an_export_replaces_no_file_that_appears_meanwhile_but_with_force(
    text, tokenizer, tmp_path, saving, run, command, force
):
    made, others = tmp_path / "made.json", b"of another program"
    saving(exporting, lambda *_: made.write_bytes(others))
    target = "made.json --format huggingface" if command.startswith("convert") else "--export huggingface=made.json"
    printed = run(0 if force else 1, command.format(text=text), target, "--force" * force)
    assert (f"made.json: {APPEARED}" in printed.err) is not force
    assert (made.read_bytes() == others) is not force
    trains = command.startswith(("train", "extend")) and "wordpiece" not in command
    assert ((tmp_path / "made.json.tokstudio").exists()) is (trains and not force)
    assert not [name for name in names_in(tmp_path) if name.startswith(".")]


def test_a_project_replaces_no_file_that_appears_meanwhile(tmp_path, saving, learn):
    project = tmp_path / "mine.tokstudio"
    saves = []

    def appear(*_):
        if not saves:
            project.write_bytes(b"of another program")
        saves.append(project)

    saving(training, appear)
    learn(1, "--project mine.tokstudio", says=f"mine.tokstudio: {APPEARED}")
    assert project.read_bytes() == b"of another program"
    assert len(merges_in(tmp_path / "mine-2.tokstudio")) == 50


def test_a_file_of_several_that_appears_meanwhile_keeps_all_from_being_replaced(tmp_path):
    with StagedFiles(may_replace=False) as staged:
        for name in ("a", "b"):
            finish(staged.write(tmp_path / name, [b"new"]))
        (tmp_path / "b").write_bytes(b"old")
        with pytest.raises(FormatError, match=f"^b: {APPEARED}$"):
            staged.commit()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"b": b"old"}
