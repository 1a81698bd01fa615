"""A training whose export fails: refused before it begins, or kept as a project."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import signal
import stat

import pytest
from fifty import FIFTY

from tokstudio import Corpus, Trainer, TrainingConfig, cli, train
from tokstudio.cli import exporting, training
from tokstudio.core.base.atomic_files import StagedFiles
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.project import open_work


@pytest.fixture
def failing_export(monkeypatch):
    """Lets every export fail once its files are written."""

    def commit(_self):
        raise FormatError("made.json: there is no space left on the disk; nothing was changed.")

    def arrange(fault=commit):
        save_work = exporting.save_proved_work

        def with_fault(*arguments, **options):
            with monkeypatch.context() as patched:
                patched.setattr(StagedFiles, "commit", fault)
                return (yield from save_work(*arguments, **options))

        monkeypatch.setattr(exporting, "save_proved_work", with_fault)

    return arrange


def merges_in(project):
    (entry,) = finish(open_work(project)).runs
    return entry.run.merges.tolist()


def whole_run():
    return train(Corpus.from_text(FIFTY), TrainingConfig(vocabulary_size=306)).merges.tolist()


@pytest.mark.parametrize(
    ("format", "place", "words"),
    [
        ("huggingface", "afile/mine", "afile is a file: choose another name."),
        ("huggingface", "afile/deep/mine", "afile is a file: choose another name."),
        ("huggingface", "afile/mine.json", "afile does not exist: create it, or choose another."),
        ("classic", "afile", "has several files: name a folder to save them in."),
        ("merges-csv", "nowhere/merges.csv", "nowhere does not exist: create it, or choose another."),
        ("huggingface", "taken.json", "a folder with that name already exists: choose another name."),
        ("huggingface", "x" * 300, ": the file cannot be written: File name too long."),
        ("merges-csv", "x" * 300, "the file cannot be written: File name too long."),
    ],
)
def test_an_unwritable_target_is_refused_before_training(text, tmp_path, monkeypatch, capsys, format, place, words):
    (tmp_path / "afile").write_text("old")
    (tmp_path / "taken.json" / "tokenizer.json").mkdir(parents=True)
    monkeypatch.setattr(Trainer, "advance", lambda *_: pytest.fail("trained"))
    before = sorted(tmp_path.rglob("*"))
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"{format}={tmp_path / place}"]) == 1
    said = capsys.readouterr().err
    assert said.endswith(f"{words}\n")
    assert said.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_two_exports_to_one_file_are_refused_before_training(text, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Trainer, "advance", lambda *_: pytest.fail("trained"))
    (tmp_path / "here").symlink_to(tmp_path)
    exports = ["--export", f"huggingface={tmp_path / 'a'}", "--export", f"huggingface={tmp_path / 'here' / 'a'}"]
    assert cli.main(["train", text, "--vocab-size", "306", *exports]) == 1
    assert "two exports would write this file" in capsys.readouterr().err


def test_the_check_before_training_leaves_no_files(text, tmp_path, slow_trainer):
    seen = []
    slow_trainer(lambda: seen.append({path.name for path in tmp_path.iterdir()}))
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"classic={tmp_path / 'new' / 'out'}"]) == 0
    assert seen[0] == {"fifty.txt"}
    assert {path.name for path in (tmp_path / "new" / "out").iterdir()} == {"merges.json", "vocabulary.json"}


def test_a_run_whose_export_fails_is_kept_beside_it(text, tmp_path, failing_export, capsys):
    failing_export()
    target, project = tmp_path / "made.json", tmp_path / "made.json.tokstudio"
    assert cli.main(["train", text, "--vocab-size", "306", "--json", "-q", "--export", f"huggingface={target}"]) == 1
    printed = capsys.readouterr()
    assert [line.partition(":")[0] for line in printed.err.splitlines()] == ["tokstudio", "tokstudio"]
    assert f"The run is kept in {project}: " in printed.err
    assert json.loads(printed.out)["project"] == str(project)
    assert merges_in(project) == whole_run()


def test_a_kept_run_can_be_converted(text, tmp_path, slow_trainer, capsys):
    target = tmp_path / "out"
    slow_trainer(lambda: target.exists() or target.write_text("a file where a folder should be"))
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"classic={target}"]) == 1
    assert target.read_text() == "a file where a folder should be"
    assert cli.main(["convert", str(tmp_path / "out.tokstudio"), str(tmp_path / "new"), "--format", "classic"]) == 0
    merges = json.loads((tmp_path / "new" / "merges.json").read_text())["merges"]
    assert [pair for pair, _ in merges] == whole_run()


def test_a_kept_run_replaces_no_file(text, tmp_path, failing_export):
    failing_export()
    old = [tmp_path / "made.tokstudio", tmp_path / "made-2.tokstudio"]
    for path in old:
        path.write_text("old")
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"classic={tmp_path / 'made'}"]) == 1
    assert [path.read_text() for path in old] == ["old", "old"]
    assert merges_in(tmp_path / "made-3.tokstudio") == whole_run()


def test_the_run_is_kept_in_the_state_folder_if_the_target_folder_is_unwritable(
    text, tmp_path, own_home, failing_export, monkeypatch, capsys
):
    failing_export()
    reserved = training._reserved

    def full(folder, name):
        if folder == tmp_path:
            raise OSError(28, "No space left on device")
        return reserved(folder, name)

    monkeypatch.setattr(training, "_reserved", full)
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"huggingface={tmp_path / 'made.json'}"]) == 1
    (project,) = own_home.rglob("*.tokstudio")
    assert f"The run is kept in {project}: " in capsys.readouterr().err
    assert merges_in(project) == whole_run()


def test_a_disk_that_fills_up_while_the_run_is_kept_leaves_no_empty_file(
    text, tmp_path, own_home, failing_export, monkeypatch, capsys
):
    failing_export()

    def full(*_):
        raise FormatError("no space")
        yield

    monkeypatch.setattr(training, "save_work", full)
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"huggingface={tmp_path / 'made.json'}"]) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"fifty.txt"}
    assert not list(own_home.rglob("*.tokstudio"))
    assert "The run is lost: " in capsys.readouterr().err


def test_a_request_to_terminate_during_the_export_keeps_the_run(text, tmp_path, failing_export, capsys):
    def terminate(_self):
        signal.raise_signal(signal.SIGTERM)

    failing_export(terminate)
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"classic={tmp_path / 'out'}"]) == 143
    assert merges_in(tmp_path / "out.tokstudio") == whole_run()
    assert capsys.readouterr().err.endswith("tokstudio: Interrupted.\n")


def test_an_error_during_training_exports_the_merges_so_far(text, tmp_path, monkeypatch, capsys):
    advance, expected = Trainer._advance, whole_run()[:5]

    def out_of_memory(self, merges):
        if self.merges_made >= 5:
            raise MemoryError
        return advance(self, 5)

    monkeypatch.setattr(Trainer, "_advance", out_of_memory)
    out = tmp_path / "out"
    assert cli.main(["train", text, "--vocab-size", "306", "--export", f"classic={out}"]) == 1
    assert "not have enough free memory" in capsys.readouterr().err
    merges = json.loads((out / "merges.json").read_text())["merges"]
    assert [pair for pair, _ in merges] == expected


def test_a_file_size_limit_is_reported_and_leaves_no_files(text, tmp_path, own_home, capsys):
    resource = pytest.importorskip("resource")
    out = tmp_path / "out.json"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        code = cli.main(["train", text, "--vocab-size", "306", "-q", "--export", f"huggingface={out}"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert code == 1
    assert "cannot be written" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"fifty.txt"}
    assert not list(own_home.rglob("*.tokstudio"))


@pytest.mark.parametrize(("number", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_between_the_last_merge_and_the_export_keeps_the_run(tmp_path, monkeypatch, number, code):
    if not hasattr(signal, number):
        pytest.skip("the system has no such signal")
    summary = training._summary

    def interrupted(run):
        signal.raise_signal(getattr(signal, number))
        return summary(run)

    monkeypatch.setattr(training, "_summary", interrupted)
    file = tmp_path / "fifty.txt"
    file.write_text(FIFTY)
    ended = cli.main(["train", str(file), "--vocab-size", "306", "--export", f"huggingface={tmp_path / 'mine'}"])
    assert ended == code
    assert merges_in(tmp_path / "mine.tokstudio") == whole_run()


def test_a_second_signal_does_not_end_the_rescue(tmp_path, monkeypatch, failing_export):
    failing_export()
    save_work = training.save_work

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        return (yield from save_work(*arguments))

    monkeypatch.setattr(training, "save_work", interrupted)
    file = tmp_path / "fifty.txt"
    file.write_text(FIFTY)
    assert cli.main(["train", str(file), "--vocab-size", "306", "--export", f"classic={tmp_path / 'mine'}"]) == 143
    assert merges_in(tmp_path / "mine.tokstudio") == whole_run()


@pytest.mark.skipif(os.name != "posix", reason="permissions are others there")
def test_a_run_in_the_state_folder_is_private(tmp_path, monkeypatch, failing_export):
    failing_export()
    monkeypatch.setattr(training, "_nearest_folder", lambda target: tmp_path / "gone" / "\0")
    file = tmp_path / "fifty.txt"
    file.write_text(FIFTY)
    assert cli.main(["train", str(file), "--vocab-size", "306", "--export", f"classic={tmp_path / 'mine'}"]) == 1
    folder = training._state_folder()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "mine.tokstudio").stat().st_mode) == 0o600
