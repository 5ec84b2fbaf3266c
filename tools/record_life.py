"""docs/images/record-life-*.svg: what may become of a record that is handed out one by one, a picture for each system.

Two machines, drawn as `equipoise states` draws those of the model. Kafka's edges are those of spec share 4.1, 4.6 and
9, RocketMQ's those of spec pop 4 and 5 and of its gRPC proxy.
"""

from collections.abc import Iterator

from compare.running.systems import Machine
from compare.showing.states import svg
from protocols.state_machine import BEGINNING, Edge

_AVAILABLE, _ACQUIRED = "available", "acquired, until its lock ends"
_KAFKA = Machine(
    "Kafka",
    "a record in a share group",
    (BEGINNING, _AVAILABLE, _ACQUIRED, "acknowledged", "archived", "in a dead letter topic (4.4)"),
    {},
    (
        Edge(BEGINNING, "written", "", _AVAILABLE),
        Edge(_AVAILABLE, "ShareFetch: delivery count + 1", "", _ACQUIRED),
        Edge(_ACQUIRED, "RENEW: the lock starts again (4.2)", "", _ACQUIRED),
        Edge(_ACQUIRED, "lock timeout (30 s)", "", _AVAILABLE),
        Edge(_ACQUIRED, "RELEASE", "", _AVAILABLE),
        Edge(_ACQUIRED, "connection closed", "", _AVAILABLE),
        Edge(_ACQUIRED, "leader moved", "", _AVAILABLE),
        Edge(_ACQUIRED, "ACCEPT", "", "acknowledged"),
        Edge(_ACQUIRED, "REJECT", "", "archived"),
        Edge(_ACQUIRED, "given back at the 5th attempt", "", "archived"),
        Edge("archived", "copied, if the group has one", "", "in a dead letter topic (4.4)"),
    ),
)

_QUEUED, _INVISIBLE, _RETRY = "in its queue", "invisible, until its time is over", "copied to the retry topic"
_ROCKETMQ = Machine(
    "RocketMQ",
    "a message under POP",
    (BEGINNING, _QUEUED, _RETRY, _INVISIBLE, "acknowledged", "skipped", "among the dead letters"),
    {},
    (
        Edge(BEGINNING, "written", "", _QUEUED),
        Edge(_QUEUED, "pop: the offset moves on", "", _INVISIBLE),
        Edge(_QUEUED, "pop with another tag", "", "skipped"),
        Edge(_RETRY, "pop", "", _INVISIBLE),
        Edge(_INVISIBLE, "invisible time changed", "", _INVISIBLE),
        Edge(_INVISIBLE, "over for 2 to 5 s: attempt + 1", "", _RETRY),
        Edge(_INVISIBLE, "ack", "", "acknowledged"),
        Edge(_RETRY, "pop, attempts used up (5.x)", "", "among the dead letters"),
    ),
)


def pictures() -> Iterator[tuple[str, str]]:
    """Path and text of each file; equal for equal tables."""
    for machine in (_KAFKA, _ROCKETMQ):
        yield f"docs/images/record-life-{machine.system.lower()}.svg", f"{svg(machine)}\n"
