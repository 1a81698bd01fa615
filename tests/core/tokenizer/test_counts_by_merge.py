"""The counts of tokens after fewer merges, compared with encoding with fewer merges."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import itertools
import json
import pickle
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import models

from tests.core.texts import documents, settings_of_runs
from tokstudio import ConfigError, Corpus, Tokenizer, TrainingConfig, load, save
from tokstudio import train as train_on
from tokstudio.core.analysis.encoding_steps import steps_work
from tokstudio.core.base.progress import finish
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.pretokenization.patterns import splitter
from tokstudio.core.tokenizer.counts_by_merge import counts_at, counts_by_merge_work, why_not_by_merge
from tokstudio.core.tokenizer.dropout import Dropout

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


@given(tokenizers(), st.lists(st.text("abcd <s>\n", max_size=40), max_size=6))
def test_any_valid_tokenizer_has_the_counts_that_fewer_merges_give(made, texts):
    tokenizer, is_exact = made
    if not is_exact:
        with pytest.raises(ConfigError, match="same bytes"):
            counts_at(tokenizer, counts(tokenizer, texts), 0)
        return
    spelled = [(tokenizer.tokens[token] or b"").decode() for token in tokenizer.whole_words]
    check(tokenizer, [*texts, *spelled, *(f"{word} {word}" for word in spelled)])


@given(documents, settings_of_runs, st.sampled_from(["none", "gpt2"]), st.sampled_from(["bytes", "characters"]))
def test_a_trained_tokenizer_has_the_counts_that_fewer_merges_give(texts, settings, pattern, base):
    decoded = [text.decode("utf-8", "replace") for text in texts]
    if base == "characters" or any(decoded):
        settings = {"min_frequency": 2} if base == "characters" else settings
        check(train(decoded, pattern=pattern, base=base, **settings), decoded)


def test_a_word_that_is_whole_only_from_its_merge_on_is_merged_before_it():
    a, b, c = b"abc"
    # Merging makes ab and c of "abc", as ab comes first.
    merges = np.array([[a, b], [b, c], [a, 257], [c, c]], np.int32)
    tokenizer = Tokenizer(merges, pattern="gpt2", whole_words=[258])
    assert tokenizer.encode("abc") == [258]
    found = finish(counts_by_merge_work(tokenizer, counts(tokenizer, ["abc"] * 5)))
    assert found.tokens.tolist() == [15, 10, 10, 5, 5]
    check(tokenizer, ["abc"] * 5 + ["abcabc abc"])
    # A long text that is one sequence; and no counts after more merges than there are.
    tokenizer = train(TEXT, vocabulary_size=290)
    check(tokenizer, [TEXT * 20, "aaaa" * 500])
    with pytest.raises(ConfigError, match="There is no merge"):
        counts_at(tokenizer, counts(tokenizer, [TEXT]), len(tokenizer.merges) + 1)


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


# --- BPE-dropout against its definition, and how often merges are passed over -----------------------------------------

MANY_WORDS = "the cat sat on the mat, the rat ate the hat — 日本語の日本. " * 5
ABC = {token: bytes([token]) for token in range(256)} | {256: b"ab", 257: b"bc", 258: b"abc"}


def trained(**settings):
    return train_on(Corpus.from_text(MANY_WORDS), TrainingConfig(vocabulary_size=320, **settings))


@pytest.fixture(scope="module")
def by_pattern():
    of_characters = TrainingConfig(vocabulary_size=60, base="characters", special_tokens=["<?>"], unknown_token="<?>")
    return {
        "gpt2": trained(pattern="gpt2"),
        "none": trained(),
        "characters": train_on(Corpus.from_text(MANY_WORDS), of_characters),
    }


def naive(tokenizer, text, dropout):
    """The definition: at each step all merges that apply are tried in order, and the first that is kept is done."""
    ranks = {}
    for rank, (pair, result) in enumerate(
        zip(tokenizer.merges.tolist(), tokenizer.merge_results.tolist(), strict=True)
    ):
        ranks.setdefault(tuple(pair), (rank, result))
    made, start = [], 0
    for word in splitter(tokenizer.pattern).split(text):
        whole, passes = tokenizer.alphabet, dropout.passes(start)
        ids = (whole.id_of[list(word)] if whole.base == "bytes" else whole.ids_of(word.decode())).tolist()
        while True:
            pairs = [(ranks[pair][0], at) for at, pair in enumerate(itertools.pairwise(ids)) if pair in ranks]
            kept = next((each for each in sorted(pairs) if not next(passes)), None)
            if kept is None:
                break
            at = kept[1]
            ids[at : at + 2] = [ranks[ids[at], ids[at + 1]][1]]
        made += ids
        start += len(word)
    return made


@given(
    which=st.sampled_from(["gpt2", "none", "characters"]),
    text=st.text("theca o日,?\n", max_size=40) | st.sampled_from([MANY_WORDS, "\x00", "the " * 30]),
    probability=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
    seed=st.integers(0, 2**63 - 1),
)
def test_it_is_the_definition_and_the_steps_show_the_same(by_pattern, which, text, probability, seed):
    tokenizer = by_pattern[which].with_dropout(probability, seed)
    expected = naive(tokenizer, text, Dropout(probability, seed))
    assert tokenizer.encode(text) == expected
    assert finish(steps_work(tokenizer, text)).tokens.ids.tolist() == expected
    if which != "characters":
        assert tokenizer.decode(expected) == text


def shares(merges, word, probability, times=4000):
    """How often a word that stands many times in a text becomes which tokens."""
    tokenizer = Tokenizer.from_parts(ABC, merges, pattern=f"(?:{word})").with_dropout(probability, 1)
    found, ids, spelled = Counter(), [], b""
    for token in tokenizer.encode(word * times):
        ids.append(token)
        spelled += tokenizer.tokens[token]
        if spelled == word.encode():
            found[tuple(ids)] += 1
            ids, spelled = [], b""
    return {ids: count / times for ids, count in found.items()}


def test_small_words_fall_apart_as_often_as_expected():
    # "ab" is tried first, then "bc", then again after each merge.
    rivals = [(b"a", b"b"), (b"b", b"c")]
    assert shares(rivals, "abc", 0.3) == pytest.approx({(256, 99): 0.7, (97, 257): 0.21, (97, 98, 99): 0.09}, abs=0.02)
    chain = [(b"a", b"b"), (b"ab", b"c")]
    assert shares(chain, "abc", 0.3) == pytest.approx({(258,): 0.49, (256, 99): 0.21, (97, 98, 99): 0.3}, abs=0.02)


def test_the_same_seed_gives_the_same_and_a_part_is_as_in_the_whole(by_pattern):
    whole = by_pattern["gpt2"]
    assert whole.with_dropout(0).encode(MANY_WORDS) == whole.encode(MANY_WORDS)
    assert whole.with_dropout(0.5).with_dropout(0).dropout is None
    assert bytes(whole.with_dropout(1).encode(MANY_WORDS)) == MANY_WORDS.encode()
    tokenizer = by_pattern["gpt2"].with_dropout(0.5, 3)
    for same in (tokenizer, pickle.loads(pickle.dumps(tokenizer))):
        assert same.encode(MANY_WORDS) == tokenizer.encode(MANY_WORDS)
    assert tokenizer.encode(MANY_WORDS) != tokenizer.with_dropout(0.5, 4).encode(MANY_WORDS)
    begun = tokenizer.encode(MANY_WORDS[:60] + " ")
    assert tokenizer.encode(MANY_WORDS)[: len(begun) - 3] == begun[:-3]


def test_special_tokens_stay_and_a_playhead_keeps_the_dropout():
    tokenizer = trained(pattern="gpt2", special_tokens=["<|end|>"]).with_dropout(0.5, 1)
    end = tokenizer.special_tokens["<|end|>"]
    ids = tokenizer.encode("the<|end|><|end|> hat", "all")
    assert ids.count(end) == 2
    assert tokenizer.decode(ids) == "the<|end|><|end|> hat"
    assert tokenizer.encode("", "all") == []
    assert tokenizer.at(5).encode(MANY_WORDS) == naive(tokenizer.at(5), MANY_WORDS, tokenizer.dropout)
    full = finish(steps_work(tokenizer, MANY_WORDS))
    assert full.at(5).tokens.ids.tolist() == tokenizer.at(5).encode(MANY_WORDS)
    # Whole words are merged like others.
    whole = Tokenizer.from_parts(ABC, [(b"a", b"b")], "gpt2").changed(whole_words=[258])
    assert whole.encode("abc") == [258]
    dropped = whole.with_dropout(1e-9)
    assert dropped.encode("abc") == finish(steps_work(dropped, "abc")).tokens.ids.tolist() == [256, 99]


def test_a_word_that_is_longer_than_what_an_expression_is_tried_on_at_once_drops_merges_like_others():
    pairs = np.array([[97, 97], [256, 256]], np.int32)
    text = "a" * 300_000 + " b"
    own, named = (Tokenizer(pairs, pattern=pattern).with_dropout(0.3, 5) for pattern in (r" ?[a-z]+|[\s\S]", "gpt2"))
    ids = own.encode(text)
    assert ids == named.encode(text)
    assert own.decode(ids) == text
    assert {97, 256, 257} <= set(ids)
    with pytest.raises(ConfigError, match=r"A pre-token has 1,048,577 bytes"):
        own.encode("a" * (1 << 20) + "a")


@pytest.mark.parametrize(
    ("probability", "seed", "words"),
    [
        (-0.1, 0, "from 0 to 1"),
        (1.1, 0, "from 0 to 1"),
        (float("nan"), 0, "be a number"),
        ("0.1", 0, "be a number"),
        (0.1, -1, "seed of dropout"),
    ],
)
def test_what_is_no_dropout_is_refused(tmp_path, by_pattern, probability, seed, words):
    with pytest.raises(ConfigError, match=words):
        by_pattern["gpt2"].with_dropout(probability, seed)
    with pytest.raises(ConfigError, match="seed of dropout"):
        Dropout(0.1, 2**63)
    with pytest.raises(ConfigError, match="pre-tokens of at most 1,048,576"):
        by_pattern["none"].with_dropout(0.1).encode("a" * ((1 << 20) + 1))
    library = LibraryTokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    library.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ConfigError, match="cannot be passed over"):
        load(tmp_path / "tokenizer.json").with_dropout(0.1)
