"""From a cluster's answers to facts, the same ones that the tools' views give."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from compare.formatting import many
from compare.reading.kafka.facts import (
    BrokerSettings,
    Client,
    Fact,
    GroupState,
    MembersTable,
    OffsetsTable,
    OtherGroup,
    ShareGroup,
    TopicQueues,
)
from compare.reading.kafka.listings import REBALANCING
from compare.reading.kafka_live import epochs
from compare.reading.kafka_live.connection import (
    TIMED_OUT,
    Answer,
    Connection,
    GroupDescription,
    MemberDescription,
    Places,
    name,
)
from compare.reading.kafka_live.ends import Leaders, end_offsets
from compare.reading.kafka_live.share import gone, share_groups
from compare.reading.observed import ObservedMember, Skipped
from compare.reading.sources import NOTHING_KNOWN, Known
from protocols import Queue, UserError, sort_queues

_STATES = {
    "STABLE": "Stable",
    "EMPTY": "Empty",
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
}
_CONSUMER_PROTOCOL = {"CONSUMER": True, "CLASSIC": False}
_OFFSETS = "__consumer_offsets"

Committed = Mapping[Queue, int]
AskEpochs = Callable[[epochs.Nodes, Mapping[str, str], float, float], Mapping[str, int]]


def fetch(
    connection: Connection,
    source: str,
    progress: Callable[[str], None],
    ask_epochs: AskEpochs = epochs.epochs,
    before: Known = NOTHING_KNOWN,
) -> Iterator[Fact | Skipped]:
    """Ask for everything about all consumer groups; `UserError` if the cluster does not even list them. ``before``:
    what an earlier reading has found. A broker lists what it has loaded: while a coordinator moves, neither the
    old one nor the new one lists its groups, so those that nobody lists are asked for by name.

    Order: groups, then per group members and commits, then partitions and their ends. So a partition or record that
    comes into being meanwhile is at worst counted as not owned yet or not read yet.
    """
    listed, refused = _list(connection)
    names = sorted({*listed, *before.groups})
    yield from (
        Skipped(source, None, f"a broker does not list its groups: {why}", hides_groups=True) for why in refused
    )
    of_others = list(others(connection, source, names))
    yield from of_others
    read = _Read()
    yield from _read(connection, source, names, listed, progress, read)
    described, committed = read.described, read.committed
    connection.groups = tuple(group for group in names if group not in read.gone)
    leaders = _leaders(connection)
    shares = {each.group for each in of_others if isinstance(each, ShareGroup)}
    untold = _not_gone(connection, sorted({*before.shares} - shares))
    connection.shares = sorted({*shares, *untold})
    hidden = list(_hidden(read.unread, read.late, len(names), leaders))
    if untold:
        more = f" and {len(untold) - 1} more" if untold[1:] else ""
        hidden.append(f"share group {untold[0]!r}{more}: no coordinator tells of it")
    yield from (Skipped(source, None, why, hides_groups=True) for why in hidden)
    if not listed and not connection.groups and not refused and not of_others and not hidden:
        yield Skipped(source, None, "no broker of the cluster lists a consumer group")
    topics = {queue.topic for about in described.values() for member in about.members for queue in _to_own(member)}
    topics.update(queue.topic for offsets in committed.values() for queue in offsets)
    yield from (TopicQueues(source, topic, tuple(leaders[topic])) for topic in sorted(topics & leaders.keys()))
    ends, unknown = end_offsets(
        connection, sort_queues({queue for each in committed.values() for queue in each}), leaders
    )
    if unknown:
        why = ", ".join(sorted(set(unknown.values())))
        yield Skipped(
            source, None, f"the lag of {many(len(unknown), 'partition')} is unknown, because the end offset is: {why}"
        )
    found_epochs = _epochs(connection, described, ask_epochs)
    # A node that does not answer would be waited for once more.
    joined = {} if refused else _joined(connection)
    for group, about in described.items():
        grown = found_epochs.get(group), *joined.get(group, (None, ()))
        yield from _facts(source, group, about, committed.get(group), ends, grown)


@dataclass(slots=True)
class _Read:
    """What the groups have told. ``unread``: a broker's reason to the groups that it does not tell of; ``late``: how
    many were not described in time; ``gone``: those that there are no more."""

    described: dict[str, GroupDescription] = field(default_factory=dict)
    committed: dict[str, Committed] = field(default_factory=dict)
    unread: dict[str, list[str]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    late: int = 0


def _read(
    connection: Connection,
    source: str,
    names: Sequence[str],
    listed: Sequence[str],
    progress: Callable[[str], None],
    read: _Read,
) -> Iterator[Skipped]:
    """Fill ``read`` with what these groups tell. `UserError` where none is described in time."""
    read.late = len(names)
    for done, (group, about, offsets) in enumerate(_groups(connection, names), 1):
        progress(f"{source}: group {done} of {len(names)}")
        if isinstance(about, Exception) and name(about) == TIMED_OUT and connection.is_over(connection.timeout_s):
            continue
        read.late -= 1
        if _is_gone(about):
            read.gone.add(group)
            if group in listed:
                yield Skipped(source, None, f"group {group!r} was deleted while the cluster was read")
            continue
        if isinstance(about, Exception):
            read.unread.setdefault(connection.text(about), []).append(group)
            continue
        read.described[group] = about
        if isinstance(offsets, Exception):
            yield Skipped(source, None, f"offsets of group {group!r} cannot be read: {connection.text(offsets)}")
        else:
            read.committed[group] = _commits(offsets)
    if read.late and read.late == len(names):
        raise UserError(
            f"{connection.servers} does not describe its {read.late} groups in time, expected a longer --timeout"
        )


def _hidden(unread: Mapping[str, Sequence[str]], late: int, count: int, leaders: Leaders) -> Iterator[str]:
    """Why some of the groups are not told. ``unread``: a broker's reason to groups; ``late``: how many of the ``count``
    listed groups were not described in time."""
    for why, (first, *others) in unread.items():
        yield f"group {first!r}{f' and {len(others)} more' if others else ''} cannot be read: {why}"
    if late:
        yield f"{late} of {count} groups are not read in time, expected a longer --timeout"
    of_offsets = leaders.get(_OFFSETS, {}).values()
    if leaderless := sum(leader < 0 for leader in of_offsets):
        yield (
            f"{leaderless} of {many(len(of_offsets), 'partition')} of {_OFFSETS} have no leader: groups that are kept"
            " there are not listed"
        )


def _not_gone(connection: Connection, shares: Sequence[str]) -> list[str]:
    """Those of these share groups, which nobody lists, that no coordinator calls gone."""
    nodes: dict[tuple[str, int], Sequence[str]] = {}
    for at in connection.brokers.values() if shares else ():
        host, _, port = at.rpartition(":")
        nodes[host, int(port)] = shares
    over = gone(nodes, connection.settings.values, connection.wait_s(), connection.ends)
    return [share for share in shares if share not in over]


def broker_settings(connection: Connection, source: str) -> Iterator[BrokerSettings | Skipped]:
    """The settings of every broker that the cluster has told of (`fetch`): each is asked for its own."""
    from confluent_kafka.admin import ConfigResource

    def requests() -> Iterator[Answer]:
        for id in connection.brokers:
            resource = ConfigResource(ConfigResource.Type.BROKER, str(id))
            yield from connection.admin.describe_configs([resource], request_timeout=connection.wait_s()).values()

    for id, answer in zip(connection.brokers, connection.each(requests()), strict=True):
        told = (
            {}
            if isinstance(answer, Exception)
            else {name: "" if each.value is None else each.value for name, each in answer.items()}
        )
        if not told:
            yield Skipped(source, None, f"broker {id} does not tell its settings: {connection.text(answer)}")
        yield BrokerSettings(source, str(id), told)


def _epochs(connection: Connection, described: Mapping[str, GroupDescription], ask: AskEpochs) -> Mapping[str, int]:
    of_coordinators: dict[tuple[str, int], list[str]] = {}
    for group, about in described.items():
        if _CONSUMER_PROTOCOL.get(about.type.name):
            of_coordinators.setdefault((about.coordinator.host, about.coordinator.port), []).append(group)
    return ask(of_coordinators, connection.settings.values, connection.wait_s(), connection.ends)


def _joined(connection: Connection) -> dict[str, epochs.Joined]:
    """Classic group to what its members sent; none where the library fails, for nothing rests on it."""
    found: dict[str, epochs.Joined] = {}
    if connection.is_over():
        return found
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its successors do not tell what members sent
        for group in connection.admin.list_groups(timeout=connection.wait_s()):
            if group.protocol_type == "consumer":
                found[group.id] = epochs.joined(member.metadata or b"" for member in group.members)
    return found


def _list(connection: Connection) -> tuple[list[str], list[str]]:
    """The groups' names, sorted, and why a node did not tell its own."""
    listed = connection.first(connection.admin.list_consumer_groups(request_timeout=connection.wait_s()))
    if listed.errors and not listed.valid:
        raise connection.refusal(listed.errors[0])
    refused = sorted({connection.text(error) for error in listed.errors})
    # Kafka allows a group with an empty id for bare offsets; the library cannot ask for it.
    return sorted({each.group_id for each in listed.valid if each.group_id}), refused


def others(connection: Connection, source: str, names: Sequence[str]) -> Iterator[OtherGroup | ShareGroup | Skipped]:
    """Share groups, and the names of groups of other kinds. librdkafka lists them in its older answer alone, where what
    is no classic group has no protocol: its type is asked for once more."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            listed = connection.admin.list_groups(timeout=connection.wait_s())
    except Exception as error:
        why = connection.text(error)
        yield Skipped(
            source, None, f"whether there are share groups or streams groups is unknown: {why}", hides_groups=True
        )
        return
    found = {each.id: each for each in listed if each.id and each.id not in names and each.protocol_type != "consumer"}
    nameless: dict[tuple[str, int], list[str]] = {}
    for group, each in found.items():
        if not each.protocol_type:
            nameless.setdefault((each.broker.host, each.broker.port), []).append(group)
    values, wait_s, ends = connection.settings.values, connection.wait_s(), connection.ends
    types = epochs.types(nameless, values, wait_s, ends)
    shares = {node: [group for group in groups if types.get(group) == "share"] for node, groups in nameless.items()}
    told = list(share_groups({node: groups for node, groups in shares.items() if groups}, values, wait_s, ends, source))
    yield from told
    for fact in told:
        found.pop(fact.group, None)
    for group, each in sorted(found.items()):
        if each.protocol_type:
            kind = f"a group of the protocol {each.protocol_type}"
        elif group in types:
            kind = f"a {types[group]} group"
        else:
            kind = "a share group or a streams group (kafka-groups.sh --list says which)"
        yield OtherGroup(source, group)
        yield Skipped(source, None, f"{group!r} is {kind}, no consumer group, so no member owns partitions to judge")


def _groups(
    connection: Connection, names: Sequence[str]
) -> Iterator[tuple[str, GroupDescription | Exception, Places | Exception]]:
    """Each group with its description and its offsets, an exception in place of either that failed; only the first ones
    where time runs out."""
    from confluent_kafka import ConsumerGroupTopicPartitions

    admin = connection.admin
    # Topics and ends are asked for afterwards: without them the groups would tell little.
    reserve_s = connection.timeout_s

    def requests() -> Iterator[Answer]:
        for group in names:
            if connection.is_over(reserve_s):
                return
            yield admin.describe_consumer_groups([group], request_timeout=connection.wait_s(reserve_s))[group]
            request = [ConsumerGroupTopicPartitions(group)]
            yield admin.list_consumer_group_offsets(request, request_timeout=connection.wait_s(reserve_s))[group]

    answers = connection.each(requests())
    # Two answers belong to each group.
    yield from zip(names, answers, answers, strict=False)


def _is_gone(about: GroupDescription | Exception) -> bool:
    """Newer nodes answer with an error, older ones with a state."""
    if isinstance(about, Exception):
        return name(about) == "GROUP_ID_NOT_FOUND"
    return bool(about.state.name == "DEAD")


def _leaders(connection: Connection) -> Leaders:
    try:
        metadata = connection.admin.list_topics(timeout=connection.wait_s())
    except Exception as error:
        raise UserError(f"{connection.servers} does not list its topics: {connection.text(error)}") from None
    connection.cluster = metadata.cluster_id or ""
    connection.brokers = {id: f"{each.host}:{each.port}" for id, each in sorted(metadata.brokers.items())}
    return {
        topic: {number: about.partitions[number].leader for number in sorted(about.partitions)}
        for topic, about in metadata.topics.items()
        if about.partitions
    }


def _facts(
    source: str,
    group: str,
    about: GroupDescription,
    committed: Committed | None,
    ends: Mapping[Queue, int],
    grown: tuple[int | None, int | None, tuple[str, ...]],
) -> Iterator[Fact]:
    """``grown``: epoch, generation, and the racks of members."""
    consumer_protocol = _CONSUMER_PROTOCOL.get(about.type.name)
    state = _STATES.get(about.state.name)
    if state is None and consumer_protocol:
        # librdkafka has no names for what only the consumer protocol has: Assigning and Reconciling.
        state = REBALANCING
    strategy = about.partition_assignor or None
    members = tuple(sorted((_member(member) for member in about.members), key=lambda member: member.id))
    only_offsets = bool(about.is_simple_consumer_group)
    at = about.coordinator
    runs = None if at is None else f"{at.host}:{at.port} ({at.id})"
    count = len(members)
    yield GroupState(source, group, "state", state, strategy, count, consumer_protocol, only_offsets, runs, *grown)
    targets = {queue for member in about.members for queue in _queues(member.target_assignment)}
    yield MembersTable(
        source, group, members, True, sort_queues(targets), consumer_protocol, complete=True, moving=_moving(about)
    )
    if committed is None:
        return
    owned = {member.id: member.owned for member in members if member.owned}
    taken = {queue for queues in owned.values() for queue in queues}
    yield OffsetsTable(
        source=source,
        group=group,
        owned=owned,
        unowned=tuple(queue for queue in sort_queues(committed) if queue not in taken),
        lag={queue: _lag(queue, committed, ends) for queue in sort_queues(taken | committed.keys())},
        clients={member.id: Client(member.client_id, member.host) for member in members if member.owned},
        complete=True,
        ends={queue: ends[queue] for queue in sort_queues(committed) if queue in ends},
        endless=tuple(queue for queue in sort_queues(committed) if queue not in ends),
    )


def _member(about: MemberDescription) -> ObservedMember:
    return ObservedMember(
        id=about.member_id,
        owned=_owned(about),
        client_id=about.client_id or None,
        instance_id=about.group_instance_id or None,
        host=about.host or None,
    )


def _owned(member: MemberDescription) -> tuple[Queue, ...]:
    return sort_queues(set(_queues(member.assignment)))


def _moving(about: GroupDescription) -> tuple[str, ...] | None:
    """Members that do not own yet what they are to own; None where no target is told, as in the classic protocol."""
    aimed = [member for member in about.members if member.target_assignment is not None]
    if not aimed:
        return None
    return tuple(each.member_id for each in aimed if set(_owned(each)) != set(_queues(each.target_assignment)))


def _to_own(member: MemberDescription) -> list[Queue]:
    """What a member has and what it is to have."""
    return _queues(member.assignment) + _queues(member.target_assignment)


def _queues(assignment: Places | None) -> list[Queue]:
    return (
        []
        if assignment is None
        else [Queue(partition.topic, "", partition.partition) for partition in assignment.topic_partitions or ()]
    )


def _commits(offsets: Places) -> dict[Queue, int]:
    found = offsets.topic_partitions or []
    return {Queue(each.topic, "", each.partition): each.offset for each in found if not each.error and each.offset >= 0}


def _lag(queue: Queue, committed: Committed, ends: Mapping[Queue, int]) -> int | None:
    if queue not in committed or queue not in ends:
        return None
    # A topic made anew ends before what was committed: nothing is left to read.
    return max(ends[queue] - committed[queue], 0)
