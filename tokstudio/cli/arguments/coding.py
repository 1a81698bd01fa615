"""The arguments of `encode`, `decode`, `convert`, `export-bytes` and `inspect`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tokstudio.cli.arguments import parser as shared


def encode(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `encode`."""
    parser = shared.new_parser(
        "tokstudio encode",
        "Turns text into token ids and prints them as a JSON list. A file is encoded byte for byte as it is stored,\n"
        "unless --field or --as-text says to read the text in it.",
    )
    parser.add_argument(
        "--field",
        metavar="COLUMN",
        help="encode this column of a data set (JSON Lines, JSON, CSV, Parquet, Arrow), also of a compressed one: the "
        "ids of each row follow those of the row before",
    )
    parser.add_argument(
        "--as-text", action="store_true", help="encode the text in a compressed file or an archive, as UTF-8"
    )
    parser.add_argument(
        "--allow-special",
        action="append",
        default=[],
        metavar="all|TOKEN",
        help="encode this special token, or all of them, as their ids; other special tokens are plain text; "
        "may be repeated",
    )
    parser.add_argument(
        "--dropout",
        type=shared.number,
        default=0.0,
        metavar="P",
        help="pass over each merge with this probability, so that the text becomes other, mostly more, tokens "
        "(BPE-dropout, arXiv 1910.13267)",
    )
    parser.add_argument(
        "--seed",
        type=shared.whole,
        default=0,
        metavar="N",
        help="the random numbers of --dropout: another N, other tokens",
    )
    arguments = _parse_coding(
        parser,
        words,
        file_help="a file to encode (default: standard input, also -)",
        text_help="encode TEXT",
        out_help="write the ids to FILE: NAME.npy as a NumPy array (uint16 if the whole vocabulary fits, else uint32), "
        "any other name as a JSON list",
    )
    if arguments.field is not None and arguments.as_text:
        parser.error("give either --field or --as-text: plain text has no columns")
    if arguments.text is not None and (arguments.field is not None or arguments.as_text):
        parser.error("--field and --as-text are for a file")
    return arguments


def decode(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `decode`."""
    parser = shared.new_parser(
        "tokstudio decode",
        "Turns token ids back into exactly the bytes they encode. Ids are a JSON list, separated by white space, or\n"
        "a NumPy array.",
    )
    return _parse_coding(
        parser,
        words,
        file_help="a file of ids (default: standard input, also -)",
        text_help="decode the ids in TEXT",
        out_help="write the bytes to FILE",
    )


def convert(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `convert`."""
    parser = shared.new_parser(
        "tokstudio convert",
        "Writes a tokenizer's files in another format. The library that owns the format reads them back and must\n"
        "give the same ids. Losses are reported before anything is written.",
    )
    add = parser.add_argument
    add("source", metavar="IN", type=Path, help=f"the tokenizer's file, its folder, {shared.NAMES}, or a project")
    add("target", metavar="OUT", type=Path, help="a file, or a folder where the format has several files")
    add("--format", choices=shared.EXPORTS, required=True, help="the format to write")
    shared.add_pattern(parser)
    add("--run", metavar="NAME", help="for a project: the run to convert")
    add("--merges", type=shared.whole, metavar="N", help="only the first N merges")
    add("--close-gaps", action="store_true", help="renumber the tokens to close gaps between ids")
    add("--accept-loss", action="store_true", help="write even if the format loses part of the tokenizer")
    add("--force", action="store_true", help="replace files that exist already")
    add(
        "--sample", metavar="FILE", type=Path, help="a text to test the files with, in addition to a built-in hard text"
    )
    add(
        "--model",
        metavar="MODEL.gguf",
        type=Path,
        help="with --format gguf: write a copy of this model with the tokenizer in place of its own; its tensors and "
        "all other values stay as they are, and it must have as many tokens",
    )
    add("--pad", action="store_true", help="with --model: fill up tokens that the model has more")
    add("--report", metavar="FILE", type=Path, help="write a report with the proof to FILE")
    add("--json", action="store_true", help="print the report as one JSON object")
    shared.add_quiet(parser)
    arguments = parser.parse_args(words)
    if arguments.model is not None and arguments.format != "gguf":
        parser.error("--model is for --format gguf")
    if arguments.pad and arguments.model is None:
        parser.error("--pad is for --model")
    return arguments


def export_bytes(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `export-bytes`."""
    parser = shared.new_parser(
        "tokstudio export-bytes",
        "Writes how many bytes of text each token stands for, by id, to compute bits per byte: 0 for special tokens.\n"
        "Says where a tokenizer changes a text, so that these bytes do not add up to those of the text.",
    )
    add = parser.add_argument
    add("source", metavar="TOKENIZER", type=Path, help=f"its file, its folder, {shared.NAMES}, or a project")
    add("--run", metavar="NAME", help="for a project: the run whose tokens are counted")
    add("--out", metavar="FILE", dest="target", type=Path, required=True,
        help="the file to write: NAME.npy (int32) or NAME.json")  # fmt: skip
    add("--force", action="store_true", help="replace a file that exists already")
    parser.set_defaults(format="token-bytes")
    shared.add_quiet(parser)
    return parser.parse_args(words)


def inspect(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `inspect`."""
    parser = shared.new_parser("tokstudio inspect", "Shows what a tokenizer's files or a project contain.")
    parser.add_argument(
        "path", metavar="PATH|NAME", type=Path, help=f"the tokenizer's file, its folder, {shared.NAMES}, or a project"
    )
    shared.add_pattern(parser)
    parser.add_argument("--json", action="store_true", help="print it as one JSON object")
    shared.add_quiet(parser)
    return parser.parse_args(words)


def _parse_coding(
    parser: argparse.ArgumentParser, words: Sequence[str], file_help: str, text_help: str, out_help: str
) -> argparse.Namespace:
    parser.add_argument("file", nargs="?", metavar="FILE", help=file_help)
    parser.add_argument("--text", metavar="TEXT", help=text_help)
    parser.add_argument(
        "--tokenizer",
        metavar="PATH|NAME",
        type=Path,
        required=True,
        help=f"the tokenizer's file, or the folder it is in, {shared.NAMES}, or a project",
    )
    parser.add_argument("--run", metavar="NAME", help="for a project: the run whose tokenizer is used")
    shared.add_pattern(parser)
    parser.add_argument("--out", metavar="FILE", type=Path, help=out_help)
    shared.add_quiet(parser)
    arguments = parser.parse_args(words)
    if arguments.text is not None and arguments.file is not None:
        parser.error("give either --text or a file")
    return arguments
