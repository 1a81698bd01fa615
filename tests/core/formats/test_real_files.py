"""Published tokenizers give the ids of the libraries that own their files, on hard text and in many languages."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import json
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import sentencepiece
import tiktoken
import tokenizers

from tokstudio.core.base.errors import FormatError
from tokstudio.core.formats.known_formats import tokenizer_files
from tokstudio.core.formats.loading import load
from tokstudio.core.formats.tiktoken.writer import written_regex
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.tokenizer.tokenizer import Tokenizer

Owner = Callable[[str, bool], Sequence[int]]

# The kind of what a published file is, after its first word, with the name that people have.
MAIN = {
    "tokenizer.json": "tokenizer.json",
    "vocab.txt": "vocab.txt",
    "encoder.json": "encoder.json",
    "vocab.json": "vocab.json",
    "tiktoken": "tiktoken.model",
    "gpt2.tiktoken": "gpt2.tiktoken",
    "tiktoken-tokenizer.model": "tokenizer.model",
    "spm.model": "tokenizer.model",
    "json": "tekken.json",
}
BESIDE = {
    "tokenizer.json": ["tokenizer_config.json"],
    "encoder.json": ["vocab.bpe"],
    "vocab.json": ["merges.txt", "added_tokens.json", "special_tokens_map.json", "tokenizer_config.json"],
}
PATTERNS = {"vocab.json": "gpt2", "encoder.json": "gpt2"}  # of files that do not say it and are not known
PUBLISHED = [
    "bert_base_uncased.vocab.txt", "clip.encoder.json", "gpt2.encoder.json", "gpt_neox.tokenizer.json",
    "kimi_k2.tiktoken", "klonsuphap.vocab.json", "llama3.tiktoken-tokenizer.model", "llama3.tokenizer.json",
    "mistral01.tokenizer.json", "mistral03.spm.model", "olmo2_dolma2.tokenizer.json", "qwen3.tokenizer.json",
    "r50k.gpt2.tiktoken", "tekken_240718.json",
]  # fmt: skip
CLASSES = {"bert_base_uncased": "BertTokenizer", "clip": "CLIPTokenizer"}
MORE = "MÜNCHEN straßeÄpfel приветМир I'LL 1234567 2024年 a\n b <|endoftext|><s> <|im_start|>user\nhi<|im_end|> [MASK]"


def of_library(tokenizer: tokenizers.Tokenizer) -> Owner:
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def encode(text: str, specials: bool) -> Sequence[int]:
        tokenizer.encode_special_tokens = not specials
        return tokenizer.encode(text, add_special_tokens=False).ids

    return encode


def of_transformers(name: str, folder: Path) -> Owner:
    transformers = pytest.importorskip("transformers")
    for own, usual in (("encoder.json", "vocab.json"), ("vocab.bpe", "merges.txt")):
        if (folder / own).exists():
            (folder / own).rename(folder / usual)
    return of_library(getattr(transformers, name).from_pretrained(folder).backend_tokenizer)


def of_ranks(pattern: str, ranks: dict[bytes, int], specials: dict[str, int]) -> Owner:
    encoding = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens=specials)
    return lambda text, recognised: encoding.encode(
        text, allowed_special="all" if recognised else set(), disallowed_special=()
    )


def owner(name: str, path: Path, tokenizer: Tokenizer) -> Owner:
    """What encodes with the library that owns a file."""
    match path.name:
        case "tokenizer.json":
            return of_library(tokenizers.Tokenizer.from_file(str(path)))
        case "vocab.txt" | "vocab.json" | "encoder.json":
            return of_transformers(CLASSES.get(name, "GPT2Tokenizer"), path.parent)
        case "tekken.json":
            file = json.loads(path.read_bytes())
            config = file["config"]
            first, size = config["default_num_special_tokens"], config["default_vocab_size"]
            vocabulary = file["vocab"][: size - first]
            ranks = {base64.b64decode(entry["token_bytes"]): first + entry["rank"] for entry in vocabulary}
            return of_ranks(config["pattern"], ranks, dict(tokenizer.special_tokens))
        case "tokenizer.model" if path.read_bytes()[:1] == b"\n":
            model = sentencepiece.SentencePieceProcessor(model_file=str(path))
            return lambda text, recognised: model.encode(text)
        case _:
            lines = (line.split() for line in path.read_bytes().splitlines() if line)
            ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
            return of_ranks(written_regex(tokenizer.pattern), ranks, dict(tokenizer.special_tokens))


def texts(shared: Path) -> list[str]:
    files = sorted((shared / "corpora" / "parallel").glob("*.txt"))
    return [torture_text(), MORE, *(file.read_text(encoding="utf-8")[2000:2600] for file in files)]


@pytest.mark.shared_data
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_file_gives_the_ids_of_its_library(tmp_path, shared, name):
    name, rest = name.split(".", 1)
    real = shared / "tokenizers" / "real"
    parts = {rest: MAIN[rest]} | {part: part for part in BESIDE.get(rest, ()) if (real / f"{name}.{part}.xz").exists()}
    for part, usual in parts.items():
        (tmp_path / usual).write_bytes(lzma.decompress((real / f"{name}.{part}.xz").read_bytes()))
    path = tmp_path / MAIN[rest]
    assert path in tokenizer_files(path)
    assert path in tokenizer_files(tmp_path)
    tokenizer = load(tmp_path, PATTERNS.get(rest))
    encode = owner(name, path, tokenizer)
    for text in texts(shared):
        for allowed in ((), "all") if tokenizer.library != "sentencepiece" else ("all",):
            assert tokenizer.encode(text, allowed) == list(encode(text, allowed == "all")), (text[:40], allowed)


@pytest.mark.shared_data
def test_no_published_file_is_left_out(shared):
    there = {file.name.removesuffix(".xz") for file in (shared / "tokenizers" / "real").glob("*.xz")}
    beside = {f"{name.split('.')[0]}.{part}" for name in PUBLISHED for part in BESIDE.get(name.split(".", 1)[1], ())}
    assert there - beside == {*PUBLISHED, "lfs_pointer.tokenizer.json"}


@pytest.mark.shared_data
def test_a_published_pointer_is_told(tmp_path, shared):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(lzma.decompress((shared / "tokenizers" / "real" / "lfs_pointer.tokenizer.json.xz").read_bytes()))
    with pytest.raises(FormatError, match="git lfs pull"):
        load(path)
