"""What TokStudio replaces in other libraries, or reads of them, though they do not promise these names.

Only versions that it knows are taken: in another, a limit that it sets might have no effect. All of this happens in the
child process, so the libraries of the program itself stay as they are.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import shown
from tokstudio.core.hub.names import COMMIT, Name

LARGEST = 1 << 30
CUT = "the download was cut short, and nothing of it was kept: try again"

_KNOWN = {"huggingface-hub": "2", "httpx2": "2", "tiktoken": "0"}  # the first number of the versions
_PIECE = 1 << 14
# Of what the server says about a repository: bytes in all, and answers; a list of files has a thousand in each.
_LARGEST_FACTS = 1 << 25
_MOST_ANSWERS = 200
_TAG = re.compile(r'(W/)?"?[A-Za-z0-9_-]{1,128}"?')
# huggingface_hub makes paths in its cache of these headers, of the answers that describe a file.
_HEADERS = {"X-Repo-Commit": COMMIT, "ETag": _TAG, "X-Linked-ETag": _TAG}


def _check(name: Name, library: str, module: ModuleType, attribute: str) -> None:
    """Raises FormatError where TokStudio does not know the installed version of a library, which has such a module."""
    installed, known_version = version(library), _KNOWN[library]
    if installed.partition(".")[0] != known_version or not hasattr(module, attribute):
        raise FormatError(
            f"{name}: it cannot be fetched, as TokStudio does not know version {installed} of {library}: install one "
            f"of {known_version}.x."
        )


def problem_of_connection(host: str, error: Exception) -> str | None:
    """What an error of a connection means, as the end of a sentence; None for other errors."""
    import httpx2

    match error:
        case httpx2.TimeoutException():
            return f"the connection to {host} stalls: try again later"
        case httpx2.RemoteProtocolError():
            return CUT
        case httpx2.TransportError():
            return (
                f"{host} cannot be reached, and there is no copy of it in the cache: check the network connection and "
                "try again"
            )
        case _:
            return None


def replace_reader(name: Name, read: Callable[[str], bytes]) -> None:
    """Has tiktoken call `read` with an address for its file; its own function has no timeout and reports nothing."""
    import tiktoken.load

    _check(name, "tiktoken", library := tiktoken.load, "read_file")
    library.read_file = read


def parts_of_encoding(encoding: Any) -> tuple[dict[bytes, int], dict[str, int], str]:  # noqa: ANN401
    """The ranks, the special tokens and the pattern of an encoding of tiktoken."""
    return encoding._mergeable_ranks, encoding._special_tokens, encoding._pat_str


def replace_meter(name: Name, total: int, report: Callable[[int, int], None]) -> type:
    """A class in place of tqdm's: it reports the bytes of all files together."""
    arrived = 0

    class Meter:
        """The progress of one file."""

        def __init__(self, *_: object, initial: int = 0, desc: str = "", **__: object) -> None:
            self._file = desc

        def __enter__(self) -> Meter:
            return self

        def __exit__(self, *_: object) -> None: ...

        def update(self, size: int) -> None:
            """Counts bytes; fewer than none where the server begins anew after each interruption."""
            nonlocal arrived
            if size < 0:
                raise FormatError(f"{name}: {CUT}.")
            arrived += size
            if arrived > LARGEST:
                raise FormatError(f"{name}: {self._file} is longer than announced.")
            report(arrived, total)

    return Meter


class Connections:
    """Replaces the connections of huggingface_hub: answers that are too large, or unsafe as file names, are refused."""

    def __init__(self, name: Name, host: str, facts: int = _LARGEST_FACTS, answers: int = _MOST_ANSWERS) -> None:
        import httpx2
        from huggingface_hub import constants, set_client_factory

        requests: Any = import_module("huggingface_hub.utils._http")
        _check(name, "huggingface-hub", constants, "DOWNLOAD_CHUNK_SIZE")
        _check(name, "huggingface-hub", requests, "hf_request_event_hook")
        _check(name, "httpx2", httpx2, "SyncByteStream")
        # The default is 10 MB, so that most tokenizers would be one piece.
        constants.DOWNLOAD_CHUNK_SIZE = _PIECE
        self._name, self._host = name, host
        self.answered = False  # whether the server has answered
        self._left: float = facts  # bytes that may still arrive
        self._most_answers: float = answers
        self._answers = 0
        # Asking a client of the library for its hooks would read all certificates once more.
        self._hook = requests.hf_request_event_hook
        set_client_factory(self._client)

    def expect_files(self) -> None:
        """Lets the files of a repository arrive after what the server says about it."""
        # What arrives twice is counted twice; the meter has the limit of the files themselves.
        self._left, self._answers = 4 * LARGEST, 0

    def expect_parts(self) -> None:
        """Lets parts of files arrive, each of which has a limit of its own."""
        self._left = self._most_answers = math.inf

    def _client(self) -> Any:  # noqa: ANN401  the type is that of the library's own dependency
        import httpx2

        hooks = {"request": [self._hook, self._keep_secrets], "response": [self._check]}
        # Nothing is unpacked, so nothing becomes more than was sent.
        headers = {"Accept-Encoding": "identity"}
        return httpx2.Client(event_hooks=hooks, headers=headers, follow_redirects=True, timeout=None)

    def _keep_secrets(self, request: Any) -> None:  # noqa: ANN401
        """Gives the token only to the hub itself."""
        refuse_redirect(self._name, self._host, request.url, _hub_scheme())
        if not _is_of_hub(request.url):
            request.headers.pop("Authorization", None)
            request.headers.pop("Cookie", None)

    def _check(self, response: Any) -> None:  # noqa: ANN401
        self.answered = self.answered or response.status_code < 500
        self._answers += 1
        following = response.links.get("next", {}).get("url")
        if following is not None and not _is_of_hub(response.url.join(following)):
            raise FormatError(f"{self._name}: {self._host} refers to another server for the rest of its list of files.")
        if self._answers > self._most_answers:
            raise FormatError(f"{self._name}: {self._host} gives a list of files without end.")
        if response.request.method != "HEAD":
            if response.headers.get("Content-Encoding", "identity").lower() != "identity":
                raise FormatError(f"{self._name}: {response.url.host} sends compressed data, which was not asked for.")
            response.stream = self._limited(response.stream)
        for header, allowed in _HEADERS.items() if response.request.method == "HEAD" else ():
            value = response.headers.get(header)
            if value is not None and not allowed.fullmatch(value):
                raise FormatError(f"{self._name}: {response.url.host} sends an invalid {header}: {shown(value)}.")

    def _limited(self, stream: Any) -> Any:  # noqa: ANN401
        """The bytes of an answer as long as there may be more."""
        import httpx2

        def pieces() -> Iterator[bytes]:
            for piece in stream:
                self._left -= len(piece)
                if self._left < 0:
                    raise FormatError(f"{self._name}: {self._host} sends more than TokStudio reads.")
                yield piece

        class Limited(httpx2.SyncByteStream):
            def __iter__(self) -> Iterator[bytes]:
                return pieces()

            def close(self) -> None:
                stream.close()

        return Limited()


def refuse_redirect(name: object, host: str, url: Any, scheme: str) -> None:  # noqa: ANN401
    """Raises FormatError where an answer leads to another kind of address, such as `file:`, or to an unsafe one."""
    if url.scheme not in ("https", scheme):
        raise FormatError(f"{name}: {host} redirects to an address of the kind {shown(url.scheme)}, which is refused.")


def _hub_scheme() -> str:
    from huggingface_hub import constants

    return urlsplit(constants.ENDPOINT).scheme


def _is_of_hub(url: Any) -> bool:  # noqa: ANN401
    import httpx2
    from huggingface_hub import constants

    return url.origin == httpx2.URL(constants.ENDPOINT).origin
