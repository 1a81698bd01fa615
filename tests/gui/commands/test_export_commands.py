"""Exporting the plot: a picture that is drawn at once and compressed in the background."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QImageWriter

from tests.gui.person import Answers
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.saving import save_work
from tokstudio.gui.commands import export_commands as exports
from tokstudio.gui.commands.export_commands import ExportCommands
from tokstudio.gui.dialogs.export.queue import report_work
from tokstudio.gui.session.preferences import Preferences


class Plot:
    """Draws a picture of one colour, and remembers in which thread."""

    def __init__(self) -> None:
        self.drawn_in: list[threading.Thread] = []
        self.picture = QImage()
        self.compression = self.vocabulary = self

    def written(self) -> None:
        """No figures of the corpus are shown."""

    def to_image(self, width: int, height: int, scale: float) -> QImage:
        self.drawn_in.append(threading.current_thread())
        self.picture = QImage(width, height, QImage.Format.Format_ARGB32_Premultiplied)
        self.picture.fill(Qt.GlobalColor.darkCyan)
        return self.picture


@pytest.fixture
def plot():
    return Plot()


@pytest.fixture
def answers(tmp_path):
    made = Answers()
    made.target = tmp_path / "plot.png"
    return made


@pytest.fixture
def commands(session, plot, answers, tmp_path):
    return ExportCommands(session, Preferences(tmp_path / "settings.ini"), answers, plot, session)


@pytest.fixture
def compressed_in(monkeypatch):
    """The threads in which pictures were compressed."""
    threads = []

    class Watched(QImageWriter):
        def write(self, image):
            threads.append(threading.current_thread())
            return super().write(image)

    monkeypatch.setattr(exports, "QImageWriter", Watched)
    return threads


def test_the_window_draws_the_picture_and_a_job_compresses_and_writes_it(
    qtbot, session, commands, plot, answers, compressed_in
):
    told = []
    session.jobs.told.connect(told.append)
    commands.export_plot_png()
    assert len(session.jobs.running) == 1
    qtbot.waitUntil(lambda: not session.jobs.running)
    window = threading.main_thread()
    assert plot.drawn_in == [window]
    assert len(compressed_in) == 1
    assert compressed_in[0] is not window
    written = QImage(str(answers.target))
    assert written.convertToFormat(plot.picture.format()) == plot.picture
    assert answers.asked == ["Save Plot as PNG"]
    assert told == [f"Wrote plot.png to {answers.target.parent}."]


def test_a_picture_that_cannot_be_made_is_told_and_leaves_the_old_file(
    qtbot, session, commands, plot, answers, monkeypatch
):
    answers.target.write_text("old")
    monkeypatch.setattr(plot, "to_image", lambda width, height, scale: QImage())
    told = []
    session.jobs.failed.connect(told.append)
    commands.export_plot_png()
    qtbot.waitUntil(lambda: bool(told))
    assert told[0].text.startswith("plot.png: the picture cannot be drawn: ")
    assert answers.target.read_text() == "old"
    assert [entry.name for entry in answers.target.parent.glob("*.png")] == ["plot.png"]


def test_a_table_says_that_it_has_the_whole_run_wherever_the_playhead_stands(
    qtbot, session, make_run, commands, answers
):
    run = make_run(vocabulary_size=270)
    session.view.set_playhead(3)
    told = []
    session.jobs.told.connect(told.append)
    for name in ("merges-csv", "vocabulary-csv"):
        answers.target = answers.target.with_name(f"{name}.csv")
        commands.export_table(name)
        qtbot.waitUntil(lambda: not session.jobs.running)
        assert told[-1] == f"Wrote {name}.csv to {answers.target.parent}. It has all of {run.name} (270 tokens)."
    report = finish(save_work(run.tokenizer, answers.target.with_name("t.json"), "huggingface", proof=None))
    finish(report_work([report], answers.target.with_name("REPORT.txt"), run.name))
    lines = answers.target.with_name("REPORT.txt").read_text().splitlines()
    assert lines[lines.index("Tokenizer") + 2].strip() == f"{run.name}."
    assert lines[lines.index("Tokenizer") + 3].strip().startswith("270 tokens: ")
