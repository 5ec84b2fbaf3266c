"""Whether a run ended with its queues handed out and its work done, so that how even it is and what it took can be held
against others.

A group that leaves queues to nobody, or records unhandled, is soon done, moves little, and may share the rest evenly:
that is no merit.

What must hold in a run: what the scenario's ``expect`` demands, and what one would wish of any system.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, TypeGuard

from compare.documents.comparison import CheckRecord, Record, SharedRecord, Spread, WorkRecord
from compare.figures.metrics import DEMANDS, METRICS
from compare.formatting import many
from compare.running.run_variant import RunResult
from compare.running.spread import figure
from protocols import Queue
from protocols.scenario.fields import duration_text
from protocols.scenario.model import ExpectPart
from protocols.timeline.properties import SETTLES, PropertyResult, measure

SHARING: Final = "unowned_queue_s"
"""A figure that is None where no group shares queues."""

OPEN_ENDS = ("fairness.unowned_queues", "fairness.double_owned_queues")
"""Figures that are 0 where every queue that somebody reads has exactly one owner in the end."""


def shares(record: Record | SharedRecord) -> TypeGuard[SharedRecord]:
    """Whether queues are shared in a run, so that its figures of sharing mean something."""
    return record[SHARING] is not None


def does_the_same_work(record: Record | SharedRecord) -> bool:
    """Whether its groups handle each record once, as others do: they are not all broadcasting."""
    return shares(record) or record["shared_delivery"] is not None


def ends_complete(record: Record | SharedRecord) -> bool:
    """Of a run in which queues are shared: every queue that somebody reads has exactly one owner in the end."""
    fairness = record["fairness"]
    return not fairness["unowned_queues"] and not fairness["double_owned_queues"]


def capacities_equal(records: Sequence[Record | SharedRecord]) -> bool:
    """Whether the members can handle as many records per second in every variant, so that lag and what follows from it
    can be compared."""
    return len({record["capacity_per_s"] for record in records}) < 2


BEHIND_SHARE: Final = 0.01
"""Of all records that were written: if more wait at the end, the work is not done."""


def is_behind(work: WorkRecord, least_waiting: float = 0.0) -> bool:
    """Whether more records wait at the end than are on their way in any system, or wait in every variant."""
    return work["waiting"] - least_waiting > work["written"] * BEHIND_SHARE


def records_lost(record: Record | SharedRecord) -> int:
    """Records that could not be written or that nobody handles any more."""
    work = record["harm"]["work"]
    return 0 if work is None else work["lost"]


def left_undone(
    record: Record | SharedRecord,
    spread: Mapping[str, Spread] | None = None,
    least_lost: float = 0.0,
    least_waiting: float = 0.0,
) -> list[str]:
    """Why a run cannot be compared with others who did the same work; of figures over many seeds (``spread``): because
    more than one run in 20 did not. Empty where the group settled with one owner for every queue, and handled all
    records but so many that every variant loses (``least_lost``) or leaves waiting (``least_waiting``)."""
    work = record["harm"]["work"]
    if spread is None:
        lost, behind = records_lost(record) > least_lost, work is not None and is_behind(work, least_waiting)
        complete = ends_complete(record)
    else:
        waiting, written = (spread[f"harm.work.{name}"] for name in ("waiting", "written"))
        lost = (spread["harm.work.lost"]["p95"] or 0) > least_lost
        behind = (waiting["p95"] or 0) - least_waiting > (written["median"] or 0) * BEHIND_SHARE
        complete = usually_ends_complete(spread)
    said = {
        "more records lost than in another variant": lost,
        "records left waiting": behind,
        "ownership that does not settle": shares(record) and not usually_settles(record, spread),
        "records that find no rest": not shares(record) and not usually_settles(record, spread),
        "queues left without one owner": not complete,
    }
    return [words for words, holds in said.items() if holds]


def usually_settles(record: Record | SharedRecord, spread: Mapping[str, Spread] | None) -> bool:
    """The run came to rest; of figures over many seeds: 19 of 20 runs did."""
    return record["harm"]["settled"] if spread is None else spread["harm.settled"]["p5"] == 1


def usually_ends_complete(spread: Mapping[str, Spread]) -> bool:
    """Of a variant's figures over many seeds: 19 of 20 runs end so."""
    return not any(spread[path]["p95"] for path in OPEN_ENDS)


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
        check_record: CheckRecord = {"name": self.name, "held": self.held, "demanded": self.demanded}
        if not self.held:
            check_record["why"], check_record["story"] = self.why, list(self.story)
        return check_record


def properties_of(result: RunResult) -> list[PropertyResult]:
    """Which of the properties that one would wish of any system held in the run."""
    return measure(result.timeline, _expected(result))


def has_settled(result: RunResult) -> bool:
    """The same as `settled` of its `properties_of`, without the others."""
    return settled(measure(result.timeline, _expected(result), [SETTLES]))


def settled(measured: Sequence[PropertyResult]) -> bool:
    """Whether ownership came to rest, with one owner for every queue, by the properties of the run."""
    return next(property_result.held for property_result in measured if property_result.name == SETTLES)


def checks_of(result: RunResult, measured: Sequence[PropertyResult], found: Record) -> list[Check]:
    """All checks of a variant, those that are demanded first. ``measured``: its `properties_of`; ``found``: its record,
    for its figures."""
    settles = next(property_result for property_result in measured if property_result.name == SETTLES)
    expect = result.variant.scenario.expect
    demanded = []
    for name in ExpectPart.model_fields:
        limit = None if expect is None else getattr(expect, name)
        if limit is None:
            continue
        why = _breach(name, limit, found)
        if name == "settles_within" and not why and not settles.held:
            why = settles.why
        story = settles.story if name == "settles_within" else ()
        demanded.append(Check(name, not why, True, why, story if why else ()))
    wished = [
        Check(property_result.name, property_result.held, False, property_result.why, property_result.story)
        for property_result in measured
    ]
    return [*demanded, *wished]


def _expected(result: RunResult) -> Iterator[tuple[str, Queue] | tuple[str, Queue, str]]:
    """What must have an owner at the end; where a group is broadcasting, who must read what."""
    broadcasting = result.timeline.broadcasting
    yield from (each for each in result.ending.expected() if each[0] not in result.timeline.not_shared)
    for group in sorted(broadcasting):
        there = result.ending.groups[group]
        for topic, who in there.subscribers().items():
            yield from ((group, queue, there.members[at].id) for queue in there.topics[topic] for at in who)


def demanded_figure(demand: str, found: Record) -> tuple[str, str]:
    """The path of the figure that an expectation limits, and what it is called: order is that of keys, where records
    have some."""
    if demand == "in_order" and found["out_of_order"]["key"] is not None:
        return "out_of_order.key", "records out of the order of their key"
    return DEMANDS[demand]


def _breach(demand: str, limit: float, found: Record) -> str:
    """What is wrong where a value is above its limit; empty where it is not (or is not known)."""
    path, what = demanded_figure(demand, found)
    if demand == "in_order":
        # By key where there are keys; true allows no record, and false asks for nothing.
        limit = 0 if limit else inf
    value, unit = figure(found, path), METRICS[path].unit
    if value is None or value * (1000 if unit == "s" else 1) <= limit:
        return ""
    if unit == "s":
        return f"{what} is {value:g}s, expected at most {duration_text(limit)}"
    if demand == "in_order":
        return f"{many(int(value), 'record')} out of the order of their {path.rpartition('.')[2]}, expected none"
    said = " queue-seconds" if unit == "queue-s" else ""
    return f"{what} is {value:g}{said}, expected at most {limit:g}{said}"
