"""The embedding map, tried on a small random model."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from tokstudio import ConfigError, Corpus, TrainingConfig, add_specials, embedding_map, join, prune, renumber, train
from tokstudio.core.base.progress import finish
from tokstudio.core.surgery.proof import python_lines

TEXT = "the cat sat on the mat; the bat ate the hat, and the cat ate the bat.\n" * 5
OTHER = "der Hund und der Bund, rund und bunt; der Mund des Hundes.\n" * 5
WIDTH = 4


def trained(text=TEXT, size=285):
    return train(
        Corpus.from_text(text), TrainingConfig(vocabulary_size=size, pattern="gpt2", special_tokens=("<|a|>",))
    )


def changed():
    """Each with the tokenizer before."""
    old = trained()
    joined = join(old, trained(OTHER))
    return {
        "joined": (old, joined),
        "pruned": (old, prune(old, 270).tokenizer),
        "with holes": (old, prune(old, 270, renumber=False).tokenizer),
        "renumbered": (old, renumber(old, old.tokens.ids()[::-1]).tokenizer),
        "specials": (old, add_specials(old, ["<|the cat|>"])),
    }


CASES = changed()


class Weight(np.ndarray):
    """The weight of a layer, with what tensors have and arrays lack."""

    def detach(self):
        return self

    def clone(self):
        return self.copy()


class Layer:
    def __init__(self, rows):
        self.weight = np.random.default_rng(rows).normal(size=(rows, WIDTH)).view(Weight)


class Model:
    """A model as transformers has it, with random embeddings that are not tied."""

    def __init__(self, rows):
        self.layers = [Layer(rows), Layer(rows)]

    def get_input_embeddings(self):
        return self.layers[0]

    def get_output_embeddings(self):
        return self.layers[1]

    def resize_token_embeddings(self, rows):
        self.layers = [Layer(rows), Layer(rows)]


def check(old, new, before, after):
    """Tokens that stay have equal rows, and new ones the mean of the rows that their bytes were."""
    places = {(n in old.special_tokens.values(), old.tokens[n]): n for n in old.tokens.ids().tolist()}
    for token in new.tokens.ids().tolist():
        spelled = new.tokens[token]
        place = places.get((token in new.special_tokens.values(), spelled))
        parts = old.changed(pattern="none").encode(spelled) if place is None else [place]
        assert after[token] == pytest.approx(np.mean([before[part] for part in parts], axis=0))


@pytest.mark.parametrize("name", CASES)
def test_the_lines_resize_a_random_model(name, tmp_path, monkeypatch):
    old, new = CASES[name]
    finish(embedding_map(new).write_work(tmp_path / "map.npz"))
    model = Model(len(old.tokens))
    before = [layer.weight.copy() for layer in model.layers]
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(no_grad=nullcontext))
    exec(python_lines(tmp_path / "map.npz"), {"model": model})
    for row, layer in zip(before, model.layers, strict=True):
        assert len(layer.weight) == len(new.tokens)
        check(old, new, row, layer.weight)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("tied", [True, False])
def test_the_lines_resize_a_model_of_transformers(name, tied, tmp_path):
    torch = pytest.importorskip("torch", reason="torch is too large for the development environment")
    from transformers import GPT2Config, GPT2LMHeadModel

    old, new = CASES[name]
    finish(embedding_map(new).write_work(tmp_path / "map.npz"))
    settings = GPT2Config(
        vocab_size=len(old.tokens), n_positions=32, n_embd=WIDTH, n_layer=1, n_head=1, tie_word_embeddings=tied
    )
    model = GPT2LMHeadModel(settings).eval()
    before = [model.transformer.wte.weight.detach().numpy().copy(), model.lm_head.weight.detach().numpy().copy()]
    exec(python_lines(tmp_path / "map.npz"), {"model": model})
    check(old, new, before[0], model.transformer.wte.weight.detach().numpy())
    check(old, new, before[1], model.lm_head.weight.detach().numpy())
    assert model(torch.tensor([new.encode("the cat")])).logits.shape[-1] == len(new.tokens)


@pytest.mark.parametrize("name", CASES)
def test_json_says_the_same(name, tmp_path):
    new = CASES[name][1]
    table = embedding_map(new)
    finish(table.write_work(tmp_path / "map.json"))
    said = json.loads((tmp_path / "map.json").read_text(encoding="utf-8"))
    assert said["size"] == table.size == len(new.tokens)
    assert said["new_ids"] == {str(a): b for a, b in zip(table.old_ids.tolist(), table.new_ids.tolist(), strict=True)}
    assert said["parts"] == {str(token): table.parts_of(token).tolist() for token in table.made.tolist()}


def test_a_token_that_is_not_new_has_no_parts():
    table = embedding_map(CASES["joined"][1])
    for token in (65, 10**6):
        with pytest.raises(ConfigError, match="not the id of a new token"):
            table.parts_of(token)
    with pytest.raises(ConfigError, match="not made from another"):
        embedding_map(trained())


def test_the_map_of_several_changes_is_of_the_first_tokenizer():
    old = trained()
    pruned = prune(old, 270).tokenizer
    new = add_specials(renumber(pruned, pruned.tokens.ids()[::-1]).tokenizer, ["<|pad|>"])
    table = embedding_map(new)
    assert (table.before, table.size) == (len(old.tokens), 271)
    for before, now in zip(table.old_ids.tolist(), table.new_ids.tolist(), strict=True):
        assert new.tokens[now] == old.tokens[before]
    assert len(table.old_ids) == 270
    assert [new.tokens[token] for token in table.made.tolist()] == [b"<|pad|>"]
    parts = table.parts_of(int(table.made[0])).tolist()
    assert b"".join(old.tokens[part] for part in parts) == b"<|pad|>"


def test_the_lines_refuse_a_model_that_is_too_small(tmp_path, monkeypatch):
    old, new = CASES["pruned"]
    finish(embedding_map(new).write_work(tmp_path / "map.npz"))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(no_grad=nullcontext))
    with pytest.raises(AssertionError, match="of a larger tokenizer"):
        exec(python_lines(tmp_path / "map.npz"), {"model": Model(len(old.tokens) - 1)})
