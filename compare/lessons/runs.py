"""One scenario run by one system, for the notebooks; and many runs for one answer, so that none is right by luck."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import floor

from compare.documents.comparison import VariantRecord
from compare.running.lag import waiting_at
from compare.running.production import productions
from compare.running.record import run_record
from compare.running.run_variant import RunResult, run_variant
from compare.running.systems import cluster_of
from compare.running.variants import Variant, variants_of, with_equal_threads
from kafka_coordinator.cluster import GroupDescription, KafkaCluster, description_of
from protocols.engine.nodes import Time
from protocols.errors import UserError
from protocols.scenario.model import Scenario, SystemPart
from protocols.scenario.running import Run


def run(
    day: Scenario, system: str, settings: Mapping[str, object] | None = None, *, tracing: bool = False
) -> RunResult:
    """Let ``kafka:range``, ``rocketmq:AVG``, ... live through the scenario.

    ``settings``: of clients and brokers, under the system's own names. ``tracing`` keeps every message, as pictures of
    messages need it. Raises `protocols.UserError` for a strategy or setting that the system lacks.
    """
    if settings is None:
        (variant,) = variants_of(day, [system])
    else:
        part = SystemPart(system=system, settings=dict(settings))
        variant = Variant(with_equal_threads(day, part), part, day.run.seed)
    return run_variant(variant, tracing=tracing)


def figures(result: RunResult) -> VariantRecord[None]:
    """The run in numbers, as `equipoise compare --format json` has them; times in seconds."""
    return run_record(result)


def waiting(result: RunResult, every: float = 1.0) -> list[tuple[float, float]]:
    """(Second, records written and not yet handled, over all queues), each ``every`` seconds of the run."""
    times = [at * every * 1000 for at in range(int(result.timeline.end / every / 1000) + 1)]
    total = dict.fromkeys(times, 0) | waiting_at(result, productions(result), times)
    return [(at / 1000, float(records)) for at, records in total.items()]


def descriptions(day: Scenario, system: str, moments: Iterable[float]) -> Iterator[tuple[float, GroupDescription]]:
    """Each of these moments (seconds, in rising order) with the only group as Kafka's tools would describe it then.

    A moment at which the group does not exist is left out. Raises `protocols.UserError` for a system other than Kafka
    with a coordinator.
    """
    (group,) = day.groups
    lived = Run.of(day, SystemPart(system=system), cluster_of(system), full=True)
    if not isinstance(lived.cluster, KafkaCluster):
        raise UserError(f"{system}: no coordinator describes its groups, expected a variant of kafka")
    for moment in moments:
        lived.simulation.run(moment * 1000)
        description = description_of(lived.cluster, group)
        if description is not None:
            yield moment, description


# Many runs for one answer.

SEEDS = range(1, 9)
"""Of runs in which only latencies and ids differ."""

Day = Callable[..., Scenario]
"""From a seed, then events, to the scenario of an exercise."""


def moments(
    day: Day, system: str, settings: Mapping[str, object] | None, member: str, seed: int, since: Time, until: Time
) -> list[Time]:
    """When to stop a member, in whole milliseconds from ``since`` to ``until``: just after each of its messages, when
    the coordinator will wait for the longest time. The messages are those of a run in which the member lives on.
    """
    trace = run(day(seed), system, settings, tracing=True).timeline.trace
    assert trace is not None
    sent = (message.at for message in trace.messages if message.sender == member and since <= message.at <= until)
    return sorted({floor(at) + 1.0 for at in sent})


def written(at: Time) -> str:
    """A moment as scenarios have it."""
    return f"{at:.0f}ms"


def case(seed: int, what: str, at: Time) -> str:
    """``seed 12, crash at 61.40 s``: how a hint names the run that it is about."""
    return f"seed {seed}, {what} at {at / 1000:.2f} s"


def every_seed(hint: Callable[[int], str | None]) -> str | None:
    """The first hint that one of the seeds gives, with the seed; None where the answer is right under all."""
    for seed in SEEDS:
        said = hint(seed)
        if said is not None:
            return f"With seed {seed}: {said}"
    return None
