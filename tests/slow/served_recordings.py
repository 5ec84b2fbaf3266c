"""Recorded scenarios of a real Kafka, played once more with Java's clients against served brokers.

The script is the recording's: the same members with the same settings do the same at the same times, and as many
records are written. What happened is told by the clients' own callbacks and polls, by the group's description, and of
generations by the served coordinator; it has the form in which recordings and runs of the model are compared.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from compare.conformance.cases import kafka_version
from compare.conformance.kafka_recordings.happened import Called, Delivery, Happened, delivered_again, silences
from compare.conformance.kafka_recordings.playing import Heard
from compare.conformance.kafka_recordings.scenario import Plan
from compare.conformance.recordings import Change
from compare.testing.brokers import KafkaBroker
from protocols.java import Queue, sort_queues
from protocols.scenario.events import Crash, Join, Leave, Queues, StopPolling, Subscribe
from tests.slow.group_members import silent
from tests.slow.java_members import Members, Program, Told
from tests.slow.scripts import Moment, follow

DELAY_MS: Final = 3000
"""The real broker's ``group.initial.rebalance.delay.ms``, which brokers for tests do not have."""
TICK_S: Final = 0.1
_CALLBACKS: Final = ("assigned", "revoked", "lost")
_WARM_S: Final = 5.0


@dataclass
class Stage:
    """One recording that is played: its brokers, the process of each member, and where a kill ended a member."""

    plan: Plan
    broker: KafkaBroker
    processes: Mapping[str, Members]
    killed: dict[str, float] = field(default_factory=dict)
    """Member to seconds since the epoch."""
    result: Happened | None = None

    def told_as(self, member: str) -> str:
        """The member's name in its process, which members of several recordings share."""
        return f"{self.plan.recording.group}/{member}"

    def begin(self, member: str, topics: Sequence[str]) -> None:
        settings = {**self.plan.recording.members[member].settings, "bootstrap.servers": self.broker.bootstrap}
        self.processes[member].start(self.told_as(member), topics, settings)

    def do(self, event: object) -> None:
        """What the script does at one moment."""
        match event:
            case Join(join=member, subscribe=topics):
                self.begin(member, topics or ())
            case Leave(leave=member):
                self.processes[member].say("close", self.told_as(member))
            case Crash(crash=member):
                self.killed[member] = time.time()
                self.processes[member].kill()
            case StopPolling(stop_polling=member, for_=length):
                self.processes[member].say("sleep", self.told_as(member), str(round(float(length))))
            case Subscribe(subscribe=changed):
                for member, topics in changed.items():
                    self.processes[member].say("subscribe", self.told_as(member), ",".join(topics))
            case Queues(queues=changed):
                for topic, counts in changed.items():
                    self.broker.add_partitions(topic, sum(counts.values()))
            case _:
                raise AssertionError(f"a step that is not known: {event}")

    def write(self, grown: Mapping[str, int]) -> None:
        """As many records as are written in a tick, to each partition."""
        for topic, count in grown.items():
            for number in range(count):
                self.broker.produce(topic, "value", partition=number, count=round(self.plan.recording.rate * TICK_S))

    def end(self, began: float) -> None:
        """The recorded scenario is over: see what happened. ``began``: seconds since the epoch."""
        now = time.time()
        server_began = now * 1000 - self.broker.group(self.plan.recording.group).clock.time
        self.result = happened(self, began, began * 1000 - server_began, now)


def play(plans: Sequence[Plan], program: Program) -> dict[str, Happened]:
    """Play these all at once; scenario to what happened, times in the recording's time."""
    doomed = {(plan.recording.group, each.event.crash) for plan in plans for each in _events(plan, Crash)}
    shared = Members(program)
    alone = {each: Members(program) for each in sorted(doomed)}
    stages = [
        Stage(
            plan,
            KafkaBroker(
                plan.partitions,
                settings={"group.initial.rebalance.delay.ms": DELAY_MS, **dict(plan.coordinator)},
                kafka_version=kafka_version(plan.recording.broker, "broker").name,
            ),
            {name: alone.get((plan.recording.group, name), shared) for name in plan.clients},
        )
        for plan in plans
    ]
    try:
        _warm([shared, *alone.values()])
        began = time.time()
        follow(began, _script(stages, began))
    finally:
        for members in (shared, *alone.values()):
            members.kill()
        for stage in stages:
            stage.broker.close()
    return {stage.plan.recording.scenario: stage.result for stage in stages if stage.result is not None}


def _events(plan: Plan, kind: type[Any]) -> list[Any]:
    """The plan's moments with such an event."""
    return [each for each in plan.moments if isinstance(each.event, kind)]


def _script(stages: Iterable[Stage], began: float) -> Iterable[Moment]:
    """All that is done, of all recordings."""
    for stage in stages:
        partitions = dict(stage.plan.partitions)
        growth = [(each.at, each.event) for each in _events(stage.plan, Queues)]
        for moment in stage.plan.moments:
            if moment.event is not None:
                yield moment.at, partial(stage.do, moment.event)
        for tick in range(int(stage.plan.recording.end / TICK_S / 1000)):
            at = tick * TICK_S * 1000
            while growth and growth[0][0] < at:
                partitions.update({name: sum(each.values()) for name, each in growth.pop(0)[1].queues.items()})
            yield at, partial(stage.write, dict(partitions))
        yield stage.plan.recording.end, partial(stage.end, began)


def _warm(processes: Sequence[Members]) -> None:
    """Let every process have loaded its classes, so that members start within milliseconds."""
    broker = KafkaBroker({"warm": 1})
    try:
        for members in processes:
            for protocol in ("classic", "consumer"):
                own = {"bootstrap.servers": broker.bootstrap, "group.id": protocol, "group.protocol": protocol}
                members.start(protocol, ["warm"], {**own, "client.id": protocol})
            time.sleep(_WARM_S)
            for protocol in ("classic", "consumer"):
                members.close(protocol)
    finally:
        broker.close()


def happened(stage: Stage, began: float, server_at: float, now: float) -> Happened:
    """All that is compared. ``server_at``: when the script began, by the brokers' clock."""
    heard = Heard()
    for each in stage.broker.group(stage.plan.recording.group).timeline.facts:
        heard.fact(each.now - server_at, each.node, each.fact, 0, 0)
    by_server = heard.happened(stage.plan.recording.end, {})
    state, described = _described(stage)
    told = {
        member: [each for each in stage.processes[member].of_any(stage.told_as(member)) if each.at <= now]
        for member in stage.plan.clients
    }
    deliveries = _deliveries(told, began)
    return replace(
        by_server,
        callbacks=tuple(_callbacks(told, began)),
        changes=tuple(_changes(told, stage.killed, began)),
        state=state,
        described=described,
        again={queue: sum(count for _, count in delivered_again(each)) for queue, each in deliveries.items()},
        silence={queue: max(length for _, length in silences(each)) for queue, each in deliveries.items()},
        delivered=deliveries,
    )


def _described(stage: Stage) -> tuple[str, dict[str, tuple[Queue, ...]]]:
    """The group's state, and client id to partitions, as an administrator is told."""
    from confluent_kafka.admin import AdminClient

    group = stage.plan.recording.group
    client = AdminClient({"bootstrap.servers": stage.broker.bootstrap}, logger=silent())
    answer = client.describe_consumer_groups([group])[group].result(10)
    found: dict[str, set[Queue]] = {}
    for member in answer.members:
        queues = [Queue(each.topic, "", each.partition) for each in member.assignment.topic_partitions]
        found.setdefault(member.client_id, set()).update(queues)
    state = "".join(word.capitalize() for word in answer.state.name.split("_"))
    return state, {name: sort_queues(queues) for name, queues in found.items() if queues}


def _callbacks(told: Mapping[str, Sequence[Told]], began: float) -> list[Called]:
    found: list[Called] = []
    for member, lines in told.items():
        last: int | None = None
        for each in lines:
            if each.kind in _CALLBACKS:
                last = each.generation if each.generation > 0 else last
                found.append(Called((each.at - began) * 1000, member, each.kind, _queues(each.partitions), last))
    return sorted(found, key=lambda call: call.at)


def _changes(told: Mapping[str, Sequence[Told]], killed: Mapping[str, float], began: float) -> list[Change]:
    found: list[Change] = []
    for member, lines in told.items():
        owned: set[Queue] = set()
        for each in lines:
            at = (each.at - began) * 1000
            if each.kind == "assigned":
                gained = sort_queues(set(_queues(each.partitions)) - owned)
                found.append(Change(at, member, gained, ()))
                owned.update(gained)
            elif each.kind in (*_CALLBACKS, "closed"):
                lost = sort_queues(owned if each.kind == "closed" else owned & set(_queues(each.partitions)))
                found.append(Change(at, member, (), lost))
                owned.difference_update(lost)
        if member in killed:
            found.append(Change((killed[member] - began) * 1000, member, (), sort_queues(owned)))
    return sorted(found, key=lambda change: change.at)


def _deliveries(told: Mapping[str, Sequence[Told]], began: float) -> dict[Queue, tuple[Delivery, ...]]:
    found: dict[Queue, list[Delivery]] = {}
    for each in (each for lines in told.values() for each in lines if each.kind == "read"):
        partition, first, end = each.about
        at = (each.at - began) * 1000
        found.setdefault(_queue(partition), []).append(Delivery(at, at, int(first), int(end)))
    return {queue: tuple(sorted(each)) for queue, each in sorted(found.items())}


def _queues(partitions: Iterable[str]) -> tuple[Queue, ...]:
    return sort_queues([_queue(each) for each in partitions])


def _queue(partition: str) -> Queue:
    topic, _, number = partition.rpartition("-")
    return Queue(topic, "", int(number))
