"""What a step promises, as conditions that a source is asked about when the step is done (`plan --check`).

A condition holds, does not hold, or the source does not show it: then nothing is claimed, and the answer says what
would show it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from compare.formatting import many
from compare.reading.group_model import is_on_the_move, known_ownership
from compare.reading.observed import ObservedGroup, names_of
from protocols import Queue
from protocols.scenario.fields import listed, listed_members


class Shown(NamedTuple):
    """What a source shows of a condition. ``holds``: None where it does not show it; ``text``: what it shows, as a
    clause without a verb, or what is not shown and what would show it."""

    holds: bool | None
    text: str


Promise = Callable[[ObservedGroup], Shown]


class Verdict(NamedTuple):
    """``line``: the one line for a user."""

    holds: bool
    line: str


def judge(promises: Sequence[Promise], observed: ObservedGroup, step: int) -> Verdict:
    """Whether everything that a step promised is shown to be so."""
    shown = [promise(observed) for promise in promises]
    of = f"step {step} of group {observed.name}"
    if broken := [each.text for each in shown if each.holds is False]:
        return Verdict(False, f"{of}: not as promised: {'; '.join(broken)}")
    if unknown := [each.text for each in shown if each.holds is None]:
        return Verdict(False, f"{of}: unknown, because the source does not show {'; nor '.join(unknown)}")
    seen = "; ".join(each.text for each in shown)
    return Verdict(True, f"{of}: as promised, as far as a source shows it: {seen}")


def is_stable(observed: ObservedGroup) -> Shown:
    """Kafka: the group's state, and that no member is on its way to its target assignment."""
    if is_on_the_move(observed):
        moving = f", {_named(observed, observed.moving)} not at its target assignment" if observed.moving else ""
        return Shown(False, f"state {observed.state or 'not shown'}{moving}, expected Stable")
    if observed.state is None:
        return Shown(None, "the state (--describe --state does)")
    return Shown(observed.state == "Stable", f"state {observed.state}" + _unless(observed.state == "Stable", "Stable"))


def uses(strategy: str) -> Promise:
    """The strategy that the group uses is this one; in RocketMQ that of every member that was asked."""

    def shown(observed: ObservedGroup) -> Shown:
        if len(observed.strategies) > 1:
            return Shown(False, f"strategies {', '.join(observed.strategies)}, expected {strategy} alone")
        if observed.strategy is None:
            how = "--describe --state" if observed.system == "kafka" else "consumerStatus -i CLIENT_ID"
            return Shown(None, f"the strategy ({how} does)")
        return Shown(
            observed.strategy == strategy,
            f"strategy {observed.strategy}{_unless(observed.strategy == strategy, strategy)}",
        )

    return shown


def has_members(count: int) -> Promise:
    """So many members, no more and no fewer."""

    def shown(observed: ObservedGroup) -> Shown:
        found = observed.member_count if observed.members is None else len(observed.members)
        if found is None:
            return Shown(None, "how many members there are")
        return Shown(found == count, many(found, "member") + _unless(found == count, str(count)))

    return shown


def are_static(observed: ObservedGroup) -> Shown:
    """Kafka: every member has a group.instance.id of its own."""
    members = observed.members
    if members is None or not observed.instances_told:
        return Shown(None, "which members are static (--describe --members does)")
    without = [name for name, each in zip(names_of(members), members, strict=True) if each.instance_id is None]
    if without or not members:
        return Shown(False, f"no group.instance.id of {listed_members(without) if without else 'any member'}")
    return Shown(True, f"a group.instance.id of each of {many(len(members), 'member')}")


def speaks(consumer_protocol: bool) -> Promise:
    """Kafka: all members speak the consumer protocol, or none does."""
    name = {True: "consumer", False: "classic"}

    def shown(observed: ObservedGroup) -> Shown:
        if observed.consumer_protocol is None:
            return Shown(None, "which protocol the group has (--describe --members --verbose does)")
        if observed.consumer_protocol != consumer_protocol:
            return Shown(
                False, f"{name[observed.consumer_protocol]} protocol, expected {name[consumer_protocol]} protocol"
            )
        if observed.classic_members:
            return Shown(False, f"classic protocol still in {_named(observed, observed.classic_members)}")
        if consumer_protocol and observed.members is None:
            return Shown(None, "which protocol each member speaks (--describe --members --verbose does)")
        return Shown(True, f"{name[consumer_protocol]} protocol")

    return shown


def has_one_owner_each(topic: str = "", queues: int = 0) -> Promise:
    """Every queue has exactly one owner; of this topic alone, which has so many, where one is named."""

    def shown(observed: ObservedGroup) -> Shown:
        told = known_ownership(observed)
        of = f" of {topic}" if topic else ""
        if observed.members_disagree:
            return Shown(False, "members that do not agree on one allocation")
        if told is None or not told.every_queue or (not topic and not told.whole):
            return Shown(None, f"who owns every queue{of}")
        owners: dict[Queue, tuple[int, ...]] = {
            queue: at for queue, at in told.owners.items() if not topic or queue.topic == topic
        }
        if topic and len(owners) != queues:
            if not owners:
                return Shown(None, f"topic {topic}")
            return Shown(False, f"{many(len(owners), 'queue')}{of}, expected {queues}")
        wrong = [queue for queue, at in owners.items() if len(at) != 1]
        if wrong:
            return Shown(False, f"{many(len(wrong), 'queue')}{of} without an owner or with two")
        return Shown(True, f"one owner of each of {many(len(owners), 'queue')}{of}")

    return shown


def have_restarted(what: str, before: ObservedGroup | None) -> Promise:
    """Kafka: no member is there any more that was there ``before`` the step: a process that starts has a new member
    id, a static member's too (spec kafka 2.8, 6.6). ``what``: what the restart changes, which no source shows."""

    def shown(observed: ObservedGroup) -> Shown:
        if before is None:
            return Shown(None, f"{what} (--before, with what it showed before the step, tells who has restarted)")
        if before.members is None or observed.members is None:
            return Shown(None, "the members' ids before and after (--describe --members does)")
        were = {member.id for member in before.members}
        still = [member.id for member in observed.members if member.id in were]
        if not were:
            return Shown(None, "any member before the step")
        if still:
            return Shown(False, f"{_named(observed, still)} not restarted")
        return Shown(True, f"all members restarted ({what}: no source shows it)")

    return shown


def brokers_have(name: str, allows: Callable[[str], bool], expected: str, tool: str) -> Promise:
    """Kafka: every broker's value of this setting ("": it has no such setting) is one that the step needs. ``tool``:
    the command that shows it."""

    def shown(observed: ObservedGroup) -> Shown:
        settings = observed.broker_settings.items()
        values = {broker: own.get(name, "") if own else None for broker, own in settings}
        if observed.coordinator is not None:
            values.setdefault(observed.coordinator.partition("(")[2].rstrip(")"), None)
        wrong = [broker for broker, value in values.items() if value is not None and not allows(value)]
        if wrong:
            is_so = [
                f"broker {each} has {f'{name}={values[each]}' if values[each] else f'no {name}'}" for each in wrong
            ]
            return Shown(False, f"{'; '.join(is_so)}, expected {expected}")
        untold = [broker for broker, value in values.items() if value is None]
        if untold or not values:
            return Shown(None, f"{name} of {_brokers(untold)} ({tool} does)")
        return Shown(
            True, f"{name} of {_brokers([*values])}: {listed(sorted({each or 'none' for each in values.values()}))}"
        )

    return shown


def _brokers(ids: Sequence[str]) -> str:
    return f"broker{'s' if len(ids) > 1 else ''} {listed(ids)}" if ids else "the brokers"


def _unless(holds: bool, expected: str) -> str:
    return "" if holds else f", expected {expected}"


def _named(observed: ObservedGroup, ids: Sequence[str]) -> str:
    members = observed.members or observed.seen
    names = dict(zip((member.id for member in members), names_of(members), strict=True))
    return listed_members([names.get(each, each) for each in ids])
