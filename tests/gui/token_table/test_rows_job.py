"""The rows of a table while a job computes new ones."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tests.gui.person import PATIENCE
from tokstudio.core.analysis.token_index import index_work
from tokstudio.core.base.progress import Progress
from tokstudio.gui.panes.merges import MergesPane
from tokstudio.gui.panes.vocabulary.pane import VocabularyPane


@pytest.mark.parametrize("kind", [MergesPane, VocabularyPane])
def test_the_old_rows_stay_until_the_index_is_there_or_its_job_is_cancelled(
    qtbot, monkeypatch, session, theme, actions, show, make_run, kind
):
    waiting, begun = [True], []

    def held(*arguments):
        begun.append(arguments)
        while waiting:
            yield Progress("indexing tokens")
        return (yield from index_work(*arguments))

    monkeypatch.setattr("tokstudio.gui.session.measuring.token_facts.index_work", held)
    pane = kind(session, theme, actions)
    show(pane, 760, 320)
    run = make_run(vocabulary_size=290)
    qtbot.waitUntil(lambda: pane.model.rowCount() > 0, timeout=PATIENCE)
    before = [pane.model.token_at(row) for row in range(pane.model.rowCount())]
    pane.filter.setText("at")
    qtbot.waitUntil(lambda: bool(begun), timeout=PATIENCE)
    assert pane.busy()
    assert [pane.model.token_at(row) for row in range(pane.model.rowCount())] == before
    for job in tuple(session.jobs.running):
        job.cancel()
    qtbot.waitUntil(lambda: not pane.busy(), timeout=PATIENCE)
    assert pane.note.text() == "The search was cancelled."
    assert [pane.model.token_at(row) for row in range(pane.model.rowCount())] == before
    waiting.clear()
    pane.filter.setText("a")
    qtbot.waitUntil(lambda: not pane.busy(), timeout=PATIENCE)
    found = {pane.model.token_at(row) for row in range(pane.model.rowCount())}
    tokens = run.tokenizer.tokens
    shown = before if kind is MergesPane else range(len(tokens))
    assert found == {token for token in shown if b"a" in tokens[token].lower()}
