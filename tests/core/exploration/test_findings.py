"""What the rules find in a corpus, and the tokens that live there, against a recount."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from base64 import b64encode
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import example, given, settings

from tests.core.exploration.recount import by_line, documents_of, encoded
from tests.core.exploration.test_dispersion import KINDS, corpora, corpus_of, tokenizer_of
from tokstudio import ConfigError, Corpus, TrainingConfig, explore, train
from tokstudio.core.analysis.baselines import ByteTokenizer
from tokstudio.core.base.progress import finish
from tokstudio.core.base.resources import sample_rows
from tokstudio.core.corpus.rules import marks_work
from tokstudio.core.corpus.source import Source

RULES = ("duplicates", "repeated-lines", "control")
WORDS = [
    "the", "river", "runs", "past", "a", "mill", "and", "the", "old", "bridge", "where", "boats", "wait", "for", "the",
    "evening", "tide",
]  # fmt: skip


def prose(seed: int, lines: int = 12) -> str:
    random = Random(seed)
    return "".join(" ".join(random.choices(WORDS, k=9)) + f" {random.randrange(1000)}.\n" for _ in range(lines))


def lives_in(tokenizer, corpus, marked) -> set[int]:
    """The tokens with 90 % of their uses in marked documents and lines."""
    places = set(zip(marked.source.tolist(), marked.document.tolist(), marked.line.tolist(), strict=True))
    inside, every, documents = Counter(), Counter(), iter(documents_of(corpus))
    for source, text in enumerate(corpus.sources):
        for number in range(text.documents):
            document = next(documents)
            every.update(encoded(tokenizer, document))
            for line, ids in by_line(tokenizer, document).items():
                if {(source, number, line), (source, number, -1)} & places:
                    inside.update(ids)
    return {token for token, uses in every.items() if inside[token] >= 0.9 * uses}


# Where the tokens of each kind of tokenizer are is held in `test_dispersion`.
@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=8)
@given(texts=corpora)
@example(texts=([b"the cat"] * 10, []))  # nine of ten, which is just enough
@example(texts=(["".join(f"the cat\nand {number} dog\n" for number in range(20)).encode()], []))
def test_tokens_that_live_there_equal_a_recount(name, texts):
    tokenizer, corpus = tokenizer_of(name), corpus_of(*texts)
    found = {finding.rule: finding for finding in explore(corpus, tokenizer).findings(RULES)}
    for rule in RULES:
        marked = finish(marks_work(corpus, rule))
        assert (rule in found) == (len(marked) > 0)
        if rule in found:
            finding = found[rule]
            assert set(finding.tokens.tolist()) == lives_in(tokenizer, corpus, marked)
            assert finding.bytes == marked.bytes.sum()
            assert finding.lines == (0 if rule == "duplicates" else len(marked))
            assert finding.documents == len(set(zip(marked.source.tolist(), marked.document.tolist(), strict=True)))


@pytest.fixture(scope="module")
def rubbish():
    """Forty documents of prose, one of them twice, one with a blob, and one with words that no other has."""
    blob = b64encode(Random(1).randbytes(6000)).decode()
    texts = [prose(seed) for seed in range(40)]
    texts[11] += blob + "\n"
    texts[30] += "xylograph quetzal wombat javelin fjordic sphinx kumquat zephyr\n" * 60
    corpus = Corpus((Source.from_texts([*texts, texts[3]], "forum"),))
    return corpus, train(corpus, TrainingConfig(vocabulary_size=700, pattern="cl100k"))


def test_the_largest_of_many_is_among_the_examples():
    lines = [f"{letter * 30}\n" for letter in "abcdefg"]
    lines[4] = "zorblax " * 50 + "\n"
    [found] = explore(Corpus.from_texts(lines)).findings(["repetition"])
    assert [example.document for example in found.examples] == [0, 4, 6]
    [found] = explore(Corpus.from_texts(lines[:4])).findings(["repetition"])
    assert [example.document for example in found.examples] == [0, 2, 3], "else one in the middle"
    [found] = explore(Corpus.from_texts(lines[:1])).findings(["repetition"])
    assert len(found.examples) == 1


def test_rubbish_is_found_with_the_tokens_that_live_from_it(rubbish):
    found = {finding.rule: finding for finding in explore(*rubbish).findings()}
    blobs, owners, tokens = found["blobs"], found["owners"], rubbish[1].tokens
    assert (blobs.lines, blobs.documents, blobs.examples[0].document, blobs.examples[0].line) == (1, 1, 11, 12)
    assert blobs.examples[0].place == "forum, document 12, line 13"
    assert len(blobs.tokens) > 20
    assert {example.document for example in owners.examples} == {11, 30}
    assert {tokens[token].strip() for token in owners.tokens.tolist()} >= {b"xylograph", b"quetzal", b"kumquat"}
    assert found["duplicates"].documents == 1
    assert found["duplicates"].examples[0].document == 40
    assert [example.document for example in owners.examples] == [11, 30]
    assert owners.bytes == sum(len(list(rubbish[0].iter_documents())[row]) for row in (11, 30))


def test_bytes_and_special_tokens_that_one_document_has_once_have_no_owner():
    rare = bytes(range(1, 9)).decode() + "<|a|><|b|>"
    texts = [prose(seed, lines=2) for seed in range(30)]
    texts[7] += rare
    corpus = Corpus.from_texts(texts)

    def owners(base: str) -> list[int]:
        special = ("<|a|>", "<|b|>")
        config = TrainingConfig(
            vocabulary_size=300, pattern="cl100k", min_frequency=2, base=base, special_tokens=special
        )
        here = explore(corpus, tokenizer := train(corpus, config))
        once = [token for token, uses in enumerate(here.tokens["uses"].tolist()) if uses == 1]
        assert {tokenizer.tokens[token] for token in once} >= {bytes([byte]) for byte in range(1, 9)}
        found = [each.marked.document.tolist() for each in here.findings() if each.rule == "owners"]
        return found[0] if found else []

    assert owners("bytes") == []
    # A character is in the vocabulary because a document has it.
    assert owners("characters") == [7]
    assert not [each for each in explore(corpus, ByteTokenizer()).findings() if each.rule == "owners"]


def test_without_a_tokenizer_rules_find_the_same_text(rubbish):
    corpus, tokenizer = rubbish
    bare = explore(corpus).findings()
    full = [each for each in explore(corpus, tokenizer).findings() if each.rule != "owners"]
    assert [(each.rule, each.bytes) for each in bare] == [
        (each.rule, each.bytes) for each in full if each.rule != "owners"
    ]
    assert not any(len(each.tokens) for each in bare)


def test_an_unknown_rule_is_refused(rubbish):
    with pytest.raises(ConfigError, match="no rule"):
        explore(rubbish[0]).findings(["dirt"])


def test_the_only_owner_of_the_sample_is_who_repeats_words_of_his_own():
    rows = sample_rows("rubbish")
    corpus = Corpus((replace(Source.from_texts(rows, "rubbish"), is_rows=True),))
    tokenizer = train(corpus, TrainingConfig(vocabulary_size=1000))
    found = {each.rule: each for each in explore(corpus, tokenizer).findings()}
    planted = {"duplicates", "blobs", "repetition", "mojibake", "repeated-lines", "owners"}
    # A duplicate is a near duplicate, too.
    assert found.keys() == planted | {"near-duplicates"}
    owner = found["owners"].marked.document.tolist()
    assert owner == [number for number, row in enumerate(rows) if "quobblefrindt" in row]
    assert len(owner) == 1
    assert len(found["owners"].tokens) > 5


def test_findings_of_a_source_are_those_that_all_sources_give_there(rubbish):
    corpus, tokenizer = rubbish
    earlier = bytes(next(corpus.iter_documents()))
    sources = (Source.from_texts([earlier, "a word\n"], "other"), *corpus.sources)
    here = explore(Corpus(sources), tokenizer)
    everywhere, found = here.findings(), here.findings(sources="forum")
    assert {each.rule for each in found} == {each.rule for each in everywhere}
    for each, of_all in zip(found, everywhere, strict=True):
        chosen = of_all.marked[of_all.marked.source == 1]
        assert each.marked.start.tolist() == chosen.start.tolist()
        assert {example.source for example in each.examples} == {1}
        assert each.bytes == chosen.bytes.sum()
    duplicates = {each.rule: each.documents for each in found}["duplicates"]
    assert duplicates == 2, "one equals a document of the other source"
    assert not here.findings(sources=0)
    with pytest.raises(ConfigError, match="no source"):
        here.findings(sources="nowhere")
