"""ApiVersions and Metadata: what this server speaks, which brokers and topics there are.

In Kafka `ApiVersionManager`, `KafkaApis.handleTopicMetadataRequest` and `AutoTopicCreationManager`.
"""

import re
from typing import TYPE_CHECKING, Final
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.versions import VERSIONS
from kafka_coordinator.wire.administration import (
    CLUSTER_OPERATIONS,
    NO_OPERATIONS,
    TOPIC_OPERATIONS,
    create_missing,
    error_of_missing,
    partition,
)
from kafka_coordinator.wire.apis import APIS_OF, Api
from kafka_coordinator.wire.entities import Kind, make, part, response
from kafka_coordinator.wire.requests import Answer, ApiVersions, Metadata, Piece, Rests, Work, answered
from kafka_coordinator.wire.state import NO_ID, NO_THROTTLE, BrokerState
from protocols.engine.nodes import Outbox, Time

if TYPE_CHECKING:
    from kio.schema.metadata.v13.request import MetadataRequest

PRODUCE: Final = 0
API_VERSIONS: Final = 18
METADATA: Final = 3

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""What a client may call its software and its version (KIP-511)."""

_NO_NODE: Final = -1

_FEATURES: Final = {"group.version": 1, "transaction.version": 2}
"""Features of the cluster and their levels, which clients look for: of groups, of transactions (KIP-890)."""
_SHARE: Final = "share.version"
"""The feature of share groups: 1 since 4.2, 2 since 4.4, where they have dead letters."""

_NULL_IS_ALL_SINCE: Final = 1
_IDS_SINCE: Final = 12
"""From this version of Metadata on topics may be asked for by id."""


def api_versions(state: BrokerState, now: Time, sender: str, request: ApiVersions, out: Outbox) -> None:
    """Which APIs are served, in which versions; a version of this very request that is not is told so in version 0."""
    body = request.body
    offered = APIS_OF[state.version]
    error, apis = ErrorCode.none, list(offered.values())
    if body is None:
        error, apis = ErrorCode.unsupported_version, [offered[API_VERSIONS]]
    else:
        error = _error_of_names(body, state)
        apis = apis if error == ErrorCode.none else []
    kind = response(API_VERSIONS, request.version)
    item = part(kind, "api_keys")
    listed = [item(api_key=api.key, min_version=_told(api), max_version=api.versions[1]) for api in apis]
    features: dict[str, object] = {}
    if request.version >= 3 and error == ErrorCode.none:
        levels = dict(_FEATURES)
        if VERSIONS.holds("4.2", state.version):
            levels[_SHARE] = 2 if VERSIONS.holds("4.4", state.version) else 1
        supported, final = part(kind, "supported_features"), part(kind, "finalized_features")
        features = {
            "supported_features": tuple(
                [supported(name=name, min_version=0, max_version=level) for name, level in levels.items()]
            ),
            "finalized_features_epoch": 1,
            "finalized_features": tuple(
                [final(name=name, max_version_level=level, min_version_level=level) for name, level in levels.items()]
            ),
        }
    answer = make(kind, error_code=error, api_keys=tuple(listed), throttle_time=NO_THROTTLE, **features)
    out.send(sender, Answer(request.correlation, answer))


def _told(api: Api) -> int:
    """The lowest version of which clients are told. Old librdkafka takes Produce's for a sign of what a broker can do,
    so that it is told from 0 on (KIP-896); requests in versions that are not served close the connection all the
    same."""
    return 0 if api.key == PRODUCE else api.versions[0]


def _error_of_names(body: Entity, state: BrokerState) -> ErrorCode:
    """What is wrong with how a client calls itself (since version 3), or with the cluster and the node for which it
    takes this one (since version 5, KIP-1242: both or neither)."""
    software = (getattr(body, "client_software_name", "x"), getattr(body, "client_software_version", "x"))
    cluster, node = getattr(body, "cluster_id", None), getattr(body, "node_id", _NO_NODE)
    if (cluster is None) != (node == _NO_NODE) or not all(_SOFTWARE.fullmatch(each) for each in software):
        return ErrorCode.invalid_request
    is_another = cluster is not None and (cluster, node) != (state.settings.cluster_id, state.node_id)
    return ErrorCode.rebootstrap_required if is_another else ErrorCode.none


def metadata(state: BrokerState, now: Time, sender: str, request: Metadata, out: Outbox) -> None:
    """Brokers and topics; a topic that there is not yet is created, where client and broker allow it."""
    out.send(sender, answered(request.correlation, _metadata(state, request, out)))


def _metadata(state: BrokerState, request: Metadata, out: Outbox) -> Work:
    body, version, rests = request.body, request.version, Rests()
    kind = response(METADATA, version)
    item = part(kind, "topics")
    wanted, topics = body.topics, list[Entity]()
    if version < _IDS_SINCE and any(each.name is None or getattr(each, "topic_id", None) for each in wanted or ()):
        return _refused(kind, body)
    if wanted is None or (version < _NULL_IS_ALL_SINCE and not wanted):
        for topic in sorted(state.cluster.topics):
            if topic in state.cluster.topics:  # others may have had their turn
                topics.append((yield from _topic(item, state, body, topic, rests)))
    else:
        missing = []
        ids = dict.fromkeys([each for one in wanted if (each := getattr(one, "topic_id", None)) is not None])
        for topic_id in ids:
            topics.append((yield from _topic_of_id(item, state, body, topic_id, rests)))
        for name in () if ids else dict.fromkeys([each.name or "" for each in wanted]):
            if rests.due():
                yield
            if name in state.cluster.topics:
                topics.append((yield from _topic(item, state, body, name, rests)))
            else:
                topics.append(_missing(item, body, name))
                if error_of_missing(name) is ErrorCode.unknown_topic_or_partition:
                    missing.append(name)
        if getattr(body, "allow_auto_topic_creation", True) and state.settings.auto_create_topics_enable:
            create_missing(missing[: state.settings.topics_created_at_once], out)
    return make(
        kind,
        throttle_time=NO_THROTTLE,
        brokers=brokers(part(kind, "brokers"), state),
        cluster_id=state.settings.cluster_id,
        controller_id=controller_id(state),
        topics=tuple(topics),
        cluster_authorized_operations=_allowed(body, "include_cluster_authorized_operations", CLUSTER_OPERATIONS),
        error_code=ErrorCode.none,
    )


def _refused(kind: Kind, body: "MetadataRequest") -> Entity:
    """Topics are asked for by id in a version that does not know ids."""
    item, code = part(kind, "topics"), ErrorCode.invalid_request
    topics = [
        make(item, error_code=code, name=each.name or "", topic_id=getattr(each, "topic_id", None), partitions=())
        for each in body.topics or ()
    ]
    return make(kind, throttle_time=NO_THROTTLE, brokers=(), topics=tuple(topics))


def brokers(kind: Kind, state: BrokerState) -> tuple[Entity, ...]:
    found = [state.addresses[name] for name in state.cluster.brokers]
    return tuple([make(kind, node_id=each.node_id, host=each.host, port=each.port, rack=None) for each in found])


def controller_id(state: BrokerState) -> int:
    """The broker to which administrators shall turn; any does as well."""
    return min((state.addresses[name].node_id for name in state.cluster.brokers), default=-1)


def _missing(kind: Kind, body: "MetadataRequest", name: str) -> Entity:
    operations = _allowed(body, "include_topic_authorized_operations", TOPIC_OPERATIONS)
    error = error_of_missing(name)
    return make(
        kind, error_code=error, name=name, topic_id=NO_ID, partitions=(), topic_authorized_operations=operations
    )


def _topic_of_id(kind: Kind, state: BrokerState, body: "MetadataRequest", topic_id: UUID, rests: Rests) -> Piece:
    name = state.topic_names.get(topic_id)
    if name is not None:
        return (yield from _topic(kind, state, body, name, rests))
    return make(kind, error_code=ErrorCode.unknown_topic_id, name=None, topic_id=topic_id, partitions=())


def _topic(kind: Kind, state: BrokerState, body: "MetadataRequest", name: str, rests: Rests) -> Piece:
    item, parts = part(kind, "partitions"), []
    cluster = state.cluster
    for number in range(len(cluster.topics[name])):
        if rests.due():
            yield
        parts.append(partition(item, state, cluster, name, number))
    return make(
        kind,
        error_code=ErrorCode.none,
        name=name,
        topic_id=state.topic_ids.get(name, NO_ID),
        is_internal=False,
        partitions=tuple(parts),
        topic_authorized_operations=_allowed(body, "include_topic_authorized_operations", TOPIC_OPERATIONS),
    )


def _allowed(body: "MetadataRequest", field: str, operations: int) -> int:
    return operations if getattr(body, field, False) else NO_OPERATIONS
