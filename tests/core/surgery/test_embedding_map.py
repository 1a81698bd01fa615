"""The map of an embedding is applied to rows, and read again from its files."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tokstudio import (
    ConfigError,
    Corpus,
    EmbeddingMap,
    FormatError,
    TrainingConfig,
    add_specials,
    embedding_map,
    extend,
    prune,
    train,
)

CORPUS = Corpus.from_text(
    "the cat sat on the mat, and that was that; a dog ran over every hill to another village " * 20
)
OLD = train(CORPUS, TrainingConfig(vocabulary_size=290, pattern="gpt2"))


def changed() -> EmbeddingMap:
    longer = extend(prune(OLD, 275).tokenizer, CORPUS, TrainingConfig(vocabulary_size=300, pattern="gpt2"))
    return embedding_map(add_specials(longer, ["<s>"]))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_rows_stay_or_are_the_mean_of_their_parts(kind):
    table, rows = changed(), np.random.default_rng(1).normal(size=(300, 5)).astype(kind)
    new = table.apply(rows)
    assert (new.shape, new.dtype) == ((table.size, 5), kind)
    assert np.array_equal(new[table.new_ids], rows[table.old_ids])
    assert len(table.made) > 5
    for token in table.made.tolist():
        parts = table.parts_of(token)
        mean = (rows[parts] if len(parts) else rows).mean(axis=0, dtype=np.float64).astype(kind)
        assert np.array_equal(new[token], mean)


def test_a_row_without_a_token_gets_the_mean_of_all():
    none = np.zeros(0, np.int64)
    table = EmbeddingMap(4, 2, np.array([0, 1]), np.array([3, 0]), none, none, np.zeros(1, np.int64))
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert table.apply(rows).tolist() == [[3.0, 4.0], [2.0, 3.0], [2.0, 3.0], [1.0, 2.0]]


def test_what_are_no_rows_is_refused():
    wrong: list[Any] = [np.zeros((300, 2), int), np.zeros(300), [[1.0]], None]
    for rows in wrong:
        with pytest.raises(ConfigError, match="floating point numbers with a row for each token"):
            changed().apply(rows)
    with pytest.raises(ConfigError, match="has 10 rows, and the map is of one with 290 at least"):
        changed().apply(np.zeros((10, 2)))


@pytest.mark.parametrize("name", ["map.npz", "map.json"])
def test_it_is_read_as_it_was_written(tmp_path, name):
    table = changed()
    assert table.save(tmp_path / name) == tmp_path / name
    again = EmbeddingMap.load(tmp_path / name)
    assert (again.size, again.before) == (table.size, table.before)
    for field in ("old_ids", "new_ids", "made", "parts", "starts"):
        assert getattr(again, field).tolist() == getattr(table, field).tolist()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"size": 2}, "names a row that the embedding does not have"),
        ({"before": 2}, "names a row that the embedding does not have"),
        ({"size": -1}, "number of rows is impossible"),
        ({"size": 2**40}, "number of rows is impossible"),
        ({"size": "9"}, "no map of an embedding"),
        ({"parts": {"1": [0]}}, "makes a row twice"),
        ({"parts": {"300": [0.5]}}, "no map of an embedding"),
        ({"new_ids": {"0": -1}}, "names a row"),
        ({"new_ids": []}, "no map of an embedding"),
        ({"parts": None}, "no map of an embedding"),
    ],
)
def test_a_damaged_map_is_refused_in_a_sentence(tmp_path, changes, words):
    path = tmp_path / "map.json"
    changed().save(path)
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changes), encoding="utf-8")
    with pytest.raises(FormatError, match=rf"^map\.json: .*{words}"):
        EmbeddingMap.load(path)


def test_other_files_are_refused(tmp_path):
    path = changed().save(tmp_path / "map.npz")
    whole = path.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"[1]", whole.replace(b"made", b"mode")):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"map\.npz: this is no map of an embedding"):
            EmbeddingMap.load(path)
    with pytest.raises(FormatError, match=r"none\.npz"):
        EmbeddingMap.load(tmp_path / "none.npz")
