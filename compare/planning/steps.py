"""What a plan is made of: steps, each with the settings it changes and the members it restarts, and wrong orders."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from protocols.engine.nodes import Time

Settings = Mapping[str, object]
"""Name of a setting, as the system calls it, to its value; None: the setting is removed."""

Waves = Sequence[Sequence[str]]
"""Members by wave: those of one wave stop and start together, the next wave follows when the group is stable again."""


def one_by_one(members: Sequence[str]) -> Waves:
    """A rolling restart: every member is a wave of its own."""
    return [[member] for member in members]


def in_each(members: Iterable[str], change: Settings) -> Mapping[str, Settings]:
    """The same change in all of them."""
    return dict.fromkeys(members, change)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan.

    ``text``: what is done; ``settings``: member to what changes in it; ``restart``: the members that stop and start, by
    wave; ``start``: members that start for the first time, all at once; ``queues``: topic to its new number of queues;
    ``commands``: what is typed, with placeholders in capitals. ``check``: what must be true before the next step;
    ``back``: how to undo the step. ``watch``: how long the simulation goes on after the last restart (milliseconds).
    """

    text: str
    check: str
    back: str
    settings: Mapping[str, Settings] = field(default_factory=dict)
    restart: Waves = ()
    start: Sequence[str] = ()
    queues: Mapping[str, int] = field(default_factory=dict)
    commands: Sequence[str] = ()
    watch: Time = 60_000.0

    @property
    def happens(self) -> bool:
        """Whether the group notices anything of it."""
        return bool(self.restart or self.start or self.queues)


@dataclass(frozen=True, slots=True)
class WrongOrder:
    """An order in which the change goes wrong: ``text`` says which, the steps are what is simulated. ``broker``:
    settings that the brokers have instead of the group's."""

    text: str
    steps: Sequence[Step]
    broker: Settings = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Route:
    """The steps in order, and the orders that go wrong. ``notes``: what else one must know, a sentence each."""

    steps: Sequence[Step]
    wrong: Sequence[WrongOrder] = ()
    notes: Sequence[str] = ()
