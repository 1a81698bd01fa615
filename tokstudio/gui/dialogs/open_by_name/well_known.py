"""Well-known tokenizers, for the list in the dialog."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WellKnown:
    """A tokenizer by its name."""

    name: str
    kind: str  # how it makes tokens
    gated: bool = False  # whether its owner asks for consent, for which one must sign in


_BYTES, _BYTE_FALLBACK = "byte-level BPE", "BPE, rare characters as bytes"
_UNIGRAM, _WORD_PIECE = "Unigram", "WordPiece"
_TIKTOKEN = "byte-level BPE, of tiktoken"

WELL_KNOWN = (
    WellKnown("openai-community/gpt2", _BYTES),
    WellKnown("Qwen/Qwen3-8B", _BYTES),
    WellKnown("deepseek-ai/DeepSeek-V3", _BYTES),
    WellKnown("meta-llama/Llama-3.1-8B", _BYTES, gated=True),
    WellKnown("mistralai/Mistral-7B-v0.3", _BYTE_FALLBACK, gated=True),
    WellKnown("mistralai/Mistral-Nemo-Base-2407", _BYTES, gated=True),
    WellKnown("google/gemma-2-2b", _BYTE_FALLBACK, gated=True),
    WellKnown("TinyLlama/TinyLlama-1.1B-Chat-v1.0", _BYTE_FALLBACK),
    WellKnown("microsoft/phi-4", _BYTES),
    WellKnown("HuggingFaceTB/SmolLM2-135M", _BYTES),
    WellKnown("EleutherAI/gpt-neox-20b", _BYTES),
    WellKnown("bigscience/bloom", _BYTES),
    WellKnown("FacebookAI/roberta-base", _BYTES),
    WellKnown("FacebookAI/xlm-roberta-base", _UNIGRAM),
    WellKnown("google-t5/t5-base", _UNIGRAM),
    WellKnown("google-bert/bert-base-uncased", _WORD_PIECE),
    WellKnown("gpt2", _TIKTOKEN),
    WellKnown("r50k_base", _TIKTOKEN),
    WellKnown("p50k_base", _TIKTOKEN),
    WellKnown("cl100k_base", _TIKTOKEN),
    WellKnown("o200k_base", _TIKTOKEN),
    WellKnown("o200k_harmony", _TIKTOKEN),
)
