"""Projects that the tests save and open."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import fields, replace

import numpy as np
import pytest

from tests.core.formats.trained import (
    SPECIALS,
    TEXT,
    banana,
    everything,
    of_characters,
    same,
    with_specials,
    with_unknown,
)
from tokstudio import Corpus, FormatError, Run, Tokenizer, Trainer, TrainingConfig, extend, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.source import CountedWith, Source
from tokstudio.core.model.alphabet import Alphabet
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.project import (
    Project,
    ProjectRun,
    ProjectTokenizer,
    TokenizerFile,
    keep_source_work,
    open_work,
    save_work,
)

LINES = "".join(f"line {number} of the corpus, with some words in it\n" for number in range(40))


def stopped(merges=5, **settings) -> Run:
    trainer = Trainer(Corpus.from_text(LINES), TrainingConfig(vocabulary_size=300, **settings))
    while trainer.merges_made < merges:
        trainer.advance(merges - trainer.merges_made)
    trainer.stop()
    return trainer.run


def trained(corpus, **settings) -> Run:
    made = train(corpus, TrainingConfig(**settings)).run
    assert made is not None
    return made


def every_kind() -> dict[str, Run]:
    """Runs of every kind that training makes."""
    byte_level = {
        "banana": banana().run,
        "everything": everything().run,
        "specials last": with_specials().run,
        "specials first": with_specials("cl100k", "first").run,
    }
    characters = {
        "characters": of_characters().run,
        "characters, specials first": of_characters(special_tokens=SPECIALS, special_placement="first").run,
        "base vocabulary": with_unknown().run,
        "unknown last": trained(
            Corpus.from_text(TEXT),
            min_frequency=2,
            base="characters",
            base_vocabulary=[*"abct he"],
            special_tokens=["[UNK]"],
            unknown_token="[UNK]",
        ),
    }
    others = {
        "held out": trained(Corpus.from_text(LINES), vocabulary_size=280, held_out=0.2, max_token_bytes=6),
        "counts": trained(Corpus.from_counts({"banana": 7, "bandana": 2**40}), min_frequency=3, tie_break="bytes"),
        "weighted": trained(
            Corpus((Source.from_texts(LINES, "a"), Source.from_texts(TEXT, "b"))).with_weights({"a": 3, "b": 0.25}),
            vocabulary_size=300,
            min_frequency=2,
            pattern="gpt2",
        ),
        "weighted, whole": trained(Corpus.from_text(LINES).with_weights({0: 3}), vocabulary_size=300),
        "nothing": trained(Corpus.from_text(""), vocabulary_size=300),
        "stopped": stopped(),
        "not begun": Trainer(Corpus.from_text("ab"), TrainingConfig(vocabulary_size=300)).run,
        "not begun, characters": Trainer(
            Corpus.from_text("ab"), TrainingConfig(min_frequency=2, base="characters", special_tokens=["<s>"])
        ).run,
        "own pattern": trained(
            Corpus.from_text(LINES), vocabulary_size=290, pattern=r"\w+|\W", tie_break="huggingface"
        ),
    }
    runs = byte_level | characters | others | extended()
    assert None not in runs.values()
    return runs


def extended() -> dict[str, Run]:
    """Runs that started from a tokenizer."""
    corpus, specials = Corpus.from_text(LINES), {"<s>": 300, "<e>": 7}
    numbers = np.random.default_rng(1).permutation(256) + 8
    start = Tokenizer(
        np.array([[numbers[ord("l")], numbers[ord("i")]]]),
        alphabet=Alphabet.of_bytes(numbers),
        special_tokens=specials,
        pattern="gpt2",
        extra_tokens={5: b"word"},
        whole_words=[5],
        remarks=["It does nothing."],
    ).changed(preparation=Preparation(nfc=True, prefix_space=True))
    config = TrainingConfig(vocabulary_size=300, pattern="gpt2", forbidden=["mixed-scripts", "bytes:ff00"])
    weighted = corpus.with_weights({0: 0.5})
    return {
        "extended": extend(start, corpus, config).run,
        "forked": extend(banana().at(1), weighted, TrainingConfig(min_frequency=3, tie_break="bytes")).run,
    }


def same_value(one, other):
    if isinstance(one, Tokenizer) and isinstance(other, Tokenizer):
        return same(one, other)
    return np.array_equal(one, other) and one.dtype == other.dtype if isinstance(one, np.ndarray) else one == other


def differences(one, other) -> list[str]:
    """Names of the fields in which two values differ."""
    return [
        name
        for name in (field.name for field in fields(one))
        if name not in ("alphabet", "text") and not same_value(getattr(one, name), getattr(other, name))
    ] + (differences(one.alphabet, other.alphabet) if isinstance(one, Run) else [])


def small_project(merges=6) -> Project:
    """One of everything, in few pages."""
    source = Source.from_texts([LINES[:200], "日本\n"])
    counts = replace(
        Corpus.from_counts({"banana": 7, "an": 1}).sources[0],
        places=np.array([3, 1 << 40]),
        counted_with=CountedWith("gpt2", ("<s>",)),
    )
    run = trained(Corpus((source,)), vocabulary_size=256 + merges + 1, special_tokens=["<s>"])
    return Project(
        sources=tuple(
            replace(finish(keep_source_work(one)), weight=weight) for one, weight in ((source, 1000), (counts, 2500))
        ),
        runs=(
            ProjectRun("Run 1", run, (0,), {"colour": 3}),
            ProjectTokenizer("mine", (TokenizerFile("tokenizer.json", b"{}" * 30),), "gpt2", {"colour": None}),
        ),
        active=0,
        state={"text": "Grüße \ud83d\x00 '", "playhead": 3, "settings": {"pattern": "none", "sizes": [1, 2.5, None]}},
    )


def saved(project, path):
    finish(save_work(project, path))
    return path


def opened(path) -> Project:
    return finish(open_work(path))


def opened_or_refused(path) -> Project | None:
    """The project, or None after making sure that the error is one sentence that names the file."""
    try:
        return opened(path)
    except FormatError as error:
        words = str(error)
        assert re.fullmatch(rf"{re.escape(path.name)}: [^\n]+\.", words), words
        assert words.isprintable(), words
        assert len(words) < 300, words
        return None


def refuse_after(path, change, message):
    """Asserts that a project is refused after a change, by the table itself where the message is "CHECK"."""
    with closing(sqlite3.connect(path)) as connection:
        if message == "CHECK":
            with pytest.raises(sqlite3.IntegrityError, match=message):
                connection.execute(change)
            return
        connection.execute(change)
        connection.commit()
    with pytest.raises(FormatError, match=message):
        opened(path)
