"""Numba's `njit` for the loops, with a cache whose failure only costs time.

With Numba's own cache a call fails where the loop cannot be written, as on a full disk, or the file is damaged.

In our loops, an index of an array is never below 0. Numba would add the size of the array to such an index, and looks
at each for that: without, training takes three quarters of the time. Other code that Numba compiles keeps it.
"""

# SPDX-License-Identifier: MIT
# pyright: reportMissingTypeStubs=false
from __future__ import annotations

import hashlib
import logging
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.private_folders import read_whole, write_whole
from tokstudio.core.kernels import cache as shipped
from tokstudio.core.kernels import linked
from tokstudio.core.kernels.cache import identity, note_problem, places

_log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from numba import njit as njit
else:
    # Numba reads settings from a file in the current folder, which may be anyone's, and imports modules named there.
    if _is_linked := linked.is_linked(shipped.folder()):
        linked.stand_in(shipped.folder())
    _yaml = sys.modules.get("yaml")
    sys.modules["yaml"] = None  # without this library, Numba only warns of the file
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A Numba config file")
            import numba
    finally:
        del sys.modules["yaml"]
        if _yaml is not None:
            sys.modules["yaml"] = _yaml
    numba.core.config._config_fname = os.devnull  # it looks for the file at each compilation again
    from numba.core import types
    from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
    from numba.core.registry import cpu_target
    from numba.core.serialize import dumps
    from numba.core.typeconv import Conversion
    from numba.core.typing import signature
    from numba.np import arrayobj

    _OURS = "".join(f"{len(part)}{part}" for part in __name__.split(".")[:-1])  # as in the mangled names of loops

    _fix_index = arrayobj.fix_integer_index

    def _fix_index_of_others(context, builder, kind, index, size):  # noqa: ANN001, ANN202
        """Numba's step from an index to a place; in our loops, which the name of the function tells, there is none."""
        if _OURS not in builder.function.name:
            return _fix_index(context, builder, kind, index, size)
        return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)

    arrayobj.fix_integer_index = _fix_index_of_others

    class _Files:
        """The files of one loop, one for each signature. Numba's have an index."""

        def __init__(self, name: str) -> None:
            self.name = name

        def load(self, key: tuple[Any, ...]) -> object:
            """The data that was saved with a key; None where there is none, or it is damaged."""
            here = places()
            data = None
            if here.complete not in (None, here.own):
                keys = shipped.common_keys(key) if here.common else [key]
                data = next((data for each in keys if (data := self._read(here.complete, each)) is not None), None)
            if data is None and here.own is not None:
                data = self._read(here.own, key)
            return data

        def others(self) -> Iterator[tuple[tuple[Any, ...], object]]:
            """The keys and data of this loop for all types, where it comes with the installation; the fastest first."""
            files = sorted((places().complete or Path()).glob(f"{self.name}.*.nbc"))
            found = [pickle.loads(content) for file in files if (content := read_whole(file)) is not None]
            for kind in shipped.common_kinds():
                yield from (each for each in found if each[0][1] == kind)

        def save(self, key: tuple[Any, ...], data: object) -> None:
            """Caches a loop."""
            if (folder := places().own) is not None:
                folder.mkdir(parents=True, exist_ok=True)
                write_whole(self._file(folder, key), dumps((key, data)))

        def _read(self, folder: Path, key: tuple[Any, ...]) -> object:
            content = read_whole(self._file(folder, key))
            if content is None:
                return None
            stored_key, data = pickle.loads(content)
            return data if stored_key == key else None

        def _file(self, folder: Path, key: tuple[Any, ...]) -> Path:
            words = repr((identity(), key)).encode()
            return folder / f"{self.name}.{hashlib.sha256(words).hexdigest()[:16]}.nbc"

    class _Place(_CacheLocator):
        """The place of our loops, whatever the path of their source is."""

        def __init__(self, loop: Callable[..., Any]) -> None:
            self._line = loop.__code__.co_firstlineno

        @classmethod
        def from_function(cls, loop: Callable[..., Any], _: str) -> _Place | None:
            """None where loops can be neither loaded nor cached."""
            here = places()
            return None if here.own is None and here.complete is None else cls(loop)

        def ensure_cache_path(self) -> None:
            """Nothing: the folder is made when a loop is saved."""

        def get_cache_path(self) -> str:
            """The folder."""
            return str(places().own or places().complete)

        def get_source_stamp(self) -> str:
            """Changes with any loop, because called loops are compiled into this one."""
            return identity()

        def get_disambiguator(self) -> str:
            """Distinguishes loops of the same name."""
            return str(self._line)

    class _Places(CompileResultCacheImpl):
        _locator_classes = (_Place,)

    class _Cache(FunctionCache):
        _impl_class = _Places

        def __init__(self, loop: Callable[..., Any]) -> None:
            super().__init__(loop)
            self._cache_file = _Files(self._impl.filename_base)

        def load_overload(self, sig: object, target_context: object) -> object:
            """The loop from the cache; None where it is compiled now, which is logged."""
            loop = super().load_overload(sig, target_context)
            if loop is None and _is_linked:
                return self._load_wider(sig, target_context)
            if loop is None:
                _log.info("compiling %s", self._cache_file.name)
            return loop

        def _load_wider(self, sig: tuple[object, ...], target_context: object) -> object:
            """A linked loop for types to which these can be converted, such as arrays that are read only.

            Raises:
                TokStudioError: The loop is not there, or damaged.
                TypeError: It was compiled for no such types, which is an error of TokStudio.
            """
            convert, is_there = cpu_target.typing_context.can_convert, False
            for key, data in self._cache_file.others():
                is_there = True
                kinds = [convert(given, taken) for given, taken in zip(sig, key[0], strict=True)]
                if all(kind is not None and kind <= Conversion.safe for kind in kinds):
                    loop = self._impl.rebuild(target_context, data)
                    return loop._replace(signature=signature(loop.signature.return_type, *sig))
            name = self._cache_file.name
            if is_there:
                raise TypeError(f"The loop {name} was not compiled for {sig}.")
            raise TokStudioError(f"TokStudio is not complete, as it has no loop {name}: install it again.")

        def save_overload(self, sig: object, data: object) -> None:
            """Caches a compiled loop, if possible."""
            try:
                super().save_overload(sig, data)
            except OSError as error:
                note_problem(error)

        def _index_key(self, sig: object, codegen: object) -> tuple[Any, ...]:
            key = super()._index_key(sig, codegen)
            return shipped.common_keys(key)[-1] if shipped.are_compiled_here() else key

    def njit(*, cache: bool, **options: object) -> Callable[[Callable[..., Any]], Any]:
        """Works like `numba.njit`, with the cache of this module."""

        def compile_lazily(loop: Callable[..., Any]) -> Any:  # noqa: ANN401
            compiled = numba.njit(**options)(loop)
            if cache:
                try:
                    compiled._cache = _Cache(loop)
                except RuntimeError as error:  # there is no folder for it
                    note_problem(error)
            return compiled

        return compile_lazily
