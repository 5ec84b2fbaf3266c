"""Whole stories of groups in a simulated Kafka cluster: times follow from the timers (spec 9)."""

import os
import subprocess
import sys

import pytest

from protocols.errors import UserError
from protocols.scenario.events import BrokerEvent, Crash, Hang, Join, Leave, Network, Queues, Restart
from tests.kafka_coordinator.kafka_stories import Story, at
from tests.rows import rows


@rows(
    ("system", "settings", "message"),
    [
        ("kafka:uniform", {"group.protocol": "classic"}, "uniform belongs to the consumer protocol"),
        ("kafka:uniform", {"group.protocol": "new"}, "group.protocol is 'new', expected one of classic, consumer"),
        (
            "kafka:server-range",
            {"session.timeout.ms": 10_000, "partition.assignment.strategy": "range"},
            "partition.assignment.strategy, session.timeout.ms cannot be set when group.protocol=CONSUMER",
        ),
        ("kafka:uniform", {"heartbeat.interval.ms": 1}, "heartbeat.interval.ms cannot be set when group.protocol=CON"),
        (
            "kafka:range",
            {"group.remote.assignor": "uniform"},
            "group.remote.assignor cannot be set when group.protocol=CLASSIC",
        ),
        ("kafka:rangy", {}, "unknown assignor 'rangy'"),
        ("kafka:range", {"sesion.timeout.ms": 1}, "expected session.timeout.ms"),
        ("kafka:range", {"group.protocol": "consumer"}, "expected kafka:server-range, kafka:uniform"),
        ("kafka:range", {"partition.assignment.strategy": "uniform"}, "uniform is an assignor of the broker"),
        ("kafka:range", {"group.max.size": 0}, "group.max.size"),
        ("kafka:range", {"broker.session.timeout.ms": "soon"}, "expected a whole number"),
    ],
)
def test_what_kafka_does_not_have_is_told(system: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Story(system, settings=settings)


def test_a_members_own_settings_are_checked_before_anything_happens() -> None:
    with pytest.raises(UserError, match="member c2"):
        Story(members={"c1": {}, "c2": {"settings": {"max.pol.records": 1}}})
    with pytest.raises(UserError, match="member c2: unknown assignor 'rang'"):
        Story(events=[Restart(at=at(20), restart="c2", strategy="rang")])


def test_the_same_under_any_hash_seed() -> None:
    script = (
        "from tests.kafka_coordinator.test_cluster import story_of_all; import hashlib;"
        "print(hashlib.sha256(repr(story_of_all()).encode()).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "77")
    }
    assert len(found) == 1


def story_of_all() -> list[object]:
    """A story with something of everything; all its facts and messages."""
    events = [
        Join(at=at(20), join="c4", group="g", subscribe=("t",)),
        Crash(at=at(30), crash="c2"),
        Hang(at=at(40), hang="c1", **{"for": at(20)}),
        BrokerEvent(at=at(70), broker="b2", does="kill"),
        Queues(at=at(90), queues={"t": {"b1": 5, "b2": 5, "b3": 5}}),
        Restart(at=at(100), restart="c3"),
        Network(at=at(110), network="loss", between=("c1",), **{"for": at(20)}, loss=0.3),
    ]
    story = Story(
        "kafka:sticky",
        members={"c1": {"handle": 5.0}, "c2": {}, "c3": {"instance_id": "i3"}},
        brokers=("b1", "b2", "b3"),
        rate=20.0,
        events=events,
        latency=(1.0, 5.0),
        settings={"session.timeout.ms": 10_000, "metadata.max.age.ms": 20_000},
        tracing=True,
    )
    seen = story.to_end(180)
    return [*seen.facts, *seen.sent_messages]


def test_a_restart_that_is_called_off_while_the_member_closes_stays_away() -> None:
    events = [Restart(at=at(20), restart="c2"), Leave(at=at(20.001), leave="c2")]
    seen = Story(events=events).until(60)
    assert seen.owners() == {"c1": (0, 1, 2, 3, 4, 5), "c2": ()}


def test_a_leave_followed_at_once_by_a_join_waits_until_the_member_has_closed() -> None:
    events = [Leave(at=at(20), leave="c2"), Join(at=at(20.001), join="c2", group="g", subscribe=("t",))]
    seen = Story(events=events).until(60)
    assert seen.owners() == {"c1": (0, 1, 2), "c2": (3, 4, 5)}
    assert seen.callbacks("c2")[:2] == [("assigned", (3, 4, 5)), ("revoked", (3, 4, 5))]


def test_members_of_one_process_die_together_and_are_started_together() -> None:
    members = {"c1": {}, "c2": {"process": "p"}, "c3": {"process": "p"}}
    events = [Restart(at=at(20), restart="c2", how="crash")]
    seen = Story(members=members, events=events).until(200)
    assert [queues for now, queues in seen.beliefs("c3") if now == at(20)] == [()]
    assert seen.owners() == {"c1": (0, 1), "c2": (2, 3), "c3": (4, 5)}
