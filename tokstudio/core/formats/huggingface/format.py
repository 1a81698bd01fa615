"""Hugging Face's `tokenizer.json` for BPE over bytes or characters, written as `tokenizers` itself would write it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.wording import shown
from tokstudio.core.formats.common.added_tokens import named_roles
from tokstudio.core.formats.common.beside import CONFIG, beside_work, files_beside, template_files, templates_in
from tokstudio.core.formats.common.format import GIGABYTE, Fit, Format, gathered
from tokstudio.core.formats.common.proof import pieces_of, prove_work, trials_work, varied
from tokstudio.core.formats.common.spelling import (
    misread_specials,
    spelled_alike_work,
    spelling,
    taken_whole_work,
    vocabulary,
    written_regex,
)
from tokstudio.core.formats.common.text_readers import LineReader
from tokstudio.core.formats.huggingface.parts import BYTE_LEVEL, FUSE, KEYS, split_of
from tokstudio.core.formats.huggingface.reader import read_work
from tokstudio.core.model.file_settings import DEFAULT
from tokstudio.core.pretokenization.patterns import NAMES
from tokstudio.core.text.nfc import nfc as normalized

if TYPE_CHECKING:
    from tokstudio.core.tokenizer.tokenizer import Tokenizer

# --- Tokenizer config -------------------------------------------------------------------------------------------------
# `tokenizer_config.json`, with which transformers loads a `tokenizer.json`: roles of special tokens, and settings.
#
# A special token has the role that it was given. Where no file could give any, it also has that of its name, in either
# case: see `ROLES`. Of several with one role, the one with the lowest id has it; all others are additional ones.

# Versions before 5 remove spaces from decoded text where they are not told.
_PLAIN = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character, which JSON can spell and UTF-8 cannot


def config_json(tokenizer: Tokenizer) -> bytes:
    """The content of the file."""
    return _json(dict(_items(tokenizer)))


def config_of_names(specials: Sequence[str]) -> bytes:
    """The content of the file for special tokens, by id, that have the roles of their names."""
    roles = named_roles(specials, {}, None)
    others = [token for token in specials if token not in roles.values()]
    return _json({**_PLAIN, **roles, **({"additional_special_tokens": others} if others else {})})


def _json(items: Mapping[str, object]) -> bytes:
    text = json.dumps(items, indent=2, ensure_ascii=False) + "\n"
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text).encode()


def _items(tokenizer: Tokenizer) -> Iterator[tuple[str, object]]:
    settings, preparation, ids = tokenizer.settings, tokenizer.preparation, tokenizer.special_tokens
    by_id = sorted(ids, key=ids.__getitem__)
    roles, others = dict(settings.roles), list(settings.additional)
    if settings.names_give_roles:
        specials = [token for token in by_id if token not in preparation.ordinary]
        unknown = next((token for token in specials if ids[token] == tokenizer.alphabet.unknown), None)
        roles = named_roles(specials, roles, unknown)
        others = [token for token in specials if token not in roles.values()]
    yield from (_PLAIN if settings.config is None else settings.config).items()
    yield from ((role, token) for role, token in roles.items() if role.endswith("_token"))
    if named := {role: token for role, token in roles.items() if not role.endswith("_token")}:
        yield "extra_special_tokens", named
    if others:
        # Version 5 accepts this name as well as its own; version 4 accepts no other for a list.
        yield "additional_special_tokens", others
    if settings.chat_templates and template_files(settings) is None:
        templates = settings.chat_templates
        listed = [{"name": name, "template": text} for name, text in templates.items()]
        yield "chat_template", templates[DEFAULT] if list(templates) == [DEFAULT] else listed
    if tokenizer.library is None and (by_id or settings.config is not None):
        # With it, transformers ignores older files that may be in the folder. A token with a role that is listed there
        # becomes special.
        listed = [token for token in by_id if token not in preparation.ordinary or token not in roles.values()]
        yield "added_tokens_decoder", {str(ids[token]): flags_of(tokenizer, token) for token in listed}


def flags_of(tokenizer: Tokenizer, token: str) -> dict[str, object]:
    """An added token as files describe it, without its id."""
    preparation = tokenizer.preparation
    return {
        "content": token,
        "single_word": token in preparation.words,
        "lstrip": token in preparation.strips_left,
        "rstrip": token in preparation.strips_right,
        "normalized": token in (preparation.late or preparation.normalized),
        "special": token not in preparation.ordinary,
    }


TOKENIZER = "tokenizer.json"

_SUFFIX = ".json"

_OF_A_FOLDER = """\
# pip install transformers
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained({path})
ids = tokenizer.encode("Hello world", add_special_tokens=False)
print(ids)
"""
_OF_A_FILE = """\
# pip install tokenizers
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file({path})
ids = tokenizer.encode("Hello world", add_special_tokens=False).ids
print(ids)
"""


class HuggingFace(Format):
    """`tokenizer.json`, with `tokenizer_config.json` in a folder."""

    name = "huggingface"
    title = "Hugging Face"
    description = "tokenizer.json for the tokenizers and transformers libraries, for training and running models"
    files = (TOKENIZER, CONFIG)
    looked_for = TOKENIZER
    folder = True
    keys = KEYS
    largest = GIGABYTE
    library = "tokenizers"
    takes_near_form = True
    holds_preparation = True
    holds_any_order = True

    def takes_folder(self, path: Path) -> bool:
        """A path that ends in .json is the file alone."""
        return path.is_dir() or path.suffix.lower() != _SUFFIX

    def targets(self, path: Path) -> Mapping[str, Path]:
        """The one file, or both in a folder."""
        if not self.takes_folder(path):
            return {TOKENIZER: path}
        if path.is_file():
            raise FormatError(
                f"{path.name}: this is a file, and {self.title} is saved to a folder, or to a file that ends in "
                f"{_SUFFIX}."
            )
        return {usual: path / usual for usual in self.files}

    def check_tokens_work(self, tokenizer: Tokenizer) -> Work[Fit]:
        """Each token has a different spelling; tokens that the library takes whole are a loss."""
        if alike := (yield from spelled_alike_work(tokenizer)):
            return Fit(alike, (), ())
        more = len((yield from _taken_whole_work(tokenizer)) - tokenizer.whole_words)
        return Fit(None, (_TAKEN_WHOLE.format(count=more),) if more else (), ())

    def problem(self, tokenizer: Tokenizer) -> str | None:
        """Where the library would put a prefix space, or find a special token, otherwise."""
        can_hold = tokenizer.alphabet.base == "bytes" and tokenizer.pattern in ("gpt2", "none")
        if tokenizer.preparation.prefix_space and not can_hold:
            return f"{self.title} holds a prefix space only with bytes and the pattern gpt2 or none."
        late = tokenizer.preparation.late if tokenizer.preparation.nfc else frozenset[str]()
        if (other := next((token for token in sorted(late) if normalized(token) != token), None)) is not None:
            return f"The library finds the special token {shown(other)} as its normal form, which is another text."
        return super().problem(tokenizer)

    def further_targets(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> Mapping[str, Path]:
        """Chat templates in files of their own, in a folder."""
        if CONFIG not in targets:
            return {}
        folder = targets[CONFIG].parent
        new = {name: folder.joinpath(*name.split("/")) for name in template_files(tokenizer.settings) or {}}
        others = {file.resolve() for file in templates_in(folder)} - {file.resolve() for file in new.values()}
        if other := min(others, default=None):
            raise FormatError(
                f"{other.name}: this chat template is in the folder already, and transformers would take it for one of "
                "this tokenizer: remove it, or choose another folder."
            )
        return new

    def lost_at(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> tuple[str, ...]:
        """A file alone has no roles, chat templates and keys of configurations."""
        return () if CONFIG in targets else tuple(tokenizer.settings.lost_config())

    def settings_lost(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """A folder holds all of them."""
        return ()

    def losses(self, tokenizer: Tokenizer) -> tuple[str, ...]:
        """The library decodes a special token as bytes if all its characters stand for bytes."""
        return tuple(
            f"The special token {shown(token)} is decoded as different text by the tokenizers library."
            for token in misread_specials(tokenizer)
        )

    def size(self, tokenizer: Tokenizer, token_bytes: int) -> int:
        """Each token is in the vocabulary and as the parts of its merge; a byte takes at most two."""
        specials = sum(260 + 6 * len(token.encode()) for token in tokenizer.special_tokens)
        return 4 * token_bytes + 80 * len(tokenizer) + specials

    def contents(self, tokenizer: Tokenizer) -> Mapping[str, Iterable[bytes]]:
        """Both files, and chat templates in files of their own."""
        templates = {name: [content] for name, content in (template_files(tokenizer.settings) or {}).items()}
        return {TOKENIZER: gathered(_pieces(tokenizer)), CONFIG: [config_json(tokenizer)], **templates}

    def snippet(self, tokenizer: Tokenizer, targets: Mapping[str, Path]) -> str:
        """Loads the folder with transformers, or the file with tokenizers."""
        file = targets[TOKENIZER].absolute()
        code, place = (_OF_A_FOLDER, file.parent) if CONFIG in targets else (_OF_A_FILE, file)
        return code.format(path=repr(str(place)))

    def prove(self, tokenizer: Tokenizer, written: Mapping[str, Path], name: str, sample: str) -> Work[str]:
        """Lets the library read the file and encode, including special tokens; its ids must be equal."""
        from tokstudio.core.libraries.client import LibraryInput, check_split_work

        is_custom = tokenizer.pattern not in NAMES
        if is_custom:
            # Where few pre-tokens have merges, equal ids would prove little.
            yield from check_split_work(name, tokenizer.pattern, written_regex(tokenizer.pattern), pieces_of(sample))
        whole_words = yield from _taken_whole_work(tokenizer)
        held = varied(tokenizer, whole_words=whole_words, preparation=tokenizer.preparation)
        trials = yield from trials_work(held, sample, decodes=not misread_specials(held))
        file = LibraryInput("tokenizers", written[TOKENIZER], name)
        try:
            return (yield from prove_work(held, file, trials, in_child=is_custom))
        except FormatError as error:
            taken = sorted(tokenizer.preparation.strips_left | tokenizer.preparation.strips_right)
            if spaces := ", ".join(map(shown, filter(str.isspace, taken))):
                raise FormatError(f"{error} {_SPACES_TAKEN.format(names=spaces)}") from error
            raise

    def find(self, path: Path) -> tuple[Path, ...]:
        """The file that holds the tokenizer, and those beside it."""
        folder = path if path.is_dir() else path.parent
        is_named = path == folder or path.name == TOKENIZER or path in files_beside(folder)
        if is_named and (folder / TOKENIZER).is_file():
            return (folder / TOKENIZER, *files_beside(folder))
        # Some models of speech have it under this name, without any other.
        other = folder / "vocab.json"
        if path != folder or not other.is_file():
            return ()
        with LineReader(other, other.name, GIGABYTE) as lines:
            return (other,) if self.recognises(other, lines.peek()) else ()

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Whether it begins with the parts before the model, which no other file has."""
        return beginning.lstrip().startswith(b"{") and b'"added_tokens"' in beginning

    def read(self, files: tuple[Path, ...], names: tuple[str, ...], pattern: str | None = None) -> Work[Tokenizer]:
        """Reads the file, which contains the pattern, and those beside it."""
        beside = yield from beside_work(files[1:], names[1:])
        return (yield from read_work(files[0], names[0], beside=beside))


_SPACES_TAKEN = "The library finds special tokens that are white space and take more of it elsewhere: {names}."
_TAKEN_WHOLE = (
    "The tokenizers library takes every pre-token whole that equals a token, or none ({count:,} more than here): "
    "some ids will differ."
)


def _taken_whole_work(tokenizer: Tokenizer) -> Work[frozenset[int]]:
    """The tokens that an equal pre-token becomes in the library, though merging does not make them of it."""
    if not _ignores_merges(tokenizer) or tokenizer.alphabet.base != "bytes":
        return tokenizer.whole_words
    return (yield from taken_whole_work(tokenizer))


def _ignores_merges(tokenizer: Tokenizer) -> bool:
    """Whether the file says so; where it does not matter with all merges, it matters with some of these."""
    return bool(tokenizer.whole_words) or (tokenizer.content.ignores_merges and tokenizer.needed_merges is not None)


def _pieces(tokenizer: Tokenizer) -> Iterator[bytes]:
    # By its indent: parts of the file may have this key, too.
    before, after = _settings(tokenizer).split('\n  "added_tokens": []')
    yield before.encode() + b'\n  "added_tokens": ['
    yield from _added_tokens(tokenizer)
    # The end of the model and of the file follows after the vocabulary and the merges.
    yield b"]" + after.removesuffix("\n  }\n}").encode() + b',\n    "vocab": {'
    yield from vocabulary(tokenizer, indent=b"      ")
    yield b'\n    },\n    "merges": ['
    yield from _merges(tokenizer)
    yield b"]\n  }\n}"


def _settings(tokenizer: Tokenizer) -> str:
    """The file without its long parts."""
    in_bytes, unknown = tokenizer.alphabet.base == "bytes", tokenizer.alphabet.unknown
    split = split_of(tokenizer.pattern)
    preparation = tokenizer.preparation
    if preparation.prefix_space:
        # Behind a split, it would put a space before every pre-token.
        pre_tokenizer = BYTE_LEVEL | {"add_prefix_space": True, "use_regex": tokenizer.pattern != "none"}
    elif in_bytes and split:
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [split, BYTE_LEVEL]}
    else:
        pre_tokenizer = BYTE_LEVEL if in_bytes else split
    settings: dict[str, object] = {
        "version": "1.0",
        "truncation": tokenizer.settings.truncation,
        "padding": tokenizer.settings.padding,
        "added_tokens": [],
        "normalizer": {"type": "NFC"} if preparation.nfc else None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": tokenizer.settings.post_processor,
        "decoder": BYTE_LEVEL if in_bytes else FUSE,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None if unknown is None else (tokenizer.tokens[unknown] or b"").decode(),
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": _ignores_merges(tokenizer),
        },
    }
    return json.dumps(settings, indent=2, ensure_ascii=False)


def _added_tokens(tokenizer: Tokenizer) -> Iterator[bytes]:
    lead = b""
    for token, number in sorted(tokenizer.special_tokens.items(), key=lambda item: item[1]):
        entry = {"id": number, **flags_of(tokenizer, token)}
        yield lead + b"\n    " + json.dumps(entry, indent=2, ensure_ascii=False).replace("\n", "\n    ").encode()
        lead = b","
    if lead:
        yield b"\n  "


def _merges(tokenizer: Tokenizer) -> Iterator[bytes]:
    tokens, spelled, lead = tokenizer.tokens, spelling(tokenizer), b""
    for left, right in tokenizer.merges:
        yield lead + b'\n      [\n        "'
        yield from spelled(tokens[int(left)] or b"")
        yield b'",\n        "'
        yield from spelled(tokens[int(right)] or b"")
        yield b'"\n      ]'
        lead = b","
    if lead:
        yield b"\n    "
