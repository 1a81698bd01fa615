"""How many bytes of text each token stands for, by which bits per byte are computed: an array for NumPy, and JSON."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import several, shown
from tokstudio.core.formats.common.format import Fit, Format
from tokstudio.core.formats.ids import NPY, json_list, npy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_NPY, _JSON = "token_bytes.npy", "token_bytes.json"
# What libraries change of a text: its beginning, two spaces, a line break, capitals, accents, a ligature.
_TRIALS = ("a cat", "cat", " the  end\n", "SAT", "déjà", "cafe\u0301", "ﬁne", "東京", "Київ", "😀")
_DIVIDE = "For bits per byte, divide by the bytes of the text itself."


def token_bytes(tokenizer: Tokenizer) -> NDArray[np.int32]:
    """The bytes of text that each token stands for; bits per byte are the bits of a text / the sum over its tokens.

    Where the tokenizer changes a text before splitting it, the sum is not that of the text's bytes: `sums_work` tells.

    Returns:
        int32 [highest id + 1], by id. 0 for special tokens and for ids that no token has; added tokens that are not
        special are found in every text, and have their bytes.
    """
    lengths = tokenizer.tokens.lengths().clip(0).astype(np.int32)
    for prefix, suffix in _marks(tokenizer):
        ids: list[int] = tokenizer.tokens.ids().tolist()
        for token in ids:
            spelled = tokenizer.tokens[token] or b""
            if prefix and spelled.startswith(prefix):
                lengths[token] -= len(prefix)
            elif suffix and spelled.endswith(suffix):
                lengths[token] -= len(suffix)
    ordinary = tokenizer.preparation.ordinary
    for text, token in tokenizer.special_tokens.items():
        lengths[token] = len(text.encode()) if text in ordinary else 0
    return lengths


def _marks(tokenizer: Tokenizer) -> Iterator[tuple[bytes, bytes]]:
    """The marks of a token within a word and at its end, where the model has some, such as ## of WordPiece."""
    content = tokenizer.source_files.get("tokenizer.json")
    if content is None:
        return
    model: dict[str, Any] = json.loads(content).get("model", {})
    marks = [model.get(key) for key in ("continuing_subword_prefix", "end_of_word_suffix")]
    prefix, suffix = (mark.encode() if isinstance(mark, str) else b"" for mark in marks)
    if prefix or suffix:
        yield prefix, suffix


def sums_work(tokenizer: Tokenizer) -> Work[tuple[str, ...]]:
    """Why the bytes of the tokens of a text may not add up to those of the text, each a sentence; mostly none."""
    prepared, sentences = tokenizer.preparation, list[str]()
    if prepared.nfc:
        sentences.append("The text is normalized to NFC first: the sum is that of the normalized text.")
    if prepared.prefix_space:
        sentences.append("A space is put before a text that does not begin with one: the sum has one byte more.")
    if prepared.strips_left or prepared.strips_right:
        sentences.append("White space beside some special tokens belongs to them, and counts 0.")
    if tokenizer.alphabet.unknown is not None:
        sentences.append("What has no token becomes the unknown token, which counts 0.")
    if tokenizer.library is not None:
        ids, _, counts = yield from tokenizer.encode_texts_with_ends_work(_TRIALS)
        lengths, stops = token_bytes(tokenizer), np.cumsum(counts).tolist()
        for text, first, stop in zip(_TRIALS, [0, *stops], stops, strict=False):
            found, size = int(lengths[ids[first:stop]].sum()), len(text.encode())
            if found != size and tokenizer.alphabet.unknown not in ids[first:stop]:
                sentences.append(
                    f"{tokenizer.library} changes a text before or after it is split: the tokens of {shown(text)}, "
                    f"{several(size, 'byte')}, have {found:,}."
                )
                break
    return (*sentences, _DIVIDE) if sentences else ()


class TokenBytes(Format):
    """The bytes of each token: both files in a folder, or the one that is named."""

    name = "token-bytes"
    title = "Bytes of each token"
    description = "an array for NumPy and a list in JSON, by id, to compute bits per byte; 0 for special tokens"
    files = (_NPY, _JSON)
    readable = False

    def targets(self, path: Path) -> Mapping[str, Path]:
        """Both files in a folder; else the file that is named, of the kind that its ending says."""
        if path.is_dir():
            return {usual: path / usual for usual in self.files}
        if path.suffix.lower() not in (NPY, ".json"):
            raise FormatError(f"{path.name}: the bytes of each token are a file that ends in .npy or .json.")
        return {_NPY if path.suffix.lower() == NPY else _JSON: path}

    def check_tokens_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """Every tokenizer; its notes say where the bytes do not add up to those of a text."""
        return Fit(None, (), (yield from sums_work(tokenizer)))

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """A number of a few digits for each id."""
        return 8 * len(tokenizer.tokens) + 200

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """Both files."""
        lengths = token_bytes(tokenizer)
        return {_NPY: npy(lengths, "<i4"), _JSON: json_list(lengths)}
