"""tiktoken's vocabularies: lines of base64 and rank, with a sidecar file of TokStudio for the rest.

The merges are recovered by encoding each token with those before it; see `formats.common.recover_merges`.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.added_tokens import preparation_of
from tokstudio.core.formats.common.beside import Completed, beside_work, files_beside
from tokstudio.core.formats.common.format import GIGABYTE, Fit, Format, PatternNeeded, gathered
from tokstudio.core.formats.common.known_files import Known, known_ranks_work
from tokstudio.core.formats.common.recover_merges import recover_merges_work, splits_work
from tokstudio.core.formats.common.spelling import named_pattern
from tokstudio.core.formats.common.text_readers import JsonReader, LineReader, only_file
from tokstudio.core.formats.common.vocabulary import (
    IS_EMPTY,
    empty_remarks,
    id_problem,
    read_vocabulary_work,
    sensible_ids,
)
from tokstudio.core.formats.tiktoken import writer
from tokstudio.core.formats.tiktoken.sets import portable
from tokstudio.core.model.alphabet import BYTES, NEVER_IN_TEXT, Alphabet, missing_byte
from tokstudio.core.pretokenization.patterns import NAMES, splitter
from tokstudio.core.text.utf8 import has_surrogates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.tokenizer import Tokenizer

RANKS_FILE, SIDECAR, LOADER = "ranks.tiktoken", "ranks.json", "ranks_tiktoken.py"

_SUFFIX, _MODEL = ".tiktoken", ".model"
_HUGGING_FACE = "tokenizer.json"
# Names for which NAME.json would be a file of another format.
_TAKEN = frozenset({"tokenizer", "tokenizer_config", "vocab", "vocabulary", "encoder", "merges"})
_LINE = re.compile(rb"(?:[A-Za-z0-9+/]+={0,2}|=+) [0-9]+\r?\n")
_NUMBER = re.compile(rb"[0-9]{1,12}")


class Tiktoken(Format):
    """`NAME.tiktoken`, `NAME.json` and `NAME_tiktoken.py`, whose name does not shadow the module tiktoken.

    Meta and others have the same lines in a `NAME.model`.
    """

    name = "tiktoken"
    title = "tiktoken"
    description = "ranks for OpenAI's tiktoken, with a short Python script that loads them"
    files = (RANKS_FILE, SIDECAR, LOADER)
    looked_for = f"NAME{_SUFFIX}"
    folder = True
    only_bytes = True
    largest = GIGABYTE
    library = "tiktoken"
    holds_any_order = True

    def takes_folder(self, path: Path) -> bool:
        """A path that ends in .tiktoken names the ranks."""
        return path.is_dir() or path.suffix != _SUFFIX

    def targets(self, path: Path) -> Mapping[str, Path]:
        """The ranks, and beside them two files with the same beginning of the name."""
        if path.is_file() and self.takes_folder(path):
            raise FormatError(
                f"{path.name}: this is a file, and {self.title} is saved to a folder, or to a file that ends in "
                f"{_SUFFIX}."
            )
        ranks = path / RANKS_FILE if self.takes_folder(path) else path
        if ranks.stem.lower() in _TAKEN:
            raise FormatError(
                f"{ranks.name}: the file beside it, {ranks.stem}.json, would be mistaken for another format: "
                "choose another name."
            )
        loader = ranks.with_name(f"{ranks.stem}_tiktoken.py")
        return {RANKS_FILE: ranks, SIDECAR: ranks.with_suffix(".json"), LOADER: loader}

    def check_places(self, targets: Mapping[str, Path]) -> None:
        """Files beside the ranks that TokStudio did not write are never replaced."""
        _refuse_foreign(targets[SIDECAR], writer.SIDECAR_BEGINNING)
        _refuse_foreign(targets[LOADER], writer.LOADER_BEGINNING)

    def losses(self, tokenizer: Tokenizer) -> Iterable[str]:
        """Ids are ranks, and special tokens are recognised in no fixed order."""
        return writer.losses(tokenizer)

    def remarks_lost(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """The empty token is written, so the remark about it is not lost."""
        return tuple(remark for remark in super().remarks_lost(tokenizer) if not remark.endswith(IS_EMPTY))

    def notes(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """The ranks alone are incomplete."""
        return (
            "The ranks hold no pattern or special tokens: the .json beside them has both; the .py loads everything.",
        )

    def new_ids(self, tokenizer: Tokenizer) -> NDArray[np.int32] | None:
        """Merges get ascending ids."""
        return writer.rank_ids(tokenizer)

    def check_tokens_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """No two tokens have the same bytes; the losses are tokens that merging by ranks makes otherwise."""
        return (yield from writer.fit_of_ranks_work(tokenizer))

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """Base64 takes four bytes for three."""
        specials = sum(30 + 6 * len(token.encode()) for token in tokenizer.special_tokens)
        return 4 * token_bytes // 3 + 14 * len(tokenizer) + specials + 1000

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """All three files."""
        held = writer.in_rank_order(tokenizer)
        return {RANKS_FILE: gathered(writer.ranks(held)), SIDECAR: [writer.sidecar(held)], LOADER: [writer.loader()]}

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Reads the files back, and lets tiktoken read them."""
        ranks, sidecar = written[RANKS_FILE], written[SIDECAR]
        back = yield from self.read((ranks, sidecar), (name, Path(name).with_suffix(".json").name))
        return (yield from writer.prove_ranks_work(tokenizer, back, ranks, sidecar, name, sample))

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """Python code that loads them, as in the file beside them."""
        return writer.snippet(targets[RANKS_FILE])

    def find(self, path: Path) -> tuple[Path, ...]:
        """A file with the usual ending, or the only one in a folder, and its sidecar if there is one.

        Or a `NAME.model` with ranks, the only one in a folder; and the configuration beside either, which beside a
        NAME.tiktoken may be that of a `tokenizer.json`.
        """
        folder = path if path.is_dir() else path.parent
        ranks = only_file(path, _SUFFIX) if path.is_dir() else path if path.suffix == _SUFFIX else None
        if ranks is not None:
            sidecar = ranks.with_suffix(".json")
            own = (ranks, sidecar) if sidecar.is_file() else (ranks,)
            return own if (folder / _HUGGING_FACE).exists() else tuple(dict.fromkeys((*own, *files_beside(folder))))
        files = self.find_only(path, _MODEL) or self._ranks_of_model(path)
        return (*files, *files_beside(folder)) if files else files

    def _ranks_of_model(self, path: Path) -> tuple[Path, ...]:
        """A file with the ending of a model, if it has ranks."""
        if path.suffix != _MODEL or not path.is_file():
            return ()
        try:
            with LineReader(path, path.name, GIGABYTE) as lines:
                return (path,) if self.recognises(path, lines.peek()) else ()
        except FormatError:
            return ()  # another format may read it, or says what is wrong

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Whether it begins with base64 and a rank."""
        return _LINE.match(beginning) is not None

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads the ranks, and recovers the merges.

        The sidecar comes first, then the given pattern and the files beside the ranks, then what is known of them.
        """
        path, name = files[0], names[0]
        sidecar = Path(name).with_suffix(".json").name
        has_sidecar = names[1:2] == (sidecar,)
        said = (yield from _read_sidecar(files[1], sidecar)) if has_sidecar else _Sidecar()
        beside = yield from beside_work(files[1 + has_sidecar :], names[1 + has_sidecar :])
        ranks = yield from known_ranks_work(path)
        chosen = next((one for one in (said.pattern, pattern, ranks and ranks.pattern) if one is not None), None)
        if chosen is None:
            raise PatternNeeded(name)
        if said.special_tokens is not None:
            completed = beside.of_ranks(said.special_tokens, sidecar)
        else:
            completed = beside.of_ranks({} if ranks is None else ranks.special_tokens)
        notes = list(said.notes)
        if ranks is not None and ranks.note and said.special_tokens is None and not beside.listed:
            notes.append(ranks.note)
        if said.pattern is not None and pattern is not None and _split_name(name, pattern) != _split_name(name, chosen):
            notes.append(f"{sidecar} says how text is split, so the pattern {shown(pattern)} is not used.")
        settings = replace(completed.settings, notes=(*notes, *completed.settings.notes))
        rank_of = yield from _read_ranks(path, name)
        known = Known(chosen, {token.content: token.id for token in completed.tokens})
        return (yield from of_ranks_work(name, rank_of, known, beside=replace(completed, settings=settings)))


@dataclass(frozen=True)
class _Sidecar:
    """What a sidecar says; None where it does not say it."""

    pattern: str | None = None
    special_tokens: Mapping[str, int] | None = None
    notes: tuple[str, ...] = ()


def _split_name(name: str, pattern: str) -> str:
    return pattern if pattern in NAMES else named_pattern(name, portable(pattern))


def _refuse_foreign(path: Path, beginning: bytes) -> None:
    """Raises FormatError where there is a file with another beginning than TokStudio's."""
    if not path.exists():
        return
    with LineReader(path, path.name, GIGABYTE) as lines:
        if not lines.peek().startswith(beginning):
            raise FormatError(
                f"{path.name}: a file with this name already exists, and TokStudio did not write it: "
                "choose another name or folder."
            )


def _read_ranks(path: Path, name: str) -> Work[dict[bytes, int]]:
    rank_of: dict[bytes, int] = {}
    used = set[int]()
    with LineReader(path, name, GIGABYTE) as lines:
        for line in lines:
            if not line:
                continue
            parts = line.split()
            if len(parts) != 2:
                raise lines.fault("a line must be a token in base64, a space and a rank")
            try:
                # Padding alone is the empty token, which a strict base64 decoder refuses.
                token = base64.b64decode(parts[0], validate=True) if parts[0].strip(b"=") else b""
            except binascii.Error as error:
                raise lines.fault(f"{shown(parts[0].decode('ascii', 'replace'))} is not base64") from error
            rank = int(parts[1]) if _NUMBER.fullmatch(parts[1]) else None
            if problem := id_problem(rank):
                raise lines.fault(problem)
            rank = cast("int", rank)
            if token in rank_of:
                text = shown(token[:200].decode("utf-8", "backslashreplace"))
                named = f"the token {text}" if token else "the empty token"
                raise lines.fault(f"{named} appears twice")
            if rank in used:
                raise lines.fault(f"rank {rank} appears twice")
            used.add(rank)
            rank_of[token] = rank
            yield from lines.progress()
    return rank_of


def _read_sidecar(path: Path, name: str) -> Work[_Sidecar]:
    """The content of the sidecar, with a note where it is another file with this name."""
    settings: dict[str, object] = {}
    specials: dict[str, int] | None = None
    with JsonReader(path, name, GIGABYTE) as reader:
        for key in reader.items():
            if key in settings:
                raise reader.fault(f"the key {shown(key)} appears twice")
            settings[key] = None
            if key == "special_tokens":
                specials = yield from read_vocabulary_work(reader)
            elif key in ("pattern", "version"):
                settings[key] = reader.value()
            else:
                reader.skip()
            yield from reader.progress()
        reader.end()
    if "pattern" not in settings and specials is None:
        is_other = Path(name).stem.lower() in _TAKEN
        note = f"{name} has no pattern and no special tokens, so it is not read."
        return _Sidecar(notes=() if is_other else (note,))
    if settings.get("version", 1) != 1:
        raise FormatError(f"{name}: TokStudio cannot read this version of the format yet.")
    strange = next((token for token in specials or () if not token or has_surrogates(token)), None)
    if strange is not None:
        raise FormatError(f"{name}: the special token {shown(strange)} is not a string.")
    if "pattern" not in settings:
        return _Sidecar(None, specials)
    pattern = settings["pattern"]
    if not isinstance(pattern, str):
        raise FormatError(f"{name}: its pattern is not a string.")
    if pattern == writer.EVERYTHING:
        return _Sidecar("none", specials)
    named = named_pattern(name, portable(pattern))
    return _Sidecar(named if named in NAMES else pattern, specials)


def of_ranks_work(
    name: str,
    rank_of: Mapping[bytes, int],
    encoding: Known,
    remarks: tuple[str, ...] = (),
    beside: Completed | None = None,
) -> Work[Tokenizer]:
    """The tokenizer of ranks with what is known of them, and with what the files beside them say."""
    regex, encoding = encoding.pattern, replace(encoding, pattern=named_pattern(name, portable(encoding.pattern)))
    tokenizer = yield from _tokenizer_work(name, rank_of, encoding)
    if remarks:
        tokenizer = tokenizer.changed(remarks=(*remarks, *tokenizer.remarks))
    if beside is not None:
        preparation = preparation_of(False, False, beside.tokens)
        tokenizer = tokenizer.changed(preparation=preparation, settings=beside.settings)
    return (yield from _split_alike_work(name, tokenizer, regex, rank_of))


def _tokenizer_work(name: str, rank_of: Mapping[bytes, int], encoding: Known) -> Work[Tokenizer]:
    from tokstudio.core.tokenizer.content import TokenizerContent
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

    bytes_of_ranks = {token[0] for token in rank_of if len(token) == 1}
    missing = missing_byte(bytes_of_ranks)
    if missing is None and not NEVER_IN_TEXT.isdisjoint(bytes_of_ranks):
        # A file has all of these or none, unless its end is missing.
        missing = min(NEVER_IN_TEXT - bytes_of_ranks, default=None)
    if missing is not None:
        raise FormatError(f"{name}: the byte {missing} has no rank; TokStudio needs all 256.")
    ranks = frozenset(rank_of.values())
    for token, number in encoding.special_tokens.items():
        if number in ranks:
            raise FormatError(f"{name}: the special token {shown(token)} has the id {number}, which is also a rank.")
    yield Progress("reading")
    # No text becomes the empty token, so it is not part of any merge.
    unreached = {rank: token for token, rank in rank_of.items() if not token}
    unsorted = [token for token in rank_of if token]
    ids = np.array([rank_of[token] for token in unsorted], np.int32)
    order: list[int] = np.argsort(ids).tolist()
    tokens, ids = [unsorted[number] for number in order], ids[order]
    try:
        parts = yield from recover_merges_work(tokens)
    except ConfigError as error:
        raise FormatError(f"{name}: {error}.") from error
    is_merged = parts[:, 0] >= 0
    # A pre-token that equals a token becomes it without being merged.
    unmade = np.flatnonzero(~is_merged & (np.fromiter(map(len, tokens), np.int64, len(tokens)) > 1))
    whole_words = {int(ids[number]): tokens[number] for number in unmade.tolist()}
    if np.any(parts > np.arange(len(parts))[:, np.newaxis]):
        # Where merges stand in no order, such a token comes with its rank, as in the file: with parts that never meet.
        splits = yield from splits_work(tokens, unmade)
        behind, first = np.unique(splits[:, 2], return_index=True)
        parts[behind], is_merged[behind] = splits[first, :2], True
    extra = {rank: token for rank, token in whole_words.items() if not is_merged[np.searchsorted(ids, rank)]}
    with sensible_ids(name):
        alphabet = Alphabet.of_bytes([rank_of.get(bytes([byte]), -1) for byte in range(BYTES)])
        return Tokenizer.of(
            TokenizerContent(
                *(
                    ids[parts[is_merged]],
                    ids[is_merged],
                    alphabet,
                    encoding.special_tokens,
                    encoding.pattern,
                    extra | unreached,
                ),
                whole_words=frozenset(whole_words),
                ignores_merges=True,
                remarks=empty_remarks(unreached),
            )
        )


def _split_alike_work(name: str, tokenizer: Tokenizer, regex: str, rank_of: Mapping[bytes, int]) -> Work[Tokenizer]:
    """The tokenizer, or one that tiktoken encodes for where that splits text by the expression in another way."""
    from tokstudio.core.libraries.client import check_split_work, is_installed, torture_text
    from tokstudio.core.tokenizer.library_tokenizer import LibraryFile, LibraryTokenizer, Vocabulary

    if tokenizer.pattern in NAMES or not is_installed("tiktoken"):
        return tokenizer
    try:
        splitter(tokenizer.pattern).split(torture_text())
        yield from check_split_work(name, tokenizer.pattern, regex, library="tiktoken")
        return tokenizer
    except (ConfigError, FormatError):
        pass
    sidecar = {"pattern": regex, "special_tokens": dict(tokenizer.special_tokens), "version": 1}
    said = tokenizer.settings
    if not tokenizer.preparation.is_plain:
        note = "tiktoken encodes for it, and takes its added tokens for special ones without flags."
        said = replace(said, notes=(*said.notes, note))
    content = replace(
        tokenizer.content.of_merges(), whole_words=frozenset(), remarks=tokenizer.content.remarks, settings=said
    )
    empty = frozenset(rank for token, rank in rank_of.items() if not token)
    files = {RANKS_FILE: writer.lines(rank_of), SIDECAR: json.dumps(sidecar).encode()}
    opened = LibraryTokenizer(
        LibraryFile("tiktoken", name, files, sidecar),
        Vocabulary(content, unreachable=empty),
        "its pattern does not split text as TokStudio can",
    )
    try:
        ids = yield from opened.encode_work(torture_text())
        covers = (yield from opened.decode_bytes_work(ids.tolist())) == torture_text().encode()
    except FormatError:
        covers = False
    # Where tiktoken refuses it, or drops text, encoding says what is wrong with it.
    return opened if covers else tokenizer
