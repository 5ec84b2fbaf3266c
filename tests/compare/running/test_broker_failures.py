"""A comparison in which a broker fails: its stages, how long producers and consumers waited, and why, in words."""

import re
from typing import Any

import pytest

from compare.explaining.harm import because
from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.systems import scenario
from compare.running.variants import variants_of
from protocols.timeline.story import story
from tests.compare.running.stories import told

USUAL = "kafka:cooperative-sticky"


def test_a_killed_broker_is_told_with_event_mechanism_and_setting() -> None:
    variants = {name: told("broker-dies", name) for name in (USUAL, "acks=1", "session of 3 s")}
    (outage,) = variants[USUAL]["outages"]
    fenced = outage["stages"][0]
    assert (outage["event"], outage["at_s"], outage["refused"]) == ("b1 is killed", 60, 0)
    assert fenced["what"] == "the controller fences b1"
    assert fenced["until"] == "no partition is acknowledged"
    assert fenced["setting"] == "broker.session.timeout.ms 9000"
    assert 7 <= fenced["after_s"] <= 10.2
    assert variants["session of 3 s"]["outages"][0]["without_read_s"]["its"] < 5
    assert because(told("broker-dies", USUAL), "no_progress") == (  # type: ignore[arg-type]
        ", because b1 is killed and no partition is acknowledged until the controller fences b1"
        " [broker.session.timeout.ms 9000]"
    )
    for record in variants.values():
        assert record["harm"]["work"]["waiting"] == record["redelivered"] == record["rebalances"] - 1 == 0


def outage_of(load: dict[str, object], *events: dict[str, object]) -> dict[str, Any]:
    """The record of RocketMQ with two brokers of two queues each, which get 20 records per second each."""
    of = scenario(
        name="outage",
        brokers=["b1", "b2"],
        topics={"t": {"queues": {"b1": 2, "b2": 2}}},
        group={"name": "g", "members": {"c1..c3": {"subscribe": ["t"], "handle": "1ms"}}},
        load={"produce": "20/s", **load},
        run={"for": "5min", "seed": 3},
        events=list(events),
        systems=["rocketmq:AVG"],
    )
    result = run_variant(variants_of(of)[0])
    assert "b1 " in story(result.timeline)
    return dict(run_record(result))


def test_retried_and_twice_stored_records_of_producers_are_counted() -> None:
    kill = {"at": "65s", "broker": "b1", "does": "kill", "for": "120s"}
    (plain,) = outage_of({}, kill)["outages"]
    # Until the poll, each 30 s: at most half of 80/s are tried again, at least a sixth (a failed attempt moves on).
    learnt = next(stage["after_s"] for stage in plain["stages"] if "learn that b1 is gone" in stage["what"])
    assert 80 / 6 * learnt < plain["retried"] < 40 * learnt
    assert (plain["refused"], plain["stored_twice"]) == (0, 0)
    (ordered,) = outage_of({"selector": "key"}, kill)["outages"]
    assert ordered["retried"] == 0
    assert 39 * learnt < ordered["refused"] < 41 * learnt + 1
    (frozen,) = outage_of({}, {"at": "60s", "broker": "b1", "does": "freeze", "for": "20s"})["outages"]
    assert 0 < frozen["stored_twice"] <= frozen["retried"]


@pytest.mark.parametrize(("lasts", "load"), [("2s", {}), ("2s", {"selector": "key"}), ("20s", {})])
def test_what_a_frozen_broker_stores_is_refused_written_elsewhere_or_acknowledged_in_time(
    lasts: str, load: dict[str, object]
) -> None:
    """FACTS 28, 29: a send costs its ``sendMsgTimeout`` of 3 s; what lasts less costs nobody a record."""
    freeze = {"at": "60s", "broker": "b1", "does": "freeze", "for": lasts}
    (found,) = outage_of(load, freeze)["outages"]
    (told,) = [stage["what"] for stage in found["stages"] if "stores" in stage["what"]]
    stored, refused, twice, in_time = map(int, re.findall(r"\b\d+\b", told))
    assert (refused, twice) == (found["refused"], found["stored_twice"])
    assert stored == refused + twice + in_time
    assert in_time == 4, "one send of each thread"
    assert (refused > 0) == (lasts == "20s")


def test_an_outage_of_all_brokers_is_told_as_one_with_its_length() -> None:
    kills = [
        {"at": f"{at}s", "broker": broker, "does": "kill", "for": "60s"} for at, broker in ((60, "b1"), (70, "b2"))
    ]
    harm = outage_of({}, *kills)["harm"]
    (reason,) = [reason for reason in harm["because"]["refused"] if reason["kind"] == "no broker"]
    assert reason["mechanism"] == (
        "no broker with a replica of the queue runs for 50 s after b1 is killed and b2 is killed"
    )
    # 80/s: the producers know b2 alone by then, and no poll tells them of b1 before b2 is back after 60 s.
    assert reason["records"] == 80 * 60
