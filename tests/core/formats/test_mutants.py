"""Two hundred damaged files of each readable format: each is read, or refused in one sentence."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import random

import pytest

from tests.core.formats.file_mutants import mutant_of_bytes, mutant_of_lines, mutant_of_values, read_or_refused
from tests.core.formats.huggingface.test_converted import bert, pair
from tests.core.formats.sentencepiece.test_reader import small_model
from tests.core.formats.trained import (
    everything,
    gpt2_pair,
    ranks_of,
    settings_of,
    tiktoken_lines,
    trained,
    with_specials,
)
from tests.core.new_content import give
from tests.processes import no_processes
from tests.times import TIMES
from tokstudio import save

MUTANTS = 200 * TIMES


def huggingface(folder):
    save(with_specials("gpt2", merges=20), folder / "tokenizer.json")
    return folder / "tokenizer.json"


def gpt2(folder):
    vocabulary, merges = gpt2_pair(trained("banana bandana", 8), ("<|endoftext|>", "<s>"))
    (folder / "vocab.json").write_bytes(vocabulary)
    (folder / "merges.txt").write_bytes(merges)
    return folder / "merges.txt"


def gpt2_vocabulary(folder):
    return gpt2(folder).with_name("vocab.json")


def tiktoken(folder):
    content = tiktoken_lines(ranks_of(trained("banana bandana", 12)) | {b"xyz": 400, b"xyza": 401})
    content += b"= 402\n"
    (folder / "ranks.tiktoken").write_bytes(content)
    return folder / "ranks.tiktoken"


def minbpe(folder):
    save(trained("banana bandana", 9, pattern="gpt2", special_tokens=["<s>"]), folder / "tokenizer.model", "minbpe")
    return folder / "tokenizer.model"


def sentencepiece(folder):
    (folder / "tokenizer.model").write_bytes(small_model().SerializeToString())
    return folder / "tokenizer.model"


def classic(folder):
    save(everything(), folder, "classic")
    return folder / "merges.json"


def word_piece(folder):
    return bert(folder, do_lower_case=False, strip_accents=None, cls_token="[CLS]") / "vocab.txt"


def word_piece_settings(folder):
    return word_piece(folder).with_name("tokenizer_config.json")


def word_ends(folder):
    return pair(folder, True) / "merges.txt"


def word_ends_vocabulary(folder):
    return pair(folder, False) / "vocab.json"


THROUGH_THEIR_LIBRARY = (huggingface, word_piece, word_piece_settings, word_ends, word_ends_vocabulary)
FILES = [
    (huggingface, mutant_of_values),
    (huggingface, mutant_of_bytes),
    (gpt2_vocabulary, mutant_of_values),
    (gpt2, mutant_of_lines),
    (gpt2, mutant_of_bytes),
    (tiktoken, mutant_of_lines),
    (tiktoken, mutant_of_bytes),
    (minbpe, mutant_of_lines),
    (minbpe, mutant_of_bytes),
    (sentencepiece, mutant_of_bytes),
    (word_piece, mutant_of_lines),
    (word_piece, mutant_of_bytes),
    (word_piece_settings, mutant_of_values),
    (word_piece_settings, mutant_of_bytes),
    (word_ends, mutant_of_lines),
    (word_ends_vocabulary, mutant_of_values),
    (classic, mutant_of_values),
    (classic, mutant_of_bytes),
]


@pytest.mark.parametrize(("make", "mutate"), FILES)
def test_a_mutant_is_read_or_refused_in_one_sentence(tmp_path, monkeypatch, make, mutate):
    if make in THROUGH_THEIR_LIBRARY:
        # Here, this library cannot end the process, and need not be loaded again for each mutant.
        no_processes(monkeypatch)
    path = make(tmp_path)
    whole, chance = path.read_bytes(), random.Random(f"{make.__name__} {mutate.__name__}")
    assert read_or_refused(path) is not None
    results = []
    for _ in range(MUTANTS):
        give(path, mutate(whole, chance))
        results.append(read_or_refused(path) is None)
    assert True in results


def test_a_mutant_is_the_same_each_time():
    whole = str(settings_of(everything())).encode()
    assert mutant_of_bytes(whole, random.Random(1)) == mutant_of_bytes(whole, random.Random(1)) != whole
