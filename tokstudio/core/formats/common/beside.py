"""The files beside a tokenizer's own: its added tokens, their roles, chat templates and other settings.

They are read as transformers reads them: `tokenizer_config.json` wins over the others if it lists the added tokens,
else `special_tokens_map.json` wins. Ids in these files are ignored: tokens that are new follow the highest id. Beside
ranks the ids count, as ranks leave holes for them. The model's own `config.json` may decide which class of transformers
opens them; nothing else of it is read.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain, islice
from pathlib import Path
from typing import cast

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.progress import Progress, Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, several, shown
from tokstudio.core.formats.common.added_tokens import AddedToken, Adding
from tokstudio.core.formats.common.library_classes import LibraryClass, class_of, library_class
from tokstudio.core.formats.common.text_readers import JsonReader, read_whole
from tokstudio.core.formats.common.vocabulary import id_problem
from tokstudio.core.model.file_settings import DEFAULT, FileSettings
from tokstudio.core.text.utf8 import has_surrogates

CONFIG = "tokenizer_config.json"
TEMPLATE = "chat_template.jinja"
TEMPLATES = "additional_chat_templates"
_MAP = "special_tokens_map.json"
_ADDED = "added_tokens.json"
_JINJA = ".jinja"
_MODEL = "config.json"
_FILES = (CONFIG, _MAP, _ADDED, TEMPLATE, _MODEL)

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")  # a name that a file can have everywhere
_LARGEST = 1 << 26
_LARGEST_TEMPLATE = 1 << 22
_MOST_TEMPLATES = 64
_MOST_ADDED = 1 << 20
_MOST_NAMED = 3
_LONGEST = 1 << 16  # characters of a token
_DECODER = "added_tokens_decoder"
_EXTRA = ("extra_special_tokens", "additional_special_tokens")
_TEMPLATE_KEY = "chat_template"
_CLASS = "tokenizer_class"
_PLAIN_CLASS = "PreTrainedTokenizerFast"
_OF_MODEL = ("model_type", _CLASS, "encoder")  # the keys of the model's file that are read
# In the order in which the library adds tokens.
_USUAL = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def template_of(config: Mapping[str, object], roles: Mapping[str, str], ids: Mapping[str, int]) -> object:
    """The post-processor of a tokenizer without one of its own, where the configuration asks for one; or None."""
    around = [roles[role] for role in ("bos_token", "eos_token") if config.get(f"add_{role}") is True and role in roles]
    if not around or any(token not in ids for token in around):
        return None
    begin = around[0] if config.get("add_bos_token") is True and "bos_token" in roles else None
    end = around[-1] if config.get("add_eos_token") is True and "eos_token" in roles else None

    def part(which: str, number: int) -> list[dict[str, object]]:
        parts: list[dict[str, object]] = [{"Sequence": {"id": which, "type_id": number}}]
        if begin is not None:
            parts.insert(0, {"SpecialToken": {"id": begin, "type_id": number}})
        if end is not None:
            parts.append({"SpecialToken": {"id": end, "type_id": number}})
        return parts

    return {
        "type": "TemplateProcessing",
        "single": part("A", 0),
        "pair": [*part("A", 0), *part("B", 1)],
        "special_tokens": {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in around},
    }


def files_beside(folder: Path) -> tuple[Path, ...]:
    """The files in a folder that belong to the tokenizer there; FormatError where there are too many."""
    templates = sorted(islice((folder / TEMPLATES).glob(f"*{_JINJA}"), _MOST_TEMPLATES + 1))
    if len(templates) > _MOST_TEMPLATES:
        raise FormatError(f"{TEMPLATES}: there are more than {_MOST_TEMPLATES} chat templates.")
    return tuple(file for file in (*(folder / name for name in _FILES), *templates) if file.is_file())


def templates_in(folder: Path) -> tuple[Path, ...]:
    """The chat templates in a folder that transformers would take for those of a tokenizer there."""
    files = (folder / TEMPLATE, *islice((folder / TEMPLATES).glob(f"*{_JINJA}"), _MOST_TEMPLATES))
    return tuple(file for file in files if file.is_file())


def usual_name(path: Path) -> str:
    """The name of a file beside a tokenizer, with its folder where chat templates have one of their own."""
    return f"{TEMPLATES}/{path.name}" if path.parent.name == TEMPLATES and path.suffix == _JINJA else path.name


def template_files(settings: FileSettings) -> dict[str, bytes] | None:
    """The chat templates as files, by name; None where they must stand in `tokenizer_config.json`."""
    names = {name: f"{TEMPLATES}/{name}{_JINJA}" for name in settings.chat_templates} | {DEFAULT: TEMPLATE}
    others = settings.chat_templates.keys() - {DEFAULT}
    are_safe = all(_SAFE.fullmatch(name) for name in others) and len({name.lower() for name in others}) == len(others)
    # The library reads a file with any ends of lines as if they were those of Unix.
    if not settings.in_own_files or not are_safe or any("\r" in text for text in settings.chat_templates.values()):
        return None
    return {names[name]: text.encode() for name, text in settings.chat_templates.items()}


@dataclass(frozen=True)
class Beside:
    """What the files beside a tokenizer say, before its own tokens are known."""

    # The content of each file, by its name, without the model's own.
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    listed: tuple[AddedToken, ...] = ()  # the added tokens of the files that count, in the order of their ids
    source: str = CONFIG  # the file that lists them
    lists_all: bool = False  # whether those of the tokenizer's own file are left out of that order
    # Tokens by role, None for one that has none; a token that is described has its flags.
    roles: Mapping[str, AddedToken | str | None] = field(default_factory=dict[str, "AddedToken | str | None"])
    additional: tuple[AddedToken | str, ...] = ()  # further special tokens
    settings: FileSettings = field(default_factory=FileSettings)  # all but the tokens
    # Roles and added tokens, as texts, of files that do not count.
    ignored: Mapping[str, frozenset[tuple[str, str]]] = field(default_factory=dict[str, "frozenset[tuple[str, str]]"])
    # The class of transformers with which the files are opened; None for one that takes them whole.
    class_name: str | None = None
    as_class: bool = False  # whether the tokenizer is made as that class makes it

    def library_class(self, byte_level: bool) -> LibraryClass | None:
        """The class of transformers that opens the files, if it makes the tokenizer anew."""
        name = (self.class_name or "").removesuffix("Fast")
        # It knows that many files with this name are not Llama's.
        return None if name == "LlamaTokenizer" and byte_level else library_class(name)

    def completed(
        self,
        own: Sequence[AddedToken] | None,
        vocabulary: Mapping[str, int],
        byte_level: bool,
        written: Mapping[str, int] | None = None,
    ) -> Completed:
        """The added tokens of a tokenizer with those beside it, and its settings.

        Args:
            own: The added tokens of the tokenizer's own file, with their ids; None for a file that cannot say them.
            vocabulary: Its other tokens by text.
            byte_level: Whether it splits text into bytes.
            written: The ids that the file gives its own tokens, by text, where they may be others.
        """
        own_tokens = {token.content: token for token in own or ()}
        if not self.files:
            return Completed(tuple(own_tokens.values()), (), self.settings)
        listed, described = list(self.listed), {token.content: token for token in self.listed}
        if not self.lists_all:
            # Where an id is given twice, the file's own token has it, by the id that the file gives it.
            by_id = {token.id: token for token in listed}
            by_id |= {(written or {}).get(token.content, token.id): token for token in own_tokens.values()}
            listed = [by_id[number] for number in sorted(by_id)]
            described |= own_tokens
        roles = self._roles(byte_level)
        for role in _USUAL:
            if (token := roles.get(role)) is not None:
                roles[role] = described.get(_content(token), token)
        role_tokens = [*roles.values(), *self.additional]
        adding = Adding(own_tokens, vocabulary)
        # The library adds all that are listed once more, so that those with a role become special.
        new: list[AddedToken | str] = [*listed]
        # A class that makes the tokenizer anew does not see the flags of the file's own tokens.
        there = {*map(_content, new), *(() if self._is_anew(byte_level) else own_tokens)}
        for token in role_tokens:
            if _content(token) not in there and token not in new:
                new.append(token)
        named = {_content(token) for token in roles.values()}
        for token in new:
            added = token if isinstance(token, AddedToken) else AddedToken(token, -1, False, True)
            adding.add(replace(added, special=added.special or added.content in named))
        texts = {role: _content(token) for role, token in roles.items()}
        notes = [*self._notes(adding, own, vocabulary, texts)]
        if written is not None and self._is_anew(byte_level) and not self.as_class:
            notes += self._left_out_notes(own_tokens, {*map(_content, role_tokens)} & vocabulary.keys())
        settings = replace(
            self.settings,
            roles=texts,
            additional=tuple(dict.fromkeys(map(_content, self.additional))),
            notes=(*self.settings.notes, *notes),
        )
        return Completed(tuple(adding.tokens.values()), tuple(adding.log), settings)

    def of_ranks(self, ids: Mapping[str, int], winner: str = "") -> Completed:
        """The added tokens of ranks with the ids that these files give them, and the settings.

        Args:
            ids: The special tokens of the ranks that are known otherwise, with their ids.
            winner: The file that says them and comes first; "" where the files beside the ranks come first.

        Raises:
            FormatError: Two of the added tokens have the same id or the same text.
        """
        roles = {role: _content(token) for role, token in self._roles(True).items()}
        named = {*roles.values()}
        listed = {t.content: replace(t, special=t.special or t.content in named) for t in self.listed}
        if len(listed) < len(self.listed) or len({token.id for token in self.listed}) < len(listed):
            raise FormatError(f"{self.source}: two of its added tokens have the same id, or the same text.")
        tokens = {text: AddedToken(text, number, False, True) for text, number in ids.items()}
        notes = list(self.settings.notes)
        if winner:
            if listed and (listed != tokens if self.lists_all else not listed.items() <= tokens.items()):
                notes.append(f"{winner} has the special tokens, so those of {self.source} are not read.")
        elif listed:
            used = {token.id for token in listed.values()}
            others = {text: token for text, token in tokens.items() if token.id not in used and not self.lists_all}
            tokens = others | listed
        final = {*roles.items(), *((token, "") for token in tokens)}
        notes += self._ignored_notes(final)
        role_texts = [_content(token) for token in (*self.roles.values(), *self.additional) if token is not None]
        if lacking := [token for token in dict.fromkeys(role_texts) if token not in tokens]:
            notes.append(f"The files beside the ranks name special tokens without an id, left out: {_names(lacking)}.")
        settings = replace(
            self.settings,
            roles={role: token for role, token in roles.items() if token in tokens},
            additional=tuple(t for t in dict.fromkeys(map(_content, self.additional)) if t in tokens),
            notes=tuple(notes),
        )
        return Completed(tuple(tokens.values()), (), settings)

    def class_note(self, byte_level: bool, pattern: str | None, nfc: bool) -> tuple[str, ...]:
        """A sentence where the class of transformers splits text otherwise; the pattern is None for other splitting."""
        class_of_library = self.library_class(byte_level)
        if (
            class_of_library is None
            or self.as_class
            or (pattern is not None and class_of_library.splits == pattern and class_of_library.nfc == nfc)
        ):
            return ()
        how = "a normalizer and a pattern of its own"
        if class_of_library.splits is not None:
            how = f"the pattern {class_of_library.splits}{' and the normalizer NFC' * class_of_library.nfc}"
        return (
            f"transformers makes this tokenizer anew as {self.class_name}, with {how}, where its ids may "
            "differ; TokStudio follows the file.",
        )

    def _roles(self, byte_level: bool) -> dict[str, AddedToken | str]:
        """The tokens by role in the order in which the library adds them, with those that the class has by itself."""
        class_of_library = self.library_class(byte_level)
        roles = {**(class_of_library.roles if class_of_library else {}), **self.roles}
        order = (*_USUAL, *(role for role in roles if role not in _USUAL))
        return {role: token for role in order if (token := roles.get(role)) is not None}

    def _is_anew(self, byte_level: bool) -> bool:
        """Whether a class of transformers makes the tokenizer anew with the tokens that the configuration lists."""
        return self.lists_all and self.library_class(byte_level) is not None

    def _left_out_notes(self, own: Collection[str], named: Collection[str]) -> Iterator[str]:
        """Tells of the file's own tokens that such a class does not find in text, or numbers anew; not those given."""
        listed = {token.content for token in self.listed}
        if left := [text for text in own if text not in listed and text not in named]:
            yield (
                f"{CONFIG} does not list {_names(left)}: {self.class_name} of transformers takes such tokens for text, "
                "or gives them other ids; TokStudio follows the file."
            )

    def _ignored_notes(self, final: Collection[tuple[str, str]]) -> Iterator[str]:
        if others := [name for name, said in self.ignored.items() if not said.issubset(final)]:
            verb = "says otherwise, is" if len(others) == 1 else "say otherwise, are"
            yield f"{CONFIG} lists the added tokens, so {' and '.join(others)}, which {verb} not read."

    def _notes(
        self, adding: Adding, own: Sequence[AddedToken] | None, vocabulary: Mapping[str, int], roles: Mapping[str, str]
    ) -> Iterator[str]:
        final = {(role, token) for role, token in roles.items()} | {(token, "") for token in adding.tokens}
        yield from self._ignored_notes(final)
        if left := [token.content for token in self.listed if token.content not in adding.tokens]:
            yield f"{self.source} gives ids of other added tokens to {_names(left)}: these are left out."
        there = [token for token in self.listed if token.content in adding.tokens]
        if moved := [token for token in there if adding.tokens[token.content].id != token.id]:
            first, more = moved[0], len(moved) - 1
            ids_text = f"{shown(first.content)} the id {first.id:,}, but it is {adding.tokens[first.content].id:,}"
            yield f"{self.source} gives {ids_text}: ids in this file are ignored{f' ({more:,} more)' * bool(more)}."
        before = {token.content: token for token in own or ()}
        for token in self.listed if self.lists_all else ():
            old = before.get(token.content)
            if old is not None and (flags := [name for name in token.flags if token.flags[name] != old.flags[name]]):
                ids_text = f"{shown(token.content)} ({', '.join(flags)})"
                yield f"{CONFIG} describes {ids_text} otherwise than the file itself, and wins."
        if unlike := {token: flags for token, flags in adding.unlike.items() if flags}:
            flags = ", ".join(sorted({*chain(*unlike.values())}))
            ids_text = f"The files describe {_names(unlike)} in several ways ({flags})"
            yield f"{ids_text}: exports write those that count, transformers shows those that come last."
        if lacking := [token for token in adding.tokens if token not in before and token not in vocabulary]:
            yield f"{several(len(lacking), 'token')} of the files beside it follow its own: {_names(lacking)}."
        if own is not None and (
            plain := [token for token in adding.tokens if token not in before and token in vocabulary]
        ):
            yield f"The files beside it make tokens of its vocabulary added ones: {_names(plain)}."


def _names(tokens: Collection[str]) -> str:
    return first_few(tokens, _MOST_NAMED)


def _content(token: AddedToken | str) -> str:
    return token if isinstance(token, str) else token.content


@dataclass(frozen=True)
class Completed:
    """The added tokens of a tokenizer with those beside it."""

    tokens: tuple[AddedToken, ...]  # all of them, with their ids
    # Those that the library is to be given after it has read the tokenizer's own file, in order.
    new: tuple[AddedToken, ...]
    settings: FileSettings  # what the files say besides


def beside_work(files: Sequence[Path], names: Sequence[str]) -> Work[Beside]:
    """Reads the files that belong to a tokenizer, and ignores others.

    Raises:
        FormatError: One is too large, or holds something of the wrong type; the message begins with its name.
    """
    contents: dict[str, bytes] = {}
    values: dict[str, dict[str, object]] = {}
    templates: dict[str, str] = {}
    model: dict[str, object] = {}
    notes: list[str] = []
    for path, name in zip(files, names, strict=True):
        usual = name if name in _FILES else f"{TEMPLATES}/{name}" if name.endswith(_JINJA) else ""
        if not usual:
            continue
        if usual.endswith(_JINJA):
            contents[usual] = read_whole(path, name, _LARGEST_TEMPLATE)
            key = DEFAULT if usual == TEMPLATE and path.parent.name != TEMPLATES else name.removesuffix(_JINJA)
            templates[key] = _template(contents[usual], name)
        elif usual == _MODEL:
            try:
                model = yield from _object_work(path, name, _OF_MODEL)
            except FormatError as error:
                notes.append(f"Whether the model's file names a class is not known: {error}")
        else:
            contents[usual] = read_whole(path, name, _LARGEST)
            values[usual] = yield from _object_work(path, name)
        yield Progress("reading")
    if not (contents or model or notes):
        return Beside()
    return _Meaning(contents, values, templates, model, notes).beside()


def _template(content: bytes, name: str) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"{name}: this is not UTF-8.") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _object_work(path: Path, name: str, only: Collection[str] | None = None) -> Work[dict[str, object]]:
    """The values of an object, or `only` those with these keys."""
    values: dict[str, object] = {}
    with JsonReader(path, name, _LARGEST) as reader:
        for key in reader.entries():
            if only is not None and key not in only:
                reader.skip()
            elif key != _DECODER or reader.peek() != "{":
                values[key] = reader.value()
            else:
                # It may hold more than a value can.
                listed: dict[str, object] = {}
                for number in reader.items():
                    listed[number] = reader.value()
                    if len(listed) > _MOST_ADDED:
                        raise reader.fault(f"there are more than {_MOST_ADDED:,} added tokens")
                    yield from reader.progress()
                values[key] = listed
            yield from reader.progress()
        reader.end()
    return values


class _Meaning:
    """What the parsed files mean together."""

    def __init__(
        self,
        contents: dict[str, bytes],
        values: Mapping[str, dict[str, object]],
        templates: dict[str, str],
        model: Mapping[str, object],
        notes: list[str],
    ) -> None:
        self._contents, self._templates, self._model = contents, templates, model
        self._has_config = CONFIG in values or _MAP in values
        self._given = values.get(CONFIG, {})
        self._config = dict(self._given)
        self._map, self._added = values.get(_MAP, {}), values.get(_ADDED, {})
        self._notes = notes

    def beside(self) -> Beside:
        """The meaning; FormatError where something has the wrong type."""
        config = self._config
        lists_all = _DECODER in config
        decoder = config.pop(_DECODER, None)
        # The keys of the map that count are read like those of the configuration.
        specific = self._take_roles(config, CONFIG)
        additional = self._take_additional(config, CONFIG, specific)
        roles = {role: specific.pop(role) for role in _USUAL if role in specific}
        ignored: dict[str, frozenset[tuple[str, str]]] = {}
        listed: list[AddedToken] = []
        if lists_all:
            listed = sorted(_decoder(decoder), key=lambda token: token.id)
            ignored = self._ignored()
        else:
            more = dict(self._map)
            others = self._take_roles(more, _MAP)
            other_additional = self._take_additional(more, _MAP, others)
            for role in _USUAL:
                if role in others:
                    self._note_map(role, roles.get(role), others[role])
                    roles[role] = others.pop(role)
            # Of other roles, those that the configuration names by their text win; they are added last.
            described = {role: token for role, token in specific.items() if isinstance(token, AddedToken)}
            specific = {**described, **others} | {k: v for k, v in specific.items() if k not in described}
            additional = additional or other_additional
            config |= more
            listed = self._listed(roles, additional)
        templates, in_own_files = self._chat_templates(config)
        self._note_settings(config)
        class_name = self._class_name(config)
        settings = FileSettings(
            chat_templates=templates,
            in_own_files=in_own_files,
            config=config if self._has_config else None,
            names_give_roles=not self._has_config,
            notes=tuple(self._notes),
        )
        source = CONFIG if lists_all else _ADDED
        return Beside(
            self._contents,
            tuple(listed),
            source,
            lists_all,
            roles | specific,
            tuple(additional),
            settings,
            ignored,
            class_name,
        )

    def _class_name(self, config: dict[str, object]) -> str | None:
        """The class that opens the files; where the model's file decides, the copied configuration says so."""
        named, code = cast("str | None", config.get(_CLASS)), config.get("auto_map")
        has_code = isinstance(code, list) or (
            isinstance(code, dict) and cast("dict[str, object]", code).get("AutoTokenizer") is not None
        )
        name = class_of(named, self._model, has_code)
        if library_class(name) is not library_class(named):
            decided = name or _PLAIN_CLASS
            self._contents[CONFIG] = json.dumps({**self._given, _CLASS: decided}).encode()
            if named is not None:
                config[_CLASS] = decided
        return name

    def _take_roles(self, values: dict[str, object], name: str) -> dict[str, AddedToken | str | None]:
        """Takes the roles out of a file's values."""
        roles: dict[str, AddedToken | str | None] = {}
        for key in [key for key in values if key.endswith("_token")]:
            value = values[key]
            if key in _USUAL or isinstance(value, str) or _is_token(value):
                # The library takes every token that the map describes for a special one.
                token = None if value is None else _token(value, f"{name}: {key}", name == _MAP)
                # A role that is null or empty stays said: a class may have one by itself.
                if token is not None and not _content(token):
                    token, values[key] = None, ""
                roles[key] = token
                if token is not None:
                    del values[key]
        return roles

    def _take_additional(
        self, values: dict[str, object], name: str, roles: dict[str, AddedToken | str | None]
    ) -> list[AddedToken | str]:
        """Takes further special tokens out of a file's values; those with a name of their own are roles."""
        additional: list[AddedToken | str] = []
        for key in _EXTRA:
            tokens, where = values.pop(key, None), f"{name}: {key}"
            if isinstance(tokens, list):
                all_tokens = [_token(token, where) for token in cast("list[object]", tokens)]
                additional = additional or [token for token in all_tokens if _content(token)]
            elif isinstance(tokens, dict):
                all_tokens = {role: _token(token, where) for role, token in cast("dict[str, object]", tokens).items()}
                roles |= {role: token for role, token in all_tokens.items() if _content(token)}
            elif tokens is not None:
                raise FormatError(f"{where} must be a list of tokens.")
        return additional

    def _listed(
        self, roles: Mapping[str, AddedToken | str | None], additional: Iterable[AddedToken | str]
    ) -> list[AddedToken]:
        """The tokens of `added_tokens.json`; those with a role are special."""
        special = {_content(token) for token in (*roles.values(), *additional) if token is not None}
        listed: dict[int, AddedToken] = {}
        for text, number in self._added.items():
            if problem := id_problem(number):
                raise FormatError(f"{_ADDED}: token {shown(text)}: {problem}.")
            _check_text(text, _ADDED)
            listed[cast("int", number)] = AddedToken(text, cast("int", number), text not in special, text in special)
        return [listed[number] for number in sorted(listed) if listed[number].content]

    def _ignored(self) -> dict[str, frozenset[tuple[str, str]]]:
        """What the files say that do not count."""
        roles = self._take_roles(dict(self._map), _MAP)
        said = {(role, _content(token)) for role, token in roles.items() if token is not None}
        read = {_MAP: frozenset(said), _ADDED: frozenset((text, "") for text in self._added)}
        return {name: what for name, what in read.items() if what}

    def _note_map(self, role: str, before: AddedToken | str | None, now: AddedToken | str | None) -> None:
        old, new = (None if token is None else _content(token) for token in (before, now))
        if old is not None and old != new:
            new_text = "none" if new is None else shown(new)
            self._notes.append(
                f"{_MAP} says that {role} is {new_text}, {CONFIG} that it is {shown(old)}: the first wins."
            )

    def _chat_templates(self, config: dict[str, object]) -> tuple[dict[str, str], bool]:
        """The chat templates by name, and whether they stand in files of their own."""
        templates: dict[str, str] = {}
        value = config.pop(_TEMPLATE_KEY, None)
        if isinstance(value, str):
            templates[DEFAULT] = value
        elif isinstance(value, dict):
            templates = {name: _text(text) for name, text in cast("dict[str, object]", value).items()}
        elif isinstance(value, list):
            for entry in cast("list[object]", value):
                match entry:
                    case {"name": str(name), "template": str(text)}:
                        templates[name] = text
                    case _:
                        raise FormatError(f"{CONFIG}: each chat template needs a name and a template.")
        elif value is not None:
            raise FormatError(f"{CONFIG}: {_TEMPLATE_KEY} must be a text, or a list of templates with names.")
        if any(has_surrogates(text) for template in templates.items() for text in template):
            raise FormatError(f"{CONFIG}: {_TEMPLATE_KEY} is not a text.")
        if not self._templates:
            self._note_default(templates)
            return templates, False
        if templates and templates != self._templates:
            where = TEMPLATE if DEFAULT in self._templates else TEMPLATES
            self._notes.append(f"{where} has another chat template than {CONFIG}, and wins.")
        self._note_default(self._templates)
        return self._templates, True

    def _note_default(self, templates: Mapping[str, str]) -> None:
        if templates and DEFAULT not in templates:
            self._notes.append(f"None of its chat templates is the default: {_names(templates)}.")

    def _note_settings(self, config: Mapping[str, object]) -> None:
        """Tells of settings with which transformers encodes otherwise."""
        if config.get("split_special_tokens") is True:
            self._notes.append(f'{CONFIG} says "split_special_tokens": transformers takes special tokens for text.')
        if config.get("fast_tokenizer_files"):
            self._notes.append(f"{CONFIG} names other files for some versions of transformers; they are not read.")
        if not isinstance(config.get("tokenizer_class"), (str, type(None))):
            raise FormatError(f"{CONFIG}: tokenizer_class must be a text.")


def _decoder(value: object) -> Iterator[AddedToken]:
    """The tokens of `added_tokens_decoder`."""
    if not isinstance(value, dict):
        raise FormatError(f"{CONFIG}: {_DECODER} must be an object.")
    for text, entry in cast("dict[str, object]", value).items():
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else -1
        if problem := "an id must be a whole number" if number < 0 else id_problem(number):
            raise FormatError(f"{CONFIG}: {_DECODER}: {shown(text)}: {problem}.")
        if not _is_token(entry):
            raise FormatError(f"{CONFIG}: {_DECODER}: token {number:,} has no content.")
        token = _token(entry, f"{CONFIG}: {_DECODER}")
        assert isinstance(token, AddedToken)
        if token.content:
            yield replace(token, id=number)


def _is_token(value: object) -> bool:
    return isinstance(value, dict) and isinstance(cast("dict[str, object]", value).get("content"), str)


def _token(value: object, where: str, special: bool = False) -> AddedToken | str:
    """A token, by its text or with its flags, or a special one in any case; FormatError where it is neither."""
    match value:
        case str(text):
            _check_text(text, where)
            return text
        case {"content": str(text)}:
            _check_text(text, where)
            entry = cast("dict[str, object]", value)
            flags = {key: entry.get(key, False) for key in ("lstrip", "rstrip", "single_word", "special")}
            flags["special"] = special or flags["special"]
            flags["normalized"] = entry.get("normalized", not flags["special"])
            if strange := next((key for key, flag in flags.items() if not isinstance(flag, bool)), None):
                raise FormatError(f"{where}: {strange} of {shown(text)} must be true or false.")
            has = {key: flag is True for key, flag in flags.items()}
            return AddedToken(
                text, -1, has["normalized"], has["special"], has["lstrip"], has["rstrip"], has["single_word"]
            )
        case _:
            raise FormatError(f"{where}: a token must be a text, not {shown(repr(value))}.")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise FormatError(f"{CONFIG}: each chat template must be a text.")
    return value


def _check_text(text: str, where: str) -> None:
    if has_surrogates(text) or len(text) > _LONGEST:
        raise FormatError(f"{where}: {shown(text)} is not a token.")
