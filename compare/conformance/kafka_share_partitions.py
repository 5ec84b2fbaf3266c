"""Plays the golden traces of Kafka's share-partitions: `share-partition*.jsonl.gz`.

The format is in tests/golden/kafka/FORMAT-share.md. A trace has one share-partition, a small log and one persister,
whose answers the trace sets. Every step is compared whole: result, writes, calls to the dead letter topic, how often
waiting fetches were told, state, timers with their times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from compare.conformance.cases import Difference, Line, MalformedCase, Player
from compare.conformance.fields import count, differing, get, only, texts
from compare.conformance.kafka_coordinator import LONGEST_MS, OLDEST_RECORDED
from compare.conformance.kafka_share_shapes import persisted, ranges_of, shown_share, shown_state
from compare.json_types import Json
from kafka_coordinator.catalogue import version_named
from kafka_coordinator.share import (
    AcquisitionError,
    Change,
    DeadLetter,
    Kept,
    Limits,
    Phase,
    SharePartition,
    acknowledge,
    acquire,
    release_acquired,
)
from protocols.errors import UserError

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
        names = ("max_record_locks", "delivery_count_limit", "record_lock_duration_ms", "dlq")
        config = only(get(line, "config", dict), "config", names)
        locks, deliveries, duration = (count(config, name, LONGEST_MS) for name in names[:3])
        limits = Limits(locks, deliveries, duration, dead_letters="dlq" in config and get(config, "dlq", bool))
        try:
            version = version_named(line.get("kafka", OLDEST_RECORDED), "kafka")
        except UserError as error:
            raise MalformedCase("kafka", "a version of Kafka", str(error)) from None
        share = SharePartition(limits, version)
        return cls(share, limits, ranges_of(line, "log"), count(line, "log_start"), "kafka" in line)

    def step(self, number: int, step: Mapping[str, Json]) -> dict[str, Json]:
        """What the model does, as the recording would have it."""
        op, req = get(step, "op", str), get(step, "req", dict)
        if "log" in step:
            self.log = ranges_of(step, "log")
        self.told = {}
        match op:
            case "fetch":
                self.told["result"] = self._fetch(req)
            case "acknowledge" | "release_acquired":
                self._change(number, self._asked(op, req))
            case "advance":
                self.told["timeline"] = self._advance(self.now + count(req, "ms", LONGEST_MS))
            case "load" | "new_leader":
                self._load(number, count(req, "leader_epoch"), op == "new_leader")
            case "release_persister":
                self._release()
            case "release_dlq":
                letters, self.held_letters = self.held_letters, []
                for letter in letters:
                    self._write(self.share.dead_lettered(letter))
            case _:
                self._set(number, op, req)
        if op not in _WITHOUT_STATE or "state" in step:
            self._tell_state()
        return self._all_told()

    def _set(self, number: int, op: str, req: Mapping[str, Json]) -> None:
        """Operations that answer nothing: the surroundings change."""
        match op:
            case "set_persister":
                self.persister = get(req, "mode", str)
            case "set_dlq":
                self.dead_letters = get(req, "mode", str)
            case "set_persisted_state":
                states = tuple(persisted(each) for each in get(req, "batches", list))
                self.kept = Kept(get(req, "start_offset", int), count(req, "state_epoch"), states)
            case "maybe_initialize":
                self.told["result"] = _NOT_READY.get(self.share.phase, "NONE")
            case "mark_fenced":
                self.share.phase = Phase.FENCED
            case "log_truncated":
                self.log_start = count(req, "log_start")
            case "log_start_moved":
                self.log_start = max(self.log_start, get(req, "offset", int))
                self.share.log_starts_at(get(req, "offset", int))
            case "set_group_config":
                self.share.limits = self._limits_of(req)
            case _ if op not in ("produce", "batch_compacted_away"):
                raise MalformedCase(f"steps[{number}].op", "an operation on a share-partition", op)

    def _limits_of(self, req: Mapping[str, Json]) -> Limits:
        own = {name: int(str(req[setting])) for setting, name in _OF_THE_GROUP.items() if setting in req}
        renewals = req.get("share.renew.acknowledge.enable", "true") == "true"
        dead_letters = self.limits.dead_letters and req.get("errors.deadletterqueue.topic.name") != ""
        return replace(self.limits, **own, renewals=renewals, dead_letters=dead_letters)

    @property
    def _log_end(self) -> int:
        return self.log[-1][1] + 1 if self.log else self.log_start

    def _fetch(self, req: Mapping[str, Json]) -> dict[str, Json]:
        share, member = self.share, get(req, "member", str)
        can, offset = share.may_acquire(), share.next_fetch_offset()
        told: dict[str, Json] = {"can_acquire": can, "next_fetch_offset": offset}
        if not can:
            return told
        if not self.log_start <= offset <= self._log_end:
            share.log_starts_at(self.log_start)
            error: dict[str, Json] = {"error": "OFFSET_OUT_OF_RANGE", "told_log_start": self.log_start}
            return {**told, **error, "acquired": [], "count": 0}
        read = [batch for batch in self.log if batch[1] >= offset][: count(req, "max_log_batches")]
        told["read"] = [list(batch) for batch in read]
        exactly = "acquire_mode" in req and get(req, "acquire_mode", str) == "record_limit"
        try:
            acquired = acquire(
                share, self.now, member, read, offset, count(req, "max_records"), count(req, "batch_size"), exactly
            )
        except AcquisitionError:
            return {**told, "exception": "IllegalArgumentException"}
        records = sum(last - first + 1 for first, last, _ in acquired)
        return {**told, "acquired": [list(each) for each in acquired], "count": records}

    def _asked(self, op: str, req: Mapping[str, Json]) -> Change:
        member = get(req, "member", str)
        if op == "release_acquired":
            return release_acquired(self.share, member)
        ranges = []
        for given in get(req, "batches", list):
            match given:
                case [int(first), int(last), list(types)] if len(types) in (1, last - first + 1):
                    ranges.append((first, last, texts({"types": types}, "types") or []))
                case _:
                    raise MalformedCase("req.batches", "[first, last, types]", given)
        return acknowledge(self.share, self.now, member, ranges)

    def _change(self, number: int, change: Change) -> None:
        if change.write is not None:
            self._write(change)
        if change.done:
            self.told["result"] = change.error or "NONE"
        else:
            self.told["pending"] = True
            self.pending[number] = change

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

    def _load(self, number: int, leader_epoch: int, anew: bool) -> None:
        if anew:
            limits, version = self.share.limits, self.share.version
            self.share, self.woken = SharePartition(limits, version), 0
            self.held, self.held_letters, self.pending = [], [], {}
        self.share.leader_epoch = leader_epoch
        if self.persister == _HOLD:
            self.share.phase = Phase.INITIALIZING
            self.told["pending"] = True
            self.pending[number] = None
        elif error := _error(self.persister):
            self.share.phase = Phase.FAILED
            self.told["result"] = error
        else:
            self._send(self.share.loaded(self.kept, self._log_end).dead)
            self.told["result"] = "NONE"

    def _release(self) -> None:
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

    def _advance(self, until: int) -> Json:
        """What each lock that ends on the way does."""
        if until > LONGEST_MS:
            raise MalformedCase("req.ms", f"a trace of 0 to {LONGEST_MS} ms", until)
        entries: list[Json] = []
        while (lock := self.share.next_lock()) is not None and lock.due <= until:
            self.now, self.told = lock.due, {}
            change = self.share.lock_ended(lock)
            if change is not None:
                self._write(change)
            self._tell_state()
            entries.append({"t": lock.due, **self._all_told()})
        self.now, self.told = until, {}
        return entries

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
