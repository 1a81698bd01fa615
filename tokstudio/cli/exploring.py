"""The command `explore`: what is in texts, and where in them tokens are used, as tables, as JSON or as CSV."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import csv
import io
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.cli.process.terminal import Console, put
from tokstudio.cli.reading import CommandTexts, read_corpus, texts_of
from tokstudio.cli.tokenizers import load_tokenizer_or_run
from tokstudio.core.base.atomic_files import file_name, write_files
from tokstudio.core.base.wording import percent_text, printable, quoted_bytes, several
from tokstudio.core.comparison.table import MISSING, aligned
from tokstudio.core.corpus.source import document_place
from tokstudio.core.exploration.dispersion import DOCUMENT_UNIT
from tokstudio.core.exploration.exploration import Exploration
from tokstudio.core.exploration.findings import Finding
from tokstudio.core.exploration.origin import TokenOrigin
from tokstudio.core.text.languages import SCRIPTS
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_ROWS = 20
_SORTED_BY = {"documents": "bytes", "tokens": "bunched"}
_NOTHING_FOUND = "Findings: none.\n"
_TABLES = ("findings", "documents", "tokens")

Columns = Mapping[str, NDArray[Any]]


def explore(arguments: argparse.Namespace, console: Console) -> None:
    """Prints or writes the tables."""
    tokenizer: Tokenizer | None = None
    if arguments.tokenizer is not None:
        tokenizer = load_tokenizer_or_run(arguments.tokenizer, arguments.run, arguments.pattern, console)
        tokenizer = tokenizer if arguments.merges is None else tokenizer.at(arguments.merges)
    read = read_corpus(texts_of(arguments, arguments.files), console)
    here = Exploration(read.corpus, tokenizer)
    asked: Sequence[str] = arguments.show or [name for name in _TABLES if name != "tokens" or tokenizer is not None]
    is_file = arguments.json or arguments.csv is not None
    most = (sys.maxsize if is_file else _ROWS) if arguments.rows is None else arguments.rows
    columns = {name: _chosen(here, name, arguments.sort, most, console) for name in _TABLES[1:] if name in asked}
    findings = console.finish(here.findings_work()) if "findings" in asked else None
    origin = None if arguments.token is None else console.finish(here.origin_work(arguments.token))
    if arguments.csv is not None:
        rows = _plain_rows(here, columns[asked[0]]) if findings is None else _finding_rows(findings)
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(rows)
        console.finish(write_files({arguments.csv: [out.getvalue().encode("utf-8", "backslashreplace")]}))
        console.say(f"Wrote {file_name(arguments.csv)}.")
    elif arguments.json:
        put(sys.stdout, json.dumps(_as_json(here, read, columns, findings, origin), ensure_ascii=False) + "\n")
    else:
        texts = [] if origin is None else [_origin_text(here, origin)]
        if findings is not None:
            texts.append(_aligned("Findings", _shown_findings(here, findings)) if findings else _NOTHING_FOUND)
        texts += [_aligned(*_shown_rows(here, name, chosen)) for name, chosen in columns.items()]
        put(sys.stdout, "\n".join(texts))


def _chosen(here: Exploration, table: str, column: str | None, most: int, console: Console) -> Columns:
    """The first rows of a table, the highest of a column first, each with its row or its id."""
    columns = console.finish(here.documents_work() if table == "documents" else here.tokens_work())
    key = column if column is not None and column in columns else _SORTED_BY[table]
    keys = columns[key].astype(np.float64)
    rows = np.argsort(np.where(np.isnan(keys), np.inf, -keys), kind="stable")
    if table == "tokens":
        rows = rows[columns["uses"][rows] > 0]
    rows = rows[:most]
    return {"row" if table == "documents" else "id": rows} | {name: each[rows] for name, each in columns.items()}


# --- Rows -------------------------------------------------------------------------------------------------------------


def _plain_rows(here: Exploration, columns: Columns) -> Iterator[list[object]]:
    """The heading and the rows of a table for other programs."""
    named = _named_values(here, columns)
    yield [*named]
    yield from (list(row) for row in zip(*named.values(), strict=True))


def _named_values(here: Exploration, columns: Columns) -> dict[str, list[Any]]:
    """The columns of a table with names for indices; rows, documents and parts count from 1, ids from 0."""
    named = {name: _values(here, name, column) for name, column in columns.items() if name != "shard"}
    if "shard" in columns and any(source.shards for source in here.corpus.sources):
        files = [source.shards or ("",) for source in here.corpus.sources]
        places = zip(columns["source"].tolist(), columns["shard"].tolist(), strict=True)
        named = _after(named, "source", {"file": [files[source][shard] for source, shard in places]})
    if "id" in named:
        tokens = [_bytes_of(here, token) for token in named["id"]]
        texts = {"text": [raw.decode("utf-8", "replace") for raw in tokens], "hex": [raw.hex() for raw in tokens]}
        named = _after(named, "id", texts)
    return named


def _after(named: dict[str, list[Any]], name: str, more: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The columns with more of them after one."""
    at = [*named].index(name) + 1
    return dict([*[*named.items()][:at], *more.items(), *[*named.items()][at:]])


def _values(here: Exploration, name: str, column: NDArray[Any]) -> list[Any]:
    if name == "source":
        return [here.corpus.sources[index].name for index in column.tolist()]
    if name == "script":
        return [SCRIPTS[number] if number >= 0 else None for number in column.tolist()]
    if name in ("row", "number", "top_part"):
        return [number + 1 if number >= 0 else None for number in column.tolist()]
    return [None if isinstance(value, float) and math.isnan(value) else value for value in column.tolist()]


def _shown_rows(here: Exploration, table: str, columns: Columns) -> tuple[str, list[list[str]]]:
    """The heading and the rows of a table for a person."""
    if table == "documents":
        names = ["bytes", "lines", "repeated_bytes", "not_utf8", "longest_line", "longest_run"]
        names += [name for name in ("tokens", "bytes_per_token") if name in columns]
        first = ["document", *(_place(here, row) for row in columns["row"].tolist())]
        values = [[name, *map(_cell, _values(here, name, columns[name]))] for name in [*names, "script"]]
        heading = f"Documents, {len(columns['row']):,} of {here.corpus.documents:,}"
        return heading, [list(row) for row in zip(first, *values, strict=True)]
    names = ["uses", "range", "top_share", "bunched", "dp", "dp_norm", "emitted"]
    values = [[name, *map(_cell, _values(here, name, columns[name]))] for name in names]
    ids = columns["id"].tolist()
    values = [["id", *map(str, ids)], ["token", *(_token(here, token) for token in ids)], *values]
    if here.part_unit == DOCUMENT_UNIT:
        values.append(["top document", *(_place(here, part) for part in columns["top_part"].tolist())])
    units = several(here.parts, here.part_unit[:-1])
    pieces = several(len(here.pieces), "piece")
    return f"Tokens in {units}, dispersion over {pieces}", [list(row) for row in zip(*values, strict=True)]


def _finding_rows(findings: Iterable[Finding]) -> Iterator[list[object]]:
    """The heading, and a row for each finding, with its first example."""
    yield ["rule", "documents", "lines", "bytes", "tokens", "first"]
    for each in findings:
        place = each.examples[0].place
        yield [each.rule, each.documents, each.lines, each.bytes, len(each.tokens), place]


def _shown_findings(here: Exploration, findings: Iterable[Finding]) -> Iterator[list[object]]:
    for rule, documents, lines, size, *rest in _finding_rows(findings):
        share = percent_text(size / max(1, here.corpus.bytes), 1) if isinstance(size, int) else "share"
        yield [rule, *map(_cell, (documents, lines, size)), share, *map(_cell, rest)]


def _cell(value: object) -> str:
    if value is None:
        return MISSING
    return f"{value:,.3f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _token(here: Exploration, token: int) -> str:
    return quoted_bytes(_bytes_of(here, token))


def _bytes_of(here: Exploration, token: int) -> bytes:
    tokenizer = here.tokenizer
    assert isinstance(tokenizer, Tokenizer)
    return tokenizer.bytes_of(token)


def _place(here: Exploration, row: int) -> str:
    for source in here.corpus.sources:
        if row < source.documents:
            return document_place(source, row) or source.name
        row -= source.documents
    return ""


def _aligned(heading: str, rows: Iterable[Sequence[object]]) -> str:
    """A heading and a table whose first row names its columns."""
    cells = [list(map(str, row)) for row in rows]
    are_numbers = [all(map(_is_number, column[1:])) for column in zip(*cells, strict=True)]
    return "\n".join([printable(heading), *aligned(cells, are_numbers)]) + "\n"


def _is_number(cell: str) -> bool:
    return cell == MISSING or cell[:1].isdigit()


def _origin_text(here: Exploration, origin: TokenOrigin) -> str:
    rows: list[list[object]] = [["document", "uses", "share"]]
    for each in origin.documents:
        rows.append([each.place, f"{each.uses:,}", percent_text(each.share, 1)])
    made = "" if origin.made is None else f" It was made {several(origin.made, 'time')} on the way to all tokens."
    name = _token(here, origin.token)
    return _aligned(f"Token {origin.token:,}, {name}. {origin.sentence()}{made}", rows)


# --- JSON -------------------------------------------------------------------------------------------------------------


def _as_json(
    here: Exploration,
    read: CommandTexts,
    columns: Mapping[str, Columns],
    findings: Sequence[Finding] | None,
    origin: TokenOrigin | None,
) -> dict[str, object]:
    told: dict[str, object] = {"sources": [source.name for source in here.corpus.sources]}
    if here.tokenizer is not None:
        told |= {"parts": here.parts, "part_unit": here.part_unit, "pieces": here.pieces.tolist()}
    for table, chosen in columns.items():
        told[table] = _named_values(here, chosen)
    if findings is not None:
        told["findings"] = [_finding_json(each) for each in findings]
    if origin is not None:
        told["origin"] = _origin_json(origin)
    return told | read.as_json()


def _finding_json(finding: Finding) -> dict[str, object]:
    examples = [{"place": each.place, "text": each.text} for each in finding.examples]
    numbers = {name: getattr(finding, name) for name in ("rule", "documents", "lines", "bytes")}
    return {**numbers, "examples": examples, "tokens": finding.tokens.tolist()}


def _origin_json(origin: TokenOrigin) -> dict[str, object]:
    made = origin.made_by_source
    documents = [
        {"place": each.place, "uses": each.uses, "share": None if math.isnan(each.share) else each.share}
        for each in origin.documents
    ]
    return {
        "token": origin.token,
        "sentence": origin.sentence(),
        "uses": origin.uses,
        "made": origin.made,
        "uses_by_source": origin.uses_by_source.tolist(),
        "made_by_source": None if made is None else made.tolist(),
        "documents": documents,
    }
