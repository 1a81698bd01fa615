"""Encoding, compared with applying the merges one after another; decoding, with joining bytes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.reference import encode_slowly, named_pattern, pieces
from tests.core.texts import document, documents, settings_of_runs
from tokstudio import ConfigError, Corpus, Tokenizer, TrainingConfig, train
from tokstudio.core.base.progress import finish
from tokstudio.core.kernels.encode import STATE_SIZE, encode_sequence
from tokstudio.core.kernels.longest_match import ABOVE_AT, BEFORE_AT, LEAST, NO_TOKEN, ROW, TOKEN
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.tokenizer.merge_table import MergeTable


@st.composite
def tokenizers(draw):
    """Tokenizers as files may hold them: ids in any order and with gaps, merges that no training would have made."""
    merges = draw(st.integers(0, 30))
    ids = draw(st.permutations(range(0, 2 * (256 + merges), 2))) if draw(st.booleans()) else list(range(256 + merges))
    byte_ids, results = ids[:256], ids[256:]
    # Few bytes, so that the texts hold them.
    known = [byte_ids[byte] for byte in b"ab\0\xff"]
    pairs = []
    for result in results:
        pairs.append((draw(st.sampled_from(known)), draw(st.sampled_from(known))))
        known.append(result)
    alphabet = Alphabet.of_bytes(byte_ids)
    return Tokenizer(np.array(pairs, np.int32).reshape(-1, 2), np.array(results), alphabet=alphabet)


encodable = st.one_of(document, st.text("ab\0", max_size=60).map(str.encode), st.binary(max_size=60))
runs_of_ab = st.lists(st.sampled_from([b"a", b"b", b"ab", b"\xff", b"aaaa"]), max_size=40).map(b"".join)


def trained(*texts, size=300):
    return train(Corpus.from_texts(texts), TrainingConfig(vocabulary_size=size))


@given(tokenizers(), st.one_of(encodable, runs_of_ab))
def test_encoding_applies_the_merges_in_the_order_of_their_ranks(tokenizer, text):
    expected = encode_slowly(
        text, tokenizer.merges.tolist(), tokenizer.merge_results.tolist(), tokenizer.byte_ids.tolist()
    )
    ids = tokenizer.encode(text)
    assert ids == expected
    assert tokenizer.decode_bytes(ids) == text


@given(documents, settings_of_runs, encodable)
def test_a_trained_tokenizer_encodes_as_the_slow_loop_does(texts, chosen, text):
    tokenizer = train(Corpus.from_texts(texts), TrainingConfig(**chosen))
    for one in [text, *texts]:
        assert tokenizer.encode(one) == encode_slowly(one, tokenizer.merges.tolist())


@given(documents, st.data())
def test_at_equals_the_run_trained_to_as_many_merges(texts, data):
    corpus = Corpus.from_texts(texts)
    whole = train(corpus, TrainingConfig(vocabulary_size=330))
    merges = data.draw(st.integers(0, len(whole.merges)))
    earlier = whole.at(merges)
    assert earlier.at(merges).merges.tolist() == earlier.merges.tolist()
    if merges:
        shorter = train(corpus, TrainingConfig(vocabulary_size=256 + merges))
        assert earlier.merges.tolist() == shorter.merges.tolist()
        assert earlier.merge_results.tolist() == shorter.merge_results.tolist()
        assert earlier.tokens == shorter.tokens


@given(tokenizers(), st.one_of(encodable, runs_of_ab), st.data())
def test_at_encodes_with_the_first_merges_only_and_compact_closes_the_gaps(tokenizer, text, data):
    merges = data.draw(st.integers(0, len(tokenizer.merges)))
    earlier = tokenizer.at(merges)
    results, byte_ids = tokenizer.merge_results[:merges].tolist(), tokenizer.byte_ids.tolist()
    assert earlier.encode(text) == encode_slowly(text, tokenizer.merges[:merges].tolist(), results, byte_ids)
    assert len(earlier) == 256 + merges == sum(token is not None for token in earlier.tokens)
    compact = earlier.compact()
    assert len(compact) == len(compact.tokens) == len(earlier)
    assert list(compact.tokens) == [token for token in earlier.tokens if token is not None]
    assert [compact.tokens[i] for i in compact.encode(text)] == [earlier.tokens[i] for i in earlier.encode(text)]


@given(tokenizers())
def test_a_node_of_the_trie_says_which_of_the_tokens_behind_it_is_made_first(tokenizer):
    table = MergeTable(tokenizer.merges, tokenizer.merge_results)
    trie = table.trie_for(tokenizer.alphabet, 1 << 20)
    assert trie is not None
    merges, results = tokenizer.merges.tolist(), tokenizer.merge_results.tolist()
    byte_ids, number_of = tokenizer.byte_ids.tolist(), trie.numbers.tolist()
    # Each row: the row above, that before its next nodes, and a bit for each kind of these.
    rows = [(row >> ABOVE_AT & ROW, row >> BEFORE_AT & ROW, row & (1 << BEFORE_AT) - 1) for row in trie.nodes.tolist()]
    first, ends, kinds = {}, {}, dict.fromkeys(range(trie.base), 0)
    for result in results:
        if encode_slowly(tokenizer.tokens[result], merges, results, byte_ids) != [result]:
            continue
        spelling = [number_of[byte_ids[byte]] for byte in tokenizer.tokens[result]]
        row = spelling[0]
        for symbol in spelling[1:]:
            kinds[row] |= 1 << symbol % BEFORE_AT
            above, row = row, rows[row][1] ^ symbol
            assert rows[row][0] == above
            kinds.setdefault(row, 0)
            first[row] = min(first.get(row, NO_TOKEN), number_of[result])
        ends[row] = number_of[result]
    listed = [row for row, values in enumerate(rows) if values[0] != ROW]
    assert {row: trie.ends[LEAST, row] for row in listed} == first
    assert {row: trie.ends[TOKEN, row] for row in listed if trie.ends[TOKEN, row] != NO_TOKEN} == ends
    assert {row: rows[row][2] for row in kinds} == kinds


class TestLongTexts:
    def test_a_million_times_the_same_letter(self):
        tokenizer = trained("a" * 4096, size=268)
        ids = tokenizer.encode("a" * 1_000_000)  # 244 times 4,096, then 512 and 64
        assert ids == [267] * 244 + [264, 261]
        assert tokenizer.decode_bytes(ids) == b"a" * 1_000_000

    def test_a_long_text_is_encoded_in_pieces_that_report(self):
        tokenizer = trained("ab" * 50, size=262)
        seen = list(tokenizer.encode_work("ab" * 400_000))
        assert len(seen) > 2
        assert all(0 <= progress.done <= progress.total == 800_000 for progress in seen)
        assert [progress.done for progress in seen] == sorted(progress.done for progress in seen)

    def test_tokens_as_long_as_the_corpus_do_no_harm(self):
        """Where pairs that occur once are merged, all tokens together are quadratic in the corpus."""
        text = np.random.default_rng(1).integers(0, 256, 40_000, np.uint8).tobytes()
        tokenizer = trained(text, size=100_000)
        assert tokenizer.encode(text) == [len(tokenizer) - 1]
        assert tokenizer.tokens.length(len(tokenizer) - 1) == len(text)
        assert tokenizer.tokens.prefix(len(tokenizer) - 1, 5) == text[:5]
        assert len(tokenizer.at(len(tokenizer.merges) - 1).compact()) == len(tokenizer) - 1


@pytest.mark.parametrize("first_id", [0, (1 << 20) - 150, 1 << 20])
@pytest.mark.parametrize("lowest", ["a letter", "a special token"])
@pytest.mark.parametrize("pattern", ["gpt2", r"\s?\w+|\W"])
def test_words_of_any_number_of_tokens_among_special_tokens(first_id, lowest, pattern):
    """Up to three ids below 2**20 are kept in one number, in which 0 stands for more or higher ones."""
    ids = np.random.default_rng(3).permutation(np.arange(first_id + 1, first_id + 300)).tolist()
    ids.insert(ord("a") if lowest == "a letter" else 299, first_id)
    byte_ids, results, specials = ids[:256], ids[256:262], {"<t>": ids[298], "<s>": ids[299]}
    a, b, c = (byte_ids[byte] for byte in b"abc")
    pairs = [(a, b), (results[0], c), (results[1], a), (results[2], b), (c, c), (b, c)]
    alphabet = Alphabet.of_bytes(byte_ids)
    tokenizer = Tokenizer(
        np.array(pairs), np.array(results), alphabet=alphabet, pattern=pattern, special_tokens=specials
    )
    words = [letters[:length] for letters in ("abcab" * 4, "cbacba" * 3, "ccccc" * 4) for length in range(1, 18)]
    expression = named_pattern(pattern) if pattern in NAMES else pattern
    expected = []
    for piece in ["", *words, "", " ".join(words)]:
        for word in pieces(piece.encode(), expression):
            expected += encode_slowly(word, pairs, results, byte_ids)
        expected += [specials["<s>"], specials["<t>"], specials["<s>"]]
    text = "<s><t><s>".join(["", *words, "", " ".join(words), ""])
    assert tokenizer.encode(text, "all") == expected
    assert tokenizer.encode_array(text, "all", 2).tolist() == expected
    # Without special tokens: all words are known, then one is new, and words that are known follow.
    for plain in (" ".join(words), " ".join([*words, "caacca", *words, "bbbabab"])):
        spelled = [encode_slowly(word, pairs, results, byte_ids) for word in pieces(plain.encode(), expression)]
        for _ in range(2):  # without the shorter way of short texts
            found = finish(tokenizer.encode_work(plain, threads=1)).tolist()
            assert found == [token for word in spelled for token in word] == tokenizer.encode(plain)
    numbers = {number: token for token, number in specials.items()}
    assert "".join(numbers.get(token) or tokenizer.decode([token]) for token in expected) == text


def test_words_are_told_apart_by_their_length_and_by_every_byte():
    """Those of up to 15 bytes are their own keys, with zeros behind them; longer ones have a hash."""
    pairs, results = [(0, 0), (256, 256), (97, 97), (258, 258)], [256, 257, 258, 259]
    tokenizer = Tokenizer(np.array(pairs), np.array(results), pattern="gpt2")
    zeros = ["\0" * length for length in range(1, 41)]
    letters = [
        "a" * at + "b" + "a" * (length - at - 1) for length in (7, 8, 9, 15, 16, 17, 24, 33) for at in range(length)
    ]
    text = " ".join([*zeros, *letters, *reversed(zeros), *reversed(letters)])
    expected = []
    for word in pieces(text.encode(), named_pattern("gpt2")):
        expected += encode_slowly(word, pairs, results)
    for _ in range(2):  # with an empty cache, and a warm one
        assert tokenizer.encode(text) == expected


class TestTexts:
    @given(st.text())
    def test_every_text_comes_back(self, text):
        tokenizer = trained("a text, a tale é😀")
        assert tokenizer.decode(tokenizer.encode(text)) == text

    def test_surrogates_become_their_character_or_the_replacement_character(self):
        tokenizer = trained("😀😀")
        assert tokenizer.encode("\ud83d\ude00") == tokenizer.encode("😀")
        assert tokenizer.decode(tokenizer.encode("\ud83d!")) == "\ufffd!"
        assert tokenizer.decode(tokenizer.encode(b"a\xff\xe4b")) == "a\ufffd\ufffdb"
        with pytest.raises(UnicodeDecodeError):
            tokenizer.decode(tokenizer.encode(b"\xff"), errors="strict")
        assert (tokenizer.encode(""), tokenizer.encode(b""), tokenizer.decode([])) == ([], [], "")
        ids = trained("abab", size=257).encode_array("ababa")
        assert (ids.dtype, ids.tolist()) == (np.uint32, [256, 256, 97])

    @pytest.mark.parametrize("ids", [[256], [97, -1], [2**40], np.array([300], np.uint32)])
    def test_an_unknown_id_is_named(self, ids):
        tokenizer = trained("abab", size=257).at(0)
        with pytest.raises(ConfigError, match=f"Id {ids[-1]} is not in the vocabulary"):
            tokenizer.decode(ids)
        tokenizer = Tokenizer(np.array([[97, 98]]), np.array([500]))
        assert (tokenizer.encode("ab"), tokenizer.tokens[400], len(tokenizer.tokens)) == ([500], None, 501)
        with pytest.raises(ConfigError, match="Id 400 is not"):
            tokenizer.decode([400])


class TestMaking:
    @pytest.mark.parametrize(
        ("merges", "results", "says"),
        [
            ([[97, 256]], None, "Merge 1 joins token 256, which does not exist yet"),
            ([[97, 98]], [97], "Merge 1 makes token 97, which already exists"),
            ([[97, 98], [98, 97]], [300, 300], "Merge 2 makes token 300, which already exists"),
            ([[97, -1]], None, "Ids must be whole numbers from 0"),
            ([[97, 2**32 + 98]], None, "Ids must be whole numbers from 0"),
            ([[1, 2]], [600_000_000], "The id 600,000,000 is far too high for 257 tokens"),
            ([[1, 2]], [256, 257], "Merges and their results must be equally many, not 1 and 2"),
        ],
    )
    def test_invalid_merges_are_refused(self, merges, results, says):
        with pytest.raises(ConfigError, match=says):
            Tokenizer(np.array(merges), None if results is None else np.array(results))

    def test_an_invalid_alphabet_or_special_token_is_refused(self):
        none = np.empty((0, 2), np.int32)
        with pytest.raises(ConfigError, match="Each of the bytes needs an id of its own"):
            Tokenizer(none, alphabet=Alphabet.of_bytes(np.zeros(256, np.int32)))
        alphabet = replace(Alphabet.of_characters("ab"), unknown=7)
        with pytest.raises(ConfigError, match="No token has the id 7, which is to stand for unknown characters"):
            Tokenizer(none, alphabet=alphabet)
        for token in ("", "\ud800", b"<s>", None):
            with pytest.raises(ConfigError, match="must be a text"):
                Tokenizer(none, special_tokens={token: 256})
        with pytest.raises(ConfigError, match='The id of "<s>" must be a whole number'):
            Tokenizer(none, special_tokens={"<s>": "256"})

    def test_numbers_of_merges_that_are_not_there_are_refused(self):
        tokenizer = Tokenizer(np.array([[1, 2]]))
        for merges in (0.5, 1.0, "1"):
            with pytest.raises(ConfigError, match="must be a whole number"):
                tokenizer.at(merges)
        for merges in (-1, 2):
            with pytest.raises(ConfigError, match=f"There is no merge {merges}: this tokenizer has 1"):
                tokenizer.at(merges)
        with pytest.raises(ConfigError):
            tokenizer.at(0).at(1)
        with pytest.raises(ConfigError, match=r"An id must be a whole number, not 1\.5"):
            tokenizer.decode([1.5])

    def test_a_tokenizer_copies_its_arrays_which_are_read_only(self):
        merges, results = np.array([[97, 98]], np.int32), np.array([300], np.int32)
        tokenizer = Tokenizer(merges, results)
        merges[0], results[0] = (99, 99), 5
        assert (tokenizer.merges.tolist(), tokenizer.merge_results.tolist()) == ([[97, 98]], [300])
        for array in (tokenizer.merges, tokenizer.merge_results, tokenizer.byte_ids, tokenizer.at(1).merges):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1

    def test_a_tokenizer_can_be_sent_to_another_process(self):
        tokenizer = trained("the cat in the hat", size=270)
        for one in (tokenizer, tokenizer.at(3)):
            copy = pickle.loads(pickle.dumps(one))
            assert copy.merges.tolist() == one.merges.tolist()
            assert copy.encode("the hat") == one.encode("the hat")
            assert copy.run.ended == tokenizer.run.ended
            arrays = (copy.alphabet.units, copy.alphabet.ids, copy.run.merges)
            assert not any(array.flags.writeable for array in arrays)

    def test_tokens_are_a_sequence_and_parts_lead_from_a_token_to_its_bytes(self):
        tokenizer = trained("abcabc", size=258)
        assert (tokenizer.parts(257), tokenizer.parts(256), tokenizer.parts(97)) == ((256, 99), (97, 98), None)
        tokens = tokenizer.at(1).tokens
        assert (tokens[-1], tokens[97:99], len(tokens)) == (b"ab", [b"a", b"b"], 257)
        assert tokens == [*(bytes([byte]) for byte in range(256)), b"ab"]
        assert tokens != [b"ab"]
        with pytest.raises(IndexError, match="no token 257"):
            tokens[257]


def test_every_part_of_encoding_a_long_text_is_bounded():
    """The look-up of each pair, the making of the heap, and the merges."""
    pairs = MergeTable(np.array([[97, 98]], np.int32), np.array([256], np.int32)).pairs
    symbols, n = np.array([97, 98] * 500, np.int32), 1_000
    following, previous, pending = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int64)
    scratch = symbols, following, previous, pending, np.empty(2 * n, np.int64), np.zeros(STATE_SIZE, np.int64)
    calls = 1
    while not encode_sequence(pairs, 1, *scratch, 10):
        calls += 1
    assert calls >= (n + 250 + 500) / 10
    assert symbols[::2].tolist() == [256] * 500


def test_the_tokens_of_a_long_text_are_gathered_in_pieces(monkeypatch):
    monkeypatch.setattr("tokstudio.core.tokenizer.encoder.PIECE", 100)
    monkeypatch.setattr(MergeTable, "trie_for", lambda *_: None)
    tokenizer = trained("ab" * 50, size=257)
    assert len(list(tokenizer.encode_work("ab" * 1_000))) >= 20 + 10 - 2
    assert tokenizer.encode("ab" * 1_000) == [256] * 1_000
    monkeypatch.undo()
    # Longest matches come in pieces, too.
    monkeypatch.setattr("tokstudio.core.tokenizer.encoder.BUDGET", 100)
    shown = [progress.done for progress in tokenizer.encode_work("ab" * 1_000) if progress.total]
    assert len(shown) >= 9
    assert shown == sorted(shown)
    assert tokenizer.encode("ab" * 1_000) == [256] * 1_000


def test_decoding_lets_other_threads_run_every_few_thousand_ids():
    """The loop that joins the tokens runs without the interpreter's lock; looking each of them up does not."""
    extra = {number: b"%d" % number for number in range(256, 30_000)}
    tokenizer = Tokenizer(np.zeros((0, 2), np.int32), extra_tokens=extra)
    assert sum(1 for _ in tokenizer.decode_bytes_work(np.arange(30_000, dtype=np.uint32))) >= 7


def test_many_ids_are_decoded_like_few_in_any_order_of_calls():
    """The bytes of short tokens are kept, also for a tokenizer with fewer merges, in which some ids are not in use."""
    merges = [(97, 98), *((256 + n, 256 + n) for n in range(11))]  # "ab", "abab" ... of 2 to 4,096 bytes
    whole = Tokenizer(np.array(merges, np.int32), extra_tokens={400: b"!", 401: "é漢".encode(), 402: b"\xe6"})
    known = [97, 255, 400, 401, 402]
    for tokenizer, last in ((whole.at(3), 259), (whole, 268), (whole.at(10), 266), (whole, 268)):
        ids = np.tile(np.array([*known, *range(256, last)]), 40)
        expected = b"".join([tokenizer.tokens[token] for token in ids.tolist()])
        for several in (ids, ids.tolist(), ids.astype(np.uint32)):
            assert tokenizer.decode_bytes(several) == expected
        assert tokenizer.decode(ids) == expected.decode("utf-8", "replace")
        assert tokenizer.decode(ids, "ignore") == expected.decode("utf-8", "ignore")
        assert tokenizer.decode_batch([ids, ids[:3]])[0] == expected.decode("utf-8", "replace")
        for strange in (last, 399, 403, -1):
            with pytest.raises(ConfigError, match=f"Id {strange} is not in the vocabulary"):
                tokenizer.decode(np.append(ids, strange))


def test_few_ids_are_decoded_again_as_the_first_time():
    """The bytes of tokens are kept: for each tokenizer, and for whole numbers alone (True is 1 to a dictionary)."""
    whole = trained("abab ab", size=258)
    for tokenizer in (whole, whole.at(1), whole.at(0)):
        for _ in range(2):
            for ids in ([97, 1, 98], (98, 97), np.array([97, 1, 1])):
                assert tokenizer.decode_bytes(ids) == tokenizer.decode_bytes(iter(ids)) == bytes(list(ids))
            with pytest.raises(ConfigError, match="An id must be a whole number"):
                tokenizer.decode([97, True])
            with pytest.raises(ConfigError, match="Id 300 is not in the vocabulary"):
                tokenizer.decode([97, 300])
            unused = 256 + len(tokenizer.merges)
            if unused < 258:
                with pytest.raises(ConfigError, match=f"Id {unused} is not in the vocabulary"):
                    tokenizer.decode([unused])
        assert tokenizer.decode([255 + len(tokenizer.merges)], "ignore") == ["", "ab", "abab"][len(tokenizer.merges)]
    assert tokenizer.decode([]) == ""


def test_threads_decode_with_one_tokenizer():
    extra = {number: b"%d " % number for number in range(256, 3_000)}
    tokenizer = Tokenizer(np.zeros((0, 2), np.int32), extra_tokens=extra)
    parts = [np.repeat(np.arange(256 + start, 3_000, 7), 20) for start in range(7)]
    with ThreadPoolExecutor(7) as pool:
        decoded = list(pool.map(tokenizer.decode_bytes, parts * 5))
    assert decoded == [b"".join([extra[token] for token in part.tolist()]) for part in parts * 5]
