"""The state machines that pages show, from the tables that models run from."""

from compare.running.systems import MACHINES
from compare.showing.states import states

MARK = "<!-- state machines -->"


def pictures() -> dict[str, str]:
    """``pictures/states-SYSTEM-NAME.svg`` of every machine."""
    return {path(system, name): states(system, name).svg for system, names in MACHINES.items() for name in names}


def path(system: str, name: str) -> str:
    """Where the picture of a machine is."""
    return f"pictures/states-{system}-{name.replace(' ', '-')}.svg"


def with_machines(markdown: str) -> str:
    """The page with every machine in the place of their mark."""
    return markdown.replace(MARK, _machines()) if MARK in markdown else markdown


def _machines() -> str:
    parts = []
    for system, names in MACHINES.items():
        for name in names:
            words = f"{'Kafka' if system == 'kafka' else 'RocketMQ'}: {name}"
            source = path(system, name)
            picture = f'<a class="shot" href="{source}"><img loading="lazy" src="{source}" alt="{words}"></a>'
            parts.append(f"### {words}\n\n{picture}\n")
    return "\n".join(parts)
