"""States as values: what equal states have in common (`Keys`), and times that say nothing of how long a story took.

The explorer compares whole nodes, field by field, so that no field is forgotten. What a class keeps only to be faster
is left out where the class says so: `NodeRules.caches`.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MappingProxyType

ATOMS = (int, str, bytes, bool, type(None), float, FunctionType, BuiltinFunctionType, type, Enum)
"""Values that stand for themselves."""

Caches = Mapping[str, frozenset[str]]
"""Name of a class to those of its fields that change nothing but speed."""


class Keys:
    """Objects to hashable values that are equal exactly where the objects are: the same classes with the same fields,
    mappings and lists in the same order. Frozen dataclasses (settings) are looked at once."""

    def __init__(self, caches: Caches) -> None:
        self._caches = caches
        self._names: dict[type, tuple[str, ...]] = {}
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
        names = self._names.get(kind)
        if names is None:
            names = self._names[kind] = tuple(
                name for name in field_names(kind) if name not in self._caches.get(kind.__name__, ())
            )
        return (kind.__name__, *[self.key(getattr(value, name)) for name in names])

    def _once(self, value: object) -> Hashable:
        known = self._frozen.get(id(value))
        if known is None:
            if isinstance(value, MappingProxyType):
                made: Hashable = self.key(dict(value))
            else:
                kind = type(value)
                made = (kind.__name__, *[self.key(getattr(value, name)) for name in field_names(kind)])
            known = self._frozen[id(value)] = value, made  # held, so that no other object has its id
        return known[1]


_PLAIN = frozenset((int, str, bool, float, bytes, type(None)))


def field_names(kind: type) -> tuple[str, ...]:
    """The fields of a class of plain state; `TypeError` for one whose objects can have any."""
    known = _FIELDS.get(kind)
    if known is None:
        if is_dataclass(kind):
            known = tuple(each.name for each in fields(kind))
        elif any("__dict__" in base.__dict__ for base in kind.__mro__):
            raise TypeError(f"{kind.__name__} is no plain state: expected __slots__")
        else:
            found: dict[str, None] = {}
            for base in reversed(kind.__mro__):
                slots = base.__dict__.get("__slots__", ())
                found.update(dict.fromkeys((slots,) if isinstance(slots, str) else slots))
            known = tuple(found)
        _FIELDS[kind] = known
    return known


_FIELDS: dict[type, tuple[str, ...]] = {}


def _is_frozen(kind: type) -> bool:
    return is_dataclass(kind) and bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]


def floats_of(value: object, found: set[float], skipped: Caches) -> None:
    """Collect all floats inside of a state."""
    _mapped(value, lambda each: found.add(each) or each, skipped)  # type: ignore[func-returns-value]


def map_times(value: object, change: Callable[[float], float], skipped: Caches) -> None:
    """Replace each float inside of a node's own objects, in place; what is frozen stays."""
    _mapped(value, change, skipped)


def _mapped(value: object, change: Callable[[float], float], skipped: Caches) -> object:
    kind = type(value)
    if type(value) is float:
        return change(value)
    if kind in _PLAIN or isinstance(value, ATOMS):
        return value
    if isinstance(value, tuple):
        inner = [_mapped(each, change, skipped) for each in value]
        if all(one is other for one, other in zip(inner, value, strict=True)):
            return value
        return tuple(inner) if kind is tuple else tuple.__new__(type(value), inner)
    if isinstance(value, list):
        value[:] = [_mapped(each, change, skipped) for each in value]
    elif isinstance(value, dict):
        for name, each in value.items():
            value[name] = _mapped(each, change, skipped)
    elif isinstance(value, set | frozenset | MappingProxyType) or _is_frozen(kind):
        pass
    else:
        left_out = skipped.get(kind.__name__, ())
        for name in field_names(kind):
            if name not in left_out:
                before = getattr(value, name)
                after = _mapped(before, change, skipped)
                if after is not before:
                    setattr(value, name, after)
    return value
