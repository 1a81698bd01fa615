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
import numpy as np
import pytest
from numba.core.caching import FunctionCache

import tokstudio
from tokstudio.core.base import private_folders, subprocesses
from tokstudio.core.kernels import cache, compiled, linked
from tokstudio.core.kernels.cache import Places
from tokstudio.core.kernels.compiled import njit

# The features of a processor of x86-64-v3, by LLVM's names, and one more.
LARGE = {"avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf", "xsave", "sha"}
LARGE |= {"sse3", "sse4.1", "sse4.2", "ssse3"}


def add(one, other):
    return one + other


@pytest.fixture
def problems(monkeypatch):
    found = []
    monkeypatch.setattr(cache, "_problems", found)
    return found


@pytest.fixture
def use(monkeypatch):
    """Lets loops that are defined from now on use these folders."""

    def set_places(*folders, **kind):
        monkeypatch.setattr(compiled, "places", lambda: Places(*folders, **kind))

    return set_places


@pytest.mark.skipif(os.environ.get("NUMBA_BOUNDSCHECK") == "1", reason="the check of bounds compares each index, too")
def test_only_in_our_loops_no_index_is_counted_from_the_end():
    def compiled_in(module):
        names = {"__name__": module}
        exec("def take(array, at):\n    return array[at]", names)
        take = numba.njit(names["take"])
        # Compiled only: where it is not counted from the end, an index below 0 is outside the array.
        take.compile((numba.int64[::1], numba.int64))
        return take

    others, ours = compiled_in("tests.take"), compiled_in("tokstudio.core.kernels.take")
    assert others(np.array([1, 2, 3]), -1) == 3
    assert ours(np.array([1, 2, 3]), 2) == 3
    is_compared = [any("icmp slt" in code for code in take.inspect_llvm().values()) for take in (others, ours)]
    assert is_compared == [True, False]


def test_on_a_full_disk_or_without_a_folder_calls_work_uncached(monkeypatch, use, problems):
    def full(self, sig, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(FunctionCache, "save_overload", full)
        assert njit(cache=True)(add)(2, 3) == 5
    assert "No space left on device" in cache.problem()
    problems.clear()
    use(None)
    loop = njit(cache=True)(add)
    # Neither beside the source nor in Numba's own folder, which nobody has looked at.
    assert (loop(2, 3), loop.stats.cache_path) == (5, None)
    assert cache.problem() is not None


@pytest.fixture
def kept(use, tmp_path, problems):
    """Compiles `add` with its cache in a folder, and gives the file it is kept in."""
    use(tmp_path)
    assert njit(cache=True)(add)(2, 3) == 5
    [file] = tmp_path.rglob("*.nbc")
    return file


def loads(loop):
    """How often a call was answered by the cache."""
    assert loop(2, 3) == 5
    return sum(loop.stats.cache_hits.values())


@pytest.mark.parametrize("damage", ["cut short", "empty", "another byte", "gone"])
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
        case _:
            kept.unlink()
    assert loads(njit(cache=True)(add)) == 0, "what is damaged is never run"
    assert loads(njit(cache=True)(add)) == 1
    assert (list(kept.parent.iterdir()), problems) == ([kept], [])


def test_a_loop_for_other_arguments_has_a_file_of_its_own(kept):
    assert loads(njit(cache=True)(add)) == 1
    assert njit(cache=True)(add)(2.0, 3.0) == 5.0
    assert len(list(kept.parent.iterdir())) == 2
    assert loads(njit(cache=True)(add)) == 1


@pytest.fixture
def shipped_add(use, monkeypatch, tmp_path, problems):
    """`add`, compiled into a folder as for a package; loops defined later use it."""
    for name, value in cache.settings().items():
        monkeypatch.setenv(name, value)
    use(tmp_path / "loops")
    assert njit(cache=True)(add)(2, 3) == 5
    for name in cache.settings():
        monkeypatch.delenv(name)
    use(tmp_path / "own", tmp_path / "loops", common=True)
    [file] = (tmp_path / "loops").iterdir()
    return file


def test_a_shipped_loop_is_loaded_but_one_of_another_set_or_damaged_is_compiled(shipped_add, use, tmp_path):
    assert loads(njit(cache=True)(add)) == 1
    assert not (tmp_path / "own").exists()
    use(tmp_path / "own")
    assert loads(njit(cache=True)(add)) == 0
    use(tmp_path / "other", tmp_path / "loops", common=True)
    shipped_add.write_bytes(shipped_add.read_bytes()[:-1])
    assert loads(njit(cache=True)(add)) == 0
    assert [file.parent.name for file in tmp_path.rglob("*.nbc")].count("other") == 1
    assert loads(njit(cache=True)(add)) == 1


def fill(folder, names=("one.nbc", "an other.nbc")):
    """Writes files as if all loops were compiled into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        cache.write_whole(folder / name, name.encode())
    cache.list_all(folder)


def test_all_loops_are_kept_only_while_each_of_them_is_whole(tmp_path):
    assert not cache.is_complete(tmp_path)
    fill(tmp_path)
    assert cache.is_complete(tmp_path)
    for file in tmp_path.iterdir():
        whole = file.read_bytes()
        file.write_bytes(whole[:-1])
        assert not cache.is_complete(tmp_path)
        file.write_bytes(whole)
    assert cache.is_complete(tmp_path)
    (tmp_path / "one.nbc").unlink()
    assert not cache.is_complete(tmp_path)


@pytest.fixture
def installation(monkeypatch, tmp_path, problems):
    """An installation without loops of its own, and a user who has none and names no folder."""
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "tokstudio")
    monkeypatch.setattr(cache, "session_folders", lambda: iter([]))
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "loops")
    for name in (cache.FOLDER, cache.OWN_ONLY, "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        monkeypatch.delenv(name, raising=False)


def own_folder(tmp_path):
    return tmp_path / "tokstudio" / f"compiled-{cache.identity()}"


def test_the_sources_are_read_for_the_first_loop_only(monkeypatch):
    known = cache.identity()
    monkeypatch.setattr("importlib.resources.files", lambda package: pytest.fail("read again"))
    assert cache.identity() == known


@pytest.fixture
def brought(installation, monkeypatch, tmp_path):
    """The loops that a bundle or a wheel brings with it."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(cache, "features", lambda: LARGE)
    fill(tmp_path / "loops")
    return tmp_path / "loops"


@pytest.mark.parametrize("others", [None, "brought"])
def test_the_loops_of_the_person_are_used_once_all_are_there_and_others_until_then(request, tmp_path, others):
    there = request.getfixturevalue(others or "installation")
    own = own_folder(tmp_path)
    assert cache.choose_places() == Places(own, there, common=others == "brought")
    assert own.is_dir()
    fill(own)
    assert cache.choose_places() == Places(own, own)


def test_a_larger_processor_has_two_common_kinds_the_fastest_first(brought, monkeypatch):
    usual = ("types", tuple(cache.settings().values()), "code")
    assert cache.common_keys(("types", "own", "code")) == [usual]
    monkeypatch.setattr(linked, "has_larger", lambda folder: True)
    assert cache.common_keys(("types", "own", "code")) == [("types", linked.LARGER, "code"), usual]


@pytest.mark.parametrize("others", [None, "brought"])
def test_where_nothing_can_be_written_shipped_loops_are_used_or_it_is_said(
    request, installation, monkeypatch, tmp_path, others
):
    there = others and request.getfixturevalue(others)
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "file" / "tokstudio")
    assert cache.choose_places() == Places(None, there, common=others is not None)
    assert "no folder" in cache.problem()


def test_a_folder_that_the_person_names_is_used_beside_shipped_loops(brought, monkeypatch, tmp_path):
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "named"))
    assert cache.choose_places() == Places(tmp_path / "named", brought, common=True)
    fill(tmp_path / "named")
    assert cache.choose_places() == Places(tmp_path / "named", tmp_path / "named")


def spoil(folder, fault):
    match fault:
        case "damaged":
            (folder / "one.nbc").write_bytes(b"x" * 99)
        case "another build":
            (folder / f"loops-{cache.identity()}").rename(folder / f"loops-{'0' * 16}")
        case "one is gone":
            (folder / "one.nbc").unlink()


@pytest.mark.parametrize(
    "fault", ["an older processor", "unknown", "damaged", "another build", "one is gone", "named", "own only"]
)
def test_shipped_loops_that_cannot_be_used_are_not(brought, monkeypatch, tmp_path, fault):
    spoil(brought, fault)
    match fault:
        case "an older processor":
            monkeypatch.setattr(cache, "features", lambda: LARGE - {"avx2"})
        case "unknown":
            monkeypatch.setattr(platform, "machine", lambda: "riscv64")
        case "named":
            monkeypatch.setenv("NUMBA_CPU_NAME", "skylake")
        case "own only":
            monkeypatch.setenv(cache.OWN_ONLY, "1")
    assert cache.choose_places() == Places(own_folder(tmp_path))


def test_arm_needs_nothing_that_a_processor_may_lack(brought, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(cache, "features", set)
    assert cache.settings() == {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "+neon"}
    assert cache.choose_places().common


def test_the_features_of_this_processor_are_asked_of_the_compiler():
    assert all(isinstance(name, str) for name in cache.features())
    assert cache.features()


def test_a_full_disk_is_passed_over_unless_the_loops_are_there(installation, monkeypatch, tmp_path):
    def full(folder, size):
        if tmp_path / "tokstudio" in folder.parents:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache, "check_space", full)
    monkeypatch.setattr(cache, "session_folders", lambda: iter([tmp_path / "elsewhere"]))
    assert cache.choose_places().own.parent == tmp_path / "elsewhere"
    fill(own_folder(tmp_path))
    assert cache.choose_places().own == own_folder(tmp_path)
    # Where there is no folder for caches, one of the session is taken.
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "file" / "tokstudio")
    monkeypatch.setattr(cache, "session_folders", private_folders.session_folders)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(private_folders.tempfile, "gettempdir", lambda: str(tmp_path))
    assert cache.choose_places().own.parent.parent == tmp_path


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owners here")
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
@pytest.mark.parametrize("which", ["above", "itself"])
def test_nothing_is_kept_where_another_person_could_change_it(installation, monkeypatch, tmp_path, which, mode):
    folder = tmp_path / "shared" / f"compiled-{cache.identity()}"
    for made in (folder.parent, folder):
        made.mkdir(mode=0o700)
    (folder.parent if which == "above" else folder).chmod(mode)
    group = folder.parent.stat().st_gid
    monkeypatch.setattr(os, "getgid", lambda: group + 1)
    monkeypatch.setattr(cache, "cache_folder", lambda: folder.parent)
    monkeypatch.setattr(cache, "session_folders", lambda: iter([tmp_path / "own"]))
    assert cache.choose_places().own.parent == tmp_path / "own"
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700


# What starts from several places do with one of their loops; says for each whether it was loaded, and where it is kept.
_STARTS = """
import sys
import numpy as np
for place in sys.argv[1:]:
    sys.path[0] = place
    for name in [name for name in sys.modules if name.startswith("tokstudio")]:
        del sys.modules[name]
    from tokstudio.core.kernels.cache import problem
    from tokstudio.core.kernels.words import spread
    assert spread.py_func.__code__.co_filename.startswith(place)
    spread(np.zeros((1, 2), np.uint64), np.zeros((1, 2), np.uint64))
    assert problem() is None, problem()
    print(sum(spread.stats.cache_hits.values()), spread.stats.cache_path)
"""


def test_starts_share_their_loops_wherever_they_are_installed_and_no_other_version_does(tmp_path):
    """As an AppImage, which is mounted elsewhere at each start, two virtual environments, or an archive."""
    variables = dict(os.environ, NUMBA_CACHE_DIR=str(tmp_path / "named"))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        variables[name] = str(tmp_path / "home")
    one, other, archive = tmp_path / "one", tmp_path / "other", tmp_path / "archive"
    unused = shutil.ignore_patterns("gui", "cli", "__pycache__")
    shutil.copytree(Path(tokstudio.__file__).parent, one / "tokstudio", ignore=unused)
    zipped = shutil.make_archive(str(archive), "zip", one)
    shutil.copytree(one, other)
    with (other / "tokstudio" / "core" / "kernels" / "merge.py").open("a") as source:
        source.write("# another build\n")
    command = [sys.executable, "-c", _STARTS, zipped, str(other), str(one)]
    done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    # Another build leaves the loops of this one as they are.
    assert [line.partition(" ")[0] for line in done.stdout.splitlines()] == ["0", "0", "1"]
    assert len({line.partition(" ")[2] for line in done.stdout.splitlines()}) == 1


def test_old_loops_of_other_versions_go_once_new_ones_are_there(installation, tmp_path):
    own = cache.choose_places().own
    old, recent = own.parent / "compiled-0123456789abcdef", own.parent / "compiled-fedcba9876543210"
    for folder in (old, recent):
        folder.mkdir()
        (folder / "merge.nbc").touch()
    long_ago = time.time() - 40 * 86_400
    for folder in (old, own):
        os.utime(folder, (long_ago, long_ago))
    cache.remove_older(own)
    assert {entry.name for entry in own.parent.iterdir()} == {own.name, recent.name}
    # What is beside a chosen folder stays.
    chosen = tmp_path / "chosen"
    for name in ("numba", "compiled-0123456789abcdef", "compiled-by-hand", "numba/loops-of-mine"):
        (chosen / name).mkdir(parents=True)
        os.utime(chosen / name, (0, 0))
    cache.remove_older(chosen / "numba")
    assert len(list(chosen.rglob("*"))) == 4


def test_loops_of_a_version_that_is_started_now_and_then_stay_however_long_ago_they_were_compiled(
    installation, tmp_path
):
    own = own_folder(tmp_path)
    fill(own)
    long_ago = time.time() - 40 * 86_400
    for path in (own, *own.iterdir()):
        os.utime(path, (long_ago, long_ago))
    cache.choose_places()
    assert own.stat().st_mtime > long_ago + 1
    another = own.parent / "compiled-0123456789abcdef"
    own.rename(another)
    cache.remove_older(cache.choose_places().own)
    assert another.exists()


def test_a_folder_whose_time_cannot_be_changed_is_used_all_the_same(installation, monkeypatch, tmp_path, problems):
    def refuse(path):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "utime", refuse)
    assert (cache.choose_places().own, problems) == (own_folder(tmp_path), [])


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owners here")
def test_a_folder_that_the_person_has_named_keeps_its_permissions(installation, monkeypatch, tmp_path):
    tmp_path.chmod(0o775)
    monkeypatch.setenv(cache.FOLDER, str(tmp_path))
    fill(cache.choose_places().own)
    assert tmp_path.stat().st_mode & 0o777 == 0o775


def test_the_program_runs_its_own_modules_in_place_of_a_python_and_no_other():
    """As a bundle does, whose program is no Python."""
    program = [sys.executable, "-m", "tokstudio", subprocesses.PROCESS]
    done = subprocess.run([*program, subprocesses.MODULES[0]], input=b"", capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    done = subprocess.run([*program, "antigravity"], capture_output=True, timeout=60)
    assert done.returncode == 2
    assert b"usage: tokstudio" in done.stderr


def test_settings_of_numba_in_the_current_folder_are_not_read(tmp_path):
    (tmp_path / ".numba_config.yaml").write_text("cache_locator_classes: antigravity.fly\nopt: 7\n")
    program = str(Path(tokstudio.__file__).parent.parent)
    load = f"import sys; sys.path.insert(0, {program!r}); import tokstudio.core.kernels.scan"
    asked = f"{load}; print('antigravity' in sys.modules, 'yaml' in sys.modules)"
    command = [sys.executable, "-P", "-c", asked]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["False", "False"], "")
