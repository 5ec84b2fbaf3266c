"""A recording as a scenario for the model: who starts when with which settings, and what the script then did.

Nothing that the recording found out goes in, but what the script does not say: when a process that was started began
to work (its first request, at the latest its first heartbeat), when something that took its time was done (what the
member or the script said afterwards), and how much the producer sent.

A recording leaves open in which phase of the brokers' clocks something happened, when exactly between the script's
word and its effect, and how fast a busy machine was. So runs differ: each broker's clock has a phase of its own, every
such moment lies anywhere within its span, and messages travel fast, slower, or slowly.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from compare.conformance.cases import MalformedCase
from compare.conformance.ranges import NOISE_MS
from compare.conformance.rocketmq_recordings.happened import is_retry
from compare.conformance.rocketmq_recordings.reading import MOST_MS, Action, Member, Recording
from compare.conformance.rocketmq_recordings.settings import settings_of
from protocols.randomness import number_below
from protocols.scenario.model import (
    BrokerEvent,
    Crash,
    Disconnect,
    Event,
    GroupPart,
    Hang,
    Join,
    Leave,
    Queues,
    RunPart,
    Scenario,
    Subscribe,
    SystemPart,
    TopicPart,
)
from protocols.scenario.units import milliseconds
from rocketmq_selfbalance.messages import REQUEST_CODES, HeartBeat

LATENCIES = (0.2, 2.0), (1.0, 10.0), (5.0, 50.0)
"""Milliseconds, least and most, of the runs in turn: a quiet machine, a busy one, an overloaded one."""

LISTENER_MS = 1.0
"""How long the members' own code takes for a record; nothing is recorded of it but that it is short."""

WARM_UP_MS = 30_000.0
"""Brokers run before the recording begins; each is started anew somewhere in this time, so that the clocks of two
have nothing to do with each other. As long as the longest period of a broker."""

START, SHUTDOWN = "start", "shutdown"
"""Actions by which a member comes and goes."""

_STEPS = 1000
"""So many places within a span."""


class Moment(NamedTuple):
    """Something that the script did: its effect came between ``earliest`` and ``latest``, in the recording's time."""

    earliest: float
    latest: float
    make: Callable[[float], Event]
    """Time of the run to the event."""


class Producing(NamedTuple):
    """Producers write so many records per second to each queue of these topics."""

    since: float
    until: float
    topics: tuple[str, ...]
    per_second: float


@dataclass(frozen=True, slots=True)
class Plan:
    """All that the runs of a recording have in common. Times are the recording's."""

    recording: Recording
    brokers: tuple[str, ...]
    moments: tuple[Moment, ...]
    producing: tuple[Producing, ...]
    phases: tuple[float, ...]
    """When the script did something; the first phase begins with the recording."""
    system: SystemPart


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a plan. Its time is the recording's plus ``shift``."""

    scenario: Scenario
    shift: float
    number: int


def plan(recording: Recording) -> Plan:
    """What is to be played. Raises `MalformedCase` for a script that cannot be."""
    brokers = _brokers(recording)
    script = _Script(recording, brokers)
    moments = [moment for number, action in enumerate(recording.actions) for moment in script.moments(number, action)]
    if any(moment.latest > recording.length_ms for moment in moments):
        raise MalformedCase("actions", f"actions within the recording's {recording.length_ms:g} ms", "a later one")
    return Plan(
        recording,
        brokers,
        tuple(sorted(moments, key=lambda moment: moment.earliest)),
        tuple(_producing(recording)),
        tuple(sorted({0.0, *(each.t_ms for each in recording.actions if each.action not in _NO_PHASE)})),
        SystemPart(system=f"rocketmq:{recording.members[0].strategy}", settings=settings_of(recording)),
    )


def run(plan: Plan, number: int) -> Run:
    """Run ``number`` (from 0 on), which is also its seed."""
    recording, shift = plan.recording, WARM_UP_MS
    events: list[Event] = []
    for broker in plan.brokers:
        at = milliseconds(WARM_UP_MS * number_below(_STEPS, "broker", number, broker) / _STEPS)
        events += [BrokerEvent(at=at, broker=broker, does="kill"), BrokerEvent(at=at, broker=broker, does="return")]
    for index, moment in enumerate(plan.moments):
        within = number_below(_STEPS, "moment", number, index) / (_STEPS - 1)
        events.append(moment.make(milliseconds(shift + moment.earliest + within * (moment.latest - moment.earliest))))
    scenario = Scenario(
        name=recording.scenario,
        brokers=plan.brokers,
        topics={topic: TopicPart(queues=dict(counts)) for topic, counts in recording.topics.items()},
        groups={recording.scenario: GroupPart()},
        run=RunPart.model_validate(
            {"for": shift + recording.length_ms, "seed": number, "latency": LATENCIES[number % len(LATENCIES)]}
        ),
        events=tuple(sorted(events, key=lambda event: event.at)),
    )
    return Run(scenario, shift, number)


class _Script:
    """From actions to moments; what members subscribe to changes on the way."""

    def __init__(self, recording: Recording, brokers: tuple[str, ...]) -> None:
        self.recording, self.brokers = recording, brokers
        self.members = {member.id: member for member in recording.members}
        self.subscribed = {member.id: member.subs for member in recording.members}
        self.queues = {topic: dict(counts) for topic, counts in recording.topics.items()}

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
        """The process begins when its first request is sent, before its first heartbeat. One that starts again has
        the subscriptions of its program."""
        member = self.members[action.member]
        self.subscribed[member.id] = member.subs
        requests = [each for each in self.recording.rpc if each[1] == member.id and each[0] >= action.t_ms]
        first = min((at for at, *_ in requests), default=action.t_ms)
        told = min((at for at, _, code, _ in requests if code == _HEARTBEAT), default=first)
        return (Moment(first, told, lambda at: self._join(member, action, at)),)

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
            if (each.action, each.member) == ("SIGCONT", action.member) and each.t_ms >= action.t_ms
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
        for broker in brokers[: len(action.addrs) or len(brokers)]:
            yield self._said(
                action, "channels_closed", lambda at, broker=broker: _disconnect(at, action.member, broker)
            )

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
        gone = self._later("brokerGone", action)
        does = "kill" if action.signal == "SIGKILL" else "stop"
        latest = action.t_ms if does == "kill" or gone is None else gone
        return (Moment(action.t_ms, latest, lambda at: _of_broker(at, action.broker, does)),)

    def start_broker(self, action: Action) -> Iterable[Moment]:
        """It is there when its port is open, and a little before."""
        opened = self._later("brokerPortOpen", action)
        latest = action.t_ms if opened is None else opened
        earliest = max(action.t_ms, latest - NOISE_MS)
        return (Moment(earliest, latest, lambda at: _of_broker(at, action.broker, "return")),)

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


def _disconnect(at: float, member: str, broker: str) -> Event:
    return Disconnect(at=at, disconnect=member, broker=broker)


def _of_broker(at: float, broker: str, does: str) -> Event:
    return BrokerEvent.model_validate({"at": at, "broker": broker, "does": does})


_HEARTBEAT = REQUEST_CODES[HeartBeat]

_ACTIONS: Mapping[str, Callable[[_Script, Action], Iterable[Moment]]] = {
    START: _Script.start,
    SHUTDOWN: _Script.shut_down,
    "SIGKILL": _Script.kill,
    "SIGSTOP": _Script.stop,
    "resetChannels": _Script.reset_channels,
    "updateTopic": _Script.update_topic,
    "subscribe": _Script.subscribe,
    "unsubscribe": _Script.unsubscribe,
    "stopBroker": _Script.stop_broker,
    "startBroker": _Script.start_broker,
}

_OF_BROKERS = (_Script.stop_broker, _Script.start_broker)
_OF_CLUSTER = (_Script.update_topic, *_OF_BROKERS)

_SILENT = ("produce", "SIGCONT", "brokerGone", "brokerPortOpen")
"""Actions that are no events: they tell more of others, or what producers send."""

_NO_PHASE = ("produce", "brokerGone")
"""Actions after which nothing changes hands that would not have done so before."""


def _brokers(recording: Recording) -> tuple[str, ...]:
    named = {broker for counts in recording.topics.values() for broker in counts}
    for action in recording.actions:
        named.update(action.queues, [action.broker] if action.broker else [])
    if not named:
        raise MalformedCase("topics", "topics with queues at brokers", dict(recording.topics))
    return tuple(sorted(named))


def _producing(recording: Recording) -> Iterable[Producing]:
    """How much was sent is told by the producer, else by the furthest offset that anybody committed, else planned."""
    told = list(recording.messages.produced)
    for action in recording.actions:
        if action.action != "produce":
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
