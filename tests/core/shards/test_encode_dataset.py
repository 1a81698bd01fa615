"""A data set encoded into shards: what is written follows from the documents alone, and every error is one sentence."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import errno
import gzip
import io
import json
import os
import random
import threading
from hashlib import sha256
from itertools import accumulate, cycle, islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from tokenizers import Tokenizer as LibraryTokenizer
from tokenizers import models, pre_tokenizers

from tests.core.corpus.readers.written import COMPRESSIONS, FORMATS, json_lines, of_parquet, tarred
from tokstudio import (
    ConfigError,
    Corpus,
    CorpusError,
    FormatError,
    Reading,
    Tokenizer,
    TrainingConfig,
    encode_dataset,
    load,
    train,
)
from tokstudio.core.base.progress import finish
from tokstudio.core.shards import encoding, writing
from tokstudio.core.shards.dataset import encode_dataset_work
from tokstudio.core.shards.inputs import EncodingSettings
from tokstudio.core.shards.manifest import Manifest

END = "<|endoftext|>"
KINDS = ("npy", "bin", "parquet")
_rng = random.Random(7)
WORDS = ["the", "cat", "sät", "日本", "on", "12", "mat\n", END, "🦊"]
TEXTS = [" ".join(_rng.choices(WORDS, k=_rng.choice([0, 1, 5, 40]))) for _ in range(300)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    text = "the cat sät on the mat\n日本 12 🦊 " * 30
    return train(Corpus.from_text(text), TrainingConfig(vocabulary_size=300, pattern="gpt2", special_tokens=[END]))


@pytest.fixture
def write(tmp_path):
    def make(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return make


@pytest.fixture
def files(write, tmp_path) -> list[Path]:
    """Six inputs of several kinds with 305 documents, some without text."""
    for number in range(3):
        write(f"set/part-{number}.jsonl", json_lines(TEXTS[40 * number : 40 * number + 40]))
    write("b.txt", b"one line\nand another\n")
    write("c.jsonl.gz", gzip.compress(json_lines(TEXTS[120:200])))
    write("empty.txt", b"")
    write("d.parquet", of_parquet(TEXTS[200:250]))
    write("e.tar", tarred(**{"a.txt": b"a text\nof an archive", "b.jsonl": json_lines(TEXTS[250:])}))
    return [tmp_path / name for name in ("set", "b.txt", "c.jsonl.gz", "empty.txt", "d.parquet", "e.tar")]


ALL = [*TEXTS[:120], "one line\n", "and another\n", *TEXTS[120:250], "a text\n", "of an archive", *TEXTS[250:]]
OPTIONS = {"end_token": True, "shard_tokens": 1_000, "formats": KINDS, "documents": "line"}


def tree(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def manifest(folder: Path):
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def expected(tokenizer, texts, shard_tokens, end=END, allowed=()):
    """The shards by a slow loop, each a list of documents."""
    shards = [[]]
    for text in texts:
        ids = tokenizer.encode(text, allowed) + ([tokenizer.special_tokens[end]] if end else [])
        if shards[-1] and sum(map(len, shards[-1])) + len(ids) > shard_tokens:
            shards.append([])
        shards[-1].append(ids)
    return shards


def assert_holds(folder, shards, kind="<u2"):
    """Each form of each shard has exactly these documents."""
    assert len(manifest(folder)["shards"]) == len(shards)
    for number, (documents, said) in enumerate(zip(shards, manifest(folder)["shards"], strict=True)):
        ids = [token for document in documents for token in document]
        stem = folder / f"shard-{number:05}"
        array = np.load(f"{stem}.npy", mmap_mode="r")
        assert (array.dtype.str, array.tolist()) == (kind, ids)
        assert np.fromfile(f"{stem}.bin", kind).tolist() == ids
        ends = np.load(f"{stem}.ends.npy")
        assert (ends.dtype.str, ends.tolist()) == ("<i8", list(accumulate(map(len, documents))))
        assert parquet.read_table(f"{stem}.parquet")["input_ids"].to_pylist() == documents
        assert (said["tokens"], said["documents"]) == (len(ids), len(documents))
        assert [said["sha256"], said["ends_sha256"]] == [sha256(each.tobytes()).hexdigest() for each in (array, ends)]
        assert said["parquet_sha256"] == sha256(Path(f"{stem}.parquet").read_bytes()).hexdigest()


def test_the_shards_are_those_of_a_slow_loop(tokenizer, files, tmp_path):
    made = encode_dataset(files, tokenizer, tmp_path / "out", **OPTIONS | {"shard_tokens": 300})
    shards = expected(tokenizer, ALL, 300)
    assert_holds(tmp_path / "out", shards)
    assert len(made.shards) == len(shards) > 5
    assert (made.documents, made.bytes) == (len(ALL), len("".join(ALL).encode()))
    assert made.tokens == sum(len(ids) for shard in shards for ids in shard)
    said = manifest(tmp_path / "out")
    assert said["complete"] is True
    assert said["total"]["empty_documents"] == ALL.count("") > 0
    assert said["end_token"] == {"text": END, "id": tokenizer.special_tokens[END]}
    names = ["set/part-0.jsonl", "set/part-1.jsonl", "set/part-2.jsonl", "b.txt", "c.jsonl.gz", "empty.txt"]
    assert [(file["name"], file["documents"]) for file in said["files"]] == [
        *zip([*names, "d.parquet", "e.tar"], [40, 40, 40, 2, 80, 0, 50, 52], strict=True)
    ]
    assert said["files"][4] | {"stored_bytes": 0} == {
        "name": "c.jsonl.gz", "stored_bytes": 0, "documents": 80, "bytes": len("".join(TEXTS[120:200]).encode()),
        "kind": "JSON Lines, gzip", "column": "text", "encoding": "utf-8", "notes": [],
    }  # fmt: skip
    assert said["files"][5]["notes"] == ["it has no text"]


def test_every_format_and_compression_gives_the_same_documents(tokenizer, write, tmp_path):
    texts, files = [text.replace("\n", " ") for text in TEXTS[:80]], list[Path]()
    for (name, form), compress in zip(FORMATS.items(), cycle(COMPRESSIONS.values()), strict=False):
        files += [write(f"plain/{name}", form(texts)), write(f"compressed/{name}", compress(form(texts)))]
    encode_dataset(files, tokenizer, tmp_path / "out", end_token=END, formats=KINDS, shard_tokens=9_999)
    assert_holds(tmp_path / "out", expected(tokenizer, texts * len(files), 9_999))


def test_threads_and_sizes_of_groups_change_nothing(tokenizer, files, tmp_path, monkeypatch):
    files = [*files[1:4], files[5]]
    encode_dataset(files, tokenizer, tmp_path / "one", threads=1, **OPTIONS)
    wanted = tree(tmp_path / "one")
    for chunk, threads in ((1, 5), (200, 1), (100_000, 5)):
        monkeypatch.setattr(encoding, "CHUNK", chunk)
        out = tmp_path / f"{chunk} {threads}"
        encode_dataset(files, tokenizer, out, threads=threads, **OPTIONS)
        assert tree(out) == wanted
    # Parquet's groups of rows follow from the documents, too.
    monkeypatch.setattr(writing, "ROW_GROUP", 20)
    trees = []
    for chunk in (1, 100_000):
        monkeypatch.setattr(encoding, "CHUNK", chunk)
        encode_dataset(files, tokenizer, tmp_path / f"rows {chunk}", **OPTIONS)
        trees.append(tree(tmp_path / f"rows {chunk}"))
    assert trees[0] == trees[1] != wanted
    assert parquet.ParquetFile(io.BytesIO(trees[0]["shard-00000.parquet"])).num_row_groups > 1


def test_the_order_in_which_threads_are_done_changes_nothing(tokenizer, files, tmp_path, monkeypatch):
    encode_dataset(files, tokenizer, tmp_path / "one", threads=1, **OPTIONS)
    monkeypatch.setattr(encoding, "CHUNK", 500)
    encoded, later, begun = encoding._Encoding._encoded, threading.Event(), []

    def last_first(self, chunk):
        begun.append(chunk)
        if len(begun) == 1:
            assert later.wait(60)
        documents = encoded(self, chunk)
        if len(begun) > 3:
            later.set()
        return documents

    monkeypatch.setattr(encoding._Encoding, "_encoded", last_first)
    encode_dataset(files, tokenizer, tmp_path / "two", threads=2, **OPTIONS)
    assert later.is_set()
    assert tree(tmp_path / "two") == tree(tmp_path / "one")


def test_an_ended_call_is_continued_wherever_it_ended(tokenizer, files, tmp_path, monkeypatch):
    encode_dataset(files, tokenizer, tmp_path / "whole", **OPTIONS)
    wanted = tree(tmp_path / "whole")
    monkeypatch.setattr(encoding, "CHUNK", 300)
    settings = EncodingSettings(tokenizer, True, 1_000, KINDS, documents="line")
    shards_before, steps = set[int](), 20
    while True:
        out = tmp_path / f"after {steps}"
        work = encode_dataset_work(files, settings, out)
        if sum(1 for _, _ in zip(range(steps), work, strict=False)) < steps:
            break
        work.close()
        left = tree(out) if out.exists() else {}
        # A shard is there with all of its files, and listed, or not at all.
        assert not any(name.startswith(".") for name in left)
        assert not left or len(left) == 1 + 4 * len(manifest(out)["shards"])
        made = encode_dataset(files, tokenizer, out, **OPTIONS)
        assert tree(out) == wanted
        shards_before.add(made.shards_before)
        steps += 61
    assert len(shards_before) > 1


@pytest.mark.parametrize("held_back", [1, 15, writing.HELD_BACK])
def test_many_small_shards_share_manifests_and_a_kill_between_leaves_those_that_are_listed(
    tokenizer, write, tmp_path, monkeypatch, held_back
):
    path = write("a.txt", b"one line\n" * 30)
    encode_dataset(path, tokenizer, tmp_path / "whole", shard_tokens=1, documents="line")
    wanted = tree(tmp_path / "whole")
    written, to_bytes = list[int](), Manifest.to_bytes

    def noted(made: Manifest) -> bytes:
        written.append(len(made.shards))
        return to_bytes(made)

    monkeypatch.setattr(Manifest, "to_bytes", noted)
    monkeypatch.setattr(writing, "PART", 2)
    monkeypatch.setattr(writing, "HELD_BACK", held_back)
    settings = EncodingSettings(tokenizer, False, 1, ("npy",), documents="line")
    for most in (40, 100_000):
        work = encode_dataset_work([path], settings, tmp_path / "out")
        ended = sum(1 for _ in islice(work, most)) == most
        work.close()
        left, listed = tree(tmp_path / "out"), manifest(tmp_path / "out")["shards"]
        assert len(left) == 1 + 2 * len(listed)
        assert ended == (len(listed) < 30)
    assert tree(tmp_path / "out") == wanted
    assert max(written) == 30
    assert (len(written) > 20) == (held_back == 1)
    if held_back > 30:
        assert sum(written) < 10 * 30


def test_what_is_complete_is_not_encoded_again(tokenizer, files, tmp_path, monkeypatch):
    out = tmp_path / "out"
    first = encode_dataset(files, tokenizer, out, **OPTIONS)
    times = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    monkeypatch.setattr(encoding, "_Encoding", None)
    second = encode_dataset(files, tokenizer, out, **OPTIONS)
    assert (second.shards, second.files) == (first.shards, first.files)
    assert second.shards_before == len(second.shards)
    assert {path: path.stat().st_mtime_ns for path in out.iterdir()} == times


def half(files, tokenizer, out, **options):
    """Encodes until there are two shards."""
    work = encode_dataset_work(files, EncodingSettings(tokenizer, **OPTIONS | options), out)
    for _ in work:
        if (out / "shard-00001.npy").exists():
            break
    work.close()
    assert len(manifest(out)["shards"]) >= 2


def test_a_folder_of_something_else_is_refused_and_left(tokenizer, files, tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "CHUNK", 300)
    out = tmp_path / "out"
    half(files, tokenizer, out)
    before = tree(out)
    other = train(Corpus.from_text("a b c a b c"), TrainingConfig(vocabulary_size=258, special_tokens=[END]))

    def refused(message, given=files, by=tokenizer, **options):
        with pytest.raises(FormatError, match=message):
            encode_dataset(given, by, out, **OPTIONS | options)
        assert tree(out) == before

    refused("^out: its shards are of another tokenizer: choose another folder, or remove", by=other)
    refused("its shards were made with shard_tokens 1000, not 200", shard_tokens=200)
    refused("its shards were made with end_token", end_token=False)
    refused("its shards were made with reading", reading=Reading(least_characters=2))
    refused('of other files, or these have changed since: the first is "e.tar"', given=files[:-1])
    status = files[1].stat()
    os.utime(files[1], (1, 1))
    refused('the first is "b.txt"')
    os.utime(files[1], ns=(status.st_atime_ns, status.st_mtime_ns))
    (out / "shard-00077.npy").write_bytes(b"mine")
    before = tree(out)
    refused("shards that its manifest does not list, such as shard-00077.npy")


def test_a_second_call_into_one_folder_is_refused_while_the_first_writes(tokenizer, files, tmp_path):
    out, other = tmp_path / "out", tokenizer.changed(special_tokens={})
    first = encode_dataset_work(files, EncodingSettings(tokenizer), out)
    while not out.exists():
        next(first)
    for second in (tokenizer, other):
        with pytest.raises(FormatError, match=r"^out: another call encodes into this folder: wait until it has ended"):
            encode_dataset(files, second, out)
    encoded = finish(first)
    alone = encode_dataset(files, tokenizer, tmp_path / "alone")
    assert tree(out) == tree(tmp_path / "alone")
    assert encoded.shards == alone.shards
    with pytest.raises(FormatError, match="choose another folder"):
        encode_dataset(files, other, out)
    # One that has ended early leaves no lock.
    stopped = encode_dataset_work(files, EncodingSettings(other), tmp_path / "more")
    while not (tmp_path / "more").exists():
        next(stopped)
    stopped.close()
    assert encode_dataset(files, tokenizer, tmp_path / "more").tokens == alone.tokens


def test_a_file_that_changes_meanwhile_is_refused(tokenizer, files, tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "CHUNK", 300)

    def changing():
        for progress in encode_dataset_work(files, EncodingSettings(tokenizer, **OPTIONS), tmp_path / "out"):
            if progress.phase == "encoding":
                os.utime(files[4], (1, 1))

    with pytest.raises(CorpusError, match=r"^d.parquet: the file changed while the data set was being encoded"):
        changing()


def test_damaged_and_missing_shards_are_encoded_again(tokenizer, files, tmp_path):
    out, options = tmp_path / "out", OPTIONS | {"shard_tokens": 300}
    files = files[:2]
    whole = encode_dataset(files, tokenizer, out, **options)
    assert len(whole.shards) > 4
    content = tree(out)

    def flipped(raw: bytes, at: int) -> bytes:
        return raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]

    damages = {
        ("shard-00002.npy", "a bit of an id"): lambda raw: flipped(raw, len(raw) - 1),
        ("shard-00002.npy", "a bit of the header"): lambda raw: flipped(raw, 30),
        ("shard-00002.bin", "cut"): lambda raw: raw[:-2],
        ("shard-00002.bin", "a bit of the first id"): lambda raw: flipped(raw, 0),
        ("shard-00002.ends.npy", "a bit of an end"): lambda raw: flipped(raw, 128),
        ("shard-00002.parquet", "another shard"): lambda raw: content["shard-00003.parquet"],
        # Readers of the ids alone would not see these.
        ("shard-00002.parquet", "a bit of the first mark"): lambda raw: flipped(raw, 0),
        ("shard-00002.parquet", "a bit of who wrote it"): lambda raw: flipped(raw, raw.rindex(b"parquet-cpp")),
        ("shard-00002.parquet", "no Parquet"): lambda raw: bytes(len(raw)),
        ("shard-00002.parquet", "missing"): None,
    }
    for (name, what), damage in damages.items():
        if damage is None:
            (out / name).unlink()
        else:
            (out / name).write_bytes(damage(content[name]))
        again = encode_dataset(files, tokenizer, out, **options)
        assert tree(out) == content, (name, what)
        assert (again.shards, again.files, again.shards_before) == (whole.shards, whole.files, 2), (name, what)
        others = len(whole.shards) - 3
        assert again.remark == (
            f"Shard 2 was damaged or missing: it is encoded again, with the {others} shards after it."
        )
    assert encode_dataset(files, tokenizer, out, **options).remark == ""


def test_a_shard_is_not_encoded_again_of_other_text(tokenizer, files, tmp_path):
    out = tmp_path / "out"
    encode_dataset(files, tokenizer, out, **OPTIONS)
    (out / "shard-00001.npy").unlink()
    files[1].write_bytes(files[1].read_bytes().swapcase())  # as long as before
    with pytest.raises(CorpusError, match="a shard that is encoded again differs from what it was, as the files have"):
        encode_dataset(files, tokenizer, out, **OPTIONS)
    with pytest.raises(FormatError, match="shards that its manifest does not list"):
        encode_dataset(files, tokenizer, out, **OPTIONS)


def test_an_empty_file_has_no_document_wherever_it_is_and_an_empty_row_is_one(tokenizer, write, tmp_path):
    write("folder/a.txt", b"a text")
    given = [write("empty.txt", b""), tmp_path / "folder", write("rows.jsonl", json_lines(["", "text"]))]
    write("folder/empty.txt", b"")
    given.append(write("e.tar", tarred(**{"a.txt": b"", "b.txt": b"of an archive"})))
    for documents in ("file", "line"):
        made = encode_dataset(given, tokenizer, tmp_path / documents, end_token=True, documents=documents)
        assert [file.documents for file in made.files] == [0, 1, 2, 1]
        assert sum(shard.empty_documents for shard in made.shards) == 1
        assert made.files[0].notes == ("it has no text",)
        assert made.files[3].notes == ("b.txt: 1 member skipped (1 empty)",)
        assert manifest(tmp_path / documents)["skipped"] == [["empty.txt", "empty"]]


DAMAGES = (b"", b"{", b"[]", b"{}", b'{"format": "other"}', b'"x"', b"\xff", b"[" * 100_000, b"null")


def test_a_manifest_that_is_damaged_is_refused(tokenizer, write, tmp_path):
    out, files = tmp_path / "out", write("b.txt", b"one line\nand another\n")
    encode_dataset(files, tokenizer, out, **OPTIONS)
    good = manifest(out)
    needed = good.keys() - {"total"}
    damages = [*DAMAGES, *(json.dumps({key: value for key, value in good.items() if key != name}) for name in needed)]
    damages += [
        json.dumps(good | {name: value}) for name in ("shards", "files", "skipped") for value in (1, "a", [1], None)
    ]
    for field, value in (("tokens", -1), ("documents", "1"), ("bytes", 1.5), ("sha256", None)):
        damages.append(json.dumps(good | {"shards": [good["shards"][0] | {field: value}]}))
    for damage in damages:
        (out / "manifest.json").write_bytes(damage if isinstance(damage, bytes) else damage.encode())
        with pytest.raises(FormatError, match=r"^out: "):
            encode_dataset(files, tokenizer, out, **OPTIONS)
    (out / "manifest.json").write_text(json.dumps(good | {"version": 2}))
    with pytest.raises(FormatError, match="later version: update TokStudio"):
        encode_dataset(files, tokenizer, out, **OPTIONS)


def test_a_column_that_changes_its_type_is_refused_before_anything_is_written(tokenizer, write, tmp_path):
    for number, column in enumerate((["a", "b"], ["c"], [1, 2])):
        file = io.BytesIO()
        parquet.write_table(pa.table({"text": column, "other": ["x"] * len(column)}), file)
        write(f"set/part-{number}.parquet", file.getvalue())
    with pytest.raises(CorpusError, match=r'part-2.parquet: the column "text" holds no text \(int64\)'):
        encode_dataset(tmp_path / "set", tokenizer, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    write("lines/part-0.jsonl", json_lines(["a", "b"]))
    write("lines/part-1.jsonl", b'{"text": 5, "more": "some text"}\n')
    for given in (tmp_path / "lines", sorted((tmp_path / "lines").iterdir())):
        with pytest.raises(CorpusError, match=r'part-1.jsonl: the column "text" holds no text \(number\)'):
            encode_dataset(given, tokenizer, tmp_path / "out", reading=Reading(field="text"))
    assert not (tmp_path / "out").exists()


def test_rows_of_another_type_are_dropped_and_said(tokenizer, write, tmp_path):
    path = write("a.jsonl", b'{"text": "one"}\n{"text": 2}\n{"text": null}\nbroken\n{"text": ""}\n{"text": "six"}\n')
    made = encode_dataset(path, tokenizer, tmp_path / "out", end_token=True)
    assert made.documents == 3
    assert made.shards[0].empty_documents == 1
    [note] = made.files[0].notes
    assert "1 broken row dropped (line 4)" in note
    assert "1 row without the column dropped; 1 row with no text in the column dropped" in note


def test_a_full_disk_is_said_and_the_next_call_goes_on(tokenizer, files, tmp_path, monkeypatch):
    encode_dataset(files, tokenizer, tmp_path / "whole", **OPTIONS)
    out, left = tmp_path / "out", 12_000

    class Disk(writing.ArrayFile):
        def add(self, numbers):
            nonlocal left
            left -= numbers.nbytes
            if left < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            super().add(numbers)

    monkeypatch.setattr(encoding, "CHUNK", 300)
    with monkeypatch.context() as full:
        full.setattr(writing, "ArrayFile", Disk)
        with pytest.raises(FormatError, match=r"there is no space left on the disk.*complete: the same call goes on"):
            encode_dataset(files, tokenizer, out, **OPTIONS)
    complete = len(manifest(out)["shards"])
    assert 0 < complete < len(manifest(tmp_path / "whole")["shards"])
    assert len(tree(out)) == 1 + 4 * complete
    made = encode_dataset(files, tokenizer, out, **OPTIONS)
    assert made.shards_before == complete
    assert tree(out) == tree(tmp_path / "whole")
    # Where not even the first shard fits, nothing stays.
    left = 10
    with monkeypatch.context() as full:
        full.setattr(writing, "ArrayFile", Disk)
        with pytest.raises(FormatError, match=r"shard-00000.npy: there is no space left on the disk"):
            encode_dataset(files, tokenizer, tmp_path / "none", **OPTIONS)
    assert not (tmp_path / "none").exists()


def test_special_tokens_in_texts_are_text_unless_they_are_allowed(tokenizer, write, tmp_path):
    texts = ["a" + END + "b", END, "c"]
    path, end = write("a.jsonl", json_lines(texts)), tokenizer.special_tokens[END]
    encode_dataset(path, tokenizer, tmp_path / "text", end_token=True, formats=KINDS)
    assert_holds(tmp_path / "text", expected(tokenizer, texts, 10**8))
    assert np.load(tmp_path / "text/shard-00000.npy").tolist().count(end) == 3
    for allowed in ("all", [END]):
        out = tmp_path / f"allowed {allowed}"
        encode_dataset(path, tokenizer, out, end_token=True, formats=KINDS, allowed_special=allowed)
        assert_holds(out, expected(tokenizer, texts, 10**8, allowed="all"))
    with pytest.raises(ConfigError, match='no special token "<x>"'):
        encode_dataset(path, tokenizer, tmp_path / "no", allowed_special=["<x>"])
    several_specials = tokenizer.changed(special_tokens={END: end, "<b>": end + 1})
    encode_dataset(path, several_specials, tmp_path / "b", formats=KINDS, allowed_special=["<b>"])
    assert_holds(tmp_path / "b", expected(several_specials, texts, 10**8, end=None, allowed=["<b>"]))


def test_without_text_nothing_is_written(tokenizer, write, tmp_path):
    out = tmp_path / "out"
    for name, data in (("a.jsonl", b'{"text": ""}\n{"text": null}\n'), ("b.txt", b""), ("c.csv", b"text\n")):
        with pytest.raises(CorpusError, match=r"[Tt]here is no text in these files"):
            encode_dataset(write(name, data), tokenizer, out, end_token=True, reading=Reading(field="text"))
        assert not out.exists()
    with pytest.raises(CorpusError, match="No files given"):
        encode_dataset([], tokenizer, out)
    with pytest.raises(CorpusError, match="no such file or folder"):
        encode_dataset(tmp_path / "none.txt", tokenizer, out)
    assert not out.exists()


def test_a_document_longer_than_a_shard_is_one_alone(tokenizer, write, tmp_path):
    texts = ["a", "cat " * 50, "", "b", "the " * 70, "c"]
    path = write("a.jsonl", json_lines(texts))
    for end in (END, None):
        out = tmp_path / f"out {end}"
        encode_dataset(path, tokenizer, out, end_token=end or False, shard_tokens=10, formats=KINDS)
        shards = expected(tokenizer, texts, 10, end)
        assert max(sum(map(len, shard)) for shard in shards) > 50
        assert_holds(out, shards)


def test_the_type_of_ids_follows_the_vocabulary_or_what_is_asked(tokenizer, write, tmp_path):
    path = write("a.jsonl", json_lines(["the cat", "sat"]))
    large = tokenizer.changed(special_tokens={END: 70_000})
    out = tmp_path / "large"
    encode_dataset(path, large, out, end_token=True, formats=KINDS)
    assert_holds(out, expected(large, ["the cat", "sat"], 10**8), "<u4")
    with pytest.raises(ConfigError, match=r"go up to 70,000, and uint16 holds at most 65,535: write uint32"):
        encode_dataset(path, large, tmp_path / "no", dtype="uint16")
    encode_dataset(path, tokenizer, tmp_path / "wide", dtype="uint32", formats=KINDS)
    assert_holds(tmp_path / "wide", expected(tokenizer, ["the cat", "sat"], 10**8, None), "<u4")
    largest = tokenizer.changed(special_tokens={END: 65_535})
    encode_dataset(path, largest, tmp_path / "most", dtype="uint16", end_token=True)
    assert np.load(tmp_path / "most/shard-00000.npy").tolist()[-1] == 65_535


def test_impossible_settings_are_refused(tokenizer, write, tmp_path):
    path, out = write("set/a.jsonl", json_lines(["the cat"])), tmp_path / "out"
    for options, message in (
        ({"shard_tokens": 0}, "at least 1 token"),
        ({"formats": ["arrow"]}, "formats of shards are some of npy, bin, parquet"),
        ({"formats": []}, "formats of shards"),
        ({"dtype": "int8"}, "uint16 or uint32"),
        (
            {"end_token": "</s>"},
            f'no special token "</s>" to end documents with; there are "{END}"'.replace("|", r"\|"),
        ),
        ({"reading": Reading(split_by="lang")}, "give no column that divides it"),
        ({"documents": "page"}, "Documents must be"),
        ({"encoding": "utf-99"}, "encoding"),
    ):
        with pytest.raises(ConfigError, match=message):
            encode_dataset(path, tokenizer, out, **options)
    with pytest.raises(ConfigError, match="name it as the end token; it has none"):
        encode_dataset(path, tokenizer.changed(special_tokens={}), out, end_token=True)
    with pytest.raises(ConfigError, match="without dropout"):
        encode_dataset(path, tokenizer.with_dropout(0.1), out)
    with pytest.raises(FormatError, match="this is a file"):
        encode_dataset(path, tokenizer, path)
    for inside in (tmp_path / "set", tmp_path / "set/out"):
        with pytest.raises(FormatError, match="is in set, which is read"):
            encode_dataset(tmp_path / "set", tokenizer, inside)
    assert not out.exists()


def test_characters_that_have_no_token_are_counted_or_named(write, tmp_path):
    texts = ["abc", "ab", "aqb", "cq", "zz"]
    unknown = {"unknown_token": "<unk>", "special_tokens": ["<unk>"]}
    known = train(Corpus.from_text("abc abc ab"), TrainingConfig(vocabulary_size=8, base="characters", **unknown))
    path = write("a.jsonl", json_lines(texts))
    made = encode_dataset(path, known, tmp_path / "known")
    assert made.shards[0].unknown_tokens == 4
    strict = train(Corpus.from_text("abc abc ab"), TrainingConfig(vocabulary_size=7, base="characters"))
    with pytest.raises(CorpusError, match=r"^a.jsonl, document 3: .*q"):
        encode_dataset(path, strict, tmp_path / "strict")
    with pytest.raises(CorpusError, match=r"^q.jsonl, document 1: .*q"):
        encode_dataset(
            [write("ab.jsonl", json_lines(["ab"])), write("q.jsonl", json_lines(["q"]))], strict, tmp_path / "strict"
        )
    assert not (tmp_path / "strict").exists()
    raw = write("b.txt", b"ab\xffc\nabc\n")
    made = encode_dataset(raw, known, tmp_path / "raw", encoding="bytes", documents="line")
    assert made.files[0].notes == ("1 byte sequence was not UTF-8 and became U+FFFD",)


def test_a_library_encodes_for_its_tokenizer(write, tmp_path):
    library = LibraryTokenizer(models.WordPiece({"[UNK]": 0, "cat": 1, "the": 2, "[SEP]": 3}, unk_token="[UNK]"))
    library.pre_tokenizer = pre_tokenizers.Whitespace()
    library.add_special_tokens(["[SEP]"])
    library.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load(tmp_path / "tokenizer.json")
    assert tokenizer.library is not None
    path = write("a.jsonl", json_lines(["the cat", "", "cat cat [SEP]"]))
    encode_dataset(path, tokenizer, tmp_path / "out", end_token="[SEP]", allowed_special="all", threads=3)
    assert np.load(tmp_path / "out/shard-00000.npy").tolist() == [2, 1, 3, 3, 1, 1, 3, 3]
    assert np.load(tmp_path / "out/shard-00000.ends.npy").tolist() == [3, 4, 8]
    tokenizer.close()


def test_duplicates_of_a_whole_data_set_are_dropped_also_after_a_resume(tokenizer, write, tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "CHUNK", 300)
    for number in range(4):
        write(f"set/part-{number}.jsonl", json_lines([*TEXTS[:60], f"only in {number}"]))
    kept = [*dict.fromkeys(TEXTS[:60]), *(f"only in {number}" for number in range(4))]
    kept.insert(len(kept) - 4, kept.pop(len(kept) - 4))
    options = {"reading": Reading(deduplicate=True), "shard_tokens": 200}
    encode_dataset(tmp_path / "set", tokenizer, tmp_path / "whole", **OPTIONS | options)
    assert_holds(tmp_path / "whole", expected(tokenizer, kept, 200))
    half(tmp_path.glob("set"), tokenizer, tmp_path / "out", **options)
    encode_dataset(tmp_path / "set", tokenizer, tmp_path / "out", **OPTIONS | options)
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


def test_the_speed_is_told(tokenizer, files, tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "CHUNK", 300)
    monkeypatch.setattr("tokstudio.core.shards.dataset._FROM_NOW", -1.0)
    told = list(encode_dataset_work(files, EncodingSettings(tokenizer, **OPTIONS), tmp_path / "out"))
    assert any(progress.detail.endswith(" tokens/s") for progress in told)
    shares = [progress.done for progress in told if progress.phase == "encoding" and progress.total]
    assert shares == sorted(shares)
