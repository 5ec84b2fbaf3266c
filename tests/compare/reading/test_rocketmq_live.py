"""A cluster asked over the remoting protocol tells who owns what, and says in one line what it would not tell."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from compare.reading.observed import ObservedGroup, Skipped
from compare.reading.rocketmq_live import observe
from compare.reading.rocketmq_live.client import Address, name_servers
from compare.reading.sources import Known
from protocols import Queue, UserError
from tests.compare.reading.fake_rocketmq import Answer, ok, queue_key, route, serving
from tests.compare.showing import equipoise

AVG = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely@3589cf7"


class Cluster:
    """A broker per name; members by client id: their queues of the topic ``orders``, None for one that is silent."""

    def __init__(self, members: Mapping[str, list[tuple[str, int]] | None], connected: list[str] | None = None) -> None:
        self.members = members
        self.connected = list(members) if connected is None else connected
        self.brokers: dict[str, str] = {}
        self.model = "CLUSTERING"
        self.properties = {"allocateMessageQueueStrategy": AVG, "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY"}
        self.topics = ["orders", "%RETRY%g"]
        self.retry_topics = ["%RETRY%g"]

    def name_server(self, code: int, fields: Mapping[str, str]) -> Answer:
        if code == 206:
            return ok({"topicList": ["orders", *self.retry_topics, "broker-a"]})
        if code == 106:
            return ok({"brokerAddrTable": {name: {} for name in self.brokers}, "clusterAddrTable": {}})
        assert code == 105
        if fields["topic"] not in ("orders", *self.retry_topics):
            return 17, "No topic route info in name server for the topic", ""
        return route(self.brokers, 2 if fields["topic"] == "orders" else 1)

    def broker(self, name: str) -> "Broker":
        return Broker(self, name)


class Broker:
    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster, self.name = cluster, name

    def __call__(self, code: int, fields: Mapping[str, str]) -> Answer:
        cluster = self.cluster
        if code == 208 and fields["consumerGroup"] != "g":
            return ok({"consumeTps": 0.0, "offsetTable": {}})
        if code == 203:
            if not cluster.connected or fields["consumerGroup"] != "g":
                return 206, "the consumer group[g] not online", ""
            connections = [
                {"clientId": id, "clientAddr": f"127.0.0.1:{40000 + n}"} for n, id in enumerate(cluster.connected)
            ]
            topics: dict[str, object] = {topic: {} for topic in cluster.topics}
            return ok({"connectionSet": connections, "subscriptionTable": topics, "messageModel": cluster.model})
        if code == 208:
            rows = [
                f'{queue_key("orders", self.name, n)}:{{"brokerOffset":{10 + n},"consumerOffset":7}}' for n in range(2)
            ]
            return ok(f'{{"consumeTps":0.0,"offsetTable":{{{",".join(rows)}}}}}')
        assert code == 307
        owned = cluster.members[fields["clientId"]]
        if owned is None:
            return None
        table = ",".join(f'{queue_key("orders", *queue)}:{{"droped":false}}' for queue in owned)
        dropped = f'{queue_key("orders", "broker-a", 99)}:{{"droped":true}}'
        return ok(
            f'{{"mqTable":{{{",".join(filter(None, (table, dropped)))}}},"mqPopTable":{{}},'
            f'"properties":{json.dumps(cluster.properties)},"subscriptionSet":'
            + json.dumps([{"topic": topic} for topic in cluster.topics])
            + "}"
        )


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def start(servers: ExitStack, cluster: Cluster) -> str:
    for name in ("broker-a", "broker-b"):
        cluster.brokers[name] = servers.enter_context(serving(cluster.broker(name)))
    return "rocketmq://" + servers.enter_context(serving(cluster.name_server))


def group_of(found: list[ObservedGroup | Skipped]) -> ObservedGroup:
    (group,) = (each for each in found if isinstance(each, ObservedGroup))
    return group


@pytest.mark.parametrize(
    ("topics", "hides", "why"),
    [
        ([], True, "the name server knows no topic, so no broker has registered: which groups there are is unknown"),
        (["broker-a", "TBW102"], False, "the cluster has no consumer groups"),
    ],
)
def test_a_name_server_that_has_just_started_hides_all_groups(
    topics: list[str], hides: bool, why: str, servers: ExitStack
) -> None:
    address = "rocketmq://" + servers.enter_context(serving(lambda code, fields: ok({"topicList": topics})))
    assert observe(address) == [Skipped(address, None, why, hides_groups=hides)]


def test_a_broker_that_has_not_registered_again_hides_the_groups_that_it_alone_knows(servers: ExitStack) -> None:
    """Two brokers after a restart of their name server: seen with RocketMQ 5.5.0."""
    cluster, known = Cluster({"c0": []}), dict[str, Known]()
    address = start(servers, cluster)
    told = []
    for brokers in (dict(cluster.brokers), {"broker-a": cluster.brokers["broker-a"]}, dict(cluster.brokers)):
        cluster.brokers = brokers
        found = observe(address, known=known)
        assert group_of(found).name == "g"
        told.append([each.why for each in found if isinstance(each, Skipped) and each.hides_groups])
    why = "is not registered with the name server any more: groups that it alone knows are not listed"
    assert told == [[], [f"broker broker-b {why}"], []]


def test_members_owners_strategy_and_lag_are_told(servers: ExitStack) -> None:
    cluster = Cluster({"10.0.0.1@x": [("broker-a", 0), ("broker-a", 1)], "10.0.0.2@x": [("broker-b", 0)]})
    address = start(servers, cluster)
    group = group_of(observe(address))
    assert (group.name, group.strategy, group.state, group.mode) == ("g", "AVG", "ONLINE", "shared")
    assert {member.id: member.owned for member in group.members or ()} == {
        "10.0.0.1@x": (Queue("orders", "broker-a", 0), Queue("orders", "broker-a", 1)),
        "10.0.0.2@x": (Queue("orders", "broker-b", 0),),
    }
    assert group.lag[Queue("orders", "broker-b", 1)] == 4
    assert Queue("orders", "broker-b", 1) in (group.queues or ())
    assert not group.endless
    del cluster.brokers["broker-b"]
    assert group_of(observe(address)).endless == (Queue("orders", "broker-b", 0),)


def test_audit_of_a_live_cluster_names_the_queue_that_nobody_owns(servers: ExitStack) -> None:
    cluster = Cluster({"10.0.0.1@x": [("broker-a", 0), ("broker-a", 1)], "10.0.0.2@x": [("broker-b", 0)]})
    ran = equipoise("audit", start(servers, cluster), "--format", "json")
    assert ran.returncode == 0, ran.stderr
    (group,) = json.loads(ran.stdout)["groups"]
    assert (group["system"], group["unowned_queues"], group["max"]) == ("rocketmq", 1, 2)


def test_a_client_id_in_two_processes_is_there_twice(servers: ExitStack) -> None:
    cluster = Cluster({"10.0.0.1@x": [("broker-a", 0)]}, connected=["10.0.0.1@x", "10.0.0.1@x"])
    group = group_of(observe(start(servers, cluster)))
    assert [member.id for member in group.members or ()] == ["10.0.0.1@x"] * 2
    assert any("connected 2 times" in note for note in group.notes)


def test_a_topic_that_does_not_exist_is_told_and_so_is_consumption_in_order(servers: ExitStack) -> None:
    cluster = Cluster({"10.0.0.1@x": [("broker-a", 0)]})
    cluster.topics.append("gone")
    address = start(servers, cluster)
    group = group_of(observe(address))
    assert (group.missing_topics, group.partial, group.orderly) == (("gone",), None, None)
    cluster.properties["PROP_CONSUMEORDERLY"] = "true"
    assert group_of(observe(address)).orderly is True


def test_a_group_without_members_is_offline(servers: ExitStack) -> None:
    group = group_of(observe(start(servers, Cluster({}))))
    assert (group.state, group.members) == ("OFFLINE", ())


def test_the_retry_topic_of_a_popped_topic_is_no_group(servers: ExitStack) -> None:
    cluster = Cluster({"10.0.0.1@a": []})
    cluster.retry_topics += ["%RETRY%g_orders", "%RETRY%g+orders", "%RETRY%g_payments"]
    found = [each for each in observe(start(servers, cluster)) if isinstance(each, ObservedGroup)]
    # There is no topic payments: whoever is called so is a group without members.
    assert [each.name for each in found] == ["g", "g_payments"]


def test_a_broadcasting_group_is_told_as_such(servers: ExitStack) -> None:
    cluster = Cluster({"10.0.0.1@x": [("broker-a", 0)]})
    cluster.model = "BROADCASTING"
    assert group_of(observe(start(servers, cluster))).mode == "broadcasting"


def test_a_member_that_does_not_answer_costs_its_own_queues_only(servers: ExitStack) -> None:
    cluster = Cluster({"10.0.0.1@x": [("broker-a", 0)], "10.0.0.2@x": None})
    found = observe(start(servers, cluster), timeout_s=1.5)
    owned = {member.id: member.owned for member in group_of(found).members or ()}
    assert owned == {"10.0.0.1@x": (Queue("orders", "broker-a", 0),), "10.0.0.2@x": None}
    (skipped,) = (each for each in found if isinstance(each, Skipped))
    assert "10.0.0.2@x does not report its queues" in skipped.why
    assert "does not answer for 0.5 s" in skipped.why


def test_the_second_name_server_answers_where_the_first_is_down(servers: ExitStack) -> None:
    cluster = Cluster({"10.0.0.1@x": [("broker-a", 0)]})
    address = start(servers, cluster)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        down = f"rocketmq://127.0.0.1:{taken.getsockname()[1]};" + address.removeprefix("rocketmq://")
        assert group_of(observe(down, timeout_s=2)).name == "g"


@pytest.mark.parametrize("answer", [(0, None, "{{{"), (1, "system busy", ""), None])
def test_a_name_server_that_talks_nonsense_is_one_line(servers: ExitStack, answer: Answer) -> None:
    address = servers.enter_context(serving(lambda code, fields: answer))
    with pytest.raises(UserError, match="no name server answers") as refused:
        observe(f"rocketmq://{address}", timeout_s=0.5)
    assert "\n" not in str(refused.value)


def test_a_server_of_another_kind_is_one_line_and_exit_code_2() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        ran = equipoise("audit", f"rocketmq://127.0.0.1:{listening.getsockname()[1]}", "--timeout", "0.3")
    assert ran.returncode == 2
    assert "no name server answers" in ran.stderr
    assert "Traceback" not in ran.stderr


ROUTES = [
    "{{{",
    "[]",
    "{}",
    '{"queueDatas": 7, "brokerDatas": []}',
    '{"queueDatas": [{"brokerName": "b", "perm": {}, "readQueueNums": 1}], "brokerDatas": []}',
    '{"queueDatas": [{"brokerName": "b", "perm": 6, "readQueueNums": "many"}], "brokerDatas": []}',
    '{"queueDatas": [{"brokerName": "b", "perm": 6, "readQueueNums": 1e400}], "brokerDatas": []}',
    '{"queueDatas": [{"brokerName": "b", "perm": 6, "readQueueNums": 99999999999}], "brokerDatas": []}',
]


@pytest.mark.parametrize("text", ROUTES)
def test_name_servers_whose_routes_are_nonsense_are_one_line(servers: ExitStack, text: str) -> None:
    def answer(code: int, fields: Mapping[str, str]) -> Answer:
        return ok({"topicList": ["%RETRY%g", "%RETRY%h"]}) if code == 206 else (0, None, text)

    address = servers.enter_context(serving(answer))
    with pytest.raises(UserError, match="an answer in another form than RocketMQ's") as refused:
        observe(f"rocketmq://{address}")
    assert "\n" not in str(refused.value)


def test_nonsense_in_a_route_is_one_line_and_exit_code_2_at_the_console(servers: ExitStack) -> None:
    def answer(code: int, fields: Mapping[str, str]) -> Answer:
        return ok({"topicList": ["%RETRY%g"]}) if code == 206 else (0, None, ROUTES[5])

    ran = equipoise("audit", "rocketmq://" + servers.enter_context(serving(answer)))
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
    assert "readQueueNums is 'many'" in ran.stderr


def test_a_topic_whose_route_is_nonsense_is_one_line_and_its_queues_are_not_known(servers: ExitStack) -> None:
    cluster = Cluster({"10.0.0.1@x": [("broker-a", 0)]})
    start(servers, cluster)

    def damaged(code: int, fields: Mapping[str, str]) -> Answer:
        return (0, None, "{}") if fields.get("topic") == "orders" else cluster.name_server(code, fields)

    found = observe("rocketmq://" + servers.enter_context(serving(damaged)))
    assert group_of(found).name == "g"
    (skipped,) = (each.why for each in found if isinstance(each, Skipped))
    assert skipped.startswith(
        "topic 'orders': no name server returns its route: an answer in another form than RocketMQ's"
    )


@pytest.mark.parametrize(
    ("code", "text", "why"),
    [
        (203, '{"connectionSet": 7, "subscriptionTable": 7}', None),
        (203, "7", "does not list the members"),
        (208, f'{{"offsetTable":{{{queue_key("orders", "broker-a", 0)}:{{"brokerOffset":"x"}}}}}}', "the lag"),
        (208, '{"offsetTable": 7}', None),
        (307, '{"mqTable": 7, "mqPopTable": 7, "properties": 7, "subscriptionSet": 7}', None),
        (307, "[]", "does not report its queues"),
    ],
)
def test_nonsense_of_a_broker_costs_no_more_than_a_line(
    servers: ExitStack, code: int, text: str, why: str | None
) -> None:
    cluster = Cluster({"10.0.0.1@x": [("broker-a", 0)]})
    honest = cluster.broker("broker-a")
    broker = servers.enter_context(serving(lambda asked, of: (0, None, text) if asked == code else honest(asked, of)))
    cluster.brokers["broker-a"] = broker
    found = observe("rocketmq://" + servers.enter_context(serving(cluster.name_server)))
    assert [why is not None and why in each.why for each in found if isinstance(each, Skipped)] == [True] * bool(why)


def test_addresses() -> None:
    assert name_servers("rocketmq://a;b:1") == [Address("a", 9876), Address("b", 1)]
    assert name_servers("rocketmq://[::1]:9876/") == [Address("::1", 9876)]
    for wrong in ("rocketmq://", "rocketmq://a b", "rocketmq://a:99999", "rocketmq://a;;b"):
        with pytest.raises(UserError, match="expected rocketmq://host:port"):
            name_servers(wrong)
