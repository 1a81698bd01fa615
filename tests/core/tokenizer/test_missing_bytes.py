"""Tokenizers of bytes that lack those which text never has, as those of the GPT-NeoX family."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import numpy as np
import pytest

from tests.core.formats.trained import gpt2_pair, library_ids, ranks_of, same, settings_of, tiktoken_lines, trained
from tokstudio import ConfigError, Corpus, Tokenizer, TrainingConfig, extend, join, load, prune, save
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.model.alphabet import NEVER_IN_TEXT, Alphabet
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.project.whole_tokenizer import tokenizer_of, tokenizer_values
from tokstudio.core.surgery.proof import verify_work
from tokstudio.core.text.byte_level import to_characters

TEXT = "the cat sat on the mat, żółta łąka, 日本語の文章 😀😀 the cat. " * 5
MERGES = 60


def lacking(merges: int = MERGES, pattern: str = "gpt2") -> Tokenizer:
    """Bytes as GPT-NeoX numbers them, in the order of their characters, and merges after them."""
    whole = trained(TEXT, merges + 1, pattern=pattern, special_tokens=["<|end|>"])
    kept = sorted({*range(256)} - NEVER_IN_TEXT, key=lambda byte: to_characters(bytes([byte])))
    ids = np.full(len(whole.tokens), -1, np.int32)
    ids[[*kept, *range(256, len(whole.tokens))]] = np.arange(len(whole.tokens) - len(NEVER_IN_TEXT))
    return Tokenizer(
        ids[whole.merges],
        ids[whole.merge_results],
        alphabet=Alphabet.of_bytes(ids[:256]),
        special_tokens={"<|end|>": int(ids[whole.special_tokens["<|end|>"]])},
        pattern=pattern,
    )


def put(folder, tokenizer):
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(settings_of(tokenizer)))
    return path


def test_such_a_file_has_a_playhead_and_encodes_like_its_library(tmp_path):
    path = put(tmp_path, lacking())
    tokenizer = load(path)
    assert tokenizer.library is None
    assert len(tokenizer.alphabet) == 243
    for text in (TEXT, torture_text(), "\ud800 lone"):
        there = text.encode("utf-8", "replace").decode() if "\ud800" in text else text
        assert tokenizer.encode(there, "all") == library_ids(path, there)
        assert tokenizer.decode(tokenizer.encode(text)) == there.replace("?", "\ufffd" if there != text else "?")
    half = tmp_path / "half"
    half.mkdir()
    for k in (1, 2, MERGES // 2):
        assert tokenizer.at(k).encode(TEXT) == library_ids(put(half, lacking(k)), TEXT)


def test_bytes_without_a_token_are_an_error_that_names_them():
    tokenizer = lacking()
    assert tokenizer.encode(b"a\xe2\x28") == [tokenizer.byte_ids[byte] for byte in b"a\xe2\x28"]
    assert set(np.flatnonzero(tokenizer.byte_ids < 0).tolist()) == NEVER_IN_TEXT
    for raw in (b"the \xc0 cat", b"\xff" * 600):
        with pytest.raises(ConfigError, match=rf"^The byte 0x{raw.strip(b'the cat')[0]:02X} is not in the vocabulary"):
            tokenizer.encode(raw)
    with pytest.raises(ConfigError, match=r"^Each of the 256 bytes"):
        Alphabet.of_bytes([-1, *range(255)])
    with pytest.raises(ConfigError, match=r"^The byte 0xFF is not in the vocabulary"):
        tokenizer.with_dropout(0.5).encode(b"a\xff")


def test_extended_pruned_and_joined_it_keeps_what_it_has():
    tokenizer, corpus = lacking(), Corpus.from_text("a new corpus of words, words and words. " * 9)
    size = len(tokenizer) + 10
    longer = extend(tokenizer, corpus, TrainingConfig(vocabulary_size=size, pattern="gpt2"))
    assert len(longer) == size
    shorter = prune(tokenizer, len(tokenizer) - 20).tokenizer
    assert len(shorter) == len(tokenizer) - 20
    joined = join(tokenizer, trained("worms and words " * 9, 20, pattern="gpt2"))
    assert joined.tokens[int(joined.merge_results[-1])] == b"worms"
    back = join(trained("worms " * 9, 4, pattern="gpt2"), tokenizer)
    for made in (longer, shorter, joined, back):
        assert finish(verify_work(made, texts=[TEXT], reference=TEXT)).check()
        assert made.decode(made.encode(TEXT)) == TEXT
    raw = Corpus.from_texts([b"\xc0\xc0" * 50])
    with pytest.raises(ConfigError, match=r"^The byte 0xC0 is not in the vocabulary"):
        extend(tokenizer, raw, TrainingConfig(vocabulary_size=size, pattern="gpt2"))


def test_added_tokens_that_are_not_special_stay_through_changes():
    """As the white space of GPT-NeoX, which is found in every text."""
    tokenizer = lacking()
    spaces = {"   ": len(tokenizer.tokens), "  ": len(tokenizer.tokens) + 1}
    tokenizer = tokenizer.changed(
        special_tokens={**tokenizer.special_tokens, **spaces},
        preparation=Preparation(ordinary=frozenset(spaces), late=frozenset(spaces)),
    )
    corpus = Corpus.from_text("a new corpus of words, words and words. " * 9)
    longer = extend(tokenizer, corpus, TrainingConfig(vocabulary_size=len(tokenizer) + 10, pattern="gpt2"))
    for made in (longer, prune(tokenizer, len(tokenizer) - 20).tokenizer):
        proof = finish(verify_work(made, texts=[TEXT], reference=TEXT)).check()
        [seventh] = [point for point in proof.points if point.number == 7]
        assert seventh.sentence.startswith("1 special token, 2 added tokens are not special")
        assert made.special_tokens["   "] in made.encode("a   b")


@pytest.mark.parametrize("name", ["huggingface", "gpt2", "tiktoken"])
def test_formats_of_tokens_hold_it_as_it_is(tmp_path, name):
    tokenizer = lacking()
    report = save(tokenizer, tmp_path / name, name, accept_loss=True)
    assert report.proof.startswith("identical on the test text")
    assert not any("added" in loss for loss in report.losses)
    back = load(tmp_path / name, "gpt2")
    assert back.library is None
    assert np.array_equal(back.byte_ids, tokenizer.byte_ids)
    assert back.encode(torture_text()) == tokenizer.encode(torture_text())


@pytest.mark.parametrize("name", ["minbpe", "classic"])
def test_formats_of_all_bytes_say_that_they_add_them(tmp_path, name):
    tokenizer = lacking(pattern="none")
    added = "Tokens for 13 bytes are added, which text never has: the format has all 256."
    assert added in fit(tokenizer, name).losses
    path = tmp_path / ("a.model" if name == "minbpe" else "a")
    report = save(tokenizer, path, name, accept_loss=True)
    back, new = load(path), report.renumbered
    assert len(back.alphabet) == 256
    assert new.startswith("Ids 0")
    expected = [tokenizer.tokens[token] for token in tokenizer.encode(TEXT)]
    assert [back.tokens[token] for token in back.encode(TEXT)] == expected


def test_pairs_and_ranks_of_others_lack_them_too(tmp_path):
    tokenizer = lacking()
    vocabulary, merges = gpt2_pair(tokenizer.changed(special_tokens={}))
    (tmp_path / "vocab.json").write_bytes(vocabulary)
    (tmp_path / "merges.txt").write_bytes(merges)
    ranks = tmp_path / "neox.tiktoken"
    ranks.write_bytes(tiktoken_lines(ranks_of(tokenizer) | {b"\xc0\xff\xc0": 400}))
    for path in (tmp_path / "vocab.json", ranks):
        assert load(path, "gpt2").encode(torture_text()) == tokenizer.encode(torture_text())
    assert load(ranks, "gpt2").encode(b"\xc0\xff\xc0") == [400]
    # As do a project, and parts.
    assert same(tokenizer_of(json.loads(json.dumps(tokenizer_values(tokenizer)))), tokenizer)
    tokens = {number: token for number, token in enumerate(tokenizer.tokens) if token and token != b"<|end|>"}
    pairs = [(tokens[left], tokens[right]) for left, right in tokenizer.merges.tolist()]
    assert same(Tokenizer.from_parts(tokens, pairs, "gpt2", dict(tokenizer.special_tokens)), tokenizer)
