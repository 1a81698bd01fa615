"""The licences of the system's own libraries that a bundle holds, as their Debian packages tell them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

_DOCUMENTS = Path("/usr/share/doc")


def licences_of(files: Iterable[str]) -> str:
    """Gives the name of the system, then each package that some of the files are of: version, files, and its licences.

    Files of no package, such as those of Python's own packages, are passed over; without dpkg there is only the name.
    """
    parts = [platform.freedesktop_os_release()["PRETTY_NAME"]]
    for package, names in sorted(_packages(files).items()):
        version = _asked("dpkg-query", "--show", "--showformat=${Version}", package)
        head = f"{package.partition(':')[0]} {version}: {', '.join(sorted(names))}"
        told = _DOCUMENTS / package.partition(":")[0] / "copyright"
        text = told.read_text(encoding="utf-8", errors="replace").strip() if told.is_file() else ""
        parts.append(f"{head}\n{'=' * len(head)}\n\n{text or 'Its licences are in the source of the package.'}")
    return "\n\n\n".join(parts) + "\n"


def _packages(files: Iterable[str]) -> dict[str, set[str]]:
    packages: dict[str, set[str]] = {}
    if shutil.which("dpkg-query") is None:
        return packages
    for file in files:
        real = str(Path(file).resolve())
        # Where /lib is a link to /usr/lib, packages may name either.
        for path in (real, real.removeprefix("/usr")):
            if package := _asked("dpkg-query", "--search", path).partition(": ")[0]:
                packages.setdefault(package, set()).add(Path(file).name)
                break
    return packages


def _asked(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
