"""The mixture in the Corpus pane: when it is there, what it shows, and its sliders and fields."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from tests.gui.conftest import docked
from tests.gui.person import at_window, quiet
from tokstudio.core.base.resources import resource
from tokstudio.core.corpus.readers.contents import Reading
from tokstudio.core.corpus.source import Source
from tokstudio.gui.panes.corpus.mixture import TemperatureDialog, nearest_step
from tokstudio.gui.panes.corpus.pane import CorpusPane
from tokstudio.gui.session.measuring.compared import parallel_set
from tokstudio.gui.state.training_plans import MOST, by_temperature, entries_of
from tokstudio.gui.state.training_settings import Settings

LATIN, CYRILLIC = "the cat sat on the mat.\n" * 40, "кот сидел на окне.\n" * 40


pane = docked(CorpusPane, 300, 700)


def idle(qtbot, session) -> None:
    qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running)


@pytest.fixture
def mixed(qtbot, session, pane) -> CorpusPane:
    """The pane with two sources, at its mixture."""
    session.corpus.add_text(LATIN, "latin.txt")
    session.corpus.add_text(CYRILLIC, "cyrillic.txt")
    idle(qtbot, session)
    pane.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: len(pane.mixture.rows) == 2)
    return pane


def shown(pane: CorpusPane) -> list[tuple[str, str, str, float]]:
    return [(row.name.text(), row.share.text(), row.facts.text(), row.field.value()) for row in pane.mixture.rows]


def test_nothing_is_said_of_a_mixture_with_one_source(qtbot, session, pane):
    assert pane.tabs.isHidden()
    session.corpus.add_text(LATIN)
    assert pane.tabs.isHidden()
    session.corpus.add_text(CYRILLIC)
    assert pane.tabs.isVisible()
    pane.tabs.setCurrentIndex(1)
    assert pane.mixture.isVisible()
    session.corpus.remove_sources([0])
    assert pane.tabs.isHidden()
    assert pane.source_list.isVisible()


def test_every_source_has_a_row_with_its_weight_that_is_reached_by_keys_and_typed(mixed, qtbot, session):
    assert shown(mixed) == [
        ("latin.txt", "42.1\u00a0%", "960 B · Latin", 1.0),
        ("cyrillic.txt", "57.9\u00a0%", "1.3 kB · Cyrillic", 1.0),
    ]
    row = mixed.mixture.rows[0]
    assert row.field.accessibleName() == "Weight of latin.txt"
    assert row.slider.accessibleName() == "Weight of latin.txt, slider"
    assert row.share.accessibleName() == "Share of latin.txt: 42.1\u00a0%"
    assert mixed.mixture.button.accessibleName()
    first, second = mixed.mixture.rows
    first.slider.setFocus()
    for control in (first.field, second.slider, second.field):
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        assert QApplication.focusWidget() is control
    mixed.setFocus()
    row = mixed.mixture.rows[0]
    for control in (row.slider, row.field):
        place = QPointF(control.rect().center())
        buttons, keys = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
        event = QWheelEvent(place, place, QPoint(), QPoint(0, -120), buttons, keys, Qt.ScrollPhase.NoScrollPhase, False)
        QApplication.sendEvent(control, event)
    assert session.corpus.weights == (1000, 1000)
    session.corpus.set_weights((3000, 1000))
    assert [(share, weight) for _, share, _, weight in shown(mixed)] == [("68.6\u00a0%", 3.0), ("31.4\u00a0%", 1.0)]
    session.history.undo()
    assert [weight for *_, weight in shown(mixed)] == [1.0, 1.0]
    field = mixed.mixture.rows[0].field
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "0.125")
    assert session.corpus.weights == (1000, 1000), "a number is taken when it is whole"
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert session.corpus.weights == (125, 1000)
    assert mixed.mixture.rows[0].slider.value() == nearest_step(125)


def test_parts_of_two_files_that_are_joined_by_value_have_one_weight(qtbot, session, pane, tmp_path):
    rows = [{"text": text, "lang": lang} for lang, text in (("la", LATIN), ("ru", CYRILLIC))]
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    files, reading = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], Reading(split_by="lang", join_values=True)
    session.corpus.open_paths(files, readings=dict.fromkeys(files, reading))
    pane.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: len(pane.mixture.rows) == 2)
    assert [source.name for source in session.corpus.sources] == [
        f"{name}.jsonl: {lang}" for name in "ab" for lang in ("la", "ru")
    ]
    assert [(name, facts[:6]) for name, _, facts, _ in shown(pane)] == [
        ("la", "1.9 kB"),
        ("ru", "2.6 kB"),
    ]
    field = pane.mixture.rows[1].field
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "5")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert session.corpus.weights == (1000, 5000, 1000, 5000)


def test_a_dragged_slider_and_keys_move_the_weight_until_released_or_after_a_pause(qtbot, session, mixed):
    slider = mixed.mixture.rows[0].slider
    start, end = slider.rect().center(), QPoint(slider.width() - 10, slider.height() // 2)
    QTest.mousePress(slider, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(slider, end)
    assert session.corpus.moving
    assert session.corpus.weights[0] > 50_000
    assert session.corpus.weights[1] == 1000
    assert mixed.mixture.rows[0].field.value() == session.corpus.weights[0] / 1000
    QTest.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=end)
    assert not session.corpus.moving
    session.history.undo()
    assert session.corpus.weights == (1000, 1000)
    slider = mixed.mixture.rows[1].slider
    for _ in range(3):
        qtbot.keyClick(slider, Qt.Key.Key_Right)
    weights = session.corpus.weights
    assert weights[1] > 1000
    qtbot.waitUntil(lambda: not session.corpus.moving)
    session.history.undo()
    assert session.corpus.weights == (1000, 1000)
    qtbot.keyClick(slider, Qt.Key.Key_Home)
    assert session.corpus.weights == (1000, 0)


def test_a_slider_reaches_every_weight_and_its_own_weights_exactly(mixed, session):
    slider, weights = mixed.mixture.rows[0].slider, []
    for step in range(slider.minimum(), slider.maximum() + 1):
        slider.setValue(step)
        weights.append(session.corpus.weights[0])
        assert nearest_step(weights[-1]) == step
    assert all(earlier < later for earlier, later in pairwise(weights))
    assert (weights[0], weights[len(weights) // 2], weights[-1]) == (0, 1000, MOST)


def test_the_pane_says_when_the_weights_apply_and_ratios_follow_the_playhead(qtbot, session, mixed):
    assert "With a pattern, the run would follow them." in mixed.mixture.note.text()
    session.training.set_settings(Settings(vocabulary_size=290, pattern="gpt2"))
    assert mixed.mixture.note.text() == "The weights apply at the next Train. After it, the run follows them."
    session.training.start()
    idle(qtbot, session)
    assert mixed.mixture.note.text() == "The run follows the weights."
    session.training.set_settings(Settings(vocabulary_size=290, pattern="gpt2"))
    session.training.start()
    qtbot.waitUntil(lambda: all(row.ratio.text() for row in mixed.mixture.rows))
    idle(qtbot, session)
    run = session.runs.active
    for merges in (len(run), 5, 0):
        session.view.set_playhead(merges)
        tokenizer = session.view.tokenizer
        for row, text in zip(mixed.mixture.rows, (LATIN, CYRILLIC), strict=True):
            ratio = len(text.encode()) / len(tokenizer.encode(text))
            assert row.ratio.text() == f"{'†' if merges else ''}{ratio:.2f} bytes/token"
    session.corpus.add_text("another corpus")
    assert not any(row.ratio.text() for row in mixed.mixture.rows)
    idle(qtbot, session)


@pytest.mark.parametrize("taken", [True, False])
def test_the_dialog_of_the_temperature_shows_its_weights_and_restores_them(qtbot, session, mixed, taken):
    mixed.ask_temperature()
    dialog = mixed.findChild(TemperatureDialog)
    dialog.exponent.setValue(0.25)
    sources = session.corpus.sources
    assert session.corpus.weights == by_temperature(sources, entries_of(sources), 0.25) != (1000, 1000)
    dialog.accept() if taken else dialog.reject()
    assert not session.corpus.moving
    assert (session.corpus.weights == (1000, 1000)) == (not taken)


@at_window()
def test_the_story_in_eight_scripts_is_replaced_whole_and_equal_content_follows_parallel_texts(
    qtbot, unstyled, window, tmp_path
):
    window.actions_by_id["sample_scripts"].trigger()
    quiet(qtbot, window)
    corpus = window.session.corpus
    assert [source.name for source in corpus.sources][-3:] == ["Hindi", "Chinese", "Korean"]
    assert window.session.history.undo_text == "Add 8 sources"
    assert not window.actions_by_id["weights_as_they_are"].isEnabled()
    window.actions_by_id["weights_equal"].trigger()
    window.corpus.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: [row.share.text() for row in window.corpus.mixture.rows] == ["12.5\u00a0%"] * 8)
    assert {row.facts.text().split(" · ")[1] for row in window.corpus.mixture.rows} >= {"Hangul", "Devanagari"}
    window.actions_by_id["weights_as_they_are"].trigger()
    assert set(corpus.weights) == {1000}
    quiet(qtbot, window)
    path = tmp_path / "mine.txt"
    path.write_text(LATIN)
    parts = window.session.corpus.sources
    window.session.corpus.open_paths([path])
    quiet(qtbot, window)
    assert window.notices.text.text() == "mine.txt replaced the sample One story in eight scripts."
    assert [source.name for source in window.session.corpus.sources] == ["mine.txt"]
    qtbot.waitUntil(window.notices.isVisible)
    qtbot.mouseClick(window.notices.act_button, Qt.MouseButton.LeftButton)
    assert window.session.corpus.sources[:-1] == parts
    assert window.session.corpus.sources[-1].name == "mine.txt"
    quiet(qtbot, window)

    # Equal content follows the bytes of parallel texts, and says what it cannot weigh.
    action, told = window.actions_by_id["weights_by_content"], []
    window.session.jobs.told.connect(told.append)
    window.session.jobs.refused.connect(told.append)
    corpus.set_sources(tuple(Source.from_texts(["a"], name) for name in ("one.txt", "de.txt")))
    assert not action.isEnabled()
    assert "Fewer than two sources are in a language of the parallel texts" in action.statusTip() + action.toolTip()
    texts = (("de.txt", LATIN * 3), ("ru.txt", CYRILLIC), ("notes.txt", "x y z"), ("zh.txt", "我 们"))
    corpus.set_sources(tuple(Source.from_texts([text], name) for name, text in texts))
    corpus.set_weights(before := (1000, 1000, 500, 700))
    assert action.isEnabled()
    action.trigger()
    qtbot.waitUntil(lambda: corpus.weights != before)
    story = (resource(f"corpora/story/{code}.txt").read_bytes() for code in ("deu_Latn", "rus_Cyrl"))
    sizes = [sum(map(len, text.splitlines())) for text in story]
    contents = [corpus.sources[n].bytes * corpus.weights[n] / sizes[n] for n in range(2)]
    assert contents[0] == pytest.approx(contents[1], rel=1e-3)
    assert corpus.weights[2:] == (500, 700)
    # The story is in simplified characters, which the name "zh" does not tell.
    kept = 'These keep their weights, as their names match no language there: "notes.txt", "zh.txt".'
    assert any(kept in text for text in told)
    window.session.history.undo()
    assert corpus.weights == before
    quiet(qtbot, window)
    # An opened set serves, and is known to have none of the languages only after it was read.
    parallel = tmp_path / "parallel"
    parallel.mkdir()
    for name in ("fra", "ita"):
        (parallel / f"{name}.txt").write_text("a\nb\n")
    window.session.comparison.add_texts(parallel_set(parallel))
    assert window.session.comparison.parallel.title == parallel.name
    qtbot.waitUntil(action.isEnabled)
    action.trigger()
    fewer = f"Fewer than two sources are in a language of {parallel.name}"
    qtbot.waitUntil(lambda: any(fewer in text for text in told))
    assert corpus.weights == before
    quiet(qtbot, window)


def test_a_folder_has_one_weight_and_many_single_sources_are_too_many(qtbot, session, mixed):
    parts = [replace(Source.from_texts([LATIN], f"{number}.txt"), group="books") for number in range(3)]
    session.corpus.set_sources((*session.corpus.sources, *parts))
    qtbot.waitUntil(lambda: len(mixed.mixture.rows) == 3)
    mixed.mixture.rows[2].field.setValue(2)
    assert session.corpus.weights == (1000, 1000, 2000, 2000, 2000)
    assert mixed.mixture.rows[2].name.text() == "books"
    idle(qtbot, session)
    session.corpus.set_sources(tuple(Source.from_texts(["a"], f"{number}.txt") for number in range(65)))
    qtbot.waitUntil(lambda: not mixed.mixture.rows)
    assert mixed.mixture.note.text().startswith("65 sources: single weights can be set for at most 64.")
