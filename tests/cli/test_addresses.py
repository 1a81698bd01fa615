"""Commands that read a text take its address as well, and do what they do with the file."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import numpy as np
import pytest

from tests.core.corpus.remote.sets import json_lines, parquet
from tests.core.hub.local_hub import Hub, Repository, local_hub
from tokstudio import Corpus, load


@pytest.fixture
def hub(tmp_path, monkeypatch) -> Iterator[Hub]:
    """A server, with an empty cache for what is fetched."""
    monkeypatch.setattr("tokstudio.core.hub.kept_texts.cache_folder", lambda: tmp_path / "cache/tokstudio")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with local_hub(monkeypatch) as server:
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        server.page_headers = {"ETag": '"1"'}
        yield server


@pytest.fixture
def tokenizer(write, run) -> str:
    """The folder of a tokenizer, as an argument."""
    write("text.txt", "the cat sat on the mat, the cat\n" * 20)
    run(0, "train text.txt --vocab-size 276 --pattern gpt2 --export huggingface=tokenizer")
    return "--tokenizer tokenizer"


def test_encode_takes_the_address_of_a_text_and_of_a_data_set(hub, tokenizer, write, run):
    text, rows = b"the cat on the mat\n", json_lines(["the cat", "sat on"])
    for name, content in (("a.txt", text), ("a.jsonl", rows)):
        hub.pages[name] = content
        write(name, content)
    hub.repositories["datasets/me/set"] = Repository({"train.parquet": parquet(["the cat", "sat on"])})
    plain = run(0, "encode a.txt", tokenizer).out
    assert run(0, f"encode {hub.address}/pages/a.txt", tokenizer).out == plain
    column = run(0, "encode a.jsonl --field text", tokenizer).out
    assert run(0, f"encode {hub.address}/pages/a.jsonl", tokenizer, says="a.jsonl: column text").out == column
    assert run(0, "encode hf:datasets/me/set", tokenizer, says="column text").out == column
    hub.status = 503
    printed = run(0, f"encode {hub.address}/pages/a.txt", tokenizer, says="this is the copy in the cache")
    assert printed.out == plain
    run(1, f"encode {hub.address}/pages/b.txt", tokenizer, says="cannot answer now (status 503)")


def test_texts_and_parallel_sets_are_compared_by_their_addresses(hub, tokenizer, write, run):
    hub.pages["a.txt"] = b"the cat on the mat\n"
    write("a.txt", hub.pages["a.txt"])
    local = run(0, "compare tokenizer bytes --texts a.txt --csv a.csv")
    assert run(0, f"compare tokenizer bytes --texts {hub.address}/pages/a.txt --csv b.csv").out == local.out
    table = b"de,en\ndie Katze,the cat\nein Hund,a dog\n"
    hub.pages["table.csv"] = table
    write("table.csv", table)
    whole = run(0, "compare tokenizer bytes --parallel --texts table.csv --json").json
    there = run(0, f"compare tokenizer bytes --parallel --texts {hub.address}/pages/table.csv --json").json
    assert there["figures"] == whole["figures"]
    files = {"dev/eng_Latn.dev": b"the cat\na dog\n", "dev/deu_Latn.dev": b"die Katze\nein Hund\n"}
    hub.repositories["datasets/me/flores"] = Repository(files)
    for name, content in files.items():
        write(f"flores/{name}", content)
    whole = run(0, "compare tokenizer bytes --parallel --texts flores/dev --json").json
    there = run(0, "compare tokenizer bytes --parallel --texts hf:datasets/me/flores/dev/*.dev --json").json
    assert there["figures"] == whole["figures"]


def test_word_counts_are_fetched_by_their_address(hub, tokenizer, run, tmp_path):
    run(0, "count text.txt --pattern gpt2 --out counts.parquet")
    for name, content in (("counts.parquet", None), ("words.tsv", b"the\t3\ncat\t2\n")):
        hub.pages[name] = content or (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(hub.pages[name])
        local = run(0, f"train --counts {name} --vocab-size 266 --print-merges").out
        assert run(0, f"train --counts {hub.address}/pages/{name} --vocab-size 266 --print-merges").out == local
    run(1, f"train --counts {hub.address}/pages/none.tsv --vocab-size 266", says="there is no such file")


def test_an_experiment_fetches_word_counts_by_their_address_again(hub, tokenizer, run, tmp_path):
    run(0, "count text.txt --pattern gpt2 --out counts.parquet")
    run(0, "count text.txt counts.parquet --as-text --encoding bytes --pattern gpt2 --out two.parquet")
    words = {"words.tsv": b"the\t3\ncat\t2\n", "counts.parquet": b"", "two.parquet": b""}
    for name, content in words.items():
        hub.pages[name] = content or (tmp_path / name).read_bytes()
        address = f"{hub.address}/pages/{name}"
        trained = f"train --counts {address} --pattern gpt2 --vocab-size 266"
        merges = run(0, trained, f"--experiment {name}.toml --print-merges").out
        said = (tmp_path / f"{name}.toml").read_text()
        assert f'path = "{address}"\ncounts = true\n' in said
        assert str(tmp_path / "cache") not in said
        shutil.rmtree(tmp_path / "cache")
        run(0, f"run --check {name}.toml")
        assert run(0, f"run {name}.toml --print-merges").out == merges
    hub.pages["words.tsv"] = b"the\t3\ncat\t9\n"
    hub.page_headers = {"ETag": '"2"'}
    run(1, "run --check words.tsv.toml", says="words.tsv")


def test_a_sample_of_an_address_is_encoded_into_shards(hub, tokenizer, run, tmp_path):
    documents = [f"the cat {number}" for number in range(2_000)]
    hub.repositories["datasets/me/set"] = Repository({"train.parquet": parquet(documents, 100)})
    words = "encode hf:datasets/me/set --append-eos --sample-bytes 2000"
    run(0, "train text.txt --vocab-size 270 --special <|endoftext|> --export huggingface=ending")
    run(0, words, "--sample-seed 3 --tokenizer ending --out sample")
    manifest = json.loads((tmp_path / "sample/manifest.json").read_bytes())
    assert 1_000 < manifest["total"]["bytes"] <= 2_000
    tokenizer, ids = load(tmp_path / "ending"), np.load(tmp_path / "sample/shard-00000.npy")
    ends = np.load(tmp_path / "sample/shard-00000.ends.npy").tolist()
    [source] = Corpus.from_files("hf:datasets/me/set", sample_bytes=2_000, seed=3).sources
    taken = [tokenizer.decode(ids[start : end - 1]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    assert taken == [bytes(document).decode() for document in Corpus((source,)).iter_documents()]
    assert set(taken) < set(documents)
    run(0, words, "--sample-seed 4 --tokenizer ending --out other")
    assert (tmp_path / "other/shard-00000.npy").read_bytes() != (tmp_path / "sample/shard-00000.npy").read_bytes()
    run(2, "encode hf:datasets/me/set --sample-bytes 2000 --tokenizer ending", says="--sample-bytes needs --out DIR")
