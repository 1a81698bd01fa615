"""Parts of a project that its reader and writer share: whole tokenizers, readings, what is left out, and the hash."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

import numpy as np

from tokstudio.core.algorithms.common.from_tokenizer import start_of
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import from_values
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.hub.kept_texts import TextOrigin
from tokstudio.core.model.algorithms import COLUMNS
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.file_settings import FileSettings
from tokstudio.core.model.run import Run, TrainedOn
from tokstudio.core.model.validation import check_vocabulary
from tokstudio.core.pretokenization.preparation import SETS, Preparation
from tokstudio.core.project.database import LARGEST, Row
from tokstudio.core.project.model import ProjectSource, TokenizerFile
from tokstudio.core.project.schema import Json, to_json
from tokstudio.core.text.utf8 import to_utf8
from tokstudio.core.tokenizer.content import TokenizerContent
from tokstudio.core.tokenizer.origin import Change, Origin, from_the_first
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- A tokenizer as JSON in a project, with all that decides its ids and where it is from -----------------------------

_PIECE = 1 << 20
_T = TypeVar("_T")
_MOST_BEFORE = 3  # tokenizers that are kept of those a tokenizer was made from, one of another: the last and the first


def tokenizer_values(tokenizer: Tokenizer, before: int = _MOST_BEFORE) -> dict[str, Json]:
    """All that decides the ids of a tokenizer, the roles of its special tokens, and its origin; without its run.

    Of a row of more than `before` changes, the earliest are kept as one.
    """
    tokenizer = tokenizer.closed()
    rows = np.column_stack([tokenizer.merges, tokenizer.merge_results])
    preparation = asdict(tokenizer.preparation)
    alphabet = tokenizer.alphabet
    base: dict[str, Json] = (
        {"bytes": alphabet.id_of.tolist()}
        if alphabet.base == "bytes"
        else {"characters": alphabet.units.tolist(), "ids": alphabet.ids.tolist(), "unknown": alphabet.unknown}
    )
    extra = {
        str(token): base64.b64encode(token_bytes).decode() for token, token_bytes in tokenizer.extra_tokens.items()
    }
    others: Any = {
        # Left, right and result of each as 4 bytes, little endian: a list would take too long.
        "merges": base64.b64encode(rows.astype("<i4").tobytes()).decode(),
        "special_tokens": dict(tokenizer.special_tokens),
        "settings": _settings_values(tokenizer.settings),
        "pattern": tokenizer.pattern,
        "extra_tokens": extra,
        "whole_words": sorted(tokenizer.whole_words),
        "ignores_merges": tokenizer.content.ignores_merges,
        "preparation": preparation | {name: sorted(preparation[name]) for name in SETS},
        "remarks": list(tokenizer.content.remarks),
    }
    if tokenizer.origin is not None:
        origin = from_the_first(tokenizer.origin) if before == 1 else tokenizer.origin
        others["origin"] = {
            "change": origin.change,
            "new_ids": base64.b64encode(origin.new_ids.astype("<i4").tobytes()).decode(),
            "old": tokenizer_values(origin.old, before - 1),
        }
    return base | others


def tokenizer_of(values: dict[str, Json]) -> Tokenizer:
    """The tokenizer of the values; ConfigError where they are not those of one."""
    try:
        merges = _merges(values["merges"]).reshape(-1, 3)
        extra = _mapped(values, "extra_tokens", str)
        extra_tokens = {
            int(token): base64.b64decode(token_bytes, validate=True) for token, token_bytes in extra.items()
        }
        preparation = _object(values["preparation"])
        alphabet, specials = _alphabet(values), _mapped(values, "special_tokens", int)
        rows: Any = merges
        check_vocabulary(rows[:, :2], rows[:, 2], alphabet, specials, extra_tokens, ordered=False)
        content = TokenizerContent(
            *(rows[:, :2], rows[:, 2], alphabet, specials, _of_type(values["pattern"], str), extra_tokens),
            settings=_settings(values),
            whole_words=frozenset(_listed(values, "whole_words", int)),
            ignores_merges="ignores_merges" in values and _of_type(values["ignores_merges"], bool),
            preparation=Preparation(
                nfc=_of_type(preparation["nfc"], bool),
                prefix_space=_of_type(preparation["prefix_space"], bool),
                # Projects from before have fewer.
                **{name: frozenset(_listed(preparation, name, str)) for name in SETS if name in preparation},
            ),
            remarks=tuple(_listed(values, "remarks", str)),
            origin=_origin(_object(values["origin"])) if "origin" in values else None,
        )
        tokenizer = Tokenizer.of(content)
        if tokenizer.origin is not None and not np.all(tokenizer.origin.new_ids < len(tokenizer.tokens)):
            raise ValueError
        return tokenizer
    except (KeyError, TypeError, ValueError, OverflowError, binascii.Error) as error:
        raise ConfigError("it is not a tokenizer") from error


def _settings_values(settings: FileSettings) -> dict[str, Json]:
    values: Any = asdict(settings)
    lists = {"additional": list(settings.additional), "notes": list(settings.notes), "former": sorted(settings.former)}
    return values | lists


def _settings(row: dict[str, Json]) -> FileSettings:
    """The settings; projects from before had the roles alone."""
    if "settings" not in row:
        return FileSettings(roles=_mapped(row, "roles", str) if "roles" in row else {})
    values = _object(row["settings"])
    return FileSettings(
        roles=_mapped(values, "roles", str),
        additional=tuple(_listed(values, "additional", str)),
        chat_templates=_mapped(values, "chat_templates", str),
        in_own_files=_of_type(values["in_own_files"], bool),
        config=None if values["config"] is None else dict(_object(values["config"])),
        names_give_roles=_of_type(values.get("names_give_roles", values["config"] is None), bool),
        post_processor=values["post_processor"],
        truncation=values["truncation"],
        padding=values["padding"],
        notes=tuple(_listed(values, "notes", str)),
        former=frozenset(_listed(values, "former", str)),
    )


def _origin(values: dict[str, Json]) -> Origin[Tokenizer]:
    old, change = tokenizer_of(_object(values["old"])), _of_type(values["change"], str)
    new_ids = np.frombuffer(base64.b64decode(_of_type(values["new_ids"], str), validate=True), "<i4")
    if change not in get_args(Change) or len(new_ids) < len(old.tokens):
        raise ValueError
    return Origin(old, cast("Change", change), new_ids.astype(np.int32))


def _merges(value: Json) -> NDArray[np.int64]:
    if isinstance(value, list):
        return np.array([_of_type(number, int) for number in value], np.int64)
    return np.frombuffer(base64.b64decode(_of_type(value, str), validate=True), "<i4").astype(np.int64)


def _alphabet(values: dict[str, Json]) -> Alphabet:
    if "bytes" in values:
        return Alphabet.of_bytes(_listed(values, "bytes", int))
    characters = "".join(map(chr, _listed(values, "characters", int)))
    unknown = values["unknown"] if values["unknown"] is None else _of_type(values["unknown"], int)
    return replace(Alphabet.of_characters(characters, _listed(values, "ids", int)), unknown=unknown)


def _of_type(value: object, kind: type[_T]) -> _T:
    if type(value) is not kind:
        raise TypeError
    return cast("_T", value)


def _object(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", _of_type(value, dict))


def _listed(row: dict[str, Json], name: str, kind: type[_T]) -> list[_T]:
    return [_of_type(value, kind) for value in cast("list[Json]", _of_type(row[name], list))]


def _mapped(row: dict[str, Json], name: str, kind: type[_T]) -> dict[str, _T]:
    return {key: _of_type(value, kind) for key, value in _object(row[name]).items()}


# --- The tokenizer that a run started from, as JSON in a project ------------------------------------------------------


def start_to_json(run: Run) -> str | None:
    """The tokenizer that a run started from; None where there is none."""
    start = start_of(run)
    return None if start is None else to_json(tokenizer_values(start))


def read_start(row: Row) -> Tokenizer | None:
    """The tokenizer that the run of a row started from; FormatError where it is none."""
    if row.is_null("start"):
        return None
    try:
        return tokenizer_of(row.json_object("start"))
    except ConfigError as error:
        raise row.fault("start", str(error).rstrip(".")) from error


# --- How a source is read, as JSON in a project -----------------------------------------------------------------------

_TEXTS = ("member", "value", "group")


def reading_to_json(source: ProjectSource) -> str | None:
    """How a source is read; None for plain text that is read whole."""
    values: dict[str, object] = {
        "reading": None if source.reading is None else source.reading.to_json(),
        "member": source.member or None,
        "value": source.value,
        "group": source.group or None,
        "rows": source.is_rows or None,
        "origin": None if source.origin is None else source.origin.to_json(),
    }
    chosen_values = {name: value for name, value in values.items() if value is not None}
    return to_json(chosen_values) if chosen_values else None


def with_reading(source: ProjectSource, values: Mapping[str, Json]) -> ProjectSource:
    """The source with what `reading_to_json` gave; ValueError where a value is unknown or has another type."""
    reading, rows = values.get("reading"), values.get("rows", False)
    if not values.keys() <= {*_TEXTS, "reading", "rows", "origin"} or not isinstance(rows, bool):
        raise ValueError("it is not known")
    texts = {name: values[name] for name in _TEXTS if name in values}
    if not all(isinstance(text, str) and "\0" not in text for text in texts.values()):
        raise ValueError("a name is not a text")
    member, value, group = (texts.get(name) for name in _TEXTS)
    try:
        reading_of_row = Reading.from_json(reading) if isinstance(reading, dict) else None
    except ConfigError as error:
        raise ValueError(str(error).removesuffix(".")) from error
    if reading_of_row is None and (reading is not None or (rows and source.text is None)):
        raise ValueError("it is not known")
    return replace(
        source,
        reading=reading_of_row,
        member=str(member or ""),
        value=None if value is None else str(value),
        group=str(group or ""),
        is_rows=rows,
        origin=None if values.get("origin") is None else from_values(TextOrigin, values["origin"]),
    )


# --- The parallel texts of a configuration in a project: its JSON has their names and sizes, a blob the texts ---------


def config_to_json(config: TrainingConfig) -> str:
    """A configuration, with the size of each parallel text in bytes instead of the text."""
    sizes = {"parallel": [(name, len(text.encode())) for name, text in config.algorithm.texts()]}
    return to_json(config.by_name() | sizes)


def parallel_bytes(config: TrainingConfig) -> NDArray[np.uint8]:
    """The parallel texts, one after another."""
    texts = (text.encode() for _, text in config.algorithm.texts())
    return np.frombuffer(b"".join(texts), np.uint8)


def with_texts(row: Row, values: dict[str, Any], texts: bytes) -> dict[str, Any]:
    """The values of a configuration, with texts in place of their sizes; FormatError where they do not fit."""
    sizes: Json = values.get("parallel", [])
    pairs: list[tuple[str, str]] = []
    at = 0
    for entry in sizes if isinstance(sizes, list) else [None]:
        match entry:
            case [str(name), int(size)] if not isinstance(size, bool) and 0 <= size <= LARGEST:
                try:
                    pairs.append((name, texts[at : at + size].decode()))
                except UnicodeDecodeError:
                    raise row.fault("parallel", "a text is not UTF-8") from None
                at += size
            case _:
                raise row.fault("config", "the names and sizes of the parallel texts are missing")
    if at != len(texts):
        raise row.fault("parallel", "the texts do not have the sizes of the configuration")
    return values | {"parallel": pairs}


# --- What was left out of the sources of a run, as JSON in a project --------------------------------------------------

_MOST_TOTALS = 1000


def left_out_to_json(corpus: TrainedOn) -> str | None:
    """What was left out of the sources of a run, and how much; None where nothing was to be."""
    if not corpus.leaving_out:
        return None
    return to_json({"steps": [step.to_json() for step in corpus.leaving_out], "totals": corpus.left_out})


def steps_of(values: Json) -> tuple[LeavingOut, ...]:
    """What is left out, from JSON; ConfigError where it is not."""
    steps = values if isinstance(values, list) else [None]
    return tuple(LeavingOut.from_json(step if isinstance(step, dict) else {"": None}) for step in steps)


def with_left_out(row: Row, corpus: TrainedOn) -> TrainedOn:
    """The facts about a corpus with what `left_out_to_json` gave; FormatError where it is something else."""
    if row.is_null("left_out"):
        return corpus
    values = row.json_object("left_out")
    totals: list[tuple[str, int, int, int]] = []
    rows = values.get("totals")
    for total in rows if isinstance(rows, list) and len(rows) <= _MOST_TOTALS else [None]:
        match total:
            case [str(name), int(documents), int(lines), int(size)] if min(documents, lines, size) >= 0:
                totals.append((name, documents, lines, size))
            case _:
                raise row.fault("left_out", "it does not say how much was left out")
    try:
        return replace(corpus, leaving_out=steps_of(values.get("steps")), left_out=tuple(totals))
    except ConfigError as error:
        raise row.fault("left_out", str(error).rstrip(".")) from error


# --- The hash of a run: of its settings as they are written, its tokens and merges, or of the files of a tokenizer ----


def run_parts(run: Run, config: str, start: str | None) -> Iterator[bytes | None]:
    """Yields what the hash of a run is of; `config` and `start` are its cells with these names."""
    yield config.encode()
    yield None if start is None else start.encode()
    if start is None:
        by_id = np.argsort(run.alphabet.ids)
        yield from map(_as_bytes, (run.alphabet.units[by_id], run.alphabet.ids[by_id]))
    yield from map(_as_bytes, (run.base_counts, run.merges, run.counts, run.tokens_after))
    for column in COLUMNS:
        if column.name in run.columns:
            yield column.name.encode()
            yield _as_bytes(run.columns[column.name])


def file_parts(files: Sequence[TokenizerFile], pattern: str | None) -> Iterator[bytes | None]:
    """Yields what the hash of an opened tokenizer is of."""
    yield None if pattern is None else pattern.encode()
    for file in files:
        yield to_utf8(file.name)
        yield file.content


def _as_bytes(array: NDArray[Any]) -> bytes:
    return array.astype("<i8").tobytes()


def content_hash_work(parts: Iterable[bytes | None]) -> Work[str]:
    """The hexadecimal SHA-256 of parts, each with its length before it, -1 where it is missing."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update((-1 if part is None else len(part)).to_bytes(8, "little", signed=True))
        for at in range(0, len(part or b""), _PIECE):
            digest.update(memoryview(part or b"")[at : at + _PIECE])
            yield Progress("hashing")
    return digest.hexdigest()
