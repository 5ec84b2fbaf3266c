"""What a broker gives out under POP: records by where they were first, and check points that know what is acked."""

from dataclasses import dataclass, field
from typing import NamedTuple

from protocols.engine.nodes import Time


class PopRecord(NamedTuple):
    """A record: the queue and offset that it had at first, and how often it has come back."""

    number: int
    offset: int
    times: int = 0


@dataclass(eq=False, slots=True)
class CheckPoint:
    """``PopCheckPoint``: the records that one pop took from one queue, invisible until ``visible_at``."""

    pop_time: Time
    invisible: Time
    of_retry_topic: bool
    number: int
    """The queue that they were taken from; 0 of the retry topic."""
    records: tuple[PopRecord, ...]
    acked: set[int] = field(default_factory=set)
    """Positions in ``records`` that will not come back."""
    over: bool = False
    """Whether what was not acked has come back: nothing can be acked any more."""

    @property
    def visible_at(self) -> Time:
        """The revive time: pop time and invisible time."""
        return self.pop_time + self.invisible

    @property
    def left(self) -> tuple[PopRecord, ...]:
        """The records that are not acked."""
        return tuple(each for position, each in enumerate(self.records) if position not in self.acked)


class Handle(NamedTuple):
    """``ReceiptHandle``: what an ack names. ``position`` of the record in the check point."""

    check_point: CheckPoint
    position: int

    @property
    def record(self) -> PopRecord:
        """The record that was given out."""
        return self.check_point.records[self.position]

    @property
    def visible_at(self) -> Time:
        """From then on the handle is expired."""
        return self.check_point.visible_at
