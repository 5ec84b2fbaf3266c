"""Kafka: from one assignor to another, within a protocol or from one protocol to the other; and the commands of the
systems' tools that several routes print, with placeholders in capitals.
"""

from collections.abc import Sequence
from shlex import quote

from compare.catalogues import EAGER, SERVER, SERVER_NAMES, UNRELEASED
from compare.planning.expectations import Change
from compare.planning.promises import Promise, brokers_have, is_stable, speaks, uses
from compare.planning.subject import JAVA, Route, Settings, Step, Subject, WrongOrder, in_each, one_by_one
from compare.reading.client_libraries import ASSIGNORS, HEARTBEAT, LIBRARIES, PROTOCOL, REMOTE, SESSION
from protocols.errors import UserError
from protocols.scenario.fields import listed, listed_members

KAFKA = "--bootstrap-server HOST:9092"
BROKER_CONFIGS = f"kafka-configs.sh {KAFKA} --describe --all --entity-type brokers --entity-name ID"
POLICY, PROTOCOLS = "group.consumer.migration.policy", "group.coordinator.rebalance.protocols"


def describe(subject: Subject, view: str) -> str:
    """The view of the group that shows whether a step is complete."""
    return f"kafka-consumer-groups.sh {KAFKA} --describe --group {quote(subject.group)} {view}"


def progress(subject: Subject) -> str:
    """RocketMQ's view of every queue with its owner."""
    return f"mqadmin consumerProgress -n NAMESRV:9876 -g {quote(subject.group)} -s true"


def members(subject: Subject) -> str:
    """The members with their names, for sentences."""
    names = subject.names
    if len(names) == 1:
        return f"the only member ({names[0]})"
    return f"all {len(names)} members" + (f" ({listed_members(names)})" if names else "")


def stable(subject: Subject) -> str:
    """What must hold before the next member restarts."""
    count = "1 member" if len(subject.members) == 1 else f"{len(subject.members)} members"
    return (
        f"Before each next restart, and at the end, `{describe(subject, '--state')}` shows the state Stable and {count}"
    )


def rolling(
    subject: Subject,
    change: Settings,
    text: str = "",
    check: str = "",
    back: str = "",
    *,
    changes: Sequence[Change] = (),
    promises: Sequence[Promise] = (),
    unseen: str = "",
) -> Step:
    """Every member restarts with the change, one after another."""
    settings = in_each(subject.names, change)
    return Step(
        text, check, back, settings, one_by_one(subject.names), changes=changes, promises=promises, unseen=unseen
    )


def another_strategy(subject: Subject, new: str) -> Route:
    """The route from today's assignor to another one. Raises `UserError` where a member's library has no such way."""
    if subject.consumer_protocol:
        return _to_another_remote(subject, new) if new in SERVER else _to_classic(subject, new)
    if new in SERVER:
        return _to_consumer_protocol(subject, new)
    _bring_along(subject, new)
    if (subject.strategy in EAGER) != (new in EAGER) and (refusing := _refusing_both(subject)):
        return _all_at_once(subject, new, refusing)
    return _in_two_rolls(subject, new)


def _refusing_both(subject: Subject) -> list[str]:
    """Keys of the members' libraries that take no list of eager and cooperative assignors."""
    return [key for key in subject.spoken if not LIBRARIES[key].mixes]


def _bring_along(subject: Subject, new: str) -> None:
    """Raises `UserError` where a member's library has no such assignor."""
    for member, key in subject.libraries.items():
        library = LIBRARIES[key]
        if new in UNRELEASED and not library.own_assignor:
            raise UserError(
                f"--to {new}: {seems(subject, member)}, which takes no assignor of yours ({library.known_at}),"
                f" expected {new}:assign (lists for assign())"
            )
        if library.assignor(new) is None:
            has = ", ".join(library.assignors)
            raise UserError(
                f"--to {new}: {seems(subject, member)}, which has none of this name ({library.known_at}), expected "
                + (f"an assignor that it has: {has}" if has else "another library: the only assignor it has is its own")
            )


def _speak_consumer_protocol(subject: Subject, new: str) -> None:
    """Raises `UserError` where a member's library does not speak the consumer protocol."""
    lacking = [(name, key) for name, key in subject.libraries.items() if not LIBRARIES[key].consumer_protocol]
    if lacking:
        member, key = lacking[0]
        others = f" (and {len(lacking) - 1} more)" if len(lacking) > 1 else ""
        known = ", ".join(each for each in LIBRARIES[key].assignors if each != subject.strategy)
        raise UserError(
            f"--to {new}: {seems(subject, member)}{others}, which does not speak the consumer protocol"
            f" ({LIBRARIES[key].known_at}), expected another library there"
            + (f", or an assignor that it has: {known}" if known else "")
        )


def seems(subject: Subject, member: str) -> str:
    """Why a member is taken for one of its library: the client id hints at it, or the user said so."""
    name = LIBRARIES[subject.libraries[member]].name
    return f"{member} uses {name}" if subject.libraries_given else f"{member} has the default client id of {name}"


def _in_two_rolls(subject: Subject, new: str) -> Route:
    old = subject.strategy
    becomes_eager = old not in EAGER and new in EAGER
    both = rolling(
        subject,
        {ASSIGNORS: f"{new},{old}"},
        f"Let every member support both assignors: list {new} before {old} in {ASSIGNORS} and restart the members one"
        f" by one. The group uses {old} until the last one has restarted, because all must support an assignor."
        + (" From its restart on a member gives up all partitions in each rebalance." if becomes_eager else ""),
        f"{stable(subject)}; after the last restart ASSIGNMENT-STRATEGY is {new}, which shows that every member lists"
        " it.",
        f"Set {ASSIGNORS} to {old} alone and restart the members one by one.",
        changes=("eager",) if becomes_eager else (),
        promises=(uses(new), is_stable),
    )
    only = rolling(
        subject,
        {ASSIGNORS: new},
        f"Remove {old}: set {ASSIGNORS} to {new} alone and restart the members one by one."
        + (_BECOMES_COOPERATIVE if old in EAGER and new not in EAGER else ""),
        f"{stable(subject)}, ASSIGNMENT-STRATEGY is {new}. No view shows whether a member lists {old} still.",
        f"List both assignors again ({new}, {old}) and restart the members one by one: the state after step 1.",
        changes=("cooperative",) if old in EAGER and new not in EAGER else (),
        promises=(uses(new), is_stable),
        unseen=f"whether a member lists {old} still",
    )
    directly = WrongOrder(
        f"Only one roll, from {old} to {new} alone: the first restarted member supports no assignor that the others"
        " support, and the coordinator refuses it with INCONSISTENT_GROUP_PROTOCOL.",
        [rolling(subject, {ASSIGNORS: new})],
    )
    known = _java_default(subject, new)
    return Route([both, only], [directly] if len(subject.members) > 1 else [], [known] if known else [])


_BECOMES_COOPERATIVE = (
    " From its restart on a member rebalances cooperatively: it keeps reading the partitions that do not move."
)


def _java_default(subject: Subject, new: str) -> str:
    if (subject.strategy, new) != ("range", "cooperative-sticky") or JAVA not in subject.spoken:
        return ""
    return (
        f"Java's client from 3.0 on lists range, then cooperative-sticky by default: where {ASSIGNORS} was never set,"
        " every member supports both already, and step 1 only puts the new one first."
    )


def _all_at_once(subject: Subject, new: str, refusing: Sequence[str]) -> Route:
    """Libraries that refuse a list of eager and cooperative assignors."""
    old = subject.strategy
    names = listed(LIBRARIES[key].name.partition(" (")[0] for key in refusing)
    waits = f" Static members stay in the group until {SESSION} has passed." if subject.has_static else ""
    change = in_each(subject.names, {ASSIGNORS: new})
    at_once = Step(
        f"Stop {members(subject)}, and start again with {new} as the only assignor: {names}"
        f" {'refuses' if len(refusing) == 1 else 'refuse'} a list of {old} and {new}, and members with different ones"
        " of the two cannot be in one group.",
        f"Before the first start `{describe(subject, '--state')}` shows Empty; afterwards Stable, {new}.{waits}",
        f"Stop {members(subject)}, and start again with {old} as the only assignor.",
        change,
        [subject.names],
        changes=("cooperative",) if new not in EAGER else ("eager",),
        promises=(uses(new), is_stable),
    )
    one = WrongOrder(
        f"One member after another: the first one with {new} is refused with INCONSISTENT_GROUP_PROTOCOL as long as"
        f" members with {old} are in the group.",
        [Step("", "", "", change, one_by_one(subject.names))],
    )
    return Route([at_once], [one] if len(subject.members) > 1 else [])


def _convert(policy: str, promise: str) -> Step:
    """The brokers' settings, which are shown by a look at each broker alone."""
    promises = [
        brokers_have(
            POLICY,
            lambda value: value.lower() in ("bidirectional", policy),
            f"bidirectional or {policy}",
            BROKER_CONFIGS,
        )
    ]
    if promise:
        promises.append(
            brokers_have(
                PROTOCOLS,
                lambda value: not value or "consumer" in value.split(","),
                "consumer among them",
                BROKER_CONFIGS,
            )
        )
    return Step(
        f"Let the brokers{' (Kafka 4.0 or later)' if promise else ''} convert the group while it runs: {POLICY} must be"
        f" bidirectional (the default) or {policy}{promise}. Nothing restarts if that is so.",
        f"`{BROKER_CONFIGS}` shows {POLICY}{' and ' + PROTOCOLS if promise else ''} for every broker.",
        "Nothing to undo.",
        commands=(BROKER_CONFIGS,),
        promises=promises,
    )


def _to_consumer_protocol(subject: Subject, new: str) -> Route:
    _speak_consumer_protocol(subject, new)
    name = SERVER_NAMES[new]
    roll = rolling(
        subject,
        {PROTOCOL: "consumer", REMOTE: name, **dict.fromkeys((ASSIGNORS, SESSION, HEARTBEAT), None)},
        f"Move the members to the consumer protocol: set {PROTOCOL}=consumer and {REMOTE}={name}, remove {ASSIGNORS},"
        f" {SESSION} and {HEARTBEAT} (clients refuse to start with them), and restart the members one by one. The first"
        " restarted member converts the group, and from then on the broker assigns for all members.",
        f"Before each next restart `{describe(subject, '--members --verbose')}` shows the same CURRENT-EPOCH and"
        f" TARGET-EPOCH for every member with epochs; after the last restart UPGRADED is not shown any more, and"
        f" `{describe(subject, '--state')}` shows Stable, {name}.",
        f"Set {PROTOCOL}=classic and {ASSIGNORS} to {subject.strategy} again, remove {REMOTE}, and restart the members"
        " one by one: when the last member of the consumer protocol has left, the coordinator converts the group back.",
        changes=("consumer", "consumer static") if subject.has_static else ("consumer",),
        promises=(speaks(True), uses(new), is_stable),
    )
    refused = WrongOrder(
        f"The brokers have {POLICY}=disabled (or downgrade): the first restarted member is refused with"
        " GROUP_ID_NOT_FOUND and stops with an error.",
        [roll],
        broker={POLICY: "disabled"},
    )
    needs = listed(sorted(LIBRARIES[key].consumer_protocol for key in subject.spoken))
    versions = f"The consumer protocol needs {needs}; no source shows which version a member has."
    convert = _convert("upgrade", f", and {PROTOCOLS}, if it is set, must contain consumer")
    return Route([convert, roll], [refused], [versions, _TIMEOUTS])


_TIMEOUTS = (
    "In the consumer protocol timeouts belong to the brokers: group.consumer.session.timeout.ms and"
    " group.consumer.heartbeat.interval.ms, or the group's own consumer.session.timeout.ms and"
    " consumer.heartbeat.interval.ms."
)


def _to_classic(subject: Subject, new: str) -> Route:
    _bring_along(subject, new)
    roll = rolling(
        subject,
        {PROTOCOL: "classic", REMOTE: None, ASSIGNORS: new},
        f"Move the members to the classic protocol: set {PROTOCOL}=classic and {ASSIGNORS} to {new}, remove {REMOTE},"
        " and restart the members one by one. The broker assigns until the last member has restarted; then the group"
        f" becomes a classic one, and its leader assigns with {new}.",
        f"Before each next restart `{describe(subject, '--members --verbose')}` shows the same CURRENT-EPOCH and"
        f" TARGET-EPOCH for every member with epochs; after the last restart `{describe(subject, '--state')}` shows"
        f" Stable, {new}.",
        f"Set {PROTOCOL}=consumer and {REMOTE}={SERVER_NAMES[subject.strategy]} again, remove {ASSIGNORS}, and restart"
        " the members one by one.",
        changes=("classic", "eager" if new in EAGER else "cooperative"),
        promises=(speaks(False), uses(new), is_stable),
    )
    return Route([_convert("downgrade", ""), roll])


def _to_another_remote(subject: Subject, new: str) -> Route:
    roll = rolling(
        subject,
        {REMOTE: SERVER_NAMES[new]},
        f"Set {REMOTE}={SERVER_NAMES[new]} and restart the members one by one: the broker uses the assignor that most"
        " members ask for, so it changes when more than half of them have restarted.",
        f"After the last restart `{describe(subject, '--state')}` shows Stable, {SERVER_NAMES[new]}.",
        f"Set {REMOTE}={SERVER_NAMES[subject.strategy]} and restart the members one by one.",
        promises=(speaks(True), uses(new), is_stable),
        unseen=f"whether every member asks for {SERVER_NAMES[new]}",
    )
    return Route([roll])
