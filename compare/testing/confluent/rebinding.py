"""Classes that a program has derived from confluent-kafka's, built on our doubles of those instead."""

from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any, Final, cast

_NOT_COPIED: Final = frozenset(("__dict__", "__weakref__", "__orig_bases__", "__parameters__"))


def rebound(real: type, base: type) -> type:
    """The class with the same body on another base."""
    namespace = {name: value for name, value in vars(real).items() if name not in _NOT_COPIED}
    made: type = type(real.__name__, (base,), {"__module__": real.__module__, "__doc__": real.__doc__})
    for name, value in namespace.items():
        if name not in ("__module__", "__doc__"):
            setattr(made, name, _bound(value, real, made))
    return made


def _bound(value: object, real: type, made: type) -> object:
    """A function that means the new class wherever it names the old one."""
    if isinstance(value, staticmethod):
        return staticmethod(_bound(value.__func__, real, made))  # type: ignore[arg-type]
    if isinstance(value, classmethod):
        return classmethod(_bound(value.__func__, real, made))  # type: ignore[arg-type]
    if isinstance(value, property):
        fget, fset, fdel = [cast(Any, _bound(each, real, made)) for each in (value.fget, value.fset, value.fdel)]
        return property(fget, fset, fdel, value.__doc__)
    if not isinstance(value, FunctionType) or value.__module__ != real.__module__:
        return value
    names = value.__globals__
    if real.__name__ in _names(value.__code__):
        names = {**names, real.__name__: made}
    cells = tuple([_cell(cell, real, made) for cell in value.__closure__ or ()]) or None
    function: Callable[..., Any] = FunctionType(value.__code__, names, value.__name__, value.__defaults__, cells)
    function.__kwdefaults__, function.__doc__ = value.__kwdefaults__, value.__doc__
    function.__qualname__ = value.__qualname__
    return function


def _names(code: CodeType) -> set[str]:
    """The global names that a function and those within it use."""
    within = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*within)


def _cell(cell: CellType, real: type, made: type) -> CellType:
    """What ``super()`` without arguments looks at."""
    try:
        return CellType(made) if cell.cell_contents is real else cell
    except ValueError:
        return cell
