"""A live cluster's answers become the groups that its tools' text tells of."""

import struct
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("confluent_kafka", reason="the extra kafka is not installed")

from confluent_kafka import KafkaError

from compare.reading.kafka import join
from compare.reading.kafka.facts import OtherGroup
from compare.reading.kafka_live.connection import Connection, connect
from compare.reading.kafka_live.fetch import fetch, others
from compare.reading.kafka_live.settings import Settings
from compare.reading.observed import ObservedGroup, Skipped
from compare.reading.sources import Known
from protocols import Queue, UserError
from tests.compare.reading.fake_kafka_admin import FakeAdmin, commits, description, listing, recorded
from tests.compare.reading.fake_kafka_server import framed, serving, versions
from tests.compare.reading.reading_kafka import CAPTURES, read_files
from tests.rows import rows

FOLDERS = ("groups", "rebalancing", "cluster-a", "cluster-c")
SOURCE = "kafka://broker:9092"


def observe(admin: FakeAdmin, *before: str, shares: tuple[str, ...] = ()) -> tuple[dict[str, ObservedGroup], list[str]]:
    """Groups by name, and why something could not be read; ``before``, ``shares``: those of the last reading."""
    connection = Connection("broker:9092", timeout_s=1.0)
    connection.admin = admin
    found = list(fetch(connection, SOURCE, lambda text: None, lambda *_: {}, Known("", (), before, shares)))
    skipped = [each for each in found if isinstance(each, Skipped)]
    assert all((each.source, each.line) == (SOURCE, None) for each in skipped)
    groups = join(each for each in found if not isinstance(each, Skipped))
    return {group.name: group for group in groups}, [each.why for each in skipped]


def comparable(group: ObservedGroup) -> ObservedGroup:
    members = None if group.members is None else tuple(sorted(group.members, key=lambda member: member.id))
    # librdkafka has no name for the states that only the consumer protocol has.
    state = {"Reconciling": "rebalancing", "Assigning": "rebalancing"}.get(group.state or "", group.state)
    # Nor does it tell epochs, by which the text shows who has not confirmed yet what it owns already. Only some of the
    # tool's listings tell groups that only store offsets.
    untold: dict[str, Any] = {"moving": None, "only_offsets": False, "instances_told": True, "epoch": None}
    return replace(group, members=members, state=state, sources=(), **untold)


def test_the_answers_of_a_cluster_tell_what_its_tools_printed(subtests: pytest.Subtests) -> None:
    for folder in FOLDERS:
        with subtests.test(folder=folder):
            live, skipped = observe(recorded(folder))
            told, _ = read_files(CAPTURES / folder)
            assert skipped == []
            assert len(live) == {"groups": 27, "rebalancing": 3, "cluster-a": 97, "cluster-c": 14}[folder]
            for name, group in live.items():
                assert comparable(group) == comparable(told[name])
                assert group.sources == (SOURCE,)
                assert bool(group.moving) == bool(told[name].moving)
                assert set(group.moving or ()) <= set(told[name].moving or ())
                assert group.only_offsets or not told[name].only_offsets
            simple = ["simple-offsets"] if folder in ("groups", "cluster-a") else []
            assert [name for name, group in live.items() if group.only_offsets] == simple


def made(
    members: dict[str, list[tuple[str, int]]],
    targets: dict[str, list[tuple[str, int]]] | None = None,
    state: str = "STABLE",
    kind: str = "CLASSIC",
    assignor: str = "range",
    committed: list[tuple[str, int, int]] | None = None,
) -> FakeAdmin:
    """One group ``g`` of a cluster with the topics a (3 partitions that end at 10) and b (2 that end at 20)."""
    raw = {
        "state": state,
        "type": kind,
        "partition_assignor": assignor,
        "is_simple": False,
        "coordinator": {"id": 1, "host": "broker", "port": 9092},
        "members": [
            {
                "member_id": name,
                "client_id": "",
                "host": "/10.0.0.1",
                "group_instance_id": "",
                "assignment": owned,
                "target_assignment": None if targets is None else targets[name],
            }
            for name, owned in members.items()
        ],
    }
    return FakeAdmin(
        listed=[listing({"group_id": "g", **raw})],
        described={"g": description("g", raw)},
        offsets={"g": commits("g", [list(row) for row in committed or ()])},
        topics={"a": [1, 1, 2], "b": [2, 2], "unrelated": [1]},
        ends={**{("a", n): 10 for n in range(3)}, **{("b", n): 20 for n in range(2)}},
    )


def queues(*pairs: tuple[str, int]) -> tuple[Queue, ...]:
    return tuple(Queue(topic, "", number) for topic, number in pairs)


def only(admin: FakeAdmin) -> ObservedGroup:
    groups, skipped = observe(admin)
    assert skipped == []
    return groups["g"]


def test_every_partition_of_a_topic_that_is_read_counts_and_lag_needs_a_commit() -> None:
    group = only(made({"m": [("a", 0)], "idle": []}, committed=[("a", 0, 4), ("a", 1, 12), ("b", 0, -1001)]))
    assert group.queues == queues(("a", 0), ("a", 1), ("a", 2))
    assert dict(zip(group.queues, (6, 0, None), strict=True)) == group.lag
    assert [(member.id, member.owned) for member in group.members or ()] == [("idle", ()), ("m", queues(("a", 0)))]
    assert {(member.client_id, member.instance_id) for member in group.members or ()} == {(None, None)}


def test_range_of_the_consumer_protocol_is_the_servers() -> None:
    assert only(made({"m": []})).strategy == "range"
    assert only(made({"m": []}, kind="CONSUMER")).strategy == "server-range"
    # Old nodes tell no type; then the form of the member ids does.
    assert only(made({"aaaaaaaaaaaaaaaaaaaaaa": []}, kind="UNKNOWN")).strategy == "server-range"


def test_a_state_that_nobody_knows_is_not_told() -> None:
    assert only(made({"m": [("a", 0)]}, state="UNKNOWN")).state is None


def test_an_empty_group_reads_what_it_has_committed() -> None:
    group = only(made({}, state="EMPTY", assignor="", committed=[("b", 1, 5)]))
    assert (group.members, group.strategy, group.state) == ((), None, "Empty")
    assert group.lag == {queues(("b", 1))[0]: 15}


def test_partitions_without_leader_or_with_a_silent_one_only_lose_their_lag() -> None:
    admin = made({"m": [("a", 0), ("a", 1), ("a", 2)]}, committed=[("a", n, 1) for n in range(3)])
    admin.topics["a"] = [1, -1, 2]
    admin.ends["a", 2] = KafkaError(KafkaError._TIMED_OUT)
    groups, skipped = observe(admin)
    assert list(groups["g"].lag.values()) == [9, None, None]
    (why,) = skipped
    assert "2 partitions" in why
    assert "no leader" in why
    assert "no answer within 1 s" in why


def test_partitions_of_a_topic_that_is_gone_keep_their_commit_without_lag() -> None:
    group = only(made({}, state="EMPTY", committed=[("gone", 0, 5)]))
    assert group.lag == {Queue("gone", "", 0): None}


def test_what_fails_for_one_group_costs_only_that_group() -> None:
    admin = made({"m": [("a", 0)]}, committed=[("a", 0, 1)])
    raw = {"is_simple": False, "state": "STABLE", "type": "CLASSIC"}
    admin.listed += [listing({"group_id": name, **raw}) for name in ("deleted", "secret")]
    admin.described["deleted"] = KafkaError(KafkaError.GROUP_ID_NOT_FOUND)
    admin.described["secret"] = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
    admin.offsets |= {"deleted": commits("deleted", []), "secret": commits("secret", [])}
    groups, skipped = observe(admin)
    assert list(groups) == ["g"]
    assert len(skipped) == 2
    assert skipped[0] == "group 'deleted' was deleted while the cluster was read"
    assert skipped[1].startswith("group 'secret' cannot be read: ")
    assert "uthorization" in skipped[1]


def test_a_group_that_nobody_lists_is_asked_for_by_name_before_it_is_gone() -> None:
    """While a coordinator moves, neither broker lists its groups: seen in a rolling restart of Kafka 4.4.0."""
    admin = made({"m": [("a", 0)]}, committed=[("a", 0, 4)])
    there = observe(admin)
    admin.listed.clear()
    assert observe(admin, "g") == there
    admin.described["g"] = KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS)
    (why,) = observe(admin, "g")[1]
    assert why.startswith("group 'g' cannot be read: ")
    admin.described["g"] = KafkaError(KafkaError.GROUP_ID_NOT_FOUND)
    assert observe(admin, "g") == ({}, ["no broker of the cluster lists a consumer group"])


def test_share_groups_are_gone_only_where_their_coordinator_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = "share group 'sg' and 1 more: no coordinator tells of it"
    nobody = "no broker of the cluster lists a consumer group"
    for told, why in [([], [hidden]), (["sh"], [hidden.replace(" and 1 more", "")]), (["sg", "sh"], [nobody])]:
        monkeypatch.setattr("compare.reading.kafka_live.fetch.gone", lambda *_, told=told: set(told))
        assert observe(FakeAdmin([], {}, {}, {}, {}), shares=("sg", "sh")) == ({}, why)


def test_older_nodes_call_a_deleted_group_dead() -> None:
    assert observe(made({}, state="DEAD")) == ({}, ["group 'g' was deleted while the cluster was read"])


def test_without_its_offsets_a_group_has_owners_but_no_lag() -> None:
    admin = made({"m": [("a", 0)]})
    admin.offsets["g"] = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
    groups, skipped = observe(admin)
    assert groups["g"].queues == queues(("a", 0), ("a", 1), ("a", 2))
    assert groups["g"].lag == {}
    assert skipped[0].startswith("offsets of group 'g' cannot be read: ")


def test_a_node_that_does_not_list_its_groups_is_told() -> None:
    admin = made({"m": [("a", 0)]})
    admin.list_errors = [KafkaError(KafkaError._TIMED_OUT), KafkaError(KafkaError._TIMED_OUT)]
    groups, skipped = observe(admin)
    assert list(groups) == ["g"]
    assert [why.partition(":")[0] for why in skipped] == ["a broker does not list its groups"]


def test_a_cluster_that_lists_nothing_says_so_and_one_that_may_not_be_asked_is_refused() -> None:
    nothing = FakeAdmin([], {}, {}, {}, {})
    assert observe(nothing) == ({}, ["no broker of the cluster lists a consumer group"])
    nothing.list_errors = [KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED)]
    with pytest.raises(UserError, match=r"the Kafka cluster at broker:9092 refuses: .*uthorization"):
        observe(nothing)


def test_groups_that_are_none_of_consumers_are_listed_as_what_the_library_tells_of_them() -> None:
    cluster = recorded("groups")
    cluster.others = {"sg": "", "connect-c": "connect", "billing.rr": "consumer"}
    live, skipped = observe(cluster)
    assert not {"sg", "connect-c"} & set(live)
    assert skipped == [
        "'connect-c' is a group of the protocol connect, no consumer group, so no member owns partitions to judge",
        "'sg' is a share group or a streams group (kafka-groups.sh --list says which), no consumer group, so no member"
        " owns partitions to judge",
    ]


@rows(
    ("types", "kind"),
    [
        ({"sg": "share"}, "a share group"),
        ({"sg": "Streams"}, "a streams group"),
        ({}, "a share group or a streams group (kafka-groups.sh --list says which)"),
    ],
)
def test_the_real_library_and_a_question_of_ours_tell_what_is_no_consumer_group(
    types: dict[str, str], kind: str
) -> None:
    """Kafka's answers as of a cluster with four groups: ListGroups with all, DescribeGroups without the share group;
    types from version 5 of ListGroups on, or (none) a node that hangs up on it."""
    groups = {"orders": "consumer", "sg": "share", "connect-c": "connect"}
    at = [""]

    def text(value: str) -> bytes:
        return struct.pack(">h", len(value.encode())) + value.encode()

    def answer(key: int, version: int, correlation: int) -> Iterator[bytes]:
        host, _, port = at[0].partition(":")
        broker = struct.pack(">ii", 1, 1) + text(host) + struct.pack(">ihii", int(port), -1, 1, 0)
        listed = b"".join(text(name) + text(protocol) for name, protocol in groups.items())
        described = b"".join(
            struct.pack(">h", 0) + text(name) + text("Stable" if protocol else "Dead") + text(protocol) + text("")
            + struct.pack(">i", 0)
            for name, protocol in {**groups, "sg": ""}.items()
        )  # fmt: skip
        if key == 77:
            return  # a node that tells nothing of share groups hangs up
        if (key, version) == (16, 5):
            if types:
                fields = [(group, "", "Stable", types.get(group, "classic")) for group in groups]
                told = b"".join(
                    b"".join(bytes([len(part) + 1]) + part.encode() for part in group) + b"\0" for group in fields
                )
                yield framed(correlation, bytes(7) + bytes([len(groups) + 1]) + told + b"\0")
            return
        bodies = {
            18: struct.pack(">hi", 35, 0) if version else versions(*((each, 0, each == 3) for each in (18, 3, 16, 15))),
            3: broker,
            16: struct.pack(">hi", 0, len(groups)) + listed,
            15: struct.pack(">i", len(groups)) + described,
        }
        yield framed(correlation, bodies[key])

    with serving(answer) as at[0]:
        connection = connect(at[0], Settings(), 5.0)
        told = list(others(connection, SOURCE, ["orders"]))
    assert {each.group for each in told if isinstance(each, OtherGroup)} == {"connect-c", "sg"}
    assert f"'sg' is {kind}, no consumer group, so no member owns partitions to judge" in [
        each.why for each in told if isinstance(each, Skipped)
    ]


def test_requests_are_sent_ahead_but_answers_come_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("compare.reading.kafka_live.connection.MOST_IN_FLIGHT", 3)
    connection = Connection("broker:9092", timeout_s=1.0)
    connection.admin = FakeAdmin([], {}, {}, {}, {})
    sent: list[Future[Any]] = []

    def requests() -> Any:
        for number in range(5):
            sent.append(Future())
            if number >= 2:
                # The answers to the latest requests come first.
                for each, future in enumerate(sent):
                    if not future.done():
                        future.set_result(each)
            yield sent[-1]

    answers = connection.each(requests())
    assert next(answers) == 0
    assert len(sent) == 3
    assert list(answers) == [1, 2, 3, 4]
