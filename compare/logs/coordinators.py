"""Which broker coordinated a group when, and which lines of brokers count.

With several brokers a group moves to another one when its coordinator stands still, dies or hands over. A coordinator
that stood still goes on with its old timers when it wakes: it expires members and empties the group, and cannot write
any of that. Such lines are no generations.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from compare.logs.broker_events import (
    Added,
    Announced,
    AssignmentReceived,
    BrokerFenced,
    BrokerStarted,
    BrokerStopped,
    Coordinates,
    Emptied,
    Failed,
    Loaded,
    NotWritten,
    Preparing,
    Stabilized,
    Unloaded,
)
from compare.logs.client_events import ClientBooted, CoordinatorGone, NotCoordinator, SessionOver
from compare.logs.events import Event, Stream
from compare.logs.identity import client_of

_ONE_BURST_S = 10.0
"""Lines of an old coordinator that works off its timers follow each other at once."""

_AT_ONCE_S = 1.0
"""All timers of a broker that stood still are over at once."""

_AROUND_START_S = 60.0
"""A broker loads its groups so soon before or after the line that says it was started."""


_SILENT_S = 15.0
"""The controller takes a broker for gone so long at most after it heard of it last (broker.session.timeout.ms: 9 s)."""


@dataclass(frozen=True, slots=True)
class Load:
    """A broker read the group; ``moved``: from another broker; None where the logs do not tell."""

    at: float
    event: Loaded
    moved: bool | None


def judged(events: Iterable[Event], brokers: Sequence[Event]) -> tuple[list[Event], list[Load]]:
    """The events, in order of time, without those of a broker that did not coordinate the group any more; and who read
    the group when. ``brokers``: events of no group."""
    kept: list[Event] = []
    loads: list[Load] = []
    owner: Stream | None = None
    seen: set[int] = set()
    left_out: list[Event] = []
    for event in events:
        if not isinstance(event, Coordinates):
            kept.append(event)
            continue
        stream = event.stream
        if isinstance(event, Loaded):
            kept = _as_read(kept)
            if event.members != 0:
                loads.append(Load(event.at, event, _moved(event, owner, brokers)))
            owner = stream
        elif isinstance(event, NotWritten | Unloaded):
            if isinstance(event, Unloaded) or "not the correct coordinator" in event.why or "NotC" in event.why:
                kept, dropped = _without_burst(kept, event)
                left_out = dropped if isinstance(event, Unloaded) else []
        elif owner is None or owner is stream or id(stream) not in seen:
            owner = stream
            if isinstance(event, Preparing):
                # Of what was left out the generation was written if the group goes on with it.
                if any(isinstance(each, Emptied) and each.generation == event.generation for each in left_out):
                    kept = sorted([*kept, *left_out], key=lambda each: each.at)
                left_out = []
            kept.append(event)
        seen.add(id(stream))
    nodes = {each.stream.node for each in [*kept, *brokers] if each.stream.role == "broker"}
    several = len(nodes) > 1 or any(isinstance(each, NotCoordinator | CoordinatorGone) for each in kept)
    return _without_doubtful(kept, several, {each.client for each in kept if isinstance(each, SessionOver)}), loads


def _as_read(kept: Sequence[Event]) -> list[Event]:
    """Without the joins of a rebalance that was not through when the group was read: a coordinator writes none."""
    through = next((n for n in range(len(kept), 0, -1) if isinstance(kept[n - 1], Stabilized | Emptied)), 0)
    return [
        *kept[:through],
        *(event for event in kept[through:] if not isinstance(event, Added | Announced | Preparing)),
    ]


def _moved(event: Loaded, owner: Stream | None, brokers: Sequence[Event]) -> bool | None:
    if owner is not None and owner is not event.stream:
        return True
    node = event.stream.node
    if any(isinstance(each, BrokerFenced) and each.broker != node for each in brokers):
        return None  # of several brokers, another one may have had the group meanwhile
    own = [each for each in brokers if each.stream is event.stream]
    restarted = any(
        isinstance(each, BrokerStarted | BrokerStopped | ClientBooted) and abs(each.at - event.at) < _AROUND_START_S
        for each in own
    )
    return False if restarted else None


def _without_burst(kept: list[Event], failed: NotWritten | Unloaded) -> tuple[list[Event], list[Event]]:
    """Without what a broker had printed about the group since it woke, before it said that it could not write it;
    before it gives the group up, only where that ends sessions. Besides, what was left out."""
    since = failed.at
    dropped: set[int] = set()
    has_expired = False
    for event in reversed(kept):
        if event.stream is not failed.stream:
            continue
        written = isinstance(event, Stabilized | AssignmentReceived)
        if written or since - event.at > _ONE_BURST_S:
            break
        since = event.at
        dropped.add(id(event))
        has_expired = has_expired or _is_expired(event)
    is_void = has_expired or isinstance(failed, NotWritten)
    if not is_void:
        return kept, []
    return [e for e in kept if id(e) not in dropped], [e for e in kept if id(e) in dropped]


def _without_doubtful(kept: list[Event], several: bool, lost: set[str]) -> list[Event]:
    """Without what a broker printed that expired members, and of which no line tells that it could write it: another
    broker tells of the same generation, or its log ends there and it may have been another's group by then. ``lost``:
    clients that had no answer of the coordinator, which others than those that it expired may tell of."""
    of_stream: dict[int, list[Coordinates]] = defaultdict(list)
    for event in kept:
        if isinstance(event, Coordinates):
            of_stream[id(event.stream)].append(event)
    tellers: dict[int, set[int]] = defaultdict(set)
    for number, events in of_stream.items():
        for event in events:
            if isinstance(event, Preparing | Stabilized | Emptied):
                tellers[event.generation + isinstance(event, Preparing)].add(number)
    dropped: set[int] = set()
    for events in of_stream.values():
        for burst in _unwritten(events):
            if not (expired := [event for event in burst if _is_expired(event)]):
                continue
            failed = [event for event in burst if isinstance(event, Failed)]
            told = {event.generation + 1 for event in burst if isinstance(event, Preparing)}
            at_once = len(failed) > 1 and failed[-1].at - failed[0].at <= _AT_ONCE_S
            last = max(event.at for event in burst[0].stream.events if event.place.at is not None)
            others = lost - {client_of(event.member) for event in failed}
            ends = burst[-1] is events[-1] and last - expired[0].at <= _ONE_BURST_S
            if any(len(tellers[generation]) > 1 for generation in told) or (ends and (several or at_once or others)):
                dropped |= {id(event) for event in burst}
    return [event for event in kept if id(event) not in dropped]


def _is_expired(event: Event) -> bool:
    """Whether a broker says that a session is over."""
    return isinstance(event, Failed) or (isinstance(event, Preparing) and "on heartbeat expiration" in event.reason)


def _unwritten(events: Sequence[Coordinates]) -> Iterator[list[Coordinates]]:
    """Runs of a broker's lines that end without a generation that it wrote."""
    run: list[Coordinates] = []
    for event in events:
        if run and event.at - run[-1].at > _ONE_BURST_S:
            yield run
            run = []
        if isinstance(event, Stabilized | AssignmentReceived):
            run = []
        else:
            run.append(event)
    if run:
        yield run


@dataclass(frozen=True, slots=True)
class Outage:
    """A broker was away: ``begun`` and ``ended`` (None: not seen to be back) as the controller saw it; ``died``: it
    was started anew; None where its own log does not tell."""

    node: int
    begun: float
    ended: float | None
    died: bool | None
    events: tuple[Event, ...]


def outages(brokers: Sequence[Event], streams: Sequence[Stream]) -> list[Outage]:
    """Brokers that the controller took for gone without their shutting down."""
    found: list[Outage] = []
    open_: dict[int, BrokerFenced] = {}
    for event in brokers:
        if not isinstance(event, BrokerFenced):
            continue
        if event.fenced == 1 and event.shutting == 0:
            open_.setdefault(event.broker, event)
        elif event.fenced == -1 and event.broker in open_:
            begun = open_.pop(event.broker)
            found.append(_outage(begun, event, brokers, streams))
    found += [_outage(begun, None, brokers, streams) for begun in open_.values()]
    return sorted(found, key=lambda each: (each.begun, each.node))


def _outage(
    begun: BrokerFenced, ended: BrokerFenced | None, brokers: Sequence[Event], streams: Sequence[Stream]
) -> Outage:
    own = [stream for stream in streams if stream.node == begun.broker]
    until = ended.at + _AROUND_START_S if ended else float("inf")
    booted = [
        each
        for each in brokers
        if isinstance(each, BrokerStarted | ClientBooted)
        and any(each.stream is stream for stream in own)
        and begun.at - _SILENT_S <= each.at <= until
    ]
    again = [each for each in booted if each.at >= begun.at]
    # One that runs on works off its timers before it is taken for back; one that starts reads its groups first.
    goes_on = ended is not None and any(
        isinstance(event, Coordinates)
        and not isinstance(event, Loaded)
        and begun.at < event.at <= ended.at + _AT_ONCE_S
        for stream in own
        for event in stream.events
    )
    # One that was started just before may have died, or may have stood still since.
    died = True if again else False if goes_on and not booted else None
    events = (begun, *([ended] if ended else []), *again[:1])
    return Outage(begun.broker, begun.at, ended.at if ended else None, died, events)
