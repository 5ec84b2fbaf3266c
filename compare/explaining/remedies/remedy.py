"""Commands for a shell. Names come from a cluster, where anybody may have chosen them: each is quoted.

A remedy with everything that must be known before it is followed, and which of several comes first.

The order weighs the points of the score that a remedy wins back against its price:

| what it takes or may break | price in points |
|---|---|
| a rolling restart | 1 |
| a restart of all members at once | 4 |
| it cannot be undone | 40 |
| a risk | its weight: `LIGHT`, `SERIOUS` or `GRAVE` |
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from shlex import quote
from typing import cast
from urllib.parse import quote as percent

from compare.documents.audit import GainRecord, RemedyRecord, Restart
from protocols import Allocation

GROUPS = "kafka-consumer-groups.sh --bootstrap-server HOST"


def describe(group: str, view: str) -> str:
    """The view of a Kafka group: ``state``, or ``members --verbose``."""
    return f"{GROUPS} --describe --group {quote(group)} --{view}"


def of_group(command: str, group: str, *more: str) -> str:
    """A command of mqadmin about a RocketMQ group; ``more`` are options, of which the names are quoted already."""
    return " ".join((f"mqadmin {command} -n NAMESRV -g {quote(group)}", *more))


def connector(name: str, action: str) -> str:
    """A request to Connect's REST interface."""
    return f"PUT /connectors/{percent(name, safe='')}/{action}"


RESTARTS: dict[Restart, tuple[float, str]] = {
    "none": (0.0, "No restart."),
    "rolling": (1.0, "Rolling restart."),
    "all at once": (4.0, "All members restart at once."),
}
"""Price and words of each way to restart."""

IRREVERSIBLE = 40.0
"""More than what a reversible remedy of the same finding usually wins less: it comes before."""

LIGHT, SERIOUS, GRAVE = 2.0, 8.0, 20.0
"""Weights of a risk: somebody may notice; records out of order or in vain; queues without a reader, positions lost."""


@dataclass(frozen=True, slots=True)
class Risk:
    """What may break, as a clause that begins with its subject, and its weight in points."""

    text: str
    weight: float


@dataclass(frozen=True, slots=True)
class Gain:
    """What is less afterwards, today's figure minus the one to come; ``score`` is what the score wins."""

    max: int
    idle_members: int
    max_over_mean: float
    unowned_queues: int
    double_owned_queues: int
    score: float


@dataclass(frozen=True, slots=True)
class Remedy:
    """``text``: what to do, in one or two sentences. ``commands``: the same for a shell or a configuration file.

    ``gain`` is None where nobody can tell it; ``after`` is the ownership expected then, None where the remedy leads to
    no other.
    """

    text: str
    commands: tuple[str, ...] = ()
    restart: Restart = "none"
    reversible: bool = True
    risks: tuple[Risk, ...] = ()
    gain: Gain | None = None
    after: Allocation | None = None

    @property
    def points(self) -> float:
        """Points of the score that it wins back."""
        return 0.0 if self.gain is None else self.gain.score

    @property
    def price(self) -> float:
        """Points that it must win back to be worth it."""
        undo = 0.0 if self.reversible else IRREVERSIBLE
        return RESTARTS[self.restart][0] + undo + sum(risk.weight for risk in self.risks)

    @property
    def is_last_resort(self) -> bool:
        """Whether it cannot be undone, or may leave queues without a reader or lose positions."""
        return not self.reversible or any(risk.weight >= GRAVE for risk in self.risks)

    @property
    def terms(self) -> str:
        """Restart, whether it can be undone, and the risks, in words."""
        words = [RESTARTS[self.restart][1], "Reversible." if self.reversible else "Irreversible."]
        if self.risks:
            words.append(
                f"{'Risks' if len(self.risks) > 1 else 'Risk'}: {'; '.join(risk.text for risk in self.risks)}."
            )
        return " ".join(words)

    def as_json(self) -> RemedyRecord:
        """As in the audit's document."""
        return {
            "text": self.text,
            "commands": list(self.commands),
            "restart": self.restart,
            "reversible": self.reversible,
            "risks": [risk.text for risk in self.risks],
            "gain": None if self.gain is None else cast(GainRecord, asdict(self.gain)),
        }


def best_first(remedies: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """Most gain for least risk first; equals stay in order."""
    return tuple(sorted(remedies, key=lambda remedy: remedy.price - remedy.points))
