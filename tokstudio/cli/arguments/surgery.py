"""The arguments of `prune`, `join`, `renumber` and `specials`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tokstudio.cli.arguments import parser as shared

# A copy of the core's list, whose import would load NumPy; a test compares them.
ROLES = ("bos", "eos", "unk", "pad", "sep", "cls", "mask")

_PRUNE_TEXT = """\
Removes tokens, the least used first. A token stays while another one that stays is made of it; bytes and special tokens
always stay. So the result encodes text like the old tokenizer wherever the removed tokens do not occur.
"""

_JOIN_TEXT = """\
Adds the tokens of another tokenizer that this one lacks, in their order, with ids after its highest. Its own merges
come first, and its pattern and special tokens stay. Tokens that no text would become are left out.
"""

_RENUMBER_TEXT = "Gives the tokens other ids; text is split into the same tokens as before."

_SPECIALS_TEXT = "Renames special tokens, such as reserved ones, adds new ones, and sets their roles; all ids stay."

_PROVED = "Then it proves, point by point, what stayed the same; if a point fails, nothing is exported.\n"


def prune(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `prune`."""
    parser = _new_parser("prune", _PRUNE_TEXT)
    shared.add_old(parser)
    add = parser.add_argument_group(
        "what to remove (several together: only tokens that all of them allow)"
    ).add_argument
    add("--vocab-size", type=shared.whole, metavar="N", help="stop when N tokens are left")
    add("--least-uses", type=shared.whole, metavar="N", help="remove only tokens with fewer than N uses")
    add(
        "--script",
        action="extend",
        nargs="+",
        metavar="NAME",
        help="remove only tokens with letters of these scripts, such as Cyrillic",
    )
    add(
        "--tokens",
        action="extend",
        nargs="+",
        type=shared.whole,
        metavar="ID",
        help="remove only tokens with these ids",
    )
    add("--keep-ids", action="store_true", help="leave the ids of removed tokens free (default: close the gaps)")
    _add_texts(parser, "those of the run's training, if it has one, else the highest ids are removed first")
    _add_output(parser)
    arguments = parser.parse_intermixed_args(words)
    if all(getattr(arguments, name) is None for name in ("vocab_size", "least_uses", "script", "tokens")):
        parser.error("say what to remove: --vocab-size, --least-uses, --script or --tokens")
    return arguments


def join(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `join`."""
    parser = _new_parser("join", _JOIN_TEXT)
    shared.add_old(parser)
    parser.add_argument(
        "other",
        metavar="OTHER",
        type=Path,
        help=f"the tokenizer with the other tokens: its file, its folder, {shared.NAMES}, or a project with one run",
    )
    _add_output(parser)
    return parser.parse_intermixed_args(words)


def renumber(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `renumber`."""
    parser = _new_parser("renumber", _RENUMBER_TEXT)
    shared.add_old(parser)
    parser.add_argument(
        "--by",
        required=True,
        metavar="rank|use|OTHER",
        help="rank: bytes, then merges in their order; use: the most used first; both put special tokens last. Or "
        f"another tokenizer, to get its ids: its file, its folder, {shared.NAMES}, or a project with one run",
    )
    _add_texts(parser, "those of the run's training, if it has one")
    _add_output(parser)
    return parser.parse_intermixed_args(words)


def specials(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `specials`."""
    parser = _new_parser("specials", _SPECIALS_TEXT)
    shared.add_old(parser)
    add = parser.add_argument_group("special tokens").add_argument
    add(
        "--rename",
        action="extend",
        nargs="+",
        default=[],
        type=_renaming,
        metavar="TOKEN=NAME",
        help='give a special token another text, such as "<|reserved_0|>=<|user|>"',
    )
    add(
        "--add",
        action="extend",
        nargs="+",
        default=[],
        metavar="TOKEN",
        help="add a special token, with the id after the highest",
    )
    add(
        "--role",
        action="extend",
        nargs="+",
        default=[],
        type=_role,
        metavar="ROLE=TOKEN",
        help=f"say what a special token is for, such as pad=<|pad|>; the roles are {', '.join(ROLES)}",
    )
    _add_output(parser)
    arguments = parser.parse_intermixed_args(words)
    if not arguments.rename and not arguments.add and not arguments.role:
        parser.error("say what to change: --rename, --add or --role")
    return arguments


def _new_parser(command: str, text: str) -> argparse.ArgumentParser:
    return shared.new_parser(f"tokstudio {command}", f"{text.rstrip()}\n{_PROVED}", shared.EXIT_CODES)


def _add_texts(parser: argparse.ArgumentParser, default: str) -> None:
    add = parser.add_argument_group("uses").add_argument
    add(
        "--corpus",
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help=f"texts, data sets or folders of them in which the uses of each token are counted (default: {default})",
    )
    shared.add_encoding(add)
    shared.add_reading(parser)


def _add_output(parser: argparse.ArgumentParser) -> None:
    shared.add_proof(parser)
    shared.add_exports(parser)
    shared.add_quiet(parser)


def _renaming(text: str) -> str:
    if "=" not in text[1:-1]:
        raise argparse.ArgumentTypeError(f'"{text}" is not TOKEN=NAME, such as "<|reserved_0|>=<|user|>"')
    return text


def _role(text: str) -> tuple[str, str]:
    role, _, token = text.partition("=")
    if not token or role not in ROLES:
        raise argparse.ArgumentTypeError(f'"{text}" is not ROLE=TOKEN; the roles are {", ".join(ROLES)}')
    return role, token
