"""Writing GPT-2's pair of files, compared with the tokenizers library and TokStudio's reader."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re

import numpy as np
import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from tests.core.formats.trained import (
    SPECIALS,
    TEXT,
    banana,
    everything,
    of_characters,
    same,
    shuffled,
    trained,
    with_specials,
)
from tokstudio import save
from tokstudio.core.base.errors import FormatError
from tokstudio.core.formats import gpt2 as gpt2
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.loading import load
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.text.byte_level import BYTE_ORDER
from tokstudio.core.tokenizer.tokenizer import Tokenizer

END = "<|endoftext|>"


def as_gpt2(**more) -> Tokenizer:
    return trained(TEXT * 3, 60, pattern="gpt2", **more)


def library(folder):
    """As everybody loads such files."""
    model = models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


@pytest.mark.parametrize(
    "make",
    [
        as_gpt2,
        lambda: as_gpt2(special_tokens=[END]),
        lambda: as_gpt2(special_tokens=[END], special_placement="first"),
        lambda: as_gpt2().at(7),
        lambda: as_gpt2().at(0),
        lambda: Tokenizer(shuffled().merges, shuffled().merge_results, alphabet=shuffled().alphabet, pattern="gpt2"),
    ],
)
def test_the_library_gives_the_same_ids_and_we_read_the_same_tokenizer(tmp_path, make):
    tokenizer, folder = make(), tmp_path / "a folder of 日本"
    report = save(tokenizer, folder, "gpt2", sample=TEXT)
    assert [file.name for file in report.files] == ["vocab.json", "merges.txt"]
    assert report.losses == ()
    assert re.fullmatch("identical over [0-9,]+ tokens", report.proof)
    theirs = library(folder)
    for text in (TEXT, torture_text(), "", "1234 don't 日本"):
        assert theirs.encode(text).ids == tokenizer.encode(text)
        assert theirs.decode(tokenizer.encode(text)) == text
    assert same(load(folder, "gpt2"), tokenizer)
    for token, number in tokenizer.special_tokens.items():
        assert theirs.token_to_id(token) == number


def test_the_files_look_as_others_write_them(tmp_path):
    save(banana(), tmp_path, "gpt2", accept_loss=True)
    assert (tmp_path / "merges.txt").read_bytes() == b"#version: 0.2\na n\n"
    vocabulary = json.loads((tmp_path / "vocab.json").read_bytes())
    assert vocabulary["an"] == 256
    assert vocabulary["Ġ"] == 32
    assert len(vocabulary) == 257


def test_losses_are_named_before_writing(tmp_path):
    tokenizer = with_specials("cl100k")
    pattern, specials = fit(tokenizer, "gpt2").losses
    assert pattern == 'The pattern "cl100k" is lost: programs that read this format split text as GPT-2 does.'
    assert specials == (
        'The special tokens "<|end|>", "<|end|><|start|>", "the mat" and 2 more are not marked as special: '
        "the program that loads the files must be told."
    )
    with pytest.raises(FormatError, match=r"^vocab\.json: GPT-2 pair cannot hold all of this tokenizer\. The pattern"):
        save(tokenizer, tmp_path / "out", "gpt2")
    assert list(tmp_path.iterdir()) == []
    report = save(tokenizer, tmp_path / "out", "gpt2", accept_loss=True)
    assert report.losses == (pattern, specials)
    assert report.proof.endswith(" if the reader is told the pattern and the special tokens")
    theirs = library(tmp_path / "out")
    assert [theirs.token_to_id(token) for token in SPECIALS] == list(tokenizer.special_tokens.values())


@pytest.mark.parametrize("pattern", ["none", "whitespace", "o200k", r"\d{1,2}+|\D+"])
def test_any_pattern_is_proved_though_it_is_not_in_the_files(tmp_path, pattern):
    tokenizer = trained(TEXT, 40, pattern=pattern)
    report = save(tokenizer, tmp_path, "gpt2", accept_loss=True, sample="12 1234 the mat")
    assert report.proof.startswith("identical over ")
    assert report.proof.endswith(" if the reader is told the pattern")
    back = load(tmp_path, pattern)
    assert same(back, tokenizer)


def test_words_that_are_taken_whole_are_a_loss():
    tokenizer = Tokenizer(banana().merges, pattern="gpt2", extra_tokens={300: b"cat"}, whole_words=(300,))
    assert fit(tokenizer, "gpt2").losses == (
        "Words that become a token without merging are merged (1): some ids will differ.",
    )


def test_only_ids_in_gpt2s_own_order_are_for_tiktokens_reader_too(tmp_path, monkeypatch):
    # It would keep a copy by the file's name.
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    data_gym = pytest.importorskip("tiktoken.load").data_gym_to_mergeable_bpe_ranks
    trained_here = as_gpt2(special_tokens=[END])
    order = np.array([*BYTE_ORDER, *range(256, 256 + len(trained_here.merges))], np.int32)
    theirs = Tokenizer(
        order[trained_here.merges], pattern="gpt2", alphabet=Alphabet.of_bytes(BYTE_ORDER), special_tokens={END: 900}
    )
    for tokenizer, is_taken in ((theirs, True), (trained_here, False)):
        report = save(tokenizer, tmp_path, "gpt2")
        assert (report.notes == ()) == is_taken
        files = [str(file) for file in report.files][::-1]
        if is_taken:
            assert len(data_gym(*files)) == 256 + len(tokenizer.merges)
        else:
            with pytest.raises(AssertionError):
                data_gym(*files)


def spelling_out(word: bytes) -> Tokenizer:
    """Joins the beginning of a word with its next letter until it is a token."""
    firsts = [word[0], *range(256, 254 + len(word))]
    return Tokenizer(np.array(list(zip(firsts, word[1:], strict=True)), np.int32))


def test_a_merge_that_readers_take_for_the_first_line_cannot_be_held(tmp_path):
    assert fit(spelling_out(b"#version"), "gpt2").problem is None
    assert fit(spelling_out(b"a#version"), "gpt2").problem is None
    again = spelling_out(b"#versions")
    with pytest.raises(FormatError, match=r'^vocab\.json: A merge begins with the token "#version", but readers skip'):
        save(again, tmp_path / "out", "gpt2", accept_loss=True)
    assert list(tmp_path.iterdir()) == []


def test_characters_and_tokens_spelled_alike_cannot_be_held(tmp_path):
    assert fit(of_characters(), "gpt2").problem == (
        "GPT-2 pair holds only merges of bytes, but this tokenizer merges characters."
    )
    alike = Tokenizer(banana().merges, special_tokens={"an": 900})
    assert fit(alike, "gpt2").problem == 'The special token "an" and token 256 have the same spelling in this format.'
    twice = Tokenizer(np.array([[97, 98], [98, 99], [256, 99], [97, 257]], np.int32))
    assert fit(twice, "gpt2").problem == "The token 258 and token 259 have the same spelling in this format."
    assert fit(twice, "huggingface").problem == fit(twice, "gpt2").problem


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("merges_txt", b"a n\n", b"n a\n", "the tokenizers library cannot read it"),
        ("merges_txt", b"\na n\n", b"\n", "differs at token "),
        ("vocab_json", b'"an": 256', b'"an": 300', "differs at token "),
        ("vocab_json", b'"an": 256', b'"am": 256', "the tokenizers library cannot read it"),
    ],
)
def test_files_that_the_library_understands_differently_never_replace_the_old_ones(
    tmp_path, monkeypatch, name, old, new, words
):
    save(everything(), tmp_path, "gpt2", accept_loss=True)
    before = [file.read_bytes() for file in sorted(tmp_path.iterdir())]
    pieces = getattr(gpt2, name)

    def wrong(tokenizer):
        whole = b"".join(pieces(tokenizer))
        assert old in whole
        yield whole.replace(old, new)

    monkeypatch.setattr(gpt2, name, wrong)
    with pytest.raises(FormatError, match=rf"^vocab\.json: .*{words}"):
        save(banana(), tmp_path, "gpt2", accept_loss=True, sample="banana")
    assert [file.read_bytes() for file in sorted(tmp_path.iterdir())] == before


def test_tokens_far_longer_than_a_piece_come_back(tmp_path):
    tokenizer = trained(b'\x00\xff"\\' * 40_000, 30)
    assert max(map(len, FORMATS["gpt2"].contents(tokenizer)["merges.txt"])) < 100_000
    save(tokenizer, tmp_path, "gpt2", accept_loss=True)
    assert same(load(tmp_path, "none"), tokenizer)


@pytest.mark.parametrize("make", [as_gpt2, lambda: with_specials("none"), lambda: with_specials("cl100k", "first")])
def test_the_snippet_loads_them(tmp_path, make):
    tokenizer = make()
    report = save(tokenizer, tmp_path / 'it\'s \\ "日本"', "gpt2", accept_loss=True)
    found = {}
    exec(report.snippet, found)
    for text in ("Hello world", TEXT, torture_text()):
        assert found["tokenizer"].encode(text).ids == tokenizer.encode(text, "all")
    assert found["ids"] == tokenizer.encode("Hello world")
