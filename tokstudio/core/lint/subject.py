"""What the rules look at: the tokenizer, the files it was read from as they are written, and texts.

A `tokenizer.json` is read here once more, because a file with a fault may not open, and opening it hides what it says.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.formats.common.added_tokens import AddedToken
from tokstudio.core.formats.common.beside import CONFIG, beside_work
from tokstudio.core.formats.common.format import GIGABYTE, Loaded, PatternNeeded
from tokstudio.core.formats.common.text_readers import JsonReader, LineReader
from tokstudio.core.formats.common.vocabulary import merge_lines
from tokstudio.core.formats.gguf.header import Header, header_work
from tokstudio.core.formats.gguf.reader import is_wanted
from tokstudio.core.formats.huggingface.format import TOKENIZER
from tokstudio.core.formats.huggingface.parts import added_token, parts_in
from tokstudio.core.formats.huggingface.reader import opened_work, read_pair
from tokstudio.core.formats.known_formats import format_of
from tokstudio.core.formats.loading import load_work, settle_work
from tokstudio.core.hub.names import name_of
from tokstudio.core.libraries.client import LibraryProcess, pre_tokens_work, torture_text
from tokstudio.core.pretokenization.patterns import splitter
from tokstudio.core.text.utf8 import AnyPath, Text
from tokstudio.core.tokenizer.library_tokenizer import LibraryTokenizer
from tokstudio.core.tokenizer.tokenizer import Tokenizer

MAP, ADDED, GENERATION, MODEL = (
    "special_tokens_map.json", "added_tokens.json", "generation_config.json", "config.json"
)  # fmt: skip
VOCABULARY, MERGES, SENTENCEPIECE = "vocab.json", "merges.txt", "tokenizer.model"
#: The name of the text that is there where no other is given.
HARD = "a hard text"
_OBJECTS = (CONFIG, MAP, ADDED, GENERATION, MODEL)
_LARGEST = 1 << 26
#: Characters of all texts that are looked at.
MOST_TEXT = 1 << 22
_BLOCKS = 64  # parts of each text in which they are
_MOST_LINES, _LONGEST_LINE = 2000, 1000
_PAIRS = ("gpt2", "word-ends")  # formats of two files, a vocabulary and merges
_ROLE = "_token"
_REPORTED = 1 << 13
#: A number in the name of a token.
NUMBER = re.compile("[0-9]+")
_OPENING, _CLOSING = re.compile(r"\{[{%#]"), {"{{": "}}", "{%": "%}", "{#": "#}"}
_LISTS = ("additional_special_tokens", "extra_special_tokens")
# With a file of one of these names, others in its folder belong to it.
_WITH_OTHERS = frozenset({TOKENIZER, VOCABULARY, MERGES, SENTENCEPIECE, "encoder.json", "vocab.bpe", "vocab.txt"})


@dataclass
class TokenizerJson:
    """A `tokenizer.json` as it is written."""

    settings: Mapping[str, Any]  # its parts, without model and added tokens
    model: Mapping[str, Any]  # the model without vocabulary and merges
    vocabulary: dict[str, int]  # each token with its id; of a repeated token the last
    added: Sequence[AddedToken] = ()  # its added tokens
    # int32 [n, 3], the ids of left, right and result of each merge whose tokens are known.
    merges: NDArray[np.int32] = field(default_factory=lambda: np.empty((0, 3), np.int32))
    # Tokens that the vocabulary has again, with both ids.
    repeated: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    # Ids that it has again, with both tokens.
    shared_ids: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])
    # The number of each merge with a token that the vocabulary lacks, its parts, and that token.
    unknown: list[tuple[int, str, str, str]] = field(default_factory=list[tuple[int, str, str, str]])

    @property
    def byte_level(self) -> bool:
        """Whether it writes bytes as characters."""
        around = (self.settings.get("pre_tokenizer"), self.settings.get("decoder"))
        return any(part.get("type") == "ByteLevel" for part in parts_in(around))


@dataclass
class Files:
    """The files of a tokenizer as they are written, each None where there is none."""

    json: TokenizerJson | None = None
    # The files beside it that hold one object, by name.
    objects: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    damaged: dict[str, str] = field(default_factory=dict[str, str])  # why files beside it cannot be read, by name
    # `vocab.json` and `merges.txt`, where they stand beside a `tokenizer.json`.
    pair: tuple[dict[str, int], list[tuple[str, str]]] | None = None
    pieces: Path | None = None  # the path of a `tokenizer.model` beside a `tokenizer.json`
    gguf: Header | None = None  # the header of a GGUF file

    def of(self, name: str) -> dict[str, Any]:
        """The object in a file beside it; empty where there is none."""
        return self.objects.get(name, {})

    def decoder(self) -> dict[int, dict[str, Any]] | None:
        """The added tokens that `tokenizer_config.json` lists, by id; None where it has no such list."""
        listed = self.of(CONFIG).get("added_tokens_decoder")
        if not isinstance(listed, dict):
            return None
        entries = cast("dict[str, Any]", listed).items()
        return {int(number): entry for number, entry in entries if number.isdecimal() and text_of(entry)}

    def listed(self) -> dict[str, int]:
        """The added tokens of the files beside it with the ids that they give."""
        decoder = self.decoder()
        if decoder is not None:
            return {text_of(entry): number for number, entry in decoder.items()}
        return {text: number for text, number in self.of(ADDED).items() if isinstance(number, int)}

    def roles(self, name: str) -> dict[str, str]:
        """The tokens by role in a file beside it; further special tokens are roles with a number."""
        values, roles = self.of(name), dict[str, str]()
        for key, value in values.items():
            if key.endswith(_ROLE) and (text := text_of(value)):
                roles[key] = text
        for key in _LISTS:
            listed = values.get(key)
            if isinstance(listed, dict):
                roles |= {role: text for role, one in cast("dict[str, Any]", listed).items() if (text := text_of(one))}
            elif isinstance(listed, list):
                texts = map(text_of, cast("list[Any]", listed))
                roles |= {f"{key} {number}": text for number, text in enumerate(texts, 1) if text}
        return roles


@dataclass
class Subject:
    """A tokenizer that is checked."""

    name: str  # its name in messages
    tokenizer: Tokenizer | None  # None where its files have a fault with which they do not open
    files: Files  # as they are written; empty for one that is not in files
    texts: Mapping[str, str]  # by name; the hard text where none were given
    given: bool  # whether the texts were given
    has_pattern: bool = True  # whether it is known how text is split
    process: LibraryProcess = field(default_factory=LibraryProcess)  # splits texts by a `tokenizer.json`, for all rules
    _lines: list[str] = field(default_factory=list[str])
    _bytes: dict[int, bytes] = field(default_factory=dict[int, bytes])
    _pieces: Tokenizer | FormatError | None = None

    @property
    def opened(self) -> Tokenizer:
        """The tokenizer, for rules that need it."""
        assert self.tokenizer is not None
        return self.tokenizer

    @property
    def specials(self) -> Mapping[str, int]:
        """The special tokens by text."""
        return {} if self.tokenizer is None else self.tokenizer.special_tokens

    @property
    def pre_tokenizer(self) -> Mapping[str, Any] | None:
        """That of `tokenizer.json`; None where there is none, or no such file."""
        found = self.files.json.settings.get("pre_tokenizer") if self.files.json else None
        return cast("dict[str, Any]", found) if isinstance(found, dict) else None

    @property
    def templates(self) -> Mapping[str, str]:
        """The chat templates by name, without the comments of Jinja."""
        found: Mapping[str, str] = {} if self.tokenizer is None else self.tokenizer.settings.chat_templates
        return {name: _without_comments(template) for name, template in found.items()}

    def pieces_work(self) -> Work[Tokenizer | FormatError | None]:
        """The tokenizer in a `tokenizer.model` beside a `tokenizer.json`, or why there is none; None without a file."""
        if self._pieces is None and self.files.pieces is not None:
            try:
                self._pieces = (yield from load_work(self.files.pieces)).tokenizer
            except FormatError as error:
                self._pieces = error
        return self._pieces

    @property
    def lines(self) -> Sequence[str]:
        """Lines of the texts, at most some thousand, in equal steps."""
        if not self._lines:
            every = [line for text in self.texts.values() for line in text.splitlines(keepends=True) if line.strip()]
            step = max(1, -(-len(every) // _MOST_LINES))
            self._lines = [line[:_LONGEST_LINE] for line in every[::step]]
        return self._lines

    @property
    def splits(self) -> bool:
        """Whether pre-tokens can be asked for."""
        own = self.tokenizer is not None and self.tokenizer.library is None
        return self.pre_tokenizer is not None or (own and self.has_pattern)

    def pre_tokens_work(self, texts: Sequence[str]) -> Work[list[list[tuple[int, int]]]]:
        """Where the pre-tokens of each text begin and end, in characters.

        Raises:
            FormatError: The library refuses the pre-tokenizer.
            ConfigError: The pattern does not cover the text.
        """
        if self.pre_tokenizer is not None:
            return (yield from pre_tokens_work(self.process, self.name, self.pre_tokenizer, texts))
        spans: list[list[tuple[int, int]]] = []
        for text in texts:
            pieces = splitter("none" if self.tokenizer is None else self.tokenizer.pattern).split(text)
            ends = np.cumsum([len(piece.decode("utf-8", "replace")) for piece in pieces]).tolist()
            spans.append(list(zip([0, *ends[:-1]], ends, strict=True)))
            yield Progress("splitting")
        return spans

    def bytes_of(self, token: int) -> bytes:
        """The bytes of a token."""
        return b"" if self.tokenizer is None else self.tokenizer.tokens[token] or b""

    def tokens_work(self) -> Work[Mapping[int, bytes]]:
        """The bytes of each token by id."""
        if not self._bytes and self.tokenizer is not None:
            tokens = self.tokenizer.tokens
            ids: list[int] = tokens.ids().tolist()
            for position, number in enumerate(ids):
                self._bytes[number] = tokens[number] or b""
                if position % _REPORTED == 0:
                    yield Progress("checking", position, len(ids))
        return self._bytes

    def text_of(self, token: int) -> str:
        """The text of a token, with U+FFFD for bytes that are none."""
        return self.bytes_of(token).decode("utf-8", "replace")

    def encode_work(self, texts: Sequence[str], specials: bool) -> Work[list[NDArray[np.uint32] | None]]:
        """The ids of each text, with special tokens recognised or not; None for one that cannot be encoded."""
        tokenizer = self.opened
        allowed = "all" if specials else ()
        if isinstance(tokenizer, LibraryTokenizer):
            try:
                ids, _, counts = yield from tokenizer.encode_texts_with_ends_work(texts, allowed)
                return [*np.split(ids, np.cumsum(counts))[: len(texts)]]
            except FormatError:
                if len(texts) == 1:
                    return [None]
            # One of them is refused.
        encoded: list[NDArray[np.uint32] | None] = []
        for text in texts:
            try:
                encoded.append((yield from tokenizer.encode_work(text, allowed)))
            except (ConfigError, FormatError):
                encoded.append(None)
            yield Progress("encoding", len(encoded), len(texts))
        return encoded


def _without_comments(template: str) -> str:
    """A template of Jinja without its comments, which begin in text only, and not in an expression or a statement."""
    kept, at = list[str](), 0
    while (opening := _OPENING.search(template, at)) is not None:
        end = template.find(_CLOSING[opening[0]], opening.end())
        if end < 0:
            break
        kept.append(template[at : opening.start() if opening[0] == "{#" else end])
        at = end + len(_CLOSING[opening[0]]) if opening[0] == "{#" else end
    return "".join((*kept, template[at:]))


def text_of(value: object) -> str:
    """The text of a token that is written as one, or with its flags; "" for another value."""
    match value:
        case str(text) | {"content": str(text)}:
            return text
        case _:
            return ""


#: Texts by name, or one after another; those without a name have a number.
Texts = Mapping[str, Text] | Sequence[Text] | None


def subject_work(
    tokenizer: Tokenizer | AnyPath, texts: Texts = None, pattern: str | None = None, name: str = ""
) -> Work[Subject]:
    """Reads the files of a tokenizer, and opens it; see `lint.lint` for the arguments.

    Raises:
        FormatError: There is no tokenizer, or it is damaged otherwise than the rules can tell.
    """
    texts = (texts,) if isinstance(texts, (str, bytes)) else texts or ()
    named = texts if isinstance(texts, Mapping) else {f"text {n}": text for n, text in enumerate(texts, 1)}
    parts = {key: _sampled(text, MOST_TEXT // len(named)) for key, text in named.items()}
    given = any(map(str.strip, parts.values()))
    chosen = parts if given else {HARD: torture_text()}
    if isinstance(tokenizer, Tokenizer):
        return Subject(name or "the tokenizer", tokenizer, (yield from _in_memory_work(tokenizer)), chosen, given)
    path = Path(tokenizer)
    subject = Subject(name or str(tokenizer), None, Files(), chosen, given)
    if name_of(tokenizer) is not None:
        loaded = yield from _loaded_work(subject, path, pattern)
        subject.files = yield from _beside_work(loaded.files[0], True)
        return subject
    subject.name = name or file_name(path)
    yield from settle_work((path,), set())
    found, paths = format_of(path)
    subject.files = yield from _beside_work(paths[0], path.is_dir() or paths[0].name in _WITH_OTHERS)
    if found.name == "gguf":
        subject.files.gguf = yield from header_work(paths[0], file_name(paths[0]), is_wanted)
    if found.name != "huggingface":
        try:
            opened = (yield from _loaded_work(subject, path, pattern)).tokenizer
        except FormatError as error:
            if found.name not in _PAIRS:
                raise
            subject.files.json = yield from _faulty_work(_pair_as_json_work(*paths[:2]), error)
            return subject
        # One that is made of other files may be opened as a tokenizer.json.
        subject.files.json = (yield from _in_memory_work(opened)).json
        return subject
    file = file_name(paths[0])
    try:
        beside = yield from beside_work(paths[1:], tuple(map(file_name, paths[1:])))
        subject.tokenizer, parsed = yield from opened_work(paths[0], file, (), beside)
    except FormatError as error:
        subject.files.json = yield from _faulty_work(_tokenizer_json_work(paths[0], file), error)
        return subject
    subject.files.json = TokenizerJson(parsed.settings, parsed.model, parsed.vocabulary, parsed.written, parsed.rows)
    return subject


def _faulty_work(work: Work[TokenizerJson], error: FormatError) -> Work[TokenizerJson]:
    """What can be read of files that do not open, if rules can tell what is wrong; raises the error otherwise."""
    try:
        read = yield from work
    except FormatError:
        raise error from None
    if not (read.repeated or read.shared_ids or read.unknown):
        raise error
    return read


def _sampled(text: str | bytes, most: int) -> str:
    """A text, or lines in equal steps of one that is larger than `most`."""
    if len(text) <= most:
        return text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    parts = list[str]()
    for number in range(_BLOCKS):
        start = number * (len(text) // _BLOCKS)
        stop = start + most // _BLOCKS
        if isinstance(text, bytes):
            start = text.find(b"\n", start, stop) + 1 or start
            parts.append(text[start:stop].decode("utf-8", "ignore"))
        else:
            start = text.find("\n", start, stop) + 1 or start
            parts.append(text[start:stop])
    return "\n".join(parts)


def _loaded_work(subject: Subject, path: Path, pattern: str | None) -> Work[Loaded]:
    """Opens the tokenizer of a subject, also one whose files do not have the pattern."""
    try:
        loaded = yield from load_work(path, pattern)
    except PatternNeeded:
        loaded = yield from load_work(path, "none")
        subject.has_pattern = False
    subject.tokenizer = loaded.tokenizer
    return loaded


def _beside_work(main: Path, has_others: bool) -> Work[Files]:
    """The files beside the first of a tokenizer, as they are written."""
    files = Files()
    if not has_others:
        return files
    for name in _OBJECTS:
        if (file := main.with_name(name)).is_file():
            try:
                files.objects[name] = yield from _object_work(file, name)
            except FormatError as error:
                files.damaged[name] = str(error)
    if main.name == TOKENIZER:
        vocabulary, merges, pieces = (main.with_name(name) for name in (VOCABULARY, MERGES, SENTENCEPIECE))
        if vocabulary.is_file():
            try:
                files.pair = yield from _pair_work(vocabulary, merges)
            except FormatError as error:
                files.damaged[VOCABULARY] = str(error)
        files.pieces = pieces if pieces.is_file() else None
    return files


def _in_memory_work(tokenizer: Tokenizer) -> Work[Files]:
    """The files that the library of a tokenizer reads."""
    files = Files()
    for name, content in tokenizer.source_files.items():
        if name == TOKENIZER:
            files.json = yield from _tokenizer_json_work(content, name)
        elif name in _OBJECTS:
            files.objects[name] = yield from _object_work(content, name)
    return files


def _object_work(file: Path | bytes, name: str) -> Work[dict[str, Any]]:
    values: dict[str, Any] = {}
    with JsonReader(file, name, _LARGEST) as reader:
        for key in reader.entries():
            if reader.peek() == "{":
                inner = values[key] = dict[str, Any]()
                for inner_key in reader.items():
                    inner[inner_key] = reader.value()
                    yield from reader.progress()
            else:
                values[key] = reader.value()
            yield from reader.progress()
        reader.end()
    return values


def _pair_work(vocabulary: Path, merges: Path) -> Work[tuple[dict[str, int], list[tuple[str, str]]]]:
    tokens: dict[str, int] = {}
    with JsonReader(vocabulary, VOCABULARY, GIGABYTE) as reader:
        for token in reader.entries():
            number = reader.value()
            if isinstance(number, int):
                tokens[token] = number
            yield from reader.progress()
    pairs: list[tuple[str, str]] = []
    if merges.is_file():
        with LineReader(merges, MERGES, GIGABYTE) as lines:
            for pair in merge_lines(lines):
                pairs.append(pair)
                yield from lines.progress()
    return tokens, pairs


def _tokenizer_json_work(file: Path | bytes, name: str) -> Work[TokenizerJson]:
    """A `tokenizer.json` of any content; FormatError where it is not JSON of this form."""
    settings, model, added = dict[str, Any](), dict[str, Any](), list[AddedToken]()
    read, pairs = TokenizerJson(settings, model, {}), list[tuple[str, str]]()
    with JsonReader(file, name, GIGABYTE) as reader:
        for key in reader.entries():
            if key == "model" and reader.peek() == "{":
                for inner in reader.items():
                    if inner == "vocab" and reader.peek() in ("{", "["):
                        yield from _vocabulary_work(reader, read)
                    elif inner == "merges" and reader.peek() == "[":
                        for _ in reader.elements():
                            pairs += [] if (pair := read_pair(reader)) is None else [pair]
                            yield from reader.progress()
                    else:
                        model[inner] = reader.value()
            elif key == "added_tokens" and reader.peek() == "[":
                for position in reader.elements():
                    added.append(added_token(name, position + 1, reader.value()))
                    yield from reader.progress()
            else:
                settings[key] = reader.value()
            yield from reader.progress()
        reader.end()
    return replace((yield from _with_merges_work(read, pairs)), added=added)


def _pair_as_json_work(vocabulary: Path, merges: Path) -> Work[TokenizerJson]:
    """A vocabulary and a list of merges in two files, of any content."""
    read, pairs = TokenizerJson({}, {}, {}), list[tuple[str, str]]()
    with JsonReader(vocabulary, file_name(vocabulary), GIGABYTE) as reader:
        yield from _vocabulary_work(reader, read)
        reader.end()
    with LineReader(merges, file_name(merges), GIGABYTE) as lines:
        for pair in merge_lines(lines):
            pairs.append(pair)
            yield from lines.progress()
    return (yield from _with_merges_work(read, pairs))


def _with_merges_work(read: TokenizerJson, pairs: Sequence[tuple[str, str]]) -> Work[TokenizerJson]:
    """The same with merges, and with those whose tokens are unknown."""
    rows, prefix = list[tuple[int, int, int]](), read.model.get("continuing_subword_prefix")
    for number, (left, right) in enumerate(pairs, 1):
        tokens = left, right, left + (right[len(prefix) :] if isinstance(prefix, str) else right)
        if (missing := next((token for token in tokens if token not in read.vocabulary), None)) is not None:
            read.unknown.append((number, left, right, missing))
        else:
            rows.append((read.vocabulary[left], read.vocabulary[right], read.vocabulary[tokens[2]]))
        if number % _REPORTED == 0:
            yield Progress("reading", number, len(pairs))
    return replace(read, merges=np.array(rows, np.int32).reshape(-1, 3))


def _vocabulary_work(reader: JsonReader, read: TokenizerJson) -> Work[None]:
    """Reads the next object of tokens with ids, or array of pieces."""
    token_of: dict[int, str] = {}
    is_object = reader.peek() == "{"
    for token in reader.items() if is_object else reader.elements():
        value = reader.value()
        if isinstance(token, int):
            value, token = token, str(cast("list[object]", value)[0]) if isinstance(value, list) and value else ""
        if not isinstance(value, int):
            raise reader.fault_before("an id must be a whole number")
        if token in read.vocabulary:
            read.repeated.append((token, read.vocabulary[token], value))
        elif (other := token_of.get(value)) is not None:
            read.shared_ids.append((value, other, token))
        read.vocabulary[token], token_of[value] = value, token
        yield from reader.progress()


def by_number(tokens: Collection[str]) -> dict[str, list[str]]:
    """Groups tokens that differ only in a number, such as reserved ones."""
    groups: dict[str, list[str]] = {}
    for token in tokens:
        groups.setdefault(NUMBER.sub("0", token), []).append(token)
    return groups
