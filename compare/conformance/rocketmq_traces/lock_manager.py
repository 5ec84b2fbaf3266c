"""Plays traces of a broker's queue locks through `rocketmq_selfbalance.broker.state`."""

from collections.abc import Mapping

from compare.conformance.cases import Difference, Line
from compare.conformance.rocketmq_fields import get, only, queue, queues
from compare.conformance.rocketmq_traces.steps import Operation, Outcome, Step, play_steps
from compare.json_types import Json
from protocols import Queue, sort_queues
from rocketmq_selfbalance.cluster import RebalanceLockManager


def play(line: Line) -> list[Difference]:
    """Perform the trace on a lock manager of the model."""
    return play_steps(line, Locks)


class Locks:
    """The lock manager behind a trace. It records no state: what it holds shows in what it grants."""

    def __init__(self, config: Mapping[str, Json]) -> None:
        only(config, "config", ("lock_max_live_ms", "seed_index"))
        self.manager = RebalanceLockManager(get(config, "lock_max_live_ms", int))

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        return {
            "try_lock": (("group", "queue", "client_id"), self._try_lock),
            "try_lock_batch": (("group", "queues", "client_id"), self._try_lock_batch),
            "unlock_batch": (("group", "queues", "client_id"), self._unlock_batch),
            "is_lock_all_expired": (("group",), self._all_expired),
        }

    def _try_lock(self, step: Step) -> Outcome:
        asked = queue("queue", step.arguments.get("queue"))
        return Outcome(self.manager.try_lock(step.now, step.text("group"), asked, step.text("client_id")))

    def _try_lock_batch(self, step: Step) -> Outcome:
        granted = self.manager.try_lock_batch(step.now, step.text("group"), _queues(step), step.text("client_id"))
        return Outcome([list(each) for each in sort_queues(granted)])

    def _unlock_batch(self, step: Step) -> Outcome:
        self.manager.unlock_batch(step.text("group"), _queues(step), step.text("client_id"))
        return Outcome()

    def _all_expired(self, step: Step) -> Outcome:
        return Outcome(self.manager.all_expired(step.now, step.text("group")))


def _queues(step: Step) -> list[Queue]:
    return queues(step.arguments, "queues") or []
