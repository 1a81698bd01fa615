"""The child process that fetches one tokenizer: it prints its progress and its answer as lines of JSON."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
from contextlib import suppress
from typing import NoReturn
from urllib.parse import unquote

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.machine import limit_memory
from tokstudio.core.base.subprocesses import end_with_parent
from tokstudio.core.hub import encodings, repositories
from tokstudio.core.hub.names import TIKTOKEN, parse_name

_MEMORY = 1 << 32  # bytes
_PASSWORD = re.compile(r"(?<=://)[^/\s]*@")


class Reports:
    """Prints lines for the parent process; everything else that is printed goes to standard error.

    A name and a password in an address, of the environment or of an answer, are left out.
    """

    def __init__(self) -> None:
        owner, at, _ = os.environ.get("HF_ENDPOINT", "").partition("://")[2].rpartition("@")
        secrets = (owner, unquote(owner), owner.partition(":")[2], unquote(owner.partition(":")[2])) if at else ()
        self._secrets = [secret for secret in secrets if secret]
        self._lines = sys.stdout
        sys.stdout = sys.stderr

    def progress(self, done: int, total: int) -> None:
        """Reports bytes that have arrived, and how many there are; 0 where that is unknown."""
        self.put(done=done, total=total)

    def put(self, **line: object) -> None:
        """Prints one line."""
        told = {key: self._without_secrets(value) if key != "path" else value for key, value in line.items()}
        self._lines.write(json.dumps(told) + "\n")
        self._lines.flush()

    def _without_secrets(self, value: object) -> object:
        if not isinstance(value, str):
            return value
        value = _PASSWORD.sub("", value)
        for secret in self._secrets:
            value = value.replace(f"{secret}@", "").replace(secret, "…")
        return value


def main() -> int:
    """Fetches the tokenizer whose name is the argument."""
    # As an exception, so that files that have not arrived whole are removed.
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=end_with_parent, daemon=True).start()
    with suppress(ImportError, ValueError, OSError):  # not every system has such limits
        limit_memory(_MEMORY)
    reports, name = Reports(), parse_name(sys.argv[1])
    reports.progress(0, 0)
    fetch = encodings.fetch if name.source == TIKTOKEN else repositories.fetch
    try:
        path, remark = fetch(name, reports.progress)
    except FormatError as error:
        reports.put(problem=str(error))
    except OSError as error:
        reports.put(problem=f"{name}: it cannot be kept in the cache: {error.strerror or error}.")
    except Exception as error:  # whatever a library raises is told to the user
        reports.put(problem=f"{name}: it cannot be fetched: {type(error).__name__}: {error}")
    else:
        reports.put(path=str(path), remark=remark)
    return 0


def _leave(*_: object) -> NoReturn:
    sys.exit(1)
