"""More members, and static members."""

import re
from collections.abc import Iterator, Sequence
from itertools import count, islice

from compare.catalogues import EAGER
from compare.planning.routes.commands import describe, members, progress
from compare.planning.routes.kafka import SESSION, rolling, stable
from compare.planning.steps import Route, Step, WrongOrder
from compare.planning.subject import Subject
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
