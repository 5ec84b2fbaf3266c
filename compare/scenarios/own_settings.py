"""One scenario for several systems: each takes those settings of a member that it has, and passes over the others'."""

from collections.abc import Collection
from typing import TypeVar

from compare.scenarios.systems import member_settings
from protocols.errors import UserError
from protocols.scenario.events import Event, Join, Restart
from protocols.scenario.groups import MemberPart
from protocols.scenario.model import Scenario
from protocols.scenario.validation import suggestion

P = TypeVar("P", MemberPart, Join, Restart)


def own_part(part: P, own: Collection[str]) -> P:
    """The same with those settings only."""
    return part.model_copy(update={"settings": {name: part.settings[name] for name in part.settings if name in own}})


def with_own_settings(scenario: Scenario, system: str) -> Scenario:
    """The scenario as this system (``kafka:range``) sees it: without the members' settings that only others know.

    Raises `UserError` for what no system knows.
    """
    own, every = member_settings(system), member_settings()

    def mine(member: str, part: P) -> P:
        for name in part.settings:
            if name not in every:
                expected = suggestion(name, [*sorted(own), *sorted(every - own)])
                raise UserError(f"member {member}: unknown setting {name!r}, {expected}")
        return own_part(part, own) if part.settings else part

    def event_of(event: Event) -> Event:
        if isinstance(event, Join):
            return mine(event.join, event)
        return mine(event.restart, event) if isinstance(event, Restart) else event

    groups = {
        group: each.model_copy(update={"members": {name: mine(name, part) for name, part in each.members.items()}})
        for group, each in scenario.groups.items()
    }
    return scenario.model_copy(update={"groups": groups, "events": tuple(map(event_of, scenario.events))})
