"""Which of what was tried nothing else beats, and what to choose when.

One is better than another in a figure only where it is so in every seed: the same seed shifts starts and events alike,
so that runs are compared pair by pair. Everything else is "no difference seen". One beats another that is better in
some figure and worse in none, or that needs fewer changes for the same figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from compare.advising.tries import Try, with_settings
from compare.documents.comparison import AdviceRecord, ConditionRecord, Spread, TriedRecord
from compare.figures import Figure
from compare.figures.metric import alike
from compare.figures.metrics import METRICS
from compare.formatting import amount
from compare.running.spread import spread
from protocols.scenario.fields import listed


@dataclass(frozen=True, slots=True)
class Concern:
    """What may matter to somebody: in words, and the paths of the figure that tells it, the first that runs have.
    ``says``: the figure in a sentence."""

    words: str
    paths: tuple[str, ...]
    says: str
    scale: float = 1.0


LOST: Final = (
    Concern("records lost", ("harm.work.lost",), "records lost"),
    Concern("records refused", ("harm.work.refused",), "records not written"),
)
"""Come before all others: nobody is advised to lose records."""

CONCERNS: Final = (
    Concern("pauses", ("harm.no_progress_queue_s", "unowned_queue_s"), "queue-s without progress"),
    Concern("duplicates", ("redelivered",), "records handled more than once"),
    Concern("the age of records", ("record_age_ms.settled_p99",), "s p99 age of records", 0.001),
    Concern("order", ("out_of_order.key", "out_of_order.queue"), "records out of order"),
    Concern("a backlog at the end", ("harm.work.waiting",), "records waiting at the end"),
    Concern("requests", ("traffic.requests_per_s",), "requests/s"),
    Concern("capacity", ("capacity_per_s",), "records/s that members must be able to handle"),
)
PAUSES, DUPLICATES = CONCERNS[:2]
COST = CONCERNS[-2]


@dataclass(frozen=True, slots=True)
class Measured:
    """A try and the figures of its runs, in the order of the seeds."""

    tried: Try
    runs: Sequence[Mapping[str, Figure]]

    def values(self, concern: Concern) -> list[float] | None:
        """One of each run; None where a run has none."""
        path = self.path(concern)
        values = [] if path is None else [run.get(path) for run in self.runs]
        known = [float(value) for value in values if value is not None]
        return known if known and len(known) == len(self.runs) else None

    def path(self, concern: Concern) -> str | None:
        return next((path for path in concern.paths if self.runs and self.runs[0].get(path) is not None), None)

    def better(self, other: "Measured", concern: Concern) -> bool:
        ours, theirs, path = self.values(concern), other.values(concern), self.path(concern)
        if ours is None or theirs is None or path is None:
            return False
        return all(their - mine > alike(path, mine, their) for mine, their in zip(ours, theirs, strict=True))

    def beats(self, other: "Measured", concerns: Sequence[Concern] = (*LOST, *CONCERNS)) -> bool:
        better = any(self.better(other, concern) for concern in concerns)
        if better or self.tried.changed >= other.tried.changed:
            return better and not any(other.better(self, concern) for concern in concerns)
        # A change that changes nothing is none.
        return all(self.values(concern) == other.values(concern) for concern in concerns)

    def figures(self) -> dict[str, Spread]:
        paths = [path for concern in (*LOST, *CONCERNS) for path in (self.path(concern),) if path is not None]
        return spread([{path: run.get(path) for path in paths} for run in self.runs])


def name_of(tried: TriedRecord) -> str:
    """ "kafka:range with max.poll.records 50 and threads 4"."""
    return with_settings(tried["variant"], tried["settings"])


def unbeaten(measured: Sequence[Measured]) -> list[int]:
    """Places of those that no other beats."""
    return [
        at
        for at, one in enumerate(measured)
        if not any(other.beats(one) for place, other in enumerate(measured) if place != at)
    ]


def advice(measured: Sequence[Measured], not_tried: str) -> AdviceRecord:
    """What was tried, and what to choose when."""
    places = unbeaten(measured)
    return {
        "tried": [
            {"variant": each.tried.base, "settings": dict(each.tried.settings), "figures": each.figures()}
            for each in measured
        ],
        "unbeaten": places,
        "conditions": conditions([measured[at] for at in places]),
        "seeds": max((len(each.runs) for each in measured), default=0),
        "not_tried": not_tried,
    }


def conditions(choice: Sequence[Measured]) -> list[ConditionRecord]:
    """When to take which of those that nothing beats."""
    safe = _kept(choice, LOST)
    differing = [concern for concern in CONCERNS if any(a.better(b, concern) for a in safe for b in safe)]
    if not safe:
        return []
    winners: dict[int, list[Concern]] = {}
    for concern in differing:
        others = [each for each in CONCERNS if each != concern]
        winner = min(_kept(safe, (concern, *others)), key=lambda each: (each.tried.changed, safe.index(each)))
        winners.setdefault(safe.index(winner), []).append(concern)
    if len(winners) < 2:
        best = safe[next(iter(winners))] if winners else min(safe, key=lambda each: each.tried.changed)
        when = _NO_DIFFERENCE
        if differing:
            when = f"whatever matters, as nothing is better in {listed(concern.words for concern in differing)}"
        return [_condition(when, best, safe, differing)]
    found = []
    for at, own in winners.items():
        # What one gives up for it: another is better there, and worse in what this one is chosen for.
        dearer = [safe[other] for other in winners if any(safe[at].better(safe[other], concern) for concern in own)]
        worse = [concern for concern in differing if any(other.better(safe[at], concern) for other in dearer)]
        than = f" more than {_either(worse)}" if worse else ""
        found.append(_condition(f"{_either(own)} matter{'s' if _is_one(own) else ''}{than}", safe[at], safe, own))
    return found


_NO_DIFFERENCE = "whatever matters, as no difference was seen"


def _kept(choice: Sequence[Measured], concerns: Sequence[Concern]) -> list[Measured]:
    """Those than which nobody is better in the first concern; of these those in the second; and so on."""
    left = list(choice)
    for concern in concerns:
        left = [one for one in left if not any(other.better(one, concern) for other in left)]
    return left


def _either(concerns: Sequence[Concern]) -> str:
    *most, last = [concern.words for concern in concerns]
    return f"{', '.join(most)} or {last}" if most else last


def _is_one(concerns: Sequence[Concern]) -> bool:
    return concerns[-1].words not in ("pauses", "duplicates", "requests")


def _condition(when: str, best: Measured, safe: Sequence[Measured], own: Sequence[Concern]) -> ConditionRecord:
    alike = [
        other.tried.name
        for other in safe
        if other is not best and not any(best.better(other, concern) for concern in own or CONCERNS)
    ]
    return {
        "if": when,
        "then": best.tried.name,
        "figures": best.figures(),
        "told": _told(best, own),
        "no_difference_to": alike,
    }


def _told(best: Measured, own: Sequence[Concern]) -> str:
    """The figures that a reader weighs: "4.2 queue-s without progress (3.1 to 5), 0 records handled more than once" """
    shown = [concern for concern in (*LOST, *CONCERNS) if _is_told(best, concern, own)]
    return ", ".join(figure_text(best, concern) for concern in shown)


def _is_told(best: Measured, concern: Concern, own: Sequence[Concern]) -> bool:
    values = best.values(concern)
    if values is None:
        return False
    return (
        concern in own
        or concern in (PAUSES, DUPLICATES)
        or concern.paths[0] == "record_age_ms.settled_p99"
        or (concern in LOST and max(values) > 0)
    )


def figure_text(measured: Measured, concern: Concern) -> str:
    path = measured.path(concern)
    if path is None:
        return f"- {concern.says}"
    figures = measured.figures()[path]
    median, low, high = (amount((figures[name] or 0.0) * concern.scale) for name in ("median", "p5", "p95"))
    says = METRICS[path].words if path == "unowned_queue_s" else concern.says
    told = f"{median} {says}"
    return told if low == high else f"{told} ({low} to {high})"
