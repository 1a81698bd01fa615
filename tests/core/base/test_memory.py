"""The free memory on simulated systems and in containers, and the wording of numbers."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import pytest

from tokstudio.core.base import machine
from tokstudio.core.base.machine import free_memory
from tokstudio.core.base.wording import (
    count_text,
    in_units,
    percent_text,
    several,
    several_whole,
    share_text,
    whole_text,
)

# --- The free memory on simulated systems and in containers -----------------------------------------------------------

# Large arrays come and go in many threads, and a small one stays behind each; prints what is held at the end.
THREADS = """
import threading
import numpy as np
from tokstudio.core.base.machine import return_freed_memory

def own_memory():
    line = next(line for line in open("/proc/self/status") if line.startswith("RssAnon:"))
    return 1024 * int(line.split()[1])

def work():
    for _ in range(3):
        pairs = [(np.ones(5_000_000, np.uint8), np.ones(5_000, np.uint8)) for _ in range(4)]
        stay.extend(small for _, small in pairs)

return_freed_memory()
np.ones(30_000_000, np.uint8)
before, stay = own_memory(), []
for _ in range(2):
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(own_memory() - before)
"""


def control_group(top, path, limit, used, statistics, names=("memory.max", "memory.current")):
    folder = top / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(statistics)


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The root folder of a simulated system, of which 100 kB are free."""
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal:   900 kB\nMemAvailable:   100 kB\n")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(machine, "Path", lambda *_: tmp_path)
    monkeypatch.setattr(machine, "open", lambda path, **how: (tmp_path / path[1:]).open(**how), raising=False)
    return tmp_path


ALL = 102_400


def free(root, groups):
    (root / "proc/self/cgroup").write_text(groups)
    return free_memory()


OLD = ("memory.limit_in_bytes", "memory.usage_in_bytes")


def test_free_memory_of_a_container_includes_reclaimable_cache(root):
    control_group(root / "sys/fs/cgroup", ".", 1_000, 700, "anon 600\ninactive_file 90\nactive_file 10\n")
    assert free(root, "0::/\n") == 390
    # The limits of the former control groups hold too. Their path is that of the machine; in the container there is
    # the topmost only.
    control_group(root / "sys/fs/cgroup/memory", ".", 900, 600, "inactive_file 1\ntotal_inactive_file 50\n", OLD)
    assert free(root, "5:cpu,cpuacct:/\n4:memory:/docker/0123\n0::/docker/0123\n") == 350
    control_group(root / "sys/fs/cgroup/memory", ".", 9000, 600, "total_inactive_file 50\n", OLD)
    assert free(root, "5:cpu,cpuacct:/\n4:memory:/docker/0123\n0::/docker/0123\n") == 390


def test_every_group_above_limits_as_well_and_one_without_a_limit_does_not(root):
    top, groups = root / "sys/fs/cgroup", "0::/user/app/inner\n"
    control_group(top, "user/app/inner", "max", 100, "inactive_file 0\n")
    control_group(top, "user/app", 500, 100, "inactive_file 0\n")
    assert free(root, groups) == 400
    control_group(top, "user", 300, 400, "inactive_file 10\n")
    assert free(root, groups) == 0


@pytest.mark.parametrize("groups", ["", "0::/nowhere\n", "4:memory:/nowhere\n", "4:memory:/\n"])
def test_without_limits_the_groups_give_nothing(root, groups):
    control_group(root / "sys/fs/cgroup/memory", ".", 9223372036854771712, 300, "total_inactive_file 50\n", OLD)
    assert free(root, groups) == ALL
    (root / "proc/self/cgroup").unlink()
    assert free_memory() == ALL


def test_windows_says_what_is_free_and_what_may_still_be_committed(root, monkeypatch):
    class System:
        succeeds = True

        def GlobalMemoryStatusEx(self, reference):
            said = reference._obj
            assert said.length == ctypes.sizeof(said) == 64
            said.physical, said.free_physical = 16_000, 9_000
            said.committable, said.free_committable = 20_000, 7_000
            return self.succeeds

    system = System()
    monkeypatch.setattr(ctypes, "windll", type("Libraries", (), {"kernel32": system}), raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    assert free_memory() == 7_000
    system.succeeds = False
    assert free_memory() is None


def test_a_mac_counts_pages_that_are_free_or_easily_freed_and_others_half_of_all(root, monkeypatch):
    class System:
        fails = 0

        def mach_host_self(self):
            return 7

        def host_statistics64(self, host, flavour, words, length):
            assert (host, flavour, length._obj.value) == (7, 4, len(words))
            words[:4] = [100, 1_000, 20, 3_000]  # free, active, inactive, wired
            return self.fails

    system = System()
    (root / "proc/meminfo").unlink()
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(ctypes, "CDLL", lambda _: system)
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 10, "SC_PHYS_PAGES": 800}.get, raising=False)
    assert free_memory() == 1_200
    system.fails = 5
    assert free_memory() == 4_000
    monkeypatch.delattr(os, "sysconf")
    assert free_memory() is None


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not hasattr(ctypes.CDLL(None), "mallopt"),
    reason="only the C library of GNU can be asked",
)
def test_memory_freed_by_threads_is_returned():
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=True)
    # Without it 180 MB and more.
    assert int(done.stdout) < 30_000_000


# --- How messages word numbers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "scale", "text"),
    [
        (0, 1, "0"),
        (1_234_567, 1, "1,234,567"),
        (1_234_000, 1_000, "1,234"),
        (1_234_500, 1_000, "1,234.5"),
        (1_020, 1_000, "1.02"),
        (7, 1_000, "0.007"),
        (0, 1_000, "0"),
        (9_007_199_254_740_993, 1, "9,007,199,254,740,993"),
        (1_000_000_000_000_001, 1_000, "1,000,000,000,000.001"),
    ],
)
def test_a_count_has_separators_and_no_more_decimals_than_it_needs(count, scale, text):
    assert count_text(count, scale) == text


def test_a_whole_count_stays_whole():
    assert [repr(in_units(*pair)) for pair in ((5, 1), (5_000, 1_000), (2_500, 1_000))] == ["5", "5", "2.5"]
    assert several(in_units(1_000, 1_000), "token") == "1 token"
    assert several(in_units(1_500, 1_000), "token") == "1.5 tokens"


@pytest.mark.parametrize(
    ("count", "scale", "text"),
    [
        (0, 1_000, "0"),
        (1, 1_000, "<1"),
        (499, 1_000, "<1"),
        (500, 1_000, "1"),
        (1_234_500, 1_000, "1,235"),
        (1_234_499, 1_000, "1,234"),
        (9_007_199_254_740_993, 1, "9,007,199,254,740,993"),
    ],
)
def test_a_rounded_count_is_whole_and_0_only_where_there_is_nothing(count, scale, text):
    assert whole_text(count, scale) == text


def test_a_rounded_count_has_its_noun():
    counts = (200, 1_000, 1_500)
    assert [several_whole(count, 1_000, "token") for count in counts] == ["<1 token", "1 token", "2 tokens"]
    assert several_whole(2, 1, "place is", "places are") == "2 places are"


def test_percent_has_a_space_that_does_not_break():
    shares = ((0.349, 0), (0.3494, 1), (12.5, 0), (0, 2))
    assert [percent_text(*each) for each in shares] == ["35\u00a0%", "34.9\u00a0%", "1,250\u00a0%", "0.00\u00a0%"]


def test_a_share_is_not_rounded_to_nothing_or_all():
    shares = {0: "0", 1e-9: "<1", 0.005: "<1", 0.0051: "1", 0.345: "34", 0.9949: "99", 0.995: ">99", 1 - 1e-9: ">99"}
    wanted = {share: text.replace("<", "<\u00a0").replace(">", ">\u00a0") + "\u00a0%" for share, text in shares.items()}
    assert {share: share_text(share) for share in shares} == wanted
    assert share_text(1.0) == "100\u00a0%"
