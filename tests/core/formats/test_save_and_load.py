"""Saving and loading: names, paths, limits, and the files after an error."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tests.core.formats.trained import TEXT, banana, everything, same, trained, with_unknown
from tokstudio import save
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.formats import classic
from tokstudio.core.formats.common import format as base
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.loading import load, load_work
from tokstudio.core.formats.saving import save_work
from tokstudio.core.libraries.client import torture_text


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def made_for(name):
    """A tokenizer that a format can hold."""
    return with_unknown() if name == "sentencepiece" else everything()


WRITABLE = [name for name, known in FORMATS.items() if known.writable]


def test_formats_are_listed_for_menus_and_the_command_line():
    assert list(FORMATS) == [
        "huggingface",
        "classic",
        "word-ends",
        "gpt2",
        "tiktoken",
        "minbpe",
        "sentencepiece",
        "wordpiece",
        "merges-csv",
        "merges-jsonl",
        "vocabulary-csv",
    ]
    for name, known in FORMATS.items():
        assert known.name == name
        assert known.title
        assert "\n" not in known.description
        assert known.writable or known.readable
        assert len(known.files) > 1 or not known.folder
        assert known.losses(trained("banana", 1, pattern="gpt2" if name == "gpt2" else "none")) == ()
    readable = [name for name, known in FORMATS.items() if known.readable]
    assert readable == [
        "huggingface", "classic", "word-ends", "gpt2", "tiktoken", "minbpe", "sentencepiece", "wordpiece"
    ]  # fmt: skip
    assert WRITABLE == [
        "huggingface", "classic", "gpt2", "tiktoken", "minbpe", "sentencepiece", "merges-csv", "merges-jsonl",
        "vocabulary-csv",
    ]  # fmt: skip


def test_a_format_that_cannot_be_written_names_those_that_can(tmp_path):
    with pytest.raises(
        ConfigError, match=r'^Format "gguf" is unknown\. Choose one of: huggingface, classic, gpt2, tiktoken, '
    ):
        save(banana(), tmp_path, "gguf")


def test_a_pattern_that_cannot_work_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(ConfigError, match="pattern"):
        load(tmp_path / "nothing", "(")


def test_one_file_takes_a_file_or_a_folder_and_several_take_a_folder(tmp_path):
    assert save(banana(), tmp_path / "both").files == tuple(
        tmp_path / "both" / name for name in ("tokenizer.json", "tokenizer_config.json")
    )
    assert save(everything(), tmp_path, "vocabulary-csv").files == (tmp_path / "vocabulary.csv",)
    assert save(banana(), str(tmp_path / "mine.json")).files == (tmp_path / "mine.json",)
    with pytest.raises(FormatError, match=r"^mine\.json: Classic pair has several files"):
        save(banana(), tmp_path / "mine.json", "classic")
    with pytest.raises(FormatError, match=r"^merges\.json: Classic pair has several files"):
        save(banana(), tmp_path / "merges.json", "classic")
    with pytest.raises(FormatError, match=r"^x\.json: the folder .*nowhere does not exist"):
        save(banana(), tmp_path / "nowhere" / "x.json")
    (tmp_path / "mine.json").rename(tmp_path / "mine")
    with pytest.raises(FormatError, match=r"^mine: Hugging Face is saved to a folder, or to a file"):
        save(banana(), tmp_path / "mine")
    assert names(tmp_path) == ["both", "mine", "vocabulary.csv"]


@pytest.mark.parametrize("name", WRITABLE)
def test_closing_at_any_moment_leaves_everything_as_it_was(tmp_path, name):
    tokenizer = made_for(name)
    steps = sum(
        1 for _ in save_work(tokenizer, tmp_path / "full", name, accept_loss=True, proof=None, sample=TEXT * 50)
    )
    folder = tmp_path / "new"
    folder.mkdir()
    save(tokenizer.at(0), folder, name, accept_loss=True)
    old = {file.name: file.read_bytes() for file in folder.iterdir()}
    for moment in range(1, steps + 1):
        work = save_work(tokenizer, folder, name, accept_loss=True, proof=None, sample=TEXT * 50)
        for _ in range(moment):
            next(work)
        work.close()
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == old


def test_a_pair_that_cannot_be_proved_leaves_no_new_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(classic, "_merges", lambda _: iter([b'{"merges": []}']))
    with pytest.raises(FormatError, match=r"^vocabulary\.json: "):
        save(banana(), tmp_path / "new" / "folder", "classic")
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", WRITABLE)
def test_a_vocabulary_that_would_fill_the_disk_is_refused_before_anything_is_written(tmp_path, monkeypatch, name):
    monkeypatch.setattr(type(FORMATS[name]), "largest", 1000)
    tokenizer = made_for(name)
    held = sum(len(token) for token in tokenizer.tokens)
    with pytest.raises(
        FormatError, match=rf"the file would take about .* GB.* hold {held:,} bytes\. Export fewer merges"
    ):
        save(tokenizer, tmp_path / "out", name, accept_loss=True)
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", WRITABLE)
def test_the_size_that_is_guessed_is_never_far_too_small(tmp_path, name):
    tokenizer = made_for(name)
    held = base.bytes_of_tokens(tokenizer)
    assert held == sum(len(token) for token in tokenizer.tokens)
    report = save(tokenizer, tmp_path, name, accept_loss=True)
    assert max(file.stat().st_size for file in report.files) <= 1.2 * FORMATS[name].size(tokenizer, held)


def test_a_folder_gives_the_first_format_in_order_and_says_which(tmp_path):
    save(banana(), tmp_path, "classic")
    assert finish(load_work(tmp_path)).format == "classic"
    save(banana(), tmp_path, "huggingface")
    loaded = finish(load_work(tmp_path, pattern="none"))
    files = (tmp_path / "tokenizer.json", tmp_path / "tokenizer_config.json")
    assert (loaded.format, loaded.files) == ("huggingface", files)
    assert same(loaded.tokenizer, banana())


def test_missing_and_unknown_files_are_named(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other.json").write_text('{"name": "something else"}')
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "nothing.json").write_bytes(b"")
    looked_for = r"tokenizer\.json, merges\.json, merges\.txt, vocab\.bpe, NAME\.tiktoken, tekken\.json, NAME\.model"
    looked_for += r", vocab\.txt"
    for name, words in (
        ("empty", rf"this folder has no tokenizer file TokStudio can read \({looked_for}\)"),
        ("missing", "no such file or folder"),
        ("missing/tokenizer.json", "no such file or folder"),
        ("other.json", "not a tokenizer file TokStudio can read"),
        ("list.json", "not a tokenizer file TokStudio can read"),
        ("nothing.json", "not a tokenizer file TokStudio can read"),
        ("picture.png", "this is not UTF-8, byte 0"),
    ):
        with pytest.raises(FormatError, match=rf"^{name.split('/')[-1]}: {words}\.$"):
            load(tmp_path / name)


def test_the_torture_text_is_as_hard_as_it_says():
    text = torture_text()
    assert set(map(chr, range(128))) <= set(text)
    assert {"\ufeff", "\u200d", "\u0301", "\r\n", "\u3000"} <= {*text, "\r\n"} | {"\r\n"}
    assert "\r\n" in text
    assert 4_000 < len(text.encode()) < 20_000
    assert text.encode("utf-8").decode("utf-8") == text
