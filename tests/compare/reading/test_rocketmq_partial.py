"""What mqadmin tells of a group in part: topics without rows, other subscriptions, shared addresses, nobody online."""

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols import Group, Member, Queue
from rocketmq_selfbalance import allocate
from tests.compare.reading.mqadmin_tool import progress_view, running_view, status_view
from tests.compare.reading.orders_group import RETRY, Q, connections, lag
from tests.compare.reading.reading_rocketmq import GROUPS, owned, read_all, read_files, read_one, text


def test_a_table_of_one_topic_tells_what_members_own_of_it_and_names_the_others() -> None:
    shown = {Q[0]: "10.0.0.1"}
    table = progress_view(lag(*shown), shown)
    ids = ("10.0.0.1@a", "10.0.0.2@a")
    group = read_one(text(*table, *connections(*ids, topics=["orders", "bills", "%RETRY%g"]), group="g"))
    assert owned(group) == {ids[0]: {Q[0]}, ids[1]: frozenset()}
    assert group.partial is not None
    assert (group.partial.topics, group.partial.members) == (("%RETRY%g", "bills"), ())
    assert "bills" in group.partial.why
    # Where no source names the other topics, nobody can say of what the table tells nothing.
    group = read_one(text(*table, *status_view(ids), group="g"))
    assert set(owned(group).values()) == {None}
    assert group.partial is not None
    assert group.partial.members == ids
    assert "one topic only" in group.partial.why


def test_members_that_were_asked_tell_a_topic_without_rows_by_elimination() -> None:
    route = json.dumps({"brokerDatas": [], "queueDatas": [{"brokerName": "broker-a", "readQueueNums": 2, "perm": 6}]})
    bills = [Queue("bills", "broker-a", n) for n in range(2)]
    shown = {RETRY: "10.0.0.1", Q[0]: "10.0.0.2"}
    topics = ["orders", "bills", "%RETRY%g"]
    table = [*progress_view(lag(*shown), shown), *connections("10.0.0.1@a", "10.0.0.2@a", topics=topics)]
    routed = text(route, name="/logs/g/bills.topicRoute.txt")
    for of_one, untold in ((bills, None), (bills[:1], ("bills",))):
        group = read_one(text(*table, *running_view("g", "10.0.0.1@a", [RETRY, *of_one], topics)), routed)
        assert owned(group) == {"10.0.0.1@a": {RETRY, *of_one}, "10.0.0.2@a": {Q[0]}}
        assert (group.partial and group.partial.topics) == untold


def test_without_any_subscription_topics_without_rows_may_be_missing() -> None:
    shown = {RETRY: "10.0.0.1", Q[0]: "10.0.0.1"}
    group = read_one(text(*progress_view(lag(*shown), shown), *status_view(["10.0.0.1@a"])))
    assert owned(group) == {"10.0.0.1@a": {RETRY, Q[0]}}
    assert group.partial is not None
    assert "consumerConnection does" in group.partial.why


def test_who_does_not_answer_may_own_what_has_no_owner_where_only_answers_list_the_members() -> None:
    shown = {RETRY: "10.0.0.1", Q[0]: "10.0.0.1", Q[1]: None}
    views = [*progress_view(lag(*shown), shown), *status_view(["10.0.0.1@a"])]
    assert read_one(text(*views)).unowned is None
    assert read_one(text(*views, *connections("10.0.0.1@a"))).unowned == (Q[1],)


def dealt(strategy: str, ids: Sequence[str], topics: Mapping[str, Sequence[Queue]]) -> dict[str, set[Queue]]:
    """What members that read all the topics own under a strategy."""
    group = Group(tuple(Member(id, tuple(topics)) for id in ids), {name: tuple(each) for name, each in topics.items()})
    return {id: set(queues) for id, queues in allocate(strategy, group).items()}


BILLS = [Queue("bills", "broker-a", n) for n in range(6)]
IDS = ("10.0.0.1@a", "10.0.0.2@a", "10.0.0.3@a")


@pytest.mark.parametrize("strategy", ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"])
def test_members_with_other_subscriptions_are_told_where_one_strategy_explains_the_rows(strategy: str) -> None:
    shares = dealt(strategy, IDS, {"orders": Q, "bills": BILLS})
    # The last one does not read bills: its share of them is nobody's.
    true = {id: queues if id != IDS[2] else queues - set(BILLS) for id, queues in shares.items()}
    owner = {queue: id.partition("@")[0] for id, queues in true.items() for queue in queues}
    shown = {RETRY: "10.0.0.1", **{queue: owner.get(queue) for queue in (*Q, *BILLS)}}
    views = [*progress_view(lag(*shown), shown), *connections(*IDS, topics=["orders", "bills", "%RETRY%g"])]
    group = read_one(text(*views, *status_view(IDS, same=False)))
    assert owned(group) == {id: true[id] | ({RETRY} if id == IDS[0] else set()) for id in IDS}
    assert set(group.unowned or ()) == set(BILLS) & shares[IDS[2]]
    assert not group.members_disagree
    assert group.partial is not None
    assert (group.partial.topics, group.partial.members) == ((), ())
    assert "topics that no source shows" in group.partial.why


def test_members_with_other_subscriptions_and_strategies_hide_second_owners() -> None:
    by_block, by_circle = (dealt(name, IDS, {"orders": Q}) for name in ("AVG", "AVG_BY_CIRCLE"))
    true = {IDS[0]: by_block[IDS[0]], IDS[1]: by_circle[IDS[1]], IDS[2]: set[Queue]()}
    topics = ["orders", "%RETRY%g"]
    for later in IDS[:2], IDS[1::-1]:
        # Of two owners the table shows the later one.
        owner = {queue: id.partition("@")[0] for id in later for queue in true[id]}
        shown = {RETRY: "10.0.0.3", **{queue: owner.get(queue) for queue in Q}}
        views = [*progress_view(lag(*shown), shown), *connections(*IDS, topics=topics)]
        group = read_one(text(*views, *status_view(IDS, same=False)))
        assert set(owned(group).values()) == {None}
        assert group.partial is not None
        assert set(group.partial.members) == set(IDS)
        assert "hides second owners" in group.partial.why


def test_a_member_that_reads_nothing_that_is_named_reads_something_else() -> None:
    shares = dealt("AVG", IDS, {"orders": Q})
    shown: dict[Queue, str | None] = {RETRY: "10.0.0.1", **dict.fromkeys(Q)}
    shown |= dict.fromkeys(shares[IDS[2]], "10.0.0.3")
    views = [*progress_view(lag(*shown), shown), *connections(*IDS)]
    group = read_one(text(*views, *status_view(IDS, same=False)))
    assert owned(group) == {IDS[0]: None, IDS[1]: None, IDS[2]: shares[IDS[2]]}
    assert group.partial is not None
    assert "no source shows the topics" in group.partial.why


def test_nobody_is_online_where_no_row_has_an_owner_and_nobody_is_listed() -> None:
    shown: dict[Queue, str | None] = {RETRY: None, **dict.fromkeys(Q[:4])}
    group = read_one(text(*progress_view(lag(*shown), shown)))
    assert (group.members, group.state, group.seen) == (None, None, ())
    assert group.partial is not None
    assert group.partial.why.startswith("no member seems to be online")
    assert group.partial.why.endswith("; 6 records wait")
    assert group.partial.why in group.notes
    # Members that are listed and do not answer are online.
    listed = read_one(text(*progress_view(lag(*shown), shown), *connections("10.0.0.1@a")))
    assert not any("no member seems to be online" in note for note in listed.notes)


def test_a_subscribed_topic_without_route_is_missing() -> None:
    error = [
        "org.apache.rocketmq.tools.command.SubCommandException: TopicRouteSubCommand command failed",
        "Caused by: org.apache.rocketmq.client.exception.MQClientException: CODE: 17  DESC: No topic route info in name"
        " server for the topic: bills",
    ]
    shown = {RETRY: "10.0.0.1", Q[0]: "10.0.0.1"}
    views = [*progress_view(lag(*shown), shown), *connections("10.0.0.1@a", topics=["orders", "bills", "%RETRY%g"])]
    groups, skipped = read_all([text(*views), text(*error, name="/logs/g/topicRoute.txt")])
    assert [group.missing_topics for group in groups] == [("bills",)]
    assert any("bills" in note and "does not exist" in note for note in groups[0].notes)
    # There is nothing to own of it.
    assert groups[0].partial is None
    assert len(skipped) == 1
    assert read_one(text(*views)).missing_topics == ()


@pytest.mark.parametrize(("said", "orderly"), [("true", True), ("false", False), (None, None)])
def test_a_member_says_whether_it_consumes_in_order(said: str | None, orderly: bool | None) -> None:
    asked = running_view("g", "10.0.0.1@a", [RETRY], ["orders", "%RETRY%g"])
    asked[1:1] = [] if said is None else [f"{'PROP_CONSUMEORDERLY':<40}: {said}"]
    assert read_one(text(*asked)).orderly is orderly


def test_the_captured_orderly_group_says_so() -> None:
    groups, _ = read_files(*GROUPS)
    assert {name for name, group in groups.items() if group.orderly} == {"orderly_3"}


TOPICS = ("bills", "carts", "orders")
STRATEGY = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueue"
CLASSES = {"AVG": "Averagely", "AVG_BY_CIRCLE": "AveragelyByCircle", "CONSISTENT_HASH": "ConsistentHash"}


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_whatever_members_read_no_owner_is_shown_that_is_none(data: st.DataObject) -> None:
    strategy = data.draw(st.sampled_from(sorted(CLASSES)))
    brokers = ("broker-a", "broker-b")[: data.draw(st.integers(1, 2))]
    queues = {
        topic: tuple(Queue(topic, broker, n) for broker in brokers for n in range(data.draw(st.integers(1, 4))))
        for topic in TOPICS
    } | {RETRY.topic: tuple(Queue(RETRY.topic, broker, 0) for broker in brokers)}
    addresses = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    ids = [f"10.0.0.{address}@p{n}" for n, address in enumerate(addresses)]
    subsets = st.lists(st.sampled_from(TOPICS), min_size=1, unique=True)
    read = {id: (*data.draw(subsets), RETRY.topic) for id in ids}
    true = allocate(strategy, Group(tuple(Member(id, read[id]) for id in ids), queues))
    some = st.lists(st.sampled_from(ids), unique=True)
    silent = data.draw(some)
    answering = [id for id in ids if id not in silent]
    owner = {queue: id for id in answering for queue in true[id]}
    at = {(queue.topic, queue.broker) for id in ids for queue in true[id]}
    shown = {
        queue: owner[queue].partition("@")[0] if queue in owner else None
        for topic in read[data.draw(st.sampled_from(ids))]
        for queue in queues[topic]
        if (topic, queue.broker) in at
    }
    if not shown:
        return
    sources = [text(*progress_view(lag(*shown), shown), *connections(*ids, topics=read[ids[0]]), group="g")]
    if answering and data.draw(st.booleans()):
        same = len({frozenset(topics) for topics in read.values()}) == 1
        sources.append(text(*status_view(answering, same=same), group="g", name="/logs/g/status.txt"))
    for id in set(data.draw(some)) & set(answering):
        asked = running_view("g", id, sorted(true[id]), read[id], strategy=STRATEGY + CLASSES[strategy])
        sources.append(text(*asked, name=f"/logs/g/{id}.txt"))
    (group,), _ = read_all(sources)
    told = owned(group)
    assert all(each is None or each <= set(true[id]) for id, each in told.items())
    owned_by_somebody = {queue for id in ids for queue in true[id]}
    assert not {queue for queue in group.unowned or () if queue.topic != RETRY.topic} & owned_by_somebody
    missing = {id for id, each in told.items() if each is None}
    assert missing == set(group.partial.members if group.partial else ())
