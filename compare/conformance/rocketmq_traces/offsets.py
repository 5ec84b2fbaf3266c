"""Plays traces of a broker's committed offsets, of a client's offset stores, and of ``computePullFromWhere``.

The recorded text of ``consumerOffset.json`` is compared by its content: the order of keys means nothing.
"""

from functools import partial
from typing import NamedTuple

from compare.conformance.cases import MalformedCase
from compare.conformance.fields import Count, get
from compare.conformance.rocketmq_traces.clients import Brokers, CreateClient, TraceWorld, entries, make_consumer
from compare.conformance.rocketmq_traces.steps import EPOCH_MS, NOTHING, Answer, Outcome, Step
from protocols import Queue
from rocketmq_selfbalance.catalogue import Averagely
from rocketmq_selfbalance.cluster import (
    NONE,
    ClientSettings,
    Commit,
    ComputePullFromWhere,
    Consumer,
    ConsumerOffsetManager,
    Failure,
    LocalOffsets,
    OffsetsFile,
    OffsetStore,
    Persist,
    ReadFrom,
    ReadStored,
    RemoteOffsets,
    RemoveOffset,
    Start,
    Table,
    UnreadableOffsets,
    Version,
    parse,
    read_offsets,
    stored_of,
)


class Place(NamedTuple):
    """A group's queue at the broker."""

    group: str
    topic: str
    queue_id: int


class Offsets:
    """The offset manager behind a trace, and the broker around it: its message store, its groups and topics."""

    def __init__(
        self, use_server_side_reset_offset: bool, consumer_offset_update_version_step: int, version: Version
    ) -> None:
        self.new_manager = partial(
            ConsumerOffsetManager,
            server_side_reset=use_server_side_reset_offset,
            version_step=consumer_offset_update_version_step,
            version=version,
        )
        self.manager = self.new_manager(0)
        self.store: dict[tuple[str, int], tuple[int, bool]] = {}
        """(Topic, queue number) to its first offset and whether that record is in memory."""
        self.all_groups = self.all_topics = True
        self.groups: set[str] = set()
        self.topics: set[str] = set()

    def commit(self, now: int, of: Place, offset: int) -> None:
        self.manager.commit(now, *of, offset)

    def commit_many(self, now: int, group: str, topic: str, count: Count, rule: str) -> None:
        known = "for i in 0..count-1: commit(queue_id = i mod 4, offset = i)"
        if rule != known:
            raise MalformedCase("rule", known, rule)
        for number in range(count):
            self.manager.commit(now, group, topic, number % 4, number)

    def query(self, of: Place) -> object:
        return self.manager.query(*of)

    def commit_pull(self, of: Place, offset: int) -> None:
        self.manager.commit_pull(*of, offset)

    def query_pull(self, of: Place) -> object:
        return self.manager.query_pull(*of)

    def clear_pull(self, group: str, topic: str) -> None:
        self.manager.clear_pull(group, topic)

    def clone(self, from_group: str, to_group: str, topic: str) -> None:
        self.manager.clone(from_group, to_group, topic)

    def assign_reset(self, of: Place, offset: int) -> None:
        group, topic, number = of
        self.manager.assign_resets(group, topic, {number: offset})

    def has_reset(self, of: Place) -> object:
        return self.manager.has_reset(*of)

    def query_then_erase_reset(self, of: Place) -> object:
        return self.manager.take_reset(*of)

    def remove_group(self, group: str) -> None:
        self.manager.remove_group(group)

    def clean_group_consume_offsets(self, group: str) -> None:
        self.manager.clean_group(group)

    def clean_topic(self, topic: str) -> None:
        self.manager.clean_topic(topic)

    def topics_of_group(self, group: str) -> object:
        return self.manager.topics_of(group)

    def groups_of_topic(self, topic: str) -> object:
        return self.manager.groups_of(topic)

    def min_offset_over_groups(self, topic: str, filter_groups: str | None) -> object:
        listed = filter_groups or ""
        without = listed.split(",") if listed.strip() else []
        found = self.manager.least_over_groups(topic, without, lambda *queue: self._stored(*queue)[0])
        return [list(item) for item in sorted(found.items())]

    def set_message_store(self, topic: str, queue_id: int, min_offset: int, first_message_in_memory: bool) -> Outcome:
        self.store[topic, queue_id] = min_offset, first_message_in_memory
        return Outcome()

    def _stored(self, topic: str, number: int) -> tuple[int, bool]:
        return self.store.get((topic, number), (0, True))

    def set_known(
        self, all_groups_known: bool, all_topics_known: bool, known_groups: list[str], known_topics: list[str]
    ) -> Outcome:
        self.all_groups, self.all_topics = all_groups_known, all_topics_known
        self.groups, self.topics = set(known_groups), set(known_topics)
        return Outcome()

    def rpc_query_consumer_offset(self, of: Place, set_zero_if_not_found: bool | None) -> object:
        least, in_memory = self._stored(of.topic, of.queue_id)
        code, offset = self.manager.answer_query(
            *of, set_zero_if_not_found=set_zero_if_not_found, min_offset=least, first_in_memory=in_memory
        )
        return {"code": code, "offset": offset}

    def rpc_update_consumer_offset(self, now: int, of: Place, offset: int) -> object:
        answer = self.manager.update(
            now,
            *of,
            offset,
            group_known=self.all_groups or of.group in self.groups,
            topic_known=self.all_topics or of.topic in self.topics,
        )
        return {"code": answer.code, "remark": answer.remark}

    def persist_and_load(self, now: int, step: Step) -> Outcome:
        """The text is given back as recorded where its content is the same: the order of its keys means nothing."""
        text = self.manager.text(EPOCH_MS)
        recorded = get(get(step, "result", dict), "json_text", str)
        loaded = self.new_manager(now)
        loaded.load(stored_of(text, now, EPOCH_MS))
        same = _content(recorded) == _content(text)
        return Outcome({"json_text": recorded if same else text, "loaded_back": _offsets_of(loaded)})

    def load_json_text(self, now: int, json_text: str | None) -> object:
        if json_text:
            self.manager.load(stored_of(json_text, now, EPOCH_MS))
        return None

    def outcome(self, result: object = NOTHING, /) -> Outcome:
        return Outcome(result, {}, _offsets_of(self.manager))


def _content(text: str) -> object:
    """What such a text says, or the text itself where it says nothing."""
    try:
        content = parse(text)
    except ValueError:
        return text
    topics = content.get("groupTopicMap") if isinstance(content, dict) else None
    if isinstance(topics, dict):
        content["groupTopicMap"] = {
            group: sorted(topic) if isinstance(topic, list) else topic for group, topic in topics.items()
        }
    return content


def _offsets_of(manager: ConsumerOffsetManager) -> dict[str, object]:
    return {
        "offsets": _table(manager.offsets),
        "reset_offsets": _table(manager.resets),
        "pull_offsets": _table(manager.pulls),
        "data_version_counter": manager.data_version.counter,
    }


def _table(table: Table) -> list[object]:
    return [[key, [list(item) for item in sorted(offsets.items())]] for key, offsets in sorted(table.items())]


_STORES = ("remote_broker", "local_file")
_GROUP = "group"


class Store:
    """The store behind a trace, its file, and the brokers."""

    def __init__(self, store: str, version: Version) -> None:
        if store not in _STORES:
            raise MalformedCase("config.store", " or ".join(_STORES), store)
        self.remote, self.version = store == _STORES[0], version
        self.brokers = Brokers()
        self.file = OffsetsFile()
        self._restart()

    def _restart(self) -> None:
        self.store: OffsetStore = RemoteOffsets() if self.remote else LocalOffsets(self.file, self.version)
        consumer = Consumer(_GROUP, "member", "client", Averagely(), self.store, ClientSettings(version=self.version))
        self.world = TraceWorld(consumer, self.brokers)

    def update(self, queue: Queue | None, offset: int, increase_only: bool) -> None:
        self.store.table.update(queue, offset, increase_only)

    def update_and_freeze(self, queue: Queue | None, offset: int) -> None:
        self.store.table.update_and_freeze(queue, offset)

    def read(self, now: int, queue: Queue | None, type: str) -> object:
        kinds = [source.value for source in ReadFrom]
        if type not in kinds:
            raise MalformedCase("type", f"one of {', '.join(kinds)}", type)
        source = ReadFrom(type)
        return (
            self.store.read(None, source) if queue is None else self.world.run(now, ReadStored(_GROUP, queue, source))
        )

    def persist(self, now: int, queue: Queue | None) -> None:
        if queue is not None:
            self.world.run(now, Persist(_GROUP, queue))

    def persist_all(self, now: int, queues: list[Queue] | None) -> None:
        self.world.run(now, *(Commit(_GROUP, *entry) for entry in self.store.persist_all(queues or [])))

    def remove(self, now: int, queue: Queue | None) -> None:
        if queue is not None:
            self.world.run(now, RemoveOffset(_GROUP, queue))

    def clone_offset_table(self, topic: str | None) -> object:
        return entries(self.store.table.clone(topic))

    def set_broker_offset(self, queue: Queue, offset: int | None) -> None:
        self.brokers.set_committed(_GROUP, queue, offset)

    def set_faults(self, offset_query: bool, offset_commit: bool) -> None:
        told = {"offset_query": offset_query, "offset_commit": offset_commit}
        self.brokers.faults = {fault for fault, on in told.items() if on}

    def set_broker_unreachable(self, broker: str, on: bool) -> None:
        self.brokers.set_unreachable(broker, on)

    def restart_and_load(self) -> object:
        self._restart()
        try:
            self.store.load()
        except UnreadableOffsets:
            return {"error": "MQClientException"}
        return None

    def file_text(self) -> object:
        return self.file.text

    def write_file(self, text: str) -> Outcome:
        self.file.text = text
        return Outcome()

    def outcome(self, result: object = NOTHING, /) -> Outcome:
        effects = self.world.take_effects()
        state: dict[str, object] = {"offset_table": entries(self.store.table.offsets)}
        if not self.remote:
            # Only the remote store tells the recorder what is kept and forgotten.
            return Outcome(result, {}, {**state, "file": self._file_content()})
        committed = {key[1]: offset for key, offset in self.brokers.committed.items()}
        return Outcome(result, effects, {**state, "broker_offsets": entries(committed)})

    def _file_content(self) -> list[list[object]] | str | None:
        if self.file.text is None:
            return None
        try:
            return entries(read_offsets(self.file.text))
        except UnreadableOffsets:
            return "unreadable"


class Starts:
    """The one client behind a trace."""

    def __init__(self, version: Version, timezone: str = "UTC") -> None:
        self.version = version
        if timezone != "UTC":
            raise MalformedCase("config.timezone", "UTC", timezone)
        self.worlds: dict[str, tuple[TraceWorld, Brokers]] = {}

    outcome = Outcome

    def create_client(self, now: int, given: CreateClient) -> None:
        brokers = Brokers()
        self.worlds[given.client] = TraceWorld(make_consumer(now, given, self.version), brokers), brokers

    def compute_pull_from_where(
        self,
        now: int,
        client: str,
        queue: Queue,
        local_offset: int | None,
        broker_offset: Answer | None,
        max_offset: Answer | None,
        search_offset: Answer | None,
    ) -> Outcome:
        world, brokers = self.worlds[client]
        consumer = world.consumer("")
        table = consumer.store.table
        table.remove(queue)
        if local_offset is not None:
            table.update(queue, local_offset, False)
        brokers.committed[consumer.group, queue] = Failure.NOT_FOUND if broker_offset is None else broker_offset
        brokers.ends[queue] = Failure.FAILED if max_offset is None else max_offset
        brokers.by_time[queue] = Failure.FAILED if search_offset is None else search_offset
        start = world.run(now, ComputePullFromWhere(consumer.group, queue))
        if not isinstance(start, Start):
            raise AssertionError(f"ComputePullFromWhere leaves a Start, got {start!r}")
        thrown = {"error": "MQClientException", "response_code": start.error}
        after = consumer.store.read(queue, ReadFrom.MEMORY)
        return Outcome(
            {
                "compute_pull_from_where": start.offset,
                "compute_pull_from_where_with_exception": {"value": start.offset} if start.error is None else thrown,
                "local_offset_after": table.offsets.get(queue, None if after == NONE else after),
            },
            world.take_effects(),
        )
