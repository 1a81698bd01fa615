"""Damages files at random, the same way each time, and makes sure that they are read or refused in one sentence."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import copy
import json
import re
from contextlib import suppress

from tokstudio import ConfigError, FormatError, load

WEIRD = [None, True, -1, 0, 1.0, 1e400, 256, 10**9, 10**30, "", "x", "\ud83d", "日\n", [], {}, [[]], {"a": 1}, [1, 2]]
KEYS = ["x", "0", "257", "merges", "vocab", "an", "type", "normalizer", "pre_tokenizer", "decoder", "byte_fallback"]
TEXTS = [b"{", b"[", b'"', b"\\", b",", b"\xff", b"1e9", b"-", b"NaN", b"\\ud800", b"999999999", b"\n", b" ", b"\0"]


def nodes(value, found=None):
    """All places in a JSON value, as container and key."""
    found = [] if found is None else found
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in list(items):
        found.append((value, key))
        nodes(child, found)
    return found


def mutant_of_values(whole, chance):
    """A JSON file with one or two values deleted, repeated or changed."""
    value = json.loads(whole)
    for _ in range(chance.choice([1, 1, 2])):
        if not (places := nodes(value)):
            break
        # Of the many tokens and merges fewer are chosen than of what stands around them.
        outer = [place for place in places if not (isinstance(place[0], list) or len(place[0]) > 100)]
        container, key = chance.choice(chance.choice([places, outer or places]))
        match chance.randrange(4):
            case 0:
                del container[key]
            case 1 if isinstance(container, dict):
                container[chance.choice(KEYS)] = container[key]
            case 1:
                container.insert(chance.randrange(len(container) + 1), copy.deepcopy(container[key]))
            case _:
                container[key] = copy.deepcopy(chance.choice(WEIRD))
    return json.dumps(value).encode()


def mutant_of_bytes(whole, chance):
    """A file with a few bytes changed, taken out or put in, or cut."""
    data = bytearray(whole)
    for _ in range(chance.randint(1, 4)):
        if not data:
            break
        at = chance.randrange(len(data))
        match chance.randrange(7):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                data[at] ^= 1 << chance.randrange(8)
            case 2:
                del data[at : at + chance.randint(1, 40)]
            case 3:
                data[at:at] = data[at : at + chance.randint(1, 40)]
            case 4:
                data[at:at] = chance.choice(TEXTS)
            case 5 if chance.random() < 0.2:
                del data[at:]
            case _:
                data[at : at + 1] = chance.choice(
                    [b"[", b"]", b"{", b"}", b":", b" ", b"\x7f", b"\xff\xff\xff\xff\x0f"]
                )
    return bytes(data)


def mutant_of_lines(whole, chance):
    """A file of lines with some of them moved, repeated, or taken out."""
    lines = whole.split(b"\n")
    for _ in range(chance.choice([1, 1, 2, 3])):
        at = chance.randrange(len(lines))
        line = lines.pop(at)
        match chance.randrange(4):
            case 0:
                lines.insert(chance.randrange(len(lines) + 1), line)
            case 1:
                lines[at:at] = [line, line]
            case 2:
                words = line.split(b" ")
                words[chance.randrange(len(words))] = chance.choice(TEXTS)
                lines.insert(at, b" ".join(words))
            case _:
                pass
        lines = lines or [b""]
    return b"\n".join(lines)


def read_or_refused(path, pattern="none", text="bandana ban \0日", names=(r"[^\n:]+",)):
    """The tokenizer; None after making sure that the error is one sentence that names a file."""
    try:
        tokenizer = load(path.with_suffix(".tiktoken") if path.name == "ranks.json" else path, pattern)
        with suppress(ConfigError):  # a character that is not in the vocabulary, a pattern that drops text
            again = tokenizer.decode(tokenizer.encode(text))
            # A library leaves out bytes without a token; a prefix space is not removed again.
            if tokenizer.library is None and tokenizer.alphabet.base == "bytes" and tokenizer.pattern == "none":
                assert again in (text, f" {text}")
    except FormatError as error:
        words = str(error)
        assert re.fullmatch(rf"({'|'.join(names)}): [^\n]+\.", words), words
        assert words.isprintable(), words
        assert len(words) < 300, words
        return None
    assert len(tokenizer) == len(tokenizer.tokens.ids())
    return tokenizer
