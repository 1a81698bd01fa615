"""A copy of a model with another tokenizer: its own values and its tensors stay as they are, byte for byte."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.base.atomic_files import file_name
from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import several, shown
from tokstudio.core.formats.common.format import Fit, Format
from tokstudio.core.formats.common.proof import NOT_PROVED
from tokstudio.core.formats.common.text_readers import why_not
from tokstudio.core.formats.gguf import names, proof, writer
from tokstudio.core.formats.gguf.header import Header, Value, aligned, beginning, header_work, written

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_EMBEDDING = ("token_embd.weight", "output.weight")
_VOCABULARY_SIZE = ".vocab_size"
_NEW = "-new-tokenizer.gguf"  # in a folder, a copy has another name than the model
_PIECE = 1 << 16
_KEPT = frozenset({names.SPLIT_COUNT, names.TOKENS, *chain.from_iterable(names.ROLE_KEYS.values())})
_ANY_SIZE = 1 << 62


class InModel(Format):
    """What differs from the format where a copy of a `model` gets the tokenizer.

    Where the tokenizer has fewer tokens than the model, the others are filled up if it is to `pad` them.
    """

    largest = _ANY_SIZE

    def __init__(self, of: Format, model: Path, pad: bool) -> None:
        self._of, self._model, self._pad = of, model, pad
        self.name, self.title, self.files = of.name, of.title, (f"{model.stem}{_NEW}",)
        self._header: Header | None = None

    def fit_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """What the format says, and whether the model has as many tokens."""
        fitting = yield from self._of.fit_work(tokenizer)
        if fitting.problem is not None:
            return fitting
        header = yield from self._read_work()
        if roles := self._kept_roles(header, tokenizer):
            fitting = yield from self._of.fit_work(_with_roles(tokenizer, roles))
        if (problem := self._refused(header, tokenizer)) is not None:
            return Fit(problem, (), ())
        return replace(fitting, notes=(*fitting.notes, *self._notes(header, tokenizer)))

    def _read_work(self) -> Work[Header]:
        if self._header is None:
            self._header = yield from header_work(
                self._model,
                file_name(self._model),
                lambda key: key.startswith(names.CHAT_TEMPLATE) or _says_size(key) or key in _KEPT,
                tensors=True,
            )
        return self._header

    def _refused(self, header: Header, tokenizer: Tokenizer) -> str | None:
        if (parts := header.number(names.SPLIT_COUNT) or 1) > 1:
            return f"{header.name} is one of {parts:,} parts of a model: join them first, as llama-gguf-split does."
        if not header.tensors:
            return f"{header.name} has no tensors: it is not a model."
        size, rows = len(tokenizer.tokens), _rows(header)
        if len(set(rows.values())) > 1:
            sizes = ", ".join(f"{name} {count:,}" for name, count in rows.items())
            return f"{header.name} says of several sizes how many tokens it has: {sizes}."
        most = next(iter(rows.values()), size)
        if size > most:
            return f"The tokenizer has ids up to {size - 1:,}, and {header.name} has only {several(most, 'token')}."
        if size < most and not self._pad:
            return (
                f"The tokenizer has {several(size, 'token')}, and {header.name} has {most:,}: let it be filled up with "
                "tokens that no text becomes, or choose another model."
            )
        return None

    def _notes(self, header: Header, tokenizer: Tokenizer) -> Iterator[str]:
        yield f"The tensors and all other values of {header.name} are copied as they are."
        if (missing := max(_rows(header).values(), default=0) - len(tokenizer.tokens)) > 0:
            yield f"{several(missing, 'token')} that no text becomes are added, as many as the model has more."
        if self._kept(header, tokenizer):
            yield "The chat template of the model stays, as the tokenizer has none."
        if roles := self._kept_roles(header, tokenizer):
            named = ", ".join(f"{role.removesuffix('_token')} {shown(token)}" for role, token in roles.items())
            yield f"The model's own roles of special tokens stay, as the files of the tokenizer give none: {named}."

    def _kept(self, header: Header, tokenizer: Tokenizer) -> list[str]:
        """The keys of the model's own chat templates, where they stay."""
        own = tokenizer.settings.chat_templates
        return [] if own else [key for key in header.values if key.startswith(names.CHAT_TEMPLATE)]

    def _kept_roles(self, header: Header, tokenizer: Tokenizer) -> dict[str, str]:
        """The model's own special tokens by role, where the tokenizer has them and its files do not give the role."""
        texts, given, kept = header.texts(names.TOKENS) or [], writer.given_roles(tokenizer), dict[str, str]()
        for role, keys in names.ROLE_KEYS.items():
            number = next((number for key in keys if (number := header.number(key)) is not None), -1)
            text = texts[number].decode("utf-8", "replace") if 0 <= number < len(texts) else ""
            is_special = text in tokenizer.special_tokens and text not in tokenizer.preparation.ordinary
            if role not in given and is_special:
                kept[role] = text
        return kept

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """That of the model, with the tokenizer once more."""
        assert self._header is not None
        return self._header.size + self._of.size(tokenizer, token_bytes)

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The one file."""
        assert self._header is not None
        return {self.files[0]: self._pieces(self._header, tokenizer)}

    def _pieces(self, header: Header, tokenizer: Tokenizer) -> Iterator[bytes]:
        """The file in pieces: the model's own values, those of the tokenizer in place of its former ones, tensors."""
        tokenizer = _with_roles(tokenizer, self._kept_roles(header, tokenizer))
        values = writer.values_of(tokenizer, max(_rows(header).values(), default=0))
        values |= {key: header.values[key] for key in self._kept(header, tokenizer)}
        own = {key: place for key, place in header.places.items() if not key.startswith(names.TOKENIZER)}
        head = beginning(header.order, header.version, len(header.tensors), len(own) + len(values))
        done = len(head)
        yield head
        for piece in (*self._copied(own.values()), *_all_written(header.order, values)):
            done += len(piece)
            yield piece
        for piece in self._copied([header.infos]):
            done += len(piece)
            yield piece
        yield bytes(aligned(done, header.alignment) - done)
        yield from self._copied([(header.data, header.size)])

    def _copied(self, places: Iterable[tuple[int, int]]) -> Iterator[bytes]:
        try:
            with self._model.open("rb") as file:
                for start, stop in places:
                    file.seek(start)
                    while start < stop:
                        piece = file.read(min(_PIECE, stop - start))
                        if not piece:
                            raise FormatError(f"{file_name(self._model)}: the file became shorter while it was read.")
                        start += len(piece)
                        yield piece
        except OSError as error:
            raise FormatError(f"{file_name(self._model)}: {why_not(error)}.") from error

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """None: it is a model."""
        return ""

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Reads the file back, and lets llama.cpp read its vocabulary; the tensors must stand where they stood."""
        path = written[self.files[0]]
        header = yield from self._read_work()
        again = yield from header_work(path, name, lambda key: False, tensors=True)
        if again.tensors != header.tensors or again.size - again.data != header.size - header.data:
            raise FormatError(f"{name}: when read back, its tensors differ from those of the model.")
        back = yield from self._of.read((path,), (name,), tokenizer.pattern)
        proof.check_same(tokenizer, back, name)
        if header.order != "<":
            return f"{NOT_PROVED}: llama.cpp reads this order of bytes only on other computers"
        return (yield from proof.proved_work(tokenizer, path, name, sample))


def _with_roles(tokenizer: Tokenizer, roles: Mapping[str, str]) -> Tokenizer:
    settings = tokenizer.settings
    return tokenizer.changed(settings=replace(settings, roles={**settings.roles, **roles}))


def _says_size(key: str) -> bool:
    return key.endswith(_VOCABULARY_SIZE) and not key.startswith(names.TOKENIZER)


def _rows(header: Header) -> dict[str, int]:
    """How many tokens the model has, by what says so."""
    rows = {tensor.name: tensor.dimensions[1] for tensor in header.tensors
            if tensor.name in _EMBEDDING and len(tensor.dimensions) == 2}  # fmt: skip
    sizes = {key: header.number(key) for key in header.values if _says_size(key)}
    return rows | {key: size for key, size in sizes.items() if size is not None}


def _all_written(order: str, values: Mapping[str, Value]) -> Iterator[bytes]:
    for key, value in values.items():
        yield from written(order, key, value)
