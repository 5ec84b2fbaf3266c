"""A state machine as a picture (SVG), laid out so that no label is ever crossed by a line.

States stand in one column. Edges that lead down run on its right, edges that lead up on its left, each in a lane that
is as wide as its label; edges that do not overlap share a lane. A line leaves the column only at the height of a state,
a label stands only between two states: so they never meet. Events that lead back to their state are written in it.

A state machine as a Mermaid state diagram.

The state machines that the model runs from.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from compare.running.systems import Machine, machine
from compare.showing.pictures.charts import Picture
from protocols.state_machine import BEGINNING

_TEXT = 12
"""Height of letters, in pixels; so are all lengths here."""
_LETTER = 6.7
"""Width of an average letter."""
_LINE = 16
_PORT = 14
"""Distance between two lines that leave a state on the same side."""
_MARGIN = 12
_GAP = 14
"""Space above and below the labels between two states."""


@dataclass(slots=True)
class _Arrow:
    source: int
    target: int
    labels: list[str]
    lane: int = 0
    leaves: float = 0.0
    arrives: float = 0.0

    @property
    def down(self) -> bool:
        return self.target > self.source

    @property
    def span(self) -> tuple[int, int]:
        return min(self.source, self.target), max(self.source, self.target)

    @property
    def gap(self) -> int:
        """The gap that has the label: the one beside the source. Gap n is below state n."""
        return self.source if self.down else self.source - 1


@dataclass(slots=True)
class _Box:
    lines: list[str]
    top: float = 0.0
    height: float = 0.0
    ports: dict[bool, list[tuple[_Arrow, bool]]] = field(default_factory=dict)
    """On the right (True) and the left: arrows from top to bottom, with whether they leave here."""


def svg(machine: Machine) -> str:
    """The picture as text, without a line break at the end; the same text for the same machine."""
    place = {state: position for position, state in enumerate(machine.states)}
    between = machine.between()
    boxes = [_Box([machine.shown(state), *between.get((state, state), [])]) for state in machine.states]
    arrows = [
        _Arrow(place[before], place[after], labels) for (before, after), labels in between.items() if before != after
    ]
    lanes = {down: _lanes([each for each in arrows if each.down == down]) for down in (True, False)}
    _stand(boxes, arrows)
    width = max(_width(line) for box in boxes for line in box.lines) + 2 * _MARGIN
    left = _MARGIN + sum(lanes[False])
    right = left + width
    height = boxes[-1].top + boxes[-1].height + _MARGIN
    size = f"{_n(right + sum(lanes[True]) + _MARGIN)}", _n(height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" viewBox="0 0 {" ".join(size)}" '
        f'font-family="sans-serif" font-size="{_TEXT}">',
        f"<title>{escape(machine.title)}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for state, box in zip(machine.states, boxes, strict=True):
        parts += _drawn_box(box, left, width, state == BEGINNING)
    for arrow in arrows:
        before = sum(lanes[arrow.down][: arrow.lane]) + _MARGIN
        parts += _drawn_arrow(arrow, boxes, right, right + before, 1) if arrow.down else ()
        parts += () if arrow.down else _drawn_arrow(arrow, boxes, left, left - before, -1)
    return "\n".join([*parts, "</svg>"])


def _lanes(arrows: Sequence[_Arrow]) -> list[float]:
    """Give every arrow a lane, short ones inside; returns the widths of the lanes from the inside out."""
    lanes: list[list[_Arrow]] = []
    for arrow in sorted(arrows, key=lambda each: (each.span[1] - each.span[0], each.span)):
        low, high = arrow.span
        free = (
            number
            for number, lane in enumerate(lanes)
            if all(high <= other.span[0] or other.span[1] <= low for other in lane)
        )
        arrow.lane = next(free, len(lanes))
        if arrow.lane == len(lanes):
            lanes.append([])
        lanes[arrow.lane].append(arrow)
    return [max(_width(label) for arrow in lane for label in arrow.labels) + 2 * _MARGIN for lane in lanes]


def _stand(boxes: Sequence[_Box], arrows: Sequence[_Arrow]) -> None:
    """Heights of states and gaps, and of every line's ends."""
    top = float(_MARGIN)
    for number, box in enumerate(boxes):
        for down in (True, False):
            box.ports[down] = _ports(number, [each for each in arrows if each.down == down], down)
        most = max(map(len, box.ports.values()))
        box.top, box.height = top, max(len(box.lines) * _LINE + _MARGIN, (most + 1) * _PORT)
        for ports in box.ports.values():
            step = box.height / (len(ports) + 1)
            for position, (arrow, leaves) in enumerate(ports, 1):
                if leaves:
                    arrow.leaves = top + position * step
                else:
                    arrow.arrives = top + position * step
        labels = max((len(arrow.labels) for arrow in arrows if arrow.gap == number), default=0)
        top += box.height + labels * _LINE + 2 * _GAP


def _ports(number: int, arrows: Sequence[_Arrow], down: bool) -> list[tuple[_Arrow, bool]]:
    """The lines at one side of a state, from top to bottom, so that none of them crosses another here."""
    coming = sorted((arrow for arrow in arrows if arrow.target == number), key=lambda arrow: arrow.lane)
    going = sorted((arrow for arrow in arrows if arrow.source == number), key=lambda arrow: -arrow.lane)
    ports = [(each, False) for each in coming] + [(each, True) for each in going]
    return ports if down else ports[::-1]


def _drawn_box(box: _Box, left: float, width: float, beginning: bool) -> list[str]:
    style = 'fill="#f4f4f4" stroke="#999999" stroke-dasharray="4 3"' if beginning else 'fill="#e8f0fe" stroke="#3c66a8"'
    rect = f'<rect x="{_n(left)}" y="{_n(box.top)}" width="{_n(width)}" height="{_n(box.height)}" rx="8" {style}/>'
    first = box.top + (box.height - len(box.lines) * _LINE) / 2 + _TEXT
    texts = [
        f'<text x="{_n(left + width / 2)}" y="{_n(first + number * _LINE)}" text-anchor="middle" '
        + ('font-weight="bold"' if number == 0 else 'fill="#555555"')
        + f">{escape(line)}</text>"
        for number, line in enumerate(box.lines)
    ]
    return [rect, *texts]


def _drawn_arrow(arrow: _Arrow, boxes: Sequence[_Box], edge: float, lane: float, side: int) -> list[str]:
    line = f"M{_n(edge)} {_n(arrow.leaves)}H{_n(lane)}V{_n(arrow.arrives)}H{_n(edge + side * 6)}"
    tip = f"M{_n(edge)} {_n(arrow.arrives)}l{side * 8} -4v8z"
    above = boxes[arrow.gap]
    top = above.top + above.height + _GAP + _TEXT
    anchor = "start" if side > 0 else "end"
    labels = [
        f'<text x="{_n(lane + side * 5)}" y="{_n(top + number * _LINE)}" text-anchor="{anchor}">{escape(label)}</text>'
        for number, label in enumerate(arrow.labels)
    ]
    return [f'<path d="{line}" fill="none" stroke="#444444"/>', f'<path d="{tip}" fill="#444444"/>', *labels]


def _width(text: str) -> float:
    return len(text) * _LETTER


def _n(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


_NO_WORD = re.compile(r"\W+")


def mermaid(machine: Machine) -> str:
    """The diagram's text, without a line break at the end."""
    lines = ["stateDiagram-v2"]
    for state in machine.states:
        if state != BEGINNING:
            lines.append(f'    state "{machine.shown(state)}" as {_word(state)}')
    for (before, after), labels in machine.between().items():
        lines.append(f"    {_word(before)} --> {_word(after)}: {'<br/>'.join(labels)}")
    return "\n".join(lines)


def _word(state: str) -> str:
    """The name by which the diagram refers to the state."""
    return "[*]" if state == BEGINNING else _NO_WORD.sub("_", state)


def states(system: str, name: str | None = None) -> Picture:
    """``kafka`` or ``rocketmq``; ``name``: one of its machines, the main one where it is left out."""
    found = machine(system, name)
    words = [found.title] + [f"{edge.before} -> {edge.after}: {edge.label}" for edge in found.edges]
    return Picture(svg(found), "\n".join(words))
