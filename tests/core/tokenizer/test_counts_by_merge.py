"""The counts of tokens after fewer merges, compared with encoding with fewer merges."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.texts import documents, patient, settings_of_runs
from tokstudio import ConfigError, Corpus, Tokenizer, TrainingConfig, load, save
from tokstudio import train as train_on
from tokstudio.core.base.progress import finish
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.tokenizer.counts_by_merge import counts_at, counts_by_merge_work, why_not_by_merge

TEXT = "a cab, abba cab; abcabc <s> bad dad caab\n" * 3


def train(texts, **settings):
    corpus = Corpus.from_texts([texts] if isinstance(texts, str) else texts)
    return train_on(corpus, TrainingConfig(**settings))


def counts(tokenizer, texts):
    ids = [np.zeros(0, np.int64), *(tokenizer.encode_array(text).astype(np.int64) for text in texts)]
    return np.bincount(np.concatenate(ids), minlength=len(tokenizer.tokens)).astype(np.int64)


def check(tokenizer, texts):
    """Compares the counts and the numbers of tokens after each number of merges with encoding."""
    whole = counts(tokenizer, texts)
    found = finish(counts_by_merge_work(tokenizer, whole))
    expected = [counts(tokenizer.at(k), texts) for k in range(len(tokenizer.merges) + 1)]
    for k, anew in enumerate(expected):
        here = found.at(k)
        assert here[: len(anew)].tolist() == anew.tolist(), f"after {k} merges"
        assert not here[len(anew) :].any()
        assert counts_at(tokenizer, whole, k).tolist() == here.tolist()
    assert found.tokens.tolist() == [int(anew.sum()) for anew in expected]


@st.composite
def tokenizers(draw):
    """Tokenizers of valid merges in any order, with ids in any order, and with tokens that no merge makes."""
    letters = "abcd "
    size = draw(st.integers(0, 14))
    ids = draw(st.permutations(range(300, 300 + size + 3)))
    known = list(letters.encode())
    extra = {number: draw(st.text(letters, min_size=1, max_size=4)).encode() for number in ids[size:]}
    known += list(extra) if draw(st.booleans()) else []
    merges, results = [], ids[:size]
    for result in results:
        # A pair may be repeated: then the first counts.
        merges.append((draw(st.sampled_from(known)), draw(st.sampled_from(known))))
        known.append(result)
    whole = {token for token in [*results, *extra] if draw(st.booleans())}
    made = Tokenizer(
        np.array(merges, np.int32).reshape(-1, 2),
        np.array(results, np.int32),
        pattern=draw(st.sampled_from(["none", "gpt2", "cl100k", r"\S+|\s+"])),
        special_tokens={"<s>": 400, "ab": 401},
        extra_tokens=extra,
        whole_words=whole,
    )
    words = [made.tokens[token] for token in whole]
    return made, len(set(words)) == len(words)


@patient
@given(tokenizers(), st.lists(st.text("abcd <s>\n", max_size=40), max_size=6))
def test_any_valid_tokenizer_has_the_counts_that_fewer_merges_give(made, texts):
    tokenizer, is_exact = made
    if not is_exact:
        with pytest.raises(ConfigError, match="same bytes"):
            counts_at(tokenizer, counts(tokenizer, texts), 0)
        return
    spelled = [(tokenizer.tokens[token] or b"").decode() for token in tokenizer.whole_words]
    check(tokenizer, [*texts, *spelled, *(f"{word} {word}" for word in spelled)])


@patient
@given(documents, settings_of_runs, st.sampled_from(["none", "gpt2"]), st.sampled_from(["bytes", "characters"]))
def test_a_trained_tokenizer_has_the_counts_that_fewer_merges_give(texts, settings, pattern, base):
    decoded = [text.decode("utf-8", "replace") for text in texts]
    if base == "characters" or any(decoded):
        settings = {"min_frequency": 2} if base == "characters" else settings
        check(train(decoded, pattern=pattern, base=base, **settings), decoded)


def test_a_text_that_is_one_sequence_and_long():
    tokenizer = train(TEXT, vocabulary_size=290)
    check(tokenizer, [TEXT * 20, "aaaa" * 500])


def test_a_word_that_is_whole_only_from_its_merge_on_is_merged_before_it():
    a, b, c = b"abc"
    # Merging makes ab and c of "abc", as ab comes first.
    merges = np.array([[a, b], [b, c], [a, 257], [c, c]], np.int32)
    tokenizer = Tokenizer(merges, pattern="gpt2", whole_words=[258])
    assert tokenizer.encode("abc") == [258]
    found = finish(counts_by_merge_work(tokenizer, counts(tokenizer, ["abc"] * 5)))
    assert found.tokens.tolist() == [15, 10, 10, 5, 5]
    check(tokenizer, ["abc"] * 5 + ["abcabc abc"])


def test_whole_words_of_a_file_stay_whole(tmp_path):
    tokenizer = train("low lower lowest newer newest wide wider widest " * 20, vocabulary_size=290, pattern="gpt2")
    save(tokenizer, tmp_path / "tokenizer.json")
    content = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
    content["model"]["ignore_merges"] = True
    content["model"]["vocab"] |= {"widen": 500, "Ġlowered": 501}
    chosen = random.Random(3)
    chosen.shuffle(content["model"]["merges"][-3:])
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    opened = load(tmp_path / "tokenizer.json")
    assert opened.whole_words >= {500, 501}
    check(opened, ["widen lowered lowest", " widen widen", "newest wider " * 5])
    assert counts_at(opened, counts(opened, ["widen lowered"]), 0)[[500, 501]].tolist() == [1, 1]


def test_unknown_characters_are_counted_as_they_are():
    alphabet = replace(Alphabet.of_characters("ab", [0, 1]), unknown=7)
    tokenizer = Tokenizer(np.array([[0, 1], [7, 2]], np.int32), np.array([2, 3], np.int32), alphabet=alphabet,
                          special_tokens={"<unk>": 7}, checked=True)  # fmt: skip
    check(tokenizer, ["abxab", "xx", "xxabab"])


@pytest.mark.parametrize(
    ("merges", "results", "reason"),
    [
        ([[97, 98], [98, 99]], [256, 256], "make the same token"),
        ([[97, 257], [98, 99]], [256, 257], "only a later merge makes"),
        ([[97, 98]], [99], "before it is merged"),
    ],
)
def test_merges_that_do_not_follow_one_another_are_refused_with_the_reason(merges, results, reason):
    tokenizer = Tokenizer(np.array(merges, np.int32), np.array(results, np.int32), checked=True)
    assert reason in (why_not_by_merge(tokenizer) or "")
    with pytest.raises(ConfigError, match=reason):
        counts_at(tokenizer, np.zeros(300, np.int64), 0)


def test_there_are_no_counts_after_more_merges_than_there_are():
    tokenizer = train(TEXT, vocabulary_size=270)
    with pytest.raises(ConfigError, match="There is no merge"):
        counts_at(tokenizer, counts(tokenizer, [TEXT]), len(tokenizer.merges) + 1)
