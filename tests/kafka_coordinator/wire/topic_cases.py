"""Conversations with a broker about topics and settings; see `tests.kafka_coordinator.wire.broker_cases`."""

from dataclasses import replace
from time import sleep
from typing import Any
from uuid import UUID

from tests.kafka_coordinator.wire.broker_cases import Ask, Case, batch, create, fetch, list_offsets, produce
from tests.kafka_coordinator.wire.plain import request

TOPIC, BROKER, LOGGER, GROUP = 2, 4, 8, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


def new_topic(name: str, partitions: int = 1, replicas: int = 1, **values: Any) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": replicas, **values}


def placed(*brokers: list[int]) -> list[dict[str, Any]]:
    """An assignment of each partition from 0 on."""
    return [{"partition_index": at, "broker_ids": each} for at, each in enumerate(brokers)]


def creating(ask: Ask, topic: str) -> list[Any]:
    """Wrong names, counts, replicas, assignments and settings; twice the same; only tried."""
    create(ask, f"{topic}.x")
    asked = [
        [new_topic(topic, -1, -1)],
        [new_topic(topic)],
        [new_topic(f"{topic}-tried", 3)],
        [new_topic("")],
        [new_topic(".")],
        [new_topic("a b")],
        [new_topic("ä" * 3), new_topic("x" * 250)],
        [new_topic(f"{topic}_x")],
        [new_topic(f"{topic}-0", 0)],
        [new_topic(f"{topic}-0", -2)],
        [new_topic(f"{topic}-0", 1, 0), new_topic(f"{topic}-1", 1, 7), new_topic(f"{topic}-2", 1, -3)],
        [new_topic(f"{topic}-3"), new_topic(f"{topic}-3")],
        [new_topic(f"{topic}-4", -1, -1, assignments=placed([1], [1]))],
        [new_topic(f"{topic}-5", 1, -1, assignments=placed([1]))],
        [new_topic(f"{topic}-5", -1, 1, assignments=placed([1]))],
        [new_topic(f"{topic}-6", -1, -1, assignments=placed([77]))],
        [new_topic(f"{topic}-6", -1, -1, assignments=placed([1, 1]))],
        [new_topic(f"{topic}-6", -1, -1, assignments=placed([]))],
        [new_topic(f"{topic}-6", -1, -1, assignments=[{"partition_index": 1, "broker_ids": [1]}])],
        [new_topic(f"{topic}-7", configs=[{"name": "no.such", "value": "1"}])],
        [new_topic(f"{topic}-7", configs=[{"name": "retention.ms", "value": "soon"}])],
        [new_topic(f"{topic}-7", configs=[{"name": "retention.ms", "value": "-5"}])],
        [new_topic(f"{topic}-7", configs=[{"name": "cleanup.policy", "value": "burn"}])],
        [new_topic(f"{topic}-7", configs=[{"name": "retention.ms", "value": None}])],
        [new_topic(f"{topic}-7", configs=[{"name": "compression.type", "value": "lzw"}])],
        [new_topic(f"{topic}-7", configs=[{"name": "preallocate", "value": "perhaps"}])],
        [new_topic(f"{topic}-7", configs=[{"name": "min.cleanable.dirty.ratio", "value": "2"}])],
        [new_topic(f"{topic}-8", 2, configs=[{"name": "retention.ms", "value": "5"}])],
    ]
    answers = [ask(request(19, 7, topics=each, validate_only="-tried" in each[0]["name"])) for each in asked]
    answers += [ask(request(19, version, topics=[new_topic(f"{topic}-v{version}")])) for version in (2, 4, 5, 6)]
    answers += [ask(request(19, 2, topics=[new_topic(f"{topic}-v")])), ask(list_offsets(f"{topic}-tried", -1))]
    return answers


def creating_by_older_versions(ask: Ask, topic: str) -> list[Any]:
    """Defaults by -1 came with version 4."""
    return [ask(request(19, version, topics=[new_topic(f"{topic}{version}", -1, -1)])) for version in (2, 3, 4)]


def deleting(ask: Ask, topic: str) -> list[Any]:
    """By name and by id; what is not there; both at once; twice; and what clients see afterwards."""
    made = create(ask, topic)
    other = create(ask, f"{topic}-2")
    ask(produce(topic, batch(b"a")))
    asked = [
        request(20, 6, topics=[{"name": topic, "topic_id": made.topic_id}]),
        request(20, 6, topics=[{"name": None, "topic_id": None}]),
        request(20, 6, topics=[{"name": "nowhere", "topic_id": None}]),
        request(20, 6, topics=[{"name": None, "topic_id": UUID(int=9 << 64)}]),
        request(20, 6, topics=[{"name": topic, "topic_id": None}, {"name": topic, "topic_id": None}]),
        request(20, 6, topics=[{"name": topic, "topic_id": None}]),
        request(20, 6, topics=[{"name": topic, "topic_id": None}]),
        request(20, 6, topics=[{"name": None, "topic_id": other.topic_id}]),
        request(20, 5, topic_names=[topic]),
        request(20, 1, topic_names=["nowhere"]),
    ]
    answers = [ask(each) for each in asked]
    again = create(ask, topic)
    assert again.topic_id != made.topic_id
    answers += [ask(fetch(topic, 0, version=17, topic_id=made.topic_id)), ask(fetch(topic, 0))]
    return answers


def adding_partitions(ask: Ask, topic: str) -> list[Any]:
    """Fewer, as many, wrong assignments, unknown topics; only tried; and more."""
    create(ask, topic, 2)

    def asked(name: str, count: int, *, tried: bool = False, places: Any = None) -> Any:
        each = {"name": name, "count": count, "assignments": places}
        return request(37, 3, topics=[each], validate_only=tried)

    wrong = [(topic, 1), (topic, 2), (topic, 0), (topic, -1), ("nowhere", 3), (topic, 20000)]
    answers = [ask(asked(*each)) for each in wrong[:-1]]
    answers += [ask(asked(topic, 4, tried=True)), ask(list_offsets(topic, -1, partition=3))]
    for places in ([{"broker_ids": [1]}], [{"broker_ids": [1]}, {"broker_ids": [7]}], [{"broker_ids": [1, 1]}] * 2):
        answers.append(ask(asked(topic, 4, places=places)))
    answers.append(ask(asked(topic, 4, places=[{"broker_ids": []}] * 2)))
    twice = {"name": topic, "count": 5, "assignments": None}
    answers.append(ask(request(37, 3, topics=[twice, twice])))
    return [*answers, ask(asked(topic, 3)), ask(asked(topic, 4, places=[{"broker_ids": [1]}]))]


def describe(kind: int, name: str, *keys: str, version: int = 4, **values: Any) -> Any:
    each = {"resource_type": kind, "resource_name": name, "configuration_keys": list(keys) or None}
    return request(32, version, resources=[each], **values)


def alter(kind: int, name: str, *changes: tuple[str, int, str | None], tried: bool = False) -> Any:
    configs = [{"name": each, "config_operation": what, "value": value} for each, what, value in changes]
    return request(
        44, 1, resources=[{"resource_type": kind, "resource_name": name, "configs": configs}], validate_only=tried
    )


def replaced(kind: int, name: str, *settings: tuple[str, str | None], tried: bool = False, version: int = 2) -> Any:
    """By AlterConfigs."""
    configs = [{"name": each, "value": value} for each, value in settings]
    resources = [{"resource_type": kind, "resource_name": name, "configs": configs}]
    return request(33, version, resources=resources, validate_only=tried)


def describing_settings(ask: Ask, topic: str) -> list[Any]:
    """Of topics, groups and brokers; what is not there; types that nothing has."""
    create(ask, topic, max_message_bytes="5000")
    asked = [
        describe(TOPIC, topic, include_synonyms=True),
        describe(TOPIC, topic, "retention.ms", "max.message.bytes", "no.such"),
        describe(TOPIC, topic, "max.message.bytes", version=1, include_synonyms=True),
        describe(TOPIC, topic, "max.message.bytes", version=2),
        describe(TOPIC, "nowhere"),
        describe(TOPIC, "a b"),
        describe(GROUP, topic, "consumer.session.timeout.ms", "share.isolation.level", include_synonyms=True),
        describe(GROUP, ""),
        describe(BROKER, "7"),
        describe(BROKER, "x"),
        describe(BROKER, "1", "message.max.bytes", "log.retention.hours"),
        describe(BROKER, "1", "node.id", "broker.id", "no.such", include_synonyms=True),
        describe(99, "x"),
        describe(0, "x"),
    ]
    return [ask(each) for each in asked]


def altering_settings(ask: Ask, topic: str) -> list[Any]:
    """Set, delete, append and subtract; wrong names and values; only tried; and what is described afterwards."""
    create(ask, topic)
    asked = [
        alter(TOPIC, topic, ("retention.ms", SET, "5000")),
        alter(TOPIC, topic, ("cleanup.policy", APPEND, "compact")),
        describe(TOPIC, topic, "retention.ms", "cleanup.policy", include_synonyms=True),
        alter(TOPIC, topic, ("cleanup.policy", SUBTRACT, "delete"), ("retention.ms", DELETE, None)),
        alter(TOPIC, topic, ("max.message.bytes", SET, "7"), tried=True),
        describe(TOPIC, topic, "retention.ms", "cleanup.policy", "max.message.bytes"),
        alter(TOPIC, topic, ("no.such", SET, "1")),
        alter(TOPIC, topic, ("retention.ms", SET, "soon")),
        alter(TOPIC, topic, ("retention.ms", SET, None)),
        alter(TOPIC, topic, ("retention.ms", APPEND, "1")),
        alter(TOPIC, topic, ("retention.ms", 9, "1")),
        alter(TOPIC, topic, ("retention.ms", SET, "1"), ("retention.ms", SET, "2")),
        alter(TOPIC, topic, ("retention.ms", DELETE, None)),
        alter(TOPIC, "nowhere", ("retention.ms", SET, "1")),
        alter(TOPIC, "", ("retention.ms", SET, "1")),
        alter(GROUP, topic, ("consumer.session.timeout.ms", SET, "50000")),
        describe(GROUP, topic, "consumer.session.timeout.ms", include_synonyms=True),
        alter(GROUP, topic, ("consumer.session.timeout.ms", SET, "1")),
        alter(GROUP, topic, ("no.such", SET, "1")),
        alter(GROUP, "", ("consumer.session.timeout.ms", SET, "50000")),
        alter(GROUP, topic, ("consumer.session.timeout.ms", DELETE, None)),
        alter(BROKER, "7", ("log.retention.ms", SET, "1")),
        alter(BROKER, "x", ("log.retention.ms", SET, "1")),
        alter(BROKER, "1", ("num.partitions", SET, "3")),
        alter(BROKER, "1", ("no.such", SET, "3")),
        alter(BROKER, "1", ("no.such", DELETE, None)),
        alter(BROKER, "1", ("log.cleaner.threads", SET, "some")),
        alter(99, "x", ("retention.ms", SET, "1")),
    ]
    return [ask(each) for each in asked]


def altering_what_is_not_there(ask: Ask, topic: str) -> list[Any]:
    """Settings of a broker and of its loggers that there are not, and an operation that there is not."""
    changes = [("no.such", APPEND, "1"), ("no.such", SUBTRACT, "1"), ("no.such", 7, "1")]
    return [ask(alter(kind, "1", each)) for kind in (BROKER, LOGGER) for each in changes]


def replacing_settings(ask: Ask, topic: str) -> list[Any]:
    """By the older AlterConfigs: what is not named any more is gone; wrong names and values; only tried."""
    create(ask, topic, max_message_bytes="5000")
    named = ("retention.ms", "max.message.bytes", "cleanup.policy")
    asked = [
        replaced(TOPIC, topic, ("retention.ms", "5000"), ("cleanup.policy", "compact,delete")),
        describe(TOPIC, topic, *named),
        replaced(TOPIC, topic, ("max.message.bytes", "7000"), version=0),
        describe(TOPIC, topic, *named),
        replaced(TOPIC, topic, ("retention.ms", "1"), tried=True),
        describe(TOPIC, topic, *named),
        replaced(TOPIC, topic, ("no.such", "1")),
        replaced(TOPIC, topic, ("retention.ms", "soon")),
        replaced(TOPIC, topic, ("retention.ms", None)),
        replaced(TOPIC, topic, ("retention.ms", "1"), ("retention.ms", "2")),
        replaced(TOPIC, "nowhere", ("retention.ms", "1")),
        replaced(TOPIC, "", ("retention.ms", "1")),
        describe(TOPIC, topic, *named),
        replaced(TOPIC, topic),
        describe(TOPIC, topic, *named),
        replaced(GROUP, topic, ("consumer.session.timeout.ms", "50000")),
        describe(GROUP, topic, "consumer.session.timeout.ms"),
        replaced(GROUP, topic, ("consumer.session.timeout.ms", "1")),
        replaced(GROUP, topic, ("no.such", "1")),
        replaced(GROUP, topic),
        describe(GROUP, topic, "consumer.session.timeout.ms"),
        replaced(BROKER, "7", ("log.retention.ms", "1")),
        replaced(BROKER, "x", ("log.retention.ms", "1")),
        replaced(BROKER, "1", ("num.partitions", "3")),
        replaced(BROKER, "1", ("no.such", "3"), ("log.cleaner.threads", "2")),
        replaced(BROKER, "1", ("log.cleaner.threads", "some")),
        replaced(BROKER, "1"),
        replaced(99, "x", ("retention.ms", "1")),
    ]
    return [ask(each) for each in asked]


def listing_what_has_settings(ask: Ask, topic: str) -> list[Any]:
    """Groups by name once they have settings, and still when these are gone; types that nothing has."""

    def listed(types: list[int]) -> Any:
        answer = ask(request(74, 1, resource_types=types))
        own = [each for each in answer.config_resources if each.resource_name in (topic, "1")]
        return replace(answer, config_resources=tuple(own))

    ask(alter(GROUP, topic, ("consumer.session.timeout.ms", SET, "50000")))
    for _ in range(100):
        if listed([GROUP]).config_resources:
            break
        sleep(0.01)
    answers = [listed(each) for each in ([GROUP], [16], [GROUP, 99], [BROKER, 8])]
    ask(alter(GROUP, topic, ("consumer.session.timeout.ms", DELETE, None)))
    return [*answers, ask(request(74, 0)), listed([GROUP])]


def describing_topics(ask: Ask, topic: str) -> list[Any]:
    """Page by page; unknown topics."""
    create(ask, f"{topic}-a", 3)
    create(ask, f"{topic}-b", 2)
    names = [{"name": f"{topic}-b"}, {"name": f"{topic}-a"}, {"name": "nowhere"}]
    start = {"topic_name": f"{topic}-a", "partition_index": 2}
    return [
        ask(request(75, 0, topics=names, response_partition_limit=2000, cursor=None)),
        ask(request(75, 0, topics=names, response_partition_limit=2, cursor=None)),
        ask(request(75, 0, topics=names, response_partition_limit=2, cursor=start)),
        ask(request(75, 0, topics=names, response_partition_limit=3, cursor=None)),
        ask(request(75, 0, topics=names, response_partition_limit=0, cursor=None)),
        ask(request(75, 0, topics=names, response_partition_limit=3, cursor={**start, "partition_index": -1})),
        ask(request(75, 0, topics=[{"name": ""}], response_partition_limit=3, cursor=None)),
    ]


def describing_the_cluster(ask: Ask, topic: str) -> list[Any]:
    answers = [ask(request(60, version)) for version in (0, 1, 2)]
    return [*answers, ask(request(60, 1, endpoint_type=2)), ask(request(60, 1, endpoint_type=9))]


TOPIC_CASES: dict[str, Case] = {
    each.__name__: each
    for each in (
        creating,
        creating_by_older_versions,
        deleting,
        adding_partitions,
        describing_settings,
        altering_settings,
        replacing_settings,
        listing_what_has_settings,
        describing_topics,
        describing_the_cluster,
    )
}
