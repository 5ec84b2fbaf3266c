"""How a situation's script is followed, in real and in virtual time, what playing it once tells, and what became of
numbered records: lost, handled twice, still waiting.

A script is a generator that calls a stage and yields `Wait`s; it is sent whether what it waited for came true in time.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import Simulation

BY_LINES, BY_REQUESTS = "printed lines", "fetches and commits"

Q = TypeVar("Q")
"""What a queue is called by."""


@dataclass(slots=True)
class Outcome:
    """What became of the records. ``judged_by``: `BY_LINES` or `BY_REQUESTS`."""

    judged_by: str
    written: int
    handled: int
    lost: int
    """Committed, though nobody handled them: no member of the group will ever read them."""
    twice: int
    """Handled more than once."""
    waiting: int
    """Neither handled nor committed when the situation was over."""
    open: int = 0
    """Of records that are given out one by one: handled, and not acknowledged when the situation was over."""


def counted(
    written: Mapping[Q, int],
    begins: Mapping[Q, int],
    done: Mapping[Q, int],
    printed: Iterable[tuple[Q, int]],
    fetched: Iterable[tuple[Q, int]],
) -> Outcome:
    """Of the records of each queue from where the group began up to what was written; ``done``: what is committed,
    ``printed``: what programs say to have handled, ``fetched``: what they were given, which counts where they say
    nothing."""
    counter = Counter(printed)
    handled = counter or Counter(fetched)
    every = [(queue, offset) for queue, end in written.items() for offset in range(begins.get(queue, 0), end)]
    return Outcome(
        BY_LINES if counter else BY_REQUESTS,
        len(every),
        len(handled),
        sum(1 for queue, offset in every if offset < done.get(queue, 0) and (queue, offset) not in handled),
        sum(1 for count in handled.values() if count > 1),
        sum(1 for queue, offset in every if offset >= done.get(queue, 0) and (queue, offset) not in handled),
    )


def none_waits(
    written: Mapping[Q, int], begins: Mapping[Q, int], done: Mapping[Q, int], printed: Iterable[tuple[Q, int]]
) -> bool:
    """Whether no record waits: each was handled, as far as programs tell, or is committed."""
    handled = set(printed)
    for queue, end in written.items():
        first = max(done.get(queue, 0), begins.get(queue, 0))
        if first < end and not (handled and all((queue, at) in handled for at in range(first, end))):
            return False
    return True


STEP_MS: Final = 10.0
"""How often it is looked whether something has come true."""


GROUP: Final = "judged"
TOPIC: Final = "records"
FIRST, SECOND = "c1", "c2"
"""The members: the first one is judged."""

GOES_ON, NOTHING, STILL_OUT, NOT_REACHED, ENDS = "goes on", "does nothing more", "is still out", "not reached", "ends"
NOT_TRIED: Final = "not tried"
"""It did not do what the situation needs of the program, though it was asked for that."""


class Wait(NamedTuple):
    """For this, at most so many milliseconds."""

    until: Callable[[], bool]
    within: float


Script: TypeAlias = Generator[Wait, bool, None]


@dataclass(frozen=True, slots=True)
class Situation:
    """One situation, of either system."""

    name: str
    script: Callable[[Any], Script]
    """Takes the system's stage."""
    protocols: frozenset[str]
    """The kinds of members that have it: Kafka's group protocols, RocketMQ's ways to consume."""
    stopped: bool = False
    """Whether it is told to end, so that its end is no failure."""
    slow: bool = False
    """Whether its callback (its listener; of records that are given out one by one, each of them) takes long."""
    static: bool = False
    """Whether members are static ones."""
    transactional: bool = False
    """Whether the program commits its offsets within transactions."""
    fails: int = 0
    """How often it cannot handle the first record that it is given."""
    in_order: bool = False
    """Whether its group is served in order (RocketMQ's FIFO groups of the 5.x line)."""
    rejects: bool = False
    """Whether it wants the first record that it is given never again."""
    without_notices: bool = False
    """Whether brokers tell nobody that members have come or gone."""
    commits_count: bool = False
    """Whether a commit before the member joins again belongs to what it does about the situation; elsewhere it may as
    well be one that was due."""
    heartbeats_count: bool = False
    """The same of a heartbeat."""
    user_decides: bool = False
    """Whether the Java client throws (its commitSync()), and the user's code says how it goes on."""
    java: tuple[str, ...] = ()
    """What the Java client does where its model cannot be played (`java_place`: the page that says so)."""
    java_place: str = ""


class Members(Protocol):
    """The members of a group: programs, or the model's clients."""

    def start(self, member: str, instance_id: str | None = None) -> None:
        """Start one; as a static member where it is given an id."""

    def kill(self, member: str) -> None:
        """End its process at once; nobody is told."""

    def stop(self, member: str) -> None:
        """Tell it to end properly."""

    def freeze(self, member: str) -> None:
        """Stop its process; its connections stay open."""

    def thaw(self, member: str) -> None:
        """Let its process go on."""

    def alive(self, member: str) -> bool:
        """Whether it was started and has not ended."""


@dataclass(slots=True)
class Played:
    """What a program did in one situation."""

    did: tuple[str, ...]
    records: Outcome
    protocol: str | None
    """The kind of member that it is; None where it never became one."""
    behind: int | None
    """Records that it had not handled (or committed) when it was left alone, though it was still at them: 0 where it
    had handled all; None where it had ended, or had stopped reading."""
    exit_code: int | None
    """Where it ended by itself."""
    connected: bool
    last_line: str
    """What it printed last, beside its records."""
    busy: str
    """How busy the machine was, where that may have changed what it did; else empty."""
    is_stopped: bool = False
    """Whether its process was stopped, by whomever, when it was left alone."""
    broken: str | None = None
    """What it owes its group and did not do, where records are given out one by one."""


async def follow(script: Script, now: Callable[[], Time], between: Callable[[], Awaitable[None]]) -> None:
    """Follow it on the real clock; ``between`` is awaited before each wait."""
    came: bool | None = None
    while True:
        try:
            wait = script.send(came)  # type: ignore[arg-type]
        except StopIteration:
            return
        await between()
        came = await waited(now, wait)


async def waited(now: Callable[[], Time], wait: Wait) -> bool:
    """Wait; whether it came true."""
    end = now() + wait.within
    while not wait.until():
        if now() >= end:
            return False
        await asyncio.sleep(STEP_MS / 1000)
    return True


def follow_simulated(script: Script, simulation: Simulation) -> None:
    """Follow it in virtual time."""
    came: bool | None = None
    while True:
        try:
            wait = script.send(came)  # type: ignore[arg-type]
        except StopIteration:
            return
        end, came = simulation.now + wait.within, True
        while not wait.until():
            if simulation.now >= end:
                came = False
                break
            simulation.run(simulation.now + STEP_MS)


# --- scripts of both systems ---------------------------------------------------------------------------------------


class Waits(NamedTuple):
    """Milliseconds: how long we wait, at most, until members are in place, until the situation comes about, and until
    the first one is back; and how long we watch at least, at work and at the start."""

    in_place: float
    reached: float
    back: float
    watched: float
    watched_at_start: float


class AnyMark(Protocol):
    """When what is judged began."""

    at: Time


class AnyWorld(Protocol):
    """The world below a stage."""

    @property
    def now(self) -> Time: ...

    @property
    def members(self) -> Members: ...

    def cut(self, member: str) -> None:
        """Cut its connections with the brokers, as they do with one that is idle for too long."""


class AnyStage(Protocol):
    """One situation while it is played, of either system."""

    @property
    def world(self) -> AnyWorld: ...

    @property
    def members(self) -> Members: ...

    @property
    def mark(self) -> AnyMark | None: ...

    @property
    def waits(self) -> Waits: ...

    def begin(self) -> None:
        """What happens from now on is judged."""

    def refuse(self, kind: type[Message], error: str) -> None:
        """Answer the next request of this kind of the first member with an error, and judge from then on."""

    def in_place(self, member: str) -> bool:
        """Whether it works as a member and has committed."""

    def is_back(self) -> bool:
        """Whether the first member works again (or all that it should read is read again)."""


class StageOfShared(AnyStage, Protocol):
    """One whose records are given out one by one."""

    def has_records(self, member: str) -> bool:
        """Whether it was given records that it has not acknowledged."""


def instance_of(member: str) -> str:
    """The id that makes it a static member."""
    return f"instance-{member}"


def in_place(stage: AnyStage, *members: str, static: bool = False) -> Script:
    """Programs start and work as members of the group, one after the other."""
    for member in members:
        stage.members.start(member, instance_of(member) if static else None)
        yield Wait(partial(_in_place_or_gone, stage, member), stage.waits.in_place)


def _in_place_or_gone(stage: AnyStage, member: str) -> bool:
    return not stage.members.alive(member) or stage.in_place(member)


def watched(stage: AnyStage, *, least: float | None = None) -> Script:
    """What the member does: until it is back or has ended, and for some time at least."""
    mark, shortest = stage.mark, stage.waits.watched if least is None else least
    if mark is not None:
        yield Wait(
            lambda: not stage.members.alive(FIRST) or (stage.world.now >= mark.at + shortest and stage.is_back()),
            shortest + stage.waits.back,
        )


def reached(stage: AnyStage, within: float) -> Script:
    """Until what is judged has begun."""
    yield Wait(lambda: stage.mark is not None or not stage.members.alive(FIRST), within)


def joins(stage: AnyStage) -> Script:
    stage.begin()
    yield from in_place(stage, FIRST)


def refused_at_work(kind: type[Message], error: str, stage: AnyStage) -> Script:
    yield from in_place(stage, FIRST)
    stage.refuse(kind, error)
    yield from reached(stage, stage.waits.reached)
    yield from watched(stage)


def refused_at_start(kind: type[Message], error: str, stage: AnyStage) -> Script:
    stage.refuse(kind, error)
    stage.members.start(FIRST)
    yield from reached(stage, stage.waits.in_place)
    yield from watched(stage, least=stage.waits.watched_at_start)


def another_joins(stage: AnyStage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    yield from in_place(stage, SECOND)
    yield from watched(stage)


def another_goes(how: str, stage: AnyStage) -> Script:
    """Another member ``leaves``, or ``crashes``."""
    yield from in_place(stage, FIRST, SECOND)
    stage.begin()
    (stage.members.stop if how == "leaves" else stage.members.kill)(SECOND)
    yield Wait(lambda: not stage.members.alive(SECOND), stage.waits.back)
    yield from watched(stage)


def stopped_with_records(stage: StageOfShared) -> Script:
    yield from in_place(stage, FIRST)
    yield Wait(lambda: stage.has_records(FIRST), stage.waits.reached)
    yield from _stopped(stage)


def watched_from_the_start(stage: AnyStage) -> Script:
    stage.begin()
    yield from in_place(stage, FIRST)
    yield from watched(stage)


def connections_lost(stage: AnyStage) -> Script:
    yield from in_place(stage, FIRST)
    stage.begin()
    stage.world.cut(FIRST)
    yield from watched(stage)


def stopped(stage: AnyStage, *, static: bool = False) -> Script:
    yield from in_place(stage, FIRST, static=static)
    yield from _stopped(stage)


def _stopped(stage: AnyStage) -> Script:
    stage.begin()
    stage.members.stop(FIRST)
    yield Wait(lambda: not stage.members.alive(FIRST), stage.waits.back)
