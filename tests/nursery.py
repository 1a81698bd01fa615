"""Starts the child processes of the tests as forks of processes that have loaded their libraries.

So tests that start hundreds of them load the libraries once. Each is a process of its own, with the pipes, environment
and session that `start_process` gives it. On other systems than Linux, and where a test changes the command or what
Python reads of the environment, it starts as everywhere; but a fork of `_FINDING` looks into the folders of PYTHONPATH.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import gc
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module, reload
from itertools import count
from typing import Any

import pytest

from tokstudio.core.base import subprocesses

# What each module imports later, where it is installed.
_LATER = {
    "tokstudio.core.libraries.server": ("numpy", "tokenizers", "tiktoken", "sentencepiece"),
    "tokstudio.core.libraries.template_server": ("jinja2.sandbox",),
    "tokstudio.core.hub.fetching": (
        "tokstudio.core.hub.repositories", "tokstudio.core.hub.encodings", "tiktoken.load", "encodings.idna",
        "tqdm.asyncio", "huggingface_hub.hf_api", "huggingface_hub.file_download",
    ),
    "tokstudio.core.corpus.remote.serving": (
        "pyarrow.parquet", "pyarrow.compute", "pyarrow.json", "numpy.ma", "encodings.idna", "tqdm.asyncio",
        "huggingface_hub.hf_api", "huggingface_hub.file_download", "s3fs",
    ),
}  # fmt: skip
# What takes seconds, and few need: for a nursery that has forked often. The server sets these variables before.
_OFTEN = 8
_AT_LAST = {"tokstudio.core.libraries.server": "transformers.models.auto.tokenization_auto"}
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
# For these, tests put plug-ins of libraries, and what replaces parts of Python, into such a folder.
_FINDING = ("tokstudio.core.hub.fetching", "tokstudio.core.corpus.remote.serving")
_OF_PYTHON, _PATH = "PYTHON", "PYTHONPATH"
# Reads the environment when it is imported.
_READS_ENVIRONMENT = "huggingface_hub.constants"
_SERVE = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from tests.nursery import serve; del sys.path[0]; "
    "sys.exit(serve())"
)
_MOST = 1 << 20  # bytes of a request
_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)


def serve() -> int:
    """In the nursery: forks a process for each request on standard input, and in each runs the module."""
    module = sys.argv.pop()
    for name in (module, *_LATER[module]):
        with suppress(ImportError):
            import_module(name)
    gc.collect()
    gc.freeze()
    requests = socket.socket(fileno=0)
    for number in count():
        if number == _OFTEN and module in _AT_LAST:
            os.environ |= _OFFLINE
            with suppress(ImportError):
                import_module(_AT_LAST[module])
        message, ends, *_ = socket.recv_fds(requests, _MOST, 3)
        if not message:
            return 0
        if between := os.fork():
            os.waitpid(between, 0)
            requests.send(b"the tests are its parent now")
            for end in ends:
                os.close(end)
        elif process := os.fork():
            requests.send(str(process).encode())
            os._exit(0)
        else:
            requests.detach()
            return _run(json.loads(message), *ends)
    raise AssertionError


def _run(request: Mapping[str, Any], source: int, target: int, parent: int) -> int:
    """What `__main__` does in a process that `start_process` has started."""
    if request["own_session"]:
        os.setsid()
    for end, standard in ((source, 0), (target, 1), (os.open(os.devnull, os.O_WRONLY), 2)):
        os.dup2(end, standard)
        os.close(end)
    known_path = os.environ.get(_PATH)
    os.environ.clear()
    os.environ.update(request["environment"])
    if (path := os.environ.get(_PATH)) and path != known_path:
        sys.path[:0] = filter(None, path.split(os.pathsep))
        sys.modules.pop("sitecustomize", None)
        with suppress(ImportError):
            import_module("sitecustomize")
    os.environ[subprocesses.PARENT] = str(parent)
    if _READS_ENVIRONMENT in sys.modules and "transformers" not in sys.modules:
        reload(sys.modules[_READS_ENVIRONMENT])
    sys.argv[1:] = request["arguments"]
    return import_module("tokstudio.__main__").main()


class _Nurseries:
    """Those that have been started, by the command that they stand for."""

    def __init__(self) -> None:
        self._commands = {tuple(subprocesses.module_command(module)) for module in _LATER}
        self._python = _of_python(os.environ)
        self._started: dict[tuple[str, ...], tuple[socket.socket, subprocess.Popen[bytes]]] = {}
        self._turn = threading.Lock()

    def fork(self, started: Mapping[str, Any]) -> int | None:
        """The process of these arguments of `Popen`; None where it must start otherwise."""
        command, environment = started["args"], dict(os.environ if started["env"] is None else started["env"])
        at = command.index(subprocesses.PROCESS) if subprocesses.PROCESS in command else len(command)
        key = tuple(command[: at + 2])
        changed = {name for name, _ in _of_python(environment).items() ^ self._python.items()}
        if key not in self._commands or changed - ({_PATH} if key[-1] in _FINDING else set()):
            return None
        own_session = started["start_new_session"]
        request = {"arguments": command[at:], "environment": environment, "own_session": own_session}
        ends = [started["p2cread"], started["c2pwrite"], *started["pass_fds"]]
        prctl = ctypes.CDLL(None).prctl
        with self._turn:
            if key not in self._started:
                others = {name: value for name, value in os.environ.items() if not name.startswith(_OF_PYTHON)}
                self._started[key] = _new(command[: at + 2], others | self._python)
            requests, _ = self._started[key]
            prctl(_SUBREAPER, 1, 0, 0, 0)
            socket.send_fds(requests, [json.dumps(request).encode()], ends)
            process, _ = requests.recv(_MOST), requests.recv(_MOST)
            prctl(_SUBREAPER, 0, 0, 0, 0)
        return int(process)

    def close(self) -> None:
        """Ends them all."""
        for requests, nursery in self._started.values():
            requests.close()
            nursery.wait()


def _new(command: Sequence[str], environment: Mapping[str, str]) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """A nursery for processes of a command, and where it hears requests."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    serving = [_SERVE if part == subprocesses.START else part for part in command]
    with theirs:
        folder = subprocesses.import_folder()
        return ours, subprocess.Popen(serving, stdin=theirs, stdout=subprocess.DEVNULL, cwd=folder, env=environment)


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    """What Python reads when it starts."""
    return {name: value for name, value in environment.items() if name.startswith(_OF_PYTHON)}


@contextmanager
def nurseries() -> Iterator[None]:
    """Has processes that `start_process` starts be forks."""
    if sys.platform != "linux":
        yield
        return
    known, execute = _Nurseries(), inspect.signature(subprocess.Popen._execute_child)

    class Popen(subprocess.Popen):
        def _execute_child(self, *arguments: Any) -> None:
            started = execute.bind(self, *arguments).arguments
            pid = known.fork(started)
            if pid is None:
                super()._execute_child(*arguments)
                return
            self.pid, self._child_created = pid, True
            self._close_pipe_fds(*(started[end] for end in _PIPES))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", Popen)
        try:
            yield
        finally:
            known.close()
