"""Makes a tokenizer of the header of a GGUF file, as llama.cpp does by the name of its model and its pre-tokenizer.

TokStudio and the libraries of other formats do the work: what they read is made of the values of the header.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.private_folders import TemporaryFolder
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.wording import printable, shown
from tokstudio.core.formats.common.beside import CONFIG, Beside, template_of
from tokstudio.core.formats.common.format import PatternNeeded
from tokstudio.core.formats.common.spelling import written_regex
from tokstudio.core.formats.common.vocabulary import LARGEST_ID, tokenizer_json_work
from tokstudio.core.formats.gguf import header as form
from tokstudio.core.formats.gguf import names
from tokstudio.core.formats.gguf.header import Header, copy_text_work, header_work
from tokstudio.core.formats.gguf.names import PRE_TOKENIZERS, PreTokenizer
from tokstudio.core.model.file_settings import DEFAULT, FileSettings
from tokstudio.core.text.byte_level import to_characters

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

_MODELS = "gpt2, llama, bert and t5"
_LONGEST_TEMPLATE = 1 << 22
_BATCH = 1 << 12
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)
_PLACE = re.compile(r", line [\d,]+, column [\d,]+\.$")
_SPACE = "▁"
_COPY = "tokenizer.json"
_SPACE_AGAIN = (
    "llama.cpp also puts a space before text that follows a special token; encode puts one only before the whole text, "
    "as transformers does."
)
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
_STANDS_IN = to_characters(bytes([names.NEVER]))
_USUAL_ROLES: Mapping[str, Mapping[str, int]] = {
    "llama": {"bos_token": 1, "eos_token": 2, "unk_token": 0},
    "t5": {"eos_token": 1, "unk_token": 2, "pad_token": 0},
    "bert": {"unk_token": 100, "sep_token": 102, "pad_token": 0, "cls_token": 101, "mask_token": 103},
}
_ALWAYS: Mapping[str, int] = {"bos_token": 11, "eos_token": 11}  # what llama.cpp takes for byte pairs
_NO_TOKEN = (1 << 32) - 1
_ADDS: Mapping[str, tuple[bool, bool]] = {"llama": (True, False), "t5": (False, True), "bert": (True, False)}


class OfJson(Protocol):
    """Reads the content of a `tokenizer.json`."""

    def __call__(
        self, path: Path | bytes, name: str, remarks: tuple[str, ...], beside: Beside | None
    ) -> Work[Tokenizer]:
        """The tokenizer; `name` is that of the file in errors."""
        ...


class OfModel(Protocol):
    """Reads a SentencePiece model and the configuration beside it."""

    def __call__(self, files: Sequence[Path], names: Sequence[str], notes: tuple[str, ...]) -> Work[Tokenizer]:
        """The tokenizer; `names` are those of the files in errors, `notes` sentences about it."""
        ...


def is_wanted(key: str) -> bool:
    """Whether a value is read for a tokenizer."""
    if key == names.HUGGING_FACE:
        return False  # it can be long, and is read in pieces
    return key.startswith(names.TOKENIZER) or key in (names.ARCHITECTURE, names.SPLIT_NUMBER, names.SPLIT_COUNT)


def read_work(path: Path, name: str, pattern: str | None, of_json: OfJson, of_model: OfModel) -> Work[Tokenizer]:
    """Reads the header, and makes the tokenizer of it.

    Raises:
        PatternNeeded: The file names no pre-tokenizer, or one that TokStudio has no pattern for, and none is given.
        FormatError: It has no tokenizer, is damaged, or of a kind that is not read.
    """
    header = yield from header_work(path, name, is_wanted)
    yield from _check_list_work(header)
    vocabulary = _Vocabulary(header)
    if names.HUGGING_FACE in header.places:
        with TemporaryFolder() as folder:
            copy = folder / _COPY
            with copy.open("wb") as file:
                yield from copy_text_work(path, header, names.HUGGING_FACE, file)
            its_name = f"{name}: {names.HUGGING_FACE} in it"
            return (yield from of_json(copy, its_name, (), Beside(settings=vocabulary.settings())))
    if vocabulary.model == "gpt2":
        return (yield from _byte_pairs_work(vocabulary, pattern, of_json))
    if vocabulary.model == "bert":
        return (yield from _word_pieces_work(vocabulary, of_json))
    return (yield from _pieces_work(vocabulary, of_model))


def _refuse_absent(header: Header) -> NoReturn:
    """Raises FormatError where there is no tokenizer, with the likely reason."""
    name, number, count = header.name, header.number(names.SPLIT_NUMBER), header.number(names.SPLIT_COUNT)
    part = _PART.search(name)
    if (number or 0) > 0 or (part is not None and int(part[1]) > 1):
        which = (
            f"part {(number or 0) + 1 if number else int(part[1]) if part else 0} of {count or (part and int(part[2]))}"
        )
        first = f": open {_PART.sub(lambda match: f'-00001-of-{match[2]}.gguf', name)}" if part else ""
        raise FormatError(f"{name}: this is {which} of a model, and the first part has the tokenizer{first}.")
    architecture = header.text(names.ARCHITECTURE)
    kind = "" if architecture is None else f" It is of the kind {shown(architecture)}."
    raise FormatError(
        f"{name}: this GGUF file has no tokenizer, as files of embeddings, of images, of speech or of adapters.{kind}"
    )


class _Vocabulary:
    """The values of a header that are the tokenizer, checked."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.name = header.name
        has_json = names.HUGGING_FACE in header.places
        model = header.text(names.MODEL)
        if model is None and not has_json:
            _refuse_absent(header)
        self.model = model or ""
        if not has_json and model not in ("gpt2", *_USUAL_ROLES):
            raise FormatError(
                f"{self.name}: its tokenizer is of the kind {shown(self.model)}, and TokStudio reads {_MODELS}."
            )
        self.texts = [self._text(number, text) for number, text in enumerate(header.texts(names.TOKENS) or ())]
        if not self.texts and not has_json:
            raise FormatError(f"{self.name}: its list of tokens is empty.")
        if len(self.texts) > LARGEST_ID + 1:
            raise FormatError(f"{self.name}: there are more than {LARGEST_ID + 1:,} tokens.")
        types = header.numbers(names.TYPES, form.INT32, form.UINT32)
        usual = [names.NORMAL] * len(self.texts)
        self.types: list[int] = usual if types is None else types[: len(self.texts)].tolist()
        if len(self.types) < len(self.texts):
            raise FormatError(f"{self.name}: not every token has a type.")
        self.ids = self._ids()
        self.added = {
            text: number
            for text, number in self.ids.items()
            if self.types[number] in (names.CONTROL, names.USER_DEFINED, names.UNKNOWN)
        }

    def _text(self, number: int, text: bytes) -> str:
        try:
            return text.decode()
        except UnicodeDecodeError:
            raise FormatError(f"{self.name}: token {number:,} is not UTF-8.") from None

    def _ids(self) -> dict[str, int]:
        """The id of each token but of those that hold a place."""
        ids: dict[str, int] = {}
        for number, text in enumerate(self.texts):
            if self.types[number] == names.UNUSED:
                continue
            if text in ids:
                raise FormatError(
                    f"{self.name}: the token {shown(text)} appears twice, as {ids[text]:,} and {number:,}."
                )
            ids[text] = number
        return ids

    def is_special(self, number: int) -> bool:
        """Whether an added token is found only where special tokens are recognised."""
        return self.types[number] != names.USER_DEFINED

    def roles(self) -> tuple[dict[str, str], tuple[str, ...]]:
        """The added tokens by role, and notes on roles of others."""
        roles, notes = dict[str, str](), list[str]()
        for role, keys in names.ROLE_KEYS.items():
            numbers = (self.header.number(key) for key in keys)
            number = next((number for number in numbers if number is not None), None)
            if number is None:
                number = _USUAL_ROLES.get(self.model, {}).get(role)
                if number is None or not 0 <= number < len(self.texts) or self.texts[number] not in self.added:
                    continue
            title = role.removesuffix("_token")
            if not 0 <= number < len(self.texts):
                notes.append(f"The file gives the role {title} to id {number:,}, which no token has.")
            elif self.texts[number] in self.added:
                roles[role] = self.texts[number]
            elif self.texts[number] != _STANDS_IN:
                notes.append(f"The file gives the role {title} to {shown(self.texts[number])}, an ordinary token.")
        return roles, tuple(notes)

    def settings(self, notes: tuple[str, ...] = (), adds: tuple[bool, bool] | None = None) -> FileSettings:
        """What the file says besides its tokens; `adds` whether a token stands before and after every text."""
        roles, of_roles = self.roles() if self.texts else ({}, ())
        adds = adds or _ADDS.get(self.model, (False, False))
        flags = {"add_bos_token": self.flag(names.ADD_BOS, adds[0]), "add_eos_token": self.flag(names.ADD_EOS, adds[1])}
        return FileSettings(
            roles=roles,
            chat_templates=self.templates(),
            names_give_roles=False,
            post_processor=template_of(flags, roles, self.added),
            notes=(*notes, *of_roles),
        )

    def flag(self, key: str, usual: bool) -> bool:
        """A flag of the file, or what is usual where it says nothing."""
        said = self.header.flag(key)
        return usual if said is None else said

    def templates(self) -> dict[str, str]:
        """The chat templates by name."""
        before = f"{names.CHAT_TEMPLATE}."
        keys = [key for key in self.header.values if key == names.CHAT_TEMPLATE or key.startswith(before)]
        templates = {key.removeprefix(before) if key.startswith(before) else DEFAULT: key for key in keys}
        texts = {name: self.header.text(key) or "" for name, key in templates.items()}
        for name, text in texts.items():
            if len(text) > _LONGEST_TEMPLATE:
                raise FormatError(
                    f"{self.name}: the chat template {shown(name)} is longer than {_LONGEST_TEMPLATE:,} characters."
                )
        return texts

    def entries(self) -> list[dict[str, object]]:
        """The added tokens as a `tokenizer.json` lists them."""
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        return [
            {"id": number, "content": text, **flags, "special": self.is_special(number)}
            for text, number in self.added.items()
            if text
        ]


def roles_without_token(header: Header) -> Iterator[tuple[str, str]]:
    """The keys of roles whose token a file does not have, and what is wrong, as the rest of a sentence about the key.

    Those of byte pairs that llama.cpp always has are among them where it would use another token in their place.
    """
    texts, model = header.texts(names.TOKENS) or [], header.text(names.MODEL) or ""
    begins = header.flag(names.ADD_BOS)
    if begins is None:
        rule = PRE_TOKENIZERS.get(header.text(names.PRE) or "")
        begins = rule is not None and rule.adds_bos
    for role, keys in names.ROLE_KEYS.items():
        key, number = next(((key, n) for key in keys if (n := header.number(key)) is not None), (keys[0], None))
        usual = (_ALWAYS if model == "gpt2" else _USUAL_ROLES.get(model, {})).get(role)
        if not texts or (number is not None and 0 <= number < len(texts)):
            continue
        instead = ""
        if usual is not None and usual < len(texts):
            instead = f": llama.cpp takes {shown(texts[usual].decode('utf-8', 'replace'))}, id {usual}, in its place"
        if number is not None and (number != _NO_TOKEN or instead):
            yield key, f"is {number:,}, which no token has{instead}"
        elif number is None and model == "gpt2" and (role == "eos_token" or (role == "bos_token" and begins)):
            yield key, f"is missing{instead}"


def _check_list_work(header: Header) -> Work[None]:
    """Checks that what is counted by token is."""
    yield Progress("reading")
    tokens, scores = header.texts(names.TOKENS), header.numbers(names.SCORES, form.FLOAT32, form.INT32)
    if tokens is not None and scores is not None and len(scores) < len(tokens):
        raise FormatError(f"{header.name}: not every token has a score.")
    if scores is not None and not np.isfinite(scores).all():
        raise FormatError(f"{header.name}: the score of a token is not a number.")


# --- Byte pairs -------------------------------------------------------------------------------------------------------


def _byte_pairs_work(vocabulary: _Vocabulary, pattern: str | None, of_json: OfJson) -> Work[Tokenizer]:
    name, pre = vocabulary.name, vocabulary.header.text(names.PRE)
    rule = PRE_TOKENIZERS.get(pre or "")
    if rule is None:
        if pattern is None:
            if pre is None:
                raise PatternNeeded(name)
            raise PatternNeeded(
                name, f"the file splits text as {shown(pre)} of llama.cpp, which TokStudio has no pattern for"
            )
        rule = PreTokenizer(pattern)
    merges = yield from _merges_work(vocabulary)
    notes = (f"llama.cpp itself {rule.differs} (pre-tokenizer {printable(pre or '')}).",) if rule.differs else ()
    settings = vocabulary.settings(notes, (rule.adds_bos, False))
    splits: Mapping[str, object] = _BYTE_LEVEL
    if rule.pattern != "none":
        expression = {"Regex": written_regex(rule.pattern)}
        split = {"type": "Split", "pattern": expression, "behavior": "Isolated", "invert": False}
        splits = {"type": "Sequence", "pretokenizers": [split, _BYTE_LEVEL]}
    around = {
        "normalizer": None,
        "pre_tokenizer": splits,
        "post_processor": settings.post_processor,
        "decoder": _BYTE_LEVEL,
    }
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": rule.takes_whole,
    }
    content = yield from tokenizer_json_work(around, vocabulary.entries(), model, vocabulary.ids, merges)
    return (yield from _made_work(of_json, content, name, settings))


def _made_work(of_json: OfJson, content: bytes, name: str, settings: FileSettings) -> Work[Tokenizer]:
    """Reads a `tokenizer.json` that was made here, so that no place in it stands in an error."""
    try:
        return (yield from of_json(content, name, (), Beside(settings=settings)))
    except FormatError as error:
        raise FormatError(_PLACE.sub(".", str(error))) from error


def _merges_work(vocabulary: _Vocabulary) -> Work[list[tuple[str, str]]]:
    """The merges as pairs; of a repeated one the first counts, as in llama.cpp."""
    merges: dict[tuple[str, str], None] = {}
    lines = vocabulary.header.texts(names.MERGES)
    if lines is None:
        raise FormatError(f"{vocabulary.name}: its tokenizer has no merges.")
    for number, line in enumerate(lines):
        # The first token may itself be a space.
        at = line.find(b" ", 1)
        try:
            left, right = line[:at].decode(), line[at + 1 :].decode()
        except UnicodeDecodeError:
            raise FormatError(f"{vocabulary.name}: merge {number + 1:,} is not UTF-8.") from None
        if at < 0 or not right:
            raise FormatError(f"{vocabulary.name}: merge {number + 1:,} is not two tokens with a space between them.")
        merges[left, right] = None
        if number % _BATCH == 0:
            yield Progress("reading", number, len(lines))
    return list(merges)


# --- WordPiece --------------------------------------------------------------------------------------------------------


def _word_pieces_work(vocabulary: _Vocabulary, of_json: OfJson) -> Work[Tokenizer]:
    """BERT's: tokens that begin a word are marked in GGUF, where those that go on are in BERT's files."""
    header, settings = vocabulary.header, vocabulary.settings()
    lowercase = vocabulary.header.flag(names.LOWERCASE)
    spelled = {
        text if text in vocabulary.added else text[1:] if text.startswith(_SPACE) else f"##{text}": number
        for text, number in vocabulary.ids.items()
    }
    if len(spelled) < len(vocabulary.ids):
        raise FormatError(f"{vocabulary.name}: two of its tokens have the same spelling.")
    roles = settings.roles
    if (unknown := roles.get("unk_token")) is None:
        raise FormatError(f"{vocabulary.name}: its tokenizer has no token for unknown words.")
    first, last = (roles.get(role, roles.get(other)) for role, other in
                   (("cls_token", "bos_token"), ("sep_token", "eos_token")))  # fmt: skip
    flags = {"add_bos_token": header.flag(names.ADD_BOS) is not False, "add_eos_token": True}
    around_roles = {role: token for role, token in (("bos_token", first), ("eos_token", last)) if token is not None}
    around = {
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": header.flag(names.STRIP_ACCENTS),
            "lowercase": lowercase is not False,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": template_of(flags, around_roles, vocabulary.added),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    }
    model = {
        "type": "WordPiece",
        "unk_token": unknown,
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    }
    content = yield from tokenizer_json_work(around, vocabulary.entries(), model, spelled)
    return (yield from _made_work(of_json, content, vocabulary.name, settings))


# --- SentencePiece ----------------------------------------------------------------------------------------------------


def _pieces_work(vocabulary: _Vocabulary, of_model: OfModel) -> Work[Tokenizer]:
    """`llama` and `t5`: the model that SentencePiece would have, read with a configuration beside it."""
    content = yield from _model_work(vocabulary)
    settings = vocabulary.settings()
    listed = {str(entry.pop("id")): entry for entry in vocabulary.entries()}
    templates = [{"name": key, "template": text} for key, text in settings.chat_templates.items()]
    flags = dict(zip((names.ADD_BOS, names.ADD_EOS), _ADDS[vocabulary.model], strict=True))
    # This class puts a space before the text after a special token, as llama.cpp does; it would add what is not there.
    is_t5 = vocabulary.model == "t5" and vocabulary.added.keys() >= {"</s>", "<unk>", "<pad>"}
    config = {
        **({"tokenizer_class": "T5Tokenizer"} if is_t5 else {}),
        **{key.removeprefix("tokenizer.ggml."): vocabulary.flag(key, usual) for key, usual in flags.items()},
        **settings.roles,
        **({"chat_template": templates} if templates else {}),
        "added_tokens_decoder": listed,
    }
    puts_space = vocabulary.model == "llama" and vocabulary.header.flag(names.ADD_SPACE) is not False
    notes = (*settings.notes, *((_SPACE_AGAIN,) if puts_space else ()))
    with TemporaryFolder() as folder:
        files = folder / "tokenizer.model", folder / CONFIG
        files[0].write_bytes(content)
        files[1].write_text(json.dumps(config), encoding="utf-8")
        return (yield from of_model(files, (vocabulary.name, CONFIG), notes))


def _model_work(vocabulary: _Vocabulary) -> Work[bytes]:
    from sentencepiece import sentencepiece_model_pb2

    schema: Any = sentencepiece_model_pb2
    header = vocabulary.header
    scores = header.numbers(names.SCORES, form.FLOAT32, form.INT32)
    if scores is None:
        raise FormatError(f"{vocabulary.name}: its tokens have no scores.")
    model, unknowns, is_llama = schema.ModelProto(), list[int](), vocabulary.model == "llama"
    for number, text in enumerate(vocabulary.texts):
        kind = vocabulary.types[number]
        if not text:
            raise FormatError(f"{vocabulary.name}: token {number:,} is empty.")
        if kind not in range(names.NORMAL, names.BYTE + 1):
            kind = names.NORMAL
        if kind == names.BYTE and not is_llama:
            kind = names.UNUSED  # llama.cpp has no bytes for Unigram
        if kind == names.UNKNOWN:
            unknowns.append(number)
        model.pieces.add(piece=text, score=float(scores[number]), type=kind)
        if number % _BATCH == 0:
            yield Progress("reading", number, len(vocabulary.texts))
    roles, _ = vocabulary.roles()
    if len(unknowns) != 1:
        raise FormatError(f"{vocabulary.name}: its tokenizer has {len(unknowns)} unknown tokens, and must have one.")
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    trainer.model_type = schema.TrainerSpec.UNIGRAM if vocabulary.model == "t5" else schema.TrainerSpec.BPE
    trainer.vocab_size = len(vocabulary.texts)
    trainer.unk_id, trainer.unk_piece = unknowns[0], vocabulary.texts[unknowns[0]]
    for role in ("bos", "eos", "pad"):
        token = roles.get(f"{role}_token")
        setattr(trainer, f"{role}_id", -1 if token is None else vocabulary.added[token])
        if token is not None:
            setattr(trainer, f"{role}_piece", token)
    trainer.byte_fallback = is_llama and names.BYTE in vocabulary.types
    normalizer.name = "identity"
    normalizer.add_dummy_prefix = is_llama if (said := header.flag(names.ADD_SPACE)) is None else said
    normalizer.remove_extra_whitespaces = header.flag(names.REMOVE_SPACES) is True
    normalizer.escape_whitespaces = True
    rules = header.numbers(names.CHARACTERS_MAP, form.UINT8, form.INT8)
    if rules is not None and not is_llama:
        normalizer.name, normalizer.precompiled_charsmap = "user_defined", rules.astype(np.uint8).tobytes()
    return model.SerializeToString()
