"""Plays the golden traces of Kafka's share-partitions: `share-partition*.jsonl.gz`.

The format is in tests/golden/kafka/FORMAT-share.md. A trace has one share-partition, a small log and one persister,
whose answers the trace sets. Every step is compared whole: result, writes, calls to the dead letter topic, how often
waiting fetches were told, state, timers with their times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from inspect import isfunction
from typing import Final, Literal, TypeAlias

from compare.conformance.cases import Difference, Line, MalformedCase, Player, kafka_version
from compare.conformance.fields import Count, arguments, differing, get, names_of, only
from compare.conformance.kafka_coordinator import LONGEST_MS
from compare.conformance.kafka_share_shapes import ranges_of, shown_share, shown_state
from compare.json_types import Json
from kafka_coordinator.share import (
    AcquisitionError,
    Change,
    DeadLetter,
    Kept,
    Limits,
    Persisted,
    Phase,
    SharePartition,
    State,
    acknowledge,
    acquire,
    release_acquired,
)

_LINE_FIELDS: Final = ("trace_id", "kafka", "component", "scenario", "config", "log_start", "log", "steps")
_NOT_COMPARED: Final = ("n", "t", "op", "req", "log")
_STEP_FIELDS: Final = (
    *_NOT_COMPARED,
    "result",
    "pending",
    "completed",
    "persister_writes",
    "dlq_calls",
    "waiting_fetches_notified",
    "state",
    "timeline",
)
_WITHOUT_STATE: Final = (
    "set_persister",
    "set_persisted_state",
    "set_dlq",
    "set_group_config",
    "produce",
    "log_truncated",
    "batch_compacted_away",
    "advance",
)
"""Operations after which a recording need not tell the state."""
_UNCHANGED: Final = "unchanged"
_HOLD: Final = "hold"
_FAILED_CALL: Final = "UNKNOWN_SERVER_ERROR/IllegalStateException"
_ANSWERED_AS: Final = {
    "NOT_COORDINATOR": "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS": "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_NOT_AVAILABLE": "COORDINATOR_NOT_AVAILABLE",
    "GROUP_ID_NOT_FOUND": "GROUP_ID_NOT_FOUND",
    "UNKNOWN_TOPIC_OR_PARTITION": "UNKNOWN_TOPIC_OR_PARTITION",
    "FENCED_LEADER_EPOCH": "NOT_LEADER_OR_FOLLOWER",
    "FENCED_STATE_EPOCH": "NOT_LEADER_OR_FOLLOWER",
}
"""What a client is answered where the persister gives an error (spec share 4.2)."""
_NOT_READY: Final = {
    Phase.INITIALIZING: "LEADER_NOT_AVAILABLE",
    Phase.FENCED: "LEADER_NOT_AVAILABLE",
    Phase.FAILED: _FAILED_CALL,
}
_OF_THE_GROUP: Final = {
    "share.partition.max.record.locks": "max_record_locks",
    "share.delivery.count.limit": "delivery_count",
    "share.record.lock.duration.ms": "lock_duration_ms",
}

PersistedRow: TypeAlias = tuple[int, int, Literal["AVAILABLE", "ACKNOWLEDGED", "ARCHIVING", "ARCHIVED"], int]
AcknowledgedRow: TypeAlias = tuple[int, int, list[str]]


def recognises(line: Line) -> bool:
    """Whether the line is meant to be a trace of a share-partition."""
    return line.get("component") == "share_partition"


def play(line: Line) -> list[Difference]:
    """The differences of the first step that is not as recorded; none if the whole trace is."""
    only(line, "", _LINE_FIELDS)
    trace_id = get(line, "trace_id", str)
    get(line, "scenario", str)
    session = _Session.of(line)
    for number, given in enumerate(get(line, "steps", list)):
        step = only(given, f"steps[{number}]", _STEP_FIELDS)
        recorded = {name: value for name, value in step.items() if name not in _NOT_COMPARED}
        if (get(step, "n", int), get(step, "t", int)) != (number, session.now):
            raise MalformedCase(f"steps[{number}]", f"step {number} at {session.now} ms", [step["n"], step["t"]])
        got = session.step(number, step)
        differences = [
            Difference(trace_id, f"steps[{number}]{path}", expected, found)
            for path, expected, found in differing("", recorded, got, "nothing")
        ]
        if differences:
            return differences
    return []


SHARE_PARTITION_TRACES = Player("Kafka share-partition traces", recognises, play)


@dataclass(slots=True)
class _Session:
    """A share-partition that is being taken through a trace, with its log and its persister."""

    share: SharePartition
    limits: Limits
    log: list[tuple[int, int]]
    log_start: int
    tells_more: bool
    now: int = 0
    number: int = 0
    kept: Kept = field(default_factory=Kept)
    persister: str = "ok"
    dead_letters: str = "ok"
    held: list[Change] = field(default_factory=list)
    held_letters: list[DeadLetter] = field(default_factory=list)
    pending: dict[int, Change | None] = field(default_factory=dict)
    """Changes that are not answered yet, by the step that asked for them; None for a load."""
    told: dict[str, Json] = field(default_factory=dict)
    woken: int = 0
    reported: Json = None

    @classmethod
    def of(cls, line: Line) -> "_Session":
        config = get(line, "config", dict)
        only(config, "config", names_of(_limits))
        version = kafka_version(line.get("kafka"))
        limits = _limits(*arguments(_limits, config))
        share = SharePartition(limits, version)
        return cls(share, limits, ranges_of(line, "log"), get(line, "log_start", int), "kafka" in line)

    def step(self, number: int, step: Mapping[str, Json]) -> dict[str, Json]:
        """What the model does, as the recording would have it."""
        op, req = get(step, "op", str), get(step, "req", dict)
        if op not in _OPERATIONS:
            raise MalformedCase(f"steps[{number}].op", f"one of {', '.join(_OPERATIONS)}", op)
        operation = _OPERATIONS[op]
        if op != "set_group_config":
            only(req, f"steps[{number}].req", names_of(operation))
        if "log" in step:
            self.log = ranges_of(step, "log")
        self.number, self.told = number, {}
        operation(self, *arguments(operation, req, step=req))
        if op not in _WITHOUT_STATE or "state" in step:
            self._tell_state()
        return self._all_told()

    # What is around the share-partition.

    def set_persister(self, mode: str) -> None:
        self.persister = mode

    def set_dlq(self, mode: str) -> None:
        self.dead_letters = mode

    def set_persisted_state(self, start_offset: int, state_epoch: Count, batches: list[PersistedRow]) -> None:
        states = tuple(Persisted(first, last, State(state), count) for first, last, state, count in batches)
        self.kept = Kept(start_offset, state_epoch, states)

    def produce(self, batch_sizes: list[Count]) -> None:
        """The log as it is then stands in the step."""

    def batch_compacted_away(self, first: int, last: int) -> None:
        """The log as it is then stands in the step."""

    def log_truncated(self, log_start: Count) -> None:
        self.log_start = log_start

    def set_group_config(self, step: Mapping[str, Json]) -> None:
        own = {name: int(str(step[setting])) for setting, name in _OF_THE_GROUP.items() if setting in step}
        renewals = step.get("share.renew.acknowledge.enable", "true") == "true"
        dead_letters = self.limits.dead_letters and step.get("errors.deadletterqueue.topic.name") != ""
        self.share.limits = replace(
            self.limits, **own, renewals=renewals, dead_letters=dead_letters, only_committed=False
        )

    # What the broker does with it.

    def maybe_initialize(self) -> None:
        self.told["result"] = _NOT_READY.get(self.share.phase, "NONE")

    def mark_fenced(self) -> None:
        self.share.phase = Phase.FENCED

    def log_start_moved(self, offset: int) -> None:
        self.log_start = max(self.log_start, offset)
        self.share.log_starts_at(offset)

    @property
    def _log_end(self) -> int:
        return self.log[-1][1] + 1 if self.log else self.log_start

    def fetch(
        self,
        member: str,
        max_records: Count,
        batch_size: Count,
        max_log_batches: Count,
        acquire_mode: Literal["batch_optimized", "record_limit"] = "batch_optimized",
    ) -> None:
        share = self.share
        can, offset = share.may_acquire(), share.next_fetch_offset()
        told: dict[str, Json] = {"can_acquire": can, "next_fetch_offset": offset}
        self.told["result"] = told
        if not can:
            return
        if not self.log_start <= offset <= self._log_end:
            share.log_starts_at(self.log_start)
            told |= {"error": "OFFSET_OUT_OF_RANGE", "told_log_start": self.log_start, "acquired": [], "count": 0}
            return
        read = [batch for batch in self.log if batch[1] >= offset][:max_log_batches]
        told["read"] = [list(batch) for batch in read]
        try:
            acquired = acquire(
                share, self.now, member, read, offset, max_records, batch_size, acquire_mode == "record_limit"
            )
        except AcquisitionError:
            told["exception"] = "IllegalArgumentException"
            return
        told["acquired"] = [list(each) for each in acquired]
        told["count"] = sum(last - first + 1 for first, last, _ in acquired)

    def acknowledge(self, member: str, batches: list[AcknowledgedRow]) -> None:
        for first, last, types in batches:
            if len(types) not in (1, last - first + 1):
                raise MalformedCase("req.batches", "one type, or one per offset", types)
        self._change(acknowledge(self.share, self.now, member, batches))

    def release_acquired(self, member: str) -> None:
        self._change(release_acquired(self.share, member))

    def _change(self, change: Change) -> None:
        if change.write is not None:
            self._write(change)
        if change.done:
            self.told["result"] = change.error or "NONE"
        else:
            self.told["pending"] = True
            self.pending[self.number] = change

    def _write(self, change: Change) -> None:
        """Ask the persister, which answers at once unless it holds its calls."""
        write = change.write
        assert write is not None
        told: dict[str, Json] = {
            "state_epoch": write.state_epoch,
            "start_offset": write.start_offset,
            "leader_epoch": write.leader_epoch,
            "batches": [shown_state(each) for each in write.batches],
        }
        if self.tells_more:
            told["delivery_complete_count"] = write.complete_count
        self._tell("persister_writes", told)
        if self.persister == _HOLD:
            self.held.append(change)
        else:
            self._written(change, _error(self.persister))

    def _written(self, change: Change, error: str) -> None:
        if not error and change.write is not None:
            self.kept.take(change.write, self.share.version.share_states_are_joined)
        self.share.written(change, error)
        if not change.error:
            self._send(change.dead)

    def _send(self, letters: list[DeadLetter]) -> None:
        """What is dead goes to the dead letter topic, which takes it or not: it is archived all the same."""
        for letter in letters:
            piece = letter.piece
            call: dict[str, Json] = {"first": piece.first, "last": piece.last}
            self._tell("dlq_calls", {**call, "delivery_count": piece.entry.deliveries, "cause": letter.cause})
            if self.dead_letters == _HOLD:
                self.held_letters.append(letter)
            else:
                self._write(self.share.dead_lettered(letter))

    def load(self, leader_epoch: Count) -> None:
        self.share.leader_epoch = leader_epoch
        if self.persister == _HOLD:
            self.share.phase = Phase.INITIALIZING
            self.told["pending"] = True
            self.pending[self.number] = None
        elif error := _error(self.persister):
            self.share.phase = Phase.FAILED
            self.told["result"] = error
        else:
            self._send(self.share.loaded(self.kept, self._log_end).dead)
            self.told["result"] = "NONE"

    def new_leader(self, leader_epoch: Count) -> None:
        self.share, self.woken = SharePartition(self.share.limits, self.share.version), 0
        self.held, self.held_letters, self.pending = [], [], {}
        self.load(leader_epoch)

    def release_dlq(self, held_calls: Count) -> None:
        letters, self.held_letters = self.held_letters, []
        for letter in letters:
            self._write(self.share.dead_lettered(letter))

    def release_persister(self, held_calls: Count) -> None:
        """The calls that the persister holds succeed, in their order."""
        loads = [number for number, change in self.pending.items() if change is None]
        held, self.held = self.held, []
        for _ in loads:
            self._send(self.share.loaded(self.kept, self._log_end).dead)
        for change in held:
            self._written(change, "")
        done = {number: change for number, change in self.pending.items() if change is None or change.done}
        if done:
            self.told["completed"] = [
                [number, change.error or "NONE" if change else "NONE"] for number, change in done.items()
            ]
        for number in done:
            del self.pending[number]

    def advance(self, ms: int) -> None:
        """What each lock that ends on the way does."""
        until = self.now + ms
        if not 0 <= ms <= LONGEST_MS:
            raise MalformedCase("req.ms", f"a trace of 0 to {LONGEST_MS} ms", ms)
        entries: list[Json] = []
        while (lock := self.share.next_lock()) is not None and lock.due <= until:
            self.now, self.told = lock.due, {}
            change = self.share.lock_ended(lock)
            if change is not None:
                self._write(change)
            self._tell_state()
            entries.append({"t": lock.due, **self._all_told()})
        self.now, self.told = until, {"timeline": entries}

    def _tell(self, name: str, call: dict[str, Json]) -> None:
        calls = self.told.setdefault(name, [])
        assert isinstance(calls, list)
        calls.append(call)

    def _tell_state(self) -> None:
        state = shown_share(self.share, self.kept, self.tells_more)
        self.told["state"] = _UNCHANGED if state == self.reported else state
        self.reported = state

    def _all_told(self) -> dict[str, Json]:
        if self.share.woken > self.woken:
            self.told["waiting_fetches_notified"] = self.share.woken - self.woken
            self.woken = self.share.woken
        return self.told


def _error(mode: str) -> str:
    """What the client is answered while the persister behaves so."""
    if mode == "ok":
        return ""
    return _FAILED_CALL if mode.startswith("throw:") else _ANSWERED_AS.get(mode, "UNKNOWN_SERVER_ERROR")


def _limits(
    max_record_locks: Count, delivery_count_limit: Count, record_lock_duration_ms: int, dlq: bool = False
) -> Limits:
    return Limits(max_record_locks, delivery_count_limit, record_lock_duration_ms, dead_letters=dlq)


_OPERATIONS: Final = {
    name: method for name, method in vars(_Session).items() if isfunction(method) and name[0] != "_" and name != "step"
}
