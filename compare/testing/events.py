"""What a test can let happen to a group, or to a pair of them at the same time."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Self

from compare.testing.clock import Clock, in_ticks
from compare.testing.plans import QueueCounts, names_of
from protocols.errors import UserError
from protocols.java import Queue
from protocols.scenario.events import Event, Rolling
from protocols.scenario.validation import PartError, path_text
from protocols.scenario.writing import as_fields


class Events(ABC):
    """To what things happen. Everything happens now; time passes only when the test lets it pass."""

    clock: Clock

    @abstractmethod
    def happen(self, **fields: object) -> Self:
        """Anything that may stand in a scenario under ``events``, without ``at``. Raises `UserError` where it cannot
        be."""

    @property
    @abstractmethod
    def topics(self) -> Mapping[str, tuple[Queue, ...]]: ...
    @property
    @abstractmethod
    def known(self) -> Collection[str]: ...
    @property
    @abstractmethod
    def name(self) -> str: ...

    def join(self, member: str, *, subscribe: Iterable[str] | None = None, **fields: object) -> Self:
        """A member starts. It subscribes to all topics, to ``subscribe``, or by ``pattern``; other ``fields`` are those
        of a scenario's member (``instance_id``, ``rack``, ``client_id``, ``process``, ``strategy``, ``settings``), or
        ``like``, another member. One that was there before is what it was, where nothing is said."""
        if subscribe is not None:
            fields["subscribe"] = names_of("subscribe", subscribe)
        elif not {"pattern", "like"} & fields.keys() and member not in self.known:
            fields["subscribe"] = list(self.topics)
        return self.happen(join=member, **fields)

    def leave(self, member: str) -> Self:
        """A member closes properly."""
        return self.happen(leave=member)

    def crash(self, member: str) -> Self:
        """A member's process is killed; its connections close, nothing else is told to anybody."""
        return self.happen(crash=member)

    def restart(self, member: str, *, how: str = "leave", **fields: object) -> Self:
        """A member that is not there (any more) or runs starts as a new process; where it runs it is closed properly
        first (``how="leave"``) or killed (``how="crash"``). ``strategy`` and ``settings`` change what it runs with."""
        return self.happen(restart=member, how=how, **fields)

    def rolling(self, *members: str, gap: float, **fields: object) -> Self:
        """Members are restarted one after the other, so many seconds from one to the next; time passes up to the last
        start. ``fields`` are those of a scenario's event ``rolling`` (``downtime="10s"``, ``surge``, ``at_once``,
        ``how``, ``strategy``, ``settings``). Raises `UserError` where they cannot be."""
        path = ("rolling",)
        try:
            event = Rolling.read({"at": 0.0, "rolling": list(members), "gap": _lasting(gap, "gap"), **fields}, (), path)
            return self.live_through([each.event for each in event.plain(path)])
        except PartError as error:
            raise UserError(f"{path_text(error.path)}: {error.problem}") from None

    def hang(self, member: str, seconds: float) -> Self:
        """A member's process is stopped for so long and then goes on, with its old beliefs."""
        return self.happen(hang=member, **{"for": _lasting(seconds)})

    def stop_polling(self, member: str, seconds: float) -> Self:
        """A member's own code stands still for so long; what its client does in the background goes on."""
        return self.happen(stop_polling=member, **{"for": _lasting(seconds)})

    def disconnect(self, member: str, broker: str | None = None) -> Self:
        """A member's connections (or the one to ``broker``) are cut; it connects again."""
        return self.happen(disconnect=member, **({} if broker is None else {"broker": broker}))

    def subscribe(self, member: str, *topics: str) -> Self:
        """A member subscribes to exactly these topics from now on."""
        return self.happen(subscribe={member: list(topics)})

    def commit(self, member: str, offsets: Mapping[str, int] | None = None, generation: int | None = None) -> Self:
        """A member commits its positions, or these offsets (``"orders-3"`` to offset); with ``generation`` (Kafka) it
        claims to be of another one."""
        given = {"offsets": None if offsets is None else dict(offsets), "generation": generation}
        return self.happen(commit=member, **{name: each for name, each in given.items() if each is not None})

    def produce(self, to: str, records: int) -> Self:
        """So many records are written now, beside those that come evenly: to a topic, dealt over its queues in turn, or
        to a queue (``"orders-3"``, ``"orders-broker-a-1"``)."""
        return self.happen(produce={to: records})

    def add_queues(self, topic: str, count: int) -> Self:
        """A topic gets so many queues more, dealt over the brokers."""
        if count < 0:
            raise UserError(f"add_queues: {count} queues for {topic!r}, expected 0 or more")
        now = self.topics.get(topic)
        if now is None:
            raise UserError(f"no topic {topic!r}, expected one of {', '.join(self.topics)}")
        return self.set_queues(topic, len(now) + count)

    def set_queues(self, topic: str, queues: QueueCounts) -> Self:
        """A topic has so many queues from now on, or so many per broker."""
        return self.happen(queues={topic: queues})

    def add_topic(self, topic: str, queues: QueueCounts) -> Self:
        """A topic comes into being."""
        return self.happen(add_topic={topic: {"queues": queues}})

    def delete_topic(self, topic: str) -> Self:
        """A topic is deleted."""
        return self.happen(delete_topic=topic)

    def stop_broker(self, broker: str = "broker-a") -> Self:
        """A broker shuts down properly."""
        return self.happen(broker=broker, does="stop")

    def kill_broker(self, broker: str = "broker-a") -> Self:
        """A broker's process is killed."""
        return self.happen(broker=broker, does="kill")

    def return_broker(self, broker: str = "broker-a") -> Self:
        """A broker starts again."""
        return self.happen(broker=broker, does="return")

    def network(self, *between: str, seconds: float, loss: float | None = None, delay: float | None = None) -> Self:
        """For so long the network between two processes (members, brokers), or between one and all others, is cut; or
        loses this share of messages; or is so many seconds slower."""
        if loss is not None:
            fields: dict[str, object] = {"network": "loss", "loss": loss}
        elif delay is not None:
            fields = {"network": "delay", "delay": _lasting(delay, "delay")}
        else:
            fields = {"network": "cut"}
        return self.happen(**fields, between=list(between), **{"for": _lasting(seconds)})

    def reset_offsets(self, topic: str, to: float = 0.0) -> Self:
        """An administrator sets the group's committed offsets of a topic back to what they were at ``to`` seconds."""
        return self.happen(reset_offsets=self.name, topic=topic, to=_lasting(to, "to"))

    def schedule(self, events: Iterable[Event]) -> Self:
        """Events of a scenario (or of `compare.testing.strategies.faults`) will happen while time passes, each at its
        time counted from now."""
        for event in sorted(events, key=lambda each: each.at):
            self.clock.put(self.clock.time + event.at, partial(self._befall, event))
        return self

    def live_through(self, events: Iterable[Event]) -> Self:
        """`schedule`, and let time pass up to the last of the events."""
        listed = list(events)
        self.schedule(listed)
        self.clock.run(self.clock.time + max((event.at for event in listed), default=0.0))
        return self

    def _befall(self, event: Event) -> None:
        fields = {name: value for name, value in as_fields(event).items() if name not in ("at", "group")}
        joins_blindly = "join" in fields and not {"subscribe", "pattern", "like"} & fields.keys()
        if joins_blindly and fields["join"] not in self.known:
            fields["subscribe"] = list(self.topics)
        self.happen(**fields)


def _lasting(seconds: float, name: str = "seconds") -> float:
    """Milliseconds; `UserError` naming the argument for what is no time or negative."""
    if (ticks := in_ticks(seconds)) < 0:
        raise UserError(f"{name}: {seconds:g} is negative, expected 0 or more")
    return ticks
