"""Data sets of a hub: sampled, kept, found again, and told apart."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import gzip
import json
from itertools import chain
from pathlib import Path

import pytest
import zstandard

from tests.core.corpus.remote.sets import card, json_lines, parquet, texts
from tests.core.hub.local_hub import COMMIT, Hub, Repository
from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.base.progress import finish
from tokstudio.core.base.records import from_values
from tokstudio.core.corpus.remote.preview import preview_work
from tokstudio.core.hub.addresses import parse_address
from tokstudio.core.hub.kept_texts import TextOrigin, kept_texts

NAME = "hf:datasets/me/set"


def documents_of(corpus: Corpus) -> list[str]:
    return [bytes(document).decode() for document in corpus.iter_documents()]


def put(hub: Hub, files: dict[str, bytes], **options) -> None:
    hub.repositories["datasets/me/set"] = Repository(files, **options)


def test_all_of_a_configuration_is_the_text_of_its_files(hub: Hub, tmp_path: Path):
    shards = [texts(300, seed) for seed in range(3)]
    files = {f"data/deu/train-{number}.parquet": parquet(shard) for number, shard in enumerate(shards)}
    put(hub, {"README.md": card("deu", "fra"), "data/deu/test-0.parquet": parquet(texts(5, 9)), **files})
    corpus = Corpus.from_files(f"{NAME}:deu")
    assert documents_of(corpus) == [document for shard in shards for document in shard]
    [source] = corpus.sources
    assert (source.name, source.is_rows, len(source.shards)) == (f"{NAME}:deu", True, 3)
    assert source.note == f"from {NAME}:deu@{COMMIT}; its split train"
    assert source.origin is not None
    assert (source.origin.commit, source.origin.files) == (COMMIT, 3)
    # The same files on this computer.
    for name, content in files.items():
        (tmp_path / Path(name).name).write_bytes(content)
    folder = [tmp_path / Path(name).name for name in files]
    local = Corpus.from_files(folder)
    config = TrainingConfig(vocabulary_size=300, pattern="gpt2")
    assert train(corpus, config).merges.tolist() == train(local, config).merges.tolist()
    assert documents_of(Corpus.from_names("me/set:deu/test")) == texts(5, 9)


def test_a_sample_is_from_many_places_the_same_again_and_offline(hub: Hub, no_pauses: None, monkeypatch):
    shards = [texts(150, seed) for seed in range(40)]
    put(hub, {f"train-{number:02}.parquet": parquet(shard, 50) for number, shard in enumerate(shards)})
    every = {document: number for number, shard in enumerate(shards) for document in shard}
    corpus = Corpus.from_files(NAME, sample_bytes=200_000, seed=3)
    taken = documents_of(corpus)
    assert 185_000 <= corpus.bytes <= 200_000
    assert len(set(taken)) == len(taken)
    assert len({every[document] for document in taken}) >= 10, "in the order of the files it would be six"
    origin = corpus.sources[0].origin
    assert origin is not None
    assert len(origin.pieces) <= 64
    assert {piece.unit for piece in origin.pieces} == {"row groups"}
    assert corpus.sources[0].note.startswith("sample (seed 3) of ")
    other = Corpus.from_files(NAME, sample_bytes=200_000, seed=4)
    assert documents_of(other) != taken
    hub.status = 503
    offline = Corpus.from_files(NAME, sample_bytes=200_000, seed=3)
    assert documents_of(offline) == taken
    assert "this is the copy in the cache" in offline.sources[0].note
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert documents_of(Corpus.from_files(NAME, sample_bytes=200_000, seed=3)) == taken
    hub.asked.clear()
    pinned = Corpus.from_files(f"{NAME}@{COMMIT}", sample_bytes=200_000, seed=3)
    assert documents_of(pinned) == taken
    assert hub.asked == [], "a commit that is in the cache needs no network"


@pytest.mark.parametrize("kind", ["parquet", "txt", "jsonl", "many"])
def test_a_seed_chooses_files_and_the_places_in_each(hub: Hub, no_pauses: None, kind: str):
    documents = texts(3_000, 1)
    write = {"parquet": lambda some: parquet(some, 100), "jsonl": json_lines}.get(
        kind, lambda some: "\n".join(some).encode()
    )
    ending = "txt" if kind == "many" else kind
    # Of a file that is taken whole, a seed can choose nothing but whether it is taken.
    parts = [documents[at : at + 30] for at in range(0, 2_100, 30)] if kind == "many" else [documents]
    put(hub, {f"train-{number:02}.{ending}": write(part) for number, part in enumerate(parts)})
    size = 150_000 if kind != "many" else 1 << 30
    samples = [documents_of(Corpus.from_files(NAME, sample_bytes=size, seed=seed)) for seed in (1, 2)]
    assert all(0 < sum(map(len, sample)) < sum(map(len, chain(*parts))) for sample in samples)
    assert samples[0] != samples[1]


def test_the_same_sample_is_taken_in_an_empty_cache(hub: Hub, cache: Path):
    put(hub, {f"train-{number}.parquet": parquet(texts(500, number), 100) for number in range(5)})
    first = Corpus.from_files(NAME, sample_bytes=50_000)
    [kept] = kept_texts()
    assert kept.size > 0
    kept.remove()
    assert kept_texts() == []
    assert list(cache.iterdir()) == []
    assert Corpus.from_files(NAME, sample_bytes=50_000).sha256 == first.sha256


@pytest.mark.parametrize("kind", ["parquet", "text", "large groups"])
def test_a_sample_moves_little_more_than_its_bytes(hub: Hub, kind: str):
    size = 1_200_000  # much more than what describes the files
    if kind == "text":
        files = {f"train-{number}.txt": "\n".join(texts(2_500, number, 40)).encode() for number in range(4)}
    else:
        group = 500 if kind == "parquet" else 50_000
        more = {"other": texts(3_000, 99), "n": list(range(3_000))}
        files = {f"train-{number}.parquet": parquet(texts(3_000, number, 40), group, **more) for number in range(4)}
    put(hub, files)
    corpus = Corpus.from_files(NAME, sample_bytes=size)
    assert 0.9 * size <= corpus.bytes <= size
    # Compression makes less of it; descriptions of files cost 64 kB each.
    assert hub.sent <= 1.3 * corpus.bytes, hub.sent / corpus.bytes
    assert hub.sent < 0.4 * sum(map(len, files.values()))


def test_json_lines_are_entered_midway_and_only_whole_rows_are_taken(hub: Hub):
    shards = [texts(2_000, seed, 30) for seed in range(4)]
    put(hub, {f"train-{number}.jsonl": json_lines(shard) for number, shard in enumerate(shards)})
    corpus = Corpus.from_files(NAME, sample_bytes=200_000)
    every = {document for shard in shards for document in shard}
    taken = documents_of(corpus)
    assert set(taken) <= every
    assert 150_000 <= corpus.bytes <= 200_000
    entered = [[shard.index(document) for document in taken if document in shard] for shard in shards]
    assert all(min(rows) > 0 for rows in entered), "not their beginnings"
    assert any(min(rows) > 1_000 for rows in entered)
    assert len({document.rpartition(" ")[2].partition("-")[0] for document in taken}) == 4, "all four shards"


def test_what_cannot_be_entered_midway_is_read_from_its_beginning_and_that_is_said(hub: Hub):
    shards = [texts(1_000, seed) for seed in range(3)]
    compressed = {
        "gz": {f"train-{number}.jsonl.gz": gzip.compress(json_lines(shard)) for number, shard in enumerate(shards)},
        "zst": {
            f"train-{number}.jsonl.zst": zstandard.compress(json_lines(shard)) for number, shard in enumerate(shards)
        },
    }
    for files in compressed.values():
        put(hub, files)
        corpus = Corpus.from_files(NAME, sample_bytes=90_000)
        taken = documents_of(corpus)
        numbers = [sum(document in shard for document in taken) for shard in shards]
        assert all(numbers)
        assert taken == [document for shard, number in zip(shards, numbers, strict=True) for document in shard[:number]]
        assert 80_000 <= corpus.bytes <= 90_000
        assert "of 3 files only the beginning is read, as they cannot be entered midway" in corpus.sources[0].note
        hub.repositories["datasets/me/set"].commit = COMMIT[::-1]


def test_blocks_of_text_are_documents_of_their_own(hub: Hub):
    lines = [f"line {number} of the text, and something\n" for number in range(20_000)]
    put(hub, {"train.txt": "".join(lines).encode()})
    corpus = Corpus.from_files(NAME, sample_bytes=300_000)
    blocks = [bytes(source.data).decode() for source in corpus.sources]
    assert len(blocks) > 1
    assert all(block in "".join(lines) and block.startswith("line ") and block.endswith("\n") for block in blocks)
    assert len({line for block in blocks for line in block.splitlines()}) == sum(block.count("\n") for block in blocks)
    assert len({source.group for source in corpus.sources}) == 1, "one entry of a mixture"


def test_a_text_of_one_line_is_cut_between_characters(hub: Hub):
    put(hub, {"train.txt": ("日本語ä" * 60_000).encode()})
    corpus = Corpus.from_files(NAME, sample_bytes=200_000)
    assert all("\ufffd" not in bytes(source.data).decode() for source in corpus.sources)
    assert 190_000 <= corpus.bytes <= 200_000


def test_a_column_and_a_dividing_column_are_fetched_and_filters_apply(hub: Hub):
    rows = texts(400, 1)
    other = [f"other {row}" for row in range(400)]
    put(hub, {"train.parquet": parquet(rows, lang=["de", "en"] * 200, other=other)})
    corpus = Corpus.from_files(NAME, field="other", split_by="lang", least_characters=8)
    assert [source.name for source in corpus.sources] == [f"{NAME}: de", f"{NAME}: en"]
    assert documents_of(corpus)[0] == "other 10"
    assert "short document" in corpus.sources[0].note
    assert sorted(documents_of(corpus)) == sorted(text for text in other if len(text) >= 8)


def test_texts_and_archives_are_read_as_files(hub: Hub):
    put(hub, {"a.txt": b"one\n", "b.txt.gz": gzip.compress(b"two\n"), "c.csv": b"x"})
    corpus = Corpus.from_files([f"{NAME}/a.txt", f"{NAME}/b.txt.gz"])
    assert [(source.name, bytes(source.data)) for source in corpus.sources] == [
        ("a.txt", b"one\n"),
        ("b.txt.gz", b"two\n"),
    ]


def test_a_data_set_of_a_program_is_read_as_converted_and_parts_are_said(hub: Hub):
    converted = Repository({"default/partial-train/0000.parquet": parquet(["one", "two"])}, commit=COMMIT[::-1])
    put(hub, {"set.py": b"raise SystemExit"}, other={"refs/convert/parquet": converted})
    corpus = Corpus.from_files(NAME)
    assert documents_of(corpus) == ["one", "two"]
    assert "as converted to Parquet by the Hub" in corpus.sources[0].note
    assert "converted only a part of this split" in corpus.sources[0].note
    assert not [asked for asked in hub.asked if asked.endswith("set.py")]


def test_folders_are_configurations_where_the_description_lists_none(hub: Hub):
    put(hub, {"de/train.jsonl": json_lines(["eins", "zwei"]), "de/dev.jsonl": json_lines(["drei"]), "fr/x.jsonl": b""})
    assert documents_of(Corpus.from_names("me/set:de/validation")) == ["drei"]
    seen = finish(preview_work(parse_address(f"{NAME}:de")))
    assert seen.configurations == {"de": ["train", "validation"], "fr": ["train"]}


def test_a_preview_says_what_there_is_before_anything_large_is_read(hub: Hub):
    content = {f"data/deu/train-{number}.parquet": parquet(texts(3_000, number, 40), 3_000) for number in range(4)}
    put(hub, {"README.md": card("deu", "fra"), **content, "data/fra/train-0.parquet": parquet(["un"])}, gated=True)
    seen = finish(preview_work(parse_address(NAME)))
    assert (seen.license, seen.gated, seen.files, seen.contents) == ("odc-by", True, 0, None)
    assert seen.configurations == {"deu": ["train", "test"], "fra": ["train", "test"]}
    hub.sent = 0
    seen = finish(preview_work(parse_address(f"{NAME}:deu")))
    assert (seen.files, seen.size) == (4, sum(map(len, content.values())))
    assert seen.contents is not None
    assert seen.contents.field == "text"
    [text] = [column for column in seen.contents.columns if column.name == "text"]
    assert [value.rstrip("…") for value in text.values] == [one[:200] for one in texts(10, 0, 40)]
    assert hub.sent < 0.3 * seen.size
    assert seen.address == f"{NAME}:deu@{COMMIT}"


def test_an_origin_says_all_and_is_read_again(hub: Hub, cache: Path):
    put(hub, {"train.parquet": parquet(texts(2_000, 1), 200)})
    source = Corpus.from_files(NAME, sample_bytes=50_000, seed=7).sources[0]
    assert source.origin is not None
    values = json.loads(json.dumps(source.origin.to_json()))
    assert from_values(TextOrigin, values) == source.origin
    assert (values["commit"], values["request"]["seed"], values["request"]["sample_bytes"]) == (COMMIT, 7, 50_000)
    assert values["pieces"][0]["unit"] == "row groups"
    for wrong in ({"commit": 1}, {"pieces": 3}, {"pieces": [{"file": 1}]}, {"more": 1}, {"request": {"seed": "x"}}):
        with pytest.raises(ValueError, match=r"is not known|is missing"):
            from_values(TextOrigin, values | wrong)


def test_a_kept_text_that_is_not_whole_is_fetched_again(hub: Hub, cache: Path):
    put(hub, {"train.parquet": parquet(texts(100, 1))})
    corpus = Corpus.from_files(NAME)
    [folder] = cache.iterdir()
    next(folder.glob("*.parquet")).unlink()
    assert Corpus.from_files(NAME).sha256 == corpus.sha256
