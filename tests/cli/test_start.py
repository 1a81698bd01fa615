"""The start of the window, of a command, or of the help."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from types import ModuleType

import pytest

from tokstudio import Tokenizer, save
from tokstudio.cli.process.terminal import Console, import_problem, last_failure_file
from tokstudio.core.base.machine import ONE_THREAD
from tokstudio.core.kernels import cache, compiled
from tokstudio.gui.session.preferences import settings_file


@pytest.fixture
def opens(monkeypatch):
    """Puts a function in the place of what opens the window."""

    def arrange(run):
        module = ModuleType("tokstudio.gui.app.app")
        module.run = run
        monkeypatch.setitem(sys.modules, "tokstudio.gui.app.app", module)

    return arrange


@pytest.fixture
def window(opens):
    """Stands in for the window, and notes how it is opened."""
    calls = []

    def run(files, **options):
        calls.append(([str(file) for file in files], options))
        if options["claim"] is not None:
            options["claim"].release()  # as the window does; the next start would wait for it
        return 0

    opens(run)
    return calls


@pytest.fixture
def loader_fails(opens):
    """A system without a library of Qt's: what its loader then says."""

    def fail(files, **options):
        raise ImportError("libEGL.so.1: cannot open shared object file: No such file or directory", name="QtOpenGL")

    opens(fail)


def test_files_open_in_the_window(window, run):
    run(0)
    run(0, "book.txt folder train")
    assert [files for files, _ in window] == [[], ["book.txt", "folder", "train"]]
    for _, options in window:
        assert options.pop("claim") is not None
        assert options == {"demo": False, "screenshot": None, "log_file": None}


def test_a_command_goes_before_a_file_of_that_name(window, run):
    run(2, "train", says="tokstudio train: error: the following arguments are required: FILE")
    run(0, "./train")
    assert [files for files, _ in window] == [["train"]]


def test_the_demo_can_leave_a_picture(window, run):
    run(0, "--demo --screenshot out.png")
    [(files, options)] = window
    assert (files, options["demo"], str(options["screenshot"])) == ([], True, "out.png")


def test_a_mistyped_command_is_not_taken_for_a_file(window, run, write):
    run(
        2,
        "inspec book.model",
        says="inspec is neither a command (train, run, mixture, how-much-text, infer-mixture, count, encode",
    )
    assert not window
    write("notes", "")
    run(0, "notes")
    assert [files for files, _ in window] == [["notes"]]


@pytest.mark.parametrize("module", ["pyqtgraph", "PySide6.QtOpenGL"])
def test_a_window_without_a_library_that_it_loads_later_is_explained(monkeypatch, run, module):
    monkeypatch.setitem(sys.modules, module, None)
    said = run(1, "--new-window").err
    assert said.startswith("tokstudio: The window cannot open: ")
    assert module in said
    assert said.count("\n") == 1


def test_a_window_without_qt_is_explained():
    script = "import sys; sys.modules['PySide6'] = None; from tokstudio.cli import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(b"tokstudio: The window cannot open: ")
    assert done.stderr.count(b"\n") == 1


def test_a_missing_library_is_named_with_what_to_install_also_as_the_cause_of_an_error(loader_fails, run):
    error = ImportError("\n\nPLEASE READ THIS!\n\nImporting the C-extensions failed.\n")
    error.__cause__ = ImportError("libgfortran.so.5: cannot open shared object file: No such file or directory")
    assert import_problem(error).startswith("The window cannot open: the library libgfortran.so.5 is missing. ")
    said = run(1, "--new-window").err
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


@pytest.mark.skipif(sys.platform == "win32", reason="there a box says it")
def test_a_failed_start_without_a_terminal_is_written_to_the_log_folder(loader_fails, monkeypatch, run):
    monkeypatch.setenv("DISPLAY", ":0")
    said = run(1, "--new-window").err
    assert f"tokstudio: {last_failure_file().read_text(encoding='utf-8')}" == said


@pytest.mark.skipif(sys.platform == "win32", reason="there a box says it")
def test_a_successful_start_removes_the_file_of_a_failed_one(window, monkeypatch, run):
    monkeypatch.setenv("DISPLAY", ":0")
    last_failure_file().parent.mkdir(parents=True, exist_ok=True)
    last_failure_file().write_text("The window cannot open.\n", encoding="utf-8")
    run(0, "--new-window")
    assert not last_failure_file().exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there a box says it")
def test_settings_that_cannot_be_reset_now_are_no_failed_start(window, monkeypatch, run):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("tokstudio.gui.app.crash_report.is_running", lambda folder: True)
    run(1, "--reset-settings", says="A window is open")
    assert not last_failure_file().exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is always a display")
def test_no_file_is_written_if_standard_error_is_a_terminal(loader_fails, monkeypatch, run):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    run(1, "--new-window")  # no display, so no double click
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    run(1, "--new-window", says="libEGL")
    assert not last_failure_file().exists()


def test_help_and_version_load_nothing_heavy():
    script = """
import sys
from tokstudio.cli import main
for words in ("--version", "--help", "train --help", "encode", "train -x"):
    main(words.split())
    heavy = {name.split(".")[0] for name in sys.modules} & {"numpy", "numba", "PySide6", "regex"}
    assert not heavy, (words, heavy)
import os, numpy
assert sys.platform != "linux" or len(os.listdir("/proc/self/task")) == 1, "NumPy has started threads"
"""
    variables = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, env=variables)
    assert done.returncode == 0, done.stderr


def test_the_window_loads_without_reading_the_sources_of_its_modules(tmp_path):
    # PySide6 reads them to see whether a module uses Qt, a tenth of the time of the start.
    script = """
import linecache, sys
from types import ModuleType
from tokstudio.cli import main
app = ModuleType("tokstudio.gui.app.app")
def run(files, *, claim, **options):
    from tokstudio.core.formats.loading import load
    from tokstudio.gui.style.theme import Theme
    claim.release()
    files = [sys.modules[loaded.__module__].__file__ for loaded in (load, Theme)]
    return int(any(file in linecache.cache for file in files))
app.run = run
sys.modules[app.__name__] = app
sys.exit(main(["--new-window"]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, text=True)
    assert done.returncode == 0, done.stderr


def test_a_text_is_encoded_without_what_corpora_projects_and_libraries_need(tmp_path):
    save(Tokenizer.from_parts({n: bytes([n]) for n in range(256)}, []), tmp_path, format="huggingface")
    script = """
import sys
from tokstudio.cli import main
code = main(["encode", "--text", "hello", "--tokenizer", sys.argv[1]])
print(code, *sys.modules)
"""
    words = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    ids, loaded = done.stdout.splitlines()
    code, *modules = loaded.split()
    assert (ids, code) == ("[104, 101, 108, 108, 111]", "0"), done.stderr
    outside = {"numba", "concurrent.futures", "importlib.metadata", "email", "pyarrow", "asyncio"}
    ours = {"corpus.corpus", "corpus.open_sources", "libraries.client", "project", "surgery", "training", "kernels"}
    heavy = (outside | {f"tokstudio.core.{name}" for name in ours}) & set(modules)
    assert not heavy


def test_compiler_plots_dialogs_and_panes_are_loaded_after_the_window_answers_and_qt_only_in_the_main_thread(own_home):
    script = """
import sys
import threading
from PySide6.QtWidgets import QApplication
from tokstudio.gui.app.app import Studio
from tokstudio.gui.window.panes import KINDS

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
at_once = ("compression", "text", "guide")
late = {f"tokstudio.gui.panes.{KINDS[name].rpartition('.')[0]}" for name in KINDS if name not in at_once}
early = {"numba", "pyqtgraph", "importlib.metadata", *dialogs, *late} & set(sys.modules)
studio.show()
while "numba" not in sys.modules or studio.session.jobs.running:
    application.processEvents()
assert {"pyqtgraph", *late} <= set(sys.modules)
studio.close()
print(*early, *elsewhere)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    # What Qt says of the offscreen platform goes to the other stream.
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


def when_the_window_answers(code: str) -> subprocess.CompletedProcess[str]:
    """Starts the window in a process of its own, which runs `code` when it answers."""
    script = f"""
import logging
import sys
from tokstudio.cli import main
from tokstudio.core.base.progress import Progress

def act():
{textwrap.indent(textwrap.dedent(code), "    ")}

class Answers(logging.Handler):
    def emit(self, record):
        if record.getMessage() == "The window answers.":
            act()

logging.getLogger("tokstudio").addHandler(Answers())
logging.getLogger("tokstudio").setLevel(logging.INFO)
sys.exit(main(["--new-window"]))
"""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)


def leave_in(workspace):
    """Leaves the window in a workspace, where the next start opens it."""
    file = settings_file()
    file.parent.mkdir(parents=True)
    file.write_text(f"[General]\nworkspace={workspace}\n", encoding="utf-8")


@pytest.mark.parametrize("workspace", ["learn", "train"])
def test_what_takes_time_to_load_is_loaded_after_the_window_answers_and_numpy_before_any_job(own_home, workspace):
    leave_in(workspace)
    done = when_the_window_answers("""
        from PySide6.QtWidgets import QApplication
        def work():
            yield Progress("looking")
            print("numpy._core" in sys.modules)
        window = next(each for each in QApplication.topLevelWidgets() if hasattr(each, "session"))
        print(window.places.workspace, {"numpy._core", "regex", "PySide6.QtNetwork"} & set(sys.modules))
        window.session.jobs.start(work, lambda _: window.close(), quiet=True)
    """)
    assert (done.returncode, done.stdout) == (0, f"{workspace} set()\nTrue\n"), done.stderr


@pytest.mark.parametrize("workspace", ["explore", "compare"])
def test_the_window_opens_in_the_workspace_that_was_left(own_home, workspace):
    leave_in(workspace)
    done = when_the_window_answers("""
        from PySide6.QtWidgets import QApplication
        window = next(each for each in QApplication.topLevelWidgets() if hasattr(each, "session"))
        print(window.places.workspace)
        window.close()
    """)
    assert (done.returncode, done.stdout) == (0, f"{workspace}\n"), done.stderr


def test_a_library_that_numpy_misses_is_told_though_the_window_has_opened(own_home):
    done = when_the_window_answers("""
        def fail(module):
            raise ImportError("libgfortran.so.5: cannot open shared object file: No such file or directory")
        sys.modules["numpy"].__spec__.loader.exec_module = fail
    """)
    assert "The window cannot open: the library libgfortran.so.5 is missing." in done.stderr
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("chatty", "is_complete", "told"),
    [(True, False, 1), (False, False, 0), (True, True, 0)],
    ids=["the first run", "--quiet or --json", "all loops are there but this"],
)
def test_a_run_that_compiles_loops_says_so_once(chatty, is_complete, told, monkeypatch, tmp_path, capsys):
    places = cache.Places(tmp_path, tmp_path if is_complete else None)
    for module in (cache, compiled):
        monkeypatch.setattr(module, "places", lambda: places)

    def compile_two():
        loop = compiled.njit(cache=True)(lambda one, other: one + other)
        return loop(2, 3), loop(2.5, 3.0)

    with Console(chatty):
        assert compile_two() == (5, 5.5)
    assert capsys.readouterr().err.count("Compiling the loops that this needs, once on this computer") == told
    with Console(chatty):
        assert compile_two() == (5, 5.5)  # from the cache
    shutil.rmtree(tmp_path)
    assert compile_two() == (5, 5.5)  # without a console
    assert capsys.readouterr() == ("", "")
