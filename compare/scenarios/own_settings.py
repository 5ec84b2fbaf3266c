"""One scenario for several systems: each takes those settings of a member that it has, and passes over the others'."""

from collections.abc import Mapping
from typing import Any

from compare.scenarios.systems import member_settings
from protocols.errors import UserError
from protocols.scenario.events import Event, Join, Restart
from protocols.scenario.model import Scenario
from protocols.scenario.parts import suggestion


def with_own_settings(scenario: Scenario, system: str) -> Scenario:
    """The scenario as this system (``kafka:range``) sees it: without the members' settings that only others know.

    Raises `UserError` for what no system knows.
    """
    own, every = member_settings(system), member_settings()

    def mine(member: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        for name in settings:
            if name not in every:
                expected = suggestion(name, [*sorted(own), *sorted(every - own)])
                raise UserError(f"member {member}: no system has a setting {name!r}, {expected}")
        return {name: value for name, value in settings.items() if name in own}

    def event_of(event: Event) -> Event:
        if not isinstance(event, Join | Restart) or not event.settings:
            return event
        member = event.join if isinstance(event, Join) else event.restart
        return event.model_copy(update={"settings": mine(member, event.settings)})

    groups = {
        group: each.model_copy(
            update={
                "members": {
                    name: part.model_copy(update={"settings": mine(name, part.settings)}) if part.settings else part
                    for name, part in each.members.items()
                }
            }
        )
        for group, each in scenario.groups.items()
    }
    return scenario.model_copy(update={"groups": groups, "events": tuple(map(event_of, scenario.events))})
