"""An error inside the program is written at once, and offered at the next start."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton, QWidget

from tests.gui.person import at_the_window, at_window, quiet, trained
from tests.gui.project.behind import killed
from tokstudio import ConfigError, __version__
from tokstudio.core.base.progress import Progress
from tokstudio.gui.app import app
from tokstudio.gui.app.crash_report import is_running, left_reports, reports_folder
from tokstudio.gui.window.message_bar import ReportCard

pytestmark = pytest.mark.usefixtures("unstyled")


def files():
    folder = reports_folder()
    return sorted(file.name for file in folder.iterdir()) if folder.exists() else []


def card_of(qtbot, window):
    card = window.findChild(ReportCard)
    qtbot.waitUntil(card.isVisible)
    return card


@pytest.fixture
def nothing_is_offered(qtbot, monkeypatch):
    """Whether a window has looked for reports and shows none."""
    looked = []

    def look(folder):
        looked.append(folder)
        return left_reports(folder)

    def nothing_is_offered(window, answers):
        qtbot.waitUntil(lambda: bool(looked) and not window.session.jobs.running)
        assert not window.findChild(ReportCard).isVisible()

    monkeypatch.setattr(app, "left_reports", look)
    return nothing_is_offered


def crash():
    """A start that is ended by a fault."""
    script = (
        "import os; from PySide6.QtGui import QGuiApplication;"
        "from tokstudio.gui.app.crash_report import CrashHook, reports_folder; a = QGuiApplication([]);"
        "CrashHook(reports_folder()).install(); os.abort()"
    )
    return subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60).returncode


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are POSIX's")
def test_reports_and_the_log_are_closed_to_others_and_kept_until_the_window_is_closed_and_without_errors_none_is_left(
    qtbot, monkeypatch, tmp_path
):
    made, at_the_end = [], []
    mkdir, close = os.mkdir, app.Studio.close

    def closing(studio):
        close(studio)
        at_the_end.extend(files())

    def noted(path, mode=0o777, **more):
        made.append((str(path), mode))
        mkdir(path, mode, **more)

    def act(window, answers):
        assert len(files()) == 2, "the report and its lock"
        report = next(file for file in reports_folder().iterdir() if file.suffix == ".txt")
        assert report.stat().st_mode & 0o777 == 0o600
        assert (tmp_path / "log.txt").stat().st_mode & 0o777 == 0o600

    monkeypatch.setattr(os, "mkdir", noted)
    monkeypatch.setattr(app.Studio, "close", closing)
    mask = os.umask(0)
    try:
        assert at_the_window(monkeypatch, act, ["--log-file", str(tmp_path / "log.txt")]) == 0
    finally:
        os.umask(mask)
    assert [mode for path, mode in made if path == str(reports_folder())] == [0o700]
    assert len(at_the_end) == 2, "a crash while the window closes is reported"
    assert files() == []


def test_a_crash_is_offered_after_unsaved_work_and_at_each_start_until_it_is_dismissed_and_is_copied_and_shown(
    qtbot, monkeypatch, tmp_path, book
):
    assert crash() != 0

    def leave(window, answers):
        card = card_of(qtbot, window)
        for button in card.findChildren(QPushButton):
            assert button.focusPolicy() & Qt.FocusPolicy.TabFocus
            assert button.text()

    def look(window, answers):
        qtbot.waitUntil(window.unsaved_work.isVisible)
        assert window.unsaved_work.text.text() == "TokStudio did not close properly. Not saved: Run 1."
        assert not window.findChild(ReportCard).isVisible()
        qtbot.mouseClick(window.unsaved_work.restore_button, Qt.MouseButton.LeftButton)
        card = card_of(qtbot, window)
        assert not window.unsaved_work.isVisible()
        assert card.text.text().startswith("TokStudio crashed the last time. ")
        qtbot.mouseClick(card.copy_button, Qt.MouseButton.LeftButton)
        report = QGuiApplication.clipboard().text()
        assert report.startswith(f"TokStudio {__version__}")
        assert "Fatal Python error: Aborted" in report
        qtbot.mouseClick(card.show_button, Qt.MouseButton.LeftButton)
        assert [file.read_text(encoding="utf-8") for file in answers.shown] == [report]
        card.dismiss_button.setFocus()
        qtbot.keyClick(card.dismiss_button, Qt.Key.Key_Space)
        assert not card.isVisible()

    assert at_the_window(monkeypatch, leave) == 0
    killed(qtbot, tmp_path / "image", lambda behind: behind.train(300), [book])
    assert at_the_window(monkeypatch, look) == 0
    assert files() == ["last-report.txt"]
    assert left_reports(reports_folder()) == []


def test_uncaught_errors_of_slots_and_of_threads_are_shown_at_once_and_reported(qtbot, qapp, monkeypatch, caplog):
    def fail_in_a_slot():
        raise ZeroDivisionError("of a slot")

    def fail_in_a_thread():
        raise ZeroDivisionError("of a thread")

    def is_told(window, of):
        qtbot.waitUntil(
            lambda: window.messages.isVisible() and f"ZeroDivisionError: {of}" in window.messages.text.text()
        )

    def break_it(window, answers):
        window.actions_by_id["sample_python"].trigger()
        trained(qtbot, window, 300)
        window.session.view.set_playhead(7)
        thread = threading.Thread(target=fail_in_a_thread)
        thread.start()
        thread.join()
        is_told(window, "of a thread")
        try:
            fail_in_a_slot()
        except ZeroDivisionError:
            # As a slot raises: nothing of ours is on the stack.
            raised = sys.exc_info()
        sys.excepthook(*raised)
        is_told(window, "of a slot")

    def look(window, answers):
        card = card_of(qtbot, window)
        assert card.text.text().startswith("Something went wrong inside TokStudio the last time. ")
        card.copy_button.click()
        report = QGuiApplication.clipboard().text()
        for of in ("slot", "thread"):
            assert f"ZeroDivisionError: of a {of}" in report
            assert f"in fail_in_a_{of}" in report
        before, acts = report.split("What came before:\n", 1)
        acts = acts.partition("What came before:\n")[0]
        assert "State: run 1 (bpe) of 44 merges, 300 tokens, playhead 7; 1 runs;" in before
        told = [line[len("00:00:00.000 ") :] for line in acts.splitlines()]
        assert "Action: train" in told
        assert told.index("Action: sample_python") < told.index("Sources: A Python program")

    assert at_the_window(monkeypatch, break_it) == 0
    assert at_the_window(monkeypatch, look) == 0
    with caplog.at_level("INFO"):
        caplog.clear()
        qapp.focusChanged.emit(None, QWidget())
    assert "Focus:" not in caplog.text, "a closed window logs nothing, which a later one in the process would report"


@at_window()
def test_a_job_that_fails_inside_the_program_is_reported_and_one_that_the_user_can_mend_is_not(qtbot, window):
    def broken():
        yield Progress("breaking")
        return np.zeros(1)[1]

    def refused():
        yield Progress("refusing")
        raise ConfigError("Choose something else.")

    for work in (refused, broken):
        window.session.jobs.start(work, quiet=True)
        quiet(qtbot, window)
    (report,) = (file for file in reports_folder().glob("run-*.txt"))
    text = report.read_text(encoding="utf-8")
    assert text.count("Nobody caught this") == 1
    assert "IndexError: index 1 is out of bounds for axis 0 with size 1" in text
    assert "in broken" in text
    assert "A job failed: Choose something else." in text.split("What came before:\n")[1]
    assert "State: no run;" in text


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="nothing kills like this here")
def test_the_reports_of_a_killed_and_of_a_running_program_are_not_offered_and_only_the_latter_stays(
    monkeypatch, nothing_is_offered
):
    script = (
        "import os, sys; from PySide6.QtGui import QGuiApplication;"
        "from tokstudio.gui.app.crash_report import CrashHook, reports_folder;"
        "killed = os.fork(); a = QGuiApplication([]); hook = CrashHook(reports_folder()); hook.install();"
        "killed or os.kill(os.getpid(), 9); os.waitpid(killed, 0);"
        "sys.excepthook(ValueError, ValueError('mine'), None);"
        "print('ready', flush=True); sys.stdin.read(); hook.remove()"
    )
    other = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout.readline().strip() == b"ready"
    assert sorted(name.split(".")[1] for name in files()) == ["lock", "lock", "txt", "txt"]
    assert at_the_window(monkeypatch, nothing_is_offered) == 0
    assert sorted(name.split(".")[1] for name in files()) == ["lock", "txt"]
    other.communicate(b"", timeout=60)
    (report,) = left_reports(reports_folder())
    assert "ValueError: mine" in report.text


def test_unreadable_reports_and_folders_do_not_hide_others(tmp_path):
    folder = reports_folder()
    for number in range(8):
        (folder / f"run-{number}a.txt").mkdir(parents=True)
        (folder / f"run-{number}b.txt").write_text("TokStudio\n\nFatal Python error: Aborted")
    assert {report.file.name for report in left_reports(folder)} == {f"run-{number}b.txt" for number in range(8)}
    assert not is_running(folder)
    folder = tmp_path / ("x" * 300)  # no file system has such a name, and an administrator may look into all others
    assert left_reports(folder) == []
    assert not is_running(folder)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="nothing is read-only to an administrator")
@pytest.mark.parametrize("with_lock", [False, True])
def test_an_old_report_in_a_read_only_folder_does_not_count_as_running(with_lock):
    folder = reports_folder()
    folder.mkdir(parents=True)
    (folder / "run-0.txt").write_text("TokStudio\n\n")
    if with_lock:
        over = subprocess.Popen([sys.executable, "-c", ""])
        over.wait()
        (folder / "run-0.lock").write_text(f"{over.pid}\ntokstudio\n{socket.gethostname()}\n")
    folder.chmod(0o500)
    try:
        assert not is_running(folder)
    finally:
        folder.chmod(0o700)
