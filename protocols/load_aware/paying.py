"""Moves that pay, for whoever is asked again and again while loads change: they save more waiting than they cause.

A queue that moves has no reader for a while, and what came meanwhile waits at its new owner. So moves are weighed by
what waits, step by step for a while to come, member by member, as if all rates stayed as they are: the seconds that all
records wait. A move pays if it saves more than twice what waits where a member stands still for the time of a move:
less is what noise brings. So light queues go rather than the hot one, nothing moves among members who have all too much
to do, and a lag that is gone soon is no reason for a move.

This is no proof and no optimum, unlike `share_out`: single moves and swaps are tried for the member at which most
waits, and the best one is made, until none pays.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

from protocols.load_aware.drafts import LIGHTS

STEPS = 20
"""Into which the time to come is divided."""


@dataclass(frozen=True, slots=True)
class Flows:
    """Queues 0..Q-1, members 0..M-1. ``rate``: records per second; ``lag``: records that wait; ``handle_s``: seconds of
    a member's time for a record; ``takers`` and ``owner`` as in `Problem`, all queues owned; ``capacity``: of each
    member seconds of work per second; ``move_s``: seconds in which nobody reads a queue that moves; ``horizon_s``:
    seconds for which the rates are believed."""

    rate: Sequence[float]
    lag: Sequence[float]
    handle_s: Sequence[float]
    takers: Sequence[tuple[int, ...]]
    owner: Sequence[int]
    capacity: Sequence[float]
    move_s: float
    horizon_s: float

    def waits(self, member: int, queues: Sequence[int]) -> float:
        """Seconds that all records wait at the member within the horizon, if it has these queues."""
        step = self.horizon_s / STEPS
        work = [self.lag[queue] * self.handle_s[queue] for queue in queues]
        comes = [self.rate[queue] * self.handle_s[queue] * step for queue in queues]
        read_from = [0.0 if self.owner[queue] == member else self.move_s for queue in queues]
        waited, last = 0.0, max(read_from, default=0.0)
        for number in range(STEPS):
            began = number * step
            work = [left + more for left, more in zip(work, comes, strict=True)]
            free = self.capacity[member] * step
            read = sorted((place for place, since in enumerate(read_from) if since <= began), key=work.__getitem__)
            # Each gets as much as the others, but none more than waits (`protocols.load`).
            for taken, place in enumerate(read):
                handled = min(work[place], free / (len(read) - taken))
                free -= handled
                work[place] -= handled
            waiting = sum(left / self.handle_s[queue] for left, queue in zip(work, queues, strict=True))
            waited += waiting * step
            if waiting < NOTHING and began >= last:
                break
        return waited

    def waits_in_all(self, at: Sequence[int]) -> float:
        """The same of all members, where queue n is at member ``at[n]``."""
        return sum(self.waits(member, owned) for member, owned in enumerate(self.queues_of(at)))

    def queues_of(self, at: Sequence[int]) -> list[list[int]]:
        """Of each member its queues, ascending."""
        owned: list[list[int]] = [[] for _ in self.capacity]
        for queue, member in enumerate(at):
            owned[member].append(queue)
        return owned

    def least_gain(self, queue: int, member: int) -> float:
        """What must be saved, in seconds that records wait, by giving the queue to the member."""
        if member == self.owner[queue]:
            return 0.0
        return self.capacity[member] / self.handle_s[queue] * self.move_s**2


NOTHING = 1e-6

Change = tuple[int, int, int | None]
"""Queue of a member, who takes it, and what that one gives back for it (None: nothing)."""


@dataclass(slots=True)
class _Draft:
    flows: Flows
    at: list[int]
    queues: list[list[int]]
    waits: list[float]
    known: dict[tuple[int, tuple[int, ...]], float] = field(default_factory=dict)

    def waits_with(self, member: int, queues: list[int]) -> float:
        key = (member, tuple(queues))
        if key not in self.known:
            self.known[key] = self.flows.waits(member, queues)
        return self.known[key]

    def busy(self, member: int) -> float:
        """Parts of a member's time that its queues need, with what waits spread over the horizon."""
        flows = self.flows
        records = {queue: flows.rate[queue] + flows.lag[queue] / flows.horizon_s for queue in self.queues[member]}
        return sum(each * flows.handle_s[queue] for queue, each in records.items()) / flows.capacity[member]

    def behind(self) -> list[int]:
        """Members at which something waits."""
        return [member for member, waits in enumerate(self.waits) if waits > NOTHING]

    def changes(self, heavy: int) -> Iterator[Change]:
        """Single moves, and swaps for a queue of a lower rate."""
        flows = self.flows
        for queue in self.queues[heavy]:
            lights: Sequence[int] = flows.takers[queue]
            if len(lights) > LIGHTS:
                lights = nsmallest(LIGHTS, lights, key=self.busy)
            for light in lights:
                if light != heavy:
                    yield queue, light, None
                    for back in self.queues[light]:
                        if flows.rate[back] < flows.rate[queue] and heavy in flows.takers[back]:
                            yield queue, light, back

    def after(self, heavy: int, change: Change) -> tuple[list[int], list[int]]:
        """The queues of both."""
        queue, light, back = change
        kept = [each for each in self.queues[heavy] if each != queue] + ([] if back is None else [back])
        return sorted(kept), sorted([queue, *(each for each in self.queues[light] if each != back)])

    def saved(self, heavy: int, change: Change) -> float:
        queue, light, back = change
        kept, taken = self.after(heavy, change)
        gain = self.flows.least_gain
        due = gain(queue, light) - gain(queue, heavy)
        if back is not None:
            due += gain(back, heavy) - gain(back, light)
        now = self.waits[heavy] + self.waits[light]
        return now - self.waits_with(heavy, kept) - self.waits_with(light, taken) - due

    def make(self, heavy: int, change: Change) -> None:
        queue, light, back = change
        self.queues[heavy], self.queues[light] = self.after(heavy, change)
        self.at[queue] = light
        if back is not None:
            self.at[back] = heavy
        for member in (heavy, light):
            self.waits[member] = self.waits_with(member, self.queues[member])


def pays(flows: Flows) -> tuple[int, ...]:
    """Of each queue its member after the moves that pay."""
    owned = flows.queues_of(flows.owner)
    draft = _Draft(flows, list(flows.owner), owned, [flows.waits(member, own) for member, own in enumerate(owned)])
    aside: set[int] = set()
    while waiting := [(-draft.waits[member], member) for member in draft.behind() if member not in aside]:
        heavy = min(waiting)[1]
        best = max(draft.changes(heavy), key=lambda change: draft.saved(heavy, change), default=None)
        if best is None or draft.saved(heavy, best) <= NOTHING:
            aside.add(heavy)
        else:
            draft.make(heavy, best)
            aside.clear()
    return tuple(draft.at)
