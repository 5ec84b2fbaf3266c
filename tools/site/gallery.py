"""The page of everything that can be looked at: a card for each report, with its picture."""

import re
from collections.abc import Mapping
from pathlib import Path

from compare.running.systems import read

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "examples" / "scenarios"
MARK = "<!-- a card for each example -->"


def with_cards(markdown: str, there: Mapping[str, object]) -> str:
    """The page with the cards in the place of their mark. ``there``: the files that the site has."""
    if MARK not in markdown:
        return markdown
    names = [found[1] for path in there if (found := re.fullmatch(r"reports/(.+)\.html", path))]
    cards = [_card(name, there) for name in names if (SCENARIOS / f"{name}.yaml").is_file()]
    return markdown.replace(MARK, f'<div class="cards">\n{"".join(cards)}</div>')


def _card(name: str, there: Mapping[str, object]) -> str:
    scenario = read(SCENARIOS / f"{name}.yaml")
    picture = next((path for path in there if re.fullmatch(rf"pictures/{re.escape(name)}-\w+\.svg", path)), None)
    shown = f'<img loading="lazy" src="{picture}" alt="">' if picture else '<span class="nopicture">report</span>'
    first = re.split(r"(?<=[.:;])\s", " ".join(scenario.about.split()))[0]
    title = scenario.name[:1].upper() + scenario.name[1:]
    return (
        f'<a class="card" href="reports/{name}.html"><span class="thumb">{shown}</span>'
        f"<strong>{_escaped(title)}</strong><span>{_escaped(first)}</span></a>\n"
    )


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("*", "&#42;").replace("_", "&#95;")
