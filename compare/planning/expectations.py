"""What a member's code must expect once a step is done: exceptions and callbacks that are new to it, by client library.

Each sentence names its source: a section of docs/spec/kafka.md, or the public documentation of the library. What the
installed packages say themselves was read in kafka-python 3.0.12 and confluent-kafka 2.16.1 (librdkafka 2.16.0).
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from compare.reading.client_libraries import LIBRARIES

Change = Literal["cooperative", "eager", "consumer", "consumer static", "classic", "static", "earliest", "stopped"]
"""``cooperative``, ``eager``: how members rebalance from now on, where it was the other way before; ``consumer``,
``classic``: the protocol, likewise (``consumer static``: of members that are static); ``static``: members become
static; ``earliest``: they begin at the first record; ``stopped``: RocketMQ's all stop together."""

_CHANGED_ALONE = (
    "the revocation callback receives only the partitions that move away and the assignment callback only those that"
    " are added: code that takes the argument for all of the member's partitions is wrong from now on"
)
_ALL = (
    "the revocation callback receives all of the member's partitions before each rebalance, and the assignment callback"
    " all that it gets, those that it keeps among them: what is done for a lost partition is done for each of them"
)
_CONFLUENT = "a rebalance callback that assigns by itself must call {} (INTRODUCTION.md of librdkafka)"

EXPECTED: Mapping[Change, Mapping[str, tuple[str, ...]]] = {
    "cooperative": {
        "java": (
            "commitSync() may throw RebalanceInProgressException, and commitAsync() give it to its callback: in the"
            " poll loop, because poll() returns records while the group rebalances, and in onPartitionsRevoked. Catch"
            " it, call poll(), and commit again; uncaught, it ends the consumer, which begins the next rebalance (spec"
            " kafka 4.4, 4.7; Javadoc of KafkaConsumer.commitSync)",
            f"{_CHANGED_ALONE}. onPartitionsRevoked is called when the new assignment is known, and not at all if"
            " nothing moves away; onPartitionsAssigned is called also with no partition (spec kafka 4.5)",
            "onPartitionsLost instead of onPartitionsRevoked where the consumer is closed during a rebalance or was"
            " removed from the group; its default calls onPartitionsRevoked, where commits fail then (spec kafka 4.5)",
        ),
        "librdkafka": (
            "commit() may fail with REBALANCE_IN_PROGRESS or ILLEGAL_GENERATION (a KafkaException in Python) while the"
            " group rebalances: catch it, poll, and commit again (spec kafka 2.3)",
            _CONFLUENT.format("incremental_assign() and incremental_unassign(): assign() fails with _STATE"),
            f"{_CHANGED_ALONE} (INTRODUCTION.md of librdkafka)",
            "on_lost (assignment_lost() in C) for partitions that the member has lost already: a commit of them fails",
        ),
        "kafka-python": (
            "commit() may raise RebalanceInProgressError or CommitFailedError while the group rebalances: catch it,"
            " poll, and commit again (kafka/coordinator/consumer.py of 3.0.12)",
            f"{_CHANGED_ALONE} (kafka/coordinator/consumer.py of 3.0.12)",
            "on_partitions_lost where the member was removed from the group; its default calls on_partitions_revoked"
            " (ConsumerRebalanceListener of 3.0.12)",
        ),
        "franz-go": (
            "a commit may return REBALANCE_IN_PROGRESS while the group rebalances (spec kafka 2.3)",
            f"{_CHANGED_ALONE}, of OnPartitionsRevoked and OnPartitionsAssigned (KIP-429)",
        ),
    },
    "eager": {
        "java": (f"{_ALL} (spec kafka 4.5)",),
        "librdkafka": (
            _CONFLUENT.format("assign() and unassign()"),
            f"{_ALL} (INTRODUCTION.md of librdkafka)",
        ),
        "kafka-python": (f"{_ALL} (kafka/coordinator/consumer.py of 3.0.12)",),
        "franz-go": (f"{_ALL} (KIP-429)",),
    },
    "consumer": {
        "java": (
            "the constructor throws ConfigException where partition.assignment.strategy, session.timeout.ms or"
            " heartbeat.interval.ms is still set (spec kafka 6.7)",
            "poll() throws GroupIdNotFoundException where the brokers do not convert the group,"
            " UnsupportedAssignorException where they have no such assignor, and UnsupportedVersionException where they"
            " do not know the protocol (spec kafka 6.7, 6.9)",
            f"{_CHANGED_ALONE}; several calls for one change, because each member takes over what others have given up"
            " by then (spec kafka 6.4, 6.7)",
            "no assignor runs in the client any more: onAssignment() and the user data of an assignor of one's own are"
            " gone (KIP-848)",
            "onPartitionsLost where the broker has fenced the member, or poll() came too late (spec kafka 6.7)",
        ),
        "librdkafka": (
            "the constructor fails with _INVALID_ARG where partition.assignment.strategy, session.timeout.ms or"
            " heartbeat.interval.ms is still set (tried with 2.16.0)",
            _CONFLUENT.format("incremental_assign() and incremental_unassign(): assign() fails with _STATE"),
            f"{_CHANGED_ALONE} (INTRODUCTION.md of librdkafka)",
        ),
    },
    "consumer static": {
        key: (
            "a static member that starts while its former process still holds its group.instance.id (after kill -9,"
            " until the session has ended) is refused: "
            f"{raised}; the classic protocol took it back at once (spec kafka 6.6)",
        )
        for key, raised in (
            ("java", "poll() throws UnreleasedInstanceIdException"),
            ("librdkafka", "a fatal error UNRELEASED_INSTANCE_ID"),
        )
    },
    "classic": {
        "java": ("the constructor throws ConfigException where group.remote.assignor is still set (spec kafka 6.7)",),
    },
    "static": {
        "java": (
            "FencedInstanceIdException from poll() and commitSync() where another process has the same"
            " group.instance.id; in the consumer protocol the second process gets UnreleasedInstanceIdException"
            " instead (spec kafka 2.8, 6.6)",
        ),
        "librdkafka": (
            "a fatal error FENCED_INSTANCE_ID where another process has the same group.instance.id; in the consumer"
            " protocol UNRELEASED_INSTANCE_ID in the second process (spec kafka 2.8, 6.6)",
        ),
        "kafka-python": (
            "FencedInstanceIdError where another process has the same group.instance.id"
            " (kafka/coordinator/consumer.py of 3.0.12)",
        ),
        "aiokafka": (
            "UnknownError where another process has the same group.instance.id: aiokafka 0.14.0 has no error of its own"
            " for FENCED_INSTANCE_ID (code 82)",
        ),
        "sarama": ("ErrFencedInstancedId from Consume() where another process has the same instance id",),
        "franz-go": ("FENCED_INSTANCE_ID from the poll where another process has the same instance id",),
    },
}

_OF_ALL: Mapping[Change, str] = {
    "static": "a member that stops no longer leaves the group: what it owned waits until it is back, or until its"
    " session has ended (spec kafka 2.8)",
    "earliest": "old records again: a partition whose committed offset is missing, has expired or is out of range is"
    " read from its first record",
    "stopped": "records again: those handled since offsets were last written to the broker (every 5 s) are delivered a"
    " second time where a client was not shut down properly",
}


def code_must_expect(changes: Iterable[Change], libraries: Iterable[str]) -> list[str]:
    """The sentences for members of these libraries (keys), each with its library's name; none where nothing is new."""
    found = []
    keys = list(libraries)
    for change in changes:
        for key in keys:
            name = LIBRARIES[key].name.partition(" (")[0]
            found += [f"{name}: {sentence}." for sentence in EXPECTED.get(change, {}).get(key, ())]
        if change in _OF_ALL:
            found.append(f"{_OF_ALL[change][0].upper()}{_OF_ALL[change][1:]}.")
    return found
