"""Text that decoding does not restore, and neighbouring tokens that encoding would not give."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.lint.made import content, folder, found, message
from tokstudio.core.lint.findings import Observation
from tokstudio.core.lint.subject import Files, Subject
from tokstudio.core.lint.texts import difference, pairs_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

RULE = "decoding-differs"


class TestDecoding:
    @pytest.mark.parametrize(
        ("normalizer", "text", "cause"),
        [
            ("Lowercase", "One two", "upper case"),
            ("NFC", "cafe\u0301", "characters in the form NFC"),
            ("NFKC", "ﬁne", "characters in the form NFKC"),
        ],
    )
    def test_a_normalizer_is_told_by_its_cause(self, tmp_path, normalizer, text, cause):
        place = folder(tmp_path, content(normalizer={"type": normalizer}))
        said = message(place, RULE, {"text": f"plain\n{text}\n"})
        assert said.startswith("Decoding does not restore 1 of 2 lines")
        assert said.endswith(f"{cause} (1).")

    def test_white_space_that_is_taken_away(self, tmp_path):
        steps = {"type": "Replace", "pattern": {"Regex": " +"}, "content": " "}
        [finding] = found(folder(tmp_path, content(normalizer=steps)), RULE, {"text": "a  b"})
        assert "white space (1)" in finding.message
        assert finding.example == '"a  b" becomes "a b"'

    def test_both_parts_of_the_example_end_at_the_same_place_of_the_text(self):
        text = "The quick brown fox jumps over the lazy dog."
        for line, back, told in (
            (f" {text}", text, '" The quick b" becomes "The quick b"'),
            (text, f" {text}", '"The quick br" becomes " The quick br"'),
            (f"{text[:9]}{'.' * 20}{text[9:]}", text, f'"The quick{"." * 20}" becomes "The quick"'),
            (text, text.replace("T", "t"), '"The quick br" becomes "the quick br"'),
            ("one  and  two  and  three", "one and two and three", '"one  and  two  a" becomes "one and two a"'),
            (text, "The quick", '"The quick brown fox jumps over the lazy …" becomes "The quick"'),
        ):
            assert difference(line, back) == told

    def test_text_that_comes_back_is_none(self, tmp_path):
        for normalizer in (None, {"type": "NFC"}):
            place = folder(tmp_path, content(normalizer=normalizer))
            assert not found(place, RULE, {"text": "One café,  two\n\n\tthree <|end|>"})


class TestPairs:
    def share(self, merges, text, pattern="none"):
        vocabulary = {number: bytes([number]) for number in range(256)}
        for left, right in merges:
            vocabulary[len(vocabulary)] = left + right
        tokenizer = Tokenizer.from_parts(vocabulary, merges, pattern)
        found = pairs_work(Subject("it", tokenizer, Files(), {"text": text}, True))
        return tokenizer, [one for one in found if isinstance(one, Observation)]

    def test_a_pattern_that_looks_ahead_makes_pairs_that_encoding_would_not(self):
        # Before "bc", "a" stands alone; without the "c", it is a word with the "b".
        _, [finding] = self.share([(b"a", b"b")], "xabcx", r"a(?=bc)|ab|[\s\S]")
        assert finding.message.startswith("25.00\u00a0% of the neighbouring tokens")
        assert (finding.example, finding.pieces) == ("ab", ("ab",))

    MERGES = st.lists(st.sampled_from(["ab", "bc", "ca", "aa", "bb"]), unique=True, max_size=4)

    @given(
        st.lists(st.sampled_from(["ab", "bc", "ca", "aa", "bb"]), unique=True, max_size=4), st.text("abc", max_size=30)
    )
    def test_without_a_pattern_every_pair_is_what_encoding_gives(self, merges, text):
        """So it is in plain byte pair encoding; recounted here by the tokenizer itself, pair by pair."""
        tokenizer, found_pairs = self.share([(a.encode(), b.encode()) for a, b in merges], text)
        ids = tokenizer.encode(text)
        assert all(tokenizer.encode(tokenizer.decode(pair)) == [*pair] for pair in pairwise(ids))
        assert not found_pairs
