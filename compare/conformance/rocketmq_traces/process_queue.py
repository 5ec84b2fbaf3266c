"""Plays traces of a process queue through `rocketmq_selfbalance.client.process_queue`."""

from collections.abc import Callable, Iterable, Mapping

from compare.conformance.cases import Difference, Line
from compare.conformance.rocketmq_fields import get, numbers, only
from compare.conformance.rocketmq_traces.steps import Operation, Outcome, Step, play_steps
from compare.json_types import Json
from rocketmq_selfbalance.cluster import ClientSettings, ProcessQueue


def play(line: Line) -> list[Difference]:
    """Perform the trace on a process queue of the model."""
    return play_steps(line, Messages)


class Messages:
    """The process queue behind a trace."""

    def __init__(self, config: Mapping[str, Json]) -> None:
        only(config, "config", ("body_size", "seed_index"))
        self.queue = ProcessQueue(0.0, record_bytes=get(config, "body_size", int))
        self.settings = ClientSettings()

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        return {
            "put": (("offsets", "max_offset_of_last"), self._put),
            "remove": (("offsets",), self._with_state(lambda step: self.queue.remove(_offsets(step)))),
            "take": (("count",), self._with_state(lambda step: _singles(self.queue.take(step.count("count"))))),
            "commit": ((), self._with_state(self._commit)),
            "rollback": ((), self._rollback),
            "make_message_to_consume_again": (("offsets",), self._again),
            "clear": ((), self._clear),
            "contains": (("offset",), self._with_state(lambda step: step.number("offset") in self.queue.waiting)),
            "has_waiting_message": ((), self._with_state(lambda step: bool(self.queue.waiting))),
            "advance": (("ms",), self._expired),
            "pull_and_lock_now": ((), self._pull_and_lock),
        }

    def _put(self, step: Step) -> Outcome:
        began = self.queue.put(_offsets(step), step.optional_number("max_offset_of_last"))
        return Outcome(began, state=self._state())

    def _commit(self, step: Step) -> int | dict[str, str]:
        offset = self.queue.commit()
        return {"error": "NoSuchElementException"} if offset is None else offset

    def _rollback(self, step: Step) -> Outcome:
        self.queue.rollback()
        return Outcome(state=self._state())

    def _again(self, step: Step) -> Outcome:
        self.queue.consume_again(_offsets(step))
        return Outcome(state=self._state())

    def _clear(self, step: Step) -> Outcome:
        self.queue.clear()
        return Outcome(state=self._state())

    def _expired(self, step: Step) -> Outcome:
        pull = self.queue.pull_expired(step.now, self.settings.rebalance.pull_max_idle_time_ms)
        lock = self.queue.lock_expired(step.now, self.settings.ordered.lock_max_live_time_ms)
        return Outcome({"pull_expired": pull, "lock_expired": lock})

    def _pull_and_lock(self, step: Step) -> Outcome:
        self.queue.last_pull = self.queue.last_lock = step.now
        return self._expired(step)

    def _with_state(self, perform: Callable[[Step], object]) -> Operation:
        return lambda step: Outcome(perform(step), state=self._state())

    def _state(self) -> dict[str, object]:
        queue = self.queue
        return {
            "waiting": _singles(queue.waiting.ranges()),
            "taken": _singles(queue.taken.ranges()),
            "message_count": queue.count,
            "message_bytes": queue.bytes,
            "queue_offset_max": queue.highest,
            "consuming": queue.consuming,
            "accumulated": queue.accumulated,
            "max_span": queue.max_span,
        }


def _offsets(step: Step) -> list[tuple[int, int]]:
    return [(offset, offset + 1) for offset in numbers(step.arguments, "offsets")]


def _singles(ranges: Iterable[tuple[int, int]]) -> list[int]:
    return [offset for first, end in ranges for offset in range(first, end)]
