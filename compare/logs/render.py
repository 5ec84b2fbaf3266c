"""The result for people."""

from collections.abc import Sequence

from compare.console.output import number, print_line, print_table
from compare.logs.document import Json
from compare.logs.story import sentences

_MOST_ROWS = 60


def print_logs(found: Json, format: str, story: bool = False) -> None:
    """Per group: how often and why, the remedies, the rebalances, what the logs cannot tell; ``story``: sentences."""
    if not found["groups"]:
        print_line("No consumer group in these logs.", format)
    for group in found["groups"]:
        _group(group, format, story)
    for each in found["skipped"]:
        print_line(f"{each['file']}: {each['why']}.", format)


def _group(group: Json, format: str, story: bool) -> None:
    rebalances, events = group["rebalances"], group["events"]
    kind = "" if group["kind"] == "plain" else f" of {_KINDS[group['kind']]}"
    heading = f"{group['system']} group {group['group']}{kind}: {_counted(rebalances)}"
    if group["from"]:
        heading += f", {group['from']} to {group['to']}"
    print_line(heading, format, heading=True)
    if story:
        for sentence in sentences(group):
            print_line(sentence, format)
    elif rebalances:
        _causes(group, format)
        _list(rebalances, format)
    for event in () if story else events:
        line = f"{event['at']} without a rebalance: {event['cause']}{_of(event['who'])}{_lines(event)}"
        print_line(line, format)
    for note in group["notes"]:
        print_line(note, format)
    if format == "table":
        print_line("")


_KINDS = {"streams": "Kafka Streams", "connect": "Kafka Connect workers"}


def _counted(rebalances: Sequence[object]) -> str:
    return (
        "no rebalance" if not rebalances else "1 rebalance" if len(rebalances) == 1 else f"{len(rebalances)} rebalances"
    )


def _causes(group: Json, format: str) -> None:
    every = len(group["rebalances"])
    rows = [
        (
            f"{row['count']} of {every}",
            row["cause"] or "unknown",
            ", ".join(row["who"]) or "-",
            number(row["paused_s"], 1),
        )
        for row in group["summary"]
    ]
    columns = (("rebalances", "right"), ("cause", "left"), ("members", "left"), ("paused s", "right"))
    print_table(columns, rows, format, names=2)
    for row in group["summary"]:
        if row["remedy"]:
            print_line(f"{row['cause']}: {row['remedy']}", format)


def _list(rebalances: Sequence[Json], format: str) -> None:
    shown = rebalances
    if len(rebalances) > _MOST_ROWS:
        longest = sorted(rebalances, key=lambda each: -(each["took_s"] or 0.0))[:_MOST_ROWS]
        shown = [each for each in rebalances if each in longest]
        print_line(f"The {_MOST_ROWS} longest of {len(rebalances)} rebalances (all with --format json):", format)
    rows = [
        (
            str(each["at"]),
            str(each["generation"] if each["generation"] is not None else "-"),
            each["cause"] or f"unknown: {' or '.join(each['causes']) or 'nothing in the logs tells'}",
            ", ".join(each["who"]) or "-",
            number(each["took_s"], 1),
            number(each["paused_s"], 1),
            ", ".join(each["waited_for_who"]) or "-",
            _lines(each).removeprefix(" (").removesuffix(")") or "-",
        )
        for each in shown
    ]
    columns = (
        ("at", "left"),
        ("generation", "right"),
        ("cause", "left"),
        ("member", "left"),
        ("took s", "right"),
        ("paused s", "right"),
        ("waited for", "left"),
        ("evidence", "left"),
    )
    print_table(columns, rows, format)


def _of(names: Sequence[str]) -> str:
    return f" of {', '.join(names)}" if names else ""


def _lines(each: Json) -> str:
    shown = [f"{file}:{line}" for file, line in each["evidence"][:2]]
    return f" ({', '.join(shown)})" if shown else ""
