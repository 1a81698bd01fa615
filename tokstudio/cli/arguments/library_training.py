"""The arguments of `train` for training by other libraries."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse

from tokstudio.cli.arguments.parser import number

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
