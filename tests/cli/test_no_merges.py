"""The commands with tokenizers that have no merges: they work, or say in one sentence that there are none."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
import sentencepiece
from fifty import FIFTY

from tests.core.formats import without_merges
from tokstudio import cli


@pytest.fixture
def word_piece(tmp_path):
    made = without_merges.word_piece([FIFTY], 120)
    made.save(str(tmp_path / "tokenizer.json"))
    return made


@pytest.fixture
def unigram(tmp_path):
    model = without_merges.sentencepiece_unigram(FIFTY.split(".") * 3, 60)
    (tmp_path / "spiece.model").write_bytes(model)
    return sentencepiece.SentencePieceProcessor(model_proto=model)


def test_a_tokenizer_of_word_pieces_encodes_and_decodes(word_piece, tmp_path, capsys):
    text = "AI agents, ÉTÉ"
    expected = word_piece.encode(text, add_special_tokens=False).ids
    assert cli.main(["encode", "--text", text, "--tokenizer", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == expected
    assert cli.main(["decode", "--text", printed, "--tokenizer", str(tmp_path)]) == 0
    assert capsys.readouterr().out == word_piece.decode(expected, skip_special_tokens=False)


def test_a_sentencepiece_unigram_encodes_and_decodes(unigram, tmp_path, capsys):
    path = str(tmp_path / "spiece.model")
    assert cli.main(["encode", "--text", FIFTY, "--tokenizer", path]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == unigram.encode(FIFTY)
    assert cli.main(["decode", "--text", printed, "--tokenizer", path]) == 0
    assert capsys.readouterr().out == unigram.decode(unigram.encode(FIFTY))


def test_inspect_names_the_model(word_piece, tmp_path, capsys):
    assert cli.main(["inspect", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "Model          WordPiece\n" in told
    assert "its model is WordPiece, so the tokenizers library encodes for it" in told
    assert "Not made by merges" not in told
    assert cli.main(["inspect", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["model"], found["merges"], found["encoded_by"]) == ("WordPiece", 0, "tokenizers")
    assert found["tokens"] == word_piece.get_vocab_size()


def test_what_needs_merges_says_that_there_are_none(unigram, tmp_path, capsys):
    path, there = str(tmp_path / "spiece.model"), str(tmp_path / "there")
    sentence = "There are no merges: the model of this tokenizer is Unigram."
    assert cli.main(["convert", path, there, "--format", "merges-csv"]) == 1
    assert sentence in capsys.readouterr().err
    assert cli.main(["convert", path, there, "--format", "sentencepiece", "--merges", "3"]) == 1
    assert capsys.readouterr().err == f"tokstudio: {sentence}\n"
    assert cli.main(["convert", path, there, "--format", "huggingface"]) == 1
    assert "This tokenizer works only from its own file: its model is Unigram" in capsys.readouterr().err
    assert cli.main(["convert", path, there, "--format", "sentencepiece"]) == 0
    assert "identical over" in capsys.readouterr().err
    assert (tmp_path / "there").read_bytes() == (tmp_path / "spiece.model").read_bytes()
