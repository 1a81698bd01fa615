"""The child processes of a test: recorded, ended, or none at all."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from subprocess import Popen
from typing import Any

import pytest

from tokstudio.core.base import subprocesses


def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets no process start, so that what can be done here is done here."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(11, "no more processes")

    monkeypatch.setattr(subprocesses, "start_process", refuse)


def started_processes(monkeypatch: pytest.MonkeyPatch) -> list[Popen[bytes]]:
    """The processes that answer requests, as they start."""
    started: list[Popen[bytes]] = []
    start: Any = subprocesses.start_process

    def record(*arguments: object, **more: object) -> Popen[bytes]:
        started.append(start(*arguments, **more))
        return started[-1]

    monkeypatch.setattr(subprocesses, "start_process", record)
    return started


def ending_parent(monkeypatch: pytest.MonkeyPatch) -> Callable[[Popen[bytes]], None]:
    """What closes the pipes to the next process that starts, as the end of its parent would."""
    pipes: list[tuple[int, int]] = []
    pipe = os.pipe

    def record() -> tuple[int, int]:
        pipes.append(pipe())
        return pipes[-1]

    def end(process: Popen[bytes]) -> None:
        assert process.stdin is not None
        process.stdin.close()
        with open(os.devnull, "wb") as nothing:  # in its place, as the pipe will be closed once more
            os.dup2(nothing.fileno(), pipes[0][1])

    monkeypatch.setattr(os, "pipe", record)
    return end


@contextmanager
def killed_at_the_end(program: Popen[bytes]) -> Iterator[Popen[bytes]]:
    """A program that does not outlive a test that fails: nobody else would end it."""
    with program:
        try:
            yield program
        finally:
            program.kill()
