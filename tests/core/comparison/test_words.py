"""The words of a text that is compared: what they are, and that nobody finds them without need."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter

import regex
from hypothesis import given
from hypothesis import strategies as st

from tokstudio import Corpus, TrainingConfig, compare, train
from tokstudio.core.base.progress import finish
from tokstudio.core.comparison import texts as texts_module
from tokstudio.core.comparison.figures import FIGURES
from tokstudio.core.comparison.texts import word_types_work
from tokstudio.core.corpus.source import Source

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\u30fc\uff70\p{Thai}\p{Khmer}\p{Lao}\p{Myanmar}"
UNIT = regex.compile(rf"[{UNSPACED}]|[\p{{Tibetan}}--[\u0f0b\u0f0c]]+|[^\s\u1361{UNSPACED}\p{{Tibetan}}]+", regex.V1)


def words_slowly(text: bytes) -> tuple[Counter[bytes], str]:
    """The words of one document by regular expressions."""
    words, units = Counter[bytes](), Counter[str]()
    for run in regex.split(r"\s+", text.decode("utf-8", "surrogateescape")):
        for part in regex.split(r"\u1361+", run.strip()):
            for place, word in enumerate(UNIT.findall(part)):
                alone, syllable = regex.match(f"[{UNSPACED}]", word), regex.match(r"\p{Tibetan}", word)
                unit = "characters" if alone else "syllables" if syllable else "words"
                before = " " if unit == "words" and not place else ""
                words[(before + word).encode("utf-8", "surrogateescape")] += 1
                units[unit] += 1
    return words, max(("words", "characters", "syllables"), key=units.__getitem__)


@given(
    st.lists(
        st.one_of(
            st.sampled_from([*"ab. \n\t\u1361\u0f0b\u0f0cབོ我家บ้ーe\u0301\x1c\x1f\x85\u3000\u00a0\u200b\x00", "  "]),
            st.characters(exclude_categories=["Cs"]),
            st.binary(max_size=3),
        ),
        max_size=30,
    )
)
def test_words_are_those_of_their_definition(parts):
    text = b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)
    types, units = finish(word_types_work(Source.from_texts([text], "text")))
    expected, of_most = words_slowly(text)
    assert (dict(zip(types, types.counts.tolist(), strict=True)), units) == (dict(expected), of_most)


def test_words_and_hashes_are_found_only_where_they_are_asked_for(monkeypatch):
    def refuse(source, *_):
        raise AssertionError(f"The words and hashes of {source.name} are not needed.")

    tokenizer = train(Corpus.from_text("the cat sat " * 9), TrainingConfig(vocabulary_size=260))
    with monkeypatch.context() as patch:
        patch.setattr(texts_module, "word_types_work", refuse)
        patch.setattr(texts_module, "_hashes_work", refuse)
        comparison = compare({"one": tokenizer}, {"a": ["the cat", "sat"], "b": "the cat"}, base="a")
        for name in FIGURES.keys() - {"fertility", "words_split", "whole_words"}:
            comparison.figure(name)
            comparison.totals(name)
        assert comparison.summary("gini").shape == (1,)
    assert comparison.words.tolist() == [3, 2]
    assert not comparison.trained_on.any()
    assert comparison.totals("fertility")[0] == comparison.tokens.sum() / 5
