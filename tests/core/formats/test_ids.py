"""Files of ids, compared with NumPy and Python's `json`; other files are an error."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
import json
import pickle
import random
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.formats.file_mutants import mutant_of_bytes
from tests.times import TIMES
from tokstudio import FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.ids import ids_work, write_ids_work

MUTANTS = 100 * TIMES
some_ids = st.lists(st.integers(0, 2**31 - 2) | st.integers(0, 300), max_size=40)


def written(path, ids, largest=None):
    finish(write_ids_work(np.array(ids, np.uint32), path, max(ids, default=0) if largest is None else largest))
    return path


def read(name, data) -> list[int]:
    found = finish(ids_work(name, data))
    assert found.dtype == np.uint32
    return found.tolist()


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=some_ids)
def test_what_is_written_is_what_python_and_numpy_write_and_is_read_again(tmp_path, ids):
    path = written(tmp_path / "ids.json", ids)
    assert path.read_bytes() == json.dumps(ids).encode() + b"\n"
    assert read(path.name, path.read_bytes()) == ids
    path = written(tmp_path / "ids.npy", ids)
    expected = io.BytesIO()
    np.save(expected, np.array(ids, np.uint16 if max(ids, default=0) < 2**16 else np.uint32))
    assert path.read_bytes() == expected.getvalue()
    assert read(path.name, path.read_bytes()) == ids


def test_many_ids_go_through_in_pieces(tmp_path):
    ids = np.random.default_rng(1).integers(0, 70_000, 40_000).astype(np.uint32)
    for name in ("ids.json", "ids.NPY"):
        path = written(tmp_path / name, ids)
        assert read(name, path.read_bytes()) == ids.tolist()
    words = "\n\t ".join(map(str, ids.tolist())).encode()
    assert read("words", words) == ids.tolist()
    assert read("list", json.dumps(ids.tolist(), indent=1).encode()) == ids.tolist()


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        (b" \n", []),
        (b" [ ] \n", []),
        (b"7", [7]),
        (b"104 101\r\n108\t108", [104, 101, 108, 108]),
        (b"\xef\xbb\xbf[1,\n 2 ,3]", [1, 2, 3]),
        (b"2147483646", [2**31 - 2]),
    ],
)
def test_lists_and_words_are_told_apart(data, ids):
    assert read("ids", data) == ids


def test_an_array_is_as_narrow_as_the_vocabulary_allows_and_any_whole_numbers_are_read(tmp_path):
    for largest, kind in ((2**16 - 1, "<u2"), (2**16, "<u4"), (None, "<u2")):
        assert np.load(written(tmp_path / "ids.npy", [7, 256], largest=largest)).dtype == kind
    for kind in ("<u1", "<i2", ">i4", "<i8", ">u8", "<u2"):
        assert read("ids.npy", npy(np.array([0, 5, 127], kind))) == [0, 5, 127]


def npy(array, version=(1, 0)):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


def declared(shape, kind="<u2", order=False, data=b"\0" * 8):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": order, "shape": shape})
    return file.getvalue() + data


def archive():
    file = io.BytesIO()
    np.savez(file, ids=np.arange(3))
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"104\n-1", 'word 2, "-1", is not an id.'),
        (b"104, 101", 'word 1, "104,", is not an id.'),
        (b"1_0", 'word 1, "1_0", is not an id.'),
        (b"\xff\xfe", 'word 1, "\ufffd\ufffd", is not an id.'),
        (b"2147483647", 'word 1, "2147483647", is not an id.'),
        (b"9" * 10**6, 'word 1, "' + "9" * 40 + '…", is not an id.'),
        ("²".encode(), 'word 1, "²", is not an id.'),
        (b"[1] 2", "the list of ids does not end; the file may be cut off."),
        (b"[104, 1.0]", 'item 2, "1.0", is not an id.'),
        (b"[[104]]", 'item 1, "[104]", is not an id.'),
        (b"[1,,2]", 'item 2, "", is not an id.'),
        (b"[" * 100_000, "the list of ids does not end; the file may be cut off."),
        (b'{"ids": [1]}', "word 1, '{\"ids\":', is not an id."),
        (b'[1, "a"]', "item 2, '\"a\"', is not an id."),
        (npy(np.array([[104]])), "the array must be a row of whole numbers, not 2-dimensional int64."),
        (npy(np.array([1.0])), "the array must be a row of whole numbers, not 1-dimensional float64."),
        (npy(np.array([None])), "the array must be a row of whole numbers, not 1-dimensional object."),
        (npy(np.arange(9, dtype="<i8"))[:-1], "9 ids are declared, but the file has 8.875."),
        (npy(np.arange(9, dtype="<i8")) + b"\0" * 8, "9 ids are declared, but the file has 10."),
        (declared((10**15,)), "1,000,000,000,000,000 ids are declared, but the file has 4."),
        (declared((-1,)), "-1 ids are declared, but the file has 4."),
        (declared((4,), order=True), "the array is in Fortran order; save it in C order."),
        (npy(np.array([3, -2, -1])), "item 2, -2, is not an id."),
        (npy(np.array([3, 2**40])), "item 2, 1099511627776, is not an id."),
        (npy(np.array([2**63 + 7], np.uint64)), "item 1, 9223372036854775815, is not an id."),
        (npy(np.arange(99))[:20], "this NumPy array cannot be read: its header is damaged or from a newer version."),
        (npy(np.arange(9)).replace(b"(9,)", b"(9**"), "this NumPy array cannot be read: its header is"),
        (pickle.dumps([1, 2, 3]), "this is not a NumPy array, though its name ends in .npy."),
        (archive(), "this is an archive, such as .npz: save its array as a .npy file."),
    ],
)
def test_files_without_ids_are_an_error(data, words):
    name = "ids.npy" if data[:1] in b"\x93P\x80" else "ids.txt"
    with pytest.raises(FormatError) as caught:
        read(name, data)
    said = str(caught.value)
    assert said.startswith(f"{name}: {words}".replace('\\"', '"'))
    assert said.isprintable()
    assert len(said) < 300


class Trap:
    """What a file would do if it were unpickled."""

    def __reduce__(self):
        return pytest.fail, ("the file was executed",)


def test_a_pickle_is_never_executed():
    trap = pickle.dumps(Trap())
    for data in (trap, npy(np.array([0], object)).replace(pickle.dumps(np.array([0], object), 4), trap), trap * 2):
        for name in ("ids.npy", "ids"):
            with pytest.raises(FormatError):
                read(name, data)
    with pytest.raises(FormatError, match="not 1-dimensional object"):
        read("ids.npy", declared((1,), "|O", data=trap))


def test_a_declared_size_takes_no_memory():
    tracemalloc.start()
    try:
        with pytest.raises(FormatError):
            read("ids.npy", declared((2**40,)))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["ids.npy", "ids.json", "ids.txt"])
def test_a_mutant_is_read_or_refused_in_one_sentence(name):
    chance = random.Random(name)
    ids = np.array([5, 300, 70_000, 0, 12, 2**31 - 2], np.uint32)
    whole = {"ids.npy": npy(ids), "ids.json": json.dumps(ids.tolist()).encode(), "ids.txt": b"5 300\n70000 0 12"}[name]
    refused = 0
    for _ in range(MUTANTS):
        try:
            read(name, mutant_of_bytes(whole, chance))
        except FormatError as error:
            refused += 1
            words = str(error)
            assert re.fullmatch(rf"{name}: [^\n]+\.", words), words
            assert words.isprintable(), words
    assert refused > MUTANTS // 4


@pytest.mark.parametrize("name", ["ids.npy", "ids.json"])
def test_a_file_truncated_at_any_length_is_refused(tmp_path, name):
    whole = written(tmp_path / name, [5, 300, 70_000]).read_bytes()
    for length in range(1, len(whole) - 1):
        with pytest.raises(FormatError, match=rf"^{name}: "):
            read(name, whole[:length])
    with pytest.raises(FormatError, match=rf"^{name}: the folder .*nowhere does not exist"):
        written(tmp_path / "nowhere" / name, [1])
