"""What is a name of a tokenizer, and what is not."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tokstudio import ConfigError, load
from tokstudio.core.hub.names import Name, name_in, name_of, parse_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Qwen/Qwen3-8B", Name("hf", "Qwen/Qwen3-8B")),
        ("hf:Qwen/Qwen3-8B", Name("hf", "Qwen/Qwen3-8B")),
        (" Qwen/Qwen3-8B@main ", Name("hf", "Qwen/Qwen3-8B", "main")),
        ("hf:me/it@refs/pr/1", Name("hf", "me/it", "refs/pr/1")),
        ("o200k_base", Name("tiktoken", "o200k_base")),
        ("tiktoken:of_a_plugin", Name("tiktoken", "of_a_plugin")),
    ],
)
def test_a_name_is_understood_with_and_without_its_prefix(text, name):
    assert parse_name(text) == name
    assert parse_name(str(name)) == name


def test_the_short_name_has_neither_owner_nor_revision():
    assert parse_name("Qwen/Qwen3-8B@main").short == "Qwen3-8B"


@pytest.mark.parametrize(
    "text",
    [
        *("", "llama", "hf:", "hf:gpt2", "a/b/c", "../b", "a/..", "a/b--c", "/b", "a/", "a/b.git", "a b/c", "ä/b"),
        *("a/b@", "a/b@../c", "a/b@x/", "a/b@-x", "a/b\nc", "a/" + 100 * "b", "x:a/b"),
        *("tiktoken:", "tiktoken:../x", "tiktoken:a/b"),
    ],
)
def test_what_is_no_name_is_refused_with_a_sentence(text):
    with pytest.raises(ConfigError, match=r"^\S.*\.$") as caught:
        parse_name(text)
    assert "\n" not in str(caught.value)


def test_a_link_to_the_hub_names_its_repository_and_its_revision(monkeypatch):
    cases = {
        "https://huggingface.co/Qwen/Qwen3-8B": "hf:Qwen/Qwen3-8B",
        "  http://www.huggingface.co/Qwen/Qwen3-8B/?library=x#readme\n": "hf:Qwen/Qwen3-8B",
        "https://hf.co/Qwen/Qwen3-8B/tree/main": "hf:Qwen/Qwen3-8B@main",
        "https://huggingface.co/Qwen/Qwen3-8B/blob/v1.0/tokenizer.json": "hf:Qwen/Qwen3-8B@v1.0",
        "https://huggingface.co/a/b/resolve/refs%2Fpr%2F1/tokenizer.json?download=true": "hf:a/b@refs/pr/1",
        "https://huggingface.co/a/b/discussions/7": "hf:a/b",
        "hf:a/b@main": "hf:a/b@main",
        "tiktoken:o200k_base": "tiktoken:o200k_base",
    }
    assert {link: str(name_in(link)) for link in cases} == cases
    monkeypatch.setenv("HF_ENDPOINT", "http://localhost:1234")
    assert name_in("http://localhost:1234/a/b") == Name("hf", "a/b")


@pytest.mark.parametrize(
    "text",
    [
        *("", "a/b", "hf:a", "hf: is short", "https://example.org/a/b", "https://huggingface.co", "https://[x/a/b"),
        *("https://huggingface.co/gpt2", "https://huggingface.co/datasets/a/b", "https://huggingface.co/docs/hub"),
        *("ftp://huggingface.co/a/b", "https://huggingface.co.example.org/a/b", "https://huggingface.co/a/..%2Fb"),
    ],
)
def test_another_text_or_link_names_nothing(text):
    assert name_in(text) is None


@pytest.mark.parametrize("text", ["hf:datasets/squad", "datasets/allenai/c4", "hf:datasets/allenai/c4@main"])
def test_a_data_set_is_no_tokenizer(text):
    with pytest.raises(ConfigError, match="names a data set, not a tokenizer; reading data by address comes with a"):
        parse_name(text)


def test_a_path_is_no_name():
    for path in ("tokenizer.json", "Qwen/Qwen3-8B", "c:/hf/tokenizer.json", Path("hf/x"), Path.cwd()):
        assert name_of(path) is None


def test_a_name_may_be_given_as_a_path():
    assert name_of(Path("hf:Qwen/Qwen3-8B@refs/pr/1")) == Name("hf", "Qwen/Qwen3-8B", "refs/pr/1")


@pytest.mark.skipif(sys.platform == "win32", reason="no file of Windows has such a name")
def test_a_file_comes_before_a_name(tmp_path, monkeypatch):
    (tmp_path / "tiktoken:mine").touch()
    monkeypatch.chdir(tmp_path)
    assert name_of("tiktoken:mine") is None


def test_opening_what_has_the_prefix_but_is_no_name_says_how_a_name_looks():
    with pytest.raises(ConfigError, match=r'"hf:gpt2" is not a repository .* such as Qwen/Qwen3-8B'):
        load("hf:gpt2")
