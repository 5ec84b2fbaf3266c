"""A recording as a scenario for the model: who starts when with which settings, and what the script then did.

Nothing that the recording found out goes in, but what the script does not say: when a process that was started began
to work (its first request, at the latest its first heartbeat), when something that took its time was done (what the
member or the script said afterwards), and how much the producer sent.

A recording leaves open in which phase of the brokers' clocks something happened, when exactly between the script's
word and its effect, and how fast a busy machine was. So runs differ: each broker's clock has a phase of its own, every
such moment lies anywhere within its span, and messages travel fast, slower, or slowly. In a quarter of the runs a
member begins at once and takes as long for its start as it did, in another quarter up to as long. A broker that comes
back may not have found the name server yet when it would register: it does so at the next time, 10 s later.
"""

from dataclasses import dataclass

from compare.conformance.cases import MalformedCase
from compare.conformance.rocketmq_recordings.reading import Recording, settings_of
from compare.conformance.rocketmq_recordings.script import (
    BROKER_GONE,
    PRODUCE,
    Moment,
    Producing,
    Script,
    Starting,
    producing,
)
from protocols.engine.randomness import number_below
from protocols.scenario.events import BrokerEvent, Event, Join, Network
from protocols.scenario.fields import GroupPart, TopicPart, milliseconds
from protocols.scenario.model import RunPart, Scenario, SystemPart
from rocketmq_selfbalance.cluster import NAME_SERVER, ClientSettings

LATENCIES = (0.2, 2.0), (1.0, 10.0), (5.0, 50.0)
"""Milliseconds, least and most, of the runs in turn: a quiet machine, a busy one, an overloaded one."""

WARM_UP_MS = 30_000.0
"""Brokers run before the recording begins; each is started anew somewhere in this time, so that the clocks of two
have nothing to do with each other. As long as the longest period of a broker."""

RETRY_LATER_MS = 20
"""A client that tries again and again to reach a broker takes up to so much longer for each try than it pauses; so
clients that lost a broker at the same instant find it at different times."""

FOUND_MS = 1_000.0
"""A broker that starts looks for the name servers in one thread and registers in another: where it has found none by
then nobody hears of it. Longer than the race, shorter than until the next registration."""

START = "brokerStartTime"
"""A broker that comes back registers at once: recordings name the time when it did."""

LONGEST_DELAY_MS = 1_000.0
"""Of a message that a slow start delays; with two of them and the travel a client still waits for the answer."""

_STEPS = 1000
"""So many places within a span."""

_NO_PHASE = (PRODUCE, BROKER_GONE)
"""Actions after which nothing changes hands that would not have done so before."""


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
    script = Script(recording, brokers)
    moments = [moment for number, action in enumerate(recording.actions) for moment in script.moments(number, action)]
    if any(moment.latest > recording.length_ms for moment in moments):
        raise MalformedCase("actions", f"actions within the recording's {recording.length_ms:g} ms", "a later one")
    return Plan(
        recording,
        brokers,
        tuple(sorted(moments, key=lambda moment: moment.earliest)),
        tuple(producing(recording)),
        tuple(sorted({0.0, *(action.t_ms for action in recording.actions if action.action not in _NO_PHASE)})),
        SystemPart(system=f"rocketmq:{recording.members[0].strategy}", settings={START: 1, **settings_of(recording)}),
    )


def run(plan: Plan, number: int) -> Run:
    """Run ``number`` (from 0 on), which is also its seed."""
    recording, shift = plan.recording, WARM_UP_MS
    events: list[Event] = []
    for broker in plan.brokers:
        at = milliseconds(WARM_UP_MS * number_below(_STEPS, "broker", number, broker) / _STEPS)
        events += [BrokerEvent(at=at, broker=broker, does="kill"), BrokerEvent(at=at, broker=broker, does="return")]
    for index, moment in enumerate(plan.moments):
        events += _happens(moment, shift, number, index)
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


def _happens(moment: Moment, shift: float, number: int, index: int) -> list[Event]:
    """Moment ``index`` in run ``number``."""
    within = number_below(_STEPS, "moment", number, index) / (_STEPS - 1)
    starting = moment.starting
    slowly = starting is not None and starting.lasted > 0 and number % 2
    at = milliseconds(shift + moment.earliest + (0.0 if slowly else within) * (moment.latest - moment.earliest))
    events: list[Event] = []
    if moment.returning and number_below(2, "found", number, index):
        between = (moment.returning, NAME_SERVER)
        events.append(Network.model_validate({"at": at, "network": "cut", "between": between, "for": FOUND_MS}))
    if starting is not None:
        if slowly:
            events += _as_slow(starting, at) if number % 4 == 3 else _unevenly_slow(starting, at, number)
        # What the client sends once it is made arrives when its first request did.
        at = milliseconds(at - starting.ahead)
        events += _delay((starting.member,), at, starting.ahead, starting.ahead)
    return [*events, _in_run(moment.make(at), number)]


def _in_run(event: Event, number: int) -> Event:
    """Members that start put their pulls off a little longer than set, each in its own way."""
    if not isinstance(event, Join):
        return event
    delay = ClientSettings().pulling.pull_time_delay_when_exception_ms + number_below(
        RETRY_LATER_MS, "retry", number, event.join
    )
    return event.model_copy(update={"settings": {**event.settings, "pullTimeDelayMillsWhenException": delay}})


def _as_slow(starting: Starting, at: float) -> list[Event]:
    """The start takes as long as it did: everything from and to the member is so much later."""
    about = (starting.member,)
    return [
        *_delay(about, at, starting.asking, starting.asking / (2 * starting.questions)),
        *_delay(about, at + starting.asking, starting.telling, starting.telling / (2 * len(starting.brokers))),
    ]


def _unevenly_slow(starting: Starting, at: float, number: int) -> list[Event]:
    """The start takes up to as long as it did: questions take their share of it, and each broker takes its own."""
    member, shares = starting.member, dict.fromkeys(("", *starting.brokers), 0.0)
    for peer in shares:
        shares[peer] = number_below(_STEPS, "slow", number, member, peer) / _STEPS
    asking = shares[""] * starting.asking
    found = _delay((member,), at, asking, asking / (2 * starting.questions))
    for broker in starting.brokers:
        found += _delay((member, broker), at + asking, starting.telling, shares[broker] * starting.telling / 2)
    return found


def _delay(between: tuple[str, ...], at: float, lasts: float, delay: float) -> list[Event]:
    """Everything between these, or from and to the one, is so much later for so long, in milliseconds; not so much
    that it is given up."""
    later = milliseconds(min(delay, LONGEST_DELAY_MS))
    given = {"at": milliseconds(at), "network": "delay", "between": between, "for": milliseconds(lasts), "delay": later}
    return [Network.model_validate(given)] if later > 0 else []


def _brokers(recording: Recording) -> tuple[str, ...]:
    named = {broker for counts in recording.topics.values() for broker in counts}
    for action in recording.actions:
        named.update(action.queues, [action.broker] if action.broker else [])
    if not named:
        raise MalformedCase("topics", "topics with queues at brokers", dict(recording.topics))
    return tuple(sorted(named))
