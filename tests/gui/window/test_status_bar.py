"""The status bar: the current work, and the figures of the active run."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from itertools import pairwise

import pytest
from PySide6.QtCore import QEvent, QObject, QTimer

from tests.gui.person import PATIENCE
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.corpus.source import Source
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.model.settings import ALGORITHM_TITLES
from tokstudio.gui.session.common.jobs import LatestJob
from tokstudio.gui.session.training.training import Settings
from tokstudio.gui.state.training_plans import TrainingPlan
from tokstudio.gui.style.theme import Theme
from tokstudio.gui.window import status_bar
from tokstudio.gui.window.status_bar import Pace, StatusLine


@pytest.fixture
def line(qtbot, session) -> StatusLine:
    made = StatusLine(session, Theme())
    qtbot.addWidget(made)
    made.resize(1400, made.sizeHint().height())
    made.show()
    return made


def for_ever() -> Work[None]:
    while True:
        yield Progress("encoding", 1, 4)
        time.sleep(0.002)


def for_a_while() -> Work[str]:
    for part in range(10):
        yield Progress("writing", part, 10)
        time.sleep(0.002)
    return "Wrote merges.csv."


def test_it_shows_the_end_and_the_figures_of_the_run_without_cutting_digits(qtbot, session, line, make_run):
    session.corpus.add_text("the cat sat on the mat " * 50)
    make_run(vocabulary_size=266)
    assert line.label.text().endswith(": reached vocabulary size.")
    run = session.runs.active
    assert (
        line.figures.text() == f"10 merges    †{1150 / run.log.tokens_at(10):.2f} bytes per token    "
        f"{run.log.tokens_at(10):,} tokens in the training text (1,150 before merging)"
    )
    session.view.set_playhead(1)
    assert line.figures.text().startswith("1 merge    ")
    session.view.set_playhead(0)
    assert line.figures.text() == "0 merges    1.00 bytes per token    1,150 tokens in the training text"
    session.view.set_playhead(10)
    line.resize(1600, line.height())
    whole = line.figures.text()
    for width in (900, 700, 500, 360):
        line.window().resize(width, 40)
        line.resize(width, line.height())
        assert line.figures.text().startswith("10 merges    ")
        qtbot.waitUntil(lambda: line.figures.width() >= line.figures.sizeHint().width())
    assert line.figures.text() != whole
    assert line.figures.toolTip().startswith(f"{whole}\n† Trained on this text")


@pytest.mark.parametrize("algorithm", ["bpe", "wordpiece"])
def test_it_says_which_of_several_trainings_is_in_progress(qtbot, session, line, algorithm):
    session.corpus.add_text("the cat sat on the mat " * 50)
    first = TrainingPlan(Settings(270, algorithm=algorithm))
    seen = set()
    watch = QTimer(line, interval=1)
    watch.timeout.connect(lambda: seen.add(line.label.text()))
    session.queue.start([first, TrainingPlan(Settings(270, algorithm="whole-characters"))])
    session.jobs.busy_changed.emit()
    watch.start()
    title = ALGORITHM_TITLES[algorithm]
    # What the job does may be known already, and follows.
    assert re.fullmatch(rf"Training 1 of 2: {title}(\. .+)?…", line.label.text())
    qtbot.waitUntil(lambda: not session.queue.total)
    watch.stop()
    assert all(text.startswith("Training ") for text in seen if "…" in text)
    assert not line.label.text().startswith("Training ")


def test_it_says_why_the_second_stage_of_superbpe_did_not_begin(qtbot, session, line, make_run):
    session.corpus.add_text("the cat sat on the mat " * 50)
    make_run(vocabulary_size=900, algorithm="superbpe", pattern="gpt2", transition=800)
    size = session.runs.active.vocabulary_size
    assert line.label.text().endswith(
        f"nothing left to merge. Stage 2 did not begin, as stage 1 ended before it: choose a transition of at most "
        f"{size}."
    )
    make_run(vocabulary_size=900, algorithm="superbpe", pattern="gpt2", transition=size)
    assert session.runs.active.run.second_stage is not None
    assert "Stage 2" not in line.label.text()


def test_a_pause_shows_its_position_and_the_keys_to_continue(qtbot, session, line):
    session.corpus.add_text("the cat sat on the mat " * 50)
    session.training.step()
    sentence = "Paused after 1 merge. F6 resumes, F10 makes one more."
    qtbot.waitUntil(lambda: line.label.text() == sentence)
    session.training.step()
    qtbot.waitUntil(lambda: line.label.text().startswith("Paused after 2 merges."))


def test_an_extension_counts_its_own_merges_alone(qtbot, session, line, make_run):
    session.corpus.add_text("the cat sat on the mat " * 50)
    start = make_run(vocabulary_size=266, pattern="gpt2")
    config = TrainingConfig(vocabulary_size=270, pattern="gpt2")
    session.training.start_from(start.tokenizer, config, session.corpus.current, "")
    session.training.pause()
    session.training.step()
    sentence = "Paused after 1 new merge. F6 resumes, F10 makes one more."
    qtbot.waitUntil(lambda: line.label.text() == sentence)
    assert line._rate < 10, "those of the start are not merges of a tenth of a second"
    before, after = start.log.tokens_at(10), session.runs.active.log.tokens_at(11)
    figures = f"{after:,} tokens in the training text ({before:,} before the new merges)"
    qtbot.waitUntil(lambda: line.figures.text().endswith(figures))
    session.view.set_playhead(4)
    assert line.figures.text().endswith(" tokens in the training text (1,150 before merging)")


def test_a_message_at_the_end_of_a_job_stays(qtbot, session, line):
    session.jobs.pauses = replace(session.jobs.pauses, brief_message=1, shown_bar=10)
    job = session.jobs.start(for_a_while)
    job.finished.connect(line.say)
    qtbot.waitUntil(lambda: not session.jobs.running)
    qtbot.wait(10)
    assert line.currentMessage() == "Wrote merges.csv."
    assert not line.label.isVisible(), "one sentence stands there, not two"


def test_a_sentence_is_one_line_that_ends_in_dots_with_a_tip(line, qtbot, session):
    def rows(sentence: str) -> int:
        line.say(sentence)
        image = line.grab().toImage()
        plain = image.pixelColor(2, 2)
        inked = (y for y in range(image.height()) if any(image.pixelColor(x, y) != plain for x in range(300)))
        return len(list(inked))

    assert rows("Wrote a\nb.csv.") == rows("Wrote a b.csv.")
    sentence = (
        "Wrote vocabulary.json and merges.json to a folder. Read back: identical on the test text (1,234 tokens)." * 3
    )
    line.say(sentence)
    line.resize(400, line.height())
    cut, tip = line.grab().toImage(), line.toolTip()
    assert "identical on the test text" in tip
    line.resize(6000, line.height())
    assert line.toolTip() == ""
    # As a short one that ends in dots: what is drawn begins alike and stops before the margin.
    room = line.fontMetrics().horizontalAdvance(sentence)
    assert room > 400
    plain = cut.pixelColor(399, 2)
    assert all(cut.pixelColor(x, y) == plain for x in range(389, 399) for y in range(cut.height()))
    assert any(cut.pixelColor(x, y) != plain for x in range(340, 389) for y in range(cut.height()))


def test_a_long_job_shows_a_bar_can_be_cancelled_and_is_hidden_by_a_message_only_briefly(
    qtbot, monkeypatch, session, line
):
    monkeypatch.setattr(status_bar, "_SHOWN_FOR", 10 * PATIENCE)
    session.jobs.pauses = replace(session.jobs.pauses, shown_bar=10)
    job = session.jobs.start(for_ever)
    qtbot.waitUntil(line.cancel.isVisible)
    assert line.label.text() == "Encoding…"
    assert line.bar.value() == 250
    line.cancel.click()
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert job.is_cancelled
    assert not line.bar.isVisible()
    session.jobs.pauses = replace(session.jobs.pauses, brief_message=5)
    session.jobs.start(for_ever)
    line.say("Wrote merges.csv.")
    assert line.currentMessage() == "Wrote merges.csv."
    qtbot.waitUntil(lambda: not line.currentMessage())


def test_a_quiet_job_is_not_shown(qtbot, session, line):
    session.jobs.start(for_ever, quiet=True)
    session.jobs.busy_changed.emit()
    assert line.label.text() == ""


def test_a_job_cancelled_elsewhere_is_not_shown(qtbot, session):
    latest, told = LatestJob(session.jobs), []
    latest.failed.connect(told.append)
    latest.run(for_ever)
    assert latest.busy
    session.jobs.running[0].cancel()
    qtbot.waitUntil(lambda: bool(told))
    assert not latest.busy
    assert str(told[0]) == "Cancelled."


def test_the_time_left_is_estimated_from_the_last_seconds_once_it_can_be():
    pace = Pace()
    for second in range(61):
        # Slow at first, then ten times as fast.
        done = min(second, 40) + 10 * max(0, second - 40)
        pace.note(float(second), Progress("merging", done, 1000))
    assert pace.seconds_left() == pytest.approx((1000 - 240) / 10)
    pace = Pace()
    pace.note(0.0, Progress("merging", 0, 1000))
    pace.note(1.0, Progress("merging", 500, 1000))
    assert pace.seconds_left() is None
    pace.note(4.0, Progress("merging", 500, 1000))
    assert pace.seconds_left() == pytest.approx(4.0)
    unknown = Pace()
    unknown.note(0.0, Progress("reading"))
    unknown.note(9.0, Progress("reading"))
    assert unknown.seconds_left() is None


def test_invalid_utf8_and_unknown_characters_are_reported_and_the_ratio_of_held_out_text(
    qtbot, session, line, make_run
):
    session.corpus.set_sources((Source.from_texts([b"aab\xff" * 20]),))
    session.training.set_settings(
        Settings(None, 2, base="characters", base_vocabulary=("a", "<?>", "\ufffd"), unknown_token="<?>")
    )
    session.training.start()
    qtbot.waitUntil(lambda: session.training.current is None)
    assert line.label.text().endswith("20 places were not UTF-8 and became U+FFFD. 20 characters are unknown.")
    session.corpus.set_sources(())
    session.corpus.add_text("the cat sat on the mat\n" * 100)
    make_run(vocabulary_size=270, held_out=0.1)
    qtbot.waitUntil(lambda: "held-out" in line.figures.text())
    assert f"({session.runs.active.held_out.ratio:.2f} in held-out text)" in line.figures.text()


def test_a_message_leaves_when_the_next_thing_happens(qtbot, session, line, make_run):
    session.corpus.add_text("a mat, a rat")
    run = make_run(vocabulary_size=262)
    session.jobs.told.connect(line.say)
    deeds = {
        "playhead": lambda: session.view.set_playhead(1),
        "text": lambda: session.view.set_text("typed"),
        "weights": lambda: session.corpus.set_weights((2000,)),
        "settings": lambda: session.training.set_settings(Settings(280)),
        "job": lambda: session.jobs.start(for_a_while),
        "delete": lambda: session.history.delete_run(run),
    }
    for name, deed in deeds.items():
        qtbot.waitUntil(lambda: not session.jobs.running)
        line.say("Wrote merges.csv.")
        deed()
        assert line.currentMessage() == "", name
    assert line.notice.text.text() == "Deleted Run 1.", "with the offer to undo it, in its place"


def test_a_message_about_what_a_job_has_opened_stays_while_the_panes_follow(qtbot, session, line, make_run):
    run = make_run(vocabulary_size=262)
    session.runs.add_tokenizer(run.tokenizer, "opened")
    qtbot.waitUntil(lambda: not session.jobs.running)
    job = session.jobs.start(for_a_while)
    job.finished.connect(line.say)
    job.finished.connect(session.view.set_text)
    qtbot.waitUntil(lambda: not session.jobs.running)
    assert line.currentMessage() == "Wrote merges.csv."


def test_a_message_leaves_when_a_training_starts_and_pauses(qtbot, session, line):
    session.jobs.pauses = replace(session.jobs.pauses, brief_message=10 * PATIENCE)
    session.corpus.add_text("the cat sat on the mat " * 50)
    line.say("Wrote merges.csv.")
    session.training.step()
    assert line.currentMessage() == ""
    line.say("Wrote merges.csv.")
    qtbot.waitUntil(lambda: line.currentMessage() == "")
    assert line.label.text().startswith("Paused after 1 merge.")


def test_progress_does_not_draw_the_window_at_once(qtbot, session, line):
    drawn = []

    class Drawn(QObject):
        def eventFilter(self, watched, event):
            if event.type() == QEvent.Type.Paint:
                drawn.append(watched)
            return False

    def slowly() -> Work[None]:
        for part in range(100_000):
            yield Progress("writing", part, 100_000)
            time.sleep(0.0005)

    session.jobs.pauses = replace(session.jobs.pauses, shown_bar=10)
    job = session.jobs.start(slowly)
    qtbot.waitUntil(lambda: line.bar.isVisible() and line.bar.value() > 0)
    seen = Drawn()
    line.bar.installEventFilter(seen)
    qtbot.waitUntil(lambda: bool(drawn))
    value = line.bar.value()
    drawn.clear()
    while line.bar.value() == value and job.running:
        # As its timer does, without what is drawn between.
        session.jobs.busy_changed.emit()
        time.sleep(0.002)
    assert line.bar.value() > value
    assert not drawn
    line.bar.removeEventFilter(seen)
    job.cancel()
    qtbot.waitUntil(lambda: not session.jobs.running)


def test_the_time_left_of_compiling_is_steady_though_some_loops_take_long():
    pace = Pace(60.0)
    for second in range(10):
        pace.note(float(second), Progress("compiling", 0, 75))
    assert pace.seconds_left() is None, "the start of the processes says nothing"
    now, told = 10.0, []
    for loop in range(1, 40):
        for _ in range(24 if loop % 10 == 0 else 4):
            now += 0.25
            pace.note(now, Progress("compiling", loop, 75))
        told.append(pace.seconds_left())
    estimates = [left for left in told[12:] if left is not None]
    assert estimates[0] == pytest.approx(62 * 1.5, rel=0.5)
    assert all(after < 1.25 * before for before, after in pairwise(estimates))
