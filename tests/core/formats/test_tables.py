"""The tables are read back with Python's `csv`, as a spreadsheet would, and its `json`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import json
from collections import Counter

import pytest
from hypothesis import given, settings

from tests.core.formats.trained import (
    SPECIALS,
    everything,
    of_characters,
    texts_to_train_on,
    trained,
    with_specials,
    with_unknown,
)
from tokstudio import Corpus, FormatError, ParityAware, SuperBPE, Tokenizer, TrainingConfig, extend, save, train
from tokstudio.core.corpus.source import Source
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.model.columns import language_of


def table(tokenizer, name):
    """The rows, after making sure that each is one line."""
    content = b"".join(next(iter(FORMATS[name].contents(tokenizer).values()))).decode()
    rows = list(csv.DictReader(io.StringIO(content, newline="")))
    assert content.endswith("\n")
    assert len(content.splitlines()) == len(rows) + 1
    return rows


def objects(tokenizer):
    """The merge log as objects, after making sure that each is one line."""
    content = b"".join(FORMATS["merges-jsonl"].contents(tokenizer)["merges.jsonl"]).decode()
    lines = content.splitlines()
    assert "".join(line + "\n" for line in lines) == content
    return [json.loads(line) for line in lines]


@settings(max_examples=25)
@given(texts_to_train_on)
def test_the_log_as_json_says_what_the_table_says(text):
    tokenizer = trained(text, 50)
    rows = objects(tokenizer)
    numbers = ("number", "id", "left", "right", "count", "tokens_after", "bytes_per_token", "hex")
    for row, record in zip(table(tokenizer, "merges-csv"), rows, strict=True):
        assert list(record) == list(row)
        assert [str(record[column]) for column in numbers] == [row[column] for column in numbers]
        token = tokenizer.tokens[record["id"]]
        middle = tokenizer.tokens.length(record["left"])
        parts = {"text": token, "left_text": token[:middle], "right_text": token[middle:]}
        assert {column: record[column] for column in parts} == {
            column: part.decode("utf-8", "replace") for column, part in parts.items()
        }


def test_tables_hold_long_tokens_and_characters_and_stop_at_the_playhead():
    tokenizer = trained("a" + "日\u2028" * 10_000, 30)
    pieces = list(FORMATS["merges-jsonl"].contents(tokenizer)["merges.jsonl"])
    assert max(map(len, pieces)) < 100_000
    assert len(objects(tokenizer)[-1]["text"]) > 10_000
    longest = max(table(tokenizer, "vocabulary-csv"), key=lambda row: int(row["bytes"]))
    assert int(longest["bytes"]) > 20_000
    assert longest["text"] == bytes.fromhex(longest["hex"]).decode("utf-8", "replace").replace("\u2028", "\\u2028")
    assert [record["text"] for record in objects(of_characters().at(2))] == [
        row["text"] for row in table(of_characters(), "merges-csv")[:2]
    ]
    assert objects(everything().at(0)) == table(everything().at(0), "merges-csv") == []
    tokenizer = everything()
    assert len(table(tokenizer.at(3), "merges-csv")) == 3
    rows = table(tokenizer.at(3), "vocabulary-csv")
    assert [int(row["uses"]) for row in rows] == tokenizer.run.uses(3).tolist()


def test_uses_of_an_extended_tokenizer_are_those_at_the_playhead():
    start = trained("abab cdcdcd efef ghgh " * 3, 4)
    text = "abab cdcdcd efef ghgh klkl klkl gh gh gh gh gh"
    extended = extend(start, Corpus.from_text(text), TrainingConfig(vocabulary_size=264))
    for merges in (8, 6, 4):
        counted = Counter(extended.at(merges).encode(text))
        rows = table(extended.at(merges), "vocabulary-csv")
        assert {int(row["id"]): int(row["uses"]) for row in rows} == {id_: counted[id_] for id_ in range(256 + merges)}
    # The text was not counted at fewer merges than training started from.
    assert {row["uses"] for row in table(extended.at(3), "vocabulary-csv")} == {""}


def test_tables_have_the_columns_and_numbers_of_the_run(tmp_path):
    tokenizer = trained("banana", 1)
    file = save(tokenizer, tmp_path / "log.csv", "merges-csv").files[0]
    assert file.read_bytes() == (
        b"number,id,left,right,left_text,right_text,text,hex,count,tokens_after,bytes_per_token\n"
        b'1,256,97,110,"a","n","an","616e",2,4,1.5\n'
    )
    content = b"".join(FORMATS["merges-jsonl"].contents(tokenizer)["merges.jsonl"])
    assert content == (
        b'{"number": 1, "id": 256, "left": 97, "right": 110, "left_text": "a", "right_text": "n", "text": "an", '
        b'"hex": "616e", "count": 2, "tokens_after": 4, "bytes_per_token": 1.5}\n'
    )
    rows = table(tokenizer, "vocabulary-csv")
    assert list(rows[0]) == ["id", "kind", "text", "hex", "bytes", "left", "right", "merge", "uses"]
    assert list(rows[98].values()) == ["98", "byte", "b", "62", "1", "", "", "", "1"]
    assert list(rows[256].values()) == ["256", "merge", "an", "616e", "2", "97", "110", "1", "2"]
    assert len(rows) == 257


@settings(max_examples=25)
@given(texts_to_train_on)
def test_every_number_is_the_run_s_and_hex_is_exact(text):
    tokenizer = trained(text, 50)
    run, tokens = tokenizer.run, tokenizer.tokens
    for row, (left, right) in zip(table(tokenizer, "merges-csv"), run.merges.tolist(), strict=True):
        k = int(row["number"])
        assert bytes.fromhex(row["hex"]) == tokens[int(row["id"])] == tokens[left] + tokens[right]
        assert [int(row[c]) for c in ("id", "left", "right")] == [255 + k, left, right]
        assert [int(row["count"]), int(row["tokens_after"])] == [run.counts[k - 1], run.tokens_after[k - 1]]
        assert float(row["bytes_per_token"]) == pytest.approx(len(text) / run.tokens_after[k - 1], abs=1e-6)
    rows = table(tokenizer, "vocabulary-csv")
    assert [bytes.fromhex(row["hex"]) for row in rows] == list(tokens)
    assert [int(row["uses"]) for row in rows] == run.uses().tolist()
    assert [int(row["bytes"]) for row in rows] == [len(token) for token in tokens]


def test_texts_stay_on_one_line_and_can_be_told_apart():
    texts = {row["hex"]: row["text"] for row in table(everything(), "vocabulary-csv")}
    told = {
        "0a": "\\n",
        "0d": "\\r",
        "09": "\\t",
        "5c": "\\\\",
        "00": "\\x00",
        "7f": "\\x7f",
        "22": '"',
        "f0": "\ufffd",
    }
    assert texts.items() >= {**told, "3d": "="}.items()
    assert any("\\u2028" in text for text in texts.values())
    assert any("😀" in text for text in texts.values())


def test_special_tokens_and_characters_are_told_as_what_they_are():
    rows = table(with_specials("gpt2"), "vocabulary-csv")
    kinds = Counter(row["kind"] for row in rows)
    assert kinds == {"byte": 256, "merge": len(rows) - 256 - len(SPECIALS), "special": len(SPECIALS)}
    assert list(rows[-1].values()) == [str(len(rows) - 1), "special", "\\n\\n", "0a0a", "2", "", "", "", ""]
    first = table(with_specials("gpt2", "first"), "vocabulary-csv")
    assert list(first[0].values()) == ["0", "special", "<|end|>", b"<|end|>".hex(), "7", "", "", "", ""]
    assert first[len(SPECIALS)]["kind"] == "byte"
    characters = with_unknown()
    rows = {row["id"]: row for row in table(characters, "vocabulary-csv")}
    unknown = rows[str(characters.special_tokens["[UNK]"])]
    assert unknown["kind"] == "special"
    assert {row["kind"] for row in rows.values()} == {"special", "character", "merge"}
    assert [row["hex"] for row in rows.values() if row["text"] == "日"] == ["日".encode().hex()]


@pytest.mark.parametrize("make", [with_specials, lambda: with_specials("cl100k", "first"), of_characters, with_unknown])
def test_merges_name_the_ids_and_tokens_that_the_tokenizer_has(make):
    tokenizer = make()
    rows = table(tokenizer, "merges-csv")
    assert len(rows) == len(tokenizer.merges)
    for row, (left, right), made in zip(rows, tokenizer.merges.tolist(), tokenizer.merge_results.tolist(), strict=True):
        assert [int(row[column]) for column in ("id", "left", "right")] == [made, left, right]
        assert bytes.fromhex(row["hex"]) == tokenizer.tokens[left] + tokenizer.tokens[right]
    uses = tokenizer.run.uses()
    for row in table(tokenizer, "vocabulary-csv"):
        assert row["uses"] == ("" if row["kind"] == "special" else str(uses[int(row["id"])]))


@pytest.mark.parametrize("placement", ["last", "first"])
def test_no_number_is_given_where_it_would_be_another_than_the_text_has(placement):
    """An unknown token that is written out as well: the run knows only what became it."""
    text = "ab<?>ab x<?>c aab\n" * 20
    config = TrainingConfig(
        vocabulary_size=12,
        base="characters",
        base_vocabulary=tuple("abc \n"),
        unknown_token="<?>",
        special_tokens=("<?>",),
        special_placement=placement,
    )
    tokenizer = train(Corpus.from_text(text), config)
    counts = Counter(tokenizer.encode(text, "all"))
    assert counts[tokenizer.special_tokens["<?>"]] == 60
    rows = {row["text"]: row for row in table(tokenizer, "vocabulary-csv")}
    assert rows.pop("<?>")["uses"] == ""
    assert all(int(row["uses"]) == counts[int(row["id"])] for row in rows.values())


def test_without_a_run_there_are_no_counts(tmp_path):
    tokenizer = Tokenizer(everything().merges)
    for name in ("csv", "jsonl"):
        words = rf"^merges\.{name}: This tokenizer was not trained here, so there are no counts"
        with pytest.raises(FormatError, match=words):
            save(tokenizer, tmp_path, f"merges-{name}")
    assert list(tmp_path.iterdir()) == []
    assert {row["uses"] for row in table(tokenizer, "vocabulary-csv")} == {""}


def test_counts_of_weighted_sources_are_divided():
    corpus = Corpus((Source.from_texts("abab", "a"), Source.from_texts("abc", "b"))).with_weights({"b": 0.25})
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=257))
    (merge,) = table(tokenizer, "merges-csv")
    assert (merge["count"], merge["tokens_after"], merge["bytes_per_token"]) == ("2.25", "2.5", "1.9")
    (merge,) = objects(tokenizer)
    assert (merge["count"], merge["tokens_after"]) == (2.25, 2.5)
    rows = table(tokenizer, "vocabulary-csv")
    assert [rows[token]["uses"] for token in (97, 99, 256)] == ["0", "0.25", "2.25"]


def test_the_log_of_a_run_by_turns_says_who_chose():
    sources = (Source.from_texts(["das haus " * 9], 'a "b".txt'), Source.from_texts(["the house " * 9], "en"))
    made = train(Corpus(sources), TrainingConfig(vocabulary_size=270, algorithm=ParityAware(global_merges=2)))
    expected = [language_of(made.run, row) or "" for row in range(14)]
    assert expected[:2] == ["", ""]
    assert len(set(expected)) == 3
    assert [row["chosen_by"] for row in table(made, "merges-csv")] == expected
    assert [row["chosen_by"] for row in objects(made)] == expected
    assert "chosen_by" not in table(trained("banana", 1), "merges-csv")[0]


def test_the_log_says_the_stage_of_superbpe_and_what_supermerges_came_before():
    text = "one of the cats sat on the mat, at the end of the day: of the cats one sat. " * 6
    given = {"vocabulary_size": 300, "pattern": "gpt2"}
    made = train(Corpus.from_text(text), TrainingConfig(algorithm=SuperBPE(transition=270), **given))
    stages = [1] * 14 + [2] * (len(made.run) - 14)
    assert len(stages) > 14
    assert [row["stage"] for row in objects(made)] == stages
    assert [row["stage"] for row in table(made, "merges-csv")] == [str(stage) for stage in stages]
    corpus = Corpus((Source.from_texts(text, "a"),)).with_weights({"a": 1.5})
    made = train(corpus, TrainingConfig(algorithm="boundless", **given))
    counts = [None if count < 0 else count / 1000 for count in made.run.columns["overtaken"].tolist()]
    assert len({*counts}) > 2
    assert [row["overtaken"] for row in objects(made)] == counts
    assert [row["overtaken"] for row in table(made, "merges-csv")] == ["" if n is None else f"{n:g}" for n in counts]


def test_the_log_of_an_extended_tokenizer_has_the_counts_of_its_own_training_only():
    """The merges it started from were counted in another text."""
    start = train(Corpus.from_text("abab abab"), TrainingConfig(vocabulary_size=258, pattern="gpt2"))
    made = extend(start, Corpus.from_text("cdcd cdcd"), TrainingConfig(vocabulary_size=260, pattern="gpt2"))
    rows, run = table(made, "merges-csv"), made.run
    assert [row["count"] for row in rows] == ["", "", *map(str, run.counts.tolist())]
    assert [row["tokens_after"] for row in rows] == ["", "", *map(str, run.tokens_after.tolist())]
    told = [(one["count"], one["bytes_per_token"]) for one in objects(made)]
    assert told[:2] == [(None, None)] * 2
    assert told[2:] == [(int(run.counts[n]), round(run.bytes_per_token(n + 1), 6)) for n in range(len(run))]
