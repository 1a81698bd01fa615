"""BPE-dropout against its definition, and how often merges are passed over."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import itertools
import pickle
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import models, pre_tokenizers

from tests.core.texts import patient
from tokstudio import ConfigError, Corpus, Tokenizer, TrainingConfig, load, train
from tokstudio.core.analysis.encoding_steps import steps_work
from tokstudio.core.base.progress import finish
from tokstudio.core.pretokenization.patterns import splitter
from tokstudio.core.tokenizer.dropout import Dropout

TEXT = "the cat sat on the mat, the rat ate the hat — 日本語の日本. " * 5
ABC = {token: bytes([token]) for token in range(256)} | {256: b"ab", 257: b"bc", 258: b"abc"}


def trained(**settings):
    return train(Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=320, **settings))


@pytest.fixture(scope="module")
def tokenizers():
    of_characters = TrainingConfig(vocabulary_size=60, base="characters", special_tokens=["<?>"], unknown_token="<?>")
    return {
        "gpt2": trained(pattern="gpt2"),
        "none": trained(),
        "characters": train(Corpus.from_text(TEXT), of_characters),
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


@patient
@given(
    which=st.sampled_from(["gpt2", "none", "characters"]),
    text=st.text("theca o日,?\n", max_size=40) | st.sampled_from([TEXT, "\x00", "the " * 30]),
    probability=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
    seed=st.integers(0, 2**63 - 1),
)
def test_it_is_the_definition_and_the_steps_show_the_same(tokenizers, which, text, probability, seed):
    tokenizer = tokenizers[which].with_dropout(probability, seed)
    expected = naive(tokenizer, text, Dropout(probability, seed))
    assert tokenizer.encode(text) == expected
    assert finish(steps_work(tokenizer, text)).tokens.ids.tolist() == expected
    if which != "characters":
        assert tokenizer.decode(expected) == text


def test_never_is_the_tokenizer_and_always_leaves_the_base_tokens(tokenizers):
    tokenizer = tokenizers["gpt2"]
    assert tokenizer.with_dropout(0).encode(TEXT) == tokenizer.encode(TEXT)
    assert tokenizer.with_dropout(0.5).with_dropout(0).dropout is None
    assert bytes(tokenizer.with_dropout(1).encode(TEXT)) == TEXT.encode()


def shares(tokenizer, text, probability, times=4000):
    found = Counter(tuple(tokenizer.with_dropout(probability, seed).encode(text)) for seed in range(times))
    return {ids: count / times for ids, count in found.items()}


def test_small_words_fall_apart_as_often_as_expected():
    # "ab" is tried first, then "bc", then again after each merge.
    rivals = Tokenizer.from_parts(ABC, [(b"a", b"b"), (b"b", b"c")])
    assert shares(rivals, "abc", 0.3) == pytest.approx({(256, 99): 0.7, (97, 257): 0.21, (97, 98, 99): 0.09}, abs=0.02)
    chain = Tokenizer.from_parts(ABC, [(b"a", b"b"), (b"ab", b"c")])
    assert shares(chain, "abc", 0.3) == pytest.approx({(258,): 0.49, (256, 99): 0.21, (97, 98, 99): 0.3}, abs=0.02)


def test_the_library_of_hugging_face_passes_over_about_as_often():
    merges = [("a", "b"), ("b", "c"), ("ab", "c")]
    vocabulary = {"a": 97, "b": 98, "c": 99, "ab": 256, "bc": 257, "abc": 258}
    library = LibraryTokenizer(models.BPE(vocab=vocabulary, merges=merges, dropout=0.4))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs = Counter(tuple(library.encode("abcab").ids) for _ in range(30_000))
    ours = shares(Tokenizer.from_parts(ABC, [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c")]), "abcab", 0.4, 6000)
    # It tries again also after a merge that is no longer possible, so that it merges a little more often.
    assert ours == pytest.approx({ids: count / 30_000 for ids, count in theirs.items()}, abs=0.06)


def test_the_same_seed_gives_the_same_and_a_part_is_as_in_the_whole(tokenizers):
    tokenizer = tokenizers["gpt2"].with_dropout(0.5, 3)
    assert tokenizer.encode(TEXT) == tokenizer.encode(TEXT) == pickle.loads(pickle.dumps(tokenizer)).encode(TEXT)
    assert tokenizer.encode(TEXT) != tokenizer.with_dropout(0.5, 4).encode(TEXT)
    begun = tokenizer.encode(TEXT[:60] + " ")
    assert tokenizer.encode(TEXT)[: len(begun) - 3] == begun[:-3]


def test_special_tokens_stay_and_a_playhead_keeps_the_dropout():
    tokenizer = trained(pattern="gpt2", special_tokens=["<|end|>"]).with_dropout(0.5, 1)
    end = tokenizer.special_tokens["<|end|>"]
    ids = tokenizer.encode("the<|end|><|end|> hat", "all")
    assert ids.count(end) == 2
    assert tokenizer.decode(ids) == "the<|end|><|end|> hat"
    assert tokenizer.encode("", "all") == []
    assert tokenizer.at(5).encode(TEXT) == naive(tokenizer.at(5), TEXT, tokenizer.dropout)
    full = finish(steps_work(tokenizer, TEXT))
    assert full.at(5).tokens.ids.tolist() == tokenizer.at(5).encode(TEXT)


def test_whole_words_are_merged_like_others():
    tokenizer = Tokenizer.from_parts(ABC, [(b"a", b"b")], "gpt2").changed(whole_words=[258])
    assert tokenizer.encode("abc") == [258]
    dropped = tokenizer.with_dropout(1e-9)
    assert dropped.encode("abc") == [256, 99]
    assert finish(steps_work(dropped, "abc")).tokens.ids.tolist() == [256, 99]


@pytest.mark.parametrize(
    ("probability", "seed", "words"),
    [(-0.1, 0, "from 0 to 1"), (1.1, 0, "from 0 to 1"), (float("nan"), 0, "from 0 to 1"), (0.1, -1, "seed of dropout")],
)
def test_what_is_no_dropout_is_refused(tokenizers, probability, seed, words):
    with pytest.raises(ConfigError, match=words):
        tokenizers["gpt2"].with_dropout(probability, seed)
    with pytest.raises(ConfigError, match="seed of dropout"):
        Dropout(0.1, 2**63)


def test_a_text_that_nothing_splits_is_refused_when_it_is_too_long(tokenizers):
    with pytest.raises(ConfigError, match="pre-tokens of at most 1,048,576"):
        tokenizers["none"].with_dropout(0.1).encode("a" * ((1 << 20) + 1))


def test_a_library_that_encodes_itself_is_refused(tmp_path):
    library = LibraryTokenizer(models.WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    library.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ConfigError, match="cannot be passed over"):
        load(tmp_path / "tokenizer.json").with_dropout(0.1)
