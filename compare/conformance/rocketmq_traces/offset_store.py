"""Plays traces of a client's offset stores through `rocketmq_selfbalance.client.offset_store`."""

from collections.abc import Mapping

from compare.conformance.cases import Difference, Line, MalformedCase
from compare.conformance.rocketmq_fields import NO_FIELD, get, only, queue, queues
from compare.conformance.rocketmq_traces.client_world import Brokers, TraceWorld
from compare.conformance.rocketmq_traces.steps import NOTHING, Operation, Outcome, Step, play_steps
from compare.json_types import Json
from protocols import Queue, sort_queues
from rocketmq_selfbalance.catalogue import Averagely
from rocketmq_selfbalance.cluster import (
    ClientSettings,
    Commit,
    Consumer,
    Failure,
    LocalOffsets,
    OffsetsFile,
    OffsetStore,
    Persist,
    ReadFrom,
    ReadStored,
    RemoteOffsets,
    RemoveOffset,
    UnreadableOffsets,
    read_offsets,
)

_STORES = ("remote_broker", "local_file")
_GROUP = "group"


def play(line: Line) -> list[Difference]:
    """Perform the trace on an offset store of the model."""
    return play_steps(line, Store)


class Store:
    """The store behind a trace, its file, and the brokers."""

    def __init__(self, config: Mapping[str, Json]) -> None:
        only(config, "config", ("store", "seed_index"))
        kind = get(config, "store", str)
        if kind not in _STORES:
            raise MalformedCase("config.store", " or ".join(_STORES), kind)
        self.remote = kind == _STORES[0]
        self.brokers = Brokers()
        self.file = OffsetsFile()
        self._restart()

    def _restart(self) -> None:
        self.store: OffsetStore = RemoteOffsets() if self.remote else LocalOffsets(self.file)
        consumer = Consumer(_GROUP, "member", "client", Averagely(), self.store, ClientSettings())
        self.world = TraceWorld(consumer, self.brokers)

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        return {
            "update": (("queue", "offset", "increase_only"), self._update),
            "update_and_freeze": (("queue", "offset"), self._freeze),
            "read": (("queue", "type"), self._read),
            "persist": (("queue",), self._persist),
            "persist_all": (("queues",), self._persist_all),
            "remove": (("queue",), self._remove),
            "clone_offset_table": (("topic",), self._clone),
            "set_broker_offset": (("queue", "offset"), self._set_offset),
            "set_faults": (("offset_query", "offset_commit"), self._set_faults),
            "set_broker_unreachable": (("broker", "on"), self._set_unreachable),
            "restart_and_load": ((), self._load),
            "file_text": ((), self._file_text),
            "write_file": (("text",), self._write_file),
        }

    def _update(self, step: Step) -> Outcome:
        self.store.table.update(_queue(step), step.number("offset"), step.truth("increase_only"))
        return self._outcome()

    def _freeze(self, step: Step) -> Outcome:
        self.store.table.update_and_freeze(_queue(step), step.number("offset"))
        return self._outcome()

    def _read(self, step: Step) -> Outcome:
        kinds = [source.value for source in ReadFrom]
        if step.text("type") not in kinds:
            raise MalformedCase("type", f"one of {', '.join(kinds)}", step.text("type"))
        source, wanted = ReadFrom(step.text("type")), _queue(step)
        if wanted is None:
            return self._outcome(result=self.store.read(None, source))
        return self._outcome(result=self.world.run(step.now, ReadStored(_GROUP, wanted, source)))

    def _persist(self, step: Step) -> Outcome:
        wanted = _queue(step)
        if wanted is not None:
            self.world.run(step.now, Persist(_GROUP, wanted))
        return self._outcome()

    def _persist_all(self, step: Step) -> Outcome:
        commits = self.store.persist_all(queues(step.arguments, "queues") or ())
        self.world.run(step.now, *(Commit(_GROUP, *entry) for entry in commits))
        return self._outcome()

    def _remove(self, step: Step) -> Outcome:
        wanted = _queue(step)
        if wanted is not None:
            self.world.run(step.now, RemoveOffset(_GROUP, wanted))
        return self._outcome()

    def _clone(self, step: Step) -> Outcome:
        return self._outcome(result=_entries(self.store.table.clone(step.optional_text("topic"))))

    def _set_offset(self, step: Step) -> Outcome:
        wanted, offset = _queue(step), step.optional_number("offset")
        if wanted is None:
            raise MalformedCase("queue", "[topic, broker, number]", None)
        if offset is None:
            self.brokers.committed.pop((_GROUP, wanted), None)
        else:
            self.brokers.committed[_GROUP, wanted] = offset
        return self._outcome()

    def _set_faults(self, step: Step) -> Outcome:
        self.brokers.faults = {fault for fault in ("offset_query", "offset_commit") if step.truth(fault)}
        return self._outcome()

    def _set_unreachable(self, step: Step) -> Outcome:
        change = self.brokers.unreachable.add if step.truth("on") else self.brokers.unreachable.discard
        change(step.text("broker"))
        return self._outcome()

    def _load(self, step: Step) -> Outcome:
        self._restart()
        try:
            self.store.load()
        except UnreadableOffsets:
            return self._outcome(result={"error": "MQClientException"})
        return self._outcome(result=None)

    def _file_text(self, step: Step) -> Outcome:
        return self._outcome(result=self.file.text)

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
        state: dict[str, object] = {"offset_table": _entries(self.store.table.offsets)}
        if self.remote:
            committed = {key[1]: offset for key, offset in self.brokers.committed.items()}
            state["broker_offsets"] = _entries(committed)
        else:
            state["file"] = self._file_content()
        return state

    def _file_content(self) -> list[list[object]] | str | None:
        if self.file.text is None:
            return None
        try:
            return _entries(read_offsets(self.file.text))
        except UnreadableOffsets:
            return "unreadable"


def _queue(step: Step) -> Queue | None:
    value = step.arguments.get("queue", NO_FIELD)
    return None if value is None else queue("queue", value)


def _entries(offsets: Mapping[Queue, int | Failure]) -> list[list[object]]:
    return [[list(offset), offsets[offset]] for offset in sort_queues(offsets)]
