"""A recorded trace: steps in order, each an operation with what came of it (tests/golden/rocketmq/FORMAT-traces.md).

A component is a class whose public methods are the operations, under the names that traces give them. What a method
takes is what the step has: its parameters have the arguments' names, and their types say how they are read (`READERS`),
so that a name stands in one place. ``now`` is the time, ``step`` the step itself; a parameter that is a record takes
the arguments of its fields. The constructor takes the trace's config likewise. A method that returns something tells
the result, an `Outcome` tells all; else `outcome` adds the effects and the state. Everything recorded is compared with
that, and nothing may be missing on either side.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import Parameter, isfunction, signature
from typing import Any, Final, NamedTuple, NewType, Protocol, TypeAlias

from compare.conformance.cases import Difference, Line, MalformedCase
from compare.conformance.fields import NO_FIELD, count, counted, differing, get, numbers, only, queue, queues, texts
from compare.json_types import Json
from protocols import Queue
from rocketmq_selfbalance.cluster import Failure

EPOCH_MS = 1_700_000_000_000
"""Milliseconds since 1970 at which every trace starts; times in traces and in the model count from there."""

LONGEST_MS = 100 * 24 * 3_600_000
"""Of a trace, in virtual time; a longer one is damaged rather than recorded."""

NOTHING: Final = "nothing recorded"
"""In the place of a result or a state that a step does not have."""

_HEAD = ("trace_id", "component", "title", "config", "steps")
_FRAME = ("step", "at_ms", "op", "result", "effects", "state")
_OF_EVERY_CONFIG = ("seed_index",)


class Outcome(NamedTuple):
    """What an operation did: the fields of a step, as the recording writes them."""

    result: object = NOTHING
    effects: Mapping[str, Sequence[object]] = {}
    state: object = NOTHING
    passed: int = 0
    """Milliseconds that the operation itself took."""


Step: TypeAlias = Mapping[str, Json]
"""A step, or a config, as it is recorded."""

Count = NewType("Count", int)
"""How many there are of something."""

Answer: TypeAlias = int | Failure
"""What a broker answers: a number, or that it fails; with None where it has none."""

NoneType = type(None)


def _scalar(*types: type) -> Callable[[Step, str], object]:
    return lambda step, name: get(step, name, *types)


def _optional_queue(step: Step, name: str) -> Queue | None:
    value = step.get(name, NO_FIELD)
    return None if value is None else queue(name, value)


def _answer(step: Step, name: str) -> Answer:
    value = step.get(name, NO_FIELD)
    if value == "error":
        return Failure.FAILED
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedCase(name, "a number or error", value)
    return value


READERS: Final[Mapping[object, Callable[[Step, str], object]]] = {
    str: _scalar(str),
    int: _scalar(int),
    bool: _scalar(bool),
    str | None: _scalar(str, NoneType),
    int | None: _scalar(int, NoneType),
    bool | None: _scalar(bool, NoneType),
    list[object]: _scalar(list),
    Count: count,
    Queue: lambda step, name: queue(name, step.get(name)),
    Queue | None: _optional_queue,
    list[Queue]: lambda step, name: queues(step, name) or [],
    list[Queue] | None: queues,
    list[int]: numbers,
    list[str]: texts,
    list[str] | None: lambda step, name: texts(step, name, nullable=True),
    list[tuple[str, int]]: lambda step, name: [(str(it), number) for it, number in counted(step, name, "topic")],
    list[tuple[Queue, int]]: lambda step, name: [
        (queue(name, it), number) for it, number in counted(step, name, "queue")
    ],
    Answer: _answer,
    Answer | None: lambda step, name: None if step.get(name, NO_FIELD) is None else _answer(step, name),
    object: lambda step, name: step.get(name),
}
"""Type of a parameter to how an argument of this name is read. Of `object` nothing is expected."""


class Component(Protocol):
    """The model's part behind a trace; ``advance`` is among its operations only where something is recorded of it
    (``now`` is then the time afterwards)."""

    def outcome(self, result: object = NOTHING, /) -> Outcome:
        """All that a step records when an operation is over."""


class _Parameters(NamedTuple):
    """What a function takes: the ``names`` of the arguments, and how they are ``read`` from a step at a time."""

    names: tuple[str, ...]
    read: Callable[[Step, int], list[Any]]


@cache
def _parameters(function: Callable[..., object]) -> _Parameters:
    parts = [_parameter(each) for each in signature(function).parameters.values() if each.name != "self"]
    return _Parameters(
        tuple(name for part in parts for name in part.names),
        lambda step, now: [value for part in parts for value in part.read(step, now)],
    )


def _parameter(parameter: Parameter) -> _Parameters:
    name, kind, default = parameter.name, parameter.annotation, parameter.default
    if name == "now":
        return _Parameters((), lambda step, now: [now])
    if name == "step":
        return _Parameters((), lambda step, now: [step])
    if kind in READERS:
        read = READERS[kind]
        return _Parameters(
            (name,),
            lambda step, now: [default if name not in step and default is not Parameter.empty else read(step, name)],
        )
    fields = _parameters(kind)
    return _Parameters(fields.names, lambda step, now: [kind(*fields.read(step, now))])


def operations_of(kind: type[Component]) -> Mapping[str, Callable[..., object]]:
    """Name of each operation to what performs it."""
    return {
        name: method
        for name, method in vars(kind).items()
        if isfunction(method) and not name.startswith("_") and name != "outcome"
    }


def play_steps(line: Line, kind: type[Component]) -> list[Difference]:
    """Perform the trace's steps on a component of this kind, and compare.

    Stops after the first step that differs: what comes later only follows from it.
    """
    only(line, "", _HEAD)
    case, config = str(line["trace_id"]), get(line, "config", dict)
    get(line, "title", str)
    operations, given = operations_of(kind), _parameters(kind.__init__)
    only(config, "config", (*given.names, *_OF_EVERY_CONFIG))
    component = kind(*given.read(config, 0))
    now = 0
    for number, step in enumerate(get(line, "steps", list)):
        path = f"steps[{number}]"
        if not isinstance(step, dict):
            raise MalformedCase(path, "an object", step)
        op = str(step.get("op"))
        found = _differences(case, path, {"step": step.get("step"), "at_ms": step.get("at_ms")}, _frame(number, now))
        outcome = Outcome()
        if op == "advance":
            only(step, path, (*_FRAME, "ms"))
            now += get(step, "ms", int)
            if not 0 <= now <= LONGEST_MS:
                raise MalformedCase(f"{path}.ms", f"a trace of 0 to {LONGEST_MS} ms", step["ms"])
        elif op not in operations:
            raise MalformedCase(f"{path}.op", f"one of advance, {', '.join(operations)}", op)
        if op in operations:
            outcome = _performed(component, operations[op], step, path, now)
        now += outcome.passed
        found += _differences(case, path, _recorded(step), _as_recorded(outcome))
        if found:
            return found
    return []


def _performed(component: Component, operation: Callable[..., object], step: Step, path: str, now: int) -> Outcome:
    arguments = _parameters(operation)
    only(step, path, (*_FRAME, *arguments.names))
    returned = operation(component, *arguments.read(step, now))
    if isinstance(returned, Outcome):
        return returned
    return component.outcome(NOTHING if operation.__annotations__["return"] is None else returned)


def _recorded(step: Step) -> dict[str, object]:
    """What a step records: result, effects and state."""
    return {name: step[name] for name in ("result", "effects", "state") if name in step}


def _as_recorded(outcome: Outcome) -> dict[str, object]:
    """An outcome as a step records it."""
    effects = {kind: records for kind, records in outcome.effects.items() if records}
    fields = {"result": outcome.result, "effects": effects or NOTHING, "state": outcome.state}
    return {name: value for name, value in fields.items() if value is not NOTHING}


def _differences(case: str, path: str, expected: object, got: object) -> list[Difference]:
    return [Difference(case, *each) for each in differing(path, expected, got, NOTHING)]


def _frame(number: int, now: int) -> dict[str, int]:
    return {"step": number, "at_ms": now}
