"""Parity-aware BPE: against its definition, against `ParityBpeTrainer`, and what is refused."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.reference import named_pattern, pre_tokens, train_by_turns
from tests.core.texts import config_by_name, document, patient
from tokstudio import ConfigError, Corpus, Trainer, TrainingConfig, train
from tokstudio.core.algorithms.bpe import engine as engine_module
from tokstudio.core.algorithms.common import progress_estimate
from tokstudio.core.algorithms.common.languages import matching_texts
from tokstudio.core.base.errors import MissingCharacterError
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import TIE_BREAKS, ParityAware
from tokstudio.core.model.columns import language_of
from tokstudio.core.text.byte_level import to_bytes

STORY = Path(__file__).parents[3] / "resources" / "corpora" / "story"
LANGUAGES = ("eng_Latn", "deu_Latn", "rus_Cyrl", "hin_Deva", "jpn_Jpan", "tam_Taml", "swh_Latn")
VARIANTS = {
    "base": ({}, {}),
    "hybrid": ({"global_merges": 300}, {"global_merges": 300}),
    "window": ({"window": 100}, {"variant": "window"}),
    # With a small alpha the library hangs once a language has no pair left, so this one must not get there.
    "small-window": ({"window": 12, "alpha": 1.1}, {"variant": "window", "window_size": 12, "alpha": 1.1}),
}


def corpus_of(texts):
    """Each text, or list of texts, is a language, named by its key."""
    return Corpus(tuple(Source.from_texts(text, name) for name, text in texts.items()))


def parity(size=300, **more):
    return config_by_name("parity", vocabulary_size=size, **more)


def as_bytes(tokenizer):
    tokens = tokenizer.tokens
    return [(tokens[left], tokens[right]) for left, right in tokenizer.merges.tolist()]


def ours(texts, merges, parallel=None, pattern="gpt2", **more):
    config = parity(256 + merges, pattern=pattern, parallel=parallel or (), **more)
    return as_bytes(train(corpus_of({name: [text] for name, text in texts.items()}), config))


def theirs(texts, merges, parallel=None, ratio=None, pattern="gpt2", **more):
    """What `ParityBpeTrainer` learns."""
    tokenizers = pytest.importorskip("tokenizers")
    steps = [
        tokenizers.pre_tokenizers.Split(
            tokenizers.Regex(named_pattern(pattern).replace("{1,3}+", "{1,3}")), "isolated"
        ),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(steps)
    trainer = tokenizers.trainers.ParityBpeTrainer(
        num_merges=merges,
        show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        ratio=ratio,
        **more,
    )
    dev = {} if parallel is None else {"dev_iterators": [[text] for text in parallel.values()]}
    trainer.train_from_iterator(model, [[text] for text in texts.values()], **dev)
    return [(to_bytes(left), to_bytes(right)) for left, right in json.loads(model.to_str())["model"]["merges"]]


def story():
    return {name: (STORY / f"{name}.txt").read_text(encoding="utf-8") for name in LANGUAGES}


def halves():
    """The lines of the story in turn: those to train on, and those to measure."""
    lines = {name: text.splitlines(keepends=True) for name, text in story().items()}
    return (
        {name: "".join(of[::2]) for name, of in lines.items()},
        {name: "".join(of[1::2]) for name, of in lines.items()},
    )


class TestLibrary:
    """The merges are those of `ParityBpeTrainer`."""

    @pytest.mark.parametrize("variant", VARIANTS)
    @pytest.mark.parametrize("pattern", ["gpt2", "cl100k"])
    def test_parallel_texts(self, variant, pattern):
        mine, its = VARIANTS[variant]
        texts, parallel = halves()
        merges = 400 if variant == "small-window" else 1500
        made = theirs(texts, merges, parallel, pattern=pattern, **its)
        assert len(made) == merges
        assert ours(texts, merges, parallel, pattern, **mine) == made

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_bytes_per_token(self, variant):
        mine, its = VARIANTS[variant]
        texts, merges = story(), 400 if variant == "small-window" else 1500
        assert ours(texts, merges, **mine) == theirs(texts, merges, ratio=[1.0] * len(texts), **its)
        ratios = {"hin_Deva": 2.5, "tam_Taml": 2.7, "jpn_Jpan": 1.3}
        ratio = [ratios.get(name, 1.0) for name in texts]
        assert ours(texts, merges, ratios=ratios, **mine) == theirs(texts, merges, ratio=ratio, **its)

    @pytest.mark.parametrize("variant", ["base", "hybrid", "window"])
    def test_a_text_without_parallel_text_is_one_with_an_empty_one(self, variant):
        """The library must be given one. It lets that language choose, but only where no other may."""
        mine, its = VARIANTS[variant]
        texts, parallel = halves()
        silent = "eng_Latn"
        made = theirs(texts, 1000, {**parallel, silent: ""}, **its)
        parallel.pop(silent)
        assert ours(texts, 1000, parallel, **mine) == made

    def test_to_the_end(self):
        texts = {name: text[:600] for name, text in story().items()}
        made = theirs(texts, 20_000, texts)
        assert len(made) < 20_000
        assert ours(texts, 20_000, texts) == made
        assert ours(texts, 20_000, texts, min_frequency=3) == theirs(texts, 20_000, texts, min_frequency=3)

    @pytest.mark.shared_data
    @pytest.mark.parametrize("variant", VARIANTS)
    def test_real_texts(self, shared, variant):
        mine, its = VARIANTS[variant]
        files = {"de": "deu_1996", "en": "eng", "fr": "fra", "ja": "jpn", "ko": "kor", "ru": "rus", "zh": "cmn_hans"}
        folder = shared / "corpora"
        texts = {name: (folder / "help" / f"{name}.txt").read_text(encoding="utf-8")[:60_000] for name in files}
        beside = {
            name: (folder / "parallel" / f"{file}.txt").read_text(encoding="utf-8") for name, file in files.items()
        }
        assert ours(texts, 1500, beside, **mine) == theirs(texts, 1500, beside, **its)


languages = st.lists(st.lists(document, min_size=1, max_size=3), min_size=2, max_size=4)
rules = st.fixed_dictionaries(
    {
        "global_merges": st.sampled_from([0, 0, 1, 5]),
        "window": st.sampled_from([None, None, 1, 2, 5, 100]),
        "tie_break": st.sampled_from(TIE_BREAKS),
        "max_token_bytes": st.sampled_from([None, None, 3]),
        "min_frequency": st.sampled_from([None, 2, 3]),
    }
)
# A grid has 65,536 cells, each of which is visited before every round.
grids = st.sampled_from([(1, 0), (7, 0), (400_000, 0), (1000, 1 << 22), (400_000, 1 << 22)])
rooms = st.fixed_dictionaries(
    {
        "_BATCH": st.sampled_from([1, 3, 4096]),
        "FLOOR_STEP": st.sampled_from([2, 32]),
        "_FIRST_FLOOR_SHARE": st.sampled_from([1, 3, 10, 2048]),
        "_POOL_SHARE": st.sampled_from([1.0, 1.15]),
        "_SLACK": st.sampled_from([0, 1, 5, 1024]),
        "_PAIRS_AT_FIRST": st.sampled_from([2, 10, 1 << 14]),
        "_FEWEST_CELLS": st.sampled_from([32, 32, 32, 1 << 16]),
    }
)


@settings(patient, max_examples=100)
@given(
    languages,
    st.none() | languages,
    st.sampled_from([0.5, 0.9, 2.0]),
    rules,
    rooms,
    grids,
    st.integers(1, 25),
    st.data(),
)
def test_the_definition(texts, parallel, alpha, rule, room, grid, merges, data):
    if parallel is not None:
        parallel = (parallel * len(texts))[: len(texts)]
    ratios = None if parallel else data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=4, max_size=4))
    alpha = alpha if rule["window"] else 2.0
    frequency = {"min_frequency": rule["min_frequency"] or 1}
    # A parallel text is one document.
    beside = parallel and [[b"".join(text).decode("utf-8", "replace").encode()] for text in parallel]
    slow = train_by_turns(texts, merges, beside, ratios, alpha=alpha, **{**rule, **frequency})
    names = [f"{number}.txt" for number in range(len(texts))]
    config = parity(
        256 + merges,
        **rule,
        alpha=alpha,
        parallel={} if beside is None else {n: text[0].decode() for n, text in zip(names, beside, strict=True)},
        ratios=dict(zip(names, ratios, strict=False)) if ratios else {},
    )
    budget, largest_grid = grid
    room, step = {**room}, room["FLOOR_STEP"]
    del room["FLOOR_STEP"]
    at_a_time = patch.multiple(engine_module, **room, _BUDGET=budget, _LARGEST_GRID=largest_grid)
    with at_a_time, patch.object(progress_estimate, "FLOOR_STEP", step):
        run = train(corpus_of(dict(zip(names, texts, strict=True))), config).run
    assert run.merges.tolist() == [list(pair) for pair in slow.merges]
    assert run.counts.tolist() == slow.counts
    assert run.tokens_after.tolist() == slow.tokens_after
    assert run.columns["chosen_by"].tolist() == slow.chosen_by
    assert run.languages == tuple(names)


@settings(patient, max_examples=60)
@given(
    st.lists(st.lists(document, min_size=1, max_size=3), min_size=3, max_size=4), rules, st.integers(1, 25), st.data()
)
def test_a_text_without_parallel_text_is_counted_and_never_chooses(texts, rule, merges, data):
    silent = data.draw(st.sampled_from(range(len(texts))))
    beside = [
        None if n == silent else [b"".join(text).decode("utf-8", "replace").encode()] for n, text in enumerate(texts)
    ]
    slow = train_by_turns(texts, merges, beside, **{**rule, "min_frequency": rule["min_frequency"] or 1})
    names = [f"{number}.txt" for number in range(len(texts))]
    parallel = {name: text[0].decode() for name, text in zip(names, beside, strict=True) if text is not None}
    trainer = Trainer(corpus_of(dict(zip(names, texts, strict=True))), parity(256 + merges, parallel=parallel, **rule))
    list(trainer)
    run = trainer.run
    assert run.merges.tolist() == [list(pair) for pair in slow.merges]
    assert (run.counts.tolist(), run.tokens_after.tolist()) == (slow.counts, slow.tokens_after)
    assert run.columns["chosen_by"].tolist() == slow.chosen_by
    assert run.languages == tuple(names)
    assert silent not in run.columns["chosen_by"]


@pytest.mark.parametrize(("text", "ended"), [("ab", "no pair occurs 2 times"), ("a", "nothing left to merge")])
def test_pairs_of_a_text_that_never_chooses_do_not_count_as_left(text, ended):
    corpus = corpus_of({"code": ["xyxyxy"], "de": [text], "en": ["c"]})
    config = TrainingConfig(min_frequency=2, algorithm=ParityAware(parallel={"de": "ab", "en": "cd"}))
    run = train(corpus, config).run
    assert (len(run), run.ended) == (0, ended)


@settings(patient, max_examples=50)
@given(languages, st.integers(1, 30), st.sampled_from(TIE_BREAKS))
def test_the_definition_with_a_pattern(texts, merges, tie_break):
    words = [[word for text in language for word in pre_tokens(text, named_pattern("gpt2"))] for language in texts]
    slow = train_by_turns(words, merges, tie_break=tie_break)
    named = {str(number): language for number, language in enumerate(texts)}
    run = train(corpus_of(named), parity(256 + merges, pattern="gpt2", tie_break=tie_break)).run
    assert run.merges.tolist() == [list(pair) for pair in slow.merges]


TEXTS = {
    "de.txt": ["der dachs und der fuchs und der igel, und noch ein dachs. " * 4],
    "en.txt": ["the badger and the fox and the hedgehog, and another badger. " * 4],
    "fi.txt": ["mäyrä ja kettu ja siili, ja vielä toinen mäyrä. " * 4],
}
PARALLEL = {
    "de": "der fuchs und der igel",
    "en": "the fox and the hedgehog",
    "fi": "kettu ja siili ja mäyrä ja kettu ja siili",
}


class TestTraining:
    def test_batches_say_who_chose(self):
        trainer = Trainer(corpus_of(TEXTS), parity(290, parallel=PARALLEL, global_merges=2))
        numbers = np.concatenate([batch.columns["chosen_by"] for batch in trainer])
        assert numbers.tolist() == trainer.run.columns["chosen_by"].tolist()
        assert numbers[:3].tolist() == [-1, -1, 2]  # the Finnish text is the longest
        assert [language_of(trainer.run, merge) for merge in (0, 2)] == [None, "fi.txt"]

    def test_files_are_read_and_named_with_or_without_their_ending(self, tmp_path):
        for name, text in PARALLEL.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        by_file = parity(290, parallel={f"{name}.txt": tmp_path / name for name in PARALLEL})
        runs = [train(corpus_of(TEXTS), config).run for config in (by_file, parity(290, parallel=PARALLEL))]
        assert runs[0].merges.tolist() == runs[1].merges.tolist()

    def test_the_order_of_the_parallel_texts_does_not_matter(self):
        turned = dict(reversed(PARALLEL.items()))
        runs = [train(corpus_of(TEXTS), parity(290, parallel=texts)).run for texts in (PARALLEL, turned)]
        assert runs[0].merges.tolist() == runs[1].merges.tolist()

    def test_a_source_of_weight_0_is_no_language(self):
        corpus = corpus_of(TEXTS).with_weights({"en.txt": 0})
        without = {name: text for name, text in TEXTS.items() if name != "en.txt"}
        two = {"de": PARALLEL["de"], "fi": PARALLEL["fi"]}
        runs = [
            train(each, parity(290, parallel=texts)).run
            for each, texts in ((corpus, PARALLEL), (corpus_of(without), two))
        ]
        assert runs[0].merges.tolist() == runs[1].merges.tolist()
        assert runs[0].languages == ("de.txt", "fi.txt")

    def test_tokens_before_are_those_of_the_corpus_alone(self):
        run = train(corpus_of(TEXTS), parity(290, parallel=PARALLEL)).run
        size = sum(len(text.encode()) for texts in TEXTS.values() for text in texts)
        assert (run.tokens_before, run.corpus.bytes, int(run.base_counts.sum())) == (size, size, size)

    def test_characters_of_a_parallel_text_are_base_tokens(self):
        run = train(corpus_of(TEXTS), parity(60, base="characters", parallel={**PARALLEL, "en": "日本"})).run
        new = run.alphabet.tokens.keys() - {token for token, count in enumerate(run.base_counts) if count}
        assert sorted(run.alphabet.tokens[token].decode() for token in new) == ["日", "本"]

    def test_unknown_characters_count_in_the_length(self):
        letters = {"base": "characters", "base_vocabulary": list("abcdefghijklmnopqrstuvwxyzä,. "), "pattern": "gpt2"}
        unknown = {"unknown_token": "[?]", "special_tokens": ["[?]"]}
        parallel = {**PARALLEL, "en": "日本" * 30}
        run = train(corpus_of(TEXTS), parity(40, **letters, **unknown, parallel=parallel)).run
        assert language_of(run, 0) == "en.txt"
        with pytest.raises(MissingCharacterError, match="not in the base vocabulary"):
            train(corpus_of(TEXTS), parity(40, **letters, parallel=parallel))

    def test_forbidden_tokens_are_not_made(self):
        texts = [[text[0].encode()] for text in TEXTS.values()]
        slow = train_by_turns(texts, 30, refuses=lambda token: b"e" in token)
        run = train(corpus_of(TEXTS), parity(286, forbidden=["e"])).run
        assert run.merges.tolist() == [list(pair) for pair in slow.merges]
        assert run.columns["chosen_by"].tolist() == slow.chosen_by


@pytest.mark.parametrize(
    ("texts", "settings", "message"),
    [
        ({"de.txt": ["abc"]}, {}, "at least two languages"),
        (TEXTS, {"parallel": {"de": "a"}}, 'parallel text of "en.txt", "fi.txt" is missing: at least two languages'),
        (TEXTS, {"parallel": {**PARALLEL, "sv": "a"}}, 'no language "sv" for a parallel text'),
        (TEXTS, {"ratios": {"sv": 2}}, 'no language "sv" for a ratio'),
        (TEXTS, {"ratios": {"de": 2, "de.txt": 3}}, "several languages, or one of them twice"),
    ],
)
def test_languages_that_do_not_fit(texts, settings, message):
    with pytest.raises(ConfigError, match=message):
        Trainer(corpus_of(texts), parity(300, **settings))


def test_the_tie_rule_is_that_of_the_algorithm():
    assert (parity().tie_break, TrainingConfig(vocabulary_size=300).tie_break) == ("mapped-strings", "first")
    assert parity(tie_break="first").tie_break == "first"
    assert (
        train(Corpus.from_texts([" a", "ba"]), TrainingConfig(vocabulary_size=257, tie_break="mapped-strings")).tokens[
            256
        ]
        == b" a"
    )
    assert (
        train(Corpus.from_texts([" a", "ba"]), TrainingConfig(vocabulary_size=257, tie_break="bytes")).tokens[256]
        == b"ba"
    )


@pytest.mark.parametrize(
    ("names", "given", "found"),
    [
        (("de.txt", "en.txt"), ("en.txt", "de"), {"de.txt": "de", "en.txt": "en.txt"}),
        (("de.txt", "ja.txt"), ("jpn", "deu_Latn", "fra"), {"de.txt": "deu_Latn", "ja.txt": "jpn"}),
        (("de.txt", "notes.txt"), ("German", "deu"), {}),  # two texts for one language
        (("de.txt", "deu"), ("ger", "de"), {"de.txt": "de"}),
        (("one.txt", "two.txt"), ("eins", "zwei"), {}),
    ],
)
def test_parallel_texts_are_found_by_name(names, given, found):
    assert matching_texts(names, given) == found
