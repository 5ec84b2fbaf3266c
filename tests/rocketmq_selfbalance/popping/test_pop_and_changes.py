"""What happens to records that are given out one by one when queues, offsets, brokers and processes change under them.
The timeline checks each fact: a record is given to one member at a time, and to nobody after it ended."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from compare.running.run_variant import RunResult
from compare.running.systems import scenario
from protocols.errors import UserError
from tests.rocketmq_selfbalance.popping import runs

IN_ORDER = {"consumeMessageOrderly": True}
SLOW: Mapping[str, Any] = {"subscribe": ["orders"], "handle": "5s"}


def run(
    groups: runs.Groups,
    events: Sequence[Mapping[str, Any]],
    *,
    settings: Mapping[str, object] | None = None,
    queues: Mapping[str, int] | None = None,
    produce: str = "1/s",
    lasts: str = "3min",
) -> RunResult:
    there = dict(queues or {"b1": 1})
    return runs.run(groups, events, settings, queues=there, brokers=("b1", "b2"), produce=produce, lasts=lasts)


TWO = {"shop": {"c1": SLOW, "c2": SLOW}}


@pytest.mark.parametrize(
    ("events", "settings"),
    [
        ([{"at": "30s", "restart": "c1", "how": "crash"}], IN_ORDER),
        ([{"at": "30500ms", "reset_offsets": "shop", "topic": "orders", "to": "25s"}], {}),
        ([{"at": "30s", "reset_offsets": "shop", "topic": "orders", "to": "10s"}], {}),
        ([{"at": "30s", "reset_offsets": "shop", "topic": "orders", "to": "10s"}], IN_ORDER),
        ([{"at": "30s", "delete_topic": "orders"}], IN_ORDER),
        ([{"at": "30s", "queues": {"orders": {"b2": 1}}}, {"at": "50s", "queues": {"orders": {"b1": 2}}}], {}),
        ([{"at": "30s", "queues": {"orders": {"b2": 1}}}, {"at": "50s", "queues": {"orders": {"b1": 2}}}], IN_ORDER),
        (
            [
                {"at": "20s", "broker": "b1", "does": "freeze", "for": "150s"},
                {"at": "21s", "hang": "c1", "for": "200s"},
            ],
            {},
        ),
    ],
)
def test_a_run_goes_on_to_its_end_whatever_changes(
    events: Sequence[Mapping[str, Any]], settings: Mapping[str, object]
) -> None:
    result = run(TWO, events, settings=settings, lasts="5min")
    assert result.timeline.end == 300_000


def test_two_groups_of_one_topic_do_not_know_of_each_others_records() -> None:
    slow = {"subscribe": ["orders"], "handle": "150s", "threads": 4}
    result = run({"shop": {"c1": slow}, "bill": {"d1": slow}}, [], produce="1/min", lasts="8min")
    assert {(each.group, each.attempt) for each in result.timeline.given} == {("shop", 1), ("bill", 1)}


def test_a_process_that_starts_again_is_another_client_whose_forerunner_expires() -> None:
    members = {"c1": {"subscribe": ["orders"], "handle": "1500ms"}, "c2": {"subscribe": ["orders"], "handle": "1500ms"}}
    events = [{"at": "60s", "crash": "c1"}, {"at": "70s", "restart": "c1"}]
    result = run({"shop": members}, events, queues={"b1": 2}, lasts="5min")
    lost = [each for each in result.timeline.given if each.member == "c1" and each.since < 60_000 < (each.until or 0)]
    assert lost
    assert all(each.fate == "client gone" and (each.until or 0) < 60_000 + 140_000 for each in lost)


def test_what_comes_for_a_request_that_its_client_gave_up_is_given_to_somebody_else() -> None:
    idle = {"subscribe": ["orders"], "handle": "5ms"}
    events = [{"at": "30s", "broker": "b1", "does": "freeze", "for": "60s"}]
    result = run({"shop": {"c1": idle, "c2": idle}}, events, lasts="4min")
    assert not [each for each in result.timeline.given if each.since < 200_000 and not each.fate]


def test_a_pause_of_the_code_does_not_disturb_a_record_that_waits_for_its_next_try() -> None:
    events = [
        {"at": "10s", "poison": "orders-0", "attempts": 2},
        *({"at": f"{at}ms", "stop_polling": "c1", "for": "100ms"} for at in range(10_100, 11_900, 300)),
    ]
    fast = {"subscribe": ["orders"], "handle": "5ms"}
    result = run({"shop": {"c1": fast}}, events, settings=IN_ORDER, lasts="60s")
    assert result.timeline.deliveries


def test_nobody_else_is_called_as_the_proxy() -> None:
    with pytest.raises(UserError, match="'proxy' is the name of a server"):
        run({"shop": {"proxy": SLOW}}, [])
    with pytest.raises(UserError, match="brokers: 'proxy' is the name of another server"):
        scenario(
            name="n",
            brokers=["proxy"],
            topics={"t": 1},
            group={"name": "g", "members": {"c": ["t"]}},
            run={"for": "1s"},
        )
