"""The comparison for people: tables with a row per variant, what came of it in sentences, and what did not hold."""

from collections.abc import Iterator, Mapping, Sequence

from compare.documents.audit import OptimumRecord
from compare.documents.comparison import After, Fairness, Record, ScenarioDocument, SeedsRecord, Spread
from compare.figures.metrics import COLUMNS, METRICS, SETTLED, Metric
from compare.formatting import metric_text, number, ratio
from compare.running.baseline import Change, sentence
from compare.running.checks import usually_settles
from compare.running.runs import variation
from compare.running.spread import figure
from compare.showing.comparison.advice import print_advice
from compare.showing.console import print_line, print_table
from protocols.scenario.fields import listed
from protocols.scenario.model import Scenario

MOST_MOMENTS = 8
"""Events that have a column of their own; the others are in the report and in JSON."""

MOST_TYPES = 6
"""Types of messages that are told by name."""


def print_comparison(
    scenario: Scenario, document: ScenarioDocument, format: str, changed: Sequence[Change] | None
) -> None:
    """Print a scenario's document on standard output. ``format``: ``table`` or ``markdown``. ``changed``: since a
    baseline, where there is one."""
    variants, seeds = document["variants"], document.get("seeds", {})
    print_line(scenario.name, format, heading=True)
    if scenario.about:
        print_line(" ".join(scenario.about.split()), format)
    several = len({variant["seed"] for variant in variants}) > 1
    seed = [("seed", "right")] if several else []
    # Where only the first run of each variant is told of, its figures are those over all seeds.
    over = {} if several else seeds
    for metrics in ((*COLUMNS["hurts"], METRICS[SETTLED]), COLUMNS["shares"]):
        columns = [("variant", "left"), *seed, *((metric.heading.lower(), "right") for metric in metrics)]
        rows = (list(_row(variant, metrics, several, over.get(variant["label"]))) for variant in variants)
        print_table(columns, rows, format, names=1 + several)
    beside = any(seed["beside"] for seed in over.values())
    if over:
        below = "run as written" if beside else "first seed"
        print_line(
            f"Figures are medians over {_seeds(seeds)}, with the 5th and 95th percentile in brackets where they differ."
            f" Everything below describes the {below}.",
            format,
        )
    elif document.get("one_run"):
        print_line("One run of each variant: chance may decide between figures that are close.", format)
    if beside or any(variant["jitter"] for variant in variants):
        varies = variation(scenario)
        print_line(f"{varies[0].upper()}{varies[1:]}.", format)
    _print_events(variants, several, format)
    _print_costs(variants, several, format)
    for told in document["verdict"]:
        print_line(("- " if format == "markdown" else "") + told["sentence"], "table" if format == "table" else format)
    for variant in variants:
        for check in variant["checks"]:
            if not check["held"]:
                kind = "failed" if check["demanded"] else "did not hold"
                print_line(f"{_named(variant, several)}: {kind}: {check['name']}: {check['why']}.", format)
    if "advice" in document:
        print_advice(document["advice"], format)
    for assumed in document["assumptions"]:
        print_line(f"Assumed of {assumed['text']}", format)
    if changed is not None:
        print_line("Since the baseline" if changed else "Nothing changed since the baseline.", format, heading=True)
        for change in changed:
            print_line(sentence(change), format)


def _seeds(seeds: Mapping[str, SeedsRecord]) -> str:
    """``100 seeds``, ``57 of 100 seeds``; with the variants, where they differ in it."""
    labels: dict[str, list[str]] = {}
    for label, seed in seeds.items():
        count = f"{seed['runs']} of {seed['asked']} seeds" if "asked" in seed else f"{seed['runs']} seeds"
        labels.setdefault(count, []).append(label)
    if len(labels) == 1:
        return next(iter(labels))
    return listed(f"{count} ({', '.join(names)})" for count, names in labels.items())


def _named(variant: Record, with_seed: bool) -> str:
    return f"{variant['label']}, seed {variant['seed']}" if with_seed else variant["label"]


def _row(variant: Record, metrics: Sequence[Metric], with_seed: bool, over: SeedsRecord | None) -> Iterator[str]:
    yield variant["label"]
    if with_seed:
        yield str(variant["seed"])
    for metric in metrics:
        path = metric.path
        if path == SETTLED and not usually_settles(variant, None if over is None else over["figures"]):
            yield "never"
        elif metric.unit == "range":
            yield _range(variant["fairness"] if path == "fairness" else variant["optimum"])
        elif over and path in over["figures"]:
            yield _over(metric, over["figures"][path])
        else:
            yield metric_text(metric, figure(variant, path))


def _over(metric: Metric, spread: Spread) -> str:
    """``12 (9..15)``, just ``12`` where nearly all runs have the same."""
    median, low, high = (metric_text(metric, value) for value in (spread["median"], spread["p5"], spread["p95"]))
    return median if low == high else f"{median} ({low}..{high})"


def _range(figures: Fairness | OptimumRecord) -> str:
    """``2..3`` queues per member."""
    low, high = figures["min"], figures["max"]
    return number(high) if low == high else f"{number(low)}..{number(high)}"


def _print_events(variants: Sequence[Record], several: bool, format: str) -> None:
    """How many queues the members have after each event, and how even that is."""
    moments: Sequence[After] = max((variant["after"] for variant in variants), key=len, default=[])
    if len(moments) < 2:
        return
    shown = range(min(len(moments), MOST_MOMENTS))
    headings = [(_when([variant["after"][at]["at_s"] for variant in variants]), "right") for at in shown]
    rows = []
    for variant in variants:
        cells = []
        for at in shown:
            fairness, best = variant["after"][at]["fairness"], variant["after"][at]["optimum"]
            jain, possible = fairness["jain"], best["jain"]
            missed = jain is not None and possible is not None and possible > jain + 1e-9
            cells.append(
                f"{_range(fairness)} ({ratio(fairness['jain'])} of {ratio(best['jain'])})"
                if missed
                else f"{_range(fairness)} ({ratio(fairness['jain'])})"
            )
        rows.append([_named(variant, several), *cells])
    print_table([("after: load (jain)", "left"), *headings], rows, format)
    if len(moments) > MOST_MOMENTS:
        events = f"the first {MOST_MOMENTS - 1} of {len(moments) - 1} moments with events"
        print_line(f"The table shows the beginning and {events}; the report and --format json have all.", format)


def _when(seconds: Sequence[float]) -> str:
    """``60s``; ``60..75s`` where event times depend on the seed."""
    first, last = min(seconds), max(seconds)
    return f"{first:g}s" if first == last else f"{first:g}..{last:g}s"


def _print_costs(variants: Sequence[Record], several: bool, format: str) -> None:
    """Who caused how many rebalances, and which messages were sent."""
    rows = []
    for variant in variants:
        causes = ", ".join(f"{cause['cause']}: {cause['rebalances']}" for cause in variant["caused"])
        sent = sorted(variant["messages"].items(), key=lambda item: (-item[1], item[0]))
        told = [f"{count} {name}" for name, count in sent[:MOST_TYPES]]
        rest = sum(count for _, count in sent[MOST_TYPES:])
        told += [f"{rest} others"] if rest else []
        told += [f"{count} {name} lost by the network" for name, count in sorted(variant["lost_messages"].items())]
        rows.append([_named(variant, several), causes or "none", ", ".join(told)])
    columns = [("variant", "left"), ("rebalances by cause", "left"), ("messages", "left")]
    print_table(columns, rows, format)
