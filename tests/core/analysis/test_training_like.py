"""The settings that make a tokenizer like another one, and what they leave out."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, trainers

from tests.core.formats.trained import TEXT, of_characters, trained, with_specials
from tests.core.formats.without_merges import sentencepiece_unigram, unigram, word_piece
from tokstudio import Corpus, Picky, Tokenizer, TrainingConfig, load, save, train
from tokstudio.core.analysis.training_like import training_like
from tokstudio.core.pretokenization.preparation import Preparation

SENTENCES = ["the cat sat on the mat, and the dog sat on the log"] * 30


def config_of(tokenizer):
    """The configuration that the settings make, with a usual tie rule."""
    settings = {name: value for name, value in training_like(tokenizer).settings.items() if name != "algorithm"}
    return TrainingConfig(**settings)


@pytest.mark.parametrize("pattern", ["none", "gpt2", "cl100k_right", r"\d+|[^\d\n]+|\n"])
@pytest.mark.parametrize("placement", ["first", "last"])
def test_training_on_the_same_text_makes_an_opened_tokenizer_again(tmp_path, pattern, placement):
    tokenizer = with_specials(pattern, placement)
    opened = load(save(tokenizer, tmp_path / "tokenizer.json").files[0])
    assert training_like(opened).left_out == ()
    again = train(Corpus.from_text(TEXT * 3), config_of(opened))
    assert again.pattern == opened.pattern
    assert again.special_tokens == opened.special_tokens
    assert [*again.tokens] == [*opened.tokens]


def test_of_a_trained_one_all_settings_are_taken():
    config = TrainingConfig(vocabulary_size=280, pattern="gpt2", algorithm=Picky(threshold=0.7), max_token_bytes=9)
    like = training_like(train(Corpus.from_text(TEXT * 3), config))
    assert like.left_out == ()
    chosen = {name: like.settings[name] for name in ("vocabulary_size", "pattern", "algorithm", "threshold")}
    assert chosen == {"vocabulary_size": 280, "pattern": "gpt2", "algorithm": "picky", "threshold": 0.7}
    assert like.settings["max_token_bytes"] == 9
    assert config_of(opened(of_characters())).base == "characters"


def opened(tokenizer: Tokenizer, **changes) -> Tokenizer:
    return tokenizer.changed(**changes)  # without its run, as from a file


def test_what_no_setting_holds_is_said():
    tokenizer = with_specials("gpt2")
    prepared = Preparation(nfc=True, prefix_space=True, strips_left=frozenset(["<|end|>"]))
    assert training_like(opened(tokenizer, preparation=prepared)).left_out == (
        "Text is not normalized to NFC: a training has no normalizer.",
        "No space is put before a text.",
        'How special tokens are found beside white space and letters is left out: "<|end|>".',
    )
    assert training_like(opened(of_characters())).left_out == (
        "The base tokens are the characters of the corpus, and there is no unknown token.",
    )
    extra = opened(trained("banana", 1), extra_tokens={300: b"xyz"})
    assert training_like(extra).left_out == ("1 token that no merge makes, of which the size counts each.",)


def of_library(tmp_path, **parts):
    made = tokenizers.Tokenizer(models.BPE())
    for name, part in parts.items():
        setattr(made, name, part)
    trainer = trainers.BpeTrainer(vocab_size=40, special_tokens=["<s>"], show_progress=False)
    made.train_from_iterator(SENTENCES, trainer)
    made.save(str(tmp_path / "tokenizer.json"))
    return load(tmp_path)


def test_the_pattern_of_a_file_whose_library_encodes_is_found(tmp_path):
    split = pre_tokenizers.Split(tokenizers.Regex(r"\w+|[^\w]"), "isolated")
    tokenizer = of_library(tmp_path, pre_tokenizer=split, normalizer=normalizers.Lowercase())
    assert tokenizer.library == "tokenizers"
    like = training_like(tokenizer)
    assert (like.settings["pattern"], like.settings["special_tokens"]) == (r"\w+|[^\w]", ("<s>",))
    assert like.left_out[-1] == ("Text is not normalized as by its library (Lowercase): a training has no normalizer.")
    other = of_library(tmp_path, pre_tokenizer=pre_tokenizers.Whitespace())
    assert "pattern" not in training_like(other).settings
    assert "How its library splits text is no pattern: Configure keeps the pattern that it has." in (
        training_like(other).left_out
    )


def test_a_model_of_a_library_is_trained_by_it(tmp_path):
    (tmp_path / "spiece.model").write_bytes(sentencepiece_unigram(SENTENCES, 40))
    unigram(SENTENCES, 40).save(str(tmp_path / "u.json"))
    word_piece(SENTENCES, 60).save(str(tmp_path / "w.json"))
    found = {name: training_like(load(tmp_path / name)) for name in ("spiece.model", "u.json", "w.json")}
    assert {name: like.settings["algorithm"] for name, like in found.items()} == {
        "spiece.model": "sentencepiece-unigram", "u.json": "unigram", "w.json": "wordpiece"
    }  # fmt: skip
    assert found["spiece.model"].settings["special_tokens"] == ()
    assert found["w.json"].settings["special_tokens"] == ("[UNK]", "[CLS]")
    assert all(like.left_out for like in found.values())
    assert json.dumps(found["u.json"].settings)
