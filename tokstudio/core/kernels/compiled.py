"""Numba's `njit` for the loops, with a cache whose failure only costs time.

With Numba's own cache a call fails where the loop cannot be written, as on a full disk, or the file is damaged.
"""

# SPDX-License-Identifier: MIT
# pyright: reportMissingTypeStubs=false
from __future__ import annotations

import hashlib
import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokstudio.core.base.subprocesses import is_bundle
from tokstudio.core.kernels.cache import identity, note_problem, read_whole, write_whole

if TYPE_CHECKING:
    from numba import njit as njit
else:
    import numba
    from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
    from numba.core.serialize import dumps

    class _Files:
        """The files of one loop, one for each signature; `stamp` changes with the source. Numba's have an index."""

        def __init__(self, folder: str, name: str, stamp: object) -> None:
            self._folder, self._name, self._stamp = Path(folder), name, stamp

        def load(self, key: object) -> object:
            """The data that was saved with a key; None where there is none, or it is damaged."""
            content = read_whole(self._file(key))
            if content is None:
                return None
            known, data = pickle.loads(content)
            return data if known == key else None

        def save(self, key: object, data: object) -> None:
            """Caches a loop."""
            write_whole(self._file(key), dumps((key, data)))

        def _file(self, key: object) -> Path:
            words = repr((numba.__version__, self._stamp, key)).encode()
            return self._folder / f"{self._name}.{hashlib.sha256(words).hexdigest()[:16]}.nbc"

    class _BundlePlace(_CacheLocator):
        """The cache location of a bundle: its one folder, whatever the path of the bundle."""

        def __init__(self, loop: Callable[..., Any]) -> None:
            self._py_file = inspect.getfile(loop)
            self._line = loop.__code__.co_firstlineno

        @classmethod
        def from_function(cls, loop: Callable[..., Any], _: str) -> _BundlePlace | None:
            """None where no folder could be chosen, or it is not writable."""
            place = cls(loop)
            try:
                place.ensure_cache_path()
            except OSError:
                return None
            return place

        def get_cache_path(self) -> str:
            """The folder."""
            return numba.config.CACHE_DIR

        def get_source_stamp(self) -> str:
            """Changes with any loop, because called loops are compiled into this one."""
            return identity()

        def get_disambiguator(self) -> str:
            """Distinguishes loops of the same name."""
            return str(self._line)

    class _BundlePlaces(CompileResultCacheImpl):
        _locator_classes = (_BundlePlace,)

    class _Cache(FunctionCache):
        def __init__(self, loop: Callable[..., Any]) -> None:
            if is_bundle():
                self._impl_class = _BundlePlaces
            super().__init__(loop)
            self._cache_file = _Files(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

        def save_overload(self, sig: object, data: object) -> None:
            """Caches a compiled loop, if possible."""
            try:
                super().save_overload(sig, data)
            except OSError as error:
                note_problem(error)

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
