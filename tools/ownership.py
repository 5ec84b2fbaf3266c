"""Who owns which queue around one event, drawn: a row per queue, a colour per member, red where nobody owns it.

Where records are handed out one by one, any member may handle them, and red is where they wait for a second and more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from compare.running.no_progress import LEAST_MS
from compare.showing.pictures.charts import ALARM, FAINT, INK, box, colour, letters_on, line, text
from protocols import sort_queues
from protocols.timeline.timeline import Timeline

ANY = "#9fb4c7"
"""The colour of queues whose records any member may get."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The time that is shown, in milliseconds, and the lengths of a panel, in pixels."""

    begin: float
    event: float
    end: float
    seconds: Sequence[int]
    """After the event: what the axis names."""
    wide: float
    left: float
    right: float
    row: float
    head: float = 34.0
    frozen: str = ""
    """The member that stands still from the event on: it believes that it owns its queues, and reads nothing."""

    @property
    def length(self) -> float:
        return self.wide - self.left - self.right

    def x(self, time: float | None) -> float:
        """Where a time is; None: the end."""
        time = self.end if time is None else min(max(time, self.begin), self.end)
        return self.left + (time - self.begin) * self.length / (self.end - self.begin)

    def shows(self, since: float, until: float | None) -> bool:
        return since < self.end and (until is None or until > self.begin)


@dataclass(frozen=True, slots=True)
class Panel:
    """What stands still, the bars in the order of time, the marks above them, and where the next panel begins."""

    still: list[str]
    bars: list[str]
    marks: list[str]
    bottom: float


def panel(run: Timeline, heading: str, frame: Frame, top: float) -> Panel:
    """One run's rows below its heading."""
    uncounted = run.uncounted or ("\0",)
    given = [each for deliveries in run.progress.values() for each in deliveries] if not run.beliefs else []
    shown = (*run.beliefs, *given)
    queues = sort_queues({each.queue for each in shown if not each.queue.topic.startswith(uncounted)})
    members = sorted({belief.member for belief in run.beliefs})
    rows = {queue: top + frame.head + number * frame.row for number, queue in enumerate(queues)}
    bottom = top + frame.head + len(queues) * frame.row
    high = frame.row - 3
    still = [text(10, top + frame.head - 14, heading)]
    still += [text(frame.left - 8, y + 10, f"{queue.topic}-{queue.number}", anchor="end") for queue, y in rows.items()]
    still += [box(frame.left, y, frame.length, high, FAINT) for y in rows.values()]

    def bar(since: float, until: float | None, y: float, fill: str) -> str:
        return box(frame.x(since), y, frame.x(until) - frame.x(since), high, fill)

    bars = [
        bar(gap.since, gap.until, rows[gap.queue], ALARM)
        for gap in run.gaps
        if gap.queue in rows and frame.shows(gap.since, gap.until)
    ]
    # The frozen member's first: a new owner is drawn over them.
    for belief in sorted(run.beliefs, key=lambda belief: belief.member != frame.frozen):
        if belief.queue not in rows or not frame.shows(belief.since, belief.until):
            continue
        y, fill = rows[belief.queue], colour(members.index(belief.member))
        awake = frame.event if belief.member == frame.frozen else belief.until
        bars.append(bar(belief.since, awake, y, fill))
        if awake != belief.until:
            bars.append(f'<g opacity="0.35">{bar(frame.event, belief.until, y, fill)}</g>')
        if frame.x(awake) - frame.x(belief.since) > 30:
            bars.append(text(frame.x(belief.since) + 4, y + 10, belief.member, fill=letters_on(fill)))
    for queue, y in rows.items():
        handled = sorted((each for each in given if each.queue == queue), key=lambda each: each.since)
        if handled:
            bars.append(bar(frame.begin, frame.end, y, ANY))
        bars += [
            bar(each.until, following.since, y, ALARM)
            for each, following in pairwise(handled)
            if following.since - each.until >= LEAST_MS and frame.shows(each.until, following.since)
        ]
    marks = [line(frame.x(frame.event), top + frame.head - 4, frame.x(frame.event), bottom, INK, dashed=True)]
    for second in frame.seconds:
        x = frame.x(frame.event + second * 1000)
        marks.append(text(x, bottom + 11, f"{second} s", anchor="middle", fill="#555555"))
    return Panel(still, bars, marks, bottom + 16)
