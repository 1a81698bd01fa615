"""The table of sizes of an extension: each figure as extending to that size and encoding gives it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokstudio import ConfigError, Corpus, CorpusError, TrainingConfig, extend, extension_sheet, fill_reserved, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.sampling import hold_out_work
from tokstudio.core.corpus.source import by_entry
from tokstudio.core.pretokenization.patterns import splitter
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.surgery.extension_sheet import extension_sheet_work
from tokstudio.core.surgery.proof import changed_lines_work
from tokstudio.core.text.utf8 import lines_of

ENGLISH = "the cat sat on the mat; the bat ate the hat that the rat had.\nIt is 1234 over there.\n" * 4
REFERENCES = {"English": ENGLISH, "both": "der Kater sat\n\n2 mats <|r0|> here\r\nthe\n", "none": ""}
CONFIG = TrainingConfig(vocabulary_size=330, pattern="gpt2")
SPECIALS = ("<|r0|>", "<|end|>", "<|r1|>")


def german(count=60, seed=0):
    chosen = np.random.default_rng(seed)
    words = "Katze Kater Hut Matte der die das saß gehört auf und Nummer 12 straße".split()  # noqa: SIM905
    return [f"{' '.join(chosen.choice(words, 9))}.\n" for _ in range(count)]


def french(count=40):
    return [f"le chat {number} et le chapeau du chat, là-bas" for number in range(count)]


@pytest.fixture(scope="module")
def old():
    config = TrainingConfig(vocabulary_size=290, pattern="gpt2", special_tokens=SPECIALS)
    return train(Corpus.from_text(ENGLISH), config)


def corpus_of(*texts):
    sources = [source for each in texts for source in Corpus.from_texts(each).sources]
    names = "german.txt", "french.txt", "more.txt"
    return Corpus(tuple(replace(source, name=name) for source, name in zip(sources, names, strict=False)))


def documents_of(sources):
    return map(bytes, Corpus(tuple(sources)).iter_documents())


def check(sheet, old, corpus, config, references=REFERENCES, fill=()):
    """Compares each figure with that of a tokenizer that is extended to the size."""
    _, held = finish(hold_out_work(corpus.sources, sheet.held_out, corpus.weights))
    held = [source for source, weight in zip(held, corpus.weights or [1] * len(held), strict=True) if weight]
    texts = by_entry(held)
    assert [text.name for text in sheet.texts] == [*(name for name, _ in texts), *references]
    for row in [None, *sheet.rows]:
        if row is None:
            made = old
        else:
            config = replace(config, vocabulary_size=len(old) + row.added, held_out=sheet.held_out)
            made = extend(old, corpus, config)
            assert len(made) == len(old) + row.added
            made = fill_reserved(made, fill) if fill else made
            assert row.vocabulary_size == len(made)
        # Training cuts special tokens out, those too that are filled.
        whole = made if not fill else extend(old, corpus, config) if row else old
        special = set(whole.special_tokens.values())
        ids = [
            [token for text in documents_of(of_text) for token in whole.encode(text, "all") if token not in special]
            for _, of_text in texts
        ]
        tokens = [*map(len, ids)]
        tokens += [len(made.encode(text)) for text in references.values()]
        if row is None:
            assert [text.tokens for text in sheet.texts] == tokens
            continue
        assert list(row.tokens) == tokens
        new = set(whole.merge_results[len(old.merges) :].tolist())
        assert row.used == len(new & {token for some in ids for token in some})
        changed = [len(finish(changed_lines_work(made, text))) for text in references.values()]
        assert list(row.changed_lines) == changed
        assert row.whole_words == naive_words(whole, new, [text for _, some in texts for text in documents_of(some)])


def naive_words(tokenizer, new, documents):
    """The number of new tokens that are pre-tokens of the documents, with a letter."""
    if tokenizer.pattern == "none":
        return None
    merging, found = tokenizer.changed(pattern="none", preparation=Preparation()), set()
    for document in documents:
        for part in re.split(b"|".join(re.escape(token.encode()) for token in SPECIALS), document):
            prepared = tokenizer.decode_bytes(tokenizer.encode(part))  # with a space before, where it adds one
            for word in splitter(tokenizer.pattern).split(prepared):
                ids = merging.encode(word)
                if len(ids) == 1 and any(map(str.isalpha, word.decode())):
                    found |= {*ids} & new
    return len(found)


def test_each_figure_is_that_of_extending_to_the_size(old):
    corpus = corpus_of(german(), french())
    sheet = extension_sheet(old, corpus, CONFIG, REFERENCES, 0.3)
    assert [row.added for row in sheet.rows] == [1, 2, 3, 5, 7, 10, 20, 30, 40]
    assert sheet.held_out == 0.3
    check(sheet, old, corpus, CONFIG)
    assert [text.lines for text in sheet.texts] == [None, None, 8, 4, 0]
    assert sheet.rows[-1].whole_words > 5
    assert 0 < sheet.rows[-1].changed_lines[1] < 4


@cache
def start_of(pattern):
    return train(Corpus.from_text("ab abc é d ab"), TrainingConfig(vocabulary_size=260, pattern=pattern))


@settings(max_examples=6)
@given(
    st.lists(st.lists(st.text("abc d\né", min_size=1, max_size=30), min_size=20, max_size=30), min_size=1, max_size=3),
    st.sampled_from(["gpt2", "none", "cl100k_right"]),
    st.sampled_from([Preparation(), Preparation(nfc=True, prefix_space=True)]),
    st.text("abc d\né", max_size=60),
    st.integers(1, 12),
)
def test_random_texts(texts, pattern, preparation, reference, more):
    start = start_of(pattern).changed(preparation=preparation)
    corpus = corpus_of(*texts)
    config = TrainingConfig(vocabulary_size=len(start) + more, pattern=pattern)
    references = {"a": reference}
    trained, _ = finish(hold_out_work(corpus.sources, 0.3))
    try:
        extend(start, Corpus(trained), config)
    except CorpusError:
        with pytest.raises(CorpusError, match="Nothing new can be learned"):
            extension_sheet(start, corpus, config, references, 0.3)
        return
    sizes = sorted({1, (more + 1) // 2, more})
    sheet = extension_sheet(start, corpus, config, references, 0.3, sizes=sizes)
    check(sheet, start, corpus, config, references)
    assert sheet.rows[-1].added <= more


def test_a_line_changes_with_the_first_new_part_of_a_token_on_either_side(old):
    corpus = corpus_of([f"zxy,xyz,{'xy,' * 3}{number}" for number in range(40)])
    references = {"a": "zxy\nxyz\nz"}
    sheet = extension_sheet(old, corpus, CONFIG, references, sizes=[1, 2, 3])
    assert [row.changed_lines for row in sheet.rows] == [(2,)] * 3
    check(sheet, old, corpus, CONFIG, references)


@pytest.mark.parametrize("added", [1, 3, 25])
def test_filled_ids_add_nothing_to_the_size(old, added):
    fill = ["<|r1|>", "<|r0|>"]
    corpus = corpus_of([f"<|r0|>{line}<|end|>" for line in german()])
    config = replace(CONFIG, vocabulary_size=len(old) + added)
    sheet = extension_sheet(old, corpus, config, REFERENCES, fill=fill, sizes=[1, 2, 3, 25])
    assert [row.added for row in sheet.rows] == [size for size in (1, 2, 3, 25) if size <= added]
    check(sheet, old, corpus, config, fill=fill)
    # By default no row stands for fewer than fill the ids.
    rows = extension_sheet(old, corpus, config, fill=fill).rows
    assert [row.added for row in rows] == [size for size in (2, 3, 5, 7, 10, 20, 25) if size <= added] or [1]


def test_whole_words_and_a_start_of_fewer_merges_and_weights(old):
    whole = old.changed(whole_words=frozenset(old.merge_results.tolist()))
    assert whole.whole_words
    corpus = corpus_of(german(), french(), german(20, 1)).with_weights({0: 2, 2: 0})
    check(extension_sheet(whole, corpus, CONFIG, REFERENCES), whole, corpus, CONFIG)
    start = old.at(12)
    config = replace(CONFIG, vocabulary_size=len(start) + 15, special_tokens=())
    sheet = extension_sheet(start, corpus, config, REFERENCES)
    assert [text.name for text in sheet.texts[:2]] == ["german.txt", "french.txt"]
    check(sheet, start, corpus, config)


def test_an_extension_that_ends_early_has_a_last_row_of_what_it_made(old):
    corpus = corpus_of(german(30))
    sheet = extension_sheet(old, corpus, TrainingConfig(min_frequency=20, pattern="gpt2"), sizes=[3, 10, 500, 900])
    made = extend(old, corpus, TrainingConfig(min_frequency=20, pattern="gpt2", held_out=0.1))
    assert [row.added for row in sheet.rows] == [3, 10, len(made) - len(old)]
    assert sheet.ended == made.run.ended == "no pair occurs 20 times"


def test_a_source_without_held_out_text_saves_nothing_that_could_be_told(old):
    corpus = corpus_of(["der Kater\n"] * 3, german())
    sheet = extension_sheet(old, corpus, CONFIG)
    assert sheet.texts[0].tokens == 0
    assert sheet.saved(sheet.rows[-1], 0) is None
    assert sheet.cells(sheet.rows[-1])[2] == "–"
    assert 0 < sheet.saved(sheet.rows[-1], 1) < 1


def test_lines_of_a_reference_end_at_line_feeds_alone_and_its_figures_count_them(old):
    reference = "one\x0cpage und der\nzwei\u2028drei und\r\nvier\x1cund\nsechs\x85sieben und\n"
    sheet = extension_sheet(old, corpus_of(german()), CONFIG, {"reference": reference})
    text = sheet.texts[1]
    assert (text.lines, text.bytes, text.tokens) == (4, len(reference.encode()), len(old.encode(reference)))
    assert lines_of("") == []
    assert lines_of("\n\r\na") == ["", "", "a"]


def test_a_row_in_words_and_plain_values(old):
    sheet = extension_sheet(old, corpus_of(german()), CONFIG, {"English": ENGLISH})
    row = sheet.rows[-1]
    assert sheet.titles == (
        *("added", "vocabulary", "tokens saved: german.txt", "tokens saved: English"),
        *("used", "whole words", "lines changed: English"),
    )
    saved = 1 - row.tokens[0] / sheet.texts[0].tokens
    assert sheet.cells(row)[:3] == ("40", "330", f"{100 * saved:.1f}\u00a0%")
    assert sheet.cells(row)[4:] == (str(row.used), str(row.whole_words), f"{row.changed_lines[0]} of 8")
    plain = sheet.to_plain()
    assert plain["rows"][-1]["saved"][0] == saved
    assert plain["texts"][1] == {"name": "English", "bytes": len(ENGLISH), "tokens": sheet.texts[1].tokens, "lines": 8}


def test_one_sentence_where_nothing_can_be_measured(old):
    corpus = corpus_of(german())
    needed = "which needs at least 20 lines"
    left_out = corpus_of(german(), german(19)).with_weights({0: 0})
    for few in (Corpus.from_text("eine Zeile"), Corpus.from_text("a\n" * 19), left_out):
        with pytest.raises(CorpusError, match=needed):
            extension_sheet(old, few, CONFIG)
    with pytest.raises(CorpusError, match="The weights of all sources are 0"):
        extension_sheet(old, corpus.with_weights({0: 0}), CONFIG)
    with pytest.raises(CorpusError, match=r"A held-out share of 0\.1 % is less than one of the 60 pieces"):
        extension_sheet(old, corpus, CONFIG, held_out=0.001)
    with pytest.raises(ConfigError, match="greater than 290"):
        extension_sheet(old, corpus, replace(CONFIG, vocabulary_size=290))
    with pytest.raises(ConfigError, match="above 0 and below 1, not 1"):
        extension_sheet(old, corpus, CONFIG, held_out=1)
    with pytest.raises(CorpusError, match="Nothing new can be learned"):
        extension_sheet(old, corpus, TrainingConfig(min_frequency=9999, pattern="gpt2"))
    with pytest.raises(ConfigError, match="numbers of new tokens of at least 1"):
        extension_sheet(old, corpus, CONFIG, sizes=[0])
    with pytest.raises(ConfigError, match='no special token "<|x|>"'.replace("|", r"\|")):
        extension_sheet(old, corpus, CONFIG, fill=["<|x|>"])
    many = Corpus(tuple(replace(source, name=f"{n}") for n in range(65) for source in corpus.sources))
    with pytest.raises(ConfigError, match="at most 64 sources"):
        extension_sheet(old, many, CONFIG)
    ordinary = old.changed(preparation=replace(old.preparation, ordinary=frozenset(["<|r0|>"])))
    with pytest.raises(ConfigError, match=r'"<\|r0\|>" is found in any text'):
        extension_sheet(ordinary, corpus, CONFIG, {"a": "b"}, fill=["<|r0|>"])
    check(extension_sheet(ordinary, corpus, CONFIG, fill=["<|r0|>"]), ordinary, corpus, CONFIG, {}, ["<|r0|>"])
    with pytest.raises(ConfigError, match="Word counts have no lines to hold out, which the sheet measures"):
        extension_sheet(old, Corpus.from_counts({"the": 3}), CONFIG)
    characters = train(Corpus.from_text(ENGLISH), TrainingConfig(vocabulary_size=60, base="characters"))
    with pytest.raises(ConfigError, match="whose base tokens are bytes"):
        extension_sheet(characters, corpus, TrainingConfig(vocabulary_size=290))


def test_the_work_can_be_left_at_any_time(old):
    work = extension_sheet_work(old, corpus_of(german()), CONFIG, REFERENCES)
    phases = {progress.phase for progress in work}
    assert {"merging", "counting tokens by size"} <= phases
