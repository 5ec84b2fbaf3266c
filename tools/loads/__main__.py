"""`python -m tools.loads`: the tables and pictures of docs/load.md, and docs/load/outcomes.parquet with all figures.

Some minutes' work. Between two comments in the page stands what is made here; the rest is written by hand.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq

from compare.showing.pictures.charts import lines
from tools.loads.contenders import FEWEST, FREE, OURS, TOLD, TOLD_FREE, contenders
from tools.loads.day import Outcome, live
from tools.loads.families import Load, families

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "load"
SEEDS = (1, 2, 3)
GOAL_AGE, GOAL_MOVES = 1.05, 1.2
BEGIN, END = "<!--made by python -m tools.loads-->", "<!--end-->"
DRAWN = ("kafka: sticky", "lag-based, greedy", "modified worst fit", OURS)
FIGURES = ("p99_age_s", "drain_s", "moves", "unowned_queue_s")

Outcomes = Mapping[str, list[Outcome]]
"""Contender to what it came to with each seed."""


def outcomes(number: int, seeds: tuple[int, ...] = SEEDS) -> dict[str, list[Outcome]]:
    """What all contenders make of the family with this number."""
    found: dict[str, list[Outcome]] = {}
    for seed in seeds:
        load = families(seed)[number]
        for name, ask in contenders(load).items():
            found.setdefault(name, []).append(live(load, ask, **({"move_s": 0} if "free" in name else {})))
    return found


def figure(found: list[Outcome], name: str) -> float:
    """The median over the seeds."""
    return float(median(getattr(outcome, name) for outcome in found))


def table(found: Outcomes) -> str:
    """A family's rows, as the page has them."""
    head = [
        "| who decides | p99 age (s) | behind (s) | moves | queue-seconds without reader |",
        "|---|---:|---:|---:|---:|",
    ]
    rows = [
        f"| {f'**{name}**' if name == OURS else name} | {figure(runs, 'p99_age_s'):.2f} |"
        f" {' | '.join(f'{figure(runs, each):.0f}' for each in FIGURES[1:])} |"
        for name, runs in found.items()
    ]
    return "\n".join([*head, *rows])


def verdicts(every: Mapping[str, Outcomes]) -> str:
    """Where the goal is met, and by how much it is missed elsewhere."""
    heads = ("family", "age, ours", "told", "told, moves free", "clairvoyant", "within 5 %", "moves, ours")
    rows = [
        f"| {' | '.join(heads)} | with foresight | within 1.2 times |",
        "|---|---:|---:|---:|---:|---|---:|---:|---|",
    ]
    for name, found in every.items():
        age, told, told_free, free, few = (
            figure(found[each], FIGURES[0]) for each in (OURS, TOLD, TOLD_FREE, FREE, FEWEST)
        )
        best = min(free, few)
        moves, fewest = figure(found[OURS], "moves"), figure(found[FEWEST], "moves")
        near = "yes" if age <= GOAL_AGE * best else f"no: {age / best - 1:+.0%}"
        less = "yes" if moves <= GOAL_MOVES * fewest else f"no: {moves - fewest:+.0f}"
        ages = " | ".join(f"{each:.2f}" for each in (age, told, told_free, best))
        rows.append(f"| {name} | {ages} | {near} | {moves:.0f} | {fewest:.0f} | {less} |")
    return "\n".join(rows)


def picture(load: Load, found: Outcomes) -> str:
    """Records that wait, over the time, with the first seed."""
    series = {
        name: [(float(second), found[name][0].lag[second]) for second in range(0, len(load.rates), 10)]
        for name in DRAWN
    }
    return lines(series, f"{load.name}: records that wait").svg


def parquet_rows(every: Mapping[str, Outcomes]) -> Iterator[dict[str, object]]:
    """One row for each family, contender and seed."""
    for family, found in every.items():
        for name, runs in found.items():
            for seed, outcome in zip(SEEDS, runs, strict=True):
                yield {
                    "family": family,
                    "contender": name,
                    "seed": seed,
                    **{each: float(getattr(outcome, each)) for each in FIGURES},
                }


def main() -> None:
    """Make it all anew."""
    FOLDER.mkdir(exist_ok=True)
    loads = families(SEEDS[0])
    every = {load.name: outcomes(number) for number, load in enumerate(loads)}
    parts = [verdicts(every)]
    for load in loads:
        (FOLDER / f"{load.name}.svg").write_text(picture(load, every[load.name]) + "\n", encoding="utf-8")
        parts += [
            f"### {load.name}",
            f"{load.about[0].upper()}{load.about[1:]}.",
            f"![Records that wait, {load.name}](load/{load.name}.svg)",
            table(every[load.name]),
        ]
    page = DOCS / "load.md"
    made = "\n\n".join(["", *parts, ""])
    text = re.sub(
        f"{re.escape(BEGIN)}.*?{re.escape(END)}",
        lambda _: f"{BEGIN}{made}{END}",
        page.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    page.write_text(text, encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(list(parquet_rows(every))), FOLDER / "outcomes.parquet", compression="zstd")
    rates = [
        {
            "family": load.name,
            "second": second,
            "rates": [round(rate, 1) for rate in rates],
            "capacity": list(load.capacity[second]),
        }
        for load in loads
        for second, rates in enumerate(load.rates)
        if second % 10 == 0
    ]
    pq.write_table(pa.Table.from_pylist(rates), FOLDER / "loads.parquet", compression="zstd")


if __name__ == "__main__":
    main()
