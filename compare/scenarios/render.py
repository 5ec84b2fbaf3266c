"""The comparison for people: a table with a row per variant, and below it what did not hold."""

from collections.abc import Mapping, Sequence
from typing import Any

from compare.output import number, print_line, print_table, ratio
from protocols.scenario.model import Scenario

_COLUMNS = (
    ("variant", "left"),
    ("seed", "right"),
    ("members", "right"),
    ("idle", "right"),
    ("load", "right"),
    ("best", "right"),
    ("jain", "right"),
    ("best jain", "right"),
    ("rebalances", "right"),
    ("messages", "right"),
    ("no owner, queue-s", "right"),
    ("longest, s", "right"),
    ("two owners, queue-s", "right"),
    ("moves", "right"),
    ("twice", "right"),
    ("burst", "right"),
    ("settled, s", "right"),
)


def print_comparison(scenario: Scenario, variants: Sequence[Mapping[str, Any]], format: str) -> None:
    """Print the variants' records on standard output. ``format``: ``table`` or ``markdown``."""
    print_line(scenario.name, format, heading=True)
    if scenario.about:
        print_line(" ".join(scenario.about.split()), format)
    several = len({each["seed"] for each in variants}) > 1
    columns = [column for column in _COLUMNS if several or column[0] != "seed"]
    print_table(columns, (_row(each, several) for each in variants), format)
    for each in variants:
        for check in each["checks"]:
            if not check["held"]:
                named = f"{each['label']}, seed {each['seed']}" if several else each["label"]
                kind = "expected" if check["demanded"] else "did not hold"
                print_line(f"{named}: {kind}: {check['name']}: {check['why']}.", format)


def _row(variant: Mapping[str, Any], with_seed: bool) -> list[str]:
    fairness, best = variant["fairness"], variant["optimum"]
    return [
        variant["label"],
        *([str(variant["seed"])] if with_seed else []),
        number(fairness["members"]),
        number(fairness["idle_members"]),
        _range(fairness),
        _range(best),
        ratio(fairness["jain"]),
        ratio(best["jain"]),
        number(variant["rebalances"]),
        number(sum(variant["messages"].values())),
        number(variant["unowned_queue_s"]),
        number(variant["longest_gap_s"]),
        number(variant["double_owned_queue_s"]),
        number(variant["moves"]),
        number(variant["redelivered"]),
        ratio(variant["burst"]),
        number(variant["settle_s"]),
    ]


def _range(figures: Mapping[str, Any]) -> str:
    """``2..3`` queues per member."""
    low, high = figures["min"], figures["max"]
    return number(high) if low == high else f"{number(low)}..{number(high)}"
