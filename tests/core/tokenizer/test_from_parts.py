"""A tokenizer from a vocabulary and merges as bytes, and texts encoded one at a time."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pickle

import pytest

from tokstudio import ByteTokenizer, ConfigError, Corpus, Tokenizer, TrainingConfig, load, save, train

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


def test_a_pattern_or_a_special_token_that_does_not_fit_is_refused():
    with pytest.raises(ConfigError, match="does not compile"):
        Tokenizer.from_parts(VOCABULARY, MERGES, "(")
    with pytest.raises(ConfigError, match="same id"):
        Tokenizer.from_parts(VOCABULARY, MERGES, special_tokens={"<s>": 256})
    with pytest.raises(ConfigError, match="same id"):
        Tokenizer.from_parts(VOCABULARY, MERGES, special_tokens={"<s>": 300, "<t>": 300})
    with pytest.raises(ConfigError, match="must not be empty"):
        Tokenizer.from_parts(VOCABULARY, MERGES, special_tokens={"": 300})


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


def test_it_can_be_pickled():
    made = pickle.loads(pickle.dumps(Tokenizer.from_parts(VOCABULARY, MERGES, "gpt2", {"<s>": 300})))
    assert made.encode(" the<s>", "all") == [258, 300]
