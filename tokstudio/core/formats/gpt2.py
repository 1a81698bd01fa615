"""GPT-2's pair of files: `vocab.json` with `merges.txt`, and for reading only `encoder.json` with `vocab.bpe`.

The files have neither a pattern nor a list of special tokens.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.added_tokens import AddedToken, preparation_of
from tokstudio.core.formats.common.beside import beside_work, files_beside, template_of
from tokstudio.core.formats.common.format import GIGABYTE, Fit, Format, PatternNeeded, cut, gathered, named_specials
from tokstudio.core.formats.common.known_files import PAIRS, known_work
from tokstudio.core.formats.common.proof import prove_work, trials_work, varied
from tokstudio.core.formats.common.spelling import misread_specials, spelled_alike_work, vocabulary, written_regex
from tokstudio.core.formats.common.text_readers import JsonReader, LineReader
from tokstudio.core.formats.common.vocabulary import (
    MergeList,
    byte_level_ids,
    empty_remarks,
    merge_lines,
    missing_part,
    read_vocabulary_work,
    spelled,
    unmade_parts,
)
from tokstudio.core.model.alphabet import BYTES, Alphabet, missing_byte
from tokstudio.core.pretokenization.patterns import NAMES, known_name, splitter
from tokstudio.core.text.byte_level import BYTE_OF, BYTE_ORDER, to_bytes, to_characters
from tokstudio.core.tokenizer.self_encoding import pieces_work

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_NAMES = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
# Special tokens of GPT-2's own programs, if the vocabulary has them.
_SPECIAL = ("<|endoftext|>", "<|startoftext|>")
# Tokens that other programs add to the vocabulary without a merge, such as <s>, <mask> and [PAD].
_LIKE_SPECIAL = re.compile(rb"<.*>|\[.*\]", re.DOTALL)
_VERSION = b"#version"
_SNIPPET = """\
# pip install tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

tokenizer = Tokenizer(models.BPE.from_file({vocabulary}, {merges}))
tokenizer.pre_tokenizer = {pre_tokenizer}
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_special_tokens({specials})
ids = tokenizer.encode("Hello world").ids
print(ids)
"""
_BYTE_LEVEL = "pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)"
_SPLIT = """pre_tokenizers.Sequence(
    [
        pre_tokenizers.Split(Regex({regex}), "isolated"),
        {byte_level},
    ]
)"""


class Gpt2(Format):
    """`vocab.json` and `merges.txt`."""

    name = "gpt2"
    title = "GPT-2 pair"
    description = "vocab.json and merges.txt, for programs made for GPT-2 and its successors"
    files = _NAMES[0]
    looked_for = ", ".join(merges for _, merges in _NAMES)
    folder = True
    only_bytes = True
    holds_any_order = True
    largest = GIGABYTE

    def problem(self, tokenizer: Tokenizer) -> str | None:
        """Every reader takes a line with #version for the first one."""
        if problem := super().problem(tokenizer):
            return problem
        tokens = tokenizer.tokens
        for token in np.unique(tokenizer.merges[:, 0]).tolist():
            if tokens.prefix(token, len(_VERSION)) == _VERSION:
                text = shown(tokens.prefix(token, 200).decode("utf-8", "replace"))
                return f"A merge begins with the token {text}, but readers skip lines that begin with #version."
        return None

    def losses(self, tokenizer: Tokenizer) -> Iterator[str]:
        """The files have neither the pattern nor, except for GPT-2's own, the special tokens."""
        if not _splits_as_gpt2(tokenizer):
            yield (
                f"The pattern {shown(tokenizer.pattern)} is lost: programs that read this format split text as GPT-2 "
                "does."
            )
        if specials := [token for token in tokenizer.special_tokens if token not in _SPECIAL]:
            yield f"{named_specials(specials)} not marked as special: the program that loads the files must be told."
        if words := len(tokenizer.whole_words):
            yield f"Words that become a token without merging are merged ({words:,}): some ids will differ."

    def notes(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """Not all readers of GPT-2's own files can read these."""
        usual = np.arange(BYTES, BYTES + len(tokenizer.merges))
        has_usual_ids = np.array_equal(tokenizer.byte_ids, BYTE_ORDER) and np.array_equal(
            tokenizer.merge_results, usual
        )
        if has_usual_ids and not tokenizer.extra_tokens and set(tokenizer.special_tokens) <= set(_SPECIAL):
            return ()
        return ("The tiktoken library cannot read these files: it needs ids in GPT-2's own order.",)

    def check_tokens_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """Each token has a different spelling, and none looks as if the end of the merges were missing."""
        problem = yield from spelled_alike_work(tokenizer)
        if problem is None:
            unmade = yield from _unmade_work(tokenizer, tokenizer.extra_tokens.values())
            if unmade is not None:
                problem = (
                    f"{self.title} holds no token that no merge makes though its two parts are there, such as "
                    f"{unmade}: the files would look as if the end of the merges were missing."
                )
        return Fit(problem, (), ())

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """The size of either file: a byte takes at most two."""
        specials = sum(6 * len(token.encode()) for token in tokenizer.special_tokens)
        return 4 * token_bytes + 20 * len(tokenizer) + specials

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """Both files."""
        return {self.files[0]: gathered(vocab_json(tokenizer)), self.files[1]: gathered(merges_txt(tokenizer))}

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Lets the tokenizers library read both files, with the settings that they lack; the proof names these."""
        from tokstudio.core.libraries.client import LibraryInput

        vocab, merges = (written[usual] for usual in self.files)
        # A custom pattern, which the library may understand otherwise, is not in the files.
        pattern = tokenizer.pattern if tokenizer.pattern in NAMES else "none"
        tried = varied(tokenizer, pattern=pattern, whole_words=())
        regex = None if pattern == "none" else written_regex(pattern)
        settings = {"merges": str(merges.absolute()), "regex": regex, "special_tokens": list(tokenizer.special_tokens)}
        trials = yield from trials_work(tried, sample, decodes=not misread_specials(tokenizer))
        proof = yield from prove_work(tried, LibraryInput("tokenizers", vocab, name, settings), trials)
        fields = {
            "the pattern": not _splits_as_gpt2(tokenizer),
            "the special tokens": not set(tokenizer.special_tokens) <= set(_SPECIAL),
            "to merge every word": bool(tokenizer.whole_words),
        }
        needed = " and ".join(words for words, is_needed in fields.items() if is_needed)
        return f"{proof} if the reader is told {needed}" if needed else proof

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """Loads both with tokenizers, with the settings that they lack."""
        pre_tokenizer = _BYTE_LEVEL
        if tokenizer.pattern != "none":
            pre_tokenizer = _SPLIT.format(regex=repr(written_regex(tokenizer.pattern)), byte_level=_BYTE_LEVEL)
        vocab, merges = (repr(str(targets[name].absolute())) for name in self.files)
        lines = _SNIPPET.format(
            vocabulary=vocab, merges=merges, pre_tokenizer=pre_tokenizer, specials=list(tokenizer.special_tokens)
        )
        return lines if tokenizer.pattern != "none" else lines.replace("Regex, ", "")

    def find(self, path: Path) -> tuple[Path, ...]:
        """Either pair, and the files beside it; one file of a pair alone is an error."""
        folder = path if path.is_dir() else path.parent
        beside = files_beside(folder)
        for pair in _NAMES:
            files = tuple(folder / name for name in pair)
            if (path == folder or path in files + beside) and all(file.is_file() for file in files):
                return (*files, *beside)
            if path in files:
                missing = next(file.name for file in files if not file.is_file())
                raise FormatError(f"{path.name}: {missing} belongs with it but is not in the same folder.")
        return ()

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads both files and those beside them, and checks that they belong together.

        Where the pattern is not given, a class of transformers that the files name has one.
        """
        pairs = yield from known_work(files[:2], PAIRS)
        beside = yield from beside_work(files[2:], names[2:])
        names = names[:2]
        made_as = beside.library_class(True)
        chosen = pattern or (pairs.pattern if pairs else made_as.splits if made_as else None)
        if chosen is None:
            raise PatternNeeded(names[0])
        with JsonReader(files[0], names[0], GIGABYTE) as reader:
            vocabulary = yield from read_vocabulary_work(reader)
            reader.end()
        merges = yield from _read_merges(files[1], names, vocabulary)
        unmerged = {token: number for token, number in vocabulary.items() if not merges.has(number)}
        own = [AddedToken(token, unmerged[token], False, True) for token in _SPECIAL if token in unmerged]
        settings = beside.settings
        added = beside.completed(own if made_as is None else None, vocabulary, True)
        # The text of an ordinary token stays one.
        tokens = [token for token in added.tokens if not merges.has(token.id)]
        specials = {token.content: token.id for token in tokens}
        extra = {number: spelled(token) for token, number in unmerged.items() if token not in specials}
        strange = next((number for number, token in extra.items() if not token and number != unmerged.get("")), None)
        if strange is not None:
            raise FormatError(f"{names[0]}: token {strange} is not a string.")
        as_class = made_as is not None and made_as.splits == known_name(chosen)
        config = settings.config or {}
        preparation = preparation_of(
            as_class and made_as is not None and made_as.nfc,
            as_class and chosen == "gpt2" and config.get("add_prefix_space") is True,
            tokens,
        )
        note = beside.class_note(True, known_name(chosen), preparation.nfc)
        said = replace(
            added.settings,
            notes=(*added.settings.notes, *note),
            post_processor=template_of(config, added.settings.roles, specials),
        )
        around: dict[str, Any] = {"preparation": preparation, "remarks": empty_remarks(extra), "settings": said}
        tokenizer = merges.tokenizer(names[1], specials, chosen, extra_tokens=extra, **around)
        yield from _check_end(names, tokenizer)
        return tokenizer


def _check_end(names: tuple[str, ...], tokenizer: Tokenizer) -> Work[None]:
    """Raises FormatError where the next merge is missing, as in a file that is truncated between two lines."""
    unmade = yield from _unmade_work(tokenizer, tokenizer.extra_tokens.values())
    if unmade is not None:
        raise FormatError(
            f"{names[1]}: no merge makes the token {unmade} of {names[0]}, though its two parts are there: "
            "the end of the file may be missing."
        )


def _unmade_work(tokenizer: Tokenizer, tokens: Iterable[bytes]) -> Work[str | None]:
    """The first of these tokens that merges leave in two, to be shown; None where there is none."""
    some = [token for token in tokens if token and not _LIKE_SPECIAL.fullmatch(token)]
    pieces = yield from pieces_work(tokenizer, some)
    unmade = next((token for token, count in zip(some, pieces.tolist(), strict=True) if count == 2), None)
    return None if unmade is None else shown(unmade[:200].decode("utf-8", "backslashreplace"))


def _read_merges(path: Path, names: tuple[str, ...], vocabulary: Mapping[str, int]) -> Work[MergeList]:
    ids = byte_level_ids(vocabulary)
    if (missing := missing_byte({byte for byte, number in enumerate(ids) if number >= 0})) is not None:
        raise FormatError(f"{names[0]}: the byte {missing} has no token in the vocabulary; TokStudio needs all 256.")
    rows = array("i")
    with LineReader(path, names[1], GIGABYTE) as lines:
        for left, right in merge_lines(lines):
            if problem := missing_part(vocabulary, len(rows) // 3 + 1, left, right, left + right):
                raise lines.fault(problem)
            rows.extend((vocabulary[left], vocabulary[right], vocabulary[left + right]))
            yield from lines.progress()
    merges, alphabet = np.frombuffer(rows, np.int32).reshape(-1, 3), Alphabet.of_bytes(ids)
    texts = {number: token for token, number in vocabulary.items()}
    for part in (texts[number] for number in unmade_parts(alphabet, merges)):
        if not part or part in _SPECIAL or not all(map(BYTE_OF.__contains__, part)):
            raise FormatError(f"{names[1]}: a merge joins {shown(part)}, which no merge makes.")
    return (yield from MergeList.in_any_order_work(alphabet, merges, lambda token: to_bytes(texts[token])))


def vocab_json(tokenizer: Tokenizer) -> Iterator[bytes]:
    """`vocab.json`: every token with its id, special ones included."""
    yield b"{"
    yield from vocabulary(tokenizer, indent=b"  ")
    yield b"\n}\n"


def merges_txt(tokenizer: Tokenizer) -> Iterator[bytes]:
    """`merges.txt`: a line per merge, after a first line that readers skip."""
    tokens = tokenizer.tokens
    yield _VERSION + b": 0.2\n"
    for left, right in tokenizer.merges:
        for token, end in ((int(left), b" "), (int(right), b"\n")):
            yield from (to_characters(part).encode() for part in cut(tokens[token] or b""))
            yield end


def _splits_as_gpt2(tokenizer: Tokenizer) -> bool:
    return splitter(tokenizer.pattern).kind == NAMES.index("gpt2")
