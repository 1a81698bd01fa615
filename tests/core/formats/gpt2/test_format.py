"""GPT-2's pair of files: reading it as other programs write it, and writing it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re

import numpy as np
import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from tests.core.formats.trained import (
    SPECIALS,
    TEXT,
    banana,
    everything,
    gpt2_pair,
    same,
    shuffled,
    trained,
    with_specials,
)
from tokstudio import FormatError, Tokenizer, load, save
from tokstudio.core.base.progress import finish
from tokstudio.core.formats import gpt2 as gpt2
from tokstudio.core.formats.common.format import PatternNeeded
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.text.byte_level import BYTE_ORDER

# --- Reading GPT-2's pair of files as other programs write it ---------------------------------------------------------

NAMES = [("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")]


def put(folder, files, names=NAMES[0]):
    for name, content in zip(names, files, strict=True):
        (folder / name).write_bytes(content)


def library(folder):
    """As everybody loads such files."""
    model = models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


@pytest.mark.parametrize("names", NAMES)
def test_either_pair_is_read_with_the_pattern_that_is_given(tmp_path, names):
    expected = trained(TEXT, 60, pattern="gpt2")
    put(tmp_path, gpt2_pair(expected), names)
    for place in (tmp_path, *(tmp_path / name for name in names)):
        loaded = finish(load_work(place, "gpt2"))
        assert same(loaded.tokenizer, expected)
        assert (loaded.format, loaded.files) == ("gpt2", tuple(tmp_path / name for name in names))


def test_files_need_a_pattern_and_the_first_pair_of_a_folder_goes_first(tmp_path):
    for names, merges in zip(NAMES, (3, 5), strict=True):
        put(tmp_path, gpt2_pair(trained("banana bandana", merges)), names)
    with pytest.raises(PatternNeeded, match=r"^vocab\.json: the file does not say how text is split: give a pattern"):
        load(tmp_path)
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
    for settings in (None, '{"model_max_length": 1024}'):  # without a class
        if settings is not None:
            (tmp_path / "tokenizer_config.json").write_text(settings)
        assert load(tmp_path, "gpt2").special_tokens == {"<|endoftext|>": len(everything())}
    (tmp_path / "tokenizer_config.json").unlink()
    others = ("<s>", "Ġtoken", "not byte-level", "日本")
    put(tmp_path, gpt2_pair(everything(), ("<|endoftext|>", *others)))
    tokenizer = load(tmp_path, "gpt2")
    spelled = [b"<s>", b" token", b"not byte-level", "日本".encode()]
    assert list(tokenizer.extra_tokens.values()) == spelled
    assert tokenizer.decode(list(tokenizer.extra_tokens)) == "<s> tokennot byte-level日本"
    assert tokenizer.encode("x <s> token 日本") == library(tmp_path).encode("x <s> token 日本").ids


def test_a_token_that_is_no_text_is_refused_and_the_empty_one_is_kept(tmp_path):
    number = len(everything())
    put(tmp_path, gpt2_pair(everything(), ("\ud83d",)))
    with pytest.raises(FormatError, match=rf"^vocab\.json: token {number} is not a string\.$"):
        load(tmp_path, "gpt2")
    put(tmp_path, gpt2_pair(everything(), ("",)))
    tokenizer = load(tmp_path, "gpt2")
    assert tokenizer.extra_tokens == {number: b""}
    assert "is the empty token" in tokenizer.remarks[0]
    assert tokenizer.encode(TEXT) == library(tmp_path).encode(TEXT).ids


def test_merges_that_end_too_early_are_refused(tmp_path):
    vocabulary, merges = gpt2_pair(trained("banana bandana", 3), ("<s>",))
    lines = merges.splitlines(keepends=True)
    for kept in range(1, len(lines)):
        put(tmp_path, (vocabulary, b"".join(lines[:kept])))
        with pytest.raises(
            FormatError, match=r"^merges\.txt: no merge makes the token .* of vocab\.json, though its two"
        ):
            load(tmp_path, "none")


@pytest.mark.parametrize(
    ("vocabulary", "merges", "specials", "token"),
    [
        ([b"th", b"the"], [], {}, "th"),
        ([b"th", b"the"], [(b"t", b"h")], {}, "the"),
        ([b"th"], [(b"t", b"h")], {"<|end|>": 257}, None),
    ],
    ids=["no merge", "a merge is missing", "all merges"],
)
def test_what_could_not_be_opened_again_is_not_written(tmp_path, vocabulary, merges, specials, token):
    tokens = [*(bytes([byte]) for byte in range(256)), *vocabulary]
    tokenizer = Tokenizer.from_parts(dict(enumerate(tokens)), merges, "gpt2", specials)
    if token is None:
        save(tokenizer, tmp_path, "gpt2", accept_loss=True, sample=TEXT)
        assert list(load(tmp_path, "gpt2").tokens) == list(tokenizer.tokens)
        return
    with pytest.raises(FormatError, match=f'its two parts are there, such as "{token}": the files would look as if'):
        save(tokenizer, tmp_path, "gpt2", accept_loss=True, sample=TEXT)
    assert not list(tmp_path.iterdir())


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
    put(tmp_path, (vocabulary.replace(b'"!": 33, ', b""), merges))
    with pytest.raises(FormatError, match=r"^vocab\.json: the byte 33 has no token in the vocabulary"):
        load(tmp_path, "none")


@pytest.mark.shared_data
class TestGpt2Itself:
    def test_its_files_are_recognised_under_either_name(self, shared, tmp_path):
        folder = shared / "tokenizers" / "gpt2"
        content = [(folder / name).read_bytes() for name in NAMES[1]]
        put(tmp_path, content)
        for place in (folder, tmp_path / "merges.txt"):
            tokenizer = load(place)
            assert (tokenizer.pattern, tokenizer.special_tokens) == ("gpt2", {"<|endoftext|>": 50256})
            assert len(tokenizer) == 50257
        assert tokenizer.encode("Hello world<|endoftext|>", "all") == [15496, 995, 50256]
        put(tmp_path, (content[0] + b"\n", content[1]))
        with pytest.raises(PatternNeeded):
            load(tmp_path)


# --- Writing GPT-2's pair of files, compared with the tokenizers library and TokStudio's reader -----------------------

END = "<|endoftext|>"


def as_gpt2(**more) -> Tokenizer:
    return trained(TEXT * 3, 60, pattern="gpt2", **more)


@pytest.mark.parametrize(
    "make",
    [
        as_gpt2,
        lambda: as_gpt2(special_tokens=[END]),
        lambda: as_gpt2(special_tokens=[END], special_placement="first"),
        lambda: as_gpt2().at(7),
        lambda: as_gpt2().at(0),
        lambda: Tokenizer(shuffled().merges, shuffled().merge_results, alphabet=shuffled().alphabet, pattern="gpt2"),
    ],
)
def test_the_library_gives_the_same_ids_and_we_read_the_same_tokenizer(tmp_path, make):
    tokenizer, folder = make(), tmp_path / "a folder of 日本"
    report = save(tokenizer, folder, "gpt2", sample=TEXT)
    assert [file.name for file in report.files] == ["vocab.json", "merges.txt"]
    assert report.losses == ()
    assert re.fullmatch(r"identical on the test text and a sample of your text \([0-9,]+ tokens\)", report.proof)
    theirs = library(folder)
    for text in (TEXT, torture_text(), "", "1234 don't 日本"):
        assert theirs.encode(text).ids == tokenizer.encode(text)
        assert theirs.decode(tokenizer.encode(text)) == text
    assert same(load(folder, "gpt2"), tokenizer)
    for token, number in tokenizer.special_tokens.items():
        assert theirs.token_to_id(token) == number


def test_the_files_look_as_others_write_them(tmp_path):
    save(banana(), tmp_path, "gpt2", accept_loss=True)
    assert (tmp_path / "merges.txt").read_bytes() == b"#version: 0.2\na n\n"
    vocabulary = json.loads((tmp_path / "vocab.json").read_bytes())
    assert vocabulary["an"] == 256
    assert vocabulary["Ġ"] == 32
    assert len(vocabulary) == 257


def test_losses_are_named_before_writing(tmp_path):
    tokenizer = with_specials("cl100k")
    pattern, specials = fit(tokenizer, "gpt2").losses
    assert pattern == 'The pattern "cl100k" is lost: programs that read this format split text as GPT-2 does.'
    assert specials == (
        'The special tokens "<|end|>", "<|end|><|start|>", "the mat" and 2 more are not marked as special: '
        "the program that loads the files must be told."
    )
    with pytest.raises(FormatError, match=r"^vocab\.json: GPT-2 pair cannot hold all of this tokenizer\. The pattern"):
        save(tokenizer, tmp_path / "out", "gpt2")
    assert list(tmp_path.iterdir()) == []
    words = Tokenizer(banana().merges, pattern="gpt2", extra_tokens={300: b"cat"}, whole_words=(300,))
    assert fit(words, "gpt2").losses == (
        "Words that become a token without merging are merged (1): some ids will differ.",
    )
    report = save(tokenizer, tmp_path / "out", "gpt2", accept_loss=True)
    assert report.losses == (pattern, specials)
    assert report.proof.endswith(" if the reader is told the pattern and the special tokens")
    theirs = library(tmp_path / "out")
    assert [theirs.token_to_id(token) for token in SPECIALS] == list(tokenizer.special_tokens.values())


@pytest.mark.parametrize("pattern", ["none", "whitespace", "o200k", r"\d{1,2}+|\D+"])
def test_any_pattern_is_proved_though_it_is_not_in_the_files(tmp_path, pattern):
    tokenizer = trained(TEXT, 40, pattern=pattern)
    report = save(tokenizer, tmp_path, "gpt2", accept_loss=True, sample="12 1234 the mat")
    assert report.proof.startswith("identical on the test text")
    assert report.proof.endswith(" if the reader is told the pattern")
    back = load(tmp_path, pattern)
    assert same(back, tokenizer)


def test_only_ids_in_gpt2s_own_order_are_for_tiktokens_reader_too(tmp_path, monkeypatch):
    # It would keep a copy by the file's name.
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    data_gym = pytest.importorskip("tiktoken.load").data_gym_to_mergeable_bpe_ranks
    trained_here = as_gpt2(special_tokens=[END])
    order = np.array([*BYTE_ORDER, *range(256, 256 + len(trained_here.merges))], np.int32)
    theirs = Tokenizer(
        order[trained_here.merges], pattern="gpt2", alphabet=Alphabet.of_bytes(BYTE_ORDER), special_tokens={END: 900}
    )
    for tokenizer, is_taken in ((theirs, True), (trained_here, False)):
        report = save(tokenizer, tmp_path, "gpt2")
        assert (report.notes == ()) == is_taken
        files = [str(file) for file in report.files][::-1]
        if is_taken:
            assert len(data_gym(*files)) == 256 + len(tokenizer.merges)
        else:
            with pytest.raises(AssertionError):
                data_gym(*files)


def spelling_out(word: bytes) -> Tokenizer:
    """Joins the beginning of a word with its next letter until it is a token."""
    firsts = [word[0], *range(256, 254 + len(word))]
    return Tokenizer(np.array(list(zip(firsts, word[1:], strict=True)), np.int32))


def test_tokens_spelled_alike_or_a_merge_that_readers_take_for_the_first_line_cannot_be_held(tmp_path):
    alike = Tokenizer(banana().merges, special_tokens={"an": 900})
    assert fit(alike, "gpt2").problem == 'The special token "an" and token 256 have the same spelling in this format.'
    assert fit(alike, "tiktoken").problem is None
    twice = Tokenizer(np.array([[97, 98], [98, 99], [256, 99], [97, 257]], np.int32))
    for name in ("gpt2", "huggingface", "tiktoken"):
        assert fit(twice, name).problem == "The token 258 and token 259 have the same spelling in this format."
    assert fit(spelling_out(b"#version"), "gpt2").problem is None
    assert fit(spelling_out(b"a#version"), "gpt2").problem is None
    again = spelling_out(b"#versions")
    with pytest.raises(FormatError, match=r'^vocab\.json: A merge begins with the token "#version", but readers skip'):
        save(again, tmp_path / "out", "gpt2", accept_loss=True)
    assert list(tmp_path.iterdir()) == []
