"""What producers and consumers had of the failure of a server: its stages, and for how long nothing was acknowledged or
handled, of the queues that it led and of all others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import NamedTuple

from compare.documents.comparison import ForHowLong, OutageRecord
from compare.running.production import ProductionHistory, Span, clipped
from compare.running.run_variant import RunResult
from compare.running.systems import system_of
from protocols import Queue
from protocols.engine.nodes import Time
from protocols.facts import Delivered, Resends, Stage
from protocols.scenario.events import BrokerEvent
from protocols.scenario.fields import listed
from protocols.scenario.model import Scenario, split_system
from protocols.timeline.deliveries import positions


class Down(NamedTuple):
    """A broker does not run from ``since`` to ``until`` (milliseconds) after the event ``text``."""

    since: Time
    until: Time
    text: str


@dataclass(frozen=True)
class BrokersDown:
    """Times in which brokers do not run: ``of`` each by itself, and of all of them ``together``, after the events that
    ended them."""

    of: Mapping[str, Sequence[Down]]
    together: Sequence[Down]
    slaves: Sequence[str] = ()

    @classmethod
    def during(cls, scenario: Scenario, end: Time) -> "BrokersDown":
        """By the events of the scenario, until ``end``."""
        found: dict[str, list[Down]] = {}
        for event in sorted(scenario.events, key=lambda each: each.at):
            for broker, runs in event.broker_changes().items():
                spans = found.setdefault(broker, [])
                if runs and spans:
                    spans[-1] = spans[-1]._replace(until=event.at)
                elif not runs:
                    spans.append(Down(event.at, end, event.describe()))
        together: list[Down] = [Down(0.0, end, "")]
        for broker in (*scenario.brokers, *scenario.slaves):
            together = [
                Down(max(all_others.since, each.since), min(all_others.until, each.until), each.text)
                for all_others in together
                for each in found.get(broker, ())
                if all_others.since < each.until and each.since < all_others.until
            ]
        named = [each._replace(text=cls._ended(found, each.since)) for each in together]
        return cls(found, named, scenario.slaves)

    @staticmethod
    def _ended(found: Mapping[str, Sequence[Down]], at: Time) -> str:
        """What all of those do that do not run then, the last one last."""
        spans = [each for of_broker in found.values() for each in of_broker if each.since <= at < each.until]
        return listed(list(dict.fromkeys(each.text for each in sorted(spans, key=lambda each: each.since))))

    def why(self, broker: str, at: Time) -> str | None:
        """The event after which the broker does not run then."""
        return next((each.text for each in self.of.get(broker, ()) if each.since <= at < each.until), None)

    def settings(self, broker: str, at: Time) -> tuple[str, ...]:
        """What would have kept the queues of a broker that does not run then; empty: what its system says (without a
        slave that runs, RocketMQ's controller has nobody to make master)."""
        its = [name for name in self.slaves if name.rpartition(".s")[0] == broker]
        return ("number of slaves",) if its and all(self.why(name, at) is not None for name in its) else ()


def outages_of(result: RunResult, production: Mapping[Queue, ProductionHistory]) -> list[OutageRecord]:
    """Of every event by which a server fails; the figures of one reach to the next such event."""
    scenario, timeline = result.variant.scenario, result.timeline
    failures = [event for event in scenario.events if isinstance(event, BrokerEvent) and event.does != "return"]
    ends = [*(event.at for event in failures[1:]), timeline.end]
    stages, resends = list(timeline.told(Stage)), list(timeline.told(Resends))
    resending = split_system(result.variant.part.system)[0] == "rocketmq"
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
            "retried": _retried(resends, event.at, end) if resending else None,
            "stored_twice": sum(fact.twice for now, fact in resends if event.at <= now < end) if resending else None,
        }
        found.append(record)
    return found


def _retried(resends: Sequence[tuple[Time, Resends]], since: Time, end: Time) -> int:
    """How many records were written by another broker than the first in this time."""
    of_topic: dict[str, list[tuple[Time, float]]] = {}
    for now, fact in resends:
        of_topic.setdefault(fact.topic, []).append((now, fact.per_second))
    return round(
        sum(
            rate * (stop - start) / 1000
            for told in of_topic.values()
            for (at, rate), (following, _) in pairwise([*told, (inf, 0.0)])
            for start, stop in clipped([(at, following)], since, end)
        )
    )


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


def unread(deliveries: Sequence[Delivered], history: ProductionHistory, since: Time, end: Time) -> Span:
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


def what_ended(stages: Sequence[tuple[Time, Stage]], since: Time, until: Time, topic: str) -> Stage | None:
    """The stage of a failure for which most of the time between two others was waited, of those that are about the
    topic or all; None without any."""
    within = [(at, stage) for at, stage in stages if stage.until and since < at <= until and stage.topic in ("", topic)]
    waited = [
        (at - before, stage) for (before, _), (at, stage) in pairwise([(since, None), *within]) if stage is not None
    ]
    return max(waited, key=lambda each: each[0], default=(0.0, None))[1]
