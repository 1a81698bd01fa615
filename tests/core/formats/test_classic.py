"""The classic pair, compared with Python's `json.dump` and with the first small program."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from tests.core.formats.trained import banana, everything, same, shuffled, texts_to_train_on, trained, with_specials
from tokstudio import FormatError, Tokenizer, load, save
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.classic import Classic
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.loading import load_work


def as_python_writes(tokenizer: Tokenizer) -> dict[str, bytes]:
    """The two files as the program that the format comes from wrote them."""
    vocabulary = {
        str(token): {"bytes": list(made), "text": made.decode("latin-1")}
        for token, made in enumerate(tokenizer.tokens)
        if made is not None
    }
    rows = zip(tokenizer.merges.tolist(), tokenizer.merge_results.tolist(), strict=True)
    merges = {"merges": [([left, right], result) for (left, right), result in rows]}
    return {
        "vocabulary.json": json.dumps(vocabulary, indent=2).encode(),
        "merges.json": json.dumps(merges, indent=2).encode(),
    }


def written(tokenizer: Tokenizer) -> dict[str, bytes]:
    return {name: b"".join(pieces) for name, pieces in Classic().contents(tokenizer).items()}


def test_banana_gives_the_result_of_the_source_document(tmp_path):
    report = save(banana(), tmp_path / "new" / "folder", "classic")
    assert [file.name for file in report.files] == ["vocabulary.json", "merges.json"]
    vocabulary, merges = (json.loads(file.read_bytes()) for file in report.files)
    assert len(vocabulary) == 257
    assert vocabulary["256"] == {"bytes": [97, 110], "text": "an"}
    assert merges == {"merges": [[[97, 110], 256]]}
    assert report.losses == ()
    assert report.proof == "identical in all tokens (257) and merges (1)"


def test_a_token_longer_than_a_piece_is_written_in_pieces():
    tokenizer = trained(b"\x00\xffabc" * 4000, 40)
    assert tokenizer.tokens.length(len(tokenizer.tokens) - 1) > 10_000
    pieces = list(Classic().contents(tokenizer)["vocabulary.json"])
    assert written(tokenizer.at(0)) == as_python_writes(tokenizer.at(0))
    assert max(map(len, pieces)) < 100_000
    assert b"".join(pieces) == as_python_writes(tokenizer)["vocabulary.json"]


@settings(max_examples=25)
@given(texts_to_train_on)
def test_any_trained_tokenizer_is_written_as_python_writes_it(text):
    tokenizer = trained(text, 60)
    assert written(tokenizer) == as_python_writes(tokenizer)


def test_either_file_of_the_pair_opens_both_and_the_merges_alone_are_enough_under_any_name(tmp_path):
    tokenizer, both = everything(), ("vocabulary.json", "merges.json")
    save(tokenizer, tmp_path, "classic")
    for place in (tmp_path, *(tmp_path / name for name in both)):
        loaded = finish(load_work(place))
        assert same(loaded.tokenizer, tokenizer)
        assert (loaded.format, loaded.files) == ("classic", tuple(tmp_path / name for name in both))
    file = tmp_path / "my merges.json"
    file.write_bytes(as_python_writes(tokenizer)["merges.json"])
    loaded = finish(load_work(file))
    assert same(loaded.tokenizer, tokenizer)
    assert loaded.files == (file,)


@pytest.mark.parametrize("layout", [{}, {"indent": 1}, {"indent": "\t"}, {"ensure_ascii": False}, {"sort_keys": True}])
def test_other_layouts_of_the_same_data_are_read(tmp_path, layout):
    """Also with line ends of Windows and a byte order mark."""
    for name, content in as_python_writes(everything()).items():
        text = json.dumps(json.loads(content), **layout).replace("\n", "\r\n" if layout == {"indent": 1} else "\n")
        (tmp_path / name).write_bytes(text.encode("utf-8-sig" if "indent" in layout else "utf-8"))
    assert same(load(tmp_path), everything())


def change(vocabulary, token, value):
    return {**vocabulary, token: value}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            lambda v: change(v, "256", {"bytes": [97, 111], "text": "ao"}),
            "the bytes of token 256 differ from those that merges.json makes",
        ),
        (lambda v: change(v, "257", {"bytes": [97], "text": "a"}), "token 257 is not made by merges.json"),
        (lambda v: {token: v[token] for token in v if token != "99"}, "token 99, which merges.json has, is missing"),
        (lambda v: change(v, "256", {"bytes": [97, True]}), "token 256 contains something that is not a byte"),
        (lambda v: change(v, "256", {"bytes": [97, 256]}), "token 256 contains something that is not a byte"),
        (lambda v: change(v, "256", "an"), 'token 256 has no list of "bytes"'),
        (lambda v: change(v, "0256", {"bytes": [97, 110]}), '"0256" is not an id'),
        (lambda v: change(v, "²", {"bytes": [97, 110]}), '"²" is not an id'),
        (lambda v: [v], "an object is missing"),
    ],
)
def test_a_vocabulary_that_is_not_that_of_the_merges_is_refused(tmp_path, changed, words):
    files = as_python_writes(banana())
    vocabulary = changed(json.loads(files["vocabulary.json"]))
    (tmp_path / "vocabulary.json").write_text(json.dumps(vocabulary, indent=2))
    (tmp_path / "merges.json").write_bytes(files["merges.json"])
    with pytest.raises(FormatError) as caught:
        load(tmp_path)
    assert str(caught.value).startswith(f"vocabulary.json: {words}")
    assert ", line " in str(caught.value)


def test_a_vocabulary_with_an_entry_twice_or_without_merges_is_refused(tmp_path):
    files = as_python_writes(banana())
    (tmp_path / "vocabulary.json").write_bytes(files["vocabulary.json"])
    with pytest.raises(FormatError, match=r"^vocabulary\.json: this is a vocabulary without merges: put merges\.json"):
        load(tmp_path / "vocabulary.json")
    (tmp_path / "merges.json").write_bytes(files["merges.json"])
    twice = files["vocabulary.json"].replace(b'"1": {', b'"0": {').replace(b"      1\n", b"      0\n")
    (tmp_path / "vocabulary.json").write_bytes(twice)
    with pytest.raises(FormatError, match=r"^vocabulary\.json: token 0 appears twice, line 8, column 8\.$"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([[[97, 999], 256]], "merge 1 joins token 999, which does not exist yet"),
        ([[[97, 256], 256]], "merge 1 joins token 256, which does not exist yet"),
        ([[[97, 110], 256], [[97, 98], 256]], "merge 2 makes token 256, which already exists"),
        ([[[97, 110], 97]], "merge 1 makes token 97, which already exists"),
        ([[[97, 110], 10**9]], "merge 1: id 1000000000 is too large"),
        ([[[-1, 110], 256]], "merge 1: id -1 is negative"),
        ([[[97, True], 256]], "merge 1: an id must be a whole number"),
        ([[[97, 110.0], 256]], "merge 1: an id must be a whole number"),
        ([[[97, "110"], 256]], "merge 1: an id must be a whole number"),
        ([[97, 110, 256]], "merge 1 is not of the form [[left, right], id]"),
        ([[[97, 110, 98], 256]], "merge 1 is not of the form [[left, right], id]"),
        (["an"], "merge 1 is not of the form [[left, right], id]"),
        ({"97 110": 256}, "an array is missing"),
        ([[[255 + i if i else 97] * 2, 256 + i] for i in range(99)], "merge 31 makes a token of 2,147,483,648 bytes"),
    ],
)
def test_merges_that_cannot_be_are_refused_with_their_place(tmp_path, rows, words):
    (tmp_path / "merges.json").write_text(json.dumps({"merges": rows}))
    with pytest.raises(FormatError) as caught:
        load(tmp_path)
    assert str(caught.value).startswith(f"merges.json: {words}")
    assert ", line 1, column " in str(caught.value)


def test_a_pair_that_is_merged_twice_is_refused(tmp_path):
    rows = [[[97, 98], 256], [[256, 98], 257], [[1, 2], 258], [[256, 98], 259], [[97, 98], 260]]
    (tmp_path / "merges.json").write_text(json.dumps({"merges": rows}))
    with pytest.raises(FormatError, match=r"^merges\.json: merge 4 joins the same two tokens as merge 2\.$"):
        load(tmp_path)


def test_ids_that_the_format_cannot_hold_change_only_when_that_is_accepted(tmp_path):
    tokenizer = shuffled()
    [loss] = FORMATS["classic"].losses(tokenizer)
    with pytest.raises(FormatError, match=r"^vocabulary\.json: .*The ids change"):
        save(tokenizer, tmp_path / "out", "classic")
    assert not (tmp_path / "out").exists()
    report = save(tokenizer, tmp_path / "out", "classic", accept_loss=True)
    assert report.losses == (loss,)
    text = "ab ba aab 😀 b a"
    back = load(tmp_path / "out")
    assert [back.tokens[i] for i in back.encode(text)] == [tokenizer.tokens[i] for i in tokenizer.encode(text)]


def test_gaps_between_ids_are_held(tmp_path):
    (tmp_path / "merges.json").write_text('{"merges": [[[97, 110], 300], [[300, 97], 777]]}')
    tokenizer = load(tmp_path)
    assert len(tokenizer) == 258
    assert tokenizer.tokens[299] is None
    assert save(tokenizer, tmp_path / "again", "classic").renumbered == ""
    assert same(load(tmp_path / "again"), tokenizer)


def test_a_pattern_and_special_tokens_are_lost_only_when_that_is_accepted(tmp_path):
    tokenizer = with_specials("gpt2")
    one = trained("banana", 2, special_tokens=["<s>"], special_placement="first")
    moved, special = FORMATS["classic"].losses(one)
    assert special == 'The special token "<s>" is lost: this format has none.'
    assert moved.startswith("The ids change: ")
    vocabulary = json.loads(written(one)["vocabulary.json"])
    assert list(vocabulary)[-1] == "256"
    assert vocabulary["256"] == {"bytes": [97, 110], "text": "an"}
    losses = tuple(FORMATS["classic"].losses(tokenizer))
    assert losses == (
        'The pattern "gpt2" is lost: this format does not split text.',
        'The special tokens "<|end|>", "<|end|><|start|>", "the mat" and 2 more are lost: this format has none.',
    )
    with pytest.raises(FormatError, match=r"^vocabulary\.json: Classic pair cannot hold all .* \"gpt2\" is lost"):
        save(tokenizer, tmp_path / "out", "classic")
    report = save(tokenizer, tmp_path / "out", "classic", accept_loss=True)
    assert report.losses == losses
    assert (
        report.proof
        == f"identical in all tokens ({256 + len(tokenizer.merges):,}) and merges ({len(tokenizer.merges):,})"
    )
    back = load(tmp_path / "out", pattern="gpt2")
    text = "the cat sat on the mat <|end|>"
    assert back.encode(text) == tokenizer.encode(text)
    assert (back.pattern, back.special_tokens) == ("gpt2", {})
    assert load(tmp_path / "out").pattern == "none"
