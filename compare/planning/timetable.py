"""A step as events of a scenario: who stops and starts when, with which settings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.catalogues import CLASSIC_CLASSES, ROCKETMQ_CLASSES, SERVER_NAMES
from compare.planning.routes.kafka import ASSIGNORS, PROTOCOL, REMOTE
from compare.planning.routes.membership import INSTANCE
from compare.planning.routes.rocketmq import STRATEGY
from compare.planning.steps import Settings, Step
from compare.planning.subject import Fields, Subject
from protocols.engine.nodes import Time

_OF_CLASSES = {java: name for name, java in CLASSIC_CLASSES.items()}
_OF_STRATEGIES = {java: name for name, java in ROCKETMQ_CLASSES.items()}
_OF_SERVER = {real: name for name, real in SERVER_NAMES.items()}


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds: from the restart of one wave to that of the next, and how long a restarted member is away."""

    gap: Time = 20_000.0
    downtime: Time = 5_000.0


WARM_UP: Time = 60_000.0
"""Milliseconds that the group lives before the step begins: both systems have settled by then."""


def events_of(subject: Subject, steps: Sequence[Step], timing: Timing) -> tuple[list[Fields], Time]:
    """The events of these steps, one step after another, and when the simulation ends (milliseconds)."""
    events: list[Fields] = []
    at = WARM_UP
    for step in steps:
        waves = list(_waves(subject, step, timing))
        for wave in waves:
            events += [{**event, "at": at + offset} for offset, event in wave]
            at += timing.gap
        at += step.watch
    return events, at


def _waves(subject: Subject, step: Step, timing: Timing) -> Iterator[list[tuple[Time, Fields]]]:
    """What happens in each wave of a step, with its time after the wave's beginning."""
    for members in step.restart:
        ends: list[tuple[Time, Fields]] = [(0.0, {"leave": name}) for name in members]
        starts = [(timing.downtime, {"join": name, **as_event(step.settings.get(name, {}))}) for name in members]
        yield [*ends, *starts]
    if step.start:
        like = subject.names[0]
        yield [(0.0, {"join": name, "like": like, **as_event(step.settings.get(name, {}))}) for name in step.start]
    if step.queues:
        yield [(0.0, {"queues": dict(step.queues)})]


def as_event(settings: Settings) -> Fields:
    """Changed settings as the fields of an event that starts a member: what a scenario has a field for is one."""
    made: Fields = {}
    strategy = _strategy(settings)
    if strategy:
        made["strategy"] = strategy
    if settings.get(INSTANCE) is not None:
        made["instance_id"] = settings[INSTANCE]
    rest = {name: value for name, value in settings.items() if name not in _FIELDS}
    return {**made, "settings": rest} if rest else made


_FIELDS = (ASSIGNORS, PROTOCOL, REMOTE, STRATEGY, INSTANCE)


def _strategy(settings: Settings) -> str:
    """What a scenario calls the assignors or the strategy that these settings choose; empty: as before."""
    if settings.get(STRATEGY) is not None:
        return _OF_STRATEGIES[str(settings[STRATEGY])]
    if settings.get(REMOTE) is not None:
        return _OF_SERVER[str(settings[REMOTE])]
    if settings.get(ASSIGNORS) is not None:
        names = str(settings[ASSIGNORS]).split(",")
        return ",".join(_OF_CLASSES.get(name.rpartition(".")[2], name) for name in names)
    return ""


def fields_after(fields: Mapping[str, object], settings: Settings) -> Fields:
    """A member's fields once it has restarted with these settings."""
    own = fields.get("settings", {})
    event = as_event(settings)
    changes = event.pop("settings", {})
    assert isinstance(own, Mapping)
    assert isinstance(changes, Mapping)
    kept = {name: value for name, value in {**own, **changes}.items() if value is not None}
    made = {**{name: value for name, value in fields.items() if name != "settings"}, **event}
    return {**made, "settings": kept} if kept else made
