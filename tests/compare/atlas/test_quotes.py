"""What the atlas says about a group: which groups are like it, and what is told of them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from compare.atlas.likeness import alike, shape_of
from compare.atlas.quotes import cost_sentences, quote, sentences
from compare.atlas.tables import Size, allocations, events
from compare.cli import cli
from compare.sweeping.shapes import SHAPES, subscription
from kafka_coordinator import assign
from protocols import Group

CAPTURES = Path(__file__).parents[3] / "examples" / "captures"


def group_of(members: int, topics: int, queues: int, shape: str = "equal") -> Group:
    return Group.of(
        {f"t{each}": queues for each in range(topics)},
        {
            f"c{each:02}": {"subscribe": [f"t{topic}" for topic in subscription(shape, each, members, topics)]}
            for each in range(members)
        },
    )


@given(st.sampled_from(sorted(SHAPES)), st.integers(3, 20), st.integers(3, 10))
def test_the_shapes_of_sweeps_are_recognised(shape: str, members: int, topics: int) -> None:
    assert shape_of(group_of(members, topics, 4, shape)) == shape


@pytest.mark.parametrize(
    ("read", "shape"),
    [
        ([["a", "b"], ["b", "a"]], "equal"),
        ([["a", "b"], ["c"], ["b"]], "disjoint"),
        ([["a"], ["a", "b"], ["a"]], "skewed"),
        ([["a"], ["a", "b"], ["c", "b", "a"]], "nested"),
        ([["a", "b"], ["b", "c"]], None),
        ([["a", "b"], []], None),
        ([[], []], None),
        ([["elsewhere"], ["a"]], None),
    ],
)
def test_shapes(read: list[list[str]], shape: str | None) -> None:
    members = {f"m{at}": {"subscribe": topics} for at, topics in enumerate(read)}
    assert shape_of(Group.of({"a": 2, "b": 2, "c": 2}, members)) == shape


def test_a_group_is_like_those_of_about_its_size() -> None:
    found = alike(group_of(9, 3, 5), allocations())
    assert found is not None
    assert (found.least, found.most) == (Size(6, 2, 4), Size(12, 4, 6))
    assert len(found.places) == 3 * 2 * 2
    assert {allocations().size_of(place) for place in found.places} == {
        Size(members, topics, queues) for members in (6, 8, 12) for topics in (2, 4) for queues in (4, 6)
    }


@pytest.mark.parametrize(("members", "topics", "queues"), [(100, 1, 4), (4, 40, 4), (4, 1, 1000), (1, 2, 4)])
def test_nothing_is_said_of_groups_unlike_all_of_the_atlas(members: int, topics: int, queues: int) -> None:
    assert quote(group_of(members, topics, queues), "kafka", "range", allocations()) is None


def test_the_figures_are_those_of_the_groups() -> None:
    """Counted once more, by asking the strategy for each of the groups."""
    found = quote(group_of(9, 3, 5), "kafka", "range", allocations())
    assert found is not None
    assert found.of_own is not None
    loads = []
    for members in (6, 8, 12):
        for topics in (2, 4):
            for queues in (4, 6):
                of_members = [len(owned) for _, owned in assign("range", group_of(members, topics, queues)).items()]
                loads.append((of_members, topics * queues))
    best = [(-(-total // len(each)), total // len(each)) for each, total in loads]
    assert found.groups == len(loads)
    assert found.of_own.fairest == sum(
        (max(each), min(each)) == even for (each, _), even in zip(loads, best, strict=True)
    )
    assert found.of_own.max_over_best_worst == max(
        max(each) / even for (each, _), (even, _) in zip(loads, best, strict=True)
    )
    idle = sum(each.count(0) for each, _ in loads)
    assert found.of_own.idle == idle / sum(len(each) for each, _ in loads)
    assert found.best.fairest == found.groups


def test_the_fairest_one_is_one_that_the_group_can_use() -> None:
    group = group_of(9, 3, 5)
    free = quote(group, "rocketmq", None, allocations())
    bound = quote(group, "rocketmq", None, allocations(), ["AVG", "CONSISTENT_HASH"])
    assert free is not None
    assert bound is not None
    assert free.own is None
    assert bound.fairest == "rocketmq:AVG"
    assert {each.variant for each in bound.strategies} == {"rocketmq:AVG", "rocketmq:CONSISTENT_HASH"}
    assert len(free.strategies) == 6


def test_the_sentences_name_both_strategies_and_the_events() -> None:
    found = quote(group_of(9, 3, 5), "kafka", "range", allocations())
    assert found is not None
    text = "\n".join(sentences(found))
    assert "12 groups like this one: 6 to 12 members, 2 to 4 topics of 4 to 6 queues" in text
    assert f"Under range {found.of_own.fairest if found.of_own else None} of them" in text
    assert "all of them are as fair as can be" in text
    assert all(words in text for words in ("a member that joins", "one that leaves", "twice as many queues"))
    (costs,) = cost_sentences("kafka:range", events())
    assert "100 simulated runs" in costs
    assert cost_sentences("kafka:nothing", events()) == []


def test_the_audit_quotes_it() -> None:
    printed = CliRunner().invoke(cli, ["audit", "--format", "json", str(CAPTURES)], catch_exceptions=False)
    groups = json.loads(printed.stdout)["groups"]
    quoted = [each for each in groups if each["atlas"]]
    assert len(quoted) >= 10
    for each in quoted:
        found = each["atlas"]
        least, most = found["members"]
        assert least / 1.5 <= each["members"] <= most * 1.5
        reachable = {row["strategy"] for row in each["what_if"] if row["reachable"]}
        assert {of["strategy"] for of in found["strategies"]} == reachable | {each["strategy"] or "AVG"}
        assert found["text"][0].startswith(f"The atlas has {found['groups']} groups like this one")
    known = [each["atlas"]["runs"] for each in quoted if each["strategy"] in ("range", "AVG")]
    assert known
    assert all(runs["runs"] == 100 for runs in known)
    without = [each for each in groups if each["members"] == 1 or not each["what_if"]]
    assert without
    assert all(each["atlas"] is None for each in without)
    weighed = CliRunner().invoke(cli, ["audit", "--format", "json", "--weight", "lag", str(CAPTURES)])
    assert all(each["atlas"] is None for each in json.loads(weighed.stdout)["groups"])


def test_the_table_has_a_line_of_it() -> None:
    printed = CliRunner().invoke(cli, ["audit", "--format", "markdown", str(CAPTURES)], catch_exceptions=False)
    assert "groups like this one (" in printed.stdout
