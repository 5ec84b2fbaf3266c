"""One scenario for several systems: each takes those settings of a member or a group that it has, and passes over the
others'."""

from collections.abc import Collection
from typing import TypeVar

from compare.scenarios.systems import group_settings, member_settings
from protocols.errors import UserError
from protocols.scenario.events import Configure, Event, Join, Restart
from protocols.scenario.groups import GroupPart, MemberPart
from protocols.scenario.model import Scenario
from protocols.scenario.validation import suggestion

P = TypeVar("P", MemberPart, Join, Restart, GroupPart, Configure)


Known = tuple[frozenset[str], frozenset[str]]
"""Names of settings that one system has, and those that any has."""


def own_part(part: P, own: Collection[str]) -> P:
    """The same with those settings only."""
    return part.model_copy(update={"settings": {name: part.settings[name] for name in part.settings if name in own}})


def with_own_settings(scenario: Scenario, system: str) -> Scenario:
    """The scenario as this system (``kafka:range``) sees it: without the settings of members and groups that only
    others know.

    Raises `UserError` for what no system knows.
    """
    of_member: Known = member_settings(system), member_settings()
    of_group: Known = group_settings(system), group_settings()

    def event_of(event: Event) -> Event:
        if isinstance(event, Join):
            return _mine(f"member {event.join}", event, of_member)
        if isinstance(event, Configure):
            return _mine(f"group {event.configure}", event, of_group)
        return _mine(f"member {event.restart}", event, of_member) if isinstance(event, Restart) else event

    def group_of(name: str, group: GroupPart) -> GroupPart:
        members = {member: _mine(f"member {member}", part, of_member) for member, part in group.members.items()}
        return _mine(f"group {name}", group, of_group).model_copy(update={"members": members})

    groups = {name: group_of(name, each) for name, each in scenario.groups.items()}
    return scenario.model_copy(update={"groups": groups, "events": tuple(map(event_of, scenario.events))})


def _mine(what: str, part: P, known: Known) -> P:
    for name in part.settings:
        if name not in known[1]:
            expected = suggestion(name, [*sorted(known[0]), *sorted(known[1] - known[0])])
            raise UserError(f"{what}: unknown setting {name!r}, {expected}")
    return own_part(part, known[0]) if part.settings else part
