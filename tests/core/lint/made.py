"""Folders of small tokenizers with one fault, or nearly one."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from contextlib import closing

from tokstudio.core.base.progress import finish
from tokstudio.core.lint.lint import RULES
from tokstudio.core.lint.subject import subject_work
from tokstudio.core.text.byte_level import CHARACTER_OF

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
END = "<|end|>"


def split(pattern, kind="Regex", behavior="Isolated", invert=False):
    """A pre-tokenizer that splits by a pattern, and then writes bytes."""
    step = {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}
    return {"type": "Sequence", "pretokenizers": [step, BYTE_LEVEL]}


def added(token, number, **flags):
    """An added token, special unless the flags say otherwise."""
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": number, "content": token, **plain, **flags}


def content(merges=("t h", "th e"), specials=(END,), model=(), vocabulary=(), **parts):
    """A `tokenizer.json` over bytes; the added tokens have the last ids, `vocabulary` stands before them."""
    tokens = [*CHARACTER_OF.values(), *("".join(merge.split()) for merge in merges), *vocabulary]
    ids = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    listed = [token if isinstance(token, dict) else added(token, len(ids) + n) for n, token in enumerate(specials)]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": listed,
        "normalizer": None,
        "pre_tokenizer": split(GPT2),
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        **parts,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": ids,
            "merges": [merge.split() for merge in merges],
            **dict(model),
        },
    }


def folder(tmp_path, tokenizer=None, **beside):
    """A folder with a `tokenizer.json` and files beside it: `config={...}` is `tokenizer_config.json`."""
    names = {
        "config": "tokenizer_config.json",
        "roles": "special_tokens_map.json",
        "more": "added_tokens.json",
        "generation": "generation_config.json",
        "model": "config.json",
        "vocabulary": "vocab.json",
    }
    number = len(list(tmp_path.iterdir()))
    place = tmp_path / f"tokenizer {number}"
    place.mkdir()
    files = {"tokenizer.json": tokenizer or content(), **{names.get(key, key): value for key, value in beside.items()}}
    for name, value in files.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        (place / name).write_text(text, "utf-8")
    return place


def found(path, rule, texts=None):
    """The findings of one rule, which is run alone."""
    subject = finish(subject_work(path, texts))
    [chosen] = [one for one in RULES if one.name == rule]
    is_run = subject.tokenizer is not None or not chosen.needs_tokenizer
    with closing(subject.process):
        return finish(chosen.findings_work(subject)) if is_run else []


def message(path, rule, texts=None):
    """The message of the only finding of a rule."""
    [finding] = found(path, rule, texts)
    return finding.message
