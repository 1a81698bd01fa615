"""The ids that other libraries give the lines of texts, beside ours: how many lines differ, the first, and why.

Each library works in a process of its own, on the files that an export writes or on those that were opened. It encodes
a line as it would for a model: special tokens are recognised, and it adds what the files say. A line has its line end;
where white space stands before it, or empty lines or white space after it, also these and the first word behind them.
As such a word stands in two lines, the tokens of a text are counted apart from those of its lines.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokstudio.core.analysis.document_encoder import DocumentEncoder
from tokstudio.core.base.errors import ConfigError, FormatError, TokStudioError
from tokstudio.core.base.machine import in_threads
from tokstudio.core.base.private_folders import TemporaryFolder
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.subprocesses import is_bundle
from tokstudio.core.base.wording import several, size_text
from tokstudio.core.comparison.alignment import LineUnits, line_units_work
from tokstudio.core.comparison.engine_causes import NOT_EXPLAINED, Cause, Ids, causes_work, counted, encode_lines_work
from tokstudio.core.comparison.engine_table import DifferentLine, EngineCell, EngineColumn, EngineRow, EngineTable
from tokstudio.core.corpus.source import Source
from tokstudio.core.formats.common.beside import usual_name
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.tiktoken.writer import sidecar
from tokstudio.core.formats.writers import writer_of
from tokstudio.core.libraries.client import LibraryProcess, is_installed
from tokstudio.core.libraries.llama import PACKAGE
from tokstudio.core.libraries.server import EncodeInput, LibraryName, OpenFile, TryLlama
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

PATIENCE = 60.0  # seconds for one answer of a library
LARGEST = 1 << 22  # bytes of each text
_PIECE = 1 << 16  # bytes to encode at once
_MOST_TRIED = 2_000  # differing lines of a library for which a cause is looked for
_LONGEST_REASON = 300  # characters


@dataclass(frozen=True)
class OtherEngine:
    """A library: its name here and as a module, the format that it reads, and its file; None for the whole folder."""

    name: LibraryName
    package: str
    format: str
    file: str | None
    adds: bool  # whether it can add tokens to a text
    extra: str = ""  # what to install, if not the module

    @property
    def install(self) -> str:
        """How to get it, a sentence."""
        if is_bundle():
            return f"This bundle has no {self.package}: install TokStudio and {self.package} by pip."
        return f"It is not installed: pip install {self.extra or self.package}"


ENGINES = (
    OtherEngine("tokenizers", "tokenizers", "huggingface", "tokenizer.json", True),
    OtherEngine("transformers", "transformers", "huggingface", None, True),
    OtherEngine("tiktoken", "tiktoken", "tiktoken", "ranks.tiktoken", False),
    OtherEngine("sentencepiece", "sentencepiece", "sentencepiece", "tokenizer.model", False),
    OtherEngine("llama.cpp", PACKAGE, "gguf", FORMATS["gguf"].files[0], True, '"tokstudio[llama]"'),
)


@dataclass(frozen=True)
class OpenedFiles:
    """The files that a tokenizer was opened from, and the name of their format: libraries that own it read these."""

    format: str
    files: tuple[Path, ...]


# --- Texts, and our ids -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Lines:
    """The lines of a text as valid UTF-8, each with its number, and our ids of each."""

    name: str
    source: Source  # the text as far as it is compared
    texts: list[bytes]
    units: LineUnits
    ids: list[Ids]
    tokens: int = 0  # of the text, each once
    problem: str = ""

    @property
    def bytes(self) -> int:
        return sum(map(len, self.texts))


def _read_work(name: str, source: Source, notes: list[str]) -> Work[_Lines]:
    """The lines of a text, without ids."""
    if source.counts is not None:
        raise ConfigError(f"{name} has word counts, not text: libraries cannot be compared on it.")
    units = yield from line_units_work(source)
    count, most = len(units.bounds), int(np.searchsorted(units.bounds[:, 1], LARGEST, side="right"))
    if most < count:
        count = max(1, most)
        size = size_text(int(units.bounds[count - 1, 1]))
        notes.append(f"{name}: the first {several(count, 'line')}, {size}, are compared.")
    raw = yield from units.texts_work(0, count)
    texts = [text.decode("utf-8", "replace").encode() for text in raw]
    if replaced := sum(text != was for text, was in zip(texts, raw, strict=True)):
        notes.append(
            f"{name}: {several(replaced, 'line has', 'lines have')} bytes that are not UTF-8, compared as U+FFFD."
        )
    stop = int(units.bounds[count - 1, 1]) if count else 0
    part = source if stop == len(source.data) else _beginning(source, stop)
    return _Lines(name, part, texts, units, [])


def _beginning(source: Source, stop: int) -> Source:
    ends = np.asarray(source.ends, np.int64)
    return Source(source.name, None, source.encoding, "", source.data[:stop], np.append(ends[ends < stop], stop))


def _encoded_work(tokenizer: Tokenizer, text: _Lines) -> Work[_Lines]:
    """The same lines with our ids, or with why there are none."""
    encoder, ids = DocumentEncoder(tokenizer), list[Ids]()
    try:
        for first, last in _pieces(text.texts):
            ids += yield from encode_lines_work(encoder, text.texts[first:last])
            yield Progress("encoding", last, len(text.texts))
        tokens = yield from encoder.tokens_work(text.source)
    except (ConfigError, FormatError) as error:
        return replace(text, problem=str(error))
    return replace(text, ids=ids, tokens=tokens)


def _pieces(texts: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Yields the first line, and the one after the last, of pieces to encode at once."""
    first = size = 0
    for number, text in enumerate(texts):
        size += len(text)
        if size >= _PIECE:
            yield first, number + 1
            first, size = number + 1, 0
    if first < len(texts):
        yield first, len(texts)


# --- The comparison ---------------------------------------------------------------------------------------------------


def engines_work(
    tokenizer: Tokenizer,
    texts: Mapping[str, Source],
    name: str = "the tokenizer",
    opened: OpenedFiles | None = None,
    engines: Sequence[OtherEngine] = ENGINES,
    patience: float = PATIENCE,
) -> Work[EngineTable]:
    """Compares the ids of libraries with those of a tokenizer, line by line.

    Args:
        tokenizer: The tokenizer, without dropout.
        texts: Texts by name; the first 4 MiB of each are compared.
        name: The name of the tokenizer in the table.
        opened: The files that it was opened from.
        engines: The libraries.
        patience: Seconds after which a library that does not answer is given up.

    Raises:
        ConfigError: A text has no text, but word counts; or there are no texts.
    """
    if not texts:
        raise ConfigError("There is no text: choose texts on which libraries are compared.")
    notes: list[str] = []
    tokenizer = tokenizer.closed()
    read: list[_Lines] = []
    for title, source in texts.items():
        lines = yield from _read_work(title, source, notes)
        read.append((yield from _encoded_work(tokenizer, lines)))
    around, added = _around_of(tokenizer)
    notes += added
    done = [0] * len(engines)
    total = max(1, sum(text.bytes for text in read) * len(engines))
    columns: dict[int, EngineColumn] = {}
    works: list[Callable[[], Work[EngineColumn]]] = []
    for number, engine in enumerate(engines):
        tell = partial(done.__setitem__, number)
        works.append(partial(_column_work, engine, tokenizer, read, opened, around, patience, tell))
    driven = in_threads("comparing libraries", works, partial(_take, columns, engines))
    for _ in driven:
        yield Progress("comparing libraries", min(sum(done), total), total)
    rows = tuple(
        EngineRow(text.name, len(text.texts), text.tokens, sum(map(len, text.ids)), text.problem) for text in read
    )
    return EngineTable(name, rows, tuple(columns[number] for number in range(len(engines))), tuple(notes))


def _take(
    columns: dict[int, EngineColumn], engines: Sequence[OtherEngine], number: int, result: EngineColumn | TokStudioError
) -> None:
    if isinstance(result, TokStudioError):
        engine = engines[number]
        result = EngineColumn(engine.name, _version(engine), problem=_reason(result), failed=True)
    columns[number] = result


def _around_of(tokenizer: Tokenizer) -> tuple[tuple[Ids, Ids] | None, list[str]]:
    """The ids that stand before and after every text; None where these are not known, which is then a note."""
    match tokenizer.settings.around:
        case str(reason):
            return None, [f"Texts are compared without what the post-processor adds: {reason}."]
        case before, after:
            ids = tokenizer.special_tokens
            if any(token not in ids for token in (*before, *after)):
                return None, ["Texts are compared without what the post-processor adds, which names unknown tokens."]
            return cast(
                "tuple[Ids, Ids]", tuple(np.array([ids[t] for t in side], np.int64) for side in (before, after))
            ), []


def _column_work(
    engine: OtherEngine,
    tokenizer: Tokenizer,
    texts: Sequence[_Lines],
    opened: OpenedFiles | None,
    around: tuple[Ids, Ids] | None,
    patience: float,
    tell: Callable[[int], object],
) -> Work[EngineColumn]:
    """One library on all texts; `tell` gets the bytes that are done."""
    found = _version(engine)
    size = sum(text.bytes for text in texts)
    if not is_installed(engine.package):
        tell(size)
        return EngineColumn(engine.name, "", problem=engine.install)
    with TemporaryFolder() as folder:
        form = yield from _form_work(engine, tokenizer, folder, opened)
        if form.problem:
            tell(size)
            return EngineColumn(engine.name, found, problem=form.problem)
        nothing = np.empty(0, np.int64)
        expected = around if engine.adds and around is not None else (nothing, nothing)
        asked = _Asked(engine, form, bool(engine.adds and around is not None), patience)
        try:
            with closing(LibraryProcess()) as process:
                if why := (yield from asked.unusable_work(process)):
                    tell(size)
                    return EngineColumn(engine.name, found, problem=f"It cannot be used: {why}.")
                yield from asked.open_work(process)
                cells = yield from _cells_work(asked, process, tokenizer, texts, expected, tell)
        except FormatError as error:
            tell(size)
            return EngineColumn(engine.name, found, form.title, form.notes, (), _reason(error), True)
        return EngineColumn(engine.name, found, form.title, form.notes, cells)


def _version(engine: OtherEngine) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(engine.package)
    except PackageNotFoundError:
        return ""


def _reason(error: Exception) -> str:
    said = " ".join(str(error).split())
    return said if len(said) <= _LONGEST_REASON else f"{said[:_LONGEST_REASON]}…"


@dataclass(frozen=True, eq=False)
class _Form:
    """The files for a library, and what an export loses; `problem` is why there are none."""

    path: Path
    title: str
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    old_ids: NDArray[np.int64] | None = None  # our id of each in the files; None where they are the same
    problem: str = ""


def _form_work(engine: OtherEngine, tokenizer: Tokenizer, folder: Path, opened: OpenedFiles | None) -> Work[_Form]:
    chosen = FORMATS[engine.format]
    if opened is not None and opened.format == engine.format:
        first = opened.files[0]
        if engine.name == "tiktoken":
            # Ranks alone do not say how text is split, nor which tokens are special.
            return _Form(first.absolute(), f"from {first.name}", settings=json.loads(sidecar(tokenizer)))
        if engine.file is not None:
            return _Form(first.absolute(), f"from {first.name}")  # the process runs in another folder
        for number, file in enumerate(opened.files):
            # Nothing else of the folder is to be read.
            target = folder / (usual_name(file) if number else chosen.files[0])
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(file, target)
            yield Progress("writing")
        return _Form(folder, f"from {first.name} and the files beside it")
    writer = writer_of(chosen, tokenizer)
    fitting = yield from writer.fit_work(tokenizer)
    if fitting.problem is not None:
        return _Form(folder, "", problem=fitting.problem)
    for name, pieces in writer.contents(tokenizer).items():
        target = folder.joinpath(*name.split("/"))
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            for piece in pieces:
                file.write(piece)
                yield Progress("writing")
    settings: dict[str, Any] = {}
    if engine.name == "tiktoken":
        settings = json.loads((folder / chosen.files[1]).read_bytes())
    new_ids, old_ids = writer.new_ids(tokenizer), None
    if new_ids is not None:
        old_ids = np.arange(int(new_ids.max(initial=-1)) + 1, dtype=np.int64)
        known = np.flatnonzero(new_ids >= 0)
        old_ids[new_ids[known]] = known
    path = folder if engine.file is None else folder / engine.file
    of_settings = frozenset(writer.settings_lost(tokenizer))  # which change no ids
    losses = tuple(loss for loss in fitting.losses if loss not in of_settings)
    return _Form(path, f"as exported for {chosen.title}", losses, settings, old_ids)


@dataclass(frozen=True, eq=False)
class _Asked:
    """A library with its files, and how it is asked."""

    engine: OtherEngine
    form: _Form
    around: bool
    patience: float

    def open_work(self, process: LibraryProcess) -> Work[None]:
        request = OpenFile(self.engine.name, self.engine.name, str(self.form.path), dict(self.form.settings))
        yield from self._answer_work(process, request)

    def unusable_work(self, process: LibraryProcess) -> Work[str]:
        """Why it cannot be used, as the end of a sentence; "" where it can, as far as is known."""
        if self.engine.name != "llama.cpp":
            return ""
        [why] = yield from self._answer_work(process, TryLlama(self.engine.name, self.engine.name))
        return why.decode()

    def encode_work(self, process: LibraryProcess, texts: Sequence[bytes]) -> Work[list[Ids]]:
        """Its ids of some lines, in our numbers."""
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        name = self.engine.name
        parts = yield from self._answer_work(
            process, EncodeInput(name, name, self.around, [b"".join(texts), ends.tobytes()])
        )
        ids, counts = np.frombuffer(parts[0], np.uint32).astype(np.int64), np.frombuffer(parts[1], np.int64)
        if (old := self.form.old_ids) is not None:
            ids = np.where(ids < len(old), old[np.minimum(ids, len(old) - 1)], ids)
        return np.split(ids, np.cumsum(counts)[:-1])

    def _answer_work(self, process: LibraryProcess, request: OpenFile | EncodeInput | TryLlama) -> Work[list[bytes]]:
        """The answer; raises FormatError where there is none for too long, without the time of a pause."""
        work = process.parts(request, "comparing libraries")
        parts = yield from _patient_work(work, self.patience)
        if parts is None:
            raise FormatError("No process can be started for it.")
        return parts


def _patient_work(work: Work[list[bytes] | None], patience: float) -> Work[list[bytes] | None]:
    spent = 0.0
    try:
        while spent <= patience:
            begin = monotonic()
            try:
                progress = next(work)
            except StopIteration as end:
                return cast("list[bytes] | None", end.value)
            spent += monotonic() - begin
            yield progress
    finally:
        work.close()
    raise FormatError(f"It gave no answer in {patience:,.0f} s, so its process was ended.")


def _cells_work(
    asked: _Asked,
    process: LibraryProcess,
    tokenizer: Tokenizer,
    texts: Sequence[_Lines],
    around: tuple[Ids, Ids],
    tell: Callable[[int], object],
) -> Work[tuple[EngineCell, ...]]:
    found: list[tuple[int, list[int], list[Ids]]] = []  # of each text: tokens, the lines that differ, their ids
    size = 0
    for text in texts:
        tokens, differing, theirs = 0, list[int](), list[Ids]()
        for first, last in _pieces(text.texts) if not text.problem else ():
            lines = yield from asked.encode_work(process, text.texts[first:last])
            for number, ids in enumerate(lines, first):
                tokens += len(ids)
                if not np.array_equal(ids, _with(text.ids[number], around)):
                    differing.append(number)
                    theirs.append(ids)
            size += sum(map(len, text.texts[first:last]))
            tell(size)
        found.append((tokens, differing, theirs))
    return (yield from _explained_work(tokenizer, texts, found, around))


def _with(ids: Ids, around: tuple[Ids, Ids]) -> Ids:
    return np.concatenate([around[0], ids, around[1]]) if len(around[0]) or len(around[1]) else ids


def _explained_work(
    tokenizer: Tokenizer,
    texts: Sequence[_Lines],
    found: Sequence[tuple[int, list[int], list[Ids]]],
    around: tuple[Ids, Ids],
) -> Work[tuple[EngineCell, ...]]:
    """The cells, with a cause of each differing line, of at most some of each text."""
    most = max(1, _MOST_TRIED // max(1, sum(bool(differing) for _, differing, _ in found)))
    raw, ours, theirs = list[bytes](), list[Ids](), list[Ids]()
    for text, (_, differing, ids) in zip(texts, found, strict=True):
        raw += [text.texts[number] for number in differing[:most]]
        ours += [_with(text.ids[number], around) for number in differing[:most]]
        theirs += ids[:most]
    causes: tuple[Cause, ...] = ()
    if raw:
        try:
            causes = yield from causes_work(tokenizer, raw, ours, theirs, around)
        except (ConfigError, FormatError):
            causes = (NOT_EXPLAINED,) * len(raw)
    cells: list[EngineCell] = []
    at = 0
    for text, (tokens, differing, _) in zip(texts, found, strict=True):
        tried = min(most, len(differing))
        first = None
        if differing:
            units, ids = text.units, (tuple(ours[at].tolist()), tuple(theirs[at].tolist()))
            place = int(units.numbers[differing[0]]), units.place(differing[0])
            first = DifferentLine(*place, raw[at].decode(), *ids, causes[at])
        lines = counted(causes[at : at + tried])
        tokens -= len(text.texts) * (len(around[0]) + len(around[1])) if not text.problem else 0
        cells.append(EngineCell(len(differing), tokens, lines, tried, first))
        at += tried
    return tuple(cells)
