"""Sizes of frames that are computed are those of the frames that the codec writes."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode

from kafka_coordinator import messages
from kafka_coordinator.coordinator.share_groups import messages as group
from kafka_coordinator.frame_sizes import frame_size, opaque
from kafka_coordinator.share import messages as records
from kafka_coordinator.wire.entities import Kind, make, part
from kafka_coordinator.wire.opaque import by_topic, bytes_of
from kafka_coordinator.wire.writing import content
from tests.rows import rows

CLIENT = "billing-7"
LONG = "a-group-whose-name-is-" + "long" * 40
SHARE = (("orders", 0), ("orders", 3), ("payments", 1))
OFFSETS = tuple((partition, 70_000_000_000 + number, "") for number, partition in enumerate(SHARE))
METADATA = messages.ConsumerMetadata(("orders", "payments"), SHARE, 5, "rack-1")
MEMBER = "consumer-billing-7-5b5f2a1c-3b6b-4b1e-9d3c-2f6f1f0f6d11"
NONE, LATER = ErrorCode.none, timedelta(0)
SECONDS = timedelta(seconds=45)


def request(key: int, version: int, **values: Any) -> int:
    """Bytes of the frame: length, header with the client's id, body."""
    kind = load_request_schema(key, version)
    return 4 + 2 + 2 + 4 + 2 + len(CLIENT) + 1 + len(content(make(_kind(kind), **values)))


def answer(key: int, version: int, **values: Any) -> int:
    return 4 + 4 + 1 + len(content(make(_kind(load_response_schema(key, version)), **values)))


def _kind(schema: Any) -> Kind:
    kind: Kind = schema
    return kind


def of(key: int, version: int, *names: str, asked: bool = False) -> Kind:
    return part(_kind((load_request_schema if asked else load_response_schema)(key, version)), *names)


def topics(kind: Kind, inner: Kind, **values: Any) -> tuple[Any, ...]:
    """Of each topic its partitions, with these values."""
    return tuple(
        make(kind, name=topic, partitions=tuple(make(inner, partition_index=each, **values) for each in numbers))
        for topic, numbers in by_topic(SHARE)
    )


def ids(kind: Kind, values: list[tuple[int, ...]]) -> tuple[Any, ...]:
    return tuple(make(kind, topic_id=UUID(int=1), partitions=numbers) for numbers in values)


_NUMBERS = [numbers for _, numbers in by_topic(SHARE)]
_OFFSET = {"committed_offset": 70_000_000_001, "committed_leader_epoch": -1}

_RANGES = ((5, 9, ("ACCEPT",)), (11, 12, ("ACCEPT", "RELEASE")))


def _asked() -> list[tuple[Any, ...]]:
    """Of each topic its partitions, each with two ranges."""
    partition = of(79, 2, "topics", "partitions", asked=True)
    batch = of(79, 2, "topics", "partitions", "acknowledgement_batches", asked=True)
    batches = tuple(
        make(batch, first_offset=first, last_offset=last, acknowledge_types=tuple(1 for _ in types))
        for first, last, types in _RANGES
    )
    return [
        tuple(make(partition, partition_index=each, acknowledgement_batches=batches) for each in numbers)
        for numbers in _NUMBERS
    ]


def _answered() -> list[tuple[Any, ...]]:
    partition = of(79, 2, "responses", "partitions")
    leader = make(of(79, 2, "responses", "partitions", "current_leader"), leader_id=1, leader_epoch=0)
    values = {"error_code": NONE, "error_message": None, "current_leader": leader}
    return [tuple(make(partition, partition_index=each, **values) for each in numbers) for numbers in _NUMBERS]


SIZES = [
    (messages.FindCoordinator(9, LONG), lambda: request(10, 6, key_type=0, coordinator_keys=(LONG,))),
    (
        messages.JoinGroup(9, LONG, MEMBER, None, CLIENT, 1, 2, "consumer", (("range", METADATA), ("sticky", b"xy"))),
        lambda: request(
            11,
            9,
            group_id=LONG,
            session_timeout=SECONDS,
            rebalance_timeout=SECONDS,
            member_id=MEMBER,
            group_instance_id=None,
            protocol_type="consumer",
            protocols=tuple(
                make(of(11, 9, "protocols", asked=True), name=name, metadata=data)
                for name, data in (("range", bytes_of(METADATA)), ("sticky", b"xy"))
            ),
            reason=None,
        ),
    ),
    (
        messages.JoinGroupAnswer(
            9, "NONE", 3, MEMBER, MEMBER, "consumer", "range", False, ((messages.JoinedMember(MEMBER, "i", METADATA)),)
        ),
        lambda: answer(
            11,
            9,
            throttle_time=LATER,
            error_code=NONE,
            generation_id=3,
            protocol_type="consumer",
            protocol_name="range",
            leader=MEMBER,
            skip_assignment=False,
            member_id=MEMBER,
            members=(make(of(11, 9, "members"), member_id=MEMBER, group_instance_id="i", metadata=bytes_of(METADATA)),),
        ),
    ),
    (
        messages.SyncGroup(9, "g", MEMBER, 3, "i", "consumer", "range", {MEMBER: SHARE, "b": ()}),
        lambda: request(
            14,
            5,
            group_id="g",
            generation_id=3,
            member_id=MEMBER,
            group_instance_id="i",
            protocol_type="consumer",
            protocol_name="range",
            assignments=tuple(
                make(of(14, 5, "assignments", asked=True), member_id=who, assignment=bytes_of(share))
                for who, share in ((MEMBER, SHARE), ("b", ()))
            ),
        ),
    ),
    (
        messages.SyncGroupAnswer(9, "NONE", "consumer", "range", SHARE),
        lambda: answer(
            14,
            5,
            throttle_time=LATER,
            error_code=NONE,
            protocol_type="consumer",
            protocol_name="range",
            assignment=bytes_of(SHARE),
        ),
    ),
    (
        messages.Heartbeat(9, LONG, MEMBER, 3, None),
        lambda: request(12, 4, group_id=LONG, generation_id=3, member_id=MEMBER, group_instance_id=None),
    ),
    (messages.HeartbeatAnswer(9, "NONE"), lambda: answer(12, 4, throttle_time=LATER, error_code=NONE)),
    (
        messages.LeaveGroup(9, "g", (messages.Leaving(MEMBER, None, "the consumer is being closed"),)),
        lambda: request(
            13,
            5,
            group_id="g",
            members=(
                make(
                    of(13, 5, "members", asked=True),
                    member_id=MEMBER,
                    group_instance_id=None,
                    reason="the consumer is being closed",
                ),
            ),
        ),
    ),
    (
        messages.LeaveGroupAnswer(9, "NONE", ((MEMBER, None, "NONE"),)),
        lambda: answer(
            13,
            5,
            throttle_time=LATER,
            error_code=NONE,
            members=(make(of(13, 5, "members"), member_id=MEMBER, group_instance_id=None, error_code=NONE),),
        ),
    ),
    (
        messages.OffsetCommit(9, "g", MEMBER, 3, None, OFFSETS),
        lambda: request(
            8,
            9,
            group_id="g",
            generation_id_or_member_epoch=3,
            member_id=MEMBER,
            group_instance_id=None,
            topics=topics(
                of(8, 9, "topics", asked=True),
                of(8, 9, "topics", "partitions", asked=True),
                committed_metadata="",
                **_OFFSET,
            ),
        ),
    ),
    (
        messages.OffsetCommitAnswer(9, tuple((partition, "NONE") for partition in SHARE)),
        lambda: answer(
            8,
            9,
            throttle_time=LATER,
            topics=topics(of(8, 9, "topics"), of(8, 9, "topics", "partitions"), error_code=NONE),
        ),
    ),
    (
        messages.OffsetFetch(9, "g", SHARE, MEMBER, 3),
        lambda: request(
            9,
            9,
            groups=(
                make(
                    of(9, 9, "groups", asked=True),
                    group_id="g",
                    member_id=MEMBER,
                    member_epoch=3,
                    topics=tuple(
                        make(of(9, 9, "groups", "topics", asked=True), name=topic, partition_indexes=numbers)
                        for topic, numbers in by_topic(SHARE)
                    ),
                ),
            ),
            require_stable=True,
        ),
    ),
    (
        messages.MetadataRequest(9, ("orders", LONG)),
        lambda: request(
            3,
            13,
            topics=tuple(make(of(3, 13, "topics", asked=True), topic_id=None, name=name) for name in ("orders", LONG)),
            allow_auto_topic_creation=True,
            include_topic_authorized_operations=False,
        ),
    ),
    (
        messages.ConsumerGroupHeartbeat(9, "g", MEMBER, 3, None, None, 300_000, ("orders",), None, "uniform", SHARE),
        lambda: request(
            68,
            1,
            group_id="g",
            member_id=MEMBER,
            member_epoch=3,
            instance_id=None,
            rack_id=None,
            rebalance_timeout=SECONDS,
            subscribed_topic_names=("orders",),
            subscribed_topic_regex=None,
            server_assignor="uniform",
            topic_partitions=ids(of(68, 1, "topic_partitions", asked=True), _NUMBERS),
        ),
    ),
    (
        messages.ConsumerGroupHeartbeatAnswer(9, "NONE", MEMBER, 3, 5000, SHARE),
        lambda: answer(
            68,
            1,
            throttle_time=LATER,
            error_code=NONE,
            error_message=None,
            member_id=MEMBER,
            member_epoch=3,
            heartbeat_interval=SECONDS,
            assignment=make(
                of(68, 1, "assignment"),
                topic_partitions=ids(of(68, 1, "assignment", "topic_partitions"), _NUMBERS),
            ),
        ),
    ),
    # These answers name the group, which the model's do not: its name is not counted.
    (
        messages.CoordinatorFound(9, "NONE", "b1"),
        lambda: answer(
            10,
            6,
            throttle_time=LATER,
            coordinators=(
                make(
                    of(10, 6, "coordinators"),
                    key="",
                    node_id=1,
                    host="127.0.0.1",
                    port=19092,
                    error_code=NONE,
                    error_message=None,
                ),
            ),
        ),
    ),
    (
        messages.OffsetFetchAnswer(9, "NONE", tuple((partition, 7, "NONE") for partition in SHARE)),
        lambda: answer(
            9,
            9,
            throttle_time=LATER,
            groups=(
                make(
                    of(9, 9, "groups"),
                    group_id="",
                    error_code=NONE,
                    topics=topics(
                        of(9, 9, "groups", "topics"),
                        of(9, 9, "groups", "topics", "partitions"),
                        **_OFFSET,
                        metadata="",
                        error_code=NONE,
                    ),
                ),
            ),
        ),
    ),
    (
        messages.MetadataAnswer(9, ("b1", "b2"), {"orders": ("b1", "b2"), LONG: ("b1",)}),
        lambda: answer(
            3,
            13,
            throttle_time=LATER,
            brokers=tuple(
                make(of(3, 13, "brokers"), node_id=number, host="127.0.0.1", port=19092, rack=None) for number in (1, 2)
            ),
            cluster_id="x" * 22,
            controller_id=1,
            topics=tuple(
                make(
                    of(3, 13, "topics"),
                    error_code=NONE,
                    name=name,
                    topic_id=UUID(int=1),
                    is_internal=False,
                    partitions=tuple(
                        make(
                            of(3, 13, "topics", "partitions"),
                            error_code=NONE,
                            partition_index=number,
                            leader_id=1,
                            leader_epoch=0,
                            replica_nodes=(1,),
                            isr_nodes=(1,),
                            offline_replicas=(),
                        )
                        for number in range(count)
                    ),
                    topic_authorized_operations=-1,
                )
                for name, count in (("orders", 2), (LONG, 1))
            ),
            error_code=NONE,
        ),
    ),
    (
        group.ShareGroupHeartbeat(9, LONG, MEMBER, 0, None, ("orders", "payments")),
        lambda: request(
            76,
            1,
            group_id=LONG,
            member_id=MEMBER,
            member_epoch=0,
            rack_id=None,
            subscribed_topic_names=("orders", "payments"),
        ),
    ),
    (
        group.ShareGroupHeartbeatAnswer(9, "NONE", MEMBER, 3, 5000, SHARE),
        lambda: answer(
            76,
            1,
            throttle_time=LATER,
            error_code=NONE,
            error_message=None,
            member_id=MEMBER,
            member_epoch=3,
            heartbeat_interval=SECONDS,
            assignment=make(
                of(76, 1, "assignment"),
                topic_partitions=ids(of(76, 1, "assignment", "topic_partitions"), _NUMBERS),
            ),
        ),
    ),
    (
        records.ShareAcknowledge(9, "g", MEMBER, 2, tuple((each, _RANGES) for each in SHARE)),
        lambda: request(
            79,
            2,
            group_id="g",
            member_id=MEMBER,
            share_session_epoch=2,
            is_renew_ack=False,
            topics=tuple(
                make(of(79, 2, "topics", asked=True), topic_id=UUID(int=1), partitions=each) for each in _asked()
            ),
        ),
    ),
    (
        records.ShareAcknowledgeAnswer(9, "NONE", 30_000, tuple((each, "NONE") for each in SHARE)),
        lambda: answer(
            79,
            2,
            throttle_time=LATER,
            error_code=NONE,
            error_message=None,
            acquisition_lock_timeout=SECONDS,
            responses=tuple(
                make(of(79, 2, "responses"), topic_id=UUID(int=1), partitions=each) for each in _answered()
            ),
            node_endpoints=(),
        ),
    ),
]


@rows("message, written", SIZES)
def test_a_frame_has_as_many_bytes_as_the_codec_writes(message: Any, written: Any) -> None:
    assert frame_size(message, CLIENT) == written()


@rows("value", [METADATA, messages.ConsumerMetadata(("x",)), SHARE, (), b"plain"])
def test_what_is_opaque_has_as_many_bytes_as_the_codec_writes(value: Any) -> None:
    assert opaque(value) == len(bytes_of(value))
