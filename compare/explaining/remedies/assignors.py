"""Kafka: another assignor, or the same one from a clean start, said in the settings of those who run the group."""

import re

from compare.auditing.what_if import under
from compare.catalogues import EAGER, KEEPING, SERVER, SERVER_NAMES
from compare.documents.audit import Restart
from compare.explaining.finding import Case, clients, named
from compare.explaining.remedies.remedy import LIGHT, SERIOUS, Remedy, Risk, connector, describe
from compare.reading.client_libraries import ASSIGNORS, LIBRARIES, Library, spelled
from compare.reading.group_kinds import libraries_of
from compare.reading.group_model import Modelled
from kafka_coordinator import assign
from protocols import Allocation

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
    library, condition = _library_of(case, today)
    commands = _settings(library, today, name, _prefix(case))
    risks = _risks(today, name, case)
    at_once = len(commands) == 1
    if at_once:
        risks.append(Risk("no member consumes between stop and start", LIGHT))
    text = f"{condition}{_way(library, today, name, commands, _where(case))}."
    if not condition.endswith(_HINTED) and condition:
        beside = [f"with {key}: {_beside(LIBRARIES[key], today, name)}" for key in ("librdkafka", "aiokafka")]
        text += f" W{'; '.join(beside)[1:]}. The steps by library: equipoise plan --to {name}."
    return Remedy(
        text[0].upper() + text[1:],
        commands,
        "all at once" if at_once else _restart(case),
        True,
        tuple(risks),
        gain,
        after,
    )


_HINTED = "as their client ids hint: "


def _library_of(case: Case, today: str) -> tuple[Library, str]:
    """The library that a remedy is for, and the condition that it must say: only a connector's is known."""
    if case.kind in ("connect", "mirrormaker"):
        return LIBRARIES["java"], ""
    hints = libraries_of(case.observed)
    # Who uses an assignor that a library lacks is not of that library, whatever its client id is.
    if len(hints) == 1 and hints[0] and today in LIBRARIES[hints[0]].assignors:
        library = LIBRARIES[hints[0]]
        return library, f"if all members use {library.name}, {_HINTED}"
    return LIBRARIES["java"], "if all members use Java's client, which no source shows: "


def _settings(library: Library, today: str, name: str, prefix: str = "") -> tuple[str, ...]:
    """The library's setting in each of two steps, or in the only one where it refuses both assignors in one list."""
    lists = [name] if not library.mixes and (name in EAGER) != (today in EAGER) else [f"{name},{today}", name]
    found = [spelled(library, {ASSIGNORS: each}) or {} for each in lists]
    return tuple(f"{prefix}{option}={value}" for settings in found for option, value in settings.items())


def _way(library: Library, today: str, name: str, commands: tuple[str, ...], where: str) -> str:
    if len(commands) == 1:
        return (
            f"stop all members, and start them with {commands[0]}: {library.name} refuses a list of {today} and {name},"
            " and members with different ones of the two cannot be in one group"
        )
    option, _, value = commands[1].partition("=")
    old = library.assignors[today].rpartition(".")[2]
    return (
        f"set {option} to {value} in {where}, in two steps: first list it before today's {old}; when every member has"
        f" both, remove {old}"
    )


def _beside(library: Library, today: str, name: str) -> str:
    """The same in another library, or that it has none of the two assignors."""
    lacking = next((each for each in (name, today) if each not in library.assignors), None)
    if lacking is not None:
        return f"{library.known_at} has no {lacking}" + (", so no member uses it" if lacking == today else "")
    commands = _settings(library, today, name)
    if len(commands) == 1:
        return f"stop all members, and start them with {commands[0]}, because it refuses both in one list"
    return f"the same two steps with {commands[0]}, then {commands[1]}"


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
        f" {named(clients(case.observed, classic))} still {speak} the classic protocol and {take} no"
        f" group.remote.assignor until {until}"
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
    if name not in EAGER and today in EAGER:
        risks.append(
            Risk(
                "commits that meet a rebalance may fail from then on (commitSync() throws RebalanceInProgressException"
                " in the poll loop and in onPartitionsRevoked), and a rebalance listener receives only the changed"
                " partitions: code that does not expect it ends",
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
