"""The recordings of a process that ended irregularly, and their recovery."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from contextlib import closing

import pytest

from tests.core.formats.trained import TEXT
from tests.core.project.projects import LINES, differences, opened, saved, small_project, stopped
from tokstudio import Corpus, FormatError, Trainer, TrainingConfig, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.run import REACHED_SIZE, STOPPED
from tokstudio.core.project import ProjectRun, Recorder, keep_source_work, recoverable_work
from tokstudio.core.project import recorder as recovery

CORPUS = Corpus((Source.from_texts([LINES, TEXT]),))
KINDS = [
    {},
    {"special_tokens": ["<s>", "corpus"]},
    {"special_tokens": ["<s>"], "special_placement": "first", "pattern": "gpt2"},
    {
        "base": "characters",
        "special_tokens": ["[UNK]"],
        "unknown_token": "[UNK]",
        "base_vocabulary": list("line corpus"),
    },
]


def left(folder):
    return finish(recoverable_work(folder))


def kill(recorder):
    """Leaves everything as the system does when a process is killed: files as they are, locks gone."""
    for name, value in vars(recorder).items():
        if isinstance(value, sqlite3.Connection):
            value.close()
            setattr(recorder, name, None)


def record(recorder, trainer, merges):
    """Trains to so many merges, recording them."""
    kept = (finish(keep_source_work(trainer.corpus.sources[0])),)
    while trainer.prepared is None:
        trainer.advance()
    finish(recorder.begin_work(ProjectRun("Run 1", trainer.run, (0,), {"colour": 2}), kept))
    while trainer.ended is None and trainer.merges_made < merges:
        recorder.append(trainer.advance(min(3, merges - trainer.merges_made)), trainer.seconds)


def config(size=340, **settings):
    base = settings.get("base_vocabulary")
    return TrainingConfig(vocabulary_size=size if base is None else len(base) + 60, **settings)


@pytest.fixture
def recorder(tmp_path):
    made = Recorder(tmp_path / "deep" / "recovery")
    yield made
    made.close()


@pytest.fixture
def folder(recorder, tmp_path):
    return tmp_path / "deep" / "recovery"


def file_of(folder):
    (file,) = folder.glob("*.run.tokstudio")
    return file


def lost_after(recorder, folder, trainer, merges):
    """What is offered after a kill in a training that was recorded up to so many merges."""
    record(recorder, trainer, merges)
    kill(recorder)
    (lost,) = left(folder)
    return lost


STARTED = train(Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=270, special_tokens=["<s>"]))


@pytest.mark.parametrize(("settings", "start"), [*((settings, None) for settings in KINDS), ({}, STARTED)])
def test_a_run_that_was_being_trained_is_offered_and_goes_on(recorder, folder, settings, start):
    trainer = Trainer(CORPUS, config(**settings), start=start)
    lost = lost_after(recorder, folder, trainer, 14)
    assert lost.project is None
    (entry,) = lost.recording.runs
    assert (entry.name, entry.sources, entry.state, entry.run.ended) == ("Run 1", (0,), {"colour": 2}, STOPPED)
    assert differences(entry.run, trainer.run) == []
    resumed = Trainer.resume(Corpus((lost.recording.sources[0].text,)), entry.run, trainer.config)
    list(resumed)
    list(trainer)
    assert set(differences(resumed.run, trainer.run)) <= {"seconds"}
    lost.discard()
    assert left(folder) == ()
    assert list(folder.iterdir()) == []


def test_a_run_that_went_on_from_an_earlier_one_is_offered_with_all_its_merges(recorder, folder):
    settings = config(special_tokens=["<s>"])
    trainer = Trainer(CORPUS, settings)
    while trainer.merges_made < 9:
        trainer.advance(9 - trainer.merges_made)
    earlier = trainer.run
    finish(recorder.begin_work(ProjectRun("Run 2", earlier), ()))
    resumed = Trainer.resume(CORPUS, earlier, settings)
    while resumed.merges_made < 20:
        recorder.append(resumed.advance(5), resumed.seconds)
    kill(recorder)
    (lost,) = left(folder)
    assert differences(lost.recording.runs[0].run, resumed.run) == []


def test_a_run_that_ended_is_offered_as_it_ended_until_it_is_discarded(recorder, folder):
    trainer = Trainer(CORPUS, config())
    record(recorder, trainer, 1000)
    recorder.finish(trainer.run)
    kill(recorder)
    (lost,) = left(folder)
    assert lost.recording.runs[0].run.ended == REACHED_SIZE
    assert differences(lost.recording.runs[0].run, trainer.run) == []


def test_empty_and_discarded_recordings_are_not_offered(recorder, folder):
    record(recorder, Trainer(CORPUS, config()), 0)
    kill(recorder)
    assert left(folder) == ()
    assert list(folder.iterdir()) == []
    again = Recorder(folder)
    record(again, Trainer(CORPUS, config()), 5)
    again.discard()
    kill(again)
    assert left(folder) == ()


def test_the_next_run_takes_the_place_of_the_one_before(recorder, folder):
    record(recorder, Trainer(CORPUS, config()), 5)
    record(recorder, Trainer(CORPUS, config()), 8)
    kill(recorder)
    assert [len(lost.recording.runs[0].run) for lost in left(folder)] == [8]


def test_the_project_is_offered_as_it_was_kept_last(recorder, folder):
    finish(recorder.autosave_work(small_project(2)))
    finish(recorder.autosave_work(small_project(6)))
    kill(recorder)
    (lost,) = left(folder)
    assert lost.recording is None
    assert len(lost.project.runs[0].run) == 6
    assert abs(lost.modified - time.time()) < 1000


def test_the_project_is_kept_while_a_run_is_being_recorded(recorder, folder):
    def keep():
        for merges in (2, 3, 4, 5, 6):
            finish(recorder.autosave_work(small_project(merges)))

    other = threading.Thread(target=keep)
    other.start()
    trainer = Trainer(CORPUS, config())
    record(recorder, trainer, 60)
    other.join()
    assert recorder.problem is None
    kill(recorder)
    (lost,) = left(folder)
    assert len(lost.project.runs[0].run) == 6
    assert differences(lost.recording.runs[0].run, trainer.run) == []


def test_a_closed_autosave_leaves_the_project_as_it_was_kept_before(recorder, folder):
    finish(recorder.autosave_work(small_project(2)))
    work = recorder.autosave_work(small_project(6))
    next(work)
    work.close()
    kill(recorder)
    assert len(left(folder)[0].project.runs[0].run) == 2


def test_recordings_of_living_processes_are_not_offered(recorder, folder):
    record(recorder, Trainer(CORPUS, config()), 5)
    finish(recorder.autosave_work(small_project()))
    before = sorted(folder.iterdir())
    other = Recorder(folder)
    record(other, Trainer(CORPUS, config()), 7)
    assert left(folder) == ()
    kill(other)
    assert [len(lost.recording.runs[0].run) for lost in left(folder)] == [7]
    assert recorder.problem is None
    left(folder)[0].discard()
    assert sorted(folder.iterdir()) == before


def test_a_regular_end_leaves_no_files(recorder, folder):
    record(recorder, Trainer(CORPUS, config()), 5)
    finish(recorder.autosave_work(small_project()))
    recorder.close()
    assert list(folder.iterdir()) == []


def test_an_empty_folder_has_nothing_to_recover(tmp_path):
    assert left(tmp_path / "gone") == ()


def test_several_are_offered_the_latest_first(recorder, folder):
    for number, merges in enumerate((4, 5, 6)):
        one = Recorder(folder)
        record(one, Trainer(CORPUS, config()), merges)
        kill(one)
        os.utime(max(folder.glob("*.run.tokstudio"), key=os.path.getmtime), (number, number))
    assert [len(lost.recording.runs[0].run) for lost in left(folder)] == [6, 5, 4]


@pytest.mark.parametrize("damage", [b"", b"no database", b"SQLite format 3\0" + bytes(5000), None])
def test_damaged_files_are_renamed_and_others_offered(recorder, folder, damage):
    record(recorder, Trainer(CORPUS, config()), 5)
    finish(recorder.autosave_work(small_project()))
    kill(recorder)
    file = file_of(folder)
    file.write_bytes(file.read_bytes()[:-5000] if damage is None else damage)
    (lost,) = left(folder)
    assert lost.recording is None
    assert lost.project is not None
    assert not file.exists()
    assert file.with_name(file.name + ".damaged").exists()
    lost.discard()
    assert left(folder) == ()


def test_a_lock_without_anything_is_cleared_away_when_it_is_old(tmp_path):
    lock = tmp_path / f"{'0' * 16}.lock"
    lock.touch()
    assert left(tmp_path) == ()
    assert lock.exists()
    os.utime(lock, (0, 0))
    assert left(tmp_path) == ()
    assert not lock.exists()


# ---- what goes wrong


def test_a_recorder_that_cannot_write_reports_it_once(tmp_path):
    (tmp_path / "recovery").write_text("a file is in the way")
    recorder = Recorder(tmp_path / "recovery")
    trainer = Trainer(CORPUS, config())
    record(recorder, trainer, 20)
    finish(recorder.autosave_work(small_project()))
    recorder.finish(trainer.run)
    assert trainer.merges_made == 20
    assert recorder.problem
    assert recorder.problem.count("\n") == 0
    recorder.close()
    assert (tmp_path / "recovery").read_text() == "a file is in the way"


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="an administrator may write anywhere")
def test_a_read_only_folder_is_said(tmp_path):
    tmp_path.chmod(0o500)
    try:
        recorder = Recorder(tmp_path)
        record(recorder, Trainer(CORPUS, config()), 5)
        assert recorder.problem == f"the folder {tmp_path} cannot be written to"
    finally:
        tmp_path.chmod(0o700)


def test_a_disk_that_fills_up_while_a_run_is_recorded_ends_the_recording_only(recorder, folder, monkeypatch):
    connect = recovery.connect

    def small(path, settings):
        connection = connect(path, settings)
        if settings == "mode=rw":
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages + 6}")
        return connection

    monkeypatch.setattr(recovery, "connect", small)
    corpus = Corpus.from_text("".join(str(number**5) for number in range(1000)))
    trainer = Trainer(corpus, config(2000, special_tokens=["<s>"]))
    lost = lost_after(recorder, folder, trainer, 1000)
    assert trainer.merges_made == 1000
    assert recorder.problem == "there is no space left on the disk"
    recorded = lost.recording.runs[0].run
    assert 0 < len(recorded) < 1000
    assert recorded.merges.tolist() == trainer.run.merges[: len(recorded)].tolist()


def test_a_full_disk_leaves_recordings_for_a_later_start(recorder, folder, monkeypatch):
    record(recorder, Trainer(CORPUS, config()), 20)
    kill(recorder)
    connect = recovery.connect

    def read_only(path, settings):
        connection = connect(path, settings)
        connection.execute("PRAGMA query_only=ON")
        return connection

    with monkeypatch.context() as patched:
        patched.setattr(recovery, "connect", read_only)
        assert left(folder) == ()
    (lost,) = left(folder)
    assert len(lost.recording.runs[0].run) == 20


def test_a_failed_autosave_is_reported_and_keeps_the_previous_one(recorder, folder, monkeypatch):
    finish(recorder.autosave_work(small_project(2)))

    def fail(*_, **__):
        raise FormatError("x.tokstudio: there is no space left on the disk, so it was not written.")
        yield

    with monkeypatch.context() as patched:
        patched.setattr(recovery, "save_work", fail)
        finish(recorder.autosave_work(small_project(6)))
        finish(recorder.begin_work(ProjectRun("Run", stopped()), ()))
    assert recorder.problem.endswith("no space left on the disk")
    kill(recorder)
    assert len(left(folder)[0].project.runs[0].run) == 2


def test_a_recording_that_was_found_is_a_project_as_any_other(recorder, folder, tmp_path):
    lost = lost_after(recorder, folder, Trainer(CORPUS, config()), 6)
    assert differences(opened(file_of(folder)).runs[0].run, lost.recording.runs[0].run) == []
    again = opened(saved(lost.recording, tmp_path / "mine.tokstudio"))
    assert differences(again.runs[0].run, lost.recording.runs[0].run) == []
    assert len(left(folder)) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE batch SET merges = x'00'",
        "UPDATE batch SET merges = zeroblob(96)",
        "UPDATE batch SET merges = 7",
        "DELETE FROM batch WHERE first = 1",
        "DROP TABLE merge",
    ],
)
def test_a_recording_with_wrong_merges_is_put_aside(recorder, folder, statement):
    record(recorder, Trainer(CORPUS, config()), 6)
    kill(recorder)
    with closing(sqlite3.connect(file_of(folder), isolation_level=None)) as connection:
        connection.execute(statement)
    assert left(folder) == ()
    assert len(list(folder.glob("*.run.tokstudio.damaged"))) == 1


def test_files_left_at_the_end_of_a_session_are_found_and_removed(recorder, folder):
    record(recorder, Trainer(CORPUS, config()), 7)
    finish(recorder.autosave_work(small_project()))
    recorder.leave()
    recorder.close()
    (found,) = left(folder)
    assert found.ended
    assert len(found.recording.runs[0].run) >= 7
    assert found.project is not None
    found.discard()
    assert list(folder.iterdir()) == []
    assert not lost_after(recorder, folder, Trainer(CORPUS, config()), 7).ended


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes are POSIX's")
def test_links_pipes_and_folders_among_the_recordings_are_left_alone(tmp_path):
    folder, elsewhere = tmp_path / "recovery", tmp_path / "elsewhere"
    for place in (folder, elsewhere):
        recorder = Recorder(place)
        record(recorder, Trainer(CORPUS, TrainingConfig(vocabulary_size=270)), 6)
        finish(recorder.autosave_work(small_project()))
        kill(recorder)
    (recording,) = elsewhere.glob("*.run.tokstudio")
    before = {file.name: file.read_bytes() for file in elsewhere.iterdir()}
    (folder / f"{'1' * 16}.run.tokstudio").symlink_to(recording)
    (folder / f"{'2' * 16}.project.tokstudio").symlink_to("/etc/passwd")
    os.mkfifo(folder / f"{'3' * 16}.project.tokstudio")
    os.mkfifo(folder / f"{'4' * 16}.lock")
    (folder / f"{'4' * 16}.run.tokstudio").write_bytes(b"")
    (folder / f"{'5' * 16}.run.tokstudio").mkdir()
    (folder / "notes.txt").write_text("of somebody else")
    there = sorted(folder.iterdir())
    (found,) = left(folder)
    assert found.recording is not None
    found.discard()
    assert {file.name: file.read_bytes() for file in elsewhere.iterdir()} == before
    assert len(there) - len(list(folder.iterdir())) in (3, 4)
    assert sum(file.name[0] in "12345n" for file in folder.iterdir()) >= 7


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are POSIX's")
def test_recordings_are_private(tmp_path):
    folder = tmp_path / "recovery"
    folder.mkdir()
    older = folder / "0123456789abcdef.project.tokstudio"
    older.touch()
    older.chmod(0o644)
    folder.chmod(0o755)
    mask = os.umask(0)
    try:
        for place in (folder, tmp_path / "new" / "recovery"):
            recorder = Recorder(place)
            record(recorder, Trainer(CORPUS, TrainingConfig(vocabulary_size=270)), 6)
            finish(recorder.autosave_work(small_project()))
            assert place.stat().st_mode & 0o777 == 0o700
            suffixes = {file.name[16:] for file in place.iterdir()}
            assert suffixes >= {".lock", ".run.tokstudio", ".run.tokstudio-wal", ".project.tokstudio"}
            recorder.leave()
            assert {file.stat().st_mode & 0o777 for file in place.iterdir()} == {0o600}
            assert len(left(place)) == 1
    finally:
        os.umask(mask)
