"""The comparison for people: tables with a row per variant, what came of it in sentences, and what did not hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compare.documents.comparison import After, Fairness, Record, ScenarioDocument, SeedsRecord, VerdictRecord
from compare.explaining.standing import decisions, known, rows, untold_sentences
from compare.figures.metrics import COLUMNS, COMPARED, GROUPS
from compare.formatting import many, number, ratio
from compare.running.baseline import Change, sentence
from compare.running.runs import variation
from compare.showing.comparison.advice import print_advice
from compare.showing.console import READABLE, print_line, print_table
from protocols.scenario.fields import listed
from protocols.scenario.model import Scenario

MOST_MOMENTS = 8
"""Events that have a column of their own; the others are in the report and in JSON."""

MOST_TYPES = 6
"""Types of messages that are told by name."""


MOST_SENTENCES = 12
"""Of a verdict, unless more is asked for."""


def print_comparison(
    scenario: Scenario,
    document: ScenarioDocument,
    format: str,
    changed: Sequence[Change] | None,
    width: int | None = READABLE,
    more: bool = False,
) -> None:
    """Print a scenario's document on standard output. ``format``: ``table`` or ``markdown``. ``changed``: since a
    baseline, where there is one. ``width``: of a table, at most; ``more``: the whole verdict, and what was sent."""
    variants, seeds = document["variants"], document.get("seeds", {})
    several = len({variant["seed"] for variant in variants}) > 1
    show = _Tables(variants, several, format, width)
    print_line(scenario.name, format, heading=True)
    if document["headline"]:
        print_line(document["headline"], format)
    if scenario.about:
        print_line(" ".join(scenario.about.split()), format)
    print_line("", format)
    # Where only the first run of each variant is told of, its figures are those over all seeds.
    over = {} if several else seeds
    show.figures(over)
    beside = any(seed["beside"] for seed in over.values())
    if over:
        which = "run as written" if beside else "first seed"
        print_line(
            f"Figures are medians over {_seeds(seeds)}, with the 5th and 95th percentile in brackets where they differ;"
            f" sentences that compare variants are about them, too. Loads after events, and sentences about one"
            f" variant, describe the {which}.",
            format,
        )
    elif document.get("one_run"):
        print_line("One run of each variant: chance may decide between figures that are close.", format)
    if beside or any(variant["jitter"] for variant in variants):
        varies = variation(scenario)
        print_line(f"{varies[0].upper()}{varies[1:]}.", format)
    show.events()
    if more:
        show.costs()
    _print_verdict(document["verdict"], format, more)
    for variant in variants:
        for check in variant["checks"]:
            if not check["held"]:
                kind = "failed" if check["demanded"] else "did not hold"
                print_line(f"{_named(variant, several)}: {kind}: {check['name']}: {check['why']}.", format)
    if "advice" in document:
        print_advice(document["advice"], format, width)
    for assumed in document["assumptions"]:
        print_line(f"Assumed of {assumed['text']}", format)
    if changed is not None:
        print_line("Since the baseline" if changed else "Nothing changed since the baseline.", format, heading=True)
        for change in changed:
            print_line(sentence(change), format)


def _print_verdict(verdict: Sequence[VerdictRecord], format: str, more: bool) -> None:
    told = verdict if more else verdict[:MOST_SENTENCES]
    for each in told:
        print_line(("- " if format == "markdown" else "") + each["sentence"], format)
    if not more:
        left = len(verdict) - len(told)
        sentences = f"{many(left, 'sentence')} about single variants, " if left else ""
        print_line(f"Left out: {sentences}rebalances by cause, messages by type (--more shows them).", format)


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


def _range(figures: Fairness) -> str:
    """``2..3`` queues per member."""
    low, high = figures["min"], figures["max"]
    return number(high) if low == high else f"{number(low)}..{number(high)}"


def _when(seconds: Sequence[float]) -> str:
    """``60s``; ``60..75s`` where event times depend on the seed."""
    first, last = min(seconds), max(seconds)
    return f"{first:g}s" if first == last else f"{first:g}..{last:g}s"


@dataclass(frozen=True, slots=True)
class _Tables:
    """Tables with a row per variant; ``with_seed``: its seed stands beside its label."""

    variants: Sequence[Record]
    with_seed: bool
    format: str
    width: int | None

    def _print(self, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], side: str = "right") -> None:
        columns = [("variant", "left"), *([("seed", "right")] if self.with_seed else [])]
        names = len(columns)
        columns += [(heading, side) for heading in headings]
        lines = [
            [each["label"], *([str(each["seed"])] if self.with_seed else []), *row]
            for each, row in zip(self.variants, rows, strict=True)
        ]
        print_table(columns, lines, self.format, title, names, self.width)

    def figures(self, seeds: Mapping[str, SeedsRecord]) -> None:
        """What decides each group of metrics, then the others of each group that any variant has; a line tells of those
        in which all are alike."""
        found = rows(self.variants, seeds)
        several = len(found) > 1
        decide = (
            {decision.metric.path: decision.group for decision in decisions(self.variants, seeds)} if several else {}
        )
        if decide:
            chosen = [[cell for cell in row if cell.metric.path in decide] for row in found]
            headings = [f"{decide[cell.metric.path]}: {cell.metric.heading}" for cell in chosen[0]]
            self._print(
                "What decides (★: the best)",
                headings,
                [[f"{cell.whole}{' ★' if cell.best else ''}" for cell in row] for row in chosen],
            )
        alike = []
        columns = known(found)
        for group in GROUPS:
            shown = []
            for at, metric in ((at, COMPARED[at]) for at in columns):
                if metric not in COLUMNS[group] or metric.path in decide:
                    continue
                if several and len({row[at].whole for row in found}) == 1:
                    alike.append(f"{metric.heading}: {found[0][at].whole}")
                else:
                    shown.append(at)
            if shown:
                cells = [[row[at].whole for at in shown] for row in found]
                self._print(group.capitalize(), [COMPARED[at].heading for at in shown], cells)
        if alike:
            print_line(f"Alike in all variants: {'; '.join(alike)}.", self.format)
        for line in untold_sentences(self.variants, found):
            print_line(line, self.format)

    def events(self) -> None:
        """How many queues the members have after each event, and how even that is."""
        moments: Sequence[After] = max((variant["after"] for variant in self.variants), key=len, default=[])
        if len(moments) < 2:
            return
        shown = range(min(len(moments), MOST_MOMENTS))
        headings = [_when([variant["after"][at]["at_s"] for variant in self.variants]) for at in shown]
        cells = [[_load(variant["after"][at]) for at in shown] for variant in self.variants]
        print_line("", self.format)
        self._print("Queues per member after each event, with the Jain index where it could be higher", headings, cells)
        if len(moments) > MOST_MOMENTS:
            events = f"the first {MOST_MOMENTS - 1} of {len(moments) - 1} moments with events"
            print_line(
                f"The table shows the beginning and {events}; the report and --format json have all.", self.format
            )

    def costs(self) -> None:
        """Who caused how many rebalances, and which messages were sent."""
        cells = []
        for variant in self.variants:
            causes = ", ".join(f"{cause['cause']}: {cause['rebalances']}" for cause in variant["caused"])
            sent = sorted(variant["messages"].items(), key=lambda item: (-item[1], item[0]))
            told = [f"{count} {name}" for name, count in sent[:MOST_TYPES]]
            rest = sum(count for _, count in sent[MOST_TYPES:])
            told += [f"{rest} others"] if rest else []
            told += [f"{count} {name} lost by the network" for name, count in sorted(variant["lost_messages"].items())]
            cells.append([causes or "none", ", ".join(told)])
        self._print("", ["rebalances by cause", "messages"], cells, "left")


def _load(after: After) -> str:
    """The Jain index stands beside the load where another allocation would be fairer."""
    jain, possible = after["fairness"]["jain"], after["optimum"]["jain"]
    missed = jain is not None and possible is not None and possible > jain + 1e-9
    return f"{_range(after['fairness'])}{f' ({ratio(jain)} of {ratio(possible)})' if missed else ''}"
