"""Which member of a group a consumer is that the user's code makes, and a package's names replaced by doubles."""

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Protocol

from compare.testing.handling import HandlingGroup
from compare.testing.rocketmq.popping import Popping
from compare.testing.rocketmq.push_consumer import PushConsumer
from protocols.errors import UserError


class RocketMQGroup(HandlingGroup, Protocol):
    """A group with members of both lines of clients."""

    @property
    def popping(self) -> Popping: ...
    def push_consumer(self, member: str, *, orderly: bool = False) -> PushConsumer: ...


class Naming:
    """The members of ``members``, in the order in which consumers are made, then ``c1``, ``c2``, ..."""

    def __init__(self, group: RocketMQGroup, members: tuple[str, ...]) -> None:
        self._group, self._members = group, list(members)
        self._made = 0

    def next(self, consumer_group: str) -> str:
        """The name of the next consumer's member; `UserError` for a consumer of another group."""
        if consumer_group != self._group.name:
            raise UserError(
                f"a consumer of group {consumer_group!r}, expected {self._group.name!r}: make the test's group with "
                f"name={consumer_group!r}"
            )
        if self._members:
            return self._members.pop(0)
        taken, number = {*self._group.known, *self._group.popping.reserved}, 1
        while f"c{number}" in taken:
            number += 1
        self._group.popping.reserved.add(f"c{number}")
        return f"c{number}"

    def count(self) -> int:
        """How many other clients were made, with this one."""
        self._made += 1
        return self._made


class OfGroup(Protocol):
    """The classes of a client that were made for one group: every object of them knows it."""

    @property
    def group(self) -> RocketMQGroup: ...
    @property
    def naming(self) -> Naming: ...


@contextmanager
def replaced(doubles: Mapping[str, Mapping[str, object]]) -> Iterator[None]:
    """``doubles``: name of a module to its names that stand for others now, in it and in every module that has imported
    the real classes by name. A module that cannot be imported is made, with its packages. Afterwards all is as before.
    """
    made: list[str] = []
    before: list[tuple[ModuleType, str, object]] = []
    try:
        for home, names in doubles.items():
            module = _module(home, made)
            real = {id(getattr(module, name)): name for name in names if hasattr(module, name)}
            others = [other for other in list(sys.modules.values()) if isinstance(other, ModuleType)]
            for user in [module, *others]:
                for name, value in [] if user.__name__.startswith("compare.") else list(vars(user).items()):
                    if id(value) in real and isinstance(value, type):
                        before.append((user, name, value))
                        setattr(user, name, names[real[id(value)]])
            for name in names.keys() - real.values():
                setattr(module, name, names[name])
        yield
    finally:
        for user, name, value in reversed(before):
            setattr(user, name, value)
        for home in made:
            sys.modules.pop(home, None)


def _module(home: str, made: list[str]) -> ModuleType:
    """The module, or an empty one of its name."""
    try:
        return importlib.import_module(home)
    except ImportError:
        parts = home.split(".")
        for length in range(1, len(parts) + 1):
            name = ".".join(parts[:length])
            if name not in sys.modules:
                made.append(name)
                sys.modules[name] = ModuleType(name)
                sys.modules[name].__path__ = []
            if length > 1:
                setattr(sys.modules[".".join(parts[: length - 1])], parts[length - 1], sys.modules[name])
        return sys.modules[home]
