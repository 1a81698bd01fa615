"""Compiles the loops and links them into libraries, for a bundle without a compiler.

`tokstudio/core/kernels/linked.py` uses them. `link_loops` runs this file as a script, with the Python that has Numba,
once for each of two kinds of processor, side by side; those for the common kind are put into code for an older one,
too. Needs binutils, as PyInstaller does.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from system import ROOT, run_quietly

COMMON, OLDER, LARGER = "x86-64-v3", "x86-64-v2", "x86-64-v4"
# Only these have code of their own for larger vectors: for the others it makes no difference that could be measured.
WITH_LANES = frozenset({"encode_words", "write_words"})
# What Numba's own parts in C offer; the rest, such as Python's functions, is found when a library is loaded.
_HELPERS = "NRT_", "numba_"


def can_link() -> bool:
    """Whether there are libraries for this system."""
    return sys.platform.startswith("linux") and platform.machine() == "x86_64"


def link_loops(python: Path, folder: Path) -> None:
    """Fills a folder with the libraries, and with the files that name the loops in them.

    Args:
        python: That of an environment with Numba.
        folder: Where they go; it is made anew.

    Raises:
        SetupError: A loop could not be compiled or linked.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    failure = "The loops of the bundle could not be compiled."
    # Loaded from the cache, a loop brings no others; so those that are called from Python are known.
    run_quietly([str(python), "-P", "-m", "tokstudio.core.warm_up"], failure, {"PYTHONPATH": str(ROOT)})
    with tempfile.TemporaryDirectory() as place:
        loops = Path(place, "loops")
        script, variables = [str(python), str(Path(__file__))], {"PYTHONPATH": str(ROOT)}
        run_quietly([*script, "list", str(loops)], failure, variables)
        commands = [[*script, kind, str(loops), str(folder)] for kind in (COMMON, LARGER)]
        with ThreadPoolExecutor(len(commands)) as pool:
            list(pool.map(lambda command: run_quietly(command, failure, variables), commands))


# --- In the environment that has Numba --------------------------------------------------------------------------------


def list_entries() -> list[tuple[str, str, Any]]:
    """The loops that are called from Python: module, name and the types of the arguments."""
    from importlib import import_module
    from pkgutil import iter_modules

    from numba.core.dispatcher import Dispatcher

    from tokstudio.core import kernels, warm_up

    warm_up.exercise()
    modules = [import_module(f"{kernels.__name__}.{each.name}") for each in iter_modules(kernels.__path__)]
    return [
        (module.__name__, name, types)
        for module in modules
        for name, loop in vars(module).items()
        if isinstance(loop, Dispatcher) and loop.py_func.__module__ == module.__name__
        for types in loop.overloads
    ]


def compile_entries(entries: Iterable[tuple[str, str, Any]], kinds: dict[str, str], folder: Path) -> None:
    """Compiles loops for the processor that Numba's settings name, links them, and writes the files that name them.

    Nothing is run: this processor may be a smaller one.

    Args:
        entries: As `list_entries` gives them.
        kinds: For each library, the processor that its code is for: that of the settings, or an older one.
        folder: Where the libraries and files go.
    """
    from importlib import import_module

    from llvmlite import binding
    from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
    from numba.core.registry import cpu_target
    from numba.core.serialize import dumps

    from tokstudio.core.base.private_folders import write_whole
    from tokstudio.core.kernels import compiled

    # The code may lie anywhere, and what it calls be far away.
    code = {"reloc": "pic", "codemodel": "default"}
    JITCPUCodegen._customize_tm_options = lambda self, options: options.update(
        cpu=self._get_host_cpu_name(), features=self._tm_features, **code
    )
    modules: dict[object, bytes] = {}
    finalize = JITCodeLibrary._finalize_specific

    def keep_and_finalize(self: JITCodeLibrary) -> None:
        # As it is before code is made of it, which changes it for this processor.
        modules[self] = self._final_module.as_bitcode()
        finalize(self)

    JITCodeLibrary._finalize_specific = keep_and_finalize
    compiled._Cache.load_overload = lambda *_: None
    compiled._Cache.save_overload = lambda *_: None
    codegen = cpu_target.target_context.codegen()
    target = binding.Target.from_triple(binding.get_process_triple())
    _, name, features = codegen.magic_tuple()
    machines = {
        library: target.create_target_machine(cpu=cpu, features=features if cpu == name else "", opt=3, **code)
        for library, cpu in kinds.items()
    }
    objects: dict[str, list[bytes]] = {library: [] for library in kinds}
    for module, title, types in entries:
        loop = getattr(import_module(module), title)
        loop.compile(types)
        result = loop.overloads[types]
        for library, machine in machines.items():
            objects[library].append(machine.emit_object(binding.parse_bitcode(modules[result.library])))
        (*named, _), *rest = loop._cache._impl.reduce(result)
        rest[5] = ""  # the text of the types, with the path of the source
        names = "\n".join((result.fndesc.llvm_func_name, result.fndesc.llvm_cpython_wrapper_name))
        key = loop._cache._index_key(types, codegen)
        key = key[0], (name, features), *key[2:]
        data = (*named, (b"linked", names.encode())), *rest
        write_whole(loop._cache._cache_file._file(folder, key), dumps((key, data)))
    for library, codes in objects.items():
        link(codes, folder / f"{library}.so")


def link(objects: Iterable[bytes], target: Path) -> None:
    """Links code into a library that Numba's helpers are told to when it is loaded.

    Raises:
        SetupError: The linker fails.
    """
    from tokstudio.core.kernels.linked import seal

    failure = f"{target.name} could not be linked."
    with tempfile.TemporaryDirectory() as place:
        files = []
        for number, code in enumerate(objects):
            files.append(Path(place, f"{number}.o"))
            files[-1].write_bytes(code)
        listed = run_quietly(["nm", "-P", "--undefined-only", *map(str, files)], failure)
        names = sorted({line.split(" ")[0] for line in listed.splitlines() if line.startswith(_HELPERS)})
        source, helpers = Path(place, "helpers.s"), Path(place, "helpers.o")
        source.write_text("\n".join(_helpers(names)), encoding="utf-8")
        run_quietly(["as", "-o", str(helpers), str(source)], failure)
        options = ["-shared", "--hash-style=gnu", "--build-id=none", "-z", "relro", "-z", "now", "-z", "noexecstack"]
        run_quietly(
            ["ld", *options, "-soname", target.name, "-o", str(target), *map(str, files), str(helpers)], failure
        )
    run_quietly(["strip", "--strip-unneeded", str(target)], failure)
    seal(target)


def _helpers(names: list[str]) -> Iterator[str]:
    """Assembly: for each helper a jump to the address that is written into a table, and the names of the table."""
    from tokstudio.core.kernels.linked import ADDRESSES, NAMES

    yield from (".bss", ".balign 8", "table:", f".globl {ADDRESSES}", f"{ADDRESSES}: .zero {8 * len(names)}")
    yield from (".section .rodata", f".globl {NAMES}", f"{NAMES}:", *(f'.asciz "{name}"' for name in names), ".byte 0")
    yield ".text"
    for number, name in enumerate(names):
        yield from (f".globl {name}", f".hidden {name}", f".type {name}, @function")
        yield f"{name}: jmp *table+{8 * number}(%rip)"
    yield '.section .note.GNU-stack, "", %progbits\n'


def main() -> None:
    """Lists the loops into a file, or compiles those of a file for a kind of processor."""
    import pickle

    from tokstudio.core.kernels import cache, linked

    act, file = sys.argv[1], Path(sys.argv[2])
    settings = dict(zip(cache.settings(), linked.LARGER, strict=True)) if act == LARGER else cache.settings()
    os.environ.update({} if act == "list" else settings)
    from numba.core.serialize import dumps

    import tokstudio.core.kernels.compiled  # it says how the types of loops are pickled  # noqa: F401

    if act == "list":
        file.write_bytes(dumps(list_entries()))
        return
    entries = pickle.loads(file.read_bytes())
    if act == LARGER:
        compile_entries([each for each in entries if each[1] in WITH_LANES], {LARGER: LARGER}, Path(sys.argv[3]))
    else:
        compile_entries(entries, {COMMON: COMMON, OLDER: OLDER}, Path(sys.argv[3]))


if __name__ == "__main__":
    main()
