"""Training that starts from a tokenizer: the recount from the same start, and every use of such a run."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.reference import assert_recounted, train_slowly
from tests.core.texts import documents, few_examples
from tokstudio import ConfigError, Corpus, CorpusError, Tokenizer, Trainer, TrainingConfig, extend, train
from tokstudio.core.analysis.why_this_merge import why_work
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.training.curves import held_out_work, source_curves_work

ENGLISH = (
    "the cat sat on the mat, and the other cat sat there too.\n"
    "whatever the weather brought, neither of them thought of leaving.\n"
) * 8
GERMAN = (
    "die Katze saß auf der Matte, und die andere Katze saß auch da: übrigens grün.\n"
    "was auch immer das Wetter brachte, keine von beiden dachte daran, wegzugehen.\n"
) * 8


def english(size=290, pattern="gpt2", **others):
    return train(Corpus.from_text(ENGLISH), TrainingConfig(vocabulary_size=size, pattern=pattern, **others))


def start_with_gaps():
    """A tokenizer whose ids are in no order, with gaps and special tokens among them."""
    numbers = (np.arange(256) * 37 % 256) + 11
    merges = [[numbers[ord("a")], numbers[ord("b")]], [400, numbers[ord("a")]]]
    return Tokenizer(
        np.array(merges), np.array([400, 5]), alphabet=Alphabet.of_bytes(numbers), special_tokens={"<s>": 500, "<e>": 2}
    )


@pytest.mark.parametrize("tie_break", TIE_BREAKS)
@pytest.mark.parametrize("pattern", ["none", "gpt2"])
@pytest.mark.parametrize("merges", [0, 1, 9, 40])
def test_a_fork_with_the_same_settings_is_the_uninterrupted_run(tie_break, pattern, merges):
    corpus, config = (
        Corpus.from_text(ENGLISH + GERMAN),
        TrainingConfig(vocabulary_size=330, pattern=pattern, tie_break=tie_break),
    )
    whole = train(corpus, config)
    forked = extend(whole.at(merges).compact(), corpus, config)
    assert forked.merges.tolist() == whole.merges.tolist()
    assert forked.run.counts.tolist() == whole.run.counts[merges:].tolist()
    assert forked.run.tokens_after.tolist() == whole.run.tokens_after[merges:].tolist()
    assert forked.run.uses().tolist() == whole.run.uses().tolist()
    assert forked.run.ended == whole.run.ended
    assert len(forked) == forked.run.vocabulary_size == len(whole)


@few_examples
@given(documents, st.sampled_from(TIE_BREAKS).filter("huggingface".__ne__), st.integers(0, 30), st.booleans())
def test_an_extension_is_the_recount_from_the_encoded_documents(texts, tie_break, more, weigh):
    start = start_with_gaps()
    weights = [1 + number % 3 for number in range(len(texts))] if weigh else None
    corpus = Corpus.from_texts(texts) if weights is None else _weighted(texts, weights)
    config = TrainingConfig(vocabulary_size=len(start) + 1 + more, tie_break=tie_break)
    trainer = Trainer(corpus, config, start=start)
    list(trainer)
    run = trainer.run
    tokens = [token or b"" for token in start.tokens]
    encoded = [start.encode(text) for text in texts]
    recount = train_slowly(
        texts,
        vocabulary_size=len(tokens) + 1 + more,
        tie_break=tie_break,
        weights=weights,
        start=(tokens, encoded),
        refuses=lambda made: made in {b"<s>", b"<e>"},
    )
    assert_recounted(run, recount)
    assert run.uses().tolist() == recount.uses(weights)[: len(tokens) + len(recount.merges)]


def _weighted(texts, weights):
    sources = tuple(Source.from_texts([text], str(number)) for number, text in enumerate(texts))
    return Corpus(sources).with_weights({number: weight for number, weight in enumerate(weights)})


def test_old_ids_and_merges_stay_and_new_ids_follow_the_highest():
    start = start_with_gaps()
    made = extend(start, Corpus.from_text("abababab cdcdcd <s> cd"), TrainingConfig(min_frequency=2))
    new = made.merge_results[len(start.merges) :]
    assert new.tolist() == list(range(501, 501 + len(new)))
    assert [made.tokens[token] for token in range(501)] == list(start.tokens)
    assert made.merges[: len(start.merges)].tolist() == start.merges.tolist()
    assert made.special_tokens == start.special_tokens
    assert made.run.special_tokens == start.special_tokens
    assert made.decode(made.encode("abababab cdcdcd <s> cd", "all")) == "abababab cdcdcd <s> cd"


def test_merge_numbers_include_those_of_the_tokenizer():
    start, corpus = english(), Corpus.from_text(GERMAN)
    config = TrainingConfig(vocabulary_size=320, pattern="gpt2")
    trainer = Trainer(corpus, config, start=start)
    batches = list(trainer)
    assert batches[0].first == len(start.merges) + 1 == 35
    assert trainer.merges_made == len(trainer.run) == 30
    assert trainer.run.merges_before == 34
    made = trainer.tokenizer()
    assert made.at(34).encode(GERMAN) == start.encode(GERMAN)
    assert len(made.at(50).encode(GERMAN)) == made.run.tokens_after[15]
    assert len(made.encode(GERMAN)) == made.run.tokens_after[-1]
    assert len(start.encode(GERMAN)) == made.run.tokens_before


def test_each_merge_is_explained_by_its_number():
    start, corpus = english(), Corpus.from_text(GERMAN)
    run = extend(start, corpus, TrainingConfig(vocabulary_size=300, pattern="gpt2")).run
    why = finish(why_work(corpus, run, 37))
    assert why.number == 37
    assert [why.chosen.left, why.chosen.right] == run.merges[2].tolist()
    assert why.chosen.count == run.counts[2]
    for number in (34, 45):
        with pytest.raises(ConfigError, match=rf"There is no merge {number} from 35 to 44\."):
            finish(why_work(corpus, run, number))


def test_it_resumes_and_stays_the_same():
    start, corpus = english(), Corpus.from_text(GERMAN)
    config = TrainingConfig(vocabulary_size=300, pattern="gpt2")
    run = extend(start, corpus, config).run
    larger = TrainingConfig(vocabulary_size=320, pattern="gpt2")
    resumed = Trainer.resume(corpus, run, larger)
    for batch in resumed:
        assert batch.first > 34 + len(run)
    assert resumed.run.merges.tolist() == extend(start, corpus, larger).run.merges.tolist()
    again = pickle.loads(pickle.dumps(resumed.tokenizer()))
    assert again.run.start.encode(GERMAN) == start.encode(GERMAN)
    assert again.encode(GERMAN) == resumed.tokenizer().encode(GERMAN)


def test_sources_and_held_out_text_are_measured_from_the_start_on():
    start = english()
    corpus = Corpus((Source.from_texts([GERMAN], "de"), Source.from_texts([ENGLISH], "en"))).with_weights({1: 0.5})
    config = TrainingConfig(vocabulary_size=320, pattern="gpt2", held_out=0.2)
    trainer = Trainer(corpus, config, start=start)
    list(trainer)
    curves = finish(source_curves_work(trainer.run, corpus))
    assert (curves.tokens[34:] @ np.array([1000, 500])).tolist() == [
        trainer.run.tokens_before,
        *trainer.run.tokens_after.tolist(),
    ]
    held_out = trainer.prepared.held_out
    found, made = finish(held_out_work(trainer.run, held_out)), trainer.tokenizer()
    texts = [bytes(document) for document in Corpus(held_out).iter_documents()]
    for own in (0, 7, len(trainer.run)):
        assert found.tokens[34 + own] == sum(len(made.at(34 + own).encode(text)) for text in texts)


def test_text_is_prepared_as_the_tokenizer_prepares_it():
    start = english()
    preparation = Preparation(nfc=True, prefix_space=True)
    prepared = start.changed(special_tokens={"<s>": 999}, pattern="gpt2", preparation=preparation)
    texts = ["u\u0308ber u\u0308ber u\u0308ber", "u\u0308ber<s>u\u0308ber u\u0308ber", ""]
    made = extend(prepared, Corpus.from_texts(texts), TrainingConfig(min_frequency=2, pattern="gpt2"))
    assert made.run.tokens_before == sum(len(prepared.encode(text, "all")) for text in texts) - 1
    assert made.run.tokens_after[-1] == sum(len(made.encode(text, "all")) for text in texts) - 1
    assert " über".encode() in list(made.tokens)
    counted = Corpus.from_counts({"über": 3})
    with pytest.raises(ConfigError, match="changes text before it is split"):
        extend(prepared, counted, TrainingConfig(min_frequency=2, pattern="gpt2"))


def test_no_new_token_has_the_bytes_of_an_old_one():
    # "abc" is a token that no merge makes, but a whole pre-token becomes it.
    start = Tokenizer(np.array([[ord("a"), ord("b")]]), pattern="gpt2", extra_tokens={300: b"abc"}, whole_words=[300])
    made = extend(start, Corpus.from_text("abcd abcd abc xabc " * 9), TrainingConfig(min_frequency=2, pattern="gpt2"))
    tokens = [token for token in made.tokens if token is not None]
    assert len(set(tokens)) == len(tokens)
    for token in range(301, len(made.tokens)):
        assert made.encode(made.tokens[token]) == [token]


def test_what_cannot_be_extended_is_refused_with_the_reason():
    start, corpus = english(), Corpus.from_text(GERMAN)

    def refused(start, words, **settings):
        chosen = {"vocabulary_size": 400, "pattern": "gpt2"} | settings
        with pytest.raises(ConfigError, match=words):
            Trainer(corpus, TrainingConfig(**chosen), start=start)

    refused(start, "greater than 290: the tokenizer has that many tokens already", vocabulary_size=290)
    refused(start, "The pattern must be that of the tokenizer", pattern="cl100k")
    refused(start, "special tokens must be those of the tokenizer", special_tokens=["<x>"])
    refused(start, "base tokens are bytes", base="characters")
    characters = train(corpus, TrainingConfig(min_frequency=2, base="characters", pattern="gpt2"))
    refused(characters, "base tokens are bytes")
    twice = Tokenizer(
        np.array([[97, 98], [98, 99]]), np.array([256, 256]), alphabet=Alphabet.of_bytes(), pattern="gpt2", checked=True
    )
    refused(twice, "Several of the tokenizer's merges make the same token")


def test_a_corpus_of_which_nothing_can_be_learnt_ends_at_once():
    config = TrainingConfig(vocabulary_size=400, pattern="gpt2")
    with pytest.raises(CorpusError, match="Nothing new can be learned from this corpus: nothing left to merge"):
        extend(english(), Corpus.from_text("x"), config)
    trainer = Trainer(Corpus.from_text("x"), config, start=english())
    assert not list(trainer)
    assert trainer.ended == "nothing left to merge"
    with pytest.raises(CorpusError, match="has changed"):
        Trainer.resume(Corpus.from_text("y"), trainer.run, config)


REFUSED = {
    "split-characters": lambda made: _is_cut(made) and any(byte & 0xC0 != 0x80 for byte in made[1:]),
    "token:ab": lambda made: made == b"ab",
    "^a": lambda made: made.startswith(b"a"),
}


def _is_cut(raw):
    return raw.decode("utf-8", "replace").encode() != raw


@few_examples
@given(documents, st.sampled_from(TIE_BREAKS), st.sets(st.sampled_from(sorted(REFUSED)), min_size=1), st.booleans())
def test_forbidden_tokens_are_skipped_as_in_the_recount(texts, tie_break, rules, frequent):
    limits = {"min_frequency": 2} if frequent else {"vocabulary_size": 290}
    run = train(Corpus.from_texts(texts), TrainingConfig(tie_break=tie_break, forbidden=sorted(rules), **limits)).run
    recount = train_slowly(
        texts, tie_break=tie_break, refuses=lambda made: any(REFUSED[rule](made) for rule in rules), **limits
    )
    assert_recounted(run, recount)
    assert run.ended == recount.ended


def test_forbidden_pairs_are_no_candidates_of_a_merge():
    corpus = Corpus.from_text("ababab cdcd cd ef")
    run = train(corpus, TrainingConfig(vocabulary_size=258, forbidden=["token:ab", "token:ba"])).run
    why = finish(why_work(corpus, run, 1))
    assert (why.chosen.left, why.chosen.right) == (ord("c"), ord("d"))
    assert not {(ord("a"), ord("b")), (ord("b"), ord("a"))} & {(pair.left, pair.right) for pair in why.runners_up}
