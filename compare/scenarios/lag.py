"""How far behind the groups of a run fell, and how long it took them to catch up."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.scenarios.living import Lived
from compare.scenarios.systems import system_of
from protocols import Queue
from protocols.load import Production
from protocols.nodes import Time
from protocols.scenario.commits import records_of
from protocols.scenario.dealt import listed, place
from protocols.scenario.model import AddTopic, Produce, Queues, Scenario
from protocols.timeline.deliveries import Delivery, positions
from protocols.timeline.lag import Lag, lag_over_time
from protocols.timeline.lifetimes import Numbering, first_topics, lifetimes, topics_after

SAMPLES = 120
"""How often the lag is taken, evenly over the run, for the figures; beside that when a queue got an owner again."""


@dataclass(frozen=True, slots=True)
class Behind:
    """``peak``: the most records that waited at once, over all queues, at the time ``at``. ``drain``: until all that
    waited then had been handled; None where it had not been at the end. Times in milliseconds."""

    peak: int
    at: Time
    drain: Time | None


def productions(lived: Lived) -> dict[Queue, Production]:
    """What is written to every queue of the run; nothing where the scenario has no load."""
    scenario, numbering = lived.chosen.scenario, system_of(lived.chosen.part.system).numbering
    bursts = _bursts(scenario, numbering)
    if not scenario.load.produce and not bursts:
        return {}
    since = {queue: 0.0 for queues in first_topics(scenario, numbering).values() for queue in queues}
    since.update((queue, lives[-1][0]) for queue, lives in lifetimes(scenario, numbering).items())
    return {
        queue: Production(scenario.load.produce, at, 0, tuple(each for each in bursts.get(queue, ()) if each[0] >= at))
        for queue, at in since.items()
    }


def _bursts(scenario: Scenario, numbering: Numbering) -> dict[Queue, tuple[tuple[Time, int], ...]]:
    """Queue to when so many records come at once."""
    found: dict[Queue, tuple[tuple[Time, int], ...]] = {}
    topics = first_topics(scenario, numbering)
    brokers = {topic: listed(part.queues) for topic, part in scenario.topics.items()}
    for event in scenario.events:
        topics = topics_after(topics, event, numbering)
        if isinstance(event, Queues):
            brokers.update({topic: numbering.placed(brokers[topic], each) for topic, each in event.queues.items()})
        elif isinstance(event, AddTopic):
            brokers.update({topic: listed(part.queues) for topic, part in event.add_topic.items()})
        elif isinstance(event, Produce):
            per_broker = {topic: Counter(each) for topic, each in brokers.items()}
            for topic, broker, number, count in records_of(event, per_broker):
                queue = topics[topic][place(brokers[topic], broker, number)]
                found[queue] = (*found.get(queue, ()), (event.at, count))
    return found


def lag_of(lived: Lived, production: Mapping[Queue, Production], times: Sequence[Time]) -> list[Lag]:
    """The lag of every queue that is read, at each of the times (ascending) at which the queue exists."""
    lives = lived.timeline.lives
    # `production` is of a queue's last life: what was handled before it began is of other records.
    deliveries = [
        each
        for each in lived.timeline.counted_deliveries()
        if each.queue not in lives or each.until > lives[each.queue][-1][0]
    ]
    return [
        each
        for each in lag_over_time(deliveries, production, times)
        if each.queue not in lives or any(start <= each.at < end for start, end in lives[each.queue])
    ]


def behind(lived: Lived) -> Behind | None:
    """The peak from the first event on (what waits while the group begins is the same for all) and the way back; None
    without load, or where nobody read anything."""
    production = productions(lived)
    timeline = lived.timeline
    first = min((event.at for event in lived.chosen.scenario.events), default=0.0)
    ends = (gap.until for gap in timeline.gaps if gap.until is not None and gap.until >= first)
    lasts = max(0.0, timeline.end - first)
    times = sorted({*(first + lasts * number / SAMPLES for number in range(SAMPLES + 1)), *ends})
    waiting: dict[Time, int] = {}
    for each in lag_of(lived, production, times):
        waiting[each.at] = waiting.get(each.at, 0) + each.records
    if not waiting:
        return None
    at = max(waiting, key=lambda time: (waiting[time], -time))
    return Behind(waiting[at], at, _drain(lived, production, at))


def _drain(lived: Lived, production: Mapping[Queue, Production], peak: Time) -> Time | None:
    """Milliseconds from the peak until what had been written by then was handled, in every queue that there still is
    at the end."""
    timeline = lived.timeline
    latest = peak
    for (_, queue), deliveries in positions(timeline.counted_deliveries()).items():
        lives = timeline.lives.get(queue)
        if queue not in production or (lives and not any(start <= peak and timeline.end < end for start, end in lives)):
            continue
        reached = _reached(deliveries, production[queue].end_offset(peak))
        if reached is None:
            return None
        latest = max(latest, reached)
    return latest - peak


def _reached(deliveries: Sequence[Delivery], offset: int) -> Time | None:
    """When any member had come so far first."""
    if offset == 0:
        return 0.0
    found = [
        each.since + (each.until - each.since) * max(0.0, (offset - each.first) / (each.end - each.first))
        for each in deliveries
        if each.end >= offset and each.end > each.first
    ]
    return min(found, default=None)
