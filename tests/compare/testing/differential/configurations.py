"""What the constructor takes and what it refuses."""

from typing import Any, Final

from tests.compare.testing.differential.probing import add
from tests.compare.testing.differential.worlds import World


def nothing(*args: object) -> None:
    """A callback."""


GIVEN: Final[dict[str, dict[str, object]]] = {
    "no-group": {"group.id": None},
    "unknown-name": {"session.timeoutt.ms": 6000},
    "java-name": {"max.poll.records": 5, "key.deserializer": "x"},
    "java-boolean-class": {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor"},
    "sticky": {"partition.assignment.strategy": "sticky"},
    "mixed-protocols": {"partition.assignment.strategy": "range,cooperative-sticky"},
    "mixed-eager": {"partition.assignment.strategy": "range,roundrobin"},
    "no-such-assignor": {"partition.assignment.strategy": "fair"},
    "poll-below-session": {"max.poll.interval.ms": 5000},
    "poll-is-session": {"max.poll.interval.ms": 6000},
    "heartbeat-above-session": {"heartbeat.interval.ms": 7000},
    "no-boolean": {"enable.auto.commit": "maybe"},
    "one": {"enable.auto.commit": 1},
    "a-text-of-one": {"enable.auto.commit": "1"},
    "t": {"enable.auto.commit": "t"},
    "yes": {"enable.auto.commit": "yes"},
    "True": {"enable.auto.commit": "TRUE"},
    "none-boolean": {"enable.auto.commit": [1]},
    "fraction": {"session.timeout.ms": 6000.7},
    "text-number": {"session.timeout.ms": "6000"},
    "text-fraction": {"session.timeout.ms": "6000.7"},
    "no-number": {"session.timeout.ms": "soon"},
    "negative": {"session.timeout.ms": -1},
    "zero": {"session.timeout.ms": 0},
    "too-large": {"session.timeout.ms": 10**9},
    "boolean-number": {"session.timeout.ms": True},
    "interval-too-large": {"auto.commit.interval.ms": 10**9},
    "no-interval": {"auto.commit.interval.ms": 0},
    "earliest": {"auto.offset.reset": "earliest"},
    "smallest": {"auto.offset.reset": "smallest"},
    "beginning": {"auto.offset.reset": "beginning"},
    "largest": {"auto.offset.reset": "largest"},
    "end": {"auto.offset.reset": "end"},
    "error": {"auto.offset.reset": "error"},
    "none": {"auto.offset.reset": "none"},
    "Earliest": {"auto.offset.reset": "Earliest"},
    "on-commit": {"on_commit": nothing},
    "on-commit-none": {"on_commit": None},
    "on-commit-number": {"on_commit": 1},
    "error-cb-number": {"error_cb": 1},
    "stats-cb-number": {"stats_cb": 1},
    "throttle-cb-number": {"throttle_cb": 1},
    "error-cb": {"error_cb": nothing, "stats_cb": nothing, "throttle_cb": nothing},
    "logger-number": {"logger": 1},
    "name-of-bytes": {b"client.id": "c"},  # type: ignore[dict-item]
    "name-of-number": {1: "c"},  # type: ignore[dict-item]
    "client-id": {"client.id": "c"},
    "instance": {"group.instance.id": "one"},
    "isolation": {"isolation.level": "read_committed"},
    "no-isolation": {"isolation.level": "whatever"},
    "no-protocol": {"security.protocol": "nothing"},
    "consumer-protocol": {"group.protocol": "next"},
    "producers-name": {"acks": "all"},
    "topic-config": {"default.topic.config": {"auto.offset.reset": "earliest"}},
    "session-of-topic": {"default.topic.config": {"session.timeout.ms": 1}},
    "fetch-min": {"fetch.min.bytes": 0},
    "value-of-none": {"client.id": None},
    "value-of-list": {"client.id": ["c"]},
    "debug": {"debug": "nothing"},
}


def _made(given: dict[str, object]) -> Any:
    def run(world: World) -> Any:
        config: dict[Any, object] = {**world.config(), **given}
        if given.get("group.id", "") is None:
            del config["group.id"]
        world.make(config)
        return "made"

    return run


for _name, _given in GIVEN.items():
    add(f"configured-{_name}", _made(_given))


add("configured-with-nothing", lambda world: world.make({}) and "made")
add("configured-without-an-argument", lambda world: world.make() and "made")
add("configured-with-a-text", lambda world: world.make("no") and "made")
add("configured-by-keywords", lambda world: world.make(**{"group.id": world.group_id}) and "made")
