"""Settings of a scenario's variant under Kafka's own names: which are the brokers', which the clients'."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from kafka_coordinator import controller
from kafka_coordinator.assign import STRATEGIES
from kafka_coordinator.consumer.assigning import in_the_broker, known_assignor
from kafka_coordinator.consumer.settings import NAMES as CONSUMER
from kafka_coordinator.coordinator.settings import NAMES as COORDINATOR
from protocols.errors import UserError

INSTANCE_ID: Final = "group.instance.id"
RACK: Final = "client.rack"
PROTOCOL: Final = "group.protocol"
STRATEGY: Final = "partition.assignment.strategy"

OF_MEMBERS: Final = (INSTANCE_ID, RACK, PROTOCOL)
"""Client settings that say who a member is; the scenario has fields of its own for the first two."""


class SettingsByRole:
    """Settings of one variant, parted into those of consumers, coordinator and controller.

    Raises `UserError` for a name that Kafka does not have (or the model does not know).
    """

    __slots__ = ("consumer", "controller", "coordinator")

    def __init__(self, given: Mapping[str, object], where: str) -> None:
        self.consumer: dict[str, object] = {}
        self.coordinator: dict[str, object] = {}
        self.controller: dict[str, object] = {}
        for name, value in given.items():
            if name in CONSUMER or name == PROTOCOL:
                self.consumer[name] = value
            elif name in COORDINATOR:
                self.coordinator[name] = value
            elif name in controller.NAMES:
                self.controller[name] = value
            else:
                raise UserError(f"{where}: {_unknown(name, (*CONSUMER, PROTOCOL, *COORDINATOR, *controller.NAMES))}")


def member_settings() -> frozenset[str]:
    """Names of what a single member may have as settings."""
    return frozenset((*CONSUMER, *OF_MEMBERS))


def check_member_settings(given: Mapping[str, object], where: str) -> None:
    """Raises `UserError` for a name that is no setting of a consumer."""
    for name in given:
        if name not in CONSUMER and name not in OF_MEMBERS:
            raise UserError(f"{where}: {_unknown(name, (*CONSUMER, *OF_MEMBERS))}")


def check_protocol(given: Mapping[str, object], where: str) -> None:
    """Raises `UserError` for the consumer protocol."""
    if given.get(PROTOCOL, "classic") != "classic":
        raise UserError(
            f"{where}: {PROTOCOL} is {given[PROTOCOL]!r}: the consumer protocol is not modelled yet, expected classic"
        )


def check_assignors(names: Iterable[str], where: str) -> None:
    """Raises `UserError` for an assignor that no classic consumer can run."""
    for name in names:
        if in_the_broker(name):
            raise UserError(f"{where}: {name} belongs to the consumer protocol, which is not modelled yet")
        if not known_assignor(name):
            known = [each for each in STRATEGIES if known_assignor(each)]
            raise UserError(f"{where}: unknown assignor {name!r}, expected one of {', '.join(known)}")


def _unknown(name: str, names: tuple[str, ...]) -> str:
    near = get_close_matches(name[:100], names, 1, 0.6)
    expected = f"expected {near[0]}?" if near else f"expected one of {', '.join(sorted(names))}"
    return f"unknown setting {name!r} of Kafka, {expected}"
