"""Parity-aware BPE: against its definition, against `ParityBpeTrainer`, and what is refused."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.reference import assert_recounted, named_pattern, pre_tokens, train_by_turns
from tests.core.texts import config_by_name, document, few_examples
from tests.core.training.rooms import in_room, rooms
from tokstudio import ConfigError, Corpus, Trainer, TrainingConfig, train
from tokstudio.core.algorithms.common.languages import matching_texts, text_of_each
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
    # A language may have just its share of the window: two of 14. With a small alpha the library hangs once a language
    # has no pair left, so this one must not get there.
    "small-window": ({"window": 14, "alpha": 1.0}, {"variant": "window", "window_size": 14, "alpha": 1.0}),
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
        merges = 400 if variant == "small-window" else 700
        made = theirs(texts, merges, parallel, pattern=pattern, **its)
        assert len(made) == merges
        assert ours(texts, merges, parallel, pattern, **mine) == made

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_bytes_per_token(self, variant):
        mine, its = VARIANTS[variant]
        texts, merges = story(), 400 if variant == "small-window" else 700
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


def is_quick(room):
    """Whether a grid, of which all cells are visited before every round, is not walked in many steps."""
    return not room["largest_grid"] or (room["budget"] >= 1000 and room["fewest_cells"] < 1 << 16)


@few_examples
@given(languages, st.none() | languages, rules, rooms.filter(is_quick), st.integers(1, 25), st.data())
def test_the_definition(texts, parallel, rule, room, merges, data):
    """Also with a pattern, and with a text that has no parallel text: it is counted, and never chooses."""
    alpha = data.draw(st.sampled_from([0.5, 0.9, 2.0])) if rule["window"] else 2.0
    pattern = data.draw(st.sampled_from(["none", "gpt2"]))
    names = [f"{number}.txt" for number in range(len(texts))]
    ratios = silent = None
    if parallel is None:
        ratios = data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=len(texts), max_size=len(texts)))
    elif len(texts) > 2:
        silent = data.draw(st.none() | st.sampled_from(range(len(texts))))
    # A parallel text is one document.
    beside = {
        name: b"".join(document).decode("utf-8", "replace")
        for number, (name, document) in enumerate(zip(names, cycle(parallel or [[]]), strict=False))
        if number != silent
    }

    def words(documents):
        return [word for text in documents for word in pre_tokens(text, named_pattern("gpt2"))]

    split = words if pattern == "gpt2" else list
    slow = train_by_turns(
        [split(text) for text in texts],
        merges,
        [split([beside[name].encode()]) if name in beside else None for name in names] if parallel else None,
        ratios,
        alpha=alpha,
        **{**rule, "min_frequency": rule["min_frequency"] or 1},
    )
    shares = {"parallel": beside} if parallel else {"ratios": dict(zip(names, ratios, strict=True))}
    config = parity(256 + merges, **rule, **shares, alpha=alpha, pattern=pattern)
    with in_room(**room):
        run = train(corpus_of(dict(zip(names, texts, strict=True))), config).run
    assert_recounted(run, slow)
    assert run.columns["chosen_by"].tolist() == slow.chosen_by
    assert run.languages == tuple(names)
    assert silent is None or silent not in run.columns["chosen_by"]


@pytest.mark.parametrize(("text", "ended"), [("ab", "no pair occurs 2 times"), ("a", "nothing left to merge")])
def test_pairs_of_a_text_that_never_chooses_do_not_count_as_left(text, ended):
    corpus = corpus_of({"code": ["xyxyxy"], "de": [text], "en": ["c"]})
    config = TrainingConfig(min_frequency=2, algorithm=ParityAware(parallel={"de": "ab", "en": "cd"}))
    run = train(corpus, config).run
    assert (len(run), run.ended) == (0, ended)


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

    def test_files_are_read_and_named_with_or_without_their_ending_in_any_order(self, tmp_path):
        for name, text in PARALLEL.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        by_file = {f"{name}.txt": tmp_path / name for name in PARALLEL}
        given = (PARALLEL, by_file, dict(reversed(PARALLEL.items())))
        runs = [train(corpus_of(TEXTS), parity(290, parallel=texts)).run for texts in given]
        assert runs[0].merges.tolist() == runs[1].merges.tolist() == runs[2].merges.tolist()

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


def test_several_texts_of_a_language_have_the_same_parallel_text():
    codes = ["deu_Latn", "eng_Latn", "zho_Hans", "zho_Hant", "fra", "French"]
    names = ["de.txt", "deu_Latn", "German", "de.txt", "en.csv", "zho_Hans.txt", "zh.txt", "fra.txt", "fr.txt", "notes"]
    found = text_of_each(names, codes)
    assert found == {name: text for one in names for name, text in matching_texts([one], codes).items()}
    assert [found.get(name) for name in ("de.txt", "German", "zho_Hans.txt")] == ["deu_Latn", "deu_Latn", "zho_Hans"]
    assert (found.get("fra.txt"), found.get("fr.txt"), found.get("notes")) == ("fra", None, None)
