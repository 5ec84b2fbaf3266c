"""A recorded trace: steps in order, each an operation with what came of it (tests/golden/rocketmq/FORMAT-traces.md).

A component performs the operations on the model's own part and gives the result, the effects and the state as the
recording writes them; everything recorded is compared with that, and nothing may be missing on either side.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from compare.conformance.cases import Difference, Line, MalformedCase
from compare.conformance.fields import count, differing, get, only
from compare.conformance.releases import rocketmq_version
from compare.json_types import Json
from rocketmq_selfbalance.cluster import Version

EPOCH_MS = 1_700_000_000_000
"""Milliseconds since 1970 at which every trace starts; times in traces and in the model count from there."""

LONGEST_MS = 100 * 24 * 3_600_000
"""Of a trace, in virtual time; a longer one is damaged rather than recorded."""

NOTHING: Final = "nothing recorded"
"""In the place of a result or a state that a step does not have."""

_HEAD = ("rocketmq", "differs_from_5_3_3", "trace_id", "component", "title", "config", "steps")
_FRAME = ("step", "at_ms", "op", "result", "effects", "state")


class Outcome(NamedTuple):
    """What an operation did: the fields of a step, as the recording writes them."""

    result: object = NOTHING
    effects: Mapping[str, Sequence[object]] = {}
    state: object = NOTHING
    passed: int = 0
    """Milliseconds that the operation itself took."""


class Step(NamedTuple):
    """An operation that is due: what to do, and its arguments."""

    now: int
    """Milliseconds since the start of the trace."""
    op: str
    arguments: Mapping[str, Json]

    def text(self, name: str) -> str:
        return get(self.arguments, name, str)

    def number(self, name: str) -> int:
        return get(self.arguments, name, int)

    def count(self, name: str) -> int:
        return count(self.arguments, name)

    def truth(self, name: str) -> bool:
        return get(self.arguments, name, bool)

    def optional_text(self, name: str) -> str | None:
        return get(self.arguments, name, str, type(None))

    def optional_number(self, name: str) -> int | None:
        return get(self.arguments, name, int, type(None))


Operation: TypeAlias = Callable[[Step], Outcome]


def does(outcome: Callable[[], Outcome], perform: Callable[[Step], object]) -> Operation:
    """An operation without a result."""

    def operation(step: Step) -> Outcome:
        perform(step)
        return outcome()

    return operation


def tells(outcome: Callable[[object], Outcome], perform: Callable[[Step], object]) -> Operation:
    """An operation with a result."""
    return lambda step: outcome(perform(step))


class Component(Protocol):
    """The model's part behind a trace."""

    def operations(self) -> Mapping[str, tuple[tuple[str, ...], Operation]]:
        """Name of each operation to the arguments that it takes and what performs it. The frame keeps the time;
        ``advance`` is among them only where something is recorded of it (``now`` is then the time afterwards)."""


def play_steps(line: Line, make: Callable[[Mapping[str, Json], Version], Component]) -> list[Difference]:
    """Perform the trace's steps on the part that ``make`` builds from its config for its version, and compare.

    Stops after the first step that differs: what comes later only follows from it.
    """
    only(line, "", _HEAD)
    case, config = str(line["trace_id"]), get(line, "config", dict)
    get(line, "title", str)
    operations = make(config, rocketmq_version(line.get("rocketmq"))).operations()
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
            arguments, perform = operations[op]
            only(step, path, (*_FRAME, *arguments))
            outcome = perform(Step(now, op, step))
        now += outcome.passed
        found += _differences(case, path, recorded(step), as_recorded(outcome))
        if found:
            return found
    return []


def recorded(step: Mapping[str, Json]) -> dict[str, object]:
    """What a step records: result, effects and state."""
    return {name: step[name] for name in ("result", "effects", "state") if name in step}


def as_recorded(outcome: Outcome) -> dict[str, object]:
    """An outcome as a step records it."""
    found: dict[str, object] = {}
    if outcome.result is not NOTHING:
        found["result"] = outcome.result
    effects = {kind: records for kind, records in outcome.effects.items() if records}
    if effects:
        found["effects"] = effects
    if outcome.state is not NOTHING:
        found["state"] = outcome.state
    return found


def _differences(case: str, path: str, expected: object, got: object) -> list[Difference]:
    return [Difference(case, *each) for each in differing(path, expected, got, NOTHING)]


def _frame(number: int, now: int) -> dict[str, int]:
    return {"step": number, "at_ms": now}
