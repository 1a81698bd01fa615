"""Writing ranks, compared with tiktoken, which reads them by the file beside them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
import runpy

import numpy as np
import pytest

from tests.core.formats.trained import (
    SPECIALS,
    TEXT,
    banana,
    everything,
    ranks_of,
    same,
    spoil,
    tiktoken_lines,
    trained,
    with_specials,
)
from tokstudio import FormatError, Tokenizer, load, save
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries import client
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.model.alphabet import Alphabet

tiktoken = pytest.importorskip("tiktoken")

# None of these begins another.
CLEAR = ("<|end|>", "the mat", "雨は", "\n\n", "<s> é")


def with_clear(pattern="gpt2", placement="last", merges=60) -> Tokenizer:
    return trained(TEXT * 3, merges + len(CLEAR), pattern=pattern, special_tokens=CLEAR, special_placement=placement)


def with_gaps() -> Tokenizer:
    """Bytes at strange ids, and gaps between all."""
    tokenizer = trained(TEXT * 3, 60, pattern="cl100k")
    ids = np.array([*range(700, 956), *range(1000, 1000 + 3 * len(tokenizer.merges), 3)], np.int32)
    return Tokenizer(
        ids[tokenizer.merges],
        ids[256:],
        alphabet=Alphabet.of_bytes(ids[:256]),
        pattern="cl100k",
        special_tokens={"<s>": 5, "</s>": 2000},
    )


def theirs(file):
    """What the Python file beside the ranks makes of them."""
    return runpy.run_path(str(file))["encoding"]


@pytest.mark.parametrize(
    "make",
    [
        banana,
        everything,
        lambda: everything().at(0),
        lambda: everything().at(5),
        with_gaps,
        lambda: with_clear("none"),
        lambda: with_clear("gpt2", "first"),
        lambda: with_clear("cl100k").at(7),
        lambda: with_clear("o200k").compact(),
        lambda: with_clear("llama3"),
        lambda: with_clear("cl100k_right"),
        lambda: with_clear("whitespace"),
        lambda: trained(TEXT, 60, pattern=r"\d+|[^\d\n]+|\n"),
        lambda: trained(TEXT * 3, 60, pattern="gpt2", max_token_bytes=3),
    ],
)
def test_tiktoken_gives_the_same_ids_and_we_read_the_same_tokenizer(tmp_path, make):
    tokenizer, folder = make(), tmp_path / 'it\'s \\ "日本"'
    report = save(tokenizer, folder, "tiktoken", sample=TEXT)
    assert [file.name for file in report.files] == ["ranks.tiktoken", "ranks.json", "ranks_tiktoken.py"]
    assert report.losses == ()
    assert report.proof.startswith("identical on the test text")
    found = {}
    exec(report.snippet, found)
    assert found["ids"] == tokenizer.encode("Hello world")
    for encoding in (theirs(folder / "ranks_tiktoken.py"), found["encoding"]):
        for text in (TEXT, torture_text(), "", "1234567 don't", " ".join(tokenizer.special_tokens)):
            ids = tokenizer.encode(text, "all")
            assert encoding.encode(text, allowed_special="all") == ids
            assert encoding.decode(ids) == text
            assert encoding.encode(text, disallowed_special=()) == tokenizer.encode(text)
    assert same(load(folder), tokenizer)


def test_the_files_go_by_the_name_of_the_ranks(tmp_path):
    """So that no module which libraries import is shadowed."""
    for name in ("my own.v2", "numpy"):
        (tmp_path / f"{name}.py").write_text("older = True")
        report = save(with_clear(), tmp_path / f"{name}.tiktoken", "tiktoken")
        assert [file.name for file in report.files] == [f"{name}.tiktoken", f"{name}.json", f"{name}_tiktoken.py"]
        assert same(load(report.files[0]), with_clear())
        assert theirs(report.files[2]).name == name
        assert save(banana(), report.files[0], "tiktoken").files == report.files
        assert same(load(report.files[0]), banana())
        assert theirs(report.files[2]).encode("banana") == banana().encode("banana")
        assert (tmp_path / f"{name}.py").read_text() == "older = True"


def test_files_that_are_not_ours_are_never_replaced(tmp_path):
    for name, content in (
        ("train_tiktoken.py", "print()"),
        ("train.json", '{"pattern": 1}'),
        ("ranks_tiktoken.py", ""),
    ):
        (tmp_path / name).write_text(content)
        target = tmp_path / "train.tiktoken" if name.startswith("train") else tmp_path
        with pytest.raises(FormatError, match=rf"^{name}: a file with this name already exists, and TokStudio"):
            save(banana(), target, "tiktoken")
        assert (tmp_path / name).read_text() == content
        (tmp_path / name).unlink()
    for name in ("tokenizer", "vocab", "Encoder"):  # it would make other files of those beside it
        words = rf"^{name}\.tiktoken: the file beside it, {name}\.json, .*choose another name"
        with pytest.raises(FormatError, match=words):
            save(banana(), tmp_path / f"{name}.tiktoken", "tiktoken")
    assert list(tmp_path.iterdir()) == []


def test_the_ranks_are_lines_of_base64(tmp_path):
    assert any(".py" in note for note in save(banana(), tmp_path, "tiktoken").notes)
    lines = (tmp_path / "ranks.tiktoken").read_bytes().splitlines()
    assert lines[0] == b"AA== 0"
    assert lines[256:] == [base64.b64encode(b"an") + b" 256"]
    assert json.loads((tmp_path / "ranks.json").read_bytes()) == {
        "pattern": r"[\s\S]+",
        "special_tokens": {},
        "version": 1,
    }


def test_merges_out_of_the_order_of_their_ids_are_numbered_anew_only_when_that_is_accepted(tmp_path):
    merges = np.array([[97, 98], [300, 99], [97, 97]], np.int32)
    tokenizer = Tokenizer(merges, np.array([300, 290, 400], np.int32), special_tokens={"<s>": 500})
    [loss] = fit(tokenizer, "tiktoken").losses
    assert loss == (
        "The ids change: tiktoken merges in the order of ids, so 2 merges make a different id, "
        "the first of them 290 instead of 300."
    )
    with pytest.raises(FormatError, match=r"^ranks\.tiktoken: .*The ids change"):
        save(tokenizer, tmp_path / "out", "tiktoken")
    assert list(tmp_path.iterdir()) == []
    report = save(tokenizer, tmp_path / "out", "tiktoken", accept_loss=True)
    assert report.losses == (loss,)
    text = "abc ab aab aaa<s>"
    ids = theirs(report.files[2]).encode(text, allowed_special="all")
    renamed = {300: 290, 290: 300}
    assert ids == [renamed.get(token, token) for token in tokenizer.encode(text, "all")]
    assert load(tmp_path / "out").encode(text, "all") == ids


def test_special_tokens_that_begin_one_another_are_a_loss(tmp_path):
    tokenizer = with_specials("gpt2")
    assert tokenizer.special_tokens.keys() == set(SPECIALS)
    [loss] = fit(tokenizer, "tiktoken").losses
    assert loss == (
        'The special token "<|end|><|start|>" begins with "<|end|>", and tiktoken may find the shorter one where '
        "TokStudio finds the longer."
    )
    report = save(tokenizer, tmp_path, "tiktoken", accept_loss=True)
    assert report.proof.startswith("identical on the test text")
    assert same(load(tmp_path), tokenizer)
    assert theirs(report.files[2]).encode("the mat雨は", allowed_special="all") == tokenizer.encode(
        "the mat雨は", "all"
    )


@pytest.mark.parametrize(("old", "new"), [('"<s>": 300', '"<s>": 301'), (r'"\\s*\\S+|\\s+"', r'"\\S+|\\s+"')])
def test_a_sidecar_that_says_something_else_fails_the_proof(tmp_path, monkeypatch, old, new):
    spoil(monkeypatch, "tiktoken", "ranks.json", lambda whole: whole.replace(old.encode(), new.encode()))
    tokenizer = Tokenizer(np.array([[97, 110], [32, 98]]), pattern="whitespace", special_tokens={"<s>": 300})
    with pytest.raises(FormatError, match=r"^ranks\.tiktoken: "):
        save(tokenizer, tmp_path, "tiktoken", sample="an an banana b <s>")
    assert list(tmp_path.iterdir()) == []


def test_without_the_library_it_is_read_back_by_us_and_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("tokstudio.core.libraries.client.is_installed", lambda library: library != "tiktoken")
    monkeypatch.setattr(client, "Answers", None)
    report = save(trained(TEXT, 60, pattern=r"\d+|[^\d\n]+|\n"), tmp_path, "tiktoken")
    assert report.proof == "identical by TokStudio alone: the tiktoken library is not installed"
    wrong = tiktoken_lines(ranks_of(everything().at(5)))
    spoil(monkeypatch, "tiktoken", "ranks.tiktoken", lambda _: wrong)
    with pytest.raises(FormatError, match=r"^ranks\.tiktoken: when read back, its merges or its special tokens differ"):
        save(everything(), tmp_path, "tiktoken")


def with_words(**more) -> Tokenizer:
    """What ranks may hold: tokens that no merge makes, which are taken whole."""
    merges = np.array([[116, 104], [256, 101]], np.int32)
    return Tokenizer(merges, pattern="gpt2", extra_tokens={258: b"cats", 300: b" dogs"}, **more)


def test_tokens_that_are_taken_whole_are_held(tmp_path):
    tokenizer = with_words(whole_words=(258, 300))
    assert fit(tokenizer, "tiktoken").losses == ()
    report = save(tokenizer, tmp_path, "tiktoken", sample="the cats, cats and dogs")
    assert theirs(report.files[2]).encode("cats dogs catsup") == tokenizer.encode("cats dogs catsup")
    back = load(tmp_path)
    assert same(back, tokenizer)
    assert (back.extra_tokens, back.whole_words) == (tokenizer.extra_tokens, tokenizer.whole_words)


@pytest.mark.parametrize("name", ["tiktoken", "huggingface"])
def test_tokens_that_would_be_taken_whole_elsewhere_only_are_a_loss(tmp_path, name):
    tokenizer = with_words(whole_words=(258,))
    [loss] = fit(tokenizer, name).losses
    assert loss.endswith("some ids will differ.")
    with pytest.raises(FormatError, match="some ids will differ"):
        save(tokenizer, tmp_path / "out", name)
    report = save(tokenizer, tmp_path / "out", name, accept_loss=True, sample="cats dogs")
    assert report.proof.startswith("identical on the test text")
    assert load(tmp_path / "out").encode("cats dogs") == [258, 300]


def test_two_tokens_that_tiktoken_joins_and_no_merge_here_are_a_loss(tmp_path):
    merges = np.array([[97, 98], [99, 100]], np.int32)
    tokenizer = Tokenizer(merges, extra_tokens={300: b"abcd"}, whole_words=(300,))
    [loss] = fit(tokenizer, "tiktoken").losses
    assert loss == (
        'tiktoken joins any two tokens that make a token, even if no merge here does (1, such as "abcd"): '
        "some ids will differ."
    )
    report = save(tokenizer, tmp_path, "tiktoken", accept_loss=True, sample="xabcdx")
    assert theirs(report.files[2]).encode("xabcdx") == load(tmp_path).encode("xabcdx") == [120, 300, 120]
