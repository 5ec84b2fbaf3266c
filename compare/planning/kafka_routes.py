"""Kafka: from one assignor to another, within a protocol or from one protocol to the other; and the commands of the
systems' tools that several routes print, with placeholders in capitals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from shlex import quote

from compare.catalogues import CLASSIC_CLASSES, EAGER, SERVER, SERVER_NAMES
from compare.planning.subject import Route, Settings, Step, Subject, WrongOrder, in_each, one_by_one
from compare.reading.group_kinds import assignor_option_of, assignors_of, consumer_protocol_of
from protocols.errors import UserError
from protocols.scenario.fields import listed as in_words
from protocols.scenario.fields import listed_members

KAFKA = "--bootstrap-server HOST:9092"
BROKER_CONFIGS = f"kafka-configs.sh {KAFKA} --describe --all --entity-type brokers --entity-name ID"


def describe(subject: Subject, view: str) -> str:
    """The view of the group that shows whether a step is complete."""
    return f"kafka-consumer-groups.sh {KAFKA} --describe --group {quote(subject.group)} {view}"


def progress(subject: Subject) -> str:
    """RocketMQ's view of every queue with its owner."""
    return f"mqadmin consumerProgress -n NAMESRV:9876 -g {quote(subject.group)} -s true"


def members(subject: Subject) -> str:
    """How many members the group has, for sentences."""
    count = len(subject.members)
    return "the only member" if count == 1 else f"all {count} members"


PACKAGE = "org.apache.kafka.clients.consumer."
ASSIGNORS, PROTOCOL, REMOTE = "partition.assignment.strategy", "group.protocol", "group.remote.assignor"
SESSION, HEARTBEAT = "session.timeout.ms", "heartbeat.interval.ms"
LIBRDKAFKA = "librdkafka"
POLICY, PROTOCOLS = "group.consumer.migration.policy", "group.coordinator.rebalance.protocols"


def another_strategy(subject: Subject, new: str) -> Route:
    """The route from today's assignor to another one."""
    found = _route(subject, new)
    return replace(found, notes=[*found.notes, *_own_options(subject, found)])


def _route(subject: Subject, new: str) -> Route:
    if subject.consumer_protocol:
        return _to_another_remote(subject, new) if new in SERVER else _to_classic(subject, new)
    if new in SERVER:
        return _to_consumer_protocol(subject, new)
    _bring_along(subject, new)
    if LIBRDKAFKA in subject.libraries.values() and (subject.strategy in EAGER) != (new in EAGER):
        return _all_at_once(subject, new)
    return _in_two_rolls(subject, new)


def _bring_along(subject: Subject, new: str) -> None:
    """Raises `UserError` where a member's library has no such assignor."""
    for member, library in subject.libraries.items():
        known = assignors_of(library)
        if new not in known:
            raise UserError(
                f"--to {new}: {member} uses {library}, expected an assignor that it has: {', '.join(known)}"
            )


def _speak_consumer_protocol(subject: Subject, new: str) -> None:
    """Raises `UserError` where a member's library does not speak the consumer protocol."""
    lacking = [(member, library) for member, library in subject.libraries.items() if not consumer_protocol_of(library)]
    if lacking:
        member, library = lacking[0]
        others = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        known = ", ".join(assignor for assignor in assignors_of(library) if assignor != subject.strategy)
        raise UserError(
            f"--to {new}: the library of {member}{others}, {library}, does not speak the consumer protocol, expected"
            f" {'another library there, or ' if known else 'another library there'}"
            + (f"an assignor that it has: {known}" if known else "")
        )


def _who_speaks(subject: Subject) -> list[str]:
    """What must be known of the members' libraries before they speak the consumer protocol."""
    found = [consumer_protocol_of(library) for library in sorted(set(subject.libraries.values()))]
    if len(subject.libraries) + len(subject.untold) < len(subject.names):
        found.insert(0, "Java's client 4.0 or later")
    needs = f"The consumer protocol needs {in_words(found)}; no source shows which version a member has."
    notes = [needs] if found else []
    if subject.untold:
        notes.append(
            f"Nothing tells the client library of {listed_members(subject.untold)}: a plan takes it for Java's. It must"
            " speak the consumer protocol, which kafka-python, aiokafka, Sarama and KafkaJS do not."
        )
    return notes


def _own_options(subject: Subject, found: Route) -> list[str]:
    """How libraries call what the steps call as Java's client does."""
    if not any(ASSIGNORS in change for step in found.steps for change in step.settings.values()):
        return []
    libraries = sorted(set(subject.libraries.values()))
    named = [f"in {library} {option}" for library in libraries if (option := assignor_option_of(library))]
    return [f"What {ASSIGNORS} is in Java's client, is {', '.join(named)}."] if named else []


def listed(subject: Subject, *names: str) -> Mapping[str, Settings]:
    """Member to its setting with these assignors in order of preference: by Java's classes, or where another library
    is recognised, by their names."""
    classes = {ASSIGNORS: ",".join(PACKAGE + CLASSIC_CLASSES[name] for name in names)}
    return {
        member: {ASSIGNORS: ",".join(names)} if member in subject.libraries else classes for member in subject.names
    }


def rolling(
    subject: Subject, change: Settings, text: str, check: str, back: str, assignors: Sequence[str] = ()
) -> Step:
    """Every member restarts with the change, and with these assignors if there are any, one after another."""
    own = listed(subject, *assignors) if assignors else in_each(subject.names, {})
    settings = {member: {**change, **own[member]} for member in subject.names}
    return Step(text, check, back, settings, one_by_one(subject.names))


def stable(subject: Subject) -> str:
    """What must hold before the next member restarts."""
    return (
        f"Before each next restart, and at the end, `{describe(subject, '--state')}` shows the state Stable and"
        f" {members(subject)}"
    )


def _in_two_rolls(subject: Subject, new: str) -> Route:
    old = subject.strategy
    both = rolling(
        subject,
        {},
        f"Let every member support both assignors: put {new} before {old} in {ASSIGNORS} and restart the members one"
        f" by one. The group uses {old} until the last one has restarted, because all must support an assignor.",
        f"{stable(subject)}; after the last restart ASSIGNMENT-STRATEGY is {new}.",
        f"Set {ASSIGNORS} to {old} alone and restart the members one by one.",
        [new, old],
    )
    only = rolling(
        subject,
        {},
        f"Remove {old}: set {ASSIGNORS} to {new} alone and restart the members one by one."
        + (_BECOMES_COOPERATIVE if new not in EAGER else ""),
        f"{stable(subject)}, ASSIGNMENT-STRATEGY is {new}.",
        f"List both assignors again ({new}, {old}) and restart the members one by one: the state after step 1.",
        [new],
    )
    if old not in EAGER:
        both = rolling(
            subject,
            {},
            f"Let every member support both assignors: put {new} behind {old} in {ASSIGNORS} and restart the members"
            f" one by one. From its restart on a member gives up all partitions in each rebalance.",
            f"{stable(subject)}, ASSIGNMENT-STRATEGY is {old} still.",
            f"Set {ASSIGNORS} to {old} alone and restart the members one by one.",
            [old, new],
        )
    directly = WrongOrder(
        f"Only one roll, from {old} to {new} alone: the first restarted member supports no assignor that the others"
        " support, and the coordinator refuses it with INCONSISTENT_GROUP_PROTOCOL.",
        [rolling(subject, {}, "", "", "", [new])],
    )
    known = _java_default(old, new)
    return Route([both, only], [directly], [known] if known else [])


_BECOMES_COOPERATIVE = (
    " From then on rebalances are cooperative: members keep reading the partitions that do not move, and a rebalance"
    " listener receives only the partitions that changed."
)


def _java_default(old: str, new: str) -> str:
    if (old, new) != ("range", "cooperative-sticky"):
        return ""
    return (
        f"Java clients from 3.0 on have both assignors by default: where {ASSIGNORS} was never set, step 1 is done"
        " already."
    )


def _all_at_once(subject: Subject, new: str) -> Route:
    """librdkafka refuses a list that holds eager and cooperative assignors."""
    old = subject.strategy
    callbacks = "incremental_assign() and incremental_unassign()" if old in EAGER else "assign() and unassign()"
    change = listed(subject, new)
    at_once = Step(
        f"Stop {members(subject)}, and start them with {ASSIGNORS}={new}: librdkafka refuses a list of {old} and {new},"
        f" and members with different ones of the two cannot be in one group. A rebalance callback of the application"
        f" must call {callbacks} from then on.",
        f"Before the first start `{describe(subject, '--state')}` shows Empty; afterwards Stable, {new}.",
        f"Stop {members(subject)}, and start them with {ASSIGNORS}={old}.",
        change,
        [subject.names],
    )
    one = WrongOrder(
        f"One member after another: the first one with {new} is refused with INCONSISTENT_GROUP_PROTOCOL as long as"
        f" members with {old} are in the group.",
        [Step("", "", "", change, one_by_one(subject.names))],
    )
    return Route([at_once], [one])


def _to_consumer_protocol(subject: Subject, new: str) -> Route:
    _speak_consumer_protocol(subject, new)
    change = {PROTOCOL: "consumer", REMOTE: SERVER_NAMES[new], **dict.fromkeys((ASSIGNORS, SESSION, HEARTBEAT), None)}
    brokers = Step(
        f"Let the brokers (Kafka 4.0 or later) convert the group while it runs: {POLICY} must be bidirectional (the"
        f" default) or upgrade, and {PROTOCOLS}, if it is set, must contain consumer. Nothing restarts if both are so.",
        f"`{BROKER_CONFIGS}` shows {POLICY} and {PROTOCOLS} for every broker;"
        f" `{describe(subject, '--state')}` shows Stable.",
        "Nothing to undo.",
        commands=(BROKER_CONFIGS,),
    )
    roll = rolling(
        subject,
        change,
        f"Move the members to the consumer protocol: set {PROTOCOL}=consumer and {REMOTE}={SERVER_NAMES[new]}, remove"
        f" {ASSIGNORS}, {SESSION} and {HEARTBEAT} (clients refuse to start with them), and restart the members one by"
        " one. The first restarted member converts the group, and from then on the broker assigns for all members.",
        f"Before each next restart `{describe(subject, '--members --verbose')}` shows the same CURRENT-EPOCH and"
        f" TARGET-EPOCH for every member with epochs; after the last restart UPGRADED is not shown any more, and"
        f" `{describe(subject, '--state')}` shows Stable, {SERVER_NAMES[new]}.",
        f"Set {PROTOCOL}=classic and {ASSIGNORS} to {subject.strategy} again, remove {REMOTE}, and restart the members"
        " one by one: when the last member of the consumer protocol has left, the coordinator converts the group back.",
    )
    refused = WrongOrder(
        f"The brokers have {POLICY}=disabled (or downgrade): the first restarted member is refused with"
        " GROUP_ID_NOT_FOUND and stops with an error.",
        [roll],
        broker={POLICY: "disabled"},
    )
    return Route([brokers, roll], [refused], [*_who_speaks(subject), _TIMEOUTS])


_TIMEOUTS = (
    "In the consumer protocol timeouts belong to the brokers: group.consumer.session.timeout.ms and"
    " group.consumer.heartbeat.interval.ms, or the group's own consumer.session.timeout.ms and"
    " consumer.heartbeat.interval.ms."
)


def _to_classic(subject: Subject, new: str) -> Route:
    _bring_along(subject, new)
    brokers = Step(
        f"Let the brokers convert the group while it runs: {POLICY} must be bidirectional (the default) or downgrade.",
        f"`{BROKER_CONFIGS}` shows {POLICY}.",
        "Nothing to undo.",
        commands=(BROKER_CONFIGS,),
    )
    roll = rolling(
        subject,
        {PROTOCOL: "classic", REMOTE: None},
        f"Move the members to the classic protocol: set {PROTOCOL}=classic and {ASSIGNORS} to {new}, remove {REMOTE},"
        f" and restart the members one by one. The broker assigns until the last member has restarted; then the group"
        f" becomes a classic one, and its leader assigns with {new}.",
        f"Before each next restart `{describe(subject, '--members --verbose')}` shows the same CURRENT-EPOCH and"
        f" TARGET-EPOCH for every member with epochs; after the last restart `{describe(subject, '--state')}` shows"
        f" Stable, {new}.",
        f"Set {PROTOCOL}=consumer and {REMOTE}={SERVER_NAMES[subject.strategy]} again, remove {ASSIGNORS}, and restart"
        " the members one by one.",
        [new],
    )
    return Route([brokers, roll])


def _to_another_remote(subject: Subject, new: str) -> Route:
    if new == subject.strategy:
        raise UserError(f"{subject.group} uses {new} already, expected another assignor")
    roll = rolling(
        subject,
        {REMOTE: SERVER_NAMES[new]},
        f"Set {REMOTE}={SERVER_NAMES[new]} and restart the members one by one: the broker uses the assignor that most"
        " members ask for, so it changes when more than half of them have restarted.",
        f"After the last restart `{describe(subject, '--state')}` shows Stable, {SERVER_NAMES[new]}.",
        f"Set {REMOTE}={SERVER_NAMES[subject.strategy]} and restart the members one by one.",
    )
    return Route([roll])
