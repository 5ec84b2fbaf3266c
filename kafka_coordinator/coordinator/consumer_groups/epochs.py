"""The group epoch goes up: whatever changes what members should own does that (spec 6.1).

In Kafka the callers of `newConsumerGroupEpochRecord`.
"""

from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.consumer_groups.storing import store_epoch
from kafka_coordinator.coordinator.core import Core
from protocols.engine.nodes import Outbox
from protocols.facts import RebalanceBegan


def bump(
    core: Core, group: ConsumerGroup, by: str | None, words: str, out: Outbox, *, of_topics: bool | None = False
) -> None:
    """Raise the epoch by one. ``by``: client id of the member that caused it; ``words`` say why."""
    group.epoch += 1
    group.stale = False
    store_epoch(core, group)
    out.observe(RebalanceBegan(group.id, words, by, group.epoch, None, of_topics))
