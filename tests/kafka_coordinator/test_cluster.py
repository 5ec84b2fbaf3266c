"""Whole stories in a simulated Kafka cluster: times follow from the timers (spec 9 item 5), events do what they say."""

import os
import subprocess
import sys
from itertools import pairwise

import pytest

from kafka_coordinator.cluster import KafkaCluster
from kafka_coordinator.consumer.states import STABLE
from kafka_coordinator.coordinator.log import offsets_partition
from protocols.errors import UserError
from protocols.facts import Committed, Delivered, Position
from protocols.scenario import model
from tests.kafka_coordinator.kafka_stories import Story

THREE = ("c1", "c2", "c3")


def at(seconds: float) -> float:
    return float(seconds * 1000)


def test_a_group_forms_after_the_initial_delay_which_a_second_joiner_prolongs() -> None:
    seen = Story(members=["c1"]).until(20)
    assert [round(now) for now, _ in seen.beliefs("c1")] == [3016]
    seen = Story(members=THREE).until(20)
    assert seen.owners() == {"c1": (0, 1), "c2": (2, 3), "c3": (4, 5)}
    assert {round(now) for member in THREE for now, _ in seen.beliefs(member)} == {6016}
    assert seen.generations() == [1]


def test_a_leave_costs_at_most_a_heartbeat_interval() -> None:
    seen = Story(events=[model.Leave(at=at(20), leave="c2")]).until(60)
    ((began, trigger),) = seen.began()[1:]
    assert trigger == "c2 left"
    taken = seen.beliefs("c1")[-1]
    assert taken[1] == (0, 1, 2, 3, 4, 5)
    assert 0 < taken[0] - began < 3_100
    assert seen.callbacks("c2")[-1] == ("revoked", (3, 4, 5))


def test_a_crash_costs_the_session_timeout_and_a_heartbeat_interval() -> None:
    settings = {"session.timeout.ms": 10_000}
    seen = Story(settings=settings, events=[model.Crash(at=at(20), crash="c2")]).until(60)
    ((began, trigger),) = seen.began()[1:]
    assert trigger == "session of c2 timed out"
    assert at(20) + 7_000 - 100 < began < at(20) + 10_000 + 100
    assert seen.beliefs("c2")[-1] == (at(20), ())
    assert began < seen.beliefs("c1")[-1][0] < began + 3_100


def test_a_member_that_stops_polling_is_fenced_while_it_still_believes() -> None:
    settings = {"max.poll.interval.ms": 15_000, "session.timeout.ms": 10_000}
    events = [model.StopPolling(at=at(20), stop_polling="c2", **{"for": at(40)})]
    seen = Story(settings=settings, events=events).until(100)
    left = next(now for now, trigger in seen.began() if trigger == "c2 left")
    assert left == at(35) + 2
    assert seen.beliefs("c1")[2][0] < at(39)  # c1 has everything by then
    lost = [now for now, queues in seen.beliefs("c2") if not queues]
    assert lost == [at(60)]  # and c2 believes until it polls
    assert seen.callbacks("c2")[1] == ("lost", (3, 4, 5))
    assert seen.owners() == {"c1": (0, 1, 2), "c2": (3, 4, 5)}


def test_a_process_that_hangs_goes_on_with_its_old_belief() -> None:
    events = [model.Hang(at=at(20), hang="c2", **{"for": at(60)})]
    seen = Story(rate=10.0, settings={"session.timeout.ms": 10_000}, events=events).to_end(120)
    assert seen.beliefs("c1")[2][1] == (0, 1, 2, 3, 4, 5)
    lost = seen.beliefs("c2")[1]
    assert at(80) < lost[0] < at(81)
    late = [fact for now, fact in seen.of(Delivered) if fact.member == "c2" and fact.since >= at(80)]
    assert late  # what it had not read when it stopped it reads again, though others have by now


def test_records_read_and_not_committed_before_a_crash_are_read_again() -> None:
    events = [model.Crash(at=at(20), crash="c2")]
    seen = Story(rate=10.0, settings={"session.timeout.ms": 10_000}, events=events).to_end(60)
    read = max(fact.end for _, fact in seen.of(Delivered) if fact.member == "c2" and fact.queue.number == 4)
    again = [fact for now, fact in seen.of(Position) if now > at(20) and fact.queue.number == 4]
    assert read == 200
    assert [fact.why for fact in again] == ["committed"]
    assert again[0].offset < read


def test_a_static_member_that_comes_back_in_time_changes_nothing() -> None:
    members = {name: {"instance_id": f"i-{name}"} for name in THREE}
    events = [
        model.Restart(at=at(20), restart="c2"),
        model.Crash(at=at(40), crash="c1"),
        model.Restart(at=at(50), restart="c1"),
    ]
    seen = Story(members=members, events=events).until(100)
    assert seen.generations() == [1]
    assert seen.owners() == {"c1": (0, 1), "c2": (2, 3), "c3": (4, 5)}
    assert seen.callbacks("c2") == [("assigned", (2, 3)), ("revoked", (2, 3)), ("assigned", (2, 3))]


def test_a_rolling_restart_of_dynamic_members_rebalances_for_each() -> None:
    events = [model.Restart(at=at(20 + 20 * number), restart=name) for number, name in enumerate(THREE)]
    seen = Story(members=THREE, events=events).until(100)
    assert seen.generations()[-1] >= 4
    assert sorted(queue for queues in seen.owners().values() for queue in queues) == list(range(6))


def test_an_upgrade_to_cooperative_member_by_member() -> None:
    both = "range,cooperative-sticky"
    events = [
        *(model.Restart(at=at(20 + 20 * n), restart=name, strategy=both) for n, name in enumerate(("c1", "c2"))),
        *(
            model.Restart(at=at(80 + 20 * n), restart=name, strategy="cooperative-sticky")
            for n, name in enumerate(("c1", "c2"))
        ),
    ]
    story = Story(events=events)
    seen = story.until(140)
    assert sorted(queue for queues in seen.owners().values() for queue in queues) == list(range(6))
    for name in ("c1", "c2"):
        consumer = story.cluster.consumer(name)
        assert consumer is not None
        assert consumer.state.cooperative
        assert (consumer.state.protocol, consumer.state.state) == ("cooperative-sticky", STABLE)


def test_cooperative_moved_partitions_wait_a_round_and_others_never_stop() -> None:
    events = [model.Join(at=at(20), join="c3", subscribe=("t",))]
    seen = Story("kafka:cooperative-sticky", events=events).until(60)
    assert seen.generations() == [1, 2, 3]
    kept = set(seen.beliefs("c1")[-1][1])
    assert all(kept <= set(queues) for _, queues in seen.beliefs("c1"))
    moved = seen.beliefs("c3")[-1]
    given_up = max(now for member in ("c1", "c2") for now, _ in seen.beliefs(member))
    assert 2_900 < moved[0] - given_up < 3_100  # the second round waits for heartbeats
    assert ("assigned", ()) in seen.callbacks("c1", at(20))


def test_eager_owns_nothing_between_revoked_and_assigned() -> None:
    events = [model.Join(at=at(20), join="c3", subscribe=("t",))]
    seen = Story("kafka:roundrobin", events=events).until(60)
    assert [kind for kind, _ in seen.callbacks("c1")] == ["assigned", "revoked", "assigned"]
    assert seen.beliefs("c1")[1][1] == ()


def test_a_fail_over_in_the_middle_of_a_rebalance() -> None:
    # b2 leads partition 3 of __consumer_offsets, which is g's; c3's join is parked there when b2 is killed.
    assert offsets_partition("g", 50) == 3
    events = [
        model.Join(at=at(20), join="c3", group="g", subscribe=("t",)),
        model.BrokerEvent(at=at(20.5), broker="b2", does="kill"),
    ]
    story = Story(brokers=("b1", "b2"), rate=10.0, events=events)
    assert story.cluster.controller.state.offsets_leaders[3] == "b2"
    seen = story.until(100)
    assert story.cluster.controller.state.offsets_leaders == ("b1",) * 50
    assert sorted(queue for queues in seen.owners().values() for queue in queues) == list(range(6))
    assert set(seen.owners()) == set(THREE)
    ended = [now for now, _ in seen.began() if now > at(20)]
    assert ended[-1] > at(29.5)  # the controller misses the broker after 9 s
    generations = seen.generations()
    assert generations == sorted(generations)


def test_a_broker_that_stops_hands_over_at_once_and_leads_again_at_the_next_check() -> None:
    story = Story(brokers=("b1", "b2"))
    before = story.cluster.controller.state.offsets_leaders
    for seconds, does in ((20, "stop"), (60, "return")):
        event = model.BrokerEvent(at=at(seconds), broker="b1", does=does)
        story.simulation.at(at(seconds), lambda event=event: story.cluster.apply(event))  # type: ignore[misc]
    seen = story.until(50)
    assert set(story.cluster.controller.state.offsets_leaders) == {"b2"}
    assert seen.generations() == [1]  # the group is Stable again from the log
    story.until(299)
    assert set(story.cluster.controller.state.offsets_leaders) == {"b2"}
    story.until(400)
    assert story.cluster.controller.state.offsets_leaders == before
    assert all(consumer.state.state == STABLE for consumer in map(story.cluster.consumer, ("c1", "c2")) if consumer)


def test_more_partitions_are_noticed_by_the_leader_at_its_next_refresh() -> None:
    events = [model.Queues(at=at(20), queues={"t": {"b1": 8}})]
    seen = Story(events=events, rate=1.0, settings={"metadata.max.age.ms": 60_000}).until(200)
    taken = [now for now, queues in seen.beliefs("c2") if 7 in queues]
    assert at(60) < taken[0] < at(64)
    assert [fact.offset for _, fact in seen.of(Position) if fact.queue.number == 7] == [0]


def test_fewer_partitions_are_refused() -> None:
    with pytest.raises(UserError, match="from 6 to 5 partitions: Kafka never takes partitions away"):
        Story(events=[model.Queues(at=at(20), queues={"t": {"b1": 5}})])


def test_topics_come_and_go_for_a_pattern() -> None:
    members = {"c1": {"pattern": "t.*"}}
    events = [
        model.AddTopic(at=at(20), add_topic={"t2": {"queues": {"b1": 1}}}),
        model.DeleteTopic(at=at(100), delete_topic="t"),
    ]
    seen = Story(members=members, events=events, settings={"metadata.max.age.ms": 30_000}).until(200)
    owned = [{queue.topic for queue in fact.queues} for _, fact in seen.of_owns("c1")]
    assert owned == [{"t"}, set(), {"t", "t2"}, set(), {"t2"}]


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_a_topic_created_again_is_read_from_its_first_record_and_a_deleted_one_not_at_all(
    strategy: str, reset: str
) -> None:
    events = [
        model.DeleteTopic(at=at(60), delete_topic="t"),
        model.AddTopic(at=at(90), add_topic={"t": {"queues": {"b1": 2}}}),
    ]
    settings = {"partition.assignment.strategy": strategy, "auto.offset.reset": reset}
    seen = Story(rate=5.0, events=events, settings=settings).until(400)
    delivered = [(now, fact) for now, fact in seen.of(Delivered) if now > at(60)]
    assert all(fact.since >= at(90) for _, fact in delivered)
    for number in (0, 1):
        spans = sorted((fact.first, fact.end) for _, fact in delivered if fact.queue.number == number)
        assert spans[0][0] == 0
        assert all(one[1] == other[0] for one, other in pairwise(spans))
        assert (390 - 90) * 5 < spans[-1][1] <= (400 - 90) * 5  # told with every commit


def test_offsets_are_reset_for_an_empty_group_only() -> None:
    events = [
        model.Reset(at=at(20), reset_offsets="g", topic="t", to=at(10)),
        model.Leave(at=at(30), leave="c1"),
        model.Leave(at=at(30), leave="c2"),
        model.Reset(at=at(40), reset_offsets="g", topic="t", to=at(10)),
        model.Join(at=at(50), join="c1", group="g", subscribe=("t",)),
    ]
    seen = Story(rate=10.0, events=events).until(60)
    assert seen.notes() == ["offsets of g are not reset: the group is Stable, not empty", "offsets of g are reset"]
    assert {fact.offset for now, fact in seen.of(Position) if now > at(50)} == {100}


def test_a_stale_commit_is_refused() -> None:
    events = [
        model.Leave(at=at(20), leave="c2"),
        model.Commit(at=at(40), commit="c1", offsets={"t-0": 3}, generation=1),
        model.Commit(at=at(41), commit="c1", offsets={"t-0": 4}, generation=2),
    ]
    seen = Story(events=events).until(60)
    given = [(fact.offset, fact.error) for now, fact in seen.of(Committed) if now >= at(40)]
    assert given[:2] == [(3, "ILLEGAL_GENERATION"), (4, "")]


def test_a_connection_that_is_cut_is_opened_again() -> None:
    seen = Story(events=[model.Disconnect(at=at(20), disconnect="c1")]).until(80)
    assert seen.generations() == [1]


def test_a_network_cut_longer_than_the_session_ends_the_membership() -> None:
    events = [model.Network(at=at(20), network="cut", between=("c1",), **{"for": at(60)})]
    seen = Story(settings={"session.timeout.ms": 10_000}, events=events).until(200)
    assert seen.owners() == {"c1": (3, 4, 5), "c2": (0, 1, 2)} or seen.owners() == {"c1": (0, 1, 2), "c2": (3, 4, 5)}
    assert ("lost", (0, 1, 2)) in seen.callbacks("c1")


def test_group_max_size_turns_the_third_away() -> None:
    seen = Story(members=THREE, settings={"group.max.size": 2}).until(30)
    assert [note for note in seen.notes() if "GROUP_MAX_SIZE_REACHED" in note]
    assert sorted(len(queues) for queues in seen.owners().values()) == [3, 3]


@pytest.mark.parametrize(
    ("system", "settings", "message"),
    [
        ("kafka:uniform", {}, "consumer protocol, not yet"),
        ("kafka:server-range", {}, "consumer protocol, not yet"),
        ("kafka:rangy", {}, "unknown assignor 'rangy'"),
        ("kafka:range", {"sesion.timeout.ms": 1}, "expected session.timeout.ms"),
        ("kafka:range", {"group.protocol": "consumer"}, "not yet"),
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
        Story(events=[model.Restart(at=at(20), restart="c2", strategy="rang")])


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
        for seed in ("0", "1", "77")
    }
    assert len(found) == 1


def story_of_all() -> list[object]:
    """A story with something of everything; all its facts and messages."""
    events = [
        model.Join(at=at(20), join="c4", group="g", subscribe=("t",)),
        model.Crash(at=at(30), crash="c2"),
        model.Hang(at=at(40), hang="c1", **{"for": at(20)}),
        model.BrokerEvent(at=at(70), broker="b2", does="kill"),
        model.Queues(at=at(90), queues={"t": {"b1": 5, "b2": 5, "b3": 5}}),
        model.Restart(at=at(100), restart="c3"),
        model.Network(at=at(110), network="loss", between=("c1",), **{"for": at(20)}, loss=0.3),
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


def test_it_is_a_cluster() -> None:
    story = Story(members=[])
    assert isinstance(story.cluster, KafkaCluster)
    story.to_end(1)


def test_a_restart_that_is_called_off_while_the_member_closes_stays_away() -> None:
    events = [model.Restart(at=at(20), restart="c2"), model.Leave(at=at(20.001), leave="c2")]
    seen = Story(events=events).until(60)
    assert seen.owners() == {"c1": (0, 1, 2, 3, 4, 5), "c2": ()}


def test_a_leave_followed_at_once_by_a_join_waits_until_the_member_has_closed() -> None:
    events = [
        model.Leave(at=at(20), leave="c2"),
        model.Join(at=at(20.001), join="c2", group="g", subscribe=("t",)),
    ]
    seen = Story(events=events).until(60)
    assert seen.owners() == {"c1": (0, 1, 2), "c2": (3, 4, 5)}
    assert seen.callbacks("c2")[:2] == [("assigned", (3, 4, 5)), ("revoked", (3, 4, 5))]


def test_members_of_one_process_die_together_and_are_started_together() -> None:
    members = {"c1": {}, "c2": {"process": "p"}, "c3": {"process": "p"}}
    events = [model.Restart(at=at(20), restart="c2", how="crash")]
    seen = Story(members=members, events=events).until(200)
    assert [queues for now, queues in seen.beliefs("c3") if now == at(20)] == [()]
    assert seen.owners() == {"c1": (0, 1), "c2": (2, 3), "c3": (4, 5)}
