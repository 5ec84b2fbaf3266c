"""Share groups from the join of a member to the end of the group, as a raw client asks for them (KIP-932)."""

import time
from dataclasses import replace
from typing import Any
from uuid import UUID

from tests.kafka_coordinator.wire.broker_cases import Ask, Case, batch, create, produce
from tests.kafka_coordinator.wire.plain import request
from tests.kafka_coordinator.wire.transaction_play import END, INIT, find_coordinator

_FIND, _ALTER_CONFIGS, _DELETE_GROUPS, _DESCRIBE_GROUPS, _LIST, _CONSUMERS = 10, 44, 42, 15, 16, 69
_BEAT, _DESCRIBE, _FETCH, _ACKNOWLEDGE, _OFFSETS, _ALTER, _FORGET = 76, 77, 78, 79, 90, 91, 92
_GROUP = 32
_SETTLES_S = 0.3
"""Markers of a real broker come after its answer."""
ISOLATION = "share.isolation.level"
NOT_READY = (14, 15, 16)
"""Errors of a coordinator that is on its way."""
_UNKNOWN = UUID(int=7)
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)


class Share:
    """A member ``m`` of the group that has the topic's name; ``version`` of ShareFetch and ShareAcknowledge."""

    def __init__(self, ask: Ask, topic: str, partitions: int = 1, version: int = 2, **settings: str) -> None:
        self.ask, self.topic, self.version = ask, topic, version
        # One segment, although markers are younger than the records by years: a read ends with its segment.
        self.id = create(ask, topic, partitions, segment_ms=str(10**15)).topic_id
        self.configure(**{"share.auto.offset.reset": "earliest", "share.assignment.interval.ms": "0", **settings})
        ask(request(_FIND, 4, key_type=0, coordinator_keys=[topic]))

    def configure(self, **settings: str) -> None:
        configs = [{"name": name, "config_operation": 0, "value": value} for name, value in settings.items()]
        resources = [{"resource_type": _GROUP, "resource_name": self.topic, "configs": configs}]
        self.ask(request(_ALTER_CONFIGS, 1, resources=resources, validate_only=False))

    def beat(self, epoch: int, topics: list[str] | None = None, member: str = "m", **more: Any) -> Any:
        values = {"group_id": self.topic, "member_id": member, "rack_id": None, **more}
        return self.ask(request(_BEAT, 1, member_epoch=epoch, subscribed_topic_names=topics, **values))

    def join(self) -> list[Any]:
        """The answers to the join, and to the heartbeat that brings partitions."""
        first = self.beat(0, [self.topic])
        while first.error_code in NOT_READY:
            time.sleep(0.2)
            first = self.beat(0, [self.topic])
        second = self.beat(first.member_epoch)
        while second.assignment is None:
            time.sleep(0.1)
            second = self.beat(second.member_epoch)
        return [first, second]

    def fetch(self, epoch: int, *acknowledged: tuple[int, int, list[int]], member: str = "m", **more: Any) -> Any:
        """Of partition 0, with acknowledgements; ``more``: other fields."""
        parts = [{"partition_index": 0, "acknowledgement_batches": _batches(acknowledged)}]
        values: dict[str, Any] = {
            "group_id": self.topic,
            "member_id": member,
            "share_session_epoch": epoch,
            "max_wait": 2000,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
            "topics": [{"topic_id": self.id, "partitions": parts}],
        }
        if self.version >= 2:
            values |= {"share_acquire_mode": 0, "is_renew_ack": False}
        return self.ask(request(_FETCH, self.version, **{**values, **more}))

    def acknowledge(self, epoch: int, *acknowledged: tuple[int, int, list[int]], member: str = "m", **more: Any) -> Any:
        parts = [{"partition_index": 0, "acknowledgement_batches": _batches(acknowledged)}]
        topics = [{"topic_id": self.id, "partitions": parts}] if acknowledged else []
        values: dict[str, Any] = {
            "group_id": self.topic,
            "member_id": member,
            "share_session_epoch": epoch,
            "topics": topics,
        }
        if self.version >= 2:
            values["is_renew_ack"] = False
        return self.ask(request(_ACKNOWLEDGE, self.version, **{**values, **more}))

    def describe(self, *groups: str) -> Any:
        return self.ask(request(_DESCRIBE, 1, group_ids=list(groups), include_authorized_operations=True))

    def offsets(self, version: int = 1, *, all: bool = False, group: str | None = None, topics: Any = None) -> Any:
        named = topics or [{"topic_name": self.topic, "partitions": [0]}]
        asked = {"group_id": self.topic if group is None else group, "topics": None if all else named}
        return self.ask(request(_OFFSETS, version, groups=[asked]))

    def alter(self, *offsets: tuple[str, int, int], group: str | None = None) -> Any:
        named: dict[str, list[dict[str, int]]] = {}
        for topic, number, offset in offsets:
            named.setdefault(topic, []).append({"partition_index": number, "start_offset": offset})
        topics = [{"topic_name": topic, "partitions": partitions} for topic, partitions in named.items()]
        return self.ask(request(_ALTER, 0, group_id=self.topic if group is None else group, topics=topics))

    def forget(self, *topics: str, group: str | None = None) -> Any:
        named = [{"topic_name": topic} for topic in topics]
        return self.ask(request(_FORGET, 0, group_id=self.topic if group is None else group, topics=named))

    def produce(self, *values: bytes) -> None:
        made = self.ask(produce(self.topic, batch(*values)))
        assert made.responses[0].partition_responses[0].error_code == 0


class Producer:
    """A transactional producer of the topic, with an epoch for each transaction (KIP-890)."""

    def __init__(self, it: Share, name: str) -> None:
        self.it, self.name, self.sequence, self.is_open = it, f"{it.topic}-{name}", 0, False
        find_coordinator(it.ask, 1, self.name)
        body = request(INIT, 4, transactional_id=self.name, transaction_timeout=60_000)
        while (told := it.ask(body)).error_code in NOT_READY:
            time.sleep(_SETTLES_S)
        self._is(told)

    def _is(self, told: Any) -> None:
        assert told.error_code == 0, told
        self.id, self.epoch, self.sequence = told.producer_id, told.producer_epoch, 0

    def write(self, *values: bytes) -> None:
        content = batch(*values, producer=(self.id, self.epoch, self.sequence), transactional=True)
        made = self.it.ask(produce(self.it.topic, content, transactional_id=self.name))
        assert made.responses[0].partition_responses[0].error_code == 0, made
        self.sequence, self.is_open = self.sequence + len(values), True

    def end(self, *, commits: bool) -> None:
        if not self.is_open:
            return
        values = {"transactional_id": self.name, "producer_id": self.id, "producer_epoch": self.epoch}
        self._is(self.it.ask(request(END, 5, **values, committed=commits)))
        self.is_open = False
        time.sleep(_SETTLES_S)


def _batches(acknowledged: tuple[tuple[int, int, list[int]], ...]) -> list[Any]:
    return [{"first_offset": a, "last_offset": b, "acknowledge_types": types} for a, b, types in acknowledged]


def untold(answer: Any) -> Any:
    """Without the texts that say why a partition's acknowledgements are refused: ours tell the error alone."""
    topics = []
    for topic in answer.responses:
        texts = [name for name in ("error_message", "acknowledge_error_message") if hasattr(topic.partitions[0], name)]
        silent = [replace(each, **dict.fromkeys(texts)) for each in topic.partitions]
        topics.append(replace(topic, partitions=tuple(silent)))
    return replace(answer, responses=tuple(topics))


def share_group_life(ask: Ask, topic: str) -> list[Any]:
    """What a member is told from its join to its end, and what administrators see and change."""
    it = Share(ask, topic)
    answers = it.join()
    it.produce(b"a", b"b", b"c", b"d")
    answers += [it.fetch(0), it.describe(topic), it.offsets(), it.alter((topic, 0, 2)), it.forget(topic)]
    answers += [it.acknowledge(1, (0, 1, [ACCEPT]), (2, 2, [RELEASE]), (3, 3, [REJECT])), it.offsets()]
    answers += [it.fetch(2), it.fetch(3, (2, 2, [ACCEPT]), max_wait=0), it.offsets(all=True)]
    answers += [it.fetch(4, max_wait=0), it.acknowledge(-1), it.acknowledge(-1)]
    answers += [it.beat(3), it.beat(2), it.beat(-1), it.beat(3), it.describe(topic)]
    answers += [it.alter((topic, 0, 1), ("nope", 0, 1), (topic, 7, 1)), it.offsets(0), it.forget(topic, "nope")]
    answers += [it.offsets(all=True), ask(request(_DELETE_GROUPS, 2, groups_names=[topic])), it.describe(topic)]
    return answers


def share_groups_refuse(ask: Ask, topic: str) -> list[Any]:
    """Heartbeats that no client should send, and what is asked about groups of other kinds, or of none."""
    it = Share(ask, topic)
    it.join()
    other = f"{topic}-c"
    values = {"group_id": other, "rebalance_timeout": 9000, "rack_id": None, "server_assignor": None}
    while True:
        made = ask(
            request(
                68,
                1,
                member_id="c",
                member_epoch=0,
                subscribed_topic_names=[topic],
                topic_partitions=[],
                instance_id=None,
                subscribed_topic_regex=None,
                **values,
            )
        )
        if made.error_code not in NOT_READY:
            break
        time.sleep(0.1)
    return [
        it.beat(0, [topic], member=""),
        it.beat(0, [topic], group_id=""),
        it.beat(0, None, member="x"),
        it.beat(0, [], member="x"),
        it.beat(0, [topic], rack_id=""),
        it.beat(-2, [topic]),
        it.beat(9),
        it.beat(1),
        it.beat(5, member="x"),
        it.beat(-1, member="x"),
        it.beat(0, [topic], group_id=other),
        it.beat(3, group_id=other),
        it.beat(3, group_id=f"{topic}-none"),
        it.beat(-1, group_id=f"{topic}-none"),
        it.describe(topic, other, f"{topic}-none", ""),
        ask(request(_DESCRIBE_GROUPS, 6, groups=[topic], include_authorized_operations=False)),
        ask(request(_CONSUMERS, 1, group_ids=[topic], include_authorized_operations=False)),
        it.offsets(all=True, group=f"{topic}-none"),
        it.offsets(all=True, group=other),
        it.offsets(topics=[{"topic_name": "nope", "partitions": [0, 3]}]),
        it.alter((topic, 0, 1), group=other),
        it.alter((topic, 0, 1), group=""),
        it.forget(topic, group=other),
        it.forget(topic, group=f"{topic}-none"),
        it.forget(topic, group=""),
        ask(request(_DELETE_GROUPS, 2, groups_names=[topic])),
    ]


def share_sessions(ask: Ask, topic: str) -> list[Any]:
    """Requests that do not fit their session, or name what there is not."""
    it = Share(ask, topic)
    it.join()
    it.produce(b"a", b"b")
    unknown = [{"topic_id": _UNKNOWN, "partitions": [{"partition_index": 0, "acknowledgement_batches": []}]}]
    no_such = [{"topic_id": it.id, "partitions": [{"partition_index": 5, "acknowledgement_batches": []}]}]
    return [
        it.fetch(1),
        it.fetch(-1),
        it.acknowledge(1, (0, 0, [ACCEPT])),
        it.acknowledge(0, (0, 0, [ACCEPT])),
        it.fetch(0, (0, 0, [ACCEPT])),
        it.fetch(0, group_id=None),
        it.fetch(0, member=""),
        it.fetch(0),
        it.fetch(5),
        it.acknowledge(7, (0, 0, [ACCEPT])),
        it.fetch(1, topics=unknown, max_wait=0),
        it.fetch(2, topics=[], max_wait=0),
        it.fetch(3, topics=[], forgotten_topics_data=[{"topic_id": _UNKNOWN, "partitions": [0]}], max_wait=0),
        it.fetch(4, topics=no_such, max_wait=0),
        it.fetch(-1, (0, 1, [ACCEPT])),
        it.fetch(0, max_wait=0, member="n"),
    ]


def share_acknowledgements(ask: Ask, topic: str) -> list[Any]:
    """Acknowledgements that fit, and those that do not."""
    it = Share(ask, topic)
    it.join()
    it.produce(*(b"%d" % n for n in range(10)))
    answers = [it.fetch(0, max_records=4, batch_size=2)]
    answers += [it.acknowledge(1, (0, 0, [9])), it.acknowledge(2, (0, 3, [ACCEPT, RELEASE]))]
    answers += [it.acknowledge(3, (2, 1, [ACCEPT])), untold(it.acknowledge(4, (40, 41, [ACCEPT])))]
    answers += [untold(it.acknowledge(5, (0, 0, [ACCEPT]), (0, 0, [ACCEPT]))), it.acknowledge(6, (0, 0, [RENEW]))]
    answers += [it.acknowledge(7, (0, 0, [RENEW]), is_renew_ack=True)]
    answers += [it.acknowledge(8, (0, 2, [ACCEPT, GAP, RENEW]), is_renew_ack=True)]
    answers += [it.fetch(0, member="n", max_wait=0), untold(it.acknowledge(1, (3, 3, [ACCEPT]), member="n"))]
    answers += [it.fetch(9, (3, 4, [RELEASE])), it.fetch(10, is_renew_ack=True, max_wait=0)]
    still = {"max_wait": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}
    answers += [it.fetch(11, (5, 5, [RENEW]), is_renew_ack=True, **still), it.acknowledge(-1), it.offsets()]
    return answers


def share_fetches_of_version_1(ask: Ask, topic: str) -> list[Any]:
    """Version 1 knows neither renewals nor a strict limit."""
    it = Share(ask, topic, version=1)
    answers = it.join()
    it.produce(b"a", b"b", b"c")
    answers += [it.fetch(0, max_records=1), it.acknowledge(1, (0, 0, [RENEW])), it.acknowledge(2, (0, 2, [ACCEPT]))]
    it.version = 2
    it.produce(b"d", b"e", b"f")
    answers += [it.fetch(3, max_records=2, share_acquire_mode=1), it.acknowledge(-1)]
    time.sleep(0.5)  # a real broker answers before it has released what was acquired
    return [*answers, it.fetch(0)]


def share_fetches_past_aborted_records(ask: Ask, topic: str) -> list[Any]:
    """More aborted records than may be acquired at once: nobody gets what lies behind them. Then a group that begins in
    the middle of an aborted batch."""
    it = Share(ask, topic, **{ISOLATION: "read_committed", "share.partition.max.record.locks": "100"})
    producer, answers = Producer(it, "p"), it.join()
    for _ in range(150):
        producer.write(b"a")
    producer.end(commits=False)
    it.produce(b"b")
    answers += [it.fetch(epoch, max_wait=100, max_records=20) for epoch in range(8)]
    it = Share(ask, f"{topic}-within", **{ISOLATION: "read_committed"})
    producer = Producer(it, "p")
    producer.write(b"a", b"b", b"c")
    producer.end(commits=False)
    it.alter((it.topic, 0, 1))
    return [*answers, *(it.fetch(epoch, max_wait=100) for epoch in range(3)), it.offsets()]


SHARE_CASES: dict[str, Case] = {
    each.__name__: each
    for each in (
        share_group_life,
        share_groups_refuse,
        share_sessions,
        share_acknowledgements,
        share_fetches_of_version_1,
        share_fetches_past_aborted_records,
    )
}
