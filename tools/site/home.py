"""The timeline on the first page: one join, through both systems, drawn by the code of the comparison's report."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from compare.running.runs import RunOrder, run_all
from compare.running.systems import read
from compare.running.variants import variants_of
from compare.showing.comparison.page import drawn_of
from compare.showing.html import asset, data_of, script_of

ROOT = Path(__file__).parents[2]
ASSETS = Path(__file__).parent / "assets"
MARK = "<!-- timeline of one join -->"
SCENARIO = "eager-and-cooperative"
SHOWN: Mapping[str, str] = {
    "kafka:range": "Kafka, classic, eager: range (the default)",
    "kafka:cooperative-sticky": "Kafka, classic, cooperative: cooperative-sticky",
    "kafka:uniform": "Kafka, consumer protocol: uniform",
    "rocketmq:AVG": "RocketMQ: AVG (the default)",
}
"""Variants that can be played, and what they are called; those of Kafka share one picture."""
BEFORE_MS, AFTER_MS = 1_000, 6_000
"""Time shown around the join."""


def with_timeline(markdown: str) -> str:
    """The page with the timeline in the place of its mark."""
    return markdown.replace(MARK, timeline()) if MARK in markdown else markdown


@cache
def timeline() -> str:
    """The HTML: data, and a script that draws and plays it. Nothing is fetched."""
    scenario = read(ROOT / "examples" / "scenarios" / f"{SCENARIO}.yaml")
    orders = [RunOrder(variant, whole=True, with_chart_data=True) for variant in variants_of(scenario, tuple(SHOWN))]
    drawn = drawn_of(scenario, list(run_all(orders, lambda _: None, processes=1)))
    (join,) = (event.at for event in scenario.events)
    payload = {
        **drawn,
        "names": SHOWN,
        "from": join - BEFORE_MS,
        "to": join + AFTER_MS,
    }
    scripts = [asset("dom.js")]
    scripts += [asset(f"comparison/{name}") for name in ("data.js", "axis.js", "ownership.js")]
    scripts.append((ASSETS / "home.js").read_text(encoding="utf-8"))
    frame = (ASSETS / "home.html").read_text(encoding="utf-8").rstrip()
    data = f'<script type="application/json" id="data">{data_of(payload)}</script>'
    # An empty line would end the block of HTML for Markdown.
    return f"{frame}\n{data}\n<script>\n{_dense(script_of(scripts))}</script>\n</div>"


def _dense(script: str) -> str:
    return "".join(f"{line}\n" for line in script.splitlines() if line.strip())
