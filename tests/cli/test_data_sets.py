"""`train` on data sets, compressed files and archives: what is chosen and dropped is said."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest

from tests.core.corpus.readers.written import COMPRESSIONS, DOCUMENTS, FORMATS, json_lines
from tokstudio import Corpus, TrainingConfig, cli, save, train
from tokstudio.cli.arguments.parse import parse
from tokstudio.cli.reading import texts_of
from tokstudio.core.base.errors import CorpusError
from tokstudio.core.corpus.readers.contents import Reading


@pytest.fixture
def trained(capsys):
    """Trains on a file; returns the exit code, the merges and what was said."""

    def train(*arguments):
        options = ["--vocab-size", "280", "--pattern", "gpt2", "--print-merges"]
        code = cli.main(["train", *map(str, arguments), *options])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return train


def test_the_chosen_column_is_said_and_formats_train_alike(tmp_path, trained):
    results = []
    for name in ("a.jsonl", "a.parquet", "a.csv"):
        path = tmp_path / f"{name}.zst"
        path.write_bytes(COMPRESSIONS[".zst"](FORMATS[name](DOCUMENTS)))
        code, merges, said = trained(path)
        assert (code, f"{name}.zst: column text." in said) == (0, True)
        results.append(merges)
    assert results[0] == results[1] == results[2]
    assert results[0].count("\n") == 24


def test_a_column_divides_and_what_is_dropped_is_said(tmp_path, trained):
    (tmp_path / "a.jsonl").write_bytes(json_lines(DOCUMENTS) + b"{\n")
    code, _, said = trained(tmp_path / "a.jsonl", "--split-by", "lang", "--field", "text", "--max-document-chars", "20")
    assert code == 0
    told = "column text; 3 values of lang (de, en, ja); 1 broken row dropped (line 407); 401 long documents cut."
    assert [line for line in said.splitlines() if "column" in line] == [f"a.jsonl: {told}"]


def test_a_division_into_many_sources_is_one_line_with_the_first_values(tmp_path, trained):
    rows = [{"text": f"Tag {number}.", "lang": f"l{number}"} for number in range(600)]
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    _, _, said = trained(tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--split-by", "lang", "--field", "text")
    told = "column text; 600 values of lang (l0, l1, l2, l3, l4 and 595 more)."
    assert [line for line in said.splitlines() if "column" in line] == [f"a.jsonl: {told}", f"b.jsonl: {told}"]


def test_a_value_in_two_files_has_one_weight(tmp_path, trained):
    texts = [("de", "der Hund und der Hut"), ("ru", "кот и шляпа, кот и пёс"), ("de", "die Katze und die Kunst")]
    rows = [{"text": f"{text} {number}", "lang": language} for number in range(9) for language, text in texts]
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--split-by", "lang", "--field", "text"]
    code, merges, said = trained(*files, "--join-values", "--weight", "ru=5")
    assert code == 0
    assert [line.partition(",")[0] for line in said.splitlines()[-2:]] == ["de: weight 1", "ru: weight 5"]
    by_file = [f"--weight={name}.jsonl: ru=5" for name in "ab"]
    for same in (["--weight", "ru=5"], by_file):
        assert trained(*files, *same)[:2] == (0, merges)
    assert trained(*files)[1] != merges


def test_a_wrong_column_is_an_error_that_names_the_others(tmp_path, trained):
    (tmp_path / "a.jsonl").write_bytes(json_lines(DOCUMENTS))
    code, _, said = trained(tmp_path / "a.jsonl", "--field", "body")
    assert code == 1
    assert said == ('tokstudio: a.jsonl: there is no column "body"; there are "id", "text", "meta.lang", "lang".\n')


def test_truncated_data_names_the_option_that_reads_it(tmp_path, trained):
    data = COMPRESSIONS[".gz"]("".join(f"{number * number}\n" for number in range(50_000)).encode())
    (tmp_path / "a.txt.gz").write_bytes(data[:-1_000])
    code, _, said = trained(tmp_path / "a.txt.gz")
    assert code == 1
    assert "On the command line: --keep-truncated." in said
    code, _, said = trained(tmp_path / "a.txt.gz", "--keep-truncated")
    assert code == 0
    assert "what was whole is read" in said


def test_json_without_text_names_the_options_that_read_it(tmp_path, trained):
    (tmp_path / "counts.jsonl").write_text('["the", 12]\n["then", 3]\n')
    code, _, said = trained(tmp_path / "counts.jsonl")
    assert (code, said.endswith("On the command line: train --counts, or --as-text.\n")) == (1, True)
    code, *_ = trained("--counts", tmp_path / "counts.jsonl")
    assert code == 0
    code, _, said = trained(tmp_path / "counts.jsonl", "--as-text")
    assert (code, "no column" in said) == (0, False)


def test_the_options_make_a_reading():
    options = ["--field", "a.b", "--split-by", "lang", "--delimiter", r"\t", "--min-document-chars", "2"]
    options += ["--max-document-chars", "9", "--max-bytes", "99", "--deduplicate", "--keep-truncated", "--join-values"]
    chosen = Reading("a.b", "lang", "\t", 2, 9, 99, True, False, True, True)
    assert texts_of(parse(["train", "x", *options]), ["x"]).reading == chosen
    assert texts_of(parse(["train", "x"]), ["x"]).reading == Reading()
    assert texts_of(parse(["train", "x", "--as-text"]), ["x"]).reading.as_text


def test_the_help_spells_a_tab_as_it_is_typed(capsys):
    with pytest.raises(SystemExit):
        parse(["train", "--help"])
    printed = capsys.readouterr().out
    assert r"\t for a tab" in " ".join(printed.split())
    assert "\t" not in printed


def test_standard_input_may_be_a_data_set(trained, typed):
    typed(COMPRESSIONS[".gz"](json_lines(DOCUMENTS)))
    code, _, said = trained("-", "--field", "text")
    assert (code, "standard input: column text." in said) == (0, True)


@pytest.fixture
def mixed(tmp_path):
    """A folder with data sets of two kinds, and a description."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "part0.jsonl.zst").write_bytes(COMPRESSIONS[".zst"](json_lines(DOCUMENTS[:200]) + b"{\n"))
    (folder / "part1.parquet").write_bytes(FORMATS["a.parquet"](DOCUMENTS[200:]))
    (folder / "README.md").write_text("A description.")
    return folder


def test_data_sets_of_two_kinds_in_a_folder_are_one_corpus(mixed, tmp_path, trained):
    code, merges, said = trained(mixed)
    assert code == 0
    assert "mixed: 1 file skipped: README.md (beside a data set)." in said
    halves = [str(mixed / name) for name in ("part0.jsonl.zst", "part1.parquet")]
    assert merges == trained(*halves)[1]


@pytest.mark.parametrize(
    "command",
    [
        "train {mixed} --vocab-size 280",
        "train {mixed} --vocab-size 100 --algorithm wordpiece",
        "extend {tokenizer} {mixed} --vocab-size 310",
        "count {mixed} --pattern gpt2 --out {out}",
        "compare {tokenizer} --texts {mixed}",
        "prune {tokenizer} --vocab-size 300 --corpus {mixed}",
        "renumber {tokenizer} --by use --corpus {mixed}",
        "check {merges} --corpus {mixed}",
    ],
)
def test_what_is_passed_over_is_in_the_json_of_every_command(mixed, tmp_path, capsys, command):
    tokenizer = tmp_path / "tokenizer.json"
    save(train(Corpus.from_texts(DOCUMENTS), TrainingConfig(vocabulary_size=306)), tokenizer)
    (tmp_path / "merges.txt").write_text("t h\n")
    places = {"mixed": mixed, "tokenizer": tokenizer, "out": tmp_path / "c.parquet", "merges": tmp_path / "merges.txt"}
    cli.main([word.format(**places) for word in [*command.split(), "--json", "-q"]])
    told = json.loads(capsys.readouterr().out)
    assert told["skipped"] == [{"name": "README.md", "reason": "beside a data set", "folder": str(mixed)}]
    assert [one["name"] for one in told["source_notes"]] == ["part0.jsonl.zst"]
    assert "1 broken row dropped" in told["source_notes"][0]["note"]


ADDRESSES = [
    "s3://bucket/a.jsonl",
    "https://example.org/a.txt",
    "hf:datasets/allenai/c4",
    "gs://b/c",
    "hf://datasets/a/b",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    "command",
    [
        "train {} --vocab-size 280",
        "train {} --vocab-size 100 --algorithm wordpiece",
        "train --counts {} --vocab-size 280",
        "count {} --pattern gpt2 --out c.parquet",
        "compare bytes --texts {}",
        "compare bytes --texts {} --parallel",
        "check merges.txt --corpus {}",
        "encode --tokenizer tokenizer.json {}",
    ],
)
def test_an_address_is_said_to_be_one(tmp_path, monkeypatch, capsys, command, address):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "merges.txt").write_text("t h\n")
    assert cli.main(command.format(address).split()) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"tokstudio: {address}: this is an address, which says where data is on a network.")
    assert "reading data by address comes with a later version" in said


@pytest.mark.parametrize(
    ("address", "advice"),
    [
        ("s3://bucket/mine", "download it, and give its path"),
        ("https://huggingface.co/Qwen/Qwen3-8B", "give its name, hf:Qwen/Qwen3-8B"),
        ("https://huggingface.co/Qwen/Qwen3-8B/tree/v2", "give its name, hf:Qwen/Qwen3-8B@v2"),
    ],
)
def test_an_address_in_place_of_a_tokenizer_is_said_to_be_one(tmp_path, monkeypatch, capsys, address, advice):
    monkeypatch.chdir(tmp_path)
    for command in ("inspect {}", "encode --text a --tokenizer {}", "prune {} --vocab-size 300"):
        assert cli.main(command.format(address).split()) == 1
        assert capsys.readouterr().err.endswith(
            f"tokstudio: {address}: this is an address. A tokenizer is a file, a folder, or a name such as "
            f"hf:Qwen/Qwen3-8B: {advice}.\n"
        )


def test_joining_by_value_needs_a_column_to_divide_by(tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text('{"text": "the cat", "lang": "en"}\n')
    assert cli.main(["train", str(tmp_path / "a.jsonl"), "--join-values", "--vocab-size", "257"]) == 1
    assert "give the column that divides texts (split_by)" in capsys.readouterr().err


def test_a_file_whose_name_looks_like_an_address_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hf:datasets").mkdir()
    (tmp_path / "hf:datasets" / "a.txt").write_text("text")
    assert Corpus.from_files("hf:datasets/a.txt").bytes == 4
    with pytest.raises(CorpusError, match=r"^a\.txt: no such file or folder\.$"):
        Corpus.from_files("c:/a.txt")


def test_a_folder_with_one_language_is_no_parallel_set(tmp_path, capsys):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "en.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt").write_text("two\n")
    assert cli.main(["compare", "bytes", "--parallel", "--texts", str(tmp_path / "one")]) == 1
    assert capsys.readouterr().err == (
        "tokstudio: en.txt: this is no table with a column for each language (plain text); open a table, or a folder "
        "with a file for each language. It is the only text in the folder one; a parallel set is the same lines in "
        "several languages, such as de.txt and en.txt.\n"
    )
    texts = [str(tmp_path / "one" / "en.txt"), str(tmp_path / "b.txt")]
    given = ["--parallel", f"en={tmp_path / 'one'}", "--vocab-size", "280"]
    assert cli.main(["train", *texts, "--algorithm", "parity", *given]) == 1
    assert capsys.readouterr().err == (
        'tokstudio: one: this is a folder; the parallel text of "en" is one file, with the same lines as those of the '
        "other languages.\n"
    )
