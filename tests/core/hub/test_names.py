"""What is a name of a tokenizer, and encodings of tiktoken by their names."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import hashlib
import sys
from pathlib import Path

import pytest

from tests.core.hub.local_hub import Hub, refused
from tokstudio import ConfigError, FormatError, Tokenizer, load
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.loading import load_work
from tokstudio.core.hub import replacements
from tokstudio.core.hub.names import Name, name_in, name_of, parse_name

# --- What is a name of a tokenizer, and what is not -------------------------------------------------------------------


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
    assert name_of(Path(str(name))) == name
    assert parse_name("Qwen/Qwen3-8B@main").short == "Qwen3-8B", "with neither owner nor revision"


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
    with pytest.raises(ConfigError, match=r'"hf:gpt2" is not a repository .* such as Qwen/Qwen3-8B'):
        load("hf:gpt2")


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
    with pytest.raises(ConfigError, match="names a data set, not a tokenizer: it is opened as a text"):
        parse_name(text)


def test_a_path_is_no_name():
    for path in ("tokenizer.json", "Qwen/Qwen3-8B", "c:/hf/tokenizer.json", Path("hf/x"), Path.cwd()):
        assert name_of(path) is None


@pytest.mark.skipif(sys.platform == "win32", reason="no file of Windows has such a name")
def test_a_file_comes_before_a_name(tmp_path, monkeypatch):
    (tmp_path / "tiktoken:mine").touch()
    monkeypatch.chdir(tmp_path)
    assert name_of("tiktoken:mine") is None


# --- Encodings of tiktoken: one of a plugin stands for those of OpenAI, as no test asks their server ------------------

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
    hub.asked.clear()
    hub.status = 500
    assert load("tiktoken:tiny_base").encode(TEXT, "all") == ids
    assert hub.asked == []
    assert "tiktoken has no such encoding; it has cl100k_base, gpt2, " in refused("tiktoken:nothing")


def test_a_version_of_tiktoken_that_is_not_known_is_told_and_its_reader_stays(monkeypatch):
    load_module = pytest.importorskip("tiktoken.load")
    reader = load_module.read_file
    monkeypatch.setattr(replacements, "version", lambda _: "9.1")
    with pytest.raises(FormatError, match=r"does not know version 9\.1 of tiktoken: install one of 0\.x"):
        replacements.replace_reader(parse_name("tiktoken:gpt2"), bytes)
    assert load_module.read_file is reader


def test_an_encoding_that_cannot_be_fetched_is_told(hub, ranks, tmp_path):
    hub.status = 403
    assert "refuses to send it (status 403)" in refused("tiktoken:tiny_base")
    hub.status = None
    hub.cut.add("tiny.tiktoken")
    assert "the download was cut short, and nothing of it was kept" in refused("tiktoken:tiny_base")
    hub.cut.clear()
    hub.damaged.add("tiny.tiktoken")
    assert "what was downloaded is damaged, and nothing was kept" in refused("tiktoken:tiny_base")
    assert kept(tmp_path) == []


def test_a_damaged_copy_in_the_cache_is_fetched_again(hub, ranks, tmp_path):
    load("tiktoken:tiny_base")
    (copy,) = kept(tmp_path)
    copy.write_bytes(ranks[:-100])
    load("tiktoken:tiny_base")
    assert copy.read_bytes() == ranks
