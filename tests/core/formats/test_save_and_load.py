"""Saving and loading: names, paths, limits, and the files after an error."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import lzma
import os
import sys
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from tokenizers import normalizers

from tests.core.formats.sentencepiece.test_format import trained_model
from tests.core.formats.trained import (
    TEXT,
    banana,
    everything,
    of_characters,
    refusal,
    same,
    settings_of,
    shuffled,
    spoil,
    trained,
    with_specials,
    with_unknown,
)
from tests.processes import no_processes
from tokstudio import ConfigError, Corpus, FormatError, Tokenizer, TrainingConfig, __version__, load, save, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.formats.common import format as base
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.loading import load_work
from tokstudio.core.formats.saving import fit, save_work
from tokstudio.core.formats.writers import Copy
from tokstudio.core.libraries import client
from tokstudio.core.libraries.client import torture_text


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def made_for(name):
    """A tokenizer that a format can hold."""
    if name == "gguf":
        return everything().changed(pattern="gpt2")
    return with_unknown() if name == "sentencepiece" else everything()


# Names of files that a format takes for its own.
NAMED = {"tekken": "tekken.json", "token-bytes": "bytes.npy"}
WRITABLE = [name for name, known in FORMATS.items() if known.writable]


def test_formats_are_listed_for_menus_and_the_command_line():
    assert list(FORMATS) == [
        "huggingface", "classic", "word-ends", "gpt2", "tiktoken", "tekken", "minbpe", "sentencepiece", "wordpiece",
        "gguf", "loader", "merges-csv", "merges-jsonl", "vocabulary-csv", "token-bytes",
    ]  # fmt: skip
    for name, known in FORMATS.items():
        assert known.name == name
        assert known.title
        assert "\n" not in known.description
        assert len(known.files) > 1 or not known.folder
        assert not any(known.losses(trained("banana", 1, pattern="gpt2" if name == "gpt2" else "none")))
    assert [name for name, known in FORMATS.items() if not known.readable] == [
        "merges-csv", "merges-jsonl", "vocabulary-csv", "token-bytes"
    ]  # fmt: skip
    assert [name for name, known in FORMATS.items() if not known.writable] == ["word-ends", "wordpiece"]


def test_an_unknown_format_or_a_pattern_that_cannot_work_is_refused_before_anything_is_read(tmp_path):
    words = r'^Format "ggml" is unknown\. Choose one of: huggingface, classic, gpt2, tiktoken, '
    with pytest.raises(ConfigError, match=words):
        save(banana(), tmp_path, "ggml")
    with pytest.raises(ConfigError, match="pattern"):
        load(tmp_path / "nothing", "(")


def test_one_file_takes_a_file_or_a_folder_and_several_take_a_folder(tmp_path):
    assert save(banana(), tmp_path / "both").files == tuple(
        tmp_path / "both" / name for name in ("tokenizer.json", "tokenizer_config.json")
    )
    assert save(everything(), tmp_path, "vocabulary-csv").files == (tmp_path / "vocabulary.csv",)
    assert save(with_unknown(), tmp_path, "sentencepiece").files == (tmp_path / "tokenizer.model",)
    assert save(banana(), str(tmp_path / "mine.json")).files == (tmp_path / "mine.json",)
    with pytest.raises(FormatError, match=r"^mine\.json: this is a file, and Classic pair has several files"):
        save(banana(), tmp_path / "mine.json", "classic")
    with pytest.raises(FormatError, match=r"^merges\.json: Classic pair has several files"):
        save(banana(), tmp_path / "merges.json", "classic")
    with pytest.raises(FormatError, match=r"^x\.json: the folder .*nowhere does not exist"):
        save(banana(), tmp_path / "nowhere" / "x.json")
    (tmp_path / "ranks.txt").write_text("old")
    with refusal("this is a file, and tiktoken is saved to a folder, or to a file that ends in", "ranks.txt"):
        save(banana(), tmp_path / "ranks.txt", "tiktoken")
    (tmp_path / "ranks.txt").unlink()
    (tmp_path / "mine.json").rename(tmp_path / "mine")
    with pytest.raises(
        FormatError, match=r"^mine: this is a file, and Hugging Face is saved to a folder, or to a file"
    ):
        save(banana(), tmp_path / "mine")
    assert names(tmp_path) == ["both", "mine", "tokenizer.model", "vocabulary.csv"]


@pytest.mark.parametrize("name", WRITABLE)
def test_closing_at_any_moment_leaves_everything_as_it_was(tmp_path, name, monkeypatch):
    # The number of reports from a child process changes.
    monkeypatch.setattr(client, "is_installed", lambda library: library != "xllamacpp")
    no_processes(monkeypatch)
    tokenizer = made_for(name)
    folder = tmp_path / "new"
    folder.mkdir()
    save(tokenizer.at(0), folder, name, accept_loss=True)
    old = {file.name: file.read_bytes() for file in folder.iterdir()}
    for moment in count(1):
        work = save_work(tokenizer, folder, name, accept_loss=True, proof=None, sample=TEXT)
        try:
            for _ in range(moment):
                next(work)
        except StopIteration:
            break
        work.close()
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == old
    assert moment > 2
    assert {file.name: file.read_bytes() for file in folder.iterdir()} != old


@pytest.mark.parametrize("name", WRITABLE)
def test_a_vocabulary_that_would_fill_the_disk_is_refused_before_anything_is_written(tmp_path, monkeypatch, name):
    tokenizer, tables = made_for(name), {"merges-csv", "merges-jsonl", "vocabulary-csv", "token-bytes"}
    held = base.bytes_of_tokens(tokenizer)
    assert held == sum(len(token) for token in tokenizer.tokens)
    (tmp_path / "in").mkdir()
    report = save(tokenizer, tmp_path / "in", name, accept_loss=True)
    assert (report.snippet == "") == (name in tables)
    guessed = FORMATS[name].size(tokenizer, held)
    assert max(file.stat().st_size for file in report.files) <= 1.2 * guessed, "never guessed far too small"
    monkeypatch.setattr(type(FORMATS[name]), "largest", 1000)
    words = rf"the file would take about .* GB.* hold {held:,} bytes\. Export fewer merges"
    with pytest.raises(FormatError, match=words):
        save(tokenizer, tmp_path / NAMED.get(name, "out"), name, accept_loss=True)
    assert names(tmp_path) == ["in"]


def test_a_folder_gives_the_first_format_in_order_and_says_which(tmp_path):
    save(banana(), tmp_path, "classic")
    assert finish(load_work(tmp_path)).format == "classic"
    save(banana(), tmp_path, "huggingface")
    loaded = finish(load_work(tmp_path, pattern="none"))
    files = (tmp_path / "tokenizer.json", tmp_path / "tokenizer_config.json")
    assert (loaded.format, loaded.files) == ("huggingface", files)
    assert same(loaded.tokenizer, banana())


@pytest.mark.parametrize("name", WRITABLE)
def test_a_merge_of_a_token_that_no_merge_makes_is_written_by_every_format_or_refused(tmp_path, name):
    tokens = [*(bytes([byte]) for byte in range(256)), b"th", b"the"]
    tokenizer = Tokenizer.from_parts(dict(enumerate(tokens)), [(b"th", b"e")], "gpt2")
    known = FORMATS[name]
    fitting = fit(tokenizer, name)
    if name in ("classic", "minbpe", "loader"):
        words = "holds only merges of tokens that earlier merges make, but some here join tokens that no merge makes."
        assert fitting.problem == f"{known.title} {words}"
    elif fitting.problem is None:
        path = tmp_path if known.folder else tmp_path / NAMED.get(name, known.files[0])
        save(tokenizer, path, name, accept_loss=True)
        if known.readable and not fitting.losses:
            assert load(path, "gpt2").encode("the th e") == tokenizer.encode("the th e")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize("name", [name for name in WRITABLE if FORMATS[name].readable])
def test_a_folder_whose_name_is_not_utf8_takes_every_format(tmp_path, name):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    tokenizer = made_for(name)
    path = folder if FORMATS[name].folder else folder / FORMATS[name].files[0]
    report = save(tokenizer, path, name, accept_loss=True)
    assert report.proof.startswith(("identical", "written, not proved"))
    assert len(load(path, "gpt2")) == len(tokenizer)


def test_missing_and_unknown_files_are_named(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other.json").write_text('{"name": "something else"}')
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "tokenizer.json.xz").write_bytes(lzma.compress(b'{"model": {}}'))
    (tmp_path / "nothing.json").write_bytes(b"")
    looked_for = r"tokenizer\.json, merges\.json, merges\.txt, vocab\.bpe, NAME\.tiktoken, tekken\.json, NAME\.model"
    looked_for += r", vocab\.txt, NAME\.gguf, loader_vocabulary\.json"
    for name, words in (
        ("empty", rf"this folder has no tokenizer file TokStudio can read \({looked_for}\)"),
        ("missing", "no such file or folder"),
        ("missing/tokenizer.json", "no such file or folder"),
        ("other.json", "not a tokenizer file TokStudio can read"),
        ("list.json", "not a tokenizer file TokStudio can read"),
        ("nothing.json", "not a tokenizer file TokStudio can read"),
        ("picture.png", "this is a PNG image, not text"),
        ("tokenizer.json.xz", "this is xz-compressed data, not text"),
    ):
        with pytest.raises(FormatError, match=rf"^{name.split('/')[-1]}: {words}\.$"):
            load(tmp_path / name)


def test_the_torture_text_is_as_hard_as_it_says():
    text = torture_text()
    assert set(map(chr, range(128))) <= set(text)
    assert {"\ufeff", "\u200d", "\u0301", "\u3000"} <= set(text)
    assert "\r\n" in text
    assert 4_000 < len(text.encode()) < 20_000


BYTES_ONLY = {"classic": "vocabulary.json", "gpt2": "vocab.json", "minbpe": "out.model", "tiktoken": "ranks.tiktoken"}


@pytest.mark.parametrize("name", BYTES_ONLY)
def test_characters_cannot_be_held_where_merges_are_of_bytes(tmp_path, name):
    said = f"{FORMATS[name].title} holds only merges of bytes, but this tokenizer merges characters."
    assert fit(of_characters(), name).problem == said
    with refusal(said, BYTES_ONLY[name]):
        save(of_characters(), tmp_path / ("out.model" if name == "minbpe" else "out"), name, accept_loss=True)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "file"), [("huggingface", "tokenizer.json"), ("gpt2", "merges.txt"), ("tiktoken", "ranks.tiktoken")]
)
def test_tokens_far_longer_than_a_piece_come_back(tmp_path, name, file):
    tokenizer = trained(b'\x00\xff"\\' * 8_192, 30)
    assert tokenizer.tokens.length(len(tokenizer.tokens) - 1) > 30_000
    assert max(map(len, FORMATS[name].contents(tokenizer)[file])) < 30_000
    save(tokenizer, tmp_path, name, accept_loss=True)
    assert same(load(tmp_path, "none"), tokenizer)


@pytest.mark.parametrize("name", ["huggingface", "tiktoken"])
def test_a_large_file_is_proved_in_another_process(tmp_path, monkeypatch, request, name):
    tokenizer = trained(TEXT * 3, 60, pattern="gpt2", special_tokens=["<|end|>", "the mat"])
    expected = save(tokenizer, tmp_path, name, sample=TEXT).proof
    request.getfixturevalue("in_a_process")
    monkeypatch.setattr("tokstudio.core.libraries.client.Answers", None)
    assert save(tokenizer, tmp_path, name, sample=TEXT).proof == expected


CANNOT, DIFFERS = "the tokenizers library cannot read it", "it differs at token "
FUSE = b'"decoder": {\n    "type": "Fuse"'
BY_TIKTOKEN = r"read back by the tiktoken library, it differs at token \d.*"


@pytest.mark.parametrize(
    ("name", "file", "old", "new", "words"),
    [
        ("huggingface", "tokenizer.json", b'"a",\n        "n"', b'"n",\n        "a"', CANNOT),
        ("huggingface", "tokenizer.json", b'"use_regex": false', b'"use_regex": true', DIFFERS),
        ("huggingface", "tokenizer.json", b'"decoder": {\n    "type": "ByteLevel"', FUSE, "do not decode to"),
        ("gpt2", "merges.txt", b"a n\n", b"n a\n", CANNOT),
        ("gpt2", "merges.txt", b"\na n\n", b"\n", DIFFERS),
        ("gpt2", "vocab.json", b'"an": 256', b'"an": 300', DIFFERS),
        ("gpt2", "vocab.json", b'"an": 256', b'"am": 256', CANNOT),
        ("tiktoken", "ranks.tiktoken", b"YW4= 256\n", b"YW4= 300\n", BY_TIKTOKEN + r"\[300"),
        ("tiktoken", "ranks.tiktoken", b"YW4= 256\nYSA= 257\n", b"YW4= 257\nYSA= 256\n", BY_TIKTOKEN),
        ("tiktoken", "ranks.tiktoken", b"AA== 0\n", b"", "the byte 0 has no rank"),
        ("tiktoken", "ranks.tiktoken", b"AA== 0\n", b"AA==\n", "a line must be a token in base64, a space and a rank"),
        ("classic", "merges.json", b"97,\n        110", b"97,\n        111", "the bytes of token 256 differ"),
    ],
)
def test_files_that_would_be_read_differently_never_replace_the_old_ones(
    tmp_path, monkeypatch, name, file, old, new, words
):
    save(everything(), tmp_path, name, accept_loss=True)
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    spoil(monkeypatch, name, file, lambda whole: whole.replace(old, new))
    other = Tokenizer(np.array([[97, 110], [97, 32]], np.int32))
    with pytest.raises(FormatError, match=rf"^{FORMATS[name].files[0].replace('NAME', 'ranks')}: .*{words}"):
        save(other, tmp_path, name, accept_loss=True, sample="an nan  a b, banana")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
    with pytest.raises(FormatError):
        save(other, tmp_path / "new" / "folder", name, accept_loss=True, sample="an nan  a b, banana")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("name", "pattern", "words"),
    [
        (
            "huggingface",
            r"\d{1,2}+|\D+",
            "the tokenizers library splits text by its pattern differently from TokStudio",
        ),
        ("huggingface", r"\p{Script=Greek}+|[\s\S]", "the tokenizers library cannot use its pattern: "),
        ("tiktoken", r"[a-z--b]+|[\s\S]", "the tiktoken library splits text by its pattern differently from TokStudio"),
        ("tiktoken", r"\X|[\s\S]", "the tiktoken library cannot use its pattern: "),
    ],
)
def test_an_own_pattern_that_the_library_understands_differently_is_not_exported(tmp_path, name, pattern, words):
    tokenizer = trained("12 12 123 ab 12 ab" + TEXT * 2, 20, pattern=pattern)
    file = "tokenizer.json" if name == "huggingface" else "ranks.tiktoken"
    (tmp_path / file).write_text("old")
    with refusal(words, file):
        save(tokenizer, tmp_path, name, sample="123123 12121212 abab 12 ab " * 20)
    assert (tmp_path / file).read_text() == "old"
    assert names(tmp_path) == [file]


@pytest.mark.parametrize(("name", "ending"), [("minbpe", "model"), ("tiktoken", "tiktoken")])
def test_of_several_in_a_folder_one_must_be_named(tmp_path, name, ending):
    for stem in ("one", "two"):
        save(banana(), tmp_path / f"{stem}.{ending}", name)
    with refusal(f"the folder holds more than one tokenizer, one.{ending} and two.{ending}: open one of them."):
        load(tmp_path, "none")
    assert same(load(tmp_path / f"two.{ending}", "none"), banana())


# --- The report of an export, as it is saved beside the files ---------------------------------------------------------


def paragraphs(report):
    """What stands under each heading, in one line each."""
    first, *lines = report.text().splitlines()
    assert first == f"A tokenizer exported by TokStudio {__version__}"
    found, heading = {}, ""
    for line in filter(None, lines):
        if line.startswith(" "):
            found[heading] += " " + line.strip()
        else:
            heading = line
            found[heading] = ""
    return {heading: said.strip() for heading, said in found.items()}


def test_it_says_what_was_written_and_what_that_is_and_names_every_loss(tmp_path):
    tokenizer = with_specials("cl100k")
    report = save(tokenizer, tmp_path)
    said = paragraphs(report)
    assert said["Format"] == "Hugging Face"
    for file in report.files:
        content = file.read_bytes()
        line = f"{file.name}: {len(content):,} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}"
        assert line in said["Files"]
    assert f"{len(tokenizer)} tokens: 256 bytes, {len(tokenizer.merges)} merges, 5 special tokens." in said["Tokenizer"]
    assert 'Pattern: "cl100k".' in said["Tokenizer"]
    assert '"<|end|>" 309' in said["Tokenizer"]
    assert tokenizer.run.corpus.sha256 in said["Tokenizer"]
    assert said["Lost"] == "Nothing."
    assert said["Proof"] == f"Read back: {report.proof}."
    assert report.snippet.strip().splitlines()[-1] in said["To load it"]
    assert f"tokenizers {tokenizers.__version__}" in said["Versions"]
    report = save(shuffled(), tmp_path, "classic", accept_loss=True)
    said = paragraphs(report)
    assert said["Lost"] == " ".join(report.losses)
    assert "Trained on" not in said["Tokenizer"]
    # A table has nothing to prove, and nothing loads it.
    said = paragraphs(save(everything(), tmp_path, "vocabulary-csv"))
    assert not said.keys() & {"Proof", "To load it", "Notes"}


def test_it_names_the_weights_of_the_sources_and_many_shortly(tmp_path):
    corpus = Corpus((Source.from_texts("banana " * 9, "a"), Source.from_texts("bandana " * 9, "b")))
    corpus = corpus.with_weights({"a": 2, "b": 0.125})
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=262, pattern="gpt2"))
    said = paragraphs(save(tokenizer, tmp_path))["Tokenizer"]
    weights = '"a" 2 (93.3\u00a0% of the text), "b" 0.125 (6.7\u00a0% of the text); the bytes are weighted.'
    assert "Trained on 135 bytes;" in said
    assert f"sources: {weights}" in said
    sources = [replace(Source.from_texts("banana " * 9, f"{n}"), group="/texts" if n < 3 else "") for n in range(25)]
    corpus = Corpus(tuple(sources)).with_weights({"texts": 3})
    said = paragraphs(save(train(corpus, TrainingConfig(vocabulary_size=258)), tmp_path))["Tokenizer"]
    assert '"texts" 3 (29.0\u00a0% of the text), "3" 1 (3.2\u00a0% of the text), "4" 1' in said
    assert '"21" 1 (3.2\u00a0% of the text) and 3 more; the bytes' in said


# --- The snippets that come with an export are run as they are --------------------------------------------------------

HELLO = "Hello world, hello word, hello world's words: <|end|>!"


def plain():
    return trained(HELLO * 3, 40)


def with_end():
    return trained(HELLO * 3, 40, pattern="cl100k", special_tokens=["<|end|>"])


@pytest.mark.parametrize(
    ("name", "make", "target"),
    [
        ("classic", plain, ""),
        ("huggingface", with_end, 'it\'s "mine" \\ 日本.json'),
        ("huggingface", with_unknown, ""),
        ("gpt2", with_end, ""),
        ("tiktoken", with_end, ""),
        ("tiktoken", plain, 'it\'s "mine" \\ 日本.tiktoken'),
    ],
)
def test_a_snippet_prints_the_ids_that_tokstudio_gives(tmp_path, monkeypatch, capsys, name, make, target):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    tokenizer, folder = make(), tmp_path / 'it\'s "mine" \\ 日本'
    folder.mkdir()
    # Told from the folder it is written in, and run elsewhere.
    monkeypatch.chdir(folder)
    report = save(tokenizer, target or ".", name, accept_loss=True)
    monkeypatch.chdir(tmp_path)
    assert report.snippet.count("Hello world") == 1
    assert report.snippet.splitlines()[0].startswith(("# pip install ", "# nothing to install"))
    for text in ("Hello world", HELLO, "naïve 日本 12345\n\n"):
        found = {}
        exec(report.snippet.replace('"Hello world"', repr(text)), found)
        assert found["ids"] == tokenizer.encode(text, "all")
        assert capsys.readouterr().out == f"{found['ids']}\n"


# --- Library tokenizers are copied in their own format: the same bytes, the same ids ----------------------------------


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
    assert "is written unchanged" in copied
    assert beside.startswith("In a folder, a new tokenizer_config.json is written beside it")
    report = save(opened, tmp_path / "out", sample=TEXT)
    assert report.proof.startswith("identical on the test text")
    assert (tmp_path / "out" / "tokenizer.json").read_bytes() == lowercase.read_bytes()
    assert (tmp_path / "out" / "tokenizer_config.json").is_file()
    assert load(tmp_path / "out").encode("THE Cat ﬁ") == tokenizers.Tokenizer.from_file(str(lowercase)).encode(
        "THE Cat ﬁ"
    ).ids  # fmt: skip


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
    with pytest.raises(
        FormatError, match=r"^copy\.json: when read back, it differs from the file that its library reads\.$"
    ):
        save(opened, target)
    assert target.read_text() == "mine"


def test_a_copy_that_is_encoded_otherwise_is_refused_with_the_first_difference(lowercase, tmp_path, monkeypatch):
    opened = load(lowercase)
    encode_work = type(opened).encode_work

    def other(self, text, allowed_special=()):
        ids = yield from encode_work(self, text, allowed_special)
        return ids if self is opened else ids[::-1]

    monkeypatch.setattr(type(opened), "encode_work", other)
    with pytest.raises(FormatError, match="read back, it differs at token 2, near"):
        save(opened, tmp_path / "copy.json")
    assert not (tmp_path / "copy.json").exists()
