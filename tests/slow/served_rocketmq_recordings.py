"""Recorded scenarios of a real RocketMQ, played once more with Java's clients before served clusters.

The script is the recording's: the same members with the same client ids and settings do the same, and as many records
are written. A member's own process is ended or stopped where its recorded one was. What happened is told by the clients
(their process queue tables, their requests, their listeners) in the form in which recordings and runs of the model are
compared.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from typing import Final, NamedTuple

from compare.conformance.recordings import changed, ownership
from compare.conformance.rocketmq_recordings.happened import RECORDED_CODES, Happened, Held, Request, queues_of, twice
from compare.conformance.rocketmq_recordings.reading import Lifecycle, Recording, is_retry, settings_of
from compare.conformance.rocketmq_recordings.scenario import Plan
from compare.testing.brokers import RocketMQBrokers
from protocols.engine.nodes import Message
from protocols.java import Queue
from protocols.scenario.events import BrokerEvent, Crash, Disconnect, Event, Hang, Join, Leave, Queues, Subscribe
from rocketmq_selfbalance.messages.membership import HeartBeat
from rocketmq_selfbalance.registry import STRATEGIES
from rocketmq_selfbalance.wire.refusals import kind_of
from tests.slow.java_members import Members, Program, Told
from tests.slow.scripts import Moment, follow
from tests.waiting import until

SOURCE: Final = Path(__file__).with_name("RocketMembers.java")
HEARTBEAT_MS: Final = 15.0
"""In recordings of a real broker it takes 8 to 22 ms."""
TICK_S: Final = 0.1
_STRATEGIES: Final = "org.apache.rocketmq.client.consumer.rebalance."
_WARM_S: Final = 5.0
_PATIENCE_S: Final = 180.0
_SAID: Final = {
    "started": "started",
    "closing": "shutting_down",
    "closed": "shutdown",
    **{word: word for word in ("channels_closed", "subscribed", "unsubscribed")},
}
"""What members tell of themselves, and what recordings call it."""
_OWN_PROCESS: Final = (Crash, Hang)
"""Events that need a process of the member's own."""


class Played(NamedTuple):
    """What happened, and the recording that it makes: the script of the first one, with the times at which members
    began, said what they had done, and asked."""

    happened: Happened
    recording: Recording


@dataclass
class Stage:
    """One recording that is played: its cluster, and the process of each member."""

    plan: Plan
    cluster: RocketMQBrokers
    processes: Mapping[str, Members]
    killed: dict[str, float] = field(default_factory=dict)
    """Member to seconds since the epoch."""
    subscribed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    away: set[str] = field(default_factory=set)
    """Brokers that do not run."""
    result: "Played | None" = None

    @property
    def recording(self) -> Recording:
        return self.plan.recording

    def told_as(self, member: str) -> str:
        """The member's name in its process, which members of several recordings share."""
        return f"{self.recording.scenario}/{member}"

    def say(self, member: str, command: str, *words: str) -> None:
        self.processes[member].say(command, self.told_as(member), *words)

    def do(self, event: Event) -> None:
        """What the script does at one moment."""
        match event:
            case Join(join=member, subscribe=topics):
                self.subscribed[member] = tuple(topics or ())
                self.say(member, "start", *_settings(self.recording, event, self.cluster.name_server))
            case Leave(leave=member):
                self.say(member, "close")
            case Crash(crash=member):
                self.killed[member] = time.time()
                self.processes[member].kill()
            case Hang(hang=member):
                self.processes[member].signal(SIGSTOP)
            case Disconnect(disconnect=member, broker=str(broker)):
                self.say(member, "reset", self.cluster.addresses[broker])
            case Subscribe(subscribe=changed):
                for member, topics in changed.items():
                    self.subscribe(member, tuple(topics))
            case Queues(queues=changed):
                for topic, counts in changed.items():
                    self.cluster.set_queues(topic, counts)
            case BrokerEvent(broker=broker, does="return"):
                self.cluster.start(broker)
                self.away.discard(broker)
            case BrokerEvent(broker=broker, does=does):
                (self.cluster.kill if does == "kill" else self.cluster.stop)(broker)
                self.away.add(broker)
            case _:
                raise AssertionError(f"a step that is not known: {event}")

    def subscribe(self, member: str, topics: tuple[str, ...]) -> None:
        before, self.subscribed[member] = self.subscribed[member], topics
        for topic in sorted({*before, *topics}):
            if topic not in before:
                self.say(member, "subscribe", topic)
            elif topic not in topics:
                self.say(member, "unsubscribe", topic)

    def write(self, topics: Iterable[str], count: int) -> None:
        """So many records to each queue of these topics that is there."""
        for topic in topics if count else ():
            for broker, queues in self.cluster.queues(topic).items():
                for number in range(queues if broker not in self.away else 0):
                    self.cluster.produce(topic, "value", broker=broker, queue=number, count=count)

    def end(self, began: float) -> None:
        """The recorded scenario is over: see what happened. ``began``: seconds since the epoch."""
        told = told_by_members(self)
        found = happened(self, told, began)
        self.result = Played(found, _recorded(self.recording, told, found, began))


def _settings(recording: Recording, event: Join, name_server: str) -> list[str]:
    """The words of a start (``RocketMembers.java``)."""
    settings = recording.settings
    address, _, instance = str(event.client_id).partition("@")
    assert instance == recording.scenario, event.client_id
    strategy = STRATEGIES[str(event.strategy)].java_class
    orderly = (event.settings or {}).get("orderly")
    return [
        name_server,
        recording.scenario,
        address,
        f"{_STRATEGIES}{strategy}",
        str(settings.get("consumeThreads", 20)),
        str(settings.get("consumeFromWhere", "CONSUME_FROM_LAST_OFFSET")),
        "orderly" if orderly else "concurrently",
        ",".join(event.subscribe or ()),
    ]


def play(plans: Sequence[Plan], program: Program) -> list[Played]:
    """Play these all at once; what happened in each, times in the recording's time."""
    processes: dict[tuple[int, str], Members] = {}
    """Place in the list and member to its own process."""
    shared: list[Members] = []
    """A process cannot hold two clients of one id, as two recordings of one scenario have."""
    stages = []
    try:
        for index, plan in enumerate(plans):
            twins = sum(each.recording.scenario == plan.recording.scenario for each in plans[:index])
            if twins == len(shared):
                shared.append(Members(program))
            for member in _with_own_process(plan):
                processes[index, member] = Members(program)
            cluster = RocketMQBrokers(
                plan.recording.topics,
                brokers=len(plan.brokers),
                rocketmq_version=str(settings_of(plan.recording)["version"]),
            )
            members = {each.id: processes.get((index, each.id), shared[twins]) for each in plan.recording.members}
            _take_time(cluster)
            stages.append(Stage(plan, cluster, members))
        _warm([*shared, *processes.values()])
        began = time.time()
        follow(began, [moment for stage in stages for moment in _script(stage, began)])
    finally:
        for members_of_one in (*shared, *processes.values()):
            members_of_one.kill()
        for stage in stages:
            stage.cluster.close()
    assert all(stage.result is not None for stage in stages)
    return [stage.result for stage in stages if stage.result is not None]


def _events(plan: Plan) -> list[Event]:
    return [moment.make(moment.earliest) for moment in plan.moments]


def _with_own_process(plan: Plan) -> list[str]:
    return sorted({name for each in _events(plan) if isinstance(each, _OWN_PROCESS) for name in each.members()})


def _script(stage: Stage, began: float) -> Iterable[Moment]:
    """All that is done."""
    plan = stage.plan
    for event in _events(plan):
        yield event.at, partial(stage.do, event)
        if isinstance(event, Hang) and event.at + event.for_ < plan.recording.length_ms:
            yield event.at + event.for_, partial(stage.processes[event.hang].signal, SIGCONT)
    for each in plan.producing:
        done = 0
        for tick in range(1, int((each.until - each.since) / TICK_S / 1000) + 1):
            due = int(tick * TICK_S * each.per_second)
            yield each.since + tick * TICK_S * 1000, partial(stage.write, each.topics, due - done)
            done = due
    yield plan.recording.length_ms, partial(stage.end, began)


def _warm(processes: Sequence[Members]) -> None:
    """Let every process have loaded its classes, so that members start within milliseconds."""
    cluster = RocketMQBrokers({"warm": 1})
    try:
        for number, members in enumerate(processes):
            for how in ("orderly", "concurrently"):
                own = [f"{how}-{number}", "10.9.9.9", f"{_STRATEGIES}AllocateMessageQueueAveragely", "1"]
                members.say("start", how, cluster.name_server, *own, "CONSUME_FROM_FIRST_OFFSET", how, "warm")
        _until_all(processes, "started")
        cluster.produce("warm", "value", count=20)
        time.sleep(_WARM_S)
        for members in processes:
            for how in ("orderly", "concurrently"):
                members.say("close", how)
        _until_all(processes, "closed")
    finally:
        cluster.close()


def _take_time(cluster: RocketMQBrokers) -> None:
    """Let heartbeats take as long as a real broker needs for them. A client that wakes sends one and asks who is a
    member, from two threads: with a real broker the list is told first, and it gives up what others have by then."""
    background = cluster._background
    world = background.served.world

    def late(name: str, sender: str, message: Message) -> bool:
        if kind_of(message) is not HeartBeat:
            return False
        world.at(world.tell_time() + HEARTBEAT_MS, partial(world.deliver, name, sender, message), "heartbeat")
        return True

    def begin() -> None:
        world.gate = late

    background.call(begin)


def _until_all(processes: Sequence[Members], kind: str) -> None:
    for members in processes:
        for how in ("orderly", "concurrently"):
            until(partial(members.of, how, kind), _PATIENCE_S)


def told_by_members(stage: Stage) -> dict[str, list[Told]]:
    """Member to what it has told until now."""
    members = [each.id for each in stage.recording.members]
    told = {member: stage.processes[member].of_any(stage.told_as(member)) for member in members}
    failed = [line for lines in told.values() for line in lines if line.kind == "failed"]
    assert not failed, failed
    return told


def happened(stage: Stage, told: Mapping[str, Sequence[Told]], began: float) -> Happened:
    """All that is compared."""
    recording = stage.recording
    held = sorted(_held(told, stage.killed, began), key=lambda each: each[0])
    changes = changed(each for each in held if each[0] <= recording.length_ms)
    spans: dict[Queue, list[tuple[int, int]]] = {}
    for line in (line for lines in told.values() for line in lines if line.kind == "read"):
        queue, first, end = line.about
        spans.setdefault(_queue(queue), []).append((int(first), int(end)))
    names = {address: name for name, address in stage.cluster.addresses.items()}
    requests = [
        Request((line.at - began) * 1000, member, int(line.about[0]), names[line.about[1]])
        for member, lines in told.items()
        for line in lines
        if line.kind == "rpc" and int(line.about[0]) in RECORDED_CODES
    ]
    return Happened(
        ownership(changes, recording.length_ms, queues_of(recording.topics)),
        sum(twice(each) for queue, each in spans.items() if not is_retry(queue)),
        tuple(sorted(requests, key=lambda each: each.at)),
    )


def _recorded(recording: Recording, told: Mapping[str, Sequence[Told]], found: Happened, began: float) -> Recording:
    clients = {each.member: each.client_id for each in recording.lifecycle if each.client_id}
    lifecycle = [
        Lifecycle(t_ms=at, event=_SAID[line.kind], member=member, clientId=clients.get(member, ""))
        for member, lines in told.items()
        for line in lines
        if line.kind in _SAID and 0 <= (at := (line.at - began) * 1000) <= recording.length_ms
    ]
    rpc = tuple(tuple(each) for each in found.requests or () if 0 <= each.at <= recording.length_ms)
    lifecycle.sort(key=lambda each: each.t_ms)
    return recording.model_copy(update={"lifecycle": tuple(lifecycle), "rpc": rpc})


def _held(told: Mapping[str, Sequence[Told]], killed: Mapping[str, float], began: float) -> Iterable[Held]:
    for member, lines in told.items():
        for line in lines:
            if line.kind == "owns":
                queues = frozenset(_queue(each) for each in line.about[0].split(",") if each)
                yield (line.at - began) * 1000, member, frozenset(q for q in queues if not is_retry(q))
        if member in killed:
            yield (killed[member] - began) * 1000, member, frozenset()


def _queue(text: str) -> Queue:
    topic, broker, number = text.rsplit("|", 2)
    return Queue(topic, broker, int(number))
