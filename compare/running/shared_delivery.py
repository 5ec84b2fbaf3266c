"""Figures of records that are given out one by one (share groups, POP): how often, how many at once, how they ended."""

from math import ceil
from typing import Final

from compare.documents.shared_delivery import SharedDeliveryRecord
from protocols.timeline import Timeline
from protocols.timeline.records import hidden_over_time, redeliveries

NO_OWNERS: Final = "records are given out one by one, so no queue has an owner"
"""Why figures of ownership are null."""

MOST_STEPS = 240
"""Points of hidden records over time; each is the most of its piece of the run."""


def shared_delivery_of(timeline: Timeline) -> SharedDeliveryRecord | None:
    """None where every group shares queues, or is broadcasting."""
    if not timeline.without_owners:
        return None
    times, ended = timeline.times_given, timeline.ended_how
    over_time = _over_time(timeline)
    return {
        "groups": sorted(timeline.without_owners),
        "why_no_owners": NO_OWNERS,
        "redeliveries": redeliveries(times),
        "attempts": {
            "max": max((each.attempt for each in timeline.given), default=0),
            "records": {str(often): records for often, records in times.items()},
        },
        "hidden": {"max": max((records for _, records in over_time), default=0), "over_time": over_time},
        "ended": {
            "acknowledged": ended.get("acknowledged", 0),
            "archived": ended.get("archived", 0),
            "dead_letters": ended.get("dead letter", 0),
            "skipped": ended.get("skipped", 0),
        },
    }


def _over_time(timeline: Timeline) -> list[tuple[float, int]]:
    """Seconds of the run to the most records that were hidden in the piece of it that ends then."""
    if timeline.end <= 0:
        return []
    most = [0] * MOST_STEPS
    hidden, reached = 0, 0
    for at, records in hidden_over_time(timeline.given):
        place = min(MOST_STEPS - 1, int(at * MOST_STEPS / timeline.end))
        for passed in range(reached, place + 1):
            most[passed] = max(most[passed], hidden)
        most[place] = max(most[place], records)
        hidden, reached = records, place
    for passed in range(reached, MOST_STEPS):
        most[passed] = max(most[passed], hidden)
    return [(ceil(timeline.end * (at + 1) / MOST_STEPS) / 1000, records) for at, records in enumerate(most)]
