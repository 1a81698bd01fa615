"""The components of TokStudio: their versions and licences."""

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
from tokstudio.core.base.resources import resource
from tokstudio.core.base.subprocesses import is_bundle
from tokstudio.version import __version__

# Packages without a licence text, as it is a common one; the second adds to the first.
_USUAL = {"LGPL 3": ("LGPL-3", "GPL-3"), "Apache 2.0": ("Apache-2.0",)}
_LICENCE = re.compile(r"licen[cs]e|copying|notice", re.IGNORECASE)
# Name, package, and licence as named by its authors.
_KNOWN = (
    ("PySide6 and Shiboken", "PySide6_Essentials", "LGPL 3"),
    ("NumPy", "numpy", "BSD, 3 clauses, and others"),
    ("Numba", "numba", "BSD, 2 clauses"),
    ("llvmlite and LLVM", "llvmlite", "BSD, 2 clauses; Apache 2.0"),
    ("pyarrow", "pyarrow", "Apache 2.0"),
    ("pyqtgraph", "pyqtgraph", "MIT"),
    ("regex", "regex", "Apache 2.0 and CNRI Python"),
    ("charset-normalizer", "charset-normalizer", "MIT"),
    ("platformdirs", "platformdirs", "MIT"),
    ("protobuf", "protobuf", "BSD, 3 clauses"),
    ("tokenizers", "tokenizers", "Apache 2.0"),
    ("tiktoken", "tiktoken", "MIT"),
    ("sentencepiece", "sentencepiece", "Apache 2.0"),
    ("zstandard", "zstandard", "BSD, 3 clauses"),
    ("huggingface_hub", "huggingface_hub", "Apache 2.0"),
    ("httpx2", "httpx2", "BSD, 3 clauses"),
    ("httpcore2", "httpcore2", "BSD, 3 clauses"),
    ("h11", "h11", "MIT"),
    ("anyio", "anyio", "MIT"),
    ("idna", "idna", "BSD, 3 clauses"),
    ("truststore", "truststore", "MIT"),
    ("filelock", "filelock", "MIT"),
    ("fsspec", "fsspec", "BSD, 3 clauses"),
    ("packaging", "packaging", "Apache 2.0 or BSD, 2 clauses"),
    ("PyYAML", "PyYAML", "MIT"),
    ("tqdm", "tqdm", "MPL 2.0 and MIT"),
    ("typing_extensions", "typing_extensions", "Python Software Foundation"),
)


@dataclass(frozen=True)
class Component:
    """A component that TokStudio contains or uses, with the short name of its licence."""

    name: str
    version: str
    licence: str
    read: Callable[[], str]  # the text of the licence, if the package contains it


def components() -> list[Component]:
    """All components."""
    result = [
        Component("Python", platform.python_version(), "Python Software Foundation", _of_python),
        Component("Qt", qVersion() or "", "LGPL 3", partial(_usual, "LGPL 3")),
    ]
    for name, package, licence in _KNOWN:
        with suppress(PackageNotFoundError):
            known = distribution(package)
            result.append(Component(name, known.version, licence, partial(_text, known, licence)))
    # A bundle also contains libraries of the system it was built on.
    with suppress(TokStudioError, OSError):
        licences = resource("licences/system-libraries.txt")
        with licences.open(encoding="utf-8") as file:
            system = file.readline().strip()
        read = partial(licences.read_text, "utf-8")
        result.append(Component("Libraries of the system", system, "each its own", read))
    return result


def _of_python() -> str:
    bundled = [Path(getattr(sys, "_MEIPASS", "")) / "python"] if is_bundle() else []
    for folder in (*bundled, Path(sysconfig.get_path("stdlib"))):
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
    """The first line of a crash report: the versions, the system and its display."""
    kind = "bundle" if is_bundle() else "Python package"
    parts = [
        f"TokStudio {__version__} ({kind})",
        f"Python {platform.python_version()}",
        f"Qt {qVersion()} ({QGuiApplication.platformName() or 'no display'})",
        platform.platform(),
        sys.executable,
    ]
    return ", ".join(parts)
