"""A name of a tokenizer in place of a path, in each command that reads one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.hub.local_hub import Hub, Repository, local_hub
from tokstudio import cli, load
from tokstudio.core.base.progress import Progress
from tokstudio.core.hub import fetching


@pytest.fixture
def hub(tmp_path: Path, tokenizer: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with the repository `me/tiny`, and with an empty cache."""
    with local_hub(monkeypatch) as made:
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        made.repositories["me/tiny"] = Repository({"tokenizer.json": Path(tokenizer).read_bytes()})
        yield made


@pytest.fixture
def fetched(tokenizer, monkeypatch):
    """The names that are fetched, which the hub has; it is not asked."""
    names: list[str] = []

    def fetch_work(name):
        yield Progress("downloading")
        names.append(str(name))
        return fetching.Fetched(str(tokenizer), "")

    monkeypatch.setattr(fetching, "fetch_work", fetch_work)
    return names


def test_encode_decode_convert_and_inspect_take_a_name(fetched, tokenizer, tmp_path, capfd):
    ids = load(tokenizer).encode("hello world")
    assert cli.main(["encode", "--tokenizer", "hf:me/tiny", "--text", "hello world"]) == 0
    assert json.loads(capfd.readouterr().out) == ids
    assert cli.main(["decode", "--tokenizer", "hf:me/tiny@main", "--text", json.dumps(ids)]) == 0
    assert capfd.readouterr().out == "hello world"
    assert cli.main(["convert", "hf:me/tiny", str(tmp_path / "copy.tiktoken"), "--format", "tiktoken", "-q"]) == 0
    assert load(tmp_path / "copy.tiktoken").encode("hello world") == ids
    assert cli.main(["inspect", "hf:me/tiny", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["tokens"] == 306
    assert fetched == ["hf:me/tiny", "hf:me/tiny@main", "hf:me/tiny", "hf:me/tiny"]


def test_an_error_is_one_sentence_and_the_copy_in_the_cache_is_told(hub, capfd):
    assert cli.main(["inspect", "hf:me/none"]) == 1
    assert "tokstudio: hf:me/none: " in capfd.readouterr().err
    assert cli.main(["inspect", "hf:none"]) == 1
    assert "not a repository of the Hugging Face Hub" in capfd.readouterr().err
    assert cli.main(["inspect", "hf:me/tiny", "--json", "-q"]) == 0
    assert json.loads(capfd.readouterr().out)["tokens"] == 306
    hub.status = 503
    assert cli.main(["inspect", "hf:me/tiny"]) == 0
    assert "cannot be reached: this is the copy in the cache." in capfd.readouterr().err


def test_compare_and_report_take_names_beside_paths(fetched, tokenizer, tmp_path, capfd):
    text, page = tmp_path / "text.txt", tmp_path / "report.html"
    text.write_text("hello world", encoding="utf-8")
    assert cli.main(["compare", "hf:me/tiny", tokenizer, "--texts", str(text), "--figure", "tokens", "--json"]) == 0
    told = json.loads(capfd.readouterr().out)
    count = len(load(tokenizer).encode("hello world"))
    assert (told["tokenizers"], told["figures"]["tokens"]) == (["tiny", "tokenizer"], [[count, count]])
    assert cli.main(["report", "hf:me/tiny", "--texts", str(text), "--out", str(page), "-q"]) == 0
    assert "Report of tiny" in page.read_text(encoding="utf-8")
    assert fetched == ["hf:me/tiny"] * 2
