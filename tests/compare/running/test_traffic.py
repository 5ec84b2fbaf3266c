"""What a group costs its servers: requests and bytes at rest and in the worst second."""

from typing import Any

import pytest

from compare.running.run_variant import run_variant
from compare.running.variants import variants_of
from tests.compare.compared import made, ran


def traffic(system: str | dict[str, Any], **more: Any) -> Any:
    given: dict[str, Any] = {
        "topics": {"X": 8},
        "group": {"name": "g", "members": {f"c{n}": ["X"] for n in range(1, 5)}},
        "events": [],
        "run": {"for": "4min", "seed": 1},
    }
    return ran(made(**{**given, **more, "systems": [system]}))[1]["variants"][0]["traffic"]


def test_a_quiet_group_of_kafka_asks_as_often_as_its_intervals_say() -> None:
    """Four members: a heartbeat every 3 s (every 5 s in the consumer protocol), a commit every 5 s. On a relay before a
    broker 4.1.0, four Java clients 4.1.0 on 8 partitions, with 80 records/s and without: 81 bytes for a heartbeat with
    its answer and 139.6 for a commit; in the consumer protocol 106 and 122.2."""
    classic, consumer = traffic("kafka:range"), traffic("kafka:uniform")
    assert classic["requests_per_s"] == pytest.approx(4 / 3 + 4 / 5, rel=0.02)
    assert consumer["requests_per_s"] == pytest.approx(4 / 5 + 4 / 5, rel=0.02)
    assert classic["bytes_per_s"] == pytest.approx(4 / 3 * 81 + 4 / 5 * 139.6, rel=0.01)
    assert consumer["bytes_per_s"] == pytest.approx(4 / 5 * (106 + 122.2), rel=0.01)
    assert classic["servers"].keys() == {"broker-a"}
    # Offsets are committed whether records came or not.
    assert traffic("kafka:range", load={})["requests_per_s"] == pytest.approx(classic["requests_per_s"], rel=0.02)
    assert classic["worst_second"]["requests"] > 2 * classic["requests_per_s"]


def test_a_quiet_group_of_rocketmq_asks_brokers_and_name_server() -> None:
    """Four clients: routes of X and of the retry topic every 30 s at the name server; heartbeats every 30 s, lists of
    members every 20 s for both topics, and 8 + 1 offsets every 5 s at the broker."""
    found = traffic("rocketmq:AVG", brokers=["broker-a"], run={"for": "15min", "seed": 1})
    assert found["servers"]["namesrv"]["requests_per_s"] == pytest.approx(4 * 2 / 30, rel=0.005)
    broker = found["servers"]["broker-a"]["requests_per_s"]
    assert broker == pytest.approx(4 / 30 + 4 * 2 / 20 + 9 / 5, rel=0.005)
    assert found["requests_per_s"] == pytest.approx(broker + found["servers"]["namesrv"]["requests_per_s"])


def test_quiet_times_that_are_not_simulated_count_the_same() -> None:
    (variant,) = variants_of(made(systems=["rocketmq:AVG"], events=[], run={"for": "6min", "seed": 1}), (), ())
    skipped, full = (run_variant(variant, full=full).traffic or {} for full in (False, True))
    for server in ("broker-a", "namesrv"):
        for field in ("requests", "bytes"):
            totals = [sum(getattr(each, field) for each in run[server]) for run in (skipped, full)]
            assert totals[0] == pytest.approx(totals[1], rel=0.02), (server, field)


@pytest.mark.parametrize(
    ("load", "at_name_server", "at_broker"),
    [({}, 15_792, 73_045), ({"produce": "10/s"}, 32 * 496.5, 16 * 875.9 + 48 * 310.7 + 216 * 207.9)],
    ids=["without records", "80 records/s"],
)
def test_a_quiet_group_of_rocketmq_costs_what_real_clients_and_servers_sent(
    load: Any, at_name_server: float, at_broker: float
) -> None:
    """Counted on relays before a name server and a broker 5.5.0, pulls left out: four Java clients 5.5.0 (c1@g to c4@g)
    of group g, topic X with 8 queues. Bytes in two minutes: all that passed, or, with records, those of a request with
    its answer (route, heartbeat, list of members, offset). Sizes differ by digits of addresses and request numbers."""
    group = {"name": "g", "members": {f"c{n}": ["X"] for n in range(1, 5)}}
    of = made(
        systems=["rocketmq:AVG"],
        topics={"X": 8},
        group=group,
        brokers=["broker-a"],
        events=[],
        load=load,
        run={"for": "8min"},
    )
    (variant,) = variants_of(of, (), ())
    run = run_variant(variant, full=True).traffic or {}
    for server, requests, size in (("namesrv", 32, at_name_server), ("broker-a", 216 + 16 + 48, at_broker)):
        minutes = run[server][300:420]
        assert sum(each.requests for each in minutes) == requests
        assert sum(each.bytes for each in minutes) == pytest.approx(size, rel=0.01), server


HEARTBEATS, QUESTIONS, ROUTES = 4 / 10, 4 / 5, 4 / 30
"""A second's requests of four clients of the proxy."""


@pytest.mark.parametrize(
    ("client", "load", "at_proxy", "of_acks"),
    [
        ("PushConsumer", {}, HEARTBEATS * 183.2 + QUESTIONS * 261.2 + ROUTES * 566, 0),
        ("SimpleConsumer", {}, HEARTBEATS * 189.4 + ROUTES * 566, 0),
        (
            "PushConsumer",
            {"produce": "10/s"},
            HEARTBEATS * 183.2 + QUESTIONS * 261.2 + ROUTES * 566 + 80 * 338.5,
            357.2,
        ),
        ("SimpleConsumer", {"produce": "1/s"}, HEARTBEATS * 189.4 + ROUTES * 566 + 8 * 345.2, 353.9),
    ],
)
def test_clients_of_the_proxy_cost_what_real_ones_sent(
    client: str, load: dict[str, str], at_proxy: float, of_acks: float
) -> None:
    """Counted on relays before a proxy 5.5.0 and between it, its name server and its broker: four Java clients 5.2.0 of
    group g, topic X with 8 queues, records of one byte. Bytes of a call with its answer (HEADERS and DATA frames;
    heartbeat, assignment, route, acknowledgement), without calls that ask for records; of an acknowledgement of the
    proxy at the broker; of a route at the name server, each 20 s."""
    system = {"system": "rocketmq:POP", "settings": {"client": client}}
    found = traffic(system, brokers=["broker-a"], load=load, run={"for": "5min", "seed": 1})["servers"]
    records = int(load.get("produce", "0/s").removesuffix("/s")) * 8
    asks = QUESTIONS if client == "PushConsumer" else 0
    assert found["proxy"]["requests_per_s"] == pytest.approx(HEARTBEATS + asks + ROUTES + records, rel=0.01)
    assert found["proxy"]["bytes_per_s"] == pytest.approx(at_proxy, rel=0.03)
    assert found["namesrv"]["bytes_per_s"] == pytest.approx(490 / 20, rel=0.03)
    assert found.get("broker-a", {"bytes_per_s": 0.0})["bytes_per_s"] == pytest.approx(records * of_acks, rel=0.03)


def test_without_a_rest_of_half_a_minute_nothing_is_said_of_rest() -> None:
    events = [{"at": f"{20 * n}s", "restart": "c1"} for n in range(1, 6)]
    found = traffic("kafka:range", events=events, run={"for": "110s", "seed": 1})
    assert found["requests_per_s"] is found["bytes_per_s"] is None
    assert found["worst_second"]["bytes"] > 1000


def test_the_price_is_that_of_the_group_with_its_members() -> None:
    """Four members ask as often as their intervals say for 90 s, and nobody afterwards; one, after three have gone."""
    gone = [{"at": "90s", "crash": "c1..c4"}]
    assert traffic("kafka:range", events=gone)["requests_per_s"] == pytest.approx(4 / 3 + 4 / 5, rel=0.05)
    gone = [{"at": "90s", "leave": "c2..c4"}]
    assert traffic("kafka:uniform", events=gone)["requests_per_s"] == pytest.approx(8 / 5, rel=0.05)


def test_the_frames_of_zookeeper_are_not_known() -> None:
    assert traffic("kafka-zookeeper:range") is None
