"""Members of served Kafka groups by what a test calls them, requests that belong to them, answers that refuse these."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_coordinator.coordinator.core import Core
from kafka_coordinator.coordinator.refusals import REFUSE
from kafka_coordinator.errors import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    NOT_COORDINATOR,
    UNKNOWN_MEMBER_ID,
)
from kafka_coordinator.messages import FindCoordinator, ListGroups
from kafka_coordinator.wire.apis import APIS
from kafka_coordinator.wire.entities import code
from kafka_coordinator.wire.served import ServedCluster
from protocols.engine.nodes import Message
from protocols.errors import UserError

_REFUSED: Final[Sequence[type[Message]]] = (*REFUSE, FindCoordinator, ListGroups)
_APIS: Final[Mapping[str, type[Message]]] = {
    **{api.name: api.request for api in APIS.values() if api.request is not None},
    **{kind.__name__: kind for kind in _REFUSED},
    **{f"{kind.__name__}s": kind for kind in _REFUSED if kind.__name__ in ("DescribeGroup", "DeleteGroup")},
}
"""Kafka's name of an API to the type of its requests."""


class Found(NamedTuple):
    """A member of a group, and the broker that coordinates it."""

    broker: str
    group: str
    member_id: str
    instance_id: str | None
    is_classic: bool

    def fenced_by(self) -> str:
        """The error that tells it that it is fenced."""
        if not self.is_classic:
            return FENCED_MEMBER_EPOCH
        return UNKNOWN_MEMBER_ID if self.instance_id is None else FENCED_INSTANCE_ID


def find(cluster: ServedCluster, member: str, group: str | None) -> Found:
    """The member with this name, member id or instance id. `UserError` where there is none, or more than one."""
    there: list[tuple[str, Found]] = []
    for broker in cluster.brokers:
        if cluster.world.is_running(broker):
            there += _members(broker, cluster.states[broker].broker.coordinator.core)
    of_group = [each for each in there if group in (None, each[1].group)]
    found = [each for name, each in of_group if member in (name, each.member_id, each.instance_id)]
    if len(found) == 1:
        return found[0]
    if found:
        groups = ", ".join(each.group for each in found)
        raise UserError(f"{len(found)} members are called {member!r}, in {groups}: say which group")
    names = ", ".join(name for name, _ in of_group) or "nobody: no member has joined"
    raise UserError(f"no member {member!r}, expected one of {names}")


def _members(broker: str, core: Core) -> list[tuple[str, Found]]:
    classic = [
        (str(each.client_id), Found(broker, group.id, each.id, each.instance_id, True))
        for group in core.groups.values()
        for each in group.members.values()
    ]
    return classic + [
        (
            str(each.profile.client_id),
            Found(broker, group.id, each.id, each.profile.instance_id, each.profile.classic is not None),
        )
        for group in core.consumer_groups.values()
        for each in group.members.values()
    ]


def belongs(message: Message, member: Found) -> bool:
    """Whether a request is the member's own, and can be refused."""
    if type(message) not in _REFUSED or getattr(message, "group", None) != member.group:
        return False
    return getattr(message, "member_id", None) == member.member_id


def named_in(cluster: ServedCluster, message: Message, sender: str, client: str) -> bool:
    """Whether the client with this ``client.id``, or the member of this name, has sent the request."""
    client_id = getattr(message, "client_id", None)
    if client_id is not None:
        return client in (str(client_id), getattr(client_id, "client_id", None))
    member_id, group = getattr(message, "member_id", None), getattr(message, "group", None)
    if member_id and group:
        name = cluster.names.known(group, member_id)
        return name is not None and client in (str(name), name.client_id, member_id)
    return False


def api_of(api: str) -> type[Message]:
    """The type of an API's requests; `UserError` where it is none that can be refused or held."""
    if api not in _APIS:
        raise UserError(f"no API {api!r}, expected one of {', '.join(sorted(_APIS))}")
    return _APIS[api]


def check_error(error: str) -> None:
    """`UserError` for a name that is no error of Kafka's."""
    try:
        code(error)
    except KeyError:
        raise UserError(f"no error {error!r}, expected a name of Kafka's such as {NOT_COORDINATOR}") from None
