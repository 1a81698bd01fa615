"""Hatchling's hook for the wheel: compiles the loops into it, so that the first training does not wait for that.

They are compiled for a common kind of processor (`tokstudio/core/kernels/cache.py`), and fit one kind of Python and
one system, which the tag of the wheel names. With TOKSTUDIO_WITHOUT_LOOPS set, and where they cannot be compiled, the
wheel has none and fits all.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WITHOUT = "TOKSTUDIO_WITHOUT_LOOPS"
# The dependencies that compiling needs.
_IMPORTED = "numba", "numpy", "platformdirs", "regex"


class LoopsHook(BuildHookInterface):
    """Adds `tokstudio/loops` to a wheel, but not to a link to the sources."""

    _folder: str | None = None

    def dependencies(self) -> list[str]:
        """What compiling imports, in the versions that the project allows: pip installs it to build a wheel."""
        if os.environ.get(WITHOUT):
            return []
        return [name for name in self.metadata.core.dependencies if name.startswith(_IMPORTED)]

    def initialize(self, version: str, build_data: dict) -> None:
        """Compiles the loops and sets the tag."""
        if version != "standard" or os.environ.get(WITHOUT):
            return
        self._folder = tempfile.mkdtemp(prefix="tokstudio-loops-")
        self.app.display_info("compiling the loops (about a minute) ...")
        if (reason := compile_loops(Path(self.root), Path(self._folder))) is not None:
            self.app.display_warning(f"The wheel has no compiled loops: {reason}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"][self._folder] = "tokstudio/loops"

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        """Removes what was compiled."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def compile_loops(root: Path, folder: Path) -> str | None:
    """Compiles the loops of these sources into a folder; gives the reason where that fails."""
    command = [sys.executable, "-m", "tokstudio.core.warm_up", "common"]
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(command, cwd=root, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        return said[-1] if said else f"compiling them ended with {done.returncode}."
    return None if any(folder.glob("*.nbc")) else "no common kind of this processor is known."
