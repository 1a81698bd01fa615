"""Runs and opened tokenizers measured on one text: what is measured, when, and what is kept."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tests.gui.person import TEXT
from tokstudio.core.analysis import token_store
from tokstudio.core.analysis.token_store import TokenStore
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.comparison.alignment import TextTokens, text_tokens_work
from tokstudio.core.corpus.source import Source
from tokstudio.gui.session.measuring import measurers
from tokstudio.gui.session.measuring.measurers import ChosenText
from tokstudio.gui.session.training.training import Settings


@pytest.fixture
def encoded(monkeypatch):
    """The numbers of merges of the tokenizers that encoded a text, one for each time."""
    found, count = [], token_store.count_uses_work

    def counted(tokenizer, *arguments):
        found.append(len(tokenizer.merges))
        return (yield from count(tokenizer, *arguments))

    monkeypatch.setattr(token_store, "count_uses_work", counted)
    return found


def endless():
    while True:
        yield Progress("waiting")


def opened(session, tokenizer, name="opened"):
    session.runs.add_tokenizer(tokenizer, name)
    return session.runs.active


def measure(qtbot, session, *runs):
    """Wants these runs, and waits until all are measured."""
    session.on_text.want(runs, "test")
    qtbot.waitUntil(lambda: all(session.on_text.found(run) is not None for run in runs))
    return [session.on_text.found(run) for run in runs]


@pytest.mark.parametrize(
    "settings",
    [
        {"vocabulary_size": 280},
        {"vocabulary_size": 280, "pattern": "cl100k", "documents": "line"},
        {"min_frequency": 2, "base": "characters", "special_tokens": ("<s>",)},
    ],
    ids=str,
)
def test_the_training_of_a_run_knows_the_tokens_of_its_own_text(session, make_run, encoded, settings):
    session.training.set_settings(Settings(**settings))
    session.corpus.add_text(TEXT)
    session.corpus.add_text("the rat\nand the hat")
    session.corpus.set_weights((2000, 500))
    run = make_run(**settings)
    found = session.on_text.found(run)
    assert isinstance(found, TextTokens)
    assert not encoded
    anew = finish(text_tokens_work(run.tokenizer, session.on_text.text.parts, TokenStore()))
    assert (found.bytes, found.tokens) == (anew.bytes, anew.tokens)


@pytest.mark.parametrize(
    ("settings", "text"), [({"special_tokens": ("<s>",)}, f"{TEXT}<s>"), ({"held_out": 0.3}, TEXT)]
)
def test_a_run_of_a_part_of_the_text_is_encoded(qtbot, session, make_run, encoded, settings, text):
    session.corpus.add_text("\n".join([text] * 30))
    run = make_run(vocabulary_size=280, **settings)
    [found] = measure(qtbot, session, run)
    assert encoded == [len(run)]
    assert found.bytes == session.corpus.current.bytes
    assert found.tokens == len(run.tokenizer.encode("\n".join([text] * 30)))
    assert session.on_text.text.has_text_of(run)


def test_the_same_text_is_encoded_once_by_each_tokenizer(qtbot, session, make_run, encoded):
    make_run(vocabulary_size=280)
    first, second = (opened(session, session.runs.all[0].tokenizer.at(k).compact()) for k in (5, 9))
    measure(qtbot, session, first, second)
    assert encoded == [5, 9]
    session.corpus.add_text("the hat")
    measure(qtbot, session, first, second)
    assert encoded == [5, 9, 5, 9], "only of the new source"
    session.corpus.set_weights((1000, 7000))
    measure(qtbot, session, first, second)
    session.on_text.choose(ChosenText.of_sources("again", (Source.from_texts(["the hat"]),)))
    measure(qtbot, session, first, second)
    session.on_text.choose(None)
    measure(qtbot, session, first, second)
    assert len(encoded) == 4, "equal texts are known by what they hold"


def test_nothing_is_measured_that_nobody_wants(qtbot, session, make_run, encoded):
    run = opened(session, make_run(vocabulary_size=280).tokenizer.compact())
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert session.on_text.found(run) is None
    assert not encoded
    session.on_text.want([run], "one")
    session.on_text.want([run], "other")
    session.on_text.want((), "one")
    qtbot.waitUntil(lambda: session.on_text.found(run) is not None)
    assert len(encoded) == 1


def test_a_cancelled_measurement_says_so_and_starts_again_at_request(qtbot, session, make_run, monkeypatch):
    run = opened(session, make_run(vocabulary_size=280).tokenizer.compact())

    with monkeypatch.context() as patched:
        patched.setattr(measurers, "prepare_work", endless)
        session.on_text.want([run], "test")
        session.jobs.running[-1].cancel()
        qtbot.waitUntil(lambda: session.on_text.found(run) is not None)
    assert session.on_text.found(run).startswith("It was cancelled.")
    session.on_text.choose(None)
    assert isinstance(measure(qtbot, session, run)[0], TextTokens)


def test_a_deleted_run_is_not_measured_any_more(qtbot, session, make_run, monkeypatch):
    run = opened(session, make_run(vocabulary_size=280).tokenizer.compact())
    monkeypatch.setattr(measurers, "prepare_work", endless)
    session.on_text.want([run], "test")
    assert session.jobs.running
    session.runs.delete(run)
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert session.on_text.found(run) is None


def test_an_empty_text_has_a_reason_instead_of_a_figure(session, make_run):
    run = opened(session, make_run(vocabulary_size=280).tokenizer.compact())
    session.on_text.choose(ChosenText.of_sources("nothing", (Source.from_texts([""]),)))
    assert session.on_text.found(run) == "The text is empty."
