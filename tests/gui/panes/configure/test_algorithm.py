"""The algorithm of a training in Configure: the choice, and the fields of parity-aware BPE."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication

from tests.core.algorithms import PICKY_TEXT
from tests.gui.languages import NAMES, PARALLEL, TEXTS
from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.algorithms import ALGORITHMS, ParityAware, Picky, SuperBPE
from tokstudio.core.model.settings import LIBRARY_ALGORITHMS
from tokstudio.gui.panes.configure import parity_fields
from tokstudio.gui.panes.configure.pane import ConfigurePane
from tokstudio.gui.session.availability import cannot_extend
from tokstudio.gui.session.training.training import Settings


@pytest.fixture
def pane(session, theme, actions, dock) -> ConfigurePane:
    actions["train"].triggered.connect(lambda: session.training.start())
    pane = ConfigurePane(session, theme, actions)
    dock(pane, 320, 1500)
    return pane


@pytest.fixture
def languages(session, pane):
    """The pane with the languages as the corpus, and parity-aware BPE chosen."""
    for name, text in TEXTS.items():
        session.corpus.add_text(text, f"{name}.txt")
    session.training.set_settings(replace(Settings(290), algorithm="parity", tie_break="mapped-strings"))
    return pane


def choose(qtbot, box, number: int) -> None:
    box.setFocus()
    while box.currentIndex() != number:
        qtbot.keyClick(box, Qt.Key.Key_Down if number > box.currentIndex() else Qt.Key.Key_Up)


def settled(qtbot, session) -> None:
    qtbot.waitUntil(lambda: session.training.current is None and not session.jobs.running)


@pytest.mark.parametrize("algorithm", ["parity", "superbpe", "picky", "sentencepiece-unigram"])
def test_tab_goes_from_the_choice_through_its_fields_to_more(qtbot, pane, session, algorithm):
    for name, text in TEXTS.items():
        session.corpus.add_text(text, f"{name}.txt")  # ratios have a field for each
    session.training.set_settings(Settings(290).with_algorithm(algorithm, session.training.defaults))
    group = pane.algorithm.group(algorithm)
    expected = [control for control in group.controls if control.isVisible() and control.isEnabled()]
    assert expected
    seen = [pane.algorithm.choice.combo]
    seen[0].setFocus()
    while seen[-1] is not pane.more_button and len(seen) < 20:
        qtbot.keyClick(seen[-1], Qt.Key.Key_Tab)
        seen.append(QApplication.focusWidget())
    assert [one for one in seen[1:-1] if one in group.controls] == expected
    assert all(group.isAncestorOf(one) for one in seen[1:-1])


def test_plain_bpe_comes_first_and_the_usual_tie_rule_comes_with_an_algorithm(qtbot, pane, session):
    field = pane.algorithm
    assert [choice.value for choice in field.choice.combo.choices] == [*ALGORITHMS, *LIBRARY_ALGORITHMS]
    assert session.training.settings.algorithm == "bpe"
    assert not field.parity.isVisible()
    choose(qtbot, field.choice.combo, 1)
    assert session.training.settings.algorithm == "parity"
    assert field.parity.isVisible()
    assert "Foroutan" in field.choice.note.text()
    choose(qtbot, field.choice.combo, 0)
    assert session.training.settings == Settings()
    box = pane.algorithm.choice.combo
    choose(qtbot, box, 1)
    assert session.training.settings.tie_break == "mapped-strings"
    assert session.history.undo_text == "Algorithm"
    session.history.undo()
    assert session.training.settings == Settings()
    session.training.set_settings(Settings(tie_break="bytes"))
    choose(qtbot, box, 1)
    assert session.training.settings.tie_break == "bytes"
    assert "ties by bytes" in pane.unusual.text()


def test_the_fields_of_a_chosen_algorithm_are_in_sight(qtbot, pane, session):
    pane.window().resize(300, 380)
    body = pane._fields
    for number in range(1, pane.algorithm.choice.combo.count()):
        body.verticalScrollBar().setValue(0)
        choose(qtbot, pane.algorithm.choice.combo, number)
        group = pane.algorithm.group(session.training.settings.algorithm)
        if group is None:
            continue
        controls = [control for control in group.controls if control.isVisible()]
        qtbot.waitUntil(lambda shown=controls[-1]: not shown.visibleRegion().isEmpty())


def test_texts_that_are_named_like_the_corpus_are_trained_with(qtbot, languages, session):
    languages.algorithm.parity.take_texts({"deu": PARALLEL["de"], "en": PARALLEL["en"], "fin_Latn": PARALLEL["fi"]})
    assert session.history.undo_text == "Parallel Texts"
    rows = languages.algorithm.parity.texts.rows
    assert [one.language for one in rows] == NAMES
    assert [one.control.choices[one.control.currentIndex()].name for one in rows] == ["deu", "en", "fin_Latn"]
    assert not languages.algorithm.parity.ratios.isVisible()
    qtbot.mouseClick(languages.buttons["train"], Qt.MouseButton.LeftButton)
    settled(qtbot, session)
    made = session.runs.active.run
    sources = tuple(Source.from_texts([text], f"{name}.txt") for name, text in TEXTS.items())
    expected = train(Corpus(sources), TrainingConfig(vocabulary_size=290, algorithm=ParityAware(parallel=PARALLEL))).run
    assert made.merges.tolist() == expected.merges.tolist()
    assert made.columns["chosen_by"].tolist() == expected.columns["chosen_by"].tolist()


def test_texts_that_do_not_fit_are_refused_or_taken_away_and_come_back_by_undo(qtbot, languages, session):
    languages.algorithm.parity.take_texts({**PARALLEL, "fi": PARALLEL["fi"].rstrip() + "\nja vielä yksi\n"})
    field = languages.algorithm.parity.texts
    assert field.note.property("role") == "error"
    assert field.note.text().startswith('The parallel texts must be the same lines in each language: that of "de.txt"')
    assert session.training.obstacle == field.note.text()
    languages.algorithm.parity.take_texts({name: text.rstrip() + "\n" for name, text in PARALLEL.items()})
    assert session.training.obstacle is None
    languages.algorithm.parity.take_texts(PARALLEL)
    before = session.training.settings
    qtbot.mouseClick(languages.algorithm.parity.remove, Qt.MouseButton.LeftButton)
    assert session.training.settings.parallel == ()
    assert languages.algorithm.parity.ratios.isVisible()
    assert not languages.algorithm.parity.remove.isVisible()
    session.history.undo()
    assert session.training.settings == before
    assert [one.control.currentText() for one in languages.algorithm.parity.texts.rows] == [
        "1 line  The text that was chosen before."
    ] * 3
    languages.algorithm.parity.take_texts(PARALLEL)
    session.corpus.remove_sources([2])
    assert session.training.obstacle.startswith('There is no language "fi.txt" for a parallel text')
    field = languages.algorithm.parity.texts
    assert field.note.text() == session.training.obstacle
    assert [one.language for one in field.rows] == NAMES
    choose(qtbot, field.rows[2].control, 0)
    assert session.training.obstacle is None
    assert [one.language for one in field.rows] == NAMES[:2]


def test_texts_with_other_names_are_chosen_for_each_language(qtbot, languages, session):
    languages.algorithm.parity.take_texts({"eins": PARALLEL["de"], "zwei": PARALLEL["en"], "drei": PARALLEL["fi"]})
    field = languages.algorithm.parity.texts
    assert field.note.property("role") == "error"
    assert field.note.text().startswith("No text has the name of a language of the corpus")
    assert session.training.obstacle == field.note.text()
    assert languages.summary.text() == "Fix the parallel texts."
    choose(qtbot, field.rows[0].control, 1)
    assert session.training.settings.parallel == (("de.txt", PARALLEL["de"]),)
    assert session.training.obstacle.startswith('The parallel text of "en.txt", "fi.txt" is missing')
    assert field.note.text() == session.training.obstacle
    choose(qtbot, field.rows[1].control, 2)
    assert session.training.obstacle is None
    assert field.note.text() == 'Without a parallel text, and so only counted, never choosing: "fi.txt".'
    choose(qtbot, field.rows[2].control, 3)
    assert session.training.obstacle is None
    assert field.note.property("role") == "muted"
    assert dict(session.training.settings.parallel) == dict(zip(NAMES, PARALLEL.values(), strict=True))


def test_ratios_hybrid_and_window_have_fields_with_their_errors_and_one_language_is_refused(qtbot, languages, session):
    field = languages.algorithm.parity.ratios
    assert [one.language for one in field.rows] == NAMES
    box = field.rows[2].control
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, "0")
    assert session.training.settings.ratios == (("fi.txt", 0.0),)
    assert field.note.text() == 'The ratio of "fi.txt" must be a number above 0, not 0.'
    assert session.training.obstacle == field.note.text()
    box.selectAll()
    qtbot.keyClicks(box, "2.5")
    assert session.training.settings.config().algorithm == ParityAware(ratios=(("fi.txt", 2.5),))
    assert field.note.property("role") == "muted"
    assert session.history.undo_text == "Ratios"
    session.training.set_settings(replace(Settings(290), algorithm="parity", tie_break="mapped-strings"))
    fields = languages.algorithm.parity
    for limit in (fields.named["global_merges"], fields.named["window"]):
        qtbot.mouseClick(limit.check, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
    config = session.training.settings.config()
    assert config.algorithm == ParityAware(global_merges=500, window=100, alpha=2.0)
    fields.named["window"].number.setValue(0)
    assert fields.named["window"].note.text() == "The window must be at least 1, not 0."
    fields.named["window"].number.setValue(50)
    fields.named["alpha"].number.setValue(0)
    assert fields.named["alpha"].note.text() == "Alpha must be a number above 0, not 0."
    assert not languages.buttons["train"].isEnabled()
    qtbot.mouseClick(fields.named["window"].check, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
    assert not fields.named["alpha"].isVisible()
    assert session.training.settings.problem is None
    session.corpus.set_weights((1000, 0, 0))
    problem = "Parity-aware BPE needs at least two languages, each as a text or a folder of its own."
    assert session.training.obstacle == problem
    assert languages.algorithm.choice.note.text() == problem
    assert languages.summary.text() == "Change the corpus, or choose another algorithm."
    assert not languages.buttons["train"].isEnabled()
    session.corpus.set_weights((1000, 0, 1000))
    assert session.training.obstacle is None
    assert languages.algorithm.choice.note.property("role") == "muted"


def test_settings_of_another_program_keep_their_names_and_many_languages_have_no_rows(
    qtbot, languages, session, monkeypatch
):
    given = replace(session.training.settings, ratios=(("de", 1.23456),), window=100, alpha=1.23456)
    session.training.set_settings(given)
    assert languages.algorithm.parity.ratios.rows[0].control.value() == 1.235
    languages.size_field.number.setValue(300)
    assert session.training.settings == replace(given, vocabulary_size=300)
    monkeypatch.setattr(parity_fields, "MOST", 2)
    languages.algorithm.parity.take_texts(PARALLEL)
    assert languages.algorithm.parity.texts.rows == []
    languages.size_field.number.setValue(300)
    assert len(session.training.settings.parallel) == 3
    assert session.training.obstacle is None


def test_a_weight_of_zero_stops_a_run_that_follows_it(qtbot, languages, session):
    session.training.set_settings(replace(session.training.settings, pattern="gpt2"))
    session.corpus.set_weights((1000, 0, 1000))
    session.training.start()
    settled(qtbot, session)
    assert session.live.obstacle is None
    failures = []
    session.jobs.failed.connect(failures.append)
    session.corpus.set_weights((1000, 0, 0), moving=True)
    settled(qtbot, session)
    assert failures == []
    assert session.live.obstacle == "The weights apply at the next Train."


def test_a_tokenizer_is_extended_by_plain_bpe_only(session, make_run):
    make_run(vocabulary_size=270)
    assert cannot_extend(session) is None
    session.training.set_settings(Settings(270, algorithm="parity"))
    assert cannot_extend(session) == "Training goes on from a tokenizer by plain BPE only: choose it in Configure."


def test_superbpe_has_a_transition_and_trains(qtbot, pane, session):
    session.corpus.add_text("the cat sat on the mat and the cat sat on the rat. " * 40)
    session.training.set_settings(Settings(280))
    box = pane.algorithm.choice.combo
    choose(qtbot, box, [*ALGORITHMS].index("superbpe"))
    fields = pane.algorithm.group("superbpe")
    assert fields.isVisible()
    assert fields.named["transition"].number.value() == session.training.settings.transition == 210
    assert fields.named["transition"].note.text().startswith("The transition must be at least 256")
    assert "choose one, such as gpt2" in pane.pattern.choice.note.text() + pane.pattern.own.note.text()
    assert not pane.buttons["train"].isEnabled()
    fields.named["transition"].number.setValue(270)
    fields.named["max_words"].number.setValue(2)
    session.training.set_settings(replace(session.training.settings, pattern="gpt2"))
    qtbot.waitUntil(lambda: session.training.obstacle is None)
    session.training.start()
    settled(qtbot, session)
    expected = TrainingConfig(vocabulary_size=280, pattern="gpt2", algorithm=SuperBPE(transition=270, max_words=2))
    assert session.runs.active.config == expected


def test_boundless_needs_a_pattern_and_is_trained(qtbot, pane, session):
    field = pane.algorithm
    session.corpus.add_text("one of the cats and one of the dogs of the end " * 9, "a")
    session.training.set_settings(replace(Settings(290), algorithm="boundless", pattern="none"))
    assert "BoundlessBPE needs a pattern" in session.training.settings.faults["pattern"]
    session.training.set_settings(replace(Settings(290), algorithm="boundless", pattern="gpt2"))
    assert field.choice.value == "boundless"
    assert "Schmidt" in field.choice.note.text()
    session.training.start()
    settled(qtbot, session)
    run = session.runs.active
    assert run.log.columns["overtaken"].tolist() == run.run.columns["overtaken"].tolist()
    assert run.tokenizer.supermerges.any()
    assert session.live.obstacle.startswith("The weights apply at the next Train: BoundlessBPE reads the text again")


def test_picky_has_a_threshold_and_no_tie_rule_to_choose(qtbot, pane, session):
    field = pane.algorithm
    session.corpus.add_text(PICKY_TEXT, "a")
    session.training.set_settings(Settings(290, tie_break="bytes"))
    choose(qtbot, field.choice.combo, [choice.value for choice in field.choice.combo.choices].index("picky"))
    assert "Chizhov" in field.choice.note.text()
    assert field.group("picky").isVisible()
    assert not pane.more.named["tie_break"].isVisibleTo(pane.more)
    assert "ties" not in pane.unusual.text()
    assert "At most 34 tokens made by merges" in pane.summary.text()
    number = field.group("picky").named["threshold"].number
    assert number.value() == 0.9
    number.setFocus()
    number.lineEdit().selectAll()
    qtbot.keyClicks(number, "0.4\r")
    assert session.training.settings.threshold == 0.4
    assert session.history.undo_text == "Threshold"
    config = session.training.settings.config()
    assert (config.algorithm, config.tie_break) == (Picky(threshold=0.4), "smallest-bytes")
    choose(qtbot, field.choice.combo, 0)
    assert session.training.settings.tie_break == "bytes"
    assert pane.more.named["tie_break"].isVisibleTo(pane.more)
    assert not field.group("picky").isVisible()


def test_the_choice_has_three_quarters_of_the_row(languages):
    field = languages.algorithm.choice
    assert field.combo.width() > 0.7 * field.width()  # room for "Parity-aware BPE" in a column of usual width
    field.set_value("whole-characters")
    assert field.note.text() == "A token is whole characters, or a part of one (Land and Arnett, 2025)."
