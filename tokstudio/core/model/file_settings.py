"""What the files of a tokenizer say besides its vocabulary, merges and pattern: roles, chat templates, settings.

The names are those of the transformers library, whose `tokenizer_config.json` holds most of it.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, cast

from tokstudio.core.base.errors import ConfigError
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.wording import first_few, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The usual names of the special tokens of each role, in lower case.
ROLES: Mapping[str, tuple[str, ...]] = {
    "bos_token": ("<s>", "<bos>", "[bos]", "<|bos|>", "<|begin_of_text|>", "<|startoftext|>"),
    "eos_token": ("</s>", "<eos>", "[eos]", "<|eos|>", "<|end_of_text|>", "<|endoftext|>"),
    "unk_token": ("<unk>", "[unk]", "<|unk|>", "<unknown>", "<|unknown|>"),
    "pad_token": ("<pad>", "[pad]", "<|pad|>", "<padding>", "<|padding|>"),
    "sep_token": ("<sep>", "[sep]", "<|sep|>"),
    "cls_token": ("<cls>", "[cls]", "<|cls|>"),
    "mask_token": ("<mask>", "[mask]", "<|mask|>"),
}
#: Classes of transformers that take a `tokenizer.json` as it is.
PLAIN_CLASSES = frozenset({"PreTrainedTokenizerFast", "PreTrainedTokenizer", "TokenizersBackend"})
DEFAULT = "default"  # the name of the template that is used where none is chosen
_FOR_TOOLS = "tool_use"
_UNLIMITED = 10**20  # from here on, `model_max_length` means that there is no limit
_MOST_NAMED = 6
# Text between signs, without those of Jinja and its strings.
_CLEAR = re.compile(r"[<\[|｜]+[^'\"\\{}%#\n\r]+[>\]|｜]+")
_ADDING = ("BertProcessing", "RobertaProcessing")
_OWN = frozenset({"tokenizer_class", "model_max_length"})
_Tokens = list[tuple[str, int]]  # with their ids


@dataclass(frozen=True)
class FileSettings:
    """What files say of a tokenizer besides its tokens; none of it changes what `encode` gives."""

    roles: Mapping[str, str] = field(default_factory=dict[str, str])  # special tokens by role, such as "eos_token"
    additional: tuple[str, ...] = ()  # further special tokens that the files name, in their order
    # The chat templates by name; one that stands alone is `DEFAULT`.
    chat_templates: Mapping[str, str] = field(default_factory=dict[str, str])
    in_own_files: bool = False  # whether the chat templates stand in files of their own
    # All other keys of `tokenizer_config.json`; None where there is no such file.
    config: Mapping[str, object] | None = None
    # Whether a special token without a role gets that of its name where it is exported: not where the files are of a
    # kind that transformers opens, which name each role or leave it out.
    names_give_roles: bool = True
    post_processor: object = None  # that of `tokenizer.json`, which adds tokens to every text; None where there is none
    truncation: object = None  # that of `tokenizer.json`
    padding: object = None  # that of `tokenizer.json`
    # What is to be known about how the files were read, each a sentence.
    notes: tuple[str, ...] = field(default=(), compare=False)
    # Texts of special tokens that were renamed or removed, which chat templates may name.
    former: frozenset[str] = frozenset()

    @property
    def tokenizer_class(self) -> str | None:
        """The class of transformers that its files name."""
        name = (self.config or {}).get("tokenizer_class")
        return name if isinstance(name, str) else None

    @property
    def model_max_length(self) -> int | None:
        """How many tokens the model takes at most; None where the files name no limit."""
        length = (self.config or {}).get("model_max_length")
        if isinstance(length, bool) or not isinstance(length, (int, float)):
            return None
        return int(length) if 0 < length < _UNLIMITED else None

    def chat_template(self, name: str | None = None, with_tools: bool = False) -> tuple[str, str]:
        """A chat template, after what it is called in messages.

        Args:
            name: Its name; None for the one that transformers uses: "tool_use" for tools, if there is one, else
                `DEFAULT`.
            with_tools: Whether it gets tools.

        Raises:
            ConfigError: There is none, or none of this name.
        """
        templates = self.chat_templates
        if not templates:
            raise ConfigError("This tokenizer has no chat template: its files name none.")
        if name is None:
            name = _FOR_TOOLS if with_tools and _FOR_TOOLS in templates else DEFAULT
            if name not in templates:
                raise ConfigError(
                    f"None of its chat templates is the default: name one of {_template_names(templates)}."
                )
        elif name not in templates:
            raise ConfigError(f"There is no chat template {shown(name)}, but {_template_names(templates)}.")
        return _title(name), templates[name]

    @property
    def padding_token(self) -> str | None:
        """The token that the padding of `tokenizer.json` names."""
        match self.padding:
            case {"pad_token": str(token)}:
                return token
            case _:
                return None

    @property
    def around(self) -> tuple[list[str], list[str]] | str:
        """The tokens that the post-processor adds before and after a text; or why that is not known, without a stop."""
        try:
            before, after = _added_around(self.post_processor)
        except _Strange as reason:
            return str(reason)
        return [token for token, _ in before], [token for token, _ in after]

    @property
    def around_ids(self) -> tuple[list[int], list[int]]:
        """The ids that the post-processor gives the tokens of `around`; none where these are not known."""
        try:
            before, after = _added_around(self.post_processor)
        except _Strange:
            return [], []
        return [number for _, number in before], [number for _, number in after]

    @property
    def needed(self) -> frozenset[str]:
        """The tokens that have a role, or that the post-processor or the padding adds."""
        return frozenset([*self.roles.values(), *_tokens_in(self.post_processor), *_tokens_in(self.padding)])

    def remarks(self) -> tuple[str, ...]:
        """What `encode` leaves to the caller, and what is to be known, each a sentence."""
        sentences: list[str] = []
        if self.truncation is not None:
            sentences.append("The file truncates long texts; encode does not.")
        if self.padding is not None:
            sentences.append("The file pads short texts; encode does not.")
        match self.around:
            case str(reason):
                sentences.append(f"The file does something that encode does not: {reason}.")
            case around:
                if any(around):
                    sentences.append(f"Its post-processor adds {_around_text(*around)} every text; encode does not.")
        for name, template in self.chat_templates.items():
            if named := sorted(self.former.intersection(self._named().findall(template))):
                names = ", ".join(map(shown, named[:_MOST_NAMED]))
                sentences.append(f"{_title(name)} still names {names}, which is no special token any more.")
        return (*sentences, *self.notes)

    def lost(self) -> Iterator[str]:
        """What a format loses that holds none of it, each a sentence."""
        yield from self.lost_config()
        match self.around:
            case str():
                yield "The post-processor is lost."
            case around:
                if any(around):
                    yield f"The post-processor is lost, which adds {_around_text(*around)} every text."
        yield from (f"The {name} of the file is lost." for name in ("truncation", "padding") if getattr(self, name))

    def lost_config(self) -> Iterator[str]:
        """What is lost without `tokenizer_config.json` and chat templates, each a sentence."""
        # Programs give a token with a usual name its role without being told.
        roles = {role: token for role, token in self.roles.items() if token.lower() not in ROLES.get(role, ())}
        if roles:
            named = ", ".join(f"{role.removesuffix('_token')} {shown(token)}" for role, token in roles.items())
            yield f"The roles of special tokens are lost: {named}."
        if self.chat_templates:
            names = ", ".join(map(shown, self.chat_templates))
            is_one = len(self.chat_templates) == 1
            yield "The chat template is lost." if is_one else f"The chat templates are lost: {names}."
        if (limit := self.model_max_length) is not None:
            yield f"The largest number of tokens for the model is lost: model_max_length {limit:,}."
        if (name := self.tokenizer_class) is not None and name not in PLAIN_CLASSES:
            yield f"The class of the tokenizer is lost: {name}."
        others = [key for key, value in (self.config or {}).items() if value and key not in _OWN]
        if others:
            yield f"Settings of tokenizer_config.json are lost: {first_few(others, _MOST_NAMED)}."

    def renamed(self, names: Mapping[str, str]) -> FileSettings:
        """The same with other texts of tokens, by their texts, also in chat templates.

        A template keeps a name without clear signs around it, which may be something else; `remarks` tells of it.
        """

        def new(token: str) -> str:
            return names.get(token, token)

        clear = {old: new for old, new in names.items() if _is_clear(old) and _is_clear(new)}
        named = self._named(names)
        controls = (self.config or {}).get("chat_control_tokens")
        config = self.config
        if config is not None and isinstance(controls, list):
            tokens = [new(token) if isinstance(token, str) else token for token in cast("list[object]", controls)]
            config = {**config, "chat_control_tokens": tokens}
        return replace(
            self,
            roles={role: new(token) for role, token in self.roles.items()},
            additional=tuple(map(new, self.additional)),
            chat_templates={
                name: named.sub(lambda match: clear.get(match[0], match[0]), template)
                for name, template in self.chat_templates.items()
            },
            config=config,
            post_processor=_changed(self.post_processor, names, None),
            padding=_changed(self.padding, names, None),
            former=(self.former | names.keys()) - {*names.values()},
        )

    def _named(self, others: Collection[str] = ()) -> re.Pattern[str]:
        """Finds the tokens that a template names: at each place the longest."""
        names = {*others, *self.roles.values(), *self.additional, *self.former}
        return re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))) or r"(?!)")

    def without(self, tokens: Collection[str]) -> FileSettings:
        """The same without special tokens; none of them may be among `needed`."""
        return replace(
            self,
            additional=tuple(token for token in self.additional if token not in tokens),
            former=self.former | frozenset(tokens),
        )

    def renumbered(self, new_ids: NDArray[np.int32]) -> FileSettings:
        """The same with other ids, by id; what names a token that is gone is dropped, with a note."""
        values = {"post_processor": self.post_processor, "padding": self.padding}
        changes: dict[str, Any] = {}
        for name, value in values.items():
            try:
                changes[name] = _changed(value, {}, new_ids)
            except IndexError:
                what = name.replace("_", "-")
                changes[name] = None
                changes["notes"] = (*changes.get("notes", self.notes), f"The {what} named a token that was removed.")
        return replace(self, **changes)


def _title(name: str) -> str:
    """What a chat template is called in messages."""
    return "The chat template" if name == DEFAULT else f"The chat template {shown(name)}"


def _template_names(templates: Collection[str]) -> str:
    return first_few(sorted(templates), _MOST_NAMED)


def _is_clear(token: str) -> bool:
    """Whether a token in a chat template can be nothing else, and needs no escapes there, such as "<|user|>"."""
    return _CLEAR.fullmatch(token) is not None


class _Strange(ValueError):
    """A post-processor that does more than add tokens around a text; the message can end a sentence."""


def _added_around(post_processor: object) -> tuple[_Tokens, _Tokens]:
    match post_processor:
        case None | {"type": "ByteLevel"}:
            return [], []
        case {"type": "Sequence", "processors": list()}:
            begins, ends = _Tokens(), _Tokens()
            for step in cast("dict[str, list[object]]", post_processor)["processors"]:
                before, after = _added_around(step)
                begins, ends = before + begins, ends + after
            return begins, ends
        case {"type": "TemplateProcessing", "single": list(), "special_tokens": dict()}:
            tokens = cast("dict[str, dict[str, Any]]", post_processor)["special_tokens"]
            if not all(_is_template_token(entry) for entry in tokens.values()):
                raise _Strange("its post-processor is of an unknown kind")
            return _added_by_template(cast("dict[str, list[object]]", post_processor)["single"], tokens)
        case {"type": str(name), "cls": [str(cls), int(first)], "sep": [str(sep), int(last)]} if name in _ADDING:
            return [(cls, first)], [(sep, last)]
        case _:
            raise _Strange("its post-processor is of an unknown kind")


def _is_template_token(entry: Any) -> bool:  # noqa: ANN401
    if not isinstance(entry, dict):
        return False
    values = cast("dict[str, Any]", entry)
    are_lists = isinstance(values.get("ids"), list) and isinstance(values.get("tokens"), list)
    are_ids = are_lists and all(type(number) is int for number in values["ids"])
    return (
        are_ids
        and len(values["ids"]) == len(values["tokens"])
        and all(isinstance(token, str) for token in values["tokens"])
    )


def _added_by_template(template: list[object], tokens: dict[str, dict[str, Any]]) -> tuple[_Tokens, _Tokens]:
    around: list[_Tokens] = [[]]
    for part in template:
        match part:
            case {"SpecialToken": {"id": str(name)}} if name in tokens:
                around[-1] += zip(tokens[name]["tokens"], tokens[name]["ids"], strict=True)
            case {"Sequence": {"id": "A"}}:
                around.append([])
            case _:
                raise _Strange("its post-processor is of an unknown kind")
    if len(around) != 2:
        raise _Strange("its post-processor repeats the text or leaves it out")
    return around[0], around[1]


def _around_text(begins: list[str], ends: list[str]) -> str:
    around = [f"{' '.join(tokens)} {where}" for tokens, where in ((begins, "before"), (ends, "after")) if tokens]
    return " and ".join(around)


def _tokens_in(value: object) -> Iterator[str]:
    """The texts of tokens in a post-processor or a padding."""
    match value:
        case {"type": "TemplateProcessing", "special_tokens": dict()}:
            for name, entry in cast("dict[str, dict[str, Any]]", value)["special_tokens"].items():
                texts: list[object] = [name, *_listed(entry["tokens"])]
                yield from (text for text in texts if isinstance(text, str))
        case {"type": "Sequence", "processors": list()}:
            for step in cast("dict[str, list[object]]", value)["processors"]:
                yield from _tokens_in(step)
        case {"cls": [str(first), int()], "sep": [str(last), int()]}:
            yield from (first, last)
        case {"pad_token": str(token)}:
            yield token
        case _:
            pass


def _changed(value: object, names: Mapping[str, str], new_ids: NDArray[np.int32] | None) -> Any:  # noqa: ANN401
    """A post-processor or a padding with other texts or ids of tokens; IndexError where a token is gone."""

    def number(old: object) -> object:
        if new_ids is None or not isinstance(old, int):
            return old
        new = int(new_ids[old]) if 0 <= old < len(new_ids) else -1
        if new < 0:
            raise IndexError(old)
        return new

    def pair(pair_value: list[object]) -> list[object]:
        return [names.get(cast("str", pair_value[0]), pair_value[0]), number(pair_value[1])]

    changed: Any = deepcopy(value)
    match changed:
        case {"type": "TemplateProcessing"}:
            for part in (*_listed(changed.get("single")), *_listed(changed.get("pair"))):
                match part:
                    case {"SpecialToken": {"id": str(text)}}:
                        part["SpecialToken"]["id"] = names.get(text, text)
                    case _:
                        pass
            tokens: dict[str, Any] = {}
            for name, entry in changed["special_tokens"].items():
                new = names.get(name, name)
                texts = [names.get(text, text) for text in _listed(entry["tokens"])]
                tokens[new] = {
                    **entry,
                    "id": new,
                    "ids": [number(old) for old in _listed(entry["ids"])],
                    "tokens": texts,
                }
            changed["special_tokens"] = tokens
        case {"type": "Sequence", "processors": list()}:
            changed["processors"] = [_changed(step, names, new_ids) for step in changed["processors"]]
        case {"cls": [str(), int()], "sep": [str(), int()]}:
            changed |= {"cls": pair(changed["cls"]), "sep": pair(changed["sep"])}
        case {"pad_token": str(token), "pad_id": int()}:
            changed |= {"pad_token": names.get(token, token), "pad_id": number(changed["pad_id"])}
        case _:
            pass
    return changed


def _listed(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
