"""Why a group goes on rebalancing: limits of time that its members exceed again and again."""

from collections.abc import Iterator

from compare.measure.runs.harm.reasons import Reason
from protocols.engine.nodes import Time
from protocols.facts import TimedOut
from protocols.timeline import Timeline
from protocols.timeline.properties import FEWEST_CHANGES

TIME_LIMIT, SESSION, REBALANCES = "time limit", "session timed out", "rebalances"
"""Kinds of reasons, see `compare.documents.comparison.ReasonRecord`."""


def why_unsettled(timeline: Timeline) -> Iterator[Reason]:
    """A reason for every rebalance after the last event: the limit that a client exceeded before, a session that ran
    out, or just what began it. Fewer than `FEWEST_CHANGES` are no reason: then something else keeps queues from having
    one owner."""
    last_event = max((each.at for each in timeline.causes.happenings if each.at <= timeline.end), default=0.0)
    limits = [(each.now, each.fact) for each in timeline.facts if type(each.fact) is TimedOut and each.now > last_event]
    for _, fact in limits:
        yield Reason(
            TIME_LIMIT,
            2.0,
            fact.then,
            f"{fact.why} than {fact.setting}",
            (fact.member,),
            fact.limit,
            alike=(fact.then, fact.setting),
        )
    exceeded = [(at, fact.group, fact.member) for at, fact in limits]
    later = [each for each in timeline.rebalances if each.began > last_event]
    for each in later if len(later) >= FEWEST_CHANGES else ():
        if _follows(exceeded, each.began, each.group, each.by):
            continue
        kind = SESSION if each.trigger.startswith("session of") else REBALANCES
        members = () if each.by is None else (each.by,)
        text = None if kind == SESSION else each.trigger
        yield Reason(kind, 1.0, None, text, members, alike=kind)


def _follows(exceeded: list[tuple[Time, str, str]], at: Time, group: str, by: str | None) -> bool:
    """Whether the member who brought the rebalance about had exceeded a limit before: it left, and joins again."""
    return any(when <= at and (group, by) == (of, member) for when, of, member in exceeded)
