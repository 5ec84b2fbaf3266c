"""What README.md shows of the program: the audit's first sentences, how much is recorded, and a join as a picture.

The picture moves: a clip that grows with time uncovers who owns which partition.
"""

import gzip
import re
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
from compare.showing.pictures.charts import INK, text
from tools.ownership import Frame, panel

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
PLAYS = 'dur="9s" repeatCount="indefinite"'


def with_example(page: str, root: Path) -> str:
    """The page with what the audit prints now. `ValueError` where the page has no audit."""
    start = page.index(AUDIT) + len(AUDIT)
    return page[:start] + _audited(root) + page[page.index("```", start) :]


def with_evidence(page: str, root: Path) -> str:
    """The page with the numbers of recordings that the tests play: answers and traces in hundreds, rounded down."""
    counts = {
        "recorded answers and traces": sum(map(_lines, (root / "tests" / "golden").rglob("*.jsonl.gz"))) // 100 * 100,
        "recordings of groups": sum(_recordings(system, root) for system in ("Kafka", "RocketMQ")),
        "recordings of failures": len([*(root / "tests" / "captures" / "broker-failures").rglob("*.json")]),
    }
    for what, count in counts.items():
        page, found = re.subn(rf"[\d,]+ {what}", f"{count:,} {what}", page)
        if found != 1:
            raise ValueError(f"README.md: {found} numbers of {what}, expected one")
    return page


def _lines(packed: Path) -> int:
    with gzip.open(packed) as lines:
        return sum(1 for _ in lines)


def _recordings(system: str, root: Path) -> int:
    """Rows of the tables that `tools.closeness` writes of a system."""
    page = (root / "docs" / "closeness.md").read_text(encoding="utf-8")
    rows = page.partition(f"## {system}: real and model")[2].partition("\n## ")[0]
    return len(re.findall(r"^\| [\w.-]+ \| .*\.\.", rows, re.MULTILINE))


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
    frame = Frame(
        join - BEFORE_MS, join, join + AFTER_MS, range(int(AFTER_MS / 1000)), wide=440, left=74, right=12, row=15
    )
    parts, y = [], 26.0
    for variant in variants_of(scenario, tuple(PANELS)):
        drawn = panel(run_variant(variant).timeline, PANELS[variant.label], frame, y)
        parts += [*drawn.still, '<g clip-path="url(#now)">', *drawn.bars, "</g>", *drawn.marks]
        y = drawn.bottom
    left, wide = frame.left, frame.length
    grows = f'<animate attributeName="width" values="0;{wide};{wide}" keyTimes="0;0.8;1" {PLAYS}/>'
    moves = f'<animate attributeName="x" values="{left};{left + wide};{left + wide}" keyTimes="0;0.8;1" {PLAYS}/>'
    high = y - 26
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="600" viewBox="0 0 {frame.wide:.0f} {y + 4:.0f}" '
            'role="img" font-family="sans-serif" font-size="12">',
            "<title>A third member joins two, in Kafka and in RocketMQ</title>",
            f'<clipPath id="now"><rect x="{left}" y="0" width="{wide}" height="{y:.0f}">{grows}</rect></clipPath>',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            text(10, 17, "c3 joins: who owns which partition? Red: nobody.", weight="bold"),
            *parts,
            f'<rect x="{left + wide}" y="26" width="1.5" height="{high:.0f}" fill="{INK}">{moves}</rect>',
            "</svg>\n",
        ]
    )
