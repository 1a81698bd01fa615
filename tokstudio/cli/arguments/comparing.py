"""The arguments of `compare`, `report`, `diff`, `engines`, `check`, `lint` and `infer-mixture`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from tokstudio.cli.arguments import parser as shared
from tokstudio.core.model.settings import PATTERNS, TIE_RULES

# A copy of the core's list, whose import would load NumPy; a test compares them.
FIGURES = (
    "bytes_per_token", "tokens", "characters_per_token", "tokens_per_line", "fertility", "words_split", "whole_words",
    "premium", "renyi", "renyi_whole", "shannon", "vocabulary_used", "not_utf8", "begins_inside", "normalised_length",
    "characters_cut", "crosses_characters", "number_boundaries", "number_splits", "upper_case", "lower_case",
    "title_case", "no_diacritics", "doubled_spaces", "no_spaces_at_marks", "styled_letters", "typing_errors",
)  # fmt: skip

_NOT_PARALLEL = (
    "documents", "encoding", "field", "split_by", "delimiter", "as_text", "min_document_chars", "max_document_chars",
    "max_bytes", "deduplicate", "keep_truncated",
)  # fmt: skip

_COMPARE_TEXT = """\
Compares tokenizers on texts: a table with a row for each text and a column for each tokenizer.
A dash stands where a text is empty, has nothing that the figure is of, such as numbers, or where a tokenizer cannot
encode it; the reason is printed.
"""

_INFER_TEXT = """\
Estimates from the order of a tokenizer's merges how much of its training text was like each of some texts, such as one
in each language (Hayase et al., arXiv 2407.16607). The intervals tell how much that depends on the choice of these
texts: a tenth of each is left out in turn. Give about 1 MB of each.
"""

_REPORT_TEXT = """\
Writes a page about tokenizers and what they make of texts: settings, the curve of compression, all figures with their
formulas, tokens that are unreachable, unused or cut characters, versions and hashes. The page is one file that loads
nothing and runs nothing.
"""

_DIFF_TEXT = """\
Tells what differs between two tokenizers: ids whose token differs, tokens whose id moved or that only one has, merges,
special tokens and roles, how text is split, and which lines of texts become other ids. Also tells whether A can draft
for B in speculative decoding.
"""

_ENGINES_TEXT = """\
Encodes texts with other libraries beside TokStudio: tokenizers, transformers, tiktoken, sentencepiece and llama.cpp,
each in a process of its own, on the files that were opened or on those of an export. A row for each text: its tokens,
the share of lines with other ids, and tokens of the lines more or less. Below it the first line that differs, and the
cause, found by changing one thing. The first 4 MiB of each text are compared."""
_ENGINES_CODES = "exit codes: 0 all ids are equal, 1 some differ, a library fails or none can be asked, 2 wrong usage"

_DIFF_CODES = "exit codes: 0 nothing differs, 1 something does or it cannot be told, 2 wrong usage"

_CHECK_TEXT = """\
Checks the merges of a student's training: identical, or the first difference, with both counts. Then it names the
mistakes in a training that give exactly this list. The merges may be lines of two tokens, JSON, repr of Python's bytes,
minbpe's models, and pickles of plain lists. Nothing in a file is run.
"""

_LINT_TEXT = """\
Checks a tokenizer and its files before a model is trained with it: errors (ids are wrong, or differ from one program to
another), dangers (special tokens that text can make) and remarks, the worst first, each with an example and what to do.
Chat templates are rendered in a sandbox.
"""

_LINT_CODES = "exit codes: 0 no error was found, 1 there is an error, or it cannot be read, 2 wrong usage"

_CHECK_CODES = "exit codes: 0 all are identical, 1 one differs or cannot be read, 2 wrong usage"


def compare(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `compare`."""
    parser = shared.new_parser("tokstudio compare", _COMPARE_TEXT, shared.EXIT_CODES)
    _add_compared(parser)
    add = parser.add_argument_group("output").add_argument
    add(
        "--figure",
        action="append",
        choices=FIGURES,
        metavar="NAME",
        help=f"a figure to show: {', '.join(FIGURES)}; may be repeated (default: bytes_per_token; for --json and "
        "--csv all that have a number, but those after crosses_characters, which encode the texts once more)",
    )
    _add_intervals(add)
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print everything as one JSON object")
    forms.add_argument("--markdown", action="store_true", help="print tables in Markdown")
    forms.add_argument("--latex", action="store_true", help="print tables in LaTeX, for the package booktabs")
    forms.add_argument("--csv", type=Path, metavar="FILE", help="write a table to FILE instead of printing it")
    shared.add_quiet(parser)
    return _checked_compared(parser, words)


def report(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `report`."""
    parser = shared.new_parser("tokstudio report", _REPORT_TEXT, shared.EXIT_CODES)
    _add_compared(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the page to write, such as a.html")
    _add_intervals(parser.add_argument)
    shared.add_quiet(parser)
    return _checked_compared(parser, words)


def _add_intervals(add: Callable[..., object]) -> None:
    add(
        "--intervals",
        action="store_true",
        help="95 %% intervals of bytes_per_token, tokens_per_line, premium and Gini, by 1,000 resamples of the lines; "
        "a text needs 10 lines",
    )


def diff(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `diff`."""
    parser = shared.new_parser("tokstudio diff", _DIFF_TEXT, _DIFF_CODES)
    add = parser.add_argument
    add("a", metavar="A", help=f"a tokenizer: a file, a folder, {shared.NAMES}, or a project with one run")
    add("b", metavar="B", help="the other one")
    add("--texts", nargs="+", default=[], metavar="FILE", help="texts to encode by both, line by line")
    add("--json", action="store_true", help="print the result as one JSON object")
    shared.add_texts(parser)
    return parser.parse_args(words)


def engines(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `engines`."""
    parser = shared.new_parser("tokstudio engines", _ENGINES_TEXT, _ENGINES_CODES)
    add = parser.add_argument
    add("tokenizer", metavar="TOKENIZER", help=f"a file, a folder, {shared.NAMES}, or a project with one run")
    add("--texts", nargs="+", required=True, metavar="FILE", help="texts to encode, line by line")
    add("--json", action="store_true", help="print the result as one JSON object")
    shared.add_texts(parser)
    return parser.parse_args(words)


def infer_mixture(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `infer-mixture`."""
    parser = shared.new_parser("tokstudio infer-mixture", _INFER_TEXT, shared.EXIT_CODES)
    add = parser.add_argument
    add("tokenizer", type=Path, metavar="TOKENIZER", help=f"a file, a folder, {shared.NAMES}, or a project")
    add(
        "--candidates",
        nargs="+",
        required=True,
        metavar="FILE",
        help="the texts, at least two: files, data sets, folders",
    )
    add("--run", metavar="NAME", help="for a project: the run, where it has several")
    add("--merges", type=shared.whole, default=1000, metavar="N", help="look at the first N merges (default: 1000)")
    add("--no-intervals", action="store_true", help="find the shares alone, which takes a fifth of the time")
    add("--json", action="store_true", help="print the result as one JSON object")
    shared.add_texts(parser)
    return parser.parse_args(words)


def check(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `check`."""
    parser = shared.new_parser("tokstudio check", _CHECK_TEXT, _CHECK_CODES)
    add = parser.add_argument
    add("theirs", nargs="+", type=Path, metavar="THEIRS", help="a file of merges, or a folder with one or with many")
    add("--corpus", nargs="+", required=True, metavar="FILE", help="the text that they were trained on")
    add(
        "--vocab-size",
        type=shared.whole,
        metavar="N",
        help="tokens in all, with bytes and special tokens (default: as many as there are merges)",
    )
    add(
        "--pattern",
        default="gpt2",
        metavar="NAME|REGEX",
        help=f"how the text is split: {', '.join(PATTERNS)}, or a regular expression (default: gpt2)",
    )
    add(
        "--tie-break",
        choices=[*TIE_RULES],
        default="bytes",
        help="which of several pairs with the highest count is merged (default: bytes, the greatest by its bytes)",
    )
    shared.add_special(add)
    shared.add_encoding(add)
    add("--json", action="store_true", help="print an object of JSON; for several submissions, a list of them")
    shared.add_quiet(parser)
    return parser.parse_args(words)


def lint(words: Sequence[str]) -> argparse.Namespace:
    """Parses the arguments of `lint`."""
    parser = shared.new_parser("tokstudio lint", _LINT_TEXT, _LINT_CODES)
    add = parser.add_argument
    add("tokenizer", type=Path, metavar="TOKENIZER", help=f"its file, its folder, {shared.NAMES}, or a project")
    add("--run", metavar="NAME", help="for a project: the run to check")
    shared.add_pattern(parser)
    add(
        "--texts",
        nargs="+",
        metavar="FILE",
        help="texts on which splitting, decoding and unknown characters are tried; several are counted one by one "
        "(default: a hard text in many scripts)",
    )
    shared.add_encoding(add)
    add("--json", action="store_true", help="print a list of objects: rule, level, message, example, advice")
    shared.add_quiet(parser)
    arguments = parser.parse_args(words)
    shared.refuse_two_inputs(parser, arguments.texts or ())
    return arguments


def _add_compared(parser: argparse.ArgumentParser) -> None:
    """Adds tokenizers and texts."""
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
    shared.add_documents(add, None)
    shared.add_encoding(add)
    shared.add_pattern(parser)
    shared.add_reading(parser)


def _checked_compared(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    arguments = parser.parse_args(words)
    shared.refuse_two_inputs(parser, arguments.texts)
    if arguments.parallel and len(arguments.texts) > 1:
        parser.error("--parallel reads one folder or one table")
    for name in _NOT_PARALLEL if arguments.parallel else ():
        if getattr(arguments, name) != parser.get_default(name):
            parser.error(f"--{name.replace('_', '-')} is not for --parallel, where each line is a document")
    return arguments
