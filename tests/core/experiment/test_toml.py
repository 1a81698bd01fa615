"""The lines of keys in TOML, the table that is replaced, and values as TOML."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokstudio import ConfigError
from tokstudio.core.experiment.toml import LARGEST, comment_text, key_text, parse_toml, value_text

FILE = (
    '''\
\ufeff# a comment = 1
first = 1
"a.b" = """x = 1
[no]""" # no = 2
c . d = [ # [no]
  "]", {e = 1, f = [1,
    '#'],
  }.g]
'''.replace(",\n  }.g]", "}\n]")
    + """
[table.inner]
'quoted key' = 'a'
[[list]]
p = '''
[no]'''
[list.below]
q = 1.5
[[list]]
p = 2024-01-01
"""
)


def test_every_key_has_its_line():
    file = parse_toml(FILE.encode(), "x.toml")
    lines = FILE.split("\n")
    places = [
        *(("first",), ("a.b",), ("c", "d"), ("c", "d", 0), ("c", "d", 1, "e"), ("table", "inner", "quoted key")),
        *(("list", 0, "p"), ("list", 0, "below", "q"), ("list", 1, "p")),
    ]
    found = {place: lines[file.line(*place) - 1] for place in places}
    assert found == {
        ("first",): "first = 1",
        ("a.b",): '"a.b" = """x = 1',
        ("c", "d"): "c . d = [ # [no]",
        ("c", "d", 0): '  "]", {e = 1, f = [1,',
        ("c", "d", 1, "e"): '  "]", {e = 1, f = [1,',
        ("table", "inner", "quoted key"): "'quoted key' = 'a'",
        ("list", 0, "p"): "p = '''",
        ("list", 0, "below", "q"): "q = 1.5",
        ("list", 1, "p"): "p = 2024-01-01",
    }
    assert lines[file.line("c", "d", 1, "f", 1) - 1] == "    '#']}"
    # What is not there is where it would be.
    assert lines[file.line("list", 1, "nothing") - 1] == "[[list]]"
    assert file.line("nothing") == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a = 1\nb =", "x.toml, line 2: this is not TOML: invalid value."),
        ("a = 1\na = 2\n", "x.toml, line 2: this is not TOML: cannot overwrite a value."),
        ("[a]\n\nb c", "x.toml, line 3: this is not TOML: expected '=' after a key in a key/value pair."),
        (b"a = 1\nb = '\xff'", "x.toml, line 2: this is not UTF-8, as TOML is: save it as UTF-8."),
        ("a = " + "[" * 5_000, "x.toml: the lists in this file are nested too deeply."),
        (b"#" * (LARGEST + 1), "x.toml: this file is larger than 16 MB, and no experiment is."),
    ],
)
def test_what_is_no_toml_is_refused_with_its_line(content, says):
    with pytest.raises(ConfigError) as caught:
        parse_toml(content if isinstance(content, bytes) else content.encode(), "x.toml")
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = 1\n", "a = 1\n\n[r]\nx = 1\n"),
        ("a = 1", "a = 1\n\n[r]\nx = 1\n"),
        ("", "[r]\nx = 1\n"),
        ("[r]\nold = 2\n# goes\nolder = 3\n\n# stays\n[z]\ny = 1", "[r]\nx = 1\n\n# stays\n[z]\ny = 1"),
        ("a = 1\n\n[r]\n[[r.v]]\nb = 1\n\n[[r.v]]\nb = '''\n[r]'''\n\n[z]\n[r.w]\n", "a = 1\n\n[r]\nx = 1\n\n[z]\n"),
        ("[r]\r\nold = 2\r\n[z]\r\n", "[r]\r\nx = 1\r\n[z]\r\n"),
    ],
)
def test_one_table_is_replaced_and_all_else_stays_as_it_is(before, after):
    file = parse_toml(before.encode(), "x.toml")
    assert file.with_table("r", "[r]\nx = 1\n") == after
    assert parse_toml(after.encode(), "x.toml").with_table("r", "[r]\nx = 1\n") == after


texts = st.text(st.characters(exclude_categories=["Cs"]))
plain = st.one_of(st.booleans(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(allow_nan=False), texts)
values = st.recursive(
    plain,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)


@example(name="a list of several lines", value=["some words of a text"] * 9, other=1)
@given(name=texts.filter(lambda name: name != "other"), value=values, other=values)
def test_values_are_read_as_they_were_written_and_are_found(name, value, other):
    first = f"{key_text(name)} = {value_text(value)}\n\n"
    text = f"{first}other = {value_text(other)}\n"
    assert tomllib.loads(text) == {name: value, "other": other}
    file = parse_toml(text.encode(), "x.toml")
    assert (file.line(name), file.line("other")) == (1, first.count("\n") + 1)


def test_text_that_no_file_can_hold_is_refused_and_comments_are_wrapped():
    with pytest.raises(ConfigError, match="is no text that a file can hold"):
        value_text("a\ud800")
    comment = comment_text("word " * 60)
    assert max(map(len, comment.splitlines())) <= 118
    assert comment.replace("\n#", "").split() == ["#", *["word"] * 60]
