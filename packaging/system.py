"""What `dev.py` asks of the system: to run programs, to install Debian's packages, to load Qt.

Needs the standard library alone. Run as a program by the virtual environment's Python, it loads Qt and prints, as
JSON, what failed; which environment that is and what is done in it is left to `dev.py`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import ctypes
import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The modules of Qt that TokStudio, pyqtgraph and the tests import.
QT_MODULES = ("QtCore", "QtGui", "QtNetwork", "QtOpenGL", "QtSvg", "QtTest", "QtWidgets")
PLATFORM_PLUGINS: list[str] = ["offscreen", "xcb", "wayland"]
# System libraries that Qt's wheels expect, and the Debian packages that hold them.
BASE_PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libX11.so.6": "libx11-6",
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "libbrotlidec.so.1": "libbrotli1",
    "libz.so.1": "zlib1g",
    "libzstd.so.1": "libzstd1",
    "libstdc++.so.6": "libstdc++6",
    "libgcc_s.so.1": "libgcc-s1",
}
X11_PACKAGES = {
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb.so.1": "libxcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
WAYLAND_PACKAGES = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
}
# What llama.cpp expects: TokStudio compares with it and proves files by it where it is there, and its tests do.
LLAMA = "llama.cpp"
LLAMA_PACKAGES = {"libgomp.so.1": "libgomp1"}
FONT_PACKAGE = "fonts-dejavu-core"


class SetupError(Exception):
    """An error that the user must fix before TokStudio can start; its text says how."""


def say(text: str) -> None:
    """Prints one line at once, so that it stands before what the next program prints."""
    print(f"TokStudio: {text}", flush=True)


# --- Running other programs ---------------------------------------------------------------------------------------


def clean_environment() -> dict[str, str]:
    """The environment for the programs we start, without what would lead them to other packages or folders."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    if not environment.get("HOME", "unset"):
        del environment["HOME"]  # An empty one would put caches into the current folder.
    environment.update(PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_NO_INPUT="1", PIP_USER="0")
    return environment


def run_quietly(command: list[str], failure: str, variables: dict[str, str] | None = None) -> str:
    """Runs `command` with more environment `variables`, gives its output, and shows all of that only if it fails.

    Raises:
        SetupError: With `failure`, when the command fails or is not there.
    """
    try:
        result = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env={**clean_environment(), **(variables or {})},
            cwd=ROOT,
        )
    except OSError as error:
        raise SetupError(f"{failure} ({error})") from error
    if result.returncode != 0:
        print(result.stdout + result.stderr, file=sys.stderr, flush=True)
        raise SetupError(failure)
    return result.stdout


def run_visibly(command: list[str], variables: dict[str, str] | None = None, cwd: Path | None = None) -> int:
    """Runs `command` with our own input and output, and gives its exit code (128 + n for one that signal n ended)."""
    code = subprocess.call(command, cwd=cwd, env={**clean_environment(), **(variables or {})})
    return code if code >= 0 else 128 - code


# --- Debian's packages --------------------------------------------------------------------------------------------


def has_apt() -> bool:
    """Whether this system installs its packages with apt."""
    return sys.platform.startswith("linux") and shutil.which("apt-get") is not None


def is_root() -> bool:
    """Whether we may install system packages ourselves."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def apt_command(packages: list[str]) -> str:
    """The command that installs `packages`.

    >>> apt_command(["libegl1"])
    'sudo apt-get update && sudo apt-get install -y --no-install-recommends libegl1'
    """
    install = ["sudo", "apt-get", "install", "-y", "--no-install-recommends", *packages]
    return "sudo apt-get update && " + " ".join(shlex.quote(word) for word in install)


def install_packages(packages: list[str]) -> None:
    """Installs Debian packages as root.

    Raises:
        SetupError: When apt fails, after its own output was shown.
    """
    say(f"installing with apt: {' '.join(packages)}")
    failure = f"apt could not install what is missing. Fix the errors above, then run: {apt_command(packages)}"
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    run_quietly(["apt-get", "-q", "update"], failure, quiet)
    run_quietly(["apt-get", "-q", "install", "-y", "--no-install-recommends", *packages], failure, quiet)


# --- The system libraries of Qt -----------------------------------------------------------------------------------


def has_display(platform: str, environment: dict[str, str]) -> bool:
    """Whether a window can be shown."""
    if platform in ("win32", "darwin"):
        return True
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def needed_plugins(platform: str, environment: dict[str, str]) -> list[str]:
    """Which of Qt's platform plugins have to load here: the one without a screen, and those of the display."""
    plugins = ["offscreen"]
    if platform.startswith("linux"):
        plugins += ["xcb"] if environment.get("DISPLAY") else []
        plugins += ["wayland"] if environment.get("WAYLAND_DISPLAY") else []
    return plugins


def known_packages(plugins: list[str]) -> dict[str, str]:
    """The libraries that `plugins` need, and the Debian packages that hold them; `LLAMA` stands among the plugins."""
    packages = BASE_PACKAGES | (LLAMA_PACKAGES if LLAMA in plugins else {})
    if "xcb" in plugins:
        packages.update(X11_PACKAGES)
    if "wayland" in plugins:
        packages.update(WAYLAND_PACKAGES)
    return packages


def missing_library(message: str) -> str | None:
    """The library that the system's loader could not find, or None if it complains of something else.

    >>> missing_library("libEGL.so.1: cannot open shared object file: No such file or directory")
    'libEGL.so.1'
    """
    found = re.match(r"(\S+\.so[\w.]*): cannot open shared object file", message)
    return found.group(1) if found else None


def load_failures(libraries: list[str]) -> list[str]:
    """What the loader says about each of `libraries` that does not load."""
    failures = []
    for library in libraries:
        try:
            ctypes.CDLL(library)
        except OSError as error:
            failures.append(str(error))
    return failures


def probe(plugins: list[str]) -> dict[str, object]:
    """Loads Qt, in the virtual environment's Python, and says what failed and whether there is a font.

    The loader names one missing library at a time, so after a failure all that are known to be needed are tried.
    """
    failures = []
    for module in QT_MODULES:
        try:
            importlib.import_module(f"PySide6.{module}")
        except ImportError as error:
            failures.append(str(error))
    if not sys.platform.startswith("linux"):
        return {"failures": failures, "font": True}
    folder = Path(str(importlib.import_module("PySide6").__file__)).parent / "Qt" / "plugins" / "platforms"
    files = [folder / f"libq{plugin}.so" for plugin in plugins]
    failures += load_failures([str(file) for file in files if file.exists()])
    failures += load_failures(list(LLAMA_PACKAGES)) if LLAMA in plugins else []
    if failures:
        return {"failures": failures + load_failures(list(known_packages(plugins))), "font": True}
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    gui = importlib.import_module("PySide6.QtGui")
    application = gui.QGuiApplication([])
    # Without any font Qt still lists three families, names that stand for nothing.
    font = gui.QFontMetrics(gui.QFont()).inFont("a")
    del application
    return {"failures": [], "font": font}


def run_probe(python: Path, plugins: list[str]) -> tuple[list[str], bool]:
    """Gives what `probe` found, from a process of its own: the failures, and whether there is a font."""
    command = [str(python), "-I", str(Path(__file__).resolve()), *plugins]
    answer = run_quietly(command, "Qt cannot start; its output is above.")
    report = json.loads(answer.splitlines()[-1])
    return list(dict.fromkeys(report["failures"])), report["font"]


def packages_for(failures: list[str], plugins: list[str]) -> list[str]:
    """The Debian packages that mend `failures`.

    Raises:
        SetupError: When one of them is no missing library, or one that we don't know.
    """
    known = known_packages(plugins)
    packages = set()
    for failure in failures:
        library = missing_library(failure)
        if library is None:
            raise SetupError(f"Qt does not load: {failure}")
        if library not in known:
            raise SetupError(
                f"Qt needs the system library {library}. Install the package that contains it, then run this again."
            )
        packages.add(known[library])
    return sorted(packages)


def check_libraries(python: Path, needed: list[str]) -> list[str]:
    """Loads Qt, mends what is missing or says how, and gives the plugins that load now.

    As root on Debian all plugins are asked for, so that a display may come later, and what llama.cpp expects; but only
    `needed` plugins are demanded.

    Raises:
        SetupError: When something is missing that we may not or cannot install.
    """
    say("checking the system libraries of Qt ...")
    may_install = has_apt() and is_root()
    asked = [*PLATFORM_PLUGINS, LLAMA] if may_install else needed
    tried: set[str] = set()
    while True:
        failures, font = run_probe(python, asked)
        if not failures and (font or not may_install or FONT_PACKAGE in tried):
            break
        try:
            packages = packages_for(failures, asked) or [FONT_PACKAGE]
            if not may_install:
                raise SetupError(advice_for_missing(failures, packages))
            if set(packages) <= tried:
                raise SetupError(f"Qt still does not load after {' '.join(packages)} was installed: {failures[0]}")
            install_packages(packages)
            tried.update(packages)
        except SetupError as error:
            if not failures:
                break  # Only a font is missing.
            if set(asked) <= set(needed):
                raise
            say(f"{error}")
            say("trying with only the libraries needed without a display ...")
            asked = needed
    if not font:
        say(f"no font is installed, so text will show as boxes. Install one: {apt_command([FONT_PACKAGE])}")
    return [plugin for plugin in asked if plugin != LLAMA]


def advice_for_missing(failures: list[str], packages: list[str]) -> str:
    """The instructions for installing missing libraries by hand."""
    if has_apt():
        return f"Qt needs system libraries that are missing. Install them, then run this again: {apt_command(packages)}"
    libraries = " ".join(dict.fromkeys(filter(None, map(missing_library, failures))))
    return (
        f"Qt needs system libraries that are missing: {libraries}. "
        "Install the packages that contain them, then run this again."
    )


if __name__ == "__main__":
    print(json.dumps(probe(sys.argv[1:])))
