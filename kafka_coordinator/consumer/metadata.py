"""What topics there are: asked for at the start, every ``metadata.max.age.ms``, and when new topics matter (spec 4.8).

A changed number of partitions matters to the leader alone, who keeps a snapshot of what it computed with; topics
that come and go matter to whoever subscribes by pattern.
"""

import re
from functools import lru_cache

from kafka_coordinator.consumer import lookup, requests, timers
from kafka_coordinator.consumer.state import ConsumerState, Snapshot
from kafka_coordinator.messages import METADATA_CHANGED, MetadataAnswer, MetadataRequest
from protocols.engine.nodes import Outbox, Time
from protocols.java import sorted_as_java


def wanted(c: ConsumerState) -> tuple[str, ...] | None:
    """The topics to ask for: the subscription, on the leader those of the whole group; None: all."""
    if c.config.pattern is not None:
        return None
    return c.assigned_topics or c.subscription


def refresh(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Ask any broker, unless one was asked already."""
    if c.refreshing:
        return
    topics = wanted(c)
    if topics != ():
        c.refreshing = True
        out.cancel_timer(timers.METADATA)
        requests.send(c, now, lookup.any_broker(c, out), MetadataRequest(requests.number(c), topics), out, about=topics)


def answered(c: ConsumerState, now: Time, answer: MetadataAnswer, about: tuple[str, ...] | None, out: Outbox) -> None:
    """The answer. poll() looks at it where it tells something new."""
    c.refreshing = False
    c.metadata_failures = 0
    c.brokers = answer.brokers or c.config.bootstrap
    c.metadata_asked = about
    c.metadata_fresh = True
    if answer.topics is not c.metadata or answer.replica_racks is not c.racks:
        c.metadata_news = c.metadata_news or answer.topics != c.metadata or answer.replica_racks != c.racks
        c.metadata, c.racks = answer.topics, answer.replica_racks
    if about != wanted(c):
        refresh(c, now, out)
    else:
        out.set_timer(timers.METADATA, now + c.config.settings.metadata_max_age_ms)


def failed(c: ConsumerState, now: Time, out: Outbox) -> None:
    """The broker did not answer: another one after a pause."""
    c.refreshing = False
    out.set_timer(timers.METADATA, now + c.config.settings.backoff(c.metadata_failures))
    c.metadata_failures += 1


def knows(c: ConsumerState, topics: tuple[str, ...]) -> bool:
    """Whether the metadata at hand tells of these topics, and no newer one is on its way."""
    return not c.refreshing and (c.metadata_asked is None or set(topics) <= set(c.metadata_asked))


def look(c: ConsumerState) -> None:
    """poll() looks at new metadata: does it ask for a rebalance? (Spec 4.3, steps 1 and 5.)"""
    c.metadata_news = False
    pattern = c.config.pattern
    if pattern is not None:
        matches = compiled(pattern).fullmatch
        c.subscription = tuple(sorted_as_java([topic for topic in c.metadata if matches(topic)]))
    if c.snapshot is not None and c.snapshot != snapshot(c):
        c.request_rejoin(METADATA_CHANGED)


def snapshot(c: ConsumerState) -> Snapshot:
    """What the leader must notice changes of."""
    racks = c.racks if c.config.rack else {}
    return tuple(
        [(topic, len(c.metadata[topic]), racks.get(topic, ())) for topic in c.assigned_topics if topic in c.metadata]
    )


@lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern subscription; it has to match a topic's whole name."""
    return re.compile(pattern)
