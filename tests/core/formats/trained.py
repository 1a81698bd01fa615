"""Tokenizers that the tests of the formats write and read."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import strategies as st

from tokstudio import Corpus, FormatError, Tokenizer, TrainingConfig, train
from tokstudio.core.formats.huggingface.format import HuggingFace
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.text.byte_level import to_characters

TEXT = (
    'the cat in the "hat"\n\tsat\\on = the 😀😀 ĠĊ mat, a,b;c日本日本\r\n'
    "\x00\x00\x7f\x7f\u2028\u2028\ufeff#version #version"
)


@lru_cache(maxsize=64)
def _trained(text: str | bytes, config: TrainingConfig) -> Tokenizer:
    """Several tests take one, as a tokenizer never changes."""
    return train(Corpus.from_text(text), config)


def trained(text: str | bytes, merges: int, **more) -> Tokenizer:
    return _trained(text, TrainingConfig(vocabulary_size=256 + merges, **more))


def banana() -> Tokenizer:
    return trained("banana", 1)


def everything() -> Tokenizer:
    """All that the text gives, merged to the end."""
    return trained(TEXT, 1000)


def shuffled(merges: int = 40, seed: int = 7) -> Tokenizer:
    """As a file may number its ids: in no order, with gaps, bytes included."""
    chance = random.Random(seed)
    ids = chance.sample(range(1000), 256 + merges)
    known = [ids[byte] for byte in b"ab \xf0\x9f"]
    pairs: list[tuple[int, int]] = []
    for made in ids[256:]:
        left, right = chance.choice(known), chance.choice(known)
        while (left, right) in pairs:
            left, right = chance.choice(known), chance.choice(known)
        pairs.append((left, right))
        known = [*known[-8:], made]
    return Tokenizer(np.array(pairs, np.int32), np.array(ids[256:], np.int32), alphabet=Alphabet.of_bytes(ids[:256]))


SPECIALS = ("<|end|>", "<|end|><|start|>", "the mat", "雨は", "\n\n")


def with_specials(pattern: str = "gpt2", placement: str = "last", merges: int = 60) -> Tokenizer:
    """Split by a pattern, with special tokens that begin one another, hold white space, or look like words."""
    size = merges + len(SPECIALS)
    return trained(TEXT * 3, size, pattern=pattern, special_tokens=SPECIALS, special_placement=placement)


def of_characters(text: str = TEXT, **more) -> Tokenizer:
    """What a text gives without splitting it into bytes, merged to the end."""
    return _trained(text, TrainingConfig(min_frequency=2, base="characters", **more))


def with_unknown(pattern: str = "none") -> Tokenizer:
    """Characters of a base vocabulary that holds special tokens, and one that stands for all others."""
    base = ["<pad>", *"abcdefghijklmnopqrstuvwxyz \n", "[UNK]", *"日本語😀"]
    more = {"base_vocabulary": base, "unknown_token": "[UNK]", "special_tokens": ["<s>", "a b"], "pattern": pattern}
    return of_characters(special_placement="first", **more)


def gpt2_pair(tokenizer: Tokenizer, specials: tuple[str, ...] = ()) -> tuple[bytes, bytes]:
    """`vocab.json` and `merges.txt` as GPT-2 has them."""
    tokens = tokenizer.tokens
    vocabulary = {to_characters(token): number for number, token in enumerate(tokens) if token is not None}
    vocabulary |= {token: len(tokens) + i for i, token in enumerate(specials)}
    rows = [" ".join(to_characters(tokens[part] or b"") for part in pair) for pair in tokenizer.merges.tolist()]
    return json.dumps(vocabulary).encode(), "\n".join(["#version: 0.2", *rows, ""]).encode()


def ranks_of(tokenizer: Tokenizer) -> dict[bytes, int]:
    """Every token but the special ones with its id."""
    specials = tokenizer.special_tokens.values()
    tokens = enumerate(tokenizer.tokens)
    return {token: number for number, token in tokens if token is not None and number not in specials}


def tiktoken_lines(ranks: dict[bytes, int]) -> bytes:
    """A `.tiktoken` file."""
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())


def same(one: Tokenizer, other: Tokenizer) -> bool:
    """Whether all ids, merges and tokens are the same, and what is done to text before."""
    return (
        np.array_equal(one.merges, other.merges)
        and np.array_equal(one.merge_results, other.merge_results)
        and one.alphabet.base == other.alphabet.base
        and np.array_equal(one.alphabet.id_of, other.alphabet.id_of)
        and one.alphabet.unknown == other.alphabet.unknown
        and one.special_tokens == other.special_tokens
        and one.pattern == other.pattern
        and one.tokens == other.tokens
    )


texts_to_train_on = st.one_of(
    st.binary(max_size=40), st.text(max_size=30).map(str.encode), st.text('ab\n"\\', max_size=60).map(str.encode)
)


def library_ids(path, text):
    return tokenizers.Tokenizer.from_file(str(path)).encode(text, add_special_tokens=False).ids


def settings_of(tokenizer: Tokenizer) -> dict[str, Any]:
    """Its `tokenizer.json`, parsed."""
    return json.loads(b"".join(HuggingFace().contents(tokenizer)["tokenizer.json"]))


def split_by(regex: str, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    """A pre-tokenizer that splits."""
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


def steps(*several: object) -> dict[str, Any]:
    """A pre-tokenizer of several steps."""
    return {"type": "Sequence", "pretokenizers": list(several)}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


@contextmanager
def refusal(words: str, file: str = "") -> Iterator[None]:
    """Makes sure that something is refused in one sentence with these words, after the name of the file if given."""
    with pytest.raises(FormatError) as caught:
        yield
    said = str(caught.value)
    assert words in said if not file else said.startswith(f"{file}: {words}"), said
    assert "\n" not in said


def spoil(monkeypatch: pytest.MonkeyPatch, name: str, file: str, change: Callable[[bytes], bytes]) -> None:
    """Lets a format write something else into one of its files."""
    known, right = type(FORMATS[name]), type(FORMATS[name]).contents

    def wrong(self: Any, tokenizer: Tokenizer) -> dict[str, Iterable[bytes]]:
        contents = right(self, tokenizer)
        whole = b"".join(contents[file])
        assert change(whole) != whole
        return {**contents, file: [change(whole)]}

    monkeypatch.setattr(known, "contents", wrong)


def added(content: str, **more: object) -> dict[str, Any]:
    """A special token as the files of Hugging Face list it."""
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}
    return {"content": content, **flags, **more}
