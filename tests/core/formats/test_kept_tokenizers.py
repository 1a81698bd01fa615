"""A tokenizer that was read is kept in the cache: the next reading gives the same one, and reads no file of it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.formats.trained import everything, gpt2_pair, of_characters, with_specials, with_unknown
from tokstudio import FormatError, Tokenizer, load, save
from tokstudio.core.formats import kept_tokenizers
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.model.file_settings import FileSettings
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.tokenizer.content import TokenizerContent


class Reading:
    """The cache folder, and how often files were read."""

    def __init__(self, folder, patch):
        self.caches, self.folder, self.count = folder, folder / "tokenizers", 0
        for kind in {type(known) for known in FORMATS.values() if known.readable}:
            patch.setattr(kind, "read", self._counting(kind.read))

    def _counting(self, read):
        def counted(*given):
            self.count += 1
            return read(*given)

        return counted

    @property
    def kept(self):
        return sorted(self.folder.iterdir()) if self.folder.is_dir() else []


@pytest.fixture
def reading(monkeypatch, tmp_path):
    monkeypatch.setattr(kept_tokenizers, "LEAST", 1)
    monkeypatch.setattr(kept_tokenizers, "cache_folder", lambda: tmp_path / "caches")
    return Reading(tmp_path / "caches", monkeypatch)


def differences(one: TokenizerContent, two: TokenizerContent) -> list[str]:
    """The fields of two contents that differ in any way."""

    def values(value):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        arrays = {name: (part.dtype, part.tolist()) for name, part in parts.items() if isinstance(part, np.ndarray)}
        deep = {name: values(part) for name, part in parts.items() if hasattr(part, "__dataclass_fields__")}
        ordered = {name: list(part.items()) for name, part in parts.items() if type(part) is dict}
        return parts | arrays | deep | ordered

    mine, theirs = values(one), values(two)
    return [name for name in mine if mine[name] != theirs[name]]


def saved(tokenizer, format_name, folder):
    folder.mkdir()
    path = folder if format_name in ("huggingface", "gpt2", "loader") else folder / FORMATS[format_name].files[0]
    save(tokenizer, path, format=format_name, accept_loss=True)
    return path


@pytest.mark.parametrize("format_name", ["huggingface", "gpt2", "tiktoken", "minbpe", "loader", "gguf"])
def test_a_kept_tokenizer_is_the_one_that_was_read(format_name, reading, tmp_path):
    path = saved(everything() if format_name == "gpt2" else with_specials(), format_name, tmp_path / "files")
    reading.count = 0  # a proof may read
    pattern = "gpt2" if format_name == "gpt2" else None
    first = load(path, pattern)
    again = load(path, pattern)
    assert reading.count == 1, "the second time nothing is read"
    assert len(reading.kept) == 1
    assert again == first
    assert differences(first.content, again.content) == []
    assert (again.remarks, again.roles, again.whole_words) == (first.remarks, first.roles, first.whole_words)
    for text in ("the cat the mat <|end|>", "雨は\n\n", b"\xff\x00"):
        assert again.encode(text, [*again.special_tokens]) == first.encode(text, "all")
    assert [*again.tokens] == [*first.tokens]


@pytest.mark.parametrize(
    "tokenizer", [of_characters(), with_unknown(), everything()], ids=["characters", "unknown", "bytes"]
)
def test_other_base_tokens_and_settings_are_kept_too(tokenizer, reading, tmp_path):
    path = saved(tokenizer, "huggingface", tmp_path / "files")
    (path / "chat_template.jinja").write_text("{{ messages }}")
    config = json.loads((path / "tokenizer_config.json").read_text())
    more = {"clean_up_tokenization_spaces": False, "x": {"y": [1, 2.5, None, "é"]}, "bos_token": None}
    (path / "tokenizer_config.json").write_text(json.dumps({**config, **more}))
    first, again = load(path), load(path)
    assert (reading.count, len(reading.kept)) == (1, 1)
    assert differences(first.content, again.content) == []
    assert dict(again.settings.config or {})["x"] == more["x"]
    assert again.settings.chat_templates == {"default": "{{ messages }}"}


def test_what_decides_how_files_are_read_decides_which_tokenizer_is_kept(reading, tmp_path):
    vocab, merges = gpt2_pair(everything())
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "vocab.json").write_bytes(vocab)
    (folder / "merges.txt").write_bytes(merges)
    assert load(folder, "gpt2").pattern == "gpt2"
    assert load(folder, "cl100k").pattern == "cl100k"
    with pytest.raises(FormatError, match="pattern"):
        load(folder)
    assert reading.count == 3
    (folder / "merges.txt").write_bytes(merges[: merges.rindex(b"\n", 0, -1) + 1])
    with pytest.raises(FormatError, match="no merge makes"):
        load(folder, "gpt2")
    (folder / "merges.txt").write_bytes(merges)
    assert load(folder / "vocab.json", "gpt2").pattern == "gpt2"
    assert reading.count == 4, "a file that fits again is not read again"
    # Another file beside it, and another name in messages.
    (folder / "special_tokens_map.json").write_text('{"eos_token": "the"}')
    load(folder, "gpt2")
    assert reading.count == 5
    assert len(reading.kept) == 3


def test_another_version_of_the_program_reads_again(reading, tmp_path, monkeypatch):
    path = saved(everything(), "huggingface", tmp_path / "files")
    load(path)
    for program in ("0.0", "0.1"):
        monkeypatch.setattr(kept_tokenizers, "_identity", lambda program=program: program)
        load(path)
    load(path)
    assert reading.count == 3


@pytest.mark.parametrize(
    "damage", [lambda kept: kept[:-1], lambda kept: kept[:70], lambda _: b"", lambda kept: b"x" + kept[1:]]
)
def test_a_damaged_file_is_replaced(damage, reading, tmp_path):
    path = saved(everything(), "huggingface", tmp_path / "files")
    first = load(path)
    (kept,) = reading.kept
    whole = kept.read_bytes()
    kept.write_bytes(damage(whole))
    assert load(path) == first
    assert reading.count == 2
    assert kept.read_bytes() == whole


def test_a_whole_file_of_something_else_is_replaced(reading, tmp_path):
    path = saved(everything(), "huggingface", tmp_path / "files")
    load(path)
    (kept,) = reading.kept
    whole = kept.read_bytes()
    deep, no_token = b"[" * 200_000, whole[32:].replace(b'"extra_tokens": []', b'"extra_tokens": [[300, 1]]')
    assert no_token != whole[32:]
    others = (b"", b"{}", bytes(16) + b"[]", bytes(16) + b'{"base": "bytes"}', b"\x7f" * 64, bytes(16) + deep, no_token)
    for other in others:
        kept_tokenizers.write_whole(kept, other)
        load(path)
        assert kept.read_bytes() == whole, other[:99]


def test_small_and_huge_files_are_not_kept(reading, tmp_path, monkeypatch):
    path = saved(everything(), "huggingface", tmp_path / "files")
    size = sum(file.stat().st_size for file in path.iterdir())
    for least, largest in ((size + 1, size + 1), (1, size - 1)):
        monkeypatch.setattr(kept_tokenizers, "LEAST", least)
        monkeypatch.setattr(kept_tokenizers, "LARGEST", largest)
        load(path)
        assert not reading.kept
    monkeypatch.setattr(kept_tokenizers, "LARGEST", size)
    load(path)
    assert len(reading.kept) == 1


def test_those_that_were_used_last_stay(reading, tmp_path, monkeypatch):
    paths = [saved(everything().at(merges), "huggingface", tmp_path / str(merges)) for merges in (10, 11, 12)]
    kept = []
    for path in paths[:2]:
        load(path)
        kept += [file for file in reading.kept if file not in kept]
    for number, file in enumerate(kept):
        os.utime(file, (number, number))
    load(paths[0])  # is used now
    monkeypatch.setattr(kept_tokenizers, "ROOM", 3 * kept[0].stat().st_size - 1)
    load(paths[2])
    assert kept[0].exists()
    assert not kept[1].exists()
    assert len(reading.kept) == 2


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has other permissions")
def test_a_folder_in_which_others_may_write_is_not_used(reading, tmp_path):
    path = saved(everything(), "huggingface", tmp_path / "files")
    load(path)
    reading.folder.chmod(0o777)
    load(path)
    assert reading.count == 2


def test_files_that_change_while_they_are_read_are_not_kept(reading, tmp_path, monkeypatch):
    path = saved(everything(), "huggingface", tmp_path / "files")
    kind, file = type(FORMATS["huggingface"]), path / "tokenizer.json"
    read, whole = kind.read, file.read_bytes()

    def changing(*given):
        tokenizer = yield from read(*given)
        file.write_bytes(whole + b"\n")
        return tokenizer

    monkeypatch.setattr(kind, "read", changing)
    load(path)
    assert not reading.kept
    load(path)
    assert len(reading.kept) == 1


def test_a_tokenizer_of_another_library_is_not_kept(reading, tmp_path):
    file = tmp_path / "tokenizer.json"
    model = {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"}
    file.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model}))
    assert load(file).library == "tokenizers"
    assert not reading.kept


@settings(max_examples=30)
@given(
    specials=st.dictionaries(st.text(min_size=1, max_size=4), st.integers(1_000, 2_000), max_size=4),
    extra=st.dictionaries(st.integers(3_000, 4_000), st.binary(max_size=5), max_size=4),
    said=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3), lambda one: st.lists(one, max_size=3)
    ),
    sets=st.frozensets(st.text(min_size=1, max_size=3), max_size=3),
    notes=st.lists(st.text(max_size=5), max_size=3).map(tuple),
)
def test_all_of_a_content_is_kept(specials, extra, said, sets, notes):
    preparation = Preparation(nfc=True, late=sets, normalized=sets)
    said_of = FileSettings({"x": "y"}, notes, config={"k": said}, padding=said, notes=notes, former=sets)
    merges, results = np.array([[97, 98], [300, 99]], np.int32), np.array([300, 301], np.int32)
    more = frozenset(extra), True, preparation, notes, said_of
    content = TokenizerContent(merges, results, Alphabet.of_bytes(), specials, "gpt2", extra, *more)
    packed = kept_tokenizers._packed(content)
    assert packed is not None
    assert differences(content, kept_tokenizers._unpacked(packed)) == []


@pytest.mark.parametrize("value", [(1, 2), {1: "one"}, float("nan"), b"bytes", {1, 2}])
def test_what_json_would_change_is_not_kept(value):
    content = everything().content.of_merges()
    assert kept_tokenizers._packed(replace(content, settings=FileSettings(config={"k": [1, 2]}))) is not None
    assert kept_tokenizers._packed(replace(content, settings=FileSettings(config={"k": value}))) is None


def test_what_a_file_does_not_have_is_not_kept():
    content = Tokenizer.of(everything().content).content
    assert content.run is not None
    assert kept_tokenizers._packed(content) is None
    plain = content.alone()
    assert kept_tokenizers._packed(plain) is not None
    assert kept_tokenizers._packed(replace(plain, supermerges=np.ones(len(plain.merges), np.bool_))) is None


def test_a_little_text_is_encoded_and_decoded_without_the_compiler(reading, tmp_path):
    path = saved(with_specials("cl100k", merges=70), "tiktoken", tmp_path / "files")
    # The loops recover the merges, which are kept.
    ids = load(path).encode("the cat größer")
    assert reading.kept
    script = """
import sys
from pathlib import Path
from tokstudio.cli import main
from tokstudio.core.formats import kept_tokenizers
kept_tokenizers.LEAST, kept_tokenizers.cache_folder = 1, lambda: Path(sys.argv[2])
assert main(["encode", "--text", "the cat größer", "--tokenizer", sys.argv[1]]) == 0
assert main(["decode", "--text", "[116, 104]", "--tokenizer", sys.argv[1]]) == 0
print("", "numba" in sys.modules)
"""
    words = [sys.executable, "-c", script, str(path), str(reading.caches)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, f"{ids}\nth False\n"), done.stderr
