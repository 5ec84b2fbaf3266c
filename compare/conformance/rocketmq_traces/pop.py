"""Plays traces of POP at one broker: records of one topic that one group pops, and what blocks an ordered queue.

Every recorded field is compared, the times at which records come back among them; the format is in
tests/golden/rocketmq/FORMAT-pop.md. The handles of acks are names that the trace gives to what was popped.
"""

from collections.abc import Mapping
from typing import Final

from compare.conformance.cases import MalformedCase
from compare.conformance.fields import count, get, numbers, only
from compare.conformance.rocketmq_traces.steps import Operation, Outcome, Step
from compare.json_types import Json
from rocketmq_selfbalance.cluster import Handle, OrderedBatch, OrderedQueues, PopTopic, ReviveQueue, Version

_SUCCESS, _ILLEGAL, _NO_GROUP, _INVALID, _NOTHING = 0, 13, 26, 29, 210
_MOST_AT_ONCE: Final = 32
_ANY_QUEUE: Final = -1
_POP = ("member", "queue_id", "max", "invisible_ms", "init_mode", "order", "attempt_id", "random")


class PoppedMessages:
    """The broker behind a trace: the records of its queues by their bodies, and what was popped."""

    def __init__(self, config: Mapping[str, Json], version: Version) -> None:
        only(config, "config", ("topic", "group", "queues", "revive_queues"))
        self.topic = get(config, "topic", str)
        self.group = get(config, "group", str)
        self.retry_topic = f"%RETRY%{self.group}_{self.topic}"
        self.bodies: dict[int, list[str]] = {number: [] for number in range(count(config, "queues"))}
        self.popped = PopTopic(
            [ReviveQueue() for _ in range(count(config, "revive_queues", 1_000))], version.pop_goes_down
        )
        self.handles: dict[str, Handle] = {}

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        return {
            "produce": (("queue_id", "bodies"), self._produce),
            "pop": (_POP, self._pop),
            "ack": (("member", "handle"), self._ack),
            "change_invisible_time": (("member", "handle", "invisible_ms"), self._change),
            "advance": (("ms",), self._advance),
        }

    def _produce(self, step: Step) -> Outcome:
        number = step.count("queue_id")
        if number not in self.bodies:
            raise MalformedCase("queue_id", f"one of {sorted(self.bodies)}", number)
        self.bodies[number] += [str(body) for body in get(step.arguments, "bodies", list)]
        return self._outcome()

    def _pop(self, step: Step) -> Outcome:
        step.text("member"), step.number("init_mode")
        number, most = step.number("queue_id"), step.count("max")
        # That the broker no longer knows the group stands nowhere in a trace but in the answer.
        recorded = get(step.arguments, "result", dict)
        if recorded.get("code") == _NO_GROUP:
            return self._outcome({"code": _NO_GROUP})
        if number >= len(self.bodies) or most > _MOST_AT_ONCE:
            return self._outcome({"code": _INVALID})
        asked = list(self.bodies) if number == _ANY_QUEUE else [number]
        ends = {queue: len(bodies) for queue, bodies in self.bodies.items()}
        invisible, random, attempt_id = (
            step.count("invisible_ms"),
            step.count("random"),
            step.optional_text("attempt_id"),
        )
        if step.truth("order"):
            handles = self.popped.pop_in_order(step.now, ends, asked, most, invisible, random, attempt_id)
            effects = []
        else:
            handles = self.popped.pop(step.now, ends, asked, most, invisible, random)
            points = dict.fromkeys(handle.check_point for handle in handles)
            effects = [[step.now, "ck", point.revive_queue, int(point.visible_at) - 1_000] for point in points]
        if not handles:
            return self._outcome({"code": _NOTHING})
        listed = get(recorded, "messages", list) if "messages" in recorded else []
        names = [str(each[0]) if isinstance(each, list) and each else "" for each in listed]
        names += [""] * (len(handles) - len(names))
        messages = [[name, *self._shown(handle)] for name, handle in zip(names, handles, strict=False)]
        self.handles |= dict(zip(names, handles, strict=False))
        found = {"revive_queue": handles[0].check_point.revive_queue, "rest": self.popped.rest, "messages": messages}
        return self._outcome({"code": _SUCCESS, **found}, effects)

    def _shown(self, handle: Handle) -> list[object]:
        point, record = handle.check_point, handle.record
        body = self.bodies[record.number][record.offset]
        topic = self.retry_topic if point.of_retry_topic else self.topic
        # In order the count goes beside the message, whose own stays that of the store.
        times = 0 if point.revive_queue >= len(self.popped.revive_queues) else record.times
        return [topic, point.number, point.start + handle.position, body, times]

    def _handle(self, step: Step) -> Handle:
        name = step.text("handle")
        if name not in self.handles:
            raise MalformedCase("handle", "a handle that was given", name)
        return self.handles[name]

    def _ack(self, step: Step) -> Outcome:
        handle = self._handle(step)
        taken = self.popped.ack(handle)
        return self._outcome({"code": _SUCCESS if taken else _ILLEGAL}, self._marked(step, handle))

    def _change(self, step: Step) -> Outcome:
        handle = self._handle(step)
        changed = self.popped.change(step.now, handle, step.count("invisible_ms"))
        effects = self._marked(step, handle)
        if effects:
            effects.insert(0, [step.now, "ck", handle.check_point.revive_queue, int(changed.visible_at) - 1_000])
        name = get(get(step.arguments, "result", dict), "new_handle", str, type(None))
        if name is not None:
            self.handles[name] = changed
        return self._outcome({"code": _SUCCESS, "new_handle": name}, effects)

    def _marked(self, step: Step, handle: Handle) -> list[list[object]]:
        """The mark of an ack; an ordered queue has none."""
        queue = handle.check_point.revive_queue
        return [[step.now, "ack", queue, int(handle.visible_at)]] if queue < len(self.popped.revive_queues) else []

    def _advance(self, step: Step) -> Outcome:
        effects: list[list[object]] = []
        while (at := self.popped.next_revival()) <= step.now:
            for number, offset, times in self.popped.revive_once():
                effects.append([int(at), self.retry_topic, 0, self.bodies[number][offset], times])
        return self._outcome(None, effects)

    def _outcome(self, result: object = None, effects: list[list[object]] | None = None) -> Outcome:
        committed: list[list[object]] = [
            [f"{self.topic}@{self.group}", number, offset] for number, offset in sorted(self.popped.committed.items())
        ]
        lengths: list[list[object]] = [
            [self.topic, number, len(bodies)]
            for number, bodies in self.bodies.items()
            if bodies or number in self.popped.committed
        ]
        if self.popped.retried:
            committed.insert(0, [f"{self.retry_topic}@{self.group}", 0, self.popped.retry_offset])
            lengths.insert(0, [self.retry_topic, 0, len(self.popped.retried)])
        state = {
            "committed_offsets": sorted(committed, key=_name_first),
            "queue_lengths": sorted(lengths, key=_name_first),
        }
        recorded = Outcome(effects={"stored_in_order": effects or []}, state=state)
        return recorded if result is None else recorded._replace(result=result)


def _name_first(row: list[object]) -> tuple[str, int]:
    name, number, *_ = row
    assert isinstance(name, str) and isinstance(number, int)
    return name, number


class OrderedPops:
    """The table behind a trace of what blocks ordered queues."""

    def __init__(self, config: Mapping[str, Json]) -> None:
        only(config, "config", ("seed_index",))
        self.queues = OrderedQueues()

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        key = ("topic", "group", "queue_id")
        return {
            "check_block": ((*key, "attempt_id", "invisible_time_ms"), self._check),
            "update": ((*key, "attempt_id", "is_retry", "pop_time_ms", "invisible_time_ms", "offsets"), self._update),
            "commit_and_next": ((*key, "offset", "pop_time_ms"), self._commit),
            "update_next_visible_time": ((*key, "offset", "pop_time_ms", "next_visible_time_ms"), self._change),
            "clear_block": (key, self._clear),
        }

    @staticmethod
    def _key(step: Step) -> tuple[str, str, int]:
        return step.text("topic"), step.text("group"), step.number("queue_id")

    def _check(self, step: Step) -> Outcome:
        invisible = step.number("invisible_time_ms")
        blocked = self.queues.is_blocked(step.now, self._key(step), step.optional_text("attempt_id"), invisible)
        return self._outcome(blocked)

    def _update(self, step: Step) -> Outcome:
        key, offsets = self._key(step), numbers(step.arguments, "offsets")
        pop_time, invisible = step.number("pop_time_ms"), step.number("invisible_time_ms")
        tries = self.queues.give_out(pop_time, key, offsets, invisible, step.optional_text("attempt_id"))
        step.truth("is_retry")
        kind, least = int(key[0].startswith("%RETRY%")), min(tries.values()) if len(tries) == len(offsets) else 0
        told = [f"{kind} {key[2]} {least}", *(f"{kind} qo{key[2]}%{offset} {tried}" for offset, tried in tries.items())]
        return self._outcome({"order_count_info_sorted": sorted(told)})

    def _commit(self, step: Step) -> Outcome:
        return self._outcome(self.queues.ack(self._key(step), step.number("offset"), step.number("pop_time_ms")))

    def _change(self, step: Step) -> Outcome:
        visible_at = step.number("next_visible_time_ms")
        self.queues.change(self._key(step), step.number("offset"), step.number("pop_time_ms"), visible_at)
        return self._outcome()

    def _clear(self, step: Step) -> Outcome:
        self.queues.clear(self._key(step))
        return self._outcome()

    def _outcome(self, result: object = None) -> Outcome:
        batches = self.queues.batches.items()
        state = [self._shown(key, batch) for key, batch in batches if isinstance(key, tuple)]
        outcome = Outcome(state=sorted(state, key=lambda each: (str(each["key"]), str(each["queue_id"]))))
        return outcome if result is None else outcome._replace(result=result)

    def _shown(self, key: tuple[str, str, int], batch: OrderedBatch) -> dict[str, object]:
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
