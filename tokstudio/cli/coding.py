"""The commands `encode` and `decode`: text to ids, and back."""

# SPDX-License-Identifier: MIT
# What reads data sets is imported where one is read: a text alone is encoded sooner than it would be loaded.
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tokstudio.cli.process.terminal import Console, put, standard_input_work
from tokstudio.cli.tokenizers import load_tokenizer_or_run
from tokstudio.core.base.atomic_files import file_name, write_files
from tokstudio.core.base.errors import TokStudioError
from tokstudio.core.base.wording import several
from tokstudio.core.corpus.readers.files import read_file_work
from tokstudio.core.formats.ids import ids_work, json_list, write_ids_work
from tokstudio.core.hub.addresses import address_of
from tokstudio.core.pretokenization.special_tokens import AllowedSpecial
from tokstudio.core.text.encodings import WHY_NOT_POINTER, is_lfs_pointer
from tokstudio.core.text.utf8 import to_utf8
from tokstudio.core.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tokstudio.cli.reading import TextsToRead
    from tokstudio.core.corpus.source import Source

_TOGETHER, _DOCUMENTS = 1 << 20, 1 << 14  # bytes and rows that are encoded together

# Names of pipes and terminals in the file system; other files with such names are not read.
_STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def encode(arguments: argparse.Namespace, console: Console) -> None:
    """Encodes text to ids: a JSON list, or a NumPy array by the name of the file; a data set into shards."""
    if arguments.folder is not None:
        from tokstudio.cli.shards import encode_shards

        encode_shards(arguments, console)
        return
    file: str | None = arguments.file
    remote = file if file is not None and address_of(file) is not None else None
    name, text = (remote, b"") if remote is not None else _read_input(arguments.text, file, console)
    tokenizer = load_tokenizer_or_run(arguments.tokenizer, arguments.run, arguments.pattern, console)
    allowed: list[str] = arguments.allow_special
    if arguments.dropout:
        tokenizer = tokenizer.with_dropout(arguments.dropout, arguments.seed)
    specials: AllowedSpecial = "all" if "all" in allowed else tuple(allowed)
    if remote is not None:
        from tokstudio.cli.reading import read_corpus, texts_of

        sources = read_corpus(texts_of(arguments, [remote]), console).corpus.sources
        name = sources[0].name
        text, ids = _encoded(sources, tokenizer, specials, console)
    elif arguments.reads:
        from tokstudio.cli.reading import texts_of

        sources = _sources_inside(name, text, texts_of(arguments, ()), console)
        text, ids = _encoded(sources, tokenizer, specials, console)
    else:
        if arguments.text is None:
            _tell_of_container(name, text, console)
        ids = console.finish(tokenizer.encode_work(text, specials))
    _tell_of_losses(name, text, ids, tokenizer, console)
    if not specials:
        _tell_of_specials(name, ids, tokenizer, console)
    if arguments.out is None:
        put(sys.stdout, b"".join(json_list(ids)))
    else:
        console.finish(write_ids_work(ids, arguments.out, len(tokenizer.tokens) - 1))


def _sources_inside(name: str, content: bytes, how: TextsToRead, console: Console) -> tuple[Source, ...]:
    """The texts in a data set, a compressed file or an archive."""
    from tokstudio.cli.reading import plain_reading_errors, report_read
    from tokstudio.core.corpus.open_sources import content_work

    with plain_reading_errors():
        raw = np.frombuffer(content, np.uint8)
        sources = console.finish(content_work(raw, name, how.documents, how.encoding, how.reading))
    report_read(sources, console)
    return sources


def _encoded(
    sources: Sequence[Source], tokenizer: Tokenizer, specials: AllowedSpecial, console: Console
) -> tuple[bytes, NDArray[np.uint32]]:
    """The text of sources, and the ids of their documents one after another."""
    from tokstudio.core.corpus.source import groups

    ids = [np.empty(0, np.uint32)]
    for source in sources:
        for first, last, start, stop in groups(source.ends, _TOGETHER, _DOCUMENTS):
            piece, ends = np.asarray(source.data[start:stop]).tobytes(), (source.ends[first:last] - start).tolist()
            texts = [piece[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
            ids.append(console.finish(tokenizer.encode_texts_with_ends_work(texts, specials))[0])
    return b"".join(np.asarray(source.data[:]).tobytes() for source in sources), np.concatenate(ids)


def _tell_of_container(name: str, content: bytes, console: Console) -> None:
    """Reports that not the text in a data set, a compressed file or an archive is encoded, and what encodes that."""
    if not content:
        return
    if is_lfs_pointer(content[:512]):
        console.say(f"{name}: {WHY_NOT_POINTER}.")
        return
    from tokstudio.core.corpus.open_sources import look_at_content_work
    from tokstudio.core.corpus.readers.kinds import TEXT

    try:
        look = console.finish(look_at_content_work(content, name))
    except TokStudioError:
        return  # it is none of these, or damaged
    if look.kind == TEXT:
        return
    way = f"--field {look.field}" if look.field is not None else "--field COLUMN" if look.columns else "--as-text"
    console.say(f"{name}: its bytes are encoded as they are stored, as {look.kind}. To encode the text in it: {way}.")


def decode(arguments: argparse.Namespace, console: Console) -> None:
    """Decodes ids to exact bytes."""
    name, data = _read_input(arguments.text, arguments.file, console)
    ids = console.finish(ids_work(name, data))
    tokenizer = load_tokenizer_or_run(arguments.tokenizer, arguments.run, arguments.pattern, console)
    text = tokenizer.decode_bytes(ids)
    if arguments.out is None:
        put(sys.stdout, text)
    else:
        console.finish(write_files({arguments.out: [text]}))


def _read_input(text: str | None, file: str | None, console: Console) -> tuple[str, bytes]:
    """The name and the content of the input: a text, or else a file."""
    if text is not None:
        try:  # an argument may have bytes that are not UTF-8
            return "--text", text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return "--text", to_utf8(text)
    if file is None or file in _STANDARD_INPUT:
        return "standard input", console.finish(standard_input_work())
    path = Path(file)
    return file_name(path), console.finish(read_file_work(path))


def _tell_of_specials(name: str, ids: NDArray[np.uint32], tokenizer: Tokenizer, console: Console) -> None:
    """Reports special tokens that a library makes of plain text, as Check Tokenizer does by `special-from-merges`."""
    ordinary, unknown = tokenizer.preparation.ordinary, tokenizer.alphabet.unknown
    special = {number for token, number in tokenizer.special_tokens.items() if token not in ordinary} - {unknown}
    if count := int(np.count_nonzero(np.isin(ids, list(special)))):
        console.say(
            f"{name}: {several(count, 'id is', 'ids are')} of special tokens made of plain text: no setting "
            "keeps them out."
        )


def _tell_of_losses(name: str, text: bytes, ids: NDArray[np.uint32], tokenizer: Tokenizer, console: Console) -> None:
    """Reports text that decoding will not restore; with characters as base tokens, some may be replaced."""
    if tokenizer.alphabet.base != "characters":
        return
    replaced = text.decode("utf-8", "replace").count("\ufffd") - text.count("\ufffd".encode())
    if replaced:
        console.say(
            f"{name}: {several(replaced, 'byte sequence was', 'byte sequences were')} not UTF-8 and became U+FFFD."
        )
    unknown = tokenizer.alphabet.unknown
    if unknown is not None and (count := int(np.count_nonzero(ids == unknown))):
        console.say(f"{name}: {several(count, 'id is', 'ids are')} the unknown token, {unknown}.")
