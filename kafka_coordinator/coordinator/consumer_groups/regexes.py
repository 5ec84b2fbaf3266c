"""When a group's patterns are resolved, and what follows from it (spec 6.8).

The matching goes on beside the requests: a heartbeat starts it, its result comes with a timer.

In Kafka `GroupMetadataManager.maybeUpdateRegularExpressions`, `refreshRegularExpressions` and
`handleRegularExpressionsResult`.
"""

from typing import NamedTuple

from kafka_coordinator.coordinator.consumer_groups import states
from kafka_coordinator.coordinator.consumer_groups.checks import Refused
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup, Resolved
from kafka_coordinator.coordinator.consumer_groups.patterns import BadPattern, compiled, matching
from kafka_coordinator.coordinator.consumer_groups.sessions import refresh_hash, resolve_timer
from kafka_coordinator.coordinator.consumer_groups.storing import bump, store_pattern
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.errors import INVALID_REGULAR_EXPRESSION
from protocols.engine.nodes import Outbox, Time


def check_pattern(group: ConsumerGroup, regex: str) -> None:
    """A pattern that is new to the group must be one; `Refused` if it is not."""
    if regex and regex not in group.patterns:
        try:
            compiled(regex)
        except BadPattern:
            raise Refused(INVALID_REGULAR_EXPRESSION) from None


class Patterns(NamedTuple):
    """What a group knows of its patterns before a heartbeat: that is what decides whether they are resolved anew."""

    any: bool
    resolved: int
    last: Resolved | None

    @classmethod
    def of(cls, group: ConsumerGroup) -> "Patterns":
        """The group's patterns now."""
        return cls(bool(group.patterns), len(group.resolved), next(iter(group.resolved.values()), None))


def refresh_if_due(core: Core, group: ConsumerGroup, before: Patterns, is_new: bool, now: Time, out: Outbox) -> None:
    """Begin to resolve all patterns of the group, if it is time. ``is_new``: a member has just named one that nobody
    had named before."""
    if not (is_new or before.any) or not group.patterns or group.refreshing:
        return
    due = is_new or len(group.patterns) != before.resolved
    last = before.last
    if last is None:
        due = due or core.image_of_new_topics > 0
    else:
        if now <= last.at + core.settings.regex_batch_refresh_min_interval_ms:
            return
        due = due or last.image < core.image_of_new_topics
        due = due or now > last.at + core.settings.group_consumer_regex_refresh_interval_ms
    if due:
        group.refreshing = tuple(group.patterns)
        out.set_timer(resolve_timer(group.id), now + core.settings.resolve_regex_ms)


def resolve_patterns(core: Core, group: ConsumerGroup, now: Time, out: Outbox) -> None:
    """The topics have been matched: a group whose topics are others than before gets a new epoch."""
    scheduled, group.refreshing = group.refreshing, ()
    topics = frozenset(core.partition_counts)
    changed = False
    for regex in scheduled:
        if regex not in group.patterns:
            continue
        before = group.resolved.get(regex)
        found = matching(regex, topics)
        changed = changed or found != (before.topics if before else frozenset())
        group.resolve(regex, Resolved(found, core.image, now))
        store_pattern(core, group, regex)
    if refresh_hash(core, group) or changed:
        bump(core, group, None, "a pattern matches other topics", out, of_topics=True)
        group.settle(states.PATTERNS_RESOLVED, out)
