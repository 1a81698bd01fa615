"""SentencePiece's `NAME.model`, written for tokenizers over characters; any model of byte pairs can be read.

The library merges two neighbours whenever a piece has their joined text, the best score first. A token that merging
makes of its own characters in only one way, like every trained one, is made there in the same way.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.beside import files_beside
from tokstudio.core.formats.common.format import GIGABYTE, Fit, Format
from tokstudio.core.formats.common.proof import prove_work, trials_work
from tokstudio.core.formats.common.spelling import spelled_alike_work
from tokstudio.core.formats.common.text_readers import LineReader
from tokstudio.core.formats.sentencepiece.reader import is_model, read_work

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.tokenizer import Tokenizer

MODEL = "tokenizer.model"

_SUFFIX = ".model"
# Names by which transformers finds a model; files beside one with another name belong to something else.
_USUAL = (MODEL, "spiece.model", "sentencepiece.bpe.model", "sentencepiece.model", "spm.model")
_SPACE = "\u2581"  # the library writes it for a space, and decodes it as one
_NULL = "\0"
_UNKNOWN = "<unk>"
_GAP = "<gap {}>"
_BATCH = 256
_PIECE = 1 << 13
_STEP = 1 << 8

_SNIPPET = """\
# pip install sentencepiece
from sentencepiece import SentencePieceProcessor

tokenizer = SentencePieceProcessor(model_file={path})
ids = tokenizer.encode("Hello world")
print(ids)
"""


class SentencePiece(Format):
    """`NAME.model`."""

    name = "sentencepiece"
    title = "SentencePiece"
    description = "a .model for the sentencepiece library, as used by Llama 2, Mistral and T5; only for characters"
    files = (MODEL,)
    looked_for = f"NAME{_SUFFIX}"
    largest = GIGABYTE
    library = "sentencepiece"
    holds_any_order = True

    def problem(self, tokenizer: Tokenizer) -> str | None:
        """The format holds only merges of characters."""
        if tokenizer.library is None and tokenizer.alphabet.base != "characters":
            return "SentencePiece merges characters, but this tokenizer merges bytes."
        return super().problem(tokenizer)

    def losses(self, tokenizer: Tokenizer) -> Iterator[str]:
        """It has no patterns, no tokens apart from merging, and uses one character for a space."""
        if tokenizer.pattern != "none":
            yield f"The pattern {shown(tokenizer.pattern)} is lost: SentencePiece does not split text by one."
        if extra := len(tokenizer.extra_tokens.keys() - {tokenizer.alphabet.unknown}):
            yield f"Tokens that no merge makes are lost ({extra:,}): control pieces take their ids."
        if whole := len(tokenizer.whole_words):
            yield f"Words that become a token without merging are merged ({whole:,}): some ids will differ."
        if _has(tokenizer, _SPACE):
            yield f"The character {_SPACE} (U+2581) is decoded as a space by the sentencepiece library."

    def notes(self, tokenizer: Tokenizer) -> Iterator[str]:
        """Differences in the library that affect no other ids: unknown characters, special tokens, gaps between ids."""
        held = _held(tokenizer)
        size, (unknown, name) = len(held.tokens), _unknown(held)
        if unknown == size:
            yield f"The model has one more piece, {shown(name)} with the id {size}, for a run of unknown characters."
        else:
            yield f"A run of unknown characters becomes one {shown(name)}, and that text itself is not recognised."
        if held.special_tokens:
            yield "SentencePiece always recognises the special tokens in a text."
        if gaps := size - len(held):
            yield f"Control pieces, which no text becomes, take the ids that no token has ({gaps:,})."

    def check_tokens_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """Each token has a different text, and no other merge makes it."""
        return Fit((yield from _problem_work(_held(tokenizer))), (), ())

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """Each token with a few bytes around it, and names for the gaps."""
        return token_bytes + 24 * len(tokenizer.tokens) + 1000

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """The one file."""
        return {MODEL: _model(tokenizer)}

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Lets the library read the file and encode; its ids must be equal, except for runs of unknown characters."""
        from tokstudio.core.libraries.client import LibraryInput, Trial

        held = _held(tokenizer)
        trials = yield from trials_work(held, sample, decodes=False)
        unknown, _ = _unknown(held)
        ours = [_fused(ids, unknown) for ids in trials.ours]
        decodes = not _has(tokenizer, _SPACE)
        texts = [
            Trial(trial.text, held.decode(ids) if decodes else None)
            for trial, ids in zip(trials.texts, ours, strict=True)
        ]
        trials = replace(trials, texts=texts, ours=ours)
        return (yield from prove_work(held, LibraryInput("sentencepiece", written[MODEL], name), trials))

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """Python that loads the model with the library."""
        return _SNIPPET.format(path=repr(str(targets[MODEL].absolute())))

    def find(self, path: Path) -> tuple[Path, ...]:
        """The only model in a folder, if it is SentencePiece's, and the files beside one with a usual name."""
        folder = path if path.is_dir() else path.parent
        if path != folder and path.name in _USUAL and path.is_file():
            with LineReader(path, path.name, GIGABYTE) as lines:
                files = (path,) if self.recognises(path, lines.peek()) else ()
        else:
            # A file beside it may be the one that was chosen.
            files = self.find_only(folder, _SUFFIX) if path == folder or path in files_beside(folder) else ()
        return (*files, *files_beside(folder)) if files and files[0].name in _USUAL else files

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Whether it begins with a piece."""
        return is_model(beginning)

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads the model; only its library can split text."""
        return (yield from read_work(files, names))


def _problem_work(held: Tokenizer) -> Work[str | None]:
    """The reason why the library would refuse the model or encode differently, a sentence; None if there is none."""
    if _has(held, _NULL):
        return "SentencePiece allows no token with the character U+0000, and this tokenizer has one."
    if alike := (yield from spelled_alike_work(held)):
        return alike
    if held.run is not None:
        return None
    for first in range(0, len(held.merges), _STEP):
        results: list[int] = held.merge_results[first : first + _STEP].tolist()
        for token in results:
            if held.encode(held.tokens[token] or b"") != [token]:
                text = shown(_text(held, token))
                return f"SentencePiece would make the token {text} from its characters, but merging does not."
        yield Progress("measuring", first, len(held.merges))
    return None


def _model(tokenizer: Tokenizer) -> Iterator[bytes]:
    """Yields the file: pieces in the order of their ids, then settings that leave text unchanged."""
    from sentencepiece import sentencepiece_model_pb2

    schema: Any = sentencepiece_model_pb2
    held = _held(tokenizer)
    waiting, size = schema.ModelProto(), 0
    for text, score, kind in _pieces(held):
        # Concatenated messages are one message.
        waiting.pieces.add(piece=text, score=score, type=schema.ModelProto.SentencePiece.Type.Value(kind))
        size += len(text)
        if size > _PIECE or len(waiting.pieces) == _BATCH:
            yield waiting.SerializeToString()
            waiting, size = schema.ModelProto(), 0
    unknown, name = _unknown(held)
    trainer = waiting.trainer_spec
    trainer.model_type = schema.TrainerSpec.BPE
    trainer.vocab_size = max(len(held.tokens), unknown + 1)
    trainer.unk_id, trainer.unk_piece = unknown, name
    trainer.bos_id = trainer.eos_id = trainer.pad_id = -1
    if held.alphabet.unknown is not None:
        trainer.unk_surface = name
    normalizer = waiting.normalizer_spec
    normalizer.name = "identity"
    normalizer.add_dummy_prefix = normalizer.remove_extra_whitespaces = normalizer.escape_whitespaces = False
    yield waiting.SerializeToString()


def _held(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer as the model holds it: without a pattern, and with an unknown token that no text contains."""
    from tokstudio.core.tokenizer.content import TokenizerContent
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

    unknown = tokenizer.alphabet.unknown
    specials = {token: number for token, number in tokenizer.special_tokens.items() if number != unknown}
    extra = {} if unknown is None else {unknown: tokenizer.tokens[unknown] or b""}
    base = tokenizer.merges, tokenizer.merge_results, tokenizer.alphabet, specials
    return Tokenizer.of(TokenizerContent(*base, extra_tokens=extra, run=tokenizer.run))


def _pieces(held: Tokenizer) -> Iterator[tuple[str, float, str]]:
    """The text, the score and the type of each piece."""
    tokens = held.tokens
    score = np.zeros(len(tokens), np.float32)
    # The best first; integers up to 2^24 are exact.
    score[held.merge_results] = -np.arange(len(held.merges), dtype=np.float32)
    specials = frozenset(held.special_tokens.values())
    unknown, name = _unknown(held)
    taken = _taken(held)
    for token, token_bytes in enumerate(tokens):
        if token == unknown:
            yield name, 0.0, "UNKNOWN"
        elif token_bytes is None:
            yield _unused(_GAP.format(token), taken), 0.0, "CONTROL"
        else:
            yield token_bytes.decode(), float(score[token]), "USER_DEFINED" if token in specials else "NORMAL"
    if unknown == len(tokens):
        yield name, 0.0, "UNKNOWN"


def _unknown(held: Tokenizer) -> tuple[int, str]:
    """The id and the text of the piece for unknown characters, which every model has."""
    unknown = held.alphabet.unknown
    if unknown is None:
        return len(held.tokens), _unused(_UNKNOWN, _taken(held))
    return unknown, _text(held, unknown)


def _taken(held: Tokenizer) -> frozenset[bytes]:
    """Texts of tokens that look like the names of added pieces."""
    beginnings = tuple(name[:4].encode() for name in (_UNKNOWN, _GAP))
    return frozenset(token for token in held.tokens if token is not None and token.startswith(beginnings))


def _unused(name: str, taken: frozenset[bytes]) -> str:
    """The name, or a longer one where it is used already."""
    while name.encode() in taken:
        name += "_"
    return name


def _fused(ids: NDArray[np.uint32], unknown: int) -> NDArray[np.uint32]:
    """Replaces each run of unknown characters by one: `[7, 7, 3, 7], 7` gives `[7, 3, 7]`."""
    is_unknown = ids == unknown
    again = np.zeros(len(ids), np.bool_)
    again[1:] = is_unknown[1:] & is_unknown[:-1]
    return ids[~again]


def _has(tokenizer: Tokenizer, character: str) -> bool:
    """Whether a token has this character."""
    in_alphabet = bool(np.any(tokenizer.alphabet.units == ord(character)))
    return in_alphabet or any(character in token for token in tokenizer.special_tokens)


def _text(tokenizer: Tokenizer, token: int) -> str:
    return (tokenizer.tokens[token] or b"").decode()
