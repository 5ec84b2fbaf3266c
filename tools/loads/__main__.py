"""`python -m tools.loads`: the tables and pictures of docs/load.md, and docs/load/outcomes.parquet with all figures.
`python -m tools.loads DIR GROUP CAPACITY` prints the table of a folder of snapshots (`recorded`).

Some minutes' work. Between two comments in the page stands what is made here; the rest is written by hand.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from compare.showing.pictures.charts import lines
from tools.loads.contenders import EVERY_15, FEWEST, FORESEEN, FREE, OURS, TOLD, UNWEIGHED, contenders, of_ours
from tools.loads.day import Contender, Outcome, live
from tools.loads.families import Load, counted, families, held_out
from tools.loads.recorded import recorded

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "load"
SEEDS = range(201, 241)
"""With none of these was a constant chosen."""
FEW_SEEDS = SEEDS[:10]
"""Of the loads that the goal does not speak of."""
GOAL_AGE, GOAL_MOVES = 1.05, 1.2
PAYING = (FEWEST, FORESEEN)
"""The clairvoyants of the goal: who pays nothing for moves lives by other rules."""
RESAMPLES = 2000
BEGIN, END = "<!--made by python -m tools.loads-->", "<!--end-->"
DRAWN = ("kafka: sticky", "lag-based, greedy", "modified worst fit", OURS)
FIGURES = ("p99_age_s", "drain_s", "moves", "unowned_queue_s")

Outcomes = Mapping[str, list[Outcome]]
"""Contender to what it came to with each seed."""


def outcomes(
    loads: Iterable[Load], asked: Callable[[Load], Mapping[str, Contender]] = contenders
) -> dict[str, list[Outcome]]:
    """What those who are asked make of each of the loads, which are the same but for their noise."""
    found: dict[str, list[Outcome]] = {}
    for load in loads:
        for name, contender in asked(load).items():
            found.setdefault(name, []).append(live(load, contender))
    return found


def figure(found: list[Outcome], name: str) -> float:
    """The median over the seeds."""
    return float(median(getattr(outcome, name) for outcome in found))


def table(found: Outcomes) -> str:
    """A family's rows, as the page has them; `verdicts` shows `EVERY_15`."""
    head = [
        "| who decides | p99 age (s) | behind (s) | moves | queue-seconds without reader |",
        "|---|---:|---:|---:|---:|",
    ]
    rows = [
        f"| {f'**{name}**' if name == OURS else name} | {figure(runs, 'p99_age_s'):.2f} |"
        f" {' | '.join(f'{figure(runs, each):.0f}' for each in FIGURES[1:])} |"
        for name, runs in found.items()
        if name != EVERY_15
    ]
    return "\n".join([*head, *rows])


def verdicts(every: Mapping[str, Outcomes]) -> str:
    """Where the goal is met, and by how much it is missed elsewhere: beside the clairvoyants who pay for their moves,
    and beside those who are told of changes as they happen."""
    heads = ("family", "age, ours", "every 15 s", "load-aware", "told", "moves are free", "clairvoyant")
    rows = [
        f"| {' | '.join(heads)} | within 5 % | of told | moves, ours | told | with foresight | within 1.2 times |",
        "|---|---:|---:|---:|---:|---:|---:|---|---|---:|---:|---:|---|",
    ]
    for name, found in every.items():
        age, often, unweighed, free = (figure(found[each], FIGURES[0]) for each in (OURS, EVERY_15, UNWEIGHED, FREE))
        told = figure(found[TOLD], FIGURES[0]) if TOLD in found else None
        best = min(figure(found[each], FIGURES[0]) for each in PAYING)
        moves, fewest = figure(found[OURS], "moves"), figure(found[FEWEST], "moves")
        told_moves = figure(found[TOLD], "moves") if TOLD in found else None
        less = "yes" if moves <= GOAL_MOVES * fewest else f"no: {moves - fewest:+.0f}"
        ages = " | ".join("-" if each is None else f"{each:.2f}" for each in (age, often, unweighed, told, free, best))
        near = f"{_near(age, best)}{_sure(found)} | {_near(age, told)}"
        counts = " | ".join("-" if each is None else f"{each:.0f}" for each in (moves, told_moves, fewest))
        rows.append(f"| {name} | {ages} | {near} | {counts} | {less} |")
    return "\n".join(rows)


def _near(age: float, best: float | None) -> str:
    if best is None:
        return "-"
    return "yes" if age <= GOAL_AGE * best else f"no: {age / best - 1:+.0%}"


def _sure(found: Outcomes) -> str:
    """Between which values the age beside the best clairvoyant's lies in 90 % of the resamples of the seeds; nothing
    where it is the same in all."""
    ages = np.array([[run.p99_age_s for run in found[name]] for name in (OURS, *PAYING)])
    seeds = ages.shape[1]
    chosen = np.random.default_rng(1).integers(seeds, size=(RESAMPLES, seeds))
    medians = np.median(ages[:, chosen], axis=2)
    low, high = (f"{100 * each:+.0f}" for each in np.quantile(medians[0] / medians[1:].min(axis=0) - 1, (0.05, 0.95)))
    return "" if float(low) == float(high) == 0 else f" ({low} to {high} %)"


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
            for seed, outcome in zip(SEEDS, runs, strict=False):
                yield {
                    "family": family,
                    "contender": name,
                    "seed": seed,
                    **{each: float(getattr(outcome, each)) for each in FIGURES},
                }


def _family(number: int) -> Outcomes:
    return outcomes([families(seed)[number] for seed in SEEDS])


def _held_out(number: int) -> Outcomes:
    return outcomes([held_out(seed)[number] for seed in FEW_SEEDS], of_ours)


def _counted(number: int) -> Outcomes:
    return outcomes([counted(families(seed)[number], seed) for seed in FEW_SEEDS], of_ours)


COUNTED = (2, 3, 4, 6)
"""The families that are played in whole records, too."""

WORKERS = 4


def main() -> None:
    """Make it all anew."""
    FOLDER.mkdir(exist_ok=True)
    loads = [*families(SEEDS[0]), recorded()]
    with ProcessPoolExecutor(WORKERS) as pool:
        shown = {load.name: pool.submit(_family, number) for number, load in enumerate(families(SEEDS[0]))}
        hidden = {load.name: pool.submit(_held_out, number) for number, load in enumerate(held_out(SEEDS[0]))}
        whole = [pool.submit(_counted, number) for number in COUNTED]
        every = {name: found.result() for name, found in shown.items()} | {"recorded": outcomes([recorded()])}
        never_seen = {name: found.result() for name, found in hidden.items()}
        never_seen |= {
            f"{loads[number].name}, counted": found.result() for number, found in zip(COUNTED, whole, strict=True)
        }
    write(loads, every, never_seen)


def write(loads: Sequence[Load], every: Mapping[str, Outcomes], never_seen: Mapping[str, Outcomes]) -> None:
    """The page's generated part, its pictures, and both files of data."""
    parts = [verdicts(every), HELD_OUT, verdicts(never_seen)]
    for load in loads:
        (FOLDER / f"{load.name}.svg").write_text(picture(load, every[load.name]) + "\n", encoding="utf-8")
        parts += [
            f"### {load.name}",
            f"{load.about[0].upper()}{load.about[1:]}.\n![Records that wait, {load.name}](load/{load.name}.svg)",
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
    rows = list(parquet_rows({**every, **never_seen}))
    pq.write_table(pa.Table.from_pylist(rows), FOLDER / "outcomes.parquet", compression="zstd")
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


HELD_OUT = "Loads of another generator (`held_out` of `tools/loads/families.py`), and families in whole records:"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        place, group, capacity = sys.argv[1:]
        print(table(outcomes([recorded(Path(place), group, float(capacity))])))
    else:
        main()
