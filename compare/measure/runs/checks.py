"""What must hold in a run: what the scenario's ``expect`` demands, and what one would wish of any system."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from compare.documents.comparison import CheckRecord, Record
from compare.scenarios.run_variant import RunResult
from protocols import Queue
from protocols.scenario.model import ExpectPart
from protocols.scenario.units import duration_text
from protocols.timeline.properties import SETTLES, PropertyResult, measure


@dataclass(frozen=True, slots=True)
class Check:
    """Whether something held. Only what is ``demanded`` makes the command fail. ``why``: what was found instead;
    ``story``: what led to it."""

    name: str
    held: bool
    demanded: bool
    why: str = ""
    story: tuple[str, ...] = ()

    def document(self) -> CheckRecord:
        """As in the document; ``why`` and ``story`` only where it failed."""
        found: CheckRecord = {"name": self.name, "held": self.held, "demanded": self.demanded}
        if not self.held:
            found["why"], found["story"] = self.why, list(self.story)
        return found


def properties_of(result: RunResult) -> list[PropertyResult]:
    """Which of the properties that one would wish of any system held in the run."""
    return measure(result.timeline, _expected(result))


def has_settled(result: RunResult) -> bool:
    """The same as `settled` of its `properties_of`, without the others."""
    return settled(measure(result.timeline, _expected(result), [SETTLES]))


def settled(measured: Sequence[PropertyResult]) -> bool:
    """Whether ownership came to rest, with one owner for every queue, by the properties of the run."""
    return next(each.held for each in measured if each.name == SETTLES)


def checks_of(result: RunResult, measured: Sequence[PropertyResult], found: Record) -> list[Check]:
    """All checks of a variant, those that are demanded first. ``measured``: its `properties_of`; ``found``: its record,
    for its figures."""
    settles = next(each for each in measured if each.name == SETTLES)
    expect = result.variant.scenario.expect
    demanded = []
    for name in ExpectPart.model_fields:
        limit = None if expect is None else getattr(expect, name)
        if limit is None:
            continue
        why = _BREACHES[name](limit, found)
        if name == "settles_within" and not why and not settles.held:
            why = settles.why
        story = settles.story if name == "settles_within" else ()
        demanded.append(Check(name, not why, True, why, story if why else ()))
    wished = [Check(each.name, each.held, False, each.why, each.story) for each in measured]
    return [*demanded, *wished]


def _expected(result: RunResult) -> Iterator[tuple[str, Queue] | tuple[str, Queue, str]]:
    """What must have an owner at the end; where a group is broadcasting, who must read what."""
    broadcasting = result.timeline.broadcasting
    yield from (each for each in result.ending.expected() if each[0] not in broadcasting)
    for group in sorted(broadcasting):
        there = result.ending.groups[group]
        for topic, who in there.subscribers().items():
            yield from ((group, queue, there.members[at].id) for queue in there.topics[topic] for at in who)


def _above(limit: float | None, value: float | None, what: str, unit: str = "") -> str:
    """What is wrong where a value is above its limit; empty where it is not (or is not known)."""
    if limit is None or value is None or value <= limit:
        return ""
    return f"{what} is {value:g}{unit}, expected at most {limit:g}{unit}"


_BREACHES: Mapping[str, Callable[[float, Record], str]] = {
    "settles_within": lambda limit, found: _longer(limit, found["settle_s"], "time to settle"),
    "max_over_mean": lambda limit, found: _above(limit, found["fairness"]["max_over_mean"], "max_over_mean"),
    "idle_members": lambda limit, found: _above(limit, found["fairness"]["idle_members"], "idle_members"),
    "longest_gap": lambda limit, found: _longer(limit, found["longest_gap_s"], "longest time without an owner"),
    "double_owned_queue_s": lambda limit, found: _above(
        limit, found["double_owned_queue_s"], "time with several owners", " queue-seconds"
    ),
    "longest_stall": lambda limit, found: _longer(
        limit, found["harm"]["longest_stall_s"], "longest time without progress"
    ),
    "skipped": lambda limit, found: _above(limit, _work(found, "skipped"), "records never handled"),
    "waiting": lambda limit, found: _above(limit, _work(found, "waiting"), "records waiting at the end"),
    "redelivered": lambda limit, found: _above(limit, found["redelivered"], "records delivered more than once"),
}


def _work(found: Record, name: Literal["skipped", "waiting"]) -> int | None:
    work = found["harm"]["work"]
    return None if work is None else work[name]


def _longer(limit: float, value_s: float | None, what: str) -> str:
    if value_s is None or value_s * 1000 <= limit:
        return ""
    return f"{what} is {value_s:g}s, expected at most {duration_text(limit)}"
