"""Encodings of tiktoken: one of a plugin stands for those of OpenAI, as no test asks their server."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from tests.core.hub.local_hub import Hub, seconds_pass_faster
from tokstudio import FormatError, Tokenizer, load
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.loading import load_work
from tokstudio.core.hub import fetching, replacements
from tokstudio.core.hub.names import parse_name

pytest.importorskip("tiktoken")

TEXT = "the cat sat on 1984 mats<|end|>"
PLUGIN = """\
from tiktoken.load import load_tiktoken_bpe

def tiny_base():
    ranks = load_tiktoken_bpe({address!r}, expected_hash={digest!r})
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\\p{{L}}+| ?\\p{{N}}+| ?[^\\s\\p{{L}}\\p{{N}}]+|\\s+(?!\\S)|\\s+"
    specials = {{"<|end|>": 300, "<|same|>": 300}}
    return dict(name="tiny_base", pat_str=pattern, mergeable_ranks=ranks, special_tokens=specials)

ENCODING_CONSTRUCTORS = {{"tiny_base": tiny_base}}
"""


@pytest.fixture
def ranks(hub: Hub, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The ranks that the hub serves as `tiny_base`."""
    tokens = enumerate(tokenizer.tokens)
    content = b"".join(base64.b64encode(token or b"") + b" %d\n" % rank for rank, token in tokens)
    hub.pages["tiny.tiktoken"] = content
    plugin = tmp_path / "plugins" / "tiktoken_ext" / "tiny.py"
    plugin.parent.mkdir(parents=True)
    digest = hashlib.sha256(content).hexdigest()
    plugin.write_text(PLUGIN.format(address=f"{hub.address}/pages/tiny.tiktoken", digest=digest))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "plugins"))
    return content


def refused() -> str:
    with pytest.raises(FormatError) as caught:
        load("tiktoken:tiny_base")
    return str(caught.value)


def kept(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "encodings").glob("*"))


def test_an_encoding_is_fetched_with_its_pattern_and_special_tokens(hub, ranks, tokenizer, tmp_path):
    loaded = finish(load_work("tiktoken:tiny_base"))
    assert loaded.name == "tiny_base"
    ids = loaded.tokenizer.encode(TEXT, allowed_special="all")
    assert ids == [*tokenizer.encode(TEXT.removesuffix("<|end|>")), 300]
    # As in o200k_harmony, two texts have one id.
    assert loaded.tokenizer.special_tokens == {"<|end|>": 300}
    assert [file.read_bytes() for file in kept(tmp_path)] == [ranks]


def test_an_encoding_that_was_fetched_once_opens_without_a_network(hub, ranks, tmp_path):
    once = load("tiktoken:tiny_base")
    hub.asked.clear()
    hub.status = 500
    assert load("tiktoken:tiny_base").encode(TEXT) == once.encode(TEXT)
    assert hub.asked == []


def test_an_unknown_encoding_is_refused_with_those_that_there_are():
    with pytest.raises(FormatError, match=r"tiktoken has no such encoding; it has cl100k_base, gpt2, "):
        load("tiktoken:nothing")


def test_a_version_of_tiktoken_that_is_not_known_is_told_and_its_reader_stays(monkeypatch):
    load_module = pytest.importorskip("tiktoken.load")
    reader = load_module.read_file
    monkeypatch.setitem(replacements._KNOWN, "tiktoken", "9")
    with pytest.raises(FormatError, match=r"does not know version 0\..* of tiktoken: install one of 9\.x"):
        replacements.replace_reader(parse_name("tiktoken:gpt2"), bytes)
    assert load_module.read_file is reader


def test_an_encoding_that_cannot_be_fetched_is_told(hub, ranks, tmp_path):
    hub.status = 403
    assert "refuses to send it (status 403)" in refused()
    hub.status = None
    hub.cut.add("tiny.tiktoken")
    assert "the download was cut short, and nothing of it was kept" in refused()
    hub.cut.clear()
    hub.damaged.add("tiny.tiktoken")
    assert "what was downloaded is damaged, and nothing was kept" in refused()
    assert kept(tmp_path) == []


def test_a_damaged_copy_in_the_cache_is_fetched_again(hub, ranks, tmp_path):
    load("tiktoken:tiny_base")
    (copy,) = kept(tmp_path)
    copy.write_bytes(ranks[:-100])
    load("tiktoken:tiny_base")
    assert copy.read_bytes() == ranks


def test_a_connection_that_stalls_ends_with_an_error(hub, ranks, monkeypatch, tmp_path):
    hub.stalled.add("tiny.tiktoken")
    work = fetching.fetch_work(parse_name("tiktoken:tiny_base"))
    while not hub.half_sent.is_set():
        next(work)
    seconds_pass_faster(monkeypatch)
    with pytest.raises(FormatError, match="the connection stalls"):
        finish(work)
    assert kept(tmp_path) == []
