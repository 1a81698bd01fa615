"""The loops that a bundle brings with it, compiled for a common kind of processor, until those for this one exist.

They were compiled when the bundle was made (`packaging/bundling.py`). A start that finds no loops of its own computer
uses them, if its processor has all that they need, and has its own compiled in the background for the next start. Does
not load Numba.
"""

# SPDX-License-Identifier: MIT
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false
from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from tokstudio.core.base.subprocesses import import_folder

#: Where a bundle has them.
FOLDER = "loops"

# For each machine: LLVM's name of the processor, a feature that each of them has, and what it needs.
_X86 = (
    "x86-64-v3",
    "+sse2",
    frozenset(("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sahf", "xsave"))
    | {"sse3", "sse4.1", "sse4.2", "ssse3"},
)
_ARM = "generic", "+neon", frozenset[str]()
_TARGETS = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}
_NAME, _FEATURES = "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"


def settings() -> dict[str, str]:
    """The variables of the environment with which Numba compiles for the common kind; {} for an unknown machine."""
    target = _TARGETS.get(platform.machine().lower())
    # Without any feature the variable would be empty, and Windows gives no empty variable to a child process.
    return {} if target is None else {_NAME: target[0], _FEATURES: target[1]}


def folder() -> Path:
    """The folder of the loops in a bundle, which may not be there."""
    return import_folder() / FOLDER


def can_run() -> bool:
    """Whether this processor has all that the loops need, and the user has not named another one."""
    target = _TARGETS.get(platform.machine().lower())
    if target is None or _NAME in os.environ or _FEATURES in os.environ:
        return False
    return target[2] <= features()


def features() -> set[str]:
    """The features of this processor, by LLVM's names."""
    # Half of the compiler: it is asked only where no loops of this computer exist.
    from llvmlite import binding

    return {name for name, has in binding.get_host_cpu_features().items() if has}


def use() -> None:
    """Lets this process use the shipped loops; before Numba is loaded."""
    os.environ.update(settings())


def in_use() -> bool:
    """Whether this process uses them."""
    given = settings()
    return bool(given) and all(os.environ.get(name) == value for name, value in given.items())


def without(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which a process compiles for this processor."""
    return {name: value for name, value in environment.items() if name not in (_NAME, _FEATURES)}
