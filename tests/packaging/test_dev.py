"""What `packaging/dev.py` decides: when `.venv` is made anew, what `test`, `app` and `bench` run, what the lock holds.

Nothing is installed here; that the two commands work on a bare machine is for the README's commands themselves to show.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import time
import tomllib
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def studio(dev, monkeypatch, tmp_path):
    """A folder that `dev` takes for the repository: a lock, a project file and no environment yet."""
    root = tmp_path / "東 studio"
    root.mkdir()
    (root / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    (root / "requirements.lock").write_text("numpy==2\n", encoding="utf-8")
    monkeypatch.setattr(dev, "ROOT", root)
    monkeypatch.setattr(dev, "LOCK", root / "requirements.lock")
    monkeypatch.setattr(dev, "ENVIRONMENT", root / ".venv")
    monkeypatch.setattr(dev, "PICTURE", root / "tokstudio-demo.png")
    return root


@pytest.fixture
def steps(dev, studio, monkeypatch):
    """The steps that `set_up` takes, recorded instead of done; the environment is there but empty."""
    taken: list[str] = []

    def make():
        taken.append("make")
        dev.ENVIRONMENT.mkdir(exist_ok=True)
        dev.unfinished_marker().touch()

    def install():
        taken.append("install")
        dev.unfinished_marker().touch()

    def check(python, needed):
        taken.append("check " + " ".join(needed))
        return needed

    monkeypatch.setattr(dev, "make_environment", make)
    monkeypatch.setattr(dev, "install_everything", install)
    monkeypatch.setattr(dev, "check_libraries", check)
    monkeypatch.setattr(dev, "needed_plugins", lambda platform, environment: ["offscreen"])
    monkeypatch.setattr(dev, "environment_fault", lambda: None if dev.ENVIRONMENT.exists() else "it is not there")
    return taken


# --- When the environment is brought up to date -------------------------------------------------------------------


def test_the_first_start_sets_everything_up_and_the_second_does_nothing(dev, steps):
    dev.set_up()
    assert steps == ["make", "install", "check offscreen"]
    steps.clear()
    dev.set_up()
    assert steps == []


@pytest.mark.parametrize("name", ["pyproject.toml", "requirements.lock"])
def test_a_changed_project_or_lock_is_installed_into_the_same_environment(dev, studio, steps, name):
    dev.set_up()
    steps.clear()
    with (studio / name).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    dev.set_up()
    assert steps == ["install", "check offscreen"]


def test_a_display_that_came_later_has_its_libraries_checked(dev, steps, monkeypatch):
    dev.set_up()
    steps.clear()
    monkeypatch.setattr(dev, "needed_plugins", lambda platform, environment: ["offscreen", "xcb"])
    dev.set_up()
    dev.set_up()
    assert steps == ["check offscreen xcb"]


def test_a_failed_installation_is_tried_again_in_the_same_environment(dev, steps, monkeypatch):
    installs = dev.install_everything

    def fail():
        installs()
        raise dev.SetupError("no network")

    with monkeypatch.context() as without_network:
        without_network.setattr(dev, "install_everything", fail)
        with pytest.raises(dev.SetupError, match="no network"):
            dev.set_up()
    assert not dev.unfinished_marker().exists()
    steps.clear()
    dev.set_up()
    assert steps == ["install", "check offscreen"]


@pytest.mark.parametrize("text", ["", "{", "[1]", "\0"])
def test_a_damaged_stamp_counts_as_none(dev, studio, text):
    dev.ENVIRONMENT.mkdir()
    (dev.ENVIRONMENT / "tokstudio-setup.json").write_text(text, encoding="utf-8")
    assert dev.read_stamp() == {}


def test_an_environment_that_was_interrupted_or_moved_or_has_no_python_is_made_anew(dev, studio):
    dev.ENVIRONMENT.mkdir()
    assert dev.environment_fault() == "its Python does not start"
    dev.write_stamp(key="", root="/somewhere/else", plugins=[])
    assert dev.environment_fault() == "the folder was moved"
    dev.unfinished_marker().touch()
    assert dev.environment_fault() == "its set-up was interrupted"


@pytest.mark.skipif(os.name == "nt", reason="stands in for Python with a shell script")
@pytest.mark.parametrize(
    ("version", "pip", "fault"),
    [
        ("3 2 True", True, "it belongs to another Python"),
        (f"{sys.version_info[0]} {sys.version_info[1]} False", True, "it belongs to another Python"),
        (f"{sys.version_info[0]} {sys.version_info[1]} True", False, "it is incomplete"),
        (f"{sys.version_info[0]} {sys.version_info[1]} True", True, None),
    ],
)
def test_an_environment_is_kept_only_with_pip_and_our_python(dev, studio, version, pip, fault):
    dev.program("python").parent.mkdir(parents=True)
    dev.program("python").write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
    dev.program("python").chmod(0o755)
    if pip:
        dev.program("pip").touch()
    assert dev.environment_fault() == fault


def test_a_broken_environment_is_emptied_but_what_it_links_to_is_not(dev, studio, monkeypatch):
    elsewhere = studio / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious.txt").touch()
    (dev.ENVIRONMENT / "lib").mkdir(parents=True)
    (dev.ENVIRONMENT / "lib" / "old.py").touch()
    try:
        (dev.ENVIRONMENT / "lib64").symlink_to(elsewhere, target_is_directory=True)
    except OSError:
        pytest.skip("links may not be made here")
    commands: list[list[str]] = []
    monkeypatch.setattr(dev, "require_venv_module", lambda: None)
    monkeypatch.setattr(dev, "run_quietly", lambda command, failure: commands.append(command))
    dev.make_environment()
    assert list(dev.ENVIRONMENT.iterdir()) == [dev.unfinished_marker()]
    assert (elsewhere / "precious.txt").exists()
    assert [command[-3:] for command in commands] == [["-m", "venv", str(dev.ENVIRONMENT)]]


@pytest.mark.skipif(os.name == "nt", reason="is about paths of Debian")
@pytest.mark.parametrize("root", [False, True])
def test_a_debian_without_its_venv_package_is_told_or_mended(dev, monkeypatch, root):
    installed: list[str] = []
    monkeypatch.setattr(dev.importlib.util, "find_spec", lambda name: installed or None)
    monkeypatch.setattr(dev, "base_python", lambda: "/usr/bin/python3.2")
    monkeypatch.setattr(dev, "has_apt", lambda: True)
    monkeypatch.setattr(dev, "is_root", lambda: root)
    monkeypatch.setattr(dev, "install_packages", installed.extend)
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"  # 3.2 is not what /usr/bin/python3 is.
    if root:
        dev.require_venv_module()
        assert installed == [package]
    else:
        with pytest.raises(dev.SetupError, match=rf"sudo apt-get install .*{re.escape(package)}$"):
            dev.require_venv_module()


# --- The commands -------------------------------------------------------------------------------------------------


@pytest.fixture
def ran(dev, monkeypatch):
    """The commands that `dev` runs, without its Python, recorded instead of run; nothing is set up.

    Each ends with 0, unless `ends` says otherwise.
    """
    recorded = SimpleNamespace(commands=[], variables=None, ends=lambda command: 0)

    def run(command, variables=None, cwd=None):
        recorded.commands.append(command[1:])
        recorded.variables = variables
        return recorded.ends(command)

    monkeypatch.setattr(dev, "set_up", lambda: None)
    monkeypatch.setattr(dev, "run_visibly", run)
    return recorded


def test_pytest_comes_last_and_gets_the_arguments(dev, monkeypatch):
    names = [name for name, _ in dev.checks([])]
    assert names == ["linter", "format", "types", "import contracts", "compiled loops", "tests"]
    monkeypatch.setattr(dev.os, "cpu_count", lambda: 4)
    assert dev.checks(["-k", "playhead"])[-1][1][-5:] == ["-m", "pytest", "--numprocesses=4", "-k", "playhead"]


def test_the_first_check_that_fails_ends_test_with_its_code(dev, ran, monkeypatch):
    monkeypatch.setattr(dev, "bundle_beside", lambda: nullcontext(lambda: 0))
    ran.ends = lambda command: 3 if command[-1] == "pyright" else 0
    assert dev.main(["test"]) == 3
    assert [command[-1] for command in ran.commands] == ["check", "--check", "pyright"]


@pytest.fixture
def bundle(dev, ran, monkeypatch, tmp_path):
    """Has `test` start a program in place of `dev.py smoke`; the checks are good and nothing is set up."""
    monkeypatch.setattr(dev.bundling, "require_linker", lambda: None)

    def arrange(program):
        monkeypatch.setattr(dev, "__file__", str(tmp_path / "program.py"))
        (tmp_path / "program.py").write_text(program, encoding="utf-8")

    return arrange


@pytest.mark.parametrize(("arguments", "tried"), [([], True), (["-k", "playhead"], False)])
def test_the_bundle_is_tried_unless_only_some_tests_are_wanted(dev, bundle, capsys, arguments, tried):
    bundle("import sys\nprint('tried', *sys.argv[1:])")
    assert dev.main(["test", *arguments]) == 0
    assert ("tried smoke\n" in capsys.readouterr().out) is tried


@pytest.mark.parametrize("code", [0, 3])
def test_a_bundle_that_is_not_ready_ends_with_the_other_checks(dev, ran, bundle, monkeypatch, tmp_path, code):
    ready, late = tmp_path / "ready", tmp_path / "late"
    bundle(
        "import pathlib, time\n"
        f"pathlib.Path({str(ready)!r}).touch()\n"
        f"while not pathlib.Path({str(late)!r}).exists(): time.sleep(0.01)\n"
    )

    def ends(command):
        while not ready.exists():
            time.sleep(0.01)
        if "pytest" in command and code == 0:
            late.touch()
        return code

    ran.ends = ends
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen
    monkeypatch.setattr(
        dev.subprocess, "Popen", lambda *words, **more: started.append(start(*words, **more)) or started[-1]
    )
    assert dev.main(["test"]) == code
    assert (started[0].returncode == 0) is (code == 0)


@pytest.mark.parametrize(("code", "words"), [(0, ""), (1, "each start compiles them")])
def test_installing_ends_with_compiling_modules_and_loops(dev, studio, ran, monkeypatch, capsys, code, words):
    dev.ENVIRONMENT.mkdir()
    monkeypatch.setattr(dev, "run_quietly", lambda command, failure: ran.commands.append(command[-1]) or "")
    ran.ends = lambda command: code
    dev.install_everything()
    assert ran.commands[-1][1:] == ["-m", "tokstudio.core.warm_up"]
    assert ran.commands[-2][-1] == str(studio / "tokstudio")
    assert ran.commands[-3] == str(studio)
    assert dev.unfinished_marker().exists(), "until all is noted"
    assert words in capsys.readouterr().out


def test_modules_are_compiled_where_python_writes_no_bytecode(dev, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (tmp_path / "module.py").write_text("number = 1\n", encoding="utf-8")
    (tmp_path / "wrong.py").write_text("number =\n", encoding="utf-8")
    subprocess.run([sys.executable, "-c", dev._COMPILE, str(tmp_path)], check=True)
    assert [file.name.split(".")[0] for file in tmp_path.rglob("*.pyc")] == ["module"]


def test_a_set_up_compiles_the_loops_of_sources_that_have_changed_since(dev, ran, monkeypatch):
    monkeypatch.setattr(dev, "set_up", lambda: None)
    assert dev.main(["setup"]) == 0
    assert [command[1:] for command in ran.commands[-1:]] == [["-m", "tokstudio.core.warm_up"]]


@pytest.mark.parametrize("arguments", [["deb", "--quik"], ["smoke", "window"], ["bundle", "--quick"], ["setup", "all"]])
def test_an_argument_that_a_command_does_not_know_is_refused_before_any_work(dev, monkeypatch, capsys, arguments):
    monkeypatch.setattr(dev, "set_up", lambda: pytest.fail("it works already"))
    assert dev.main(arguments) == 1
    assert f", not {arguments[1]}." in capsys.readouterr().err


def test_a_bundle_that_fails_ends_test(dev, bundle, capsys):
    bundle("import sys\nprint('WRONG: it does not start')\nsys.exit(7)")
    assert dev.main(["test"]) == 7
    assert "WRONG: it does not start" in capsys.readouterr().out


def test_a_bundle_that_cannot_be_built_here_is_skipped_with_the_reason(dev, bundle, monkeypatch, capsys):
    def missing():
        raise dev.SetupError("The bundle needs binutils.")

    bundle("import sys\nsys.exit(7)")
    monkeypatch.setattr(dev.bundling, "require_linker", missing)
    assert dev.main(["test"]) == 0
    assert "skipped: The bundle needs binutils." in capsys.readouterr().out


@pytest.mark.parametrize("are_linked", [True, False])
def test_a_bundle_is_built_anew_only_when_something_in_it_has_changed(dev, monkeypatch, tmp_path, are_linked):
    ran: list[str] = []
    compiled: list[tuple[str, dict[str, str] | None]] = []
    bundling, linked = dev.bundling, []
    monkeypatch.setattr(bundling.linking, "can_link", lambda: are_linked)
    monkeypatch.setattr(bundling.linking, "link_loops", lambda *given: linked.append(given))
    for name in ("tokstudio", "resources", "packaging"):
        (tmp_path / name).mkdir()
    program = tmp_path / "dist" / "tokstudio" / ("tokstudio.exe" if os.name == "nt" else "tokstudio")

    def run(command, failure, variables=None):
        ran.append(command[2])
        program.parent.mkdir(parents=True, exist_ok=True)
        program.touch()
        if command[1:] == ["--process", "tokstudio.core.warm_up", "common"]:
            compiled.append((command[0], variables))
        return ""

    monkeypatch.setattr(bundling, "ROOT", tmp_path)
    monkeypatch.setattr(bundling, "BUNDLE", program.parent)
    monkeypatch.setattr(bundling, "KEY", tmp_path / "dist" / "tokstudio.key")
    monkeypatch.setattr(bundling, "require_linker", lambda: None)
    monkeypatch.setattr(bundling, "run_quietly", run)
    for change in ("", "", "x = 1"):
        (tmp_path / "tokstudio" / "core.py").write_text(change)
        bundling.make_bundle(Path("python"), "key")
    assert ran.count("PyInstaller") == 2
    # Without a compiler of its own, its loops are linked; else it compiles them, for a common kind of processor.
    place = program.parent / "_internal" / "tokstudio" / "loops"
    assert linked == [(Path("python"), place)] * 2 * are_linked
    assert compiled == [(str(program), {"NUMBA_CACHE_DIR": str(place)})] * 2 * (not are_linked)


@pytest.mark.parametrize("display", [True, False])
def test_app_opens_a_window_or_writes_a_picture(dev, ran, studio, monkeypatch, capsys, display):
    monkeypatch.setattr(dev, "has_display", lambda platform, environment: display)
    ran.ends = lambda command: 0 if display else dev.PICTURE.touch() or 0
    assert dev.main(["app", "book.txt"]) == 0
    assert display or ran.variables["QT_QPA_PLATFORM"]
    out = capsys.readouterr().out
    picture = [] if display else ["--screenshot", str(dev.PICTURE)]
    assert ran.commands == [["-P", "-m", "tokstudio", "--demo", "book.txt", *picture]]
    assert ("No display found" in out) == (str(dev.PICTURE) in out) == (not display)


def test_app_without_a_display_does_not_claim_an_old_picture(dev, ran, studio, monkeypatch, capsys):
    dev.PICTURE.touch()
    monkeypatch.setattr(dev, "has_display", lambda platform, environment: False)
    assert dev.main(["app"]) == 1
    assert "wrote no picture" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["tset"], 2), (["--help"], 0), (["setup", "now"], 1)])
def test_what_is_no_command_is_explained(dev, capsys, arguments, code):
    assert dev.main(arguments) == code
    printed = capsys.readouterr()
    assert "setup" in printed.out + printed.err


def test_an_old_python_gets_a_sentence(dev, monkeypatch, capsys):
    monkeypatch.setattr(dev, "MINIMUM_PYTHON", (99, 0))
    assert dev.main(["app"]) == 1
    assert "needs Python 3.11 or newer" in capsys.readouterr().err


def test_benchmarks_are_chosen_by_name_and_one_that_is_not_there_is_named(dev, studio):
    folder = studio / "tests" / "benchmarks"
    folder.mkdir(parents=True)
    for name in ("train.py", "encode.py", "mutation.py", "_corpora.py"):
        (folder / name).touch()
    assert [file.stem for file in dev.benchmark_files([])] == ["encode", "train"]
    assert dev.benchmark_files(["train", "mutation"]) == [folder / "train.py", folder / "mutation.py"]
    with pytest.raises(dev.SetupError, match=r"no benchmark window; the benchmarks are: encode, mutation, train"):
        dev.benchmark_files(["window"])


@pytest.mark.parametrize(("failing", "ends_with", "number"), [("", 0, 3), ("mkdocs", 1, 2), ("--check", 1, 3)])
def test_the_site_is_built_of_written_pages_and_looked_at(dev, ran, monkeypatch, failing, ends_with, number):
    installed = []
    monkeypatch.setattr(dev, "run_quietly", lambda command, failure: installed.append(command[-1]) or "")
    ran.ends = lambda command: int(failing in command)
    assert dev.main(["docs"]) == ends_with
    assert installed == [str(ROOT / "packaging" / "requirements-docs.lock")]
    assert len(ran.commands) == number
    assert ran.commands[0] == [str(ROOT / "packaging" / "docs.py")]
    assert ran.commands[1][:4] == ["-m", "mkdocs", "build", "--strict"]


def test_dev_runs_as_a_program_from_any_folder(own_modules, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["dev.py", "--help"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "packaging" / "dev.py"), run_name="__main__")
    assert end.value.code == 0


# --- The lock -----------------------------------------------------------------------------------------------------


def test_the_lock_pins_what_the_project_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    pins: dict[str, list[Version]] = {}
    lock = (ROOT / "packaging" / "requirements.lock").read_text(encoding="utf-8")
    for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", lock, flags=re.MULTILINE):
        pins.setdefault(name.replace("_", "-").lower(), []).append(Version(version))
    for requirement in map(Requirement, wanted):
        versions = pins.get(requirement.name.replace("_", "-").lower(), [])
        assert versions, f"{requirement.name} is not locked: python3 packaging/dev.py lock"
        assert all(version in requirement.specifier for version in versions), requirement


@pytest.mark.parametrize(("lock", "holds"), [("bundle", "pyinstaller"), ("docs", "mkdocs-material")])
def test_the_locks_agree_where_both_name_a_package(lock, holds):
    pins = [
        dict(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / "packaging" / name).read_text(), flags=re.MULTILINE))
        for name in ("requirements.lock", f"requirements-{lock}.lock")
    ]
    assert holds in pins[1]
    assert all(pins[0][name] == version for name, version in pins[1].items() if name in pins[0])


def test_the_linter_before_a_commit_is_that_of_the_lock():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    lock = (ROOT / "packaging" / "requirements.lock").read_text(encoding="utf-8")
    assert f"\nruff=={hook['rev'].removeprefix('v')} " in lock


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-bundle.lock", "requirements-docs.lock"])
def test_the_lock_names_no_server(name):
    assert "://" not in (ROOT / "packaging" / name).read_text(encoding="utf-8")
