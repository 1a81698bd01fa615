"""Tokenizers of a hub: fetched, kept in the cache, and refused with a sentence where something is wrong."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
import socket
import sys
import zlib
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest

from tests.core.hub.local_hub import COMMIT, Hub, Repository, local_hub, refused, seconds_pass_faster
from tokstudio import FormatError, Tokenizer, load, save
from tokstudio.core.base import subprocesses
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.common.format import PatternNeeded
from tokstudio.core.formats.loading import load_work
from tokstudio.core.hub import fetching, replacements
from tokstudio.core.hub.addresses import without_secrets
from tokstudio.core.hub.names import parse_name

TEXT = "the cat sat on 1984 mats"


def kept(tmp_path: Path) -> list[str]:
    """The contents in the cache."""
    return sorted(file.name for file in (tmp_path / "hf").rglob("blobs/*"))


def test_a_tokenizer_is_fetched_by_its_name_with_only_its_own_files(
    hub: Hub, tokenizer: Tokenizer, tmp_path: Path, monkeypatch
):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    loaded = finish(load_work("hf:me/tiny"))
    assert hub.token == "Bearer hf_secret", "that of the environment is sent"
    assert loaded.tokenizer.encode(TEXT) == tokenizer.encode(TEXT)
    assert (loaded.name, loaded.remark) == ("tiny", "")
    assert loaded.files[0].name == "tokenizer.json"
    assert loaded.files[0].is_relative_to(tmp_path / "hf")
    assert not [asked for asked in hub.asked if "model.bin" in asked or "code.py" in asked]


def test_a_large_file_of_a_chosen_revision_is_fetched_from_where_the_hub_says(hub: Hub, tokenizer: Tokenizer):
    hub.repositories["me/tiny"].revisions = ("main", "v1")
    hub.repositories["me/tiny"].large = frozenset({"tokenizer.json"})
    assert load("hf:me/tiny@v1").encode(TEXT) == tokenizer.encode(TEXT)
    assert "GET /api/models/me/tiny/revision/v1" in hub.asked
    assert f"GET /me/tiny/large/{COMMIT}/tokenizer.json" in hub.asked


def test_what_was_fetched_once_is_not_fetched_again(hub: Hub):
    load("hf:me/tiny")
    hub.asked.clear()
    load("hf:me/tiny")
    assert hub.asked == ["GET /api/models/me/tiny"]
    hub.asked.clear()
    load(f"hf:me/tiny@{COMMIT}")
    assert hub.asked == []


def test_without_a_network_the_copy_in_the_cache_is_opened_and_that_is_said(
    hub: Hub, tokenizer: Tokenizer, monkeypatch
):
    load("hf:me/tiny")
    hub.status = 503
    loaded = finish(load_work("hf:me/tiny"))
    assert loaded.tokenizer.encode(TEXT) == tokenizer.encode(TEXT)
    assert "cannot be reached: this is the copy in the cache" in loaded.remark
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub.asked.clear()
    loaded = finish(load_work("hf:me/tiny"))
    assert (loaded.name, loaded.remark, hub.asked) == ("tiny", "", [])


def test_a_newer_commit_is_fetched(hub: Hub, tokenizer: Tokenizer, tmp_path: Path):
    load("hf:me/tiny")
    save(tokenizer.at(3), tmp_path / "newer")
    files = {file.name: file.read_bytes() for file in (tmp_path / "newer").iterdir()}
    hub.repositories["me/tiny"] = Repository(files, commit=COMMIT[::-1])
    assert len(load("hf:me/tiny")) == 259


def test_without_a_network_and_a_copy_the_error_says_both(hub: Hub, monkeypatch):
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")
        assert "cannot be reached, and there is no copy of it in the cache" in refused("hf:me/tiny")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert refused("hf:me/tiny") == "hf:me/tiny: HF_HUB_OFFLINE is set, and there is no copy of it in the cache."


def test_what_is_not_there_is_told(hub: Hub, monkeypatch):
    assert "has no such repository, or it is private" in refused("hf:me/none")
    assert refused("hf:me/tiny@v9") == 'hf:me/tiny@v9: the repository has no revision "v9".'
    hub.repositories["me/model"] = Repository({"model.bin": b"weights", "sub/tokenizer.json": b"{}"})
    assert "tokenizer.json, vocab.json with merges.txt, " in refused("hf:me/model")
    hub.pages["api/models/me/tiny"] = b"<html>Sign in to this network</html>"
    monkeypatch.setenv("HF_ENDPOINT", f"{hub.address}/pages")
    assert "does not answer as a Hugging Face Hub does" in refused("hf:me/tiny")


@pytest.mark.parametrize(("status", "code"), [(401, "GatedRepo"), (403, "Other")])
def test_a_gated_repository_asks_for_the_terms_and_for_a_token(hub: Hub, tmp_path: Path, status: int, code: str):
    hub.repositories["me/tiny"].refusal = status, code
    told = refused("hf:me/tiny")
    assert "accept the terms" in told
    assert "HF_TOKEN" in told
    assert kept(tmp_path) == []


def test_a_pair_of_files_needs_a_pattern(hub: Hub, tokenizer: Tokenizer, tmp_path: Path):
    save(tokenizer, tmp_path / "pair", "gpt2", accept_loss=True)
    files = {file.name: file.read_bytes() for file in (tmp_path / "pair").iterdir()}
    hub.repositories["me/pair"] = Repository(files)
    with pytest.raises(PatternNeeded):
        load("hf:me/pair")
    assert load("hf:me/pair", "gpt2").encode(TEXT) == tokenizer.encode(TEXT)
    # The model's file is fetched too, and tells the class, which has a pattern.
    hub.repositories["me/typed"] = Repository({**files, "config.json": b'{"model_type": "gpt2"}'})
    assert load("hf:me/typed").encode(TEXT) == tokenizer.encode(TEXT)


def test_other_files_are_fetched_with_what_stands_beside_them(hub: Hub):
    words = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nHello\nhello\n"
    settings = b'{"do_lower_case": false}'
    files = {"vocab.txt": words, "tokenizer_config.json": settings, "model.bin": b"weights"}
    hub.repositories["me/bert"] = Repository(files)
    assert load("hf:me/bert").encode("Hello") == [5]
    lines = [base64.b64encode(token) for token in [*(bytes([byte]) for byte in range(256)), b"ab"]]
    ranks = b"".join(line + b" %d\n" % rank for rank, line in enumerate(lines))
    config = {"added_tokens_decoder": {"300": {"content": "[BOS]"}}}
    files = {"tiktoken.model": ranks, "tokenizer_config.json": json.dumps(config).encode()}
    hub.repositories["me/ranks"] = Repository(files)
    assert load("hf:me/ranks", "gpt2").encode("[BOS]ab", "all") == [300, 256]
    entries = [{"rank": rank, "token_bytes": line.decode(), "token_str": None} for rank, line in enumerate(lines)]
    config = {"pattern": r"\s+|\S+", "default_vocab_size": 267, "default_num_special_tokens": 10, "version": "v3"}
    tekken = {"config": config, "vocab": entries, "special_tokens": []}
    hub.repositories["me/tekken"] = Repository({"tekken.json": json.dumps(tekken).encode()})
    assert load("hf:me/tekken").encode("ab") == [266]


def test_a_file_that_is_cut_short_is_not_kept(hub: Hub, no_pauses: None, tmp_path: Path):
    hub.cut.add("tokenizer.json")
    # A server that sends it whole each time begins anew.
    for more, hub.whole in ((0, False), (100_000, False), (0, True)):
        hub.repositories["me/tiny"].files["tokenizer.json"] += b" " * more
        assert "the download was cut short, and nothing of it was kept" in refused("hf:me/tiny"), (more, hub.whole)
        assert len(kept(tmp_path)) == 1, (more, hub.whole)  # the small file beside it
    hub.cut.clear()
    load("hf:me/tiny")


def test_a_file_with_other_content_than_listed_is_not_kept(hub: Hub, tmp_path: Path):
    hub.damaged.add("tokenizer.json")
    for large in (frozenset[str](), frozenset({"tokenizer.json"})):
        hub.repositories["me/tiny"].large = large
        assert "the downloaded tokenizer.json is damaged, and was not kept" in refused("hf:me/tiny"), large
        assert len(kept(tmp_path)) == 1, large
    hub.damaged.clear()
    load("hf:me/tiny")


def test_no_header_of_the_server_chooses_a_path(hub: Hub, tmp_path: Path):
    for tag in ('"../../../outside"', "/etc/x", '"..\\\\x"', '""'):
        hub.tag = tag
        assert "sends an invalid ETag" in refused("hf:me/tiny"), tag
    hub.tag, hub.repositories["me/tiny"].commit = None, "../../../outside"
    assert "names a commit that is not one" in refused("hf:me/tiny")
    assert kept(tmp_path) == []
    assert not list(tmp_path.rglob("outside*"))


def unpacking_to(size: int) -> bytes:
    """So many megabytes of spaces, packed: after a full flush, equal blocks are equal bytes."""
    packed = zlib.compressobj(wbits=31)
    first = packed.compress(b"[") + packed.flush(zlib.Z_FULL_FLUSH)
    return first + (packed.compress(b" " * 1_000_000) + packed.flush(zlib.Z_FULL_FLUSH)) * size


@pytest.mark.parametrize(
    ("tree", "headers", "why"),
    [
        (unpacking_to(500), {"Content-Encoding": "gzip"}, "sends compressed data, which was not asked for"),
        (b"[" + b" " * 40_000_000, {}, "sends more than TokStudio reads"),
        (b"[" * 200_000, {}, "does not answer as a Hugging Face Hub does"),
        (b'{"a": 1}', {}, "does not answer as a Hugging Face Hub does"),
        (b'[{"type": "file", "path": "tokenizer.json", "size": "x", "oid": "y"}]', {}, "cannot be fetched"),
        (b'[{"type": "file"}]', {}, "does not answer as a Hugging Face Hub does"),
        (b"[]", {"Link": '<{hub}/api/models/me/tiny/tree/x>; rel="next"'}, "a list of files without end"),
    ],
    ids=("gzip", "long", "deep", "object", "size", "fields", "endless"),
)
def test_what_a_hub_says_about_a_repository_is_limited(hub: Hub, tree: bytes, headers: dict[str, str], why: str):
    hub.repositories["me/tiny"].revisions = ("main", "x")
    hub.tree = tree
    hub.tree_headers = {name: value.format(hub=hub.address) for name, value in headers.items()}
    assert why in refused("hf:me/tiny")


def test_the_list_of_files_never_goes_on_at_another_server(hub: Hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with local_hub(monkeypatch) as other:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        hub.tree, hub.tree_headers = b"[]", {"Link": f'<{other.address}/api/models/me/tiny/tree/x>; rel="next"'}
        assert "refers to another server for the rest of its list of files" in refused("hf:me/tiny")
        assert other.asked == []


def test_the_process_that_asks_a_hub_has_little_memory(monkeypatch):
    pytest.importorskip("resource")
    code = (
        "import resource; from tokstudio.core.hub import fetching\n"
        "from tokstudio.core.hub import repositories; from tokstudio.core.base.errors import FormatError\n"
        "def fetch(*_):\n"
        "    try: bytearray(5 << 30)\n"
        "    except MemoryError: raise FormatError(f'limited to {resource.getrlimit(resource.RLIMIT_DATA)[0]}')\n"
        "repositories.fetch = fetch; fetching.main()"
    )
    monkeypatch.setattr(subprocesses, "module_command", lambda _, *more: [sys.executable, "-c", code, *more])
    assert refused("hf:me/tiny") == f"limited to {1 << 32}"


def test_a_version_of_a_library_that_is_not_known_is_told_before_anything_is_replaced(hub: Hub, monkeypatch):
    constants = import_module("huggingface_hub.constants")
    name, size, version = parse_name("me/tiny"), constants.DOWNLOAD_CHUNK_SIZE, replacements.version
    for unknown in ("huggingface-hub", "httpx2"):
        with monkeypatch.context() as other:
            other.setattr(
                replacements,
                "version",
                lambda library, unknown=unknown: "1" if library == unknown else version(library),
            )
            with pytest.raises(
                FormatError, match=rf"^hf:me/tiny: .* does not know version 1 of {unknown}: install one"
            ):
                replacements.Connections(name, "host")
            assert size == constants.DOWNLOAD_CHUNK_SIZE
    monkeypatch.delattr(constants, "DOWNLOAD_CHUNK_SIZE")
    with pytest.raises(FormatError, match="does not know version"):
        replacements.Connections(name, "host")
    assert not hasattr(constants, "DOWNLOAD_CHUNK_SIZE")


@pytest.mark.parametrize(
    ("password", "wrong"),
    [*(("p@ss/w0rd", wrong) for wrong in ("gated", "tree", "nothing", "address")), ("p%40ss", "gated")],
)
def test_the_password_of_a_hub_is_never_shown(hub: Hub, monkeypatch, password: str, wrong: str):
    address = hub.address.replace("://", f"://me:{password}@")
    monkeypatch.setenv("HF_ENDPOINT", f"{address}x" if wrong == "address" else address)
    hub.tree = {"tree": b"[{}]", "nothing": b"[]"}.get(wrong)
    if wrong == "gated":
        hub.repositories["me/tiny"].refusal = (403, "GatedRepo")
    told = refused("hf:me/tiny")
    assert not [part for part in (password, "pa55", "w0rd", "p@ss", "me:") if part in told]


def test_no_part_of_the_password_of_a_hub_is_left_in_an_address(monkeypatch):
    for address in ("http://me:p@ss/w0rd@host", "http://me:p%40ss%2Fw0rd@host"):
        monkeypatch.setenv("HF_ENDPOINT", address)
        for given in (address, "http://me:p@ss/w0rd@host", "https://you:p@ss@host"):
            assert without_secrets(f"{given}/api: refused") == f"{given.partition(':')[0]}://host/api: refused"
        assert without_secrets("wrong password p@ss/w0rd") == "wrong password …"


def test_a_process_that_prints_something_else_is_one_sentence(monkeypatch):
    monkeypatch.setattr(subprocesses, "module_command", lambda *_: [sys.executable, "-c", "print('garbage')"])
    assert "ended without an answer" in refused("hf:me/tiny")


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_connection_that_stalls_ends_with_the_work_or_with_an_error(hub: Hub, monkeypatch, tmp_path, is_closed):
    hub.stalled.add("tokenizer.json")
    work = fetching.fetch_work(parse_name("me/tiny"))
    while not hub.half_sent.is_set():
        next(work)
    if is_closed:
        work.close()
    else:
        with monkeypatch.context() as patch:
            seconds_pass_faster(patch)
            with pytest.raises(FormatError, match=r"the connection stalls: no data came for 30 seconds"):
                finish(work)
    assert len(kept(tmp_path)) == 1, "nothing is kept of the file"
    hub.stalled.clear()
    load("hf:me/tiny")


def test_progress_is_in_bytes_of_all_files(hub: Hub):
    files = hub.repositories["me/tiny"].files
    files["tokenizer_config.json"] = files["tokenizer_config.json"] + b" " * 300_000
    seen = {(progress.phase, progress.total) for progress in fetching.fetch_work(parse_name("me/tiny"))}
    total = len(files["tokenizer_config.json"]) + len(files["tokenizer.json"])
    assert ("downloading", total) in seen
