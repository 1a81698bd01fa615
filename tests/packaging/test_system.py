"""What `packaging/system.py` makes of the loader's words, and who is given which packages of Debian."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_FOUND = "cannot open shared object file: No such file or directory"


def test_the_loaders_words_become_debian_packages_each_once(system):
    failures = [f"{name}: {NOT_FOUND}" for name in ("libgthread-2.0.so.0", "libEGL.so.1", "libglib-2.0.so.0")]
    assert system.packages_for(failures, ["offscreen"]) == ["libegl1", "libglib2.0-0"]


def test_a_display_needs_more_than_a_picture(system):
    without = system.known_packages(["offscreen"])
    assert "libxcb-cursor.so.0" not in without
    assert system.known_packages(["offscreen", "xcb"])["libxcb-cursor.so.0"] == "libxcb-cursor0"


def test_every_module_of_qt_that_is_imported_is_loaded_by_the_check(system):
    files = [file for folder in ("tokstudio", "tests") for file in (ROOT / folder).rglob("*.py")]
    imported = {name for file in files for name in re.findall(r"PySide6\.(Qt\w+)", file.read_text(encoding="utf-8"))}
    assert imported == set(system.QT_MODULES)


def test_a_library_that_no_table_knows_is_named(system):
    with pytest.raises(system.SetupError, match=r"system library libnew\.so\.7"):
        system.packages_for([f"libnew.so.7: {NOT_FOUND}"], ["offscreen"])


def test_a_failure_that_is_no_missing_library_is_passed_on(system):
    with pytest.raises(system.SetupError, match=r"GLIBC_2\.99"):
        system.packages_for(["libc.so.6: version `GLIBC_2.99' not found"], ["offscreen"])


@pytest.mark.parametrize(
    ("platform", "environment", "plugins", "display"),
    [
        ("linux", {}, ["offscreen"], False),
        ("linux", {"DISPLAY": ""}, ["offscreen"], False),
        ("linux", {"DISPLAY": ":0"}, ["offscreen", "xcb"], True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, ["offscreen", "wayland"], True),
        ("darwin", {}, ["offscreen"], True),
        ("win32", {}, ["offscreen"], True),
    ],
)
def test_what_must_load_follows_the_display(system, platform, environment, plugins, display):
    assert system.needed_plugins(platform, environment) == plugins
    assert system.has_display(platform, environment) is display


@pytest.fixture
def machine(system, monkeypatch):
    """A Debian where we are root; gives the libraries that it lacks, and apt removes them from that set."""
    lacking: set[str] = set()

    def run_probe(python, plugins):
        failures = [f"{name}: {NOT_FOUND}" for name in system.known_packages(plugins) if name in lacking]
        return failures, bool(failures) or "font" not in lacking

    def install(packages):
        known = {**system.known_packages([*system.PLATFORM_PLUGINS, system.LLAMA]), "font": system.FONT_PACKAGE}
        lacking.difference_update([name for name in lacking if known[name] in packages])

    monkeypatch.setattr(system, "run_probe", run_probe)
    monkeypatch.setattr(system, "install_packages", install)
    monkeypatch.setattr(system, "has_apt", lambda: True)
    monkeypatch.setattr(system, "is_root", lambda: True)
    return lacking


def test_root_gets_all_that_is_missing_even_for_a_display_that_is_not_there(system, machine):
    machine.update(["libEGL.so.1", "libxcb-cursor.so.0", "libgomp.so.1", "font"])
    assert system.check_libraries(Path("python"), ["offscreen"]) == ["offscreen", "xcb", "wayland"]
    assert machine == set()


def test_without_root_the_exact_command_is_given(system, machine, monkeypatch):
    machine.update(["libEGL.so.1", "libxcb-cursor.so.0", "libgomp.so.1"])
    monkeypatch.setattr(system, "is_root", lambda: False)
    with pytest.raises(system.SetupError, match=r"--no-install-recommends libegl1 libxcb-cursor0$"):
        system.check_libraries(Path("python"), system.PLATFORM_PLUGINS)
    with pytest.raises(system.SetupError, match=r"sudo apt-get install -y --no-install-recommends libegl1$"):
        system.check_libraries(Path("python"), ["offscreen"])


def test_without_apt_the_libraries_are_named(system, machine, monkeypatch):
    machine.add("libEGL.so.1")
    monkeypatch.setattr(system, "has_apt", lambda: False)
    with pytest.raises(system.SetupError, match=r"missing: libEGL\.so\.1\."):
        system.check_libraries(Path("python"), ["offscreen"])


@pytest.mark.parametrize("works", [True, False])
def test_an_apt_that_fails_matters_only_for_what_is_needed(system, machine, monkeypatch, works):
    def fail(packages):
        raise system.SetupError(f"apt could not install {packages}")

    monkeypatch.setattr(system, "install_packages", fail)
    machine.add("libxcb-cursor.so.0" if works else "libEGL.so.1")
    if works:
        assert system.check_libraries(Path("python"), ["offscreen"]) == ["offscreen"]
    else:
        with pytest.raises(system.SetupError, match="apt could not install"):
            system.check_libraries(Path("python"), ["offscreen"])


def test_an_installation_that_changes_nothing_ends_with_an_error(system, machine, monkeypatch):
    machine.add("libEGL.so.1")
    monkeypatch.setattr(system, "install_packages", lambda packages: None)
    with pytest.raises(system.SetupError, match="still does not load"):
        system.check_libraries(Path("python"), ["offscreen"])


def test_a_missing_font_is_only_advice(system, machine, monkeypatch, capsys):
    machine.add("font")
    monkeypatch.setattr(system, "is_root", lambda: False)
    assert system.check_libraries(Path("python"), ["offscreen"]) == ["offscreen"]
    assert "fonts-dejavu-core" in capsys.readouterr().out


def test_the_probe_loads_qt_and_answers_in_json():
    command = [sys.executable, "-I", str(ROOT / "packaging" / "system.py"), "offscreen"]
    answer = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert json.loads(answer.stdout)["failures"] == []


def test_an_empty_home_reaches_no_program(system, monkeypatch):
    monkeypatch.setenv("HOME", "")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    assert {"HOME", "PYTHONPATH"}.isdisjoint(system.clean_environment())
