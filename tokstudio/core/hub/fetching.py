"""Fetches a tokenizer by its name, in a child process that runs `main`; asks any process that connects."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import signal
import sys
import threading
from contextlib import closing, nullcontext
from typing import NoReturn, TypeVar

from tokstudio.core.base.errors import FormatError, TokStudioError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.subprocesses import ChildProcess, ParentProcess, ProcessEnded, Refused, end_with_parent
from tokstudio.core.hub.addresses import without_secrets
from tokstudio.core.hub.names import TIKTOKEN, Name

_PATIENCE = 30.0  # seconds without any data, after which a connection has stalled
_MEMORY = 1 << 32  # bytes
_UNTIL_KILLED = 1.0
# Plain connections have timeouts and report each piece.
_SETTINGS = {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

A = TypeVar("A")


@dataclass(frozen=True)
class Fetched:
    """The file of a tokenizer in a cache; other files that belong to it are beside it."""

    path: str  # the file
    remark: str  # a sentence about where it is from; mostly ""


def fetch_work(name: Name) -> Work[Fetched]:
    """Fetches what is not in the cache, with progress in bytes; closing the work ends the connection at once.

    Raises:
        FormatError: There is no such tokenizer, it may not be read, or it did not arrive whole; nothing of it is kept.
    """
    return answer_work(__name__, str(name), name, Fetched, _PATIENCE, FormatError)


def new_process(module: str) -> ChildProcess:
    """A process that runs a module and connects, as often as it is asked; it starts with the first question."""
    # At first asked to end, so that it removes what it has not fetched whole.
    return ChildProcess(module, memory=_MEMORY, variables=_SETTINGS, grace=_UNTIL_KILLED)


def answer_work(
    module: str,
    name: str,
    question: object,
    answer: type[A],
    patience: float,
    fault: type[TokStudioError],
    process: ChildProcess | None = None,
) -> Work[A]:
    """The answer of a process that runs a module and connects; closing the work ends the connection at once.

    Each error is a `fault` that begins with the name; the connection has stalled after so many seconds without data.
    A `process` of the module that is given stays; without one, the answer has its own.
    """
    try:
        with nullcontext(process) if process is not None else closing(new_process(module)) as asked:
            return (yield from asked.ask(question, answer, "downloading", patience))
    except FormatError as error:
        raise fault(str(error)) from error
    except ProcessEnded as error:
        raise fault(f"{name}: the process that fetches it ended without an answer; try again.") from error
    except TimeoutError as error:
        why = f"the connection stalls: no data came for {patience:g} seconds. Try again later."
        raise fault(f"{name}: {why}") from error
    except OSError as error:
        raise fault(f"{name}: no process can be started to fetch it: {error.strerror or error}.") from error


# --- In the child process ---------------------------------------------------------------------------------------------


def main() -> int:
    """Fetches the tokenizer whose name the parent sends."""
    # As an exception, so that files that have not arrived whole are removed.
    signal.signal(signal.SIGTERM, _leave)
    parent = ParentProcess(Name)
    if (name := parent.receive()) is not None:
        threading.Thread(target=end_with_parent, daemon=True).start()
        parent.send(Progress("downloading"))
        parent.send(_answer(name, parent))
    return 0


def _leave(*_: object) -> NoReturn:
    sys.exit(1)


def _answer(name: Name, parent: ParentProcess) -> Fetched | Refused:
    from tokstudio.core.hub import encodings, repositories

    fetch = encodings.fetch if name.source == TIKTOKEN else repositories.fetch
    try:
        path, remark = fetch(name, lambda done, total: parent.send(Progress("downloading", done, total)))
    except FormatError as error:
        return Refused(without_secrets(str(error)))
    except OSError as error:
        return Refused(without_secrets(f"{name}: it cannot be kept in the cache: {error.strerror or error}."))
    except Exception as error:  # whatever a library raises is told to the user
        return Refused(without_secrets(f"{name}: it cannot be fetched: {type(error).__name__}: {error}"))
    return Fetched(str(path), without_secrets(remark))
