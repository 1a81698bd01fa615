"""minbpe's `NAME.model`: pattern, special tokens and merges as lines; and the human-readable `NAME.vocab`.

Both have the layout of karpathy/minbpe.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import os
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.format import GIGABYTE, Format, added_bytes, cut, gathered
from tokstudio.core.formats.common.proof import Ids, compare_work, named_trials, trials_work
from tokstudio.core.formats.common.spelling import named_pattern
from tokstudio.core.formats.common.text_readers import LineReader
from tokstudio.core.formats.common.vocabulary import MergeList, id_problem
from tokstudio.core.model.alphabet import BYTES, Alphabet
from tokstudio.core.pretokenization.custom_regex import compile_expression, without_newer
from tokstudio.core.pretokenization.patterns import MINBPE, NAMES, REGEX, splitter
from tokstudio.core.text.utf8 import has_surrogates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.tokenizer import Tokenizer

# --- Reads minbpe's `NAME.model`; an invalid line is an error with its number -----------------------------------------

VERSION = b"minbpe v1"

_NUMBER = re.compile(r"[0-9]{1,12}")


def read_work(path: Path, name: str, pattern: str | None) -> Work[Tokenizer]:
    """The tokenizer of a file, with the given pattern where the file has none.

    Raises:
        FormatError: It is damaged; the message begins with `name`.
    """
    with LineReader(path, name, GIGABYTE) as lines:
        rows = iter(lines)
        if _next(lines, rows, "the version").strip().encode() != VERSION:
            raise lines.fault("the version is not minbpe v1")
        regex = _next(lines, rows, "the pattern")
        specials = yield from _read_specials(lines, rows)
        merges = MergeList(Alphabet.of_bytes())
        for row in rows:
            left, right, result = (*_pair(lines, row), BYTES + len(merges))
            if problem := id_problem(result) or merges.add(left, right, result):
                raise lines.fault(problem)
            yield from lines.progress()
        if not _ends_with_a_line(path):
            raise lines.fault("the last line has no line ending")
    for token, number in specials.items():
        if merges.has(number):
            raise FormatError(
                f"{name}: the special token {shown(token)} has the id {number}, which a byte or a merge also has."
            )
    return merges.tokenizer(name, specials, _pattern(name, regex) if regex else pattern or "none")


def _next(lines: LineReader, rows: Iterator[bytes], what: str) -> str:
    row = next(rows, None)
    if row is None:
        raise lines.fault(f"the file ends before {what}")
    try:
        return row.decode()
    except UnicodeDecodeError as error:
        raise lines.fault("this is not UTF-8") from error


def _read_specials(lines: LineReader, rows: Iterator[bytes]) -> Work[dict[str, int]]:
    declared = _next(lines, rows, "the number of special tokens").strip()
    if not _NUMBER.fullmatch(declared):
        raise lines.fault(f"{shown(declared)} is not the number of special tokens")
    specials: dict[str, int] = {}
    ids: set[int] = set()
    # Memory is taken only for tokens that exist, whatever the number says.
    while len(specials) < int(declared):
        words = _next(lines, rows, f"special token {len(specials) + 1:,} of {int(declared):,}").split()
        if len(words) != 2:
            raise lines.fault("a special token must be a word, a space and an id")
        token, number = words[0], _id(lines, words[1])
        if token in specials:
            raise lines.fault(f"the special token {shown(token)} appears twice")
        if number in ids:
            raise lines.fault(f"the special token {shown(token)} has the id {number}, which another special token has")
        specials[token] = number
        ids.add(number)
        yield from lines.progress()
    if hidden := _hidden(specials):
        raise lines.fault(
            f"the special token {shown(hidden[0])} comes before {shown(hidden[1])}, which begins with it, "
            "so minbpe never finds the second: TokStudio does not support that"
        )
    return dict(sorted(specials.items(), key=lambda item: item[1]))


def _hidden(specials: Mapping[str, int]) -> tuple[str, str] | None:
    """A special token and a later one that begins with it: minbpe takes the first, TokStudio the longest."""
    place = {token: number for number, token in enumerate(specials)}
    lengths = sorted(set(map(len, specials)))
    for token in specials:
        for length in lengths[: bisect_left(lengths, len(token))]:
            if place.get(token[:length], len(place)) < place[token]:
                return token[:length], token
    return None


def _pair(lines: LineReader, row: bytes) -> tuple[int, int]:
    words = row.split()
    if len(words) != 2:
        raise lines.fault("a merge must be two ids with a space between them")
    return _id(lines, words[0].decode("ascii", "replace")), _id(lines, words[1].decode("ascii", "replace"))


def _id(lines: LineReader, word: str) -> int:
    number = int(word) if _NUMBER.fullmatch(word) else None
    if problem := id_problem(number):
        raise lines.fault(f"{shown(word)}: {problem}")
    return cast("int", number)


def _pattern(name: str, regex: str) -> str:
    if regex in NAMES:
        raise FormatError(f"{name}: its pattern is the word {shown(regex)}, which covers no text.")
    pattern = named_pattern(name, regex)
    if compile_expression(regex).groups:
        raise FormatError(
            f"{name}: its pattern has groups, and minbpe keeps only what they match: TokStudio does not support that."
        )
    return pattern


def _ends_with_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


# --- Proves minbpe's model with an independent, slow implementation of minbpe's reader and encoder --------------------

_HOW = "read back as minbpe reads it"
# Each step compares one pair of tokens; about two million take a second.
_MOST_STEPS = 4_000_000
_LARGEST_SAMPLE = 200_000
_PIECE = 1 << 10  # without a pattern, twice the text takes four times as long
_MANY = 1 << 16


def prove_work(held: Tokenizer, path: Path, name: str, sample: str) -> Work[str]:
    """Proves that minbpe, given the pattern in the file, has the ids and texts of `held`; otherwise FormatError.

    Encodes a hard text, and as much of the sample as takes a second or two, without characters that only a newer
    Unicode has.
    """
    hard = yield from trials_work(held, "")
    sample = without_newer(sample[:_LARGEST_SAMPLE])
    pieces = [sample[start : start + _PIECE] for start in range(0, len(sample), _PIECE)]
    model = _Model(path.read_text(encoding="utf-8"))
    if model.special_tokens != held.special_tokens:
        raise FormatError(f"{name}: {_HOW}, its special tokens differ.")
    ours, theirs = Ids(), Ids()
    for text in (*(trial.text for trial in hard.texts), *pieces):
        # TokStudio's encoding first, because it has a time limit and the bare expression has none.
        ours.append((yield from held.encode_work(text, "all")))
        # Where few pre-tokens have merges, equal ids would prove little.
        if fault := _first_split(model.split(text), splitter(held.pattern).split(text)):
            raise FormatError(f"{name}: {_HOW}, {fault}.")
        ids = yield from model.encode_work(text)
        theirs.append(np.array(ids, np.uint32))
        if np.array_equal(ours[-1], theirs[-1]) and model.decode(ids) != held.decode(ids):
            raise FormatError(f"{name}: {_HOW}, its ids do not decode to {shown(text)}.")
        if model.steps > _MOST_STEPS:
            break
    return (yield from compare_work(held, name, _HOW, ours, theirs, named_trials(sample)))


def _first_split(theirs: list[str], ours: list[bytes]) -> str | None:
    """The first difference of two ways to split a text, as the end of a sentence; None where they are equal."""
    for piece, our_piece in zip_longest(theirs, ours):
        if piece is None or our_piece is None or piece.encode() != our_piece:
            ours_shown = shown((our_piece or b"").decode("utf-8", "replace"))
            return f"text is split differently: {shown(piece or '')} instead of {ours_shown}"
    return None


class _Model:
    """A model by its lines: each merge has the next id, and the lowest id is merged first; `steps` counts pairs."""

    def __init__(self, content: str) -> None:
        import regex

        lines = iter(content.removesuffix("\n").split("\n"))
        assert next(lines).strip() == "minbpe v1"
        pattern = next(lines)
        self._pattern = regex.compile(pattern) if pattern else None
        special_lines = [next(lines).split() for _ in range(int(next(lines)))]
        self.special_tokens = {token: int(number) for token, number in special_lines}
        self._merges = {(int(left), int(right)): 256 + row for row, (left, right) in enumerate(map(str.split, lines))}
        self._vocabulary = {byte: bytes([byte]) for byte in range(256)}
        for (left, right), result in self._merges.items():
            self._vocabulary[result] = self._vocabulary[left] + self._vocabulary[right]
        self._vocabulary |= {number: token.encode() for token, number in self.special_tokens.items()}
        self._known: dict[str, list[int]] = {}
        self.steps = 0

    def encode_work(self, text: str) -> Work[list[int]]:
        ids: list[int] = []
        for part in self._parts(text):
            if part in self.special_tokens:
                ids.append(self.special_tokens[part])
                continue
            for piece in self.split(part):
                if piece not in self._known:
                    self._known[piece] = yield from self._merged_work(list(piece.encode()))
                ids += self._known[piece]
        return ids

    def split(self, text: str) -> list[str]:
        return self._pattern.findall(text) if self._pattern is not None else [text] if text else []

    def decode(self, ids: list[int]) -> str:
        return b"".join(self._vocabulary[token] for token in ids).decode("utf-8", "replace")

    def _parts(self, text: str) -> Iterator[str]:
        """The special tokens of a text, and the texts between them."""
        if not self.special_tokens:
            return iter([text])
        either = "|".join(map(re.escape, self.special_tokens))
        return filter(None, re.split(f"({either})", text))

    def _rank(self, pair: tuple[int, int]) -> int:
        return self._merges.get(pair, len(self._vocabulary))

    def _merged_work(self, ids: list[int]) -> Work[list[int]]:
        looked_at = 0
        while len(ids) > 1:
            looked_at += len(ids)
            pair = min(set(pairwise(ids)), key=self._rank)
            if pair not in self._merges:
                break
            ids = _joined(ids, pair, self._merges[pair])
            if looked_at > _MANY:
                self.steps += looked_at
                looked_at = 0
                yield Progress("proving")
        self.steps += looked_at
        return ids


def _joined(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Merges every occurrence of a pair, from the left: `([1, 1, 1], (1, 1), 2)` gives `[2, 1]`."""
    joined: list[int] = []
    at = 0
    while at < len(ids):
        is_pair = at + 1 < len(ids) and (ids[at], ids[at + 1]) == pair
        joined.append(new if is_pair else ids[at])
        at += 2 if is_pair else 1
    return joined


MODEL, VOCABULARY = "tokenizer.model", "tokenizer.vocab"

_SUFFIX = ".model"

_SNIPPET = """\
# the folder minbpe of github.com/karpathy/minbpe, beside this program
from minbpe import {kind}

tokenizer = {kind}({pattern})
tokenizer.load({path})
{registers}ids = tokenizer.encode("Hello world"{allowed})
print(ids)
"""


class Minbpe(Format):
    """`NAME.model` and `NAME.vocab`."""

    name = "minbpe"
    title = "minbpe"
    description = "merges as lines of text, for Andrej Karpathy's minbpe"
    files = (MODEL, VOCABULARY)
    looked_for = f"NAME{_SUFFIX}"
    only_bytes = True
    largest = GIGABYTE

    def targets(self, path: Path) -> Mapping[str, Path]:
        """The model at the given path, and the vocabulary beside it; minbpe reads no file with another ending."""
        model = path / MODEL if path.is_dir() else path
        if model.suffix != _SUFFIX:
            model = model.with_name(f"{model.name}{_SUFFIX}")
        return {MODEL: model, VOCABULARY: model.with_suffix(".vocab")}

    def losses(self, tokenizer: Tokenizer) -> Iterator[str]:
        """A pattern is one line, a special token one word, and ids are those of bytes and of merges in order."""
        yield from added_bytes(tokenizer)
        if not _has_usual_ids(tokenizer):
            yield "The ids change: this format numbers the bytes 0 to 255 and the merges from 256."
        if fault := _pattern_fault(tokenizer.pattern):
            yield f"The pattern {shown(tokenizer.pattern)} is lost: {fault}."
        yield from (
            f"The special token {shown(token)} is lost: this format allows no white space in special tokens."
            for token in tokenizer.special_tokens
            if not _is_word(token)
        )
        if extra := len(tokenizer.extra_tokens):
            yield f"Tokens that no merge makes are lost ({extra:,}): this format has only merges."
        if whole := len(tokenizer.whole_words):
            yield f"Words that become a token without merging are merged ({whole:,}): some ids will differ."

    def new_ids(self, tokenizer: Tokenizer) -> NDArray[np.int32] | None:
        """The bytes, then the merges in order, then special tokens."""
        if _has_usual_ids(tokenizer):
            return None
        specials = sorted(_words(tokenizer).values())
        new_id = np.full(len(tokenizer.tokens), -1, np.int32)
        ids = np.concatenate([tokenizer.byte_ids, tokenizer.merge_results, np.array(specials, np.int32)])
        new_id[ids[ids >= 0]] = np.flatnonzero(ids >= 0)
        return new_id

    def notes(self, tokenizer: Tokenizer) -> Iterator[str]:
        """Notes on the pattern in minbpe's own reader."""
        written = written_pattern(self._held(tokenizer).pattern)
        if written not in ("", MINBPE):
            yield "minbpe splits by its own pattern, unless you pass it the one in the file."
        if written != written.strip():
            yield "minbpe drops the white space around the pattern when it reads the file."

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """Python code that loads the model with minbpe."""
        held, path = self._held(tokenizer), repr(str(targets[MODEL].absolute()))
        written = written_pattern(held.pattern)
        # Only minbpe's RegexTokenizer supports special tokens; without a pattern, all text is one match.
        is_basic = not (written or held.special_tokens)
        kind = "BasicTokenizer" if is_basic else "RegexTokenizer"
        pattern = "" if is_basic or written == MINBPE else repr(written or r"[\s\S]+")
        allowed = ', allowed_special="all"' if held.special_tokens else ""
        registers = "tokenizer.register_special_tokens(tokenizer.special_tokens)\n" if held.special_tokens else ""
        return _SNIPPET.format(kind=kind, pattern=pattern, path=path, registers=registers, allowed=allowed)

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """An estimate of the size of the vocabulary, which has each token and its parts; invalid text takes thrice."""
        specials = sum(len(token) for token in tokenizer.special_tokens)
        return 6 * token_bytes + 30 * len(tokenizer) + specials

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """Both files."""
        held = self._held(tokenizer)
        return {MODEL: gathered(_model(held)), VOCABULARY: gathered(_vocabulary(held))}

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Reads the model and encodes like minbpe; the ids must be equal."""
        return (yield from prove_work(self._held(tokenizer), written[MODEL], name, sample))

    def find(self, path: Path) -> tuple[Path, ...]:
        """The only model in a folder, if it is minbpe's; a file is recognised by its beginning."""
        return self.find_only(path, _SUFFIX)

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Whether its first line names the format."""
        return beginning.startswith(VERSION.rstrip(b"1"))

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads the model; the vocabulary beside it has nothing more."""
        return (yield from read_work(files[0], names[0], pattern))

    def _held(self, tokenizer: Tokenizer) -> Tokenizer:
        """The tokenizer as the format holds it."""
        from tokstudio.core.tokenizer.tokenizer import Tokenizer

        specials = _words(tokenizer)
        merges, results = tokenizer.merges, tokenizer.merge_results
        if (new_id := self.new_ids(tokenizer)) is not None:
            merges, results = new_id[merges], new_id[results]
            specials = {token: int(new_id[number]) for token, number in specials.items()}
        pattern = "none" if _pattern_fault(tokenizer.pattern) else tokenizer.pattern
        return Tokenizer(merges, results, special_tokens=specials, pattern=pattern, checked=True)


def written_pattern(pattern: str) -> str:
    """The line with the pattern; "" for none."""
    if pattern == "none":
        return ""
    # Of patterns that split alike, minbpe's own is the only one that its reader has by default.
    splits_alike = splitter(pattern).kind == splitter(MINBPE).kind
    return MINBPE if splits_alike else REGEX.get(pattern, pattern)


def _pattern_fault(pattern: str) -> str | None:
    """The reason why a pattern cannot be held, as the end of a sentence; None where it can."""
    written = written_pattern(pattern)
    if "\n" in written or "\r" in written:
        return "this format stores it on one line"
    if written and compile_expression(written).groups:
        return "it has capturing groups, and minbpe keeps only what they match"
    if has_surrogates(written):
        return "it is not valid text"
    return None


def _is_word(token: str) -> bool:
    """Whether Python splits words so that it is one."""
    return token.split() == [token]


def _has_usual_ids(tokenizer: Tokenizer) -> bool:
    bytes_and_merges = np.concatenate([tokenizer.byte_ids, tokenizer.merge_results])
    return np.array_equal(bytes_and_merges, np.arange(len(bytes_and_merges)))


def _words(tokenizer: Tokenizer) -> dict[str, int]:
    """The special tokens that the format can hold."""
    return {token: number for token, number in tokenizer.special_tokens.items() if _is_word(token)}


def _model(held: Tokenizer) -> Iterator[bytes]:
    specials = held.special_tokens
    yield b"%s\n%s\n%d\n" % (VERSION, written_pattern(held.pattern).encode(), len(specials))
    # At one place, minbpe takes the first special token, and TokStudio the longest.
    for token in sorted(specials, key=len, reverse=True):
        yield b"%s %d\n" % (token.encode(), specials[token])
    yield from (b"%d %d\n" % (left, right) for left, right in held.merges)


def _vocabulary(tokenizer: Tokenizer) -> Iterator[bytes]:
    """Yields the file: bytes and merges, which have the ids 0, 1, 2 ..., then special tokens."""
    tokens = tokenizer.tokens
    for token in range(BYTES + len(tokenizer.merges)):
        token_bytes = tokens[token] or b""
        if parts := tokenizer.parts(token):
            middle = tokens.length(parts[0])
            yield from _bracketed(token_bytes[:middle])
            yield from _bracketed(token_bytes[middle:])
            yield b" -> "
        yield from _bracketed(token_bytes)
        yield b" %d\n" % token
    for special, token in tokenizer.special_tokens.items():
        yield from _bracketed(special.encode())
        yield b" %d\n" % token


def _bracketed(token: bytes) -> Iterator[bytes]:
    yield b"["
    for text in codecs.iterdecode(cut(token), "utf-8", "replace"):
        yield (text if text.isprintable() else "".join(map(_printed, text))).encode()
    yield b"]"


def _printed(character: str) -> str:
    is_control = unicodedata.category(character).startswith("C")
    return f"\\u{ord(character):04x}" if is_control else character
