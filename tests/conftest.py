"""What every test stands on: a home of its own, no screen, and nothing left behind."""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import gc
import multiprocessing
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from tests.nursery import nurseries
from tests.times import TIMES
from tokstudio.core.base.machine import ONE_THREAD
from tokstudio.core.kernels.cache import FOLDER, choose_places

# All tests, and the processes that they start, share the loops that the developer's own starts use.
if (_loops := choose_places().own) is not None:
    os.environ[FOLDER] = str(_loops)

_SHARED = Path(__file__).resolve().parents[2] / "shared"

os.environ.update(ONE_THREAD)

# Nothing is timed in a test: other work on the computer must not fail one.
# A branch that is reached at all is reached by some ten examples; each run tries others.
settings.register_profile("untimed", deadline=None, max_examples=25)
settings.load_profile("untimed")


_where = np.where


def _strict_where(condition: object, *values: object) -> object:
    """As NumPy's from 2.5 on: Python 3.11 gets one that puts another number where an array's type cannot hold it."""
    for number, other in (values, values[::-1]) if len(values) == 2 else ():
        if type(number) is int and isinstance(other, np.ndarray) and other.dtype.kind in "iu":
            other.dtype.type(number)
    return _where(condition, *values)  # pyright: ignore[reportCallIssue, reportArgumentType]


np.where = _strict_where  # pyright: ignore[reportAttributeAccessIssue]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Lets Hypothesis, too, try so many times as many examples."""
    tests = [getattr(item, "obj", None) for item in items if TIMES > 1]
    for function in {getattr(test, "__func__", test) for test in tests}:
        if (own := getattr(function, "_hypothesis_internal_use_settings", None)) is not None:
            function._hypothesis_internal_use_settings = settings(own, max_examples=TIMES * own.max_examples)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names of new folders; `mktemp` would look through those of all earlier tests for the next number."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / f"home{number}" for number in count())


@pytest.fixture(autouse=True)
def own_home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Redirects home, settings and data folders; the compiled loops stay where they are."""
    home = next(homes)
    home.mkdir(0o700)
    for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(home))
    # Windows says where its folders are without asking the variables.
    for name in ("APPDATA", "LOCAL_APPDATA"):
        monkeypatch.setenv(f"WIN_PD_OVERRIDE_{name}", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    return home


@pytest.fixture(scope="session", autouse=True)
def one_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache folder for all tests."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """Lets no test wait until what is written is on the disk: none of them cuts the power.

    A file that is not open stays an error.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_certificates() -> Iterator[None]:
    """Lets no connection read the system's certificates, as no server of a test has one: that takes 30 ms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", os.devnull)
        yield


@pytest.fixture(scope="session", autouse=True)
def processes_from_nurseries() -> Iterator[None]:
    """Starts child processes by forks."""
    with nurseries():
        yield


@pytest.fixture(scope="module", autouse=True)
def what_stays() -> None:
    """Keeps what is there before a module's tests, some million objects, out of the search for garbage after each."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fails a test that leaves a thread or a worker process behind."""
    before = {*threading.enumerate(), *multiprocessing.active_children()}
    yield
    gc.collect()
    left = [thread for thread in threading.enumerate() if thread not in before and not thread.daemon]
    assert not left, f"threads left behind: {left}"
    assert before.issuperset(multiprocessing.active_children())


@pytest.fixture
def shared() -> Path:
    """The developers' corpora and tokenizers; a test that uses it is marked `shared_data`."""
    if not (_SHARED / "data").is_dir():
        pytest.skip("the developers' data is not here")
    return _SHARED / "data"
