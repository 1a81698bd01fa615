"""Word counts that were counted with a pattern and special tokens, which the settings of the training follow."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tokstudio import Corpus, count
from tokstudio.core.base.resources import SAMPLES, sample_text
from tokstudio.gui.session.session import Session
from tokstudio.gui.state.training_settings import Settings


def idle(qtbot, session: Session) -> None:
    qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running)


def counted_table(folder: Path, name: str = "counts", **settings: Any) -> Path:
    """A table of the words of a text."""
    path = folder / f"{name}.parquet"
    count(Corpus.from_text("the cat<s> sat " * 9), **{"pattern": "gpt2", **settings}).save(path)
    return path


def opened_counts(qtbot, session: Session, *paths: Path) -> list[str]:
    """Opens files of word counts; returns the sentences of the status bar meanwhile."""
    told: list[str] = []
    before = len(session.corpus.sources)
    session.jobs.told.connect(told.append)
    session.corpus.open_counts(list(paths))
    idle(qtbot, session)
    assert len(session.corpus.sources) == before + len(paths)
    return told


def test_the_pattern_of_counted_words_is_taken_over_and_can_be_undone(qtbot, session, tmp_path):
    before = Settings(vocabulary_size=270)
    session.training.set_settings(before)
    assert opened_counts(qtbot, session, counted_table(tmp_path)) == ["Pattern gpt2 taken over from counts.parquet."]
    assert session.training.settings == replace(before, pattern="gpt2")
    assert session.training.obstacle is None
    assert session.history.undo_text == "Pattern"
    session.history.undo()
    assert session.training.settings == before
    assert len(session.corpus.sources) == 1
    session.history.redo()
    session.training.start()
    idle(qtbot, session)
    assert len(session.runs.active) > 0


def test_special_tokens_of_counted_words_are_taken_over_unless_the_settings_have_them(qtbot, session, tmp_path):
    session.training.set_settings(Settings(special_tokens=("<pad>",)))
    told = opened_counts(qtbot, session, counted_table(tmp_path, pattern=r"\w+|\W+", special_tokens=["<s>"]))
    assert told == [r'Pattern "\w+|\W+" and special tokens taken over from counts.parquet.']
    assert session.training.settings == Settings(pattern=r"\w+|\W+", special_tokens=("<s>",))
    assert session.history.undo_text == "Training Settings"
    session.corpus.set_sources(())
    before = Settings(pattern="gpt2", special_tokens=("<t>", "<s>"))
    session.training.set_settings(before)
    assert opened_counts(qtbot, session, counted_table(tmp_path, special_tokens=["<s>", "<t>"])) == []
    assert session.training.settings == before
    session.corpus.set_sources(())
    base = (*sorted(set("the cat sat")), "<s>")
    session.training.set_settings(Settings(base="characters", base_vocabulary=base))
    told = opened_counts(qtbot, session, counted_table(tmp_path, special_tokens=["<s>"]))
    assert told == ["Pattern gpt2 taken over from counts.parquet."]
    assert session.training.obstacle is None


def test_words_beside_a_text_or_counted_in_several_ways_do_not_change_the_settings(qtbot, session, tmp_path):
    session.corpus.add_text("a text")
    assert opened_counts(qtbot, session, counted_table(tmp_path)) == []
    assert session.training.settings == Settings()
    session.corpus.set_sources(())
    tables = counted_table(tmp_path), counted_table(tmp_path, "others", pattern="whitespace")
    assert opened_counts(qtbot, session, *tables) == []
    assert session.training.settings == Settings()


def test_counted_words_that_replace_a_sample_bring_their_pattern(qtbot, session, tmp_path):
    notices = []
    session.jobs.noticed.connect(notices.append)
    session.corpus.add_text(sample_text("article"), next(one.title for one in SAMPLES if one.key == "article"))
    session.corpus.open_counts([counted_table(tmp_path)])
    idle(qtbot, session)
    assert len(session.corpus.sources) == 1
    assert session.training.settings.pattern == "gpt2"
    session.training.set_settings(Settings())
    notices[-1].act()
    assert len(session.corpus.sources) == 2
    session.corpus.remove_sources([0, 1])
    session.corpus.add_text("a text of one's own")
    opened_counts(qtbot, session, counted_table(tmp_path))
    assert session.training.settings.pattern == "none"
    assert notices[-1].verb == "Replace"
    notices[-1].act()
    assert len(session.corpus.sources) == 1
    assert session.training.settings.pattern == "gpt2"
