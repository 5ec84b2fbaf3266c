"""Stories and sequence diagrams of single variants, in place of a comparison."""

from collections.abc import Sequence
from typing import NamedTuple

import click

from compare.console.output import visible
from compare.explaining.brief_story import brief_story
from compare.running.record import run_record
from compare.running.run_variant import RunResult, run_variant
from compare.running.runs import Plan, failures
from compare.running.variants import Variant
from protocols.errors import UserError
from protocols.scenario.model import Scenario
from protocols.timeline.mermaid import sequence
from protocols.timeline.sequence import sequence_diagram
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
    from compare.pictures.sequence import sequence_picture

    title = f"{result.variant.scenario.name}: {result.variant.label}"
    return sequence_picture(sequence_diagram(result.timeline), title).svg


def _print(text: str) -> None:
    click.echo("".join(f"{visible(line)}\n" for line in text.splitlines()), nl=False)
