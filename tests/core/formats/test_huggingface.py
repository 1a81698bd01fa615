"""`tokenizer.json` is held against the library that owns the format, both ways."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import numpy as np
import pytest
import tokenizers
from hypothesis import HealthCheck, given, settings
from tokenizers import decoders as library_decoders
from tokenizers import models, pre_tokenizers, trainers
from trained import TEXT, banana, everything, same, shuffled, texts_to_train_on, trained

from tokstudio.core.errors import FormatError
from tokstudio.core.formats import huggingface, load, load_work, save, tokenizers_library
from tokstudio.core.progress import finish
from tokstudio.core.tokenizer import Tokenizer
from tokstudio.core.torture import torture_text

quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def library_ids(path, text):
    return tokenizers.Tokenizer.from_file(str(path)).encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("make", [banana, everything, shuffled, lambda: everything().at(0), lambda: everything().at(5)])
def test_the_library_reads_what_we_write_and_would_write_the_same(tmp_path, make):
    tokenizer, path = make(), tmp_path / "tokenizer.json"
    report = save(tokenizer, path)
    for text in (TEXT, torture_text(), "", "ab ba"):
        assert library_ids(path, text) == tokenizer.encode(text)
    assert report.proof == f"identical over {len(tokenizer.encode(torture_text())):,} tokens"
    tokenizers.Tokenizer.from_file(str(path)).save(str(tmp_path / "theirs.json"))
    assert path.read_bytes() == (tmp_path / "theirs.json").read_bytes()
    assert same(load(path), tokenizer)


@quick
@given(texts_to_train_on)
def test_any_trained_tokenizer_comes_back(tmp_path, text):
    tokenizer = trained(text, 60)
    save(tokenizer, tmp_path)
    assert same(load(tmp_path), tokenizer)


def test_a_sample_takes_part_in_the_proof(tmp_path):
    tokenizer = everything()
    alone, with_sample = save(tokenizer, tmp_path), save(tokenizer, tmp_path, sample="\ud83d" + TEXT * 300)
    assert int(with_sample.proof.split()[2].replace(",", "")) > int(alone.proof.split()[2].replace(",", ""))
    assert with_sample.proof == save(tokenizer, tmp_path, sample=("\ufffd" + TEXT * 300).encode()).proof


def test_a_large_file_is_proved_in_another_process(tmp_path, monkeypatch):
    tokenizer = everything()
    expected = save(tokenizer, tmp_path, sample=TEXT).proof
    monkeypatch.setattr(tokenizers_library, "_SMALL", 0)
    monkeypatch.setattr(tokenizers_library, "_ids", None)
    assert save(tokenizer, tmp_path, sample=TEXT).proof == expected


def test_where_another_process_cannot_be_had_it_is_proved_here(tmp_path, monkeypatch):
    monkeypatch.setattr(tokenizers_library, "_SMALL", 0)
    monkeypatch.setattr(tokenizers_library.sys, "executable", str(tmp_path / "nothing"))
    assert save(banana(), tmp_path).proof.startswith("identical over ")


def test_closing_while_another_process_proves_ends_it(tmp_path, monkeypatch):
    started = []
    popen = tokenizers_library.subprocess.Popen

    def watched(*arguments, **more):
        started.append(popen(*arguments, **more))
        return started[0]

    monkeypatch.setattr(tokenizers_library, "_SMALL", 0)
    monkeypatch.setattr(tokenizers_library.subprocess, "Popen", watched)
    work = huggingface.HuggingFace().prove(banana(), {"tokenizer.json": _written(tmp_path)}, "x", "")
    next(work)
    work.close()
    assert started[0].returncode is not None


def _written(folder):
    path = folder / "some.json"
    path.write_bytes(b"".join(huggingface.HuggingFace().contents(banana())["tokenizer.json"]))
    return path


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b'"a",\n        "n"', b'"n",\n        "a"', "the tokenizers library does not read it back"),
        (b'"use_regex": false', b'"use_regex": true', "differs at token "),
        (b'"an": 256', b'"an": 300', "differs at token "),
        (b'"decoder": {\n    "type": "ByteLevel"', b'"decoder": {\n    "type": "Fuse"', "do not give the text again"),
        (b'"an": 256', b'"am": 256', "the tokenizers library does not read it back"),
    ],
)
def test_a_file_that_the_library_understands_differently_never_replaces_the_old_one(
    tmp_path, monkeypatch, old, new, words
):
    target = tmp_path / "tokenizer.json"
    target.write_text("the old file")
    pieces = huggingface._pieces

    def wrong(tokenizer):
        whole = b"".join(pieces(tokenizer))
        assert old in whole
        yield whole.replace(old, new)

    monkeypatch.setattr(huggingface, "_pieces", wrong)
    with pytest.raises(FormatError, match=rf"^tokenizer\.json: .*{words}"):
        save(Tokenizer(np.array([[97, 110], [97, 32]])), target, sample="an nan  a b, banana")
    assert target.read_text() == "the old file"
    assert [entry.name for entry in tmp_path.iterdir()] == ["tokenizer.json"]


def test_a_file_that_the_library_trained_is_read(tmp_path):
    library = tokenizers.Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.decoder = library_decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=330, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    library.train_from_iterator([TEXT * 3], trainer)
    library.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load(tmp_path)
    assert len(tokenizer) == 330
    assert tokenizer.byte_ids[ord("!")] == 0
    for text in (TEXT, torture_text(), "the hat"):
        assert tokenizer.encode(text) == library.encode(text).ids
    assert tokenizer.tokens[300] is not None


def settings_of(tokenizer):
    return json.loads(b"".join(huggingface.HuggingFace().contents(tokenizer)["tokenizer.json"]))


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


def test_tokens_far_longer_than_a_piece_come_back(tmp_path):
    tokenizer = trained(b'\x00\xff"\\' * 40_000, 30)
    assert tokenizer.tokens.length(len(tokenizer.tokens) - 1) > 100_000
    pieces = list(huggingface.HuggingFace().contents(tokenizer)["tokenizer.json"])
    assert max(map(len, pieces)) < 100_000
    save(tokenizer, tmp_path)
    assert same(load(tmp_path), tokenizer)


split = {"type": "Split", "pattern": {"Regex": "x"}, "behavior": "Isolated", "invert": False}
byte_level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("pre_tokenizer", split, "its pre-tokenizer splits text by a pattern"),
        ("pre_tokenizer", {**byte_level, "use_regex": True}, "its pre-tokenizer splits text by a pattern"),
        ("pre_tokenizer", {"type": "ByteLevel"}, "its pre-tokenizer splits text by a pattern"),
        ("pre_tokenizer", {**byte_level, "add_prefix_space": True}, "its pre-tokenizer adds a space"),
        ("pre_tokenizer", {"type": "Whitespace"}, "its pre-tokenizer is Whitespace"),
        (
            "pre_tokenizer",
            {"type": "Sequence", "pretokenizers": [split, byte_level]},
            "its pre-tokenizer splits text in",
        ),
        ("pre_tokenizer", 7, "its pre-tokenizer is of an unknown kind"),
        ("pre_tokenizer", None, "it has no byte-level pre-tokenizer"),
        ("decoder", {"type": "Metaspace"}, "its decoder is Metaspace"),
        ("decoder", None, "it has no byte-level decoder"),
        ("normalizer", {"type": "NFC"}, "its normalizer NFC changes the text"),
        ("post_processor", {"type": "TemplateProcessing"}, "its post-processor adds tokens"),
        ("added_tokens", [{"id": 256, "content": "<s>"}], "it has special or added tokens"),
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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"type": "WordPiece"}, "its model is WordPiece, which TokStudio cannot model yet"),
        ({"type": "Unigram", "vocab": [["a", -1.5]]}, "its model is Unigram, which TokStudio cannot model yet"),
        ({"type": {"a": 1}}, "its model is of an unknown kind"),
        ({"dropout": 0.1}, "it uses dropout"),
        ({"ignore_merges": True}, "it uses ignore_merges"),
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
