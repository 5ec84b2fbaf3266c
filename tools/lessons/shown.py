"""Forms in which lessons show a run: a Mermaid sequence of a part of it, a brief story, a table."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from compare.explaining.brief_story import brief_story
from compare.running.run_variant import RunResult, run_variant
from compare.running.systems import read
from compare.running.variants import variants_of
from protocols.scenario.reading import read_text
from protocols.timeline.sequence import sequence

SCENARIOS = Path(__file__).parents[2] / "examples" / "scenarios"


@cache
def traced(scenario: str, label: str) -> RunResult:
    """An example by its name, or the text of a scenario, run by one variant with every message kept."""
    given = read_text(scenario) if "\n" in scenario else read(SCENARIOS / f"{scenario}.yaml")
    (variant,) = variants_of(given, [label])
    return run_variant(variant, tracing=True)


def messages(scenario: str, label: str, since: float, until: float) -> Callable[[], str]:
    """The messages between two times in seconds as a Mermaid diagram."""
    return lambda: f"mermaid\n{sequence(traced(scenario, label).timeline, since * 1000, until * 1000)}"


def story(scenario: str, label: str) -> Callable[[], str]:
    """The run in at most 20 lines."""
    return lambda: f"text\n{brief_story(traced(scenario, label))}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns of text, as wide as their widest cell."""
    lines = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
    return "text\n" + "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
