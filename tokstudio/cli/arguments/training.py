"""The arguments of `train`, `extend` and `count`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from tokstudio.cli.arguments.parser import (
    ALGORITHMS,
    EXIT_CODES,
    PATTERNS,
    RULES,
    TIE_BREAKS,
    add_documents,
    add_encoding,
    add_exports,
    add_old,
    add_proof,
    add_quiet,
    add_reading,
    add_special,
    new_parser,
    number,
    whole,
)

# --- The arguments of `train` for training by other libraries ---------------------------------------------------------

# A copy of the core's list, whose import would load NumPy; a test compares them.
LIBRARY_ALGORITHMS = ("unigram", "wordpiece", "sentencepiece-bpe", "sentencepiece-unigram")

_TITLE = "training by another library"
_TEXT = """\
--algorithm unigram and wordpiece train by the tokenizers library, sentencepiece-bpe and sentencepiece-unigram by the
sentencepiece library, line by line, in a process of its own. Export them as huggingface, or as sentencepiece. They need
--vocab-size, and take --special, --unknown-token, --weight in whole numbers and --held-out; wordpiece --min-frequency.
"""
# The arguments with a meaning for a library, beside those below.
_COMMON = frozenset(
    {
        *("algorithm", "command", "files", "vocab_size", "special", "unknown_token", "min_frequency", "held_out"),
        *("documents", "sample_bytes", "encoding", "weight", "field", "split_by", "join_values", "delimiter"),
        *("as_text", "min_document_chars", "max_document_chars", "max_bytes", "deduplicate", "keep_truncated"),
        *("force", "export", "accept_loss", "json", "quiet"),
    }
)
_ONLY_HERE = {
    "continuing_prefix": "wordpiece",
    "character_coverage": "sentencepiece-bpe or sentencepiece-unigram",
    "byte_fallback": "sentencepiece-bpe or sentencepiece-unigram",
}
_REASONS = {
    "pattern": "its library splits text by its own rules",
    "counts": "its library counts in lines of text, which it splits itself: give texts",
    "tie_break": "its library has its own rule",
    "base": "its library begins with the characters of the text",
    "base_vocabulary": "its library begins with the characters of the text",
    "special_placement": "its library gives them the first ids",
    "print_merges": "its library does not tell what it does",
    "project": "its library's own file holds the tokenizer: use --export",
}


def add_library(parser: argparse.ArgumentParser) -> None:
    """Adds the settings that only other libraries have."""
    add = parser.add_argument_group(_TITLE, _TEXT).add_argument
    add(
        "--continuing-prefix",
        metavar="TEXT",
        help="for wordpiece: what tokens inside a word begin with (default: ##)",
    )
    add(
        "--character-coverage",
        type=number,
        metavar="SHARE",
        help="for sentencepiece: the share of characters that get a token, from 0.98 to 1 (default: 0.9995)",
    )
    add(
        "--byte-fallback",
        action="store_true",
        help="for sentencepiece: write characters without a token as bytes, which take 256 tokens",
    )


def check_library(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments; ends with an error where one has no meaning for the algorithm."""
    algorithm: str = arguments.algorithm
    by_library = algorithm in LIBRARY_ALGORITHMS
    for name, value in vars(arguments).items():
        if name in _COMMON or value == parser.get_default(name):
            continue
        option = f"--{name.replace('_', '-')}"
        if not by_library and name in _ONLY_HERE:
            parser.error(f"{option} is only for --algorithm {_ONLY_HERE[name]}")
        if by_library and name not in _ONLY_HERE:
            reason = _REASONS.get(name, "its library has no such setting")
            parser.error(f"{option} is not for --algorithm {algorithm}: {reason}")
    if by_library and arguments.vocab_size is None:
        parser.error(f"--algorithm {algorithm} needs --vocab-size")
    return arguments


# Copies of the core's lists, whose import would load NumPy; a test compares them.
_BASES = ("bytes", "characters")

_PLACEMENTS = ("last", "first")

_TRAIN_TEXT = """\
Trains a tokenizer on text. Set a vocabulary size, a minimum frequency, or both.
If it is interrupted or the terminal is closed, it exports what it has trained so far.
If an export fails, the run is saved beside it as NAME.tokstudio, for the window and for convert.
"""

_EXTEND_TEXT = """\
Trains a tokenizer further on text, such as one in a language it has few tokens for. Its tokens keep their ids, and its
merges come first as they are. New tokens get the ids after the highest, or those of reserved special tokens (--fill).
Then it proves, point by point, what stayed the same; if a point fails, nothing is exported.
"""

_COUNT_TEXT = """\
Counts the words (pre-tokens) of texts and writes a table, on which train --counts trains as on the texts. The texts are
read one after another and not kept, so they may be larger than the memory. The same texts, settings and versions give
the same bytes, however they were counted.
"""


def train(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `train`."""
    parser = new_parser("tokstudio train", _TRAIN_TEXT, EXIT_CODES)
    _add_corpus(parser)
    _add_limits(parser)(
        "--pattern",
        metavar="NAME|REGEX",
        help=f"how text is split before merging: {', '.join(PATTERNS)}, or a regular expression of your own (default: "
        "none, which lets merges cross spaces)",
    )
    add = _add_parity(parser)
    _add_superbpe(add)
    _add_picky(add)
    _add_tokens(parser)
    add_library(parser)
    _add_results(parser)(
        "--project",
        type=_project_file,
        metavar="FILE",
        help="save the run, without its texts, as a new project NAME.tokstudio, which the window and other commands "
        "open; the one form that holds every algorithm",
    )
    return check_library(parser, _checked(parser, parser.parse_args(words)))


def extend(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `extend`."""
    parser = new_parser("tokstudio extend", _EXTEND_TEXT, EXIT_CODES)
    add = add_old(parser)
    add("--merges", type=whole, metavar="K", help="start from its first K merges only")
    add(
        "--fill",
        action="extend",
        nargs="+",
        default=[],
        metavar="TOKEN",
        help="give the ids of these reserved special tokens to the first new tokens",
    )
    _add_corpus(parser)
    _add_limits(parser)
    add_proof(parser)
    _add_results(parser)
    parser.set_defaults(project=None)
    return _checked(parser, parser.parse_intermixed_args(words))


def _checked(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments; ends with an error where those of the corpus do not fit together."""
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
    add_reading(parser, joins=True)
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
        type=number,
        default=0.0,
        metavar="SHARE",
        help="hold this share of the text, such as 0.1, out of training and report how well it is compressed",
    )


def _add_limits(parser: argparse.ArgumentParser) -> Callable[..., object]:
    """Adds the limits; returns what adds others to them."""
    add = parser.add_argument_group("limits and merging").add_argument
    add("--vocab-size", type=whole, metavar="N", help="stop when there are N tokens, base and special tokens included")
    add("--min-frequency", type=whole, metavar="N", help="stop when no pair occurs N times")
    add(
        "--tie-break",
        choices=TIE_BREAKS,
        help="which of the most frequent pairs is merged first (default: first; for parity: mapped-strings); "
        "picky has its own, the smallest bytes",
    )
    add("--max-token-bytes", type=whole, metavar="N", help="make no token longer than N bytes")
    add(
        "--forbid",
        action="append",
        default=[],
        metavar="RULE",
        help=f"make no token of this kind: {', '.join(RULES)}, token:TEXT for this one, bytes:HEX for these bytes, or "
        "a regular expression that matches anywhere in it; may be repeated",
    )
    return add


def _add_parity(parser: argparse.ArgumentParser) -> Callable[..., object]:
    """Adds the choice of the algorithm and the settings of parity; returns what adds those of others."""
    add = parser.add_argument_group("algorithm").add_argument
    add(
        "--algorithm",
        choices=ALGORITHMS + LIBRARY_ALGORITHMS,
        default="bpe",
        help="bpe; parity for parity-aware BPE: each text is a language, and at every merge the language that is "
        "longest in tokens chooses; superbpe for SuperBPE: BPE with --pattern to --transition, then across words; "
        "whole-characters: no token has a part of a character beside anything else; boundless for BoundlessBPE: BPE "
        "with --pattern, and supermerges of adjacent words where these are more frequent; or picky for Picky BPE: it "
        "removes tokens that are hardly used apart from a merge",
    )
    add(
        "--parallel",
        action="append",
        default=[],
        type=_parallel,
        metavar="NAME=FILE",
        help="for parity: the same text in each language, which is measured; NAME is that of a text, such as de or "
        "de.txt; repeated for each. A text without one, such as code, is counted but never chooses. Without any, the "
        "language with the fewest bytes per token chooses",
    )
    add(
        "--ratios",
        action="append",
        default=[],
        type=_ratio,
        metavar="NAME=R",
        help="for parity without --parallel: divide the bytes per token of a language by R, so that it chooses more "
        "often if R is above 1; may be repeated",
    )
    add(
        "--global-merges",
        type=whole,
        default=0,
        metavar="J",
        help="for parity: all languages choose the first J merges together",
    )
    add(
        "--window",
        type=whole,
        metavar="W",
        help="for parity: pass over a language that made too many of the last W choices, such as 100",
    )
    add("--alpha", type=number, default=2.0, metavar="A", help="with --window: more than A / languages are too many")
    return add


def _add_superbpe(add: Callable[..., object]) -> None:
    add(
        "--transition",
        type=whole,
        metavar="N",
        help="for superbpe: the first stage ends at N tokens, base and special tokens included",
    )
    add(
        "--second-pattern",
        default="",
        metavar="NAME|REGEX",
        help="for superbpe: how the second stage and the tokenizer split text, a name or a regular expression; what "
        "lies between two matches stays together (default: that of the paper, which splits at numbers, several marks, "
        "and spaces before a space)",
    )
    add(
        "--max-words",
        type=whole,
        default=4,
        metavar="N",
        help="for superbpe: the second stage makes no token of more than N words between spaces (default: 4), nor one "
        "with a colon before a space",
    )


def _add_picky(add: Callable[..., object]) -> None:
    add(
        "--threshold",
        type=number,
        default=0.9,
        metavar="T",
        help="for picky: remove a part of a merge where more than this share of its occurrences was merged, from 0 "
        "to 1 (default: 0.9)",
    )


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


def _add_results(parser: argparse.ArgumentParser) -> Callable[..., object]:
    """Adds the exports and what is printed; returns what adds other results."""
    add = add_exports(parser, "train even if there is probably too little memory, and ")
    add("--print-merges", action="store_true", help="print each merge as it is made (with --json to standard error)")
    add_quiet(parser)
    return add


def count(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `count`."""
    parser = new_parser("tokstudio count", _COUNT_TEXT, EXIT_CODES)
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
    add_reading(parser, joins=True)
    add(
        "--dask",
        metavar="local|ADDRESS",
        help="count on a Dask cluster whose workers see the same files, such as tcp://10.0.0.1:8786; local starts a "
        "worker per core here (needs tokstudio[dask])",
    )
    add("--json", action="store_true", help="print the result as one JSON object")
    add_quiet(parser)
    return parser.parse_args(words)


def _weight(text: str) -> tuple[str, float]:
    return _named_number(text, "W, such as de.txt=3")


def _parallel(text: str) -> tuple[str, Path]:
    name, sign, file = text.partition("=")
    if not (name and sign and file):
        raise argparse.ArgumentTypeError(f'"{text}" is not NAME=FILE, such as de=parallel/de.txt')
    return name, Path(file)


def _ratio(text: str) -> tuple[str, float]:
    return _named_number(text, "R, such as hi=2.5")


def _named_number(text: str, form: str) -> tuple[str, float]:
    name, sign, value = text.rpartition("=")
    if sign and name:
        try:
            return name, number(value)
        except argparse.ArgumentTypeError:
            if "," in value:
                raise
    raise argparse.ArgumentTypeError(f'"{text}" is not NAME={form}')


def _project_file(text: str) -> Path:
    path = Path(text)
    if path.suffix != ".tokstudio":
        raise argparse.ArgumentTypeError(f'"{text}" must end in .tokstudio')
    return path
