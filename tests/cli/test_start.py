"""What is started: the window, a command, or the help."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import pytest

from tokstudio import cli
from tokstudio.core.config import TIE_BREAKS
from tokstudio.core.formats import FORMATS


@pytest.fixture
def window(monkeypatch):
    """Stands in for the window, and notes how it is opened."""
    calls = []
    module = ModuleType("tokstudio.gui.app")
    module.run = lambda files, **options: calls.append(([str(file) for file in files], options)) or 0
    monkeypatch.setitem(sys.modules, "tokstudio.gui.app", module)
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
def test_what_the_window_cannot_do_is_wrong_usage(window, capsys, arguments):
    assert cli.main(arguments) == 2
    assert not window
    assert capsys.readouterr().err.startswith("usage: tokstudio")


def test_a_window_without_its_libraries_is_explained():
    script = "import sys; sys.modules['PySide6'] = None; from tokstudio.cli import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(b"tokstudio: The window cannot open: ")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["train", "--help"], ["encode"], ["train", "-x"]])
def test_help_and_version_load_nothing_heavy(arguments):
    script = (
        "import sys; from tokstudio.cli import main; main(sys.argv[1:]); "
        "sys.exit(sum(name.split('.')[0] in ('numpy', 'numba', 'PySide6', 'regex') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, timeout=60).returncode == 0


def test_help_knows_what_the_core_knows(capsys):
    assert cli.main(["train", "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"{{{','.join(TIE_BREAKS)}}}" in shown
    writable = [name for name, kind in FORMATS.items() if kind.writable]
    # Lines are broken behind hyphens as well.
    assert all(name in "".join(shown.split()) for name in writable)
    assert cli.main(["train", "text", "--export", "papyrus=scroll"]) == 2
    said = capsys.readouterr().err.split('format "papyrus" is not known; known: ')[1]
    assert set(writable) <= set(said.strip().split(", "))
