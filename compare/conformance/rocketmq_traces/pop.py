"""Plays traces of POP at one broker: records of one topic that one group pops, and what blocks an ordered queue.

Every recorded field is compared, the times at which records come back among them; the format is in
tests/golden/rocketmq/FORMAT-pop.md. The handles of acks are names that the trace gives to what was popped.
"""

from typing import Final, NamedTuple

from compare.conformance.cases import MalformedCase
from compare.conformance.fields import Count, get
from compare.conformance.rocketmq_traces.steps import NOTHING, Outcome, Step
from rocketmq_selfbalance.cluster import Handle, OrderedBatch, OrderedQueues, PopTopic, ReviveQueue, Version

_SUCCESS, _ILLEGAL, _NO_GROUP, _INVALID, _NOTHING_FOUND = 0, 13, 26, 29, 210
_MOST_AT_ONCE: Final = 32
_ANY_QUEUE: Final = -1
_MOST_QUEUES: Final = 1_000


class Pop(NamedTuple):
    """A request; which member asks plays no part at the broker, and all queues begin in memory."""

    member: str
    queue_id: int
    max: Count
    invisible_ms: Count
    init_mode: int
    order: bool
    attempt_id: str | None
    random: Count


class PoppedMessages:
    """The broker behind a trace: the records of its queues by their bodies, and what was popped."""

    def __init__(self, topic: str, group: str, queues: Count, revive_queues: Count, version: Version) -> None:
        if max(queues, revive_queues) > _MOST_QUEUES:
            raise MalformedCase("config", f"at most {_MOST_QUEUES} queues", max(queues, revive_queues))
        self.topic, self.group = topic, group
        self.retry_topic = f"%RETRY%{group}_{topic}"
        self.bodies: dict[int, list[str]] = {number: [] for number in range(queues)}
        self.popped = PopTopic([ReviveQueue() for _ in range(revive_queues)], version)
        self.handles: dict[str, Handle] = {}

    def produce(self, queue_id: int, bodies: list[str]) -> None:
        if queue_id not in self.bodies:
            raise MalformedCase("queue_id", f"one of {sorted(self.bodies)}", queue_id)
        self.bodies[queue_id] += bodies

    def pop(self, now: int, step: Step, asked: Pop) -> Outcome:
        recorded = get(step, "result", dict)
        # That the broker no longer knows the group stands nowhere in a trace but in the answer.
        if recorded.get("code") == _NO_GROUP:
            return self.outcome({"code": _NO_GROUP})
        if asked.queue_id >= len(self.bodies) or asked.max > _MOST_AT_ONCE:
            return self.outcome({"code": _INVALID})
        numbers = list(self.bodies) if asked.queue_id == _ANY_QUEUE else [asked.queue_id]
        ends = {number: len(bodies) for number, bodies in self.bodies.items()}
        effects: list[list[object]] = []
        request = now, ends, numbers, asked.max, asked.invisible_ms, asked.random
        if asked.order:
            handles = self.popped.pop_in_order(*request, asked.attempt_id)
        else:
            handles = self.popped.pop(*request)
            points = dict.fromkeys(handle.check_point for handle in handles)
            effects = [[now, "ck", point.revive_queue, int(point.visible_at) - 1_000] for point in points]
        if not handles:
            return self.outcome({"code": _NOTHING_FOUND})
        listed = get(recorded, "messages", list) if "messages" in recorded else []
        names = [str(each[0]) if isinstance(each, list) and each else "" for each in listed]
        names += [""] * (len(handles) - len(names))
        self.handles |= dict(zip(names, handles, strict=False))
        messages = [[name, *self._shown(handle)] for name, handle in zip(names, handles, strict=False)]
        queue = handles[0].check_point.revive_queue
        found = {"code": _SUCCESS, "revive_queue": queue, "rest": self.popped.rest, "messages": messages}
        return self.outcome(found, effects)

    def ack(self, now: int, member: str, handle: str) -> Outcome:
        given = self._handle(handle)
        taken = self.popped.ack(given)
        return self.outcome({"code": _SUCCESS if taken else _ILLEGAL}, self._marked(now, given))

    def change_invisible_time(self, now: int, step: Step, member: str, handle: str, invisible_ms: Count) -> Outcome:
        given = self._handle(handle)
        changed = self.popped.change(now, given, invisible_ms)
        effects = self._marked(now, given)
        if effects:
            effects.insert(0, [now, "ck", given.check_point.revive_queue, int(changed.visible_at) - 1_000])
        name = get(get(step, "result", dict), "new_handle", str, type(None))
        if name is not None:
            self.handles[name] = changed
        return self.outcome({"code": _SUCCESS, "new_handle": name}, effects)

    def advance(self, now: int, ms: int) -> Outcome:
        effects: list[list[object]] = []
        while (at := self.popped.next_revival()) <= now:
            for number, offset, times in self.popped.revive_once():
                effects.append([int(at), self.retry_topic, 0, self.bodies[number][offset], times])
        return self.outcome(NOTHING, effects)

    def outcome(self, result: object = NOTHING, effects: list[list[object]] | None = None, /) -> Outcome:
        committed: list[tuple[str, int, int]] = [
            (f"{self.topic}@{self.group}", number, offset) for number, offset in self.popped.committed.items()
        ]
        lengths: list[tuple[str, int, int]] = [
            (self.topic, number, len(bodies))
            for number, bodies in self.bodies.items()
            if bodies or number in self.popped.committed
        ]
        if self.popped.retried:
            committed.append((f"{self.retry_topic}@{self.group}", 0, self.popped.retry_offset))
            lengths.append((self.retry_topic, 0, len(self.popped.retried)))
        state = {"committed_offsets": committed, "queue_lengths": lengths}
        shown = {name: [list(row) for row in sorted(rows)] for name, rows in state.items()}
        return Outcome(result, {"stored_in_order": effects or []}, shown)

    def _shown(self, handle: Handle) -> list[object]:
        point, record = handle.check_point, handle.record
        body = self.bodies[record.number][record.offset]
        topic = self.retry_topic if point.of_retry_topic else self.topic
        # In order the count goes beside the message, whose own stays that of the store.
        times = record.times if point.revive_queue < len(self.popped.revive_queues) else 0
        return [topic, point.number, point.start + handle.position, body, times]

    def _handle(self, name: str) -> Handle:
        if name not in self.handles:
            raise MalformedCase("handle", "a handle that was given", name)
        return self.handles[name]

    def _marked(self, now: int, handle: Handle) -> list[list[object]]:
        """The mark of an ack; an ordered queue has none."""
        queue = handle.check_point.revive_queue
        return [[now, "ack", queue, int(handle.visible_at)]] if queue < len(self.popped.revive_queues) else []


class OrderedPlace(NamedTuple):
    """A group's queue."""

    topic: str
    group: str
    queue_id: int


class OrderedPops:
    """The table behind a trace of what blocks ordered queues."""

    def __init__(self) -> None:
        self.queues = OrderedQueues()

    def check_block(self, now: int, of: OrderedPlace, attempt_id: str | None, invisible_time_ms: Count) -> object:
        return self.queues.is_blocked(now, of, attempt_id, invisible_time_ms)

    def update(
        self,
        of: OrderedPlace,
        attempt_id: str | None,
        is_retry: bool,
        pop_time_ms: Count,
        invisible_time_ms: Count,
        offsets: list[Count],
    ) -> object:
        tries = self.queues.give_out(pop_time_ms, of, offsets, invisible_time_ms, attempt_id)
        kind = int(of.topic.startswith("%RETRY%"))
        least = min(tries.values()) if len(tries) == len(offsets) else 0
        told = [f"{kind} {of.queue_id} {least}"]
        told += [f"{kind} qo{of.queue_id}%{offset} {tried}" for offset, tried in tries.items()]
        return {"order_count_info_sorted": sorted(told)}

    def commit_and_next(self, of: OrderedPlace, offset: Count, pop_time_ms: Count) -> object:
        return self.queues.ack(of, offset, pop_time_ms)

    def update_next_visible_time(
        self, of: OrderedPlace, offset: Count, pop_time_ms: Count, next_visible_time_ms: Count
    ) -> None:
        self.queues.change(of, offset, pop_time_ms, next_visible_time_ms)

    def clear_block(self, of: OrderedPlace) -> None:
        self.queues.clear(of)

    def outcome(self, result: object = NOTHING, /) -> Outcome:
        batches = [(key, batch) for key, batch in self.queues.batches.items() if isinstance(key, tuple)]
        return Outcome(result, state=[_shown(key, batch) for key, batch in sorted(batches, key=lambda each: each[0])])


def _shown(key: tuple[str, str, int], batch: OrderedBatch) -> dict[str, object]:
    topic, group, number = key
    first = batch.offsets[0]
    return {
        "key": f"{topic}@{group}",
        "queue_id": number,
        "pop_time_ms": batch.pop_time,
        "invisible_time_ms": batch.invisible,
        "offset_list": [first, *(offset - first for offset in batch.offsets[1:])],
        "next_visible_time_ms": [list(each) for each in sorted(batch.visible_at.items())] or None,
        "consumed_count": None if batch.tries is None else [list(each) for each in sorted(batch.tries.items())],
        "last_consume_ms": batch.pop_time,
        "commit_offset_bit": sum(1 << n for n, offset in enumerate(batch.offsets) if offset in batch.acked),
        "attempt_id": batch.attempt_id,
    }
