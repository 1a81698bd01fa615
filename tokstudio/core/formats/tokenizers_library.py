"""What the `tokenizers` library makes of a file and some texts; as a program it answers another process.

The library keeps the interpreter to itself while it reads, and would freeze a window; so large files go elsewhere.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.errors import FormatError
from tokstudio.core.progress import Progress, Work

# Reading takes some 15 ms a megabyte.
_SMALL = 1_000_000
_LIBRARY = "the tokenizers library"


def library_ids(path: Path, name: str, texts: Sequence[str]) -> Work[list[NDArray[np.uint32]]]:
    """The ids that the library gives each text with this file, after making sure that it decodes them to the text.

    Raises:
        FormatError: The library does not read the file, or decodes differently; the message calls the file `name`.
    """
    if path.stat().st_size > _SMALL and not getattr(sys, "frozen", False):
        answer = yield from _ask(path, texts)
        if answer is not None:
            return answer
    # Where the other process has failed, this finds out why.
    ids: list[NDArray[np.uint32]] = []
    for made in _ids(path, name, texts):
        ids.append(made)
        yield Progress("proving", len(ids), len(texts))
    return ids


def _ids(path: Path, name: str, texts: Sequence[str]) -> Iterator[NDArray[np.uint32]]:
    try:
        from tokenizers import Tokenizer as LibraryTokenizer
    except ImportError as error:
        raise FormatError(f"{name}: it cannot be proved, because {_LIBRARY} cannot be loaded ({error}).") from error
    try:
        # The library is compiled, and its types are not known.
        library: Any = LibraryTokenizer.from_file(str(path))
    except Exception as error:
        raise FormatError(f"{name}: {_LIBRARY} does not read it back: {error}.") from error
    for text in texts:
        ids = library.encode(text, add_special_tokens=False).ids
        if library.decode(ids, skip_special_tokens=False) != text:
            raise FormatError(f"{name}: read back by {_LIBRARY}, its ids do not give the text again.")
        yield np.array(ids, np.uint32)


def _ask(path: Path, texts: Sequence[str]) -> Work[list[NDArray[np.uint32]] | None]:
    """Lets another process do it; None where that fails."""
    request = json.dumps({"path": str(path), "texts": texts}).encode()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "tokstudio.core.formats.tokenizers_library"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError:
        return None
    answers: list[bytes] = []
    waiting = threading.Thread(target=lambda: answers.append(process.communicate(request)[0]), daemon=True)
    waiting.start()
    try:
        while waiting.is_alive():
            yield Progress("proving")
            waiting.join(0.01)
    finally:
        if waiting.is_alive():
            process.kill()
            waiting.join()
    numbers = np.frombuffer(answers[0] if answers and process.returncode == 0 else b"", np.uint32)
    return _unpacked(numbers, len(texts))


def _unpacked(numbers: NDArray[np.uint32], texts: int) -> list[NDArray[np.uint32]] | None:
    """Takes apart `count, ids, count, ids, ...`; None where that is not what it is."""
    ids: list[NDArray[np.uint32]] = []
    start = 0
    while start < len(numbers):
        end = start + 1 + int(numbers[start])
        ids.append(numbers[start + 1 : end])
        start = end
    return ids if len(ids) == texts and start == len(numbers) else None


def main() -> int:
    """Answers the request on standard input."""
    request = json.load(sys.stdin.buffer)
    answer = sys.stdout.buffer
    for ids in _ids(Path(request["path"]), os.path.basename(request["path"]), request["texts"]):
        answer.write(np.array([len(ids)], np.uint32).tobytes() + ids.tobytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
