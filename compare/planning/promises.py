"""What a step promises, as conditions that a source is asked about when the step is done (`plan --check`).

A condition holds, does not hold, or the source does not show it: then nothing is claimed, and the answer says what
would show it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from compare.formatting import many
from compare.reading.group_model import is_on_the_move, known_ownership
from compare.reading.observed import ObservedGroup
from protocols import Queue
from protocols.scenario.fields import listed_members


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
        moving = f", {_clients(observed, observed.moving)} not at its target assignment" if observed.moving else ""
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
    without = [member.client_id or member.id for member in members if member.instance_id is None]
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
            return Shown(False, f"classic protocol still in {_clients(observed, observed.classic_members)}")
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
        still = [member.client_id or member.id for member in observed.members if member.id in were]
        if not were:
            return Shown(None, "any member before the step")
        if still:
            return Shown(False, f"{listed_members(still)} not restarted")
        return Shown(True, f"all members restarted ({what}: no source shows it)")

    return shown


def hidden(what: str) -> Promise:
    """What no source shows."""
    return lambda observed: Shown(None, what)


def _unless(holds: bool, expected: str) -> str:
    return "" if holds else f", expected {expected}"


def _clients(observed: ObservedGroup, ids: Sequence[str] | None) -> str:
    client_ids = {member.id: member.client_id or member.id for member in observed.members or observed.seen}
    return listed_members([client_ids.get(each, each) for each in ids or ()])
