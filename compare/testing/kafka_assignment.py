"""Which partitions are read: those that the group gave, or those that the user assigned as nobody's member."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from compare.testing import kafka_errors as errors
from compare.testing import kafka_offsets
from compare.testing.kafka_member import KafkaMember, Partition


def partitions_of(listed: Iterable[errors.Partitioned]) -> list[Partition]:
    """Topic and number of each."""
    return [(each.topic, each.partition) for each in listed]


def subscription_of(topics: Sequence[str]) -> dict[str, object]:
    """What the topics of subscribe() mean to the model's client: those that begin with ``^`` make a pattern."""
    if isinstance(topics, str):
        raise TypeError("expected list of topic unicode strings")
    patterns = [topic for topic in topics if topic.startswith("^")]
    return {"pattern": "|".join(patterns)} if patterns else {"subscribe": list(topics)}


def check_held(inner: KafkaMember, partitions: Iterable[errors.Partitioned]) -> None:
    """Raises `KafkaException` for a partition that was neither given by the group nor assigned by the user."""
    subscription = inner.state.subscription
    held = {*subscription.owned, *subscription.assigned_by_user}
    for topic, number in partitions_of(partitions):
        if (topic, number) not in held:
            raise errors.exception("_STATE", f"{topic} [{number}] is not assigned to {inner.name}")


def begin(inner: KafkaMember, partitions: errors.Partitions) -> None:
    """Read these, too, from the offsets that they name."""
    check_held(inner, partitions)
    inner.read.update(dict.fromkeys(partitions_of(partitions)))
    found = kafka_offsets.sought(inner, partitions)
    if found:
        inner.seek(found)


def assign_alone(
    inner: KafkaMember,
    named: errors.Partitions,
    listed: Collection[Partition],
    queues: Mapping[str, int],
    config: Mapping[str, object],
) -> None:
    """Read exactly those listed as nobody's member: from the offsets that ``named`` say, from where they were read to
    before, or from the committed ones. ``queues``: topic to its number of partitions."""
    for topic, number in listed:
        if not 0 <= number < queues.get(topic, 0):
            raise errors.exception("_UNKNOWN_PARTITION", f"{topic} [{number}] does not exist")
    if inner.node is None:
        inner.start({"subscribe": []}, config)
    standing = [each for each in inner.position.items() if each[0] in listed]
    inner.assign(listed)
    found = [*standing, *kafka_offsets.sought(inner, named)]
    if found:
        inner.seek(found)
