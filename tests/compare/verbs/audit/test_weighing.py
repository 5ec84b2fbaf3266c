"""With --weight: the optimum is never worse than a strategy beside it, answers weigh as asked, and dashes say why."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compare.auditing.group_figures import judge
from compare.auditing.what_if import optimum_row, what_if
from compare.explaining.audited import document
from compare.explaining.diagnosis import MOST_DETAILED, explain_all
from compare.reading.group_model import model_of
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
