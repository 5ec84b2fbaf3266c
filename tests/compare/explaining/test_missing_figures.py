"""What the sources tell of a group in part is counted, and nothing is null or "-" without a reason."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from compare.auditing.group_figures import AuditedGroup, judge
from compare.explaining.audited import document
from compare.explaining.diagnosis import explain
from compare.figures import FIGURES
from compare.reading.observed import ObservedGroup, ObservedMember, Partial
from compare.showing.audit.page import write_report
from protocols import Queue, sort_queues
from tests.compare.observed_groups import FOLDERS, captured, observed, partitions
from tests.compare.showing import CAPTURES, equipoise

FLAGSHIP = CAPTURES / "rocketmq/groups/inconsistent_subs_3"
TEXTS = sorted(FLAGSHIP.glob("*.txt"))


def judged(group: ObservedGroup, **how: Any) -> AuditedGroup:
    (audited,) = judge([group], **how)
    return audited


def documented(groups: Iterable[AuditedGroup]) -> list[dict[str, Any]]:
    return list(document([explain(group) for group in groups], ())["groups"])


def test_members_with_other_subscriptions_are_judged_over_the_topics_that_are_told() -> None:
    done = equipoise("audit", "--format", "json", *map(str, TEXTS))
    (group,) = json.loads(done.stdout)["groups"]
    assert set(group["partial"]) == {"topics", "members", "why"}
    assert (group["partial"]["topics"], group["partial"]["members"]) == (["TopicX", "order_events"], [])
    assert group["owners"]["10.29.0.3@i"] == [["shipping", "broker-b", 2], ["shipping", "broker-b", 3]]
    assert list(group["topics"]) == ["shipping"]
    assert (group["queues"], group["min"], group["max"], group["unowned_queues"]) == (4, 0, 2, 2)
    # The others may be busy with the topics that are left out.
    assert group["idle_members"] is None
    assert any("idle_members" in each["figures"] for each in group["untold"])


@pytest.mark.parametrize("format", ["table", "markdown"])
def test_the_row_is_marked_and_a_sentence_below_the_table_gives_the_reason(format: str) -> None:
    done = equipoise("audit", "--format", format, *map(str, TEXTS))
    (row,) = [line for line in done.stdout.splitlines() if "rocketmq" in line and "subs" in line and "AVG" in line]
    assert "ONLINE (partial)" in row
    text = done.stdout.replace("\\", "")
    assert (
        "inconsistent_subs_3 is known only in part (- under idle): consumerProgress does not show all queues of" in text
    )
    assert "Ownership is known in part for 1 of" in text
    assert "- under score for inconsistent_subs_3: the members subscribe to different topics" in text


def test_the_report_marks_the_group_and_explains_every_dash() -> None:
    page = write_report(document([explain(captured()["rocketmq/groups/same_ip_3"])], ()))
    assert '<bdi class="badge">partial</bdi>' in page
    assert "same_ip_3 is known only in part (- under idle, max/mean, Jain, score): 2 members at the address" in page


def shared_address(**more: Any) -> ObservedGroup:
    """Two members that share the queues of orders nobody knows how, and a third one that owns bills alone."""
    orders, bills = partitions("orders", 0, 1, 2), partitions("bills", 0, 1)
    return ObservedGroup(
        **{
            "system": "rocketmq",
            "name": "g",
            "mode": "shared",
            "state": "ONLINE",
            "strategy": None,
            "members": (ObservedMember("a@1", None), ObservedMember("a@2", None), ObservedMember("b@1", bills)),
            "queues": sort_queues([*orders, *bills]),
            "lag": {queue: queue.number for queue in (*orders, *bills)},
            "unowned": (),
            "partial": Partial((), ("a@1", "a@2"), "2 members at the address a share 3 queues"),
            **more,
        }
    )


def test_of_members_on_one_address_the_topics_of_the_others_are_judged() -> None:
    group = judged(shared_address())
    assert list(group.topics) == ["bills"]
    bills = group.topics["bills"]
    assert (bills["members"], bills["idle_members"], bills["max"], bills["min"], bills["lag"]) == (3, 2, 2, 0, 1)
    told = {name: group.figure(name) for name in FIGURES if group.figure(name) is not None}
    assert told == {"members": 3, "queues": 5, "unowned_queues": 0, "double_owned_queues": 0, "mean": 5 / 3}
    assert judged(shared_address(), weight="lag").figure("mean") is None
    (said,) = {each["why"] for each in documented([group])[0]["untold"] if "min" in each["figures"]}
    assert said == "2 members at the address a share 3 queues"


def test_where_second_owners_may_hide_no_topic_is_told() -> None:
    group = judged(shared_address(members_disagree=True))
    assert group.topics == {}
    assert (group.figure("double_owned_queues"), group.figure("mean")) == (None, None)


def offsets_only(**more: Any) -> ObservedGroup:
    """Kafka's offsets view: two owners, and perhaps members that own nothing."""
    owned = partitions("orders", 0, 1, 2)
    return ObservedGroup(
        **{
            "system": "kafka",
            "name": "g",
            "mode": "shared",
            "state": "Stable",
            "strategy": "range",
            "members": None,
            "seen": (ObservedMember("a", owned[:2]), ObservedMember("b", owned[2:])),
            "queues": (*owned, Queue("orders", "", 3)),
            "owners_seen": True,
            "partial": Partial((), (), "the offsets view shows owners only"),
            **more,
        }
    )


def test_owners_alone_tell_what_idle_members_would_not_change() -> None:
    group = judged(offsets_only())
    told = {name: group.figure(name) for name in FIGURES if group.figure(name) is not None}
    assert told == {"queues": 4, "unowned_queues": 1, "double_owned_queues": 0, "max": 2}
    assert group.topics["orders"]["max"] == 2
    assert judged(offsets_only(owners_seen=False)).figure("max") is None


def test_nameless_members_that_own_nothing_count_as_idle() -> None:
    group = judged(offsets_only(member_count=4, idle_count=2))
    names = ("members", "idle_members", "min", "max", "mean")
    assert [group.figure(name) for name in names] == [4, 2, 0, 2, 0.75]


def test_without_the_weight_of_a_queue_no_load_is_made_up_and_the_reason_is_said() -> None:
    short = observed({"a": partitions("t", 0)})
    (group,) = documented([judged(short, weight="lag")])
    assert group["max"] is None
    assert {each["why"] for each in group["untold"] if "max" in each["figures"]} == {
        "the weight of at least one queue is unknown"
    }
    counted = ObservedGroup(
        "kafka", "g", "shared", None, None, tuple(ObservedMember(id, None, queue_count=3) for id in "ab"), None
    )
    assert judged(counted).figure("max") == 3
    assert (judged(counted, weight="lag").figure("max"), judged(counted, weight="lag").figure("members")) == (None, 2)


def test_nothing_is_null_without_a_reason(subtests: pytest.Subtests) -> None:
    for folder in [f"{system}/{folder}" for system, each in FOLDERS.items() for folder in each]:
        with subtests.test(folder=folder):
            found = {name: group for name, group in captured().items() if name.startswith(f"{folder}/")}
            assert found
            for name, group in found.items():
                (told,) = documented([group])
                assert_reasons(name, told)


def assert_reasons(name: str, group: Mapping[str, Any]) -> None:
    reasons = {figure for each in group["untold"] for figure in each["figures"]}
    null = {figure for figure in (*FIGURES, "lag", "score", "optimum", "strategy", "state") if group[figure] is None}
    assert reasons == null, name
    silent = {id for id, queues in group["owners"].items() if queues is None}
    partial = group["partial"]
    assert silent == (set(partial["members"]) if partial and group["mode"] == "shared" else silent), name
    if group["mode"] == "shared":
        unknown = silent or group["members"] is None or group["group"] in PARTIAL_TOPICS
        assert (partial is not None) == bool(unknown), name


PARTIAL_TOPICS = {"inconsistent_subs_3"}
