"""Writes an experiment: the text of its file with comments, and beside it what has no file of its own."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tokstudio.core.base.atomic_files import file_name, write_files
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, printable, safe_name
from tokstudio.core.corpus.corpus import ONCE, Corpus
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.core.corpus.left_out_list import named_list_work
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.kinds import NAMED_JSON, suffix_of
from tokstudio.core.corpus.source import Source, document_ends
from tokstudio.core.experiment.experiment import (
    FORM,
    FORM_KEY,
    SAMPLE_BYTES,
    SAMPLE_PERCENT,
    WEIGHTS,
    Result,
    effective,
)
from tokstudio.core.experiment.loading import experiment_of
from tokstudio.core.experiment.reading import key_of
from tokstudio.core.experiment.result import Trained, files_of_result, with_result
from tokstudio.core.experiment.toml import comment_text, key_text, parse_toml, value_text
from tokstudio.core.hub.addresses import parse_address
from tokstudio.core.hub.kept_texts import kept_at, request_again
from tokstudio.core.model.settings import SETTINGS
from tokstudio.core.text.encodings import is_kept_as_bytes
from tokstudio.core.text.utf8 import is_utf8

SUFFIX = ".toml"
_DIGITS = 12  # of a hash, in the name of a text that is stored
_PIECE = 1 << 20
_HEAD = """\
# An experiment of TokStudio: what is trained on, how, and what it gave. This trains it again:
#   tokstudio run {name}
# Paths are relative to the folder of this file.
"""


@dataclass(frozen=True)
class PlannedTraining:
    """A training to write down."""

    settings: Mapping[str, Any]  # values by the names of `SETTINGS`; a parallel text is itself, or the path of its file
    name: str = ""  # of the variant; "" for the only one
    sample_bytes: int | None = None  # how much of the corpus it is trained on; None for all
    sample_percent: int | None = None  # likewise
    weights: tuple[float, ...] = ()  # of a variant, of each text of the corpus in order; empty for those of the corpus
    exports: Sequence[tuple[str, Path]] = ()  # the name of a format, and the target

    def sample(self) -> dict[str, int]:
        """How much of the corpus it is trained on, as in the file."""
        sizes = {SAMPLE_BYTES: self.sample_bytes, SAMPLE_PERCENT: self.sample_percent}
        return {
            name: size for name, size in sizes.items() if size is not None and (name, size) != (SAMPLE_PERCENT, 100)
        }


@dataclass(frozen=True)
class Draft:
    """An experiment that is not written yet."""

    path: Path  # its file
    text: str  # the content of the file
    # What is stored beside it: pasted and parallel texts, lists of what is left out.
    beside: Mapping[Path, bytes] = field(default_factory=dict[Path, bytes])
    bound: tuple[Path, ...] = ()  # absolute paths in it, which bind it to this computer
    hidden: tuple[str, ...] = ()  # addresses in it that lack their secret parts

    def write_work(
        self, trained: Sequence[Trained] = (), result: Result | None = None, may_replace: bool = True
    ) -> Work[None]:
        """Writes all files together, with the result if there is one; raises FormatError as `write_files`."""
        files: dict[Path, Iterable[bytes]] = {path: [content] for path, content in self.beside.items()}
        text = self.text
        if result is not None:
            text = with_result(parse_toml(text.encode(), file_name(self.path)), result)
            files |= files_of_result(self.path, trained)
        yield from write_files(files | {self.path: [text.encode()]}, may_replace)

    @property
    def remark(self) -> str:
        """What is said of absolute paths and of addresses without secrets; "" where there are none."""
        return " ".join(filter(None, (self._of_bound(), self._of_hidden())))

    def _of_hidden(self) -> str:
        if not self.hidden:
            return ""
        addresses = first_few(self.hidden, 2, printable)
        return (
            f"{file_name(self.path)} names {addresses} without the secret parts of the address: give the address "
            "again there before it is run."
        )

    def _of_bound(self) -> str:
        if not self.bound:
            return ""
        first, *others = self.bound
        more = f" and {len(others):,} more" if others else ""
        return (
            f"{file_name(self.path)} names {first}{more} by absolute path, which binds it to this computer: "
            "keep the texts in its folder to move it."
        )


def draft_work(
    path: Path,
    corpus: Corpus,
    trainings: Sequence[PlannedTraining],
    leaving_out: Sequence[LeavingOut] = (),
    project: Path | None = None,
    accept_loss: bool = False,
) -> Work[Draft]:
    """Describes trainings on a corpus of which something may be left out.

    Args:
        path: The file.
        corpus: With its weights, before anything is left out.
        trainings: One, or several variants with names.
        leaving_out: What is left out.
        project: Where the run is saved.
        accept_loss: Whether exports are made with losses.

    Raises:
        ConfigError: A text has no file and cannot be stored, or something is no text that a file can hold.
    """
    draft = _Drafting(path, trainings)
    documents = str(trainings[0].settings.get("documents", "file"))
    draft.begin()
    yield from draft.sources_work(corpus, documents)
    whole = corpus
    for step in leaving_out:
        yield from draft.left_out_work(whole, step)
    if len(trainings) == 1 and not trainings[0].name:
        draft.exports(trainings[0].exports, "export")
    else:
        draft.variants()
    output: dict[str, Any] = {"project": draft.relative(project)} if project is not None else {}
    output |= {"accept_loss": True} if accept_loss else {}
    if output:
        draft.table("[output]", "What is written beside exports, and whether they are made with losses.", output)
    text = "".join(draft.parts)
    experiment_of(path, text.encode())  # which finds what would not be read again
    return Draft(path, text, draft.beside, tuple(dict.fromkeys(draft.bound)), _without_secrets(corpus))


class _Drafting:
    """The text of an experiment, part by part."""

    def __init__(self, path: Path, trainings: Sequence[PlannedTraining]) -> None:
        self._path, self._folder = path, path.absolute().parent
        self._first = trainings[0]
        self._trainings = [(training, self._settings(training)) for training in trainings]
        self.parts: list[str] = []
        self.beside: dict[Path, bytes] = {}
        self.bound: list[Path] = []

    def begin(self) -> None:
        """Adds the head, and the settings that all trainings share."""
        self.parts.append(_HEAD.format(name=file_name(self._path)) + f"{FORM_KEY} = {FORM}\n")
        shared = self._shared()
        first = self._trainings[0][1]
        lines = ["\n[settings]\n"]
        for name, setting in SETTINGS.items():
            if name in shared:
                lines.append(comment_text(setting.comment))
                lines.append(f"{name} = {self._text_of(name, shared[name])}\n")
            elif name in first and first[name] is None and len(self._trainings) == 1:
                lines.append(comment_text(setting.comment) + f"# {name} = {setting.first or '...'}\n")
        if len(self._trainings) == 1:
            lines += [
                f"{name} = {size}\n" for training, _ in self._trainings for name, size in training.sample().items()
            ]
        self.parts.append("".join(lines))

    def _settings(self, training: PlannedTraining) -> dict[str, Any]:
        """The settings of a training that have an effect, in the order of the schema; None for one that is off."""
        given = {name: value for name, value in training.settings.items() if name in SETTINGS}
        usable = effective(given)
        return {name: usable[name] for name in SETTINGS if name in usable}

    def _shared(self) -> dict[str, Any]:
        """The settings on which all trainings that have them agree."""
        shared: dict[str, Any] = {}
        for name in SETTINGS:
            values = [settings[name] for _, settings in self._trainings if name in settings]
            if values and values[0] is not None and all(value == values[0] for value in values):
                shared[name] = values[0]
        return shared

    def _text_of(self, name: str, value: Any) -> str:  # noqa: ANN401 -- of any setting
        if SETTINGS[name].kind == "texts by name":
            value = {key: self._parallel(key, text) for key, text in dict(value).items()}
        elif SETTINGS[name].kind == "numbers by name":
            value = dict(value)
        return value_text(value)

    def _parallel(self, name: str, text: str | Path) -> object:
        if isinstance(text, Path):
            return self.relative(text)
        return self.relative(self._stored(safe_name(name, "text"), text.encode(), ".txt"))

    def relative(self, path: Path) -> object:
        """A path as it is written: relative in the folder of the file, else absolute; one that is no text in hex."""
        whole = Path(os.path.abspath(path))
        inside = whole.is_relative_to(self._folder)
        text = whole.relative_to(self._folder).as_posix() if inside else str(whole)
        if not inside:
            self.bound.append(whole)
        return _as_text(text)

    def _stored(self, name: str, content: bytes, suffix: str) -> Path:
        """A file beside the experiment with this content, whose name has its hash."""
        digits = hashlib.sha256(content).hexdigest()[:_DIGITS]
        path = self._folder / f"{self._path.stem}.{name}.{digits}{suffix}"
        number = 1
        while os.path.lexists(path) and not _holds(path, content):
            number += 1
            path = path.with_name(f"{self._path.stem}.{name}.{digits}-{number}{suffix}")
        self.beside[path] = content
        return path

    def table(self, header: str, comment: str, values: Mapping[str, Any]) -> None:
        """Adds a table."""
        lines = "".join(f"{key_text(name)} = {value_text(value)}\n" for name, value in values.items())
        self.parts.append(f"\n{comment_text(comment) if comment else ''}{header}\n{lines}")

    # ---- sources

    def sources_work(self, corpus: Corpus, documents: str) -> Work[None]:
        """Adds the sources of a corpus; those that are read together are one table."""
        weights = corpus.weights or (ONCE,) * len(corpus.sources)
        comment = _OF_SOURCES
        for sources, own in _together(list(zip(corpus.sources, weights, strict=True))):
            if sources[0].path is None:
                values = yield from self._stored_work(sources[0], documents)
            else:
                values = self._of_file(sources)
            if len(set(own)) > 1:
                for part, weight in zip(values["parts"], own, strict=True):
                    part |= _weight(weight)
            else:
                parts = values.pop("parts", None)
                values |= _weight(own[0])
                values |= {"parts": parts} if parts else {}
            self.table("[[source]]", comment, values)
            comment = ""

    def _stored_work(self, source: Source, documents: str) -> Work[dict[str, Any]]:
        """A text without a file, which is stored beside the experiment."""
        if source.counts is not None or source.places is not None:
            what = "word counts that are" if source.counts is not None else "a part of a text that is"
            raise ConfigError(f"{source.name}: {what} in no file cannot be part of an experiment: save a file first.")
        name = safe_name(source.name, "text")
        data = np.asarray(source.data).tobytes()
        ends = yield from document_ends(source.data, documents)
        if not source.is_rows and np.array_equal(ends, source.ends):
            path = self._stored(name, data, ".txt")
            # A mark at the beginning would be dropped from UTF-8.
            is_text = is_utf8(data) and not data.startswith(codecs.BOM_UTF8)
            return {"path": self.relative(path), "name": source.name, "encoding": "utf-8" if is_text else "bytes"}
        rows = list[str]()
        for start, end in pairwise([0, *source.ends.tolist()]):
            if not is_utf8(data[start:end]):
                raise ConfigError(f"{source.name}: a document in no file that is not UTF-8 cannot be stored.")
            rows.append(json.dumps({"text": data[start:end].decode()}, ensure_ascii=False) + "\n")
            yield Progress("writing", end, len(data))
        path = self._stored(name, "".join(rows).encode(), ".jsonl")
        return {"path": self.relative(path), "name": source.name, "field": "text"}

    def _of_file(self, sources: Sequence[Source]) -> dict[str, Any]:
        """What was read of a file or a folder together."""
        first = sources[0]
        path = _root(first)
        values: dict[str, Any] = _of_address(first) or {"path": self.relative(path)}
        if first.counts is not None:
            values["counts"] = True
        else:
            of_parts = () if first.origin is not None else _OF_PARTS
            values |= {name: value for name, value in _reading(first).items() if name not in of_parts}
        keys = [key_of(source, path) for source in sources]
        own = list(map(_own, sources))
        if all(each == own[0] for each in own):
            values |= own[0]
            own = [dict[str, Any]() for _ in sources]
        if len(sources) > 1 or keys != [("", "", None)]:
            values["parts"] = [_part(*key) | each for key, each in zip(keys, own, strict=True)]
        return values

    # ---- what is left out, exports, variants

    def left_out_work(self, corpus: Corpus, step: LeavingOut) -> Work[None]:
        """Adds what is left out together."""
        values: dict[str, Any] = {}
        if step.rules:
            values["rules"] = {name: True if threshold is None else threshold for name, threshold in step.rules}
        if step.documents or step.lines:
            content = yield from named_list_work(corpus, step)
            values["lists"] = [self.relative(self._stored("left-out", content, ".csv"))]
        comment = "What is left out: rules with their thresholds, and lists of documents and lines as CSV."
        self.table("[[leave_out]]", comment, values)

    def exports(self, exports: Iterable[tuple[str, Path]], name: str) -> None:
        """Adds exports."""
        for format_name, path in exports:
            self.table(f"[[{name}]]", "", {"format": format_name, "path": self.relative(path)})

    def variants(self) -> None:
        """Adds a table for each variant, with what it does not share."""
        shared = self._shared()
        comment = "Each variant is trained; what it sets goes before [settings]. Weights are of each text, in order."
        for training, settings in self._trainings:
            own = {name: value for name, value in settings.items() if name not in shared and value is not None}
            lines = [f"name = {value_text(training.name)}\n"]
            lines += [f"{name} = {self._text_of(name, value)}\n" for name, value in own.items()]
            lines += [f"{name} = {size}\n" for name, size in training.sample().items()]
            weights = [_number(round(ONCE * weight)) for weight in training.weights]
            lines += [f"{WEIGHTS} = {value_text(weights)}\n"] if weights else []
            self.parts.append(f"\n{comment_text(comment) if comment else ''}[[variant]]\n{''.join(lines)}")
            self.exports(training.exports, "variant.export")
            comment = ""


# What is chosen for each data set of an archive or a folder unless it is given.
_OF_PARTS = ("field", "delimiter")
_OF_READING = frozenset(each.name for each in fields(Reading))
_OF_SOURCES = (
    "What is trained on, in this order: a path or an address (with sample_bytes and seed), a weight, an encoding, "
    "whether it is a table of counts, how it is read "
    f"({', '.join(each.name for each in fields(Reading))}), and which parts of it."
)


def _as_text(path: str) -> object:
    """A path as a string; in hexadecimal digits where it is no text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return {"hex": os.fsencode(path).hex()}
    return path


def _part(file: str, member: str, value: str | None) -> dict[str, Any]:
    part: dict[str, Any] = {"file": _as_text(file)} if file else {}
    part |= {"member": member} if member else {}
    return part if value is None else part | {"value": value}


def _holds(path: Path, content: bytes) -> bool:
    """Whether a file has this content."""
    with suppress(OSError):
        return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content
    return False


def _weight(weight: int) -> dict[str, Any]:
    return {} if weight == ONCE else {"weight": _number(weight)}


def _number(weight: int) -> float:
    """A weight in thousandths as it is written."""
    return weight / ONCE if weight % ONCE else weight // ONCE


def _of_address(source: Source) -> dict[str, Any]:
    """What is fetched by an address again: the same commit, and the same sample; {} for a file."""
    origin = source.origin
    if origin is None:
        return {}
    request = request_again(origin, parse_address(origin.request.address)) if origin.commit else origin.request
    sample = {SAMPLE_BYTES: request.sample_bytes, "seed": request.seed, "scheme": origin.scheme}
    encoding = request.encoding if source.counts is None else None  # counted words are read in one way
    values = {"path": request.address, "encoding": encoding, **(sample if request.sample_bytes else {})}
    return {name: value for name, value in values.items() if value is not None}


def _without_secrets(corpus: Corpus) -> tuple[str, ...]:
    """The addresses of a corpus that are stored without their secrets."""
    requests = [source.origin.request for source in corpus.sources if source.origin is not None]
    return tuple(dict.fromkeys(request.address for request in requests if request.hidden))


def _root(source: Source) -> Path:
    """What the file of a source is read from: the folder of many texts that it was opened with, or itself."""
    assert source.path is not None
    if source.origin is not None and (kept := kept_at(source.path)) is not None:
        return kept.folder
    group = Path(source.group) if source.group else source.path
    return group if source.path.is_relative_to(group) else source.path


def _together(weighted: Sequence[tuple[Source, int]]) -> Iterator[tuple[list[Source], list[int]]]:
    """Groups neighbouring sources that are read in the same way from the same place, with their weights."""
    sources, weights = list[Source](), list[int]()
    for source, weight in weighted:
        if sources and (source.path is None or _place(source) != _place(sources[-1]) or _is_again(source, sources)):
            yield sources, weights
            sources, weights = [], []
        sources.append(source)
        weights.append(weight)
    if sources:
        yield sources, weights


def _place(source: Source) -> tuple[object, ...]:
    """All that sources have in common which are read together."""
    reading = tuple(pair for pair in _reading(source).items() if pair[0] not in _OF_PARTS)
    return source.path and _root(source), reading, source.counts is None, source.group, source.origin


def _is_again(source: Source, sources: Sequence[Source]) -> bool:
    """Whether the same part is there already, as in a file that was given twice."""
    return (source.path, source.member, source.value) in ((one.path, one.member, one.value) for one in sources)


def _reading(source: Source) -> dict[str, Any]:
    """How a source was read; what looks like a data set and was read as a text says so."""
    if source.origin is not None:
        # As it was asked for, which decides what is fetched.
        asked = asdict(source.origin.request)
        chosen = {name: value for name, value in asked.items() if name in _OF_READING}
        return replace(source.reading or Reading(), **chosen).to_json()
    if source.reading is not None:
        return source.reading.to_json()
    if source.path is None or source.counts is not None or source.is_rows:
        return {}
    # Such a file is refused where it is named, but not in a folder.
    return {"as_text": True} if suffix_of(source.path.name) in NAMED_JSON and not source.group else {}


def _own(source: Source) -> dict[str, Any]:
    """How a source was read in which others of its file may differ: most of it is detected."""
    if source.counts is not None or source.origin is not None:
        return {}
    values = {name: value for name, value in _reading(source).items() if name in _OF_PARTS}
    encoding = _encoding(source)
    return values if encoding is None else {"encoding": encoding} | values


def _encoding(source: Source) -> str | None:
    """The encoding to read it in; None where it is detected again, as of text that is in none."""
    return None if is_kept_as_bytes(source.encoding, source.note) else source.encoding
