"""What topics there are: asked for at the start, every ``metadata.max.age.ms``, and when new topics matter (spec 4.8).

An answer without a topic that was named (UNKNOWN_TOPIC_OR_PARTITION) is asked for again soon, after a pause that grows
up to ``retry.backoff.max.ms``: so a topic that is created later is noticed within a second. Where the user's loop is
code outside of the model, the client is another one than Java's, which waits for the maximum age.

A changed number of partitions matters to the leader alone, who keeps a snapshot of what it computed with; topics that
come and go matter to whoever subscribes by pattern.

In Kafka `ConsumerMetadata`, `Metadata.requestUpdate` with its ``equivalentResponseCount``, and
`updatePatternSubscription` and `MetadataSnapshot` of `ConsumerCoordinator`.
"""

import re
from functools import lru_cache

from kafka_coordinator.consumer import lookup, requests, states
from kafka_coordinator.consumer.state import ConsumerState, MetadataSnapshot, protocol_member
from kafka_coordinator.messages import METADATA_CHANGED, MetadataAnswer, MetadataRequest
from protocols.engine.nodes import Outbox, Time
from protocols.java import sorted_as_java


def wanted(c: ConsumerState) -> tuple[str, ...] | None:
    """The topics to ask for: the subscription, on the leader those of the whole group, where the coordinator resolves a
    pattern those that it assigned (real clients ask for them by topic id); None: all."""
    if c.config.pattern is not None:
        return None
    if c.config.broker_pattern is not None:
        assigned = protocol_member(c).target.partitions
        return tuple(dict.fromkeys(topic for topic, _ in assigned))
    return c.assigning.group_topics or c.subscription.topics


def refresh(c: ConsumerState, now: Time, out: Outbox) -> None:
    """Ask any broker, unless one was asked already."""
    if c.metadata.refreshing:
        return
    topics = wanted(c)
    if topics != ():
        c.metadata.refreshing = True
        out.cancel_timer(states.METADATA)
        requests.send(c, now, lookup.any_broker(c, out), MetadataRequest(requests.number(c), topics), out, about=topics)


def answered(c: ConsumerState, now: Time, answer: MetadataAnswer, about: tuple[str, ...] | None, out: Outbox) -> None:
    """The answer; poll() looks at it where it brings something new."""
    known = c.metadata
    known.refreshing = False
    known.failures = 0
    known.brokers = answer.brokers or c.config.bootstrap
    known.requested_topics = about
    known.is_fresh = True
    if answer.topics is not known.topics or answer.replica_racks is not known.replica_racks:
        changed = answer.topics != known.topics or answer.replica_racks != known.replica_racks
        known.has_news = known.has_news or changed
        known.topics, known.replica_racks = answer.topics, answer.replica_racks
    if about != wanted(c):
        refresh(c, now, out)
    elif not c.config.by_hand and any(topic not in answer.topics for topic in about or ()):
        out.set_timer(states.METADATA, now + c.config.settings.backoff(known.incomplete))
        known.incomplete += 1
    else:
        known.incomplete = 0
        out.set_timer(states.METADATA, now + c.config.settings.metadata_max_age_ms)


def failed(c: ConsumerState, now: Time, out: Outbox) -> None:
    c.metadata.refreshing = False
    out.set_timer(states.METADATA, now + c.config.settings.backoff(c.metadata.failures))
    c.metadata.failures += 1


def knows(c: ConsumerState, topics: tuple[str, ...]) -> bool:
    """Whether the metadata at hand covers these topics, and no newer one is on its way."""
    requested = c.metadata.requested_topics
    return not c.metadata.refreshing and (requested is None or set(topics) <= set(requested))


def look(c: ConsumerState) -> None:
    """poll() looks at new metadata: does it ask for a rebalance? (Spec 4.3, steps 1 and 5.)"""
    c.metadata.has_news = False
    pattern = c.config.pattern
    if pattern is not None:
        matches = compiled(pattern).fullmatch
        c.subscription.topics = tuple(sorted_as_java([topic for topic in c.metadata.topics if matches(topic)]))
    if c.assigning.snapshot is not None and c.assigning.snapshot != snapshot(c):
        c.request_rejoin(METADATA_CHANGED)


def snapshot(c: ConsumerState) -> MetadataSnapshot:
    """What the leader must notice changes of."""
    topics = c.metadata.topics
    racks = c.metadata.replica_racks if c.config.rack else {}
    return tuple(
        [(topic, len(topics[topic]), racks.get(topic, ())) for topic in c.assigning.group_topics if topic in topics]
    )


@lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern subscription; it has to match a topic's whole name."""
    return re.compile(pattern)
