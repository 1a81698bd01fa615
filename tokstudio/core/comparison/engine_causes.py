"""Why another library gives other ids, found by trying: one thing of our tokenizer is changed, and the ids then agree.

A change explains a line only where it gives exactly the ids of the library; two at once are tried where none does.
`engines` shows what is found.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from tokstudio.core.analysis.document_encoder import DocumentEncoder
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import several, shown
from tokstudio.core.formats.common.spelling import taken_whole_work
from tokstudio.core.formats.gguf.names import O200K_BY_ASCII
from tokstudio.core.pretokenization.patterns import NAMES, REGEX, covering, known_name
from tokstudio.core.pretokenization.preparation import Preparation
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ids: TypeAlias = "NDArray[np.int64]"
Lines = Sequence[Ids]  # the ids of each line

_File = dict[str, Any]  # the content of a `tokenizer.json`

_MOST_NAMED = 3
# Of the lines that no single change explains, some are looked at, with so many pairs of changes.
_MOST_PAIRED, _MOST_PAIRS, _MOST_PAIRS_OF_A_LIBRARY = 200, 300, 30


@dataclass(frozen=True)
class Cause:
    """What differs in another library: its name, and what it does, the end of a sentence."""

    name: str
    does: str

    def __str__(self) -> str:
        return f"{self.name} ({self.does})" if self.does else self.name


NOT_EXPLAINED = Cause("not explained", "")


@dataclass(frozen=True, eq=False)
class _Change:
    """One thing that is changed; each field but the cause is one that a library may do otherwise."""

    cause: Cause
    text: Callable[[str], str] | None = None  # what is done to a text before
    # A `tokenizer.json` that says something else; None where it would not.
    file: Callable[[_File], _File | None] | None = None
    tokenizer: Callable[[Tokenizer], Work[Tokenizer]] | None = None  # another tokenizer with the same numbers
    preparation: Callable[[Preparation], Preparation] | None = None  # what is done to a text as a whole
    pattern: Callable[[str], str | None] | None = None  # another pattern; None where it would not be one
    recognise: bool = True  # whether special tokens are found in a text
    line: Callable[[Ids], Ids] | None = None  # what becomes of the ids of a text
    ends: bool = False  # whether other special tokens may stand before and after the ids of a text


@dataclass(frozen=True, eq=False)
class _Differing:
    """Lines that differ: their texts, our ids of each and theirs, and the ids of ours around each text."""

    tokenizer: Tokenizer
    texts: Sequence[bytes]
    ours: Lines
    theirs: Lines
    around: tuple[Ids, Ids]

    def only(self, numbers: Sequence[int]) -> _Differing:
        """Some of the lines."""
        ours, theirs = ([lines[n] for n in numbers] for lines in (self.ours, self.theirs))
        return replace(self, texts=[self.texts[n] for n in numbers], ours=ours, theirs=theirs)


def causes_work(
    tokenizer: Tokenizer, texts: Sequence[bytes], ours: Lines, theirs: Lines, around: tuple[Ids, Ids]
) -> Work[tuple[Cause, ...]]:
    """The cause of each line that differs; where several changes explain it, the one that explains the most lines.

    Where no single change explains a line, two at once are tried, for a part of such lines.

    Args:
        tokenizer: Our tokenizer.
        texts: The lines, valid UTF-8.
        ours: The ids that it gives them, with the tokens around each text.
        theirs: Those of the library.
        around: The ids of ours that stand before and after each text.

    Raises:
        ConfigError, FormatError: As encoding by the tokenizer.
    """
    lines = _Differing(tokenizer, texts, ours, theirs, around)
    changes = [*_changes(lines)]
    # What changes nothing in a line has no part in its cause.
    effects: dict[int, NDArray[np.bool_]] = {}
    explained: list[tuple[Cause, NDArray[np.bool_]]] = []
    for number, change in enumerate(changes):
        yield Progress("looking for causes", number)
        tried = yield from _tried_work(lines, change)
        if tried is None:
            continue
        # Other ends alone are those of a library only where nothing else differs.
        effects[number] = np.ones(len(texts), np.bool_) if change.ends else _differs(tried, ours)
        agrees = ~_differs(tried, theirs)
        if agrees.any():
            explained.append((change.cause, agrees))
        if agrees.all():
            break
    chosen = _chosen(explained, len(texts))
    left = [number for number, cause in enumerate(chosen) if cause == NOT_EXPLAINED]
    if left:
        some = left[:: -(-len(left) // _MOST_PAIRED)]
        acting = {number: effect[some] for number, effect in effects.items() if effect[some].any()}
        pairs = yield from _pairs_work(lines.only(some), changes, acting)
        found: list[tuple[Cause, NDArray[np.bool_]]] = []
        for first, second in pairs:
            tried = yield from _tried_work(lines.only(left), first, second)
            if tried is not None:
                found.append((_joined(first.cause, second.cause), ~_differs(tried, lines.only(left).theirs)))
        for number, cause in zip(left, _chosen(found, len(left)), strict=True):
            chosen[number] = cause
    return tuple(chosen)


def _pairs_work(
    lines: _Differing, changes: Sequence[_Change], acting: Mapping[int, NDArray[np.bool_]]
) -> Work[list[tuple[_Change, _Change]]]:
    """The pairs of changes that explain lines; `acting` has the changes that change one, with the lines they change."""
    found: list[tuple[_Change, _Change]] = []
    most = _MOST_PAIRS_OF_A_LIBRARY if lines.tokenizer.library is not None else _MOST_PAIRS
    explained, tries = np.zeros(len(lines.texts), np.bool_), 0
    for one, other in combinations(acting, 2):
        first, second = changes[one], changes[other]
        # Two of one kind contradict each other, but for what is done to a text.
        is_text = first.text is not None and second.text is not None
        if first.cause.name == second.cause.name and not is_text:
            continue
        if not (acting[one] & acting[other] & ~explained).any():
            continue
        tries += 1
        yield Progress("looking for causes", len(changes) + tries)
        tried = yield from _tried_work(lines, first, second)
        agrees = None if tried is None else ~_differs(tried, lines.theirs) & ~explained
        if agrees is not None and agrees.any():
            found.append((first, second))
            explained |= agrees
        if tries == most or explained.all():
            break
    return found


def _joined(first: Cause, second: Cause) -> Cause:
    names = dict.fromkeys((first.name, second.name))
    return Cause(" and ".join(names), f"{first.does}; {second.does}")


def _chosen(explained: Sequence[tuple[Cause, NDArray[np.bool_]]], count: int) -> list[Cause]:
    chosen = [NOT_EXPLAINED] * count
    # The last written counts: the cause of the most lines, and of equally many the first tried.
    for cause, agrees in sorted(reversed(explained), key=lambda each: int(each[1].sum())):
        for number in np.flatnonzero(agrees).tolist():
            chosen[number] = cause
    return chosen


def _differs(some: Lines, others: Lines) -> NDArray[np.bool_]:
    return np.array([not np.array_equal(a, b) for a, b in zip(some, others, strict=True)], np.bool_)


def encode_lines_work(encoder: DocumentEncoder, texts: Sequence[bytes]) -> Work[list[Ids]]:
    """The ids of each of some texts."""
    ids, counts = yield from encoder.texts_work(texts)
    return np.split(ids.astype(np.int64), np.cumsum(counts)[:-1]) if len(texts) else []


# --- Lines with one or two changes ------------------------------------------------------------------------------------


def _tried_work(lines: _Differing, *changes: _Change) -> Work[list[Ids] | None]:
    """The ids of the lines with all of these changes; None where they cannot be made together, or nothing changes."""
    texts: list[bytes] = [*lines.texts]
    for change in changes:
        if change.text is not None:
            changed = [change.text(text.decode()).encode() for text in texts]
            if changed == texts:
                return None
            texts = changed
    try:
        tokenizer = yield from _changed_work(lines.tokenizer, changes)
        if tokenizer is None:
            return None
        try:
            encoder = _encoder(tokenizer, changes)
            tried = None if encoder is None else (yield from encode_lines_work(encoder, texts))
        finally:
            if tokenizer is not lines.tokenizer and isinstance(tokenizer, LibraryTokenizer):
                tokenizer.close()
    except (ConfigError, FormatError):
        return None  # what was changed cannot be used
    if tried is None:
        return None
    for change in changes:
        tried = tried if change.line is None else [change.line(ids) for ids in tried]
    before, after = lines.around
    whole = [np.concatenate([before, ids, after]) for ids in tried]
    return _with_other_ends(lines, tried, whole) if any(change.ends for change in changes) else whole


def _changed_work(tokenizer: Tokenizer, changes: Sequence[_Change]) -> Work[Tokenizer | None]:
    for change in changes:
        if change.tokenizer is not None:
            tokenizer = yield from change.tokenizer(tokenizer)
    files = [change.file for change in changes if change.file is not None]
    if files and isinstance(tokenizer, LibraryTokenizer):
        content: _File | None = json.loads(next(iter(tokenizer.source_files.values())))
        for change in files:
            content = None if content is None else change(content)
        return None if content is None else tokenizer.with_content(json.dumps(content, ensure_ascii=False).encode())
    return tokenizer


def _encoder(tokenizer: Tokenizer, changes: Sequence[_Change]) -> DocumentEncoder | None:
    patterns = [change.pattern for change in changes if change.pattern is not None]
    pattern: str | None = known_name(tokenizer.pattern)
    for change in patterns:
        other = None if pattern is None else change(pattern)
        pattern = None if other == pattern else other
    if pattern is None:
        return None
    preparation = tokenizer.preparation
    for change in changes:
        preparation = preparation if change.preparation is None else change.preparation(preparation)
    return DocumentEncoder(
        tokenizer,
        recognise=all(change.recognise for change in changes),
        pattern=covering(pattern) if patterns else None,
        preparation=preparation,
    )


def _with_other_ends(lines: _Differing, tried: Lines, whole: Lines) -> list[Ids]:
    """Their ids for each line where these are all that was tried between special tokens; else ours."""
    specials = np.array([*lines.tokenizer.special_tokens.values()], np.int64)
    each = zip(tried, whole, lines.theirs, strict=True)
    return [other if _is_between(line, other, specials) else own for line, own, other in each]


def _is_between(line: Ids, other: Ids, specials: Ids) -> bool:
    """Whether other ids are those of a line with nothing but special tokens before and after them."""
    ordinary = np.flatnonzero(~np.isin(other, specials))
    if not len(line) or not len(ordinary):
        return False
    size, last_start = len(line), int(ordinary[0])
    # Special tokens of the line itself may stand at its ends.
    return any(
        np.array_equal(other[start : start + size], line)
        for start in range(max(0, int(ordinary[-1]) + 1 - size), last_start + 1)
    )


# --- Changes ----------------------------------------------------------------------------------------------------------


def _changes(lines: _Differing) -> Iterator[_Change]:
    """Yields changes, the simplest first."""
    tokenizer = lines.tokenizer
    yield _Change(Cause("BOS", "other tokens stand before or after every text"), ends=True)
    if (unknown := tokenizer.alphabet.unknown) is not None:
        fused = Cause("unknown characters", "a run of them becomes one token")
        yield _Change(fused, line=partial(_fused, unknown))
    yield from _added_tokens(lines)
    preparation = tokenizer.preparation
    own = tokenizer.library is None
    if own:
        does = f"a space {'is not' if preparation.prefix_space else 'is'} put before a text"
        other = partial(_prepared, prefix_space=not preparation.prefix_space)
        yield _Change(Cause("normalizer", does), preparation=other)
        if preparation.nfc:
            yield _Change(Cause("normalizer", "text is not normalized"), preparation=partial(_prepared, nfc=False))
    for cause, change in _TEXT_CHANGES.items():
        yield _Change(cause, text=change)
    if own:
        yield _Change(Cause("ignore_merges", _MERGES[bool(tokenizer.whole_words)]), tokenizer=_merged_work)
        yield from _patterns(tokenizer)
    elif isinstance(tokenizer, LibraryTokenizer) and tokenizer.library == "tokenizers":
        yield from _of_json(tokenizer)


def _prepared(preparation: Preparation, **fields: Any) -> Preparation:  # noqa: ANN401
    return replace(preparation, **fields)


def _fused(unknown: int, line: Ids) -> Ids:
    is_unknown = line == unknown
    return line[~(is_unknown & np.concatenate([[False], is_unknown[:-1]]))] if len(line) else line


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


def _added_tokens(lines: _Differing) -> Iterator[_Change]:
    tokenizer = lines.tokenizer
    specials = tokenizer.special_tokens
    if not specials:
        return
    name = "added tokens"
    ordinary = tokenizer.preparation.ordinary if tokenizer.library is None else frozenset[str]()
    used, other = (np.unique(np.concatenate([np.empty(0, np.int64), *ids])) for ids in (lines.ours, lines.theirs))
    missing = frozenset(token for token, number in specials.items() if number in used and number not in other)
    if missing and tokenizer.library is None:
        named = ", ".join(map(shown, sorted(missing)[:_MOST_NAMED]))
        yield _Change(Cause(name, f"{named} in a text is text"), tokenizer=partial(_without_work, missing))
    if not ordinary:
        yield _Change(Cause(name, "they are text"), recognise=False)
    if tokenizer.library is None and not tokenizer.preparation.is_plain:
        does = "white space and words around them count otherwise"
        yield _Change(Cause(name, does), preparation=_plain)


def _without_work(missing: frozenset[str], tokenizer: Tokenizer) -> Work[Tokenizer]:
    yield Progress("looking for causes")
    specials = tokenizer.special_tokens
    kept = {token: number for token, number in specials.items() if token not in missing}
    return tokenizer.changed(
        special_tokens=kept,
        extra_tokens={**tokenizer.extra_tokens, **{specials[token]: token.encode() for token in missing}},
        preparation=tokenizer.preparation.of({token: token for token in kept}),
    )


def _plain(preparation: Preparation) -> Preparation:
    return Preparation(preparation.nfc, preparation.prefix_space)


def _merged_work(tokenizer: Tokenizer) -> Work[Tokenizer]:
    """One that takes pre-tokens whole that equal a token, or does not where ours does."""
    if tokenizer.whole_words:
        return tokenizer.changed(whole_words=frozenset(), ignores_merges=False)
    return tokenizer.changed(whole_words=(yield from taken_whole_work(tokenizer)))


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


def _nth_change(cause: Cause, nth: int, pattern: str) -> str | None:
    """A pattern with the change of a cause, the nth of that; None where it has none."""
    regex = REGEX.get(pattern, pattern)
    found = [other for each, other in changed_patterns(regex) if each == cause] if pattern != "none" else []
    return found[nth] if nth < len(found) and found[nth] != regex else None


def _numbered(regex: str) -> Iterator[tuple[Cause, int]]:
    """Yields the causes for which a pattern is changed, each with how many of the same came before."""
    seen: Counter[Cause] = Counter()
    for cause, _ in changed_patterns(regex):
        yield cause, seen[cause]
        seen[cause] += 1


def _patterns(tokenizer: Tokenizer) -> Iterator[_Change]:
    pattern = known_name(tokenizer.pattern)
    if pattern != "none":
        for cause, nth in _numbered(REGEX.get(pattern, pattern)):
            yield _Change(cause, pattern=partial(_nth_change, cause, nth))
    for name in (*NAMES[1:], NAMES[0]):
        if name != pattern:
            does = "text is not split" if name == "none" else f"text is split as by {name}"
            yield _Change(Cause("pattern", does), pattern=partial(_replaced, name))


def _replaced(by: str, pattern: str) -> str:
    return by


# --- Changes of a `tokenizer.json` whose own library encodes ----------------------------------------------------------


def _of_json(tokenizer: LibraryTokenizer) -> Iterator[_Change]:
    file: _File = json.loads(next(iter(tokenizer.source_files.values())))
    if file.get("normalizer") is not None:
        yield _Change(Cause("normalizer", "text is not normalized"), file=lambda file: {**file, "normalizer": None})
    model: _File = file.get("model") or {}
    if "ignore_merges" in model:
        yield _Change(Cause("ignore_merges", _MERGES[bool(model["ignore_merges"])]), file=_ignoring_otherwise)
    for number, regex in enumerate(dict.fromkeys(_expressions(file.get("pre_tokenizer")))):
        for cause, nth in _numbered(regex):
            yield _Change(cause, file=partial(_with_expression, number, cause, nth))


def _ignoring_otherwise(file: _File) -> _File:
    return {**file, "model": {**file["model"], "ignore_merges": not file["model"]["ignore_merges"]}}


def _with_expression(number: int, cause: Cause, nth: int, file: _File) -> _File | None:
    """The file with a change of one of the expressions of its pre-tokenizer."""
    regex = [*dict.fromkeys(_expressions(file["pre_tokenizer"]))][number]
    other = _nth_change(cause, nth, regex)
    if other is None:
        return None
    after = json.dumps(file["pre_tokenizer"]).replace(json.dumps(regex), json.dumps(other))
    return {**file, "pre_tokenizer": json.loads(after)}


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


def counted(causes: Sequence[Cause]) -> dict[Cause, int]:
    """How many lines each cause has, the most frequent first, those without a cause last."""
    found = {cause: causes.count(cause) for cause in dict.fromkeys(causes)}
    return dict(sorted(found.items(), key=lambda item: (item[0] == NOT_EXPLAINED, -item[1])))


def causes_text(found: Mapping[Cause, int]) -> str:
    """Causes in words; with their lines where there are several."""
    if len(found) == 1:
        return str(next(iter(found)))
    return "; ".join(f"{cause}: {several(lines, 'line')}" for cause, lines in found.items())
