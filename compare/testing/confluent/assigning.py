"""Which partitions are read: those that the group gave, or those that the user assigned as nobody's member.

The rules are librdkafka's: a member changes all of its assignment under an eager assignor, and parts of it under a
cooperative one; in ``on_assign`` nothing is assigned yet, and who assigns there says all that is.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from compare.testing.confluent import arguments, errors
from compare.testing.confluent.errors import where_of
from compare.testing.confluent.member import KafkaMember
from compare.testing.confluent.offsets import TAIL, sought
from compare.testing.confluent.reading import Partition
from kafka_coordinator.catalogue import NO_GENERATION
from kafka_coordinator.cluster import AssignAsMember

_EAGER = "Changes to the current assignment must be made using assign() when rebalance protocol type is EAGER"
_COOPERATIVE = (
    "Changes to the current assignment must be made using incremental_assign() or incremental_unassign()"
    " when rebalance protocol type is COOPERATIVE"
)


def subscription_of(topics: list[str]) -> dict[str, object]:
    """What the topics of subscribe() mean to the model's client: those that begin with ``^`` make a pattern."""
    patterns = [topic for topic in topics if topic.startswith("^")]
    return {"pattern": "|".join(patterns)} if patterns else {"subscribe": topics}


def assigned(inner: KafkaMember) -> errors.Listed:
    """The partitions that are read, sorted, with the offsets that were named."""
    return [errors.TopicPartition(*partition, inner.named(partition)) for partition in sorted(inner.read)]


def assign(inner: KafkaMember, given: object, *, as_member: bool) -> None:
    listed = arguments.partitions(given)
    if _takes_part(inner, as_member):
        return
    if (as_member or inner.has_left) and inner.state.cooperative:
        inner.log.refused(_COOPERATIVE)
        raise errors.exception("_STATE", "Failed to set assignment: Local: Erroneous state")
    twice = sorted(partition for partition, times in Counter(map(where_of, listed)).items() if times > 1)
    if twice:
        topic, number = twice[0]
        inner.log.refused(f"Duplicate {topic} [{number}] in input list")
        inner.forget_read()
    from_commits = errors.OFFSET_STORED, errors.OFFSET_INVALID
    if twice or any(not _is_offset(given.offset) and given.offset not in from_commits for given in listed):
        raise errors.exception("_INVALID_ARG", "Failed to set assignment: Local: Invalid argument or configuration")
    if not as_member:
        inner.assign(_offsets(listed))
        _begin(inner, listed)
        return
    inner.forget_read()
    _begin_as_member(inner, listed)


def unassign(inner: KafkaMember, *, as_member: bool) -> None:
    if _takes_part(inner, as_member):
        return
    if (as_member or inner.has_left) and inner.state.cooperative:
        inner.log.refused(_COOPERATIVE)
        raise errors.exception("_STATE", "Failed to remove assignment: Local: Erroneous state")
    if not as_member:
        inner.assign({})
        return
    inner.forget_read()


def incremental_assign(inner: KafkaMember, given: object, *, as_member: bool) -> None:
    listed = arguments.partitions(given)
    if _takes_part(inner, as_member):
        return
    if _is_eager(inner, as_member):
        raise _refused(inner, "_STATE", _EAGER)
    for topic, number in map(where_of, listed):
        if (topic, number) in inner.read:
            raise _refused(inner, "_CONFLICT", f"{topic} [{number}] is already part of the current assignment")
    if as_member:
        _begin_as_member(inner, listed)
        return
    standing = _standing(inner, inner.read)
    inner.assign({**inner.read, **_offsets(listed)}, anew=False)
    _go_on(inner, standing)
    _begin(inner, listed)


def incremental_unassign(inner: KafkaMember, given: object, *, as_member: bool) -> None:
    listed = arguments.partitions(given)
    if _takes_part(inner, as_member):
        return
    if _is_eager(inner, as_member):
        raise _refused(inner, "_STATE", _EAGER)
    if not inner.read:
        raise _refused(inner, "_INVALID_ARG", "Can't subtract from empty assignment")
    gone = [where_of(given) for given in listed]
    for topic, number in gone:
        if (topic, number) not in inner.read:
            reason = f"{topic} [{number}] can't be unassigned since it is not in the current assignment"
            raise _refused(inner, "_INVALID_ARG", reason)
    left = {partition: offset for partition, offset in inner.read.items() if partition not in gone}
    if as_member:
        inner.read = left
        for partition in gone:
            inner.position.pop(partition, None)
        return
    standing = _standing(inner, left)
    inner.assign(left, anew=False)
    _go_on(inner, standing)


def seek(inner: KafkaMember, where: errors.Partitioned) -> None:
    """Read on in a partition from its offset."""
    partition = where_of(where)
    if partition not in inner.read:
        name = "_STATE" if inner.knows(partition) else "_UNKNOWN_PARTITION"
        raise errors.exception(name, f"Failed to seek to offset {where.offset}: {errors.said(name)}")
    if partition in inner.failed or partition in inner.state.subscription.unpositioned:
        raise errors.exception("_STATE", f"Failed to seek to offset {where.offset}: {errors.said('_STATE')}")
    if where.offset == errors.OFFSET_INVALID:
        inner.reset(partition, "update: Success", None)
    elif _is_offset(where.offset):
        _begin(inner, [where])
    else:
        inner.stuck.add(partition)
        if where.offset == errors.OFFSET_STORED:
            reason = f"Failed to seek to offset {where.offset}: Local: Invalid argument or configuration"
            raise errors.exception("_INVALID_ARG", reason)


def _is_eager(inner: KafkaMember, as_member: bool) -> bool:
    """Before the first generation there is no assignor, and librdkafka refuses no way of assigning."""
    joined = as_member and inner.state.membership.generation != NO_GENERATION
    return not inner.state.cooperative and (joined or inner.has_left)


def _is_offset(offset: int) -> bool:
    """Whether it says where to read: a number, the beginning, the end, or so many records before it."""
    return offset >= errors.OFFSET_BEGINNING or offset <= TAIL


def _refused(inner: KafkaMember, name: str, why: str) -> Exception:
    inner.refused = inner.calling is not None and not inner.state.cooperative
    inner.log.refused(why)
    return errors.exception(name, why)


def _takes_part(inner: KafkaMember, as_member: bool) -> bool:
    """A listener that calls one of these says itself what is read, even where the call is refused. Whether that is all:
    while a member closes, librdkafka takes each of them for unassign(), and refuses none."""
    inner.once_read.update(topic for topic, _ in inner.read)
    if as_member:
        inner.answered, inner.refused = True, False
        if inner.is_closing:
            inner.forget_read()
    return as_member and inner.is_closing


def _offsets(listed: errors.Partitions) -> dict[Partition, int]:
    return {where_of(given): given.offset for given in listed}


def _begin(inner: KafkaMember, listed: errors.Partitions) -> None:
    found = [(partition, offset) for partition, offset in sought(inner, listed) if inner.exists(partition)]
    if found:
        inner.seek(found)


def _begin_as_member(inner: KafkaMember, listed: errors.Partitions) -> None:
    """Read these as the group's member, whether it has given them or not: from the offsets that they name, else from
    the committed ones."""
    inner.read.update(_offsets(listed))
    there = [partition for partition in map(where_of, listed) if inner.exists(partition)]
    if inner.calling is None or not set(there) <= set(inner.state.subscription.owned):
        inner.tell(AssignAsMember(tuple(there)))
    _begin(inner, listed)


def _standing(inner: KafkaMember, partitions: Iterable[Partition]) -> dict[Partition, int]:
    """Where these are read now."""
    positions = inner.state.subscription.positions
    return {partition: positions[partition].start for partition in partitions if partition in positions}


def _go_on(inner: KafkaMember, standing: Mapping[Partition, int]) -> None:
    kept = dict(inner.position)
    if standing:
        inner.seek(standing.items())
    inner.position.update(kept)
