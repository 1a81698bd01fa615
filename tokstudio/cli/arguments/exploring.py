"""The arguments of `explore`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tokstudio.cli.arguments import parser as shared

# Copies of the core's names, whose import would load NumPy; a test compares them.
COLUMNS = {
    "documents": (
        "number", "bytes", "characters", "lines", "repeated_bytes", "not_utf8", "longest_line", "longest_run", "tokens",
        "bytes_per_token",
    ),
    "tokens": ("uses", "range", "top_part", "top_share", "bunched", "dp", "dp_norm", "emitted"),
}  # fmt: skip
TABLES = ("findings", "documents", "tokens")

_TEXT = """\
Explores texts: what is in each document, what rules find that a tokenizer should perhaps not learn from, and, with a
tokenizer, in which documents each token is used and how evenly. Held-out text counts too, and weights do not.
Rows, documents and lines count from 1 in all that is printed or written, and so does top_part, the row of the document
(or the number of the piece) with most uses of a token; ids of tokens count from 0.
"""


def explore(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `explore`."""
    parser = shared.new_parser("tokstudio explore", _TEXT, shared.EXIT_CODES)
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="texts, data sets, or folders of them; - for standard input")
    shared.add_documents(add)
    shared.add_encoding(add)
    add = parser.add_argument_group("tokenizer").add_argument
    add("--tokenizer", type=Path, metavar="T", help=f"its file, its folder, {shared.NAMES}, or a project")
    add("--run", metavar="NAME", help="for a project: the run to use")
    add("--merges", type=shared.whole, metavar="N", help="use its first N merges only")
    shared.add_pattern(parser)
    add = parser.add_argument_group("output").add_argument
    add(
        "--show",
        action="append",
        choices=TABLES,
        metavar="TABLE",
        help=f"a table to print: {', '.join(TABLES)}; may be repeated (default: all)",
    )
    names = "; ".join(f"of {table} {', '.join(columns)}" for table, columns in COLUMNS.items())
    add("--sort", metavar="COLUMN", help=f"highest first, by a column: {names} (default: bytes, bunched)")
    add("--rows", type=shared.whole, metavar="N", help="rows of documents and tokens (default: 20; in files all)")
    add("--token", type=shared.whole, metavar="ID", help="also say where this token comes from")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print everything as one JSON object, each column as a list")
    forms.add_argument("--csv", type=Path, metavar="FILE", help="write one table to FILE instead of printing it")
    shared.add_reading(parser)
    shared.add_quiet(parser)
    return _checked(parser, parser.parse_args(words))


def _checked(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> argparse.Namespace:
    shared.refuse_two_inputs(parser, arguments.files)
    if arguments.csv is not None and len(arguments.show or ()) != 1:
        parser.error("--csv writes one table: choose it with --show")
    if arguments.csv is not None and arguments.token is not None:
        parser.error("--token is not for --csv")
    if arguments.rows is not None and arguments.rows < 0:
        parser.error("--rows: must be 0 or more")
    columns = [column for table in arguments.show or TABLES for column in COLUMNS.get(table, ())]
    if arguments.sort is not None and not any(arguments.sort in columns for columns in COLUMNS.values()):
        parser.error(f'--sort: there is no column "{arguments.sort}"')
    if arguments.sort is not None and arguments.sort not in columns:
        parser.error(f"--sort {arguments.sort} sorts no table of --show {' '.join(arguments.show)}")
    if arguments.tokenizer is None:
        of_tokens = {*COLUMNS["tokens"], "tokens", "bytes_per_token"}
        if arguments.sort in of_tokens:
            parser.error(f"--sort {arguments.sort} needs --tokenizer")
        for name in ("run", "merges", "token"):
            if getattr(arguments, name) is not None:
                parser.error(f"--{name} needs --tokenizer")
        if "tokens" in (arguments.show or ()):
            parser.error("--show tokens needs --tokenizer")
    return arguments
