"""Which partitions are read: those that the group gave, or those that the user assigned as nobody's member.

The rules are librdkafka's: a member changes all of its assignment under an eager assignor, and parts of it under a
cooperative one; in ``on_assign`` nothing is assigned yet, and who assigns there says all that is.
"""

from collections.abc import Iterable, Mapping

from compare.testing.confluent import arguments as arguments
from compare.testing.confluent import errors as errors
from compare.testing.confluent import offset_queries
from compare.testing.confluent.member import KafkaMember
from compare.testing.kafka.node import Partition

_EAGER = "Changes to the current assignment must be made using assign() when rebalance protocol type is EAGER"


def partitions_of(listed: Iterable[errors.Partitioned]) -> list[Partition]:
    """Topic and number of each."""
    return [(each.topic, each.partition) for each in listed]


def subscription_of(topics: list[str]) -> dict[str, object]:
    """What the topics of subscribe() mean to the model's client: those that begin with ``^`` make a pattern."""
    patterns = [topic for topic in topics if topic.startswith("^")]
    return {"pattern": "|".join(patterns)} if patterns else {"subscribe": topics}


def assigned(inner: KafkaMember) -> errors.Listed:
    """The partitions that are read, sorted, with the offsets that were named."""
    return [errors.TopicPartition(*each, inner.named(each)) for each in sorted(inner.read)]


def assign(inner: KafkaMember, given: object, *, as_member: bool) -> None:
    """Read exactly these."""
    listed = arguments.partitions(given)
    _takes_part(inner, as_member)
    if as_member and inner.state.cooperative:
        raise errors.exception("_STATE", "Failed to set assignment: Local: Erroneous state")
    if len({(each.topic, each.partition) for each in listed}) < len(listed):
        inner.read.clear()
        inner.position.clear()
        raise errors.exception("_INVALID_ARG", "Failed to set assignment: Local: Invalid argument or configuration")
    if not as_member:
        inner.assign(_offsets(listed))
        _begin(inner, listed)
        return
    _check_held(inner, listed)
    inner.read.clear()
    inner.position.clear()
    _begin_as_member(inner, listed)


def unassign(inner: KafkaMember, *, as_member: bool) -> None:
    """Read nothing."""
    _takes_part(inner, as_member)
    if not as_member:
        inner.assign({})
        return
    if inner.state.cooperative:
        raise errors.exception("_STATE", "Failed to remove assignment: Local: Erroneous state")
    inner.read.clear()
    inner.position.clear()


def incremental_assign(inner: KafkaMember, given: object, *, as_member: bool) -> None:
    """Read these, too."""
    listed = arguments.partitions(given)
    _takes_part(inner, as_member)
    if as_member and not inner.state.cooperative:
        raise errors.exception("_STATE", _EAGER)
    for topic, number in partitions_of(listed):
        if (topic, number) in inner.read:
            raise errors.exception("_CONFLICT", f"{topic} [{number}] is already part of the current assignment")
    if as_member:
        _check_held(inner, listed)
        _begin_as_member(inner, listed)
        return
    standing = _standing(inner, inner.read)
    inner.assign({**inner.read, **_offsets(listed)}, anew=False)
    _go_on(inner, standing)
    _begin(inner, listed)


def incremental_unassign(inner: KafkaMember, given: object, *, as_member: bool) -> None:
    """Read these no more."""
    listed = arguments.partitions(given)
    _takes_part(inner, as_member)
    if as_member and not inner.state.cooperative:
        raise errors.exception("_STATE", _EAGER)
    if not inner.read:
        raise errors.exception("_INVALID_ARG", "Can't subtract from empty assignment")
    gone = partitions_of(listed)
    for topic, number in gone:
        if (topic, number) not in inner.read:
            reason = f"{topic} [{number}] can't be unassigned since it is not in the current assignment"
            raise errors.exception("_INVALID_ARG", reason)
    left = {each: offset for each, offset in inner.read.items() if each not in gone}
    if as_member:
        inner.read = left
        for each in gone:
            inner.position.pop(each, None)
        return
    standing = _standing(inner, left)
    inner.assign(left, anew=False)
    _go_on(inner, standing)


def seek(inner: KafkaMember, where: errors.Partitioned) -> None:
    """Read on in a partition from its offset."""
    partition = where.topic, where.partition
    if partition not in inner.read:
        name = "_STATE" if partition in inner.once_read else "_UNKNOWN_PARTITION"
        raise errors.exception(name, f"Failed to seek to offset {where.offset}: {errors.said(name)}")
    if where.offset == errors.OFFSET_INVALID:
        inner.seek([(partition, inner.reset_offset(partition))])
    elif where.offset < errors.OFFSET_BEGINNING:
        reason = f"Failed to seek to offset {where.offset}: Local: Invalid argument or configuration"
        raise errors.exception("_INVALID_ARG", reason)
    else:
        _begin(inner, [where])


def _takes_part(inner: KafkaMember, as_member: bool) -> None:
    """A listener that calls one of these says itself what is read, even where the call is refused."""
    inner.once_read.update(inner.read)
    if as_member:
        inner.answered = True


def _offsets(listed: errors.Partitions) -> dict[Partition, int]:
    return {(each.topic, each.partition): each.offset for each in listed}


def _begin(inner: KafkaMember, listed: errors.Partitions) -> None:
    found = [each for each in offset_queries.sought(inner, listed) if inner.exists(each[0])]
    if found:
        inner.seek(found)


def _begin_as_member(inner: KafkaMember, listed: errors.Partitions) -> None:
    """Read these of the group's, from the offsets that they name, else from the committed ones."""
    inner.read.update(_offsets(listed))
    _begin(inner, listed)
    committed = inner.committed()
    again = [each for each, offset in _offsets(listed).items() if offset == errors.OFFSET_INVALID]
    if inner.calling is None and again:
        inner.seek([(each, committed.get(each, inner.reset_offset(each))) for each in again])


def _standing(inner: KafkaMember, partitions: Iterable[Partition]) -> dict[Partition, int]:
    """Where these are read now."""
    positions = inner.state.subscription.positions
    return {each: positions[each].start for each in partitions if each in positions}


def _go_on(inner: KafkaMember, standing: Mapping[Partition, int]) -> None:
    kept = dict(inner.position)
    if standing:
        inner.seek(standing.items())
    inner.position.update(kept)


def _check_held(inner: KafkaMember, partitions: errors.Partitions) -> None:
    """Raises `KafkaException` for a partition that the group has not given: the real client reads it all the same,
    beside its owner."""
    for topic, number in partitions_of(partitions):
        if (topic, number) not in inner.state.subscription.owned:
            raise errors.exception("_STATE", f"{topic} [{number}] is not assigned to {inner.name}")
