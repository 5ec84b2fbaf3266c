"""Why a figure of a group is not there: nothing is null without a reason."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.diagnosis.explain import MOST_DETAILED, Explained
from compare.measure.figures import FIGURES
from compare.measure.groups.group_figures import AuditedGroup
from compare.reading.observed import ObservedGroup

_UNDECIDED = ("PreparingRebalance", "CompletingRebalance")
"""Kafka's states in which the members have not agreed on a strategy yet."""

_LISTS = ("members", "queues", "unowned_queues", "double_owned_queues", "idle_members")
"""Figures that need a view, not a load."""


_NO_WEIGHT = "the weight of some queue is not told"


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
        "lag": "of some topics nothing is committed whose end is known, so no lag of theirs follows",
        "max_over_mean": "of some topics nobody carries anything, so there is no mean to compare with",
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
    return f"with weights it is made for the {MOST_DETAILED} groups that come first; --group NAME asks for another"


def _no_strategy(observed: ObservedGroup, figures: Mapping[str, float | int | None]) -> str:
    if observed.system == "rocketmq":
        if len(observed.strategies) > 1:
            return "the members use several strategies"
        return "no member was asked for its strategy, which consumerStatus -i tells"
    if figures["members"] == 0:
        return "a group without members has no strategy"
    if observed.state in _UNDECIDED:
        return f"a group in {observed.state} has not chosen its strategy yet"
    return "the strategy is told by --state only"


def _no_state(observed: ObservedGroup) -> str:
    if observed.system == "rocketmq":
        return "no source tells whether members are connected, which consumerConnection does"
    return "the state is told by --state only"


def _no_figure(name: str, group: AuditedGroup, missing: Sequence[str]) -> str:
    observed, figures = group.observed, group.figures
    if observed.mode == "broadcasting":
        return "every member of a broadcasting group reads every queue, so none is shared out"
    if observed.mode == "pop":
        return "members that consume by POP take records of all queues, so no queue has an owner"
    if name == "queues" or (name == "unowned_queues" and observed.queues is None):
        return "no view lists all queues that the group reads" + _where(observed, "topics")
    if figures["members"] == 0:
        return "the group has no member, so nothing is shared"
    if observed.partial is not None and not (name == "max_over_mean" and "max" not in missing):
        return observed.partial.why
    if name == "max_over_mean" and figures["max"] == 0:
        return "the members carry nothing, so there is no mean to compare with"
    if name in _LISTS or observed.partial is not None:
        return "the sources do not tell who owns what"
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
        return "members of a broadcasting group keep their offsets themselves"
    if observed.mode == "pop":
        return "consumerProgress does not tell how far a group has come that consumes by POP"
    if observed.lag:
        return "the group has committed nothing whose end is known, so no lag follows"
    return "no source tells what is committed" + _where(observed, "lag").replace("would", "does")


def _no_score(group: AuditedGroup, missing: Iterable[str]) -> str:
    observed = group.observed
    if observed.mode != "shared" or group.figures["members"] == 0:
        return _no_figure("jain", group, list(missing))
    if observed.subscriptions_differ:
        return "the members subscribe to different topics, and not of each one it is told to which"
    if observed.partial is not None:
        return observed.partial.why
    return "the sources do not tell who owns what"
