"""The cache of compiled loops, and calls without a cache."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest
from numba.core.caching import FunctionCache

import tokstudio
from tokstudio.core.base import private_folders, subprocesses
from tokstudio.core.kernels import cache, shipped
from tokstudio.core.kernels.compiled import njit

# The features of a processor of x86-64-v3, by LLVM's names, and one more.
LARGE = {"avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf", "xsave", "sha"}
LARGE |= {"sse3", "sse4.1", "sse4.2", "ssse3"}


@pytest.fixture
def problems(monkeypatch):
    found = []
    monkeypatch.setattr(cache, "_problems", found)
    return found


def add(one, other):
    return one + other


def test_on_a_full_disk_calls_work_uncached(monkeypatch, problems):
    def full(self, sig, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FunctionCache, "save_overload", full)
    assert njit(cache=True)(add)(2, 3) == 5
    assert "No space left on device" in cache.problem()


def test_without_a_folder_calls_work_uncached(monkeypatch, problems):
    monkeypatch.setattr(numba.config, "CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    assert njit(cache=True)(add)(2, 3) == 5
    assert cache.problem() is not None


@pytest.fixture
def kept(monkeypatch, tmp_path, problems):
    """Compiles `add` with its cache in a folder, and gives the file it is kept in."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert njit(cache=True)(add)(2, 3) == 5
    [file] = tmp_path.rglob("*.nbc")
    return file


def loads(loop):
    """How often a call was answered by the cache."""
    assert loop(2, 3) == 5
    return sum(loop.stats.cache_hits.values())


def test_a_cached_loop_is_loaded(kept):
    assert loads(njit(cache=True)(add)) == 1


@pytest.mark.parametrize("damage", ["cut short", "empty", "another byte", "noise", "gone"])
def test_a_damaged_loop_is_compiled_again(kept, problems, damage):
    whole = kept.read_bytes()
    middle = len(whole) // 2
    match damage:
        case "cut short":
            kept.write_bytes(whole[:middle])
        case "empty":
            kept.write_bytes(b"")
        case "another byte":
            kept.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
        case "noise":
            kept.write_bytes(os.urandom(len(whole)))
        case _:
            kept.unlink()
    assert loads(njit(cache=True)(add)) == 0, "what is damaged is never run"
    assert loads(njit(cache=True)(add)) == 1
    assert (list(kept.parent.iterdir()), problems) == ([kept], [])


def test_a_loop_for_other_arguments_has_a_file_of_its_own(kept):
    assert njit(cache=True)(add)(2.0, 3.0) == 5.0
    assert len(list(kept.parent.iterdir())) == 2
    assert loads(njit(cache=True)(add)) == 1


def test_all_loops_are_kept_only_while_each_of_them_is_whole(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "new")
    assert not cache.are_cached()
    files = [tmp_path / "one.nbc", tmp_path / "an other.nbc"]
    for file in files:
        cache.write_whole(file, b"code")
    cache.list_cached(files)
    assert cache.are_cached()
    for file in (*files, cache.marker()):
        whole = file.read_bytes()
        file.write_bytes(whole[:-1])
        assert not cache.are_cached()
        file.write_bytes(whole)
    assert cache.are_cached()
    files[0].unlink()
    assert not cache.are_cached()


@pytest.fixture
def bundle(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    # Noted as unset, so that it is unset again after the test.
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")


def test_the_sources_are_read_for_the_first_loop_only(bundle, monkeypatch):
    known = cache.identity()
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail("read again"))
    assert cache.identity() == known


def test_a_bundle_keeps_loops_in_the_caches_of_the_person(bundle, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "tokstudio")
    cache.choose_folder()
    folder = Path(os.environ["NUMBA_CACHE_DIR"])
    assert folder == tmp_path / "tokstudio" / f"compiled-{cache.identity()}"
    assert folder.is_dir()
    assert cache.marker().parent == folder


@pytest.fixture
def installed(bundle, monkeypatch, tmp_path):
    """The folder that the package fills when it is installed; and the person's own, which is empty."""
    folder = tmp_path / "var"
    folder.mkdir()
    monkeypatch.setattr(cache, "SYSTEM", folder)
    monkeypatch.setattr(cache, "is_root_only", lambda path: path == folder)
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "tokstudio")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    files = [folder / "one.nbc", folder / "other.nbc"]
    for file in files:
        cache.write_whole(file, file.name.encode())
    cache.list_cached(files)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    return folder


def test_loops_compiled_during_installation_are_reused(installed, tmp_path):
    cache.choose_folder()
    folder = Path(os.environ["NUMBA_CACHE_DIR"])
    assert folder.parent == tmp_path / "tokstudio"
    assert cache.are_cached()
    assert cache.read_whole(folder / "other.nbc") == b"other.nbc"
    shutil.rmtree(installed)
    assert cache.are_cached()


@pytest.fixture
def brought(bundle, monkeypatch, tmp_path):
    """The loops that a bundle brings with it; the person's own folder is empty."""
    folder = tmp_path / "loops"
    folder.mkdir()
    monkeypatch.setattr(cache, "SYSTEM", tmp_path / "nothing")
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "tokstudio")
    monkeypatch.setattr(shipped, "folder", lambda: folder)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(shipped, "features", lambda: LARGE)
    for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        monkeypatch.setenv(name, "")  # so that it is unset again after the test
        monkeypatch.delenv(name)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    files = [folder / "one.nbc", folder / "other.nbc"]
    for file in files:
        cache.write_whole(file, file.name.encode())
    cache.list_cached(files)
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    return folder


def own_folder(tmp_path):
    return tmp_path / "tokstudio" / f"compiled-{cache.identity()}"


def test_a_first_start_uses_the_loops_of_the_bundle(brought, tmp_path):
    cache.choose_folder()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == own_folder(tmp_path) / "common"
    assert (os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"]) == ("x86-64-v3", "+sse2")
    assert shipped.in_use()
    assert cache.are_cached()
    own = cache.own_environment()
    assert own["NUMBA_CACHE_DIR"] == str(own_folder(tmp_path))
    assert not own.keys() & {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"}


def test_the_next_start_uses_the_loops_of_the_processor(brought, monkeypatch, tmp_path):
    cache.choose_folder()
    for name, value in cache.own_environment().items():
        monkeypatch.setenv(name, value)
    for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        monkeypatch.delenv(name)
    own = own_folder(tmp_path) / "one.nbc"
    cache.write_whole(own, b"for this processor")
    cache.list_cached([own])
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    cache.choose_folder()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == own_folder(tmp_path)
    assert "NUMBA_CPU_NAME" not in os.environ
    assert cache.are_cached()
    assert cache.own_environment() is None


def test_loops_of_the_bundle_stay_while_an_open_window_may_load_them(brought, monkeypatch, tmp_path):
    common, month = own_folder(tmp_path) / "common", 31 * 86_400

    def start():
        for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("NUMBA_CACHE_DIR", "")
        cache.choose_folder()

    start()
    os.utime(common, (time.time() - month,) * 2)
    start()
    own = own_folder(tmp_path) / "one.nbc"
    cache.write_whole(own, b"for this processor")
    cache.write_whole(own_folder(tmp_path) / f"loops-{cache.identity()}", os.fsencode(own))
    start()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == own_folder(tmp_path)
    assert cache.read_whole(common / "other.nbc") == b"other.nbc"
    os.utime(common, (time.time() - month,) * 2)
    start()
    assert not common.exists()


@pytest.mark.parametrize("fault", ["an older processor", "unknown", "damaged", "another build", "one is gone", "named"])
def test_loops_of_the_bundle_that_cannot_be_used_are_not(brought, monkeypatch, tmp_path, fault):
    match fault:
        case "an older processor":
            monkeypatch.setattr(shipped, "features", lambda: LARGE - {"avx2"})
        case "unknown":
            monkeypatch.setattr(platform, "machine", lambda: "riscv64")
        case "damaged":
            (brought / "one.nbc").write_bytes(b"x" * 99)
        case "another build":
            (brought / f"loops-{cache.identity()}").rename(brought / f"loops-{'0' * 16}")
        case "one is gone":
            (brought / "one.nbc").unlink()
        case "named":
            monkeypatch.setenv("NUMBA_CPU_NAME", "skylake")
    named = os.environ.get("NUMBA_CPU_NAME")
    cache.choose_folder()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == own_folder(tmp_path)
    assert os.environ.get("NUMBA_CPU_NAME") == named
    assert not cache.are_cached()
    assert cache.own_environment() is None


def test_arm_needs_nothing_that_a_processor_may_lack(brought, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(shipped, "features", set)
    cache.choose_folder()
    assert (os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"]) == ("generic", "+neon")
    assert cache.are_cached()


def test_the_features_of_this_processor_are_asked_of_the_compiler():
    assert all(isinstance(name, str) for name in shipped.features())
    assert shipped.features()


@pytest.mark.parametrize("fault", ["of others", "damaged", "another build", "one is gone"])
def test_loops_of_the_installation_that_cannot_be_trusted_are_not_taken(installed, monkeypatch, fault):
    match fault:
        case "of others":
            monkeypatch.setattr(cache, "is_root_only", lambda path: False)
        case "damaged":
            (installed / "one.nbc").write_bytes(b"x" * 99)
        case "another build":
            (installed / f"loops-{cache.identity()}").rename(installed / f"loops-{'0' * 16}")
        case "one is gone":
            (installed / "one.nbc").unlink()
    cache.choose_folder()
    assert not cache.are_cached()
    assert not [*Path(os.environ["NUMBA_CACHE_DIR"]).iterdir()]


def test_a_bundle_without_such_a_folder_takes_another(bundle, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "file" / "tokstudio")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(private_folders.tempfile, "gettempdir", lambda: str(tmp_path))
    cache.choose_folder()
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent.parent == tmp_path


def test_a_bundle_passes_over_a_full_disk_unless_the_loops_are_there(bundle, monkeypatch, tmp_path):
    def full(folder, size):
        if tmp_path / "home" in folder.parents:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache, "check_space", full)
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "home" / "tokstudio")
    monkeypatch.setattr(cache, "session_folders", lambda: iter([tmp_path / "elsewhere"]))
    cache.choose_folder()
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent == tmp_path / "elsewhere"
    home = tmp_path / "home" / "tokstudio" / f"compiled-{cache.identity()}"
    (home / cache.marker().name).touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    cache.choose_folder()
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == home


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owners here")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
@pytest.mark.parametrize("which", ["above", "itself"])
def test_a_bundle_keeps_nothing_where_another_person_could_change_it(bundle, monkeypatch, tmp_path, which, mode):
    folder = tmp_path / "shared" / f"compiled-{cache.identity()}"
    for made in (folder.parent, folder):
        made.mkdir(mode=0o700)
    (folder.parent if which == "above" else folder).chmod(mode)
    group = folder.parent.stat().st_gid
    monkeypatch.setattr(os, "getgid", lambda: group + 1)
    monkeypatch.setattr(cache, "cache_folder", lambda: folder.parent)
    monkeypatch.setattr(cache, "session_folders", lambda: iter([tmp_path / "own"]))
    cache.choose_folder()
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent == tmp_path / "own"
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owners here")
def test_a_bundle_takes_the_usual_caches_of_a_person_whose_group_may_write(bundle, monkeypatch, tmp_path):
    """As Fedora and others set it; the command line, from its sources, was there first."""
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / ".cache" / "tokstudio")
    monkeypatch.setattr(cache, "session_folders", lambda: iter([]))
    monkeypatch.setattr(private_folders, "_is_own_group", lambda group: True)
    before = os.umask(0o002)
    try:
        with monkeypatch.context() as sources:
            sources.delattr(sys, "frozen")
            cache.list_cached([])
        cache.choose_folder()
    finally:
        os.umask(before)
    assert (tmp_path / ".cache").stat().st_mode & 0o777 == 0o775
    assert Path(os.environ["NUMBA_CACHE_DIR"]).parent == tmp_path / ".cache" / "tokstudio"


def test_a_bundle_that_finds_no_folder_keeps_nothing_and_says_so(bundle, monkeypatch, tmp_path, problems):
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "file" / "tokstudio")
    monkeypatch.setattr(cache, "session_folders", lambda: iter([]))
    cache.choose_folder()
    assert not os.environ["NUMBA_CACHE_DIR"]
    assert "no folder" in cache.problem()
    # Numba reads its settings anew where a variable of its own has changed.
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    loop = njit(cache=True)(add)
    # Neither beside the source nor in Numba's own folder, which nobody has looked at.
    assert (loop(2, 3), loop.stats.cache_path) == (5, None)


# What a start of a bundle does with one of its loops; says whether it was loaded, and where it is kept.
_START = """
import sys
sys.frozen = True
import numpy as np
from tokstudio.core.kernels.cache import problem
from tokstudio.core.kernels.words import spread
spread(np.zeros((1, 2), np.uint64), np.zeros((1, 2), np.uint64))
assert problem() is None, problem()
print(sum(spread.stats.cache_hits.values()), spread.stats.cache_path)
"""


@pytest.mark.parametrize("named", [False, True], ids=["its own folder", "one that the person names"])
def test_starts_of_a_bundle_share_their_loops_wherever_it_is_mounted_and_no_other_build_does(tmp_path, named):
    """As an AppImage, whose files are in another folder at each start."""
    variables = dict(os.environ, NUMBA_CACHE_DIR=str(tmp_path / "named") if named else "")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        variables[name] = str(tmp_path / "home")

    def start(mount, change=False):
        place = tmp_path / mount
        shutil.copytree(Path(tokstudio.__file__).parent, place / "tokstudio", ignore=lambda *_: ["__pycache__"])
        if change:
            with (place / "tokstudio" / "core" / "kernels" / "heap.py").open("a") as source:
                source.write("# another build\n")
        command = [sys.executable, "-c", _START]
        variables["PYTHONPATH"] = str(place)
        done = subprocess.run(command, env=variables, cwd=place, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert not list(place.rglob("*.nbc"))
        hits, _, folder = done.stdout.strip().partition(" ")
        return int(hits), Path(folder)

    (first, folder), second, (other, elsewhere) = start("a"), start("b"), start("c", change=True)
    assert (first, second) == (0, (1, folder))
    assert (other, elsewhere == folder) == (0, named)
    assert start("d") == (1, folder), "another build is in nobody's way"


def test_old_loops_of_other_builds_go_once_new_ones_are_there(bundle, monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    cache.choose_folder()
    old, recent = tmp_path / "compiled-0123456789abcdef", tmp_path / "compiled-fedcba9876543210"
    for folder in (old, recent):
        folder.mkdir()
        (folder / "merge.nbc").touch()
    long_ago = time.time() - 40 * 86_400
    for folder in (old, tmp_path / f"compiled-{cache.identity()}"):
        os.utime(folder, (long_ago, long_ago))
    cache.remove_older()
    assert {entry.name for entry in tmp_path.iterdir()} == {f"compiled-{cache.identity()}", recent.name}


def test_loops_of_a_build_that_is_started_now_and_then_stay_however_long_ago_they_were_compiled(
    bundle, monkeypatch, tmp_path
):
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    cache.choose_folder()
    used = Path(os.environ["NUMBA_CACHE_DIR"])
    cache.write_whole(used / "merge.nbc", b"code")
    cache.list_cached([used / "merge.nbc"])
    long_ago = time.time() - 40 * 86_400
    for path in (used, cache.marker()):
        os.utime(path, (long_ago, long_ago))
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    cache.choose_folder()
    assert used.stat().st_mtime > long_ago + 1
    assert cache.are_cached()
    assert cache.marker().stat().st_mtime > long_ago + 1
    with monkeypatch.context() as another_build:
        another_build.setattr(cache, "identity", lambda: "0123456789abcdef")
        another_build.setenv("NUMBA_CACHE_DIR", "")
        cache.choose_folder()
        cache.remove_older()
    assert used.exists()


def test_a_folder_whose_time_cannot_be_changed_is_used_all_the_same(bundle, monkeypatch, tmp_path, problems):
    def refuse(path):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(os, "utime", refuse)
    cache.choose_folder()
    assert (Path(os.environ["NUMBA_CACHE_DIR"]).parent, problems) == (tmp_path, [])


def test_files_beside_a_chosen_folder_stay(bundle, monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    for name in ("numba", "compiled-0123456789abcdef", "compiled-by-hand", "numba/loops-of-mine"):
        (tmp_path / name).mkdir()
    cache.remove_older()
    assert len(list(tmp_path.rglob("*"))) == 4


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owners here")
def test_a_folder_that_the_person_has_named_keeps_its_permissions(bundle, monkeypatch, tmp_path):
    monkeypatch.setattr(private_folders, "_is_own_group", lambda group: True)
    tmp_path.chmod(0o775)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    cache.list_cached([])
    assert tmp_path.stat().st_mode & 0o777 == 0o775


def test_the_program_runs_its_own_modules_in_place_of_a_python():
    """As a bundle does, whose program is no Python."""
    command = [sys.executable, "-m", "tokstudio", subprocesses.PROCESS, subprocesses.MODULES[0]]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_program_runs_no_other_module():
    command = [sys.executable, "-m", "tokstudio", subprocesses.PROCESS, "antigravity"]
    done = subprocess.run(command, capture_output=True, timeout=60)
    assert done.returncode == 2
    assert b"usage: tokstudio" in done.stderr
