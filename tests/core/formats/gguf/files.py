"""GGUF files written without TokStudio's own writer: values of Python, the types by their names."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import struct
from typing import Any

from tokstudio.core.text.byte_level import to_characters

KINDS = {"u8": 0, "i8": 1, "u16": 2, "i16": 3, "u32": 4, "i32": 5, "f32": 6, "bool": 7, "str": 8, "list": 9, "u64": 10,
         "i64": 11, "f64": 12}  # fmt: skip
FORMS = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "f32": "f", "bool": "?", "u64": "Q",
         "i64": "q", "f64": "d"}  # fmt: skip
PIECES = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "<|im|>", "▁", "a", "b", "n", "t", "h",
          "e", "an", "▁t", "he", "▁the", "ban", "ana", "日"]  # fmt: skip
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "▁the", "▁cat", "s", "▁un", "aff", "able", "▁,", "▁naive"]


def string(text, order="<"):
    raw = text if isinstance(text, bytes) else text.encode()
    return struct.pack(f"{order}Q", len(raw)) + raw


def value(kind, content, order="<"):
    """A value with its type; a list has a kind such as "str*"."""
    if kind.endswith("*"):
        item = kind[:-1]
        items = b"".join(
            string(one, order) if item == "str" else struct.pack(order + FORMS[item], one) for one in content
        )
        return struct.pack(f"{order}IIQ", KINDS["list"], KINDS[item], len(content)) + items
    body = string(content, order) if kind == "str" else struct.pack(order + FORMS[kind], content)
    return struct.pack(f"{order}I", KINDS[kind]) + body


def gguf(values: dict[str, Any], tensors=(), order="<", version=3, alignment=32):
    """A whole file; a tensor is its name, its dimensions and its bytes."""
    head = b"GGUF" + struct.pack(f"{order}IQQ", version, len(tensors), len(values))
    body = b"".join(string(key, order) + value(*one, order) for key, one in values.items())
    data = b""
    for name, dimensions, content in tensors:
        data += bytes(-len(data) % alignment)
        sizes = struct.pack(f"{order}I{len(dimensions)}Q", len(dimensions), *dimensions)
        body += string(name, order) + sizes + struct.pack(f"{order}IQ", 0, len(data))
        data += content
    whole = head + body
    return whole + bytes(-len(whole) % alignment) + data


def byte_pairs(tokenizer, pre: Any = "gpt-2", **more):
    """The values of a tokenizer of bytes, as converters of models write them."""
    texts = {number: token for token, number in tokenizer.special_tokens.items()}
    tokens = [texts.get(n) or to_characters(token or b"") for n, token in enumerate(tokenizer.tokens)]
    types = [3 if n in texts else 1 for n in range(len(tokens))]
    merges = [f"{tokens[left]} {tokens[right]}" for left, right in tokenizer.merges.tolist()]
    values = {
        "general.architecture": ("str", "llama"),
        "tokenizer.ggml.model": ("str", "gpt2"),
        "tokenizer.ggml.pre": ("str", pre),
        "tokenizer.ggml.tokens": ("str*", tokens),
        "tokenizer.ggml.token_type": ("i32*", types),
        "tokenizer.ggml.merges": ("str*", merges),
    }
    return {key: one for key, one in (values | more).items() if one is not None}


def pieces(**more):
    """The values of a SentencePiece model of byte pairs."""
    types = [2, 3, 3, *[6] * 256, 3, *[1] * (len(PIECES) - 260)]
    scores = [0.0] * 259 + [0.0] + [-float(number) for number in range(len(PIECES) - 260)]
    values = {
        "general.architecture": ("str", "llama"),
        "tokenizer.ggml.model": ("str", "llama"),
        "tokenizer.ggml.tokens": ("str*", PIECES),
        "tokenizer.ggml.scores": ("f32*", scores),
        "tokenizer.ggml.token_type": ("i32*", types),
        "tokenizer.ggml.bos_token_id": ("u32", 1),
        "tokenizer.ggml.eos_token_id": ("u32", 2),
        "tokenizer.ggml.unknown_token_id": ("u32", 0),
    }
    return values | more


def words(**more):
    """The values of a WordPiece vocabulary."""
    values = {
        "general.architecture": ("str", "bert"),
        "tokenizer.ggml.model": ("str", "bert"),
        "tokenizer.ggml.tokens": ("str*", WORDS),
        "tokenizer.ggml.token_type": ("i32*", [3] * 5 + [1] * (len(WORDS) - 5)),
        "tokenizer.ggml.unknown_token_id": ("u32", 1),
        "tokenizer.ggml.cls_token_id": ("u32", 2),
        "tokenizer.ggml.bos_token_id": ("u32", 2),
        "tokenizer.ggml.seperator_token_id": ("u32", 3),
        "tokenizer.ggml.padding_token_id": ("u32", 0),
        "tokenizer.ggml.mask_token_id": ("u32", 4),
    }
    return values | more
