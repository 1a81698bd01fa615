"""What differs between two tokenizers: ids, tokens, merges, special tokens, roles, how text is split, and texts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.analysis.document_encoder import DocumentEncoder
from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.progress import Progress, Work, finish
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import percent_text, several, shown
from tokstudio.core.comparison.alignment import cut_work, line_units_work
from tokstudio.core.comparison.vocabularies import Vocabularies, vocabularies_work
from tokstudio.core.corpus.source import Source, groups
from tokstudio.core.formats.loading import load_work
from tokstudio.core.model.settings import PATTERNS
from tokstudio.core.pretokenization.patterns import known_name
from tokstudio.core.pretokenization.preparation import SETS
from tokstudio.core.text.utf8 import AnyPath, Text
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

Texts = Mapping[str, Source | Text | Sequence[Text]]
SpecialChange = tuple[str, int | None, int | None, tuple[str, ...], tuple[str, ...]]
Merges = tuple[tuple[int, bytes, bytes], ...]

_NAMES = "A", "B"
_STEP = 1 << 12
_GROUP, _LINES = 1 << 22, 1 << 16  # bytes and lines that are encoded together
_MOST_LINES = 3  # of a text that are shown
_LONGEST = 3_000  # characters of a line that are shown
_MOST_SPECIALS = 6  # that are named
_SHORT = 160  # characters of a setting in a sentence


@dataclass(frozen=True)
class LineChange:
    """A line that becomes other tokens, with the bytes of each token."""

    number: int  # from 1, among the lines of all documents of the text
    place: str  # in its file, as `LineUnits.place`
    text: str
    a: tuple[bytes, ...]
    b: tuple[bytes, ...]


@dataclass(frozen=True)
class TextChange:
    """What becomes of the lines of a text, each a `LineUnits` has; special tokens in it are text."""

    name: str
    lines: int
    changed: int  # lines with other ids
    split: int  # lines with other tokens, whatever their ids are
    tokens: tuple[int, int]  # of the text
    first: tuple[LineChange, ...]  # the first lines with other tokens; where there are none, with other ids


@dataclass(frozen=True)
class Differences:
    """What differs between two tokenizers, A and B; everything is empty where they are the same.

    Two tokens are the same if they have the same bytes and both are special, or neither is.

    Attributes:
        names: Those of A and B in sentences.
        sizes: How many tokens each has.
        ids_changed: Ids that both have with different tokens: the id, and the bytes in A and in B.
        moved: Tokens that both have with different ids: the bytes, and the id in A and in B; no special tokens.
        only_a: Tokens that only A has: the id and the bytes; no special tokens.
        only_b: Tokens that only B has.
        merges_inserted: Merges that make a token in B alone: the number, from 1, and the bytes of both parts. Of the
            merges of a file that join to the same token, that is the one which makes it.
        merges_removed: Merges that make a token in A alone.
        merges_moved: How many merges of both stand in another order: the fewest that would have to move.
        specials: Special and other added tokens with another id, or found in another way: the text, the id in A and in
            B, None where it has none, and how each finds it (see `Preparation`).
        roles: Roles of special tokens: the role, and the token in A and in B.
        pattern: How text is split and what is done to it before and after, each difference a sentence.
        texts: The texts that change.
        lines_compared: The lines of all texts.
        same_ids_from_0: How many ids from 0 on have the same token in both, or none in both.
        same_ids: How many ids have the same token in both.
    """

    names: tuple[str, str] = _NAMES
    sizes: tuple[int, int] = (0, 0)
    ids_changed: tuple[tuple[int, bytes, bytes], ...] = ()
    moved: tuple[tuple[bytes, int, int], ...] = ()
    only_a: tuple[tuple[int, bytes], ...] = ()
    only_b: tuple[tuple[int, bytes], ...] = ()
    merges_inserted: Merges = ()
    merges_removed: Merges = ()
    merges_moved: int = 0
    specials: tuple[SpecialChange, ...] = ()
    roles: tuple[tuple[str, str | None, str | None], ...] = ()
    pattern: tuple[str, ...] = ()
    texts: tuple[TextChange, ...] = ()
    lines_compared: int = 0
    same_ids_from_0: int = 0
    same_ids: int = 0
    vocabularies: Vocabularies | None = field(default=None, compare=False, repr=False)

    @property
    def differs(self) -> bool:
        """Whether anything does."""
        return any(map(bool, self._parts))

    @property
    def _parts(self) -> tuple[object, ...]:
        merges = self.merges_inserted, self.merges_removed, self.merges_moved
        tokens = self.ids_changed, self.moved, self.only_a, self.only_b
        return *tokens, *merges, self.specials, self.roles, self.pattern, self.texts

    @property
    def draft(self) -> str:
        """Whether A can draft for B in speculative decoding, where both must mean the same by an id: a sentence."""
        a, b = self.names
        if not self.ids_changed and self.same_ids == self.sizes[0] == self.sizes[1]:
            return f"{a} can draft for {b}: all {several(self.same_ids, 'id')} mean the same."
        if self.same_ids == self.sizes[0]:
            more = self.sizes[1] - self.sizes[0]
            return (
                f"{a} can draft for {b}: all its {several(self.same_ids, 'id')} mean the same; {b} has {more:,} more."
            )
        share = percent_text(self.same_ids / max(1, self.sizes[0]), 1)
        return (
            f"{a} cannot draft for {b} by ids: the first {self.same_ids_from_0:,} mean the same, and of all "
            f"{self.same_ids:,} ({share} of {a}'s)."
        )

    def sentences(self) -> Iterator[str]:
        """Yields what differs, a sentence each, then whether A can draft for B."""
        a, b = self.names
        if not self.differs:
            yield f"{a} and {b} are the same."
        first = [f"{at:,}: {_shown(one)} in {a}, {_shown(other)} in {b}" for at, one, other in self.ids_changed[:1]]
        only = [[_shown(token) for _, token in tokens[:1]] for tokens in (self.only_a, self.only_b)]
        counted = (
            (len(self.ids_changed), "id has another token", "ids have another token", first),
            (len(self.moved), "token has another id", "tokens have another id", first[:0]),
            (len(self.only_a), f"token only in {a}", f"tokens only in {a}", only[0]),
            (len(self.only_b), f"token only in {b}", f"tokens only in {b}", only[1]),
        )  # fmt: skip
        for count, one, many, example in counted:
            if count:
                yield f"{several(count, one, many)}{', such as ' if example else ''}{''.join(example)}."
        for rows, name in ((self.merges_inserted, b), (self.merges_removed, a)):
            if rows:
                number, *parts = rows[0]
                merge = f"the first is {number:,}, {' '.join(map(_shown, parts))}"
                yield f"{several(len(rows), 'merge makes a token', 'merges make a token')} only in {name}: {merge}."
        if self.merges_moved:
            yield f"{several(self.merges_moved, 'merge is', 'merges are')} in another order."
        for token, one, other, found, other_found in self.specials[:_MOST_SPECIALS]:
            yield f"Special token {shown(token)}: {_special(one, found)} in {a}, {_special(other, other_found)} in {b}."
        if (more := len(self.specials) - _MOST_SPECIALS) > 0:
            yield f"{several(more, 'more special token differs', 'more special tokens differ')}."
        for role, one, other in self.roles:
            yield f"Role {role.removesuffix('_token')}: {_or_none(one)} in {a}, {_or_none(other)} in {b}."
        yield from self.pattern
        for text in self.texts:
            yield (
                f"{text.name}: {text.changed:,} of {several(text.lines, 'line')} have other ids, {text.split:,} other "
                f"tokens; {text.tokens[0]:,} tokens in {a}, {text.tokens[1]:,} in {b}."
            )
        if self.lines_compared and not self.texts:
            yield f"{several(self.lines_compared, 'line has', 'lines have')} the same ids in both."
        yield self.draft

    def lines(self) -> Iterator[str]:
        """Yields the sentences, and below them the first lines of each text that become other tokens, stacked."""
        yield from self.sentences()
        width = max(map(len, self.names))
        for text in self.texts:
            for line in text.first:
                yield f"{text.name}, {line.place}:"
                for name, pieces in zip(self.names, (line.a, line.b), strict=True):
                    yield f"  {name:<{width}}  {'|'.join(map(_text, pieces))}"

    def to_plain(self) -> dict[str, Any]:
        r"""The same as values for JSON; bytes that are not UTF-8 are written as `\xff`."""
        return {
            "ids_changed": [{"id": number, "a": _text(a), "b": _text(b)} for number, a, b in self.ids_changed],
            "moved": [{"token": _text(token), "a": a, "b": b} for token, a, b in self.moved],
            "only_a": [{"id": number, "token": _text(token)} for number, token in self.only_a],
            "only_b": [{"id": number, "token": _text(token)} for number, token in self.only_b],
            "merges_inserted": _merges_as_plain(self.merges_inserted),
            "merges_removed": _merges_as_plain(self.merges_removed),
            "merges_moved": self.merges_moved,
            "specials": [
                {"token": token, "a": a, "b": b, "found_a": list(found), "found_b": list(other)}
                for token, a, b, found, other in self.specials
            ],
            "roles": [{"role": role, "a": a, "b": b} for role, a, b in self.roles],
            "pattern": list(self.pattern),
            "texts": [
                {
                    "name": text.name,
                    "lines": text.lines,
                    "changed": text.changed,
                    "split": text.split,
                    "tokens_a": text.tokens[0],
                    "tokens_b": text.tokens[1],
                    "first": [
                        {"line": line.number, "place": line.place, "text": line.text}
                        | {"a": [*map(_text, line.a)], "b": [*map(_text, line.b)]}
                        for line in text.first
                    ],
                }
                for text in self.texts
            ],
            "lines_compared": self.lines_compared,
            "same_ids_from_0": self.same_ids_from_0,
            "same_ids": self.same_ids,
            "draft": self.draft,
            "error": None,
        }  # fmt: skip


def diff(a: Tokenizer | AnyPath, b: Tokenizer | AnyPath, texts: Texts | None = None) -> Differences:
    """What differs between two tokenizers.

    Args:
        a: A tokenizer, or a file or folder to load it from.
        b: The other one.
        texts: Texts by name whose lines are encoded by both: each one text, or a sequence of texts.

    Raises:
        ConfigError: A character of a text is not in a vocabulary.
        FormatError: A tokenizer cannot be loaded, or a library refuses a text.
    """
    opened = [each if isinstance(each, Tokenizer) else finish(load_work(each)).tokenizer for each in (a, b)]
    return finish(diff_work(opened[0], opened[1], texts or {}))


def diff_work(a: Tokenizer, b: Tokenizer, texts: Texts, names: tuple[str, str] = _NAMES) -> Work[Differences]:
    """Does the same as `diff` in bounded pieces, with other names in sentences."""
    vocabularies = yield from vocabularies_work(a, b)
    rows = yield from _rows_work((a, b), vocabularies)
    size = max(map(len, rows))
    padded = [np.concatenate([each, np.full(size - len(each), -1)]) for each in rows]
    same, in_both = padded[0] == padded[1], (padded[0] >= 0) & (padded[1] >= 0)
    tokens, ids = vocabularies.tokens, vocabularies.ids
    first, second = (ids >= 0).T
    changed: list[int] = np.flatnonzero(in_both & ~same).tolist()
    moved: list[int] = np.flatnonzero(first & second & (ids[:, 0] != ids[:, 1])).tolist()
    only = [np.flatnonzero(here & ~there).tolist() for here, there in ((first, second), (second, first))]
    inserted, removed, reordered = yield from _merges_work(a, b)
    sources = {name: _source(name, text) for name, text in texts.items()}
    changes, lines = list[TextChange](), 0
    for name, source in sources.items():
        change = yield from _text_work(a, b, _new_ids(rows), name, source)
        lines += change.lines
        changes += [change] if change.changed else []
    return Differences(
        names,
        (len(a.tokens.ids()), len(b.tokens.ids())),
        tuple((number, a.tokens[number] or b"", b.tokens[number] or b"") for number in changed),
        tuple((tokens[row], int(ids[row, 0]), int(ids[row, 1])) for row in moved),
        tuple((int(ids[row, 0]), tokens[row]) for row in only[0]),
        tuple((int(ids[row, 1]), tokens[row]) for row in only[1]),
        inserted,
        removed,
        reordered,
        tuple(_specials(a, b)),
        tuple(_roles(a, b)),
        tuple(_settings((a, b), names)),
        tuple(changes),
        lines,
        int(np.argmin(same)) if not same.all() else size,
        int(np.count_nonzero(same & in_both)),
        vocabularies,
    )


# --- Tokens and merges ------------------------------------------------------------------------------------------------


def _rows_work(both: tuple[Tokenizer, Tokenizer], vocabularies: Vocabularies) -> Work[list[NDArray[np.int64]]]:
    """Of each tokenizer the number of the token of each id, equal for equal tokens; -1 for an id without a token."""
    number_of = {(False, token): number for number, token in enumerate(vocabularies.tokens)}
    rows: list[NDArray[np.int64]] = []
    for tokenizer in both:
        ordinary = tokenizer.preparation.ordinary
        specials = {token for text, token in tokenizer.special_tokens.items() if text not in ordinary}
        of_ids = np.full(len(tokenizer.tokens), -1, np.int64)
        ids: list[int] = tokenizer.tokens.ids().tolist()
        for number, token in enumerate(ids):
            spelled = tokenizer.tokens[token] or b""
            of_ids[token] = number_of.setdefault((token in specials, spelled), len(number_of))
            if number % _STEP == 0:
                yield Progress("comparing vocabularies", number, len(ids))
        rows.append(of_ids)
    return rows


def _new_ids(rows: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """int64 [ids of A], the lowest id in B of the token of each id of A; -1 where B lacks it."""
    size = 1 + max((int(each.max(initial=-1)) for each in rows), default=-1)
    id_of = np.full(size + 1, -1, np.int64)
    id_of[rows[1][::-1]] = np.arange(len(rows[1]) - 1, -1, -1)
    id_of[-1] = -1
    return id_of[rows[0]]


def _merges_work(a: Tokenizer, b: Tokenizer) -> Work[tuple[Merges, Merges, int]]:
    """The merges that make a token in B alone and in A alone, and how many of both would have to move."""
    pairs = (yield from _pairs_work(a)), (yield from _pairs_work(b))
    place = {pair: number for number, pair in enumerate(pairs[1])}
    here = set(pairs[0])
    inserted = tuple((number, *pair) for number, pair in enumerate(pairs[1], 1) if pair not in here)
    removed = tuple((number, *pair) for number, pair in enumerate(pairs[0], 1) if pair not in place)
    # The longest sequence of merges of both that is ascending in both stays; `ends` has the least end of each length.
    ends, common = list[int](), 0
    for number, pair in enumerate(pairs[0]):
        if (at := place.get(pair)) is not None:
            common += 1
            longer = bisect_left(ends, at)
            ends[longer : longer + 1] = [at]
        if number % _STEP == 0:
            yield Progress("comparing merges", number, len(pairs[0]))
    return inserted, removed, common - len(ends)


def _pairs_work(tokenizer: Tokenizer) -> Work[list[tuple[bytes, bytes]]]:
    """The bytes of both parts of each merge."""
    merges: list[list[int]] = tokenizer.merges.tolist()
    pairs: list[tuple[bytes, bytes]] = []
    for number, (left, right) in enumerate(merges):
        pairs.append((tokenizer.bytes_of(left), tokenizer.bytes_of(right)))
        if number % _STEP == 0:
            yield Progress("comparing merges", number, len(merges))
    return pairs


def _specials(a: Tokenizer, b: Tokenizer) -> Iterator[SpecialChange]:
    both = a.special_tokens, b.special_tokens
    for token in dict.fromkeys([*both[0], *both[1]]):
        ids = both[0].get(token), both[1].get(token)
        found = tuple(
            tuple(name for name in SETS if name != "normalized" and token in getattr(each.preparation, name))
            for each in (a, b)
        )
        if ids[0] != ids[1] or found[0] != found[1]:
            yield token, ids[0], ids[1], found[0], found[1]


def _roles(a: Tokenizer, b: Tokenizer) -> Iterator[tuple[str, str | None, str | None]]:
    for role in dict.fromkeys([*a.roles, *b.roles]):
        if a.roles.get(role) != b.roles.get(role):
            yield role, a.roles.get(role), b.roles.get(role)


# --- How text is split, in words --------------------------------------------------------------------------------------


def _settings(both: tuple[Tokenizer, Tokenizer], names: tuple[str, str]) -> Iterator[str]:
    a, b = both
    if a.model != b.model:
        yield f"The model of {names[0]} is {a.model}, that of {names[1]} {b.model}."
    if a.library is None and b.library is None:
        yield from _of_ours(both, names)
    elif a.library != b.library:
        encoders = [each.library or "TokStudio" for each in both]
        yield (
            f"{encoders[0]} encodes for {names[0]}, {encoders[1]} for {names[1]}: whether they split text alike cannot "
            "be told from their settings."
        )
    else:
        yield from _of_libraries(both, names)
    around = [str(each.settings.around) for each in both]
    if around[0] != around[1]:
        yield f"What is added to every text differs: {_added(a)} by {names[0]}, {_added(b)} by {names[1]}."
    for what in ("truncation", "padding"):
        if getattr(a.settings, what) != getattr(b.settings, what):
            yield f"The {what} of their files differs."
    if a.settings.chat_templates != b.settings.chat_templates:
        yield "Their chat templates differ."


def _of_ours(both: tuple[Tokenizer, Tokenizer], names: tuple[str, str]) -> Iterator[str]:
    a, b = both
    splits = [known_name(each.pattern) for each in both]
    if splits[0] != splits[1]:
        yield f"Text is split by {_pattern(splits[0])} in {names[0]}, by {_pattern(splits[1])} in {names[1]}."
    for what, has in (
        ("text is normalized to NFC", [each.preparation.nfc for each in both]),
        ("a space is put before a text", [each.preparation.prefix_space for each in both]),
        (
            "every token that a pre-token equals is taken without merging",
            [each.content.ignores_merges for each in both],
        ),
        ("supermerges join words", [each.supermerges is not None for each in both]),
        ("tokens are removed again (Picky BPE)", [each.removals is not None for each in both]),
    ):
        if has[0] != has[1]:
            yield f"Only in {names[0] if has[0] else names[1]} {what}."
    if not a.content.ignores_merges and not b.content.ignores_merges:
        words = [{each.bytes_of(token) for token in each.whole_words} for each in both]
        if words[0] != words[1]:
            yield f"{len(words[0] ^ words[1]):,} tokens are taken without merging in one of them only."
    if a.alphabet.base != b.alphabet.base:
        yield f"The base tokens are {a.alphabet.base} in {names[0]}, {b.alphabet.base} in {names[1]}."
    unknown = [None if (at := each.alphabet.unknown) is None else each.tokens[at] for each in both]
    if unknown[0] != unknown[1]:
        written = [_or_none(None if each is None else _text(each)) for each in unknown]
        yield f"What has no token becomes {written[0]} in {names[0]}, {written[1]} in {names[1]}."


def _of_libraries(both: tuple[Tokenizer, Tokenizer], names: tuple[str, str]) -> Iterator[str]:
    contents = [next(iter(each.source_files.values()), b"") for each in both]
    if both[0].library != "tokenizers":
        if contents[0] != contents[1]:
            yield "Their model files are not identical: scores or rules may differ."
        return
    files: list[dict[str, Any]] = [json.loads(content) for content in contents]
    for part in ("normalizer", "pre_tokenizer", "decoder"):
        if files[0].get(part) != files[1].get(part):
            written = [_setting(each.get(part)) for each in files]
            yield f"The {part.replace('_', '-')} is {written[0]} in {names[0]}, {written[1]} in {names[1]}."
    models: list[dict[str, Any]] = [each.get("model") or {} for each in files]
    for key in sorted({*models[0], *models[1]} - {"vocab", "merges"}):
        if models[0].get(key) != models[1].get(key):
            written = [_setting(each.get(key)) for each in models]
            yield f"{key} of the model is {written[0]} in {names[0]}, {written[1]} in {names[1]}."
    scores = [dict(map(tuple, each["vocab"])) if isinstance(each.get("vocab"), list) else {} for each in models]
    if other := sum(token in scores[1] and scores[1][token] != score for token, score in scores[0].items()):
        yield f"{several(other, 'token has', 'tokens have')} another score."


# --- Texts ------------------------------------------------------------------------------------------------------------


def _source(name: str, text: Source | Text | Sequence[Text]) -> Source:
    if isinstance(text, Source):
        if text.counts is not None:
            raise ConfigError(f"{name} has word counts, not text: tokenizers cannot be compared on it.")
        return text
    return Source.from_texts([text] if isinstance(text, (str, bytes)) else text, "")


def _text_work(a: Tokenizer, b: Tokenizer, new_ids: NDArray[np.int64], name: str, source: Source) -> Work[TextChange]:
    """Encodes each line of a text by both."""
    encoders = [DocumentEncoder(each, recognise=False) for each in (a, b)]
    units = yield from line_units_work(source)
    count = len(units.bounds)
    ids_differ, tokens_differ = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    mapped = np.append(new_ids, np.int64(-1))
    for first, last, _, _ in groups(units.bounds[:, 1], _GROUP, _LINES):
        raw = yield from units.texts_work(first, last)
        ids: list[NDArray[np.int64]] = []
        counts: list[NDArray[np.int64]] = []
        for encoder in encoders:
            own, of_each = yield from encoder.texts_work(raw)
            ids.append(own.astype(np.int64))
            counts.append(of_each)
        even = counts[0] == counts[1]
        both = [array[np.repeat(even, count)] for array, count in zip(ids, counts, strict=True)]
        line = np.repeat(np.flatnonzero(even), counts[0][even])
        for found, left in ((ids_differ, both[0]), (tokens_differ, mapped[both[0]])):
            found[first:last] = ~even
            found[first + line[left != both[1]]] = True
        yield Progress("comparing texts", last, count)
    shown_lines = np.flatnonzero(tokens_differ if tokens_differ.any() else ids_differ)[:_MOST_LINES].tolist()
    changes: list[LineChange] = []
    for number in shown_lines:
        [raw] = yield from units.texts_work(number, number + 1)
        text = raw.decode("utf-8", "replace")[:_LONGEST]
        pieces = (yield from _pieces_work(a, text)), (yield from _pieces_work(b, text))
        changes.append(LineChange(int(units.numbers[number]), units.place(number), text, *pieces))
    counted = int(np.count_nonzero(ids_differ)), int(np.count_nonzero(tokens_differ))
    # Not those of the lines, because a word behind a line is in the next one, too.
    tokens = (yield from encoders[0].tokens_work(source)), (yield from encoders[1].tokens_work(source))
    return TextChange(name, count, *counted, tokens, tuple(changes))


def _pieces_work(tokenizer: Tokenizer, text: str) -> Work[tuple[bytes, ...]]:
    """The bytes of a text that each of its tokens stands for."""
    ends: list[int] = (yield from cut_work(tokenizer, text)).ends.tolist()
    raw = text.encode()
    return tuple(raw[begin:end] for begin, end in zip([0, *ends], ends, strict=False))


# --- Words ------------------------------------------------------------------------------------------------------------


def _text(token: bytes) -> str:
    return token.decode("utf-8", "backslashreplace")


def _shown(token: bytes) -> str:
    return shown(_text(token[:200]), _SHORT)


def _or_none(text: str | None) -> str:
    return "none" if text is None else shown(text)


def _special(token: int | None, found: Sequence[str]) -> str:
    how = f" ({', '.join(each.replace('_', ' ') for each in found)})" if found else ""
    return "none" if token is None else f"id {token:,}{how}"


def _pattern(pattern: str) -> str:
    if pattern == "none":
        return "no pattern"
    if pattern not in PATTERNS:
        return f"the expression {shown(pattern, _SHORT)}"
    _, meaning = PATTERNS[pattern]
    return f"{pattern} ({meaning[0].lower()}{meaning[1:].rstrip('.')})"


def _setting(value: object) -> str:
    written = json.dumps(value, ensure_ascii=False)
    return "none" if value is None else written if len(written) <= _SHORT else f"{written[:_SHORT]}…"


def _added(tokenizer: Tokenizer) -> str:
    match tokenizer.settings.around:
        case str():
            return "something of an unknown kind"
        case before, after:
            parts = (before, "before"), (after, "after")
            added = [f"{' '.join(map(shown, tokens))} {where}" for tokens, where in parts if tokens]
            return " and ".join(added) or "nothing"


def _merges_as_plain(merges: Merges) -> list[dict[str, Any]]:
    return [{"number": number, "left": _text(left), "right": _text(right)} for number, left, right in merges]
