"""The strategies that look at rates: what they answer, and how a group that runs them keeps up in both systems."""

from itertools import permutations
from typing import Any

import pytest

from kafka_coordinator import assign
from protocols import Group, StrategyError, UserError
from rocketmq_selfbalance import allocate
from tests.compare.compared import made, ran

GROUP = Group.of({"orders": 6, "audit": 2}, {"c1": ["orders", "audit"], "c2": ["orders"], "c3": ["orders", "audit"]})
RATES = {"orders": 1, "orders-0": 40, "orders-1": 35, "orders-2": 30, "audit": 0}

DAY: dict[str, Any] = {
    "topics": {"orders": {"queues": {"broker-a": 12}}},
    "brokers": ["broker-a"],
    "group": {"name": "g", "members": {f"c{n}": {"subscribe": ["orders"], "handle": "10ms"} for n in range(1, 5)}},
    "load": {"produce": "4/s", "rates": {"orders-0": "40/s", "orders-1": "35/s", "orders-2": "30/s"}},
    "run": {"for": "3min", "seed": 1},
    "events": [{"at": "60s", "leave": "c2"}, {"at": "100s", "join": "c5", "subscribe": ["orders"], "handle": "10ms"}],
}
OF_KAFKA = {"orders": 4, "orders-0": 40, "orders-1": 35, "orders-2": 30}
OF_ROCKETMQ = {"orders": 4, "orders-broker-a-0": 40, "orders-broker-a-1": 35, "orders-broker-a-2": 30}
KAFKA = {"system": "kafka:load-aware", "settings": {"load.aware.rates": OF_KAFKA}}
ROCKETMQ = {"system": "rocketmq:LOAD_AWARE", "settings": {"rates": OF_ROCKETMQ}}


def test_the_busiest_queues_go_to_different_members_and_few_move_afterwards() -> None:
    first = assign("load-aware", GROUP, settings={"rates": RATES})
    first.check()
    assert len({first.owners[queue] for queue in GROUP.topics["orders"][:3]}) == 3
    again = assign("load-aware", GROUP, previous=first, settings={"rates": {**RATES, "orders-0": 42}})
    assert again == first
    (owner,) = first.owners[GROUP.topics["orders"][0]]
    left = assign("load-aware", GROUP.without("c2"), previous=first, settings={"rates": RATES})
    stayed = [queue for queue in GROUP.queues if set(first.owners[queue]) <= set(left.owners[queue])]
    assert len(stayed) >= len(GROUP.queues) - len(first["c2"]) - 1
    assert owner == "c2" or GROUP.topics["orders"][0] in left[owner]


def test_a_partition_that_moves_is_held_back_until_its_owner_gave_it_up() -> None:
    joined = assign("load-aware", GROUP, previous={"c1": GROUP.topics["orders"]}, settings={"rates": RATES})
    assert joined.withheld
    assert not set(joined.withheld).intersection(*[joined[member] for member in joined])
    assert all(queue in GROUP.topics["orders"] and member != "c1" for queue, member in joined.withheld.items())


@pytest.mark.parametrize("order", list(permutations(["c1", "c2", "c3"])))
def test_rocketmq_s_clients_agree_and_spread_the_rates(order: tuple[str, ...]) -> None:
    group = Group.of({"orders": {"a": 3, "b": 3}}, {member: ["orders"] for member in order})
    rates = {"orders": 1, "orders-a-0": 40, "orders-a-1": 35, "orders-b-0": 30}
    found = allocate("LOAD_AWARE", group, settings={"rates": rates})
    found.check()
    assert found == allocate("LOAD_AWARE", group, settings={"rates": dict(reversed(rates.items()))})
    highest = max(sum(rates.get(f"orders-{q.broker}-{q.number}", 1) for q in queues) for queues in found.values())
    assert highest <= 1.1 * 40 + 1


@pytest.mark.parametrize("rates", [{"orders": -1}, {"orders": "fast"}, [1, 2]])
def test_rates_that_cannot_be_are_refused(rates: object) -> None:
    for run in (
        lambda: assign("load-aware", GROUP, settings={"rates": rates}),
        lambda: allocate("LOAD_AWARE", GROUP, settings={"rates": rates}),
    ):
        with pytest.raises(StrategyError, match="expected"):
            run()
    with pytest.raises(UserError, match="expected"):
        ran(made(**DAY, systems=[{"system": "kafka:load-aware", "settings": {"load.aware.rates": rates}}]))


def test_who_counts_queues_falls_behind_where_who_knows_the_rates_keeps_up() -> None:
    _, found = ran(made(**DAY, systems=["kafka:range", KAFKA, "rocketmq:AVG", ROCKETMQ]))
    age = {each["system"]: each["record_age_ms"]["p99"] for each in found["variants"]}
    assert age["kafka:load-aware"] < age["kafka:range"] / 3
    assert age["rocketmq:LOAD_AWARE"] < age["rocketmq:AVG"] / 10
    for each in found["variants"]:
        assert sum(len([queue for queue in own if queue[0] == "orders"]) for own in each["owners"].values()) == 12
