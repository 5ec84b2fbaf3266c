"""One sentence on top: what is wrong in how many groups, the most expensive first.

Why a figure of a group is not there: nothing is null without a reason.

Sentences that explain every `-` of a table, one per reason however many groups share it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from compare.auditing.group_figures import AuditedGroup, waiting
from compare.documents.audit import ToldInPart
from compare.explaining.diagnosis import MOST_DETAILED, Explained
from compare.figures import FIGURES
from compare.formatting import many, several
from compare.reading.group_model import is_on_the_move
from compare.reading.observed import ObservedGroup

ONE = "1 group"


def headline(groups: Sequence[AuditedGroup]) -> str:
    """What a reader should know first, in a few sentences."""
    if not groups:
        return "No group found."
    total = f"{len(groups)} groups" if len(groups) > 1 else ONE
    peopled = [group for group in groups if _is_peopled(group)]
    found = [
        each
        for each in (
            _finding(peopled, total, "unowned_queues", "leave", "leaves", "queue", "unowned"),
            _finding(peopled, total, "double_owned_queues", "have", "has", "queue", "owned twice"),
            _finding(peopled, total, "idle_members", "keep", "keeps", "member", "idle"),
        )
        if each
    ]
    silent = [
        group
        for group in peopled
        if group.mode == "shared" and group.figure("idle_members") is None and not is_on_the_move(group.observed)
    ]
    in_part = sum(group.observed.partial is not None and bool(group.topics) for group in silent)
    untold = len(silent) - in_part
    sentences = [*_deserted(groups, total), *_without_members(groups, total)]
    if found:
        sentences.append("; ".join(found) + ".")
    elif any(group.figure("idle_members") is not None for group in peopled):
        sentences.append(f"No idle member, no queue without owner or with two in {total}.")
    sentences += _lag(groups, total)
    if untold:
        sentences.append(f"Ownership is unknown for {untold} of {total}.")
    if in_part:
        sentences.append(f"Ownership is known in part for {in_part} of {total}.")
    return " ".join(sentences)


def _is_peopled(group: AuditedGroup) -> bool:
    return group.figure("members") != 0 and not group.observed.seems_deserted


def _deserted(groups: Sequence[AuditedGroup], total: str) -> list[str]:
    told = [group for group in groups if group.figure("members") == 0 and not group.observed.only_offsets]
    seem = [group for group in groups if group.observed.seems_deserted]
    sentences = []
    for deserted, singular, plural in (
        (told, "has no member", "have no member"),
        (seem, "seems to have no member online", "seem to have no member online"),
    ):
        if not deserted:
            continue
        records = sum(waiting(group.observed, ())[0] for group in deserted)
        who = _who(len(deserted), total)
        has = plural if len(deserted) > 1 else singular
        wait = "" if not records else f", and {many(records, 'record')} {'wait' if records > 1 else 'waits'} there"
        sentences.append(f"{who} {has}{wait}.")
    return sentences


def _without_members(groups: Sequence[AuditedGroup], total: str) -> list[str]:
    count = sum(group.observed.only_offsets for group in groups)
    who = _who(count, total)
    store = "store" if count > 1 else "stores"
    return [f"{who} only {store} offsets for consumers that call assign()."] if count else []


def _lag(groups: Sequence[AuditedGroup], total: str) -> list[str]:
    deserted = [group for group in groups if not _is_peopled(group) and not group.observed.only_offsets]
    more = " more" if any(sum(waiting(group.observed, ())) for group in deserted) else ""
    others = [group for group in groups if _is_peopled(group) or group.observed.only_offsets]
    lags = [lag for group in others if (lag := sum(waiting(group.observed, ()))) > 0]
    if not lags:
        return []
    where = f"{len(lags)} of {total}" if total != ONE else "it"
    records = sum(lags)
    return [f"{records:,}{more} {'records wait' if records > 1 else 'record waits'} in {where}."]


def _finding(
    groups: Sequence[AuditedGroup], total: str, figure: str, plural: str, singular: str, what: str, state: str
) -> str:
    counts = [int(number) for group in groups if (number := group.figure(figure))]
    if not counts:
        return ""
    who = _who(len(counts), total)
    return f"{who} {plural if len(counts) > 1 else singular} {many(sum(counts), what)} {state}"


def _who(count: int, total: str) -> str:
    return f"{count} of {total}" if total != ONE else "The group"


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
        " known end offset, or the end of one is unknown",
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
    if observed.mode == "share":
        return "the broker's assignor permits members of a share group to take records, and no view names it"
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
    if observed.mode == "share" and name == "members":
        return "no line that can be read shows all members, as kafka-share-groups --describe --members does"
    if observed.mode == "share" and name != "queues":
        return "the members of a share group take records from the same partitions, so no partition has an owner"
    if observed.mode == "pop" and name != "members":
        return "members that consume by POP are given records one by one, so no queue has an owner"
    if name == "queues" or (name == "unowned_queues" and observed.queues is None):
        return "no line that can be read lists all queues that the group reads" + _where(observed, "topics")
    if figures["members"] == 0:
        return "the group has no member, so nothing is shared"
    if name in ("idle_members", "idle_share") and is_on_the_move(observed):
        return _MOVING
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
    if observed.mode == "share" and not any(lag is not None for lag in observed.lag.values()):
        return "no source shows the lag of the share group, which kafka-share-groups --describe does since 4.2"
    if observed.mode == "pop":
        return "no source shows an offset of the topics that members pop, which consumerProgress does"
    if observed.endless and any(lag is not None for lag in observed.lag.values()):
        return f"no broker tells where {many(len(observed.endless), 'queue')} of the group ends"
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
    if "max" not in missing and is_on_the_move(observed):
        return _MOVING
    return "no source shows which member owns which queue"


_MOVING = "the group rebalances, so a member without a queue may be about to get one"

MOST_NAMED = 3
"""Groups that a sentence names; the rest is counted."""

MOST_SENTENCES = 20


def missing_figure_sentences(groups: Iterable[ToldInPart], labels: Mapping[str, str]) -> list[str]:
    """What the table with the columns ``labels`` (figure to heading) does not tell of the groups, and why.

    ``groups``: those of the audit's document, of which ``group``, ``partial`` and ``untold`` are read. The reasons of
    the most groups come first; of more than `MOST_SENTENCES` the others are counted in the last one.
    """
    whose: dict[tuple[bool, str], list[str]] = {}
    figures: dict[tuple[bool, str], set[str]] = {}
    for group in groups:
        partial = group.get("partial")
        in_part = partial["why"] if partial else None
        told = [(each["why"], each["figures"]) for each in group.get("untold") or ()]
        if in_part is not None and all(why != in_part for why, _ in told):
            told.insert(0, (in_part, ()))
        for why, missing in told:
            shown = [figure for figure in missing if figure in labels]
            key = (why == in_part, why)
            if shown or key[0]:
                whose.setdefault(key, []).append(str(group.get("group", "")))
                figures.setdefault(key, set()).update(shown)
    ranked = sorted(whose, key=lambda key: -len(whose[key]))
    found = [
        _sentence(key, whose[key], [label for figure, label in labels.items() if figure in figures[key]])
        for key in ranked[:MOST_SENTENCES]
    ]
    rest = ranked[MOST_SENTENCES:]
    if rest:
        names = {name for key in rest for name in whose[key]}
        found.append(
            f"--format json lists {len(rest)} more reasons for missing figures of {several(len(names), 'group')}."
        )
    return found


def _sentence(key: tuple[bool, str], names: Sequence[str], columns: Sequence[str]) -> str:
    in_part, why = key
    more = len(names) - MOST_NAMED
    who = ", ".join(names[:MOST_NAMED]) + (f" and {several(more, 'more group')}" if more > 0 else "")
    if not in_part:
        return f"- under {', '.join(columns)} for {who}: {why}."
    dashes = f" (- under {', '.join(columns)})" if columns else ""
    return f"{who} {'is' if len(names) == 1 else 'are'} known only in part{dashes}: {why}."
