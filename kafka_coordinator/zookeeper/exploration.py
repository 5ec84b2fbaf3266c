"""What the explorer has to know of ZooKeeper and of the consumers before Kafka 0.9 (`protocols.engine.exploration`)."""

from collections.abc import Mapping
from typing import Final

from kafka_coordinator.zookeeper.connection import CONNECTING, SERVER
from kafka_coordinator.zookeeper.consumer import Consumer
from protocols.engine.exploration.rules import NodeRules


class _Requests:
    """See `protocols.engine.exploration.rules.Numbering`."""

    def outstanding(self, node: Consumer) -> Mapping[int, str]:
        connection = node.connection
        opening = (connection.opening,) if connection.state == CONNECTING else ()
        return dict.fromkeys((*opening, *connection.asked), SERVER)

    def restart(self, node: Consumer, number: int) -> None:
        connection = node.connection
        connection.correlation = number
        if connection.state != CONNECTING:
            connection.opening = 0

    def rename(self, node: Consumer, names: Mapping[int, int]) -> None:
        connection = node.connection
        connection.opening = names.get(connection.opening, connection.opening)
        connection.asked = {names.get(number, number): each for number, each in connection.asked.items()}


_RULES: Final = NodeRules(
    numberings={Consumer: _Requests()}, clients=(Consumer,), seen=lambda node: type(node).__name__
)


def rules(*, brokers_end: bool) -> NodeRules:
    """Brokers are no processes here: whether they end makes no difference to what runs."""
    return _RULES
