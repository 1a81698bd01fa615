"""Short texts, and long ones without a pattern, are encoded in ways of their own: with the tokens of merging."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.reference import encode_slowly
from tokstudio import ConfigError, Corpus, Tokenizer, TrainingConfig, train
from tokstudio.core.base.progress import finish
from tokstudio.core.kernels import longest_match
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.pretokenization.patterns import NAMES, splitter
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.tokenizer import encoder, known_words, little_text
from tokstudio.core.tokenizer.known_words import KnownWords
from tokstudio.core.tokenizer.little_text import LittleTexts
from tokstudio.core.tokenizer.merge_table import MergeTable

# --- Short texts are encoded as long ones -----------------------------------------------------------------------------

TEXT = "the cat sat on the mat, and that's that: the rat sat in the hat. Zürich 123 <|end|> 日本\n" * 9
texts = st.lists(st.sampled_from([*TEXT.split(" "), " ", "\n", "'s", "x"]), max_size=30).map(" ".join)


def trained(pattern, **more):
    config = TrainingConfig(vocabulary_size=330, pattern=pattern, special_tokens=("<|end|>",), **more)
    return train(Corpus.from_texts([TEXT]), config)


TRAINED = {pattern: trained(pattern) for pattern in NAMES}
OWN = trained(r"\p{L}+|[^\p{L}]")


def by_arrays(tokenizer, text, allowed=()):
    return finish(tokenizer.encode_work(text, allowed)).tolist()


@pytest.mark.parametrize("pattern", NAMES)
@given(text=st.one_of(texts, st.binary(max_size=300)))
def test_a_short_text_has_the_ids_that_it_has_among_arrays(pattern, text):
    tokenizer = TRAINED[pattern]
    assert tokenizer.encode(text) == by_arrays(tokenizer, text)
    assert tokenizer.encode_array(text).dtype == np.uint32
    assert tokenizer.encode_array(text).tolist() == by_arrays(tokenizer, text)
    assert tokenizer.encode(text, "all") == by_arrays(tokenizer, text, "all")


@given(some=st.lists(texts, min_size=1, max_size=6))
def test_known_words_are_forgotten_when_there_are_too_many(some):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known_words, "MOST_KNOWN", 3)
        tokenizer = TRAINED["gpt2"].at(30)
        for text in some:
            assert tokenizer.encode(text) == by_arrays(tokenizer, text)


def test_fewer_merges_dropout_supermerges_and_characters_have_ids_of_their_own():
    tokenizer = TRAINED["gpt2"]
    text = "the cat sat on the mat"
    assert tokenizer.encode(text) == by_arrays(tokenizer, text)
    assert tokenizer.at(5).encode(text) == by_arrays(tokenizer.at(5), text) != tokenizer.encode(text)
    broken = tokenizer.with_dropout(0.9, seed=1)
    assert broken.encode(text) == by_arrays(broken, text) != tokenizer.encode(text)
    assert broken.with_dropout(0).encode(text) == tokenizer.encode(text)
    joining = trained("gpt2", algorithm="boundless")
    assert joining.supermerges is not None
    assert joining.encode(text) == by_arrays(joining, text)
    for specials, words in ((["<|nothing|>"], "no special token"), ("", "list")):
        with pytest.raises(ConfigError, match=words):
            tokenizer.encode("the", specials)
    characters = trained("gpt2", base="characters")
    assert characters.encode("the cat") == by_arrays(characters, "the cat")
    for unknown in ("the ÿ", b"the c\xffat"):
        with pytest.raises(ConfigError, match="vocabulary"):
            characters.encode(unknown)


@pytest.fixture
def many_whole():
    """A tokenizer with 300 whole words; and the calls of the table of words, as they come."""
    spelled = {1_000 + n: b" cat%d" % n if n % 2 else b"%d" % n for n in range(300)}
    tokenizer = TRAINED["gpt2"].changed(extra_tokens=spelled, whole_words=list(spelled))
    calls, look_up = [], KnownWords.look_up
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KnownWords, "look_up", lambda *given: calls.append(1) or look_up(*given))
        yield tokenizer, calls


@pytest.mark.parametrize("at_once", [7, 1 << 16])
def test_whole_words_cost_a_text_little(many_whole, monkeypatch, at_once):
    monkeypatch.setattr("tokstudio.core.tokenizer.encoder.MOST_WORDS", at_once)
    monkeypatch.setattr("tokstudio.core.tokenizer.known_words.MOST_WORDS", at_once)
    monkeypatch.setattr(known_words, "MOST_KNOWN", 3)
    tokenizer, calls = many_whole
    merged = {word: encode_slowly(word, tokenizer.merges.tolist()) for word in (b"the", b" cat", b" sat", b" 2")}
    for n in range(0, 300, 50):
        text = f"the cat{n + 1} cat sat 2"  # a letter and a digit are two words
        ids = [*merged[b"the"], *merged[b" cat"], *tokenizer.encode(f"{n + 1}"), *merged[b" cat"], *merged[b" sat"]]
        assert tokenizer.encode(text) == [*ids, *merged[b" 2"]] == by_arrays(tokenizer, text)
        assert tokenizer.encode(f"{n}") == [1_000 + n] == by_arrays(tokenizer, f"{n}")
    assert len(calls) < 300 / min(at_once, 50) + 50


# --- A little text is encoded without the compiled loops, as they encode it -------------------------------------------


def by_plain_python(tokenizer, text):
    words = {tokenizer.tokens[token]: token for token in tokenizer.whole_words}
    raw = text.encode() if isinstance(text, str) else text
    return LittleTexts(tokenizer.content, words).encode(raw)


@pytest.mark.parametrize("pattern", [*NAMES, OWN.pattern])
@given(text=st.one_of(texts, st.text(max_size=99)), merges=st.integers(0, 73))
def test_a_little_text_has_the_ids_that_the_loops_give(pattern, text, merges):
    tokenizer = OWN if pattern not in NAMES else TRAINED[pattern]
    tokenizer = tokenizer.at(min(merges, len(tokenizer.merges)))
    if max(map(len, splitter(pattern).split(text)), default=0) <= little_text.LONGEST_WORD:
        assert by_plain_python(tokenizer, text) == by_arrays(tokenizer, text)


@settings(max_examples=50)
@given(st.data())
def test_a_little_text_has_the_tokens_of_merging_by_any_merges(data):
    merges, results = data.draw(merge_lists())
    text = data.draw(st.lists(st.sampled_from(LETTERS), max_size=40).map(bytes))
    tokenizer = Tokenizer(merges, results)
    limit = data.draw(st.integers(0, len(merges)))
    slowly = encode_slowly(text, merges[:limit].tolist(), results.tolist())
    assert by_plain_python(tokenizer.at(limit), text) == slowly == by_arrays(tokenizer.at(limit), text)


def test_a_little_text_that_the_loops_must_encode_is_left_to_them():
    tokenizer, characters = TRAINED["gpt2"], trained("gpt2", base="characters")
    assert by_plain_python(characters, "the cat") == by_arrays(characters, "the cat")
    assert by_plain_python(characters, "the ÿ") is None
    assert by_plain_python(tokenizer, b"the c\xffat") is None
    assert by_plain_python(tokenizer, "t" * little_text.LONGEST_WORD) is not None
    assert by_plain_python(tokenizer, "t" * (little_text.LONGEST_WORD + 1)) is None
    little = LittleTexts(tokenizer.content, {})
    assert [little.encode(b"the " * 900) is None for _ in range(6)] == [False] * 4 + [True] * 2
    changed = [
        tokenizer.with_dropout(0.5),
        trained("gpt2", algorithm="boundless"),
        trained("gpt2", algorithm="picky"),
        tokenizer.changed(preparation=Preparation(nfc=True)),
        tokenizer.changed(preparation=Preparation(prefix_space=True)),
    ]
    assert not any(LittleTexts.can_use(other.content) for other in changed)
    assert LittleTexts.can_use(tokenizer.content)


def test_whole_words_unknown_characters_and_ranks_of_any_order_are_those_of_the_loops():
    whole = TRAINED["gpt2"].changed(extra_tokens={1_000: b" catsat", 1_001: b"12"}, whole_words=[1_000, 1_001])
    ids = by_arrays(whole, "the catsat 12")
    assert 1_000 in ids
    assert by_plain_python(whole, "the catsat 12") == ids
    unknown = trained("none", base="characters", unknown_token="<|end|>")
    assert by_plain_python(unknown, "the ÿ cat") == by_arrays(unknown, "the ÿ cat")
    # The merge of rank 0 joins a token that only that of rank 1 makes.
    late = Tokenizer(np.array([[300, 99], [97, 98]], np.int32), np.array([301, 300], np.int32), checked=True)
    for merges in range(3):
        assert by_plain_python(late.at(merges), "abcab") == by_arrays(late.at(merges), "abcab")
    assert by_plain_python(late, "abc") == [301]


def test_only_the_first_little_texts_of_a_process_are_encoded_without_the_compiler():
    script = """
import sys
import numpy as np
from tokstudio import Tokenizer
late = {"special_tokens": {"<|end|>": 300}, "pattern": "cl100k"}
tokenizer = Tokenizer(np.array([[104, 101]], np.int32), np.array([256], np.int32), **late)
assert tokenizer.encode("he's größer <|end|>")[:3] == [256, 39, 115]
assert tokenizer.encode_array(b"the").tolist() == [116, 256]
assert tokenizer.decode([116, 256]) == "the"
assert "numba" not in sys.modules
sys.modules["numba"] = None  # who imports it now fails
try:
    tokenizer.encode("he<|end|>", "all")
except ImportError:
    print("asks for the compiler")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "asks for the compiler\n"), done.stderr


# --- Long texts, encoded by longest matches: the same tokens as by merging --------------------------------------------

LETTERS = b"abc"


@st.composite
def merge_lists(draw):
    """Valid merges of three letters with ids in any order; pairs and spellings may be repeated."""
    ids = draw(st.permutations(range(300, 300 + draw(st.integers(1, 10)))))
    known, merges = list(LETTERS), []
    for result in ids:
        merges.append([draw(st.sampled_from(known)), draw(st.sampled_from(known))])
        known.append(result)
    return np.array(merges, np.int32), np.array(ids, np.int32)


@settings(max_examples=50)
@given(merge_lists(), st.lists(st.sampled_from(LETTERS), min_size=1, max_size=40).map(bytes), st.data())
def test_a_text_has_the_tokens_of_merging(made, text, data):
    merges, results = made
    tokenizer = Tokenizer(merges, results)
    assert MergeTable(merges, results).trie_for(tokenizer.alphabet, len(merges)) is not None
    limit = data.draw(st.integers(0, len(merges)))
    # As long as it needs to be for longest matches.
    text *= 1 + len(merges) // len(text)
    assert tokenizer.at(limit).encode(text) == encode_slowly(text, merges[:limit].tolist(), results.tolist())


@settings(max_examples=80)
@given(
    merge_lists(),
    st.lists(st.sampled_from(LETTERS), min_size=1, max_size=9).map(bytes),
    st.lists(st.sampled_from(LETTERS), max_size=9).map(bytes),
    st.data(),
)
def test_a_text_that_is_cut_anywhere_has_the_tokens_of_merging(made, text, end, data):
    """Long runs of the same letters, where the tokens behind a cut depend on all that is before it, too."""
    merges, results = made
    text = text * data.draw(st.integers(1, 12)) + end
    limit = data.draw(st.integers(0, len(merges)))
    tokenizer = Tokenizer(merges, results).at(limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "MATCHED", data.draw(st.integers(1, 20)))
        tokenizer.encode(LETTERS * 4)  # so much makes the trie
        ids = tokenizer.encode_array(text, threads=2).tolist()
    assert ids == encode_slowly(text, merges[:limit].tolist(), results.tolist())


def test_a_merge_may_name_a_token_that_nothing_makes():
    # Far beyond the others, so that a read there does not go unnoticed.
    merges, extra = [[97, 1_000_000], [97, 98]], {1_000_000: b"x"}
    tokenizer = Tokenizer(np.array(merges, np.int32), np.array([300, 301], np.int32), extra_tokens=extra)
    assert tokenizer.encode("abba" * 9) == [301, 98, 97] * 9


@pytest.mark.parametrize("text", ["a" * 999, "ab" * 500 + "a", " " * 64 + "a" + " " * 65])
def test_runs_are_merged_from_the_left(text):
    tokenizer = train(Corpus.from_text(text), TrainingConfig(vocabulary_size=300, pattern="none", min_frequency=2))
    assert tokenizer.encode(text) == encode_slowly(text.encode(), tokenizer.merges.tolist())


def test_a_text_of_many_kinds_has_the_tokens_of_merging(monkeypatch):
    text = "".join(f"{n} {n * n:x} naïve 漢字{n % 7} \n\tdef f_{n}(x): return x**{n % 13}\n" for n in range(1_000))
    tokenizer = train(Corpus.from_text(text[::2]), TrainingConfig(vocabulary_size=1_500, pattern="none"))
    matched = tokenizer.encode_array(text, threads=1)
    for size in (300, 50_000):
        monkeypatch.setattr(encoder, "MATCHED", size)
        assert np.array_equal(matched, tokenizer.encode_array(text, threads=3))
    monkeypatch.setattr(MergeTable, "trie_for", lambda *_: None)
    assert np.array_equal(matched, tokenizer.encode_array(text))
    assert tokenizer.decode(matched) == text


def test_a_trie_of_many_characters_has_the_tokens_of_merging(monkeypatch):
    """Their numbers have gaps, and far more follow one character than have room in a row of free places."""
    characters = np.array([chr(0x4E00 + k) for k in range(2_000)])
    chosen = np.minimum(np.random.default_rng(5).geometric(0.01, 40_000), 1_999)
    text = "".join(characters[chosen]) + "".join("\u4e01" + character for character in characters)
    trained_one = train(
        Corpus.from_text(text), TrainingConfig(vocabulary_size=4_500, base="characters", pattern="none")
    )
    tokenizer = trained_one.changed()
    matched = tokenizer.encode_array(text, threads=1)
    monkeypatch.setattr(encoder, "MATCHED", 999)
    assert np.array_equal(matched, tokenizer.encode_array(text, threads=2))
    monkeypatch.setattr(MergeTable, "trie_for", lambda *_: None)
    assert np.array_equal(matched, tokenizer.encode_array(text))
    assert tokenizer.decode(matched) == text


@pytest.mark.parametrize("text", ["xab", "ab" * 9 + "x", "xx" * 9, "abxcxabcx" * 50])
def test_a_token_of_merges_may_stand_for_unknown_characters(text):
    merges, results = [[0, 1], [3, 2], [4, 3]], [3, 4, 5]
    alphabet = replace(Alphabet.of_characters("abc"), unknown=4)
    tokenizer = Tokenizer(np.array(merges, np.int32), np.array(results, np.int32), alphabet=alphabet)
    base = {"a": 0, "b": 1, "c": 2}
    characters = [base.get(character, 4) for character in text]
    assert tokenizer.encode(text) == encode_slowly(bytes(characters), merges, results)


def test_a_trie_suits_the_alphabet_that_asks_for_it(monkeypatch):
    """Though another thread has made a smaller one meanwhile."""
    table = MergeTable(np.array([[97, 98]], np.int32), np.array([256], np.int32))
    small = table.trie_for(Alphabet.of_bytes(), 9)
    large, describe = Alphabet.of_bytes([*range(255), 700]), longest_match.describe

    def interrupted(*given):
        monkeypatch.setattr(type(table), "_trie", property(lambda _: small, lambda *_: None), raising=False)
        return describe(*given)

    monkeypatch.setattr(longest_match, "describe", interrupted)
    trie = table.trie_for(large, 9)
    assert trie is not None
    assert len(trie.numbers) == 701


def test_only_many_short_texts_make_a_trie_and_no_tokens_that_are_too_long_for_one():
    merges = np.array([[97, 98], [98, 99], [99, 100]], np.int32)
    table = MergeTable(merges, np.array([256, 257, 258], np.int32))
    assert table.trie_for(Alphabet.of_bytes(), 2) is None
    assert table.trie_for(Alphabet.of_bytes(), 2) is not None
    # Each token is two of the one before: the last has 2**30 bytes.
    merges = np.array([[97, 97], *([256 + k, 256 + k] for k in range(29))], np.int32)
    tokenizer = Tokenizer(merges)
    assert tokenizer.encode("a" * 37) == [256 + 4, 256 + 1, 97]
    assert MergeTable(merges, tokenizer.merge_results).trie_for(tokenizer.alphabet, 100) is None
