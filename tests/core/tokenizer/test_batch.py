"""Batches of texts, tokens that no merge makes, and a tokenizer from its parts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pickle

import numpy as np
import pytest

from tokstudio import (
    Corpus,
    LibraryConfig,
    Tokenizer,
    TrainingConfig,
    add_specials,
    load,
    save,
    train,
    train_by_library,
)
from tokstudio.core.analysis.baselines import ByteTokenizer, CharacterTokenizer, WordTokenizer
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import finish
from tokstudio.core.tokenizer.batch import Batch, encode_texts, padding_id

# --- Several texts encoded together -----------------------------------------------------------------------------------

TEXTS = ["ab", "", b"c\xff", "é!"]


def test_without_padding_each_text_keeps_its_length():
    batch = encode_texts(ByteTokenizer().encode, TEXTS)
    assert batch == Batch([[97, 98], [], [99, 255], [195, 169, 33]], [[1, 1], [], [1, 1], [1, 1, 1]])


def test_padding_goes_to_the_right_and_the_mask_says_where():
    batch = encode_texts(ByteTokenizer().encode, TEXTS, padding=True, pad_id=7)
    assert batch.ids == [[97, 98, 7], [7, 7, 7], [99, 255, 7], [195, 169, 33]]
    assert batch.attention_mask == [[1, 1, 0], [0, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert np.array(batch.ids).shape == np.array(batch.attention_mask).shape == (4, 3)
    for padding in (0, 1, np.uint32(50256)):  # zero and one are ids to pad with
        assert encode_texts(ByteTokenizer().encode, ["a", ""], padding, pad_id=7).ids == [[97], [padding]]
    for padding in (False, True, 3):
        assert encode_texts(ByteTokenizer().encode, [], padding) == Batch([], [])
    for text in ("one text", b"one text"):
        with pytest.raises(ConfigError, match="list of texts"):
            encode_texts(ByteTokenizer().encode, text)


@pytest.mark.parametrize("padding", [-1, 1.0, "longest", None])
def test_padding_that_is_no_id_is_refused_before_anything_is_encoded(padding):
    asked: list[object] = []
    with pytest.raises(ConfigError, match=f"not {padding!r}"):
        encode_texts(lambda text: asked.append(text) or [1], ["a"], padding)
    assert asked == []


@pytest.mark.parametrize(
    ("tokens", "padding"),
    [
        *(({"<|endoftext|>": 3, "<unk>": 1, token: 9}, 9) for token in ("<pad>", "<PAD>", "[PAD]", "<|pad|>")),
        *(({"<|endoftext|>": 3, "<unk>": 1, token: 9}, 9) for token in ("<|padding|>", "<padding>")),
        *(
            ({token: 9, "<|endoftext|>": 3}, 3)
            for token in ("pad", "<pads>", "<|pad>", "[pad|]", "<launchpad>", "a <pad>")
        ),
        # Of two the lower id counts, whatever their order.
        ({"[PAD]": 9, "<pad>": 4}, 4),
        ({"<pad>": 4, "[PAD]": 9}, 4),
    ],
)
def test_a_padding_token_is_recognised(tokens, padding):
    assert padding_id(tokens) == padding


@pytest.mark.parametrize("texts", [["a", "bb"], ["a"], []])
def test_without_a_token_to_pad_with_an_id_must_be_given(texts):
    """No id is taken for it without a word: id 0 may be any token."""
    tokenizer = train(Corpus.from_text("abab abab"), TrainingConfig(vocabulary_size=258))
    for any_tokenizer in (tokenizer, ByteTokenizer(), WordTokenizer(["a"])):
        with pytest.raises(ConfigError, match="has no padding token: give the id to pad with, as in padding=0"):
            any_tokenizer.encode_batch(texts, padding=True)
        assert any_tokenizer.encode_batch(texts, padding=0).attention_mask[:1] in ([[1, 0]], [[1]], [])
    ended = add_specials(tokenizer, ["<|pad|>"])
    assert ended.encode_batch(["a", ""], padding=True).ids == [[97], [ended.special_tokens["<|pad|>"]]]


@pytest.mark.parametrize("given", [["a"], ("a", "b"), [], None, 3, {"a": 1}, bytearray(b"a"), ["long"] * 5_000])
def test_what_is_not_one_text_is_refused_with_the_name_of_what_takes_several(given):
    tokenizer = train(Corpus.from_text("abab abab"), TrainingConfig(vocabulary_size=258))
    of_library = train_by_library(
        Corpus.from_text("abab abab\nab"), LibraryConfig(algorithm="wordpiece", vocabulary_size=10)
    ).tokenizer
    for encode in (
        tokenizer.encode,
        tokenizer.encode_array,
        lambda text: tokenizer.encode(text, "all"),
        lambda text: finish(tokenizer.encode_work(text)),
        lambda text: finish(tokenizer.encode_with_ends_work(text)),
        lambda text: tokenizer.encode_batch([text]),
        lambda text: list(tokenizer.encode_iterable([text])),
        tokenizer.with_dropout(0.5, 1).encode,
        of_library.encode,
        of_library.encode_array,
        CharacterTokenizer().encode,
        ByteTokenizer().encode,
        WordTokenizer(["a"]).encode,
    ):
        with pytest.raises(ConfigError, match=f"not {type(given).__name__}: encode takes one text, encode_batch sev"):
            encode(given)


# --- Tokens that no merge makes, and pre-tokens that are tokens without being merged ----------------------------------

TH, THE = 256, 257
OF_THE = np.array([[ord("t"), ord("h")], [TH, ord("e")]], np.int32)


def make(pattern="gpt2", **changed):
    return Tokenizer(OF_THE, pattern=pattern, extra_tokens={300: b"cat", 301: b" dog"}, **changed)


def test_they_are_in_the_vocabulary_and_decode_but_are_never_made():
    tokenizer = make()
    assert len(tokenizer) == 256 + 2 + 2
    assert tokenizer.tokens[300] == b"cat"
    assert tokenizer.tokens[299] is None
    assert tokenizer.extra_tokens == {300: b"cat", 301: b" dog"}
    assert tokenizer.encode("cat") == list(b"cat")
    assert tokenizer.decode([300, 301]) == "cat dog"
    tokenizer = make(whole_words=(301,))
    assert [tokenizer.kind(token) for token in (0, THE, 300, 301)] == ["byte", "merge", "unreachable", "whole word"]


def test_a_whole_word_becomes_its_token_wherever_it_is_a_pre_token():
    tokenizer = make(whole_words=(300, 301))
    assert tokenizer.encode("cat dog") == [300, 301]
    assert tokenizer.encode("cats dog the") == [*b"cats", 301, ord(" "), THE]
    again = pickle.loads(pickle.dumps(tokenizer))
    assert (again.extra_tokens, again.encode("cat")) == (tokenizer.extra_tokens, [300])
    # A whole text is a pre-token where nothing is split.
    tokenizer = make("none", whole_words=(300,))
    assert (tokenizer.encode("cat"), tokenizer.encode("cat dog")) == ([300], list(b"cat dog"))


def test_whole_words_are_still_known_after_more_words_than_are_kept(monkeypatch):
    monkeypatch.setattr("tokstudio.core.tokenizer.encoder.MOST_KNOWN", 5)
    tokenizer = make(whole_words=(300, 301))
    words = " ".join(f"w{number} cat" for number in range(50)).replace(" cat", "\ncat")
    assert tokenizer.encode(words).count(300) == words.count("\ncat ") + words.endswith("cat")


def test_a_whole_word_that_a_merge_makes_comes_with_that_merge():
    tokenizer = make(whole_words=(THE, 300))
    assert tokenizer.at(1).encode("the cat") == [TH, ord("e"), *b" cat"]
    assert tokenizer.at(1).encode("cat") == [300]
    assert tokenizer.encode("the") == [THE]


def test_compact_moves_them_with_all_others():
    compact = make(whole_words=(300,)).at(1).compact()
    assert compact.extra_tokens == {257: b"cat", 258: b" dog"}
    assert compact.encode("cat") == [257]
    assert len(compact) == len(compact.tokens) == 259


@pytest.mark.parametrize("extra", [{5: b"x"}, {256: b"x"}, {400: b""}, {-1: b"x"}])
def test_an_id_that_is_not_free_or_an_empty_token_is_refused(extra):
    with pytest.raises(ConfigError):
        Tokenizer(OF_THE, extra_tokens=extra)


# --- A tokenizer from a vocabulary and merges as bytes, and texts encoded one at a time -------------------------------

BYTES = {number: bytes([number]) for number in range(256)}
MERGES = [(b"t", b"h"), (b"th", b"e"), (b" ", b"the")]
VOCABULARY = BYTES | {256: b"th", 257: b"the", 258: b" the"}


def test_it_is_the_tokenizer_that_was_trained():
    trained = train(Corpus.from_text("the cat in the hat " * 9), TrainingConfig(vocabulary_size=270, pattern="gpt2"))
    tokens = trained.tokens
    merges = [(tokens[left], tokens[right]) for left, right in trained.merges.tolist()]
    made = Tokenizer.from_parts(dict(enumerate(tokens)), merges, "gpt2")
    assert made.tokens == tokens
    assert made.merges.tolist() == trained.merges.tolist()
    assert made.encode("the hat in that cat") == trained.encode("the hat in that cat")


def test_ids_may_be_in_any_order_and_special_tokens_in_the_vocabulary():
    ids = {1000 - number: token for number, token in VOCABULARY.items()} | {5: b"<s>"}
    made = Tokenizer.from_parts(ids, MERGES, special_tokens={"<s>": 5, "<t>": 6})
    assert made.encode(" the<s>", "all") == [742, 5]
    assert made.byte_ids[65] == 935
    assert len(made) == 261
    assert made.decode(made.encode("<t>é", "all")) == "<t>é"
    assert pickle.loads(pickle.dumps(made)).encode(" the<s>", "all") == [742, 5]


def test_a_token_that_no_merge_makes_is_there_but_never_produced(tmp_path):
    made = Tokenizer.from_parts(VOCABULARY | {300: b"xyz"}, MERGES, "gpt2")
    assert made.kind(300) == "unreachable"
    assert made.encode("xyz") == [120, 121, 122]
    save(made, tmp_path / "out")
    assert load(tmp_path / "out").tokens == made.tokens


@pytest.mark.parametrize(
    ("vocabulary", "merges", "words"),
    [
        ({k: v for k, v in VOCABULARY.items() if k != 7}, MERGES, "The byte 7 has no token"),
        ({k: v for k, v in VOCABULARY.items() if k != 256}, MERGES, 'Merge 1 needs the token "th"'),
        (VOCABULARY, [*MERGES, (b"q", b"u")], 'Merge 4 needs the token "qu"'),
        (VOCABULARY, [*MERGES, (b"zz", b"u")], 'needs the token "zz"'),
        (VOCABULARY, MERGES[::-1], "Merge 1 joins token 257, which does not exist yet"),
        (VOCABULARY, [*MERGES, (b"t", b"h")], 'Merges 1 and 4 make the same token, "th"'),
        (VOCABULARY | {259: b"he"}, [(b"h", b"e"), (b"t", b"he"), *MERGES], 'same token, "the"'),
        (VOCABULARY | {300: b"th"}, MERGES, "Tokens 256 and 300 have the same bytes"),
        (VOCABULARY | {300: b""}, MERGES, "at least one"),
        (VOCABULARY | {300: "text"}, MERGES, "must be bytes"),
        (VOCABULARY | {2**31: b"ab"}, MERGES, "from 0 to 2,147,483,646, not 2,147,483,648"),
        (VOCABULARY | {-1: b"ab"}, MERGES, "not -1"),
        (VOCABULARY | {2**31 - 2: b"ab"}, MERGES, "far too high"),
        ([*VOCABULARY.values()], MERGES, "must be a mapping"),
        (VOCABULARY, [b"th"], "Merge 1 must be two tokens"),
        (VOCABULARY, [("t", "h")], "must be two tokens as bytes"),
    ],
)
def test_what_does_not_fit_together_is_refused(vocabulary, merges, words):
    with pytest.raises(ConfigError, match=words):
        Tokenizer.from_parts(vocabulary, merges)


@pytest.mark.parametrize(
    ("pattern", "specials", "words"),
    [
        ("(", {}, "does not compile"),
        ("none", {"<s>": 256}, "same id"),
        ("none", {"<s>": 300, "<t>": 300}, "same id"),
        ("none", {"": 300}, "must not be empty"),
    ],
)
def test_a_pattern_or_a_special_token_that_does_not_fit_is_refused(pattern, specials, words):
    with pytest.raises(ConfigError, match=words):
        Tokenizer.from_parts(VOCABULARY, MERGES, pattern, specials)


def test_texts_are_taken_one_at_a_time():
    made = Tokenizer.from_parts(VOCABULARY, MERGES, special_tokens={"<s>": 300})
    taken: list[str] = []

    def lines():
        for line in ("the\n", "", " the<s>", "é"):
            taken.append(line)
            yield line

    ids = made.encode_iterable(lines(), "all")
    assert not taken
    assert [next(ids), next(ids)] == [257, 10]
    assert taken == ["the\n"]
    assert list(ids) == [258, 300, 195, 169]
    assert list(made.encode_iterable([])) == []


def test_one_text_is_not_several():
    for tokenizer in (Tokenizer.from_parts(VOCABULARY, MERGES), ByteTokenizer()):
        with pytest.raises(ConfigError, match="not one text"):
            tokenizer.encode_iterable("the")
    assert list(ByteTokenizer().encode_iterable(["a", b"b"])) == [97, 98]
