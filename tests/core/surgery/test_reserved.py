"""New tokens with the ids of reserved special tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from tokstudio import (
    ConfigError,
    Corpus,
    TrainingConfig,
    embedding_map,
    extend,
    fill_reserved,
    save,
    set_roles,
    train,
    verify,
)

ENGLISH = "the cat sat on the mat; the bat ate the hat that the rat had. " * 3
GERMAN = "Der Hut der Katze hat der Katze gehört, und die Matte auch: der Kater saß auf der Matte. " * 3
RESERVED = ("<|r0|>", "<|end|>", "<|r1|>")


@pytest.fixture
def old():
    config = TrainingConfig(vocabulary_size=280, pattern="gpt2", special_tokens=RESERVED)
    return train(Corpus.from_text(ENGLISH), config)


def extended(old, more=6, **limits):
    config = TrainingConfig(vocabulary_size=len(old) + more, pattern="gpt2", **limits)
    return extend(old, Corpus.from_text(GERMAN), config)


def test_the_first_new_tokens_take_reserved_ids_and_the_others_follow(old, tmp_path):
    made = extended(old)
    filled = fill_reserved(made, ["<|r1|>", "<|r0|>"])
    ids = old.special_tokens
    assert filled.merge_results[-6:].tolist() == [ids["<|r0|>"], ids["<|r1|>"], 280, 281, 282, 283]
    assert filled.special_tokens == {"<|end|>": ids["<|end|>"]}
    assert len(filled) == len(made) - 2 == filled.tokens.ids()[-1] + 1
    moved = dict(zip(made.merge_results.tolist(), filled.merge_results.tolist(), strict=True))
    assert filled.encode(GERMAN) == [moved.get(token, token) for token in made.encode(GERMAN)]
    assert filled.decode(filled.encode("<|r0|> " + GERMAN, "all")) == "<|r0|> " + GERMAN
    proof = verify(filled, [GERMAN], ENGLISH)
    assert proof.holds
    assert "2 replaced" in proof.points[6].sentence
    assert embedding_map(filled).made.tolist() == sorted(filled.merge_results[-6:].tolist())
    save(filled, tmp_path / "tokenizer.json")
    assert made.special_tokens == old.special_tokens


def test_reserved_tokens_stay_where_there_are_fewer_new_ones(old):
    made = extended(old, 1)
    filled = fill_reserved(made, ["<|r0|>", "<|r1|>"])
    assert filled.merge_results[-1] == min(old.special_tokens.values())
    assert len(filled.special_tokens) == 2
    assert len(filled) == len(old)
    assert np.count_nonzero(filled.origin.new_ids < 0) == 1


def test_only_reserved_tokens_of_an_extended_tokenizer_are_filled(old):
    with pytest.raises(ConfigError, match="extended"):
        fill_reserved(old, ["<|r0|>"])
    made = extended(old)
    with pytest.raises(ConfigError, match=r'no special token "<\|r7\|>"'):
        fill_reserved(made, ["<|r7|>"])
    with pytest.raises(ConfigError, match=r'"<\|end\|>" is not reserved'):
        fill_reserved(made, ["<|end|>"])
    with pytest.raises(ConfigError, match=r'"<\|r0\|>" is not reserved'):
        fill_reserved(extended(set_roles(old, {"pad": "<|r0|>"})), ["<|r0|>"])
    with pytest.raises(ConfigError, match="named twice"):
        fill_reserved(made, ["<|r0|>", "<|r0|>"])
