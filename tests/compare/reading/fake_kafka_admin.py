"""confluent-kafka's AdminClient as far as it is used, answering from the captures' records of its answers."""

import json
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import confluent_kafka as library
from confluent_kafka import admin

from tests.compare.reading.reading_kafka import CAPTURES


def done(answer: Any) -> "Future[Any]":
    """A future that holds an answer, or fails if the answer is a KafkaError."""
    future: Future[Any] = Future()
    if isinstance(answer, library.KafkaError):
        future.set_exception(library.KafkaException(answer))
    else:
        future.set_result(answer)
    return future


@dataclass
class FakeAdmin:
    """A cluster whose answers are given; a KafkaError in place of an answer fails that request."""

    listed: list[Any]
    described: dict[str, Any]
    offsets: dict[str, Any]
    topics: dict[str, list[int]]
    """The leaders of the partitions."""
    ends: dict[tuple[str, int], Any]
    list_errors: list[Any] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)
    """Groups that are none of consumers, to what the older answer says of their protocol."""

    def poll(self, timeout: float) -> int:
        return 0

    def list_topics(self, *, timeout: float) -> Any:
        found = {
            name: SimpleNamespace(partitions={n: SimpleNamespace(leader=at) for n, at in enumerate(leaders)})
            for name, leaders in self.topics.items()
        }
        return SimpleNamespace(topics=found, brokers={}, cluster_id="fake")

    def list_groups(self, *, timeout: float) -> Any:
        consumers = {each.group_id: "consumer" for each in self.listed}
        nobody = SimpleNamespace(host="127.0.0.1", port=1)
        every = {**consumers, **self.others}.items()
        return [SimpleNamespace(id=name, protocol_type=protocol, broker=nobody) for name, protocol in every]

    def list_consumer_groups(self, *, request_timeout: float) -> "Future[Any]":
        return done(admin.ListConsumerGroupsResult(self.listed, self.list_errors))

    def describe_consumer_groups(self, group_ids: list[str], *, request_timeout: float) -> "dict[str, Future[Any]]":
        return {group: done(self.described[group]) for group in group_ids}

    def list_consumer_group_offsets(self, wanted: list[Any], *, request_timeout: float) -> "dict[str, Future[Any]]":
        assert len(wanted) == 1, "the real one takes one group at a time"
        return {each.group_id: done(self.offsets[each.group_id]) for each in wanted}

    def list_offsets(self, wanted: dict[Any, Any], *, request_timeout: float) -> "dict[Any, Future[Any]]":
        assert set(wanted.values()) == {admin.OffsetSpec.latest()}
        # One node that is silent fails everything that is asked in the same request.
        answers = {each: self.ends[each.topic, each.partition] for each in wanted}
        failed = next((each for each in answers.values() if isinstance(each, library.KafkaError)), None)
        return {each: done(failed or admin.ListOffsetsResultInfo(answer, -1, 0)) for each, answer in answers.items()}


def recorded(folder: str) -> FakeAdmin:
    """The cluster that a folder of the captures was taken from; its groups are those described there."""
    raw = _json(CAPTURES / folder / "truth-confluent.json")
    topics = _json(CAPTURES / folder / "truth.json")["topics"]
    described = {name: description(name, about) for name, about in raw["describe"].items()}
    return FakeAdmin(
        listed=[listing(each) for each in raw["list"] if each["group_id"] in described],
        described=described,
        offsets={name: commits(name, rows) for name, rows in raw["offsets"].items()},
        topics={name: about["leaders"] for name, about in topics.items()},
        ends={(name, at): end for name, about in topics.items() for at, end in enumerate(about["log_end"])},
    )


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def listing(raw: dict[str, Any]) -> Any:
    return admin.ConsumerGroupListing(
        raw["group_id"],
        raw["is_simple"],
        library.ConsumerGroupState[raw["state"]],
        library.ConsumerGroupType[raw["type"]],
    )


def description(name: str, raw: dict[str, Any]) -> Any:
    return admin.ConsumerGroupDescription(
        name,
        raw["is_simple"],
        [_member(each) for each in raw["members"]],
        raw["partition_assignor"],
        library.ConsumerGroupState[raw["state"]],
        library.Node(**raw["coordinator"]),
        type=library.ConsumerGroupType[raw["type"]],
    )


def _member(raw: dict[str, Any]) -> Any:
    return admin.MemberDescription(
        raw["member_id"],
        raw["client_id"],
        raw["host"],
        _assignment(raw["assignment"]),
        raw["group_instance_id"],
        None if raw["target_assignment"] is None else _assignment(raw["target_assignment"]),
    )


def _assignment(pairs: list[list[Any]]) -> Any:
    return admin.MemberAssignment([library.TopicPartition(topic, number) for topic, number in pairs])


def commits(name: str, rows: list[list[Any]]) -> Any:
    """The answer to a request for committed offsets; rows are topic, partition, offset and more."""
    partitions = [library.TopicPartition(topic, number, offset) for topic, number, offset, *_ in rows]
    return library.ConsumerGroupTopicPartitions(name, partitions)
