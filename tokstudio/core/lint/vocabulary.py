"""Rules on ids and tokens: equal tokens, holes, rows of the model, tokens that no text becomes, unknown characters."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

import numpy as np

from tokstudio.core.analysis.reachability import CUT, MADE_OTHERWISE, NORMALIZED, NOT_MADE, REACHED, reachability_work
from tokstudio.core.base.wording import first_few, quoted_bytes, several, shown
from tokstudio.core.formats.common.vocabulary import byte_level_ids
from tokstudio.core.lint.findings import LintRule, Observation, Observations
from tokstudio.core.lint.subject import MODEL, Subject, by_number
from tokstudio.core.model.alphabet import BYTES, NEVER_IN_TEXT
from tokstudio.core.surgery.specials import is_reserved
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer

_NAMED, _FEW = 3, 6
_LIKE = 4  # so many tokens that differ only in a number are reserved ones
_WHY = {
    NOT_MADE: "no merge makes {them}",
    MADE_OTHERWISE: "merging makes other tokens of {their} text",
    CUT: "the pattern splits {their} text",
    NORMALIZED: "the normalizer changes {their} text",
}


def equal_tokens_work(subject: Subject) -> Observations:
    """Two tokens with one text, or two texts with one id."""
    read, tokenizer = subject.files.json, subject.tokenizer
    if read is not None:
        for token, first, second in read.repeated[:_FEW]:
            yield Observation(
                f"The vocabulary lists {shown(token)} twice, with the ids {first:,} and {second:,}: libraries keep one "
                "of them, not all the same one.",
                "Remove one of both, and see to it that the model was trained with the other.",
                token,
            )
        for number, first, second in read.shared_ids[:_FEW]:
            yield Observation(
                f"The tokens {shown(first)} and {shown(second)} have the same id {number:,}.",
                "Give each token an id of its own.",
                first,
                (first, second),
            )
    if tokenizer is None:
        return
    specials = frozenset(tokenizer.special_tokens.values())
    first_of, pairs = dict[bytes, int](), list[tuple[int, int]]()
    # A byte of a character without a token may have the text of a character.
    as_bytes = tokenizer.kind if isinstance(tokenizer, LibraryTokenizer) else None
    added = {token.content for token in read.added} if read is not None else set[str]()
    for number, raw in (yield from subject.tokens_work()).items():
        if raw and number not in specials and (as_bytes is None or as_bytes(number) != "byte"):
            other = first_of.setdefault(raw, number)
            if other != number and raw.decode("utf-8", "replace") not in added:
                pairs.append((other, number))
    if pairs and _spelled_apart(subject):
        number, other = pairs[0]
        yield Observation(
            f"{several(len(pairs), 'pair of tokens has', 'pairs of tokens have')} one text: "
            f"{quoted_bytes(subject.bytes_of(number))} has the ids {number:,} and {other:,}. Text becomes only "
            "one.",
            "Remove one of both, or find out which the model knows.",
            subject.text_of(number),
        )


def _spelled_apart(subject: Subject) -> bool:
    """Whether equal bytes mean equal tokens: not where tokens inside and at the beginning of words are told apart."""
    return subject.opened.library is None or (subject.files.json is not None and subject.files.json.byte_level)


def unknown_merges_work(subject: Subject) -> Observations:
    """Merges of tokens that the vocabulary lacks."""
    unknown = subject.files.json.unknown if subject.files.json is not None else []
    if not unknown:
        return
    number, left, right, missing = unknown[0]
    yield Observation(
        f"{several(len(unknown), 'merge needs', 'merges need')} a token that the vocabulary does not have: merge "
        f"{number:,} joins {shown(left)} and {shown(right)}, and {shown(missing)} is missing. Libraries refuse the "
        "file or leave the merge out.",
        "Write vocabulary and merges of the same training into the file.",
        f"{left} {right}",
        (left, right),
    )


# --- Ids and the model's rows -----------------------------------------------------------------------------------------


def rows_work(subject: Subject, beyond: bool) -> Observations:
    """Ids for which the model has no row, or rows of the model without a token."""
    tokenizer = subject.opened
    model = subject.files.of(MODEL)
    inner = model.get("text_config")
    rows = model.get(
        "vocab_size", cast("dict[str, object]", inner).get("vocab_size") if isinstance(inner, dict) else None
    )
    size = len(tokenizer.tokens)
    if not isinstance(rows, int) or isinstance(rows, bool) or rows == size or (rows < size) != beyond:
        return
    if not beyond:
        yield Observation(
            f"{MODEL} has {several(rows, 'row')}, the highest id is {size - 1:,}: {several(rows - size, 'row')} "
            "without a token. A model that chooses one of them cannot be decoded.",
            "Nothing, if the size was rounded up on purpose; new tokens can have these ids.",
        )
        return
    ids = tokenizer.tokens.ids()
    first: list[int] = ids[ids >= rows].tolist()
    named = first_few([f"{number:,} {quoted_bytes(subject.bytes_of(number))}" for number in first], _NAMED, str)
    yield Observation(
        f"{several(len(first), 'token has an id', 'tokens have ids')} beyond the {several(rows, 'row')} that "
        f"{MODEL} gives the model: {named}. The model fails on them.",
        "Enlarge the embedding of the model, or remove these tokens.",
        subject.text_of(first[0]),
    )


def holes_work(subject: Subject) -> Observations:
    """Ids below the highest that no token has."""
    tokenizer = subject.opened
    ids = tokenizer.tokens.ids()
    free = np.setdiff1d(np.arange(len(tokenizer.tokens)), ids)
    if not len(free):
        return
    verb = "id below the highest has no token" if len(free) == 1 else "ids below the highest have no token"
    yield Observation(
        f"{len(free):,} {verb}, the first is {free[0]:,}. Some formats need ids without holes.",
        "Nothing, if the model leaves these rows out as well; new tokens can have these ids.",
    )


def reserved_work(subject: Subject) -> Observations:
    """Reserved tokens, and how many are free."""
    tokenizer = subject.opened
    texts = "\n".join(subject.templates.values())
    special = [token for token in tokenizer.special_tokens if token not in tokenizer.preparation.ordinary]
    groups = [group for group in by_number(special).values() if len(group) >= _LIKE]
    reserved = [token for group in groups for token in group]
    free = [token for token in reserved if is_reserved(tokenizer, token) and token not in texts]
    if not reserved:
        return
    named = first_few([group[0] for group in groups], _NAMED)
    yield Observation(
        f"{several(len(reserved), 'special token is', 'special tokens are')} like each other but for a number, "
        f"such as {named}: {len(free):,} of them have no role, and no chat template names them.",
        "New special tokens can take their ids: Tokenizer > Special Tokens renames them.",
        reserved[0],
    )


# --- Tokens and characters that text does not reach -------------------------------------------------------------------


def unreachable_work(subject: Subject) -> Observations:
    """Tokens that no text becomes, by reason."""
    tokenizer = subject.opened
    results = yield from reachability_work(tokenizer)
    for reason, words in _WHY.items():
        ids: list[int] = np.flatnonzero(results == reason).tolist()
        if ids:
            one = len(ids) == 1
            why = words.format(them="it" if one else "them", their="its" if one else "their")
            longest = ids[int(np.argmax(tokenizer.tokens.lengths()[ids]))]
            more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
            named = ", ".join(quoted_bytes(subject.bytes_of(number)) for number in ids[:_NAMED]) + more
            yield Observation(
                f"No text becomes {several(len(ids), 'token')}, because {why}: {named}.",
                "Nothing, if the model is trained already; before, such tokens can be pruned.",
                subject.text_of(longest),
            )
    assert REACHED not in _WHY


def whole_words_work(subject: Subject) -> Observations:
    """Tokens that only a whole pre-token becomes."""
    tokenizer = subject.opened
    words = sorted(tokenizer.whole_words.difference(tokenizer.special_tokens.values()))
    if not words:
        return
    first = subject.text_of(words[0])
    yield Observation(
        f'"ignore_merges": {several(len(words), "token is", "tokens are")} made only where a whole pre-token '
        "equals "
        f"it, such as {quoted_bytes(subject.bytes_of(words[0]))}; merging never makes it. Programs without "
        "this setting give other ids.",
        "Export to a format that keeps it, and compare the ids there.",
        first,
    )


def missing_bytes_work(subject: Subject) -> Observations:
    """Bytes that have no token."""
    tokenizer, read = subject.opened, subject.files.json
    if tokenizer.alphabet.base == "bytes":
        missing = set(range(BYTES)) - set(tokenizer.alphabet.units.tolist())
    elif read is not None and read.byte_level:
        missing = {byte for byte, number in enumerate(byte_level_ids(read.vocabulary)) if number < 0}
    else:
        return
    in_text = sorted(missing - NEVER_IN_TEXT)
    if in_text:
        named = first_few([f"{byte:02X}" for byte in in_text], _FEW, str)
        yield Observation(
            f"{several(len(in_text), 'byte that text can have has', 'bytes that text can have have')} no token: "
            f"{named}. Characters with them are lost, or an error.",
            "Train with all 256 bytes as base tokens.",
        )
    elif missing:
        yield Observation(
            f"{several(len(missing), 'byte has', 'bytes have')} no token, none of which UTF-8 ever has: "
            f"{first_few([f'{byte:02X}' for byte in sorted(missing)], _FEW, str)}.",
            "Nothing, unless data that is not text is to be encoded.",
        )


def unknown_work(subject: Subject) -> Observations:
    """Characters that become the unknown token, or none at all."""
    tokenizer = subject.opened
    characters = sorted({c for line in subject.lines for c in line if not c.isspace() and c.isprintable()})
    encoded = yield from subject.encode_work(characters, False)
    unknown = tokenizer.alphabet.unknown
    lost = [c for c, ids in zip(characters, encoded, strict=True) if ids is not None and unknown in ids.tolist()]
    refused = [c for c, ids in zip(characters, encoded, strict=True) if ids is None]
    texts = "the texts" if subject.given else "a hard text in many scripts"
    if lost and unknown is not None:
        yield Observation(
            f"{len(lost):,} of {several(len(characters), 'character')} of {texts} become the unknown token "
            f"{shown(subject.text_of(unknown))}: {first_few(lost, _FEW)}. "
            "Decoding cannot restore them.",
            "Train with all bytes, or with byte fallback, if such text is to be read.",
            lost[0],
        )
    if refused:
        yield Observation(
            f"{len(refused):,} of {several(len(characters), 'character')} of {texts} cannot be encoded: "
            f"{first_few(refused, _FEW)}. There is no unknown token.",
            "Add an unknown token, or train with all bytes.",
            refused[0],
        )


RULES: Sequence[LintRule] = (
    LintRule("two-tokens-of-one-text", "error", "equal tokens", equal_tokens_work),
    LintRule("merges-of-unknown-tokens", "error", "merges", unknown_merges_work),
    LintRule("ids-without-a-row", "error", "rows of the model", partial(rows_work, beyond=True), True),
    LintRule("unknown-characters", "remark", "unknown characters", unknown_work, True),
    LintRule("bytes-without-token", "remark", "bytes", missing_bytes_work, True),
    LintRule("unreachable-tokens", "remark", "tokens that no text becomes", unreachable_work, True),
    LintRule("whole-words-only", "remark", "whole words", whole_words_work, True),
    LintRule("rows-without-token", "remark", "rows of the model", partial(rows_work, beyond=False), True),
    LintRule("holes-in-ids", "remark", "ids", holes_work, True),
    LintRule("reserved-tokens", "remark", "reserved tokens", reserved_work, True),
)
