"""The route to each kind of target: which steps, in which order, and which orders go wrong.

A route is data: settings by client library, what code must expect, a check after each step. Its cost is simulated
afterwards (`simulating`) on the group as it was read. Where the source does not show something that decides between
two routes (a member's library, its settings), the route says both and what would decide.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, islice
from shlex import quote

from compare.catalogues import EAGER, ROCKETMQ_CLASSES
from compare.planning import kafka_routes, load_routes
from compare.planning.kafka_routes import KAFKA, describe, members, progress, rolling, stable
from compare.planning.promises import are_static, has_members, has_one_owner_each, is_stable, uses
from compare.planning.subject import Route, Step, Subject, WrongOrder, in_each, one_by_one, setting_of
from compare.planning.target import STATIC_MEMBERS, Target
from compare.reading.client_libraries import INSTANCE, RESET, SESSION
from protocols.errors import UserError

BROKER_SESSION = "group.consumer.session.timeout.ms"

_NUMBERED = re.compile(r"(.*?)([0-9]+)", re.ASCII | re.DOTALL)


def more_members(subject: Subject, total: int) -> Route:
    """New members start together, so that the group rebalances once or twice and not once for each."""
    new = list(islice(_new_names(subject.names), max(0, total - len(subject.members))))
    queues = sum(map(subject.queue_count, subject.topics))
    many = "1 member" if total - queues == 1 else f"{total - queues} members"
    idle = f" {many} will own nothing: there are {queues} queues." if total > queues else ""
    own = {name: {INSTANCE: instance} for name, instance in instances(new).items()} if subject.has_static else {}
    named = f" Each needs a {INSTANCE} of its own, because today's members are static." if own else ""
    kafka = subject.system == "kafka"
    view = describe(subject, "--members") if kafka else progress(subject)
    at_once = " together, within a few seconds of each other" if new[1:] else ""
    step = Step(
        f"Start {_several(len(new), 'new member')}{at_once}.{named}{idle}",
        f"`{view}` shows {total} members" + (", the state is Stable." if kafka else ", one for every queue."),
        f"Stop {_several(len(new), 'new member')} properly{' and together' if new[1:] else ''}.",
        settings=own,
        start=new,
        watch=120_000.0,
        promises=(has_members(total), is_stable if kafka else has_one_owner_each()),
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


def instances(names: Sequence[str]) -> dict[str, str]:
    """Member to a group.instance.id for it: its name, if all names have the form that brokers take and outlive a
    restart, as a member's own id does not."""
    if all(_INSTANCE.fullmatch(name) and name not in (".", "..") and not _OWN_ID.search(name) for name in names):
        return {name: name for name in names}
    return {name: f"instance-{number}" for number, name in enumerate(names, 1)}


_INSTANCE = re.compile(r"[A-Za-z0-9._-]{1,249}")
_OWN_ID = re.compile(r"(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|^[A-Za-z0-9_-]{22})$")


def static_members(subject: Subject) -> Route:
    """Every member gets an instance id of its own; afterwards a short restart moves nothing."""
    where = f"the brokers' {BROKER_SESSION}" if subject.consumer_protocol else SESSION
    step = Step(
        f"Give every member a {INSTANCE} of its own that stays the same over restarts, and restart the members one by"
        f" one. Later restarts move nothing if the member is back within {where}; a member that crashes is missed for"
        " as long.",
        f"{stable(subject)}; `{describe(subject, '--members')}` shows a GROUP-INSTANCE-ID for every member, each once.",
        f"Remove {INSTANCE} and restart the members one by one: a static member does not leave when it stops, so each"
        f" one's partitions wait until {where} is over.",
        {name: {INSTANCE: instance} for name, instance in instances(subject.names).items()},
        one_by_one(subject.names),
        changes=("static",),
        promises=(are_static, is_stable),
    )
    copied = WrongOrder(
        f"The same {INSTANCE} in several members, as when it is part of a shared template: "
        + (
            "the second one is refused with UNRELEASED_INSTANCE_ID and stops with an error."
            if subject.consumer_protocol
            else "the newcomer takes the place of the member that has the id, which is fenced"
            " (FENCED_INSTANCE_ID) and stops with an error."
        ),
        [rolling(subject, {INSTANCE: "same-for-all"})],
    )
    note = (
        "A stopped static member does not leave the group: when the group shrinks, remove it with"
        f" Admin.removeMembersFromConsumerGroup, or wait until {where} is over."
    )
    return Route([step], [copied] if len(subject.members) > 1 else [], [note])


MAX_AGE = "metadata.max.age.ms"

NOTICED_MS = 420_000.0
"""How long the simulation goes on after a topic has grown: clients of the classic protocol look every five minutes."""


def more_queues(subject: Subject, topic: str, total: int) -> Route:
    """The topic gets more queues. In Kafka first a setting that keeps the records in them from being skipped."""
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
        " to a new partition before the group notices it are never read. The risk: where a committed offset is missing,"
        " has expired (offsets.retention.minutes) or is out of range, the whole partition is read again from its first"
        f" record, whichever topic it is of. Look first that `{describe(subject, '--offsets')}` shows a CURRENT-OFFSET"
        " for every partition.",
        f"{stable(subject)}.",
        f"Set {RESET}=latest and restart the members one by one, once {topic} has grown and is read.",
        changes=("earliest",),
        promises=(is_stable,),
        unseen=f"{RESET} of the members",
    )
    skipped = WrongOrder(f"The topic grows while {RESET} is latest: what is written to the new partitions before the"
        " group notices them is skipped.", [grow])  # fmt: skip
    return Route([earliest, grow], [skipped], notes)


def _reads_from_the_beginning(subject: Subject) -> bool:
    """Whether every member is known to read a new partition from its first record, as members of a scenario do if
    nothing is said."""
    resets = [setting_of(fields, RESET) for fields in subject.members.values()]
    return bool(resets) and all(each in (None, "earliest") for each in resets)


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
        promises=(has_one_owner_each(topic, total),),
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
            f"mqadmin updateTopic -n NAMESRV:9876 -b {quote('ADDRESS_OF_' + broker)} -t {quote(topic)}"
            f" -r {each} -w {each}"
            for broker in brokers
        ),
        watch=150_000.0,
        promises=(has_one_owner_each(topic, total),),
    )


STRATEGY = "allocateMessageQueueStrategy"


def another_strategy(subject: Subject, new: str) -> Route:
    """RocketMQ's route from today's strategy to another one. Every client allocates for itself, so all must change
    together: one step, without a moment at which both are in use."""
    old = subject.strategy
    change = in_each(subject.names, {STRATEGY: ROCKETMQ_CLASSES[new]})
    step = Step(
        f"Stop {members(subject)}, and start again with setAllocateMessageQueueStrategy(new {ROCKETMQ_CLASSES[new]}()):"
        f" no member may start while another still runs {old}, because each client allocates for itself. Shut clients"
        " down properly, so that they commit their offsets.",
        f"Before the first start `mqadmin consumerConnection -n NAMESRV:9876 -g {quote(subject.group)}` shows no"
        f" client; a minute after the last start `{progress(subject)}` shows one client for every queue.",
        f"Stop {members(subject)}, and start again with {ROCKETMQ_CLASSES[old]}.",
        change,
        [subject.names],
        watch=120_000.0,
        changes=("stopped",),
        promises=(uses(new), has_one_owner_each()),
    )
    mixed = WrongOrder(
        f"A rolling restart: as long as members with {old} and members with {new} run side by side, they disagree about"
        " who owns what. Some queues have two owners and some have none, for as long as the roll takes.",
        [Step("", "", "", change, one_by_one(subject.names), watch=120_000.0)],
    )
    return Route([step], [mixed])


def route(subject: Subject, target: Target) -> Route:
    """The route from the group as it is to the target. Raises `UserError` where there is nothing to do, or no way."""
    total = len(subject.members)
    if target.topic:
        if target.topic not in subject.topics:
            raise UserError(f"--to {target.text}: {subject.group} reads {', '.join(subject.topics)}, expected one")
        if target.queues <= (today := subject.queue_count(target.topic)):
            raise UserError(f"--to {target.text}: {target.topic} has {today} already, expected more")
    if target.members and target.members <= total:
        raise UserError(f"--to {target.text}: {subject.group} has {total} already, expected more")
    if target.text == STATIC_MEMBERS and all(fields.get("instance_id") for fields in subject.members.values()):
        raise UserError(f"--to static: all members of {subject.group} have a {INSTANCE} already")
    if target.strategy and target.strategy == subject.strategy:
        raise UserError(
            f"--to {target.text}: {subject.group} uses {target.strategy} already, expected another strategy"
        )
    return way(subject, target)


def way(subject: Subject, target: Target) -> Route:
    """The same, also where the group is at the target already, as after the last step."""
    if target.system and target.system != subject.system:
        raise UserError(f"--to {target.text}: {subject.group} is a group of {subject.system}, expected a target of it")
    if target.topic:
        return more_queues(subject, target.topic, target.queues)
    if target.members:
        return more_members(subject, target.members)
    if target.text == STATIC_MEMBERS:
        return static_members(subject)
    if target.by_load == "lists":
        return load_routes.by_lists(subject)
    if target.by_load:
        load_routes.refuse_by_strategy(subject, target.text)
    in_system = kafka_routes.another_strategy if subject.system == "kafka" else another_strategy
    found = in_system(subject, target.strategy)
    return load_routes.with_gain(subject, found, target.capacity) if target.by_load else found
