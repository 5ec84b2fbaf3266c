"""Answers that tell one error wherever an API's answers have room for it: at each partition, topic or resource that was
asked for, or for the whole request. For tests of clients; the broker itself has nothing to complain about.

In Kafka `AbstractRequest.getErrorResponse`, but for places where a broker puts no error: Fetch tells all but errors of
its session at each partition, and Metadata goes on to name the brokers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from datetime import timedelta
from typing import Final, get_args
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.wire import entities, requests
from kafka_coordinator.wire.apis import APIS
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
    requests.CreateAcls: (("creations", "results"),),
    requests.DeleteAcls: (("filters", "filter_results"),),
}
"""Field of the request, field of the answer, one inside the other: the error stands in the innermost. An API that is
not here has one error for the whole request."""

_SAME: Final = frozenset(
    ("name", "topic", "topic_id", "partition", "partition_index", "index", "resource_type", "resource_name")
)
"""Fields of an answer's item that repeat those of the request."""

_EMPTY: Final[Mapping[str, object]] = {"bool": False, "string": "", "bytes": b"", "uuid": NO_ID}
_KEYS: Final = {api.request: key for key, api in APIS.items() if api.request is not None}


def error_answer(state: BrokerState, now: Time, request: Request, code: ErrorCode) -> Answer | None:
    """What the broker would send if it refused the request so; None where it would close the connection instead, as for
    a Produce that wants no answer."""
    if isinstance(request, requests.Fetch):
        return refused_fetch(state, now, request, code)
    if isinstance(request, requests.Metadata):
        return Answer(request.correlation, _metadata(state, request, code))
    if isinstance(request, requests.Produce) and request.body.acks == 0:
        return None
    kind = entities.response(_KEYS[type(request)], request.version)
    made = _told(kind, request.body, code, _PLACES.get(type(request), ()))
    return Answer(request.correlation, made)


def _told(kind: entities.Kind, asked: object, code: ErrorCode, places: Sequence[tuple[str, str]]) -> Entity:
    """An entity of the answer, from what the request has in its place."""
    given: dict[str, object] = {"throttle_time": NO_THROTTLE}
    given |= {name: getattr(asked, name) for name in _SAME if hasattr(asked, name) and entities.has(kind, name)}
    if places:
        (source, target), *inner = places
        item = entities.part(kind, target)
        given[target] = tuple([_told(item, each, code, inner) for each in _items(asked, source)])
    else:
        given["error_code"] = code
    for field in fields(kind):
        if field.name not in given and field.default is MISSING:
            given[field.name] = _empty(field)
    return entities.make(kind, **given)


def _items(asked: object, name: str) -> Iterable[object]:
    if hasattr(asked, name):
        items: Iterable[object] = getattr(asked, name)
        return items
    return [_Named(topic) for topic in getattr(asked, "topic_names", ())]  # DeleteTopics before version 6


class _Named:
    def __init__(self, name: str) -> None:
        self.name = name


def _empty(field: Field[object]) -> object:
    """The value of a field that says nothing."""
    kafka_type = field.metadata.get("kafka_type")
    if kafka_type == "error_code":
        return ErrorCode.none
    if kafka_type is None:
        return ()
    if type(None) in get_args(field.type):
        return None
    if kafka_type in _EMPTY:
        return _EMPTY[kafka_type]
    return timedelta(0) if kafka_type.startswith("timedelta") else -1


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
