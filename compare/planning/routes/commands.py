"""Commands of the systems' tools that several routes print; capitals are placeholders."""

from shlex import quote

from compare.planning.subject import Subject

KAFKA = "--bootstrap-server HOST:9092"


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
