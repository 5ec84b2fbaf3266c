"""The document of a scenario: a record per run, what many seeds give, and the verdict."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from compare.comparison.runs import MeasuredRun
from compare.measure.runs.spread import spread
from compare.narrative.side_by_side import side_by_side
from compare.narrative.verdict import verdict
from protocols.scenario.model import Scenario


def document(scenario: Scenario, runs: Sequence[MeasuredRun]) -> dict[str, Any]:
    """``variants``: the records there are, in the order of the runs. ``seeds``, where a variant ran with several: label
    to its number of runs and the spread of their figures. ``verdict``: sentences, those about all variants first;
    ``figures`` names the values that a sentence rests on (per label where it is about several)."""
    records = [run.record for run in runs if run.record is not None]
    first: dict[str, dict[str, Any]] = {}
    for record in records:
        first.setdefault(record["label"], record)
    by_label: dict[str, list[MeasuredRun]] = {}
    for run in runs:
        by_label.setdefault(run.variant.label, []).append(run)
    seeds = {
        label: {"runs": len(of_label), "figures": spread([run.figures for run in of_label])}
        for label, of_label in by_label.items()
        if len(of_label) > 1
    }
    found: dict[str, Any] = {"scenario": scenario.name, "variants": records}
    if seeds:
        found["seeds"] = seeds
    found["verdict"] = list(_verdict(list(first.values()), seeds))
    return found


def _verdict(records: Sequence[Mapping[str, Any]], seeds: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for sentence, figures in side_by_side(records):
        yield {"label": None, "sentence": sentence.text, "figures": figures}
    for record in records:
        over = seeds.get(record["label"])
        for sentence in verdict(record, over and over["figures"]):
            yield {"label": record["label"], "sentence": sentence.text, "figures": dict(sentence.figures)}
