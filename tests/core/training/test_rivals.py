"""Two tie rules promise the merges of two other libraries; here the libraries themselves say what those are.

A third one promises what a plain recount gives. Encoding is held against other libraries in
`tests/core/tokenizer/test_rivals.py`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.reference import named_pattern, train_slowly_with_pattern
from tests.core.texts import few_examples
from tokstudio import Corpus, TrainingConfig, train
from tokstudio.core.text.byte_level import to_bytes

rustbpe = pytest.importorskip("rustbpe")
tokenizers = pytest.importorskip("tokenizers")

SCRIPTS = """\
The quick brown fox jumps over the lazy dog, and the dog sleeps on; the fox jumps again.
Der schnelle braune Fuchs springt über den faulen Hund, und der Hund schläft weiter.
Быстрая коричневая лиса прыгает через ленивую собаку, а собака спит дальше.
素早い茶色の狐がのろまな犬を飛び越え、犬はまだ眠っている。狐はまた飛び越える。
敏捷的棕色狐狸跳过懒狗，狗还在睡觉。狐狸又跳过去了。
빠른 갈색 여우가 게으른 개를 뛰어넘고, 개는 계속 잔다.
الثعلب البني السريع يقفز فوق الكلب الكسول، والكلب ينام.
def fox(dog):  # 🦊🐶
    return [jump(dog) for _ in range(3)] + [dog.sleep(), dog.sleep()]
"""
MANY_SCRIPTS = (Path(__file__).parents[2] / "data" / "many-scripts.txt").read_text(encoding="utf-8")
PATTERNS = ("whitespace", "gpt2", "cl100k", "llama3", "qwen2", "o200k")
TO_THE_END = 100_000  # more tokens than the text gives


def merged(texts, tie_break, size, pattern="none", **more):
    """Left and right of every merge, as bytes."""
    config = TrainingConfig(vocabulary_size=size, tie_break=tie_break, pattern=pattern, **more)
    tokenizer = train(Corpus.from_texts(texts), config)
    tokens = tokenizer.tokens
    return [(tokens[left], tokens[right]) for left, right in tokenizer.merges.tolist()]


def from_huggingface(texts, size, pattern="none"):
    """What `tokenizers` learns; without a pattern each text is one sequence."""
    steps = [tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    if pattern != "none":
        # Its regular expressions read {1,3}+ as a group that repeats.
        expression = tokenizers.Regex(named_pattern(pattern).replace("{1,3}+", "{1,3}"))
        steps.insert(0, tokenizers.pre_tokenizers.Split(expression, "isolated"))
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(steps)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    model.train_from_iterator(texts, trainer)
    merges = json.loads(model.to_str())["model"]["merges"]
    return [(to_bytes(left), to_bytes(right)) for left, right in merges]


def from_rustbpe(texts, size, pattern="none"):
    """The tokens that rustbpe learns, in order; without a pattern each text is one sequence."""
    model = rustbpe.Tokenizer()
    expression = r"[\s\S]+" if pattern == "none" else named_pattern(pattern)
    model.train_from_iterator(iter(texts), size, pattern=expression)
    ranks = sorted(model.get_mergeable_ranks(), key=lambda entry: entry[1])
    return [bytes(token) for token, _ in ranks[256:]]


def from_recount(texts, tie_break, size, pattern):
    """What the plain recount learns from the pre-tokens."""
    documents = [text.encode() for text in texts]
    run = train_slowly_with_pattern(documents, named_pattern(pattern), vocabulary_size=size, tie_break=tie_break)
    return [(run.tokens[left], run.tokens[right]) for left, right in run.merges]


def joined(merges):
    return [left + right for left, right in merges]


@pytest.mark.parametrize("texts", [[SCRIPTS], SCRIPTS.splitlines()])
def test_both_without_a_pattern(texts):
    theirs = from_huggingface(texts, 450)
    assert len(theirs) == 194
    assert merged(texts, "huggingface", 450) == theirs
    assert joined(merged(texts, "lowest-id", 450)) == from_rustbpe(texts, 450)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("texts", [[MANY_SCRIPTS], MANY_SCRIPTS.splitlines(keepends=True)])
def test_both_with_a_pattern(pattern, texts):
    """Merges down to those that occur once; the first of them are those of every smaller vocabulary."""
    assert merged(texts, "huggingface", TO_THE_END, pattern) == from_huggingface(texts, TO_THE_END, pattern)
    assert joined(merged(texts, "lowest-id", TO_THE_END, pattern)) == from_rustbpe(texts, TO_THE_END, pattern)


@pytest.mark.parametrize(("pattern", "tie_break"), [("gpt2", "bytes"), ("o200k", "first")])
def test_the_recount_with_a_pattern(pattern, tie_break):
    theirs = from_recount([MANY_SCRIPTS], tie_break, 500, pattern)
    assert len(theirs) == 244
    assert merged([MANY_SCRIPTS], tie_break, 500, pattern) == theirs


def test_the_recount_on_documents_between_special_tokens():
    """As the CS336 exercise has it: the special token stands between documents, and is in no pre-token."""
    special = "<|endoftext|>"
    documents = MANY_SCRIPTS.split("\n\n")
    theirs = from_recount(documents, "bytes", 400, "gpt2")
    ours = merged([special.join(documents)], "bytes", 401, "gpt2", special_tokens=[special])
    assert ours == theirs


# Runs of one letter overlap themselves: "aaa" holds "aa" twice and is merged once.
runs = st.tuples(st.sampled_from("ab"), st.integers(1, 40)).map(lambda run: run[0] * run[1])
small = st.lists(
    st.one_of(st.text("abc é", min_size=1, max_size=30), st.text("ab", min_size=1, max_size=40), runs),
    min_size=1,
    max_size=5,
)
# Few words, so that they repeat and tie.
words = st.sampled_from(
    ["ab", "aab", "abab", "ba", "aaaa", "é", "日本", "12345", "'s", "B", "!?", "!!", "\n", " ", "  "]
)
sentences = st.lists(st.one_of(words, words.map(" ".__add__)), max_size=40).map("".join)
repeated = st.lists(sentences.filter(bool), min_size=1, max_size=4)
common = st.sampled_from(["gpt2", "cl100k"])


@few_examples
@given(small, st.integers(257, 290))
def test_both_on_overlaps_and_ties(texts, size):
    assert merged(texts, "huggingface", size) == from_huggingface(texts, size)
    assert joined(merged(texts, "lowest-id", size)) == from_rustbpe(texts, size)


@few_examples
@given(repeated, common, st.integers(257, 300))
def test_all_on_words_that_repeat(texts, pattern, size):
    assert merged(texts, "huggingface", size, pattern) == from_huggingface(texts, size, pattern)
    assert joined(merged(texts, "lowest-id", size, pattern)) == from_rustbpe(texts, size, pattern)
    assert merged(texts, "bytes", size, pattern) == from_recount(texts, "bytes", size, pattern)


def real_text(shared, place):
    """Of one language after another, or of the shuffle of 46 and of programs."""
    if place == "help":
        texts = [file.read_bytes()[:7_000] for file in sorted((shared / "corpora" / "help").glob("*.txt"))]
        return b"".join(texts).decode("utf-8", "ignore")
    with lzma.open(shared / "corpora" / "mixed_10mb.txt.xz") as file:
        file.read(place)
        return file.read(50_000).decode("utf-8", "ignore")


@pytest.mark.shared_data
@pytest.mark.parametrize(("place", "pattern"), [(0, "gpt2"), (4_000_000, "cl100k"), ("help", "o200k")])
def test_huggingface_and_rustbpe_on_real_text_merged_to_the_end(shared, pattern, place):
    text = real_text(shared, place)
    assert merged([text], "huggingface", 10**6, pattern) == from_huggingface([text], 10**6, pattern)
    assert joined(merged([text], "lowest-id", 10**6, pattern)) == from_rustbpe([text], 10**6, pattern)
