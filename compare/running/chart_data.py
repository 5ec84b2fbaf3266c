"""What the pictures of one variant need, as small as it can be said; the browser draws it.

Times are whole milliseconds. What is left out so that the page stays small is told in ``remarks``.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from compare.catalogues import UNCOUNTED
from compare.figures import Figure
from compare.formatting import visible
from compare.running.event_outcomes import combined_fairness_at_each
from compare.running.lag import waiting_at
from compare.running.phases import Phase, ownership_changes
from compare.running.player import player
from compare.running.production import productions
from compare.running.run_variant import RunResult, run_variant
from compare.running.systems import system_of
from protocols import Queue, sort_queues
from protocols.scenario.topology import MemberKey, Topology
from protocols.timeline import Timeline, lifetimes
from protocols.timeline.lifetimes import first_topics
from protocols.timeline.ownership import Interval

MOST_ROWS = 240
"""Queues drawn; of more, those to which most happens."""

MOST_INTERVALS = 12_000
"""Stretches of ownership drawn; of more, the rows to which least happens are left out."""

MOST_POINTS = 240
"""Points of the line that shows how even ownership is."""

BUCKETS = 120
"""Pieces of time in which messages are counted and lag is measured."""

MOST_TRACED = 400_000
"""Of a run with more messages than this the player shows no messages: keeping them would take gigabytes."""

TOLD_TYPES = 5
"""Types of messages that are drawn apart; the others are one."""


class Row(NamedTuple):
    """A queue of a group; where the group is broadcasting, what one ``member`` reads of it (else empty)."""

    group: str
    member: str
    queue: Queue


def chart_data_of(result: RunResult, phases: Sequence[Phase]) -> dict[str, object]:
    """A variant's pictures. Where its messages were not kept, it is run once more, with every message kept."""
    timeline = result.timeline
    keys = list(Topology.of(result.variant.scenario).node)
    names = result.ending.names
    number = {key: at for at, key in enumerate(keys)}
    rows, left_out = _rows(result)
    remarks = []
    if left_out:
        remarks.append(f"The chart shows {len(rows)} of {len(rows) + left_out} queues: those with the most changes.")
    points, thinned = _points(timeline, phases)
    if thinned:
        remarks.append(f"The fairness line shows {len(points)} of {len(points) + thinned} points.")
    traced: RunResult | None = None
    if timeline.trace is not None:
        traced = result
    elif sum(timeline.messages.values()) <= MOST_TRACED:
        traced = run_variant(result.variant, tracing=True)
    if traced is None:
        remarks.append(
            f"The player shows only events and their effects, because the run has more than {MOST_TRACED:,} messages."
        )
    several = len(result.variant.scenario.groups) > 1
    return {
        "members": [visible(names[key]) for key in keys],
        "rows": [
            [
                (f"{row.group}: " if several else "")
                + (f"{visible(row.member)}: " if row.member else "")
                + visible(row.queue.topic),
                visible(row.queue.broker),
                row.queue.number,
            ]
            for row in rows
        ],
        # In these nobody waits for an owner, and nobody shares.
        "alone": [at for at, row in enumerate(rows) if row.member],
        "held": _held(timeline, rows, number),
        "lives": _lives(timeline, rows),
        "points": points,
        "sent": None if traced is None else _sent(traced.timeline),
        "lag": _lag(result),
        "player": player((traced or result).timeline, result.variant.part.system, [phase.at for phase in phases]),
        "remarks": remarks,
    }


def _rows(result: RunResult) -> tuple[list[Row], int]:
    """The rows to draw, in order, and how many were left out."""
    timeline, scenario = result.timeline, result.variant.scenario
    numbering = system_of(result.variant.part.system).numbering
    there = [queue for queues in first_topics(scenario, numbering).values() for queue in queues]
    every = dict.fromkeys([*there, *lifetimes(scenario, numbering)])
    read = {(belief.group, belief.queue.topic): None for belief in timeline.beliefs}
    rows = {
        Row(group, "", queue): 0
        for group in scenario.groups
        if group not in timeline.broadcasting
        for queue in every
        if (group, queue.topic) in read
    }
    for belief in timeline.beliefs:
        if not belief.queue.topic.startswith(UNCOUNTED):
            row = _row(timeline, belief)
            rows[row] = rows.get(row, 0) + 1
    busiest = sorted(rows, key=lambda row: -rows[row])[:MOST_ROWS]
    # Each row may have as many stretches as there is room for all.
    while len(busiest) > 1 and sum(rows[row] for row in busiest) > MOST_INTERVALS:
        busiest.pop()
    return _in_order(busiest), len(rows) - len(busiest)


def _in_order(rows: Sequence[Row]) -> list[Row]:
    place = {queue: at for at, queue in enumerate(sort_queues({row.queue: None for row in rows}))}
    return sorted(rows, key=lambda row: (row.group, row.member, place[row.queue]))


def _row(timeline: Timeline, each: Interval) -> Row:
    return Row(each.group, each.member if each.group in timeline.broadcasting else "", each.queue)


def _held(timeline: Timeline, rows: Sequence[Row], number: Mapping[MemberKey, int]) -> list[list[int]]:
    """Per row, flat: member, milliseconds from the end of the stretch before (may be below 0), length; -1 as the length
    is to the end of the run."""
    stretches: dict[Row, list[list[int]]] = {row: [] for row in rows}
    latest: dict[tuple[Row, int], list[int]] = {}
    for belief in timeline.beliefs:
        row = _row(timeline, belief)
        if row not in stretches:
            continue
        member = number[MemberKey(belief.group, belief.member)]
        since, until = round(belief.since), -1 if belief.until is None else round(belief.until)
        last = latest.get((row, member))
        if last is not None and last[2] == since:
            # The same member goes on in the next generation.
            last[2] = until
        elif until != since:
            latest[row, member] = stretch = [member, since, until]
            stretches[row].append(stretch)
    found = []
    for row in rows:
        flat: list[int] = []
        end = 0
        for member, since, until in sorted(stretches[row], key=lambda each: each[1]):
            flat += (member, since - end, -1 if until < 0 else until - since)
            end = round(timeline.end) if until < 0 else until
        found.append(flat)
    return found


def _lives(timeline: Timeline, rows: Sequence[Row]) -> dict[int, list[int]]:
    """Row to when its queue exists, where that is not always: from, to, ... (to the end of the run at most)."""
    end = timeline.end
    return {
        at: [round(min(time, end)) for life in timeline.lives[row.queue] for time in life]
        for at, row in enumerate(rows)
        if row.queue in timeline.lives
    }


def _points(timeline: Timeline, phases: Sequence[Phase]) -> tuple[list[list[Figure]], int]:
    """[time, least, most, idle members, members, Jain] after each change of ownership or of the group, and how many of
    these points were left out; none where nothing is shared."""
    groups = [group for group in phases[0].then.groups if group not in timeline.not_shared]
    times = list(ownership_changes(timeline, phases)) if groups else []
    most = min(len(times), MOST_POINTS)
    sampled = [times[(at + 1) * len(times) // most - 1] for at in range(most)]
    fairness = combined_fairness_at_each(
        [[phase.then.allocation(group, owned) for group in groups] for _, phase, owned in sampled]
    )
    points = [
        [round(at), found["min"], found["max"], found["idle_members"], found["members"], _short(found["jain"])]
        for (at, _, _), found in zip(sampled, fairness, strict=True)
    ]
    return points, len(times) - len(sampled)


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _sent(timeline: Timeline) -> dict[str, object]:
    """Messages per piece of time, by type."""
    assert timeline.trace is not None
    most = sorted(timeline.messages, key=lambda name: (-timeline.messages[name], name))[:TOLD_TYPES]
    place = {name: at for at, name in enumerate(most)}
    counts = [[0] * BUCKETS for _ in range(len(most) + 1)]
    for message in timeline.trace.messages:
        bucket = min(BUCKETS - 1, int(message.at * BUCKETS / timeline.end)) if timeline.end else 0
        counts[place.get(type(message.message).__name__, len(most))][bucket] += 1
    others = sum(counts[-1])
    return {"types": [*most, "others"] if others else most, "counts": counts if others else counts[:-1]}


def _lag(result: RunResult) -> list[int] | None:
    """Records that wait, at the end of every piece of time."""
    production = productions(result)
    if not production or set(result.variant.scenario.groups) <= result.timeline.broadcasting:
        return None
    end = result.timeline.end
    times = [end * at / BUCKETS for at in range(1, BUCKETS + 1)]
    return list((dict.fromkeys(times, 0) | waiting_at(result, production, times)).values())
