"""The parts of a cheat sheet: columns into which headings, sentences, tables, sequences and bars are put."""

from collections.abc import Mapping, Sequence

from compare.pictures.sheet import HIGH, WIDE, Box, Line, Sheet, Text, width_of, wrapped
from compare.pictures.svg import ALARM, FAINT, colour, letters_on
from protocols import Queue
from protocols.timeline.intervals import Interval
from protocols.timeline.sequence import Arrow, Note

MARGIN = 28.0
GAP = 22.0
SIZE = 8.6
SMALL = 7.6
LEADING = 11.2
_HEADING = "#0b3d66"
_NOTE = "#5b4a00"


def columns(sheet: Sheet, title: str, about: str, footer: str, count: int = 3, scale: float = 1.0) -> list["Column"]:
    """The page's title and footer, and its columns; ``scale`` makes what is put into them larger."""
    sheet.add(
        Box(0, 0, WIDE, 46, "#0b3d66"),
        Text(MARGIN, 30, title, 19, bold=True, fill="#ffffff"),
        Text(WIDE - MARGIN, 30, about, 10, fill="#ffffff", anchor="end"),
        Text(MARGIN, HIGH - 10, footer, 7, fill="#555555"),
    )
    width = (WIDE - 2 * MARGIN - (count - 1) * GAP) / count
    return [Column(sheet, MARGIN + at * (width + GAP), width, scale) for at in range(count)]


class Column:
    """Everything that is put in stands below what was put in before; ``y`` is where the next thing begins."""

    def __init__(self, sheet: Sheet, x: float, width: float, scale: float) -> None:
        self.sheet, self.x, self.width, self.y = sheet, x, width, 58.0
        self._size, self._small, self._leading = SIZE * scale, SMALL * scale, LEADING * scale

    @property
    def is_full(self) -> bool:
        """Whether more has been put in than there is room for."""
        return self.y > HIGH - 18

    def heading(self, text: str) -> None:
        self.y += 14
        self.sheet.add(Text(self.x, self.y, text, 11, bold=True, fill=_HEADING))
        self.y += 4
        self.sheet.add(Line(self.x, self.y, self.x + self.width, self.y, _HEADING))
        self.y += 3

    def sentences(self, *texts: str) -> None:
        """Each begins on a line of its own."""
        for text in texts:
            for line in wrapped(text, self.width, self._size):
                self.y += self._leading
                self.sheet.add(Text(self.x, self.y, line, self._size))
            self.y += 2

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]], shares: Sequence[float]) -> None:
        """``shares``: how much of the column's width each of the table's columns takes; they add up to 1."""
        if any(head):
            self._row(head, shares, bold=True)
        for at, row in enumerate(rows):
            self._row(row, shares, bold=False, shaded=at % 2 == 0)
        self.y += 3

    def _row(self, cells: Sequence[str], shares: Sequence[float], *, bold: bool, shaded: bool = False) -> None:
        split = [
            wrapped(cell, share * self.width - 6, self._size * (1.06 if bold else 1.0))
            for cell, share in zip(cells, shares, strict=True)
        ]
        height = max(map(len, split)) * self._leading + 3
        if shaded:
            self.sheet.add(Box(self.x, self.y, self.width, height, "#f1f5f9"))
        x = self.x + 2
        for lines, share in zip(split, shares, strict=True):
            for at, line in enumerate(lines):
                self.sheet.add(Text(x, self.y + (at + 1) * self._leading - 1.5, line, self._size, bold=bold))
            x += share * self.width
        self.y += height

    def sequence(self, participants: Sequence[str], steps: Sequence[Arrow | Note]) -> None:
        """Messages from top to bottom; notes stand below the participant's line that they are about."""
        self.y += 12
        place = {name: self.x + (at + 0.5) * self.width / len(participants) for at, name in enumerate(participants)}
        for name, x in place.items():
            self.sheet.add(Text(x, self.y, name, self._size, bold=True, anchor="middle"))
        top = self.y + 4
        lines: list[Text | Line] = []
        y = top + 3
        for step in steps:
            y += self._leading + 2
            if isinstance(step, Arrow):
                begin, end = place[step.sender], place[step.to]
                lines.append(Line(begin, y + 2, end, y + 2, arrow=True))
                lines.append(Text((begin + end) / 2, y - 1, step.text, self._small, anchor="middle"))
            else:
                x = self.x + self.width / 2 if step.over is None else place[step.over]
                half = width_of(step.text, self._small) / 2
                x = min(max(x, self.x + half), self.x + self.width - half)
                lines.append(Text(x, y, step.text, self._small, fill=_NOTE, anchor="middle"))
        self.sheet.add(*(Line(x, top, x, y + 6, FAINT) for x in place.values()), *lines)
        self.y = y + 10

    def ownership(
        self,
        beliefs: Sequence[Interval],
        queues: Mapping[Queue, str],
        since: float,
        until: float,
        members: Sequence[str],
    ) -> None:
        """Who believes to own which queue from ``since`` to ``until`` (milliseconds), a row for each queue; a red line
        where nobody does."""
        left, height = self.x + 24, 9.0
        scale = (self.width - 24) / (until - since)
        for queue, name in queues.items():
            self.sheet.add(Text(self.x, self.y + height - 1.5, name, 7.2))
            self.sheet.add(Line(left, self.y + height / 2, self.x + self.width, self.y + height / 2, ALARM))
            for each in beliefs:
                end = until if each.until is None else each.until
                if each.queue == queue and each.since < until and end > since:
                    begin, stop = max(each.since, since), min(end, until)
                    fill = colour(members.index(each.member))
                    wide = max(1.0, (stop - begin) * scale)
                    self.sheet.add(Box(left + (begin - since) * scale, self.y, wide, height - 1.5, fill))
                    if wide > 24:
                        x = left + (begin - since) * scale + 3
                        self.sheet.add(Text(x, self.y + height - 3, each.member, 6.6, fill=letters_on(fill)))
            self.y += height
        self.y += 3
