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


CHINESE: Mapping[str, str] = {
    "slow motion": "慢放",
    "1 s in 1 s": "1 秒播放 1 秒",
    "1 s in 2 s": "1 秒播放 2 秒",
    "1 s in 10 s": "1 秒播放 10 秒",
    '"no owner"': '"没有消费者"',
    '"two owners"': '"两个消费者"',
    "Kafka, classic, eager: range (the default)": "Kafka 经典协议，eager：range（默认）",
    "Kafka, classic, cooperative: cooperative-sticky": "Kafka 经典协议，cooperative：cooperative-sticky",
    "Kafka, consumer protocol: uniform": "Kafka 消费者协议：uniform",
    "RocketMQ: AVG (the default)": "RocketMQ：AVG（默认）",
}
"""Words around the timeline on the first page in Chinese."""


def with_timeline(markdown: str, language: str) -> str:
    """The page with the timeline in the place of its mark. ``language``: ``en`` or ``zh``."""
    if MARK not in markdown:
        return markdown
    shown = timeline()
    for words, chinese in CHINESE.items() if language == "zh" else ():
        if words not in shown:
            raise ValueError(f"the timeline has no words {words!r}")
        shown = shown.replace(words, chinese)
    return markdown.replace(MARK, shown)


@cache
def timeline() -> str:
    """The HTML: data, and a script that draws and plays it. Nothing is fetched."""
    scenario = read(ROOT / "examples" / "scenarios" / f"{SCENARIO}.yaml")
    orders = [RunOrder(variant, whole=True, with_chart_data=True) for variant in variants_of(scenario, tuple(SHOWN))]
    drawn = drawn_of(scenario, list(run_all(orders, lambda _: None, processes=1)))
    (join,) = (event.at for event in scenario.events)
    payload = {**drawn, "names": SHOWN, "from": join - BEFORE_MS, "to": join + AFTER_MS}
    scripts = [asset("dom.js")]
    scripts += [asset(f"comparison/{name}") for name in ("data.js", "axis.js", "ownership.js")]
    scripts.append((ASSETS / "home.js").read_text(encoding="utf-8"))
    frame = (ASSETS / "home.html").read_text(encoding="utf-8").rstrip()
    data = f'<script type="application/json" id="data">{data_of(payload)}</script>'
    # An empty line would end the block of HTML for Markdown.
    return f"{frame}\n{data}\n<script>\n{_dense(script_of(scripts))}</script>\n</div>"


def _dense(script: str) -> str:
    return "".join(f"{line}\n" for line in script.splitlines() if line.strip())
