"""Kafka: another assignor, or the same one from a clean start, said in the settings of those who run the group."""

from compare.audit.finding import Case
from compare.audit.model import Modelled
from compare.audit.remedies.remedy import LIGHT, SERIOUS, Remedy, Restart, Risk
from compare.audit.what_if import under
from compare.catalogues import CLASSIC_CLASSES, EAGER, KEEPING, SERVER, SERVER_NAMES
from kafka_coordinator import assign
from protocols import Allocation

_PACKAGE = "org.apache.kafka.clients.consumer."


def fairer_assignors(case: Case, modelled: Modelled) -> list[Remedy]:
    """A remedy for each assignor of the group's own protocol that shares more evenly than today's does."""
    today = case.observed.strategy
    if not case.usable:
        return []
    if today is None:
        return [ask_for_state(case)]
    # Who keeps what members have today does not go back to what moves everything at each change.
    classic = ("cooperative-sticky",) if today in KEEPING else ("cooperative-sticky", "roundrobin")
    names = ("uniform",) if case.usable == SERVER else classic
    found = []
    for name in names:
        after = under(modelled, name)
        if name != today and after is not None and case.points_back(after) > 0:
            found.append(to_assignor(case, name, after))
    return found


def ask_for_state(case: Case) -> Remedy:
    """The assignor is not told: the view that tells it."""
    command = f"kafka-consumer-groups.sh --bootstrap-server HOST --describe --group {case.observed.name} --state"
    return Remedy(
        "Add the output of kafka-consumer-groups.sh --describe --state: the sources do not tell the assignor, and"
        " what is safe depends on it.",
        (command,),
    )


def to_assignor(case: Case, name: str, after: Allocation | None = None) -> Remedy:
    """The change to an assignor of the group's protocol; ``after`` is the ownership expected then, if known."""
    gain = case.gain(after)
    if name in SERVER:
        setting = f"{_prefix(case)}group.remote.assignor={SERVER_NAMES[name]}"
        return Remedy(
            f"Set {setting} in {_where(case)}: the broker uses the assignor that most members name.",
            (setting,),
            _restart(case),
            True,
            (Risk("the partitions that move are read by nobody for up to a heartbeat interval each", LIGHT),),
            gain,
            after,
        )
    today = case.observed.strategy or ""
    old, new = CLASSIC_CLASSES[today], CLASSIC_CLASSES[name]
    key = f"{_prefix(case)}partition.assignment.strategy"
    return Remedy(
        f"Set {key} to {_PACKAGE}{new} in {_where(case)}, in two steps: first listed in front of today's {old}, then,"
        " when every member has both, alone.",
        (f"{key}={_PACKAGE}{new},{_PACKAGE}{old}", f"{key}={_PACKAGE}{new}"),
        _restart(case),
        True,
        tuple(_risks(today, name, case)),
        gain,
        after,
    )


def fresh_start(case: Case, modelled: Modelled, strategy: str) -> Remedy | None:
    """All members leave, so that a strategy that keeps what they have deals afresh; None where that gains nothing."""
    after = assign(strategy, modelled.group)
    if not case.usable or case.points_back(after) <= 0:
        return None
    risks = [Risk("nobody consumes between stop and start", LIGHT)]
    if any(member.instance_id is not None for member in modelled.group.members):
        risks.append(Risk("static members keep their partitions until session.timeout.ms has passed", LIGHT))
    connector = case.observed.name.removeprefix("connect-")
    if case.kind == "connect":
        how = f"Stop the connector (PUT /connectors/{connector}/stop), and resume it once the group is Empty"
    else:
        how = "Stop all members, and start them once the group is Empty"
    return Remedy(
        f"{how}: {strategy} then deals afresh, instead of keeping what members have.",
        (f"kafka-consumer-groups.sh --bootstrap-server HOST --describe --group {case.observed.name} --state",),
        "all at once",
        True,
        tuple(risks),
        case.gain(after),
        after,
    )


def _risks(today: str, name: str, case: Case) -> list[Risk]:
    found = []
    if today == "range" and case.modelled is not None and len(case.modelled.group.topics) > 1:
        found.append(
            Risk(
                "range gives one member the same partition numbers of all topics, and a consumer that joins topics by"
                " key relies on that",
                SERIOUS,
            )
        )
    if name in EAGER and today not in EAGER:
        found.append(Risk("every rebalance stops all members for a moment, not only those that lose partitions", LIGHT))
    if name == "roundrobin":
        found.append(Risk("many partitions move whenever a member comes or goes", LIGHT))
    if (name in EAGER) != (today in EAGER):
        found.append(
            Risk(
                "librdkafka clients refuse eager and cooperative assignors in one list, so that there all members stop"
                " before the first one starts with the new assignor alone",
                LIGHT,
            )
        )
    return found


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
