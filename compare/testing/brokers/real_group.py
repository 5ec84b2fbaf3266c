"""A consumer group of real clients, with the assertions that simulated groups have: how it is at one moment (as
`compare.testing.world` tells of simulated ones), and which records the code under test has handled, as the test tells.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from time import monotonic, sleep
from typing import Any, ParamSpec, TypeVar

from compare.running.run_variant import Ending, ending
from compare.serving.cluster import Served
from compare.testing import settling
from compare.testing.brokers.background import Background
from compare.testing.demands import OneGroup
from compare.testing.faults import note
from compare.testing.handled_records import CodeEnded, Handled, HandledRecords, Record, single
from compare.testing.sentences import moment
from compare.testing.watching import Given, HandlerCall, LatePoll, NoStatus, SlowCallback, place_of, told_error, watched
from protocols import Allocation
from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.java import Queue
from protocols.scenario.model import Scenario
from protocols.scenario.topology import MemberKey, Topology
from protocols.timeline import Lifetimes, Timeline

Ends = Callable[[Queue, Time], int]
"""A queue and a time to the offset of the next record that was written after it."""
Limit = Callable[[str, str], Time | None]
"""A group and a member to its rebalance timeout."""


@dataclass(frozen=True)
class RealCluster:
    """Who is in which process, and where the queues end."""

    topology: Topology
    end_offset: Ends
    _registered: Mapping[str, frozenset[str]]

    def registered(self, group: str) -> frozenset[str]:
        """The nodes of the members that the servers count in."""
        return self._registered.get(group, frozenset())


@dataclass(frozen=True)
class RealWorld:
    """What was true at ``now`` (milliseconds). ``owned``: member to what it believes to own."""

    now: Time
    group: str
    scenario: Scenario
    owned: Mapping[str, tuple[Queue, ...]]
    rebalancing: bool
    last_change: Time
    lives: Lifetimes
    cluster: RealCluster
    ending: Ending
    make_timeline: Callable[[], Timeline]
    busy_until: Time | None = None

    @classmethod
    def of(cls, served: Served, group: str, end_offset: Ends) -> "RealWorld":
        """The group now; to be called in the servers' thread."""
        history, service = served.history, served.service
        now = served.world.tell_time()
        history.look(now)
        scenario = history.scenario("real clients", now)
        if group not in scenario.groups:
            raise LookupError(f"no member of {group!r} has come so far")
        topology = Topology.of(scenario)
        nodes = frozenset(topology.node[MemberKey(group, member)] for member in service.members(group))
        return cls(
            now=now,
            group=group,
            scenario=scenario,
            owned={member: queues for (of, member), queues in history.owned.items() if of == group},
            rebalancing=history.rebalancing.get(group, False),
            last_change=history.last_change,
            lives=dict(history.lives),
            cluster=RealCluster(topology, end_offset, {group: nodes}),
            ending=ending(scenario, service.numbering),
            make_timeline=lambda: history.timeline(now),
        )

    @cached_property
    def topics(self) -> Mapping[str, tuple[Queue, ...]]:
        """Topic to its queues."""
        return self.ending.groups[self.group].topics

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Those alive."""
        return tuple(key.member for key in self.ending.members if key.group == self.group)


P = ParamSpec("P")
R = TypeVar("R")


class RealHandling:
    """Of one group. Threads may tell at once."""

    def __init__(self, group: "RealGroup", limit: Limit) -> None:
        self._group, self._limit = group, limit
        self.limits: dict[str, Time | None] = {}
        """Member to the rebalance timeout with which it has joined, where that is known."""
        self._lock = Lock()
        self._told: list[Handled] = []
        self.calls_of_handlers: list[HandlerCall] = []
        """Those of watched handlers."""
        self.late_polls: list[LatePoll] = []
        self.slow_callbacks: list[SlowCallback] = []
        self.no_status: dict[str, NoStatus] = {}
        self.threads: dict[str, set[int]] = {}
        self.doubles: dict[str, object] = {}
        self.ends: list[CodeEnded] = []
        """Nobody stops real code here, nor sees its calls."""

    @property
    def now(self) -> Time:
        return self._group.clock.time

    def begin(self, message: object, member: str) -> Given | None:
        """Whose handler is given a message, and which record that is; None for an error."""
        place = place_of(message)
        if place is None:
            return None
        queue = self._group.whole_queue(place[0])
        by = member or self._group.believed_owner(queue)
        if by not in self.limits:
            self.limits[by] = self._limit(self._group.name, by)
        return by, (queue, place[1])

    def end(self, given: Iterable[Given], began: Time, error: BaseException | None) -> None:
        """A watched handler has returned, or raised."""
        now = self.now
        with self._lock:
            for member, (queue, offset) in given:
                self.calls_of_handlers.append(HandlerCall(began, now, member, queue, offset, told_error(error)))
                if error is None:
                    self._told.append(Handled(now, member, queue, offset, offset + 1))

    def caught(self, error: BaseException) -> None:
        """A fault is raised into the user's code, or into a client's thread."""
        note(error)

    @property
    def records(self) -> HandledRecords:
        """What was handled, lost, handled twice up to now."""
        world = self._group.world
        with self._lock:
            told = list(self._told)
        return HandledRecords(self._group.timeline, world.lives, told, set(), set())

    def twice(self) -> list[Record]:
        """The records that were handled more than once, sorted."""
        return single(self.records.twice())

    def never(self) -> list[Record]:
        """The records that nobody handled and nobody will, sorted."""
        return single(self.records.lost())


def _nothing(message: object) -> None:
    """What a test has handled itself."""


SETTLE_S = 60.0
"""Seconds that a group is given to settle, if nobody says otherwise."""
_LOOK_S = 0.05


class _Clock:
    """The servers' clock."""

    def __init__(self, background: Background) -> None:
        self._background = background

    @property
    def time(self) -> Time:
        """Milliseconds since the cluster began."""
        return self._background.now

    @property
    def now(self) -> float:
        """The same in seconds."""
        return self.time / 1000


class RealGroup(OneGroup):
    """One group of real clients; see `compare.testing.assertions` for what can be demanded of it.

    A member is called by its client id (a second one with the same id ``NAME#2``, in RocketMQ the client's own id).
    What members own is what they must believe by all that they said and were told. Records count as handled when the
    test says so: by `watch`, or by `handled`.
    """

    def __init__(
        self, background: Background, name: str, end_offset: Ends, limit: Limit = lambda group, member: None
    ) -> None:
        self.name = name
        self.system = background.served.service.system
        self.clock = _Clock(background)
        self.handling = RealHandling(self, limit)
        self._background, self._end_offset = background, end_offset

    def __repr__(self) -> str:
        return f"<real {self.label} group {self.name!r}>"

    @property
    def groups(self) -> tuple[Any, ...]:
        """This one."""
        return (self,)

    @property
    def label(self) -> str:
        """System and strategy, as in ``kafka:range``; without a strategy where none is known."""
        background = self._background
        strategy = background.call(background.served.service.strategy, self.name)
        return f"{self.system}:{strategy}" if strategy else self.system

    @property
    def world(self) -> RealWorld:
        """The group as it is now. `LookupError` where nobody has ever joined."""
        background = self._background
        return background.call(RealWorld.of, background.served, self.name, self._end_offset)

    # Waiting.

    def settles(self, within: float = SETTLE_S) -> bool:
        """Wait until nothing changes any more, at most so many seconds; whether it has settled."""
        end = monotonic() + within
        while not self._is_calm():
            if monotonic() >= end:
                return False
            sleep(_LOOK_S)
        return True

    def settle(self, within: float = SETTLE_S) -> "RealGroup":
        """The same; fails where the group goes on changing."""
        if not self.settles(within):
            self._fail(within)
        return self

    async def settled(self, within: float = SETTLE_S) -> "RealGroup":
        """The same, for a test in an event loop, in which the clients under test go on meanwhile."""
        end = monotonic() + within
        while not self._is_calm():
            if monotonic() >= end:
                self._fail(within)
            await asyncio.sleep(_LOOK_S)
        return self

    def _is_calm(self) -> bool:
        try:
            return settling.is_calm(self.world)  # type: ignore[arg-type]
        except LookupError:
            return False

    def _fail(self, within: float) -> None:
        __tracebackhide__ = True
        told = self.story().splitlines()[-8:]
        raise AssertionError("\n".join([f"{self.label}: not settled within {moment(within * 1000)}", *told]))

    # What is there.

    @property
    def members(self) -> Sequence[str]:
        """Those that the servers count in, or that crashed so lately that they still do."""
        return self.world.members

    @property
    def known(self) -> Collection[str]:
        """The members that are there or ever were."""
        return [key.member for key in self.world.cluster.topology.node if key.group == self.name]

    @property
    def topics(self) -> Mapping[str, tuple[Queue, ...]]:
        """Topic to the queues that it has now."""
        return self.world.topics

    @property
    def allocation(self) -> Allocation:
        """Who believes to own what now."""
        world = self.world
        owned = {(self.name, member): queues for member, queues in world.owned.items()}
        return world.ending.allocation(self.name, owned)

    def whole_queue(self, queue: Queue) -> Queue:
        """The queue with its broker, which a RocketMQ client's message may not name. `UserError` where several have
        one of this number."""
        if queue.broker or self.system == "kafka":
            return queue
        brokers = [each.broker for each in self.topics.get(queue.topic, ()) if each.number == queue.number]
        if len(brokers) != 1:
            where = f"{queue.topic}-{queue.number} is a queue of {len(brokers)} brokers"
            raise UserError(f"{where}, and the message names none: watch a topic of one broker")
        return queue._replace(broker=brokers[0])

    def believed_owner(self, queue: Queue) -> str:
        """A member that believes to own the queue now; empty where none does."""
        owned = self._background.served.history.owned
        found = [member for (group, member), queues in list(owned.items()) if group == self.name and queue in queues]
        return found[0] if found else ""

    @property
    def timeline(self) -> Timeline:
        """Everything so far; times in it are milliseconds since the cluster began."""
        served = self._background.served
        return self._background.call(lambda: RealWorld.of(served, self.name, self._end_offset).make_timeline())

    # Records.

    def watch(self, handler: Callable[P, R], member: str = "") -> Callable[P, R]:
        """The user's handler of a message (or of a list of them), watched: a record counts as handled when it returns.
        ``member``: whose code it is."""
        return watched(handler, self.handling, member)

    def handled(self, message: object, member: str = "") -> None:
        """The user's code has handled this message, of any client."""
        self.watch(_nothing, member)(message)

    # What only simulated groups do.

    def failed(self) -> None:
        """An assertion is about to fail."""
