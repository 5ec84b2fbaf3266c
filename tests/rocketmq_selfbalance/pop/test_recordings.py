"""POP as the released broker's classes answered: what was given out, acks, what came back, the order of FIFO groups."""

import gzip
import json
from pathlib import Path
from typing import Any

from rocketmq_selfbalance.pop import Handle, OrderedBatch, OrderedQueues, PopTopic
from rocketmq_selfbalance.versions import VERSIONS, Version
from tests.rows import rows

_FOLDER = Path(__file__).parents[2] / "golden" / "rocketmq-pop"
_EARLIEST_MS, _LATEST_MS = 2_100, 5_100
"""A real broker's records come back so long after their invisible time."""


def _traces(name: str) -> list[dict[str, Any]]:
    with gzip.open(_FOLDER / f"{name}.jsonl.gz", "rt", encoding="ascii") as lines:
        return [json.loads(line) for line in lines]


class _Player:
    """One trace of one broker: every answer is compared; records come back when they did, if that is in time."""

    def __init__(self, config: dict[str, Any], version: Version) -> None:
        self.name, self.retry = config["topic"], f"%RETRY%{config['group']}_{config['topic']}"
        self.key = f"@{config['group']}"
        self.topic = PopTopic(version)
        self.bodies: dict[int, list[str]] = {number: [] for number in range(config["queues"])}
        self.handles: dict[str, Handle] = {}
        self.expected: list[tuple[str, int]] = []
        self.now = 0

    def play(self, step: dict[str, Any]) -> None:
        for at, topic, _, body, times in [each for each in _effects(step) if len(each) == 5]:
            assert topic == self.retry
            self._came_back(at, body, times)
        getattr(self, step["op"])(step)
        committed = [[self.name + self.key, number, at] for number, at in sorted(self.topic.committed.items())]
        if self.topic.retried:
            committed.insert(0, [self.retry + self.key, 0, self.topic.retry_offset])
        told = [each for each in step["state"]["committed_offsets"] if not each[0].endswith(f"+{self.name}{self.key}")]
        assert committed == told
        lengths = [
            [self.name, number, len(bodies)]
            for number, bodies in self.bodies.items()
            if bodies or number in self.topic.committed
        ]
        if self.topic.retried:
            lengths.insert(0, [self.retry, 0, len(self.topic.retried)])
        assert lengths == step["state"]["queue_lengths"]

    def _came_back(self, at: int, body: str, times: int) -> None:
        """One record of a check point whose turn it is: all its records follow each other."""
        self.expected.append((body, times))
        for check_point in self.topic.check_points:
            left = [(self.bodies[each.number][each.offset], each.times + 1) for each in check_point.left]
            if left and left == self.expected[-len(left) :]:
                assert _EARLIEST_MS <= at - check_point.visible_at <= _LATEST_MS
                self.topic.copy(check_point)
                del self.expected[-len(left) :]
                return

    def advance(self, step: dict[str, Any]) -> None:
        late = [each for each in self.topic.check_points if self.now > each.visible_at + _LATEST_MS and each.left]
        assert not late

    def produce(self, step: dict[str, Any]) -> None:
        self.bodies[step["queue_id"]] += step["bodies"]

    def pop(self, step: dict[str, Any]) -> None:
        numbers = list(self.bodies) if step["queue_id"] == -1 else [step["queue_id"]]
        ends = {number: len(bodies) for number, bodies in self.bodies.items()}
        found = self.topic.pop(step["at_ms"], ends, numbers, step["max"], step["invisible_ms"], step["random"])
        assert (step["result"]["code"] == 0) == bool(found)
        told = step["result"].get("messages", [])
        assert [self._told(each) for each in found] == [each[1:] for each in told]
        self.handles |= {name: handle for (name, *_), handle in zip(told, found, strict=True)}

    def _told(self, handle: Handle) -> list[object]:
        record, check_point = handle.record, handle.check_point
        body = self.bodies[record.number][record.offset]
        if not check_point.of_retry_topic:
            return [self.name, record.number, record.offset, body, record.times]
        return [self.retry, 0, self._retry_offset(handle), body, record.times]

    def _retry_offset(self, handle: Handle) -> int:
        return [id(each) for each in self.topic.retried].index(id(handle.record))

    def ack(self, step: dict[str, Any]) -> None:
        assert step["result"]["code"] == 0
        self.topic.ack(self.handles[step["handle"]])

    def change_invisible_time(self, step: dict[str, Any]) -> None:
        changed = self.topic.change(step["at_ms"], self.handles[step["handle"]], step["invisible_ms"])
        if step["result"]["new_handle"] is not None:
            self.handles[step["result"]["new_handle"]] = changed


def _effects(step: dict[str, Any]) -> list[Any]:
    return list(step.get("effects", {}).get("stored_in_order", []))


_SAME_KEY = "pop_messages-p0063"
"""A change in the millisecond of the pop: the broker takes both check points for one and loses the other record of the
batch. Between two calls of a client time passes."""


def _is_of_another_class(step: dict[str, Any]) -> bool:
    """Ordered pops, and requests that are refused."""
    return step["op"] == "pop" and (step["order"] or step["result"]["code"] in (26, 29))


_MESSAGES = [
    (version, trace)
    for version, name in (("5.3", "traces-pop_messages"), ("5.5", "traces-pop_messages-5.5"))
    for trace in _traces(name)
    if trace["trace_id"] != _SAME_KEY and not any(map(_is_of_another_class, trace["steps"]))
]


@rows(("version", "trace"), _MESSAGES)
def test_records_are_given_out_and_come_back_as_recorded(version: str, trace: dict[str, Any]) -> None:
    player = _Player(trace["config"], VERSIONS[version])
    for step in trace["steps"]:
        player.now = step["at_ms"]
        player.play(step)
    assert not player.expected


def _as_told(key: Any, batch: OrderedBatch) -> dict[str, Any]:
    topic, group, number = key
    first = batch.offsets[0]
    bits = sum(1 << position for position, each in enumerate(batch.offsets) if each in batch.acked)
    return {
        "key": f"{topic}@{group}",
        "queue_id": number,
        "pop_time_ms": batch.pop_time,
        "invisible_time_ms": batch.invisible,
        "offset_list": [first, *(each - first for each in batch.offsets[1:])],
        "next_visible_time_ms": [list(each) for each in sorted(batch.visible_at.items())] or None,
        "consumed_count": [list(each) for each in sorted(batch.tries.items())] or None,
        "commit_offset_bit": bits,
        "attempt_id": batch.attempt_id,
    }


@rows("trace", _traces("traces-pop_order"))
def test_ordered_queues_are_blocked_and_freed_as_recorded(trace: dict[str, Any]) -> None:
    queues = OrderedQueues()
    for step in trace["steps"]:
        if step["op"] == "advance":
            continue
        key = step["topic"], step["group"], step["queue_id"]
        now = step["at_ms"]
        if step["op"] == "check_block":
            assert queues.is_blocked(now, key, step["attempt_id"], step["invisible_time_ms"]) == step["result"]
        elif step["op"] == "update":
            invisible = step["invisible_time_ms"]
            tries = queues.give_out(step["pop_time_ms"], key, step["offsets"], invisible, step["attempt_id"])
            least = min(tries.values()) if len(tries) == len(step["offsets"]) else 0
            told = [f"0 {key[2]} {least}", *(f"0 qo{key[2]}%{offset} {count}" for offset, count in tries.items())]
            assert sorted(told) == step["result"]["order_count_info_sorted"]
        elif step["op"] == "commit_and_next":
            assert queues.ack(key, step["offset"], step["pop_time_ms"]) == step["result"]
        elif step["op"] == "update_next_visible_time":
            queues.change(key, step["offset"], step["pop_time_ms"], step["next_visible_time_ms"])
        else:
            assert step["op"] == "clear_block"
            queues.clear(key)
        told = sorted(step["state"], key=lambda each: (each["key"], each["queue_id"]))
        ours = [_as_told(*each) for each in queues.batches.items()]
        ours.sort(key=lambda each: (each["key"], each["queue_id"]))
        for each in told:
            del each["last_consume_ms"]
            each["consumed_count"] = each["consumed_count"] or None
        assert ours == told
