"""Advice that would hurt whoever follows it to the letter is not given."""

import re
import shlex
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.auditing.group_figures import judge
from compare.explaining.diagnosis import Explained, explain_all
from compare.explaining.remedies.remedy import Remedy
from compare.reading.group_kinds import usable_strategies
from compare.reading.observed import ObservedGroup, ObservedMember, Partial
from kafka_coordinator import assign
from protocols import Group, Queue
from rocketmq_selfbalance import allocate
from tests.compare.observed_groups import captured, findings, observed, partitions, subscribed

NASTY = "orders; rm -rf $HOME"


def explained(*groups: ObservedGroup) -> dict[str, Explained]:
    return {each.group.observed.name: each for each in explain_all(judge(groups))}


def remedies(group: ObservedGroup) -> list[Remedy]:
    return [remedy for finding in findings(group).values() for remedy in finding.remedies]


def kafka(client: str, strategy: str = "range", count: int = 2, **fields: Any) -> ObservedGroup:
    """Range deals two topics of three partitions: the first member has most."""
    ids = [f"{client}-{at}" for at in range(count)]
    group = Group.of({"a": 3, "b": 3}, {id: ["a", "b"] for id in ids})
    owned = assign("range", group)
    members = tuple(ObservedMember(id, owned[id], client_id=client, subscription=("a", "b")) for id in ids)
    return ObservedGroup("kafka", "g", "shared", "Stable", strategy, members, group.queues, **fields)


def rocketmq(topics: dict[str, dict[str, int]], members: int, strategy: str = "AVG", **fields: Any) -> ObservedGroup:
    group = Group.of(topics, {f"10.0.0.{n}@i": list(topics) for n in range(members)})
    owned = allocate(strategy, group)
    return observed(owned, strategy, system="rocketmq", subscribe=subscribed(owned), more_queues=group.queues, **fields)


def named(group: ObservedGroup, name: str) -> ObservedGroup:
    return replace(group, name=name)


def test_names_are_quoted_in_every_command() -> None:
    queue = Queue(NASTY, "", 0)
    groups = [
        observed({}, None, state="Empty", lag={queue: 3}),
        observed({"x": (), "y": partitions(NASTY, 0)}, "range", subscribe={"x": [NASTY], "y": [NASTY]}),
        observed({"x": partitions("t", 0), "y": partitions("t", 1)}, "range", more_queues=[queue]),
        observed({"x": partitions("t", 0, 1, 2), "y": partitions("t", 3)}, None),
        observed({}, None, system="rocketmq", lag={queue: 3}),
        rocketmq({NASTY: {NASTY: 1}, "u": {NASTY: 1}}, 2),
        ObservedGroup("rocketmq", "g", "shared", None, None, None, (queue,), seen=(ObservedMember(NASTY, None),)),
        rocketmq({"t": {"b": 2}}, 1, missing_topics=(NASTY,)),
    ]
    commands = [
        command
        for group in groups
        for remedy in remedies(named(group, NASTY))
        for command in remedy.commands
        if command.startswith(("kafka-", "mqadmin"))
    ]
    assert len(commands) >= 10
    for command in commands:
        words = shlex.split(command)
        assert "rm" not in words
        assert any(NASTY in word for word in words), command


@pytest.mark.parametrize("strategy", ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"])
@given(
    topics=st.dictionaries(
        st.sampled_from("abcd"),
        st.dictionaries(st.sampled_from(["b1", "b2"]), st.integers(1, 5), min_size=1),
        min_size=1,
    ),
    members=st.integers(2, 7),
)
@settings(max_examples=60, deadline=None)
def test_more_queues_win_back_what_is_told_and_no_finding_says_another_number_of_members(
    strategy: str, topics: dict[str, dict[str, int]], members: int
) -> None:
    said = remedies(rocketmq(topics, members, strategy))
    told = {match[1] for remedy in said for match in re.finditer(r"Run at most (\d+) member", remedy.text)}
    assert len(told) <= 1
    assert len({remedy.text for remedy in said}) == len(said)
    for remedy in said:
        grown = {topic: dict(brokers) for topic, brokers in topics.items()}
        for command in remedy.commands:
            if "updateTopic" in command:
                words = shlex.split(command)
                option = dict(zip(words[2::2], words[3::2], strict=True))
                broker = option["-b"].removeprefix("ADDRESS_OF_")
                assert option["-r"] == option["-w"]
                assert int(option["-r"]) > grown[option["-t"]][broker]
                grown[option["-t"]][broker] = int(option["-r"])
        if grown == topics:
            continue
        switched = any("Averagely()" in command for command in remedy.commands)
        ids = [f"10.0.0.{n}@i" for n in range(members)]
        before = allocate(strategy, Group.of(topics, {id: list(topics) for id in ids}))
        after = allocate("AVG" if switched else strategy, Group.of(grown, {id: list(grown) for id in ids}))
        loads = [[len(owned) for owned in each.values()] for each in (before, after)]
        assert remedy.gain is not None
        assert remedy.gain.idle_members == loads[0].count(0) - loads[1].count(0)
        assert remedy.gain.max == max(loads[0]) - max(loads[1])
        assert remedy.points > 0


def test_who_stops_is_named_and_what_that_gains_is_exact() -> None:
    group = rocketmq({"X": {"b": 1}, "Y": {"b": 1}}, 4)
    (fewer,) = [each for each in remedies(group) if each.text.startswith("Run at most")]
    assert fewer.text.startswith("Run at most 1 member")
    assert "Stop 3 members that own nothing now: 10.0.0.1@i, 10.0.0.2@i, 10.0.0.3@i." in fewer.text
    assert fewer.gain is not None
    assert (fewer.gain.idle_members, fewer.gain.max, fewer.gain.max_over_mean) == (3, 0, 3.0)


def test_with_different_subscriptions_only_members_stop_that_nothing_can_employ_and_no_topic_grows() -> None:
    subscribe = {"m": ["a"], **{f"n{at}": ["b"] for at in range(6)}}
    owned = assign("range", Group.of({"a": 5, "b": 1}, subscribe))
    said = findings(observed(owned, "range", subscribe=subscribe))["more-members-than-queues"]
    assert "idle under every strategy with these subscriptions" in said.cause
    (fewer,) = said.remedies
    assert fewer.text.startswith("Run at most 2 members")


def test_what_cannot_be_undone_never_comes_before_what_can() -> None:
    idle = observed({"x": partitions("t", 0), "y": (), "z": ()}, "range", subscribe={id: ["t"] for id in "xyz"})
    left = observed({"x": partitions("t", 0), "y": partitions("t", 1)}, "range", more_queues=partitions("old", 0))
    for group in (idle, left, observed({}, None, state="Empty", lag={Queue("t", "", 0): 3})):
        last = [remedy.is_last_resort for remedy in explained(group)["g"].remedies]
        assert True in last
        assert last == sorted(last)
    for each in explain_all(list(captured().values())):
        last = [remedy.is_last_resort for remedy in each.remedies]
        assert last == sorted(last), each.group.observed.name


def test_a_topic_that_a_streams_application_reads_gets_no_partitions() -> None:
    idle = observed({"x": partitions("t", 0), "y": ()}, "range", subscribe={id: ["t"] for id in "xy"})
    task = ObservedMember("app-StreamThread-1-consumer-u", partitions("t", 0), client_id="app-StreamThread-1-consumer")
    streams = ObservedGroup("kafka", "app", "shared", "Stable", "stream", (task,), partitions("t", 0))
    alone = [command for remedy in explained(idle)["g"].remedies for command in remedy.commands]
    beside = [command for remedy in explained(idle, streams)["g"].remedies for command in remedy.commands]
    assert any("--alter" in command for command in alone)
    assert not any("--alter" in command for command in beside)


def test_a_dead_letter_topic_gets_no_queues() -> None:
    said = remedies(rocketmq({"%DLQ%orders": {"b": 1}}, 3))
    assert said
    assert not any("updateTopic" in command for remedy in said for command in remedy.commands)


def test_librdkafka_is_told_in_its_own_names_and_never_to_mix() -> None:
    group = kafka("rdkafka", count=4)
    assert usable_strategies(group, "plain") == ("range", "roundrobin", "cooperative-sticky")
    said = {remedy.commands: remedy for remedy in remedies(group)}
    assert not any("org.apache.kafka" in command for commands in said for command in commands)
    cooperative = said[("partition.assignment.strategy=cooperative-sticky",)]
    assert cooperative.restart == "all at once"
    assert cooperative.text.startswith("If all members use librdkafka")
    assert "as their client ids hint: stop all members" in cooperative.text
    eager = said[("partition.assignment.strategy=roundrobin,range", "partition.assignment.strategy=roundrobin")]
    assert eager.restart == "rolling"


def test_other_libraries_are_told_in_their_own_names(subtests: pytest.Subtests) -> None:
    for client, option, cooperative in [
        ("kafka-python-3.0.12", "partition_assignment_strategy=[", True),
        ("aiokafka-0.12.0", "partition_assignment_strategy=[", False),
        ("sarama", "Consumer.Group.Rebalance.GroupStrategies=", False),
    ]:
        with subtests.test(client=client):
            said = remedies(kafka(client, count=4))
            assert said
            assert any("ooperative" in remedy.text for remedy in said) == cooperative
            for remedy in said:
                assert "as their client ids hint" in remedy.text
                assert all(command.startswith(option) for command in remedy.commands)
                assert (remedy.restart == "all at once") == (len(remedy.commands) == 1)


def test_where_nothing_hints_at_a_library_the_first_remedy_is_conditional_with_others_ways_beside() -> None:
    first = explained(kafka("billing", count=4))["g"].remedies[0]
    assert first.text.startswith("If all members use Java's client, which no source shows: set partition.assignment")
    assert "librdkafka: stop all members, and start them with partition.assignment.strategy=coop" in first.text
    assert "because it refuses both in one list" in first.text
    assert "aiokafka: 0.14.0 has no cooperative-sticky" in first.text
    assert "RebalanceInProgressException" in first.terms
    (same,) = [each for each in remedies(kafka("billing", count=4)) if "RoundRobin" in each.text]
    assert "librdkafka: the same two steps with partition.assignment.strategy=roundrobin,range, then" in same.text
    assert "aiokafka: the same two steps with partition_assignment_strategy=[RoundRobinPartitionAssignor," in same.text


def test_mixed_strategies_and_mixed_subscriptions_are_both_found() -> None:
    topics = {"a": {"b": 4}, "c": {"b": 4}}
    group = rocketmq(topics, 3, strategies=("AVG", "AVG_BY_CIRCLE"))
    first, *rest = group.members or ()
    members = (first, *(replace(each, subscription=("a",)) for each in rest))
    found = findings(replace(group, strategy=None, members=members, subscriptions_differ=True))
    assert {"mixed-strategies", "different-subscriptions"} <= set(found)
    assert "different strategies (AVG, AVG_BY_CIRCLE)" in found["mixed-strategies"].cause


def test_who_may_own_queues_that_are_not_shown_is_not_told_to_stop() -> None:
    idle = observed({"x": partitions("t", 0), "y": ()}, "range", subscribe={id: ["t"] for id in "xy"})
    assert any("Stop 1 member that owns nothing" in remedy.text for remedy in remedies(idle))
    for hidden in (
        replace(idle, partial=Partial(("u",), ("y",), "the source leaves out u")),
        replace(idle, state="PreparingRebalance"),
    ):
        (audited,) = judge([hidden])
        assert audited.figure("idle_members") is None
        said = explained(hidden)["g"]
        text = " ".join((*(each.text for each in said.remedies), *(each.cause for each in said.findings)))
        assert "idle" not in text
        assert "Stop " not in text


def test_static_members_of_the_consumer_protocol_are_told_the_brokers_timeout() -> None:
    owned = {"x": partitions("t", 0, 1), "y": partitions("t", 2, 3)}
    lag = dict(zip(partitions("t", 0, 1, 2, 3), (5, 7, 0, 0), strict=True))
    found = findings(observed(owned, "uniform", instances={"x": "a", "y": "b"}, lag=lag, consumer_protocol=True))[
        "static-member-silent"
    ]
    assert "group.consumer.session.timeout.ms" in found.cause
    assert not any(" session.timeout.ms" in remedy.text for remedy in found.remedies)
    assert "refuses it until then" in found.remedies[0].text


def test_a_connector_is_stopped_by_its_name_as_the_tasks_tell_it() -> None:
    members = tuple(
        ObservedMember(f"m{at}", owned, client_id=f"connector-consumer-my sink-{at}", subscription=("t",))
        for at, owned in enumerate((partitions("t", 0, 1, 2, 3), partitions("t", 4)))
    )
    group = ObservedGroup(
        "kafka", "another-name", "shared", "Stable", "cooperative-sticky", members, partitions("t", 0, 1, 2, 3, 4)
    )
    (remedy,) = remedies(group)
    assert "PUT /connectors/my%20sink/stop, from Kafka 3.5 on" in remedy.text


def test_deleting_a_rocketmq_group_says_what_is_deleted_with_it() -> None:
    (found,) = findings(observed({}, None, system="rocketmq", lag={Queue("t", "b", 0): 3})).values()
    delete = found.remedies[-1]
    assert "retry and dead-letter topics are deleted" in delete.terms
    assert "positions" not in delete.terms


def test_nothing_restarts_while_every_queue_has_one_owner() -> None:
    owned = allocate("AVG", Group.of({"t": {"b": 8}}, {"x": ["t"], "y": ["t"]}))
    first, second = owned
    swapped = {first: owned[second], second: owned[first]}
    found = findings(observed(swapped, "AVG", system="rocketmq", subscribe={first: ["t"], second: ["t"]}))
    (remedy,) = found["mixed-strategies"].remedies
    assert remedy.restart == "none"
    assert remedy.text.startswith("Take the views again")


def test_queues_without_owner_may_be_a_moments() -> None:
    queues = [Queue("t", "b", n) for n in range(4)]
    subscribe = {"x": ["t"], "y": ["t"]}
    broken = observed({"x": queues[:2], "y": ()}, "AVG", system="rocketmq", subscribe=subscribe, more_queues=queues)
    (remedy,) = findings(broken)["mixed-strategies"].remedies
    assert remedy.text.startswith("Take the views again after a minute")


def test_offsets_of_topics_that_nobody_subscribes_to_any_more_accuse_nobody() -> None:
    group = rocketmq({"t": {"b": 4}}, 2)
    old = replace(group, queues=(*(group.queues or ()), Queue("z", "b", 0)))
    assert "mixed-strategies" not in findings(old)


def test_of_strategies_that_nobody_knows_no_next_number_of_members_is_told() -> None:
    owned = {"x": partitions("t", 0, 1), "y": partitions("t", 2, 3)}
    for strategy, told in (("range", True), ("RoundRobinAssigner", False), ("stream", False)):
        (found,) = findings(observed(owned, strategy, subscribe={"x": ["t"], "y": ["t"]})).values()
        assert ("next member count" in found.cause) == told
        assert "at most 2 partitions" in found.cause
