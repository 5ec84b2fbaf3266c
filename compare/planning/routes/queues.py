"""More queues for a topic."""

from collections.abc import Mapping
from shlex import quote

from compare.planning.routes.commands import KAFKA, describe, progress
from compare.planning.routes.kafka import rolling, stable
from compare.planning.steps import Route, Step, WrongOrder
from compare.planning.subject import RESET, Subject, setting_of
from protocols.errors import UserError

MAX_AGE = "metadata.max.age.ms"

NOTICED_MS = 420_000.0
"""How long the simulation goes on after a topic has grown: clients of the classic protocol look every five minutes."""


def more_queues(subject: Subject, topic: str, total: int) -> Route:
    """The topic gets more queues. In Kafka first a setting that keeps the records in them from being skipped."""
    if topic not in subject.topics:
        raise UserError(f"--to queues:{topic}={total}: {subject.group} reads {', '.join(subject.topics)}, expected one")
    today = subject.queue_count(topic)
    if total <= today:
        raise UserError(f"--to queues:{topic}={total}: {topic} has {today} already, expected more")
    grow = _in_kafka(subject, topic, total) if subject.system == "kafka" else _in_rocketmq(subject, topic, total)
    notes = [
        f"New records of a key may go to another queue than earlier ones, because producers choose it by the number of"
        f" queues: consumers that need the order per key must have read {topic} to its end first."
    ]
    if subject.system != "kafka" or _reads_from_the_beginning(subject):
        return Route([grow], notes=notes)
    earliest = rolling(
        subject,
        {RESET: "earliest"},
        f"Set {RESET}=earliest and restart the members one by one: with latest (the default) records that are written"
        " to a new partition before the group notices it are never read.",
        f"{stable(subject)}.",
        f"Set {RESET}=latest and restart the members one by one, once {topic} has grown and is read.",
    )
    skipped = WrongOrder(f"The topic grows while {RESET} is latest: what is written to the new partitions before the"
        " group notices them is skipped.", [grow])  # fmt: skip
    return Route([earliest, grow], [skipped], notes)


def _reads_from_the_beginning(subject: Subject) -> bool:
    """Whether every member is known to read a new partition from its first record, as members of a scenario do if
    nothing is said."""
    return all(setting_of(fields, RESET) in (None, "earliest") for fields in subject.members.values())


def _in_kafka(subject: Subject, topic: str, total: int) -> Step:
    noticed = (
        "The brokers notice it at once, the members at their next heartbeat."
        if subject.consumer_protocol
        else f"The group notices it when the leader refreshes its metadata, within {MAX_AGE} (5 minutes by default)."
    )
    return Step(
        f"Give {topic} {total} partitions instead of {subject.queue_count(topic)}. {noticed}",
        f"`{describe(subject, '')}` shows an owner for all {total} partitions of {topic}.",
        "Kafka cannot take partitions away: to go back, create a new topic and move the records.",
        queues={topic: total},
        commands=(f"kafka-topics.sh {KAFKA} --alter --topic {quote(topic)} --partitions {total}",),
        watch=NOTICED_MS,
    )


def _in_rocketmq(subject: Subject, topic: str, total: int) -> Step:
    brokers = subject.topics[topic]
    assert isinstance(brokers, Mapping)
    if total % len(brokers):
        raise UserError(
            f"--to queues:{topic}={total}: {topic} is on {len(brokers)} brokers, expected a multiple of {len(brokers)}"
        )
    each = total // len(brokers)
    return Step(
        f"Give {topic} {each} queues on each of its {len(brokers)} brokers instead of {subject.queue_count(topic)} in"
        " total. updateTopic overwrites the permission and the order flag: repeat -p and -o with their current values."
        " Producers and consumers notice it at their next route query, within 30 s.",
        f"`{progress(subject)}` shows one client for every queue of {topic}.",
        "Lower -w first; lower -r only when the removed queues are read to their end, because records left there become"
        " unreachable.",
        queues={topic: total},
        commands=tuple(
            f"mqadmin updateTopic -n NAMESRV:9876 -b ADDRESS_OF_{broker} -t {quote(topic)} -r {each} -w {each}"
            for broker in brokers
        ),
        watch=150_000.0,
    )
