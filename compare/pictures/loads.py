"""How much each member has: a bar per member, in pieces by topic; several allocations side by side."""

from collections.abc import Mapping

from compare.pictures.svg import FAINT, Picture, box, colour, drawing, legend, letters_on, line, text, width_of
from protocols import Allocation

_BAR = 34.0
_HIGH = 150.0


def loads(allocations: Mapping[str, Allocation], title: str = "queues per member") -> Picture:
    """``allocations``: a name for each, as it is to stand below its bars."""
    topics = sorted({queue.topic for each in allocations.values() for queues in each.values() for queue in queues})
    most = max((len(queues) for each in allocations.values() for queues in each.values()), default=0)
    step = _HIGH / max(1, most)
    blocks = {name: max(len(each) * _BAR, width_of(name)) + 30 for name, each in allocations.items()}
    wide = max(sum(blocks.values()) + 20, width_of(title) * 1.1 + 20, 420.0)
    parts, top = legend(topics, 10, 42, wide - 20)
    floor = top + _HIGH + 14
    left = 20.0
    for name, allocation in allocations.items():
        parts.append(line(left, floor, left + len(allocation) * _BAR, floor))
        for place, (member, queues) in enumerate(allocation.items()):
            x, y = left + place * _BAR, floor
            for at, topic in enumerate(topics):
                count = sum(queue.topic == topic for queue in queues)
                high = count * step
                y -= high
                if count:
                    hint = f"{member}: {count} {topic}"
                    parts.append(box(x + 3, y, _BAR - 6, high, colour(at), stroke=FAINT, hint=hint))
                if high > 14:
                    ink = letters_on(colour(at))
                    parts.append(text(x + _BAR / 2, y + high / 2 + 4, str(count), anchor="middle", fill=ink))
            parts.append(text(x + _BAR / 2, y - 4, str(len(queues)), anchor="middle", weight="bold"))
            parts.append(text(x + _BAR / 2, floor + 15, member, anchor="middle"))
        parts.append(text(left, floor + 34, name, weight="bold"))
        left += blocks[name]
    words = [title] + [
        f"{name}: " + ", ".join(f"{member} {len(queues)}" for member, queues in each.items())
        for name, each in allocations.items()
    ]
    return drawing(parts, wide, floor + 46, title, "\n".join(words))
