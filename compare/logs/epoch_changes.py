"""What else than a member raised an epoch of the consumer protocol, by the broker's log: a subscription, or topics."""

from dataclasses import replace

from compare.logs.broker_events import EpochJoined, Replaced, SubscriptionUpdated
from compare.logs.lines import joined
from compare.logs.model import Cause, Doubt, Rebalance
from compare.logs.returns import AFTER_FENCING, AFTER_POLL, JOINED
from compare.logs.topics import DELETED, Topics
from compare.logs.vanished import Found


class Changes:
    """The subscriptions and topics, as the epochs are gone through in order."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._hash = ""
        self._subscribed: dict[str, str] = {}

    def of(self, each: Rebalance, before: Rebalance | None, follows: bool) -> Found:
        """Changes that raised an epoch, which holds a hash of its topics; ``follows``: the epoch before is known."""
        changed, self._hash = self._hash != "" and each.reason != self._hash, each.reason or self._hash
        new = {note.member for note in each.notes if isinstance(note, EpochJoined | Replaced)}
        found: Found = []
        for note in each.notes:
            if isinstance(note, SubscriptionUpdated):
                known = self._subscribed.get(note.member)
                self._subscribed[note.member] = note.topics
                if note.member not in new:
                    found.append((note.at, _subscribed(note, known)))
        moved = [note for note in each.notes if note.stream.role == "broker"]
        if changed and not moved and not each.departures:
            no_topics = each.reason == "0"  # a hash of none of those that they subscribe to
            found.append(
                (each.at, _none(each, before, follows) if no_topics else self._topics.changed(each, before, None))
            )
        return found


def _subscribed(note: SubscriptionUpdated, before: str | None) -> Cause | Doubt:
    """A member that was known to have other topics has changed them; else it may be new, its join missing."""
    if before is not None and before != note.topics:
        return Cause("subscription_changed", (note.member,), (note,))
    may = ("subscription_changed", JOINED, AFTER_POLL, AFTER_FENCING)
    return Doubt(may, (note.member,), (note,), "all lines of the broker's log")


def of_one(each: Rebalance) -> Rebalance:
    """Of epochs that were raised within the time that the lines print, only a cause that all of them share is certain,
    and not whose it is."""
    told: list[Cause | Doubt] = [*each.causes, *each.doubts]
    names = dict.fromkeys(one.name for one in each.causes)
    members = tuple(dict.fromkeys(member for one in told for member in one.members))
    events = tuple(event for one in told for event in one.events)
    if len(names) == 1 and not each.doubts:
        return replace(each, causes=(Cause(next(iter(names)), (), events, f"of one of {joined(members)}"),))
    may = tuple(dict.fromkeys([*names, *(name for doubt in each.doubts for name in doubt.candidates)]))
    return replace(each, causes=(), doubts=(Doubt(may, members, events, "the order in which the broker printed"),))


def _none(each: Rebalance, before: Rebalance | None, follows: bool) -> Cause | Doubt:
    """No topics are left: they were deleted, or the last member is gone, whose line is missing."""
    if follows and before is not None and len(before.after or ()) > 1:
        return Cause(DELETED, (), each.events[:2])
    may = (DELETED, "member_left", "poll_interval_exceeded", "session_timeout")
    return Doubt(may, (), each.events[:2], "all parts of the broker's log")
