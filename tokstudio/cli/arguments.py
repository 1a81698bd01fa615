"""The arguments of the command line and their help."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tokstudio.cli.parser import (
    EXIT_CODES,
    PATTERNS,
    add_documents,
    add_encoding,
    add_pattern,
    add_quiet,
    add_reading,
    add_special,
    new_parser,
    whole,
)
from tokstudio.version import __version__

# Copies of the core's lists, whose import would load NumPy; a test compares them.
_BASES = ("bytes", "characters")
_PLACEMENTS = ("last", "first")
_TIE_BREAKS = ("first", "lowest-id", "huggingface", "bytes")
_EXPORTS = (
    "huggingface", "classic", "gpt2", "tiktoken", "minbpe", "sentencepiece", "merges-csv", "merges-jsonl",
    "vocabulary-csv",
)  # fmt: skip
_FIGURES = (
    "bytes_per_token", "tokens", "characters_per_token", "tokens_per_line", "fertility", "words_split", "whole_words",
    "premium", "renyi", "renyi_whole", "shannon", "vocabulary_used", "not_utf8", "begins_inside", "normalised_length",
)  # fmt: skip
# Of how files are read.
_NOT_PARALLEL = (
    "documents", "encoding", "field", "split_by", "delimiter", "as_text", "min_document_chars", "max_document_chars",
    "max_bytes", "deduplicate", "keep_truncated",
)  # fmt: skip

_WINDOW_TEXT = """\
Opens the window with the given texts. The other commands work without a window:

  tokstudio train    train a tokenizer on text and export it
  tokstudio count    count the words of texts, to train later or elsewhere
  tokstudio encode   turn text into token ids
  tokstudio decode   turn token ids into text
  tokstudio convert  write a tokenizer's files in another format, and prove that they encode the same
  tokstudio inspect  show what a tokenizer's files or a project contain
  tokstudio compare  compare tokenizers on texts, by bytes per token and other figures
  tokstudio report   write all about tokenizers and texts to a page for a browser

Each has its own --help. To open a file with the name of a command, write ./train.
"""

_TRAIN_TEXT = """\
Trains a tokenizer on text. Set a vocabulary size, a minimum frequency, or both.
If it is interrupted or the terminal is closed, it exports what it has trained so far.
If an export fails, the run is saved beside it as NAME.tokstudio, for the window and for convert.
"""

_COUNT_TEXT = """\
Counts the words (pre-tokens) of texts and writes a table, on which train --counts trains as on the texts. The texts are
read one after another and not kept, so they may be larger than the memory. The same texts, settings and versions give
the same bytes, however they were counted.
"""

_COMPARE_TEXT = """\
Compares tokenizers on texts: a table with a row for each text and a column for each tokenizer.
A dash stands where a text is empty or a tokenizer cannot encode it; the reason is printed.
"""

_REPORT_TEXT = """\
Writes a page about tokenizers and what they make of texts: settings, the curve of compression, all figures with their
formulas, tokens that are unreachable, unused or cut characters, versions and hashes. The page is one file that loads
nothing and runs nothing.
"""

_NAMES = "its name, which uses the network: hf:OWNER/REPOSITORY[@REVISION] or tiktoken:ENCODING"


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments after the program's name; `command` is the first of them, or None for the window.

    Raises:
        SystemExit: They are wrong, or help was asked for; the message has been printed.
    """
    command = words[0] if words and words[0] in _COMMANDS else None
    arguments = _COMMANDS[command](words[1:]) if command else _window(words)
    arguments.command = command
    return arguments


def _window(words: Sequence[str]) -> argparse.Namespace:
    parser = new_parser("tokstudio", _WINDOW_TEXT)
    parser.add_argument("files", nargs="*", metavar="FILE", type=Path, help="a text, a folder, or a project to open")
    parser.add_argument("--demo", action="store_true", help="open on a sample corpus and train on it")
    parser.add_argument(
        "--screenshot", metavar="PNG", type=Path, help="with --demo: save a picture of the window, and quit"
    )
    parser.add_argument("--new-window", action="store_true", help="open a new window, even if one is already open")
    parser.add_argument(
        "--reset-settings",
        action="store_true",
        help="reset the layout, appearance, recent files and all other settings",
    )
    parser.add_argument("--log-file", metavar="FILE", type=Path, help="append the program's log to FILE")
    parser.add_argument("--version", action="version", version=f"tokstudio {__version__}")
    arguments = parser.parse_args(words)
    if arguments.screenshot and not arguments.demo:
        parser.error("--screenshot needs --demo")
    if arguments.demo and arguments.files:
        parser.error("--demo opens its own text: give no files with it")
    if words and words[0].isalpha() and not Path(words[0]).exists():
        parser.error(f"{words[0]} is neither a command ({', '.join(_COMMANDS)}) nor a file in this folder")
    return arguments


def _train(words: Sequence[str]) -> argparse.Namespace:
    parser = new_parser("tokstudio train", _TRAIN_TEXT)
    parser.epilog = EXIT_CODES
    _add_corpus(parser)
    _add_limits(parser)
    _add_tokens(parser)
    _add_results(parser)
    arguments = parser.parse_args(words)
    if not arguments.files and not arguments.counts:
        parser.error("the following arguments are required: FILE or --counts")
    if arguments.sample_bytes is not None and arguments.sample_bytes < 1:
        parser.error("--sample-bytes must be at least 1")
    if arguments.sample_bytes is not None and arguments.counts:
        parser.error("--sample-bytes is for texts: a sample of word counts would not keep their proportions")
    if arguments.files.count("-") > 1:
        parser.error("standard input can be read only once")
    return arguments


def _add_corpus(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("corpus").add_argument
    add("files", nargs="*", metavar="FILE", help="a text, a data set, a folder of them, or - for standard input")
    add(
        "--counts",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a table of tokstudio count, whose pattern, special tokens and --documents are taken over, or a file of "
        "pre-tokens and counts, with a pre-token, a tab and its count on each line, or a JSON value such as "
        '["the", 12]; alone or after the texts; may be repeated',
    )
    add_documents(add, None)
    add(
        "--sample-bytes",
        type=whole,
        metavar="N",
        help="if memory is short: train on about N bytes, in whole lines from all parts of the texts",
    )
    add_encoding(add)
    add_reading(parser)
    add(
        "--weight",
        action="append",
        default=[],
        type=_weight,
        metavar="NAME=W",
        help="how much a text counts, such as de.txt=3 or de.txt=0.5, from 0 to 1000 (default: 1); NAME is that of a "
        "file or a folder, or a number from 0 in their order; may be repeated",
    )
    add(
        "--held-out",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="hold this share of the text, such as 0.1, out of training and report how well it is compressed",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("limits and merging").add_argument
    add("--vocab-size", type=whole, metavar="N", help="stop when there are N tokens, base and special tokens included")
    add("--min-frequency", type=whole, metavar="N", help="stop when no pair occurs N times")
    add("--tie-break", choices=_TIE_BREAKS, default="first", help="which of the most frequent pairs is merged first")
    add("--max-token-bytes", type=whole, metavar="N", help="make no token longer than N bytes")
    add(
        "--pattern",
        metavar="NAME|REGEX",
        help=f"how text is split before merging: {', '.join(PATTERNS)}, or a regular expression of your own (default: "
        "none, which lets merges cross spaces)",
    )
    add("--force", action="store_true", help="train even if there is probably too little memory")


def _add_tokens(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("base and special tokens").add_argument
    add("--base", choices=_BASES, default="bytes", help="the units that merging begins with")
    add(
        "--base-vocabulary",
        type=Path,
        metavar="FILE",
        help="with --base characters: the base tokens in the order of their ids, as a JSON list or one per line, where "
        r"\n, \r, \t and \\ are a line feed, a carriage return, a tab and a backslash; an entry of several characters "
        "is a special token",
    )
    add("--unknown-token", metavar="TOKEN", help="with --base characters: the special token for other characters")
    add_special(add)
    add(
        "--special-placement", choices=_PLACEMENTS, default="last", help="give special tokens the last ids or the first"
    )


def _add_results(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("output").add_argument
    add(
        "--export",
        action="append",
        default=[],
        type=_export_target,
        metavar="FORMAT=PATH",
        help=f"write the tokenizer: {', '.join(_EXPORTS)}; PATH is a file, or a folder for formats of several files; "
        "may be repeated",
    )
    add("--accept-loss", action="store_true", help="export even if a format loses part of the tokenizer")
    add("--json", action="store_true", help="print the result as one JSON object")
    add("--print-merges", action="store_true", help="print each merge as it is made (with --json to standard error)")
    add_quiet(parser)


def _count(words: Sequence[str]) -> argparse.Namespace:
    parser = new_parser("tokstudio count", _COUNT_TEXT)
    parser.epilog = EXIT_CODES
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="a text, a data set, or a folder of them")
    add("--out", type=Path, required=True, metavar="FILE", help="the table to write, a Parquet file")
    add(
        "--pattern",
        required=True,
        metavar="NAME|REGEX",
        help=f"how text is split into words: {', '.join(PATTERNS[1:])}, or a regular expression of your own",
    )
    add_special(add)
    add_documents(add)
    add_encoding(add)
    add_reading(parser)
    add(
        "--dask",
        metavar="local|ADDRESS",
        help="count on a Dask cluster whose workers see the same files, such as tcp://10.0.0.1:8786; local starts a "
        "worker per core here (needs tokstudio[dask])",
    )
    add("--json", action="store_true", help="print the result as one JSON object")
    add_quiet(parser)
    return parser.parse_args(words)


def _encode(words: Sequence[str]) -> argparse.Namespace:
    parser = new_parser(
        "tokstudio encode", "Turns text into token ids and prints them as a JSON list. A file is encoded byte for byte."
    )
    parser.add_argument(
        "--allow-special",
        action="append",
        default=[],
        metavar="all|TOKEN",
        help="encode this special token, or all of them, as their ids; other special tokens are plain text; "
        "may be repeated",
    )
    return _parse_coding(
        parser,
        words,
        file_help="a file to encode (default: standard input, also -)",
        text_help="encode TEXT",
        out_help="write the ids to FILE: NAME.npy as a NumPy array (uint16 if the whole vocabulary fits, else uint32), "
        "any other name as a JSON list",
    )


def _decode(words: Sequence[str]) -> argparse.Namespace:
    parser = new_parser(
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


def _convert(words: Sequence[str]) -> argparse.Namespace:
    parser = new_parser(
        "tokstudio convert",
        "Writes a tokenizer's files in another format. The library that owns the format reads them back and must\n"
        "give the same ids. Losses are reported before anything is written.",
    )
    add = parser.add_argument
    add("source", metavar="IN", type=Path, help=f"the tokenizer's file, its folder, {_NAMES}, or a project")
    add("target", metavar="OUT", type=Path, help="a file, or a folder where the format has several files")
    add("--format", choices=_EXPORTS, required=True, help="the format to write")
    add_pattern(parser)
    add("--run", metavar="NAME", help="for a project: the run to convert")
    add("--merges", type=whole, metavar="N", help="only the first N merges")
    add("--close-gaps", action="store_true", help="renumber the tokens to close gaps between ids")
    add("--accept-loss", action="store_true", help="write even if the format loses part of the tokenizer")
    add(
        "--sample", metavar="FILE", type=Path, help="a text to test the files with, in addition to a built-in hard text"
    )
    add("--report", metavar="FILE", type=Path, help="write a report with the proof to FILE")
    add("--json", action="store_true", help="print the report as one JSON object")
    add_quiet(parser)
    return parser.parse_args(words)


def _inspect(words: Sequence[str]) -> argparse.Namespace:
    parser = new_parser("tokstudio inspect", "Shows what a tokenizer's files or a project contain.")
    parser.add_argument(
        "path", metavar="PATH|NAME", type=Path, help=f"the tokenizer's file, its folder, {_NAMES}, or a project"
    )
    add_pattern(parser)
    parser.add_argument("--json", action="store_true", help="print it as one JSON object")
    add_quiet(parser)
    return parser.parse_args(words)


def _compare(words: Sequence[str]) -> argparse.Namespace:
    parser = new_parser("tokstudio compare", _COMPARE_TEXT)
    _add_compared(parser)
    add = parser.add_argument_group("output").add_argument
    add(
        "--figure",
        action="append",
        choices=_FIGURES,
        metavar="NAME",
        help=f"a figure to show: {', '.join(_FIGURES)}; may be repeated (default: bytes_per_token; for --json and "
        "--csv all that have a number)",
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print everything as one JSON object")
    forms.add_argument("--markdown", action="store_true", help="print tables in Markdown")
    forms.add_argument("--csv", type=Path, metavar="FILE", help="write a table to FILE instead of printing it")
    add_quiet(parser)
    return _checked_compared(parser, words)


def _report(words: Sequence[str]) -> argparse.Namespace:
    parser = new_parser("tokstudio report", _REPORT_TEXT)
    _add_compared(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the page to write, such as a.html")
    add_quiet(parser)
    return _checked_compared(parser, words)


def _add_compared(parser: argparse.ArgumentParser) -> None:
    """Adds tokenizers and texts."""
    parser.epilog = EXIT_CODES
    add = parser.add_argument
    add(
        "tokenizers",
        nargs="+",
        metavar="TOKENIZER",
        help="a file, a folder, a project (all its runs), or a name: hf:OWNER/REPOSITORY[@REVISION] or "
        "tiktoken:ENCODING (uses the network); bytes, characters and words are simple tokenizers for comparison",
    )
    add("--texts", nargs="+", required=True, metavar="FILE", help="texts, data sets, or folders of them")
    add(
        "--parallel",
        action="store_true",
        help="the texts are one folder or table with the same lines in several languages, which are encoded one by "
        "one; the options on how files are read are not for it",
    )
    add(
        "--base",
        metavar="TEXT",
        help="the text that premiums relate to: a language or the name of a file (default with --parallel: English); "
        "the others need as many lines",
    )
    add(
        "--against",
        metavar="TOKENIZER",
        help="the tokenizer that normalised_length relates to, one of those that are compared (default: the first)",
    )
    add_documents(add, None)
    add_encoding(add)
    add_pattern(parser)
    add_reading(parser)


def _checked_compared(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    arguments = parser.parse_args(words)
    if arguments.texts.count("-") > 1:
        parser.error("standard input can be read only once")
    if arguments.parallel and len(arguments.texts) > 1:
        parser.error("--parallel reads one folder or one table")
    for name in _NOT_PARALLEL if arguments.parallel else ():
        if getattr(arguments, name) != parser.get_default(name):
            parser.error(f"--{name.replace('_', '-')} is not for --parallel, where each line is a document")
    return arguments


_COMMANDS = {
    "train": _train,
    "count": _count,
    "encode": _encode,
    "decode": _decode,
    "convert": _convert,
    "inspect": _inspect,
    "compare": _compare,
    "report": _report,
}


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
        help=f"the tokenizer's file, or the folder it is in, or {_NAMES}",
    )
    add_pattern(parser)
    parser.add_argument("--out", metavar="FILE", type=Path, help=out_help)
    add_quiet(parser)
    arguments = parser.parse_args(words)
    if arguments.text is not None and arguments.file is not None:
        parser.error("give either --text or a file")
    return arguments


def _weight(text: str) -> tuple[str, float]:
    name, sign, number = text.rpartition("=")
    try:
        if not sign or not name:
            raise ValueError(text)
        return name, float(number)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not NAME=W, such as de.txt=3') from None


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number, such as 0.1') from None


def _export_target(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    if not name or not path:
        raise argparse.ArgumentTypeError(f'"{text}" is not FORMAT=PATH, such as huggingface=tokenizer.json')
    if name not in _EXPORTS:
        raise argparse.ArgumentTypeError(f'format "{name}" is unknown; choose one of: {", ".join(_EXPORTS)}')
    return name, Path(path)
