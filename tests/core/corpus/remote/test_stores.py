"""Texts in a store with the interface of S3, by moto's server on this computer."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from importlib import import_module
from threading import Barrier
from threading import enumerate as enumerate_threads
from typing import Any

import pytest

from tests.core.corpus.remote.sets import json_lines, parquet, texts
from tests.core.hub.local_hub import lasting_connections
from tokstudio import ConfigError, Corpus, CorpusError
from tokstudio.core.corpus.remote.files import RemoteFile
from tokstudio.core.corpus.remote.listing import RemoteListing, list_work
from tokstudio.core.corpus.remote.taking import Taking
from tokstudio.core.hub.addresses import parse_address
from tokstudio.core.hub.kept_texts import TextRequest

moto_server = pytest.importorskip("moto.server")
s3fs = pytest.importorskip("s3fs")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of a store with a bucket."""
    import boto3

    server = moto_server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
        made = boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys)
        made.create_bucket(Bucket="bucket")
        yield made
        made.close()
    finally:
        server.stop()


@pytest.fixture
def store(client: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The client, whose bucket is empty, while the program finds the store too."""
    values = {"ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b", "DEFAULT_REGION": "us-east-1"}
    for name, value in {**values, "ENDPOINT_URL": client.meta.endpoint_url}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    with lasting_connections(monkeypatch):
        yield client
    for one in client.list_objects_v2(Bucket="bucket").get("Contents", []):
        client.delete_object(Bucket="bucket", Key=one["Key"])


def put(store: Any, name: str, content: bytes) -> None:
    store.put_object(Bucket="bucket", Key=name, Body=content)


def test_files_of_a_pattern_and_of_a_folder_are_read(store: Any):
    for number in range(3):
        put(store, f"texts/part-{number}.txt", f"text {number}\n".encode())
        put(store, f"rows/part-{number}.jsonl", json_lines([f"row {number}", "other"]))
    put(store, "rows/README.md", b"# About\n")
    corpus = Corpus.from_files("s3://bucket/texts/*.txt")
    assert [bytes(source.data) for source in corpus.sources] == [b"text 0\n", b"text 1\n", b"text 2\n"]
    [rows] = Corpus.from_files("s3://bucket/rows/").sources
    assert bytes(rows.data) == b"row 0otherrow 1otherrow 2other"
    assert len(rows.shards) == 3
    assert rows.origin is not None
    assert [piece.file for piece in rows.origin.pieces] == [f"part-{number}.jsonl" for number in range(3)]


def test_a_changed_object_is_read_anew(store: Any):
    put(store, "a.jsonl", json_lines(["one"]))
    assert bytes(Corpus.from_files("s3://bucket/a.jsonl").sources[0].data) == b"one"
    put(store, "a.jsonl", json_lines(["two"]))
    assert bytes(Corpus.from_files("s3://bucket/a.jsonl").sources[0].data) == b"two"


def test_a_sample_of_parquet_reads_only_what_it_needs_and_is_found_without_the_store(store: Any, monkeypatch):
    documents = texts(2_000, 1)
    put(store, "set.parquet", parquet(documents, 100, more=[json.dumps(row) for row in range(2_000)]))
    corpus = Corpus.from_files("s3://bucket/set.parquet", sample_bytes=30_000)
    assert 20_000 < corpus.bytes <= 30_000
    assert {bytes(document) for document in corpus.iter_documents()} <= {text.encode() for text in documents}
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    again = Corpus.from_files("s3://bucket/set.parquet", sample_bytes=30_000)
    assert again.sha256 == corpus.sha256
    assert "this is the copy in the cache" in again.sources[0].note


def test_what_is_not_there_and_a_library_that_is_missing_are_told(store: Any):
    for address in ("s3://bucket/none.txt", "s3://none/a.txt", "s3://bucket/none/*.txt"):
        with pytest.raises(CorpusError, match=r"there (is|are) no"):
            Corpus.from_files(address)
    for address in ("gs://bucket/a.txt", "abfss://box@host/a.txt", "hdfs://host/a.txt"):
        with pytest.raises(CorpusError, match=rf"^{address}: to read \w+:// addresses, install .*\.$"):
            Corpus.from_files(address)
    with pytest.raises(ConfigError, match="not gopher://"):
        Corpus.from_files("gopher://bucket/a.txt")


def test_each_page_of_a_list_is_told_as_a_long_one_is_no_stall(store: Any, monkeypatch):
    for number in range(7):
        put(store, f"texts/part-{number}.txt", b"text")
    for given in ("s3://bucket/texts/", "s3://bucket/texts/*.txt", "s3://bucket"):
        told: list[None] = []
        with monkeypatch.context() as patch:
            patch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "2")
            listing, _ = list_work(parse_address(given), lambda told=told: told.append(None))
        assert len(listing.files) == 7
        assert len(told) >= 4, "four pages"


@pytest.mark.parametrize("scheme", ["gs", "az", "abfss", "hdfs", "sftp"])
def test_each_other_store_is_read_through_its_library(scheme: str, monkeypatch, tmp_path):
    """A library that keeps files in the memory stands in for it; its places are as those of the store."""
    from fsspec.implementations.memory import MemoryFileSystem

    class Store(MemoryFileSystem):
        protocol = scheme
        store, pseudo_dirs = {}, [""]

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return "/" + path.removeprefix(f"{scheme}://").strip("/")

    monkeypatch.setitem(import_module("fsspec.registry")._registry, scheme, Store)
    for number in range(3):
        Store().pipe(f"{scheme}://box/rows/part-{number}.jsonl", json_lines([f"row {number}", "other"]))
    Store().pipe(f"{scheme}://box/rows/README.md", b"# About")
    request = TextRequest("", sample_bytes=None)
    for given in ("rows/", "rows/*.jsonl"):
        address = parse_address(f"{scheme}://box/{given}")
        folder = tmp_path / str(len(given))
        folder.mkdir()
        listing, meter = list_work(address, lambda: None)
        taken = Taking(listing, address, request, folder, lambda _: None).take()
        assert [piece.file for piece in taken.pieces] == [f"part-{number}.jsonl" for number in range(3)]
        assert meter.arrived >= sum(file.size for file in listing.files)
        text = b"".join(bytes(source.data) for source in Corpus.from_files(sorted(folder.iterdir())).sources)
        assert text == b"row 0otherrow 1otherrow 2other"
    with pytest.raises(CorpusError, match=rf"^{scheme}://box/none\.txt: there is no such file\.$"):
        list_work(parse_address(f"{scheme}://box/none.txt"), lambda: None)


def test_several_files_are_fetched_at_once_and_kept_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr("tokstudio.core.corpus.remote.taking.COPIED", 3)
    content = {f"part-{number}.txt": b"text %d\n" % number * (1 + number % 3) for number in range(9)}
    both = Barrier(2)

    class Connection:
        def read(self, file: RemoteFile, start: int, stop: int) -> bytes:
            if start == 0 and file.path in ("part-1.txt", "part-2.txt"):
                both.wait(60)  # for the other one
            return content[file.path][start:stop]

    files = tuple(RemoteFile(name, len(raw), "tag", name) for name, raw in content.items())
    listing = RemoteListing(files, Connection())
    taking = Taking(listing, parse_address("s3://bucket/"), TextRequest(""), tmp_path, lambda _: None)
    before = {*enumerate_threads()}
    taken = taking.take()
    for thread in {*enumerate_threads()} - before:
        thread.join()  # nobody waits for those that have read all
    assert [piece.file for piece in taken.pieces] == [*content]
    assert {one.name: (tmp_path / one.files[0]).read_bytes() for one in taken.sets} == content
    assert taken.sha256 == hashlib.sha256(b"".join(content.values())).hexdigest()
