"""Renders chat templates with Jinja for its parent, which `chat_templates` is; runs as a program.

What a template may use is what transformers 5 gives it: Jinja's sandbox in which nothing can be changed, without white
space around blocks, with `break` and `continue`, `generation` blocks, `raise_exception`, `strftime_now`, and a `tojson`
that escapes nothing for HTML.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn

from jinja2 import nodes
from jinja2.exceptions import SecurityError, TemplateError, TemplateSyntaxError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from tokstudio.core.base.progress import Progress
from tokstudio.core.base.subprocesses import ParentProcess, Refused, ended_with_parent
from tokstudio.core.base.wording import count_text
from tokstudio.core.libraries.chat_templates import MEMORY, Render, Rendered

_MOST = 4_000_000  # characters
_LONGEST = 300  # characters of what a template says
_KEPT = 16  # templates
_FILE = "<template>"  # as Jinja calls one that is no file


class _Refusal(TemplateError):
    """What a template says with `raise_exception`."""


class _Generation(Extension):
    """`{% generation %}` to `{% endgeneration %}`: what the assistant says; its variables end with it."""

    tags = {"generation"}  # noqa: RUF012  read by Jinja, which declares it so

    def parse(self, parser: Parser) -> nodes.Node:
        """Makes a call of what stands in the block."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_said"), [], [], body).set_lineno(line)

    def _said(self, caller: Callable[[], str]) -> str:
        return caller()


class _Dict:
    """`dict` without the attributes of a class."""

    def __call__(self, *args: Any, **entries: Any) -> dict[Any, Any]:  # noqa: ANN401
        return dict(*args, **entries)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:  # noqa: ANN401
        """As that of `dict`."""
        return dict.fromkeys(*args)


class _Namespace(Namespace):
    """Jinja's own, without names that begin with an underscore."""

    def __init__(*args: Any, **entries: Any) -> None:  # noqa: ANN401  a template may name an entry `self`
        own, *rest = args
        values = dict(*rest, **entries)
        for name in values:
            _check_name(name)
        Namespace.__init__(own, values)

    def __setitem__(self, name: str, value: Any) -> None:  # noqa: ANN401
        _check_name(name)
        super().__setitem__(name, value)


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"the name {name!r} in a namespace begins with an underscore")


def _raise(message: object) -> NoReturn:
    raise _Refusal(str(message))


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: Any = None,  # noqa: ANN401
    separators: Any = None,  # noqa: ANN401
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@lru_cache(_KEPT)
def _compiled(template: str) -> Any:  # noqa: ANN401  a template of Jinja
    environment: Any = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals.update(raise_exception=_raise, dict=_Dict(), namespace=_Namespace)
    return environment.from_string(template)


def render(request: Render) -> Rendered | Refused:
    """The text of a template, or why there is none in a sentence."""
    name, now = request.name, datetime.fromisoformat(request.now)
    try:
        template = _compiled(request.template)
        template.globals["strftime_now"] = now.strftime
        return Rendered(_joined(template.generate(**request.variables)))
    except _Refusal as error:
        return Refused(f"{name} refuses these messages: {_said(error)}.")
    except TemplateSyntaxError as error:
        return Refused(f"{name} has a fault in line {error.lineno:,}: {_said(error)}.")
    except SecurityError as error:
        return Refused(f"{name} does what no template may{_place(error)}: {_said(error)}.")
    except _TooLong:
        return Refused(f"{name} writes more than {_MOST:,} characters: it was stopped.")
    except MemoryError:
        return Refused(f"{name} needs more than {count_text(MEMORY, 1_000_000)} MB of memory: it was stopped.")
    except RecursionError:
        return Refused(f"{name} calls itself without end: it was stopped.")
    except Exception as error:  # whatever Jinja or a method of a value raises
        return Refused(f"{name} cannot be rendered with these messages{_place(error)}: {_said(error)}.")


class _TooLong(Exception):
    """A template writes too much."""


def _joined(parts: Iterable[str]) -> str:
    texts, size = list[str](), 0
    for part in parts:
        size += len(part)
        if size > _MOST:
            raise _TooLong
        texts.append(part)
    return "".join(texts)


def _said(error: Exception) -> str:
    """The words of an error, as the end of a sentence."""
    text = " ".join(str(error).split()) or type(error).__name__
    return (text if len(text) <= _LONGEST else text[:_LONGEST] + "…").rstrip(".")


def _place(error: Exception) -> str:
    """The line of the template in which an error was raised, in brackets; "" where it is not known."""
    line, place = 0, error.__traceback__
    while place is not None:
        if place.tb_frame.f_code.co_filename == _FILE:
            line = place.tb_lineno
        place = place.tb_next
    return f" (line {line:,})" if line else ""


def main() -> int:
    """Renders until there are no more requests."""
    parent = ParentProcess(Render)
    while (request := parent.receive()) is not None:
        # From here on the parent counts the time.
        parent.send(Progress("encoding"))
        with ended_with_parent():
            answer = render(request)
        parent.send(answer)
    return 0
