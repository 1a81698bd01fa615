"""Renders messages by a chat template as the transformers library does, in a process of its own with limits.

A template comes with a file, so it is a stranger's program: this process never runs it. `template_server` does, in
Jinja's sandbox, with a limit of memory; here it is ended when it takes too long.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from tokstudio.core.base.errors import ConfigError, FormatError
from tokstudio.core.base.progress import Work
from tokstudio.core.base.records import dataclass
from tokstudio.core.base.subprocesses import ChildProcess, ProcessEnded
from tokstudio.core.base.wording import shown

MEMORY = 512_000_000  # bytes, where the system has such limits
SECONDS = 2.0
_DEEPEST = 100
# The names under which a message may have what a model thought; templates read the first, some the second.
_THOUGHTS = ("reasoning_content", "thinking", "reasoning")


@dataclass(frozen=True)
class Render:
    """Asks for the text of a template with variables; `name` is the template's in messages, `now` the local time."""

    name: str
    template: str
    variables: Mapping[str, Any]
    now: str


@dataclass(frozen=True)
class Rendered:
    """The text."""

    text: str


class ChatRenderer:
    """A process that renders chat templates, started on first use; safe in several threads."""

    def __init__(self) -> None:
        self._process = ChildProcess("tokstudio.core.libraries.template_server", memory=MEMORY)

    def render_work(self, name: str, template: str, variables: Mapping[str, Any]) -> Work[str]:
        """The text of a template; its variables are what JSON can express, such as `variables_of` gives.

        Raises:
            FormatError: The template refuses the variables, is wrong, does what it may not, or takes too much.
        """
        request = Render(name, template, variables, datetime.now().isoformat())
        try:
            return (yield from self._process.ask(request, Rendered, "encoding", SECONDS)).text
        except TimeoutError as error:
            raise FormatError(f"{name} does not end: it was stopped after {SECONDS:g} seconds.") from error
        except ProcessEnded as error:
            raise FormatError(f"{name} ended the process that renders it; it may need too much memory.") from error
        except OSError as error:
            raise FormatError(f"{name}: no process can be started to render it: {error.strerror or error}.") from error

    def close(self) -> None:
        """Ends the process; the next request starts another."""
        self._process.close()


def variables_of(
    messages: object, tools: object, documents: object, add_generation_prompt: bool, others: Mapping[str, object]
) -> dict[str, Any]:
    """The variables of a template: all of them, as plain values, with the messages as transformers prepares them.

    Of a message, keys whose value is None are left out, and what a model thought has all its names.

    Raises:
        ConfigError: The messages are no list of mappings, or something cannot be expressed in JSON.
    """
    if not isinstance(messages, (list, tuple)):
        raise ConfigError(f'Messages must be a list of mappings with "role" and "content", not {_kind(messages)}.')
    if not messages:
        raise ConfigError("There are no messages: a chat template needs one at least.")
    plain_messages: list[dict[str, Any]] = []
    for number, message in enumerate(cast("Sequence[object]", messages), 1):
        if not _is_mapping(message):
            raise ConfigError(
                f'Message {number:,} must be a mapping with "role" and "content", such as '
                f'{{"role": "user", "content": "Hello"}}, not {_kind(message)}.'
            )
        entries = _plain(f"Message {number:,}", message).items()
        plain_messages.append(_with_thoughts({key: value for key, value in entries if value is not None}))
    return {
        **{key: _plain(f"The variable {shown(key)}", value) for key, value in others.items()},
        "messages": plain_messages,
        "tools": _listed("tools", tools),
        "documents": _listed("documents", documents),
        "add_generation_prompt": bool(add_generation_prompt),
    }


def _with_thoughts(message: dict[str, Any]) -> dict[str, Any]:
    thought = next((message[key] for key in _THOUGHTS if key in message), None)
    return message if thought is None else {"thinking": thought, **message, "reasoning_content": thought}


def _listed(what: str, value: object) -> list[Any] | None:
    if value is None:
        return None
    entries = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else None
    if entries is None or not all(map(_is_mapping, entries)):
        raise ConfigError(f"The {what} must be a list of mappings, as JSON has them.")
    return _plain(f"The {what}", entries)


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _plain(where: str, value: object, depth: int = 0) -> Any:  # noqa: ANN401
    """A value of plain types; raises ConfigError where JSON cannot express it."""
    match value:
        case None | bool():
            return value
        # Types that are made of these may have methods of their own.
        case str():
            return str.__str__(value)
        case int():
            return int.__int__(value)
        case float():
            return float.__float__(value)
        case _ if depth == _DEEPEST:
            raise ConfigError(f"{where}: a value is nested deeper than {_DEEPEST} times.")
        case Mapping():
            entries = cast("Mapping[object, object]", value)
            if not all(isinstance(key, str) for key in entries):
                raise ConfigError(f"{where}: the keys of a mapping must be texts.")
            return {str(key): _plain(where, entry, depth + 1) for key, entry in entries.items()}
        case list() | tuple():
            return [_plain(where, entry, depth + 1) for entry in cast("Sequence[object]", value)]
        case _:
            raise ConfigError(f"{where}: a chat template takes texts, numbers, lists and mappings, not {_kind(value)}.")


def _kind(value: object) -> str:
    name = type(value).__name__
    return {"dict": "a mapping", "str": "a text", "list": "a list", "NoneType": "None"}.get(name, name)
