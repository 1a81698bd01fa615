"""The loops that a bundle or a wheel brings with it, compiled for a common kind of processor.

They were compiled when it was made (`packaging/bundling.py`, `packaging/build_loops.py`). A process that finds no loops
of its own computer uses them, if its processor has all that they need. Does not load Numba.
"""

# SPDX-License-Identifier: MIT
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false
from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

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


def are_compiled_here() -> bool:
    """Whether this process compiles for the common kind."""
    given = settings()
    return bool(given) and all(os.environ.get(name) == value for name, value in given.items())


def common_key(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The key of a loop for the common kind, from Numba's for this processor: signature, target and code."""
    # The target names the version of macOS too, which may be another one than where they were compiled.
    return key[0], tuple(settings().values()), *key[2:]


def folder() -> Path:
    """The folder of these loops, which may not be there."""
    return Path(__file__).parents[2] / "loops"


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
