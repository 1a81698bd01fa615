"""Library tokenizers are copied in their own format: the same bytes, the same ids."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
import sentencepiece
import tokenizers
from tokenizers import normalizers

from tests.core.formats.sentencepiece.test_reader import trained_model
from tests.core.formats.trained import TEXT, everything, settings_of
from tokstudio import FormatError, load, save
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.saving import fit
from tokstudio.core.formats.writers import Copy


@pytest.fixture
def lowercase(tmp_path):
    """A tokenizer.json whose normalizer only its library knows."""
    file = tokenizers.Tokenizer.from_str(json.dumps(settings_of(everything())))
    file.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    file.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "mine.model"
    path.write_bytes(trained_model(size=1000))
    return path


def test_a_tokenizer_json_is_copied_byte_by_byte_with_a_configuration_beside_it(lowercase, tmp_path):
    opened = load(lowercase)
    assert opened.library == "tokenizers"
    fitting = fit(opened, "huggingface")
    assert (fitting.problem, fitting.losses) == (None, ())
    copied, beside = fitting.notes
    assert "copied unchanged" in copied
    assert beside.startswith("In a folder, a new tokenizer_config.json is written beside it")
    report = save(opened, tmp_path / "out", sample=TEXT)
    assert report.proof.startswith("identical over ")
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == lowercase.read_bytes()
    assert (tmp_path / "out" / "tokenizer_config.json").is_file()
    assert load(tmp_path / "out").encode("THE Cat ﬁ") == tokenizers.Tokenizer.from_file(str(lowercase)).encode(
        "THE Cat ﬁ"
    ).ids  # fmt: skip


def test_one_file_is_written_where_a_file_is_named(lowercase, tmp_path):
    report = save(load(lowercase), tmp_path / "copy.json")
    assert report.files == (tmp_path / "copy.json",)
    assert report.files[0].read_bytes() == lowercase.read_bytes()


def test_a_sentencepiece_model_is_copied(model, tmp_path):
    opened = load(model)
    report = save(opened, tmp_path / "copy.model", "sentencepiece", sample=TEXT)
    assert (tmp_path / "copy.model").read_bytes() == model.read_bytes()
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "copy.model"))
    assert theirs.encode(TEXT) == opened.encode(TEXT)
    assert report.losses == ()
    assert report.renumbered == ""


def test_every_other_format_says_why_it_cannot(lowercase, model):
    for path, own in ((lowercase, "huggingface"), (model, "sentencepiece")):
        opened = load(path, "gpt2")
        for name, known in FORMATS.items():
            if known.writable and known.readable:
                problem = fit(opened, name).problem
                assert (problem is None) == (name == own), name
                assert problem is None or opened.no_playhead in problem


def test_a_copy_that_is_not_the_same_is_refused_and_leaves_what_was_there(lowercase, tmp_path, monkeypatch):
    opened = load(lowercase)
    target = tmp_path / "copy.json"
    target.write_text("mine")
    other = lowercase.read_bytes().replace(b'"Lowercase"', b'"StripAccents"')
    monkeypatch.setattr(Copy, "contents", lambda self, tokenizer: {"tokenizer.json": [other]})
    with pytest.raises(FormatError, match=r"^copy\.json: when read back, it differs from the opened file\.$"):
        save(opened, target)
    assert target.read_text() == "mine"


def test_a_copy_that_is_encoded_otherwise_is_refused_with_the_first_difference(lowercase, tmp_path, monkeypatch):
    opened = load(lowercase)
    encode_work = type(opened).encode_work

    def other(self, text, allowed_special=()):
        ids = yield from encode_work(self, text, allowed_special)
        return ids if self is opened else ids[::-1]

    monkeypatch.setattr(type(opened), "encode_work", other)
    with pytest.raises(FormatError, match="read back, it differs at token 1, near"):
        save(opened, tmp_path / "copy.json")
    assert not (tmp_path / "copy.json").exists()
