"""Diagrams that pages show: the state machines, from the tables that models run from, and the messages of a run."""

from functools import cache
from pathlib import Path

from compare.running.run_variant import run_variant
from compare.running.systems import MACHINES, read
from compare.running.variants import variants_of
from compare.showing.states import states
from protocols.timeline.sequence import sequence

ROOT = Path(__file__).parents[2]
MACHINES_MARK = "<!-- state machines -->"
MESSAGES_MARK = "<!-- messages from the start to the first pull -->"


def pictures() -> dict[str, str]:
    """``pictures/states-SYSTEM-NAME.svg`` of every machine."""
    return {path(system, name): states(system, name).svg for system, names in MACHINES.items() for name in names}


def path(system: str, name: str) -> str:
    """Where the picture of a machine is."""
    return f"pictures/states-{system}-{name.replace(' ', '-')}.svg"


def with_diagrams(markdown: str) -> str:
    """The page with diagrams in the place of their marks."""
    if MACHINES_MARK in markdown:
        markdown = markdown.replace(MACHINES_MARK, _machines())
    if MESSAGES_MARK in markdown:
        markdown = markdown.replace(MESSAGES_MARK, f"```mermaid\n{_messages()}```")
    return markdown


def _machines() -> str:
    parts = []
    for system, names in MACHINES.items():
        for name in names:
            words = f"{'Kafka' if system == 'kafka' else 'RocketMQ'}: {name}"
            source = path(system, name)
            picture = f'<a class="shot" href="{source}"><img loading="lazy" src="{source}" alt="{words}"></a>'
            parts.append(f"### {words}\n\n{picture}\n")
    return "\n".join(parts)


@cache
def _messages() -> str:
    scenario = read(ROOT / "examples" / "scenarios" / "start-to-first-pull.yaml")
    (variant,) = variants_of(scenario, ("rocketmq:AVG",))
    return sequence(run_variant(variant, tracing=True).timeline)
