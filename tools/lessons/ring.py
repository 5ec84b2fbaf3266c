"""The ring of CONSISTENT_HASH: where members' virtual nodes and queues stand, and whose each queue is."""

from collections.abc import Sequence
from math import cos, pi, sin

from compare.showing.pictures.charts import FAINT, INK, Picture, box, colour, drawing, line, text
from protocols.java import Queue
from rocketmq_selfbalance.catalogue import md5_hash, queue_text, ring_of

_FULL = 1 << 32
_RADIUS, _MIDDLE = 190.0, 280.0


def hash_ring(members: Sequence[str], queues: Sequence[Queue], virtual_nodes: int = 10) -> Picture:
    """Member ids on the ring with ``virtual_nodes`` points each, as squares in the member's colour; queues outside as
    lines, in the colour of the next member clockwise, which gets them."""
    ring = ring_of(tuple(sorted(members)), virtual_nodes, md5_hash)
    names = sorted(members)
    parts = [f'<circle cx="{_MIDDLE:g}" cy="{_MIDDLE + 20:g}" r="{_RADIUS:g}" fill="none" stroke="{FAINT}"/>']
    for point, member in zip(ring.points, ring.members, strict=True):
        x, y = _at(point, _RADIUS)
        parts.append(box(x - 5, y - 5, 10, 10, colour(names.index(member)), hint=f"{member}: {point}"))
    words = []
    beside = -_FULL
    for point, queue in sorted((md5_hash(queue_text(queue)), queue) for queue in queues):
        owner = ring.member_after(point)
        fill = colour(names.index(owner))
        # A number would lie on the one before where two queues stand close: it goes further round.
        beside = max(point, beside + _FULL // 50)
        (x1, y1), (x2, y2), (x3, y3) = _at(point, _RADIUS + 8), _at(beside, _RADIUS + 28), _at(beside, _RADIUS + 40)
        parts.append(line(x1, y1, x2, y2, fill))
        parts.append(text(x3, y3 + 4, str(queue.number), anchor="middle", fill=INK))
        words.append(f"queue {queue.number} at {point}: {owner}")
    for at, name in enumerate(names):
        count = sum(ring.member_after(md5_hash(queue_text(queue))) == name for queue in queues)
        y = _MIDDLE - 10 * len(names) + 20 + at * 22
        parts.append(box(_MIDDLE - 70, y - 10, 12, 12, colour(at)))
        parts.append(text(_MIDDLE - 52, y, f"{name}: {count} of {len(queues)} queues"))
    title = f"The hash ring: {len(names)} members with {virtual_nodes} virtual nodes each, {len(queues)} queues"
    return drawing(parts, 2 * _MIDDLE, 2 * _MIDDLE + 30, title, "\n".join(words))


def _at(point: int, radius: float) -> tuple[float, float]:
    """Where a point of the ring stands: 0 at the top, clockwise."""
    angle = 2 * pi * point / _FULL - pi / 2
    return _MIDDLE + radius * cos(angle), _MIDDLE + 20 + radius * sin(angle)
