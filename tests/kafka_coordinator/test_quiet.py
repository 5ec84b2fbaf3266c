"""Runs that pass over quiet times observe what full runs observe (`protocols.engine.fast_forward.contract`)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocols.scenario.events import (
    AddTopic,
    BrokerEvent,
    Commit,
    Configure,
    Crash,
    Disconnect,
    Event,
    Hang,
    Leave,
    Network,
    Poison,
    Queues,
    Restart,
    StopPolling,
)
from protocols.scenario.fields import TopicPart
from tests.kafka_coordinator.kafka_stories import Observed, Story
from tests.rows import rows

MEMBERS = ("c1", "c2", "c3", "c4")
MOMENTS = st.integers(15_000, 220_000).map(float)
SHORT = st.integers(500, 40_000).map(float)


def lasting(kind: type, **fields: Any) -> st.SearchStrategy[Event]:
    return st.builds(lambda at, how_long: kind(at=at, **fields, **{"for": how_long}), MOMENTS, SHORT)


def events_about(member: str) -> st.SearchStrategy[Event]:
    return st.one_of(
        MOMENTS.map(lambda at: Crash(at=at, crash=member)),
        MOMENTS.map(lambda at: Leave(at=at, leave=member)),
        MOMENTS.map(lambda at: Restart(at=at, restart=member)),
        MOMENTS.map(lambda at: Commit(at=at, commit=member)),
        MOMENTS.map(lambda at: Disconnect(at=at, disconnect=member)),
        lasting(Hang, hang=member),
        lasting(StopPolling, stop_polling=member),
        lasting(Network, network="cut", between=(member,)),
    )


EVENTS = st.lists(
    st.one_of(
        st.sampled_from(MEMBERS).flatmap(events_about),
        MOMENTS.map(lambda at: Queues(at=at, queues={"t": {"b1": 5, "b2": 4}})),
        st.builds(
            lambda at, attempts, pause: Poison(at=at, poison="t-3", attempts=attempts, pause=pause),
            *(MOMENTS, st.sampled_from([None, 1, 7]), SHORT),
        ),
        st.builds(
            lambda at, interval: Configure(at=at, configure="g", settings={"consumer.heartbeat.interval.ms": interval}),
            *(MOMENTS, st.sampled_from([None, 7_000, 9_000])),
        ),
        MOMENTS.map(lambda at: BrokerEvent(at=at, broker="b1", does="kill")),
        MOMENTS.map(lambda at: BrokerEvent(at=at, broker="b1", does="return")),
    ),
    max_size=4,
)


CLASSIC = {"session.timeout.ms": 10_000}
CONSUMER = {
    f"group.consumer.{name}": milliseconds
    for name, milliseconds in {
        "min.session.timeout.ms": 10_000,
        "session.timeout.ms": 10_000,
        "min.heartbeat.interval.ms": 3_000,
        "heartbeat.interval.ms": 3_000,
    }.items()
}
SESSIONS = {
    "kafka:range": CLASSIC,
    "kafka:cooperative-sticky": CLASSIC,
    "kafka:uniform": CONSUMER,
    "kafka:server-range": CONSUMER,
}


@given(
    system=st.sampled_from(["kafka:range", "kafka:cooperative-sticky", "kafka:uniform", "kafka:server-range"]),
    events=EVENTS,
    rate=st.sampled_from([0.0, 0.0, 10.0]),
    rates=st.sampled_from([{}, {"t-3": 60.0}]),
    user=st.sampled_from([{}, {"handle": 20.0}, {"handle": 60.0, "threads": 4}]),
    seed=st.integers(0, 1000),
    static=st.booleans(),
    age=st.sampled_from([300_000, 30_000]),
    patience=st.sampled_from([300_000, 20_000]),
    replicas=st.sampled_from([None, 1, 2]),
)
def test_full_and_skipping_runs_observe_the_same(
    system: str,
    events: list[Event],
    rate: float,
    rates: dict[str, float],
    user: dict[str, Any],
    seed: int,
    static: bool,
    age: int,
    patience: int,
    replicas: int | None,
) -> None:
    def run(full: bool) -> tuple[Observed, dict[Any, int]]:
        story = Story(
            system,
            members={name: {**user, **({"instance_id": f"i-{name}"} if static else {})} for name in MEMBERS},
            topics={"t": 7},
            brokers=("b1", "b2"),
            rate=rate,
            rates=rates,
            replicas=replicas,
            events=sorted(events, key=lambda event: event.at),
            seed=seed,
            latency=(1.0, 5.0),
            settings={**SESSIONS[system], "metadata.max.age.ms": age, "max.poll.interval.ms": patience},
            full=full,
        )
        return story.to_end(300), story.simulation.messages

    (skipping, some), (full, every) = run(False), run(True)
    assert skipping.facts == full.facts
    assert some == every


KINDS: dict[str, dict[str, Any]] = {
    "named": {},
    "pattern": {"pattern": "t|n.*", "resolved_by": "broker"},
    "another": {"pattern": "[tu]", "resolved_by": "broker"},
    "classic": {"settings": {"group.protocol": "classic", "session.timeout.ms": 10_000}},
}


@given(
    system=st.sampled_from(["kafka:uniform", "kafka:server-range"]),
    kinds=st.lists(st.sampled_from(list(KINDS)), min_size=4, max_size=4),
    events=EVENTS,
    topic=st.none() | MOMENTS,
    rate=st.sampled_from([0.0, 10.0]),
    seed=st.integers(0, 1000),
    static=st.booleans(),
    refresh=st.sampled_from([600_000, 25_000, 60_000]),
)
def test_full_and_skipping_runs_of_groups_with_patterns_and_classic_members_observe_the_same(
    system: str,
    kinds: list[str],
    events: list[Event],
    topic: float | None,
    rate: float,
    seed: int,
    static: bool,
    refresh: int,
) -> None:
    new = [] if topic is None else [AddTopic(at=topic, add_topic={"n": TopicPart(queues={"b1": 2, "b2": 1})})]
    given_ = {"group.consumer.regex.refresh.interval.ms": refresh, "metadata.max.age.ms": 30_000}

    def run(full: bool) -> tuple[Observed, dict[Any, int]]:
        story = Story(
            system,
            members={
                name: {**KINDS[kind], **({"instance_id": f"i-{name}"} if static else {})}
                for name, kind in zip(MEMBERS, kinds, strict=True)
            },
            topics={"t": 7, "u": 2},
            brokers=("b1", "b2"),
            rate=rate,
            events=sorted([*events, *new], key=lambda event: event.at),
            seed=seed,
            latency=(1.0, 5.0),
            settings={**CONSUMER, **given_},
            full=full,
        )
        return story.to_end(300), story.simulation.messages

    (skipping, some), (full, every) = run(False), run(True)
    assert skipping.facts == full.facts
    assert some == every


@rows("after", [2, 5, 8, 11])
def test_patterns_that_were_resolved_while_nothing_happened_are_not_resolved_again_at_once(after: int) -> None:
    """A new topic soon after the patterns were resolved again waits until ten seconds are over since then."""
    found = []
    for full in (True, False):
        new = AddTopic(at=(183 + after) * 1000.0, add_topic={"n": TopicPart(queues={"b1": 2})})
        interval = {"group.consumer.regex.refresh.interval.ms": 60_000}
        members = {"c1": KINDS["pattern"], "c2": KINDS["pattern"]}
        story = Story("kafka:uniform", members=members, events=[new], settings=interval, full=full)
        found.append(story.to_end(240).facts)
    assert found[0] == found[1]
    assert any(now > new.at for now, _, _ in found[0])


def test_a_consumer_that_does_not_wait_for_slow_answers() -> None:
    """A heartbeat and its answer take up to 10 ms."""
    given_: dict[str, Any] = {"latency": (1.0, 5.0), "settings": {"request.timeout.ms": 8}}
    skipping, full = (Story(**given_, full=full) for full in (False, True))
    assert skipping.to_end(300).facts == full.to_end(300).facts
    assert skipping.simulation.messages == full.simulation.messages


@rows(
    ("system", "kind", "each", "member"),
    [
        ("kafka:range", "Heartbeat", 1190, {}),
        ("kafka:uniform", "ConsumerGroupHeartbeat", 710, {}),
        ("kafka:uniform", "ConsumerGroupHeartbeat", 710, KINDS["pattern"]),
        ("kafka:uniform", "Heartbeat", 1120, KINDS["classic"]),
    ],
)
def test_a_quiet_hour_costs_next_to_nothing(system: str, kind: str, each: int, member: dict[str, Any]) -> None:
    members: dict[str, dict[str, Any]] = {f"c{number}": member for number in range(20)}
    members["c0"] = {}
    story = Story(system, members=members, topics={"t": 40})
    seen = story.until(20)
    before, generations = story.simulation.number, seen.generations()
    story.until(3600)
    assert story.simulation.messages is not None
    beats = {kind.__name__: count for kind, count in story.simulation.messages.items()}[kind]
    assert beats > 20 * each
    # Every ten minutes the patterns are resolved anew, and that is simulated.
    assert story.simulation.number - before < beats / (2 if "pattern" in member else 4)
    assert seen.generations() == generations
