"""Parses the arguments of the program: those of a command, or of the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from tokstudio.cli.arguments.coding import convert, decode, encode, export_bytes, inspect
from tokstudio.cli.arguments.comparing import check, compare, diff, engines, infer_mixture, lint, report
from tokstudio.cli.arguments.exploring import explore
from tokstudio.cli.arguments.parser import new_parser
from tokstudio.cli.arguments.surgery import join, prune, renumber, specials
from tokstudio.cli.arguments.training import count, extend, how_much_text, mixture, run, train
from tokstudio.core.base.wording import printable
from tokstudio.version import __version__

_WINDOW_TEXT = """\
Opens the window with the given texts. The other commands work without a window:

  tokstudio train    train a tokenizer on text and export it
  tokstudio run      train what an experiment file says, or check that it still gives the same
  tokstudio mixture  find weights of texts for a goal, such as a worst premium
  tokstudio how-much-text  tell whether more text would change a tokenizer
  tokstudio infer-mixture  tell from merges how much of each text a tokenizer was trained on
  tokstudio count    count the words of texts, to train later or elsewhere
  tokstudio encode   turn text into token ids
  tokstudio decode   turn token ids into text
  tokstudio convert  write a tokenizer's files in another format, and prove that they encode the same
  tokstudio export-bytes  write how many bytes each token stands for
  tokstudio inspect  show what a tokenizer's files or a project contain
  tokstudio compare  compare tokenizers on texts, by bytes per token and other figures
  tokstudio report   write all about tokenizers and texts to a page for a browser
  tokstudio diff     tell what differs between two tokenizers
  tokstudio engines  compare the ids of other libraries
  tokstudio explore  explore texts: their documents, what to leave out, and where tokens are used
  tokstudio lint     check a tokenizer and its files for faults before a model is trained
  tokstudio check    check the merges of a student's training, and name its mistakes

Change a tokenizer, with proof of what stays the same:

  tokstudio extend   train it further, for another language or subject
  tokstudio prune    remove tokens: to a size, rarely used ones, or a script
  tokstudio join     add the tokens of another one
  tokstudio renumber give its tokens other ids
  tokstudio specials rename and add special tokens

Each has its own --help. To open a file with the name of a command, write ./train.
"""

_COMMANDS = {
    "train": train,
    "run": run,
    "mixture": mixture,
    "how-much-text": how_much_text,
    "infer-mixture": infer_mixture,
    "count": count,
    "encode": encode,
    "decode": decode,
    "convert": convert,
    "export-bytes": export_bytes,
    "inspect": inspect,
    "compare": compare,
    "report": report,
    "diff": diff,
    "engines": engines,
    "explore": explore,
    "lint": lint,
    "check": check,
    "extend": extend,
    "prune": prune,
    "join": join,
    "renumber": renumber,
    "specials": specials,
}

_LIKE_A_COMMAND = re.compile(r"[^\W\d_]+([-_][^\W\d_]+)*")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments after the program's name; `command` is the first of them, or None for the window.

    Raises:
        SystemExit: They are wrong, or help was asked for; the message has been printed.
    """
    command = words[0] if words and words[0] in _COMMANDS else None
    if command is None and words:
        _refuse_unknown_command(words)
    arguments = _COMMANDS[command](words[1:]) if command else _window(words)
    arguments.command = command
    return arguments


def _window(words: Sequence[str]) -> argparse.Namespace:
    parser = new_parser("tokstudio", _WINDOW_TEXT)
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        type=Path,
        help="a text, a folder, a tokenizer, a project, or a tokenizer's name (hf:OWNER/REPOSITORY, tiktoken:ENCODING)",
    )
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
    return arguments


def _refuse_unknown_command(words: Sequence[str]) -> None:
    """Ends with an error where the first word is a command that does not exist, for which no help is given either."""
    word = words[0]
    asks_for_help = not {"--help", "-h"}.isdisjoint(words) and not word.startswith("-")
    # The name of a tokenizer has a colon.
    looks_like_one = _LIKE_A_COMMAND.fullmatch(word) or (asks_for_help and ":" not in word)
    if not looks_like_one or Path(word).exists():
        return
    near = get_close_matches(word, _COMMANDS, 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    message = f"{word} is neither a command ({', '.join(_COMMANDS)}) nor a file in this folder{meant}"
    new_parser("tokstudio", "").exit(2, printable(f"tokstudio: error: {message}") + "\n")
