"""Whatever happens to a group: equal views give every queue exactly one owner, and nothing is committed unconsumed."""

from collections.abc import Iterable
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from protocols import Queue
from protocols.facts import Delivered, PassedOver
from protocols.groups import Group
from protocols.java import sort_queues, sorted_as_java
from rocketmq_selfbalance.registry import strategies_of
from tests.rocketmq_selfbalance.lived import Lived

IN_GROUPS = st.sampled_from(["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH", "MACHINE_ROOM_NEARBY"])
IDS = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=6), min_size=1, max_size=8, unique=True)
QUEUES = st.sets(st.builds(Queue, st.just("T"), st.sampled_from(["a", "b", "room-c"]), st.integers(0, 9)), min_size=1)
KINDS = ("join", "again", "leave", "crash", "hang", "queues", "stop", "kill", "cut", "poison")
GAPS_S = st.sampled_from([0.1, 1.0, 2.5, 7.0, 21.0, 47.0])
MOST = 6
HAPPENINGS = st.lists(st.tuples(st.sampled_from(KINDS), GAPS_S, st.integers(1, 9)), min_size=1, max_size=MOST)
LASTING_S = 25
"""How long the network is cut, and a broker is down."""
HANGING_S = 17
"""How long a member hangs, so many times."""
MEMBERS = ("c1", "c2", *(f"late{number}" for number in range(MOST)))
"""All that may ever be there."""


def rooms(strategy: str, ids: Iterable[str]) -> dict[str, Any]:
    """Where brokers and members are, for the strategy that asks: without a room for each of them it hands out nothing.
    Some rooms have no members, some no queues."""
    if strategy != "MACHINE_ROOM_NEARBY":
        return {}
    brokers = {"a": "east", "b": "west", "room-c": "north", "broker-a": "east", "broker-b": "north"}
    members = {each: ("east", "west", "south")[sum(map(ord, each)) % 3] for each in ids}
    return {"broker_rooms": brokers, "member_rooms": members}


@given(IN_GROUPS, IDS, QUEUES)
def test_a_pass_with_equal_views_gives_every_queue_one_owner(name: str, ids: list[str], queues: set[Queue]) -> None:
    group = Group.of({}, dict.fromkeys(ids, ()))
    in_turn, members = sort_queues(queues), sorted_as_java(ids)
    owned = [
        queue
        for member, strategy in zip(group.members, strategies_of(group, name, rooms(name, ids), {}), strict=True)
        for queue in strategy.allocate("g", member.id, in_turn, members) or ()
    ]
    assert sorted(owned) == sorted(queues)


def events_of(happenings: list[tuple[str, float, int]]) -> tuple[list[dict[str, Any]], float]:
    """Events of the scenario format, and when the last of them is over, in seconds. Somebody always stays."""
    found: list[dict[str, Any]] = []
    there, gone, at, over, down_until = ["c1", "c2"], list[str](), 20.0, 20.0, 0.0
    for number, (kind, gap, how_many) in enumerate(happenings):
        at += gap
        time, lasts = at * 1000.0, float(HANGING_S * how_many if kind == "hang" else LASTING_S)
        if kind == "join" or (kind == "again" and gone):
            there.append(f"late{number}" if kind == "join" else gone.pop())
            found.append({"at": time, "join": there[-1], "group": "g", "subscribe": ("T",)})
        elif kind == "queues":
            found.append({"at": time, "queues": {"T": {"broker-a": how_many, "broker-b": 10 - how_many}}})
        elif kind in ("stop", "kill") and at > down_until:
            down_until = at + LASTING_S
            found.append({"at": time, "broker": "broker-b", "does": kind})
            found.append({"at": down_until * 1000.0, "broker": "broker-b", "does": "return"})
        elif kind == "cut":
            # Only one broker misses its heartbeats: the views of the members differ.
            cut = {"network": "cut", "between": (there[0], "broker-a"), "for": lasts * 1000.0}
            found.append({"at": time, **cut})
        elif kind == "poison":
            found.append({"at": time, "poison": "T-0", **({} if how_many > 5 else {"attempts": how_many})})
        elif kind == "hang":
            found.append({"at": time, "hang": there[0], "for": lasts * 1000.0})
        elif len(there) > 1 and kind in ("leave", "crash"):
            gone.append(there.pop())
            found.append({"at": time, kind: gone[-1]})
        over = max(over, at + lasts)
    return sorted(found, key=lambda event: float(event["at"])), over


@example([*[("join", 1.0, 1)] * (MOST - 2), ("queues", 1.0, 7), ("join", 1.0, 1)], "MACHINE_ROOM_NEARBY", 0)
@given(HAPPENINGS, IN_GROUPS, st.integers(0, 99))
def test_in_the_end_every_queue_has_one_owner_and_no_commit_lies_beyond_what_was_consumed(
    happenings: list[tuple[str, float, int]], strategy: str, seed: int
) -> None:
    events, over = events_of(happenings)
    topics = {"T": {"broker-a": 4, "broker-b": 4}}
    members = {name: {"subscribe": ("T",)} for name in ("c1", "c2")}
    given: dict[str, Any] = {"strategy": strategy, "settings": rooms(strategy, MEMBERS)}
    lived = Lived(topics, members, *events, seconds=over + 240, seed=seed, produce=0.5, **given)
    assert lived.settled(), lived.owners()
    consumed: dict[Queue, int] = {}
    for _, _, fact in lived.told(Delivered):
        consumed[fact.queue] = max(consumed.get(fact.queue, 0), fact.end)
    for _, _, passed in lived.told(PassedOver):
        consumed[passed.queue] = max(consumed.get(passed.queue, 0), passed.offset + 1)
    for queue in lived.queues():
        committed = lived.broker(queue.broker).offsets.query("g", queue.topic, queue.number)
        assert committed <= consumed.get(queue, 0)
