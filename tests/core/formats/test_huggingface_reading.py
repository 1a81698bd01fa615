"""What a `tokenizer.json` of others says is read as its library reads it, or refused by name."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
from trained import (
    BYTE_LEVEL,
    TEXT,
    banana,
    everything,
    library_ids,
    of_characters,
    same,
    settings_of,
    split_by,
    steps,
    trained,
    with_specials,
    with_unknown,
)

from tokstudio.core.errors import FormatError
from tokstudio.core.formats import load, load_work, save
from tokstudio.core.patterns import REGEX
from tokstudio.core.progress import finish
from tokstudio.core.torture import torture_text


def read(folder, file):
    (folder / "tokenizer.json").write_text(json.dumps(file))
    return load(folder)


def test_merges_may_be_texts_and_may_stand_before_the_vocabulary(tmp_path):
    tokenizer = everything()
    file = settings_of(tokenizer)
    merges = file["model"]["merges"]
    text_form = ["#version: 0.2", *(f"{left} {right}" for left, right in merges)]
    file["model"] = {"merges": merges, **{key: file["model"][key] for key in file["model"] if key != "merges"}}
    assert same(read(tmp_path, dict(sorted(file.items()))), tokenizer)
    plain = trained("banana", 3)
    file = settings_of(plain)
    text_form = ["#version: 0.2", *(" ".join(pair) for pair in file["model"]["merges"])]
    file["model"]["merges"] = text_form
    assert same(read(tmp_path, file), plain)


@pytest.mark.parametrize(
    "left_out", ["version", "truncation", "padding", "added_tokens", "normalizer", "post_processor"]
)
def test_parts_that_say_nothing_may_be_missing(tmp_path, left_out):
    file = settings_of(banana())
    del file[left_out]
    assert same(read(tmp_path, file), banana())


def test_a_sequence_of_one_step_and_a_model_without_a_type_are_read(tmp_path):
    file = settings_of(banana())
    file["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [file["pre_tokenizer"]]}
    file["post_processor"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
    del file["model"]["type"]
    assert same(read(tmp_path, file), banana())


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("pre_tokenizer", {**BYTE_LEVEL, "add_prefix_space": True}, "its pre-tokenizer adds a space"),
        ("pre_tokenizer", {"type": "ByteLevel"}, "its pre-tokenizer adds a space"),
        ("pre_tokenizer", {"type": "Whitespace"}, "its pre-tokenizer is Whitespace"),
        ("pre_tokenizer", steps(), "its pre-tokenizer splits text in several steps"),
        ("pre_tokenizer", steps(split_by("x"), split_by("y"), BYTE_LEVEL), "its pre-tokenizer splits text in several"),
        ("pre_tokenizer", steps(BYTE_LEVEL, split_by("x")), "its pre-tokenizer splits text in several steps"),
        ("pre_tokenizer", steps({"type": "Digits"}), "its pre-tokenizer is Digits"),
        ("pre_tokenizer", steps(None), "its pre-tokenizer is of an unknown kind"),
        ("pre_tokenizer", {"type": "Sequence", "pretokenizers": 1}, "its pre-tokenizer is Sequence"),
        (
            "pre_tokenizer",
            steps(split_by(r"\s*\S+|\s+"), {**BYTE_LEVEL, "use_regex": True}),
            "its pre-tokenizer splits text by two patterns",
        ),
        (
            "pre_tokenizer",
            steps(split_by("x"), BYTE_LEVEL),
            'its pattern cannot be used: The pattern drops " The',
        ),
        ("pre_tokenizer", steps(split_by("("), BYTE_LEVEL), "its pattern cannot be used: The pattern"),
        ("pre_tokenizer", steps(split_by("x*"), BYTE_LEVEL), "its pattern cannot be used: The pattern"),
        ("pre_tokenizer", steps(split_by("gpt2"), BYTE_LEVEL), 'its pre-tokenizer splits text by the word "gpt2"'),
        ("pre_tokenizer", steps(split_by(""), BYTE_LEVEL), "its pre-tokenizer splits text by no regular expression"),
        (
            "pre_tokenizer",
            steps({**split_by("x"), "pattern": {"String": "x"}}, BYTE_LEVEL),
            "its pre-tokenizer splits text by no regular expression",
        ),
        (
            "pre_tokenizer",
            steps(split_by(r"\s*\S+|\s+", "MergedWithNext"), BYTE_LEVEL),
            "its pre-tokenizer drops or joins what its pattern finds",
        ),
        (
            "pre_tokenizer",
            steps(split_by(r"\s*\S+|\s+", "Removed"), BYTE_LEVEL),
            "its pre-tokenizer drops or joins what its pattern finds",
        ),
        ("pre_tokenizer", 7, "its pre-tokenizer is of an unknown kind"),
        ("pre_tokenizer", None, "its decoder ByteLevel does not go with its pre-tokenizer"),
        ("pre_tokenizer", split_by("x"), "its decoder ByteLevel does not go with its pre-tokenizer"),
        ("decoder", {"type": "Metaspace"}, "its decoder is Metaspace"),
        ("decoder", {"type": "Fuse"}, "its decoder Fuse does not go with its pre-tokenizer"),
        ("decoder", None, "it has no decoder, so that decoding leaves bytes spelled as characters"),
        ("normalizer", {"type": "NFC"}, "its normalizer NFC changes the text"),
        ("post_processor", {"type": "TemplateProcessing"}, "its post-processor adds tokens"),
        ("truncation", {"max_length": 5}, "it cuts long texts"),
        ("padding", {"length": 5}, "it pads short texts"),
        ("version", "2.0", "its version is another"),
    ],
)
def test_what_cannot_be_modelled_is_refused_by_name(tmp_path, part, value, words):
    file = settings_of(banana())
    file[part] = value
    with pytest.raises(FormatError) as caught:
        read(tmp_path, file)
    assert str(caught.value).startswith(f"tokenizer.json: {words}")


def test_a_pattern_that_the_library_reads_differently_is_refused(tmp_path):
    file = settings_of(banana())
    for regex in (REGEX["cl100k"], r"\d{1,2}+|\D+", r"(?m:^.+$)\n?|\n"):
        file["pre_tokenizer"] = steps(split_by(regex), BYTE_LEVEL)
        with pytest.raises(FormatError, match=r"^tokenizer\.json: the tokenizers library splits text otherwise"):
            read(tmp_path, file)


@pytest.mark.parametrize(
    ("pre_tokenizer", "name"),
    [
        ({**BYTE_LEVEL, "use_regex": True}, "gpt2"),
        (steps({"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}), "gpt2"),
        (steps(split_by(REGEX["llama3"]), BYTE_LEVEL), "llama3"),
        (steps(split_by(REGEX["llama3"], "Removed", True), BYTE_LEVEL), "llama3"),
        (steps(split_by(REGEX["qwen2"], "Isolated", True), BYTE_LEVEL), "qwen2"),
        (steps(split_by(REGEX["cl100k"].replace("{1,3}+", "{1,3}")), BYTE_LEVEL), "cl100k"),
        (steps(split_by(r"\s*\S+|\s+"), BYTE_LEVEL), "whitespace"),
        (steps(split_by(r"\n|[^\n]+"), BYTE_LEVEL), r"\n|[^\n]+"),
    ],
)
def test_patterns_as_others_write_them_are_read_as_the_library_reads_them(tmp_path, pre_tokenizer, name):
    file = settings_of(everything())
    file["pre_tokenizer"] = pre_tokenizer
    tokenizer = read(tmp_path, file)
    assert tokenizer.pattern == name
    for text in (torture_text(), TEXT, "It's 12345 o'clock\n \n  x"):
        assert library_ids(tmp_path / "tokenizer.json", text) == tokenizer.encode(text)


def added(token, number, **more):
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return {"id": number, "content": token, **plain, **more}


def test_added_tokens_get_their_ids_as_the_library_gives_them(tmp_path):
    file = settings_of(banana())
    file["model"]["vocab"]["<in>"] = 300
    file["added_tokens"] = [added("<a>", 258), added("<in>", 300), added("<b b>", 259, special=True)]
    tokenizer = read(tmp_path, file)
    assert tokenizer.special_tokens == {"<a>": 258, "<in>": 300, "<b b>": 259}
    text = "<a>banana<b b><in>"
    assert library_ids(tmp_path / "tokenizer.json", text) == tokenizer.encode(text, "all")


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        ({}, "its added tokens are not a list"),
        ("<s>", "its added tokens are not a list"),
        ([7], "added token 1 has no content or no id"),
        ([added("", 257)], "added token 1 has no content or no id"),
        ([{"content": "<s>"}], "added token 1 has no content or no id"),
        ([added("<s>", "257")], 'added token "<s>": an id must be a whole number'),
        ([added("<s>", -1)], 'added token "<s>": id -1 is negative'),
        ([added("<s>", 10**9)], 'added token "<s>": id 1000000000 is too large'),
        ([added("\ud83d", 257)], 'added token "\\ud83d" is not a text'),
        (
            [added("<s>", 258)],
            'added token "<s>" has the id 258, and in the vocabulary or by its place it would be 257',
        ),
        ([added("<s>", 257), added("<s>", 257)], 'added token "<s>" stands there twice'),
        ([added("<s>", 257), added("<t>", 257)], 'added token "<t>" has the id 257'),
        ([added("an", 256)], 'added token "an" is an ordinary token as well'),
        ([added("a", 97)], 'added token "a" is an ordinary token as well'),
        ([added("<s>", 257, lstrip=True)], 'its added token "<s>" takes the white space before it along'),
        ([added("<s>", 257, rstrip=True)], 'its added token "<s>" takes the white space after it along'),
        ([added("<s>", 257, single_word=True)], 'its added token "<s>" stands for whole words only'),
        (
            [added("<s>", 257, normalized=True), added("<t>", 258, normalized=False)],
            "some of its added tokens are found before others",
        ),
    ],
)
def test_added_tokens_that_cannot_be_are_refused(tmp_path, tokens, words):
    file = settings_of(banana())
    file["added_tokens"] = tokens
    with pytest.raises(FormatError) as caught:
        read(tmp_path, file)
    assert str(caught.value).startswith(f"tokenizer.json: {words}")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"unk_token": "<unk>"}, "its unknown token is not in the vocabulary"),
        ({"unk_token": 7}, "its unknown token is not in the vocabulary"),
        ({"fuse_unk": True}, "it uses fuse_unk, which makes one token of several unknown characters"),
        ({"byte_fallback": True}, "it uses byte_fallback, which spells unknown characters in bytes"),
        ({"ignore_merges": True}, "it uses ignore_merges, which takes whole words before merging"),
        ({"vocab": {}, "merges": []}, "the vocabulary holds no character"),
        ({"vocab": {"\ud83d": 0}, "merges": []}, 'the vocabulary has the token "\\ud83d", which is no character'),
        ({"vocab": {"a": 0, "bc": 1}, "merges": []}, 'the vocabulary has the token "bc", which no merge makes'),
    ],
)
def test_a_model_of_characters_that_cannot_be_modelled_is_refused_by_name(tmp_path, change, words):
    file = settings_of(with_unknown())
    if "vocab" in change:
        file["added_tokens"] = []
    file["model"] |= change
    with pytest.raises(FormatError) as caught:
        read(tmp_path, file)
    assert str(caught.value).startswith(f"tokenizer.json: {words}")


def test_characters_without_a_decoder_are_refused(tmp_path):
    file = settings_of(of_characters())
    file["decoder"] = None
    with pytest.raises(FormatError, match="it has no decoder, so that decoding puts spaces between tokens"):
        read(tmp_path, file)


def test_unknown_characters_may_become_one_that_is_known(tmp_path):
    file = settings_of(of_characters())
    file["model"]["unk_token"] = "\ufeff"
    tokenizer = read(tmp_path, file)
    for text in ("Öthe", TEXT, "the \ufeff"):
        assert library_ids(tmp_path / "tokenizer.json", text) == tokenizer.encode(text)
    save(tokenizer, tmp_path / "again.json")
    assert same(load(tmp_path / "again.json"), tokenizer)


@pytest.mark.parametrize("make", [lambda: with_specials("cl100k"), with_unknown])
def test_the_parts_may_stand_in_any_order(tmp_path, make):
    tokenizer = make()
    file = settings_of(tokenizer)
    for order in (sorted(file), sorted(file, reverse=True), ["model", *file]):
        model = {key: file["model"][key] for key in sorted(file["model"], reverse=order[0] == "model")}
        assert same(read(tmp_path, {key: model if key == "model" else file[key] for key in order}), tokenizer)


def test_whole_words_that_merging_makes_as_well_change_nothing(tmp_path):
    file = settings_of(with_specials("llama3"))
    file["model"]["ignore_merges"] = True
    tokenizer = read(tmp_path, file)
    assert same(tokenizer, with_specials("llama3"))
    for text in (TEXT, torture_text()):
        assert library_ids(tmp_path / "tokenizer.json", text) == tokenizer.encode(text, "all")
    # "ab" comes first, so "a" and "bc" never meet in "abc".
    tokens = [*"abc", "bc", "ab", "abc"]
    vocabulary = {token: number for token, number in file["model"]["vocab"].items() if len(token) == 1}
    file["added_tokens"] = []
    file["model"]["vocab"] = vocabulary | {token: 1000 + i for i, token in enumerate(tokens) if len(token) > 1}
    file["model"]["merges"] = [["a", "b"], ["b", "c"], ["a", "bc"]]
    with pytest.raises(FormatError, match="it uses ignore_merges, which takes whole words before merging"):
        read(tmp_path, file)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"type": "WordPiece"}, "its model is WordPiece, which TokStudio cannot model yet"),
        ({"type": "Unigram", "vocab": [["a", -1.5]]}, "its model is Unigram, which TokStudio cannot model yet"),
        ({"type": {"a": 1}}, "its model is of an unknown kind"),
        ({"dropout": 0.1}, "it uses dropout"),
        ({"continuing_subword_prefix": "##"}, "it uses continuing_subword_prefix"),
        ({"end_of_word_suffix": "</w>"}, "it uses end_of_word_suffix"),
        ({"vocab": ["a"]}, '"vocab" is not of the right type'),
        ({"merges": {"a": "b"}}, '"merges" is not of the right type'),
        ({"merges": [["a", "b"]]}, 'merge 1 needs the token "ab", which the vocabulary does not have'),
        ({"merges": [["x y", "b"]]}, 'merge 1 needs the token "x y", which the vocabulary does not have'),
        ({"merges": [["a", "n"], ["a", "n"]]}, "merge 2 makes token 256, which exists already"),
        ({"merges": [["a"]]}, "a merge must be two tokens"),
        ({"merges": [[1, 2]]}, "a merge must be two tokens"),
        ({"merges": [None]}, "a merge must be two tokens"),
        ({"merges": ["a  n"]}, 'the merge "a  n" must be two tokens'),
        ({"merges": ["an"]}, 'the merge "an" must be two tokens'),
        ({"merges": []}, 'the vocabulary has the token "an", which no merge makes'),
    ],
)
def test_a_model_that_cannot_be_modelled_is_refused_by_name(tmp_path, change, words):
    file = settings_of(banana())
    file["model"] |= change
    with pytest.raises(FormatError) as caught:
        read(tmp_path, file)
    assert str(caught.value).startswith(f"tokenizer.json: {words}")


@pytest.mark.parametrize(
    ("token", "value", "words"),
    [
        ("new", 10**9, 'token "new": id 1000000000 is too large'),
        ("new", -1, 'token "new": id -1 is negative'),
        ("new", 1.0, 'token "new": an id must be a whole number'),
        ("new", False, 'token "new": an id must be a whole number'),
        ("new", "7", 'token "new": an id must be a whole number'),
        ("new", 256, 'token "new": id 256 stands there twice'),
        ("new", 300, 'the vocabulary has the token "new", which no merge makes'),
        ("日\n", 300, 'the vocabulary has the token "日\\n", which is not byte-level'),
        ("\ud83d", 300, 'the vocabulary has the token "\\ud83d", which is not byte-level'),
    ],
)
def test_a_vocabulary_that_cannot_be_is_refused(tmp_path, token, value, words):
    file = settings_of(banana())
    file["model"]["vocab"][token] = value
    with pytest.raises(FormatError) as caught:
        read(tmp_path, file)
    assert str(caught.value).startswith(f"tokenizer.json: {words}")
    assert "\n" not in str(caught.value)


def test_a_byte_without_a_token_is_named(tmp_path):
    file = settings_of(banana())
    del file["model"]["vocab"]["b"]
    with pytest.raises(FormatError, match=r"the byte 98 has no token in the vocabulary"):
        read(tmp_path, file)


def test_a_part_that_stands_there_twice_is_refused(tmp_path):
    whole = json.dumps(settings_of(banana()))
    for old, words in (('"version"', 'the key "version" stands'), ('"type": "BPE"', 'the key "type" stands')):
        first = old if ":" in old else f'{old}: "1.0"'
        (tmp_path / "tokenizer.json").write_text(whole.replace(old, f"{first}, {old}", 1))
        with pytest.raises(FormatError, match=words):
            load(tmp_path)


def test_the_format_and_the_file_are_told(tmp_path):
    save(banana(), tmp_path / "renamed.json")
    loaded = finish(load_work(tmp_path / "renamed.json"))
    assert (loaded.format, loaded.files) == ("huggingface", (tmp_path / "renamed.json",))
