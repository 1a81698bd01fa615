"""Picky BPE: every event against its definition, what the numbers say afterwards, and its encoding."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.picky_reference import Recount, train_picky_slowly
from tests.core.texts import config_by_name, few_examples
from tokstudio import ConfigError, Corpus, Run, Tokenizer, Trainer, TrainingConfig, extend, train
from tokstudio.core.algorithms.picky import engine as picky_engine
from tokstudio.core.base.resources import resource
from tokstudio.core.model.picky import falls_of, share_merged

WORDS = regex.compile(r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+")
RIGHT = resource("corpora/how-tokenizers-work.txt").read_text("utf-8")[:4_000]


def picky(**given) -> TrainingConfig:
    return config_by_name("picky", **given)


def units(text: str | bytes, base: str = "bytes") -> list[bytes]:
    if base == "characters":
        return [character.encode() for character in text]
    return [bytes([byte]) for byte in (text if isinstance(text, bytes) else text.encode())]


def check(run: Run, recount: Recount) -> None:
    """Every event of a run is that of the recount."""
    spelled = {token: made for token, made in run.alphabet.tokens.items()}
    present = set(spelled)
    assert run.removals is not None
    assert len(run) == len(recount.events)
    for number, (event, (left, right), row) in enumerate(
        zip(recount.events, run.merges.tolist(), run.removals.tolist(), strict=True)
    ):
        result, replaced, *gone = row
        spelled[run.base_size + number] = spelled[left] + spelled[right]
        assert {left, right} <= present
        assert (spelled[left], spelled[right]) == event.pair
        assert (spelled[result], replaced) == (b"".join(event.pair), event.replaced)
        assert (run.counts[number], run.tokens_after[number]) == (event.count, event.tokens_after)
        assert [(spelled[part], n) for part, n in zip((left, right), gone, strict=True) if n >= 0] == event.removed
        if result == run.base_size + number:
            assert spelled[result] not in {spelled[token] for token in present}
            present.add(result)
        present -= {part for part, n in zip((left, right), gone, strict=True) if n >= 0}
    assert run.ended == recount.ended
    assert run.vocabulary_size == len(present) + len(run.config.trailing_specials)
    tokenizer = Tokenizer.from_run(run)
    made = [tokenizer.tokens[token] for token in sorted(present) if token >= run.base_size]
    assert made == recount.present
    assert set(tokenizer.tokens.ids().tolist()) - set(run.special_tokens.values()) == present
    uses = Counter(token for word in recount.words for token in word)
    assert {spelled[token]: n for token, n in enumerate(run.uses().tolist()) if n} == uses


texts = st.lists(st.text("abc ", max_size=40) | st.text("ab", max_size=30), max_size=5)
thresholds = st.sampled_from([0.0, 0.2, 0.5, 0.6, 0.75, 0.9, 1.0])


# The pair that is left makes a token as long as may be.
@example(["abab", "ab"], 1.0, False, 0, 3, 4)
@few_examples
@given(texts, thresholds, st.booleans(), st.integers(0, 25), st.sampled_from([None, 2, 3]), st.sampled_from([None, 4]))
def test_every_event_is_the_definition(texts, threshold, by_words, size, frequency, longest):
    config = picky(
        vocabulary_size=257 + size if size or not frequency else None,
        min_frequency=frequency,
        threshold=threshold,
        pattern=WORDS.pattern if by_words else "none",
        max_token_bytes=longest,
    )
    tokenizer = train(Corpus.from_texts(texts), config)
    words = [units(word) for text in texts for word in (WORDS.findall(text) if by_words else [text])]
    limit = None if config.vocabulary_size is None else 1 + size
    recount = train_picky_slowly(words, None, threshold, limit, min_frequency=frequency, max_token_bytes=longest)
    check(tokenizer.run, recount)
    for word, ended in zip(words, recount.words, strict=True):
        ids = tokenizer.encode(b"".join(word))
        assert [tokenizer.tokens[token] for token in ids] == ended


@few_examples
@given(texts, thresholds, texts, st.data())
def test_encoding_replays_the_events_up_to_the_playhead(texts, threshold, others, data):
    tokenizer = train(Corpus.from_texts(texts), picky(vocabulary_size=285, threshold=threshold))
    recount = train_picky_slowly([units(text) for text in texts], None, threshold, 29)
    at = data.draw(st.integers(0, len(recount.events)))
    earlier = tokenizer.at(at)
    for text in others:
        expected = recount.encode(units(text), at)
        ids = earlier.encode(text)
        assert [earlier.tokens[token] for token in ids] == expected
        assert earlier.decode(ids) == text
        # A document of any length takes the loop for long sequences.
        assert earlier.tokens.are_in_use(np.array(ids, np.int64)).all()


def test_long_words_are_encoded_like_short_ones():
    corpus = Corpus.from_text(RIGHT)
    tokenizer = train(corpus, picky(vocabulary_size=560, threshold=0.6))
    text = RIGHT[:3000]
    recount = train_picky_slowly([units(RIGHT)], None, 0.6, 560 - 256)
    check(tokenizer.run, recount)
    assert sum(len(event.removed) for event in recount.events) > 20
    assert [tokenizer.tokens[token] for token in tokenizer.encode(text)] == recount.encode(units(text))
    assert [tokenizer.tokens[token] for token in tokenizer.encode(RIGHT)] == recount.words[0]


def test_a_larger_text_with_a_pattern():
    tokenizer = train(Corpus.from_text(RIGHT), picky(vocabulary_size=700, pattern=WORDS.pattern, threshold=0.8))
    counted = Counter(WORDS.findall(RIGHT))
    recount = train_picky_slowly([units(word) for word in counted], [*counted.values()], 0.8, 700 - 256)
    assert sum(len(event.removed) for event in recount.events) > 80
    recount_words, recount.words = recount.words, []
    run = tokenizer.run
    uses = run.uses()
    recount.words = [word for word, n in zip(recount_words, counted.values(), strict=True) for _ in range(n)]
    check(run, recount)
    assert uses.sum() == run.tokens_after[-1]
    for word, ended in zip(counted, recount_words, strict=True):
        assert [tokenizer.tokens[token] for token in tokenizer.encode(word)] == ended


@few_examples
@given(texts, thresholds, st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_weights_count(texts, threshold, weights):
    sources = [Corpus.from_texts([text]).sources[0] for text in texts]
    if not any(weights[: len(sources)]):
        return
    corpus = Corpus(tuple(sources), tuple(1000 * weight for weight in weights[: len(sources)]))
    run = train(corpus, picky(vocabulary_size=275, threshold=threshold)).run
    recount = train_picky_slowly([units(text) for text in texts], weights[: len(sources)], threshold, 19)
    recount.words = [word for word, weight in zip(recount.words, weights, strict=False) for _ in range(weight)]
    check(run, recount)


@few_examples
@given(st.lists(st.text("aé猫 ", max_size=20), max_size=4), thresholds)
def test_characters_can_be_the_base(texts, threshold):
    run = train(Corpus.from_texts(texts), picky(min_frequency=2, base="characters", threshold=threshold)).run
    recount = train_picky_slowly([units(text, "characters") for text in texts], None, threshold, None, 2)
    check(run, recount)


def test_what_the_formula_means_for_a_token_merged_with_itself():
    # Of 10 "aa", four pairs take eight: 4 new tokens and 2 old ones are left, and 4 of 6 are new.
    assert share_merged(4, 2) == 4 / 6
    config = {"vocabulary_size": 258}
    text = ["aaaa"] * 4 + ["aa"] * 2
    for threshold, removed in ((4 / 6, -1), (0.66, 2)):
        run = train(Corpus.from_texts(text), picky(**config, threshold=threshold)).run
        assert run.removals[1].tolist() == [257, 4, removed, -1]
    assert run.tokens_after.tolist()[1] == 8


def test_a_removed_token_is_made_again():
    texts = ["abc"] * 10 + ["abd"] * 9 + ["ab"]
    tokenizer = train(Corpus.from_texts(texts), picky(min_frequency=2, threshold=0.4))
    run = tokenizer.run
    spelled = [tokenizer.at(k).tokens.spelling(b"ab") for k in range(len(run) + 1)]
    assert spelled[:4] == [[], [256], [], [258]]
    assert run.removals[1].tolist() == [257, 10, 10, -1]
    assert tokenizer.at(2).encode("ab") == [97, 98]
    assert tokenizer.at(3).encode("ab") == [258]
    assert len(tokenizer.at(3)) == 258
    with pytest.raises(ConfigError, match="Id 256 is not in the vocabulary"):
        tokenizer.decode([256])


def test_special_tokens_and_forbidden_tokens_hold():
    texts = ["the cat<s>the dog and the cat"] * 5
    config = picky(vocabulary_size=280, special_tokens=["<s>"], forbidden=["token:the"], threshold=0.7)
    tokenizer = train(Corpus.from_texts(texts), config)
    assert b"the" not in list(tokenizer.tokens)
    assert tokenizer.decode(tokenizer.encode("the cat<s>", allowed_special="all")) == "the cat<s>"
    assert len(tokenizer) == 280 or tokenizer.run.ended != "reached vocabulary size"
    words = [units(word) for text in texts for word in text.split("<s>")]
    check(tokenizer.run, train_picky_slowly(words, None, 0.7, 23, allows=lambda made: made != b"the"))


def test_in_small_pieces_it_is_the_same(monkeypatch):
    corpus, config = Corpus.from_text(RIGHT), picky(vocabulary_size=500, threshold=0.6)
    whole, trainer = train(corpus, config).run, Trainer(corpus, config)
    monkeypatch.setattr(picky_engine, "_BUDGET", 50)
    while trainer.ended is None:
        trainer.advance(3)
    assert np.array_equal(trainer.run.merges, whole.merges)
    assert np.array_equal(trainer.run.removals, whole.removals)
    assert np.array_equal(trainer.run.tokens_after, whole.tokens_after)


def test_it_is_not_extended_and_a_smaller_vocabulary_is_refused():
    assert picky(vocabulary_size=300, threshold=0.5).as_plain() == TrainingConfig(vocabulary_size=300)
    corpus = Corpus.from_text(RIGHT)
    tokenizer = train(corpus, picky(vocabulary_size=300))
    with pytest.raises(ConfigError, match="removes tokens again"):
        extend(tokenizer, corpus, TrainingConfig(vocabulary_size=320))
    with pytest.raises(ConfigError, match="must be at least 300"):
        Trainer.resume(corpus, tokenizer.run, picky(vocabulary_size=299))
    same = Trainer.resume(corpus, tokenizer.run, tokenizer.run.config)
    list(same)
    assert same.run.ended == tokenizer.run.ended == "reached vocabulary size"


@pytest.mark.parametrize("base", [300, 70_000])
def test_falls_do_not_depend_on_the_number_of_base_tokens(base):
    run = train(Corpus.from_text(RIGHT), picky(vocabulary_size=900, threshold=0.3, pattern="gpt2")).run
    assert run is not None
    few = run.falls
    assert run.removals is not None
    assert few is not None
    assert len(few) > 100

    def moved(tokens):
        """The same tokens, with the highest ids below `base` for the bytes."""
        return (tokens + (base - run.base_size)).astype(np.int32)

    rows = run.removals.copy()
    rows[:, 0] += base - run.base_size
    many = falls_of(moved(run.merges), rows, base)
    assert many.tokens.tolist() == moved(few.tokens).tolist()
    assert many.parts.tolist() == moved(few.parts).tolist()
    for name in ("merges", "places", "starts", "spans"):
        assert getattr(many, name).tolist() == getattr(few, name).tolist()
    assert int(few.spans[:20].min()) == 2
