"""Nobody online, and topics that do not exist."""

from pathlib import Path

from compare.auditing.group_figures import cost, judge
from compare.explaining.diagnosis import explain_all
from compare.explaining.missing_figures import headline
from protocols import Queue
from tests.compare.observed_groups import CAPTURES, captured, findings, observed
from tests.compare.showing import equipoise

OFFLINE = "rocketmq/groups/offline_backlog"


def test_a_group_that_seems_deserted_is_asked_about_before_it_is_started() -> None:
    group = captured()[OFFLINE]
    assert group.observed.seems_deserted
    (found,) = findings(group.observed).values()
    assert found.kind == "nobody-online"
    assert found.cause == "No member seems to be online: no queue has an owner, and 42 records wait."
    check, start = found.remedies
    assert check.commands == ("mqadmin consumerConnection -n NAMESRV -g offline_backlog",)
    assert start.text == "If no member is connected, start the group's consumers."
    assert all(remedy.reversible and remedy.restart == "none" for remedy in found.remedies)


def test_its_records_wait_where_nobody_reads() -> None:
    group = captured()[OFFLINE]
    others = [each for name, each in captured().items() if name.startswith("rocketmq/groups/") and each is not group]
    served = [each for each in others if each.figure("lag") == 40]
    assert served
    assert all(each.cost < group.cost for each in served)
    assert "The group seems to have no member online, and 42 records wait there." in headline([group])


def test_without_records_that_wait_or_without_a_view_of_owners_nothing_is_claimed() -> None:
    clean = captured()["rocketmq/groups/offline_clean"]
    assert clean.observed.seems_deserted
    assert list(findings(clean.observed)) == ["untold"]
    plain = Path(CAPTURES / "rocketmq/groups/offline_backlog/consumerProgress.txt")
    assert "nobody-online" not in equipoise("audit", str(plain), "--format", "json").stdout


def test_a_subscribed_topic_that_does_not_exist_is_a_finding_and_costs() -> None:
    queues = [Queue("t", "b", n) for n in range(2)]
    whole = observed({"x": queues[:1], "y": queues[1:]}, "AVG", system="rocketmq", subscribe={"x": ["t"], "y": ["t"]})
    lacking = observed(
        {"x": queues[:1], "y": queues[1:]},
        "AVG",
        system="rocketmq",
        subscribe={"x": ["t", "bills"], "y": ["t", "bills"]},
        missing_topics=("bills",),
    )
    found = findings(lacking)["missing-topics"]
    assert found.cause.startswith("Members subscribe to bills, which does not exist in the cluster")
    assert "keep asking the name server for the route, which does no harm" in found.cause
    create, correct = found.remedies
    assert create.commands == ("mqadmin updateTopic -n NAMESRV -c CLUSTER -t bills -r QUEUES -w QUEUES",)
    assert (create.restart, correct.restart) == ("none", "rolling")
    first, second = explain_all(judge([whole, lacking]))
    assert first.group.observed is lacking
    assert second.group.cost < first.group.cost
    more = observed({"x": queues, "y": ()}, "AVG", system="rocketmq", missing_topics=("bills", "returns"))
    assert cost(more, judge([more])[0].figures) > first.group.cost
    assert findings(more)["missing-topics"].cost > found.cost


def test_a_topic_that_is_missing_outdoes_being_fair() -> None:
    queues = [Queue("t", "b", n) for n in range(2)]
    fair = observed({"x": queues}, "AVG", system="rocketmq", subscribe={"x": ["t"]}, missing_topics=("bills",))
    assert list(findings(fair)) == ["missing-topics"]
