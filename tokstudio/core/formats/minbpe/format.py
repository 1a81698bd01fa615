"""minbpe's `NAME.model`: pattern, special tokens and merges as lines; and the human-readable `NAME.vocab`.

Both have the layout of karpathy/minbpe.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.format import GIGABYTE, Format, added_bytes, cut, gathered
from tokstudio.core.formats.minbpe.proof import prove_work
from tokstudio.core.formats.minbpe.reader import VERSION, read_work
from tokstudio.core.model.alphabet import BYTES
from tokstudio.core.pretokenization.custom_regex import compile_expression
from tokstudio.core.pretokenization.patterns import MINBPE, REGEX, splitter
from tokstudio.core.text.utf8 import has_surrogates

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

MODEL, VOCABULARY = "tokenizer.model", "tokenizer.vocab"

_SUFFIX = ".model"

_SNIPPET = """\
from minbpe import {kind}

tokenizer = {kind}({pattern})
tokenizer.load({path})
{registers}ids = tokenizer.encode("Hello world"{allowed})
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

    def losses(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """A pattern is one line, a special token one word, and ids are those of bytes and of merges in order."""
        losses = [*added_bytes(tokenizer)]
        if not _has_usual_ids(tokenizer):
            losses.append("The ids change: this format numbers the bytes 0 to 255 and the merges from 256.")
        if fault := _pattern_fault(tokenizer.pattern):
            losses.append(f"The pattern {shown(tokenizer.pattern)} is lost: {fault}.")
        losses += [
            f"The special token {shown(token)} is lost: this format allows no white space in special tokens."
            for token in tokenizer.special_tokens
            if not _is_word(token)
        ]
        if extra := len(tokenizer.extra_tokens):
            losses.append(f"Tokens that no merge makes are lost ({extra:,}): this format has only merges.")
        if whole := len(tokenizer.whole_words):
            losses.append(f"Words that become a token without merging are merged ({whole:,}): some ids will differ.")
        return tuple(losses)

    def new_ids(self, tokenizer: Tokenizer) -> NDArray[np.int32] | None:
        """The bytes, then the merges in order, then special tokens."""
        if _has_usual_ids(tokenizer):
            return None
        specials = sorted(_words(tokenizer).values())
        new_id = np.full(len(tokenizer.tokens), -1, np.int32)
        ids = np.concatenate([tokenizer.byte_ids, tokenizer.merge_results, np.array(specials, np.int32)])
        new_id[ids[ids >= 0]] = np.flatnonzero(ids >= 0)
        return new_id

    def notes(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """Notes on the pattern in minbpe's own reader."""
        written = written_pattern(self._held(tokenizer).pattern)
        notes: list[str] = []
        if written not in ("", MINBPE):
            notes.append("minbpe splits by its own pattern, unless you pass it the one in the file.")
        if written != written.strip():
            notes.append("minbpe drops the white space around the pattern when it reads the file.")
        return tuple(notes)

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
        made = tokens[token] or b""
        if parts := tokenizer.parts(token):
            middle = tokens.length(parts[0])
            yield from _bracketed(made[:middle])
            yield from _bracketed(made[middle:])
            yield b" -> "
        yield from _bracketed(made)
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
