"""The command `inspect`: shows the content of a tokenizer's files, as text or as JSON."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokstudio.cli.process.terminal import Console, put
from tokstudio.cli.projects import project_lines, project_rows
from tokstudio.cli.tokenizers import PREPARING, is_project
from tokstudio.core.analysis.reachability import REACHED, reachability_work
from tokstudio.core.base.wording import printable, several, shown
from tokstudio.core.formats.common.format import Loaded, PatternNeeded
from tokstudio.core.formats.known_formats import FORMATS
from tokstudio.core.formats.loading import load_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_SHOWN_SPECIALS = 12
_SHOWN_LONGEST = 5


def inspect(arguments: argparse.Namespace, console: Console) -> None:
    """Prints the content of the files; the pattern need not be known for that."""
    path: Path = arguments.path
    if is_project(path):
        rows = project_rows(path, console)
        put(sys.stdout, (json.dumps(rows) if arguments.json else "\n".join(map(printable, project_lines(rows)))) + "\n")
        return
    console.show(PREPARING)
    has_pattern = True
    try:
        loaded = console.finish(load_work(path, arguments.pattern))
    except PatternNeeded:
        has_pattern = False
        loaded = console.finish(load_work(path, "none"))
    if loaded.remark:
        console.say(loaded.remark)
    facts = _facts(loaded, has_pattern, console.finish(reachability_work(loaded.tokenizer)))
    put(sys.stdout, (json.dumps(facts) if arguments.json else "\n".join(_lines(facts))) + "\n")


def _facts(loaded: Loaded, has_pattern: bool, reach: NDArray[np.uint8]) -> dict[str, Any]:
    tokenizer = loaded.tokenizer
    tokens, settings = tokenizer.tokens, tokenizer.settings
    return {
        "format": loaded.format,
        "files": {str(file): file.stat().st_size for file in loaded.files},
        "tokens": len(tokenizer),
        "model": tokenizer.model,
        "base": tokenizer.alphabet.base,
        "base_tokens": len(tokenizer.alphabet),
        "merges": len(tokenizer.merges),
        "special_tokens": dict(tokenizer.special_tokens),
        "extra_tokens": len(tokenizer.extra_tokens),
        "whole_words": len(tokenizer.whole_words.difference(tokenizer.special_tokens.values())),
        "unreachable_tokens": int(np.count_nonzero(reach != REACHED)),
        "highest_id": len(tokens) - 1 if tokens else None,
        "unused_ids": len(tokens) - len(tokenizer),
        "longest_tokens": _longest(tokenizer),
        "pattern": tokenizer.pattern if has_pattern and tokenizer.library is None else None,
        "normalizer": "NFC" if tokenizer.preparation.nfc else None,
        "prefix_space": tokenizer.preparation.prefix_space,
        "encoded_by": tokenizer.library or "tokstudio",
        "no_playhead": tokenizer.no_playhead,
        "roles": dict(tokenizer.roles),
        "not_special": sorted(tokenizer.preparation.ordinary),
        "tokenizer_class": settings.tokenizer_class,
        "chat_templates": dict(settings.chat_templates),
        "model_max_length": settings.model_max_length,
        "post_processor": settings.post_processor,
        "adds": None if isinstance(around := settings.around, str) else {"before": around[0], "after": around[1]},
        "truncation": settings.truncation,
        "padding": settings.padding,
        "remarks": list(tokenizer.remarks),
    }


def _longest(tokenizer: Tokenizer) -> dict[int, str]:
    """The longest tokens, by id, as text."""
    tokens = tokenizer.tokens
    lengths = tokens.lengths()
    longest = np.argsort(-lengths, kind="stable")[:_SHOWN_LONGEST].tolist()
    return {token: (tokens[token] or b"").decode("utf-8", "replace") for token in longest if lengths[token] > 0}


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    """The facts, a line each with its name."""
    specials = list(facts["special_tokens"].items())
    extra, words, unreachable = facts["extra_tokens"], facts["whole_words"], facts["unreachable_tokens"]
    unused, longest = facts["unused_ids"], facts["model_max_length"]
    gaps = f"{several(unused, 'id')} below it not in use" if unused else "no gaps"
    pattern = "not given in the files" if facts["pattern"] is None else facts["pattern"]
    adds = [f"{' '.join(map(shown, tokens))} {where}" for where, tokens in (facts["adds"] or {}).items() if tokens]
    around = f"adds {' and '.join(adds)} every text" if adds else "adds nothing to a text"
    plain, more = frozenset(facts["not_special"]), len(specials) - _SHOWN_SPECIALS
    rows: list[tuple[str, str | None]] = [
        ("Format", FORMATS[facts["format"]].title),
        *(("File", f"{Path(file).name}, {several(size, 'byte')}") for file, size in facts["files"].items()),
        ("Model", facts["model"]),
        ("Tokens", f"{facts['tokens']:,}"),
        ("Base", f"{facts['base_tokens']:,} {facts['base']}"),
        ("Merges", f"{facts['merges']:,}"),
        ("Not made by merges", f"{extra:,}" if extra and facts["model"] == "BPE" else None),
        ("Whole words", f"{words:,}: only a pre-token that equals one becomes it" if words else None),
        ("Unreachable", f"{unreachable:,}: no text becomes them" if unreachable else None),
        ("Highest id", f"{facts['highest_id']:,}, {gaps}" if facts["tokens"] else None),
        ("Pattern", pattern if facts["encoded_by"] == "tokstudio" else "set by its library"),
        ("Encoded by", facts["encoded_by"]),
        ("Normalizer", facts["normalizer"]),
        ("Prefix space", "added to text that does not begin with one" if facts["prefix_space"] else None),
        ("No playhead", facts["no_playhead"]),
        *(("Role", f"{role.removesuffix('_token')}  {shown(token, 60)}") for role, token in facts["roles"].items()),
        ("Class", facts["tokenizer_class"]),
        *(("Chat template", f"{name}, {several(len(t), 'character')}") for name, t in facts["chat_templates"].items()),
        ("Longest input", None if longest is None else several(longest, "token")),
        ("Post-processor", None if facts["post_processor"] is None else around),
        *(("Remark", remark) for remark in facts["remarks"]),
        *(("Longest token", f"{token:,}  {shown(text, 60)}") for token, text in facts["longest_tokens"].items()),
        *(
            ("Special token", f"{token:,}  {shown(text, 60)}{', added but not special' * (text in plain)}")
            for text, token in specials[:_SHOWN_SPECIALS]
        ),
        ("", f"and {more:,} more" if more > 0 else None),
    ]
    width = max(len(name) for name, value in rows if value)
    before = ""
    for name, value in ((name, value) for name, value in rows if value):
        yield printable(f"{'' if name == before else name:<{width}}  {value}".rstrip())
        before = name
