"""Why a figure of a group is not there: nothing is null without a reason."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.auditing.group_figures import AuditedGroup
from compare.diagnosis.explain import MOST_DETAILED, Explained
from compare.figures import FIGURES
from compare.reading.observed import ObservedGroup

_UNDECIDED = ("PreparingRebalance", "CompletingRebalance")
"""Kafka's states in which the members have not agreed on a strategy yet."""

_LISTS = ("members", "queues", "unowned_queues", "double_owned_queues", "idle_members")
"""Figures that need a view, not a load."""


_NO_WEIGHT = "the weight of at least one queue is unknown"


@dataclass(frozen=True, slots=True)
class MissingFigures:
    """Figures that are null for one reason, by their names in the audit's document; ``why``: a sentence without stop,
    which is the same for every group of which it is true."""

    figures: tuple[str, ...]
    why: str


def missing_figures(explained: Explained) -> list[MissingFigures]:
    """Every figure of the group that is null, score and optimum among them, each with its reason."""
    reasons: dict[str, list[str]] = {}
    for figure, why in _reasons(explained):
        reasons.setdefault(why, []).append(figure)
    return [MissingFigures(tuple(figures), why) for why, figures in reasons.items()]


def missing_figures_of_topics(group: AuditedGroup) -> list[str]:
    """Why single topics lack a figure that the group as a whole has; sentences without stop."""
    reasons = {
        "lag": "the lag of some topics is unknown, because no queue of theirs has both a committed offset and a"
        " known end offset",
        "max_over_mean": "some topics carry no load, so their mean is 0 and the ratio is undefined",
    }
    return [
        why
        for name, why in reasons.items()
        if group.figures[name] is not None and any(figures[name] is None for figures in group.topics.values())
    ]


def _reasons(explained: Explained) -> Iterator[tuple[str, str]]:
    group, observed = explained.group, explained.group.observed
    if observed.strategy is None:
        yield "strategy", _no_strategy(observed, group.figures)
    if observed.state is None:
        yield "state", _no_state(observed)
    missing = [name for name in FIGURES if group.figures[name] is None]
    for name in missing:
        yield name, _no_figure(name, group, missing)
    if group.figures["lag"] is None:
        yield "lag", _no_lag(observed)
    if explained.score is None:
        yield "score", _no_score(group, missing)
    if explained.optimum is None:
        yield "optimum", _no_optimum(explained, missing)


def _no_optimum(explained: Explained, missing: Sequence[str]) -> str:
    if explained.score is None:
        return _no_score(explained.group, missing)
    if explained.weights is None:
        return _NO_WEIGHT
    return f"with weights, the optimum is computed only for the first {MOST_DETAILED} groups; --group NAME adds another"


def _no_strategy(observed: ObservedGroup, figures: Mapping[str, float | int | None]) -> str:
    if observed.system == "rocketmq":
        if len(observed.strategies) > 1:
            return "the members use several strategies"
        return "no source shows a member's strategy, which consumerStatus -i does"
    if figures["members"] == 0:
        return "a group without members has no strategy"
    if observed.state in _UNDECIDED:
        return f"a group in {observed.state} has not chosen its strategy yet"
    return "only the --state view shows the strategy"


def _no_state(observed: ObservedGroup) -> str:
    if observed.system == "rocketmq":
        return "no source shows whether members are connected, which consumerConnection does"
    return "only the --state view shows the state"


def _no_figure(name: str, group: AuditedGroup, missing: Sequence[str]) -> str:
    observed, figures = group.observed, group.figures
    if observed.mode == "broadcasting":
        return "every member of a broadcasting group reads every queue, so no queue is shared"
    if observed.mode == "pop":
        return "members that consume by POP take records from all queues, so no queue has an owner"
    if name == "queues" or (name == "unowned_queues" and observed.queues is None):
        return "no view lists all queues that the group reads" + _where(observed, "topics")
    if figures["members"] == 0:
        return "the group has no member, so nothing is shared"
    if observed.partial is not None and not (name == "max_over_mean" and "max" not in missing):
        return observed.partial.why
    if name == "max_over_mean" and figures["max"] == 0:
        return "the members carry no load, so the mean is 0 and the ratio is undefined"
    if name in _LISTS or observed.partial is not None:
        return "no source shows which member owns which queue"
    return _NO_WEIGHT


def _where(observed: ObservedGroup, what: str) -> str:
    tools = {
        ("kafka", "topics"): "the offsets view or kafka-topics --describe",
        ("rocketmq", "topics"): "consumerProgress or topicRoute",
        ("kafka", "lag"): "the offsets view",
        ("rocketmq", "lag"): "consumerProgress",
    }
    return f", as {tools[observed.system, what]} would"


def _no_lag(observed: ObservedGroup) -> str:
    if observed.mode == "broadcasting":
        return "members of a broadcasting group store their offsets locally"
    if observed.mode == "pop":
        return "consumerProgress does not show the progress of a group that consumes by POP"
    if observed.lag:
        return "no queue has both a committed offset and a known end offset, so the lag is unknown"
    return "no source shows committed offsets" + _where(observed, "lag").replace("would", "does")


def _no_score(group: AuditedGroup, missing: Iterable[str]) -> str:
    observed = group.observed
    if observed.mode != "shared" or group.figures["members"] == 0:
        return _no_figure("jain", group, list(missing))
    if observed.subscriptions_differ:
        return "the members subscribe to different topics, and the subscription of some is unknown"
    if observed.partial is not None:
        return observed.partial.why
    return "no source shows which member owns which queue"
