"""States of clusters are told apart by all that they hold, and by nothing else."""

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

from protocols.scenario.cluster_states import ClusterState, ClusterStates, alike
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
