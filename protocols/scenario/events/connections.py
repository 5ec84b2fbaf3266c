"""Connections break, and the network between processes fails for a while."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field

from protocols.engine.nodes import Time
from protocols.scenario.descriptions import listed
from protocols.scenario.events.base import Event
from protocols.scenario.events.cluster_state import ClusterState, need_server
from protocols.scenario.fields import Duration, EachMember
from protocols.scenario.paths import Path
from protocols.scenario.shorthands import names
from protocols.scenario.units import duration_text
from protocols.scenario.validation import PartError, suggestion, validated


class Disconnect(Event):
    """A member's connections are cut; the process continues and reconnects. ``broker``: only the one to it."""

    disconnect: EachMember
    """The member."""
    broker: str | None = None
    """Cut only the connection to this broker."""

    example: ClassVar[str] = "{at: 105s, disconnect: c1, broker: broker-a}"

    def what(self, several: bool) -> str:
        whose = "lose their connections" if several else f"loses its connection{'' if self.broker else 's'}"
        return f"{whose} to {self.broker}" if self.broker else whose

    def check(self, there: ClusterState, path: Path) -> None:
        if self.broker is not None:
            need_server(self.broker, (*there.brokers, *there.infrastructure), (*path, "broker"))

    def members(self) -> Mapping[str, Path]:
        return {self.disconnect: ("disconnect",)}

    def strikes_process(self) -> bool:
        return True


class Network(Event):
    """For a while the network between two processes, or between one and all others, lets nothing pass (``cut``),
    loses messages (``loss``) or is slower (``delay``)."""

    network: Literal["cut", "loss", "delay"]
    """The kind of fault."""
    between: tuple[str, ...]
    """Two processes (members, brokers, ``namesrv``, ``zookeeper``), or one process for its links to all others."""
    for_: Duration = Field(alias="for")
    """How long."""
    loss: float = 0.0
    """Share of messages that are lost, up to 1."""
    delay: Duration = 0.0
    """How much longer every message takes."""

    example: ClassVar[str] = "{at: 30s, network: loss, between: [c1, broker-a], loss: 0.2, for: 10s}"

    @classmethod
    def read(cls, fields: Mapping[str, object], brokers: Sequence[str], path: Path) -> Self:
        if "between" in fields:
            fields = {**fields, "between": names(fields["between"], (*path, "between"))}
        return validated(cls, fields, path)

    def describe(self) -> str:
        what = {
            "cut": "is cut",
            "loss": f"loses {self.loss:.0%} of messages",
            "delay": f"is {duration_text(self.delay)} slower",
        }[self.network]
        where = "of" if len(self.between) == 1 else "between"
        return f"network {where} {listed(self.between)} {what} for {duration_text(self.for_)}"

    def check(self, there: ClusterState, path: Path) -> None:
        inside = (*path, "between")
        if not 1 <= len(self.between) <= 2:
            raise PartError(inside, "expected two names, or one name for the links to all others")
        for number, name in enumerate(self.between):
            if name not in there.process_names:
                known = (*there.brokers, *there.infrastructure, *there.processes)
                raise PartError((*inside, number), f"unknown process {name!r}, {suggestion(name, known)}")
        if self.network == "loss" and not 0 < self.loss <= 1:
            raise PartError(
                (*path, "loss"), f"{self.loss:g} is not a share of messages, expected more than 0 and at most 1"
            )
        if self.network == "delay" and self.delay == 0:
            raise PartError((*path, "delay"), "no delay, expected one such as 200ms")
        for field in ("loss", "delay"):
            if field in self.model_fields_set and field != self.network:
                raise PartError(
                    (*path, field), f"belongs to network: {field}, but the event has network: {self.network}"
                )

    def lasts(self) -> Time:
        return self.for_

    def processes(self) -> Sequence[str]:
        return self.between
