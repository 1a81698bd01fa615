"""A training from a tokenizer in the session: its run, its measurements, Why, and going on."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.training.trainer import extend, train
from tokstudio.gui.panes.compression.curves import RATIO, curve, start_marks
from tokstudio.gui.panes.why.pane import Asked, asked

ENGLISH = "the cat sat on the mat, and the other cat sat there too.\n" * 9
GERMAN = "die Katze saß auf der Matte, und die andere Katze saß auch da.\n" * 9


def english(merges=20):
    return train(Corpus.from_text(ENGLISH), TrainingConfig(vocabulary_size=256 + merges, pattern="gpt2"))


def start_from(qtbot, session, start, **settings):
    session.corpus.add_text(GERMAN)
    qtbot.waitUntil(lambda: session.training.corpus_obstacle is None)
    config = TrainingConfig(**{"vocabulary_size": 290, "pattern": "gpt2"} | settings)
    session.training.start_from(start, config, session.corpus.current, ", extended")
    qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running)
    return session.runs.active


def test_the_run_goes_on_after_the_merges_of_the_tokenizer(qtbot, session):
    start = english()
    run = start_from(qtbot, session, start)
    expected = extend(start, Corpus.from_text(GERMAN), TrainingConfig(vocabulary_size=290, pattern="gpt2"))
    assert run.name == "Run 1, extended"
    assert (run.before, len(run), run.vocabulary_size) == (20, 34, 290)
    assert run.merges.tolist() == expected.merges.tolist()
    assert session.view.playhead == 34
    session.view.set_playhead(20)
    assert session.view.tokenizer.encode(GERMAN) == start.encode(GERMAN)
    places, ratios = curve(run, RATIO)
    (mark,) = start_marks(run)
    assert (mark.x, mark.y) == (places[20], ratios[20])


def test_its_own_merges_are_explained_and_those_before_are_named(qtbot, session):
    run = start_from(qtbot, session, english())
    session.view.look_at(run.id_of_merge(22))
    question = asked(session.view)
    assert isinstance(question, Asked)
    assert (question.number, question.token) == (22, run.id_of_merge(22))
    session.view.look_at(run.id_of_merge(20))
    assert asked(session.view) == "The tokenizer that training started from has this merge: it was not chosen here."


def test_what_cannot_be_extended_makes_no_run(session):
    with pytest.raises(ConfigError, match="greater than 276"):
        session.training.start_from(
            english(), TrainingConfig(vocabulary_size=276, pattern="gpt2"), Corpus.from_text(GERMAN), ""
        )
    assert not session.runs.all
