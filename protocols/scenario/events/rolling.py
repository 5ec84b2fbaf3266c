"""Members are restarted one after the other, as when a new version is deployed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, PrivateAttr

from protocols.engine.nodes import Time
from protocols.scenario.events.base import Event, Written
from protocols.scenario.events.members import Crash, Join, Leave, Restart
from protocols.scenario.fields import Duration, Settings, duration_text
from protocols.scenario.shorthands import each_name
from protocols.scenario.validation import PartError, Path, short, validated

_NUMBERED = re.compile(r"(.+)\.(\d{1,9})", re.ASCII | re.DOTALL)


class Rolling(Event):
    """Members are restarted one after the other, as a rolling deploy or upgrade does it; short for the events ``leave``
    or ``crash``, ``restart`` and ``join`` of each of them, which the results show."""

    rolling: tuple[str, ...]
    """The members in the order of their restarts; ranges (``c1..c6``) stand for all their names."""
    gap: Duration
    """From the restart of one member (or of ``at_once`` members) to that of the next."""
    how: Literal["leave", "crash"] = "leave"
    """How a member ends. Others in its process crash with it."""
    downtime: Duration = 0.0
    """How long a member is away: its new process starts so long after the old one has ended."""
    surge: Duration | None = None
    """Instead of ``downtime``: a successor (``c1.2`` of ``c1``, ``c1.3`` of ``c1.2``) that is like the member, in a
    process of its own, joins so long before the member ends, as with maxSurge of Kubernetes. Not for members with an
    ``instance_id``."""
    at_once: Annotated[int, Field(strict=True, ge=1)] = 1
    """So many members are restarted at the same time, as with maxUnavailable of Kubernetes."""
    strategy: str | None = None
    """The member's own assignor or strategy from its restart on; several with commas."""
    settings: Settings = Field(default_factory=dict)
    """Settings added to its former ones; null removes one."""

    _places: tuple[Path, ...] = PrivateAttr(default=())
    """Where each name is written, from the field on: several names may be one range; empty where none is."""

    example: ClassVar[str] = "{at: 30s, rolling: [c1, c2], gap: 10s, downtime: 5s, strategy: cooperative-sticky}"

    @classmethod
    def read(cls, fields: Mapping[str, object], brokers: Sequence[str], path: Path) -> Self:
        inside = (*path, "rolling")
        named = each_name(fields["rolling"], inside)
        for name, place in named:
            if not isinstance(name, str):
                raise PartError((*inside, *place), f"{short(name)} is no list of members, expected [c1, c2] or c1..c6")
        made = validated(cls, {**fields, "rolling": [name for name, _ in named]}, path)
        made._places = tuple(place for _, place in named)
        return made

    def plain(self, path: Path) -> Sequence[Written]:
        if self.surge is not None and self.downtime:
            raise PartError((*path, "surge"), "surge and downtime at once, expected one of them")
        field, lasts = ("downtime", self.downtime) if self.surge is None else ("surge", self.surge)
        if self.gap < lasts and self.at_once < len(self.rolling):
            shorter = f"{duration_text(self.gap)} is shorter than {field}: {duration_text(lasts)}"
            raise PartError(
                (*path, "gap"), f"{shorter}, expected at least as long (at_once restarts several at the same time)"
            )
        return [
            Written(event, path, ("rolling", *(self._places[number] if self._places else (number,))), shorthand=True)
            for first in range(0, len(self.rolling), self.at_once)
            for number, event in self._batch(first)
        ]

    def _batch(self, first: int) -> Iterator[tuple[int, Event]]:
        """The events of the members that are restarted together from the ``first`` on, each with its member's place, in
        the order of time."""
        at = self.at + first // self.at_once * self.gap
        members = list(enumerate(self.rolling[first : first + self.at_once], first))
        if self.surge is not None:
            for number, member in members:
                yield number, self._successor(member, at)
            for number, member in members:
                yield number, self._end(member, at + self.surge)
        elif self.downtime:
            for number, member in members:
                yield number, self._end(member, at)
            for number, member in members:
                yield number, self._restart(member, at + self.downtime, "leave")
        else:
            for number, member in members:
                yield number, self._restart(member, at, self.how)

    def _end(self, member: str, at: Time) -> Event:
        if self.how == "crash":
            return Crash(at=at, group=self.group, crash=member)
        return Leave(at=at, group=self.group, leave=member)

    def _restart(self, member: str, at: Time, how: Literal["leave", "crash"]) -> Event:
        return Restart(at=at, group=self.group, restart=member, how=how, strategy=self.strategy, settings=self.settings)

    def _successor(self, member: str, at: Time) -> Event:
        return Join(
            at=at, group=self.group, join=successor(member), like=member, strategy=self.strategy, settings=self.settings
        )


def successor(member: str) -> str:
    """The name of the member that takes the place of another: ``c1.2`` of ``c1``, ``c1.3`` of ``c1.2``."""
    match = _NUMBERED.fullmatch(member)
    return f"{match[1]}.{int(match[2]) + 1}" if match else f"{member}.2"
