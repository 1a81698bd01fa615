"""Reading GPT-2's pair of files as other programs write it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
import tokenizers
from tokenizers import models, pre_tokenizers

from tests.core.formats.trained import TEXT, everything, gpt2_pair, same, trained, with_specials
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.common.format import PatternNeeded
from tokstudio.core.formats.loading import load, load_work
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.tokenizer.tokenizer import Tokenizer

NAMES = [("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")]


def put(folder, files, names=NAMES[0]):
    for name, content in zip(names, files, strict=True):
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("names", NAMES)
def test_either_pair_is_read_with_the_pattern_that_is_given(tmp_path, names):
    expected = trained(TEXT, 60, pattern="gpt2")
    put(tmp_path, gpt2_pair(expected), names)
    for place in (tmp_path, *(tmp_path / name for name in names)):
        loaded = finish(load_work(place, "gpt2"))
        assert same(loaded.tokenizer, expected)
        assert (loaded.format, loaded.files) == ("gpt2", tuple(tmp_path / name for name in names))


def load_library(folder):
    model = models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    library = tokenizers.Tokenizer(model)
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return library


def test_the_library_encodes_the_same_with_them(tmp_path):
    put(tmp_path, gpt2_pair(everything()))
    library = load_library(tmp_path)
    tokenizer = load(tmp_path, "gpt2")
    for text in (TEXT, torture_text()):
        assert tokenizer.encode(text) == library.encode(text).ids


def test_files_without_a_pattern_are_refused(tmp_path):
    put(tmp_path, gpt2_pair(everything()))
    with pytest.raises(PatternNeeded, match=r"^vocab\.json: the file does not say how text is split: give a pattern"):
        load(tmp_path)


def test_the_first_pair_goes_first_in_a_folder_with_both(tmp_path):
    for names, merges in zip(NAMES, (3, 5), strict=True):
        put(tmp_path, gpt2_pair(trained("banana bandana", merges)), names)
    assert len(load(tmp_path, "none").merges) == 3
    assert len(load(tmp_path / "vocab.bpe", "none").merges) == 5


@pytest.mark.parametrize("names", NAMES)
def test_a_file_without_the_other_names_it(tmp_path, names):
    put(tmp_path, gpt2_pair(everything()), names)
    for here, missing in (names, names[::-1]):
        (tmp_path / missing).rename(tmp_path / "away")
        with pytest.raises(FormatError, match=rf"^{here}: {missing} belongs with it but is not in the same folder\.$"):
            load(tmp_path / here, "gpt2")
        (tmp_path / "away").rename(tmp_path / missing)


def test_the_end_of_text_is_special_and_other_tokens_without_a_merge_are_only_kept(tmp_path):
    put(tmp_path, gpt2_pair(everything(), ("<|endoftext|>",)))
    tokenizer = load(tmp_path, "gpt2")
    assert tokenizer.special_tokens == {"<|endoftext|>": len(everything())}
    others = ("<s>", "Ġtoken", "not byte-level", "日本")
    put(tmp_path, gpt2_pair(everything(), ("<|endoftext|>", *others)))
    tokenizer = load(tmp_path, "gpt2")
    spelled = [b"<s>", b" token", b"not byte-level", "日本".encode()]
    assert list(tokenizer.extra_tokens.values()) == spelled
    assert tokenizer.decode(list(tokenizer.extra_tokens)) == "<s> tokennot byte-level日本"
    assert tokenizer.encode("x <s> token 日本") == load_library(tmp_path).encode("x <s> token 日本").ids


def test_settings_without_a_class_leave_the_end_of_text_special(tmp_path):
    put(tmp_path, gpt2_pair(everything(), ("<|endoftext|>",)))
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 1024}')
    tokenizer = load(tmp_path, "gpt2")
    assert tokenizer.special_tokens == {"<|endoftext|>": len(everything())}


def test_a_token_that_is_no_text_is_refused_and_the_empty_one_is_kept(tmp_path):
    number = len(everything())
    put(tmp_path, gpt2_pair(everything(), ("\ud83d",)))
    with pytest.raises(FormatError, match=rf"^vocab\.json: token {number} is not a string\.$"):
        load(tmp_path, "gpt2")
    put(tmp_path, gpt2_pair(everything(), ("",)))
    tokenizer = load(tmp_path, "gpt2")
    assert tokenizer.extra_tokens == {number: b""}
    assert "is the empty token" in tokenizer.remarks[0]
    assert tokenizer.encode(TEXT) == load_library(tmp_path).encode(TEXT).ids


def test_merges_that_end_too_early_are_refused(tmp_path):
    vocabulary, merges = gpt2_pair(trained("banana bandana", 3), ("<s>",))
    lines = merges.splitlines(keepends=True)
    for kept in range(1, len(lines)):
        put(tmp_path, (vocabulary, b"".join(lines[:kept])))
        with pytest.raises(
            FormatError, match=r"^merges\.txt: no merge makes the token .* of vocab\.json, though its two"
        ):
            load(tmp_path, "none")


def test_lines_of_windows_and_a_first_line_without_a_version_are_read(tmp_path):
    vocabulary, merges = gpt2_pair(everything())
    for changed in (merges.replace(b"\n", b"\r\n"), merges.partition(b"\n")[2], merges.rstrip(b"\n")):
        put(tmp_path, (vocabulary, changed))
        assert same(load(tmp_path, "none"), everything())


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("a n\n", "a n n\n", 'the merge "a n n" must be two tokens with a space between them, line 2'),
        ("a n\n", "an\n", 'the merge "an" must be two tokens with a space between them, line 2'),
        ("a n\n", "a x\n", 'merge 1 needs the token "ax", which the vocabulary does not have, line 2'),
        ("a n\n", "a \xff\n", 'merge 1 needs the token "aÿ", which the vocabulary does not have, line 2'),
        ("a n\n", "a \udcff\n", "this is not UTF-8, line 2"),
    ],
)
def test_invalid_merges_are_refused_with_their_line(tmp_path, old, new, words):
    vocabulary, merges = gpt2_pair(trained("banana", 3))
    changed = merges.decode().replace(old, new, 1)
    assert changed != merges.decode()
    put(tmp_path, (vocabulary, changed.encode("utf-8", "surrogateescape")))
    with pytest.raises(FormatError) as caught:
        load(tmp_path, "none")
    assert str(caught.value) == f"merges.txt: {words}."


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"new": 256}, 'token "new": id 256 appears twice'),
        ({"new": 1.5}, 'token "new": an id must be a whole number'),
        ({"new": 10**9}, 'token "new": id 1000000000 is too large'),
        ({"!": None}, 'token "!": an id must be a whole number'),
    ],
)
def test_an_invalid_vocabulary_is_refused_with_its_place(tmp_path, change, words):
    vocabulary, merges = gpt2_pair(trained("banana", 3))
    put(tmp_path, (json.dumps(json.loads(vocabulary) | change).encode(), merges))
    with pytest.raises(FormatError) as caught:
        load(tmp_path, "none")
    assert str(caught.value).startswith(f"vocab.json: {words}")
    assert ", line 1, column " in str(caught.value)


def test_a_byte_without_a_token_is_named(tmp_path):
    vocabulary, merges = gpt2_pair(trained("banana", 3))
    put(tmp_path, (vocabulary.replace(b'"!": 33, ', b""), merges))
    with pytest.raises(FormatError, match=r"^vocab\.json: the byte 33 has no token in the vocabulary"):
        load(tmp_path, "none")


@pytest.mark.shared_data
class TestGpt2Itself:
    def test_its_files_are_recognised_under_either_name(self, shared, tmp_path):
        folder = shared / "tokenizers" / "gpt2"
        content = [(folder / name).read_bytes() for name in NAMES[1]]
        put(tmp_path, content)
        for place in (folder, tmp_path, tmp_path / "merges.txt"):
            tokenizer = load(place)
            assert (tokenizer.pattern, tokenizer.special_tokens) == ("gpt2", {"<|endoftext|>": 50256})
            assert len(tokenizer) == 50257
        assert tokenizer.encode("Hello world<|endoftext|>", "all") == [15496, 995, 50256]

    def test_changed_files_are_not(self, shared, tmp_path):
        vocabulary, merges = ((shared / "tokenizers" / "gpt2" / name).read_bytes() for name in NAMES[1])
        put(tmp_path, (vocabulary + b"\n", merges))
        with pytest.raises(PatternNeeded):
            load(tmp_path)
        assert load(tmp_path, "cl100k").pattern == "cl100k"


def test_special_tokens_of_ours_are_not_in_such_files(tmp_path):
    tokenizer = with_specials("gpt2")
    plain = Tokenizer(tokenizer.merges, tokenizer.merge_results, pattern="gpt2")
    put(tmp_path, gpt2_pair(plain))
    assert same(load(tmp_path, "gpt2"), plain)
