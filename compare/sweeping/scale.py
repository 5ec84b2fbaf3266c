"""One row of a sweep of `scale`: what a group of so many members costs its servers, and how soon it comes to rest.

One run has all four stories, one after the other, each with the same time: every member starts at once; one more
joins; a tenth of the members (at least one) leave and start again `AWAY_MS` later, as a deploy does it; the broker that
carries most bytes at rest is killed, which in Kafka is the group's coordinator. Members read one topic, which has
`QUEUES` for each of the members at the start, on `BROKERS` brokers.

A run keeps no timeline here: of ten thousand members that would be more than the run itself. What ownership does is
told by the members (`protocols.facts.Owns`), of share groups by the coordinator (`protocols.facts.Granted`). The model
gives requests no time in a server: a time to settle is that of timers and of the network, not that of a busy broker.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Final, NamedTuple

from compare.running.systems import cluster_of, has_no_owners, system_of
from compare.sweeping.allocations import ROCKETMQ, queues_per_broker
from compare.sweeping.grid import Cell, Sweep
from compare.sweeping.stories import GROUP, member_name, topic_name
from protocols.engine.nodes import TICK, Time
from protocols.engine.simulation import Unobserved, no_cycle_search
from protocols.engine.traffic import Load, Traffic
from protocols.facts import Granted, Owns
from protocols.scenario.events import BrokerEvent, Event, Join, Leave, Restart
from protocols.scenario.fields import GroupPart, MemberPart, TopicPart
from protocols.scenario.jitter import IN_STEP, Beginning
from protocols.scenario.model import RunPart, Scenario, SystemPart, split_system
from protocols.scenario.running import Run
from protocols.scenario.topology import MemberKey
from rocketmq_selfbalance.cluster import NAME_SERVER

STORIES: Final = ("start", "join", "deploy", "failover")
OF_A_STORY: Final = ("settle_s", "requests", "bytes", "most_requests_per_s", "most_bytes_per_s")
AT_REST: Final = ("requests_per_s", "bytes_per_s", "name_server_requests_per_s", "name_server_bytes_per_s")
LARGEST: Final = "largest_answer_bytes"
FIGURES: Final = (
    *(f"{story}_{name}" for story in STORIES for name in OF_A_STORY),
    *(f"rest_{name}" for name in AT_REST),
    LARGEST,
)
"""The columns of a row. Of each story: seconds until the last change of what any member owns (null: none owned anything
else), requests and bytes on all servers from its beginning until then, and of its busiest second. At rest: of the
second half of the first story, of all servers and of the name server (null where there is none)."""

AWAY_MS: Final = 5_000.0
AFTER_HEARTBEATS_MS: Final = 100.0
BROKERS: Final = 3
QUEUES: Final = 2
"""Of each member."""


class _LastChange(Unobserved):
    """Keeps when a member owned something else than before; in a share group, when it was granted something else."""

    def __init__(self, granted: bool) -> None:
        self._kind: type[Owns] | type[Granted] = Granted if granted else Owns
        self.at: Time | None = None

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        if type(fact) is self._kind:
            self.at = now


class _Story(NamedTuple):
    """What happens and when, of one story that begins at ``since``."""

    since: Time
    changed: Time | None


def scale_row(sweep: Sweep, cell: Cell, part: SystemPart, within: Time = 0.0) -> Mapping[str, int | float | None]:
    """`FIGURES` of one run. ``within``: the members start one after the other, the last one so many milliseconds after
    the first. Raises `UserError` for a setting that the system refuses."""
    observer = _LastChange(has_no_owners(part.system))
    scenario = scenario_of(sweep, cell, part.system)
    names = enumerate(scenario.groups[GROUP].members)
    starts = {MemberKey(GROUP, name): float(within * number // cell.members) for number, name in names}
    beginning = Beginning(starts=starts) if within else IN_STEP
    run = Run.of(scenario, part, cluster_of(part.system), observer=observer, seed=cell.seed, beginning=beginning)
    sizes, requests = system_of(part.system).traffic()
    traffic = run.simulation.traffic = Traffic(sizes, requests, (*scenario.brokers, NAME_SERVER))
    length = sweep.run_for / len(STORIES)
    stories = []
    with no_cycle_search():
        for number, story in enumerate(STORIES):
            since = begins(number, length)
            observer.at = None
            if story == "failover":
                run.cluster.apply(BrokerEvent(at=since, broker=_busiest(traffic, since, length), does="kill"))
            # The events of the next story are due when it begins, so this one ends a tick earlier.
            last = number == len(STORIES) - 1
            run.simulation.run(sweep.run_for if last else begins(number + 1, length) - TICK)
            stories.append(_Story(since, observer.at))
    by_second = traffic.by_second(sweep.run_for)
    run.simulation.dissolve()
    return _figures(stories, by_second, length, max(traffic.largest.values(), default=0))


def try_scale(sweep: Sweep, cell: Cell, part: SystemPart) -> None:
    """Run the first moment of a cell. Raises `UserError` as `scale_row` does."""
    Run.of(scenario_of(sweep, cell, part.system), part, cluster_of(part.system)).simulation.run(1.0)


def begins(story: int, length: Time) -> Time:
    """When a story begins: all but the first come just after everybody's heartbeats, because members that start in step
    send these in step. So a member hears of what has happened as late as it can."""
    return story * length + (AFTER_HEARTBEATS_MS if story else 0.0)


def _busiest(traffic: Traffic, until: Time, length: Time) -> str:
    """The broker that carried most bytes in the second half of the story before: in Kafka the group's coordinator,
    the only one that members at rest speak with. Over a whole run the metadata of a start may be more, at any broker.
    """
    of_rest = {name: loads[int((until - length / 2) // 1000) :] for name, loads in traffic.by_second(until).items()}
    carried = {name: _together(loads).bytes for name, loads in of_rest.items()}
    del carried[NAME_SERVER]
    return max(carried, key=lambda name: carried[name])


def client_id(number: int) -> str:
    """A RocketMQ client's id as its Java client makes it: address, process and nanoseconds. Everybody is told all of
    them again and again, so that their length decides what a group costs."""
    return f"172.16.{100 + number // 100 % 100}.{100 + number % 100}@4711#{100_000_000_000_000 + number}"


def scenario_of(sweep: Sweep, cell: Cell, system: str) -> Scenario:
    """The scenario of a cell, without the death of the server."""
    brokers, topic = [f"broker-{number}" for number in range(BROKERS)], topic_name(0)
    queues = queues_per_broker(QUEUES * cell.members, brokers)
    # One part for all members: a hundred thousand of them would be most of what a run keeps.
    part = MemberPart(subscribe=(topic,))
    own_ids = split_system(system)[0] == ROCKETMQ
    members = [member_name(number) for number in range(cell.members)]
    length = sweep.run_for / len(STORIES)
    join, deploy = (begins(STORIES.index(story), length) for story in ("join", "deploy"))
    joiner = client_id(cell.members) if own_ids else None
    events: list[Event] = [
        Join(at=join, group=GROUP, join=member_name(cell.members), subscribe=(topic,), client_id=joiner)
    ]
    events += [Leave(at=deploy, group=GROUP, leave=name) for name in members[::10]]
    events += [Restart(at=deploy + AWAY_MS, group=GROUP, restart=name) for name in members[::10]]
    return Scenario(
        name=sweep.name,
        brokers=tuple(brokers),
        topics={topic: TopicPart(queues=queues)},
        groups={
            GROUP: GroupPart(
                members={
                    name: part.model_copy(update={"client_id": client_id(number)}) if own_ids else part
                    for number, name in enumerate(members)
                }
            )
        },
        run=RunPart.model_validate({"for": sweep.run_for, "latency": cell.latency}),
        versions=dict(sweep.versions),
        events=tuple(events),
    )


def _figures(
    stories: Sequence[_Story], by_second: Mapping[str, Sequence[Load]], length: Time, largest: int
) -> Mapping[str, int | float | None]:
    totals = [_together(second) for second in zip(*by_second.values(), strict=True)]
    found: dict[str, int | float | None] = {}
    for name, story in zip(STORIES, stories, strict=True):
        first = int(story.since // 1000)
        last = first + int(length // 1000)
        until = first + 1 if story.changed is None else int(story.changed // 1000) + 1
        spent = _together(totals[first:until])
        busiest = totals[first:last]
        found |= {
            f"{name}_settle_s": None if story.changed is None else (story.changed - story.since) / 1000,
            f"{name}_requests": spent.requests,
            f"{name}_bytes": spent.bytes,
            f"{name}_most_requests_per_s": max(each.requests for each in busiest),
            f"{name}_most_bytes_per_s": max(each.bytes for each in busiest),
        }
    half, end = int(length // 2000), int(length // 1000)
    rest, asked = _together(totals[half:end]), _together(by_second[NAME_SERVER][half:end])
    of_rest = (rest.requests, rest.bytes, asked.requests or None, asked.bytes or None)
    found |= {
        f"rest_{name}": None if value is None else value / (end - half)
        for name, value in zip(AT_REST, of_rest, strict=True)
    }
    return {**found, LARGEST: largest}


def _together(loads: Iterable[Load]) -> Load:
    return reduce(Load.plus, loads, Load())
