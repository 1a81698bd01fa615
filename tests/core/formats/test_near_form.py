"""The near form of BoundlessBPE: what it is, what it loses, and how many words differ."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re

import pytest
import regex
from tokenizers import Tokenizer as Theirs

from tests.core.training.test_boundless import boundless
from tokstudio import Corpus, load, save, train
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import finish
from tokstudio.core.formats.saving import fit
from tokstudio.core.formats.writers import difference_work, near_form
from tokstudio.core.pretokenization.patterns import NAMES, REGEX

# " the" is a word, and the beginning of others that are not one token each.
TEXT = (
    "of the man in the house. of the men, of the moon in the theatre of them. It's of the self.made kind in 1984.\n"
    * 30
)
OTHER = "of the themes in the thesis of the theory: of theoretical men, of the 12 moons. it's of the"


def trained(pattern="gpt2", size=330):
    return train(Corpus.from_text(TEXT), boundless(size, pattern=pattern))


def tokens_with_places(tokenizer, text):
    found, at = [], 0
    for token in tokenizer.encode(text):
        raw = tokenizer.tokens[token]
        found.append((at, at + len(raw), token))
        at += len(raw)
    return found


@pytest.mark.parametrize("pattern", [name for name in NAMES if name != "none"])
def test_the_library_encodes_as_the_near_form_does(tmp_path, pattern):
    tokenizer = trained(pattern)
    near = near_form(tokenizer)
    assert near.supermerges is None
    assert sorted(near.merges.tolist()) == sorted(tokenizer.merges.tolist())
    assert list(near.tokens) == list(tokenizer.tokens)
    report = save(tokenizer, tmp_path / "tokenizer.json", accept_loss=True, sample=TEXT)
    assert report.proof.startswith("the near form is identical over")
    theirs, again = Theirs.from_file(str(tmp_path / "tokenizer.json")), load(tmp_path / "tokenizer.json")
    for text in (TEXT, OTHER):
        assert theirs.encode(text).ids == near.encode(text) == again.encode(text)
    joined = [token for token in near.encode(TEXT) if b"of the" in near.tokens[token]]
    assert joined, "supermerges are used"


def test_words_that_differ_are_counted():
    tokenizer = trained()
    near = near_form(tokenizer)
    ours, theirs = tokens_with_places(tokenizer, OTHER), tokens_with_places(near, OTHER)
    alone = set(ours) ^ set(theirs)
    words = [match.span() for match in regex.finditer(REGEX["gpt2"], OTHER)]
    different = [
        OTHER[begin:end] for begin, end in words if any(first < end and begin < last for first, last, _ in alone)
    ]
    assert different, "the text has such words"
    found = finish(difference_work(tokenizer, near, OTHER))
    assert (found.different, found.words) == (len(different), len(words))
    assert different[0].strip() in found.example
    none = finish(difference_work(tokenizer, near, ""))
    assert (none.different, none.words, none.example) == (0, 0, "")


def test_the_loss_is_said_and_must_be_accepted(tmp_path):
    tokenizer = trained()
    [loss] = fit(tokenizer, "huggingface", sample=OTHER).losses
    assert re.search(
        r"near form.*Of \d+ words in a sample of the text, \d+ \(\d+\.\d\s%\) get other tokens, as in “", loss
    )
    [loss] = fit(tokenizer, "huggingface").losses
    assert "sample" not in loss
    with pytest.raises(FormatError, match="near form"):
        save(tokenizer, tmp_path / "tokenizer.json")
    assert not (tmp_path / "tokenizer.json").exists()


@pytest.mark.parametrize("name", ["tiktoken", "gpt2", "minbpe", "classic"])
def test_other_formats_have_no_near_form(name):
    assert "cannot hold supermerges" in fit(trained(), name).problem


def test_a_pattern_of_ones_own_has_no_near_form():
    tokenizer = trained(r" ?\w+|\W")
    assert tokenizer.supermerges is not None
    assert near_form(tokenizer) is None
    assert "cannot hold supermerges" in fit(tokenizer, "huggingface").problem


def test_before_the_first_supermerge_nothing_is_lost(tmp_path):
    tokenizer = trained().at(3)
    assert tokenizer.supermerges is None
    assert fit(tokenizer, "huggingface").losses == ()
