"""How variants stand beside each other: a row per variant with the best value of each column, how the figures vary over
seeds, and in a sentence who is best at what.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from compare.documents.audit import ToldInPart, UntoldRecord
from compare.documents.comparison import Record, SeedsRecord
from compare.explaining.missing_figures import missing_figure_sentences
from compare.figures import Figure
from compare.figures.metric import alike
from compare.figures.metrics import ALONE, COLUMNS, COMPARED, GROUPS, HURTING, ON_CAPACITY, SETTLED, Metric
from compare.formatting import metric_text, number, variant_name
from compare.running.checks import (
    capacities_equal,
    does_the_same_work,
    left_undone,
    usually_settles,
)
from compare.running.spread import figure
from protocols.scenario.fields import listed

Seeds = Mapping[str, SeedsRecord]

MOST_NAMED = 3
"""Variants that are named as the best of a group; of more their number is told."""


@dataclass(frozen=True, slots=True)
class Cell:
    """``range``: over the seeds, empty where there is none. ``bad``: somebody is worse off than need be."""

    metric: Metric
    text: str
    range: str = ""
    best: bool = False
    bad: bool = False

    @property
    def whole(self) -> str:
        """``12 (9–15)``, just ``12`` where nearly all runs have the same."""
        return f"{self.text} ({self.range})" if self.range else self.text


def rows(records: Sequence[Record], seeds: Seeds) -> list[list[Cell]]:
    """Per record its cells, in the order of `COMPARED`. ``seeds``: label to the figures that stand for its record."""
    values = [[_value(record, metric.path, seeds) for metric in COMPARED] for record in records]
    work = _Work.of(records, seeds)
    best = [_starred(metric, records, [row[at] for row in values], work) for at, metric in enumerate(COMPARED)]
    found = []
    for place, (record, row) in enumerate(zip(records, values, strict=True)):
        over = seeds.get(record["label"])
        settles = usually_settles(record, None if over is None else over["figures"])
        cells = []
        for metric, (value, low, high), those in zip(COMPARED, row, best, strict=True):
            if metric.unit == "range":
                cells.append(Cell(metric, _loads(record, metric.path, seeds)))
                continue
            ends = _text(metric, low), _text(metric, high)
            cells.append(
                Cell(
                    metric,
                    "never"
                    if metric.path == SETTLED and not settles
                    else _bound(record, metric, seeds) + _text(metric, value),
                    "" if ends[0] == ends[1] else _span(*ends),
                    those[place],
                    metric.is_bad and bool(value),
                )
            )
        found.append(cells)
    return found


def known(table: Sequence[Sequence[Cell]]) -> list[int]:
    """Places of the columns of `rows` in which any variant has a value; all, where there is no row."""
    return [
        at
        for at in range(len(COMPARED))
        if not table or any(row[at].text != _text(row[at].metric, None) for row in table)
    ]


def untold_sentences(records: Sequence[Record], table: Sequence[Sequence[Cell]]) -> list[str]:
    """Why `rows` have no value where they have those of other variants, one sentence per reason."""
    headings = {COMPARED[at].path: COMPARED[at].heading.partition(",")[0] for at in known(table)}
    groups: list[ToldInPart] = []
    for record, row in zip(records, table, strict=True):
        missing = [cell.metric for cell in row if cell.text == number(None) and cell.metric.path in headings]
        told: list[UntoldRecord] = [
            {"figures": [metric.path for metric in missing if _is_among(metric, each["figures"])], "why": each["why"]}
            for each in record["untold"]
        ]
        groups.append({"group": record["label"], "partial": None, "untold": told})
    return missing_figure_sentences(groups, headings)


def _is_among(metric: Metric, figures: Sequence[str]) -> bool:
    path = f"{metric.path}.min" if metric.unit == "range" else metric.path
    return any(f"{path}.".startswith(f"{each}.") for each in figures)


def _value(record: Record, path: str, seeds: Seeds) -> "_Values":
    over = seeds.get(record["label"])
    if over is None or path not in over["figures"]:
        value = None if path in ("fairness", "optimum") else figure(record, path)
        return value, value, value
    spread = over["figures"][path]
    return spread["median"], spread["p5"], spread["p95"]


class _Work(NamedTuple):
    """Of each variant whether it is ``compared``, and what it left ``undone``."""

    compared: list[bool]
    undone: list[list[str]]

    @classmethod
    def of(cls, records: Sequence[Record], seeds: Seeds) -> "_Work":
        """Who shares no queues, because its groups are broadcasting, is best at nothing beside others who do. Records
        that are lost, or wait, in every variant count for none: what a broker that is down cannot take in any system,
        what nobody's code can handle, or what a group without members is to read, is the same work for all."""
        same = [does_the_same_work(each) for each in records]
        compared = same if any(same) else [True for _ in records]
        overs = [seeds.get(record["label"]) for record in records]
        least = [
            min(
                (
                    ceil((figure(record, path) if over is None else over["figures"][path]["p95"]) or 0)
                    for record, over, counts in zip(records, overs, compared, strict=True)
                    if counts
                ),
                default=0,
            )
            for path in ("harm.work.lost", "harm.work.waiting")
        ]
        undone = [
            left_undone(record, None if over is None else over["figures"], *least)
            for record, over in zip(records, overs, strict=True)
        ]
        return cls(compared, undone)

    @property
    def may_be_best(self) -> list[bool]:
        return [counts and not why for counts, why in zip(self.compared, self.undone, strict=True)]


_Values = tuple[Figure, Figure, Figure]
"""Median, 5th and 95th percentile."""

_UNKNOWN: _Values = (None, None, None)


def _starred(metric: Metric, records: Sequence[Record], values: Sequence[_Values], work: _Work) -> list[bool]:
    """Of each variant whether it is among the best, where these are not all."""
    best = _best_of(metric, records, values, work)
    compared = zip(values, work.compared, strict=True)
    return best if best != [counts and value[0] is not None for value, counts in compared] else [False] * len(best)


def _best_of(metric: Metric, records: Sequence[Record], values: Sequence[_Values], work: _Work) -> list[bool]:
    """Of each variant whether nobody beats it by more than chance; of none where that cannot be said."""
    may = work.may_be_best
    of_compared = [value if counts else _UNKNOWN for value, counts in zip(values, work.compared, strict=True)]
    comparable = capacities_equal(records) or metric.path not in ON_CAPACITY
    top = _best(metric, [value for value, _, _ in of_compared], may) if comparable else None
    if top is None:
        return [False for _ in records]
    first = next(value for value, allowed in zip(of_compared, may, strict=True) if allowed and value[0] == top)
    return [
        allowed and value[0] is not None and _is_as_good(metric, value, first)
        for value, allowed in zip(of_compared, may, strict=True)
    ]


def _best(metric: Metric, values: Sequence[Figure], may: Sequence[bool]) -> Figure:
    """The best value of those who may have it; None where nobody is better than the rest, or where somebody who may not
    have it is better in what counts all the same (`ALONE`), or is just better than the only one who may."""
    known = [value for value in values if value is not None]
    allowed = [value for value, each in zip(values, may, strict=True) if each and value is not None]
    if not metric.better or not allowed:
        return None
    nobody_less = all(may) or metric.path in HURTING
    if nobody_less and max(known) - min(known) <= alike(metric.path, min(known), max(known)):
        return None
    least = min if metric.better < 0 else max
    alone = metric.path in ALONE or len(allowed) < 2
    return None if alone and not _is_no_worse(metric, least(allowed), least(known)) else least(allowed)


def _is_no_worse(metric: Metric, one: float, best: float) -> bool:
    """Whether a value is the best one, or as good."""
    return (best - one) * metric.better <= alike(metric.path, one, best)


def _bound(record: Record, metric: Metric, seeds: Seeds) -> str:
    """``≥`` before an age that records make a lower bound that wait at the end; of figures over seeds: in half of the
    runs or more."""
    of, _, name = metric.path.partition(".")
    if of != "record_age_ms":
        return ""
    share, _, _ = _value(record, f"record_age_ms.bounded.{name}", seeds)
    bounded = name in record["record_age_ms"]["at_least"] if share is None else share >= 0.5
    return "≥ " if bounded else ""


def _loads(record: Record, path: str, seeds: Seeds) -> str:
    """The least and the most that a member has, or would have: medians, where there are several runs."""
    if path == "fairness":
        least, most = (_value(record, f"fairness.{end}", seeds)[0] for end in ("min", "max"))
    else:
        least, most = record["optimum"]["min"], record["optimum"]["max"]
    return _span(number(least), number(most))


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low}–{high}"


def _text(metric: Metric, value: Figure) -> str:
    """Three or four digits are enough to compare by; JSON has all."""
    if value is None or metric.unit == "ratio" or value < 10 or (float(value).is_integer() and value < 1000):
        return metric_text(metric, value)
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


@dataclass(frozen=True, slots=True)
class Decision:
    """A group of metrics and the one that decides it. ``best``: names of the variants that nobody beats by more than
    chance, none where that cannot be said; ``medians``: of each variant that has one; ``low``, ``high``: the least and
    the highest value, and who has it."""

    group: str
    metric: Metric
    differs: bool
    best: tuple[str, ...]
    medians: Mapping[str, float]
    low: tuple[str, tuple[str, ...]]
    high: tuple[str, tuple[str, ...]]

    @property
    def ends(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The better one of the two first."""
        return (self.low, self.high) if self.metric.better < 0 else (self.high, self.low)


def decisions(records: Sequence[Record], seeds: Seeds) -> list[Decision]:
    """What decides each group of which something is known, in the order of `GROUPS`."""
    return _decisions(records, seeds, _Work.of(records, seeds))


def _decisions(records: Sequence[Record], seeds: Seeds, work: _Work) -> list[Decision]:
    found = []
    are_written = any(_value(record, "harm.work.written", seeds)[0] for record in records)
    for group in GROUPS:
        for metric in COLUMNS[group]:
            values = [_value(record, metric.path, seeds) for record in records]
            known = {
                record["label"]: value
                for record, (value, _, _), counts in zip(records, values, work.compared, strict=True)
                if counts and value is not None
            }
            if metric.better and known and (are_written or not metric.is_of_records):
                best = zip(records, _best_of(metric, records, values, work), strict=True)
                labels = dict.fromkeys(record["label"] for record, is_best in best if is_best)
                found.append(_decision(group, metric, known, tuple(labels)))
                break
    return found


def _decision(group: str, metric: Metric, known: Mapping[str, float], best: tuple[str, ...]) -> Decision:
    low, high = min(known.values()), max(known.values())
    return Decision(
        group,
        metric,
        high - low > alike(metric.path, low, high) and len(best) < len(known),
        best,
        known,
        (_text(metric, low), tuple(label for label in known if known[label] == low)),
        (_text(metric, high), tuple(label for label in known if known[label] == high)),
    )


def _is_as_good(metric: Metric, one: _Values, best: _Values) -> bool:
    """Whether the ranges over the seeds meet, so that chance may decide between the two."""
    near, far = (1, 2) if metric.better < 0 else (2, 1)
    return _is_no_worse(metric, one[near] or 0, best[far] or 0)


def named(records: Sequence[Record], labels: Sequence[str]) -> str:
    """The variants by name; of many, how many they are."""
    if len(labels) == len(records) > 1:
        return f"all {len(records)} variants" if len(records) > 2 else "both variants"
    if len(labels) > MOST_NAMED:
        return f"{len(labels)} of {len(records)} variants"
    return listed([variant_name(record) for record in records if record["label"] in labels])


def headline(records: Sequence[Record], seeds: Seeds) -> str:
    """Who is best at what, by the figure that decides each group; empty where there is only one variant."""
    if len(records) < 2:
        return ""
    work = _Work.of(records, seeds)
    made = _decisions(records, seeds, work)
    won = [decision for decision in made if decision.differs and decision.best]
    undecided = [decision for decision in made if decision.differs and not decision.best]
    every = set.intersection(*(set(decision.best) for decision in won)) if won else set()
    if not won:
        alike = [decision.group for decision in made if not decision.differs]
        by_chance = " by more than chance" if seeds else ""
        told = [f"The variants do not differ{by_chance} in {listed(alike)}"] if alike else []
    elif every:
        best = named(records, [label for label in won[0].best if label in every])
        figures = listed(f"{decision.group} ({_figure(decision, every)})" for decision in won)
        all_of_it = "" if undecided else "all that differs: "
        told = [f"{best} {'is' if len(every) == 1 else 'are'} best at {all_of_it}{figures}"]
    else:
        told = [
            f"for {decision.group}, {named(records, decision.best)}"
            + (f" {'is' if len(decision.best) == 1 else 'are'} best" if decision is won[0] else "")
            + f" ({_figure(decision, decision.best)})"
            for decision in won
        ]
        told[0] = f"It depends: {told[0]}"
    told += _undecided(records, undecided, work)
    text = "; ".join(told)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _figure(decision: Decision, labels: Collection[str]) -> str:
    """The medians of these variants: from the best to the worst of them."""
    values = sorted(decision.medians[label] for label in labels)
    low, high = (_text(decision.metric, value) for value in (values[0], values[-1]))
    return _with_unit(decision.metric, low if low == high else f"{low} to {high}")


def _with_unit(metric: Metric, value: str) -> str:
    """A heading such as "age p99, ms" stands over a column of numbers; in a sentence the unit follows the number."""
    name, _, unit = metric.heading.partition(", ")
    return f"{name}: {value} {unit}".rstrip()


def _undecided(records: Sequence[Record], undecided: Sequence[Decision], work: _Work) -> Iterator[str]:
    unlike = not capacities_equal(records)
    apart = [decision.group for decision in undecided if unlike and decision.metric.path in ON_CAPACITY]
    if apart:
        are = "is" if len(apart) == 1 else "are"
        yield f"{listed(apart)} {are} not compared, because members can handle more in some variants than in others"
    undone = {record["label"]: why for record, why in zip(records, work.undone, strict=True)}
    alike: dict[str, list[Decision]] = {}
    for decision in undecided:
        if decision.group not in apart:
            _, labels = decision.ends[0]
            reasons = dict.fromkeys(words for label in labels for words in undone[label])
            alike.setdefault(listed(reasons), []).append(decision)
    for why, of in alike.items():
        figures = "; ".join(
            f"{_with_unit(decision.metric, decision.ends[0][0])} with {named(records, decision.ends[0][1])}"
            for decision in of
        )
        groups = listed(decision.group for decision in of)
        yield f"for {groups} nobody is best, because the best figures come with {why} ({figures})"
