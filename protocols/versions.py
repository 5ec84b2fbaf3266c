"""Versions of a system as data: which rule holds since which version.

Each system has one table (`kafka_coordinator.versions`, `rocketmq_selfbalance.versions`): a record whose fields are
rules, true where the rule holds. Code asks for a rule by its name and never compares a number, so that a version that
comes later is a line in the table, and a search for a rule's name finds all that it changes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, field, fields
from typing import Any, ClassVar, Final, Generic, NamedTuple, Protocol, TypeVar

from protocols.errors import UserError


class Version(Protocol):
    """A record with a name; the fields made by `rule` are its rules."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def name(self) -> str: ...


class Rule(NamedTuple):
    """A row of a table. ``since``: the first version in which it holds."""

    name: str
    since: str
    what: str
    source: str


V = TypeVar("V", bound=Version)


def short(given: object) -> str:
    """The first two numbers of ``4.4.0``, or of a number, as YAML reads ``4.4``; what is no version, as it is."""
    parts = str(given).split(".") if isinstance(given, str | int | float) else []
    return ".".join(parts[:2] if all(part.isdigit() for part in parts) else parts)


def rule(since: str, what: str, source: str) -> bool:
    """A field of a version's record. ``source``: a proposal, an issue, or the release in which the rule was seen."""
    return field(default=False, metadata={"since": since, "what": what, "source": source})


class Versions(Mapping[str, V], Generic[V]):
    """Name to version of one system, in order of time.

    ``make`` is the class of the records; ``compared`` names those whose answers were compared with a released broker's:
    the others are composed of rules whose first version is known.
    """

    def __init__(self, system: str, make: Callable[..., V], names: tuple[str, ...], compared: tuple[str, ...]) -> None:
        self.system, self.compared = system, compared
        self._of_system = {name: make(name) for name in names}
        self.rules: Final = tuple(
            Rule(each.name, **each.metadata) for each in fields(self._of_system[names[0]]) if each.metadata
        )
        """All rules, in the order of the table."""
        for name in names:
            held = {each.name: self.holds(each.since, name) for each in self.rules}
            self._of_system[name] = make(name, **held)

    def __getitem__(self, name: str) -> V:
        return self._of_system[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._of_system)

    def __len__(self) -> int:
        return len(self._of_system)

    def holds(self, since: str, name: str) -> bool:
        """Whether what holds since one version holds in another."""
        names = tuple(self)
        return names.index(since) <= names.index(name)

    @property
    def newest(self) -> V:
        """What holds where nobody names a version."""
        return self[next(reversed(self._of_system))]

    def named(self, given: object, where: str) -> V:
        """The version of this name; of ``4.4.0`` the first two numbers count, a number stands for its text.

        Raises `UserError`, naming ``where``.
        """
        version = self.get(short(given))
        if version is None:
            raise UserError(f"{where}: {given!r}, expected a version of {self.system}: {', '.join(self)}")
        return version

    def note(self, name: str) -> str | None:
        """What is to be said of results of this version; None where they were compared with a broker."""
        if name in self.compared:
            return None
        composed = "is composed of rules whose first version is known; not compared with a broker"
        return f"note: {self.system} {name} {composed}"
