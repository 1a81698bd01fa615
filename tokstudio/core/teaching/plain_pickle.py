"""Reads pickles of plain lists, tuples, dictionaries, strings, bytes and numbers without loading them.

A pickle is a program. `pickletools` lists its instructions; those that make plain values are followed here, and a
pickle with any other is refused, with what it would have done.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import pickletools
import re
from typing import Any, cast

from tokstudio.core.base.errors import FormatError
from tokstudio.core.base.wording import shown

_MOST = 10_000_000  # instructions
_MARK = object()
_VALUES = {
    "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BININT",
    "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4",
}  # fmt: skip
_CONSTANTS: dict[str, object] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_NOTHING = {"PROTO", "FRAME"}
_TO_BYTES = "_codecs encode"  # by which protocol 2 writes bytes; it is followed, not called
_CALLS = {"GLOBAL", "STACK_GLOBAL", "INST", "OBJ", "REDUCE", "NEWOBJ", "NEWOBJ_EX", "BUILD", "EXT1", "EXT2", "EXT4"}


_OLD = re.compile(  # how protocols 0 and 1 begin
    rb"\(*(?:[ld]p[0-9]+\n|[VSIL][^\n]*\n(?:p[0-9]+\n)?[VSILt(]|c[A-Za-z_.]+\n[A-Za-z_.]+\n|[\]}]q[\x00-\xff])"
)


def is_pickle(data: bytes) -> bool:
    """Whether a file is a pickle."""
    is_new = data[:1] == b"\x80" and len(data) > 2 and data[1] <= 5
    return data[-1:] == b"." and (is_new or _OLD.match(data) is not None)


def read_pickle(data: bytes) -> object:
    """The value of a pickle that holds plain values only.

    Raises:
        FormatError: It is damaged, or does anything else than to hold values.
    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for number, (opcode, argument, _) in enumerate(pickletools.genops(data)):
            if number > _MOST:
                raise FormatError("this pickle is too long.")
            if opcode.name == "GLOBAL" and argument == _TO_BYTES:
                stack.append(_TO_BYTES)
                continue
            if opcode.name == "REDUCE" and stack[-2] == _TO_BYTES:
                text, _ = stack.pop()
                stack[-1] = text.encode("latin-1")
                continue
            if opcode.name in _CALLS:
                raise FormatError(_what_it_does(opcode.name, argument, stack))
            if opcode.name == "STOP":
                return stack.pop()
            _follow(opcode.name, argument, stack, memo)
    except FormatError:
        raise
    except Exception as error:  # the stack of a damaged pickle may have anything
        raise FormatError("this pickle is damaged.") from error
    raise FormatError("this pickle is damaged.")


def _what_it_does(name: str, argument: object, stack: list[Any]) -> str:
    called = str(argument).replace(" ", ".") if argument else ".".join(map(str, stack[-2:]))
    what = f"would use {shown(called)}" if name in ("GLOBAL", "STACK_GLOBAL", "INST") else "would call a function"
    return f"this pickle {what} when it is loaded, so it is not read: write the merges as JSON or text."


def _follow(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:  # noqa: ANN401  of any kind
    if name in _VALUES:
        stack.append(argument)
    elif name in _CONSTANTS:
        stack.append(_CONSTANTS[name])
    elif name in ("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE"):
        stack.append({"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}[name]())
    elif name == "MARK":
        stack.append(_MARK)
    elif name in ("MEMOIZE", "BINPUT", "LONG_BINPUT", "PUT"):
        memo[len(memo) if name == "MEMOIZE" else int(argument)] = stack[-1]
    elif name in ("BINGET", "LONG_BINGET", "GET"):
        stack.append(memo[int(argument)])
    elif name == "APPEND":
        value = stack.pop()
        stack[-1].append(value)
    elif name == "SETITEM":
        value, key = stack.pop(), stack.pop()
        stack[-1][_flat(key)] = value
    elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
        size = int(name[-1])
        stack[-size:] = [tuple(stack[-size:])]
    elif name in ("APPENDS", "SETITEMS", "TUPLE", "LIST", "DICT"):
        _gather(name, stack)
    elif name not in _NOTHING:
        raise FormatError(f"this pickle has the instruction {name}, which no list of merges needs: it is not read.")


def _gather(name: str, stack: list[Any]) -> None:
    """Takes the values after the last mark."""
    at = next(number for number in range(len(stack) - 1, -1, -1) if stack[number] is _MARK)
    values = stack[at + 1 :]
    del stack[at:]
    if name == "APPENDS":
        stack[-1].extend(values)
    elif name == "SETITEMS":
        stack[-1].update(zip(map(_flat, values[::2]), values[1::2], strict=True))
    else:
        pairs = zip(map(_flat, values[::2]), values[1::2], strict=True) if name == "DICT" else ()
        stack.append({"TUPLE": tuple, "LIST": list}[name](values) if name != "DICT" else dict(pairs))


def _flat(key: object) -> object:
    """A key of a dictionary. Python ends when it hashes a tuple of very many levels, so there is at most one."""
    if isinstance(key, tuple) and any(isinstance(part, tuple) for part in cast("tuple[object, ...]", key)):
        raise FormatError("a dictionary in this pickle has keys of several levels: write the merges as JSON or text.")
    return cast("object", key)
