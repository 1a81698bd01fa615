"""What the commands print of nothing, of one thing and of two: numbers and nouns agree."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from tests.wrong_numbers import wrong_numbers
from tokstudio.cli import main


@pytest.fixture
def any_code(tmp_path, monkeypatch, capsys):
    """Runs a command in the test's folder, whatever it ends with: gives its code and what it printed."""
    monkeypatch.chdir(tmp_path)

    def command(words):
        code = main(words.split())
        return code, *capsys.readouterr()

    return command


@pytest.mark.parametrize("wrong", ["1 tokens left", "has 1 merges.", "1 are one token", "of 2 token.", "0 byte"])
def test_wrong_numbers_are_found(wrong):
    assert wrong_numbers(wrong)


@pytest.mark.parametrize("right", ["1 token", "0 tokens", "2 byte tokens", "21 tokens", "1.1 bytes", "0 bytes, 2 runs"])
def test_right_numbers_pass(right):
    assert not wrong_numbers(right)


@pytest.mark.parametrize(("text", "size"), [("a", 256), ("aa", 257), ("aab\naab\n", 258), ("ab", 257)])
def test_commands_count_nothing_one_thing_and_two_in_words_that_agree(any_code, write, text, size):
    write("a.txt", text)
    write("ids.txt", "97")
    commands = [
        f"train a.txt --vocab-size {size} --pattern none --export huggingface=tokenizer.json --project p.tokstudio",
        "inspect tokenizer.json",
        "inspect p.tokstudio",
        "encode a.txt --tokenizer tokenizer.json",
        "decode ids.txt --tokenizer tokenizer.json",
        "compare tokenizer.json --texts a.txt",
        "convert tokenizer.json there.model --format minbpe",
        "count a.txt --out counts.bin --pattern gpt2",
        "prune tokenizer.json --vocab-size 256 --export huggingface=pruned.json",
        "extend tokenizer.json a.txt --vocab-size 260",
    ]
    for command in commands:
        code, out, err = any_code(command)
        assert wrong_numbers(out + err) == [], command
        assert code == 0 or err, command
