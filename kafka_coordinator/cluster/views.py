"""What ``kafka-consumer-groups --describe`` of Kafka 4.1.0 would print of a simulated cluster, byte for byte.

Every block begins with an empty line. Java pads by UTF-16 code unit; widths are those of the block's own values.

In Kafka `ConsumerGroupCommand.ConsumerGroupService`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from kafka_coordinator import messages
from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.cluster.broker import Broker
from kafka_coordinator.cluster.cluster import KafkaCluster
from kafka_coordinator.coordinator.log import offsets_partition
from protocols.engine.nodes import Message
from protocols.engine.single import SingleNode
from protocols.errors import UserError
from protocols.java import sorted_pairs, utf16_key

T = TypeVar("T")

VIEWS = ("offsets", "members", "members-verbose", "state", "state-verbose")
"""The tool's arguments behind ``--describe``, with ``--verbose`` where the name says so."""

_PORT = 9092
_NOTHING = "-"


class GroupDescription(NamedTuple):
    """A group as its coordinator and its topics describe it. ``epochs``: of the group and of its target assignment;
    None where it is a classic group."""

    group: str
    coordinator: str
    """Host and port, two blanks, the broker's number in brackets."""
    state: str
    protocol: str
    members: tuple[messages.DescribedMember | messages.DescribedConsumer, ...]
    committed: Mapping[Partition, int]
    ends: Mapping[Partition, int]
    """End offsets of the partitions of all topics."""
    epochs: tuple[int, int] | None = None


def describe(cluster: KafkaCluster, group: str, view: str = "offsets") -> str:
    """The tool's standard output for one group now. Raises `UserError` for an unknown view, or where no broker of
    the cluster coordinates the group at the moment."""
    if view not in VIEWS:
        raise UserError(f"unknown view {view!r}, expected one of {', '.join(VIEWS)}")
    description = description_of(cluster, group)
    if description is None:
        error = "org.apache.kafka.common.errors.GroupIdNotFoundException"
        return f"\nError: Executing consumer group command failed due to {error}: Group {group} not found.\n"
    verbose = view.endswith("-verbose")
    if view == "offsets":
        table = _offsets(description)
    elif view.startswith("members"):
        table = _members(description, verbose)
    else:
        table = _state(description, verbose)
    return "".join(f"\n{line}" for line in table) + "\n" if table else ""


def description_of(cluster: KafkaCluster, group: str) -> GroupDescription | None:
    leaders = cluster.controller.state.offsets_leaders
    leader = leaders[offsets_partition(group, len(leaders))]
    process = cluster.simulation.processes.get(leader)
    if process is None or not isinstance(process.node, Broker):
        raise UserError(f"group {group!r} has no coordinator at the moment, because its broker is not running")
    described = _described(cluster, process.node, group)
    if described is None:
        return None
    state, protocol, members, epochs = described
    offsets = _asked(cluster, process.node, messages.OffsetFetch(2, group, None), messages.OffsetFetchAnswer)
    load, now = cluster.topics.load, cluster.simulation.now
    return GroupDescription(
        group,
        f"{leader}:{_PORT}  ({cluster.scenario.brokers.index(leader) + 1})",
        state,
        protocol,
        members,
        {partition: offset for partition, offset, _ in offsets.offsets},
        {
            (topic, number): load.production((topic, number)).end_offset(now)
            for topic, partitions in cluster.controller.state.topics.items()
            for number in range(len(partitions))
        },
        epochs,
    )


def _described(
    cluster: KafkaCluster, broker: Broker, group: str
) -> tuple[str, str, tuple[messages.DescribedMember | messages.DescribedConsumer, ...], tuple[int, int] | None] | None:
    """State, assignor, members and epochs; first as a group of the consumer protocol, as the tool asks."""
    found = _asked(cluster, broker, messages.ConsumerGroupDescribe(1, group), messages.ConsumerGroupDescribeAnswer)
    if found.error == "NONE":
        return found.state, found.assignor, found.members, (found.group_epoch, found.assignment_epoch)
    answer = _asked(cluster, broker, messages.DescribeGroup(1, group), messages.DescribeGroupAnswer)
    if answer.error == "GROUP_ID_NOT_FOUND":
        return None
    if answer.error != "NONE":
        raise UserError(f"group {group!r} cannot be described: {answer.error}")
    return answer.state, answer.protocol, answer.members, None


def _asked(cluster: KafkaCluster, broker: Broker, request: Message, kind: type[T]) -> T:
    """A broker's answer to a question that changes nothing, without any network."""
    alone = SingleNode(broker, now=cluster.simulation.now)
    alone.receive(cluster.simulation.now, "kafka-consumer-groups", request)
    answer = alone.take_sent()[0].message
    assert isinstance(answer, kind)
    return answer


def _offsets(found: GroupDescription) -> list[str]:
    numbers = ["PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
    header = ["GROUP", "TOPIC", *numbers, "CONSUMER-ID", "HOST", "CLIENT-ID"]
    owners = {
        partition: (member.member_id, member.host, member.client_id)
        for member in found.members
        for partition in sorted_pairs(member.assignment)
    }
    nobody = (_NOTHING, _NOTHING, _NOTHING)
    owners.update({partition: nobody for partition in found.committed if partition not in owners})
    rows = []
    for (topic, number), who in owners.items():
        at, end = found.committed.get((topic, number)), found.ends.get((topic, number), 0)
        told = (_NOTHING, end, _NOTHING) if at is None else (at, end, end - at)
        rows.append([found.group, topic, str(number), *map(str, told), *who])
    return _table([15, 15, 10, 15, 15, 15, 15, 15, 0], [header, *rows], (0, 1, 6, 7)) if rows else []


def _members(found: GroupDescription, verbose: bool) -> list[str]:
    static = any(member.instance_id for member in found.members)
    header = ["GROUP", "CONSUMER-ID", *(["GROUP-INSTANCE-ID"] if static else []), "HOST", "CLIENT-ID", "#PARTITIONS"]
    widths = [15, 15, *([17] if static else []), 15, 15, 15]
    growing = [*range(len(widths) - 1)]
    rows = [
        [
            found.group,
            member.member_id,
            *([member.instance_id or _NOTHING] if static else []),
            member.host,
            member.client_id,
            str(len(member.assignment)),
        ]
        for member in found.members
    ]
    if not verbose:
        return _table([*widths, 0], [[*row, ""] for row in (header, *rows)], growing)
    header += ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
    for row, member in zip(rows, found.members, strict=True):
        row += _epochs_and_assignments(found, member)
    growing += [len(widths) + 1, len(widths) + 3]
    widths += [15, 20, 15, 20]
    if any(isinstance(member, messages.DescribedConsumer) and member.is_classic for member in found.members):
        header.append("UPGRADED")
        widths.append(0)
        for row, member in zip(rows, found.members, strict=True):
            row.append("false" if isinstance(member, messages.DescribedConsumer) and member.is_classic else "true")
    return _table(widths, [header, *rows], growing)


def _epochs_and_assignments(
    found: GroupDescription, member: messages.DescribedMember | messages.DescribedConsumer
) -> list[str]:
    current = _assignment_text(member.assignment)
    if found.epochs is None or not isinstance(member, messages.DescribedConsumer):
        return [_NOTHING, current, _NOTHING, _NOTHING]
    return [str(member.member_epoch), current, str(found.epochs[1]), _assignment_text(member.target)]


def _state(found: GroupDescription, verbose: bool) -> list[str]:
    header = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"]
    row = [found.group, found.coordinator, found.protocol or _NOTHING, found.state, str(len(found.members))]
    widths = [15, 25, 20, 20, 0]
    if verbose:
        epochs = [_NOTHING] * 2 if found.epochs is None else [str(epoch) for epoch in found.epochs]
        header[4:4], row[4:4], widths[4:4] = ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH"], epochs, [15, 25]
    return _table(widths, [header, row], (0, 1))


def _assignment_text(assignment: Sequence[Partition]) -> str:
    topics: dict[str, list[str]] = {}
    for topic, number in sorted_pairs(assignment):
        topics.setdefault(topic, []).append(str(number))
    return ";".join(f"{topic}:{','.join(numbers)}" for topic, numbers in topics.items()) or _NOTHING


def _table(least: Sequence[int], rows: Sequence[Sequence[str]], growing: Sequence[int]) -> list[str]:
    """Rows in columns of at least these widths; only ``growing`` columns are as wide as what is below the header."""
    widths = list(least)
    for column in growing:
        widths[column] = max([widths[column], *(_units(row[column]) for row in rows[1:])])
    return [
        " ".join([cell + " " * (width - _units(cell)) for cell, width in zip(row, widths, strict=True)]) for row in rows
    ]


def _units(text: str) -> int:
    """Java's String.length()."""
    return len(utf16_key(text)) // 2
