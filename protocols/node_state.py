"""The state of nodes: objects with declared fields, copied and compared as these say.

The explorer copies a node before each of its steps, and tells states apart by all their fields. A copy that forgot a
field, or shared one that changes, would let it find what is not there, without a word. So nobody writes copies: a class
that derives from `NodeState` declares each field with its type, and its ``copy`` is written from these when it is
defined, line by line, as the ``__init__`` of a dataclass is. A field that is not declared cannot be set, and a type of
which nobody knows how it is copied raises at once.

- Values (numbers, texts, tuples, frozen dataclasses, functions) are the same objects in the copy; so is what is
  declared as read only (`Mapping`, `Sequence`), because nobody changes it.
- A dict, list or set is a new one, and its elements are copied where they can change.
- Other state is asked for its ``copy``.
- `Shared`, `Apart` and `Emptied` say what a type cannot say.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import get_annotations
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, TypeVar, Union, get_args, get_origin

T = TypeVar("T")

_SHARED, _APART, _EMPTY = "shared", "apart", "empty"

Shared: TypeAlias = Annotated[T, _SHARED]
"""The same object in the copy: nobody changes it, though its type would let them."""

Apart: TypeAlias = Annotated[T, _APART]
"""Tells no states apart: it follows from other fields, or nothing that the node does depends on it."""

Emptied: TypeAlias = Annotated[T, _EMPTY]
"""What is made again whenever it is needed: the copy has an empty one, None or 0."""

_VALUES = (int, float, str, bytes, tuple, frozenset, Enum, type, NoneType)
_READ_ONLY = (Mapping, Sequence, AbstractSet, Callable, Literal)


class NodeState:
    """Fields alone: the class has ``__slots__``, or is a dataclass with them."""

    __slots__ = ()

    apart: ClassVar[frozenset[str]] = frozenset()
    """The fields that tell no states apart."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if vars(cls).get("copy", NodeState.copy) is NodeState.copy:
            # A dataclass with slots is made twice, and only the second class has them.
            cls.copy = _derived(cls) if "__slots__" in vars(cls) else NodeState.copy  # type: ignore[method-assign]

    def copy(self) -> Self:
        raise TypeError(f"{type(self).__name__} is no plain state: expected __slots__")


def fields_of(kind: type) -> tuple[str, ...]:
    """The fields of a class of plain state; `TypeError` for one whose objects can have any."""
    if not any("__dict__" in vars(base) for base in kind.__mro__):
        slots = [vars(base).get("__slots__", ()) for base in reversed(kind.__mro__)]
        return tuple([name for names in slots for name in ((names,) if isinstance(names, str) else names)])
    if is_dataclass(kind):
        return tuple([field.name for field in fields(kind)])
    raise TypeError(f"{kind.__name__} is no plain state: expected __slots__")


def _derived(cls: type[NodeState]) -> Any:
    """Its ``copy``; what is `Apart` is noted on the way."""
    types = {name: kind for base in reversed(cls.__mro__) for name, kind in get_annotations(base).items()}
    apart: list[str] = []
    lines = ["def copy(self):", "made = new(type(self))"]
    for name in fields_of(cls):
        if name not in types:
            raise TypeError(f"{cls.__name__}.{name} has no declared type")
        if _APART in _marks(types[name]):
            apart.append(name)
        try:
            copied = _copied(types[name], f"self.{name}")
        except TypeError as unknown:
            raise TypeError(f"{cls.__name__}.{name}: {unknown}") from None
        lines.append(f"made.{name} = {copied}")
    names: dict[str, Any] = {"new": object.__new__}
    exec("\n    ".join([*lines, "return made"]), names)
    cls.apart = frozenset(apart)
    return names["copy"]


def _marks(kind: Any) -> tuple[Any, ...]:
    return get_args(kind)[1:] if get_origin(kind) is Annotated else ()


def _copied(declared: Any, value: str) -> str:
    """An expression for the copy of what ``value`` is one for: the same where the object is."""
    marks = _marks(declared)
    kind = get_args(declared)[0] if marks else declared
    base, inner = get_origin(kind) or kind, get_args(kind)
    if _EMPTY in marks:
        return "None" if NoneType in inner else f"{base.__name__}()"
    if _SHARED in marks or kind is None or base in _READ_ONLY or _is_value(base, inner):
        return value
    if base in (Union, UnionType):
        ways = {_copied(each, value) for each in inner if each is not NoneType}
        if len(ways) == 1:
            way = ways.pop()
            return f"None if {value} is None else {way}" if NoneType in inner and way != value else way
    elif base in (dict, list, set) and inner:
        element = _copied(inner[-1], "value")
        if element == "value":
            return f"{value}.copy()"
        if base is dict:
            return f"{{name: {element} for name, value in {value}.items()}}"
        if base is list:
            return f"[{element} for value in {value}]"
    elif _is_state(base):
        return f"{value}.copy()"
    raise TypeError(f"nobody knows how {kind} is copied")


def _is_value(base: Any, inner: tuple[Any, ...]) -> bool:
    if not isinstance(base, type):
        return False
    if is_dataclass(base):
        return bool(base.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    parts = [get_origin(each) or each for each in inner]
    return issubclass(base, _VALUES) and not any(part in (dict, list, set) or _is_state(part) for part in parts)


def _is_state(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, NodeState)
