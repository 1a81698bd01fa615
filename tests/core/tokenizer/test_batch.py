"""Batches of texts, tokens that no merge makes, and a tokenizer from its parts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokstudio import (
    ByteTokenizer,
    CharacterTokenizer,
    ConfigError,
    Corpus,
    LibraryConfig,
    SuperBPE,
    Tokenizer,
    TrainingConfig,
    WordTokenizer,
    add_specials,
    load,
    save,
    train,
    train_by_library,
)
from tokstudio.core.base.progress import finish
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.tokenizer import batch as batch_module
from tokstudio.core.tokenizer.batch import each_by_itself, encode_texts, padding_id

# --- Several texts encoded together -----------------------------------------------------------------------------------

TEXTS = ["ab", "", b"c\xff", "é!"]
TH, THE = 256, 257
OF_THE = np.array([[ord("t"), ord("h")], [TH, ord("e")]], np.int32)


BYTE_BY_BYTE = each_by_itself(ByteTokenizer().encode_array)


def test_padding_goes_to_the_right_and_the_mask_says_where():
    batch = encode_texts(BYTE_BY_BYTE, TEXTS)
    assert batch.ids == [[97, 98], [], [99, 255], [195, 169, 33]]
    assert batch.attention_mask == [[1, 1], [], [1, 1], [1, 1, 1]]
    batch = encode_texts(BYTE_BY_BYTE, TEXTS, padding=True, pad_id=7)
    assert batch.ids == [[97, 98, 7], [7, 7, 7], [99, 255, 7], [195, 169, 33]]
    assert batch.attention_mask == [[1, 1, 0], [0, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert np.array(batch.ids).shape == np.array(batch.attention_mask).shape == (4, 3)
    id_of_any_type: tuple[Any, ...] = (0, 1, np.uint32(50256))
    for padding in id_of_any_type:  # zero and one are ids to pad with
        assert encode_texts(BYTE_BY_BYTE, ["a", ""], padding, pad_id=7).ids == [[97], [padding]]
    for padding in (False, True, 3):
        batch = encode_texts(BYTE_BY_BYTE, [], padding)
        assert (batch.ids, batch.attention_mask, len(batch)) == ([], [], 0)
    one_text: tuple[Any, ...] = ("one text", b"one text")
    for text in one_text:
        with pytest.raises(ConfigError, match="list of texts"):
            encode_texts(BYTE_BY_BYTE, text)


def test_a_batch_is_a_sequence_of_views_that_equals_lists():
    batch = encode_texts(BYTE_BY_BYTE, TEXTS)
    assert (batch.flat.dtype, batch.flat.tolist()) == (np.uint32, [97, 98, 99, 255, 195, 169, 33])
    assert (batch.offsets.dtype, batch.offsets.tolist()) == (np.int64, [0, 2, 2, 4, 7])
    assert all(np.shares_memory(row, batch.flat) and row.dtype == np.uint32 for row in batch if len(row))
    assert [row.tolist() for row in batch] == [*batch.ids.tolist()] == [batch[n].tolist() for n in range(4)]
    assert batch[-1].tolist() == [195, 169, 33]
    assert batch.ids[1:3] == [[], [99, 255]]
    assert batch.ids[::-2] == ([195, 169, 33], np.array([], int))
    assert ([97, 98] in batch.ids, [98] in batch.ids) == (True, False)
    assert (batch.ids.index([99, 255]), batch.ids.count([])) == (2, 1)
    for other in ([[97, 98]], [[97, 98], [], [99, 255], [195, 169, 34]], "text", None, [1, 2, 3, 4]):
        assert batch.ids != other
    with pytest.raises(IndexError):
        _ = batch[4]
    with pytest.raises(ValueError, match="pad them"):
        np.array(batch.ids)
    assert np.array(batch.ids[:1], np.int64).dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        batch.flat[0] = 1
    assert repr(batch) == "Batch(4 texts, 7 tokens)"
    assert repr(batch.ids) == "[[97, 98], [], [99, 255], [195, 169, 33]]"
    assert batch == encode_texts(BYTE_BY_BYTE, iter(TEXTS))
    assert batch != encode_texts(BYTE_BY_BYTE, TEXTS[:-1])
    assert pickle.loads(pickle.dumps(batch)) == batch


def test_a_batch_is_padded_on_either_side_and_to_any_width():
    batch = encode_texts(BYTE_BY_BYTE, TEXTS)
    left = batch.padded(9, left=True)
    assert left.ids == [[9, 97, 98], [9, 9, 9], [9, 99, 255], [195, 169, 33]]
    assert left.attention_mask == [[0, 1, 1], [0, 0, 0], [0, 1, 1], [1, 1, 1]]
    assert batch.padded(9, 2).ids == [[97, 98], [9, 9], [99, 255], [195, 169, 33]]
    assert batch.padded(9, 4, left=True).attention_mask.tolist()[1:] == [[0] * 4, [0, 0, 1, 1], [0, 1, 1, 1]]
    # Padding that is an id of the text is padding only where it stands for none.
    assert encode_texts(BYTE_BY_BYTE, ["aa", "a"], padding=97).attention_mask == [[1, 1], [1, 0]]


def test_a_batch_is_a_table_of_arrow_without_a_copy_of_the_ids():
    for padding in (False, 7):
        batch = encode_texts(BYTE_BY_BYTE, TEXTS, padding)
        table = batch.to_arrow()
        assert table.to_pydict() == {"input_ids": batch.ids.tolist(), "attention_mask": batch.attention_mask.tolist()}
        values = table.column("input_ids").chunk(0).values.to_numpy()
        assert values.dtype == np.uint32
        assert np.shares_memory(values, batch.flat)


@pytest.mark.parametrize("padding", [-1, 1.0, "longest", None])
def test_padding_that_is_no_id_is_refused_before_anything_is_encoded(padding):
    asked: list[object] = []
    with pytest.raises(ConfigError, match=f"not {padding!r}"):
        encode_texts(each_by_itself(lambda text: asked.append(text) or np.ones(1, np.uint32)), ["a"], padding)
    assert asked == []


# --- A batch has the ids of each text by itself, for every kind of tokenizer ------------------------------------------

SEVERAL = "the cat sat on the mat, and that's that: Zürich 123 日本 <s>x<pad>\n e\u0301 |im| " * 9
WORDS = [*SEVERAL.split(" "), "", " ", "\n", "<s>", "\ud800", "\u212b", "   "]
any_text = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=3).map("".join),
)


def trained(size: int = 330, **more: Any) -> Tokenizer:
    return train(Corpus.from_texts([SEVERAL]), TrainingConfig(vocabulary_size=size, special_tokens=("<s>",), **more))


def prepared(**more: Any) -> Tokenizer:
    names = {"strips_left": frozenset({"<s>"}), "ordinary": frozenset({"<pad>"})}
    tokenizer = add_specials(trained(pattern="gpt2"), ["<pad>"])
    return tokenizer.changed(preparation=Preparation(**{**names, **more}))


def with_whole_words() -> Tokenizer:
    return Tokenizer(OF_THE, pattern="cl100k", extra_tokens={300: b"cat", 301: b" mat"}, whole_words={300, 301})


def of_characters() -> Tokenizer:
    alone = {"base": "characters", "unknown_token": "<unk>", "pattern": "whitespace", "vocabulary_size": 90}
    return train(Corpus.from_text(SEVERAL), TrainingConfig(**alone, special_tokens=("<s>", "<unk>")))


def of_a_library() -> Tokenizer:
    config = LibraryConfig(algorithm="wordpiece", vocabulary_size=90)
    return train_by_library(Corpus.from_text(SEVERAL), config).tokenizer


KINDS: dict[str, Callable[[], Any]] = {
    "no pattern": trained,
    "cl100k": lambda: trained(pattern="cl100k"),
    "an expression": lambda: trained(pattern=r"\w+|\W"),
    "a playhead": lambda: trained(pattern="gpt2").at(20),
    "characters": of_characters,
    "whole words": with_whole_words,
    "boundless": lambda: trained(pattern="gpt2", algorithm="boundless"),
    "picky": lambda: trained(pattern="gpt2", algorithm="picky"),
    "superbpe": lambda: trained(pattern="gpt2", algorithm=SuperBPE(transition=290)),
    "prepared": lambda: prepared(nfc=True, prefix_space=True),
    "prefix space": lambda: prepared(prefix_space=True, late=frozenset({"<pad>"})),
    "dropout": lambda: trained(pattern="gpt2").with_dropout(0.3, 5),
    "library": of_a_library,
    "bytes": ByteTokenizer,
    "code points": CharacterTokenizer,
    "segments": lambda: WordTokenizer.from_text(SEVERAL),
}


@cache
def of_kind(kind: str) -> Any:
    return KINDS[kind]()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(texts=st.lists(st.one_of(any_text, any_text, st.binary(max_size=9)), max_size=9), group=st.integers(1, 60))
def test_a_batch_has_the_ids_of_each_text(kind, texts, group):
    tokenizer = of_kind(kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_module, "GROUP", group)
        patch.setattr(batch_module, "TEXTS", 2)
        for allowed in [{}, {"allowed_special": "all"}] if isinstance(tokenizer, Tokenizer) else [{}]:
            batch = tokenizer.encode_batch((text for text in texts), **allowed)
            assert batch.ids == [tokenizer.encode(text, **allowed) for text in texts]
            assert batch.attention_mask == [[1] * len(row) for row in batch]


def test_a_batch_of_some_special_tokens_and_of_an_unknown_one():
    tokenizer = add_specials(of_kind("cl100k"), ["<t>"])
    texts = ["<s><t>", "x<t>", ""]
    assert tokenizer.encode_batch(texts, allowed_special={"<t>"}).ids == [tokenizer.encode(t, {"<t>"}) for t in texts]
    for some in (texts, []):
        with pytest.raises(ConfigError, match='no special token "<u>"'):
            tokenizer.encode_batch(some, allowed_special=["<u>"])


@pytest.mark.parametrize("threads", [1, 2, None])
def test_a_batch_in_threads_has_the_same_ids(monkeypatch, threads):
    monkeypatch.setattr("tokstudio.core.tokenizer.encoder.PART", 100)
    tokenizer, texts = of_kind("cl100k"), [*SEVERAL.split(" "), SEVERAL, SEVERAL[7:]] * 3
    assert tokenizer.encode_batch(texts, threads=threads).ids == [tokenizer.encode(text) for text in texts]


@pytest.mark.parametrize(
    ("tokens", "padding"),
    [
        *(({"<|endoftext|>": 3, "<unk>": 1, token: 9}, 9) for token in ("<pad>", "[PAD]", "<|padding|>")),
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


def test_without_a_token_to_pad_with_an_id_must_be_given():
    """No id is taken for it without a word: id 0 may be any token."""
    tokenizer = train(Corpus.from_text("abab abab"), TrainingConfig(vocabulary_size=258))
    several = (tokenizer, ByteTokenizer(), WordTokenizer(("a",)))
    for any_tokenizer, texts in product(several, (["a", "bb"], ["a"], [])):
        with pytest.raises(ConfigError, match="has no padding token: give the id to pad with, as in padding=0"):
            any_tokenizer.encode_batch(texts, padding=True)
        with pytest.raises(ConfigError, match="Padding must be True, False or an id, not 4294967296"):
            any_tokenizer.encode_batch(texts, padding=2**32)
        assert any_tokenizer.encode_batch(texts, padding=0).attention_mask[:1] in ([[1, 0]], [[1]], [])
    ended = add_specials(tokenizer, ["<|pad|>"])
    assert ended.encode_batch(["a", ""], padding=True).ids == [[97], [ended.special_tokens["<|pad|>"]]]


def test_what_is_not_one_text_is_refused_with_the_name_of_what_takes_several():
    tokenizer = train(Corpus.from_text("abab abab"), TrainingConfig(vocabulary_size=258))
    of_library = train_by_library(
        Corpus.from_text("abab abab\nab"), LibraryConfig(algorithm="wordpiece", vocabulary_size=10)
    ).tokenizer
    encoders: tuple[Callable[[Any], object], ...] = (
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
        WordTokenizer(("a",)).encode,
    )
    for encode in encoders:
        wrong: Any
        for wrong in (["a"], [], None, bytearray(b"a"), ["long"] * 5_000):
            words = f"not {type(wrong).__name__}: encode takes one text, encode_batch sev"
            with pytest.raises(ConfigError, match=words):
                encode(wrong)


# --- Decoding many ids, and many texts --------------------------------------------------------------------------------


def slowly(tokenizer: Tokenizer, ids: list[int]) -> bytes:
    return b"".join([tokenizer.tokens[token] or b"" for token in ids])


@pytest.mark.parametrize("kind", ["no pattern", "cl100k", "a playhead", "characters", "whole words", "picky"])
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), some=st.integers(0, 3000))
def test_many_ids_have_the_bytes_of_each(kind, seed, some):
    tokenizer = of_kind(kind)
    ids = np.random.default_rng(seed).choice(tokenizer.tokens.ids(), some).tolist()
    spelled = slowly(tokenizer, ids)
    for given_ids in (ids, tuple(ids), iter(ids), np.array(ids, np.int64), np.array(ids, np.uint32)):
        assert tokenizer.decode_bytes(given_ids) == spelled
    assert tokenizer.decode(ids, "backslashreplace") == spelled.decode("utf-8", "backslashreplace")
    assert finish(tokenizer.decode_bytes_work(ids)) == spelled
    rows = [row.tolist() for row in np.array_split(np.array(ids, int), 7)]
    texts = [tokenizer.decode(row) for row in rows]
    assert tokenizer.decode_batch(rows) == tokenizer.decode_batch(iter(map(np.array, rows))) == texts


def test_a_token_that_is_longer_than_eight_bytes_is_written_whole():
    tokenizer = train(Corpus.from_text("abcdefghijklmnopqrstuvwxyz" * 9), TrainingConfig(vocabulary_size=290))
    ids = tokenizer.tokens.ids().tolist() * 9
    assert max(map(len, filter(None, tokenizer.tokens))) > 16
    assert tokenizer.decode_bytes(ids) == slowly(tokenizer, ids)


@pytest.mark.parametrize("many", [1, 1000])
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (400, "Id 400 is not in the vocabulary"),
        (-1, "Id -1 is not in the vocabulary"),
        (2**40, "Id 1099511627776 is not in the vocabulary"),
        (299, "Id 299 is not"),
        (1.0, "An id must be a whole number, not 1.0"),
        (True, "An id must be a whole number, not True"),
        ("a", "An id must be a whole number, not 'a'"),
        (None, "An id must be a whole number, not None"),
    ],
)
def test_an_id_that_is_none_is_named_among_few_and_many(many, wrong, words):
    tokenizer = with_whole_words()
    given: list[Any] = [*[97] * many, wrong, -7]
    for decode in (tokenizer.decode, tokenizer.decode_bytes, lambda ids: finish(tokenizer.decode_bytes_work(ids))):
        with pytest.raises(ConfigError, match=words):
            decode(given)
    if type(wrong) is int:
        with pytest.raises(ConfigError, match=words):
            tokenizer.decode(np.array(given, np.int64))
    for rows in ([[97], given], (row for row in [given, [98]])):
        with pytest.raises(ConfigError, match=words):
            tokenizer.decode_batch(rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_decoded_without_its_padding(kind):
    tokenizer = of_kind(kind)
    texts = ["the cat", "", "mat"]
    batch = tokenizer.encode_batch(texts, padding=5)
    assert tokenizer.decode_batch(batch) == [tokenizer.decode(tokenizer.encode(text)) for text in texts]
    assert tokenizer.decode_batch(batch.ids[:1]) == [tokenizer.decode(batch[0])]
    assert tokenizer.decode_batch([]) == []
    one_text: tuple[Any, ...] = ([1, 2], "text", np.array([1, 2]))
    for ids in one_text:
        with pytest.raises(ConfigError, match="list of lists of ids"):
            tokenizer.decode_batch(ids)


# --- Tokens that no merge makes, and pre-tokens that are tokens without being merged ----------------------------------


def make(pattern="gpt2", **changed):
    return Tokenizer(OF_THE, pattern=pattern, extra_tokens={300: b"cat", 301: b" dog"}, **changed)


def test_they_are_in_the_vocabulary_and_decode_but_are_never_made(tmp_path):
    tokenizer = make()
    assert len(tokenizer) == 256 + 2 + 2
    assert tokenizer.tokens[300] == b"cat"
    assert tokenizer.tokens[299] is None
    assert tokenizer.extra_tokens == {300: b"cat", 301: b" dog"}
    assert tokenizer.encode("cat") == list(b"cat")
    assert tokenizer.decode([300, 301]) == "cat dog"
    parts = Tokenizer.from_parts(VOCABULARY | {300: b"xyz"}, MERGES, "gpt2")
    assert (parts.kind(300), parts.encode("xyz")) == ("unreachable", [120, 121, 122])
    save(parts, tmp_path / "out")
    assert load(tmp_path / "out").tokens == parts.tokens
    tokenizer = make(whole_words=(301,))
    assert [tokenizer.kind(token) for token in (0, THE, 300, 301)] == ["byte", "merge", "unreachable", "whole word"]


def test_a_whole_word_becomes_its_token_wherever_it_is_a_pre_token(monkeypatch):
    tokenizer = make(whole_words=(300, 301))
    assert tokenizer.encode("cat dog") == [300, 301]
    assert tokenizer.encode("cats dog the") == [*b"cats", 301, ord(" "), THE]
    again = pickle.loads(pickle.dumps(tokenizer))
    assert (again.extra_tokens, again.encode("cat")) == (tokenizer.extra_tokens, [300])
    # A whole text is a pre-token where nothing is split.
    tokenizer = make("none", whole_words=(300,))
    assert (tokenizer.encode("cat"), tokenizer.encode("cat dog")) == ([300], list(b"cat dog"))
    # One that a merge makes comes with that merge.
    tokenizer = make(whole_words=(THE, 300))
    assert tokenizer.at(1).encode("the cat") == [TH, ord("e"), *b" cat"]
    assert tokenizer.at(1).encode("cat") == [300]
    assert tokenizer.encode("the") == [THE]
    monkeypatch.setattr("tokstudio.core.tokenizer.known_words.MOST_KNOWN", 5)  # words that are kept
    words = "".join(f"w{number}\ncat " for number in range(50))
    tokenizer = make(whole_words=(300, 301))
    expected = tokenizer.encode(words)
    assert expected.count(300) == 50
    for other in ("some other words, the cat too", words):  # the words before are forgotten
        assert tokenizer.encode(other + " " * 300) == make(whole_words=(300, 301)).encode(other + " " * 300)
    assert tokenizer.encode(words) == expected


def test_compact_moves_them_with_all_others():
    compact = make(whole_words=(300,)).at(1).compact()
    assert compact.extra_tokens == {257: b"cat", 258: b" dog"}
    assert compact.encode("cat") == [257]
    assert len(compact) == len(compact.tokens) == 259
    for extra in ({5: b"x"}, {256: b"x"}, {400: b""}, {-1: b"x"}):  # an id that is not free, or an empty token
        with pytest.raises(ConfigError):
            Tokenizer(OF_THE, extra_tokens=extra)


# --- A tokenizer from a vocabulary and merges as bytes, and texts encoded one at a time -------------------------------

BYTES = {number: bytes([number]) for number in range(256)}
MERGES = [(b"t", b"h"), (b"th", b"e"), (b" ", b"the")]
VOCABULARY = BYTES | {256: b"th", 257: b"the", 258: b" the"}


def test_ids_may_be_in_any_order_and_special_tokens_in_the_vocabulary():
    ids = {1000 - number: token for number, token in VOCABULARY.items()} | {5: b"<s>"}
    made = Tokenizer.from_parts(ids, MERGES, special_tokens={"<s>": 5, "<t>": 6})
    assert made.encode(" the<s>", "all") == [742, 5]
    assert (made.byte_ids[65], len(made)) == (935, 261)
    assert (made.merges.tolist(), made.merge_results.tolist()) == (
        [[884, 896], [744, 899], [968, 743]],
        [744, 743, 742],
    )
    assert made.decode(made.encode("<t>é", "all")) == "<t>é"
    assert pickle.loads(pickle.dumps(made)).encode(" the<s>", "all") == [742, 5]


@pytest.mark.parametrize(
    ("vocabulary", "merges", "words"),
    [
        ({k: v for k, v in VOCABULARY.items() if k != 7}, MERGES, "The byte 7 has no token"),
        ({k: v for k, v in VOCABULARY.items() if k != 256}, MERGES, 'Merge 1 needs the token "th"'),
        (VOCABULARY, [*MERGES, (b"q", b"u")], 'Merge 4 needs the token "qu"'),
        (VOCABULARY, MERGES[::-1], "Merge 1 joins token 257, which does not exist yet"),
        (VOCABULARY, [*MERGES, (b"t", b"h")], 'Merges 1 and 4 make the same token, "th"'),
        (VOCABULARY | {259: b"he"}, [(b"h", b"e"), (b"t", b"he"), *MERGES], 'same token, "the"'),
        (VOCABULARY | {300: b"th"}, MERGES, "Tokens 256 and 300 have the same bytes"),
        (VOCABULARY | {300: b""}, MERGES, "at least one"),
        (VOCABULARY | {300: "text"}, MERGES, "must be bytes"),
        (VOCABULARY | {2**31: b"ab"}, MERGES, "from 0 to 2,147,483,646, not 2,147,483,648"),
        (VOCABULARY | {2**31 - 2: b"ab"}, MERGES, "far too high"),
        ([*VOCABULARY.values()], MERGES, "must be a mapping"),
        (VOCABULARY, [b"th"], "Merge 1 must be two tokens"),
    ],
)
def test_what_does_not_fit_together_is_refused(vocabulary, merges, words):
    with pytest.raises(ConfigError, match=words):
        Tokenizer.from_parts(vocabulary, merges)


@pytest.mark.parametrize(
    ("pattern", "specials", "words"),
    [
        ("(", {}, "does not compile"),
        ("none", {"<s>": 300, "<t>": 300}, "same id"),
        ("none", {"": 300}, "must be a text, not ''"),
        ("none", {"\ud800": 300}, "must be a text, not '.ud800'"),
        ("none", {5: 300}, "must be a text, not 5"),
        ("none", ["<s>"], "must be a mapping, not"),
        (5, {}, "must be a name or a regular expression, not 5"),
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
    assert list(ByteTokenizer().encode_iterable(["a", b"b"])) == [97, 98]
    for tokenizer in (made, ByteTokenizer()):
        with pytest.raises(ConfigError, match="not one text"):
            tokenizer.encode_iterable("the")
