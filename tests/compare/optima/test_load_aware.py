"""The door for groups: what is said of queues and members becomes the problem, and its answer has their names."""

from math import sqrt
from typing import Any

import numpy as np
import pytest

from compare import QueueLoad, load_aware
from protocols import Group, GroupError, Queue

GROUP = Group.of({"orders": 4, "audit": 1}, {"c1": ["orders"], "c2": ["orders", "audit"], "c3": ["orders"]})
ORDERS = GROUP.topics["orders"]
TODAY = {"c1": ORDERS[:3], "c2": (*ORDERS[3:], *GROUP.topics["audit"])}


def loads(*rates: float, **more: Any) -> dict[Queue, QueueLoad]:
    return {queue: QueueLoad(rate, **more) for queue, rate in zip(GROUP.queues, rates, strict=True)}


@pytest.mark.parametrize(
    ("given", "capacity", "moved", "drains"),
    [
        ((10, 10, 10, 10, 10), 30, set(), True),
        ((20, 10, 10, 10, 10), 30, {(0, "c3")}, True),
        ((20, 10, 10, 10, 10), {"c1": 40, "c2": 20, "c3": 5}, set(), True),
        ((20, 20, 20, 20, 20), 19, {(0, "c3")}, False),
        ((20, 10, 10, 10, 10), None, {(0, "c3")}, None),
    ],
)
def test_moves_and_whether_all_drains(given: Any, capacity: Any, moved: Any, drains: bool | None) -> None:
    found = load_aware(GROUP, TODAY, loads(*given), capacity=capacity)
    found.allocation.check()
    assert {(queue.number, member) for queue, member in found.moved} == moved
    assert (found.drains, found.cost, found.proven) == (drains, len(moved), True)
    assert found.cost_at_least == len(moved)


def test_lag_and_handling_count_as_time_of_a_member() -> None:
    """c1 has 3 queues at 10/s of 10 ms, and 600 more records, which take 6 s: 0.3 of its time, and 0.6 of 10 s."""
    found = load_aware(GROUP, TODAY, loads(10, 10, 10, 0, 0, lag=200, handle_s=0.01), capacity=1, drain_s=10)
    assert found.utilisation == {"c1": pytest.approx(0.9), "c2": pytest.approx(0.4), "c3": 0}
    assert found.drain_s == {"c1": pytest.approx(6 / 0.7), "c2": pytest.approx(4), "c3": 0}
    assert load_aware(GROUP, TODAY, loads(10, 10, 10, 0, 0, p95=40, handle_s=0.01), capacity=1).cost == 1


@pytest.mark.parametrize(
    ("rates", "period_s", "rate", "spread"),
    [
        # A jump is seen in a second, a stop too.
        ([14] * 10 + [80], 1, 80, 0),
        ([14] * 10 + [0], 1, 0, 0),
        # The last of many changes.
        ([1, 100] * 600, 600, 100, 0),
        ([14] * 6 + [80] * 6 + [20] * 6, 1, 20, 0),
        # Chance in a second's records, no chance in a minute's.
        ([5] * 6 + [12] * 2, 1, 6.75, sqrt(10.5 * 9 / 8)),
        ([5] * 6 + [12] * 2, 60, 12, 0),
        # No change, however sure: it is less than a third.
        ([80] * 12 + [100] * 6, 60, 260 / 3, sqrt(320 / 3 * 7 / 6)),
        # One part since the change: its mean is as far off as what comes.
        (([12] * 2 + [16] * 2) * 3 + [80] * 2, 1, 80, 80 * sqrt(6 / 49 / 5 * 2)),
    ],
)
def test_a_measured_rate_is_the_mean_since_the_last_change(
    rates: list[float], period_s: float, rate: float, spread: float
) -> None:
    found = QueueLoad.measured(rates, lag=3, period_s=period_s)
    assert (found.rate, found.spread, found.lag) == (pytest.approx(rate), pytest.approx(spread), 3)


@pytest.mark.parametrize("rate", [4.0, 80.0])
def test_chance_in_counts_is_no_change(rate: float) -> None:
    """Counts of a second, by Poisson's law, of numpy."""
    counts = np.random.default_rng(1).poisson(rate, (200, 30)).astype(float)
    found = [QueueLoad.measured(each.tolist()).rate for each in counts]
    assert sum(np.isclose(found, counts.mean(axis=1))) >= 198


@pytest.mark.parametrize(
    ("rates", "period_s", "says"),
    [([], 1, r"measured rates \[\], expected one or more"), ([-1.0], 1, "0 or more"), ([1.0], 0, "period_s is 0")],
)
def test_rates_that_cannot_be(rates: list[float], period_s: float, says: str) -> None:
    with pytest.raises(GroupError, match=says):
        QueueLoad.measured(rates, period_s=period_s)


def test_who_is_gone_owned_nothing_and_dear_queues_stay() -> None:
    found = load_aware(GROUP.without("c1"), TODAY, loads(10, 10, 10, 10, 10), capacity=30)
    assert (found.cost, [queue.number for queue, _ in found.newly_owned]) == (0, [0, 1, 2])
    dear = load_aware(GROUP, TODAY, loads(20, 20, 5, 5, 5), capacity=40, move_cost={ORDERS[0]: 9})
    assert [queue.number for queue, _ in dear.moved] == [1]
    nobody = load_aware(Group.of({"orders": 4}, {}), None, {})
    assert (nobody.highest, nobody.utilisation, nobody.drains) == (None, {}, None)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"loads": {}}, "has no load"),
        ({"loads": loads(-1, 0, 0, 0, 0)}, "expected numbers of 0 or more"),
        ({"capacity": {"c1": 1}}, "'c2' has the capacity None"),
        ({"capacity": 0}, "expected a number above 0"),
        ({"drain_s": 0}, "drain_s"),
        ({"hysteresis": 1}, "hysteresis"),
        ({"move_cost": {ORDERS[0]: 0}}, "expected a whole number of 1 or more"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(GroupError, match=says):
        load_aware(GROUP, TODAY, **{"loads": loads(1, 1, 1, 1, 1), **changes})
