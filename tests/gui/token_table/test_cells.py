"""The positions of characters in cells with tokens."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtGui import QTextLayout

from tokstudio.gui.token_table.view import _isolated
from tokstudio.gui.token_text.spelling import marked, shown
from tokstudio.gui.widgets.labels import isolated, laid_out, utf16_offsets


def lefts(layout: QTextLayout) -> list[float]:
    """The left edge of each character of a text that is laid out, in pixels."""
    line, units = layout.lineAt(0), utf16_offsets(layout.text())
    found: list[float] = []
    for first, end in pairwise(units):
        glyphs = [place.x() for run in line.glyphRuns(first, end - first) for place in run.positions()]
        # A character without a glyph of its own is part of the one before it.
        found.append(min(glyphs, default=found[-1] if found else 0.0))
    return found


@pytest.mark.parametrize("left", [" كتاب", "כל", "كتاب.", "🇩🇪 كتاب"])
@pytest.mark.parametrize("right", ["ال", "abc", " 12", "\r\n"])
def test_a_pair_is_left_to_right_and_each_token_has_its_direction(qtbot, theme, left, right):
    tokens = tuple(shown(text.encode()) for text in (left, right))
    whole = " + ".join(map(marked, tokens))
    for end in (len(whole), len(left) + 4, len(left) - 1):
        text = whole if end == len(whole) else whole[:end] + "…"
        text_drawn, units = _isolated(text, tokens)
        # Only invisible signs came in, and every character is where it is said to be.
        assert text_drawn.translate({0x2068: None, 0x2069: None}) == text
        raw = text_drawn.encode("utf-16-le")
        for character, place in zip(text, units, strict=False):
            assert raw[2 * place :].decode("utf-16-le")[0] == character
        at = lefts(laid_out(text_drawn, theme.monospace_font(), []))
        at = [x for character, x in zip(text_drawn, at, strict=True) if character not in "\u2068\u2069"]
        first, last = at[0], at[min(len(left), len(text)) - 1]
        if left[0] != "🇩":
            assert first > last, "the token, a space or the dots of its end as well, goes from right to left"
        if len(text) > len(left) + 3:
            assert max(at[: len(left)]) < at[len(left) + 1] < min(at[len(left) + 3 :])


def test_a_label_among_words_keeps_its_own_direction():
    assert isolated("·كتاب") == "\u2068·كتاب\u2069"
    assert isolated("·the…") == "·the…"
