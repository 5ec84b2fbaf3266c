"""What a comparison rests on and does not measure: how the systems are assumed to be set up and used.

The document of a scenario: a record per run, what many seeds give, and the verdict.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from compare.documents.comparison import AssumptionRecord, Record, ScenarioDocument, SeedsRecord, VerdictRecord
from compare.explaining.harm import Telling, harm
from compare.explaining.side_by_side import side_by_side
from compare.explaining.standing import headline
from compare.explaining.verdict import verdict
from compare.formatting import SYSTEM_NAMES, amount, duration, many, variant_name
from compare.running.checks import capacities_equal
from compare.running.run_variant import threads_of
from compare.running.runs import MeasuredRun
from compare.running.spread import figure, spread
from compare.running.systems import has_no_owners, member_settings
from compare.running.variants import Variant, pool_of
from kafka_coordinator.catalogue import CLASSIC
from kafka_coordinator.cluster import protocol_of_member, protocol_of_variant
from protocols.scenario.events import BrokerEvent, MemberChange
from protocols.scenario.fields import MemberPart, listed
from protocols.scenario.model import STATIC, Scenario, split_system


def assumptions(variants: Sequence[Variant]) -> list[AssumptionRecord]:
    """Sentences about the systems of a scenario's variants, in the order of the variants."""
    of_system: dict[str, list[Variant]] = {}
    for variant in variants:
        of_system.setdefault(split_system(variant.part.system)[0], []).append(variant)
    return [
        {"system": system, "text": f"{SYSTEM_NAMES.get(system, system)}: {text}."}
        for system, of in of_system.items()
        for tell in (_replication, _threads, _production, _patterns)
        for text in tell(system, of)
    ]


def _replication(system: str, variants: Sequence[Variant]) -> Iterator[str]:
    scenario = variants[0].scenario
    brokers = len(scenario.brokers)
    if brokers < 2:
        return
    replicas = scenario.replication.get(system, brokers)
    if system == "rocketmq" and system in scenario.replication:
        return
    if system == "rocketmq":
        yield "every broker is a master without a replica, so its queues and their records are away while it is down"
    elif any(isinstance(event, BrokerEvent) for event in scenario.events) and system == "kafka":
        have = f"every partition has {many(replicas, 'replica')} on {brokers} brokers"
        yield f"{have}, and producers keep what is not acknowledged, however much it is (buffer.memory is not counted)"
    elif replicas >= brokers:
        yield f"every partition has a replica on each of {brokers} brokers, so that it always has a leader"
    else:
        have = f"every partition has {many(replicas, 'replica')} on {brokers} brokers"
        yield f"{have}, and no leader while none of the brokers with an up-to-date replica runs"


def _threads(system: str, variants: Sequence[Variant]) -> Iterator[str]:
    """One poll loop against twenty threads: it matters where handling takes time."""
    threads = {
        threads_of(variant, part) for variant in variants for part in _parts(variant.scenario) if part.handle > 0
    }
    if not threads:
        return
    fewest, most = min(threads), max(threads)
    if most == 1:
        yield "a member handles one record after the other"
    else:
        count = f"{most}" if fewest == most else f"{fewest} to {most}"
        pools = dict.fromkeys(
            pool_of(variant.part, part.settings) or "its own loop"
            for variant in variants
            for part in _parts(variant.scenario)
        )
        pool = f" ({', '.join(pools)})" if system == "rocketmq" else ""
        yield f"a member handles records in {count} threads{pool}"


def _production(system: str, variants: Sequence[Variant]) -> Iterator[str]:
    """What fetching and acknowledging cost, which differs where records are given out one by one."""
    if not variants[0].scenario.load.writes:
        return
    given_out = [variant.label for variant in variants if has_no_owners(variant.part.system)]
    owned = [variant.label for variant in variants if not has_no_owners(variant.part.system)]
    if system != "rocketmq" and owned:
        whose = f"with owned partitions ({_labels(owned)}) " if given_out else ""
        yield f"{whose}fetching takes neither time nor messages, because what a fetch brings is computed"
    if system == "kafka" and given_out:
        yield (
            f"share consumers ({_labels(given_out)}) fetch in the simulation; acknowledgements that travel with fetches"
            " are not counted as requests, as fetches are not"
        )
    if system == "rocketmq" and given_out:
        yield (
            f"clients that use POP ({_labels(given_out)}) ask one proxy; each acknowledgement is a request to the proxy"
            " and one to the broker, and both are counted; requests for records are not"
        )


def _labels(labels: Sequence[str]) -> str:
    return listed(dict.fromkeys(labels))


def _patterns(system: str, variants: Sequence[Variant]) -> Iterator[str]:
    """Who resolves a pattern that the broker should, where it cannot."""
    asked = [part for part in _parts(variants[0].scenario) if part.resolved_by == "broker" and part.pattern]
    if not asked:
        return
    if system == "rocketmq":
        yield "topics are subscribed to by name, and a pattern stands for those that match when the member starts"
    elif system == "kafka-zookeeper":
        yield "brokers resolve no patterns, so that every member does that itself (resolved_by)"
    else:
        classic = [variant for variant in variants if any(_is_classic(variant, part) for part in asked)]
        if classic:
            labels = _labels([each.label for each in classic])
            instead = "the client resolves them from its metadata, which it asks for every metadata.max.age.ms"
            yield f"the classic protocol ({labels}) has no patterns of the broker, so that {instead}"


def _is_classic(variant: Variant, part: MemberPart) -> bool:
    where = variant.label
    own = {name: value for name, value in part.settings.items() if name in member_settings(variant.part.system)}
    of_variant = protocol_of_variant(split_system(variant.part.system)[1].removesuffix(STATIC), {}, where)
    return protocol_of_member(part.strategy, own, of_variant, where) == CLASSIC


def _parts(scenario: Scenario) -> Iterator[MemberPart]:
    for group in scenario.groups.values():
        yield from group.members.values()
    for event in scenario.events:
        if event.member_change is MemberChange.JOINS:
            parts = (event.part_after(name, None) for name in event.members())
            yield from (part for part in parts if part is not None)


Measured: TypeAlias = tuple[Scenario, Sequence[MeasuredRun], ScenarioDocument]
"""A scenario, its runs, and its document."""


def document(
    scenario: Scenario,
    runs: Sequence[MeasuredRun],
    asked: Mapping[str, int] = MappingProxyType({}),
    *,
    beside: bool = False,
) -> ScenarioDocument:
    """``assumptions``: what the comparison rests on. ``variants``: the records there are, in the order of the runs.
    ``seeds``, where a variant ran with several, or should have (``asked``: label to number of runs): label to its
    number of runs and the spread of their figures; of those ``beside`` the run as written, where there should be such.
    ``verdict``: sentences, what matters most first; ``figures`` names the values that a sentence rests on (per label,
    and medians where there are seeds, where it is about several)."""
    records = [run.record for run in runs if run.record is not None]
    first: dict[str, Record] = {}
    for record in records:
        first.setdefault(record["label"], record)
    by_label: dict[str, list[MeasuredRun]] = {}
    for run in runs:
        by_label.setdefault(run.variant.label, []).append(run)
    counted = {label: [run for run in of_label if run.beside == beside] for label, of_label in by_label.items()}
    seeds = {
        label: _seeds(of_label, asked.get(label, len(of_label)))
        for label, of_label in counted.items()
        if of_label and max(len(of_label), asked.get(label, 0)) > 1
    }
    scenario_document: ScenarioDocument = {
        "scenario": scenario.name,
        "capacities_equal": capacities_equal(list(first.values())),
        "assumptions": assumptions([of_label[0].variant for of_label in by_label.values()]),
        "variants": records,
        "headline": headline(list(first.values()), seeds),
        "verdict": _verdict(list(first.values()), seeds),
    }
    if seeds:
        scenario_document["seeds"] = seeds
    elif records and len(runs) == len(first):
        scenario_document["one_run"] = True
    return scenario_document


def _seeds(runs: Sequence[MeasuredRun], asked: int) -> SeedsRecord:
    figures = spread([run.figures for run in runs])
    seeds_record: SeedsRecord = {"runs": len(runs), "beside": runs[0].beside, "figures": figures}
    if asked != len(runs):
        seeds_record["asked"] = asked
    return seeds_record


def _verdict(records: Sequence[Record], seeds: Mapping[str, SeedsRecord]) -> list[VerdictRecord]:
    """What makes figures incomparable; the largest harm of each kind with its reasons, and who has it, too, where no
    sentence compares them; who is best at what; whatever else can be said of a variant."""
    compared = side_by_side(records, seeds)
    unlike = sum(any("capacity_per_s" in of for of in figures.values()) for _, figures in compared)
    beside: list[VerdictRecord] = [
        {"label": None, "sentence": sentence.text, "figures": figures} for sentence, figures in compared
    ]
    worst: dict[str, tuple[str, float, VerdictRecord]] = {}
    harmed: dict[str, dict[str, tuple[str, float]]] = {}
    others: list[VerdictRecord] = []
    for record in records:
        over = seeds.get(record["label"])
        figures = None if over is None else over["figures"]
        hurting = len(list(harm(Telling(record, figures))))
        for at, sentence in enumerate(verdict(record, figures)):
            told: VerdictRecord = {
                "label": record["label"],
                "sentence": sentence.text,
                "figures": dict(sentence.figures),
            }
            others.append(told)
            if at < hurting and len(records) > 1:
                path = next(iter(sentence.figures))
                value = figure(record, path) if figures is None or path not in figures else figures[path]["median"]
                harmed.setdefault(path, {})[record["label"]] = (variant_name(record), value or 0)
                if path not in worst or (value or 0) > worst[path][1]:
                    worst[path] = record["label"], value or 0, told
    largest = sorted((told for _, _, told in worst.values()), key=lambda told: _place(told["figures"]))
    rest = [told for told in others if told not in largest]
    in_comparisons = {path for _, figures in compared for of in figures.values() for path in of}
    for path, (label, _, told) in worst.items():
        if path not in in_comparisons:
            told["sentence"] += _harmed_too(
                harmed[path], label, "median " if seeds else "", seconds=path.endswith("_s")
            )
    return [*beside[:unlike], *largest, *beside[unlike:], *rest]


WORTH_NAMING = 0.1
"""Of the largest harm of a kind: who has less of it is not named beside it."""


def _harmed_too(values: Mapping[str, tuple[str, float]], worst: str, median: str, *, seconds: bool) -> str:
    """A sentence that names the others with harm of a kind, and how much."""
    others = [
        f"{name} ({median}{duration(value) if seconds else amount(value)})" if value else name
        for label, (name, value) in values.items()
        if label != worst and value >= values[worst][1] * WORTH_NAMING
    ]
    return f" {listed(others)} {'has' if len(others) == 1 else 'have'} this harm, too." if others else ""


def _place(figures: Mapping[str, object]) -> int:
    """Of a harm, by the figure that it is about: as `compare.explaining.harm` tells of them."""
    path = next(iter(figures))
    return _HARMS.index(path) if path in _HARMS else len(_HARMS)


_HARMS = (
    "harm.work.refused",
    "harm.work.skipped",
    "redelivered",
    "shared_delivery.redeliveries",
    "harm.longest_stall_s",
    "harm.work.waiting",
    "lag.drain_s",
    "harm.settled",
    "settle_s",
)
