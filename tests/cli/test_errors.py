"""What is wrong is said in one sentence, with exit code 1, and nothing is written."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import os

import pytest

FILES = {
    "en.txt": "the cat and the hat " * 40,
    "de.txt": "die Katze und der Hut " * 40,
    "wrong.tsv": "a\t1\nb\t-1\n",
    "base.txt": "T\n\\n\n",
    "notes.txt": "just some notes\n",
    "rows.jsonl": json.dumps({"text": "the cat", "lang": "en"}),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


STAGES = "--vocab-size 330 --algorithm superbpe --pattern gpt2 --transition 290"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train TEXT", "Set a vocabulary size, a minimum frequency, or both."),
        ("train TEXT --vocab-size 256", "Vocabulary size must be greater than 256."),
        ("train TEXT --vocab-size 300 --encoding klingon", "Unknown encoding 'klingon'"),
        ("train missing.txt --vocab-size 300", "missing.txt: no such file or folder.\n"),
        ("train TEXT EMPTY --vocab-size 300", "The name of a file is empty: give the path of a file or a folder.\n"),
        ("train TEXT --min-frequency 2 --pattern (a", "The pattern"),
        ("train TEXT --min-frequency 2 --base characters --unknown-token <?>", 'tokens: add --special "<?>"'),
        ("train TEXT --min-frequency 2 --special HALF", '--special: "\\udcff" is not UTF-8.\n'),
        ("train TEXT --min-frequency 2 --base characters --base-vocabulary base.txt", "o"),
        ("train TEXT --min-frequency 2 --held-out 0.5", "The corpus has 5 lines, and holding out a share needs at lea"),
        ("train TEXT --min-frequency 2 --counts nowhere.tsv", "nowhere.tsv: no such file or folder."),
        ("train --counts wrong.tsv --min-frequency 2", "wrong.tsv: line 2: the count -1 must be at least 1.\n"),
        ("train --counts - --vocab-size 300", "standard input is for text"),
        ("train rows.jsonl --join-values --vocab-size 257", "give the column that divides texts (split_by)"),
        ("train en.txt de.txt --min-frequency 2 --weight fr.txt=2", 'There is no source "fr.txt". The corpus has: "en'),
        ("train en.txt de.txt --min-frequency 2 --weight 2=2", "There is no source 2: the corpus has 2, counted from"),
        ("train en.txt --min-frequency 2 --weight en.txt=-1", "of en.txt must be a number from 0 to 1,000, not -1.0."),
        ("train TEXT --vocab-size 330 --algorithm superbpe --pattern gpt2", "SuperBPE needs a transition"),
        ("train TEXT --vocab-size 330 --algorithm superbpe --transition 290", "SuperBPE needs a pattern for its first"),
        (f"train TEXT {STAGES} --transition 330", "transition must be below the vocabulary size"),
        (f"train TEXT {STAGES} --max-words 0", "most words of a token must be at least 1"),
        (f"train TEXT {STAGES} --base characters", "SuperBPE needs bytes"),
        ("train TEXT --vocab-size 300 --transition 280", '"transition" can only be set for SuperBPE'),
        ("train TEXT --vocab-size 290 --algorithm picky --threshold 2", "from 0 to 1"),
        ("train en.txt de.txt --vocab-size 300 --algorithm parity --ratios de=0", "must be a number above 0"),
        ("train en.txt de.txt --vocab-size 300 --algorithm parity --parallel de=missing.txt", "missing.txt"),
        ("train en.txt de.txt --vocab-size 300 --algorithm parity --window 0", "The window must be at least 1"),
        ("train TEXT --vocab-size 300 --algorithm unigram --min-frequency 2", "only be set for the algorithm wordpiec"),
        ("train TEXT --vocab-size 300 --algorithm unigram --weight 0=0.5", "whole numbers"),
        ("train TEXT --vocab-size 300 --algorithm unigram --export gpt2=there", "Export it as huggingface."),
        ("train TEXT --vocab-size 300 --algorithm sentencepiece-bpe --export huggingface=x", "Export it as sentencep"),
        ("train TEXT --vocab-size 300 --algorithm sentencepiece-bpe --export merges-csv=x", "does not tell its merges"),
        ("train TEXT --vocab-size 9 --algorithm sentencepiece-bpe", "the vocabulary size must be at least"),
        ("inspect notes.txt", "notes.txt: not a tokenizer file TokStudio can read.\n"),
        ("convert TOKENIZER x.json --format huggingface --merges=51", "There is no merge 51"),
        ("convert TOKENIZER x.json --format huggingface --run a", "--run chooses a run of a project, but this is not"),
        ("encode --text a --tokenizer TOKENIZER --allow-special <|mask|>", 'There is no special token "<|mask|>".\n'),
        ("encode --text a --tokenizer none.json", "none.json: "),
        ("encode --text a --tokenizer TOKENIZER --out nowhere/ids.json", "ids.json: "),
        ("encode none.txt --tokenizer TOKENIZER", "none.txt: no such file or folder.\n"),
        ("compare bytes --texts en.txt de.txt --base fr", '--base: no text is named "fr"; the texts are en.txt, de.t'),
        ("compare bytes --texts en.txt --against gpt2", '--against: no tokenizer is named "gpt2"; the tokenizers a'),
        ("compare bytes --texts en.txt --figure premium", "--figure premium: say which text is the base with --base."),
        ("compare bytes --texts en.txt --csv missing/matrix.csv", "missing does not exist"),
        ("report nothing --texts en.txt --out missing/report.html", "missing does not exist"),
    ],
)
def test_a_sentence_says_what_is_wrong_and_nothing_is_written(folder, text, tokenizer, run, words, message):
    before = set(folder.iterdir())
    places = {"TEXT": text, "TOKENIZER": tokenizer, "HALF": "\udcff", "EMPTY": ""}
    said = run(1, [places.get(word, word) for word in words.split()])
    assert said.err.startswith("tokstudio: ")
    assert message in said.err
    assert (said.err.count("\n"), said.out) == (1, "")
    assert set(folder.iterdir()) == before


NOT_JSON, NO_LIST = "base.json: this is not JSON (", "base.json: a base vocabulary must be a JSON list of strings."


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("base.txt", b"a\n\nb\n", "base.txt: line 2 is empty. Write a line feed as \\n."),
        ("base.txt", b"", "base.txt: line 1 is empty."),
        ("base.txt", b"a\n\\x\n", "base.txt: line 2: \\x is not an escape. Write a backslash as \\\\."),
        ("base.txt", b"a\n\xff", "base.txt: byte 2 is not UTF-8."),
        ("base.txt", b"a\nb\na\n", 'The base vocabulary must not contain "a" twice.'),
        ("base.json", b"[", NOT_JSON),
        ("base.json", b"[" * 900, f"{NOT_JSON}nested too deeply)."),
        ("base.json", b"[" * 300 + b"]" * 300, f"{NOT_JSON}nested too deeply)."),
        ("base.json", b'["a", 1]', NO_LIST),
        ("base.json", b"{}", NO_LIST),
        ("base.json", b'["ab"]', "The base vocabulary has no characters."),
    ],
)
def test_an_invalid_base_vocabulary_is_an_error(text, tmp_path, run, name, content, words):
    (tmp_path / name).write_bytes(content)
    said = run(1, f"train {text} --base characters --min-frequency 2 --base-vocabulary", [tmp_path / name]).err
    assert said.startswith(f"tokstudio: {words}")


def test_a_base_vocabulary_that_is_too_large_is_not_read(text, write, run):
    os.truncate(write("base.txt", "a"), 10**8 + 1)  # which takes no place on the disk
    said = run(1, f"train {text} --base characters --min-frequency 2 --base-vocabulary base.txt").err
    assert said == "tokstudio: base.txt: it is too large: at most 100,000,000 bytes are read.\n"
