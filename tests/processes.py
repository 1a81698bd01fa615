"""The child processes of a test: recorded, ended, or none at all."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
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


@contextmanager
def killed_at_the_end(program: Popen[bytes]) -> Iterator[Popen[bytes]]:
    """A program that does not outlive a test that fails: nobody else would end it."""
    with program:
        try:
            yield program
        finally:
            program.kill()
