"""Why another library gives other ids, found by trying: one thing of our tokenizer is changed, and the ids then agree.

A change explains a line only where it gives exactly the ids of the library. `engines` shows what is found.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.analysis.document_encoder import MARK, DocumentEncoder
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import several, shown
from tokstudio.core.formats.gguf.names import O200K_BY_ASCII
from tokstudio.core.pretokenization.patterns import NAMES, REGEX, covering, known_name
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer
from tokstudio.core.tokenizer.self_encoding import pieces_work
from tokstudio.core.tokenizer.tokenizer import Tokenizer

Ids = NDArray[np.int64]
Lines = Sequence[Ids]  # the ids of each line

_MOST_NAMED = 3


@dataclass(frozen=True)
class Cause:
    """What differs in another library: its name, and what it does, the end of a sentence."""

    name: str
    does: str

    def __str__(self) -> str:
        return f"{self.name} ({self.does})" if self.does else self.name


NOT_EXPLAINED = Cause("not explained", "")

_Trial = tuple[Cause, Callable[[], Work[Lines]]]


def causes_work(
    tokenizer: Tokenizer, texts: Sequence[bytes], ours: Lines, theirs: Lines, around: tuple[Ids, Ids]
) -> Work[tuple[Cause, ...]]:
    """The cause of each line that differs; where several changes explain it, the one that explains the most lines.

    Args:
        tokenizer: Our tokenizer.
        texts: The lines, valid UTF-8.
        ours: The ids that it gives them, with the tokens around each text.
        theirs: Those of the library.
        around: The ids of ours that stand before and after each text.

    Raises:
        ConfigError, FormatError: As encoding by the tokenizer.
    """
    explained: list[tuple[Cause, NDArray[np.bool_]]] = []
    for cause, encode in _trials(tokenizer, texts, ours, theirs, around):
        yield Progress("looking for causes", len(explained))
        try:
            tried = yield from encode()
        except (ConfigError, FormatError):
            continue  # what was changed cannot be used
        agrees = np.array([np.array_equal(a, b) for a, b in zip(tried, theirs, strict=True)], np.bool_)
        if agrees.any():
            explained.append((cause, agrees))
        if agrees.all():
            break
    chosen = [NOT_EXPLAINED] * len(texts)
    # The last written counts: the cause of the most lines, and of equally many the first tried.
    for cause, agrees in sorted(reversed(explained), key=lambda each: int(each[1].sum())):
        for number in np.flatnonzero(agrees).tolist():
            chosen[number] = cause
    return tuple(chosen)


def encode_lines_work(encoder: DocumentEncoder, texts: Sequence[bytes]) -> Work[list[Ids]]:
    """The ids of each of some texts."""
    data = np.frombuffer(b"".join(texts), np.uint8)
    parts = yield from encoder.ids_work(data, np.cumsum([len(text) for text in texts], dtype=np.int64))
    marked = np.concatenate([np.empty(0, np.uint32), *parts]).astype(np.int64)
    marks = np.flatnonzero(marked == MARK)
    return [marked[begin + 1 : end] for begin, end in zip([-1, *marks[:-1].tolist()], marks.tolist(), strict=True)]


def _trials(
    tokenizer: Tokenizer, texts: Sequence[bytes], ours: Lines, theirs: Lines, around: tuple[Ids, Ids]
) -> Iterator[_Trial]:
    """Yields changes, the simplest first, with the ids of all lines after each."""
    specials = np.array([*tokenizer.special_tokens.values()], np.int64)
    alone = partial(encode_lines_work, DocumentEncoder(tokenizer), texts)
    yield Cause("BOS", "other tokens stand before or after every text"), partial(_around_work, alone, theirs, specials)
    if (unknown := tokenizer.alphabet.unknown) is not None:
        fused = Cause("unknown characters", "a run of them becomes one token")
        yield fused, partial(_fused_work, ours, unknown)
    for cause, encode in _changes(tokenizer, texts, ours, theirs):
        yield cause, partial(_with_around_work, encode, around)


# --- Tokens around a text ---------------------------------------------------------------------------------------------


def _with_around_work(encode: Callable[[], Work[Lines]], around: tuple[Ids, Ids]) -> Work[Lines]:
    lines = yield from encode()
    return [np.concatenate([around[0], line, around[1]]) for line in lines]


def _around_work(encode: Callable[[], Work[Lines]], theirs: Lines, specials: Ids) -> Work[Lines]:
    """Their ids for each line where these are ours between special tokens; else ours."""
    alone = yield from encode()
    found: list[Ids] = []
    for line, other in zip(alone, theirs, strict=True):
        ordinary = ~np.isin(other, specials)
        inner = slice(int(np.argmax(ordinary)), len(ordinary) - int(np.argmax(ordinary[::-1])))
        same = _stripped(line, specials)
        found.append(other if ordinary.any() and np.array_equal(other[inner], same) else line)
    return found


def _stripped(line: Ids, specials: Ids) -> Ids:
    ordinary = np.flatnonzero(~np.isin(line, specials))
    return line[int(ordinary[0]) : int(ordinary[-1]) + 1] if len(ordinary) else line[:0]


def _fused_work(ours: Lines, unknown: int) -> Work[Lines]:
    yield Progress("looking for causes")
    fused: list[Ids] = []
    for line in ours:
        is_unknown = line == unknown
        fused.append(line[~(is_unknown & np.concatenate([[False], is_unknown[:-1]]))] if len(line) else line)
    return fused


# --- Changes of the tokenizer -----------------------------------------------------------------------------------------


def _changes(tokenizer: Tokenizer, texts: Sequence[bytes], ours: Lines, theirs: Lines) -> Iterator[_Trial]:
    """Yields changes of what is done to a text, of its pattern, and of merging."""
    yield from _added_tokens(tokenizer, texts, ours, theirs)
    preparation = tokenizer.preparation
    own = tokenizer.library is None
    if own:
        space = f"a space {'is not' if preparation.prefix_space else 'is'} put before a text"
        others = {space: replace(preparation, prefix_space=not preparation.prefix_space)}
        if preparation.nfc:
            others["text is not normalized"] = replace(preparation, nfc=False)
        for does, other in others.items():
            encoder = DocumentEncoder(tokenizer, preparation=other)
            yield Cause("normalizer", does), partial(encode_lines_work, encoder, texts)
    for cause, change in _TEXT_CHANGES.items():
        changed = [change(text.decode()).encode() for text in texts]
        if changed != list(texts):
            yield cause, partial(encode_lines_work, DocumentEncoder(tokenizer), changed)
    if own:
        yield Cause("ignore_merges", _MERGES[bool(tokenizer.whole_words)]), partial(_merged_work, tokenizer, texts)
        yield from _patterns(tokenizer, texts)
    elif isinstance(tokenizer, LibraryTokenizer) and tokenizer.library == "tokenizers":
        yield from _of_json(tokenizer, texts)


_MERGES = {
    True: "tokens that a pre-token equals are made by merging, too",
    False: "a pre-token that equals a token becomes it without merging",
}


def _without_marks(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


_TEXT_CHANGES: Mapping[Cause, Callable[[str], str]] = {
    Cause("normalizer", "text is normalized to NFC"): partial(unicodedata.normalize, "NFC"),
    Cause("normalizer", "text is normalized to NFKC"): partial(unicodedata.normalize, "NFKC"),
    Cause("normalizer", "text is normalized to NFD"): partial(unicodedata.normalize, "NFD"),
    Cause("normalizer", "text is normalized to NFKD"): partial(unicodedata.normalize, "NFKD"),
    Cause("normalizer", "text is put into lower case"): str.lower,
    Cause("normalizer", "white space at both ends is removed"): str.strip,
    Cause("white space before line ends", "white space and the line end are removed"): str.rstrip,
    Cause("combining marks dropped", "text is decomposed, and marks are removed"): _without_marks,
    Cause("combining marks dropped", "marks are removed, and letters put into lower case"): lambda text: _without_marks(
        text
    ).lower(),
}


def _added_tokens(tokenizer: Tokenizer, texts: Sequence[bytes], ours: Lines, theirs: Lines) -> Iterator[_Trial]:
    specials = tokenizer.special_tokens
    if not specials:
        return
    name = "added tokens"
    ordinary = tokenizer.preparation.ordinary if tokenizer.library is None else frozenset[str]()
    used, other = (np.unique(np.concatenate([np.empty(0, np.int64), *lines])) for lines in (ours, theirs))
    missing = frozenset(token for token, number in specials.items() if number in used and number not in other)
    if missing and tokenizer.library is None:
        named = ", ".join(map(shown, sorted(missing)[:_MOST_NAMED]))
        kept = {token: number for token, number in specials.items() if token not in missing}
        without = tokenizer.changed(
            special_tokens=kept,
            extra_tokens={**tokenizer.extra_tokens, **{specials[token]: token.encode() for token in missing}},
            preparation=tokenizer.preparation.of({token: token for token in kept}),
        )
        yield Cause(name, f"{named} in a text is text"), partial(encode_lines_work, DocumentEncoder(without), texts)
    if not ordinary:
        encoder = DocumentEncoder(tokenizer, recognise=False)
        yield Cause(name, "they are text"), partial(encode_lines_work, encoder, texts)
    if tokenizer.library is None and not tokenizer.preparation.is_plain:
        preparation = tokenizer.preparation
        plain = Preparation(preparation.nfc, preparation.prefix_space)
        does = "white space and words around them count otherwise"
        encoder = DocumentEncoder(tokenizer, preparation=plain)
        yield Cause(name, does), partial(encode_lines_work, encoder, texts)


def _merged_work(tokenizer: Tokenizer, texts: Sequence[bytes]) -> Work[Lines]:
    """The lines where pre-tokens that equal a token are taken whole, or are not where they are."""
    if tokenizer.whole_words:
        other = tokenizer.changed(whole_words=frozenset(), ignores_merges=False)
    else:
        specials, tokens = frozenset(tokenizer.special_tokens.values()), tokenizer.tokens
        ids = [token for token in map(int, tokens.ids()) if token not in specials and tokens[token]]
        pieces = yield from pieces_work(tokenizer, [tokens[token] or b"" for token in ids])
        whole = frozenset(token for token, count in zip(ids, pieces.tolist(), strict=True) if count != 1)
        other = tokenizer.changed(whole_words=whole)
    return (yield from encode_lines_work(DocumentEncoder(other), texts))


# --- Changes of the pattern -------------------------------------------------------------------------------------------

_CLASS = r"\[(?:\\.|[^\]\\])*\]"
_LETTERS = re.compile(_CLASS + r"|\\p\{L\}")
_DIGITS = re.compile(_CLASS + r"|\\p\{N\}(?:\{1,3\}\+?|\+{1,2})?|\\d(?:\{1,3\}|\+)?")
_FROM_RIGHT = r"\d{1,3}(?=(?:\d{3})*(?!\d))|"
_ENDS = (r"\s++$|", r"\s*[\r\n]+|", r"\s*[\r\n]|", "[\\r\\n]*+", "[\\r\\n/]*", "[\\r\\n]*")
_LINE_ENDS = {r"\s*[\r\n]+|": r"\s*[\r\n]|", r"\s*[\r\n]|": r"\s*[\r\n]+|"}
# o200k as llama.cpp has it under the names gpt-4o and llama4 (src/llama-vocab.cpp): a mark is no letter, and only ASCII
# has cases.
_O200K_WITHOUT_MARKS = (
    r"[^\r\n\p{L}\p{N}]?(?:(?=\p{L})[^a-z])*(?:(?=\p{L})[^A-Z])+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?(?:(?=\p{L})[^a-z])+(?:(?=\p{L})[^A-Z])*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def changed_patterns(regex: str) -> Iterator[tuple[Cause, str]]:
    """Yields expressions that differ from one in one thing, each with what that is."""
    if r"\p{Lu}" in regex:
        yield Cause("words in capitals with an accented letter", "only ASCII has cases"), O200K_BY_ASCII
    marks = "combining marks dropped"
    if r"\p{M}" in regex:
        yield Cause(marks, "they are no part of words"), regex.replace(r"\p{M}", "")
        yield Cause(marks, "they are no part of words, and only ASCII has cases"), _O200K_WITHOUT_MARKS
    else:
        with_marks = _LETTERS.sub(_with_marks, regex)
        yield Cause("combining marks", "they are part of words"), with_marks
    for digits, does in (
        (r"\p{N}", "each digit is split alone"),
        (r"\p{N}{1,3}", "digits are split in threes from the left"),
        (rf"{_FROM_RIGHT}\p{{N}}{{1,3}}", "digits are split in threes from the right"),
        (r"\p{N}+", "digits stay together"),
    ):
        other = _DIGITS.sub(partial(_with_digits, f"(?:{digits})"), regex.replace(_FROM_RIGHT, ""))
        yield Cause("digits", does), other
        if " ?(?:" in other:
            yield Cause("digits", f"{does}, without the space before them"), other.replace(f" ?(?:{digits})", digits)
    contractions = "contractions by case"
    if "(?i:" in regex:
        yield Cause(contractions, "'S is not split as 's is"), regex.replace("(?i:", "(?:")
    elif "'(?:[sdmt]|ll|ve|re)" in regex or "(?:'s|'t|" in regex:
        other = regex.replace("'(?:[sdmt]|ll|ve|re)", "'(?i:[sdmt]|ll|ve|re)").replace("(?:'s|'t|", "(?i:'s|'t|")
        yield Cause(contractions, "'S is split as 's is"), other
    elif regex.startswith("'s|'t|'re|'ve|'m|'ll|'d|"):
        others = regex.removeprefix("'s|'t|'re|'ve|'m|'ll|'d|")
        yield Cause(contractions, "'S is split as 's is"), f"(?i:'s|'t|'re|'ve|'m|'ll|'d)|{others}"
    ends = "white space before line ends"
    for part in _ENDS:
        if part in regex and f"{part}+" not in regex:
            other = _LINE_ENDS.get(part, "")
            yield (
                Cause(ends, "line ends and the white space before them are split otherwise"),
                regex.replace(part, other),
            )
            if other:
                yield Cause(ends, "they are white space like any other"), regex.replace(part, "")
    if not any(part in regex for part in _LINE_ENDS) and r"|\s+(?!\S)" in regex:
        for part in _LINE_ENDS:
            yield (
                Cause(ends, "white space up to a line end stays together"),
                regex.replace(r"|\s+(?!\S)", rf"|{part}\s+(?!\S)"),
            )


def _with_marks(match: re.Match[str]) -> str:
    return r"[\p{L}\p{M}]" if match[0] == r"\p{L}" else match[0].replace(r"\p{L}", r"\p{L}\p{M}")


def _with_digits(digits: str, match: re.Match[str]) -> str:
    return match[0] if match[0].startswith("[") else digits


def _patterns(tokenizer: Tokenizer, texts: Sequence[bytes]) -> Iterator[_Trial]:
    pattern = known_name(tokenizer.pattern)
    if pattern != "none":
        for cause, other in changed_patterns(REGEX.get(pattern, pattern)):
            if other != REGEX.get(pattern, pattern):
                yield cause, partial(_split_work, tokenizer, other, texts)
    for name in (*NAMES[1:], NAMES[0]):
        if name != pattern:
            does = "text is not split" if name == "none" else f"text is split as by {name}"
            yield Cause("pattern", does), partial(_split_work, tokenizer, name, texts)


def _split_work(tokenizer: Tokenizer, pattern: str, texts: Sequence[bytes]) -> Work[Lines]:
    encoder = DocumentEncoder(tokenizer, pattern=covering(pattern))
    return (yield from encode_lines_work(encoder, texts))


# --- Changes of a `tokenizer.json` whose own library encodes ----------------------------------------------------------


def _of_json(tokenizer: LibraryTokenizer, texts: Sequence[bytes]) -> Iterator[_Trial]:
    content = next(iter(tokenizer.source_files.values()))
    file = cast("dict[str, Any]", json.loads(content))
    if file.get("normalizer") is not None:
        cause = Cause("normalizer", "text is not normalized")
        yield cause, partial(_changed_work, tokenizer, {**file, "normalizer": None}, texts)
    model: dict[str, Any] = file.get("model") or {}
    if "ignore_merges" in model:
        ignores = bool(model["ignore_merges"])
        changed = {**file, "model": {**model, "ignore_merges": not ignores}}
        yield Cause("ignore_merges", _MERGES[ignores]), partial(_changed_work, tokenizer, changed, texts)
    before = json.dumps(file.get("pre_tokenizer"))
    for regex in dict.fromkeys(_expressions(file.get("pre_tokenizer"))):
        for cause, other in changed_patterns(regex):
            after = before.replace(json.dumps(regex), json.dumps(other))
            if after != before:
                yield cause, partial(_changed_work, tokenizer, {**file, "pre_tokenizer": json.loads(after)}, texts)


def _expressions(value: object) -> Iterator[str]:
    """Yields the expressions by which pre-tokenizers split."""
    match value:
        case {"Regex": str(regex)}:
            yield regex
        case dict():
            for inner in cast("dict[str, object]", value).values():
                yield from _expressions(inner)
        case list():
            for inner in cast("list[object]", value):
                yield from _expressions(inner)
        case _:
            pass


def _changed_work(tokenizer: LibraryTokenizer, file: dict[str, Any], texts: Sequence[bytes]) -> Work[Lines]:
    other = tokenizer.with_content(json.dumps(file, ensure_ascii=False).encode())
    try:
        return (yield from encode_lines_work(DocumentEncoder(other), texts))
    finally:
        other.close()


def counted(causes: Sequence[Cause]) -> dict[Cause, int]:
    """How many lines each cause has, the most frequent first, those without a cause last."""
    found = {cause: causes.count(cause) for cause in dict.fromkeys(causes)}
    return dict(sorted(found.items(), key=lambda item: (item[0] == NOT_EXPLAINED, -item[1])))


def causes_text(found: Mapping[Cause, int]) -> str:
    """Causes in words; with their lines where there are several."""
    if len(found) == 1:
        return str(next(iter(found)))
    return "; ".join(f"{cause}: {several(lines, 'line')}" for cause, lines in found.items())
