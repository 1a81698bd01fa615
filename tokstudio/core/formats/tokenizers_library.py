"""What the `tokenizers` library makes of a file and some texts; as a program it answers another process.

The library keeps the interpreter to itself while it reads, and would freeze a window; so large files go elsewhere, and
so do patterns that it may not bear.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.errors import ConfigError, FormatError
from tokstudio.core.progress import Progress, Work
from tokstudio.core.torture import torture_text

# Reading takes some 15 ms a megabyte.
_SMALL = 1_000_000
_LIBRARY = "the tokenizers library"
_DONE, _REFUSED = 0, 1

_Arrays = list[NDArray[np.uint32]]


@dataclass(frozen=True)
class Trial:
    """A text for the library to encode, and what it must decode to; None where that is not looked at."""

    text: str
    decoded: str | None


def library_ids(path: Path, name: str, trials: Sequence[Trial], elsewhere: bool = False) -> Work[_Arrays]:
    """The ids that the library gives each text with this file, after making sure that it decodes them as it must.

    Args:
        path: The file.
        name: What a message calls it.
        trials: The texts.
        elsewhere: Let another process do it even if the file is small.

    Raises:
        FormatError: The library does not read the file, or decodes differently.
    """
    request = {
        "path": str(path),
        "name": name,
        "texts": [trial.text for trial in trials],
        "decoded": [trial.decoded for trial in trials],
    }
    return (yield from _answer(request, elsewhere or path.stat().st_size > _SMALL))


def check_split_work(name: str, pattern: str, regex: str, texts: Sequence[str] = ()) -> Work[None]:
    """Makes sure that the library splits a hard text, and some others, by `regex` as we do by `pattern`.

    Raises:
        FormatError: It does not; `name` is the file's in the message.
    """
    from tokstudio.core.patterns import splitter

    texts = (torture_text(), *texts)
    theirs = yield from _answer({"name": name, "texts": texts, "regex": regex}, True)
    for text, their_ends in zip(texts, theirs, strict=True):
        try:
            pieces = splitter(pattern).split(text)
        except ConfigError as error:
            raise FormatError(f"{name}: its pattern cannot be used: {error}") from error
        if not np.array_equal(np.cumsum([len(piece.decode()) for piece in pieces]), their_ends):
            raise FormatError(f"{name}: {_LIBRARY} splits text otherwise by its pattern than TokStudio does.")
        yield Progress("proving")


def _answer(request: Mapping[str, Any], elsewhere: bool) -> Work[_Arrays]:
    """What the library has to say, an array for each text."""
    if elsewhere and not getattr(sys, "frozen", False):
        answer = yield from _ask(request)
        if answer is not None:
            return answer
    arrays: _Arrays = []
    for made in _arrays(request):
        arrays.append(made)
        yield Progress("proving", len(arrays), len(request["texts"]))
    return arrays


def _arrays(request: Mapping[str, Any]) -> Iterator[NDArray[np.uint32]]:
    try:
        import tokenizers
    except ImportError as error:
        raise FormatError(f"{request['name']}: {_LIBRARY} cannot be loaded ({error}), so nothing is proved.") from error
    # The library is compiled, and its types are not known.
    library: Any = tokenizers
    return _ends(library, request) if "regex" in request else _ids(library, request)


def _ids(library: Any, request: Mapping[str, Any]) -> Iterator[NDArray[np.uint32]]:  # noqa: ANN401
    name = request["name"]
    with _Refusals(f"{name}: {_LIBRARY} does not read it back"):
        tokenizer = library.Tokenizer.from_file(request["path"])
    for text, decoded in zip(request["texts"], request["decoded"], strict=True):
        with _Refusals(f"{name}: {_LIBRARY} does not encode with it"):
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            again = tokenizer.decode(ids, skip_special_tokens=False)
        if decoded is not None and again != decoded:
            raise FormatError(f"{name}: read back by {_LIBRARY}, its ids do not give the text again.")
        yield np.array(ids, np.uint32)


def _ends(library: Any, request: Mapping[str, Any]) -> Iterator[NDArray[np.uint32]]:  # noqa: ANN401
    for text in request["texts"]:
        with _Refusals(f"{request['name']}: {_LIBRARY} cannot use its pattern"):
            split = library.pre_tokenizers.Split(library.Regex(request["regex"]), "isolated")
            pieces = split.pre_tokenize_str(text)
        yield np.array([end for _, (_, end) in pieces], np.uint32)


class _Refusals:
    """Turns what the library raises in a `with` block into a FormatError that begins with `what`."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        # Where a regular expression takes too long the library panics, which is no Exception.
        if isinstance(error, Exception) or (kind is not None and kind.__name__ == "PanicException"):
            raise FormatError(f"{self._what}: {error}.") from error


def _ask(request: Mapping[str, Any]) -> Work[_Arrays | None]:
    """Lets another process do it; None where that fails.

    Raises:
        FormatError: The library refuses there.
    """
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
    question = json.dumps(request).encode()
    answers: list[bytes] = []
    waiting = threading.Thread(target=lambda: answers.append(process.communicate(question)[0]), daemon=True)
    waiting.start()
    try:
        while waiting.is_alive():
            yield Progress("proving")
            waiting.join(0.01)
    finally:
        if waiting.is_alive():
            process.kill()
            waiting.join()
    answer = answers[0] if answers and process.returncode == 0 else b""
    if answer[:1] == bytes([_REFUSED]):
        raise FormatError(answer[1:].decode())
    return _unpacked(np.frombuffer(answer[1:], np.uint32), len(request["texts"])) if answer else None


def _unpacked(numbers: NDArray[np.uint32], texts: int) -> _Arrays | None:
    """Takes apart `count, ids, count, ids, ...`; None where that is not what it is."""
    ids: _Arrays = []
    start = 0
    while start < len(numbers):
        end = start + 1 + int(numbers[start])
        ids.append(numbers[start + 1 : end])
        start = end
    return ids if len(ids) == texts and start == len(numbers) else None


def main() -> int:
    """Answers the request on standard input."""
    request = json.load(sys.stdin.buffer)
    try:
        arrays = [np.array([len(made)], np.uint32).tobytes() + made.tobytes() for made in _arrays(request)]
        answer = bytes([_DONE]) + b"".join(arrays)
    except FormatError as error:
        answer = bytes([_REFUSED]) + str(error).encode()
    sys.stdout.buffer.write(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
