"""The start of the window, of a command, or of the help."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import pytest

from tokstudio import cli
from tokstudio.cli.process.terminal import import_problem, last_failure_file
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.model.algorithms import TIE_BREAKS
from tokstudio.core.model.config import NAMED_RULES


@pytest.fixture
def window(monkeypatch):
    """Stands in for the window, and notes how it is opened."""
    calls = []
    module = ModuleType("tokstudio.gui.app.app")

    def run(files, **options):
        calls.append(([str(file) for file in files], options))
        if options["claim"] is not None:
            options["claim"].release()  # as the window does; the next start would wait for it
        return 0

    module.run = run
    monkeypatch.setitem(sys.modules, "tokstudio.gui.app.app", module)
    return calls


def test_files_open_in_the_window(window):
    assert cli.main([]) == 0
    assert cli.main(["book.txt", "folder", "train"]) == 0
    assert [files for files, _ in window] == [[], ["book.txt", "folder", "train"]]
    for _, options in window:
        assert options.pop("claim") is not None
        assert options == {"demo": False, "screenshot": None, "log_file": None}


def test_a_command_goes_before_a_file_of_that_name(window, capsys):
    assert cli.main(["train"]) == 2
    assert cli.main([os.path.join(".", "train")]) == 0
    assert [files for files, _ in window] == [["train"]]
    assert "tokstudio train: error: the following arguments are required: FILE" in capsys.readouterr().err


def test_the_demo_can_leave_a_picture(window):
    assert cli.main(["--demo", "--screenshot", "out.png"]) == 0
    [(files, options)] = window
    assert (files, options["demo"], str(options["screenshot"])) == ([], True, "out.png")


@pytest.mark.parametrize("arguments", [["--screenshot", "a.png"], ["--demo", "book.txt"], ["--nonsense"]])
def test_impossible_window_options_are_wrong_usage(window, capsys, arguments):
    assert cli.main(arguments) == 2
    assert not window
    assert capsys.readouterr().err.startswith("usage: tokstudio")


@pytest.mark.parametrize("word", ["inspec", "unknown-command", "nothing.txt"])
@pytest.mark.parametrize("help", ["--help", "-h"])
def test_help_for_a_command_that_does_not_exist_is_wrong_usage(capsys, word, help):
    assert cli.main([word, help]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"tokstudio: error: {word} is neither a command (train, count, encode")
    assert printed.err.endswith("; did you mean inspect?\n") == (word == "inspec")


@pytest.mark.parametrize(
    ("words", "wrong", "right"),
    [
        (["train", "a.txt", "--vocabsize", "300"], "--vocabsize", "--vocab-size"),
        (["train", "a.txt", "--vocab", "300"], "--vocab", "--vocab-size"),
        (["train", "a.txt", "-vocab-size=300"], "-vocab-size", "--vocab-size"),
        (["encode", "--tokeniser", "mine", "--text", "a"], "--tokeniser", "--tokenizer"),
        (["extend", "mine", "a.txt", "--exprot", "classic=a"], "--exprot", "--export"),
        (["compare", "bytes", "--text", "a.txt"], "--text", "--texts"),
        (["--new-windows"], "--new-windows", "--new-window"),
        (["train", "a.txt", "--held", "0.1"], "--held", "--held-out"),
        (["train", "a.txt", "--min", "2"], "--min", "--min-document-chars or --min-frequency"),
    ],
)
def test_of_a_misspelt_option_the_nearest_is_named(window, capsys, words, wrong, right):
    assert cli.main(words) == 2
    program = f"tokstudio {words[0]}" if words[0][0] != "-" else "tokstudio"
    assert capsys.readouterr().err == (
        f"{program}: error: there is no option {wrong}: did you mean {right}? {program} --help lists all.\n"
    )
    assert not window


def test_values_that_begin_like_an_option_are_values(text, capsys):
    """After `--`, after a sign of equality, and with a space, as argparse has it."""
    assert cli.main(["train", "--vocab-size", "300", "--special=--vocab", "--special", "--a b", "--", text]) == 0
    assert cli.main(["train", text, "--vocab-size", "-10"]) == 1
    assert "there is no option" not in capsys.readouterr().err


def test_a_mistyped_command_is_not_taken_for_a_file(window, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["inspec", "book.model"]) == 2
    assert not window
    assert "inspec is neither a command (train, count, encode" in capsys.readouterr().err
    (tmp_path / "notes").touch()
    assert cli.main(["notes"]) == 0
    assert [files for files, _ in window] == [["notes"]]


def test_a_window_without_its_libraries_is_explained():
    script = "import sys; sys.modules['PySide6'] = None; from tokstudio.cli import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(b"tokstudio: The window cannot open: ")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("module", ["pyqtgraph", "PySide6.QtOpenGL"])
def test_a_library_missing_during_opening_is_explained(module):
    script = f"import sys; sys.modules['{module}'] = None; from tokstudio.cli import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(b"tokstudio: The window cannot open: ")
    assert done.stderr.count(b"\n") == 1


@pytest.fixture
def loader_fails(monkeypatch):
    """A system without a library of Qt's: what its loader then says."""

    def fail(files, **options):
        raise ImportError("libEGL.so.1: cannot open shared object file: No such file or directory", name="QtOpenGL")

    module = ModuleType("tokstudio.gui.app.app")
    module.run = fail
    monkeypatch.setitem(sys.modules, "tokstudio.gui.app.app", module)


def test_a_missing_library_is_named_with_what_to_install(loader_fails, capsys):
    assert cli.main(["--new-window"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("tokstudio: The window cannot open: the library libEGL.so.1 is missing. ")
    assert "sudo apt-get install libegl1 " in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("dlopen(QtCore.so, 2): Library not loaded: QtCore\n  Referenced from: /x\n", "Library not loaded: QtCore"),
        ("\n\nPLEASE READ THIS!\n\nImporting the C-extensions failed.\n", "PLEASE READ THIS"),
        ("DLL load failed while importing QtCore.", "DLL load failed while importing QtCore"),
        ("", "a library cannot be loaded"),
    ],
)
def test_a_loader_error_of_several_lines_becomes_one(said, told):
    words = import_problem(ImportError(said))
    assert words.startswith("The window cannot open: ")
    assert words.endswith(f"{told}. Install what is missing.")
    assert "\n" not in words


def test_the_cause_of_a_wrapped_error_is_reported():
    error = ImportError("\n\nPLEASE READ THIS!\n\nImporting the C-extensions failed.\n")
    error.__cause__ = ImportError("libgfortran.so.5: cannot open shared object file: No such file or directory")
    assert import_problem(error).startswith("The window cannot open: the library libgfortran.so.5 is missing. ")


@pytest.mark.skipif(sys.platform == "win32", reason="there a box says it")
def test_a_failed_start_without_a_terminal_is_written_to_the_log_folder(loader_fails, monkeypatch, capsys):
    monkeypatch.setenv("DISPLAY", ":0")
    assert cli.main(["--new-window"]) == 1
    said = capsys.readouterr().err
    assert f"tokstudio: {last_failure_file().read_text(encoding='utf-8')}" == said


@pytest.mark.skipif(sys.platform == "win32", reason="there a box says it")
def test_a_successful_start_removes_the_file_of_a_failed_one(window, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    last_failure_file().parent.mkdir(parents=True, exist_ok=True)
    last_failure_file().write_text("The window cannot open.\n", encoding="utf-8")
    assert cli.main(["--new-window"]) == 0
    assert not last_failure_file().exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there a box says it")
def test_settings_that_cannot_be_reset_now_are_no_failed_start(window, monkeypatch, capsys):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("tokstudio.gui.app.crash_report.is_running", lambda folder: True)
    assert cli.main(["--reset-settings"]) == 1
    assert "A window is open" in capsys.readouterr().err
    assert not last_failure_file().exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a display")
def test_no_file_is_written_if_standard_error_is_a_terminal(loader_fails, monkeypatch, capsys):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert cli.main(["--new-window"]) == 1  # no display, so no double click
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert cli.main(["--new-window"]) == 1
    assert "libEGL" in capsys.readouterr().err
    assert not last_failure_file().exists()


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["train", "--help"], ["encode"], ["train", "-x"]])
def test_help_and_version_load_nothing_heavy(arguments):
    script = (
        "import sys; from tokstudio.cli import main; main(sys.argv[1:]); "
        "sys.exit(sum(name.split('.')[0] in ('numpy', 'numba', 'PySide6', 'regex') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, timeout=60).returncode == 0


def test_compiler_plots_and_dialogs_are_loaded_after_the_window_answers_and_qt_only_in_the_main_thread(own_home):
    script = """
import sys
import threading
from PySide6.QtWidgets import QApplication
from tokstudio.gui.app.app import Studio

class Watch:
    def find_spec(self, name, *_):
        if name.startswith(("PySide6", "pyqtgraph")) and threading.current_thread() is not threading.main_thread():
            elsewhere.add(name)

elsewhere = set()
sys.meta_path.insert(0, Watch())
application = QApplication([])
studio = Studio(application)
studio.window.show()
application.processEvents()
dialogs = {"tokstudio.gui.dialogs.export.dialog", "tokstudio.gui.dialogs.surgery.prune"}
early = {"numba", "pyqtgraph", *dialogs} & set(sys.modules)
studio.show()
while "numba" not in sys.modules or studio.session.jobs.running:
    application.processEvents()
assert "pyqtgraph" in sys.modules
studio.close()
print(*early, *elsewhere)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    # What Qt says of the offscreen platform goes to the other stream.
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


def test_the_help_lists_the_values_of_the_core(capsys):
    assert cli.main(["train", "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"{{{','.join(TIE_BREAKS)}}}" in shown
    assert f"kind:{','.join(NAMED_RULES)},token" in "".join(shown.split())
    writable = [name for name, kind in FORMATS.items() if kind.writable]
    # Lines are broken behind hyphens as well.
    assert all(name in "".join(shown.split()) for name in writable)
    assert cli.main(["train", "text", "--export", "papyrus=scroll"]) == 2
    said = capsys.readouterr().err.split('format "papyrus" is unknown; choose one of: ')[1]
    assert set(writable) <= set(said.strip().split(", "))
