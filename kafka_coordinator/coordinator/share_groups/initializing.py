"""Before anybody may fetch a partition, the persister is asked to keep its states (spec share 2.3).

In Kafka `GroupMetadataManager.subscribedTopicsChangeMap`, `addInitializingTopicsRecords`, `initializeShareGroupState`,
`uninitializeShareGroupState`, `initializedAssignmentPending` and `maybeCleanupShareGroupState`.
"""

from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import chain

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.share_groups.group import (
    INITIALIZES,
    NOTHING,
    Asked,
    Initialized,
    Numbers,
    ShareGroup,
    union,
    without,
)
from kafka_coordinator.coordinator.share_groups.messages import (
    PERSISTER,
    DeleteShareStates,
    InitializeShareStates,
    ShareStatesAnswer,
)
from kafka_coordinator.coordinator.share_groups.storing import keep
from kafka_coordinator.errors import NONE
from kafka_coordinator.share.persister import ShareStates
from protocols.engine.nodes import Outbox, Time

RESET: int = -1
"""Start offset that the group's reset policy finds."""


def partitions_of(numbers: Numbers) -> tuple[Partition, ...]:
    return tuple(sorted([(topic, number) for topic, each in numbers.items() for number in each]))


def numbers_of(partitions: Iterable[Partition]) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for topic, number in partitions:
        found.setdefault(topic, set()).add(number)
    return {topic: frozenset(each) for topic, each in found.items()}


def is_pending(core: Core, group: ShareGroup) -> bool:
    """Whether partitions have been initialized that no target has yet."""
    version, kept = core.settings.version, group.kept
    if kept is None or not group.members:
        return False
    named = kept.initialized
    if version.subscribed_alone_raise_share_epoch:
        named = {topic: each for topic, each in named.items() if group.subscribes(topic) and topic not in kept.nameless}
    had = set(chain.from_iterable([target.partitions for target in group.target.values()]))
    if version.subscribed_alone_raise_share_epoch:
        had = {partition for partition in had if partition[0] in named}
    wanted = {(topic, number) for topic, each in named.items() for number in each}
    return had != wanted or not all(named.values())


def begin(core: Core, group: ShareGroup, now: Time, out: Outbox) -> None:
    """Ask for the partitions of subscribed topics that are not initialized, and for which nobody asks just now."""
    kept, counts = group.kept or NOTHING, core.partition_counts
    under_way = now - group.kept_at < _retry_ms(core)
    have = union(kept.initialized, kept.initializing if under_way else {})
    missing = {
        topic: _numbers(counts[topic]) - have[topic] if topic in have else _numbers(counts[topic])
        for topic in group.by_name
        if topic in counts and len(have.get(topic, ())) < max(1, counts[topic])
    }
    if not missing:
        return
    known = {*kept.initialized, *kept.initializing} if core.settings.version.known_topics_grow_from_zero else ()
    add(core, group, missing, now)
    call = core.ask_persister(Asked(group.id, INITIALIZES, missing))
    offsets = tuple([(partition, 0 if partition[0] in known else RESET) for partition in partitions_of(missing)])
    out.send(PERSISTER, InitializeShareStates(call, group.id, group.epoch, offsets))


@lru_cache(maxsize=64)
def _numbers(count: int) -> frozenset[int]:
    return frozenset(range(count))


def _retry_ms(core: Core) -> int:
    settings = core.settings
    if settings.version.initialize_retry_is_a_setting:
        return settings.group_share_initialize_retry_interval_ms
    return 2 * settings.offsets_commit_timeout_ms


def add(core: Core, group: ShareGroup, missing: Numbers, now: Time) -> None:
    """These are being initialized from now on."""
    kept = group.kept or NOTHING
    initializing = union(kept.initializing, missing)
    keep(core, group, kept._replace(initializing=initializing, deleting=kept.deleting - initializing.keys()), now)


def done(core: Core, group: ShareGroup, asked: Numbers, error: str, now: Time) -> None:
    """The persister has answered: they are initialized, or the next heartbeat tries again."""
    kept = group.kept or NOTHING
    if error == NONE:
        initialized = union(kept.initialized, asked)
        gone = [topic for topic in asked if topic not in core.partition_counts]
        nameless = kept.nameless.difference(asked).union(gone)
        initializing = without(kept.initializing, asked)
        keep(core, group, Initialized(initializing, initialized, kept.deleting, nameless), now)
    elif kept.initializing:
        keep(core, group, kept._replace(initializing=without(kept.initializing, asked)), now)


def forget_topics(core: Core, gone: Collection[str], now: Time) -> None:
    """Topics have been deleted: no group has anything of them."""
    for group in core.share_groups.values():
        kept = group.kept
        if kept is not None and any(topic in each for each in kept[:3] for topic in gone):
            initializing, initialized = (
                {topic: each for topic, each in numbers.items() if topic not in gone}
                for numbers in (kept.initializing, kept.initialized)
            )
            left = (each.difference(gone) for each in (kept.deleting, kept.nameless))
            keep(core, group, Initialized(initializing, initialized, *left), now)


def persist(states: ShareStates, call: InitializeShareStates | DeleteShareStates) -> ShareStatesAnswer:
    """Do what the coordinator has sent to `PERSISTER`: it counts at once, and nothing fails. The answer is a command
    for the coordinator, when it is done with what it was handling. In Kafka `DefaultStatePersister`.
    """
    if isinstance(call, InitializeShareStates):
        for partition, start_offset in call.partitions:
            states.initialize(call.group, partition, call.state_epoch, start_offset)
    else:
        for partition in call.partitions:
            states.delete(call.group, partition)
    return ShareStatesAnswer(call.correlation, NONE)
