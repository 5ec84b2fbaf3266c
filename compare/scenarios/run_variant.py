"""One variant run from beginning to end: its timeline, and who and what is there at its end."""

from dataclasses import dataclass

from compare.scenarios.ending import Ending, ending
from compare.scenarios.own_settings import with_own_settings
from compare.scenarios.persistent_conflicts import broadcasting_groups
from compare.scenarios.systems import cluster_of, system_of
from compare.scenarios.variants import Variant
from protocols.scenario.process_peers import ProcessPeers
from protocols.scenario.running import Run
from protocols.scenario.topology import Topology
from protocols.timeline import Recorder, Timeline, lifetimes, may_own_in, reads_in
from rocketmq_selfbalance.codes import RETRY_PREFIX

UNCOUNTED = (RETRY_PREFIX,)
"""Topics whose names begin so are in no figure."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """A variant after its run."""

    variant: Variant
    timeline: Timeline
    ending: Ending


def run_variant(variant: Variant, *, tracing: bool = False, full: bool = False) -> RunResult:
    """Run a variant from its first to its last moment. Raises `UserError` for a strategy or setting it lacks.

    ``tracing`` keeps every message and cause; ``full`` passes over no quiet time.
    """
    scenario, part = variant.scenario, variant.part
    numbering = system_of(part.system).numbering
    recorder = Recorder(
        lives=lifetimes(scenario, numbering),
        may_own=may_own_in(scenario),
        uncounted=UNCOUNTED,
        peers=ProcessPeers.of(Topology.of(scenario)),
        reads=reads_in(scenario),
        broadcasting=broadcasting_groups(variant),
    )
    make = cluster_of(part.system)
    own = with_own_settings(scenario, part.system)
    run = Run.of(
        own, part, make, observer=recorder, tracing=tracing, full=full, seed=variant.seed, beginning=variant.beginning
    ).run()
    timeline = recorder.timeline(run.end, run.calls, run.simulation.messages)
    run.simulation.dissolve()
    return RunResult(variant, timeline, ending(scenario, numbering))
