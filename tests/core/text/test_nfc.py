"""The normalization form C is that of the tokenizers library, for every character."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import normalizers

from tokstudio.core.text.nfc import nfc, nfc_changes

library = normalizers.NFC()
# Planes 2 and 3 hold ideographs, of which only those for compatibility decompose; planes 4 to 13 hold no characters.
CHARACTERS = [
    chr(point)
    for point in (
        *(*range(0xD800), *range(0xE000, 0x20000), *range(0x20000, 0x2F800, 97), *range(0x2F800, 0x2FB00)),
        *range(0xE0000, 0xE1000),
    )
]
JOINING = [
    character
    for character in CHARACTERS
    if unicodedata.combining(character) or unicodedata.normalize("NFD", character) != character
]
texts = st.text(
    st.one_of(
        st.sampled_from(JOINING),
        st.sampled_from("aeoAK ;`\u0301\u0323\u0334\u0345"),
        st.characters(min_codepoint=0x1100, max_codepoint=0x11FF),
        st.characters(min_codepoint=0x900, max_codepoint=0xE00),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=15,
)


def test_every_character_is_normalized_as_by_the_library():
    for first in range(0, len(CHARACTERS), 5000):
        some = CHARACTERS[first : first + 5000]
        for text in (
            "|".join(some),
            " ".join(f"a{one}\u0334\u0323\u0301" for one in some),
            " ".join(f"{one}\u0301\u0307" for one in some),
        ):
            assert nfc(text) == library.normalize_str(text)


@settings(max_examples=200)
@given(texts)
def test_any_text_is_normalized_as_by_the_library(text):
    assert nfc(text) == library.normalize_str(text)


@given(st.binary(max_size=40))
def test_bytes_that_are_not_utf8_stay(raw):
    text = raw.decode("utf-8", "surrogateescape")
    # Each stands between characters that nothing combines with.
    escaped = "".join(chr(0xE000 + ord(one) - 0xDC80) if "\udc80" <= one <= "\udcff" else one for one in text)
    made = library.normalize_str(escaped)
    if not any("\ue000" <= one <= "\ue07f" for one in text):
        assert nfc(text) == "".join(
            chr(0xDC80 + ord(one) - 0xE000) if "\ue000" <= one <= "\ue07f" else one for one in made
        )


def test_long_texts_are_normalized_in_pieces():
    text = "e\u0301 " * 12_000 + "가" * 12_000 + "e\u0301\u0323" * 12_000
    assert nfc(text) == library.normalize_str(text)
    changes = list(nfc_changes(text.encode()))
    assert changes.count(None) > 1
    assert all(
        one[1] <= other[0] for one, other in zip(filter(None, changes), [*filter(None, changes)][1:], strict=False)
    )
