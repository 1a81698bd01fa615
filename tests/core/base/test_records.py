"""Dataclasses with late methods behave as those of the standard library."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import threading
from collections.abc import Callable
from copy import deepcopy
from dataclasses import KW_ONLY, FrozenInstanceError, asdict, field, fields, replace

import pytest

import tokstudio
from tokstudio.core.base import records

KINDS: list[Callable] = [dataclasses.dataclass, records.dataclass]


def declared(dataclass):
    """Classes of each kind that the program has, made with a decorator."""

    @dataclass(frozen=True)
    class Plain:
        """A record."""

        number: int
        names: list[str] = field(default_factory=list)
        note: str = field(default="none", compare=False, repr=False)

        def __post_init__(self) -> None:
            if self.number < 0:
                raise ValueError("The number is negative.")

    @dataclass(frozen=True)
    class Heir(Plain):
        """A record with one more field."""

        size: int = 3

    @dataclass(frozen=True, kw_only=True)
    class Named:
        """A record whose fields are named."""

        number: int = 1
        other: str

    @dataclass(frozen=True, eq=False)
    class Single:
        """A record that equals only itself."""

        number: int

    @dataclass(frozen=True)
    class Own:
        """A record with methods of its own."""

        number: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

    @dataclass
    class Changing:
        """What may change."""

        number: int
        names: list[str] = field(default_factory=lambda: ["a"])
        _: KW_ONLY
        last: str = "z"
        size: int = field(default=0, init=False)
        makers: list[int] = field(default_factory=list)
        seen: set[int] = field(default_factory=set, init=False, compare=False)

    @dataclass
    class Hashed:
        """What may change, with a hash of its own, and no fields."""

        def __hash__(self) -> int:
            return 3

    class Ordinary(Single):
        """A subclass that is no dataclass."""

    return Plain, Heir, Named, Single, Own, Changing, Hashed, Ordinary


def said(act):
    """What an act gives, or the error that it raises."""
    try:
        return act()
    except (TypeError, ValueError, AttributeError) as error:
        return type(error), str(error)


def told(dataclass):
    """Everything that can be asked of the classes."""
    Plain, Heir, Named, Single, Own, Changing, Hashed, Ordinary = declared(dataclass)
    one, single = Plain(1, ["a"]), Single(1)
    yield [repr(made) for made in (one, Heir(1, size=4), Named(other="b"), single, Own(1), Changing(1))]
    yield one == Plain(1, ["a"], note="other"), one == Plain(2), one != Plain(1, ["a"]), one == Heir(1, ["a"])
    yield single == Single(1), single == single, Own(1) == Own(2), Named(other="b") == Named(other="b")
    yield hash(Named(other="b")) == hash(Named(other="b")), hash(Own(1)) == hash(Own(1)), hash(single) == hash(single)
    yield said(lambda: hash(one)), said(lambda: hash(Changing(1))), hash(Hashed()), Hashed() == Hashed()
    yield [str(inspect.signature(kind)) for kind in (Plain, Heir, Named, Single, Own, Changing, Hashed)]
    yield [kind.__match_args__ for kind in (Plain, Heir, Named, Single, Changing, Hashed)]
    yield [[each.name for each in fields(kind)] for kind in (Plain, Heir, Named, Single, Changing, Hashed)]
    changing = Changing(1)
    changing.names.append("b")
    changing.size = 4
    changing.seen.add(1)
    yield repr(changing), repr(Changing(1)), repr(Changing(2, [], last="y"))
    yield Changing(1) == Changing(1), changing == Changing(1)
    yield changing == deepcopy(changing), repr(replace(Changing(1), last="x")), asdict(changing)
    yield said(lambda: Changing(1, [], "y")), said(lambda: Changing(1, size=2)), said(lambda: replace(changing, size=1))
    yield repr(replace(one, number=5)), asdict(Heir(1, ["c"])), repr(deepcopy(one)), one.names is deepcopy(one).names
    yield [kind.__init__.__qualname__.rpartition(".")[2] for kind in (Plain, Heir)]
    yield [kind.__dataclass_params__.frozen for kind in (Plain, Heir, Named, Single, Changing)]
    for wrong in (lambda: Plain(), lambda: Plain(-1), lambda: Named(1), lambda: Plain(1, other=2), lambda: Own()):
        yield said(wrong)
    for frozen in (one, Heir(1), single):
        yield said(lambda frozen=frozen: setattr(frozen, "number", 2))
        yield said(lambda frozen=frozen: delattr(frozen, "number"))
    yield said(lambda: setattr(one, "unknown", 2)), said(lambda: setattr(Changing(1), "number", 2))
    ordinary = Ordinary(1)
    yield said(lambda: setattr(ordinary, "number", 2)), said(lambda: setattr(ordinary, "more", 2)), vars(ordinary)
    match one:
        case Plain(number, names):
            yield number, names


def test_they_behave_as_those_of_the_standard_library():
    usual, late = (list(told(kind)) for kind in KINDS)
    assert late == usual
    assert len(usual) > 20


def late(kind):
    """The attributes of a class that are not made yet."""
    return {name for name, value in vars(kind).items() if isinstance(value, records._Late)}


def test_fields_and_methods_are_made_when_they_are_first_used():
    of_fields = {"__dataclass_fields__", "__dataclass_params__", "__match_args__"}
    Plain, Heir, _, Single, *_ = declared(records.dataclass)
    assert late(Plain) == late(Heir) == {"__init__", "__repr__", "__eq__", "__hash__", *of_fields}
    made = Plain(1)
    assert late(Plain) == {"__repr__", "__eq__", "__hash__"}
    assert made == Plain(1)
    assert late(Plain) == {"__repr__"}
    assert repr(made).endswith("Plain(number=1, names=[])")
    assert late(Plain) == set()
    assert late(Heir) == {"__init__", "__repr__", "__eq__", "__hash__", *of_fields}
    assert late(Single) == {"__init__", "__repr__", *of_fields}
    assert [each.name for each in fields(Single)] == ["number"]
    assert late(Single) == {"__init__", "__repr__"}


def test_all_records_of_the_program_are_dataclasses():
    # A field without a type, or after one with a default, would else be an error of the first use.
    kinds: set[type] = set()
    for module in pkgutil.walk_packages(tokstudio.__path__, "tokstudio."):
        if not module.name.endswith("__main__"):
            named = vars(importlib.import_module(module.name)).values()
            kinds |= {kind for kind in named if isinstance(kind, type) and "__dataclass_fields__" in vars(kind)}
    assert len(kinds) > 300
    for kind in kinds:
        assert set(inspect.signature(kind).parameters) == {each.name for each in fields(kind) if each.init}, kind
        assert not late(kind) & {"__init__", "__dataclass_fields__"}


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("second", KINDS)
def test_classes_of_both_kinds_inherit_from_each_other(first, second):
    @first(frozen=True)
    class Base:
        """A base."""

        number: int

    @second(frozen=True)
    class Heir(Base):
        """An heir."""

        name: str = "x"

    assert Heir(1) == Heir(1, "x") != Heir(2)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'number'"):
        Heir(1).number = 3
    with pytest.raises(TypeError, match="non-frozen"):
        second(type("Changing", (Base,), {}))


@records.dataclass(frozen=True)
class Kept:
    """A record that a file can keep."""

    number: int


def test_a_record_is_pickled_and_made_in_many_threads_at_once():
    made: list[Kept] = []
    gate = threading.Barrier(8)

    def make() -> None:
        gate.wait()
        made.append(Kept(1))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [Kept(1)] * 8
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_frozen_record_without_a_docstring_can_be_made_after_its_fields_were_asked_for():
    @records.dataclass(frozen=True)
    class Bare:
        number: int

    assert [one.name for one in fields(Bare)] == ["number"]
    assert (Bare(3).number, Bare.__doc__) == (3, None)
    with pytest.raises(FrozenInstanceError):
        Bare(3).number = 4
