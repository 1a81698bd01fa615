"""The machine: its free memory, its processor cores, and work on all of them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from queue import Empty, SimpleQueue
from types import MappingProxyType
from typing import TypeVar

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.progress import Progress, Work

# --- The free memory, by the system and a container's limits, and limits on the memory of this process ----------------

_UNKNOWN_SHARE = 0.5  # of all memory, where the system does not say how much is free
_NO_LIMIT = 1 << 60
# Options of GNU's `mallopt`. Arrays from 4 MB on (NumPy asks for huge pages for these) get a mapping of their own,
# which is returned to the system when they are freed. Twice as much may stay free at the end of an arena, the default.
_ARENAS, _PAGES_OF_ITS_OWN, _FREE_AT_THE_END = -8, -3, -1
_KEPT_OF_FREED = {_ARENAS: 2, _PAGES_OF_ITS_OWN: 4 << 20, _FREE_AT_THE_END: 8 << 20}
_MAC_STATISTICS, _MAC_WORDS = 4, 38  # HOST_VM_INFO64 and its length
_MAC_FREE, _MAC_INACTIVE = 0, 2


def free_memory() -> int | None:
    """Gives the bytes of memory that this process may still take; None where that is unknown."""
    free = [_free_on_windows() if sys.platform == "win32" else _free_on_unix(), *_left_in_groups(Path("/"))]
    limits = [size for size in free if size is not None]
    return min(limits, default=None)


def share_for_libraries() -> int | None:
    """The memory limit in bytes for a child process that runs another library; None where no limit can be set."""
    if not sys.platform.startswith("linux"):
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


#: Variables with which NumPy's OpenBLAS starts no threads, that would wait busily for a while in each process.
ONE_THREAD: Mapping[str, str] = MappingProxyType({"OPENBLAS_NUM_THREADS": "1"})


def limit_memory(most: int) -> None:
    """Limits the memory of this process to `most` bytes; larger requests fail instead of harming other programs."""
    # The module does not exist on Windows.
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def return_freed_memory() -> None:
    """Lets this process return more freed memory to the system; call it before threads are started.

    GNU's C library would keep an arena for each of many threads, each as large as the largest arrays ever made there:
    a process with a thread for each job then grows for hours. On other systems this does nothing.
    """
    if sys.platform.startswith("linux"):
        with suppress(AttributeError):
            set_option = ctypes.CDLL(None).mallopt
            for option, value in _KEPT_OF_FREED.items():
                set_option(option, value)


def _free_on_unix() -> int | None:
    with suppress(OSError), open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        if sys.platform == "darwin" and (pages := _free_pages_on_mac(ctypes.CDLL(None))) is not None:
            return pages * page
        return int(os.sysconf("SC_PHYS_PAGES") * page * _UNKNOWN_SHARE)
    except (AttributeError, OSError, ValueError):
        return None


def _free_pages_on_mac(system: ctypes.CDLL) -> int | None:
    """Free and inactive pages; inactive ones can be read from a file again."""
    words, length = (ctypes.c_uint32 * _MAC_WORDS)(), ctypes.c_uint32(_MAC_WORDS)
    failed = system.host_statistics64(system.mach_host_self(), _MAC_STATISTICS, words, ctypes.byref(length))
    return None if failed else words[_MAC_FREE] + words[_MAC_INACTIVE]


class _WindowsMemory(ctypes.Structure):
    """The structure MEMORYSTATUSEX of Windows."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("physical", "free_physical", "committable", "free_committable")),
        *((name, ctypes.c_uint64) for name in ("virtual", "free_virtual", "free_extended")),
    )


def _free_on_windows() -> int | None:
    memory = _WindowsMemory(length=ctypes.sizeof(_WindowsMemory))
    system: ctypes.CDLL = getattr(ctypes, "windll").kernel32  # noqa: B009 - other systems' type stubs lack it
    if not system.GlobalMemoryStatusEx(ctypes.byref(memory)):
        return None
    return min(memory.free_physical, memory.free_committable)


def _left_in_groups(root: Path) -> Iterator[int]:
    """The memory left in each control group of this process; nothing on systems without groups.

    A container often sees its own group as the topmost, so the parents of the named group are looked at as well.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            top, names = root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            top = root / "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        inner = PurePosixPath(path.lstrip("/"))
        for group in (inner, *inner.parents):
            # A group without a limit says "max" or a very large number; the topmost group has no such files.
            with suppress(OSError, ValueError):
                limit = int((top / group / names[0]).read_text())
                if limit < _NO_LIMIT:
                    used = int((top / group / names[1]).read_text())
                    yield max(0, limit - used + _reclaimable(top / group, names[2]))


def _reclaimable(group: Path, name: str) -> int:
    """Bytes that count as used but can be reclaimed."""
    for line in (group / "memory.stat").read_text().splitlines():
        key, _, size = line.partition(" ")
        if key == name:
            return int(size)
    return 0


# --- Several works at once, each in a thread --------------------------------------------------------------------------

T = TypeVar("T")

_PATIENCE = 0.02  # seconds between two reports of progress


def processors() -> int:
    """How many processors this process may use."""
    # Not every system can restrict a process to some of them.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(
    phase: str,
    works: Sequence[Callable[[], Work[T]]],
    tell: Callable[[int, T | TokStudioError], None],
    threads: int | None = None,
) -> Work[None]:
    """Does works that spend most time without the interpreter's lock, in at most `threads` threads.

    None is one per processor.
    `tell` receives the number of each work with its result, or the error that ended it, in the caller's thread. Closing
    this work ends all of them between two of their reports.
    """
    from concurrent.futures import Future, ThreadPoolExecutor

    stop = threading.Event()

    def drive(make: Callable[[], Work[T]]) -> T | TokStudioError | None:
        if stop.is_set():
            return None
        work = make()
        try:
            while not stop.is_set():
                next(work)
        except StopIteration as end:
            return end.value
        except TokStudioError as error:
            return error
        finally:
            work.close()
        return None

    with ThreadPoolExecutor(max(1, min(len(works), threads or processors()))) as pool:
        try:
            done = SimpleQueue[tuple[int, Future[T | TokStudioError | None]]]()
            for number, work in enumerate(works):
                pool.submit(drive, work).add_done_callback(lambda future, number=number: done.put((number, future)))
            left = len(works)
            while left:
                finished = None
                with suppress(Empty):
                    finished = done.get(timeout=_PATIENCE)
                if finished is not None:
                    number, future = finished
                    result = future.result()
                    assert result is not None
                    tell(number, result)
                    left -= 1
                yield Progress(phase, len(works) - left, len(works))
        finally:
            stop.set()
