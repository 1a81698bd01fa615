"""Fetches a tokenizer by its name, in a child process that `server` runs."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.subprocesses import import_folder, module_command
from tokstudio.core.hub.names import Name

PATIENCE = 30.0  # seconds without any data, after which a connection has stalled

_PAUSE = 0.05
_UNTIL_KILLED = 1.0
# Plain connections have timeouts and report each piece.
_SETTINGS = {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}


@dataclass(frozen=True)
class Fetched:
    """The file of a tokenizer in a cache; other files that belong to it are beside it.

    Attributes:
        path: The file.
        remark: A sentence about where it is from; mostly "".
    """

    path: Path
    remark: str


def fetch_work(name: Name) -> Work[Fetched]:
    """Fetches what is not in the cache, with progress in bytes; closing the work ends the connection at once.

    Raises:
        FormatError: There is no such tokenizer, it may not be read, or it did not arrive whole; nothing of it is kept.
    """
    progress, heard = Progress("downloading"), None
    with _running(name) as lines:
        while True:
            yield progress
            try:
                line = lines.get(timeout=_PAUSE)
            except queue.Empty:
                if heard is not None and time.monotonic() - heard > PATIENCE:
                    raise FormatError(
                        f"{name}: the connection stalls: no data came for {PATIENCE:g} seconds. Try again later."
                    ) from None
                continue
            if not line:
                raise FormatError(f"{name}: the process that fetches it ended without an answer; try again.")
            heard = time.monotonic()
            answer = _answer(line)
            if "problem" in answer:
                raise FormatError(answer["problem"])
            if "path" in answer:
                return Fetched(Path(answer["path"]), answer["remark"])
            progress = Progress("downloading", answer["done"], answer["total"])


def _answer(line: bytes) -> dict[str, Any]:
    """What a line says; a line that something else has printed says nothing new."""
    with suppress(ValueError, RecursionError):
        match json.loads(line):
            case {"problem": str()} | {"path": str(), "remark": str()} | {"done": int(), "total": int()} as answer:
                return cast("dict[str, Any]", answer)
            case _:
                pass
    return {"done": 0, "total": 0}


@contextmanager
def _running(name: Name) -> Generator[queue.SimpleQueue[bytes]]:
    """Runs the child process; yields its lines, the last of them empty, and ends it."""
    try:
        process = subprocess.Popen(
            module_command("tokstudio.core.hub.server", str(name)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=import_folder(),
            env={**os.environ, **_SETTINGS},
            # An interruption in a terminal is for the parent, which ends this one.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError as error:
        raise FormatError(f"{name}: no process can be started to fetch it: {error.strerror or error}.") from error
    assert process.stdin is not None
    assert process.stdout is not None
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(process.stdout, lines), daemon=True)
    reader.start()
    try:
        yield lines
    finally:
        # At first asked to end, so that it removes what it has not fetched whole.
        process.terminate()
        try:
            process.wait(_UNTIL_KILLED)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.join()
        process.stdin.close()
        process.stdout.close()


def _read(stream: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(b"")
