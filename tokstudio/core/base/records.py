"""Frozen dataclasses whose methods are compiled when they are first used, and not when their module is imported.

There are four hundred, of which a program uses a few: to compile all took a third of the time of its imports.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        eq: bool = True,
        repr: bool = True,
        kw_only: bool = False,
    ) -> type | Callable[[type], type]:
        """Makes a class a dataclass as `dataclasses.dataclass` does, which makes those that are not frozen."""
        if not frozen or slots:
            return dataclasses.dataclass(cls, frozen=frozen, slots=slots, eq=eq, repr=repr, kw_only=kw_only)
        wanted = {"__init__": True, "__repr__": repr, "__eq__": eq, "__hash__": eq}
        make = partial(_make_frozen, [name for name, there in wanted.items() if there], kw_only)
        return make if cls is None else make(cls)


def _make_frozen(names: list[str], kw_only: bool, cls: type) -> type:
    own = vars(cls)
    # Python gives a class with `__eq__` no hash, but a frozen dataclass has one.
    names = [name for name in names if name not in own or (name == "__hash__" and own[name] is None)]
    inherits = hasattr(cls, "__dataclass_fields__")
    dataclasses.dataclass(frozen=inherits, init=False, repr=False, eq=False, kw_only=kw_only)(cls)
    if not inherits:
        for name, refuse in (("__setattr__", _refuse_to_set), ("__delattr__", _refuse_to_delete)):
            setattr(cls, name, refuse)
        # Else Python would refuse a frozen dataclass that inherits from this.
        vars(cls)["__dataclass_params__"].frozen = True
    for name in names:
        setattr(cls, name, _Late(cls, name))
    return cls


def _refuse_to_set(self: object, name: str, value: object) -> None:
    if _is_frozen(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: object, name: str) -> None:
    if _is_frozen(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(value: object, name: str) -> bool:
    """Whether an attribute may not change: any of a dataclass, and of an ordinary subclass the fields."""
    return "__dataclass_fields__" in type(value).__dict__ or name in getattr(value, "__dataclass_fields__", ())


class _Late:
    """Stands in for a method of a dataclass until it, and with it the others, are compiled."""

    def __init__(self, cls: type, name: str) -> None:
        self._cls, self._name = cls, name

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        method = vars(self._cls)[self._name]
        if method is self:
            _compile(self._cls)
            method = vars(self._cls)[self._name]
        return method if instance is None else method.__get__(instance, owner)


def _compile(cls: type) -> None:
    """Gives a class the methods of a dataclass that has the same fields."""
    fields: list[Any] = [(field.name, field.type, field) for field in dataclasses.fields(cls)]
    names = {"__module__": cls.__module__, **({"__post_init__": None} if hasattr(cls, "__post_init__") else {})}
    same = dataclasses.make_dataclass(cls.__name__, fields, frozen=True, namespace=names)
    for name, late in list(vars(cls).items()):
        if isinstance(late, _Late):
            method = vars(same)[name]
            method.__qualname__ = f"{cls.__qualname__}.{name}"
            setattr(cls, name, method)
