"""A broker goes or comes back.

Connections break, and the network between processes fails for a while.

An administrator changes the settings of a group.

Topics come, go, and have another number of queues.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field

from protocols.engine.nodes import Time
from protocols.scenario import shorthands
from protocols.scenario.events.base import ClusterState, Event, Written, need_server
from protocols.scenario.fields import Count, Duration, EachMember, Settings, TopicPart, duration_text, listed
from protocols.scenario.shorthands import names
from protocols.scenario.validation import PartError, Path, mapping, suggestion, validated


class BrokerEvent(Event):
    """A broker stops properly, is killed, freezes for a while, or returns."""

    broker: str
    """The broker; or one of Kafka's ``controllers``, or a slave of RocketMQ (``broker-a.s``, of a third replica
    ``broker-a.s2``), which a system that has no such server passes over."""
    does: Literal["stop", "kill", "freeze", "return"]
    """``stop`` closes the broker properly, ``kill`` ends its process, ``freeze`` stops it while its connections stay
    open, as a machine that hangs."""
    for_: Duration | None = Field(default=None, alias="for")
    """After so long a frozen broker goes on, and one that was stopped or killed starts again, which is an event
    ``return`` of its own."""

    example: ClassVar[str] = "{at: 180s, broker: broker-a, does: kill, for: 60s}"

    def plain(self, path: Path) -> Sequence[Written]:
        if self.for_ is None and self.does == "freeze":
            raise PartError((*path, "for"), "is missing: for how long does the broker freeze, expected one such as 60s")
        if self.for_ is None or self.does == "freeze":
            return (Written(self, path),)
        if self.does == "return":
            raise PartError((*path, "for"), "a broker returns for good, expected no duration")
        back = BrokerEvent(at=self.at + self.for_, broker=self.broker, does="return")
        return Written(self.model_copy(update={"for_": None}), path), Written(back, path, shorthand=True)

    def describe(self) -> str:
        does = {"stop": "stops", "kill": "is killed", "freeze": "freezes", "return": "returns"}[self.does]
        return f"{self.broker} {does}" + (f" for {duration_text(self.for_)}" if self.for_ is not None else "")

    def check(self, there: ClusterState, path: Path) -> None:
        need_server(self.broker, there.servers, (*path, "broker"))
        if (self.does == "return") != (self.broker in there.down):
            state = "does not run" if self.broker in there.down else "runs"
            raise PartError(
                (*path, "does"), f"{self.broker} {state} at {duration_text(self.at)}: it cannot {self.does}"
            )

    def lasts(self) -> Time:
        return self.for_ or 0.0

    def broker_changes(self) -> Mapping[str, bool]:
        return {} if self.does == "freeze" else {self.broker: self.does == "return"}


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


class Configure(Event):
    """An administrator changes settings of a group, as `kafka-configs --entity-type groups` does. A system without such
    settings passes over the event."""

    configure: str
    """The group."""
    settings: Settings = Field(default_factory=dict)
    """Settings added to its former ones, under the system's own names; null removes one."""

    example: ClassVar[str] = "{at: 60s, configure: billing, settings: {consumer.session.timeout.ms: 60000}}"
    can_rebalance = False
    may_be_refused = True

    def describe(self) -> str:
        said = [f"{name} {'as by default' if value is None else value}" for name, value in self.settings.items()]
        return f"{self.configure} is configured: {', '.join(said) or 'nothing'}"

    def check(self, there: ClusterState, path: Path) -> None:
        if self.configure not in there.groups:
            expected = suggestion(self.configure, there.groups)
            raise PartError((*path, "configure"), f"unknown group {self.configure!r}, {expected}")
        if not self.settings:
            raise PartError((*path, "settings"), "no settings, expected at least one such as {name: value}")


class Queues(Event):
    """Topics get more or fewer queues: a number (distributed over the brokers in turn), or per broker."""

    queues: dict[str, dict[str, Count]]
    """Topic to its queues from now on."""

    example: ClassVar[str] = "{at: 120s, queues: {orders: 8, payments: {broker-a: 2, broker-b: 2}}}"
    changes_topics = True
    may_be_refused = True

    @classmethod
    def read(cls, fields: Mapping[str, object], brokers: Sequence[str], path: Path) -> Self:
        inside = (*path, "queues")
        changed = mapping(fields["queues"], inside)
        queues = {topic: shorthands.queues(each, brokers, (*inside, topic)) for topic, each in changed.items()}
        return validated(cls, {**fields, "queues": queues}, path)

    def describe(self) -> str:
        return listed(f"{topic} has {sum(per_broker.values())} queues" for topic, per_broker in self.queues.items())

    def check(self, there: ClusterState, path: Path) -> None:
        for topic in self.queues:
            there.need_topic(topic, (*path, "queues", topic))

    def queue_changes(self) -> Mapping[str, Mapping[str, int] | None]:
        return self.queues


class AddTopic(Event):
    """Topics are created."""

    add_topic: dict[str, TopicPart]
    """New topics, written as under ``topics``."""

    example: ClassVar[str] = "{at: 130s, add_topic: {refunds: {queues: 4}}}"
    changes_topics = True

    @classmethod
    def read(cls, fields: Mapping[str, object], brokers: Sequence[str], path: Path) -> Self:
        topics = shorthands.topics(fields["add_topic"], brokers, (*path, "add_topic"))
        return validated(cls, {**fields, "add_topic": topics}, path)

    def describe(self) -> str:
        return f"{listed(self.add_topic)} is created"

    def check(self, there: ClusterState, path: Path) -> None:
        for topic in self.add_topic:
            if topic in there.topics:
                raise PartError((*path, "add_topic", topic), f"topic {topic!r} already exists, expected a new name")

    def queue_changes(self) -> Mapping[str, Mapping[str, int] | None]:
        return {topic: part.queues for topic, part in self.add_topic.items()}


class DeleteTopic(Event):
    """A topic is deleted."""

    delete_topic: str
    """The topic."""

    example: ClassVar[str] = "{at: 140s, delete_topic: audit}"
    changes_topics = True

    def describe(self) -> str:
        return f"{self.delete_topic} is deleted"

    def check(self, there: ClusterState, path: Path) -> None:
        there.need_topic(self.delete_topic, (*path, "delete_topic"))

    def queue_changes(self) -> Mapping[str, Mapping[str, int] | None]:
        return {self.delete_topic: None}
