"""Conversations with a broker of 4.4: versions that it brought and the codec does not have
(`kafka_coordinator.wire.schemas`), ApiVersions 5, DeleteGroups 3, TxnOffsetCommit 6; and requests to produce that name
several producers."""

import time
from typing import Any, TypeAlias
from uuid import UUID

from tests.kafka_coordinator.wire.broker_cases import Ask, Case, batch, create, produce
from tests.kafka_coordinator.wire.plain import plain, request

_COMMIT, _FIND, _API_VERSIONS, _INIT, _TXN_COMMIT, _DELETE, _DESCRIBE_CLUSTER, _CONSUMER = (
    8, 10, 18, 22, 28, 42, 60, 68,
)  # fmt: skip
_UNKNOWN = UUID(int=7)
_GROUP_ID_NOT_FOUND = 69
_Named: TypeAlias = tuple[UUID | str | None, tuple[int, ...]]
"""A topic and partitions of it."""


def clusters_and_nodes(ask: Ask, topic: str) -> list[Any]:
    """What is told to clients that take the broker for another one: the error, and whether it lists APIs."""
    cluster = ask(request(_DESCRIBE_CLUSTER, 1))
    ours, node = cluster.cluster_id, cluster.brokers[0].broker_id
    software = {"client_software_name": "raw", "client_software_version": "1"}
    asked: list[dict[str, Any]] = [
        {},
        {"cluster_id": ours, "node_id": node},
        {"cluster_id": ours, "node_id": node + 1},
        {"cluster_id": ours},
        {"cluster_id": "another", "node_id": node},
        {"cluster_id": "", "node_id": node},
        {"node_id": node + 1},
        {"cluster_id": "another"},
        {"cluster_id": "another", "node_id": -2},
        {"cluster_id": "", "node_id": -1},
        {"node_id": -2},
        {"cluster_id": "another", "client_software_name": "-"},
    ]
    answers = [ask(request(_API_VERSIONS, 5, **{**software, **each})) for each in asked]
    return [(each.error_code, bool(each.api_keys), bool(each.finalized_features)) for each in answers]


def deleted_groups(ask: Ask, topic: str) -> list[Any]:
    """Groups that are not there, that have a member, and that are empty."""
    create(ask, topic)
    _ready(ask, f"{topic}-x")
    _member(ask, topic)
    offset = {"partition_index": 0, "committed_offset": 1, "committed_metadata": ""}
    topics = [{"name": topic, "partitions": [offset]}]
    commit = {"generation_id_or_member_epoch": -1, "member_id": "", "topics": topics}
    ask(request(_COMMIT, 9, group_id=f"{topic}-x", **commit))
    names = [topic, f"{topic}-x", f"{topic}-y", "", topic]
    answers = [ask(request(_DELETE, version, groups_names=names)) for version in (3, 2, 3)]
    # Kafka's order follows from hashes.
    return [sorted(plain(each)["results"], key=lambda one: str(one["group_id"])) for each in answers]


def transactional_offsets_by_topic_id(ask: Ask, topic: str) -> list[Any]:
    """Offsets within a transaction: known and unknown topics, members of the consumer protocol and strangers."""
    known = create(ask, topic).topic_id
    _ready(ask, topic)
    init = request(_INIT, 5, transactional_id=topic, transaction_timeout=60_000, producer_id=-1, producer_epoch=-1)
    ask(request(_FIND, 4, key_type=1, coordinator_keys=[topic]))  # a real broker makes __transaction_state then
    while (made := ask(init)).error_code != 0:
        time.sleep(0.2)

    def commit(version: int, *named: _Named, group: str = topic, **member: Any) -> Any:
        field = "topic_id" if version >= 6 else "name"
        return ask(
            request(
                _TXN_COMMIT,
                version,
                transactional_id=topic,
                group_id=group,
                producer_id=made.producer_id,
                producer_epoch=made.producer_epoch,
                topics=[{field: each, "partitions": [_offset(one) for one in numbers]} for each, numbers in named],
                **member,
            )
        )

    stranger = {"generation_id": 3, "member_id": "x"}
    answers = [
        commit(6, (known, (0,))),
        commit(6, (known, (0, 9)), (_UNKNOWN, (0, 1))),
        commit(6, (None, (0,))),
        commit(6),
        commit(5, (topic, (0,)), group=f"{topic}-none", **stranger),
        commit(6, (known, (0,)), group=f"{topic}-none", **stranger),
    ]
    member = _member(ask, f"{topic}-c")
    own = {"member_id": member.member_id, "generation_id": member.member_epoch}
    old = {**own, "generation_id": member.member_epoch + 1}
    for version, each in [(5, topic), (6, known)]:
        answers += [
            commit(version, (each, (0,)), group=f"{topic}-c", **own),
            commit(version, (each, (0,)), group=f"{topic}-c", **old),
            commit(version, (each, (0,)), group=f"{topic}-c", **stranger),
        ]
    return answers


def several_producers(ask: Ask, topic: str) -> list[Any]:
    """A request with batches of more than one producer, and of one with another epoch or outside a transaction."""
    create(ask, topic, 2)
    ask(request(_FIND, 4, key_type=1, coordinator_keys=[topic]))
    ids = []
    for name in (topic, f"{topic}-2"):
        init = request(_INIT, 5, transactional_id=name, transaction_timeout=60_000, producer_id=-1, producer_epoch=-1)
        while (made := ask(init)).error_code != 0:
            time.sleep(0.2)
        ids.append(made.producer_id)

    def batches(*producers: tuple[int, int, bool], version: int = 12, acks: int = -1) -> Any:
        contents = [batch(b"v", producer=(id, epoch, 0), transactional=within) for id, epoch, within in producers]
        answer = plain(ask(produce(topic, *contents, version=version, acks=acks, transactional_id=topic)))
        # Kafka's order follows from hashes.
        return sorted(answer["responses"][0]["partition_responses"], key=lambda one: int(one["index"]))

    first, second = ids
    return [
        batches((first, 0, True), (second, 0, True)),
        batches((first, 0, True), (second, 0, True), version=9),
        batches((first, 0, True), (second, 0, True), acks=7),
        batches((first, 0, True), (first, 1, True)),
        batches((first, 0, True), (first, 0, True), (second, 0, True)),
        batches((first, 0, True), (second, 0, False)),
        batches((second, 0, True), (first, 0, True), (first, 0, True)),
    ]


def _ready(ask: Ask, group: str) -> None:
    """A real broker makes ``__consumer_offsets`` first."""
    while ask(request(_FIND, 4, key_type=0, coordinator_keys=[group])).coordinators[0].error_code != 0:
        time.sleep(0.2)
    while ask(request(_DELETE, 2, groups_names=[group])).results[0].error_code != _GROUP_ID_NOT_FOUND:
        time.sleep(0.2)


def _member(ask: Ask, group: str) -> Any:
    """A member of the consumer protocol."""
    body = {"group_id": group, "member_id": "m", "member_epoch": 0, "rebalance_timeout": 60_000}
    for _ in range(100):
        answer = ask(request(_CONSUMER, 1, **body, subscribed_topic_names=["nothing"], topic_partitions=[]))
        if answer.error_code == 0:
            return answer
        time.sleep(0.2)
    raise AssertionError(answer)


def _offset(number: int) -> dict[str, Any]:
    return {"partition_index": number, "committed_offset": 5 + number, "committed_metadata": "m"}


NEWEST_CASES: dict[str, Case] = {
    "clusters_and_nodes": clusters_and_nodes,
    "deleted_groups": deleted_groups,
    "transactional_offsets_by_topic_id": transactional_offsets_by_topic_id,
    "several_producers": several_producers,
}
