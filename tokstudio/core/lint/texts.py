"""Rules that encode and decode: text that does not come back, and tokens that encoding would not put side by side."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.document_encoder import DocumentEncoder
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import percent_text, several, shown
from tokstudio.core.lint.findings import LintRule, Observation, Observations
from tokstudio.core.lint.subject import Subject
from tokstudio.core.text.utf8 import is_utf8
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer
from tokstudio.core.tokenizer.tokenizer import Tokenizer

_DECODED = 500  # lines that a library decodes, a request for each
_PAIRS, _PAIRS_OF_A_LIBRARY = 20_000, 1_000
_AROUND = 12  # characters before and after a difference
_COMPARED = 200  # characters after it in which both texts are to agree again
_PROBE = "ab cd"


def _only(text: str, keep: Callable[[str], bool]) -> str:
    return "".join(filter(keep, text))


def _bare(text: str) -> str:
    """Letters without accents, in lower case, without white space."""
    letters = unicodedata.normalize("NFKD", text).casefold()
    return _only(unicodedata.normalize("NFKD", letters), lambda c: not (unicodedata.combining(c) or c.isspace()))


def _visible(text: str) -> str:
    return _only(text, lambda c: not c.isspace() and c.isprintable())


# What two texts have in common where they differ for a reason, the narrowest first.
_CAUSES: Mapping[str, Callable[[str], str]] = {
    "white space": lambda text: _only(text, lambda c: not c.isspace()),
    "characters in the form NFC": lambda text: unicodedata.normalize("NFC", text),
    "characters in the form NFKC": lambda text: unicodedata.normalize("NFKC", text),
    "upper case": str.casefold,
    "white space and characters that cannot be seen": _visible,
    "white space and the form NFKC": lambda text: _visible(unicodedata.normalize("NFKC", text)),
    "upper case, accents or white space": _bare,
}


def _cause(text: str, back: str, has_unknown: bool) -> str:
    if has_unknown:
        return "characters without a token"
    return next((name for name, view in _CAUSES.items() if view(text) == view(back)), "other characters")


def _decode_work(tokenizer: Tokenizer, ids: NDArray[np.uint32]) -> Work[str]:
    return (yield from tokenizer.decode_bytes_work(ids.tolist())).decode("utf-8", "replace")


def decoding_work(subject: Subject) -> Observations:
    """Lines that decoding does not restore, by cause."""
    tokenizer = subject.opened
    lines = subject.lines
    if isinstance(tokenizer, LibraryTokenizer):
        lines = lines[:: max(1, -(-len(lines) // _DECODED))]
    encoded = yield from subject.encode_work(lines, False)
    causes, example = Counter[str](), ""
    tried = 0
    for line, ids in zip(lines, encoded, strict=True):
        if ids is None:
            continue
        tried += 1
        back = yield from _decode_work(tokenizer, ids)
        if back != line:
            causes[_cause(line, back, tokenizer.alphabet.unknown in ids.tolist())] += 1
            example = example or difference(line, back)
        if tried % 50 == 0:
            yield Progress("decoding", tried, len(lines))
    if not causes:
        return
    named = ", ".join(f"{cause} ({count:,})" for cause, count in causes.most_common())
    yield Observation(
        f"Decoding does not restore {causes.total():,} of {several(tried, 'line')}: what is lost or changed is "
        f"{named}.",
        "Nothing, if the model only reads; for one that writes, do without the normalizer, or train on such text.",
        example,
    )


def difference(text: str, back: str) -> str:
    """The first difference with what is around it; both parts begin and end at the same places of the text."""
    at = next((i for i, (a, b) in enumerate(zip(text, back, strict=False)) if a != b), min(len(text), len(back)))
    before, *rests = text[max(0, at - _AROUND) : at], text[at : at + _COMPARED], back[at : at + _COMPARED]
    blocks = SequenceMatcher(None, *rests, autojunk=False).get_matching_blocks()
    block = next((block for block in blocks if block.a + block.size >= _AROUND), blocks[-1])
    more = max(0, _AROUND - block.a) if block.size else 0
    return f"{shown(before + rests[0][: block.a + more])} becomes {shown(before + rests[1][: block.b + more])}"


# --- Pairs ------------------------------------------------------------------------------------------------------------


def pairs_work(subject: Subject) -> Observations:
    """The share of neighbouring tokens of the texts that encoding their text alone does not give."""
    tokenizer = subject.opened
    if tokenizer.removals is not None or not (yield from _begins_bare_work(subject, tokenizer)):
        return
    special = frozenset([*tokenizer.special_tokens.values(), tokenizer.alphabet.unknown])
    encoded = yield from subject.encode_work(subject.lines, False)
    counts = Counter(
        pair for ids in encoded if ids is not None for pair in pairwise(ids.tolist()) if special.isdisjoint(pair)
    )
    texts, pairs = list[bytes](), list[tuple[int, int]]()
    for pair, _ in counts.most_common(_PAIRS_OF_A_LIBRARY if tokenizer.library else _PAIRS):
        raw = b"".join(subject.bytes_of(token) for token in pair)
        if is_utf8(raw):
            texts.append(raw)
            pairs.append(pair)
    if not pairs:
        return
    again = yield from _encoded_work(tokenizer, texts)
    other = [(pair, raw, ids) for pair, raw, ids in zip(pairs, texts, again, strict=True) if ids != [*pair]]
    if not other:
        return
    share = sum(counts[pair] for pair, _, _ in other) / sum(counts[pair] for pair in pairs)
    pair, raw, ids = other[0]
    pieces = tuple(subject.text_of(token) for token in ids)
    yield Observation(
        f"{percent_text(share, 2)} of the neighbouring tokens of a text are not what encoding their text alone "
        "gives: encode(decode(ids)) of a part can differ from the part.",
        "Nothing for whole texts; do not cut ids into parts that are decoded and encoded again.",
        raw.decode(),
        pieces,
    )


def _begins_bare_work(subject: Subject, tokenizer: Tokenizer) -> Work[bool]:
    """Whether the tokens of a text are its bytes, without a space before it."""
    if tokenizer.library is None:
        return True
    try:
        ids = yield from tokenizer.encode_work(_PROBE)
    except (ConfigError, FormatError):
        return False
    return b"".join(subject.bytes_of(token) for token in ids.tolist()) == _PROBE.encode()


def _encoded_work(tokenizer: Tokenizer, texts: Sequence[bytes]) -> Work[list[list[int]]]:
    if tokenizer.library is None and tokenizer.preparation.prefix_space:
        tokenizer = tokenizer.changed(preparation=replace(tokenizer.preparation, prefix_space=False))
    ids, counts = yield from DocumentEncoder(tokenizer, recognise=False).texts_work(texts)
    return [part.tolist() for part in np.split(ids, np.cumsum(counts)[:-1])]


RULES: Sequence[LintRule] = (
    LintRule("decoding-differs", "remark", "decoded text", decoding_work, True),
    LintRule("pairs-encode-otherwise", "remark", "neighbouring tokens", pairs_work, True),
)
