"""Groups of the consumer protocol (KIP-848) in scenarios: real coordinators, real consumers, what happens to them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_coordinator.consumer.kip848.states import CONSUMER_PROTOCOL, STABLE
from protocols.facts import Owns, Transition
from protocols.scenario.events import BrokerEvent, Disconnect, Event, Hang, Join, Leave, Network, StopPolling
from tests.kafka_coordinator.kafka_stories import Story, at
from tests.rows import rows

SECONDS = 1000.0


def test_who_hangs_longer_than_its_session_loses_all_and_joins_anew() -> None:
    events = [Hang.model_validate({"at": at(20), "hang": "c2", "for": at(60)})]
    seen = Story("kafka:uniform", topics={"t": 4}, events=events).until(120)
    kinds = [kind for kind, _ in seen.callbacks("c2", since=at(20))]
    assert kinds[0] == "lost"
    assert sorted(len(queues) for queues in seen.owners().values()) == [2, 2]
    states = [fact.after for _, fact in seen.of(Transition) if fact.machine == CONSUMER_PROTOCOL.name]
    assert states[-1] == STABLE
    assert "FENCED" in states


def test_whose_user_does_not_poll_is_replaced_and_comes_back() -> None:
    events = [StopPolling.model_validate({"at": at(20), "stop_polling": "c2", "for": at(40)})]
    story = Story("kafka:uniform", topics={"t": 4}, events=events, settings={"max.poll.interval.ms": 15_000})
    seen = story.until(100)
    replaced = next(now for now, queues in seen.beliefs("c1") if now > at(20) and len(queues) == 4)
    assert 35 <= replaced / SECONDS <= 40.1
    assert [kind for kind, _ in seen.callbacks("c2", since=at(20))][:1] == ["lost"]
    assert next(now for now, fact in seen.of_owns("c2") if now > at(20)) == at(60)
    assert sorted(len(queues) for queues in seen.owners().values()) == [2, 2]


def test_connections_that_break_and_a_coordinator_that_dies_move_nothing() -> None:
    events: list[Event] = [
        Disconnect(at=at(30), disconnect="c1"),
        Network.model_validate({"at": at(50), "network": "cut", "between": ("c2",), "for": at(10)}),
        BrokerEvent(at=at(90), broker="b1", does="kill"),
        BrokerEvent(at=at(150), broker="b1", does="return"),
    ]
    seen = Story("kafka:uniform", brokers=("b1", "b2"), topics={"t": 4}, events=events).until(260)
    assert all(now < at(25) for now, _ in (*seen.beliefs("c1"), *seen.beliefs("c2")))
    assert sorted(len(queues) for queues in seen.owners().values()) == [2, 2]


@rows("system", ["kafka:uniform", "kafka:server-range"])
@given(
    leaving=st.lists(st.sampled_from(["c1", "c2", "c3", "c4"]), unique=True, max_size=3),
    joining=st.integers(0, 3),
    moment=st.integers(20_000, 40_000),
)
@settings(max_examples=15, deadline=None)
def test_nobody_begins_to_own_what_another_one_still_owns(
    system: str, leaving: list[str], joining: int, moment: int
) -> None:
    events: list[Event] = [Leave(at=float(moment + 700 * n), leave=name) for n, name in enumerate(leaving)]
    events += [Join(at=float(moment + 500 * n), join=f"n{n}", subscribe=("t",)) for n in range(joining)]
    members = ["c1", "c2", "c3", "c4"]
    story = Story(system, members=members, topics={"t": 9}, rate=10.0, events=sorted(events, key=lambda each: each.at))
    seen = story.until(120)
    owner: dict[int, str] = {}
    for _, fact in seen.of(Owns):
        for number in [number for number, name in owner.items() if name == fact.member]:
            del owner[number]
        for queue in fact.queues:
            assert owner.setdefault(queue.number, fact.member) == fact.member
    assert sorted(owner) == list(range(9))
