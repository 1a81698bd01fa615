"""Reading ranks, compared with tiktoken."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.formats.trained import (
    SPECIALS,
    TEXT,
    everything,
    ranks_of,
    same,
    tiktoken_lines,
    trained,
    with_specials,
)
from tests.processes import no_processes
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.common.format import PatternNeeded
from tokstudio.core.formats.loading import load, load_work
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.pretokenization.patterns import REGEX

tiktoken = pytest.importorskip("tiktoken")


def put(path, tokenizer, sidecar=None):
    path.write_bytes(tiktoken_lines(ranks_of(tokenizer)))
    if sidecar is not None:
        path.with_suffix(".json").write_text(json.dumps(sidecar))
    return path


@pytest.mark.parametrize("make", [everything, lambda: trained(TEXT * 4, 200, pattern="cl100k"), lambda: trained("", 1)])
def test_merges_are_found_again(tmp_path, make):
    expected = make()
    put(tmp_path / "mine.tiktoken", expected)
    for place in (tmp_path, tmp_path / "mine.tiktoken"):
        loaded = finish(load_work(place, expected.pattern))
        assert same(loaded.tokenizer, expected)
        assert (loaded.format, loaded.files) == ("tiktoken", (tmp_path / "mine.tiktoken",))


def test_lines_in_any_order_and_bytes_of_any_rank_are_read_as_tiktoken_reads_them(tmp_path):
    chance = random.Random(3)
    rows = list(ranks_of(trained(TEXT * 4, 100)).items())
    single = [row for row in rows if len(row[0]) == 1]
    numbers = chance.sample(range(5000), len(rows))
    # Bytes among the others, gaps between ranks, and the merges in their order.
    ranks = dict(zip((token for token, _ in single), numbers, strict=False))
    ranks |= dict(zip((token for token, _ in rows[256:]), sorted(numbers[256:]), strict=True))
    shuffled_rows = list(ranks.items())
    chance.shuffle(shuffled_rows)
    (tmp_path / "x.tiktoken").write_bytes(b"\n" + tiktoken_lines(dict(shuffled_rows)).replace(b"\n", b"\r\n"))
    theirs = tiktoken.Encoding("x", pat_str=REGEX["gpt2"], mergeable_ranks=ranks, special_tokens={})
    tokenizer = load(tmp_path, "gpt2")
    for text in (TEXT, torture_text()):
        assert tokenizer.encode(text) == theirs.encode(text, disallowed_special=())


def test_a_file_with_another_name_is_recognised_by_what_it_holds(tmp_path):
    put(tmp_path / "tokenizer.model", everything())
    loaded = finish(load_work(tmp_path / "tokenizer.model", "none"))
    assert (loaded.format, loaded.files) == ("tiktoken", (tmp_path / "tokenizer.model",))
    assert same(loaded.tokenizer, everything())


def test_the_sidecar_says_the_rest(tmp_path):
    expected = with_specials("cl100k")
    sidecar = {"pattern": REGEX["cl100k"], "special_tokens": dict(expected.special_tokens), "version": 1}
    path = put(tmp_path / "mine.tiktoken", expected, sidecar)
    loaded = finish(load_work(path))
    assert same(loaded.tokenizer, expected)
    assert loaded.files == (path, tmp_path / "mine.json")
    for pattern, name in ((r"[\s\S]+", "none"), (REGEX["o200k"], "o200k"), (r"\w+|\W", r"\w+|\W")):
        put(path, expected, {"pattern": pattern})
        tokenizer = load(tmp_path)
        assert (tokenizer.pattern, tokenizer.special_tokens) == (name, {})


def test_a_file_beside_it_that_says_something_else_is_no_sidecar(tmp_path):
    path = put(tmp_path / "mine.tiktoken", everything(), {"version": "1.0", "model": {"vocab": {}}})
    with pytest.raises(PatternNeeded, match=r"^mine\.tiktoken: the file does not say how text is split: give"):
        load(path)
    assert same(load(path, "none"), everything())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pattern": 7}, "its pattern is not a string"),
        ({"pattern": "("}, "its pattern cannot be used: The pattern does not compile"),
        ({"version": 2}, "TokStudio cannot read this version of the format yet"),
        ({"special_tokens": []}, "an object is missing, line 1, column "),
        ({"special_tokens": {"<s>": "7"}}, 'token "<s>": an id must be a whole number, line 1'),
        ({"special_tokens": {"<s>": 700, "<t>": 700}}, 'token "<t>": id 700 appears twice'),
        ({"special_tokens": {"": 700}}, 'the special token "" is not a string'),
        ({"special_tokens": {"\ud83d": 700}}, 'the special token "\\ud83d" is not a string'),
    ],
)
def test_a_sidecar_that_cannot_be_is_refused(tmp_path, change, words):
    path = put(tmp_path / "mine.tiktoken", everything(), {"pattern": r"[\s\S]+"} | change)
    with pytest.raises(FormatError) as caught:
        load(path)
    assert str(caught.value).startswith(f"mine.json: {words}")


def test_a_special_token_with_the_id_of_a_rank_is_refused(tmp_path):
    path = put(tmp_path / "mine.tiktoken", everything(), {"pattern": r"[\s\S]+", "special_tokens": {"<s>": 256}})
    with pytest.raises(
        FormatError, match=r'^mine\.tiktoken: the special token "<s>" has the id 256, which is also a rank'
    ):
        load(path)


def test_of_several_in_a_folder_one_must_be_named(tmp_path):
    for name in ("one", "two"):
        put(tmp_path / f"{name}.tiktoken", everything())
    with pytest.raises(
        FormatError, match=r"the folder holds more than one tokenizer, one\.tiktoken and two\.tiktoken: open one"
    ):
        load(tmp_path, "none")
    assert same(load(tmp_path / "two.tiktoken", "none"), everything())


def theirs_of(ranks, pattern="none"):
    regex = r"[\s\S]+" if pattern == "none" else REGEX[pattern]
    return tiktoken.Encoding("x", pat_str=regex, mergeable_ranks=ranks, special_tokens={})


def test_a_token_that_no_merge_can_reach_is_a_whole_word(tmp_path):
    ranks = ranks_of(trained("banana", 1)) | {b"xyz": 300, b"xyza": 301, b"za": 302}
    (tmp_path / "mine.tiktoken").write_bytes(tiktoken_lines(ranks))
    tokenizer = load(tmp_path, "gpt2")
    assert tokenizer.extra_tokens == {300: b"xyz", 301: b"xyza"}
    assert tokenizer.whole_words == {300, 301}
    assert tokenizer.library is None
    for text in ("xyz", "xyz xyz", "xyza", "xyzab za", TEXT):
        assert tokenizer.encode(text) == theirs_of(ranks, "gpt2").encode(text, disallowed_special=())


TOKENS = st.lists(st.text("abc", min_size=2, max_size=6).map(str.encode), max_size=25, unique=True)


@pytest.fixture
def in_this_process(monkeypatch):
    """Libraries encode here, so that none need be loaded again for each example."""
    no_processes(monkeypatch)


@pytest.mark.usefixtures("in_this_process")
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=TOKENS, seed=st.integers(0, 1 << 30), order=st.sampled_from(["length", "any"]))
def test_any_ranks_are_read_as_tiktoken_reads_them(tmp_path, words, seed, order):
    chance = random.Random(seed)
    ranked = sorted(words, key=len) if order == "length" else words
    ranks = {token: rank for rank, token in enumerate([bytes([byte]) for byte in range(256)] + ranked)}
    (tmp_path / "mine.tiktoken").write_bytes(tiktoken_lines(ranks))
    tokenizer = load(tmp_path, "none")
    theirs = theirs_of(ranks)
    texts = ["".join(chance.choices("abc", k=chance.randrange(1, 30))) for _ in range(30)]
    for text in [*texts, *(word.decode() for word in words)]:
        assert tokenizer.encode(text) == theirs.encode(text), (text, ranked)
    assert tokenizer.library is None
    assert tokenizer.tokens[255 + len(words)] == (ranked or [b"\xff"])[-1]


def test_ranks_without_an_order_have_a_playhead(tmp_path):
    ranks = ranks_of(trained("", 1)) | {b"abc": 300, b"ab": 301}
    (tmp_path / "mine.tiktoken").write_bytes(tiktoken_lines(ranks))
    tokenizer = load(tmp_path, "gpt2")
    text = "abc abcabc ab 日本"
    assert tokenizer.encode(text) == theirs_of(ranks, "gpt2").encode(text)
    assert tokenizer.library is None
    assert [tokenizer.tokens[token] for token in tokenizer.merge_results.tolist()] == [b"abc", b"ab"]
    assert tokenizer.needed_merges.tolist() == [2, 2]
    without = {token: rank for token, rank in ranks.items() if token != b"ab"}
    assert tokenizer.at(1).encode(text) == theirs_of(without, "gpt2").encode(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"YWI=", "a line must be a token in base64, a space and a rank"),
        (b"YWI= 300 7", "a line must be a token in base64, a space and a rank"),
        (b"YW*= 300", '"YW*=" is not base64'),
        (b"YWI 300", '"YWI" is not base64'),
        (b"\xff\xfe 300", '"��" is not base64'),
        (b"YWI= -1", "an id must be a whole number"),
        (b"YWI= 1_0", "an id must be a whole number"),
        (b"YWI= 99999999", "id 99999999 is too large: at most 16,777,215 can be read"),
        (b"YWI= 9999999999999999999", "an id must be a whole number"),
        (b"YWI= 97", "rank 97 appears twice"),
        (b"YQ== 300", 'the token "a" appears twice'),
    ],
)
def test_a_line_that_cannot_be_is_refused_with_its_place(tmp_path, line, words):
    content = tiktoken_lines(ranks_of(trained("", 1)))
    (tmp_path / "mine.tiktoken").write_bytes(content + line + b"\n")
    with pytest.raises(FormatError) as caught:
        load(tmp_path, "none")
    assert str(caught.value) == f"mine.tiktoken: {words}, line 257."


def test_a_byte_without_a_rank_is_named(tmp_path):
    content = tiktoken_lines(ranks_of(trained("", 1)))
    (tmp_path / "mine.tiktoken").write_bytes(content[content.index(b"\n") + 1 :])
    with pytest.raises(FormatError, match=r"^mine\.tiktoken: the byte 0 has no rank; TokStudio needs all 256\.$"):
        load(tmp_path, "none")


def test_tokens_as_long_as_the_text_are_found_again_quickly(tmp_path):
    expected = trained("ab" * 200_000 + "c", 20)
    assert max(len(token) for token in expected.tokens) > 50_000
    put(tmp_path / "mine.tiktoken", expected)
    assert same(load(tmp_path, "none"), expected)


def test_a_pattern_that_cannot_work_is_refused(tmp_path):
    with pytest.raises(ConfigError):
        load(put(tmp_path / "mine.tiktoken", everything()), "x*")


@pytest.mark.shared_data
def test_cl100k_is_recognised_by_what_it_holds(shared, tmp_path):
    content = (shared / "tokenizers" / "cl100k_base.tiktoken").read_bytes()
    (tmp_path / "other name").write_bytes(content)
    tokenizer = load(tmp_path / "other name")
    assert tokenizer.pattern == "cl100k"
    assert tokenizer.special_tokens == {
        "<|endoftext|>": 100257,
        "<|fim_prefix|>": 100258,
        "<|fim_middle|>": 100259,
        "<|fim_suffix|>": 100260,
        "<|endofprompt|>": 100276,
    }
    assert len(tokenizer) == 100261
    assert tokenizer.tokens[100261] is None
    assert tokenizer.encode("Hello world<|endofprompt|>", "all") == [9906, 1917, 100276]
    (tmp_path / "changed.tiktoken").write_bytes(content + b"\n")
    with pytest.raises(PatternNeeded):
        load(tmp_path / "changed.tiktoken")


def test_special_tokens_are_plain_text_unless_they_are_allowed(tmp_path):
    expected = with_specials("gpt2")
    sidecar = {"pattern": REGEX["gpt2"], "special_tokens": dict(expected.special_tokens)}
    tokenizer = load(put(tmp_path / "mine.tiktoken", expected, sidecar))
    theirs = tiktoken.Encoding(
        "x", pat_str=REGEX["gpt2"], mergeable_ranks=ranks_of(expected), special_tokens=dict(expected.special_tokens)
    )
    text = "the mat 雨は<|end|> the"
    assert tokenizer.encode(text) == theirs.encode(text, disallowed_special=())
    allowed = {SPECIALS[0], SPECIALS[2], SPECIALS[3]}
    assert tokenizer.encode(text, allowed) == theirs.encode(text, allowed_special=allowed, disallowed_special=())
