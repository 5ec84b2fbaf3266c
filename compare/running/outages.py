"""What producers and consumers had of the failure of a server: its stages, and for how long nothing was acknowledged or
handled, of the queues that it led and of all others."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import inf

from compare.documents.comparison import ForHowLong, OutageRecord
from compare.running.production import ProductionHistory, Span
from compare.running.run_variant import RunResult
from compare.running.systems import system_of
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import Stage
from protocols.scenario.events import BrokerEvent
from protocols.timeline.deliveries import Delivery, positions


def outages_of(result: RunResult, production: Mapping[Queue, ProductionHistory]) -> list[OutageRecord]:
    """Of every event by which a server fails; the figures of one reach to the next such event."""
    scenario, timeline = result.variant.scenario, result.timeline
    failures = [event for event in scenario.events if isinstance(event, BrokerEvent) and event.does != "return"]
    ends = [*(event.at for event in failures[1:]), timeline.end]
    stages = list(timeline.told(Stage))
    numbering = system_of(result.variant.part.system).numbering
    led = {topic: numbering.placed((), part.queues) for topic, part in scenario.topics.items()}
    deliveries = positions(timeline.deliveries) if failures else {}
    found: list[OutageRecord] = []
    for event, end in zip(failures, ends, strict=True):
        if event.at > timeline.end:
            continue
        its = {queue for queue in production if (queue.broker or _at(led, queue)) == event.broker}
        others = [queue for queue in production if queue not in its]
        record: OutageRecord = {
            "event": event.describe(),
            "at_s": event.at / 1000,
            "stages": [
                {"what": fact.what, "after_s": (now - event.at) / 1000, "until": fact.until, "setting": fact.setting}
                for now, fact in stages
                if event.at <= now < (end if end < timeline.end else inf)
            ],
            "without_send_s": _for_how_long(
                [unsent(production[queue], event.at, end) for queue in its],
                [unsent(production[queue], event.at, end) for queue in others],
            ),
            "without_read_s": _for_how_long(
                [
                    unread(each, production[queue], event.at, end)
                    for (_, queue), each in deliveries.items()
                    if queue in its
                ],
                [
                    unread(each, production[queue], event.at, end)
                    for (_, queue), each in deliveries.items()
                    if queue in production and queue not in its
                ],
            ),
            "refused": sum(history.refused(event.at, end) for history in production.values()),
        }
        found.append(record)
    return found


def _at(led: Mapping[str, Sequence[str]], queue: Queue) -> str:
    brokers = led.get(queue.topic, ())
    return brokers[queue.number] if queue.number < len(brokers) else ""


def _for_how_long(its: Iterable[Span], others: Iterable[Span]) -> ForHowLong:
    def longest(spans: Iterable[Span]) -> float | None:
        return max([(end - start) / 1000 for start, end in spans], default=None)

    return {"its": longest(its), "others": longest(others)}


def unsent(history: ProductionHistory, since: Time, end: Time) -> Span:
    """The longest time in which no record was acknowledged, from the last one before to the first one after."""
    silent = [
        (history.arrival(history.end_offset(start) - 1, start) if history.end_offset(start) else start, stop)
        for start, stop in history.unacknowledged(since, end)
    ]
    step = 1000 / history.rate if history.rate else 0.0
    return max(silent, key=lambda span: span[1] - span[0], default=(since, since + step))


def unread(deliveries: Sequence[Delivery], history: ProductionHistory, since: Time, end: Time) -> Span:
    """The longest time in which no record was handled. ``deliveries``: of a group, in the order of their beginnings."""
    step = 1000 / history.rate if history.rate else 0.0
    latest, longest = since, (since, since + step)
    for each in deliveries:
        if each.until < since or each.since > end or each.end == each.first:
            continue
        if each.since - latest > longest[1] - longest[0]:
            longest = latest, each.since
        latest = max(latest, each.until)
    return longest if end - latest <= longest[1] - longest[0] else (latest, end)


def what_ended(stages: Sequence[tuple[Time, Stage]], since: Time, until: Time) -> Stage | None:
    """The stage of a failure for which most of the time between two others was waited; None without any."""
    within = [(at, stage) for at, stage in stages if stage.until and since < at <= until]
    waited = [
        (at - before, stage) for (before, _), (at, stage) in pairwise([(since, None), *within]) if stage is not None
    ]
    return max(waited, key=lambda each: each[0], default=(0.0, None))[1]
