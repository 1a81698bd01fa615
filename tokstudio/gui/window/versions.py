"""What TokStudio is made of: the versions that run, and the licences they come under."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import platform
import re
import sys
import sysconfig
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from PySide6.QtCore import qVersion
from PySide6.QtGui import QGuiApplication

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.subprocesses import is_bundle
from tokstudio.resources import resource
from tokstudio.version import __version__

# Whose owners bring no text, as it is a usual one; the second adds to the first.
_USUAL = {"LGPL 3": ("LGPL-3", "GPL-3"), "Apache 2.0": ("Apache-2.0",)}
_LICENCE = re.compile(r"licen[cs]e|copying|notice", re.IGNORECASE)
# What it is called, its package, and its licence in the words of its owners.
_KNOWN = (
    ("PySide6 and Shiboken", "PySide6_Essentials", "LGPL 3"),
    ("NumPy", "numpy", "BSD, 3 clauses, and others"),
    ("Numba", "numba", "BSD, 2 clauses"),
    ("llvmlite and LLVM", "llvmlite", "BSD, 2 clauses; Apache 2.0"),
    ("pyqtgraph", "pyqtgraph", "MIT"),
    ("regex", "regex", "Apache 2.0 and CNRI Python"),
    ("charset-normalizer", "charset-normalizer", "MIT"),
    ("platformdirs", "platformdirs", "MIT"),
    ("protobuf", "protobuf", "BSD, 3 clauses"),
    ("tokenizers", "tokenizers", "Apache 2.0"),
    ("tiktoken", "tiktoken", "MIT"),
    ("sentencepiece", "sentencepiece", "Apache 2.0"),
)


@dataclass(frozen=True)
class Component:
    """Something that TokStudio brings or uses.

    Attributes:
        name: What it is called.
        version: The one that runs.
        licence: In a few words.
        read: Gives the licence itself, where the package brings it; from the disk.
    """

    name: str
    version: str
    licence: str
    read: Callable[[], str]


def components() -> list[Component]:
    """All that is there."""
    python = Component("Python", platform.python_version(), "Python Software Foundation", _of_python)
    qt = Component("Qt", qVersion() or "", "LGPL 3", partial(_usual, "LGPL 3"))
    found = [python, qt]
    for name, package, licence in _KNOWN:
        with suppress(PackageNotFoundError):
            known = distribution(package)
            found.append(Component(name, known.version, licence, partial(_text, known, licence)))
    # A bundle holds libraries of the system that it was made on as well.
    with suppress(TokStudioError, OSError):
        told = resource("licences/system-libraries.txt")
        with told.open(encoding="utf-8") as file:
            system = file.readline().strip()
        found.append(Component("Libraries of the system", system, "each its own", partial(told.read_text, "utf-8")))
    return found


def _of_python() -> str:
    folders = [Path(sysconfig.get_path("stdlib"))]
    if is_bundle():
        folders.insert(0, Path(getattr(sys, "_MEIPASS", "")) / "python")
    for folder in folders:
        with suppress(OSError):
            return (folder / "LICENSE.txt").read_text(encoding="utf-8", errors="replace")
    return sys.copyright


def _text(package: Distribution, licence: str) -> str:
    texts: list[str] = []
    for file in package.files or []:
        if ".dist-info" in str(file) and _LICENCE.search(file.name):
            with suppress(OSError):
                texts.append(Path(str(file.locate())).read_text(encoding="utf-8", errors="replace").strip())
    return "\n\n".join(texts) or _usual(licence)


def _usual(licence: str) -> str:
    names = _USUAL.get(licence, ())
    return "\n\n".join(resource(f"licences/{name}.txt").read_text(encoding="utf-8").strip() for name in names)


def start_line() -> str:
    """What a report of a fault has to say first: the versions, the system and how it is shown."""
    kind = "bundle" if is_bundle() else "Python package"
    parts = [
        f"TokStudio {__version__} ({kind})",
        f"Python {platform.python_version()}",
        f"Qt {qVersion()} ({QGuiApplication.platformName() or 'no display'})",
        platform.platform(),
        sys.executable,
    ]
    return ", ".join(parts)
