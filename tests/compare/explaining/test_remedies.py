"""What a remedy says about itself, what it gains, and which comes first."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compare.auditing.group_figures import judge
from compare.explaining.diagnosis import best_owners, explain_all
from compare.explaining.remedies.remedy import GRAVE, Remedy, Risk, best_first
from compare.reading.observed import ObservedGroup
from kafka_coordinator import assign
from protocols import Group
from rocketmq_selfbalance import allocate
from tests.compare.observed_groups import captured, findings, observed, partitions, subscribed
from tests.compare.showing import EXAMPLES, equipoise


def pile_up(topics: dict[str, dict[str, int]], members: int, **fields: object) -> ObservedGroup:
    group = Group.of(topics, {f"10.0.0.{n}@i": list(topics) for n in range(members)})
    owned = allocate("AVG", group)
    return observed(owned, "AVG", system="rocketmq", subscribe=subscribed(owned), more_queues=group.queues, **fields)


def remedies(group: ObservedGroup) -> list[Remedy]:
    return [remedy for finding in findings(group).values() for remedy in finding.remedies]


def test_only_as_many_queues_are_added_as_help_with_the_arithmetic_of_each_broker() -> None:
    # 3/1/1/1 today; one of the two small topics suffices for the evenness of 2/2/1/1, the optimum.
    topics = {"orders": {"b1": 3, "b2": 1}, "returns": {"b1": 1}, "sales": {"b2": 1}}
    (remedy, *_) = remedies(pile_up(topics, 4))
    assert "orders from 4" not in remedy.text
    assert "returns from 1 to 4 queues (b1 1 -> 4)" in remedy.text
    assert remedy.commands == ("mqadmin updateTopic -n NAMESRV -b ADDRESS_OF_b1 -t returns -r 4 -w 4",)
    (both, *_) = remedies(pile_up({"TopicX": {"b1": 1, "b2": 1}, "TopicY": {"b1": 1, "b2": 1}}, 4))
    assert "TopicX from 2 to 4 queues (b1 1 -> 2, b2 1 -> 2)" in both.text
    assert any("order per key is lost" in risk.text for risk in remedy.risks)
    assert remedy.after is not None
    assert remedy.gain is not None
    assert remedy.gain.max_over_mean > 0


def test_who_else_reads_the_topic_is_named() -> None:
    first = pile_up({"orders": {"b": 1}, "returns": {"b": 1}}, 2)
    other = ObservedGroup("rocketmq", "billing", "shared", "ONLINE", "AVG", (), first.queues)
    told = {each.group.observed.name: each for each in explain_all(judge([first, other]))}
    risks = [risk.text for remedy in told["g"].remedies for risk in remedy.risks]
    assert any("billing" in text for text in risks)


def test_a_compacted_topic_gets_no_partitions(subtests: pytest.Subtests) -> None:
    for topic in ["app-store-changelog", "connect-offsets", "__consumer_offsets", "told"]:
        with subtests.test(topic=topic):
            owned = {"x": partitions(topic, 0), "y": (), "z": ()}
            said = remedies(observed(owned, "range", subscribe={id: [topic] for id in "xyz"}, compacted=("told",)))
            assert said
            assert not [remedy for remedy in said if any("--alter" in command for command in remedy.commands)]


def test_partitions_cannot_be_taken_back_and_queues_can() -> None:
    owned = {"x": partitions("t", 0), "y": (), "z": ()}
    fewer, more = remedies(observed(owned, "range", subscribe={id: ["t"] for id in "xyz"}))
    assert (fewer.reversible, more.reversible) == (True, False)
    assert "t from 1 to 3 partitions" in more.text
    assert "auto.offset.reset" in more.terms
    assert "Irreversible." in more.terms


def test_orderly_members_are_told_that_their_order_is_lost_and_other_remedies_come_before() -> None:
    group = pile_up({"a": {"b": 1}, "c": {"b": 1}}, 2, orderly=True)
    (explained,) = explain_all(judge([group]))
    first, *others = explained.remedies
    assert first.text.startswith("Run at most 1 member")
    (more,) = [each for each in others if any("updateTopic" in command for command in each.commands)]
    assert any("the members consume in order" in risk.text and risk.weight == GRAVE for risk in more.risks)


def test_static_members_and_readers_of_joined_topics_are_thought_of() -> None:
    owned = {"x": partitions("t", 0, 1, 2, 3), "y": partitions("t", 4)}
    subscribe = {"x": ["t"], "y": ["t"]}
    found = remedies(observed(owned, "cooperative-sticky", subscribe=subscribe, instances={"x": "pod-0"}))
    assert "session.timeout.ms" in found[0].terms
    group = Group.of({"a": 3, "b": 3}, {"x": ["a", "b"], "y": ["a", "b"]})
    (first, *_) = remedies(observed(assign("range", group), "range"))
    assert "joins topics by key" in first.terms
    assert len(first.commands) == 2


def test_deleting_is_a_last_resort_that_cannot_be_undone() -> None:
    queue = partitions("t", 0)[0]
    (finding,) = findings(observed({}, None, state="Empty", lag={queue: 3})).values()
    start, delete = finding.remedies
    assert (start.text, start.price) == ("Start the group's consumers.", 0)
    assert not delete.reversible
    assert max(risk.weight for risk in delete.risks) == GRAVE
    assert "--dry-run" in delete.commands[0]


RISKS = st.lists(st.sampled_from([Risk("a", 2.0), Risk("b", 8.0), Risk("c", 20.0)]), max_size=3).map(tuple)
REMEDIES = st.builds(
    Remedy,
    st.just("x"),
    restart=st.sampled_from(["none", "rolling", "all at once"]),
    reversible=st.booleans(),
    risks=RISKS,
)


@given(st.lists(REMEDIES, max_size=5))
def test_with_equal_gain_the_least_price_comes_first(made: list[Remedy]) -> None:
    prices = [remedy.price for remedy in best_first(made)]
    assert prices == sorted(prices)


def test_every_remedy_of_the_captures_says_all_about_itself() -> None:
    done = equipoise("audit", str(EXAMPLES), "--format", "json")
    groups = json.loads(done.stdout)["groups"]
    assert sum(len(group["remedies"]) for group in groups) > 15
    for group in groups:
        assert group["remedy"] == (group["remedies"][0]["text"] if group["remedies"] else None)
        for remedy in group["remedies"]:
            assert set(remedy) == {"text", "commands", "restart", "reversible", "risks", "gain"}
            assert remedy["restart"] in ("none", "rolling", "all at once")
            assert remedy["gain"] is None or {"max", "idle_members"} <= set(remedy["gain"])


def test_the_best_strategy_is_never_another_systems() -> None:
    for explained in explain_all(list(captured().values())[:200]):
        best = best_owners(explained)
        if best is not None:
            row = next(each for each in explained.what_if if each.strategy == best[0])
            assert row.system == explained.group.observed.system
            assert row.reachable


def test_unreachable_strategies_stand_below_the_optimum_and_are_marked() -> None:
    lines = equipoise("audit", str(EXAMPLES / "rocketmq/seed_group"), "--what-if").stdout.splitlines()
    at = {
        name: next(n for n, line in enumerate(lines) if f" {name} " in line and "  " in line and n > 5)
        for name in ("CONSISTENT_HASH", "optimum", "range")
    }
    assert at["CONSISTENT_HASH"] < at["optimum"] < at["range"]
    assert lines[at["CONSISTENT_HASH"]].endswith("yes")
    assert lines[at["range"]].endswith("no")
