"""From the actions of a recording's script to events for the model, when their effect came, and what producers sent."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import inf
from typing import NamedTuple

from compare.conformance.cases import MalformedCase
from compare.conformance.recordings import MOST_MS, NOISE_MS
from compare.conformance.rocketmq_recordings.reading import Action, Member, Recording, Row, is_retry, shortest_interval
from protocols.scenario.events import BrokerEvent, Crash, Disconnect, Event, Hang, Join, Leave, Queues, Subscribe
from rocketmq_selfbalance.cluster import REQUEST_CODES, GetConsumerListByGroup, HeartBeat

START, SHUTDOWN, PRODUCE = "start", "shutdown", "produce"
"""Actions by which a member comes and goes, and by which producers begin."""

BROKER_GONE, PORT_OPEN, GO_ON = "brokerGone", "brokerPortOpen", "SIGCONT"
"""Actions that only tell when others had their effect, or end."""

LISTENER_MS = 1.0
"""How long the members' own code takes for a record; nothing is recorded of it but that it is short."""


RETRY_TOPIC = 1
"""Every member subscribes to its group's retry topic as well."""


class Moment(NamedTuple):
    """Something that the script did: its effect came between ``earliest`` and ``latest``, in the recording's time."""

    earliest: float
    latest: float
    make: Callable[[float], Event]
    """Time of the run to the event."""
    starting: "Starting | None" = None
    """Of a start."""
    returning: str = ""
    """The broker that comes back."""


class Starting(NamedTuple):
    """How a member started. Its first pass counts from when the client was made, everything else from its first
    request; Java may load classes in between."""

    member: str
    ahead: float
    """The client was made so many milliseconds before its first request."""
    asking: float
    """From its first request to its first heartbeat it took so many milliseconds,"""
    questions: int
    """for so many questions and answers one after the other;"""
    telling: float
    """from there on so many until it had started, or all its first heartbeats were answered,"""
    brokers: tuple[str, ...]
    """of which each of these got one."""

    @property
    def lasted(self) -> float:
        """Milliseconds."""
        return self.asking + self.telling


class Script:
    """From actions to moments; what members subscribe to changes on the way."""

    def __init__(self, recording: Recording, brokers: tuple[str, ...]) -> None:
        self.recording, self.brokers = recording, brokers
        self.members = {member.id: member for member in recording.members}
        self.subscribed = {member.id: member.subs for member in recording.members}
        self.queues = {topic: dict(counts) for topic, counts in recording.topics.items()}
        self.shortest = shortest_interval(recording)
        """Milliseconds."""

    def moments(self, number: int, action: Action) -> Iterable[Moment]:
        if action.action in _SILENT:
            return ()
        make = _ACTIONS.get(action.action)
        where = f"actions.{number}"
        if make is None:
            raise MalformedCase(f"{where}.action", f"one of {', '.join([*_ACTIONS, *_SILENT])}", action.action)
        if action.member not in self.members and make not in _OF_CLUSTER:
            raise MalformedCase(f"{where}.member", "one of the members", action.member)
        if make in _OF_BROKERS and action.broker not in self.brokers:
            raise MalformedCase(f"{where}.broker", f"one of {', '.join(self.brokers)}", action.broker)
        return make(self, action)

    def start(self, action: Action) -> Iterable[Moment]:
        """The process begins when its first request is sent, before its first heartbeat; the client was made not later
        than the shortest interval between passes before its first pass. One that starts again has the subscriptions of
        its program."""
        member = self.members[action.member]
        self.subscribed[member.id] = member.subs
        over = self._end(action)
        requests = [each for each in self.recording.rpc if each[1] == member.id and action.t_ms <= each[0] <= over]
        first = min((at for at, *_ in requests), default=action.t_ms)
        told = min((at for at, _, code, _ in requests if code == _HEARTBEAT), default=first)
        started = self.recording.is_about(member.id, "started", first)
        asked = min((at for at, _, code, _ in requests if code == _ASK), default=inf)
        starting = Starting(
            member.id,
            ahead=first - min(max(asked - self.shortest, action.t_ms), first),
            asking=told - first,
            questions=len(member.subs) + RETRY_TOPIC,
            telling=max(min(started or told, over) - told, self._round(requests, told), 0.0),
            brokers=self.brokers,
        )
        return (Moment(first, told, lambda at: self._join(member, action, at), starting),)

    def _round(self, requests: Sequence[Row], told: float) -> float:
        """How long the first heartbeats took, each of which waits for the answer to the one before; as far as more than
        one was sent."""
        first: dict[str, float] = {}
        for at, _, code, peer in requests:
            if code == _HEARTBEAT:
                first.setdefault(peer, at)
        answered = len(first) - 1
        return (max(first.values()) - told) * (answered + 1) / answered if answered > 0 else 0.0

    def _end(self, action: Action) -> float:
        """When the script did something else with the member."""
        later = (
            each.t_ms
            for each in self.recording.actions
            if each.member == action.member and (each.t_ms > action.t_ms or each.action != action.action)
        )
        return min((at for at in later if at >= action.t_ms), default=self.recording.length_ms)

    def _join(self, member: Member, action: Action, at: float) -> Event:
        ids = [
            each.client_id
            for each in self.recording.lifecycle
            if each.member == member.id and each.client_id and each.t_ms >= action.t_ms
        ]
        return Join(
            at=at,
            join=member.id,
            subscribe=member.subs,
            client_id=ids[0] if ids else f"{member.id}@{self.recording.scenario}",
            strategy=member.strategy,
            handle=LISTENER_MS,
            settings={"orderly": member.orderly},
        )

    def shut_down(self, action: Action) -> Iterable[Moment]:
        return (self._said(action, "shutting_down", lambda at: Leave(at=at, leave=action.member)),)

    def kill(self, action: Action) -> Iterable[Moment]:
        return (_at_once(action, lambda at: Crash(at=at, crash=action.member)),)

    def stop(self, action: Action) -> Iterable[Moment]:
        back = (
            each.t_ms
            for each in self.recording.actions
            if (each.action, each.member) == (GO_ON, action.member) and each.t_ms >= action.t_ms
        )
        lasts = min(back, default=action.t_ms + MOST_MS) - action.t_ms
        return (_at_once(action, lambda at: Hang.model_validate({"at": at, "hang": action.member, "for": lasts})),)

    def reset_channels(self, action: Action) -> Iterable[Moment]:
        """The connections to as many brokers as addresses are given: to those which it then told again who it is."""
        told = (
            peer
            for at, member, code, peer in self.recording.rpc
            if member == action.member and code == _HEARTBEAT and at >= action.t_ms
        )
        brokers = [*dict.fromkeys([*(peer for peer in told if peer in self.brokers), *self.brokers])]
        reset = brokers[: len(action.addrs) or len(brokers)]
        return [self._said(action, "channels_closed", partial(_disconnect, action.member, each)) for each in reset]

    def update_topic(self, action: Action) -> Iterable[Moment]:
        if action.topic not in self.queues:
            raise MalformedCase("actions", "a topic of the recording that gets other queues", action.topic)
        counts = self.queues[action.topic] = {**self.queues[action.topic], **action.queues}
        return (_at_once(action, lambda at: Queues(at=at, queues={action.topic: counts})),)

    def subscribe(self, action: Action) -> Iterable[Moment]:
        topics = tuple(dict.fromkeys((*self.subscribed[action.member], action.topic)))
        return self._subscribed(action, topics, "subscribed")

    def unsubscribe(self, action: Action) -> Iterable[Moment]:
        topics = tuple(topic for topic in self.subscribed[action.member] if topic != action.topic)
        return self._subscribed(action, topics, "unsubscribed")

    def _subscribed(self, action: Action, topics: tuple[str, ...], said: str) -> Iterable[Moment]:
        self.subscribed[action.member] = topics
        return (self._said(action, said, lambda at: Subscribe(at=at, subscribe={action.member: topics})),)

    def stop_broker(self, action: Action) -> Iterable[Moment]:
        gone = self._later(BROKER_GONE, action)
        does = "kill" if action.signal == "SIGKILL" else "stop"
        latest = action.t_ms if does == "kill" or gone is None else gone
        return (Moment(action.t_ms, latest, lambda at: _of_broker(at, action.broker, does)),)

    def start_broker(self, action: Action) -> Iterable[Moment]:
        """It is there when its port is open, and a little before."""
        opened = self._later(PORT_OPEN, action)
        latest = action.t_ms if opened is None else opened
        earliest = max(action.t_ms, latest - NOISE_MS)
        return (Moment(earliest, latest, lambda at: _of_broker(at, action.broker, "return"), returning=action.broker),)

    def _later(self, name: str, action: Action) -> float | None:
        times = (
            each.t_ms
            for each in self.recording.actions
            if (each.action, each.broker) == (name, action.broker) and each.t_ms >= action.t_ms
        )
        return min(times, default=None)

    def _said(self, action: Action, said: str, make: Callable[[float], Event]) -> Moment:
        """Between the script's word and the member's."""
        done = self.recording.is_about(action.member, said, action.t_ms)
        return Moment(action.t_ms, action.t_ms if done is None else done, make)


def _at_once(action: Action, make: Callable[[float], Event]) -> Moment:
    return Moment(action.t_ms, action.t_ms, make)


def _disconnect(member: str, broker: str, at: float) -> Event:
    return Disconnect(at=at, disconnect=member, broker=broker)


def _of_broker(at: float, broker: str, does: str) -> Event:
    return BrokerEvent.model_validate({"at": at, "broker": broker, "does": does})


_HEARTBEAT, _ASK = REQUEST_CODES[HeartBeat], REQUEST_CODES[GetConsumerListByGroup]

_ACTIONS: Mapping[str, Callable[[Script, Action], Iterable[Moment]]] = {
    START: Script.start,
    SHUTDOWN: Script.shut_down,
    "SIGKILL": Script.kill,
    "SIGSTOP": Script.stop,
    "resetChannels": Script.reset_channels,
    "updateTopic": Script.update_topic,
    "subscribe": Script.subscribe,
    "unsubscribe": Script.unsubscribe,
    "stopBroker": Script.stop_broker,
    "startBroker": Script.start_broker,
}

_OF_BROKERS = (Script.stop_broker, Script.start_broker)
_OF_CLUSTER = (Script.update_topic, *_OF_BROKERS)

_SILENT = (PRODUCE, GO_ON, BROKER_GONE, PORT_OPEN)
"""Actions that are no events: they tell more of others, or what producers send."""


class Producing(NamedTuple):
    """Producers write so many records per second to each queue of these topics."""

    since: float
    until: float
    topics: tuple[str, ...]
    per_second: float


def producing(recording: Recording) -> Iterable[Producing]:
    """How much was sent is told by the producer, else by the furthest offset that anybody committed, else planned."""
    told = list(recording.messages.produced)
    for action in recording.actions:
        if action.action != PRODUCE:
            continue
        until = min(action.t_ms + action.seconds * 1000, recording.length_ms)
        seconds = (until - action.t_ms) / 1000
        produced = told.pop(0) if told else None
        queues = sum(sum(counts.values()) for topic, counts in recording.topics.items() if topic in action.topics)
        if seconds <= 0 or not queues:
            continue
        if produced is not None:
            most = max(produced.per.values(), default=0)
        else:
            committed = [
                offset
                for at, _, queue, offset in recording.offset_commits
                if queue.topic in action.topics and not is_retry(queue) and at >= action.t_ms
            ]
            most = max(committed, default=round(seconds * 1000 / action.gap_ms / queues))
        yield Producing(action.t_ms, until, action.topics, most / seconds)
