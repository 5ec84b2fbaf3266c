"""The broker of every queue of a topic, in the order in which Kafka numbers partitions."""

from collections.abc import Mapping

Brokers = tuple[str, ...]


def brokers_of(per_broker: Mapping[str, int]) -> Brokers:
    """The broker of every queue, in the order written."""
    return tuple([broker for broker, count in per_broker.items() for _ in range(count)])


def after_growth(before: Brokers, per_broker: Mapping[str, int]) -> Brokers:
    """More queues: those that there were keep their places, new ones go to the brokers that are to have more, in the
    order written."""
    extra = max(0, sum(per_broker.values()) - len(before))
    wanted = [broker for broker, count in per_broker.items() for _ in range(count - before.count(broker))]
    return (*before, *wanted[:extra])


def queue_index(brokers: Brokers, broker: str, number: int) -> int:
    """The place of the n-th queue of a broker; of all of them, where ``broker`` is empty."""
    return [at for at, each in enumerate(brokers) if broker in ("", each)][number]
