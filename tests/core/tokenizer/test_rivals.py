"""Our ids are those of the libraries that own the files: tiktoken for ranks, `tokenizers` for `tokenizer.json`."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
import lzma
from functools import cache
from pathlib import Path

import pytest
import regex
import tokenizers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.reference import named_pattern
from tokstudio import Corpus, TrainingConfig, load, save, train
from tokstudio.core.analysis.canonical import canonical_work
from tokstudio.core.base.progress import finish
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.text.byte_level import to_bytes

tiktoken = pytest.importorskip("tiktoken")

PATTERNS = ("none", "whitespace", "gpt2", "cl100k", "cl100k_right", "llama3", "qwen2", "o200k")
MANY_SCRIPTS = (Path(__file__).parents[2] / "data" / "many-scripts.txt").read_text(encoding="utf-8")
OPENAI = {
    "gpt2": {"<|endoftext|>": 50256},
    "cl100k": {
        "<|endoftext|>": 100257,
        "<|fim_prefix|>": 100258,
        "<|fim_middle|>": 100259,
        "<|fim_suffix|>": 100260,
        "<|endofprompt|>": 100276,
    },
}
# One begins another, one ends as another begins, one looks like words, one ends in white space.
SPECIALS = ("<|end|>", "<|end|><|end|>", "end|><|start", "the captain", "雨は", "\n\n\n ")

SPACES = " \t\n\r\x0b\x0c\x1c\x1f\x85\xa0\u1680\u2003\u200b\u2028\u2029\u202f\u3000\ufeff"
HARD = (
    torture_text(),
    MANY_SCRIPTS,
    MANY_SCRIPTS.replace("\n", "\r\n"),
    "".join(one + other for one in SPACES for other in SPACES),
    "".join(f"a{one}{other}b" for one in SPACES for other in SPACES) + " \n\n \t",
    "".join(
        f"{apostrophe}{letters} x{apostrophe}{letters}y"
        for apostrophe in "'’"
        for letters in ["s", "S", "ſ", "t", "Re", "VE", "ll", "D"]
    ),
    " ".join("1" * n + "a" * n + "!" * n for n in range(1, 12)),
    "\n ",
    " ",
    "",
)
# What patterns tell apart: letters of each kind and case, marks, numbers, white space, line ends, apostrophes, others.
characters = st.sampled_from(
    [*"aZsSſtTlLvVeEdDmM019 '’!./-_=\n\r\t\0", *SPACES, *"éßǅʰªא字あ한าे\u0301\u20e3½Ⅷ²٣०😀\u200d\ue000\U0010ffff"]
)
texts = st.one_of(st.text(characters, max_size=60), st.text(max_size=30))
anything = settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])


def expression(pattern):
    return r"[\s\S]+" if pattern == "none" else named_pattern(pattern)


@cache
def trained(pattern, specials=()):
    """1,000 merges learned from many scripts."""
    config = TrainingConfig(vocabulary_size=1256 + len(specials), pattern=pattern, special_tokens=specials)
    return train(Corpus.from_text(MANY_SCRIPTS), config)


@cache
def in_tiktoken(pattern, specials=()):
    """The trained tokenizer, as tiktoken has it."""
    tokenizer = trained(pattern, specials)
    return tiktoken.Encoding(
        "ours",
        pat_str=expression(pattern),
        mergeable_ranks={tokenizer.tokens[i]: i for i in range(1256)},
        special_tokens=dict(tokenizer.special_tokens),
    )


def by_tiktoken(encoding, text, allowed_special=()):
    return encoding.encode(text, allowed_special=set(allowed_special), disallowed_special=())


@cache
def openai(name, folder):
    """A tokenizer of OpenAI, by us and by tiktoken; nothing but the files is read."""
    if name == "gpt2":
        place, encoder = folder / "gpt2", json.loads((folder / "gpt2" / "encoder.json").read_text(encoding="utf-8"))
        ranks = {to_bytes(token): rank for token, rank in encoder.items() if token not in OPENAI[name]}
    else:
        place = folder / "cl100k_base.tiktoken"
        lines = [line.split() for line in place.read_bytes().splitlines()]
        ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    specials = OPENAI[name]
    theirs = tiktoken.Encoding(name, pat_str=expression(name), mergeable_ranks=ranks, special_tokens=specials)
    return load(place), theirs


def spoiled(text):
    """Bytes of the text with such in between that are not UTF-8, at the edges of words and inside characters."""
    wrong = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe3\x81", b"\x80"]
    data = text.encode()
    pieces = [data[at : at + 7] + wrong[at // 7 % len(wrong)] for at in range(0, len(data), 7)]
    return b"".join(pieces)


def piece_by_piece(encoding, pattern, data):
    """What bytes mean that are not UTF-8: each is a character that is no letter, number or white space."""
    pieces = regex.findall(f"(?:{pattern})", data.decode("utf-8", "surrogateescape"))
    return [i for piece in pieces for i in encoding._encode_single_piece(piece.encode("utf-8", "surrogateescape"))]


class TestOurOwnInTiktoken:
    @pytest.mark.parametrize("pattern", PATTERNS)
    def test_hard_texts(self, pattern, tmp_path):
        """Also as the other library reads the file that we write."""
        tokenizer, theirs = trained(pattern), in_tiktoken(pattern)
        save(tokenizer, tmp_path / "tokenizer.json")
        library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
        for text in HARD:
            expected = by_tiktoken(theirs, text)
            assert tokenizer.encode(text) == expected == library.encode(text).ids
            assert tokenizer.encode(text) == expected  # now that its words are known
            assert tokenizer.encode(text.encode()) == expected
            assert tokenizer.decode(expected) == text

        text = "\ud83d\ude00 \ud83d!\ude00 a"
        assert tokenizer.encode(text) == by_tiktoken(theirs, text)

    @anything
    @given(st.sampled_from(PATTERNS), texts)
    def test_any_text(self, pattern, text):
        assert trained(pattern).encode(text) == by_tiktoken(in_tiktoken(pattern), text)

    def test_every_character_there_is(self):
        # Planes 4 to 13 hold no characters, 15 and 16 those for private use: their edges speak for them.
        edges = ((0, 0xD800), (0xE000, 0x40400), (0xDFC00, 0xE0400), (0xEFC00, 0xF0400), (0x10FC00, 0x110000))
        text = "".join(f"{chr(code)}a 1" for first, end in edges for code in range(first, end))
        expected = in_tiktoken("o200k").encode_to_numpy(text, disallowed_special=())
        assert (trained("o200k").encode_array(text) == expected).all()

    @pytest.mark.parametrize("pattern", PATTERNS)
    def test_bytes_that_are_not_utf8(self, pattern):
        data = spoiled(MANY_SCRIPTS)
        expected = piece_by_piece(in_tiktoken(pattern), expression(pattern), data)
        assert trained(pattern).encode(data) == expected
        assert trained(pattern).decode_bytes(expected) == data

    @pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k"])
    @pytest.mark.parametrize("text", ["a" * 300_000, " " * 100_000, "\n" * 100_000, "ab1!\t" * 50_000, "雨" * 100_000])
    def test_long_runs(self, pattern, text):
        assert trained(pattern).encode(text) == by_tiktoken(in_tiktoken(pattern), text)


class TestSpecialTokens:
    # tiktoken tries special tokens in no fixed order, so that one may not begin another there.
    PLAIN = ("<|end|>", "the captain", "雨は")

    @pytest.mark.parametrize("allowed", [(), ("<|end|>",), ("the captain", "雨は"), PLAIN])
    @pytest.mark.parametrize("pattern", ["none", "gpt2", "cl100k"])
    def test_tiktoken_with_some_allowed(self, pattern, allowed):
        tokenizer, theirs = trained(pattern, self.PLAIN), in_tiktoken(pattern, self.PLAIN)
        for text in (MANY_SCRIPTS, "<|end|><|end|> <|end|>\n<|end|", "a <|end|>", "<|end|>", "\n <|end|> \n"):
            expected = by_tiktoken(theirs, text, allowed)
            assert tokenizer.encode(text, allowed_special=allowed) == expected
            assert tokenizer.decode(expected) == text

    @pytest.mark.parametrize("pattern", PATTERNS)
    def test_tokenizers_where_they_overlap(self, pattern, tmp_path):
        tokenizer = trained(pattern, SPECIALS)
        save(tokenizer, tmp_path / "tokenizer.json")
        theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
        mixed = "<|end|><|end|><|end|><|start<|end|><|start\n\n\n \n\n\n\n the captain雨は雨は<|end|"
        for text in (MANY_SCRIPTS, mixed, mixed[::-1], " ".join(SPECIALS), "".join(SPECIALS)):
            theirs.encode_special_tokens = False
            assert tokenizer.encode(text, allowed_special="all") == theirs.encode(text, add_special_tokens=False).ids
            theirs.encode_special_tokens = True  # as plain text, that is
            assert tokenizer.encode(text) == theirs.encode(text, add_special_tokens=False).ids


@pytest.mark.shared_data
@pytest.mark.parametrize("name", OPENAI)
class TestOpenAI:
    def test_special_tokens_and_vocabulary(self, shared, name):
        ours, theirs = openai(name, shared / "tokenizers")
        assert ours.special_tokens == OPENAI[name]
        assert [token for token in ours.tokens if token is not None] == [
            theirs.decode_single_token_bytes(i) for i, token in enumerate(ours.tokens) if token is not None
        ]
        assert len(ours) == len(theirs.token_byte_values()) + len(OPENAI[name])

    def test_hard_texts_and_some_real_text(self, shared, name):
        ours, theirs = openai(name, shared / "tokenizers")
        for text in (*HARD, "a" * 100_000, "abcde" * 20_000):
            assert ours.encode(text) == by_tiktoken(theirs, text)
        data = spoiled(MANY_SCRIPTS)
        assert ours.encode(data) == piece_by_piece(theirs, expression(name), data)
        with lzma.open(shared / "corpora" / "mixed_10mb.txt.xz") as file:
            text = file.read(400_000).decode("utf-8", "ignore")
        assert ours.encode_array(text).tolist() == by_tiktoken(theirs, text)
        for file in sorted((shared / "corpora" / "help").glob("*.txt")):  # a manual in seven languages
            text = file.read_text(encoding="utf-8")[:40_000]
            assert ours.encode(text) == by_tiktoken(theirs, text), file.name

    def test_special_tokens_in_text(self, shared, name):
        ours, theirs = openai(name, shared / "tokenizers")
        text = "a <|endoftext|><|endoftext|>\n<|endofprompt|> <|endof<|fim_prefix|>b"
        for allowed in ((), ("<|endoftext|>",), tuple(OPENAI[name])):
            assert ours.encode(text, allowed_special=allowed) == by_tiktoken(theirs, text, allowed)
        assert ours.encode(text, allowed_special="all") == by_tiktoken(theirs, text, OPENAI[name])


@pytest.mark.shared_data
def test_known_numbers_of_encodings_of_cl100k(shared):
    tokenizer, _ = openai("cl100k", shared / "tokenizers")
    for text, encodings in (("hello", 14), ("hello world", 336), ("tokenization", 917), ("é", 2), ("日本", 9)):
        found = finish(canonical_work(tokenizer, tokenizer.encode_array(text)))
        assert (text, found.verdict, found.encodings) == (text, "canonical", encodings)
