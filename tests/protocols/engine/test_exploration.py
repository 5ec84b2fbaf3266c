"""Parts of the explorer's world: connections, keys, times."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from protocols.engine.exploration import states
from protocols.engine.exploration.rules import Keys, floats_of, map_times
from protocols.engine.exploration.states import CLOSES, NOTHING, OPENS, Pair
from protocols.node_state import Apart, NodeState

HELLO, ANSWER = 2, 3


def test_the_first_message_opens_a_connection() -> None:
    pair, has_opened = states.send(NOTHING, 0, HELLO)
    assert has_opened
    assert pair == Pair((True, False), ((OPENS, HELLO), ()))
    what, pair = states.take(pair, 1)
    assert what == OPENS
    pair, has_opened = states.send(pair, 1, ANSWER)
    assert not has_opened
    assert pair == Pair((True, True), ((HELLO,), (ANSWER,)))


def test_who_closes_loses_what_is_on_its_way_to_him() -> None:
    pair = states.close(Pair((True, True), ((HELLO,), (ANSWER,))), 0)
    assert pair == Pair((False, True), ((HELLO, CLOSES), ()))
    lost, _ = states.send(pair, 1, ANSWER)
    assert lost == pair
    _, pair = states.take(pair, 1)
    what, pair = states.take(pair, 1)
    assert what == CLOSES
    assert pair == NOTHING


def test_both_close_at_once() -> None:
    pair = states.close(states.close(Pair((True, True), ((), ())), 0), 1)
    assert pair == NOTHING


def test_a_new_connection_follows_the_old_one() -> None:
    pair = states.close(Pair((True, True), ((), ())), 0)
    pair, has_opened = states.send(pair, 0, HELLO)
    assert has_opened
    assert pair.flights == ((CLOSES, OPENS, HELLO), ())
    told = []
    for _ in range(3):
        what, pair = states.take(pair, 1)
        told.append(what)
    assert told == [CLOSES, OPENS, HELLO]
    assert pair == Pair((True, True), ((), ()))


def test_both_open_at_once() -> None:
    pair, _ = states.send(NOTHING, 0, HELLO)
    pair, has_opened = states.send(pair, 1, ANSWER)
    assert not has_opened
    assert pair == Pair((True, True), ((OPENS, HELLO), (ANSWER,)))


def test_nothing_reaches_a_process_that_is_gone() -> None:
    pair = states.end(Pair((True, True), ((HELLO,), (ANSWER,))), 1)
    assert pair == Pair((True, False), ((), (ANSWER, CLOSES)))


def test_an_end_is_noticed_before_what_came_over_the_connection() -> None:
    ended, pair = states.ended_meanwhile(Pair((True, False), ((), (ANSWER, CLOSES, OPENS))), 0)
    assert ended
    assert pair == Pair((False, False), ((), (ANSWER, OPENS)))


class _Said(NamedTuple):
    number: int
    at: float


@dataclass(frozen=True)
class _Settings:
    limit: float
    names: Mapping[str, int]


@dataclass(slots=True)
class _Node(NodeState):
    said: tuple[_Said, ...]
    told: dict[str, float]
    cache: Apart[float]
    settings: _Settings = _Settings(5000.0, {"a": 1})


def test_keys_hold_every_field_but_those_apart() -> None:
    keys = Keys()
    one, other = _Node((_Said(1, 2.0),), {"a": 1.0}, 1), _Node((_Said(1, 2.0),), {"a": 1.0}, 2)
    assert keys.key(one) == keys.key(other)
    hash(keys.key(one))
    other.told["b"] = 1.0
    assert keys.key(one) != keys.key(other)
    assert keys.key({"a": 1, "b": 2}) != keys.key({"b": 2, "a": 1})
    assert keys.key(_Said(1, 2.0)) != keys.key((1, 2.0))


def test_times_are_replaced_in_a_nodes_own_objects() -> None:
    node = _Node((_Said(1, 7.0),), {"a": 8.0}, 0)
    map_times(node, lambda each: each + 1)
    assert node.said == (_Said(1, 8.0),)
    assert node.told == {"a": 9.0}
    assert node.settings.limit == 5000.0
    found: set[float] = set()
    floats_of(node, found)
    assert found == {8.0, 9.0}


def test_only_plain_state_has_a_key() -> None:
    class Anything:
        pass

    with pytest.raises(TypeError, match="expected __slots__"):
        Keys().key(Anything())
