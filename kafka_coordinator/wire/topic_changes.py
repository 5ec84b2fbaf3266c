"""Topics created, deleted and given more partitions, with the real controller's checks and messages.

In Kafka `ReplicationControlManager` and `ControllerApis`.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity

from kafka_coordinator.wire import entities
from kafka_coordinator.wire.cluster import ClusterRecord
from kafka_coordinator.wire.config_values import check_collision, check_name, check_value, known_configs, topic_configs
from kafka_coordinator.wire.entities import RefusedError
from kafka_coordinator.wire.records.storage import TOPIC_CONFIG, Replicas
from kafka_coordinator.wire.requests import CreatePartitions, CreateTopics, DeleteTopics, Rests, Work
from kafka_coordinator.wire.state import NO_ID, NO_THROTTLE

if TYPE_CHECKING:
    from kio.schema.create_partitions.v3.request import CreatePartitionsTopic
    from kio.schema.create_topics.v7.request import CreatableReplicaAssignment, CreatableTopic

_CREATE, _DELETE, _GROW = 19, 20, 37
_MOST_PARTITIONS: Final = 10_000
CHANGES_AT_ONCE: Final = 10
"""Topics that are created or grow before others have their turn; each may have thousands of partitions."""
NewId = Callable[[], UUID]


class NewTopic(NamedTuple):
    """A topic that a broker wants; one that a client wants has the same fields."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: "tuple[CreatableReplicaAssignment, ...]" = ()


def create_topics(cluster: ClusterRecord, request: CreateTopics, new_id: NewId) -> Work:
    kind = entities.response(_CREATE, request.version)
    item = entities.part(kind, "topics")
    names, before = Counter([topic.name for topic in request.body.topics]), tuple(cluster.topics())
    done: dict[str, Entity] = {}
    rests = Rests(CHANGES_AT_ONCE)
    for topic in request.body.topics:
        name = topic.name
        if name in done:
            continue
        if rests.due():
            yield
        try:
            if names[name] > 1:
                raise RefusedError(ErrorCode.invalid_request, "Duplicate topic name.")
            done[name] = _created(item, cluster, topic, request, new_id, before)
        except RefusedError as error:
            done[name] = entities.make(
                item, name=name, topic_id=NO_ID, error_code=error.code, error_message=error.message, configs=()
            )
    return entities.make(kind, throttle_time=NO_THROTTLE, topics=tuple(done.values()))


def _created(
    item: entities.Kind,
    cluster: ClusterRecord,
    topic: "CreatableTopic",
    request: CreateTopics,
    new_id: NewId,
    before: Collection[str],
) -> Entity:
    configs = {config.name: config.value for config in topic.configs}
    replicas = check_new_topic(cluster, topic, configs, before)
    number = new_id()
    if not getattr(request.body, "validate_only", False):
        cluster.create(topic.name, replicas, configs, number)
    values: dict[str, object] = {}
    if entities.has(item, "configs"):
        kind = entities.part(item, "configs")
        described = topic_configs(cluster.storage, configs, cluster.version.name)
        values["configs"] = tuple(
            [
                kind(name=each.name, value=each.value, read_only=False, config_source=each.source, is_sensitive=False)
                for each in sorted(described, key=lambda each: each.name)
            ]
        )
    return entities.make(
        item,
        name=topic.name,
        topic_id=number,
        error_code=ErrorCode.none,
        error_message=None,
        topic_config_error_code=0,
        num_partitions=len(replicas),
        replication_factor=len(replicas[0]),
        **values,
    )


def check_new_topic(
    cluster: ClusterRecord,
    topic: "NewTopic | CreatableTopic",
    configs: Mapping[str, str | None],
    before: Collection[str] | None = None,
) -> Replicas:
    """The replicas of a topic that may be created. ``before``: the topics that there were before the request, which
    alone it must not be alike; None: those that there are. Raises `RefusedError`."""
    name = topic.name
    check_name(name)
    known = cluster.topics()
    if name in known or name == "__consumer_offsets":
        raise RefusedError(ErrorCode.topic_already_exists, f"Topic '{name}' already exists.")
    check_collision(name, known if before is None else before)
    missing = [key for key, value in configs.items() if value is None]
    if missing:
        text = f"Null value not supported for topic configs: {', '.join(missing)}"
        raise RefusedError(ErrorCode.invalid_config, text)
    settings = known_configs(TOPIC_CONFIG, cluster.version.name)
    unknown = next((key for key in configs if key not in settings), None)
    if unknown is not None:
        raise RefusedError(ErrorCode.invalid_config, f"Unknown topic config name: {unknown}")
    for key in settings:
        if key in configs:
            check_value(settings[key], configs[key] or "")
    if topic.assignments:
        return _given(cluster, topic)
    factor, count = topic.replication_factor, topic.num_partitions
    if len(known) >= cluster.settings.most_topics:
        text = f"There are {len(known)} topics, and a served cluster has no more than {cluster.settings.most_topics}."
        raise RefusedError(ErrorCode.policy_violation, text)
    if factor < -1 or factor == 0:
        text = "Replication factor must be larger than 0, or -1 to use the default value."
        raise RefusedError(ErrorCode.invalid_replication_factor, text)
    if count < -1 or count == 0:
        text = "Number of partitions was set to an invalid non-positive value."
        raise RefusedError(ErrorCode.invalid_partitions, text)
    if count > _MOST_PARTITIONS:
        text = f"Excessively large number of partitions per request: more than {_MOST_PARTITIONS}."
        raise RefusedError(ErrorCode.policy_violation, text)
    factor = cluster.settings.default_replication_factor if factor == -1 else factor
    return cluster.placed(cluster.settings.num_partitions if count == -1 else count, factor)


def _given(cluster: ClusterRecord, topic: "NewTopic | CreatableTopic") -> Replicas:
    if topic.replication_factor != -1 or topic.num_partitions != -1:
        what = "replication factor" if topic.replication_factor != -1 else "numPartitions"
        text = f"A manual partition assignment was specified, but {what} was not set to -1."
        raise RefusedError(ErrorCode.invalid_request, text)
    places: dict[int, Sequence[int]] = {
        assignment.partition_index: assignment.broker_ids for assignment in topic.assignments
    }
    if len(places) < len(topic.assignments) or sorted(places) != list(range(len(places))):
        text = "partitions should be a consecutive 0-based integer sequence"
        raise RefusedError(ErrorCode.invalid_replica_assignment, text)
    return _named(cluster, [places[number] for number in range(len(places))])


def _named(cluster: ClusterRecord, places: Iterable[Sequence[int]]) -> Replicas:
    found = []
    for ids in places:
        if not ids:
            text = "The manual partition assignment includes an empty replica list."
            raise RefusedError(ErrorCode.invalid_replica_assignment, text)
        for at, each in enumerate(sorted(ids)):
            if each not in cluster.names:
                text = f"The manual partition assignment includes broker {each}, but no such broker is registered."
                raise RefusedError(ErrorCode.invalid_replica_assignment, text)
            if at and each == sorted(ids)[at - 1]:
                text = f"The manual partition assignment includes the broker {each} more than once."
                raise RefusedError(ErrorCode.invalid_replica_assignment, text)
        found.append(tuple([cluster.names[each] for each in ids]))
    return tuple(found)


def delete_topics(cluster: ClusterRecord, request: DeleteTopics) -> Work:
    kind = entities.response(_DELETE, request.version)
    item = entities.part(kind, "responses")
    if hasattr(request.body, "topics"):
        asked: list[tuple[str | None, UUID]] = [(topic.name, topic.topic_id or NO_ID) for topic in request.body.topics]
    else:
        asked = [(name, NO_ID) for name in getattr(request.body, "topic_names", ())]
    times, ids = Counter(asked), cluster.ids()
    by_id = {known: topic for topic, known in ids.items()}
    twice = {name for name, known in ids.items() if times[name, NO_ID] == times[None, known] == 1}
    done: dict[object, Entity] = {}
    rests = Rests()
    for name, number in asked:
        if rests.due():
            yield
        if name is None and by_id.get(number) in twice:
            continue  # answered by its name
        found, told = name, number
        code, message = ErrorCode.none, None
        key: object = (name, number)
        try:
            if (name is None) == (number == NO_ID):
                key = len(done)
                what = "Neither topic name nor id were specified."
                if name is not None:
                    what = "You may not specify both topic name and topic id."
                raise RefusedError(ErrorCode.invalid_request, what)
            if name in twice and number == NO_ID:
                told = ids[name]
                raise RefusedError(ErrorCode.invalid_request, _TWICE)
            found, told = _known(name, number, ids, by_id, times[name, number])
            if found not in cluster.topics():
                raise RefusedError(ErrorCode.unknown_topic_or_partition, _NOT_HERE)
            cluster.delete(found)
        except RefusedError as error:
            code, message = error.code, error.message
        done[key] = entities.make(item, name=found, topic_id=told, error_code=code, error_message=message)
    return entities.make(kind, throttle_time=NO_THROTTLE, responses=tuple(done.values()))


_NOT_HERE: Final = "This server does not host this topic-partition."
_TWICE: Final = "The provided topic name maps to an ID that was already supplied."


def _known(
    name: str | None, number: UUID, ids: Mapping[str, UUID], by_id: Mapping[UUID, str], times: int
) -> tuple[str, UUID]:
    if times > 1:
        what = "name" if number == NO_ID else "id"
        raise RefusedError(ErrorCode.invalid_request, f"Duplicate topic {what}.")
    if name is None:
        name = by_id.get(number)
        if name is None:
            raise RefusedError(ErrorCode.unknown_topic_id, "This server does not host this topic ID.")
    if name not in ids:
        raise RefusedError(ErrorCode.unknown_topic_or_partition, _NOT_HERE)
    return name, ids[name]


def create_partitions(cluster: ClusterRecord, request: CreatePartitions) -> Work:
    kind = entities.response(_GROW, request.version)
    item = entities.part(kind, "results")
    names = Counter([topic.name for topic in request.body.topics])
    done: dict[str, Entity] = {}
    rests = Rests(CHANGES_AT_ONCE)
    for topic in request.body.topics:
        if rests.due():
            yield
        code, message = ErrorCode.none, None
        try:
            if names[topic.name] > 1:
                raise RefusedError(ErrorCode.invalid_request, "Duplicate topic name.")
            more = _more(cluster, topic)
            if not request.body.validate_only:
                cluster.grow(topic.name, more)
        except RefusedError as error:
            code, message = error.code, error.message
        done[topic.name] = entities.make(item, name=topic.name, error_code=code, error_message=message)
    return entities.make(kind, throttle_time=NO_THROTTLE, results=tuple(done.values()))


def _more(cluster: ClusterRecord, topic: "CreatePartitionsTopic") -> Replicas:
    name, count = topic.name, topic.count
    replicas = cluster.replicas(name)
    if replicas is None:
        raise RefusedError(ErrorCode.unknown_topic_or_partition)
    there = len(replicas)
    if count == there:
        raise RefusedError(ErrorCode.invalid_partitions, f"Topic already has {there} partition(s).")
    if count < there:
        text = f"The topic {name} currently has {there} partition(s); {count} would not be an increase."
        raise RefusedError(ErrorCode.invalid_partitions, text)
    if count - there > _MOST_PARTITIONS:
        text = f"Excessively large number of partitions per request: more than {_MOST_PARTITIONS}."
        raise RefusedError(ErrorCode.policy_violation, text)
    if topic.assignments is None:
        return cluster.placed(count - there, len(replicas[0]), there)
    if len(topic.assignments) != count - there:
        text = (
            f"Attempted to add {count - there} additional partition(s), but only {len(topic.assignments)} "
            "assignment(s) were specified."
        )
        raise RefusedError(ErrorCode.invalid_replica_assignment, text)
    return _named(cluster, [assignment.broker_ids for assignment in topic.assignments])
