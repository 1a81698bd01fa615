"""The leftovers of a killed writer are finished or removed by the next reader or writer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys

import pytest

from tokstudio import Corpus, FormatError, TrainingConfig, load, save, train
from tokstudio.core.base import atomic_files as files
from tokstudio.core.base import leftovers
from tokstudio.core.base.atomic_files import StagedFiles, write_files
from tokstudio.core.base.leftovers import recover_work
from tokstudio.core.base.progress import finish

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there one cannot ask whether a process is gone")

TARGETS = ("a one", "b two", "c three")
# Writes a folder's files over copies of another folder, named 0, 1, 2 ..., each in a process that ends, without any
# cleaning up, before the step of that number; the last one comes to its end.
KILLED = """
import errno, os, shutil, sys
from pathlib import Path
from tokstudio.core.base.atomic_files import write_files

links, place, old, new = sys.argv[1] == "links", *map(Path, sys.argv[2:])
done = last = 0

def stopping(real):
    def step(*arguments, **more):
        global done
        if done == last:
            os._exit(9)
        done += 1
        return real(*arguments, **more)
    return step

def refuse(*_, **__):
    raise OSError(errno.EPERM, "no links here")

def write(folder):
    os.link = stopping(os.link if links else refuse)
    # What a process has written outlives it, on the disk or not yet.
    os.replace, os.unlink, os.fsync = stopping(os.replace), stopping(os.unlink), stopping(lambda file: None)
    for _ in write_files({folder / file.name: [file.read_bytes()] for file in sorted(new.iterdir())}):
        pass
    os._exit(0)

while True:
    folder = place / str(last)
    shutil.copytree(old, folder)
    if not (process := os.fork()):
        write(folder)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code == 0:
        break
    assert code == 9, code
    last += 1
"""


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def killed(place, old, new, links=True):
    """A folder for each step before which a process that writes the new files over the old ones was killed."""
    place.mkdir()
    subprocess.run([sys.executable, "-c", KILLED, "links" if links else "none", place, old, new], check=True)
    return sorted(place.iterdir(), key=lambda folder: int(folder.name))[:-1]


def made(folder, age, some):
    """A folder of files with the name and the age in them."""
    folder.mkdir()
    for name in some:
        (folder / name).write_text(f"{age} {name}")
    return folder


def contents(folder):
    return [(folder / name).read_text() if (folder / name).exists() else None for name in TARGETS]


def recover(folder, strangers=False):
    return finish(recover_work(folder, "reading", strangers))


@pytest.mark.parametrize(
    ("old", "new", "links"),
    [
        (TARGETS, TARGETS, True),
        (TARGETS, TARGETS[:2], False),
        (("b two",), TARGETS, False),
        (("b two",), TARGETS[:2], True),
    ],
)
def test_a_kill_at_any_step_leaves_all_old_or_all_new_files_and_nothing_else(tmp_path, links, new, old):
    before = [f"old {name}" if name in old else None for name in TARGETS]
    after = [f"new {name}" if name in new else text for name, text in zip(TARGETS, before, strict=True)]
    seen = set()
    parts = made(tmp_path / "old", "old", old), made(tmp_path / "new", "new", new)
    for folder in killed(tmp_path / "killed", *parts, links):
        seen.add(tuple(contents(folder)))
        written = shutil.copytree(folder, folder.with_name(f"{folder.name} again"))
        assert recover(folder) == frozenset()
        finish(write_files({written / "zero": [b"other"]}))
        for place, others in ((folder, []), (written, ["zero"])):
            assert contents(place) in (before, after), place
            assert names(place) == sorted([*others, *(name for name in TARGETS if (place / name).exists())])
    assert len(seen) > len(new), "it was killed between all moves"


HALF = ["new a one", "old b two", "old c three"]


@pytest.fixture(scope="module")
def replaced_in_part(tmp_path_factory):
    place = tmp_path_factory.mktemp("half")
    folders = killed(place / "killed", made(place / "old", "old", TARGETS), made(place / "new", "new", TARGETS))
    return next(folder for folder in folders if contents(folder) == HALF)


@pytest.fixture
def half(tmp_path, replaced_in_part):
    """A folder of three files of which a process that is gone has replaced the first one only."""
    return shutil.copytree(replaced_in_part, tmp_path / "folder")


def journal_of(folder):
    (journal,) = (folder / name for name in names(folder) if name.endswith(".journal.tokstudio"))
    return journal


def rename_writer(folder, process):
    """Gives all hidden files to another process, in the journal as well."""
    journal = journal_of(folder)
    own = journal.name.split(".")[2].split("-")[1]
    journal.write_text(journal.read_text().replace(f"-{own}.", f"-{process}."))
    for name in names(folder):
        if name.startswith("."):
            (folder / name).rename(folder / name.replace(f"-{own}.", f"-{process}."))


def rewrite(folder, change):
    """Changes the rows of the journal."""
    journal = journal_of(folder)
    journal.write_text(json.dumps(change(json.loads(journal.read_text()))))


NEW = ["new a one", "new b two", "new c three"]


@pytest.mark.parametrize("why", ["a living process", "another user", "a folder that cannot be written to"])
def test_leftovers_that_are_not_ours_to_finish_are_only_reported(half, monkeypatch, why):
    def refuse(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    user = os.geteuid()
    match why:
        case "a living process":
            rename_writer(half, os.getppid())
        case "another user":
            monkeypatch.setattr(leftovers.os, "geteuid", lambda: user + 1)
        case _:
            for function in ("replace", "unlink"):
                monkeypatch.setattr(leftovers.os, function, refuse)
    before = names(half)
    assert recover(half) == frozenset(TARGETS)
    assert (names(half), contents(half)) == (before, HALF)
    if "folder" not in why:
        finish(write_files({half / "zero": [b"other"]}))
        assert (names(half), contents(half)) == (sorted([*before, "zero"]), HALF)
    monkeypatch.undo()
    if why != "a living process":
        assert recover(half) == frozenset()
        assert contents(half) == NEW


def test_a_reader_removes_no_temporary_files_of_others(half, monkeypatch):
    journal_of(half).unlink()
    before, user = names(half), os.geteuid()
    with monkeypatch.context() as patch:
        patch.setattr(leftovers.os, "geteuid", lambda: user + 1)
        recover(half)
        assert names(half) == before
    recover(half, strangers=True)
    assert names(half) == sorted(TARGETS)


@pytest.mark.parametrize("changed", ["a one", "b two"])
def test_a_file_that_was_written_since_is_not_overwritten(half, changed):
    (half / changed).write_text("newer")
    expected = contents(half)
    assert recover(half) == frozenset()
    assert contents(half) == expected
    assert names(half) == sorted(TARGETS)


def test_a_later_export_is_not_undone_when_the_first_process_ends(half):
    rename_writer(half, os.getppid())
    finish(write_files({half / name: [b"newer"] for name in TARGETS}))
    rename_writer(half, 999_999_999)
    assert recover(half) == frozenset()
    assert contents(half) == ["newer"] * 3
    assert names(half) == sorted(TARGETS)


CUT = [b"", b"[", b"[]", b"{}", b"null", b"[[]]", b"[" * 100_000, b"\xff", b'[["a", "b", null, [1, NaN]]]']


@pytest.mark.parametrize("content", CUT)
def test_a_malformed_journal_moves_nothing(half, content):
    journal_of(half).write_bytes(content)
    assert recover(half) == frozenset()
    assert (contents(half), names(half)) == (HALF, sorted(TARGETS))


def test_a_journal_that_is_cut_anywhere_moves_nothing(half, tmp_path):
    text = journal_of(half).read_bytes()
    for size in {*range(0, len(text), 5), len(text) - 2, len(text) - 1}:
        there = shutil.copytree(half, tmp_path / str(size))
        journal_of(there).write_bytes(text[:size])
        recover(there)
        assert (contents(there), names(there)) == (HALF, sorted(TARGETS)), size


def test_a_journal_of_another_machine_moves_nothing(tmp_path):
    temporary = tmp_path / ".00112233445566aa.deadbeef-1.tokstudio"
    temporary.write_text("a stranger's")
    journal = tmp_path / ".ffeeddccbbaa9988.deadbeef-1.journal.tokstudio"
    status = temporary.stat()
    journal.write_text(json.dumps([[temporary.name, "new.sh", None, [status.st_size, status.st_mtime_ns]]]))
    os.utime(temporary, (0, status.st_mtime))
    os.utime(journal, (0, 0))
    recover(tmp_path)
    assert not (tmp_path / "new.sh").exists()


def test_where_a_new_file_is_taken_away_the_old_ones_stay(tmp_path):
    made(tmp_path / "there", "old", TARGETS)
    for several in (TARGETS, TARGETS[:1]):
        with StagedFiles() as staged:
            for name in several:
                finish(staged.write(tmp_path / "there" / name, [b"new"]))
            staged[tmp_path / "there" / several[-1]].unlink()
            with pytest.raises(FormatError):
                staged.commit()
        assert contents(tmp_path / "there") == ["old a one", "old b two", "old c three"]
        assert names(tmp_path / "there") == sorted(TARGETS)


@pytest.mark.parametrize("place", ["../outside", "/outside", "..", ".", "", "sub/outside", "a\0b", "\ud800", 7, None])
def test_a_journal_moves_nothing_to_another_folder(half, place):
    (half / "sub").mkdir()
    outside = half.parent / "outside"
    target = str(outside) if place == "/outside" else place
    rewrite(half, lambda rows: [*rows[:1], [rows[1][0], target, None, rows[1][3]]])
    before = [names(half.parent), contents(half)]
    assert recover(half) == frozenset()
    assert [names(half.parent), contents(half)] == before
    assert names(half) == sorted([*TARGETS, "sub"])
    assert names(half / "sub") == []


@pytest.mark.parametrize("source", ["../secret", "/secret", "secret", ".0123456789abcdef.00000000-1.tokstudio"])
def test_a_journal_moves_only_temporary_files_of_its_own_writer(half, source):
    for secret in (half / "secret", half.parent / "secret", half / ".0123456789abcdef.00000000-1.tokstudio"):
        secret.write_text("secret")
    status = (half / "secret").stat()
    name = str(half.parent / "secret") if source == "/secret" else source
    rewrite(half, lambda rows: [*rows, [name, "moved", None, [6, status.st_mtime_ns]]])
    recover(half)
    assert contents(half) == HALF
    assert names(half) == sorted([*TARGETS, "secret", ".0123456789abcdef.00000000-1.tokstudio"])
    assert (half.parent / "secret").read_text() == "secret"


@pytest.mark.parametrize("which", ["journal", "temporary"])
def test_links_are_not_taken_for_a_journal_or_a_temporary_file(half, which):
    rows = json.loads(journal_of(half).read_text())
    planted = journal_of(half) if which == "journal" else half / rows[1][0]
    planted.rename(half.parent / "elsewhere")
    planted.symlink_to(half.parent / "elsewhere")
    recover(half)
    assert contents(half) == HALF
    assert names(half) == sorted([*TARGETS, planted.name]), "a link is nothing that we have made"
    assert (half.parent / "elsewhere").exists()


@pytest.mark.parametrize("kind", [KeyboardInterrupt, PermissionError])
@pytest.mark.parametrize("links", [True, False])
def test_an_interruption_between_two_moves_puts_the_old_files_back(tmp_path, monkeypatch, kind, links):
    for name in ("a one", "b two"):
        (tmp_path / name).write_text(f"old {name}")
    replace = os.replace

    def interrupt(source, target):
        if os.path.basename(target) == "c three":
            raise kind(errno.EACCES, "stopped")
        replace(source, target)

    def refuse(*_):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(files.os, "replace", interrupt)
    if not links:
        monkeypatch.setattr(files.os, "link", refuse)
    with pytest.raises(FormatError if kind is PermissionError else kind):
        finish(write_files({tmp_path / name: [b"new"] for name in TARGETS}))
    assert contents(tmp_path) == ["old a one", "old b two", None]
    assert names(tmp_path) == ["a one", "b two"]


def test_a_failed_undo_can_be_finished_later(tmp_path, monkeypatch):
    folder = made(tmp_path / "there", "old", TARGETS)
    replace = os.replace

    def refuse_from_two_on(source, target):
        if os.path.basename(source) == "a one" or os.path.basename(target) == "b two":
            raise PermissionError(errno.EACCES, "in use")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "replace", refuse_from_two_on)
        with pytest.raises(FormatError, match=r"^b two: "):
            finish(write_files({folder / name: [f"new {name}".encode()] for name in TARGETS}))
    assert contents(folder) == HALF
    rename_writer(folder, 999_999_999)
    recover(folder)
    assert contents(folder) == NEW
    assert names(folder) == sorted(TARGETS)


PATTERN = {"gpt2": "gpt2", "classic": "none", "minbpe": "gpt2", "tiktoken": "gpt2", "huggingface": "gpt2"}


def trained(text, merges, kind):
    config = TrainingConfig(vocabulary_size=256 + merges, pattern=PATTERN[kind])
    return train(Corpus.from_text(text), config)


@pytest.mark.parametrize(
    ("kind", "there"), [*((kind, "over an old export") for kind in PATTERN), ("gpt2", "for the first time")]
)
def test_a_tokenizer_whose_export_was_killed_is_loaded_whole_and_can_be_saved_again(tmp_path, kind, there):
    old, new, third = (trained(text * 4, size, kind) for text, size in (("the cat ", 4), ("zebra ", 5), ("mango ", 3)))
    both = tmp_path / "old", tmp_path / "new"
    for folder, tokenizer in zip(both, (old, new), strict=True):
        folder.mkdir()
        if tokenizer is new or there == "over an old export":
            save(tokenizer, folder, kind, accept_loss=True)
    mixed = found = 0
    for folder in killed(tmp_path / "killed", *both):
        again = shutil.copytree(folder, folder.with_name(f"{folder.name} again"))
        states = [
            next((i for i, known in enumerate(both) if same_content(folder / file.name, known / file.name)), None)
            for file in both[1].iterdir()
        ]
        mixed += len(set(states)) > 1
        if any(both[0].iterdir()) or any(not file.name.startswith(".") for file in folder.iterdir()):
            loaded = load(folder, PATTERN[kind])
            assert loaded.merges.tolist() in (old.merges.tolist(), new.merges.tolist())
            assert {file.name for file in folder.iterdir()} == {file.name for file in both[1].iterdir()}
            found += 1
        if kind == "gpt2":
            save(third, again, kind, accept_loss=True)
            assert names(again) == names(both[1])
            assert load(again, PATTERN[kind]).merges.tolist() == third.merges.tolist()
    assert mixed
    assert found


def same_content(one, other):
    return one.exists() and other.exists() and one.read_bytes() == other.read_bytes()


@pytest.fixture(scope="module")
def half_a_pair(tmp_path_factory):
    """Two tokenizers, and a folder of the old one whose merges, but not yet whose vocabulary, are of the new one."""
    place = tmp_path_factory.mktemp("pair")
    old, new = (trained(text * 4, size, "gpt2") for text, size in (("the cat ", 4), ("zebra ", 5)))
    for name, tokenizer in (("old", old), ("new", new)):
        save(tokenizer, place / name, "gpt2")
    folder = next(
        folder
        for folder in killed(place / "killed", place / "old", place / "new")
        if same_content(folder / "merges.txt", place / "new" / "merges.txt")
        and same_content(folder / "vocab.json", place / "old" / "vocab.json")
    )
    return old, new, folder


@pytest.mark.parametrize("through", ["the folder", "a file", "a link to a file", "links to both files"])
def test_a_pair_that_cannot_be_finished_is_not_loaded(tmp_path, monkeypatch, half_a_pair, through):
    old, new, folder = half_a_pair
    path = half = shutil.copytree(folder, tmp_path / "half")
    if through == "a file":
        path = half / "vocab.json"
    elif through == "a link to a file":
        path = tmp_path / "vocab.json"
        path.symlink_to(half / "vocab.json")
    elif through == "links to both files":
        path = tmp_path / "links"
        path.mkdir()
        for name in ("vocab.json", "merges.txt"):
            (path / name).symlink_to(half / name)
    user, before = os.geteuid(), names(half)
    with monkeypatch.context() as patch:
        patch.setattr(leftovers.os, "geteuid", lambda: user + 1)
        with pytest.raises(FormatError, match=r"^[^:]+: an export was interrupted or is not finished, .*\.$"):
            load(path, "gpt2")
        assert names(half) == before
        # What has nothing to do with that export can be opened.
        save(old, half / "other.json")
        assert load(half / "other.json").merges.tolist() == old.merges.tolist()
        (half / "other.json").unlink()
    if through == "a link to a file":
        (tmp_path / "merges.txt").symlink_to(half / "merges.txt")
    assert load(path, "gpt2").merges.tolist() == new.merges.tolist()
    assert names(half) == ["merges.txt", "vocab.json"]
