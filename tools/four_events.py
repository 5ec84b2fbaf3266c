"""One join, leave, crash and freeze, each drawn for five protocols and readable on a telephone.

A picture is docs/side-by-side/EVENT.svg. On the site a click on it opens its scenario in the playground.
"""

import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from urllib.parse import urlencode
from zlib import Z_NO_COMPRESSION, compressobj

from compare.running.run_variant import run_variant
from compare.running.systems import read_text
from compare.running.variants import variants_of
from compare.showing.pictures.charts import text
from tools.ownership import Frame, panel

PANELS = {
    "kafka:range": "Kafka, classic protocol",
    "kafka:uniform": "Kafka, consumer protocol",
    "rocketmq:AVG": "RocketMQ",
    "kafka:share": "Kafka, share group: no owners (red: records wait)",
    "rocketmq:POP": "RocketMQ, POP: no owners (red: records wait)",
}
BEGIN_S = 95
"""When the event happens: the group has settled before."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An event, what to see in its picture, and how much of the time after it is shown."""

    title: str
    event: str
    seconds: range
    frozen: str = ""


EVENTS = {
    "join": Shown("c3 joins", "join: c3, subscribe: [orders]", range(7)),
    "leave": Shown("c2 closes its consumer", "leave: c2", range(7)),
    "crash": Shown("c2 is killed", "crash: c2", range(0, 61, 10)),
    "freeze": Shown("c2 freezes (pale: owns, reads nothing)", "hang: c2, for: 180s", range(0, 151, 30), frozen="c2"),
}


def scenario(shown: Shown) -> str:
    """The scenario of an event, as YAML."""
    return f"""\
name: {shown.title.partition(" (")[0]}
topics:
  orders: {{queues: 4}}
group:
  name: billing
  members:
    c1: {{subscribe: [orders]}}
    c2: {{subscribe: [orders]}}
load: {{produce: 10/s}}
run: {{for: 5min, seed: 1}}
events:
  - {{at: {BEGIN_S}s, {shown.event}}}
"""


def address(shown: Shown) -> str:
    """The playground with the scenario in its address: stored in DEFLATE's form, which is the same bytes everywhere."""
    packing = compressobj(Z_NO_COMPRESSION, wbits=-15)
    packed = packing.compress(scenario(shown).encode()) + packing.flush()
    given = {"on": ",".join(PANELS), "scenario": urlsafe_b64encode(packed).decode().rstrip("=")}
    return f"playground/index.html#{urlencode(given, safe=':,')}"


def picture(shown: Shown) -> str:
    """The SVG: a panel for each protocol."""
    variants = variants_of(read_text(scenario(shown)), tuple(PANELS))
    event, last = BEGIN_S * 1000.0, shown.seconds[-1] * 1000.0
    frame = Frame(
        event - last / 6, event, event + last * 1.04, shown.seconds, 400, 70, 10, 15, head=28, frozen=shown.frozen
    )
    parts, y = [], 20.0
    for variant in variants:
        drawn = panel(run_variant(variant).timeline, PANELS[variant.label], frame, y)
        parts += [*drawn.still, *drawn.bars, *drawn.marks]
        y = drawn.bottom
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="360" viewBox="0 0 400 {y + 4:.0f}" '
            'role="img" font-family="sans-serif" font-size="12">',
            f"<title>{shown.title}, in five protocols</title>",
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            text(10, 16, shown.title, weight="bold"),
            *parts,
            "</svg>\n",
        ]
    )


def with_links(markdown: str) -> str:
    """The page with each of the pictures as a link to the playground."""
    return _PICTURE.sub(lambda found: f"[{found[0]}]({found['up']}{address(EVENTS[found['event']])})", markdown)


_PICTURE = re.compile(r"!\[[^\]]*\]\((?P<up>(?:\.\./)?)side-by-side/(?P<event>\w+)\.svg\)")
