"""The same documents are the same corpus in every format and compression, in archives and in folders of shards."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import io
import json
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.corpus.readers.written import (
    COMPRESSIONS,
    DOCUMENTS,
    FORMATS,
    FORMATS_PACKED,
    LANGUAGES,
    json_lines,
    of_parquet,
    parquet_of,
    rows,
    tarred,
    texts_of,
    zipped,
)
from tokstudio import Corpus, Reading
from tokstudio.core.base import leftovers
from tokstudio.core.base.errors import EmptyError
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.open_sources import look_work, read_again_work, read_work
from tokstudio.core.corpus.readers import files
from tokstudio.core.corpus.readers.collect import Collector
from tokstudio.core.corpus.readers.files import Budget, FileText
from tokstudio.core.corpus.source import Source

WANTED = Corpus.from_texts(DOCUMENTS)
any_text = st.text(st.characters(exclude_categories=["Cs"]))
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)


@pytest.mark.parametrize(("name", "compression"), FORMATS_PACKED)
def test_documents_are_equal_in_every_format_and_compression(write, name, compression):
    data = FORMATS[name](DOCUMENTS)
    corpus = Corpus.from_files(write(name + compression, COMPRESSIONS[compression](data) if compression else data))
    assert len(corpus.sources) == 1
    assert texts_of(corpus.sources[0]) == list(DOCUMENTS)
    assert corpus.sha256 == WANTED.sha256
    assert (corpus.sources[0].note, corpus.sources[0].reading.field) == ("", "text")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_recognised_under_any_name_of_its_kind_and_in_parts(write, name):
    data = FORMATS[name](DOCUMENTS)
    half = len(data) // 2
    for compress in COMPRESSIONS.values():
        # A name may say nothing of the compression, which may be several parts one after another.
        parts = compress(data[:half]) + compress(data[half:])
        assert Corpus.from_files(write(name, parts)).sha256 == WANTED.sha256


@same_folder
@given(documents=st.lists(any_text, min_size=1), name=st.sampled_from(list(FORMATS)))
def test_any_documents_are_equal_in_every_format(write, documents, name):
    documents = ["The first one has words.", *documents]
    if name.endswith((".csv", ".tsv")):
        # CSV has no zeros; a reader of it takes a lone carriage return for the end of a row.
        documents = [text.replace("\0", "").replace("\r", "") for text in documents]
    source = Corpus.from_files(write(name, FORMATS[name](documents))).sources[0]
    assert texts_of(source) == documents


@pytest.mark.parametrize("documents", ["file", "line"])
def test_a_text_is_equal_in_every_compression_and_archive(write, documents):
    text = "".join(f"Zeile {number}: ä, ö und 日本.\n" for number in range(5_000)).encode()
    wanted = Corpus.from_files(write("a.txt", text), documents)
    packed = {f"a.txt{suffix}": compress(text) for suffix, compress in COMPRESSIONS.items()}
    packed |= {"a.zip": zipped(**{"a.txt": text}), "a.tar": tarred(**{"a.txt": text})}
    packed["b.tar.gz"] = tarred("w:gz", **{"a.txt": text})
    packed["twice.gz.xz"] = COMPRESSIONS[".xz"](COMPRESSIONS[".gz"](text))
    packed["packed.zip"] = zipped(**{"a.txt.zst": COMPRESSIONS[".zst"](text)})
    for name, data in packed.items():
        corpus = Corpus.from_files(write(name, data), documents)
        assert (name, corpus.sha256) == (name, wanted.sha256)


def test_members_of_an_archive_are_sources(write):
    members = {"one.txt": b"one text", "b/two.jsonl": json_lines(DOCUMENTS), "b/c.png": b"\x89PNG\r\n\x1a\n", "e": b""}
    for path in (write("a.zip", zipped(**members)), write("a.tar.xz", tarred("w:xz", **members))):
        one, two = Corpus.from_files(path).sources
        assert [(source.name, source.member, source.group) for source in (one, two)] == [
            ("one.txt", "one.txt", ""),
            ("b/two.jsonl", "b/two.jsonl", ""),
        ]
        assert texts_of(two) == list(DOCUMENTS)
        assert "2 members skipped (1 no text, 1 empty)" in one.note or "(1 empty, 1 no text)" in one.note
        again = finish(read_again_work(path, "file", None, two.reading, two.member))
        assert texts_of(again) == list(DOCUMENTS)


# The texts "hello world" and "foo", or "a" and "b", as other libraries than pyarrow write them, packed by zlib.
OF_OTHERS = {
    "polars.arrow": (
        "eNpzDAryDzdkYGBhYGD49P//fxEGEJsRSHIxcDNwAEkWhh9AcR6gCAcQwmRB6t8AxXWAtAIQSwAxI5AQYBACygkwCILVgnQxMPwBqmNhYAHr"
        "KUmtKAGJAYX+z0Ayx4EBAiD2MwN1CoPN4gHyngHlmaDyIUCsAVXHwMAHtJcFqEYALMLIgAqYGHADBSQ2Ixa13ECckZqTk69Qnl+UkwJ0EQND"
        "Wn4+A7EA5D8GNP9ZwP0HChkhoKtZgKHEA7a/AqpvAZR2QDOP6nEwE8hwBEc+AMLAQ3s="
    ),
    "polars.stream": (
        "eNqNj00KwjAQhV9qFsUWqT8Ll1268BAewiNYcVGISMEexRO6cuXKhRC/pBUqKDjhzUzevJlJvPf+KMmCO/ki5gY/VqYUb/WAz2FSzrsa9Df4"
        "NbEES2BwhWbUCk2jNnRJT3RWNvY0VdsEDspfBnM26qzbP6JzHmfl3K7Uk76+BateJ03Ya9EUkTH6tES/rRzk5os2A4eqrl15dqd6x4ukvXP6"
        "18L/QnwBhqIvFQ=="
    ),
    "categories.stream": (
        "eNqdUrtKA1EQPfsgrCZIjCmi1ZYpQyxjkRBEhYAiKeyikFWLZRckYko/wNLCT/ATLP2aVKlEJIWwnrkZZbNEXR2YvXfOPM/cTZIk2bcAF8AL"
        "71XInQBWUYTHLz3Exe9Qx9QdzOOfiNd5lqke1bJh5JV4W2yDrzDWM/eIOtUcn1qTmJrkVxhTxrqpUjI1TrRneBZdiD2h/cDzjnpJPf3Kr2CL"
        "2TVsMrvEKlXTy9U5fK0oPplDOjRajdb1drMFnX1w1Bt0O/3dvcPjg26n14TKjPnzXM9UfNN6QIGIi3czo2t6jYLxSDyEkkftP9U9iMz3anOK"
        "DcNXpsnWF466QvSpdc0D1sjPNeyg/NJi43vxU3drSWxR9hmEYezfxFfh0LzxeRwjrwjfWYrv8wJfZ4Fvmt/9H/gVfujv6dnO4O0M/9uM/9Mu"
        "pzBnyX7sHLu28H+RekG0aA+D/PlWjn/gt/eT8wOQg2yr"
    ),
    "nanoarrow.stream": (
        "eNr7/////w4GBgYOBgiYAuSzMDAysADZa4BsCSAtAMQsDKiAESp2B6gGJM/ICuF/AOtnYChJrShhAKthYeABmsACtIETyOKBmsYBZHEBMQsD"
        "G9xuEABq/78AanYV2CxmsA4JJDVzgOJMULYLktuZGXADHigtAKWZ0PzChKaei0EE6nIeMIsN7GLMMIDpS0xCuB9EAwAQ5yfa"
    ),
}


@pytest.mark.parametrize("name", OF_OTHERS)
def test_arrow_of_other_libraries_is_read(write, name):
    path = write(name, zlib.decompress(base64.b64decode(OF_OTHERS[name])))
    assert texts_of(Corpus.from_files(path, field="text").sources[0]) == (
        ["a", "b"] if name.startswith("nanoarrow") else ["hello world", "foo"]
    )


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_arrow_is_read_wherever_its_schema_begins(write, compression):
    made, table = {}, pa.Table.from_pylist(rows(DOCUMENTS))
    for kind, new in (("file", ipc.new_file), ("stream", ipc.new_stream)):
        made[kind] = io.BytesIO()
        with new(made[kind], table.schema, options=ipc.IpcWriteOptions(compression=compression)) as writer:
            writer.write_table(table, max_chunksize=90)
    # In a file, the schema may be without its length; in a stream, its table may be further on.
    file, stream = made["file"].getvalue(), made["stream"].getvalue()
    size = int.from_bytes(file[12:16], "little")
    without_length = file[:8] + file[16 : 16 + size] + bytes(8) + file[16 + size :]
    assert len(without_length) == len(file)
    files = {"a.arrow": without_length}
    for more in (8, 40):
        length, place = (int.from_bytes(stream[at : at + 4], "little") + more for at in (4, 8))
        head = stream[:4] + length.to_bytes(4, "little") + place.to_bytes(4, "little")
        files[f"{more}.stream"] = head + bytes(more) + stream[12:]
    for name, data in files.items():
        assert texts_of(Corpus.from_files(write(name, data)).sources[0]) == list(DOCUMENTS), name


@pytest.mark.parametrize("dictionary", [True, False])
def test_tables_and_groups_without_rows_are_read_in_a_data_set(write, tmp_path, dictionary):
    table = pa.table({"text": ["a", "b"]})
    with parquet.ParquetWriter(made := io.BytesIO(), table.schema, use_dictionary=dictionary) as writer:
        for part in (table[:0], table[:1], table[:0], table[1:]):
            writer.write_table(part)
    write("data/0.parquet", made.getvalue())
    parquet.write_table(table[:0], made := io.BytesIO(), use_dictionary=dictionary)
    write("data/1.parquet", made.getvalue())
    write("data/2.parquet", parquet_of([{"text": "c"}]))
    [source] = Corpus.from_files(tmp_path / "data").sources
    assert texts_of(source) == ["a", "b", "c"]
    with pytest.raises(EmptyError, match="has no text"):
        Corpus.from_files(tmp_path / "data/1.parquet")


def test_a_list_of_no_value_has_none_of_the_texts_it_stands_over(write):
    texts, mask = pa.array(["a", None, "b", "c", "d", "e"]), pa.array([False, True, False])
    lists = [
        pa.ListArray.from_arrays(pa.array([0, 2, 4, 6], pa.int32()), texts, mask=mask),
        pa.LargeListArray.from_arrays(pa.array([0, 2, 4, 6], pa.int64()), texts, mask=mask),
        pa.FixedSizeListArray.from_arrays(texts, 2, mask=mask),
    ]
    for number, array in enumerate(lists):
        table = pa.table({"text": array})
        with ipc.new_file(made := io.BytesIO(), table.schema) as writer:
            writer.write_table(table)
        [source] = Corpus.from_files(write(f"{number}.arrow", made.getvalue())).sources
        assert texts_of(source) == ["a", "d\ne"]
        assert "1 row without the column dropped" in source.note


def test_a_nested_column_is_read_and_the_texts_of_a_list_are_joined(write):
    chats = [[{"role": "user", "content": f"Question {n}"}, {"role": "bot", "content": "Ja"}] for n in range(50)]
    chats[3] = []
    chats[4] = [{"role": "user", "content": None}, {"role": "bot", "content": "only"}]
    made = [{"id": n, "messages": chat} for n, chat in enumerate(chats)]
    wanted = [f"Question {n}\nJa" for n in range(50)]
    wanted[4] = "only"
    del wanted[3]
    file = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(made), file)
    lines = "".join(json.dumps(row) + "\n" for row in made).encode()
    # A broken line lets the block be read line by line.
    for data in (file.getvalue(), lines, lines + b"{\n", json.dumps(made).encode()):
        source = Corpus.from_files(write("chats", data), field="messages.content").sources[0]
        assert texts_of(source) == wanted
        assert "1 row without the column dropped" in source.note


@pytest.mark.parametrize(
    ("name", "column"),
    [
        *((name, "lang") for name in ("a.jsonl", "a.csv", "a.parquet", "stream.arrow", "a.json")),
        ("a.jsonl", "meta.lang"),
    ],
)
def test_a_column_divides_a_data_set_without_changing_places(write, name, column):
    path = write(name, FORMATS[name](DOCUMENTS))
    [whole] = Corpus.from_files(path).sources
    sources = Corpus.from_files(path, split_by=column).sources
    assert [(source.name, source.value) for source in sources] == [(f"{name}: {one}", one) for one in LANGUAGES]
    starts = np.concatenate(([0], whole.ends[:-1]))
    for number, source in enumerate(sources):
        assert texts_of(source) == list(DOCUMENTS[number::3])
        assert source.places.tolist() == starts[number::3].tolist()
        again = finish(read_again_work(path, "file", None, source.reading, "", source.value))
        assert (texts_of(again), again.places.tolist()) == (texts_of(source), source.places.tolist())
    assert Source.from_texts(["a"]).places is None


def test_shards_in_a_folder_are_one_data_set(write, tmp_path):
    write("data/train-00000-of-00002.parquet", of_parquet(DOCUMENTS[:200]))
    write("data/train-00001-of-00002.parquet", of_parquet(DOCUMENTS[200:]))
    write("data/README.md", b"A description.")
    [source] = Corpus.from_files(tmp_path / "data").sources
    assert (source.name, texts_of(source)) == ("data", list(DOCUMENTS))
    again = finish(read_again_work(tmp_path / "data", "file", None, source.reading))
    assert texts_of(again) == list(DOCUMENTS)
    write("data/test-00000-of-00002.parquet", of_parquet(["one"]))
    write("data/test-00001-of-00002.parquet", of_parquet(["two"]))
    test, _ = Corpus.from_files(tmp_path / "data").sources
    assert (test.name, test.group, texts_of(test)) == ("data: test-#-of-#.parquet", "", ["one", "two"])


def test_a_saved_data_set_of_hugging_face_is_read_in_its_order(write, tmp_path):
    parts = {"data-00000-of-00002.arrow": DOCUMENTS[:100], "data-00001-of-00002.arrow": DOCUMENTS[100:]}
    for name, documents in parts.items():
        content = pa.Table.from_pylist(rows(documents))
        file = io.BytesIO()
        with ipc.new_stream(file, content.schema) as writer:
            writer.write_table(content)
        write(f"set/train/{name}", file.getvalue())
    state = {"_data_files": [{"filename": name} for name in reversed(parts)]}
    write("set/train/state.json", json.dumps(state).encode())
    write("set/train/dataset_info.json", b'{"features": {}}')
    write("set/dataset_dict.json", b'{"splits": ["train"]}')
    [source] = Corpus.from_files(tmp_path / "set").sources
    assert texts_of(source) == [*DOCUMENTS[100:], *DOCUMENTS[:100]]


def test_many_texts_of_a_folder_or_an_archive_are_one_entry(write, tmp_path):
    for number in range(65):
        write(f"many/{number:02}.txt", b"text")
    archive = write("many.zip", zipped(**{f"{number:02}.txt": b"text" for number in range(65)}))
    for path in (tmp_path / "many", archive):
        corpus = Corpus.from_files(path)
        assert {source.group for source in corpus.sources} == {str(path)}
        assert corpus.with_weights({path.name: 2}).multipliers == (2,)


def test_other_encodings_of_json_and_tables_are_decoded(write):
    documents = ["Größe und Länge", "Übermut tut selten gut, für jeden", "naïve"] * 40
    table = "id;text\n" + "".join(f'{n};"{text}"\n' for n, text in enumerate(documents))
    lines = "".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in documents)
    for name, text in (("a.csv", table), ("a.jsonl", lines)):
        for encoding in ("windows-1252", "utf-16", "utf-8-sig"):
            assert texts_of(Corpus.from_files(write(name, text.encode(encoding))).sources[0]) == documents
        source = Corpus.from_files(write(name, text.encode("cp437")), encoding="cp437").sources[0]
        assert texts_of(source) == documents


@pytest.mark.parametrize("encoding", ["cp037", "cp273", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_chosen_encoding_decodes_data_whose_bytes_look_binary(write, encoding):
    documents = [f"Satz {n} und noch einer{'' if encoding.startswith('cp') else chr(0xFFFF)}" for n in range(40)]
    records = [{"text": text, "n": n} for n, text in enumerate(documents)]
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    table = "text,n\n" + "".join(f"{text},{n}\n" for n, text in enumerate(documents))
    made = {"a.csv": table, "a.tsv": table.replace(",", "\t"), "a.jsonl": lines, "a.json": json.dumps(records)}
    for name, text in made.items():
        [source] = Corpus.from_files(write(name, text.encode(encoding)), encoding=encoding).sources
        assert (texts_of(source), source.encoding, source.note) == (documents, encoding, "")
        [whole] = Corpus.from_files(write(name, text.encode(encoding)), encoding=encoding, as_text=True).sources
        assert (texts_of(whole), whole.encoding) == ([text], encoding)


def test_filters_drop_cut_and_count(write):
    documents = ["日本語です", "ab", "a long document", "ab", "日本語です", "x"]
    for name in ("a.jsonl", "a.parquet", "a.csv"):
        path = write(name, FORMATS[name](documents))
        source = Corpus.from_files(path, least_characters=2, most_characters=4, deduplicate=True).sources[0]
        assert texts_of(source) == ["日本語で", "ab", "a lo"]
        assert source.note == "1 short document dropped; 3 long documents cut; 2 duplicates dropped"
        source = Corpus.from_files(path, most_bytes=19).sources[0]
        assert texts_of(source) == ["日本語です", "ab", "a "]
        assert source.note == "only the first 19 bytes are read"
    lines = write("a.txt", "日本語です\nab\nab\nx\n".encode())
    source = Corpus.from_files(lines, "line", least_characters=3, deduplicate=True).sources[0]
    assert (texts_of(source), source.note) == (
        ["日本語です\n", "ab\n"],
        "1 short document dropped; 1 duplicate dropped",
    )
    assert texts_of(Corpus.from_files(lines, most_bytes=8).sources[0]) == ["日本"]
    with_mark = write("b.txt", b"\xef\xbb\xbf" + "日本語".encode() * 9)
    assert texts_of(Corpus.from_files(with_mark, most_bytes=7).sources[0]) == ["日本"]


@same_folder
@given(
    documents=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=9),
    least=st.integers(0, 3),
    most=st.none() | st.integers(1, 5),
    deduplicate=st.booleans(),
    limit=st.none() | st.integers(1, 30),
)
def test_filters_do_as_a_simple_loop_does(write, documents, least, most, deduplicate, limit):
    documents = ["first", *documents]
    kept = [text[:most] for text in documents if len(text) >= least]
    if deduplicate:
        kept = list(dict.fromkeys(kept))
    data, ends = "".join(kept).encode(), [len("".join(kept[: n + 1]).encode()) for n in range(len(kept))]
    if limit is not None and len(data) > limit:
        data = data[:limit].decode("utf-8", "ignore").encode()
        ends = [end for end in ends if end < len(data)] + ([len(data)] if data else [])
    if not data:
        return
    options = {"least_characters": least, "most_characters": most, "deduplicate": deduplicate, "most_bytes": limit}
    source = Corpus.from_files(write("a.jsonl", json_lines(documents)), **options).sources[0]
    assert source.data.tobytes() == data
    assert [end for end in dict.fromkeys(source.ends.tolist()) if end] == [end for end in dict.fromkeys(ends) if end]


@pytest.mark.parametrize("rows", [1, 7, 1_000])
def test_duplicates_are_known_across_blocks_and_give_their_memory_back(monkeypatch, rows):
    monkeypatch.setattr(files, "free_memory", lambda: 1_000_000)
    texts = [str(number * number % 397) for number in range(1_000)]
    budget = Budget()
    collect = Collector("a", Reading(deduplicate=True), budget)
    for first in range(0, len(texts), rows):
        raws = [text.encode() for text in texts[first : first + rows]]
        collect.add(np.frombuffer(b"".join(raws), np.uint8), np.cumsum([len(raw) for raw in raws]))
    [part] = finish(collect.parts_work())
    kept = list(dict.fromkeys(texts))
    assert part.data.tobytes() == "".join(kept).encode()
    assert collect.dropped.duplicates == len(texts) - len(kept)
    assert not budget.take(400_000 - len(part.data) + 1)
    assert budget.take(400_000 - len(part.data))


def test_what_is_too_large_for_the_memory_is_kept_on_the_disk_and_removed(write, monkeypatch, kept_texts):
    monkeypatch.setattr(files, "MOST", 1 << 16)
    kept = kept_texts()
    text = "Größe und Länge, 日本. " * 3_000
    paths = {
        "jsonl.zst": write("a.jsonl.zst", COMPRESSIONS[".zst"](json_lines(DOCUMENTS))),
        "gz": write("a.txt.gz", COMPRESSIONS[".gz"](text.encode())),
        "utf-16": write("b.txt", text.encode("utf-16")),
        "parquet.gz": write("a.parquet.gz", COMPRESSIONS[".gz"](of_parquet(DOCUMENTS))),
    }
    wanted = {name: WANTED.sha256 for name in ("jsonl.zst", "parquet.gz")}
    wanted |= dict.fromkeys(("gz", "utf-16"), Corpus.from_text(text).sha256)
    for name, path in paths.items():
        corpus = Corpus.from_files(path)
        assert isinstance(corpus.sources[0].data, FileText)
        assert corpus.sha256 == wanted[name]
        assert len(list(kept.iterdir())) == 1
        del corpus
        assert list(kept.iterdir()) == []
        work = read_work(path)
        for _ in range(3):
            next(work, None)
        work.close()
        del work
        assert list(kept.iterdir()) == []


def test_texts_left_by_a_killed_process_are_removed(tmp_path, monkeypatch, write):
    monkeypatch.setattr(files, "free_memory", lambda: 100)
    monkeypatch.setattr(files, "cache_folder", lambda: tmp_path / "cache")
    corpus = Corpus.from_files(write("a.jsonl", json_lines(DOCUMENTS)))
    kept = tmp_path / "cache" / "texts"
    left = leftovers.hidden_name(kept)
    # A process number that Linux never gives.
    left = left.with_name(left.name.replace(f"-{leftovers.os.getpid()}.", "-4194305."))
    left.write_bytes(b"left")
    other = Corpus.from_files(write("b.jsonl", json_lines(DOCUMENTS)))
    assert not left.exists()
    left.write_bytes(b"left again")
    files.remove_left_texts()
    assert not left.exists()
    assert corpus.sha256 == other.sha256


def test_a_look_shows_columns_and_texts(write):
    for name in FORMATS:
        contents = finish(look_work(write(name, FORMATS[name](DOCUMENTS))))
        [text] = [column for column in contents.columns if column.name == "text"]
        assert (contents.field, contents.is_data, text.values[:2]) == ("text", True, DOCUMENTS[:2])
        assert len(text.values) == 10
    assert (
        finish(look_work(write("a.jsonl.zst", COMPRESSIONS[".zst"](json_lines(DOCUMENTS))))).kind == "JSON Lines, zstd"
    )
    assert finish(look_work(write("s.csv", FORMATS["semicolons.csv"](DOCUMENTS)))).delimiter == ";"
    parquet_file = finish(look_work(write("a.parquet", of_parquet(DOCUMENTS))))
    assert (parquet_file.kind, parquet_file.rows) == ("Parquet", len(DOCUMENTS))
    archive = finish(look_work(write("a.zip", zipped(**{"a.txt": b"text", "b.jsonl": json_lines(DOCUMENTS)}))))
    assert (archive.kind, archive.files, archive.field) == ("ZIP archive: JSON Lines", 2, "text")
    plain = finish(look_work(write("a.txt", b"Some text.")))
    assert (plain.kind, plain.is_data, plain.field) == ("plain text", False, None)


def test_where_no_column_has_a_known_name_the_longest_texts_are_chosen(write):
    lines = "".join(json.dumps({"title": f"T{n}", "story": "Once upon a time " * 3, "n": n}) + "\n" for n in range(9))
    source = Corpus.from_files(write("a.jsonl", lines.encode())).sources[0]
    assert (source.reading.field, source.documents) == ("story", 9)


def test_data_can_be_read_as_plain_text(write):
    lines = json_lines(DOCUMENTS)
    source = Corpus.from_files(write("a.jsonl.gz", COMPRESSIONS[".gz"](lines)), as_text=True).sources[0]
    assert (source.data.tobytes(), source.documents, source.is_rows) == (lines, 1, False)
    raw = Corpus.from_files(write("a.jsonl", lines), encoding="bytes").sources[0]
    assert raw.data.tobytes() == lines


def test_rows_are_documents_that_lines_do_not_divide(write):
    source = Corpus.from_files(write("a.jsonl", json_lines(["one\ntwo", "three"])), "line").sources[0]
    assert texts_of(source) == ["one\ntwo", "three"]
    assert finish(source.split_work("file")) is source


def test_a_reading_is_kept_as_json():
    reading = Reading(field="text", split_by="lang", delimiter="\t", most_bytes=5, deduplicate=True)
    assert Reading.from_json(json.loads(json.dumps(reading.to_json()))) == reading
    assert Reading().to_json() == {}
    for wrong in ({"field": 1}, {"most_bytes": True}, {"unknown": 1}, {"deduplicate": 1}):
        with pytest.raises(ValueError, match="is not known"):
            Reading.from_json(wrong)


def test_texts_that_are_too_large_for_the_memory_are_kept_on_the_disk(kept_texts):
    kept = kept_texts(1_000_000)
    texts = [f"{number} " * 9 for number in range(99_000)]
    [source] = Corpus.from_texts(iter(texts)).sources
    assert len(list(kept.iterdir())) == 1
    assert isinstance(source.data, FileText)
    assert texts_of(source) == texts
    del source
    assert list(kept.iterdir()) == []


def test_texts_of_an_iterator_are_read_once():
    source = Source.from_texts(text for text in ("one", b"two", "", "日"))
    assert texts_of(source) == ["one", "two", "", "日"]
    assert Corpus.from_texts(iter(DOCUMENTS)).sha256 == WANTED.sha256
