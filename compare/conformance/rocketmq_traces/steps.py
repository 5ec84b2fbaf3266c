"""A recorded trace: steps in order, each an operation with what came of it. The format is in
examples/recordings/rocketmq/FORMAT-traces.md.

A component is a class whose public methods are the operations, under the names that traces give them. What a method
takes is what the step has: its parameters have the arguments' names, and their types say what these must be (pydantic
reads them), so that a name stands in one place. ``now`` is the time, ``step`` the step itself; a parameter that is a
record takes the arguments of its fields. The constructor takes the trace's config likewise. A method that returns
something tells the result, an `Outcome` tells all; else `outcome` adds the effects and the state. Everything recorded
is compared with that, and nothing may be missing on either side.
"""

from collections.abc import Callable, Mapping, Sequence
from inspect import isfunction
from typing import Annotated, Final, NamedTuple, Protocol, TypeAlias

from pydantic import BeforeValidator

from compare.conformance.cases import Difference, Line, MalformedCase, rocketmq_version
from compare.conformance.fields import arguments, differing, get, names_of, only
from compare.json_types import Json
from rocketmq_selfbalance.cluster import Failure

EPOCH_MS = 1_700_000_000_000
"""Milliseconds since 1970 at which every trace starts; times in traces and in the model count from there."""

LONGEST_MS = 100 * 24 * 3_600_000
"""Of a trace, in virtual time; a longer one is damaged rather than recorded."""

NOTHING: Final = "nothing recorded"
"""In the place of a result or a state that a step does not have."""

_HEAD = ("rocketmq", "differs_from_5_3_3", "trace_id", "component", "title", "config", "steps")
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

Answer: TypeAlias = Annotated[
    int | Failure, BeforeValidator(lambda value: Failure.FAILED if value == "error" else value)
]
"""What a broker answers: a number, or that it fails; with None where it has none."""


class Component(Protocol):
    """The model's part behind a trace; ``advance`` is among its operations only where something is recorded of it
    (``now`` is then the time afterwards)."""

    def outcome(self, result: object = NOTHING, /) -> Outcome:
        """All that a step records when an operation is over."""


def operations_of(kind: type[Component]) -> Mapping[str, Callable[..., object]]:
    """Name of each operation to what performs it."""
    return {
        name: method
        for name, method in vars(kind).items()
        if isfunction(method) and not name.startswith("_") and name != "outcome"
    }


def play_steps(line: Line, kind: type[Component]) -> list[Difference]:
    """Perform the trace's steps on a component of this kind, made for the version that it names, and compare.

    Stops after the first step that differs: what comes later only follows from it.
    """
    only(line, "", _HEAD)
    case, config = str(line["trace_id"]), get(line, "config", dict)
    get(line, "title", str)
    operations = operations_of(kind)
    only(config, "config", (*names_of(kind.__init__), *_OF_EVERY_CONFIG))
    version = rocketmq_version(line.get("rocketmq"))
    component = kind(*arguments(kind.__init__, config, now=0, step=config, version=version))
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
    only(step, path, (*_FRAME, *names_of(operation)))
    returned = operation(component, *arguments(operation, step, now=now, step=step))
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
