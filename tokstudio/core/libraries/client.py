"""Asks the libraries that own the file formats: their ids, decoded texts and splits, for comparison with TokStudio's.

`server` has the answers; it runs in this process for small questions, and in a child process for others.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import importlib.util
import json
import signal
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.machine import share_for_libraries
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.subprocesses import ChildProcess, ProcessEnded
from tokstudio.core.libraries.server import (
    NO_MEMORY,
    TITLES,
    Answered,
    Answers,
    EncodeByFile,
    LibraryName,
    LibraryRequest,
    Open,
    PreTokenize,
    SplitTexts,
    TryLlama,
)  # fmt: skip

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- A text that is hard for tokenizers, for the proof of exports -----------------------------------------------------
# It contains every byte below 128, all kinds of white space, many scripts, joined emoji, combining marks and long runs.

_SCRIPTS = (
    "The quick brown fox jumps over the lazy dog. Straße, naïve, Ærøskøbing, İstanbul, ſhort, ﬁne, Ǆ, Œuvre.",
    "Ελληνικά ΣΊΣΥΦΟΣ σίσυφος. Съешь же ещё этих мягких французских булок. Ҩ Ԛ Ѿ. Հայերեն. ქართული.",
    "עִבְרִית שלום. العَرَبِيَّة مرحبا بالعالم ١٢٣. فارسی ۱۲۳. ܣܘܪܝܝܐ. ދިވެހި. ߒߞߏ.",
    "हिन्दी क्षत्रिय १२३. বাংলা. ਪੰਜਾਬੀ. ગુજરાતી. ଓଡ଼ିଆ. தமிழ். తెలుగు. ಕನ್ನಡ. മലയാളം. සිංහල.",
    "ภาษาไทยไม่เว้นวรรค. ພາສາລາວ. བོད་ཡིག. မြန်မာ. ភាសាខ្មែរ. ᠮᠣᠩᠭᠣᠯ. አማርኛ. ᏣᎳᎩ. ᐃᓄᒃᑎᑐᑦ. ᚠᚢᚦ. ⴰⵎⴰⵣⵉⵖ.",
    "日本語の文章、カタカナ、ｶﾀｶﾅ、漢字。中文没有空格，標點符號！한국어 조합 한글. ㄅㄆㄇ. 𠀀𪚥 𓀀𓂀 𒀀 𐍈 𝔘𝔫𝔦 𝟘𝟙.",
)
_EMOJI = "👩‍👩‍👧‍👦 👨🏽‍🚀 🏳️‍🌈 🇩🇪🇯🇵🇧🇷 ❤️ ☠︎ 1️⃣ 🤷🏿‍♀️ 🫠 😀😀😀"
_MARKS = (
    "e\u0301 e\u0301\u0323\u0302 Z\u0351\u036b\u0343a\u0323\u030a\u0303l\u0338g\u0321o\u0334 "
    "\u0301 \u1100\u1161\u11a8 n\u0303"
)
_SPACES = "".join(chr(code) for code in (9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 0x85, 0xA0, 0x1680)) + "".join(
    chr(code) for code in (*range(0x2000, 0x2010), 0x2028, 0x2029, 0x202F, 0x205F, 0x2060, 0x3000, 0xFEFF)
)
# Capitals and accents; white space behind a line feed at an end: where llama.cpp has no exact name for a pattern.
_CASES = "MÜNCHEN FRANÇAIS straßeÄpfel приветМир"
_LINES = "one\rtwo\r\nthree\n\rfour\n\n\n  five  \r\n\r\n\t\tsix \n"
_CODE = (
    "def f(x):\n    return {'a': [1, 2.5e-3], \"b\": \"\\n\\\\\"}  # don't, I'll, WE'VE, it’s\n\tif x != 0x1F: pass\n"
    "<|endoftext|> <s> </s> [UNK] ▁ Ġ Ċ ## @@ https://example.org/a%20b?c=d&e=#f 1234567890123 3,141.59 ½ Ⅷ ²³ ٣\n"
)
_RUNS = "a" * 300 + " " * 200 + "\n" * 100 + "ab" * 150 + "=" * 80 + "0" * 100 + "😀" * 30 + "\u0301" * 30
_CODES = "".join(map(chr, range(128))) + "".join(chr(code) for code in range(128, 0x180))
_EDGES = (
    "\x00\x00a\x00 \ufeff \ufeffa \ufffd \uffff \ue000 \U000f0000 \U0010ffff "
    "\u00ad \u200b \u202eabc\u202c \u2066x\u2069"
)


def torture_text() -> str:
    """The text, about 9 kB of UTF-8; it begins with a space and ends with white space."""
    parts = (*_SCRIPTS, _CASES, _EMOJI, _MARKS, _SPACES, _LINES, _CODE, _RUNS, _CODES, _EDGES)
    return " " + "\n".join(parts) + "\n" + " ".join(reversed(_SCRIPTS)) + _LINES + "a\n "


# Reading takes some 15 ms a megabyte.
SMALL = 1_000_000


class LibraryEnded(FormatError):
    """A library ended its process without an answer."""


@dataclass(frozen=True)
class LibraryInput:
    """A file for its library to read, with its name in messages."""

    library: LibraryName
    path: Path
    name: str
    # Further settings of the library: for tiktoken `pattern` and `special_tokens`, and for GPT-2's `vocab.json` the
    # path of its `merges`, the `regex` that splits text or None, and a list of `special_tokens`.
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Trial:
    """A text for a library to encode, and the text that its ids must decode to; None to skip that check."""

    text: str
    decoded: str | None


def library_ids(file: LibraryInput, trials: Sequence[Trial], in_child: bool = False) -> Work[list[NDArray[np.uint32]]]:
    """The ids that the library gives each text with this file, after a check that it decodes them as expected.

    Special tokens in the texts are recognised. With `in_child`, a child process is asked even if the file is small.

    Raises:
        FormatError: The library does not read the file, or decodes differently.
    """
    try:
        in_child = file.path.stat().st_size > SMALL or in_child
    except OSError as error:
        raise FormatError(f"{file.name}: the file cannot be read: {error.strerror or error}.") from error
    path = str(file.path.absolute())  # the child process runs in another folder
    texts, decoded = [trial.text for trial in trials], [trial.decoded for trial in trials]
    request = EncodeByFile(file.library, file.name, path, dict(file.settings), texts, decoded)
    answer = yield from _answer(request, in_child)
    return [np.frombuffer(part, np.uint32) for part in answer]


def llama_ids(file: LibraryInput, trials: Sequence[Trial]) -> Work[list[NDArray[np.uint32]] | str]:
    """Like `library_ids`, by llama.cpp in a child process; or why it cannot be used, as the end of a sentence.

    Raises:
        FormatError: It does not read the file, ends its process, or decodes differently.
    """
    texts, decoded = [trial.text for trial in trials], [trial.decoded for trial in trials]
    request = EncodeByFile("llama.cpp", file.name, str(file.path.absolute()), {}, texts, decoded)
    with closing(LibraryProcess()) as process:
        try:
            why = yield from process.parts(TryLlama("llama.cpp", file.name))
        except LibraryEnded:
            return "llama.cpp ended in a trial"
        if why is None:
            return "no process for llama.cpp can be started"
        if why[0]:
            return why[0].decode()
        answer = yield from process.parts(request)
    return "its process ended" if answer is None else [np.frombuffer(part, np.uint32) for part in answer]


def is_installed(library: str) -> bool:
    """Whether a library is installed; tiktoken is not available on every system."""
    return importlib.util.find_spec(library) is not None


def check_split_work(
    name: str,
    pattern: str,
    regex: str,
    texts: Sequence[str] = (),
    library: Literal["tokenizers", "tiktoken"] = "tokenizers",
) -> Work[None]:
    """Checks that a library splits a hard text, and some others, by `regex` as TokStudio does by `pattern`.

    Raises:
        FormatError: It does not; the message begins with `name`.
    """
    from tokstudio.core.pretokenization.patterns import splitter

    texts = (torture_text(), *texts)
    try:
        pieces = [[piece.decode() for piece in splitter(pattern).split(text)] for text in texts]
    except ConfigError as error:
        raise FormatError(f"{name}: its pattern cannot be used: {error}") from error
    theirs = yield from _answer(SplitTexts(library, name, texts, regex, pieces), True)
    for text, ours, ends in zip(texts, pieces, theirs, strict=True):
        our_ends = np.cumsum(list(map(len, ours)))
        their_ends = np.frombuffer(ends, np.uint32)
        if not np.array_equal(our_ends, their_ends):
            raise FormatError(
                f"{name}: {TITLES[library]} splits text by its pattern differently from TokStudio. "
                + _first_split(text, our_ends.tolist(), their_ends.tolist())
            )
        yield Progress("proving")


def pre_tokens_work(
    process: LibraryProcess, name: str, pre_tokenizer: Mapping[str, Any], texts: Sequence[str]
) -> Work[list[list[tuple[int, int]]]]:
    """Where pre-tokens begin and end in each text, in characters, by the pre-tokenizer of a `tokenizer.json`.

    Raises:
        FormatError: Its library refuses it; the message begins with `name`.
    """
    request = PreTokenize("tokenizers", name, pre_tokenizer, [text.encode("utf-8", "replace") for text in texts])
    spans = [np.frombuffer(part, np.uint32).reshape(-1, 2) for part in (yield from _asked(process, request))]
    return [[(begin, end) for begin, end in of_text.tolist()] for of_text in spans]


def _first_split(text: str, ours: list[int], theirs: list[int]) -> str:
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    start = ours[at - 1] if at else 0
    pieces = [json.dumps(text[start : ends[at]][:40], ensure_ascii=False) if at < len(ends) else "nothing"
              for ends in (ours, theirs)]  # fmt: skip
    return f"Where TokStudio finds {pieces[0]}, it finds {pieces[1]}."


class LibraryProcess(ChildProcess):
    """A child process that answers requests about files; to each process, the first request is `opening`."""

    def __init__(self, opening: Open | None = None) -> None:
        self._most = share_for_libraries()
        super().__init__("tokstudio.core.libraries.server", opening, self._most)

    def parts(self, request: LibraryRequest, phase: str = "proving") -> Work[list[bytes] | None]:
        """The parts of the answer to a request; None where no process can be started.

        Raises:
            FormatError: The library refuses; `LibraryEnded`: it ends the process.
        """
        try:
            return (yield from self.ask(request, Answered, phase)).parts
        except OSError:
            return None
        except ProcessEnded as error:
            # Libraries that get no memory end with this signal.
            why = f": {NO_MEMORY}" if error.args[0] == -signal.SIGABRT and self._most else "; try again."
            raise LibraryEnded(f"{request.name}: {request.title} ended without an answer{why}") from error


def _answer(request: SplitTexts | EncodeByFile, in_child: bool) -> Work[list[bytes]]:
    """The answers of the library to one request."""
    if not in_child:
        return (yield from _answered_here(request))
    with closing(LibraryProcess()) as process:
        return (yield from _asked(process, request))


def _asked(process: LibraryProcess, request: SplitTexts | PreTokenize | EncodeByFile) -> Work[list[bytes]]:
    """The answers of a process; of the library in this one, where no process can be started."""
    answer = yield from process.parts(request)
    return (yield from _answered_here(request)) if answer is None else answer


def _answered_here(request: SplitTexts | PreTokenize | EncodeByFile) -> Work[list[bytes]]:
    parts, total = list[bytes](), len(request.parts if isinstance(request, PreTokenize) else request.texts)
    for part in Answers().answers(request):
        parts.append(part)
        yield Progress("proving", len(parts), total)
    return parts
