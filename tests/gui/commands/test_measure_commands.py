"""Measure On: the texts that one can choose for all rows of Runs, through the window."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tests.gui.person import PATIENCE, at_the_window, trained
from tokstudio.core.comparison.alignment import TextTokens

pytestmark = pytest.mark.usefixtures("unstyled")


def test_every_row_is_measured_on_the_chosen_text(qtbot, monkeypatch, tmp_path):
    other = tmp_path / "shakespeare.txt"
    other.write_text("To be, or not to be: that is the question.\n" * 9, encoding="utf-8")
    broken = tmp_path / "missing.txt"

    def act(window, answers):
        session, on_text = window.session, window.session.on_text
        session.corpus.add_text("the cat sat on the mat. " * 40)
        run = trained(qtbot, window)
        actions = window.actions_by_id

        def chosen(action, name):
            actions[action].trigger()
            qtbot.waitUntil(lambda: on_text.text is not None and on_text.text.name == name, timeout=PATIENCE)
            qtbot.waitUntil(lambda: isinstance(on_text.found(run), TextTokens), timeout=PATIENCE)
            return on_text.found(run)

        window.runs.show()
        window.runs.raise_()
        sources = session.corpus.sources
        before = on_text.text.name
        answers.files = [other]
        found = chosen("measure_on_file", "shakespeare.txt")
        assert found.tokens == len(run.tokenizer.encode(other.read_text(encoding="utf-8")))
        assert session.corpus.sources == sources, "it is measured on, not trained on"
        assert window.runs.text_button.text() == "Measured on shakespeare.txt"

        answers.files = [broken]
        actions["measure_on_file"].trigger()
        qtbot.waitUntil(lambda: not session.jobs.running, timeout=PATIENCE)
        assert on_text.text.name == "shakespeare.txt", "the last text stays"
        answers.files = []
        actions["measure_on_file"].trigger()
        assert on_text.text.name == "shakespeare.txt"

        session.view.set_text("")
        assert not actions["measure_on_text"].isEnabled()
        session.view.set_text("the question")
        assert chosen("measure_on_text", "the text “the question”").tokens == len(run.tokenizer.encode("the question"))

        assert not actions["measure_on_held_out"].isEnabled()
        assert chosen("measure_on_corpus", before).tokens == run.log.tokens_at(len(run))

    assert at_the_window(monkeypatch, act) == 0
