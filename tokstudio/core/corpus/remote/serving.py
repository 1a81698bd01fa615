"""The child process that fetches texts by their address, or shows what is there."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Any, NoReturn, cast

from tokstudio.core.base.errors import CorpusError, TokStudioError
from tokstudio.core.base.leftovers import hidden_name
from tokstudio.core.base.progress import Progress
from tokstudio.core.base.subprocesses import ParentProcess, Refused
from tokstudio.core.base.wording import size_text
from tokstudio.core.corpus.remote.files import NoConnectionError, RemoteFile, TransferMeter
from tokstudio.core.corpus.remote.listing import HubData, list_work
from tokstudio.core.corpus.remote.preview import TextPreview
from tokstudio.core.corpus.remote.taking import Taking, contents_of
from tokstudio.core.hub.addresses import HUB, Address, parse_address, without_secrets
from tokstudio.core.hub.fetching_texts import (
    FetchedText,
    FetchText,
    ListedText,
    ListText,
    ShownText,
    ShowText,
    StoredFile,
    StoreFile,
)
from tokstudio.core.hub.kept_texts import DESCRIPTION, TextOrigin, TextRequest, describe, kept_for, key_of, tags_of

_LEFT_ON_DISK = 200_000_000
_PAUSE = 0.05  # seconds between two reports


def main() -> NoReturn:
    """Fetches the texts that the parent asks for one after another, or shows them."""
    # As an exception, so that files that have not arrived whole are removed.
    signal.signal(signal.SIGTERM, _leave)
    parent, questions = ParentProcess(FetchText, ShowText, ListText, StoreFile), SimpleQueue[Any]()

    def read() -> None:
        while (question := parent.receive()) is not None:
            questions.put(question)
        os._exit(1)  # the parent has ended, also while it is being answered

    threading.Thread(target=read, daemon=True).start()
    try:
        while True:
            question = questions.get()
            parent.send(Progress("downloading"))
            parent.send(_answer(question, parent))
    finally:
        sys.stdout.flush()
        # Threads that still read what nobody waits for end with the process.
        os._exit(1)


def _leave(*_: object) -> NoReturn:
    sys.exit(1)


def _answer(
    question: FetchText | ShowText | ListText | StoreFile, parent: ParentProcess
) -> FetchedText | ShownText | ListedText | StoredFile | Refused:
    name, secrets = "", [part for part in (question.address,) if part]
    try:
        address = parse_address(question.address)
        name = str(address)
        if isinstance(question, ShowText):
            return ShownText(json.dumps(asdict(_shown(address, _Reporter(parent)))))
        if isinstance(question, ListText):
            return _listed(address, TextRequest(**question.request), _Reporter(parent))
        if isinstance(question, StoreFile):
            return _stored(address, question.path, _Reporter(parent))
        return _fetched(address, TextRequest(**question.request), Path(question.folder), _Reporter(parent))
    except TokStudioError as error:
        why = str(error)
    except OSError as error:
        done = "stored" if isinstance(question, StoreFile) else "kept in the cache, or read"
        why = f"{name}: it cannot be {done}: {error.strerror or error}."
    except MemoryError:
        why = f"{name}: what is there does not fit into the memory."
    except Exception as error:  # whatever a library raises is told to the user
        done = "stored" if isinstance(question, StoreFile) else "fetched"
        why = f"{name}: it cannot be {done}: {type(error).__name__}: {error}"
    for secret in secrets:
        why = why.replace(secret, name)
    return Refused(without_secrets(why))


class _Reporter:
    """Tells the parent how much has arrived, from any thread, but not too often."""

    def __init__(self, parent: ParentProcess) -> None:
        self._parent, self._lock, self._last = parent, threading.Lock(), 0.0
        self.done: Callable[[], int] = lambda: 0
        self.total = 0

    def __call__(self) -> None:
        with self._lock:
            if monotonic() - self._last >= _PAUSE:
                self._last = monotonic()
                done = self.done()
                self._parent.send(Progress("downloading", min(done, self.total) if self.total else done, self.total))


def _fetched(address: Address, request: TextRequest, folder: Path, report: _Reporter) -> FetchedText:
    try:
        listing, meter = list_work(address, report)
    except NoConnectionError as error:
        return _kept_instead(request, error)
    tags = "" if listing.commit else tags_of((one.path, one.size, one.tag) for one in listing.files)
    # Where nothing tells two versions of a file apart, it is read anew.
    has_tags = bool(listing.commit) or all(one.tag for one in listing.files)
    if has_tags and (kept := kept_for(request, listing.commit, tags)) is not None:
        _note_as_newest(kept.folder)
        return FetchedText(str(kept.folder), "", meter.arrived)
    size = sum(file.size for file in listing.files)
    _check_space(address, request.sample_bytes or size, folder)
    staged = hidden_name(folder)
    staged.mkdir(mode=0o700)
    try:
        taking = Taking(listing, address, request, staged, lambda _: report())
        report.total = request.sample_bytes or size
        report.done = (lambda: meter.arrived) if request.sample_bytes is None else (lambda: taking.taken)
        taken = taking.take()
        if not listing.commit:
            _refuse_changed(address, listing.files, report)
        notes = "; ".join((*listing.notes, *taken.notes))
        origin = TextOrigin(request, listing.commit, taken.pieces, len(listing.files), size, taken.sha256, notes)
        tags = tags if has_tags else f"{tags} {_hash_of_files(staged)}"
        describe(staged, origin, taken.sets)
        final = folder / key_of(request, listing.commit, tags)
        if kept_for(request, listing.commit, tags) is None:
            shutil.rmtree(final, ignore_errors=True)  # what is there is not whole
        with suppress(OSError):
            os.replace(staged, final)  # another process may have fetched the same meanwhile
        _note_as_newest(final)
        return FetchedText(str(final), "", meter.arrived)
    except NoConnectionError as error:
        if has_tags:
            raise  # what is kept is another version
        return _kept_instead(request, error)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _listed(address: Address, request: TextRequest, report: _Reporter) -> ListedText:
    listing, _ = list_work(address, report)
    texts = Taking(listing, address, request, Path(), lambda _: None).texts()
    return ListedText(listing.commit, [[one.place, one.path, one.size, *texts[one]] for one in listing.files])


def _kept_instead(request: TextRequest, error: NoConnectionError) -> FetchedText:
    """The copy in the cache, and why it is used; raises the error where there is none."""
    if (kept := kept_for(request)) is None:
        raise error
    why = re.split("[,:] ", str(error).removesuffix(".").partition(": ")[2])[0]
    return FetchedText(str(kept.folder), f"this is the copy in the cache, as {why}", 0)


def _refuse_changed(address: Address, files: Sequence[RemoteFile], report: _Reporter) -> None:
    """Raises CorpusError where the files are no longer those that were listed before they were read."""
    now, _ = list_work(address, report)
    # A file without a tag may have one by now, as when it was changed in the second in which it was listed.
    later = [one if before.tag else replace(one, tag="") for one, before in zip(now.files, files, strict=False)]
    if later != list(files) or len(now.files) != len(files):
        raise CorpusError(f"{address}: the files changed while they were being read; try again.")


def _hash_of_files(folder: Path) -> str:
    """The SHA-256 of the files in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _note_as_newest(folder: Path) -> None:
    """Has a kept text be the one that is used while nothing answers."""
    with suppress(OSError):
        os.utime(folder / DESCRIPTION)


def _stored(address: Address, path: str, report: _Reporter) -> StoredFile:
    from tokstudio.core.corpus.remote.storing import check_store, store

    if not path:
        check_store(address)
        return StoredFile(0)
    sent = 0

    def told(size: int) -> None:
        nonlocal sent
        sent = size
        report()

    report.total, report.done = Path(path).stat().st_size, lambda: sent
    return StoredFile(store(address, Path(path), told))


def _check_space(address: Address, size: int, folder: Path) -> None:
    free = shutil.disk_usage(folder).free - _LEFT_ON_DISK
    if size > free:
        raise CorpusError(
            f"{address}: it has {size_text(size)}, and the disk with {folder} only {size_text(max(0, free))} to spare: "
            "take a sample (--sample-bytes)."
        )


def _shown(address: Address, report: _Reporter) -> TextPreview:
    about = None
    configurations: dict[str, list[str]] = {}
    if address.scheme == HUB and not address.path:
        hub = HubData(address, TransferMeter(report))
        with hub.plain_errors():
            about = hub.about()
        configurations = {one.name: list(one.splits) for one in about.configurations}
        named = {"license": about.license, "gated": about.gated, "notes": about.notes}
        if not address.configuration and len(configurations) != 1 and "default" not in configurations:
            return TextPreview(str(address), configurations, **cast("Any", named))
    listing, _ = list_work(address, report)
    whole = str(address.at(listing.commit)) if listing.commit else str(address)
    size = sum(file.size for file in listing.files)
    return TextPreview(
        whole,
        configurations,
        "" if about is None else about.license,
        about is not None and about.gated,
        len(listing.files),
        size,
        contents_of(listing, str(address)),
        listing.notes,
    )
