"""What a simulated broker keeps of the records that it has given out to a group (spec pop 5)."""

import sys
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

from protocols.engine.nodes import Time
from protocols.node_state import Apart, NodeState
from protocols.offsets import OffsetSet
from rocketmq_selfbalance.pop import CheckPoint, PopTopic
from rocketmq_selfbalance.pop.line import Line
from rocketmq_selfbalance.popping.messages import ReceiveMessage

Place: TypeAlias = tuple[int, int]
"""Number of the queue, and offset, that a record had at first."""


class Hidden(NamedTuple):
    """Who has a record, by which check point; ``given_back``: whether its client is gone."""

    member: str
    pop_time: Time
    invisible: Time
    given_back: bool = False

    @property
    def until(self) -> Time:
        return self.pop_time + self.invisible


@dataclass(slots=True)
class GivenOut(NodeState):
    """What one group was given of one topic at one broker."""

    topic: str
    group: str
    records: PopTopic
    hidden: dict[Place, Hidden] = field(default_factory=dict)
    done: dict[int, OffsetSet] = field(default_factory=dict)
    """Queue number to the records that have ended: a second copy of one, as an administrator's reset leaves it, is told
    of nobody."""
    due: Apart[list[tuple[Time, Place]]] = field(default_factory=list)
    """A heap of when hidden records are visible again; some of them are out of date."""
    line: Line[ReceiveMessage] = field(default_factory=Line)

    def hide(self, place: Place, member: str, point: CheckPoint, *, given_back: bool = False) -> None:
        hidden = self.hidden[place] = Hidden(member, point.pop_time, point.invisible, given_back)
        heappush(self.due, (hidden.until, place))

    def forget(self, number: int, first: int) -> None:
        """The records of a queue from this offset on begin anew: who had one has it no more."""
        for place in [place for place in self.hidden if place[0] == number and place[1] >= first]:
            del self.hidden[place]
        if number in self.done:
            self.done[number].remove(first, sys.maxsize)

    def first_due(self) -> Time | None:
        """When the first of the hidden records is visible again."""
        while self.due:
            until, place = self.due[0]
            hidden = self.hidden.get(place)
            if hidden is not None and hidden.until == until:
                return until
            heappop(self.due)
        return None
