"""The proof of a GGUF file: what is read back is what was written, and llama.cpp gives the same ids."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.subprocesses import is_bundle
from tokstudio.core.formats.common.proof import NOT_PROVED, compare_work, trials_work
from tokstudio.core.formats.gguf import writer

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer


def check_same(tokenizer: Tokenizer, back: Tokenizer, name: str) -> None:
    """Raises FormatError where what was read back has other tokens, merges or special tokens."""
    tokens, again = tokenizer.tokens, back.tokens
    ids = np.array([number for number in tokens.ids().tolist() if tokens[number]], np.int64)
    is_same = (
        np.array_equal(ids, again.ids())
        and back.special_tokens == tokenizer.special_tokens
        and all(tokens[number] == again[number] for number in map(int, ids))
        and (back.library is not None or np.array_equal(back.merges, tokenizer.merges))
    )
    if not is_same:
        raise FormatError(f"{name}: when read back, its tokens, merges or special tokens differ from those written.")


def proved_work(tokenizer: Tokenizer, path: Path, name: str, sample: str) -> Work[str]:
    """Lets llama.cpp read a file and encode by it in a process of its own.

    Returns:
        The proof, which says where it is of another pattern with a loss by name; or `NOT_PROVED` with the reason.

    Raises:
        FormatError: It refuses the file, or its ids differ.
    """
    from tokstudio.core.libraries.client import LibraryInput, is_installed, llama_ids

    if not is_installed("xllamacpp"):
        how = "this program has no llama.cpp: install TokStudio by pip, with" if is_bundle() else "pip install"
        return f'{NOT_PROVED}: {how} "tokstudio[llama]"'
    held = yield from writer.held_work(tokenizer)
    # What is a loss by name is not tried.
    without = (*(yield from writer.forced_work(tokenizer)), *writer.overlapping(tokenizer.special_tokens))
    trials = yield from trials_work(held, sample, without=without)
    theirs = yield from llama_ids(LibraryInput("llama.cpp", path, name), trials.texts)
    if isinstance(theirs, str):
        return f"{NOT_PROVED}: {theirs}"
    how = "read back by llama.cpp"
    same = yield from compare_work(tokenizer, name, how, trials.ours, theirs, trials.named)
    form = writer.written_form(tokenizer)
    assert form is not None
    return f"{same}, {form.proves}" if form.loss else same
