"""Proves all nine points of a tokenizer that was made from another, its files read back by a library too."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.private_folders import TemporaryFolder
from tokstudio.core.base.progress import Work, finish
from tokstudio.core.formats import FORMATS, fit_work, save_work
from tokstudio.core.text.utf8 import Text
from tokstudio.core.tokenizer.tokenizer import Tokenizer
from tokstudio.core.verification.invariants import Proof, verify_work

# Each with a library that reads it.
_FORMATS = ("huggingface", "tiktoken", "gpt2", "sentencepiece")


def verify(tokenizer: Tokenizer, texts: Iterable[Text] = (), reference: str = "") -> Proof:
    """What stayed the same in a tokenizer that was made from another; see `invariants`.

    Args:
        tokenizer: The new tokenizer.
        texts: Texts that must be decoded as they were, such as the corpus.
        reference: A text whose lines are compared, and which a library encodes.

    Raises:
        ConfigError: It was not made from another.
    """
    return finish(verify_all_work(tokenizer, texts, reference))


def verify_all_work(tokenizer: Tokenizer, texts: Iterable[Text] = (), reference: str = "") -> Work[Proof]:
    """Does the same as `verify` in bounded pieces."""
    proof = yield from verify_work(tokenizer, texts=texts, reference=reference)
    # Saving would prove the other points again.
    alone = tokenizer.changed(checked=True)
    for format in _FORMATS:
        fitting = yield from fit_work(alone, format)
        if fitting.problem is None and not fitting.losses:
            break
    else:
        return proof.read_back("No format of a library holds this tokenizer without a loss.", neutral=True)
    title = FORMATS[format].title
    with TemporaryFolder() as folder:
        try:
            report = yield from save_work(alone, folder / "exported", format, sample=reference)
        except FormatError as error:
            return proof.read_back(f"{title}: {error}", holds=False)
    return proof.read_back(f"{title}: {report.proof}.")
