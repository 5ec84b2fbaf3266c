"""Random requests about topics, settings, records and the cluster, as `tests.kafka_coordinator.wire.group_talk` makes
those about groups."""

from collections.abc import Mapping
from typing import Any, Final

from tests.kafka_coordinator.wire.broker_cases import TIME, batch, changed
from tests.kafka_coordinator.wire.group_talk import Talk

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


# Topics and settings.


def create_topics(it: Talk) -> tuple[str, Any]:
    def new() -> dict[str, Any]:
        places = [
            {"partition_index": at, "broker_ids": it.one([1], [1], [1, 1], [2], [])} for at in range(it.one(1, 2))
        ]
        given = it.seldom(places, [], 0.2)
        count, factor = (
            (-1, -1) if given and it.random.random() < 0.7 else (it.one(1, 2, 5, -1, 0), it.one(1, 1, -1, 0, 3))
        )
        configs = [_setting(it, TOPIC) for _ in range(it.one(0, 0, 1))]
        name = it.one(it.topic(), f"{it.name}{it.one('d', 'e', '_d', '.d')}")
        return {
            "name": name,
            "num_partitions": count,
            "replication_factor": factor,
            "assignments": given,
            "configs": configs,
        }

    return "adm", {"topics": it.few(new, 2), "timeout": 5000, "validate_only": it.one(True, False, False)}


_VALUES: Final[Mapping[int, Mapping[str, tuple[str | None, ...]]]] = {
    TOPIC: {
        "retention.ms": ("-1", "soon", "-5", "86400000"),
        "cleanup.policy": ("compact", "delete", "compact,delete", "burn", ""),
        "max.message.bytes": ("100", "1000000", "-1"),
        "message.timestamp.type": ("LogAppendTime", "CreateTime", "Never"),
        "compression.type": ("gzip", "lzw"),
        "preallocate": ("true", "perhaps"),
        "min.cleanable.dirty.ratio": ("0.3", "2", "x"),
        "leader.replication.throttled.replicas": ("*", "0:1", "x"),
        "segment.bytes": ("1048576", "14"),
        "no.such": ("1", None),
    },
    GROUP: {
        "consumer.session.timeout.ms": ("50000", "1", "x"),
        "consumer.heartbeat.interval.ms": ("5000", "7000", "0"),
        "share.isolation.level": ("read_committed", "never"),
        "share.auto.offset.reset": ("earliest", "latest", "by_duration:PT1H", "x"),
        "streams.num.standby.replicas": ("1", "9"),
        "no.such": ("1", None),
    },
    METRICS: {
        "interval.ms": ("5000", "5", "x"),
        "match": ("client_id=a", "a"),
        "metrics": ("a.b", ""),
        "no.such": ("1",),
    },
    BROKER: {
        "log.retention.ms": ("1000", "x"),
        "log.cleanup.policy": ("delete",),
        "node.id": ("3",),
        "no.such": ("1",),
    },
    LOGGER: {"no.such": ("INFO",)},
}


def _setting(it: Talk, kind: int) -> dict[str, Any]:
    name = it.one(*_VALUES.get(kind, _VALUES[TOPIC]))
    return {
        "name": name,
        "value": it.one(*_VALUES.get(kind, _VALUES[TOPIC])[name]),
        "config_operation": it.one(0, 0, 0, 1, 2, 3, 7),
    }


def _resource(it: Talk) -> dict[str, Any]:
    kind = it.one(TOPIC, TOPIC, TOPIC, GROUP, GROUP, METRICS, BROKER, LOGGER, 99)
    name = it.topic() if kind == TOPIC else it.one(it.group(), it.group(), f"{it.name}r")
    if kind in (BROKER, LOGGER):
        name = it.one("1", "7", "x", "")
    return {"resource_type": kind, "resource_name": name}


def alter(it: Talk) -> tuple[str, Any]:
    def resource() -> dict[str, Any]:
        made = _resource(it)
        if made["resource_type"] == BROKER and made["resource_name"] in ("1", ""):
            made["resource_name"] = "7"  # what is changed for the broker would be changed for all other conversations
        return {**made, "configs": it.few(lambda: _setting(it, made["resource_type"]), 2)}

    return "adm", {"resources": [resource()], "validate_only": it.one(True, False, False)}


def describe_configs(it: Talk) -> tuple[str, Any]:
    def resource() -> dict[str, Any]:
        made = _resource(it)
        known = _VALUES.get(made["resource_type"], _VALUES[TOPIC])
        names = [it.one(*known), "retention.ms"]
        whole = made["resource_type"] in (TOPIC, GROUP, METRICS) and it.random.random() < 0.5
        return {**made, "configuration_keys": None if whole else names}

    return "adm", {
        "resources": it.few(resource, 2),
        "include_synonyms": it.one(True, False),
        "include_documentation": False,
    }


def list_resources(it: Talk) -> tuple[str, Any]:
    return "adm", {"resource_types": it.one([], [METRICS], [GROUP, METRICS], [TOPIC], [BROKER, LOGGER], [99])}


def delete_topics(it: Talk) -> tuple[str, Any]:
    def topic() -> dict[str, Any]:
        name = it.seldom(it.topic(1), f"{it.name}{it.one('d', 'e', 'c')}", 0.3)
        named = it.one((name, None), (name, None), (None, ("id", name)), (name, ("id", name)), (None, None))
        return {"name": named[0], "topic_id": named[1]}

    topics = it.few(topic, 2)
    return "adm", {"topics": topics, "topic_names": [each["name"] or "x" for each in topics], "timeout": 5000}


def add_partitions(it: Talk) -> tuple[str, Any]:
    def topic() -> dict[str, Any]:
        places = it.seldom([{"broker_ids": it.one([1], [7], [1, 1])}], None, 0.3)
        return {"name": it.topic(), "count": it.one(0, 1, 3, 4, 5, -1), "assignments": places}

    return "adm", {"topics": it.few(topic, 2), "timeout": 5000, "validate_only": it.one(True, True, False)}


def metadata(it: Talk) -> tuple[str, Any]:
    def topic() -> dict[str, Any]:
        name = it.topic()
        by_id = it.random.random() < 0.2
        return {"name": None if by_id else name, "topic_id": ("id", name) if by_id else None}

    return "adm", {
        "topics": it.few(topic),
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": it.one(True, False),
        "include_cluster_authorized_operations": it.one(True, False),
    }


def describe_topics(it: Talk) -> tuple[str, Any]:
    names = [it.topic() for _ in range(it.random.randint(1, 3))]
    cursor = {"topic_name": it.one(*names, it.topic()), "partition_index": it.one(0, 1, 5, -1)}
    return "adm", {
        "topics": [{"name": each} for each in names],
        "response_partition_limit": it.one(0, 1, 2, 2000, -1),
        "cursor": it.seldom(cursor, None, 0.35),
    }


def describe_cluster(it: Talk) -> tuple[str, Any]:
    return "adm", {
        "endpoint_type": it.seldom(it.one(2, 9), 1, 0.3),
        "include_cluster_authorized_operations": it.one(True, False),
        "include_fenced_brokers": it.one(True, False),
    }


# Records.


def _batch(it: Talk) -> bytes:
    it.clock += 10
    values = [b"v%d" % at for at in range(it.random.randint(1, 3))]
    times = [TIME + it.clock + at for at in range(len(values))]
    keys = it.seldom([b"k"] * len(values), None, 0.3)
    producer = it.seldom((it.random.randint(7000, 7002), it.one(0, 1), it.one(0, 1, 2, 3)), (-1, -1, -1), 0.3)
    made = batch(*values, times=times, keys=keys, producer=producer, compression=it.seldom(1, 0))
    wrong = it.one((16, b"\1"), (0, b"\0\0\0\0\0\0\0\1"), (22, b"\7"), (17, b"\0\0\0\0"))
    if it.random.random() < 0.12:
        return changed(made, *wrong, right_crc=wrong[0] != 17)
    return bytes(it.seldom(it.one(b"", made[:20], made + made), made, 0.06))


def produce(it: Talk) -> tuple[str, Any]:
    def topic() -> dict[str, Any]:
        parts = sorted({it.partition() for _ in range(it.one(1, 2))})
        return it.named(partition_data=[{"index": each, "records": _batch(it)} for each in parts])

    return "p", {
        "transactional_id": None,
        "acks": it.seldom(2, it.one(1, -1)),
        "timeout": 5000,
        "topic_data": [topic()],
    }


def fetch(it: Talk) -> tuple[str, Any]:
    def partition(number: int) -> dict[str, Any]:
        return {
            "partition": number,
            "current_leader_epoch": it.seldom(it.one(0, 5), -1),
            "fetch_offset": it.one(0, 0, 0, 1, 3, 99, -1),
            "last_fetched_epoch": it.seldom(it.one(0, 4), -1),
            "log_start_offset": -1,
            "partition_max_bytes": it.one(1_000_000, 1_000_000, 100),
        }

    def topic(name: str) -> dict[str, Any]:
        parts = [partition(each) for each in sorted(set(it.few(it.partition, 2)))]
        return {"topic": name, "topic_id": ("id", name), "partitions": parts}

    session = it.one((0, -1), (0, -1), (0, 0), (("session", "f"), it.one(1, 2)), (("session", "f"), -1), (12345, 3))
    return "f", {
        "max_wait": it.one(0, 50),
        "min_bytes": it.one(0, 1),
        "max_bytes": it.one(1_000_000, 1_000_000, 50),
        "isolation_level": it.one(0, 0, 1, 1, it.seldom(5, 1)),
        "session_id": session[0],
        "session_epoch": session[1],
        "replica_id": -1,
        "topics": [topic(each) for each in sorted(set(it.few(it.topic, 2)))],
        "forgotten_topics_data": it.seldom([it.named(partitions=[0])], [], 0.2),
        "rack_id": "",
    }


def list_offsets(it: Talk) -> tuple[str, Any]:
    def partition() -> dict[str, Any]:
        epoch = it.seldom(it.one(0, 5), -1, 0.15)
        time = it.one(-1, -1, -2, -2, -3, -4, -5, -6, 0, TIME + 15, TIME * 2)
        return {"partition_index": it.partition(), "current_leader_epoch": epoch, "timestamp": time}

    topics = it.few(lambda: it.named(partitions=it.few(partition, 2)), 2)
    return "f", {"replica_id": -1, "isolation_level": it.seldom(5, it.one(0, 1)), "topics": topics, "timeout": 1000}


def epochs(it: Talk) -> tuple[str, Any]:
    def partition() -> dict[str, Any]:
        current = it.seldom(it.one(0, 5), -1, 0.2)
        return {"partition": it.partition(), "current_leader_epoch": current, "leader_epoch": it.one(0, 0, 1, -1, 5)}

    return "f", {"replica_id": -1, "topics": it.few(lambda: it.named(partitions=it.few(partition, 2)), 2)}


def delete_records(it: Talk) -> tuple[str, Any]:
    parts = [{"partition_index": each, "offset": it.one(-1, 0, 1, 2, 99, -2)} for each in {it.partition()}]
    return "adm", {"topics": [it.named(partitions=parts)], "timeout": 5000}


def init_producer(it: Talk) -> tuple[str, Any]:
    number, epoch = it.one((-1, -1), (-1, -1), (5, -1), (-1, 5), (5, 5))
    return "p", {
        "transactional_id": None,
        "transaction_timeout": it.one(60_000, -1, 0),
        "producer_id": number,
        "producer_epoch": epoch,
    }


# What is not about groups, topics or records.


def versions(it: Talk) -> tuple[str, Any]:
    return "adm", {"client_software_name": it.one("raw", "", "a b"), "client_software_version": it.one("1.0", "-")}


def _acl(it: Talk) -> dict[str, Any]:
    filtered = {f"{name}_filter": value for name, value in _ACL.items()}
    return {**_ACL, **filtered, "pattern_type_filter": it.one(1, 3), "resource_pattern_type": 3}


_ACL: Final = {
    "resource_type": 2,
    "resource_name": "x",
    "pattern_type": 3,
    "principal": "User:a",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}


def acls(it: Talk) -> tuple[str, Any]:
    return "adm", {**_acl(it), "creations": [_acl(it)], "filters": [_acl(it)]}


def sasl(it: Talk) -> tuple[str, Any]:
    return "s", {"mechanism": it.one("PLAIN", "x"), "auth_bytes": b"\0a\0b"}
