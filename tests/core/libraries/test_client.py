"""Library tokenizers: the same methods and errors, and a process that may be ended."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import pickle
import sys
import threading
from contextlib import closing

import numpy as np
import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from tests.processes import no_processes, started_processes
from tokstudio import ConfigError, Corpus, FormatError, load
from tokstudio.core.analysis.token_counts import count_uses_work
from tokstudio.core.base import subprocesses
from tokstudio.core.base.progress import finish
from tokstudio.core.exploration import token_finder
from tokstudio.core.exploration.search import Search
from tokstudio.core.exploration.token_finder import TokenFinder
from tokstudio.core.libraries import client
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.libraries.server import Answered, Decode

TEXT = "The cat sat on the mat; THE CAT, naïve, sat: 日本語 😀 <s>x</s>"


@pytest.fixture(scope="module")
def content():
    library = tokenizers.Tokenizer(models.BPE())
    library.normalizer = normalizers.Lowercase()
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=330, initial_alphabet=alphabet, special_tokens=["<s>", "</s>"], show_progress=False
    )
    library.train_from_iterator([TEXT] * 3, trainer)
    return library.to_str()


@pytest.fixture
def started(monkeypatch):
    """The processes of libraries, as they start."""
    return started_processes(monkeypatch)


@pytest.fixture
def opened(tmp_path, content, started):
    (tmp_path / "tokenizer.json").write_text(content, "utf-8")
    tokenizer = load(tmp_path)
    # The bytes are kept: nobody can change the tokenizer by its file.
    (tmp_path / "tokenizer.json").unlink()
    return tokenizer


@pytest.fixture
def theirs(content):
    return tokenizers.Tokenizer.from_str(content)


def test_it_encodes_and_decodes_as_its_library(opened, theirs):
    for text in (TEXT, torture_text(), ""):
        ids = theirs.encode(text).ids
        assert opened.encode(text, "all") == ids
        assert opened.encode_array(text.encode(), "all").tolist() == ids
        assert opened.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
        assert opened.decode_bytes(np.array(ids, np.uint32)).decode() == opened.decode(ids)
    theirs.encode_special_tokens = True
    assert opened.encode(TEXT) == theirs.encode(TEXT).ids != opened.encode(TEXT, "all")
    assert opened.encode(b"the\xff") == opened.encode("the\ufffd")
    assert opened.encode("\ud83d\ude00\ud83d") == opened.encode("😀\ufffd")
    batch = opened.encode_batch(["the", "the cat sat"], padding=0)
    assert batch.attention_mask[0].tolist() == [1] + [0] * (len(batch.ids[1]) - 1)


def test_texts_are_encoded_one_at_a_time(opened, theirs):
    texts = iter(["the cat", "sat <s>", ""])
    ids = opened.encode_iterable(texts, "all")
    assert next(ids) == theirs.encode("the cat").ids[0]
    assert next(texts) == "sat <s>"
    assert list(ids) == theirs.encode("the cat").ids[1:]


def test_special_tokens_are_all_recognised_or_none(opened):
    assert opened.encode(TEXT, ["<s>", "</s>"]) == opened.encode(TEXT, "all")
    assert opened.encode(TEXT, []) == opened.encode(TEXT)
    with pytest.raises(ConfigError, match=r"^The tokenizers library recognises all special tokens .* or none: allow"):
        opened.encode(TEXT, ["<s>"])
    with pytest.raises(ConfigError, match=r'^There is no special token "<x>"\.$'):
        opened.encode(TEXT, ["<x>"])


def test_ids_that_are_not_there_are_named(opened):
    for token in (len(opened), -1):
        with pytest.raises(ConfigError, match=rf"^Id {token} is not in the vocabulary\.$"):
            opened.decode([0, token])
    with pytest.raises(ConfigError, match=r"^An id must be a whole number"):
        opened.decode(["0"])


def test_only_all_merges_together_can_be_used(opened):
    assert opened.at(len(opened.merges)) is opened
    with pytest.raises(
        ConfigError, match=r"^The \d+ merges can only be used all together: its normalizer Lowercase changes the text"
    ):
        opened.at(3)
    with pytest.raises(ConfigError, match=r"^There is no merge 9,999"):
        opened.at(9999)
    assert opened.compact() is opened


def test_tokens_end_where_their_text_does(opened):
    ids, ends = finish(opened.encode_with_ends_work(TEXT, "all"))
    assert ids.tolist() == opened.encode(TEXT, "all")
    data = TEXT.encode()
    pieces = [data[begin:end] for begin, end in zip([0, *ends.tolist()], ends.tolist(), strict=False)]
    assert b"".join(pieces) == data
    # The normalizer has changed the case; of the bytes of a character the last token shows all.
    for token, piece in zip(ids.tolist(), pieces, strict=True):
        made = opened.tokens[token]
        assert piece.lower() == made or not made.decode("utf-8", "ignore") or not piece.isascii()


def test_it_can_be_pickled_and_used_by_several_threads(opened):
    again = pickle.loads(pickle.dumps(opened))
    assert again.encode(TEXT) == opened.encode(TEXT)
    assert again.source_files == opened.source_files
    assert again.special_tokens == opened.special_tokens
    found = []
    threads = [threading.Thread(target=lambda: found.append(again.encode(TEXT * 20))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [opened.encode(TEXT * 20)] * 8


def test_a_cancelled_request_ends_the_process_and_the_next_starts_another(opened, started):
    work = opened.encode_work("lorem ipsum " * 200_000)
    next(work)
    first = started[-1]
    work.close()
    assert first.wait(10) is not None
    assert opened.encode(TEXT)
    assert started[-1] is not first


def test_a_waiting_request_can_be_cancelled(opened):
    paused = opened.encode_work(
        "lorem ipsum " * 50_000
    )  # which takes longer than a busy machine may keep this process waiting
    next(paused)
    assert opened.encode(TEXT) == opened.encode(TEXT)
    assert len(finish(paused)) > 1000


@pytest.mark.parametrize(
    "garbage",
    [
        b"garbage",
        b"\xff" * 9,
        *(
            len(head).to_bytes(8, "little") + head + b"abc"
            for head in (
                b"null",
                b"[" * 9000,
                b'["Answered", {}, [-1]]',
                b'["Answered", {"parts": ["abc"]}, [3]]',
                b'["Refused", {"why": 5}, null]',
                b'["Progress", {"phase": "x", "done": "y", "total": 1}, null]',
                b'["Decode", {"library": "x", "name": "y"}, [3]]',
            )
        ),
    ],
)
def test_a_process_that_sends_something_else_is_one_sentence(monkeypatch, garbage):
    code = f"import sys; sys.stdout.buffer.write({garbage!r}); sys.stdout.buffer.flush()"
    monkeypatch.setattr(subprocesses, "module_command", lambda *_: [sys.executable, "-c", code])
    process = client.LibraryProcess()
    with pytest.raises(client.LibraryEnded, match="a name: the tokenizers library ended without an answer"):
        finish(process.parts(Decode("tokenizers", "a name", [])))
    process.close()


def test_what_a_library_prints_is_no_answer(monkeypatch):
    code = (
        "import os, sys, io; from tokstudio.core.libraries import server;"
        "server.Answers = type('A', (), {'answers': lambda *_: [os.write(1, b'printed'), b'part'][1:]}); server.main()"
    )
    monkeypatch.setattr(subprocesses, "module_command", lambda *_: [sys.executable, "-c", code])
    with subprocesses.start_process([], {}) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        subprocesses.write_message(process.stdin, Decode("tokenizers", "x", []))
        assert subprocesses.read_message(process.stdout, Answered) == Answered([b"part"])


def test_a_process_that_dies_is_told_and_started_again(opened, started, monkeypatch):
    for _ in range(2):
        assert opened.encode(TEXT)
        started[-1].kill()
        started[-1].wait()
    start = subprocesses.start_process

    def killed(*given, **more):
        process = start(*given, **more)
        process.kill()
        return process

    with monkeypatch.context() as patch:
        patch.setattr(subprocesses, "start_process", killed)
        message = r"^tokenizer\.json: the tokenizers library ended without an answer; try "
        with pytest.raises(FormatError, match=message):
            opened.encode(TEXT)
    assert opened.encode(TEXT)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no limit is set elsewhere")
def test_a_library_that_wants_too_much_memory_is_stopped_and_that_is_said(opened, monkeypatch):
    monkeypatch.setattr(client, "share_for_libraries", lambda: 400 << 20)
    opened = pickle.loads(pickle.dumps(opened))
    with pytest.raises(FormatError, match=r"^tokenizer\.json: .* half of this computer's memory, which is the limit"):
        opened.encode("the cat " * 1_000_000)
    assert opened.encode(TEXT), "the next question is answered"


def test_without_a_child_process_the_library_runs_here(opened, content, monkeypatch):
    expected = opened.encode(TEXT, "all")
    no_processes(monkeypatch)
    again = pickle.loads(pickle.dumps(opened))
    assert again.encode(TEXT, "all") == expected
    assert again.decode(expected) == opened.decode(expected)


@pytest.mark.parametrize(
    "step",
    [
        pre_tokenizers.Split(tokenizers.Regex(r"\d{1,2}"), "isolated"),
        pre_tokenizers.Split("a", "removed"),
        pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.ByteLevel(use_regex=False)]),
    ],
)
def test_pre_tokens_are_those_of_the_library(step):
    written = json.loads(step.__getstate__())
    texts = [TEXT, "12345 a", ""]
    with closing(client.LibraryProcess()) as process:
        spans = finish(client.pre_tokens_work(process, "mine", written, texts))
    assert spans == [[span for _, span in step.pre_tokenize_str(text)] for text in texts]


def test_a_pre_tokenizer_that_the_library_refuses_is_one_sentence():
    said = r"^mine: the tokenizers library cannot use its pre-tokenizer: "
    with closing(client.LibraryProcess()) as process, pytest.raises(FormatError, match=said):
        finish(client.pre_tokens_work(process, "mine", {"type": "Mine"}, [TEXT]))


def test_its_tokens_are_found_in_lines(opened, monkeypatch):
    monkeypatch.setattr(token_finder, "LIBRARY_BLOCK", 64)
    latin = "naïve\n".encode("latin-1")
    lines = [TEXT.encode() + b"\n", latin, b"x\r\n", b"\n", "日本語 ".encode() * 30, b"\nthe end"]
    corpus = Corpus.from_texts([b"".join(lines), b"", TEXT.encode()])
    cat = opened.encode(" cat")
    assert len(cat) == 1
    search = Search(corpus, TokenFinder(opened, cat))
    finish(search.find_work())
    # The text is that of the corpus, which the library has made small.
    assert [(hit.left, hit.text, hit.right) for hit in search.hits(0, 2)] == [
        ("The", " cat", TEXT[7:67]),
        (TEXT[:27], " CAT", TEXT[31:]),
    ]
    assert search.total == finish(count_uses_work(opened, corpus))[cat[0]]
