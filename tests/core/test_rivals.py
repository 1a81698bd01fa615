"""Two tie rules promise the merges of two other libraries; here the libraries themselves say what those are."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from texts import patient

from tokstudio.core.byte_level import to_bytes
from tokstudio.core.corpus import Corpus
from tokstudio.core.run import TrainingConfig
from tokstudio.core.trainer import train

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


def ours(texts, tie_break, size):
    """Left and right of every merge, as bytes."""
    tokenizer = train(Corpus.from_texts(texts), TrainingConfig(vocabulary_size=size, tie_break=tie_break))
    tokens = tokenizer.tokens
    return [(tokens[left], tokens[right]) for left, right in tokenizer.merges.tolist()]


def from_huggingface(texts, size):
    """What `tokenizers` learns where each text is one sequence."""
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    model.train_from_iterator(texts, trainer)
    merges = json.loads(model.to_str())["model"]["merges"]
    return [(to_bytes(left), to_bytes(right)) for left, right in merges]


def from_rustbpe(texts, size):
    """The tokens that rustbpe learns where each text is one sequence, in order."""
    model = rustbpe.Tokenizer()
    model.train_from_iterator(iter(texts), size, pattern=r"[\s\S]+")
    ranks = sorted(model.get_mergeable_ranks(), key=lambda entry: entry[1])
    return [bytes(token) for token, _ in ranks[256:]]


def joined(merges):
    return [left + right for left, right in merges]


def test_huggingface_on_a_text_in_many_scripts():
    theirs = from_huggingface([SCRIPTS], 600)
    assert len(theirs) == 344
    assert ours([SCRIPTS], "huggingface", 600) == theirs


def test_huggingface_on_many_documents():
    texts = SCRIPTS.splitlines()
    theirs = from_huggingface(texts, 450)
    assert ours(texts, "huggingface", 450) == theirs


def test_rustbpe_on_a_text_in_many_scripts():
    theirs = from_rustbpe([SCRIPTS], 600)
    assert len(theirs) == 344
    assert joined(ours([SCRIPTS], "lowest-id", 600)) == theirs


def test_rustbpe_on_many_documents():
    texts = SCRIPTS.splitlines()
    assert joined(ours(texts, "lowest-id", 450)) == from_rustbpe(texts, 450)


# Runs of one letter overlap themselves: "aaa" holds "aa" twice and is merged once.
runs = st.tuples(st.sampled_from("ab"), st.integers(1, 40)).map(lambda run: run[0] * run[1])
small = st.lists(
    st.one_of(st.text("abc é", min_size=1, max_size=30), st.text("ab", min_size=1, max_size=40), runs),
    min_size=1,
    max_size=5,
)


@settings(patient, max_examples=200)
@given(small, st.integers(257, 290))
def test_huggingface_on_overlaps_and_ties(texts, size):
    theirs = from_huggingface(texts, size)
    assert ours(texts, "huggingface", size) == theirs


@settings(patient, max_examples=200)
@given(small, st.integers(257, 290))
def test_rustbpe_on_overlaps_and_ties(texts, size):
    theirs = from_rustbpe(texts, size)
    assert joined(ours(texts, "lowest-id", size)) == theirs
