"""The bytes of each token: summed over the tokens of a text, they are those of the text, or it is said why not."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from tests.core.formats.trained import SPECIALS, of_characters, shuffled, trained, with_specials, with_unknown
from tests.core.formats.without_merges import sentencepiece_unigram, unigram, word_piece
from tokstudio import FormatError, cli, load, save, token_bytes
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.saving import fit
from tokstudio.core.formats.token_bytes import sums_work

SENTENCES = ["the cat sat on the mat, and the dog sat on the log"] * 30


@pytest.fixture(scope="module")
def two():
    return with_specials("cl100k_right"), shuffled()


def test_a_tokenizer_of_bytes_has_nothing_to_tell(two):
    assert [finish(sums_work(tokenizer)) for tokenizer in two] == [(), ()]


@given(text=st.text(max_size=30) | st.binary(max_size=30))
def test_the_bytes_of_the_tokens_of_a_text_are_those_of_the_text(two, text):
    raw = text.encode() if isinstance(text, str) else text
    for tokenizer in two:
        assert token_bytes(tokenizer)[tokenizer.encode(text)].sum() == len(raw)


def test_a_special_token_and_an_id_without_a_token_count_nothing():
    tokenizer = with_specials()
    found = token_bytes(tokenizer)
    assert found.dtype == np.int32
    assert [found[tokenizer.special_tokens[token]] for token in SPECIALS] == [0] * len(SPECIALS)
    expected = [
        0 if token is None or number in tokenizer.special_tokens.values() else len(token)
        for number, token in enumerate(tokenizer.tokens)
    ]
    assert found.tolist() == expected
    gaps = shuffled()
    assert {int(token_bytes(gaps)[number]) for number, token in enumerate(gaps.tokens) if token is None} == {0}
    assert token_bytes(of_characters("日本語日本語"))[0] == 3


def test_an_unknown_token_is_told():
    [unknown, _] = finish(sums_work(with_unknown()))
    assert unknown == "What has no token becomes the unknown token, which counts 0."


def written(folder, made):
    made.save(str(folder / "tokenizer.json"))
    return load(folder)


def test_an_added_token_that_is_not_special_has_its_bytes(tmp_path):
    save(with_specials("gpt2"), tmp_path)
    (tmp_path / "tokenizer_config.json").unlink()
    path = tmp_path / "tokenizer.json"
    content = json.loads(path.read_text())
    [entry] = [each for each in content["added_tokens"] if each["content"] == "the mat"]
    entry["special"] = False
    path.write_text(json.dumps(content))
    tokenizer = load(tmp_path)
    assert token_bytes(tokenizer)[entry["id"]] == len("the mat")
    assert token_bytes(tokenizer)[tokenizer.encode("on the mat")].sum() == len("on the mat")


@pytest.mark.parametrize("text", ["the cat", "the cat sat on the log"])
def test_marks_of_word_piece_are_no_bytes_of_text(tmp_path, text):
    tokenizer = written(tmp_path, word_piece(SENTENCES, 60))
    ids = tokenizer.encode(text)
    assert token_bytes(tokenizer)[ids].sum() == len(text.replace(" ", ""))
    told = finish(sums_work(tokenizer))
    assert told[1] == ('tokenizers changes a text before or after it is split: the tokens of "a cat", 5 bytes, have 4.')
    assert told[2] == "For bits per byte, divide by the bytes of the text itself."


def test_a_mark_at_the_end_of_a_word_is_no_byte_of_text(tmp_path):
    made = tokenizers.Tokenizer(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>"))
    made.normalizer, made.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    made.decoder = decoders.BPEDecoder()
    made.train_from_iterator(
        SENTENCES,
        trainers.BpeTrainer(vocab_size=60, special_tokens=["[UNK]"], show_progress=False, end_of_word_suffix="</w>"),
    )
    tokenizer = written(tmp_path, made)
    assert token_bytes(tokenizer)[tokenizer.encode("the dog")].sum() == len("thedog")


def test_a_space_that_is_added_and_a_normalizer_are_told(tmp_path):
    path = tmp_path / "spiece.model"
    path.write_bytes(sentencepiece_unigram(SENTENCES, 40))
    for tokenizer in (load(path), written(tmp_path, unigram(SENTENCES, 60))):
        assert token_bytes(tokenizer)[tokenizer.encode("the cat")].sum() == len(" the cat")
        assert len(finish(sums_work(tokenizer))) >= 2


def test_both_files_are_written_and_one_by_its_ending(tmp_path):
    tokenizer = with_specials()
    report = save(tokenizer, tmp_path, "token-bytes")
    assert [file.name for file in report.files] == ["token_bytes.npy", "token_bytes.json"]
    array = np.load(tmp_path / "token_bytes.npy")
    assert array.dtype == np.dtype("<i4")
    assert array.tolist() == token_bytes(tokenizer).tolist() == json.loads((tmp_path / "token_bytes.json").read_text())
    assert [file.name for file in save(tokenizer, tmp_path / "mine.NPY", "token-bytes").files] == ["mine.NPY"]
    with pytest.raises(FormatError, match=r"^mine\.bin: the bytes of each token are a file that ends in \.npy or"):
        save(tokenizer, tmp_path / "mine.bin", "token-bytes")
    assert fit(tokenizer, "token-bytes").problem is None


def test_the_command_writes_them_without_a_pattern(tmp_path, capsys):
    save(trained("the cat the cat", 5), tmp_path / "pair", "gpt2", accept_loss=True)
    out = tmp_path / "bytes.json"
    assert cli.main(["export-bytes", str(tmp_path / "pair"), "--out", str(out)]) == 0
    assert json.loads(out.read_text())[:256] == [1] * 256
    assert "Wrote bytes.json." in capsys.readouterr().err
    (tmp_path / "spiece.model").write_bytes(sentencepiece_unigram(SENTENCES, 40))
    words = ["export-bytes", str(tmp_path / "spiece.model"), "--out", str(out)]
    before = out.read_bytes()
    assert cli.main(words) == 1
    assert (
        "bytes.json: this file exists already: give the export another path, or add --force" in capsys.readouterr().err
    )
    assert out.read_bytes() == before
    assert cli.main([*words, "--force"]) == 0
    assert out.read_bytes() != before
    assert "sentencepiece changes a text before or after it is split: the tokens of" in capsys.readouterr().err
    assert cli.main(["export-bytes", str(tmp_path / "nothing"), "--out", str(tmp_path / "other.npy")]) == 1
    assert "nothing: no such file or folder." in capsys.readouterr().err
