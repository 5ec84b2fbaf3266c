"""One node's steps, each computed once: (node, event) to what the node is afterwards and what it does to the world.

The clock of a node stands still at `Steps.now` while it handles messages. When a timer fires the node is told the time
for which the timer was set; what it sets then is counted from that time, and afterwards the clock stands where it
stood. What lies in the past does so by one tick, however long ago it was. So no key says how long a story took, while
each deadline is as far away as it was when it was set.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from protocols.engine.exploration.rules import (
    FRESH,
    BrokenInvariant,
    Keys,
    NodeRules,
    Unnumbered,
    floats_of,
    map_times,
    renumbered,
)
from protocols.engine.nodes import OPERATOR, TICK, ExploredNode, Message, Time, TimerName, WakingNode
from protocols.engine.randomness import uuid_like

T = TypeVar("T")

START, RECEIVE, TIMEOUT, CONNECTED, CLOSED, WOKEN = range(6)
"""Kinds of events of a node."""

_UNNUMBERED: Final = Unnumbered()


class NodeEvent(NamedTuple):
    """``peer`` and ``what`` by kind: sender and number of the message, timer's name, peer, peers whose connections
    ended."""

    kind: int
    peer: str = ""
    what: Any = None


class Living(NamedTuple):
    """A node with its world: timers that are set (name to due time, by name), how many ids were made up with each
    prefix, numbers of requests that are not waited for any more while answers may still come (number, peer)."""

    node: ExploredNode
    timers: tuple[tuple[TimerName, Time], ...]
    ids: tuple[tuple[str, int], ...]
    given_up: tuple[tuple[int, str], ...]


class Branch(NamedTuple):
    """What a step leads to where its choices are these. ``sends``: (peer, number of the message), -1 for the end of a
    connection, in order; ``facts`` as the node told them; ``chosen``: label and option of each choice."""

    living: int
    sends: tuple[tuple[str, int], ...]
    facts: tuple[tuple[object, ...], ...]
    chosen: tuple[tuple[str, str], ...]


class _Unfinished(Exception):  # noqa: N818 - ends a step that comes to a choice
    def __init__(self, options: int) -> None:
        self.options = options


class StepOutbox:
    """The outbox of one step (`protocols.engine.nodes.Outbox`); ``script`` answers its choices, first one first."""

    def __init__(self, name: str, seed: int, now: Time, living: Living, script: Sequence[int]) -> None:
        self.sent: list[tuple[str, Message | None]] = []
        self.facts: list[tuple[object, ...]] = []
        self.timers = dict(living.timers)
        self.ids = dict(living.ids)
        self.chosen: list[tuple[str, str]] = []
        self._name, self._seed, self._now, self._script = name, seed, now, script

    def send(self, to: str, message: Message) -> None:
        self.sent.append((to, message))

    def close(self, peer: str) -> None:
        self.sent.append((peer, None))

    def set_timer(self, name: TimerName, at: Time) -> None:
        self.timers[name] = max(at, self._now)

    def cancel_timer(self, name: TimerName) -> None:
        self.timers.pop(name, None)

    def observe(self, fact: tuple[object, ...]) -> None:
        self.facts.append(fact)

    def choose(self, label: str, options: Sequence[T]) -> T:
        at = len(self.chosen)
        if len(options) > 1 and at >= len(self._script):
            raise _Unfinished(len(options))
        picked = options[self._script[at] if len(options) > 1 else 0]
        if len(options) > 1:
            self.chosen.append((label, str(picked)))
        return picked

    def new_id(self, prefix: str) -> str:
        count = self.ids[prefix] = self.ids.get(prefix, 0) + 1
        made = uuid_like(self._seed, "id", self._name, prefix, count)
        return f"{prefix}-{made}" if prefix else made


class Steps:
    """Nodes, messages and events by numbers, and all steps that were taken so far.

    ``now``: the time at which every node's clock stands, later than every duration is long; ``seed`` of the ids that
    are made up.
    """

    def __init__(self, rules: NodeRules, now: Time, seed: int) -> None:
        self.rules, self.now, self._seed = rules, now, seed
        self.keys = Keys()
        self.livings: list[Living | None] = [None]
        """0: no process."""
        self.messages: list[Message] = [(), ()]
        """From 2 on, see `connections`."""
        self.events: list[NodeEvent] = []
        self.taken = 0
        """Steps that were computed."""
        self.left: list[object] = [None]
        """What has outlived processes; 0: nothing."""
        self._livings: dict[Hashable, int] = {}
        self._left: dict[Hashable, int] = {}
        self._remains: dict[int, int] = {0: 0}
        self._messages: dict[Hashable, int] = {}
        self._events: dict[NodeEvent, int] = {}
        self._steps: dict[tuple[int, int], tuple[Branch, ...]] = {}

    def message(self, message: Message) -> int:
        key = self.keys.key(message)
        number = self._messages.get(key)
        if number is None:
            number = self._messages[key] = len(self.messages)
            self.messages.append(message)
        return number

    def event(self, event: NodeEvent) -> int:
        number = self._events.get(event)
        if number is None:
            number = self._events[event] = len(self.events)
            self.events.append(event)
        return number

    def living(self, living: Living) -> int:
        """The number of a node with what belongs to it; its times are those of `now`."""
        timers = tuple(sorted(living.timers, key=_by_name))
        living = living._replace(timers=timers)
        key = (self.keys.key(living.node), tuple([name for name, _ in timers]), living.ids, living.given_up)
        number = self._livings.get(key)
        if number is None:
            number = self._livings[key] = len(self.livings)
            self.livings.append(living)
        return number

    def adopt(self, node: ExploredNode, timers: Mapping[TimerName, Time], ids: Mapping[str, int]) -> int:
        """The number of a node that has lived in another world, where it is `now`; the node is changed. Requests that
        are under way keep their numbers."""
        map_times(node, self._past)
        standing = dict(timers)
        self._forget(node, standing)
        return self.living(Living(node, tuple(standing.items()), tuple(sorted(ids.items())), ()))

    def remains(self, number: int) -> int:
        """The number of what outlives this node (`NodeRules.lasting`)."""
        remains = self._remains.get(number)
        if remains is None:
            living = self.livings[number]
            assert living is not None
            lasting = self.rules.lasting.get(type(living.node))
            remains = 0 if lasting is None else self._number_of_left(lasting.remains(living.node))
            self._remains[number] = remains
        return remains

    def _number_of_left(self, left: object) -> int:
        number = self._left.setdefault(self.keys.key(left), len(self.left))
        if number == len(self.left):
            self.left.append(left)
        return number

    def begin(self, name: str, node: ExploredNode, ids: tuple[tuple[str, int], ...]) -> tuple[Branch, ...]:
        return self._branches(name, Living(node, (), ids, ()), NodeEvent(START))

    def step(self, name: str, living: int, event: int) -> tuple[Branch, ...]:
        """What this event leads to, one branch for each way to choose."""
        found = self._steps.get((living, event))
        if found is None:
            before = self.livings[living]
            assert before is not None
            found = self._steps[living, event] = self._branches(name, before, self.events[event])
        return found

    def compute(self, name: str, before: Living, event: int) -> tuple[Branch, ...]:
        """The same for any node, and without looking whether it is known."""
        return self._branches(name, before, self.events[event])

    def _branches(self, name: str, before: Living, event: NodeEvent) -> tuple[Branch, ...]:
        branches: list[Branch] = []
        scripts: list[tuple[int, ...]] = [()]
        while scripts:
            script = scripts.pop()
            try:
                branches.append(self._run(name, before, event, script))
            except _Unfinished as unfinished:
                scripts += [(*script, option) for option in reversed(range(unfinished.options))]
        return tuple(branches)

    def _run(self, name: str, before: Living, event: NodeEvent, script: Sequence[int]) -> Branch:
        self.taken += 1
        node = before.node.copy()
        numbering = self.rules.numberings.get(type(node), _UNNUMBERED)
        outstanding = dict(numbering.outstanding(node))
        numbering.restart(node, FRESH)
        timers = dict(before.timers)
        now = timers.pop(event.what) if event.kind == TIMEOUT else self.now
        now = max(now, self.now)
        out = StepOutbox(name, self._seed, now, before._replace(timers=tuple(timers.items())), script)
        try:
            answered = self._handle(node, now, event, out)
        except AssertionError as broken:
            # The story ends here: what the node would do next says nothing.
            answered = None
            out.facts.append(BrokenInvariant(f"{name}: {broken}"))
        kept: set[float] = set()
        if now != self.now:
            floats_of(before.node, kept)
        lost = event.peer if event.kind == CLOSED else None
        given_up, sent = renumbered(numbering, node, outstanding, before.given_up, out.sent, answered, lost)
        elapsed = now - self.now

        def rebased(each: float) -> float:
            return self._past(each if each in kept else each - elapsed if each > self._least else each)

        map_times(node, rebased)
        set_now = {key: at if timers.get(key) == at else at - elapsed for key, at in out.timers.items()}
        self._forget(node, set_now)
        living = Living(node, tuple(set_now.items()), tuple(sorted(out.ids.items())), given_up)
        sends = tuple([(to, -1 if message is None else self.message(message)) for to, message in sent])
        return Branch(self.living(living), sends, tuple(out.facts), tuple(out.chosen))

    def _forget(self, node: ExploredNode, timers: dict[TimerName, Time]) -> None:
        forget = self.rules.forget.get(type(node))
        if forget is not None:
            forget(node, timers)

    def _handle(self, node: ExploredNode, now: Time, event: NodeEvent, out: StepOutbox) -> int | None:
        """Give the event to the node; the number that an answer repeats."""
        kind, peer, what = event
        if kind == RECEIVE:
            message = self.messages[what]
            node.receive(now, peer, message, out)
            return message[0] if peer != OPERATOR and message and isinstance(message[0], int) else None
        if kind == TIMEOUT:
            node.timeout(now, what, out)
        elif kind == CONNECTED:
            node.connected(now, peer, out)
        elif kind == CLOSED:
            node.closed(now, peer, out)
        elif kind == WOKEN:
            assert isinstance(node, WakingNode)
            node.woken(now, what, out)
        else:
            node.start(now, out)
        return None

    @property
    def _least(self) -> Time:
        """Floats from here on are times; what is less is a duration."""
        return self.now / 2

    def _past(self, time: Time) -> Time:
        return self.now - TICK if self._least < time <= self.now else time


def _by_name(timer: tuple[TimerName, Time]) -> str:
    return repr(timer[0])
