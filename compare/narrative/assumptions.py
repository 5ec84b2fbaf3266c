"""What a comparison rests on and does not measure: how the systems are assumed to be set up and used."""

from collections.abc import Iterator, Sequence

from compare.documents.comparison import AssumptionRecord
from compare.narrative.formatting import SYSTEM_NAMES, many
from compare.scenarios.capacity import threads_of
from compare.scenarios.variants import Variant
from protocols.scenario.events import MemberChange
from protocols.scenario.groups import MemberPart
from protocols.scenario.model import Scenario
from protocols.scenario.systems import split_system


def assumptions(variants: Sequence[Variant]) -> list[AssumptionRecord]:
    """Sentences about the systems of a scenario's variants, in the order of the variants."""
    of_system: dict[str, list[Variant]] = {}
    for each in variants:
        of_system.setdefault(split_system(each.part.system)[0], []).append(each)
    return [
        {"system": system, "text": f"{SYSTEM_NAMES.get(system, system)}: {text}."}
        for system, of in of_system.items()
        for tell in (_replication, _threads, _production)
        for text in tell(system, of)
    ]


def _replication(system: str, variants: Sequence[Variant]) -> Iterator[str]:
    scenario = variants[0].scenario
    brokers = len(scenario.brokers)
    if brokers < 2:
        return
    replicas = scenario.replication.get(system, brokers)
    if system == "rocketmq":
        yield "every broker is a master without a replica, so its queues and their records are away while it is down"
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
        pool = " (consumeThreadMax)" if system == "rocketmq" else ""
        yield f"a member handles records in {count} threads{pool}"


def _production(system: str, variants: Sequence[Variant]) -> Iterator[str]:
    scenario = variants[0].scenario
    if not scenario.load.writes:
        return
    if system == "rocketmq" and any(event.broker_changes() for event in scenario.events):
        yield "producers do not send to other queues what the broker of a queue cannot take while it is down"
    if system != "rocketmq":
        yield "fetching takes neither time nor messages, because what a fetch brings is computed"


def _parts(scenario: Scenario) -> Iterator[MemberPart]:
    for group in scenario.groups.values():
        yield from group.members.values()
    for event in scenario.events:
        if event.member_change is MemberChange.JOINS:
            parts = (event.part_after(name, None) for name in event.members())
            yield from (part for part in parts if part is not None)
