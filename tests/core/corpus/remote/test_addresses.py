"""What is an address of a text, and what of it is shown."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import pytest

from tokstudio import ConfigError
from tokstudio.core.hub.addresses import Address, address_in, address_of, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("hf:datasets/a/b", Address("hf", "a/b")),
        ("hf:datasets/HuggingFaceFW/fineweb-2:deu_Latn", Address("hf", "HuggingFaceFW/fineweb-2", "deu_Latn")),
        ("hf:datasets/a/b:c/test@refs/pr/1", Address("hf", "a/b", "c", "test", revision="refs/pr/1")),
        ("hf:datasets/a/b/data/train-*.parquet", Address("hf", "a/b", path="data/train-*.parquet")),
        ("hf:datasets/a/b/x.txt@main", Address("hf", "a/b", path="x.txt", revision="main")),
        ("s3://b/x/*.parquet", Address("s3", whole="s3://b/x/*.parquet")),
        ("https://example.org/a.txt?page=1", Address("https", whole="https://example.org/a.txt?page=1")),
        ("http://127.0.0.1:80/a", Address("https", whole="http://127.0.0.1:80/a")),
    ],
)
def test_an_address_is_understood_and_written_as_it_was(text, address):
    assert parse_address(text) == address
    assert str(address) == text
    assert address_of(text) == address
    assert address_of(Path(text)) == address


def test_the_form_of_the_hubs_library_and_links_name_the_same():
    assert parse_address("hf://datasets/a/b@v1/x/y.txt") == parse_address("hf:datasets/a/b/x/y.txt@v1")
    assert address_in("https://huggingface.co/datasets/a/b/viewer/deu/train") == parse_address(
        "hf:datasets/a/b:deu/train"
    )
    assert address_in(" https://huggingface.co/datasets/a/b ") == parse_address("hf:datasets/a/b")
    there, parsed = (
        "https://huggingface.co/datasets/a/b",
        {
            "tree/main/data": "hf:datasets/a/b/data@main",
            "tree/refs%2Fconvert%2Fparquet": "hf:datasets/a/b@refs/convert/parquet",
            "blob/v1/x/y.txt": "hf:datasets/a/b/x/y.txt@v1",
            "resolve/v1/y.txt?download=true": "hf:datasets/a/b/y.txt@v1",
            "discussions": "hf:datasets/a/b",
        },
    )
    assert {place: str(address_in(f"{there}/{place}")) for place in parsed} == parsed
    assert address_in("https://huggingface.co/a/b") is None
    assert address_in("a/b") is None


@pytest.mark.parametrize(
    ("text", "place", "address"),
    [
        ("s3://b/x/*.txt", "b/x/1.txt", "s3://b/x/1.txt"),
        ("gs://b/x/", "b/x/1.txt", "gs://b/x/1.txt"),
        ("gcs://b/x/?.txt", "b/x/1.txt", "gcs://b/x/1.txt"),
        ("az://box/x", "box/x/1.txt", "az://box/x/1.txt"),
        ("abfs://box@one.dfs.core.windows.net/x/*", "box/x/1.txt", "abfs://box@one.dfs.core.windows.net/x/1.txt"),
        ("abfss://box@host/x", "box/x/1.txt", "abfss://box@host/x/1.txt"),
        ("hdfs://host:8020/x/*", "/x/1.txt", "hdfs://host:8020/x/1.txt"),
        ("webhdfs://host:9870/x", "/x/1.txt", "webhdfs://host:9870/x/1.txt"),
        ("sftp://me@host/x", "/x/1.txt", "sftp://me@host/x/1.txt"),
    ],
)
def test_a_file_of_a_store_has_the_account_and_the_host_of_its_folder(text, place, address):
    file = parse_address(text).of_file(place)
    assert (str(file), file.given, file.scheme) == (address, address, text.partition(":")[0])
    assert address_of(Path(address)) == file, "a path has one slash less"


def test_places_in_stores_are_those_that_their_libraries_tell():
    from fsspec.implementations.arrow import HadoopFileSystem
    from fsspec.implementations.webhdfs import WebHDFS
    from s3fs import S3FileSystem

    systems = {"s3": S3FileSystem, "hdfs": HadoopFileSystem, "webhdfs": WebHDFS}
    for scheme, system in systems.items():
        address = f"{scheme}://host/x/1.txt"
        assert str(parse_address(f"{scheme}://host/x").of_file(system._strip_protocol(address))) == address


@pytest.mark.parametrize(
    "text",
    [
        *("hf:datasets/a", "hf:datasets/a/b:", "hf:datasets/a/b@", "hf:datasets/../b", "hf:datasets/a/b/../c", "s3://"),
        *("http://example.org/a", "file:///etc/passwd", "memory://x/y", "https://h/a*.txt", "https://h::s3://b/x"),
        *("s3://b//x", "https://[x/a", "s3://key:w0rd@b/x", "hf:datasets/a/b@x..y", "zip://a::https://h/b.zip"),
    ],
)
def test_what_is_no_address_is_refused_with_a_sentence(text):
    with pytest.raises(ConfigError, match=r"^\S.*\.$") as caught:
        parse_address(text)
    assert "w0rd" not in str(caught.value)


def test_paths_and_names_of_tokenizers_are_no_addresses(tmp_path, monkeypatch):
    for path in ("a.txt", "c:/x", "C:\\x", "hf:Qwen/Qwen3-8B", "tiktoken:gpt2", Path("data/x.jsonl"), "a:b"):
        assert address_of(path) is None, path
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    (tmp_path / "s3:" / "x").touch()
    assert address_of("s3:/x") is None, "what exists comes first"


@pytest.mark.parametrize(
    "text",
    [
        "https://me:pa55w0rd@example.org/a.txt",
        "https://me:pa55/w0rd@example.org/a.txt",
        "https://me:pa55?w0rd@example.org/a.txt",
        "https://example.org/a.txt?sig=pa55w0rd&X-Amz-Signature=pa55w0rd&access_token=pa55w0rd",
        "https://example.org/a.txt?code=pa55w0rd&jwt=pa55w0rd&access=pa55w0rd&pa55w0rd",
        "https://example.org/a.txt?to=pa55w0rd@example.org",
        "https://example.org/a.txt#pa55w0rd",
        "https://pa55w0rd@example.org/a.txt",
        "sftp://me:pa55w0rd@example.org/a.txt",
        "nothing://me:pa55w0rd@example.org/a.txt",
    ],
)
def test_a_password_is_never_written(text):
    try:
        address = parse_address(text)
    except ConfigError as error:
        shown = str(error)
    else:
        shown = f"{address} {address!r} {address.host}"
        assert address.given == text
    assert "pa55" not in shown
    assert "w0rd" not in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:w0rd@h/a.txt", "https://…@h/a.txt"),
        ("https://h/a?author=w0rd&format=csv&Page=2&x=", "https://h/a?author=…&format=csv&Page=2&x="),
        ("https://h/a?raw", "https://h/a?raw"),
        ("https://h/a?w0rd#b", "https://h/a?…#…"),
        ("s3://b/part-?.txt", "s3://b/part-?.txt"),
        ("abfs://box@h/a.txt", "abfs://box@h/a.txt"),
    ],
)
def test_what_may_be_a_secret_is_replaced_and_then_asked_for(text, shown):
    address = parse_address(text)
    assert str(address) == shown
    assert address.given == text
    if shown == text:
        assert address.hidden == ""
        return
    assert len(address.hidden) == 64
    with pytest.raises(ConfigError, match="the address was stored without its secret parts: give it again"):
        parse_address(shown)
