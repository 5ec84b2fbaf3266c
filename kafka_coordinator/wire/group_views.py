"""Requests about groups as administrators make them: which coordinator, which groups, their members; delete a group."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Final, TypeVar

from kio.static.protocol import Entity

from kafka_coordinator.assignors.inputs import Partition
from kafka_coordinator.coordinator.share_groups.messages import ShareGroupDescribeAnswer
from kafka_coordinator.errors import COORDINATOR_NOT_AVAILABLE, GROUP_ID_NOT_FOUND, INVALID_REQUEST, NONE
from kafka_coordinator.messages import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribeAnswer,
    CoordinatorFound,
    DeleteGroup,
    DeleteGroupAnswer,
    DescribedConsumer,
    DescribedMember,
    DescribeGroup,
    DescribeGroupAnswer,
    FindCoordinator,
    ListGroups,
    ListGroupsAnswer,
)
from kafka_coordinator.wire.entities import MALFORMED, Kind, code, has, make, part
from kafka_coordinator.wire.names import ClientName
from kafka_coordinator.wire.opaque import by_topic, bytes_of
from kafka_coordinator.wire.requests import Piece, Rests
from kafka_coordinator.wire.state import NO_ID, NO_THROTTLE, Asked, BrokerState, Translation
from protocols.engine.nodes import Message

if TYPE_CHECKING:
    from kio.schema.consumer_group_describe.v1.request import ConsumerGroupDescribeRequest
    from kio.schema.delete_groups.v2.request import DeleteGroupsRequest
    from kio.schema.describe_groups.v6.request import DescribeGroupsRequest
    from kio.schema.find_coordinator.v6.request import FindCoordinatorRequest
    from kio.schema.list_groups.v5.request import ListGroupsRequest

T = TypeVar("T")

_GROUP: Final = 0
_TRANSACTION: Final = 1
_SHARE: Final = 2
"""Key types of FindCoordinator."""

_SERVED: Final = (_GROUP, _TRANSACTION)
"""The coordinator of a transactional id is that of the group of this name: both follow from the leaders of
``__consumer_offsets``."""

_TEXTS: Final = {INVALID_REQUEST: MALFORMED, COORDINATOR_NOT_AVAILABLE: "The coordinator is not available."}

NO_OPERATIONS: Final = -(2**31)
GROUP_OPERATIONS: Final = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
"""Read, delete, describe, describe and alter configs: what a broker without ACLs lets everybody do with a group."""

_CLASSIC_MEMBER: Final = 0
_CONSUMER_MEMBER: Final = 1


def _keys(body: "FindCoordinatorRequest") -> Sequence[str]:
    return body.coordinator_keys if has(type(body), "coordinator_keys") else (getattr(body, "key", ""),)


def _read_find(body: "FindCoordinatorRequest", asked: Asked) -> Sequence[Message]:
    if getattr(body, "key_type", _GROUP) not in _SERVED:
        return []
    return [FindCoordinator(asked.first + place, key) for place, key in enumerate(_keys(body))]


def _write_find(kind: Kind, body: "FindCoordinatorRequest", asked: Asked, answers: Sequence[CoordinatorFound]) -> Piece:
    key_type = getattr(body, "key_type", _GROUP)
    item = part(kind, "coordinators") if has(kind, "coordinators") else kind

    def found(placed: tuple[int, str]) -> Entity:
        place, key = placed
        if answers:
            error, message, broker = answers[place].error, "", answers[place].broker
        else:
            error, message, broker = INVALID_REQUEST, "" if key_type == _SHARE else MALFORMED, ""
        address = asked.state.addresses.get(broker)
        if error == NONE and address is None:
            error = COORDINATOR_NOT_AVAILABLE
        node_id, host, port = (-1, "", -1) if address is None or error != NONE else address[:3]
        return make(
            item,
            throttle_time=NO_THROTTLE,
            key=key,
            node_id=node_id,
            host=host,
            port=port,
            error_code=code(error),
            error_message=message if item is not kind else message or _text(error),
        )

    coordinators = yield from made_of(enumerate(_keys(body)), Rests(), found)
    return coordinators[0] if item is kind else make(kind, throttle_time=NO_THROTTLE, coordinators=coordinators)


def _text(error: str) -> str:
    """What an answer about a single key tells beside its error."""
    return _TEXTS.get(error, error)


def described_group(
    item: Kind,
    body: Entity,
    group: str,
    answer: DescribeGroupAnswer | ConsumerGroupDescribeAnswer | ShareGroupDescribeAnswer,
    why: str,
    **more: object,
) -> Entity:
    """The description of a group, with what only groups of its protocol have; ``why`` there is none."""
    return make(
        item,
        error_code=code(answer.error),
        error_message=f"Group {group} {why}." if answer.error == GROUP_ID_NOT_FOUND else None,
        group_id=group,
        group_state=answer.state,
        authorized_operations=_operations(body, answer.error),
        **more,
    )


def _read_describe(body: "DescribeGroupsRequest", asked: Asked) -> Sequence[Message]:
    return [DescribeGroup(asked.first + place, group, asked.version) for place, group in enumerate(body.groups)]


def _write_describe(
    kind: Kind, body: "DescribeGroupsRequest", asked: Asked, answers: Sequence[DescribeGroupAnswer]
) -> Piece:
    item, rests = part(kind, "groups"), Rests()
    groups = []
    core = asked.state.broker.coordinator.core
    for group, answer in zip(body.groups, answers, strict=True):
        if rests.due():
            yield
        why = "is not a classic group" if core.readable(group) or group in core.share_groups else "not found"
        members = yield from made_of(answer.members, rests, partial(_described, part(item, "members")))
        groups.append(
            described_group(
                item,
                body,
                group,
                answer,
                why,
                protocol_type=answer.protocol_type,
                protocol_data=answer.protocol,
                members=members,
            )
        )
    return make(kind, throttle_time=NO_THROTTLE, groups=tuple(groups))


def _operations(body: Entity, error: str) -> int:
    wanted = getattr(body, "include_authorized_operations", False) and error == NONE
    return GROUP_OPERATIONS if wanted else NO_OPERATIONS


def _described(kind: Kind, member: DescribedMember) -> Entity:
    return make(
        kind,
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=own_client_id(member.client_id),
        client_host=host_of(member.host),
        member_metadata=bytes_of(member.metadata),
        member_assignment=bytes_of(member.assignment),
    )


def own_client_id(name: str) -> str:
    """What the client calls itself whom this name tells from others."""
    return name.client_id if isinstance(name, ClientName) else name


def host_of(host: str) -> str:
    """A member's host as Kafka prints it, without the port that is in its connection's name."""
    address, _, port = host.rpartition(":")
    if not port.isdigit():
        return host
    if address.startswith("/["):
        groups = IPv6Address(address[2:-1]).exploded.split(":")
        return "/" + ":".join([f"{int(group, 16):x}" for group in groups])
    return address


def _read_describe_consumers(body: "ConsumerGroupDescribeRequest", asked: Asked) -> Sequence[Message]:
    return [ConsumerGroupDescribe(asked.first + place, group) for place, group in enumerate(body.group_ids)]


def _write_describe_consumers(
    kind: Kind, body: "ConsumerGroupDescribeRequest", asked: Asked, answers: Sequence[ConsumerGroupDescribeAnswer]
) -> Piece:
    item, core, rests = part(kind, "groups"), asked.state.broker.coordinator.core, Rests()
    groups = []
    for group, answer in zip(body.group_ids, answers, strict=True):
        if rests.due():
            yield
        why = "is not a consumer group" if core.is_group(group) else "not found"
        members = []
        for member in answer.members:
            members.append((yield from _described_consumer(part(item, "members"), member, asked.state, rests)))
        groups.append(
            described_group(
                item,
                body,
                group,
                answer,
                why,
                group_epoch=answer.group_epoch,
                assignment_epoch=answer.assignment_epoch,
                assignor_name=answer.assignor,
                members=tuple(members),
            )
        )
    return make(kind, throttle_time=NO_THROTTLE, groups=tuple(groups))


def _described_consumer(kind: Kind, member: DescribedConsumer, state: BrokerState, rests: Rests) -> Piece:
    assignment = yield from named_partitions(part(kind, "assignment"), member.assignment, state, rests)
    target = yield from named_partitions(part(kind, "target_assignment"), member.target, state, rests)
    return make(
        kind,
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack,
        member_epoch=member.member_epoch,
        client_id=own_client_id(member.client_id),
        client_host=host_of(member.host),
        subscribed_topic_names=member.topics,
        subscribed_topic_regex=member.regex,
        assignment=assignment,
        target_assignment=target,
        member_type=_CLASSIC_MEMBER if member.is_classic else _CONSUMER_MEMBER,
    )


def named_partitions(kind: Kind, partitions: Iterable[Partition], state: BrokerState, rests: Rests) -> Piece:
    """Partitions by topic, with its id and, where this class has a field for it, its name."""
    item, ids = part(kind, "topic_partitions"), state.topic_ids

    def named(topic: tuple[str, tuple[int, ...]]) -> Entity:
        return make(item, topic_id=ids.get(topic[0], NO_ID), topic_name=topic[0], partitions=topic[1])

    topics = yield from made_of(by_topic(partitions), rests, named)
    return make(kind, topic_partitions=topics)


def made_of(items: Iterable[T], rests: Rests, made: Callable[[T], Entity]) -> Generator[None, None, tuple[Entity, ...]]:
    """What is made of each item; others have their turn in between."""
    entities = []
    for item in items:
        if rests.due():
            yield
        entities.append(made(item))
    return tuple(entities)


def _read_list(body: "ListGroupsRequest", asked: Asked) -> Sequence[Message]:
    return [ListGroups(asked.first, getattr(body, "states_filter", ()) or (), getattr(body, "types_filter", ()) or ())]


def _write_list(kind: Kind, body: "ListGroupsRequest", asked: Asked, answers: Sequence[ListGroupsAnswer]) -> Entity:
    (answer,) = answers
    item = part(kind, "groups")
    groups = [
        make(item, group_id=group, protocol_type=protocol_type, group_state=state, group_type=group_type.lower())
        for group, protocol_type, state, group_type in answer.groups
    ]
    return make(kind, throttle_time=NO_THROTTLE, error_code=code(answer.error), groups=tuple(groups))


def _read_delete(body: "DeleteGroupsRequest", asked: Asked) -> Sequence[Message]:
    return [DeleteGroup(asked.first + place, group) for place, group in enumerate(dict.fromkeys(body.groups_names))]


def _write_delete(
    kind: Kind, body: "DeleteGroupsRequest", asked: Asked, answers: Sequence[DeleteGroupAnswer]
) -> Entity:
    item = part(kind, "results")
    results = [
        make(item, group_id=group, error_code=code(answer.error), error_message=None)
        for group, answer in zip(dict.fromkeys(body.groups_names), answers, strict=True)
    ]
    return make(kind, throttle_time=NO_THROTTLE, results=tuple(results))


TRANSLATIONS: Mapping[int, Translation] = {
    10: Translation(_read_find, _write_find),
    15: Translation(_read_describe, _write_describe),
    16: Translation(_read_list, _write_list),
    42: Translation(_read_delete, _write_delete),
    69: Translation(_read_describe_consumers, _write_describe_consumers),
}
"""API key to its translation."""
