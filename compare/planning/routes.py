"""The route to each kind of target: which steps, in which order, and which orders go wrong."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from shlex import quote

from compare.catalogues import EAGER, ROCKETMQ_CLASSES
from compare.planning import kafka_routes
from compare.planning.kafka_routes import KAFKA, SESSION, describe, members, progress, rolling, stable
from compare.planning.subject import (
    RESET,
    STATIC_MEMBERS,
    Route,
    Step,
    Subject,
    Target,
    WrongOrder,
    in_each,
    one_by_one,
    setting_of,
)
from protocols.errors import UserError

INSTANCE = "group.instance.id"
BROKER_SESSION = "group.consumer.session.timeout.ms"

_NUMBERED = re.compile(r"(.*?)([0-9]+)", re.ASCII | re.DOTALL)


def more_members(subject: Subject, total: int) -> Route:
    """New members start together, so that the group rebalances once or twice and not once for each."""
    today = len(subject.members)
    if total <= today:
        raise UserError(f"--to members={total}: {subject.group} has {today} already, expected more")
    new = list(islice(_new_names(subject.names), total - today))
    queues = sum(map(subject.queue_count, subject.topics))
    idle = f" {total - queues} members will own nothing: there are {queues} queues." if total > queues else ""
    static = any(fields.get("instance_id") for fields in subject.members.values())
    own = {name: {INSTANCE: name} for name in new} if static else {}
    named = f" Each needs a {INSTANCE} of its own (here its name), because today's members are static." if own else ""
    kafka = subject.system == "kafka"
    view = describe(subject, "--members") if kafka else progress(subject)
    step = Step(
        f"Start {_several(len(new), 'new member')} together, within a few seconds of each other.{named}{idle}",
        f"`{view}` shows {total} members" + (", the state is Stable." if kafka else ", one for every queue."),
        f"Stop {_several(len(new), 'new member')} together, properly.",
        settings=own,
        start=new,
        watch=120_000.0,
    )
    wrong = []
    if len(new) > 1 and subject.strategy in EAGER:
        wrong.append(
            WrongOrder(
                f"One new member after another, each when the group is stable again: {len(new)} rebalances instead of"
                " one, and in each of them all members stop.",
                [Step("", "", "", {name: own.get(name, {})}, start=[name]) for name in new],
            )
        )
    return Route([step], wrong)


def _several(number: int, what: str) -> str:
    return f"the {what}" if number == 1 else f"the {number} {what}s"


def _new_names(names: Sequence[str]) -> Iterator[str]:
    """Names that go on from those that are there: c5, c6 after c1 to c4; else new-1, new-2."""
    matched = [_NUMBERED.fullmatch(name) for name in names]
    stems = {each[1] for each in matched if each is not None}
    if len(stems) == 1 and None not in matched:
        stem, first = stems.pop(), 1 + max(int(each[2]) for each in matched if each is not None)
        yield from (f"{stem}{number}" for number in count(first))
    yield from (name for number in count(1) if (name := f"new-{number}") not in names)


def static_members(subject: Subject) -> Route:
    """Every member gets an instance id of its own; afterwards a short restart moves nothing."""
    if all(fields.get("instance_id") for fields in subject.members.values()):
        raise UserError(f"--to static: all members of {subject.group} have a group.instance.id already")
    where = f"the brokers' {BROKER_SESSION}" if subject.consumer_protocol else SESSION
    own = {name: {INSTANCE: name} for name in subject.names}
    step = Step(
        f"Give every member a {INSTANCE} of its own that stays the same over restarts (here its name), and restart the"
        f" members one by one. Later restarts move nothing if the member is back within {where}; a member that crashes"
        " is missed for as long.",
        f"{stable(subject)}; `{describe(subject, '--members')}` shows a GROUP-INSTANCE-ID for every member, each once.",
        f"Remove {INSTANCE} and restart the members one by one: a static member does not leave when it stops, so each"
        f" one's partitions wait until {where} is over.",
        own,
        rolling(subject, {}, "", "", "").restart,
    )
    copied = WrongOrder(
        f"The same {INSTANCE} in several members, as when it is part of a shared template: "
        + (
            "the second one is refused with UNRELEASED_INSTANCE_ID and stops with an error."
            if subject.consumer_protocol
            else "the newcomer takes the place of the member that has the id, which is fenced"
            " (FENCED_INSTANCE_ID) and stops with an error."
        ),
        [rolling(subject, {INSTANCE: "same-for-all"}, "", "", "")],
    )
    note = (
        f"A stopped static member does not leave the group: when {members(subject)} shrink in number, remove the"
        f" surplus with kafka-consumer-groups.sh or wait until {where} is over."
    )
    return Route([step], [copied] if len(subject.members) > 1 else [], [note])


MAX_AGE = "metadata.max.age.ms"

NOTICED_MS = 420_000.0
"""How long the simulation goes on after a topic has grown: clients of the classic protocol look every five minutes."""


def more_queues(subject: Subject, topic: str, total: int) -> Route:
    """The topic gets more queues. In Kafka first a setting that keeps the records in them from being skipped."""
    if topic not in subject.topics:
        raise UserError(f"--to queues:{topic}={total}: {subject.group} reads {', '.join(subject.topics)}, expected one")
    today = subject.queue_count(topic)
    if total <= today:
        raise UserError(f"--to queues:{topic}={total}: {topic} has {today} already, expected more")
    grow = _in_kafka(subject, topic, total) if subject.system == "kafka" else _in_rocketmq(subject, topic, total)
    notes = [
        f"New records of a key may go to another queue than earlier ones, because producers choose it by the number of"
        f" queues: consumers that need the order per key must have read {topic} to its end first."
    ]
    if subject.system != "kafka" or _reads_from_the_beginning(subject):
        return Route([grow], notes=notes)
    earliest = rolling(
        subject,
        {RESET: "earliest"},
        f"Set {RESET}=earliest and restart the members one by one: with latest (the default) records that are written"
        " to a new partition before the group notices it are never read.",
        f"{stable(subject)}.",
        f"Set {RESET}=latest and restart the members one by one, once {topic} has grown and is read.",
    )
    skipped = WrongOrder(f"The topic grows while {RESET} is latest: what is written to the new partitions before the"
        " group notices them is skipped.", [grow])  # fmt: skip
    return Route([earliest, grow], [skipped], notes)


def _reads_from_the_beginning(subject: Subject) -> bool:
    """Whether every member is known to read a new partition from its first record, as members of a scenario do if
    nothing is said."""
    return all(setting_of(fields, RESET) in (None, "earliest") for fields in subject.members.values())


def _in_kafka(subject: Subject, topic: str, total: int) -> Step:
    noticed = (
        "The brokers notice it at once, the members at their next heartbeat."
        if subject.consumer_protocol
        else f"The group notices it when the leader refreshes its metadata, within {MAX_AGE} (5 minutes by default)."
    )
    return Step(
        f"Give {topic} {total} partitions instead of {subject.queue_count(topic)}. {noticed}",
        f"`{describe(subject, '')}` shows an owner for all {total} partitions of {topic}.",
        "Kafka cannot take partitions away: to go back, create a new topic and move the records.",
        queues={topic: total},
        commands=(f"kafka-topics.sh {KAFKA} --alter --topic {quote(topic)} --partitions {total}",),
        watch=NOTICED_MS,
    )


def _in_rocketmq(subject: Subject, topic: str, total: int) -> Step:
    brokers = subject.topics[topic]
    assert isinstance(brokers, Mapping)
    if total % len(brokers):
        raise UserError(
            f"--to queues:{topic}={total}: {topic} is on {len(brokers)} brokers, expected a multiple of {len(brokers)}"
        )
    each = total // len(brokers)
    return Step(
        f"Give {topic} {each} queues on each of its {len(brokers)} brokers instead of {subject.queue_count(topic)} in"
        " total. updateTopic overwrites the permission and the order flag: repeat -p and -o with their current values."
        " Producers and consumers notice it at their next route query, within 30 s.",
        f"`{progress(subject)}` shows one client for every queue of {topic}.",
        "Lower -w first; lower -r only when the removed queues are read to their end, because records left there become"
        " unreachable.",
        queues={topic: total},
        commands=tuple(
            f"mqadmin updateTopic -n NAMESRV:9876 -b ADDRESS_OF_{broker} -t {quote(topic)} -r {each} -w {each}"
            for broker in brokers
        ),
        watch=150_000.0,
    )


STRATEGY = "allocateMessageQueueStrategy"


def another_strategy(subject: Subject, new: str) -> Route:
    """RocketMQ's route from today's strategy to another one. Every client allocates for itself, so all must change
    together: one step, without a moment at which both are in use."""
    old = subject.strategy
    change = in_each(subject.names, {STRATEGY: ROCKETMQ_CLASSES[new]})
    step = Step(
        f"Stop {members(subject)}, and start them with setAllocateMessageQueueStrategy(new {ROCKETMQ_CLASSES[new]}()):"
        f" no member may start while another still runs {old}, because each client allocates for itself. Shut clients"
        " down properly, so that they commit their offsets.",
        f"Before the first start `mqadmin consumerConnection -n NAMESRV:9876 -g {subject.group}` shows no client; a"
        f" minute after the last start `{progress(subject)}` shows one client for every queue.",
        f"Stop {members(subject)}, and start them with {ROCKETMQ_CLASSES[old]}.",
        change,
        [subject.names],
        watch=120_000.0,
    )
    mixed = WrongOrder(
        f"A rolling restart: as long as members with {old} and members with {new} run side by side, they disagree about"
        " who owns what. Some queues have two owners and some have none, for as long as the roll takes.",
        [Step("", "", "", change, one_by_one(subject.names), watch=120_000.0)],
    )
    return Route([step], [mixed])


def route(subject: Subject, target: Target) -> Route:
    """The route from the group as it is to the target. Raises `UserError` where there is nothing to do, or no way."""
    if target.system and target.system != subject.system:
        raise UserError(f"--to {target.text}: {subject.group} is a group of {subject.system}, expected a target of it")
    if target.topic:
        return more_queues(subject, target.topic, target.queues)
    if target.members:
        return more_members(subject, target.members)
    if target.text == STATIC_MEMBERS:
        return static_members(subject)
    if target.strategy == subject.strategy:
        raise UserError(
            f"--to {target.text}: {subject.group} uses {target.strategy} already, expected another strategy"
        )
    if subject.system == "kafka":
        return kafka_routes.another_strategy(subject, target.strategy)
    return another_strategy(subject, target.strategy)
