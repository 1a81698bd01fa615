"""Long tokens are searched and described by all of their bytes, against spelling them out."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from tokstudio.core.analysis import token_index
from tokstudio.core.analysis import token_index as looks
from tokstudio.core.base.progress import finish
from tokstudio.gui.find import finder as find_search
from tokstudio.gui.state import run_tokens as tokens
from tokstudio.gui.token_table import search as token_search
from tokstudio.gui.token_table.query import FilterQuery

SHORT = 4
LETTERS = ["a", "B", " ", "7", "é", "Σ", "ς", "İ", "\u3000", "一", "😀", "\x1c"]
CUT = [b"\xc3", b"\xa9", b"\xe3", b"\x80", b"\x80\x80", b"\xf0\x9f", b"\xff"]
EXPRESSIONS = ["a$", "^ ?a", "B.*7", "(?i)b{2}", "é", "^.{9,}$"]
PIECES = [letter.encode() for letter in LETTERS] + CUT


@pytest.fixture(scope="module", autouse=True)
def few_bytes_are_kept():
    """Tokens of more than four bytes are long."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (find_search, looks, token_index, token_search, tokens):
            patch.setattr(module, "HEAD", SHORT)
        yield


@st.composite
def vocabularies(draw, pieces=PIECES):
    """Base tokens, what merges join, and every token spelled out."""
    piece = st.sampled_from(pieces)
    base = draw(st.lists(piece | st.lists(piece, max_size=7).map(b"".join), min_size=1, max_size=6))
    spelled, parts = list(base), list[tuple[int, int]]()
    for _ in range(draw(st.integers(0, 14))):
        left, right = (draw(st.integers(0, len(spelled) - 1)) for _ in "lr")
        if len(spelled[left]) + len(spelled[right]) <= 60:
            parts.append((left, right))
            spelled.append(spelled[left] + spelled[right])
    return tuple(base), np.array(parts, np.int32).reshape(-1, 2), spelled


def snapshot_of(base, parts, spelled):
    return token_index.IndexedTokens(base, parts, np.array(list(map(len, spelled)), np.int64))


def typed_from(data, spelled):
    """A text, or bytes, that stand in some token more often than not."""
    whole = data.draw(st.sampled_from(spelled))
    begin = data.draw(st.integers(0, len(whole)))
    some = whole[begin : begin + data.draw(st.integers(1, 12))]
    text = some.decode("utf-8", "ignore")
    return data.draw(st.sampled_from([text, some.hex(" "), "0x" + some.hex(), "aB", "ς", "�"]))


@given(vocabularies(), st.data(), st.sampled_from(EXPRESSIONS))
def test_a_filter_agrees_with_spelled_out_tokens_also_one_by_an_expression(vocabulary, data, expression):
    made, spelled = snapshot_of(*vocabulary), vocabulary[2]
    index = finish(token_index.index_work(made))
    for typed in (typed_from(data, spelled), f"/{expression}/"):
        query = FilterQuery(typed)
        if query.is_expression or query.needs_heads:
            expected = [query.accepts(whole) for whole in spelled]
            assert finish(token_search.Matches(query).work(index, made.lengths, ())).tolist() == expected
            assert query.by_beginning == 0


@given(vocabularies(), st.data())
def test_find_agrees_with_an_index_without_long_tokens(vocabulary, data):
    base, parts, spelled = vocabulary
    ids = np.array(data.draw(st.permutations(range(len(spelled)))), np.int32)
    typed = typed_from(data, spelled)
    index = finish(token_index.index_work(snapshot_of(base, parts, spelled)))
    with pytest.MonkeyPatch.context() as patch:
        for module in (find_search, token_index):
            patch.setattr(module, "HEAD", 1000)
        plain = finish(token_index.index_work(snapshot_of(tuple(spelled), parts[:0], spelled)))
        expected = finish(find_search.search_work(plain, typed, ids, -1))
    assert finish(find_search.search_work(index, typed, ids, -1)) == expected


@given(vocabularies() | vocabularies([b" ", b"1", "\u3000".encode(), b"\xe3", b"\x80", "一".encode()]))
@example(((b"\xe3", b"\x80\xa9"), np.array([[0, 1]], np.int32), [b"\xe3", b"\x80\xa9", "\u3029".encode()]))
def test_flags_and_scripts_agree_with_the_spelled_out_token(vocabulary):
    made, spelled = snapshot_of(*vocabulary), vocabulary[2]
    expected = [looks.describe_token(whole) & ~looks.WORDS for whole in spelled]
    index = finish(token_index.index_work(made))
    flags = index.flags.tolist()
    assert [flag & ~looks.WORDS for flag in flags] == expected
    # Of a long token, only the beginning is looked at for several words.
    begun = [looks.describe_token(whole[: token_index.HEAD]) & looks.WORDS for whole in spelled]
    assert [flag & looks.WORDS for flag in flags] == begun
    # A script is that of a letter, and of no numeral.
    finish(index.scripts_work())
    for name in ("Latin", "Greek", "Han"):
        letter = regex.compile(rf"(?=[\p{{L}}\p{{M}}])\p{{Script={name}}}")
        expected = [letter.search(whole.decode("utf-8", "ignore")) is not None for whole in spelled]
        assert index.of_script(name).tolist() == expected


@given(vocabularies(), st.integers(0, 200))
def test_without_room_only_the_beginning_of_the_longest_is_searched(vocabulary, room):
    made, spelled = snapshot_of(*vocabulary), vocabulary[2]
    query = FilterQuery("/a$/")
    merged = sorted(len(whole) for whole in spelled[len(made.base) :] if len(whole) >= SHORT)
    limit = max((size for size in merged if sum(one for one in merged if one <= size) <= room), default=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_search, "ROOM", room)
        index = finish(token_index.index_work(made))
        found = finish(token_search.Matches(query).work(index, made.lengths, ()))
    refused = [slot >= len(made.base) and len(whole) > max(limit, SHORT - 1) for slot, whole in enumerate(spelled)]
    assert query.by_beginning == sum(refused)
    seen = [whole[:SHORT] if short else whole for whole, short in zip(spelled, refused, strict=True)]
    assert found.tolist() == [query.accepts(one) for one in seen]


@pytest.mark.parametrize("typed", ["dab", "/da?b/"])
def test_later_tokens_are_searched_too(typed):
    base, spelled = (b"ab", b"cd"), [b"ab", b"cd", b"abcd", b"abcdabcd", b"cdabcdabcd"]
    made = snapshot_of(base, np.array([(0, 1), (2, 2), (1, 3)], np.int32), spelled)
    matches, index = token_search.Matches(FilterQuery(typed)), None
    for size in (3, 5):
        part = token_index.IndexedTokens(base, made.parts[: size - 2], made.lengths[:size])
        index = finish(token_index.index_work(part, index))
        found = finish(matches.work(index, part.lengths, ()))
        assert found.tolist() == [b"dab" in whole for whole in spelled[:size]]
