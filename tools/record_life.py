"""docs/images/record-life.svg: what may become of a record that is given out one by one, in both systems side by side.

Two machines, drawn as `equipoise states` draws those of the model. Kafka's edges are those of spec share 4.1, 4.6 and
9, RocketMQ's those of spec pop 4 and 5 and of its gRPC proxy.
"""

import re

from compare.running.systems import Machine
from compare.showing.states import svg
from protocols.state_machine import BEGINNING, Edge

PICTURE = "docs/images/record-life.svg"

_AVAILABLE, _ACQUIRED = "available", "acquired, until its lock ends"
_KAFKA = Machine(
    "Kafka",
    "a record in a share group",
    (BEGINNING, _AVAILABLE, _ACQUIRED, "acknowledged", "archived", "in a dead letter topic (4.4)"),
    {},
    (
        Edge(BEGINNING, "written", "", _AVAILABLE),
        Edge(_AVAILABLE, "ShareFetch: delivery count + 1", "", _ACQUIRED),
        Edge(_ACQUIRED, "RENEW: the lock begins anew (4.2)", "", _ACQUIRED),
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

_SIZE = re.compile(r'<svg xmlns="[^"]*" width="([0-9.]+)" height="([0-9.]+)"')
_BETWEEN = 28.0
_HEAD = 30.0


def picture() -> str:
    """The text of the file; equal for equal tables."""
    parts, left, height = [], 0.0, 0.0
    for machine in (_KAFKA, _ROCKETMQ):
        drawn = svg(machine)
        found = _SIZE.match(drawn)
        assert found is not None
        width, tall = float(found[1]), float(found[2])
        parts.append(f'<text x="{left + 12:g}" y="20" font-weight="bold">{machine.title}</text>')
        parts.append(drawn.replace("<svg ", f'<svg x="{left:g}" y="{_HEAD:g}" ', 1))
        left, height = left + width + _BETWEEN, max(height, tall)
    size = f"{left - _BETWEEN:g}", f"{height + _HEAD:g}"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" viewBox="0 0 {" ".join(size)}" '
        'font-family="sans-serif" font-size="14">'
    )
    title = "<title>The life of a record in a Kafka share group and under RocketMQ's POP</title>"
    return "\n".join([head, title, '<rect width="100%" height="100%" fill="#ffffff"/>', *parts, "</svg>", ""])
