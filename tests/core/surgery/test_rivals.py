"""Pruning against skeletoken, which removes the tokens that it is told to."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import importlib
import json

import numpy as np
import pytest

from tokstudio import Corpus, TrainingConfig, prune, save, train
from tokstudio.core.text.byte_level import CHARACTER_OF

TEXT = (
    "the cat sat on the mat; the bat ate the hat. Кот и кит, котам и китам: that is what 1234 says, in the end.\n"
    "A merchant of Venice was merchandising merchandise; whatever happens, happen it will, whenever and wherever.\n"
) * 3


@pytest.fixture(scope="module")
def skeletoken():
    """Loaded with the first test alone, because it loads much itself."""
    return importlib.import_module("skeletoken")


@pytest.mark.parametrize("size", [257, 270, 300, 319])
def test_skeletoken_makes_the_same_of_the_tokens_that_stay(skeletoken, size, tmp_path):
    settings = TrainingConfig(vocabulary_size=320, pattern="gpt2", special_tokens=("<|end|>",))
    whole = train(Corpus.from_text(TEXT), settings)
    pruned = prune(whole, size)
    save(whole, tmp_path / "whole")
    save(pruned.tokenizer, tmp_path / "pruned")
    gone = np.flatnonzero(pruned.new_ids < 0).tolist()
    spelled = ["".join(CHARACTER_OF[byte] for byte in whole.tokens[token]) for token in gone]
    model = skeletoken.TokenizerModel.from_string((tmp_path / "whole" / "tokenizer.json").read_text("utf-8"))
    theirs = model.remove_tokens_from_vocabulary(spelled)
    ours = json.loads((tmp_path / "pruned" / "tokenizer.json").read_text("utf-8"))["model"]
    made = json.loads(theirs.to_tokenizer().to_str())["model"]
    assert [tuple(pair) for pair in made["merges"]] == [tuple(pair) for pair in ours["merges"]]
    assert made["vocab"] == ours["vocab"]
    assert theirs.to_tokenizer().encode(TEXT).ids == pruned.tokenizer.encode(TEXT)
