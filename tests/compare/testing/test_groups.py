"""Groups in virtual time: what fixtures hand out, what a test lets happen, and what it sees."""

import math
from pathlib import Path

import pytest

from compare.running.record import run_record
from compare.running.run_variant import run_variant
from compare.running.variants import variants_of
from compare.testing import Clock, Group, GroupPair, kafka_group, play
from protocols import Queue
from protocols.errors import UserError
from protocols.scenario.reading import read_text


def _numbers(group: Group) -> dict[str, list[int]]:
    return {member: [queue.number for queue in queues] for member, queues in group.owners().items()}


def test_a_ready_group_has_a_topic_and_waits_for_members(kafka_group: Group) -> None:
    assert list(kafka_group.topics) == ["orders"]
    kafka_group.join("c1").settle()
    assert _numbers(kafka_group) == {"c1": [0, 1, 2, 3, 4, 5]}


def test_calling_the_fixture_makes_another_group_on_the_same_clock(kafka_group: Group, clock: Clock) -> None:
    group = kafka_group(topics={"a": 2, "b": 2}, members=["c1", "c2"], assignor="roundrobin")
    group.settle()
    assert group.clock is clock
    assert {member: len(queues) for member, queues in group.owners().items()} == {"c1": 2, "c2": 2}
    assert group.label == "kafka:roundrobin"
    assert not kafka_group.lives


def test_a_crash_is_noticed_when_the_session_is_over(kafka_group: Group, clock: Clock) -> None:
    group = kafka_group(members=["c1", "c2"], settings={"session.timeout.ms": 10_000, "heartbeat.interval.ms": 1_000})
    group.settle()
    group.crash("c2")
    clock.advance(seconds=8)
    assert group.owner("orders", 4) is None
    clock.advance(seconds=4)
    assert _numbers(group) == {"c1": [0, 1, 2, 3, 4, 5]}


def test_time_passes_only_when_the_test_lets_it(rocketmq_group: Group, clock: Clock) -> None:
    rocketmq_group.join("c1")
    assert (clock.now, rocketmq_group.world.now) == (0.0, 0.0)
    clock.advance(seconds=45, minutes=1, milliseconds=500)
    assert clock.now == 105.5
    assert rocketmq_group.world.now == 105_500.0
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(seconds=-1)


def test_a_call_can_be_put_on_the_clock(kafka_group: Group, clock: Clock) -> None:
    group = kafka_group(members=["c1", "c2"]).settle()
    clock.at(30, lambda: group.leave("c2"))
    clock.at(20, lambda: group.join("c3"))
    clock.advance(seconds=60)
    happened = [(each.at, each.text) for each in group.timeline.causes.happenings][1:]
    assert happened == [(20_000.0, "c3 joins"), (30_000.0, "c2 leaves")]
    with pytest.raises(ValueError, match="is in the past"):
        clock.at(10, lambda: None)


def test_what_is_put_on_the_clock_may_let_time_pass_itself(kafka_group: Group, clock: Clock) -> None:
    order: list[tuple[str, float]] = []
    clock.at(10, lambda: (order.append(("first", clock.now)), clock.advance(seconds=25)))
    clock.at(20, lambda: order.append(("second", clock.now)))
    clock.at(40, lambda: order.append(("third", clock.now)))
    kafka_group.join("c1")
    clock.advance(seconds=30)
    assert (order, clock.now) == ([("first", 10.0), ("second", 20.0)], 35.0)
    clock.advance(seconds=10)
    assert order[2:] == [("third", 40.0)]
    assert kafka_group.world.now == 45_000.0


def test_both_systems_live_through_the_same_events(group_pair: GroupPair, clock: Clock) -> None:
    pair = group_pair(
        topics={"orders": 4}, members=["c1", "c2"], assignor="cooperative-sticky", strategy="AVG_BY_CIRCLE"
    )
    pair.settle()
    pair.crash("c1").settle()
    kafka, rocketmq = pair
    assert kafka.world.now == rocketmq.world.now == clock.time
    assert [each.at for each in kafka.timeline.causes.happenings] == [
        each.at for each in rocketmq.timeline.causes.happenings
    ]
    assert {system: list(owners) for system, owners in pair.owners().items()} == {"kafka": ["c2"], "rocketmq": ["c2"]}
    assert (kafka.label, rocketmq.label) == ("kafka:cooperative-sticky", "rocketmq:AVG_BY_CIRCLE")


def test_settling_waits_for_what_is_still_going_on(kafka_group: Group, clock: Clock) -> None:
    group = kafka_group(members=["c1", "c2"]).settle()
    before = clock.now
    group.hang("c1", seconds=200).settle()
    assert clock.now >= before + 200
    assert len(group.owners()["c1"]) == 3


def test_a_group_in_which_a_queue_will_never_have_an_owner_settles_too(rocketmq_group: Group, clock: Clock) -> None:
    group = rocketmq_group(topics={"a": 1, "b": 1}, members={"c1": ["a"], "c2": ["a", "b"]})
    group.settle()
    assert group.owner("b", 0) is None
    assert clock.now < 300


def test_an_event_may_be_of_several_members(group_pair: GroupPair) -> None:
    pair = group_pair(members=["c1", "c2"]).settle()
    pair.happen(join=["c3", "c4"], like="c1").settle().happen(crash="c1..c2").settle()
    for group in pair:
        assert list(group.owners()) == ["c3", "c4"]
        assert [event.describe() for event in group.scenario().events] == [
            *("c3 joins", "c4 joins", "c1 crashes", "c2 crashes")
        ]


def test_members_are_restarted_one_after_the_other(group_pair: GroupPair, clock: Clock) -> None:
    pair = group_pair(members=["c1", "c2"]).settle()
    before = clock.now
    pair.rolling("c1", "c2", gap=30, downtime="10s")
    assert clock.now == before + 40
    pair.settle().rolling("c1", "c2", gap=30, surge="5s").settle()
    for group in pair:
        assert list(group.members) == ["c1.2", "c2.2"]
        assert sorted(map(len, group.owners().values())) == [3, 3]


def test_topics_and_subscriptions_change_at_run_time(group_pair: GroupPair) -> None:
    pair = group_pair(
        members=["c1", "c2"], kafka_settings={"metadata.max.age.ms": 10_000}, assignor="roundrobin"
    ).settle()
    pair.add_queues("orders", 2).settle()
    pair.add_topic("more", 2).subscribe("c1", "orders", "more").settle()
    assert sorted(map(len, pair.kafka.owners().values())) == [4, 6]
    # RocketMQ counts c2 in for a topic that it does not subscribe to, and leaves it a queue that nobody reads.
    assert [str(queue) for queue in pair.rocketmq.allocation.unowned] == [str(Queue("more", "broker-a", 1))]
    for group in pair:
        assert {queue.topic for queue in group.owners()["c2"]} == {"orders"}


def test_members_join_again_as_they_were(kafka_group: Group) -> None:
    group = kafka_group(topics={"a": 2, "b": 2}, members={"c1": ["a"]}).settle()
    group.leave("c1").settle()
    group.join("c1").settle()
    assert {queue.topic for queue in group.owners()["c1"]} == {"a"}


@pytest.mark.parametrize("system", ["kafka", "rocketmq"])
def test_every_kind_of_event_can_happen(system: str) -> None:
    group = Group(system, Clock())(members=["c1", "c2", "c3"], brokers=["broker-a", "broker-b"], produce=5).settle()
    group.disconnect("c1").stop_polling("c2", seconds=5).settle()
    group.network("c1", seconds=2).network("c2", "broker-a", seconds=3, loss=0.5).settle()
    group.network("c3", seconds=3, delay=0.2).commit("c1").restart("c2").restart("c3", how="crash").settle()
    group.set_queues("orders", {"broker-a": 4, "broker-b": 4}).settle()
    group.kill_broker("broker-b").settle()
    group.return_broker("broker-b").settle()
    group.stop_broker("broker-b").settle()
    group.add_topic("more", 2).delete_topic("more").settle()
    for member in group.members:
        group.leave(member)
    group.settle()
    group.reset_offsets("orders", to=1.0)
    assert group.owners() == {}
    assert read_text(group.scenario_text()) == group.scenario()


def test_what_cannot_be_is_told_in_one_line(subtests: pytest.Subtests) -> None:
    for happens, said in [
        (lambda group: group.crash("c9"), "unknown member 'c9', expected one of c1, c2"),
        (lambda group: group.join("c1"), "c1 joins while it is already a member"),
        (lambda group: group.leave("c2").leave("c2"), "c2 does not run at"),
        (lambda group: group.set_queues("orders", 2), "Kafka cannot remove partitions"),
        (lambda group: group.add_queues("odrers", 2), "no topic 'odrers'"),
        (lambda group: group.restart("c1", strategy="best"), "best"),
        (lambda group: group.happen(explode="c1"), "unknown event 'explode'"),
        (lambda group: group.happen(join=["c3", "c2"], subscribe="orders"), "c2 joins while it is already a member"),
        (lambda group: group.happen(join="c2..c3", subscribe="orders"), "c2 joins while it is already a member"),
        (lambda group: group.happen(join=[]), "join: nobody, expected at least one name"),
        (lambda group: group.happen(rolling=["c1"], gap="1s"), "expected the method rolling"),
        (lambda group: group.rolling("c1", gap=-1), "gap: -1 is negative"),
        (lambda group: group.rolling("c1", "c2", gap=1, downtime="2s"), "rolling.gap: 1s is shorter than downtime"),
        (lambda group: group.rolling("c1", gap=1, for_="2s"), "rolling.for_: unknown field 'for_'"),
        (lambda group: group.push_consumer("c3"), "has no push consumer"),
        (lambda group: group(assignor="range", strategy="sticky"), "both name the strategy"),
        (lambda group: group(members="c1"), "expected a list of names"),
    ]:
        with subtests.test(happens=happens, said=said):
            group = kafka_group(members=["c1", "c2"]).settle()
            with pytest.raises(UserError) as told:
                happens(group)
            assert said in str(told.value)
            assert "\n" not in str(told.value)
            assert read_text(group.scenario_text()) == group.scenario()


@pytest.mark.parametrize("system", ["kafka", "rocketmq"])
def test_the_scenario_that_is_written_is_lived_through_alike(system: str, tmp_path: Path) -> None:
    group = Group(system, Clock())(members=["c1", "c2"], seed=7, produce=3).settle()
    group.join("c3")
    group.clock.advance(seconds=4)
    group.hang("c1", seconds=60).settle()
    group.crash("c2").settle()
    path = group.write_scenario(tmp_path / "that.yaml")
    (variant,) = variants_of(read_text(path.read_text()))
    lived = run_variant(variant)
    found = run_record(lived)
    expected = {member: [list(queue) for queue in queues] for member, queues in group.world.owned.items() if queues}
    assert {member: queues for member, queues in found["owners"].items() if queues} == expected
    assert lived.timeline.beliefs == group.timeline.beliefs
    assert lived.timeline.messages == group.timeline.messages


def test_playing_a_scenario_ends_where_the_scenario_ends() -> None:
    text = """
name: a crash
topics: {orders: 4}
group: {name: g, members: {c1..c2: [orders]}}
run: {for: 2min, seed: 3}
systems: [kafka:sticky]
events: [{at: 20s, crash: c1}]
"""
    scenario = read_text(text)
    group = play(scenario)
    (variant,) = variants_of(scenario)
    assert group.clock.now == 120
    assert group.timeline.beliefs == run_variant(variant).timeline.beliefs
    assert group.owner("orders", 0) == "c2"


def test_a_queue_is_asked_for_by_topic_and_number(rocketmq_group: Group) -> None:
    group = rocketmq_group(topics={"orders": 2}, members=["c1"], brokers=["broker-a", "broker-b"]).settle()
    assert group.owner("orders", 0, "broker-b") == "c1"
    with pytest.raises(UserError, match="say which broker"):
        group.owner("orders", 0)
    assert group.allocation["c1"] == (Queue("orders", "broker-a", 0), Queue("orders", "broker-b", 0))


def test_what_cannot_be_meant_is_one_plain_line(subtests: pytest.Subtests) -> None:
    for misused, told in [
        (lambda: kafka_group(topics="orders"), "topics is 'orders', expected a number of queues by name"),
        (lambda: kafka_group(members="c1"), "members is 'c1', expected a list of names"),
        (lambda: kafka_group(members=3), "members is 3, expected a list of names"),
        (lambda: kafka_group(brokers="broker-a"), "brokers is 'broker-a', expected a list of names"),
        (lambda: kafka_group().join("c1", subscribe="orders"), "subscribe is 'orders', expected a list of names"),
        (lambda: kafka_group(members=["c1"]).hang("c1", "5s"), "'5s' is not a time, expected a number of seconds"),  # type: ignore[arg-type]
        (lambda: kafka_group(members=["c1"]).hang("c1", -1), "seconds: -1 is negative, expected 0 or more"),
        (lambda: kafka_group().network("c1", "c2", seconds=1, delay=-2), "delay: -2 is negative, expected 0 or more"),
        (lambda: kafka_group().add_queues("orders", -1), "add_queues: -1 queues for 'orders', expected 0 or more"),
        (lambda: kafka_group().clock.advance(math.inf), "inf is not a time, expected a number of seconds"),
        (lambda: kafka_group(topics={"t": 2}).owner("t", 9), "no queue t-9, expected one of t-0, t-1"),
        (lambda: kafka_group().interrupt(print, after_calls=0), "interrupt at call 0: expected a call number"),
        (lambda: kafka_group().interrupt(print), "interrupt: expected either after_calls or before_call"),
    ]:
        with subtests.test(misused=misused, told=told):
            with pytest.raises(UserError) as refused:
                misused()
            assert str(refused.value).startswith(told)
            assert "\n" not in str(refused.value)
