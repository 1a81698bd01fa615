"""What a model is given for texts equals what transformers gives it, and offsets say where tokens are."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers

from tokstudio import (
    ConfigError,
    Corpus,
    LibraryConfig,
    Tokenizer,
    TrainingConfig,
    add_specials,
    load,
    train,
    train_by_library,
)
from tokstudio.core.tokenizer.model_input import in_characters

TEXT = "the cat sat on the mat, and that's that: Zürich 123 日本 été [SEP] naïve 😀 the  end \n" * 5
WORDS = [*TEXT.split(" "), "0", "", " ", "  ", "\n", "<s>", "[CLS]", "[PAD]", "😀é", "e\u0301"]
PIECES = st.lists(st.sampled_from(WORDS), max_size=9)
one_text = st.one_of(PIECES.map(" ".join), PIECES.map("".join), st.text(max_size=9))


def byte_level(processor: Any, specials: list[str], prefix_space: bool = False) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=330, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    tokenizer.post_processor = processor
    return tokenizer


def llama_like() -> tokenizers.Tokenizer:
    """A token before each text, byte fallback, and marks for spaces: a library encodes."""
    vocabulary = {token: number for number, token in enumerate(["<unk>", "<s>", "</s>"])}
    vocabulary |= {f"<0x{byte:02X}>": 3 + byte for byte in range(256)}
    for character in sorted({"▁", *TEXT.replace(" ", "")}):
        vocabulary.setdefault(character, len(vocabulary))
    merges = [("▁", "t"), ("h", "e"), ("▁t", "he"), ("a", "t")]
    for left, right in merges:
        vocabulary[left + right] = len(vocabulary)
    tokenizer = tokenizers.Tokenizer(
        models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s> $B", [("<s>", 1)])
    return tokenizer


def bert_like() -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(
        [TEXT], trainers.WordPieceTrainer(vocab_size=120, special_tokens=specials, show_progress=False)
    )
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def gpt_like() -> tokenizers.Tokenizer:
    return byte_level(processors.ByteLevel(trim_offsets=True, add_prefix_space=False), ["<s>", "[PAD]"])


def roberta_like() -> tokenizers.Tokenizer:
    processor = processors.RobertaProcessing(("[SEP]", 1), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    return byte_level(processor, ["<s>", "[SEP]", "[PAD]"], prefix_space=True)


def untrimmed() -> tokenizers.Tokenizer:
    return byte_level(processors.ByteLevel(trim_offsets=False), ["<s>", "[PAD]"], prefix_space=True)


def white_space() -> tokenizers.Tokenizer:
    """Tokens of several spaces, and special tokens that begin with white space, end with it or take it."""
    vocabulary = {token: number for number, token in enumerate([*pre_tokenizers.ByteLevel.alphabet(), "ĠĠ", "ĠĠĠ"])}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocabulary, [("Ġ", "Ġ"), ("ĠĠ", "Ġ")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True, add_prefix_space=True)
    taking = AddedToken("[CLS]", special=True, normalized=False, lstrip=True, rstrip=True)
    tokenizer.add_special_tokens(["[PAD]", taking, "\t<m>\n", "\u3000<m>Ġ"])
    return tokenizer


def plain_with_both() -> tokenizers.Tokenizer:
    template = processors.TemplateProcessing("<s> <s> $A [SEP]", "$A $B", [("<s>", 0), ("[SEP]", 1)])
    steps = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return byte_level(steps, ["<s>", "[SEP]", "[PAD]"])


MADE = {
    "bert": (bert_like, {"pad_token": "[PAD]", "model_max_length": 12}),
    "llama": (llama_like, {"pad_token": "</s>", "padding_side": "left", "bos_token": "<s>"}),
    "gpt": (gpt_like, {"pad_token": "[PAD]", "truncation_side": "left", "model_max_length": 5}),
    "roberta": (roberta_like, {"pad_token": "[PAD]", "padding_side": "left", "truncation_side": "left"}),
    "untrimmed": (untrimmed, {"pad_token": "[PAD]"}),
    "white space": (white_space, {"pad_token": "[PAD]", "truncation_side": "left"}),
    "both": (plain_with_both, {"pad_token": "[PAD]"}),
    "split specials": (plain_with_both, {"pad_token": "[PAD]", "split_special_tokens": True}),
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Each tokenizer as we open it, and as transformers does."""
    from transformers import PreTrainedTokenizerFast

    @cache
    def pair(name: str) -> tuple[Tokenizer, Any]:
        make, config = MADE[name]
        folder: Path = tmp_path_factory.mktemp("made")
        make().save(str(folder / "tokenizer.json"))
        config = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False, **config}
        (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
        return load(folder), PreTrainedTokenizerFast.from_pretrained(folder)

    return pair


def by_transformers(theirs: Any, texts: Any, return_offsets: bool = False, **more: Any) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = theirs(texts, return_offsets_mapping=return_offsets, return_token_type_ids=False, **more)
    return {name: given[name] for name in ("input_ids", "attention_mask", *["offset_mapping"] * return_offsets)}


SOME = st.one_of(one_text, st.lists(one_text, min_size=1, max_size=4))  # of none, transformers fails
ARGUMENTS = st.fixed_dictionaries(
    {"return_offsets": st.booleans(), "add_special_tokens": st.booleans()},
    optional={"padding": st.sampled_from([True, False, "longest", "do_not_pad", "max_length"])},
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("roberta", [(0, 1), (1, 4), (5, 5), (4, 5)]), ("untrimmed", [(0, 1), (1, 4), (4, 5), (4, 5)])],
)
def test_a_space_that_is_added_is_where_the_character_after_it_is(opened, name, expected):
    """As the `tokenizers` library has it: it then takes the space off, and of a token of it nothing is left."""
    ours, theirs = opened(name)
    given = ours("\n<s>0", return_offsets=True, add_special_tokens=False)
    assert given["offset_mapping"] == expected
    assert theirs("\n<s>0", return_offsets_mapping=True, add_special_tokens=False)["offset_mapping"] == expected


def test_white_space_at_the_ends_of_tokens_is_trimmed(opened):
    ours, theirs = opened("white space")
    texts = ["a\t<m>\nb", "\u3000<m>Ġ a", "  a", "    a", "b    a", " \t\u3000[CLS]\n\u00a0 b", "   [CLS]\x1c"]
    assert ours(texts, return_offsets=True) == by_transformers(theirs, texts, return_offsets=True)
    assert ours("a\t<m>\n", return_offsets=True)["offset_mapping"] == [(0, 1), (2, 5)]


@pytest.mark.parametrize("name", MADE)
@given(
    texts=st.one_of(one_text, st.lists(one_text, min_size=1, max_size=4)), arguments=ARGUMENTS, most=st.integers(0, 9)
)
def test_it_is_what_transformers_gives(opened, name, texts, arguments, most):
    ours, theirs = opened(name)
    if most:
        arguments = {**arguments, "max_length": most + 3, "truncation": True}
    elif arguments.get("padding") == "max_length":
        arguments = {**arguments, "max_length": 14}
    assert ours(texts, **arguments) == by_transformers(theirs, texts, **arguments)


@pytest.mark.parametrize("name", MADE)
def test_arrays_are_those_of_transformers(opened, name):
    ours, theirs = opened(name)
    for texts, arguments in (
        (["the cat", "", TEXT], {"padding": True}),
        (["the cat", "", TEXT], {"padding": "max_length", "max_length": 9, "truncation": "only_first"}),
        ("one text", {}),
    ):
        mine = ours(texts, return_tensors="np", return_offsets=True, **arguments)
        wanted = by_transformers(theirs, texts, return_tensors="np", return_offsets=True, **arguments)
        for key, value in wanted.items():
            assert mine[key].dtype == np.int64
            assert np.array_equal(mine[key], value), key
    with pytest.raises(ConfigError, match="padding=True"):
        ours(["the cat", TEXT], return_tensors="np")
    nothing = ours([], return_tensors="np", return_offsets=True)
    assert nothing["input_ids"].shape == nothing["attention_mask"].shape == (0, 0)
    assert (nothing["input_ids"].dtype, nothing["offset_mapping"].shape) == (np.int64, (0, 0, 2))


def test_a_generator_of_texts_is_one_batch(opened):
    ours, _ = opened("bert")
    texts = ["the cat", "mat", "[SEP]"]
    assert ours(text for text in texts) == ours(texts) == ours(tuple(texts))
    assert ours([]) == {"input_ids": [], "attention_mask": []}
    assert ours(b"the cat") == ours("the cat")


def test_the_limit_of_the_files_holds_where_none_is_given(opened):
    ours, theirs = opened("gpt")
    assert ours(TEXT, truncation=True) == by_transformers(theirs, TEXT, truncation=True)
    assert len(ours(TEXT, truncation=True)["input_ids"]) == 5
    assert ours(["a", "b c"], padding="max_length") == by_transformers(theirs, ["a", "b c"], padding="max_length")
    assert ours(TEXT, max_length=3) == by_transformers(theirs, TEXT, max_length=3)


def test_sides_and_the_token_to_pad_with_may_stand_in_tokenizer_json_alone(tmp_path):
    made = plain_with_both()
    made.enable_padding(direction="left", pad_token="[PAD]", pad_id=2)
    made.enable_truncation(4, direction="left")
    made.save(str(tmp_path / "tokenizer.json"))
    from transformers import PreTrainedTokenizerFast

    ours, theirs = (
        load(tmp_path / "tokenizer.json"),
        PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json")),
    )
    several: list[dict[str, Any]] = [{"padding": True}, {"truncation": True, "max_length": 6}]
    for arguments in several:
        assert ours(["the cat sat", "a"], **arguments) == by_transformers(theirs, ["the cat sat", "a"], **arguments)


@pytest.mark.parametrize("config", [{}, {"split_special_tokens": True}, {"pad_token": "<s>"}])
@pytest.mark.parametrize("token", ["<end>", "<new>"])
def test_the_token_to_pad_with_of_tokenizer_json_has_that_role(tmp_path, token, config):
    """It is special to transformers, and added where it is not there."""
    from transformers import PreTrainedTokenizerFast

    made = plain_with_both()
    made.add_tokens([AddedToken("<end>", special=False, normalized=False)])
    made.enable_padding(pad_token=token, pad_id=330)
    made.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    ours, theirs = load(tmp_path), PreTrainedTokenizerFast.from_pretrained(tmp_path)
    assert ours.roles == {"pad_token": theirs.pad_token}
    assert len(ours) == len(theirs)
    texts = ["the<end>", "a <new>cat<s> sat"]
    assert ours(texts, padding=True) == by_transformers(theirs, texts, padding=True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"max_length": 0}, "max_length must be a whole number from 1"),
        ({"max_length": -1}, "max_length must be a whole number from 1"),
        ({"max_length": 1.5}, "max_length must be a whole number from 1"),
        ({"max_length": 2}, "max_length 2 has no room for the 3 tokens that this tokenizer adds"),
        ({"truncation": True}, "name no largest number of tokens"),
        ({"padding": "max_length"}, "name no largest number of tokens"),
        ({"padding": "left"}, "padding must be one of False, 'do_not_pad', True, 'longest', 'max_length', not 'left'"),
        ({"padding": 7}, "padding must be one of"),
        ({"truncation": "only_second", "max_length": 4}, "truncation must be one of"),
        ({"padding": True, "max_length": 9}, "max_length does nothing"),
        ({"return_tensors": "pt"}, 'return_tensors must be "np"'),
    ],
)
def test_arguments_without_meaning_are_refused(opened, arguments, words):
    ours, _ = opened("both")
    with pytest.raises(ConfigError, match=words):
        ours(["a"], **arguments)


def test_what_is_no_text_and_what_is_not_known_is_refused(opened):
    ours, _ = opened("both")
    wrong: list[Any] = [None, 5, [None], [["a"]], {1: "a"}]
    for given_texts in wrong:
        with pytest.raises(ConfigError, match="text must be str or bytes"):
            ours(given_texts)
    plain = train(Corpus.from_text(TEXT), TrainingConfig(vocabulary_size=260))
    with pytest.raises(ConfigError, match="no padding token: give one of its"):
        plain(["a", "bb"], padding=True)
    strange = plain.changed(settings=plain.settings.__class__(post_processor={"type": "Unknown"}))
    with pytest.raises(ConfigError, match="What this file adds to each text is not known"):
        strange("a")
    assert strange("a", add_special_tokens=False)["input_ids"] == [97]


# --- Offsets ----------------------------------------------------------------------------------------------------------


@given(st.one_of(one_text, st.binary(max_size=12)))
def test_offsets_cover_the_text_in_bytes_and_characters(text):
    tokenizer = trained()
    raw = text if isinstance(text, bytes) else text.encode()
    ids, spans = tokenizer.encode_with_offsets(text, "bytes")
    assert ids.tolist() == tokenizer.encode(text)
    assert [raw[start:stop] for start, stop in spans.tolist()] == [tokenizer.tokens[token] for token in ids.tolist()]
    characters = raw.decode("utf-8", "surrogateescape")
    _, offsets = tokenizer.encode_with_offsets(text)
    for (start, stop), (first, last) in zip(spans.tolist(), offsets.tolist(), strict=True):
        before, inside = characters[:first], characters[first:last]
        encoded = [len(part.encode("utf-8", "surrogateescape")) for part in (before, before + inside)]
        # Of a character that it has a part of, all is in it.
        assert encoded[0] <= start < stop <= encoded[1]
        assert len(inside) == 1 or encoded[0] + 4 > start


@cache
def trained() -> Tokenizer:
    config = TrainingConfig(vocabulary_size=300, pattern="cl100k", special_tokens=("<s>",))
    return train(Corpus.from_text(TEXT), config)


def test_offsets_of_special_tokens_of_surrogates_and_of_strange_units():
    ids, offsets = trained().encode_with_offsets("é<s>", allowed_special="all")
    assert (trained().special_tokens["<s>"], offsets[-1].tolist()) == (ids[-1], [1, 4])
    assert trained().encode_with_offsets("\ud83d\ude00a")[1][-1].tolist() == [1, 2]
    assert [part.tolist() for part in trained().encode_with_offsets("")] == [[], []]
    with pytest.raises(ConfigError, match="'words'"):
        trained().encode_with_offsets("a", "words")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="encode takes one text"):
        trained().encode_with_offsets(["a"])  # pyright: ignore[reportArgumentType]


def test_offsets_of_what_is_not_utf8_are_refused_where_another_text_would_be_encoded():
    config = TrainingConfig(vocabulary_size=60, base="characters", unknown_token="<unk>", special_tokens=("<unk>",))
    of_characters = train(Corpus.from_text(TEXT), config)
    of_library = train_by_library(
        Corpus.from_text(TEXT), LibraryConfig(algorithm="wordpiece", vocabulary_size=90)
    ).tokenizer
    for tokenizer in (of_characters, of_library):
        with pytest.raises(ConfigError, match="not UTF-8"):
            tokenizer.encode_with_offsets(b"the\xff")
        assert tokenizer.encode_with_offsets(b"the cat")[1][-1, 1] == 7
    assert of_characters.encode_with_offsets("a\u4e00b")[1].tolist() == [[0, 1], [1, 2], [2, 3]]


def test_bytes_that_are_not_utf8_count_as_a_character_each():
    spans = np.array([[0, 1], [1, 3], [3, 4], [4, 6], [6, 6]])
    assert in_characters(b"a\xc3\xa9\xff\xe6\x97", spans).tolist() == [[0, 1], [1, 2], [2, 3], [3, 5], [5, 5]]


# --- Tokens as files spell them ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
def test_the_vocabulary_has_the_strings_of_the_file(opened, name):
    ours, theirs = opened(name)
    vocabulary = ours.get_vocab()
    assert vocabulary == theirs.get_vocab()
    assert all(ours.token_to_id(token) == number for token, number in vocabulary.items())
    assert all(ours.id_to_token(number) == token for token, number in vocabulary.items())
    assert (ours.token_to_id("no such token"), ours.id_to_token(10**6), ours.id_to_token(-1)) == (None, None, None)
    vocabulary.clear()
    assert ours.get_vocab()


def test_tokens_of_a_playhead_and_of_other_formats_are_spelled_as_in_tokenizer_json(tmp_path):
    tokenizer = add_specials(trained().at(5), ["<é>"])
    assert tokenizer.get_vocab()["<é>"] == tokenizer.special_tokens["<é>"]
    assert len(tokenizer.get_vocab()) == len(tokenizer)
    library = train_by_library(
        Corpus.from_text(TEXT * 9), LibraryConfig(algorithm="sentencepiece-bpe", vocabulary_size=90)
    ).tokenizer
    assert library.token_to_id("▁") is not None
    assert library.id_to_token(0) == "<unk>"
    with pytest.raises(ConfigError, match="An id must be a whole number"):
        trained().id_to_token(1.5)  # pyright: ignore[reportArgumentType]
