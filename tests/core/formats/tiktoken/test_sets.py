"""Patterns with sets as only Rust reads them split text as tiktoken does."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import random
from itertools import accumulate

import pytest

from tests.core.formats.trained import TEXT, ranks_of, tiktoken_lines, trained
from tokstudio import load, save
from tokstudio.core.formats.tiktoken.sets import portable
from tokstudio.core.libraries.server import Answers, SplitTexts
from tokstudio.core.pretokenization.custom_regex import compile_expression

tiktoken = pytest.importorskip("tiktoken")

CHARACTERS = "abcfgqxzABZ059 -]&~|^.é ßK漢字\n\t'!@[`_{\x7f\u00a0Ǆ#:"
PARTS = (
    *("a-f", "c-z", "A-Z", "0-5", r"\p{L}", r"\p{Lu}", r"\d", r"\s", r"\p{Han}", r"\P{L}", "é", "ß", "&", "~", r"\-"),
    *(r"\]", "|", "^", ".", r"\x41", "q", "漢", "#", ":"),
    *("[:alpha:]", "[:^digit:]", "[:punct:]", "[:space:]", "[:upper:]", "[:word:]"),
)


def random_set(chance, depth=0):
    made = "[" + "^" * (chance.random() < 0.25)
    made += chance.choice(("", "", "", "]", "-", "--")) if not depth else ""
    for last in range(chance.randint(1, 4), 0, -1):
        made += random_set(chance, depth + 1) if chance.random() < 0.2 and depth < 3 else chance.choice(PARTS)
        made += chance.choice(("&&", "--", "~~")) if chance.random() < 0.3 and last > 1 else ""
    return made + "]"


def splits_as_tiktoken(pattern, text, name="x"):
    pieces = [match.group() for match in compile_expression(portable(pattern)).finditer(text)]
    [ends] = Answers().answers(SplitTexts("tiktoken", name, [text], pattern, [pieces]))
    return memoryview(ends).cast("I").tolist() == list(accumulate(map(len, pieces)))


def is_refused(pattern):
    """Whether tiktoken cannot read a pattern."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    try:
        tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("seed", range(10))
def test_random_sets_match_as_in_tiktoken(seed):
    chance, tried = random.Random(seed), 0
    while tried < 60:
        sets = [random_set(chance) + chance.choice(("", "+", "{1,3}")) for _ in range(chance.randint(1, 3))]
        joined = "|".join(sets)
        pattern = f"(?i:{joined})|[\\s\\S]" if chance.random() < 0.2 else f"{joined}|[\\s\\S]"
        if is_refused(pattern):
            continue
        assert splits_as_tiktoken(pattern, "".join(chance.choices(CHARACTERS, k=150))), pattern
        tried += 1


@pytest.mark.parametrize(
    "pattern",
    [r"[^\s\p{L}]+|\p{N}{1,3}", r"[a\]b&]|\[x&&]", r"(?x) [a&&b] # [", r"\p{Lu}[a-z]*", "[a", r"[]a]", r"[\w.-]+|\s"],
)
def test_others_stay_as_they_are(pattern):
    assert portable(pattern) == pattern


def test_files_with_such_a_pattern_encode_as_tiktoken_and_keep_it(tmp_path):
    ranks = ranks_of(trained(TEXT * 3, 40, pattern="gpt2"))
    pattern = r"[\p{Han}]+|[\p{L}&&[^\p{Han}]]+|[[:digit:][:punct:]]+|[^\p{L}[:digit:][:punct:]]+"
    (tmp_path / "x.tiktoken").write_bytes(tiktoken_lines(ranks))
    theirs = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    asked = load(tmp_path, pattern)
    (tmp_path / "x.json").write_text(json.dumps({"pattern": pattern, "special_tokens": {}}))
    for tokenizer in (asked, load(tmp_path)):
        for text in (TEXT, "ab数据ab 12!٣ the cat, 漢the"):
            assert tokenizer.encode(text) == theirs.encode(text)
    for name in ("tiktoken", "huggingface"):
        save(asked, tmp_path / name, name)
        assert load(tmp_path / name).encode(TEXT) == asked.encode(TEXT)


def test_tiktoken_encodes_where_a_pattern_is_not_read_as_by_it(tmp_path):
    # Where white space does not count, sets are not looked at.
    ranks = ranks_of(trained(TEXT * 3, 40, pattern="gpt2"))
    pattern = r"(?x) \p{L}+ | [\s\S&&[^\p{L}]] | (?# [) \p{L}"
    (tmp_path / "x.tiktoken").write_bytes(tiktoken_lines(ranks))
    theirs = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    tokenizer = load(tmp_path, pattern)
    assert tokenizer.library == "tiktoken"
    assert tokenizer.encode(TEXT) == theirs.encode(TEXT)
    assert "pattern" in tokenizer.no_playhead


def test_where_tiktoken_encodes_what_stands_beside_the_ranks_is_kept(tmp_path):
    ranks = ranks_of(trained(TEXT * 3, 40, pattern="gpt2"))
    (tmp_path / "tokenizer.model").write_bytes(tiktoken_lines(ranks))
    listed = {str(len(ranks) + 2): {"content": "<think>", "special": False}}
    config = {"eos_token": "<think>", "model_max_length": 7, "added_tokens_decoder": listed}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    pattern = r"(?x) \p{L}+ | [\s\S&&[^\p{L}]] | (?# [) \p{L}"
    # A token with a role is special.
    tokenizer = load(tmp_path, pattern)
    assert (tokenizer.library, tokenizer.settings.model_max_length) == ("tiktoken", 7)
    assert tokenizer.roles == {"eos_token": "<think>"}
    theirs = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<think>": len(ranks) + 2})
    assert tokenizer.encode(f"a<think>{TEXT}", "all") == theirs.encode(f"a<think>{TEXT}", allowed_special="all")
    del config["eos_token"]
    listed[str(len(ranks))] = {"content": "<|end|>", "special": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    assert any("takes its added tokens for special ones" in remark for remark in load(tmp_path, pattern).remarks)
