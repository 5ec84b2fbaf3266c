"""With --weight: the optimum is never worse than a strategy beside it, answers weigh as asked, and dashes say why."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.auditing.group_figures import judge
from compare.auditing.what_if import optimum_row, what_if
from compare.explaining.audited import document
from compare.explaining.diagnosis import MOST_DETAILED, explain_all
from compare.reading.group_model import model_of
from compare.reading.observed import System
from compare.reading.rates import with_rates
from kafka_coordinator import assign
from protocols import Group, Queue
from rocketmq_selfbalance import allocate
from tests.compare.observed_groups import observed, subscribed
from tests.compare.showing import EXAMPLES, equipoise

WEIGHTS = st.one_of(
    st.lists(st.sampled_from([0, 0, 0, 5]), min_size=20, max_size=20),
    st.lists(st.integers(0, 10**12), min_size=20, max_size=20),
    st.lists(st.sampled_from([0.1, 0.2, 0.3]), min_size=20, max_size=20),
)


@given(
    st.dictionaries(st.sampled_from("abcd"), st.integers(1, 5), min_size=1),
    st.lists(st.sets(st.sampled_from("abcd")), min_size=2, max_size=5),
    WEIGHTS,
    st.sampled_from(["range", "roundrobin", "sticky"]),
    st.integers(1, 8),
)
@settings(max_examples=80, deadline=None)
def test_the_weighted_optimum_is_never_worse_than_a_strategy_in_the_same_table(
    topics: dict[str, int], subscriptions: list[set[str]], weights: list[float], strategy: str, members: int
) -> None:
    group = Group.of(topics, {f"m{at}": sorted(each & topics.keys()) for at, each in enumerate(subscriptions)})
    owned = assign(strategy, group)
    modelled = model_of(observed(owned, strategy, subscribe=subscribed(owned), more_queues=group.queues))
    assert modelled is not None
    told = dict(zip(modelled.group.queues, weights, strict=False))
    for change in ({}, {"members": members}, {"without": ("m0",)}):
        best = optimum_row(modelled, weights=told, **change)  # type: ignore[arg-type]
        for row in what_if(modelled, weights=told, **change):  # type: ignore[arg-type]
            if row.max is not None and best.max is not None:
                assert best.max <= row.max
                assert (best.idle_members or 0) <= (row.idle_members or 0)


def test_queues_without_weight_leave_nobody_idle() -> None:
    group = Group.of({"t": 4}, {"x": ["t"], "y": ["t"], "z": ["t"]})
    owned = {"x": list(group.queues), "y": [], "z": []}
    modelled = model_of(observed(owned, "sticky", subscribe=dict.fromkeys("xyz", ("t",))))
    assert modelled is not None
    best = optimum_row(modelled, weights={**dict.fromkeys(group.queues, 0), group.queues[0]: 5})
    assert (best.max, best.idle_members, best.moves) == (5, 0, 2)


def test_answers_to_what_if_weigh_queues_as_asked_and_say_so() -> None:
    source = str(EXAMPLES / "rocketmq/pay_avg_5")
    weighed = json.loads(equipoise("audit", source, "--what-if", "--weight", "lag", "--format", "json").stdout)
    (answer,) = weighed["asked"]
    assert answer["loads"] == "lag"
    rows = {row["strategy"]: row["max"] for row in answer["rows"]}
    assert rows["AVG"] == weighed["groups"][0]["max"]
    assert rows["optimum"] == weighed["groups"][0]["optimum"]["max"]
    assert "(loads are sums of lag)" in equipoise("audit", source, "--what-if", "--weight", "lag").stdout
    grown = equipoise("audit", source, "--queues", "order_events=10", "--weight", "lag").stdout
    assert "(loads are numbers of queues)" in grown
    assert "loads are" not in equipoise("audit", source, "--what-if").stdout


@pytest.mark.parametrize("weight", [None, "lag"])
def test_beyond_the_detailed_groups_every_null_has_its_true_reason(weight: str | None) -> None:
    group = Group.of({"t": {"b": 4}}, {"x": ["t"], "y": ["t"]})
    owned = allocate("AVG", group)
    lag = {Queue("t", "b", n): n for n in range(4)}
    made = [observed(owned, "AVG", system="rocketmq", subscribe=subscribed(owned), lag=lag)] * (MOST_DETAILED + 1)
    last = document(explain_all(judge(made, weight=weight), weight), [])["groups"][-1]
    assert any("--group NAME" in note for note in last["notes"])
    reasons = {figure: each["why"] for each in last["untold"] for figure in each["figures"]}
    assert ("optimum" in reasons) == (last["optimum"] is None)
    assert "--group NAME" in reasons.get("optimum", "--group NAME")


def test_single_topics_without_lag_are_explained() -> None:
    queues = [Queue("t", "b", 0), Queue("u", "b", 0)]
    group = observed({"x": queues}, "AVG", system="rocketmq", subscribe={"x": ["t", "u"]}, lag={queues[0]: 3})
    (found,) = document(explain_all(judge([group])), [])["groups"]
    assert (found["topics"]["t"]["lag"], found["topics"]["u"]["lag"]) == (3, None)
    assert any("the lag of some topics is unknown" in note for note in found["notes"])


RATES = (10, 8, 5, 1, 1, 1)


@pytest.mark.parametrize(
    ("system", "fields", "way"),
    [
        ("kafka", {}, "a ConsumerPartitionAssignor of your own"),
        ("kafka", {"consumer_protocol": True}, "Under the consumer protocol no setting does this"),
        ("rocketmq", {}, "an AllocateMessageQueueStrategy of your own"),
    ],
)
def test_the_moves_that_spread_a_rate_are_named_with_what_no_others_undercut(
    system: System, fields: dict[str, bool], way: str
) -> None:
    group = Group.of({"t": 6}, {"x": ["t"], "y": ["t"], "z": ["t"]})
    owned = {"x": group.queues[:2], "y": group.queues[2:4], "z": group.queues[4:]}
    rates = dict(zip(group.queues, map(float, RATES), strict=True))
    seen = observed(owned, "range", system=system, subscribe=dict.fromkeys("xyz", ("t",)), rates=rates, **fields)
    (finding,) = [
        each for each in explain_all(judge([seen], weight="rate"), "rate")[0].findings if each.kind == "uneven-rate"
    ]
    assert finding.evidence["moves"] == [("t", "", 1, "z")]
    assert "x carries 18 of 26 records/s, 2.08 times the mean" in finding.cause
    assert finding.remedy is not None
    assert "t-1 to z. The largest rate of a member falls from 18 to 10 records/s" in finding.remedy.text
    assert way in finding.remedy.text
    even = replace(seen, rates=dict.fromkeys(group.queues, 3.0))
    assert "uneven-rate" not in {each.kind for each in explain_all(judge([even], weight="rate"), "rate")[0].findings}


def test_rates_are_what_was_written_between_two_readings() -> None:
    queues = Group.of({"t": 3}, {}).queues
    seen = observed({"x": queues}, "range")
    before = replace(seen, ends={queues[0]: 100, queues[1]: 50})
    after = replace(seen, ends={queues[0]: 150, queues[1]: 20, queues[2]: 5})
    (rated,) = with_rates([before], [after], seconds=10)
    assert rated.rates == {queues[0]: 5.0}
    assert with_rates([], [after], seconds=10)[0].rates == {}
