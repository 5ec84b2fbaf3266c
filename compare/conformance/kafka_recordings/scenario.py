"""A recording as a scenario for the model: who starts when with which settings, and what the script then did.

Nothing that the recording found out goes in, but what the script does not say: which topics the members subscribed to
at first and how many partitions these had (what the group handed out before the first change tells it), when each
JoinGroup reached the coordinator, and the member ids, which decide orders.

A recording leaves two things open: in which phase of the heartbeats (and of other periods) something happened, and how
late a busy client was. So runs differ: half of them keep to the recorded times, in the other half everything after the
first assignment is later by a part of the longest period. And each client's heartbeats are a little slower than set,
more so in later runs, as those of a client are whose heartbeat thread looks at the clock only each
``retry.backoff.ms``. Under the consumer protocol that thread is exact, but the user's loop notices a new target only
when it has waited for records: how long differs from run to run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compare.conformance.cases import MalformedCase, kafka_version
from compare.conformance.kafka_recordings.coordinator_log import Joined, joins
from compare.conformance.kafka_recordings.reading import JAVA, Client, Event, Recording, clients
from compare.conformance.recordings import MOST_MS, NOISE_MS, RUNS
from kafka_coordinator.cluster import BrokerSettings, ConsumerSettings
from protocols.engine.randomness import number_below
from protocols.java import Queue
from protocols.scenario.events import Crash, Join, Leave, Queues, StopPolling, Subscribe
from protocols.scenario.events import Event as ScenarioEvent
from protocols.scenario.fields import GroupPart, TopicPart, milliseconds
from protocols.scenario.model import LoadPart, RunPart, Scenario

BROKER = "broker-1"

APART = 20.0
"""Milliseconds between two members that start: keeps the order in which the coordinator took them up."""

START, GROW = "start member", "add partitions"
"""The step by which a client begins, and the one that is about no client."""

INTERVAL, SESSION = "group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms"


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that the script did: ``at`` in the recording's time; ``name`` in words. No ``event``: it is the end
    of an earlier one."""

    at: float
    name: str
    event: ScenarioEvent | None


@dataclass(frozen=True, slots=True)
class Plan:
    """All that the runs of a recording have in common."""

    recording: Recording
    clients: Mapping[str, Client]
    ids: Mapping[str, Sequence[str]]
    """What ids are made of, to the ids in the order in which they were made."""
    moments: tuple[Moment, ...]
    """By time."""
    partitions: Mapping[str, int]
    """Topic to partitions at first."""
    settled: float
    """When the first assignment was there, in the recording's time."""
    period: float
    """The longest period of a client that decides when something is noticed, in milliseconds."""
    coordinator: Mapping[str, object]
    """Settings of the coordinator that are not the defaults."""
    late: Mapping[str, int]
    """Client to the milliseconds that its loop was late when it started; see `_lateness`."""


def plan(recording: Recording) -> Plan:
    """What is to be played. Raises `MalformedCase` for a script that cannot be."""
    known = clients(recording)
    joined = joins(recording, known)
    ids: dict[str, list[str]] = {}
    for each in joined:
        client = known[each.member]
        made_of = (client.instance_id or each.member) if client.is_classic else each.member
        ids.setdefault(made_of, []).append(each.member_id)
    moments = _moments(recording, known, joined)
    settled = min((event.ms for event in recording.of("assigned")), default=recording.end)
    settings = [ConsumerSettings.of(client.settings) for client in known.values()]
    at_coordinator = _coordinator_settings(recording)
    interval = int(str(at_coordinator.get(INTERVAL, BrokerSettings().group_consumer_heartbeat_interval_ms)))
    periods = [
        max(setting.heartbeat_interval_ms if setting.is_classic else interval, setting.auto_commit_interval_ms)
        for setting in settings
    ]
    if any(isinstance(moment.event, Queues) for moment in moments):
        periods += [setting.metadata_max_age_ms for setting in settings]
    return Plan(
        recording,
        known,
        ids,
        tuple(moments),
        _partitions_at_first(recording),
        settled,
        min(max(periods, default=0), recording.end - settled),
        at_coordinator,
        _lateness(recording, known, joined),
    )


def _lateness(recording: Recording, known: Mapping[str, Client], joined: Sequence[Joined]) -> dict[str, int]:
    """Milliseconds from the heartbeat with which a Java client of the consumer protocol joined to its first callback,
    by client. The coordinator answers such a heartbeat at once, and Java calls its listener with
    whatever is in the answer, so that this is how long a loop kept a target waiting on that machine. No more than a
    recorded figure may be outside of the runs' range."""
    called: dict[str, float] = {}
    for event in recording.of("assigned"):
        called.setdefault(event.member, event.ms)
    return {
        each.member: int(min(called[each.member] - each.taken, NOISE_MS))
        for each in joined
        if each.member in called and known[each.member].kind == JAVA and not known[each.member].is_classic
    }


def _coordinator_settings(recording: Recording) -> dict[str, object]:
    """What the group's own settings are as the broker's. These have lower limits, which the recorded broker had not."""
    given = {f"group.{name}": value for name, value in (recording.group_config or {}).items()}
    known = {name: value for name, value in given.items() if name in (INTERVAL, SESSION)}
    limits = {name.replace("consumer.", "consumer.min."): value for name, value in known.items()}
    return {**known, **limits}


def _moments(recording: Recording, known: Mapping[str, Client], joined: Sequence[Joined]) -> list[Moment]:
    """The script's steps, at the times at which the clients took them."""
    started = _starts(recording, joined)
    topics = _topics_at_first(recording)
    moments: list[Moment] = []
    for number, step in enumerate(recording.events):
        if step.ev != "step" or step.what in _SILENT:
            continue
        if step.what != START and step.what not in _STEPS:
            expected = f"one of {', '.join([START, *_STEPS, *_SILENT])}"
            raise MalformedCase(f"events.{number}.what", expected, step.what)
        if step.what != GROW and not step.member:
            raise MalformedCase(f"events.{number}.member", "the member that the step is about", step.member)
        if step.what == START:
            moments.append(_start(step, known, started, topics))
        else:
            moments.append(_STEPS[step.what](recording, step))
    return sorted(moments, key=lambda moment: moment.at)


def _starts(recording: Recording, joined: Sequence[Joined]) -> dict[str, float]:
    """Member to the time at which it starts: when its first JoinGroup came, those of several members far enough from
    each other to be taken up in the recorded order. Where the log does not tell, when the client said it had."""
    steps = {event.member: event.ms for event in recording.of("step") if event.what == START}
    said = {event.member: event.ms for event in recording.of("started")}
    first = {each.member: each for each in reversed(joined)}
    order = sorted(
        (first[member].taken, first[member].came, member)
        if member in first
        else (said.get(member, at),) * 2 + (member,)
        for member, at in steps.items()
    )
    found: dict[str, float] = {}
    earliest = 0.0
    for _, came, member in order:
        earliest = found[member] = max(came, earliest)
        earliest += APART
    return found


def _start(step: Event, known: Mapping[str, Client], started: Mapping[str, float], topics: Sequence[str]) -> Moment:
    client = known[step.member]
    at = started[step.member]
    event = Join(
        at=at,
        join=step.member,
        subscribe=tuple(topics),
        instance_id=client.instance_id,
        strategy=client.strategy,
        settings=dict(client.settings),
    )
    return Moment(at, f"the start of {step.member}", event)


def _told(recording: Recording, step: Event, kind: str) -> float:
    """When the client said that it does what the step is about (or the script, that it is done); the step's own time
    where nobody did. Not before 0."""
    about = (step.member, step.topic)
    said = [*recording.of(kind), *(each for each in recording.of("step") if each.what == kind)]
    times = (each.ms for each in said if (each.member, each.topic) == about and each.ms >= step.ms)
    return max(next(times, step.ms), 0.0)


def _close(recording: Recording, step: Event) -> Moment:
    at = _told(recording, step, "closing")
    return Moment(at, f"the close of {step.member}", Leave(at=at, leave=step.member))


def _kill(recording: Recording, step: Event) -> Moment:
    at = max(step.ms, 0.0)
    return Moment(at, f"the kill of {step.member}", Crash(at=at, crash=step.member))


def _stop_polling(recording: Recording, step: Event) -> Moment:
    at = _told(recording, step, "paused")
    again = (each.ms for each in recording.of("resumed") if each.member == step.member and each.ms >= at)
    back = next(again, recording.end + MOST_MS)
    event = StopPolling.model_validate({"at": at, "stop_polling": step.member, "for": back - at})
    return Moment(at, f"{step.member} stopped polling", event)


def _resume_polling(recording: Recording, step: Event) -> Moment:
    return Moment(_told(recording, step, "resumed"), f"{step.member} polled again", None)


def _grow(recording: Recording, step: Event) -> Moment:
    at = _told(recording, step, "partitions added")
    if step.topic not in recording.topics:
        raise MalformedCase("events", "a topic of the recording that gets partitions", step.topic)
    return Moment(at, f"{step.topic} got partitions", Queues(at=at, queues={step.topic: {BROKER: step.to}}))


def _subscribe(recording: Recording, step: Event) -> Moment:
    at = _told(recording, step, "subscribe")
    event = Subscribe(at=at, subscribe={step.member: step.topics})
    return Moment(at, f"{step.member} changed its subscription", event)


_STEPS: Mapping[str, Callable[[Recording, Event], Moment]] = {
    "stop member (clean close)": _close,
    "kill -9": _kill,
    "stop polling": _stop_polling,
    "resume polling": _resume_polling,
    GROW: _grow,
    "change subscription": _subscribe,
}

_SILENT = ("start", "end", "partitions added")
"""Steps that do nothing by themselves here."""


def _topics_at_first(recording: Recording) -> list[str]:
    """The script does not tell what members subscribe to when they start: all topics, unless somebody changes its
    subscription later; then those of which the group handed out anything before that."""
    change = next((event.ms for event in recording.of("step") if event.what == "change subscription"), None)
    if change is None:
        return sorted(recording.topics)
    return sorted({queue.topic for queue in _seen(recording, change)}) or sorted(recording.topics)


def _partitions_at_first(recording: Recording) -> dict[str, int]:
    """A recording does not say how many partitions a topic had before it got more: those that a member was given."""
    counts = dict(recording.topics)
    for step in reversed(recording.of("step")):
        if step.what == GROW and step.topic in counts:
            before = [queue.number for queue in _seen(recording, step.ms) if queue.topic == step.topic]
            counts[step.topic] = max(before, default=counts[step.topic] - 1) + 1
    return counts


def _seen(recording: Recording, before: float) -> set[Queue]:
    """Partitions that callbacks or descriptions name before a time."""
    queues: set[Queue] = set()
    for event in recording.events:
        if event.ms < before:
            queues.update(event.tp, *(member.tp for member in (event.g.members if event.g else ())))
    return queues


LATENCY = 0.2, 2.0
"""Milliseconds: everything ran on one machine."""

HEARTBEAT = "heartbeat.interval.ms"

POLL_WAITS = 130, 260
"""Milliseconds that a recorded client's loop waited for records inside poll(), at most, in the first run and in the
last one. It polled for 100 ms at a time, on a busy machine."""

_KINDS, LATE, STARTS = 4, 1, 3
"""Of four pairs of runs, those whose clients wait always as long as the latest of them did when it started
(`Plan.late`), and those whose clients do so only when they start, each as long as it did."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a plan: ``shift`` is how much later everything is that came after the first assignment; ``poll_wait``
    how long the user's loop of a client of the consumer protocol waits for records at most, and ``first_waits`` how
    long one does that has just started, where it is another time."""

    scenario: Scenario
    shift: float
    settled: float
    poll_wait: int
    first_waits: Mapping[str, int]

    def model_time(self, recorded: float) -> float:
        """A recorded time in the run's time."""
        return recorded + (self.shift if recorded > self.settled else 0.0)

    def recorded_time(self, at: float) -> float:
        """A time of the run in the recording's time."""
        return max(at - self.shift, self.settled) if at > self.settled else at


def run(plan: Plan, number: int) -> Run:
    """Run ``number`` (0 .. `RUNS` - 1), which is also its seed."""
    recording = plan.recording
    shift = plan.period * (number // 2) / (RUNS // 2) if number % 2 else 0.0
    end = recording.end + shift
    events = [
        _in_run(plan, moment.at, moment.event, number, shift) for moment in plan.moments if moment.event is not None
    ]
    scenario = Scenario(
        name=recording.scenario,
        brokers=(BROKER,),
        topics={topic: TopicPart(queues={BROKER: count}) for topic, count in plan.partitions.items()},
        groups={recording.group: GroupPart()},
        load=LoadPart(produce=recording.rate),
        versions={"kafka": kafka_version(recording.broker, "broker").name},
        run=RunPart.model_validate({"for": end, "seed": number, "latency": LATENCY}),
        events=tuple(sorted(events, key=lambda event: event.at)),
    )
    first_waits = plan.late if number // 2 % _KINDS == STARTS else {}
    return Run(scenario, shift, plan.settled, _poll_wait(plan, number), first_waits)


def _poll_wait(plan: Plan, number: int) -> int:
    least, most = POLL_WAITS
    wait = least + (most - least) * (number // 2) // (RUNS // 2)
    return max(wait, *plan.late.values()) if plan.late and number // 2 % _KINDS == LATE else wait


def _in_run(plan: Plan, recorded: float, event: ScenarioEvent, number: int, shift: float) -> ScenarioEvent:
    """What happens, at its time in the run; a client's heartbeats are a little slower than set."""
    at = milliseconds(recorded + (shift if recorded > plan.settled else 0.0))
    if not isinstance(event, Join) or not plan.clients[event.join].is_classic:
        return event.model_copy(update={"at": at})
    set_to = ConsumerSettings.of(event.settings)
    most = set_to.retry_backoff_ms * (number // 2) // (RUNS // 2)
    slower = number_below(most + 1, "heartbeats", number, event.join)
    interval = min(set_to.heartbeat_interval_ms + slower, set_to.session_timeout_ms - 1)
    return event.model_copy(update={"at": at, "settings": {**event.settings, HEARTBEAT: interval}})
