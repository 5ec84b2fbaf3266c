"""States of clusters are told apart by all that they hold; a scenario that is written is read as the same."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from compare.running.systems import read, read_text, scenario
from protocols.engine.nodes import TICK
from protocols.scenario.cluster_states import ClusterState, ClusterStates, alike
from protocols.scenario.writing import as_yaml
from tests.rows import rows


class _Slotted:
    __slots__ = ("name", "next")

    def __init__(self, name: str, following: "_Slotted | None" = None) -> None:
        self.name, self.next = name, following


class _Cluster:
    def __init__(self) -> None:
        self.known = {"b1": [1, 2]}
        self.fixed = MappingProxyType({"b1": "room"})
        self.shared = _Slotted("shared")

    def learn(self, name: str) -> None:
        self.known[name] = []


def _ring(last: str) -> _Slotted:
    first = _Slotted("a")
    first.next = _Slotted(last, first)
    return first


def _closure(value: object) -> Callable[[], object]:
    return lambda: value


@rows(
    ("one", "other"),
    [
        (_ring("b"), _ring("b")),
        (partial(_ring, "b"), partial(_ring, "b")),
        (_closure([1]), _closure([1])),
        ({"a": (1, {2})}, {"a": (1, {2})}),
    ],
)
def test_equal_objects_are_alike(one: object, other: object) -> None:
    assert alike(one, other)


@rows(
    ("one", "other"),
    [
        (_ring("b"), _ring("c")),
        (partial(_ring, "b"), partial(_ring, last="b")),
        (_closure([1]), _closure([2])),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([1], (1,)),
        (_Slotted("a"), _Slotted("a", _Slotted("b"))),
    ],
)
def test_others_are_not(one: object, other: object) -> None:
    assert not alike(one, other)


def test_a_copy_is_changed_alone_and_what_is_to_come_belongs_to_it() -> None:
    cluster: Any = _Cluster()
    states = ClusterStates(cluster, [cluster.shared], {})
    first = states.copy(0)
    first.left[0, 0] = partial(first.cluster.learn, "b2")
    number = states.number(first)
    assert number == 1
    again = states.copy(number)
    again.left.pop((0, 0))()
    assert list(again.cluster.known) == ["b1", "b2"]
    assert again.cluster.fixed == cluster.fixed
    assert list(states[number].cluster.known) == ["b1"]
    assert again.cluster.shared is cluster.shared
    after = states.number(again)
    assert after == 2
    assert states.number(ClusterState(states.copy(after).cluster, {})) == after


EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "scenarios").glob("*.yaml"))


@rows("path", EXAMPLES)
def test_every_example_survives_being_written(path: Path) -> None:
    found = read(path)
    assert read_text(as_yaml(found)) == found


OWN = {"consumer.heartbeat.interval.ms": 9000, "consumer.session.timeout.ms": 60000}


def test_every_kind_of_event_survives_with_all_its_digits() -> None:
    at = 7 * TICK
    found = scenario(
        name="everything: once",
        brokers=["broker-a", "broker-b"],
        topics={"orders": {"queues": {"broker-a": 2, "broker-b": 1}, "replica_racks": [["a"], ["b"], ["a", "b"]]}},
        group={"name": "g", "members": {"c1": {"pattern": "ord.*", "handle": 0.5}, "c2": ["orders"]}, "settings": OWN},
        load={"produce": 0.00001},
        run={"for": "10min", "seed": 3, "latency": "1ms..2500us"},
        systems=[{"system": "kafka:range", "label": "a label", "settings": {"session.timeout.ms": 6000}}],
        events=[
            {"at": at, "join": "c3", "subscribe": ["orders"], "settings": {"session.timeout.ms": 9000}},
            {"at": 1000.0, "hang": "c3", "for": 1234567.0 * TICK},
            {"at": 2000.0, "commit": "c2", "offsets": {"orders-1": 7}, "generation": 3},
            {"at": 3000.0, "network": "loss", "between": ["c2", "broker-a"], "loss": 0.25, "for": "5s"},
            {"at": 3000.0, "network": "delay", "between": ["c2"], "delay": "50ms", "for": "5s"},
            {"at": 4000.0, "queues": {"orders": {"broker-a": 4, "broker-b": 1}}},
            {"at": 5000.0, "subscribe": {"c2": []}},
            {"at": 6000.0, "broker": "broker-b", "does": "kill"},
            {"at": 7000.0, "restart": "c2", "how": "crash", "strategy": "range,roundrobin"},
            {"at": 8000.0, "reset_offsets": "g", "topic": "orders", "to": "1s"},
            {"at": 9000.0, "add_topic": {"more: of it": 2}},
            {"at": 9500.0, "delete_topic": "more: of it"},
            {"at": 9600.0, "configure": "g", "settings": {**OWN, "consumer.session.timeout.ms": None}},
            {"at": 590000.0, "stop_polling": "c2", "for": "1s"},
        ],
        expect={"settles_within": "90s", "idle_members": 0, "max_over_mean": 1.5},
    )
    assert read_text(as_yaml(found)) == found
