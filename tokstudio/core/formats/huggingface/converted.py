"""Files of which transformers makes a `tokenizer.json`: `vocab.txt` of BERT, and pairs whose tokens end words (`</w>`).

The same is made of them here and opened by its own library: as `BertTokenizer`, `CLIPTokenizer` or
`OpenAIGPTTokenizer` of transformers.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.beside import CONFIG, Beside, beside_work, files_beside
from tokstudio.core.formats.common.format import GIGABYTE, Format
from tokstudio.core.formats.common.text_readers import JsonReader, LineReader, read_whole
from tokstudio.core.formats.common.vocabulary import (
    LARGEST_ID,
    byte_level_ids,
    merge_lines,
    read_vocabulary_work,
    tokenizer_json_work,
)
from tokstudio.core.formats.huggingface.reader import read_work
from tokstudio.core.text.utf8 import has_surrogates

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_VOCABULARY = "vocab.txt"
_PAIRS = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))
_LARGEST = 1 << 26
_LINES_LOOKED_AT = 1 << 12
_WORD_END = "</w>"
# What Unicode calls white space, which ends no token; Python's own strip takes four control characters more.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
_UNKNOWN_LINE = re.compile(rb"^\[UNK\][ \r]*$", re.MULTILINE)
_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_OF_BERT = {role: f"[{name}]" for role, name in zip(_ROLES[2:], ("UNK", "SEP", "PAD", "CLS", "MASK"), strict=True)}
# Classes that are BertTokenizer with another name, without "Tokenizer"; "" and the others say nothing of a class.
_LIKE_BERT = frozenset(
    ("Bert", "ConvBert", "DPRContextEncoder", "DPRQuestionEncoder", "DPRReader", "DistilBert", "Electra", "LayoutLM",
     "Lxmert", "MobileBert", "Realm", "RetriBert", "SqueezeBert", "VisualBert")
)  # fmt: skip
_NO_CLASS = frozenset(("", "PreTrained", "TokenizersBackend"))
_START, _END = "<|startoftext|>", "<|endoftext|>"
_OF_CLIP = {"bos_token": _START, "eos_token": _END, "unk_token": _END, "pad_token": _END}
_OF_GPT1 = {"unk_token": "<unk>"}
_CLIP_REGEX = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_ALONE = "The files do not say whether text is put into lower case: it is, as transformers does."


class _Converted(Format):
    writable = False
    library = "tokenizers"


class WordPieceVocabulary(_Converted):
    """`vocab.txt` of BERT, with `tokenizer_config.json` if that is there."""

    name = "wordpiece"
    title = "WordPiece vocab.txt"
    description = "a token on each line, as published with BERT"
    files = (_VOCABULARY,)
    looked_for = _VOCABULARY

    def find(self, path: Path) -> tuple[Path, ...]:
        """The file with the usual name, if it has an unknown token or a configuration says what it is."""
        folder = path if path.is_dir() else path.parent
        file = folder / _VOCABULARY if path == folder or path in files_beside(folder) else path
        if file.name != _VOCABULARY or not file.is_file():
            return ()
        beside = files_beside(folder)
        has_unknown = file.stat().st_size <= _LARGEST and _UNKNOWN_LINE.search(read_whole(file, file.name, _LARGEST))
        return (file, *beside) if has_unknown or file.with_name(CONFIG) in beside else ()

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Whether its name ends like the usual one, and it begins as such a file does."""
        is_named = path.name.endswith(_VOCABULARY) and path.name != _VOCABULARY
        return is_named and (beginning.startswith(b"[PAD]") or _UNKNOWN_LINE.search(beginning) is not None)

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads the file as `BertTokenizer` does."""
        beside = yield from beside_work(files[1:], names[1:])
        if (name := _class_of(beside)) not in _LIKE_BERT | _NO_CLASS:
            raise FormatError(
                f"{names[0]}: it is made for {name}Tokenizer, and TokStudio reads {_VOCABULARY} only as "
                "BertTokenizer does."
            )
        vocabulary = yield from _read_lines_work(files[0], names[0])
        values = beside.settings.config or {}
        roles = _roles(beside, _OF_BERT)
        added, ids = _added(vocabulary, roles)
        first, last = roles["cls_token"], roles["sep_token"]
        parts = {
            "normalizer": {
                **_BERT_NORMALIZER,
                "handle_chinese_chars": _flag(values, "tokenize_chinese_chars", True),
                "strip_accents": _flag(values, "strip_accents", None),
                "lowercase": _flag(values, "do_lower_case", True),
            },
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [_special(first, 0), _sequence("A", 0), _special(last, 0)],
                "pair": [
                    _special(first, 0), _sequence("A", 0), _special(last, 0), _sequence("B", 1), _special(last, 1)
                ],
                "special_tokens": {
                    token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in (first, last)
                },
            },
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        }  # fmt: skip
        model = {
            "type": "WordPiece",
            "unk_token": roles["unk_token"],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
        }
        content = yield from tokenizer_json_work(parts, added, model, vocabulary)
        remarks = () if "do_lower_case" in values else (_ALONE,)
        return (yield from read_work(content, names[0], remarks, replace(beside, as_class=True)))


class WordEndPair(_Converted):
    """`vocab.json` with `merges.txt`, or `encoder.json` with `vocab.bpe`, whose tokens mark the ends of words."""

    name = "word-ends"
    title = "CLIP or GPT-1 pair"
    description = "vocab.json and merges.txt with tokens that mark the ends of words, as published with CLIP and GPT-1"
    files = _PAIRS[0]
    looked_for = ", ".join(merges for _, merges in _PAIRS)

    def find(self, path: Path) -> tuple[Path, ...]:
        """Either pair, if its merges make ends of words."""
        folder = path if path.is_dir() else path.parent
        for pair in _PAIRS:
            files = tuple(folder / name for name in pair)
            if (path == folder or path in files) and all(file.is_file() for file in files):
                with LineReader(files[1], files[1].name, GIGABYTE) as lines:
                    if any(line.endswith(_WORD_END.encode()) for line in islice(lines, _LINES_LOOKED_AT)):
                        return (*files, *files_beside(folder))
        return ()

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads both files as `CLIPTokenizer` or `OpenAIGPTTokenizer` does, by the configuration or by their bytes."""
        beside = yield from beside_work(files[2:], names[2:])
        with JsonReader(files[0], names[0], GIGABYTE) as reader:
            vocabulary = yield from read_vocabulary_work(reader)
            reader.end()
        if (strange := next(filter(has_surrogates, vocabulary), None)) is not None:
            raise FormatError(f"{names[0]}: the token {shown(strange)} is not text.")
        name = _class_of(beside)
        if name in _NO_CLASS:
            name = "CLIP" if -1 not in byte_level_ids(vocabulary) else "OpenAIGPT"
        if name not in ("CLIP", "OpenAIGPT"):
            raise FormatError(
                f"{names[0]}: it is made for {name}Tokenizer, and TokStudio reads such a pair only as CLIPTokenizer "
                "and OpenAIGPTTokenizer do."
            )
        merges = yield from _read_merges_work(files[1], names[1])
        roles = _roles(beside, _OF_GPT1 if name == "OpenAIGPT" else _OF_CLIP)
        added, ids = _added(vocabulary, roles)
        parts = _PARTS_OF_GPT1 if name == "OpenAIGPT" else _of_clip(roles, ids)
        model = {
            "type": "BPE",
            "dropout": None,
            "unk_token": roles["unk_token"],
            "continuing_subword_prefix": "",
            "end_of_word_suffix": _WORD_END,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
        }
        content = yield from tokenizer_json_work(parts, added, model, vocabulary, merges)
        return (yield from read_work(content, names[0], (), replace(beside, as_class=True)))


def _class_of(beside: Beside) -> str:
    """The class that opens the files, without "Tokenizer"; "" for none."""
    return (beside.class_name or "").removesuffix("Fast").removesuffix("Tokenizer")


def _roles(beside: Beside, usual: Mapping[str, str]) -> dict[str, str]:
    """The special tokens by role: those of the files beside, else the usual ones."""
    roles = {role: token for role in _ROLES if (token := beside.roles.get(role))}
    texts = {role: token if isinstance(token, str) else token.content for role, token in roles.items()}
    return {**usual, **texts}


def _flag(settings: Mapping[str, object], key: str, usual: bool | None) -> bool | None:
    value = settings.get(key, usual)
    if not isinstance(value, bool) and not (value is None and usual is None):
        raise FormatError(f'{CONFIG}: "{key}" must be true or false.')
    return value


def _read_lines_work(path: Path, name: str) -> Work[dict[str, int]]:
    """Each line as a token with its number; of equal lines the last counts, as in the library."""
    vocabulary: dict[str, int] = {}
    with LineReader(path, name, _LARGEST) as lines:
        for number, line in enumerate(lines):
            if number > LARGEST_ID:
                raise lines.fault(f"there are more than {LARGEST_ID + 1:,} tokens")
            try:
                vocabulary[line.decode().rstrip(_SPACE)] = number
            except UnicodeDecodeError as error:
                raise lines.fault("this is not UTF-8") from error
            yield from lines.progress()
    return vocabulary


def _read_merges_work(path: Path, name: str) -> Work[list[list[str]]]:
    merges: list[list[str]] = []
    with LineReader(path, name, GIGABYTE) as lines:
        for pair in merge_lines(lines):
            merges.append([*pair])
            yield from lines.progress()
    return merges


def _added(vocabulary: Mapping[str, int], roles: Mapping[str, str]) -> tuple[list[dict[str, object]], dict[str, int]]:
    """The special tokens as a file lists them, and their ids: those without one follow the vocabulary."""
    ids: dict[str, int] = {}
    following = len(vocabulary)
    for role in _ROLES:
        if (token := roles.get(role)) is not None and token not in ids:
            ids[token] = vocabulary.get(token, following)
            following += token not in vocabulary
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return [{"id": ids[token], "content": token, **flags} for token in sorted(ids, key=ids.__getitem__)], ids


def _of_clip(roles: Mapping[str, str], ids: Mapping[str, int]) -> dict[str, object]:
    split = {"type": "Split", "pattern": {"Regex": _CLIP_REGEX}, "behavior": "Removed", "invert": True}
    first, last = roles["bos_token"], roles["eos_token"]
    return {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "NFC"},
                {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
                {"type": "Lowercase"},
            ],
        },
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, _BYTE_LEVEL]},
        "post_processor": {
            "type": "RobertaProcessing",
            "sep": [last, ids[last]],
            "cls": [first, ids[first]],
            "trim_offsets": False,
            "add_prefix_space": False,
        },
        # transformers puts spaces for ends of words outside the library.
        "decoder": {
            "type": "Sequence",
            "decoders": [
                _BYTE_LEVEL,
                {"type": "Replace", "pattern": {"String": _WORD_END}, "content": " "},
                {"type": "Strip", "content": " ", "start": 0, "stop": 1},
            ],
        },
    }


_BERT_NORMALIZER: Mapping[str, object] = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
_PARTS_OF_GPT1: Mapping[str, object] = {
    "normalizer": _BERT_NORMALIZER,
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": None,
    "decoder": {"type": "BPEDecoder", "suffix": _WORD_END},
}


def _special(token: str, number: int) -> dict[str, object]:
    return {"SpecialToken": {"id": token, "type_id": number}}


def _sequence(which: str, number: int) -> dict[str, object]:
    return {"Sequence": {"id": which, "type_id": number}}
