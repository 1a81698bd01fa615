"""Reads a run from a project, and refuses one that no training could have produced."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import chain
from operator import mul
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tokstudio.core.algorithms.common.from_tokenizer import check_start
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.corpus import LARGEST_WEIGHT, ONCE, scale_of
from tokstudio.core.formats.common.vocabulary import MergeList, first_repeated
from tokstudio.core.model.algorithms import COLUMNS, OWN_SETTINGS, ParityAware, Picky, PlainBPE, algorithm_of
from tokstudio.core.model.alphabet import LARGEST_ID, Alphabet
from tokstudio.core.model.columns import CHOSEN_BY, Columns
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.picky import LEFT_GONE, REPLACED, RESULT, problem_of_events, share_merged
from tokstudio.core.model.run import NOTHING_LEFT, REACHED_SIZE, STOPPED, Run, TrainedOn, special_ids
from tokstudio.core.project.database import LARGEST, Row, version_of
from tokstudio.core.project.schema import missing_columns
from tokstudio.core.project.whole_tokenizer import read_start, with_left_out, with_texts
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROWS = 4096
_MOST_VERSIONS = 100
_LONGEST_WORDS = 200
_MOST_LANGUAGES = 1 << 15
_NOBODY = -2  # for a merge of an algorithm without the column
_NUMBERED = tuple(column for column in COLUMNS if column.numbers)
_MERGES = "SELECT number, left, right, count, tokens_after, {} FROM merge WHERE run = ? ORDER BY number"
_TOKENS = "SELECT id, bytes, kind, count FROM token WHERE run = ? ORDER BY id"


def read_run_work(
    connection: sqlite3.Connection, row: Row, parallel: bytes = b"", second_counts: NDArray[np.int64] | None = None
) -> Work[Run]:
    """Reads a run with its tokens and merges from a checked database; FormatError where a value is impossible.

    `parallel` are its parallel texts, one after another; `second_counts` is as in `Run.columns`.
    """
    number, config, weights = row.whole("number"), _config(row, parallel), _weights(row)
    start, trailing = read_start(row), dict[int, bytes]()
    if start is None:
        alphabet, base_counts, trailing = yield from _read_tokens_work(connection, row, config)
    else:
        _check_start(row, start, config)
        alphabet, base_counts = start.alphabet, (yield from _read_counts_work(connection, row, start))
    merge_list = MergeList(alphabet) if start is None else MergeList.of(start)
    table = yield from _read_merges_work(connection, row, merge_list, len(base_counts))
    merges, counts, tokens_after = table[:, 1:3].astype(np.int32), *table[:, 3:5].T.copy()
    columns = _columns(row, config, table[:, 5:])
    _check_second_counts(row, config, second_counts, len(base_counts), len(merges))
    if second_counts is not None:
        columns["second_counts"] = second_counts
    expected = enumerate(map(str.encode, config.trailing_specials), len(base_counts) + len(merges))
    if trailing and trailing != dict(expected):
        raise row.fault("tokens", "the special tokens after the merges are not those of the configuration")
    run = Run(
        config=config,
        merges=merges,
        counts=counts,
        tokens_before=row.whole("tokens_before"),
        tokens_after=tokens_after,
        ended=_ended(row, config),
        corpus=with_left_out(
            row,
            TrainedOn(
                row.whole("corpus_bytes"),
                row.whole("corpus_documents"),
                row.sha256("corpus_sha256"),
                weights,
                scale_of(weights),
            ),
        ),
        alphabet=alphabet,
        base_counts=base_counts,
        versions=_versions(row),
        seconds=row.real("seconds"),
        start=start,
        languages=_languages(row, config, columns),
        columns=columns,
    )
    yield Progress("checking", number)
    if (problem := _problem(run)) is not None:
        raise row.fault("merges", problem)
    return run


def _config(row: Row, parallel: bytes) -> TrainingConfig:
    values: dict[str, Any] = with_texts(row, row.json_object("config"), parallel)
    names = {field.name for field in fields(TrainingConfig)}
    # Settings that an earlier TokStudio did not have are missing, and get their defaults.
    if not values.keys() <= names | OWN_SETTINGS.keys():
        raise row.fault("config", "its settings are not training settings")
    try:
        algorithm = algorithm_of(values.pop("algorithm", PlainBPE.name), values)
        return TrainingConfig(**{name: values[name] for name in values.keys() & names}, algorithm=algorithm)
    except ConfigError as error:
        words = "".join(c if c.isprintable() else "�" for c in str(error)[:_LONGEST_WORDS])
        raise row.fault("config", words.rstrip(".")) from error
    except TypeError as error:
        raise row.fault("config", "a setting has the wrong type") from error


def _check_second_counts(
    row: Row, config: TrainingConfig, counts: NDArray[np.int64] | None, base_size: int, merges: int
) -> None:
    """Raises FormatError unless there is a count of each id at the transition, exactly where a later merge is."""
    first = config.first_merges(base_size)
    if (counts is None) != (first is None or merges <= first):
        raise row.fault("second_counts", "they belong to runs past a transition, and to no others")
    if counts is None or first is None:
        return
    # Floating point cannot overflow here.
    if len(counts) != base_size + first or np.any(counts < 0) or counts.astype(np.float64).sum() > LARGEST:
        raise row.fault("second_counts", "there must be one for each id before the transition")


def _columns(row: Row, config: TrainingConfig, table: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """What the algorithm adds to merges, from the numbers of all algorithms; `_NOBODY` stands for none."""
    columns, at = dict[str, "NDArray[Any]"](), 0
    for column in _NUMBERED:
        numbers, at = table[:, at : at + len(column.numbers)], at + len(column.numbers)
        if column not in config.algorithm.columns:
            if np.any(numbers != _NOBODY):
                raise row.fault("merges", column.stray)
        elif np.any(numbers < np.array(column.least)):
            raise row.fault("merges", column.missing)
        else:
            columns[column.name] = column.shaped(numbers.astype(column.dtype))
    return columns


def _languages(row: Row, config: TrainingConfig, columns: Columns) -> tuple[str, ...]:
    """The names of the languages that chose the merges."""
    if not isinstance(config.algorithm, ParityAware):
        if not row.is_null("languages"):
            raise row.fault("languages", "only parity-aware BPE has them")
        return ()
    numbers, names = columns["chosen_by"], row.json("languages")
    languages = tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()
    if not 2 <= len(languages) <= _MOST_LANGUAGES or languages != tuple(cast("list[str]", names)):
        raise row.fault("languages", "the names of at least two languages are missing")
    together = np.arange(len(numbers)) < config.algorithm.global_merges
    if np.any((numbers == -1) != together) or np.any(numbers >= len(languages)):
        raise row.fault("merges", CHOSEN_BY.missing)
    return languages


def _weights(row: Row) -> tuple[int, ...] | None:
    if row.is_null("weights"):
        return None
    value = row.json("weights")
    numbers = value if isinstance(value, list) else []
    weights = tuple(number for number in numbers if type(number) is int and 0 <= number <= LARGEST_WEIGHT * ONCE)
    if not weights or len(weights) != len(numbers):
        raise row.fault("weights", f"it is not a list of numbers from 0 to {LARGEST_WEIGHT * ONCE:,}")
    return weights


def _ended(row: Row, config: TrainingConfig) -> str:
    reasons = [STOPPED, NOTHING_LEFT]
    if config.vocabulary_size is not None:
        reasons.append(REACHED_SIZE)
    if config.min_frequency is not None:
        reasons.append(f"no pair occurs {config.min_frequency:,} times")
    if (ended := row.text("ended")) not in reasons:
        raise row.fault("ended", "no training with these settings ends this way")
    return ended


def _versions(row: Row) -> Mapping[str, str]:
    values = row.json_object("versions")
    versions = {name: version for name, version in values.items() if isinstance(version, str)}
    if len(versions) != len(values) or len(values) > _MOST_VERSIONS:
        raise row.fault("versions", "they are not strings")
    return versions


def _rows(connection: sqlite3.Connection, query: str, number: int) -> Iterator[list[tuple[Any, ...]]]:
    cursor = connection.execute(query, (number,))
    while rows := cursor.fetchmany(_ROWS):
        yield rows


def _read_tokens_work(
    connection: sqlite3.Connection, row: Row, config: TrainingConfig
) -> Work[tuple[Alphabet, NDArray[np.int64], dict[int, bytes]]]:
    """The base tokens, the counts of all ids before the merges, and the special tokens after the merges."""
    number = row.whole("number")
    units, ids, counts = array("i"), array("i"), array("q")
    # The special tokens whose ids come before those of the merges, and the others.
    special = special_ids(config, 0).items()
    before = {token: text.encode() for text, token in special if text not in config.trailing_specials}
    trailing: dict[int, bytes] = {}
    for rows in _rows(connection, _TOKENS, number):
        for token, raw, kind, count in rows:
            if not isinstance(raw, bytes) or type(token) is not int or type(count) is not int:
                raise row.fault("tokens", "an id, a count or the bytes are missing")
            wrong = f"token {token} is not the one in the configuration"
            if not (0 <= token <= LARGEST_ID and 0 <= count <= LARGEST):
                raise row.fault("tokens", "an id or a count is out of range")
            if token == len(counts) and not trailing and (kind == "base" or before.get(token) == raw):
                unit = _unit(config, raw) if kind == "base" else None
                if (unit is None) == (kind == "base") or (kind == "base" and token in before):
                    raise row.fault("tokens", wrong)
                if unit is not None:
                    units.append(unit)
                    ids.append(token)
                counts.append(count)
            elif kind == "special":
                trailing[token] = raw
            else:
                raise row.fault("tokens", wrong)
        yield Progress("reading")
    if len(units) + len(before) != len(counts):
        raise row.fault("tokens", "a special token is missing")
    return _alphabet(row, config, units, ids), np.array(counts, np.int64), trailing


def _check_start(row: Row, start: Tokenizer, config: TrainingConfig) -> None:
    try:
        checked = check_start(start, config)
    except ConfigError as error:
        raise row.fault("start", str(error).rstrip(".")) from error
    if checked != config:
        raise row.fault("start", "its special tokens are not those of the configuration")


def _read_counts_work(connection: sqlite3.Connection, row: Row, start: Tokenizer) -> Work[NDArray[np.int64]]:
    """The counts of the tokens of the tokenizer at the start; tokens that do not occur have no row."""
    counts, tokens = np.zeros(len(start.tokens), np.int64), start.tokens
    for rows in _rows(connection, _TOKENS, row.whole("number")):
        for token, raw, kind, count in rows:
            if type(token) is not int or not 0 <= token < len(tokens) or tokens[token] != raw or kind != "base":
                raise row.fault("tokens", f"token {token} is not one of the tokenizer at the start")
            if type(count) is not int or not 0 <= count <= LARGEST:
                raise row.fault("tokens", "a count is out of range")
            counts[token] = count
        yield Progress("reading")
    return counts


def _unit(config: TrainingConfig, raw: bytes) -> int | None:
    """The byte or the code point of a base token; None where it is neither."""
    if config.base == "bytes":
        return raw[0] if len(raw) == 1 else None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    return ord(text) if len(text) == 1 else None


def _alphabet(row: Row, config: TrainingConfig, units: array[int], ids: array[int]) -> Alphabet:
    try:
        alphabet = Alphabet(config.base, np.array(units, np.int32), np.array(ids, np.int32))
        expected = config.alphabet if config.base_size is not None else alphabet
        config.check_size(len(ids) + len(config.leading_specials) + len(config.base_specials))
    except ConfigError as error:
        raise row.fault("tokens", str(error).rstrip(".")) from error
    if not (np.array_equal(alphabet.units, expected.units) and np.array_equal(alphabet.ids, expected.ids)):
        raise row.fault("tokens", "the base tokens are not those of the configuration")
    return alphabet


def _read_merges_work(
    connection: sqlite3.Connection, row: Row, merge_list: MergeList, base_size: int
) -> Work[NDArray[np.int64]]:
    """int64 [n, 5 + more]: number, pair, count, tokens after it, and the numbers of `_NUMBERED`."""
    before, columns = len(merge_list), array("q")
    missing = missing_columns("merge", version_of(connection))
    names = [name for column in _NUMBERED for name in column.numbers]
    optional = ", ".join(str(_NOBODY) if name in missing else f"coalesce({name}, {_NOBODY})" for name in names)
    for rows in _rows(connection, _MERGES.format(optional), row.whole("number")):
        try:
            columns.extend(chain.from_iterable(rows))
        except TypeError as error:
            raise row.fault("merges", "a number is missing") from error
        for number, left, right, *_ in rows:
            if number != len(merge_list) + 1:
                raise row.fault("merges", f"merge {len(merge_list) + 1:,} is missing")
            problem = (
                merge_list.add(left, right, base_size + number - before - 1)
                if min(left, right) >= 0
                else "an id is negative"
            )
            if problem is not None:
                raise row.fault("merges", problem)
        yield Progress("reading")
    table = np.array(columns, np.int64).reshape(-1, 5 + len(names))
    # A pair that came back by a removal may be merged again.
    removed = np.any(table[:, 5 + names.index("result")] != _NOBODY)
    again = None if removed else first_repeated(table[:, 1:3].astype(np.int32))
    if again is not None:
        raise row.fault("merges", f"merge {again[0]:,} joins the same two tokens as merge {again[1]:,}")
    return table


def _problem_of_removals(run: Run, rows: NDArray[np.int64]) -> str | None:
    """The first event that does not follow from those before it; None if all do."""
    if (problem := problem_of_events(run.merges, rows, run.base_size)) is not None:
        return problem
    base = run.base_size
    falls = run.falls
    assert falls is not None
    assert isinstance(run.config.algorithm, Picky)
    uses, at, tokens = run.base_counts.tolist() + [0] * len(rows), 0, run.tokens_before
    for number, ((left, right), row) in enumerate(zip(run.merges.tolist(), rows.tolist(), strict=True)):
        uses[row[RESULT]] += row[REPLACED]
        uses[left] -= row[REPLACED]
        uses[right] -= row[REPLACED]
        tokens -= row[REPLACED]
        if min(uses[left], uses[right]) < 0 or row[REPLACED] < 1:
            return "a token is merged more often than it occurs"
        for side, part in enumerate((left, right)):
            may_go = part >= base and not (side and left == right)
            goes = may_go and share_merged(row[REPLACED], uses[part]) > run.config.algorithm.threshold
            if row[LEFT_GONE + side] != (uses[part] if goes else -1):
                return f"the removals after merge {number + 1:,} do not match the uses"
        while at < len(falls) and falls.merges[at] == number:
            token, fallen = int(falls.tokens[at]), falls.of(at).tolist()
            places, uses[token] = uses[token], 0
            tokens += places * (len(fallen) - 1)
            for part in fallen:
                uses[part] += places
            at += 1
        if tokens != run.tokens_after[number]:
            return "the falls in tokens do not match the counts"
    return None


def _problem(run: Run) -> str | None:
    """The first impossible fact about a run's counts; None if there is none."""
    config, size = run.config, len(run)
    if run.removals is not None and (problem := _problem_of_removals(run, run.removals)) is not None:
        return problem
    limit = run.max_merges()
    if limit is not None and (size > limit or (run.ended == REACHED_SIZE and size < limit)):
        return f"there are {size:,}, but the vocabulary size means {limit:,}"
    base_tokens = sum(map(int, run.base_counts))
    trailing_unknown = config.unknown_token in config.trailing_specials
    if base_tokens > run.tokens_before or (base_tokens < run.tokens_before and not trailing_unknown):
        return "the counts of the base tokens do not add up to the tokens before the first merge"
    if np.any(run.tokens_after < 0) or np.any(run.counts < 1):
        return "a count is out of range"
    # Each merge removes as many tokens as its pair has places; those of a repeated token may overlap.
    overlapping = run.counts - run.merged
    most = np.where(run.merges[:, 0] == run.merges[:, 1], run.merged, 0)
    if not np.all((run.merged >= 1) & (overlapping >= 0) & (overlapping <= most)):
        return "the falls in tokens do not match the counts"
    rises = np.diff(run.counts[: config.algorithm.never_rising(size)]) > 0
    if run.second_stage is not None:
        first, _ = run.second_stage
        rises[first - 1 : first] = False  # other text was counted
    if np.any(rises):
        return "a pair occurs more often than the one that was merged before it"
    if (overtaken := run.columns.get("overtaken")) is not None:
        tokens = run.base_size + np.flatnonzero(overtaken >= 0)
        if np.any(overtaken >= run.counts) or np.isin(run.merges[overtaken < 0], tokens).any():
            return "a supermerge comes before one that is as frequent, or is a part of a word"
    if config.min_frequency is not None and np.any(run.counts < run.weight_scale * config.min_frequency):
        return "a pair occurs less often than the minimum frequency"
    ends = [size] if run.second_stage is None else [run.second_stage[0], size]
    if any(np.any(run.uses(end) < 0) for end in ends):
        return "a token is merged more often than it occurs"
    if run.second_stage is not None:
        counts = run.second_stage[1]
        lengths = Tokenizer.from_run(run).tokens.lengths()[: len(counts)]
        if sum(map(mul, counts.tolist(), lengths.tolist())) != run.corpus.bytes:
            return "the counts at the transition do not add up to the text"
    return None
