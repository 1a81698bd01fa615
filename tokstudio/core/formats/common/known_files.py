"""Well-known files, recognised by the SHA-256 of their content, with facts that the files lack.

The hashes, patterns and special tokens are those that `tiktoken`, Meta, Alibaba, Moonshot and Whisper publish.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
from codecs import BOM_UTF8
from collections.abc import Mapping
from pathlib import Path

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass

_LARGEST = 1 << 23
_END = "<|endoftext|>"


@dataclass(frozen=True)
class Known:
    """The pattern and the special tokens that belong to a file."""

    pattern: str
    special_tokens: Mapping[str, int]
    note: str = ""  # what is to be known where the file stands alone, a sentence


_GPT2 = Known("gpt2", {_END: 50256})

# The vocabulary and the merges of GPT-2.
PAIRS: Mapping[tuple[str, ...], Known] = {
    (
        "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
        "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
    ): _GPT2
}
_O200K = Known("o200k", {_END: 199999, "<|endofprompt|>": 200018})
_LANGUAGES = (
    "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml "
    "cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am "
    "yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su"
)


def _numbered(first: int, *tokens: str) -> dict[str, int]:
    """Special tokens with ids one after another."""
    return {token: first + number for number, token in enumerate(tokens)}


def _reserved(count: int, name: str = "", first: int = 0) -> tuple[str, ...]:
    """The reserved special tokens of Llama."""
    return tuple(f"<|{name}reserved_special_token_{number}|>" for number in range(first, first + count))


_LLAMA3 = _numbered(
    128_000, "<|begin_of_text|>", "<|end_of_text|>", *_reserved(2), "<|finetune_right_pad_id|>", "<|step_id|>",
    "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>", "<|python_tag|>", "<|image|>",
    *_reserved(244, first=2),
)  # fmt: skip
_LLAMA4 = _numbered(
    200_000, "<|begin_of_text|>", "<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
    "<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>", "<|step|>", *_reserved(6, "text_post_train_"),
    "<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>", *_reserved(61, "text_post_train_", 8),
    "<|image_start|>", "<|image_end|>", *_reserved(2, "vision_"), "<|tile_x_separator|>", "<|tile_y_separator|>",
    *_reserved(4, "vision_", 2), "<|image|>", *_reserved(1, "vision_", 6), "<|patch|>", *_reserved(1041, "vision_", 7),
    *_reserved(8, "reasoning_"), "<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>", *_reserved(904),
)  # fmt: skip
_WHISPER = _numbered(
    50_257, _END, "<|startoftranscript|>", *(f"<|{language}|>" for language in _LANGUAGES.split()), "<|translate|>",
    "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>",
    *(f"<|{number * 0.02:.2f}|>" for number in range(1501)),
)  # fmt: skip
_HARMONY = {number: f"<|reserved_{number}|>" for number in range(200_000, 201_088) if number != 200_018} | {
    199_998: "<|startoftext|>",
    200_002: "<|return|>",
    200_003: "<|constrain|>",
    200_005: "<|channel|>",
    200_006: "<|start|>",
    200_007: "<|end|>",
    200_008: "<|message|>",
    200_012: "<|call|>",
}
RANKS: Mapping[tuple[str, ...], Known] = {
    # r50k_base, also that of Whisper for English, and p50k_base.
    ("306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",): _GPT2,
    ("94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",): _GPT2,
    # cl100k_base.
    ("223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",): Known(
        "cl100k",
        {
            _END: 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    # o200k_base, which GPT-4o has.
    ("446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",): _O200K,
    # Llama 3, 3.1, 3.2 and 3.3.
    ("82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",): Known("llama3", _LLAMA3),
    # Llama 4.
    ("d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed",): Known("o200k", _LLAMA4),
    # Qwen.
    ("b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",): Known(
        "qwen2",
        _numbered(151_643, _END, "<|im_start|>", "<|im_end|>", *(f"<|extra_{number}|>" for number in range(205))),
    ),
    # Kimi K2, K2.5 and others.
    ("b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103",): Known(
        r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        {"[EOS]": 163_585, "<|im_end|>": 163_586, "<|im_assistant|>": 163_588},
        "Several models of Kimi have these ranks: only the special tokens that they share are known. All are in "
        "tokenizer_config.json, which belongs beside the file.",
    ),
    # Whisper for several languages.
    ("b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126",): Known(
        "gpt2",
        _WHISPER,
        "Several models of Whisper have these ranks: the special tokens are those for 99 languages. Models for 100 "
        "have <|yue|> after <|su|>, and ids that are higher by one from there on.",
    ),
}
# Ranks that tiktoken has with other special tokens under another name.
NAMED: Mapping[str, tuple[str, Known]] = {
    "o200k_harmony": (
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        Known("o200k", {**{token: number for number, token in sorted(_HARMONY.items())}, **_O200K.special_tokens}),
    ),
    "p50k_edit": (
        "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
        Known("gpt2", {_END: 50256, **_numbered(50_281, "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")}),
    ),
}


def known_work(files: tuple[Path, ...], among: Mapping[tuple[str, ...], Known]) -> Work[Known | None]:
    """The facts about a set of files; None for unknown files, and for files that cannot be read."""
    hashes: list[str] = []
    for file in files:
        try:
            if not file.is_file() or file.stat().st_size > _LARGEST:
                return None
            hashes.append(hashlib.sha256(file.read_bytes().removeprefix(BOM_UTF8)).hexdigest())
        except OSError:
            # Reading the file later gives a better message.
            return None
        yield Progress("reading")
    return among.get(tuple(hashes))


def known_ranks_work(path: Path) -> Work[Known | None]:
    """The facts about a file of ranks, some by its name as well; None for others."""
    ranks = yield from known_work((path,), RANKS)
    if ranks is not None and (named := NAMED.get(path.stem)) is not None and RANKS.get((named[0],)) is ranks:
        return named[1]
    return ranks
