"""A comparison in which a broker fails: its stages, how long producers and consumers waited, and why, in words."""

from compare.explaining.harm import because
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
    for waited in (outage["without_send_s"], outage["without_read_s"]):
        assert fenced["after_s"] < waited["others"] < waited["its"] < fenced["after_s"] + 1
    (of_leader,) = variants["acks=1"]["outages"]
    assert of_leader["without_send_s"]["others"] < 0.1 < 7 < of_leader["without_send_s"]["its"]
    assert of_leader["without_read_s"]["others"] > 7
    (short,) = variants["session of 3 s"]["outages"]
    assert short["without_read_s"]["its"] < 5
    assert because(told("broker-dies", USUAL), "no_progress") == (  # type: ignore[arg-type]
        ", because b1 is killed and no partition is acknowledged until the controller fences b1"
        " (broker.session.timeout.ms 9000)"
    )
    for record in variants.values():
        assert record["harm"]["work"]["waiting"] == record["redelivered"] == record["rebalances"] - 1 == 0
