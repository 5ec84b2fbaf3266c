"""Answers that tell one error wherever an API's answers have room for it: at each partition, topic or resource that was
asked for, or for the whole request. For tests of clients; the broker itself has nothing to complain about.

In Kafka `AbstractRequest.getErrorResponse`, but for places where a broker puts no error: Fetch tells all but errors of
its session at each partition, and Metadata goes on to name the brokers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final, get_args
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.wire import entities, requests
from kafka_coordinator.wire.metadata import METADATA, brokers, controller_id
from kafka_coordinator.wire.records.fetch import refused_fetch
from kafka_coordinator.wire.requests import Answer, Request
from kafka_coordinator.wire.state import NO_ID, NO_THROTTLE, BrokerState
from protocols.engine.nodes import Time

_TOPICS_AND_PARTITIONS: Final = (("topics", "topics"), ("partitions", "partitions"))
_RESOURCES: Final = (("resources", "responses"),)
_PLACES: Final[Mapping[type[Request], Sequence[tuple[str, str]]]] = {
    requests.Produce: (("topic_data", "responses"), ("partition_data", "partition_responses")),
    requests.ListOffsets: _TOPICS_AND_PARTITIONS,
    requests.OffsetForLeaderEpoch: _TOPICS_AND_PARTITIONS,
    requests.DeleteRecords: _TOPICS_AND_PARTITIONS,
    requests.CreateTopics: (("topics", "topics"),),
    requests.DeleteTopics: (("topics", "responses"),),
    requests.CreatePartitions: (("topics", "results"),),
    requests.DescribeTopicPartitions: (("topics", "topics"),),
    requests.DescribeConfigs: (("resources", "results"),),
    requests.IncrementalAlterConfigs: _RESOURCES,
    requests.AlterConfigs: _RESOURCES,
    requests.DescribeProducers: (("topics", "topics"), ("partition_indexes", "partitions")),
    requests.DescribeTransactions: (("transactional_ids", "transaction_states"),),
    requests.WriteTxnMarkers: (("markers", "markers"), ("topics", "topics"), ("partition_indexes", "partitions")),
    requests.CreateAcls: (("creations", "results"),),
    requests.DeleteAcls: (("filters", "filter_results"),),
    requests.DescribeShareGroupOffsets: (("groups", "groups"),),
}
"""Field of the request, field of the answer, one inside the other: the error stands in the innermost. An API that is
not here has one error for the whole request."""

_ONE_TRANSACTION: Final = (
    ("v3_and_below_topics", "results_by_topic_v3_and_below"),
    ("partitions", "results_by_partition"),
)
"""The places of an AddPartitionsToTxn that is about one transaction alone; a later one has an error of its own."""

_SAME: Final = frozenset(
    (
        "name",
        "topic",
        "topic_id",
        "partition",
        "partition_index",
        "index",
        "resource_type",
        "resource_name",
        "transactional_id",
        "group_id",
    )
)
"""Fields of an answer's item that repeat those of the request."""

_INVALID: Final[Mapping[type[Request], str]] = {
    requests.Produce: "base_offset",
    requests.DeleteRecords: "low_watermark",
    requests.InitProducerId: "producer_epoch",
}
"""The number beside the error to which Kafka's code gives -1. Others are 0 where their schema has no default."""

_EMPTY: Final[Mapping[str, object]] = {"bool": False, "string": "", "bytes": b"", "uuid": NO_ID}


def error_answer(state: BrokerState, now: Time, request: Request, code: ErrorCode) -> Answer | None:
    """What the broker would send if it refused the request so; None where it would close the connection instead, as for
    a Produce that wants no answer."""
    if isinstance(request, requests.Fetch):
        return refused_fetch(state, now, request, code)
    if isinstance(request, requests.Metadata):
        return Answer(request.correlation, _metadata(state, request, code))
    if isinstance(request, requests.Produce) and request.body.acks == 0:
        return None
    kind = entities.response(requests.KEYS[type(request)], request.version)
    places = _PLACES.get(type(request), ())
    if hasattr(request.body, _ONE_TRANSACTION[0][0]):
        places = _ONE_TRANSACTION
    error: dict[str, object] = {"error_code": code, "partition_error_code": code}
    if type(request) in _INVALID:
        error[_INVALID[type(request)]] = -1
    made = _told(kind, request.body, error, places)
    return Answer(request.correlation, made)


def _told(kind: entities.Kind, asked: object, error: Mapping[str, object], places: Sequence[tuple[str, str]]) -> Entity:
    """An entity of the answer, from what the request has in its place. ``error``: the fields of the innermost one."""
    given: dict[str, object] = {"throttle_time": NO_THROTTLE}
    given |= {name: getattr(asked, name) for name in _SAME if hasattr(asked, name) and entities.has(kind, name)}
    if places:
        (source, target), *inner = places
        item = entities.part(kind, target)
        if hasattr(asked, "producer_id"):
            given["producer_id"] = asked.producer_id
        given[target] = tuple([_told(item, each, error, inner) for each in _items(asked, source)])
    else:
        given |= error
    for field in fields(kind):
        if field.name not in given and field.default is MISSING:
            given[field.name] = _empty(field)
    return entities.make(kind, **given)


def _items(asked: object, name: str) -> Iterable[object]:
    items = getattr(asked, name, getattr(asked, "topic_names", ()))  # DeleteTopics before version 6
    return [_BARE.get(type(each), _same)(each) for each in items]


def _same(item: object) -> object:
    return item


class _Named:
    def __init__(self, name: str) -> None:
        self.name = self.transactional_id = name


class _Number:
    def __init__(self, partition: int) -> None:
        self.partition_index = partition


_BARE: Final[Mapping[type, Callable[[Any], object]]] = {str: _Named, int: _Number}
"""Types of items that are no entities to what stands for them."""


def _empty(field: Field[object]) -> object:
    """The value of a field that says nothing."""
    kafka_type = field.metadata.get("kafka_type")
    if kafka_type == "error_code":
        return ErrorCode.none
    if kafka_type is None:
        return ()
    if type(None) in get_args(field.type):
        return None
    if kafka_type.startswith("datetime"):
        return datetime.fromtimestamp(0, UTC)
    if kafka_type in _EMPTY:
        return _EMPTY[kafka_type]
    return timedelta(0) if kafka_type.startswith("timedelta") else 0


def _metadata(state: BrokerState, request: requests.Metadata, code: ErrorCode) -> Entity:
    kind = entities.response(METADATA, request.version)
    item, ids = entities.part(kind, "topics"), state.topic_ids
    asked = request.body.topics
    if asked is None or (request.version == 0 and not asked):
        wanted: list[tuple[str | None, UUID]] = [(name, ids.get(name, NO_ID)) for name in sorted(state.cluster.topics)]
    else:
        wanted = [(getattr(each, "name", None), getattr(each, "topic_id", None) or NO_ID) for each in asked]
    whole = not wanted or code is ErrorCode.rebootstrap_required
    topics = [
        entities.make(item, error_code=code, name=name, topic_id=topic_id, partitions=()) for name, topic_id in wanted
    ]
    return entities.make(
        kind,
        throttle_time=NO_THROTTLE,
        brokers=brokers(entities.part(kind, "brokers"), state),
        cluster_id=state.settings.cluster_id,
        controller_id=controller_id(state),
        topics=() if whole else tuple(topics),
        error_code=code if whole else ErrorCode.none,
    )
