"""What was behind a session that ended: the member, its broker, or the network between them.

A member that a broker expires is not always at fault. The controller says when a broker was gone without shutting down;
the member's own lines say that it was alive and had no answer.
"""

from collections.abc import Sequence
from dataclasses import replace

from compare.logs.client_events import Given, OfClient, SessionOver
from compare.logs.coordinators import Outage
from compare.logs.events import Event
from compare.logs.identity import Processes
from compare.logs.model import Cause, Ordered, Rebalance
from compare.logs.returns import NEW_ID

_BEFORE_S = 60.0
"""A broker that was gone expires members at most so long after it is back."""

_SILENT_S = 60.0
"""A client says so at most so long before the broker expires it, or after."""


def with_suspects(
    rebalances: Sequence[Rebalance], events: Sequence[Event], outages: Sequence[Outage], processes: Processes
) -> list[Rebalance]:
    """The rebalances with what was behind the sessions that ended, where that is certain."""
    lost = Ordered(event for event in events if isinstance(event, SessionOver) and event.stream.role != "broker")
    alive = Ordered(event for event in events if isinstance(event, OfClient) and not isinstance(event, Given))
    found = []
    for each in rebalances:
        causes = tuple(_behind(cause, each, outages, lost, alive, processes) for cause in each.causes)
        found.append(replace(each, causes=causes))
    return found


def _behind(
    cause: Cause,
    each: Rebalance,
    outages: Sequence[Outage],
    lost: Ordered[SessionOver],
    alive: Ordered[OfClient],
    processes: Processes,
) -> Cause:
    if cause.name not in {"session_timeout", NEW_ID} or cause.behind:
        return cause
    return cause
