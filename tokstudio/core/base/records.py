"""Dataclasses that find their fields and compile their methods when first used, not when they are imported.

There are four hundred, of which a program uses a few: to do it for all took a third of the time of its imports.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        eq: bool = True,
        repr: bool = True,
        kw_only: bool = False,
    ) -> type | Callable[[type], type]:
        """Makes a class a dataclass as `dataclasses.dataclass` does."""
        wanted = {"__init__": True, "__repr__": repr, "__eq__": eq, "__hash__": eq and frozen}
        make = partial(_make_late, [name for name, there in wanted.items() if there], frozen, kw_only)
        return make if cls is None else make(cls)


# Compiled together, as they are used together; of most classes a program needs only the first.
_GROUPS = (("__init__",), ("__repr__",), ("__eq__", "__hash__"))
_OF_FIELDS = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")
# One thread at a time: a second search, beside the first, would not find the defaults of all fields.
_lock = threading.RLock()


def _make_late(names: list[str], frozen: bool, kw_only: bool, cls: type) -> type:
    own = vars(cls)
    inherits = any("__dataclass_fields__" in vars(base) for base in cls.__mro__[1:])
    if inherits and not frozen:
        # It checks the other classes; there are few of these.
        make = dataclasses.dataclass(eq="__eq__" in names, repr="__repr__" in names, kw_only=kw_only)
        make(cls)
        return cls
    # Python gives a class with `__eq__` no hash, but a frozen dataclass has one.
    names = [name for name in names if name not in own or (name == "__hash__" and own[name] is None)]
    if not frozen and "__eq__" in names:
        cls.__hash__ = own.get("__hash__")  # pyright: ignore[reportAttributeAccessIssue]
    if frozen and not inherits:
        for name, refuse in (("__setattr__", _refuse_to_set), ("__delattr__", _refuse_to_delete)):
            setattr(cls, name, refuse)
    find = partial(_find_fields, cls, frozen, inherits, kw_only)
    for name in _OF_FIELDS:
        if name == "__match_args__" and name in own:
            continue
        setattr(cls, name, _Late(cls, name, find))
    for group in _GROUPS:
        compiled = [name for name in group if name in names]
        for name in compiled:
            setattr(cls, name, _Late(cls, name, partial(_compile, cls, compiled)))
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
    """Stands in for an attribute of a dataclass until it, and with it others, are made."""

    def __init__(self, cls: type, name: str, make: Callable[[], None]) -> None:
        self._cls, self._name, self._make = cls, name, make

    def __get__(self, instance: object, owner: type | None = None) -> object:
        with _lock:
            if vars(self._cls)[self._name] is self:
                self._make()
        value = vars(self._cls)[self._name]
        return value if instance is None or not callable(value) else value.__get__(instance, owner)


def _find_fields(cls: type, frozen: bool, inherits: bool, kw_only: bool) -> None:
    """Gives a class what the standard library asks a dataclass for, without methods."""
    # An heir of a frozen class has to be made frozen, which compiles two methods.
    make = dataclasses.dataclass(frozen=inherits, init=False, repr=False, eq=False, match_args=False, kw_only=kw_only)
    # Without a docstring, the standard library would ask for the signature, and so for methods that are not there yet.
    docstring = cls.__doc__
    cls.__doc__ = docstring or "-"
    make(cls)
    cls.__doc__ = docstring
    # Else Python would refuse a frozen dataclass that inherits from this.
    vars(cls)["__dataclass_params__"].frozen = frozen
    if isinstance(vars(cls).get("__match_args__"), _Late):
        names = tuple(field.name for field in dataclasses.fields(cls) if field.init and not field.kw_only)
        cls.__match_args__ = names


def _compile(cls: type, names: list[str]) -> None:
    """Gives a class these methods of a dataclass that has the same fields."""
    fields = dataclasses.fields(cls)
    if names == ["__init__"]:
        methods = {"__init__": _make_init(cls, fields)}
    else:
        same = dataclasses.make_dataclass(
            cls.__name__,
            [(field.name, field.type, field) for field in fields],
            # Without a docstring, the standard library would make one of the signature.
            namespace={"__module__": cls.__module__, "__doc__": "-"},
            init=False,
            repr="__repr__" in names,
            eq="__eq__" in names,
            unsafe_hash="__hash__" in names,
        )
        methods = vars(same)
    for name in names:
        method = methods[name]
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)


def _make_init(cls: type, fields: Sequence[dataclasses.Field[Any]]) -> Callable[..., None]:
    """Compiles `__init__`; the standard library would compile three methods, and make a class, to get it."""
    asked = [field for field in fields if field.init]
    by_place = [field for field in asked if not field.kw_only]
    by_name = [field for field in asked if field.kw_only]
    arguments = ["self", *map(_argument, by_place), *(["*"] if by_name else []), *map(_argument, by_name)]
    set_field = "_set(self, {0!r}, {1})" if vars(cls)["__dataclass_params__"].frozen else "self.{0} = {1}"
    lines = [set_field.format(field.name, _value(field)) for field in fields if field.init or _is_made(field)]
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    lines = lines or ["pass"]
    source = f"def make(_set, _defaults, _makers, _TO_MAKE):\n def __init__({', '.join(arguments)}):\n  "
    functions: dict[str, Any] = {}
    exec(source + "\n  ".join(lines) + "\n return __init__", functions)
    defaults = {field.name: field.default for field in fields}
    makers = {field.name: field.default_factory for field in fields if _is_made(field)}
    init = functions["make"](object.__setattr__, defaults, makers, _TO_MAKE)
    init.__annotations__ = {field.name: field.type for field in asked} | {"return": None}
    return init


class _ToMake:
    """The argument of a field whose value is made for each record, shown as the standard library shows it."""

    def __repr__(self) -> str:
        return "<factory>"


_TO_MAKE = _ToMake()


def _is_made(field: dataclasses.Field[Any]) -> bool:
    """Whether a field without an argument gets a new value."""
    return field.default_factory is not dataclasses.MISSING


def _argument(field: dataclasses.Field[Any]) -> str:
    if _is_made(field):
        return f"{field.name}=_TO_MAKE"
    return field.name if field.default is dataclasses.MISSING else f"{field.name}=_defaults[{field.name!r}]"


def _value(field: dataclasses.Field[Any]) -> str:
    if not _is_made(field):
        return field.name
    new = f"_makers[{field.name!r}]()"
    return f"{new} if {field.name} is _TO_MAKE else {field.name}" if field.init else new


# --- Dataclasses as JSON ----------------------------------------------------------------------------------------------

T = TypeVar("T")


def without_defaults(value: Any) -> dict[str, Any]:  # noqa: ANN401 -- any dataclass
    """The values of a dataclass that are not those of its fields by default; JSON can hold them if it can hold all."""
    default = {one.name: one.default for one in dataclasses.fields(value)}
    return {name: each for name, each in dataclasses.asdict(value).items() if each != default[name]}


def from_values(kind: type[T], values: object) -> T:
    """A dataclass from its values in JSON; ValueError where one is missing, not known, or of another type.

    Its fields have plain types, None beside them, tuples of them, and dataclasses; mappings are not looked into.
    """
    return _of_type(kind, values, kind.__name__)


# By class, as one may be read a million times.
_hints = cache(get_type_hints)


def _of_type(kind: Any, value: object, name: str) -> Any:  # noqa: ANN401
    if kind in (str, int, bool) and type(value) is kind:  # as most are
        return value
    if get_origin(kind) is UnionType:
        return None if value is None else _of_type(get_args(kind)[0], value, name)
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_of_type(get_args(kind)[0], one, name) for one in cast("list[object]", value))
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        hints, row = _hints(kind), cast("dict[str, object]", value)
        unknown = next((key for key in row if key not in hints), None)
        if unknown is not None:
            raise ValueError(f"{unknown} is not known")
        try:
            return cast("type", kind)(**{key: _of_type(hints[key], one, key) for key, one in row.items()})
        except TypeError as error:
            raise ValueError(f"a value is missing: {error}") from error
    if (kind is float and type(value) in (int, float)) or get_origin(kind) is Mapping:
        return value
    raise ValueError(f"{name} is not known")
