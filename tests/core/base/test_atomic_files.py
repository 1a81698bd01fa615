"""Writing files: all or nothing, whatever goes wrong."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import time

import pytest

from tokstudio.core.base import atomic_files as files
from tokstudio.core.base import leftovers
from tokstudio.core.base.atomic_files import StagedFiles, write_files
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import finish

posix = pytest.mark.skipif(sys.platform == "win32", reason="permissions and links are POSIX's")


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_files_are_written_and_replaced_without_leftovers(tmp_path):
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("old")
    assert finish(write_files({one: [b"new", b"er"], two: []})) == (one, two)
    assert one.read_bytes() == b"newer"
    assert two.read_bytes() == b""
    assert names(tmp_path) == ["one.txt", "two.txt"]


def test_pieces_are_taken_one_by_one_and_reported(tmp_path):
    taken = []

    def pieces():
        for number in range(8):
            taken.append(number)
            yield bytes(200_000)

    work = write_files({tmp_path / "large": pieces()})
    assert next(work).phase == "writing"
    assert len(taken) < 4
    finish(work)
    assert (tmp_path / "large").stat().st_size == 1_600_000


@pytest.fixture
def kept(tmp_path):
    """A file that must stay as it is."""
    target = tmp_path / "kept"
    target.write_text("old")
    yield target
    assert target.read_text() == "old"
    assert names(tmp_path) == ["kept"]


def test_closing_the_work_or_an_error_while_the_content_is_made_leaves_the_old_file(kept):
    def pieces():
        yield b"half"
        raise RuntimeError("made wrong")

    work = write_files({kept: (bytes(300_000) for _ in range(9))})
    next(work)
    assert len(names(kept.parent)) == 2
    work.close()
    assert names(kept.parent) == ["kept"]
    with pytest.raises(RuntimeError, match="made wrong"):
        finish(write_files({kept.with_name("first"): [b"whole"], kept: pieces()}))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_full_or_broken_disk_leaves_the_old_file(kept, monkeypatch, code):
    def fail(_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(FormatError, match=r"^kept: .*(no space left|cannot be written).*\.$"):
        finish(write_files({kept: [b"new"]}))


@posix
def test_a_limit_that_the_system_sets_while_writing_leaves_the_old_file(kept):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(FormatError, match=r"^kept: the file cannot be written: .*\.$"):
            finish(write_files({kept: [bytes(60_000)] * 5}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_where_the_second_file_cannot_be_moved_the_first_is_put_back(tmp_path, monkeypatch):
    one, two, new = tmp_path / "one", tmp_path / "two", tmp_path / "a new one"
    one.write_text("old one")
    two.write_text("old two")
    replace = os.replace

    def fail_for_two(source, target):
        if os.path.basename(target) == "two":
            raise PermissionError(errno.EACCES, "in use")
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", fail_for_two)
    with pytest.raises(FormatError, match=r"^two: the folder .* cannot be written to"):
        finish(write_files({new: [b"1"], one: [b"2"], two: [b"3"]}))
    assert (one.read_text(), two.read_text()) == ("old one", "old two")
    assert names(tmp_path) == ["one", "two"]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="nothing is read-only to an administrator")
def test_a_read_only_folder_is_named(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    try:
        with pytest.raises(FormatError, match=r"^x: the folder .*locked cannot be written to: choose another\.$"):
            finish(write_files({folder / "x": [b"x"]}))
        assert names(folder) == []
    finally:
        folder.chmod(0o700)


def test_what_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    (tmp_path / "here").mkdir()
    for name, words in (
        ("nowhere/x", r"x: the folder .*nowhere does not exist"),
        ("here", r"here: a folder with that name already exists"),
        ("a\0b", r"a\\x00b: the file cannot be written: .*\.$"),
        ("x" * 300, r"x{300}: the file cannot be written: .*\.$"),
    ):
        with pytest.raises(FormatError, match=f"^{words}"):
            finish(write_files({tmp_path / name: [b"x"]}))
    (tmp_path / "file").write_text("x")
    with pytest.raises(FormatError, match=r"^x: .*file is a file and no folder: choose another folder\.$"):
        finish(write_files({tmp_path / "file" / "x": [b"x"]}))
    with StagedFiles() as staged, pytest.raises(FormatError, match=r"^sub: the folder cannot be created: .*\.$"):
        staged.make_folder(tmp_path / "file" / "sub")
    monkeypatch.setattr(files.os, "open", refuse)
    with pytest.raises(FormatError, match=r"^x: the folder .* cannot be written to: choose another\.$"):
        finish(write_files({tmp_path / "x": [b"x"]}))
    assert names(tmp_path) == ["file", "here"]


@posix
def test_permissions_and_links_stay_and_a_device_is_never_replaced(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("old")
    old.chmod(0o640)
    mask = os.umask(0o027)
    try:
        finish(write_files({old: [b"1"], new: [b"2"]}))
    finally:
        os.umask(mask)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (old, new)] == [0o640, 0o640]
    assert old.read_text() == "1"
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    assert finish(write_files({link: [b"new"]})) == (link,)
    assert (link.is_symlink(), target.read_text(), names(target.parent)) == (True, "new", ["target"])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match=r"^pipe: this is not a regular file"):
        finish(write_files({tmp_path / "pipe": [b"x"]}))
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_new_folders_are_removed_if_nothing_is_written_and_else_on_the_disk(tmp_path, monkeypatch):
    flushed, flush = set(), os.fsync

    def noted(handle):
        flushed.add(os.fstat(handle).st_ino)
        flush(handle)

    monkeypatch.setattr(files.os, "fsync", noted)
    folder = tmp_path / "a" / "b"
    with StagedFiles() as staged:
        staged.make_folder(folder)
        finish(staged.write(folder / "x", [b"x"]))
    assert names(tmp_path) == []
    with StagedFiles() as staged:
        staged.make_folder(folder)
        finish(staged.write(folder / "x", [b"x"]))
        assert staged[folder / "x"].read_bytes() == b"x"
        staged.commit()
    assert names(folder) == ["x"]
    if sys.platform != "win32":
        assert {path.stat().st_ino for path in (tmp_path, tmp_path / "a", folder)} <= flushed


KILLED = """
import os, signal, sys
from pathlib import Path
from tokstudio.core.base.atomic_files import write_files

def pieces():
    yield bytes(300_000)
    os.kill(os.getpid(), signal.SIGKILL)

for _ in write_files({Path(sys.argv[1]): pieces()}):
    pass
"""


@posix
def test_the_next_writer_removes_the_files_of_a_killed_process(tmp_path):
    target = tmp_path / "kept"
    target.write_text("old")
    subprocess.run([sys.executable, "-c", KILLED, target], check=False)
    left = names(tmp_path)
    assert len(left) == 2
    assert target.read_text() == "old"
    work = write_files({tmp_path / "other": [bytes(300_000), b"new"]})
    next(work)
    assert left[0] not in names(tmp_path), "swept before the new file is written: the room may be needed"
    finish(work)
    assert names(tmp_path) == ["kept", "other"]


NOBODY = 999_999_999  # beyond the ids that a system gives to processes


def temporary(folder, monkeypatch, process, age, machine=None):
    """A file as a process has begun to write it, so many seconds ago."""
    with monkeypatch.context() as patch, StagedFiles() as staged:
        if machine is not None:
            patch.setattr(leftovers.platform, "node", lambda: machine)
        finish(staged.write(folder.parent / "never", []))
        name = staged[folder.parent / "never"].name
    path = folder / name.replace(f"-{os.getpid()}.", f"-{process}.")
    path.write_text("half")
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    made.mkdir()
    return made


def test_files_of_a_possibly_living_writer_stay_for_a_day(folder, monkeypatch):
    hour, running = 3600, os.getpid()
    kept = [
        temporary(folder, monkeypatch, running, 23 * hour),
        temporary(folder, monkeypatch, NOBODY, 23 * hour, "another machine"),
    ]
    swept = [
        temporary(folder, monkeypatch, running, 25 * hour),
        temporary(folder, monkeypatch, NOBODY, 25 * hour, "another machine"),
    ]
    if sys.platform != "win32":
        swept.append(temporary(folder, monkeypatch, NOBODY, 0))
    finish(write_files({folder / "new": [b"new"]}))
    assert [path.exists() for path in kept] == [True, True]
    assert not any(path.exists() for path in swept)


def test_only_temporary_files_of_tokstudio_are_removed(folder, monkeypatch):
    ours = temporary(folder, monkeypatch, NOBODY, 10**6)
    theirs = [".mine.tokstudio", ".0123456789abcdef.tokstudio", ours.name[1:], ours.name + "~", "a.tokstudio"]
    for name in theirs:
        (folder / name).write_text("mine")
        os.utime(folder / name, (1, 1))
    no_file = folder / ours.name.replace(ours.name[1:17], "0" * 16)
    no_file.mkdir()
    os.utime(no_file, (1, 1))
    finish(write_files({folder / "new": [b"new"]}))
    assert names(folder) == sorted([*theirs, no_file.name, "new"])


def test_a_folder_that_cannot_be_listed_can_be_written_to(tmp_path, monkeypatch):
    def refuse(_):
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(leftovers.os, "scandir", refuse)
    finish(write_files({tmp_path / "new": [b"new"]}))
    assert (tmp_path / "new").read_bytes() == b"new"
