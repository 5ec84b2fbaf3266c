"""The player of recordings of real clusters: what is the same for both systems.

A recording is read, made a scenario, and run many times in the model; what happened is put beside what was recorded. A
`System` says how its own are read, planned, run and compared. Here are what both call ownership (who owned which queue
when), and the two kinds of comparison. *Equal* must be, field by field, in one and the same run, what the script
decides. *Within the range* of all runs must lie what depends on chance: a recording is one throw of the dice on a busy
machine, so a range is widened by what such a machine may do.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, floor
from typing import Annotated, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from compare.conformance.cases import Difference, Line, MalformedCase, Measure, Played, Player
from protocols.engine.nodes import Time
from protocols.engine.simulation import Simulation
from protocols.errors import UserError
from protocols.java import Queue, sort_queues
from protocols.scenario.events import Event
from protocols.scenario.model import Scenario

RUNS: Final = 50
"""Seeds that a recording is compared with."""

NOISE_MS: Final = 1200.0
NOISE_SHARE: Final = 0.10
"""A recorded figure may lie outside of the runs' range by so much time, and by such a share of the limit."""

MOST_MS, MOST_COUNT = 3_600_000, 10_000
"""A recording that is longer, or has more of anything that is counted, is damaged rather than recorded."""

Count = Annotated[int, Field(ge=0, le=MOST_COUNT)]


class Part(BaseModel):
    """A part of a recording; what is not compared is not read."""

    model_config = ConfigDict(frozen=True, extra="ignore", arbitrary_types_allowed=True)


# --- playing -------------------------------------------------------------------------------------------------------

R = TypeVar("R")
P = TypeVar("P")
H = TypeVar("H")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class System(Generic[R, P, H, T]):
    """How recordings (R) of one system are planned (P), happened (H), and happen in a run (T)."""

    name: str
    recognises: Callable[[Line], bool]
    """Whether a line is meant to be one of its recordings."""
    read: Callable[[Line], R]
    happened: Callable[[R], H]
    plan: Callable[[R], P]
    run: Callable[[P, int], T]
    """The run of this number, which is also its seed."""
    compared: Callable[[P, H, Sequence[T]], tuple[list[Difference], list[Measure]]]
    takes: str
    """What a recording has that such a cluster takes, in words."""
    why_not_played: Callable[[R], str | None] = lambda _: None
    """Why the model cannot play it; None if it can."""
    inconsistent: Callable[[R, H], list[Difference]] = lambda _, __: []
    """What the recording's summary says that its own events contradict; ``got`` is what the events say."""


def play(system: System[R, P, H, T], line: Line, runs: int = RUNS) -> Played:
    """Play a recording so many times with different seeds. Raises `MalformedCase` for one that cannot be."""
    recording = system.read(line)
    why = system.why_not_played(recording)
    if why is not None:
        return Played(skipped=why)
    real = system.happened(recording)
    try:
        prepared = system.plan(recording)
        told = [system.run(prepared, number) for number in range(runs)]
    except UserError as error:
        raise MalformedCase("members", f"{system.takes} that {system.name} take", str(error)) from None
    differences, measures = system.compared(prepared, real, told)
    return Played([*system.inconsistent(recording, real), *differences], measures)


def player(system: System[R, P, H, T]) -> Player:
    """Plays the recordings of a system."""
    return Player(f"recordings of {system.name}", system.recognises, partial(play, system))


def closest(runs: int, compared: Callable[[int], tuple[list[Difference], list[Measure]]]) -> Played:
    """The first run (by number) that is as recorded, or else the one with the fewest differences."""
    best = Played(*compared(0))
    for number in range(1, runs):
        if not best.differences:
            break
        differences, measures = compared(number)
        if len(differences) < len(best.differences):
            best = Played(differences, measures)
    return best


class Cluster(Protocol):
    """A cluster of a simulation."""

    def start(self) -> None: ...

    def apply(self, event: Event) -> None: ...

    def finish(self) -> None: ...


def simulate(
    cluster: Cluster,
    simulation: Simulation,
    scenario: Scenario,
    calls: Iterable[tuple[Time, Callable[[], None]]] = (),
) -> None:
    """Let the scenario happen to the cluster, and these calls at their times."""
    simulation.at(0.0, cluster.start)
    for event in scenario.events:
        simulation.at(event.at, partial(cluster.apply, event))
    for at, call in calls:
        simulation.at(at, call)
    simulation.run(scenario.run.for_)
    cluster.finish()


# --- ownership -----------------------------------------------------------------------------------------------------


class Change(NamedTuple):
    """From ``at`` on the member believes to own what it gained, and no longer what it lost."""

    at: float
    member: str
    gained: tuple[Queue, ...]
    lost: tuple[Queue, ...]


class Interval(NamedTuple):
    """A time in which a queue had no owner or, with several ``owners``, more than one."""

    queue: Queue
    since: float
    until: float
    owners: tuple[str, ...] = ()

    @property
    def lasted(self) -> float:
        """Milliseconds."""
        return self.until - self.since


class Moved(NamedTuple):
    """A queue came to another member than the one that was the last to begin to own it."""

    at: float
    queue: Queue
    before: str
    after: str


class Ownership(NamedTuple):
    """Who owned the queues when. An owner counts from when it believes to own until it does not, or is gone; one that
    is stopped owns what it had."""

    first: Mapping[Queue, float]
    """When each queue that ever had an owner had its first."""
    owners: Mapping[Queue, list[str]]
    """Everyone who began to own it, in this order."""
    double: tuple[Interval, ...]
    waiting: tuple[Interval, ...]
    """From the beginning to the first owner, or to the end where there is none."""
    unowned: tuple[Interval, ...]
    """After the first owner."""
    moves: tuple[Moved, ...]
    final: Mapping[str, frozenset[Queue]]
    """Member to what it believes to own in the end."""


def changed(held: Iterable[tuple[float, str, frozenset[Queue]]]) -> list[Change]:
    """What members gained and lost who hold exactly these queues from these times on."""
    owned: dict[str, frozenset[Queue]] = {}
    changes: list[Change] = []
    for at, member, after in held:
        before = owned.get(member, frozenset())
        owned[member] = after
        if before != after:
            changes.append(Change(at, member, sort_queues(after - before), sort_queues(before - after)))
    return changes


def ownership(
    changes: Iterable[Change], end: float, waiting_for: Iterable[Queue] = (), began: float = 0.0
) -> Ownership:
    """What the changes (by time) mean. ``waiting_for``: queues that wait for an owner from ``began`` on."""
    alone = dict.fromkeys(waiting_for, began)
    """Queue without an owner to since when."""
    crowded: dict[Queue, tuple[float, set[str]]] = {}
    """Queue with several owners to since when, and everybody who has been one of them."""
    now: dict[Queue, set[str]] = {}
    owned: dict[str, set[Queue]] = {}
    first: dict[Queue, float] = {}
    owners: dict[Queue, list[str]] = {}
    double: list[Interval] = []
    waiting: list[Interval] = []
    unowned: list[Interval] = []
    moves: list[Moved] = []
    for at, member, gained, lost in changes:
        for queue in lost:
            there = now.get(queue, set())
            if member not in there:
                continue
            # A gap begins when the last owner goes; two owners are two until one goes.
            there.discard(member)
            if len(there) == 1:
                since, everybody = crowded.pop(queue)
                double.append(Interval(queue, since, at, tuple(sorted(everybody))))
            elif not there:
                alone[queue] = at
        for queue in gained:
            there = now.setdefault(queue, set())
            if member in there:
                continue
            there.add(member)
            if queue in alone:
                (unowned if queue in first else waiting).append(Interval(queue, alone.pop(queue), at))
            if len(there) > 1:
                crowded.setdefault(queue, (at, set()))[1].update(there)
            first.setdefault(queue, at)
            began_to_own = owners.setdefault(queue, [])
            if began_to_own and began_to_own[-1] != member:
                moves.append(Moved(at, queue, began_to_own[-1], member))
            began_to_own.append(member)
        mine = owned.setdefault(member, set())
        mine.difference_update(lost)
        mine.update(gained)
    double += [Interval(queue, at, end, tuple(sorted(everybody))) for queue, (at, everybody) in crowded.items()]
    for queue, at in alone.items():
        (unowned if queue in first else waiting).append(Interval(queue, at, end))
    # What lasted no time was not seen.
    seen = [tuple(sorted(each for each in listed if each.lasted > 0)) for listed in (double, waiting, unowned)]
    final = {member: frozenset(queues) for member, queues in owned.items()}
    return Ownership(first, owners, seen[0], seen[1], seen[2], tuple(moves), final)


def longest(intervals: Iterable[Interval]) -> float:
    """Milliseconds of the longest; 0 where there is none."""
    return max((interval.lasted for interval in intervals), default=0.0)


def summed(intervals: Iterable[Interval]) -> float:
    """Milliseconds of all together."""
    return sum((interval.lasted for interval in intervals), 0.0)


# --- comparing -----------------------------------------------------------------------------------------------------

Exact: TypeAlias = Mapping[str, object]
"""Field to a value that must be equal, as JSON has it."""


def equal(case: str, real: Exact, runs: Sequence[Exact], words: str) -> list[Measure]:
    """Field by field against the run that differs in fewest of them; ``words`` say in how many of how many runs a field
    is equal."""
    off = [_differing(real, run) for run in runs]
    nearest = min(range(len(runs)), key=lambda number: (len(off[number]), number))
    return [
        Measure(
            case,
            field,
            real.get(field),
            runs[nearest].get(field),
            words.format(sum(field not in differing for differing in off), len(runs)),
            field not in off[nearest],
        )
        for field in dict.fromkeys([*real, *runs[nearest]])
    ]


def _differing(one: Exact, other: Exact) -> set[str]:
    return {field for field in (*one, *other) if one.get(field) != other.get(field)}


def widened(found: Sequence[float], noise: float, share: float = NOISE_SHARE) -> tuple[float, float]:
    """From least to most of what was found (at least one), widened by ``noise`` and by ``share`` of it; what is never
    negative does not become so."""
    low, high = min(found), max(found)
    least = low - noise - share * abs(low)
    return max(least, 0.0) if low >= 0 else least, high + noise + share * abs(high)


def within(
    case: str,
    quantity: str,
    real: float | None,
    found: Sequence[float],
    noise: float = NOISE_MS,
    *,
    share: float = NOISE_SHARE,
    above: float = 0.0,
    whole: bool = False,
) -> Measure:
    """Whether the recorded value (None: there is none) lies within the range of the runs that have one.

    ``noise`` is in the unit of the quantity: milliseconds, or as many records as are produced in `NOISE_MS`, or 0.
    ``share``: by such a share of the limits it is widened as well; ``above``: and upwards by so much more. ``whole``:
    the quantity is counted, the limits are the next whole numbers outside.
    """
    if real is None or not found:
        return Measure(case, quantity, real, [min(found), max(found)] if found else None, None, False)
    low, high = widened(found, noise, share)
    high += above
    if whole:
        low, high = floor(low), ceil(high)
    return Measure(case, quantity, real, [min(found), max(found)], [low, high], low <= real <= high)


def outside(measures: Iterable[Measure]) -> list[Difference]:
    """The measures that did not pass, with what is allowed."""
    return [
        Difference(measure.case, measure.quantity, measure.real, {"model": measure.model, "allowed": measure.allowed})
        for measure in measures
        if not measure.passed
    ]
