"""Whether ids are those of encoding, and how many encodings a text has, against naive recounts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.core.formats.trained import trained
from tests.core.formats.without_merges import unigram, word_piece
from tokstudio import load
from tokstudio.core.analysis.canonical import MOST_COUNTED, canonical_text, canonical_work
from tokstudio.core.base.progress import finish
from tokstudio.core.pretokenization.preparation import Preparation

TOKENIZER = trained("abab abc abcab cab 1234 日本 日" * 5, 24, pattern="gpt2", special_tokens=["<s>"])
SPECIAL = TOKENIZER.special_tokens["<s>"]
SENTENCES = ["the cat sat on the mat, and the dog sat on the log"] * 30


def checked(tokenizer, ids):
    return finish(canonical_work(tokenizer, np.array(ids, np.uint32)))


def sequences(tokenizer, text):
    """All sequences of ordinary tokens that spell a text, with added ones that are not special."""
    if not text:
        return [[]]
    added = tokenizer.preparation.ordinary
    special = [number for token, number in tokenizer.special_tokens.items() if token not in added]
    ordinary = [
        (number, token)
        for number, token in enumerate(tokenizer.tokens)
        if token and number not in special and text.startswith(token)
    ]
    return [[number, *rest] for number, token in ordinary for rest in sequences(tokenizer, text[len(token) :])]


ADDED = TOKENIZER.changed(
    special_tokens={"<s>": SPECIAL, "bc": 600}, preparation=Preparation(ordinary=frozenset({"bc"}))
)


@given(st.text("abc 1日<", max_size=7), st.sampled_from([TOKENIZER, ADDED]))
def test_of_all_encodings_of_a_text_one_is_canonical(text, tokenizer):
    every = sequences(tokenizer, text.encode())
    found = [checked(tokenizer, ids) for ids in every]
    assert {each.encodings for each in found} == {len(every)}
    assert [ids for ids, each in zip(every, found, strict=True) if each.verdict == "canonical"] == [
        tokenizer.encode(text)
    ]
    for ids, each in zip(every, found, strict=True):
        if each.verdict == "not canonical":
            expected, at = tokenizer.encode(text), each.first
            assert at is not None
            assert ids[:at] == expected[:at]
            assert ids[at] != expected[at]
            assert list(each.given) == ids[at : at + len(each.given)]
            assert list(each.expected) == expected[at : at + len(each.expected)]
            assert tokenizer.decode_bytes(each.given) == tokenizer.decode_bytes(each.expected)


def test_special_tokens_divide_the_ids_into_runs():
    a, b = TOKENIZER.encode("abab"), list(b"abab")
    assert checked(TOKENIZER, [SPECIAL, *a, SPECIAL, *a]).verdict == "canonical"
    found = checked(TOKENIZER, [SPECIAL, *a, SPECIAL, *b])
    assert (found.verdict, found.first) == ("not canonical", len(a) + 2)
    ways = checked(TOKENIZER, a).encodings
    assert ways is not None
    assert found.encodings == ways**2 > 1
    # A run that joins what a special token divides would have other tokens.
    assert checked(TOKENIZER, [*b"ab", SPECIAL, *b"ab"]).verdict == "not canonical"
    assert checked(TOKENIZER, []).encodings == checked(TOKENIZER, [SPECIAL]).encodings == 1
    # The text of a special token, in ordinary ones, is canonical: it is encoded as text.
    assert checked(TOKENIZER, TOKENIZER.encode("<s>")).verdict == "canonical"


def test_bytes_that_are_no_text_and_changed_text_are_undecided():
    found = checked(TOKENIZER, [0xE6, 0x97])
    assert (found.verdict, found.first) == ("undecided", None)
    assert canonical_text(TOKENIZER, found).startswith("Undecided: they are not the bytes of a text in UTF-8. The text")
    composed = TOKENIZER.changed(preparation=Preparation(nfc=True))
    assert checked(composed, list("e\u0301".encode())).verdict == "undecided"
    assert checked(composed, composed.encode("é")).verdict == "canonical"
    spaced = TOKENIZER.changed(preparation=Preparation(prefix_space=True))
    assert "a space before it" in checked(spaced, TOKENIZER.encode("cab")).reason
    assert checked(spaced, spaced.encode("cab")).verdict == "canonical"
    # A run that is surely not canonical decides.
    assert checked(TOKENIZER, [0xE6, SPECIAL, *b"abab"]).verdict == "not canonical"


def test_the_answer_of_a_library_is_used(tmp_path):
    unigram(SENTENCES, 40).save(str(tmp_path / "a.json"))
    word_piece(SENTENCES, 60).save(str(tmp_path / "b.json"))
    for name, counts in (("a.json", True), ("b.json", False)):
        tokenizer = load(tmp_path / name)
        found = checked(tokenizer, tokenizer.encode("the cat sat"))
        assert found.verdict == "canonical"
        assert (found.encodings is not None) == counts


def test_very_many_encodings_are_a_power_of_ten_and_a_long_text_is_not_counted():
    found = checked(TOKENIZER, list(b"ab" * 300))
    assert "The text has about " in (said := canonical_text(TOKENIZER, found))
    assert said.endswith(" encodings.")
    exponent = len(str(found.encodings)) - 1
    assert f"× 10^{exponent} encodings." in said
    assert checked(TOKENIZER, list(b"a" * (MOST_COUNTED + 1))).encodings is None
    first = canonical_text(TOKENIZER, checked(TOKENIZER, list(b"abab")))
    assert first.startswith("Not canonical: at id 1 encoding gives ")
    assert ' instead of 97 98 97 98 ("a|b|a|b").' in first


def test_plain_merging_is_canonical_where_each_two_tokens_are():
    plain = trained("abab abc abcab cab" * 9, 14)
    tokens = [*range(97, 100), *plain.merge_results[:3].tolist()]
    pairs = {pair: checked(plain, pair).verdict == "canonical" for pair in product(tokens, repeat=2)}
    for ids in product(tokens, repeat=3):
        alone = pairs[ids[0], ids[1]] and pairs[ids[1], ids[2]]
        assert (checked(plain, ids).verdict == "canonical") == alone
