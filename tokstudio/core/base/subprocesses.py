"""Modules of TokStudio in child processes, from the sources or from a bundle, and the messages of both sides.

A message is a small frozen dataclass. On a pipe it is JSON with the bytes after it, so reading one runs nothing.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import json
import math
import os
import select
import signal
import struct
import sys
import threading
import weakref
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, TypeVar

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.machine import ONE_THREAD, limit_memory
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass

if TYPE_CHECKING:  # a child process does not need it
    from subprocess import Popen

# The hidden first argument by which `__main__` runs one of the modules.
PROCESS = "--process"
MODULES = (
    "tokstudio.core.libraries.server",
    "tokstudio.core.libraries.template_server",
    "tokstudio.core.hub.fetching",
    "tokstudio.core.corpus.remote.serving",
    "tokstudio.core.warm_up",
)
# The environment variable with the descriptor of a pipe that the parent holds and never writes to.
PARENT = "TOKSTUDIO_PARENT"
# The child process imports the package from the same folder as this process. That folder does not stay on the path,
# where it would come before the standard library.
START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from tokstudio.__main__ import main; del sys.path[0]; "
    "sys.exit(main())"
)

A = TypeVar("A")

# --- Starting and ending processes ------------------------------------------------------------------------------------


def is_bundle() -> bool:
    """Whether this program is a bundle made by PyInstaller."""
    return bool(getattr(sys, "frozen", False))


def module_command(module: str, *arguments: str) -> list[str]:
    """The command that runs the `main` of one of `MODULES`, without the current folder; start it in `import_folder`."""
    assert module in MODULES
    python = () if is_bundle() else ("-I" if sys.flags.isolated else "-P", "-c", START, str(import_folder()))
    return [sys.executable, *python, PROCESS, module, *arguments]


def import_folder() -> Path:
    """The folder that contains the package `tokstudio`."""
    return Path(__file__).resolve().parents[3]


def start_process(
    command: Sequence[str],
    variables: Mapping[str, str],
    has_output: bool = True,
    flags: int = 0,
    own_session: bool = False,
) -> Popen[bytes]:
    """Starts one of `MODULES` with a pipe for its input, and for its output if it `has_output`. Raises OSError.

    `flags` are for Windows. Closing a terminal ends the processes of its session, but none with `own_session`.
    """
    import subprocess

    ends = () if sys.platform == "win32" else os.pipe()
    try:
        process = subprocess.Popen(
            module_command(*command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if has_output else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=import_folder(),
            env={**ONE_THREAD, **os.environ, **variables, PARENT: str(ends[0]) if ends else ""},
            start_new_session=own_session,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0) | flags,
            pass_fds=ends[:1],
        )
    except BaseException:
        for end in ends:
            os.close(end)
        raise
    if ends:
        os.close(ends[0])
        weakref.finalize(process, os.close, ends[1])
    return process


@contextmanager
def ended_with_parent() -> Generator[None]:
    """Lets the system end this process with its parent, also while a library keeps the interpreter's lock.

    For processes that `start_process` has started.
    """
    if sys.platform == "win32":
        _end_with_parent_on_windows()
        yield
        return
    import fcntl

    # The signal of a pipe at which something happens; Python's own handlers would have to wait for the lock. Nothing
    # comes through this pipe but its end. Standard input would not do: the system also sends the signal when what the
    # parent has written may long have been read.
    pipe = int(os.environ[PARENT])
    library = ctypes.CDLL(None)
    library.signal.argtypes = ctypes.c_int, ctypes.c_void_p
    library.signal(signal.SIGIO, ctypes.cast(library._exit, ctypes.c_void_p))
    flags = fcntl.fcntl(pipe, fcntl.F_GETFL)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
    with suppress(OSError):  # a system whose pipes have no signals
        fcntl.fcntl(pipe, fcntl.F_SETFL, flags | os.O_ASYNC)
    if select.select([pipe], [], [], 0)[0]:
        os._exit(1)
    try:
        yield
    finally:
        fcntl.fcntl(pipe, fcntl.F_SETFL, flags)


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


# --- Messages ---------------------------------------------------------------------------------------------------------

_LENGTH = struct.Struct("<Q")
_LARGEST = 1 << 34  # bytes; a process that sends garbage promises more
_MOST_READ = 1 << 20
# Other types of fields are not checked; only requests have some, which come from the parent.
_CHECKED: Mapping[Any, type] = {"str": str, "int": int}


@dataclass(frozen=True)
class Refused:
    """In place of an answer: why there is none, in words for the user."""

    why: str


def write_message(stream: IO[bytes], message: Any) -> None:  # noqa: ANN401  any dataclass
    """Writes a dataclass; its fields are what JSON can express, and `parts`, if it has them, are a list of bytes."""
    values = {field.name: getattr(message, field.name) for field in fields(message)}
    parts: list[bytes] | None = values.pop("parts", None)
    sizes = None if parts is None else list(map(len, parts))
    head = json.dumps([type(message).__name__, values, sizes]).encode()
    for content in (_LENGTH.pack(len(head)), head, *(parts or ())):
        stream.write(content)
    stream.flush()


def read_message(stream: IO[bytes], *types: type) -> Any:  # noqa: ANN401  one of the types
    """The next message; None where the stream ends, or has anything but a message of these types."""
    try:
        name, values, sizes = json.loads(_read(stream, *_LENGTH.unpack(_read(stream, _LENGTH.size))))
        [kind] = [kind for kind in types if kind.__name__ == name]
        types_by_name = kind.__annotations__
        # Only what was read as bytes may be the parts.
        parts = {"parts": [_read(stream, size) for size in sizes]} if "parts" in types_by_name else {}
        message: Any = kind(**values, **parts)
    except (EOFError, ValueError, TypeError, RecursionError):
        return None
    is_right = all(isinstance(getattr(message, key), _CHECKED.get(types_by_name[key], object)) for key in types_by_name)
    return message if is_right else None


def _read(stream: IO[bytes], size: int) -> bytes:
    """Reads `size` bytes; raises EOFError where the stream ends before, and ValueError for an impossible size."""
    if not 0 <= size <= _LARGEST:
        raise ValueError
    parts: list[bytes] = []
    # In pieces, as the size may be anything where a process sends something else.
    while size and (part := stream.read(min(size, _MOST_READ))):
        parts.append(part)
        size -= len(part)
    if size:
        raise EOFError
    return b"".join(parts)


class ParentProcess:
    """The parent, as its child hears and answers it; the first argument, if any, limits the memory in bytes."""

    def __init__(self, *requests: type) -> None:
        if len(sys.argv) > 1:
            with suppress(ImportError, ValueError, OSError):  # not every system has such limits
                limit_memory(int(sys.argv[1]))
        self._requests = requests
        # What a library prints must not stand between the answers.
        self._source, self._target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)

    def receive(self) -> Any:  # noqa: ANN401  one of the requests
        """The next request; None where the parent has no more."""
        return read_message(self._source, *self._requests)

    def send(self, message: object) -> None:
        """Sends `Progress`, or an answer."""
        write_message(self._target, message)


class ProcessEnded(Exception):
    """A process ended, or sent something else, before it answered; the argument is its exit code or None."""


class ChildProcess:
    """A process of one of `MODULES` that answers requests, started on first use; safe in several threads.

    A cancelled request ends the process; the next request starts another. To each, the first request is `opening`, if
    any, whose answer has the type of the others. `memory` is its limit in bytes, `variables` are added to its
    environment, and for `grace` seconds it may clean up before it is killed.
    """

    def __init__(
        self,
        module: str,
        opening: object = None,
        memory: int | None = None,
        variables: Mapping[str, str] | None = None,
        grace: float = 0,
    ) -> None:
        self._command, self._variables = [module, *([str(memory)] if memory else [])], variables or {}
        self._opening = [] if opening is None else [opening]
        self._running = _Running(grace)
        # Not __del__: in a cycle of garbage the pipes may be finalized before it is called.
        weakref.finalize(self, self._running.end)
        self._turn, self._guard = threading.Lock(), threading.Lock()

    def ask(self, request: object, answer: type[A], phase: str, patience: float = math.inf) -> Work[A]:
        """The answer to a request; until then its progress in the phase, in the process's own units.

        Raises:
            FormatError: The process refuses, with its words.
            ProcessEnded: It ended, or sent something else.
            TimeoutError: After its first progress it sent nothing for `patience` seconds.
            OSError: It cannot be started.
        """
        question = _Question(request, answer, Progress(phase))
        # In a thread of its own, so that a caller that stops between two reports keeps no other caller waiting.
        waiting = threading.Thread(target=self._put, args=(question,), daemon=True)
        waiting.start()
        try:
            while waiting.is_alive():
                yield question.progress
                if monotonic() - question.heard > patience:
                    raise TimeoutError
                waiting.join(0.01)
            yield question.progress  # the last one, however soon the answer came after it
        except BaseException:
            self._give_up(question, waiting)
            raise
        if isinstance(question.outcome, Exception):
            raise question.outcome
        return question.outcome

    def close(self) -> None:
        """Ends the process."""
        self._running.end()

    def _put(self, question: _Question) -> None:
        """Sends a request when its turn has come, and stores the outcome."""
        with self._turn:
            if not question.is_given_up:
                question.outcome = self._outcome(question)
            with self._guard:
                question.process = None

    def _outcome(self, question: _Question) -> object:
        process, requests = self._running.process, [question.request]
        if process is None or process.poll() is not None:
            self._running.end()
            try:
                process = start_process(self._command, self._variables, own_session=True)
            except OSError as error:
                return error
            self._running.process, requests = process, [*self._opening, *requests]
        question.process, outcome = process, None
        for request in requests:
            outcome = None if question.is_given_up else _exchange(process, request, question)
            if not isinstance(outcome, question.answer):
                break
        return ProcessEnded(self._running.end()) if outcome is None else outcome

    def _give_up(self, question: _Question, waiting: threading.Thread) -> None:
        with self._guard:
            question.is_given_up = True
            if (process := question.process) is not None:
                self._running.stop(process)
        if process is not None:
            waiting.join()


class _Running:
    """The current process, if any."""

    def __init__(self, grace: float) -> None:
        self.process: Popen[bytes] | None = None
        self._grace = grace

    def stop(self, process: Popen[bytes]) -> None:
        """Asks a process to end if it may clean up, then kills it."""
        from subprocess import TimeoutExpired

        if self._grace:
            process.terminate()
            with suppress(TimeoutExpired):
                process.wait(self._grace)
        process.kill()

    def end(self) -> int | None:
        """Ends the process and returns its exit code."""
        process, self.process = self.process, None
        if process is None:
            return None
        self.stop(process)
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                stream.close()  # pyright: ignore[reportOptionalMemberAccess]
        return process.wait()


@dataclass
class _Question:
    request: object
    answer: type
    progress: Progress
    heard: float = math.inf  # when the latest progress came
    process: Popen[bytes] | None = None  # while it is asked
    outcome: Any = None  # the answer, or the error in its place
    is_given_up: bool = False


def _exchange(process: Popen[bytes], request: object, question: _Question) -> object:
    """Sends a request, and returns the answer or the error in its place; None where the process dies."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(OSError, ValueError):
        write_message(process.stdin, request)
        while isinstance(message := read_message(process.stdout, question.answer, Progress, Refused), Progress):
            question.heard = monotonic()
            question.progress = replace(message, phase=question.progress.phase)
        return FormatError(message.why) if isinstance(message, Refused) else message
    return None
