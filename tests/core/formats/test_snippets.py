"""The snippets that come with an export are run as they are."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tests.core.formats.trained import everything, trained, with_unknown
from tokstudio import save
from tokstudio.core.formats.known_formats import FORMATS

TEXT = "Hello world, hello word, hello world's words: <|end|>!"


def plain():
    return trained(TEXT * 3, 40)


def with_end():
    return trained(TEXT * 3, 40, pattern="cl100k", special_tokens=["<|end|>"])


@pytest.mark.parametrize(
    ("name", "make", "target"),
    [
        ("classic", plain, ""),
        ("huggingface", with_end, ""),
        ("huggingface", with_end, 'it\'s "mine" \\ 日本.json'),
        ("huggingface", with_unknown, ""),
        ("gpt2", plain, ""),
        ("gpt2", with_end, ""),
        ("tiktoken", with_end, ""),
        ("tiktoken", plain, 'it\'s "mine" \\ 日本.tiktoken'),
    ],
)
def test_a_snippet_gives_the_ids_that_tokstudio_gives(tmp_path, monkeypatch, name, make, target):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    tokenizer, folder = make(), tmp_path / 'it\'s "mine" \\ 日本'
    folder.mkdir()
    # Told from the folder it is written in, and run elsewhere.
    monkeypatch.chdir(folder)
    report = save(tokenizer, target or ".", name, accept_loss=True)
    monkeypatch.chdir(tmp_path)
    assert report.snippet.count("Hello world") == 1
    for text in ("Hello world", TEXT, "naïve 日本 12345\n\n"):
        found = {}
        exec(report.snippet.replace('"Hello world"', repr(text)), found)
        assert found["ids"] == tokenizer.encode(text, "all")


def test_only_tables_have_none(tmp_path):
    tables = {"merges-csv", "merges-jsonl", "vocabulary-csv"}
    for name, known in FORMATS.items():
        if known.writable and known.problem(everything()) is None:
            report = save(everything(), tmp_path / name if known.folder else tmp_path, name, accept_loss=True)
            assert (report.snippet == "") == (name in tables)
