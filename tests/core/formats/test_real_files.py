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

from tokstudio import Tokenizer, load
from tokstudio.core.formats.known_formats import FORMATS, tokenizer_files
from tokstudio.core.formats.tiktoken.writer import written_regex
from tokstudio.core.libraries.client import torture_text

Owner = Callable[[str, bool], Sequence[int]]

# The kind of what a published file is, after its first word, with the name that people have.
MAIN = {
    "tokenizer.json": "tokenizer.json",
    "vocab.txt": "vocab.txt",
    "encoder.json": "encoder.json",
    "vocab.json": "vocab.json",
    "tiktoken": "tiktoken.model",
    "gpt2.tiktoken": "gpt2.tiktoken",
    "spm.model": "tokenizer.model",
    "json": "tekken.json",
}
BESIDE = {
    "tokenizer.json": ["tokenizer_config.json"],
    "encoder.json": ["vocab.bpe"],
    "vocab.json": ["merges.txt", "added_tokens.json", "special_tokens_map.json", "tokenizer_config.json"],
}
PATTERNS = {"vocab.json": "gpt2", "encoder.json": "gpt2"}  # of files that do not say it and are not known
# Each file with the size of its vocabulary, and some of its special tokens.
PUBLISHED = {
    "bert_base_uncased.vocab.txt": (30_522, {"[CLS]": 101}),
    "clip.encoder.json": (49_408, {"<|endoftext|>": 49_407}),
    "gpt2.encoder.json": (50_257, {"<|endoftext|>": 50_256}),
    "gpt_neox.tokenizer.json": (50_277, {"<|endoftext|>": 0}),
    "kimi_k2.tiktoken": (163_587, {"<|im_end|>": 163_586}),
    "klonsuphap.vocab.json": (50_276, {}),
    "mistral01.tokenizer.json": (32_000, {"<s>": 1}),
    "mistral03.spm.model": (32_768, {"<s>": 1}),
    "olmo2_dolma2.tokenizer.json": (100_278, {"<|endoftext|>": 100_257}),
    "qwen3.tokenizer.json": (151_669, {"<|im_end|>": 151_645}),
    "r50k.gpt2.tiktoken": (50_257, {"<|endoftext|>": 50_256}),
    "tekken_240718.json": (131_072, {"<s>": 1}),
}
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
    return [torture_text(), MORE, "\n".join(file.read_text(encoding="utf-8")[2000:2400] for file in files)]


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
    size, specials = PUBLISHED[f"{name}.{rest}"]
    assert (len(tokenizer), tokenizer.special_tokens | specials) == (size, tokenizer.special_tokens)
    remarks = [
        told for told in tokenizer.remarks if told.startswith("Several models of Kimi have these ranks: only the")
    ]
    assert len(remarks) == (name == "kimi_k2")
    encode = owner(name, path, tokenizer)
    for text in texts(shared):
        for allowed in ((), "all") if tokenizer.library != "sentencepiece" else ("all",):
            assert tokenizer.encode(text, allowed) == list(encode(text, allowed == "all")), (text[:40], allowed)
    if name == "tekken_240718":
        is_written_as_it_was(path, tokenizer)


def is_written_as_it_was(path: Path, tokenizer: Tokenizer) -> None:
    """A published `tekken.json` has entries that are not used, and spells bytes that are no character otherwise."""
    theirs = json.loads(path.read_bytes())
    ours = json.loads(b"".join(FORMATS["tekken"].contents(tokenizer)["tekken.json"]))
    assert ours["config"]["pattern"] == theirs["config"]["pattern"]
    used = theirs["config"]["default_vocab_size"] - theirs["config"]["default_num_special_tokens"]
    assert ours["vocab"][0] == theirs["vocab"][0]
    written, published = (
        [(entry["rank"], entry["token_bytes"]) for entry in entries] for entries in (ours["vocab"], theirs["vocab"])
    )
    assert written == published[:used]


@pytest.mark.shared_data
def test_no_published_file_is_left_out(shared):
    there = {file.name.removesuffix(".xz") for file in (shared / "tokenizers" / "real").glob("*.xz")}
    beside = {f"{name.split('.')[0]}.{part}" for name in PUBLISHED for part in BESIDE.get(name.split(".", 1)[1], ())}
    # The second and third are read in `common/test_any_order.py`.
    elsewhere = {"lfs_pointer.tokenizer.json", "llama3.tokenizer.json", "llama3.tiktoken-tokenizer.model"}
    assert there - beside == {*PUBLISHED, *elsewhere}
