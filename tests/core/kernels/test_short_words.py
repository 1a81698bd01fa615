"""Encoding short words, compared with applying the merges one after another."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from tests.core.reference import encode_slowly, named_pattern, pieces
from tokstudio import ConfigError, Tokenizer
from tokstudio.core.base.arrays import in_large_pages, read_only
from tokstudio.core.base.progress import finish
from tokstudio.core.kernels import known_words, short_words
from tokstudio.core.kernels.intrinsics import address_of
from tokstudio.core.kernels.many_words import MANY_SCRATCH, encode_in_turns, encode_words
from tokstudio.core.kernels.short_words import DONE, MOST_RANKS, NEED_ROOM, SHORT, TOO_LONG, UNKNOWN, merging_of
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.tokenizer.encoder import Encoder
from tokstudio.core.tokenizer.known_words import KnownWords
from tokstudio.core.tokenizer.merge_table import MergeTable

LETTERS = "aéb日c😀"  # of one to four bytes
UTF8 = np.array([byte for byte in range(256) if byte < 0xC0 or 0xC2 <= byte < 0xF5], np.int32)


def some_merges(seed, base, count=200):
    """Merges of ids below `base` and of each other, all of which few letters reach."""
    chance, known, pairs = np.random.default_rng(seed), list(base), []
    for rank in range(count):
        pairs.append(tuple(chance.choice(known[: 12 + rank], 2).tolist()))
        known.append(1000 + rank)
    return pairs, list(range(1000, 1000 + count))


def encoded(alphabet, pairs, results, limit, words, room=4000):
    """What the loop returns, and the ids of each word."""
    table = MergeTable(np.array(pairs, np.int32), np.array(results, np.int32))
    raw = [word if isinstance(word, bytes) else word.encode() for word in words]
    offsets = np.concatenate([[0], np.cumsum(list(map(len, raw)))])
    ids, id_offsets = np.full(room, 7, np.uint32), np.zeros(len(raw) + 1, np.int64)
    unit_ids, byte_pairs = table.units_for(alphabet)
    unknown = -1 if alphabet.unknown is None else alphabet.unknown
    merging = unit_ids, unknown, byte_pairs, table.pairs, table.bits, limit
    why, done = encode_words(
        np.frombuffer(b"".join(raw) + bytes(3), np.uint8).copy(), offsets, 0, *merging, ids, id_offsets
    )
    return why, [ids[id_offsets[k] : id_offsets[k + 1]].tolist() for k in range(done)]


def by_letters(word, pairs, results, ids):
    """`encode_slowly` for tokens that are characters: letters are replaced by bytes."""
    byte_ids = [ids.get(letter, 0) for letter in LETTERS] + [0] * 250
    return encode_slowly(bytes(map(LETTERS.index, word)), pairs, results, byte_ids)


@settings(max_examples=30)
@given(st.integers(0, 1 << 20), st.text("abc", min_size=1, max_size=SHORT), st.integers(0, 200))
def test_words_of_bytes(seed, word, limit):
    byte_ids = np.random.default_rng(seed).permutation(256)
    pairs, results = some_merges(seed, byte_ids[list(b"abc")].tolist())
    given_words = [word, word[:9], word[:1], "a" * SHORT, word]
    expected = [encode_slowly(each.encode(), pairs[:limit], results[:limit], byte_ids.tolist()) for each in given_words]
    assert encoded(Alphabet.of_bytes(byte_ids), pairs, results, limit, given_words) == (DONE, expected)


@settings(max_examples=30)
@given(st.integers(0, 1 << 20), st.text(LETTERS, min_size=1, max_size=SHORT), st.booleans(), st.integers(0, 200))
def test_words_of_characters(seed, word, is_whole, limit):
    """A character without an id is the unknown token, which merges may join as any other."""
    known = LETTERS if is_whole else LETTERS[:-2]
    ids = {letter: 5 + 3 * number for number, letter in enumerate(known)}
    points = np.array(sorted(map(ord, known)))
    alphabet = Alphabet("characters", points, np.array([ids[chr(point)] for point in points], np.int32), 0)
    pairs, results = some_merges(seed, [0, *ids.values()])
    expected = [
        by_letters(each, pairs[:limit], results[:limit], ids) for each in (word, word[:8], word[:1], "é" * SHORT)
    ]
    words = [word, word[:8], word[:1], "é" * SHORT]
    assert encoded(alphabet, pairs, results, limit, words) == (DONE, expected)


def test_the_loop_ends_at_a_word_that_it_does_not_encode():
    pairs, results = [(97, 97), (1000, 1000)], [1000, 1001]
    alphabet = Alphabet.of_bytes(range(256))
    begin = [[1001], [98]]
    assert encoded(alphabet, pairs, results, 2, ["aaaa", "b", "a" * (SHORT + 1)]) == (TOO_LONG, begin)
    assert encoded(alphabet, pairs, results, 2, ["aaaa", "b", "ccc"], room=4) == (NEED_ROOM, begin)
    # Beside a place, no more ranks fit.
    assert encoded(alphabet, pairs, results, MOST_RANKS, ["aaaa"]) == (DONE, [[1001]])
    assert encoded(alphabet, pairs, results, MOST_RANKS + 1, ["aaaa"]) == (TOO_LONG, [])
    letters = Alphabet("characters", np.array([97, 98]), np.array([97, 98], np.int32))
    assert encoded(letters, pairs, results, 2, ["aaaa", "b", "é"]) == (UNKNOWN, begin)
    assert encoded(letters, pairs, results, 2, ["aaaa", "b", "a" * (SHORT + 1)]) == (TOO_LONG, begin)
    alphabet = Alphabet("bytes", UTF8, UTF8)
    assert encoded(alphabet, pairs, results, 2, ["aaaa", "b", b"aa\xff"]) == (UNKNOWN, begin)
    assert encoded(alphabet, pairs, results, 2, ["aaaa", "b", b"\xffa"]) == (UNKNOWN, begin)


def test_a_rank_that_does_not_fit_beside_a_place_is_none():
    """Half a gigabyte of merges is not made for it: the last ranks of a small table are changed."""
    table = MergeTable(np.array([[97, 98], [300, 99], [98, 97]], np.int32), np.array([300, 301, 302], np.int32))
    alphabet = Alphabet.of_bytes(range(256))
    values = table.pairs[1::2]
    for result, rank in ((301, MOST_RANKS + 1), (302, MOST_RANKS + 2)):
        values[values & 0xFFFFFFFF == result] = rank << 32 | result
    raw, count = b"abcba" * 20, 20
    offsets, ids, id_offsets = np.arange(count + 1) * 5, np.zeros(len(raw), np.uint32), np.zeros(count + 1, np.int64)
    for words in (count, 1):
        merging = *table.units_for(alphabet), table.pairs, table.bits, 5
        data = np.frombuffer(raw + bytes(3), np.uint8).copy()
        encode_words(data, offsets[: words + 1], 0, merging[0], -1, *merging[1:], ids, id_offsets[: words + 1])
        assert ids[: 4 * words].tolist() == [300, 99, 98, 97] * words


def test_bytes_without_an_id_are_the_unknown_token_where_there_is_one():
    pairs, results = [(97, 300), (300, 300), (1001, 1000)], [1000, 1001, 1002]
    words = [b"\xff\xfea\xff", "ab", b"\xff"]
    expected = [[1002], [97, 98], [300]]
    assert encoded(Alphabet("bytes", UTF8, UTF8, 300), pairs, results, 3, words) == (DONE, expected)


def many_words(letters, count):
    """Words of 1 to 40 letters, more than are merged at once, among them some of one letter alone."""
    chance = np.random.default_rng(7)
    words = ["".join(chance.choice(list(letters), size)) for size in chance.integers(1, 41, count)]
    words[::9] = [letters[0] * size for size in range(1, 1 + len(words[::9]))]
    return words


@pytest.mark.parametrize("limit", [0, 7, 200])
def test_many_words_become_the_tokens_of_each_by_itself(limit):
    """With an id for each byte, many are merged at once; without one for some, each is merged by itself."""
    pairs, results = some_merges(3, list(b"abc"))
    words = many_words("abc", 500)
    expected = [encode_slowly(each.encode(), pairs[:limit], results[:limit]) for each in words]
    for alphabet in (Alphabet.of_bytes(range(256)), Alphabet("bytes", UTF8, UTF8)):
        assert encoded(alphabet, pairs, results, limit, words, room=20_000) == (DONE, expected)
    # As many words are encoded as have room: without merges, a word has a token for each byte.
    room = sum(map(len, words[:60])) - 1
    why, found = encoded(Alphabet.of_bytes(range(256)), pairs, results, limit, words, room=room)
    used = sum(map(len, found))
    assert (why, found) == (NEED_ROOM, expected[: len(found)])
    assert used + len(words[len(found)]) > room >= used


def test_pairs_of_the_same_slots_are_told_apart_in_many_words():
    """All pairs of the letters have merges, and so do many pairs of what these make."""
    letters, chance = "abcdefghijklmnop", np.random.default_rng(2)
    pairs = [(ord(one), ord(other)) for one in letters for other in letters]
    known = [*map(ord, letters), *range(1000, 1000 + len(pairs))]
    others = [(one, other) for one in known for other in known][len(pairs) :]
    # Half of the slots are taken.
    pairs += [others[place] for place in chance.permutation(len(others))[: 4095 - len(pairs)]]
    words = many_words(letters, 300)
    order = np.concatenate([chance.permutation(256), 256 + chance.permutation(len(pairs) - 256)])
    for is_ordered in (True, False):
        order = order if is_ordered else chance.permutation(order)
        ranked, results = [pairs[place] for place in order], (1000 + order).tolist()
        given_merges = ranked, results, len(pairs), words, 20_000
        many = encoded(Alphabet.of_bytes(range(256)), *given_merges)
        # Where parts come later, the merges cannot be applied one after another.
        if is_ordered:
            assert many == (DONE, [encode_slowly(each.encode(), ranked, results) for each in words])
        assert many == encoded(Alphabet("bytes", UTF8, UTF8), *given_merges)


@njit
def all_in_turns(words, offsets, unit_ids, unknown, byte_pairs, pairs, bits, limit, ids, id_offsets):
    scratch = np.empty(MANY_SCRATCH, np.int32)
    of = merging_of(unit_ids, unknown, byte_pairs, pairs, bits, limit, scratch)
    where = address_of(words), address_of(offsets), 0, offsets.size - 1, address_of(ids), address_of(id_offsets)
    encode_in_turns(of, *where)
    scratch[0] = 0


@pytest.mark.parametrize(("limit", "count"), [(0, 20), (7, 1), (200, 8), (200, 128)])
def test_words_merged_in_turns_become_the_tokens_of_each_by_itself(limit, count):
    """Many words are merged so on processors without fast lanes; this machine may have them."""
    pairs, results = some_merges(3, list(b"abc"))
    table, alphabet = MergeTable(np.array(pairs, np.int32), np.array(results, np.int32)), Alphabet.of_bytes(range(256))
    words = [*many_words("abc", count - 1), "abcab" * 51 + "c"]  # the last has as many bytes as one can have
    offsets = np.concatenate([[0], np.cumsum(list(map(len, words)))])
    ids, id_offsets = np.zeros(offsets[-1] + 5, np.uint32), np.zeros(len(words) + 1, np.int64)
    id_offsets[0] = 5
    text = np.frombuffer("".join(words).encode() + bytes(8), np.uint8).copy()
    merging = *table.units_for(alphabet), table.pairs, table.bits, limit
    all_in_turns(text, offsets, merging[0], -1, *merging[1:], ids, id_offsets)
    found = [ids[id_offsets[k] : id_offsets[k + 1]].tolist() for k in range(len(words))]
    assert found == [encode_slowly(word.encode(), pairs[:limit], results[:limit]) for word in words]


def test_new_words_that_occur_again_and_again_have_their_tokens_at_each_place():
    """Few are new, so that they wait until the end for each other; then many at once, and some of them again."""
    pairs, results = some_merges(3, list(b"abc "))
    few, several = many_words("abc", 5), many_words("abc", 400)
    words = [few[place] for place in np.random.default_rng(1).integers(0, 5, 900)] + several + several[::-1]
    encoder = Tokenizer(np.array(pairs), np.array(results)).own_encoder
    raw = np.frombuffer("".join(words).encode() + bytes(16), np.uint8)
    ends, table = np.cumsum(list(map(len, words))), KnownWords({})
    once = {word: encode_slowly(word.encode(), pairs, results) for word in few + several}
    expected = [token for word in words for token in once[word]]
    for _ in range(2):
        out = np.zeros(len(raw), np.uint32)
        written = table.write_words(raw, 0, read_only(ends), encoder._merging(200), True, out, 0)
        assert written == (len(words), len(expected))
        assert out[: len(expected)].tolist() == expected


def text_of_many_words():
    """More new words than a table has room for at first, among them long ones and words met before."""
    chance = np.random.default_rng(5)
    words = ["".join(chance.choice(list("abc"), size)) for size in chance.integers(1, 14, 2000)]
    words[700], words[701], words[1500] = "a" * 300, "b" * SHORT, "ab" * 2000
    return " ".join(words)


@pytest.mark.parametrize("limit", [0, 50, 200, MOST_RANKS + 1])
def test_new_words_are_encoded_where_they_are_met(limit):
    pairs, results = some_merges(3, list(b"abc "))
    tokenizer = Tokenizer(np.array(pairs), np.array(results), pattern="gpt2")
    table = MergeTable(tokenizer.merges, tokenizer.merge_results)
    # After a word that is too long, the rest is encoded in another way.
    for text in (text_of_many_words(), *("ab abc " + "c" * size + " ba" * 9 for size in range(SHORT - 1, SHORT + 2))):
        encoder = Encoder(tokenizer.alphabet, table, limit, "gpt2")
        prepared = finish(tokenizer.prepared_work(text))
        expected = []
        for word in pieces(text.encode(), named_pattern("gpt2")):
            expected += encode_slowly(word, pairs[:limit], results[:limit])
        for _ in range(2):  # with an empty cache, and a warm one
            (ids,) = finish(encoder.encode_work(prepared.data, prepared.pieces, np.array([-1], np.int32), 1))
            assert ids.tolist() == expected


def test_ids_that_are_too_large_to_be_packed_are_kept():
    large = 1 << 20  # packed ids are below
    tokenizer = Tokenizer(np.array([[97, 98], [98, 99]]), np.array([large, large - 1]), pattern="gpt2")
    encoder = Encoder(tokenizer.alphabet, MergeTable(tokenizer.merges, tokenizer.merge_results), 2, "gpt2")
    prepared = finish(tokenizer.prepared_work("ab bc abbcab " * 40))
    expected = [large, *([32, large - 1, 32, large, large - 1, large, 32, large] * 40)[:-1]]
    for _ in range(2):
        (ids,) = finish(encoder.encode_work(prepared.data, prepared.pieces, np.array([-1], np.int32), 1))
        assert ids.tolist() == expected


def test_the_table_of_known_words_grows_when_three_fifths_of_it_are_full():
    words = [b"%d" % number for number in range(3000)]
    data, ends = np.frombuffer(b"".join([*words, bytes(8)]), np.uint8), np.cumsum(list(map(len, words)))
    tables, sizes = [KnownWords({}) for _ in range(3)], []
    for table, count in zip(tables, (614, 615, 3000), strict=True):
        assert table.look_up(data, 0, ends[:count], numbered=True).tolist() == list(range(count))
        sizes.append(len(table._slots))
        assert table.look_up(data, 0, ends[:count], numbered=True).tolist() == list(range(count))
    assert sizes == [1024, 2048, 8192]  # 614 is the most that three fifths of 1024 hold


def words_that_differ_in_one_byte():
    """Words of up to 40 bytes, each of which differs from another one in one byte: at any place, or in its length."""
    words = [bytes(length) for length in range(1, 41)]
    words += [word[:at] + b"\x80" + word[at + 1 :] for word in words for at in range(len(word))]
    return [words[place] for place in np.random.default_rng(5).permutation(len(words))]


def test_words_have_the_same_number_one_after_another_and_eight_at_once():
    words = words_that_differ_in_one_byte()
    table, numbers = KnownWords({}), []
    for word in words:
        raw = np.frombuffer(word + bytes(16), np.uint8)
        numbers += table.look_up(raw, 0, np.array([len(word)]), numbered=True).tolist()
    assert numbers == list(range(len(words)))
    for start in range(9):
        raw = np.frombuffer(b"".join([b"x" * start, *words, bytes(16)]), np.uint8)
        ends = start + np.cumsum(list(map(len, words)))
        assert table.look_up(raw, start, ends, numbered=True).tolist() == numbers
        assert table.look_up(raw, int(ends[start]), ends[start + 1 :], numbered=True).tolist() == numbers[start + 1 :]


def test_known_and_new_words_that_differ_in_one_byte_keep_their_tokens():
    bytes_alone = Tokenizer(np.empty((0, 2), np.int32), np.empty(0, np.int32))
    merging = bytes_alone.own_encoder._merging(0)
    words, table = words_that_differ_in_one_byte(), KnownWords({})
    for part in (words[:300], words, words[::-1]):
        raw = np.frombuffer(b"".join([*part, bytes(16)]), np.uint8)
        ends, out = np.cumsum(list(map(len, part))), np.zeros(len(raw) + 3, np.uint32)
        assert table.write_words(raw, 0, ends, merging, True, out, 0) == (len(part), ends[-1])
        assert out[: ends[-1]].tolist() == list(b"".join(part))


def test_long_words_of_the_same_hash_keep_their_tokens():
    factor, bits = int(known_words._MULTIPLIER), (1 << 64) - 1

    def mixed(number, eight):
        number = (number ^ eight) * factor & bits
        return number ^ number >> 32

    begin = 24 * factor & bits
    # The second eight bytes undo what differs after the first.
    firsts = [int.from_bytes(first, "little") for first in (b"abcdefgh", b"ijklmnop")]
    seconds = [0x7061747465726E73, 0x7061747465726E73 ^ mixed(begin, firsts[0]) ^ mixed(begin, firsts[1])]
    pair = [
        first.to_bytes(8, "little") + second.to_bytes(8, "little") + b"the last"
        for first, second in zip(firsts, seconds, strict=True)
    ]
    merging = Tokenizer(np.empty((0, 2), np.int32), np.empty(0, np.int32)).own_encoder._merging(0)
    raw, ends = np.frombuffer(b"".join([*pair * 5, bytes(16)]), np.uint8), np.arange(24, 241, 24)
    table, out = KnownWords({}), np.zeros(244, np.uint32)
    assert table.look_up(raw, 0, ends[:2], numbered=True).tolist() == [0, 1]
    heads = table._slots[table._slots[:, known_words.TAIL] != 0, known_words.HEAD]
    assert heads[0] == heads[1]
    table = KnownWords({})
    for _ in range(2):
        assert table.write_words(raw, 0, ends, merging, True, out, 0) == (10, 240)
        assert out[:240].tolist() == raw[:240].tolist()


def test_a_word_that_cannot_be_encoded_is_named_after_others_were_added():
    merges = np.array([[97, 98]], np.int32)
    letters = Alphabet("characters", np.array([32, 97, 98]), np.array([32, 97, 98], np.int32))
    tokenizer = Tokenizer(merges, np.array([256]), alphabet=letters, pattern="gpt2")
    text = "ab ba abba " * 40
    for _ in range(2):
        with pytest.raises(ConfigError, match='"é"'):
            tokenizer.encode(text + "é aab")
        assert tokenizer.decode(tokenizer.encode(text + "aab")) == text + "aab"


@pytest.mark.parametrize("size", [0, 1, (1 << 17) - 1, 1 << 17, (1 << 18) + 3])
def test_arrays_in_large_pages_are_full_of_a_number(size):
    array = in_large_pages(size, -1)
    assert (array.dtype, array.shape, array.flags.writeable) == (np.int64, (size,), True)
    assert np.all(array == -1)
    assert size < 1 << 17 or array.__array_interface__["data"][0] % (1 << 21) == 0


def test_no_array_whose_address_a_loop_takes_is_freed_before_the_loop_ends():
    """Numba frees an array after its last use: words were merged in memory that others had already got again."""
    takers, found = {"address_of", "merging_of"}, []
    for file in Path(short_words.__file__).parent.glob("*.py"):
        for function in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            taken = {
                name.id
                for call in calls
                if isinstance(call.func, ast.Name) and call.func.id in takers
                for name in call.args
                if isinstance(name, ast.Name)
            } - {argument.arg for argument in function.args.args}
            last_lines = {ast.unparse(line) for line in function.body[-3:] if taken}
            found += [(file.name, function.name, name) for name in taken if f"{name}[0] = 0" not in last_lines]
    assert found == []
