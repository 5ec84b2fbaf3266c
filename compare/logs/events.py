"""Lines that mean something: the stream they are in, where and when, and what all of their records have in common.

Each kind of line is one frozen record with its own fields (`broker_events`, `client_events`, `rocketmq_lines`). Only a
`Place` is filled in later, by the station that brings the clocks together.
"""

from dataclasses import dataclass, field
from datetime import tzinfo
from typing import TypeVar, dataclass_transform

_Record = TypeVar("_Record")


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=False)
def record(cls: type[_Record]) -> type[_Record]:
    """A frozen record that is compared by identity, since two equal lines are two lines."""
    return dataclass(frozen=True, slots=True, kw_only=True, eq=False)(cls)


@dataclass(slots=True, eq=False)
class Stream:
    """The lines of one process or container: a file with its rotated predecessors, or one prefix inside of it.

    ``files``: names of its files; ``zone``: what `--zone` said; ``offset``: seconds to subtract from a time as printed
    to get UTC, None until it is known; ``ahead``: seconds by which its clock is ahead of the others'; ``stated``:
    seconds east of UTC of a zone that its times state; ``how``: where the offset was taken from; ``node``: the number
    of the broker that prints it; ``lines``: how many lines of which client library it has, ``read``: of how many of
    them the meaning is known; ``quoted``: how many lines of a client or a broker begin where no message begins;
    ``foreign``: what came that is no request or answer, and how many lines tell of it; ``lengths``: how many lines each
    of its files has.
    """

    name: str
    container: str | None
    files: list[str] = field(default_factory=list)
    events: list["Event"] = field(default_factory=list)
    zone: tzinfo | None = None
    offset: float | None = None
    ahead: float = 0.0
    stated: float | None = None
    how: str = ""
    role: str = "client"
    node: int | None = None
    lines: dict[str, int] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    quoted: int = 0
    foreign: dict[str, int] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)

    @property
    def is_known(self) -> bool:
        """Whether some of its lines are a client's or a broker's, though perhaps none has a meaning."""
        return bool(self.lines or self.quoted or self.foreign)

    @property
    def library(self) -> str:
        """The client library that most of its lines are of, "" where none is known."""
        return max(self.lines, key=lambda name: (self.lines[name], name), default="")


@dataclass(slots=True, eq=False)
class Place:
    """Where a line stands, and when it was printed.

    ``number``: that of the line in its file, from 1; ``order``: the same, or what the lines' times make of it: below
    zero in a file whose newest line stands first, from 1 in one without an order (`disorder`); ``stamp``: seconds
    since 1970 as printed (since midnight where ``clock`` is ``day``); ``clock``: ``utc`` (exact), ``local`` (date, no
    zone), ``day`` (time of day only) or ``none``; ``hint``: seconds since 1970 that the text itself or the container's
    wrapper states; ``east``: seconds east of UTC of the zone that its time states; ``at``: seconds since 1970, UTC,
    filled in when the clocks are brought together; ``sure``: False where that was inferred from neighbours; ``late``:
    the line was printed some time after what it tells of; ``in_east_8``: its layout fixes GMT+8.
    """

    stream: Stream
    file: str
    number: int
    order: int
    stamp: float | None = None
    clock: str = "none"
    hint: float | None = None
    east: float = 0.0
    at: float | None = None
    sure: bool = True
    late: bool = False
    in_east_8: bool = False


@record
class Event:
    """A line that means something."""

    place: Place

    @property
    def at(self) -> float:
        """Seconds since 1970, UTC; only of events whose time is known."""
        assert self.place.at is not None
        return self.place.at

    @property
    def stream(self) -> Stream:
        """The stream that it is in."""
        return self.place.stream

    @property
    def evidence(self) -> tuple[str, int]:
        """File and line number, from 1."""
        return self.place.file, self.place.number


@record
class OfGroup(Event):
    """A line about a group."""

    group: str = ""
