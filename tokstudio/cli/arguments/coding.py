"""The arguments of `encode`, `decode`, `convert`, `export-bytes` and `inspect`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path

from tokstudio.cli.arguments import parser as shared


def encode(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `encode`."""
    parser = shared.new_parser(
        "tokstudio encode",
        "Turns text into token ids and prints them as a JSON list. A file is encoded byte for byte as it is stored,\n"
        "unless --field, --as-text or another option says how to read the text in it: the ids of each document then\n"
        "follow those of the one before. Several files, a folder, or an option for shards: a data set is encoded into\n"
        "the folder --out, in a stream; an ended command is continued by the same one.",
    )
    parser.add_argument(
        "--allow-special",
        action="append",
        default=[],
        metavar="all|TOKEN",
        help="encode this special token, or all of them, as their ids; other special tokens are plain text, "
        "unless the library of the tokenizer makes their ids of it; may be repeated",
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
    shared.add_documents(parser.add_argument, None)
    shared.add_encoding(parser.add_argument)
    shared.add_reading(parser, divides=False)
    _add_shards(parser)
    arguments = _parse_coding(
        parser,
        words,
        file_help="a file to encode (default: standard input, also -), or the files and folders of a data set",
        text_help="encode TEXT",
        out_help="write the ids to FILE: NAME.npy as a NumPy array (uint16 if the whole vocabulary fits, else uint32), "
        "any other name as a JSON list; of a data set, the folder for the shards",
        several=True,
    )
    if arguments.field is not None and arguments.as_text:
        parser.error("give either --field or --as-text: plain text has no columns")
    given = [f"--{name.replace('_', '-')}" for name in _READING if getattr(arguments, name) != parser.get_default(name)]
    if arguments.text is not None and given:
        parser.error(f"{given[0]} is for a file")
    arguments.reads = bool(given)
    return _as_shards(parser, arguments)


# What says how a file is read, and what asks for shards.
_READING = (
    "documents", "encoding", "field", "delimiter", "as_text", "min_document_chars", "max_document_chars", "max_bytes",
    "deduplicate", "keep_truncated",
)  # fmt: skip
_SHARDS = ("append_eos", "end_token", "shard_tokens", "format", "dtype", "dask", "dask_wait", "json", "sample_bytes")
_AMOUNT = re.compile(r"(\d[\d_]*)([kMG]?)")


def _add_shards(parser: argparse.ArgumentParser) -> None:
    """Adds what a data set becomes."""
    add = parser.add_argument_group("a data set in shards").add_argument
    add("--append-eos", action="store_true", help="end each document with the tokenizer's end token")
    add("--end-token", metavar="TOKEN", help="end each document with this special token")
    add(
        "--shard-tokens",
        type=_amount,
        metavar="N",
        help="at most so many tokens in a shard, such as 100M (the default), of whole documents; a longer document is "
        "a shard of its own",
    )
    add(
        "--format",
        action="append",
        choices=("npy", "bin", "parquet"),
        help="npy: an array of NumPy (default); bin: the same without header, little-endian; parquet: a row for each "
        "document; may be repeated. Beside an array, NAME.ends.npy has the ends of its documents",
    )
    add("--dtype", choices=("uint16", "uint32"), help="the type of the ids (default: uint16 if the vocabulary fits)")
    add(
        "--dask",
        metavar="local|ADDRESS",
        help="encode on a Dask cluster whose workers see the same files and --out, a file at a time, such as "
        "tcp://10.0.0.1:8786; local starts a worker per core here (needs tokstudio[dask])",
    )
    shared.add_dask_wait(add)
    add("--json", action="store_true", help="print the result as one JSON object")


def _as_shards(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> argparse.Namespace:
    """Decides whether a data set is encoded, and checks what that needs."""
    asked = [f"--{name.replace('_', '-')}" for name in _SHARDS if getattr(arguments, name) != parser.get_default(name)]
    out: Path | None = arguments.out
    is_set = len(arguments.files) > 1 or any(map(os.path.isdir, arguments.files)) or (out is not None and out.is_dir())
    arguments.folder = None
    if asked or is_set:
        what = asked[0] if asked else "a data set"
        if arguments.text is not None or not arguments.files or "-" in arguments.files:
            parser.error(f"{what} needs files or folders: neither --text nor standard input is a data set")
        if out is None:
            parser.error(f"{what} needs --out DIR, the folder for the shards")
        if out.suffix.lower() in (".npy", ".json") and not out.is_dir():
            parser.error(f"{what} is written into a folder: give --out the name of one, without {out.suffix}")
        if arguments.dropout:
            parser.error("--dropout is for one text: what a data set becomes must not depend on chance")
        if arguments.append_eos and arguments.end_token is not None:
            parser.error("give either --append-eos or --end-token")
        arguments.folder, arguments.out = out, None
        arguments.shard_tokens = arguments.shard_tokens or _amount("100M")
        arguments.format = arguments.format or ["npy"]
    else:
        arguments.file = next(iter(arguments.files), None)
        arguments.files = []
    return arguments


def _amount(text: str) -> int:
    """A number such as 100M."""
    match = _AMOUNT.fullmatch(text)
    if match is None or not int(match[1]):
        raise argparse.ArgumentTypeError(f'"{text}" is not a number of tokens, such as 100M or 500000')
    return int(match[1]) * {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}[match[2]]


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
    add(
        "--close-gaps",
        action="store_true",
        help="renumber the tokens to close gaps between ids; tables of merges and tokens keep theirs",
    )
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
    parser: argparse.ArgumentParser,
    words: Sequence[str],
    file_help: str,
    text_help: str,
    out_help: str,
    several: bool = False,
) -> argparse.Namespace:
    parser.add_argument("files" if several else "file", nargs="*" if several else "?", metavar="FILE", help=file_help)
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
    if arguments.text is not None and (arguments.files if several else arguments.file is not None):
        parser.error("give either --text or a file")
    return arguments
