"""How many rebalances a group has had since the watching began.

A group of Kafka's consumer protocol has an epoch, which grows by one with each: where the source shows it, every
rebalance is counted, also those between two polls. Of a classic group the clients tell, when they join, from which
generation they come; that gives a lower bound. Elsewhere a rebalance is counted where two polls differ in a way that
needs one: so what begins and ends between two polls is missing, and never is one counted that there was not.
"""

from collections.abc import Set
from dataclasses import dataclass

from compare.reading.kafka.listings import REBALANCING
from compare.reading.observed import ObservedGroup

_JOINING, _SYNCING = "PreparingRebalance", "CompletingRebalance"
_GOES_ON = (_JOINING, _SYNCING, "Assigning", "Reconciling", REBALANCING)
_RESTS = ("Stable", "Empty")

CALM_S = 120.0
"""Seconds after the last change until which queues that move may belong to it, where no state tells that it is over:
members of RocketMQ act one after the other, and one that is gone in silence holds its locks for a minute."""


@dataclass(slots=True)
class Rebalances:
    """``seen``: at least so many; ``counted``: by the group's epoch, None where the source shows none."""

    seen: int = 0
    counted: int | None = None
    _epoch: int | None = None
    _generation: int | None = None
    _seen_there: int = 0
    _state: str | None = None
    _members: Set[str] | None = None
    _changed_at: float | None = None

    def take(self, group: ObservedGroup, members: Set[str] | None, moved: bool, at: float) -> int:
        """How many more there are than in the poll before. ``members``: who is in the group, None where that is not
        told; ``moved``: a queue has another owner than the last that was seen; ``at``: seconds."""
        before = self.seen
        changed = members is not None and self._members is not None and members != self._members
        # What Kafka's tool says of a classic group, whose members are coming.
        state = _JOINING if group.state == REBALANCING and not group.consumer_protocol else group.state
        if group.epoch is not None:
            grown = _grown(self._epoch, group.epoch)
            self.counted = (self.counted or 0) + grown
            self.seen = max(self.seen, self._seen_there + grown)
            self._epoch, self._seen_there = group.epoch, self.seen
        else:
            self.seen += self._is_another(state, changed, moved, at)
            if group.generation is not None:
                self.seen = max(self.seen, self._seen_there + _grown(self._generation, group.generation))
                self._generation, self._seen_there = group.generation, self.seen
        if changed or moved:
            self._changed_at = at
        self._state = state
        self._members = self._members if members is None else members
        return self.seen - before

    def _is_another(self, state: str | None, changed: bool, moved: bool, at: float) -> bool:
        """Whether the last two polls differ in a way that needs a rebalance which is not counted yet."""
        was = self._state
        if was == _JOINING:
            return False  # whoever comes and goes before all have joined, does so in the rebalance that is counted
        if changed or (state in _GOES_ON and was in _RESTS) or (state == _JOINING and was == _SYNCING):
            return True
        if not moved or was in _GOES_ON:
            return False
        return was in _RESTS or self._changed_at is None or at - self._changed_at > CALM_S


def _grown(before: int | None, now: int) -> int:
    """By how much; a smaller number is that of a group that was made anew, of which nobody knows how often."""
    return 0 if before is None else max(now - before, 0)
