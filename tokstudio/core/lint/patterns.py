"""Rules on how text is split, and on a class or a role in the configuration that changes ids."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import first_few, percent_text, shown
from tokstudio.core.formats.common.beside import CONFIG
from tokstudio.core.formats.common.library_classes import LibraryClass, class_of, library_class
from tokstudio.core.formats.common.spelling import written_regex
from tokstudio.core.formats.huggingface.parts import parts_in
from tokstudio.core.libraries.client import pre_tokens_work, torture_text
from tokstudio.core.lint.findings import LintRule, Observation, Observations
from tokstudio.core.lint.subject import MAP, MODEL, Subject, TokenizerJson, text_of
from tokstudio.core.pretokenization.custom_regex import compile_expression, covered
from tokstudio.core.pretokenization.patterns import NAMES, splitter
from tokstudio.core.text.languages import script_of
from tokstudio.core.text.unicode_classes import unassigned
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer

# Signs of a regular expression that no text to be split has.
_OF_AN_EXPRESSION = re.compile(r"\\[pPsSdDwWbBrnt]|\\p\{|\(\?[:!=<iP]|\[\^|\]\+|\]\*|\.\*")
_LOOKS_SPECIAL = re.compile(r"[<\[{(|｜▁#].*[>\]})|｜#]|\S*_token\S*", re.DOTALL)
_DIGITS = "1234567"
_TRIED_FOR_CLASS = ("12345 people", "it's 2024", "café DON'T", "e\u0301a", "  a\n\n b", "МОСКВА 100")
_LINE = 64  # characters of a line of the text that has all of them
_MOST_CLUSTERS = 200_000  # characters of texts that are looked at
_NAMED = 4
_SECONDS = 2.0
_LARGE_BLOCKS = ((0x3400, 0x9FFF), (0xAC00, 0xD7A3), (0x17000, 0x18CFF), (0x20000, sys.maxunicode))
_LONGEST_WORD = 30


# --- The steps of a `tokenizer.json` that find text by a pattern ------------------------------------------------------


def _patterns(read: TokenizerJson) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields each part that has a pattern, with where it stands."""
    for where in ("pre_tokenizer", "normalizer"):
        for part in parts_in(read.settings.get(where)):
            if part.get("type") in ("Split", "Replace") and isinstance(part.get("pattern"), dict):
                yield where.replace("_", "-"), part


def _pattern_of(part: Mapping[str, Any], kind: str) -> str | None:
    found = part["pattern"].get(kind)
    return found if isinstance(found, str) and found else None


def literal_work(subject: Subject) -> Observations:
    """A pattern that is written as a text to be found."""
    for where, part in _patterns(subject.files.json) if subject.files.json else ():
        literal = _pattern_of(part, "String")
        if literal and _OF_AN_EXPRESSION.search(literal) and _compiles(literal):
            yield Observation(
                f"The {where} looks for the text {shown(literal)}, character by character: it is a regular "
                "expression written as a String.",
                'Write it as {"Regex": …} instead of {"String": …}, and train again: merges were made of text that '
                "was not split."
                if where == "pre-tokenizer"
                else 'Write it as {"Regex": …} instead of {"String": …}.',
                literal,
            )


def never_matching_work(subject: Subject) -> Observations:
    """A pattern that finds nothing in any text."""
    texts = [torture_text(), *subject.texts.values(), all_characters()]
    if subject.files.json is not None:
        for where, part in _patterns(subject.files.json):
            regex = _pattern_of(part, "Regex")
            if regex is None:
                continue
            step = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Removed", "invert": False}
            try:
                spans = yield from pre_tokens_work(subject.process, subject.name, step, texts)
            except FormatError:
                continue
            if all(of_text == [(0, len(text))] for of_text, text in zip(spans, texts, strict=True) if text):
                yield _never(f"The pattern of the {where}", regex)
    elif subject.tokenizer is not None and subject.splits and subject.tokenizer.pattern not in NAMES:
        pattern = subject.tokenizer.pattern
        compiled = compile_expression(covered(pattern) or pattern)
        try:
            if not any(compiled.search(text, timeout=_SECONDS) for text in texts):
                yield _never("The pattern", covered(pattern) or pattern)
        except TimeoutError:
            pass  # a pattern that searches so long is not one that never matches


def _never(what: str, regex: str) -> Observation:
    return Observation(
        f"{what} matches nothing: neither a hard text in many scripts nor any single character.",
        "Look for escapes that were doubled (\\\\p{L} is \\p{L} in JSON only once read), mend the pattern, and train "
        "again.",
        regex,
    )


def _compiles(expression: str) -> bool:
    try:
        compile_expression(expression)
    except ConfigError:
        return False
    return True


@lru_cache(maxsize=1)
def all_characters() -> str:
    """Every assigned character with spaces and line ends between them, in the order of code points."""
    is_kept = ~unassigned()
    is_kept[0xD800:0xE000] = is_kept[0xE000:0xF900] = False
    for first, last in _LARGE_BLOCKS:
        # Of the large blocks of like letters, some stand for all.
        is_kept[first : last + 1] &= np.arange(first, last + 1) % 16 == 0
    kept = list(map(chr, np.flatnonzero(is_kept).tolist()))
    return "\n".join(" ".join(kept[first : first + _LINE]) for first in range(0, len(kept), _LINE))


def missing_work(subject: Subject) -> Observations:
    """Files that do not say how text is split."""
    if not subject.has_pattern:
        yield Observation(
            "The files do not say how text is split: each program has to be told, and a wrong pattern gives other ids.",
            "Give the pattern, and keep it in a file: save the tokenizer as tokenizer.json.",
        )


# --- What a pattern does to text --------------------------------------------------------------------------------------


def _pieces(text: str, spans: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    return tuple(text[begin:end] for begin, end in spans)


def _split_work(subject: Subject, texts: Sequence[str]) -> Work[list[list[tuple[int, int]]]]:
    """The pre-tokens of texts; none of any where they are not known."""
    if subject.splits:
        try:
            return (yield from subject.pre_tokens_work(texts))
        except (ConfigError, FormatError):
            pass  # a text that the pattern does not cover cannot be split
    return []


def losing_work(subject: Subject) -> Observations:
    """Text that no pre-token has."""
    texts = [torture_text(), *subject.lines]
    lost: Counter[str] = Counter()
    example = "", ("",)
    for text, spans in zip(texts, (yield from _split_work(subject, texts)), strict=False):
        at = 0
        for begin, end in [*spans, (len(text), len(text))]:
            if gone := text[at:begin].strip():
                lost[gone[:1]] += len(gone)
                example = example if example[0] else (gone, _pieces(text[max(0, at - 12) : begin + 12], ()))
            at = max(at, end)
    if not lost:
        return
    named = first_few([character for character, _ in lost.most_common()], _NAMED)
    yield Observation(
        f"Splitting drops text that is not white space, such as {named}: it gets no ids.",
        "Use a pattern that covers all text, or the behavior Isolated, if nothing is to be lost.",
        example[0],
    )


def cutting_work(subject: Subject) -> Observations:
    """The share of letters, with the marks on them, that are cut between letter and mark or two marks."""
    import regex

    by_text = len(subject.texts) > 1
    names = list(subject.texts)
    texts = [text[: _MOST_CLUSTERS // len(names)] for text in subject.texts.values()]
    clusters: Counter[str] = Counter()
    cut: Counter[str] = Counter()
    example: tuple[str, tuple[str, ...]] = "", ()
    for name, text, spans in zip(names, texts, (yield from _split_work(subject, texts)), strict=False):
        edges = {begin for begin, _ in spans} | {end for _, end in spans}
        for match in regex.finditer(r"\p{L}\p{M}*", text):
            begin, end = match.span()
            group = name if by_text else script_of(text[begin]) or "Other"
            clusters[group] += 1
            if not edges.isdisjoint(range(begin + 1, end)):
                cut[group] += 1
                if not example[0]:
                    example = _word_around(text, begin, spans)
        yield Progress("checking")
    if not cut:
        return
    worst = sorted(cut, key=lambda group: (-cut[group] / clusters[group], group))
    of_each = [f"{group} {percent_text(cut[group] / clusters[group], 1)}" for group in worst]
    share = percent_text(cut.total() / clusters.total(), 1)
    yield Observation(
        f"The pattern cuts combining marks off {share} of the letters: {first_few(of_each, _NAMED, str)}.",
        "For such languages, choose a pattern whose words have \\p{M}, such as that of GPT-4o (o200k).",
        *example,
    )


def _word_around(text: str, place: int, spans: Sequence[tuple[int, int]]) -> tuple[str, tuple[str, ...]]:
    """The word around a place, and its pre-tokens."""
    begin, end = place, place
    while begin > max(0, place - _LONGEST_WORD) and not text[begin - 1].isspace():
        begin -= 1
    while end < min(len(text), place + _LONGEST_WORD) and not text[end].isspace():
        end += 1
    inside = [(max(begin, left), min(end, right)) for left, right in spans if left < end and right > begin]
    return text[begin:end], _pieces(text, inside)


def digits_work(subject: Subject) -> Observations:
    """Long numbers that are split from the left: 1234567 into 123, 456, 7."""
    spans = yield from _split_work(subject, [_DIGITS])
    pieces = _pieces(_DIGITS, spans[0]) if spans else ()
    if len(pieces) < 2 or len(pieces[0]) < 2 or len(pieces[-1]) >= len(pieces[0]):
        return
    yield Observation(
        f"Numbers are split from the left, into groups of {len(pieces[0])}: the places of digits in a group depend "
        "on the length of the number.",
        "If the model is to calculate, split single digits (qwen2), or from the right (cl100k_right).",
        _DIGITS,
        pieces,
    )


# --- Classes and roles of the configuration ---------------------------------------------------------------------------


def class_work(subject: Subject, changes_ids: bool) -> Observations:
    """A class of transformers that encodes otherwise than the file says, with a text that shows it or without one."""
    read = subject.files.json
    if read is None:
        return
    config, model = subject.files.of(CONFIG), subject.files.of(MODEL)
    named = config.get("tokenizer_class")
    name = class_of(named if isinstance(named, str) else None, model, config.get("auto_map") is not None)
    own = library_class(name)
    if own is None or own.splits is None or not read.byte_level:
        return
    space = config.get("add_prefix_space") is True
    texts = [*_TRIED_FOR_CLASS, *subject.lines]
    changed = yield from _other_ids_work(subject, own, space, texts)
    if bool(changed) != changes_ids:
        return
    spans = yield from _split_work(subject, _TRIED_FOR_CLASS)
    by_class = splitter(own.splits)
    theirs = [tuple(piece.decode() for piece in by_class.split(text)) for text in _TRIED_FOR_CLASS]
    ours = [_pieces(text, of_text) for text, of_text in zip(_TRIED_FOR_CLASS, spans, strict=False)]
    differing = next((text for text, a, b in zip(_TRIED_FOR_CLASS, ours, theirs, strict=False) if a != b), "")
    nfc = any(part.get("type") == "NFC" for part in parts_in(read.settings.get("normalizer")))
    if not (changed or differing or own.nfc != nfc):
        return
    replaced = f"the pattern {own.splits}{' and the normalizer NFC' * own.nfc}"
    sets = f"{'a' if space else 'no'} space before a text, and no ignore_merges"
    known = [text for text in changed if text in _TRIED_FOR_CLASS] or changed
    example = min(known, key=lambda text: (text != differing, len(text))) if changed else differing
    does = "gets other ids" if changed else "is split otherwise, though no text that was tried gets other ids"
    shows = f", so {shown(example)} {does}" if example else ", which the file does not have"
    where = CONFIG if isinstance(named, str) else MODEL
    yield Observation(
        f"{where} names the class {name}: transformers replaces the pattern, the normalizer and the settings of "
        f"the file by {replaced}, {sets}{shows}. Other programs follow the file.",
        'Name "PreTrainedTokenizerFast" as the class, which takes the file whole.',
        example,
        tuple(piece.decode() for piece in by_class.split(example)) if example else (),
    )


def _other_ids_work(subject: Subject, own: LibraryClass, space: bool, texts: Sequence[str]) -> Work[list[str]]:
    """The texts that get other ids by a class; none where the tokenizer does not open."""
    tokenizer = subject.tokenizer
    if tokenizer is None or own.splits is None:
        return []
    if isinstance(tokenizer, LibraryTokenizer):
        file = json.loads(next(iter(tokenizer.source_files.values())))
        split = {"type": "Split", "pattern": {"Regex": written_regex(own.splits)}, "behavior": "Isolated",
                 "invert": False}  # fmt: skip
        level = {"type": "ByteLevel", "add_prefix_space": space, "trim_offsets": True, "use_regex": False}
        steps = {"type": "Sequence", "pretokenizers": [split, level]}
        around = {"normalizer": {"type": "NFC"} if own.nfc else None, "pre_tokenizer": steps}
        model = {**file["model"], "ignore_merges": False}
        other = tokenizer.with_content(json.dumps({**file, **around, "model": model}).encode())
    else:
        preparation = replace(tokenizer.preparation, nfc=own.nfc, prefix_space=space)
        other = tokenizer.changed(
            pattern=own.splits, preparation=preparation, whole_words=frozenset(), ignores_merges=False
        )
    try:
        ours = yield from subject.encode_work(texts, True)
        theirs = yield from replace(subject, tokenizer=other).encode_work(texts, True)
    finally:
        if isinstance(other, LibraryTokenizer):
            other.close()
    encoded = zip(texts, ours, theirs, strict=True)
    return [text for text, a, b in encoded if a is not None and b is not None and not np.array_equal(a, b)]


def ordinary_role_work(subject: Subject) -> Observations:
    """A key `..._token` whose text is an ordinary token, which becomes special."""
    read = subject.files.json
    if read is None:
        return
    known = {token.content for token in read.added} | subject.files.listed().keys()
    made = frozenset(read.merges[:, 2].tolist())
    for name in (CONFIG, MAP):
        if name == MAP and subject.files.decoder() is not None:
            continue  # it is not read
        for role, token in subject.files.roles(name).items():
            if token not in read.vocabulary or token in known:
                continue
            if read.vocabulary[token] in made or not _LOOKS_SPECIAL.fullmatch(token):
                known.add(token)
                value = subject.files.of(name).get(role)
                key = role if text_of(value) else role.rpartition(" ")[0] or role
                yield Observation(
                    f"{name}: {key} is {shown(token)}, an ordinary token (id {read.vocabulary[token]:,}): "
                    "transformers makes it special, finds it in any text, and gives other ids.",
                    f"Remove the key, or name a token that texts do not have, such as {shown('<|' + key + '|>')}.",
                    f"a{token}b",
                    ("a", token, "b"),
                )


RULES = (
    LintRule("pattern-is-literal", "error", "patterns", literal_work),
    LintRule("pattern-never-matches", "error", "patterns", never_matching_work),
    LintRule("role-of-ordinary-token", "error", "roles", ordinary_role_work),
    LintRule("class-changes-ids", "danger", "the class", partial(class_work, changes_ids=True)),
    LintRule("pattern-is-not-given", "remark", "patterns", missing_work),
    LintRule("class-splits-otherwise", "remark", "the class", partial(class_work, changes_ids=False)),
    LintRule("pattern-loses-text", "remark", "what splitting drops", losing_work),
    LintRule("pattern-cuts-marks", "remark", "combining marks", cutting_work),
    LintRule("digits-from-the-left", "remark", "numbers", digits_work),
)
