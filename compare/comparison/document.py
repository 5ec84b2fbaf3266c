"""The document of a scenario: a record per run, what many seeds give, and the verdict."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from compare.documents.comparison import Record, ScenarioDocument, SeedsRecord, VerdictRecord
from compare.explaining.side_by_side import side_by_side
from compare.explaining.verdict import verdict
from compare.narrative.assumptions import assumptions
from compare.running.runs import MeasuredRun
from compare.running.spread import spread
from protocols.scenario.model import Scenario

Measured: TypeAlias = tuple[Scenario, Sequence[MeasuredRun], ScenarioDocument]
"""A scenario, its runs, and its document."""


def document(
    scenario: Scenario, runs: Sequence[MeasuredRun], asked: Mapping[str, int] = MappingProxyType({})
) -> ScenarioDocument:
    """``assumptions``: what the comparison rests on. ``variants``: the records there are, in the order of the runs.
    ``seeds``, where a variant ran with several, or should have (``asked``: label to number of runs): label to its
    number of runs and the spread of their figures. ``verdict``: sentences, those about all variants first; ``figures``
    names the values that a sentence rests on (per label where it is about several)."""
    records = [run.record for run in runs if run.record is not None]
    first: dict[str, Record] = {}
    for record in records:
        first.setdefault(record["label"], record)
    by_label: dict[str, list[MeasuredRun]] = {}
    for run in runs:
        by_label.setdefault(run.variant.label, []).append(run)
    seeds = {
        label: _seeds(of_label, asked.get(label, len(of_label)))
        for label, of_label in by_label.items()
        if max(len(of_label), asked.get(label, 0)) > 1
    }
    found: ScenarioDocument = {
        "scenario": scenario.name,
        "assumptions": assumptions([of_label[0].variant for of_label in by_label.values()]),
        "variants": records,
        "verdict": list(_verdict(list(first.values()), seeds)),
    }
    if seeds:
        found["seeds"] = seeds
    return found


def _seeds(runs: Sequence[MeasuredRun], asked: int) -> SeedsRecord:
    found: SeedsRecord = {"runs": len(runs), "figures": spread([run.figures for run in runs])}
    if asked != len(runs):
        found["asked"] = asked
    return found


def _verdict(records: Sequence[Record], seeds: Mapping[str, SeedsRecord]) -> Iterable[VerdictRecord]:
    for sentence, figures in side_by_side(records):
        yield {"label": None, "sentence": sentence.text, "figures": figures}
    for record in records:
        over = seeds.get(record["label"])
        for sentence in verdict(record, None if over is None else over["figures"]):
            yield {"label": record["label"], "sentence": sentence.text, "figures": dict(sentence.figures)}
