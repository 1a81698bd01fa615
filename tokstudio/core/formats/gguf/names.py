"""The names in GGUF files: how llama.cpp splits text by the name of a pre-tokenizer, roles, types of tokens.

Names, expressions and what they imply are those of `src/llama-vocab.cpp` of llama.cpp (October 2026).
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from tokstudio.core.base.records import dataclass
from tokstudio.core.pretokenization.custom_regex import covered
from tokstudio.core.pretokenization.patterns import known_name

# --- Keys -------------------------------------------------------------------------------------------------------------

ARCHITECTURE = "general.architecture"
TOKENIZER = "tokenizer."  # all keys of a tokenizer begin so
MODEL, PRE = "tokenizer.ggml.model", "tokenizer.ggml.pre"
TOKENS, TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
SCORES, MERGES = "tokenizer.ggml.scores", "tokenizer.ggml.merges"
ADD_BOS, ADD_EOS, ADD_SEP = (f"tokenizer.ggml.add_{role}_token" for role in ("bos", "eos", "sep"))
ADD_SPACE, REMOVE_SPACES = "tokenizer.ggml.add_space_prefix", "tokenizer.ggml.remove_extra_whitespaces"
CHARACTERS_MAP = "tokenizer.ggml.precompiled_charsmap"
LOWERCASE, STRIP_ACCENTS = "tokenizer.ggml.normalizer.lowercase", "tokenizer.ggml.normalizer.strip_accents"
CHAT_TEMPLATE, CHAT_TEMPLATES = "tokenizer.chat_template", "tokenizer.chat_templates"
HUGGING_FACE = "tokenizer.huggingface.json"
SPLIT_NUMBER, SPLIT_COUNT = "split.no", "split.count"

#: Types of tokens. Control tokens and those that users defined are added tokens, and written as they are.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)

#: The byte whose token stands for roles that no token has: no text has it, so no model writes it.
NEVER = 0xFF

#: The keys of each role; the first is written.
ROLE_KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        role: tuple(f"tokenizer.ggml.{name}_token_id" for name in names)
        for role, names in {
            "bos_token": ("bos",),
            "eos_token": ("eos",),
            "unk_token": ("unknown",),
            # llama.cpp spells it so.
            "sep_token": ("seperator", "separator"),
            "pad_token": ("padding",),
            "cls_token": ("cls",),
            "mask_token": ("mask",),
            "eot_token": ("eot",),
            "eom_token": ("eom",),
            "fim_pre_token": ("fim_pre", "prefix"),
            "fim_suf_token": ("fim_suf", "suffix"),
            "fim_mid_token": ("fim_mid", "middle"),
            "fim_pad_token": ("fim_pad",),
            "fim_rep_token": ("fim_rep",),
            "fim_sep_token": ("fim_sep",),
        }.items()
    }
)

#: Texts that llama.cpp takes for control tokens, whatever their type.
FORCED_CONTROL = frozenset(
    {
        "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>",
        "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>",
        "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~[",
        "<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>",
        "<|prefix|>", "<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>",
        "<|code_suffix|>", "<|suffix|>", "<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>",
        "▁<MID>", "<|code_middle|>", "<|middle|>", "<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]",
        "<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>", "<|file_sep|>", "<|channel|>",
        "<|message|>", "<|start|>", "<|constrain|>",
    }
)  # fmt: skip

# --- Pre-tokenizers ---------------------------------------------------------------------------------------------------

_MARKS = "cuts words at combining marks, which most words of Hindi, Thai and Vietnamese have"
_CAPITALS = "splits words in capitals with an accented letter, and mixed case outside ASCII, otherwise"

_CONTRACTIONS = "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"
_REST = r"|\s*[\r\n]+|\s+(?!\S)|\s+"


def _of_words(upper: str, lower: str, contractions: str, digits: str) -> str:
    """A pattern that splits words before capitals, as the one of GPT-4o."""
    before = r"[^\r\n\p{L}\p{N}]?"
    return (
        f"{before}{upper}*{lower}+{contractions}|{before}{upper}+{lower}*{contractions}|{digits}"
        rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*{_REST}"
    )


_TEKKEN = _of_words(r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", "", r"\p{N}")
#: What llama.cpp itself does for `granite-embed-multi-97m`: all letters outside ASCII are of either case.
O200K_BY_ASCII = _of_words(
    r"(?:(?=[\p{L}\p{M}])[^a-z])", r"(?:(?=[\p{L}\p{M}])[^A-Z])", f"(?:{_CONTRACTIONS})?", r"\p{N}{1,3}"
)
_QWEN35 = (
    rf"(?:{_CONTRACTIONS})|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*{_REST}"
)
# Each digit alone; what is between them is split as GPT-2 does, and ends there.
_DIGITS = r"\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?=\p{N})|\s+(?!\S)|\s+"
_BAILING = (
    r"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)
_SEED = rf"(?:{_CONTRACTIONS})|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+{_REST}"
_UFAKZEKA = rf"[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*{_REST}"
#: Nothing but numbers is split: from everything else, and in groups of three from the right.
SUPERBPE = r"\p{N}+?(?:(?=(?:[0-9]{3})+(?![0-9]))|(?!\p{N}))|[^\p{N}]+"


@dataclass(frozen=True)
class PreTokenizer:
    """What a name of a pre-tokenizer means."""

    pattern: str  # how text is split: a named pattern or an expression
    takes_whole: bool = False  # whether every pre-token that equals a token becomes it without merging
    adds_bos: bool = False  # whether the token for the beginning stands before every text where nothing else is said
    differs: str = ""  # where llama.cpp itself splits otherwise: the end of a sentence about it; else ""


_LLAMA3, _O200K = PreTokenizer("llama3"), PreTokenizer("o200k", differs=_MARKS)
_BY_RULE: Mapping[PreTokenizer, str] = {
    PreTokenizer("gpt2"): "gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert mpt "
    "olmo jais trillion granite-docling exaone4 jina-v1-en jina-v2-code roberta-bpe",
    PreTokenizer("llama3", takes_whole=True, adds_bos=True): "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral "
    "midm-2.0 lfm2 jina-v5-nano",
    _LLAMA3: "dbrx smaug-bpe glm4 chatglm-bpe",
    PreTokenizer("qwen2"): "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2",
    _O200K: "gpt-4o llama4 kanana2 talkie minimax-m2",
    PreTokenizer("o200k", takes_whole=True, differs=_CAPITALS): "granite-embed-multi-97m",
    PreTokenizer(_TEKKEN, takes_whole=True, adds_bos=True, differs=_MARKS): "tekken",
    PreTokenizer(_QWEN35): "qwen35",
    PreTokenizer(_DIGITS): "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
    PreTokenizer(_BAILING): "bailingmoe bailingmoe2 llada-moe",
    PreTokenizer(_SEED): "seed-coder",
    PreTokenizer(_UFAKZEKA): "ufakzeka",
    PreTokenizer(SUPERBPE): "superbpe",
}

#: By the names that files give.
PRE_TOKENIZERS: Mapping[str, PreTokenizer] = MappingProxyType(
    {name: rule for rule, names in _BY_RULE.items() for name in names.split()}
)


@dataclass(frozen=True)
class Written:
    """How a pattern is written."""

    pre: str  # the name
    pattern: str  # how llama.cpp splits by it: the pattern itself, or the nearest
    takes_whole: bool = False  # see `PreTokenizer`
    loss: str = ""  # what differs from the pattern, a sentence; else ""
    proves: str = ""  # what a proof is of where there is a loss, the end of a sentence


_AT_END = (
    "llama.cpp has no name for the pattern cl100k, and splits as llama3 does: white space after a line feed at the end "
    "of a text becomes other tokens."
)
_NO_O200K = (
    "llama.cpp has no name for the pattern o200k: with the nearest, it splits words in capitals with an accented "
    "letter, such as MÜNCHEN, and mixed case outside ASCII, such as приветМир, otherwise."
)
_AS_GRANITE = "split as llama.cpp does by the name granite-embed-multi-97m, not as o200k"


def written_as(pattern: str, takes_whole: bool) -> Written | None:
    """How a pattern is written, for a tokenizer that takes whole words or not; None where llama.cpp has no name."""
    # llama.cpp, too, makes pre-tokens of text between the matches of an expression.
    name = known_name(covered(pattern) or pattern)
    llama3 = Written("llama-bpe" if takes_whole else "dbrx", "llama3", takes_whole)
    by_name = {
        "gpt2": Written("gpt-2", "gpt2"),
        "llama3": llama3,
        "cl100k": replace(llama3, loss=_AT_END, proves="split as llama3 does, not cl100k"),
        "qwen2": Written("qwen2", "qwen2"),
        "o200k": Written("granite-embed-multi-97m", O200K_BY_ASCII, True, _NO_O200K, _AS_GRANITE),
    }
    if name in by_name:
        return by_name[name]
    exact = ((pre, rule) for pre, rule in PRE_TOKENIZERS.items() if rule.pattern == name and not rule.differs)
    return next((Written(pre, name, rule.takes_whole) for pre, rule in exact), None)
