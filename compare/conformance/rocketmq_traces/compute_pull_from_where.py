"""Plays traces of ``computePullFromWhere`` through `rocketmq_selfbalance.client.pull_from_where`."""

from collections.abc import Mapping

from compare.conformance.cases import Difference, Line, MalformedCase
from compare.conformance.rocketmq_fields import NO_FIELD, only, queue
from compare.conformance.rocketmq_traces.client_config import CREATE_CLIENT, make_consumer
from compare.conformance.rocketmq_traces.client_world import Answer, Brokers, TraceWorld
from compare.conformance.rocketmq_traces.steps import Operation, Outcome, Step, play_steps
from compare.json_types import Json
from rocketmq_selfbalance.cluster import NONE, ComputePullFromWhere, Failure, ReadFrom, Start


def play(line: Line) -> list[Difference]:
    """Perform the trace on a consumer of the model."""
    return play_steps(line, Starts)


class Starts:
    """The one client behind a trace."""

    def __init__(self, config: Mapping[str, Json]) -> None:
        only(config, "config", ("timezone", "seed_index"))
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
        self.worlds[step.text("client")] = TraceWorld(make_consumer(step), brokers), brokers
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
