"""A written `tekken.json`, read by a reader of its own as mistral-common reads it, with tiktoken."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json

import pytest
import tiktoken

from tests.core.formats.trained import SPECIALS, TEXT, everything, of_characters, shuffled, trained, with_specials
from tokstudio import FormatError, load, save
from tokstudio.core.formats.common.format import NEVER_OF_TEXT
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.saving import fit
from tokstudio.core.libraries.client import torture_text

SAMPLE = TEXT * 3 + torture_text() + "1234567 2024年 don't MÜNCHEN"


def read(path):
    """The encoding, the special tokens by id and their number, with the checks of mistral-common."""
    assert "tekken" in path.name
    assert path.suffix == ".json"
    content = json.loads(path.read_text(encoding="utf-8"))
    config, vocabulary, specials = content["config"], content["vocab"], content["special_tokens"]
    reserved, size = config["default_num_special_tokens"], config["default_vocab_size"]
    assert config["version"] in ("v1", "v2", "v3", "v7", "v11", "v13", "v15")
    assert len(specials) == len({each["token_str"] for each in specials}) == reserved
    assert [each["rank"] for each in specials] == list(range(reserved))
    assert len(vocabulary) == config["num_vocab_tokens"] == size - reserved
    ranks: dict[bytes, int] = {}
    for rank, entry in enumerate(vocabulary):
        assert entry.keys() == {"rank", "token_bytes", "token_str"}
        assert entry["rank"] == rank
        token = base64.b64decode(entry["token_bytes"])
        assert rank >= 256 or token == bytes([rank])
        assert entry["token_str"] in (None, token.decode("utf-8", "replace"))
        ranks[token] = rank
    assert len(ranks) == len(vocabulary)
    encoding = tiktoken.Encoding("x", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})
    return encoding, {each["token_str"]: each["rank"] for each in specials}, reserved


def encoded(path, text):
    encoding, _, reserved = read(path)
    return [reserved + rank for rank in encoding.encode(text, disallowed_special=())]


@pytest.mark.parametrize(
    "make",
    [
        everything,
        lambda: everything().at(5),
        lambda: with_specials("none"),
        lambda: with_specials("gpt2", "first"),
        lambda: with_specials("cl100k_right"),
        lambda: with_specials("o200k").at(7),
        lambda: trained(TEXT, 60, pattern=r"\d+|[^\d\n]+|\n"),
    ],
)
def test_another_reader_gives_the_same_tokens(tmp_path, make):
    tokenizer = make()
    report = save(tokenizer, tmp_path / "tekken_mine.json", "tekken", accept_loss=True, sample=SAMPLE)
    assert report.proof.startswith("identical on ")
    path = report.files[0]
    _, specials, reserved = read(path)
    assert specials == {token: number for number, token in enumerate(tokenizer.special_tokens)}
    back = load(path)
    assert back.pattern == tokenizer.pattern
    assert [back.special_tokens[token] for token in specials] == list(range(reserved))
    ids = encoded(path, SAMPLE)
    assert back.encode(SAMPLE) == ids
    assert [back.tokens[number] for number in ids] == [tokenizer.tokens[number] for number in tokenizer.encode(SAMPLE)]
    again = save(back, tmp_path / "tekken.json", "tekken")
    assert again.losses == ()
    assert again.files[0].read_bytes() == path.read_bytes()
    assert again.renumbered == ""


def test_what_is_lost_is_said_and_ids_that_move():
    moved = len(with_specials("gpt2"))
    assert fit(with_specials("gpt2"), "tekken").losses == (
        f"The ids change: special tokens come first, then the bytes, then the others; {moved} tokens move.",
        NEVER_OF_TEXT,
    )
    assert fit(with_specials("gpt2", "first"), "tekken").losses == (NEVER_OF_TEXT,)
    assert fit(everything(), "tekken").losses == ()
    assert fit(shuffled(), "tekken").losses[0].startswith("The ids change: ")


def test_text_never_becomes_a_special_token(tmp_path):
    tokenizer = with_specials("gpt2", "first")
    path = save(tokenizer, tmp_path / "tekken.json", "tekken", accept_loss=True).files[0]
    text = f"the {SPECIALS[0]} cat"
    assert encoded(path, text) == tokenizer.encode(text)
    assert NEVER_OF_TEXT in load(path).remarks


def test_a_name_without_tekken_and_characters_are_refused(tmp_path):
    with pytest.raises(FormatError, match=r"^mine\.json: mistral-common reads only files that are named like tekken"):
        save(everything(), tmp_path / "mine.json", "tekken")
    assert fit(of_characters(), "tekken").problem == (
        "Tekken holds only merges of bytes, but this tokenizer merges characters."
    )
    assert save(everything(), tmp_path, "tekken").files == (tmp_path / "tekken.json",)
    assert "Tekkenizer.from_file(" in FORMATS["tekken"].snippet(everything(), {"tekken.json": tmp_path / "tekken.json"})
