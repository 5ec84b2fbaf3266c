"""Random conversations with a broker: what members, administrators, producers and readers could ask, right and wrong,
in every version of every API that is served. The same seed gives the same conversation."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafka_coordinator.wire.apis import APIS
from tests.kafka_coordinator.wire import group_talk, topic_talk
from tests.kafka_coordinator.wire.group_talk import Talk
from tests.kafka_coordinator.wire.replaying import KEYS, Step

_LENGTH: Final = 45


def steps_of(seed: int, mix: str) -> list[Step]:
    """Three topics, then what the mix (one of `MIXES`) has."""
    it = Talk(seed)
    made = [_new_topic(it.name + letter, count) for letter, count in (("a", 3), ("b", 2), ("c", 4))]
    asked, weights = zip(*_MIXES[mix].items(), strict=True)
    while len(made) < _LENGTH:
        api = it.random.choices(asked, weights)[0]
        connection, values = _MAKERS[api](it)
        low, high = APIS[KEYS[api]].versions
        version = high if it.random.random() < 0.4 else it.random.randint(low, high)
        made.append(Step(api, version, connection, values))
        if api in _WAIT:
            made += [Step("", 0, name, {}) for name in ("c1", "c2", "c3")]
    return made


def _new_topic(name: str, count: int) -> Step:
    new = {"name": name, "num_partitions": count, "replication_factor": 1, "assignments": []}
    new["configs"] = [{"name": "retention.ms", "value": "-1"}]
    return Step("CreateTopics", 7, "adm", {"topics": [new], "timeout": 5000, "validate_only": False})


_MAKERS: Final[Mapping[str, Callable[[Talk], tuple[str, Any]]]] = {
    "Produce": topic_talk.produce,
    "Fetch": topic_talk.fetch,
    "ListOffsets": topic_talk.list_offsets,
    "Metadata": topic_talk.metadata,
    "OffsetCommit": group_talk.commit,
    "OffsetFetch": group_talk.fetch_offsets,
    "FindCoordinator": group_talk.find,
    "JoinGroup": group_talk.join,
    "Heartbeat": group_talk.heartbeat,
    "LeaveGroup": group_talk.leave,
    "SyncGroup": group_talk.sync,
    "DescribeGroups": group_talk.describe,
    "ListGroups": group_talk.list,
    "SaslHandshake": topic_talk.sasl,
    "ApiVersions": topic_talk.versions,
    "CreateTopics": topic_talk.create_topics,
    "DeleteTopics": topic_talk.delete_topics,
    "DeleteRecords": topic_talk.delete_records,
    "InitProducerId": topic_talk.init_producer,
    "OffsetForLeaderEpoch": topic_talk.epochs,
    "DescribeAcls": topic_talk.acls,
    "CreateAcls": topic_talk.acls,
    "DeleteAcls": topic_talk.acls,
    "DescribeConfigs": topic_talk.describe_configs,
    "AlterConfigs": topic_talk.alter,
    "SaslAuthenticate": topic_talk.sasl,
    "CreatePartitions": topic_talk.add_partitions,
    "DeleteGroups": group_talk.delete_groups,
    "IncrementalAlterConfigs": topic_talk.alter,
    "OffsetDelete": group_talk.delete_offsets,
    "DescribeCluster": topic_talk.describe_cluster,
    "ConsumerGroupHeartbeat": group_talk.beat,
    "ConsumerGroupDescribe": group_talk.describe_consumers,
    "ListConfigResources": topic_talk.list_resources,
    "DescribeTopicPartitions": topic_talk.describe_topics,
}
_ABOUT_GROUPS: Final = dict.fromkeys(
    ("OffsetCommit", "OffsetFetch", "OffsetDelete", "DescribeGroups", "ConsumerGroupDescribe", "ListGroups"), 1
)
_CLASSIC: Final = {**_ABOUT_GROUPS, "JoinGroup": 7, "SyncGroup": 5, "Heartbeat": 3, "LeaveGroup": 1, "DeleteGroups": 1}
_ADMIN: Final = ("CreateTopics", "DeleteTopics", "CreatePartitions", "Metadata", "DescribeTopicPartitions")
_CONFIGS: Final = ("DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs")
_MIXES: Final[Mapping[str, Mapping[str, int]]] = {
    "classic": {**_CLASSIC, "FindCoordinator": 1},
    "consumer": {**_ABOUT_GROUPS, "ConsumerGroupHeartbeat": 12, "DeleteGroups": 1, "LeaveGroup": 1},
    "mixed": {**_CLASSIC, "ConsumerGroupHeartbeat": 8},
    "topics": dict.fromkeys((*_ADMIN, *_CONFIGS, "Metadata", "ListConfigResources"), 2),
    "records": {"Produce": 5, "Fetch": 5, "ListOffsets": 3, "OffsetForLeaderEpoch": 2, "DeleteRecords": 1},
    "others": {each: 1 for each in _MAKERS if each.endswith(("Acls", "Versions", "Cluster", "Id")) or "Sasl" in each},
}
MIXES: Final = tuple(_MIXES)
_WAIT: Final = frozenset(("JoinGroup", "SyncGroup"))
