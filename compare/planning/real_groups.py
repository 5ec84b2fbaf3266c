"""A real group as what a plan is made of: as the tools show it before the first step, or after one (`plan --check`)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from compare.catalogues import CLASSIC, SERVER, UNRELEASED
from compare.planning.by_load import GroupLoad, observed_load
from compare.planning.subject import STRATEGIES, Subject, counted, named, plannable
from compare.planning.target import Target
from compare.reading.client_libraries import LIBRARIES, RESET, hinted_library
from compare.reading.group_kinds import kind_of
from compare.reading.group_model import is_on_the_move, model_of
from compare.reading.observed import ObservedGroup, names_of
from protocols import Queue
from protocols.errors import UserError
from protocols.scenario.fields import listed_members

LATEST = "latest"
"""Where a Kafka consumer begins to read a partition without a committed offset, if it is not told (`RESET`)."""

ASSUMED_RATE = "10/s"
"""Records per second and queue where no source shows a rate."""

_PLANNED = ("plain", "consumer-protocol", "orderly")
"""Kinds of groups whose members choose how queues are shared by a setting of their own."""


def of_observed(observed: ObservedGroup, today: str | None) -> Subject:
    """A group that the tools show. Raises `UserError` where they do not show what a plan needs."""
    if observed.only_offsets:
        _check_kind(observed)  # its consumers may run: no tool ever shows who calls assign()
    if observed.members == ():
        raise UserError(f"group {observed.name} has no members just now, expected a group that runs")
    _check_kind(observed)
    modelled = model_of(observed)
    if modelled is None:
        raise UserError(f"group {observed.name}: the sources do not show its members and what each owns, expected both")
    strategy = today or modelled.strategy
    if strategy is None:
        raise UserError(f"group {observed.name}: no source shows its strategy, expected --from with its name")
    of = modelled.group
    names = names_of(
        [replace(each, id=member.id) for each, member in zip(observed.members or (), of.members, strict=True)]
    )
    # No tool shows where members begin to read; what a plan takes for granted must not lose records.
    settings = {"settings": {RESET: LATEST}} if observed.system == "kafka" else {}
    members = {
        name: {"subscribe": list(member.subscription), **settings}
        | ({"instance_id": member.instance_id} if member.instance_id else {})
        for name, member in zip(names, of.members, strict=True)
    }
    brokers = tuple(dict.fromkeys(queue.broker for queues in of.topics.values() for queue in queues if queue.broker))
    libraries = _of_members(observed, names)
    subject = Subject(
        observed.system,
        observed.name,
        plannable(observed.system, strategy),
        members,
        {topic: counted(observed.system, queues) for topic, queues in of.topics.items()},
        brokers or ("broker-a",),
        {"orderly": True} if observed.orderly else {},
        {"produce": ASSUMED_RATE},
        libraries=libraries,
        assumptions=(
            *([_MOVING] if is_on_the_move(observed) else []),
            *([_SUBSCRIPTIONS[modelled.basis]] if modelled.basis in _SUBSCRIPTIONS else []),
            *_hints(libraries),
            *_twins(observed),
            f"No source shows settings and load: clients and brokers have their defaults, and {ASSUMED_RATE} per queue"
            " are written and handled at once.",
        ),
    )
    return _with_rates(subject, observed)


_SUBSCRIPTIONS = {
    "assumed": "No source shows subscriptions: all members are taken to read all topics.",
    "owned": "No source shows subscriptions, which must differ: members are taken to read only the topics of their own"
    " queues.",
}


def _twins(observed: ObservedGroup) -> list[str]:
    """RocketMQ's client ids that several members have: under every strategy they get the same queues."""
    if observed.system != "rocketmq":
        return []
    counted = Counter(member.client_id or member.id for member in observed.members or ())
    return [
        f"{number} members have the client id {name}: they take the same queues, whatever the strategy. Give each an id"
        " of its own first, as `equipoise audit` says; check and cost are those of such members."
        for name, number in counted.items()
        if number > 1
    ]


_HINT = "A hint, no knowledge: "


def _hints(libraries: Mapping[str, str]) -> list[str]:
    """What the client ids are taken for: they are settings, which anybody may choose."""
    by_key: dict[str, list[str]] = {}
    for name, key in libraries.items():
        by_key.setdefault(key, []).append(name)
    return [
        f"{_HINT}{listed_members(names)} {'has' if len(names) == 1 else 'have'} the client id that"
        f" {LIBRARIES[key].name} takes by default, and the plan is for that library; --library names another."
        for key, names in sorted(by_key.items())
    ]


_MOVING = (
    "The group rebalances in this source, so its members and what they own may be others by now: plan again, or check"
    " them, when it is Stable."
)


def load_of_observed(subject: Subject, observed: ObservedGroup, capacity: float | None) -> GroupLoad:
    """What the tools show of the load of a group that is planned for (`of_observed`)."""
    modelled = model_of(observed)
    assert modelled is not None
    return observed_load(observed, modelled, subject.names, capacity)


def of_checked(observed: ObservedGroup, target: Target, today: str | None) -> Subject:
    """A group after a step, of which a source may show little: what the steps of the plan to the target are made of.
    Costs cannot be simulated of it."""
    if observed.members != ():  # while all are stopped nobody says what they are
        _check_kind(observed)
    members = observed.members or observed.seen
    names = names_of(members)
    strategy = today or observed.strategy
    if strategy is None or (target.strategy and strategy == target.strategy):
        # The group is there already: whichever it came from, the last steps are the same.
        known = SERVER if observed.consumer_protocol and not target.strategy else STRATEGIES[observed.system]
        strategy = next(each for each in known if each != target.strategy)
    topics: dict[str, list[Queue]] = {}
    for queue in observed.queues or ():
        topics.setdefault(queue.topic, []).append(queue)
    return Subject(
        observed.system,
        observed.name,
        plannable(observed.system, strategy),
        {name: {"settings": {RESET: LATEST}} for name in names},
        {
            **({target.topic: 0 if observed.system == "kafka" else {"BROKER": 0}} if target.topic else {}),
            **{topic: counted(observed.system, queues) for topic, queues in topics.items()},
        },
        libraries=_of_members(observed, names),
    )


def _check_kind(observed: ObservedGroup) -> None:
    kind = kind_of(observed)
    if kind == "unknown" and observed.strategy in UNRELEASED:
        return
    if kind == "unknown" and observed.strategy in SERVER:
        raise UserError(
            f"group {observed.name} shares by {observed.strategy}, as groups of the consumer protocol do, and no source"
            " shows that it is one, expected kafka-consumer-groups.sh --describe --members --verbose beside it"
        )
    if kind == "unknown" and observed.strategy:
        raise UserError(
            f"group {observed.name} shares by {observed.strategy}, an assignor that Kafka has not released and that is"
            f" not simulated, expected a group that uses one of {', '.join(CLASSIC)}"
        )
    if kind not in _PLANNED:
        raise UserError(
            f"group {observed.name} is of the kind {kind}, expected plain consumers whose settings say how they share"
        )


def chosen(groups: Sequence[ObservedGroup], group: str | None) -> ObservedGroup:
    """The group of this name, or the only one; `UserError` names those that there are."""
    name = named(group, [each.name for each in groups], "the source")
    return next(each for each in groups if each.name == name)


def with_library(subject: Subject, key: str) -> Subject:
    """The group if all members use this library, whatever their client ids hint at."""
    told = [f"The members' library is {LIBRARIES[key].name}, as --library says."]
    assumptions = [*told, *(each for each in subject.assumptions if not each.startswith(_HINT))]
    return replace(
        subject, libraries=dict.fromkeys(subject.names, key), libraries_given=True, assumptions=tuple(assumptions)
    )


def _of_members(observed: ObservedGroup, names: Sequence[str]) -> dict[str, str]:
    if observed.system != "kafka":
        return {}
    hints = [
        hinted_library(member.client_id or "", observed.name, member.instance_id)
        for member in observed.members or observed.seen
    ]
    return {
        name: hint
        for name, hint in zip(names, hints, strict=True)
        # All members of a classic group have its assignor: a library that lacks it would need one of somebody's own.
        if hint and (observed.strategy not in CLASSIC or observed.strategy in LIBRARIES[hint].assignors)
    }


def _with_rates(subject: Subject, observed: ObservedGroup) -> Subject:
    """With the rates that the tools show (RocketMQ's), where they show all."""
    topics = dict.fromkeys(subject.topics, 0.0)
    for queue, rate in observed.rates.items():
        if queue.topic in topics:
            topics[queue.topic] += rate
    if not topics or not all(topics.values()):
        return subject
    rates = {topic: round(total / subject.queue_count(topic), 3) for topic, total in topics.items()}
    said = "The rates are those that the tools show; clients and brokers have their default settings."
    return replace(subject, load={"rates": rates}, assumptions=(*subject.assumptions[:-1], said))
