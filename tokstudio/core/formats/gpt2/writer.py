"""The content of GPT-2's pair of files, its losses, and its proof."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.progress import Work
from tokstudio.core.formats.common.format import named_specials
from tokstudio.core.formats.common.json_reader import shown
from tokstudio.core.formats.common.proof import prove_work, trials_work, varied
from tokstudio.core.formats.common.spelling import misread_specials, vocabulary
from tokstudio.core.formats.common.split_regex import written_regex
from tokstudio.core.model.alphabet import BYTES
from tokstudio.core.pretokenization.patterns import NAMES, splitter
from tokstudio.core.text.byte_level import BYTE_ORDER, to_characters

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_VERSION = b"#version"
_PIECE = 1 << 13
_SNIPPET = """\
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

tokenizer = Tokenizer(models.BPE.from_file({vocabulary}, {merges}))
tokenizer.pre_tokenizer = {pre_tokenizer}
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_special_tokens({specials})
ids = tokenizer.encode("Hello world").ids
"""
_BYTE_LEVEL = "pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)"
_SPLIT = """pre_tokenizers.Sequence(
    [
        pre_tokenizers.Split(Regex({regex}), "isolated"),
        {byte_level},
    ]
)"""


def vocab_json(tokenizer: Tokenizer) -> Iterator[bytes]:
    """`vocab.json`: every token with its id, special ones included."""
    yield b"{"
    yield from vocabulary(tokenizer, indent=b"  ")
    yield b"\n}\n"


def merges_txt(tokenizer: Tokenizer) -> Iterator[bytes]:
    """`merges.txt`: a line per merge, after a first line that readers skip."""
    tokens, waiting = tokenizer.tokens, bytearray(_VERSION + b": 0.2\n")
    for left, right in tokenizer.merges:
        for token, end in ((int(left), b" "), (int(right), b"\n")):
            made = tokens[token] or b""
            for start in range(0, len(made), _PIECE):
                waiting += to_characters(made[start : start + _PIECE]).encode()
                if len(waiting) > _PIECE:
                    yield bytes(waiting)
                    waiting.clear()
            waiting += end
    yield bytes(waiting)


def merge_problem(tokenizer: Tokenizer) -> str | None:
    """A sentence about a merge that every reader would take for the first line; None where there is none."""
    for token in np.unique(tokenizer.merges[:, 0]).tolist():
        if tokenizer.tokens.prefix(token, len(_VERSION)) == _VERSION:
            text = shown(tokenizer.tokens.prefix(token, 200).decode("utf-8", "replace"))
            return f"A merge begins with the token {text}, but readers skip lines that begin with #version."
    return None


def losses(tokenizer: Tokenizer, known_specials: tuple[str, ...]) -> tuple[str, ...]:
    """The losses of the files; readers treat `known_specials` as special."""
    sentences: list[str] = []
    if not _splits_as_gpt2(tokenizer):
        sentences.append(
            f"The pattern {shown(tokenizer.pattern)} is lost: programs that read this format split text as GPT-2 does."
        )
    specials = {token: number for token, number in tokenizer.special_tokens.items() if token not in known_specials}
    if specials:
        sentences.append(
            f"{named_specials(specials)} not marked as special: the program that loads the files must be told."
        )
    if words := len(tokenizer.whole_words):
        sentences.append(f"Words that become a token without merging are merged ({words:,}): some ids will differ.")
    return tuple(sentences)


def notes(tokenizer: Tokenizer, known_specials: tuple[str, ...]) -> tuple[str, ...]:
    """A note that tiktoken reads only files with GPT-2's own ids."""
    merges = len(tokenizer.merges)
    has_usual_ids = np.array_equal(tokenizer.byte_ids, BYTE_ORDER) and np.array_equal(
        tokenizer.merge_results, np.arange(BYTES, BYTES + merges)
    )
    if has_usual_ids and not tokenizer.extra_tokens and set(tokenizer.special_tokens) <= set(known_specials):
        return ()
    return ("The tiktoken library cannot read these files: it needs ids in GPT-2's own order.",)


def prove(
    tokenizer: Tokenizer, vocab: Path, merges: Path, name: str, sample: str, known_specials: tuple[str, ...]
) -> Work[str]:
    """Lets the tokenizers library read both files, with the pattern and the special tokens that they lack.

    The proof names these settings; readers treat `known_specials` as special.
    """
    from tokstudio.core.libraries.client import LibraryInput

    # A custom pattern, which the library may understand otherwise, is not in the files.
    pattern = tokenizer.pattern if tokenizer.pattern in NAMES else "none"
    tried = varied(tokenizer, pattern=pattern, whole_words=())
    regex = None if pattern == "none" else written_regex(pattern)
    settings = {"merges": str(merges.absolute()), "regex": regex, "special_tokens": list(tokenizer.special_tokens)}
    trials = yield from trials_work(tried, sample, decodes=not misread_specials(tokenizer))
    proof = yield from prove_work(tried, LibraryInput("tokenizers", vocab, name, settings), trials)
    told = {
        "the pattern": not _splits_as_gpt2(tokenizer),
        "the special tokens": not set(tokenizer.special_tokens) <= set(known_specials),
        "to merge every word": bool(tokenizer.whole_words),
    }
    needed = " and ".join(words for words, is_needed in told.items() if is_needed)
    return f"{proof} if the reader is told {needed}" if needed else proof


def snippet(tokenizer: Tokenizer, targets: Mapping[str, Path], names: tuple[str, ...]) -> str:
    """Python code that loads both files, with the settings that they lack."""
    pre_tokenizer = _BYTE_LEVEL
    if tokenizer.pattern != "none":
        pre_tokenizer = _SPLIT.format(regex=repr(written_regex(tokenizer.pattern)), byte_level=_BYTE_LEVEL)
    vocab, merges = (repr(str(targets[name].absolute())) for name in names)
    lines = _SNIPPET.format(
        vocabulary=vocab, merges=merges, pre_tokenizer=pre_tokenizer, specials=list(tokenizer.special_tokens)
    )
    return lines if tokenizer.pattern != "none" else lines.replace("Regex, ", "")


def _splits_as_gpt2(tokenizer: Tokenizer) -> bool:
    return splitter(tokenizer.pattern).kind == NAMES.index("gpt2")
