"""Asks the libraries that own the formats: what they make of a file, how they split, what ids mean to them.

What they do is in `owner_process`, which runs here for small questions and in a process of its own for others.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.memory import share_for_libraries
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.subprocesses import own_command, own_folder
from tokstudio.core.libraries.server import DONE, LENGTH, NO_MEMORY, REFUSED, TITLES, Answers, read_exactly
from tokstudio.core.libraries.torture_text import torture_text

# Reading takes some 15 ms a megabyte.
_SMALL = 1_000_000


@dataclass(frozen=True)
class OwnedFile:
    """A file for its library to read.

    Attributes:
        library: Which.
        path: Where the file is.
        name: What a message calls it.
        settings: What the library needs to be told besides: for tiktoken `pattern` and `special_tokens`, for tokenizers
            `post_process` where that is wanted, and for GPT-2's `vocab.json` the path of its `merges`, the `regex` that
            splits text or None, and a list of `special_tokens`.
    """

    library: Literal["tokenizers", "tiktoken", "sentencepiece"]
    path: Path
    name: str
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def title(self) -> str:
        """What a message calls the library."""
        return TITLES[self.library]

    def request(self, do: str, **more: object) -> dict[str, Any]:
        """A question about the file."""
        try:
            status = self.path.stat()
        except OSError as error:
            raise FormatError(f"{self.name}: the file cannot be read: {error.strerror or error}.") from error
        path = str(self.path.absolute())  # the process that is asked runs in another folder
        known = {"library": self.library, "path": path, "name": self.name, "settings": dict(self.settings)}
        return {"do": do, **known, "stamp": [status.st_size, status.st_mtime_ns], **more}


@dataclass(frozen=True)
class Trial:
    """A text for a library to encode, and what it must decode to; None where that is not looked at."""

    text: str
    decoded: str | None


def library_ids(file: OwnedFile, trials: Sequence[Trial], elsewhere: bool = False) -> Work[list[NDArray[np.uint32]]]:
    """The ids that the library gives each text with this file, after making sure that it decodes them as it must.

    Special tokens in the texts are recognised.

    Args:
        file: The file.
        trials: The texts.
        elsewhere: Let another process do it even if the file is small.

    Raises:
        FormatError: The library does not read the file, or decodes differently.
    """
    texts, decoded = [trial.text for trial in trials], [trial.decoded for trial in trials]
    request = file.request("encode", texts=texts, decoded=decoded, specials=True)
    return [np.frombuffer(part, np.uint32) for part in (yield from _answer(request, elsewhere or not _is_small(file)))]


def is_installed(library: str) -> bool:
    """Whether a library is there; tiktoken is not on every system."""
    return importlib.util.find_spec(library) is not None


def check_split_work(
    name: str,
    pattern: str,
    regex: str,
    texts: Sequence[str] = (),
    library: Literal["tokenizers", "tiktoken"] = "tokenizers",
) -> Work[None]:
    """Makes sure that a library splits a hard text, and some others, by `regex` as we do by `pattern`.

    Raises:
        FormatError: It does not; `name` is the file's in the message.
    """
    from tokstudio.core.pretokenization.patterns import splitter

    texts = (torture_text(), *texts)
    try:
        pieces = [[piece.decode() for piece in splitter(pattern).split(text)] for text in texts]
    except ConfigError as error:
        raise FormatError(f"{name}: its pattern cannot be used: {error}") from error
    request = {"do": "split", "library": library, "name": name, "texts": texts, "regex": regex, "pieces": pieces}
    theirs = yield from _answer(request, True)
    for text, ours, ends in zip(texts, pieces, theirs, strict=True):
        our_ends = np.cumsum(list(map(len, ours)))
        their_ends = np.frombuffer(ends, np.uint32)
        if not np.array_equal(our_ends, their_ends):
            raise FormatError(
                f"{name}: {TITLES[library]} splits text by its pattern differently from TokStudio. "
                + _first_split(text, our_ends.tolist(), their_ends.tolist())
            )
        yield Progress("proving")


def _first_split(text: str, ours: list[int], theirs: list[int]) -> str:
    """Where two ways of splitting part, with the two pieces."""
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    start = ours[at - 1] if at else 0
    pieces = [json.dumps(text[start : ends[at]][:40], ensure_ascii=False) if at < len(ends) else "nothing"
              for ends in (ours, theirs)]  # fmt: skip
    return f"Where TokStudio finds {pieces[0]}, it finds {pieces[1]}."


class OwnerProcess:
    """A process that answers questions about files, started when it is first asked; for any number of threads.

    A question that is given up ends the process; the next one starts another.

    Args:
        opening: What each process is asked before anything else, and what belongs to it.
    """

    def __init__(self, opening: tuple[Mapping[str, Any], bytes] | None = None) -> None:
        self._opening = opening
        self._running = _Running()
        # Not __del__: in a cycle of garbage the pipes may be finalized before it is called.
        weakref.finalize(self, self._running.end)
        self._turn = threading.Lock()
        self._asked: _Question | None = None
        self._guard = threading.Lock()

    def ask(self, request: Mapping[str, Any], behind: bytes = b"", phase: str = "proving") -> Work[list[bytes] | None]:
        """The answers to a request; None where no process can be had.

        Args:
            request: As `Answers.answer` takes it.
            behind: What belongs to it.
            phase: What a report calls it meanwhile.

        Raises:
            FormatError: The library refuses, or ends the process.
        """
        question = _Question(request, behind)
        # In a thread of its own, so that whoever stands still between two reports keeps nobody waiting.
        waiting = threading.Thread(target=self._put, args=(question,), daemon=True)
        waiting.start()
        try:
            while waiting.is_alive():
                yield Progress(phase)
                waiting.join(0.01)
        except BaseException:
            self._give_up(question, waiting)
            raise
        if question.is_homeless:
            return None
        if question.answer is None:
            title = TITLES[request.get("library", "tokenizers")]
            # How libraries end that get no memory.
            why = f": {NO_MEMORY}" if question.code == -signal.SIGABRT and share_for_libraries() else "; try again."
            raise FormatError(f"{request['name']}: {title} ended without an answer{why}")
        status, content = question.answer
        if status == REFUSED:
            raise FormatError(content.decode())
        return _parts(content)

    def close(self) -> None:
        """Ends the process."""
        self._running.end()

    def _put(self, question: _Question) -> None:
        """Puts a question when its turn has come, and enters its answer."""
        with self._turn:
            with self._guard:
                if question.is_given_up:
                    return
                self._asked = question
            try:
                self._answer(question)
            finally:
                with self._guard:
                    self._asked = None

    def _answer(self, question: _Question) -> None:
        answer = None
        if self._running.process is None or self._running.process.poll() is not None:
            self._running.end()
            with self._guard:
                self._running.process = _started()
            if self._running.process is None:
                question.is_homeless = True
                return
            if self._opening is not None:
                answer = _exchange(self._running.process, _Question(*self._opening))
        if not question.is_given_up and (answer is None or answer[0] == DONE):
            answer = _exchange(self._running.process, question)
        question.answer = answer
        if answer is None:
            question.code = self._running.end()

    def _give_up(self, question: _Question, waiting: threading.Thread) -> None:
        with self._guard:
            question.is_given_up = True
            process = self._running.process if self._asked is question else None
            if process is not None:
                process.kill()
        if process is not None:
            waiting.join()


class _Running:
    """The process that runs at the moment, if any."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None

    def end(self) -> int | None:
        """Ends it, and gives the code that it ended with."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            return process.wait()
        return None


@dataclass
class _Question:
    request: Mapping[str, Any]
    behind: bytes
    answer: tuple[bytes, bytes] | None = None
    code: int | None = None
    is_homeless: bool = False
    is_given_up: bool = False


def _started() -> subprocess.Popen[bytes] | None:
    most = share_for_libraries()
    try:
        return subprocess.Popen(
            own_command("tokstudio.core.libraries.server", *([str(most)] if most else [])),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=own_folder(),
            # A terminal that is closed ends what was started in it, and would end the proof of an export.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError:
        return None


def _exchange(process: subprocess.Popen[bytes], question: _Question) -> tuple[bytes, bytes] | None:
    """Puts one question, and gives the status and content of the answer; None where the process dies."""
    assert process.stdin is not None
    assert process.stdout is not None
    request = json.dumps(question.request).encode()
    with suppress(OSError, ValueError):
        process.stdin.write(LENGTH.pack(len(request)) + request + LENGTH.pack(len(question.behind)))
        process.stdin.write(question.behind)
        process.stdin.flush()
        head = read_exactly(process.stdout, 1 + LENGTH.size)  # pyright: ignore[reportArgumentType]
        if head is None or head[:1] not in (DONE, REFUSED):
            return None
        content = read_exactly(process.stdout, *LENGTH.unpack(head[1:]))  # pyright: ignore[reportArgumentType]
        return None if content is None else (head[:1], content)
    return None


def _answer(request: Mapping[str, Any], elsewhere: bool) -> Work[list[bytes]]:
    """What the library has to say to one request."""
    if elsewhere:
        process = OwnerProcess()
        try:
            answer = yield from process.ask(request)
        finally:
            process.close()
        if answer is not None:
            return answer
    parts: list[bytes] = []
    for part in Answers().answers(request):
        parts.append(part)
        yield Progress("proving", len(parts), len(request["texts"]))
    return parts


def _parts(content: bytes) -> list[bytes]:
    """Takes apart what was joined with the length of each."""
    parts: list[bytes] = []
    start = 0
    while start < len(content):
        (size,) = LENGTH.unpack_from(content, start)
        start += LENGTH.size
        parts.append(content[start : start + size])
        start += size
    return parts


def _is_small(file: OwnedFile) -> bool:
    return file.path.stat().st_size <= _SMALL
