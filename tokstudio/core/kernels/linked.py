"""The loops of a program without a compiler: a bundle for Linux has them in libraries, and not LLVM's 160 MB.

`packaging/linking.py` compiles and links the loops. The files of the cache beside the libraries (`cache.py`) have the
names of a loop's functions in the place of its code. Numba loads a loop from them as ever: it gives the code to
`llvmlite.binding` and asks for addresses. Here a stand-in for that answers with those in the libraries.

Does not load Numba.
"""

# SPDX-License-Identifier: MIT
# pyright: reportMissingTypeStubs=false
from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

from tokstudio.core.base.errors import TokStudioError

# A library: what a processor needs for it, by the names of Linux. The fastest come first, and the last runs where NumPy
# does.
_V3 = frozenset(
    {"abm", "avx", "avx2", "bmi1", "bmi2", "cx16", "f16c", "fma", "lahf_lm", "movbe", "pni", "popcnt", "xsave"}
    | {"sse4_1", "sse4_2", "ssse3"}
)
_V4 = _V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
_LIBRARIES = {"x86-64-v4": _V4, "x86-64-v3": _V3, "x86-64-v2": frozenset[str]()}
#: The kind of processor for which some loops are compiled once more, and what it has in the words of LLVM.
LARGER = "x86-64-v4", "+avx512f,+avx512cd,+avx512dq"
#: Where a library has the addresses of Numba's helpers, and the names of these, each ending with a zero.
ADDRESSES, NAMES = "tokstudio_addresses", "tokstudio_names"
_DIGEST = 32  # bytes


def is_linked(folder: Path) -> bool:
    """Whether the loops of a folder are linked: the program has no compiler."""
    return any((folder / f"{name}.so").exists() for name in _LIBRARIES)


@cache
def libraries(folder: Path) -> tuple[Path, ...]:
    """The libraries to use for this processor: one with all loops, after a faster one with some if it can run that.

    One that is damaged or not there is passed over. There are none where loops are compiled.
    """
    found: list[Path] = []
    has = _features() if is_linked(folder) else set[str]()
    for name, needed in _LIBRARIES.items():
        file = folder / f"{name}.so"
        if needed <= has and _is_whole(file):
            found.append(file)
            if name != LARGER[0]:
                return tuple(found)
    return ()


def has_larger(folder: Path) -> bool:
    """Whether the loops that were compiled once more can be run."""
    return any(file.stem == LARGER[0] for file in libraries(folder))


def seal(file: Path) -> None:
    """Adds the digest of its content to the end of a library, where no loader looks."""
    content = file.read_bytes()
    file.write_bytes(content + hashlib.sha256(content).digest())


def _is_whole(file: Path) -> bool:
    try:
        content = file.read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content[:-_DIGEST]).digest() == content[-_DIGEST:]


def _features() -> set[str]:
    """What this processor has."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return set(next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), ()))


def stand_in(folder: Path) -> None:
    """Puts a stand-in into the place of `llvmlite.binding`, before Numba is loaded.

    Raises:
        TokStudioError: No library that this processor can run is whole.
    """
    if "numba" in sys.modules:
        raise RuntimeError("Numba is loaded before its compiler is replaced: import compiled.py first.")
    try:
        loaded = [ctypes.PyDLL(str(file)) for file in libraries(folder)]
    except OSError:
        loaded = []
    if not loaded:
        raise TokStudioError("TokStudio is not complete: install it again.")
    # They say how Numba compiles, and some want a compiler for it.
    for setting in [name for name in os.environ if name.startswith("NUMBA_")]:
        del os.environ[setting]
    # Its modules for the text of code are there, and Numba's modules are made of them.
    import llvmlite

    binding = _Binding(loaded)
    llvmlite.binding = binding  # pyright: ignore[reportAttributeAccessIssue]
    sys.modules[binding.__name__] = binding


class _Anything:
    """Stands in for the parts of a compiler, which Numba prepares and does not use."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __call__(self, *_: object, **__: object) -> _Anything:
        return _Anything()

    def __getattr__(self, name: str) -> _Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()

    def __ror__(self, other: object) -> object:
        return other


class _Module:
    """A module of code: the text of one that Numba begins, or the names of the functions of a loop."""

    triple = data_layout = name = ""

    def __init__(self, text: str, functions: tuple[str, ...] = ()) -> None:
        self._text = text
        self.functions = [SimpleNamespace(name=name, is_declaration=False) for name in functions]
        self.global_variables: list[object] = []

    def __str__(self) -> str:
        return self._text

    def verify(self) -> None:
        """Nothing: it is compiled nowhere."""

    def link_in(self, other: _Module, **_: object) -> None:
        """Nothing, for the same reason."""


class _Engine:
    """What has the code: finds it in the libraries."""

    target_data = _Anything()

    def __init__(self, libraries: list[ctypes.PyDLL]) -> None:
        self._libraries = libraries

    def get_function_address(self, name: str) -> int:
        """The address of a function or variable.

        Raises:
            RuntimeError: No library has it.
        """
        for library in self._libraries:
            with suppress(ValueError):
                return ctypes.addressof(ctypes.c_char.in_dll(library, name))
        raise RuntimeError(f"No library has {name}.")

    get_global_value_address = get_function_address

    def set_object_cache(self, *_: object) -> None:
        """Nothing: see `_Binding.parse_bitcode`."""

    def add_module(self, module: _Module) -> None:
        """Nothing: what it names is there already."""

    def finalize_object(self) -> None:
        """Nothing: it is ready."""


class _Binding(ModuleType):
    """The stand-in for `llvmlite.binding`; what is not here is `_Anything`."""

    ExecutionEngine = _Engine
    llvm_version_info = 20, 0, 0

    def __init__(self, libraries: list[ctypes.PyDLL]) -> None:
        super().__init__("llvmlite.binding")
        self._engine = _Engine(libraries)
        self._helpers: dict[str, list[Any]] = {}
        for library in libraries:
            self._list_helpers(library)

    def __getattr__(self, name: str) -> _Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()

    def _list_helpers(self, library: ctypes.PyDLL) -> None:
        start = ctypes.addressof(ctypes.c_char.in_dll(library, NAMES))
        at = ctypes.addressof(ctypes.c_char.in_dll(library, ADDRESSES))
        while name := ctypes.string_at(start):
            self._helpers.setdefault(name.decode(), []).append(ctypes.c_void_p.from_address(at))
            start, at = start + len(name) + 1, at + ctypes.sizeof(ctypes.c_void_p)

    def add_symbol(self, name: str, address: int) -> None:
        """Takes the address of a helper, which the loops may call."""
        for helper in self._helpers.get(name, ()):
            helper.value = address

    def create_mcjit_compiler(self, *_: object, **__: object) -> _Engine:
        """What has the code of all loops."""
        return self._engine

    def parse_assembly(self, text: str) -> _Module:
        """A module that Numba begins."""
        return _Module(text)

    def parse_bitcode(self, names: bytes) -> _Module:
        """What `packaging/linking.py` wrote in the place of a loop's code: the names of its functions."""
        return _Module("", tuple(names.decode().split("\n")))

    def check_jit_execution(self) -> None:
        """Nothing: it may be forbidden to make code that is run."""

    def get_process_triple(self) -> str:
        """The name of the system, which the keys of loops have."""
        return "x86_64-unknown-linux-gnu"

    def get_host_cpu_name(self) -> str:
        """No name, as no loop is compiled for this processor."""
        return ""

    def get_host_cpu_features(self) -> NoReturn:
        """No features.

        Raises:
            RuntimeError: Always, as llvmlite does for a processor that it does not know.
        """
        raise RuntimeError("No features are known without a compiler.")

    def load_library_permanently(self, name: str) -> NoReturn:
        """Loads no library, such as Intel's for mathematics.

        Raises:
            RuntimeError: Always.
        """
        raise RuntimeError(f"{name} is not used.")
