"""What the variants of a scenario look like beside each other, in plain sentences with the figures they rest on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from compare.scenarios.called import called, duration, many
from compare.scenarios.spread import figure
from compare.scenarios.verdict import NOTICED_S, SAME_JAIN, Record, Sentence
from protocols.scenario.telling import listed

Told = tuple[Sentence, dict[str, dict[str, Any]]]
"""A sentence, and per label the figures that it rests on."""

TOLD_FROM = 1.2
"""Most over least from which on it is worth a sentence that variants differ."""

MOST_NAMED = 4
"""Variants that a sentence names."""


def side_by_side(records: Sequence[Record]) -> list[Told]:
    """Sentences about all variants together; none where there is only one."""
    if len(records) < 2:
        return []
    return [told for tell in (_fairness, _stops, _doubles, _moves, _messages) for told in tell(records)]


def _values(records: Sequence[Record], path: str) -> dict[str, Any]:
    return {each["label"]: figure(each, path) for each in records if figure(each, path) is not None}


def _names(records: Sequence[Record], labels: Sequence[str]) -> str:
    names = [called(each) for each in records if each["label"] in labels]
    if len(names) > MOST_NAMED:
        names = [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more"]
    return listed(names)


def _resting(text: str, records: Sequence[Record], path: str) -> Told:
    return Sentence(text), {label: {path: value} for label, value in _values(records, path).items()}


def _fairness(records: Sequence[Record]) -> Iterator[Told]:
    values, best = _values(records, "fairness.jain"), _values(records, "optimum.jain")
    if len(values) < 2:
        return
    unowned = _values(records, "fairness.unowned_queues")
    fair = [label for label, value in values.items() if value >= best[label] - SAME_JAIN and not unowned[label]]
    worst = min(values.values())
    if len(fair) == len(records):
        all_of = "Both" if len(records) == 2 else f"All {len(records)}"
        text = f"{all_of} variants end as fair as the subscriptions allow."
    elif not fair:
        text = f"No variant ends as fair as the subscriptions allow; the least even is {_worst(records, values)}."
    else:
        others = [label for label in values if label not in fair]
        text = f"{len(fair)} of {len(values)} variants end as fair as can be ({_names(records, fair)}); "
        if len(others) == 1:
            (other,) = others
            text += f"{_names(records, others)} does not: "
            if unowned[other]:
                text += f"{many(unowned[other], 'queue')} of it {'has' if unowned[other] == 1 else 'have'} no owner."
            else:
                text += f"its Jain index is {values[other]:.2f} where {best[other]:.2f} would be possible."
        else:
            text += f"the other {len(others)} do not, least even of all {_worst(records, values)} with a Jain index of"
            text += f" {worst:.2f}."
    told = _resting(text, records, "fairness.jain")
    for path, known in (("optimum.jain", best), ("fairness.unowned_queues", unowned)):
        for label, value in known.items():
            told[1].setdefault(label, {})[path] = value
    yield told


def _worst(records: Sequence[Record], values: Mapping[str, float]) -> str:
    least = min(values.values())
    return _names(records, [label for label, value in values.items() if value == least])


def _extremes(records: Sequence[Record], path: str) -> tuple[str, float, str, float] | None:
    """Who has least and how much, who has most; None where all have the same."""
    values = _values(records, path)
    if len(values) < 2 or min(values.values()) == max(values.values()):
        return None
    low, high = min(values.values()), max(values.values())
    few = _names(records, [label for label, value in values.items() if value == low])
    much = _names(records, [label for label, value in values.items() if value == high])
    return few, low, much, high


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _telling(path: str, least: float, text: Callable[[str, float, str, float], str]) -> Any:
    def tell(records: Sequence[Record]) -> Iterator[Told]:
        found = _extremes(records, path)
        if found is not None and found[3] >= least and found[3] >= found[1] * TOLD_FROM:
            yield _resting(text(*found), records, path)

    return tell


_stops = _telling(
    "longest_gap_s",
    NOTICED_S,
    lambda few, low, much, high: (
        f"The longest time a queue waits for an owner is {duration(high)} with {much}"
        f", and {duration(low) if low >= NOTICED_S else 'next to nothing'} with {few}."
    ),
)
_doubles = _telling(
    "double_owned_queue_s",
    NOTICED_S,
    lambda few, low, much, high: (
        f"Queues have two owners for {high:.3g} queue-seconds in all with {much}"
        f", and {f'for {low:.3g}' if low >= NOTICED_S else 'never'} with {few}."
    ),
)
_moves = _telling(
    "moves",
    1,
    lambda few, low, much, high: f"Most queues change hands with {much} ({high:,g}), fewest with {few} ({low:,g}).",
)
_messages = _telling(
    "messages",
    1,
    lambda few, low, much, high: (
        f"{much} {'need' if ' and ' in much else 'needs'} {many(high, 'message')} besides fetching records,"
        f" {few} {many(low, 'message')}"
        + (f": {_times(high / low)} times as many." if low and high / low >= 2 else ".")
    ),
)
