"""Single rules of reading mqadmin, on made text: layouts, addresses, elimination, errors, and text that is torn."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from protocols import Queue
from tests.compare.reading.mqadmin_tool import (
    connection_view,
    old_connection_view,
    progress_view,
    running_view,
    status_view,
)
from tests.compare.reading.orders_group import RETRY, Q, connections, lag
from tests.compare.reading.reading_rocketmq import CAPTURES, GROUPS, owned, read_all, read_one, text


def test_addresses_match_whole() -> None:
    shown = {RETRY: "10.1.0.10", Q[0]: "10.1.0.1", Q[1]: "10.1.0.10", Q[2]: "10.1.0.1"}
    group = read_one(
        text(*progress_view(lag(*shown), shown), *connections("10.1.0.1@a", "10.1.0.10@a", "10.1.0.100@a"))
    )
    assert owned(group) == {"10.1.0.1@a": {Q[0], Q[2]}, "10.1.0.10@a": {RETRY, Q[1]}, "10.1.0.100@a": frozenset()}


def test_layouts_of_before_inflight_and_with_narrow_columns_are_read() -> None:
    topic = "a_topic_of_more_than_thirty_two_characters"
    long = [Queue(topic, "a_broker_of_more_than_thirty_two_characters", n) for n in range(2)]
    shown = {RETRY: "10.0.0.1", long[0]: "10.0.0.1", long[1]: "10.0.0.2"}
    table = progress_view(lag(*shown), shown, width=32, inflight=False, nobody="NA")
    route = [
        f"{'#ClusterName':<45} {'#BrokerName':<32} {'#BrokerAddrs':<50} {'#ReadQueue':<10} {'#WriteQueue':<11} #Perm",
        f"{'C':<45} {long[0].broker:<32} {'{0=10.9.9.9:10911, 1=10.9.9.8:10911}':<50} {2:<10} {2:<11} 6    ",
        "-" * 158,
        f"{'Total:':<45} {1:<32} {'':<50} {2:<10} {2:<11} ",
    ]
    connected = old_connection_view(["10.0.0.1@7", "10.0.0.2@8"], [topic, "%RETRY%g"])
    answered = status_view(["10.0.0.1@7", "10.0.0.2@8"], header=False)
    routed = text(*route, name=f"/logs/g/{topic}.topicRoute_l.txt")
    group = read_one(text(*table, *connected), text(*answered), routed)
    assert (group.name, group.queues) == ("g", (RETRY, *long))
    assert owned(group) == {"10.0.0.1@7": {RETRY, long[0]}, "10.0.0.2@8": {long[1]}}


def test_tables_that_lost_their_padding_are_read() -> None:
    shown = {RETRY: "10.0.0.1", Q[0]: "10.0.0.1"}
    lines = [" ".join(line.split()) for line in [*progress_view(lag(*shown), shown), *connections("10.0.0.1@a")]]
    assert owned(read_one(text(*lines))) == {"10.0.0.1@a": {RETRY, Q[0]}}


def test_what_is_left_of_an_address_belongs_to_the_last_member_there() -> None:
    shown = dict.fromkeys([RETRY, *Q[:4]], "10.0.0.1")
    table = [*progress_view(lag(*shown), shown), *connections("10.0.0.1@a", "10.0.0.1@b", "10.0.0.1@c")]
    one = running_view("g", "10.0.0.1@a", [RETRY, Q[0]], ["orders", "%RETRY%g"])
    two = running_view("g", "10.0.0.1@b", [Q[1]], ["orders", "%RETRY%g"], dropped=[Q[2]])
    three = running_view("g", "10.0.0.1@c", [], ["orders", "%RETRY%g"])
    assert set(owned(read_one(text(*table))).values()) == {None}
    assert owned(read_one(text(*table, *one)))["10.0.0.1@b"] is None
    assert owned(read_one(text(*table, *one, *two))) == {
        "10.0.0.1@a": {RETRY, Q[0]},
        "10.0.0.1@b": {Q[1]},
        "10.0.0.1@c": {Q[2], Q[3]},
    }
    # Everybody was asked: queues that the table shows beyond that were theirs at another moment.
    group = read_one(text(*table, *one, *two, *three))
    assert owned(group)["10.0.0.1@c"] == frozenset()
    assert group.unowned is None
    assert any("at different times" in note for note in group.notes)


def test_nobody_is_idle_where_a_row_without_owner_may_be_his() -> None:
    shown = {RETRY: "10.0.0.1", Q[0]: "10.0.0.1", Q[1]: None}
    group = read_one(text(*progress_view(lag(*shown), shown), *connections("10.0.0.1@a", "10.0.0.2@a")))
    assert owned(group) == {"10.0.0.1@a": {RETRY, Q[0]}, "10.0.0.2@a": None}
    assert group.unowned is None


def test_an_address_that_no_listed_member_has_makes_the_list_incomplete() -> None:
    shown = {RETRY: "10.0.0.1", Q[0]: "10.0.0.9"}
    group = read_one(text(*progress_view(lag(*shown), shown), *connections("10.0.0.1@a")))
    assert group.members is None
    assert owned(group) == {"10.0.0.1@a": {RETRY}}


def test_strategies_of_members_who_were_asked_differ() -> None:
    topics = ["orders", "%RETRY%g"]
    one = running_view("g", "10.0.0.1@a", Q[:2], topics)
    two = running_view("g", "10.0.0.2@a", Q[1:3], topics, strategy="com.acme.Own")
    shown = {RETRY: "10.0.0.3", **dict.fromkeys(Q[:2], "10.0.0.1"), Q[2]: "10.0.0.2"}
    table = [*progress_view(lag(*shown), shown), *connections("10.0.0.1@a", "10.0.0.2@a", "10.0.0.3@a")]
    assert read_one(text(*two)).strategy == "com.acme.Own"
    group = read_one(text(*table, *one, *two))
    assert group.strategy is None
    assert any("AVG, com.acme.Own" in note for note in group.notes)
    assert owned(group) == {"10.0.0.1@a": set(Q[:2]), "10.0.0.2@a": set(Q[1:3]), "10.0.0.3@a": None}


def test_a_preview_tells_queues_but_no_owner() -> None:
    preview = '{"result":{"10.0.0.1":[{"brokerName":"broker-a","queueId":0,"topic":"orders"}],"10.0.0.2":[]}}'
    group = read_one(text(*connections("10.0.0.1@a", "10.0.0.2@a"), preview))
    assert group.queues == (Q[0],)
    assert set(owned(group).values()) == {None}
    assert any("allocateMQ" in note for note in group.notes)


def test_two_folders_with_other_members_hold_two_clusters() -> None:
    shown = {RETRY: "10.0.0.1"}
    table = progress_view(lag(RETRY), shown)
    groups, _ = read_all(
        text(*table, *connections(f"10.0.0.1@{name}"), name=f"/{name}/out.txt") for name in ("one", "two")
    )
    assert [[*owned(group)] for group in groups] == [["10.0.0.1@one"], ["10.0.0.1@two"]]


def test_names_come_from_text_then_given_name_then_folder_or_file() -> None:
    table = progress_view(lag(Q[0]))
    named = progress_view(lag(RETRY))
    assert read_one(text(*named, name="/logs/x/consumerProgress.txt", group="y")).name == "g"
    assert read_one(text(*table, name="/logs/x/consumerProgress.txt", group="y")).name == "y"
    assert read_one(text(*table, name="/logs/x/consumerProgress_t.txt")).name == "x"
    assert read_one(text(*table, name="/logs/x/orders.consumerProgress.txt")).name == "orders"
    assert read_one(text(*table, name="/logs/x/orders.txt")).name == "orders"
    retry = "%RETRY%" + "n" * 60
    cut = progress_view({Queue(retry, "broker-a", 0): 0})
    assert read_one(text(*cut, name="/logs/x/consumerProgress.txt", group="n" * 60)).name == "n" * 60


def test_that_nobody_is_connected_is_an_answer() -> None:
    error = [
        "org.apache.rocketmq.tools.command.SubCommandException: ConsumerConnectionSubCommand command failed",
        "\tat org.apache.rocketmq.tools.command.MQAdminStartup.main0(MQAdminStartup.java:172)",
        "Caused by: org.apache.rocketmq.client.exception.MQBrokerException: CODE: 206  DESC: the consumer group[g] not"
        " online",
        "For more information, please visit the url, https://rocketmq.apache.org/docs/bestPractice/06FAQ",
    ]
    group = read_one(
        text("RocketMQLog:WARN No appenders could be found for logger (x).", *error, *progress_view(lag(RETRY)))
    )
    assert (group.name, group.state, group.members) == ("g", "OFFLINE", ())


def test_a_list_goes_on_behind_the_exception_of_one_member() -> None:
    rows = status_view(["10.0.0.1@a", "10.0.0.2@a", "10.0.0.2@a"])
    error = ["org.apache.rocketmq.remoting.exception.RemotingTimeoutException: wait response timeout", "\tat a.b(C)"]
    groups, skipped = read_all([text(*rows[:3], *error, *rows[3:])])
    assert [member.id for member in groups[0].members or ()] == ["10.0.0.1@a", "10.0.0.2@a", "10.0.0.2@a"]
    assert [each.line for each in skipped] == [4]


def test_what_loggers_print_in_the_middle_of_a_view_is_left_out() -> None:
    status = "12:00:01,234 |-INFO in ch.qos.logback.classic.LoggerContext[default] - This is logback"
    shown = {RETRY: "10.0.0.1", Q[0]: "10.0.0.1", Q[1]: "10.0.0.2"}
    for noise in ("RocketMQLog:WARN No appenders could be found for logger (x).", "SLF4J: No providers", status):
        views = (progress_view(lag(*shown), shown), connections("10.0.0.1@a", "10.0.0.2@b"))
        lines = [line for view in views for line in (noise, *view[:2], noise, *view[2:], noise)]
        groups, skipped = read_all([text(*lines)])
        assert (skipped, len(groups)) == ([], 1)
        assert [member.owned for member in groups[0].members or ()] == [(RETRY, Q[0]), (Q[1],)]
    route = text("{", status, '\t"queueDatas":[', '\t\t{"brokerName":"a","readQueueNums":2,"perm":6}', "\t]}", status)
    assert read_all([route])[1] == []


def test_that_a_broadcasting_group_has_no_offsets_comes_with_where_to_look() -> None:
    error = "org.apache.rocketmq.client.exception.MQClientException: CODE: 213  DESC: Not found the consumer group"
    _, (skipped,) = read_all([text(f"{error} consume stats, the consumer is under the broadcast mode")])
    assert skipped.why.endswith(
        "expected consumerConnection, because members of a broadcasting group store their offsets locally"
    )


def test_rows_that_cannot_be_read_are_named_and_what_they_may_have_said_is_not_guessed() -> None:
    shown = {RETRY: "10.0.0.1", Q[0]: "10.0.0.1", Q[1]: "10.0.0.2"}
    table = progress_view(lag(*shown), shown)
    torn = [*table[:3], table[3][:110], *table[4:]]
    groups, skipped = read_all([text(*torn, *connections("10.0.0.1@a", "10.0.0.2@a"))])
    assert [(each.line, each.why[:35]) for each in skipped] == [(4, "expected a row of 9 columns or a to")]
    assert set(owned(groups[0]).values()) == {None}
    assert groups[0].lag == {RETRY: 0, Q[0]: 0}


words = st.text(
    st.characters(codec="utf-8", categories=["L", "N"], include_characters="-_.%|"), min_size=1, max_size=40
)
instances = st.lists(words, min_size=1, max_size=3).map(" ".join)


@settings(max_examples=100, deadline=None)
@given(
    queues=st.dictionaries(
        st.builds(Queue, words, st.lists(words, min_size=1, max_size=2).map(" ".join), st.integers(0, 99_999)),
        st.tuples(st.integers(-9, 10**18), st.integers(0, 3)),
        max_size=8,
    ),
    names=st.lists(instances, min_size=4, max_size=4, unique=True),
)
def test_what_the_tool_prints_is_read_back(queues: dict[Queue, tuple[int, int]], names: list[str]) -> None:
    # The tool cuts broker names to 32 characters; without a route nothing completes them.
    queues = {queue._replace(broker=queue.broker[:32].strip()): value for queue, value in queues.items()}
    asked = [*queues, RETRY]
    # The table has all of a topic's queues, from 0 on.
    numbers: Counter[tuple[str, str]] = Counter()
    for queue in sorted(queues):
        numbers[queue[:2]] += 1
        queues[queue._replace(number=numbers[queue[:2]] - 1)] = queues.pop(queue)
    queues[RETRY] = (0, 0)
    ids = [f"10.0.0.{n}@{name}" for n, name in enumerate(names)]
    shown: dict[Queue, str | None] = {queue: f"10.0.0.{at}" for queue, (_, at) in queues.items()}
    lags = {queue: diff for queue, (diff, _) in queues.items()}
    topics = sorted({queue.topic for queue in queues})
    if any(topic.startswith("%RETRY%") and topic != RETRY.topic for topic in topics):
        return
    group = read_one(text(*progress_view(lags, shown), *connection_view(ids, topics), *status_view(ids)))
    assert group.lag == lags
    assert owned(group) == {
        id: {queue for queue, address in shown.items() if address == id.partition("@")[0]} for id in ids
    }
    running = read_one(text(*running_view("g", "10.0.0.1@a b", asked, topics)))
    assert owned(running) == {"10.0.0.1@a b": set(asked)}


captures = [
    file.read_text() for folder in (*GROUPS, CAPTURES / "topics", CAPTURES / "errors") for file in folder.glob("*.txt")
]
junk = st.sampled_from(
    ["", "\0", "😀", "\t", " ", "{", "[", '"', "#", "@", "-1", "N/A", "9" * 30, "²", "%RETRY%", "\n", "\r"]
)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_text_that_is_torn_never_raises(data: st.DataObject) -> None:
    torn = "\n".join(data.draw(st.lists(st.sampled_from(captures), min_size=1, max_size=3)))[:20_000]
    for _ in range(data.draw(st.integers(1, 6))):
        start = data.draw(st.integers(0, len(torn)))
        end = start + data.draw(st.sampled_from([0, 1, 5, 60, 600]))
        torn = torn[:start] + data.draw(junk) + torn[data.draw(st.sampled_from([start, end])) :]
    _, skipped = read_all([text(*torn.split("\n"))])
    assert all("\n" not in each.why for each in skipped)
