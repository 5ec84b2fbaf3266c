"""What one line of a log says, and the stream of lines that it came in."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import tzinfo

_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


@dataclass(slots=True, eq=False)
class Stream:
    """The lines of one process or container: a file with its rotated predecessors, or one prefix inside of it.

    ``files``: names of its files; ``zone``: what `--zone` said; ``offset``: seconds to subtract
    from a time as printed to get UTC, None until it is known;
    ``stated``: seconds east of UTC of a zone that its times state; ``how``: where the offset was taken from.
    """

    name: str
    container: str | None
    files: list[str] = field(default_factory=list)
    facts: list["Fact"] = field(default_factory=list)
    zone: tzinfo | None = None
    offset: float | None = None
    stated: float | None = None
    how: str = ""
    role: str = "client"


@dataclass(slots=True, eq=False)
class Fact:
    """One line that means something.

    ``kind``: what happened, from the tables of patterns; ``stamp``: seconds since 1970 as printed (since midnight where
    ``clock`` is ``day``), ``clock``: ``utc`` (exact), ``local`` (date, no zone), ``day`` (time of day only) or
    ``none``; ``hint``: seconds since 1970 that the text itself or the container's wrapper states; ``at``: seconds since
    1970, UTC, filled in when the clocks are brought together; ``sure``: False where it was inferred from neighbours;
    ``east``: seconds east of UTC of the zone that its time states.
    """

    kind: str
    stream: Stream
    file: str
    line: int
    group: str | None = None
    member: str | None = None
    client: str | None = None
    instance: str | None = None
    generation: int | None = None
    text: str = ""
    names: tuple[str, ...] = ()
    stamp: float | None = None
    clock: str = "none"
    hint: float | None = None
    at: float | None = None
    sure: bool = True
    east: float = 0.0

    @property
    def evidence(self) -> tuple[str, int]:
        """File and line number, from 1."""
        return self.file, self.line


class Ordered:
    """Facts in order of time, those of brokers first where times are equal; facts without a time are left out."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        dated = [fact for fact in facts if fact.at is not None]
        self.facts = sorted(dated, key=lambda fact: (fact.at, fact.stream.role != "broker"))
        self._times = [fact.at or 0.0 for fact in self.facts]

    def between(self, after: float, until: float) -> list[Fact]:
        """Those later than ``after`` and not later than ``until``."""
        return self.facts[bisect_right(self._times, after) : bisect_right(self._times, until)]

    def next(self, after: float) -> Fact | None:
        """The first that is later."""
        place = bisect_right(self._times, after)
        return self.facts[place] if place < len(self.facts) else None

    def latest(self, until: float) -> Fact | None:
        """The last that is not later."""
        place = bisect_right(self._times, until)
        return self.facts[place - 1] if place else None

    def of(self, *kinds: str) -> "Ordered":
        """Those of some kinds only."""
        return Ordered(fact for fact in self.facts if fact.kind in kinds)


def client_of(member: str) -> str:
    """The client id (of a static member: the instance id) that a member id of the classic protocol begins with."""
    return _UUID.sub("", member)


def has_client_name(member: str) -> bool:
    """Whether the member id begins with a name: ids of the consumer protocol are a random number only."""
    return _UUID.search(member) is not None
