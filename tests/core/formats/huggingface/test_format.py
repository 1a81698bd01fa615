"""`tokenizer.json`, compared with the tokenizers library in both directions."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import tokenizers

from tests.core.formats.trained import (
    BYTE_LEVEL,
    TEXT,
    banana,
    everything,
    library_ids,
    of_characters,
    same,
    shuffled,
    split_by,
    steps,
    trained,
    with_specials,
    with_unknown,
)
from tests.processes import started_processes
from tokstudio import FormatError, Tokenizer, load, save
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.huggingface import format as huggingface
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries import client
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.pretokenization.patterns import REGEX
from tokstudio.core.pretokenization.preparation import Preparation


@pytest.mark.parametrize(
    "make",
    [
        everything,
        shuffled,
        lambda: everything().at(0),
        lambda: everything().at(5),
        lambda: trained(TEXT, 60, pattern="whitespace"),
        lambda: trained(TEXT, 60, pattern=r"\d+|[^\d\n]+|\n"),
        lambda: with_specials("none"),
        lambda: with_specials("gpt2", "first"),
        lambda: with_specials("cl100k").at(7),
        lambda: with_specials("o200k").compact(),
    ],
)
def test_the_library_reads_what_we_write_and_would_write_the_same(tmp_path, make):
    tokenizer, path = make(), tmp_path / "tokenizer.json"
    report = save(tokenizer, path)
    for text in (TEXT, torture_text(), "", "ab ba"):
        assert library_ids(path, text) == tokenizer.encode(text, "all")
    assert report.losses == ()
    assert proved(report) >= len(tokenizer.encode(torture_text(), "all"))
    tokenizers.Tokenizer.from_file(str(path)).save(str(tmp_path / "theirs.json"))
    assert path.read_bytes() == (tmp_path / "theirs.json").read_bytes()
    assert same(load(path), tokenizer)


def proved(report):
    return int(report.proof.rpartition("(")[2].removesuffix(" tokens)").replace(",", ""))


@pytest.mark.parametrize(
    ("make", "pattern"),
    [
        *(
            (with_specials, pattern)
            for pattern in ("none", "whitespace", "gpt2", "cl100k", "cl100k_right", "llama3", "qwen2", "o200k")
        ),
        *((with_unknown, pattern) for pattern in ("none", "cl100k")),
    ],
)
def test_the_name_of_a_pattern_is_found_again(tmp_path, make, pattern):
    tokenizer = make(pattern)
    if pattern == "cl100k":  # by its expression
        named = tokenizer
        tokenizer = Tokenizer(
            named.merges,
            named.merge_results,
            alphabet=named.alphabet,
            special_tokens=named.special_tokens,
            pattern=REGEX[pattern],
        )
    save(tokenizer, tmp_path)
    assert "{1,3}+" not in (tmp_path / "tokenizer.json").read_text(encoding="utf-8")
    assert same(load(tmp_path), named if pattern == "cl100k" else tokenizer)
    numbers = "1 12 123 1234 12345 1234567 12345678901"
    assert library_ids(tmp_path / "tokenizer.json", numbers) == tokenizer.encode(numbers)


@pytest.mark.parametrize(
    "make",
    [
        with_unknown,
        lambda: with_unknown("gpt2"),
        lambda: with_unknown().at(3),
        of_characters,
        lambda: of_characters(pattern="cl100k", special_tokens=["the mat", "<s>"]),
        lambda: of_characters(special_tokens=["<s>", "[UNK]"], unknown_token="[UNK]", special_placement="first"),
    ],
)
def test_characters_are_what_the_library_reads_and_would_write(tmp_path, make):
    tokenizer, path = make(), tmp_path / "tokenizer.json"
    report = save(tokenizer, path, sample=TEXT * 20)
    library = tokenizers.Tokenizer.from_file(str(path))
    if unknown := tokenizer.special_tokens.get("[UNK]"):
        assert tokenizer.encode("a\u0301éé the[UNK]b", "all").count(unknown) == 4
    for text in (
        TEXT,
        "the mat",
        "a\u0301éé the[UNK]b" if unknown else "a",
        " the <s>" if "<s>" in tokenizer.special_tokens else " the ",
        "日本the",
    ):
        ids = tokenizer.encode(text, "all")
        assert library.encode(text, add_special_tokens=False).ids == ids
        assert library.decode(ids, skip_special_tokens=False) == tokenizer.decode(ids)
    assert report.losses == ()
    assert proved(report) > 500
    library.save(str(tmp_path / "theirs.json"))
    assert path.read_bytes() == (tmp_path / "theirs.json").read_bytes()
    assert same(load(path), tokenizer)


def test_a_vocabulary_without_characters_is_read_back(tmp_path):
    unknown = of_characters("", special_tokens=["<unk>"], unknown_token="<unk>")
    for tokenizer, ids in ((of_characters(""), []), (unknown, [0, 0, 0])):
        path = tmp_path / f"{len(tokenizer)}.json"
        save(tokenizer, path)
        opened = load(path)
        assert opened == tokenizer
        assert opened.encode("the" if ids else "") == ids
        assert library_ids(path, "the") == ids


def test_a_sample_takes_part_in_the_proof(tmp_path):
    tokenizer = everything()
    alone, with_sample = save(tokenizer, tmp_path), save(tokenizer, tmp_path, sample="\ud83d" + TEXT * 300)
    assert proved(with_sample) > proved(alone)
    assert alone.proof.startswith("identical on the test text (")
    assert with_sample.proof.startswith("identical on the test text and a sample of your text (")
    assert with_sample.proof == save(tokenizer, tmp_path, sample=("\ufffd" + TEXT * 300).encode()).proof


def test_where_another_process_cannot_be_had_it_is_proved_here(tmp_path, monkeypatch, in_a_process):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    assert save(banana(), tmp_path).proof.startswith("identical on the test text")


def test_closing_while_another_process_proves_ends_it(tmp_path, monkeypatch, in_a_process):
    started = started_processes(monkeypatch)
    work = huggingface.HuggingFace().prove(banana(), {"tokenizer.json": _written(tmp_path)}, "x", "")
    while not started:
        next(work)
    work.close()
    assert started[0].returncode is not None


def _written(folder):
    path = folder / "some.json"
    path.write_bytes(b"".join(huggingface.HuggingFace().contents(banana())["tokenizer.json"]))
    return path


def test_special_tokens_of_white_space_at_which_the_library_panics_are_named(tmp_path):
    """Where one takes all white space behind it, another begins before it ends."""
    tokenizer = with_specials()
    tokens = tokenizer.special_tokens | {"\t": len(tokenizer.tokens), " ": len(tokenizer.tokens) + 1}
    taken = Preparation(strips_left=frozenset({"\t"}), strips_right=frozenset({" "}))
    with pytest.raises(FormatError, match=r'bad split\. The library finds .* elsewhere: "\\t", " "\.$'):
        save(tokenizer.changed(special_tokens=tokens, preparation=taken), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_special_token_that_the_library_normalizes_cannot_be_held():
    for token, nfc in (("e\u0301", True), ("\u00e9x", True), ("e\u0301", False)):
        tokens = {"<s>": 1000, token: 1001}
        taken = Preparation(nfc=nfc, late=frozenset({token}))
        problem = fit(with_specials().changed(special_tokens=tokens, preparation=taken), "huggingface").problem
        assert (problem is not None) == (token == "e\u0301" and nfc)
        assert problem is None or problem.startswith('The library finds the special token "e\u0301" as its normal form')


def test_where_the_library_panics_it_is_told_in_a_sentence(tmp_path, capfd):
    path = _written(tmp_path)
    file = json.loads(path.read_bytes())
    file["pre_tokenizer"] = steps(split_by("(a+)+$"), BYTE_LEVEL)
    path.write_text(json.dumps(file))
    trials = [client.Trial("a" * 40 + "b", None)]
    with pytest.raises(FormatError, match=r"^x: the tokenizers library cannot encode with it: .*retry-limit"):
        finish(client.library_ids(client.LibraryInput("tokenizers", path, "x"), trials, in_child=True))
    assert capfd.readouterr().err == ""


def test_a_special_token_that_the_library_decodes_as_bytes_is_a_loss(tmp_path):
    tokenizer = trained("banana", 6, special_tokens=["<café>", "<caf é>", "<cafe>", "<日>"])
    [loss] = FORMATS["huggingface"].losses(tokenizer)
    assert loss == 'The special token "<café>" is decoded as different text by the tokenizers library.'
    with pytest.raises(FormatError, match="<café>"):
        save(tokenizer, tmp_path)
    assert save(tokenizer, tmp_path, accept_loss=True).losses == (loss,)
    text = "ban<café>ana<caf é><日>"
    assert library_ids(tmp_path / "tokenizer.json", text) == tokenizer.encode(text, "all")
    assert same(load(tmp_path), tokenizer)


def test_a_special_token_that_is_spelled_as_another_token_cannot_be_held(tmp_path):
    of_bytes, letters = trained("a the the", 9), Alphabet.of_characters("an")
    for tokenizer, words in (
        (Tokenizer(of_bytes.merges, special_tokens={"Ġthe": 900}), 'The special token "Ġthe" and token 2'),
        (
            Tokenizer(np.array([[0, 1]]), np.array([2]), alphabet=letters, special_tokens={"an": 9}),
            'The special token "an" and token 2 have the same spelling',
        ),
    ):
        with pytest.raises(FormatError, match=rf"^tokenizer\.json: {words}"):
            save(tokenizer, tmp_path, accept_loss=True)
        assert list(tmp_path.iterdir()) == []
