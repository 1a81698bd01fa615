"""Commands that run a module of TokStudio in a child process, from the sources or from a bundle."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# The hidden first argument by which `__main__` runs one of the modules.
PROCESS = "--process"
MODULES = ("tokstudio.core.libraries.server", "tokstudio.core.hub.server", "tokstudio.core.warm_up")
# The child process imports the package from the same folder as this process. That folder does not stay on the path,
# where it would come before the standard library.
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from tokstudio.__main__ import main; del sys.path[0]; "
    "sys.exit(main())"
)


def is_bundle() -> bool:
    """Whether this program is a bundle made by PyInstaller."""
    return bool(getattr(sys, "frozen", False))


def module_command(module: str, *arguments: str) -> list[str]:
    """The command that runs the `main` of one of `MODULES`, without the current folder; start it in `import_folder`."""
    assert module in MODULES
    python = () if is_bundle() else ("-I" if sys.flags.isolated else "-P", "-c", _START, str(import_folder()))
    return [sys.executable, *python, PROCESS, module, *arguments]


def import_folder() -> Path:
    """The folder that contains the package `tokstudio`."""
    return Path(__file__).resolve().parents[3]


@contextmanager
def ended_with_parent() -> Generator[None]:
    """Lets the system end this process with its parent, also while a library keeps the interpreter's lock.

    The parent must send nothing meanwhile: what arrives on standard input ends the process as its end does.
    """
    if sys.platform == "win32":
        _end_with_parent_on_windows()
        yield
        return
    import fcntl

    # The signal of a pipe at which something happens; Python's own handlers would have to wait for the lock.
    library = ctypes.CDLL(None)
    library.signal.argtypes = ctypes.c_int, ctypes.c_void_p
    library.signal(signal.SIGIO, ctypes.cast(library._exit, ctypes.c_void_p))
    flags = fcntl.fcntl(0, fcntl.F_GETFL)
    try:
        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(0, fcntl.F_SETFL, flags | os.O_ASYNC)
    except OSError:
        pass  # no pipe, or one without signals
    if select.select([0], [], [], 0)[0]:
        os._exit(1)
    try:
        yield
    finally:
        fcntl.fcntl(0, fcntl.F_SETFL, flags)


def _end_with_parent_on_windows() -> None:
    """Has a thread of the system end this process when the parent does."""
    windows: Any = ctypes.CDLL("kernel32")
    windows.OpenProcess.restype = ctypes.c_void_p
    synchronize, once, for_ever, this_process = 0x100000, 8, 0xFFFFFFFF, -1
    parent, wait = ctypes.c_void_p(windows.OpenProcess(synchronize, False, os.getppid())), ctypes.c_void_p()
    # What it calls has two arguments: that which is given here, and whether the time is over, which is the exit code.
    end = ctypes.cast(windows.TerminateProcess, ctypes.c_void_p)
    arguments = ctypes.c_void_p(this_process), ctypes.c_ulong(for_ever), ctypes.c_ulong(once)
    windows.RegisterWaitForSingleObject(ctypes.byref(wait), parent, end, *arguments)


def end_with_parent() -> None:
    """Ends this process when the parent has ended, which closes standard input; for a thread of its own.

    What the parent still sends is lost.
    """
    # Not through sys.stdin, whose lock this thread would still hold when the program ends.
    while os.read(0, 1):
        pass
    os._exit(1)
