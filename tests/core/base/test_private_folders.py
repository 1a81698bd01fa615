"""Folders that only this user can write to, and the rights of groups."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tokstudio.core.base import private_folders

if not hasattr(os, "getuid"):
    pytest.skip("folders have no owners here", allow_module_level=True)

PERSON = os.getuid()
# A number of one's own, as Debian and Fedora give it; a name of one's own, where the numbers have come apart.
OWN = [(PERSON, "any"), (PERSON + 7, "ada")]
SHARED = (PERSON + 7, "users")


def test_folders_of_other_users_and_links_are_refused(monkeypatch, tmp_path):
    assert private_folders.make_private(tmp_path / "new")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    assert not private_folders.make_private(tmp_path / "link")
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert not private_folders.make_private(tmp_path / "new")


def test_a_folder_that_others_could_replace_is_refused(monkeypatch, tmp_path):
    above = tmp_path / "above"
    above.mkdir()

    def refused(mode):
        above.chmod(mode)
        return not private_folders.make_private(above / "ours")

    # With the t bit, as /tmp has it, only the owner of a folder renames it.
    assert [refused(mode) for mode in (0o700, 0o755, 0o1777, 0o777)] == [False, False, False, True]
    monkeypatch.setattr(os, "getgid", lambda: above.stat().st_gid + 1)
    assert [refused(mode) for mode in (0o775, 0o1775)] == [True, False]


@pytest.fixture
def group(monkeypatch):
    """Sets the number and the name of the person's primary group, which all folders are of."""

    def become(number, name):
        for kind in "stat", "lstat":
            read = getattr(os, kind)

            def changed(path, *, read=read, **options):
                seen = read(path, **options)
                return os.stat_result((*seen[:5], number, *seen[6:10]))

            monkeypatch.setattr(os, kind, changed)
        monkeypatch.setattr(os, "getgid", lambda: number)
        person = SimpleNamespace(pw_name="ada")
        monkeypatch.setattr("pwd.getpwuid", lambda asked: {os.getuid(): person}[asked])
        monkeypatch.setattr("grp.getgrgid", lambda asked: SimpleNamespace(gr_name={number: name}[asked]))

    return become


@pytest.mark.parametrize(("number", "name"), OWN)
def test_the_private_group_of_a_user_is_trusted(group, tmp_path, number, name):
    group(number, name)
    home, ours = tmp_path / ".cache", tmp_path / ".cache" / "tokstudio"
    ours.mkdir(parents=True)
    for folder in home, ours:  # as with a umask of 002
        folder.chmod(0o775)
    assert private_folders.make_private(ours)
    assert (home.stat().st_mode & 0o777, ours.stat().st_mode & 0o777) == (0o775, 0o700)


@pytest.mark.parametrize("known", [True, False])
def test_a_shared_group_is_not_trusted(group, monkeypatch, tmp_path, known):
    group(*SHARED)
    if not known:
        monkeypatch.setattr("grp.getgrgid", {}.__getitem__)
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours").chmod(0o775)
    assert not private_folders.make_private(tmp_path / "ours")
    assert (tmp_path / "ours").stat().st_mode & 0o777 == 0o775
    assert not private_folders.make_private(tmp_path / "ours" / "within")
    (tmp_path / "ours").chmod(0o755)
    assert private_folders.make_private(tmp_path / "ours" / "within")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_there_is_no_room_on_a_full_disk(monkeypatch):
    with Path("/dev/full").open("wb", buffering=0) as disk:
        monkeypatch.setattr(private_folders.tempfile, "TemporaryFile", lambda **_: disk)
        with pytest.raises(OSError, match="No space left"):
            private_folders.check_space(Path(), 1)
