"""Commands for a shell. Names come from a cluster, where anybody may have chosen them: each is quoted."""

from shlex import quote
from urllib.parse import quote as percent

GROUPS = "kafka-consumer-groups.sh --bootstrap-server HOST"


def describe(group: str, view: str) -> str:
    """The view of a Kafka group: ``state``, or ``members --verbose``."""
    return f"{GROUPS} --describe --group {quote(group)} --{view}"


def of_group(command: str, group: str, *more: str) -> str:
    """A command of mqadmin about a RocketMQ group; ``more`` are options, of which the names are quoted already."""
    return " ".join((f"mqadmin {command} -n NAMESRV -g {quote(group)}", *more))


def connector(name: str, action: str) -> str:
    """A request to Connect's REST interface."""
    return f"PUT /connectors/{percent(name, safe='')}/{action}"
