"""The report of an export, as it is saved beside the files."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from dataclasses import replace

import tokenizers

from tests.core.formats.trained import everything, shuffled, with_specials
from tokstudio import Corpus, TrainingConfig, __version__, save, train
from tokstudio.core.corpus.source import Source


def paragraphs(report):
    """What stands under each heading, in one line each."""
    first, *lines = report.text().splitlines()
    assert first == f"A tokenizer exported by TokStudio {__version__}"
    found, heading = {}, ""
    for line in filter(None, lines):
        if line.startswith(" "):
            found[heading] += " " + line.strip()
        else:
            heading = line
            found[heading] = ""
    return {heading: said.strip() for heading, said in found.items()}


def test_it_says_what_was_written_and_what_that_is(tmp_path):
    tokenizer = with_specials("cl100k")
    report = save(tokenizer, tmp_path)
    said = paragraphs(report)
    assert said["Format"] == "Hugging Face"
    for file in report.files:
        content = file.read_bytes()
        line = f"{file.name}: {len(content):,} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}"
        assert line in said["Files"]
    assert f"{len(tokenizer)} tokens: 256 bytes, {len(tokenizer.merges)} merges, 5 special tokens." in said["Tokenizer"]
    assert 'Pattern: "cl100k".' in said["Tokenizer"]
    assert '"<|end|>" 309' in said["Tokenizer"]
    assert tokenizer.run.corpus.sha256 in said["Tokenizer"]
    assert said["Lost"] == "Nothing."
    assert said["Proof"] == f"Read back: {report.proof}."
    assert report.snippet.strip().splitlines()[-1] in said["To load it"]
    assert f"tokenizers {tokenizers.__version__}" in said["Versions"]


def test_it_names_every_loss(tmp_path):
    report = save(shuffled(), tmp_path, "classic", accept_loss=True)
    said = paragraphs(report)
    assert said["Lost"] == " ".join(report.losses)
    assert "Trained on" not in said["Tokenizer"]


def test_a_table_has_nothing_to_prove_and_nothing_loads_it(tmp_path):
    said = paragraphs(save(everything(), tmp_path, "vocabulary-csv"))
    assert not said.keys() & {"Proof", "To load it", "Notes"}


def test_it_names_the_weights_of_the_sources(tmp_path):
    corpus = Corpus((Source.from_texts("banana " * 9, "a"), Source.from_texts("bandana " * 9, "b")))
    corpus = corpus.with_weights({"a": 2, "b": 0.125})
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=262, pattern="gpt2"))
    said = paragraphs(save(tokenizer, tmp_path))["Tokenizer"]
    assert "Trained on 135 bytes;" in said
    assert (
        'sources: "a" 2 (93.3\u00a0% of the text), "b" 0.125 (6.7\u00a0% of the text); the bytes are weighted.' in said
    )


def test_many_sources_and_those_of_a_folder_are_named_shortly(tmp_path):
    sources = [replace(Source.from_texts("banana " * 9, f"{n}"), group="/texts" if n < 3 else "") for n in range(25)]
    corpus = Corpus(tuple(sources)).with_weights({"texts": 3})
    said = paragraphs(save(train(corpus, TrainingConfig(vocabulary_size=258)), tmp_path))["Tokenizer"]
    assert '"texts" 3 (29.0\u00a0% of the text), "3" 1 (3.2\u00a0% of the text), "4" 1' in said
    assert '"21" 1 (3.2\u00a0% of the text) and 3 more; the bytes' in said
