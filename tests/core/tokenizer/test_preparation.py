"""Normalization, prefix spaces and special tokens that take white space: as in the tokenizers library."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import pickle
from functools import cache
from itertools import product

import numpy as np
import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, trainers

from tokstudio import Corpus, FormatError, load, save
from tokstudio.core.analysis.encoding_steps import steps_work
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.base.progress import finish
from tokstudio.core.exploration.search import Search
from tokstudio.core.exploration.token_finder import TokenFinder
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.pretokenization.patterns import REGEX
from tokstudio.core.pretokenization.preparation import Preparation, utf8_with_padding
from tokstudio.core.pretokenization.word_table import PADDING
from tokstudio.core.text.utf8 import to_utf8

TEXT = "the cat sat on the naïve café 日本語 é ñ 가각 mat, 한국 <mask>  \n" * 3
PATIENT = settings(max_examples=8)  # each is tried with 28 tokenizers


def added(token, **more):
    return AddedToken(token, **{"special": True, "normalized": False, **more})


TOKENS = {
    "one": [added("<s>")],
    "late": [added("<s>", normalized=True), added("|||IP|||", normalized=True, special=False)],
    "mixed": [
        added("<s>"),
        added("<mask>", lstrip=True),
        added("    ", normalized=True, special=False),
        added("  ", normalized=True, special=False),
        added("<t>", normalized=True, lstrip=True),
    ],
    "both sides": [
        added("<s>", rstrip=True),
        added("<mask>", lstrip=True, rstrip=True),
        added("<t>", normalized=True, rstrip=True, lstrip=True),
    ],
    "words": [
        added("<s>", single_word=True),
        added("cat", special=False, single_word=True),
        added("xy", normalized=True, special=False, single_word=True, lstrip=True),
        added("<mask>", normalized=True, single_word=True, rstrip=True),
    ],
    "spaces": [
        added("<s>", rstrip=True),
        added(" ", special=False),
        added("  ", special=False),
        added("<t>", rstrip=True, normalized=True),
        added(" b", normalized=True, special=False, rstrip=True),
    ],
    "hidden": [
        added("<s"),
        added("s>", special=False),
        added("<mask>", special=False, lstrip=True),
        added("k><t", normalized=True),
        added("<t>", normalized=True, special=False, rstrip=True),
    ],
}
PARTS = [
    *"ab ;eé\u0301\u0323\u0334  \n\t\r\x1c\x85\u00a0\u3000\u1680\u200b각K\u2028",
    *("<s>", "<mask>", "<t>", "|||IP|||", "    ", "  ", "the cat", "'s", " 12", "<", "s>", "cat", "_", "xy", " b"),
    *("\u212b", "\u212a", "\u1100\u1161\u11a8", "क\u093c", "\u0958", "\U0001d15e", "\ufb1f", "\u0f73\u0301"),
]
texts = st.one_of(
    st.lists(st.one_of(st.sampled_from(PARTS), st.characters(exclude_categories=["Cs"])), max_size=14).map("".join),
    st.text(max_size=30),
)


@cache
def trained(nfc, prefix_space, use_regex, split):
    """The file of a trained tokenizer in the manner of RoBERTa, Qwen, OLMo and ModernBERT."""
    library = tokenizers.Tokenizer(models.BPE())
    if nfc:
        library.normalizer = normalizers.NFC()
    steps = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space, use_regex=use_regex)
    if split:
        steps = pre_tokenizers.Sequence([pre_tokenizers.Split(tokenizers.Regex(split), "isolated"), steps])
    library.pre_tokenizer, library.decoder = steps, decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    library.train_from_iterator([TEXT, torture_text()], trainer)
    return library.to_str()


def made(nfc, prefix_space, use_regex, tokens, split=None):
    library = tokenizers.Tokenizer.from_str(trained(nfc, prefix_space, use_regex, split))
    library.add_tokens(tokens)
    return library


# Each two of the settings meet in each way.
SETTINGS = ((True, True, True), (False, True, False), (True, False, False), (False, False, True))
PREPARATIONS = [(*settings, tokens) for settings, tokens in product(SETTINGS, TOKENS)]


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """The library's tokenizer and ours, by preparation."""
    tokenizers = {}
    for nfc, prefix_space, use_regex, tokens in PREPARATIONS:
        theirs = made(nfc, prefix_space, use_regex, TOKENS[tokens])
        path = tmp_path_factory.mktemp("prepared") / "tokenizer.json"
        theirs.save(str(path))
        tokenizers[nfc, prefix_space, use_regex, tokens] = theirs, load(path)
    return tokenizers


def ids_of(theirs, text):
    return theirs.encode(text, add_special_tokens=False).ids


@PATIENT
@given(texts)
@example(" the<s> cat <mask>  e\u0301\u212b<t> b xy  cat|||IP||| <s><t>a")
def test_any_text_is_encoded_and_decoded_as_by_the_library(every, text):
    for theirs, ours in every.values():
        assert ours.no_playhead is None
        ids, ends = finish(ours.encode_with_ends_work(text, "all"))
        assert ids.tolist() == ids_of(theirs, text)
        assert ours.decode(ids) == theirs.decode(ids.tolist(), skip_special_tokens=False)
        assert ends.tolist() == sorted(ends.tolist())
        assert not len(ids) or ends[-1] == len(text.encode())
        if all(token.special for token in theirs.get_added_tokens_decoder().values()):
            theirs.encode_special_tokens = True  # those that are not allowed are text
            plain = ids_of(theirs, text)
            theirs.encode_special_tokens = False
            assert ours.encode(text) == plain


@settings(max_examples=4)
@given(st.lists(texts, max_size=4))
def test_the_tokens_of_a_corpus_are_counted_and_the_steps_end_with_them(every, documents):
    texts = ["the cat", *documents]
    for theirs, ours in every.values():
        counts = finish(count_uses_work(ours, Corpus.from_texts(texts)))
        ids = [ids_of(theirs, text) for text in texts]
        assert counts.tolist() == np.bincount([token for each in ids for token in each], minlength=len(counts)).tolist()
        steps = finish(steps_work(ours, texts[-1], None, "all"))
        assert steps.tokens.ids.tolist() == ids[-1]
        assert finish(steps_work(ours, texts[-1], 5)).tokens.ids.tolist() == ours.at(5).encode(texts[-1])


@pytest.mark.parametrize(
    "preparation",
    [*((True, True, True, tokens) for tokens in TOKENS), (False, True, False, "mixed"), (True, False, False, "late")],
    ids=str,
)
def test_it_is_written_and_read_back(every, tmp_path, preparation):
    theirs, ours = every[preparation]
    report = save(ours, tmp_path / "again.json", sample=TEXT + "e\u0301 <mask> <t>")
    assert report.losses == ()
    assert report.proof.startswith("identical on the test text")
    again = load(tmp_path / "again.json")
    assert again.preparation == ours.preparation
    for same in (again, pickle.loads(pickle.dumps(ours)), ours.compact()):
        for text in (TEXT, torture_text(), "e\u0301  <mask> x <t>  <s>"):
            assert same.encode(text, "all") == ids_of(theirs, text)


ORDINARY = ("think", "<s>", "x", "cat<think> <s>the</think>", "a <tool> ", "banana", "", "<tool><think>" * 70)


@pytest.mark.parametrize("nfc", [False, True])
def test_added_tokens_that_are_not_special_are_found_everywhere(tmp_path, nfc):
    """In short and long texts, batches, arrays, streams, bytes, steps and counts: also where nothing is allowed."""
    tokens = [added("<s>", single_word=True), added("<think>", special=False)]
    tokens.append(added("</think>", special=False, normalized=True))
    tokens.append(added("<tool>", special=False, lstrip=True, rstrip=True))
    theirs = made(nfc, False, True, tokens)
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = load(tmp_path)
    theirs.encode_special_tokens = True
    assert ours.preparation.ordinary == {"<think>", "</think>", "<tool>"}
    for tokenizer in (ours, pickle.loads(pickle.dumps(ours)), ours.compact()):
        for text in (*ORDINARY, TEXT + "<think>" + TEXT):
            ids = ids_of(theirs, text)
            assert tokenizer.encode(text) == tokenizer.encode(text.encode()) == ids
            assert tokenizer.encode_array(text).tolist() == ids
            assert list(tokenizer.encode_iterable([text])) == ids
            assert finish(steps_work(tokenizer, text)).tokens.ids.tolist() == ids
            found, ends = finish(tokenizer.encode_with_ends_work(text))
            assert found.tolist() == ids
            assert not ids or ends[-1] == len(text.encode())
        assert [list(ids) for ids in tokenizer.encode_batch(ORDINARY).ids] == [
            ids_of(theirs, text) for text in ORDINARY
        ]
    theirs.encode_special_tokens = False
    for text in ORDINARY:
        assert ours.encode(text, ["<s>"]) == ours.encode(text, "all") == ids_of(theirs, text)
    save(ours, tmp_path / "again.json")
    listed = json.loads((tmp_path / "again.json").read_bytes())["added_tokens"]
    assert {entry["content"]: entry["special"] for entry in listed} == {
        "<s>": True,
        "<think>": False,
        "</think>": False,
        "<tool>": False,
    }
    assert "Added tokens that are not special become special ones" in " ".join(fit(ours, "tiktoken").losses)


@pytest.mark.parametrize("late", [False, True], ids=["early", "late"])
@pytest.mark.parametrize("word", [False, True], ids=["anywhere", "whole words"])
@pytest.mark.parametrize("token", [" ", "\n", "\u00a0", " \n"])
def test_a_token_of_white_space_that_the_one_before_it_includes_is_passed_over(tmp_path, token, word, late):
    tokens = [added(token, lstrip=True, rstrip=True, single_word=word, normalized=late)]
    tokens.append(added("<s>", lstrip=True, rstrip=True))
    theirs = made(late, False, True, tokens)
    ours = opened(tmp_path, late, False, True, tokens)
    characters = (" ", "a", "\n", "\u00a0", "<s>")
    for text in ("".join(some) for size in range(5) for some in product(characters, repeat=size)):
        ids, ends = finish(ours.encode_with_ends_work(text, "all"))
        assert ids.tolist() == ids_of(theirs, text), repr(text)
        assert not len(ends) or ends[-1] == len(text.encode())
    report = save(ours, tmp_path / "to", sample=f"a{token * 3}<s>{token}a")
    assert report.proof.startswith("identical on the test text and a sample of your text")


def opened(folder, *given, **more):
    made(*given, **more).save(str(folder / "tokenizer.json"))
    return load(folder)


def test_tokens_cover_the_original_text(tmp_path):
    ours = opened(tmp_path, True, True, True, TOKENS["mixed"])
    text = "e\u0301e\u0301 cafe\u0301  <mask>x\u212b <t>"
    ids, ends = finish(ours.encode_with_ends_work(text, "all"))
    raw = text.encode()
    pieces = [raw[start:end].decode() for start, end in zip([0, *ends.tolist()], ends.tolist(), strict=False)]
    spelled = [ours.tokens[token] for token in ids.tolist()]
    assert "".join(pieces) == text
    # The first of the tokens of a character has all of it.
    assert [piece for piece in pieces if "\u0301" in piece or piece == "\u212b"][:2] == ["e\u0301", "e\u0301"]
    assert "\u212b" in pieces
    assert pieces[spelled.index(b"<mask>")] == "  <mask>"
    assert pieces[-1] == " <t>"
    assert spelled[0].startswith(b" ")


def test_each_token_of_characters_that_are_normalized_together_has_all_of_them(normalizing):
    for text, characters, spans in (
        ("e\u0301!", [[0, 2], [0, 2], [2, 3]], [[0, 3], [0, 3], [3, 4]]),
        ("\u00e9!", [[0, 1], [0, 1], [1, 2]], [[0, 1], [1, 2], [2, 3]]),
        ("a\u0304\u0323", [[0, 3]] * 5, [[0, 5]] * 5),  # a character and a mark
    ):
        plain = normalizing.at(0)
        assert plain.encode_with_offsets(text)[1].tolist() == characters
        assert plain.encode_with_offsets(text, "bytes")[1].tolist() == spans


def test_a_special_token_takes_no_white_space_of_one_that_is_found_before_it(tmp_path):
    tokens = [added("<x>", normalized=True, rstrip=True), added("  <y>")]
    theirs, ours = made(False, False, True, tokens), opened(tmp_path, False, False, True, tokens)
    for text in ("e<x>  <y>ab", "<x>   <y>", "<x> <y> <x> e"):
        expected = theirs.encode(text, add_special_tokens=False)
        ids, offsets = ours.encode_with_offsets(text, allowed_special="all")
        assert ids.tolist() == expected.ids
        assert list(map(tuple, offsets.tolist())) == expected.offsets


@pytest.mark.parametrize("name", ["qwen2", "llama3"])
def test_a_pattern_splits_normalized_text(tmp_path, name):
    split = REGEX[name].replace("{1,3}+", "{1,3}")
    theirs = made(True, False, False, TOKENS["mixed"], split)
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = load(tmp_path)
    assert (ours.library, ours.pattern, ours.preparation.nfc) == (None, name, True)
    for text in (TEXT, torture_text(), "e\u0301 12345 <s>\u0301a\u0308  <mask> \u1100\u1161\n\n"):
        assert ours.encode(text, "all") == ids_of(theirs, text)
        assert ours.at(20).encode(text) == opened_at(theirs, 20).encode(text, add_special_tokens=False).ids


def opened_at(theirs, merges):
    """The library's tokenizer with the first merges, where special tokens are text, and other added ones are not."""
    file = json.loads(theirs.to_str())
    file["model"]["merges"] = file["model"]["merges"][:merges]
    library = tokenizers.Tokenizer.from_str(json.dumps(file))
    library.encode_special_tokens = True
    return library


@pytest.fixture(scope="module")
def normalizing(tmp_path_factory):
    return opened(tmp_path_factory.mktemp("bytes"), True, False, False, [])


@given(texts)
def test_bytes_that_are_not_utf8_stay_between_normalized_text(normalizing, text):
    raw = b"\xff" + text.encode() + b"\xc3"
    normalized = normalizers.NFC().normalize_str(text).encode()
    assert normalizing.decode_bytes(normalizing.encode(raw)) == b"\xff" + normalized + b"\xc3"


@pytest.mark.parametrize(
    ("name", "given", "losses"),
    [
        ("tiktoken", (True, False, True), ["The normalizer NFC is lost"]),
        ("gpt2", (False, True, True), ["The prefix space is lost"]),
        ("minbpe", (True, True, True), ["The normalizer NFC is lost", "The prefix space is lost"]),
        ("classic", (True, False, False), ["The normalizer NFC is lost"]),
    ],
)
def test_a_format_that_cannot_hold_it_says_so(tmp_path, name, given, losses):
    ours = opened(tmp_path, *given, [added("<s>", lstrip=True)])
    told = " ".join(fit(ours, name).losses)
    for loss in (*losses, 'White space beside special tokens is no longer part of them ("<s>").'):
        assert loss in told
    with pytest.raises(FormatError, match=losses[0]):
        save(ours, tmp_path / "there", name)
    save(ours, tmp_path / "there", name, accept_loss=True, sample="e\u0301 <s> the cat")
    assert fit(ours, "vocabulary-csv").losses == ()


def test_occurrences_are_found_in_the_original_text(tmp_path):
    ours = opened(tmp_path, True, True, True, TOKENS["mixed"])
    text = "the cafe\u0301 <mask> the\nthe cat\n"
    corpus = Corpus.from_text(text)
    raw = text.encode()
    for token in set(ours.encode(text, "all")):
        ids, ends = finish(ours.encode_with_ends_work(text, "all"))
        hits = Search(corpus, TokenFinder(ours, [token]))
        finish(hits.find_work())
        starts = [0, *ends.tolist()]
        places = [(starts[i], raw[starts[i] : end].decode()) for i, end in enumerate(ends.tolist()) if ids[i] == token]
        assert [(hit.position, hit.text) for hit in hits] == places


def test_other_normalizers_are_left_to_the_library(tmp_path):
    file = json.loads(made(True, False, True, []).to_str())
    # A sequence of NFC alone is NFC.
    file["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "NFC"}]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    assert load(tmp_path).preparation == Preparation(nfc=True)
    file["normalizer"]["normalizers"][1] = {"type": "Lowercase"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(file))
    assert load(tmp_path).no_playhead.startswith("its normalizer NFC, Lowercase changes the text")
    tokens = [added("e\u0301", normalized=True)]
    said = opened(tmp_path, True, False, True, tokens).no_playhead
    assert said.startswith('its added token "e\u0301" is found as other text')


def test_characters_are_normalized_too(tmp_path):
    theirs = tokenizers.Tokenizer(models.BPE(unk_token="<unk>"))
    theirs.normalizer, theirs.decoder = normalizers.NFC(), decoders.Fuse()
    trainer = trainers.BpeTrainer(vocab_size=200, special_tokens=["<unk>"], show_progress=False)
    theirs.train_from_iterator([TEXT], trainer)
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = load(tmp_path)
    assert ours.library is None
    for text in (TEXT, "cafe\u0301 e\u0301\u0323 <unk>\u0301 ЖЖ e\u0301"):
        ids, ends = finish(ours.encode_with_ends_work(text, "all"))
        assert ids.tolist() == ids_of(theirs, text)
        assert ends[-1] == len(text.encode())


def test_long_texts_with_much_white_space(tmp_path):
    theirs = made(True, True, True, TOKENS["both sides"])
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = load(tmp_path)
    for text in (
        "a" + " " * 5000 + "<mask>" + "\u3000" * 5000 + "b<s>" + " " * 3000,
        ("e\u0301 <mask> " * 50 + "\n") * 50,
    ):
        assert ours.encode(text, "all") == ids_of(theirs, text)


@pytest.mark.parametrize(
    "some", ["a", "é", "ÿ", "a日", "日", "a😀", "😀", "ab\ud83d\ude00", "\ud83d", "a\udc00\ud83d"], ids=ascii
)
@pytest.mark.parametrize("size", [0, 1, 16384, 16385, 40_001])
def test_long_strings_become_their_utf8(some, size):
    text = (some * size)[:size]
    for string in (text, text + "日", "😀" + text, to_utf8(text)):
        data, raw = utf8_with_padding(string), to_utf8(string)
        assert (data.tobytes(), data.flags.owndata) == (raw + bytes(PADDING), True)


def test_a_pair_of_surrogates_at_any_place_of_a_long_string_is_one_character():
    for before in range(16380, 16390):
        text = before * "a" + "\ud83d\ude00" + 16380 * "b"
        assert utf8_with_padding(text)[:-PADDING].tobytes() == text.replace("\ud83d\ude00", "😀").encode()
