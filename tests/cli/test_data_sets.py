"""`train` on data sets, compressed files and archives: what is chosen and dropped is said."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest

from tests.core.corpus.readers.written import COMPRESSIONS, DOCUMENTS, FORMATS, json_lines, zipped
from tokstudio import Corpus, TrainingConfig, save, train
from tokstudio.core.text.byte_level import to_characters


@pytest.fixture
def trained(run):
    """Trains on files, which must end with a code; gives the merges as `out`, and what was said."""
    return lambda code, *words, says="": run(
        code, "train", *words, "--vocab-size 280 --pattern gpt2 --print-merges", says=says
    )


def columns_in(said):
    return [line for line in said.splitlines() if "column" in line]


def test_the_chosen_column_is_said_and_formats_train_alike(write, trained):
    results = []
    for name in ("a.jsonl", "a.parquet", "a.csv"):
        write(f"{name}.zst", COMPRESSIONS[".zst"](FORMATS[name](DOCUMENTS)))
        results.append(trained(0, f"{name}.zst", says=f"{name}.zst: column text.").out)
    assert results[0] == results[1] == results[2]
    assert results[0].count("\n") == 24


def test_a_column_divides_and_what_is_dropped_is_said(write, trained):
    write("a.jsonl", json_lines(DOCUMENTS) + b"{\n")
    said = trained(0, "a.jsonl --split-by lang --field text --max-document-chars 20").err
    told = "column text; 3 values of lang (de, en, ja); 1 broken row dropped (line 407); 401 long documents cut."
    assert columns_in(said) == [f"a.jsonl: {told}"]
    wrong = trained(1, "a.jsonl --field body").err
    assert wrong == 'tokstudio: a.jsonl: there is no column "body"; there are "id", "text", "meta.lang", "lang".\n'


def test_a_division_into_many_sources_is_one_line_with_the_first_values(write, trained):
    rows = "\n".join(json.dumps({"text": f"Tag {number}.", "lang": f"l{number}"}) for number in range(60))
    write("a.jsonl", rows)
    write("b.jsonl", rows)
    said = trained(0, "a.jsonl b.jsonl --split-by lang --field text").err
    told = "column text; 60 values of lang (l0, l1, l2, l3, l4 and 55 more)."
    assert columns_in(said) == [f"a.jsonl: {told}", f"b.jsonl: {told}"]


def test_a_value_in_two_files_has_one_weight(write, trained):
    texts = [("de", "der Hund und der Hut"), ("ru", "кот и шляпа, кот и пёс"), ("de", "die Katze und die Kunst")]
    rows = [{"text": f"{text} {number}", "lang": language} for number in range(9) for language, text in texts]
    for name in ("a.jsonl", "b.jsonl"):
        write(name, "\n".join(map(json.dumps, rows)))
    files = "a.jsonl b.jsonl --split-by lang --field text"
    printed = trained(0, files, "--join-values --weight ru=5")
    assert [line.partition(",")[0] for line in printed.err.splitlines()[-2:]] == ["de: weight 1", "ru: weight 5"]
    for same in (["--weight", "ru=5"], [f"--weight={name}.jsonl: ru=5" for name in "ab"]):
        assert trained(0, files, same).out == printed.out
    assert trained(0, files).out != printed.out


def test_truncated_data_names_the_option_that_reads_it(write, trained):
    data = COMPRESSIONS[".gz"]("".join(f"{number * number}\n" for number in range(50_000)).encode())
    write("a.txt.gz", data[:-1_000])
    trained(1, "a.txt.gz", says="On the command line: --keep-truncated.")
    trained(0, "a.txt.gz --keep-truncated", says="what was whole is read")


def test_json_without_text_names_the_options_that_read_it(write, trained):
    write("counts.jsonl", '["the", 12]\n["then", 3]\n')
    assert trained(1, "counts.jsonl").err.endswith("On the command line: --as-text.\n")
    trained(0, "--counts counts.jsonl")
    assert "no column" not in trained(0, "counts.jsonl --as-text").err


def test_standard_input_may_be_a_data_set(trained, typed):
    typed(COMPRESSIONS[".gz"](json_lines(DOCUMENTS)))
    trained(0, "- --field text", says="standard input: column text.")


@pytest.fixture
def mixed(write):
    """A folder with data sets of two kinds, and a description."""
    write("mixed/part0.jsonl.zst", COMPRESSIONS[".zst"](json_lines(DOCUMENTS[:200]) + b"{\n"))
    write("mixed/part1.parquet", FORMATS["a.parquet"](DOCUMENTS[200:]))
    write("mixed/README.md", "A description.")


def test_data_sets_of_two_kinds_in_a_folder_are_one_corpus(mixed, trained):
    whole = trained(0, "mixed", says="mixed: 1 file skipped: README.md (beside a data set).").out
    assert whole == trained(0, "mixed/part0.jsonl.zst mixed/part1.parquet").out


def test_files_without_text_in_a_folder_are_skipped_and_said(write, trained):
    write("texts/a.txt", "the cat sat on the mat " * 9)
    whole = trained(0, "texts").out
    write("texts/b.csv", "text,lang\n")
    write("texts/c.docx", zipped(**{"[Content_Types].xml": b"<a/>", "word.xml": b"<b/>"}))
    assert trained(0, "texts", says="a.txt: 2 files without text skipped (b.csv, c.docx).").out == whole
    trained(1, "texts/a.txt texts/b.csv", says="b.csv: the file has no text.")
    trained(1, "texts/c.docx texts/a.txt", says="On the command line: --encoding bytes.")


@pytest.mark.parametrize(
    "command",
    [
        "train mixed --vocab-size 280",
        "train mixed --vocab-size 100 --algorithm wordpiece",
        "extend tokenizer.json mixed --vocab-size 310",
        "count mixed --pattern gpt2 --out c.parquet",
        "compare tokenizer.json --texts mixed",
        "prune tokenizer.json --vocab-size 300 --corpus mixed",
        "renumber tokenizer.json --by use --corpus mixed",
        "check merges.txt --corpus mixed --pattern none --tie-break first",
    ],
)
def test_what_is_passed_over_is_in_the_json_of_every_command(mixed, write, tmp_path, run, command):
    tokenizer = train(Corpus.from_texts(DOCUMENTS), TrainingConfig(vocabulary_size=306))
    save(tokenizer, tmp_path / "tokenizer.json")
    left, right = (to_characters(tokenizer.tokens[part]) for part in tokenizer.merges[0].tolist())
    write("merges.txt", f"{left} {right}\n")
    told = run(0, command, "--json -q").json
    assert told["skipped"] == [{"name": "README.md", "reason": "beside a data set", "folder": "mixed"}]
    assert [one["name"] for one in told["source_notes"]] == ["part0.jsonl.zst"]
    assert "1 broken row dropped" in told["source_notes"][0]["note"]


@pytest.mark.parametrize("command", ["inspect {}", "encode --text a --tokenizer {}", "prune {} --vocab-size 300"])
@pytest.mark.parametrize(
    ("address", "advice"),
    [
        ("s3://bucket/mine", "download it, and give its path"),
        ("https://huggingface.co/Qwen/Qwen3-8B", "give its name, hf:Qwen/Qwen3-8B"),
        ("https://huggingface.co/Qwen/Qwen3-8B/tree/v2", "give its name, hf:Qwen/Qwen3-8B@v2"),
    ],
)
def test_an_address_in_place_of_a_tokenizer_is_said_to_be_one(run, command, address, advice):
    what = "A tokenizer is a file, a folder, or a name such as hf:Qwen/Qwen3-8B"
    told = f"tokstudio: {address}: this is an address. {what}: {advice}.\n"
    assert run(1, command.format(address)).err.endswith(told)


def test_a_folder_with_one_language_is_no_parallel_set(write, run):
    write("one/en.txt", "one\ntwo\n")
    write("b.txt", "two\n")
    assert run(1, "compare bytes --parallel --texts one").err == (
        "tokstudio: en.txt: this is no table with a column for each language (plain text); open a table, or a folder "
        "with a file for each language. It is the only text in the folder one; a parallel set is the same lines in "
        "several languages, such as de.txt and en.txt.\n"
    )
    assert run(1, "train one/en.txt b.txt --algorithm parity --parallel en=one --vocab-size 280").err == (
        'tokstudio: one: this is a folder; the parallel text of "en" is one file, with the same lines as those of the '
        "other languages.\n"
    )
