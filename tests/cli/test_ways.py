"""The command `train` with each option, compared with the core."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fifty import FIFTY

from tokstudio import Corpus, TrainingConfig, cli, train
from tokstudio.core.model import alphabet
from tokstudio.core.model.config import BASES, PLACEMENTS
from tokstudio.core.pretokenization.patterns import NAMES

GOLDENS = Path(__file__).parents[1] / "data" / "goldens.json"
GOLDEN = next(
    case for case in json.loads(GOLDENS.read_text(encoding="utf-8"))["cases"] if case.get("base") == "characters"
)
UNUSUAL = ["a", "\n", "\r", "\t", "\\", " ", '"', "[", "]", "é", "\u2028", "\x85", "<UNK>"]


@pytest.fixture
def merges_of(capsys):
    """Trains by the command line, and gives each merge that it prints as left, right and result."""

    def of(*arguments):
        assert cli.main(["train", *map(str, arguments), "--print-merges"]) == 0
        lines = capsys.readouterr().out.splitlines()
        return [[int(number) for number in re.findall(r"\d+", line)] for line in lines]

    return of


@pytest.fixture
def outcome_of(capsys):
    """Trains by the command line, and gives what it prints with --json."""

    def of(*arguments):
        assert cli.main(["train", *map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return of


@pytest.fixture
def write(tmp_path):
    """Writes a file and gives its path."""

    def make(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def merges_by_core(corpus, **settings):
    tokenizer = train(corpus, TrainingConfig(**settings))
    return [
        [*pair, made] for pair, made in zip(tokenizer.merges.tolist(), tokenizer.merge_results.tolist(), strict=True)
    ]


@pytest.mark.parametrize("pattern", [*NAMES, r"\w+|\W"])
def test_a_pattern_by_name_or_expression(text, merges_of, pattern):
    expected = merges_by_core(Corpus.from_text(FIFTY), min_frequency=2, pattern=pattern)
    assert merges_of(text, "--min-frequency", 2, "--pattern", pattern) == expected


def test_characters_are_numbered_as_they_appear(write, merges_of, outcome_of):
    path = write("text.txt", "xyzxyzé")
    assert merges_of(path, "--base", "characters", "--min-frequency", 2) == [[0, 1, 4], [4, 2, 5]]
    assert outcome_of(path, "--base", "characters", "--vocab-size", 5)["vocabulary_size"] == 5


@pytest.mark.parametrize("form", ["lines", "crlf", "json", "json without its name"])
def test_a_base_vocabulary_gives_the_result_of_the_source_document(write, merges_of, form):
    entries = GOLDEN["base_vocabulary"]
    lines = "".join(entry + "\n" for entry in entries)
    listed = json.dumps(entries)
    name, content = {
        "lines": ("base.txt", lines),
        "crlf": ("base.txt", b"\xef\xbb\xbf" + lines.replace("\n", "\r\n").encode()),
        "json": ("base.json", listed),
        "json without its name": ("base.txt", listed),
    }[form]
    texts = [write(f"{number}.txt", sequence) for number, sequence in enumerate(GOLDEN["sequences"])]
    arguments = ["--base", "characters", "--base-vocabulary", write(name, content), "--unknown-token", "<UNK>"]
    made = merges_of(*texts, *arguments, "--vocab-size", GOLDEN["target_vocabulary_size"])
    tokens = list(entries)
    for left, right, result in made:
        assert result == len(tokens)
        tokens.append(tokens[left] + tokens[right])
    assert [[tokens[left], tokens[right]] for left, right, _ in made] == GOLDEN["expect_merges_text"]


@pytest.mark.parametrize("name", ["base.txt", "base.json"])
def test_a_base_vocabulary_can_hold_any_character(write, merges_of, name):
    escaped = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\"}
    lines = "\n".join(escaped.get(entry, entry) for entry in UNUSUAL)
    base = write(name, json.dumps(UNUSUAL) if name.endswith("json") else lines)
    text = "\t\\a\t\\\r\n\u2028\x85[]"
    made = merges_of(write("text", text), "--base", "characters", "--base-vocabulary", base, "--min-frequency", 2)
    assert made == [[UNUSUAL.index("\t"), UNUSUAL.index("\\"), len(UNUSUAL)]]


def test_a_file_of_lines_may_begin_with_a_bracket(write, merges_of):
    base = write("base.txt", "[\n]\na\n")
    assert merges_of(write("text", "[a[a]"), "--base", "characters", "--base-vocabulary", base, "--vocab-size", 4) == [
        [0, 2, 3]
    ]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("base.txt", "a\n\nb\n", "base.txt: line 2 is empty. Write a line feed as \\n."),
        ("base.txt", "", "base.txt: line 1 is empty."),
        ("base.txt", "a\n\\x\n", "base.txt: line 2: \\x is not an escape. Write a backslash as \\\\."),
        ("base.txt", b"a\n\xff", "base.txt: byte 2 is not UTF-8."),
        ("base.txt", "a\nb\na\n", 'The base vocabulary must not contain "a" twice.'),
        ("base.json", "[", "base.json: this is not JSON ("),
        ("base.json", "[" * 100_000, "base.json: this is not JSON (nested too deeply)."),
        ("base.json", "[" * 300 + "]" * 300, "base.json: this is not JSON (nested too deeply)."),
        ("base.json", '["a", 1]', "base.json: a base vocabulary must be a JSON list of strings."),
        ("base.json", "{}", "base.json: a base vocabulary must be a JSON list of strings."),
        ("base.json", '["ab"]', "The base vocabulary has no characters."),
    ],
)
def test_an_invalid_base_vocabulary_is_an_error(text, write, capsys, name, content, words):
    arguments = ["--base", "characters", "--base-vocabulary", str(write(name, content)), "--min-frequency", "2"]
    assert cli.main(["train", text, *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"tokstudio: {words}")


def test_a_base_vocabulary_that_is_missing_is_named(text, tmp_path, capsys):
    arguments = ["train", text, "--min-frequency", "2", "--base", "characters", "--base-vocabulary"]
    assert cli.main([*arguments, str(tmp_path / "none.txt")]) == 1
    assert capsys.readouterr().err == "tokstudio: none.txt: no such file or folder.\n"
    assert cli.main([*arguments, str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"tokstudio: {tmp_path.name}: this is a folder, not a file.\n"


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_special_tokens_have_ids_and_are_not_merged(write, merges_of, outcome_of, placement):
    path = write("text.txt", "abab<|end|>abab<|pad|>")
    specials = ["--special", "<|end|>", "--special", "<|pad|>", "--special-placement", placement]
    first = 256 if placement == "last" else 258
    made = merges_of(path, "--vocab-size", 260, *specials)
    assert [result for *_, result in made] == [first, first + 1]
    assert made[0][0] == ord("a") + first - 256
    outcome = outcome_of(path, "--vocab-size", 260, *specials)
    assert outcome["vocabulary_size"] == 260
    assert outcome["bytes_per_token"] == pytest.approx(8 / 2)


def test_changes_of_the_corpus_are_reported(write, capsys):
    path = write("text.txt", b"abab<|end|>ab\xffabx\xfe\xfe<|end|>y<?>")
    base = write("base.txt", "a\nb\n\ufffd\n")
    arguments = ["--base", "characters", "--base-vocabulary", str(base), "--min-frequency", "2"]
    arguments += ["--special", "<|end|>", "--special", "<?>", "--unknown-token", "<?>", "--encoding", "bytes"]
    assert cli.main(["train", str(path), *arguments]) == 0
    assert capsys.readouterr().err.splitlines()[:-1] == [
        "3 byte sequences were not UTF-8 and became U+FFFD: merging begins with characters.",
        "2 characters are not in the base vocabulary and became <?>.",
        "3 special tokens were cut out of the text.",
    ]
    assert cli.main(["train", str(path), *arguments, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_word_counts_are_a_corpus(write, merges_of, capsys):
    counts = write("words.tsv", "abc\t5\n bc\t2\n")
    corpus = Corpus.from_counts(counts)
    assert merges_of("--counts", counts, "--min-frequency", 2) == merges_by_core(corpus, min_frequency=2)
    assert cli.main(["train", "--counts", str(counts), "--vocab-size", "257", "--pattern", "gpt2"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "words.tsv: counts of 2 words."
    assert told[1].endswith("21 -> 14 tokens.")


def test_word_counts_come_after_the_texts(write, merges_of):
    text, first, second = write("text", "xyxy"), write("a.tsv", "abc\t2\n"), write("b.jsonl", '["cd", 2]\n')
    sources = Corpus.from_files([text]).sources + Corpus.from_counts(first).sources + Corpus.from_counts(second).sources
    expected = merges_by_core(Corpus(sources), min_frequency=2)
    assert expected[0][:2] == list(b"xy")
    assert merges_of("--counts", first, text, "--counts", second, "--min-frequency", 2) == expected


def test_a_training_without_input_is_wrong_usage(capsys):
    assert cli.main(["train", "--min-frequency", "2"]) == 2
    assert capsys.readouterr().err.endswith("the following arguments are required: FILE or --counts\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--base", "letters"], "usage: "),
        (["--special-placement", "middle"], "usage: "),
        (["--held-out", "some"], "usage: "),
    ],
)
def test_unknown_choices_are_wrong_usage(text, capsys, arguments, words):
    assert cli.main(["train", text, "--min-frequency", "2", *arguments]) == 2
    assert capsys.readouterr().err.startswith(words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--pattern", "(a"], "The pattern"),
        (["--unknown-token", "<?>"], "An unknown token needs base characters: "),
        (
            ["--base", "characters", "--unknown-token", "<?>"],
            'The unknown token "<?>" must be one of the special tokens: add --special "<?>"',
        ),
        (["--special", ""], "Special tokens must not contain an empty string."),
        (["--special", "<a>", "--special", "<a>"], 'Special tokens must not contain "<a>" twice.'),
        (["--special", "a"], 'Special token "a" is already a base token'),
        (["--special", "<a>", "--vocab-size", "257"], "Vocabulary size must be greater than 257 (256 bytes and 1 "),
        (["--base", "characters", "--vocab-size", "28"], "Vocabulary size must be greater than 28 (28 characters)."),
        (["--held-out", "1"], "The held-out share must be at least 0 and less than 1, not 1.0."),
        (["--held-out", "nan"], "The held-out share must be "),
        (["--held-out", "0.5"], "The corpus has 5 lines, and holding out a share needs at least 20"),
        (["--counts", "nowhere.tsv"], "nowhere.tsv: no such file or folder."),
    ],
)
def test_an_impossible_training_gives_the_core_error(text, capsys, arguments, words):
    assert cli.main(["train", text, "--min-frequency", "2", *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"tokstudio: {words}")


def test_word_counts_that_are_wrong_are_named(write, capsys):
    assert cli.main(["train", "--counts", str(write("words.tsv", "a\t1\nb\t-1\n")), "--min-frequency", "2"]) == 1
    assert capsys.readouterr().err == "tokstudio: words.tsv: line 2: the count -1 must be at least 1.\n"


def test_a_character_outside_the_base_vocabulary_is_named(text, write, capsys):
    base = write("base.txt", "T\n\\n\n")
    arguments = ["--base", "characters", "--base-vocabulary", str(base), "--min-frequency", "2"]
    assert cli.main(["train", text, *arguments]) == 1
    assert "o" in capsys.readouterr().err


def test_the_help_names_the_choices_of_the_core(capsys):
    assert cli.main(["train", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{{{','.join(BASES)}}}" in shown
    assert f"{{{','.join(PLACEMENTS)}}}" in shown
    assert ", ".join(NAMES) in shown


def test_a_special_token_of_invalid_text_is_refused(text, capsys):
    assert cli.main(["train", text, "--vocab-size", "300", "--special", "\udcff"]) == 1
    assert capsys.readouterr().err == 'tokstudio: --special: "\\udcff" is not UTF-8.\n'


def test_word_counts_come_from_files(capsys):
    assert cli.main(["train", "--counts", "-", "--vocab-size", "300"]) == 1
    assert "standard input is for text" in capsys.readouterr().err


def test_special_tokens_in_word_counts_are_reported(write, capsys):
    counts = write("counts.tsv", "<|e|>\t10\nab<|e|>\t2\nabc\t5\n")
    assert cli.main(["train", "--counts", str(counts), "--vocab-size", "260", "--special", "<|e|>"]) == 0
    assert "12 special tokens were cut out" in capsys.readouterr().err


def test_a_base_vocabulary_file_has_a_size_limit(text, write, monkeypatch, capsys):
    monkeypatch.setattr(alphabet, "_LARGEST", 10)
    arguments = ["--base", "characters", "--base-vocabulary", str(write("base.txt", "a\nb\n" * 3))]
    assert cli.main(["train", text, *arguments, "--min-frequency", "2"]) == 1
    assert capsys.readouterr().err == "tokstudio: base.txt: it is too large: at most 10 bytes are read.\n"
