"""The facts of a run as they were told, a column for each field of `ObservedFact`.

A run with a load tells some hundred thousand facts, and several runs are held side by side. A record around each fact
would take as much memory as the fact itself, so it is made where somebody looks at it.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeVar, cast, overload

from protocols.engine.nodes import Time
from protocols.load import quickly_made
from protocols.timeline.trace import ObservedFact

F = TypeVar("F")

_observed = quickly_made(ObservedFact)


class FactLog(Sequence[ObservedFact]):
    """Facts in the order in which they were told."""

    __slots__ = ("_by_kind", "_causes", "_facts", "_nodes", "_roots", "_times")

    def __init__(self) -> None:
        self._times, self._roots, self._causes = array("d"), array("q"), array("q")
        self._nodes: list[str] = []
        self._facts: list[tuple[object, ...]] = []
        self._by_kind: dict[type, array[int]] | None = None

    def add(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        self._times.append(now)
        self._nodes.append(node)
        self._facts.append(fact)
        self._roots.append(root)
        self._causes.append(cause)

    def copy(self) -> "FactLog":
        """The facts told so far; what is added to one is not in the other."""
        made = FactLog()
        made._times, made._roots, made._causes = self._times[:], self._roots[:], self._causes[:]
        made._nodes, made._facts = self._nodes[:], self._facts[:]
        return made

    def told(self, kind: type[F]) -> Iterator[tuple[Time, F]]:
        """The facts of this kind, each with its time. No fact is added any more."""
        times, facts = self._times, cast("list[F]", self._facts)
        return ((times[place], facts[place]) for place in self._places(kind))

    def of_kinds(self, *kinds: type) -> Iterator[ObservedFact]:
        """The facts of these kinds, in order. No fact is added any more."""
        return map(self.__getitem__, sorted(chain.from_iterable(map(self._places, kinds))))

    def _places(self, kind: type) -> Sequence[int]:
        if self._by_kind is None:
            self._by_kind = {}
            for place, fact in enumerate(self._facts):
                places = self._by_kind.get(type(fact))
                if places is None:
                    places = self._by_kind[type(fact)] = array("L")
                places.append(place)
        return self._by_kind.get(kind, ())

    def __len__(self) -> int:
        return len(self._facts)

    def __iter__(self) -> Iterator[ObservedFact]:
        return map(_observed, zip(self._times, self._nodes, self._facts, self._roots, self._causes, strict=True))

    @overload
    def __getitem__(self, place: int) -> ObservedFact: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[ObservedFact]: ...

    def __getitem__(self, place: int | slice) -> ObservedFact | Sequence[ObservedFact]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        columns = self._times, self._nodes, self._facts, self._roots, self._causes
        return _observed(tuple([column[place] for column in cast("Sequence[Sequence[object]]", columns)]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FactLog) and len(self) == len(other) and all(map(tuple.__eq__, self, other))
