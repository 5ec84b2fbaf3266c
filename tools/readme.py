"""What README.md shows of the program: the audit's first sentences, a verdict, and a join in both systems as a picture.

The picture moves: a clip that grows with time uncovers who owns which partition.
"""

from collections.abc import Iterable
from contextlib import redirect_stdout
from io import StringIO
from itertools import takewhile
from pathlib import Path
from textwrap import wrap

from compare.auditing.group_figures import judge
from compare.explaining.diagnosis import explain_all
from compare.reading.gather import gather
from compare.running.run_variant import run_variant
from compare.running.systems import read
from compare.running.variants import variants_of
from compare.showing.audit.tables import print_audit
from compare.showing.pictures.charts import ALARM, FAINT, INK, box, colour, letters_on, line, text
from protocols import sort_queues
from protocols.timeline.timeline import Timeline

WIDTH = 80
CAUSE = "svc.cart-consumer-group-03:"
"""How the sentence begins that is shown of the audit's causes."""
AUDIT = "$ equipoise audit examples/captures\n"

PICTURE = "docs/images/join.svg"
SCENARIO = "eager-and-cooperative"
PANELS = {
    "kafka:sticky": "Kafka, classic protocol: one coordinator, all stop, one generation",
    "kafka:cooperative-sticky": "Kafka, cooperative: only what moves stops, for two generations",
    "rocketmq:AVG": "RocketMQ: each client computes its own share",
}
BEFORE_MS, AFTER_MS = 1_000.0, 5_000.0
"""Time shown around the join."""
PLAYS_S = 9
_WIDE, _LEFT, _RIGHT, _ROW, _HEAD = 760.0, 78.0, 14.0, 15.0, 34.0


def with_example(page: str, root: Path) -> str:
    """The page with what the audit prints now. `ValueError` where the page has no audit."""
    start = page.index(AUDIT) + len(AUDIT)
    return page[:start] + _audited(root) + page[page.index("```", start) :]


def _audited(root: Path) -> str:
    gathered = gather([str(root / "examples" / "captures")])
    written = StringIO()
    with redirect_stdout(written):
        print_audit(explain_all(judge(gathered.groups)), "table")
    lines = written.getvalue().splitlines()
    cause = next(line for line in lines if line.startswith(CAUSE))
    shown = [*_wrapped(takewhile(str.strip, lines)), "...", *_wrapped([f"{cause.partition('. ')[0]}."]), "..."]
    return "".join(f"{line}\n" for line in shown)


def _wrapped(lines: Iterable[str]) -> list[str]:
    return wrap(" ".join(lines), WIDTH, break_long_words=False, break_on_hyphens=False)


def join_picture(root: Path) -> str:
    """A third member joins two: who owns which partition, in both systems, as an SVG that plays."""
    scenario = read(root / "examples" / "scenarios" / f"{SCENARIO}.yaml")
    (join,) = (event.at for event in scenario.events)
    parts, y = [], 26.0
    for variant in variants_of(scenario, tuple(PANELS)):
        drawn, y = _panel(run_variant(variant).timeline, PANELS[variant.label], join, y)
        parts += drawn
    wide = _WIDE - _LEFT - _RIGHT
    grows = f'<animate attributeName="width" values="0;{wide};{wide}" keyTimes="0;0.8;1" {_PLAYS}/>'
    moves = f'<animate attributeName="x" values="{_LEFT};{_LEFT + wide};{_LEFT + wide}" keyTimes="0;0.8;1" {_PLAYS}/>'
    high = y - 26
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE:.0f} {y + 4:.0f}" role="img" '
            'font-family="sans-serif" font-size="12">',
            "<title>A third member joins two, in Kafka and in RocketMQ</title>",
            f'<clipPath id="now"><rect x="{_LEFT}" y="0" width="{wide}" height="{y:.0f}">{grows}</rect></clipPath>',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            text(10, 17, "c3 joins c1 and c2: who owns which of six partitions (red: nobody)", weight="bold"),
            *parts,
            f'<rect x="{_LEFT + wide}" y="26" width="1.5" height="{high:.0f}" fill="{INK}">{moves}</rect>',
            "</svg>\n",
        ]
    )


_PLAYS = f'dur="{PLAYS_S}s" repeatCount="indefinite"'


def _panel(run: Timeline, heading: str, join: float, top: float) -> tuple[list[str], float]:
    """One system's rows below its heading, and where the next panel begins."""
    begin, end = join - BEFORE_MS, join + AFTER_MS
    scale = (_WIDE - _LEFT - _RIGHT) / (end - begin)

    def x(time: float) -> float:
        return _LEFT + (min(max(time, begin), end) - begin) * scale

    uncounted = run.uncounted or ("\0",)
    queues = sort_queues({belief.queue for belief in run.beliefs if not belief.queue.topic.startswith(uncounted)})
    members = sorted({belief.member for belief in run.beliefs})
    rows = {queue: top + _HEAD + number * _ROW for number, queue in enumerate(queues)}
    bottom = top + _HEAD + len(queues) * _ROW
    still = [text(10, top + 20, heading)]
    still += [text(_LEFT - 8, y + 10, f"{queue.topic}-{queue.number}", anchor="end") for queue, y in rows.items()]
    still += [box(_LEFT, y, _WIDE - _LEFT - _RIGHT, _ROW - 3, FAINT) for y in rows.values()]
    bars = [
        box(x(gap.since), rows[gap.queue], x(end if gap.until is None else gap.until) - x(gap.since), _ROW - 3, ALARM)
        for gap in run.gaps
        if gap.queue in rows and gap.since < end and (gap.until is None or gap.until > begin)
    ]
    for belief in run.beliefs:
        until = end if belief.until is None else belief.until
        if belief.queue in rows and belief.since < end and until > begin:
            fill = colour(members.index(belief.member))
            wide = x(until) - x(belief.since)
            bars.append(box(x(belief.since), rows[belief.queue], wide, _ROW - 3, fill))
            if wide > 30:
                bars.append(text(x(belief.since) + 4, rows[belief.queue] + 10, belief.member, fill=letters_on(fill)))
    seconds = [
        text(x(join + second * 1000), bottom + 11, f"{second} s", anchor="middle", fill="#555555")
        for second in range(int(AFTER_MS / 1000))
    ]
    marks = [line(x(join), top + _HEAD - 4, x(join), bottom, INK, dashed=True), *seconds]
    return [*still, '<g clip-path="url(#now)">', *bars, "</g>", *marks], bottom + 16
