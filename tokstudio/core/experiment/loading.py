"""Reads an experiment from its file and checks it: each key that is unknown and each wrong type by its line.

The keys of settings are those of `core/model/settings.py`, and those of readings the fields of `Reading`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError, TokStudioError
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, shown
from tokstudio.core.corpus.corpus import ONCE, check_weight
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.corpus.rules import check_rules
from tokstudio.core.experiment.experiment import (
    FORM,
    FORM_KEY,
    OF_ALL,
    RESULT,
    SAMPLE_BYTES,
    SAMPLE_PERCENT,
    WEIGHTS,
    Experiment,
    ExperimentTraining,
    Gave,
    Result,
    effective,
)
from tokstudio.core.experiment.reading import ExperimentSource, LeftOutStep, Part, shown_path
from tokstudio.core.experiment.toml import LARGEST, Place, TomlFile, parse_toml
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.hub.addresses import is_address
from tokstudio.core.hub.kept_texts import SCHEME
from tokstudio.core.model.settings import LARGEST_NUMBER, SETTINGS, Setting
from tokstudio.core.text.utf8 import AnyPath


def load_experiment(path: AnyPath) -> Experiment:
    r"""Reads an experiment file.

    Example:
        >>> from pathlib import Path
        >>> from tokstudio import load_experiment
        >>> text = 'experiment = 1\n[settings]\nvocabulary_size = 300\n[[source]]\npath = "book.txt"\n'
        >>> size = Path("mine.toml").write_text(text)
        >>> experiment = load_experiment("mine.toml")
        >>> experiment.sources[0].path
        'book.txt'

    Raises:
        ConfigError: It is no experiment, or of a later version of TokStudio, or has an unknown key or a value of a
            wrong type; the message names the line.
        CorpusError: It cannot be read.
    """
    return finish(load_experiment_work(Path(path)))


def load_experiment_work(path: Path) -> Work[Experiment]:
    """Does the same as `load_experiment` in bounded pieces."""
    return experiment_of(path, (yield from read_file_work(path, LARGEST)))


def experiment_of(path: Path, raw: bytes) -> Experiment:
    """The experiment of the content of a file; raises ConfigError as `load_experiment`."""
    file = parse_toml(raw, file_name(path))
    top = _Table(file, (), file.values)
    form = top.take(FORM_KEY, _WHOLE)
    if form is None:
        message = f"{file.name}: this is no experiment of TokStudio: it does not begin with {FORM_KEY} = {FORM}."
        raise ConfigError(message)
    if form != FORM:
        raise file.error(
            f"this experiment has the form {form}, and this version of TokStudio reads form {FORM}: update TokStudio.",
            FORM_KEY,
        )
    settings = top.table("settings")
    sources = tuple(map(_source, top.tables("source")))
    if not sources:
        raise ConfigError(f"{file.name}: there is no [[source]], so there is nothing to train on: add one.")
    steps = tuple(map(_step, top.tables("leave_out")))
    exports = _exports(top)
    trainings = _trainings(settings, top.tables("variant"), exports)
    output = top.table("output")
    experiment = Experiment(
        path,
        file,
        sources,
        steps,
        trainings,
        _path_text(output, "project") or "",
        output.take("accept_loss", _SWITCH) or False,
        (_path_text(output, "csv") or "", _path_text(output, "html") or ""),
        _result(top.table(RESULT)) if RESULT in file.values else None,
    )
    output.end()
    top.end()
    return experiment


@dataclass(frozen=True)
class _Kind:
    """A type that a value must have, in words."""

    words: str
    fits: Callable[[object], bool]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TEXT = _Kind("a string", lambda value: isinstance(value, str))
_WHOLE = _Kind("a whole number", lambda value: type(value) is int)
_NUMBER = _Kind("a number", _is_number)
_NUMBERS = _Kind("a list of numbers, one for each text in order", lambda value: _are_all(_NUMBER, value))
_SWITCH = _Kind("true or false", lambda value: isinstance(value, bool))
_TABLE = _Kind("a table", lambda value: isinstance(value, dict))
_TABLES = _Kind("a list of tables", lambda value: _are_all(_TABLE, value))
_PATH = _Kind("a path, a string", lambda value: isinstance(value, str) or _hex_of(value) is not None)
_PATHS = _Kind("a list of paths", lambda value: _are_all(_PATH, value))
_HEX = "hex"  # the key of a path that is no text, in hexadecimal digits


def _are_all(kind: _Kind, value: object) -> bool:
    return isinstance(value, list) and all(map(kind.fits, cast("list[object]", value)))


def _hex_of(value: object) -> bytes | None:
    table = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    digits = table.get(_HEX)
    try:
        return bytes.fromhex(digits) if isinstance(digits, str) and len(table) == 1 else None
    except ValueError:
        return None


class _Table:
    """A table of the file: what is taken from it has its type, and in the end nothing is left."""

    def __init__(self, file: TomlFile, place: Place, values: Mapping[str, Any]) -> None:
        self.file, self.place, self._values = file, place, values
        self._known = set[str]()

    @property
    def names(self) -> Collection[str]:
        """The keys that it has."""
        return self._values.keys()

    def take(self, name: str, kind: _Kind) -> Any:  # noqa: ANN401 -- of the kind
        """The value of a key; None where there is none."""
        self._known.add(name)
        if name not in self._values:
            return None
        value = self._values[name]
        if not kind.fits(value):
            raise self.error(f"{name} must be {kind.words}, not {_told(value)}.", name)
        return value

    def need(self, name: str, kind: _Kind) -> Any:  # noqa: ANN401
        """The value of a key that must be there."""
        value = self.take(name, kind)
        if value is None:
            raise self.error(f"{_name_of(self.place)} needs {name}, which is {kind.words}.")
        return value

    def table(self, name: str) -> _Table:
        """A table in it, which may be missing."""
        return _Table(self.file, (*self.place, name), self.take(name, _TABLE) or {})

    def tables(self, name: str) -> list[_Table]:
        """The tables of a list in it."""
        place = (*self.place, name)
        return [_Table(self.file, (*place, at), each) for at, each in enumerate(self.take(name, _TABLES) or ())]

    def end(self) -> None:
        """Refuses a key that nobody has taken."""
        for name in self._values:
            if name not in self._known:
                near = get_close_matches(name, self._known, 1)
                meant = f": did you mean {near[0]}?" if near else f"; there are {', '.join(sorted(self._known))}."
                raise self.error(f"{_name_of(self.place)} has no key {shown(name)}{meant}", name)

    def error(self, message: str, *name: str | int) -> ConfigError:
        """An error that names the line of a key, or that of the table."""
        return self.file.error(message, *self.place, *name)


def _name_of(place: Place) -> str:
    """A table in a message: "[settings]" or "[[source]]"."""
    if not place:
        return "the file"
    name = ".".join(part for part in place if isinstance(part, str))
    return f"[[{name}]]" if isinstance(place[-1], int) else f"[{name}]"


def _told(value: object) -> str:
    """A wrong value in a message."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return shown(shown_path(value))
        case int() | float():
            return f"{value:,}"
        case list():
            return "a list"
        case dict():
            return "a table"
        case _:
            return "a date or a time"


def _path_text(table: _Table, name: str) -> str | None:
    value = table.take(name, _PATH)
    return None if value is None else _path_of(table, name, value)


def _path_of(table: _Table, name: str, value: object) -> str:
    raw = _hex_of(value)
    path = os.fsdecode(raw) if raw is not None else cast("str", value)
    if not path or "\0" in path:
        raise table.error(f"{name} must be a path, not {shown(shown_path(path))}.", name)
    return path


# --- Settings and variants


_WORDS_OF_KINDS = {
    "limit": "a whole number",
    "number": "a whole number",
    "decimal": "a number",
    "share": "a number",
    "switch": "true or false",
    "text": "a string",
    "texts": "a list of strings",
    "rules": "a list of strings",
    "texts by name": "a table of paths by name",
    "numbers by name": "a table of numbers by name",
}


def _settings(table: _Table, without: Collection[str] = ()) -> tuple[dict[str, Any], dict[str, Place]]:
    """The values of the settings in a table, and their places."""
    values: dict[str, Any] = {}
    for name, setting in SETTINGS.items():
        value = table.take(name, _ANY)
        if value is None:
            continue
        if name in without:
            raise table.error(f"{name} is the same for all variants: set it in [settings].", name)
        values[name] = _setting_value(table, setting, value)
    return values, {name: (*table.place, name) for name in values}


_ANY = _Kind("a value", lambda value: True)


def _setting_value(table: _Table, setting: Setting, value: object) -> Any:  # noqa: ANN401
    plain: object = value
    if setting.kind in ("texts by name", "numbers by name"):
        is_table = isinstance(value, dict)
        pairs = cast("dict[str, object]", value) if is_table else {}
        if is_table and setting.kind == "texts by name" and all(map(_PATH.fits, pairs.values())):
            pairs = {name: _path_of(table, setting.name, each) for name, each in pairs.items()}
        value, plain = pairs, list(pairs.items()) if is_table else value
    if setting.accepts(plain):
        return value
    if setting.kind == "choice":
        choices = first_few([*setting.choices], len(setting.choices), str)
        raise table.error(f"{setting.name} must be one of {choices}, not {_told(value)}.", setting.name)
    words = _WORDS_OF_KINDS[setting.kind]
    bounds = f" from 0 to {setting.most:g}" if setting.kind == "share" else ""
    if setting.kind in ("limit", "number") and (setting.least or type(plain) is int):
        bounds = f" of at least {setting.least:,}"
        if type(plain) is int and plain > setting.least:
            bounds = f" below {LARGEST_NUMBER:,}"
    raise table.error(f"{setting.name} must be {words}{bounds}, not {_told(plain)}.", setting.name)


def _sample(table: _Table) -> tuple[int | None, int | None]:
    """The sample that a table wants, in bytes and in per cent; None twice where it says none."""
    sample = {name: table.take(name, _WHOLE) for name in (SAMPLE_BYTES, SAMPLE_PERCENT)}
    given = [name for name, value in sample.items() if value is not None]
    if len(given) > 1:
        raise table.error(f"{given[0]} and {given[1]} are two sizes of the sample: give one of them.", given[1])
    for name in given:
        value, most = cast("int", sample[name]), 100 if name == SAMPLE_PERCENT else 1 << 62
        if not 1 <= value <= most:
            raise table.error(f"{name} must be from 1 to {most:,}, not {value:,}.", name)
    return sample[SAMPLE_BYTES], sample[SAMPLE_PERCENT]


def _weights(table: _Table) -> tuple[float, ...]:
    """The weights of a variant; empty where it says none."""
    numbers: tuple[float, ...] = tuple(table.take(WEIGHTS, _NUMBERS) or ())
    try:
        for number, weight in enumerate(numbers, 1):
            check_weight(f"text {number}", weight)
    except ConfigError as error:
        raise table.error(str(error), WEIGHTS) from error
    return numbers


def _trainings(
    table: _Table, variants: Sequence[_Table], exports: tuple[tuple[str, str], ...]
) -> tuple[ExperimentTraining, ...]:
    shared, shared_places = _settings(table)
    shared_sample = _sample(table)
    table.end()
    if not variants:
        _refuse_others(table.file, [shared], shared_places)
        return (ExperimentTraining("", shared, *shared_sample, exports=exports, places=shared_places),)
    if exports:
        message = "with variants, an export belongs to one of them: write it as [[variant.export]]."
        raise table.file.error(message, "export", 0)
    trainings: list[ExperimentTraining] = []
    for number, variant in enumerate(variants, 1):
        name = variant.take("name", _TEXT) or f"variant {number}"
        same = next((before.name for before in trainings if before.name.casefold() == name.casefold()), None)
        if same is not None:
            names = (
                f"are named {shown(name)}" if same == name else f"differ only in case, {shown(same)} and {shown(name)}"
            )
            raise variant.error(f"two variants {names}: give each a name of its own.", "name")
        own, own_places = _settings(variant, without=(OF_ALL,))
        sample, weights = _sample(variant), _weights(variant)
        own_exports = _exports(variant)
        variant.end()
        _refuse_others(table.file, [{**shared, **own}], own_places)
        # Of what all share, each takes what has an effect for it.
        usable = effective({**shared, **own})
        settings = {**{name: value for name, value in shared.items() if name in usable}, **own}
        places = {name: place for name, place in {**shared_places, **own_places}.items() if name in settings}
        sample = sample if any(sample) else shared_sample
        trainings.append(ExperimentTraining(name, settings, *sample, weights, own_exports, places))
    _refuse_others(table.file, [training.settings for training in trainings], shared_places)
    return tuple(trainings)


def _refuse_others(file: TomlFile, settings: Sequence[Mapping[str, Any]], places: Mapping[str, Place]) -> None:
    """Refuses a setting that none of the algorithms has."""
    default = SETTINGS["algorithm"].default
    algorithms = dict.fromkeys(str(values.get("algorithm", default)) for values in settings)
    for name, place in places.items():
        if not any(algorithm in SETTINGS[name].algorithms for algorithm in algorithms):
            raise file.error(f"{name} is not for the algorithm {' or '.join(algorithms)}: leave it out.", *place)


# --- Sources, what is left out, exports, the result


_READING = {each.name: each for each in fields(Reading)}
_WORDS_OF_TYPES = {"str": "a string", "bool": "true or false", "int": "a whole number"}


def _source(table: _Table) -> ExperimentSource:
    path = _path_of(table, "path", table.need("path", _PATH))
    name = table.take("name", _TEXT) or ""
    counts = table.take("counts", _SWITCH) or False
    encoding = table.take("encoding", _TEXT)
    reading = _reading(table)
    sample = _sample_of_address(table, path)
    weight = _weight(table, name or shown_path(path))
    parts = tuple(map(_part, table.tables("parts")))
    table.end()
    if counts and (encoding is not None or reading != Reading()):
        raise table.error("counted words are read in one way: leave out the encoding and how it is read.")
    if name and len(parts) > 1:
        raise table.error("name is for one source, and this has several parts: leave it out.", "name")
    return ExperimentSource(path, name, encoding, reading, sample, counts, ONCE if weight is None else weight, parts)


def _sample_of_address(table: _Table, path: str) -> tuple[int | None, int]:
    """How many bytes are taken of an address, and by which seed."""
    size, seed, scheme = (table.take(name, _WHOLE) for name in (SAMPLE_BYTES, "seed", "scheme"))
    if not is_address(path):
        given = next((name for name in (SAMPLE_BYTES, "seed", "scheme") if name in table.names), None)
        if given is not None:
            raise table.error(f"{given} is for a text by its address, and this is a path: leave it out.", given)
    if size is not None and size < 1:
        raise table.error(f"{SAMPLE_BYTES} must be at least 1, not {size:,}.", SAMPLE_BYTES)
    if scheme not in (None, SCHEME):
        raise table.error(
            f"another version of TokStudio chose what seed {seed or 0} takes (scheme {scheme}, here {SCHEME}): leave "
            "the scheme out to take another sample.",
            "scheme",
        )
    return size, seed or 0


def _reading(table: _Table) -> Reading:
    values = {name: value for name in _READING if (value := table.take(name, _ANY)) is not None}
    for name, value in values.items():
        try:
            Reading.from_json({name: value})
        except ConfigError:
            pass  # said of all together
        except ValueError as error:
            words = _WORDS_OF_TYPES[str(_READING[name].type).partition(" ")[0]]
            raise table.error(f"{name} must be {words}, not {_told(value)}.", name) from error
    try:
        return Reading.from_json(values)
    except ConfigError as error:
        raise table.error(str(error), next(iter(values))) from error


def _part(table: _Table) -> Part:
    file = _path_text(table, "file") or ""
    member, value = table.take("member", _TEXT) or "", table.take("value", _TEXT)
    encoding, column, delimiter = (table.take(name, _TEXT) for name in ("encoding", "field", "delimiter"))
    part = Part(file, member, value, encoding, column, delimiter, _weight(table, file or value or member))
    table.end()
    return part


def _weight(table: _Table, name: str) -> int | None:
    weight = table.take("weight", _NUMBER)
    try:
        return None if weight is None else check_weight(name, weight)
    except ConfigError as error:
        raise table.error(str(error), "weight") from error


def _step(table: _Table) -> LeftOutStep:
    rules: dict[str, Any] = table.take("rules", _TABLE) or {}
    lists = tuple(_path_of(table, "lists", each) for each in table.take("lists", _PATHS) or ())
    table.end()
    for name, threshold in rules.items():
        try:
            check_rules((), {name: threshold})
        except ConfigError as error:
            raise table.error(str(error), "rules", name) from error
    return LeftOutStep(check_rules((), rules), lists)


def _exports(table: _Table) -> tuple[tuple[str, str], ...]:
    exports: list[tuple[str, str]] = []
    for each in table.tables("export"):
        name = each.need("format", _TEXT)
        if name not in FORMATS or not FORMATS[name].writable:
            known = [other.name for other in FORMATS.values() if other.writable]
            raise each.error(f"there is no format {shown(name)}: use {first_few(known, len(known), str)}.", "format")
        exports.append((name, _path_of(each, "path", each.need("path", _PATH))))
        each.end()
    return tuple(exports)


def _result(table: _Table) -> Result:
    version, corpus = table.need("tokstudio", _TEXT), table.need("corpus_sha256", _TEXT)
    texts: list[tuple[str, str]] = []
    for text in table.tables("texts"):
        texts.append((text.need("name", _TEXT), text.need("sha256", _TEXT)))
        text.end()
    variants = table.tables("variant")
    trainings = tuple(_gave(each, each.need("name", _TEXT)) for each in variants) if variants else (_gave(table, ""),)
    table.end()
    return Result(version, corpus, tuple(texts), trainings)


def _gave(table: _Table, name: str) -> Gave:
    gave = Gave(name, table.need("merges", _WHOLE), table.need("merges_sha256", _TEXT))
    if name:
        table.end()
    return gave


def is_experiment(path: Path) -> bool:
    """Whether a file seems to be an experiment, by its name and its beginning; False where it cannot be read."""
    if path.suffix.lower() != ".toml":
        return False
    try:
        raw = finish(read_file_work(path, LARGEST))
        return type(parse_toml(raw, path.name).values.get(FORM_KEY)) is int
    except (TokStudioError, OSError, ValueError):
        return False
