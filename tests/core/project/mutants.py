"""Damages projects at random, in their bytes and in their values, and opens them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random
import sqlite3
import struct
from contextlib import closing

from tests.core.project.projects import opened_or_refused

PAGE = 4096
COLUMNS = {
    "project": "key value",
    "source": "number name path weight counted_with bytes documents modified sha256 in_corpus text ends places counts",
    "run": "number name state pattern config sources corpus_bytes corpus_sha256 tokens_before ended versions seconds "
    "weights",
    "merge": "run number left right count tokens_after",
    "token": "run id bytes kind count",
    "file": "number run name content",
}
ROW = {"project": "key", "merge": "number", "token": "id"}
WEIRD = ["NULL", "-1", "0", "1.5", "'x'", "x'ff'", "9223372036854775807", "''", "'[]'", "'{}'", "zeroblob(9)", "1e999"]


def change(path, *statements):
    """Changes a project as a person with SQLite's own tools can."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints=ON")
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("PRAGMA synchronous=OFF")
        for statement in statements:
            connection.execute(statement)


def mutant(whole, chance):
    """The bytes of a database, damaged in a few places."""
    data = bytearray(whole)
    pages = len(data) // PAGE
    for _ in range(chance.choice([1, 1, 2, 5])):
        at, page = chance.randrange(len(data) - 4), PAGE * chance.randrange(pages)
        match chance.randrange(6):
            case 0:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                size = min(chance.randint(1, 64), len(data) - at)
                data[at : at + size] = chance.randbytes(size)
            case 2:  # a page in the place of another
                other = PAGE * chance.randrange(pages)
                data[page : page + PAGE] = data[other : other + PAGE]
            case 3:  # the header of a page, and where its cells begin
                data[page + chance.randrange(0 if page else 100, 140)] = chance.randrange(256)
            case 4:
                data[at : at + 4] = struct.pack(">I", chance.choice([0, 1, 2, 0xFFFFFFFF, 0x7FFFFFFF, 9]))
            case _:
                data[page : page + PAGE] = bytes(PAGE)
    return bytes(data)


def check_mutants_of_bytes(path, number, seed):
    """Opens so many mutants of a project; gives how many were refused."""
    whole, chance = path.read_bytes(), random.Random(seed)
    refusals = 0
    for _ in range(number):
        path.write_bytes(mutant(whole, chance))
        refusals += opened_or_refused(path) is None
    return refusals


def change_a_value(path, chance):
    """Puts something else into a cell, or takes a row away."""
    table = chance.choice(list(COLUMNS))
    key = ROW.get(table, "rowid")
    row = f"{key} = (SELECT {key} FROM {table} LIMIT 1 OFFSET {chance.randrange(7)} % (SELECT count(*) FROM {table}))"
    column, value = chance.choice(COLUMNS[table].split()), chance.choice(WEIRD)
    change(
        path,
        f"DELETE FROM {table} WHERE {row}" if value == "0" else f"UPDATE {table} SET {column} = {value} WHERE {row}",
    )


def check_mutants_of_values(path, number, seed):
    """Likewise, for values that are not what they should be in a database that is whole."""
    whole, chance = path.read_bytes(), random.Random(seed)
    refusals = 0
    for _ in range(number):
        path.write_bytes(whole)
        try:
            change_a_value(path, chance)
        except sqlite3.Error:
            continue
        refusals += opened_or_refused(path) is None
    return refusals
