"""The advice of `compare --advise` for people: conditions in sentences, and a table of what nothing else beats."""

from compare.advising.choosing import CONCERNS, LOST, name_of
from compare.documents.comparison import AdviceRecord, ConditionRecord, Spread
from compare.formatting import amount, many
from compare.showing.console import READABLE, print_line, print_table
from protocols.scenario.fields import listed_members

MOST_ALIKE = 4
"""So many are named among which no difference was seen."""


def sentences(advice: AdviceRecord) -> list[str]:
    """ "If duplicates matter more than pauses: A, 0 records handled more than once; else B, ..." """
    conditions = advice["conditions"]
    if len(conditions) == 2:
        one, other = conditions
        told = [f"If {one['if']}: {_choice(one)}; else {_choice(other)}."]
    elif len(conditions) == 1:
        told = [f"{conditions[0]['if'].capitalize()}: {_choice(conditions[0])}."]
    else:
        told = [f"If {each['if']}: {_choice(each)}." for each in conditions]
    told += [
        f"No difference was seen between {each['then']} and {listed_members(each['no_difference_to'][:MOST_ALIKE])}"
        f"{_more(each)} in what matters if {each['if']}."
        for each in conditions
        if each["no_difference_to"] and len(conditions) > 1
    ]
    return [*told, _tried(advice), advice["not_tried"]]


def _tried(advice: AdviceRecord) -> str:
    return (
        f"{len(advice['tried'])} were tried with {many(advice['seeds'], 'seed')}, {len(advice['unbeaten'])} of them are"
        " beaten by no other. One is better than another only where it is so with every seed."
    )


def _choice(condition: ConditionRecord) -> str:
    return f"{condition['then']}, {condition['told']}" if condition["told"] else condition["then"]


def _more(condition: ConditionRecord) -> str:
    more = len(condition["no_difference_to"]) - MOST_ALIKE
    return f" (and {more} more)" if more > 0 else ""


def print_advice(advice: AdviceRecord, format: str, width: int | None = READABLE) -> None:
    """``format``: ``table`` or ``markdown``; ``width``: of the table, at most."""
    print_line("Advice", format, heading=True)
    for sentence in sentences(advice):
        print_line(("- " if format == "markdown" else "") + sentence, "table" if format == "table" else format)
    chosen = [advice["tried"][at] for at in advice["unbeaten"]]
    shown = [
        (concern, path)
        for concern in (*LOST, *CONCERNS)
        for path in concern.paths
        if any(_differs(each["figures"].get(path)) for each in chosen)
    ]
    columns = [("beaten by no other", "left"), *((concern.says, "right") for concern, _ in shown)]
    rows = [
        [name_of(each), *(_cell(each["figures"].get(path), concern.scale) for concern, path in shown)]
        for each in chosen
    ]
    print_table(columns, rows, format, width=width)


def _differs(spread: Spread | None) -> bool:
    return spread is not None and bool(spread["p95"])


def _cell(spread: Spread | None, scale: float) -> str:
    if spread is None or spread["median"] is None:
        return "-"
    median, low, high = (amount((spread[name] or 0.0) * scale) for name in ("median", "p5", "p95"))
    return median if low == high else f"{median} ({low}..{high})"
