"""Stories as a report: the pages of `compare`, with its player."""

from collections.abc import Sequence

from compare.comparison.document import Measured, document
from compare.comparison.report.page import write_comparison
from compare.exploring.replaying import as_run
from compare.exploring.story import Step
from compare.exploring.subject import Subject
from compare.running.chart_data import chart_data_of
from compare.running.phases import phases_of
from compare.running.record import run_record
from compare.running.runs import MeasuredRun
from compare.running.systems import system_of


def write_report(subject: Subject, stories: Sequence[tuple[str, Sequence[Step]]]) -> str:
    """One page; each story (the property's name and its steps) is a scenario of its own."""
    return write_comparison([_measured(subject, name, steps) for name, steps in stories])


def _measured(subject: Subject, name: str, steps: Sequence[Step]) -> Measured:
    result = as_run(subject, steps)
    variant = result.variant
    phases = phases_of(variant.scenario, system_of(variant.part.system).numbering)
    record = run_record(result, phases)
    run = MeasuredRun(variant, record, {}, (), chart_data_of(result, phases))
    about = f"A story of {len(steps)} steps that violates {name}; each step takes a tenth of a second here."
    told = variant.scenario.model_copy(update={"name": f"{variant.scenario.name}: {name}", "about": about})
    return told, [run], document(told, [run])
