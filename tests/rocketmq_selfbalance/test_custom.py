"""A strategy of one's own is a plain function, or a class with `allocate`."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from protocols import Group, Queue, StrategyError
from rocketmq_selfbalance import AllocationError, allocate, register
from rocketmq_selfbalance.strategies import ConsistentHash

GROUP = Group.of(topics={"T": {"b": 3}, "U": {"b": 1}}, members={"c2": ["T", "U"], "c1": ["T", "U"]}, name="g")


def first_takes_all(group: str, own: str, queues: Sequence[Queue], members: Sequence[str]) -> Sequence[Queue]:
    assert (group, list(members)) == ("g", ["c1", "c2"])
    return queues if own == members[0] else []


def test_a_function_is_called_as_a_client_calls_it() -> None:
    register("FIRST", first_takes_all)
    allocation = allocate("FIRST", GROUP)
    assert allocation["c1"] == GROUP.queues
    assert allocation["c2"] == ()


def test_a_class_has_its_parameters_as_settings() -> None:
    @dataclass(frozen=True)
    class Skip:
        skipped: int
        step: int = 1

        def allocate(self, group: str, own: str, queues: Sequence[Queue], members: Sequence[str]) -> Sequence[Queue]:
            return queues[self.skipped :: self.step]

    register("SKIP", Skip)
    assert [queue.number for queue in allocate("SKIP", GROUP, {"skipped": 1})["c1"]] == [1, 2]
    with pytest.raises(StrategyError, match="unknown setting 'x' of SKIP, expected one of skipped, step"):
        allocate("SKIP", GROUP, {"x": 1})
    with pytest.raises(StrategyError, match="cannot be made from its settings: missing a required argument: 'skipped'"):
        allocate("SKIP", GROUP)


def test_an_object_may_be_registered_under_a_name_of_its_own() -> None:
    register("HASH_1", ConsistentHash(1))
    register("HASH", ConsistentHash)
    with_one = allocate("CONSISTENT_HASH", GROUP, {"virtual_nodes": 1})
    assert allocate("HASH_1", GROUP) == allocate("HASH", GROUP, {"virtual_nodes": 1}) == with_one


def test_null_is_nothing_and_an_allocation_error_keeps_what_was_there() -> None:
    def moody(group: str, own: str, queues: Sequence[Queue], members: Sequence[str]) -> Sequence[Queue] | None:
        if queues[0].topic == "T":
            return None
        raise AllocationError("IllegalStateException", "not today")

    register("MOODY", moody)
    before = allocate("AVG", GROUP)
    assert allocate("MOODY", GROUP, previous=before)["c1"] == (Queue("U", "b", 0),)
    assert allocate("MOODY", GROUP)["c1"] == ()


def test_a_custom_strategy_mixes_with_others() -> None:
    register("FIRST", first_takes_all)
    allocation = allocate("AVG", GROUP, strategies={"c1": "FIRST"})
    assert [queue.number for queue in allocation.double_owned] == [2]


def test_what_is_no_queue_of_the_topic_is_refused() -> None:
    register("NUMBERS", lambda group, own, queues, members: [1, 2])
    register("ELSEWHERE", lambda group, own, queues, members: [Queue("V", "b", 0)])
    register("TEXT", lambda group, own, queues, members: "T")
    for name in ("NUMBERS", "ELSEWHERE", "TEXT"):
        with pytest.raises(StrategyError, match=f"strategy {name} returned .* expected queues"):
            allocate(name, GROUP)


def test_what_can_be_no_strategy_is_refused() -> None:
    for nothing in (3, object()):
        with pytest.raises(StrategyError, match="expected a function"):
            register("NOTHING", nothing)
    with pytest.raises(StrategyError, match="has a strategy 'AVG' already"):
        register("AVG", first_takes_all)


def test_a_function_need_not_be_registered() -> None:
    assert allocate(first_takes_all, GROUP)["c1"] == GROUP.queues
    assert allocate("AVG", GROUP, strategies={"c1": first_takes_all}).double_owned == (Queue("T", "b", 2),)
    with pytest.raises(StrategyError, match="expected a function"):
        allocate(3, GROUP)  # type: ignore[arg-type]
