"""Folders as the transformers library loads them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest

from tests.core.formats.trained import (
    SPECIALS,
    TEXT,
    everything,
    of_characters,
    same,
    shuffled,
    trained,
    with_specials,
    with_unknown,
)
from tokstudio import save
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.loading import load, load_work
from tokstudio.core.libraries.client import torture_text


@pytest.fixture
def from_folder(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers")
    return transformers.AutoTokenizer.from_pretrained


def config_of(folder):
    return json.loads((folder / "tokenizer_config.json").read_bytes())


@pytest.mark.parametrize(
    "make",
    [
        everything,
        shuffled,
        lambda: everything().at(0),
        lambda: with_specials("cl100k"),
        lambda: with_specials("none", "first"),
        lambda: trained(TEXT, 60, special_tokens=["<s>", "</s>", "<pad>", "<unk>", "<|user|>", "[MASK]"]),
        with_unknown,
        lambda: of_characters(special_tokens=["<s>", "[UNK]"], unknown_token="[UNK]", special_placement="first"),
    ],
)
def test_transformers_loads_the_folder_and_gives_the_same_ids(tmp_path, from_folder, make):
    tokenizer, folder = make(), tmp_path / 'a "folder" of 日本'
    save(tokenizer, folder)
    theirs = from_folder(str(folder))
    specials = "".join(tokenizer.special_tokens)
    for text in (torture_text(), TEXT, specials, " ab".join(tokenizer.special_tokens)):
        ids = tokenizer.encode(text, "all")
        assert theirs.encode(text, add_special_tokens=False) == ids
        assert theirs.encode(text) == ids
        assert theirs.decode(ids) == tokenizer.decode(ids)
    assert len(theirs) == len(tokenizer)
    assert set(theirs.all_special_tokens) == set(tokenizer.special_tokens)
    assert theirs.decode(list(tokenizer.special_tokens.values()), skip_special_tokens=True) == ""
    assert same(load(folder), tokenizer)


def test_the_role_of_a_special_token_is_known_by_its_name(tmp_path, from_folder):
    names = ["<|endoftext|>", "</s>", "<PAD>", "[UNK]", "<|begin_of_text|>", "<|user|>", "[SEP]", "[CLS]", "<mask>"]
    save(trained("banana", 20, special_tokens=names), tmp_path)
    config = config_of(tmp_path)
    assert {key: value for key, value in config.items() if key.endswith("_token")} == {
        "bos_token": "<|begin_of_text|>",
        "eos_token": "<|endoftext|>",
        "unk_token": "[UNK]",
        "pad_token": "<PAD>",
        "sep_token": "[SEP]",
        "cls_token": "[CLS]",
        "mask_token": "<mask>",
    }
    assert config["additional_special_tokens"] == ["</s>", "<|user|>"]
    theirs = from_folder(str(tmp_path))
    assert (theirs.eos_token, theirs.pad_token) == ("<|endoftext|>", "<PAD>")


def test_the_unknown_token_of_characters_is_the_unknown_token_whatever_its_name(tmp_path):
    save(of_characters(special_tokens=["<unk>", "???"], unknown_token="???", special_placement="first"), tmp_path)
    assert config_of(tmp_path)["unk_token"] == "???"


def test_without_special_tokens_none_is_named(tmp_path):
    save(everything(), tmp_path)
    assert config_of(tmp_path) == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
    }
    save(with_specials(), tmp_path)
    assert config_of(tmp_path)["additional_special_tokens"] == list(SPECIALS)


def test_either_file_of_the_folder_opens_the_tokenizer(tmp_path):
    save(with_specials(), tmp_path)
    for place in (tmp_path, tmp_path / "tokenizer.json", tmp_path / "tokenizer_config.json"):
        loaded = finish(load_work(place))
        assert same(loaded.tokenizer, with_specials())
        assert loaded.files == (tmp_path / "tokenizer.json", tmp_path / "tokenizer_config.json")


def test_a_file_of_its_own_gets_nothing_beside_it(tmp_path):
    for name in ("mine.json", "tokenizer.json"):
        assert save(everything(), tmp_path / name).files == (tmp_path / name,)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mine.json", "tokenizer.json"]
