"""BPE of whole characters: against its definition, and no token with a part of a character beside anything else."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.reference import train_slowly
from tests.core.texts import documents, patient
from tokstudio import ConfigError, Corpus, TrainingConfig, extend, train
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.model.run import NOTHING_LEFT

ASIAN = "日本語の日本は本日の日 中日 国中国 Ωμέγα — “ω” 👩‍👩‍👧‍👦👩 "


def allowed(made: bytes, characters: set[bytes]) -> bool:
    """Whether a merge makes whole characters, or lies inside one of the text."""
    try:
        made.decode()
    except UnicodeDecodeError:
        return any(made in character for character in characters)
    return True


texts = documents.map(lambda raw: [each.decode("utf-8", "replace") for each in raw])
asian = st.lists(st.text("日本語é—😀 a", max_size=30), max_size=4)


@settings(patient, max_examples=80)
@given(texts | asian, st.sampled_from(TIE_BREAKS), st.booleans())
def test_it_is_the_definition(texts, tie_break, frequent):
    limits = {"min_frequency": 2} if frequent else {"vocabulary_size": 290}
    config = TrainingConfig(tie_break=tie_break, algorithm="whole-characters", **limits)
    run = train(Corpus.from_texts(texts), config).run
    raw = [text.encode() for text in texts]
    characters = {character.encode() for text in texts for character in text}
    recount = train_slowly(raw, tie_break=tie_break, refuses=lambda made: not allowed(made, characters), **limits)
    assert run.merges.tolist() == [list(pair) for pair in recount.merges]
    assert run.counts.tolist() == recount.counts
    assert run.ended == recount.ended


def test_no_token_has_a_part_of_a_character_beside_anything_else():
    corpus = Corpus.from_text(ASIAN * 20)
    characters = {character.encode() for character in ASIAN}
    settings = {"vocabulary_size": 330, "pattern": "gpt2"}
    plain = train(corpus, TrainingConfig(**settings))
    whole = train(corpus, TrainingConfig(**settings, algorithm="whole-characters"))
    assert any(not allowed(token, characters) for token in plain.tokens if len(token) > 1)
    assert all(allowed(token, characters) for token in whole.tokens if len(token) > 1)
    assert whole.decode(whole.encode(ASIAN)) == ASIAN


def test_nothing_is_left_where_no_token_may_join_what_is_there():
    config = TrainingConfig(min_frequency=2, algorithm="whole-characters")
    assert train(Corpus.from_texts([b"\xa5\xe6"]), config).run.ended == NOTHING_LEFT
    assert train(Corpus.from_texts(["日"]), config).run.ended == "no pair occurs 2 times"


def test_rules_of_the_user_hold_too():
    config = TrainingConfig(vocabulary_size=300, algorithm="whole-characters", forbidden=["token:日本"])
    tokens = [*train(Corpus.from_text(ASIAN * 9), config).tokens]
    assert "日本".encode() not in tokens
    assert "日".encode() in tokens


def test_what_has_no_sense_is_refused():
    with pytest.raises(ConfigError, match="whole already: choose plain BPE"):
        TrainingConfig(vocabulary_size=300, base="characters", algorithm="whole-characters")
    start = train(Corpus.from_text(ASIAN), TrainingConfig(vocabulary_size=270))
    with pytest.raises(ConfigError, match="BPE of whole characters cannot start from a tokenizer"):
        extend(start, Corpus.from_text(ASIAN), TrainingConfig(vocabulary_size=300, algorithm="whole-characters"))
