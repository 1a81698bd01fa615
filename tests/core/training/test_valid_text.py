"""Validity of UTF-8, compared with Python's decoder document by document."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokstudio.core.base.arrays import read_only
from tokstudio.core.corpus.corpus import Corpus
from tokstudio.core.kernels.documents import valid_until
from tokstudio.core.model.config import TrainingConfig
from tokstudio.core.text.unicode_classes import classes
from tokstudio.core.training.trainer import Trainer

# What decides in UTF-8: the first and the last byte of each kind, and those between which a lead byte allows fewer.
DECIDING = bytes.fromhex("41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")


def is_valid(documents: list[bytes], budget: int) -> bool:
    data = read_only(np.frombuffer(b"".join(documents), np.uint8))
    ends = read_only(np.cumsum([len(document) for document in documents], dtype=np.int64))
    at, document, valid = 0, 0, True
    for _ in range(len(data) + len(documents) + 1):
        if not valid or document >= len(documents):
            break
        at, document, valid = valid_until(data, at, document, ends, classes(), budget)
    assert not valid or (at, document) == (len(data), len(documents))
    return valid


def by_python(document: bytes) -> bool:
    try:
        document.decode()
    except UnicodeDecodeError:
        return False
    return True


def may_begin(document: bytes) -> bool:
    """Whether valid text begins so."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(document)
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_every_beginning_of_a_character_is_judged_as_by_python(length):
    documents = map(bytes, itertools.product(DECIDING, repeat=length))
    # What follows bytes that are wrong already does not matter: a seventh of it is enough.
    judged = [document for number, document in enumerate(documents) if number % 7 == 0 or may_begin(document[:-1])]
    assert len(judged) > len(DECIDING) ** length / 8
    assert [document for document in judged if is_valid([document], 100) != by_python(document)] == []


@given(
    st.lists(st.one_of(st.text().map(str.encode), st.binary(), st.text("aé日😀", min_size=20).map(str.encode))),
    st.integers(1, 40),
)
def test_documents_are_valid_when_each_is_however_few_bytes_are_looked_at(documents, budget):
    assert is_valid(documents, budget) == all(map(by_python, documents))


@pytest.mark.parametrize("place", [0, 1, 7, 8, 4095, 4096, 4097])
def test_one_invalid_byte_is_found_anywhere(place, monkeypatch):
    monkeypatch.setattr("tokstudio.core.training.prepare_corpus._LOOKED_AT", 4096)
    text = b"a" * place + b"\xe6\x97" + b"a" * 9000
    trainer = Trainer(Corpus.from_texts([text, "日".encode()]), TrainingConfig(base="characters", min_frequency=9000))
    for _ in trainer:
        pass
    assert trainer.prepared is not None
    assert trainer.prepared.replaced == 1
