"""hypothesis strategies: groups, schedules of faults, whole scenarios. Needs hypothesis, which nothing else here does.

``groups()`` gives keyword arguments for `compare.testing.kafka_group` and `rocketmq_group`; ``faults(members)`` gives
events for ``group.live_through``; ``scenarios()`` gives a scenario for `compare.testing.play`. Everything that they
give can be: nobody crashes who is not there. They shrink to fewer, earlier and simpler things.
"""

from collections.abc import Sequence
from typing import Final

from hypothesis import strategies as st

from compare.catalogues import CLASSIC, ROCKETMQ
from compare.running.systems import scenario
from compare.testing.plans import GroupPlan
from protocols.engine.nodes import Time
from protocols.scenario.events import Crash, Disconnect, Event, Hang, Join, Leave, Restart, StopPolling
from protocols.scenario.model import Scenario

KINDS: Final = ("crash", "leave", "join", "hang", "stop_polling", "restart", "disconnect")
"""What may befall members."""

LONGEST_STOP_MS: Final = 90_000
"""A member hangs or stands still for at most so long: twice Kafka's session timeout."""

SYSTEMS: Final = (*(f"kafka:{name}" for name in CLASSIC), *(f"rocketmq:{name}" for name in ROCKETMQ))
"""Systems with every strategy that runs without further settings."""


@st.composite
def groups(
    draw: st.DrawFn, *, most_members: int = 5, most_topics: int = 3, most_queues: int = 8, same_topics: bool = False
) -> GroupPlan:
    """``topics``, ``members`` and ``seed`` of a group that has at least one of each. With ``same_topics`` every member
    subscribes to all topics, else to at least one."""
    names = [f"topic{number}" for number in range(1, draw(st.integers(1, most_topics)) + 1)]
    topics = {name: draw(st.integers(1, most_queues)) for name in names}
    some = st.lists(st.sampled_from(names), min_size=1, unique=True)
    subscriptions = st.just(names) if same_topics else some
    return {
        "topics": topics,
        "members": {f"c{number}": draw(subscriptions) for number in range(1, draw(st.integers(1, most_members)) + 1)},
        "seed": draw(st.integers(0, 999)),
    }


@st.composite
def faults(
    draw: st.DrawFn,
    members: Sequence[str],
    *,
    kinds: Sequence[str] = KINDS,
    most: int = 5,
    within: float = 120.0,
    keep: Sequence[str] = (),
) -> tuple[Event, ...]:
    """Up to ``most`` events within so many seconds, in order. ``members``: who is there at their beginning; new ones
    (``n1``, ...) join as well, and subscribe to all topics. To those in ``keep`` nothing happens."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ValueError(f"unknown kind {unknown[0]!r}, expected some of {', '.join(KINDS)}")
    fates = _Fates([member for member in members if member not in keep])
    events: list[Event] = []
    step = int(within * 1000 / max(most, 1))
    for _ in range(draw(st.integers(0, most))):
        fates.now += draw(st.integers(0, step))
        possible = [kind for kind in kinds if fates.candidates(kind)]
        if possible:
            kind = draw(st.sampled_from(possible))
            events.append(_befall(draw, fates, kind, draw(st.sampled_from(fates.candidates(kind)))))
    return tuple(events)


@st.composite
def scenarios(
    draw: st.DrawFn,
    *,
    systems: Sequence[str] = SYSTEMS,
    kinds: Sequence[str] = KINDS,
    most_events: int = 5,
    most_members: int = 5,
    calm: float = 400.0,
    produce: float = 0.0,
) -> Scenario:
    """A group and what befalls it in one of the systems; then nothing happens for ``calm`` seconds."""
    group = draw(groups(most_members=most_members))
    events = draw(faults(list(group["members"]), kinds=kinds, most=most_events))
    known = set(group["members"])
    listed = []
    for event in events:
        if isinstance(event, Join) and event.join not in known:
            known.add(event.join)
            event = event.model_copy(update={"subscribe": tuple(group["topics"])})
        listed.append(event)
    end = max((each.at for each in events), default=0.0) + LONGEST_STOP_MS + calm * 1000
    return scenario(
        name="found by hypothesis",
        topics=group["topics"],
        group={"name": "group", "members": group["members"]},
        load={"produce": float(produce)},
        run={"for": end, "seed": group["seed"]},
        systems=[draw(st.sampled_from(list(systems)))],
        events=listed,
    )


class _Fates:
    """Who is there, who is gone, who stands still."""

    def __init__(self, members: Sequence[str]) -> None:
        self.now: Time = 0.0
        self.there = list(members)
        self.gone: list[str] = []
        self.new = 0
        self.hung_until: dict[str, Time] = {}
        self.still_until: dict[str, Time] = {}

    def candidates(self, kind: str) -> list[str]:
        """To whom it can happen now; the simplest first."""
        if kind == "join":
            return [*self.gone, f"n{self.new + 1}"]
        if kind == "restart":
            return [each for each in (*self.there, *self.gone) if self.hung_until.get(each, 0.0) <= self.now]
        busy = self.still_until if kind == "stop_polling" else self.hung_until
        return [each for each in self.there if kind == "crash" or busy.get(each, 0.0) <= self.now]

    def leave(self, member: str) -> None:
        self.there.remove(member)
        self.gone.append(member)
        self.hung_until.pop(member, None)

    def come(self, member: str) -> None:
        if member in self.gone:
            self.gone.remove(member)
        elif member not in self.there:
            self.new += 1
        if member not in self.there:
            self.there.append(member)


def _befall(draw: st.DrawFn, fates: _Fates, kind: str, member: str) -> Event:
    """The event, after which others are there."""
    if kind in ("crash", "leave"):
        fates.leave(member)
        return Crash(at=fates.now, crash=member) if kind == "crash" else Leave(at=fates.now, leave=member)
    if kind in ("hang", "stop_polling"):
        lasting = float(draw(st.integers(1, LONGEST_STOP_MS)))
        busy, made = (fates.hung_until, Hang) if kind == "hang" else (fates.still_until, StopPolling)
        busy[member] = fates.now + lasting
        return made.model_validate({"at": fates.now, kind: member, "for": lasting})
    if kind == "disconnect":
        return Disconnect(at=fates.now, disconnect=member)
    fates.come(member)
    if kind == "join":
        return Join(at=fates.now, join=member)
    return Restart(at=fates.now, restart=member, how=draw(st.sampled_from(["leave", "crash"])))
