"""What the atlas says about an audited group."""

from compare.atlas.quotes import Quote, cost_sentences, of_system, quote, sentences, sizes
from compare.atlas.tables import Spread, allocations, events
from compare.diagnosis.explain import Explained
from compare.documents.audit import AtlasEventRecord, AtlasRecord, AtlasRunsRecord

_COSTS = ("event_longest_gap_s", "event_unowned_queue_s", "redelivered")


def quote_for(explained: Explained) -> Quote | None:
    """The quote, which names the fairest strategy that the group can be configured to use. None where there is none
    such, where the group has no details or no model, where loads are weighed, and where the atlas has nothing like
    it."""
    modelled = explained.modelled
    if modelled is None or not explained.detailed or explained.weight is not None:
        return None
    system = explained.group.observed.system
    reachable = [each.strategy for each in explained.what_if if each.system == system and each.reachable]
    return quote(modelled.group, system, modelled.strategy, allocations(), reachable) if reachable else None


def in_short(found: Quote) -> str:
    """The quote in a line."""
    shown = {each.variant: each for each in (found.of_own, found.best) if each is not None}
    counts = ", ".join(f"{each.fairest} under {of_system(each.variant)}" for each in shown.values())
    return f"The atlas has {found.groups} groups like this one ({sizes(found)}); as fair as can be are {counts}."


def record(found: Quote) -> AtlasRecord:
    """The quote as JSON."""
    runs = None if found.own is None else _runs(found.own)
    return {
        "groups": found.groups,
        "subscription": found.shape,
        "members": [found.least.members, found.most.members],
        "topics": [found.least.topics, found.most.topics],
        "queues_per_topic": [found.least.queues, found.most.queues],
        "best_idle_share": found.best_idle,
        "best_moved_share": dict(found.best_moved),
        "strategies": [
            {
                "strategy": of_system(each.variant),
                "fairest": each.fairest,
                "max_over_best": each.max_over_best,
                "max_over_best_worst": each.max_over_best_worst,
                "idle_share": each.idle,
                "unowned_share": each.unowned,
                "moved_share": dict(each.moved),
            }
            for each in found.strategies
        ],
        "runs": runs,
        "text": [*sentences(found), *([] if found.own is None else cost_sentences(found.own, events()))],
    }


def _runs(variant: str) -> AtlasRunsRecord | None:
    told = events()
    if variant not in told.variants:
        return None
    found: list[AtlasEventRecord] = []
    for event in told.events:
        gap, unowned, twice = (_three(told.costs[variant, event][name]) for name in _COSTS)
        found.append({"event": event, "longest_gap_s": gap, "unowned_queue_s": unowned, "redelivered": twice})
    return {
        "members": told.size.members,
        "topics": told.size.topics,
        "queues_per_topic": told.size.queues,
        "produce_per_s": told.produce,
        "runs": told.runs,
        "events": found,
    }


def _three(spread: Spread) -> list[float | None]:
    return [spread.low, spread.median, spread.high]
