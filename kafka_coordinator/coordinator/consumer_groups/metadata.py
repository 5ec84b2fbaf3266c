"""What a group makes of the cluster's metadata: one hash over its subscribed topics (spec 6.3 step 6).

In Kafka `ModernGroup.computeMetadataHash` and `Utils.computeGroupHash`.
"""

import hashlib
from collections.abc import Iterable

from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.core import Core
from protocols.java import sorted_as_java


def refresh_hash(core: Core, group: ConsumerGroup) -> bool:
    """Compute the hash anew; whether it has changed."""
    before = group.metadata_hash
    group.metadata_hash = _hash(core, group)
    return group.metadata_hash != before


def mark_stale(core: Core, topics: Iterable[str]) -> None:
    """These topics have been created, changed or deleted: groups that subscribe to one look again."""
    changed = list(topics)
    for group in core.consumer_groups.values():
        if any(group.subscribes(topic) for topic in changed):
            group.stale = True


def _hash(core: Core, group: ConsumerGroup) -> str:
    subscribed = group.subscribed()
    known = group.image_hash
    if known is not None and known[0] == core.image and known[1] == subscribed:
        return known[2]
    described = [
        (topic, core.described(topic)) for topic in sorted_as_java(subscribed) if topic in core.partition_counts
    ]
    made = hashlib.md5(repr(described).encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    group.image_hash = core.image, subscribed, made if described else ""
    return group.image_hash[2]
