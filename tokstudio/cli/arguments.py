"""What can be asked for on the command line; doing it is left to the commands."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from tokstudio import __version__
from tokstudio.cli.terminal import put
from tokstudio.core.messages import printable

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

# The core's own lists would bring NumPy with them; a test holds these against them.
_PATTERNS = ("none", "whitespace", "gpt2", "cl100k", "llama3", "qwen2", "o200k")
_BASES = ("bytes", "characters")
_PLACEMENTS = ("last", "first")
_TIE_BREAKS = ("first", "lowest-id", "huggingface", "bytes")
_EXPORTS = (
    "huggingface", "classic", "gpt2", "tiktoken", "minbpe", "sentencepiece", "merges-csv", "merges-jsonl",
    "vocabulary-csv",
)  # fmt: skip

_WINDOW_TEXT = """\
Opens the window, with the given texts in it. Other commands do without one:

  tokstudio train    train a tokenizer on text and export it
  tokstudio encode   turn text into token ids
  tokstudio decode   turn token ids into text
  tokstudio convert  write a tokenizer's files in another format, and prove that they mean the same
  tokstudio inspect  say what a tokenizer's files or a project hold

Each has its own --help. To open a file that is called like a command, write ./train.
"""

_TRAIN_TEXT = """\
Trains a tokenizer on text. Set a vocabulary size, a minimum frequency, or both.
Interrupted, or when the terminal is closed, it keeps and exports what it has trained so far.
If an export fails, the run is kept beside it as NAME.tokstudio, for the window and for convert.
"""

_EXIT_CODES = """\
exit codes: 0 done, 1 an error, which one sentence says, 2 wrong usage; ended by a closed terminal 129, by Ctrl+C 130,
by a request to terminate 143
"""

_SPECIAL_WORDS = "write a value that begins with a dash as --special=-x-"


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Understands the arguments after the program's name.

    Returns:
        Its `command` is the first word if that is a command, else None for the window; the rest depends on it.

    Raises:
        SystemExit: They are wrong, or help was asked for; what there is to say has been said.
    """
    command = words[0] if words and words[0] in _COMMANDS else None
    arguments = _COMMANDS[command](words[1:]) if command else _window(words)
    arguments.command = command
    return arguments


def _window(words: Sequence[str]) -> argparse.Namespace:
    parser = _parser("tokstudio", _WINDOW_TEXT)
    parser.add_argument("files", nargs="*", metavar="FILE", type=Path, help="a text, a folder, or a project to open")
    parser.add_argument("--demo", action="store_true", help="open on a sample corpus and train on it")
    parser.add_argument(
        "--screenshot", metavar="PNG", type=Path, help="with --demo: save a picture of the window, and quit"
    )
    parser.add_argument(
        "--new-window", action="store_true", help="open a window of its own, where files go to the one that is open"
    )
    parser.add_argument(
        "--reset-settings", action="store_true", help="forget layout, looks, recent files and all else that is set"
    )
    parser.add_argument("--log-file", metavar="FILE", type=Path, help="add what happens inside of the program to FILE")
    parser.add_argument("--version", action="version", version=f"tokstudio {__version__}")
    arguments = parser.parse_args(words)
    if arguments.screenshot and not arguments.demo:
        parser.error("--screenshot needs --demo")
    if arguments.demo and arguments.files:
        parser.error("--demo brings its own text: give no files with it")
    return arguments


def _train(words: Sequence[str]) -> argparse.Namespace:
    parser = _parser("tokstudio train", _TRAIN_TEXT)
    parser.epilog = _EXIT_CODES
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
        parser.error("standard input can be read once only")
    return arguments


def _add_corpus(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("the corpus").add_argument
    add("files", nargs="*", metavar="FILE", help="a text, a folder of texts, or - for standard input")
    add(
        "--counts",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="pre-tokens and how often each occurs, alone or behind the texts: a line is a pre-token, a tab and its "
        'count, or a JSON value such as ["the", 12]; may be repeated',
    )
    add("--documents", choices=("file", "line"), default="file", help="what a document is; merges never cross one")
    add(
        "--sample-bytes",
        type=_whole,
        metavar="N",
        help="train on about N bytes of the texts, whole lines from all over them, where memory is short",
    )
    add(
        "--encoding",
        metavar="NAME",
        help="how the files are written, such as utf-8; detected if not given; bytes reads binary files too",
    )
    add(
        "--held-out",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="keep this share of the text, such as 0.1, out of training, and say how well it is compressed",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("when to stop, and what to merge").add_argument
    add("--vocab-size", type=_whole, metavar="N", help="stop when there are N tokens, base and special tokens included")
    add("--min-frequency", type=_whole, metavar="N", help="stop when no pair occurs N times")
    add("--tie-break", choices=_TIE_BREAKS, default="first", help="which of the most frequent pairs is merged first")
    add("--max-token-bytes", type=_whole, metavar="N", help="make no token longer than N bytes")
    add(
        "--pattern",
        default="none",
        metavar="NAME|REGEX",
        help=f"how text is split before merging: {', '.join(_PATTERNS)}, or a regular expression of your own; none, if "
        "not given, lets merges cross spaces",
    )
    add("--force", action="store_true", help="train even if there is likely too little memory")


def _add_tokens(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("the tokens that are not merged").add_argument
    add("--base", choices=_BASES, default="bytes", help="what merging begins with")
    add(
        "--base-vocabulary",
        type=Path,
        metavar="FILE",
        help="for characters: the base tokens in the order of their ids, as a JSON list or one a line, where "
        r"\n, \r, \t and \\ are a line feed, a carriage return, a tab and a backslash; an entry of several characters "
        "is a special token",
    )
    add("--unknown-token", metavar="TOKEN", help="for characters: the special token for those not in the vocabulary")
    add(
        "--special",
        action="append",
        default=[],
        metavar="TOKEN",
        help=f"a text that gets an id of its own and is never merged; may be repeated; {_SPECIAL_WORDS}",
    )
    add(
        "--special-placement",
        choices=_PLACEMENTS,
        default="last",
        help="whether special tokens have the last ids or the first",
    )


def _add_results(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what comes of it").add_argument
    add(
        "--export",
        action="append",
        default=[],
        type=_export_target,
        metavar="FORMAT=PATH",
        help=f"write the tokenizer: {', '.join(_EXPORTS)}; PATH is a file, or a folder for those of several files; "
        "may be repeated",
    )
    add("--accept-loss", action="store_true", help="export even where a format cannot hold all of the tokenizer")
    add("--json", action="store_true", help="print how it went as one JSON object")
    add("--print-merges", action="store_true", help="print each merge as it is made (with --json to standard error)")
    _add_quiet(parser)


def _encode(words: Sequence[str]) -> argparse.Namespace:
    parser = _parser(
        "tokstudio encode",
        "Turns text into token ids and prints them as a JSON list. A file is taken byte by byte as it is.",
    )
    parser.add_argument(
        "--allow-special",
        action="append",
        default=[],
        metavar="all|TOKEN",
        help="give this special token its id where it stands in the text, or all of them; else they are plain text; "
        "may be repeated",
    )
    return _parse_coding(
        parser,
        words,
        file_help="a file to encode; - or nothing: standard input",
        text_help="encode TEXT",
        out_help="write the ids there: NAME.npy as a NumPy array (uint16 if the whole vocabulary fits, else uint32), "
        "any other name as a JSON list",
    )


def _decode(words: Sequence[str]) -> argparse.Namespace:
    parser = _parser(
        "tokstudio decode",
        "Turns token ids into exactly the bytes they stand for. Ids are a JSON list, separated by white space, or\n"
        "a NumPy array.",
    )
    return _parse_coding(
        parser,
        words,
        file_help="a file of ids; - or nothing: standard input",
        text_help="decode the ids in TEXT",
        out_help="write the bytes there",
    )


def _convert(words: Sequence[str]) -> argparse.Namespace:
    parser = _parser(
        "tokstudio convert",
        "Writes a tokenizer's files in another format. The library that owns the format reads them back and must\n"
        "give the same ids; what the format cannot hold is said before anything is written.",
    )
    add = parser.add_argument
    add("source", metavar="IN", type=Path, help="the tokenizer's file, its folder, or a project")
    add("target", metavar="OUT", type=Path, help="a file, or a folder where the format has several files")
    add("--format", choices=_EXPORTS, required=True, help="what to write")
    _add_pattern(parser)
    add("--run", metavar="NAME", help="of a project: which of its runs")
    add("--merges", type=_whole, metavar="N", help="only the first N merges")
    add("--close-gaps", action="store_true", help="number the tokens anew where ids are not in use")
    add("--accept-loss", action="store_true", help="write what the format can hold, where that is not all")
    add("--sample", metavar="FILE", type=Path, help="a text to prove the files with, besides one made to be hard")
    add("--report", metavar="FILE", type=Path, help="write what was done and proved there")
    add("--json", action="store_true", help="print the report as one JSON object")
    _add_quiet(parser)
    return parser.parse_args(words)


def _inspect(words: Sequence[str]) -> argparse.Namespace:
    parser = _parser("tokstudio inspect", "Says what a tokenizer's files hold, or a project.")
    parser.add_argument("path", metavar="PATH", type=Path, help="the tokenizer's file, its folder, or a project")
    _add_pattern(parser)
    parser.add_argument("--json", action="store_true", help="print it as one JSON object")
    _add_quiet(parser)
    return parser.parse_args(words)


_COMMANDS = {"train": _train, "encode": _encode, "decode": _decode, "convert": _convert, "inspect": _inspect}


def _parse_coding(
    parser: argparse.ArgumentParser, words: Sequence[str], file_help: str, text_help: str, out_help: str
) -> argparse.Namespace:
    parser.add_argument("file", nargs="?", metavar="FILE", help=file_help)
    parser.add_argument("--text", metavar="TEXT", help=text_help)
    parser.add_argument(
        "--tokenizer", metavar="PATH", type=Path, required=True, help="the tokenizer's file, or the folder it is in"
    )
    _add_pattern(parser)
    parser.add_argument("--out", metavar="FILE", type=Path, help=out_help)
    _add_quiet(parser)
    arguments = parser.parse_args(words)
    if arguments.text is not None and arguments.file is not None:
        parser.error("give either --text or a file")
    return arguments


class _Parser(argparse.ArgumentParser):
    """Says completely what it has to say, or raises; argparse takes no notice of a full disk."""

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        if file is sys.stdout:
            put(sys.stdout, message)
        else:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        """Says what is wrong; an argument may be the name of a file."""
        super().error(printable(message))


def _parser(program: str, text: str) -> argparse.ArgumentParser:
    return _Parser(program, description=text, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)


def _add_pattern(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pattern",
        metavar="NAME|REGEX",
        help=f"how the tokenizer splits text, where its files cannot say it: {', '.join(_PATTERNS)}, or a regular "
        "expression",
    )


def _add_quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quiet", "-q", action="store_true", help="say nothing but errors")


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number') from None


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
        raise argparse.ArgumentTypeError(f'format "{name}" is not known; known: {", ".join(_EXPORTS)}')
    return name, Path(path)
