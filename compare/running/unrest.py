"""Why ownership does not come to rest: limits of time that members exceed again and again, sessions that run out, or
what keeps queues from having one owner.
"""

from collections.abc import Iterator, Mapping, Sequence

from compare.documents.comparison import After, ReasonRecord
from compare.running.doings import Doings
from compare.running.open_ends import event_before, never_owned, why_open
from compare.running.reason_kinds import NEW_QUEUES, OPEN, REBALANCES, RESTLESS, SESSION, TIME_LIMIT, UNOWNED
from compare.running.reasons import MOST_REASONS, Reason
from compare.running.work import ReadQueue
from protocols.engine.nodes import Time
from protocols.facts import TimedOut
from protocols.timeline import Timeline
from protocols.timeline.properties import FEWEST_CHANGES


def why_unsettled(timeline: Timeline, doings: Doings) -> Iterator[Reason]:
    """A reason for every rebalance after the last event: the limit that a client exceeded before, a session that ran
    out, or just what began it. Fewer than `FEWEST_CHANGES` are no reason: then something else keeps queues from having
    one owner."""
    last_event = max(
        (happening.at for happening in timeline.causes.happenings if happening.at <= timeline.end), default=0.0
    )
    event = event_before(timeline, timeline.end)
    limits = [(now, fact) for now, fact in timeline.told(TimedOut) if now > last_event]
    for _, fact in limits:
        yield Reason(
            TIME_LIMIT,
            2.0,
            event,
            f"{fact.why} than {fact.setting}",
            (fact.member,),
            fact.limit,
            alike=fact.then,
            settings=doings.of_limit(fact),
        )
    exceeded = [(at, fact.group, fact.member) for at, fact in limits]
    later = [rebalance for rebalance in timeline.rebalances if rebalance.began > last_event]
    for each in later if len(later) >= FEWEST_CHANGES else ():
        if _follows(exceeded, each.began, each.group, each.by):
            continue
        members = () if each.by is None else (each.by,)
        if each.trigger.startswith("session of") and each.by is not None:
            text, settings, _ = doings.why_session(each.group, each.by, each.began)
            yield Reason(SESSION, 1.0, event, text, members, settings=settings)
        else:
            yield Reason(REBALANCES, 1.0, event, each.trigger, members)


def _follows(exceeded: list[tuple[Time, str, str]], at: Time, group: str, by: str | None) -> bool:
    """Whether the member who brought the rebalance about had exceeded a limit before: it left, and joins again."""
    return any(when <= at and (group, by) == (of, member) for when, of, member in exceeded)


def lasting(because: Mapping[str, Sequence[ReasonRecord]], last: After) -> list[ReasonRecord]:
    """The reasons of queues that have no owner at the end, and of those that have several; none where it is known what
    keeps the members from taking them (`why_never`), as gaps before the end have other reasons."""
    fairness = last["fairness"]
    if fairness["unowned_queues"] and last["why_unowned"]:
        return []
    open_ends = {"unowned": fairness["unowned_queues"], "two_owners": fairness["double_owned_queues"]}
    there = [harm for harm, count in open_ends.items() if count] or ["two_owners"]
    return [reason for harm in there for reason in because.get(harm, ())[: MOST_REASONS // len(there)]]


def why_never(timeline: Timeline, last: After, shared: Sequence[ReadQueue]) -> Reason:
    """Why queues never had an owner, or ownership has changed too lately to have come to rest."""
    event = event_before(timeline, timeline.end)
    if last["fairness"]["unowned_queues"]:
        reasons = [why_open(timeline, gap) for gap in timeline.gaps if gap.until is None]
        if reasons and not last["why_unowned"] and all(reason.kind == OPEN for reason in reasons):
            return max(reasons, key=lambda reason: reason.lasted or 0.0)
        never = never_owned(timeline, shared)
        if never and not last["why_unowned"] and all(reason.kind == NEW_QUEUES for reason in never):
            return never[0]
        return Reason(UNOWNED, 1.0, event, "; and ".join(last["why_unowned"]) or None)
    return Reason(RESTLESS, 1.0, event)
