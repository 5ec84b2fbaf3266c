"""Stories and sequence diagrams of single variants, in place of a comparison.

Stories as a report: the pages of `compare`, with its player.
"""

from collections.abc import Sequence
from typing import NamedTuple

import click

from compare.explaining.brief_story import brief_story
from compare.explaining.document import Measured, document
from compare.exploring.properties import Subject
from compare.exploring.story import Step, as_run
from compare.formatting import visible
from compare.running.chart_data import chart_data_of
from compare.running.phases import phases_of
from compare.running.record import run_record
from compare.running.run_variant import RunResult, run_variant
from compare.running.runs import MeasuredRun, Plan, failures
from compare.running.systems import system_of
from compare.running.variants import Variant
from compare.showing.comparison.page import write_comparison
from protocols.errors import UserError
from protocols.scenario.model import Scenario
from protocols.timeline.sequence import sequence, sequence_diagram
from protocols.timeline.story import story


class Telling(NamedTuple):
    """What is asked for: labels of variants whose story is told (``length`` is ``brief`` or ``full``), and of those
    whose messages are drawn (``diagram`` is ``mermaid`` or ``svg``)."""

    stories: Sequence[str]
    length: str
    sequences: Sequence[str]
    diagram: str

    @property
    def labels(self) -> set[str]:
        """All variants that are asked for."""
        return {*self.stories, *self.sequences}

    def of(self, plans: Sequence[Plan]) -> list[Plan]:
        """The plans with these variants alone. Raises `UserError` for one that is in none."""
        there = list(dict.fromkeys(variant.label for plan in plans for variant in plan.variants))
        for label in (*self.stories, *self.sequences):
            if label not in there:
                raise UserError(f"no variant {label!r}, expected one of {', '.join(there)}")
        return [plan.of_labels(self.labels) for plan in plans]

    def tell(self, plans: Sequence[Plan]) -> list[str]:
        """Run the variants and print; returns what scenarios expect and does not hold, a line each."""
        failed = []
        for plan in plans:
            for variant in plan.variants:
                with plan.naming():
                    result = run_variant(plan.lived(variant), tracing=variant.label in self.sequences, full=plan.full)
                failed += failed_checks(plan.scenario, variant, failures(run_record(result)))
                if variant.label in self.stories:
                    _print(brief_story(result) if self.length == "brief" else story(result.timeline))
                if variant.label in self.sequences:
                    _print(sequence(result.timeline) if self.diagram == "mermaid" else _picture(result))
        return failed


def failed_checks(scenario: Scenario, variant: Variant, failed: Sequence[tuple[str, str]]) -> list[str]:
    """Lines about the checks that a variant failed; ``failed``: name and reason."""
    return [f"{scenario.name}: {variant.label}: {name}: {why}" for name, why in failed]


def _picture(result: RunResult) -> str:
    from compare.showing.pictures.messages import sequence_picture

    title = f"{result.variant.scenario.name}: {result.variant.label}"
    return sequence_picture(sequence_diagram(result.timeline), title).svg


def _print(text: str) -> None:
    click.echo("".join(f"{visible(line)}\n" for line in text.splitlines()), nl=False)


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
