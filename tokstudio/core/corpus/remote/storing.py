"""Stores a file of this computer at an address, whole or not at all; in the child process that connects."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tokstudio.core.base.errors import CorpusError
from tokstudio.core.base.untyped import untyped
from tokstudio.core.corpus.remote.files import PlainErrors
from tokstudio.core.corpus.remote.listing import problem_of_store, system_of
from tokstudio.core.hub.addresses import Address

# In these, what is sent appears under its name when all of it has arrived; the others have files like a disk.
_ARE_ATOMIC = frozenset(("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oss"))


def check_store(address: Address) -> None:
    """Raises a TokStudioError where nothing can be stored at an address, as far as that is known before."""
    with _errors(address):
        system, place = system_of(address, {}, "write to")
        try:
            # There are no folders in buckets.
            is_bucket = address.scheme in _ARE_ATOMIC
            system.info(place.lstrip("/").partition("/")[0] if is_bucket else place.rpartition("/")[0])
        except PermissionError:  # who may write there need not be allowed to look
            return
        if system.isdir(place):
            raise CorpusError(f"{address}: this is a folder: give the address of a file in it.")


def store(address: Address, path: Path, report: Callable[[int], None]) -> int:
    """Stores a file, replacing what is there, and returns its bytes; `report` is told how many have been sent."""
    size = path.stat().st_size
    with _errors(address):
        system, place = system_of(address, {}, "write to")
        into = place if address.scheme in _ARE_ATOMIC else f"{place}.{secrets.token_hex(4)}.part"
        try:
            system.put_file(str(path), into, callback=_told(report))
            stored: int = system.info(into)["size"]
            if stored != size:
                raise CorpusError(f"{address}: {stored:,} bytes of {size:,} arrived; try again.")
            if into != place:
                _replace(system, into, place)
        except BaseException:
            if into != place:
                with suppress(Exception):
                    system.rm_file(into)
            raise
    return size


def _replace(system: Any, part: str, place: str) -> None:  # noqa: ANN401
    """Moves a whole file into its place; some systems do not move over another file."""
    try:
        system.mv(part, place)
    except OSError:
        system.rm_file(place)
        system.mv(part, place)


def _errors(address: Address) -> PlainErrors:
    return PlainErrors(problem_of_store(address, "there is no such bucket or folder"), str(address))


def _told(report: Callable[[int], None]) -> Any:  # noqa: ANN401
    callbacks: Any = untyped("fsspec.callbacks")

    def told(size: int, value: int, **_: object) -> None:
        report(value)

    return callbacks.Callback(hooks={"told": told})
