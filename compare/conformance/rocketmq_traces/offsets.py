"""Plays traces of a broker's committed offsets, of a client's offset stores, and of ``computePullFromWhere``.

The recorded text of ``consumerOffset.json`` is compared by its content: the order of keys means nothing.
"""

from collections.abc import Callable, Mapping
from functools import partial

from compare.conformance.cases import MalformedCase
from compare.conformance.fields import NO_FIELD, get, only, queue, queues, texts
from compare.conformance.rocketmq_traces.clients import (
    CREATE_CLIENT,
    Answer,
    Brokers,
    TraceWorld,
    entries,
    make_consumer,
)
from compare.conformance.rocketmq_traces.steps import (
    EPOCH_MS,
    NOTHING,
    Operation,
    Outcome,
    Step,
    does,
    tells,
)
from compare.json_types import Json
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
from rocketmq_selfbalance.cluster import Step as ThreadStep

_QUEUE = ("group", "topic", "queue_id")
_CLONED = ("from_group", "to_group", "topic")


class Offsets:
    """The offset manager behind a trace, and the broker around it: its message store, its groups and topics."""

    def __init__(self, config: Mapping[str, Json], version: Version) -> None:
        only(config, "config", ("use_server_side_reset_offset", "consumer_offset_update_version_step", "seed_index"))
        self.new_manager = partial(
            ConsumerOffsetManager,
            server_side_reset=get(config, "use_server_side_reset_offset", bool),
            version_step=get(config, "consumer_offset_update_version_step", int),
            release=version,
        )
        self.manager = self.new_manager(0)
        self.store: dict[tuple[str, int], tuple[int, bool]] = {}
        """(Topic, queue number) to its first offset and whether that record is in memory."""
        self.all_groups = self.all_topics = True
        self.groups: set[str] = set()
        self.topics: set[str] = set()

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        manager, does_, tells_ = self.manager, partial(does, self._outcome), partial(tells, self._outcome)
        return {
            "commit": (
                (*_QUEUE, "offset"),
                does_(lambda step: manager.commit(step.now, *_numbered(step), step.number("offset"))),
            ),
            "commit_many": (("group", "topic", "count", "rule"), does_(self._commit_many)),
            "query": (_QUEUE, tells_(lambda step: manager.query(*_numbered(step)))),
            "commit_pull": (
                (*_QUEUE, "offset"),
                does_(lambda step: manager.commit_pull(*_numbered(step), step.number("offset"))),
            ),
            "query_pull": (_QUEUE, tells_(lambda step: manager.query_pull(*_numbered(step)))),
            "clear_pull": (_QUEUE[:2], does_(lambda step: manager.clear_pull(*map(step.text, _QUEUE[:2])))),
            "clone": (_CLONED, does_(lambda step: manager.clone(*map(step.text, _CLONED)))),
            "assign_reset": (
                (*_QUEUE, "offset"),
                does_(lambda step: manager.assign_reset(*_numbered(step), step.number("offset"))),
            ),
            "has_reset": (_QUEUE, tells_(lambda step: manager.has_reset(*_numbered(step)))),
            "query_then_erase_reset": (_QUEUE, tells_(lambda step: manager.take_reset(*_numbered(step)))),
            "remove_group": (("group",), does_(lambda step: manager.remove_group(step.text("group")))),
            "clean_group_consume_offsets": (("group",), does_(lambda step: manager.clean_group(step.text("group")))),
            "clean_topic": (("topic",), does_(lambda step: manager.clean_topic(step.text("topic")))),
            "topics_of_group": (("group",), tells_(lambda step: manager.topics_of(step.text("group")))),
            "groups_of_topic": (("topic",), tells_(lambda step: manager.groups_of(step.text("topic")))),
            "min_offset_over_groups": (("topic", "filter_groups"), tells_(self._least)),
            "set_message_store": (("topic", "queue_id", "min_offset", "first_message_in_memory"), self._set_store),
            "set_known": (("all_groups_known", "all_topics_known", "known_groups", "known_topics"), self._set_known),
            "rpc_query_consumer_offset": ((*_QUEUE, "set_zero_if_not_found"), tells_(self._rpc_query)),
            "rpc_update_consumer_offset": ((*_QUEUE, "offset"), tells_(self._rpc_update)),
            "persist_and_load": ((), self._persist_and_load),
            "load_json_text": (("json_text",), tells_(self._load)),
        }

    def _commit_many(self, step: Step) -> None:
        rule = "for i in 0..count-1: commit(queue_id = i mod 4, offset = i)"
        if step.text("rule") != rule:
            raise MalformedCase("rule", rule, step.text("rule"))
        for number in range(step.count("count")):
            self.manager.commit(step.now, step.text("group"), step.text("topic"), number % 4, number)

    def _least(self, step: Step) -> object:
        listed = step.optional_text("filter_groups") or ""
        without = listed.split(",") if listed.strip() else []
        found = self.manager.least_over_groups(step.text("topic"), without, lambda *queue: self._stored(*queue)[0])
        return [list(item) for item in sorted(found.items())]

    def _set_store(self, step: Step) -> Outcome:
        known = step.number("min_offset"), step.truth("first_message_in_memory")
        self.store[step.text("topic"), step.number("queue_id")] = known
        return Outcome()

    def _stored(self, topic: str, number: int) -> tuple[int, bool]:
        return self.store.get((topic, number), (0, True))

    def _set_known(self, step: Step) -> Outcome:
        self.all_groups, self.all_topics = step.truth("all_groups_known"), step.truth("all_topics_known")
        self.groups = set(texts(step.arguments, "known_groups") or ())
        self.topics = set(texts(step.arguments, "known_topics") or ())
        return Outcome()

    def _rpc_query(self, step: Step) -> object:
        group, topic, number = _numbered(step)
        least, in_memory = self._stored(topic, number)
        zero = get(step.arguments, "set_zero_if_not_found", bool, type(None))
        code, offset = self.manager.answer_query(
            group, topic, number, set_zero_if_not_found=zero, min_offset=least, first_in_memory=in_memory
        )
        return {"code": code, "offset": offset}

    def _rpc_update(self, step: Step) -> object:
        group, topic, number = _numbered(step)
        answer = self.manager.update(
            step.now,
            group,
            topic,
            number,
            step.number("offset"),
            group_known=self.all_groups or group in self.groups,
            topic_known=self.all_topics or topic in self.topics,
        )
        return {"code": answer.code, "remark": answer.remark}

    def _persist_and_load(self, step: Step) -> Outcome:
        """The text is given back as recorded where its content is the same: the order of its keys means nothing."""
        text = self.manager.text(EPOCH_MS)
        recorded = get(get(step.arguments, "result", dict), "json_text", str)
        loaded = self.new_manager(step.now)
        loaded.load(stored_of(text, step.now, EPOCH_MS))
        same = _content(recorded) == _content(text)
        return Outcome({"json_text": recorded if same else text, "loaded_back": _offsets_of(loaded)})

    def _load(self, step: Step) -> None:
        text = step.optional_text("json_text")
        if text:
            self.manager.load(stored_of(text, step.now, EPOCH_MS))

    def _outcome(self, result: object = NOTHING) -> Outcome:
        return Outcome(result, {}, _offsets_of(self.manager))


def _numbered(step: Step) -> tuple[str, str, int]:
    return step.text("group"), step.text("topic"), step.number("queue_id")


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
        "data_version_counter": manager.version.counter,
    }


def _table(table: Table) -> list[object]:
    return [[key, [list(item) for item in sorted(offsets.items())]] for key, offsets in sorted(table.items())]


_STORES = ("remote_broker", "local_file")
_GROUP = "group"


class Store:
    """The store behind a trace, its file, and the brokers."""

    def __init__(self, config: Mapping[str, Json], version: Version) -> None:
        only(config, "config", ("store", "seed_index"))
        self.version = version
        kind = get(config, "store", str)
        if kind not in _STORES:
            raise MalformedCase("config.store", " or ".join(_STORES), kind)
        self.remote = kind == _STORES[0]
        self.brokers = Brokers()
        self.file = OffsetsFile()
        self._restart()

    def _restart(self) -> None:
        self.store: OffsetStore = RemoteOffsets() if self.remote else LocalOffsets(self.file, self.version)
        consumer = Consumer(_GROUP, "member", "client", Averagely(), self.store, ClientSettings(version=self.version))
        self.world = TraceWorld(consumer, self.brokers)

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        does_, tells_, brokers = partial(does, self._outcome), partial(tells, self._outcome), self.brokers
        return {
            "update": (
                ("queue", "offset", "increase_only"),
                does_(
                    lambda step: self.store.table.update(
                        _queue(step), step.number("offset"), step.truth("increase_only")
                    )
                ),
            ),
            "update_and_freeze": (
                ("queue", "offset"),
                does_(lambda step: self.store.table.update_and_freeze(_queue(step), step.number("offset"))),
            ),
            "read": (("queue", "type"), tells_(self._read)),
            "persist": (("queue",), does_(lambda step: self._run(step, Persist))),
            "persist_all": (("queues",), does_(self._persist_all)),
            "remove": (("queue",), does_(lambda step: self._run(step, RemoveOffset))),
            "clone_offset_table": (
                ("topic",),
                tells_(lambda step: entries(self.store.table.clone(step.optional_text("topic")))),
            ),
            "set_broker_offset": (("queue", "offset"), does_(self._set_offset)),
            "set_faults": (("offset_query", "offset_commit"), does_(self._set_faults)),
            "set_broker_unreachable": (("broker", "on"), does_(lambda step: brokers.set_unreachable(step))),
            "restart_and_load": ((), tells_(self._load)),
            "file_text": ((), tells_(lambda step: self.file.text)),
            "write_file": (("text",), self._write_file),
        }

    def _read(self, step: Step) -> object:
        kinds = [source.value for source in ReadFrom]
        if step.text("type") not in kinds:
            raise MalformedCase("type", f"one of {', '.join(kinds)}", step.text("type"))
        source, wanted = ReadFrom(step.text("type")), _queue(step)
        if wanted is None:
            return self.store.read(None, source)
        return self.world.run(step.now, ReadStored(_GROUP, wanted, source))

    def _run(self, step: Step, make: Callable[[str, Queue], ThreadStep]) -> None:
        wanted = _queue(step)
        if wanted is not None:
            self.world.run(step.now, make(_GROUP, wanted))

    def _persist_all(self, step: Step) -> None:
        commits = self.store.persist_all(queues(step.arguments, "queues") or ())
        self.world.run(step.now, *(Commit(_GROUP, *entry) for entry in commits))

    def _set_offset(self, step: Step) -> None:
        wanted, offset = _queue(step), step.optional_number("offset")
        if wanted is None:
            raise MalformedCase("queue", "[topic, broker, number]", None)
        if offset is None:
            self.brokers.committed.pop((_GROUP, wanted), None)
        else:
            self.brokers.committed[_GROUP, wanted] = offset

    def _set_faults(self, step: Step) -> None:
        self.brokers.faults = {fault for fault in ("offset_query", "offset_commit") if step.truth(fault)}

    def _load(self, step: Step) -> object:
        self._restart()
        try:
            self.store.load()
        except UnreadableOffsets:
            return {"error": "MQClientException"}
        return None

    def _write_file(self, step: Step) -> Outcome:
        self.file.text = step.text("text")
        return Outcome()

    def _outcome(self, result: object = NOTHING) -> Outcome:
        effects = self.world.take_effects()
        if not self.remote:
            # Only the remote store tells the recorder what is kept and forgotten.
            effects = {}
        return Outcome(result, effects, self._state())

    def _state(self) -> dict[str, object]:
        state: dict[str, object] = {"offset_table": entries(self.store.table.offsets)}
        if self.remote:
            committed = {key[1]: offset for key, offset in self.brokers.committed.items()}
            state["broker_offsets"] = entries(committed)
        else:
            state["file"] = self._file_content()
        return state

    def _file_content(self) -> list[list[object]] | str | None:
        if self.file.text is None:
            return None
        try:
            return entries(read_offsets(self.file.text))
        except UnreadableOffsets:
            return "unreadable"


def _queue(step: Step) -> Queue | None:
    value = step.arguments.get("queue", NO_FIELD)
    return None if value is None else queue("queue", value)


class Starts:
    """The one client behind a trace."""

    def __init__(self, config: Mapping[str, Json], version: Version) -> None:
        only(config, "config", ("timezone", "seed_index"))
        self.version = version
        if config.get("timezone", "UTC") != "UTC":
            raise MalformedCase("config.timezone", "UTC", config["timezone"])
        self.worlds: dict[str, tuple[TraceWorld, Brokers]] = {}

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        arguments = ("client", "queue", "local_offset", "broker_offset", "max_offset", "search_offset")
        return {
            "create_client": (CREATE_CLIENT, self._create),
            "compute_pull_from_where": (arguments, self._compute),
        }

    def _create(self, step: Step) -> Outcome:
        brokers = Brokers()
        self.worlds[step.text("client")] = TraceWorld(make_consumer(step, self.version), brokers), brokers
        return Outcome()

    def _compute(self, step: Step) -> Outcome:
        world, brokers = self.worlds[step.text("client")]
        asked = queue("queue", step.arguments.get("queue"))
        consumer = world.consumer("")
        table = consumer.store.table
        table.remove(asked)
        local = step.optional_number("local_offset")
        if local is not None:
            table.update(asked, local, False)
        brokers.committed[consumer.group, asked] = _answer(step, "broker_offset", Failure.NOT_FOUND)
        brokers.ends[asked] = _answer(step, "max_offset", Failure.FAILED)
        brokers.by_time[asked] = _answer(step, "search_offset", Failure.FAILED)
        start = world.run(step.now, ComputePullFromWhere(consumer.group, asked))
        if not isinstance(start, Start):
            raise AssertionError(f"ComputePullFromWhere leaves a Start, got {start!r}")
        thrown = {"error": "MQClientException", "response_code": start.error}
        after = consumer.store.read(asked, ReadFrom.MEMORY)
        return Outcome(
            {
                "compute_pull_from_where": start.offset,
                "compute_pull_from_where_with_exception": {"value": start.offset} if start.error is None else thrown,
                "local_offset_after": table.offsets.get(asked, None if after == NONE else after),
            },
            world.take_effects(),
        )


def _answer(step: Step, name: str, if_null: Failure) -> Answer:
    """A number, null, or ``error``."""
    value = step.arguments.get(name, NO_FIELD)
    if value is None:
        return if_null
    if value == "error":
        return Failure.FAILED
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedCase(name, "a number, null or error", value)
    return value
