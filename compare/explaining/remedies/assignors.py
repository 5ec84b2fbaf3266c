"""Kafka: another assignor, or the same one from a clean start, said in the settings of those who run the group."""

import re

from compare.auditing.what_if import under
from compare.catalogues import CLASSIC_CLASSES, EAGER, KEEPING, SERVER, SERVER_NAMES
from compare.documents.audit import Restart
from compare.explaining.finding import Case, named
from compare.explaining.remedies.remedy import LIGHT, SERIOUS, Remedy, Risk, connector, describe
from compare.reading.group_kinds import libraries_of
from compare.reading.group_model import Modelled
from kafka_coordinator import assign
from protocols import Allocation

_PACKAGE = "org.apache.kafka.clients.consumer."
_TASK = re.compile(r"connector-consumer-(.+)-[0-9]+")


def fairer_assignors(case: Case, modelled: Modelled) -> list[Remedy]:
    """A remedy for each assignor of the group's own protocol that shares more evenly than today's does; where that is
    not told, how to find out."""
    today = case.observed.strategy
    if today is None:
        return [ask_for_state(case)]
    # Who keeps what members have today does not go back to what moves everything at each change.
    classic = ("cooperative-sticky",) if today in KEEPING else ("cooperative-sticky", "roundrobin")
    names = [name for name in ("uniform", *classic) if name in case.usable]
    found = []
    for name in names:
        after = under(modelled, name)
        if name != today and after is not None and case.points_back(after) > 0:
            found.append(to_assignor(case, name, after))
    return found


def ask_for_state(case: Case) -> Remedy:
    """The assignor is not told: the view that tells it."""
    return Remedy(
        "Add the output of kafka-consumer-groups.sh --describe --state, because no source shows the assignor, and"
        " the safe change depends on it.",
        (describe(case.observed.name, "state"),),
    )


def to_assignor(case: Case, name: str, after: Allocation | None = None) -> Remedy:
    """The change to an assignor of the group's protocol; ``after`` is the ownership expected then, if known."""
    gain = case.gain(after)
    if name in SERVER:
        setting = f"{_prefix(case)}group.remote.assignor={SERVER_NAMES[name]}"
        return Remedy(
            f"Set {setting} in {_where(case)}: the broker uses the assignor that most members"
            f" request.{_not_upgraded(case)}",
            (setting,),
            _restart(case),
            True,
            (Risk("each partition that moves has no reader for up to a heartbeat interval", LIGHT),),
            gain,
            after,
        )
    today = case.observed.strategy or ""
    libraries = libraries_of(case.observed)
    if libraries == ("librdkafka",):
        return _in_librdkafka(case, today, name, after)
    if libraries and "librdkafka" not in libraries:
        return _in_another_library(case, today, name, after)
    old, new = CLASSIC_CLASSES[today], CLASSIC_CLASSES[name]
    key = f"{_prefix(case)}partition.assignment.strategy"
    return Remedy(
        f"Set {key} to {_PACKAGE}{new} in {_where(case)}, in two steps: first list it before today's {old}; when"
        f" every member has both, remove {old}.",
        (f"{key}={_PACKAGE}{new},{_PACKAGE}{old}", f"{key}={_PACKAGE}{new}"),
        _restart(case),
        True,
        tuple(_risks(today, name, case)),
        gain,
        after,
    )


def _in_librdkafka(case: Case, today: str, name: str, after: Allocation | None) -> Remedy:
    """librdkafka has names instead of classes, and starts with no list that holds eager and cooperative ones."""
    key = f"{_prefix(case)}partition.assignment.strategy"
    steps: tuple[str, ...]
    restart: Restart
    if (name in EAGER) == (today in EAGER):
        text = (
            f"Set {key}={name} in {_where(case)}, in two steps: first list it before today's {today}; when every"
            f" member has both, remove {today}."
        )
        steps, restart = (f"{key}={name},{today}", f"{key}={name}"), _restart(case)
        risks = _risks(today, name, case)
    else:
        text = (
            f"Stop all members, and start them with {key}={name}: librdkafka refuses a list of {today} and {name},"
            " and members with different ones of the two cannot be in one group."
        )
        steps, restart = (f"{key}={name}",), "all at once"
        risks = [
            *_risks(today, name, case),
            Risk("no member consumes between stop and start", LIGHT),
            Risk(
                "a rebalance callback of the application must call incremental_assign() if the assignor is"
                " cooperative, and assign() if it is eager",
                SERIOUS,
            ),
        ]
    return Remedy(text, steps, restart, True, tuple(risks), case.gain(after), after)


def _in_another_library(case: Case, today: str, name: str, after: Allocation | None) -> Remedy:
    """Each library has a setting of its own for the assignor; none takes the names of Java's classes."""
    return Remedy(
        f"Set the assignor {name} in {_where(case)} with the corresponding setting of its client library"
        f" ({' or '.join(libraries_of(case.observed))}), in two steps: first list it before today's {today}; when"
        f" every member has both, remove {today}.",
        (),
        _restart(case),
        True,
        tuple(_risks(today, name, case)),
        case.gain(after),
        after,
    )


def fresh_start(case: Case, modelled: Modelled, strategy: str) -> Remedy | None:
    """All members leave, so that a strategy that keeps what they have deals afresh; None where that gains nothing."""
    after = assign(strategy, modelled.group)
    if not case.usable or case.points_back(after) <= 0:
        return None
    risks = [Risk("no member consumes between stop and start", LIGHT)]
    if any(member.instance_id is not None for member in modelled.group.members):
        risks.append(Risk(f"static members keep their partitions until {session_timeout(case)} has passed", LIGHT))
    if case.kind == "connect":
        name = connector_of(case)
        how = (
            f"Stop the connector ({connector(name, 'stop')}, from Kafka 3.5 on), and resume it once the group is Empty"
        )
    else:
        how = "Stop all members, and start them once the group is Empty"
    return Remedy(
        f"{how}: {strategy} then computes a new allocation instead of keeping the current one.",
        (describe(case.observed.name, "state"),),
        "all at once",
        True,
        tuple(risks),
        case.gain(after),
        after,
    )


def _not_upgraded(case: Case) -> str:
    """Which members cannot be given a server's assignor; they are shared out by it all the same."""
    classic = case.observed.classic_members
    if not classic:
        return ""
    speak, take = ("speaks", "takes") if len(classic) == 1 else ("speak", "take")
    until = "it is" if len(classic) == 1 else "they are"
    return (
        f" {named(classic)} still {speak} the classic protocol and {take} no group.remote.assignor until {until}"
        " upgraded to group.protocol=consumer; leave out the setting there."
    )


def session_timeout(case: Case) -> str:
    """The setting after which a silent member is taken for gone; a client of the consumer protocol refuses its own."""
    if not case.observed.consumer_protocol:
        return "session.timeout.ms"
    return "the broker's group.consumer.session.timeout.ms (or the group's own consumer.session.timeout.ms)"


def connector_of(case: Case) -> str:
    """The connector's name, as its tasks' client ids tell it, else the group's."""
    for member in case.observed.members or case.observed.seen:
        told = _TASK.fullmatch(member.client_id or "")
        if told is not None:
            return told[1]
    return case.observed.name.removeprefix("connect-")


def _risks(today: str, name: str, case: Case) -> list[Risk]:
    risks = []
    if today == "range" and case.modelled is not None and len(case.modelled.group.topics) > 1:
        risks.append(
            Risk(
                "range gives each member the same partition numbers of all topics, and a consumer that joins topics"
                " by key relies on this",
                SERIOUS,
            )
        )
    if name in EAGER and today not in EAGER:
        risks.append(Risk("every rebalance stops all members for a moment, not only those that lose partitions", LIGHT))
    if name == "roundrobin":
        risks.append(Risk("many partitions move whenever a member comes or goes", LIGHT))
    if (name in EAGER) != (today in EAGER) and libraries_of(case.observed) != ("librdkafka",):
        listener = (
            "" if name in EAGER else "a rebalance listener receives only the changed partitions from then on, and "
        )
        risks.append(
            Risk(
                f"{listener}librdkafka clients refuse eager and cooperative assignors in one list, so all of their"
                " members must stop before the first one starts with the new assignor",
                LIGHT,
            )
        )
    return risks


def _prefix(case: Case) -> str:
    return "consumer.override." if case.kind == "connect" else ""


def _where(case: Case) -> str:
    if case.kind == "connect":
        return (
            "the connector's configuration (its workers must allow it: connector.client.config.override.policy=All, the"
            " default from Kafka 3.0 on)"
        )
    return "the file given as --consumer.config" if case.kind == "mirrormaker" else "every member"


def _restart(case: Case) -> Restart:
    # A changed configuration makes Connect start all tasks of the connector anew.
    return "all at once" if case.kind == "connect" else "rolling"
