"""States as values: what equal states have in common (`Keys`), and times that say nothing of how long a story took.

The explorer compares whole nodes, field by field, so that no field is forgotten; but for those that a class declares as
`protocols.node_state.Apart`.
"""

from collections.abc import Callable, Hashable
from dataclasses import is_dataclass
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MappingProxyType

from protocols.node_state import NodeState, fields_of

ATOMS = (int, str, bytes, bool, type(None), float, FunctionType, BuiltinFunctionType, type, Enum)
"""Values that stand for themselves."""


class Keys:
    """Objects to hashable values that are equal exactly where the objects are: the same classes with the same fields,
    mappings and lists in the same order. Frozen dataclasses (settings) are looked at once."""

    def __init__(self) -> None:
        self._frozen: dict[int, tuple[object, Hashable]] = {}

    def key(self, value: object) -> Hashable:
        """The value that stands for this object. Raises `TypeError` for one that is not plain state."""
        kind = type(value)
        if kind in _PLAIN or isinstance(value, ATOMS):
            return value
        if isinstance(value, tuple):
            inner = tuple([self.key(each) for each in value])
            return inner if kind is tuple else (kind.__name__, inner)
        if isinstance(value, list):
            return ("list", *[self.key(each) for each in value])
        if isinstance(value, dict):
            return ("dict", *[(self.key(name), self.key(each)) for name, each in value.items()])
        if isinstance(value, set | frozenset):
            return ("set", frozenset(map(self.key, value)))
        if isinstance(value, MappingProxyType) or _is_frozen(kind):
            return self._once(value)
        return (kind.__name__, *[self.key(getattr(value, name)) for name in _telling(kind)])

    def _once(self, value: object) -> Hashable:
        known = self._frozen.get(id(value))
        if known is None:
            if isinstance(value, MappingProxyType):
                made: Hashable = self.key(dict(value))
            else:
                kind = type(value)
                made = (kind.__name__, *[self.key(getattr(value, name)) for name in fields_of(kind)])
            known = self._frozen[id(value)] = value, made  # held, so that no other object has its id
        return known[1]


_PLAIN = frozenset((int, str, bool, float, bytes, type(None)))


def _telling(kind: type) -> tuple[str, ...]:
    """The fields that tell states apart."""
    known = _TELLING.get(kind)
    if known is None:
        apart = kind.apart if issubclass(kind, NodeState) else ()
        known = _TELLING[kind] = tuple([name for name in fields_of(kind) if name not in apart])
    return known


_TELLING: dict[type, tuple[str, ...]] = {}


def _is_frozen(kind: type) -> bool:
    return is_dataclass(kind) and bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]


def floats_of(value: object, found: set[float]) -> None:
    """Collect all floats inside of a state."""
    map_times(value, lambda each: found.add(each) or each)  # type: ignore[func-returns-value]


def map_times(value: object, change: Callable[[float], float]) -> object:
    """Replace each float inside of a node's own objects, in place; what is frozen stays. Returns the value, changed."""
    kind = type(value)
    if kind is float and isinstance(value, float):
        return change(value)
    if kind in _PLAIN or isinstance(value, ATOMS):
        return value
    if isinstance(value, tuple):
        inner = [map_times(each, change) for each in value]
        if all(one is other for one, other in zip(inner, value, strict=True)):
            return value
        return tuple(inner) if kind is tuple else tuple.__new__(type(value), inner)
    if isinstance(value, list):
        value[:] = [map_times(each, change) for each in value]
    elif isinstance(value, dict):
        for name, each in value.items():
            value[name] = map_times(each, change)
    elif isinstance(value, set | frozenset | MappingProxyType) or _is_frozen(kind):
        pass
    else:
        for name in _telling(kind):
            before = getattr(value, name)
            after = map_times(before, change)
            if after is not before:
                setattr(value, name, after)
    return value
