"""The ``group.id`` that the consumers of one group name."""

from compare.testing.handling import HandlingGroup
from compare.testing.plans import DEFAULT
from protocols.errors import UserError


def check_group_id(group: HandlingGroup, given: str) -> None:
    """Consumers of one group name one ``group.id``: the group's name, or for a group that was given none what the first
    of them names. Raises `UserError` for a second one."""
    handling = group.handling
    first = group.name if group.name != DEFAULT.name else handling.group_id or given
    if given not in (first, group.name):
        raise UserError(
            f"group.id is {given!r} in a group whose group.id is {first!r},"
            f" expected one group.id for all of them, or a group of its own: kafka_group(name={given!r})"
        )
    if given != group.name:
        handling.group_id = given
