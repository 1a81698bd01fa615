"""What goes wrong with texts by address is one sentence, and nothing of it is kept."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

import pytest

from tests.core.corpus.remote.sets import card, json_lines, parquet, texts
from tests.core.hub.local_hub import COMMIT, Hub, Repository, local_hub, seconds_pass_faster
from tokstudio import Corpus
from tokstudio.core.base.errors import CorpusError, TokStudioError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.corpus import Corpus as CorpusClass
from tokstudio.core.corpus.readers.folders import Fetching, numbered_work, remote_entries_work
from tokstudio.core.corpus.remote.files import NoConnectionError, refuse_busy
from tokstudio.core.corpus.source import CountedWith
from tokstudio.core.hub.addresses import parse_address
from tokstudio.core.hub.kept_texts import kept_texts
from tokstudio.core.pretokenization.count_words import Counting

NAME = "hf:datasets/me/set"


def refused(address: str, **options: int) -> str:
    """What is said of a text that cannot be had; nothing of it is kept."""
    with pytest.raises(TokStudioError, match=r"^\S[^\n]*\.$") as caught:
        Corpus.from_files(address, **options)
    assert kept_texts() == []
    return str(caught.value)


def test_what_is_not_on_the_hub_is_told(hub: Hub):
    assert "has no such repository, or it is private" in refused("hf:datasets/me/none")
    files = {"README.md": card("deu", "fra"), "data/deu/train-0.parquet": parquet(["one"])}
    hub.repositories["datasets/me/set"] = Repository(files)
    assert 'there is no configuration "ita"; there are "deu", "fra".' in refused(f"{NAME}:ita")
    assert "it has several configurations: add one to the address, such as hf:datasets/me/set:deu" in refused(NAME)
    assert 'there is no split "x"; there are "train", "test".' in refused(f"{NAME}:deu/x")
    assert "there are no files" in refused(f"{NAME}:fra")
    assert "there are no files" in refused(f"{NAME}/data/none-*.parquet")
    assert refused(f"{NAME}:deu@v9") == f'{NAME}:deu@v9: the repository has no revision "v9".'
    gone = "f" * 40
    assert f'the repository has no revision "{gone}"' in refused(f"{NAME}:deu@{gone}")


@pytest.mark.parametrize(("status", "code"), [(401, "GatedRepo"), (403, "Other")])
def test_a_gated_data_set_says_what_to_do(hub: Hub, status: int, code: str):
    files = {"train.parquet": parquet(["one"])}
    hub.repositories["datasets/me/set"] = Repository(files, refusal=(status, code), gated=True)
    told = refused(NAME)
    assert "accept the terms" in told
    assert "HF_TOKEN" in told
    if code == "GatedRepo":
        assert f"{hub.address}/datasets/me/set" in told


def test_without_a_network_and_a_copy_the_error_says_both(monkeypatch, tmp_path):
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
        monkeypatch.setenv("HF_ENDPOINT", address)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        assert "cannot be reached, and there is no copy of it in the cache" in refused(NAME)
        assert "cannot be reached, and there is no copy of it in the cache" in refused(f"{address}/a.txt")


def test_a_set_without_text_names_its_columns(hub: Hub):
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2], "score": [0.5, 1.5]}), out)
    hub.repositories["datasets/me/set"] = Repository({"train.parquet": out.getvalue()})
    assert "no column of this Parquet file holds text; there are" in refused(NAME)
    hub.repositories["datasets/me/set"] = Repository({"train.parquet": parquet(["one"])}, commit=COMMIT[::-1])
    with pytest.raises(CorpusError, match='there is no column "body"; there are "id", "text"'):
        Corpus.from_files(NAME, field="body")


def test_a_shard_that_is_cut_or_longer_than_said_is_told(hub: Hub, no_pauses: None):
    hub.repositories["datasets/me/set"] = Repository({"train.parquet": parquet(texts(100, 1))})
    hub.cut.add("train.parquet")
    assert "was cut short" in refused(NAME)
    hub.cut.clear()
    hub.more = 10
    assert "sends more than it said" in refused(NAME)
    hub.more = 0
    hub.damaged.add("train.parquet")
    assert "this is binary data" in refused(NAME)
    hub.damaged.clear()
    assert Corpus.from_files(NAME).bytes


def test_a_file_that_changes_while_it_is_read_is_told(hub: Hub):
    hub.pages["a.txt"] = b"line of a text\n" * 90_000
    hub.changes["a.txt"] = b"other\n" * 100_000
    told = refused(f"{hub.address}/pages/a.txt")
    assert "changed while it was being read" in told


def test_a_file_of_a_server_is_read_in_parts_or_whole(hub: Hub):
    content = "".join(f"line {number} of a text\n" for number in range(90_000)).encode()
    hub.pages["a.txt"] = content
    hub.page_headers = {"ETag": '"1"'}
    address = f"{hub.address}/pages/a.txt"
    sample = Corpus.from_files(address, sample_bytes=200_000)
    assert 150_000 < sample.bytes <= 200_000
    assert hub.sent < 300_000
    hub.whole = True
    assert bytes(Corpus.from_files(address + "?x=1").sources[0].data) == content
    assert Corpus.from_files(address, sample_bytes=200_000).sha256 == sample.sha256
    assert refused_beside(f"{address}?y=1", 200_000).endswith("or take all of it.")
    assert "there is no such file" in refused_beside(f"{hub.address}/pages/none.txt", 10)


def refused_beside(address: str, size: int) -> str:
    with pytest.raises(CorpusError) as caught:
        Corpus.from_files(address, sample_bytes=size)
    return str(caught.value)


def test_a_redirect_to_another_kind_of_address_is_refused(hub: Hub):
    content = parquet(["one", "two"])
    large = Repository({"train.parquet": content}, large=frozenset({"train.parquet"}))
    hub.repositories["datasets/me/set"] = large
    for elsewhere in ("file://", "ftp://127.0.0.1"):
        hub.elsewhere = elsewhere
        told = refused(NAME)
        assert "redirects to an address of the kind" in told, elsewhere


def test_the_token_goes_to_no_other_host(hub: Hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    large = Repository({"train.parquet": parquet(["one", "two"])}, large=frozenset({"train.parquet"}))
    hub.repositories["datasets/me/set"] = large
    assert Corpus.from_files(NAME).sources[0].documents == 2
    assert [asked for asked in hub.asked if "/large/" in asked], "the file came from the other host"
    assert hub.tokens == []


def test_a_connection_that_stalls_ends_with_the_work_or_with_an_error(hub: Hub, monkeypatch, cache: Path):
    hub.repositories["datasets/me/set"] = Repository({"train.parquet": parquet(texts(100, 1))})
    hub.stalled.add("train.parquet")
    work = CorpusClass.from_files_work(NAME)
    while not hub.half_sent.is_set():
        next(work)
    work.close()
    assert [entry for entry in cache.iterdir() if not entry.name.startswith(".")] == []
    with monkeypatch.context() as patch:
        seconds_pass_faster(patch)
        with pytest.raises(CorpusError, match="the connection stalls: no data came for 90 seconds"):
            finish(CorpusClass.from_files_work(NAME))
    hub.stalled.clear()
    assert Corpus.from_files(NAME).bytes


def test_a_password_is_neither_shown_nor_stored(hub: Hub, cache: Path):
    hub.pages["a.txt"] = b"a text\n"
    address = hub.address.replace("://", "://me:pa55w0rd@")
    corpus = Corpus.from_files(f"{address}/pages/a.txt?token=pa55w0rd")
    assert "pa55" not in f"{corpus.sources}"
    assert all(b"pa55" not in file.read_bytes() for file in cache.rglob("*") if file.is_file())
    hub.status = 500
    with pytest.raises(CorpusError) as caught:
        Corpus.from_files(f"{address}/pages/b.txt?token=pa55w0rd")
    assert "pa55" not in str(caught.value)
    with pytest.raises(TokStudioError) as caught:
        Corpus.from_files("https://me:pa55w0rd@[x/a.txt")
    assert "pa55" not in str(caught.value)


def test_a_list_of_files_never_goes_on_at_another_server(hub: Hub, monkeypatch):
    hub.repositories["datasets/me/set"] = Repository({"train.parquet": parquet(["one"])})
    with local_hub(monkeypatch) as other:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        link = f'<{other.address}/api/datasets/me/set/tree/x>; rel="next"'
        hub.tree, hub.tree_headers = b"[]", {"Link": link}
        assert "refers to another server for the rest of its list of files" in refused(NAME)
        assert other.asked == []


def test_addresses_that_differ_in_their_secrets_are_different_texts(hub: Hub, cache: Path):
    hub.pages = {f"get.txt?key={one}": f"the text of {one}\n".encode() for one in "ab"}
    hub.page_headers = {"ETag": '"same"'}
    for _ in range(2):
        for one in "ab":
            [source] = Corpus.from_files(f"{hub.address}/pages/get.txt?key={one}").sources
            assert bytes(source.data) == f"the text of {one}\n".encode()
    assert "its secret parts are not stored" in source.note
    assert len(kept_texts()) == 2


def test_an_address_is_counted_as_it_was_given(hub: Hub):
    hub.pages = {f"get.txt?to=https://h//{one}/./x": f"{one} {one}\n".encode() for one in "ab"}
    addresses = [f"{hub.address}/pages/{page}" for page in hub.pages]
    works = [remote_entries_work(parse_address(one), Fetching()) for one in addresses]
    entries = [entry for work in works for entry in finish(work)]
    assert [entry.times for entry in finish(numbered_work(entries))] == [1, 1]
    part = finish(Counting(CountedWith("gpt2")).count_work(entries))
    assert [one.bytes for one in part.counts.totals] == [4, 4]


def test_a_change_is_seen_by_the_time_of_the_last_one(hub: Hub):
    first, second = ({"Last-Modified": f"Wed, 01 Jan 2020 00:00:0{second} GMT"} for second in (1, 2))
    address = f"{hub.address}/pages/a.txt"
    hub.pages["a.txt"], hub.page_headers = b"one\n", first
    assert bytes(Corpus.from_files(address).sources[0].data) == b"one\n"
    hub.sent = 0
    assert bytes(Corpus.from_files(address).sources[0].data) == b"one\n"
    assert hub.sent == 1, "only the question for its size"
    hub.pages["a.txt"], hub.page_headers = b"two\n", second
    assert bytes(Corpus.from_files(address).sources[0].data) == b"two\n"
    hub.pages["b.txt"], hub.page_headers = b"one\n", first
    hub.changes["b.txt"], hub.later_headers = b"two\n", second
    with pytest.raises(CorpusError, match="changed while it was being read"):
        Corpus.from_files(f"{hub.address}/pages/b.txt")


def test_a_file_that_nothing_tells_apart_is_fetched_again_while_its_server_answers(monkeypatch):
    with local_hub(monkeypatch) as server:
        address = f"{server.address}/pages/a.txt"
        for text in (b"one\n", b"two\n", b"one\n"):
            server.pages["a.txt"] = text
            [source] = Corpus.from_files(address).sources
            assert (bytes(source.data), "copy in the cache" in source.note) == (text, False)
    [source] = Corpus.from_files(address).sources
    assert (bytes(source.data), "this is the copy in the cache" in source.note) == (b"one\n", True)
    assert len(kept_texts()) == 2


def test_a_copy_is_used_while_a_server_cannot_answer(hub: Hub):
    hub.pages["a.txt"], hub.page_headers = b"a text\n", {"ETag": '"1"'}
    address = f"{hub.address}/pages/a.txt"
    hub.repositories["datasets/me/set"] = Repository({"train.parquet": parquet(["one", "two"])})
    whole = [Corpus.from_files(one).sha256 for one in (address, NAME)]
    host = hub.address.partition("//")[2]
    for hub.status in (429, 520):
        for one, sha256 in zip((address, NAME), whole, strict=True):
            corpus = Corpus.from_files(one)
            assert corpus.sha256 == sha256
            why = f"this is the copy in the cache, as {host} cannot answer now (status {hub.status})"
            assert corpus.sources[0].note.startswith(why), one
        with pytest.raises(CorpusError, match=rf"cannot answer now \(status {hub.status}\): try again later\.$"):
            Corpus.from_files(f"{hub.address}/pages/other.txt")
    hub.status = 404
    with pytest.raises(CorpusError, match="there is no such file"):
        Corpus.from_files(address)


def test_the_answers_after_which_a_server_may_send_a_file_later():
    for status in (408, 429, 500, 501, 502, 503, 504, 520, 599):
        with pytest.raises(NoConnectionError, match=rf"^a\.txt: host cannot answer now \(status {status}\): try again"):
            refuse_busy("a.txt", "host", status)
    for status in (200, 206, 301, 400, 401, 403, 404, 410, 416):
        refuse_busy("a.txt", "host", status)


def test_a_copy_is_used_where_the_connection_ends_unless_it_is_another_version(hub: Hub, no_pauses: None):
    address = f"{hub.address}/pages/a.txt"
    hub.pages["a.txt"] = b"line of a text\n" * 1_000
    whole = Corpus.from_files(address).sha256
    hub.cut.add("a.txt")
    again = Corpus.from_files(address)
    assert again.sha256 == whole
    assert "this is the copy in the cache, as the download was cut short" in again.sources[0].note
    hub.page_headers = {"ETag": '"2"'}
    with pytest.raises(CorpusError, match="the download was cut short"):
        Corpus.from_files(address)


def test_all_of_a_file_is_taken_of_a_server_that_sends_no_parts(hub: Hub):
    text = b"line of a text\n" * 600_000
    hub.pages, hub.whole = {"a.txt": text, "a.jsonl": json_lines(texts(2_000, 1))}, True
    assert len(text) > 1 << 23, "more than is asked for at once"
    assert bytes(Corpus.from_files(f"{hub.address}/pages/a.txt").sources[0].data) == text
    assert hub.asked == ["GET /pages/a.txt"] * 3, "once for all of it, and twice for its size and state"
    assert len(hub.pages["a.jsonl"]) > 1 << 18, "more than is read ahead at first"
    assert bytes(Corpus.from_files(f"{hub.address}/pages/a.jsonl").sources[0].data) == "".join(texts(2_000, 1)).encode()
